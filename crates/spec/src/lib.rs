//! spec
pub mod yaml;
pub mod problem;
pub mod frontmatter;
pub mod name;
pub mod tokens;
pub mod resource_path;
pub mod package;
pub mod tool_pattern;
pub mod fields;
pub mod manifest;
pub mod repair;
pub mod parse;
pub mod identity;

//! The commands, one module each.

pub(crate) mod agent;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod exec;
pub(crate) mod explain;
pub(crate) mod find;
pub(crate) mod help;
pub(crate) mod list;
pub(crate) mod mcp;
mod mcp_servers;
pub(crate) mod new;
pub(crate) mod overview;
pub(crate) mod policy;
pub(crate) mod prompt;
mod prompt_skill;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod session;
pub(crate) mod show;
pub(crate) mod show_file;
pub(crate) mod stats;
pub(crate) mod tool;
pub(crate) mod trust;
pub(crate) mod validate;
pub(crate) mod why;

//! The tools, a file each.

mod bash;
mod edit;
mod glob;
mod grep;
mod http_get;
mod read;
mod write;

pub use bash::Bash;
pub use edit::Edit;
pub use glob::Glob;
pub use grep::Grep;
pub use http_get::HttpGet;
pub use read::Read;
pub use write::Write;

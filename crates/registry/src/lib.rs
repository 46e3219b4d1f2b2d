//! Reads skill packages from disk.
//!
//! The only crate that walks folders and opens skill files. It hands bytes and facts to
//! `prowess-spec`, which decides what they mean. It never writes inside a skill folder, except for
//! [`replace::replace_file`], which a person asks for with `--fix`.

mod cache;
pub mod digest;
pub mod fs;
pub mod replace;
pub mod resource;
pub mod source;

pub use fs::package::OnDisk;
pub use fs::read::{Found, read_path};
pub use fs::scopes::{Holds, Place, Root};
pub use fs::walk::{Notice, Summary, WalkOptions, walk};

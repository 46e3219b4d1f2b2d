//! Packages of skills: names, versions, locks, sources, installation.
//!
//! The manifest says what is wanted, the lock says which bytes, the store has them, and the scope
//! folder shows them to agents. The modules of the first group are pure: text and values in, values
//! out. The modules of the second group read and write files, run `git`, and ask servers.

// Pure.
pub mod address;
pub mod agents;
pub mod error;
pub mod find;
pub mod lock;
pub mod manifest;
pub mod manifest_edit;
pub mod merge;
pub mod plugins;
pub mod power;
pub mod resolve;
pub mod served;
pub mod signature;
pub mod source;
pub mod version;

// Adapters.
pub mod archive;
pub mod content;
pub mod fault;
pub mod git;
pub mod history;
pub mod index;
pub mod journal;
mod mirrors;
pub mod operations;
mod paths;
pub mod pins;
pub mod project;
pub mod registry;
pub mod seen;
pub mod status;
pub mod store;
pub mod tree;

pub use error::{PackageError, PackageExit};
pub use lock::{LockError, LockFile, LockedFile, LockedKind, LockedPackage};
pub use source::{GitSource, LockedSource, PackageSource, SourceError, WantedRef};

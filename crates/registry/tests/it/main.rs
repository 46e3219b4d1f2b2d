//! Folders, sources and the live registry, on real files.

mod watch;

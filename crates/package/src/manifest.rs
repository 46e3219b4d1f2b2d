//! Reads and edits the `[packages]` and `[install]` sections of a manifest.

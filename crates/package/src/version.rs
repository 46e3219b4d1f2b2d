//! Versions and ranges over tags.

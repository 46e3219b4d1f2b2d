//! What every implementation of a port must do.

pub mod sessions;
pub mod usage;

//! What every implementation of a port must do.

pub mod usage;

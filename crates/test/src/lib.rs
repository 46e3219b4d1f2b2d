//! Test support: what tests and fuzz targets share.

pub mod clock;
pub mod conformance;
pub mod oracle;

pub use clock::ManualClock;

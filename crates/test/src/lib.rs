//! Test support: what tests and fuzz targets share.

pub mod attacks;
pub mod clock;
pub mod conformance;
pub mod oracle;
pub mod server;
#[cfg(feature = "model")]
pub mod stream;

pub use clock::ManualClock;

//! Test support: what tests and fuzz targets share.

pub mod attacks;
pub mod clock;
pub mod conformance;
#[cfg(target_os = "linux")]
pub mod opens;
pub mod oracle;
pub mod server;
#[cfg(feature = "model")]
pub mod stream;

pub use clock::ManualClock;
#[cfg(target_os = "linux")]
pub use opens::Opens;

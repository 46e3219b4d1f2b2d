//! Support for tests and fuzz targets.

pub mod attacks;
pub mod clock;
pub mod conformance;
pub mod harness;
pub mod oracle;
pub mod server;
#[cfg(feature = "model")]
pub mod stream;
pub mod world;

pub use clock::ManualClock;
pub use world::World;

//! Support for tests and fuzz targets.

pub mod attacks;
pub mod clock;
pub mod conformance;
pub mod harness;
#[cfg(target_os = "linux")]
pub mod opens;
pub mod oracle;
pub mod pages;
pub mod server;
#[cfg(feature = "model")]
pub mod stream;
pub mod wait;
pub mod web;
pub mod world;

pub use clock::ManualClock;
#[cfg(target_os = "linux")]
pub use opens::Opens;
pub use wait::{PATIENCE, StopFlag, happens_within, wait_for, wait_for_exit, wait_until};
pub use web::WebServer;
pub use world::World;

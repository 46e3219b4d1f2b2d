//! The commands about sessions: `run`, `chat`, `session`, `demo`, `mcp`, and what they need.

pub mod ask;
pub mod demo;
pub mod health;
mod keys;
pub mod kit;
pub mod run;
pub mod serve;
mod servers;
pub mod session;
pub mod talk;
pub mod telemetry;
pub mod usage;
pub mod wait;

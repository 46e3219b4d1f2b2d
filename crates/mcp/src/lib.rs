//! Skills over the Model Context Protocol.
//!
//! [`Server`] offers the skills of a registry to any client, over standard input and output or over
//! HTTP: as tools, as resources, as prompts, and with the skills extension
//! (`io.modelcontextprotocol/skills`). [`Client`] is the other direction: it gives an agent the
//! tools and skills of other servers. This is the only crate that depends on `rmcp`.

mod client;
pub mod install;
mod server;
mod wire;

pub use client::{Client, ClientPlace, ConnectError, LinkError, ServerView, harmless};
pub use server::auth::{AccessList, Token, TokenError};
pub use server::http::{Http, HttpLimits};
pub use server::{ServeError, Server, ServerOptions};

//! Skills over the Model Context Protocol.
//!
//! [`Server`] offers the skills of a registry to any client, over standard input and output or over
//! HTTP: as tools, as resources, as prompts, and by the extension for skills
//! (`io.modelcontextprotocol/skills`). [`config`] writes the few lines that a client needs to find
//! it. The only crate that names `rmcp`.

pub mod config;
mod frontmatter;
mod server;
mod uri;

pub use server::http::{Http, HttpLimits};
pub use server::token::{Token, TokenError};
pub use server::{Options, ServeError, Server};

//! The server: skills for any client.

mod ask;
pub(crate) mod auth;
mod handler;
pub(crate) mod http;
mod instructions;
mod lines;
mod notify;
mod pages;
mod prompts;
mod resource_index;
mod resources;
mod rounds;
mod run_skill;
mod session;
mod skills;
mod stdio;
mod tools;
mod usage;

use std::sync::Arc;

use prowess_catalog::index::Budget;
use prowess_runtime::Engine;
use prowess_tools::{ToolContext, Toolset};
use rmcp::service::serve_server;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use self::handler::{Handler, Shared};
use self::lines::Lines;
use self::run_skill::RunSkill;

/// What clients may do beyond reading.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether clients may run commands in the name of a skill. The gate decides about each.
    pub commands: bool,
    /// Runs skills on their own; without it clients cannot.
    pub engine: Option<Engine>,
    /// Whether the index of an earlier draft is served, `skill://index.json`.
    pub legacy_index: bool,
    /// Whether the server watches folders; else somebody else keeps the registry fresh.
    pub watch: bool,
    /// How long the index in the instructions may be.
    pub index: Budget,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            commands: false,
            engine: None,
            legacy_index: false,
            watch: true,
            index: Budget::of_characters(instructions::USUAL),
        }
    }
}

/// Serves skills to clients. Clones are the same server.
#[derive(Clone, Debug)]
pub struct Server {
    shared: Arc<Shared>,
}

/// Why a server ended before its client did.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Standard input or output cannot be used.
    #[error("cannot use standard input and output")]
    Streams(#[source] std::io::Error),
    /// The address cannot be used.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// A part of the server failed.
    #[error("the server failed")]
    Broken(#[source] std::io::Error),
}

impl Server {
    /// Makes a server. Of the tools, clients get those that read skills, and those of the host;
    /// what runs something is up to the options.
    pub fn new(tool_context: Arc<ToolContext>, mut tools: Toolset, options: &Options) -> Self {
        tools::keep(&mut tools, options.commands);
        if options.engine.is_some() {
            tools.add(Arc::new(RunSkill));
        }
        Self {
            shared: Arc::new(Shared::new(tool_context, Arc::new(tools), options)),
        }
    }

    /// Serves one client over two streams, until it closes its own. What is under way then may be
    /// answered for half a second.
    pub async fn serve<R, W>(&self, input: R, output: W) -> Result<(), ServeError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let handler = Handler::new(&self.shared, false);
        // A client that goes away before it said anything did nothing wrong.
        let ended = CancellationToken::new();
        let written = CancellationToken::new();
        let lines = Lines::new(input, output, ended.clone(), written.clone());
        let Ok(running) = serve_server(handler, lines).await else {
            // What it was told is still on its way.
            let _ = tokio::time::timeout(stdio::LAST_ANSWERS, written.cancelled()).await;
            return Ok(());
        };
        let late = async {
            ended.cancelled().await;
            tokio::time::sleep(stdio::LAST_ANSWERS).await;
        };
        tokio::select! {
            ended = running.waiting() => {
                ended.map_err(|error| ServeError::Broken(error.into()))?;
            }
            () = late => {}
        }
        Ok(())
    }

    /// Serves one client over standard input and output, until it closes its end; then returns
    /// within a second, whatever is still going on. From here on everything else that is written to
    /// standard output goes to standard error.
    pub fn run_stdio(&self) -> Result<(), ServeError> {
        let (input, output) = stdio::take().map_err(ServeError::Streams)?;
        // One client, one thread: whatever takes long has threads of its own, and each hand from
        // one thread to another costs as much as a short answer.
        let runtime = runtime(tokio::runtime::Builder::new_current_thread())?;
        let served = runtime.block_on(async {
            let (input, output) = stdio::open(input, output).map_err(ServeError::Streams)?;
            Box::pin(self.serve(input, output)).await
        });
        runtime.shutdown_timeout(stdio::LAST_WORK);
        served
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

/// What everything asynchronous runs on.
pub(crate) fn runtime(
    mut builder: tokio::runtime::Builder,
) -> Result<tokio::runtime::Runtime, ServeError> {
    builder
        .worker_threads(2)
        .max_blocking_threads(64)
        .enable_all();
    builder.build().map_err(ServeError::Broken)
}

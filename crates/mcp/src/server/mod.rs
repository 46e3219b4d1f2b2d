//! MCP server that offers skills to any client.

pub(crate) mod auth;
mod elicitation;
mod elicitation_rounds;
mod handler;
pub(crate) mod http;
mod instructions;
mod json_lines;
mod notify;
mod paging;
mod prompts;
mod resource_index;
mod resources;
mod run_skill;
mod session;
mod skills;
mod stdio;
mod tools;
mod usage;

use std::sync::Arc;

use prowess_catalog::index::IndexBudget;
use prowess_runtime::Engine;
use prowess_tools::{ToolContext, Toolset};
use rmcp::service::serve_server;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use self::handler::{Handler, Shared};
use self::json_lines::Lines;
use self::run_skill::RunSkill;

/// The reason that clients read in place of a command.
const NO_COMMANDS: &str = "this server runs no commands unless it is started with --allow-commands";

/// Options of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Allows clients to run commands: as a skill, and those inside a skill that they load. The gate
    /// checks each one.
    pub commands: bool,
    /// Runs skills as separate sessions; `None` disables `run_skill`.
    pub engine: Option<Engine>,
    /// Serves the index of an earlier draft, `skill://index.json`.
    pub legacy_index: bool,
    /// Watches folders for changes. Set it to `false` if the caller refreshes the registry.
    pub watch: bool,
    /// Maximum size of the index in the instructions.
    pub index: IndexBudget,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            commands: false,
            engine: None,
            legacy_index: false,
            watch: true,
            index: IndexBudget::of_characters(instructions::USUAL),
        }
    }
}

/// Serves skills to clients. Clones share the same server.
#[derive(Clone, Debug)]
pub struct Server {
    shared: Arc<Shared>,
}

/// Error that ended a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Standard input or output cannot be used.
    #[error("cannot use standard input and output")]
    Streams(#[source] std::io::Error),
    /// The address cannot be bound.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: String,
        /// The I/O error.
        source: std::io::Error,
    },
    /// The server failed internally.
    #[error("the server failed")]
    Broken(#[source] std::io::Error),
}

impl Server {
    /// Creates a server. Clients get the tools that read skills and the tools of the host; tools
    /// that run something depend on the options.
    pub fn new(tool_context: &ToolContext, mut tools: Toolset, options: &ServerOptions) -> Self {
        // The extension returns the frontmatter of each skill, so its clients can judge `paths`.
        let served = tool_context.settings.visibility.clone();
        let mut tool_context = tool_context.derive();
        let settings = &mut tool_context.settings;
        if !options.commands {
            settings.commands = false;
            settings.no_commands = Some(NO_COMMANDS.into());
        }
        // The files that a client uses are unknown until a search names them.
        settings.visibility.touched.get_or_insert_default();
        settings.visibility.search_waiting = true;
        tools::keep(&mut tools, options.commands);
        if options.engine.is_some() {
            tools.add(Arc::new(RunSkill));
        }
        Self {
            shared: Arc::new(Shared::new(
                Arc::new(tool_context),
                Arc::new(tools),
                served,
                options,
            )),
        }
    }

    /// Serves one client over two streams until it closes its end. Pending requests may still be
    /// answered for half a second.
    pub async fn serve<R, W>(&self, input: R, output: W) -> Result<(), ServeError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let handler = Handler::new(&self.shared, false);
        // It is not an error if a client disconnects before it sends anything.
        let ended = CancellationToken::new();
        let written = CancellationToken::new();
        let lines = Lines::new(input, output, ended.clone(), written.clone());
        let Ok(running) = serve_server(handler, lines).await else {
            // Flush the pending answers.
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

    /// Serves one client over standard input and output until it closes its end, then returns
    /// within a second, even if work is still running. From here on, everything else written to
    /// standard output goes to standard error.
    pub fn run_stdio(&self) -> Result<(), ServeError> {
        let (input, output) = stdio::take().map_err(ServeError::Streams)?;
        // One thread is enough for one client: long work has its own threads, and a switch between
        // threads costs as much as a short answer.
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

/// Builds the asynchronous runtime.
pub(crate) fn runtime(
    mut builder: tokio::runtime::Builder,
) -> Result<tokio::runtime::Runtime, ServeError> {
    builder
        .worker_threads(2)
        .max_blocking_threads(64)
        .enable_all();
    builder.build().map_err(ServeError::Broken)
}

//! `prowess mcp`: serves skills to MCP clients. The servers used by our own agents are in `mcp_servers`.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::output::{Exit, Failure, Printer};
use prowess::tools::{ToolSelection, Toolset};
use prowess::traits::DenyAll;
use prowess::{CancellationToken, Runtime};
pub(crate) use prowess_mcp::install::Homes;
use prowess_mcp::install::{self as clients, InstallChange, Launch, McpClientApp};
use prowess_mcp::{AccessList, Http, Server, ServerOptions, Token};

use crate::args::GlobalArgs;
use crate::async_runtime;
use crate::commands::mcp_missions;
use crate::commands::mcp_servers::{self, McpListArgs, McpTrustArgs};
use crate::env::Environment;
use crate::runtime_setup::{ModelArgs, Setup};

/// Default address of the server.
const USUAL_ADDRESS: &str = "127.0.0.1:8971";

/// Arguments of `mcp`.
#[derive(Debug, clap::Args)]
#[command(
    about = "Serve skills to an MCP client\n\nServes over standard input and output by default, or over HTTP on this machine with `--http`, protected by a token. Clients can search, load and read skills; running anything requires a flag. With `--allow-run` they can also start, watch and answer the missions of this project whose files you trust.",
    after_help = "\
Examples:
  prowess mcp config claude-code                 print the configuration
  prowess mcp config cursor --json               print it as JSON
  prowess mcp list                               list the MCP servers used here"
)]
pub(crate) struct McpArgs {
    /// Serve over HTTP at this address (default: 127.0.0.1:8971)
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = USUAL_ADDRESS)]
    pub http: Option<SocketAddr>,
    /// Let clients run commands of skills, subject to the rules
    #[arg(long, help_heading = "Permissions")]
    pub allow_commands: bool,
    /// Let clients run skills and trusted missions with a model configured here
    #[arg(long, help_heading = "Permissions")]
    pub allow_run: bool,
    /// Also serve `skill://index.json`, the index of an earlier draft
    #[arg(long)]
    pub legacy_index: bool,
    /// The model for `--allow-run`, its limits and permissions.
    #[command(flatten)]
    pub model: ModelArgs,
    /// The subcommand; serves if `None`.
    #[command(subcommand)]
    pub command: Option<McpCommand>,
}

/// Subcommands of `mcp`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum McpCommand {
    /// Print the configuration for a client, or install it
    Config(McpConfigArgs),
    /// List the MCP servers used here, with their tools and skills
    List(McpListArgs),
    /// Trust the servers in the project's `.mcp.json`
    Trust(McpTrustArgs),
}

/// Arguments of `mcp config`.
#[derive(Debug, clap::Args)]
pub(crate) struct McpConfigArgs {
    /// Client: claude-code, claude-desktop, cursor, vscode, codex, gemini-cli, goose, opencode
    #[arg(value_name = "CLIENT")]
    pub client: String,
    /// Add the configuration to the client's settings, keeping everything else
    #[arg(long)]
    pub install: bool,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// Runs the subcommand, or serves.
pub(crate) fn run(
    args: &McpArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let setup = Setup::open(global, environment, printer)?;
    match &args.command {
        Some(McpCommand::Config(args)) => configure(args, environment, printer),
        Some(McpCommand::List(args)) => mcp_servers::list(args, &setup, printer),
        Some(McpCommand::Trust(args)) => mcp_servers::trust(args, &setup, printer),
        None => serve(args, global, setup, environment, printer),
    }
}

fn serve(
    args: &McpArgs,
    global: &GlobalArgs,
    mut setup: Setup,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    setup.permit(&args.model.approve, args.model.edits)?;
    let mut options = ServerOptions {
        commands: args.allow_commands,
        legacy_index: args.legacy_index,
        ..ServerOptions::default()
    };
    let mut context = setup.context();
    context.settings.listing = setup.config.listing();
    // Standard input and output belong to the client.
    context.services.approver = Arc::new(DenyAll);
    if args.allow_run {
        options.engine = Some(engine(args, setup)?.engine().clone());
    }
    let mut tools =
        Toolset::new(&ToolSelection::default()).map_err(|fault| Failure::new(fault.to_string()))?;
    let _missions = args
        .allow_run
        .then(|| mcp_missions::add(&mut tools, global, environment, &args.model));
    let server = Server::new(&context, tools, &options);
    let failed = |error: &dyn std::error::Error| {
        let failure = Failure::new(error.to_string());
        match error.source() {
            Some(source) => failure.cause(source),
            None => failure,
        }
    };
    let Some(address) = args.http else {
        server.run_stdio().map_err(|error| failed(&error))?;
        return Ok(Exit::Done);
    };
    let token = environment
        .state_folder()
        .map(|folder| folder.join("mcp-token"));
    let Some(file) = &token else {
        return Err(Failure::new("cannot find a home folder for the token")
            .hint("set `PROWESS_HOME` to a folder"));
    };
    let tokens = Token::load_or_create(file).map_err(|error| failed(&error))?;
    if !address.ip().is_loopback() {
        printer.warn(&format!("{address} is reachable from other machines; anyone with the token has access, and traffic is not encrypted"));
    }
    let http = Http {
        access: AccessList {
            tokens,
            ..AccessList::default()
        },
        ..Http::default()
    };
    let cancel = CancellationToken::new();
    let token = cancel.clone();
    async_runtime::cancelling(move || token.cancel())?;
    let ready = |address: SocketAddr| {
        printer.status(&format!("Listening on http://{address}/mcp"));
        printer.status(&format!(
            "The token is in {}; press Ctrl-C to stop",
            file.display()
        ));
    };
    server
        .run_http(address, &http, cancel, ready)
        .map_err(|error| failed(&error))?;
    Ok(Exit::Done)
}

/// Builds the runtime for `run_skill`.
fn engine(args: &McpArgs, setup: Setup) -> Result<Runtime, Failure> {
    async_runtime::without_interrupts(async {
        let chosen = setup.model(&args.model).await?;
        let approver = Arc::new(DenyAll);
        setup.runtime(&args.model, chosen.model, approver, Vec::new(), |_| {})
    })
}

fn configure(
    args: &McpConfigArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let client = McpClientApp::parse(&args.client).map_err(|near| {
        let failure = Failure::new(format!("unknown client `{}`", args.client));
        match near {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure.hint("expected claude-code, claude-desktop, cursor, vscode, codex, gemini-cli, goose or opencode"),
        }
    })?;
    let home = environment.home.clone();
    let Some((home, config)) = home.zip(environment.config_home.clone()) else {
        return Err(Failure::new("cannot find a home folder").hint("set `HOME`"));
    };
    let homes = &Homes {
        home,
        config,
        mac: cfg!(target_os = "macos"),
    };
    let launch = Launch {
        program: "prowess".to_owned(),
        ..Launch::default()
    };
    if args.install {
        let (path, change) = clients::install(client, &launch, homes).map_err(|error| {
            let failure = Failure::new(error.to_string());
            match std::error::Error::source(&error) {
                Some(source) => failure.cause(source),
                None => failure,
            }
        })?;
        let word = match change {
            InstallChange::Created => "Created",
            InstallChange::Added => "Added prowess to",
            InstallChange::Replaced => "Updated prowess in",
            InstallChange::Unchanged => "Prowess is already in",
        };
        printer.status(&format!(
            "{word} `{}`; restart {}",
            path.display(),
            client.title()
        ));
        return Ok(Exit::Done);
    }
    let snippet = clients::snippet(client, &launch, homes);
    if args.json {
        printer.json(&serde_json::json!({
            "schema": "prowess.mcp-config/1",
            "client": client.as_str(),
            "path": snippet.path.to_string_lossy(),
            "text": snippet.text,
        }))?;
        return Ok(Exit::Done);
    }
    printer.verbatim(snippet.text.as_bytes())?;
    printer.status(&format!(
        "Add these lines to `{}`, or run this command with `--install`",
        snippet.path.display()
    ));
    Ok(Exit::Done)
}

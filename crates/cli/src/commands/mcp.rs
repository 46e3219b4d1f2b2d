//! `prowess mcp`: skills for any MCP client. What agents here use of other servers is in `servers`.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::output::{Exit, Failure, Printer};
use prowess::tools::{ToolSelection, Toolset};
use prowess::traits::Nobody;
use prowess::{CancellationToken, Runtime};
pub(crate) use prowess_mcp::install::Homes;
use prowess_mcp::install::{self as clients, Change, Client, Launch};
use prowess_mcp::{AccessList, Http, Options, Server, Token};

use crate::args::GlobalArgs;
use crate::commands::mcp_servers::{self, ListArgs, TrustArgs};
use crate::env::Environment;
use crate::setup::{ModelArgs, Setup};
use crate::wait;

/// Where the server listens, unless it is told otherwise.
const USUAL_ADDRESS: &str = "127.0.0.1:8971";

/// What is typed behind `mcp`.
#[derive(Debug, clap::Args)]
#[command(
    about = "Serve skills to an MCP client\n\nWithout flags over standard input and output, as clients start it; with `--http` over HTTP on this machine, with a token. Clients search, load and read skills; they run nothing unless a flag says so.",
    after_help = "\
Examples:
  prowess mcp config claude-code                 the lines for a client
  prowess mcp config cursor --json               the same for a program
  prowess mcp list                               servers that agents use here"
)]
pub(crate) struct McpArgs {
    /// Serve over HTTP, at this address (default: 127.0.0.1:8971)
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = USUAL_ADDRESS)]
    pub http: Option<SocketAddr>,
    /// Let clients run commands as a skill; the gate decides about each
    #[arg(long, help_heading = "Permissions")]
    pub allow_commands: bool,
    /// Let clients run skills with a model of this machine
    #[arg(long, help_heading = "Permissions")]
    pub allow_run: bool,
    /// Serve the index of an earlier draft, too: `skill://index.json`
    #[arg(long)]
    pub legacy_index: bool,
    /// The model for `--allow-run`, and what it may do.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Something else than serving.
    #[command(subcommand)]
    pub command: Option<McpCommand>,
}

/// What else can be done.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum McpCommand {
    /// Print the lines that a client needs, or put them into its settings
    Config(ConfigArgs),
    /// List the MCP servers that agents use here, with their tools and skills
    List(ListArgs),
    /// Trust the servers in this project's `.mcp.json`
    Trust(TrustArgs),
}

/// What is typed behind `mcp config`.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigArgs {
    /// The client: claude-code, claude-desktop, cursor, vscode, codex, gemini-cli, goose, opencode
    #[arg(value_name = "CLIENT")]
    pub client: String,
    /// Put them into the client's settings; everything else there stays
    #[arg(long)]
    pub install: bool,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// Does what was typed.
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
        None => serve(args, setup, environment, printer),
    }
}

fn serve(
    args: &McpArgs,
    setup: Setup,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let mut options = Options {
        commands: args.allow_commands,
        legacy_index: args.legacy_index,
        ..Options::default()
    };
    let mut context = setup.context();
    // Standard input and output belong to the client.
    context.services.approver = Arc::new(Nobody);
    if args.allow_run {
        options.engine = Some(engine(args, setup)?.engine().clone());
    }
    let tools =
        Toolset::new(&ToolSelection::default()).map_err(|fault| Failure::new(fault.to_string()))?;
    let server = Server::new(Arc::new(context), tools, &options);
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
        return Err(Failure::new("there is no home folder to keep the token in")
            .hint("set `PROWESS_HOME` to a folder"));
    };
    let tokens = Token::load_or_create(file).map_err(|error| failed(&error))?;
    if !address.ip().is_loopback() {
        printer.warn(&format!("{address} can be reached from other machines; whoever has the token comes in, and nothing is encrypted"));
    }
    let http = Http {
        access: AccessList {
            tokens,
            ..AccessList::default()
        },
        ..Http::default()
    };
    let cancel = CancellationToken::new();
    wait::cancelling(cancel.clone())?;
    let ready = |address: SocketAddr| {
        printer.status(&format!("Listening on http://{address}/mcp"));
        printer.status(&format!(
            "The token is in {}; stop with Ctrl-C",
            file.display()
        ));
    };
    server
        .run_http(address, &http, cancel, ready)
        .map_err(|error| failed(&error))?;
    Ok(Exit::Done)
}

/// An engine for `run_skill`.
fn engine(args: &McpArgs, setup: Setup) -> Result<Runtime, Failure> {
    wait::without_interrupts(async {
        let chosen = setup.model(&args.model).await?;
        let approver = Arc::new(Nobody);
        setup.runtime(&args.model, chosen.model, approver, Vec::new(), |_| {})
    })
}

fn configure(
    args: &ConfigArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let client = Client::parse(&args.client).map_err(|near| {
        let failure = Failure::new(format!("no client named `{}`", args.client));
        match near {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure.hint("there are claude-code, claude-desktop, cursor, vscode, codex, gemini-cli, goose and opencode"),
        }
    })?;
    let home = environment.home.clone();
    let Some((home, config)) = home.zip(environment.config_home.clone()) else {
        return Err(Failure::new("there is no home folder"));
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
            Change::Created => "Made",
            Change::Added => "Added prowess to",
            Change::Replaced => "Changed prowess in",
            Change::Unchanged => "Prowess is already in",
        };
        printer.status(&format!(
            "{word} {}; start {} anew",
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
        "These lines belong in {}; `--install` puts them there",
        snippet.path.display()
    ));
    Ok(Exit::Done)
}

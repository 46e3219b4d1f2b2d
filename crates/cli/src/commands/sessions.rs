//! Builds the setup for `prowess run`, `chat`, `session`, `demo` and `mcp`.

use std::sync::Arc;

use crate::commands::chat::{self, ChatArgs};
use crate::commands::demo::{self, DemoArgs};
use crate::commands::mcp::{self, Homes, McpArgs};
use crate::commands::run::{self, RunArgs};
use crate::commands::session::{self, SessionArgs};
use crate::output::{Exit, Printer};
use crate::setup::{Setup, Variables};
use prowess_store::{SystemClock, Tolerant};

use crate::args::GlobalArgs;
use crate::env::Environment;
use crate::error::CliError;
use crate::library::Library;
use crate::permissions::{self, Terminal};
use crate::usage;

pub(crate) fn run(
    args: &RunArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, CliError> {
    let setup = setup(global, environment, printer)?;
    run::run(args, setup, Arc::new(Terminal), printer)
}

pub(crate) fn chat(
    args: &ChatArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, CliError> {
    let setup = setup(global, environment, printer)?;
    let history = environment
        .state_folder()
        .map(|folder| folder.join("history"));
    chat::run(args, setup, history, printer.has_colours(), printer)
}

/// `prowess why --session`
pub(crate) fn why(
    id: &str,
    turn: Option<u32>,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, CliError> {
    session::why(id, turn, &setup(global, environment, printer)?, printer)
}

pub(crate) fn session(
    args: &SessionArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, CliError> {
    let setup = setup(global, environment, printer)?;
    session::run(args, setup, Arc::new(Terminal), printer)
}

pub(crate) fn demo(
    args: &DemoArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, CliError> {
    demo::run(args, &setup(global, environment, printer)?, printer)
}

pub(crate) fn mcp(
    args: &McpArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, CliError> {
    let homes = environment
        .home
        .clone()
        .zip(environment.config_home.clone());
    let place = mcp::Place {
        homes: homes.map(|(home, config)| Homes {
            home,
            config,
            mac: cfg!(target_os = "macos"),
        }),
        program: "prowess".to_owned(),
        token: environment
            .state_folder()
            .map(|folder| folder.join("mcp-token")),
    };
    mcp::run(args, setup(global, environment, printer)?, &place, printer)
}

/// Returns a lookup of environment variables.
pub(crate) fn variables(environment: &Environment) -> Variables {
    let variables = environment.variables.clone();
    Arc::new(move |name: &str| {
        let found = variables
            .iter()
            .find(|(known, _)| known.to_str() == Some(name));
        found.and_then(|(_, value)| value.to_str().map(str::to_owned))
    })
}

/// Builds the setup of a session.
fn setup(
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Setup, CliError> {
    let library = Library::open(global, environment, printer)?;
    let visibility = library.policy(None)?;
    let remembered = usage::store(environment).map(|store| {
        let store = Tolerant::new(Arc::new(store), Arc::new(SystemClock));
        Arc::new(store) as Arc<dyn prowess_traits::UsageStore>
    });
    let runner = environment.runner(&library.config);
    Ok(Setup {
        registry: library.registry,
        config: library.config,
        visibility,
        host: permissions::host(environment),
        runner: runner.map(|runner| Arc::new(runner) as _),
        usage: remembered,
        store: environment.store_file(),
        settings: environment.settings().user,
        variables: variables(environment),
        tools: Vec::new(),
    })
}

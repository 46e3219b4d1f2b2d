//! `prowess run`, `prowess session`, `prowess demo`: what the program knows, for `crates/console`.

use std::sync::Arc;

use prowess_console::demo::{self, DemoArgs};
use prowess_console::kit::{Kit, Variables};
use prowess_console::run::{self, RunArgs};
use prowess_console::serve::{self, Homes, McpArgs};
use prowess_console::session::{self, SessionArgs};
use prowess_console::talk::{self, ChatArgs};
use prowess_store::{SystemClock, Tolerant};
use prowess_terminal::{Exit, Printer};

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
    let kit = kit(global, environment, printer)?;
    run::run(args, kit, Arc::new(Terminal), printer)
}

pub(crate) fn chat(
    args: &ChatArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, CliError> {
    let kit = kit(global, environment, printer)?;
    let history = environment
        .state_folder()
        .map(|folder| folder.join("history"));
    talk::run(args, kit, history, printer.has_colours(), printer)
}

/// `prowess why --session`
pub(crate) fn why(
    id: &str,
    turn: Option<u32>,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, CliError> {
    session::why(id, turn, &kit(global, environment, printer)?, printer)
}

pub(crate) fn session(
    args: &SessionArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, CliError> {
    let kit = kit(global, environment, printer)?;
    session::run(args, kit, Arc::new(Terminal), printer)
}

pub(crate) fn demo(
    args: &DemoArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, CliError> {
    demo::run(args, &kit(global, environment, printer)?, printer)
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
    let place = serve::Place {
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
    serve::run(args, kit(global, environment, printer)?, &place, printer)
}

/// Looks variables up.
pub(crate) fn variables(environment: &Environment) -> Variables {
    let variables = environment.variables.clone();
    Arc::new(move |name: &str| {
        let found = variables
            .iter()
            .find(|(known, _)| known.to_str() == Some(name));
        found.and_then(|(_, value)| value.to_str().map(str::to_owned))
    })
}

/// What the program knows before a session begins.
fn kit(global: &GlobalArgs, environment: &Environment, printer: &Printer) -> Result<Kit, CliError> {
    let library = Library::open(global, environment, printer)?;
    let visibility = library.policy(None)?;
    let remembered = usage::store(environment).map(|store| {
        let store = Tolerant::new(Arc::new(store), Arc::new(SystemClock));
        Arc::new(store) as Arc<dyn prowess_ports::UsageStore>
    });
    Ok(Kit {
        registry: library.registry,
        config: library.config,
        visibility,
        host: permissions::host(environment),
        runner: environment.runner().map(|runner| Arc::new(runner) as _),
        usage: remembered,
        store: environment.store_file(),
        settings: environment.settings().user,
        variables: variables(environment),
        tools: Vec::new(),
    })
}

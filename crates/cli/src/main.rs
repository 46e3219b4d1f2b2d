//! The `prowess` command: arguments in, output and exit codes out.

mod approval_prompt;
mod args;
mod async_runtime;
mod commands;
mod env;
mod key_command;
mod live_config;
mod output;
mod packages;
mod permissions;
mod prompt_share;
mod runtime_setup;
mod skill_servers;
mod targets;
mod telemetry;
mod trust_text;
mod usage_error;
mod usage_store;
mod visible_skills;

use std::process::ExitCode;

use crate::args::{Cli, Command};
use crate::env::Environment;
use crate::output::{Exit, Printer};

fn main() -> ExitCode {
    // Must come first: this process may be the sandbox helper of a single command.
    let helper = prowess_sandbox::maybe_run_helper();
    let environment = Environment {
        helper: Some(helper),
        ..Environment::read()
    };
    if commands::completions::answer(&environment) {
        return Exit::Done.into();
    }
    let cli = match args::parse(&environment.arguments) {
        Ok(cli) => cli,
        Err(error) => return args::explain_usage(&error, &environment),
    };
    let printer = Printer::new(cli.global.look(&environment));
    let screen = match &cli.command {
        Some(Command::Chat(_)) => true,
        Some(Command::Agent(args)) => args.is_chat(),
        _ => false,
    };
    let asked = telemetry::Asked {
        verbose: cli.global.verbose,
        screen,
    };
    let variables = runtime_setup::variables(&environment);
    let work = || run(&cli, &environment, &printer);
    match telemetry::during(asked, &variables, &printer, work) {
        Ok(_) if printer.reader_left() => Exit::Done.into(),
        Ok(code) => code.into(),
        Err(error) => {
            printer.error(&error);
            error.exit.unwrap_or(Exit::Failed).into()
        }
    }
}

fn run(cli: &Cli, environment: &Environment, printer: &Printer) -> Result<Exit, output::Failure> {
    let global = &cli.global;
    match &cli.command {
        None => commands::overview::run(global, environment, printer),
        Some(Command::New(args)) => commands::new::run(args, environment, printer),
        Some(Command::Validate(args)) => {
            commands::validate::run(args, global, environment, printer)
        }
        Some(Command::Scan(args)) => commands::scan::run(args, global, environment, printer),
        Some(Command::Explain(args)) => commands::explain::run(args, printer),
        Some(Command::List(args)) => commands::list::run(args, global, environment, printer),
        Some(Command::Find(args)) => commands::find::run(args, global, environment, printer),
        Some(Command::Show(args)) => commands::show::run(args, global, environment, printer),
        Some(Command::Prompt(args)) => commands::prompt::run(args, global, environment, printer),
        Some(Command::Why(args)) => commands::why::run(args, global, environment, printer),
        Some(Command::Run(args)) => commands::run::run(args, global, environment, printer),
        Some(Command::Chat(args)) => commands::chat::run(args, global, environment, printer),
        Some(Command::Session(args)) => commands::session::run(args, global, environment, printer),
        Some(Command::Add(args)) => commands::add::run(args, environment, printer),
        Some(Command::Remove(args)) => commands::remove::run(args, environment, printer),
        Some(Command::Sync(args)) => commands::sync::run(args, environment, printer),
        Some(Command::Update(args)) => commands::update::run(args, environment, printer),
        Some(Command::Outdated(args)) => commands::update::outdated(args, environment, printer),
        Some(Command::Lock(args)) => commands::lock::run(args, environment, printer),
        Some(Command::Verify(args)) => commands::verify::run(args, environment, printer),
        Some(Command::Rollback(args)) => commands::rollback::run(args, environment, printer),
        Some(Command::Diff(args)) => commands::diff::run(args, environment, printer),
        Some(Command::Fork(args)) => commands::fork::run(args, environment, printer),
        Some(Command::Link(args)) => commands::link::run(args, environment, printer),
        Some(Command::Pack(args)) => commands::pack::run(args, environment, printer),
        Some(Command::Store(args)) => commands::store::run(args, environment, printer),
        Some(Command::Init(args)) => commands::init::run(args, environment, printer),
        Some(Command::Config(args)) => commands::config::run(args, environment, printer),
        Some(Command::Questions(args)) => commands::questions::run(args, environment, printer),
        Some(Command::Answer(args)) => commands::answer::run(args, global, environment, printer),
        Some(Command::Demo(args)) => commands::demo::run(args, global, environment, printer),
        Some(Command::Mcp(args)) => commands::mcp::run(args, global, environment, printer),
        Some(Command::Exec(args)) => commands::exec::run(args, global, environment, printer),
        Some(Command::Tool(args)) => commands::tool::run(args, global, environment, printer),
        Some(Command::Trust(args)) => commands::trust::run(args, global, environment, printer),
        Some(Command::Agent(args)) => commands::agent::run(args, global, environment, printer),
        Some(Command::Mission(args)) => commands::mission::run(args, global, environment, printer),
        Some(Command::Convert(args)) => commands::convert::run(args, global, environment, printer),
        Some(Command::Policy(args)) => commands::policy::run(args, global, environment, printer),
        Some(Command::Stats(args)) => commands::stats::run(args, environment, printer),
        Some(Command::Doctor(args)) => commands::doctor::run(args, global, environment, printer),
        Some(Command::Schema(args)) => commands::schema::run(args, printer),
        Some(Command::Completions(args)) => commands::completions::run(args, printer),
        Some(Command::Help(args)) => commands::help::run(args, printer),
    }
}

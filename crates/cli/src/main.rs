//! The `prowess` command: arguments in, output and exit codes out.

mod args;
mod commands;
mod config;
mod env;
mod error;
mod exit;
mod output;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::env::Environment;
use crate::output::printer::Printer;

fn main() -> ExitCode {
    let environment = Environment::read();
    let cli = match Cli::try_parse_from(environment.arguments.iter()) {
        Ok(cli) => cli,
        Err(error) => return args::explain_usage(&error, &environment),
    };
    let printer = Printer::new(&cli.global, &environment);
    match run(&cli, &environment, &printer) {
        Ok(_) if printer.reader_left() => exit::Exit::Done.into(),
        Ok(code) => code.into(),
        Err(error) => {
            printer.error(&error);
            exit::Exit::Failed.into()
        }
    }
}

fn run(
    cli: &Cli,
    environment: &Environment,
    printer: &Printer,
) -> Result<exit::Exit, error::CliError> {
    match &cli.command {
        None => commands::help::overview(printer),
        Some(Command::New(args)) => commands::new::run(args, environment, printer),
        Some(Command::Validate(args)) => commands::validate::run(args, environment, printer),
        Some(Command::Explain(args)) => commands::explain::run(args, printer),
        Some(Command::Show(args)) => commands::show::run(args, environment, printer),
        Some(Command::Schema(args)) => commands::schema::run(args, printer),
        Some(Command::Help(args)) => commands::help::run(args, printer),
    }
}

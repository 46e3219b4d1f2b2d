//! `prowess exec`
use crate::args::{ExecArgs, GlobalArgs};
use crate::env::Environment;
use crate::error::CliError;
use crate::exit::Exit;
use prowess_terminal::Printer;
pub(crate) fn run(
    _args: &ExecArgs,
    _global: &GlobalArgs,
    _environment: &Environment,
    _printer: &Printer,
) -> Result<Exit, CliError> {
    Ok(Exit::Done)
}

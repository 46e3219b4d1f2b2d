//! `prowess mission set`

use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use clap_complete::ArgValueCandidates;
use prowess_diag::{sanitize, suggest, theme, wording};
use prowess_flow::mission::{MissionProject, variable_name};
use prowess_store::{MAX_VARIABLE, MissionVariables, StoredVariable, VariableStoreError};
use prowess_tools::missions::{VariableOrigin, VariableValues};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use serde_json::json;

use super::mission::ReadProject;
use crate::args::GlobalArgs;
use crate::commands::completions;
use crate::env::Environment;
use crate::output::{Cell, Exit, Failure, Printer, Table};
use crate::{runtime_setup, targets};

/// Maximum length of the name of a variable, in characters.
const MAX_NAME: usize = 64;

#[derive(Debug, Args)]
#[command(
    about = "Set a variable of a project, or list its variables\n\nReads the value from standard input, without showing what you type. It is kept outside of the project and is used before the environment variable `PROWESS_VAR_NAME` and the default. The value of a secret reaches tools, servers and models as a key, and never a prompt, a record or the output.",
    after_help = "\
Examples:
  prowess mission set                     list the variables of this project
  prowess mission set api_key --secret    type the value of a secret
  prowess mission set team < team.txt     read the value from a file
  prowess mission set team --remove       remove it"
)]
pub(crate) struct MissionSetArgs {
    /// The variable (default: list all)
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(completions::mission_variables))]
    pub(crate) name: Option<String>,
    /// A folder or a file (default: the nearest folder upwards with mission files)
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// Keep the value from models, records and output, whatever the project says
    #[arg(long, requires = "name")]
    pub(crate) secret: bool,
    /// Remove the value
    #[arg(long, requires = "name", conflicts_with = "secret")]
    pub(crate) remove: bool,
    /// Print the variables as JSON, without the values of secrets
    #[arg(long, conflicts_with = "name", help_heading = "Output")]
    pub(crate) json: bool,
}

/// Returns the values of the variables of a project.
pub(crate) fn values(root: &Path, environment: &Environment) -> Result<VariableValues, Failure> {
    let mut values = VariableValues::new(runtime_setup::variables(environment));
    let Some(folder) = environment.state_folder() else {
        return Ok(values);
    };
    let stored = MissionVariables::new(folder).all(root);
    for (name, variable) in stored.map_err(|error| failure(&error))? {
        values.store(&name, &variable.value, variable.is_secret);
    }
    Ok(values)
}

fn failure(error: &VariableStoreError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        VariableStoreError::File { source, .. } => failure
            .cause(source)
            .hint("see which folders are used with `prowess doctor`"),
        VariableStoreError::Damaged { .. } => {
            failure.hint("correct or remove it, and set the variables again: `prowess mission set`")
        }
        _ => failure.hint("list all variables with `prowess mission set`"),
    }
}

pub(crate) fn run(
    args: &MissionSetArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let read = ReadProject::read(args.path.as_deref(), global, environment)?;
    let Some(name) = &args.name else {
        return list(&read, args.json, environment, printer);
    };
    let folder = environment.state_folder().ok_or_else(|| {
        Failure::new("there is no folder for variables").hint("set `PROWESS_HOME` to a folder")
    })?;
    let store = MissionVariables::new(folder);
    let shown = wording::tick(sanitize::line(name));
    let place = targets::display(&read.root, environment);
    if args.remove {
        let removed = store.remove(&read.root, name);
        if !removed.map_err(|error| failure(&error))? {
            let message = format!("the variable {shown} is not set");
            return Err(Failure::new(message).hint("list all variables with `prowess mission set`"));
        }
        printer.status(&format!("Removed {shown} of {}", wording::tick(place)));
        return Ok(Exit::Done);
    }
    let is_sound = !name.is_empty()
        && name.chars().count() <= MAX_NAME
        && !name
            .chars()
            .any(|c| c.is_control() || sanitize::is_deceptive(c));
    if !is_sound {
        let message = format!("invalid variable name {shown}");
        let hint =
            "a name has 1 to 64 characters; list those of the project with `prowess mission set`";
        return Err(Failure::new(message).hint(hint));
    }
    let block = read
        .project
        .variables
        .iter()
        .find(|one| *one.name == **name);
    if block.is_none() {
        note_undeclared(&read.project, name, printer);
    }
    let is_secret = args.secret || block.is_some_and(|block| block.is_secret);
    let variable = StoredVariable {
        value: value(name)?,
        is_secret,
    };
    let set = store.set(&read.root, name, &variable);
    set.map_err(|error| failure(&error))?;
    let noun = if is_secret { "secret" } else { "variable" };
    printer.status(&format!(
        "Set the {noun} {shown} of {}; undo with {}",
        wording::tick(place),
        wording::command(["prowess", "mission", "set", name, "--remove"])
    ));
    Ok(Exit::Done)
}

fn note_undeclared(project: &MissionProject, name: &str, printer: &Printer) {
    let known = project.variables.iter().map(|one| &*one.name);
    let hint = match suggest::nearest(name, known) {
        Some(near) => format!("did you mean {}?", wording::tick(near)),
        None => format!("declare it: `variable \"{}\" {{ }}`", sanitize::line(name)),
    };
    let shown = wording::tick(sanitize::line(name));
    printer.note(&format!("the project declares no variable {shown}"), &hint);
}

/// Reads the value from standard input. At a terminal, it is not shown.
fn value(name: &str) -> Result<String, Failure> {
    let input = std::io::stdin();
    let mut bytes = Vec::new();
    let limit = MAX_VARIABLE as u64 + 2;
    let command = format!("`prowess mission set {} < FILE`", wording::shell_word(name));
    let from_file = format!("run {command}");
    let failed = |error| {
        Failure::new("cannot read the value")
            .cause(error)
            .hint(&from_file)
    };
    if input.is_terminal() {
        let _hidden = HiddenInput::start().map_err(failed)?;
        let mut prompt = std::io::stderr();
        let question = format!("Value of {}: ", wording::tick(sanitize::line(name)));
        let asked = prompt.write_all(question.as_bytes());
        asked.and_then(|()| prompt.flush()).map_err(failed)?;
        let mut line = input.lock().take(limit);
        let mut byte = [0];
        while line.read(&mut byte).map_err(failed)? == 1 && byte[0] != b'\n' {
            bytes.push(byte[0]);
        }
    } else {
        let read = input.lock().take(limit).read_to_end(&mut bytes);
        read.map_err(failed)?;
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::new("the value is not UTF-8").hint(&from_file))?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.is_empty() {
        return Err(Failure::new("no value on standard input").hint(from_file));
    }
    if text.len() > MAX_VARIABLE || text.contains('\0') {
        let why = "it is longer than 64 KiB, or contains a NUL character";
        let failure = Failure::new("the value cannot be used").cause(why);
        return Err(failure.hint(from_file));
    }
    Ok(text.to_owned())
}

/// Hides what is typed until it is dropped.
struct HiddenInput(Termios);

impl HiddenInput {
    fn start() -> std::io::Result<Self> {
        let input = std::io::stdin();
        let before = tcgetattr(&input)?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        hidden.local_modes.insert(LocalModes::ECHONL);
        tcsetattr(&input, OptionalActions::Flush, &hidden)?;
        Ok(Self(before))
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}

/// Lists the variables of a project: those that it declares, and those that are stored for it.
fn list(
    read: &ReadProject,
    is_json: bool,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let values = values(&read.root, environment)?;
    let declared = read.project.variables.iter().map(|one| &*one.name);
    let mut names: Vec<&str> = declared.chain(values.stored()).collect();
    names.sort_unstable();
    names.dedup();
    let rows = names.iter().map(|&name| {
        let block = read.project.variables.iter().find(|one| *one.name == *name);
        let is_secret = values.is_secret(name) || block.is_some_and(|block| block.is_secret);
        let origin = match values.origin(name) {
            Some(VariableOrigin::Stored) => "mission set".to_owned(),
            Some(VariableOrigin::Environment) => variable_name(name),
            None if block.is_some_and(|block| block.has_default) => "default".to_owned(),
            None => String::new(),
        };
        let value = values.get(name).filter(|_| !is_secret);
        (name, is_secret, block.is_some(), origin, value)
    });
    if is_json {
        let variables = rows.map(|(name, is_secret, is_declared, origin, value)| {
            let from = (!origin.is_empty()).then_some(origin);
            json!({ "name": name, "secret": is_secret, "declared": is_declared, "from": from, "value": value })
        });
        let variables: Vec<_> = variables.collect();
        let document = json!({ "schema": "prowess.mission-set/1", "variables": variables });
        printer.json(&document)?;
        return Ok(Exit::Done);
    }
    if names.is_empty() {
        let place = wording::tick(targets::display(&read.root, environment));
        let hint = "add a `variable \"NAME\" { }` block";
        printer.note(&format!("no variables in {place}"), hint);
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["NAME", "FROM", "VALUE"]);
    for (name, is_secret, _, origin, value) in rows {
        let value = match value {
            Some(value) => wording::shorten(&sanitize::line(&value), 60),
            None if is_secret => "secret".to_owned(),
            None => String::new(),
        };
        let origin = if origin.is_empty() {
            "not set"
        } else {
            &origin
        };
        table.row(vec![
            Cell::styled(name, theme::ACCENT.on_default()),
            Cell::new(origin),
            Cell::styled(&value, theme::DIM),
        ]);
    }
    printer.answer(&table.render(printer.width()))?;
    Ok(Exit::Done)
}

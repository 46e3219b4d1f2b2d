//! `prowess help`

use crate::commands::completions;
use crate::usage_error;
use clap::Args;
use clap_complete::ArgValueCandidates;
use prowess_diag::{sanitize, suggest, wording};

use crate::args;
use crate::env::VARIABLES;
use crate::output::{Exit, Failure, Printer, wrap};

#[derive(Debug, Args)]
#[command(
    about = "Show help for a command or topic\n\nWithout an argument, lists the commands.",
    after_help = "\
Examples:
  prowess help validate                   show help for a command
  prowess help exit-codes                 show a topic
  prowess help agent run --man            print a manual page, for `man -l -`"
)]
pub(crate) struct HelpArgs {
    /// Command and subcommand, or topic: exit-codes, environment, formats, profiles
    #[arg(value_name = "SUBJECT", add = ArgValueCandidates::new(completions::subjects))]
    pub(crate) subjects: Vec<String>,
    /// Print the manual page of a command, in the format of `man`
    #[arg(long)]
    man: bool,
}

/// Help topics.
const TOPICS: &[(&str, &str)] = &[
    (
        "exit-codes",
        "\
Exit codes

  0    success
  1    success with a negative result: findings, no match, a skill that models
       cannot see, a file that is not text, changes with `--diff`, problems
       with `doctor`, a model that declined
  2    failure: usage, configuration, files, network
  3    denied by policy, or approval was required but there was no terminal
  4    API key missing or rejected
  5    limit reached: turns, tokens, cost, time
  6    waiting for an answer: see `prowess questions`
  130  interrupted

`prowess exec` returns the exit code of the command it ran.

A closed pipe, as in `prowess explain | head -1`, is not an error.
",
    ),
    (
        "formats",
        "\
Formats of `prowess validate --format` and `prowess scan --format`

  full      findings with source line, reason and fix, for reading
  concise   one line per finding: path:line:column: severity[rule] message
  json      one document, \"schema\": \"prowess.validate/1\" or \"prowess.scan/1\"
  github    workflow commands that annotate a pull request
  sarif     SARIF 2.1.0 for code-scanning services

Findings go to standard output, the summary to standard error. Within a schema
version, fields are only added.
",
    ),
    (
        "profiles",
        "\
Profiles of `prowess validate --profile`

  spec          the open standard: six keys, unknown keys are errors; gives the
                same results as the reference tool `skills-ref validate`, except
                for known bugs of that tool
  claude-code   the standard plus the keys of Claude Code; unknown keys are
                warnings (default)
  lenient       what Prowess can load: invalid files are loaded as far as
                possible, and each repair is reported
  crew          skills of `skilled_crew`: as `claude-code`, but a name may
                contain `_`, and `compatibility` may be a list of strings

`--target claude-ai` adds the checks that claude.ai runs on upload. Change the
severity of a rule with `--severity RULE=LEVEL`, or in the configuration:

  # .agents/prowess.toml
  [validate]
  profile = \"claude-code\"
  ignore = [\"body-length\"]

  [validate.severity]
  broken-link = \"error\"
",
    ),
];

/// Prints the root help.
pub(crate) fn overview(printer: &Printer) -> Result<Exit, Failure> {
    printer.answer(&usage_error::page(&mut args::readable()))?;
    Ok(Exit::Done)
}

/// Returns the names of the topics.
pub(crate) fn topics<'a>() -> impl Iterator<Item = &'a str> {
    TOPICS.iter().map(|(name, _)| *name).chain(["environment"])
}

pub(crate) fn run(args: &HelpArgs, printer: &Printer) -> Result<Exit, Failure> {
    if args.man {
        return manual(&args.subjects, printer);
    }
    let Some((subject, rest)) = args.subjects.split_first() else {
        return overview(printer);
    };
    let topic = TOPICS.iter().find(|(name, _)| name == subject);
    if let (Some((_, text)), []) = (topic, rest) {
        printer.answer(text)?;
        return Ok(Exit::Done);
    }
    if subject == "environment" && rest.is_empty() {
        printer.answer(&environment(printer.list_width()))?;
        return Ok(Exit::Done);
    }
    let mut root = args::readable();
    root.build();
    printer.answer(&usage_error::page(found(&mut root, &args.subjects)?))?;
    Ok(Exit::Done)
}

/// Returns the command with these names.
fn found<'a>(
    mut command: &'a mut clap::Command,
    names: &[String],
) -> Result<&'a mut clap::Command, Failure> {
    for (depth, name) in names.iter().enumerate() {
        if command.find_subcommand(name).is_none() {
            return Err(unknown(command, &names[..depth], name));
        }
        command = command
            .find_subcommand_mut(name)
            .ok_or_else(|| Failure::new("no help for this command"))?;
    }
    Ok(command)
}

/// Prints the manual page of a command.
fn manual(names: &[String], printer: &Printer) -> Result<Exit, Failure> {
    let mut root = args::command();
    root.build();
    let command = found(&mut root, names)?.clone();
    let title = [&["prowess".to_owned()], names].concat().join("-");
    let command = command.version(env!("CARGO_PKG_VERSION"));
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .title(title)
        .manual("Prowess")
        .render(&mut page)
        .map_err(|error| Failure::new("cannot write the manual page").cause(error))?;
    printer.answer(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Done)
}

/// Returns the error for a name that a command, or the program, does not have.
fn unknown(command: &clap::Command, above: &[String], name: &str) -> Failure {
    let mut path: Vec<&str> = above.iter().map(String::as_str).collect();
    let known = command.get_subcommands().map(clap::Command::get_name);
    let topics = topics().filter(|_| above.is_empty());
    let near = suggest::nearest(name, known.chain(topics));
    let asked = [path.as_slice(), &[name]].concat().join(" ");
    let error = Failure::new(format!(
        "no help for {}",
        wording::tick(sanitize::line(&asked))
    ));
    match near {
        Some(near) => {
            path.push(near);
            error.hint(format!("did you mean `prowess help {}`?", path.join(" ")))
        }
        None if path.is_empty() => error.hint("list commands and topics with `prowess help`"),
        None => error.hint(format!("run `prowess help {}`", path.join(" "))),
    }
}

fn environment(width: usize) -> String {
    let models = crate::runtime_setup::variable_list();
    let ours = VARIABLES.iter().copied();
    let theirs = models
        .iter()
        .map(|(name, summary)| (*name, summary.as_str()));
    let column = ours
        .clone()
        .chain(theirs.clone())
        .map(|(name, _)| name.len())
        .max()
        .unwrap_or(0);
    let indent = column + 4;
    let line = |(name, summary): (&str, &str)| {
        let summary = wrap(summary, width.saturating_sub(indent).max(24));
        let summary = summary.join(&format!("\n{}", " ".repeat(indent)));
        format!("  {name:column$}  {summary}\n")
    };
    let (ours, theirs) = (
        ours.map(line).collect::<String>(),
        theirs.map(line).collect::<String>(),
    );
    format!("Environment variables\n\n{ours}\nModels\n\n{theirs}")
}

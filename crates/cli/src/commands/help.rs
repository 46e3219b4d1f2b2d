//! `prowess help`, and `prowess` alone.

use crate::usage_error;
use prowess_diag::suggest;

use crate::args::{self, HelpArgs};
use crate::env::VARIABLES;
use crate::error::CliError;
use crate::output::{Exit, Printer, wrap};

/// Texts that are not about one command.
const TOPICS: &[(&str, &str)] = &[
    (
        "exit-codes",
        "\
Exit codes

  0    done
  1    done, and the answer is no: findings, nothing found, a skill that
       models do not see, a file that is not text, something to change
       with `--diff`, something to mend with `doctor`, a model that declined
  2    could not do it: usage, configuration, files, network
  3    refused by policy, or a person should have been asked and none was there
  4    a key is missing or was not accepted
  5    a limit was reached: turns, tokens, money, time
  130  interrupted

`prowess exec` ends as the command ended that it ran.

A reader that goes away, as in `prowess explain | head -1`, is not an error.
",
    ),
    (
        "formats",
        "\
Formats of `prowess validate --format`

  full      findings with the line, the reason and the fix, for people
  concise   one line per finding: path:line:column: severity[rule] message
  json      one document, \"schema\": \"prowess.validate/1\"
  github    workflow commands that annotate a pull request
  sarif     SARIF 2.1.0 for code-scanning services

Findings go to standard output, the summary to standard error. Within a schema
number, fields are only ever added.
",
    ),
    (
        "profiles",
        "\
Profiles of `prowess validate --profile`

  spec          the open standard: six keys, an unknown key is an error; the
                same verdict as the reference tool `skills-ref validate`, apart
                from its mistakes
  claude-code   the standard plus the keys of Claude Code; an unknown key is a
                warning (default)
  lenient       what our loader accepts: whatever can be recovered is loaded,
                each recovery is reported

`--target claude-ai` adds what uploads to claude.ai refuse. The severity of a
rule can be changed with `--severity RULE=LEVEL`, or in the configuration:

  # .agents/prowess.toml
  [validate]
  profile = \"claude-code\"
  ignore = [\"body-length\"]

  [validate.severity]
  broken-link = \"error\"
",
    ),
];

/// What `prowess` alone prints.
pub(crate) fn overview(printer: &Printer) -> Result<Exit, CliError> {
    printer.answer(&usage_error::page(&mut args::readable()))?;
    Ok(Exit::Done)
}

/// Names of the topics.
pub(crate) fn topics<'a>() -> impl Iterator<Item = &'a str> {
    TOPICS.iter().map(|(name, _)| *name).chain(["environment"])
}

pub(crate) fn run(args: &HelpArgs, printer: &Printer) -> Result<Exit, CliError> {
    let Some(subject) = &args.subject else {
        return overview(printer);
    };
    if let Some((_, text)) = TOPICS.iter().find(|(name, _)| name == subject) {
        printer.answer(text)?;
        return Ok(Exit::Done);
    }
    if subject == "environment" {
        printer.answer(&environment(printer.list_width()))?;
        return Ok(Exit::Done);
    }
    let mut root = args::readable();
    root.build();
    if let Some(command) = root.find_subcommand_mut(subject) {
        printer.answer(&usage_error::page(command))?;
        return Ok(Exit::Done);
    }
    let known: Vec<String> = root
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect();
    let error = CliError::new(format!("no help on `{subject}`"));
    Err(
        match suggest::nearest(subject, known.iter().map(String::as_str).chain(topics())) {
            Some(near) => error.hint(format!("did you mean `prowess help {near}`?")),
            None => error.hint("list the commands and topics with `prowess help`"),
        },
    )
}

fn environment(width: usize) -> String {
    let models = crate::setup::variable_list();
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

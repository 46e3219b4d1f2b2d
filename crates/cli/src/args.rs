//! The command line: the list of commands, and the options that every command accepts. The options of
//! one command are in `commands/<verb>.rs`.
//!
//! The first line of an `about` is the summary, the rest is the long description. It is an attribute
//! and not a doc comment because clap would hide the description from `-h`.

use std::ffi::OsString;
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::commands::{self, completions};
use crate::env::Environment;
use crate::output::{Exit, Look, Printer, help};
use crate::usage_error;
use anstream::ColorChoice;

/// Find, check, fix, explain and run Agent Skills
#[derive(Debug, Parser)]
#[command(
    name = "prowess",
    version,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

const ROOT_HELP: &str = "\
{about}. Without a command, prints an overview.

Usage: {usage}

Author:
  new NAME|PATH            Create a skill from a template
  validate [PATH|NAME]...  Check skills against the specification
  scan, explain [RULE]     Find text to read before trusting; explain a rule
  convert SRC --to TARGET  Convert skills, agents and missions

Use:
  list, find WORDS...      List skills; search them, best match first
  show, why NAME|PATH      Show one skill; explain why it is listed or hidden
  prompt, run NAME, chat   Print what a model sees; run a skill; chat
  agent list|run|...       List, show, run and chat with agents and teams
  mission plan|run|...     Plan, draw, run and resume missions
  session list|show|...    List, show and resume sessions
  questions, answer ID     List what sessions wait for; answer it
  exec NAME -- COMMAND     Run a command as a skill would, in the sandbox
  mcp, tool list|call      Serve skills and use servers; call tools of models

Packages:
  add SOURCE [NAME]...     Install skills from git, archives, sites or folders
  remove, sync, update     Remove; install what is locked; take new versions
  outdated, lock, verify   List updates; write the lockfile; compare with it
  diff, rollback, fork     Show changes; go back; keep changes as your own
  link, pack, store        Link for other agents; make archives; clean up

Manage:
  trust [PATH|NAME]        Show what a skill may do, and trust it
  policy check|show        Check a command against the rules, or show them
  init, config show        Create settings; list those that count
  stats, doctor, demo      Show usage; check this machine; show a whole run
  schema, completions      Print a JSON Schema, or a shell completion script
  help [COMMAND|TOPIC]     Show help for a command or topic

Options:
  -q, -v, --skills-dir DIR Use quiet or verbose output; also search this folder
More: `prowess help COMMAND`; topics: exit-codes, environment, formats, profiles
";

/// Parses the command line.
pub(crate) fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    // Never dropped: taking the tree apart costs half as much as building it, and a process parses
    // one command line.
    let mut root = ManuallyDrop::new(command());
    let matches = root
        .try_get_matches_from_mut(arguments)
        .or_else(|error| match error.kind() {
            // Styling is only paid for when help is printed.
            ErrorKind::DisplayHelp => readable().try_get_matches_from(arguments),
            _ => Err(error),
        });
    Cli::from_arg_matches_mut(&mut matches?)
}

/// Returns the root command.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

/// Returns the root command with styled and wrapped help.
pub(crate) fn readable() -> clap::Command {
    usage_error::readable(command(), ROOT_HELP)
}

/// Options accepted by every command.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Use quiet output: `-q` prints results and errors, `-qq` nothing
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) quiet: u8,
    #[arg(short, long, global = true, conflicts_with = "quiet", action = clap::ArgAction::Count, help = "Use verbose output (`-vv` for more) [env: PROWESS_LOG]")]
    pub(crate) verbose: u8,
    /// When to use colours
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        hide_default_value = true,
        help = "When to use colours: auto, always, never (default: auto)"
    )]
    pub(crate) color: ColorArg,
    #[arg(long, global = true, help = "Hide progress [env: PROWESS_NO_PROGRESS]")]
    pub(crate) no_progress: bool,
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        help = "Also search this folder for skills (can be repeated) [env: PROWESS_SKILLS_PATH]"
    )]
    pub(crate) skills_dir: Vec<PathBuf>,
    /// Do not read or write the cache
    #[arg(long, global = true)]
    pub(crate) no_cache: bool,
}

impl GlobalArgs {
    /// Returns the output settings.
    pub(crate) fn look(&self, environment: &Environment) -> Look {
        let color = match self.color {
            ColorArg::Auto => ColorChoice::Auto,
            ColorArg::Always => ColorChoice::Always,
            ColorArg::Never => ColorChoice::Never,
        };
        let progress = !self.no_progress && !environment.no_progress && self.verbose == 0;
        Look {
            color,
            quiet: self.quiet,
            progress,
            columns: environment.columns,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ColorArg {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    New(commands::new::NewArgs),
    Validate(commands::validate::ValidateArgs),
    Scan(commands::scan::ScanArgs),
    Explain(commands::explain::ExplainArgs),
    #[command(alias = "ls")]
    List(commands::list::ListArgs),
    Find(commands::find::FindArgs),
    Show(commands::show::ShowArgs),
    Prompt(commands::prompt::PromptArgs),
    Why(commands::why::WhyArgs),
    Agent(commands::agent::AgentArgs),
    Mission(commands::mission::MissionArgs),
    Convert(commands::convert::ConvertArgs),
    Run(commands::run::RunArgs),
    Chat(commands::chat::ChatArgs),
    Session(commands::session::SessionArgs),
    Questions(commands::questions::QuestionsArgs),
    Answer(commands::answer::AnswerArgs),
    Demo(commands::demo::DemoArgs),
    Mcp(commands::mcp::McpArgs),
    Exec(commands::exec::ExecArgs),
    Tool(commands::tool::ToolArgs),
    Trust(commands::trust::TrustArgs),
    Policy(commands::policy::PolicyArgs),
    Stats(commands::stats::StatsArgs),
    Doctor(commands::doctor::DoctorArgs),
    Init(commands::init::InitArgs),
    Add(commands::add::AddArgs),
    Remove(commands::remove::RemoveArgs),
    Sync(commands::sync::SyncArgs),
    Update(commands::update::UpdateArgs),
    Outdated(commands::update::OutdatedArgs),
    Lock(commands::lock::LockArgs),
    Verify(commands::verify::VerifyArgs),
    Diff(commands::diff::DiffArgs),
    Rollback(commands::rollback::RollbackArgs),
    Fork(commands::fork::ForkArgs),
    Link(commands::link::LinkArgs),
    Pack(commands::pack::PackArgs),
    Store(commands::store::StoreArgs),
    Config(commands::config::ConfigArgs),
    Schema(commands::schema::SchemaArgs),
    Completions(completions::CompletionsArgs),
    Help(commands::help::HelpArgs),
}

/// Prints help and version to standard output, and usage errors in the format of our own errors.
pub(crate) fn explain_usage(error: &clap::Error, environment: &Environment) -> ExitCode {
    let look = Look {
        progress: false,
        columns: environment.columns,
        ..Look::default()
    };
    let printer = Printer::new(look);
    if error.use_stderr() {
        printer.error(&usage_error::mistake(
            error,
            command(),
            &environment.arguments,
        ));
        return Exit::Failed.into();
    }
    match printer.answer(&help::laid_out(&error.render().ansi().to_string())) {
        Ok(()) => Exit::Done.into(),
        Err(error) => {
            printer.error(&error);
            Exit::Failed.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn custom_help_uses_clap_styles() {
        let mut root = readable();
        let help = usage_error::page(&mut root);
        assert!(
            help.contains("\u{1b}[1m\u{1b}[4mAuthor:\u{1b}[0m\n"),
            "{help:?}"
        );
        assert!(
            help.contains("  \u{1b}[1mvalidate\u{1b}[0m [PATH|NAME]..."),
            "{help:?}"
        );
        assert!(
            help.contains("  \u{1b}[1m-q\u{1b}[0m, \u{1b}[1m-v\u{1b}[0m"),
            "{help:?}"
        );
        root.build();
        let help = usage_error::page(root.find_subcommand_mut("find").unwrap());
        assert!(
            help.contains("\u{1b}[1m\u{1b}[4mExamples:\u{1b}[0m\n"),
            "{help:?}"
        );
        assert!(
            help.contains("  \u{1b}[1m-q\u{1b}[0m, \u{1b}[1m--quiet\u{1b}[0m..."),
            "{help:?}"
        );
        assert!(
            help.contains("  \u{1b}[1mprowess find pdf --explain\u{1b}[0m  "),
            "{help:?}"
        );
        let policy = root.find_subcommand_mut("policy").unwrap();
        let help = usage_error::page(policy.find_subcommand_mut("show").unwrap());
        assert!(
            help.contains("\u{1b}[1m\u{1b}[4mExamples:\u{1b}[0m\n"),
            "{help:?}"
        );
    }

    #[test]
    fn root_help_lists_every_command() {
        let columns = ROOT_HELP.lines().filter_map(|line| line.strip_prefix("  "));
        let columns = columns.filter_map(|line| line.get(..25));
        let names: Vec<&str> = columns
            .flat_map(|column| column.split(", "))
            .filter_map(|part| part.split_whitespace().next())
            .collect();
        for command in Cli::command().get_subcommands() {
            let name = command.get_name();
            assert!(
                names.contains(&name),
                "{name} is missing from the root help"
            );
        }
    }

    #[test]
    fn usage_errors_become_messages_and_hints() {
        for (typed, message, hint) in [
            (
                "validate --formt x",
                "unexpected argument `--formt` found",
                "`--format`",
            ),
            // Too short for suggestions from clap.
            (
                "validate --fxi",
                "unexpected argument `--fxi` found",
                "`--fix`",
            ),
            (
                "policy show --jsn",
                "unexpected argument `--jsn` found",
                "`--json`",
            ),
            ("lsit", "unrecognized subcommand `lsit`", "`list`"),
            (
                "check skills",
                "unrecognized subcommand `check`",
                "`validate`",
            ),
        ] {
            let arguments: Vec<OsString> = "prowess"
                .split(' ')
                .chain(typed.split(' '))
                .map(OsString::from)
                .collect();
            let error =
                usage_error::mistake(&parse(&arguments).unwrap_err(), command(), &arguments);
            assert_eq!(error.message, message);
            let meant = format!("did you mean {hint}?");
            assert!(error.hints.contains(&meant), "{typed}: {:?}", error.hints);
            assert!(
                error.hints.iter().all(|hint| !hint.contains("to pass")),
                "{:?}",
                error.hints
            );
        }
    }
}

//! Command-line arguments.
//!
//! The first line of an `about` is the summary, the rest is the long description. It is an attribute
//! and not a doc comment because clap would hide the description from `-h`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use clap_complete::{ArgValueCandidates, ArgValueCompleter};

mod gate;

pub(crate) use gate::{
    CheckArgs, ExecArgs, PolicyArgs, PolicyCommand, PolicyShowArgs, ToolArgs, ToolCallArgs,
    ToolCommand, ToolListArgs, TrustArgs,
};

use crate::commands::completions;
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
  explain [RULE]           Explain a rule, with a bad and a good example

Use:
  list                     List skills, their origin and which are shadowed
  find WORDS...            Search skills, best match first
  show PATH|NAME           Show one skill: metadata, outline, files, size
  prompt                   Print exactly what a model would see
  why NAME|PATH            Explain why a skill is listed, hidden or omitted
  run NAME [TEXT]          Run a skill with a model and print the result
  chat                     Chat with a model that has your skills
  session list|show|...    List, show and resume sessions
  exec NAME -- COMMAND     Run a command as a skill would, in the sandbox
  mcp [config|list]        Serve skills over MCP, and use MCP servers
  tool list|call           List and call the tools available to models

Manage:
  trust [PATH|NAME]        Show what a skill may do, and trust it
  policy check|show        Check a command against the rules, or show them
  stats                    Show skill usage
  demo                     Show a complete run, offline, with a scripted model
  doctor                   Check configuration, folders, store and sandbox
  schema [NAME]            Print a JSON Schema
  completions SHELL        Print a shell completion script
  help [COMMAND|TOPIC]     Show help for a command or topic

Options:
  -q, --quiet...           Use quiet output (`-qq` for none)
  -v, --verbose...         Use verbose output (`-vv` for more)
      --color <WHEN>       Use colours: auto, always, never (default: auto)
      --skills-dir <DIR>   Also search this folder (can be repeated)
  -V, --version            Print the version

More: `prowess help COMMAND`; topics: exit-codes, environment, formats, profiles
";

/// Parses the command line.
pub(crate) fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let matches = command()
        .try_get_matches_from(arguments)
        .or_else(|error| match error.kind() {
            // Styling is only paid for when help is printed.
            ErrorKind::DisplayHelp => readable().try_get_matches_from(arguments),
            _ => Err(error),
        });
    Cli::from_arg_matches(&matches?)
}

/// Returns the root command.
pub(crate) fn command() -> clap::Command {
    Cli::command().mut_subcommand("run", |run| {
        run.mut_arg("name", |name| {
            name.add(ArgValueCandidates::new(completions::skill_names))
        })
    })
}

/// Returns the root command with styled and wrapped help.
pub(crate) fn readable() -> clap::Command {
    usage_error::readable(command(), ROOT_HELP)
}

/// Options accepted by every command.
#[derive(Debug, Args)]
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
    New(NewArgs),
    Validate(ValidateArgs),
    Explain(ExplainArgs),
    #[command(alias = "ls")]
    List(ListArgs),
    Find(FindArgs),
    Show(ShowArgs),
    Prompt(PromptArgs),
    Why(WhyArgs),
    Run(crate::commands::run::RunArgs),
    Chat(crate::commands::chat::ChatArgs),
    Session(crate::commands::session::SessionArgs),
    Demo(crate::commands::demo::DemoArgs),
    Mcp(crate::commands::mcp::McpArgs),
    Exec(ExecArgs),
    Tool(ToolArgs),
    Trust(TrustArgs),
    Policy(PolicyArgs),
    Stats(StatsArgs),
    Doctor(DoctorArgs),
    Schema(SchemaArgs),
    Completions(CompletionsArgs),
    Help(HelpArgs),
}

#[derive(Debug, Args)]
#[command(
    about = "Create a skill from a template\n\nCreates a folder with a SKILL.md that passes `prowess validate`. Existing files are never overwritten.",
    after_help = "\
Examples:
  prowess new release-notes                    create ./release-notes
  prowess new .agents/skills/lint              create it where agents find it
  prowess new tidy-up --template script        include a script"
)]
pub(crate) struct NewArgs {
    /// Name of the skill, or path of the folder to create; the last component is the name
    #[arg(value_name = "NAME|PATH")]
    pub(crate) name: PathBuf,
    /// Template to use: minimal, script, arguments (default: minimal)
    #[arg(
        long,
        value_name = "TEMPLATE",
        default_value = "minimal",
        hide_possible_values = true,
        hide_default_value = true
    )]
    pub(crate) template: TemplateArg,
    /// What the skill does and when to use it
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum TemplateArg {
    Minimal,
    Script,
    Arguments,
}

#[derive(Debug, Args)]
#[command(
    about = "Check skills against the specification\n\nChecks every skill in the given folders, up to six levels deep. Files are only changed with `--fix`.",
    after_help = "\
Exit codes:
  0  no findings at or above `--fail-on`; with `--diff`, no changes
  1  findings at or above `--fail-on`; with `--diff`, changes
  2  the command failed

Examples:
  prowess validate                        check all visible skills
  prowess validate skills --diff          show what `--fix` would change
  prowess validate skills --fix           check a folder and fix it"
)]
pub(crate) struct ValidateArgs {
    /// Folders, SKILL.md files, installed names, or `-` for standard input (default: all visible skills except the bundled one)
    #[arg(value_name = "PATH|NAME", add = ArgValueCompleter::new(completions::skills_and_paths))]
    pub(crate) paths: Vec<PathBuf>,
    /// Apply safe fixes
    #[arg(long)]
    pub(crate) fix: bool,
    /// With `--fix` or `--diff`, include suggested fixes; review the result
    #[arg(long)]
    pub(crate) unsafe_fixes: bool,
    /// Print what `--fix` would change, without changing files
    #[arg(long, conflicts_with_all = ["format", "json", "statistics"])]
    pub(crate) diff: bool,
    /// Rule set to apply: spec, claude-code, lenient (default: claude-code)
    #[arg(long, value_name = "PROFILE", help_heading = "Rules")]
    pub(crate) profile: Option<String>,
    /// Also check the requirements of this target: claude-ai
    #[arg(long, value_name = "TARGET", help_heading = "Rules")]
    pub(crate) target: Option<String>,
    /// Only check this rule (can be repeated or comma-separated)
    #[arg(long, value_name = "RULE", help_heading = "Rules", value_delimiter = ',', add = ArgValueCandidates::new(completions::rule_names))]
    pub(crate) select: Vec<String>,
    /// Skip this rule (can be repeated or comma-separated)
    #[arg(long, value_name = "RULE", help_heading = "Rules", value_delimiter = ',', add = ArgValueCandidates::new(completions::rule_names))]
    pub(crate) ignore: Vec<String>,
    /// Set the severity of a rule: error, warning, note, off (can be repeated or comma-separated)
    #[arg(
        long,
        value_name = "RULE=LEVEL",
        help_heading = "Rules",
        value_delimiter = ','
    )]
    pub(crate) severity: Vec<String>,
    /// Lowest severity that fails the run: error, warning, note (default: error)
    #[arg(long, value_name = "LEVEL", help_heading = "Rules")]
    pub(crate) fail_on: Option<String>,
    /// Ignore configuration files
    #[arg(long, help_heading = "Rules")]
    pub(crate) no_config: bool,
    /// Output format: full, concise, json, github, sarif (default: full)
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "full",
        hide_possible_values = true,
        hide_default_value = true,
        help_heading = "Output"
    )]
    pub(crate) format: FormatArg,
    /// Same as `--format json`
    #[arg(long, help_heading = "Output", conflicts_with = "format")]
    pub(crate) json: bool,
    /// Print the number of findings per rule instead of the findings
    #[arg(long, help_heading = "Output")]
    pub(crate) statistics: bool,
    /// Watch for changes and check again
    #[arg(long, help_heading = "Output")]
    pub(crate) watch: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    Full,
    Concise,
    Json,
    Github,
    Sarif,
}

#[derive(Debug, Args)]
#[command(
    about = "Explain a rule, with a bad and a good example\n\nWithout a rule, lists all rules.",
    after_help = "\
Examples:
  prowess explain                         list all rules
  prowess explain name-folder-mismatch    explain one rule"
)]
pub(crate) struct ExplainArgs {
    /// Name of a rule, as shown in brackets in a finding
    #[arg(add = ArgValueCandidates::new(completions::rule_names))]
    pub(crate) rule: Option<String>,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    about = "Show the metadata, outline, files and size of one skill\n\nReads the skill as the loader does, recovering as much as possible from invalid files.",
    after_help = "\
Examples:
  prowess show skills/release-notes                   show everything
  prowess show skills/release-notes --json            print as JSON
  prowess show skills/release-notes --file SKILL.md   print one of its files"
)]
pub(crate) struct ShowArgs {
    /// Folder of a skill, its SKILL.md, or an installed name
    #[arg(value_name = "PATH|NAME", add = ArgValueCompleter::new(completions::skills_and_paths))]
    pub(crate) path: PathBuf,
    /// Print this file of the skill, given relative to the skill's folder
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<String>,
    /// With `--file`, start at this byte (default: 0)
    #[arg(
        long,
        value_name = "BYTE",
        default_value_t = 0,
        hide_default_value = true,
        requires = "file"
    )]
    pub(crate) offset: u64,
    /// With `--file`, print at most this many bytes (default: 65,536)
    #[arg(long, value_name = "BYTES", requires = "file")]
    pub(crate) limit: Option<usize>,
    /// Read the skill with this profile; `spec` with `--json` prints the output of `skills-ref read-properties`
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    about = "List skills, their origin and which are shadowed\n\nIf several skills have the same name, the nearest one wins: project, then extra folders, then your home folder, then bundled. The others can be addressed by a qualified name, e.g. `user:pdf`.",
    after_help = "\
Examples:
  prowess list                            list visible skills
  prowess list --all                      include shadowed and hidden skills
  prowess list --scope user --json        only your home folder, as JSON"
)]
pub(crate) struct ListArgs {
    /// Include shadowed and hidden skills, with the reason
    #[arg(short, long)]
    pub(crate) all: bool,
    /// Only skills of this scope: project, extra, user, bundled
    #[arg(long, value_name = "SCOPE", add = ArgValueCandidates::new(completions::scopes))]
    pub(crate) scope: Option<String>,
    /// Show what this configured agent sees
    #[arg(long, value_name = "AGENT", add = ArgValueCandidates::new(completions::agents))]
    pub(crate) agent: Option<String>,
    /// Show versions and paths, without truncation
    #[arg(short, long, help_heading = "Output")]
    pub(crate) wide: bool,
    /// Watch for changes and print them
    #[arg(long, help_heading = "Output")]
    pub(crate) watch: bool,
    /// Print as JSON; with `--watch`, one document per line
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    about = "Search skills, best match first\n\nSearches names, descriptions, tags, metadata, headings and bodies. The last word may be incomplete, and typos in names are tolerated.",
    after_help = "\
Examples:
  prowess find fill in a form             find the best matches
  prowess find pdf --explain              explain each score
  prowess find --meta team=docs           filter by metadata only"
)]
pub(crate) struct FindArgs {
    /// Words to search for
    #[arg(value_name = "WORDS", required_unless_present = "meta")]
    pub(crate) words: Vec<String>,
    /// Only skills with this metadata (can be repeated; all must match)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) meta: Vec<String>,
    /// Only skills of this scope: project, extra, user, bundled
    #[arg(long, value_name = "SCOPE", add = ArgValueCandidates::new(completions::scopes))]
    pub(crate) scope: Option<String>,
    /// Match the words as one substring of names, descriptions and metadata, unranked
    #[arg(long)]
    pub(crate) substring: bool,
    /// Maximum number of results, 0 for all (default: 10)
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        default_value_t = 10,
        hide_default_value = true
    )]
    pub(crate) limit: usize,
    /// Show how each score was computed
    #[arg(long, help_heading = "Output")]
    pub(crate) explain: bool,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    about = "Print exactly what a model would see\n\nPrints the skill listing that is added to the prompt, within its token budget. Reports on standard error what was shortened or omitted, and why.",
    after_help = "\
Examples:
  prowess prompt                          print the listing
  prowess prompt --budget 500             limit it to 500 tokens
  prowess prompt --format xml --compat    match the reference tool"
)]
pub(crate) struct PromptArgs {
    /// Listing format: markdown, xml, json (default: markdown)
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "markdown",
        hide_possible_values = true,
        hide_default_value = true
    )]
    pub(crate) format: PromptFormatArg,
    /// With `--format xml`, print exactly the output of `skills-ref to-prompt`, without a budget; with
    /// `--skill`, substitute arguments like this tool: claude-code, agentick, goose
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "skills-ref")]
    pub(crate) compat: Option<String>,
    /// Token budget of the listing (default: 1% of the window)
    #[arg(long, value_name = "TOKENS")]
    pub(crate) budget: Option<usize>,
    /// Context window of the model in tokens (default: 200,000)
    #[arg(long, value_name = "TOKENS")]
    pub(crate) window: Option<usize>,
    /// List only pinned and recently used skills, with a count of the rest
    #[arg(long)]
    pub(crate) recent: bool,
    /// Show what this configured agent sees
    #[arg(long, value_name = "AGENT", add = ArgValueCandidates::new(completions::agents))]
    pub(crate) agent: Option<String>,
    /// Print the listing and the report as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Print what a model receives when it loads this skill; approved commands run in the sandbox
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "One skill",
        conflicts_with_all = ["format", "budget", "window", "recent"],
        add = ArgValueCandidates::new(completions::skill_names)
    )]
    pub(crate) skill: Option<String>,
    /// Arguments of the skill, as one string
    #[arg(long, value_name = "TEXT", help_heading = "One skill", requires = "skill", conflicts_with_all = ["arg", "args_json"], allow_hyphen_values = true)]
    pub(crate) arguments: Option<String>,
    /// Named argument of the skill (can be repeated)
    #[arg(
        long,
        value_name = "NAME=VALUE",
        help_heading = "One skill",
        requires = "skill",
        conflicts_with = "args_json"
    )]
    pub(crate) arg: Vec<String>,
    /// Arguments of the skill as JSON: an object, an array or a string
    #[arg(
        long,
        value_name = "JSON",
        help_heading = "One skill",
        requires = "skill"
    )]
    pub(crate) args_json: Option<String>,
    /// Do not run its commands
    #[arg(long, help_heading = "One skill", requires = "skill")]
    pub(crate) no_exec: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PromptFormatArg {
    Markdown,
    Xml,
    Json,
}

#[derive(Debug, Args)]
#[command(
    about = "Explain why a skill is listed, hidden, omitted or not found\n\nThe exit code is 1 if models cannot see the skill. With `--session`, explains a turn of a session.",
    after_help = "\
Examples:
  prowess why release-notes                          explain its visibility
  prowess why release-notes --query \"what changed\"   explain its rank"
)]
pub(crate) struct WhyArgs {
    /// Name of a skill, optionally qualified (e.g. `user:pdf`), or its folder
    #[arg(value_name = "NAME|PATH", required_unless_present = "session", add = ArgValueCompleter::new(completions::skills_and_paths))]
    pub(crate) name: Option<String>,
    /// Explain a turn of this session: tools, skills, decisions, cost
    #[arg(long, value_name = "ID", conflicts_with_all = ["name", "query", "agent", "json"])]
    pub(crate) session: Option<String>,
    /// Turn to explain (default: the last)
    #[arg(long, value_name = "N", requires = "session")]
    pub(crate) turn: Option<u32>,
    /// Show its rank for this query
    #[arg(long, value_name = "WORDS")]
    pub(crate) query: Option<String>,
    /// Explain for this configured agent
    #[arg(long, value_name = "AGENT", add = ArgValueCandidates::new(completions::agents))]
    pub(crate) agent: Option<String>,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    about = "Show skill usage\n\nShows how often each skill was used by agents that run with prowess, when it was last used, and how the runs ended. The data never leaves this machine.",
    after_help = "\
Examples:
  prowess stats                           list the most used skills
  prowess stats --json                    print as JSON"
)]
pub(crate) struct StatsArgs {
    /// Maximum number of skills, 0 for all (default: 20)
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        default_value_t = 20,
        hide_default_value = true
    )]
    pub(crate) limit: usize,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    about = "Check configuration, folders, store and sandbox\n\nReports problems in the configuration, the folders that are searched and their skills, unreadable files, the state of cache, store and sandbox, and the available models.",
    after_help = "\
Examples:
  prowess doctor                          run all local checks
  prowess doctor --online                 also check API keys, free of charge
  prowess doctor --json                   print as JSON"
)]
pub(crate) struct DoctorArgs {
    /// Also request the model list from every provider with a key
    #[arg(long)]
    pub(crate) online: bool,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    about = "Print a shell completion script\n\nThe script calls prowess, so the names of skills and rules are always up to date.",
    after_help = "\
Examples:
  prowess completions bash    for ~/.bashrc: source <(prowess completions bash)
  prowess completions fish    for ~/.config/fish/completions/prowess.fish"
)]
pub(crate) struct CompletionsArgs {
    /// Shell: bash, elvish, fish, powershell, zsh
    #[arg(value_name = "SHELL", add = ArgValueCandidates::new(completions::shells))]
    pub(crate) shell: String,
}

#[derive(Debug, Args)]
#[command(
    about = "Print a JSON Schema\n\nWithout a name, lists the available schemas.",
    after_help = "\
Examples:
  prowess schema                          list the schemas
  prowess schema skill                    print the SKILL.md frontmatter schema"
)]
pub(crate) struct SchemaArgs {
    /// Name of a schema
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    about = "Show help for a command or topic\n\nWithout an argument, lists the commands.",
    after_help = "\
Examples:
  prowess help validate                   show help for a command
  prowess help exit-codes                 show a topic"
)]
pub(crate) struct HelpArgs {
    /// Command, or topic: exit-codes, environment, formats, profiles
    #[arg(add = ArgValueCandidates::new(completions::subjects))]
    pub(crate) subject: Option<String>,
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
            help.contains("  \u{1b}[1m-q\u{1b}[0m, \u{1b}[1m--quiet\u{1b}[0m..."),
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
        for command in Cli::command().get_subcommands() {
            let line = format!("\n  {} ", command.get_name());
            assert!(
                ROOT_HELP.contains(&line),
                "{} is missing from the root help",
                command.get_name()
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

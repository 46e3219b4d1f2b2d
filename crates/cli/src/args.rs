//! What can be typed.
//!
//! The first line of an `about` says what a command does, the rest what else there is to know. It
//! is not a doc comment: clap would keep the rest from `-h`, and offer a `--help` that says hardly more.

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

/// Find, check, mend, explain and run Agent Skills
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
{about}. Without a command, an overview is printed.

Usage: {usage}

Author:
  new NAME|PATH            Create a skill from a template
  validate [PATH|NAME]...  Check skills against the specification
  explain [RULE]           Explain a rule, with a bad and a good example

Use:
  list                     List skills, their origin and what shadows what
  find WORDS...            Search skills, the best first
  show PATH|NAME           Show one skill: metadata, outline, files, size
  prompt                   Print exactly what a model would see
  why NAME|PATH            Explain why a skill is listed, hidden or cut
  run NAME [TEXT]          Run a skill with a model and print what comes out
  chat                     Talk to a model that has your skills
  session list|show|...    List, show and take up sessions
  exec NAME -- COMMAND     Run a command as a skill would, gated and sandboxed
  mcp [config|list]        Serve skills over MCP, and use those of servers
  tool list|call           List and call the tools that models get

Manage:
  trust [PATH|NAME]        Show what a skill may do, and trust it
  policy check|show        Check a command against the rules; show them
  stats                    Show which skills are used
  demo                     Show a complete run, offline, with a scripted model
  doctor                   Check configuration, folders, store and sandbox
  schema [NAME]            Print a JSON Schema
  completions SHELL        Print a script that completes commands and names
  help [COMMAND|TOPIC]     Show help on a command or a topic

Options:
  -q, --quiet...           Print less; `-qq` prints nothing
  -v, --verbose...         Say what is done; `-vv` says more
      --color <WHEN>       Use colours: auto, always, never (default: auto)
      --skills-dir <DIR>   Also look for skills here (can be repeated)
  -V, --version            Print the version

More: `prowess help COMMAND`; topics: exit-codes, environment, formats, profiles
";

/// Reads what was typed.
pub(crate) fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let matches = command()
        .try_get_matches_from(arguments)
        .or_else(|error| match error.kind() {
            // Only who reads help pays for its looks.
            ErrorKind::DisplayHelp => readable().try_get_matches_from(arguments),
            _ => Err(error),
        });
    Cli::from_arg_matches(&matches?)
}

/// Everything that can be typed.
pub(crate) fn command() -> clap::Command {
    Cli::command().mut_subcommand("run", |run| {
        run.mut_arg("name", |name| {
            name.add(ArgValueCandidates::new(completions::skill_names))
        })
    })
}

/// Everything that can be typed, for readers of help.
pub(crate) fn readable() -> clap::Command {
    usage_error::readable(command(), ROOT_HELP)
}

/// Options that every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Print less: `-q` leaves results and errors, `-qq` only the exit code
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) quiet: u8,
    #[arg(short, long, global = true, conflicts_with = "quiet", action = clap::ArgAction::Count, help = "Say what is done; `-vv` says more [env: PROWESS_LOG]")]
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
    #[arg(
        long,
        global = true,
        help = "Show no progress [env: PROWESS_NO_PROGRESS]"
    )]
    pub(crate) no_progress: bool,
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        help = "Also look for skills here (can be repeated) [env: PROWESS_SKILLS_PATH]"
    )]
    pub(crate) skills_dir: Vec<PathBuf>,
    /// Read every skill again and remember nothing
    #[arg(long, global = true)]
    pub(crate) no_cache: bool,
}

impl GlobalArgs {
    /// How output is meant to look.
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
    about = "Create a skill from a template\n\nMakes a folder with a SKILL.md that passes `prowess validate`, ready to be filled in. Nothing that exists is overwritten.",
    after_help = "\
Examples:
  prowess new release-notes                    create ./release-notes
  prowess new .agents/skills/lint              create it where agents look
  prowess new tidy-up --template script        with a script"
)]
pub(crate) struct NewArgs {
    /// Name of the skill, or the path of the folder to create; the last part is the name
    #[arg(value_name = "NAME|PATH")]
    pub(crate) name: PathBuf,
    /// What to start from: minimal, script, arguments (default: minimal)
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
    about = "Check skills against the specification\n\nChecks every skill in the named folders, six levels deep. Findings are printed; nothing is changed without `--fix`.",
    after_help = "\
Exit codes:
  0  nothing as severe as `--fail-on`; with `--diff`: nothing would change
  1  there are such findings; with `--diff`: something would change
  2  the command could not do its work

Examples:
  prowess validate                        check the skills visible from here
  prowess validate skills --diff          show what `--fix` would change
  prowess validate skills --fix           check a folder and mend it"
)]
pub(crate) struct ValidateArgs {
    /// Folders, SKILL.md files, installed names, or `-` for standard input (default: all skills visible from here, apart from the bundled one)
    #[arg(value_name = "PATH|NAME", add = ArgValueCompleter::new(completions::skills_and_paths))]
    pub(crate) paths: Vec<PathBuf>,
    /// Apply safe fixes
    #[arg(long)]
    pub(crate) fix: bool,
    /// With `--fix` or `--diff`, include the suggested fixes; review the result
    #[arg(long)]
    pub(crate) unsafe_fixes: bool,
    /// Print what `--fix` would change, and change nothing
    #[arg(long, conflicts_with_all = ["format", "json", "statistics"])]
    pub(crate) diff: bool,
    /// Whose rules count: spec, claude-code, lenient (default: claude-code)
    #[arg(long, value_name = "PROFILE", help_heading = "Rules")]
    pub(crate) profile: Option<String>,
    /// Where the skill will be used: claude-ai
    #[arg(long, value_name = "TARGET", help_heading = "Rules")]
    pub(crate) target: Option<String>,
    /// Only this rule (can be repeated, or separated by commas)
    #[arg(long, value_name = "RULE", help_heading = "Rules", value_delimiter = ',', add = ArgValueCandidates::new(completions::rule_names))]
    pub(crate) select: Vec<String>,
    /// Skip this rule (can be repeated, or separated by commas)
    #[arg(long, value_name = "RULE", help_heading = "Rules", value_delimiter = ',', add = ArgValueCandidates::new(completions::rule_names))]
    pub(crate) ignore: Vec<String>,
    /// Severity of a rule: error, warning, note, off (can be repeated, or separated by commas)
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
    /// full, concise, json, github, sarif (default: full)
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
    /// Print how often each rule was broken, instead of the findings
    #[arg(long, help_heading = "Output")]
    pub(crate) statistics: bool,
    /// Keep running, and check again when files change
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
    about = "Explain a rule, with a bad and a good example\n\nWithout a rule, lists all of them.",
    after_help = "\
Examples:
  prowess explain                         list all rules
  prowess explain name-folder-mismatch    explain one"
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
    about = "Show the metadata, outline, files and size of one skill\n\nReads a skill the way the loader does: whatever can be recovered is shown.",
    after_help = "\
Examples:
  prowess show skills/release-notes                   everything about it
  prowess show skills/release-notes --json            the same for a program
  prowess show skills/release-notes --file SKILL.md   one of its files"
)]
pub(crate) struct ShowArgs {
    /// A skill's folder, its SKILL.md, or an installed name
    #[arg(value_name = "PATH|NAME", add = ArgValueCompleter::new(completions::skills_and_paths))]
    pub(crate) path: PathBuf,
    /// Print a file of the skill instead, by its path from the skill's folder
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<String>,
    /// With `--file`, begin at this byte (default: 0)
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
    /// Read as this profile does; `spec` with `--json` prints what `skills-ref read-properties` prints
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    about = "List skills, where they come from and what shadows what\n\nOf several skills with the same name, the nearest wins: project before extra folders before your home before what is bundled. The others stay reachable by a qualified name, such as `user:pdf`.",
    after_help = "\
Examples:
  prowess list                            every skill that is visible from here
  prowess list --all                      shadowed and hidden ones as well
  prowess list --scope user --json        those of your home, for a program"
)]
pub(crate) struct ListArgs {
    /// Also show skills that are shadowed or hidden, and why
    #[arg(short, long)]
    pub(crate) all: bool,
    /// Only skills of this scope: project, extra, user, bundled
    #[arg(long, value_name = "SCOPE", add = ArgValueCandidates::new(completions::scopes))]
    pub(crate) scope: Option<String>,
    /// What this agent of the configuration sees
    #[arg(long, value_name = "AGENT", add = ArgValueCandidates::new(completions::agents))]
    pub(crate) agent: Option<String>,
    /// Show versions and paths, and shorten nothing
    #[arg(short, long, help_heading = "Output")]
    pub(crate) wide: bool,
    /// Keep running, and print what changes
    #[arg(long, help_heading = "Output")]
    pub(crate) watch: bool,
    /// Print as JSON; with `--watch`, one document per line
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    about = "Search skills, the best first\n\nSearches names, descriptions, tags, metadata, headings and bodies. The last word may be incomplete, and a typing error in a name is tolerated.",
    after_help = "\
Examples:
  prowess find fill in a form             the skills that fit best
  prowess find pdf --explain              with the reasons for each score
  prowess find --meta team=docs           by metadata alone"
)]
pub(crate) struct FindArgs {
    /// What to look for
    #[arg(value_name = "WORDS", required_unless_present = "meta")]
    pub(crate) words: Vec<String>,
    /// Only skills with this metadata (can be repeated; all must match)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) meta: Vec<String>,
    /// Only skills of this scope: project, extra, user, bundled
    #[arg(long, value_name = "SCOPE", add = ArgValueCandidates::new(completions::scopes))]
    pub(crate) scope: Option<String>,
    /// Find the words as one piece of text, unranked, in names, descriptions and metadata
    #[arg(long)]
    pub(crate) substring: bool,
    /// Print at most this many, or 0 for all (default: 10)
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        default_value_t = 10,
        hide_default_value = true
    )]
    pub(crate) limit: usize,
    /// Show what each score is made of
    #[arg(long, help_heading = "Output")]
    pub(crate) explain: bool,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    about = "Print exactly what a model would see\n\nPrints the listing of skills that goes into the prompt, within its budget, and on standard error what was shortened or left out, and why.",
    after_help = "\
Examples:
  prowess prompt                          the listing as a model gets it
  prowess prompt --budget 500             within 500 tokens
  prowess prompt --format xml --compat    as the reference tool prints it"
)]
pub(crate) struct PromptArgs {
    /// markdown, xml, json (default: markdown)
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "markdown",
        hide_possible_values = true,
        hide_default_value = true
    )]
    pub(crate) format: PromptFormatArg,
    /// With `--format xml`, byte for byte what `skills-ref to-prompt` prints, without a budget; with
    /// `--skill`, whose rules fill in arguments: claude-code, agentick, goose
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "skills-ref")]
    pub(crate) compat: Option<String>,
    /// Tokens for the listing (default: one hundredth of the window)
    #[arg(long, value_name = "TOKENS")]
    pub(crate) budget: Option<usize>,
    /// Context window of the model, in tokens (default: 200,000)
    #[arg(long, value_name = "TOKENS")]
    pub(crate) window: Option<usize>,
    /// Only pinned and recently used skills, and how many more there are
    #[arg(long)]
    pub(crate) recent: bool,
    /// What this agent of the configuration sees
    #[arg(long, value_name = "AGENT", add = ArgValueCandidates::new(completions::agents))]
    pub(crate) agent: Option<String>,
    /// Print the listing and the report as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// What a model receives when it loads this skill; its commands run, gated and sandboxed
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "One skill",
        conflicts_with_all = ["format", "budget", "window", "recent"],
        add = ArgValueCandidates::new(completions::skill_names)
    )]
    pub(crate) skill: Option<String>,
    /// Its arguments, as one text
    #[arg(long, value_name = "TEXT", help_heading = "One skill", requires = "skill", conflicts_with_all = ["arg", "args_json"], allow_hyphen_values = true)]
    pub(crate) arguments: Option<String>,
    /// One of its arguments by name (can be repeated)
    #[arg(
        long,
        value_name = "NAME=VALUE",
        help_heading = "One skill",
        requires = "skill",
        conflicts_with = "args_json"
    )]
    pub(crate) arg: Vec<String>,
    /// Its arguments as JSON: an object, a list or a text
    #[arg(
        long,
        value_name = "JSON",
        help_heading = "One skill",
        requires = "skill"
    )]
    pub(crate) args_json: Option<String>,
    /// Run none of its commands
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
    about = "Explain why a skill is listed, hidden, cut or not found\n\nThe exit code is 1 if models cannot see it. With `--session` it explains a turn of a session.",
    after_help = "\
Examples:
  prowess why release-notes                          is it listed?
  prowess why release-notes --query \"what changed\"   how does it rank?"
)]
pub(crate) struct WhyArgs {
    /// Name of a skill, qualified or not, such as `user:pdf`, or its folder
    #[arg(value_name = "NAME|PATH", required_unless_present = "session", add = ArgValueCompleter::new(completions::skills_and_paths))]
    pub(crate) name: Option<String>,
    /// Explain a turn of this session instead: tools, skills, decisions, cost
    #[arg(long, value_name = "ID", conflicts_with_all = ["name", "query", "agent", "json"])]
    pub(crate) session: Option<String>,
    /// Which turn (default: the last)
    #[arg(long, value_name = "N", requires = "session")]
    pub(crate) turn: Option<u32>,
    /// How it ranks for these words
    #[arg(long, value_name = "WORDS")]
    pub(crate) query: Option<String>,
    /// As this agent of the configuration sees it
    #[arg(long, value_name = "AGENT", add = ArgValueCandidates::new(completions::agents))]
    pub(crate) agent: Option<String>,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    about = "Show which skills are used\n\nAgents that run with prowess leave a record of every use: how often, when last, and how it ended. It stays on this machine.",
    after_help = "\
Examples:
  prowess stats                           the skills used most
  prowess stats --json                    the same for a program"
)]
pub(crate) struct StatsArgs {
    /// Print at most this many, or 0 for all (default: 20)
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
    about = "Check configuration, folders, cache and store\n\nSays what is wrong with the configuration, which folders are searched and what is in them, what cannot be read, whether cache, store and sandbox work, and which models can be asked.",
    after_help = "\
Examples:
  prowess doctor                          is everything in order?
  prowess doctor --online                 are the keys accepted? costs nothing
  prowess doctor --json                   the same for a program"
)]
pub(crate) struct DoctorArgs {
    /// Ask every provider that has a key for its list of models
    #[arg(long)]
    pub(crate) online: bool,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    about = "Print a script that completes commands and names\n\nThe script asks prowess itself, so the names of skills and rules are always current.",
    after_help = "\
Examples:
  prowess completions bash    for ~/.bashrc: source <(prowess completions bash)
  prowess completions fish    for ~/.config/fish/completions/prowess.fish"
)]
pub(crate) struct CompletionsArgs {
    /// bash, elvish, fish, powershell, zsh
    #[arg(value_name = "SHELL", add = ArgValueCandidates::new(completions::shells))]
    pub(crate) shell: String,
}

#[derive(Debug, Args)]
#[command(
    about = "Print a JSON Schema\n\nWithout a name, lists the schemas there are.",
    after_help = "\
Examples:
  prowess schema                          list the schemas
  prowess schema skill                    the frontmatter of SKILL.md"
)]
pub(crate) struct SchemaArgs {
    /// Name of a schema
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    about = "Show help on a command or a topic\n\nWithout a subject, lists the commands.",
    after_help = "\
Examples:
  prowess help validate                   everything about a command
  prowess help exit-codes                 a topic"
)]
pub(crate) struct HelpArgs {
    /// A command, or a topic: exit-codes, environment, formats, profiles
    #[arg(add = ArgValueCandidates::new(completions::subjects))]
    pub(crate) subject: Option<String>,
}

/// Prints what clap has to say: help and versions as answers, mistakes in our own words' form.
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
    fn our_own_help_looks_like_claps() {
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
    fn the_commands_in_the_overview_are_all_there_are() {
        for command in Cli::command().get_subcommands() {
            let line = format!("\n  {} ", command.get_name());
            assert!(
                ROOT_HELP.contains(&line),
                "{} is not in the overview",
                command.get_name()
            );
        }
    }

    #[test]
    fn mistakes_in_usage_become_messages_and_hints() {
        for (typed, message, hint) in [
            (
                "validate --formt x",
                "unexpected argument `--formt` found",
                "`--format`",
            ),
            // These two are too short for clap.
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

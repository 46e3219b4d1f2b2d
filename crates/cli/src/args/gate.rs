//! What can be typed about permissions.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::{ArgValueCandidates, ArgValueCompleter};

use crate::commands::completions;

#[derive(Debug, Args)]
#[command(
    about = "Show rules, and check what they make of a command",
    after_help = "\
Examples:
  prowess policy check --allow 'Bash(git:*)' -- git status
  prowess policy show                            the rules that count here"
)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    pub(crate) command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    Check(CheckArgs),
    Show(PolicyShowArgs),
}

#[derive(Debug, Args)]
#[command(
    about = "Say whether a command may run, and why\n\nThe rules are those of the configuration and those given here. Nothing runs. The exit code is 0 where it may run unasked, else 1.",
    after_help = "\
Examples:
  prowess policy check -- git status             with the rules of the configuration
  prowess policy check --allow 'Bash(git:*)' -- git -c core.pager=sh log
  prowess policy check --skill pdf -- ./scripts/fill.py a.pdf
  prowess policy check --jsonl < cases.jsonl     one JSON object a line

A line for --jsonl is {\"id\", \"rules\": {\"allow\": [], \"ask\": [], \"deny\": []}, \"cmd\",
\"cwd\"?}; its rules are all that count. The answer is {\"id\", \"verdict\", \"reason\",
\"rule\", \"words\"}."
)]
pub(crate) struct CheckArgs {
    /// What may run unasked, such as `Bash(git status:*)` (can be repeated)
    #[arg(long, value_name = "RULE", help_heading = "Permissions")]
    pub(crate) allow: Vec<String>,
    /// What is always asked about
    #[arg(long, value_name = "RULE", help_heading = "Permissions")]
    pub(crate) ask: Vec<String>,
    /// What never runs
    #[arg(long, value_name = "RULE", help_heading = "Permissions")]
    pub(crate) deny: Vec<String>,
    /// As this skill would run it
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(completions::skill_names))]
    pub(crate) skill: Option<String>,
    /// Read one JSON object a line from standard input, answer one a line
    #[arg(long, conflicts_with_all = ["allow", "ask", "deny", "skill", "json", "line"])]
    pub(crate) jsonl: bool,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// The command: its words, or one text with everything in it
    #[arg(value_name = "COMMAND", last = true, required_unless_present = "jsonl")]
    pub(crate) line: Vec<String>,
}

#[derive(Debug, Args)]
#[command(
    about = "Print the rules that count here, and where each comes from",
    after_help = "\
Examples:
  prowess policy show
  prowess policy show --json"
)]
pub(crate) struct PolicyShowArgs {
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    about = "Show what skills would be allowed to do, and trust them\n\nSkills of a project run nothing until you trust them. Trust is kept outside of the project and hangs on every byte of the skill: when a file changes it lapses, and this command shows what changed.",
    after_help = "\
Examples:
  prowess trust                           which skills here are trusted
  prowess trust csv-report                show what it may do, and ask
  prowess trust csv-report --revoke       take it back"
)]
pub(crate) struct TrustArgs {
    /// Names of skills, or their folders; none for all of the project
    #[arg(value_name = "PATH|NAME", add = ArgValueCompleter::new(completions::skills_and_paths))]
    pub(crate) skills: Vec<String>,
    /// Trust it unasked if this is its digest, or how it begins (at least 12 digits)
    #[arg(long, value_name = "DIGEST", requires = "skills", conflicts_with_all = ["revoke", "list"])]
    pub(crate) digest: Option<String>,
    /// Take trust back
    #[arg(long, requires = "skills", conflicts_with = "list")]
    pub(crate) revoke: bool,
    /// List everything that is trusted, anywhere
    #[arg(long, conflicts_with = "skills")]
    pub(crate) list: bool,
    /// Print as JSON; asks nothing
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    about = "Run a command as a skill would: gate, sandbox, limits\n\nThe command starts in the skill's folder. It may read the skill and the project and write a folder for temporary files; more only with the options below. What the sandbox did is reported at the end. The exit code is that of the command, 124 where its time was over, or 3 where it may not run.",
    after_help = "\
Examples:
  prowess exec tidy-up -- ./scripts/check.sh
  prowess exec tidy-up --approve 'Bash(ls:*)' -- ls -la
  prowess exec tidy-up --json -- ./scripts/check.sh"
)]
pub(crate) struct ExecArgs {
    /// Name of the skill
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(completions::skill_names))]
    pub(crate) skill: String,
    /// Allow what fits this rule, unasked (can be repeated)
    #[arg(long, value_name = "RULE", help_heading = "Permissions")]
    pub(crate) approve: Vec<String>,
    /// Let it write in the project
    #[arg(long, help_heading = "Permissions")]
    pub(crate) write: bool,
    /// Let it use the network
    #[arg(long, help_heading = "Permissions")]
    pub(crate) network: bool,
    /// How much of the sandbox must be there: required, best-effort, off
    #[arg(long, value_name = "STRENGTH", help_heading = "Permissions")]
    pub(crate) sandbox: Option<String>,
    /// Seconds until it is stopped (default: 30)
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    /// Start in this folder instead of the skill's
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Print what happened as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// The command: its words, or one text with everything in it
    #[arg(value_name = "COMMAND", last = true, required = true)]
    pub(crate) line: Vec<String>,
}

#[derive(Debug, Args)]
#[command(
    about = "List and call the tools that models get, as a model would\n\nA tool's error is an answer, too: what a model would read goes to standard error, with exit code 1, or 3 where the rules refuse it.",
    after_help = "\
Examples:
  prowess tool list                              the tools and what they take
  prowess tool call load_skill --json '{\"name\":\"csv-report\"}'"
)]
pub(crate) struct ToolArgs {
    #[command(subcommand)]
    pub(crate) command: ToolCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolCommand {
    List(ToolListArgs),
    Call(ToolCallArgs),
}

#[derive(Debug, Args)]
#[command(
    about = "List the tools that a model gets, with what they take",
    after_help = "\
Examples:
  prowess tool list
  prowess tool list --json                       with JSON Schemas"
)]
pub(crate) struct ToolListArgs {
    /// As this agent of the configuration gets them
    #[arg(long, value_name = "AGENT", add = ArgValueCandidates::new(completions::agents))]
    pub(crate) agent: Option<String>,
    /// Print as JSON, with schemas
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    about = "Call a tool as a model would",
    after_help = "\
Examples:
  prowess tool call list_skills
  prowess tool call search_skills --json '{\"query\":\"forms\"}'
  prowess tool call load_skill --json '{\"name\":\"csv-report\"}' --value"
)]
pub(crate) struct ToolCallArgs {
    /// Name of the tool
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// What it is given, as JSON; `-` reads standard input (default: an empty object)
    #[arg(long, value_name = "JSON")]
    pub(crate) json: Option<String>,
    /// Run commands as this skill
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(completions::skill_names))]
    pub(crate) skill: Option<String>,
    /// As this agent of the configuration
    #[arg(long, value_name = "AGENT", add = ArgValueCandidates::new(completions::agents))]
    pub(crate) agent: Option<String>,
    /// Print the text and its value as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) value: bool,
}

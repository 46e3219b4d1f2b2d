//! Arguments of the commands about permissions and tools.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::{ArgValueCandidates, ArgValueCompleter};

use crate::commands::completions;

#[derive(Debug, Args)]
#[command(
    about = "Show permission rules, and check commands against them",
    after_help = "\
Examples:
  prowess policy check --allow 'Bash(git:*)' -- git status
  prowess policy show                            show the active rules"
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
    about = "Check a command against the rules, without running it",
    after_help = "\
Examples:
  prowess policy check -- git status             apply the configured rules
  prowess policy check --allow 'Bash(git:*)' -- git -c core.pager=sh log
  prowess policy check --skill pdf -- ./scripts/fill.py a.pdf
  prowess policy check --jsonl < cases.jsonl     read JSON Lines

The exit code is 0 if the command may run without asking, otherwise 1.

`--jsonl` reads lines of {\"id\", \"rules\": {\"allow\": [], \"ask\": [], \"deny\": []}, \"cmd\",
\"cwd\"?}, to which only their own rules apply, and prints lines of {\"id\", \"verdict\",
\"reason\", \"rule\", \"words\"}."
)]
pub(crate) struct CheckArgs {
    /// Allow without asking, e.g. `Bash(git status:*)` (can be repeated)
    #[arg(long, value_name = "RULE", help_heading = "Permissions")]
    pub(crate) allow: Vec<String>,
    /// Always ask before running (can be repeated)
    #[arg(long, value_name = "RULE", help_heading = "Permissions")]
    pub(crate) ask: Vec<String>,
    /// Never run (can be repeated)
    #[arg(long, value_name = "RULE", help_heading = "Permissions")]
    pub(crate) deny: Vec<String>,
    /// Check the command as run by this skill
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(completions::skill_names))]
    pub(crate) skill: Option<String>,
    /// Read JSON Lines from standard input and print one result per line
    #[arg(long, conflicts_with_all = ["allow", "ask", "deny", "skill", "json", "line"])]
    pub(crate) jsonl: bool,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Command, as separate words or as one string
    #[arg(value_name = "COMMAND", last = true, required_unless_present = "jsonl")]
    pub(crate) line: Vec<String>,
}

#[derive(Debug, Args)]
#[command(
    about = "Show the active rules and their origin",
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
    about = "Show what skills may do, and trust them\n\nSkills of a project cannot run commands until you trust them. Trust is stored outside the project and covers the exact contents of the skill: it expires when a file changes, and this command then shows what changed.",
    after_help = "\
Examples:
  prowess trust                           show the trust of each skill here
  prowess trust csv-report                show what it may do, then ask
  prowess trust csv-report --revoke       revoke trust"
)]
pub(crate) struct TrustArgs {
    /// Names or folders of skills (default: all skills of the project)
    #[arg(value_name = "PATH|NAME", add = ArgValueCompleter::new(completions::skills_and_paths))]
    pub(crate) skills: Vec<String>,
    /// Trust without asking if the digest starts with this (at least 12 digits)
    #[arg(long, value_name = "DIGEST", requires = "skills", conflicts_with_all = ["revoke", "list"])]
    pub(crate) digest: Option<String>,
    /// Revoke trust
    #[arg(long, requires = "skills", conflicts_with = "list")]
    pub(crate) revoke: bool,
    /// List all trusted skills, in any project
    #[arg(long, conflicts_with = "skills")]
    pub(crate) list: bool,
    /// Print as JSON, without asking
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    about = "Run a command as a skill would, in the sandbox\n\nThe command starts in the skill's folder. It can read the skill and the project and write to a temporary folder; the options below allow more. A sandbox report is printed at the end. The exit code is that of the command, 124 on timeout, or 3 if the command is not permitted.",
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
    /// Allow without asking, e.g. `Bash(ls:*)` (can be repeated)
    #[arg(long, value_name = "RULE", help_heading = "Permissions")]
    pub(crate) approve: Vec<String>,
    /// Allow writing to the project
    #[arg(long, help_heading = "Permissions")]
    pub(crate) write: bool,
    /// Allow network access
    #[arg(long, help_heading = "Permissions")]
    pub(crate) network: bool,
    /// Sandbox mode: required, best-effort, off
    #[arg(long, value_name = "STRENGTH", help_heading = "Permissions")]
    pub(crate) sandbox: Option<String>,
    /// Timeout in seconds (default: 30)
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    /// Start in this folder instead of the skill's
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Command, as separate words or as one string
    #[arg(value_name = "COMMAND", last = true, required = true)]
    pub(crate) line: Vec<String>,
}

#[derive(Debug, Args)]
#[command(
    about = "List and call the tools available to models\n\nIf a tool fails, the error text that a model would read is printed to standard error. The exit code is then 1, or 3 if the call is not permitted.",
    after_help = "\
Examples:
  prowess tool list                              list the tools
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
    about = "List the tools available to models",
    after_help = "\
Examples:
  prowess tool list
  prowess tool list --json                       include input schemas"
)]
pub(crate) struct ToolListArgs {
    /// List the tools of this configured agent
    #[arg(long, value_name = "AGENT", add = ArgValueCandidates::new(completions::agents))]
    pub(crate) agent: Option<String>,
    /// Print as JSON, including input schemas
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
    /// Input of the tool as JSON, or `-` for standard input (default: `{}`)
    #[arg(long, value_name = "JSON")]
    pub(crate) json: Option<String>,
    /// Run commands as this skill
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(completions::skill_names))]
    pub(crate) skill: Option<String>,
    /// Call the tool as this configured agent
    #[arg(long, value_name = "AGENT", add = ArgValueCandidates::new(completions::agents))]
    pub(crate) agent: Option<String>,
    /// Print text and structured value as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) value: bool,
}

//! What can be typed.
//!
//! The first line of an `about` says what a command does, the rest what else there is to know. It
//! is not a doc comment: clap would keep the rest from `-h`, and offer a `--help` that says hardly more.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::env::Environment;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::printer::Printer;

#[derive(Debug, Args)]
#[command(
    about = "Check, explain and mend Agent Skills\n\nerive(Debug, Parser)] ommand(name = \"prowess\", version, disable_help_subcommand = true, help_template = ROOT_HELP, max_term_width = 100)] (crate) struct Cli { #[command(flatten)] pub(crate) global: GlobalArgs, #[command(subcommand)] pub(crate) command: Option<Command>, st ROOT_HELP: &str = \"\ out} ge: {usage} hor: ew NAME|PATH            Create a skill from a template alidate [PATH|NAME]...  Check skills against the specification xplain [RULE]           Explain a rule, with a bad and a good example : ist                     List skills, where they come from and what shadows what ind WORDS...            Search skills, the best first how PATH|NAME           Show one skill: metadata, outline, files, size rompt                   Print exactly what a model would see hy NAME                 Explain why a skill is listed, hidden, cut or not found age: tats                    Show which skills are used octor                   Check folders, cache and store chema [NAME]            Print a JSON Schema ompletions SHELL        Print a script that completes commands and names elp [COMMAND|TOPIC]     Show help on a command or a topic ions: tions} e: `prowess help COMMAND`; topics: exit-codes, environment, formats, profiles Options that every command takes. erive(Debug, Args)] ommand(next_help_heading = \"Global options\")] (crate) struct GlobalArgs { /// Print less: `-q` leaves results and errors, `-qq` only the exit code #[arg(short, long, global = true, action = clap::ArgAction::Count)] pub(crate) quiet: u8, /// When to use colours #[arg( long, global = true, value_name = \"WHEN\", default_value = \"auto\", hide_possible_values = true, hide_default_value = true, help = \"When to use colours: auto, always, never (default: auto)\" )] pub(crate) color: ColorArg, #[arg(long, global = true, help = \"Show no progress [env: PROWESS_NO_PROGRESS]\")] pub(crate) no_progress: bool, #[arg( long, global = true, value_name = \"DIR\", help = \"Look for skills here, too (can be repeated) [env: PROWESS_SKILLS_PATH]\" )] pub(crate) skills_dir: Vec<PathBuf>, /// Read every skill again and remember nothing #[arg(long, global = true)] pub(crate) no_cache: bool, erive(Clone, Copy, Debug, ValueEnum)] (crate) enum ColorArg { Auto, Always, Never, erive(Debug, Subcommand)] (crate) enum Command { New(NewArgs), Validate(ValidateArgs), Explain(ExplainArgs), #[command(alias = \"ls\")] List(ListArgs), Find(FindArgs), Show(ShowArgs), Prompt(PromptArgs), Why(WhyArgs), Stats(StatsArgs), Doctor(DoctorArgs), Schema(SchemaArgs), Completions(CompletionsArgs), Help(HelpArgs), erive(Debug, Args)] ommand( about = \"Create a skill from a template\n\nMakes a folder with a SKILL.md that passes `prowess validate`, ready to be filled in. Nothing that exists is overwritten.\", after_help = \"\ mples: rowess new release-notes                    create ./release-notes rowess new .agents/skills/lint              create it where agents look rowess new tidy-up --template script        with a script\" (crate) struct NewArgs { /// Name of the skill, or the path of the folder to create; the last part is the name #[arg(value_name = \"NAME|PATH\")] pub(crate) name: PathBuf, /// What to start from: minimal, script, arguments (default: minimal) #[arg( long, value_name = \"TEMPLATE\", default_value = \"minimal\", hide_possible_values = true, hide_default_value = true )] pub(crate) template: TemplateArg, /// What the skill does and when to use it #[arg(long, value_name = \"TEXT\")] pub(crate) description: Option<String>, /// Print the result as JSON #[arg(long, help_heading = \"Output\")] pub(crate) json: bool, erive(Clone, Copy, Debug, ValueEnum)] (crate) enum TemplateArg { Minimal, Script, Arguments, erive(Debug, Args)] ommand( about = \"Check skills against the specification\n\nChecks every skill in the named folders, down to six levels. A file that cannot be read, or that is not YAML, or that is not a skill at all is reported like any other finding and never hides the others.\", after_help = \"\ mples: rowess validate                        check everything prowess can see rowess validate skills --fix           check a folder and mend it rowess validate --format github        annotate a pull request\" (crate) struct ValidateArgs { /// Folders, SKILL.md files, installed names, or `-` for standard input (default: all visible skills) #[arg(value_name = \"PATH|NAME\")] pub(crate) paths: Vec<PathBuf>, /// Apply safe fixes #[arg(long)] pub(crate) fix: bool, /// With `--fix` or `--diff`, take the suggested fixes too: check the result #[arg(long)] pub(crate) unsafe_fixes: bool, /// Print what `--fix` would change, and change nothing #[arg(long, conflicts_with_all = [\"format\", \"json\", \"statistics\"])] pub(crate) diff: bool, /// Whose rules count: spec, claude-code, lenient (default: claude-code) #[arg(long, value_name = \"PROFILE\", help_heading = \"Rules\")] pub(crate) profile: Option<String>, /// Where the skill is meant for: claude-ai #[arg(long, value_name = \"TARGET\", help_heading = \"Rules\")] pub(crate) target: Option<String>, /// Only this rule (can be repeated, or a list with commas) #[arg(long, value_name = \"RULE\", help_heading = \"Rules\", value_delimiter = ',')] pub(crate) select: Vec<String>, /// Skip this rule (can be repeated, or a list with commas) #[arg(long, value_name = \"RULE\", help_heading = \"Rules\", value_delimiter = ',')] pub(crate) ignore: Vec<String>, /// Severity of a rule: error, warning, note, off (can be repeated, or a list with commas) #[arg(long, value_name = \"RULE=LEVEL\", help_heading = \"Rules\", value_delimiter = ',')] pub(crate) severity: Vec<String>, /// Lowest severity that fails the run: error, warning, note (default: error) #[arg(long, value_name = \"LEVEL\", help_heading = \"Rules\")] pub(crate) fail_on: Option<String>, /// Disregard configuration files #[arg(long, help_heading = \"Rules\")] pub(crate) no_config: bool, /// full, concise, json, github, sarif (default: full) #[arg( long, value_name = \"FORMAT\", default_value = \"full\", hide_possible_values = true, hide_default_value = true, help_heading = \"Output\" )] pub(crate) format: FormatArg, /// Same as `--format json` #[arg(long, help_heading = \"Output\", conflicts_with = \"format\")] pub(crate) json: bool, /// Print how often each rule was broken, in place of the findings #[arg(long, help_heading = \"Output\")] pub(crate) statistics: bool, erive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)] (crate) enum FormatArg { Full, Concise, Json, Github, Sarif, erive(Debug, Args)] ommand( about = \"Explain a rule, with a bad and a good example\n\nWithout a rule, lists all of them.\", after_help = \"\ mples: rowess explain                         list all rules rowess explain name-folder-mismatch    explain one\" (crate) struct ExplainArgs { /// Name of a rule, as it stands in brackets in a finding #[arg(add = clap_complete::ArgValueCandidates::new(crate::commands::completions::rule_names))] pub(crate) rule: Option<String>, /// Print as JSON #[arg(long, help_heading = \"Output\")] pub(crate) json: bool, erive(Debug, Args)] ommand( about = \"Show the metadata, outline, files and size of one skill\n\nReads a skill the way the loader does: whatever can be recovered is shown.\", after_help = \"\ mples: rowess show skills/release-notes                   everything about it rowess show skills/release-notes --json            the same for a program rowess show skills/release-notes --file SKILL.md   one of its files\" (crate) struct ShowArgs { /// A skill's folder, its SKILL.md, or an installed name #[arg(value_name = \"PATH|NAME\", add = clap_complete::ArgValueCandidates::new(crate::commands::completions::skill_names))] pub(crate) path: PathBuf, /// Print a file of the skill instead, by its path from the skill's folder #[arg(long, value_name = \"FILE\")] pub(crate) file: Option<String>, /// With `--file`, begin at this byte (default: 0) #[arg( long, value_name = \"BYTE\", default_value_t = 0, hide_default_value = true, requires = \"file\" )] pub(crate) offset: u64, /// With `--file`, print at most this many bytes (default: 65536) #[arg(long, value_name = \"BYTES\", requires = \"file\")] pub(crate) limit: Option<usize>, /// Read as this profile does; `spec` with `--json` prints what `skills-ref read-properties` prints #[arg(long, value_name = \"PROFILE\")] pub(crate) profile: Option<String>, /// Print as JSON #[arg(long, help_heading = \"Output\")] pub(crate) json: bool, List skills, where they come from and what shadows what Of several skills of one name, the nearest wins: project before extra folders before your home before what is bundled. The others stay reachable by a qualified name, such as `user:pdf`. erive(Debug, Args)] ommand(after_help = \"\ mples: rowess list                            every skill that is visible from here rowess list --all                      shadowed and hidden ones, too rowess list --scope user --json        those of your home, for a program\")] (crate) struct ListArgs { /// Show skills that are shadowed or hidden, too, and why #[arg(short, long)] pub(crate) all: bool, /// Only skills of this scope: project, extra, user, bundled #[arg(long, value_name = \"SCOPE\")] pub(crate) scope: Option<String>, /// What this agent of the configuration sees #[arg(long, value_name = \"AGENT\")] pub(crate) agent: Option<String>, /// Show versions and places, and cut nothing #[arg(short, long, help_heading = \"Output\")] pub(crate) wide: bool, /// Go on and print what changes #[arg(long, help_heading = \"Output\")] pub(crate) watch: bool, /// Print as JSON; with `--watch`, one document a line #[arg(long, help_heading = \"Output\")] pub(crate) json: bool, Search skills, the best first Searches names, descriptions, tags, metadata, headings and bodies. The last word may be the beginning of one, and a slip in a name is forgiven. erive(Debug, Args)] ommand(after_help = \"\ mples: rowess find fill in a form             the skills that fit best rowess find pdf --explain              with the reasons for each score rowess find --meta team=docs           by metadata alone\")] (crate) struct FindArgs { /// What to look for #[arg(value_name = \"WORDS\", required_unless_present = \"meta\")] pub(crate) words: Vec<String>, /// Only skills with this metadata (can be repeated; all must hold) #[arg(long, value_name = \"KEY=VALUE\")] pub(crate) meta: Vec<String>, /// Only skills of this scope: project, extra, user, bundled #[arg(long, value_name = \"SCOPE\")] pub(crate) scope: Option<String>, /// Find the words as one piece of text, unranked, in names, descriptions and metadata #[arg(long)] pub(crate) substring: bool, /// Print at most this many, or 0 for all (default: 10) #[arg(short = 'n', long, value_name = \"N\", default_value_t = 10, hide_default_value = true)] pub(crate) limit: usize, /// Show what each score is made of #[arg(long, help_heading = \"Output\")] pub(crate) explain: bool, /// Print as JSON #[arg(long, help_heading = \"Output\")] pub(crate) json: bool, Print exactly what a model would see Prints the listing of skills that goes into the prompt, within its budget, and on standard error what was shortened or left out, and why. erive(Debug, Args)] ommand(after_help = \"\ mples: rowess prompt                          the listing as a model gets it rowess prompt --budget 500             within 500 tokens rowess prompt --format xml --compat    as the reference tool prints it\")] (crate) struct PromptArgs { /// markdown, xml, json (default: markdown) #[arg( long, value_name = \"FORMAT\", default_value = \"markdown\", hide_possible_values = true, hide_default_value = true )] pub(crate) format: PromptFormatArg, /// With `--format xml`, byte for byte what `skills-ref to-prompt` prints, without a budget #[arg(long)] pub(crate) compat: bool, /// Tokens for the listing (default: one hundredth of the window) #[arg(long, value_name = \"TOKENS\")] pub(crate) budget: Option<usize>, /// Context window of the model, in tokens (default: 200000) #[arg(long, value_name = \"TOKENS\")] pub(crate) window: Option<usize>, /// Only pinned and last used skills, and how many more there are #[arg(long)] pub(crate) recent: bool, /// What this agent of the configuration sees #[arg(long, value_name = \"AGENT\")] pub(crate) agent: Option<String>, /// Print the listing and the report as JSON #[arg(long, help_heading = \"Output\")] pub(crate) json: bool, erive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)] (crate) enum PromptFormatArg { Markdown, Xml, Json, Explain why a skill is listed, hidden, cut or not found erive(Debug, Args)] ommand(after_help = \"\ mples: rowess why release-notes               where it stands rowess why release-notes --query \\"what changed\\"   how it ranks for these words\")] (crate) struct WhyArgs { /// Name of a skill; qualified ones such as `user:pdf` work, too #[arg(value_name = \"NAME\", add = clap_complete::ArgValueCandidates::new(crate::commands::completions::skill_names))] pub(crate) name: String, /// How it ranks for these words #[arg(long, value_name = \"WORDS\")] pub(crate) query: Option<String>, /// As this agent of the configuration sees it #[arg(long, value_name = \"AGENT\")] pub(crate) agent: Option<String>, /// Print as JSON #[arg(long, help_heading = \"Output\")] pub(crate) json: bool, Show which skills are used Agents that run with prowess leave a record of every use: how often, when last, and how it ended. It stays on this machine. erive(Debug, Args)] ommand(after_help = \"\ mples: rowess stats                           the skills used last rowess stats --json                    the same for a program\")] (crate) struct StatsArgs { /// Print at most this many (default: 20) #[arg(short = 'n', long, value_name = \"N\", default_value_t = 20, hide_default_value = true)] pub(crate) limit: usize, /// Print as JSON #[arg(long, help_heading = \"Output\")] pub(crate) json: bool, Check folders, cache and store Says which folders are looked at and what is in them, what cannot be read, and whether cache and store work. erive(Debug, Args)] ommand(after_help = \"\ mples: rowess doctor                          is everything in order? rowess doctor --json                   the same for a program\")] (crate) struct DoctorArgs { /// Print as JSON #[arg(long, help_heading = \"Output\")] pub(crate) json: bool, Print a script that completes commands and names The script asks prowess itself, so that the names of skills and rules are those of the moment.",
    after_help = "\
Examples:
  prowess completions bash                for `source <(prowess completions bash)`
  prowess completions fish                for ~/.config/fish/completions/prowess.fish"
)]
pub(crate) struct CompletionsArgs {
    /// bash, elvish, fish, powershell, zsh
    #[arg(value_name = "SHELL")]
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
    pub(crate) subject: Option<String>,
}

/// Prints what clap has to say: help and versions as answers, mistakes in our own words' form.
pub(crate) fn explain_usage(error: &clap::Error, environment: &Environment) -> ExitCode {
    if error.use_stderr() {
        Printer::plain(environment).error(&usage_error(&error.render().to_string()));
        return Exit::Failed.into();
    }
    // A reader that went away is not an error.
    let _ = error.print();
    Exit::Done.into()
}

/// Turns clap's paragraphs into a message and hints.
fn usage_error(text: &str) -> CliError {
    let ticked = |line: &str| line.trim().replace('\'', "`");
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    let mut error = CliError::new(ticked(first.strip_prefix("error: ").unwrap_or(first)));
    for line in lines {
        let line = line.trim();
        if let Some(tip) = line.strip_prefix("tip: ") {
            error = error.hint(ticked(tip));
        } else if let Some(values) = line.strip_prefix('[') {
            error = error.hint(ticked(values.trim_end_matches(']')));
        } else if let Some(usage) = line.strip_prefix("Usage: ") {
            error = error.hint(format!("the usage is `{usage}`"));
        } else if !line.starts_with("For more information") {
            error.message.push_str(&format!(" {}", ticked(line)));
        }
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_in_the_overview_are_all_there_are() {
        use clap::CommandFactory;
        for command in Cli::command().get_subcommands() {
            let line = format!("\n  {} ", command.get_name());
            assert!(ROOT_HELP.contains(&line), "{} is not in the overview", command.get_name());
        }
    }

    #[test]
    fn mistakes_in_usage_become_messages_and_hints() {
        let error = Cli::try_parse_from(["prowess", "validate", "--formt", "x"]).unwrap_err();
        let error = usage_error(&error.render().to_string());
        assert_eq!(error.message, "unexpected argument `--formt` found");
        assert_eq!(error.hints[0], "a similar argument exists: `--format`");
    }
}

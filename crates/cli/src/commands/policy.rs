//! `prowess policy`

use crate::commands::completions;
use crate::output::{Cell, Exit, Failure, JsonLines, Printer, Table, wrap};
use anstyle::Style;
use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use prowess_catalog::visibility::{Audience, CatalogView};
use prowess_diag::{sanitize, theme, wording};
use prowess_policy::{Actor, Decision, Effect, GateAction, PermissionRules, RuleSource, Verdict};
use prowess_shell::{ShellLine, SimpleCommand, lex};
use prowess_tools::SkillHandle;
use prowess_trust::SkillRole;

use crate::args::GlobalArgs;
use crate::env::Environment;
use crate::permissions;
use crate::visible_skills::{self, Library};

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
    Check(PolicyCheckArgs),
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
pub(crate) struct PolicyCheckArgs {
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

/// Width of the label column.
const COLUMN: usize = 7;

pub(crate) fn run(
    args: &PolicyArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    match &args.command {
        PolicyCommand::Check(args) if args.jsonl => check_lines(),
        PolicyCommand::Check(args) => check(args, global, environment, printer),
        PolicyCommand::Show(args) => show(args, environment, printer),
    }
}

fn check(
    args: &PolicyCheckArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let (config, warnings) = visible_skills::settings(environment)?;
    for report in warnings.iter().filter(|_| !printer.is_quiet()) {
        printer.findings(report);
    }
    let mut gate = permissions::paths(environment).gate(&config);
    for (effect, rules) in [
        (Effect::Allow, &args.allow),
        (Effect::Ask, &args.ask),
        (Effect::Deny, &args.deny),
    ] {
        permissions::add(&mut gate.rules, effect, rules, &RuleSource::Flag)?;
    }
    let confine = config.confine.unwrap_or(false);
    let skill = match &args.skill {
        None => None,
        Some(name) => {
            let library = Library::with(config, global, environment)?;
            let catalog = library.catalog();
            let policy = library.policy(None)?;
            let by = |who| CatalogView::new(&catalog, &policy, who).resolve(name);
            // As `exec` does, and within `skills.only`.
            let found = by(Audience::Person).or_else(|refusal| {
                let other = by(Audience::Model);
                other.map_err(|_| refusal)
            });
            let entry = found.map_err(|refusal| visible_skills::refused(&refusal))?;
            let snapshot = permissions::read(entry, &library, environment)?;
            Some((SkillHandle::new(name, entry), snapshot))
        }
    };
    let (handle, skill) = skill.unzip();
    let none_loaded = PermissionRules::default();
    let actor = skill.as_ref().map_or_else(Actor::default, |skill| {
        skill.trust.actor(SkillRole::Author, confine, &none_loaded)
    });
    // Commands of a skill start in its folder, to which their relative paths refer.
    let place = skill
        .as_ref()
        .and_then(|skill| skill.trust.place.as_deref());
    let folder = place.map(|place| match place.parent() {
        Some(parent) if place.is_file() => parent,
        _ => place,
    });
    gate.places.cwd = folder.map(|folder| folder.to_string_lossy().into());
    let line = permissions::line(&args.line);
    let mut decision = gate.decide(&GateAction::Command { text: &line }, &actor);
    // As with `exec`, the rules about running commands as the skill apply first.
    if let Some(handle) = &handle {
        let run = prowess_tools::run_rules(&gate, handle, &line);
        if run.rule.is_some() && run.verdict > decision.verdict || run.verdict == Verdict::Deny {
            decision = run;
        }
    }
    let words = lex(&line).ok().map(|script| words(&script));
    if args.json {
        let mut document = prowess::inspect::decision(&decision, words.as_deref());
        document["schema"] = "prowess.policy.check/1".into();
        document["command"] = line.into();
        printer.json(&document)?;
    } else {
        printer.answer(&text(
            &line,
            &decision,
            words.as_deref(),
            printer.list_width(),
        ))?;
    }
    Ok(if decision.verdict == Verdict::Allow {
        Exit::Done
    } else {
        Exit::No
    })
}

fn words(script: &ShellLine) -> Vec<Vec<String>> {
    let of = |command: &SimpleCommand| {
        command
            .words
            .iter()
            .map(|word| word.text.to_string())
            .collect()
    };
    script.commands.iter().map(of).collect()
}

fn text(line: &str, decision: &Decision, words: Option<&[Vec<String>]>, width: usize) -> String {
    let color = match decision.verdict {
        Verdict::Allow => theme::GOOD,
        Verdict::Ask => theme::WARNING,
        Verdict::Deny => theme::BAD,
    };
    let (verdict, dim) = (theme::bold(color), theme::DIM);
    let mut text = String::new();
    let mut row = |title: &str, style: Style, value: &str| {
        let indent = format!("\n{:COLUMN$}", "");
        let value =
            wrap(&sanitize::line(value), width.saturating_sub(COLUMN).max(20)).join(&indent);
        let gap = " ".repeat(COLUMN.saturating_sub(title.len()));
        text.push_str(&format!("{style}{title}{style:#}{gap}{value}\n"));
    };
    row(decision.verdict.as_str(), verdict, line);
    row("why", dim, &decision.reason);
    if let Some(rule) = &decision.rule {
        row(
            "rule",
            dim,
            &format!("{} {} ({})", rule.effect.as_str(), rule.text, rule.source),
        );
    }
    for command in words.into_iter().flatten() {
        let quoted: Vec<String> = command
            .iter()
            .map(|word| wording::shell_word(word))
            .collect();
        row("words", dim, &quoted.join(" · "));
    }
    if let Some(remedy) = &decision.remedy {
        row("help", dim, &remedy.to_string());
    }
    text
}

/// Reads JSON Lines from standard input and prints one result per line.
fn check_lines() -> Result<Exit, Failure> {
    let output = JsonLines::new(std::io::stdout().lock());
    let output = std::io::BufWriter::with_capacity(1 << 16, output);
    match prowess::inspect::decide_jsonl(std::io::stdin().lock(), output) {
        // A closed pipe is not an error.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Exit::Done),
        Err(error) => Err(Failure::new("cannot read the input or write the results").cause(error)),
        Ok(()) => Ok(Exit::Done),
    }
}

fn show(
    args: &PolicyShowArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let (config, _) = visible_skills::settings(environment)?;
    let mode = config.mode.unwrap_or_default();
    let strength = config.sandbox.unwrap_or_default();
    let rules = &config.permissions;
    if args.json {
        printer.json(&prowess::inspect::rules(
            rules,
            mode.as_str(),
            strength.as_str(),
        ))?;
        return Ok(Exit::Done);
    }
    let written = rules.written();
    let mut table = Table::new(&["EFFECT", "RULE", "FROM"]).wrapping();
    for effect in [Effect::Deny, Effect::Ask, Effect::Allow] {
        let color = match effect {
            Effect::Deny => theme::BAD,
            Effect::Ask => theme::WARNING,
            Effect::Allow => theme::GOOD,
        };
        for placed in written.iter().filter(|placed| placed.effect == effect) {
            let anything = effect == Effect::Allow && placed.rule.is_unrestricted();
            let note = if anything { " (allows anything)" } else { "" };
            table.row(vec![
                Cell::styled(effect.as_str(), theme::bold(color)),
                Cell::new(&format!("{}{note}", placed.rule.text)),
                Cell::styled(&placed.source.to_string(), theme::DIM),
            ]);
        }
    }
    let count = written.len();
    if count > 0 {
        printer.answer(&table.render(printer.width()))?;
    }
    for placed in &written {
        if let Some(usual) = placed.rule.usual_spelling() {
            let (effect, text) = (placed.effect.as_str(), &placed.rule.text);
            let source = &placed.source;
            printer.warn(&format!(
                "{effect} rule `{text}` in {source} is read as `{usual}`"
            ));
        }
    }
    for unread in rules.unread() {
        printer.warn(&format!(
            "ignoring {} rule `{}` in {}: {}",
            unread.effect.as_str(),
            unread.fault.text,
            unread.source,
            unread.fault.why
        ));
    }
    let rest = match mode.as_str() {
        "ask" => "asks before anything that no rule allows",
        "allow" => "denies anything that no rule allows",
        "plan" => "runs nothing and changes nothing",
        "accept-edits" => "allows writing to the project, and asks before anything else",
        _ => "allows anything that no rule denies",
    };
    printer.status(&format!(
        "{}; mode `{}`: {rest}; sandbox `{}`",
        if count == 0 {
            "No rules".to_owned()
        } else {
            wording::count(count, "rule")
        },
        mode.as_str(),
        strength.as_str()
    ));
    Ok(Exit::Done)
}

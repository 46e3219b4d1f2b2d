//! Grants that grant everything.

use prowess_diag::wording;

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use crate::vocabulary::RUNS_ANYTHING;
use prowess_spec::tool_pattern::{CommandPattern, CommandShape, ToolPattern};

rule!(
    "unrestricted-tool",
    RuleLevels::of("WWW"),
    None,
    "`allowed-tools` lets the skill run any command"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(list) = skill
        .parsed
        .and_then(|parsed| parsed.manifest.allowed_tools.as_ref())
    else {
        return;
    };
    for token in list.tokens() {
        let Ok(pattern) = &token.pattern else {
            continue;
        };
        let Some(why) = why(pattern) else { continue };
        out.report(
            LintFinding::at(
                token.span,
                format!("{} allows every command", wording::tick(&token.text)),
            )
            .label(why)
            .help("name the commands the skill needs, such as `Bash(git status:*)`"),
        );
    }
}

fn why(pattern: &ToolPattern) -> Option<String> {
    match pattern {
        ToolPattern::Bare(name) if matches!(&**name, "Bash" | "PowerShell" | "*") => {
            Some("nothing restricts it".to_owned())
        }
        ToolPattern::Command(CommandPattern {
            shape: CommandShape::Anything,
            ..
        }) => Some("`*` matches everything".to_owned()),
        ToolPattern::Command(CommandPattern {
            shape: CommandShape::Words(words),
            ..
        }) => runs_anything(words),
        ToolPattern::Command(CommandPattern {
            shape: CommandShape::Glob,
            text,
            ..
        }) => {
            let before = text.split('*').next().unwrap_or_default();
            if before.is_empty() {
                Some("it begins with `*`".to_owned())
            } else {
                runs_anything(before)
            }
        }
        _ => None,
    }
}

/// An interpreter or wrapper with nothing but options, or another of its kind, behind it.
fn runs_anything(words: &str) -> Option<String> {
    let mut words = words.split_whitespace();
    let first = program(words.next()?);
    let is_one = |word: &str| RUNS_ANYTHING.contains(&word);
    let open = is_one(first) && words.all(|word| word.starts_with('-') || is_one(program(word)));
    open.then(|| format!("`{first}` runs whatever it is given"))
}

/// The name of a program without its folder.
fn program(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

//! Grants that grant everything.

use prowess_diag::wording;

use super::{Finding, Levels, Sink, Subject};
use crate::tool_pattern::{CommandPattern, CommandShape, ToolPattern};
use crate::vocabulary::RUNS_ANYTHING;

rule!("unrestricted-tool", Levels::of("WWW"), None, "`allowed-tools` lets the skill run any command");

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(list) = skill.parsed.and_then(|parsed| parsed.manifest.allowed_tools.as_ref()) else { return };
    for token in &list.tokens {
        let Ok(pattern) = &token.pattern else { continue };
        let Some(why) = why(pattern) else { continue };
        out.report(
            Finding::at(token.span, format!("{} allows every command", wording::tick(&token.text)))
                .label(why)
                .help("name the commands the skill needs, such as `Bash(git status:*)`"),
        );
    }
}

fn why(pattern: &ToolPattern) -> Option<String> {
    match pattern {
        ToolPattern::Bare(name) if matches!(&**name, "Bash" | "PowerShell" | "*") => Some("nothing restricts it".to_owned()),
        ToolPattern::Command(CommandPattern { shape: CommandShape::Anything, .. }) => Some("`*` matches everything".to_owned()),
        ToolPattern::Command(CommandPattern { shape: CommandShape::Words(words), .. }) => {
            let mut parts = words.split_whitespace();
            let program = parts.next()?;
            let program = program.rsplit('/').next().unwrap_or(program);
            let runs_anything = parts.next().is_none() && RUNS_ANYTHING.contains(&program);
            runs_anything.then(|| format!("`{program}` runs whatever it is given"))
        }
        ToolPattern::Command(CommandPattern { shape: CommandShape::Glob, text, .. }) => text.starts_with('*').then(|| "it begins with `*`".to_owned()),
        _ => None,
    }
}

//! An injected command that `allowed-tools` does not cover.

use prowess_diag::wording;

use super::{Finding, Levels, Sink, Subject};
use crate::shell;
use prowess_spec::body::{ItemKind, Place};
use prowess_spec::tool_pattern::ToolPattern;

rule!(
    "injection-not-allowed",
    Levels::of("WWW"),
    None,
    "an injected command is not covered by `allowed-tools`"
);

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let manifest = &parsed.manifest;
    let shell_tool = if manifest.shell.as_ref().is_some_and(|shell| &*shell.value == "powershell") {
        "PowerShell"
    } else {
        "Bash"
    };
    let allows = |command: &str| {
        manifest.allowed_tools.iter().flat_map(prowess_spec::manifest::ToolList::patterns).any(
            |pattern| match pattern {
                ToolPattern::Bare(name) => &**name == shell_tool || &**name == "*",
                ToolPattern::Command(pattern) => {
                    &*pattern.tool == shell_tool && pattern.covers(command)
                }
                _ => false,
            },
        )
    };
    for item in skill.items() {
        let ItemKind::Command { command, .. } = item.kind else {
            continue;
        };
        if item.place != Place::Text {
            continue;
        }
        let line = command.of(parsed.text);
        let Some(uncovered) =
            shell::simple_commands(line).into_iter().find(|command| !allows(command))
        else {
            continue;
        };
        let program = uncovered.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
        out.report(
            Finding::at(
                command,
                format!(
                    "the command {} is not covered by `allowed-tools`",
                    wording::tick(wording::shorten(uncovered, 60))
                ),
            )
            .label("loading the skill will fail, or ask, at this command")
            .help(format!("allow it: `allowed-tools: {shell_tool}({program}:*)`")),
        );
    }
}

//! An injected command that `allowed-tools` does not cover.

use prowess_diag::Span;
use prowess_shell::placeholders::{UnsafePosition, simple_commands};
use prowess_shell::suggest::covering_pattern;
use prowess_shell::{Redirect, lex, programs};
use prowess_spec::body::{BodyItem, BodyItemKind, ItemContext};
use prowess_spec::tool_pattern::{CommandShape, ToolPattern, parse_token};

use super::unsafe_placeholder::unsafe_positions;
use super::{FindingSink, LintFinding, LintSubject, RuleLevels, excerpt};

rule!(
    "injection-not-allowed",
    RuleLevels::of("WWW"),
    None,
    "an injected command is not covered by `allowed-tools`"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let manifest = &parsed.manifest;
    let shell_tool = if manifest
        .shell
        .as_ref()
        .is_some_and(|shell| &*shell.value == "powershell")
    {
        "PowerShell"
    } else {
        "Bash"
    };
    let allows = |command: &str| {
        manifest
            .allowed_tools
            .iter()
            .flat_map(prowess_spec::manifest::ToolList::patterns)
            .any(|pattern| match pattern {
                ToolPattern::Bare(name) => &**name == shell_tool || &**name == "*",
                ToolPattern::Command(pattern) => {
                    &*pattern.tool == shell_tool && pattern.covers(command)
                }
                _ => false,
            })
    };
    let items = skill.items();
    for (index, item) in items.iter().enumerate() {
        let BodyItemKind::Command {
            command: script, ..
        } = item.kind
        else {
            continue;
        };
        if item.place != ItemContext::Text {
            continue;
        }
        let mut unsafe_arguments = None;
        for (at, command) in simple_commands(script.of(parsed.text)) {
            // Clients decide about these redirections separately.
            let command = without_redirections(command);
            let start = script.start as usize + at;
            let span = Span::new(start, start + command.len());
            if allows(command)
                || shell_tool == "Bash"
                    && needs_no_permission(parsed.text, span, &items[index + 1..])
            {
                continue;
            }
            if out.is_full() {
                out.count();
                continue;
            }
            // A command that has to change needs no grant as it is.
            let is_unsafe = unsafe_arguments
                .get_or_insert_with(|| unsafe_positions(skill, script, &items[index + 1..]))
                .iter()
                .any(|found| {
                    let is_text =
                        found.reason == UnsafePosition::HereDocument && command.contains("<<");
                    span.contains(found.span) || is_text
                });
            // A hint grants no more than the command needs: the words before an argument, else
            // the exact command.
            let has_argument = items[index + 1..]
                .iter()
                .take_while(|other| other.span.start < span.end)
                .any(|other| {
                    matches!(other.kind, BodyItemKind::Placeholder(_)) && span.contains(other.span)
                });
            let pattern = covering_pattern(command).filter(|_| !is_unsafe);
            let pattern = pattern.map(|pattern| match exact_pattern(command, shell_tool) {
                Some(exact) if !has_argument => exact,
                _ => pattern,
            });
            let finding = LintFinding::at(
                span,
                format!(
                    "the command {} is not covered by `allowed-tools`",
                    excerpt(command)
                ),
            )
            .label("loading the skill will fail here, or ask for approval");
            // Clients do not match a pattern against a command with a shell variable.
            let has_variable = command.contains('$') && !has_argument;
            out.report(match (pattern, &manifest.allowed_tools) {
                (None, _) => finding,
                _ if has_variable => finding.help(
                    "clients may ask about a command with a variable whatever is allowed; \
                     move it to a script of the skill and allow the script",
                ),
                (Some(pattern), Some(_)) => {
                    finding.help(format!("add `{shell_tool}({pattern})` to `allowed-tools`"))
                }
                (Some(pattern), None) => finding.help(format!(
                    "allow it: `allowed-tools: {shell_tool}({pattern})`"
                )),
            });
        }
    }
}

/// Removes redirections from the end of a command that write nothing but `/dev/null`.
fn without_redirections(command: &str) -> &str {
    const SILENT: [&str; 7] = [
        "2>/dev/null",
        "2> /dev/null",
        "&>/dev/null",
        "1>/dev/null",
        ">/dev/null",
        "> /dev/null",
        "2>&1",
    ];
    let mut rest = command.trim_end();
    while let Some(shorter) = SILENT.iter().find_map(|end| rest.strip_suffix(end))
        && shorter.ends_with(char::is_whitespace)
    {
        rest = shorter.trim_end();
    }
    rest
}

/// Returns `true` for a command that only reads. Claude Code runs it without asking.
fn needs_no_permission(text: &str, span: Span, items: &[BodyItem]) -> bool {
    // Placeholders have a value when the command runs.
    let (mut command, mut at) = (String::new(), span.start);
    for item in items.iter().take_while(|item| item.span.start < span.end) {
        let is_value = matches!(
            item.kind,
            BodyItemKind::Placeholder(_) | BodyItemKind::Variable
        );
        if is_value && item.span.start >= at && item.span.end <= span.end {
            command.push_str(Span::new(at as usize, item.span.start as usize).of(text));
            command.push('x');
            at = item.span.end;
        }
    }
    command.push_str(Span::new(at as usize, span.end as usize).of(text));
    let writes = |redirect: &Redirect| match redirect {
        Redirect::Write { target, .. } => &**target != "/dev/null",
        Redirect::Copy { .. } | Redirect::Read(_) => false,
    };
    lex(&command).is_ok_and(|line| {
        line.commands.iter().all(|command| {
            programs::only_reads(&command.words) && !command.redirects.iter().any(writes)
        })
    })
}

/// Returns a pattern that covers exactly this command, if it can be written as one.
fn exact_pattern(command: &str, shell_tool: &str) -> Option<String> {
    let is_exact = |pattern: &ToolPattern| match pattern {
        ToolPattern::Command(pattern) => {
            pattern.shape == CommandShape::Exact && pattern.covers(command)
        }
        _ => false,
    };
    let token = format!("{shell_tool}({command})");
    let is_plain = !command.contains(['\n', '$', '`', '#', '<', '>']) && !command.contains(": ");
    let pattern = parse_token(&token).ok().filter(|_| is_plain)?;
    is_exact(&pattern).then(|| command.to_owned())
}

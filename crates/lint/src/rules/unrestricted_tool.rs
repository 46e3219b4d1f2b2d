//! Grants that allow every command.

use prowess_diag::wording;

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_shell::{Word, lex, programs, script, suggest};
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
        if is_windows_shell(pattern) {
            out.report(
                LintFinding::at(
                    token.span,
                    format!(
                        "{} allows every command on Windows, and none elsewhere",
                        wording::tick(&token.text)
                    ),
                )
                .label("`cmd` is the command interpreter of Windows, not a placeholder")
                .help("name the commands the skill needs, such as `Bash(git status:*)`"),
            );
            continue;
        }
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

/// Returns `true` for `Bash(cmd:*)`, which is often copied from a template.
fn is_windows_shell(pattern: &ToolPattern) -> bool {
    let ToolPattern::Command(pattern) = pattern else {
        return false;
    };
    match &pattern.shape {
        CommandShape::Words(words) => matches!(&**words, "cmd" | "cmd.exe"),
        _ => false,
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
        }) => runs_anything(&words_of(words)),
        ToolPattern::Command(CommandPattern {
            shape: CommandShape::Glob,
            text,
            ..
        }) if text.starts_with('*') => Some("it begins with `*`".to_owned()),
        ToolPattern::Command(CommandPattern {
            shape: CommandShape::Glob,
            text,
            ..
        }) => runs_anything(&suggest::words_before_star(text)),
        _ => None,
    }
}

/// Splits the words of a pattern as the permission rules do.
fn words_of(text: &str) -> Vec<Word> {
    match lex(text).map(|line| line.commands) {
        Ok(commands) if commands.len() == 1 => commands
            .into_iter()
            .flat_map(|command| command.words)
            .collect(),
        _ => text.split_whitespace().map(Word::plain).collect(),
    }
}

fn runs_anything(words: &[Word]) -> Option<String> {
    let first = words.first()?;
    programs::is_unrestricted(words).then(|| {
        // `docker exec`, but `python3` alone.
        let length = if programs::is_unrestricted(std::slice::from_ref(first)) {
            1
        } else {
            words.len()
        };
        let name = script::canonical(&words[..length]);
        format!("{} runs any command that follows", wording::tick(&name))
    })
}

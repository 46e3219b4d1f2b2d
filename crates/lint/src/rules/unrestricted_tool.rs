//! Grants that allow every command.

use prowess_diag::wording;

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_shell::programs::OpenGrant;
use prowess_shell::{Word, lex, programs, script, suggest};
use prowess_spec::tool_pattern::{CommandPattern, CommandShape, ToolPattern};

rule!(
    "unrestricted-tool",
    RuleLevels::of("WWW"),
    None,
    "`allowed-tools` lets the skill run any command"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let Some(list) = parsed.manifest.allowed_tools.as_ref() else {
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
                .help(NAME_COMMANDS),
            );
            continue;
        }
        if let Some((program, is_open)) = opener(pattern) {
            if is_open {
                out.report(
                    LintFinding::at(
                        token.span,
                        format!("{} can start any program", wording::tick(&token.text)),
                    )
                    .label(format!("`{program}` starts applications and files"))
                    .help(format!(
                        "name what it opens, such as `Bash({program} https://example.com/*)`"
                    )),
                );
            }
            continue;
        }
        let Some((why, help)) = why(pattern).filter(|_| !is_ast_grep(pattern, parsed.text)) else {
            continue;
        };
        out.report(
            LintFinding::at(
                token.span,
                format!("{} allows every command", wording::tick(&token.text)),
            )
            .label(why)
            .help(help),
        );
    }
}

const NAME_COMMANDS: &str = "name the commands the skill needs, such as `Bash(git status:*)`";

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

/// Returns the program of a pattern such as `Bash(open:*)`, and `true` if the pattern does not say what
/// it opens. Such a program does not run the words that follow.
fn opener(pattern: &ToolPattern) -> Option<(&'static str, bool)> {
    let ToolPattern::Command(pattern) = pattern else {
        return None;
    };
    let words = match &pattern.shape {
        CommandShape::Words(words) => words_of(words),
        CommandShape::Glob => suggest::words_before_star(&pattern.text),
        _ => return None,
    };
    let (first, rest) = words.split_first()?;
    let program = ["open", "xdg-open"]
        .into_iter()
        .find(|program| *program == &*first.text)?;
    let is_open = rest.iter().all(|word| word.text.starts_with('-'));
    Some((program, is_open))
}

/// Returns `true` for ast-grep's `sg`, which shares its name with a program that runs commands.
fn is_ast_grep(pattern: &ToolPattern, text: &str) -> bool {
    let ToolPattern::Command(pattern) = pattern else {
        return false;
    };
    let first = pattern.text.split([' ', ':', '*']).next();
    first == Some("sg") && text.contains("ast-grep")
}

/// Returns `true` if the first option, such as `--version`, replaces everything else a program does.
/// A later word may be the value of another option.
fn only_informs(words: &[Word]) -> bool {
    let first = words.get(1);
    first.is_some_and(|word| matches!(&*word.text, "--help" | "--version"))
}

/// Returns why a pattern allows everything, and what to write instead.
fn why(pattern: &ToolPattern) -> Option<(String, &'static str)> {
    let said = |why: &str| Some((why.to_owned(), NAME_COMMANDS));
    match pattern {
        ToolPattern::Bare(name) if matches!(&**name, "Bash" | "PowerShell" | "*") => {
            said("nothing restricts it")
        }
        ToolPattern::Command(CommandPattern {
            shape: CommandShape::Anything,
            ..
        }) => said("`*` matches everything"),
        ToolPattern::Command(CommandPattern {
            shape: CommandShape::Words(words),
            ..
        }) => runs_anything(&words_of(words)),
        ToolPattern::Command(CommandPattern {
            shape: CommandShape::Glob,
            text,
            ..
        }) if text.starts_with('*') => said("it begins with `*`"),
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

fn runs_anything(words: &[Word]) -> Option<(String, &'static str)> {
    let first = words.first()?;
    if only_informs(words) {
        return None;
    }
    let grant = programs::open_grant(words)?;
    // `docker exec`, but `python3` alone.
    let length = if programs::is_unrestricted(std::slice::from_ref(first)) {
        1
    } else {
        words.len()
    };
    let name = wording::tick(script::canonical(&words[..length]));
    Some(match grant {
        OpenGrant::Command => (
            format!("{name} runs any command that follows"),
            NAME_COMMANDS,
        ),
        OpenGrant::Code => (
            format!("{name} runs any code that it is given"),
            "name the script the skill needs, such as `Bash(python3 scripts/fill.py:*)`",
        ),
        OpenGrant::Database => (
            format!("{name} can start a shell"),
            "leave it out, so that the user is asked, or allow a script that runs the queries",
        ),
        OpenGrant::Other => (format!("{name} can run any command"), NAME_COMMANDS),
    })
}

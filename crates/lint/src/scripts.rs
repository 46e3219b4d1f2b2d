//! Scripts that a body refers to.

use std::sync::LazyLock;

use memchr::memmem;
use prowess_diag::Span;

use prowess_spec::vocabulary::SCRIPT_ENDINGS;

/// A script of the skill that its body refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Script {
    /// The path, starting with `scripts/`.
    pub span: Span,
    /// `true` if it is used as a program, without an interpreter.
    pub run_directly: bool,
    /// `true` if the path begins with the skill's folder: `${CLAUDE_SKILL_DIR}/`, `{baseDir}/`.
    pub names_skill_folder: bool,
}

/// Built once, not for each skill.
static FOLDER: LazyLock<memmem::Finder<'static>> =
    LazyLock::new(|| memmem::Finder::new("scripts/"));

/// Most bytes of a line that are checked before a path.
const LOOK_BACK: usize = 256;

/// Finds every `scripts/<name>.<ending>` that is a file of the skill.
pub fn find(text: &str, body: Span) -> Vec<Script> {
    let (start, end) = (body.start as usize, (body.end as usize).min(text.len()));
    let mut found = Vec::new();
    for at in FOLDER.find_iter(&text.as_bytes()[start..end]) {
        let at = start + at;
        // The text before it on its line, up to a limit.
        let mut from = at.saturating_sub(LOOK_BACK).max(start);
        while !text.is_char_boundary(from) {
            from += 1;
        }
        let before = &text[from..at];
        let before = before
            .rfind(['\n', '\r'])
            .map_or(before, |line| &before[line + 1..]);
        // Checked first, so that a path inside another is not read repeatedly.
        let Some(prefix) = own_prefix(before) else {
            continue;
        };
        let rest = &text[at..end];
        let length = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || "_./-".contains(c)))
            .unwrap_or(rest.len());
        let path = rest[..length].trim_end_matches('.');
        let ending = path
            .rsplit('/')
            .next()
            .and_then(|file| file.rsplit_once('.'));
        let is_script = ending
            .is_some_and(|(stem, ending)| !stem.is_empty() && SCRIPT_ENDINGS.contains(&ending))
            && !path.contains("..");
        // A brace, star or dollar sign after it makes it a pattern.
        let is_pattern = rest[path.len()..].starts_with(['{', '*', '$', '<', '[']);
        if is_script && !is_pattern {
            let span = Span::new(at, at + path.len());
            found.push(Script {
                span,
                run_directly: is_run(prefix, before),
                names_skill_folder: before.ends_with("}/") || before.ends_with("_DIR/"),
            });
        }
    }
    found
}

/// Ways of naming the skill's own folder.
const OWN_FOLDER: &[&str] = &[
    "./",
    "${CLAUDE_SKILL_DIR}/",
    "${PROWESS_SKILL_DIR}/",
    "$CLAUDE_SKILL_DIR/",
    "{baseDir}/",
];

/// Returns the text before the path and its prefix (`./`, `${CLAUDE_SKILL_DIR}/`). `None` if
/// another folder comes before it: the path is then a file of the user's project.
fn own_prefix(before: &str) -> Option<&str> {
    if before.ends_with("../") {
        return None;
    }
    let is_mark = |c: char| c.is_whitespace() || "`\"'([,:=>|;&".contains(c);
    let begins = |rest: &str| rest.chars().next_back().is_none_or(is_mark);
    for prefix in OWN_FOLDER {
        if let Some(rest) = before.strip_suffix(prefix) {
            return begins(rest).then_some(rest);
        }
    }
    begins(before).then_some(before)
}

/// Returns `true` if the path is in the position of a program, in text that looks like code.
fn is_run(prefix: &str, before: &str) -> bool {
    let has_folder = prefix.len() < before.len();
    let prefix = prefix.trim_end_matches(['"', '\'']).trim_end();
    let prompt = prefix == "$" || prefix.ends_with(" $");
    let first = prefix.is_empty()
        || prompt
        || ["&&", "||", ";", "`"]
            .iter()
            .any(|mark| prefix.ends_with(mark));
    (has_folder && first) || prompt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_skill_are_found_and_others_are_not() {
        let text = "Run `scripts/a.py`, ./scripts/b.sh, ${CLAUDE_SKILL_DIR}/scripts/sub/c.js.\n\
                    not my/scripts/d.py, scripts/*.py, scripts/README.md, scripts/e.{sh}, scripts/../f.sh ../scripts/g.py\n";
        let found: Vec<&str> = find(text, Span::new(0, text.len()))
            .iter()
            .map(|script| script.span.of(text))
            .collect();
        assert_eq!(found, ["scripts/a.py", "scripts/b.sh", "scripts/sub/c.js"]);
    }

    #[test]
    fn run_directly_is_true_only_in_program_position() {
        for (text, run) in [
            ("./scripts/a.sh x", true),
            ("Run `./scripts/a.sh x`", true),
            ("$ scripts/a.sh", true),
            ("${CLAUDE_SKILL_DIR}/scripts/a.sh x", true),
            ("cd x && ./scripts/a.sh", true),
            ("python scripts/a.py", false),
            ("bash ./scripts/a.sh", false),
            ("scripts/a.sh does this", false),
        ] {
            assert_eq!(
                find(text, Span::new(0, text.len()))[0].run_directly,
                run,
                "{text}"
            );
        }
    }
}

//! Patterns for commands, as in the parentheses of `Bash(git log:*)`.

use crate::programs;
use crate::word::Word;

/// Returns a pattern that covers a simple command, without the tool and its parentheses: its first
/// words as long as they are plain, or the exact command if those words would allow anything. Returns
/// `None` for a command that should not be allowed, or whose program is not known.
pub fn covering_pattern(command: &str) -> Option<String> {
    let program = command.split_whitespace().next()?;
    let words: Vec<&str> = command
        .split_whitespace()
        .take(2)
        .take_while(|word| is_plain(word))
        .collect();
    let prefix: Vec<Word> = words.iter().map(|word| Word::plain(*word)).collect();
    if programs::takes_only_code(program) || programs::is_unrestricted(&prefix) {
        return (program != "eval" && !command.contains('\n')).then(|| command.to_owned());
    }
    (!words.is_empty()).then(|| format!("{}:*", words.join(" ")))
}

/// Returns the words of a pattern before its first `*`: `git`, `log` for `git log --*`. The last of
/// them may be cut short.
pub fn words_before_star(pattern: &str) -> Vec<Word> {
    let before = pattern.split('*').next().unwrap_or_default();
    before.split_whitespace().map(Word::plain).collect()
}

/// Returns `true` if a word means itself in a pattern. The folder of the skill may come first.
fn is_plain(word: &str) -> bool {
    let own = word
        .strip_prefix("${")
        .and_then(|rest| rest.split_once("_SKILL_DIR}/"));
    let path = own.map_or(word, |(_, path)| path);
    !path.starts_with('-')
        && path
            .chars()
            .all(|c| c.is_alphanumeric() || "._-/+:@%=,~".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_plain_words_or_the_exact_command() {
        for (command, pattern) in [
            ("cat \"$1\"", Some("cat:*")),
            ("cat $1", Some("cat:*")),
            ("head -n 3 \"$1\"", Some("head:*")),
            ("wc -l x.txt", Some("wc:*")),
            ("git log --oneline", Some("git log:*")),
            ("git describe --tags", Some("git describe:*")),
            ("ls *.md", Some("ls:*")),
            ("ls > out", Some("ls:*")),
            (
                "${CLAUDE_SKILL_DIR}/scripts/a.sh x",
                Some("${CLAUDE_SKILL_DIR}/scripts/a.sh x:*"),
            ),
            ("bash scripts/a.sh x", Some("bash scripts/a.sh:*")),
            ("python3 -c 'print(1)'", Some("python3 -c 'print(1)'")),
            ("python3 -c 'a\nb'", None),
            ("ssh web uptime", Some("ssh web uptime")),
            ("timeout 5 ls", Some("timeout 5 ls")),
            ("make -j4 test", Some("make -j4 test")),
            ("eval ls", None),
            ("\"$tool\" x", None),
        ] {
            assert_eq!(covering_pattern(command).as_deref(), pattern, "{command}");
        }
    }
}

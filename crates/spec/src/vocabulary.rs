//! Lists of words used by agents and shells.

/// Names of hook events.
pub const HOOK_EVENTS: &[&str] = &[
    "ConfigChange",
    "CwdChanged",
    "Elicitation",
    "ElicitationResult",
    "FileChanged",
    "InstructionsLoaded",
    "Notification",
    "PermissionDenied",
    "PermissionRequest",
    "PostCompact",
    "PostToolBatch",
    "PostToolUse",
    "PostToolUseFailure",
    "PreCompact",
    "PreToolUse",
    "SessionEnd",
    "SessionStart",
    "Setup",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "TaskCompleted",
    "TaskCreated",
    "TeammateIdle",
    "UserPromptExpansion",
    "UserPromptSubmit",
    "WorktreeCreate",
    "WorktreeRemove",
];

/// File extensions of scripts.
pub const SCRIPT_ENDINGS: &[&str] = &[
    "sh", "bash", "zsh", "fish", "py", "js", "mjs", "cjs", "ts", "mts", "rb", "pl", "php", "lua",
    "ps1", "r", "R", "go", "rs", "swift", "awk", "sql",
];

/// Returns `true` if a description says when to use a skill. Covers common languages; text in an
/// unknown script returns `true`.
pub fn says_when(description: &str) -> bool {
    const DENSE: &str =
        "时 時 当 當 用于 用於 使用 适合 适用 適用 触发 トリガー 場合 とき 際 경우 때 사용";
    if description.is_ascii() {
        return begins_any(description);
    }
    if begins_any(description) || DENSE.split(' ').any(|word| description.contains(word)) {
        return true;
    }
    let known_script =
        |c: char| matches!(c, 'A'..='\u{24f}' | '\u{400}'..='\u{4ff}' | '\u{1e00}'..='\u{1eff}');
    let dense = |c: char| matches!(c, '\u{3040}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}');
    !description
        .chars()
        .filter(|c| c.is_alphabetic())
        .all(known_script)
        && !description.chars().any(dense)
}

/// Returns `true` if one of the phrases occurs at the start of a word, in any letter case. Uses a
/// single pass: thousands of descriptions are checked.
fn begins_any(text: &str) -> bool {
    let bytes = text.as_bytes();
    // Chinese and Japanese characters and punctuation such as `—` end a word.
    let is_letter = |c: char| c.is_alphanumeric() && c < '\u{3000}';
    let after_letter = |at: usize| match bytes[..at].last() {
        None => false,
        Some(byte) if byte.is_ascii() => byte.is_ascii_alphanumeric(),
        Some(_) => text
            .get(..at)
            .and_then(|before| before.chars().next_back())
            .is_none_or(is_letter),
    };
    // Most descriptions contain "when", which `memmem` finds quickly.
    let is_when =
        |at: usize| at > 0 && matches!(bytes[at - 1], b'w' | b'W') && !after_letter(at - 1);
    // The second byte rules out most words; no phrase is a single byte.
    let may_begin =
        |pair: &[u8]| pair[0] >= 0x80 || (SECONDS[usize::from(pair[0])] >> (pair[1] & 31)) & 1 == 1;
    let mut places = bytes
        .windows(2)
        .enumerate()
        .filter(|(_, pair)| may_begin(pair));
    let says_so = |(at, _): (usize, &[u8])| {
        let Some(rest) = text.get(at..).filter(|_| !after_letter(at)) else {
            return false;
        };
        let first = rest
            .chars()
            .flat_map(char::to_lowercase)
            .next()
            .unwrap_or(' ');
        phrases(first)
            .iter()
            .any(|phrase| starts_with_folded(rest, phrase))
    };
    memchr::memmem::find_iter(bytes, b"hen").any(is_when)
        || places.any(says_so)
        || memchr::memmem::find(bytes, b". For ").is_some()
}

/// For each first letter, the set of second bytes of its phrases, in any letter case.
static SECONDS: [u32; 128] = {
    let (mut seconds, mut byte) = ([0; 128], 0_u8);
    while byte < 128 {
        let (phrases, mut at) = (phrases(byte.to_ascii_lowercase() as char), 0);
        while at < phrases.len() {
            seconds[byte as usize] |= 1 << (phrases[at].as_bytes()[1] & 31);
            at += 1;
        }
        byte += 1;
    }
    seconds
};

/// Phrases that say when, by first letter.
const fn phrases(first: char) -> &'static [&'static str] {
    match first {
        'a' => &[
            "activate",
            "after ",
            "antes de ",
            "applies to ",
            "asked",
            "asks ",
        ],
        'b' => &["before ", "best for"],
        'c' => &["cron", "cuando"],
        'd' => &["during "],
        'f' => &["for tasks"],
        'g' => &["gdy "],
        'i' => &["ideal for", "if the user", "if you", "invoke", "için"],
        'k' => &["ketika", "keywords:", "khi ", "kun "],
        'l' => &["lorsque"],
        'm' => &["mentions"],
        'n' => &["need to", "needs to", "nightly", "nutze ", "när ", "når "],
        'p' => &["perfect for"],
        'q' => &["quand", "quando"],
        's' => &["saat ", "scheduled"],
        't' => &["trigger"],
        'u' => &[
            "usar ",
            "usare",
            "use as ",
            "use at ",
            "use for",
            "use if",
            "use it",
            "use para ",
            "use proactively",
            "use this",
            "use to",
            "used for",
            "used to",
            "useful for",
            "user needs",
            "user wants",
            "utilis",
            "użyj",
        ],
        'v' => &["verwende"],
        'w' => &["wanneer", "wenn", "when", "whenever", "while "],
        'z' => &["zaman"],
        'е' => &["если"],
        'и' => &["использ"],
        'к' => &["когда"],
        'п' => &["при "],
        _ => &[],
    }
}

fn starts_with_folded(text: &str, phrase: &str) -> bool {
    match text.get(..phrase.len()) {
        Some(start) if phrase.is_ascii() => start.eq_ignore_ascii_case(phrase),
        _ => {
            let mut letters = text.chars().flat_map(char::to_lowercase);
            phrase.chars().all(|c| letters.next() == Some(c))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        assert!(HOOK_EVENTS.is_sorted());
    }

    #[test]
    fn descriptions_that_say_when_are_recognised() {
        for text in [
            "Fill forms. Use when a PDF has fields.",
            "在处理PDF时使用",
            "Deploys. Cuando el usuario lo pide.",
            "किसी फ़ाइल के लिए",
            "Builds scenes—whenever a prompt mentions three.js.",
            "浓缩版。Triggers on: '/shot'",
            "Checks balances. For questions about spending.",
            "Cron-driven sweep of the organisation.",
            "Reviews monorepos. Use PROACTIVELY for setup.",
            "Go services. Keywords: go, golang, gin",
            "user wants to archive a channel",
            "Abfuhrkalender. Nutze bei Fragen zu Karton.",
        ] {
            assert!(says_when(text), "{text}");
        }
        for text in [
            "Fills PDF forms.",
            "A helper",
            "PDF工具集",
            "Manages background tasks in the queue.",
            "Deactivates old accounts.",
            "Prépare les données, éasked",
            "A daily report generator for sales teams.",
            "Extracts keywords from text.",
        ] {
            assert!(!says_when(text), "{text}");
        }
    }
}

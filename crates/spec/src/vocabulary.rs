//! Words that agents and shells use: lists that grow.

/// Tools that agents name in `allowed-tools`.
pub const TOOLS: &[&str] = &[
    "Agent",
    "AskUserQuestion",
    "Bash",
    "BashOutput",
    "Edit",
    "EndConversation",
    "EnterPlanMode",
    "EnterWorktree",
    "ExitPlanMode",
    "ExitWorktree",
    "Glob",
    "Grep",
    "KillBash",
    "KillShell",
    "LS",
    "LSP",
    "ListMcpResourcesTool",
    "Monitor",
    "MultiEdit",
    "NotebookEdit",
    "NotebookRead",
    "PowerShell",
    "Read",
    "ReadMcpResourceTool",
    "SendMessage",
    "Skill",
    "SlashCommand",
    "StructuredOutput",
    "Task",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "TodoRead",
    "TodoWrite",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
    "Write",
];

/// Programs that run whatever they are given: a grant for one of them is a grant for everything.
pub const RUNS_ANYTHING: &[&str] = &[
    "ash",
    "awk",
    "bash",
    "bun",
    "busybox",
    "cmd",
    "command",
    "csh",
    "dash",
    "deno",
    "doas",
    "env",
    "eval",
    "exec",
    "expect",
    "find",
    "fish",
    "gawk",
    "irb",
    "java",
    "julia",
    "ksh",
    "lua",
    "make",
    "mawk",
    "nc",
    "node",
    "nodejs",
    "nohup",
    "npx",
    "osascript",
    "parallel",
    "perl",
    "php",
    "pipx",
    "pnpx",
    "powershell",
    "pwsh",
    "python",
    "python2",
    "python3",
    "ruby",
    "rscript",
    "screen",
    "setsid",
    "sh",
    "socat",
    "source",
    "ssh",
    "su",
    "sudo",
    "tclsh",
    "time",
    "timeout",
    "tmux",
    "tsx",
    "uvx",
    "watch",
    "wsl",
    "xargs",
    "zsh",
];

/// Events that hooks may name.
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

/// Endings of files that are run as scripts.
pub const SCRIPT_ENDINGS: &[&str] = &[
    "sh", "bash", "zsh", "py", "js", "mjs", "cjs", "ts", "mts", "rb", "pl", "php", "lua", "ps1",
    "r", "R", "go", "rs", "swift", "awk", "sql",
];

/// Tells whether a description says when to use a skill. Knows the words of common languages;
/// text in a script it does not know is given the benefit of the doubt.
pub fn says_when(description: &str) -> bool {
    const WORDS: &[&str] = &[
        "when",
        "whenever",
        "use this",
        "use it",
        "use for",
        "use to",
        "used for",
        "used to",
        "useful for",
        "use if",
        "if the user",
        "if you",
        "trigger",
        "activate",
        "invoke",
        "for tasks",
        "before ",
        "after ",
        "during ",
        "while ",
        "asks ",
        "asked",
        "mentions",
        "needs to",
        "need to",
        "cuando",
        "quando",
        "quand",
        "lorsque",
        "wenn",
        "verwende",
        "utilis",
        "usar ",
        "usare",
        "użyj",
        "gdy ",
        "wanneer",
        "när ",
        "når ",
        "kun ",
        "когда",
        "если",
        "использ",
        "при ",
        "khi ",
        "ketika",
        "saat ",
        "için",
        "zaman",
    ];
    const DENSE: &[&str] = &[
        "时",
        "時",
        "当",
        "當",
        "用于",
        "用於",
        "使用",
        "适用",
        "適用",
        "触发",
        "トリガー",
        "場合",
        "とき",
        "際",
        "경우",
        "때",
        "사용",
    ];
    let lower = description.to_lowercase();
    let latin_or_cyrillic = description
        .chars()
        .filter(|c| c.is_alphabetic())
        .all(|c| matches!(c, 'A'..='\u{24f}' | '\u{400}'..='\u{4ff}' | '\u{1e00}'..='\u{1eff}'));
    let dense = description
        .chars()
        .any(|c| matches!(c, '\u{3040}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'));
    WORDS.iter().any(|word| begins_a_word(&lower, word))
        || DENSE.iter().any(|word| description.contains(word))
        || (!latin_or_cyrillic && !dense)
}

/// Tells whether `word` stands in `text` at the start of a word.
fn begins_a_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        !text[..at]
            .chars()
            .next_back()
            .is_some_and(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_so_that_additions_find_their_place() {
        assert!(TOOLS.is_sorted() && HOOK_EVENTS.is_sorted());
    }

    #[test]
    fn descriptions_that_say_when_are_recognised() {
        for text in [
            "Fill forms. Use when a PDF has fields.",
            "在处理PDF时使用",
            "Deploys. Cuando el usuario lo pide.",
            "किसी फ़ाइल के लिए",
        ] {
            assert!(says_when(text), "{text}");
        }
        for text in [
            "Fills PDF forms.",
            "A helper",
            "PDF工具集",
            "Manages background tasks in the queue.",
            "Deactivates old accounts.",
        ] {
            assert!(!says_when(text), "{text}");
        }
    }
}

//! Settings or memory of an agent that are changed.

use super::{FindingSink, Passage};
use crate::matching::matcher;

rule!(
    "settings-write",
    Warning,
    lowers: true,
    "the settings or the memory of an agent are changed",
    "let the user make the change: what an agent may do, and what it always reads, is the user's decision",
    triggers: [
        ".claude/settings", ".claude.json", "claude_desktop_config", ".codex/config.toml", ".gemini/settings", ".cursor/mcp.json", ".mcp.json", ".claude/CLAUDE.md", ".codex/AGENTS.md", ".gemini/GEMINI.md", "SOUL.md", "openclaw.json", ".claude/hooks", ".openclaw/workspace", "HEARTBEAT.md"
    ]
);

/// The file that is written.
const FILE: &str = r"(?: \.claude/settings(?:\.local)?\.json | [~/]\.claude\.json | claude_desktop_config\.json | \.codex/config\.toml | \.gemini/settings\.json | \.cursor/mcp\.json | (?:^|[\s/'\x22])\.mcp\.json
      | (?:~|HOME\}?|Users/\w+|home/\w+)/\.claude/CLAUDE\.md | \.codex/AGENTS\.md | \.gemini/GEMINI\.md | \bSOUL\.md | \bHEARTBEAT\.md | openclaw\.json )";

static WRITES: std::sync::LazyLock<crate::matching::Matcher> = std::sync::LazyLock::new(|| {
    crate::matching::Matcher::new(&format!(
        r"(?x)(?: (?:^|[\s'\x22)\]\d])>{{1,2}} \s* [\x22']?[^\s|;&<]*? {FILE} ) | (?: \btee \s+ (?:-a\s+)? [\x22']?[^\s|;]*? {FILE} ) | (?: \bsed \s+ (?:-\w+\s+)*-\w*i [^\n]*? {FILE} )
          | (?: \b(?:appendFile\w*|writeFile\w*|Add-Content|Set-Content|Out-File) \b [^\n]*? {FILE} ) | (?: \bopen\s*\( [^\n]*? {FILE} ['\x22]\)?\s*,\s*['\x22][wa] ) | (?: {FILE} [^\n]{{0,20}} \.write_text\( )
          | (?: \b(?:cp|mv|ln\s+-s\w*) \s+ [^|;\n]+? \s+ [\x22']?[^\s|;]*? {FILE} [\x22']?\s*(?:$|[;&|\n]) )"
    ))
});
matcher!(BACKUP, r"\.(?:bak|backup|orig|old)\b");

fn check(passage: &Passage<'_, '_>, out: &mut FindingSink) {
    let text = &passage.plain().text;
    if let Some(range) = WRITES.find(text) {
        // Files of a skill that have such names.
        let is_own = text[range.clone()].contains("/skills/");
        let end = &text[range.end..];
        if is_own || BACKUP.is_match(&end[..crate::passage::floor(end, 12)]) {
            return;
        }
        out.plain(
            passage,
            range,
            "changes the settings or the memory of an agent",
        );
    }
}

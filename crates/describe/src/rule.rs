//! A rule, as a page.

use anstyle::{AnsiColor, Style};
use prowess_diag::render::wrap::hang;
use prowess_lint::rules::Rule;

/// The page of a rule for a terminal of so many columns: examples are indented, not fenced.
pub fn rule_page(rule: &Rule, width: usize) -> String {
    let mut text = String::new();
    let strong = Style::new().bold();
    let dim = Style::new().dimmed();
    let mut fence = 0;
    // What was said above the last example, and whether that was the last thing printed.
    let (mut said, mut is_next) = (String::new(), false);
    for (index, line) in rule.page.lines().enumerate() {
        if let Some(title) = line.strip_prefix("# ").filter(|_| index == 0) {
            let cyan = AnsiColor::Cyan.on_default().bold();
            let facts = hang(&rule.facts(), width, 0);
            text.push_str(&format!("{cyan}{title}{cyan:#}\n{dim}{facts}{dim:#}\n"));
        } else if let Some(title) = line.strip_prefix("## ").filter(|_| fence == 0) {
            is_next = false;
            text.push_str(&format!("{strong}{title}{strong:#}\n"));
        } else if line.starts_with("```")
            && (fence == 0 || line.trim_end_matches('`').is_empty() && line.len() >= fence)
        {
            let marks = line.len() - line.trim_start_matches('`').len();
            if fence > 0 {
                (fence, is_next) = (0, true);
                continue;
            }
            fence = marks;
            let caption = caption(&line[marks..]);
            match &caption {
                new if !new.is_empty() && *new != said => text.push_str(new),
                _ if is_next => text.push_str("or:\n"),
                _ => {}
            }
            said = caption;
        } else if fence > 0 {
            // Indented, so that it is plain where an example ends; a page's lines leave room for it.
            text.push_str(format!("  {line}").trim_end());
            text.push('\n');
        } else if line.starts_with('|') {
            text.push_str(&format!("{line}\n"));
        } else {
            is_next &= line.is_empty();
            // The text of a list hangs behind its hyphens.
            let indent = if line.starts_with("- ") { 2 } else { 0 };
            text.push_str(&hang(line, width, indent));
            text.push('\n');
        }
    }
    text
}

/// What people need to know about an example: where it stands, and what stands beside it.
fn caption(info: &str) -> String {
    let setting =
        |name: &str| info.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    let mut parts = Vec::new();
    parts.extend(setting("folder").map(|folder| format!("in the folder `{folder}`")));
    parts.extend(setting("profile").map(|profile| format!("with `--profile {profile}`")));
    parts.extend(setting("target").map(|target| format!("with `--target {target}`")));
    parts.extend(
        setting("files").map(|files| {
            format!("beside {}", files.replace('!', " (executable)").replace(',', ", "))
        }),
    );
    if info.contains(" escapes") {
        parts.push("`\\u{…}` stands for a character".to_owned());
    }
    if parts.is_empty() { String::new() } else { format!("{}:\n", parts.join(", ")) }
}

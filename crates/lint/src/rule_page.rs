//! The documentation page of a rule.

use crate::rules::LintRule;
use crate::{LintProfile, LintTarget};
use prowess_diag::render::wrap::hang;
use prowess_diag::{Severity, theme, wording};
use serde_json::{Value, json};

/// Formats the page of a rule for a terminal. Examples are indented instead of fenced.
pub fn rule_page(rule: &LintRule, width: usize) -> String {
    page(rule.page, &facts(rule), width)
}

/// Formats a page in Markdown, with a line of facts below its title.
pub fn page(page: &str, facts: &str, width: usize) -> String {
    let mut text = String::new();
    let strong = theme::STRONG;
    let dim = theme::DIM;
    let mut fence = 0;
    // The caption of the last example, and whether that example was the last output.
    let (mut said, mut is_next) = (String::new(), false);
    for (index, line) in page.lines().enumerate() {
        if let Some(title) = line.strip_prefix("# ").filter(|_| index == 0) {
            let accent = theme::ACCENT.on_default().bold();
            let facts = hang(facts, width, 0);
            text.push_str(&format!("{accent}{title}{accent:#}\n{dim}{facts}{dim:#}\n"));
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
                new if !new.is_empty() && *new != said => text.push_str(&format!("{new}\n")),
                _ if is_next => text.push_str("or:\n"),
                _ => {}
            }
            said = caption;
        } else if fence > 0 {
            // Indented to show where an example ends; the lines of pages leave room for it.
            text.push_str(format!("  {line}").trim_end());
            text.push('\n');
        } else if line.starts_with('|') {
            text.push_str(&format!("{line}\n"));
        } else {
            is_next &= line.is_empty();
            // Hanging indent for list items.
            let indent = if line.starts_with("- ") { 2 } else { 0 };
            text.push_str(&hang(line, width, indent));
            text.push('\n');
        }
    }
    text
}

/// Returns everything about a rule as JSON.
pub fn rule(rule: &LintRule) -> Value {
    let level = |profile| rule.levels.under(profile, None).map(Severity::as_str);
    json!({
        "id": rule.id,
        "summary": rule.summary,
        "severity": {
            "spec": level(LintProfile::Spec),
            "claude-code": level(LintProfile::ClaudeCode),
            "lenient": level(LintProfile::Lenient),
            "crew": level(LintProfile::Crew),
            "claude-ai": rule.levels.claude_ai.map(Severity::as_str),
        },
        "fix": rule.fix.describe(),
        "page": rule.page,
    })
}

/// Returns the severities and the kind of fix of a rule, on one line.
fn facts(rule: &LintRule) -> String {
    let under = |profile| rule.levels.under(profile, None);
    // `crew` has the severities of `claude-code` and is not listed.
    let listed = || {
        let profiles = LintProfile::ALL.into_iter();
        profiles.filter(|profile| *profile != LintProfile::Crew)
    };
    let named = |severity: Severity| {
        let alike = listed().filter(|profile| under(*profile) == Some(severity));
        let names: Vec<&str> = alike.map(LintProfile::as_str).collect();
        (!names.is_empty()).then(|| format!("{} in {}", severity.as_str(), wording::all(names)))
    };
    let levels: Vec<String> = match under(LintProfile::Spec) {
        Some(same) if listed().all(|profile| under(profile) == Some(same)) => {
            vec![format!("{} in every profile", same.as_str())]
        }
        _ => {
            let mut levels: Vec<String> =
                Severity::ALL.into_iter().rev().filter_map(named).collect();
            // Readers may not know that these names are profiles.
            if let Some(first) = levels.first_mut() {
                let plural = if first.contains(" and ") { "s" } else { "" };
                *first = first.replacen(" in ", &format!(" in the profile{plural} "), 1);
            }
            levels
        }
    };
    let target = rule.levels.claude_ai.map(|severity| {
        format!(
            "{} with --target {}",
            severity.as_str(),
            LintTarget::ClaudeAi.as_str()
        )
    });
    let levels: Vec<String> = levels.into_iter().chain(target).collect();
    format!("{}; {}", levels.join(", "), rule.fix.describe())
}

/// Returns a caption for an example from the settings on its fence: its folder, its file and the
/// files next to it. Empty if there are none.
pub fn caption(info: &str) -> String {
    let setting = |name: &str| {
        info.split(' ')
            .find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    };
    let mut parts = Vec::new();
    parts.extend(setting("folder").map(|folder| format!("in the folder `{folder}`")));
    parts.extend(setting("file").map(|file| format!("in the file `{file}`")));
    parts.extend(setting("profile").map(|profile| format!("with `--profile {profile}`")));
    parts.extend(setting("target").map(|target| format!("with `--target {target}`")));
    parts.extend(setting("files").map(|files| {
        format!(
            "next to {}",
            files.replace('!', " (executable)").replace(',', ", ")
        )
    }));
    if info.contains(" escapes") {
        parts.push("`\\u{…}` is an escaped character".to_owned());
    }
    if parts.is_empty() {
        String::new()
    } else {
        format!("{}:", parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captions_describe_the_settings_of_examples() {
        for (info, said) in [
            ("markdown bad folder=pdf", "in the folder `pdf`:"),
            (
                "markdown bad folder=pdf file=skill.md",
                "in the folder `pdf`, in the file `skill.md`:",
            ),
            (
                "markdown good files=a.md,b.py! profile=spec",
                "with `--profile spec`, next to a.md, b.py (executable):",
            ),
            ("markdown good", ""),
        ] {
            assert_eq!(caption(info), said, "{info}");
        }
    }
}

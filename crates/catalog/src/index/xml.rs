//! XML: one skill per line, or the output of the reference tool, byte for byte.

use super::text;
use super::{Group, IndexEntry, IndexFormat, IndexOptions, discovery};

/// Writes a skill on one line.
pub(super) fn line(out: &mut String, name: &str, description: Option<&str>) {
    out.push_str("<skill><name>");
    text::write(out, name, IndexFormat::Xml);
    out.push_str("</name>");
    if let Some(description) = description {
        out.push_str("<description>");
        text::write(out, description, IndexFormat::Xml);
        out.push_str("</description>");
    }
    out.push_str("</skill>");
}

/// Assembles the document.
pub(super) fn document(groups: &[Group], more: usize, options: &IndexOptions<'_>) -> String {
    if groups.is_empty() && more == 0 {
        return String::new();
    }
    let mut out = "<available_skills>\n".to_owned();
    for group in groups {
        out.push_str(&group.lines);
        out.push('\n');
    }
    if more > 0 {
        out.push_str("<more>");
        text::write(&mut out, &discovery(more, options), IndexFormat::Xml);
        out.push_str("</more>\n");
    }
    out.push_str("</available_skills>");
    out
}

/// Writes the output of `skills-ref to-prompt`. It escapes names and descriptions but keeps their
/// line breaks, and does not escape locations.
pub(super) fn compat(entries: &[IndexEntry<'_>]) -> String {
    let mut out = "<available_skills>\n".to_owned();
    for entry in entries {
        out.push_str("<skill>\n<name>\n");
        text::write(&mut out, entry.name.trim(), IndexFormat::Xml);
        out.push_str("\n</name>\n<description>\n");
        text::write(&mut out, entry.skill.description.trim(), IndexFormat::Xml);
        out.push_str("\n</description>\n<location>\n");
        out.push_str(&entry.skill.location.path().to_string_lossy());
        out.push_str("\n</location>\n</skill>\n");
    }
    out.push_str("</available_skills>");
    out
}

/// Escapes like Python's `html.escape`.
pub(super) fn escape(c: char) -> Option<&'static str> {
    match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        '\'' => Some("&#x27;"),
        _ => None,
    }
}

//! JSON: one document, one skill per line.

use super::text;
use super::{Group, IndexFormat, IndexOptions};

/// Writes a skill on one line.
pub(super) fn line(out: &mut String, name: &str, description: Option<&str>) {
    out.push_str("{\"name\":\"");
    text::write(out, name, IndexFormat::Json);
    if let Some(description) = description {
        out.push_str("\",\"description\":\"");
        text::write(out, description, IndexFormat::Json);
    }
    out.push_str("\"}");
}

/// Assembles the document.
pub(super) fn document(groups: &[Group], more: usize, options: &IndexOptions<'_>) -> String {
    if groups.is_empty() && more == 0 {
        return String::new();
    }
    let mut out = "{\"schema\":\"prowess.prompt/1\",\"skills\":[\n".to_owned();
    for (i, group) in groups.iter().enumerate() {
        if i > 0 {
            out.push_str(",\n");
        }
        out.push_str(&group.lines);
    }
    out.push_str("\n]");
    if more > 0 {
        out.push_str(&format!(",\"more\":{{\"count\":{more}"));
        if let Some(tool) = options.tool_for(more) {
            out.push_str(",\"call\":\"");
            text::write(&mut out, tool, IndexFormat::Json);
            out.push('"');
        }
        out.push('}');
    }
    out.push('}');
    out
}

/// Escapes a character for JSON. Control characters are removed earlier. Tags are escaped too,
/// because a model does not read as strictly as a parser.
pub(super) fn escape(c: char, next: Option<char>) -> Option<&'static str> {
    match c {
        '"' => Some("\\\""),
        '\\' => Some("\\\\"),
        '<' if text::begins_tag(next) => Some("\\u003c"),
        _ => None,
    }
}

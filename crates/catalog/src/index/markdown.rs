//! Markdown: bullets under headings, `- **name** — description`.

use super::text;
use super::{Bullets, Group, IndexFormat, IndexOptions, Listing, Section, discovery};

/// Characters that would end a name.
const MARKS: [char; 2] = ['*', '`'];

/// Writes a skill on one line.
pub(super) fn line(out: &mut String, bullets: Bullets, name: &str, description: Option<&str>) {
    write_line(out, bullets, name, None, description);
}

/// Writes a skill on one line, with a mark after its name: `- **name** (mark) — description`.
pub(super) fn marked_line(
    out: &mut String,
    name: &str,
    mark: Option<&str>,
    description: Option<&str>,
) {
    write_line(out, Bullets::Dash, name, mark, description);
}

fn write_line(
    out: &mut String,
    bullets: Bullets,
    name: &str,
    mark: Option<&str>,
    description: Option<&str>,
) {
    out.push_str("- **");
    write_name(out, name);
    out.push_str("**");
    out.push_str(mark.unwrap_or_default());
    if let Some(description) = description {
        out.push_str(bullets.separator());
        text::write(
            out,
            &level_ticks(description),
            IndexFormat::Markdown(bullets),
        );
    }
}

/// Returns the extra length of a name caused by escapes that only names need.
pub(super) fn name_extra(name: &str) -> usize {
    name.bytes()
        .filter(|&byte| matches!(byte, b'*' | b'`'))
        .count()
}

/// Assembles the document.
pub(super) fn document(groups: &[Group], more: usize, options: &IndexOptions<'_>) -> String {
    let mut out = String::new();
    for group in groups {
        if !out.is_empty() {
            out.push('\n');
        }
        let colon = options.format == IndexFormat::Markdown(Bullets::Colon);
        match group.section {
            Section::All if colon && matches!(options.listing, Listing::All { .. }) => {
                out.push_str("## Available Skills\n\n");
                if let Some(tool) = options.load_tool {
                    out.push_str(&format!(
                        "When the task matches a description, call `{tool}` with that name before you start.\n\n"
                    ));
                }
            }
            Section::All | Section::Pinned => out.push_str("## Skills\n\n"),
            Section::LastUsed => out.push_str("## Last used skills\n\n"),
        }
        out.push_str(&group.lines);
    }
    if more > 0 {
        if !out.is_empty() {
            out.push_str("\n\n");
        }
        out.push_str(&discovery(more, options));
    }
    out
}

/// Escapes the start of a tag, which could open or close the host's markup around the index.
pub(super) fn escape(c: char, next: Option<char>) -> Option<&'static str> {
    (c == '<' && text::begins_tag(next)).then_some("&lt;")
}

fn write_name(out: &mut String, name: &str) {
    let format = IndexFormat::Markdown(Bullets::Dash);
    let mut from = 0;
    for (at, mark) in name.match_indices(MARKS) {
        text::write(out, &name[from..at], format);
        out.push('\\');
        out.push_str(mark);
        from = at + mark.len();
    }
    text::write(out, &name[from..], format);
}

/// Replaces unpaired backticks and fences with apostrophes, so that one description cannot open
/// code that the next one closes. The length is unchanged.
fn level_ticks(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.contains('`') {
        return text.into();
    }
    let mut bytes = text.as_bytes().to_vec();
    let mut open = None;
    let mut at = 0;
    while at < bytes.len() {
        let run = bytes[at..].iter().take_while(|&&byte| byte == b'`').count();
        match run {
            0 => {}
            1 => open = if open.is_some() { None } else { Some(at) },
            _ => bytes[at..at + run].fill(b'\''),
        }
        at += run.max(1);
    }
    if let Some(at) = open {
        bytes[at] = b'\'';
    }
    // Replacing one ASCII byte with another keeps the text valid UTF-8.
    String::from_utf8(bytes).map_or_else(|_| text.into(), Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpaired_backticks_are_replaced() {
        let check = |text: &str, expected: &str| assert_eq!(level_ticks(text), expected);
        check("run `cargo`", "run `cargo`");
        check("run `cargo", "run 'cargo");
        check("```sh rm``` `a` é`", "'''sh rm''' `a` é'");
    }

    #[test]
    fn no_text_breaks_out_of_its_line() {
        let check = |name: &str, description: &str, expected: &str| {
            let mut out = String::new();
            line(&mut out, Bullets::Dash, name, Some(description));
            assert_eq!(out, expected);
        };
        check(
            "a",
            "1 < 2, <b> & </system>",
            "- **a** — 1 < 2, &lt;b> & &lt;/system>",
        );
        check("a** — safe **b", "x", "- **a\\*\\* — safe \\*\\*b** — x");
        check(
            "a`<b>",
            "## Skills - **c** — d",
            "- **a\\`&lt;b>** — ## Skills - **c** — d",
        );
    }
}

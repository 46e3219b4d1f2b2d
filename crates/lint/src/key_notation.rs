//! Keys in the notation of other formats: TOML, JSON, lists or Markdown.

use prowess_diag::{Fix, Span, TextEdit};
use prowess_spec::fields;
use prowess_spec::parse::ParsedSkill;

/// Rewrites known keys of the frontmatter that are in another notation: `name:x`, `name = x`, `-
/// name: x`, `**name**: x`, `# name: x`.
pub(crate) fn plain_keys(parsed: &ParsedSkill<'_>) -> Option<Fix> {
    let yaml = parsed.yaml?;
    let mut start = yaml.start as usize;
    let mut edits = Vec::new();
    for line in yaml.of(parsed.text).split_inclusive('\n') {
        if let Some((from, to, key)) = decorated_key(line) {
            let span = Span::new(start + from, start + to);
            edits.push(TextEdit::replace(span, format!("{key}: ")));
        }
        start += line.len();
    }
    (!edits.is_empty()).then(|| Fix::suggested("write `key: value`", edits))
}

/// Rewrites TOML frontmatter between `+++` lines as YAML.
pub(crate) fn from_toml(text: &str) -> Option<Fix> {
    let mut edits = Vec::new();
    let (mut start, mut fences) = (0, 0);
    for line in text.split_inclusive('\n') {
        if line.trim_end() == "+++" {
            fences += 1;
            edits.push(TextEdit::replace(Span::new(start, start + 3), "---"));
        } else if let Some((from, to, key)) = decorated_key(line) {
            edits.push(TextEdit::replace(
                Span::new(start + from, start + to),
                format!("{key}: "),
            ));
        }
        if fences == 2 {
            return Some(Fix::suggested("write it as YAML", edits));
        }
        start += line.len();
    }
    None
}

/// Finds a known key in another notation. Returns its offset, the offset of its value, and the key.
fn decorated_key(line: &str) -> Option<(usize, usize, &str)> {
    const DECORATION: [char; 6] = ['#', '*', '-', '_', '`', ' '];
    let bare = line.trim_start_matches(DECORATION);
    let length = bare.find(|c: char| !c.is_alphanumeric() && c != '-' && c != '_')?;
    let key = bare[..length].trim_end_matches(['_', '-']);
    fields::find(key)?;
    let rest = bare[key.len()..].trim_start_matches(DECORATION);
    let value = rest
        .strip_prefix([':', '='])?
        .trim_start_matches([' ', '*', '\t']);
    let (from, to) = (0, line.len() - value.len());
    (line[from..to] != *format!("{key}: ")).then_some((from, to, key))
}

/// Returns the end of the `key: value` lines at the start of a text, if they contain a known key.
pub(crate) fn leading_keys(text: &str) -> Option<usize> {
    let mut end = 0;
    let mut known = 0;
    for line in text.split_inclusive('\n') {
        let key = line.split_once(": ").map(|(key, _)| key);
        match key {
            Some(key) if fields::find(key).is_some() => known += 1,
            Some(_) => {}
            None if line.starts_with([' ', '\t', '-']) && end > 0 && !line.trim().is_empty() => {}
            None => break,
        }
        end += line.len();
    }
    (known > 0).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_other_notations_are_found() {
        for (line, key, value) in [
            ("name:x\n", "name", "x\n"),
            ("name = x\n", "name", "x\n"),
            ("- name: x\n", "name", "x\n"),
            ("**name**: x\n", "name", "x\n"),
            ("**name:** x\n", "name", "x\n"),
            ("## allowed-tools: x\n", "allowed-tools", "x\n"),
        ] {
            let found = decorated_key(line).map(|(_, to, key)| (key, &line[to..]));
            assert_eq!(found, Some((key, value)), "{line}");
        }
        for line in ["name: x\n", "other = x\n", "\n", "name\n"] {
            assert_eq!(decorated_key(line), None, "{line}");
        }
    }

    #[test]
    fn keys_at_the_start_of_a_body_are_found() {
        for (text, end) in [
            ("name: x\ndescription: y\n\nBody.\n", Some(23)),
            ("name: x\nallowed-tools: y\n  z\nBody.\n", Some(29)),
            ("Note: this\n", None),
            ("# Title\n", None),
        ] {
            assert_eq!(leading_keys(text), end, "{text}");
        }
    }
}

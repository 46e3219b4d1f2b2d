//! Files that are named like a skill but contain none.

use crate::parse::ParsedSkill;
use crate::problem::ProblemKind;

/// The reason why a file is not a skill. Such a file is in no catalogue, index or search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotASkill {
    /// The file is not UTF-8.
    NotUtf8,
    /// The file contains NUL bytes, like a program or an archive.
    NulByte,
    /// The file is empty or has only whitespace.
    Empty,
    /// The file has neither a key in its frontmatter nor a body.
    NoContent,
}

impl NotASkill {
    /// Returns the reason why a parsed file is not a skill, or `None` if it is one.
    pub fn of(parsed: &ParsedSkill<'_>) -> Option<Self> {
        for problem in &parsed.problems {
            match problem.kind {
                ProblemKind::NotUtf8 => return Some(Self::NotUtf8),
                ProblemKind::Nul => return Some(Self::NulByte),
                _ => {}
            }
        }
        if !parsed.manifest.entries.is_empty() || !is_blank(parsed.body_text()) {
            return None;
        }
        if parsed.text.trim_start_matches('\u{feff}').trim().is_empty() {
            return Some(Self::Empty);
        }
        // Text in the frontmatter that is not a map of keys may still be meant as a skill.
        let frontmatter = parsed.yaml.map_or("", |yaml| yaml.of(parsed.text));
        let is_comment = |line: &str| line.trim().is_empty() || line.trim().starts_with('#');
        frontmatter
            .lines()
            .all(is_comment)
            .then_some(Self::NoContent)
    }
}

impl std::fmt::Display for NotASkill {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NotUtf8 => "it is not UTF-8 text",
            Self::NulByte => "it contains NUL bytes",
            Self::Empty => "it is empty",
            Self::NoContent => "it has neither frontmatter nor a body",
        })
    }
}

/// Returns `true` if a body has only whitespace and `---` lines.
fn is_blank(body: &str) -> bool {
    body.lines()
        .map(|line| line.trim_start_matches('\u{feff}').trim())
        .all(|line| line.bytes().all(|byte| byte == b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;

    #[test]
    fn only_files_without_any_content_are_not_skills() {
        for (bytes, expected) in [
            (&b""[..], Some(NotASkill::Empty)),
            (b" \n\t\r\n", Some(NotASkill::Empty)),
            (b"\xef\xbb\xbf\n", Some(NotASkill::Empty)),
            (b"---\n---\n", Some(NotASkill::NoContent)),
            (b"---\n# to do\n---\n\n", Some(NotASkill::NoContent)),
            (b"---\n", Some(NotASkill::NoContent)),
            (b"\xff\xfe---\n", Some(NotASkill::NotUtf8)),
            (b"---\nname: a\n---\nCaf\xe9\n", Some(NotASkill::NotUtf8)),
            (b"---\nname: a\n---\nx\0y\n", Some(NotASkill::NulByte)),
            (b"---\nname: a\n---\n", None),
            (b"---\n---\nDo it.\n", None),
            (b"Do it.\n", None),
            (b"---\n- a list\n---\n", None),
            (b"---\nname: [\n---\n", None),
            (b"# Title\n", None),
        ] {
            let text = String::from_utf8_lossy(bytes);
            assert_eq!(NotASkill::of(&parse(bytes)), expected, "{text:?}");
        }
    }
}

//! Skill names.

use std::borrow::Cow;

use unicode_normalization::{UnicodeNormalization, is_nfkc_quick};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// Longest name the standard allows, in characters.
pub const MAX_NAME: usize = 64;

/// A name that the standard accepts: normalised, lower case, letters, digits and single hyphens.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SkillName(Box<str>);

impl SkillName {
    /// Normalises and checks a name.
    pub fn new(raw: &str) -> Result<Self, Vec<NameFault>> {
        let name = normalise(raw);
        let faults = faults(&name);
        if faults.is_empty() {
            Ok(Self(name.into()))
        } else {
            Err(faults)
        }
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for SkillName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is wrong with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameFault {
    /// Nothing but blanks.
    Empty,
    /// More than [`MAX_NAME`] characters.
    TooLong {
        /// How many there are.
        characters: usize,
    },
    /// Upper-case letters.
    NotLowercase,
    /// A hyphen first or last.
    EdgeHyphen,
    /// Two hyphens in a row.
    DoubleHyphen,
    /// Something other than letters, digits and hyphens.
    Characters {
        /// The first such character.
        first: char,
        /// Whether underscores are the only such characters.
        only_underscores: bool,
    },
}

/// Returns the name as it is compared: trimmed and in compatibility form (NFKC).
pub fn normalise(raw: &str) -> Cow<'_, str> {
    let trimmed = raw.trim();
    if trimmed.is_ascii()
        || is_nfkc_quick(trimmed.chars()) == unicode_normalization::IsNormalized::Yes
    {
        Cow::Borrowed(trimmed)
    } else {
        Cow::Owned(trimmed.nfkc().collect())
    }
}

/// Returns everything that is wrong with a normalised name, in the order of the reference
/// validator.
pub fn faults(name: &str) -> Vec<NameFault> {
    // Nearly every name is plain; look no further then.
    let mut before = b'-';
    let mut is_plain = |byte: u8| {
        let is_single = byte != b'-' || before != b'-';
        before = byte;
        is_single && (byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    if name.len() <= MAX_NAME && name.bytes().all(&mut is_plain) && before != b'-' {
        return Vec::new();
    }
    if name.trim().is_empty() {
        return vec![NameFault::Empty];
    }
    let mut faults = Vec::new();
    let characters = name.chars().count();
    if characters > MAX_NAME {
        faults.push(NameFault::TooLong { characters });
    }
    if name != name.to_lowercase() {
        faults.push(NameFault::NotLowercase);
    }
    if name.starts_with('-') || name.ends_with('-') {
        faults.push(NameFault::EdgeHyphen);
    }
    if name.contains("--") {
        faults.push(NameFault::DoubleHyphen);
    }
    let mut foreign = name.chars().filter(|&c| !is_name_character(c)).peekable();
    if let Some(&first) = foreign.peek() {
        faults.push(NameFault::Characters {
            first,
            only_underscores: foreign.all(|c| c == '_'),
        });
    }
    faults
}

/// Letters and digits of any script, and the hyphen. Combining marks are neither, which
/// `char::is_alphanumeric` gets wrong.
fn is_name_character(c: char) -> bool {
    c == '-'
        || c.is_ascii_alphanumeric()
        || (!c.is_ascii()
            && matches!(
                c.general_category_group(),
                GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number
            ))
}

/// Returns the valid name nearest to a broken one, if anything is left of it: lower case, every
/// run of other characters turned into one hyphen, cut at a hyphen to 64 characters.
pub fn repair(raw: &str) -> Option<String> {
    let mut name = String::with_capacity(raw.len());
    for c in normalise(raw).to_lowercase().chars() {
        if c != '-' && is_name_character(c) {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    if let Some((cut, _)) = name.char_indices().nth(MAX_NAME) {
        let at_word = name[..cut].rfind('-').filter(|&at| at > MAX_NAME / 2);
        name.truncate(at_word.unwrap_or(cut));
    }
    let name = name.trim_matches('-').to_owned();
    (!name.is_empty() && faults(&name).is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_script_are_accepted() {
        for name in [
            "a",
            "skill-1",
            "1skill",
            "pdf-processing",
            "3000",
            "技能",
            "мой-навык",
            "café",
            "cafe\u{301}",
            "한글",
            "ñ",
            "ß",
            "ς",
            "ⅷ",
            "²",
            "①",
            "ａｂｃ",
            "ﬁle",
            "٣",
        ] {
            assert!(
                SkillName::new(name).is_ok(),
                "{name} {:?}",
                SkillName::new(name)
            );
        }
        assert_eq!(SkillName::new(" ⅷ ").unwrap().as_str(), "viii");
    }

    #[test]
    fn names_with_anything_else_are_refused() {
        for name in [
            "",
            "  ",
            "PDF",
            "ＰＤＦ",
            "НАВЫК",
            "\u{212a}",
            "İ",
            "ẞ",
            "हिन्दी",
            "\u{301}",
            "½",
            "🙂",
            "a\u{200b}b",
            "a\u{ad}b",
            "a‐b",
            "a–b",
            "a_b",
            "a b",
            "a.b",
            "a/b",
            "a:b",
            "-a",
            "a-",
            "a--b",
            &"a".repeat(65),
        ] {
            assert!(SkillName::new(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn repair_gives_a_valid_name_or_none() {
        for (broken, mended) in [
            ("PDF Tools", Some("pdf-tools")),
            ("pdf_tools", Some("pdf-tools")),
            ("--a--b--", Some("a-b")),
            ("@scope/Name", Some("scope-name")),
            ("İ", Some("i")),
            ("???", None),
            ("", None),
        ] {
            assert_eq!(repair(broken).as_deref(), mended, "{broken}");
        }
        let long = repair(&"word-".repeat(30)).unwrap();
        assert!(long.len() <= MAX_NAME && long.ends_with("word"), "{long}");
    }
}

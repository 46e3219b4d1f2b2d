//! Skill names.

use std::borrow::Cow;

use unicode_normalization::{UnicodeNormalization, is_nfkc_quick};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// Maximum length of a name in the standard, in characters.
pub const MAX_NAME: usize = 64;

/// A valid skill name: normalised, lower case, with letters, digits and single hyphens.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SkillName(Box<str>);

impl SkillName {
    /// Normalises and validates a name.
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

/// A violation of the rules for names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameFault {
    /// Empty or only whitespace.
    Empty,
    /// More than [`MAX_NAME`] characters.
    TooLong {
        /// The actual number of characters.
        characters: usize,
    },
    /// Upper-case letters.
    NotLowercase,
    /// A leading or trailing hyphen.
    EdgeHyphen,
    /// Two consecutive hyphens.
    DoubleHyphen,
    /// A character other than a letter, digit or hyphen.
    Characters {
        /// The first such character.
        first: char,
        /// `true` if underscores are the only such characters.
        only_underscores: bool,
    },
}

/// Normalises a name for comparison: trims it and applies NFKC.
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

/// Returns all violations in a normalised name, in the order of the reference validator.
pub fn faults(name: &str) -> Vec<NameFault> {
    // Fast path: nearly every name is plain ASCII.
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

/// Returns `true` for letters and digits of any script and for the hyphen. Unlike
/// `char::is_alphanumeric`, excludes combining marks.
fn is_name_character(c: char) -> bool {
    c == '-'
        || c.is_ascii_alphanumeric()
        || (!c.is_ascii()
            && matches!(
                c.general_category_group(),
                GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number
            ))
}

/// Derives a valid name from an invalid one: lower case, each run of other characters replaced by
/// one hyphen, cut to 64 characters, at a hyphen if possible. Returns `None` if nothing is left.
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
    fn names_with_other_characters_are_rejected() {
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
    fn repair_returns_a_valid_name_or_none() {
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

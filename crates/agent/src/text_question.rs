//! Questions that need a text or a choice, and the check of their answers.

use serde::{Deserialize, Serialize};

/// A question that needs a text or a choice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextQuestion {
    /// The question in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What the person needs to know for the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The possible answers. Empty for any text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// `true` if several choices may be given.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub several: bool,
    /// The number of seconds after the question in which an answer counts. `None` for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_seconds: Option<u64>,
}

/// An answer that does not fit its question.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerFault {
    /// The answer has no text.
    #[error("the answer is empty")]
    Empty,
    /// The answer is too long.
    #[error(
        "the answer is too long: {bytes} bytes, the maximum is {}",
        TextQuestion::MAX_ANSWER
    )]
    TooLong {
        /// The size in bytes.
        bytes: usize,
    },
    /// A part of the answer is not one of the choices.
    #[error("`{given}` is not one of the choices")]
    NoChoice {
        /// The part.
        given: String,
    },
    /// The question takes one choice only.
    #[error("the question takes one choice, not {count}")]
    TooMany {
        /// The number of choices that were given.
        count: usize,
    },
}

impl TextQuestion {
    /// The maximum size of an answer in bytes.
    pub const MAX_ANSWER: usize = 16 * 1024;
    /// The maximum number of choices.
    pub const MAX_CHOICES: usize = 20;

    /// Reads an answer as a person gives it, in one part or several. Returns the text, or the texts
    /// of the choices. A choice is given by its text or its number; several are in parts of their
    /// own or have commas between them.
    pub fn read(&self, parts: &[impl AsRef<str>]) -> Result<Vec<String>, AnswerFault> {
        let parts: Vec<&str> = parts.iter().map(|part| part.as_ref().trim()).collect();
        let whole = parts.join(" ").trim().to_owned();
        if whole.is_empty() {
            return Err(AnswerFault::Empty);
        }
        if whole.len() > Self::MAX_ANSWER {
            return Err(AnswerFault::TooLong { bytes: whole.len() });
        }
        if self.choices.is_empty() {
            return Ok(vec![whole]);
        }
        if let Some(choice) = self.choice(&whole) {
            return Ok(vec![choice]);
        }
        let mut chosen: Vec<String> = Vec::new();
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            // The text of a choice may have a comma.
            let pieces = match self.choice(part) {
                Some(_) => vec![part],
                None => part.split(',').map(str::trim).collect(),
            };
            for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
                let choice = self.choice(piece).ok_or_else(|| AnswerFault::NoChoice {
                    given: piece.to_owned(),
                })?;
                if !chosen.contains(&choice) {
                    chosen.push(choice);
                }
            }
        }
        match chosen.len() {
            0 => Err(AnswerFault::Empty),
            1 => Ok(chosen),
            count if !self.several => Err(AnswerFault::TooMany { count }),
            _ => Ok(chosen),
        }
    }

    /// Returns the choice with this text or number.
    fn choice(&self, given: &str) -> Option<String> {
        let by_text = self.choices.iter().find(|choice| choice.trim() == given);
        let number = || given.parse::<usize>().ok()?.checked_sub(1);
        by_text.or_else(|| self.choices.get(number()?)).cloned()
    }

    /// Returns the time at which the deadline passes, for a question of this time. Both are in
    /// nanoseconds since 1970. `None` without a deadline.
    pub fn expires_at(&self, asked_at: i64) -> Option<i64> {
        let seconds = i64::try_from(self.deadline_seconds?).unwrap_or(i64::MAX);
        Some(asked_at.saturating_add(seconds.saturating_mul(1_000_000_000)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choices(choices: &[&str], several: bool) -> TextQuestion {
        TextQuestion {
            choices: choices.iter().map(ToString::to_string).collect(),
            several,
            ..TextQuestion::default()
        }
    }

    #[test]
    fn text_is_joined_and_bounded() {
        let free = TextQuestion::default();
        assert_eq!(free.read(&["deep", "blue "]), Ok(vec!["deep blue".into()]));
        assert_eq!(free.read(&["1, 2"]), Ok(vec!["1, 2".into()]));
        for empty in [&[][..], &[""], &[" ", "\n"]] {
            assert_eq!(free.read(empty), Err(AnswerFault::Empty), "{empty:?}");
        }
        let long = "x".repeat(TextQuestion::MAX_ANSWER + 1);
        let bytes = long.len();
        assert_eq!(free.read(&[&long]), Err(AnswerFault::TooLong { bytes }));
        assert!(free.read(&[&long[1..]]).is_ok());
    }

    #[test]
    fn choices_are_given_by_text_or_number() {
        let one = choices(&["red", "deep blue", "a, b", "1"], false);
        let several = TextQuestion {
            several: true,
            ..one.clone()
        };
        for (given, expected) in [
            (&["red"][..], &["red"][..]),
            (&["2"], &["deep blue"]),
            (&["deep", "blue"], &["deep blue"]),
            (&["a, b"], &["a, b"]),
            // The text of a choice counts more than a number.
            (&["1"], &["1"]),
            (&["red,red"], &["red"]),
        ] {
            for question in [&one, &several] {
                let read = question.read(given).unwrap();
                assert_eq!(read, expected, "{given:?}");
            }
        }
        for (given, expected) in [
            (&["red,2"][..], &["red", "deep blue"][..]),
            (&["2", "red"], &["deep blue", "red"]),
            (&["a, b", "red, 2"], &["a, b", "red", "deep blue"]),
        ] {
            assert_eq!(several.read(given).unwrap(), expected, "{given:?}");
            let count = expected.len();
            assert_eq!(one.read(given), Err(AnswerFault::TooMany { count }));
        }
        let wrong = |given: &str| {
            let given = given.to_owned();
            Err(AnswerFault::NoChoice { given })
        };
        assert_eq!(one.read(&["0"]), wrong("0"));
        assert_eq!(one.read(&["5"]), wrong("5"));
        assert_eq!(one.read(&["-1"]), wrong("-1"));
        assert_eq!(several.read(&["red,Red"]), wrong("Red"));
        assert_eq!(several.read(&[",", ", ,"]), Err(AnswerFault::Empty));
    }

    #[test]
    fn deadline_saturates() {
        let within = |seconds| TextQuestion {
            deadline_seconds: Some(seconds),
            ..TextQuestion::default()
        };
        assert_eq!(within(2).expires_at(5), Some(2_000_000_005));
        assert_eq!(within(u64::MAX).expires_at(5), Some(i64::MAX));
        assert_eq!(TextQuestion::default().expires_at(5), None);
    }
}

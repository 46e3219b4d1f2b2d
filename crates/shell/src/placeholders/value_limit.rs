//! Limits of a value at a safe position: some positions are safe for most values only.

/// The limits of a value. Several limits may apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValueLimit {
    /// The value begins a word, so it must not begin like an option.
    pub option: bool,
    /// An option may also begin with `+` or `@`.
    pub signs: bool,
    /// The script removes the beginning of a value before it begins a word.
    pub cut: bool,
    /// The program takes `NAME=value` for a setting.
    pub setting: bool,
    /// The program expands `$`.
    pub expansion: bool,
    /// The script calculates with text that may be the value.
    pub arithmetic: bool,
    /// The script makes other text from a value before it begins a word.
    pub made: MadeFrom,
}

/// The beginnings of a value from which a script may make an option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MadeFrom {
    /// None.
    #[default]
    Nothing,
    /// A character: `${1// /-}`.
    Char(char),
    /// A character that is neither a letter nor a digit: `${1//[^a-z0-9]/-}`.
    Symbols,
    /// A backslash anywhere: `printf %b`.
    Escapes,
    /// Any.
    Anything,
}

impl MadeFrom {
    /// Returns what covers both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, one) | (one, Self::Nothing) => one,
            (one, other) if one == other => one,
            (Self::Symbols, Self::Char(c)) | (Self::Char(c), Self::Symbols)
                if !c.is_alphanumeric() =>
            {
                Self::Symbols
            }
            _ => Self::Anything,
        }
    }
}

/// The reason why a value breaks a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueObjection {
    /// It could be an option.
    Option,
    /// It could be an option that begins with `+` or `@`.
    Sign,
    /// It could be a setting.
    Setting,
    /// Shell arithmetic could evaluate it.
    Arithmetic,
}

impl ValueLimit {
    /// Returns `true` if no limit applies.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// Adds the limits of another position.
    pub fn add(&mut self, other: Self) {
        self.option |= other.option;
        self.signs |= other.signs;
        self.cut |= other.cut;
        self.setting |= other.setting;
        self.expansion |= other.expansion;
        self.arithmetic |= other.arithmetic;
        self.made = self.made.and(other.made);
    }

    /// Returns the objection to a value that is filled in as it is.
    pub fn objection(self, value: &str) -> Option<ValueObjection> {
        let first = value.chars().next();
        if self.option && first == Some('-') {
            return Some(ValueObjection::Option);
        }
        if self.signs && matches!(first, Some('+' | '@')) {
            return Some(ValueObjection::Sign);
        }
        self.anywhere(value)
    }

    /// Returns the objection to a value of which the script may use any part, through a variable or
    /// a command.
    pub fn objection_to_parts(self, value: &str) -> Option<ValueObjection> {
        let begins = |at: usize| {
            let before = value[..at].chars().next_back();
            let after = value[at..].chars().nth(1);
            before.is_none_or(|c| !c.is_alphanumeric())
                && (before.is_none() || after.is_some_and(|c| !c.is_whitespace()))
        };
        let has = |signs: &[char]| value.match_indices(signs).any(|(at, _)| begins(at));
        let is_cut =
            || value.contains('-') || value.starts_with(|c: char| !c.is_alphanumeric() && c != '/');
        let is_made = || match self.made {
            MadeFrom::Nothing => false,
            MadeFrom::Char(c) => has(&[c]),
            MadeFrom::Symbols => !value.starts_with(char::is_alphanumeric),
            MadeFrom::Escapes => value.contains('\\'),
            MadeFrom::Anything => !value.is_empty(),
        };
        let is_option = self.option && has(&['-'])
            || self.signs && has(&['+', '@'])
            || self.option && self.cut && is_cut()
            || self.option && is_made();
        if is_option {
            return Some(ValueObjection::Option);
        }
        self.anywhere(value)
    }

    fn anywhere(self, value: &str) -> Option<ValueObjection> {
        let is_ordinary = |c: char| c.is_alphanumeric() || " _./:@,+-".contains(c);
        if self.setting && value.contains('=') || self.expansion && value.contains('$') {
            Some(ValueObjection::Setting)
        } else if self.arithmetic && !value.chars().all(is_ordinary) {
            Some(ValueObjection::Arithmetic)
        } else {
            None
        }
    }
}

impl ValueObjection {
    /// Completes the sentence "the value of `$1` …".
    pub fn explain(self) -> &'static str {
        match self {
            Self::Option => "begins with `-`, so it could be taken for an option",
            Self::Sign => "begins with `+` or `@`, so it could be taken for an option",
            Self::Setting => "contains `=` or `$`, so it could change what the program runs",
            Self::Arithmetic => {
                "has characters that shell arithmetic in the command could evaluate"
            }
        }
    }

    /// Completes the sentence "a value … " about all values of a command.
    pub fn explain_part(self) -> &'static str {
        match self {
            Self::Option | Self::Sign => "has a part that could be taken for an option",
            Self::Setting | Self::Arithmetic => self.explain(),
        }
    }

    /// Returns what the author can write instead.
    pub fn remedy(self, placeholder: &str) -> String {
        match self {
            Self::Option | Self::Sign => format!(
                "write `-- {placeholder}` if the program supports it, or move the command to a \
                 script"
            ),
            Self::Setting => "name the targets in the command".to_owned(),
            Self::Arithmetic => "calculate in a script of the skill, and check the value there \
                                 first"
                .to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_with_the_limits() {
        use ValueObjection::{Arithmetic, Option, Setting, Sign};
        let none = ValueLimit::default;
        let option = ValueLimit {
            option: true,
            ..none()
        };
        let signs = ValueLimit {
            signs: true,
            ..option
        };
        let cut = ValueLimit {
            cut: true,
            ..option
        };
        let make = ValueLimit {
            setting: true,
            expansion: true,
            ..none()
        };
        let arithmetic = ValueLimit {
            arithmetic: true,
            ..none()
        };
        let made = |made| ValueLimit { made, ..option };
        // (limit, value, whole, parts)
        for (limit, value, whole, parts) in [
            (none(), "--x=$(y)", None, None),
            (option, "-x", Some(Option), Some(Option)),
            (option, "-", Some(Option), Some(Option)),
            (option, "x-y", None, None),
            (option, "a - b", None, None),
            (option, "a -b", None, Some(Option)),
            (option, "a/--b", None, Some(Option)),
            (option, "+x", None, None),
            (option, "é-x", None, None),
            (signs, "+x", Some(Sign), Some(Option)),
            (signs, "@x", Some(Sign), Some(Option)),
            (signs, "a@b", None, None),
            (cut, "v-x", None, Some(Option)),
            (cut, "fix it", None, None),
            (cut, " fix it", None, Some(Option)),
            (made(MadeFrom::Char('q')), "qqpre=./x", None, Some(Option)),
            (made(MadeFrom::Char('q')), "a quick", None, Some(Option)),
            (made(MadeFrom::Char('q')), "aq", None, None),
            (made(MadeFrom::Char(' ')), "my new name", None, None),
            (made(MadeFrom::Char(' ')), " name", None, Some(Option)),
            (made(MadeFrom::Symbols), "my/name", None, None),
            (made(MadeFrom::Symbols), "/name", None, Some(Option)),
            (made(MadeFrom::Escapes), "\\055x", None, Some(Option)),
            (made(MadeFrom::Escapes), "x", None, None),
            (made(MadeFrom::Anything), "x", None, Some(Option)),
            (make, "all", None, None),
            (make, "A=b", Some(Setting), Some(Setting)),
            (make, "$(shell x)", Some(Setting), Some(Setting)),
            (arithmetic, "fix a-b_c ./d:e@f,g+1", None, None),
            (arithmetic, "größe 1", None, None),
            (arithmetic, "", None, None),
            (arithmetic, "a[0]", Some(Arithmetic), Some(Arithmetic)),
            (arithmetic, "`x`", Some(Arithmetic), Some(Arithmetic)),
            (arithmetic, "(x)", Some(Arithmetic), Some(Arithmetic)),
        ] {
            assert_eq!(limit.objection(value), whole, "{limit:?} {value}");
            assert_eq!(limit.objection_to_parts(value), parts, "{limit:?} {value}");
        }
    }
}

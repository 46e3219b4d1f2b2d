//! Which rules are in force, and how severe each is.

use prowess_diag::Severity;

use crate::rules::{self, RULES};

/// Whose idea of a valid skill counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Profile {
    /// The open standard: six keys, nothing mended; agrees with the reference validator.
    Spec,
    /// Claude Code's keys on top of the standard; unknown keys are warnings.
    #[default]
    ClaudeCode,
    /// What our loader accepts: whatever can be recovered is loaded, each recovery is reported.
    Lenient,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Self; 3] = [Self::Spec, Self::ClaudeCode, Self::Lenient];

    /// Returns the name used on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Spec => "spec",
            Self::ClaudeCode => "claude-code",
            Self::Lenient => "lenient",
        }
    }

    /// Reads the name back.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|profile| profile.as_str() == name)
    }
}

/// A place a skill is meant for that has rules of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Uploads to claude.ai and to the Skills API.
    ClaudeAi,
}

impl Target {
    /// Returns the name used on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeAi => "claude-ai",
        }
    }
}

/// How severe a rule is in each profile; nothing means it is silent there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// Under [`Profile::Spec`].
    pub spec: Option<Severity>,
    /// Under [`Profile::ClaudeCode`].
    pub claude_code: Option<Severity>,
    /// Under [`Profile::Lenient`].
    pub lenient: Option<Severity>,
    /// With [`Target::ClaudeAi`], whatever the profile.
    pub claude_ai: Option<Severity>,
}

impl Levels {
    /// Returns the levels written as three letters, for `spec`, `claude-code` and `lenient`:
    /// `E` error, `W` warning, `N` note, `-` silent. Meant for constants: anything else does not
    /// compile.
    pub const fn of(letters: &str) -> Self {
        let bytes = letters.as_bytes();
        assert!(bytes.len() == 3, "three letters, one for each profile");
        Self {
            spec: level(bytes[0]),
            claude_code: level(bytes[1]),
            lenient: level(bytes[2]),
            claude_ai: None,
        }
    }

    /// Returns levels for a rule that only counts for uploads to claude.ai.
    pub const fn claude_ai() -> Self {
        Self {
            spec: None,
            claude_code: None,
            lenient: None,
            claude_ai: Some(Severity::Error),
        }
    }

    /// Returns the level under a profile and a target.
    pub fn under(self, profile: Profile, target: Option<Target>) -> Option<Severity> {
        let base = match profile {
            Profile::Spec => self.spec,
            Profile::ClaudeCode => self.claude_code,
            Profile::Lenient => self.lenient,
        };
        match target {
            Some(Target::ClaudeAi) => base.max(self.claude_ai),
            None => base,
        }
    }
}

#[expect(
    clippy::panic,
    reason = "runs while compiling: a wrong letter does not build"
)]
const fn level(letter: u8) -> Option<Severity> {
    match letter {
        b'E' => Some(Severity::Error),
        b'W' => Some(Severity::Warning),
        b'N' => Some(Severity::Note),
        b'-' => None,
        _ => panic!("one of E, W, N and -"),
    }
}

/// The rules in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleSet {
    profile: Profile,
    target: Option<Target>,
    severities: Vec<Option<Severity>>,
}

impl RuleSet {
    /// Returns the rules of a profile.
    pub fn new(profile: Profile, target: Option<Target>) -> Self {
        let severities = RULES
            .iter()
            .map(|rule| rule.levels.under(profile, target))
            .collect();
        Self {
            profile,
            target,
            severities,
        }
    }

    /// Keeps only these rules. A rule that the profile leaves silent is heard as a warning.
    #[must_use]
    pub fn select(mut self, ids: &[&'static str]) -> Self {
        if !ids.is_empty() {
            for (rule, severity) in RULES.iter().zip(&mut self.severities) {
                *severity = ids
                    .contains(&rule.id)
                    .then(|| severity.unwrap_or(Severity::Warning));
            }
        }
        self
    }

    /// Silences a rule, or gives it another severity. A rule id that does not exist changes nothing.
    pub fn set(&mut self, id: &str, severity: Option<Severity>) {
        if let Some(index) = rules::position(id) {
            self.severities[index] = severity;
        }
    }

    /// Returns the severity of the rule at a position of [`RULES`].
    pub fn severity(&self, index: usize) -> Option<Severity> {
        self.severities.get(index).copied().flatten()
    }

    /// Returns the severity of each of [`RULES`].
    pub(crate) fn severities(&self) -> &[Option<Severity>] {
        &self.severities
    }

    /// Returns the profile these rules began with.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Returns the place the skills are meant for.
    pub fn target(&self) -> Option<Target> {
        self.target
    }
}

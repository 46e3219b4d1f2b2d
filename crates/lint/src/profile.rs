//! Profiles: the active rules and their severities.

use prowess_diag::Severity;

use crate::rules::{self, RULES};

/// The definition of a valid skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LintProfile {
    /// The open standard: six keys, no repairs; agrees with the reference validator.
    Spec,
    /// The standard plus Claude Code's keys; unknown keys are warnings.
    #[default]
    ClaudeCode,
    /// Everything that the Prowess loader accepts; each recovery is reported.
    Lenient,
    /// Skills of `skilled_crew`: as [`Self::ClaudeCode`], but a name may contain underscores and
    /// any hyphens, and `compatibility` may be a list of strings.
    Crew,
}

impl LintProfile {
    /// All profiles.
    pub const ALL: [Self; 4] = [Self::Spec, Self::ClaudeCode, Self::Lenient, Self::Crew];

    /// Returns the name used on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Spec => "spec",
            Self::ClaudeCode => "claude-code",
            Self::Lenient => "lenient",
            Self::Crew => "crew",
        }
    }

    /// Parses the name returned by [`Self::as_str`].
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|profile| profile.as_str() == name)
    }
}

/// A deployment target with additional rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LintTarget {
    /// Uploads to claude.ai and to the Skills API.
    ClaudeAi,
}

impl LintTarget {
    /// Returns the name used on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeAi => "claude-ai",
        }
    }
}

/// The severity of a rule in each profile; `None` if it is inactive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleLevels {
    /// Under [`LintProfile::Spec`].
    pub spec: Option<Severity>,
    /// Under [`LintProfile::ClaudeCode`] and [`LintProfile::Crew`].
    pub claude_code: Option<Severity>,
    /// Under [`LintProfile::Lenient`].
    pub lenient: Option<Severity>,
    /// With [`LintTarget::ClaudeAi`], in any profile.
    pub claude_ai: Option<Severity>,
}

impl RuleLevels {
    /// Parses three letters, for `spec`, `claude-code` and `lenient`: `E` error, `W` warning, `N`
    /// note, `-` inactive. For constants: anything else fails to compile.
    pub const fn of(letters: &str) -> Self {
        let bytes = letters.as_bytes();
        assert!(bytes.len() == 3, "expected three letters, one per profile");
        Self {
            spec: level(bytes[0]),
            claude_code: level(bytes[1]),
            lenient: level(bytes[2]),
            claude_ai: None,
        }
    }

    /// Returns levels for a rule that applies only to uploads to claude.ai.
    pub const fn claude_ai() -> Self {
        Self {
            spec: None,
            claude_code: None,
            lenient: None,
            claude_ai: Some(Severity::Error),
        }
    }

    /// Returns the severity for a profile and a target.
    pub fn under(self, profile: LintProfile, target: Option<LintTarget>) -> Option<Severity> {
        let base = match profile {
            LintProfile::Spec => self.spec,
            LintProfile::ClaudeCode | LintProfile::Crew => self.claude_code,
            LintProfile::Lenient => self.lenient,
        };
        match target {
            Some(LintTarget::ClaudeAi) => base.max(self.claude_ai),
            None => base,
        }
    }
}

#[expect(
    clippy::panic,
    reason = "evaluated at compile time: an invalid letter does not compile"
)]
const fn level(letter: u8) -> Option<Severity> {
    match letter {
        b'E' => Some(Severity::Error),
        b'W' => Some(Severity::Warning),
        b'N' => Some(Severity::Note),
        b'-' => None,
        _ => panic!("expected E, W, N or -"),
    }
}

/// The active rules and their severities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LintRuleSet {
    profile: LintProfile,
    target: Option<LintTarget>,
    severities: Vec<Option<Severity>>,
}

impl LintRuleSet {
    /// Returns the rules of a profile.
    pub fn new(profile: LintProfile, target: Option<LintTarget>) -> Self {
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

    /// Keeps only these rules. A rule that is inactive in the profile becomes a warning.
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

    /// Sets the severity of a rule; `None` deactivates it. Unknown ids are ignored.
    pub fn set(&mut self, id: &str, severity: Option<Severity>) {
        if let Some(index) = rules::position(id) {
            self.severities[index] = severity;
        }
    }

    /// Returns the severity of the rule at an index of [`RULES`].
    pub fn severity(&self, index: usize) -> Option<Severity> {
        self.severities.get(index).copied().flatten()
    }

    /// Returns the severity of each of [`RULES`].
    pub(crate) fn severities(&self) -> &[Option<Severity>] {
        &self.severities
    }

    /// Returns the profile.
    pub fn profile(&self) -> LintProfile {
        self.profile
    }

    /// Returns the target.
    pub fn target(&self) -> Option<LintTarget> {
        self.target
    }
}

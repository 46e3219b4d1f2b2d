//! Variables besides the arguments: folders, the session, granted environment variables.

use std::collections::BTreeMap;

/// A variable in a body.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Variable {
    /// The folder of the skill.
    SkillDir,
    /// The id of the session.
    SessionId,
    /// The root of the project.
    ProjectDir,
    /// The reasoning effort of the model.
    Effort,
    /// An environment variable: `${env:NAME}`.
    Env(String),
    /// An unknown variable.
    Unknown,
}

/// Prefixes of the variables.
const PREFIXES: [&str; 3] = ["PROWESS_", "CLAUDE_", "AGENTICK_"];

impl Variable {
    /// Parses the text between `${` and `}`.
    pub(crate) fn read(inner: &str) -> Self {
        if let Some(name) = inner.strip_prefix("env:") {
            let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            return if is_name {
                Self::Env(name.to_owned())
            } else {
                Self::Unknown
            };
        }
        match PREFIXES
            .iter()
            .find_map(|prefix| inner.strip_prefix(prefix))
        {
            Some("SKILL_DIR") => Self::SkillDir,
            Some("SESSION_ID") => Self::SessionId,
            Some("PROJECT_DIR") => Self::ProjectDir,
            Some("EFFORT") => Self::Effort,
            _ => Self::Unknown,
        }
    }

    /// Returns the name of the variable in commands. Environment variables get a separate name, so
    /// that a skill that may read `PATH` does not set it for its commands.
    pub(crate) fn shell_name(&self) -> String {
        match self {
            Self::SkillDir => "PROWESS_SKILL_DIR".into(),
            Self::SessionId => "PROWESS_SESSION_ID".into(),
            Self::ProjectDir => "PROWESS_PROJECT_DIR".into(),
            Self::Effort => "PROWESS_EFFORT".into(),
            Self::Env(name) => format!("PROWESS_ENV_{name}"),
            Self::Unknown => "PROWESS_UNKNOWN".into(),
        }
    }
}

/// The values of the variables. A variable without a value stays as it is written.
#[derive(Clone, Debug, Default)]
pub struct SkillVariables {
    /// The folder of the skill, as it is shown to the model.
    pub skill_dir: Option<String>,
    /// The id of the session.
    pub session_id: Option<String>,
    /// The root of the project.
    pub project_dir: Option<String>,
    /// The reasoning effort of the model: `low` to `max`.
    pub effort: Option<String>,
    /// Environment variables that the skill declares *and* the policy grants. Never secrets: they
    /// become part of the prompt.
    pub env: BTreeMap<String, String>,
}

impl SkillVariables {
    /// Returns the value of a variable, if there is one. Folders and ids are never empty;
    /// environment variables may be.
    pub fn get(&self, variable: &Variable) -> Option<&str> {
        let value = match variable {
            Variable::SkillDir => self.skill_dir.as_deref(),
            Variable::SessionId => self.session_id.as_deref(),
            Variable::ProjectDir => self.project_dir.as_deref(),
            Variable::Effort => self.effort.as_deref(),
            Variable::Env(name) => return self.env.get(name).map(String::as_str),
            Variable::Unknown => None,
        };
        value.filter(|value| !value.is_empty())
    }
}

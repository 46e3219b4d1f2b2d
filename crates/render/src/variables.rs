//! What is known besides the arguments: folders, the session, granted environment.

use std::collections::BTreeMap;

/// Which variable a body names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Variable {
    /// The folder of the skill.
    SkillDir,
    /// The id of the session.
    SessionId,
    /// The root of the project.
    ProjectDir,
    /// How hard the model thinks.
    Effort,
    /// A value of the environment: `${env:NAME}`.
    Env(String),
    /// One that we do not have.
    Unknown,
}

/// The prefixes one variable is known by.
const PREFIXES: [&str; 3] = ["PROWESS_", "CLAUDE_", "AGENTICK_"];

impl Variable {
    /// Reads what stands between `${` and `}`.
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

    /// Returns the name under which a command sees it. A name of our own for the environment: what
    /// `PATH` is for a command is not decided by what a skill may read of it.
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

/// The values of the variables. What is not given stays as it is written.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    /// The folder of the skill, as the model should see it.
    pub skill_dir: Option<String>,
    /// The id of the session.
    pub session_id: Option<String>,
    /// The root of the project.
    pub project_dir: Option<String>,
    /// How hard the model thinks: `low` to `max`.
    pub effort: Option<String>,
    /// What of the environment the skill declares *and* policy granted. Never a secret: it goes
    /// into the prompt.
    pub env: BTreeMap<String, String>,
}

impl Variables {
    /// Returns the value of a variable, if there is one. The places we know are never empty; a value
    /// of the environment may be.
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

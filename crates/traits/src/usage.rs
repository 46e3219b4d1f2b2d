//! Storage of the use of skills.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::{self, Debug, Display};

use prowess_catalog::rank::planck::{DEFAULT_TEAM, ORCHESTRATOR};
use prowess_catalog::rank::{SkillUsage, UseOutcome, UseOutcomes};

/// The maximum number of characters in the name of a skill, an agent, its type or a team. Longer
/// names are rejected, not truncated, so that distinct names stay distinct.
pub const MAX_NAME: usize = 256;
/// The maximum number of characters in the name of a project, which may be a path.
pub const MAX_PROJECT: usize = 4096;
/// The maximum number of rows in a store. The least recently used row is evicted.
pub const MAX_ROWS: usize = 100_000;
/// The maximum number of agents listed for one skill in a summary.
pub const MAX_AGENTS: usize = 16;

/// Stores the use of skills, one row for each project, team, agent and skill.
///
/// Implementations block for a bounded time, never panic, and never overwrite data that they cannot
/// read. Callers for whom a failure must not matter wrap the store in one that only reports errors
/// (`Tolerant` in `crates/store`).
pub trait UsageStore: Send + Sync + Debug {
    /// Records a use.
    fn record(&self, used: &SkillUse) -> Result<(), UsageError>;

    /// Adds the outcome of a use that was recorded without one. Does not change the count or the
    /// time, and has no effect if there is no such use.
    fn settle(&self, used: &SkillUse) -> Result<(), UsageError>;

    /// Returns matching rows, latest use first, at most `query.limit`.
    fn rows(&self, query: &UsageQuery) -> Result<Vec<UsageRow>, UsageError>;

    /// Returns the total use of each skill, in one project or in all.
    fn summary(&self, project: Option<&str>, limit: usize) -> Result<UsageSummary, UsageError>;

    /// Removes matching rows and returns their number.
    fn forget(&self, which: &UsageFilter) -> Result<u64, UsageError>;
}

/// One use of one skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillUse {
    /// The project as named by the caller, usually the path of its root.
    pub project: Box<str>,
    /// The team; [`DEFAULT_TEAM`] if there is none.
    pub team: Box<str>,
    /// The agent's name.
    pub agent: Box<str>,
    /// The agent's role, such as [`ORCHESTRATOR`].
    pub agent_type: Box<str>,
    /// The name of the skill.
    pub skill: Box<str>,
    /// The outcome, if known.
    pub outcome: Option<UseOutcome>,
    /// The time, in nanoseconds since 1970.
    pub at: i64,
}

impl SkillUse {
    /// Creates a use by the agent of a session without a team, with no outcome.
    pub fn new(project: impl Into<Box<str>>, skill: impl Into<Box<str>>, at: i64) -> Self {
        Self {
            project: project.into(),
            team: DEFAULT_TEAM.into(),
            agent: ORCHESTRATOR.into(),
            agent_type: ORCHESTRATOR.into(),
            skill: skill.into(),
            outcome: None,
            at,
        }
    }

    /// Validates the names. Every store calls this before it writes.
    pub fn check(&self) -> Result<(), UsageError> {
        let named = [
            (UsageField::Team, &self.team, MAX_NAME),
            (UsageField::Agent, &self.agent, MAX_NAME),
            (UsageField::Skill, &self.skill, MAX_NAME),
        ];
        for (field, text, _) in named {
            if text.is_empty() {
                return Err(UsageError::Empty { field });
            }
        }
        let others = [
            (UsageField::Project, &self.project, MAX_PROJECT),
            (UsageField::AgentType, &self.agent_type, MAX_NAME),
        ];
        for (field, text, limit) in named.into_iter().chain(others) {
            // Check the bytes first: counting the characters of a huge text is slow.
            if text.len() > limit * 4 || text.chars().count() > limit {
                return Err(UsageError::TooLong { field, limit });
            }
        }
        Ok(())
    }
}

/// A selection of agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentFilter {
    /// All agents.
    Everyone,
    /// The agent with this name.
    Agent(Box<str>),
    /// All agents of this type. A new orchestrator starts with the skills used by the orchestrators
    /// of its team.
    Type(Box<str>),
}

/// A query for rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageQuery {
    /// The project; `None` for all.
    pub project: Option<Box<str>>,
    /// The team; `None` for all.
    pub team: Option<Box<str>>,
    /// The agents.
    pub whose: AgentFilter,
    /// The maximum number of rows. If this many are returned, there may be more.
    pub limit: usize,
}

impl UsageQuery {
    /// Selects all rows of a project.
    pub fn project(project: impl Into<Box<str>>) -> Self {
        Self {
            project: Some(project.into()),
            team: None,
            whose: AgentFilter::Everyone,
            limit: MAX_ROWS,
        }
    }

    /// Selects the rows of one agent of a team.
    pub fn agent(
        project: impl Into<Box<str>>,
        team: impl Into<Box<str>>,
        agent: impl Into<Box<str>>,
    ) -> Self {
        let whose = AgentFilter::Agent(agent.into());
        Self {
            team: Some(team.into()),
            whose,
            ..Self::project(project)
        }
    }

    /// Selects the rows of all orchestrators of a team.
    pub fn orchestrators(project: impl Into<Box<str>>, team: impl Into<Box<str>>) -> Self {
        let whose = AgentFilter::Type(ORCHESTRATOR.into());
        Self {
            team: Some(team.into()),
            whose,
            ..Self::project(project)
        }
    }

    /// Returns `true` if a row is selected.
    pub fn matches(&self, row: &UsageRow) -> bool {
        self.project
            .as_ref()
            .is_none_or(|project| *project == row.project)
            && self.team.as_ref().is_none_or(|team| *team == row.team)
            && match &self.whose {
                AgentFilter::Everyone => true,
                AgentFilter::Agent(agent) => *agent == row.agent,
                AgentFilter::Type(agent_type) => *agent_type == row.agent_type,
            }
    }
}

/// One agent's use of one skill.
#[derive(Clone, Debug, PartialEq)]
pub struct UsageRow {
    /// The project.
    pub project: Box<str>,
    /// The team.
    pub team: Box<str>,
    /// The agent's name.
    pub agent: Box<str>,
    /// The agent's role at its last use.
    pub agent_type: Box<str>,
    /// The skill, with counts, times and outcomes.
    pub usage: SkillUsage,
}

/// A selection of rows to remove: those that match all given fields. The default selects all rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageFilter {
    /// The project.
    pub project: Option<Box<str>>,
    /// The team.
    pub team: Option<Box<str>>,
    /// The agent.
    pub agent: Option<Box<str>>,
    /// The skill.
    pub skill: Option<Box<str>>,
    /// Last used before this time, in nanoseconds since 1970.
    pub before: Option<i64>,
}

impl UsageFilter {
    /// Returns `true` if a row is selected.
    pub fn matches(&self, row: &UsageRow) -> bool {
        let same = |wanted: &Option<Box<str>>, found: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted == found)
        };
        same(&self.project, &row.project)
            && same(&self.team, &row.team)
            && same(&self.agent, &row.agent)
            && same(&self.skill, &row.usage.skill)
            && self
                .before
                .is_none_or(|before| row.usage.last_used < before)
    }
}

/// The use of all skills, most used first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageSummary {
    /// The skills, up to the requested limit.
    pub skills: Vec<SkillUsageSummary>,
    /// The number of skills without the limit.
    pub total: usize,
}

/// The use of one skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillUsageSummary {
    /// The name of the skill.
    pub skill: Box<str>,
    /// The number of uses.
    pub uses: u64,
    /// The time of the last use, in nanoseconds since 1970.
    pub last_used: i64,
    /// The outcomes of the uses.
    pub outcomes: UseOutcomes,
    /// The team, agent and number of uses, most uses first, at most [`MAX_AGENTS`].
    pub agents: Vec<(Box<str>, Box<str>, u64)>,
    /// The number of agents that used it.
    pub agent_count: usize,
}

impl UsageSummary {
    /// Summarizes rows.
    pub fn of(rows: impl IntoIterator<Item = UsageRow>, limit: usize) -> Self {
        type Agents = BTreeMap<(Box<str>, Box<str>), u64>;
        let mut found: BTreeMap<Box<str>, (SkillUsageSummary, Agents)> = BTreeMap::new();
        for UsageRow {
            project: _,
            team,
            agent,
            agent_type: _,
            usage,
        } in rows
        {
            let (sum, agents) = found.entry(usage.skill.clone()).or_insert_with(|| {
                let sum = SkillUsageSummary {
                    skill: usage.skill.clone(),
                    uses: 0,
                    last_used: i64::MIN,
                    outcomes: UseOutcomes::default(),
                    agents: Vec::new(),
                    agent_count: 0,
                };
                (sum, BTreeMap::new())
            });
            sum.uses = sum.uses.saturating_add(usage.count);
            sum.last_used = sum.last_used.max(usage.last_used);
            sum.outcomes.merge(&usage.outcomes);
            let uses = agents.entry((team, agent)).or_default();
            *uses = uses.saturating_add(usage.count);
        }
        let total = found.len();
        let mut skills: Vec<SkillUsageSummary> = found
            .into_values()
            .map(|(mut sum, agents)| {
                sum.agent_count = agents.len();
                sum.agents = agents
                    .into_iter()
                    .map(|((team, agent), uses)| (team, agent, uses))
                    .collect();
                sum.agents
                    .sort_by_key(|(_, _, uses)| std::cmp::Reverse(*uses));
                sum.agents.truncate(MAX_AGENTS);
                sum
            })
            .collect();
        // Stable: ties stay in the order of names.
        skills.sort_by(|one, other| {
            other
                .uses
                .cmp(&one.uses)
                .then_with(|| other.last_used.cmp(&one.last_used))
        });
        skills.truncate(limit);
        Self { skills, total }
    }
}

/// A field of a [`SkillUse`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageField {
    /// The project.
    Project,
    /// The team.
    Team,
    /// The agent's name.
    Agent,
    /// The agent's role.
    AgentType,
    /// The name of the skill.
    Skill,
}

impl Display for UsageField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Project => "project",
            Self::Team => "team",
            Self::Agent => "agent",
            Self::AgentType => "agent type",
            Self::Skill => "skill",
        })
    }
}

/// A failed access to the usage store. `store` is its path or URL.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UsageError {
    /// A name is empty.
    #[error("the name of the {field} is empty")]
    Empty {
        /// The field.
        field: UsageField,
    },
    /// A name is too long.
    #[error("the name of the {field} has more than {limit} characters")]
    TooLong {
        /// The field.
        field: UsageField,
        /// The maximum number of characters.
        limit: usize,
    },
    /// Another process held a lock on the store for too long.
    #[error("the usage database `{store}` is locked by another process")]
    Busy {
        /// The path.
        store: Box<str>,
    },
    /// The store is read-only.
    #[error("cannot write the usage database `{store}`")]
    ReadOnly {
        /// The path.
        store: Box<str>,
    },
    /// The disk is full.
    #[error("no space left on the disk of the usage database `{store}`")]
    Full {
        /// The path.
        store: Box<str>,
    },
    /// The path is not a regular file.
    #[error("the usage database `{store}` is not a regular file")]
    NotAFile {
        /// The path.
        store: Box<str>,
    },
    /// The file is not a database, or is damaged. It is left unchanged.
    #[error("the usage database `{store}` is damaged: {reason}")]
    Damaged {
        /// The path.
        store: Box<str>,
        /// The message of the database.
        reason: Box<str>,
    },
    /// The file is the database of another program. It is left unchanged.
    #[error("`{store}` is the database of another program")]
    Foreign {
        /// The path.
        store: Box<str>,
    },
    /// The database was written by a newer version. It is left unchanged.
    #[error(
        "the usage database `{store}` uses format version {found}, but this version supports at most {known}"
    )]
    Newer {
        /// The path.
        store: Box<str>,
        /// The version of the database.
        found: i64,
        /// The newest supported version.
        known: i64,
    },
    /// Another error.
    #[error("cannot use the usage database `{store}`")]
    Unavailable {
        /// The path.
        store: Box<str>,
        /// The cause.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl UsageError {
    /// Returns `true` if the input is invalid, so that the store is not the cause.
    pub fn is_invalid_input(&self) -> bool {
        matches!(self, Self::Empty { .. } | Self::TooLong { .. })
    }
}

//! Which skills were used, by whom, and how it ended.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::{self, Debug, Display};

use prowess_catalog::rank::planck::{DEFAULT_TEAM, ORCHESTRATOR};
use prowess_catalog::rank::{SkillUsage, UseOutcome, UseOutcomes};

/// Most characters of the name of a skill, an agent, its type or a team. A longer one is refused,
/// not cut: two names that begin alike are two names.
pub const MAX_NAME: usize = 256;
/// Most characters of the name of a project, which may be a path.
pub const MAX_PROJECT: usize = 4096;
/// Most rows a store keeps. The one that was not used for the longest time makes room.
pub const MAX_ROWS: usize = 100_000;
/// Most agents that a summary names for one skill.
pub const MAX_AGENTS: usize = 16;

/// Remembers the use of skills: one row for each project, team, agent and skill.
///
/// Implementations wait for a bounded time, never panic, and never destroy what they cannot read.
/// Using a skill must not fail because remembering it does: callers on that path wrap a store in
/// one that only notes its errors (`Tolerant` in `crates/store`).
pub trait UsageStore: Send + Sync + Debug {
    /// Counts a use.
    fn record(&self, used: &Use) -> Result<(), UsageError>;

    /// Says how a use ended that was recorded without an outcome. It counts no use and changes no
    /// time; where nothing was recorded, nothing happens.
    fn settle(&self, used: &Use) -> Result<(), UsageError>;

    /// Returns the rows that match, the latest use first, at most `query.limit`.
    fn rows(&self, query: &UsageQuery) -> Result<Vec<UsageRow>, UsageError>;

    /// Adds up the use of each skill, in one project or in all.
    fn summary(&self, project: Option<&str>, limit: usize) -> Result<Summary, UsageError>;

    /// Removes the rows that match, and returns how many there were.
    fn forget(&self, which: &Forget) -> Result<u64, UsageError>;
}

/// One use of one skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The project, as the caller names it: usually the path of its root.
    pub project: Box<str>,
    /// The team; [`DEFAULT_TEAM`] where there is none.
    pub team: Box<str>,
    /// The agent's name.
    pub agent: Box<str>,
    /// The agent's role, such as [`ORCHESTRATOR`].
    pub agent_type: Box<str>,
    /// The name of the skill.
    pub skill: Box<str>,
    /// How it ended, if that is known already.
    pub outcome: Option<UseOutcome>,
    /// When, in nanoseconds since 1970.
    pub at: i64,
}

impl Use {
    /// Makes a use by the one agent of a session without a team, with no outcome yet.
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

    /// Checks the names. Every store calls it before it writes.
    pub fn check(&self) -> Result<(), UsageError> {
        let named = [
            (Field::Team, &self.team, MAX_NAME),
            (Field::Agent, &self.agent, MAX_NAME),
            (Field::Skill, &self.skill, MAX_NAME),
        ];
        for (field, text, _) in named {
            if text.is_empty() {
                return Err(UsageError::Empty { field });
            }
        }
        let others = [
            (Field::Project, &self.project, MAX_PROJECT),
            (Field::AgentType, &self.agent_type, MAX_NAME),
        ];
        for (field, text, limit) in named.into_iter().chain(others) {
            // The bytes first: counting the characters of a huge text would take long.
            if text.len() > limit * 4 || text.chars().count() > limit {
                return Err(UsageError::TooLong { field, limit });
            }
        }
        Ok(())
    }
}

/// Whose rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Of every agent.
    Everyone,
    /// Of the agent of this name.
    Agent(Box<str>),
    /// Of all agents of this type: what a new orchestrator starts with is what the orchestrators of
    /// its team used.
    Type(Box<str>),
}

/// Which rows are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageQuery {
    /// Of this project; nothing means all.
    pub project: Option<Box<str>>,
    /// Of this team; nothing means all.
    pub team: Option<Box<str>>,
    /// Of whom.
    pub whose: Whose,
    /// Most rows; as many as that means that there may be more.
    pub limit: usize,
}

impl UsageQuery {
    /// Asks for everything that is known of one project.
    pub fn project(project: impl Into<Box<str>>) -> Self {
        Self {
            project: Some(project.into()),
            team: None,
            whose: Whose::Everyone,
            limit: MAX_ROWS,
        }
    }

    /// Asks for the rows of one agent of a team.
    pub fn agent(
        project: impl Into<Box<str>>,
        team: impl Into<Box<str>>,
        agent: impl Into<Box<str>>,
    ) -> Self {
        let whose = Whose::Agent(agent.into());
        Self {
            team: Some(team.into()),
            whose,
            ..Self::project(project)
        }
    }

    /// Asks for the rows of all orchestrators of a team.
    pub fn orchestrators(project: impl Into<Box<str>>, team: impl Into<Box<str>>) -> Self {
        let whose = Whose::Type(ORCHESTRATOR.into());
        Self {
            team: Some(team.into()),
            whose,
            ..Self::project(project)
        }
    }

    /// Returns whether a row is asked for.
    pub fn matches(&self, row: &UsageRow) -> bool {
        self.project
            .as_ref()
            .is_none_or(|project| *project == row.project)
            && self.team.as_ref().is_none_or(|team| *team == row.team)
            && match &self.whose {
                Whose::Everyone => true,
                Whose::Agent(agent) => *agent == row.agent,
                Whose::Type(agent_type) => *agent_type == row.agent_type,
            }
    }
}

/// What is known of one agent's use of one skill.
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
    /// The skill, how often, when, and how it ended.
    pub usage: SkillUsage,
}

/// Which rows to remove: those that match everything that is given. Nothing given means all rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forget {
    /// Of this project.
    pub project: Option<Box<str>>,
    /// Of this team.
    pub team: Option<Box<str>>,
    /// Of this agent.
    pub agent: Option<Box<str>>,
    /// Of this skill.
    pub skill: Option<Box<str>>,
    /// Last used before this time, in nanoseconds since 1970.
    pub before: Option<i64>,
}

impl Forget {
    /// Returns whether a row is to go.
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

/// The use of every skill, the most used first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The skills, at most as many as were asked for.
    pub skills: Vec<SkillSummary>,
    /// How many skills there are.
    pub total: usize,
}

/// The use of one skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillSummary {
    /// The name of the skill.
    pub skill: Box<str>,
    /// How often it was used.
    pub uses: u64,
    /// When for the last time, in nanoseconds since 1970.
    pub last_used: i64,
    /// How the uses ended.
    pub outcomes: UseOutcomes,
    /// Whose used it how often, as team and agent; the first [`MAX_AGENTS`], most uses first.
    pub agents: Vec<(Box<str>, Box<str>, u64)>,
    /// How many agents used it.
    pub agent_count: usize,
}

impl Summary {
    /// Adds up rows.
    pub fn of(rows: impl IntoIterator<Item = UsageRow>, limit: usize) -> Self {
        type Agents = BTreeMap<(Box<str>, Box<str>), u64>;
        let mut found: BTreeMap<Box<str>, (SkillSummary, Agents)> = BTreeMap::new();
        for UsageRow {
            project: _,
            team,
            agent,
            agent_type: _,
            usage,
        } in rows
        {
            let (sum, agents) = found.entry(usage.skill.clone()).or_insert_with(|| {
                let sum = SkillSummary {
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
        let mut skills: Vec<SkillSummary> = found
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
        // Stable: equals stay in order of names.
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

/// A part of a [`Use`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
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

impl Display for Field {
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

/// Why use was not remembered, or could not be told. `store` is where: a path, an address.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UsageError {
    /// A part has no name.
    #[error("the name of the {field} is empty")]
    Empty {
        /// Which part.
        field: Field,
    },
    /// A name is too long.
    #[error("the name of the {field} has more than {limit} characters")]
    TooLong {
        /// Which part.
        field: Field,
        /// Most characters.
        limit: usize,
    },
    /// Somebody else held the store for longer than we wait.
    #[error("the usage database `{store}` is locked by another process")]
    Busy {
        /// Where.
        store: Box<str>,
    },
    /// It may be read but not written.
    #[error("the usage database `{store}` cannot be written")]
    ReadOnly {
        /// Where.
        store: Box<str>,
    },
    /// There is no more room.
    #[error("there is no room left for the usage database `{store}`")]
    Full {
        /// Where.
        store: Box<str>,
    },
    /// Something else than a file is there.
    #[error("the usage database `{store}` is not a regular file")]
    NotAFile {
        /// Where.
        store: Box<str>,
    },
    /// What is there is no database, or a broken one. It is left as it is.
    #[error("the usage database `{store}` is damaged: {reason}")]
    Damaged {
        /// Where.
        store: Box<str>,
        /// What the database says.
        reason: Box<str>,
    },
    /// What is there is the database of another program. It is left as it is.
    #[error("`{store}` is the database of another program")]
    Foreign {
        /// Where.
        store: Box<str>,
    },
    /// A newer version of this program wrote it. It is left as it is.
    #[error(
        "the usage database `{store}` has the format {found}; this version knows up to {known}"
    )]
    Newer {
        /// Where.
        store: Box<str>,
        /// The version of its format.
        found: i64,
        /// The newest version that is known.
        known: i64,
    },
    /// Anything else.
    #[error("the usage database `{store}` cannot be used")]
    Unavailable {
        /// Where.
        store: Box<str>,
        /// What the system says.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl UsageError {
    /// Returns whether the caller gave something wrong, so that the store is not to blame.
    pub fn is_of_caller(&self) -> bool {
        matches!(self, Self::Empty { .. } | Self::TooLong { .. })
    }
}

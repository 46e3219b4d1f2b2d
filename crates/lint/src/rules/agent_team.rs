//! Teams without a leader, and other faulty teams. The findings come from the reader of agent files.

use super::RuleLevels;

agent_rule!(
    "agent-team",
    RuleLevels::of("EEE"),
    None,
    "the members do not form a team"
);

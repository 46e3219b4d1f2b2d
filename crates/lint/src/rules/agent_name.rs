//! Names of agents. The findings come from the reader of agent files.

use super::RuleLevels;

agent_rule!(
    "agent-name",
    RuleLevels::of("EEE"),
    None,
    "the name of an agent is missing, invalid or used twice"
);

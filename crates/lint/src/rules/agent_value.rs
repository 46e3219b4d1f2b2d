//! Values of agent files. The findings come from the reader of agent files.

use super::RuleLevels;

agent_rule!(
    "agent-value",
    RuleLevels::of("EEE"),
    None,
    "a value is missing or has the wrong type"
);

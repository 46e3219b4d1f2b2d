//! Paths in agent files. The findings come from the reader of agent files.

use super::RuleLevels;

agent_rule!(
    "agent-path",
    RuleLevels::of("EEE"),
    None,
    "a path is outside the project, missing or not a readable file"
);

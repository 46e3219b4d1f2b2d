//! References to agents, tasks and other blocks. The findings come from the reader of mission files.

use super::RuleLevels;

agent_rule!(
    "mission-reference",
    RuleLevels::of("EEE"),
    None,
    "a reference has no definition"
);

//! The order of tasks. The findings come from the reader of mission files.

use super::RuleLevels;

agent_rule!(
    "mission-graph",
    RuleLevels::of("EEE"),
    Safe,
    "the tasks of a mission have no valid order"
);

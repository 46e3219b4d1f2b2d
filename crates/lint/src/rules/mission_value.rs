//! Values of attributes. The findings come from the reader of mission files.

use super::RuleLevels;

agent_rule!(
    "mission-value",
    RuleLevels::of("EEE"),
    None,
    "a value is missing or invalid"
);

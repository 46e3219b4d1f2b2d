//! Unknown blocks and attributes. The findings come from the reader of mission files.

use super::RuleLevels;

agent_rule!(
    "mission-key",
    RuleLevels::of("EEE"),
    Suggested,
    "a block or an attribute is unknown"
);

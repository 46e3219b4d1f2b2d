//! Names of blocks. The findings come from the reader of mission files.

use super::RuleLevels;

agent_rule!(
    "mission-name",
    RuleLevels::of("EEE"),
    None,
    "the name of a block is missing, invalid or used twice"
);

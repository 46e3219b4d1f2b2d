//! Mission files that cannot be parsed. The findings come from the reader of mission files.

use super::RuleLevels;

agent_rule!(
    "mission-syntax",
    RuleLevels::of("EEE"),
    None,
    "the file is not valid HCL"
);

//! Features of Squadron that do not exist here. The findings come from the reader of mission files.

use super::RuleLevels;

agent_rule!(
    "mission-unsupported",
    RuleLevels::of("EEE"),
    None,
    "a feature of Squadron does not exist here"
);

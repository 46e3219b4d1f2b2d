//! Paths in mission files. The findings come from the reader of mission files.

use super::RuleLevels;

agent_rule!(
    "mission-path",
    RuleLevels::of("EEE"),
    None,
    "a path is outside the project, missing or not a text file"
);

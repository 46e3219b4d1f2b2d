//! Settings with another effect. The findings come from the reader of mission files.

use super::RuleLevels;

agent_rule!(
    "mission-ignored",
    RuleLevels::of("NNN"),
    None,
    "a setting has another effect here, or none"
);

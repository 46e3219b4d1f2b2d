//! Settings of other systems without effect. The findings come from the reader of agent files.

use super::RuleLevels;

agent_rule!(
    "agent-unsupported",
    RuleLevels::of("WWW"),
    None,
    "a setting has no effect here"
);

//! Unknown keys of agent files. The findings come from the reader of agent files.

use super::RuleLevels;

agent_rule!(
    "agent-key",
    RuleLevels::of("WWW"),
    Suggested,
    "a key is unknown"
);

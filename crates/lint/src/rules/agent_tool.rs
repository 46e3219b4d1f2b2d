//! Tools of agents. The findings come from the reader of agent files.

use super::RuleLevels;

agent_rule!(
    "agent-tool",
    RuleLevels::of("WWW"),
    None,
    "a tool is unknown"
);

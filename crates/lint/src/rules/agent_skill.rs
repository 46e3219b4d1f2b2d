//! Skills of agents. The findings come from callers that know all skills.

use super::RuleLevels;

agent_rule!(
    "agent-skill",
    RuleLevels::of("WWW"),
    None,
    "a skill that an agent names does not exist"
);

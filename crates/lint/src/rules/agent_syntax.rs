//! Agent files that cannot be parsed. The findings come from the reader of agent files.

use super::RuleLevels;

agent_rule!(
    "agent-syntax",
    RuleLevels::of("EEE"),
    None,
    "the file is not valid JSON, YAML or TOML"
);

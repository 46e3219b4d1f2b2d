//! Secrets in texts for models. The findings come from the reader of mission files.

use super::RuleLevels;

agent_rule!(
    "mission-secret",
    RuleLevels::of("EEE"),
    None,
    "a secret is in a text that a model reads"
);

//! Descriptions of skills: JSON documents for programs, and explanations for people.
//!
//! The command line and all other interfaces for programs use the same documents. Each document has
//! a `"schema"` with a version number; within one version, fields are only added.

mod agents;
mod convert;
mod find;
mod list;
mod mission;
mod permissions;
mod policy_jsonl;
mod servers;
mod show;
mod skill;
mod stats_and_prompt;
mod why;

pub use agents::{
    agent, agent_trust, agent_trust_sections, agent_trust_word, agents, limits_text,
    selection_text, server_text,
};
pub use convert::conversion;
pub use find::{reasons, search_results};
pub use list::{ListedSkill, changes, list};
pub use mission::{
    PlanOptions, interval, mission_costs, mission_run, mission_trust, mission_trust_sections,
    missions, plan, plan_schema, starts, task_word,
};
pub use permissions::{
    TrustSection, activation, activation_report, command_run, command_run_report, decision,
    describe_replacement, rules, tools, trust, trust_changes, trust_sections, trust_word,
    trusted_skills,
};
pub use policy_jsonl::decide_jsonl;
pub use servers::{project_programs, server_command, server_settings};
pub use show::{Heading, Package};
pub use skill::{origin_text, outcome_of, outcome_word, skill, visibility_word};
pub use stats_and_prompt::{index, index_summary, usage};
pub use why::{SkillExplanation, WhyAnswer, WhyQuestion, why};

//! End-to-end tests of the `prowess` command.
//!
//! A single test binary, to link only once. Each test creates its own world in a temporary folder; the
//! real home folder and environment are never used.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::format_push_string,
    clippy::format_collect,
    reason = "helpers of tests are tests"
)]

mod agent_runs;
mod agent_trust;
mod agents;
mod agents_journey;
mod arguments;
mod audit;
mod bad_input;
mod completions;
mod config;
mod conformance;
mod convert;
mod doctor;
mod exec;
mod explain;
mod find;
mod fix;
mod frontmatter;
mod gate_attacks;
mod gate_attacks_fifth;
mod gate_attacks_fourth;
mod gate_attacks_seventh;
mod gate_attacks_sixth;
mod guides;
mod help;
mod hijacked;
mod hints;
mod list;
mod listing;
mod live;
mod mcp;
mod mcp_missions;
mod mission_agents;
mod mission_attacks;
mod mission_limits;
mod mission_runs;
mod mission_secrets;
mod mission_server;
mod mission_set;
mod mission_surfaces;
mod missions;
mod new;
mod output;
mod overview;
mod package_disks;
mod package_kills;
mod package_locks;
mod package_sources;
mod package_traces;
mod packages_activation;
mod packages_attacks;
mod packages_attacks_updates;
mod packages_everyday;
mod packages_forks;
mod packages_journey;
mod policy;
mod prompt;
mod questions;
mod render;
mod sandbox_attacks_seventh;
mod scan;
mod schema;
mod seed_settings;
mod servers;
mod sessions;
mod settings;
mod show;
mod skill_folders;
mod skill_rules;
mod starting_prompt;
mod stats;
mod telemetry;
mod terminal;
mod text_questions;
mod tool;
mod tools_of_skills;
mod trust;
mod trust_attacks;
mod trust_attacks_fifth;
mod trust_attacks_fourth;
mod trust_attacks_sixth;
mod trust_attacks_third;
mod trust_audit;
mod unsafe_fixes;
mod validate;
mod watch;
mod why;
mod wild;
mod wire;
mod world;

//! Tools have two names: ours, which a model sees, and Claude Code's, which rules and skills use.

use crate::skills::LoadSkillResource;

/// The names by which rules and `allowed-tools` mean one of our tools.
pub fn rule_names(tool: &str) -> &'static [&'static str] {
    match tool {
        "bash" | "run_command_line" => &["Bash"],
        "read" => &["Read"],
        "write" => &["Write", "Edit"],
        "edit" => &["Edit", "Write", "MultiEdit"],
        "glob" => &["Glob", "LS"],
        "grep" => &["Grep"],
        "http_get" => &["WebFetch"],
        "load_skill" | "skill" | "unload_skill" | "list_skills" | "search_skills" => &["Skill"],
        // Two names for one tool: whatever is said of one holds for the other.
        "load_skill_resource" | LoadSkillResource::ALIAS => {
            &["load_skill_resource", LoadSkillResource::ALIAS]
        }
        _ => &[],
    }
}

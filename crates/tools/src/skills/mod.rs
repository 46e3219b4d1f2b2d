//! The tools about skills, one file each.

mod list_skills;
mod load_skill;
mod load_skill_resource;
mod load_skill_resources;
mod run_command_line;
mod search_skills;
mod submit;
mod unload_skill;

pub use list_skills::ListSkills;
pub use load_skill::LoadSkill;
pub use load_skill_resource::LoadSkillResource;
pub use load_skill_resources::LoadSkillResources;
pub use run_command_line::RunCommandLine;
pub use search_skills::SearchSkills;
pub use submit::Submit;
pub use unload_skill::UnloadSkill;

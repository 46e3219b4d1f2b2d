//! Writes skills as folders with a `SKILL.md`.

use std::collections::BTreeSet;

use prowess_diag::Span;

use super::{
    ConvertSource, HOLES, MissionSource, Output, file_name, push_list, push_text, report_blocks,
    report_variables, tool_name,
};
use crate::file_reader::shown;
use crate::mission::{DefinitionScope, MissionProject, SkillBlock, value_text};

/// The key of `metadata` for the name in Squadron.
pub(super) const NAME_KEY: &str = "squadron-name";
/// The key of `metadata` for the agent that owns the skill.
pub(super) const AGENT_KEY: &str = "squadron-agent";
/// The key of `metadata` for the mission of that agent.
pub(super) const MISSION_KEY: &str = "squadron-mission";

pub(super) fn convert(source: &ConvertSource<'_>, output: &mut Output) {
    if let Some(missions) = &source.missions {
        let trees = missions.trees();
        let folders = skill_folders(missions.project);
        for (skill, folder) in missions.project.skills.iter().zip(folders) {
            write_skill(missions, skill, &folder, output);
            let attributes = ["description", "instructions"];
            report_variables(output, missions, &trees, &skill.place, &attributes);
        }
        report_blocks(output, missions, &trees, &["skill", "agent"]);
        for agent in &missions.project.agents {
            let message = format!("the agent `{}` is not a skill", shown(&agent.name));
            let help = "convert it with `--to agents-md`";
            output.lost(&missions.at(&agent.place), message, help);
        }
    }
    for skill in &source.skills {
        let parsed = prowess_spec::parse(skill.text.as_bytes());
        let identity = prowess_spec::identify(
            &parsed.manifest,
            skill.folder.as_deref(),
            parsed.body_text(),
        );
        let wanted = file_name(&identity.name);
        let folder = output.free(&wanted, path);
        if folder != identity.name {
            let message = format!(
                "the folder of the skill `{}` is called `{folder}`",
                shown(&identity.name)
            );
            let help = "a folder must have the name of its skill: change one of them";
            output.lost(&skill.at(Span::at(0)), message, help);
        }
        report_other_files(skill, output);
        output.add(path(&folder), &*skill.text);
    }
    for source in &source.agents {
        for agent in &source.file.agents {
            let message = format!("the agent `{}` is not a skill", shown(agent.name.as_str()));
            let at = source.at(&agent.file, agent.span);
            output.lost(&at, message, "convert it with `--to agents-md`");
        }
    }
}

fn path(folder: &str) -> String {
    format!("{folder}/SKILL.md")
}

/// Reports the files of a folder beside its `SKILL.md`.
pub(super) fn report_other_files(skill: &super::SkillText, output: &mut Output) {
    if !skill.others.is_empty() {
        let files = prowess_diag::wording::count(skill.others.len(), "other file");
        let first = skill.others.first().map(|path| shown(path));
        let message = format!(
            "not written: {files} of the folder, such as `{}`",
            first.unwrap_or_default()
        );
        output.lost(&skill.at(Span::at(0)), message, "copy them yourself");
    }
}

/// Returns the folder of each skill of a project: its name, with that of its owner if two skills have
/// the same name.
pub(super) fn skill_folders(project: &MissionProject) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let folder = |skill: &SkillBlock| {
        let plain = file_name(&skill.name);
        let qualified = match &skill.scope {
            DefinitionScope::Global => plain.clone(),
            DefinitionScope::Agent(owner) | DefinitionScope::Mission(owner) => {
                file_name(&format!("{owner} {}", skill.name))
            }
            DefinitionScope::MissionAgent { mission, agent } => {
                file_name(&format!("{mission} {agent} {}", skill.name))
            }
        };
        let mut number = 2_usize;
        let mut folder = plain;
        if taken.contains(&folder) {
            folder.clone_from(&qualified);
        }
        while !taken.insert(folder.to_lowercase()) {
            // A name of 64 characters has no room for a number.
            let short: String = qualified.chars().take(56).collect();
            folder = format!("{}-{number}", short.trim_end_matches('-'));
            number += 1;
        }
        folder
    };
    project.skills.iter().map(folder).collect()
}

fn write_skill(source: &MissionSource<'_>, skill: &SkillBlock, folder: &str, output: &mut Output) {
    let at = source.at(&skill.place);
    if folder != file_name(&skill.name) {
        let message = format!(
            "another skill is called `{}`: this one becomes `{folder}`",
            shown(&skill.name)
        );
        output.lost(&at, message, "rename one of them");
    }
    let owner = match &skill.scope {
        DefinitionScope::Global => None,
        DefinitionScope::Agent(agent) => Some(format!("the agent `{}`", shown(agent))),
        DefinitionScope::Mission(mission) => Some(format!("the mission `{}`", shown(mission))),
        DefinitionScope::MissionAgent { mission, agent } => Some(format!(
            "the agent `{}` of the mission `{}`",
            shown(agent),
            shown(mission)
        )),
    };
    if let Some(owner) = owner {
        let message = format!(
            "the skill `{}` belongs to {owner}: as a folder, all agents have it",
            shown(&skill.name)
        );
        let help = "its `metadata` keeps the owner, for the way back";
        output.lost(&at, message, help);
    }
    let description = value_text(&skill.description);
    let body = value_text(&skill.instructions);
    let mut text = String::from("---\n");
    push_text(&mut text, "name", folder);
    push_text(&mut text, "description", &description);
    if !skill.tools.is_empty() {
        let tools: Vec<String> = skill.tools.iter().map(tool_name).collect();
        push_list(&mut text, "allowed-tools", &tools);
        let message = format!(
            "`tools` of `{}` adds tools when the skill is loaded; `allowed-tools` only permits them",
            shown(&skill.name)
        );
        let help = "give the tools to the agents that use the skill";
        output.lost(&at, message, help);
    }
    let mut metadata = String::new();
    let mut keep = |key: &str, value: &str| push_text(&mut metadata, &format!("  {key}"), value);
    if *skill.name != *folder {
        keep(NAME_KEY, &skill.name);
    }
    match &skill.scope {
        DefinitionScope::Global | DefinitionScope::Mission(_) => {}
        DefinitionScope::Agent(agent) => keep(AGENT_KEY, agent),
        DefinitionScope::MissionAgent { mission, agent } => {
            keep(AGENT_KEY, agent);
            keep(MISSION_KEY, mission);
        }
    }
    if !metadata.is_empty() {
        text.push_str("metadata:\n");
        text.push_str(&metadata);
    }
    text.push_str("---\n");
    text.push_str(&body);
    let mut dollars = body.match_indices('$');
    let is_number = |(at, _): (usize, &str)| {
        let next = body[at + 1..].chars().next();
        next.is_some_and(|c| c.is_ascii_digit())
    };
    let hole = HOLES.iter().copied().find(|hole| body.contains(hole));
    // The text of a folder has these already.
    if let Some(hole) = hole
        .or_else(|| dollars.any(is_number).then_some("$1"))
        .filter(|_| skill.folder.is_none())
    {
        let message = format!(
            "`{hole}` in the text of `{}` is plain text; in a skill it is replaced when the skill is loaded, and commands run",
            shown(&skill.name)
        );
        let help = "change the text, or trust the skill only after you have read it";
        output.lost(&at, message, help);
    }
    if let Some(source_folder) = &skill.folder {
        let message = format!(
            "only the description and the text of `{}` are written",
            shown(source_folder)
        );
        let help = format!("copy the folder to keep its other files and keys: to `{folder}`");
        output.lost(&at, message, help);
    }
    output.add_readable(&at, path(folder), text);
}

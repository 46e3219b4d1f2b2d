//! Writes agents as Markdown files with frontmatter, in the form of Claude Code.

use prowess_diag::{Span, wording};

use super::skills::skill_folders;
use super::{
    At, ConvertAgent, ConvertSource, MissionSource, Output, file_name, push_list, push_text,
    report_blocks, report_variables, tool_name,
};
use crate::Dialect;
use crate::dialects::claude_agent_pattern;
use crate::file_reader::shown;
use crate::mission::{AgentBlock, DefinitionScope, ModelBlock, ModelRef, ToolRef, value_text};
use crate::model::{AgentDef, AgentName, ModelChoice};

/// An agent in the form of Claude Code.
#[derive(Default)]
struct MarkdownFile {
    name: String,
    description: String,
    model: Option<String>,
    effort: Option<String>,
    /// `None` for all tools.
    tools: Option<Vec<String>>,
    denied: Vec<String>,
    skills: Vec<String>,
    turns: Option<u32>,
    is_read_only: bool,
    prompt: String,
}

pub(super) fn convert(source: &ConvertSource<'_>, output: &mut Output) {
    if let Some(missions) = &source.missions {
        let trees = missions.trees();
        for agent in &missions.project.agents {
            let file = from_block(missions, agent, output);
            write(&file, &missions.at(&agent.place), output);
            let attributes = ["personality", "role"];
            report_variables(output, missions, &trees, &agent.place, &attributes);
        }
        report_blocks(output, missions, &trees, &["agent", "skill"]);
        for skill in &missions.project.skills {
            let message = format!("the skill `{}` is not an agent", shown(&skill.name));
            let help = "convert it with `--to skills`";
            output.lost(&missions.at(&skill.place), message, help);
        }
    }
    for source in &source.agents {
        report_file(source, output);
        report_servers(source, output);
        for agent in &source.file.agents {
            let at = source.at(&agent.file, agent.span);
            let file = from_definition(agent, &at, output);
            write(&file, &at, output);
        }
    }
    for skill in &source.skills {
        let message = "a skill is not an agent";
        let help = "copy its folder, or convert it with `--to skills`";
        output.lost(&skill.at(Span::at(0)), message, help);
    }
}

fn path(file: &str) -> String {
    format!("agents/{file}.md")
}

fn write(agent: &MarkdownFile, at: &At, output: &mut Output) {
    let wanted = file_name(&agent.name);
    let file = output.free(&wanted, path);
    if file != wanted {
        let message = format!(
            "another agent has the name `{}`: this one is in `{}`",
            shown(&agent.name),
            path(&file)
        );
        output.lost(at, message, "give one of them another name");
    }
    let mut text = String::from("---\n");
    push_text(&mut text, "name", &agent.name);
    push_text(&mut text, "description", &agent.description);
    if let Some(model) = &agent.model {
        push_text(&mut text, "model", model);
    }
    if let Some(effort) = &agent.effort {
        push_text(&mut text, "effort", effort);
    }
    if let Some(tools) = &agent.tools {
        push_list(&mut text, "tools", tools);
    }
    if !agent.denied.is_empty() {
        push_list(&mut text, "disallowedTools", &agent.denied);
    }
    if agent.is_read_only {
        push_text(&mut text, "permissionMode", "plan");
    }
    if let Some(turns) = agent.turns {
        text.push_str(&format!("maxTurns: {turns}\n"));
    }
    if !agent.skills.is_empty() {
        push_list(&mut text, "skills", &agent.skills);
    }
    text.push_str("---\n");
    text.push_str(&agent.prompt);
    output.add_readable(at, path(&file), text);
}

/// Returns a name that can be that of an agent in Markdown.
fn agent_name(name: &str, at: &At, output: &mut Output) -> String {
    if AgentName::new(name).is_ok() {
        return name.to_owned();
    }
    let plain = file_name(name);
    let message = format!("the name `{}` becomes `{plain}`", shown(name));
    let help = "`:` and `/` separate the parts of qualified names";
    output.lost(at, message, help);
    plain
}

fn from_block(source: &MissionSource<'_>, agent: &AgentBlock, output: &mut Output) -> MarkdownFile {
    let at = source.at(&agent.place);
    let shown_name = shown(&agent.name);
    if let DefinitionScope::Mission(mission) = &agent.scope {
        let message = format!(
            "the agent `{shown_name}` belongs to the mission `{}`",
            shown(mission)
        );
        let help = "as a file, it belongs to the project";
        output.lost(&at, message, help);
    }
    let personality = value_text(&agent.personality);
    let role = agent.role.as_ref().map(value_text);
    let has_role = role.as_ref().is_some_and(|role| !role.trim().is_empty());
    let description = role.filter(|_| has_role).unwrap_or_else(|| {
        let described = agent.description();
        described.map_or_else(|| personality.clone(), str::to_owned)
    });
    if has_role {
        let message = format!("`role` of `{shown_name}` is no longer in its instructions");
        let help = "only other agents read the `description`";
        output.lost(&at, message, help);
    }
    report_limits(agent, &at, output);
    let model = agent.model.as_ref();
    let tools: Vec<String> = agent.tools.iter().map(tool_name).collect();
    let is_server = |tool: &&ToolRef| matches!(tool, ToolRef::Server { .. });
    let (servers, own): (Vec<&ToolRef>, Vec<&ToolRef>) = agent.tools.iter().partition(is_server);
    if !own.is_empty() {
        let names = wording::all(own.iter().map(|tool| wording::tick(tool_name(tool))));
        let message = format!("`{shown_name}` has tools that exist only in Squadron: {names}");
        let help = "Claude Code ignores them; name its own tools, such as `WebFetch`";
        output.lost(&at, message, help);
    }
    if !servers.is_empty() {
        let message = format!("the MCP servers of `{shown_name}` are not written");
        let help = "add them to `.mcp.json`, under the same names";
        output.lost(&at, message, help);
    }
    if !agent.skills.is_empty() {
        let message = format!(
            "`skills` of `{shown_name}` are in the prompt from the start, instead of when they are loaded"
        );
        let help = "remove `skills` to let the agent load the skills of the session";
        output.lost(&at, message, help);
    }
    MarkdownFile {
        name: agent_name(&agent.name, &at, output),
        description,
        model: model.map(|model| model_name(source, model, &at, output)),
        effort: agent.effort.as_deref().map(str::to_owned),
        tools: Some(tools),
        skills: skill_names(source, agent),
        prompt: personality,
        ..MarkdownFile::default()
    }
}

/// Returns the folders of the skills of an agent.
fn skill_names(source: &MissionSource<'_>, agent: &AgentBlock) -> Vec<String> {
    let project = source.project;
    let folders = skill_folders(project);
    let name = |wanted: &str| {
        let own = |scope: &DefinitionScope| match (scope, &agent.scope) {
            (DefinitionScope::Agent(owner), DefinitionScope::Global) => *owner == agent.name,
            (
                DefinitionScope::MissionAgent {
                    mission,
                    agent: owner,
                },
                DefinitionScope::Mission(own),
            ) => mission == own && *owner == agent.name,
            _ => false,
        };
        let found = |of: &dyn Fn(&DefinitionScope) -> bool| {
            let mut skills = project.skills.iter().zip(&folders);
            skills.find(|(skill, _)| *skill.name == *wanted && of(&skill.scope))
        };
        let found = found(&own).or_else(|| found(&|scope| *scope == DefinitionScope::Global));
        // Other names are skills of the library.
        found.map_or_else(|| wanted.to_owned(), |(_, folder)| folder.clone())
    };
    agent.skills.iter().map(|skill| name(skill)).collect()
}

fn report_limits(agent: &AgentBlock, at: &At, output: &mut Output) {
    let limits = &agent.limits;
    let blocks = [
        ("compaction", limits.compaction.is_some()),
        ("pruning", limits.pruning.is_some()),
        ("tool_response", limits.result_tokens.is_some()),
    ];
    for (block, _) in blocks.iter().filter(|(_, is_set)| *is_set) {
        let message = format!("`{block}` of `{}` is not written", shown(&agent.name));
        output.lost(at, message, "Markdown agents have no such limit");
    }
}

/// Returns the name of a model for `model`, and reports what its block says in addition.
fn model_name(
    source: &MissionSource<'_>,
    model: &ModelRef,
    at: &At,
    output: &mut Output,
) -> String {
    let block = source
        .project
        .models
        .iter()
        .find(|one| one.name == model.block);
    let text = format!("models.{}.{}", shown(&model.block), shown(&model.name));
    let Some(ModelBlock {
        provider, aliases, ..
    }) = block
    else {
        return model.name.to_string();
    };
    let alias = aliases.iter().find(|(name, _)| *name == model.name);
    // Squadron writes the names of models with `_`.
    let name = alias.map_or_else(|| model.name.replace('_', "-"), |(_, id)| id.to_string());
    let written = if &**provider == "anthropic" {
        name
    } else {
        format!("{provider}/{name}")
    };
    let message = format!("`{text}` becomes `{}`", shown(&written));
    let help = "the key, the address and the other settings of the block are not written";
    output.lost(at, message, help);
    written
}

fn from_definition(agent: &AgentDef, at: &At, output: &mut Output) -> MarkdownFile {
    report_definition(agent, at, output);
    let shown_name = shown(agent.name.as_str());
    let model = match &agent.model {
        ModelChoice::Inherit => None,
        ModelChoice::Named {
            provider: Some(provider),
            name,
            ..
        } if &**provider == "anthropic" => Some(name.to_string()),
        other => Some(other.spec()),
    };
    if let ModelChoice::Named {
        base_url: Some(_), ..
    } = agent.model
    {
        let message = format!("the address of the model of `{shown_name}` is not written");
        output.lost(at, message, "set it in your settings");
    }
    let mut tools: Option<Vec<String>> = names(agent.tools.only.as_deref());
    let mut denied: Vec<String> = names(Some(&agent.tools.without)).unwrap_or_default();
    if agent.dialect != Dialect::Claude
        && (tools.as_ref().is_some_and(|list| !list.is_empty()) || !denied.is_empty())
    {
        let message = format!(
            "the tools of `{shown_name}` keep the names of {}",
            agent.dialect.as_str()
        );
        let help = "Prowess knows most of them; Claude Code has others";
        output.lost(at, message, help);
    }
    if agent.dialect != Dialect::Claude {
        // In the form of Claude Code, such a name would allow the agent to start others.
        for list in tools.iter_mut().chain([&mut denied]) {
            list.retain(|tool| {
                let is_tool = claude_agent_pattern(tool).is_none();
                if !is_tool {
                    let message = format!("the tool `{}` is not written", shown(tool));
                    let help = "in Claude Code, this name lists the agents that may be started";
                    output.lost(at, message, help);
                }
                is_tool
            });
        }
    }
    match agent.calls.only.as_deref() {
        Some([]) => {}
        Some(callees) => {
            if let Some(pattern) = agent_pattern(callees, at, output) {
                tools
                    .get_or_insert_with(|| vec!["*".to_owned()])
                    .push(pattern);
            }
        }
        None => tools
            .get_or_insert_with(|| vec!["*".to_owned()])
            .push("Agent".to_owned()),
    }
    if !agent.calls.without.is_empty()
        && let Some(pattern) = agent_pattern(&agent.calls.without, at, output)
    {
        denied.push(pattern);
    }
    let mut skills: Vec<String> = names(Some(&agent.preload)).unwrap_or_default();
    match agent.skills.only.as_deref() {
        None => {}
        Some([]) => {
            let message = format!("`{shown_name}` has no skills; in Markdown it has all");
            output.lost(at, message, "deny the tool `Skill` with `disallowedTools`");
        }
        Some(listed) => {
            let message = format!(
                "`{shown_name}` may load only {}; in Markdown they are in the prompt from the start, and it may load all others",
                wording::count(listed.len(), "skill")
            );
            let help = "remove `skills`, or deny the tool `Skill` with `disallowedTools`";
            output.lost(at, message, help);
            for skill in names(Some(listed)).unwrap_or_default() {
                if !skills.contains(&skill) {
                    skills.push(skill);
                }
            }
        }
    }
    if !agent.skills.without.is_empty() {
        let message = format!("skills that `{shown_name}` may not load are not written");
        output.lost(at, message, "");
    }
    MarkdownFile {
        name: agent_name(agent.name.as_str(), at, output),
        description: agent.description.to_string(),
        model,
        effort: agent.effort.as_deref().map(str::to_owned),
        tools,
        denied,
        skills,
        turns: agent.limits.turns,
        is_read_only: agent.is_read_only,
        prompt: agent.prompt.to_string(),
    }
}

fn names(names: Option<&[Box<str>]>) -> Option<Vec<String>> {
    names.map(|names| names.iter().map(ToString::to_string).collect())
}

/// Returns `Agent(a, b)`. Names with parentheses or commas cannot be in it.
fn agent_pattern(callees: &[Box<str>], at: &At, output: &mut Output) -> Option<String> {
    let mut kept = Vec::new();
    for callee in callees {
        if callee.contains(['(', ')', ',']) {
            let message = format!("`Agent(…)` cannot name the agent `{}`", shown(callee));
            output.lost(at, message, "rename it");
        } else {
            kept.push(&**callee);
        }
    }
    (!kept.is_empty()).then(|| format!("Agent({})", kept.join(", ")))
}

/// Reports what neither Markdown nor HCL can say about an agent.
pub(super) fn report_definition(agent: &AgentDef, at: &At, output: &mut Output) {
    let name = shown(agent.name.as_str());
    let limits = &agent.limits;
    let set = [
        ("time limit", limits.seconds.is_some()),
        ("cost limit", limits.micros.is_some()),
        ("maximum depth", limits.depth.is_some()),
    ];
    for (what, _) in set.iter().filter(|(_, is_set)| *is_set) {
        let message = format!("the {what} of `{name}` is not written");
        output.lost(at, message, "set it in your settings, or with an option");
    }
    if agent.servers.only.is_some() {
        let is_said = !agent.server_files.is_empty() && agent.tools.only.is_some();
        if !is_said {
            let message = format!("the list of MCP servers of `{name}` is not written");
            output.lost(at, message, "list the tools that it may use");
        }
    }
    if let Some(root) = &agent.root {
        let message = format!("`{name}` works in `{}`, which is not written", shown(root));
        output.lost(
            at,
            message,
            "its skills and servers are those of the project",
        );
    }
    if !agent.skill_folders.is_empty() {
        let folders = agent
            .skill_folders
            .iter()
            .map(|(_, folder)| wording::tick(shown(folder)));
        let message = format!("the folders of the skills of `{name}` are not written");
        let help = format!("copy {} to a folder of skills", wording::all(folders));
        output.lost(at, message, help);
    }
}

fn is_markdown(dialect: Dialect) -> bool {
    match dialect {
        Dialect::Claude | Dialect::Copilot | Dialect::OpenCode | Dialect::Gemini => true,
        Dialect::Codex | Dialect::Planck | Dialect::SkilledCrew | Dialect::CoreAgent => false,
    }
}

/// Reports what a file says besides its agents: keys without effect, and the team.
pub(super) fn report_file(source: &ConvertAgent<'_>, output: &mut Output) {
    let file = source.file;
    if let Some(team) = &file.team {
        let at = source.at(&file.path, team.span);
        let message = format!("the team `{}` is not written", shown(team.name.as_str()));
        let entry = team.entry.as_ref().map(|entry| shown(entry.as_str()));
        let help = match entry {
            Some(entry) => format!("talk to its first agent: `{entry}`"),
            None => "start its agents one by one".to_owned(),
        };
        output.lost(&at, message, help);
        for command in &team.commands {
            let message = format!("the command `/{}` is not written", shown(&command.name));
            let help = format!("copy `{}`", shown(&command.file));
            output.lost(&at, message, help);
        }
    }
    // Keys of Markdown files are compared with those that are written.
    let rules = [
        crate::file_reader::KEY.id,
        crate::file_reader::UNSUPPORTED.id,
    ];
    let reports = file.reports.iter().filter(|_| !is_markdown(file.dialect));
    for report in reports {
        let at = At {
            path: super::joined(&source.folder, &report.path),
            text: report.text.clone(),
            span: Span::at(0),
        };
        for finding in &report.diagnostics {
            if rules.contains(&finding.rule) {
                let message = format!("{}: it is not written", finding.message);
                let help = finding.help.clone().unwrap_or_default();
                output.lost(&at.with(finding.span.unwrap_or_default()), message, help);
            }
        }
    }
    report_keys(source, output);
}

/// Reports the servers that files of agents define.
fn report_servers(source: &ConvertAgent<'_>, output: &mut Output) {
    for agent in &source.file.agents {
        if agent.server_files.is_empty() {
            continue;
        }
        let at = source.at(&agent.file, agent.span);
        let files = agent.server_files.iter();
        let servers = files.map(|file| wording::tick(shown(&file.path)));
        let message = format!(
            "the MCP servers of `{}` are not written; they are in {}",
            shown(agent.name.as_str()),
            wording::all(servers)
        );
        output.lost(&at, message, "add them to `.mcp.json`");
    }
}

/// Reports the keys of frontmatter that are not written.
pub(super) fn report_keys(source: &ConvertAgent<'_>, output: &mut Output) {
    let file = source.file;
    if !is_markdown(file.dialect) {
        return;
    }
    let at = source.at(&file.path, Span::at(0));
    let Some(text) = at.text.clone() else { return };
    if file.agents.is_empty() && file.reports.is_empty() {
        let message = "the file has no agent that is in use";
        output.lost(&at, message, "");
        return;
    }
    let kept: &[&str] = match file.dialect {
        Dialect::Claude => &[
            "allowedTools",
            "disallowedTools",
            "maxTurns",
            "skills",
            "effort",
        ],
        Dialect::Copilot => &["agents"],
        Dialect::OpenCode => &["permission", "steps", "maxSteps", "disable"],
        Dialect::Gemini => &["max_turns", "timeout_mins"],
        Dialect::Codex | Dialect::Planck | Dialect::SkilledCrew | Dialect::CoreAgent => &[],
    };
    let is_plan = file.agents.iter().any(|agent| agent.is_read_only);
    let parsed = prowess_spec::parse(text.as_bytes());
    for entry in &parsed.manifest.entries {
        let key = &*entry.key;
        let is_kept = matches!(key, "name" | "description" | "tools" | "model")
            || kept.contains(&key)
            || key == "permissionMode" && is_plan;
        if !is_kept {
            let message = format!("`{}` is not written", shown(key));
            output.lost(&at.with(entry.key_span), message, "");
        }
    }
}

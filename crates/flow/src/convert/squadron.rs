//! Writes skills, agents and missions as HCL files of Squadron.

use std::collections::{BTreeMap, BTreeSet};

use prowess_diag::{Span, wording};
use prowess_hcl::{
    Attribute, Block, Expr, ExprKind, Item, Label, ObjectEntry, ReferenceStep, TemplatePart, Tree,
    Value, is_identifier, write_block,
};

use super::agents_md::{report_definition, report_file};
use super::skills::{AGENT_KEY, MISSION_KEY, NAME_KEY, report_other_files};
use super::{
    At, ConvertServer, ConvertSource, ConvertTransport, HOLES, MissionSource, Output, SkillText,
    file_name,
};
use crate::MAX_FILE;
use crate::file_reader::shown;
use crate::mission::{built_in_tool, project_path};
use crate::model::{AgentDef, ModelAlias, ModelChoice};

/// Texts that are longer are files of their own.
const LONG_TEXT: usize = 200;
/// Maximum number of bytes of all texts in files of their own. `load` reads 8 MiB.
const MAX_TEXTS: usize = 6 * 1024 * 1024;
/// Maximum size of an `.hcl` file. The reader takes 1 MiB.
const MAX_HCL: usize = 900 * 1024;
/// Attributes whose long texts become files.
const TEXTS: [&str; 7] = [
    "instructions",
    "personality",
    "role",
    "objective",
    "directive",
    "condition",
    "description",
];

/// The files, and the kinds of blocks in them.
const FILES: [(&str, &[&str]); 7] = [
    (
        "settings",
        &["vault", "storage", "command_center", "mcp_host", "gateway"],
    ),
    ("variables", &["variable"]),
    ("models", &["model"]),
    ("tools", &["plugin", "mcp", "tool"]),
    ("skills", &["skill"]),
    ("agents", &["agent"]),
    ("missions", &["memory", "packet", "mission"]),
];

pub(super) fn convert(source: &ConvertSource<'_>, output: &mut Output) {
    let mut writer = Writer::default();
    if let Some(missions) = &source.missions {
        copy_loaded(missions, output);
        writer.add_project(missions, output);
    }
    writer.add_definitions(source, output);
    writer.write(output);
}

/// Copies the texts that a project loads. Their paths stay the same.
fn copy_loaded(source: &MissionSource<'_>, output: &mut Output) {
    for file in &source.project.files {
        let is_block_file = source.files.iter().any(|one| *one.path == *file.path);
        if is_block_file {
            continue;
        }
        let bytes = source.others.read(&file.path).ok();
        if let Some(text) = bytes.and_then(|bytes| String::from_utf8(bytes).ok()) {
            output.add(&*file.path, text);
        } else {
            let at = At {
                path: super::joined(&source.folder, &file.path),
                text: None,
                span: Span::at(0),
            };
            let message = format!("`{}` can no longer be read", shown(&file.path));
            output.lost(&at, message, "try again");
        }
    }
    for skill in &source.project.skills {
        if let Some(folder) = &skill.folder {
            report_folder(source, &source.at(&skill.place), folder, "SKILL.md", output);
        }
    }
    for packet in &source.project.packets {
        report_folder(source, &source.at(&packet.place), &packet.path, "", output);
    }
}

/// Reports the files of a folder that are not written.
fn report_folder(
    source: &MissionSource<'_>,
    at: &At,
    folder: &str,
    written: &str,
    output: &mut Output,
) {
    let others = source.others.files_below(folder);
    let is_empty = others
        .as_ref()
        .is_some_and(|files| files.iter().all(|file| file == written));
    // A packet needs its folder, even if it is empty.
    if !is_empty || written.is_empty() {
        let message = format!("the files in `{}` are not written", shown(folder));
        let help = format!("copy them to `{}` in the new folder", shown(folder));
        output.lost(at, message, help);
    }
}

/// The blocks of a project, by the file that they belong to.
#[derive(Default)]
struct Writer {
    blocks: BTreeMap<&'static str, Vec<Block>>,
    /// The labels in use, by the kind of block.
    labels: BTreeMap<&'static str, BTreeSet<String>>,
    /// Models that agents of other systems need, by the label of the block.
    models: BTreeMap<String, ModelSettings>,
    /// Servers that were written, with their labels.
    servers: Vec<(ConvertServer, String)>,
    /// The variables of `${NAME}`, by name.
    variables: BTreeMap<String, String>,
    /// Number of bytes of texts that were put into files.
    texts: usize,
}

/// A `model` block that is being made.
struct ModelSettings {
    provider: &'static str,
    base_url: Option<Box<str>>,
    aliases: BTreeMap<String, String>,
}

impl Writer {
    fn add(&mut self, block: Block) {
        let kind = &*block.kind.text;
        let file = FILES.iter().find(|(_, kinds)| kinds.contains(&kind));
        let file = file.map_or("settings", |(file, _)| *file);
        self.blocks.entry(file).or_default().push(block);
    }

    /// Returns the first label of a kind that is free.
    fn free(&mut self, kind: &'static str, wanted: &str) -> String {
        let taken = self.labels.entry(kind).or_default();
        let mut label = wanted.to_owned();
        let mut number = 2_usize;
        while !taken.insert(label.clone()) {
            let short: String = wanted.chars().take(56).collect();
            label = format!("{short}_{number}");
            number += 1;
        }
        label
    }

    /// Returns the first name of a skill that is free. Skills of two agents may have the same name,
    /// but not a global one and one of an agent.
    fn free_skill(&mut self, owner: Option<&str>, wanted: &str) -> String {
        let owned = |owner: &str, name: &str| format!("{owner}\0{name}");
        let skills = self.labels.entry("skill").or_default();
        let mut label = wanted.to_owned();
        let mut number = 2_usize;
        loop {
            let is_taken = match owner {
                None => {
                    let suffix = format!("\0{label}");
                    skills.contains(&label) || skills.iter().any(|one| one.ends_with(&suffix))
                }
                Some(owner) => skills.contains(&label) || skills.contains(&owned(owner, &label)),
            };
            if !is_taken {
                break;
            }
            let short: String = wanted.chars().take(56).collect();
            label = format!("{short}_{number}");
            number += 1;
        }
        skills.insert(owner.map_or_else(|| label.clone(), |owner| owned(owner, &label)));
        label
    }

    // A project of Squadron.

    /// Adds the blocks of a project as they are. Only paths that are relative to a file, and long
    /// texts, are written in another way.
    fn add_project(&mut self, source: &MissionSource<'_>, output: &mut Output) {
        for (path, tree) in source.trees() {
            for item in &tree.items {
                let Item::Block(block) = item else { continue };
                let kinds = ["model", "skill", "agent", "mcp", "variable"];
                let kind = kinds.into_iter().find(|kind| **kind == *block.kind.text);
                if let (Some(kind), Some(label)) = (kind, block.labels.first()) {
                    let taken = self.labels.entry(kind).or_default();
                    taken.insert(label.text.trim().to_owned());
                }
                let mut block = block.clone();
                if let Some(program) = from_project(&mut block, path) {
                    let message = format!("the files in `{}` are not written", shown(&program));
                    let help = format!("copy them to `{}` in the new folder", shown(&program));
                    output.lost(&source.at_span(path, block.head()), message, help);
                }
                self.shorten(&mut block, "", output);
                self.add(block);
            }
            report_comments(source, path, &tree, output);
        }
    }

    /// Moves long texts of a block into files.
    fn shorten(&mut self, block: &mut Block, owner: &str, output: &mut Output) {
        let label = block.labels.first().map(|label| &*label.text);
        let owner = format!("{owner} {}", label.unwrap_or(&block.kind.text));
        for item in &mut block.items {
            match item {
                Item::Attribute(attribute) => {
                    if TEXTS.contains(&&*attribute.name.text)
                        && let ExprKind::Text(text) = &attribute.value.kind
                        && let Some(load) = self.file(text, &owner, &attribute.name.text, output)
                    {
                        attribute.value = load;
                    }
                }
                Item::Block(inner) => self.shorten(inner, &owner, output),
            }
        }
    }

    /// Writes a long text into a file. Returns the call of `load`, or `None` if the text stays.
    fn file(
        &mut self,
        text: &str,
        owner: &str,
        attribute: &str,
        output: &mut Output,
    ) -> Option<Expr> {
        let is_long = text.len() > LONG_TEXT || text.trim_end().contains('\n');
        // `load` changes line ends and drops a mark at the start.
        let is_equal = !text.contains('\r') && !text.starts_with('\u{feff}');
        let fits = text.len() <= MAX_FILE && self.texts + text.len() <= MAX_TEXTS;
        if !(is_long && is_equal && fits) {
            return None;
        }
        self.texts += text.len();
        let path = |name: &str| format!("texts/{name}.md");
        let name = output.free(&file_name(&format!("{owner} {attribute}")), path);
        output.add(path(&name), text);
        Some(call("load", vec![text_expr(&format!("./{}", path(&name)))]))
    }

    // Agents and skills of other systems.

    fn add_definitions(&mut self, source: &ConvertSource<'_>, output: &mut Output) {
        let mut skills = Vec::new();
        for skill in &source.skills {
            let owner = |name: &str| {
                let mut agents = source.agents.iter().flat_map(|one| &one.file.agents);
                agents.any(|agent| agent.name.as_str() == name)
            };
            skills.push(self.read_skill(skill, &owner, output));
        }
        for agents in &source.agents {
            report_file(agents, output);
            for agent in &agents.file.agents {
                let at = agents.at(&agent.file, agent.span);
                let servers = source.servers.iter().filter(|server| {
                    let mut files = agent.server_files.iter();
                    *server.agent == *agent.name.as_str()
                        && files.any(|file| file.path == server.file)
                });
                let servers: Vec<&ConvertServer> = servers.collect();
                self.add_agent(agent, &servers, &at, &mut skills, output);
            }
        }
        for skill in skills {
            if let Some(block) = skill.block {
                self.add(block);
            }
        }
        let models = std::mem::take(&mut self.models);
        for (label, settings) in models {
            self.add_model(&label, &settings);
        }
    }

    fn add_agent(
        &mut self,
        agent: &AgentDef,
        servers: &[&ConvertServer],
        at: &At,
        skills: &mut [NewSkillBlock],
        output: &mut Output,
    ) {
        let name = agent.name.as_str();
        let shown_name = shown(name);
        report_definition(agent, at, output);
        report_only_here(agent, at, output);
        let label = self.free("agent", name);
        if label != name {
            let message = format!("another agent is called `{shown_name}`: this one is `{label}`");
            output.lost(at, message, "give one of them another name");
        }
        let mut block = new_block("agent", Some(&label));
        let model = self.model(agent, at, output);
        block.items.push(attribute("model", model));
        let description = agent.description.trim();
        let prompt = if agent.prompt.trim().is_empty() {
            let message = format!("`{shown_name}` has no instructions, and Squadron needs some");
            output.lost(at, message, "write its `personality`");
            if description.is_empty() {
                format!("You are {name}.")
            } else {
                description.to_owned()
            }
        } else {
            agent.prompt.to_string()
        };
        if !description.is_empty() && !begins_with(&prompt, description) {
            block
                .items
                .push(attribute("role", text_expr(&agent.description)));
        }
        block
            .items
            .push(attribute("personality", text_expr(&prompt)));
        if let Some(effort) = &agent.effort {
            let word = effort.trim().to_ascii_lowercase();
            if matches!(&*word, "low" | "medium" | "high") {
                block.items.push(attribute("reasoning", text_expr(&word)));
            } else {
                let message = format!("Squadron has no effort `{}`", shown(effort));
                output.lost(at, message, "write `low`, `medium` or `high`");
            }
        }
        let servers = self.add_servers(agent, servers, at, output);
        let tools = tools(agent, &servers, at, output);
        if !tools.is_empty() {
            block.items.push(attribute("tools", list(tools)));
        }
        let listed = agent_skills(agent, skills, at, output);
        if !listed.is_empty() {
            block.items.push(attribute("skills", list(listed)));
        }
        for skill in skills.iter_mut() {
            if skill.owner.as_deref() == Some(name)
                && let Some(inner) = skill.block.take()
            {
                block.items.push(Item::Block(inner));
            }
        }
        self.shorten(&mut block, "", output);
        self.add(block);
    }

    /// Returns a reference to the model of an agent.
    fn model(&mut self, agent: &AgentDef, at: &At, output: &mut Output) -> Expr {
        let name = shown(agent.name.as_str());
        let (provider, id, base_url) = match &agent.model {
            ModelChoice::Inherit => {
                let message =
                    format!("`{name}` has the model of its caller, and Squadron needs one");
                let help = format!("change `{DEFAULT_MODEL}` if you want another");
                output.lost(at, message, help);
                (Some("anthropic"), DEFAULT_MODEL, None)
            }
            ModelChoice::Alias(alias) => {
                let id = match alias {
                    ModelAlias::Opus => "claude-opus-4-1",
                    ModelAlias::Sonnet => DEFAULT_MODEL,
                    ModelAlias::Haiku => "claude-haiku-4-5",
                };
                let message = format!("the model `{}` of `{name}` becomes `{id}`", alias.as_str());
                let help = "Squadron has no names for the newest model of a family";
                output.lost(at, message, help);
                (Some("anthropic"), id, None)
            }
            ModelChoice::Named {
                provider,
                name,
                base_url,
            } => (provider.as_deref(), &**name, base_url.clone()),
        };
        let known = match provider {
            Some("anthropic") => Some("anthropic"),
            Some("openai") => Some("openai"),
            Some("gemini" | "google") => Some("gemini"),
            Some("ollama") => Some("ollama"),
            None if id.starts_with("claude") => Some("anthropic"),
            None if id.starts_with("gemini") || id.starts_with("gemma") => Some("gemini"),
            None if ["gpt", "chatgpt", "codex", "o1", "o3", "o4"]
                .iter()
                .any(|start| id.starts_with(start)) =>
            {
                Some("openai")
            }
            _ => None,
        };
        let wanted = snake(provider.or(known).unwrap_or("other"));
        let provider = known.unwrap_or_else(|| {
            let message = format!("Squadron has no provider for the model `{}`", shown(id));
            let help = format!("`openai` is written: add `base_url` to the model `{wanted}`");
            output.lost(at, message, help);
            "openai"
        });
        let same = self.models.iter().find(|(label, settings)| {
            (**label == wanted || label.starts_with(&format!("{wanted}_")))
                && settings.provider == provider
                && settings.base_url == base_url
        });
        let same = same.map(|(label, _)| label.clone());
        let label = same.unwrap_or_else(|| {
            let label = self.free("model", &wanted);
            let settings = ModelSettings {
                provider,
                base_url,
                aliases: BTreeMap::new(),
            };
            self.models.insert(label.clone(), settings);
            label
        });
        let mut key = snake(id);
        if let Some(settings) = self.models.get_mut(&label) {
            let mut number = 2_usize;
            while settings.aliases.get(&key).is_some_and(|known| known != id) {
                key = format!("{}_{number}", snake(id));
                number += 1;
            }
            settings.aliases.insert(key.clone(), id.to_owned());
        }
        reference("models", &[&label, &key])
    }

    fn add_model(&mut self, label: &str, settings: &ModelSettings) {
        let mut block = new_block("model", Some(label));
        block
            .items
            .push(attribute("provider", text_expr(settings.provider)));
        if settings.provider == "ollama" {
            let url = settings.base_url.as_deref();
            let url = url.unwrap_or("http://localhost:11434");
            block.items.push(attribute("base_url", text_expr(url)));
        } else {
            let variable = self.secret(&format!("{label}_api_key"));
            block
                .items
                .push(attribute("api_key", reference("vars", &[&variable])));
            if let Some(url) = &settings.base_url {
                block.items.push(attribute("base_url", text_expr(url)));
            }
        }
        let aliases = settings.aliases.iter();
        let aliases = aliases.map(|(key, id)| (key.clone(), text_expr(id)));
        block
            .items
            .push(attribute("aliases", object(aliases.collect())));
        self.add(block);
    }

    /// Adds a secret variable. Its value is set outside of the project.
    fn secret(&mut self, name: &str) -> String {
        let label = self.free("variable", &snake(name));
        let mut block = new_block("variable", Some(&label));
        let secret = Expr::new(ExprKind::Bool(true), Span::default());
        block.items.push(attribute("secret", secret));
        self.add(block);
        label
    }

    /// Adds the servers of an agent. Returns their names and labels.
    fn add_servers(
        &mut self,
        agent: &AgentDef,
        servers: &[&ConvertServer],
        at: &At,
        output: &mut Output,
    ) -> Vec<(Box<str>, String)> {
        for file in &agent.server_files {
            if servers.iter().any(|server| server.file == file.path) {
                continue;
            }
            let message = format!(
                "the MCP servers of `{}` in `{}` are not written",
                shown(agent.name.as_str()),
                shown(&file.path)
            );
            output.lost(
                at,
                message,
                "write an `mcp` block for each, with its values as variables",
            );
        }
        let mut labels = Vec::new();
        for server in servers {
            let is_same = |(known, _): &&(ConvertServer, String)| {
                known.name == server.name
                    && known.file == server.file
                    && known.transport == server.transport
            };
            let known = self.servers.iter().find(is_same);
            let known = known.map(|(_, label)| label.clone());
            let label = known.unwrap_or_else(|| self.add_server(server, at, output));
            labels.push((server.name.clone(), label));
        }
        labels
    }

    fn add_server(&mut self, server: &ConvertServer, at: &At, output: &mut Output) -> String {
        let label = self.free("mcp", &snake(&server.name));
        let mut block = new_block("mcp", Some(&label));
        let name = shown(&server.name);
        let mut literal = Vec::new();
        match &server.transport {
            ConvertTransport::Program {
                command,
                args,
                env,
                has_folder,
            } => {
                let command = self.filled(command);
                block.items.push(attribute("command", command));
                if !args.is_empty() {
                    let mut values = Vec::new();
                    let mut before = "";
                    for arg in args {
                        let (value, is_literal) = self.argument(&label, before, arg);
                        values.push(value);
                        literal.extend(is_literal);
                        before = arg;
                    }
                    block.items.push(attribute("args", list(values)));
                }
                if !env.is_empty() {
                    let env = self.hidden_pairs(&label, env, &mut literal);
                    block.items.push(attribute("env", env));
                }
                if *has_folder {
                    let message =
                        format!("the folder in which the server `{name}` starts is not written");
                    output.lost(at, message, "start it with `sh -c 'cd FOLDER && …'`");
                }
            }
            ConvertTransport::Web { url, headers } => {
                // Keys are often in the query, or before the host.
                let is_hidden = url.contains(['?', '@']) && !url.contains("${");
                let url = if is_hidden {
                    let (value, is_literal) = self.hidden(&label, "url", url);
                    literal.extend(is_literal);
                    value
                } else {
                    self.filled(url)
                };
                block.items.push(attribute("url", url));
                if !headers.is_empty() {
                    let headers = self.hidden_pairs(&label, headers, &mut literal);
                    block.items.push(attribute("headers", headers));
                }
            }
        }
        if !literal.is_empty() {
            let variables = wording::all(literal.iter().map(wording::tick));
            let message =
                format!("values of the server `{name}` become secret variables: {variables}");
            let first = literal.first().map_or("NAME", String::as_str);
            output.lost(
                at,
                message,
                format!("set each with `prowess mission set {first}`"),
            );
        }
        self.add(block);
        self.servers.push((server.clone(), label.clone()));
        label
    }

    /// Returns an object whose values may be secrets.
    fn hidden_pairs(
        &mut self,
        server: &str,
        pairs: &BTreeMap<String, String>,
        literal: &mut Vec<String>,
    ) -> Expr {
        let mut entries = Vec::new();
        for (key, value) in pairs {
            let (value, variable) = self.hidden(server, key, value);
            literal.extend(variable);
            entries.push((key.clone(), value));
        }
        object(entries)
    }

    /// Returns a value that may be a secret: a reference to a variable, whose name is returned if the
    /// value itself is in the source. Values that are variables already stay.
    fn hidden(&mut self, server: &str, key: &str, value: &str) -> (Expr, Option<String>) {
        let has_variable = variables_of(value).iter().any(|part| part.1);
        if has_variable {
            return (self.filled(value), None);
        }
        if value.is_empty() {
            return (text_expr(value), None);
        }
        let variable = self.secret(&format!("{server}_{key}"));
        (reference("vars", &[&variable]), Some(variable))
    }

    /// Returns an argument of a program. The value of an option that is named like a secret is one.
    fn argument(&mut self, server: &str, before: &str, arg: &str) -> (Expr, Option<String>) {
        let is_option = |text: &str| text.starts_with('-');
        if let Some((option, value)) = arg.split_once('=').filter(|_| is_option(arg)) {
            if is_secret_name(option) && !variables_of(value).iter().any(|part| part.1) {
                let variable = self.secret(&format!("{server}_{}", option.trim_start_matches('-')));
                let parts = vec![
                    TemplatePart::Text(format!("{option}=").into()),
                    TemplatePart::Hole(reference("vars", &[&variable])),
                ];
                let expr = Expr::new(ExprKind::Template(parts), Span::default());
                return (expr, Some(variable));
            }
        } else if is_option(before)
            && !before.contains('=')
            && is_secret_name(before)
            && !is_option(arg)
        {
            return self.hidden(server, before.trim_start_matches('-'), arg);
        }
        (self.filled(arg), None)
    }

    /// Returns a text in which `${NAME}` is a secret variable.
    fn filled(&mut self, text: &str) -> Expr {
        let parts = variables_of(text);
        if !parts.iter().any(|part| part.1) {
            return text_expr(text);
        }
        let mut filled = Vec::new();
        for (part, is_variable) in parts {
            if !is_variable {
                filled.push(TemplatePart::Text(part.into()));
                continue;
            }
            let known = self.variables.get(part).cloned();
            let label = known.unwrap_or_else(|| {
                let label = self.secret(part);
                self.variables.insert(part.to_owned(), label.clone());
                label
            });
            filled.push(TemplatePart::Hole(reference("vars", &[&label])));
        }
        Expr::new(ExprKind::Template(filled), Span::default())
    }

    /// Turns a `SKILL.md` into a block. `is_agent` tells if an agent is converted too.
    fn read_skill(
        &mut self,
        skill: &SkillText,
        is_agent: &dyn Fn(&str) -> bool,
        output: &mut Output,
    ) -> NewSkillBlock {
        let parsed = prowess_spec::parse(skill.text.as_bytes());
        let body = parsed.body_text();
        let manifest = &parsed.manifest;
        let identity = prowess_spec::identify(manifest, skill.folder.as_deref(), body);
        let at = skill.at(Span::at(0));
        let metadata = manifest.entry("metadata");
        let meta = |key: &str| {
            let value = metadata.and_then(|entry| entry.value.get(key));
            value.and_then(|node| node.text()).map(str::to_owned)
        };
        let owner = meta(AGENT_KEY).filter(|owner| is_agent(owner));
        if let (None, Some(agent)) = (&owner, meta(AGENT_KEY)) {
            let message = format!(
                "the skill belongs to the agent `{}`, which is not converted",
                shown(&agent)
            );
            output.lost(&at, message, "all agents can use it now");
        }
        if let Some(mission) = meta(MISSION_KEY) {
            let message = format!(
                "the mission `{}` of the skill is not written",
                shown(&mission)
            );
            output.lost(&at, message, "");
        }
        let is_name = |name: &String| crate::AgentName::new(name).is_ok();
        let wanted = meta(NAME_KEY).filter(is_name);
        let wanted = wanted.unwrap_or_else(|| identity.name.clone());
        let label = self.free_skill(owner.as_deref(), &wanted);
        if label != wanted {
            let message = format!(
                "another skill is called `{}`: this one is `{label}`",
                shown(&wanted)
            );
            output.lost(&at, message, "give one of them another name");
        }
        for entry in &manifest.entries {
            let key = &*entry.key;
            let at = at.with(entry.key_span);
            match key {
                "name" | "description" | "allowed-tools" => {}
                "metadata" => {
                    let known = [NAME_KEY, AGENT_KEY, MISSION_KEY];
                    let entries = entry.value.entries().unwrap_or_default();
                    for inner in entries.iter().filter(|one| !known.contains(&&*one.key)) {
                        let message = format!("`metadata.{}` is not written", shown(&inner.key));
                        output.lost(&at.with(inner.key_span), message, "");
                    }
                }
                _ => output.lost(&at, format!("`{}` is not written", shown(key)), ""),
            }
        }
        report_other_files(skill, output);
        if let Some(hole) = HOLES.iter().find(|hole| body.contains(**hole)) {
            let message = format!("`{hole}` in the text has no meaning in Squadron");
            let help = "it stays as it is: write what it stands for";
            let start = body.find(hole).unwrap_or(0) + parsed.body.start as usize;
            output.lost(
                &at.with(Span::new(start, start + hole.len())),
                message,
                help,
            );
        }
        let mut block = new_block("skill", Some(&label));
        let description: &str = if identity.description.trim().is_empty() {
            &identity.name
        } else {
            &identity.description
        };
        block
            .items
            .push(attribute("description", text_expr(description)));
        let instructions = if body.trim().is_empty() {
            let message = "the skill has no text, and Squadron needs one";
            output.lost(&at, message, "write its `instructions`");
            description
        } else {
            body
        };
        block
            .items
            .push(attribute("instructions", text_expr(instructions)));
        let listed = manifest.allowed_tools.as_ref();
        let mut tools = Vec::new();
        let tokens = listed.map(prowess_spec::manifest::ToolList::tokens);
        for token in tokens.unwrap_or_default() {
            if let Some(tool) = built_in(&token.text) {
                tools.push(tool);
            } else {
                let message = format!("Squadron has no tool `{}`", shown(&token.text));
                let help = "write a `tool` or `mcp` block, and add it to `tools`";
                output.lost(&at.with(token.span), message, help);
            }
        }
        if !tools.is_empty() {
            block.items.push(attribute("tools", list(tools)));
        }
        // The texts of a skill inside of an agent are moved with those of the agent.
        if owner.is_none() {
            self.shorten(&mut block, "skill", output);
        }
        NewSkillBlock {
            names: [identity.name, wanted].into(),
            label,
            owner,
            block: Some(block),
        }
    }

    /// Writes the files.
    fn write(mut self, output: &mut Output) {
        for (file, _) in FILES {
            let mut parts: Vec<String> = vec![String::new()];
            for block in self.blocks.remove(file).unwrap_or_default() {
                let text = write_block(&block);
                let has_room = |part: &String| part.len() + text.len() < MAX_HCL;
                if !parts.last().is_some_and(has_room) {
                    parts.push(String::new());
                }
                if let Some(part) = parts.last_mut() {
                    if !part.is_empty() {
                        part.push('\n');
                    }
                    part.push_str(&text);
                }
            }
            parts.retain(|part| !part.is_empty());
            // Files are read in order of their names.
            let is_one = parts.len() == 1;
            for (at, part) in parts.into_iter().enumerate() {
                if is_one {
                    output.add(format!("{file}.hcl"), part);
                } else {
                    output.add(format!("{file}-{:04}.hcl", at + 1), part);
                }
            }
        }
    }
}

/// A `skill` block of a `SKILL.md`.
struct NewSkillBlock {
    /// The names by which agents refer to it.
    names: Vec<String>,
    label: String,
    /// The agent that it belongs to.
    owner: Option<String>,
    block: Option<Block>,
}

const DEFAULT_MODEL: &str = "claude-sonnet-4-5";

/// Returns `true` if commanders would read a description as that of the agent anyway.
fn begins_with(prompt: &str, description: &str) -> bool {
    crate::mission::first_sentence(prompt) == description
}

/// Reports what Markdown can say about an agent and HCL cannot.
fn report_only_here(agent: &AgentDef, at: &At, output: &mut Output) {
    let name = shown(agent.name.as_str());
    if agent.limits.turns.is_some() {
        let message = format!("the maximum number of turns of `{name}` is not written");
        output.lost(at, message, "");
    }
    if agent.is_read_only {
        let message = format!("`{name}` may change nothing; in Squadron it has its tools");
        output.lost(at, message, "give it only tools that read");
    }
    if agent.calls.only.as_deref() != Some(&[]) {
        let message = format!("`{name}` may start other agents; in Squadron a mission does");
        let help = "write a mission that lists them in `agents`";
        output.lost(at, message, help);
    }
}

/// Divides a text at `${NAME}` and `${NAME:-DEFAULT}`. Each part is text, or the name of a variable.
fn variables_of(text: &str) -> Vec<(&str, bool)> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(found) = text.get(at..).and_then(|rest| rest.find("${")) {
        let open = at + found;
        let Some(inside) = text.get(open + 2..) else {
            break;
        };
        let Some(end) = inside.find('}') else { break };
        let name = inside.get(..end).unwrap_or_default();
        let name = name.split_once(":-").map_or(name, |(name, _)| name);
        at = open + 2 + end + 1;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            continue;
        }
        if start < open {
            parts.extend(text.get(start..open).map(|part| (part, false)));
        }
        parts.push((name, true));
        start = at;
    }
    if start < text.len() || parts.is_empty() {
        parts.extend(text.get(start..).map(|part| (part, false)));
    }
    parts
}

/// Returns `true` if an option is named like one that takes a secret.
fn is_secret_name(option: &str) -> bool {
    let option = option.to_ascii_lowercase();
    let words = [
        "key",
        "token",
        "secret",
        "password",
        "passwd",
        "auth",
        "credential",
        "bearer",
    ];
    words.iter().any(|word| option.contains(word))
}

/// Returns the tools of an agent that exist in Squadron. `servers` are the names of its servers, with
/// the labels of their blocks.
fn tools(
    agent: &AgentDef,
    servers: &[(Box<str>, String)],
    at: &At,
    output: &mut Output,
) -> Vec<Expr> {
    let name = shown(agent.name.as_str());
    let mut tools: Vec<Expr> = Vec::new();
    let mut unknown = Vec::new();
    let of_server = |tool: &str| {
        let rest = tool.strip_prefix("mcp__")?;
        servers.iter().find_map(|(server, label)| {
            let rest = rest.strip_prefix(&**server)?;
            match rest.strip_prefix("__") {
                Some("*") => Some(reference("mcp", &[label, "all"])),
                Some(tool) if !tool.is_empty() => Some(reference("mcp", &[label, tool])),
                None if rest.is_empty() => Some(reference("mcp", &[label, "all"])),
                _ => None,
            }
        })
    };
    match &agent.tools.only {
        None => {
            let message = format!("`{name}` has all tools of its session; in Squadron it has none");
            let help = "list its tools: `tools = [builtins.http.get]`";
            output.lost(at, message, help);
        }
        Some(listed) => {
            for tool in listed {
                match built_in(tool).or_else(|| of_server(tool)) {
                    Some(found) => tools.push(found),
                    None => unknown.push(wording::tick(shown(tool))),
                }
            }
        }
    }
    // An agent has all tools of its servers, unless it lists some of them.
    for (server, label) in servers {
        let start = format!("mcp__{server}");
        let mut listed = agent.tools.only.iter().flatten();
        if !listed.any(|tool| **tool == *start || tool.starts_with(&format!("{start}__"))) {
            tools.push(reference("mcp", &[label, "all"]));
        }
    }
    if !unknown.is_empty() {
        let message = format!(
            "`{name}` has tools that Squadron does not have: {}",
            wording::all(unknown)
        );
        let help = "write a `tool` or `mcp` block, and add it to `tools`";
        output.lost(at, message, help);
    }
    if !agent.tools.without.is_empty() {
        let message = format!("tools that `{name}` may not use are not written");
        output.lost(at, message, "list those that it may use");
    }
    tools
}

/// Returns the skills that an agent lists, and reports those that are not converted.
fn agent_skills(
    agent: &AgentDef,
    skills: &[NewSkillBlock],
    at: &At,
    output: &mut Output,
) -> Vec<Expr> {
    let name = agent.name.as_str();
    let mut listed: Vec<Expr> = Vec::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    if !agent.preload.is_empty() {
        let message = format!(
            "skills are in the prompt of `{}` from the start; in Squadron it loads them",
            shown(name)
        );
        output.lost(at, message, "");
    }
    if agent.skills.only.is_none() && agent.preload.is_empty() {
        let message = format!(
            "`{}` may load all skills of its session; in Squadron it has none",
            shown(name)
        );
        output.lost(at, message, "list its skills: `skills = [skills.NAME]`");
    }
    let wanted = agent.preload.iter();
    let wanted = wanted.chain(agent.skills.only.iter().flatten());
    for skill in wanted {
        let own = |one: &&NewSkillBlock| one.owner.as_deref() == Some(name);
        let is_named = |one: &&NewSkillBlock| one.names.iter().any(|name| **name == **skill);
        let found = skills.iter().filter(is_named).find(own);
        let found = found.or_else(|| {
            let mut global = skills.iter().filter(is_named);
            global.find(|one| one.owner.is_none())
        });
        match found {
            Some(found) if !seen.insert(&found.label) => {}
            // Its own skills are blocks inside of it.
            Some(found) if found.owner.is_some() => {}
            Some(found) => listed.push(reference("skills", &[&found.label])),
            None => {
                let message = format!("the skill `{}` is not converted", shown(skill));
                let help = "convert a folder that has both the agents and their skills";
                output.lost(at, message, help);
            }
        }
    }
    listed
}

/// Returns the reference to a built-in tool: `builtins.http.get`.
fn built_in(tool: &str) -> Option<Expr> {
    let (group, tool) = tool.strip_prefix("builtins.")?.split_once('.')?;
    built_in_tool(group, tool).then(|| reference("builtins", &[group, tool]))
}

/// Makes paths that are relative to a file relative to the project. Returns that of a plugin.
fn from_project(block: &mut Block, file: &str) -> Option<String> {
    let attribute_name = match &*block.kind.text {
        "packet" => "path",
        "plugin" => "source",
        _ => return None,
    };
    let mut program = None;
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    for item in &mut block.items {
        if let Item::Attribute(attribute) = item
            && *attribute.name.text == *attribute_name
            && let ExprKind::Text(text) = &attribute.value.kind
            && !text.starts_with("github.com/")
            && let Ok(path) = project_path(text, folder)
        {
            attribute.value = text_expr(&format!("./{}", path.as_str()));
            program = Some(path.as_str().to_owned());
        }
    }
    program.filter(|_| &*block.kind.text == "plugin")
}

/// Reports comments, which a tree does not have.
fn report_comments(source: &MissionSource<'_>, path: &str, tree: &Tree, output: &mut Output) {
    if let Some(span) = tree.comment {
        let at = source.at_span(path, span);
        output.lost(&at, "comments are not written", "copy those that you need");
    }
}

// Expressions.

fn label(text: &str) -> Label {
    Label {
        text: text.into(),
        span: Span::default(),
    }
}

fn new_block(kind: &str, name: Option<&str>) -> Block {
    Block {
        kind: label(kind),
        labels: name.map(label).into_iter().collect(),
        items: Vec::new(),
        span: Span::default(),
    }
}

fn attribute(name: &str, value: Expr) -> Item {
    Item::Attribute(Attribute {
        name: label(name),
        value,
        span: Span::default(),
    })
}

fn text_expr(text: &str) -> Expr {
    prowess_hcl::value_expression(&Value::Text(text.into()))
}

fn list(items: Vec<Expr>) -> Expr {
    Expr::new(ExprKind::List(items), Span::default())
}

fn object(entries: Vec<(String, Expr)>) -> Expr {
    let entry = |(key, value): (String, Expr)| ObjectEntry {
        key: text_expr(&key),
        value,
    };
    let entries = entries.into_iter().map(entry).collect();
    Expr::new(ExprKind::Object(entries), Span::default())
}

fn call(name: &str, arguments: Vec<Expr>) -> Expr {
    let kind = ExprKind::Call {
        name: name.into(),
        arguments,
        expands: false,
    };
    Expr::new(kind, Span::default())
}

fn reference(root: &str, path: &[&str]) -> Expr {
    let path = path.iter().map(|name| ReferenceStep::Name((*name).into()));
    let kind = ExprKind::Reference {
        root: root.into(),
        path: path.collect(),
    };
    Expr::new(kind, Span::default())
}

/// Returns a name that Squadron accepts: small letters, digits and `_`.
fn snake(text: &str) -> String {
    let letter = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '_'
        }
    };
    let name: String = text.chars().take(64).map(letter).collect();
    if is_identifier(&name) && !name.starts_with('-') {
        return name;
    }
    format!("m_{name}").chars().take(64).collect()
}

//! The tools of one mission, by reference.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use prowess_flow::mission::{
    BlockFillError, Mission, MissionProject, ToolRef, Value as MissionValue, to_json,
};
use prowess_traits::{Clock, Fetcher, WebMethod};

use super::bound::{BoundCall, SecretTool};
use super::{CurrentTime, Sleep, VariableValues};
use crate::files::HttpTool;
use crate::names;
use crate::secrets::SecretValues;
use crate::tool::Tool;

/// Maximum length of a tool name that every provider accepts.
const MAX_NAME: usize = 64;

/// What the tools of a mission need from the program.
#[derive(Clone, Debug)]
pub struct MissionToolServices {
    /// Sends web requests. Without it, `http.*` is missing.
    pub fetcher: Option<Arc<dyn Fetcher>>,
    /// Returns the time.
    pub clock: Arc<dyn Clock>,
    /// The name of each MCP server of the project, by the label of its block.
    pub servers: BTreeMap<Box<str>, Box<str>>,
    /// The tools of these servers, and of those in the user's settings.
    pub server_tools: Vec<Arc<dyn Tool>>,
    /// Servers that cannot be used, with the reason.
    pub faults: BTreeMap<Box<str>, String>,
    /// Other built-in tools, which belong to the driver of missions: `dataset.set`, `human.ask`.
    pub built_in: BTreeMap<Box<str>, Arc<dyn Tool>>,
}

/// The tools of a list.
#[derive(Clone, Debug, Default)]
pub struct FoundTools {
    /// The tools, in the order of the list, each once.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What is missing.
    pub missing: Vec<MissingTool>,
}

/// A tool that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingTool {
    /// The tool as the project names it.
    pub reference: ToolRef,
    /// The reason.
    pub why: String,
}

/// The tools of one mission.
#[derive(Clone, Debug)]
pub struct MissionTools {
    tools: BTreeMap<ToolRef, Result<Vec<Arc<dyn Tool>>, String>>,
    secrets: Arc<SecretValues>,
}

impl MissionTools {
    /// Builds the tools of a mission. `inputs` are the given inputs of the run. Fails if a protected
    /// input needs a variable that is not set.
    pub fn new(
        project: &MissionProject,
        mission: &Mission,
        variables: &VariableValues,
        inputs: &[(String, MissionValue)],
        services: &MissionToolServices,
    ) -> Result<Self, BlockFillError> {
        let mut secrets = variables.secrets(project);
        for field in mission.inputs.iter().filter(|field| field.is_protected) {
            let given = inputs.iter().find(|(name, _)| **name == *field.name);
            let known = field.value.as_ref().or(given.map(|(_, value)| value));
            let Some(value) = known.or(field.default.as_ref()) else {
                continue;
            };
            let text = match variables.fill(value, &secrets)? {
                MissionValue::Text(text) => text.into_string(),
                other => to_json(&other)
                    .map(|json| json.to_string())
                    .unwrap_or_default(),
            };
            if !text.is_empty() {
                secrets.add(format!("secrets.{}", field.name), text);
            }
        }
        let secrets = Arc::new(secrets);
        let mut made = Self {
            tools: BTreeMap::new(),
            secrets,
        };
        let used = project.tools_of_mission(mission);
        for reference in used.iter().filter(|it| !matches!(it, ToolRef::Bound(_))) {
            let found = made.plain(reference, services);
            made.tools.insert(reference.clone(), found);
        }
        let names = bound_names(project);
        for reference in &used {
            let ToolRef::Bound(label) = reference else {
                continue;
            };
            let name = names.get(label).map(|name| &**name);
            let found = made.bound(project, label, name, variables);
            made.tools.insert(reference.clone(), found);
        }
        Ok(made)
    }

    /// Returns the tools of a list.
    pub fn find(&self, list: &[ToolRef]) -> FoundTools {
        let mut found = FoundTools::default();
        let mut seen: BTreeSet<Box<str>> = BTreeSet::new();
        for reference in list {
            match self.tools.get(reference) {
                Some(Ok(tools)) => {
                    let new = tools.iter().filter(|tool| seen.insert(tool.name().into()));
                    found.tools.extend(new.cloned());
                }
                Some(Err(why)) => found.missing.push(MissingTool {
                    reference: reference.clone(),
                    why: why.clone(),
                }),
                None => found.missing.push(MissingTool {
                    reference: reference.clone(),
                    why: "it is not a tool of this mission".to_owned(),
                }),
            }
        }
        found
    }

    /// Returns all tools of the mission, each once.
    pub fn all(&self) -> FoundTools {
        let references: Vec<ToolRef> = self.tools.keys().cloned().collect();
        self.find(&references)
    }

    /// Returns the names that models see, for a reference. More than one for all tools of a server.
    pub fn names(&self, reference: &ToolRef) -> Vec<&str> {
        let tools = self
            .tools
            .get(reference)
            .and_then(|found| found.as_ref().ok());
        let tools = tools.into_iter().flatten();
        tools.map(|tool| tool.name()).collect()
    }

    /// Returns the secrets, for removing them from other texts.
    pub fn secrets(&self) -> &Arc<SecretValues> {
        &self.secrets
    }

    /// Builds a tool that is not bound.
    fn plain(
        &self,
        reference: &ToolRef,
        services: &MissionToolServices,
    ) -> Result<Vec<Arc<dyn Tool>>, String> {
        let tools = match reference {
            ToolRef::BuiltIn(name) => vec![built_in(name, services)?],
            ToolRef::Server { server, tool } => {
                let name = services.servers.get(server);
                let name = name.ok_or_else(|| format!("the server `{server}` is not started"))?;
                server_tools(name, server, tool, services)?
            }
            ToolRef::UserServer { server, tool } => server_tools(server, server, tool, services)?,
            ToolRef::Plugin { plugin, .. } => {
                return Err(format!("no MCP server replaces the plugin `{plugin}`"));
            }
            ToolRef::Bound(name) => return Err(format!("unknown tool `{name}`")),
        };
        // A name cannot be redacted: a model calls the tool by it.
        let is_revealing = |tool: &Arc<dyn Tool>| self.secrets.reveals_name(tool.name());
        let (hidden, tools): (Vec<_>, Vec<_>) = tools.into_iter().partition(is_revealing);
        if tools.is_empty() && !hidden.is_empty() {
            return Err("the name of the tool contains a secret".to_owned());
        }
        let secret = |inner: Arc<dyn Tool>| {
            let secrets = Arc::clone(&self.secrets);
            Arc::new(SecretTool { inner, secrets }) as Arc<dyn Tool>
        };
        Ok(tools.into_iter().map(secret).collect())
    }

    fn bound(
        &self,
        project: &MissionProject,
        label: &str,
        name: Option<&str>,
        variables: &VariableValues,
    ) -> Result<Vec<Arc<dyn Tool>>, String> {
        let bound = project.tools.iter().find(|tool| *tool.name == *label);
        let (Some(bound), Some(name)) = (bound, name) else {
            return Err(format!("unknown tool `{label}`"));
        };
        let Some(behind) = &bound.implements else {
            return Err("it implements no tool".to_owned());
        };
        let inner = match self.tools.get(behind) {
            Some(Ok(tools)) => match &**tools {
                [only] => Arc::clone(only),
                _ => return Err(format!("`{behind}` is not one tool")),
            },
            Some(Err(why)) => return Err(why.clone()),
            None => return Err(format!("`{behind}` is not a tool of this mission")),
        };
        let tool = BoundCall {
            name: name.into(),
            bound: bound.clone(),
            inner,
            variables: variables.clone(),
            secrets: Arc::clone(&self.secrets),
        };
        Ok(vec![Arc::new(tool)])
    }
}

fn built_in(name: &str, services: &MissionToolServices) -> Result<Arc<dyn Tool>, String> {
    let method = match name {
        "http.get" => WebMethod::Get,
        "http.post" => WebMethod::Post,
        "http.put" => WebMethod::Put,
        "http.patch" => WebMethod::Patch,
        "http.delete" => WebMethod::Delete,
        "utils.current_time" => {
            return Ok(Arc::new(CurrentTime::new(Arc::clone(&services.clock))));
        }
        "utils.sleep" => return Ok(Arc::new(Sleep)),
        other => {
            let found = services.built_in.get(other).cloned();
            return found.ok_or_else(|| format!("`{other}` is not available"));
        }
    };
    let fetcher = services.fetcher.as_ref();
    let fetcher = fetcher.ok_or_else(|| "web requests are not available".to_owned())?;
    Ok(Arc::new(HttpTool::new(method, Arc::clone(fetcher))))
}

/// Returns a tool of a server, or all its tools.
fn server_tools(
    name: &str,
    label: &str,
    tool: &str,
    services: &MissionToolServices,
) -> Result<Vec<Arc<dyn Tool>>, String> {
    if let Some(why) = services.faults.get(name) {
        return Err(format!("the server `{label}` cannot be used: {why}"));
    }
    let prefix = format!("mcp__{name}__");
    let of_server = services.server_tools.iter();
    let mut of_server: Vec<Arc<dyn Tool>> = of_server
        .filter(|known| known.name().starts_with(&prefix))
        .cloned()
        .collect();
    if tool == "all" && of_server.is_empty() {
        return Err(format!("the server `{label}` has no tools"));
    }
    if tool == "all" {
        of_server.sort_by(|a, b| a.name().cmp(b.name()));
        return Ok(of_server);
    }
    let wanted = format!("{prefix}{}", plain_name(tool));
    of_server.retain(|known| known.name() == wanted);
    if of_server.is_empty() {
        return Err(format!("the server `{label}` has no tool `{tool}`"));
    }
    Ok(of_server)
}

/// Replaces the characters that a tool name cannot have.
fn plain_name(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    text.chars()
        .map(|c| if plain(c) { c } else { '_' })
        .collect()
}

/// Returns the name that models see of each bound tool. Names are unique, and none is that of another
/// tool or of a tool of a server.
fn bound_names(project: &MissionProject) -> BTreeMap<Box<str>, Box<str>> {
    let mut taken: BTreeSet<String> = RESERVED.iter().map(ToString::to_string).collect();
    let mut found = BTreeMap::new();
    for tool in &project.tools {
        let base = plain_name(&tool.name);
        let base = base.trim_matches('_');
        let is_usable = !base.is_empty() && !base.starts_with("mcp__");
        let base = if is_usable {
            base.to_owned()
        } else {
            format!("tool_{}", base.trim_start_matches("mcp__"))
        };
        let mut name: String = base.chars().take(MAX_NAME).collect();
        let mut at = 1;
        while !taken.insert(name.clone()) {
            at += 1;
            let end = format!("_{at}");
            let kept = MAX_NAME - end.len();
            name = base.chars().take(kept).collect::<String>() + &end;
        }
        found.insert(tool.name.clone(), name.into());
    }
    found
}

/// Names of other tools that a session of a mission may have.
const RESERVED: &[&str] = &[
    names::BASH,
    names::EDIT,
    names::GLOB,
    names::GREP,
    names::HTTP_DELETE,
    names::HTTP_GET,
    names::HTTP_PATCH,
    names::HTTP_POST,
    names::HTTP_PUT,
    names::LIST_SKILLS,
    names::LOAD_SKILL,
    names::LOAD_SKILL_RESOURCE,
    names::LOAD_SKILL_RESOURCES,
    names::READ,
    names::RUN_COMMAND_LINE,
    names::SEARCH_SKILLS,
    names::SKILL,
    names::SUBMIT,
    names::UNLOAD_SKILL,
    names::WRITE,
    "ask_agent",
    "ask_commander",
    "ask_human",
    "call_agent",
    "current_time",
    "dataset_count",
    "dataset_next",
    "dataset_sample",
    "dataset_set",
    "file_delete",
    "file_list",
    "file_read",
    "file_write",
    "human_ask",
    "list_team",
    "sleep",
    "spawn_agent",
    "submit_output",
    "task_complete",
];

//! The MCP servers of a mission project.
//!
//! A server of a project has a name of its own, `mission-LABEL`, so that a rule about a server of the
//! user never covers it. It is started only for a mission whose agents use it.

use std::collections::{BTreeMap, BTreeSet};

use prowess_config::{McpServer, McpTransport};
use prowess_flow::mission::{
    BlockFillError, Mission, MissionProject, ServerBlock, ToolRef, Value as MissionValue,
};
use prowess_tools::SecretValues;
use prowess_tools::missions::VariableValues;

/// Maximum length of a server's name, which is part of the names of its tools.
const MAX_NAME: usize = 32;

/// The MCP servers of a mission.
#[derive(Clone, Debug, Default)]
pub struct MissionServers {
    /// The servers to start. They contain secrets: never print.
    pub servers: Vec<McpServer>,
    /// The name of each server, by the label of its block.
    pub names: BTreeMap<Box<str>, Box<str>>,
    /// Servers that cannot be started, by name, with the reason.
    pub faults: BTreeMap<Box<str>, String>,
}

/// Error in an `mcp` block.
#[derive(Debug, thiserror::Error)]
enum MissionServerError {
    #[error("`{0}`: {1}")]
    Setting(&'static str, BlockFillError),
    #[error("`{0}` has the wrong type")]
    Type(&'static str),
    #[error("it needs `command` or `url`")]
    Neither,
    #[error("nothing is installed for you: use `command` and `args` instead of `source`")]
    Source,
    #[error("`client_id` is not supported; use `headers`")]
    OAuth,
    #[error("`url` must start with `https://`, except on this machine")]
    Plain,
}

/// Returns the servers that the agents of a mission use. `taken` are the names of the user's servers.
pub fn mission_servers(
    project: &MissionProject,
    mission: &Mission,
    variables: &VariableValues,
    taken: &BTreeSet<String>,
) -> MissionServers {
    let used = project.tools_of_mission(mission);
    let is_used = |block: &ServerBlock| {
        let is_its = |tool: &ToolRef| matches!(tool, ToolRef::Server { server, .. } if *server == block.name);
        used.iter().any(is_its)
    };
    let secrets = variables.secrets(project);
    let mut found = MissionServers::default();
    let mut taken = taken.clone();
    // All blocks count, so that a name does not depend on the mission.
    for block in &project.servers {
        let name = free_name(&block.name, &mut taken);
        if !is_used(block) {
            continue;
        }
        found.names.insert(block.name.clone(), name.clone());
        match transport(block, variables, &secrets) {
            Ok(transport) => found.servers.push(McpServer {
                name,
                agent: None,
                transport,
                timeout: None,
                on_demand: false,
                in_skills: false,
            }),
            Err(error) => {
                let why = secrets.redact(error.to_string());
                found.faults.insert(name, why);
            }
        }
    }
    found
}

/// Returns the names of the user's servers that stand in for plugins of a mission.
pub fn stand_in_servers(project: &MissionProject, mission: &Mission) -> BTreeSet<String> {
    let used = project.tools_of_mission(mission);
    used.into_iter()
        .filter_map(|tool| match tool {
            ToolRef::UserServer { server, .. } => Some(server.into_string()),
            _ => None,
        })
        .collect()
}

/// Returns a name that no other server has: letters, digits and `-`.
fn free_name(label: &str, taken: &mut BTreeSet<String>) -> Box<str> {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let label: String = label.chars().map(plain).collect();
    let base = format!("mission-{}", label.trim_matches('-'));
    let mut name: String = base.chars().take(MAX_NAME).collect();
    let mut at = 1;
    while !taken.insert(name.clone()) {
        at += 1;
        let end = format!("-{at}");
        let kept = MAX_NAME - end.len();
        name = base.chars().take(kept).collect::<String>() + &end;
    }
    name.into()
}

fn transport(
    block: &ServerBlock,
    variables: &VariableValues,
    secrets: &SecretValues,
) -> Result<McpTransport, MissionServerError> {
    let setting = |name: &'static str| {
        let found = block.settings.iter().find(|(key, _)| **key == *name);
        let filled = found
            .map(|(_, value)| variables.fill(value, secrets))
            .transpose();
        let filled = filled.map_err(|error| MissionServerError::Setting(name, error))?;
        Ok::<_, MissionServerError>(filled.filter(|value| *value != MissionValue::Null))
    };
    let one = |name: &'static str| {
        let found = setting(name)?.map(|value| text(name, value));
        found.transpose()
    };
    let pairs = |name: &'static str| {
        let entries = match setting(name)? {
            None => Vec::new(),
            Some(MissionValue::Object(entries)) => entries,
            Some(_) => return Err(MissionServerError::Type(name)),
        };
        let pair = |(key, value): (Box<str>, MissionValue)| {
            Ok::<_, MissionServerError>((key.into_string(), text(name, value)?))
        };
        entries
            .into_iter()
            .map(pair)
            .collect::<Result<BTreeMap<_, _>, _>>()
    };
    if setting("source")?.is_some() {
        return Err(MissionServerError::Source);
    }
    if setting("client_id")?.is_some() {
        return Err(MissionServerError::OAuth);
    }
    if let Some(command) = one("command")? {
        let args = match setting("args")? {
            None => Vec::new(),
            Some(MissionValue::List(items)) => {
                let items = items.into_iter().map(|item| text("args", item));
                items.collect::<Result<_, _>>()?
            }
            Some(_) => return Err(MissionServerError::Type("args")),
        };
        return Ok(McpTransport::Program {
            command,
            args,
            env: pairs("env")?,
            cwd: None,
        });
    }
    let url = one("url")?.ok_or(MissionServerError::Neither)?;
    let headers = pairs("headers")?;
    if !is_safe(&url) {
        return Err(MissionServerError::Plain);
    }
    Ok(McpTransport::Web { url, headers })
}

/// Returns `true` if a URL sends nothing in clear text to another machine.
fn is_safe(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else {
        return url.starts_with("https://");
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(inside) => inside.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let is_loopback = |ip: std::net::IpAddr| ip.is_loopback();
    host == "localhost" || host.parse().is_ok_and(is_loopback)
}

fn text(name: &'static str, value: MissionValue) -> Result<String, MissionServerError> {
    match value {
        MissionValue::Text(text) | MissionValue::Number(text) => Ok(text.into_string()),
        MissionValue::Bool(value) => Ok(value.to_string()),
        _ => Err(MissionServerError::Type(name)),
    }
}

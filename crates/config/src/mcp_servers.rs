//! MCP servers whose tools and skills an agent may use: `[mcp.servers.NAME]` in the user's
//! settings, and `.mcp.json` as other clients write it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use prowess_catalog::Scope;
use prowess_flow::AgentDef;
use prowess_registry::fs::skill_folders;
use serde_json::{Map, Value};

/// The configuration file that MCP clients share.
pub const MCP_FILE: &str = ".mcp.json";

/// The same file of core-agent, whose servers are in `servers`.
pub const CORE_AGENT_MCP_FILE: &str = ".agents/mcp.json";

/// Maximum size of such a file in bytes.
const MAX_FILE: u64 = 1024 * 1024;
/// Maximum number of servers in a file.
const MAX_SERVERS: usize = 64;
/// Maximum length of a server's name, which is part of the names of its tools.
const MAX_NAME: usize = 32;

/// Maximum timeout of a call in seconds.
pub(crate) const MAX_TIMEOUT: u64 = 3_600;

/// The keys of a server in our own settings.
pub(crate) const KEYS: [&str; 10] = [
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "timeout",
    "enabled",
    "on-demand",
    "in-skills",
];

/// A configured MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServer {
    /// Its name: the `docs` in `mcp__docs__search` and `docs:refunds`.
    pub name: Box<str>,
    /// Its transport.
    pub transport: McpTransport,
    /// The timeout of a call in seconds.
    pub timeout: Option<u64>,
    /// `true` if its tools are declared only after a trusted skill that names them was loaded.
    pub on_demand: bool,
    /// `true` if sub-runs have its tools although the `allowed-tools` of their skill do not name
    /// them.
    pub in_skills: bool,
    /// The agent that alone has this server, if another server has the same name. In rules that
    /// allow, its name is `agent.docs`.
    pub agent: Option<Box<str>>,
}

/// The transport of a server.
#[derive(Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// A program that communicates over standard input and output.
    Program {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Environment variables in addition to the harmless ones.
        env: BTreeMap<String, String>,
        /// Its working folder. `None` for the one that the client chooses.
        cwd: Option<PathBuf>,
    },
    /// An HTTP server.
    Web {
        /// Its URL.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
}

impl fmt::Debug for McpTransport {
    /// Prints no values: after expansion, each of them may contain a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Program { .. } => "a program",
            Self::Web { .. } => "an address",
        })
    }
}

/// An error in the definition of a server, or in a file of servers.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The name cannot be part of the name of a tool.
    #[error(
        "its name must have 1 to {MAX_NAME} letters, digits, `-` or single `_`, and not be the name of a scope; its tools are called `mcp__NAME__tool`"
    )]
    Name,
    /// The definition is not an object.
    #[error("it must be an object")]
    NotAnObject,
    /// The transport is not supported.
    #[error("the `sse` transport is deprecated and not supported; use `http` if the server has it")]
    Sse,
    /// It has core-agent's `auth`.
    #[error("`auth` is not supported; use `headers` with a variable")]
    Auth,
    /// It has a command and a URL.
    #[error("it has both `command` and `url`; remove one")]
    Both,
    /// It has neither a command nor a URL.
    #[error("it needs `command` or `url`")]
    Neither,
    /// A key has a value of the wrong type.
    #[error("`{key}` must {must}")]
    Value {
        /// The key.
        key: Box<str>,
        /// The rest of the sentence.
        must: &'static str,
    },
    /// A variable has no value.
    #[error("the variable `{name}` is not set")]
    Unset {
        /// The variable.
        name: Box<str>,
    },
    /// The file is not a regular file.
    #[error("it is not a regular file")]
    NotAFile,
    /// The file is too large.
    #[error("it has more than {}", prowess_diag::wording::size(MAX_FILE))]
    TooLarge,
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] std::io::Error),
}

impl McpServer {
    /// Reads a server from the keys that clients share. Returns `None` if it is disabled.
    pub(crate) fn read(name: &str, keys: &Map<String, Value>) -> Result<Option<Self>, ServerError> {
        check_name(name)?;
        if keys.get("enabled") == Some(&Value::Bool(false))
            || keys.get("disabled") == Some(&Value::Bool(true))
        {
            return Ok(None);
        }
        let command = text(keys, "command")?;
        let url = text(keys, "url")?;
        let transport = match (command, url) {
            (Some(command), None) => McpTransport::Program {
                command,
                args: texts(keys, "args")?,
                env: pairs(keys, "env")?,
                cwd: text(keys, "cwd")?.map(PathBuf::from),
            },
            (None, Some(_)) if keys.get("type").and_then(Value::as_str) == Some("sse") => {
                return Err(ServerError::Sse);
            }
            (None, Some(url)) => McpTransport::Web {
                url,
                headers: pairs(keys, "headers")?,
            },
            (Some(_), Some(_)) => {
                return Err(ServerError::Both);
            }
            (None, None) => return Err(ServerError::Neither),
        };
        Ok(Some(Self {
            name: name.into(),
            transport,
            timeout: None,
            on_demand: false,
            in_skills: false,
            agent: None,
        }))
    }

    /// Returns the server with `${NAME}` and `${NAME:-default}` replaced by variables.
    pub fn expanded(&self, lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, ServerError> {
        let all = |pairs: &BTreeMap<String, String>| {
            let pair = |(name, value): (&String, &String)| {
                Ok::<_, ServerError>((name.clone(), expand(value, lookup)?))
            };
            pairs
                .iter()
                .map(pair)
                .collect::<Result<BTreeMap<_, _>, _>>()
        };
        let transport = match &self.transport {
            McpTransport::Program {
                command,
                args,
                env,
                cwd,
            } => McpTransport::Program {
                command: expand(command, lookup)?,
                args: args
                    .iter()
                    .map(|arg| expand(arg, lookup))
                    .collect::<Result<_, _>>()?,
                env: all(env)?,
                cwd: match cwd {
                    Some(cwd) => Some(expand(&cwd.to_string_lossy(), lookup)?.into()),
                    None => None,
                },
            },
            McpTransport::Web { url, headers } => McpTransport::Web {
                url: expand(url, lookup)?,
                headers: all(headers)?,
            },
        };
        Ok(Self {
            transport,
            ..self.clone()
        })
    }

    /// Returns the name that rules may use to allow its tools: `docs`, or `agent.docs`.
    pub fn rule_name(&self) -> String {
        // Underscores separate the parts of a rule.
        let is_odd = |c: char| !c.is_alphanumeric() && c != '-';
        match &self.agent {
            Some(agent) => format!("{}.{}", agent.replace(is_odd, "-"), self.name),
            None => self.name.to_string(),
        }
    }

    /// Returns the command or the URL for display. Do not show it after expansion: variables may be
    /// secrets.
    pub fn place(&self) -> String {
        match &self.transport {
            McpTransport::Program { command, args, .. } => std::iter::once(command)
                .chain(args)
                .cloned()
                .collect::<Vec<_>>()
                .join(" "),
            McpTransport::Web { url, .. } => url.clone(),
        }
    }
}

/// Returns the nearest `.mcp.json` and `.agents/mcp.json` of the current project, as far as they
/// exist.
pub fn project_mcp_files(current: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let folders = skill_folders::project_folders(current, home);
    let nearest = |name: &str| {
        let mut files = folders.iter().map(|folder| folder.join(name));
        files.find(|file| file.is_file())
    };
    let names = [MCP_FILE, CORE_AGENT_MCP_FILE];
    names.into_iter().filter_map(nearest).collect()
}

/// The contents of a `.mcp.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpFile {
    /// The valid and enabled servers.
    pub servers: Vec<McpServer>,
    /// All names, including those of disabled and invalid servers.
    pub names: BTreeSet<String>,
    /// Error messages.
    pub faults: Vec<String>,
}

/// Reads a `.mcp.json`, or the `mcp.json` of core-agent. A missing file is empty.
pub fn read_mcp_file(path: &Path) -> McpFile {
    let fault = |why: String| McpFile {
        faults: vec![why],
        ..McpFile::default()
    };
    match read_capped(path) {
        Ok(Some(text)) => parse_mcp_file(path, &text),
        Ok(None) => McpFile::default(),
        Err(error) => fault(error.to_string()),
    }
}

/// Returns the servers in the files of an agent that it may use, with the file of each.
pub fn agent_servers(agent: &AgentDef) -> Vec<(McpServer, Box<str>)> {
    let mut servers = Vec::new();
    for file in &agent.server_files {
        let read = parse_mcp_file(Path::new(&*file.path), &file.text);
        let selected = (read.servers.into_iter()).filter(|it| agent.servers.contains(&it.name));
        servers.extend(selected.map(|server| (server, file.path.clone())));
    }
    servers
}

/// Parses the text of a `.mcp.json`, or of a file of servers of another system. The one parser for
/// what is shown and what is started.
pub fn parse_mcp_file(path: &Path, text: &str) -> McpFile {
    let fault = |why: String| McpFile {
        faults: vec![why],
        ..McpFile::default()
    };
    if text.len() as u64 > MAX_FILE {
        return fault(ServerError::TooLarge.to_string());
    }
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => return fault(format!("it is not valid JSON: {error}")),
    };
    // core-agent's files, in `.agents` and in the root of a subagent, have another key.
    let is_core_agent = path.file_name().is_some_and(|name| name == "mcp.json");
    let key = if is_core_agent && value.get("mcpServers").is_none() {
        "servers"
    } else {
        "mcpServers"
    };
    // A file of `skilled_crew` has one server.
    let name = value.get("name").and_then(Value::as_str);
    let one = name.map(|name| Map::from_iter([(name.to_owned(), value.clone())]));
    let several = value.get(key).and_then(Value::as_object);
    let Some(servers) = several.or(one.as_ref()) else {
        return fault(format!("it has no `{key}` object"));
    };
    let mut file = McpFile::default();
    for (name, keys) in servers.iter().take(MAX_SERVERS) {
        file.names.insert(name.clone());
        let read = match keys.as_object() {
            // Without it, the server would refuse every request.
            Some(keys) if key == "servers" && keys.contains_key("auth") => Err(ServerError::Auth),
            Some(keys) => McpServer::read(name, keys),
            None => Err(ServerError::NotAnObject),
        };
        match read {
            Ok(server) => file.servers.extend(server),
            Err(why) => file
                .faults
                .push(format!("the server `{name}` cannot be used: {why}")),
        }
    }
    if servers.len() > MAX_SERVERS {
        file.faults
            .push(format!("only the first {MAX_SERVERS} servers are used"));
    }
    file
}

fn read_capped(path: &Path) -> Result<Option<String>, ServerError> {
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    // Opening a FIFO would block.
    if !metadata.is_file() {
        return Err(ServerError::NotAFile);
    }
    let mut text = String::new();
    let file = std::fs::File::open(path)?;
    file.take(MAX_FILE + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE {
        return Err(ServerError::TooLarge);
    }
    Ok(Some(text))
}

/// Checks the name of a server. Tools are called `mcp__NAME__tool`, so it may only contain
/// characters of tool names, and no two underscores in a row.
fn check_name(name: &str) -> Result<(), ServerError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    // `user:pdf` must always be a skill of the user.
    let sound = Scope::parse(name).is_none()
        && !name.is_empty()
        && name.len() <= MAX_NAME
        && name.chars().all(plain)
        && !name.contains("__")
        && !name.ends_with('_');
    if sound {
        return Ok(());
    }
    Err(ServerError::Name)
}

fn wrong(key: &str, must: &'static str) -> ServerError {
    ServerError::Value {
        key: key.into(),
        must,
    }
}

fn text(keys: &Map<String, Value>, key: &str) -> Result<Option<String>, ServerError> {
    match keys.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text.clone())),
        Some(_) => Err(wrong(key, "be a string")),
    }
}

fn texts(keys: &Map<String, Value>, key: &str) -> Result<Vec<String>, ServerError> {
    let wrong = || wrong(key, "be a list of strings");
    match keys.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect::<Option<_>>()
            .ok_or_else(wrong),
        Some(_) => Err(wrong()),
    }
}

fn pairs(keys: &Map<String, Value>, key: &str) -> Result<BTreeMap<String, String>, ServerError> {
    let wrong = || wrong(key, "have string values");
    match keys.get(key) {
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(Value::Object(pairs)) => pairs
            .iter()
            .map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect::<Option<_>>()
            .ok_or_else(wrong),
        Some(_) => Err(wrong()),
    }
}

/// Replaces `${NAME}` and `${NAME:-default}` by variables, once. Other text is unchanged.
fn expand(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Result<String, ServerError> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        let Some(end) = after.find('}') else {
            rest = after;
            break;
        };
        let inside = &after[2..end];
        let (name, otherwise) = match inside.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (inside, None),
        };
        let is_name = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if is_name {
            match lookup(name).as_deref().or(otherwise) {
                Some(value) => out.push_str(value),
                None => return Err(ServerError::Unset { name: name.into() }),
            }
        } else {
            out.push_str(&after[..=end]);
        }
        rest = &after[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(name: &str, keys: &Value) -> Result<Option<McpServer>, ServerError> {
        McpServer::read(name, keys.as_object().unwrap())
    }

    #[test]
    fn server_is_a_program_or_a_url() {
        let server = read(
            "docs",
            &json!({ "command": "npx", "args": ["-y", "x"], "env": { "A": "1" } }),
        );
        assert_eq!(server.unwrap().unwrap().place(), "npx -y x");
        let server = read(
            "web",
            &json!({ "type": "http", "url": "https://example.com/mcp" }),
        );
        assert_eq!(server.unwrap().unwrap().place(), "https://example.com/mcp");
        let off = read("off", &json!({ "command": "x", "disabled": true }));
        assert_eq!(off.unwrap(), None);
        for (name, keys, why) in [
            ("a", json!({}), "it needs `command` or `url`"),
            (
                "a",
                json!({ "command": "x", "url": "y" }),
                "it has both `command` and `url`",
            ),
            ("a", json!({ "command": 3 }), "`command` must be a string"),
            (
                "a",
                json!({ "command": "x", "args": "y" }),
                "`args` must be a list of strings",
            ),
            (
                "a",
                json!({ "command": "x", "env": { "A": 1 } }),
                "`env` must have string values",
            ),
            (
                "a",
                json!({ "type": "sse", "url": "y" }),
                "the `sse` transport is deprecated",
            ),
            ("a__b", json!({ "command": "x" }), "its name must have"),
            ("a b", json!({ "command": "x" }), "its name must have"),
            ("", json!({ "command": "x" }), "its name must have"),
            ("user", json!({ "command": "x" }), "its name must have"),
        ] {
            let fault = read(name, &keys).unwrap_err().to_string();
            assert!(fault.contains(why), "{name} {keys}: {fault}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let program = json!({ "command": "${K}", "args": ["${K}"], "env": { "KEY": "${K}" } });
        let web = json!({ "url": "https://x/?k=${K}", "headers": { "Authorization": "${K}" } });
        for keys in [program, web] {
            let server = read("a", &keys).unwrap().unwrap();
            assert!(server.place().contains("${K}"), "{}", server.place());
            let server = server.expanded(&|_| Some("hush".to_owned())).unwrap();
            assert!(server.place().contains("hush"), "it is expanded");
            let shown = format!("{server:?}");
            assert!(!shown.contains("hush"), "{shown}");
        }
    }

    #[test]
    fn variables_are_expanded_once() {
        let lookup = |name: &str| match name {
            "A" => Some("1".to_owned()),
            "B" => Some("${A}".to_owned()),
            _ => None,
        };
        for (text, expected) in [
            ("x", Ok("x")),
            ("${A}-${A}", Ok("1-1")),
            ("${B}", Ok("${A}")),
            ("${C:-other}", Ok("other")),
            ("${C:-}", Ok("")),
            ("${A:-other}", Ok("1")),
            ("$A ${} ${a b} ${", Ok("$A ${} ${a b} ${")),
            ("${C}", Err("the variable `C` is not set")),
        ] {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            let found = expand(text, &lookup).map_err(|error| error.to_string());
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn invalid_servers_do_not_hide_valid_ones() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(MCP_FILE);
        assert_eq!(read_mcp_file(&path), McpFile::default());
        std::fs::write(
            &path,
            r#"{ "mcpServers": { "good": { "command": "x" }, "bad": {}, "worse": 3 } }"#,
        )
        .unwrap();
        let file = read_mcp_file(&path);
        assert_eq!((file.servers.len(), file.names.len()), (1, 3));
        assert_eq!(file.faults.len(), 2, "{file:?}");
        for wrong in ["", "[]", "{", "{\"mcpServers\": []}", &"[".repeat(100_000)] {
            std::fs::write(&path, wrong).unwrap();
            let file = read_mcp_file(&path);
            assert_eq!(
                (file.servers.len(), file.faults.len()),
                (0, 1),
                "{wrong:.20}"
            );
        }
    }
}

//! MCP servers that an agent may use: `[mcp.servers.NAME]` in the user's settings, and `.mcp.json`
//! in the format of other clients.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use prowess_catalog::Scope;
use prowess_registry::fs::scopes;
use serde_json::{Map, Value};

/// Name of the file that MCP clients share.
pub const MCP_FILE: &str = ".mcp.json";

/// Maximum size of the file, in bytes.
const MAX_FILE: u64 = 1024 * 1024;
/// Maximum number of servers in a file.
const MAX_SERVERS: usize = 64;
/// Maximum length of a server name; tool names start with it.
const MAX_NAME: usize = 32;

/// Maximum timeout of a call, in seconds.
pub(crate) const MAX_TIMEOUT: u64 = 3_600;

/// Keys of a server in our own settings.
pub(crate) const KEYS: [&str; 8] = [
    "command", "args", "env", "cwd", "url", "headers", "timeout", "enabled",
];

/// A configured MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServer {
    /// Local name: the `docs` of `mcp__docs__search` and of `docs:refunds`.
    pub name: Box<str>,
    /// Transport and address.
    pub reach: Reach,
    /// Timeout of a call, in seconds.
    pub timeout: Option<u64>,
}

/// Transport and address of a server.
#[derive(Clone, PartialEq, Eq)]
pub enum Reach {
    /// A program that communicates over its standard input and output.
    Program {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Environment variables, in addition to the safe default ones.
        env: BTreeMap<String, String>,
        /// Working directory; `None` for the project root.
        cwd: Option<PathBuf>,
    },
    /// A server reached over HTTP.
    Web {
        /// The URL.
        url: String,
        /// Headers sent with every request.
        headers: BTreeMap<String, String>,
    },
}

impl fmt::Debug for Reach {
    /// Hides the values: after variable expansion, any of them may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Program { .. } => "a program",
            Self::Web { .. } => "a URL",
        })
    }
}

impl McpServer {
    /// Parses a server from the keys that clients share. Returns `None` for a disabled server.
    pub(crate) fn read(name: &str, keys: &Map<String, Value>) -> Result<Option<Self>, String> {
        check_name(name)?;
        if keys.get("enabled") == Some(&Value::Bool(false))
            || keys.get("disabled") == Some(&Value::Bool(true))
        {
            return Ok(None);
        }
        let command = text(keys, "command")?;
        let url = text(keys, "url")?;
        let reach = match (command, url) {
            (Some(command), None) => Reach::Program {
                command,
                args: texts(keys, "args")?,
                env: pairs(keys, "env")?,
                cwd: text(keys, "cwd")?.map(PathBuf::from),
            },
            (None, Some(_)) if keys.get("type").and_then(Value::as_str) == Some("sse") => {
                return Err("the `sse` transport is deprecated and not supported; \
                            use `http` if the server has it"
                    .to_owned());
            }
            (None, Some(url)) => Reach::Web {
                url,
                headers: pairs(keys, "headers")?,
            },
            (Some(_), Some(_)) => {
                return Err("it has both `command` and `url`; remove one".to_owned());
            }
            (None, None) => return Err("it needs `command` or `url`".to_owned()),
        };
        Ok(Some(Self {
            name: name.into(),
            reach,
            timeout: None,
        }))
    }

    /// Returns the server with `${NAME}` and `${NAME:-default}` expanded.
    pub fn expanded(&self, lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        let all = |pairs: &BTreeMap<String, String>| {
            let pair = |(name, value): (&String, &String)| {
                Ok::<_, String>((name.clone(), expand(value, lookup)?))
            };
            pairs
                .iter()
                .map(pair)
                .collect::<Result<BTreeMap<_, _>, _>>()
        };
        let reach = match &self.reach {
            Reach::Program {
                command,
                args,
                env,
                cwd,
            } => Reach::Program {
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
            Reach::Web { url, headers } => Reach::Web {
                url: expand(url, lookup)?,
                headers: all(headers)?,
            },
        };
        Ok(Self {
            name: self.name.clone(),
            reach,
            timeout: self.timeout,
        })
    }

    /// Returns the command or the URL, for display. Do not use it after variables are expanded:
    /// they may be secrets.
    pub fn place(&self) -> String {
        match &self.reach {
            Reach::Program { command, args, .. } => std::iter::once(command)
                .chain(args)
                .cloned()
                .collect::<Vec<_>>()
                .join(" "),
            Reach::Web { url, .. } => url.clone(),
        }
    }
}

/// Returns the `.mcp.json` of the project that contains `current`, if it has one.
pub fn project_mcp_file(current: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let folders = scopes::project_folders(current, home);
    folders
        .iter()
        .map(|folder| folder.join(MCP_FILE))
        .find(|file| file.is_file())
}

/// Content of a `.mcp.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpFile {
    /// The usable servers.
    pub servers: Vec<McpServer>,
    /// All names, including disabled and invalid servers.
    pub names: BTreeSet<String>,
    /// What is wrong with the file.
    pub faults: Vec<String>,
}

/// Reads `.mcp.json`. A missing file is the same as an empty one.
pub fn read_mcp_file(path: &Path) -> McpFile {
    let fault = |why: String| McpFile {
        faults: vec![why],
        ..McpFile::default()
    };
    let text = match read_capped(path) {
        Ok(Some(text)) => text,
        Ok(None) => return McpFile::default(),
        Err(why) => return fault(why),
    };
    let value: Value = match serde_json::from_str(&text) {
        Ok(value) => value,
        Err(error) => return fault(format!("invalid JSON: {error}")),
    };
    let Some(servers) = value.get("mcpServers").and_then(Value::as_object) else {
        return fault("`mcpServers` is missing or not an object".to_owned());
    };
    let mut file = McpFile::default();
    for (name, keys) in servers.iter().take(MAX_SERVERS) {
        file.names.insert(name.clone());
        let read = match keys.as_object() {
            Some(keys) => McpServer::read(name, keys),
            None => Err("it is not an object".to_owned()),
        };
        match read {
            Ok(server) => file.servers.extend(server),
            Err(why) => file.faults.push(format!("invalid server `{name}`: {why}")),
        }
    }
    if servers.len() > MAX_SERVERS {
        file.faults.push(format!(
            "too many servers; only the first {MAX_SERVERS} are used"
        ));
    }
    file
}

fn read_capped(path: &Path) -> Result<Option<String>, String> {
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
        Err(error) => return Err(error.to_string()),
    };
    // Opening a FIFO would block.
    if !metadata.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    file.take(MAX_FILE + 1)
        .read_to_string(&mut text)
        .map_err(|error| error.to_string())?;
    if text.len() as u64 > MAX_FILE {
        return Err(format!(
            "it is larger than {}",
            prowess_diag::wording::size(MAX_FILE)
        ));
    }
    Ok(Some(text))
}

/// Checks a server name. Tools are named `mcp__NAME__tool`, so it consists of the characters of
/// tool names, without two underscores in a row.
fn check_name(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    // `user:pdf` is a skill in the user scope, whatever servers there are.
    let sound = Scope::parse(name).is_none()
        && !name.is_empty()
        && name.len() <= MAX_NAME
        && name.chars().all(plain)
        && !name.contains("__")
        && !name.ends_with('_');
    if sound {
        return Ok(());
    }
    Err(format!(
        "its name must have 1 to {MAX_NAME} letters, digits, `-` or single `_`, and must not be a scope name: tools are named `mcp__NAME__tool`"
    ))
}

fn text(keys: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match keys.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{key}` must be a string")),
    }
}

fn texts(keys: &Map<String, Value>, key: &str) -> Result<Vec<String>, String> {
    let wrong = || format!("`{key}` must be a list of strings");
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

fn pairs(keys: &Map<String, Value>, key: &str) -> Result<BTreeMap<String, String>, String> {
    let wrong = || format!("`{key}` must have string values");
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

/// Expands `${NAME}` and `${NAME:-default}` once. Other text is unchanged.
fn expand(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
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
                None => return Err(format!("the variable `{name}` is not set")),
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

    fn read(name: &str, keys: &Value) -> Result<Option<McpServer>, String> {
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
        assert_eq!(
            read("off", &json!({ "command": "x", "disabled": true })),
            Ok(None)
        );
        for (name, keys, why) in [
            ("a", json!({}), "it needs `command` or `url`"),
            ("a", json!({ "command": "x", "url": "y" }), "remove one"),
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
                "the `sse` transport",
            ),
            ("a__b", json!({ "command": "x" }), "its name must have"),
            ("a b", json!({ "command": "x" }), "its name must have"),
            ("", json!({ "command": "x" }), "its name must have"),
            ("user", json!({ "command": "x" }), "its name must have"),
        ] {
            let fault = read(name, &keys).unwrap_err();
            assert!(fault.contains(why), "{name} {keys}: {fault}");
        }
    }

    #[test]
    fn debug_output_hides_secrets() {
        let program = json!({ "command": "${K}", "args": ["${K}"], "env": { "KEY": "${K}" } });
        let web = json!({ "url": "https://x/?k=${K}", "headers": { "Authorization": "${K}" } });
        for keys in [program, web] {
            let server = read("a", &keys).unwrap().unwrap();
            assert!(server.place().contains("${K}"), "{}", server.place());
            let server = server.expanded(&|_| Some("hush".to_owned())).unwrap();
            assert!(server.place().contains("hush"), "the variable is expanded");
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
            assert_eq!(expand(text, &lookup), expected, "{text}");
        }
    }

    #[test]
    fn valid_servers_of_a_partly_invalid_file_are_used() {
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

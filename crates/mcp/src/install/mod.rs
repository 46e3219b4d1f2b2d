//! Installs the server into the configuration of MCP clients.
//!
//! A table gives the file and the format for each client. [`install`] adds the entry to that file
//! and leaves the rest unchanged.

mod json;
mod yaml;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use prowess_diag::suggest;
use serde_json::{Value, json};

/// Name of the server in a client's configuration.
pub const NAME: &str = "prowess";
/// Maximum size of a configuration file, in bytes.
const MAX_FILE: u64 = 16 * 1024 * 1024;
/// Timeout in the entry for Goose, in seconds.
const GOOSE_TIMEOUT: u32 = 300;

/// A supported MCP client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum McpClientApp {
    /// Claude Code.
    ClaudeCode,
    /// Claude Desktop.
    ClaudeDesktop,
    /// Cursor.
    Cursor,
    /// Visual Studio Code.
    VsCode,
    /// OpenAI Codex.
    Codex,
    /// Gemini CLI.
    GeminiCli,
    /// Goose.
    Goose,
    /// opencode.
    OpenCode,
}

/// Command that starts the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The program: a name or a path.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
}

impl Default for Launch {
    fn default() -> Self {
        Self {
            program: "prowess".to_owned(),
            arguments: vec!["mcp".to_owned()],
        }
    }
}

/// Folders of the clients' configuration files.
#[derive(Clone, Debug)]
pub struct Homes {
    /// The user's home folder.
    pub home: PathBuf,
    /// `$XDG_CONFIG_HOME`, or `.config` in the home folder.
    pub config: PathBuf,
    /// `true` on macOS, where applications use `~/Library`.
    pub mac: bool,
}

/// The entry for a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// File that the entry belongs in.
    pub path: PathBuf,
    /// The entry, as a complete new file.
    pub text: String,
}

/// Change made to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstallChange {
    /// The file was created.
    Created,
    /// The entry was added.
    Added,
    /// An existing entry was replaced.
    Replaced,
    /// The entry was already there.
    Unchanged,
}

/// Error from changing a file. The file is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The file cannot be read or written.
    #[error("cannot change `{}`", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// The content of the file is not valid.
    #[error("cannot change `{}`: {fault}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The error.
        fault: MergeError,
    },
    /// The file was modified since it was read.
    #[error("`{}` was modified by another program; try again", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
}

/// Error from adding an entry to a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// The text is not in the expected format.
    #[error("it is not valid {format}: error at byte {at}")]
    Syntax {
        /// The format.
        format: &'static str,
        /// Byte offset of the error.
        at: usize,
    },
    /// A key has a value of an unexpected type.
    #[error("the value of `{key}` is not a table")]
    NotATable {
        /// The key.
        key: &'static str,
    },
}

/// File format, with the key that contains the servers.
#[derive(Clone, Copy, Debug)]
enum Format {
    Json(&'static str),
    Toml(&'static str),
    Yaml(&'static str),
}

impl McpClientApp {
    /// All clients, sorted by name.
    pub const ALL: [Self; 8] = [
        Self::ClaudeCode,
        Self::ClaudeDesktop,
        Self::Codex,
        Self::Cursor,
        Self::GeminiCli,
        Self::Goose,
        Self::OpenCode,
        Self::VsCode,
    ];

    /// Returns the name used on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Codex => "codex",
            Self::Cursor => "cursor",
            Self::GeminiCli => "gemini-cli",
            Self::Goose => "goose",
            Self::OpenCode => "opencode",
            Self::VsCode => "vscode",
        }
    }

    /// Returns the display name.
    pub fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Codex => "Codex",
            Self::Cursor => "Cursor",
            Self::GeminiCli => "Gemini CLI",
            Self::Goose => "Goose",
            Self::OpenCode => "opencode",
            Self::VsCode => "VS Code",
        }
    }

    /// Parses the name used on the command line. The error is a similar name, if there is one.
    pub fn parse(word: &str) -> Result<Self, Option<&'static str>> {
        let found = Self::ALL.into_iter().find(|client| client.as_str() == word);
        found.ok_or_else(|| {
            let near = suggest::nearest(word, Self::ALL.into_iter().map(Self::as_str));
            Self::ALL
                .into_iter()
                .map(Self::as_str)
                .find(|known| Some(*known) == near)
        })
    }

    /// Returns the path of the configuration file.
    pub fn path(self, homes: &Homes) -> PathBuf {
        let Homes { home, config, mac } = homes;
        let support = home.join("Library/Application Support");
        let applications = if *mac { &support } else { config };
        match self {
            Self::ClaudeCode => home.join(".claude.json"),
            Self::ClaudeDesktop => applications.join("Claude/claude_desktop_config.json"),
            Self::Codex => home.join(".codex/config.toml"),
            Self::Cursor => home.join(".cursor/mcp.json"),
            Self::GeminiCli => home.join(".gemini/settings.json"),
            Self::Goose => config.join("goose/config.yaml"),
            Self::OpenCode => config.join("opencode/opencode.json"),
            Self::VsCode => applications.join("Code/User/mcp.json"),
        }
    }

    fn format(self) -> Format {
        match self {
            Self::ClaudeCode | Self::ClaudeDesktop | Self::Cursor | Self::GeminiCli => {
                Format::Json("mcpServers")
            }
            Self::Codex => Format::Toml("mcp_servers"),
            Self::Goose => Format::Yaml("extensions"),
            Self::OpenCode => Format::Json("mcp"),
            Self::VsCode => Format::Json("servers"),
        }
    }

    /// Returns the entry for the server.
    fn entry(self, launch: &Launch) -> Value {
        let Launch { program, arguments } = launch;
        match self {
            Self::ClaudeCode | Self::VsCode => {
                json!({ "type": "stdio", "command": program, "args": arguments })
            }
            Self::ClaudeDesktop | Self::Cursor | Self::GeminiCli | Self::Codex => {
                json!({ "command": program, "args": arguments })
            }
            Self::OpenCode => {
                let mut command = vec![program.clone()];
                command.extend(arguments.iter().cloned());
                json!({ "type": "local", "command": command, "enabled": true })
            }
            Self::Goose => json!({
                "name": NAME,
                "description": "Agent Skills",
                "type": "stdio",
                "enabled": true,
                "cmd": program,
                "args": arguments,
                "timeout": GOOSE_TIMEOUT,
            }),
        }
    }
}

/// Returns the entry for a client, and the file it belongs in.
pub fn snippet(client: McpClientApp, launch: &Launch, homes: &Homes) -> Snippet {
    let text = merge(client, launch, "").unwrap_or_default();
    Snippet {
        path: client.path(homes),
        text,
    }
}

/// Adds the entry for a client to a text.
pub fn merge(client: McpClientApp, launch: &Launch, before: &str) -> Result<String, MergeError> {
    let entry = client.entry(launch);
    match client.format() {
        Format::Json(section) => json::merge(before, section, &entry),
        Format::Toml(section) => merge_toml(before, section, &entry),
        Format::Yaml(section) => yaml::merge(before, section, &entry),
    }
}

fn merge_toml(before: &str, section: &'static str, entry: &Value) -> Result<String, MergeError> {
    let syntax = |error: toml_edit::TomlError| MergeError::Syntax {
        format: "TOML",
        at: error.span().map_or(0, |span| span.start),
    };
    let mut document: toml_edit::DocumentMut = before.parse().map_err(syntax)?;
    let mut own = toml_edit::Table::new();
    for (key, value) in entry.as_object().into_iter().flatten() {
        let value = match value {
            Value::Array(items) => {
                let items = items.iter().filter_map(Value::as_str);
                toml_edit::value(items.collect::<toml_edit::Array>())
            }
            other => toml_edit::value(other.as_str().unwrap_or_default()),
        };
        own.insert(key, value);
    }
    let servers = document.entry(section).or_insert_with(|| {
        let mut servers = toml_edit::Table::new();
        servers.set_implicit(true);
        toml_edit::Item::Table(servers)
    });
    match servers {
        toml_edit::Item::Table(servers) => {
            servers.insert(NAME, toml_edit::Item::Table(own));
        }
        toml_edit::Item::Value(toml_edit::Value::InlineTable(servers)) => {
            servers.insert(NAME, toml_edit::Value::InlineTable(own.into_inline_table()));
        }
        _ => return Err(MergeError::NotATable { key: section }),
    }
    Ok(document.to_string())
}

/// Adds the entry for a client to its configuration file, atomically. The rest of the file is
/// unchanged.
pub fn install(
    client: McpClientApp,
    launch: &Launch,
    homes: &Homes,
) -> Result<(PathBuf, InstallChange), InstallError> {
    let path = client.path(homes);
    let failed = |source| InstallError::File {
        path: path.clone(),
        source,
    };
    let before = match read(&path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    let text = before.as_deref().unwrap_or_default();
    let after = merge(client, launch, text).map_err(|fault| InstallError::Content {
        path: path.clone(),
        fault,
    })?;
    let change = match &before {
        None => InstallChange::Created,
        Some(before) if *before == after => InstallChange::Unchanged,
        Some(before) if has_entry(client, before) => InstallChange::Replaced,
        Some(_) => InstallChange::Added,
    };
    if change != InstallChange::Unchanged {
        write(&path, before.as_deref(), &after)?;
    }
    Ok((path, change))
}

/// Returns `true` if the text already has an entry for the server.
fn has_entry(client: McpClientApp, text: &str) -> bool {
    match client.format() {
        Format::Json(section) => json::has(text, section),
        Format::Toml(section) => text
            .parse::<toml_edit::DocumentMut>()
            .is_ok_and(|document| {
                document
                    .get(section)
                    .and_then(|item| item.get(NAME))
                    .is_some()
            }),
        Format::Yaml(section) => yaml::has(text, section),
    }
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?
        .take(MAX_FILE + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE {
        return Err(std::io::ErrorKind::FileTooLarge.into());
    }
    Ok(text)
}

/// Writes a file if it still has the content that was read. Keeps links and permissions.
fn write(path: &Path, before: Option<&str>, after: &str) -> Result<(), InstallError> {
    let failed = |source| InstallError::File {
        path: path.to_owned(),
        source,
    };
    let changed = || InstallError::Changed {
        path: path.to_owned(),
    };
    let target = match before {
        Some(_) => std::fs::canonicalize(path).map_err(failed)?,
        None => path.to_owned(),
    };
    let folder = target.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut file = tempfile::Builder::new()
        .prefix(".prowess-")
        .tempfile_in(folder)
        .map_err(failed)?;
    file.write_all(after.as_bytes()).map_err(failed)?;
    if before.is_some() {
        let permissions = std::fs::metadata(&target).map_err(failed)?.permissions();
        file.as_file()
            .set_permissions(permissions)
            .map_err(failed)?;
    }
    file.as_file().sync_all().map_err(failed)?;
    match before {
        Some(before) => {
            if read(&target).map_err(failed)? != before {
                return Err(changed());
            }
            file.persist(&target).map_err(|error| failed(error.error))?;
        }
        None => {
            file.persist_noclobber(&target)
                .map_err(|error| match error.error.kind() {
                    std::io::ErrorKind::AlreadyExists => changed(),
                    _ => failed(error.error),
                })?;
        }
    }
    Ok(())
}

//! The few lines with which a client finds the server.
//!
//! Where they stand, and in which format, is a table: one row for each client. [`install`] puts them
//! into the file that the client reads, and leaves everything else there as it is.

mod json;
mod yaml;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use prowess_diag::suggest;
use serde_json::{Value, json};

/// The name of the server in a client's settings.
pub const NAME: &str = "prowess";
/// Largest file of settings that is read.
const MAX_FILE: u64 = 16 * 1024 * 1024;
/// Seconds that Goose waits for an answer.
const GOOSE_TIMEOUT: u32 = 300;

/// A client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Client {
    /// Anthropic's agent in the terminal.
    ClaudeCode,
    /// Anthropic's application.
    ClaudeDesktop,
    /// The editor of that name.
    Cursor,
    /// Microsoft's editor.
    VsCode,
    /// OpenAI's agent.
    Codex,
    /// Google's agent.
    GeminiCli,
    /// The agent of that name.
    Goose,
    /// The agent of that name.
    OpenCode,
}

/// How the server is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The program: a name, or a path.
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

/// Where clients keep their settings.
#[derive(Clone, Debug)]
pub struct Homes {
    /// The person's home folder.
    pub home: PathBuf,
    /// `$XDG_CONFIG_HOME`, or `.config` in the home folder.
    pub config: PathBuf,
    /// Whether this is a Mac, where applications have a folder of their own.
    pub mac: bool,
}

/// The lines for a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// The file that they belong in.
    pub path: PathBuf,
    /// The lines; a whole file where there is none yet.
    pub text: String,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// There was none; it was made.
    Created,
    /// The lines are new in it.
    Added,
    /// Other lines for the server stood there.
    Replaced,
    /// The lines stood there already.
    Unchanged,
}

/// Why the lines were not put into a file. It is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The file cannot be read or written.
    #[error("cannot change {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// What stands in the file is not what the client would read.
    #[error("cannot add to {}: {fault}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: Fault,
    },
    /// Somebody else wrote to it since it was read.
    #[error("{} changed while it was being changed", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
}

/// Why lines cannot be added to a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// It is not written as it should be.
    #[error("it is not {format}, from byte {at} on")]
    Syntax {
        /// The format.
        format: &'static str,
        /// Where it ends to be.
        at: usize,
    },
    /// A key holds something else than expected.
    #[error("`{key}` is not a table there")]
    NotATable {
        /// The key.
        key: &'static str,
    },
}

/// How settings are written, and under which key the servers stand.
#[derive(Clone, Copy, Debug)]
enum Format {
    Json(&'static str),
    Toml(&'static str),
    Yaml(&'static str),
}

impl Client {
    /// Every client, in order of name.
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

    /// The word that one types.
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

    /// The name that people know it by.
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

    /// Reads the word that one types; the error is the one that may have been meant.
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

    /// The file that it reads.
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

    /// What it must know of the server.
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

/// The lines for a client, and where they belong.
pub fn snippet(client: Client, launch: &Launch, homes: &Homes) -> Snippet {
    let text = merge(client, launch, "").unwrap_or_default();
    Snippet {
        path: client.path(homes),
        text,
    }
}

/// Puts the lines for a client into a text that may have others.
pub fn merge(client: Client, launch: &Launch, before: &str) -> Result<String, Fault> {
    let entry = client.entry(launch);
    match client.format() {
        Format::Json(section) => json::merge(before, section, &entry),
        Format::Toml(section) => merge_toml(before, section, &entry),
        Format::Yaml(section) => yaml::merge(before, section, &entry),
    }
}

fn merge_toml(before: &str, section: &'static str, entry: &Value) -> Result<String, Fault> {
    let syntax = |error: toml_edit::TomlError| Fault::Syntax {
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
        _ => return Err(Fault::NotATable { key: section }),
    }
    Ok(document.to_string())
}

/// Puts the lines for a client into the file that it reads, whole or not at all. Everything else in
/// it stays.
pub fn install(
    client: Client,
    launch: &Launch,
    homes: &Homes,
) -> Result<(PathBuf, Change), InstallError> {
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
        None => Change::Created,
        Some(before) if *before == after => Change::Unchanged,
        Some(before) if has_entry(client, before) => Change::Replaced,
        Some(_) => Change::Added,
    };
    if change != Change::Unchanged {
        write(&path, before.as_deref(), &after)?;
    }
    Ok((path, change))
}

/// Whether a text has lines for the server already.
fn has_entry(client: Client, text: &str) -> bool {
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

/// Writes a file that still holds what was read. A link stays a link, permissions stay.
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

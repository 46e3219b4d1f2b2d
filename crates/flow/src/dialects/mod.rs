//! The formats of other systems, one file each.

mod claude_agents;
mod codex;
mod copilot;
mod core_agent;
mod crew_yaml;
mod gemini;
mod markdown;
mod opencode;
mod team_json;

pub(crate) use claude_agents::agent_pattern as claude_agent_pattern;

use std::path::PathBuf;

use prowess_diag::Span;

use crate::file_reader::{FileReader, ProjectFiles, SYNTAX, digest};
use crate::model::{AgentDef, AgentFile, TeamDef};
use crate::{MAX_FILE, json, tree};

/// The system whose format a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// `.claude/agents/*.md`
    Claude,
    /// `*.agent.md`
    Copilot,
    /// `.opencode/agent/*.md`
    OpenCode,
    /// `.gemini/agents/*.md`
    Gemini,
    /// `.codex/agents/*.toml`
    Codex,
    /// `.planck/teams/NAME/TEAM.json`
    Planck,
    /// `*.skilled_crew.yaml`
    SkilledCrew,
    /// `.agents/config.json`
    CoreAgent,
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Self; 8] = [
        Self::Claude,
        Self::Copilot,
        Self::OpenCode,
        Self::Gemini,
        Self::Codex,
        Self::Planck,
        Self::SkilledCrew,
        Self::CoreAgent,
    ];

    /// Returns the name for options and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Copilot => "copilot",
            Self::OpenCode => "opencode",
            Self::Gemini => "gemini",
            Self::Codex => "codex",
            Self::Planck => "planck",
            Self::SkilledCrew => "skilled-crew",
            Self::CoreAgent => "core-agent",
        }
    }

    /// Parses the name returned by [`Self::as_str`].
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|dialect| dialect.as_str() == name)
    }

    /// Returns the dialect of a file by its path. Returns `None` if no agents are read from it.
    pub fn of(path: &str) -> Option<Self> {
        let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let file = parts.pop()?;
        let below = |folders: &[&str]| {
            let is_pair = |pair: &[&str]| pair == folders;
            parts.windows(folders.len()).any(is_pair)
        };
        let ending = file.rsplit_once('.').map(|(_, ending)| ending);
        let is_markdown = ending == Some("md") && !file.eq_ignore_ascii_case("README.md");
        match file {
            "TEAM.json" => Some(Self::Planck),
            "config.json" if parts.last() == Some(&".agents") => Some(Self::CoreAgent),
            _ if file.ends_with(".skilled_crew.yaml") || file.ends_with(".skilled_crew.yml") => {
                Some(Self::SkilledCrew)
            }
            _ if ending == Some("toml") && below(&[".codex", "agents"]) => Some(Self::Codex),
            _ if !is_markdown => None,
            _ if below(&[".claude", "agents"]) => Some(Self::Claude),
            _ if below(&[".gemini", "agents"]) => Some(Self::Gemini),
            _ if [".opencode", "opencode"]
                .iter()
                .any(|top| below(&[top, "agent"]) || below(&[top, "agents"])) =>
            {
                Some(Self::OpenCode)
            }
            _ if file.ends_with(".agent.md") => Some(Self::Copilot),
            _ => None,
        }
    }
}

/// Reads an agent file. `path` is its path in the project. Never fails: what cannot be read is a
/// finding.
pub fn read(dialect: Dialect, path: &str, bytes: &[u8], files: &dyn ProjectFiles) -> AgentFile {
    let valid = bytes.get(..MAX_FILE.min(bytes.len())).unwrap_or_default();
    let text = match std::str::from_utf8(valid) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&valid[..error.valid_up_to()]).unwrap_or_default(),
    };
    let mut reader = FileReader::new(path, text, files);
    let mut agents = Vec::new();
    let mut team = None;
    if bytes.len() > MAX_FILE {
        let message = "the file is larger than 1 MiB";
        reader.report(SYNTAX, Span::at(0), message, "split it");
    } else if text.len() < bytes.len() && dialect.is_structured() {
        let message = "the file is not UTF-8";
        reader.report(SYNTAX, Span::at(text.len()), message, "save it as UTF-8");
    } else {
        (agents, team) = match dialect {
            Dialect::Claude => (claude_agents::read(&mut reader, bytes), None),
            Dialect::Copilot => (copilot::read(&mut reader, bytes), None),
            Dialect::OpenCode => (opencode::read(&mut reader, bytes), None),
            Dialect::Gemini => (gemini::read(&mut reader, bytes), None),
            Dialect::Codex => (codex::read(&mut reader), None),
            Dialect::Planck => team_json::read(&mut reader),
            Dialect::SkilledCrew => crew_yaml::read(&mut reader),
            Dialect::CoreAgent => core_agent::read(&mut reader),
        };
    }
    let mut sources = reader.take_sources();
    sources.insert(path.into(), digest(bytes));
    AgentFile {
        path: path.into(),
        dialect,
        agents,
        team,
        sources,
        root: PathBuf::new(),
        reports: reader.finish(),
    }
}

impl Dialect {
    /// Returns `true` for JSON, YAML and TOML files, which have no frontmatter.
    fn is_structured(self) -> bool {
        matches!(
            self,
            Self::Codex | Self::Planck | Self::SkilledCrew | Self::CoreAgent
        )
    }
}

/// The agents of a file, and their team.
type Contents = (Vec<AgentDef>, Option<TeamDef>);

/// Parses the whole file as a JSON object.
pub(crate) fn json_object(reader: &mut FileReader<'_>) -> Option<Vec<tree::NodeEntry>> {
    match json::parse(reader.text) {
        Ok(node) => {
            if let tree::NodeValue::Map(entries) = node.value {
                Some(entries)
            } else {
                let message = format!("the file is {}, not an object", node.kind());
                reader.report(SYNTAX, node.span, message, "write `{ … }`");
                None
            }
        }
        Err(error) => {
            let message = format!("invalid JSON: {}", error.message);
            reader.report(SYNTAX, error.at, message, "");
            None
        }
    }
}

#[cfg(test)]
mod tests;

//! Converts agents, skills and missions into the files of another system.
//!
//! [`convert`] takes what was read and returns files and findings. Nothing is left out silently: what
//! the target cannot express is a finding of the rule `convert-lost`, at its place in the source.

mod agents_md;
mod skills;
mod squadron;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use prowess_diag::{Diagnostic, FileReport, Severity, Span, wording};
use prowess_hcl::{Block, Item, Tree};
use prowess_spec::name;

use crate::file_reader::shown;
use crate::mission::{BlockPlace, MissionProject, MissionText, ToolRef};
use crate::{AgentFile, MAX_FILE, ProjectFiles};

/// The rule about what a target cannot express.
pub const LOST: &str = "convert-lost";
/// Maximum number of findings per file. One more says how many others there are.
const MAX_FINDINGS: usize = 1_000;
/// Maximum length of the name of a file or a folder, in bytes.
const MAX_FILE_NAME: usize = 200;
/// What is filled in when a skill is loaded, and has no meaning in the text of a mission.
const HOLES: [&str; 4] = ["$ARGUMENTS", "${CLAUDE_", "${PROWESS_", "!`"];
/// Names that Windows reserves.
const RESERVED: [&str; 22] = [
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8",
    "com9", "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];

/// The system whose files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConvertTarget {
    /// HCL files of Squadron.
    Squadron,
    /// `agents/*.md` in the form of Claude Code.
    AgentsMd,
    /// Folders with a `SKILL.md`.
    Skills,
}

impl ConvertTarget {
    /// All targets.
    pub const ALL: [Self; 3] = [Self::Squadron, Self::AgentsMd, Self::Skills];

    /// Returns the name for options and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Squadron => "squadron",
            Self::AgentsMd => "agents-md",
            Self::Skills => "skills",
        }
    }
}

/// What is converted.
#[derive(Debug, Default)]
pub struct ConvertSource<'a> {
    /// A project of Squadron.
    pub missions: Option<MissionSource<'a>>,
    /// Agent files of any dialect.
    pub agents: Vec<ConvertAgent<'a>>,
    /// Folders with a `SKILL.md`.
    pub skills: Vec<SkillText>,
    /// The MCP servers in the files of agents.
    pub servers: Vec<ConvertServer>,
}

/// An MCP server of an agent.
#[derive(Clone, Debug)]
pub struct ConvertServer {
    /// The agent.
    pub agent: Box<str>,
    /// The file that defines the server.
    pub file: Box<str>,
    /// The name of the server.
    pub name: Box<str>,
    /// How it is reached.
    pub transport: ConvertTransport,
}

/// How a server is reached. `${NAME}` in a value is a variable.
#[derive(Clone, PartialEq, Eq)]
pub enum ConvertTransport {
    /// A program.
    Program {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its environment.
        env: BTreeMap<String, String>,
        /// `true` if it starts in a folder of its own.
        has_folder: bool,
    },
    /// A server on the web.
    Web {
        /// Its address.
        url: String,
        /// The headers of every request.
        headers: BTreeMap<String, String>,
    },
}

impl std::fmt::Debug for ConvertTransport {
    /// Prints no values: each may contain a secret.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Program { .. } => "a program",
            Self::Web { .. } => "an address",
        })
    }
}

/// A project of Squadron.
pub struct MissionSource<'a> {
    /// The folder of the project, as findings show it. Empty for the current one.
    pub folder: String,
    /// Its `.hcl` files.
    pub files: &'a [MissionText],
    /// What they say. Read without variables of the environment.
    pub project: &'a MissionProject,
    /// Its other files.
    pub others: &'a dyn ProjectFiles,
}

impl std::fmt::Debug for MissionSource<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "MissionSource({})", self.folder)
    }
}

/// An agent file.
pub struct ConvertAgent<'a> {
    /// The folder that its path is relative to, as findings show it. Empty for the current one.
    pub folder: String,
    /// The agents.
    pub file: &'a AgentFile,
    /// The files beside it.
    pub others: &'a dyn ProjectFiles,
}

impl std::fmt::Debug for ConvertAgent<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "ConvertAgent({})", self.file.path)
    }
}

/// The `SKILL.md` of a folder.
#[derive(Clone, Debug)]
pub struct SkillText {
    /// Its path, as findings show it.
    pub path: String,
    /// The name of its folder.
    pub folder: Option<String>,
    /// Its text.
    pub text: Arc<str>,
    /// The other files of the folder.
    pub others: Vec<String>,
}

/// A file to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvertedFile {
    /// Its path: names that are valid everywhere, separated by `/`.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// The files of a target, and what they cannot express.
#[derive(Clone, Debug, Default)]
pub struct Conversion {
    /// The files, by path.
    pub files: Vec<ConvertedFile>,
    /// Findings of the rule `convert-lost`. The paths are shown as the source gives them.
    pub reports: Vec<FileReport>,
}

/// Converts everything of a source.
pub fn convert(source: &ConvertSource<'_>, target: ConvertTarget) -> Conversion {
    let mut output = Output::default();
    match target {
        ConvertTarget::Squadron => squadron::convert(source, &mut output),
        ConvertTarget::AgentsMd => agents_md::convert(source, &mut output),
        ConvertTarget::Skills => skills::convert(source, &mut output),
    }
    output.finish()
}

/// A place in the source.
#[derive(Clone, Debug)]
struct At {
    path: String,
    text: Option<Arc<str>>,
    span: Span,
}

impl At {
    fn with(&self, span: Span) -> Self {
        Self {
            span,
            ..self.clone()
        }
    }
}

impl MissionSource<'_> {
    fn at(&self, place: &BlockPlace) -> At {
        self.at_span(&place.file, place.span)
    }

    fn at_span(&self, file: &str, span: Span) -> At {
        let found = self.files.iter().find(|one| *one.path == *file);
        let bytes = found.and_then(|one| one.bytes.as_ref().ok());
        let text = bytes.and_then(|bytes| str::from_utf8(bytes).ok());
        At {
            path: joined(&self.folder, file),
            text: text.map(Arc::from),
            span,
        }
    }

    /// Parses the files of the project, without those of packets.
    fn trees(&self) -> Vec<(&str, Tree)> {
        let is_read = |file: &&MissionText| {
            let mut known = self.project.files.iter();
            known.any(|known| *known.path == *file.path)
        };
        let mut files: Vec<&MissionText> = self.files.iter().filter(is_read).collect();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        files
            .into_iter()
            .filter_map(|file| {
                let bytes = file.bytes.as_ref().ok()?;
                Some((file.path.as_str(), prowess_hcl::parse(bytes)))
            })
            .collect()
    }
}

impl ConvertAgent<'_> {
    fn at(&self, file: &str, span: Span) -> At {
        let bytes = self.others.read(file).ok();
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        At {
            path: joined(&self.folder, file),
            text: text.map(Arc::from),
            span,
        }
    }
}

impl SkillText {
    fn at(&self, span: Span) -> At {
        At {
            path: self.path.clone(),
            text: Some(Arc::clone(&self.text)),
            span,
        }
    }
}

fn joined(folder: &str, path: &str) -> String {
    match folder {
        "" | "." => path.to_owned(),
        folder => format!("{}/{path}", folder.trim_end_matches('/')),
    }
}

/// The files and findings of a conversion.
#[derive(Default)]
struct Output {
    files: Vec<ConvertedFile>,
    /// The paths in small letters: some file systems do not distinguish case.
    taken: BTreeSet<String>,
    reports: BTreeMap<String, Losses>,
}

/// The findings of a file.
#[derive(Default)]
struct Losses {
    text: Option<Arc<str>>,
    findings: Vec<Diagnostic>,
    /// Number of findings that are not kept.
    more: usize,
}

impl Output {
    /// Adds a file. `path` was returned by [`Self::free`] or is of this program.
    fn add(&mut self, path: impl Into<String>, text: impl Into<String>) {
        let path = path.into();
        self.taken.insert(path.to_lowercase());
        self.files.push(ConvertedFile {
            path,
            text: text.into(),
        });
    }

    /// Returns the first name whose path is free: the name, else one with a number.
    fn free(&mut self, name: &str, path: impl Fn(&str) -> String) -> String {
        let mut free = name.to_owned();
        let mut number = 2_usize;
        while self.taken.contains(&path(&free).to_lowercase()) {
            free = format!("{name}-{number}");
            number += 1;
        }
        self.taken.insert(path(&free).to_lowercase());
        free
    }

    /// Adds a file that Prowess reads, and reports one that is too large for that.
    fn add_readable(&mut self, at: &At, path: String, text: String) {
        if text.len() > MAX_FILE {
            let message = format!("`{path}` is larger than 1 MiB: Prowess does not read it");
            self.lost(at, message, "shorten the text");
        }
        self.add(path, text);
    }

    /// Adds a finding about something that the target cannot express.
    fn lost(&mut self, at: &At, message: impl Into<String>, help: impl Into<String>) {
        let losses = self.reports.entry(at.path.clone()).or_default();
        if losses.text.is_none() {
            losses.text.clone_from(&at.text);
        }
        if losses.findings.len() >= MAX_FINDINGS {
            losses.more += 1;
            return;
        }
        let (message, help): (String, String) = (message.into(), help.into());
        losses.findings.push(Diagnostic {
            rule: LOST,
            severity: Severity::Warning,
            message: message.into(),
            span: at.text.is_some().then_some(at.span),
            label: None,
            help: (!help.is_empty()).then(|| help.into()),
            fix: None,
        });
    }

    fn finish(mut self) -> Conversion {
        self.files.sort_by(|one, other| one.path.cmp(&other.path));
        let report = |(path, mut losses): (String, Losses)| {
            losses
                .findings
                .sort_by_key(|finding| finding.span.unwrap_or_default());
            if losses.more > 0 {
                let more = wording::count(losses.more, "thing");
                losses.findings.push(Diagnostic {
                    rule: LOST,
                    severity: Severity::Warning,
                    message: format!("{more} more cannot be expressed").into(),
                    span: None,
                    label: None,
                    help: None,
                    fix: None,
                });
            }
            FileReport {
                path,
                text: losses.text,
                diagnostics: losses.findings,
            }
        };
        Conversion {
            files: self.files,
            reports: self.reports.into_iter().map(report).collect(),
        }
    }
}

/// Returns a name for a file or a folder: small letters, digits and hyphens. Valid on all systems, and
/// as the name of a skill.
fn file_name(text: &str) -> String {
    let mut name = name::repair(text).unwrap_or_else(|| "unnamed".to_owned());
    if let Some((cut, _)) = name.char_indices().find(|(at, _)| *at >= MAX_FILE_NAME) {
        name.truncate(cut);
    }
    let name = name.trim_matches('-');
    if RESERVED.contains(&name) {
        return format!("{name}-1");
    }
    name.to_owned()
}

/// Returns the block whose label is at a place.
fn block_at<'t>(trees: &'t [(&str, Tree)], place: &BlockPlace) -> Option<&'t Block> {
    fn search(items: &[Item], span: Span, depth: usize) -> Option<&Block> {
        items.iter().find_map(|item| {
            let Item::Block(block) = item else {
                return None;
            };
            if block.labels.first().is_some_and(|label| label.span == span) {
                return Some(block);
            }
            (depth < 4)
                .then(|| search(&block.items, span, depth + 1))
                .flatten()
        })
    }
    let (_, tree) = trees.iter().find(|(path, _)| **path == *place.file)?;
    search(&tree.items, place.span, 0)
}

/// Reports the variables in the texts of a block. A target without variables gets their defaults.
fn report_variables(
    output: &mut Output,
    source: &MissionSource<'_>,
    trees: &[(&str, Tree)],
    place: &BlockPlace,
    attributes: &[&str],
) {
    let Some(block) = block_at(trees, place) else {
        return;
    };
    for attribute in block.attributes() {
        if !attributes.contains(&&*attribute.name.text) {
            continue;
        }
        let mut names = BTreeSet::new();
        attribute.value.references(&mut |root, path, _| {
            if let ("vars", Some(prowess_hcl::ReferenceStep::Name(name))) = (root, path.first()) {
                names.insert(name.clone());
            }
        });
        for name in names {
            let at = source.at_span(&place.file, attribute.value.span);
            let message = format!(
                "`vars.{}` in `{}` is no variable any more",
                shown(&name),
                attribute.name.text
            );
            let help = "the text has its default, or `${vars.NAME}` if it has none";
            output.lost(&at, message, help);
        }
    }
}

/// Returns the name of a tool in `tools` and `allowed-tools`. Tools of servers have the names that
/// Claude Code gives them, others those of Squadron.
fn tool_name(tool: &ToolRef) -> String {
    match tool {
        ToolRef::BuiltIn(name) => format!("builtins.{name}"),
        ToolRef::Bound(name) => format!("tools.{name}"),
        ToolRef::Server { server, tool } | ToolRef::UserServer { server, tool }
            if &**tool == "all" =>
        {
            format!("mcp__{server}")
        }
        ToolRef::Server { server, tool } | ToolRef::UserServer { server, tool } => {
            format!("mcp__{server}__{tool}")
        }
        ToolRef::Plugin { plugin, tool } => format!("plugins.{plugin}.{tool}"),
    }
}

/// Writes a list of frontmatter.
fn push_list(out: &mut String, key: &str, items: &[String]) {
    if items.is_empty() {
        out.push_str(&format!("{key}: []\n"));
        return;
    }
    out.push_str(&format!("{key}:\n"));
    for item in items {
        out.push_str(&format!(
            "  - {}\n",
            prowess_spec::yaml::write::scalar(item)
        ));
    }
}

/// Writes a text of frontmatter.
fn push_text(out: &mut String, key: &str, text: &str) {
    out.push_str(&format!(
        "{key}: {}\n",
        prowess_spec::yaml::write::scalar(text)
    ));
}

/// Reports the blocks of a project that a target has no place for.
fn report_blocks(
    output: &mut Output,
    source: &MissionSource<'_>,
    trees: &[(&str, Tree)],
    written: &[&str],
) {
    for (path, tree) in trees {
        for item in &tree.items {
            let Item::Block(block) = item else { continue };
            let kind = &*block.kind.text;
            // A variable is reported where it is used.
            if kind == "variable" || written.contains(&kind) {
                continue;
            }
            let name = block.labels.first().map(|label| shown(&label.text));
            let name = name.map(|name| format!(" `{name}`")).unwrap_or_default();
            let help = match kind {
                "skill" => "convert it with `--to skills`",
                "agent" => "convert it with `--to agents-md`",
                "mission" | "memory" | "packet" => "missions can only be written as HCL",
                "mcp" => "add the server to `.mcp.json`",
                "model" => "set keys and addresses of models in your settings",
                _ => "",
            };
            let at = source.at_span(path, block.head());
            output.lost(&at, format!("the {kind}{name} is not written"), help);
        }
    }
}

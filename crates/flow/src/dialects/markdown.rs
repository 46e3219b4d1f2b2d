//! Agents in Markdown files with frontmatter, which four systems use.

use prowess_diag::Span;
use prowess_spec::problem::ProblemKind;
use prowess_spec::{ParsedSkill, parse};

use crate::Dialect;
use crate::file_reader::{FileReader, NAME, VALUE, find};
use crate::model::{AgentDef, AgentName, AgentNameFault, ModelChoice, Selection};
use crate::tree::{NodeEntry, entries_from_yaml};

/// A Markdown file: its frontmatter, and an agent with what all systems share.
pub(super) struct MarkdownAgent {
    pub(super) entries: Vec<NodeEntry>,
    pub(super) agent: AgentDef,
    /// A restricting key that may be in a part of the frontmatter that was not read.
    pub(super) unread: Option<&'static str>,
}

/// Keys that restrict an agent, in lower case.
const RESTRICTING: [&str; 5] = [
    "tools",
    "allowedtools",
    "disallowedtools",
    "permission",
    "permissionmode",
];

/// Returns a restricting key that a part of the frontmatter mentions which was not read.
fn unread_key(
    bytes: &[u8],
    parsed: &ParsedSkill<'_>,
    entries: &[NodeEntry],
) -> Option<&'static str> {
    let is_unclosed = parsed
        .problems
        .iter()
        .any(|problem| problem.kind == ProblemKind::FrontmatterUnclosed);
    // A line that was repaired may have become a part of the value above it.
    if parsed.problems.is_empty() {
        return None;
    }
    // The text ends at the first invalid byte.
    let is_cut = parsed.text.len() < bytes.len();
    let all = String::from_utf8_lossy(bytes);
    // Without its end, the frontmatter may be the first block.
    let block = match parsed.yaml.filter(|_| !is_unclosed && !is_cut) {
        Some(yaml) => yaml.of(parsed.text),
        None if is_cut => all.rsplit_once("\n---").map_or(&*all, |(block, _)| block),
        None => all.split("\n\n").next().unwrap_or_default(),
    };
    let block = block.to_ascii_lowercase();
    // A key may be written with escapes. Repairs keep all keys.
    let is_lost = parsed.manifest.incomplete || is_unclosed;
    let mut escapes = ["\\x", "\\u", "\\\n"].iter();
    let has_escapes = is_lost && escapes.any(|one| block.contains(one));
    let is_read = |key: &str| {
        let mut known = entries.iter();
        known.any(|entry| entry.key.eq_ignore_ascii_case(key))
    };
    let mut keys = RESTRICTING.into_iter().filter(|key| !is_read(key));
    keys.find(|key| has_escapes || has_key(&block, key))
}

/// Returns `true` if a text in lower case may have a key, in lines or in braces.
fn has_key(block: &str, key: &str) -> bool {
    let is_around = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '?' | '-');
    let mut parts = block.split(['\n', '\r', '{', ',']);
    parts.any(|part| {
        let rest = part.trim_start_matches(is_around).strip_prefix(key);
        let rest = rest.map(|rest| rest.trim_start_matches(is_around));
        // `? key` has its colon in the next line.
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '#', '}']))
    })
}

/// Restricts an agent whose file may restrict it in a part that was not read: it has no tools, and
/// starts no agents.
pub(super) fn restrict_unread(
    reader: &mut FileReader<'_>,
    unread: Option<&'static str>,
    agent: &mut AgentDef,
) {
    let Some(key) = unread else {
        return;
    };
    agent.tools = Selection::none();
    agent.calls = Selection::none();
    agent.is_read_only = true;
    let message = format!("`{key}` may be in the part that cannot be read: the agent has no tools");
    reader.report(VALUE, agent.span, message, "fix the frontmatter");
}

/// Reads the frontmatter and the body. `ending` is removed from the file name if there is no
/// `name`. Returns `None` if the file names no agent.
pub(super) fn read(
    reader: &mut FileReader<'_>,
    bytes: &[u8],
    dialect: Dialect,
    ending: &str,
) -> Option<MarkdownAgent> {
    let parsed = parse(bytes);
    reader.check_frontmatter(&parsed);
    let entries = entries_from_yaml(&parsed.manifest.entries);
    let name = name(reader, &entries, dialect, ending)?;
    let description = reader.text(&entries, "description").unwrap_or_default();
    if description.trim().is_empty() && dialect != Dialect::OpenCode {
        let message = "`description` is missing: other agents do not learn when to use this one";
        let span = Span::at(parsed.yaml.map_or(0, |yaml| yaml.start as usize));
        reader.report(
            VALUE.as_warning(),
            span,
            message,
            "add a line `description: …`",
        );
    }
    let span = parsed.yaml.unwrap_or_default();
    let mut agent = AgentDef::new(name, dialect, reader.path, span);
    agent.description = description.trim().into();
    agent.set_prompt(parsed.body_text());
    // Copilot accepts a list of models, best first.
    let model = find(&entries, "model").and_then(|entry| entry.value.items()?.first()?.text());
    if let Some(model) = model {
        agent.model = ModelChoice::parse(model);
    } else if let Some(model) = reader.text(&entries, "model") {
        agent.model = ModelChoice::parse(&model);
    }
    let unread = unread_key(bytes, &parsed, &entries);
    Some(MarkdownAgent {
        entries,
        agent,
        unread,
    })
}

/// Returns the `name`, else the name of the file.
fn name(
    reader: &mut FileReader<'_>,
    entries: &[NodeEntry],
    dialect: Dialect,
    ending: &str,
) -> Option<AgentName> {
    let mut given = None;
    if let Some(entry) = find(entries, "name") {
        let span = entry.value.span;
        let text = reader.text(entries, "name")?;
        if AgentName::new(&text) != Err(AgentNameFault::Separator) {
            return reader.name(&text, span);
        }
        given = Some(span);
    }
    let file = reader.path.rsplit('/').next().unwrap_or_default();
    let stem = file.strip_suffix(ending).unwrap_or(file);
    if let Some(span) = given {
        let message = "the name contains `:` or `/`: the name of the file is used";
        let help = "these characters separate the parts of qualified names";
        reader.report(NAME.as_warning(), span, message, help);
    } else if dialect != Dialect::OpenCode {
        let message = "`name` is missing: the name of the file is used";
        let help = format!("add a line `name: {}`", crate::file_reader::shown(stem));
        reader.report(NAME.as_warning(), Span::at(0), message, help);
    }
    reader.name(stem, Span::at(0))
}

/// Removes the spans of names.
pub(super) fn bare(names: Vec<(Box<str>, Span)>) -> Vec<Box<str>> {
    names.into_iter().map(|(name, _)| name).collect()
}

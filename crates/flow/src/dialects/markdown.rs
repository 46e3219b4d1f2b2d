//! Agents in Markdown files with frontmatter, which four systems use.

use prowess_diag::Span;
use prowess_spec::parse;

use crate::Dialect;
use crate::file_reader::{FileReader, NAME, VALUE, find};
use crate::model::{AgentDef, AgentName, ModelChoice, NameFault};
use crate::tree::{NodeEntry, entries_from_yaml};

/// A Markdown file: its frontmatter, and an agent with what all systems share.
pub(super) struct MarkdownAgent {
    pub(super) entries: Vec<NodeEntry>,
    pub(super) agent: AgentDef,
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
    Some(MarkdownAgent { entries, agent })
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
        if AgentName::new(&text) != Err(NameFault::Separator) {
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

//! The system prompt: instructions, the project's notes and the index of skills.

use prowess_agent::SkillListing;
use prowess_catalog::index::{
    self, IndexEntry, IndexFormat, IndexLimit, IndexOptions, IndexText, ShownSkills,
};
use prowess_catalog::rank::{self, RankedSkill};
use prowess_catalog::{Audience, CatalogView, SkillVisibility};
use prowess_tools::names::{LIST_SKILLS, LOAD_SKILL, SEARCH_SKILLS};
use prowess_tools::{ToolContext, ToolSelection, Toolset};

/// The default instructions for a model.
pub const INSTRUCTIONS: &str = include_str!("prompts/system.md");

/// Maximum number of skills named in the record of an index.
const MOST_NAMED: usize = 5_000;

/// The system prompt of a session, with a record of the skills in it.
#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    /// The system prompt, in blocks.
    pub(crate) system: Vec<String>,
    /// The record of listed, omitted and hidden skills.
    pub(crate) listed: SkillListing,
    /// The skills that the model has been told about.
    pub(crate) known: ShownSkills,
    /// The generation of the catalog that was listed.
    pub(crate) generation: u64,
}

/// Builds the system prompt. `tools` are the names of the model's tools.
pub(crate) fn prompt(context: &ToolContext, tools: &[Box<str>]) -> Prompt {
    let settings = &context.settings;
    let default = || INSTRUCTIONS.trim().to_owned();
    let mut system = vec![settings.instructions.clone().unwrap_or_else(default)];
    if let Some(notes) = &settings.project_notes {
        system.push(format!(
            "Project instructions for agents (AGENTS.md):\n\n{notes}"
        ));
    }
    let catalog = context.services.registry.snapshot();
    let view = CatalogView::new(&catalog, &context.settings.visibility, Audience::Model);
    let (made, entries) = index_of(context, &view, tools, IndexFormat::default());
    let known = ShownSkills::of(&entries);
    let shown: Vec<Box<str>> = made
        .report
        .rows
        .iter()
        .filter(|row| row.fate.is_shown())
        .take(MOST_NAMED)
        .map(|row| row.name.into())
        .collect();
    let hidden = catalog
        .entries()
        .iter()
        .filter_map(|entry| match view.visibility(entry) {
            SkillVisibility::Hidden(why) => Some((entry.name().into(), why.as_str().into())),
            SkillVisibility::Full | SkillVisibility::NameOnly => None,
        });
    let listed = SkillListing {
        tokens: made.tokens as u64,
        budget: match made.report.limit {
            IndexLimit::Tokens(tokens) => tokens as u64,
            _ => 0,
        },
        omitted: made
            .report
            .rows
            .iter()
            .filter(|row| !row.fate.is_shown())
            .count(),
        shown,
        hidden: hidden.take(MOST_NAMED).collect(),
        known: if known.skills.len() <= MOST_NAMED {
            known.skills.clone()
        } else {
            Vec::new()
        },
    };
    if !made.text.is_empty() {
        system.push(made.text);
    }
    Prompt {
        system,
        listed,
        known,
        generation: catalog.generation(),
    }
}

/// Returns the index of skills that a session with this context would start with. `tools` are the
/// names of the model's tools; without `load_skill`, the index is empty.
pub fn skill_index(context: &ToolContext, tools: &[Box<str>], format: IndexFormat) -> IndexText {
    let mut visibility = context.settings.visibility.clone();
    visibility.touched.get_or_insert_default();
    let catalog = context.services.registry.snapshot();
    let view = CatalogView::new(&catalog, &visibility, Audience::Model);
    index_of(context, &view, tools, format).0
}

/// Returns the index of skills that a session with this context and the usual tools would start
/// with.
pub fn starting_index(context: &ToolContext, format: IndexFormat) -> IndexText {
    // Only a schema of a result can be invalid, and there is none.
    let tools = Toolset::new(&ToolSelection::default());
    let names: Vec<Box<str>> = tools
        .iter()
        .flat_map(|tools| tools.tools(context))
        .map(|tool| tool.name().into())
        .collect();
    skill_index(context, &names, format)
}

/// Writes the index, and returns it with the skills that it is about.
fn index_of<'v>(
    context: &ToolContext,
    view: &'v CatalogView<'_>,
    tools: &[Box<str>],
    format: IndexFormat,
) -> (IndexText, Vec<IndexEntry<'v>>) {
    let rotation = context.rotation();
    let has = |name: &'static str| tools.iter().any(|tool| **tool == *name).then_some(name);
    let load_tool = has(LOAD_SKILL);
    // The list is useless without a tool that loads a skill.
    let entries: Vec<IndexEntry<'_>> = match load_tool {
        Some(_) => index::entries(view, &ranked(context, view, rotation)),
        None => Vec::new(),
    };
    let options = IndexOptions {
        format,
        budget: context.settings.index,
        listing: context.settings.listing,
        discovery_tool: has(LIST_SKILLS),
        search_tool: has(SEARCH_SKILLS),
        load_tool,
        rotation,
        generation: context.services.registry.snapshot().generation(),
    };
    let made = index::index(&entries, &options);
    (made, entries)
}

/// Ranks the visible skills by recorded usage, as the listing requires.
pub fn ranked_skills(context: &ToolContext, view: &CatalogView<'_>) -> Vec<RankedSkill> {
    ranked(context, view, context.rotation())
}

fn ranked(context: &ToolContext, view: &CatalogView<'_>, rotation: u64) -> Vec<RankedSkill> {
    let rows = context.project_usage();
    let used = rank::union(rows.iter().map(|row| &row.usage));
    let skills: Vec<_> = view
        .visible()
        .map(|(entry, _)| entry.skill.clone())
        .collect();
    let now = context.services.clock.now();
    let ranking = context.settings.listing.ranking(now, rotation);
    rank::rank(&skills, &used, &ranking)
}

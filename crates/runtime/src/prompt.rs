//! The system prompt: instructions, the project's notes and the index of skills.

use prowess_agent::SkillListing;
use prowess_catalog::index::{self, IndexLimit, IndexOptions, ShownSkills};
use prowess_catalog::rank::{self, RankedSkill};
use prowess_catalog::{Audience, CatalogView, SkillVisibility};
use prowess_tools::ToolContext;
use prowess_tools::names::{LIST_SKILLS, LOAD_SKILL, SEARCH_SKILLS};

/// The default instructions for a model.
pub const INSTRUCTIONS: &str = include_str!("prompts/system.md");

/// Number of skills that count as recently used.
const LAST_USED: usize = 5;
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
    let has = |name: &'static str| tools.iter().any(|tool| **tool == *name).then_some(name);
    let catalog = context.services.registry.snapshot();
    let view = CatalogView::new(&catalog, &context.settings.visibility, Audience::Model);
    let entries = index::entries(&view, &ranked(context, &view));
    let made = index::index(
        &entries,
        &IndexOptions {
            budget: settings.index,
            listing: settings.listing,
            discovery_tool: has(LIST_SKILLS).or(has(SEARCH_SKILLS)),
            load_tool: has(LOAD_SKILL),
            generation: catalog.generation(),
            ..IndexOptions::default()
        },
    );
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
    let known = ShownSkills::of(&entries);
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
    // The list is useless without a tool that loads a skill.
    if !made.text.is_empty() && has(LOAD_SKILL).is_some() {
        system.push(made.text);
    }
    Prompt {
        system,
        listed,
        known,
        generation: catalog.generation(),
    }
}

/// Ranks the visible skills by recorded usage. Returns an empty list if usage is not recorded.
fn ranked(context: &ToolContext, view: &CatalogView<'_>) -> Vec<RankedSkill> {
    if context.services.usage.is_none() {
        return Vec::new();
    }
    let rows = context.project_usage();
    let used = rank::union(rows.iter().map(|row| &row.usage));
    let skills: Vec<_> = view
        .visible()
        .map(|(entry, _)| entry.skill.clone())
        .collect();
    rank::rank(
        &skills,
        &used,
        &rank::RankOptions::new(context.services.clock.now(), LAST_USED),
    )
}

//! What a model is told before anything is said: instructions, the project's notes, the index.

use prowess_agent::SkillListing;
use prowess_catalog::index::{self, IndexLimit, IndexOptions, ShownSkills};
use prowess_catalog::rank::{self, RankedSkill};
use prowess_catalog::{Audience, CatalogView, SkillVisibility};
use prowess_tools::ToolContext;
use prowess_tools::names::{LIST_SKILLS, LOAD_SKILL, SEARCH_SKILLS};
use prowess_traits::UsageQuery;

/// What a model is told about its work, unless it is configured otherwise.
pub const INSTRUCTIONS: &str = include_str!("prompts/system.md");

/// How many skills count as used last.
const LAST_USED: usize = 5;
/// Most skills that are named in the record of an index.
const MOST_NAMED: usize = 5_000;

/// The beginning of a session.
#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    /// The system prompt, in blocks.
    pub(crate) system: Vec<String>,
    /// What became of the skills.
    pub(crate) listed: SkillListing,
    /// What the model knows of them.
    pub(crate) known: ShownSkills,
    /// Which catalogue that was.
    pub(crate) generation: u64,
}

/// Writes the beginning of a session. `tools` are the names of the tools that the model has.
pub(crate) fn prompt(context: &ToolContext, tools: &[Box<str>]) -> Prompt {
    let settings = &context.settings;
    let default = || INSTRUCTIONS.trim().to_owned();
    let mut system = vec![settings.instructions.clone().unwrap_or_else(default)];
    if let Some(notes) = &settings.project_notes {
        system.push(format!(
            "What this project tells every agent (AGENTS.md):\n\n{notes}"
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
    // Without a tool to load a skill the list would only tease.
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

/// The skills in the order of their use, as far as it is remembered.
fn ranked(context: &ToolContext, view: &CatalogView<'_>) -> Vec<RankedSkill> {
    let Some(store) = &context.services.usage else {
        return Vec::new();
    };
    let project = context
        .settings
        .paths
        .workspace
        .to_string_lossy()
        .into_owned();
    let rows = store
        .rows(&UsageQuery::project(project))
        .unwrap_or_default();
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

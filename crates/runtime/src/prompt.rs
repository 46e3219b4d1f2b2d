//! What a model is told before anything is said: instructions, the project's notes, the index.

use prowess_agent::Listed;
use prowess_catalog::index::{self, IndexOptions, Limit, Shown};
use prowess_catalog::rank::{self, Ranked};
use prowess_catalog::{Sight, View, Who};
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
    pub(crate) listed: Listed,
    /// What the model knows of them.
    pub(crate) known: Shown,
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
    let view = View::new(&catalog, &context.settings.visibility, Who::Model);
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
        .filter_map(|entry| match view.sight(entry) {
            Sight::Hidden(why) => Some((entry.name().into(), why.as_str().into())),
            Sight::Full | Sight::NameOnly => None,
        });
    let known = Shown::of(&entries);
    let listed = Listed {
        tokens: made.tokens as u64,
        budget: match made.report.limit {
            Limit::Tokens(tokens) => tokens as u64,
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
fn ranked(context: &ToolContext, view: &View<'_>) -> Vec<Ranked> {
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
        &rank::Options::new(context.services.clock.now(), LAST_USED),
    )
}

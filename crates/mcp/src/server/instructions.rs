//! Server instructions, which a client passes to its model.

use prowess_catalog::index::{self, IndexBudget, IndexOptions};
use prowess_catalog::rank::{explore, rank, union};
use prowess_catalog::visibility::{Audience, CatalogView};
use prowess_tools::names::{LIST_SKILLS, SEARCH_SKILLS};
use prowess_tools::{Tool, ToolContext, Toolset};

/// Default maximum size of the index, in characters: clients truncate instructions at about two
/// thousand.
pub(crate) const USUAL: usize = 1_500;

const LEAD: &str = "\
This server provides skills: instructions for specific kinds of tasks. Before you start a task, \
call search_skills with the user's message and the paths of the files that it is about. If a skill fits, load it with load_skill and follow it. \
Use load_skill_resource to read the files that a skill refers to. Skills are also available as \
resources, such as skill://NAME/SKILL.md";

/// Returns the instructions, with as much of the index as fits.
pub(crate) fn text(tool_context: &ToolContext, tools: &Toolset, budget: IndexBudget) -> String {
    let now = tool_context.services.clock.now();
    // No session is stored, so the rotation changes by the hour.
    let rotation = u64::try_from(explore::period(now)).unwrap_or(0);
    let listing = tool_context.settings.listing;
    let names: Vec<&str> = tools.tools(tool_context).map(Tool::name).collect();
    let has = |name: &'static str| names.contains(&name).then_some(name);
    let catalog = tool_context.services.registry.snapshot();
    let view = CatalogView::new(&catalog, &tool_context.settings.visibility, Audience::Model);
    let rows = tool_context.project_usage();
    let used = union(rows.iter().map(|row| &row.usage));
    let skills: Vec<_> = view
        .visible()
        .map(|(entry, _)| entry.skill.clone())
        .collect();
    let ranked = rank(&skills, &used, &listing.ranking(now, rotation));
    let entries = index::entries(&view, &ranked);
    let options = IndexOptions {
        budget,
        listing,
        discovery_tool: has(LIST_SKILLS),
        search_tool: has(SEARCH_SKILLS),
        rotation,
        generation: catalog.generation(),
        ..IndexOptions::default()
    };
    let made = index::index(&entries, &options);
    if made.text.is_empty() {
        LEAD.to_owned()
    } else {
        format!("{LEAD}\n\n{}", made.text)
    }
}

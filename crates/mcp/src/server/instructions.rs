//! Server instructions, which a client passes to its model.

use prowess_catalog::index::{self, IndexBudget, IndexOptions};
use prowess_catalog::rank::{self, RankOptions};
use prowess_catalog::visibility::{Audience, CatalogView};
use prowess_tools::ToolContext;
use prowess_traits::UsageQuery;

/// Default maximum size of the index, in characters: clients truncate instructions at about two
/// thousand.
pub(crate) const USUAL: usize = 1_500;
/// Number of most recently used skills.
const LAST_USED: usize = 5;

const LEAD: &str = "\
This server provides skills: instructions for specific kinds of tasks. Before you start a task, \
call search_skills with the user's message. If a skill fits, load it with load_skill and follow it. \
Use load_skill_resource to read the files that a skill refers to. Skills are also available as \
resources, such as skill://NAME/SKILL.md";

/// Returns the instructions, with as much of the index as fits.
pub(crate) fn text(tool_context: &ToolContext, budget: IndexBudget) -> String {
    let catalog = tool_context.services.registry.snapshot();
    let view = CatalogView::new(&catalog, &tool_context.settings.visibility, Audience::Model);
    let ranked = tool_context.services.usage.as_ref().map(|store| {
        let project = tool_context
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
            &RankOptions::new(tool_context.services.clock.now(), LAST_USED),
        )
    });
    let entries = index::entries(&view, &ranked.unwrap_or_default());
    let options = IndexOptions {
        budget,
        generation: catalog.generation(),
        ..IndexOptions::default()
    };
    let listing = index::index(&entries, &options);
    if listing.text.is_empty() {
        LEAD.to_owned()
    } else {
        format!("{LEAD}\n\n{}", listing.text)
    }
}

//! What a client tells its model about this server.

use prowess_catalog::index::{self, Budget, IndexOptions};
use prowess_catalog::rank::{self, Options as RankOptions};
use prowess_catalog::visibility::{View, Who};
use prowess_tools::ToolContext;
use prowess_traits::UsageQuery;

/// Most characters of the index, unless somebody says otherwise: clients cut instructions at about
/// two thousand.
pub(crate) const USUAL: usize = 1_500;
/// How many skills count as used last.
const LAST_USED: usize = 5;

const LEAD: &str = "\
Skills: instructions for particular kinds of work. Before you begin a task that one of them is \
about, load it with load_skill and follow it; find others with search_skills. Files that a skill \
names are read with load_skill_resource. The same skills are resources, such as skill://NAME/SKILL.md";

/// The text, with as much of the index as fits.
pub(crate) fn text(tool_context: &ToolContext, budget: Budget) -> String {
    let catalog = tool_context.services.registry.snapshot();
    let view = View::new(&catalog, &tool_context.settings.visibility, Who::Model);
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

//! `skill`: Agentick's one tool for skills, whose description holds the listing.
//!
//! Input `{name, args?}` as there; the description lists all skills within 8,000 characters and
//! says how many are left out. Different from Agentick: long descriptions are shortened before any
//! skill is left out; bullets are escaped, in order of name, and have `when_to_use`; `args` may be
//! a list; the body has the line with its folder before it and the closing lines behind it; loading
//! the same text again is a short answer.

use prowess_catalog::visibility::{Audience, CatalogView};
use prowess_diag::wording::count;
use serde_json::{Value, json};

use crate::listing;
use crate::loaded::Loaded;
use crate::skills::load_skill::{Files, load, loaded_schema, runs_nothing};
use crate::tool::{Tool, ToolAnswer, ToolError, object, text};
use crate::workshop::Workshop;

/// Most characters of the description.
const MAX_DESCRIPTION: usize = 8_000;

const ABOUT: &str = "Loads a skill: instructions for a kind of task. When a task matches a \
                     description, call this tool with the skill's name before you start.";

/// `skill`.
#[derive(Clone, Copy, Debug, Default)]
pub struct SkillTool;

impl Tool for SkillTool {
    fn name(&self) -> &'static str {
        "skill"
    }

    fn description(&self, workshop: &Workshop) -> String {
        let catalog = workshop.registry.snapshot();
        let view = CatalogView::new(&catalog, &workshop.visibility, Audience::Model);
        let beginning = format!("{ABOUT}\n\nAvailable skills:\n");
        // Room for the sentence at the end.
        let (lines, omitted) = listing::within(&view, MAX_DESCRIPTION - beginning.len() - 200);
        let end = match omitted {
            0 => String::new(),
            omitted => format!(
                "\n({} not shown: ask for a narrower task, or call `search_skills`)",
                count(omitted, "more skill")
            ),
        };
        format!("{beginning}{lines}{end}")
    }

    fn input_schema(&self) -> Value {
        object(
            &[
                (
                    "name",
                    json!({ "type": "string", "description": "The name of the skill, as listed." }),
                ),
                (
                    "args",
                    json!({
                        "type": ["string", "array", "object"],
                        "description": "What the skill is given: one text for `$ARGUMENTS`, a list for `$0`, `$1`, or values by name.",
                    }),
                ),
            ],
            &["name"],
        )
    }

    fn output_schema(&self) -> Value {
        loaded_schema(false)
    }

    fn is_read_only(&self, workshop: &Workshop) -> bool {
        runs_nothing(workshop)
    }

    fn is_destructive(&self, workshop: &Workshop) -> bool {
        !runs_nothing(workshop) && workshop.settings.edits
    }

    fn answer(
        &self,
        workshop: &Workshop,
        loaded: &mut Loaded,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        load(
            workshop,
            loaded,
            text(input, "name"),
            input.get("args"),
            Files::LeftOut,
        )
    }
}

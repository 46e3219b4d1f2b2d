//! `unload_skill`: unloads a skill.
//!
//! None of the seed projects has it (Squadron had it for a few commits). The text stays in the
//! history of the conversation, but it no longer applies, is dropped by compaction, and cannot run
//! commands.

use serde_json::{Value, json};

use crate::context::ToolContext;
use crate::loaded::Loaded;
use crate::names::UNLOAD_SKILL;
use crate::skill_access::{find, listed, permit, permit_lifting, shown};
use crate::tool::{Tool, ToolAnswer, ToolError, ToolErrorKind, object, text};
use prowess_policy::SkillAction;

/// `unload_skill`.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnloadSkill;

impl Tool for UnloadSkill {
    fn name(&self) -> &'static str {
        UNLOAD_SKILL
    }

    fn description(&self, _context: &ToolContext) -> String {
        "Unloads a skill that is no longer needed: its instructions no longer apply.".to_owned()
    }

    fn input_schema(&self) -> Value {
        object(
            &[(
                "name",
                json!({ "type": "string", "description": "The name of a loaded skill." }),
            )],
            &["name"],
        )
    }

    fn output_schema(&self) -> Value {
        object(
            &[
                ("skill_name", json!({ "type": "string" })),
                (
                    "loaded",
                    json!({ "type": "array", "items": { "type": "string" } }),
                ),
            ],
            &["skill_name", "loaded"],
        )
    }

    fn is_read_only(&self, _context: &ToolContext) -> bool {
        true
    }

    fn answer(
        &self,
        context: &ToolContext,
        loaded: &mut Loaded,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        let asked = text(input, "name");
        // A loaded skill can be unloaded even if it was removed or hidden since.
        let name = match find(context, asked) {
            Ok(skill) => {
                permit(context, loaded, &skill, SkillAction::Unload, "")?;
                skill.name().to_owned()
            }
            Err(_) if loaded.get(asked).is_some() => asked.to_owned(),
            Err(error) => return Err(error),
        };
        if loaded.is_users_restriction(&name) {
            permit_lifting(context, loaded, &name)?;
        }
        if !loaded.remove(&name) {
            let names: Vec<String> = loaded.names().map(shown).collect();
            let is = match &*names {
                [] => "No skill is loaded.".to_owned(),
                names => format!("Loaded: {}", listed(names, 1_000).0),
            };
            let text = format!("The skill {} is not loaded. {is}", shown(&name));
            return Err(ToolError::new(ToolErrorKind::NoSkill, text));
        }
        let text = format!(
            "Unloaded the skill {}. Its instructions no longer apply.",
            shown(&name)
        );
        let names: Vec<&str> = loaded.names().collect();
        let value = json!({ "skill_name": name, "loaded": names });
        Ok(ToolAnswer::new(text, value))
    }
}

//! `load_skill_resources`: reads several files of a skill.
//!
//! The input, `{resources: [{path, reason}]}`, and the output, a map from each path to the text of
//! the file, are `skilled_crew`'s. Unlike there, any file of the package can be read, an error is
//! marked as such (`{"error": …}`), and `skill_name` selects another skill. Each file is read and
//! permitted as with `load_skill_resource`; an error about one of them does not affect the others.

use prowess_diag::wording::{shorten, size};
use serde_json::{Map, Value, json};

use super::LoadSkillResource;
use super::run_command_line::the_only;
use crate::context::ToolContext;
use crate::loaded::Loaded;
use crate::names::{LOAD_SKILL_RESOURCE, LOAD_SKILL_RESOURCES};
use crate::result_limit::MAX_BYTES;
use crate::skill_access::permit_tool;
use crate::tool::{Tool, ToolAnswer, ToolError, object, text};

/// Maximum number of files.
const MAX_FILES: usize = 20;
/// Maximum number of characters of a path.
const MAX_PATH: usize = 300;
/// Maximum number of characters of an error.
const MAX_ERROR: usize = 600;
/// The error about a file for which there is no room.
const FULL: &str = "It was not read: the result is full. Read it with load_skill_resource.";

/// `load_skill_resources`.
#[derive(Clone, Debug, Default)]
pub struct LoadSkillResources {
    /// The skill whose files are read, in a sub-run. `None` for a loaded skill.
    pub skill: Option<Box<str>>,
}

impl Tool for LoadSkillResources {
    fn name(&self) -> &'static str {
        LOAD_SKILL_RESOURCES
    }

    fn description(&self, _context: &ToolContext) -> String {
        "Reads several files of a skill. Returns a JSON object with the text of each file by its \
         path, or an error about it."
            .to_owned()
    }

    fn input_schema(&self) -> Value {
        let path = json!({
            "type": "string", "minLength": 1, "maxLength": MAX_PATH,
            "description": "The path of the file, relative to the skill's folder.",
        });
        let reason = json!({ "type": "string", "description": "Why the file is needed." });
        let resource = object(&[("path", path), ("reason", reason)], &["path"]);
        let skill = match self.skill {
            Some(_) => "The name of the skill (default: the running skill).",
            None => "The name of the skill. Required if several skills are loaded.",
        };
        object(
            &[
                (
                    "resources",
                    json!({ "type": "array", "items": resource, "minItems": 1, "maxItems": MAX_FILES }),
                ),
                (
                    "skill_name",
                    json!({ "type": "string", "description": skill }),
                ),
            ],
            &["resources"],
        )
    }

    fn output_schema(&self) -> Value {
        let error = object(&[("error", json!({ "type": "string" }))], &["error"]);
        let file = json!({ "anyOf": [{ "type": "string" }, error] });
        object(
            &[
                ("skill_name", json!({ "type": "string" })),
                (
                    "resources",
                    json!({ "type": "object", "additionalProperties": file }),
                ),
            ],
            &["skill_name", "resources"],
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
        let skill = match (&self.skill, input.get("skill_name").and_then(Value::as_str)) {
            (_, Some(asked)) => asked.to_owned(),
            (Some(skill), None) => skill.to_string(),
            (None, None) => the_only(loaded)?.to_owned(),
        };
        let asked = input.get("resources").and_then(Value::as_array);
        let paths: Vec<&str> = asked
            .into_iter()
            .flatten()
            .map(|one| text(one, "path"))
            .collect();
        let keys: usize = paths.iter().map(|path| json!(path).to_string().len()).sum();
        let mut room = MAX_BYTES.saturating_sub(keys + paths.len() * (FULL.len() + 20) + 2);
        let mut files = Map::new();
        for path in paths {
            if files.contains_key(path) {
                continue;
            }
            let entry = match one(context, loaded, &skill, path) {
                Ok(text) => json!(text),
                Err(error) => json!({ "error": shorten(&error, MAX_ERROR) }),
            };
            let bytes = entry.to_string().len();
            let fits = bytes <= room;
            room -= if fits { bytes } else { 0 };
            files.insert(
                path.to_owned(),
                if fits {
                    entry
                } else {
                    json!({ "error": FULL })
                },
            );
        }
        let files = Value::Object(files);
        let text = files.to_string();
        Ok(ToolAnswer::new(
            text,
            json!({ "skill_name": skill, "resources": files }),
        ))
    }
}

/// Reads one file, or returns the error about it.
fn one(
    context: &ToolContext,
    loaded: &mut Loaded,
    skill: &str,
    path: &str,
) -> Result<String, String> {
    let input = json!({ "skill_name": skill, "resource_path": path });
    let told = permit_tool(context, loaded, LOAD_SKILL_RESOURCE, &input)
        .and_then(|()| LoadSkillResource.answer(context, loaded, &input))
        .map_err(|error| error.to_string())?;
    let value = &told.value;
    if value["content"].is_null() {
        return Err(told.text);
    }
    match (value["next"].as_u64(), value["size"].as_u64()) {
        (Some(_), bytes) => Err(format!(
            "It is too long for this result ({}). Read it with load_skill_resource, which pages \
             long files.",
            size(bytes.unwrap_or_default())
        )),
        (None, _) => Ok(told.text),
    }
}

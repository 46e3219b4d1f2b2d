//! `load_skill`: take a skill's instructions into the conversation.
//!
//! Input as in Planck, Squadron and core-agent: `{name}`; `arguments` is ours. The answer is the
//! activation's text, so it begins with the skill's folder as Planck's does (`Base directory for
//! this skill:`, Claude Code's words, where Planck says `Skill directory:`). Different from the
//! seeds: without frontmatter, with the list of files, bounded. Loading the same text again is a
//! short answer, as in Squadron; it is no error there either. Errors are errors, not text.

use prowess_diag::wording::count;
use prowess_render::Arguments;
use serde_json::{Value, json};

use crate::access::{Deed, find, is_free, permit, shown};
use crate::activate::{Activation, ActivationError, Given, activate, activate_at_once};
use crate::cap;
use crate::loaded::Loaded;
use crate::tool::{Tool, ToolAnswer, ToolError, Why, object, text};
use crate::workshop::Workshop;

/// `load_skill`.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadSkill;

impl Tool for LoadSkill {
    fn name(&self) -> &'static str {
        "load_skill"
    }

    fn description(&self, _workshop: &Workshop) -> String {
        "Loads a skill: its instructions, its folder and the list of its files. Call it before \
         you start on a task that a skill is about; never guess a name. Loading again is only \
         needed with other arguments."
            .to_owned()
    }

    fn input_schema(&self) -> Value {
        object(
            &[
                (
                    "name",
                    json!({ "type": "string", "description": "The name of the skill." }),
                ),
                (
                    "arguments",
                    json!({
                        "type": ["string", "array", "object"],
                        "description": "What the skill is given: one text, a list of values, or values by name.",
                    }),
                ),
            ],
            &["name"],
        )
    }

    fn output_schema(&self) -> Value {
        loaded_schema(true)
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
            input.get("arguments"),
            Files::Listed,
        )
    }

    fn at_once(
        &self,
        workshop: &Workshop,
        loaded: &mut Loaded,
        input: &Value,
    ) -> Option<ToolAnswer> {
        let asked = text(input, "name");
        let catalog = workshop.registry.snapshot();
        let entry = find(workshop, &catalog, asked).ok()?;
        let arguments = given(input.get("arguments"));
        if !is_free(workshop, &entry, asked, arguments.raw().unwrap_or_default()) {
            return None;
        }
        let activation = activate_at_once(workshop, asked, arguments)?;
        (activation.skill.id == entry.skill.id).then(|| told(&activation, loaded, Files::Listed))
    }
}

fn given(arguments: Option<&Value>) -> Arguments {
    arguments
        .cloned()
        .map_or_else(Arguments::none, Arguments::from_json)
}

/// Whether loading only reads: a skill that is loaded may have commands in it.
pub(crate) fn runs_nothing(workshop: &Workshop) -> bool {
    workshop.runner.is_none() || !workshop.settings.commands
}

/// Whether the answer lists the files of a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Files {
    Listed,
    LeftOut,
}

/// The schema of what loading answers.
pub(crate) fn loaded_schema(files: bool) -> Value {
    let mut fields = vec![
        ("skill_name", json!({ "type": "string" })),
        (
            "status",
            json!({ "type": "string", "enum": ["loaded", "already_loaded"] }),
        ),
        ("instructions", json!({ "type": "string" })),
        ("folder", json!({ "type": ["string", "null"] })),
        ("version", json!({ "type": ["string", "null"] })),
        ("digest", json!({ "type": "string" })),
        ("trusted", json!({ "type": "boolean" })),
    ];
    let mut required = vec![
        "skill_name",
        "status",
        "folder",
        "version",
        "digest",
        "trusted",
    ];
    if files {
        let file = object(
            &[
                ("path", json!({ "type": "string" })),
                ("size", json!({ "type": "integer", "minimum": 0 })),
            ],
            &["path", "size"],
        );
        fields.push(("files", json!({ "type": "array", "items": file })));
        fields.push(("file_count", json!({ "type": "integer", "minimum": 0 })));
        required.extend(["files", "file_count"]);
    }
    object(&fields, &required)
}

/// Loads a skill for a model.
pub(crate) fn load(
    workshop: &Workshop,
    loaded: &mut Loaded,
    asked: &str,
    arguments: Option<&Value>,
    files: Files,
) -> Result<ToolAnswer, ToolError> {
    let catalog = workshop.registry.snapshot();
    let entry = find(workshop, &catalog, asked)?;
    let arguments = given(arguments);
    permit(
        workshop,
        &entry,
        asked,
        Deed::Load,
        arguments.raw().unwrap_or_default(),
    )?;
    let given = Given::by_model(arguments);
    let activation = activate(workshop, asked, &given).map_err(|error| failed(&error))?;
    // Between the question and the answer the name may have come to mean another skill.
    if activation.skill.id != entry.skill.id {
        let text = format!(
            "The skill {} changed while it was loaded. Try again.",
            shown(asked)
        );
        return Err(ToolError::new(Why::Failed, text));
    }
    Ok(told(&activation, loaded, files))
}

/// What a model is told of a skill that it gets.
fn told(activation: &Activation, loaded: &mut Loaded, files: Files) -> ToolAnswer {
    let is_loaded = loaded.has(activation);
    let mut value = json!({
        "skill_name": &*activation.name,
        "status": if is_loaded { "already_loaded" } else { "loaded" },
        "folder": activation.folder.as_ref().map(|folder| folder.to_string_lossy()),
        "version": activation.skill.version.as_deref(),
        "digest": activation.digest,
        "trusted": activation.trusted,
    });
    if files == Files::Listed {
        let one = |(path, size): &(String, u64)| json!({ "path": path, "size": size });
        value["files"] = activation.files.iter().map(one).collect();
        value["file_count"] = activation.file_count.into();
    }
    if is_loaded {
        let name = shown(&activation.name);
        let text = format!("The skill {name} is already loaded; its instructions still hold.");
        return ToolAnswer::new(text, value);
    }
    loaded.insert(activation);
    let text = bounded(activation, files);
    value["instructions"] = text.as_str().into();
    ToolAnswer::new(text, value)
}

/// The text of an activation within the bounds of an answer. Only the body is cut: what stands
/// behind it must be read too.
fn bounded(activation: &Activation, files: Files) -> String {
    let text = activation.text.as_str();
    let body = activation.body.trim_end_matches('\n');
    let has_head =
        activation.folder.is_some() || activation.skill.version.is_some() || !activation.trusted;
    let at = if has_head {
        text.find("\n\n").map_or(0, |at| at + 2)
    } else {
        0
    };
    let (head, rest) = text.split_at(at);
    let Some(tail) = rest.strip_prefix(body) else {
        return text.to_owned();
    };
    let tail = if files == Files::Listed {
        tail
    } else {
        without_files(tail)
    };
    let bytes = cap::MAX_BYTES.saturating_sub(head.len() + tail.len());
    let lines = head.lines().count() + tail.lines().count();
    let lines = cap::MAX_LINES.saturating_sub(lines);
    let rest = "read SKILL.md with load_skill_resource for the rest";
    let body = cap::within(body.to_owned(), bytes, lines, rest);
    format!("{head}{}{tail}", body.trim_end_matches('\n'))
}

/// What stands behind a body, without the list of files.
fn without_files(tail: &str) -> &str {
    let Some(list) = tail.strip_prefix("\n\nFiles of this skill") else {
        return tail;
    };
    match list.find("\n\n") {
        Some(end) => &list[end..],
        None => "\n",
    }
}

/// What a model reads where a skill could not be activated.
fn failed(error: &ActivationError) -> ToolError {
    let text = match error {
        ActivationError::Unsafe { name, diagnostics } => {
            let mut text = format!(
                "The skill {} cannot be used safely ({}):",
                shown(name),
                count(diagnostics.len(), "place")
            );
            for found in diagnostics.iter().take(5) {
                text.push_str(&format!("\n- {}", found.message));
                if let Some(help) = &found.help {
                    text.push_str(&format!(" ({help})"));
                }
            }
            text
        }
        ActivationError::Read { name, why } => {
            let why = why.strip_prefix("cannot read the skill: ").unwrap_or(why);
            format!("Cannot read the skill {}: {why}.", shown(name))
        }
        error => error.to_string(),
    };
    let denied = matches!(
        error,
        ActivationError::Command(crate::expand::ExpandError::Denied { .. })
    );
    ToolError::new(if denied { Why::Denied } else { Why::Failed }, text)
}

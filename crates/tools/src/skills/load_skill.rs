//! `load_skill` and its alias `skill`: adds the instructions of a skill to the conversation.
//!
//! The input of `load_skill` is that of Planck, Squadron and core-agent, `{name}`, with `arguments`
//! added. `skill` is Agentick's: `{name, args?}`, and its description lists the skills within 8,000
//! characters. Both return the text of the activation, so the result begins with the skill's folder
//! (`Base directory for this skill:`, as in Claude Code). Unlike in those programs, the result has
//! no frontmatter and a limited size, and errors are errors rather than text. Loading the same text
//! again returns a short result, as in Squadron.

use prowess_catalog::skill::clean_line;
use prowess_catalog::visibility::{Audience, CatalogView};
use prowess_diag::wording::count;
use prowess_render::Arguments;
use serde_json::{Value, json};

use crate::activate::{Activation, ActivationError, ActivationRequest, activate, read};
use crate::context::ToolContext;
use crate::injected_commands::ExpandError;
use crate::listing;
use crate::loaded::Loaded;
use crate::names::{LOAD_SKILL, SKILL};
use crate::result_limit;
use crate::skill_access::{find, may_load_unasked, permit, shown};
use crate::tool::{Tool, ToolAnswer, ToolError, ToolErrorKind, object, text};
use prowess_policy::SkillAction;

/// Maximum length of the description of `skill`, in characters.
const MAX_DESCRIPTION: usize = 8_000;
/// Maximum number of findings in an error about an unsafe skill.
const MAX_FINDINGS: usize = 5;

const ABOUT: &str = "Loads a skill: instructions for a kind of task. When a task matches a \
                     description, call this tool with the skill's name before you start.";

/// `load_skill`, or `skill`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadSkill {
    /// `load_skill`: the result lists the files of the skill.
    #[default]
    Standard,
    /// `skill`: the description lists the skills.
    Agentick,
}

impl Tool for LoadSkill {
    fn name(&self) -> &'static str {
        match self {
            Self::Standard => LOAD_SKILL,
            Self::Agentick => SKILL,
        }
    }

    fn description(&self, context: &ToolContext) -> String {
        match self {
            Self::Standard => "Loads a skill: its instructions, its folder and the list of its \
                               files. Call it before you start a task that matches a skill; \
                               never guess a name. Load a skill again only to pass different \
                               arguments."
                .to_owned(),
            Self::Agentick => with_listing(context),
        }
    }

    fn input_schema(&self) -> Value {
        let (name, arguments) = match self {
            Self::Standard => (
                "The name of the skill. To require a version, add a range: `name@^2`.",
                "Arguments for the skill: one string, a list of values, or values by name.",
            ),
            Self::Agentick => (
                "The name of the skill, as listed.",
                "Arguments for the skill: one string for `$ARGUMENTS`, a list for `$0`, `$1`, or values by name.",
            ),
        };
        let arguments = json!({ "type": ["string", "array", "object"], "description": arguments });
        object(
            &[
                ("name", json!({ "type": "string", "description": name })),
                (self.arguments_field(), arguments),
            ],
            &["name"],
        )
    }

    fn output_schema(&self) -> Value {
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
        if self.lists_files() {
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

    fn is_read_only(&self, context: &ToolContext) -> bool {
        // The skill may have commands that run when it is loaded.
        context.services.runner.is_none() || !context.settings.commands
    }

    fn is_destructive(&self, context: &ToolContext) -> bool {
        !self.is_read_only(context) && context.settings.edits
    }

    fn asks_first(&self) -> bool {
        true
    }

    fn answer(
        &self,
        context: &ToolContext,
        loaded: &mut Loaded,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        let asked = text(input, "name");
        let skill = match loaded.take_resolved(asked) {
            Some(skill) => skill,
            None => find(context, asked)?,
        };
        let arguments = self.arguments(input);
        let raw = arguments.raw().unwrap_or_default();
        permit(context, loaded, &skill, SkillAction::Load, raw)?;
        let snapshot = read(context, &skill).map_err(|error| failed(&error))?;
        let request = ActivationRequest::new(arguments);
        let activation =
            activate(context, loaded, &snapshot, &request).map_err(|error| failed(&error))?;
        Ok(self.told(&activation, loaded))
    }

    fn is_quick(&self, context: &ToolContext, loaded: &mut Loaded, input: &Value) -> bool {
        let Ok(skill) = context.resolve(text(input, "name"), Audience::Model) else {
            return false;
        };
        let raw = self.arguments(input);
        let raw = raw.raw().unwrap_or_default();
        let is_quick = may_load_unasked(context, loaded, &skill, raw)
            && skill.read_if_small(context).is_some_and(|snapshot| {
                let runs = !self.is_read_only(context) && snapshot.is_trusted();
                !runs || !snapshot.document.may_have_commands()
            });
        loaded.set_resolved(skill);
        is_quick
    }
}

impl LoadSkill {
    fn lists_files(self) -> bool {
        self == Self::Standard
    }

    fn arguments_field(self) -> &'static str {
        match self {
            Self::Standard => "arguments",
            Self::Agentick => "args",
        }
    }

    fn arguments(self, input: &Value) -> Arguments {
        let given = input.get(self.arguments_field()).cloned();
        given.map_or_else(Arguments::none, Arguments::from_json)
    }

    /// Adds an activated skill to the loaded ones and returns the result.
    fn told(self, activation: &Activation, loaded: &mut Loaded) -> ToolAnswer {
        let is_loaded = loaded.has(activation);
        let mut value = json!({
            "skill_name": activation.name(),
            "status": if is_loaded { "already_loaded" } else { "loaded" },
            "folder": activation.folder.as_ref().map(|folder| folder.to_string_lossy()),
            "version": activation.snapshot.version().map(clean_line),
            "digest": activation.digest(),
            "trusted": activation.is_trusted(),
        });
        if self.lists_files() {
            let one = |(path, size): &(String, u64)| json!({ "path": path, "size": size });
            value["files"] = activation.files.iter().map(one).collect();
            value["file_count"] = activation.file_count.into();
        }
        if is_loaded {
            let name = shown(activation.name());
            let text = format!("The skill {name} is already loaded; its instructions still apply.");
            return ToolAnswer::new(text, value);
        }
        loaded.insert(activation);
        let text = self.bounded(activation);
        value["instructions"] = text.as_str().into();
        ToolAnswer::new(text, value)
    }

    /// Returns the text of an activation within the limits of a result. Only the body is truncated.
    fn bounded(self, activation: &Activation) -> String {
        let parts = &activation.parts;
        let files = if self.lists_files() {
            &*parts.files
        } else {
            ""
        };
        let around = [&*parts.head, files, &*parts.closing, "\n"];
        let bytes: usize = around.iter().map(|part| part.len()).sum();
        let lines = parts.head.lines().count() + [files, &*parts.closing].concat().lines().count();
        let body = result_limit::within(
            parts.body.clone(),
            result_limit::MAX_BYTES.saturating_sub(bytes),
            result_limit::MAX_LINES.saturating_sub(lines),
            "read SKILL.md with load_skill_resource for the rest",
        );
        let body = body.trim_end_matches('\n');
        [&*parts.head, body, files, &*parts.closing, "\n"].concat()
    }
}

/// Returns the description of `skill`, with the skills that a model may load.
fn with_listing(context: &ToolContext) -> String {
    let catalog = context.services.registry.snapshot();
    let view = CatalogView::new(&catalog, &context.settings.visibility, Audience::Model);
    let beginning = format!("{ABOUT}\n\nAvailable skills:\n");
    // Reserve room for the note at the end.
    let (lines, omitted) = listing::within(&view, MAX_DESCRIPTION - beginning.len() - 200);
    let end = match omitted {
        0 => String::new(),
        omitted => format!(
            "\n({} not shown; call `search_skills` to find them)",
            count(omitted, "more skill")
        ),
    };
    format!("{beginning}{lines}{end}")
}

/// Converts an activation error to the error that a model receives.
fn failed(error: &ActivationError) -> ToolError {
    let text = match error {
        ActivationError::Unsafe { name, diagnostics } => {
            let mut text = format!(
                "The skill {} cannot be used safely ({}):",
                shown(name),
                count(diagnostics.len(), "place")
            );
            for found in diagnostics.iter().take(MAX_FINDINGS) {
                text.push_str(&format!("\n- {}", found.message));
                if let Some(help) = &found.help {
                    text.push_str(&format!(" ({help})"));
                }
            }
            text
        }
        ActivationError::Read { name, source } => {
            format!("Cannot read the skill {}: {source}.", shown(name))
        }
        error => error.to_string(),
    };
    let kind = match error {
        ActivationError::Command(ExpandError::Denied { .. }) => ToolErrorKind::Denied,
        ActivationError::Arguments { .. } => ToolErrorKind::Input,
        _ => ToolErrorKind::Failed,
    };
    ToolError::new(kind, text)
}

//! `write`: creates or replaces a file.
//!
//! The file is replaced atomically and keeps its permissions. A link is resolved, and the gate
//! checks the file it points to. The prompt shows the diff.

use crate::answer::head;
use crate::input::{object, text};
use crate::{Loaded, Tool, ToolAnswer, ToolContext, ToolError, ToolErrorKind};
use prowess_diag::render::diff;
use prowess_diag::sanitize;
use prowess_diag::wording::{size, tick};
use serde_json::{Value, json};

use crate::files::open_file::{self, Expected, Fault, MAX_WRITTEN, Opened};
use crate::files::path_guard::{FileAction, PathGuard, ResolvedPath, shown};

/// Maximum size of a diff in a prompt, in bytes.
const MAX_QUESTION: usize = 8_000;
/// Maximum number of lines of a diff in a prompt.
const MAX_QUESTION_LINES: usize = 200;

/// The `write` tool.
#[derive(Clone, Copy, Debug, Default)]
pub struct Write;

impl Tool for Write {
    fn name(&self) -> &'static str {
        crate::names::WRITE
    }

    fn description(&self, _context: &ToolContext) -> String {
        "Writes a whole file: creates it, including missing parent folders, or replaces it. To change \
         part of a file, use `edit`."
            .to_owned()
    }

    fn input_schema(&self) -> Value {
        object(
            &[
                super::file(),
                (
                    "content",
                    json!({ "type": "string", "description": "The complete new content of the file." }),
                ),
            ],
            &["path", "content"],
        )
    }

    fn output_schema(&self) -> Value {
        object(
            &[
                ("path", json!({ "type": "string" })),
                ("created", json!({ "type": "boolean" })),
                ("size", json!({ "type": "integer", "minimum": 0 })),
                (
                    "before",
                    json!({ "type": ["integer", "null"], "minimum": 0 }),
                ),
            ],
            &["path", "created", "size", "before"],
        )
    }

    fn is_read_only(&self, _context: &ToolContext) -> bool {
        false
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
        let guard = PathGuard::new(context, loaded);
        let resolved = guard.resolve(text(input, "path"))?;
        let content = text(input, "content");
        if content.len() > MAX_WRITTEN {
            let text = format!(
                "The content is too large: {} (limit: {}).",
                size(content.len() as u64),
                size(MAX_WRITTEN as u64)
            );
            return Err(ToolError::new(ToolErrorKind::Input, text));
        }
        if resolved.missing > 1 && !guard.is_inside(&resolved.real) {
            let text = format!(
                "{} is outside the project, and its folder does not exist. Folders are only created \
                 in the project.",
                tick(shown(&resolved.name))
            );
            return Err(ToolError::new(ToolErrorKind::Denied, text));
        }
        let told = |fault: Fault| fault.told(&guard, &resolved, "write");
        // Read the old file before the prompt, so that the user sees exactly what is replaced.
        let mut seen: Option<Option<Opened>> = None;
        guard.permit(loaded, FileAction::Write, &resolved, || {
            let before = old(&resolved).map_err(told)?;
            let question = question(&resolved, before.as_ref(), content);
            seen = Some(before);
            Ok(question)
        })?;
        let before = match seen {
            Some(before) => before,
            None => old(&resolved).map_err(told)?,
        };
        let starting = context.starting();
        starting.map_err(|decision| ToolError::denied("Writing the file", &decision))?;
        let expected = before
            .as_ref()
            .map_or(Expected::Absent, |old| Expected::Same(&old.stat));
        open_file::put(&resolved, expected, content.as_bytes()).map_err(told)?;
        let (name, new) = (tick(shown(&resolved.name)), content.len() as u64);
        let was = before.as_ref().map(Opened::size);
        let text = match was {
            Some(was) => format!("Replaced {name}: {} (was {}).", size(new), size(was)),
            None => format!("Created {name}: {}.", size(new)),
        };
        let value = json!({
            "path": resolved.name, "created": was.is_none(), "size": new, "before": was,
        });
        Ok(ToolAnswer::new(text, value))
    }
}

/// Opens the existing file. Returns `None` if it does not exist.
fn old(resolved: &ResolvedPath) -> Result<Option<Opened>, Fault> {
    if resolved.missing > 0 {
        return Ok(None);
    }
    match open_file::open(&resolved.real) {
        Ok(opened) if opened.is_folder => Err(Fault::NotAFile("a folder")),
        Ok(opened) => Ok(Some(opened)),
        Err(Fault::Missing) => Err(Fault::Changed),
        Err(fault) => Err(fault),
    }
}

fn question(resolved: &ResolvedPath, before: Option<&Opened>, content: &str) -> String {
    let new = size(content.len() as u64);
    let Some(before) = before else {
        let diff = diff::unified(&resolved.name, "", content);
        return format!("Create {} ({new}):\n{}", resolved.told(), change(&diff));
    };
    let title = format!(
        "Replace {} ({} with {new})",
        resolved.told(),
        size(before.size())
    );
    match before
        .whole(MAX_WRITTEN)
        .ok()
        .flatten()
        .and_then(|old| String::from_utf8(old).ok())
    {
        Some(old) => format!(
            "{title}:\n{}",
            change(&diff::unified(&resolved.name, &old, content))
        ),
        None => format!("{title}; the current content is not text"),
    }
}

/// Truncates a diff for a prompt.
pub(super) fn change(diff: &str) -> String {
    let kept = head(diff, MAX_QUESTION, MAX_QUESTION_LINES);
    let mut text = sanitize::block(kept).into_owned();
    if kept.len() < diff.len() {
        let left = diff[kept.len()..].lines().count();
        text.push_str(&format!("\n[{left} more lines]"));
    }
    text
}

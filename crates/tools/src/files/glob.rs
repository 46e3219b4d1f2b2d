//! `glob`: finds files by name.
//!
//! Results are sorted by path, so the same folder always gives the same result. Files ignored by
//! `.gitignore` and `.git` are excluded; other hidden files are included.

use crate::input::{object, text};
use crate::{Loaded, MAX_BYTES, Tool, ToolAnswer, ToolContext, ToolError};
use prowess_diag::wording::tick;
use prowess_registry::nofollow;
use rustix::fs::{Mode, OFlags};
use serde_json::{Value, json};

use crate::files::path_guard::shown;
use crate::files::walk::{Search, notes, pattern};

/// Maximum number of files in a result.
const MAX_FILES: usize = 500;
/// Maximum size of a result in bytes; leaves room for a note.
const BYTES: usize = MAX_BYTES - 1_000;

/// The `glob` tool.
#[derive(Clone, Copy, Debug, Default)]
pub struct Glob;

impl Tool for Glob {
    fn name(&self) -> &'static str {
        crate::names::GLOB
    }

    fn description(&self, _context: &ToolContext) -> String {
        "Finds files by name. `*.rs` matches at any depth, `src/**/*.rs` below `src`, `{a,b}.toml` \
         matches either. Returns sorted paths. Files ignored by .gitignore are excluded."
            .to_owned()
    }

    fn input_schema(&self) -> Value {
        object(
            &[
                super::pattern("pattern", "Glob pattern, relative to the searched folder."),
                super::path("The folder to search (default: the project root)."),
            ],
            &["pattern"],
        )
    }

    fn output_schema(&self) -> Value {
        object(
            &[
                (
                    "files",
                    json!({ "type": "array", "items": { "type": "string" } }),
                ),
                ("more", json!({ "type": "boolean" })),
                ("leftOut", json!({ "type": "integer", "minimum": 0 })),
            ],
            &["files", "more", "leftOut"],
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
        let raw = text(input, "pattern");
        let pattern = pattern(raw)?;
        let search = Search::new(context, loaded, input.get("path").and_then(Value::as_str))?;
        let mut files: Vec<String> = Vec::new();
        let mut bytes = 0;
        let tally = search.walk(
            |found| pattern.is_match(found.inner),
            |found| {
                // Skip the file if its folder was replaced by a link meanwhile.
                let parent = found.real.parent().unwrap_or(found.real);
                let flags = OFlags::RDONLY | OFlags::DIRECTORY;
                if nofollow::open(parent, flags, Mode::empty()).is_err() {
                    return true;
                }
                let name = shown(&search.guard.name(found.real));
                if files.len() == MAX_FILES || bytes + name.len() + 1 > BYTES {
                    return false;
                }
                bytes += name.len() + 1;
                files.push(name);
                true
            },
        );
        let mut told: String = files.iter().map(|file| format!("{file}\n")).collect();
        if files.is_empty() {
            told = format!(
                "No files in {} match {}.\n",
                search.name(),
                tick(shown(raw))
            );
        }
        told.push_str(&notes(&tally, "use a narrower pattern or `path`"));
        let value = json!({
            "files": files, "more": tally.cut.is_some(), "leftOut": tally.left_out,
        });
        Ok(ToolAnswer::new(told, value))
    }
}

//! `edit`: replaces text in a file.
//!
//! The old text must match exactly, and only once unless `all` is set. Only the matched bytes
//! change: line endings, a byte order mark and invalid UTF-8 are preserved. If every line of the
//! file ends with CRLF, line breaks in the input are converted to CRLF, because the model does not
//! see line endings. The file does not have to be read first: it is replaced only if it still has
//! the content that the edit was computed from.

use crate::answer::head;
use crate::input::{object, text};
use crate::{Loaded, Tool, ToolAnswer, ToolContext, ToolError, ToolErrorKind};
use memchr::memmem;
use prowess_diag::render::diff;
use prowess_diag::wording::{count, shorten, size, tick};
use prowess_policy::Verdict;
use prowess_registry::media_type::{SAMPLE, binary_kind};
use serde_json::{Value, json};

use super::write::change;
use crate::files::open_file::{self, Expected, Fault, MAX_WRITTEN};
use crate::files::path_guard::{FileAction, PathGuard, ResolvedPath, shown};

/// Maximum number of line numbers listed in an error.
const MAX_PLACES: usize = 8;
/// Maximum number of similar lines shown in an error.
const MAX_NEAR: usize = 3;
/// Maximum number of characters of a line shown in an error.
const MAX_LINE: usize = 200;
/// Maximum size of the diff in the result, in bytes.
const MAX_DIFF: usize = 4_000;

/// The `edit` tool.
#[derive(Clone, Copy, Debug, Default)]
pub struct Edit;

impl Tool for Edit {
    fn name(&self) -> &'static str {
        crate::names::EDIT
    }

    fn description(&self, _context: &ToolContext) -> String {
        "Replaces text in a file. `old` must match exactly one place in the file, including spaces \
         and line breaks but without line numbers. If it matches more than once, include more \
         surrounding lines, or set `all`."
            .to_owned()
    }

    fn input_schema(&self) -> Value {
        object(
            &[
                super::file(),
                (
                    "old",
                    json!({ "type": "string", "minLength": 1, "description": "The exact text to replace." }),
                ),
                (
                    "new",
                    json!({ "type": "string", "description": "The text to replace it with." }),
                ),
                (
                    "all",
                    json!({ "type": "boolean", "description": "Replace all occurrences (default: false)." }),
                ),
            ],
            &["path", "old", "new"],
        )
    }

    fn output_schema(&self) -> Value {
        object(
            &[
                ("path", json!({ "type": "string" })),
                ("replaced", json!({ "type": "integer", "minimum": 1 })),
                ("line", json!({ "type": "integer", "minimum": 1 })),
                ("size", json!({ "type": "integer", "minimum": 0 })),
                ("before", json!({ "type": "integer", "minimum": 0 })),
            ],
            &["path", "replaced", "line", "size", "before"],
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
        let (old, new) = (text(input, "old"), text(input, "new"));
        let all = input.get("all").and_then(Value::as_bool).unwrap_or(false);
        if old == new {
            let text = "`old` and `new` are identical; nothing to change.";
            return Err(ToolError::new(ToolErrorKind::Input, text));
        }
        let guard = PathGuard::new(context, loaded);
        let resolved = guard.resolve(text(input, "path"))?;
        let readable = {
            let judged = guard.judge(&context.judging(loaded), FileAction::Read, &resolved.real);
            judged.verdict == Verdict::Allow
        };
        let plan = || {
            plan(&guard, &resolved, old, new, all).map_err(|error| {
                // Do not reveal anything about a file that the agent may not read.
                if readable {
                    return error;
                }
                let name = tick(shown(&resolved.name));
                let text = format!("Cannot replace the text in {name}.");
                ToolError::new(ToolErrorKind::Failed, text)
            })
        };
        // Computed inside `permit`, so that a file that the gate denies is never read.
        let mut planned: Option<Change> = None;
        guard.permit(loaded, FileAction::Write, &resolved, || {
            let made = match plan() {
                Ok(made) => made,
                Err(error) if readable => return Err(error),
                // Do not reveal whether a file that the agent may not read contains the text.
                Err(_) => {
                    return Ok(format!("Edit {} (the text was not found)", resolved.told()));
                }
            };
            let places = count(made.places.len(), "place");
            let question = format!(
                "Edit {}, {places}:\n{}",
                resolved.told(),
                change(&made.diff(&resolved))
            );
            planned = Some(made);
            Ok(question)
        })?;
        let change = match planned {
            Some(planned) => planned,
            None => plan()?,
        };
        let starting = context.starting();
        starting.map_err(|decision| ToolError::denied("The edit", &decision))?;
        let expected = Expected::Content(&change.before);
        open_file::put(&resolved, expected, &change.after)
            .map_err(|fault| fault.told(&guard, &resolved, "write"))?;
        Ok(told(&resolved, &change))
    }
}

/// A computed edit of a file.
#[derive(Debug)]
struct Change {
    before: Vec<u8>,
    after: Vec<u8>,
    /// Byte offsets of the matches.
    places: Vec<usize>,
}

impl Change {
    fn diff(&self, resolved: &ResolvedPath) -> String {
        let (before, after) = (
            String::from_utf8_lossy(&self.before),
            String::from_utf8_lossy(&self.after),
        );
        diff::unified(&resolved.name, &before, &after)
    }
}

/// Reads a file and computes the edit.
fn plan(
    guard: &PathGuard<'_>,
    resolved: &ResolvedPath,
    old: &str,
    new: &str,
    all: bool,
) -> Result<Change, ToolError> {
    let failed = |fault: Fault| fault.told(guard, resolved, "edit");
    let name = tick(shown(&resolved.name));
    let opened = open_file::open(&resolved.real).map_err(failed)?;
    if opened.is_folder {
        return Err(failed(Fault::NotAFile("a folder")));
    }
    let whole = opened
        .whole(MAX_WRITTEN)
        .map_err(|error| failed(Fault::of(error)))?;
    let Some(before) = whole else {
        let text = format!(
            "{name} is too large to edit (limit: {}).",
            size(MAX_WRITTEN as u64)
        );
        return Err(ToolError::new(ToolErrorKind::Failed, text));
    };
    let sample = &before[..before.len().min(SAMPLE)];
    if binary_kind(sample).is_some() && sample.contains(&0) {
        return Err(ToolError::new(
            ToolErrorKind::Failed,
            format!("{name} is not a text file."),
        ));
    }
    let crlf = has_crlf_only(&before);
    let with_crlf = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r\n");
    let mut wanted = old.to_owned();
    let mut places = find(&before, &wanted);
    if places.is_empty() && crlf {
        wanted = with_crlf(old);
        places = find(&before, &wanted);
    }
    let new = if crlf { with_crlf(new) } else { new.to_owned() };
    match &*places {
        [] => {
            return Err(ToolError::new(
                ToolErrorKind::Failed,
                not_there(&name, &before, old),
            ));
        }
        [_] => {}
        several if !all => {
            let mut lines: Vec<String> = several
                .iter()
                .take(MAX_PLACES)
                .map(|at| line_of(&before, *at).to_string())
                .collect();
            if several.len() > MAX_PLACES {
                lines.push("…".to_owned());
            }
            let text = format!(
                "The text occurs {} times in {name}, at lines {}. Include more surrounding lines in \
                 `old`, or set `all`.",
                several.len(),
                lines.join(", ")
            );
            return Err(ToolError::new(ToolErrorKind::Failed, text));
        }
        _ => {}
    }
    let grown = new
        .len()
        .saturating_sub(wanted.len())
        .saturating_mul(places.len());
    if before.len().saturating_add(grown) > MAX_WRITTEN {
        let text = format!(
            "{name} would be larger than {} after the edit.",
            size(MAX_WRITTEN as u64)
        );
        return Err(ToolError::new(ToolErrorKind::Failed, text));
    }
    let mut after = Vec::with_capacity(before.len() + grown);
    let mut from = 0;
    for at in &places {
        after.extend_from_slice(&before[from..*at]);
        after.extend_from_slice(new.as_bytes());
        from = at + wanted.len();
    }
    after.extend_from_slice(&before[from..]);
    Ok(Change {
        before,
        after,
        places,
    })
}

fn find(bytes: &[u8], text: &str) -> Vec<usize> {
    memmem::find_iter(bytes, text.as_bytes()).collect()
}

/// Returns `true` if there is at least one line break and all of them are CRLF.
fn has_crlf_only(bytes: &[u8]) -> bool {
    let mut ends = memchr::memchr_iter(b'\n', bytes).peekable();
    ends.peek().is_some() && ends.all(|at| at > 0 && bytes[at - 1] == b'\r')
}

fn line_of(bytes: &[u8], at: usize) -> usize {
    memchr::memchr_iter(b'\n', &bytes[..at]).count() + 1
}

/// Builds the error for text that was not found, with similar lines.
fn not_there(name: &str, bytes: &[u8], old: &str) -> String {
    let content = String::from_utf8_lossy(bytes);
    let squeeze = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let first = old
        .lines()
        .map(squeeze)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    let numbered = first.split_once(' ').is_some_and(|(number, _)| {
        !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
    });
    let mut near: Vec<String> = Vec::new();
    if !first.is_empty() {
        let beginning: String = first.chars().take(40).collect();
        let lines = content.lines().enumerate();
        near = lines
            .filter(|(_, line)| squeeze(line).contains(&beginning))
            .take(MAX_NEAR)
            .map(|(at, line)| format!("{}\t{}", at + 1, shorten(line.trim_end(), MAX_LINE)))
            .collect();
    }
    let mut text = format!("Text not found in {name}.");
    if near.is_empty() {
        text.push_str(" There are no similar lines; read the file again.");
    } else {
        text.push_str(" Check spaces and line breaks. Similar lines:\n");
        text.push_str(&near.join("\n"));
    }
    if numbered && near.is_empty() {
        text.push_str(" Do not include line numbers in `old`.");
    }
    text
}

fn told(resolved: &ResolvedPath, change: &Change) -> ToolAnswer {
    let line = change
        .places
        .first()
        .map_or(1, |at| line_of(&change.before, *at));
    let diff = change.diff(resolved);
    let kept = head(&diff, MAX_DIFF, 60);
    // Skip the two header lines, which only repeat the file name.
    let hunks = kept.find("@@").map_or("", |at| &kept[at..]);
    let cut = if kept.len() < diff.len() {
        "[diff truncated]\n"
    } else {
        ""
    };
    let text = format!(
        "Edited {}: {}, first at line {line}.\n{hunks}{cut}",
        tick(shown(&resolved.name)),
        count(change.places.len(), "replacement"),
    );
    let value = json!({
        "path": resolved.name, "replaced": change.places.len(), "line": line,
        "size": change.after.len(), "before": change.before.len(),
    });
    ToolAnswer::new(text, value)
}

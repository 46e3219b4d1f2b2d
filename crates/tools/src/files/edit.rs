//! `edit`: replace a text in a file by another.
//!
//! The text must be there exactly as given, once, or as often as it likes with `all`. Only those
//! bytes change: line ends, the mark at the beginning and what is not UTF-8 stay. In a file whose
//! lines end with CR LF, line breaks of the input are taken for such ones, because a model sees
//! none of that. Nobody has to read a file first; what counts is that the file is replaced only
//! while it still holds exactly what the change was made from.

use crate::answer::head;
use crate::input::{object, text};
use crate::{Loaded, Tool, ToolAnswer, ToolContext, ToolError, Why};
use memchr::memmem;
use prowess_diag::render::diff;
use prowess_diag::wording::{count, shorten, size, tick};
use prowess_policy::Verdict;
use prowess_registry::kind::{SAMPLE, binary_kind};
use serde_json::{Value, json};

use super::write::change;
use crate::files::file::{self, Expected, Fault, MAX_WRITTEN};
use crate::files::path_guard::{FileAction, PathGuard, ResolvedPath, shown};

/// Most places that an error names.
const MAX_PLACES: usize = 8;
/// Most lines that come near in an error.
const MAX_NEAR: usize = 3;
/// Most characters of a line in an error.
const MAX_LINE: usize = 200;
/// Most bytes of the diff in the answer.
const MAX_DIFF: usize = 4_000;

/// `edit`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Edit;

impl Tool for Edit {
    fn name(&self) -> &'static str {
        crate::names::EDIT
    }

    fn description(&self, _context: &ToolContext) -> String {
        "Replaces a text in a file by another. `old` must stand in the file exactly once, with its \
         spaces and line breaks and without line numbers; give more of the lines around it until it \
         does, or set `all`."
            .to_owned()
    }

    fn input_schema(&self) -> Value {
        object(
            &[
                super::file(),
                (
                    "old",
                    json!({ "type": "string", "minLength": 1, "description": "The text to replace, exactly as it stands in the file." }),
                ),
                (
                    "new",
                    json!({ "type": "string", "description": "The text in its place." }),
                ),
                (
                    "all",
                    json!({ "type": "boolean", "description": "Whether to replace it everywhere (default: false)." }),
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

    fn answer(
        &self,
        context: &ToolContext,
        loaded: &mut Loaded,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        let (old, new) = (text(input, "old"), text(input, "new"));
        let all = input.get("all").and_then(Value::as_bool).unwrap_or(false);
        if old == new {
            let text = "`old` and `new` are the same, so there is nothing to do.";
            return Err(ToolError::new(Why::Input, text));
        }
        let guard = PathGuard::new(context, loaded);
        let resolved = guard.resolve(text(input, "path"))?;
        let readable = {
            let judged = guard.judge(&context.judging(loaded), FileAction::Read, &resolved.real);
            judged.verdict == Verdict::Allow
        };
        let plan = || {
            plan(&guard, &resolved, old, new, all).map_err(|error| {
                // What is in a file is for those who may read it.
                if readable {
                    return error;
                }
                let name = tick(shown(&resolved.name));
                let text = format!("The text cannot be replaced in {name}.");
                ToolError::new(Why::Failed, text)
            })
        };
        // What would change is known only after a look; what the gate forbids is not looked at.
        let mut planned: Option<Change> = None;
        guard.permit(loaded, FileAction::Write, &resolved, || {
            let made = match plan() {
                Ok(made) => made,
                Err(error) if readable => return Err(error),
                // Whether the text is there is not for everybody to know either.
                Err(_) => {
                    return Ok(format!(
                        "Edit {}, where the text does not stand",
                        resolved.told()
                    ));
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
        let expected = Expected::Content(&change.before);
        file::put(&resolved, expected, &change.after)
            .map_err(|fault| fault.told(&guard, &resolved, "write"))?;
        Ok(told(&resolved, &change))
    }
}

/// A change of a file that can be made.
#[derive(Debug)]
struct Change {
    before: Vec<u8>,
    after: Vec<u8>,
    /// Where the text stood.
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

/// Looks at a file and finds what would change.
fn plan(
    guard: &PathGuard<'_>,
    resolved: &ResolvedPath,
    old: &str,
    new: &str,
    all: bool,
) -> Result<Change, ToolError> {
    let failed = |fault: Fault| fault.told(guard, resolved, "edit");
    let name = tick(shown(&resolved.name));
    let opened = file::open(&resolved.real).map_err(failed)?;
    if opened.is_folder {
        return Err(failed(Fault::NotAFile("a folder")));
    }
    let whole = opened
        .whole(MAX_WRITTEN)
        .map_err(|error| failed(Fault::of(error)))?;
    let Some(before) = whole else {
        let text = format!(
            "{name} is larger than the {} that are edited.",
            size(MAX_WRITTEN as u64)
        );
        return Err(ToolError::new(Why::Failed, text));
    };
    let sample = &before[..before.len().min(SAMPLE)];
    if binary_kind(sample).is_some() && sample.contains(&0) {
        return Err(ToolError::new(Why::Failed, format!("{name} is not text.")));
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
        [] => return Err(ToolError::new(Why::Failed, not_there(&name, &before, old))),
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
                "The text stands in {name} {} times, in lines {}. Give more of the lines around \
                 it, or set `all`.",
                several.len(),
                lines.join(", ")
            );
            return Err(ToolError::new(Why::Failed, text));
        }
        _ => {}
    }
    let grown = new
        .len()
        .saturating_sub(wanted.len())
        .saturating_mul(places.len());
    if before.len().saturating_add(grown) > MAX_WRITTEN {
        let text = format!(
            "{name} would become larger than {}.",
            size(MAX_WRITTEN as u64)
        );
        return Err(ToolError::new(Why::Failed, text));
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

/// Tells whether every line ends with CR LF, and there is one.
fn has_crlf_only(bytes: &[u8]) -> bool {
    let mut ends = memchr::memchr_iter(b'\n', bytes).peekable();
    ends.peek().is_some() && ends.all(|at| at > 0 && bytes[at - 1] == b'\r')
}

fn line_of(bytes: &[u8], at: usize) -> usize {
    memchr::memchr_iter(b'\n', &bytes[..at]).count() + 1
}

/// Says that a text is not in a file, and what comes near.
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
    let mut text = format!("The text does not stand in {name}.");
    if near.is_empty() {
        text.push_str(" Nothing comes near; read the file again.");
    } else {
        text.push_str(" Compare spaces and line breaks; these lines come near:\n");
        text.push_str(&near.join("\n"));
    }
    if numbered && near.is_empty() {
        text.push_str(" Line numbers do not belong to the file.");
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
    // The two lines with the name say nothing new.
    let hunks = kept.find("@@").map_or("", |at| &kept[at..]);
    let cut = if kept.len() < diff.len() {
        "[the diff goes on]\n"
    } else {
        ""
    };
    let text = format!(
        "Edited {}: {}, from line {line} on.\n{hunks}{cut}",
        tick(shown(&resolved.name)),
        count(change.places.len(), "place"),
    );
    let value = json!({
        "path": resolved.name, "replaced": change.places.len(), "line": line,
        "size": change.after.len(), "before": change.before.len(),
    });
    ToolAnswer::new(text, value)
}

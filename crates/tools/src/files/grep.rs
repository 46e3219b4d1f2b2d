//! `grep`: finds lines in files.
//!
//! Lines are searched one by one with a regular expression that runs in linear time. Binary files
//! and files ignored by `.gitignore` are skipped.

use std::collections::VecDeque;

use crate::input::{number, object, text};
use crate::{
    Loaded, MAX_BYTES, MAX_LINES, Tool, ToolAnswer, ToolContext, ToolError, ToolErrorKind,
};
use globset::GlobMatcher;
use prowess_diag::wording::{count, size, tick};
use prowess_registry::media_type::SAMPLE;
use regex_automata::meta::Regex;
use regex_automata::util::syntax;
use serde_json::{Value, json};

use crate::files::open_file;
use crate::files::path_guard::shown;
use crate::files::walk::{Found, Search, notes, pattern};

/// Default maximum number of matches.
const USUAL_LIMIT: usize = 100;
/// Largest accepted `limit`.
const MAX_LIMIT: usize = 1_000;
/// Maximum number of context lines around each match.
const MAX_CONTEXT: usize = 20;
/// Maximum size of a searched file, in bytes.
const MAX_FILE: usize = 16 * 1024 * 1024;
/// Maximum number of bytes shown of one line.
const LINE: usize = 500;
/// Maximum size of a result in bytes; leaves room for notes.
const BYTES: usize = MAX_BYTES - 2_000;
/// Maximum number of lines in a result.
const LINES: usize = MAX_LINES - 20;
/// Maximum size of the compiled expression, in bytes.
const MAX_MACHINE: usize = 10 * 1024 * 1024;

/// The `grep` tool.
#[derive(Clone, Copy, Debug, Default)]
pub struct Grep;

impl Tool for Grep {
    fn name(&self) -> &'static str {
        crate::names::GREP
    }

    fn description(&self, _context: &ToolContext) -> String {
        "Searches file contents for lines matching a regular expression (no look-around, no \
         backreferences). Returns each matching line with its file and line number. Binary files \
         and files ignored by .gitignore are excluded."
            .to_owned()
    }

    fn input_schema(&self) -> Value {
        object(
            &[
                super::pattern("pattern", "Regular expression."),
                super::path("The folder or file to search (default: the project root)."),
                super::pattern(
                    "glob",
                    "Only search files matching this glob pattern: `*.rs`, `src/**`.",
                ),
                (
                    "ignore_case",
                    json!({ "type": "boolean", "description": "Ignore case (default: false)." }),
                ),
                (
                    "limit",
                    json!({ "type": "integer", "minimum": 1, "description": format!("Maximum number of matching lines (default: {USUAL_LIMIT}, maximum: {MAX_LIMIT}).") }),
                ),
                (
                    "context",
                    json!({ "type": "integer", "minimum": 0, "description": "Number of lines to show before and after each match." }),
                ),
            ],
            &["pattern"],
        )
    }

    fn output_schema(&self) -> Value {
        let line = object(
            &[
                ("path", json!({ "type": "string" })),
                ("line", json!({ "type": "integer", "minimum": 1 })),
                ("text", json!({ "type": "string" })),
            ],
            &["path", "line", "text"],
        );
        object(
            &[
                ("matches", json!({ "type": "array", "items": line })),
                ("files", json!({ "type": "integer", "minimum": 0 })),
                ("more", json!({ "type": "boolean" })),
                ("leftOut", json!({ "type": "integer", "minimum": 0 })),
                ("skipped", json!({ "type": "integer", "minimum": 0 })),
            ],
            &["matches", "files", "more", "leftOut", "skipped"],
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
        let ignore_case = input
            .get("ignore_case")
            .and_then(Value::as_bool)
            .unwrap_or(false);
        let regex = expression(raw, ignore_case)?;
        let glob = input
            .get("glob")
            .and_then(Value::as_str)
            .map(pattern)
            .transpose()?;
        let amount = |field: &str| number(input, field).and_then(|n| usize::try_from(n).ok());
        let mut finds = Finds {
            regex,
            limit: amount("limit").unwrap_or(USUAL_LIMIT).clamp(1, MAX_LIMIT),
            context: amount("context").unwrap_or(0).min(MAX_CONTEXT),
            text: String::new(),
            lines: 0,
            matches: Vec::new(),
            files: 0,
            large: 0,
        };
        let search = Search::new(context, loaded, input.get("path").and_then(Value::as_str))?;
        let fits = |glob: &GlobMatcher, found: &Found<'_>| glob.is_match(found.inner);
        let mut tally = search.walk(
            |found| !found.is_link && glob.as_ref().is_none_or(|glob| fits(glob, found)),
            |found| finds.file(&search, found),
        );
        if tally.cut.is_none() && search.is_late() {
            tally.cut = Some("the search timed out");
        }
        let mut told = std::mem::take(&mut finds.text);
        if finds.matches.is_empty() {
            told = format!(
                "No lines in {} match {}.\n",
                search.name(),
                tick(shown(raw))
            );
        }
        told.push_str(&notes(&tally, "use a narrower pattern, `glob` or `path`"));
        if finds.large > 0 {
            told.push_str(&format!(
                "[not searched: {} larger than {}]\n",
                count(finds.large, "file"),
                size(MAX_FILE as u64)
            ));
        }
        let value = json!({
            "matches": finds.matches, "files": finds.files, "more": tally.cut.is_some(),
            "leftOut": tally.left_out, "skipped": finds.large,
        });
        Ok(ToolAnswer::new(told, value))
    }
}

fn expression(raw: &str, ignore_case: bool) -> Result<Regex, ToolError> {
    let built = Regex::builder()
        .syntax(
            syntax::Config::new()
                .case_insensitive(ignore_case)
                .utf8(false)
                .nest_limit(100),
        )
        .configure(
            Regex::config()
                .utf8_empty(false)
                .nfa_size_limit(Some(MAX_MACHINE)),
        )
        .build(raw);
    built.map_err(|error| {
        let why = match error.syntax_error() {
            Some(error) => error.to_string(),
            None => "it is too large when compiled".to_owned(),
        };
        let text = format!(
            "{} is not a valid regular expression: {why}",
            tick(shown(raw))
        );
        ToolError::new(ToolErrorKind::Input, text)
    })
}

/// The matches found so far.
struct Finds {
    regex: Regex,
    limit: usize,
    context: usize,
    text: String,
    lines: usize,
    matches: Vec<Value>,
    files: usize,
    large: usize,
}

impl Finds {
    /// Searches a file. Returns `false` to stop the search.
    fn file(&mut self, search: &Search<'_>, found: &Found<'_>) -> bool {
        let Ok(opened) = open_file::open(found.real) else {
            return true;
        };
        if opened.is_folder {
            return true;
        }
        let bytes = match opened.whole(MAX_FILE) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                self.large += 1;
                return true;
            }
            Err(_) => return true,
        };
        if bytes[..bytes.len().min(SAMPLE)].contains(&0) {
            return true;
        }
        let name = shown(&search.guard.name(found.real));
        let mut before: VecDeque<(usize, &[u8])> = VecDeque::new();
        let (mut after, mut last) = (0, 0);
        let mut first = true;
        for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if at % 1_000 == 999 && search.is_late() {
                return false;
            }
            // The empty rest after the last line break is not a line.
            if line.is_empty() && is_end(&bytes, line) {
                break;
            }
            let number = at + 1;
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if !self.regex.is_match(line) {
                if after > 0 {
                    after -= 1;
                    last = number;
                    if !self.push(&format!("{number}-{}", cut(line, None))) {
                        return false;
                    }
                } else if self.context > 0 {
                    if before.len() == self.context {
                        before.pop_front();
                    }
                    before.push_back((number, line));
                }
                continue;
            }
            if self.matches.len() == self.limit {
                return false;
            }
            if first {
                self.files += 1;
                let gap = if self.text.is_empty() { "" } else { "\n" };
                if !self.push(&format!("{gap}{name}")) {
                    return false;
                }
            }
            let from = before.front().map_or(number, |(number, _)| *number);
            if !first && self.context > 0 && from > last + 1 && !self.push("--") {
                return false;
            }
            first = false;
            for (number, line) in before.drain(..) {
                if !self.push(&format!("{number}-{}", cut(line, None))) {
                    return false;
                }
            }
            let place = self.regex.find(line).map(|found| found.start());
            let shown = cut(line, place);
            if !self.push(&format!("{number}:{shown}")) {
                return false;
            }
            self.matches
                .push(json!({ "path": name, "line": number, "text": shown }));
            (after, last) = (self.context, number);
        }
        true
    }

    /// Appends a line to the result. Returns `false` if there is no room.
    fn push(&mut self, line: &str) -> bool {
        let lines = line.matches('\n').count() + 1;
        if self.text.len() + line.len() + 1 > BYTES || self.lines + lines > LINES {
            return false;
        }
        self.lines += lines;
        self.text.push_str(line);
        self.text.push('\n');
        true
    }
}

/// Returns `true` if `part` is at the very end of `bytes`.
fn is_end(bytes: &[u8], part: &[u8]) -> bool {
    std::ptr::eq(bytes.as_ptr_range().end, part.as_ptr())
}

/// Shortens a long line to the part around the match.
fn cut(line: &[u8], place: Option<usize>) -> String {
    if line.len() <= LINE {
        return String::from_utf8_lossy(line).into_owned();
    }
    let from = place.unwrap_or(0).saturating_sub(LINE / 4);
    let to = (from + LINE).min(line.len());
    let is_inside = |at: usize| line.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let from = (from..to).find(|at| !is_inside(*at)).unwrap_or(from);
    let to = (from..=to).rev().find(|at| !is_inside(*at)).unwrap_or(to);
    let dots = |there: bool| if there { "…" } else { "" };
    let text = String::from_utf8_lossy(&line[from..to]);
    format!("{}{text}{}", dots(from > 0), dots(to < line.len()))
}

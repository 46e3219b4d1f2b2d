//! `read`: read a file, see a picture, list a folder.
//!
//! Text comes with the number of each line and a tab before it, as Claude Code's `Read` shows it:
//! models name lines by number, and `edit` says in which line something is. Neither belongs to the
//! file. Long files come in parts of lines; the answer says how many there are in all and where to
//! go on. What is no text is named and not shown.

use std::borrow::Cow;

use crate::input::{number, object, text};
use crate::{Loaded, MAX_BYTES, MAX_LINES, Tool, ToolAnswer, ToolContext, ToolError, Why};
use memchr::memchr;
use prowess_diag::wording::{count, shorten, size, thousands, tick};
use prowess_registry::kind::{SAMPLE, binary_kind};
use prowess_registry::resource::read_at;
use rustix::fs::Dir;
use rustix::io::Errno;
use serde_json::{Value, json};

use crate::files::file::{self, Fault, Opened};
use crate::files::path_guard::{FileAction, PathGuard, ResolvedPath, shown};
use crate::files::picture::{MAX_PICTURE, is_picture, picture};

/// Most lines of an answer, and how many there are where nobody says.
const LINES: usize = MAX_LINES - 10;
/// Most bytes of an answer; there is room for a sentence more.
const BYTES: usize = MAX_BYTES - 1_000;
/// Most bytes of one line that are shown.
const LINE: usize = 2_000;
/// How far into a file lines are counted.
const MAX_SCANNED: u64 = 64 * 1024 * 1024;
/// How much is read at once.
const CHUNK: usize = 256 * 1024;
/// Most entries of a folder that are listed.
const MAX_LISTED: usize = 1_000;
/// Most entries of a folder that are looked at.
const MAX_ENTRIES: usize = 100_000;

/// `read`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Read;

impl Tool for Read {
    fn name(&self) -> &'static str {
        crate::names::READ
    }

    fn description(&self, _context: &ToolContext) -> String {
        "Reads a file. Each line comes with its number and a tab before it, which are not part of \
         the file. Long files come in parts: go on with `offset`. Pictures (PNG, JPEG, GIF, WebP) \
         are shown, folders are listed."
            .to_owned()
    }

    fn input_schema(&self) -> Value {
        object(
            &[
                super::file(),
                (
                    "offset",
                    json!({ "type": "integer", "minimum": 1, "description": "The line to begin with; the first is 1." }),
                ),
                (
                    "limit",
                    json!({ "type": "integer", "minimum": 1, "description": "Most lines to read." }),
                ),
            ],
            &["path"],
        )
    }

    fn output_schema(&self) -> Value {
        object(
            &[
                ("path", json!({ "type": "string" })),
                (
                    "kind",
                    json!({ "enum": ["text", "picture", "binary", "folder"] }),
                ),
                ("type", json!({ "type": ["string", "null"] })),
                ("size", json!({ "type": "integer", "minimum": 0 })),
                ("content", json!({ "type": ["string", "null"] })),
                (
                    "first",
                    json!({ "type": ["integer", "null"], "minimum": 1 }),
                ),
                ("lines", json!({ "type": "integer", "minimum": 0 })),
                (
                    "total",
                    json!({ "type": ["integer", "null"], "minimum": 0 }),
                ),
                ("next", json!({ "type": ["integer", "null"], "minimum": 1 })),
            ],
            &[
                "path", "kind", "type", "size", "content", "first", "lines", "total", "next",
            ],
        )
    }

    fn answer(
        &self,
        context: &ToolContext,
        loaded: &mut Loaded,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        let guard = PathGuard::new(context, loaded);
        let resolved = guard.resolve(text(input, "path"))?;
        guard.permit(loaded, FileAction::Read, &resolved, || {
            Ok(format!("Read {}", resolved.told()))
        })?;
        let opened =
            file::open(&resolved.real).map_err(|fault| fault.told(&guard, &resolved, "read"))?;
        let failed = |error: Errno| Fault::of(error).told(&guard, &resolved, "read");
        if opened.is_folder {
            return folder(&opened, &resolved).map_err(failed);
        }
        let sample = read_at(&opened.handle, 0, SAMPLE).map_err(failed)?;
        match binary_kind(&sample) {
            // Old encodings are text too, only not UTF-8.
            Some("application/octet-stream") if !sample.contains(&0) => {}
            Some(kind) => return binary(&guard, &opened, &resolved, kind),
            None => {}
        }
        let line = |field: &str| number(input, field).and_then(|line| usize::try_from(line).ok());
        let first = line("offset").unwrap_or(1).max(1);
        let most = line("limit").unwrap_or(LINES).clamp(1, LINES);
        let part = part(&opened, first, most).map_err(failed)?;
        if part.lines == 0 && first > 1 {
            let text = if part.counted {
                format!(
                    "{} has {}, so none from {first} on.",
                    tick(shown(&resolved.name)),
                    count(part.total, "line")
                )
            } else {
                format!(
                    "{} is too long to find line {first}. Use `grep`, or `sed -n` with `bash`.",
                    tick(shown(&resolved.name))
                )
            };
            return Err(ToolError::new(Why::Input, text));
        }
        Ok(told(&opened, &resolved, first, part))
    }
}

/// Some lines of a file.
#[derive(Debug, Default)]
struct Part {
    /// The lines, with their ends.
    content: String,
    /// The same with numbers.
    numbered: String,
    /// How many there are in it.
    lines: usize,
    /// How many the file has, as far as they were counted.
    total: usize,
    /// Whether all of them were counted.
    counted: bool,
    /// Whether the file has more lines behind these.
    more: bool,
    /// How many lines are not shown whole.
    cut: usize,
    /// Whether something was not UTF-8.
    lossy: bool,
}

/// Reads lines, and counts all of them.
fn part(opened: &Opened, first: usize, most: usize) -> Result<Part, Errno> {
    let mut part = Part {
        counted: true,
        ..Part::default()
    };
    let (mut line, mut length) = (Vec::new(), 0_usize);
    let mut at = 0_u64;
    loop {
        let chunk = read_at(&opened.handle, at, CHUNK)?;
        if chunk.is_empty() {
            break;
        }
        let mut rest = chunk.as_slice();
        // The mark of UTF-8 at the beginning is no text.
        if at == 0 {
            rest = rest.strip_prefix(b"\xef\xbb\xbf").unwrap_or(rest);
        }
        while !rest.is_empty() {
            let (piece, ends) = match memchr(b'\n', rest) {
                Some(end) => (&rest[..=end], true),
                None => (rest, false),
            };
            rest = &rest[piece.len()..];
            let room = (LINE + 4).saturating_sub(line.len());
            line.extend_from_slice(&piece[..piece.len().min(room)]);
            length += piece.len();
            if ends {
                part.push(first, most, &line, length);
                line.clear();
                length = 0;
            }
        }
        at += chunk.len() as u64;
        if at >= MAX_SCANNED {
            part.counted = false;
            part.more = true;
            return Ok(part);
        }
    }
    if length > 0 {
        part.push(first, most, &line, length);
    }
    Ok(part)
}

impl Part {
    /// Takes one line; `line` is its beginning, `length` its whole length.
    fn push(&mut self, first: usize, most: usize, line: &[u8], length: usize) {
        self.total += 1;
        if self.total < first || self.more {
            return;
        }
        let text = match String::from_utf8_lossy(line) {
            Cow::Borrowed(text) => Cow::Borrowed(text),
            Cow::Owned(text) => {
                // A cut inside a character is no fault of the file.
                self.lossy |= length == line.len()
                    || std::str::from_utf8(line).is_err_and(|error| error.error_len().is_some());
                Cow::Owned(text)
            }
        };
        let bare = text.trim_end_matches(['\n', '\r']);
        let (shown, note) = if length > LINE + 2 {
            let shown = &bare[..bare.floor_char_boundary(LINE)];
            (
                shown,
                format!(" [and {} bytes]", thousands(length - shown.len())),
            )
        } else {
            (bare, String::new())
        };
        let numbered = format!("{}\t{shown}{note}\n", self.total);
        if self.lines == most || self.numbered.len() + numbered.len() > BYTES {
            self.more = true;
            return;
        }
        self.numbered.push_str(&numbered);
        if note.is_empty() {
            self.content.push_str(&text);
        } else {
            self.cut += 1;
            self.content.push_str(&format!("{shown}{note}\n"));
        }
        self.lines += 1;
    }
}

fn told(opened: &Opened, resolved: &ResolvedPath, first: usize, part: Part) -> ToolAnswer {
    let next = part.more.then_some(first + part.lines);
    let mut text = part.numbered;
    if part.total == 0 {
        text.push_str("[the file is empty]\n");
    }
    if part.more || first > 1 {
        let last = first + part.lines.saturating_sub(1);
        let total = if part.counted {
            thousands(part.total)
        } else {
            format!("more than {}", thousands(part.total))
        };
        text.push_str(&format!("[lines {first} to {last} of {total}"));
        match next {
            Some(next) => text.push_str(&format!("; go on with offset {next}]\n")),
            None => text.push_str("; this is the end]\n"),
        }
    }
    if part.lossy {
        text.push_str("[not all of it is UTF-8; such bytes are shown as \u{fffd}]\n");
    }
    let value = json!({
        "path": resolved.name, "kind": "text", "type": "text/plain", "size": opened.size(),
        "content": part.content, "first": first, "lines": part.lines,
        "total": part.counted.then_some(part.total), "next": next,
    });
    ToolAnswer::new(text, value)
}

/// A picture, or the notice for what is no text.
fn binary(
    guard: &PathGuard<'_>,
    opened: &Opened,
    resolved: &ResolvedPath,
    kind: &str,
) -> Result<ToolAnswer, ToolError> {
    let name = tick(shown(&resolved.name));
    let bytes = opened.size();
    let value = |what: &str| {
        json!({
            "path": resolved.name, "kind": what, "type": kind, "size": bytes, "content": null,
            "first": null, "lines": 0, "total": null, "next": null,
        })
    };
    if !is_picture(kind) {
        let text = format!(
            "{name} is not text: {kind}, {}. It is not shown.",
            size(bytes)
        );
        return Ok(ToolAnswer::new(text, value("binary")));
    }
    let whole = opened
        .whole(MAX_PICTURE)
        .map_err(|error| Fault::of(error).told(guard, resolved, "read"))?;
    let Some(whole) = whole else {
        let text = format!(
            "{name} is a picture ({kind}) of {}, more than the {} that are shown.",
            size(bytes),
            size(MAX_PICTURE as u64)
        );
        return Ok(ToolAnswer::new(text, value("binary")));
    };
    let mut answer = ToolAnswer::new(
        format!("{name} is a picture: {kind}, {}.", size(bytes)),
        value("picture"),
    );
    answer.images.push(picture(kind, &whole));
    Ok(answer)
}

/// The names in a folder; those of folders end with a slash, those of links with an at sign.
fn folder(opened: &Opened, resolved: &ResolvedPath) -> Result<ToolAnswer, Errno> {
    let mut names = Vec::new();
    let mut more = false;
    for entry in Dir::read_from(&opened.handle)? {
        let entry = entry?;
        let bytes = entry.file_name().to_bytes();
        if matches!(bytes, b"." | b"..") {
            continue;
        }
        if names.len() == MAX_ENTRIES {
            more = true;
            break;
        }
        let end = match entry.file_type() {
            rustix::fs::FileType::Directory => "/",
            rustix::fs::FileType::Symlink => "@",
            _ => "",
        };
        names.push(format!("{}{end}", shown(&String::from_utf8_lossy(bytes))));
    }
    names.sort_unstable();
    let total = names.len();
    let mut list = String::new();
    let mut listed = 0;
    for name in names.iter().take(MAX_LISTED) {
        if list.len() + name.len() > BYTES {
            break;
        }
        list.push_str(&shorten(name, 300));
        list.push('\n');
        listed += 1;
    }
    let mut text = format!("{} is a folder.\n{list}", tick(shown(&resolved.name)));
    if total == 0 {
        text.push_str("[it is empty]\n");
    }
    if listed < total || more {
        let all = if more { "more than " } else { "" };
        text.push_str(&format!(
            "[{} of {all}{}; use `glob` for the rest]\n",
            thousands(listed),
            count(total, "name")
        ));
    }
    let value = json!({
        "path": resolved.name, "kind": "folder", "type": null, "size": 0, "content": list,
        "first": null, "lines": listed, "total": (!more).then_some(total), "next": null,
    });
    Ok(ToolAnswer::new(text, value))
}

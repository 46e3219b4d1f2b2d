//! `read`: reads a file, shows an image, lists a folder.
//!
//! Each line is prefixed with its number and a tab, as in Claude Code's `Read`: models refer to
//! lines by number, and `edit` reports line numbers. The prefix is not part of the file. Long files
//! are paged by lines; the result gives the total and the offset to continue at. Binary files are
//! described but not shown.

use std::borrow::Cow;

use crate::input::{number, object, text};
use crate::{
    Loaded, MAX_BYTES, MAX_LINES, Tool, ToolAnswer, ToolContext, ToolError, ToolErrorKind,
};
use memchr::memchr;
use prowess_diag::wording::{count, shorten, size, thousands, tick};
use prowess_registry::media_type::{SAMPLE, binary_kind};
use prowess_registry::resource::read_at;
use rustix::fs::Dir;
use rustix::io::Errno;
use serde_json::{Value, json};

use crate::files::image::{MAX_PICTURE, is_picture, picture};
use crate::files::open_file::{self, Fault, Opened};
use crate::files::path_guard::{FileAction, PathGuard, ResolvedPath, shown};

/// Maximum number of lines in a result, and the default `limit`.
const LINES: usize = MAX_LINES - 10;
/// Maximum size of a result in bytes; leaves room for a note.
const BYTES: usize = MAX_BYTES - 1_000;
/// Maximum number of bytes shown of one line.
const LINE: usize = 2_000;
/// Maximum number of bytes scanned to count lines.
const MAX_SCANNED: u64 = 64 * 1024 * 1024;
/// Number of bytes read at a time.
const CHUNK: usize = 256 * 1024;
/// Maximum number of folder entries that are listed.
const MAX_LISTED: usize = 1_000;
/// Maximum number of folder entries that are read.
const MAX_ENTRIES: usize = 100_000;

/// The `read` tool.
#[derive(Clone, Copy, Debug, Default)]
pub struct Read;

impl Tool for Read {
    fn name(&self) -> &'static str {
        crate::names::READ
    }

    fn description(&self, _context: &ToolContext) -> String {
        "Reads a file. Each line is prefixed with its line number and a tab, which are not part of \
         the file. Long files are paged; pass `offset` to continue. Images (PNG, JPEG, GIF, WebP) \
         are shown; for a folder, its entries are listed."
            .to_owned()
    }

    fn input_schema(&self) -> Value {
        object(
            &[
                super::file(),
                (
                    "offset",
                    json!({ "type": "integer", "minimum": 1, "description": "Line number to start at, from 1." }),
                ),
                (
                    "limit",
                    json!({ "type": "integer", "minimum": 1, "description": "Maximum number of lines to read." }),
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

    fn is_read_only(&self, _context: &ToolContext) -> bool {
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
        guard.permit(loaded, FileAction::Read, &resolved, || {
            Ok(format!("Read {}", resolved.told()))
        })?;
        let opened = open_file::open(&resolved.real)
            .map_err(|fault| fault.told(&guard, &resolved, "read"))?;
        let failed = |error: Errno| Fault::of(error).told(&guard, &resolved, "read");
        if opened.is_folder {
            return folder(&opened, &resolved).map_err(failed);
        }
        let sample = read_at(&opened.handle, 0, SAMPLE).map_err(failed)?;
        match binary_kind(&sample) {
            // Text in a legacy encoding is shown as text too.
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
                    "`offset` {first} is past the end: {} has {}.",
                    tick(shown(&resolved.name)),
                    count(part.total, "line")
                )
            } else {
                format!(
                    "{} is too long to read from line {first}. Use `grep`, or `sed -n` with `bash`.",
                    tick(shown(&resolved.name))
                )
            };
            return Err(ToolError::new(ToolErrorKind::Input, text));
        }
        Ok(told(&opened, &resolved, first, part))
    }
}

/// A range of lines of a file.
#[derive(Debug, Default)]
struct Part {
    /// The lines with their line endings.
    content: String,
    /// The lines with numbers.
    numbered: String,
    /// Number of lines in the range.
    lines: usize,
    /// Number of lines counted in the file.
    total: usize,
    /// `true` if all lines of the file were counted.
    counted: bool,
    /// `true` if the file has more lines after the range.
    more: bool,
    /// Number of lines that were shortened.
    cut: usize,
    /// `true` if some bytes were not valid UTF-8.
    lossy: bool,
}

/// Reads a range of lines and counts the lines of the file.
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
        // Skip the UTF-8 byte order mark.
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
    /// Adds a line; `line` is its beginning, `length` its full length.
    fn push(&mut self, first: usize, most: usize, line: &[u8], length: usize) {
        self.total += 1;
        if self.total < first || self.more {
            return;
        }
        let text = match String::from_utf8_lossy(line) {
            Cow::Borrowed(text) => Cow::Borrowed(text),
            Cow::Owned(text) => {
                // A character split by our own truncation is not invalid UTF-8 in the file.
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
                format!(" [{} more bytes]", thousands(length - shown.len())),
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
        text.push_str(&format!("[lines {first}-{last} of {total}"));
        match next {
            Some(next) => text.push_str(&format!("; pass `offset` {next} to continue]\n")),
            None => text.push_str("; end of file]\n"),
        }
    }
    if part.lossy {
        text.push_str("[invalid UTF-8 is shown as \u{fffd}]\n");
    }
    let value = json!({
        "path": resolved.name, "kind": "text", "type": "text/plain", "size": opened.size(),
        "content": part.content, "first": first, "lines": part.lines,
        "total": part.counted.then_some(part.total), "next": next,
    });
    ToolAnswer::new(text, value)
}

/// Returns an image, or a description of a binary file.
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
            "{name} is a binary file ({kind}, {}) and is not shown.",
            size(bytes)
        );
        return Ok(ToolAnswer::new(text, value("binary")));
    }
    let whole = opened
        .whole(MAX_PICTURE)
        .map_err(|error| Fault::of(error).told(guard, resolved, "read"))?;
    let Some(whole) = whole else {
        let text = format!(
            "{name} is an image ({kind}, {}) and is too large to show (limit: {}).",
            size(bytes),
            size(MAX_PICTURE as u64)
        );
        return Ok(ToolAnswer::new(text, value("binary")));
    };
    let mut answer = ToolAnswer::new(
        format!("{name} is an image ({kind}, {}).", size(bytes)),
        value("picture"),
    );
    answer.images.push(picture(kind, &whole));
    Ok(answer)
}

/// Lists the entries of a folder: folders end with `/`, links with `@`.
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
        text.push_str("[empty]\n");
    }
    if listed < total || more {
        let all = if more { "more than " } else { "" };
        text.push_str(&format!(
            "[{} of {all}{} shown; use `glob` for the rest]\n",
            thousands(listed),
            count(total, "item")
        ));
    }
    let value = json!({
        "path": resolved.name, "kind": "folder", "type": null, "size": 0, "content": list,
        "first": null, "lines": listed, "total": (!more).then_some(total), "next": null,
    });
    Ok(ToolAnswer::new(text, value))
}

//! Prints results to standard output and everything else to standard error.

use std::borrow::Cow;
use std::cell::Cell;
use std::io::{BufWriter, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use prowess_diag::render::wrap::{hang, words};
use prowess_diag::render::{diff, full};
use prowess_diag::{LineIndex, sanitize, theme};

use crate::output::failure::Failure;
use crate::output::stderr::Aside;
use crate::output::untrusted::Foreign;

/// Maximum width of running text.
const MAX_WIDTH: usize = 120;

/// Writes to standard output and standard error.
#[derive(Debug)]
pub(crate) struct Printer {
    look: Look,
    reader_left: Cell<bool>,
    aside: Aside,
}

/// Output settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// When to use colours.
    pub color: ColorChoice,
    /// Quiet level: 1 prints results and errors, 2 prints nothing.
    pub quiet: u8,
    /// `true` to show progress.
    pub progress: bool,
    /// Width of the terminal, overriding the detected width.
    pub columns: Option<usize>,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            color: ColorChoice::Auto,
            quiet: 0,
            progress: true,
            columns: None,
        }
    }
}

impl Printer {
    /// Creates a printer. Progress is only shown on a terminal.
    pub(crate) fn new(look: Look) -> Self {
        let progress = look.progress && look.quiet == 0 && std::io::stderr().is_terminal();
        let look = Look { progress, ..look };
        Self {
            look,
            reader_left: Cell::new(false),
            aside: Aside::default(),
        }
    }

    /// Returns standard error for streamed output.
    pub(crate) fn live(&self) -> Aside {
        self.aside.clone()
    }

    /// Returns `true` if only results and errors are printed.
    pub(crate) fn is_quiet(&self) -> bool {
        self.look.quiet > 0
    }

    /// Returns `true` if standard output uses colours.
    pub(crate) fn has_colours(&self) -> bool {
        let choice = match self.look.color {
            ColorChoice::Auto => AutoStream::choice(&std::io::stdout()),
            other => other,
        };
        choice != ColorChoice::Never
    }

    /// Returns `true` if progress is shown.
    pub(crate) fn shows_progress(&self) -> bool {
        self.look.progress
    }

    /// Returns the layout of findings on standard output.
    pub(crate) fn layout(&self) -> full::RenderOptions {
        let stdout = std::io::stdout();
        let color = match self.look.color {
            ColorChoice::Always | ColorChoice::AlwaysAnsi => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => AutoStream::choice(&stdout) != ColorChoice::Never,
        };
        full::RenderOptions {
            color,
            width: self.width(),
        }
    }

    /// Returns the width of the terminal, or `None` if standard output is not a terminal.
    pub(crate) fn width(&self) -> Option<usize> {
        let asked = columns(&std::io::stdout())?;
        Some(self.look.columns.unwrap_or(asked))
    }

    /// Returns the width of lists: entries are wrapped on a terminal, and one line each in a pipe.
    pub(crate) fn list_width(&self) -> usize {
        self.width().unwrap_or(usize::MAX)
    }

    /// Returns the width of running text.
    pub(crate) fn text_width(&self) -> usize {
        self.width().unwrap_or(80).clamp(40, MAX_WIDTH)
    }

    /// Writes the result: text that is laid out, with its parts from others already escaped. A broken
    /// pipe is not an error.
    pub(crate) fn answer(&self, text: &str) -> Result<(), Failure> {
        if self.look.quiet >= 2 {
            return Ok(());
        }
        let text = guarded(&std::io::stdout(), text, sanitize::styled);
        let mut stream = AutoStream::new(std::io::stdout().lock(), self.look.color);
        self.finish(
            stream
                .write_all(text.as_bytes())
                .and_then(|()| stream.flush()),
        )
    }

    /// Writes the result: unchanged to a pipe, and with control characters escaped as in JSON to a
    /// terminal.
    pub(crate) fn verbatim(&self, bytes: &[u8]) -> Result<(), Failure> {
        if std::io::stdout().is_terminal() {
            let text = String::from_utf8_lossy(bytes);
            return self.raw(sanitize::json(&text).as_bytes());
        }
        self.raw(bytes)
    }

    fn raw(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut stream = std::io::stdout().lock();
        self.finish(stream.write_all(bytes).and_then(|()| stream.flush()))
    }

    /// Writes untrusted text as the result: unchanged to a pipe, and with control characters escaped to
    /// a terminal.
    pub(crate) fn foreign(&self, text: &str) -> Result<(), Failure> {
        let mut stream = Foreign::new(std::io::stdout().lock());
        self.finish(stream.write(text.as_bytes()).and_then(|()| stream.finish()))
    }

    /// Writes a diff as the result: unchanged to a pipe, so that it can be applied; coloured, fitted to
    /// the width and with control characters escaped to a terminal.
    pub(crate) fn diff(&self, text: &str) -> Result<(), Failure> {
        if self.look.quiet >= 2 {
            return Ok(());
        }
        let layout = self.layout();
        if !std::io::stdout().is_terminal() && !layout.color {
            return self.verbatim(text.as_bytes());
        }
        self.raw(
            guarded(
                &std::io::stdout(),
                &diff::shown(text, layout),
                sanitize::styled,
            )
            .as_bytes(),
        )
    }

    fn finish(&self, result: std::io::Result<()>) -> Result<(), Failure> {
        match result {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
                self.reader_left.set(true);
            }
            Err(error) => return Err(Failure::new("cannot write to standard output").cause(error)),
            Ok(()) => {}
        }
        Ok(())
    }

    /// Returns `true` if the reader of standard output closed the pipe.
    pub(crate) fn reader_left(&self) -> bool {
        self.reader_left.get()
    }

    /// Writes a JSON document as the result.
    pub(crate) fn json(&self, value: &serde_json::Value) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value)
            .map_err(|error| Failure::new("cannot write JSON").cause(error))?;
        if self.look.quiet >= 2 {
            return Ok(());
        }
        self.verbatim(format!("{text}\n").as_bytes())
    }

    /// Writes a JSON document whose empty list `key` is filled with `items`, each the text of a JSON
    /// value. The bytes are those of [`Self::json`] for the whole document, which is never in
    /// memory.
    pub(crate) fn json_with_list<'a>(
        &self,
        document: &serde_json::Value,
        key: &str,
        items: impl Iterator<Item = &'a str>,
    ) -> Result<(), Failure> {
        if self.look.quiet >= 2 {
            return Ok(());
        }
        let is_terminal = std::io::stdout().is_terminal();
        let mut out = BufWriter::new(std::io::stdout().lock());
        let result = write_json_with_list(document, key, items, &mut |text| {
            if is_terminal {
                out.write_all(sanitize::json(text).as_bytes())
            } else {
                out.write_all(text.as_bytes())
            }
        });
        self.finish(result.and_then(|()| out.flush()))
    }

    /// Prints a status line to standard error.
    pub(crate) fn status(&self, text: &str) {
        if self.look.quiet == 0 {
            self.say(&sanitize::block(text), 2);
        }
    }

    /// Prints a note and a hint to standard error.
    pub(crate) fn note(&self, text: &str, hint: &str) {
        if self.look.quiet == 0 {
            self.say(&sanitize::line(text), 2);
            let accent = theme::bold(theme::ACCENT);
            self.say(
                &format!("{accent}hint{accent:#}: {}", sanitize::line(hint)),
                6,
            );
        }
    }

    /// Prints a warning.
    pub(crate) fn warn(&self, text: &str) {
        if self.look.quiet == 0 {
            let style = theme::bold(theme::WARNING);
            self.say(
                &format!("{style}warning{style:#}: {}", sanitize::line(text)),
                9,
            );
        }
    }

    /// Prints findings to standard error, such as those in the configuration.
    pub(crate) fn findings(&self, report: &prowess_diag::FileReport) {
        if self.look.quiet >= 2 {
            return;
        }
        let lines = LineIndex::new(report.text());
        for diagnostic in &report.diagnostics {
            let text = full::finding(report, &lines, diagnostic, self.aside_layout());
            self.stderr(&format!("{text}\n"));
        }
    }

    /// Returns the layout of findings on standard error.
    pub(crate) fn aside_layout(&self) -> full::RenderOptions {
        // `stderr` strips colours if they are disabled.
        full::RenderOptions {
            color: true,
            width: self.aside_width(),
        }
    }

    /// Prints text that is already laid out to standard error.
    pub(crate) fn aside(&self, text: &str) {
        if self.look.quiet < 2 {
            self.stderr(text);
        }
    }

    /// Prints an error and its hints.
    pub(crate) fn error(&self, error: &Failure) {
        if self.look.quiet >= 2 {
            return;
        }
        if let Some(report) = &error.report {
            self.findings(report);
        }
        let bad = theme::bold(theme::BAD);
        let mut text = format!("{bad}error{bad:#}: {}", sanitize::line(&error.message));
        if let Some(cause) = &error.cause {
            text.push_str(&format!(": {}", sanitize::line(cause)));
        }
        self.say(&text, 7);
        let accent = theme::bold(theme::ACCENT);
        for hint in &error.hints {
            self.say(
                &format!("{accent}hint{accent:#}: {}", sanitize::line(hint)),
                6,
            );
        }
    }

    /// Writes lines to standard error, wrapped at the width of the terminal with this hanging indent.
    fn say(&self, text: &str, indent: usize) {
        let width = self.aside_width().unwrap_or(usize::MAX);
        let lines = text
            .split('\n')
            .map(|line| format!("{}\n", hang(line, width, indent)));
        self.stderr(&lines.collect::<String>());
    }

    /// Returns the width of the terminal, or `None` if standard error is not a terminal.
    fn aside_width(&self) -> Option<usize> {
        let asked = columns(&std::io::stderr())?;
        Some(self.look.columns.unwrap_or(asked))
    }

    fn stderr(&self, text: &str) {
        let text = guarded(&std::io::stderr(), text, sanitize::styled);
        // There is no way to report that standard error is closed.
        let _ =
            AutoStream::new(std::io::stderr().lock(), self.look.color).write_all(text.as_bytes());
    }
}

/// Escapes a text if the stream is a terminal.
fn guarded<'t>(
    stream: &impl IsTerminal,
    text: &'t str,
    escape: fn(&str) -> Cow<'_, str>,
) -> Cow<'t, str> {
    if stream.is_terminal() {
        escape(text)
    } else {
        Cow::Borrowed(text)
    }
}

fn columns(stream: &(impl IsTerminal + std::os::fd::AsFd)) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

/// Wraps text at spaces; within code spans only if they are wider than a line.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut put = |word: &str| {
        let last = lines.last_mut().map_or(0, |line| line.chars().count());
        if last > 0 && last + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    };
    let text: Vec<&str> = text.split_whitespace().collect();
    for word in words(&text.join(" ")) {
        if word.chars().count() <= width {
            put(word);
        } else {
            word.split(' ').for_each(&mut put);
        }
    }
    lines
}

/// Prints a JSON value as one line to standard output, from any thread. Ignores a broken pipe, so that
/// the run is not interrupted.
pub(crate) fn json_line(value: &serde_json::Value) {
    let text = format!("{value}\n");
    let text = guarded(&std::io::stdout(), &text, sanitize::json);
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// Passes a document to `write` in pieces, with `items` in its empty list `key`.
fn write_json_with_list<'a>(
    document: &serde_json::Value,
    key: &str,
    mut items: impl Iterator<Item = &'a str>,
    write: &mut dyn FnMut(&str) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let text = serde_json::to_string_pretty(document)?;
    // Texts contain no line breaks, so this line is the list itself.
    let list = format!("\"{key}\": []");
    let place = text.match_indices(&list).find_map(|(at, _)| {
        let line = text[..at].rfind('\n')? + 1;
        text[line..at].trim().is_empty().then_some((line, at))
    });
    let (Some((line, at)), Some(first)) = (place, items.next()) else {
        return write(&format!("{text}\n"));
    };
    let indent = &text[line..at];
    let end = at + list.len();
    write(&text[..end - 1])?;
    for (number, item) in std::iter::once(first).chain(items).enumerate() {
        let value: serde_json::Value = serde_json::from_str(item)?;
        let item = serde_json::to_string_pretty(&value)?;
        let separator = if number == 0 { "" } else { "," };
        let item = item.replace('\n', &format!("\n{indent}  "));
        write(&format!("{separator}\n{indent}  {item}"))?;
    }
    write(&format!("\n{indent}]{}\n", &text[end..]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{wrap, write_json_with_list};

    #[test]
    fn streamed_document_has_the_same_bytes() {
        for items in [
            vec![],
            vec![json!({ "a": "x\n\"list\": []", "b": { "c": [1, 2], "d": [] } })],
            vec![json!(1), json!({}), json!({ "e": null })],
        ] {
            let document = |list: &[serde_json::Value]| json!({ "note": "\n  \"list\": []", "runs": [{ "list": list, "z": {} }], "end": 1 });
            let texts: Vec<String> = items.iter().map(ToString::to_string).collect();
            let mut streamed = String::new();
            let all = texts.iter().map(String::as_str);
            write_json_with_list(&document(&[]), "list", all, &mut |text| {
                streamed.push_str(text);
                Ok(())
            })
            .unwrap();
            let whole = serde_json::to_string_pretty(&document(&items)).unwrap();
            assert_eq!(streamed, format!("{whole}\n"));
        }
    }

    #[test]
    fn code_spans_are_not_broken_if_they_fit_a_line() {
        assert_eq!(wrap("see  `a b`\nnow", 7), ["see", "`a b`", "now"]);
        assert_eq!(wrap("see `a bcdefg` now", 8), ["see `a", "bcdefg`", "now"]);
        assert_eq!(wrap("", 8), [""]);
    }
}

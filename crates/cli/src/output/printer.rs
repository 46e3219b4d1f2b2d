//! Answers go to standard output, everything else to standard error.

use std::cell::Cell;
use std::io::{IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use prowess_diag::render::wrap::{hang, words};
use prowess_diag::render::{diff, full};
use prowess_diag::{LineIndex, sanitize};

use crate::output::aside::Aside;
use crate::output::failure::Failure;
use crate::output::foreign::Foreign;

/// Widest text that is laid out for people; wider terminals get margins.
const MAX_WIDTH: usize = 120;

/// Where output goes and how it looks.
#[derive(Debug)]
pub(crate) struct Printer {
    look: Look,
    reader_left: Cell<bool>,
    aside: Aside,
}

/// What was asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// When to use colours.
    pub color: ColorChoice,
    /// How little is wanted: 1 leaves results and errors, 2 only the exit code.
    pub quiet: u8,
    /// Whether progress is wanted.
    pub progress: bool,
    /// How wide the terminal is, where somebody knows better than it does.
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
    /// Makes a printer. Progress is only ever shown on a terminal.
    pub(crate) fn new(look: Look) -> Self {
        let progress = look.progress && look.quiet == 0 && std::io::stderr().is_terminal();
        let look = Look { progress, ..look };
        Self {
            look,
            reader_left: Cell::new(false),
            aside: Aside::default(),
        }
    }

    /// Standard error for what is written while something goes on.
    pub(crate) fn live(&self) -> Aside {
        self.aside.clone()
    }

    /// Whether only results and errors are wanted.
    pub(crate) fn is_quiet(&self) -> bool {
        self.look.quiet > 0
    }

    /// Whether standard output shows colours.
    pub(crate) fn has_colours(&self) -> bool {
        let choice = match self.look.color {
            ColorChoice::Auto => AutoStream::choice(&std::io::stdout()),
            other => other,
        };
        choice != ColorChoice::Never
    }

    /// Whether progress may be shown.
    pub(crate) fn shows_progress(&self) -> bool {
        self.look.progress
    }

    /// How findings are laid out on standard output.
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

    /// Columns of the terminal; nothing when the output is not a terminal.
    pub(crate) fn width(&self) -> Option<usize> {
        let asked = columns(&std::io::stdout())?;
        Some(self.look.columns.unwrap_or(asked))
    }

    /// Columns for lists: on a terminal they are wrapped, in a pipe each entry is one line.
    pub(crate) fn list_width(&self) -> usize {
        self.width().unwrap_or(usize::MAX)
    }

    /// Columns for running text.
    pub(crate) fn text_width(&self) -> usize {
        self.width().unwrap_or(80).clamp(40, MAX_WIDTH)
    }

    /// Writes the answer. A reader that went away is not an error.
    pub(crate) fn answer(&self, text: &str) -> Result<(), Failure> {
        if self.look.quiet >= 2 {
            return Ok(());
        }
        let mut stream = AutoStream::new(std::io::stdout().lock(), self.look.color);
        self.finish(
            stream
                .write_all(text.as_bytes())
                .and_then(|()| stream.flush()),
        )
    }

    /// Writes text of the user's as the answer, to the byte.
    pub(crate) fn verbatim(&self, text: &[u8]) -> Result<(), Failure> {
        let mut stream = std::io::stdout().lock();
        self.finish(stream.write_all(text).and_then(|()| stream.flush()))
    }

    /// Writes text of strangers as the answer: to the byte in a pipe, and on a terminal with nothing
    /// in it that the terminal would act on.
    pub(crate) fn foreign(&self, text: &str) -> Result<(), Failure> {
        let mut stream = Foreign::new(std::io::stdout().lock());
        self.finish(stream.write(text.as_bytes()).and_then(|()| stream.finish()))
    }

    /// Writes a diff as the answer. In a pipe it keeps every byte, so that it can be applied; a
    /// terminal gets it with colours, as wide as itself, and with nothing in it that it would act on.
    pub(crate) fn diff(&self, text: &str) -> Result<(), Failure> {
        if self.look.quiet >= 2 {
            return Ok(());
        }
        let layout = self.layout();
        if !std::io::stdout().is_terminal() && !layout.color {
            return self.verbatim(text.as_bytes());
        }
        self.verbatim(diff::shown(text, layout).as_bytes())
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

    /// Whether whoever read the answer has gone away. Then nobody wants to know how it ended.
    pub(crate) fn reader_left(&self) -> bool {
        self.reader_left.get()
    }

    /// Writes a JSON document as the answer.
    pub(crate) fn json(&self, value: &serde_json::Value) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value)
            .map_err(|error| Failure::new("cannot write JSON").cause(error))?;
        self.answer(&format!("{text}\n"))
    }

    /// Says how it went, on standard error.
    pub(crate) fn status(&self, text: &str) {
        if self.look.quiet == 0 {
            self.say(text, 2);
        }
    }

    /// Says something that is no error, and no answer either, and what to try.
    pub(crate) fn note(&self, text: &str, hint: &str) {
        if self.look.quiet == 0 {
            self.say(&sanitize::line(text), 2);
            let cyan = bold(AnsiColor::Cyan);
            self.say(&format!("{cyan}hint{cyan:#}: {}", sanitize::line(hint)), 6);
        }
    }

    /// Warns: it was done, but.
    pub(crate) fn warn(&self, text: &str) {
        if self.look.quiet == 0 {
            let style = bold(AnsiColor::Yellow);
            self.say(
                &format!("{style}warning{style:#}: {}", sanitize::line(text)),
                9,
            );
        }
    }

    /// Shows findings beside the answer, such as those about the configuration.
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

    /// How findings are laid out beside the answer.
    pub(crate) fn aside_layout(&self) -> full::RenderOptions {
        // Colours that are not wanted are taken out on the way.
        full::RenderOptions {
            color: true,
            width: self.aside_width(),
        }
    }

    /// Writes findings that are laid out already beside the answer.
    pub(crate) fn aside(&self, text: &str) {
        if self.look.quiet < 2 {
            self.stderr(text);
        }
    }

    /// Says what went wrong, and what to type next.
    pub(crate) fn error(&self, error: &Failure) {
        if self.look.quiet >= 2 {
            return;
        }
        if let Some(report) = &error.report {
            self.findings(report);
        }
        let red = bold(AnsiColor::Red);
        let mut text = format!("{red}error{red:#}: {}", sanitize::line(&error.message));
        if let Some(cause) = &error.cause {
            text.push_str(&format!(": {}", sanitize::line(cause)));
        }
        self.say(&text, 7);
        let cyan = bold(AnsiColor::Cyan);
        for hint in &error.hints {
            self.say(&format!("{cyan}hint{cyan:#}: {}", sanitize::line(hint)), 6);
        }
    }

    /// Writes lines to standard error. Those that are too wide for the terminal are broken at words
    /// and hang this far.
    fn say(&self, text: &str, indent: usize) {
        let width = self.aside_width().unwrap_or(usize::MAX);
        let lines = text
            .split('\n')
            .map(|line| format!("{}\n", hang(line, width, indent)));
        self.stderr(&lines.collect::<String>());
    }

    /// Columns of the terminal that standard error goes to.
    fn aside_width(&self) -> Option<usize> {
        let asked = columns(&std::io::stderr())?;
        Some(self.look.columns.unwrap_or(asked))
    }

    fn stderr(&self, text: &str) {
        // Nobody is left to tell when standard error is gone.
        let _ =
            AutoStream::new(std::io::stderr().lock(), self.look.color).write_all(text.as_bytes());
    }
}

/// A bold style in one of the sixteen colours.
pub(crate) fn bold(color: AnsiColor) -> Style {
    color.on_default().bold()
}

fn columns(stream: &(impl IsTerminal + std::os::fd::AsFd)) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

/// Breaks text at blanks; between backticks only where nothing else helps.
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

/// Prints one JSON object as a line to standard output, from whatever thread. A reader who left is
/// no error: the work goes on.
pub(crate) fn json_line(value: &serde_json::Value) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{value}");
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn what_is_to_be_typed_is_not_broken_where_it_fits_a_line() {
        assert_eq!(wrap("see  `a b`\nnow", 7), ["see", "`a b`", "now"]);
        assert_eq!(wrap("see `a bcdefg` now", 8), ["see `a", "bcdefg`", "now"]);
        assert_eq!(wrap("", 8), [""]);
    }
}

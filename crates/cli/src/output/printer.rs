//! Answers go to standard output, everything else to standard error.

use std::cell::Cell;
use std::io::{IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use prowess_diag::render::full;
use prowess_diag::{LineIndex, sanitize};

use crate::args::{ColorArg, GlobalArgs};
use crate::env::Environment;
use crate::error::CliError;

/// Widest text that is laid out for people; wider terminals get margins.
const MAX_WIDTH: usize = 120;

/// Where output goes and how it looks.
#[derive(Debug)]
pub(crate) struct Printer {
    color: ColorChoice,
    quiet: u8,
    progress: bool,
    columns: Option<usize>,
    reader_left: Cell<bool>,
}

impl Printer {
    pub(crate) fn new(global: &GlobalArgs, environment: &Environment) -> Self {
        let color = match global.color {
            ColorArg::Auto => ColorChoice::Auto,
            ColorArg::Always => ColorChoice::Always,
            ColorArg::Never => ColorChoice::Never,
        };
        let progress = !global.no_progress
            && !environment.no_progress
            && global.quiet == 0
            && std::io::stderr().is_terminal();
        Self {
            color,
            quiet: global.quiet,
            progress,
            columns: environment.columns,
            reader_left: Cell::new(false),
        }
    }

    /// A printer for mistakes on the command line, before its options are known.
    pub(crate) fn plain(environment: &Environment) -> Self {
        let columns = environment.columns;
        Self {
            color: ColorChoice::Auto,
            quiet: 0,
            progress: false,
            columns,
            reader_left: Cell::new(false),
        }
    }

    /// Whether only results and errors are wanted.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet > 0
    }

    /// Whether progress may be shown.
    pub(crate) fn shows_progress(&self) -> bool {
        self.progress
    }

    /// How findings are laid out on standard output.
    pub(crate) fn layout(&self) -> full::Options {
        let stdout = std::io::stdout();
        let color = match self.color {
            ColorChoice::Always | ColorChoice::AlwaysAnsi => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => AutoStream::choice(&stdout) != ColorChoice::Never,
        };
        full::Options { color, width: self.width() }
    }

    /// Columns of the terminal; nothing when the output is not a terminal.
    pub(crate) fn width(&self) -> Option<usize> {
        let asked = terminal_width()?;
        Some(self.columns.unwrap_or(asked))
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
    pub(crate) fn answer(&self, text: &str) -> Result<(), CliError> {
        if self.quiet >= 2 {
            return Ok(());
        }
        let mut stream = AutoStream::new(std::io::stdout().lock(), self.color);
        self.finish(stream.write_all(text.as_bytes()).and_then(|()| stream.flush()))
    }

    /// Writes text of the user's as the answer, to the byte.
    pub(crate) fn verbatim(&self, text: &[u8]) -> Result<(), CliError> {
        let mut stream = std::io::stdout().lock();
        self.finish(stream.write_all(text).and_then(|()| stream.flush()))
    }

    /// Writes a diff as the answer. In a pipe it keeps every byte, so that it can be applied; a
    /// terminal gets it with colours, and with nothing in it that the terminal would act on.
    pub(crate) fn diff(&self, text: &str) -> Result<(), CliError> {
        if self.quiet >= 2 {
            return Ok(());
        }
        let is_terminal = std::io::stdout().is_terminal();
        let has_color = self.layout().color;
        if !is_terminal && !has_color {
            return self.verbatim(text.as_bytes());
        }
        let mut shown = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            let style = match line.as_bytes() {
                _ if !has_color => Style::new(),
                [b'-', b'-', b'-', b' ', ..] | [b'+', b'+', b'+', b' ', ..] => Style::new().bold(),
                [b'@', ..] => AnsiColor::Cyan.on_default(),
                [b'-', ..] => AnsiColor::Red.on_default(),
                [b'+', ..] => AnsiColor::Green.on_default(),
                _ => Style::new(),
            };
            let line = line.trim_end_matches('\n');
            let line = if is_terminal {
                sanitize::block(line.trim_end_matches('\r'))
            } else {
                line.into()
            };
            shown.push_str(&format!("{style}{line}{style:#}\n"));
        }
        self.verbatim(shown.as_bytes())
    }

    fn finish(&self, result: std::io::Result<()>) -> Result<(), CliError> {
        match result {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
                self.reader_left.set(true);
            }
            Err(error) => return Err(CliError::new("cannot write to standard output").cause(error)),
            Ok(()) => {}
        }
        Ok(())
    }

    /// Whether whoever read the answer has gone away. Then nobody wants to know how it ended.
    pub(crate) fn reader_left(&self) -> bool {
        self.reader_left.get()
    }

    /// Writes a JSON document as the answer.
    pub(crate) fn json(&self, value: &serde_json::Value) -> Result<(), CliError> {
        let text = serde_json::to_string_pretty(value)
            .map_err(|error| CliError::new("cannot write JSON").cause(error))?;
        self.answer(&format!("{text}\n"))
    }

    /// Says how it went, on standard error.
    pub(crate) fn status(&self, text: &str) {
        if self.quiet == 0 {
            self.stderr(&format!("{text}\n"));
        }
    }

    /// Warns: it was done, but.
    pub(crate) fn warn(&self, text: &str) {
        if self.quiet == 0 {
            let style = bold(AnsiColor::Yellow);
            self.stderr(&format!("{style}warning{style:#}: {}\n", sanitize::line(text)));
        }
    }

    /// Shows findings about a file that is not a skill, such as the configuration.
    pub(crate) fn findings(&self, report: &prowess_diag::FileReport) {
        if self.quiet >= 2 {
            return;
        }
        let lines = LineIndex::new(report.text());
        for diagnostic in &report.diagnostics {
            let text = full::finding(
                report,
                &lines,
                diagnostic,
                full::Options { color: true, width: self.width() },
            );
            self.stderr(&text);
        }
    }

    /// Says what went wrong, and what to type next.
    pub(crate) fn error(&self, error: &CliError) {
        if self.quiet >= 2 {
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
        text.push('\n');
        let cyan = bold(AnsiColor::Cyan);
        for hint in &error.hints {
            text.push_str(&format!("{cyan}hint{cyan:#}: {}\n", sanitize::line(hint)));
        }
        self.stderr(&text);
    }

    fn stderr(&self, text: &str) {
        // Nobody is left to tell when standard error is gone.
        let _ = AutoStream::new(std::io::stderr().lock(), self.color).write_all(text.as_bytes());
    }
}

/// A bold style in one of the sixteen colours.
pub(crate) fn bold(color: AnsiColor) -> Style {
    color.on_default().bold()
}

fn terminal_width() -> Option<usize> {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(&stdout).ok()?;
    Some(usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

/// Breaks text at blanks.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().map_or(0, |line| line.chars().count());
        if last > 0 && last + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

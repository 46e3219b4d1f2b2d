//! Renders real terminal output of the command as SVG into `docs/pictures`.
//!
//! Each picture runs the command in a pseudo-terminal, with an empty home and a copy of the example
//! skills. Session ids and durations are replaced, so that the output is reproducible. `--check`
//! compares the text of the pictures and ignores their styles.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anstyle_svg::{Term, WIN10_CONSOLE};
use anyhow::{Context, Result, bail, ensure};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use vt100::{Cell, Color, Parser, Screen};

use crate::corpus::build_command;

/// The maximum time for one picture.
const DEADLINE: Duration = Duration::from_mins(2);
/// The width of the terminal.
const COLUMNS: u16 = 92;

/// One picture.
struct Picture {
    /// The name of the file.
    name: &'static str,
    /// The command line as shown above the output; `None` for a full-screen program.
    prompt: Option<&'static str>,
    arguments: &'static [&'static str],
    rows: u16,
    /// Texts to wait for, each followed by the keys to send.
    keys: &'static [(&'static str, &'static str)],
}

const PICTURES: &[Picture] = &[
    Picture {
        name: "validate",
        prompt: Some("prowess validate pdf-forms"),
        arguments: &["validate", "pdf-forms"],
        rows: 60,
        keys: &[],
    },
    Picture {
        name: "why",
        prompt: Some("prowess why release-notes"),
        arguments: &["why", "release-notes"],
        rows: 60,
        keys: &[],
    },
    Picture {
        name: "demo",
        prompt: Some("prowess demo"),
        arguments: &["demo"],
        rows: 60,
        keys: &[],
    },
    Picture {
        name: "chat",
        prompt: None,
        arguments: &["chat", "--model", "scripted:script.jsonl"],
        rows: 26,
        keys: &[
            ("/help", "How did sales go this spring?\r"),
            ("for this session", ""),
        ],
    },
];

/// The replies of the model in the picture of the chat.
const SCRIPT: &str = r#"{"text": "There is a skill for reports on CSV files.", "calls": [{"name": "load_skill", "input": {"name": "csv-report"}}], "usage": {"input": 2140, "output": 31}}
{"text": "", "calls": [{"name": "glob", "input": {"pattern": "*.csv"}}, {"name": "read", "input": {"path": "sales.csv"}}], "usage": {"input": 2390, "output": 44}}
{"text": "The file has **three months** of sales. Next, I compare them with last year.", "calls": [{"name": "bash", "input": {"command": "curl -s https://example.com/sales/2025.csv"}}], "usage": {"input": 2520, "output": 58}}
"#;

const SALES: &str = "month,region,total\nMarch,north,1200\nApril,north,1350\nMay,north,1510\n";

/// Writes the pictures, or checks that the committed ones have the same text.
pub(crate) fn run(root: &Path, check: bool) -> Result<()> {
    let prowess = build_command(root)?;
    let folder = root.join("docs/pictures");
    fs::create_dir_all(&folder)?;
    let mut stale = Vec::new();
    for picture in PICTURES {
        let svg = picture.render(root, &prowess)?;
        let path = folder.join(format!("{}.svg", picture.name));
        if check {
            let committed = fs::read_to_string(&path).unwrap_or_default();
            if text_of(&committed) != text_of(&svg) {
                stale.push(picture.name);
            }
        } else {
            fs::write(&path, svg)?;
        }
    }
    ensure!(
        stale.is_empty(),
        "these pictures are out of date; run `cargo xtask pictures`: {}",
        stale.join(", ")
    );
    println!(
        "{} pictures{}",
        PICTURES.len(),
        if check { " are up to date" } else { "" }
    );
    Ok(())
}

impl Picture {
    fn render(&self, root: &Path, prowess: &Path) -> Result<String> {
        let world = world(root)?;
        let mut command = Command::new(prowess);
        command
            .args(self.arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", world.path().join("home"))
            .env("TERM", "xterm-256color")
            .current_dir(world.path().join("project"));
        let screen = self
            .record(command)
            .with_context(|| format!("picture `{}`", self.name))?;
        let mut text = String::new();
        if let Some(prompt) = self.prompt {
            text.push_str(&format!("\u{1b}[1;32m$\u{1b}[0m {prompt}\n\n"));
        }
        text.push_str(&stable(&ansi(&screen)));
        let term = Term::new().palette(WIN10_CONSOLE);
        Ok(term.render_svg(text.trim_end_matches('\n')))
    }

    /// Runs the command in a pseudo-terminal until it exits, or until the last text appears.
    fn record(&self, command: Command) -> Result<Screen> {
        let mut terminal = Terminal::start(command, self.rows)?;
        let mut parser = Parser::new(self.rows, COLUMNS, 0);
        let deadline = Instant::now() + DEADLINE;
        for (wanted, keys) in self.keys {
            while !parser.screen().contents().contains(wanted) {
                ensure!(
                    terminal.feed(&mut parser, deadline)?,
                    "exited before `{wanted}` appeared:\n{}",
                    parser.screen().contents()
                );
            }
            terminal.input.write_all(keys.as_bytes())?;
        }
        if self.keys.is_empty() {
            while terminal.feed(&mut parser, deadline)? {}
        }
        Ok(parser.screen().clone())
    }
}

/// A program in a pseudo-terminal, which is killed on drop.
struct Terminal {
    child: Child,
    input: File,
    output: Receiver<Vec<u8>>,
}

impl Terminal {
    fn start(mut command: Command, rows: u16) -> Result<Self> {
        let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&main)?;
        unlockpt(&main)?;
        let name = ptsname(&main, Vec::new())?;
        tcsetwinsize(
            &main,
            Winsize {
                ws_row: rows,
                ws_col: COLUMNS,
                ws_xpixel: 0,
                ws_ypixel: 0,
            },
        )?;
        let side = File::options()
            .read(true)
            .write(true)
            .open(name.to_str().context("the name of a terminal is ASCII")?)?;
        let stream = || -> Result<Stdio> { Ok(Stdio::from(OwnedFd::from(side.try_clone()?))) };
        command.stdin(stream()?).stdout(stream()?).stderr(stream()?);
        let child = command.spawn()?;
        // The command holds copies; without these the end of the output is noticed.
        drop((command, side));
        let input = File::from(main);
        let mut reader = input.try_clone()?;
        let (sender, output) = mpsc::channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The last read fails when the program has closed the terminal.
            while let Ok(count) = reader.read(&mut bytes)
                && count > 0
                && sender.send(bytes[..count].to_vec()).is_ok()
            {}
        });
        Ok(Self {
            child,
            input,
            output,
        })
    }

    /// Processes the next output. Returns `false` at its end.
    fn feed(&self, parser: &mut Parser, deadline: Instant) -> Result<bool> {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.output.recv_timeout(left) {
            Ok(bytes) => {
                parser.process(&bytes);
                Ok(true)
            }
            Err(RecvTimeoutError::Disconnected) => Ok(false),
            Err(RecvTimeoutError::Timeout) => {
                bail!("timed out:\n{}", parser.screen().contents())
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The program may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Creates a home with the example skills and a project.
fn world(root: &Path) -> Result<tempfile::TempDir> {
    let world = tempfile::tempdir()?;
    let project = world.path().join("project");
    let skills = world.path().join("home/.agents/skills");
    copy(&root.join("examples/skills"), &skills)?;
    copy(&root.join("examples/broken"), &project)?;
    fs::create_dir_all(project.join(".git"))?;
    fs::write(project.join("script.jsonl"), SCRIPT)?;
    fs::write(project.join("sales.csv"), SALES)?;
    Ok(world)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    let mut entries = fs::read_dir(from)?.collect::<std::io::Result<Vec<_>>>()?;
    // In a fixed order, because recently changed skills are ranked first.
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (from, to): (PathBuf, PathBuf) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&from, &to)?;
        } else {
            fs::copy(from, to)?;
        }
    }
    Ok(())
}

/// Returns the lines of a screen with their styles as escape sequences.
fn ansi(screen: &Screen) -> String {
    let (rows, columns) = screen.size();
    let mut text = String::new();
    for row in 0..rows {
        let mut line = String::new();
        let mut style = String::new();
        for cell in (0..columns).filter_map(|column| screen.cell(row, column)) {
            if cell.is_wide_continuation() {
                continue;
            }
            let new = sgr(cell);
            if new != style {
                line.push_str(&new);
                style = new;
            }
            line.push_str(if cell.has_contents() {
                cell.contents()
            } else {
                " "
            });
        }
        text.push_str(line.trim_end());
        text.push_str("\u{1b}[0m\n");
    }
    while let Some(shorter) = text.strip_suffix("\u{1b}[0m\u{1b}[0m\n") {
        text.truncate(shorter.len());
    }
    let blank = "\n\u{1b}[0m\n";
    while text.ends_with(blank) {
        text.truncate(text.len() - blank.len() + 1);
    }
    text
}

fn sgr(cell: &Cell) -> String {
    let mut codes = vec!["0".to_owned()];
    for (is_set, code) in [
        (cell.bold(), "1"),
        (cell.dim(), "2"),
        (cell.italic(), "3"),
        (cell.underline(), "4"),
        (cell.inverse(), "7"),
    ] {
        if is_set {
            codes.push(code.to_owned());
        }
    }
    for (color, base) in [(cell.fgcolor(), 3), (cell.bgcolor(), 4)] {
        match color {
            Color::Default => {}
            Color::Idx(index @ 0..8) => codes.push(format!("{base}{index}")),
            Color::Idx(index) => codes.push(format!("{base}8;5;{index}")),
            Color::Rgb(red, green, blue) => codes.push(format!("{base}8;2;{red};{green};{blue}")),
        }
    }
    format!("\u{1b}[{}m", codes.join(";"))
}

/// Replaces session ids, durations, the spinner and other parts that differ between runs.
fn stable(text: &str) -> String {
    const SPINNER: &str = "⠙⠹⠸⠼⠴⠦⠧⠇⠏";
    let mut text: String = text
        .chars()
        .map(|c| if SPINNER.contains(c) { '⠋' } else { c })
        .collect();
    for mark in ["session show ", "session resume ", "session "] {
        if let Some(at) = text.find(mark) {
            let rest = &text[at + mark.len()..];
            let id: String = rest
                .chars()
                .take_while(char::is_ascii_alphanumeric)
                .collect();
            if id.len() == 8 && id.chars().any(|c| c.is_ascii_digit()) {
                text = text.replace(&id, "7k2m9x4p");
            }
        }
    }
    // The number of sandbox layers depends on the system.
    for (unit, number) in [(" ms", "12"), (" s", "1"), (" layers", "5")] {
        text = with_fixed_numbers(&text, unit, number);
    }
    text
}

/// Replaces each number before a unit.
fn with_fixed_numbers(text: &str, unit: &str, fixed: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(unit) {
        let (head, tail) = rest.split_at(at);
        let ends = !tail[unit.len()..].starts_with(|c: char| c.is_alphanumeric());
        let number = head.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, ',' | '.'));
        if ends && number.len() < head.len() {
            out.push_str(number);
            out.push_str(fixed);
        } else {
            out.push_str(head);
        }
        out.push_str(unit);
        rest = &tail[unit.len()..];
    }
    out.push_str(rest);
    out
}

/// Returns the text of an SVG, without its tags and style sheet.
fn text_of(svg: &str) -> String {
    let body = svg.split_once("</style>").map_or(svg, |(_, body)| body);
    let mut text = String::new();
    let mut in_tag = false;
    for c in body.chars() {
        match c {
            '<' => in_tag = true,
            '>' => in_tag = false,
            c if !in_tag => text.push(c),
            _ => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changing_parts_are_replaced() {
        assert_eq!(
            stable("⠹ read 1,234 ms · 3 s, 4 skills; prowess session show 0a1b2c3d"),
            "⠋ read 12 ms · 1 s, 4 skills; prowess session show 7k2m9x4p"
        );
    }

    #[test]
    fn screen_keeps_styles_and_drops_empty_lines() {
        let mut parser = Parser::new(5, 20, 0);
        parser.process(b"\x1b[1;31mred\x1b[0m  plain\r\n\r\nend");
        let text = ansi(parser.screen());
        assert!(text.contains("\u{1b}[0;1;31mred"), "{text:?}");
        let svg = Term::new().render_svg(&text);
        let words: Vec<String> = text_of(&svg)
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        assert_eq!(words, ["red", "plain", "end"]);
        assert_eq!(text.lines().count(), 3, "{text:?}");
    }
}

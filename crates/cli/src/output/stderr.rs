//! Standard error shared by several writers: streamed text, and whole lines in between.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::output::table::cut;

/// Maximum number of lines at the bottom.
const MAX_BOTTOM: usize = 12;
/// Maximum size of the text that is held back during a prompt, in bytes.
const MAX_HELD: usize = 64 * 1024;

/// Standard error, shared by all clones. It may have lines at the bottom that are drawn again after
/// each write.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aside {
    screen: Arc<Mutex<Screen>>,
}

/// What is on standard error.
#[derive(Debug, Default)]
struct Screen {
    place: Place,
    /// The lines at the bottom.
    bottom: Vec<String>,
    /// The number of lines at the bottom that are drawn.
    drawn: usize,
    /// The number of prompts that are shown. Nothing is written during them.
    prompts: usize,
    /// What was to be written during a prompt.
    held: Vec<u8>,
}

/// The cursor position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// At the start of a line.
    #[default]
    Start,
    /// Within a line.
    Within,
    /// At the start of a line, because [`Aside::line`] ended the streamed one.
    Moved,
}

impl Aside {
    fn screen(&self) -> MutexGuard<'_, Screen> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a whole line, first ending a streamed one.
    pub(crate) fn line(&self, line: &str) {
        let mut screen = self.screen();
        let (text, after) = between(screen.place, line);
        // There is no way to report that standard error is closed.
        let _ = screen.put(text.as_bytes());
        screen.place = after;
    }

    /// Replaces the lines at the bottom. They are cut to the width of the terminal.
    pub(crate) fn set_bottom(&self, lines: &[String]) {
        let size = prowess_tui::screen_size();
        let width = size.columns.saturating_sub(1).max(1);
        let most = (size.lines / 2).clamp(1, MAX_BOTTOM);
        let mut bottom: Vec<String> = lines.iter().map(|line| cut(line, width)).collect();
        if bottom.len() > most {
            let more = bottom.len() - (most - 1);
            bottom.truncate(most - 1);
            bottom.push(cut(&format!("and {more} more"), width));
        }
        let mut screen = self.screen();
        if screen.bottom != bottom {
            screen.bottom = bottom;
            let _ = screen.put(b"");
        }
    }

    /// Removes the lines at the bottom and holds back all output while a prompt is shown.
    pub(crate) fn during_prompt<T>(&self, prompt: impl FnOnce() -> T) -> T {
        {
            let mut screen = self.screen();
            let erased = screen.erased();
            let _ = write_all(&erased);
            screen.prompts += 1;
        }
        let answer = prompt();
        let mut screen = self.screen();
        screen.prompts -= 1;
        if screen.prompts == 0 {
            let held = std::mem::take(&mut screen.held);
            let _ = screen.put(&held);
        }
        answer
    }
}

impl Screen {
    /// Writes bytes above the lines at the bottom.
    fn put(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        if self.prompts > 0 {
            let room = MAX_HELD.saturating_sub(self.held.len());
            if bytes.len() <= room {
                self.held.extend_from_slice(bytes);
            }
            return Ok(());
        }
        let mut text = self.erased();
        text.extend_from_slice(bytes);
        let is_start = match bytes.last() {
            None => self.place != Place::Within,
            Some(last) => *last == b'\n',
        };
        if is_start {
            for line in &self.bottom {
                text.extend_from_slice(line.as_bytes());
                text.push(b'\n');
            }
            self.drawn = self.bottom.len();
        }
        write_all(&text)
    }

    /// Returns what removes the lines at the bottom.
    fn erased(&mut self) -> Vec<u8> {
        let drawn = std::mem::take(&mut self.drawn);
        "\u{1b}[1A\u{1b}[2K".repeat(drawn).into_bytes()
    }
}

fn write_all(bytes: &[u8]) -> std::io::Result<()> {
    let mut stderr = std::io::stderr().lock();
    stderr.write_all(bytes)?;
    stderr.flush()
}

impl Write for Aside {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut screen = self.screen();
        // The line was already ended by `line`.
        if screen.place == Place::Moved && bytes == b"\n" {
            screen.place = Place::Start;
            return Ok(bytes.len());
        }
        screen.put(bytes)?;
        match bytes.last() {
            Some(b'\n') => screen.place = Place::Start,
            Some(_) => screen.place = Place::Within,
            None => {}
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().lock().flush()
    }
}

/// Returns the text to write for a line, and the position after it.
fn between(place: Place, line: &str) -> (String, Place) {
    match place {
        Place::Within => (format!("\n{line}\n"), Place::Moved),
        Place::Start | Place::Moved => (format!("{line}\n"), place),
    }
}

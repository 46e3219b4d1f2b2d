//! Standard error shared by several writers: streamed text, and whole lines in between.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// Standard error, shared by all clones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aside {
    place: Arc<Mutex<Place>>,
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
    /// Writes a whole line, first ending a streamed one.
    pub(crate) fn line(&self, line: &str) {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        let (text, after) = between(*place, line);
        // There is no way to report that standard error is closed.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
        *place = after;
    }
}

impl Write for Aside {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        // The line was already ended by `line`.
        if *place == Place::Moved && bytes == b"\n" {
            *place = Place::Start;
            return Ok(bytes.len());
        }
        std::io::stderr().lock().write_all(bytes)?;
        match bytes.last() {
            Some(b'\n') => *place = Place::Start,
            Some(_) => *place = Place::Within,
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

//! Standard error for several who write to it: words that come in pieces, and lines in between.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// Standard error, shared by whoever has a clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aside {
    place: Arc<Mutex<Place>>,
}

/// Where the next character goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// To the beginning of a line.
    #[default]
    Start,
    /// Behind others.
    Within,
    /// To the beginning of a line, because somebody else ended the one before.
    Moved,
}

impl Aside {
    /// Writes a line of its own, whoever is within one.
    pub(crate) fn line(&self, line: &str) {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        let (text, after) = between(*place, line);
        // Nobody is left to tell when standard error is gone.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
        *place = after;
    }
}

impl Write for Aside {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever ends their line does not know that it was ended for them.
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

/// A line between what others write, and where that leaves them.
fn between(place: Place, line: &str) -> (String, Place) {
    match place {
        Place::Within => (format!("\n{line}\n"), Place::Moved),
        Place::Start | Place::Moved => (format!("{line}\n"), place),
    }
}

//! A bounded decoder for server-sent events.

/// The maximum size of one event in bytes.
pub const MAX_EVENT: usize = 8 * 1024 * 1024;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The kind; empty if the server does not send one.
    pub event: String,
    /// The data. Several lines are joined.
    pub data: String,
}

/// An invalid stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// An event is too large.
    #[error("an event is larger than {0} bytes")]
    TooLarge(usize),
    /// A line is not UTF-8.
    #[error("an event is not UTF-8")]
    NotText,
}

/// Decodes bytes into events. Each byte is processed once.
#[derive(Debug)]
pub struct SseDecoder {
    most: usize,
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    after_return: bool,
    at_start: bool,
}

impl Default for SseDecoder {
    fn default() -> Self {
        Self::new(MAX_EVENT)
    }
}

impl SseDecoder {
    /// Creates a decoder for events of at most `most` bytes.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            line: Vec::new(),
            event: SseEvent::default(),
            has_data: false,
            after_return: false,
            at_start: true,
        }
    }

    /// Processes bytes and appends complete events. Must not be used after an error.
    pub fn feed(&mut self, bytes: &[u8], events: &mut Vec<SseEvent>) -> Result<(), SseError> {
        let mut rest = bytes;
        if self.after_return && !rest.is_empty() {
            self.after_return = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (head, tail) = rest.split_at(end);
            self.extend(head)?;
            self.end_line(events)?;
            rest = match tail {
                [b'\r'] => {
                    self.after_return = true;
                    &[]
                }
                [b'\r', b'\n', more @ ..] | [_, more @ ..] => more,
                [] => &[],
            };
        }
        self.extend(rest)
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), SseError> {
        let held = self.line.len() + self.event.data.len() + self.event.event.len();
        if held + bytes.len() > self.most {
            return Err(SseError::TooLarge(self.most));
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, events: &mut Vec<SseEvent>) -> Result<(), SseError> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            if std::mem::take(&mut self.has_data) {
                events.push(event);
            }
            return Ok(());
        }
        let line = std::str::from_utf8(line).map_err(|_| SseError::NotText)?;
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
                self.has_data = true;
            }
            "event" => value.clone_into(&mut self.event.event),
            // Comments, ids, retry delays and unknown fields.
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<SseEvent> {
        let mut decoder = SseDecoder::default();
        let mut events = Vec::new();
        for piece in pieces {
            decoder.feed(piece, &mut events).unwrap();
        }
        events
    }

    fn event(event: &str, data: &str) -> SseEvent {
        SseEvent {
            event: event.into(),
            data: data.into(),
        }
    }

    #[test]
    fn stream_syntax() {
        for (text, expected) in [
            ("data: a\n\n", vec![event("", "a")]),
            (
                "data:a\r\n\r\ndata: b\r\rdata: c\n\n",
                vec![event("", "a"), event("", "b"), event("", "c")],
            ),
            ("event: x\ndata: a\ndata: b\n\n", vec![event("x", "a\nb")]),
            (": comment\n\nevent: x\n\ndata: a\n\n", vec![event("", "a")]),
            ("\u{feff}data: a\n\n", vec![event("", "a")]),
            ("id: 1\nretry: 5\nfoo\ndata\n\n", vec![event("", "")]),
            ("data:  a\n\ndata: cut", vec![event("", " a")]),
            ("data: \u{feff}\n\n", vec![event("", "\u{feff}")]),
        ] {
            assert_eq!(decode([text.as_bytes()]), expected, "{text:?}");
        }
    }

    #[test]
    fn every_split_gives_the_same_events() {
        let text = "event: e\r\ndata: grüß 🦀 日本\r\n\r\n: x\rdata: b\r\rdata: c\n\n".as_bytes();
        let whole = decode([text]);
        assert_eq!(whole.len(), 3);
        for at in 0..=text.len() {
            assert_eq!(decode([&text[..at], &text[at..]]), whole, "cut at {at}");
        }
        assert_eq!(decode(text.chunks(1)), whole);
    }

    #[test]
    fn size_of_an_event_is_bounded() {
        let long = vec![b'x'; 64];
        for piece in [
            &b"data: xxxxxxxx\n"[..],
            b"event: xxxxxxxxxxxx",
            b":",
            &long,
        ] {
            let mut decoder = SseDecoder::new(32);
            let mut events = Vec::new();
            let stopped = (0..100).find_map(|_| decoder.feed(piece, &mut events).err());
            assert_eq!(stopped, Some(SseError::TooLarge(32)));
            assert_eq!(events, []);
        }
    }

    #[test]
    fn invalid_utf8_is_an_error() {
        let fed = SseDecoder::default().feed(b"data: \xff\n\n", &mut Vec::new());
        assert_eq!(fed, Err(SseError::NotText));
    }
}

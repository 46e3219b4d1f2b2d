//! Reads JSON with spans. Comments and trailing commas are accepted, as in core-agent's files.

use prowess_diag::Span;

use crate::tree::{Node, NodeEntry, NodeValue};

/// Maximum nesting depth.
const MAX_DEPTH: usize = 64;

/// The reason why a text is not JSON.
#[derive(Debug, PartialEq, Eq)]
pub struct JsonError {
    /// The place of the error.
    pub at: Span,
    /// The error.
    pub message: &'static str,
}

/// Parses JSON, in which comments and trailing commas are accepted.
pub fn parse(text: &str) -> Result<Node, JsonError> {
    let text = text
        .strip_prefix('\u{feff}')
        .map_or((text, 0), |rest| (rest, text.len() - rest.len()));
    let (text, base) = text;
    let mut parser = Parser { text, base, at: 0 };
    let node = parser.value(0)?;
    parser.skip_blanks()?;
    if parser.at < text.len() {
        return Err(parser.error("unexpected text after the value"));
    }
    Ok(node)
}

struct Parser<'t> {
    text: &'t str,
    /// Offset of `text` in the file.
    base: usize,
    at: usize,
}

impl Parser<'_> {
    fn span(&self, from: usize) -> Span {
        Span::new(self.base + from, self.base + self.at)
    }

    fn error(&self, message: &'static str) -> JsonError {
        let end = self.text[self.at..]
            .chars()
            .next()
            .map_or(0, char::len_utf8);
        JsonError {
            at: Span::new(self.base + self.at, self.base + self.at + end),
            message,
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips whitespace and comments.
    fn skip_blanks(&mut self) -> Result<(), JsonError> {
        loop {
            let rest = &self.text[self.at..];
            let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\n']);
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("//") {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if let Some(comment) = trimmed.strip_prefix("/*") {
                match comment.find("*/") {
                    Some(end) => self.at += end + 4,
                    None => return Err(self.error("unclosed comment")),
                }
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, JsonError> {
        self.skip_blanks()?;
        if depth > MAX_DEPTH {
            return Err(self.error("more than 64 levels of nesting"));
        }
        let from = self.at;
        let value = match self.peek() {
            Some(b'{') => NodeValue::Map(self.object(depth)?),
            Some(b'[') => NodeValue::List(self.array(depth)?),
            Some(b'"') => NodeValue::Scalar(self.string()?.into()),
            Some(b'-' | b'0'..=b'9' | b'a'..=b'z') => self.word()?,
            Some(_) => return Err(self.error("expected a value")),
            None => return Err(self.error("the value is missing")),
        };
        Ok(Node {
            span: self.span(from),
            value,
        })
    }

    fn object(&mut self, depth: usize) -> Result<Vec<NodeEntry>, JsonError> {
        self.at += 1;
        let mut entries: Vec<NodeEntry> = Vec::new();
        loop {
            self.skip_blanks()?;
            if self.peek() == Some(b'}') {
                self.at += 1;
                return Ok(entries);
            }
            let from = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.error("expected a key in double quotes, or `}`"));
            }
            let key = self.string()?;
            let key_span = self.span(from);
            self.skip_blanks()?;
            if self.peek() != Some(b':') {
                return Err(self.error("expected `:` after the key"));
            }
            self.at += 1;
            let value = self.value(depth + 1)?;
            entries.push(NodeEntry {
                key: key.into(),
                key_span,
                value,
            });
            self.separator(b'}', "expected `,` or `}`")?;
        }
    }

    fn array(&mut self, depth: usize) -> Result<Vec<Node>, JsonError> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip_blanks()?;
            if self.peek() == Some(b']') {
                self.at += 1;
                return Ok(items);
            }
            items.push(self.value(depth + 1)?);
            self.separator(b']', "expected `,` or `]`")?;
        }
    }

    /// Skips a comma. Leaves the closing bracket.
    fn separator(&mut self, end: u8, message: &'static str) -> Result<(), JsonError> {
        self.skip_blanks()?;
        match self.peek() {
            Some(b',') => self.at += 1,
            Some(byte) if byte == end => {}
            _ => return Err(self.error(message)),
        }
        Ok(())
    }

    /// Reads `true`, `false`, `null` or a number.
    fn word(&mut self) -> Result<NodeValue, JsonError> {
        let rest = &self.text[self.at..];
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let word = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        let value = match word {
            "null" => NodeValue::Null,
            "true" | "false" => NodeValue::Scalar(word.into()),
            _ if word.parse::<f64>().is_ok_and(f64::is_finite)
                && word.starts_with(|c: char| c == '-' || c.is_ascii_digit()) =>
            {
                NodeValue::Scalar(word.into())
            }
            _ => return Err(self.error("expected a value")),
        };
        self.at += word.len();
        Ok(value)
    }

    fn string(&mut self) -> Result<String, JsonError> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(next) = rest.find(['"', '\\', '\n']) else {
                self.at = start;
                return Err(self.error("unclosed text"));
            };
            text.push_str(&rest[..next]);
            self.at += next;
            match rest.as_bytes()[next] {
                b'"' => {
                    self.at += 1;
                    return Ok(text);
                }
                b'\\' => text.push(self.escape()?),
                _ => return Err(self.error("a line break in a text is written as `\\n`")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let letter = self.text.as_bytes().get(self.at + 1).copied();
        let plain = match letter {
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'u') => return self.unicode(),
            _ => return Err(self.error("unknown escape")),
        };
        self.at += 2;
        Ok(plain)
    }

    /// Reads `\uXXXX`, or two of them that form one character.
    fn unicode(&mut self) -> Result<char, JsonError> {
        let code = |at: usize| -> Option<u32> {
            let digits = self.text.get(at..at + 6)?.strip_prefix("\\u")?;
            let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_hex.then(|| u32::from_str_radix(digits, 16).ok())?
        };
        let Some(first) = code(self.at) else {
            return Err(self.error("expected four hexadecimal digits after `\\u`"));
        };
        if let Some(c) = char::from_u32(first) {
            self.at += 6;
            return Ok(c);
        }
        let second = code(self.at + 6).filter(|second| (0xdc00..0xe000).contains(second));
        let pair = second.filter(|_| first < 0xdc00).and_then(|second| {
            char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))
        });
        match pair {
            Some(c) => {
                self.at += 12;
                Ok(c)
            }
            None => Err(self.error("half of a surrogate pair")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalar(text: &str) -> Option<String> {
        parse(text).ok()?.text().map(str::to_owned)
    }

    #[test]
    fn values_are_read() {
        assert_eq!(
            scalar(" \"a\\u00e9\\ud83d\\ude00\\/\\n\" ").unwrap(),
            "aé😀/\n"
        );
        assert_eq!(scalar("-1.5e3").unwrap(), "-1.5e3");
        assert_eq!(scalar("true").unwrap(), "true");
        assert!(parse("null").unwrap().is_null());
        let node = parse("\u{feff}// c\n{\"a\": [1, 2,], /* d */ \"b\": {},}").unwrap();
        let keys: Vec<&str> = node
            .entries()
            .unwrap()
            .iter()
            .map(|one| &*one.key)
            .collect();
        assert_eq!(keys, ["a", "b"]);
        assert_eq!(node.entries().unwrap()[0].value.items().unwrap().len(), 2);
    }

    #[test]
    fn errors_have_a_place() {
        for (text, at, message) in [
            ("", 0, "the value is missing"),
            ("{a: 1}", 1, "expected a key in double quotes, or `}`"),
            ("{\"a\" 1}", 5, "expected `:` after the key"),
            ("[1 2]", 3, "expected `,` or `]`"),
            ("\"a", 0, "unclosed text"),
            ("\"\\ud800x\"", 1, "half of a surrogate pair"),
            ("1 2", 2, "unexpected text after the value"),
            ("nan", 0, "expected a value"),
            ("/* x", 0, "unclosed comment"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!((error.at.start, error.message), (at, message), "{text}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        let error = parse(&deep).unwrap_err();
        assert_eq!(error.message, "more than 64 levels of nesting");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_accepted(text in ".{0,200}") {
            let _ = parse(&text);
        }
    }
}

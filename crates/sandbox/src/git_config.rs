//! Configuration files of git, as far as they name other files.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Section and name in lower case, without the subsection: `diff.textconv`.
    pub(crate) key: String,
    pub(crate) value: Vec<u8>,
}

impl Entry {
    /// The value as a path.
    pub(crate) fn path(&self) -> PathBuf {
        OsStr::from_bytes(&self.value).into()
    }

    /// The words of a value that is a command.
    pub(crate) fn words(&self) -> impl Iterator<Item = PathBuf> {
        self.value
            .split(|byte| byte.is_ascii_whitespace() || b"!'\"`$(){};|&<>=,".contains(byte))
            .filter(|word| !word.is_empty())
            .map(|word| OsStr::from_bytes(word).into())
    }
}

/// Reads the settings of a file. Git refuses a file that is malformed; here the rest of it is read.
pub(crate) fn entries(text: &[u8]) -> Vec<Entry> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut bytes = text.iter().copied().peekable();
    let mut section = String::new();
    let mut found = Vec::new();
    while let Some(byte) = bytes.next() {
        match byte {
            b'#' | b';' => while bytes.next_if(|byte| *byte != b'\n').is_some() {},
            b'[' => section = header(&mut bytes),
            _ if byte.is_ascii_alphabetic() => {
                let mut key = vec![byte];
                while let Some(byte) = bytes.next_if(|it| it.is_ascii_alphanumeric() || *it == b'-')
                {
                    key.push(byte);
                }
                while bytes.next_if(|byte| b" \t\r".contains(byte)).is_some() {}
                let value = if bytes.next_if_eq(&b'=').is_some() {
                    value(&mut bytes)
                } else {
                    b"true".to_vec()
                };
                let key = String::from_utf8_lossy(&key).to_ascii_lowercase();
                found.push(Entry {
                    key: format!("{section}.{key}"),
                    value,
                });
            }
            _ => {}
        }
    }
    found
}

type Bytes<'a> = std::iter::Peekable<std::iter::Copied<std::slice::Iter<'a, u8>>>;

/// Reads the rest of `[section "subsection"]` and returns the section.
fn header(bytes: &mut Bytes<'_>) -> String {
    let mut name = Vec::new();
    let mut is_quoted = false;
    let mut is_name = true;
    while let Some(byte) = bytes.next() {
        match byte {
            b'\n' => break,
            b']' if !is_quoted => break,
            b'\\' if is_quoted => {
                bytes.next();
            }
            b'"' => {
                is_quoted = !is_quoted;
                is_name = false;
            }
            // The old form of a subsection: `[section.subsection]`.
            b'.' | b' ' | b'\t' => is_name = false,
            _ if is_name => name.push(byte),
            _ => {}
        }
    }
    String::from_utf8_lossy(&name).to_ascii_lowercase()
}

/// Reads a value up to the end of its line.
fn value(bytes: &mut Bytes<'_>) -> Vec<u8> {
    let mut value = Vec::new();
    // White space at the end does not count, unless it is quoted.
    let mut length = 0;
    let mut is_quoted = false;
    while let Some(byte) = bytes.next() {
        match byte {
            b'\n' => break,
            b'"' => is_quoted = !is_quoted,
            b'#' | b';' if !is_quoted => while bytes.next_if(|byte| *byte != b'\n').is_some() {},
            b'\\' => {
                bytes.next_if_eq(&b'\r');
                match bytes.next() {
                    Some(b'n') => value.push(b'\n'),
                    Some(b't') => value.push(b'\t'),
                    Some(b'b') => value.push(8),
                    Some(b'\n') | None => continue,
                    Some(other) => value.push(other),
                }
                length = value.len();
            }
            b' ' | b'\t' | b'\r' if !is_quoted => {
                if !value.is_empty() {
                    value.push(byte);
                }
            }
            _ => {
                value.push(byte);
                length = value.len();
            }
        }
    }
    value.truncate(length);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_git_reads_them() {
        let text = b"\xef\xbb\xbf# caf\xe9\n[Core]\n\thooksPath = scripts/hooks ; ours\n\tbare\n\
            [diff \"a ] \\\" b\"] textConv = \"tools/t c\" -x # y\r\n\
            [include.x]\nPATH=a\\\nb  \r\n[submodule \"s\"]\n path = \"q # r\"\n";
        let found: Vec<(String, String)> = entries(text)
            .into_iter()
            .map(|entry| (entry.key, String::from_utf8(entry.value).unwrap()))
            .collect();
        let expected = [
            ("core.hookspath", "scripts/hooks"),
            ("core.bare", "true"),
            ("diff.textconv", "tools/t c -x"),
            ("include.path", "ab"),
            ("submodule.path", "q # r"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(found, expected);
    }

    #[test]
    fn commands_have_words() {
        let entry = Entry {
            key: "alias.x".into(),
            value: b"!sh 'tools/a' && ./b --c=d/e".to_vec(),
        };
        let words: Vec<PathBuf> = entry.words().collect();
        assert_eq!(
            words,
            ["sh", "tools/a", "./b", "--c", "d/e"].map(PathBuf::from)
        );
    }
}

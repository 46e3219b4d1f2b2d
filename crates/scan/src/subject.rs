//! The files to scan.

use prowess_spec::vocabulary::SCRIPT_ENDINGS;

/// A file of a skill.
#[derive(Clone, Copy, Debug)]
pub struct ScanFile<'a> {
    /// Path relative to the skill's folder, with forward slashes.
    pub path: &'a str,
    /// What is known of its content.
    pub content: ScanContent<'a>,
    /// `true` if it may be executed.
    pub executable: bool,
    /// `true` if it is the text of the skill: `SKILL.md`.
    pub is_main: bool,
}

/// The content of a file.
#[derive(Clone, Copy, Debug)]
pub enum ScanContent<'a> {
    /// A text.
    Text(&'a str),
    /// Bytes that are not a text, of which the first few are known.
    Binary {
        /// The first bytes.
        head: &'a [u8],
    },
    /// A link whose target is outside the skill's folder.
    LinkOut {
        /// The target as it is written.
        target: &'a str,
    },
}

impl<'a> ScanContent<'a> {
    /// Returns the content of a file with these bytes: text if they are UTF-8 without NUL.
    pub fn of(bytes: &'a [u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) if !bytes.contains(&0) => Self::Text(text),
            // A character may be cut at the end of what was read.
            Err(error) if error.error_len().is_none() && !bytes.contains(&0) => {
                Self::Text(std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default())
            }
            _ => Self::Binary {
                head: &bytes[..bytes.len().min(64)],
            },
        }
    }
}

/// The purpose of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileRole {
    /// The instructions of the skill.
    Main,
    /// A program.
    Script,
    /// Anything else: text that a model may read when it needs it.
    Reference,
}

impl ScanFile<'_> {
    pub(crate) fn role(&self) -> FileRole {
        let name = self.path.rsplit('/').next().unwrap_or(self.path);
        let is_shebang = matches!(self.content, ScanContent::Text(text) if text.starts_with("#!"));
        if self.is_main {
            FileRole::Main
        } else if is_shebang || self.executable && !self.is_markdown() || is_script(name) {
            FileRole::Script
        } else {
            FileRole::Reference
        }
    }

    pub(crate) fn is_markdown(&self) -> bool {
        let ending = self.ending();
        ["md", "markdown", "mdx"]
            .iter()
            .any(|known| ending.eq_ignore_ascii_case(known))
    }

    /// Returns the text after the last dot of its name, or an empty text.
    pub(crate) fn ending(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(self.path);
        name.rsplit_once('.').map_or("", |(_, ending)| ending)
    }
}

fn is_script(name: &str) -> bool {
    const OTHERS: &[&str] = &[
        "bat",
        "cmd",
        "psm1",
        "command",
        "vbs",
        "applescript",
        "jsx",
        "tsx",
    ];
    name.rsplit_once('.').is_some_and(|(_, ending)| {
        let ending = ending.to_ascii_lowercase();
        SCRIPT_ENDINGS.contains(&ending.as_str()) || OTHERS.contains(&ending.as_str())
    })
}

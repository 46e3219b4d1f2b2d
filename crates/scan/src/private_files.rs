//! Commands that read private files.

use std::ops::Range;

use crate::matching::{Matcher, matcher};
use crate::passage::Passage;

/// Files that are private, and what makes one of them public after all.
pub(crate) struct PrivateFiles {
    pub(crate) files: &'static std::sync::LazyLock<Matcher>,
    /// Returns `true` if the text after a name makes it public: `.pub`.
    pub(crate) is_public: fn(&str) -> bool,
}

matcher!(
    READS,
    r"(?: \b(?: cat | bat | less | more | head | tail | base64 | xxd | od | strings | cp | scp | tar | zip | rsync | type | gc | Get-Content | Copy-Item | sqlite3 | pbcopy | gpg\s+--export-secret\S* | grep | rg | awk | sed | find | ls\s+-R | dd ) \b \s )
      | (?: \b(?: open | readFile\w* | read_text | read_bytes | read_file | ReadFile | readlines | createReadStream | copyfile | shutil\.copy\w* | fs\.copy\w* | copyFile\w* | sqlite3\.connect | connect | File\.read | fopen | file_get_contents | Database ) \s* \( )
      | (?: \.(?:read_text|read_bytes|open)\(\) ) | (?: [^<]<\s*[~/\x22'$] ) | (?: \bglob\w*\( )"
);
matcher!(
    WRITES,
    r"(?: \b(?:ssh-keygen|ssh-add|ssh-copy-id|chmod|chown|touch|mkdir|stat|ssh-agent|ls|test|rm) \b | \[\s+-[fedsr]\s | >\s*[~/\x22'$] [^\n]*$ )"
);
matcher!(
    CODE,
    r"(?: open | readFile\w* | read_text | read_bytes | createReadStream | copy\w* | connect | File\.read | fopen | glob\w* | file_get_contents )\s*\(|\.(?:read_text|read_bytes|open)\(\)"
);

/// Returns the range of the plain text in which a private file is read.
pub(crate) fn read(passage: &Passage<'_, '_>, files: &PrivateFiles) -> Option<Range<usize>> {
    let text = &passage.plain().text;
    for found in files.files.find_all(text) {
        let rest = &text[found.end..];
        if (files.is_public)(&rest[..crate::passage::floor(rest, 8)])
            || text[found.clone()].contains(".pub")
        {
            continue;
        }
        // The command that the file is a word of.
        let start = text[..found.start]
            .rfind(['|', ';', '\n', '`', '&'])
            .map_or(0, |at| at + 1);
        let command = &text[start..found.start];
        let is_code =
            passage.is_code || command.len() < found.start || text[..found.start].contains('`');
        let words: Vec<&str> = command.split_whitespace().collect();
        let first = words
            .iter()
            .find(|word| !matches!(**word, "sudo" | "$" | "if" | "then" | "while" | "do"));
        let is_reader = READS.find(command).is_some_and(|reader| {
            let is_first = first.is_some_and(|first| {
                command[..reader.end]
                    .trim_end()
                    .ends_with(first.trim_end_matches('('))
            });
            is_first
                || CODE.is_match(command)
                || command[..reader.start]
                    .trim_end()
                    .ends_with(['(', '=', '"', '\'', '<'])
        });
        let is_input = command.trim_end().ends_with('<') && !command.trim_end().ends_with("<<");
        let is_method = CODE.is_match(&rest[..crate::passage::floor(rest, 40)]) && passage.is_code;
        if is_code
            && (is_reader || is_input || is_method)
            && !WRITES.is_match(command)
            && !command.contains('>')
        {
            return Some(start..found.end);
        }
    }
    None
}

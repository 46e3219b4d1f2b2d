//! A program that is downloaded and run.

use prowess_shell::pipeline::{self, Stage};

use super::{FindingSink, Passage};
use crate::address::{AddressHost, addresses};
use crate::matching::matcher;

rule!(
    "fetch-and-run",
    Warning,
    lowers: true,
    "a program is downloaded and run without a look at it",
    "find out what the address serves, or install the program in another way",
    triggers: [
        "curl", "wget", "iwr", "irm", "invoke-webrequest", "invoke-restmethod", "downloadstring", "downloadfile", "urlopen",
        "requests.get", "urllib", "bitsadmin", "certutil", "mshta", "fetch(", "aria2c", "c'u", "c\"u", "cu'", "cu\"",
        "$IFS", "${IFS", "cu\\", "{cur", "w'g", "wg'", "wg\"", "c$@", "w$@", "cur$@", "cu$@", "c\\u", "wg\\", "w\\g",
        "cur'", "cur\"", "cur\\", "/dev/tcp"
    ]
);

fn check(passage: &Passage<'_, '_>, out: &mut FindingSink) {
    for run in remote_runs(passage) {
        let bare = run.address.as_ref().is_some_and(AddressHost::is_bare);
        let is_placeholder = run
            .address
            .as_ref()
            .is_some_and(AddressHost::is_placeholder);
        if bare || is_placeholder {
            continue;
        }
        let message = match &run.address {
            Some(address) => format!("downloads a program from `{}` and runs it", address.host),
            None => "downloads a program and runs it".to_owned(),
        };
        out.plain(passage, run.range, message);
    }
}

/// Most downloads of one passage that are looked at.
const MOST_DOWNLOADS: usize = 16;

/// A download that is run.
pub(super) struct RemoteRun<'p> {
    /// Range in the plain text.
    pub(super) range: std::ops::Range<usize>,
    /// The address.
    pub(super) address: Option<AddressHost<'p>>,
}

matcher!(
    IN_CODE,
    r"(?: \b(?:exec|eval|iex|invoke-expression|os\.system|subprocess\.\w+|new\ Function|vm\.run\w*|execSync|instance_eval)
        \s*[&(]?.*? (?: urlopen | requests\.get | urllib\.request | downloadstring\s*\( | \bfetch\( | invoke-webrequest
          | open-uri | URI\.open | LWP::Simple | \bcurl\b.*\|\s*(?:ba|z|da)?sh | axios\.get ) )
      | (?: downloadstring\s*\( .*? \| \s* (?:iex|invoke-expression) )
      | (?: \bmshta(?:\.exe)? \s+ [\x22']? (?:https?:|javascript:|vbscript:) )
      | (?: \bregsvr32 .* /i:https? )
      | (?: \brundll32 .* javascript: )"
);

/// Returns the downloads of a passage that are run.
pub(super) fn remote_runs<'p>(passage: &'p Passage<'_, '_>) -> Vec<RemoteRun<'p>> {
    let text = &passage.plain().text;
    let stages = passage.stages();
    let mut found: Vec<RemoteRun<'p>> = Vec::new();
    let mut add = |from: usize, to: usize| {
        let to = to.min(text.len());
        let address = addresses(text).find(|address| address.range.start >= from);
        if found.iter().all(|known| known.range.start != from) {
            found.push(RemoteRun {
                range: from..to,
                address,
            });
        }
    };
    let downloads = stages
        .iter()
        .enumerate()
        .filter(|(_, stage)| stage.download().is_some());
    for (at, stage) in downloads.take(MOST_DOWNLOADS) {
        let Some(word) = stage.download() else {
            continue;
        };
        let start = offset(text, stage.words[word]).unwrap_or(stage.range.start);
        if let Some(reader) = pipeline::consumer(&stages, at, &Stage::runs_input) {
            add(start, reader.range.end);
        } else if let Some(outer) =
            pipeline::surroundings(&stages, at).find(|outer| outer.runs_text())
        {
            add(outer.range.start.min(start), stage.range.end);
        } else if let Some(file) = stored(stage)
            && is_run_later(&file, &text[stage.range.end..], passage.rest_of_block())
        {
            add(start, stage.range.end);
        }
    }
    if let Some(range) = IN_CODE.find(text) {
        add(range.start, range.end);
    }
    found
}

/// Returns the offset of a word in the text that it is a part of.
pub(super) fn offset(text: &str, word: &str) -> Option<usize> {
    let (start, at) = (text.as_ptr() as usize, word.as_ptr() as usize);
    at.checked_sub(start).filter(|at| *at <= text.len())
}

/// Returns the file in which a download is stored.
fn stored(stage: &Stage<'_>) -> Option<String> {
    let words = &stage.words;
    let after = |option: &str| {
        let at = words
            .iter()
            .position(|word| word.eq_ignore_ascii_case(option))?;
        words.get(at + 1).map(|word| (*word).to_owned())
    };
    let attached = words.iter().find_map(|word| word.strip_prefix("--output="));
    let named = after("-o")
        .or_else(|| after("--output"))
        .or_else(|| after("-OutFile"))
        .or_else(|| after(">"))
        .or_else(|| attached.map(str::to_owned));
    let last = || {
        let is_wget = words.iter().any(|word| word.ends_with("wget"));
        let keeps_name = is_wget
            || words.iter().any(|word| {
                *word == "--remote-name"
                    || word.starts_with('-') && !word.starts_with("--") && word.contains('O')
            });
        let address = words.iter().rev().find(|word| word.contains("://"))?;
        let name = address.split(['?', '#']).next()?.rsplit('/').next()?;
        (keeps_name && name.contains('.')).then(|| name.to_owned())
    };
    let file = match named {
        // `-O` of wget names the file, that of curl does not.
        None => after("-O")
            .filter(|name| !name.contains("://") && !name.starts_with('-'))
            .or_else(last),
        named => named,
    }?;
    let name = file.rsplit('/').next().unwrap_or(&file).to_owned();
    (!name.is_empty() && name != "null" && name != "-").then_some(name)
}

/// Returns `true` if a file is started after it was stored.
fn is_run_later(file: &str, rest: &str, following: &str) -> bool {
    // Archives and data of that name are not programs.
    let endings = [
        ".zip", ".gz", ".tgz", ".json", ".xz", ".bz2", ".deb", ".rpm", ".csv", ".html", ".md",
        ".txt", ".whl",
    ];
    if endings.iter().any(|ending| file.ends_with(ending)) {
        return false;
    }
    let runs = |line: &str| {
        let is_mark = |c: char| {
            c.is_whitespace() || matches!(c, '/' | '"' | '\'' | '`' | '\\' | ')' | '(' | '=')
        };
        let named = line.match_indices(file).find(|(at, _)| {
            let before = line[..*at].chars().next_back();
            let after = line[at + file.len()..].chars().next();
            before.is_none_or(is_mark) && after.is_none_or(is_mark)
        });
        let Some((at, _)) = named else { return false };
        let before = line[..at].trim_end_matches(|c: char| !c.is_whitespace() && c != ';');
        let command = before
            .rsplit(['|', ';', '&', '`'])
            .next()
            .unwrap_or_default()
            .trim();
        let word = command.split_whitespace().next_back().unwrap_or_default();
        let is_path = line[..at].ends_with("./") || line[..at].ends_with(".\\");
        let is_first = command.is_empty() || pipeline::is_wrapper(command);
        is_first && is_path
            || pipeline::runs_file(word.trim_start_matches(['"', '\'']))
            || pipeline::makes_executable(command)
    };
    rest.split([';', '&', '\n']).any(runs) || following.lines().take(8).any(runs)
}

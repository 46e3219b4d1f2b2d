//! Chooses the skills to suggest for a message.
//!
//! The message is the query. A skill is in the hint if it fits well enough, or if the message names a
//! file that the `paths` of the skill match. Most messages fit no skill: then there is no hint.

use std::cell::Cell;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use prowess_catalog::index::{
    self, EntryDetail, EntryOutcome, HintEntry, HintOptions, IndexEntry, OmissionReason,
};
use prowess_catalog::path_globs::PathGlobs;
use prowess_catalog::{Catalog, CatalogEntry, CatalogView, HiddenReason, SkillVisibility};

use crate::name_match::NameMatcher;
use crate::query_terms::both_ends;
use crate::tokens::{self, TokenKind};
use crate::{FITTED, SearchHit, SearchIndex, SearchQuery, Skill, file_kinds};

/// Maximum number of bytes of a message that are searched: half from its beginning, half from its
/// end.
pub const MAX_MESSAGE: usize = 12 * 1024;
/// Maximum number of outcomes that are kept, apart from those of the skills that were chosen.
const MAX_ROWS: usize = 20;
/// Maximum number of paths that are taken from a message.
const MAX_PATHS: usize = 32;
/// Maximum length of such a path in bytes.
const MAX_PATH: usize = 512;
/// Maximum number of skills whose `paths` are compared with the paths of a message.
const MAX_GLOBS: usize = 5_000;

/// A message, prepared for the search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HintQuery {
    /// The words to search for: the beginning and the end of the message, and the kinds of the
    /// files that it names.
    pub text: String,
    /// The paths in the message, relative to the project if they are inside it.
    pub paths: Vec<String>,
    /// `true` if the message was too long to be searched completely.
    pub is_cut: bool,
}

impl HintQuery {
    /// Prepares a message. `touched` are files that were used recently, the latest last; their
    /// kinds count if the message has few words.
    pub fn new(message: &str, project: &Path, touched: &[String]) -> Self {
        let is_cut = message.len() > MAX_MESSAGE;
        let mut text = both_ends(message, MAX_MESSAGE).into_owned();
        let paths = paths(&text, project);
        let mut words: Vec<&'static str> = Vec::new();
        for path in &paths {
            words.extend(file_kinds::words(path));
        }
        if has_few_words(&text) {
            let recent = touched.iter().rev().take(RECENT);
            for (extension, others) in recent.filter_map(|path| file_kinds::kind(path)) {
                words.extend(extension);
                words.extend(others);
            }
        }
        for word in words {
            if !contains_word(&text, word) {
                text.push(' ');
                text.push_str(word);
            }
        }
        Self {
            text,
            paths,
            is_cut,
        }
    }
}

/// A message of at most this many words, such as "now fix the layout", may need the files that were
/// used to be understood.
const FEW_WORDS: usize = 8;
/// Number of recently used files whose kinds count.
const RECENT: usize = 3;

/// The state when a message arrives.
#[allow(missing_debug_implementations, reason = "it holds functions")]
pub struct HintRequest<'a> {
    /// The message.
    pub query: &'a HintQuery,
    /// All skills.
    pub catalog: &'a Catalog,
    /// The skills that the model may see, with the paths of the message counted as used files.
    pub view: &'a CatalogView<'a>,
    /// The search index of the catalogue.
    pub index: &'a SearchIndex,
    /// The index of skills in the system prompt, in the default format.
    pub listing: &'a str,
    /// Returns `true` if a skill is loaded, by name.
    pub is_loaded: &'a dyn Fn(&str) -> bool,
    /// Returns `true` if an earlier hint in the conversation describes a skill, by name.
    pub is_described: &'a dyn Fn(&str) -> bool,
    /// Returns `true` if a skill is not trusted. Called only for skills that are shown.
    pub is_untrusted: &'a dyn Fn(&Arc<Skill>) -> bool,
    /// The tool that loads a skill.
    pub load_tool: &'a str,
    /// The limits.
    pub options: HintOptions,
    /// The least fit of a skill in the hint, usually [`GOOD_FIT`](crate::GOOD_FIT).
    pub least_fit: f32,
}

/// A hint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hint {
    /// The text for the model; empty if no skill fits.
    pub text: String,
    /// The best matches and their outcomes, best first.
    pub rows: Vec<HintRow>,
}

/// A skill that was considered for a hint.
#[derive(Clone, Debug, PartialEq)]
pub struct HintRow {
    /// The name under which the model knows it.
    pub name: Box<str>,
    /// The fit, 0 to 1. For a skill of which only the name may be shown, 1 if the message contains
    /// all words of the name.
    pub fit: f32,
    /// `true` if its `paths` match a file that the message names.
    pub by_path: bool,
    /// The outcome.
    pub outcome: HintOutcome,
}

/// The outcome for a skill that was considered for a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HintOutcome {
    /// The hint has its name and description.
    Described,
    /// The hint has only its name: the index has the description, the budget has no room for it, or
    /// only the name may be shown.
    Named,
    /// It does not fit well enough, or its name is empty or too long.
    Weak,
    /// It is loaded already.
    Loaded,
    /// An earlier hint in the conversation describes it.
    Repeated,
    /// The model may not see it.
    Hidden(HiddenReason),
    /// Other skills fit better.
    Surplus,
    /// The budget has no room for it.
    NoRoom,
}

impl HintOutcome {
    /// Returns `true` if the hint has the name of the skill.
    pub fn is_shown(self) -> bool {
        matches!(self, Self::Described | Self::Named)
    }
}

/// Returns the hint for a message, with the outcomes of the best matches. Returns `None` if no
/// skill matches a word or a path of the message.
pub fn hint(request: &HintRequest<'_>) -> Option<Hint> {
    let by_path = path_matches(request.catalog, &request.query.paths);
    let mut rows = considered(request, &by_path);
    if rows.is_empty() {
        return None;
    }
    // Rows that nothing excludes are candidates.
    let mut chosen = Vec::new();
    for (at, row) in rows.iter_mut().enumerate() {
        if row.outcome != HintOutcome::Described {
            continue;
        }
        if chosen.len() < request.options.skills {
            chosen.push(at);
        } else {
            row.outcome = HintOutcome::Surplus;
        }
    }
    let entries: Vec<HintEntry<'_>> = chosen
        .iter()
        .map(|&at| HintEntry {
            entry: rows[at].entry,
            is_untrusted: (request.is_untrusted)(rows[at].skill),
        })
        .collect();
    let made = index::hint(&entries, request.options.tokens, request.load_tool);
    for (&at, outcome) in chosen.iter().zip(&made.outcomes) {
        rows[at].outcome = match outcome {
            EntryOutcome::Whole | EntryOutcome::Shortened { .. } => HintOutcome::Described,
            EntryOutcome::NameOnly(_) => HintOutcome::Named,
            EntryOutcome::Cut(OmissionReason::NoName | OmissionReason::LongName) => {
                HintOutcome::Weak
            }
            EntryOutcome::Cut(_) => HintOutcome::NoRoom,
        };
    }
    let kept = rows
        .into_iter()
        .enumerate()
        .filter(|(at, _)| *at < MAX_ROWS || chosen.contains(at));
    let rows = kept.map(|(_, row)| HintRow {
        name: row.entry.name.into(),
        fit: (row.fit * 100.0).round() / 100.0,
        by_path: row.by_path,
        outcome: row.outcome,
    });
    Some(Hint {
        text: made.text,
        rows: rows.collect(),
    })
}

/// A skill while it is considered. [`HintOutcome::Described`] means that there is no reason to leave
/// it out.
struct Row<'a> {
    skill: &'a Arc<Skill>,
    entry: IndexEntry<'a>,
    fit: f32,
    by_path: bool,
    outcome: HintOutcome,
}

/// Judges the best matches of the words, then the skills that match only by a path.
fn considered<'a>(request: &'a HintRequest<'a>, by_path: &[&'a CatalogEntry]) -> Vec<Row<'a>> {
    let ids: HashSet<_> = by_path.iter().map(|entry| &entry.skill.id).collect();
    let is_by_path = |entry: &CatalogEntry| ids.contains(&entry.skill.id);
    let names = NameMatcher::new(&request.query.text);
    let hits = matches(request);
    // A skill that is hidden, or whose description is, must not change the fit of another.
    let is_full = |entry: &CatalogEntry| request.view.visibility(entry) == SkillVisibility::Full;
    let best = hits.iter().find(|(_, entry)| is_full(entry));
    let best = best.map_or(0.0, |(hit, _)| hit.score);
    let mut rows: Vec<Row<'_>> = hits
        .into_iter()
        .map(|(hit, entry)| {
            let fit = hit.fit_among(best);
            judge(request, &names, entry, fit, is_by_path(entry))
        })
        .collect();
    let found: HashSet<&str> = rows.iter().map(|row| row.entry.name).collect();
    let others: Vec<Row<'_>> = by_path
        .iter()
        .map(|entry| judge(request, &names, entry, 0.0, true))
        .filter(|row| !found.contains(row.entry.name))
        .collect();
    rows.extend(others);
    rows
}

/// Returns the skills that match the words best. Visible ones are ranked as if the hidden ones did
/// not exist; hidden ones are there to be explained.
fn matches<'a>(request: &HintRequest<'a>) -> Vec<(SearchHit, &'a CatalogEntry)> {
    let query = SearchQuery {
        limit: FITTED,
        explain: false,
        ..SearchQuery::new(&request.query.text)
    };
    // An empty query would match every skill.
    if query.text.trim().is_empty() {
        return Vec::new();
    }
    let search = |index: &SearchIndex| -> Vec<(SearchHit, &'a CatalogEntry)> {
        let hits = index.search(&query).into_iter();
        hits.filter_map(|hit| {
            request
                .catalog
                .entry_of(&hit.skill)
                .map(|entry| (hit, entry))
        })
        .collect()
    };
    let is_hidden =
        |entry: &CatalogEntry| matches!(request.view.visibility(entry), SkillVisibility::Hidden(_));
    let any_hidden = Cell::new(false);
    let visible = request.index.only(|skill| {
        let entry = request.catalog.entry_of(skill);
        let is_kept = entry.is_some_and(|entry| !is_hidden(entry));
        any_hidden.set(any_hidden.get() || !is_kept);
        is_kept
    });
    let mut found = search(&visible);
    if any_hidden.get() {
        let all = search(request.index).into_iter();
        found.extend(all.filter(|(_, entry)| is_hidden(entry)));
        found.sort_by(|(one, _), (other, _)| other.score.total_cmp(&one.score));
    }
    found
}

fn judge<'a>(
    request: &'a HintRequest<'a>,
    names: &NameMatcher,
    entry: &'a CatalogEntry,
    fit: f32,
    by_path: bool,
) -> Row<'a> {
    let name = request.view.name(entry);
    let sight = request.view.visibility(entry);
    let fit = if sight == SkillVisibility::NameOnly {
        names.compare(name).fit()
    } else {
        fit
    };
    let mut shown = IndexEntry::new(&entry.skill, name);
    if sight != SkillVisibility::Full {
        shown.show = EntryDetail::NameOnly;
    }
    let outcome = match sight {
        SkillVisibility::Hidden(why) => HintOutcome::Hidden(why),
        _ if fit < request.least_fit && !by_path => HintOutcome::Weak,
        _ if (request.is_loaded)(name) => HintOutcome::Loaded,
        _ if (request.is_described)(name) => HintOutcome::Repeated,
        _ => HintOutcome::Described,
    };
    if outcome == HintOutcome::Described && index::is_complete_in(request.listing, &shown) {
        shown.show = EntryDetail::NameOnly;
    }
    Row {
        skill: &entry.skill,
        entry: shown,
        fit,
        by_path,
        outcome,
    }
}

/// Returns the skills whose `paths` match one of these paths.
pub fn path_matches<'a>(catalog: &'a Catalog, paths: &[String]) -> Vec<&'a CatalogEntry> {
    if paths.is_empty() {
        return Vec::new();
    }
    let limited = (catalog.listed()).filter(|entry| !entry.skill.paths.is_empty());
    let is_match = |entry: &&CatalogEntry| {
        let globs = PathGlobs::new(&entry.skill.paths);
        paths.iter().any(|path| globs.matches(path))
    };
    limited.take(MAX_GLOBS).filter(is_match).collect()
}

/// Returns the paths that a message names: words with a slash or a file extension, and well-known
/// file names. Paths inside the project are made relative to it.
pub fn paths(text: &str, project: &Path) -> Vec<String> {
    let is_edge = |c: char| !c.is_alphanumeric() && !matches!(c, '/' | '.' | '_' | '-' | '~');
    let mut found: Vec<String> = Vec::new();
    for word in text.split(|c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | ',' | ';'))
    {
        let word = without_line(word.trim_matches(is_edge))
            .trim_end_matches(['.', '-'])
            .trim_end_matches(is_edge);
        if word.is_empty() || word.len() > MAX_PATH || word.contains("://") {
            continue;
        }
        let inside = Path::new(word).strip_prefix(project).ok();
        let path = inside.and_then(Path::to_str).unwrap_or(word);
        let path = path.strip_prefix("./").unwrap_or(path);
        let is_path = path.contains('/') || file_kinds::is_file_name(path);
        if is_path && !found.iter().any(|known| known == path) {
            found.push(path.to_owned());
            if found.len() == MAX_PATHS {
                break;
            }
        }
    }
    found
}

/// Removes a line number: `src/main.rs:12:5`, `src/main.rs#L10`, `src/main.ts(12`.
fn without_line(word: &str) -> &str {
    let word = word.split('#').next().unwrap_or(word);
    let is_end = |(at, _): &(usize, &str)| {
        let next = word.as_bytes().get(at + 1);
        next.is_some_and(u8::is_ascii_digit)
    };
    let end = word.match_indices([':', '(']).find(is_end);
    end.map_or(word, |(at, _)| &word[..at])
}

/// Returns `true` if a text has at most [`FEW_WORDS`] words.
fn has_few_words(text: &str) -> bool {
    let mut count = 0;
    tokens::each(text, |_, kind| {
        count += usize::from(kind != TokenKind::Part);
    });
    count <= FEW_WORDS
}

fn contains_word(text: &str, word: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric();
    text.split(|c: char| !is_word(c))
        .any(|known| known.eq_ignore_ascii_case(word))
}

#[cfg(test)]
#[path = "hint_tests.rs"]
mod tests;

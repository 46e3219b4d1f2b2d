//! Walks the files of a folder for `glob` and `grep`.
//!
//! Every file is checked; files that a rule hides from the agent are skipped and counted. Links are
//! not followed. The order is fixed, and every search is bounded.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::{AgentPermissions, Loaded, ToolContext, ToolError, ToolErrorKind};
use globset::{GlobBuilder, GlobMatcher};
use ignore::WalkBuilder;
use prowess_diag::wording::{count, tick};
use prowess_policy::Verdict;
use prowess_policy::profile::plain_spelling;

use crate::files::path_guard::{FileAction, PathGuard, ResolvedPath, is_kernel, shown};

/// Timeout of a search.
const TIME: Duration = Duration::from_secs(20);
/// Maximum number of entries visited.
const MAX_ENTRIES: usize = 500_000;
/// Maximum folder depth.
const MAX_DEPTH: usize = 64;
/// Maximum size of an ignore file, in bytes.
const MAX_RULES: u64 = 1024 * 1024;
/// Ignore files of each folder.
const RULES: &[&str] = &[".gitignore", ".ignore", ".git/info/exclude"];

/// A search in a folder or in one file.
#[derive(Debug)]
pub(crate) struct Search<'w> {
    pub(crate) guard: PathGuard<'w>,
    judging: AgentPermissions<'w>,
    resolved: ResolvedPath,
    end: Instant,
    /// The rule of the prompt that the user approved, if there was one.
    agreed: Option<Box<str>>,
}

/// A file found by the walk.
#[derive(Debug)]
pub(crate) struct Found<'f> {
    pub(crate) real: &'f Path,
    /// Path relative to the searched folder.
    pub(crate) inner: &'f Path,
    pub(crate) is_link: bool,
}

/// Summary of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Number of files hidden by rules.
    pub(crate) left_out: usize,
    /// Reason why the search stopped early.
    pub(crate) cut: Option<&'static str>,
}

impl<'w> Search<'w> {
    /// Starts a search. Prompts if the gate requires it.
    pub(crate) fn new(
        context: &'w ToolContext,
        loaded: &Loaded,
        path: Option<&str>,
    ) -> Result<Self, ToolError> {
        let guard = PathGuard::new(context, loaded);
        let resolved = guard.resolve(path.unwrap_or("."))?;
        guard.bar(FileAction::Read, &resolved)?;
        let judging = context.judging(loaded);
        let decision = guard.judge(&judging, FileAction::Read, &resolved.real);
        // In the project each file is checked on its own, because a folder that is not allowed as a
        // whole may contain files that are.
        let each =
            guard.is_inside(&resolved.real) && decision.rule.is_none() && resolved.is_folder();
        if !each || decision.verdict == Verdict::Ask {
            guard.permit(loaded, FileAction::Read, &resolved, || {
                Ok(format!("Search all files in {}", resolved.told()))
            })?;
        }
        if resolved.kind.is_none() {
            let text = format!("Folder not found: {}.", tick(shown(&resolved.name)));
            return Err(ToolError::new(ToolErrorKind::NoFile, text));
        }
        let agreed = decision.rule.filter(|_| decision.verdict == Verdict::Ask);
        let agreed = agreed.map(|rule| rule.text);
        Ok(Self {
            guard,
            judging,
            resolved,
            end: Instant::now() + TIME,
            agreed,
        })
    }

    /// Returns `true` if the search has timed out.
    pub(crate) fn is_late(&self) -> bool {
        Instant::now() > self.end
    }

    /// Returns the searched path for display.
    pub(crate) fn name(&self) -> String {
        tick(shown(&self.resolved.name))
    }

    /// Visits the files that `wanted` selects by name. `each` returns `false` to stop.
    pub(crate) fn walk(
        &self,
        wanted: impl Fn(&Found<'_>) -> bool,
        mut each: impl FnMut(&Found<'_>) -> bool,
    ) -> Tally {
        let mut tally = Tally::default();
        let root = &self.resolved.real;
        for (at, entry) in self.builder().build().enumerate() {
            if at >= MAX_ENTRIES {
                tally.cut = Some("too many files");
                break;
            }
            if self.is_late() {
                tally.cut = Some("the search timed out");
                break;
            }
            let Ok(entry) = entry else { continue };
            let Some(kind) = entry.file_type() else {
                continue;
            };
            if !kind.is_file() && !kind.is_symlink() {
                continue;
            }
            let real = entry.path();
            let inner = match real.strip_prefix(root) {
                Ok(inner) if !inner.as_os_str().is_empty() => inner,
                _ => Path::new(self.resolved.last()),
            };
            let found = Found {
                real,
                inner,
                is_link: kind.is_symlink(),
            };
            if !wanted(&found) {
                continue;
            }
            if !self.may_read(real) {
                tally.left_out += 1;
                continue;
            }
            if !each(&found) {
                tally.cut = Some("there are more results");
                break;
            }
        }
        tally
    }

    /// Returns `true` if the agent may read a file. A file that needs a prompt is skipped, because
    /// one prompt per file is not usable, unless the user approved the same rule at the start of
    /// the search, or the search itself and no rule matches.
    fn may_read(&self, real: &Path) -> bool {
        let decision = self.guard.judge(&self.judging, FileAction::Read, real);
        match decision.verdict {
            Verdict::Allow => true,
            Verdict::Deny => false,
            Verdict::Ask => match decision.rule {
                Some(rule) => self.agreed.as_ref() == Some(&rule.text),
                None => true,
            },
        }
    }

    fn builder(&self) -> WalkBuilder {
        let root = &self.resolved.real;
        let hidden = self.guard.hidden().iter();
        let hidden: BTreeSet<PathBuf> = hidden.map(|path| plain_spelling(path)).collect();
        let is_hidden = move |path: &Path| {
            let path = plain_spelling(path);
            path.ancestors().any(|folder| hidden.contains(folder))
        };
        let calm = root.ancestors().all(can_read_ignore_files);
        // Ignore files in parent folders count up to the root of the repository or of the project:
        // a home folder may ignore everything.
        let in_git = root.ancestors().any(|folder| folder.join(".git").exists());
        let below = root != &self.guard.workspace && self.guard.is_inside(root);
        let mut builder = WalkBuilder::new(root);
        builder
            .hidden(false)
            .parents(calm && (in_git || below))
            .git_ignore(calm)
            .ignore(calm)
            .git_exclude(calm)
            .git_global(false)
            .require_git(in_git)
            .follow_links(false)
            .max_depth(Some(MAX_DEPTH))
            .sort_by_file_name(Ord::cmp)
            .filter_entry(move |entry| {
                let path = entry.path();
                let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
                !entry.file_name().eq_ignore_ascii_case(".git")
                    && !is_kernel(path)
                    && !is_hidden(path)
                    && (!is_folder || entry.depth() == 0 || can_read_ignore_files(path))
            });
        builder
    }
}

impl ResolvedPath {
    fn is_folder(&self) -> bool {
        self.kind.is_some_and(|kind| kind.is_dir())
    }
}

/// Returns `true` if the ignore files of a folder can be read without blocking. The walk opens them
/// itself.
fn can_read_ignore_files(folder: &Path) -> bool {
    RULES
        .iter()
        .all(|name| match std::fs::metadata(folder.join(name)) {
            Ok(found) => found.is_file() && found.len() <= MAX_RULES,
            Err(_) => true,
        })
}

/// Parses a glob pattern. A pattern without a slash matches at any depth, as in `.gitignore`.
pub(crate) fn pattern(raw: &str) -> Result<GlobMatcher, ToolError> {
    let wrong = |why: String| {
        ToolError::new(
            ToolErrorKind::Input,
            format!("{} is not a valid glob pattern: {why}.", tick(shown(raw))),
        )
    };
    let plain = raw.strip_prefix("./").unwrap_or(raw);
    if plain.starts_with('/') || plain.split('/').any(|part| part == "..") {
        return Err(wrong(
            "patterns are relative to the searched folder; pass the folder as `path`".to_owned(),
        ));
    }
    let whole = if plain.contains('/') {
        plain.to_owned()
    } else {
        format!("**/{plain}")
    };
    let glob = GlobBuilder::new(&whole).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher())
        .map_err(|error| wrong(error.kind().to_string()))
}

/// Returns the notes after a list: the number of files skipped by rules, and why the search stopped
/// early.
pub(crate) fn notes(tally: &Tally, hint: &str) -> String {
    let mut text = String::new();
    if tally.left_out > 0 {
        text.push_str(&format!(
            "[{} hidden by permission rules]\n",
            count(tally.left_out, "file")
        ));
    }
    if let Some(why) = tally.cut {
        text.push_str(&format!("[incomplete: {why}; {hint}]\n"));
    }
    text
}

//! Goes through the files of a folder, as `glob` and `grep` do.
//!
//! Every file is judged; what a rule keeps from the agent is left out and counted. No link is
//! followed. Names come in a fixed order, and everything has a bound.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::{Judging, Loaded, ToolContext, ToolError, Why};
use globset::{GlobBuilder, GlobMatcher};
use ignore::WalkBuilder;
use prowess_diag::wording::{count, tick};
use prowess_policy::Verdict;

use crate::files::path_guard::{FileAction, PathGuard, ResolvedPath, is_kernel, shown};

/// How long a search may take.
const TIME: Duration = Duration::from_secs(20);
/// Most names that are looked at.
const MAX_ENTRIES: usize = 500_000;
/// How deep folders are looked through.
const MAX_DEPTH: usize = 64;
/// Largest file of ignore rules that is read, in bytes.
const MAX_RULES: u64 = 1024 * 1024;
/// Files that say what to leave out, seen from each folder.
const RULES: &[&str] = &[".gitignore", ".ignore", ".git/info/exclude"];

/// A search below one folder, or in one file.
#[derive(Debug)]
pub(crate) struct Search<'w> {
    pub(crate) guard: PathGuard<'w>,
    judging: Judging<'w>,
    resolved: ResolvedPath,
    end: Instant,
    /// The rule behind the question that the person said yes to, if there was one.
    agreed: Option<Box<str>>,
}

/// A file on the way.
#[derive(Debug)]
pub(crate) struct Found<'f> {
    pub(crate) real: &'f Path,
    /// Seen from where the search began.
    pub(crate) inner: &'f Path,
    pub(crate) is_link: bool,
}

/// How a search went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Files that rules keep from the agent.
    pub(crate) left_out: usize,
    /// Why it ended early.
    pub(crate) cut: Option<&'static str>,
}

impl<'w> Search<'w> {
    /// Begins a search. Asks where the gate wants it.
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
        // In the project each file is judged for itself, so a folder that is not allowed as a whole
        // can still have files that are.
        let each =
            guard.is_inside(&resolved.real) && decision.rule.is_none() && resolved.is_folder();
        if !each || decision.verdict == Verdict::Ask {
            guard.permit(loaded, FileAction::Read, &resolved, || {
                Ok(format!("Search all files in {}", resolved.told()))
            })?;
        }
        if resolved.kind.is_none() {
            let text = format!("There is no folder {}.", tick(shown(&resolved.name)));
            return Err(ToolError::new(Why::NoFile, text));
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

    /// Tells whether the time is over.
    pub(crate) fn is_late(&self) -> bool {
        Instant::now() > self.end
    }

    /// Where it began, for people and models.
    pub(crate) fn name(&self) -> String {
        tick(shown(&self.resolved.name))
    }

    /// Goes through the files that `wanted` picks by name. `each` says whether to go on.
    pub(crate) fn walk(
        &self,
        wanted: impl Fn(&Found<'_>) -> bool,
        mut each: impl FnMut(&Found<'_>) -> bool,
    ) -> Tally {
        let mut tally = Tally::default();
        let root = &self.resolved.real;
        for (at, entry) in self.builder().build().enumerate() {
            if at >= MAX_ENTRIES {
                tally.cut = Some("there are too many files");
                break;
            }
            if self.is_late() {
                tally.cut = Some("it took too long");
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
                tally.cut = Some("there is more");
                break;
            }
        }
        tally
    }

    /// A question about each of many files is none that a person would answer: such files are left
    /// out, unless the person said yes to the same rule at the beginning, or to a place that no rule
    /// is about.
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
        let hidden: Arc<[PathBuf]> = self.guard.hidden().into();
        let calm = root.ancestors().all(is_calm);
        // What stands above counts up to the root of the repository, or of the project: somebody's
        // home may ignore everything.
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
                entry.file_name() != ".git"
                    && !is_kernel(path)
                    && !hidden.iter().any(|hidden| path.starts_with(hidden))
                    && (!is_folder || entry.depth() == 0 || is_calm(path))
            });
        builder
    }
}

impl ResolvedPath {
    fn is_folder(&self) -> bool {
        self.kind.is_some_and(|kind| kind.is_dir())
    }
}

/// Tells whether what says what to leave out in a folder can be read without waiting: the walk opens
/// those files by itself.
fn is_calm(folder: &Path) -> bool {
    RULES
        .iter()
        .all(|name| match std::fs::metadata(folder.join(name)) {
            Ok(found) => found.is_file() && found.len() <= MAX_RULES,
            Err(_) => true,
        })
}

/// Reads a pattern. One without a slash is met at any depth, as in `.gitignore`.
pub(crate) fn pattern(raw: &str) -> Result<GlobMatcher, ToolError> {
    let wrong = |why: String| {
        ToolError::new(
            Why::Input,
            format!("{} is no pattern: {why}.", tick(shown(raw))),
        )
    };
    let plain = raw.strip_prefix("./").unwrap_or(raw);
    if plain.starts_with('/') || plain.split('/').any(|part| part == "..") {
        return Err(wrong(
            "it begins where the search does; name the folder in `path`".to_owned(),
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

/// What is said below a list: what rules left out, and why it ended early.
pub(crate) fn notes(tally: &Tally, hint: &str) -> String {
    let mut text = String::new();
    if tally.left_out > 0 {
        text.push_str(&format!(
            "[left out by rules: {}]\n",
            count(tally.left_out, "file")
        ));
    }
    if let Some(why) = tally.cut {
        text.push_str(&format!("[not everything: {why}; {hint}]\n"));
    }
    text
}

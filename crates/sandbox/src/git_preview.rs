//! Finds out which files a git command would change, before it runs.
//!
//! `git switch` and `git stash` cannot change protected files. Git ends successfully all the same,
//! and the next commit would revert these files. So such a command does not begin.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use prowess_policy::profile::GitAccess;
use prowess_policy::{Plan, Profile};

use crate::cancel::Cancel;
use crate::error::ExecError;
use crate::granted_paths::{protected_paths, within};
use crate::outcome::End;
use crate::runner::{CommandOptions, Runner};

/// Bytes of names that are read.
const MAX_NAMES: usize = 64 << 20;

/// Most names in an error.
const MAX_SHOWN: usize = 5;

/// A question to git about names of files.
type Question = Vec<String>;

/// What a command changes in the working tree.
#[derive(Debug, Default, PartialEq, Eq)]
struct Changes {
    /// Commands that list the names of the changed files.
    questions: Vec<Question>,
    /// The branch that is switched to, if it exists.
    target: Option<String>,
    /// Files that are not tracked are removed as well.
    untracked: bool,
}

const DIFF_TREES: &[&str] = &["diff-tree", "-r", "--no-renames", "--name-only", "-z"];

const DIFF: &[&str] = &[
    "diff",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=all",
    "--name-only",
    "-z",
    "HEAD",
    "--",
];

fn question(words: &[&str], more: &[&str]) -> Question {
    let words = words.iter().chain(more);
    words.map(|word| (*word).to_owned()).collect()
}

/// The options and the other words of a git command. Only options of the table in
/// [`prowess_policy::profile`] occur.
struct Parsed<'a> {
    options: Vec<&'a str>,
    /// Letters of short options.
    letters: String,
    words: Vec<&'a str>,
}

impl<'a> Parsed<'a> {
    /// `valued` are the options whose value can be the next word.
    fn new(arguments: &[&'a str], valued: &[&str]) -> Self {
        let (mut options, mut letters, mut words) = (Vec::new(), String::new(), Vec::new());
        let mut arguments = arguments.iter().copied();
        while let Some(word) = arguments.next() {
            match word {
                "--" => words.extend(arguments.by_ref()),
                "-" => words.push(word),
                _ if word.starts_with("--") => {
                    options.push(word.split('=').next().unwrap_or(word));
                    if valued.contains(&word) {
                        arguments.next();
                    }
                }
                _ if word.starts_with('-') => {
                    let mut rest = word.chars().skip(1).peekable();
                    while let Some(letter) = rest.next() {
                        letters.push(letter);
                        if valued.contains(&&*format!("-{letter}")) {
                            if rest.peek().is_none() {
                                arguments.next();
                            }
                            break;
                        }
                    }
                }
                _ => words.push(word),
            }
        }
        Self {
            options,
            letters,
            words,
        }
    }

    fn has(&self, letters: &str, options: &[&str]) -> bool {
        self.letters.chars().any(|letter| letters.contains(letter))
            || self.options.iter().any(|option| options.contains(option))
    }
}

impl Changes {
    fn of(words: &[&str]) -> Self {
        match words {
            ["git", "switch", arguments @ ..] => Self::of_switch(arguments),
            ["git", "stash", arguments @ ..] => Self::of_stash(arguments),
            _ => Self::default(),
        }
    }

    fn of_switch(arguments: &[&str]) -> Self {
        let valued = ["-c", "-C", "--create", "--force-create", "--orphan"];
        let parsed = Parsed::new(arguments, &valued);
        let mut changes = Self::default();
        if parsed.has("", &["--orphan"]) {
            changes.questions.push(question(&["ls-files", "-z"], &[]));
        }
        if parsed.has("f", &["--force", "--discard-changes"]) {
            changes.questions.push(question(DIFF, &[]));
        }
        let target = parsed.words.first().map(|word| match *word {
            "-" => "@{-1}",
            word => word,
        });
        changes.target = target.map(str::to_owned);
        changes
    }

    fn of_stash(arguments: &[&str]) -> Self {
        let parsed = Parsed::new(arguments, &["-m", "--message"]);
        let mut changes = Self::default();
        let subcommand = match arguments.first() {
            Some(word) if !word.starts_with('-') => *word,
            _ => "push",
        };
        let words = parsed.words.get(1..).unwrap_or_default();
        let stash = match words.last() {
            Some(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                format!("stash@{{{number}}}")
            }
            Some(name) if subcommand != "branch" || words.len() > 1 => (*name).to_owned(),
            _ => "stash@{0}".to_owned(),
        };
        let base = match subcommand {
            "push" | "save" => {
                changes.untracked = parsed.has("ua", &["--include-untracked", "--all"]);
                let paths = if arguments.first() == Some(&"push") {
                    words
                } else if subcommand == "push" {
                    parsed.words.as_slice()
                } else {
                    &[]
                };
                changes.questions.push(question(DIFF, paths));
                return changes;
            }
            "pop" | "apply" => format!("{stash}^1"),
            "branch" => "HEAD".to_owned(),
            _ => return changes,
        };
        let trees = [&*base, &*stash, "--"];
        changes.questions.push(question(DIFF_TREES, &trees));
        let untracked = format!("{stash}^3");
        let list = ["ls-tree", "-r", "--name-only", "--full-tree", "-z"];
        changes.questions.push(question(&list, &[&untracked]));
        changes
    }
}

impl Runner {
    /// Fails if a git command would change files that it cannot change.
    pub(crate) fn preview(
        &self,
        plan: &Plan,
        profile: &Profile,
        tree: &Path,
        cancel: Option<&Cancel>,
    ) -> Result<(), ExecError> {
        let Plan::Words(words) = plan else {
            return Ok(());
        };
        let words: Vec<&str> = words.iter().map(|word| &**word).collect();
        let changes = Changes::of(&words);
        let refused = |why: String| ExecError::GitRefused {
            command: words.join(" ").into(),
            why: why.into(),
        };
        if changes.untracked {
            return Err(refused(
                "it would also record and remove the placeholders of the sandbox; run it yourself, or \
                 without files that are not tracked"
                    .to_owned(),
            ));
        }
        let mut names = Vec::new();
        for question in &changes.questions {
            names.extend(self.names(question, profile, cancel)?.unwrap_or_default());
        }
        if let Some(target) = &changes.target {
            names.extend(self.names_of_switch(target, profile, cancel)?);
        }
        if names.is_empty() {
            return Ok(());
        }
        let protected = protected_paths(profile)?;
        let is_protected = |name: &PathBuf| within(&tree.join(name), &protected);
        let mut names: Vec<PathBuf> = names.into_iter().filter(is_protected).collect();
        names.sort();
        names.dedup();
        if names.is_empty() {
            return Ok(());
        }
        let shown = names.iter().take(MAX_SHOWN);
        let shown: Vec<String> = shown.map(|name| format!("`{}`", name.display())).collect();
        let more = match names.len().saturating_sub(MAX_SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Err(refused(format!(
            "it would change files that are protected: {}{more}; run it yourself, outside of the sandbox",
            shown.join(", ")
        )))
    }

    /// Returns the files that differ between `HEAD` and a branch. Without a local branch, git creates
    /// one from that of a remote.
    fn names_of_switch(
        &self,
        target: &str,
        profile: &Profile,
        cancel: Option<&Cancel>,
    ) -> Result<Vec<PathBuf>, ExecError> {
        let differ = |commit: &str| question(DIFF_TREES, &["HEAD", commit, "--"]);
        if let Some(names) = self.names(&differ(target), profile, cancel)? {
            return Ok(names);
        }
        let pattern = format!("refs/remotes/*/{target}");
        let list = ["for-each-ref", "--format=%(refname)%00", &pattern];
        let branches = self.names(&question(&list, &[]), profile, cancel)?;
        let branch = branches.unwrap_or_default().into_iter().next();
        let branch = branch.as_deref().and_then(Path::to_str).map(str::trim);
        match branch {
            Some(branch) => Ok(self
                .names(&differ(branch), profile, cancel)?
                .unwrap_or_default()),
            None => Ok(Vec::new()),
        }
    }

    /// Returns the names that a git command prints, or `None` if it fails. It cannot write anything.
    fn names(
        &self,
        question: &Question,
        profile: &Profile,
        cancel: Option<&Cancel>,
    ) -> Result<Option<Vec<PathBuf>>, ExecError> {
        let mut profile = profile.clone();
        let writable = std::mem::take(&mut profile.writable);
        profile.readable.extend(writable);
        profile.git = GitAccess::Read;
        profile.limits.head_bytes = MAX_NAMES;
        let words = std::iter::once("git").chain(question.iter().map(String::as_str));
        let plan = Plan::Words(words.map(Into::into).collect());
        let options = CommandOptions {
            cancel,
            ..CommandOptions::default()
        };
        let outcome = self.run_plan(&plan, &profile, options)?;
        if outcome.end != End::Code(0) || outcome.stdout.omitted() > 0 {
            return Ok(None);
        }
        let names = outcome.stdout.head.split(|byte| *byte == 0);
        let names = names.map(|name| name.strip_prefix(b"\n").unwrap_or(name));
        let names = names.filter(|name| !name.is_empty());
        Ok(Some(
            names.map(|name| OsStr::from_bytes(name).into()).collect(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> (Vec<String>, Option<String>, bool) {
        let words: Vec<&str> = line.split(' ').collect();
        let changes = Changes::of(&words);
        let questions = changes.questions.iter();
        let questions = questions.map(|words| {
            let skipped = ["-z", "-r", "--name-only"];
            let words = words.iter().filter(|word| {
                !word.starts_with("--no-")
                    && !word.starts_with("--ignore")
                    && !skipped.contains(&&***word)
            });
            words.cloned().collect::<Vec<_>>().join(" ")
        });
        (questions.collect(), changes.target, changes.untracked)
    }

    #[test]
    fn changes_of_commands_are_known() {
        for (line, questions, target, untracked) in [
            ("git switch other", &[][..], Some("other"), false),
            ("git switch -", &[], Some("@{-1}"), false),
            ("git switch -c new", &[], None, false),
            ("git switch -qcnew", &[], None, false),
            ("git switch --create=new start", &[], Some("start"), false),
            ("git switch -C new start", &[], Some("start"), false),
            (
                "git switch -f other",
                &["diff HEAD --"],
                Some("other"),
                false,
            ),
            ("git switch --orphan new", &["ls-files"], None, false),
            ("git stash", &["diff HEAD --"], None, false),
            (
                "git stash push -m text a b",
                &["diff HEAD -- a b"],
                None,
                false,
            ),
            ("git stash -qu", &["diff HEAD --"], None, true),
            ("git stash push --all", &["diff HEAD --"], None, true),
            ("git stash -- a", &["diff HEAD -- a"], None, false),
            (
                "git stash pop",
                &[
                    "diff-tree stash@{0}^1 stash@{0} --",
                    "ls-tree --full-tree stash@{0}^3",
                ],
                None,
                false,
            ),
            (
                "git stash apply --index 2",
                &[
                    "diff-tree stash@{2}^1 stash@{2} --",
                    "ls-tree --full-tree stash@{2}^3",
                ],
                None,
                false,
            ),
            (
                "git stash branch new",
                &[
                    "diff-tree HEAD stash@{0} --",
                    "ls-tree --full-tree stash@{0}^3",
                ],
                None,
                false,
            ),
            ("git stash list", &[], None, false),
            ("git add -A", &[], None, false),
        ] {
            let questions: Vec<String> = questions.iter().map(|it| (*it).to_owned()).collect();
            let expected = (questions, target.map(str::to_owned), untracked);
            assert_eq!(shown(line), expected, "{line}");
        }
    }
}

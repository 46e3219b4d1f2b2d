//! The folders in which the commands of a line may run: `cd` changes the folder of the commands after
//! it, and options such as `-C` that of one command.

use crate::path_pattern::{self, WorkspacePaths, absolute};
use prowess_shell::SimpleCommand;
use prowess_shell::finder::LooseWord;
use prowess_shell::programs;

/// Most folders that are followed.
const MOST: usize = 16;

/// The folders in which a command may run. A `cd` may fail, so the earlier folders remain.
#[derive(Debug)]
pub(crate) struct Folders {
    /// Absolute paths, the starting folder first.
    known: Vec<String>,
    /// `true` if another folder is only known when the line runs.
    unknown: bool,
    moved: bool,
}

/// A folder that a command changes to.
enum Target<'w> {
    Path(&'w str),
    Home,
    Unknown,
}

impl Folders {
    /// Returns the folder in which a line starts.
    pub(crate) fn start(places: &WorkspacePaths) -> Self {
        Self {
            known: vec![starting_folder(places)],
            unknown: false,
            moved: false,
        }
    }

    /// Returns all folders in which some command of a line may run.
    pub(crate) fn of_all<'w>(
        commands: impl Iterator<Item = &'w Vec<LooseWord>>,
        places: &WorkspacePaths,
    ) -> Self {
        let mut folders = Self::start(places);
        for words in commands {
            folders.follow(words, places);
            for at in 1..words.len() {
                if let Some(target) = option_target(words, at) {
                    folders.enter(&target, places);
                }
            }
        }
        folders
    }

    /// Adds the folder that a command changes to.
    pub(crate) fn follow(&mut self, words: &[LooseWord], places: &WorkspacePaths) {
        if let Some(target) = target(words) {
            self.enter(&target, places);
        }
    }

    /// Adds the folder that a parsed command changes to.
    pub(crate) fn follow_parsed(&mut self, command: &SimpleCommand, places: &WorkspacePaths) {
        let words: Vec<LooseWord> = command
            .words
            .iter()
            .map(|word| LooseWord {
                text: word.text.to_string(),
                pattern: word.is_glob(),
                ..LooseWord::default()
            })
            .collect();
        self.follow(&words, places);
    }

    fn enter(&mut self, target: &Target<'_>, places: &WorkspacePaths) {
        self.moved = true;
        let path = match target {
            Target::Path(path) => *path,
            Target::Home => {
                // An operand that is only a variable is not among the words.
                self.unknown = true;
                "~"
            }
            Target::Unknown => {
                self.unknown = true;
                return;
            }
        };
        for at in 0..self.known.len() {
            let folder = absolute(path, &self.known[at], &places.home);
            if self.known.contains(&folder) {
                continue;
            }
            if self.known.len() >= MOST {
                self.unknown = true;
                return;
            }
            self.known.push(folder);
        }
    }

    /// Returns `true` if an earlier command may have changed the folder.
    pub(crate) fn has_moved(&self) -> bool {
        self.moved
    }

    /// Returns `true` if a folder is only known when the line runs.
    pub(crate) fn is_unknown(&self) -> bool {
        self.unknown
    }

    /// Returns the folders that are known.
    pub(crate) fn known(&self) -> &[String] {
        &self.known
    }

    /// Returns `true` if all folders are known and inside the project or the starting folder.
    pub(crate) fn are_inside(&self, places: &WorkspacePaths) -> bool {
        let start = self.known.first().map_or("/", String::as_str);
        let is_inside = |folder: &String| {
            path_pattern::is_inside(folder, places) || path_pattern::is_below(folder, start)
        };
        !self.unknown && self.known.iter().all(is_inside)
    }
}

/// Returns the absolute path of the folder in which a line starts.
pub(crate) fn starting_folder(places: &WorkspacePaths) -> String {
    let start = places.cwd.as_ref().unwrap_or(&places.root);
    absolute(start, "/", &places.home)
}

/// Returns the folder that `cd`, `pushd` or `popd` changes to.
fn target(words: &[LooseWord]) -> Option<Target<'_>> {
    let (program, rest) = words.split_first()?;
    let name = program.text.rsplit('/').next().unwrap_or(&program.text);
    if !programs::changes_folder(name) {
        return None;
    }
    let is_option = |word: &&LooseWord| word.text.starts_with('-') && word.text.len() > 1;
    let Some(operand) = rest.iter().find(|word| !is_option(word)) else {
        return Some(if name == "cd" && rest.is_empty() {
            Target::Home
        } else {
            Target::Unknown
        });
    };
    Some(
        literal(operand)
            .filter(|_| name != "popd")
            .map_or(Target::Unknown, Target::Path),
    )
}

/// Returns the folder in `-C DIR`, `--directory DIR` and `--directory=DIR`, for any program.
fn option_target(words: &[LooseWord], at: usize) -> Option<Target<'_>> {
    let word = words.get(at)?;
    if programs::is_folder_option(&word.text) {
        let value = words.get(at + 1)?;
        return Some(literal(value).map_or(Target::Unknown, Target::Path));
    }
    // `env -Ckeep touch a`, `env --chd=keep touch a`
    let value = programs::attached_folder(&word.text)?;
    Some(literal(word).map_or(Target::Unknown, |_| Target::Path(value)))
}

/// Returns the text of a word that is known and names one folder.
fn literal(word: &LooseWord) -> Option<&str> {
    let is_known = !word.pattern && !word.unknown && word.text != "-" && !word.text.is_empty();
    (is_known && !word.text.starts_with('+')).then_some(word.text.as_str())
}

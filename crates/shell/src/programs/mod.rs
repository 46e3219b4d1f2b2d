//! The program table: what programs do beyond what their name says.
//!
//! A grant for a program (`Bash(git:*)`) is not meant for options that make it start, write or send
//! something else. The table knows those options. It also knows which programs run whatever they are
//! given, which of their words are code, and which of them use the network, so that validation,
//! trust, permissions and rendering decide about a command from the same entry. The table reduces
//! prompts; it is not a security boundary. The sandbox is.
//!
//! Programs are grouped by family. Each reason carries an example, which the tests check. To add a
//! program, add its name to an entry or write a new entry.
//!
//! # Spelling of options
//!
//! Options are lists of words between blanks. The end of a word says what follows the option:
//!
//! | mark | meaning | example |
//! |---|---|---|
//! | none | no value; in `values`, one value | `-i` |
//! | `:` | one value, in the next word or attached; in `values`, one value more | `-c:` |
//! | `?` | a value only if it is attached: `-i.bak`, `--color=never` | `-i?` |
//! | `!` | a value that may begin with a dash; other such values are also checked as options | `-v!` |
//! | `*` | any text after this prefix, or the next word | `-Xlog*` |
//!
//! Long options may be abbreviated unless `words` is set, and short ones may be combined: `-xvf`.

mod archives;
mod awk;
mod builders;
pub(crate) mod code;
mod engine;
mod git;
mod git_settings;
mod interpreters;
mod network;
mod packages;
mod project_files;
mod search;
mod sed;
mod system;
#[cfg(test)]
mod tests;
mod text;
mod wrappers;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::word::Word;
use code::Code;
use engine::Program;
pub(crate) use engine::{UNKNOWN, is_input};
pub use git_settings::git_setting_runs;
pub use project_files::named_files;

/// The effect of an option or operand that the program's name does not suggest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramEffect {
    /// Starts another program or evaluates code.
    Runs,
    /// Writes, replaces or removes a file.
    Writes,
    /// Sends something to another machine, or accepts connections.
    Sends,
    /// Reads instructions, secrets or a list of files from a file.
    Reads,
    /// Changes settings that later commands obey.
    Configures,
    /// Works outside the working folder.
    Elsewhere,
}

/// A reason to ask although the program is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectHit {
    /// Index of the word; 0 is the program. A rule that has this many words or more agreed to it.
    /// The number of words if a missing word is the reason: only the exact command agrees to that.
    pub at: usize,
    /// The effect.
    pub effect: ProgramEffect,
    /// Completes the sentence "`WORD` in `COMMAND` …".
    pub why: &'static str,
}

/// The result of looking a command up in the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramReport {
    /// Reasons to ask, in the order of the words.
    pub hits: Vec<EffectHit>,
    /// Index of the subcommand, for programs that have them: `push` in `git -C x push`.
    pub subcommand: Option<usize>,
    /// Indices of all words that may be the subcommand, or one below it: after an unknown option it
    /// may be the word after the next; in `docker container run` both words count.
    pub subcommands: Vec<usize>,
    /// Indices of words at which another command may start (`env`, `xargs`, `find -exec`). Such a
    /// word may also be a whole script (`sh -c`). Deny rules are checked again from there.
    pub starts: Vec<usize>,
    /// Scripts that are the end of a word: `--exec='rm -r x'`.
    pub attached: Vec<AttachedScript>,
    /// Index of the first of the words that are joined to a script: `eval`.
    pub joined: Option<usize>,
    /// `true` if it takes code from standard input although a word names a program, a script or a
    /// file: `bash /dev/stdin`, `sed -f -`, `xargs sh -c`. A program that is in the table as an
    /// interpreter and has no script has a hit instead.
    pub takes_input: bool,
    /// `true` if an option runs something that is not among the starts and scripts.
    pub hides: bool,
    /// Indices of words that are code or name a program or a file of code, as far as the table alone
    /// can tell.
    pub(crate) code: Vec<usize>,
    /// Indices of words that are certain to be the value of the option before them, even if they
    /// begin with a dash: `grep -e -x`.
    pub(crate) values: Vec<usize>,
    /// Indices of words that name a file of instructions: `make -f FILE`.
    pub(crate) sources: Vec<usize>,
}

/// A script inside a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttachedScript {
    /// Index of the word.
    pub word: usize,
    /// Offset in the word's text at which the script starts.
    pub offset: usize,
}

/// Communication with other machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Network {
    /// None, apart from options and subcommands that the table lists.
    No,
    /// That is its purpose.
    Yes,
    /// That is its purpose, but its name is an ordinary word (`http`, `mail`) and only counts where a
    /// command starts.
    CommonWord,
}

/// Changes to the files that are named in a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Changes {
    /// Only with options that the table lists.
    AsListed,
    /// That is its purpose.
    Always,
    /// With `-i`, alone or among other letters, or `--in-place`, abbreviated or not.
    InPlace,
}

/// Changes to everything in the folders that are named in a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whole {
    /// None.
    No,
    /// Always.
    Always,
    /// With `-r`, alone or among other letters, or `--recursive`.
    Recursive,
    /// With an option that begins with `--del`.
    Deleting,
    /// All operands but the last, which is the destination.
    Sources,
}

/// Looks a command up in the table. `words[0]` is the program, with or without a path. The report is
/// empty for a program that is not in the table.
pub fn inspect(words: &[Word]) -> ProgramReport {
    let mut report = ProgramReport::default();
    engine::look(words, 0, 0, &mut report);
    for hit in &mut report.hits {
        // The value of an option may be missing: `tar ffmpeg`.
        hit.at = hit.at.min(words.len());
    }
    report.hits.sort_by_key(|hit| hit.at);
    report.hits.dedup();
    for indices in [
        &mut report.starts,
        &mut report.subcommands,
        &mut report.code,
    ] {
        indices.sort_unstable();
        indices.dedup();
    }
    report
}

/// Returns `true` if a grant for all commands that begin with these words allows any program or any
/// code: `python3`, `sudo -u root`, `docker exec web`.
pub fn is_unrestricted(prefix: &[Word]) -> bool {
    let Some((first, rest)) = prefix.split_first() else {
        return false;
    };
    let is_open = |word: &Word| {
        find(&word.text).is_some_and(|(_, program)| {
            program.runs_anything() || starts_after(std::slice::from_ref(word))
        })
    };
    let adds_nothing = |word: &Word| word.text.starts_with('-') || is_open(word);
    is_open(first) && rest.iter().all(adds_nothing) || starts_after(prefix)
}

/// The way in which a grant for a program allows everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenGrant {
    /// The words that follow are a command: `xargs`, `npx`.
    Command,
    /// It runs code that it is given: `python3`, `awk`.
    Code,
    /// It is the client of a database, with a command that starts a shell: `mysql`.
    Database,
    /// Some option, file or command of its own runs a program: `find`, `make`.
    Other,
}

/// Returns how a grant for all commands that begin with these words allows everything, if it does.
pub fn open_grant(prefix: &[Word]) -> Option<OpenGrant> {
    let first = prefix.first().filter(|_| is_unrestricted(prefix))?;
    let (_, program) = find(&first.text)?;
    Some(match program.code {
        _ if program.database => OpenGrant::Database,
        Code::Interpreter { .. } | Code::First { .. } => OpenGrant::Code,
        Code::Wrapper { .. } | Code::Shell | Code::Command => OpenGrant::Command,
        Code::Everything if program.opaque => OpenGrant::Code,
        _ if starts_after(prefix) => OpenGrant::Command,
        _ => OpenGrant::Other,
    })
}

/// Returns `true` for commands that only read, which Claude Code runs without asking: those of its
/// documented list (`ls`, `cat`, `echo`, …), a few that only print, and the forms of git that show
/// something. Redirections are the caller's concern.
pub fn only_reads(words: &[Word]) -> bool {
    const READERS: &str = "[ basename cat cd date diff dirname du echo false file find grep head id \
        ls printf pwd readlink realpath stat tail test true uname wc which whoami";
    const GIT_READERS: &str = "blame cat-file describe diff diff-index diff-tree for-each-ref grep \
        log ls-files ls-tree merge-base name-rev rev-list rev-parse shortlog show show-ref status";
    let Some(first) = words.first() else {
        return false;
    };
    let report = inspect(words);
    let is_harmless =
        |hit: &EffectHit| matches!(hit.effect, ProgramEffect::Reads | ProgramEffect::Elsewhere);
    if !report.hits.iter().all(is_harmless) || !report.starts.is_empty() {
        return false;
    }
    if &*first.text != "git" {
        return engine::listed(READERS, &first.text);
    }
    let Some(at) = report.subcommand else {
        return words.iter().any(|word| &*word.text == "--version");
    };
    let rest: Vec<&str> = words[at + 1..].iter().map(|word| &*word.text).collect();
    let is_option = |word: &&str| word.starts_with('-');
    let has = |options: &str| rest.iter().any(|word| engine::listed(options, word));
    match &*words[at].text {
        "branch" => {
            let deletes = "-d -D -m -M -c -C -u -f --delete --move --copy --force --edit-description \
                --unset-upstream";
            let lists = "-l --list --contains --merged --no-merged --points-at";
            let sets = rest.iter().any(|word| word.starts_with("--set-upstream"));
            !has(deletes) && !sets && (rest.iter().all(is_option) || has(lists))
        }
        "config" => has("--get --get-all --get-regexp --list -l get list"),
        "reflog" => rest
            .first()
            .is_none_or(|word| is_option(word) || *word == "show"),
        "remote" => rest
            .iter()
            .find(|word| !is_option(word))
            .is_none_or(|word| matches!(*word, "show" | "get-url")),
        "stash" => matches!(rest.first(), Some(&("list" | "show"))),
        "symbolic-ref" => {
            rest.iter().filter(|word| !is_option(word)).count() == 1 && !has("-d --delete")
        }
        "tag" => !has("-d --delete") && (rest.iter().all(is_option) || has("-l --list")),
        "worktree" => rest.first() == Some(&"list"),
        subcommand => engine::listed(GIT_READERS, subcommand),
    }
}

/// Returns `true` if another command starts in the words that follow these.
fn starts_after(prefix: &[Word]) -> bool {
    let probe = ["prowess-probe"; 2].map(Word::plain);
    let words: Vec<Word> = prefix.iter().cloned().chain(probe).collect();
    inspect(&words).starts.iter().any(|&at| at >= prefix.len())
}

/// Returns `true` if the program takes code in a language other than the shell's, in which deny rules
/// cannot be looked for.
pub fn is_opaque(program: &str) -> bool {
    find(program).is_some_and(|(_, program)| program.opaque)
}

/// Returns `true` if a program starts the program that its words name, with any option: `nice`.
pub fn starts_programs(program: &str) -> bool {
    find(program).is_some_and(|(_, program)| {
        let is_wrapper = matches!(program.code, Code::Wrapper { .. } | Code::Command);
        is_wrapper
            || program
                .always
                .is_some_and(|reason| reason.effect == ProgramEffect::Runs)
    })
}

/// Programs of the table that start what one of their many options, subcommands or command languages
/// names. The table says why they are asked about, not where the command is.
const STARTERS_BY_OPTION: &str = "\
    aria2c axel cloudflared consul etcdctl flatpak ftp gpg gpg2 grpcurl ip k3s latex latexmk lualatex \
    mailx minikube msmtp mutt ngrok nmap nomad oc pdflatex rclone rexec rlogin rsh s3cmd sendmail snap \
    sops swaks tcpdump telnet terragrunt tex tftp tshark vault websocat xelatex xh";

/// Returns `true` if a program may start any command that its words name, here or on another machine:
/// `tcpdump -z rm`, `gcloud compute ssh h -- rm x`.
pub fn may_start_elsewhere<'w>(words: impl IntoIterator<Item = &'w str>) -> bool {
    const STARTING: &str = "ssh run exec shell console run-command invoke start-session \
                            send-command execute-command ps:exec ps:ssh run:detached run:inside \
                            cloud-shell connect job jobs";
    let mut words = words.into_iter();
    let program = words.next().unwrap_or_default();
    let is_in = |list| find(program).is_some_and(|(name, _)| engine::listed(list, name));
    is_in(STARTERS_BY_OPTION)
        || is_in(builders::CLOUDS)
            && words.any(|word| {
                let word = word.split('=').next().unwrap_or_default();
                engine::listed(STARTING, word) || matches!(word, "--command" | "-C" | "--scripts")
            })
}

/// Returns `true` if a program is named by a process or an open file, so that it may be any program:
/// `/proc/self/exe`, `/dev/fd/3`.
pub fn is_process(program: &str) -> bool {
    ["/proc/", "/dev/"]
        .iter()
        .any(|folder| program.starts_with(folder))
}

/// Programs and builtins outside the table that start no other program and change no file.
const PLAIN_READERS: &str = "\
    : [[ b2sum base32 base64 basename bg break cat cksum clear cmp column comm continue cut \
    df dirname dirs esac exit expand expr factor fg fmt fold free getconf getfacl groups \
    head help hexdump hostid id in join killall ls lsblk lscpu lsof md5sum nl nproc od paste \
    pathchk pgrep pkill pr printenv ps pwd readlink realpath return rev seq sha1sum \
    sha224sum sha256sum sha384sum sha512sum shift sleep stat sum tac tail times top tput tr \
    tsort type uname unexpand uptime users whereis which who whoami yes";

/// Returns `true` if it is known what a program does with its words: it is in the table, or it starts
/// no other program and changes no file.
pub fn is_listed(program: &str) -> bool {
    let name = program.strip_prefix("/usr").unwrap_or(program);
    let name = name.strip_prefix("/bin/").unwrap_or(program);
    find(program).is_some() || engine::listed(PLAIN_READERS, name)
}

/// Returns the words of a build tool, package manager or interpreter that name a file or folder for
/// its output, as far as the names of options tell: `gcc -o FILE`, `tsc --outDir=FOLDER`. A word may
/// also be the option itself, with its value attached.
pub fn output_words(words: &[Word]) -> Vec<usize> {
    const LETTERS: [&str; 2] = ["-o", "-d"];
    const PARTS: [&str; 8] = [
        "out",
        "dest",
        "target-dir",
        "log",
        "report",
        "save",
        "write",
        "dump",
    ];
    let Some((name, _)) = words.first().and_then(|word| find(&word.text)) else {
        return Vec::new();
    };
    let families = [
        builders::BUILDERS,
        packages::PACKAGES,
        interpreters::INTERPRETERS,
    ];
    let mut programs = families.into_iter().flatten();
    if !programs.any(|program| program.names.has(name)) {
        return Vec::new();
    }
    let is_output = |word: &Word| {
        let option = word.text.split('=').next().unwrap_or_default();
        let option = option.to_ascii_lowercase();
        option.starts_with('-')
            && (LETTERS.iter().any(|letter| option.starts_with(letter))
                || PARTS.iter().any(|part| option.contains(part)))
    };
    let options = words.iter().enumerate().skip(1);
    options
        .filter(|(_, word)| is_output(word))
        .flat_map(|(at, _)| [at, at + 1])
        .filter(|at| *at < words.len())
        .collect()
}

/// Returns `true` if a command communicates with other machines.
pub fn uses_network(words: &[Word]) -> bool {
    let is_network =
        |word: &Word| find(&word.text).is_some_and(|(_, program)| program.network != Network::No);
    words.first().is_some_and(is_network)
        || inspect(words)
            .hits
            .iter()
            .any(|hit| hit.effect == ProgramEffect::Sends)
}

/// Returns `true` if a command changes the files that it is given.
pub fn changes_files(words: &[Word]) -> bool {
    /// Subcommands of git that change the files they name.
    const GIT: &[&str] = &["rm", "mv", "checkout", "restore", "clean", "stash", "apply"];
    let Some((first, rest)) = words.split_first() else {
        return false;
    };
    let changes = find(&first.text).map_or(Changes::AsListed, |(_, program)| program.changes);
    let is_in_place = |word: &Word| {
        let is_cluster = word.text.starts_with('-') && !word.text.starts_with("--");
        word.text.starts_with("--in") || is_cluster && word.text.contains('i')
    };
    let is_git = find(&first.text).is_some_and(|(name, _)| name == "git");
    if is_git {
        let report = inspect(words);
        let mut subcommands = report.subcommands.iter().chain(&report.subcommand);
        let is_listed = |&at: &usize| words.get(at).is_some_and(|word| GIT.contains(&&*word.text));
        if subcommands.any(is_listed) {
            return true;
        }
    }
    match changes {
        Changes::Always => true,
        Changes::InPlace if rest.iter().any(is_in_place) => true,
        Changes::InPlace | Changes::AsListed => inspect(words).hits.iter().any(|hit| {
            // The text of an awk program that does more than print is not told apart.
            let is_active = hit.effect == ProgramEffect::Runs && takes_program_text(&first.text);
            hit.effect == ProgramEffect::Writes || is_active
        }),
    }
}

/// Returns the words of a command that removes, moves or changes whole folders: everything in them
/// changes. Returns `None` if it changes none.
pub fn whole_folders(words: &[Word]) -> Option<std::ops::Range<usize>> {
    let (first, rest) = words.split_first()?;
    let (_, program) = find(&first.text)?;
    let mut whole = program.whole;
    if whole == Whole::No && !program.subs.is_empty() {
        let report = inspect(words);
        let named = report.subcommands.iter().chain(&report.subcommand);
        let of_sub = |&at: &usize| {
            let word = words.get(at)?;
            let sub = program.subs.iter().find(|sub| sub.names.has(&word.text))?;
            Some(sub.whole)
        };
        let mut found = named.filter_map(of_sub);
        whole = found.find(|whole| *whole != Whole::No).unwrap_or(Whole::No);
    }
    let has_letter = |word: &Word| {
        let letters = word.text.strip_prefix('-');
        letters.is_some_and(|given| !given.starts_with('-') && given.contains(['r', 'R']))
    };
    let is_long = |word: &Word, name: &str| word.text.len() > 2 && name.starts_with(&*word.text);
    let is_whole = match whole {
        Whole::No => false,
        Whole::Always => true,
        Whole::Recursive => rest
            .iter()
            .any(|word| has_letter(word) || is_long(word, "--recursive")),
        Whole::Deleting => rest.iter().any(|word| word.text.starts_with("--del")),
        Whole::Sources => return Some(0..words.len() - usize::from(!rest.is_empty())),
    };
    is_whole.then_some(0..words.len())
}

/// Returns `true` if words like `NAME=value` of a command set variables for what the program starts.
pub fn sets_variables(program: &str) -> bool {
    find(program).is_some_and(|(_, program)| program.assigns || program.settings)
}

/// Returns `true` if a program changes the folder of the commands after it: `cd`.
pub fn changes_folder(program: &str) -> bool {
    find(program).is_some_and(|(_, program)| program.moves)
}

/// Returns `true` if exit code 1 of a command is an answer, not a failure: `grep`, `diff`, `test`.
pub fn answers_with_exit_code(words: &[Word]) -> bool {
    let Some((_, program)) = words.first().and_then(|word| find(&word.text)) else {
        return false;
    };
    let subcommand = || words.get(inspect(words).subcommand?);
    program.answers
        || subcommand().is_some_and(|word| {
            let mut subs = program.subs.iter();
            subs.any(|sub| sub.answers && sub.names.has(&word.text))
        })
}

/// Limits of the values in the words of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WordLimits {
    /// No option of the program does more than change how it prints or compares its words.
    pub(crate) only_data: bool,
    /// An option may also begin with `+` or `@`.
    pub(crate) signs: bool,
    /// Words like `NAME=value` are settings anywhere.
    pub(crate) settings: bool,
}

/// Returns the limits of values in a command. Any of its words may be a program that it starts.
pub(crate) fn word_limits(words: &[Word]) -> WordLimits {
    let named = words.iter().filter_map(|word| find(&word.text));
    let mut limits = WordLimits {
        only_data: words
            .first()
            .and_then(|word| find(&word.text))
            .is_some_and(|(_, program)| program.data),
        ..WordLimits::default()
    };
    for (_, program) in named {
        limits.signs |= program.signs;
        limits.settings |= program.settings;
    }
    limits
}

/// Returns `true` if a program takes instructions from the working folder: `make`, `npm`.
pub(crate) fn reads_folder(program: &str) -> bool {
    let Some((name, _)) = find(program) else {
        return false;
    };
    let mut families = builders::BUILDERS.iter().chain(packages::PACKAGES);
    families.any(|program| program.names.has(name))
}

/// Options of any program that name the folder in which it works.
const FOLDER_OPTIONS: [&str; 4] = ["-C", "--chdir", "--directory", "--cwd"];
/// Further options of build tools, package managers and git that name a folder with instructions.
const PROJECT_OPTIONS: &str = "--prefix --git-dir --work-tree --manifest-path --project \
    --project-dir --project-directory --working-directory --rootdir --root --dir";

/// Returns `true` if a word is an option that names the folder in which a program works, as GNU
/// programs spell it: `--chd` is `--chdir`.
pub fn is_folder_option(word: &str) -> bool {
    let is_short_for = |name: &&str| word.len() > 4 && name.starts_with(word);
    FOLDER_OPTIONS.contains(&word) || FOLDER_OPTIONS.iter().any(is_short_for)
}

/// Returns the folder in `-Cfolder` and `--chdir=folder`.
pub fn attached_folder(word: &str) -> Option<&str> {
    match word.split_once('=') {
        Some((name, value)) if is_folder_option(name) => Some(value),
        _ => word.strip_prefix("-C"),
    }
    .filter(|value| !value.is_empty())
}

/// Returns the words of a build tool, a package manager or git that name the folder with its
/// instructions: `make -C FOLDER`, `npm --prefix=FOLDER`.
pub(crate) fn folder_words(words: &[Word]) -> Vec<usize> {
    let takes = |word: &Word| {
        let is_git = find(&word.text).is_some_and(|(name, _)| name == "git");
        is_git || reads_folder(&word.text)
    };
    if !words.iter().any(takes) {
        return Vec::new();
    }
    let names = |word: &str| is_folder_option(word) || engine::listed(PROJECT_OPTIONS, word);
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate().skip(1) {
        let name = word.text.split('=').next().unwrap_or_default();
        if names(&word.text) {
            found.push(at + 1);
        } else if names(name) || attached_folder(&word.text).is_some() {
            found.push(at);
        }
    }
    found
}

/// Returns the words of a command that name files of code: `bash FILE`, `make -f FILE`. A program
/// with a path that another one starts counts as well.
pub fn script_words(words: &[Word]) -> Vec<usize> {
    let report = inspect(words);
    let is_path = |at: &usize| words.get(*at).is_some_and(|word| word.text.contains('/'));
    let started = report.starts.iter().chain(&report.code).copied();
    let mut found: Vec<usize> = started.filter(is_path).chain(report.sources).collect();
    for start in std::iter::once(0).chain(report.starts).take(16) {
        let Some((first, rest)) = words.get(start..).and_then(<[Word]>::split_first) else {
            continue;
        };
        let code = code_of(&first.text).map(|(_, code)| code);
        if matches!(
            code,
            Some(Code::Interpreter { .. } | Code::Shell | Code::File)
        ) {
            let is_option = |word: &Word| word.text.starts_with(['-', '+']);
            let operand = rest.iter().position(|word| !is_option(word));
            found.extend(operand.map(|at| start + 1 + at));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns `true` if a program opens its operands as perl's `<>` does.
pub(crate) fn opens_operands(program: &str) -> bool {
    find(program).is_some_and(|(_, program)| program.opens)
}

/// Returns `true` if a module of Python, run with `-m`, takes its operands for code or runs them.
pub(crate) fn runs_operands(module: &str) -> bool {
    engine::listed(interpreters::RUNNING_MODULES, module)
}

/// Returns `true` if a word in any text is the name of a program that communicates with other
/// machines, and hardly anything else.
pub fn names_network_program(word: &str) -> bool {
    INDEX
        .get(word)
        .is_some_and(|program| program.network == Network::Yes)
}

/// Returns `true` if all words of a program are code, or its first word is a file of code.
pub(crate) fn takes_only_code(program: &str) -> bool {
    find(program).is_some_and(|(_, program)| matches!(program.code, Code::Everything | Code::File))
}

/// Returns `true` if a command takes words after `--` for data, and does not pass them on to a
/// program that could take them for options.
pub(crate) fn ends_options_at_dashes(words: &[Word]) -> bool {
    /// Programs that pass such words on to what they run.
    const FORWARD: &str = "bazel bun cmake composer deno dotnet go just mix rake task";
    let Some((name, program)) = words.first().and_then(|word| find(&word.text)) else {
        return true;
    };
    let passes = program.passes || program.subs.iter().any(|sub| sub.passes);
    let is_safe = !matches!(
        program.code,
        Code::Options {
            protects: false,
            ..
        }
    );
    is_safe && !passes && !engine::listed(FORWARD, name) && inspect(words).starts.is_empty()
}

/// Returns `true` if the program takes a text in its own language that may name files: `sed`, `awk`.
pub fn takes_program_text(program: &str) -> bool {
    code_of(program).is_some_and(|(_, code)| matches!(code, Code::First { .. }))
}

/// Returns the name under which a program is listed, and the positions in which it takes code.
pub(crate) fn code_of(program: &str) -> Option<(&'static str, Code)> {
    find(program).map(|(name, program)| (name, program.code))
}

/// Returns the option with which a program takes code, and how that code reads an argument.
pub(crate) fn argument_of(program: &str) -> Option<(&'static str, &'static str)> {
    find(program).and_then(|(_, program)| program.argument)
}

/// Returns the names of all programs in the table.
pub fn names() -> impl Iterator<Item = &'static str> {
    TABLE
        .iter()
        .copied()
        .flatten()
        .flat_map(|program| program.names.words())
}

impl Program {
    fn runs_anything(&self) -> bool {
        self.unrestricted
            || matches!(
                self.code,
                Code::Everything
                    | Code::File
                    | Code::Wrapper { .. }
                    | Code::Shell
                    | Code::Interpreter { .. }
                    | Code::Command
            )
    }
}

/// All programs, by family.
const TABLE: &[&[Program]] = &[
    git::GIT,
    text::TEXT,
    search::SEARCH,
    sed::SED,
    awk::AWK,
    builders::BUILDERS,
    packages::PACKAGES,
    interpreters::INTERPRETERS,
    wrappers::WRAPPERS,
    archives::ARCHIVES,
    network::NETWORK,
    system::SYSTEM,
];

/// The table by name, built on first use.
static INDEX: LazyLock<HashMap<&'static str, &'static Program>> = LazyLock::new(|| {
    let programs = TABLE.iter().copied().flatten();
    programs
        .flat_map(|program| program.names.words().map(move |name| (name, program)))
        .collect()
});

/// Names with capital letters, by their lower-case form.
static CAPITALS: LazyLock<HashMap<String, &'static str>> = LazyLock::new(|| {
    names()
        .filter(|name| name.contains(|c: char| c.is_ascii_uppercase()))
        .map(|name| (name.to_ascii_lowercase(), name))
        .collect()
});

/// Finds the entry for a program, with or without a path and a version: `/usr/bin/python3.11`. Some
/// file systems ignore case, so `BASH` is `bash`.
fn find(word: &str) -> Option<(&'static str, &'static Program)> {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    if let Some((name, program)) = INDEX.get_key_value(name) {
        return Some((name, program));
    }
    let get = |name: &str| {
        let name = CAPITALS.get(name).copied().unwrap_or(name);
        INDEX
            .get_key_value(name)
            .map(|(name, program)| (*name, *program))
    };
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let found = get(plain).filter(|_| plain.len() < name.len());
    if found.is_some() || !name.contains(|c: char| c.is_ascii_uppercase()) {
        return found.or_else(|| get(name));
    }
    let (name, plain) = (name.to_ascii_lowercase(), plain.to_ascii_lowercase());
    get(&name).or_else(|| get(&plain))
}

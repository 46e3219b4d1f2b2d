//! Every entry is proved by its own line, and by each of its spellings.

use super::ProgramEffect::{Configures, Runs};
use super::engine::{NONE, Program};
use super::*;

/// Words between blanks, with quotes taken off.
fn split(line: &str) -> Vec<Word> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut glob = false;
    for c in line.chars() {
        match (quote, c) {
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(mark), _) if mark == c => quote = None,
            (None, ' ') => {
                words.extend(word.take().map(|text| (text, std::mem::take(&mut glob))));
            }
            (_, _) => {
                glob |= quote.is_none() && c == '*';
                word.get_or_insert_default().push(c);
            }
        }
    }
    words.extend(word.map(|text| (text, glob)));
    let make = |(text, glob): (String, bool)| Word {
        globs: if glob { [0].into() } else { [].into() },
        ..Word::plain(text)
    };
    words.into_iter().map(make).collect()
}

fn first(program: &'static Program) -> &'static str {
    program.names.text.split_ascii_whitespace().next().unwrap()
}

fn programs() -> Vec<(String, &'static Program)> {
    fn below(path: &str, program: &'static Program, all: &mut Vec<(String, &'static Program)>) {
        all.push((path.to_owned(), program));
        for sub in program.subs {
            below(&format!("{path} {}", first(sub)), sub, all);
        }
    }
    let mut all = Vec::new();
    for program in TABLE.iter().copied().flatten() {
        below(first(program), program, &mut all);
    }
    all
}

#[test]
fn every_example_has_its_hit() {
    let mut failures = Vec::new();
    for (path, program) in programs() {
        let reasons = program.options.iter().map(|option| &option.reason);
        let reasons = reasons.chain(program.operands.iter().map(|operand| &operand.reason));
        let single = [
            &program.other,
            &program.unknown,
            &program.always,
            &program.bare,
        ]
        .map(Option::as_ref);
        for reason in reasons.chain(single.into_iter().flatten()) {
            let report = inspect(&split(reason.example));
            let found = |hit: &EffectHit| hit.why == reason.why && hit.effect == reason.effect;
            if !report.hits.iter().any(found) {
                failures.push(format!(
                    "{path}: {} ({}): {:?}",
                    reason.example, reason.why, report.hits
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn plain_lines_have_no_hits() {
    let mut failures = Vec::new();
    for (path, program) in programs() {
        for line in program.plain {
            let report = inspect(&split(line));
            if !report.hits.is_empty() {
                failures.push(format!("{path}: {line}: {:?}", report.hits));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_spelling_is_found() {
    let mut failures = Vec::new();
    for (path, program) in programs() {
        for option in program
            .options
            .iter()
            .filter(|option| option.when.is_none())
        {
            for spelling in option.names.text.split_ascii_whitespace() {
                let name = spelling
                    .strip_suffix('*')
                    .unwrap_or_else(|| spelling.trim_end_matches([':', '?']));
                assert!(name.starts_with('-'), "{path}: {spelling}");
                for line in [format!("{path} {name} v"), format!("{path} {name}")] {
                    let hits = inspect(&split(&line)).hits;
                    if !hits.iter().any(|hit| hit.why == option.reason.why) {
                        failures.push(format!("{line}: {hits:?}"));
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn program_names_are_unique() {
    let mut names: Vec<_> = TABLE
        .iter()
        .copied()
        .flatten()
        .flat_map(|program| program.names.text.split_ascii_whitespace())
        .collect();
    let all = names.len();
    names.sort_unstable();
    let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(twice.is_empty(), "{twice:?}");
    assert!(all > 100 && NONE.names.text.is_empty());
}

#[test]
fn random_words_do_not_panic() {
    let names: Vec<&str> = TABLE
        .iter()
        .copied()
        .flatten()
        .flat_map(|program| program.names.words())
        .collect();
    let pieces: Vec<char> = "abeswiyxfcotm-=+:/\\[]^{}();,|>\"'@#$!.*~ \n\té日01"
        .chars()
        .collect();
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).unwrap()
    };
    for _ in 0..50_000 {
        let mut words = Vec::new();
        for _ in 0..=next(5) {
            let text: String = match next(4) {
                0 => names[next(names.len())].to_owned(),
                1 => ["sed", "awk", "-e", "--", "-exec", "s^[^", "test"][next(7)].to_owned(),
                _ => (0..next(9)).map(|_| pieces[next(pieces.len())]).collect(),
            };
            words.push(Word::plain(text));
        }
        words.insert(
            0,
            Word::plain(["sed", "awk", "git", "jq", names[next(names.len())]][next(5)]),
        );
        for hit in inspect(&words).hits {
            assert!(hit.at <= words.len(), "{words:?}: {hit:?}");
        }
    }
}

#[test]
fn commands_inside_words_are_reported() {
    for (line, script) in [
        ("tar cf a --checkpoint-action=exec='rm x' b", "rm x"),
        ("ssh -o ProxyCommand='rm x' h", "rm x"),
        ("ssh -oProxyCommand='rm x' h", "rm x"),
        ("ssh -o 'ProxyCommand rm x' h", "rm x"),
        ("rsync -e 'rm x' a b", "rm x"),
        ("rsync --rsh='rm x' a b", "rm x"),
        ("man -P 'rm x' ls", "rm x"),
        ("man -P'rm x' ls", "rm x"),
        ("rg --pre rm x", "rm"),
        ("rg --pre=rm x", "rm"),
        ("sort --compress-program=rm a", "rm"),
        ("zip a b -T -TT 'rm x'", "rm x"),
        ("git grep -O'rm x' y", "rm x"),
        ("fd -xrm", "rm"),
        ("mapfile -C 'rm x'", "rm x"),
        ("complete -C 'rm x' y", "rm x"),
        ("git -c alias.x='!rm x' x", "rm x"),
        ("git -c core.pager='rm x' log", "rm x"),
        ("git -c core.sshCommand='rm x' fetch", "rm x"),
        ("git config alias.x '!rm x'", "rm x"),
        ("git config --global alias.x '!rm x'", "rm x"),
        ("poetry run rm x", "rm"),
        ("pipenv run rm x", "rm"),
        ("bwrap --ro-bind / / --dev /dev --proc /proc rm x", "rm"),
        ("cpulimit -l 5 rm x", "rm"),
        ("let 'a[$(rm x)]=1'", "a[$(rm x)]=1"),
        ("test -v 'a[$(rm x)]'", "a[$(rm x)]"),
        ("[ 'a[$(rm x)]' -eq 1 ]", "a[$(rm x)]"),
        ("printf -v 'a[$(rm x)]' y", "a[$(rm x)]"),
        ("read 'a[$(rm x)]'", "a[$(rm x)]"),
        ("declare 'a[$(rm x)]=1'", "a[$(rm x)]=1"),
        ("unset 'a[$(rm x)]'", "a[$(rm x)]"),
        ("eval 'a;' rm x", "rm"),
    ] {
        let words = split(line);
        let report = inspect(&words);
        let starts = report.starts.iter().map(|&at| &*words[at].text);
        let attached = report
            .attached
            .iter()
            .map(|at| &words[at.word].text[at.offset..]);
        let mut all = starts.chain(attached);
        assert!(all.any(|found| found == script), "{line}: {report:?}");
    }
    assert_eq!(inspect(&split("eval a 'b c'")).joined, Some(1));
}

#[test]
fn possible_subcommands_are_reported() {
    for (line, name) in [
        ("npm --tag x publish", "publish"),
        ("npm --otp 123 publish", "publish"),
        ("npm --strange x publish", "publish"),
        ("npm publish", "publish"),
        ("kubectl -v 5 delete pod", "delete"),
        ("kubectl --request-timeout 5s delete pod", "delete"),
        ("kubectl --strange 5s delete pod", "delete"),
        ("docker container run x", "run"),
        ("docker --tlscacert x run y", "run"),
        ("cargo +nightly publish", "publish"),
        ("git -C x push", "push"),
    ] {
        let words = split(line);
        let report = inspect(&words);
        let found = report
            .subcommands
            .iter()
            .any(|&at| &*words[at].text == name);
        assert!(found, "{line}: {report:?}");
    }
    assert_eq!(
        inspect(&split("cargo +nightly publish")).subcommand,
        Some(2)
    );
    assert_eq!(inspect(&split("npm --tag x publish")).subcommand, Some(3));
}

/// Reasons about operands that are files, folders or hosts. A pattern is an ordinary operand there,
/// and its literal beginning decides about the reason: `@x*`, `/x*`.
const FILES: &[&str] = &[
    "is a file",
    "is a file elsewhere",
    "is a folder elsewhere",
    "is another server",
    "is elsewhere, with code that runs first",
    "is elsewhere, with settings that may be code",
    "is not a web address",
    "is on another machine",
    "leaves the working folder",
    "patches elsewhere",
    "queries a server of its choice",
    "runs code from its input",
    "takes names from a file",
    "takes options from a file",
    "works elsewhere",
    "writes elsewhere",
];

/// Programs that evaluate the values of options, but no operands.
const OPTIONS_ONLY: &[&str] = &["compgen", "jobs"];

/// Every entry that has a place for a program text, options or a subcommand asks about a shell
/// pattern in that place.
#[test]
fn patterns_in_place_of_code_are_asked_about() {
    let mut failures = Vec::new();
    let mut places = 0;
    let mut check = |line: String| {
        places += 1;
        if inspect(&split(&line)).hits.is_empty() {
            failures.push(line);
        }
    };
    for (path, program) in programs() {
        let takes_first = matches!(
            program.code,
            Code::Everything | Code::File | Code::First { .. } | Code::Shell | Code::Wrapper { .. }
        ) && !OPTIONS_ONLY.contains(&&*path);
        let has_commands = !program.subs.is_empty() || !program.quiet.is_empty();
        if has_commands || program.bundle || program.code == Code::Command || takes_first {
            check(format!("{path} x*"));
        }
        let values = program.values.words().chain(
            program
                .options
                .iter()
                .filter(|option| matches!(option.reason.effect, Runs | Configures))
                .flat_map(|option| option.names.words()),
        );
        for spelling in values {
            let is_value = program.values.words().any(|value| value == spelling);
            let name = spelling.trim_end_matches(':').trim_end_matches('!');
            let takes_value = !name.ends_with(['?', '*']) && (is_value || spelling.ends_with(':'));
            // A pattern that is the value of an option may become more words than one.
            if takes_value && (!is_value || has_commands) {
                check(format!("{path} {name} x* y z"));
            }
        }
        for rule in program.operands {
            if !FILES.contains(&rule.reason.why) {
                check(format!("{path} {}x*", "y ".repeat(rule.from)));
            }
        }
        if let Code::Interpreter { letters, long, .. } = program.code {
            for letter in letters.chars() {
                check(format!("{path} -{letter} x*"));
            }
            for name in long {
                check(format!("{path} {name} x*"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(places > 1_000, "{places}");
}

/// Every program that reads code from its input is known to do so if it is started by another one,
/// and every option that names a file of code is compared with the names of standard input.
#[test]
fn code_from_input_is_known() {
    let mut checked = 0;
    for (path, program) in programs() {
        for option in program.options.iter().filter(|option| option.program) {
            for spelling in option.names.words().filter(|name| name.ends_with(':')) {
                let name = spelling.trim_end_matches(':');
                for input in ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"] {
                    let line = format!("{path} {name} {input} x");
                    assert!(inspect(&split(&line)).takes_input, "{line}");
                    let line = format!("env {path} {name} {input} x");
                    assert!(inspect(&split(&line)).takes_input, "{line}");
                    checked += 2;
                }
                let line = format!("{path} {name} file x");
                assert!(!inspect(&split(&line)).takes_input, "{line}");
            }
        }
        let reads = program
            .bare
            .is_some_and(|reason| reason.effect == Runs && program.least > 0);
        if reads || program.code == Code::Shell || program.shell_below > 0 {
            for line in [path.clone(), format!("env {path}"), format!("nice {path}")] {
                assert!(inspect(&split(&line)).takes_input, "{line}");
                checked += 1;
            }
        }
    }
    assert!(checked > 100, "{checked}");
}

#[test]
fn commands_that_only_read_are_recognised() {
    for (line, expected) in [
        ("ls -la", true),
        ("cat README.md", true),
        ("echo a", true),
        ("pwd", true),
        ("cd /tmp", true),
        ("date +%Y", true),
        ("find . -maxdepth 2 -name '*.py'", true),
        ("find . -name x -delete", false),
        ("find . -name x -exec rm x", false),
        ("git status --short", true),
        ("git -C sub log --oneline", true),
        ("git diff --output=x", false),
        ("git branch --show-current", true),
        ("git branch -r --list 'origin/*'", true),
        ("git branch new", false),
        ("git branch -D old", false),
        ("git branch --set-upstream-to=origin/main", false),
        ("git tag", true),
        ("git tag v1", false),
        ("git remote -v", true),
        ("git remote add a b", false),
        ("git stash list", true),
        ("git stash", false),
        ("git config --get user.name", true),
        ("git config user.name x", false),
        ("git commit -m x", false),
        ("git fetch", false),
        ("git -c a.b=c log", false),
        ("gh pr view", false),
        ("rm x", false),
        ("sort -u", false),
    ] {
        assert_eq!(only_reads(&split(line)), expected, "{line}");
    }
}

#[test]
fn open_grants_say_why() {
    for (line, expected) in [
        ("mysql", Some(OpenGrant::Database)),
        ("sqlite3", Some(OpenGrant::Database)),
        ("python3", Some(OpenGrant::Code)),
        ("node", Some(OpenGrant::Code)),
        ("osascript", Some(OpenGrant::Code)),
        ("awk", Some(OpenGrant::Code)),
        ("bash", Some(OpenGrant::Command)),
        ("xargs", Some(OpenGrant::Command)),
        ("npx", Some(OpenGrant::Command)),
        ("docker exec", Some(OpenGrant::Command)),
        ("uv run", Some(OpenGrant::Command)),
        ("find", Some(OpenGrant::Other)),
        ("make", Some(OpenGrant::Other)),
        ("git", None),
    ] {
        assert_eq!(open_grant(&split(line)), expected, "{line}");
    }
}

#[test]
fn exit_code_one_is_an_answer_of_programs_that_search_or_compare() {
    for (line, expected) in [
        ("grep x f", true),
        ("zgrep x f", true),
        ("locate x", true),
        ("git diff", true),
        ("git diff-tree HEAD", true),
        ("git grep x", true),
        ("updatedb", false),
        ("git log", false),
        ("git show HEAD", false),
    ] {
        let words: Vec<Word> = line.split(' ').map(Word::plain).collect();
        assert_eq!(answers_with_exit_code(&words), expected, "{line}");
    }
}

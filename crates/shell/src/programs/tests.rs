//! Every entry is proved by its own line, and by each of its spellings.

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

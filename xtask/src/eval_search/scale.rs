//! How the index scales: size, times to build, to search and to change.

use std::sync::Arc;
use std::time::Duration;

use prowess_catalog::SkillId;
use prowess_search::{SearchIndex, SearchPart, SearchPartBuilder, SearchQuery};

use super::{Entry, Prompt, hash, timed};
use crate::bench::resident;

const THREADS: usize = 2;
const ROUNDS: usize = 5;

pub(super) fn run(entries: &[Entry], prompts: &[Prompt], skills: usize) {
    let many = repeat(entries, skills);
    let text: usize = many.iter().map(|entry| entry.body.len()).sum();
    println!(
        "{} skills, {:.1} MB of bodies\n",
        many.len(),
        text as f64 / 1e6
    );
    let before = resident();
    println!(
        "{:<28} {:>9} ms of processor time",
        "build",
        cpu(|| drop(SearchIndex::build(many.iter().map(Entry::document))))
    );
    let one = fastest(|| drop(SearchIndex::build(many.iter().map(Entry::document))));
    let apart = fastest(|| drop(parts(&many)));
    let both = fastest(|| drop(SearchIndex::from_parts(parts(&many))));
    let index = SearchIndex::from_parts(parts(&many));
    println!(
        "index                        {:>9.2} MB",
        index.size() as f64 / 1e6
    );
    println!(
        "resident, more than without  {:>9.2} MB",
        resident().saturating_sub(before) as f64 / 1e3
    );
    print_time("build, one thread", one);
    print_time("build, two threads", both);
    print_time("  of which tokenising", apart);
    let (bytes, writing) = timed(|| index.to_bytes());
    print_time("to_bytes", writing);
    let heads: Vec<_> = many.iter().map(|entry| Arc::clone(&entry.skill)).collect();
    let reading = fastest(|| drop(SearchIndex::from_bytes(&bytes, &heads)));
    print_time("from_bytes", reading);
    let mut changed = index.clone();
    let mut edits: Vec<Duration> = Vec::new();
    for entry in many.iter().step_by((many.len() / 1000).max(1)) {
        let (next, time) = timed(|| changed.with_changes(&[], [entry.document()]));
        changed = next;
        edits.push(time);
    }
    print_times("one edit, a thousand in a row", edits);
    let all: Vec<SkillId> = heads
        .iter()
        .take(many.len() / 5)
        .map(|skill| skill.id.clone())
        .collect();
    print_time("remove a fifth", timed(|| changed.with_changes(&all, [])).1);
    let prompts: Vec<&str> = prompts.iter().map(|prompt| prompt.text.as_str()).collect();
    print_times("prompts", searches(&index, &prompts, false));
    print_times("prompts, edited index", searches(&changed, &prompts, false));
    let short: Vec<String> = prompts
        .iter()
        .flat_map(|prompt| {
            let words: Vec<&str> = prompt
                .split_whitespace()
                .filter(|word| word.len() > 3)
                .collect();
            words
                .chunks(3)
                .map(|words| words.join(" "))
                .collect::<Vec<_>>()
        })
        .collect();
    let short: Vec<&str> = short.iter().map(String::as_str).collect();
    print_times("three words", searches(&index, &short, false));
    let typed: Vec<&str> = short
        .iter()
        .flat_map(|words| (1..words.len().min(12)).filter_map(|end| words.get(..end)))
        .collect();
    print_times("typing, every keystroke", searches(&index, &typed, true));
    let slips: Vec<String> = heads
        .iter()
        .step_by((heads.len() / 500).max(1))
        .map(|skill| slip(&skill.name))
        .collect();
    let slips: Vec<&str> = slips.iter().map(String::as_str).collect();
    print_times("mistyped names", searches(&index, &slips, false));
}

/// Swaps two letters in the middle.
fn slip(name: &str) -> String {
    let mut letters: Vec<char> = name.chars().collect();
    let middle = letters.len() / 2;
    if middle > 0 {
        letters.swap(middle, middle - 1);
    }
    letters.into_iter().collect()
}

fn searches(index: &SearchIndex, texts: &[&str], prefix: bool) -> Vec<Duration> {
    let search = |text: &&str| {
        // Other work on the machine makes single times useless.
        let once = || {
            timed(|| {
                index.search(&SearchQuery {
                    prefix,
                    ..SearchQuery::new(text)
                })
            })
            .1
        };
        (0..5).map(|_| once()).min().unwrap_or_default()
    };
    texts.iter().map(search).collect()
}

/// Takes documents apart with two threads.
fn parts(entries: &[Entry]) -> Vec<SearchPart> {
    std::thread::scope(|scope| {
        let workers: Vec<_> = entries
            .chunks(entries.len().div_ceil(THREADS).max(1))
            .map(|chunk| {
                scope.spawn(move || {
                    let mut builder = SearchPartBuilder::new();
                    for entry in chunk {
                        builder.add(entry.document());
                    }
                    builder.finish()
                })
            })
            .collect();
        workers
            .into_iter()
            .filter_map(|worker| worker.join().ok())
            .collect()
    })
}

/// Repeats a library until there are enough skills. Each copy has some words of its own, because
/// other skills would too.
fn repeat(entries: &[Entry], skills: usize) -> Vec<Entry> {
    (0..skills)
        .map(|number| {
            let (entry, copy) = (&entries[number % entries.len()], number / entries.len());
            if copy == 0 {
                return entry.clone();
            }
            let mut skill = (*entry.skill).clone();
            skill.id.path = format!("copy-{copy}/{}", skill.id.path).into();
            skill.description = vary(&skill.description, copy).into();
            skill.name = vary(&skill.name.replace('-', " "), copy)
                .replace(' ', "-")
                .into();
            Entry {
                skill: Arc::new(skill),
                body: vary(&entry.body, copy),
            }
        })
        .collect()
}

/// Changes about one distinct word in twenty.
fn vary(text: &str, copy: usize) -> String {
    let mut varied = String::with_capacity(text.len() + text.len() / 50);
    for piece in text.split_inclusive([' ', '\n']) {
        varied.push_str(piece);
        let word = piece.trim_end();
        if word.bytes().all(|byte| byte.is_ascii_lowercase())
            && word.len() > 3
            && (hash(word) + copy as u64).is_multiple_of(20)
        {
            let end = varied.len() - (piece.len() - word.len());
            let letter = |number: usize| {
                (b'a'..=b'z')
                    .cycle()
                    .nth(number % 26)
                    .map_or('a', char::from)
            };
            varied.insert(end, letter(copy));
            varied.insert(end, letter(copy / 26));
        }
    }
    varied
}

fn fastest(mut work: impl FnMut()) -> Duration {
    (0..ROUNDS)
        .map(|_| timed(&mut work).1)
        .min()
        .unwrap_or_default()
}

fn print_time(title: &str, time: Duration) {
    println!("{title:<28} {:>9.2} ms", time.as_secs_f64() * 1e3);
}

fn print_times(title: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: usize| {
        times
            .get(times.len() * share / 100)
            .map_or(0.0, |time| time.as_secs_f64() * 1e6)
    };
    let most = times.last().map_or(0.0, |time| time.as_secs_f64() * 1e6);
    println!(
        "{title:<28} p50 {:>7.0} µs   p99 {:>7.0} µs   most {most:>7.0} µs   ({} times)",
        at(50),
        at(99),
        times.len()
    );
}

/// Processor time in milliseconds, which other work on the machine changes less; in steps of ten.
fn cpu(work: impl FnOnce()) -> u64 {
    let spent = || {
        let line = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let fields = line
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .split_whitespace();
        fields
            .skip(11)
            .take(2)
            .filter_map(|field| field.parse::<u64>().ok())
            .sum::<u64>()
            * 10
    };
    let before = spent();
    work();
    spent() - before
}

//! Measures the quality and speed of several search methods, on prompts whose skill is known.

mod candidates;
mod fit;
mod report;
mod scale;
mod stuffed;
mod visible;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use prowess_catalog::{
    FileStamp, Location, Scope, Skill, SkillForm, SkillId, SkillLocation, SkillOrigin,
};
use prowess_registry::fs::walk::{WalkOptions, walk};
use prowess_search::{SearchDocument, SearchIndex, SearchMode, SearchQuery, SearchWeights};
use prowess_spec::parse;
use serde_json::Value;

use candidates::{Bm25, Flavour, fuse, occurrences};

/// The number of hits considered.
const DEPTH: usize = 100;
/// Number of resampled groups for an interval.
const RESAMPLES: usize = 2000;

/// A skill with its body.
#[derive(Clone)]
struct Entry {
    skill: Arc<Skill>,
    body: String,
}

impl Entry {
    fn document(&self) -> SearchDocument<'_> {
        SearchDocument {
            skill: &self.skill,
            body: &self.body,
        }
    }
}

/// A prompt and the index of its skill in the library.
struct Prompt {
    text: String,
    right: usize,
    /// The half it belongs to. All prompts of a skill are in the same half.
    tuned: bool,
}

/// Prints the table of candidates; with a number of skills, how the best one scales; with a number
/// of rounds, weights found by random search on one half.
pub(crate) fn run(library: &Path, queries: &Path, options: &[&str]) -> Result<()> {
    let entries = load(library)?;
    let prompts = prompts(queries, &entries)?;
    match options {
        [] => {
            table(&entries, &prompts);
            Ok(())
        }
        ["--skills", number] => {
            scale::run(
                &entries,
                &prompts,
                number.parse().context("a number of skills")?,
            );
            Ok(())
        }
        ["--tune", rounds] => {
            tune(
                &entries,
                &prompts,
                rounds.parse().context("a number of rounds")?,
            );
            Ok(())
        }
        ["--gate"] => gate(&entries, &prompts),
        ["--report", options @ ..] => report::run(&entries, &prompts, options),
        ["--steps"] => {
            report::steps(&entries, &prompts);
            Ok(())
        }
        ["--fit"] => {
            fit::run(&entries, &prompts);
            Ok(())
        }
        ["--stuffed"] => stuffed::run(&entries, &prompts),
        ["--visible", options @ ..] => visible::run(&entries, &prompts, options),
        ["--journey", binary] => visible::journey(&entries, &prompts, Path::new(binary)),
        ["--misses"] => {
            misses(&entries, &prompts);
            Ok(())
        }
        _ => bail!("unknown options: {}", options.join(" ")),
    }
}

/// The minimum lead in mean reciprocal rank over plain BM25 on descriptions.
const LEAST_LEAD: f64 = 0.1;

/// Fails if the lead over BM25 on descriptions is too small.
fn gate(entries: &[Entry], prompts: &[Prompt]) -> Result<()> {
    let figures = |search: &dyn Fn(&str) -> Vec<usize>| {
        Figures::of(
            prompts
                .iter()
                .map(|prompt| rank(&search(&prompt.text), prompt.right)),
        )
    };
    let bm25 = Bm25::build(entries, Flavour::DESCRIPTION_STEMS);
    let plain = figures(&|text| bm25.search(text));
    let index = SearchIndex::build(entries.iter().map(Entry::document));
    let positions = positions(entries);
    let kept = figures(&|text| {
        let query = SearchQuery {
            limit: DEPTH,
            explain: false,
            ..SearchQuery::new(text)
        };
        index
            .search(&query)
            .iter()
            .map(|hit| positions[&hit.skill.id])
            .collect()
    });
    println!(
        "{} skills, {} prompts: MRR {:.3} (R@1 {:.3}); BM25 over descriptions {:.3} (R@1 {:.3})",
        entries.len(),
        prompts.len(),
        kept.reciprocal,
        kept.first,
        plain.reciprocal,
        plain.first
    );
    ensure!(
        kept.reciprocal >= plain.reciprocal + LEAST_LEAD,
        "the lead is too small"
    );
    Ok(())
}

/// Reads all skills below a folder, sorted by path.
fn load(library: &Path) -> Result<Vec<Entry>> {
    let origin = Arc::new(SkillOrigin::new(Scope::User, 0, library.to_string_lossy()));
    let found: Mutex<Vec<(PathBuf, Entry)>> = Mutex::default();
    walk(&[library.to_owned()], WalkOptions::default(), &|file| {
        let Ok(bytes) = file.bytes else { return };
        let parsed = parse(bytes);
        let folder = file.path.parent().unwrap_or(file.path);
        let path = folder
            .strip_prefix(library)
            .unwrap_or(folder)
            .to_string_lossy();
        let place = SkillLocation {
            id: SkillId {
                origin: Arc::clone(&origin),
                path: path.into(),
            },
            form: SkillForm::Folder,
            location: Location::of_path(file.path),
            given: file.package.folder(),
            stamp: FileStamp {
                size: bytes.len() as u64,
                ..FileStamp::default()
            },
            sidecar: None,
            fingerprint: 0,
        };
        let skill = Arc::new(Skill::from_text(place, &parsed, None));
        let entry = Entry {
            skill,
            body: parsed.body_text().to_owned(),
        };
        if let Ok(mut found) = found.lock() {
            found.push((file.path.to_owned(), entry));
        }
    });
    let mut found = found.into_inner().unwrap_or_default();
    ensure!(
        !found.is_empty(),
        "no skills found below {}",
        library.display()
    );
    found.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(found.into_iter().map(|(_, entry)| entry).collect())
}

/// Reads lines of `{"query": …, "skill": …}`. The skill is the name of a folder or of a skill.
fn prompts(queries: &Path, entries: &[Entry]) -> Result<Vec<Prompt>> {
    let text = std::fs::read_to_string(queries)
        .with_context(|| format!("cannot read {}", queries.display()))?;
    let mut prompts = Vec::new();
    for (number, line) in (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let value: Value =
            serde_json::from_str(line).with_context(|| format!("line {number} is not JSON"))?;
        let (Some(text), Some(name)) = (value["query"].as_str(), value["skill"].as_str()) else {
            bail!("line {number} needs \"query\" and \"skill\"");
        };
        let folder = |entry: &Entry| entry.skill.id.path.rsplit('/').next() == Some(name);
        let right = entries
            .iter()
            .position(folder)
            .or_else(|| entries.iter().position(|entry| *entry.skill.name == *name))
            .with_context(|| format!("line {number}: no skill `{name}` in the library"))?;
        prompts.push(Prompt {
            text: text.to_owned(),
            right,
            tuned: hash(name) & 1 == 0,
        });
    }
    ensure!(!prompts.is_empty(), "no queries in {}", queries.display());
    Ok(prompts)
}

fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum: u64, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    }) >> 17
}

/// A search method: maps a prompt to indexes in the library, best first.
type Search<'a> = Box<dyn Fn(&str) -> Vec<usize> + 'a>;

struct Candidate<'a> {
    title: &'static str,
    bytes: usize,
    built: Duration,
    search: Search<'a>,
}

fn table(entries: &[Entry], prompts: &[Prompt]) {
    let tuned = prompts.iter().filter(|prompt| prompt.tuned).count();
    println!(
        "{} skills, {} prompts: {tuned} in the half that was tuned on, {} in the other\n",
        entries.len(),
        prompts.len(),
        prompts.len() - tuned
    );
    println!(
        "| {:<44} | R@1 | R@5 | R@10 | MRR | R@1 tuned | MRR tuned | R@1 other | MRR other | index | build | p50 | p99 |",
        "candidate"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for candidate in candidates(entries) {
        let mut times = Vec::new();
        let mut ranks = Vec::new();
        for prompt in prompts {
            let (found, first) = timed(|| (candidate.search)(&prompt.text));
            // The best of several rounds, because other work on the machine distorts single times.
            let again = (0..4).map(|_| timed(|| (candidate.search)(&prompt.text)).1);
            times.push(again.min().unwrap_or(first).min(first));
            ranks.push((prompt.tuned, rank(&found, prompt.right)));
        }
        times.sort();
        let all = Figures::of(ranks.iter().map(|(_, rank)| *rank));
        let half = |tuned| {
            Figures::of(
                ranks
                    .iter()
                    .filter(|(half, _)| *half == tuned)
                    .map(|(_, rank)| *rank),
            )
        };
        let (one, other) = (half(true), half(false));
        println!(
            "| {:<44} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} | {:.2} MB | {:.0} ms | {:.0} µs | {:.0} µs |",
            candidate.title,
            all.first,
            all.five,
            all.ten,
            all.reciprocal,
            one.first,
            one.reciprocal,
            other.first,
            other.reciprocal,
            candidate.bytes as f64 / 1e6,
            candidate.built.as_secs_f64() * 1e3,
            times[times.len() / 2].as_secs_f64() * 1e6,
            times[times.len() * 99 / 100].as_secs_f64() * 1e6,
        );
    }
}

/// Returns the rank of the right skill, starting at 1.
fn rank(found: &[usize], right: usize) -> Option<usize> {
    found
        .iter()
        .position(|position| *position == right)
        .map(|place| place + 1)
}

#[derive(Clone, Copy, Default)]
struct Figures {
    first: f64,
    five: f64,
    ten: f64,
    reciprocal: f64,
}

impl Figures {
    fn of(ranks: impl Iterator<Item = Option<usize>>) -> Self {
        let (mut sum, mut count) = (Self::default(), 0.0);
        for rank in ranks {
            count += 1.0;
            let within = |most| f64::from(u8::from(rank.is_some_and(|rank| rank <= most)));
            sum.first += within(1);
            sum.five += within(5);
            sum.ten += within(10);
            sum.reciprocal += rank.map_or(0.0, |rank| 1.0 / rank as f64);
        }
        let count = f64::max(count, 1.0);
        Self {
            first: sum.first / count,
            five: sum.five / count,
            ten: sum.ten / count,
            reciprocal: sum.reciprocal / count,
        }
    }
}

/// Returns the messages that no skill fits.
fn no_skill() -> impl Iterator<Item = &'static str> {
    let lines = include_str!("eval_search/no_skill.txt").lines();
    lines.filter(|line| !line.trim().is_empty())
}

/// Returns the share of `true`.
fn share(outcomes: impl Iterator<Item = bool>) -> f64 {
    let (mut good, mut all) = (0.0, 0.0);
    for outcome in outcomes {
        good += f64::from(u8::from(outcome));
        all += 1.0;
    }
    good / f64::max(all, 1.0)
}

/// Returns the 95 % interval of a mean over all items, by resampling groups of them.
fn interval<T>(groups: &[Vec<T>], value: impl Fn(&T) -> f64) -> (f64, f64) {
    let sums: Vec<(f64, f64)> = groups
        .iter()
        .map(|group| (group.iter().map(&value).sum(), group.len() as f64))
        .collect();
    let mut random = Random(0xb007);
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let (mut sum, mut count) = (0.0, 0.0);
            for _ in 0..sums.len() {
                let (more, items) = sums[random.below(sums.len())];
                sum += more;
                count += items;
            }
            sum / f64::max(count, 1.0)
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let at = |share: usize| means.get(means.len() * share / 1000).copied();
    (at(25).unwrap_or(0.0), at(975).unwrap_or(0.0))
}

fn timed<T>(make: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let made = make();
    (made, start.elapsed())
}

fn candidates(entries: &[Entry]) -> Vec<Candidate<'_>> {
    let mut all = Vec::new();
    let (index, index_time) =
        timed(|| Arc::new(SearchIndex::build(entries.iter().map(Entry::document))));
    let positions = Arc::new(positions(entries));
    let product = |title, change: fn(&mut SearchQuery<'_>), weights: SearchWeights| {
        let (index, positions) = (Arc::clone(&index), Arc::clone(&positions));
        Candidate {
            title,
            bytes: index.size(),
            built: index_time,
            search: Box::new(move |text| {
                let mut query = SearchQuery {
                    limit: DEPTH,
                    explain: false,
                    ..SearchQuery::new(text)
                };
                change(&mut query);
                let hits = index.search_with(&query, &weights);
                hits.iter().map(|hit| positions[&hit.skill.id]).collect()
            }),
        }
    };
    all.push(Candidate {
        bytes: 0,
        built: Duration::ZERO,
        ..product(
            "substring, as Agentick",
            |query| query.mode = SearchMode::Substring,
            SearchWeights::default(),
        )
    });
    all.push(Candidate {
        title: "words as substrings of name and description",
        bytes: 0,
        built: Duration::ZERO,
        search: Box::new(|text| occurrences(entries, text)),
    });
    let flavours = [
        ("BM25, description", Flavour::DESCRIPTION),
        (
            "BM25, description, stop words, stems",
            Flavour::DESCRIPTION_STEMS,
        ),
        ("BM25F without body", Flavour::HEAD),
        ("BM25F, whole body", Flavour::WHOLE_BODY),
        ("BM25F, body to 4 KiB, no stems", Flavour::NO_STEMS),
        ("BM25F, body to 4 KiB", Flavour::FIELDED),
        ("trigrams of name and description", Flavour::TRIGRAMS),
    ];
    let mut made = Vec::new();
    for (title, flavour) in flavours {
        let (bm25, built) = timed(|| Arc::new(Bm25::build(entries, flavour)));
        made.push((Arc::clone(&bm25), built));
        let bytes = bm25.size();
        let search: Search<'_> = Box::new(move |text| bm25.search(text));
        all.push(Candidate {
            title,
            bytes,
            built,
            search,
        });
    }
    let [.., fielded, grams] = made.as_slice() else {
        return all;
    };
    let (bytes, built) = (fielded.0.size() + grams.0.size(), fielded.1 + grams.1);
    let pair = || (Arc::clone(&fielded.0), Arc::clone(&grams.0));
    let (words, letters) = pair();
    all.push(Candidate {
        title: "BM25F + 0.3 trigrams",
        bytes,
        built,
        search: Box::new(move |text| words.search_with(text, &letters, 0.3)),
    });
    let (words, letters) = pair();
    let description = Arc::clone(&made[1].0);
    all.push(Candidate {
        title: "fusion of BM25F, description and trigrams",
        bytes: bytes + description.size(),
        built: built + made[1].1,
        search: Box::new(move |text| {
            fuse(&[
                words.search(text),
                description.search(text),
                letters.search(text),
            ])
        }),
    });
    let keep: fn(&mut SearchQuery<'_>) = |_| {};
    let plain = SearchWeights {
        name_cover: 0.0,
        ..SearchWeights::default()
    };
    all.push(product("SearchIndex without name cover", keep, plain));
    let no_typos = SearchWeights {
        typo: 0.0,
        ..SearchWeights::default()
    };
    all.push(product("SearchIndex without typos", keep, no_typos));
    let no_synonyms = SearchWeights {
        synonym: 0.0,
        ..SearchWeights::default()
    };
    all.push(product("SearchIndex without synonyms", keep, no_synonyms));
    all.push(product(
        "SearchIndex (kept)",
        keep,
        SearchWeights::default(),
    ));
    all
}

/// Returns a part of the library that has the skills of all prompts, and their places in it.
fn subset(entries: &[Entry], prompts: &[Prompt], size: usize) -> (Vec<Entry>, Vec<usize>) {
    let mut order: Vec<(bool, u64, usize)> = entries
        .iter()
        .enumerate()
        .map(|(place, entry)| (true, hash(&entry.skill.id.path), place))
        .collect();
    for prompt in prompts {
        order[prompt.right].0 = false;
    }
    order.sort_unstable();
    order.truncate(size);
    let mut places = vec![0; entries.len()];
    for (place, (_, _, old)) in order.iter().enumerate() {
        places[*old] = place;
    }
    let some = order.iter().map(|(_, _, old)| entries[*old].clone());
    let right = prompts.iter().map(|prompt| places[prompt.right]);
    (some.collect(), right.collect())
}

fn positions(entries: &[Entry]) -> std::collections::BTreeMap<SkillId, usize> {
    entries
        .iter()
        .map(|entry| entry.skill.id.clone())
        .zip(0..)
        .collect()
}

fn measure(
    index: &SearchIndex,
    places: &std::collections::BTreeMap<SkillId, usize>,
    prompts: &[&Prompt],
    weights: &SearchWeights,
) -> Figures {
    Figures::of(prompts.iter().map(|prompt| {
        let query = SearchQuery {
            limit: DEPTH,
            explain: false,
            ..SearchQuery::new(&prompt.text)
        };
        let hits = index.search_with(&query, weights);
        let found: Vec<usize> = hits.iter().map(|hit| places[&hit.skill.id]).collect();
        rank(&found, prompt.right)
    }))
}

/// Searches for better weights on one half, and prints their results on the other.
fn tune(entries: &[Entry], prompts: &[Prompt], rounds: usize) {
    let index = SearchIndex::build(entries.iter().map(Entry::document));
    let places = positions(entries);
    let (own, other): (Vec<&Prompt>, Vec<&Prompt>) = prompts.iter().partition(|p| p.tuned);
    let goal = |figures: Figures| figures.reciprocal + 0.3 * figures.first + 0.2 * figures.five;
    let mut random = Random(0x5eed);
    let mut best = SearchWeights::default();
    let mut best_figures = measure(&index, &places, &own, &best);
    for round in 0..rounds {
        let mut weights = best.clone();
        // Several steps at once, each between half and double.
        for _ in 0..=random.below(3) {
            let factor = [0.5, 0.7, 0.85, 1.2, 1.4, 2.0][random.below(6)];
            match random.below(14) {
                field @ 0..8 => {
                    weights.fields[field] = (weights.fields[field] * factor).clamp(0.02, 30.0);
                }
                8 => weights.saturation = (weights.saturation * factor).clamp(0.05, 10.0),
                9 => weights.name_cover = (weights.name_cover * factor).clamp(0.02, 3.0),
                10 => weights.lengths[0] = (weights.lengths[0] * factor).clamp(0.02, 1.0),
                11 => weights.lengths[1] = (weights.lengths[1] * factor).clamp(0.02, 1.0),
                12 => weights.lengths[5] = (weights.lengths[5] * factor).clamp(0.02, 1.0),
                _ => weights.lengths[6] = (weights.lengths[6] * factor).clamp(0.02, 1.0),
            }
        }
        let figures = measure(&index, &places, &own, &weights);
        if goal(figures) > goal(best_figures) + 1e-9 {
            let (found, against) = (figures, measure(&index, &places, &other, &weights));
            println!(
                "{round:>6}: tuned R@1 {:.3} R@5 {:.3} MRR {:.3}, other R@1 {:.3} R@5 {:.3} MRR {:.3}",
                found.first,
                found.five,
                found.reciprocal,
                against.first,
                against.five,
                against.reciprocal
            );
            best = weights;
            best_figures = figures;
        }
    }
    println!("{best:#?}");
}

/// Prints the prompts whose skill is not ranked first, with the first hit and the reasons.
fn misses(entries: &[Entry], prompts: &[Prompt]) {
    let index = SearchIndex::build(entries.iter().map(Entry::document));
    for prompt in prompts {
        let hits = index.search(&SearchQuery {
            limit: DEPTH,
            ..SearchQuery::new(&prompt.text)
        });
        let right = &entries[prompt.right].skill;
        let place = hits.iter().position(|hit| hit.skill.id == right.id);
        if place == Some(0) {
            continue;
        }
        println!(
            "{}\n  wanted {} at {:?}",
            prompt.text,
            right.name,
            place.map(|place| place + 1)
        );
        for hit in hits.iter().take(2).chain(place.map(|place| &hits[place])) {
            let reasons: Vec<String> = hit
                .explanation
                .iter()
                .take(8)
                .map(|reason| {
                    format!(
                        "{} {} {:.1}",
                        reason.term,
                        reason.field.as_str(),
                        reason.points
                    )
                })
                .collect();
            println!(
                "  {:.1} {}: {}",
                hit.score,
                hit.skill.name,
                reasons.join(", ")
            );
        }
    }
}

/// A deterministic pseudo-random generator.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % bound.max(1)
    }
}

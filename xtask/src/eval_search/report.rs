//! Reports the quality of search on two halves of the prompts, with intervals, and compares it with
//! a saved run.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use prowess_search::{SearchIndex, SearchPartBuilder, SearchQuery, SearchWeights};

use super::{DEPTH, Entry, Prompt, interval, positions, rank};

/// The ranks of all prompts, in the order of the file.
pub(super) type Ranks = Vec<Option<usize>>;

/// A figure of a set of ranks: the name and the value of one rank.
type Figure = (&'static str, fn(Option<usize>) -> f64);

const FIGURES: [Figure; 4] = [
    ("r@1", |rank| within(rank, 1)),
    ("r@5", |rank| within(rank, 5)),
    ("r@10", |rank| within(rank, 10)),
    ("MRR@10", |rank| match rank {
        Some(rank @ 1..=10) => 1.0 / rank as f64,
        _ => 0.0,
    }),
];

fn within(rank: Option<usize>, most: usize) -> f64 {
    f64::from(u8::from(rank.is_some_and(|rank| rank <= most)))
}

/// A half of the prompts, or all.
#[derive(Clone, Copy)]
enum Half {
    Chosen,
    Other,
    All,
}

impl Half {
    const ALL: [Self; 3] = [Self::Chosen, Self::Other, Self::All];

    fn title(self) -> &'static str {
        match self {
            Self::Chosen => "A",
            Self::Other => "B",
            Self::All => "all",
        }
    }

    fn has(self, prompt: &Prompt) -> bool {
        match self {
            Self::Chosen => prompt.tuned,
            Self::Other => !prompt.tuned,
            Self::All => true,
        }
    }
}

/// Prints the figures of both halves; saves the ranks; compares them with saved ones, or with those
/// of the first ranker (`--against before`).
pub(super) fn run(entries: &[Entry], prompts: &[Prompt], options: &[&str]) -> Result<()> {
    let (mut save, mut against) = (None, None);
    let mut weights = SearchWeights::default();
    let mut rest = options.chunks_exact(2);
    for pair in &mut rest {
        match pair {
            ["--save", file] => save = Some(Path::new(*file)),
            ["--against", file] => against = Some(Path::new(*file)),
            ["--set", changes] => set(&mut weights, changes)?,
            _ => bail!("unknown options: {}", pair.join(" ")),
        }
    }
    ensure!(rest.remainder().is_empty(), "an option needs a value");
    let index = SearchIndex::build(entries.iter().map(Entry::document));
    let ranks = ranks(&index, entries, prompts, &weights);
    let base = match against {
        Some(file) if file == Path::new("before") => {
            let index = build(entries, 4096);
            Some(self::ranks(&index, entries, prompts, &before()))
        }
        Some(file) => Some(load(file, prompts)?),
        None => None,
    };
    println!("{} skills, {} prompts\n", entries.len(), prompts.len());
    header();
    if let Some(base) = &base {
        rows("before", prompts, base, None);
    }
    rows("now", prompts, &ranks, base.as_ref());
    if let Some(file) = save {
        let lines: String = prompts
            .iter()
            .zip(&ranks)
            .map(|(prompt, rank)| format!("{} {}\n", prompt.right, rank.unwrap_or(0)))
            .collect();
        std::fs::write(file, lines).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

/// Prints a row for each change to the ranker, in the order in which they were made.
pub(super) fn steps(entries: &[Entry], prompts: &[Prompt]) {
    let now = SearchWeights::default();
    let mut weights = before();
    println!("{} skills, {} prompts\n", entries.len(), prompts.len());
    header();
    let before = ranks(&build(entries, 4096), entries, prompts, &weights);
    rows("before", prompts, &before, None);
    let index = build(entries, 16 * 1024);
    let mut last = before.clone();
    let mut step = |title: &str, weights: &SearchWeights| {
        let ranks = ranks(&index, entries, prompts, weights);
        rows(title, prompts, &ranks, Some(&last));
        last.clone_from(&ranks);
        ranks
    };
    step("16 KiB of body", &weights);
    weights.phrase = now.phrase;
    step("+ phrases", &weights);
    weights.derived = now.derived;
    step("+ derived endings", &weights);
    weights.code = now.code;
    step("+ fenced code at half weight", &weights);
    (weights.long_names, weights.short_query) = (now.long_names, now.short_query);
    step("+ typos and whole names in short queries only", &weights);
    weights.numbers = now.numbers;
    let after = step("+ short numbers dropped", &weights);
    rows("after, against before", prompts, &after, Some(&before));
}

/// Changes weights: `phrase=0.3,fields.6=0.1`.
fn set(weights: &mut SearchWeights, changes: &str) -> Result<()> {
    for change in changes.split(',') {
        let (name, value) = change.split_once('=').context("NAME=VALUE")?;
        if name == "most_terms" {
            weights.most_terms = value.parse()?;
            continue;
        }
        let value: f32 = value.parse()?;
        let (name, place) = name.split_once('.').unwrap_or((name, "0"));
        let place: usize = place.parse()?;
        let target = match name {
            "fields" => weights.fields.get_mut(place),
            "lengths" => weights.lengths.get_mut(place),
            "saturation" => Some(&mut weights.saturation),
            "name_cover" => Some(&mut weights.name_cover),
            "synonym" => Some(&mut weights.synonym),
            "typo" => Some(&mut weights.typo),
            "derived" => Some(&mut weights.derived),
            "phrase" => Some(&mut weights.phrase),
            "code" => Some(&mut weights.code),
            _ => None,
        };
        *target.with_context(|| format!("no weight `{name}`"))? = value;
    }
    Ok(())
}

/// Returns the weights of the first ranker.
fn before() -> SearchWeights {
    SearchWeights {
        derived: 0.0,
        phrase: 0.0,
        code: 1.0,
        numbers: true,
        long_names: true,
        short_query: usize::MAX,
        ..SearchWeights::default()
    }
}

fn build(entries: &[Entry], body: usize) -> SearchIndex {
    let mut builder = SearchPartBuilder::with_body(body);
    for entry in entries {
        builder.add(entry.document());
    }
    SearchIndex::from_parts(vec![builder.finish()])
}

/// Returns the rank of the right skill for each prompt.
fn ranks(
    index: &SearchIndex,
    entries: &[Entry],
    prompts: &[Prompt],
    weights: &SearchWeights,
) -> Ranks {
    let places = positions(entries);
    let one = |prompt: &Prompt| {
        let query = SearchQuery {
            limit: DEPTH,
            explain: false,
            ..SearchQuery::new(&prompt.text)
        };
        let hits = index.search_with(&query, weights);
        let found: Vec<usize> = hits.iter().map(|hit| places[&hit.skill.id]).collect();
        rank(&found, prompt.right)
    };
    prompts.iter().map(one).collect()
}

fn load(file: &Path, prompts: &[Prompt]) -> Result<Ranks> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut ranks = Vec::new();
    for (line, prompt) in text.lines().zip(prompts) {
        let (right, rank) = line.split_once(' ').context("two numbers on each line")?;
        ensure!(
            right.parse() == Ok(prompt.right),
            "{} is of other prompts",
            file.display()
        );
        let rank: usize = rank.parse()?;
        ranks.push((rank > 0).then_some(rank));
    }
    ensure!(
        ranks.len() == prompts.len(),
        "{} has another number of prompts",
        file.display()
    );
    Ok(ranks)
}

fn header() {
    let titles: Vec<&str> = FIGURES.iter().map(|(title, _)| *title).collect();
    println!(
        "| ranker | half | {} | r@5, MRR once per skill |",
        titles.join(" | ")
    );
    println!("|---|---|---|---|---|---|---|");
}

/// Prints a row for each half: the figures with their intervals, or with the paired differences from
/// another run and their intervals.
fn rows(title: &str, prompts: &[Prompt], ranks: &Ranks, base: Option<&Ranks>) {
    for half in Half::ALL {
        // The prompts of each skill, by their position in the file.
        let mut skills: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (number, prompt) in prompts.iter().enumerate().filter(|(_, p)| half.has(p)) {
            skills.entry(prompt.right).or_default().push(number);
        }
        let skills: Vec<Vec<usize>> = skills.into_values().collect();
        let mut cells = Vec::new();
        for (_, figure) in FIGURES {
            let value = |number: &usize| figure(ranks[*number]);
            let gain = |number: &usize| {
                figure(ranks[*number]) - base.map_or(0.0, |base| figure(base[*number]))
            };
            let (low, high) = interval(&skills, |number| gain(number));
            let mean = mean(&skills, value);
            cells.push(if base.is_some() {
                format!(
                    "{mean:.3}, {:+.3} ({low:+.3} to {high:+.3})",
                    self::mean(&skills, gain)
                )
            } else {
                format!("{mean:.3} ({low:.3} to {high:.3})")
            });
        }
        let once = |(_, figure): Figure| {
            let one = |skill: &Vec<usize>| {
                mean(std::slice::from_ref(skill), |number| figure(ranks[*number]))
            };
            skills.iter().map(one).sum::<f64>() / skills.len().max(1) as f64
        };
        println!(
            "| {title} | {} | {} | {:.3}, {:.3} |",
            half.title(),
            cells.join(" | "),
            once(FIGURES[1]),
            once(FIGURES[3])
        );
    }
}

/// Returns the mean over all prompts of these skills.
fn mean(skills: &[Vec<usize>], value: impl Fn(&usize) -> f64) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for number in skills.iter().flatten() {
        sum += value(number);
        count += 1.0;
    }
    sum / f64::max(count, 1.0)
}

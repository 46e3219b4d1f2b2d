//! Measures how many hits skills take whose texts are stuffed with keywords.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, ensure};
use prowess_catalog::{FileStamp, Scope, Skill, SkillForm, SkillId, SkillLocation, SkillOrigin};
use prowess_search::{SearchIndex, SearchQuery, tokens};
use prowess_spec::parse;

use super::{Entry, Prompt, Random, subset};

const REAL: usize = 3000;
const STUFFED: usize = 20;
const QUERIES: usize = 200;
/// Maximum share of the hits that stuffed skills may take.
const MOST: f64 = 0.1;

/// Adds twenty stuffed skills of several kinds to 3,000 real ones, and prints the share of the ten
/// best hits that they take in 200 queries. Fails above one in ten.
pub(super) fn run(entries: &[Entry], prompts: &[Prompt]) -> Result<()> {
    let (real, _) = subset(entries, prompts, REAL);
    // One prompt of each skill, then the second of each, and so on.
    let mut turns: BTreeMap<usize, usize> = BTreeMap::new();
    let mut order: Vec<(usize, usize)> = prompts
        .iter()
        .enumerate()
        .map(|(number, prompt)| {
            let turn = turns.entry(prompt.right).or_default();
            *turn += 1;
            (*turn, number)
        })
        .collect();
    order.sort_unstable();
    let queries = order
        .iter()
        .take(QUERIES)
        .map(|(_, number)| &*prompts[*number].text);
    let queries: Vec<&str> = queries.collect();
    let head = frequent(real.iter().map(|entry| &*entry.skill.description));
    let body = frequent(real.iter().map(|entry| &*entry.body));
    let asked = frequent(queries.iter().copied());
    let mut random = Random(0x57ff);
    let mut worst: f64 = 0.0;
    println!("| stuffed with | hits in the first ten | first hits |\n|---|---|---|");
    for (title, words, length) in [
        (
            "the commonest words of descriptions, 1 kB",
            &head[..150.min(head.len())],
            1024,
        ),
        (
            "the commonest words of descriptions, 100 kB",
            &head[..3000.min(head.len())],
            100_000,
        ),
        (
            "common words of descriptions at random, 1 kB",
            &head[..1000.min(head.len())],
            1024,
        ),
        (
            "common words of bodies at random, 4 kB",
            &body[..2000.min(body.len())],
            4096,
        ),
        (
            "the commonest words of the queries, 1 kB",
            &asked[..150.min(asked.len())],
            1024,
        ),
        ("all words of the queries, 100 kB", &asked[..], 100_000),
    ] {
        let mut all = real.clone();
        for number in 0..STUFFED {
            all.push(stuffed(number, words, length, &mut random));
        }
        let index = SearchIndex::build(all.iter().map(Entry::document));
        let (mut taken, mut first, mut shown) = (0.0, 0.0, 0.0);
        for text in &queries {
            let hits = index.search(&SearchQuery {
                explain: false,
                ..SearchQuery::new(text)
            });
            for (place, hit) in hits.iter().enumerate() {
                let is_stuffed = f64::from(u8::from(hit.skill.id.path.starts_with("stuffed-")));
                taken += is_stuffed;
                first += if place == 0 { is_stuffed } else { 0.0 };
                shown += 1.0;
            }
        }
        let share = taken / f64::max(shown, 1.0);
        worst = worst.max(share);
        println!("| {title} | {share:.3} | {:.3} |", first / QUERIES as f64);
    }
    ensure!(worst <= MOST, "stuffed skills take {worst:.3} of the hits");
    Ok(())
}

/// Returns the distinct words, most frequent first.
fn frequent<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for text in texts {
        tokens::each(text, |word, _| {
            if word.len() > 2 && !tokens::is_stop_word(word) {
                *counts
                    .entry(String::from_utf8_lossy(word).into_owned())
                    .or_default() += 1;
            }
        });
    }
    let mut words: Vec<(String, usize)> = counts.into_iter().collect();
    words.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    words.into_iter().map(|(word, _)| word).collect()
}

/// Returns a skill whose description, tags, headings and body consist of these words in random
/// order.
fn stuffed(number: usize, words: &[String], length: usize, random: &mut Random) -> Entry {
    let mut shuffled: Vec<&str> = words.iter().map(String::as_str).collect();
    for at in (1..shuffled.len()).rev() {
        shuffled.swap(at, random.below(at + 1));
    }
    let text = |separator: &str, most: usize| {
        let mut text = String::new();
        for word in shuffled.iter().cycle() {
            if text.len() + word.len() + separator.len() > most {
                break;
            }
            text.push_str(word);
            text.push_str(separator);
        }
        text
    };
    let name: Vec<&str> = shuffled.iter().take(4).copied().collect();
    let name = name.join("-");
    let file = format!(
        "---\nname: {name}\ndescription: {}\ntags: [{}]\n---\n# {}\n\n{}\n",
        text(" ", length),
        text(", ", 1024),
        text("\n# ", 2048),
        text(" ", 32 * 1024)
    );
    let parsed = parse(file.as_bytes());
    let folder = format!("stuffed-{number}");
    let place = SkillLocation {
        id: SkillId {
            origin: Arc::new(SkillOrigin::new(Scope::User, 0, "/stuffed")),
            path: folder.as_str().into(),
        },
        form: SkillForm::Folder,
        location: prowess_catalog::Location::default(),
        given: None,
        stamp: FileStamp::default(),
        sidecar: None,
        fingerprint: 0,
    };
    Entry {
        skill: Arc::new(Skill::from_text(place, &parsed, None)),
        body: parsed.body_text().to_owned(),
    }
}

//! Benchmarks the prompt index by number of skills: `cargo bench -p prowess-catalog`.

use std::sync::Arc;

use divan::Bencher;
use prowess_catalog::index::{Budget, Entry, Format, IndexOptions, Rank, Show, Shown, index, note};
use prowess_catalog::{Form, Origin, Place, Scope, Skill, SkillId, Stamp};

fn main() {
    divan::main();
}

const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];

fn skills(count: usize) -> Vec<Skill> {
    let origin = Arc::new(Origin::new(Scope::User, 0, "skills"));
    (0..count)
        .map(|i| {
            let words = "Fills forms & reads <fields> when a document has some. ".repeat(1 + i % 7);
            let text = format!("---\nname: skill-{i:06}\ndescription: '{words}'\n---\n");
            let place = Place {
                id: SkillId {
                    origin: origin.clone(),
                    path: format!("skill-{i:06}").into(),
                },
                form: Form::Folder,
                location: format!("/skills/skill-{i:06}/SKILL.md").into(),
                given: None,
                stamp: Stamp::default(),
                sidecar: None,
                fingerprint: 0,
            };
            Skill::from_text(place, &prowess_spec::parse(text.as_bytes()), None)
        })
        .collect()
}

fn entries(skills: &[Skill]) -> Vec<Entry<'_>> {
    let rank = |i: usize| {
        if i.is_multiple_of(97) {
            Rank::Used(i / 97)
        } else {
            Rank::Rest
        }
    };
    let entry = |(i, skill)| Entry {
        skill,
        name: &skill.name,
        show: Show::Full,
        rank: rank(i),
    };
    skills.iter().enumerate().map(entry).collect()
}

/// The default budget: most names are cut.
#[divan::bench(args = SIZES)]
fn default_budget(bencher: Bencher<'_, '_>, count: usize) {
    let skills = skills(count);
    let entries = entries(&skills);
    bencher.bench(|| index(divan::black_box(&entries), &IndexOptions::default()).tokens);
}

/// All names fit, and every description is shortened.
#[divan::bench(args = SIZES)]
fn all_names(bencher: Bencher<'_, '_>, count: usize) {
    let skills = skills(count);
    let entries = entries(&skills);
    let budget = Budget::of_characters(count * 110);
    let options = IndexOptions {
        budget,
        ..IndexOptions::default()
    };
    bencher.bench(|| index(divan::black_box(&entries), &options).tokens);
}

/// Everything is shown.
#[divan::bench(args = SIZES)]
fn unlimited_xml(bencher: Bencher<'_, '_>, count: usize) {
    let skills = skills(count);
    let entries = entries(&skills);
    let (format, budget) = (Format::Xml, Budget::unlimited());
    let options = IndexOptions {
        format,
        budget,
        ..IndexOptions::default()
    };
    bencher.bench(|| index(divan::black_box(&entries), &options).tokens);
}

/// A note about one new skill.
#[divan::bench(args = SIZES)]
fn one_new(bencher: Bencher<'_, '_>, count: usize) {
    let skills = skills(count);
    let entries = entries(&skills);
    let before = Shown::of(&entries[1..]);
    bencher.bench(|| {
        let options = prowess_catalog::index::NoteOptions::default();
        note(divan::black_box(&before), &entries, &options).map(|note| note.added)
    });
}

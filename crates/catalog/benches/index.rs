//! Benchmarks the prompt index by number of skills: `cargo bench -p prowess-catalog`.

use std::sync::Arc;

use divan::Bencher;
use prowess_catalog::index::{
    EntryRank, IndexBudget, IndexEntry, IndexFormat, IndexOptions, ShownSkills, index, note,
};
use prowess_catalog::{
    FileStamp, Location, Scope, Skill, SkillForm, SkillId, SkillLocation, SkillOrigin,
};

fn main() {
    divan::main();
}

const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];

fn skills(count: usize) -> Vec<Skill> {
    let origin = Arc::new(SkillOrigin::new(Scope::User, 0, "skills"));
    (0..count)
        .map(|i| {
            let words = "Fills forms & reads <fields> when a document has some. ".repeat(1 + i % 7);
            let text = format!("---\nname: skill-{i:06}\ndescription: '{words}'\n---\n");
            let place = SkillLocation {
                id: SkillId {
                    origin: origin.clone(),
                    path: format!("skill-{i:06}").into(),
                },
                form: SkillForm::Folder,
                location: Location::from_text(format!("/skills/skill-{i:06}/SKILL.md")),
                given: None,
                stamp: FileStamp::default(),
                sidecar: None,
                fingerprint: 0,
            };
            Skill::from_text(place, &prowess_spec::parse(text.as_bytes()), None)
        })
        .collect()
}

fn entries(skills: &[Skill]) -> Vec<IndexEntry<'_>> {
    let rank = |i: usize| {
        if i.is_multiple_of(97) {
            EntryRank::Used(i / 97)
        } else {
            EntryRank::Rest
        }
    };
    let entry = |(i, skill)| IndexEntry {
        rank: rank(i),
        ..IndexEntry::new(skill, &skill.name)
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
    let budget = IndexBudget::of_characters(count * 110);
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
    let (format, budget) = (IndexFormat::Xml, IndexBudget::unlimited());
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
    let before = ShownSkills::of(&entries[1..]);
    bencher.bench(|| {
        let options = prowess_catalog::index::NoteOptions::default();
        note(divan::black_box(&before), &entries, &options).map(|note| note.added)
    });
}

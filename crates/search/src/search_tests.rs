//! Tests of search as a whole.

use std::sync::Arc;

use prowess_spec::parse;

use super::*;
use prowess_catalog::{FileStamp, Location, SkillForm, SkillId, SkillLocation, SkillOrigin};

/// A skill with a body, parsed from the text of its file.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    skill: Arc<Skill>,
    body: String,
}

impl Sample {
    pub(super) fn new(folder: &str, text: &str) -> Self {
        Self::in_scope(Scope::User, folder, text)
    }

    fn in_scope(scope: Scope, folder: &str, text: &str) -> Self {
        let parsed = parse(text.as_bytes());
        let place = SkillLocation {
            id: SkillId {
                origin: Arc::new(SkillOrigin::new(scope, 0, "/root")),
                path: folder.into(),
            },
            form: SkillForm::Folder,
            location: Location::default(),
            given: Some(folder),
            stamp: FileStamp {
                size: text.len() as u64,
                ..FileStamp::default()
            },
            sidecar: None,
            fingerprint: 0,
        };
        let skill = Arc::new(Skill::from_text(place, &parsed, None));
        Self {
            skill,
            body: parsed.body_text().to_owned(),
        }
    }

    pub(super) fn described(name: &str, description: &str) -> Self {
        Self::new(
            name,
            &format!("---\nname: {name}\ndescription: {description}\n---\n"),
        )
    }

    /// Returns a copy with another name and folder.
    pub(super) fn renamed(&self, name: &str) -> Self {
        let mut skill = (*self.skill).clone();
        skill.name = name.into();
        skill.id.path = name.into();
        Self {
            skill: Arc::new(skill),
            body: self.body.clone(),
        }
    }

    fn document(&self) -> SearchDocument<'_> {
        SearchDocument {
            skill: &self.skill,
            body: &self.body,
        }
    }
}

pub(super) fn index(samples: &[Sample]) -> SearchIndex {
    SearchIndex::build(samples.iter().map(Sample::document))
}

pub(super) fn names(hits: &[SearchHit]) -> Vec<&str> {
    hits.iter().map(|hit| &*hit.skill.name).collect()
}

fn library() -> Vec<Sample> {
    vec![
        Sample::new(
            "pdf-tools",
            "---\nname: pdf-tools\ndescription: Fills PDF forms and reads their fields.\nwhen_to_use: a form must be filled in\ntags: [documents, office]\n---\n# Filling forms\n\nRun `pdftk` first.\n",
        ),
        Sample::new(
            "deploying-services",
            "---\nname: deploying-services\ndescription: Deploys services to kubernetes (k8s).\nmetadata:\n  team: platform\n  level: expert\n---\n## Roll back\n\nUse rolloutManager to undo.\n",
        ),
        Sample::new(
            "danmaku",
            "---\nname: danmaku\ndescription: 分析视频弹幕，了解观众的真实反应\nmetadata:\n  team: media\n---\n正文。\n",
        ),
        Sample::in_scope(
            Scope::Project,
            "release-notes",
            "---\nname: release-notes\ndescription: Writes release notes from commits.\nmetadata:\n  team: platform\n---\nRead the log.\n",
        ),
    ]
}

#[test]
fn every_field_is_searched() {
    let index = index(&library());
    for (text, expected, field) in [
        ("pdf", "pdf-tools", SearchField::Name),
        ("reading", "pdf-tools", SearchField::Description),
        ("filled", "pdf-tools", SearchField::WhenToUse),
        ("office", "pdf-tools", SearchField::Tags),
        ("expert", "deploying-services", SearchField::Metadata),
        ("rolls", "deploying-services", SearchField::Headings),
        ("pdftk", "pdf-tools", SearchField::Body),
        ("pdftools", "pdf-tools", SearchField::WholeName),
        ("manager", "deploying-services", SearchField::Body),
        ("rolloutmanager", "deploying-services", SearchField::Body),
        ("K8S", "deploying-services", SearchField::Description),
        ("弹幕", "danmaku", SearchField::Description),
        ("观众反应", "danmaku", SearchField::Description),
    ] {
        let hits = index.search(&SearchQuery::new(text));
        let hit = hits
            .first()
            .unwrap_or_else(|| panic!("{text} finds nothing"));
        assert_eq!(&*hit.skill.name, expected, "{text}");
        assert!(
            hit.explanation.iter().any(|reason| reason.field == field),
            "{text}: {hit:?}"
        );
        let sum: f32 = hit.explanation.iter().map(|reason| reason.points).sum();
        assert!(
            (sum - hit.score).abs() < 1e-3 * hit.score,
            "{text}: {sum} {}",
            hit.score
        );
    }
    assert!(
        index
            .search(&SearchQuery::new("nothing-like-it zzz"))
            .is_empty()
    );
}

#[test]
fn stop_words_count_only_alone() {
    let samples = [
        Sample::described("how-to", "A guide."),
        Sample::described("pdf", "How to use the PDF."),
    ];
    let index = index(&samples);
    assert_eq!(
        names(&index.search(&SearchQuery::new("how to"))),
        ["how-to", "pdf"]
    );
    assert_eq!(
        names(&index.search(&SearchQuery::new("how to pdf"))),
        ["pdf"]
    );
}

#[test]
fn names_match_typos_and_prefixes() {
    let index = index(&library());
    for text in [
        "relaese-notes",
        "release-nots",
        "releasenotes",
        "reelase notes",
        "releasenots",
    ] {
        let hits = index.search(&SearchQuery::new(text));
        assert_eq!(names(&hits).first(), Some(&"release-notes"), "{text}");
    }
    for text in [
        "r",
        "rel",
        "releas",
        "release-n",
        "releasen",
        "deployi",
        "deployin",
    ] {
        let hits = index.search(&SearchQuery {
            prefix: true,
            ..SearchQuery::new(text)
        });
        let expected = if text.starts_with('r') {
            "release-notes"
        } else {
            "deploying-services"
        };
        assert_eq!(names(&hits).first(), Some(&expected), "{text}");
    }
    assert!(index.search(&SearchQuery::new("rele")).is_empty());
    let hits = index.search(&SearchQuery::new("kuberntes"));
    assert!(hits.is_empty(), "only names match typos: {hits:?}");
    let hits = index.search(&SearchQuery::new("sevices"));
    assert!(
        hits[0]
            .explanation
            .iter()
            .any(|reason| reason.form == MatchForm::NameCover)
    );
    assert!(
        hits[0]
            .explanation
            .iter()
            .any(|reason| reason.form == MatchForm::Typo)
    );
}

#[test]
fn synonyms_match() {
    let samples = [
        Sample::described("golang-lint", "Lints."),
        Sample::described("x", "y"),
    ];
    let hits = index(&samples).search(&SearchQuery::new("lint my go code"));
    assert_eq!(names(&hits), ["golang-lint"]);
    assert!(
        hits[0]
            .explanation
            .iter()
            .any(|reason| reason.form == MatchForm::Synonym)
    );
}

#[test]
fn filters_apply_in_both_modes() {
    let index = index(&library());
    for mode in [SearchMode::Ranked, SearchMode::Substring] {
        let base = SearchQuery {
            mode,
            ..SearchQuery::new("")
        };
        let platform = SearchQuery {
            metadata: vec![("team", "platform")],
            ..base.clone()
        };
        assert_eq!(
            names(&index.search(&platform)),
            ["deploying-services", "release-notes"]
        );
        let project = SearchQuery {
            scope: Some(Scope::Project),
            ..platform.clone()
        };
        assert_eq!(names(&index.search(&project)), ["release-notes"]);
        let text = SearchQuery {
            text: "release",
            ..platform
        };
        assert_eq!(names(&index.search(&text)), ["release-notes"]);
    }
}

#[test]
fn ties_are_sorted_by_name_then_id() {
    let mut samples: Vec<Sample> = ["b", "a", "c"]
        .iter()
        .map(|name| Sample::described(name, "the same words"))
        .collect();
    samples.push(Sample::new(
        "0/a",
        "---\nname: a\ndescription: the same words\n---\n",
    ));
    let hits = index(&samples).search(&SearchQuery {
        limit: 0,
        ..SearchQuery::new("words")
    });
    let found: Vec<&str> = hits.iter().map(|hit| &*hit.skill.id.path).collect();
    assert_eq!(found, ["0/a", "a", "b", "c"]);
    let few = index(&samples).search(&SearchQuery {
        limit: 2,
        ..SearchQuery::new("words")
    });
    assert_eq!(names(&few), ["a", "a"]);
}

/// The substring search tests of Agentick (reference, "Registry: search by …").
mod agentick {
    use super::*;

    fn found(change: impl FnOnce(&mut SearchQuery<'static>)) -> Vec<String> {
        let mut query = SearchQuery {
            mode: SearchMode::Substring,
            limit: 0,
            ..SearchQuery::new("")
        };
        change(&mut query);
        let hits = index(&library()).search(&query);
        names(&hits).into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn search_by_name_part() {
        assert_eq!(found(|query| query.text = "df-to"), ["pdf-tools"]);
    }

    #[test]
    fn search_by_description_case_insensitive() {
        assert_eq!(found(|query| query.text = "  FILLS pdf "), ["pdf-tools"]);
        assert_eq!(found(|query| query.text = "视频弹"), ["danmaku"]);
    }

    #[test]
    fn search_by_when_to_use() {
        assert_eq!(found(|query| query.text = "must be filled"), ["pdf-tools"]);
    }

    #[test]
    fn search_by_metadata_value() {
        assert_eq!(found(|query| query.text = "expert"), ["deploying-services"]);
        assert_eq!(
            found(|query| query.text = "level"),
            [""; 0],
            "keys are not searched"
        );
    }

    #[test]
    fn search_by_metadata_filter_one_and_two_keys() {
        assert_eq!(
            found(|query| query.metadata = vec![("team", "platform")]),
            ["deploying-services", "release-notes"]
        );
        assert_eq!(
            found(|query| query.metadata = vec![("team", "platform"), ("level", "expert")]),
            ["deploying-services"]
        );
        assert_eq!(
            found(|query| query.metadata = vec![("team", "Platform")]),
            [""; 0]
        );
    }

    #[test]
    fn search_by_combination_including_empty_result() {
        let both = |text| {
            found(|query| {
                query.text = text;
                query.metadata = vec![("team", "platform")];
            })
        };
        assert_eq!(both("notes"), ["release-notes"]);
        assert_eq!(both("pdf"), [""; 0]);
    }

    #[test]
    fn search_by_limit() {
        assert_eq!(
            found(|query| query.limit = 2),
            ["pdf-tools", "deploying-services"]
        );
        assert_eq!(found(|query| query.limit = 0).len(), 4);
        assert_eq!(found(|query| query.limit = usize::MAX).len(), 4);
    }

    #[test]
    fn replaced_skill_keeps_its_position() {
        let samples = library();
        let new = Sample::new(
            "pdf-tools",
            "---\nname: pdf-tools\ndescription: New.\n---\n",
        );
        let changed = index(&samples).with_changes(&[], [new.document()]);
        let all = changed.search(&SearchQuery {
            mode: SearchMode::Substring,
            limit: 0,
            ..SearchQuery::new("")
        });
        let expected: Vec<&str> = samples.iter().map(|sample| &*sample.skill.name).collect();
        assert_eq!(names(&all), expected);
        assert_eq!(&*all[0].skill.description, "New.");
    }
}

#[test]
fn incremental_changes_equal_a_rebuild() {
    let many: Vec<Sample> = (0..200)
        .map(|number| {
            let text = format!(
                "---\nname: skill-{number}\ndescription: word{} common word{}\n---\nbody{}\n",
                number % 7,
                number % 31,
                number % 3
            );
            Sample::new(&format!("skill-{number}"), &text)
        })
        .collect();
    let mut changed = index(&many[..100]);
    for step in 0..50 {
        let removed = [many[step].skill.id.clone()];
        changed = changed.with_changes(&removed, [many[100 + step].document()]);
        let fresh = index(&many[step + 1..101 + step]);
        assert_eq!(changed.len(), fresh.len());
        for text in ["word3", "common", "body1 word5", "skill 77", "nothing"] {
            let query = SearchQuery {
                limit: 0,
                ..SearchQuery::new(text)
            };
            assert_eq!(
                changed.search(&query),
                fresh.search(&query),
                "{text} after {step}"
            );
        }
    }
    let all: Vec<SkillId> = many.iter().map(|sample| sample.skill.id.clone()).collect();
    assert!(changed.with_changes(&all, []).is_empty());
}

#[test]
fn removed_skill_does_not_hide_related_words() {
    let mut samples: Vec<Sample> = (0..100)
        .map(|number| Sample::described(&format!("other-{number}"), "Does something else."))
        .collect();
    samples.push(Sample::described("a", "Supports customization of reports."));
    samples.push(Sample::described("b", "Lets you customize reports."));
    samples.push(Sample::described("c", "Runs on kubernetes."));
    let gone = [samples[100].skill.id.clone()];
    let changed = index(&samples).with_changes(&gone, []);
    samples.remove(100);
    let fresh = index(&samples);
    for text in ["customization", "customization reports", "customize"] {
        let query = SearchQuery::new(text);
        let found = changed.search(&query);
        assert_eq!(found, fresh.search(&query), "{text}");
        assert_eq!(names(&found)[0], "b", "{text}");
    }
}

#[test]
fn left_out_skills_do_not_change_results() {
    let samples: Vec<Sample> = (0..200)
        .map(|number| {
            let text = format!("word{} common word{}", number % 7, number % 31);
            Sample::described(&format!("skill-{number}"), &text)
        })
        .collect();
    let (first, rest) = samples.split_at(190);
    let whole = index(first).with_changes(&[], rest.iter().map(Sample::document));
    let is_kept = |sample: &&Sample| sample.skill.name.len().is_multiple_of(2);
    let kept: Vec<Sample> = samples.iter().filter(is_kept).cloned().collect();
    let fresh = index(&kept);
    let some = whole.only(|skill| skill.name.len().is_multiple_of(2));
    assert!(!fresh.is_empty() && some.len() == fresh.len() && some.len() < whole.len());
    for text in ["word3", "common", "word1 word5", "skill 77", ""] {
        let query = SearchQuery {
            limit: 0,
            ..SearchQuery::new(text)
        };
        assert_eq!(some.search(&query), fresh.search(&query), "{text}");
    }
    assert_eq!(whole.only(|_| true).len(), whole.len());
}

#[test]
fn parts_from_several_threads_are_combined() {
    let samples = library();
    let whole = index(&samples);
    let parts = samples
        .chunks(1)
        .map(|chunk| SearchPart::tokenise(chunk.iter().map(Sample::document)))
        .collect();
    let joined = SearchIndex::from_parts(parts);
    for text in ["pdf", "platform", "弹幕", "release notes from commits"] {
        assert_eq!(
            whole.search(&SearchQuery::new(text)),
            joined.search(&SearchQuery::new(text))
        );
    }
    let order: Vec<SkillId> = samples
        .iter()
        .rev()
        .map(|sample| sample.skill.id.clone())
        .collect();
    let all = SearchQuery {
        mode: SearchMode::Substring,
        ..SearchQuery::new("")
    };
    let turned = joined.arranged(&order).search(&all);
    let mut expected = whole.search(&all);
    expected.reverse();
    assert_eq!(turned, expected);
}

#[test]
fn bytes_round_trip_and_corruption_is_detected() {
    let samples = library();
    let index =
        index(&samples[..3]).with_changes(&[samples[1].skill.id.clone()], [samples[3].document()]);
    let bytes = index.to_bytes();
    let skills: Vec<_> = samples
        .iter()
        .map(|sample| Arc::clone(&sample.skill))
        .collect();
    let (read, missing) = SearchIndex::from_bytes(&bytes, &skills).expect("whole bytes");
    assert_eq!(missing, [1]);
    for text in ["pdf", "release", "弹幕", "team platform"] {
        assert_eq!(
            read.search(&SearchQuery::new(text)),
            index.search(&SearchQuery::new(text))
        );
    }
    let (fewer, _) = SearchIndex::from_bytes(&bytes, &skills[..1]).expect("whole bytes");
    assert_eq!(fewer.len(), 1);
    for end in 0..bytes.len() {
        assert!(SearchIndex::from_bytes(&bytes[..end], &skills).is_none());
    }
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        assert!(
            SearchIndex::from_bytes(&damaged, &skills).is_none(),
            "byte {at}"
        );
    }
    let mut longer = bytes;
    longer.push(0);
    assert!(SearchIndex::from_bytes(&longer, &skills).is_none());
}

#[test]
fn hostile_queries_are_bounded() {
    let index = index(&library());
    let words: String = (0..10_000).map(|number| format!("word{number} ")).collect();
    for text in [
        "x".repeat(1 << 20),
        "pdf ".repeat(1 << 18),
        "弹".repeat(1 << 18),
        "🚀\u{202e}\u{200b}".repeat(1000),
        "!?,;".repeat(1 << 16),
        "-".repeat(1 << 16),
        "a-".repeat(1 << 16),
        "\u{301}".repeat(1 << 16),
        "ﷺ".repeat(1 << 16),
        words,
        "\0".to_owned(),
        " ".to_owned(),
    ] {
        for limit in [0, 1, usize::MAX] {
            for mode in [SearchMode::Ranked, SearchMode::Substring] {
                for prefix in [false, true] {
                    let query = SearchQuery {
                        limit,
                        mode,
                        prefix,
                        ..SearchQuery::new(&text)
                    };
                    assert!(index.search(&query).len() <= 4);
                }
            }
        }
    }
    assert!(
        SearchIndex::default()
            .search(&SearchQuery::new("pdf"))
            .is_empty()
    );
    assert!(SearchIndex::from_parts(Vec::new()).is_empty());
}

#[test]
fn hostile_skills_are_bounded() {
    let head = "---\nname: big\ndescription: big\n---\n";
    for body in [
        "word ".repeat(200_000),
        "# h\n".repeat(200_000),
        "弹".repeat(300_000),
        "x".repeat(1 << 20),
    ] {
        let sample = Sample::new("big", &format!("{head}{body}"));
        let index = index(&[sample]);
        assert!(index.size() < 40_000, "{}", index.size());
        assert_eq!(index.search(&SearchQuery::new("big")).len(), 1);
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of a few small documents"
)]
mod reference_implementation {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::super::document::{MAX_BODY, each_field, is_kept, names as names_of, whole};
    use super::super::tokens;
    use super::*;

    /// Weights without typos and synonyms, which other tests cover.
    fn exact() -> SearchWeights {
        SearchWeights {
            typo: 0.0,
            synonym: 0.0,
            derived: 0.0,
            phrase: 0.0,
            ..SearchWeights::default()
        }
    }

    /// The same ranking without an index: every document is scanned for every word.
    fn plain(samples: &[&Sample], text: &str) -> Vec<(f32, String)> {
        let weights = exact();
        let mut documents = Vec::new();
        for sample in samples {
            let mut counts: BTreeMap<(Vec<u8>, usize), u32> = BTreeMap::new();
            let mut lengths = [0_u32; 8];
            each_field(sample.document(), MAX_BODY, |field, text| {
                tokens::each(text, |word, kind| {
                    if is_kept(field, word) {
                        *counts.entry((tokens::stemmed(word), field)).or_default() += 1;
                        lengths[field] += u32::from(kind != tokens::TokenKind::Part);
                    }
                });
            });
            for name in names_of(&sample.skill) {
                *counts
                    .entry((tokens::stemmed(&whole(name)), 7))
                    .or_default() += 1;
            }
            documents.push((counts, lengths));
        }
        let mut asked: Vec<Vec<u8>> = Vec::new();
        let mut words = Vec::new();
        let mut whole_words = 0;
        tokens::each(text, |word, kind| {
            whole_words += usize::from(kind != tokens::TokenKind::Part);
            words.push(word.to_vec());
        });
        let all_stop = words.iter().all(|word| tokens::is_stop_word(word));
        for word in &words {
            let stem = tokens::stemmed(word);
            if (all_stop || !tokens::is_stop_word(word)) && !asked.contains(&stem) {
                asked.push(stem);
            }
        }
        let tied: BTreeSet<&str> = text.split(' ').filter(|word| word.contains('-')).collect();
        let distinct: BTreeSet<Vec<u8>> = words.iter().map(|word| tokens::stemmed(word)).collect();
        if distinct.len() <= weights.short_query {
            asked.extend(tied.iter().map(|word| tokens::stemmed(&whole(word))));
        }
        if distinct.len() > 1
            && distinct.len() <= 6
            && (2..=12).contains(&whole_words)
            && !tied.contains(text)
        {
            asked.push(tokens::stemmed(&whole(text)));
        }
        let total = documents.len() as f32;
        let average = |field: usize| {
            let sum: u32 = documents.iter().map(|(_, lengths)| lengths[field]).sum();
            (sum as f32 / total).max(0.01)
        };
        let mut found = Vec::new();
        for (sample, (counts, lengths)) in samples.iter().zip(&documents) {
            let (mut score, mut named, mut entire) = (0.0, 0.0, false);
            for term in &asked {
                let count = |counts: &BTreeMap<(Vec<u8>, usize), u32>, field| {
                    counts.get(&(term.clone(), field)).copied().unwrap_or(0)
                };
                let having = documents
                    .iter()
                    .filter(|(counts, _)| (0..8).any(|field| count(counts, field) > 0))
                    .count() as f32;
                let mut sum = 0.0;
                for (field, length) in lengths.iter().enumerate() {
                    let count = match (field, count(counts, field)) {
                        (6, 2..4) => 2,
                        (6, 4..) => 4,
                        (_, count) => count.min(15),
                    };
                    let norm = if field < 7 {
                        let share = weights.lengths[field];
                        1.0 - share + share * *length as f32 / average(field)
                    } else {
                        1.0
                    };
                    sum += weights.fields[field] * count as f32 / norm;
                }
                if sum > 0.0 {
                    let idf = (1.0 + (total - having + 0.5) / (having + 0.5)).ln();
                    score += idf * sum * (weights.saturation + 1.0) / (sum + weights.saturation);
                    named += f32::from(u8::from(count(counts, 0) > 0));
                    entire |= count(counts, 7) > 0;
                }
            }
            if score > 0.0 {
                let longest = names_of(&sample.skill)
                    .map(|name| {
                        let mut words = BTreeSet::new();
                        tokens::each(name, |word, kind| {
                            if kind != tokens::TokenKind::Part && !tokens::is_stop_word(word) {
                                words.insert(tokens::stemmed(word));
                            }
                        });
                        words.len().max(1)
                    })
                    .max();
                let length = longest.unwrap_or(1) as f32;
                let cover = if entire {
                    1.0
                } else {
                    f32::min(named / length, 1.0)
                };
                let score = score * (1.0 + weights.name_cover * cover);
                found.push((score, sample.skill.id.path.to_string()));
            }
        }
        found
    }

    /// Generates text from a small vocabulary, so that words repeat.
    fn text(most: usize) -> impl Strategy<Value = String> {
        let word = prop::sample::select(vec![
            "alpha",
            "deploys",
            "deploying",
            "camelCase",
            "k8x",
            "弹幕视频",
            "the",
            "of",
            "Éclair",
            "zebra9",
            "mno",
            "qrs-tuv",
            "1234567",
            "x",
        ]);
        prop::collection::vec(word, 1..most).prop_map(|words| words.join(" "))
    }

    fn samples() -> impl Strategy<Value = Vec<Sample>> {
        let one = (text(3), text(6), text(12), text(3));
        prop::collection::vec(one, 1..12).prop_map(|texts| {
            let texts = texts.into_iter().enumerate();
            texts
                .map(|(number, (name, description, body, heading))| {
                    let file = format!(
                        "---\nname: {name}\ndescription: {description}\n---\n# {heading}\n{body}\n"
                    );
                    Sample::new(&format!("{number}"), &file)
                })
                .collect()
        })
    }

    fn check(index: &SearchIndex, samples: &[&Sample], text: &str) -> Result<(), TestCaseError> {
        let hits = index.search_with(
            &SearchQuery {
                limit: 0,
                ..SearchQuery::new(text)
            },
            &exact(),
        );
        let expected = plain(samples, text);
        prop_assert_eq!(hits.len(), expected.len());
        for hit in &hits {
            let same = expected
                .iter()
                .find(|(_, path)| **path == *hit.skill.id.path);
            let score = same.map_or(0.0, |(score, _)| *score);
            prop_assert!(
                (hit.score - score).abs() <= 1e-3 * score,
                "{} {score}",
                hit.score
            );
            let sum: f32 = hit.explanation.iter().map(|reason| reason.points).sum();
            prop_assert!(
                (hit.score - sum).abs() <= 1e-3 * score,
                "{} {sum}",
                hit.score
            );
        }
        prop_assert!(hits.is_sorted_by(|one, other| one.score >= other.score));
        let few = index.search_with(
            &SearchQuery {
                limit: 3,
                ..SearchQuery::new(text)
            },
            &exact(),
        );
        prop_assert_eq!(&few[..], &hits[..few.len()]);
        Ok(())
    }

    proptest! {
        #[test]
        fn index_agrees_with_the_reference(samples in samples(), text in text(8)) {
            let all: Vec<&Sample> = samples.iter().collect();
            check(&index(&samples), &all, &text)?;
        }

        #[test]
        fn changed_index_agrees_with_the_reference(
            samples in samples(),
            text in text(8),
            gone in prop::collection::vec(any::<bool>(), 12),
            start in 0_usize..12,
        ) {
            let start = start.min(samples.len());
            let (first, rest) = samples.split_at(start);
            let leaving: Vec<SkillId> = samples
                .iter()
                .zip(&gone)
                .filter(|(_, gone)| **gone)
                .map(|(sample, _)| sample.skill.id.clone())
                .collect();
            let changed = index(first)
                .with_changes(&[], rest.iter().map(Sample::document))
                .with_changes(&leaving, []);
            let left: Vec<&Sample> =
                samples.iter().filter(|sample| !leaving.contains(&sample.skill.id)).collect();
            if !left.is_empty() {
                check(&changed, &left, &text)?;
            }
            let skills: Vec<_> = left.iter().map(|sample| Arc::clone(&sample.skill)).collect();
            let (read, missing) = SearchIndex::from_bytes(&changed.to_bytes(), &skills)
                .expect("own bytes");
            prop_assert!(missing.is_empty());
            prop_assert_eq!(read.search(&SearchQuery::new(&text)), changed.search(&SearchQuery::new(&text)));
        }

        #[test]
        fn any_text_is_accepted(text in ".{0,200}", other in ".{0,200}", prefix: bool) {
            let sample = Sample::new("any", &format!("---\nname: any\ndescription: any\n---\n{text}"));
            let index = index(&[sample]);
            let _ = index.search(&SearchQuery { prefix, ..SearchQuery::new(&other) });
            let _ = index.search(&SearchQuery { prefix, ..SearchQuery::new(&text) });
        }

        #[test]
        fn any_bytes_are_accepted(bytes: Vec<u8>) {
            prop_assert!(SearchIndex::from_bytes(&bytes, &[]).is_none());
        }
    }
}

//! Tests of what the ranking prefers, and of hostile libraries and queries.

use super::search_tests::{Sample, index, names};
use super::*;

/// Returns the names of the hits for a text.
fn found(index: &SearchIndex, text: &str) -> Vec<String> {
    let hits = index.search(&SearchQuery::new(text));
    names(&hits).into_iter().map(str::to_owned).collect()
}

/// Skills of other subjects, so that words differ in rarity.
fn fillers(count: usize) -> Vec<Sample> {
    (0..count)
        .map(|number| {
            let description = format!(
                "Subject{number} tool{} for area{}.",
                number % 50,
                number % 9
            );
            Sample::described(&format!("filler-{number}"), &description)
        })
        .collect()
}

#[test]
fn adjacent_words_outrank_scattered_ones() {
    let mut samples = fillers(50);
    samples.push(Sample::described(
        "a-scattered",
        "Finds the landing strip of an airport and prints a page.",
    ));
    samples.push(Sample::described(
        "b-adjacent",
        "Writes a landing page for an airport and prints a strip.",
    ));
    let index = index(&samples);
    assert_eq!(
        found(&index, "I would like a landing page")[0],
        "b-adjacent"
    );
    assert_eq!(
        found(&index, "a page about the landing strip")[0],
        "a-scattered"
    );
    let hits = index.search(&SearchQuery::new("a new landing page, quickly"));
    let phrase = hits[0]
        .explanation
        .iter()
        .find(|reason| reason.form == MatchForm::Phrase);
    let phrase = phrase.expect("the phrase is explained");
    assert_eq!(
        (&*phrase.term, phrase.field),
        ("land page", SearchField::Description)
    );
    let sum: f32 = hits[0].explanation.iter().map(|reason| reason.points).sum();
    assert!((sum - hits[0].score).abs() < 1e-3 * hits[0].score);
}

#[test]
fn derived_words_match_weakly() {
    let mut samples = fillers(50);
    samples.push(Sample::described(
        "themes",
        "Supports customisation of reports.",
    ));
    samples.push(Sample::described(
        "checks",
        "Validates reports before publication.",
    ));
    let index = index(&samples);
    assert_eq!(found(&index, "customise it"), ["themes"]);
    assert_eq!(found(&index, "validation"), ["checks"]);
    assert_eq!(found(&index, "a validator for it"), ["checks"]);
    samples.push(Sample::described(
        "exact",
        "Validation of reports before publication.",
    ));
    let index = self::index(&samples);
    assert_eq!(found(&index, "validation"), ["exact", "checks"]);
    let hits = index.search(&SearchQuery::new("validation"));
    assert_eq!(hits[1].explanation[0].form, MatchForm::Derived);
    assert!(hits[1].score < hits[0].score, "{hits:?}");
}

#[test]
fn related_word_in_a_name_adds_no_name_bonus() {
    let mut samples = fillers(50);
    samples.push(Sample::described("customise", "Changes reports."));
    let has_bonus = |samples: &[Sample]| {
        let hits = index(samples).search(&SearchQuery::new("customisation"));
        let hit = hits.iter().find(|hit| &*hit.skill.name == "customise");
        let mut reasons = hit.expect("the skill is found").explanation.iter();
        reasons.any(|reason| reason.form == MatchForm::NameCover)
    };
    assert!(!has_bonus(&samples));
    samples.push(Sample::described("themes", "Supports customisation."));
    assert!(!has_bonus(&samples));
}

#[test]
fn short_numbers_count_in_short_queries_only() {
    let mut samples = fillers(50);
    samples.push(Sample::described(
        "office",
        "Sends mail with Microsoft 365.",
    ));
    samples.push(Sample::described("reports", "Writes reports of sales."));
    let index = index(&samples);
    assert_eq!(found(&index, "365"), ["office"]);
    assert_eq!(found(&index, "microsoft 365")[0], "office");
    let long = "our conversion fell by 365 points in May, so write reports of sales for me";
    assert_eq!(found(&index, long), ["reports"]);
}

#[test]
fn fenced_code_counts_half() {
    let mut samples = fillers(50);
    samples.push(Sample::described(
        "parsers",
        "Explains tokenizer internals.",
    ));
    samples.push(Sample::described("reviews", "Explains review internals."));
    let index = index(&samples);
    let text = "review this\n```rust\nlet t = tokenizer();\n```\n";
    assert_eq!(found(&index, text), ["reviews", "parsers"]);
    let score = |text: &str| index.search(&SearchQuery::new(text))[0].score;
    let (prose, code) = (score("the tokenizer"), score("```\ntokenizer\n```"));
    assert!((code * 2.0 - prose).abs() < 1e-3 * prose, "{code} {prose}");
    // A word that also occurs in the prose counts in full.
    let both = score("the tokenizer\n```\ntokenizer\n");
    assert!((both - prose).abs() < 1e-3 * prose, "{both} {prose}");
}

#[test]
fn only_a_matching_fence_opens_and_closes_code() {
    let mut samples = fillers(50);
    samples.push(Sample::described(
        "parsers",
        "Explains tokenizer internals.",
    ));
    let index = index(&samples);
    let score = |text: &str| index.search(&SearchQuery::new(text))[0].score;
    let (prose, code) = (score("the tokenizer"), score("```\ntokenizer\n```"));
    assert!(code < prose);
    for (text, expected) in [
        ("```npm test``` fails\nthe tokenizer", prose),
        ("```\n~~~\n```\nthe tokenizer", prose),
        ("```\n~~~\ntokenizer\n```", code),
        ("````\n```\ntokenizer\n````", code),
        ("```\n```rust\ntokenizer\n```", code),
        ("~~~ `sh`\ntokenizer\n~~~", code),
    ] {
        let found = score(text);
        assert!((found - expected).abs() < 1e-3 * prose, "{text:?}: {found}");
    }
}

#[test]
fn both_ends_of_a_message_with_many_words_are_looked_up() {
    let mut samples = fillers(50);
    samples.push(Sample::described("pdf-forms", "Fills PDF forms."));
    samples.push(Sample::described("poems", "Writes sonnets."));
    let index = index(&samples);
    let log: String = (0..900)
        .map(|number| format!("line{number}y of\n"))
        .collect();
    assert!(log.len() < 12 * 1024);
    for text in [
        format!("{log}\nfill the pdf forms"),
        format!("fill the pdf forms\n{log}"),
        format!("write sonnets\n{log}\nfill the pdf forms"),
    ] {
        let found = found(&index, &text);
        assert!(found.contains(&"pdf-forms".to_owned()), "{found:?}");
        assert_eq!(
            found.contains(&"poems".to_owned()),
            text.starts_with("write")
        );
    }
}

#[test]
fn typos_are_matched_in_short_queries_only() {
    let mut samples = fillers(50);
    samples.push(Sample::described("kubernetes", "Runs clusters."));
    let index = index(&samples);
    assert_eq!(found(&index, "kuberntes")[0], "kubernetes");
    let long = "kuberntes is what my colleague wrote in her letter yesterday evening";
    assert!(found(&index, long).is_empty());
}

#[test]
fn fit_separates_tasks_from_small_talk() {
    let mut samples = fillers(300);
    samples.push(Sample::described(
        "pdf-forms",
        "Fills PDF forms, reads their fields and checks signatures. Use when a form must be filled in.",
    ));
    samples.push(Sample::described(
        "testing",
        "Runs the tests and explains why a test failed.",
    ));
    let index = index(&samples);
    let fit = |text: &str| {
        let hits = index.search(&SearchQuery::new(text));
        hits.iter().map(|hit| hit.fit).fold(0.0, f32::max)
    };
    for text in [
        "fill in the PDF form and check its signatures",
        "fill PDF forms",
    ] {
        assert!(fit(text) >= GOOD_FIT, "{text}: {}", fit(text));
    }
    for text in [
        "thanks",
        "continue",
        "what do you think?",
        "hello, how are you?",
        "yes, do it again",
        "",
        " ",
        "x",
        "?",
    ] {
        assert!(fit(text) < GOOD_FIT, "{text}: {}", fit(text));
    }
}

#[test]
fn fit_hardly_depends_on_the_size_of_the_library() {
    let fit = |size: usize| {
        let mut samples = fillers(size);
        samples.push(Sample::described(
            "pdf-forms",
            "Fills PDF forms and reads their fields.",
        ));
        index(&samples).search(&SearchQuery::new("fill in the PDF forms for my landlord"))[0].fit
    };
    let (few, many) = (fit(30), fit(3000));
    assert!((few - many).abs() < 0.25, "{few} {many}");
}

/// A deterministic pseudo-random generator.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % bound
    }

    /// Returns a word of a vocabulary in which a few words are common and most are rare.
    fn word(&mut self) -> String {
        let bound = 1 + self.below(4000);
        let bound = 1 + self.below(bound);
        format!("w{}x", self.below(bound))
    }

    fn text(&mut self, words: usize) -> String {
        let words: Vec<String> = (0..words).map(|_| self.word()).collect();
        words.join(" ")
    }
}

/// Twenty skills that contain every common word must not displace those that a query is about.
#[test]
fn stuffed_skills_take_few_hits() {
    let mut random = Random(7);
    let mut samples = Vec::new();
    let mut queries = Vec::new();
    for number in 0..3000 {
        let subject = random.text(6);
        let description = format!("{subject} {}", random.text(24));
        let body = format!("{subject} {}", random.text(80));
        if number % 15 == 0 {
            queries.push(format!("{} {}", subject, random.text(6)));
        }
        samples.push(Sample::new(
            &format!("real-{number}"),
            &format!("---\nname: real-{number}\ndescription: {description}\n---\n{body}\n"),
        ));
    }
    let common: Vec<String> = (0..3000).map(|number| format!("w{number}x")).collect();
    for number in 0..20 {
        let description = common[..150].join(" ");
        let all = common.join(" ");
        samples.push(Sample::new(
            &format!("stuffed-{number}"),
            &format!(
                "---\nname: stuffed-{number}\ndescription: {description} {all}\nwhen_to_use: {all}\ntags: [{}]\nmetadata:\n  words: {all}\n---\n# {all}\n{all}\n",
                common[..150].join(", ")
            ),
        ));
    }
    let index = index(&samples);
    let (mut taken, mut all) = (0, 0);
    for query in &queries {
        for hit in index.search(&SearchQuery::new(query)) {
            all += 1;
            taken += usize::from(hit.skill.name.starts_with("stuffed"));
        }
    }
    assert_eq!(queries.len(), 200);
    assert!(taken * 10 <= all, "{taken} of {all} hits");
}

#[test]
fn repeated_words_do_not_help() {
    let mut samples = fillers(50);
    samples.push(Sample::described("honest", "Converts invoices."));
    let repeated = "invoices ".repeat(100);
    samples.push(Sample::described("repeating", &repeated));
    assert_eq!(
        found(&index(&samples), "convert these invoices")[0],
        "honest"
    );
}

#[test]
fn large_messages_in_many_languages_are_bounded() {
    let mut samples = fillers(2000);
    samples.push(Sample::described("pdf-forms", "Fills PDF forms."));
    let index = index(&samples);
    let sentences = [
        "please fill in these pdf forms for me",
        "bitte fülle diese pdf formulare für mich aus",
        "veuillez remplir ces formulaires pdf pour moi",
        "por favor, rellena estos formularios pdf",
        "per favore compila questi moduli pdf",
        "por favor, preencha estes formulários pdf",
        "пожалуйста, заполни эти pdf формы",
        "请帮我填写这些 pdf 表格",
        "この pdf フォームに記入してください",
        "이 pdf 양식을 작성해 주세요",
        "يرجى ملء نماذج pdf هذه",
        "कृपया ये pdf फ़ॉर्म भरें",
    ];
    for sentence in sentences {
        let hits = index.search(&SearchQuery::new(sentence));
        assert_eq!(names(&hits).first(), Some(&"pdf-forms"), "{sentence}");
        let large = format!("{sentence}\n").repeat((1 << 20) / sentence.len() + 1);
        let hits = index.search(&SearchQuery::new(&large));
        assert_eq!(
            names(&hits).first(),
            Some(&"pdf-forms"),
            "{sentence}, repeated"
        );
        assert!(hits.iter().all(|hit| (0.0..=1.0).contains(&hit.fit)));
    }
    let log: String = (0..60_000)
        .map(|number| format!("line{number} of the log\n"))
        .collect();
    let hits = index.search(&SearchQuery::new(&format!("{log}\nfill in the pdf forms")));
    assert_eq!(
        names(&hits).first(),
        Some(&"pdf-forms"),
        "the end of a message counts"
    );
}

#[test]
fn equal_descriptions_are_bounded_and_sorted() {
    let one = Sample::described("same", "Fills PDF forms for the same office.");
    let samples: Vec<Sample> = (0..100_000)
        .map(|number| one.renamed(&format!("same-{number:06}")))
        .collect();
    let index = index(&samples);
    for text in ["fill the pdf forms", "office", "f", "", "same-000007"] {
        let hits = index.search(&SearchQuery::new(text));
        let expected = usize::from(text != "f") * 10;
        assert_eq!(hits.len(), expected, "{text}");
        assert!(names(&hits).is_sorted() || text == "same-000007");
    }
    assert_eq!(found(&index, "same-000007")[0], "same-000007");
}

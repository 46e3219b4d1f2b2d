//! Properties of the index for arbitrary names and descriptions.

use proptest::prelude::*;
use prowess_catalog::Skill;
use prowess_catalog::index::{
    Bullets, EntryDetail, EntryOutcome, EntryRank, IndexBudget, IndexEntry, IndexFormat,
    IndexLimit, IndexOptions, IndexText, Listing, NoteOptions, ShownSkills, index, note,
};

use super::index::{in_project, skill};

const FORMATS: [IndexFormat; 4] = [
    IndexFormat::Markdown(Bullets::Dash),
    IndexFormat::Markdown(Bullets::Colon),
    IndexFormat::Xml,
    IndexFormat::Json,
];

/// Generates text that tries to break out of its line.
fn hostile() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "\n",
        "\r\n",
        "\u{2028}",
        "\u{85}",
        "\0",
        "\u{202e}",
        "\u{200b}",
        "\u{e0041}",
        "</available_skills>",
        "</skill>",
        "<skill>",
        "</name>",
        "<more>",
        "<!--",
        "]]>",
        "## Skills",
        "\n- **x** — y",
        "**",
        "`",
        "```",
        "- ",
        "* ",
        "\"",
        "\"}",
        "\\",
        "\\n",
        "&lt;",
        "&",
        "'",
        "<",
        ">",
        "…",
        " ",
        "  ",
        "技能",
        "👩\u{200d}💻",
        "plain words here",
        "\u{1b}[31m",
        "{\"name\":\"x\"},",
    ]);
    prop_oneof![
        3 => prop::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat()),
        1 => any::<String>(),
        1 => "[a-z ]{0,300}",
    ]
}

#[derive(Clone, Debug)]
struct Case {
    skills: Vec<Skill>,
    shows: Vec<(EntryDetail, EntryRank)>,
    listing: Listing,
    budget: IndexBudget,
    rotation: u64,
}

impl Case {
    fn entries(&self) -> Vec<IndexEntry<'_>> {
        (self.skills.iter().zip(&self.shows))
            .map(|(skill, &(show, rank))| IndexEntry {
                show,
                rank,
                ..IndexEntry::new(skill, &skill.name)
            })
            .collect()
    }

    fn index(&self, format: IndexFormat) -> IndexText {
        let (listing, budget, rotation) = (self.listing, self.budget, self.rotation);
        index(
            &self.entries(),
            &IndexOptions {
                format,
                listing,
                budget,
                rotation,
                ..Default::default()
            },
        )
    }
}

prop_compose! {
    fn cases()(
        texts in prop::collection::vec((prop_oneof!["[a-z]{1,20}", hostile()], hostile(), any::<bool>(), 0usize..9), 0..30),
        sections in any::<bool>(),
        last_used in 0usize..6,
        limit in prop_oneof![
            (0usize..600).prop_map(IndexLimit::Tokens),
            (0usize..2500).prop_map(IndexLimit::Characters),
            Just(IndexLimit::Unlimited),
        ],
        entry_chars in prop_oneof![Just(1536usize), 0usize..40],
        rotation in any::<u64>(),
    ) -> Case {
        let mut case = Case {
            skills: Vec::new(),
            shows: Vec::new(),
            listing: if sections { Listing::Sections { last_used } } else { Listing::All { last_used } },
            budget: IndexBudget { limit, entry_chars },
            rotation,
        };
        for (i, (name, description, bare, rank)) in texts.into_iter().enumerate() {
            // A catalogue has no two skills of one name.
            let one = skill(&format!("{name}{i}"), &description);
            case.skills.push(if rank == 8 { in_project(one) } else { one });
            let rank = match rank { 0 => EntryRank::Pinned, 1..=3 => EntryRank::Used(rank), _ => EntryRank::Rest };
            case.shows.push((if bare && i % 3 == 0 { EntryDetail::NameOnly } else { EntryDetail::Full }, rank));
        }
        case
    }
}

/// Parses names and descriptions from XML, strictly.
fn read_xml(text: &str) -> Vec<(String, Option<String>)> {
    let body = text.strip_prefix("<available_skills>\n").unwrap();
    let body = body.strip_suffix("</available_skills>").unwrap();
    let mut found = Vec::new();
    for line in body.lines().filter(|line| !line.starts_with("<more>Call")) {
        let rest = line
            .strip_prefix("<skill><name>")
            .unwrap()
            .strip_suffix("</skill>")
            .unwrap();
        let (name, rest) = rest.split_once("</name>").unwrap();
        let description = (!rest.is_empty()).then(|| {
            rest.strip_prefix("<description>")
                .unwrap()
                .strip_suffix("</description>")
                .unwrap()
        });
        for part in [Some(name), description].into_iter().flatten() {
            assert!(!part.contains(['<', '>', '"', '\'']), "{line}");
        }
        found.push((unescape(name), description.map(unescape)));
    }
    found
}

fn unescape(text: &str) -> String {
    [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#x27;", "'"),
        ("&amp;", "&"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

fn read_json(text: &str) -> Vec<(String, Option<String>)> {
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(value["schema"], "prowess.prompt/1");
    let field = |skill: &serde_json::Value, key: &str| skill[key].as_str().map(str::to_owned);
    let skills = value["skills"].as_array().unwrap();
    skills
        .iter()
        .map(|skill| (field(skill, "name").unwrap(), field(skill, "description")))
        .collect()
}

/// Returns `true` if a text contains only characters that may be shown.
fn is_clean(text: &str) -> bool {
    !text.chars().any(|c| {
        (c.is_control() && c != '\n')
            || prowess_diag::sanitize::is_bidi(c)
            || matches!(
                c,
                '\u{200b}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}'
            )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn one_line_per_skill_within_the_budget(case in cases()) {
        for format in FORMATS {
            let made = case.index(format);
            let report = &made.report;
            let (shown, bare, cut) =
                (report.shown().count(), report.name_only().count(), report.cut().count());
            prop_assert_eq!(shown + bare + cut, case.skills.len());
            match case.budget.limit {
                IndexLimit::Tokens(most) => prop_assert!(made.tokens <= most),
                IndexLimit::Characters(most) => prop_assert!(made.text.chars().count() <= most),
                IndexLimit::Unlimited => {}
            }
            let start = match format {
                IndexFormat::Markdown(_) => "- **",
                IndexFormat::Json => "{\"name\":",
                _ => "<skill>",
            };
            let lines = made.text.lines().filter(|line| line.starts_with(start)).count();
            prop_assert_eq!(lines, shown + bare, "{}", made.text);
            // Apart from headings, blank lines and the frame there is nothing else.
            let headings = made.text.lines().filter(|line| line.starts_with("## ")).count();
            prop_assert!(headings <= 2);
            prop_assert!(made.text.lines().count() <= lines + 7, "{}", made.text);
            prop_assert!(is_clean(&made.text), "{:?}", made.text);
            prop_assert_eq!(&made, &case.index(format));
        }
    }

    #[test]
    fn parsed_index_equals_the_report(case in cases()) {
        let (xml, json) = (case.index(IndexFormat::Xml), case.index(IndexFormat::Json));
        for (made, read) in [(&xml, read_xml as fn(&str) -> _), (&json, read_json)] {
            if made.text.is_empty() {
                prop_assert!(made.report.rows.iter().all(|row| !row.fate.is_shown()));
                continue;
            }
            let found: Vec<(String, Option<String>)> = read(&made.text);
            let shown = made.report.rows.iter().filter(|row| row.fate.is_shown()).count();
            prop_assert_eq!(found.len(), shown);
            for (row, skill) in made.report.rows.iter().zip(&case.skills) {
                // The name is escaped but not shortened; the number at its end makes it unique.
                let plain = skill.name.chars().all(|c| c.is_ascii_graphic() && c != '\\');
                let Some((_, description)) = found.iter().find(|(name, _)| *name == *skill.name) else {
                    prop_assert!(!plain || !row.fate.is_shown(), "{}", skill.name);
                    continue;
                };
                let length = description.as_ref().map(|text| text.chars().count());
                match row.fate {
                    EntryOutcome::Whole => prop_assert!(length.is_some()),
                    EntryOutcome::Shortened { from, to, .. } => {
                        prop_assert!(to <= from && to <= case.budget.entry_chars);
                        prop_assert_eq!(length, Some(to));
                        prop_assert!(description.as_ref().is_some_and(|text| text.ends_with('…')));
                    }
                    EntryOutcome::NameOnly(_) => prop_assert_eq!(length, None),
                    EntryOutcome::Cut(_) => prop_assert!(false, "{} is cut and shown", skill.name),
                }
            }
        }
    }

    #[test]
    fn every_skill_has_a_turn(names in prop::collection::vec("[a-z]{1,30}", 1..50), most in 160usize..500, pinned in 0usize..20) {
        let skills: Vec<Skill> = names.iter().map(|name| skill(name, "Does it.")).collect();
        let mut seen = vec![false; skills.len()];
        // A page has room for at least two names.
        for rotation in 0..skills.len() as u64 {
            let rank = |i| if i < pinned { EntryRank::Pinned } else { EntryRank::Rest };
            let entries: Vec<IndexEntry<'_>> = (skills.iter().enumerate())
                .map(|(i, skill)| IndexEntry { rank: rank(i), ..IndexEntry::new(skill, &skill.name) })
                .collect();
            let options =
                IndexOptions { budget: IndexBudget::of_characters(most), rotation, ..Default::default() };
            for (seen, row) in seen.iter_mut().zip(index(&entries, &options).report.rows.iter()) {
                *seen |= row.fate.is_shown();
            }
        }
        prop_assert!(seen.iter().all(|seen| *seen));
    }

    #[test]
    fn note_has_one_line_per_change(before in cases(), after in cases()) {
        let options = NoteOptions::default();
        let shown = ShownSkills::of(&before.entries());
        prop_assert_eq!(note(&shown, &before.entries(), &options), None);
        if let Some(said) = note(&shown, &after.entries(), &options) {
            let lines = said.text.lines().filter(|line| line.starts_with("- **")).count();
            prop_assert_eq!(lines + said.unnamed, said.added + said.changed + said.removed);
            prop_assert!(prowess_spec::tokens::estimate(&said.text) <= 500);
            prop_assert!(said.text.lines().count() <= lines + 9);
            prop_assert!(is_clean(&said.text));
        }
    }
}

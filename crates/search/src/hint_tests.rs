//! Tests of hints.

use prowess_catalog::index::IndexOptions;
use prowess_catalog::{
    Audience, FileStamp, Precedence, Scope, SkillForm, SkillId, SkillLocation, SkillOrigin,
    Visibility, VisibilityOverride,
};
use prowess_spec::parse;

use super::*;
use crate::{GOOD_FIT, SearchDocument};

fn skill(name: &str, rest: &str) -> Arc<Skill> {
    let text = format!("---\nname: {name}\n{rest}---\n");
    let place = SkillLocation {
        id: SkillId {
            origin: Arc::new(SkillOrigin::new(Scope::User, 0, "/root")),
            path: name.into(),
        },
        form: SkillForm::Folder,
        location: prowess_catalog::Location::default(),
        given: Some(name),
        stamp: FileStamp::default(),
        sidecar: None,
        fingerprint: 0,
    };
    Arc::new(Skill::from_text(place, &parse(text.as_bytes()), None))
}

/// Some skills and the state of a conversation.
struct Case {
    catalog: Catalog,
    index: SearchIndex,
    policy: Visibility,
    listing: String,
    loaded: &'static [&'static str],
    described: &'static [&'static str],
    options: HintOptions,
}

impl Case {
    /// Returns five skills about different things, and fifty others.
    fn new() -> Self {
        let mut skills = vec![
            skill(
                "pdf-forms",
                "description: Fills in PDF forms and reads their fields.\n",
            ),
            skill(
                "pdf-merge",
                "description: Merges PDF files into one document.\n",
            ),
            skill(
                "deploy",
                "description: Deploys services to Kubernetes clusters.\n",
            ),
            skill(
                "ledger",
                "description: Conventions of bookkeeping.\npaths: books/**/*.dat\n",
            ),
            skill(
                "poems",
                "description: Writes poems and sonnets about the sea.\n",
            ),
        ];
        let others = (0..50).map(|number| {
            let description = format!("description: Explains chapter {number} of the handbook.\n");
            skill(&format!("chapter-{number}"), &description)
        });
        skills.extend(others);
        let documents = skills
            .iter()
            .map(|skill| SearchDocument { skill, body: "" });
        Self {
            index: SearchIndex::build(documents),
            catalog: Catalog::new(skills, Precedence::default(), 0),
            policy: Visibility {
                touched: Some(Vec::new()),
                ..Visibility::default()
            },
            listing: String::new(),
            loaded: &[],
            described: &[],
            options: HintOptions::default(),
        }
    }

    fn hint(&self, message: &str) -> Hint {
        let query = HintQuery::new(message, Path::new("/project"), &[]);
        let mut policy = self.policy.clone();
        let touched = policy.touched.get_or_insert_default();
        touched.extend(query.paths.iter().cloned());
        let view = CatalogView::new(&self.catalog, &policy, Audience::Model);
        hint(&HintRequest {
            query: &query,
            catalog: &self.catalog,
            view: &view,
            index: &self.index,
            listing: &self.listing,
            is_loaded: &|name| self.loaded.contains(&name),
            is_described: &|name| self.described.contains(&name),
            is_untrusted: &|skill| &*skill.name == "poems",
            load_tool: "load_skill",
            options: self.options,
            least_fit: GOOD_FIT,
        })
        .unwrap_or_default()
    }

    fn outcome(&self, message: &str, name: &str) -> Option<HintOutcome> {
        let rows = self.hint(message).rows;
        let row = rows.iter().find(|row| &*row.name == name);
        row.map(|row| row.outcome)
    }
}

const FORMS: &str = "please fill in this PDF form for me";

#[test]
fn fitting_skills_are_described_best_first() {
    let hint = Case::new().hint(FORMS);
    assert!(
        hint.text
            .starts_with("<skill_hints>\nThese skills may fit the message.")
    );
    let lines: Vec<&str> = hint
        .text
        .lines()
        .filter(|line| line.starts_with("- "))
        .collect();
    assert_eq!(
        lines[0],
        "- **pdf-forms** — Fills in PDF forms and reads their fields."
    );
    assert!(!hint.text.contains("deploy"), "{}", hint.text);
    assert!(hint.rows[0].fit >= GOOD_FIT);
    assert!(hint.text.ends_with("</skill_hints>"));
}

#[test]
fn no_hint_without_a_fitting_skill() {
    let case = Case::new();
    for message in [
        "thanks",
        "",
        "?",
        "x",
        "what is the weather like today?",
        "  \n",
    ] {
        assert_eq!(case.hint(message).text, "", "{message:?}");
    }
}

#[test]
fn outcome_says_why_a_skill_is_not_in_the_hint() {
    use HintOutcome::{Described, Hidden, Loaded, Named, Repeated, Surplus, Weak};
    let mut case = Case::new();
    let both = "fill in the fields of this PDF form, then merge the PDF files into one document";
    assert_eq!(case.outcome(both, "pdf-forms"), Some(Described));
    assert_eq!(case.outcome(both, "pdf-merge"), Some(Described));
    assert_eq!(
        case.outcome(
            "deploy it and read chapter 7 about clusters on Kubernetes",
            "chapter-0"
        ),
        Some(Weak)
    );
    case.options.skills = 1;
    let outcomes = ["pdf-forms", "pdf-merge"].map(|name| case.outcome(both, name));
    assert!(outcomes.contains(&Some(Described)) && outcomes.contains(&Some(Surplus)));
    case.options.skills = 5;
    case.loaded = &["pdf-forms"];
    case.described = &["pdf-merge"];
    assert_eq!(case.outcome(both, "pdf-forms"), Some(Loaded));
    assert_eq!(case.outcome(both, "pdf-merge"), Some(Repeated));
    assert_eq!(case.hint(both).text, "");
    (case.loaded, case.described) = (&[], &[]);
    let off = VisibilityOverride::UserOnly;
    case.policy.overrides.insert("pdf-forms".to_owned(), off);
    assert_eq!(
        case.outcome(both, "pdf-forms"),
        Some(Hidden(HiddenReason::LeftToPeople))
    );
    let name_only = VisibilityOverride::NameOnly;
    case.policy
        .overrides
        .insert("pdf-forms".to_owned(), name_only);
    assert_eq!(case.outcome(both, "pdf-forms"), Some(Named));
    assert!(case.hint(both).text.contains("- **pdf-forms**\n"));
    case.policy.overrides.insert("poems".to_owned(), name_only);
    // The name has no word of the message, so the match must come from the hidden description.
    assert_eq!(
        case.outcome("write sonnets about the sea", "poems"),
        Some(Weak)
    );
}

#[test]
fn hidden_description_does_not_count() {
    let rows = |description: &str, message: &str| {
        let mut case = Case::new();
        let mut skills = vec![skill(
            "release-notes",
            &format!("description: {description}\n"),
        )];
        skills.extend(case.catalog.listed().map(|entry| Arc::clone(&entry.skill)));
        let documents = skills
            .iter()
            .map(|skill| SearchDocument { skill, body: "" });
        case.index = SearchIndex::build(documents);
        case.catalog = Catalog::new(skills, Precedence::default(), 0);
        let name_only = VisibilityOverride::NameOnly;
        case.policy
            .overrides
            .insert("release-notes".to_owned(), name_only);
        let mut rows = case.hint(message).rows;
        rows.retain(|row| &*row.name == "release-notes" || row.outcome.is_shown());
        rows.sort_by(|one, other| one.name.cmp(&other.name));
        rows
    };
    for message in [
        "write the release notes for this PDF form",
        "write notes about this PDF form",
        FORMS,
    ] {
        let other = rows("Cooks soup.", message);
        let near = rows("Fills in this PDF form, please.", message);
        // Word frequencies count, so the fits differ a little.
        let shown = |rows: &[HintRow]| -> Vec<(Box<str>, HintOutcome)> {
            let shown = rows.iter().filter(|row| row.outcome.is_shown());
            shown.map(|row| (row.name.clone(), row.outcome)).collect()
        };
        assert_eq!(shown(&other), shown(&near), "{message}");
        let is_named = |(name, _): &(Box<str>, HintOutcome)| &**name == "release-notes";
        let is_whole = message.contains("release notes");
        assert_eq!(shown(&near).iter().any(is_named), is_whole, "{message}");
    }
}

#[test]
fn hidden_skills_do_not_change_the_fit_of_others() {
    let fits = |with_hidden: bool| {
        let mut case = Case::new();
        let mut skills: Vec<Arc<Skill>> = case
            .catalog
            .listed()
            .map(|entry| Arc::clone(&entry.skill))
            .collect();
        for number in 0..if with_hidden { 200 } else { 0 } {
            let name = format!("secret-{number}");
            skills.push(skill(
                &name,
                "description: Fills in PDF forms for the tax office.\n",
            ));
            case.policy
                .overrides
                .insert(name, VisibilityOverride::UserOnly);
        }
        let documents = skills
            .iter()
            .map(|skill| SearchDocument { skill, body: "" });
        case.index = SearchIndex::build(documents);
        case.catalog = Catalog::new(skills, Precedence::default(), 0);
        let hint = case.hint(FORMS);
        let hidden = |row: &&HintRow| matches!(row.outcome, HintOutcome::Hidden(_));
        let count = hint.rows.iter().filter(hidden).count();
        let mut shown = hint.rows;
        shown.retain(|row| !matches!(row.outcome, HintOutcome::Hidden(_)));
        (hint.text, shown, count)
    };
    let (text, rows, _) = fits(false);
    let (same_text, same_rows, hidden) = fits(true);
    assert!(text.contains("**pdf-forms**"), "{text}");
    assert_eq!(text, same_text);
    // Hidden matches take places among the rows that are kept, never the fit of the others.
    assert!(hidden > 0, "hidden matches are still explained");
    assert!(!same_rows.is_empty() && same_rows == rows[..same_rows.len()]);
}

#[test]
fn outcomes_are_bounded() {
    let mut case = Case::new();
    let mut skills: Vec<Arc<Skill>> = (0..2_000)
        .map(|number| {
            let description = format!("description: Fills forms of kind {number}.\n");
            skill(&format!("form-{number}"), &description)
        })
        .collect();
    for number in 0..1_900 {
        case.policy
            .overrides
            .insert(format!("form-{number}"), VisibilityOverride::UserOnly);
    }
    skills.push(skill(
        "zebra",
        "description: Stripes.\npaths: books/**/*.dat\n",
    ));
    let documents = skills
        .iter()
        .map(|skill| SearchDocument { skill, body: "" });
    case.index = SearchIndex::build(documents);
    case.catalog = Catalog::new(skills, Precedence::default(), 0);
    let hint = case.hint("fill the forms in books/a.dat");
    let zebra = hint.rows.iter().find(|row| &*row.name == "zebra");
    assert!(zebra.is_some_and(|row| row.outcome == HintOutcome::Described && row.by_path));
    assert!(
        hint.rows.len() <= MAX_ROWS + case.options.skills,
        "{}",
        hint.rows.len()
    );
}

#[test]
fn description_in_the_index_is_not_repeated() {
    let mut case = Case::new();
    let view = CatalogView::new(&case.catalog, &case.policy, Audience::Model);
    let entries = index::entries(&view, &[]);
    let listing = index::index(&entries, &IndexOptions::default()).text;
    drop(view);
    case.listing = listing;
    assert_eq!(case.outcome(FORMS, "pdf-forms"), Some(HintOutcome::Named));
    let text = case.hint(FORMS).text;
    assert!(text.contains("- **pdf-forms**\n"), "{text}");
    assert!(!text.contains("Fills in"), "{text}");
}

#[test]
fn untrusted_skill_is_marked() {
    let text = Case::new().hint("write sonnets about the sea").text;
    assert!(
        text.contains("- **poems** (not trusted) — Writes poems and sonnets about the sea."),
        "{text}"
    );
}

#[test]
fn file_in_the_message_makes_a_skill_a_candidate() {
    let mut case = Case::new();
    let hint = case.hint("what is in `/project/books/2026/may.dat`?");
    assert!(
        hint.text
            .contains("- **ledger** — Conventions of bookkeeping."),
        "{}",
        hint.text
    );
    let row = hint.rows.iter().find(|row| &*row.name == "ledger").unwrap();
    assert!(row.by_path);
    assert_eq!(
        case.outcome("conventions of bookkeeping", "ledger"),
        Some(HintOutcome::Hidden(HiddenReason::Waiting))
    );
    let name_only = VisibilityOverride::NameOnly;
    case.policy.overrides.insert("ledger".to_owned(), name_only);
    assert_eq!(
        case.outcome("what is in books/2026/may.dat:12?", "ledger"),
        Some(HintOutcome::Named)
    );
}

#[test]
fn hint_fits_its_budget() {
    let mut case = Case::new();
    let message = "PDF forms, PDF files, Kubernetes clusters, poems and sonnets about the sea";
    for tokens in 1..200 {
        case.options.tokens = tokens;
        let text = case.hint(message).text;
        assert!(
            prowess_spec::tokens::estimate(&text) <= tokens,
            "{tokens}: {text}"
        );
    }
    case.options.tokens = 1;
    assert_eq!(
        case.outcome(message, "pdf-forms"),
        Some(HintOutcome::NoRoom)
    );
}

#[test]
fn paths_and_file_kinds_are_read_from_a_message() {
    let check = |message: &str, paths: &[&str], words: &str| {
        let query = HintQuery::new(message, Path::new("/project"), &[]);
        assert_eq!(query.paths, paths, "{message}");
        assert_eq!(
            query.text.strip_prefix(message).unwrap().trim(),
            words,
            "{message}"
        );
    };
    check("sum up report.xlsx.", &["report.xlsx"], "excel spreadsheet");
    check(
        "look at (src/main.rs), \"./a/b.tf\"",
        &["src/main.rs", "a/b.tf"],
        "rust",
    );
    check("shrink the Dockerfile", &["Dockerfile"], "docker");
    check("read /project/notes/x.md", &["notes/x.md"], "markdown");
    check("see https://example.org/a.pdf", &[], "");
    check("e.g. this, i.e. that. 3.5 or v1.2.3!", &[], "");
    check("an excel file a.xlsx", &["a.xlsx"], "spreadsheet");
    for (place, paths) in [
        ("src/main.rs:12", &["src/main.rs"]),
        ("src/main.rs:12:5:", &["src/main.rs"]),
        ("(src/main.rs#L10-L12)", &["src/main.rs"]),
        ("src/main.rs(12,5):", &["src/main.rs"]),
        ("main.rs:7.", &["main.rs"]),
    ] {
        check(&format!("error in {place}"), paths, "rust");
    }
    check(
        "App.js and app/(shop)/page.tsx",
        &["App.js", "app/(shop)/page.tsx"],
        "react typescript",
    );
    check("a server in Node.js, next.js or D3.js", &[], "");
    check("fix the Makefile for a.cpp", &["Makefile", "a.cpp"], "c");
    check("list *.rs", &[], "");
    let recent = ["a.css", "Makefile", "deck.pptx"].map(str::to_owned);
    let query = HintQuery::new("now fix the layout", Path::new("/"), &recent);
    assert_eq!(
        query.text,
        "now fix the layout pptx powerpoint slides makefile css"
    );
    let chinese = "现在请修复这个大型项目中每一页的布局和颜色";
    let query = HintQuery::new(chinese, Path::new("/"), &recent);
    assert_eq!(query.text, chinese);
    let long = "now fix the layout of every page that we have in this large project";
    assert_eq!(HintQuery::new(long, Path::new("/"), &recent).text, long);
}

#[test]
fn long_messages_are_searched_at_both_ends() {
    let middle = "let x = 1; // 漢字\n".repeat(60_000);
    for message in [format!("{FORMS}\n{middle}"), format!("{middle}\n{FORMS}")] {
        let query = HintQuery::new(&message, Path::new("/"), &[]);
        assert!(query.is_cut && query.text.len() <= MAX_MESSAGE + 64);
        assert!(query.text.contains("PDF form"));
    }
    assert!(!HintQuery::new(FORMS, Path::new("/"), &[]).is_cut);
}

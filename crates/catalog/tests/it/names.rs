//! Names, conflicts and differences, also for random sets of skills.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use prowess_catalog::{
    Catalog, CatalogEntry, CatalogPart, ChangeKind, Precedence, Scope, Skill, SkillForm, SkillId,
    SkillOrigin, changes,
};

use crate::sample::{catalog, folder, make, project, root, skill, text, user};

/// Returns the location that a name resolves to, or the error.
fn resolved(catalog: &Catalog, asked: &str) -> String {
    match catalog.resolve(asked) {
        Ok(entry) => entry.skill.location.to_string(),
        Err(fault) => fault.to_string(),
    }
}

fn vendor(scope: Scope, order: u32, vendor: &str, path: &str) -> Arc<SkillOrigin> {
    let mut origin = SkillOrigin::new(scope, order, path);
    origin.vendor = vendor.into();
    Arc::new(origin)
}

fn nested(order: u32, vendor: &str, within: &str) -> Arc<SkillOrigin> {
    let root = format!("/work/{within}/.{vendor}/skills");
    let mut origin = SkillOrigin::new(Scope::Project, order, root);
    (origin.vendor, origin.nested) = (vendor.into(), within.into());
    Arc::new(origin)
}

#[test]
fn every_kind_of_name_resolves_to_its_skill() {
    let codex = vendor(Scope::User, 7, "codex", "/dwelling/.codex/skills");
    let claude = vendor(Scope::User, 6, "claude", "/dwelling/.claude/skills");
    let catalog = catalog(vec![
        folder(&project(), "pdf", &text("pdf", "")),
        folder(&claude, "pdf", &text("pdf", "")),
        folder(&codex, "pdf", &text("pdf", "")),
        folder(&codex, "my-folder", &text("sheets", "")),
    ]);
    let in_codex = "/dwelling/.codex/skills/pdf/SKILL.md";
    for (asked, expected) in [
        ("pdf", "/work/.agents/skills/pdf/SKILL.md"),
        ("  pdf ", "/work/.agents/skills/pdf/SKILL.md"),
        ("ｐｄｆ", "/work/.agents/skills/pdf/SKILL.md"),
        ("project:pdf", "/work/.agents/skills/pdf/SKILL.md"),
        ("user:pdf", "/dwelling/.claude/skills/pdf/SKILL.md"),
        ("user/claude:pdf", "/dwelling/.claude/skills/pdf/SKILL.md"),
        ("user/codex:pdf", in_codex),
        ("/dwelling/.codex/skills:pdf", in_codex),
        (in_codex, in_codex),
        ("my-folder", "/dwelling/.codex/skills/my-folder/SKILL.md"),
        ("extra:pdf", "no skill named `extra:pdf`"),
        ("user/gemini:pdf", "no skill named `user/gemini:pdf`"),
        ("PDF", "no skill named `PDF`"),
        ("", "no skill named ``"),
    ] {
        assert_eq!(resolved(&catalog, asked), expected, "{asked}");
    }
}

#[test]
fn similar_names_are_suggested() {
    let catalog = catalog(
        ["pdf-forms", "pdf-merge", "deploy"]
            .map(|name| skill(name, ""))
            .into(),
    );
    for (asked, near) in [
        ("pdf-form", &["pdf-forms"][..]),
        ("user:deplyo", &["deploy"]),
        ("merge", &["pdf-merge"]),
        ("quite-different", &[]),
    ] {
        let fault = catalog.resolve(asked).unwrap_err();
        let found: Vec<&str> = fault.near.iter().map(|name| &**name).collect();
        assert!(
            found.starts_with(near) && found.is_empty() == near.is_empty(),
            "{found:?}"
        );
        assert_eq!(fault.known, 3);
    }
}

#[test]
fn ambiguous_alias_does_not_resolve() {
    let one = folder(&project(), "shared", &text("one", ""));
    let other = folder(&user(), "shared", &text("other", ""));
    let both = catalog(vec![Arc::clone(&one), other]);
    assert_eq!(resolved(&both, "shared"), "no skill named `shared`");
    let taken = catalog(vec![one, skill("shared", "")]);
    assert_eq!(
        resolved(&taken, "shared"),
        "/work/.agents/skills/shared/SKILL.md"
    );
}

#[test]
fn case_107_configured_winner_shadows_the_other() {
    for (precedence, winner, loser) in [
        (
            Precedence::ProjectFirst,
            "/work/.agents/skills",
            "/dwelling/.agents/skills",
        ),
        (
            Precedence::UserFirst,
            "/dwelling/.agents/skills",
            "/work/.agents/skills",
        ),
    ] {
        let skills = vec![skill("a", ""), folder(&user(), "a", &text("a", ""))];
        let catalog = Catalog::new(skills, precedence, 1);
        let [first, second] = catalog.group("a") else {
            panic!("two entries")
        };
        assert_eq!(&*first.skill.id.origin.root, winner);
        assert_eq!(&*second.skill.id.origin.root, loser);
        assert_eq!(catalog.winner_over(second), Some(first));
        assert_eq!(catalog.listed().len(), 1);
        // The shadowed skill names the location of the winner.
        let news = changes(&Catalog::default(), &catalog);
        let by = first.skill.location.text().into();
        let told: Vec<(&SkillId, &ChangeKind)> = news
            .iter()
            .map(|change| (&change.id, &change.kind))
            .collect();
        let shadowed = ChangeKind::Shadowed { by };
        let expected = [
            (&first.skill.id, &ChangeKind::Added),
            (&second.skill.id, &shadowed),
        ];
        assert_eq!(told, expected);
    }
}

#[test]
fn case_109_nested_name_coexists_with_the_bare_one() {
    let deep = folder(
        &nested(3, "claude", "apps/web"),
        "deploy",
        &text("deploy", ""),
    );
    let both = catalog(vec![skill("deploy", ""), Arc::clone(&deep)]);
    let names: Vec<&str> = both.listed().map(CatalogEntry::name).collect();
    assert_eq!(names, ["apps/web:deploy", "deploy"]);
    assert_eq!(
        resolved(&both, "deploy"),
        "/work/.agents/skills/deploy/SKILL.md"
    );
    assert_eq!(
        resolved(&both, "apps/web:deploy"),
        deep.location.to_string()
    );
    let alone = catalog(vec![Arc::clone(&deep)]);
    assert_eq!(resolved(&alone, "deploy"), deep.location.to_string());
}

#[test]
fn case_114_command_is_named_by_its_path_and_loses_to_a_skill() {
    let commands = vendor(Scope::Project, 1, "claude", "/work/.claude/commands");
    let theirs = vendor(Scope::User, 9, "claude", "/dwelling/.claude/commands");
    let file = "---\nname: other\ndescription: d\n---\nx\n";
    let catalog = catalog(vec![
        make(&commands, "frontend/component.md", SkillForm::Command, file),
        make(&theirs, "frontend/component.md", SkillForm::Command, file),
        make(&commands, "deploy.md", SkillForm::Command, file),
        folder(&user(), "deploy", &text("deploy", "")),
    ]);
    assert_eq!(
        resolved(&catalog, "frontend:component"),
        "/work/.claude/commands/frontend/component.md"
    );
    assert_eq!(
        resolved(&catalog, "user:frontend:component"),
        "/dwelling/.claude/commands/frontend/component.md"
    );
    assert_eq!(
        resolved(&catalog, "deploy"),
        "/dwelling/.agents/skills/deploy/SKILL.md"
    );
    assert_eq!(resolved(&catalog, "other"), "no skill named `other`");
}

#[test]
fn names_from_paths_are_compared_in_normal_form() {
    let commands = root(Scope::Project, 1, "/work/.claude/commands");
    let decomposed = make(&commands, "cafe\u{301}.md", SkillForm::Command, "x");
    let deep = folder(
        &nested(3, "claude", "apps/cafe\u{301}"),
        "deploy",
        &text("deploy", ""),
    );
    let catalog = catalog(vec![decomposed, deep]);
    for asked in [
        "café",
        "cafe\u{301}",
        "apps/café:deploy",
        "apps/cafe\u{301}:deploy",
    ] {
        assert!(catalog.resolve(asked).is_ok(), "{asked}");
    }
}

/// One skill of a random set.
#[derive(Clone, Debug)]
struct Draw {
    origin: usize,
    path: usize,
    name: usize,
    text: u8,
}

const NAMES: [&str; 4] = ["a", "b", "bb", "c"];

fn origins() -> Vec<Arc<SkillOrigin>> {
    vec![
        root(Scope::Program, 0, "program"),
        vendor(Scope::Project, 1, "agents", "/work/.agents/skills"),
        vendor(Scope::Project, 2, "claude", "/work/.claude/skills"),
        vendor(Scope::Project, 3, "claude", "/work/.claude/commands"),
        nested(4, "agents", "apps/web"),
        nested(5, "claude", "apps/web"),
        nested(6, "claude", "apps/a:b"),
        root(Scope::Extra, 7, "/more:colons/skills"),
        vendor(Scope::User, 8, "claude", "/dwelling/.claude/skills"),
        vendor(Scope::User, 9, "claude", "/dwelling/.claude/commands"),
        root(Scope::Bundled, u32::MAX, "bundled"),
    ]
}

fn draw() -> impl Strategy<Value = Draw> {
    (0..origins().len(), 0..NAMES.len(), 0..NAMES.len(), 0..2_u8).prop_map(
        |(origin, path, name, text)| Draw {
            origin,
            path,
            name,
            text,
        },
    )
}

/// Creates the skills of some draws; a path holds one skill.
fn skills(draws: &[Draw]) -> Vec<Arc<Skill>> {
    let origins = origins();
    let mut found: BTreeMap<SkillId, Arc<Skill>> = BTreeMap::new();
    for Draw {
        origin,
        path,
        name,
        text: version,
    } in draws
    {
        let origin = &origins[*origin];
        let text = text(NAMES[*name], &format!("version: '{version}'\n"));
        let skill = if origin.root.ends_with("commands") {
            make(
                origin,
                &format!("x/{}.md", NAMES[*path]),
                SkillForm::Command,
                &text,
            )
        } else {
            folder(origin, NAMES[*path], &text)
        };
        found.insert(skill.id.clone(), skill);
    }
    found.into_values().collect()
}

fn sets() -> impl Strategy<Value = Vec<Draw>> {
    proptest::collection::vec(draw(), 0..14)
}

fn precedence() -> impl Strategy<Value = Precedence> {
    prop_oneof![Just(Precedence::ProjectFirst), Just(Precedence::UserFirst)]
}

/// The listed skills: id, name and version.
type Listed = BTreeMap<SkillId, (String, Arc<Skill>)>;

fn listed(catalog: &Catalog) -> Listed {
    let named = |entry: &CatalogEntry| (entry.name().to_owned(), Arc::clone(&entry.skill));
    catalog
        .listed()
        .map(|entry| (entry.skill.id.clone(), named(entry)))
        .collect()
}

/// Returns the entry of an id.
fn by_id<'c>(catalog: &'c Catalog, id: &SkillId) -> Option<&'c CatalogEntry> {
    catalog.entries().iter().find(|entry| entry.skill.id == *id)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn qualified_name_resolves_back(draws in sets(), precedence in precedence()) {
        let catalog = Catalog::new(skills(&draws), precedence, 1);
        let mut names = BTreeSet::new();
        for entry in catalog.entries() {
            let name = catalog.qualified_name(entry);
            let found = catalog.resolve(&name);
            prop_assert_eq!(found.map(|found| &found.skill.id), Ok(&entry.skill.id), "{}", name);
            prop_assert!(names.insert(name), "every entry has a unique name");
        }
    }

    #[test]
    fn every_name_has_one_winner_and_no_skill_is_lost(
        draws in sets(),
        precedence in precedence(),
    ) {
        let skills = skills(&draws);
        let catalog = Catalog::new(skills.clone(), precedence, 1);
        prop_assert_eq!(catalog.entries().len(), skills.len());
        let names: BTreeSet<&str> = catalog.entries().iter().map(CatalogEntry::name).collect();
        let listed: Vec<&str> = catalog.listed().map(CatalogEntry::name).collect();
        prop_assert_eq!(names.into_iter().collect::<Vec<_>>(), listed);
        for entry in catalog.entries() {
            let winner = catalog.winner_over(entry).unwrap_or(entry);
            prop_assert!(!winner.is_shadowed());
            prop_assert_eq!(winner.name(), entry.name());
            prop_assert!(precedence.compare(&winner.skill, &entry.skill).is_le());
            prop_assert_eq!(catalog.entry_of(&entry.skill), Some(entry));
        }
    }

    #[test]
    fn reading_order_does_not_matter(
        (draws, shuffled) in sets().prop_flat_map(|draws| {
            let skills = skills(&draws);
            (Just(skills.clone()), Just(skills).prop_shuffle())
        }),
        precedence in precedence(),
        size in 1..9_usize,
    ) {
        let one = Catalog::new(draws, precedence, 1);
        // The number of sorting threads does not matter either.
        let part = |part: &[Arc<Skill>]| CatalogPart::new(part.iter().cloned(), precedence);
        let other = Catalog::of_parts(shuffled.chunks(size).map(part), 1);
        prop_assert_eq!(one.entries(), other.entries());
        prop_assert!(one.listed().eq(other.listed()));
        for name in NAMES {
            let id = |catalog: &Catalog| catalog.resolve(name).map(|found| found.skill.id.clone());
            prop_assert_eq!(id(&one), id(&other));
        }
    }

    #[test]
    fn changes_describe_the_difference(before in sets(), after in sets()) {
        let before = catalog(skills(&before));
        let after = catalog(skills(&after));
        let news = changes(&before, &after);
        let mut state = listed(&before);
        for change in &news {
            match change.kind {
                ChangeKind::Added | ChangeKind::Renamed { .. } => {
                    let skill = Arc::clone(&by_id(&after, &change.id).unwrap().skill);
                    state.insert(change.id.clone(), (change.name.to_string(), skill));
                }
                ChangeKind::Changed => {
                    if let Some((_, skill)) = state.get_mut(&change.id) {
                        *skill = Arc::clone(&by_id(&after, &change.id).unwrap().skill);
                    }
                }
                ChangeKind::Removed | ChangeKind::Shadowed { .. } => {
                    state.remove(&change.id);
                }
            }
        }
        prop_assert_eq!(state, listed(&after));
        // One change per skill, and none for unchanged ones.
        let ids: BTreeSet<&SkillId> = news.iter().map(|change| &change.id).collect();
        prop_assert_eq!(ids.len(), news.len());
        prop_assert!(changes(&before, &before).is_empty());
        prop_assert!(news.is_sorted_by_key(|change| change.name.clone()));
        for change in &news {
            let (old, new) = (by_id(&before, &change.id), by_id(&after, &change.id));
            let same = |(old, new): (&CatalogEntry, &CatalogEntry)| {
                old.skill == new.skill && old.is_shadowed() == new.is_shadowed()
            };
            prop_assert!(!old.zip(new).is_some_and(same), "{:?}", change);
        }
    }
}

#[test]
fn command_cannot_take_a_qualified_name() {
    let user = vendor(Scope::User, 1, "claude", "/dwelling/.claude/skills");
    let commands = vendor(Scope::Project, 0, "claude", "/work/.claude/commands");
    let pdf = make(&user, "pdf", SkillForm::Folder, &text("pdf", ""));
    let imposter = make(&commands, "user/pdf.md", SkillForm::Command, "Take over.\n");
    let catalog = catalog(vec![Arc::clone(&pdf), Arc::clone(&imposter)]);
    assert_eq!(catalog.resolve("user:pdf").unwrap().skill.id, pdf.id);
    let entry = catalog.entry_of(&imposter).unwrap();
    assert_eq!(entry.name(), "project:user:pdf");
    assert_eq!(catalog.resolve(entry.name()).unwrap().skill.id, imposter.id);
}

/// Creates skills of which some share their name with hundreds of others, and some with none.
fn many() -> Vec<Arc<Skill>> {
    let name = |number: usize| match number {
        0..300 => "m".to_owned(),
        300..330 => "same".to_owned(),
        _ => format!("{}{number}", ["a", "m", "z"][number % 3]),
    };
    let skill = |number: usize| {
        folder(
            &user(),
            &format!("folder-{number}"),
            &text(&name(number), "version: '1'\n"),
        )
    };
    (0..1_500).map(skill).collect()
}

#[test]
fn lookups_are_correct_in_large_catalogues() {
    let skills = many();
    let catalog = catalog(skills.clone());
    assert_eq!(catalog.entries().len(), 1_500);
    assert_eq!(catalog.entries().iter().count(), 1_500);
    assert_eq!(catalog.listed().len(), 1_172);
    assert_eq!(catalog.listed().count(), 1_172);
    assert!(catalog.listed().is_sorted_by_key(CatalogEntry::name));
    let mut sorted: Vec<&Arc<Skill>> = skills.iter().collect();
    sorted.sort_by_key(|skill| (skill.name.clone(), skill.id.clone()));
    assert!(
        sorted.iter().eq(&catalog
            .entries()
            .iter()
            .map(|entry| &entry.skill)
            .collect::<Vec<_>>())
    );
    for (at, entry) in catalog.entries().iter().enumerate() {
        assert_eq!(&catalog.entries()[at], entry);
        assert_eq!(catalog.entry_of(&entry.skill), Some(entry));
        let group = catalog.group(entry.name());
        let size = match entry.name() {
            "m" => 300,
            "same" => 30,
            _ => 1,
        };
        assert_eq!(group.len(), size, "{}", entry.name());
        let winner = catalog.winner_over(entry).unwrap_or(entry);
        assert_eq!(winner, &group[0]);
    }
    for absent in ["", "M", "a", "mm", "zz"] {
        assert!(catalog.group(absent).is_empty(), "{absent}");
    }
}

#[test]
fn edit_of_one_skill_keeps_the_others() {
    let mut skills = many();
    let before = catalog(skills.clone());
    for at in [0, 150, 299, 300, 777, 1_499] {
        let old = &skills[at];
        let edited = folder(&user(), &old.id.path, &text(&old.name, "version: '2'\n"));
        let after = before.with_texts(&[Arc::clone(&edited)], 2).unwrap();
        let news = changes(&before, &after);
        let told: Vec<(&SkillId, &ChangeKind)> = news
            .iter()
            .map(|change| (&change.id, &change.kind))
            .collect();
        assert_eq!(told, [(&edited.id, &ChangeKind::Changed)]);
        // The result equals a rebuild.
        let unedited = std::mem::replace(&mut skills[at], edited);
        let rebuilt = catalog(skills.clone());
        assert_eq!(after.entries(), rebuilt.entries());
        assert_eq!(changes(&after, &rebuilt), []);
        assert_eq!(changes(&before, &rebuilt), news);
        skills[at] = unedited;
    }
    drop(skills);
    // Unchanged skills are shared by reference; hardly any is held by both catalogues.
    let first = Arc::clone(&before.entries()[0].skill);
    let edited = folder(
        &user(),
        &first.id.path,
        &text(&first.name, "version: '2'\n"),
    );
    let after = before.with_texts(&[edited], 2).unwrap();
    let held = |entry: &&CatalogEntry| Arc::strong_count(&entry.skill) > 1;
    assert!((1..=256).contains(&after.entries().iter().filter(held).count()));
    assert_eq!(
        before.with_texts(&[skill("unheard-of", "")], 2).map(|_| ()),
        None
    );
}

#[test]
fn twenty_thousand_skills_of_one_name_have_unique_names() {
    // With one root only the path distinguishes them; with as many roots, the root does.
    let one = user();
    let alike = |origin: &Arc<SkillOrigin>, number: usize| {
        folder(origin, &format!("s{number}"), &text("same", ""))
    };
    let of_one: Vec<Arc<Skill>> = (0..20_000).map(|number| alike(&one, number)).collect();
    let of_many = (0..20_000_u32).map(|number| {
        let origin = vendor(Scope::Extra, number, "v", &format!("/extra/{number:05}"));
        alike(&origin, number as usize)
    });
    for skills in [of_one, of_many.collect()] {
        let catalog = catalog(skills);
        let entries = catalog.group("same");
        assert_eq!(entries.len(), 20_000);
        // Quadratic work would take minutes here.
        let names: BTreeSet<String> = entries
            .iter()
            .map(|entry| catalog.qualified_name(entry))
            .collect();
        assert_eq!(names.len(), 20_000);
        for entry in [&entries[0], &entries[1], &entries[17], &entries[19_999]] {
            let name = catalog.qualified_name(entry);
            assert_eq!(catalog.resolve(&name), Ok(entry), "{name}");
        }
    }
}

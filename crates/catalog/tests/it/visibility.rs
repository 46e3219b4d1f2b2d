//! Who sees what: §9.3 of the normative cases, Planck's filters, core-agent's scoping.

use std::sync::Arc;

use prowess_catalog::visibility::{GrantFault, Refusal};
use prowess_catalog::{
    Catalog, Grant, Hidden, Origin, Override, Scope, Sight, Skill, View, Visibility, Who,
};

use crate::sample::{catalog, folder, project, skill, text, user};

/// What somebody sees in a listing.
fn seen(catalog: &Catalog, policy: &Visibility, who: Who) -> Vec<String> {
    View::new(catalog, policy, who)
        .visible()
        .map(|(entry, _)| entry.name().to_owned())
        .collect()
}

fn granted(allow: Option<&[&str]>, deny: &[&str]) -> Visibility {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Visibility {
        grant: Grant {
            allow: allow.map(owned),
            deny: owned(deny),
        },
        ..Visibility::default()
    }
}

/// The one skill of this frontmatter, as a model and as a person see it.
fn both(more: &str) -> (Sight, Sight) {
    let catalog = catalog(vec![skill("a", more)]);
    let policy = Visibility::default();
    let sight = |who| View::new(&catalog, &policy, who).sight(&catalog.entries()[0]);
    (sight(Who::Model), sight(Who::Person))
}

/// Refused, exactly as a name that nothing has.
fn assert_absent(catalog: &Catalog, policy: &Visibility, who: Who, asked: &str) {
    let view = View::new(catalog, policy, who);
    let refusal = view.resolve(asked).unwrap_err();
    let Refusal::NotFound(fault) = &refusal else {
        panic!("{asked}: {refusal}")
    };
    let visible = seen(catalog, policy, who);
    assert_eq!(refusal.to_string(), format!("no skill named `{asked}`"));
    assert_eq!(
        fault.known,
        visible.len(),
        "{asked}: the hidden one is not counted"
    );
    for near in &fault.near {
        assert!(
            visible.iter().any(|name| **name == **near),
            "{asked} suggests {near}"
        );
    }
    // The same question where the hidden skills do not exist at all.
    let rest: Vec<Arc<Skill>> = visible
        .iter()
        .map(|name| Arc::clone(&catalog.resolve(name).unwrap().skill))
        .collect();
    let without = crate::sample::catalog(rest);
    assert_eq!(*fault, without.resolve(asked).unwrap_err(), "{asked}");
}

#[test]
fn case_66_disable_model_invocation_hides_from_models_alone() {
    let catalog = catalog(vec![
        skill("a", "disable-model-invocation: true\n"),
        skill("b", ""),
    ]);
    let policy = Visibility::default();
    assert_eq!(seen(&catalog, &policy, Who::Model), ["b"]);
    assert_eq!(seen(&catalog, &policy, Who::Person), ["a", "b"]);
    assert!(
        View::new(&catalog, &policy, Who::Person)
            .resolve("a")
            .is_ok()
    );
    let refusal = View::new(&catalog, &policy, Who::Model)
        .resolve("a")
        .unwrap_err();
    assert_eq!(
        refusal,
        Refusal::NotForYou {
            name: "a".into(),
            why: Hidden::NotForModels
        }
    );
    assert_eq!(
        refusal.to_string(),
        "`a` cannot be used: its author left it to people (`disable-model-invocation`)"
    );
}

#[test]
fn case_67_user_invocable_false_hides_from_people_alone() {
    let catalog = catalog(vec![skill("a", "user-invocable: false\n")]);
    let policy = Visibility::default();
    assert_eq!(seen(&catalog, &policy, Who::Model), ["a"]);
    assert!(
        View::new(&catalog, &policy, Who::Model)
            .resolve("a")
            .is_ok()
    );
    assert_eq!(seen(&catalog, &policy, Who::Person), [""; 0]);
    let refusal = View::new(&catalog, &policy, Who::Person)
        .resolve("a")
        .unwrap_err();
    assert_eq!(
        refusal,
        Refusal::NotForYou {
            name: "a".into(),
            why: Hidden::NotForPeople
        }
    );
}

#[test]
fn case_68_booleans_in_every_spelling() {
    let hidden = (Sight::Hidden(Hidden::NotForModels), Sight::Full);
    for yes in ["true", "True", "Yes", "ON", "1", "'true'"] {
        assert_eq!(
            both(&format!("disable-model-invocation: {yes}\n")),
            hidden,
            "{yes}"
        );
    }
    for no in ["false", "no", "0", "Off", "'false'"] {
        let line = format!("disable-model-invocation: {no}\n");
        assert_eq!(both(&line), (Sight::Full, Sight::Full), "{no}");
        let line = format!("user-invocable: {no}\n");
        assert_eq!(
            both(&line),
            (Sight::Full, Sight::Hidden(Hidden::NotForPeople)),
            "{no}"
        );
    }
    // What is neither counts as the safer value, not as the default; `validate` reports it.
    assert_eq!(both("disable-model-invocation: maybe\n"), hidden);
    let (model, person) = both("user-invocable: maybe\n");
    assert_eq!(
        (model, person),
        (Sight::Full, Sight::Hidden(Hidden::NotForPeople))
    );
}

#[test]
fn case_71_overrides_of_a_person() {
    use Hidden::{LeftToPeople, SwitchedOff};
    let catalog = catalog(vec![skill("a", "")]);
    let hidden = Sight::Hidden;
    for (word, model, person, named) in [
        ("on", Sight::Full, Sight::Full, true),
        ("name-only", Sight::NameOnly, Sight::Full, true),
        (
            "user-invocable-only",
            hidden(LeftToPeople),
            Sight::Full,
            false,
        ),
        ("user-only", hidden(LeftToPeople), Sight::Full, false),
        ("off", hidden(SwitchedOff), hidden(SwitchedOff), false),
    ] {
        let setting = Override::parse(word).unwrap();
        let policy = Visibility {
            overrides: [("a".to_owned(), setting)].into(),
            ..Visibility::default()
        };
        let sight = |who| View::new(&catalog, &policy, who).sight(&catalog.entries()[0]);
        assert_eq!(
            (sight(Who::Model), sight(Who::Person)),
            (model, person),
            "{word}"
        );
        let answer = View::new(&catalog, &policy, Who::Model).resolve("a");
        assert_eq!(answer.is_ok(), named, "{word}");
    }
    assert_eq!(Override::parse("sometimes"), None);
    // Invoking by its full name is an error as well, as if it were not there.
    let off = Visibility {
        overrides: [("a".to_owned(), Override::Off)].into(),
        ..Visibility::default()
    };
    assert_absent(&catalog, &off, Who::Person, "a");
    assert_absent(&catalog, &off, Who::Person, "project:a");
    // An override restricts and never opens what the author closed.
    let closed = crate::sample::catalog(vec![skill("a", "disable-model-invocation: true\n")]);
    let on = Visibility {
        overrides: [("a".to_owned(), Override::On)].into(),
        ..Visibility::default()
    };
    assert_eq!(seen(&closed, &on, Who::Model), [""; 0]);
}

#[test]
fn case_71_an_override_by_the_second_name_counts() {
    let other = folder(&project(), "second", &text("first", ""));
    let catalog = catalog(vec![other]);
    let off = Visibility {
        overrides: [("second".to_owned(), Override::Off)].into(),
        ..Visibility::default()
    };
    assert_absent(&catalog, &off, Who::Model, "first");
}

#[test]
fn case_72_without_a_description_the_first_line_is_listed() {
    let bare = folder(
        &project(),
        "a",
        "---\nname: a\n---\n\n# Deploys the site\n\nMore.\n",
    );
    assert_eq!(
        (&*bare.description, bare.described),
        ("Deploys the site", false)
    );
    assert_eq!(bare.listing_text(), "Deploys the site");
    assert!(skill("a", "").described);
}

#[test]
fn case_109_a_nested_skill_waits_for_a_file_of_its_folder() {
    let mut nested = Origin::new(Scope::Project, 3, "/work/apps/web/.claude/skills");
    nested.nested = "apps/web".into();
    let nested = folder(&Arc::new(nested), "deploy", &text("deploy", ""));
    let catalog = catalog(vec![skill("deploy", ""), nested]);
    let touched = |files: &[&str]| Visibility {
        touched: Some(files.iter().map(|file| (*file).to_owned()).collect()),
        ..Visibility::default()
    };
    for (files, listed) in [
        (&[][..], &["deploy"][..]),
        (&["apps/website/a.ts"], &["deploy"]),
        (&["apps/web/a.ts"], &["apps/web:deploy", "deploy"]),
    ] {
        let policy = touched(files);
        assert_eq!(seen(&catalog, &policy, Who::Model), listed, "{files:?}");
        // Whoever knows the name may use it.
        let view = View::new(&catalog, &policy, Who::Model);
        assert_eq!(
            view.resolve("apps/web:deploy").unwrap().name(),
            "apps/web:deploy"
        );
        assert_eq!(view.resolve("deploy").unwrap().name(), "deploy");
    }
}

#[test]
fn paths_wait_for_a_file_that_matches() {
    let catalog = catalog(vec![skill("a", "paths: ['src/**/*.rs', '[', '*.md']\n")]);
    for (file, listed) in [
        ("src/deep/er/x.rs", true),
        ("README.md", true),
        ("docs/README.md", false),
        ("src/x.ts", false),
    ] {
        let policy = Visibility {
            touched: Some(vec![file.to_owned()]),
            ..Visibility::default()
        };
        assert_eq!(
            !seen(&catalog, &policy, Who::Model).is_empty(),
            listed,
            "{file}"
        );
        assert!(
            View::new(&catalog, &policy, Who::Model)
                .resolve("a")
                .is_ok()
        );
        assert_eq!(
            seen(&catalog, &policy, Who::Person),
            ["a"],
            "people are not kept waiting"
        );
    }
    assert_eq!(
        seen(&catalog, &Visibility::default(), Who::Model),
        ["a"],
        "nobody keeps count"
    );
}

#[test]
fn planck_g1_a_disabled_skill_is_nowhere_but_in_the_store() {
    let catalog = catalog(vec![
        skill("a", "disable-model-invocation: true\n"),
        skill("ab", ""),
    ]);
    let policy = Visibility::default();
    assert_eq!(seen(&catalog, &policy, Who::Model), ["ab"]);
    let refusal = View::new(&catalog, &policy, Who::Model)
        .resolve("aa")
        .unwrap_err();
    let Refusal::NotFound(fault) = refusal else {
        panic!("{refusal}")
    };
    assert_eq!(
        fault.near,
        ["ab".into()],
        "the list of what there is names it neither"
    );
    assert_eq!(catalog.entries().len(), 2);
}

#[test]
fn planck_g3_flipping_the_flag_takes_effect_at_the_next_look() {
    let policy = Visibility::default();
    let before = catalog(vec![skill("a", "disable-model-invocation: true\n")]);
    let after = catalog(vec![skill("a", "disable-model-invocation: false\n")]);
    assert_eq!(seen(&before, &policy, Who::Model), [""; 0]);
    assert_eq!(seen(&after, &policy, Who::Model), ["a"]);
}

#[test]
fn core_agent_a_grant_that_is_left_out_inherits_everything() {
    let catalog = catalog(vec![skill("a", ""), skill("b", "")]);
    assert_eq!(seen(&catalog, &granted(None, &[]), Who::Model), ["a", "b"]);
}

#[test]
fn core_agent_a_list_grants_exactly_these() {
    let catalog = catalog(vec![skill("a", ""), skill("b", ""), skill("c", "")]);
    let policy = granted(Some(&["a", "c"]), &[]);
    assert_eq!(policy.grant.check(&catalog), Ok(()));
    assert_eq!(seen(&catalog, &policy, Who::Model), ["a", "c"]);
    assert!(
        View::new(&catalog, &policy, Who::Model)
            .resolve("a")
            .is_ok()
    );
    assert_absent(&catalog, &policy, Who::Model, "b");
}

#[test]
fn core_agent_an_empty_list_grants_none() {
    let catalog = catalog(vec![skill("a", "")]);
    let policy = granted(Some(&[]), &[]);
    assert_eq!(policy.grant.check(&catalog), Ok(()));
    assert_eq!(seen(&catalog, &policy, Who::Model), [""; 0]);
    assert_absent(&catalog, &policy, Who::Model, "a");
}

#[test]
fn core_agent_an_unknown_name_is_an_error_with_the_number_of_skills() {
    let catalog = catalog(vec![skill("a", ""), skill("b", "")]);
    let fault = granted(Some(&["a", "nope"]), &[])
        .grant
        .check(&catalog)
        .unwrap_err();
    assert_eq!(
        fault.to_string(),
        "no skill named `nope` among the 2 skills that are loaded"
    );
}

#[test]
fn core_agent_naming_skills_where_there_are_none_is_an_error() {
    let fault = granted(Some(&["a"]), &[])
        .grant
        .check(&catalog(Vec::new()))
        .unwrap_err();
    assert_eq!(fault, GrantFault::NothingLoaded);
    assert_eq!(fault.to_string(), "skills are named, but none is loaded");
}

#[test]
fn a_hidden_skill_is_absent_under_every_one_of_its_names() {
    let hidden = folder(&project(), "invoice-tools", &text("invoices", ""));
    let location = hidden.location.to_string();
    let shadowed = folder(&user(), "invoices", &text("invoices", ""));
    let elsewhere = shadowed.location.to_string();
    let catalog = catalog(vec![
        hidden,
        shadowed,
        skill("invoice", ""),
        skill("other", ""),
    ]);
    for policy in [
        granted(None, &["invoices"]),
        granted(Some(&["other", "invoice"]), &[]),
    ] {
        assert_eq!(seen(&catalog, &policy, Who::Model), ["invoice", "other"]);
        for asked in [
            "invoices",
            " invoices ",
            "invoice-tools",
            "project:invoices",
            "user:invoices",
            "/work/.agents/skills:invoices",
            &location,
            &elsewhere,
        ] {
            // The location is asked for as it is written; the message trims nothing.
            assert_absent(&catalog, &policy, Who::Model, asked);
        }
    }
}

#[test]
fn a_denied_name_is_denied_to_every_copy() {
    for denied in ["pdf", " pdf", "ｐｄｆ"] {
        let mine = folder(&project(), "pdf", &text("pdf", ""));
        let theirs = folder(&user(), "pdf", &text("pdf", ""));
        let catalog = catalog(vec![mine, theirs, skill("other", "")]);
        let policy = granted(None, &[denied]);
        assert_eq!(seen(&catalog, &policy, Who::Model), ["other"], "{denied}");
        for asked in ["pdf", "project:pdf", "user:pdf"] {
            assert_absent(&catalog, &policy, Who::Model, asked);
        }
    }
}

#[test]
fn a_denied_second_name_is_denied_to_every_copy() {
    let mine = folder(&project(), "old-pdf", &text("pdf", ""));
    let theirs = folder(&user(), "old-pdf", &text("pdf", ""));
    let catalog = catalog(vec![mine, theirs]);
    let policy = granted(None, &["old-pdf"]);
    for asked in ["pdf", "old-pdf", "user:pdf"] {
        assert_absent(&catalog, &policy, Who::Model, asked);
    }
}

#[test]
fn one_copy_can_be_denied_by_its_qualified_name() {
    let mine = folder(&project(), "pdf", &text("pdf", ""));
    let theirs = folder(&user(), "pdf", &text("pdf", ""));
    let catalog = catalog(vec![mine, theirs]);
    let policy = granted(None, &["user:pdf"]);
    let view = View::new(&catalog, &policy, Who::Model);
    assert_eq!(
        view.resolve("pdf").unwrap().skill.id.origin.scope,
        Scope::Project
    );
    assert_absent(&catalog, &policy, Who::Model, "user:pdf");
}

#[test]
fn denying_counts_more_than_allowing() {
    let catalog = catalog(vec![skill("a", ""), skill("b", "")]);
    let policy = granted(Some(&["a", "b"]), &["b"]);
    assert_eq!(seen(&catalog, &policy, Who::Model), ["a"]);
    assert_absent(&catalog, &policy, Who::Model, "b");
}

#[test]
fn a_nested_copy_falls_under_a_denied_bare_name() {
    let mut nested = Origin::new(Scope::Project, 3, "/work/apps/web/.claude/skills");
    nested.nested = "apps/web".into();
    let nested = folder(&Arc::new(nested), "deploy", &text("deploy", ""));
    let catalog = catalog(vec![nested]);
    assert_eq!(catalog.resolve("deploy").unwrap().name(), "apps/web:deploy");
    assert_absent(
        &catalog,
        &granted(None, &["deploy"]),
        Who::Model,
        "apps/web:deploy",
    );
    assert_absent(
        &catalog,
        &granted(None, &["apps/web:deploy"]),
        Who::Model,
        "deploy",
    );
}

fn set(overrides: &[(&str, Override)]) -> Visibility {
    let overrides = overrides
        .iter()
        .map(|(name, setting)| ((*name).to_owned(), *setting));
    Visibility {
        overrides: overrides.collect(),
        ..Visibility::default()
    }
}

#[test]
fn the_strictest_setting_counts_whatever_the_name() {
    let nested = {
        let mut origin = Origin::new(Scope::Project, 1, "/work/apps/web/.agents/skills");
        origin.nested = "apps/web".into();
        Arc::new(origin)
    };
    let catalog = catalog(vec![
        folder(&project(), "pdf-tools", &text("pdf", "")),
        folder(&nested, "deploy", &text("deploy", "")),
    ]);
    let off = Override::Off;
    // Off under one name is off, whatever is said under another.
    let policy = set(&[("pdf-tools", off), ("pdf", Override::On)]);
    assert_eq!(seen(&catalog, &policy, Who::Model), ["apps/web:deploy"]);
    for (name, left) in [
        ("deploy", "pdf"),
        ("apps/web:deploy", "pdf"),
        ("project:pdf", "apps/web:deploy"),
        ("ｐｄｆ", "apps/web:deploy"),
    ] {
        assert_eq!(
            seen(&catalog, &set(&[(name, off)]), Who::Person),
            [left],
            "{name}"
        );
    }
}

#[test]
fn a_granted_skill_is_seen_although_another_took_its_name() {
    let mine = folder(&user(), "pdf", &text("pdf", ""));
    let catalog = catalog(vec![
        folder(&project(), "pdf", &text("pdf", "")),
        Arc::clone(&mine),
    ]);
    let policy = granted(Some(&["user:pdf"]), &[]);
    let view = View::new(&catalog, &policy, Who::Model);
    let found: Vec<_> = view
        .visible()
        .map(|(entry, _)| (view.name(entry), &entry.skill.id))
        .collect();
    assert_eq!(found, [("user:pdf", &mine.id)]);
    assert_eq!(view.resolve("user:pdf").unwrap().skill.id, mine.id);
    assert!(view.resolve("pdf").is_err());
    // Where the winner is granted too, there is nothing to tell apart.
    assert_eq!(seen(&catalog, &granted(None, &[]), Who::Model), ["pdf"]);
}

#[test]
fn no_alias_answers_to_a_qualified_name() {
    let catalog = catalog(vec![folder(&project(), "user:zip", &text("other", ""))]);
    assert!(catalog.resolve("user:zip").is_err());
    assert!(
        granted(Some(&["user:zip"]), &[])
            .grant
            .check(&catalog)
            .is_err()
    );
}

#[test]
fn two_grants_give_what_both_give() {
    let catalog = catalog(vec![skill("a", ""), skill("b", ""), skill("c", "")]);
    let grant = |allow: Option<&[&str]>, deny: &[&str]| granted(allow, deny).grant;
    let both = |one: &Grant, other: &Grant| {
        let policy = |grant: Grant| Visibility {
            grant,
            ..Visibility::default()
        };
        let found = seen(&catalog, &policy(one.and(other, &catalog)), Who::Model);
        let turned = seen(&catalog, &policy(other.and(one, &catalog)), Who::Model);
        assert_eq!(found, turned, "whichever comes first");
        found
    };
    let all = Grant::default();
    let first = grant(Some(&["a", "b", "gone"]), &[]);
    assert_eq!(both(&all, &all), ["a", "b", "c"]);
    assert_eq!(both(&first, &all), ["a", "b"]);
    assert_eq!(both(&first, &grant(Some(&["c", "b", "gone"]), &[])), ["b"]);
    assert_eq!(both(&first, &grant(None, &["a", "c"])), ["b"]);
    assert!(both(&first, &grant(Some(&[]), &[])).is_empty());
    // Names of one skill are the same, however they are written.
    let by_scope = format!("{}:b", catalog.entries()[1].skill.id.origin.scope.as_str());
    assert!(catalog.resolve(&by_scope).is_ok(), "{by_scope}");
    assert_eq!(both(&first, &grant(Some(&[&by_scope]), &[])), ["b"]);
}

#[test]
fn case_130_paths_are_globs_with_braces_and_one_that_is_wrong_matches_nothing() {
    let awake = |paths: &str, touched: &str| {
        let catalog = catalog(vec![skill("a", &format!("paths: {paths}\n"))]);
        let policy = Visibility {
            touched: Some(vec![touched.to_owned()]),
            ..Visibility::default()
        };
        !seen(&catalog, &policy, Who::Model).is_empty()
    };
    let two = "\"src/**/*.{ts,tsx}, *.md\"";
    let list = "[\"src/**/*.{ts,tsx}\", \"*.md\"]";
    for (touched, expected) in [
        ("src/a.ts", true),
        ("src/deep/er/b.tsx", true),
        ("README.md", true),
        ("src/a.js", false),
        ("lib/a.ts", false),
        ("docs/README.md", false),
        ("tsx}", false),
        ("src/x/*.{ts", false),
    ] {
        assert_eq!(awake(two, touched), expected, "{touched}");
        assert_eq!(awake(list, touched), expected, "{touched}, as a list");
        // One that cannot be read takes nothing away from the others, and gives nothing.
        let wrong = "\"src/[, src/**/*.{ts,tsx}, *.md\"";
        assert_eq!(awake(wrong, touched), expected, "{touched}, beside `src/[`");
    }
    for touched in ["src/[", "src/a", "["] {
        assert!(!awake("\"src/[\"", touched), "{touched}");
    }
    let skill = skill("a", &format!("paths: {two}\n"));
    assert_eq!(skill.paths.len(), 2, "{:?}", skill.paths);
    assert_eq!(
        prowess_catalog::paths::PathGlobs::new(&["[", "*.md"]).unread(),
        ["[".into()]
    );
}

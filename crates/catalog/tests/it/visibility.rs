//! Visibility: §9.3 of the normative cases, Planck's filters, core-agent's scoping.

use std::sync::Arc;

use prowess_catalog::visibility::{LookupRefusal, SkillGrantFault};
use prowess_catalog::{
    Audience, Catalog, CatalogView, HiddenReason, Scope, Skill, SkillGrant, SkillOrigin,
    SkillVisibility, Visibility, VisibilityOverride,
};

use crate::sample::{catalog, folder, project, skill, text, user};

/// Returns the names that an audience sees in a listing.
fn seen(catalog: &Catalog, policy: &Visibility, who: Audience) -> Vec<String> {
    CatalogView::new(catalog, policy, who)
        .visible()
        .map(|(entry, _)| entry.name().to_owned())
        .collect()
}

fn granted(allow: Option<&[&str]>, deny: &[&str]) -> Visibility {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Visibility {
        grant: SkillGrant {
            allow: allow.map(owned),
            deny: owned(deny),
        },
        ..Visibility::default()
    }
}

/// Returns the visibility of a single skill with this frontmatter, for models and for users.
fn both(more: &str) -> (SkillVisibility, SkillVisibility) {
    let catalog = catalog(vec![skill("a", more)]);
    let policy = Visibility::default();
    let sight = |who| CatalogView::new(&catalog, &policy, who).visibility(&catalog.entries()[0]);
    (sight(Audience::Model), sight(Audience::Person))
}

/// Asserts that a lookup is refused exactly like that of an unknown name.
fn assert_absent(catalog: &Catalog, policy: &Visibility, who: Audience, asked: &str) {
    let view = CatalogView::new(catalog, policy, who);
    let refusal = view.resolve(asked).unwrap_err();
    let LookupRefusal::NotFound(fault) = &refusal else {
        panic!("{asked}: {refusal}")
    };
    let visible = seen(catalog, policy, who);
    assert_eq!(refusal.to_string(), format!("no skill named `{asked}`"));
    assert_eq!(
        fault.known,
        visible.len(),
        "{asked}: the hidden skill is not counted"
    );
    for near in &fault.near {
        assert!(
            visible.iter().any(|name| **name == **near),
            "{asked} suggests {near}"
        );
    }
    // The same lookup in a catalogue without the hidden skills.
    let rest: Vec<Arc<Skill>> = visible
        .iter()
        .map(|name| Arc::clone(&catalog.resolve(name).unwrap().skill))
        .collect();
    let without = crate::sample::catalog(rest);
    assert_eq!(*fault, without.resolve(asked).unwrap_err(), "{asked}");
}

#[test]
fn case_66_disable_model_invocation_hides_only_from_models() {
    let catalog = catalog(vec![
        skill("a", "disable-model-invocation: true\n"),
        skill("b", ""),
    ]);
    let policy = Visibility::default();
    assert_eq!(seen(&catalog, &policy, Audience::Model), ["b"]);
    assert_eq!(seen(&catalog, &policy, Audience::Person), ["a", "b"]);
    assert!(
        CatalogView::new(&catalog, &policy, Audience::Person)
            .resolve("a")
            .is_ok()
    );
    let refusal = CatalogView::new(&catalog, &policy, Audience::Model)
        .resolve("a")
        .unwrap_err();
    assert_eq!(
        refusal,
        LookupRefusal::NotForYou {
            name: "a".into(),
            why: HiddenReason::NotForModels
        }
    );
    assert_eq!(
        refusal.to_string(),
        "`a` cannot be used: its author restricted it to users (`disable-model-invocation`)"
    );
}

#[test]
fn case_67_user_invocable_false_hides_only_from_users() {
    let catalog = catalog(vec![skill("a", "user-invocable: false\n")]);
    let policy = Visibility::default();
    assert_eq!(seen(&catalog, &policy, Audience::Model), ["a"]);
    assert!(
        CatalogView::new(&catalog, &policy, Audience::Model)
            .resolve("a")
            .is_ok()
    );
    assert_eq!(seen(&catalog, &policy, Audience::Person), [""; 0]);
    let refusal = CatalogView::new(&catalog, &policy, Audience::Person)
        .resolve("a")
        .unwrap_err();
    assert_eq!(
        refusal,
        LookupRefusal::NotForYou {
            name: "a".into(),
            why: HiddenReason::NotForPeople
        }
    );
}

#[test]
fn case_68_booleans_in_every_spelling() {
    let hidden = (
        SkillVisibility::Hidden(HiddenReason::NotForModels),
        SkillVisibility::Full,
    );
    for yes in ["true", "True", "Yes", "ON", "1", "'true'"] {
        assert_eq!(
            both(&format!("disable-model-invocation: {yes}\n")),
            hidden,
            "{yes}"
        );
    }
    for no in ["false", "no", "0", "Off", "'false'"] {
        let line = format!("disable-model-invocation: {no}\n");
        assert_eq!(
            both(&line),
            (SkillVisibility::Full, SkillVisibility::Full),
            "{no}"
        );
        let line = format!("user-invocable: {no}\n");
        assert_eq!(
            both(&line),
            (
                SkillVisibility::Full,
                SkillVisibility::Hidden(HiddenReason::NotForPeople)
            ),
            "{no}"
        );
    }
    // Other values count as the safer value, not as the default; `validate` reports them.
    assert_eq!(both("disable-model-invocation: maybe\n"), hidden);
    let (model, person) = both("user-invocable: maybe\n");
    assert_eq!(
        (model, person),
        (
            SkillVisibility::Full,
            SkillVisibility::Hidden(HiddenReason::NotForPeople)
        )
    );
}

#[test]
fn case_71_overrides_of_a_user() {
    use HiddenReason::{LeftToPeople, SwitchedOff};
    let catalog = catalog(vec![skill("a", "")]);
    let hidden = SkillVisibility::Hidden;
    for (word, model, person, named) in [
        ("on", SkillVisibility::Full, SkillVisibility::Full, true),
        (
            "name-only",
            SkillVisibility::NameOnly,
            SkillVisibility::Full,
            true,
        ),
        (
            "user-invocable-only",
            hidden(LeftToPeople),
            SkillVisibility::Full,
            false,
        ),
        (
            "user-only",
            hidden(LeftToPeople),
            SkillVisibility::Full,
            false,
        ),
        ("off", hidden(SwitchedOff), hidden(SwitchedOff), false),
    ] {
        let setting = VisibilityOverride::parse(word).unwrap();
        let policy = Visibility {
            overrides: [("a".to_owned(), setting)].into(),
            ..Visibility::default()
        };
        let sight =
            |who| CatalogView::new(&catalog, &policy, who).visibility(&catalog.entries()[0]);
        assert_eq!(
            (sight(Audience::Model), sight(Audience::Person)),
            (model, person),
            "{word}"
        );
        let answer = CatalogView::new(&catalog, &policy, Audience::Model).resolve("a");
        assert_eq!(answer.is_ok(), named, "{word}");
    }
    assert_eq!(VisibilityOverride::parse("sometimes"), None);
    // Invoking it by its full name fails too, as if it did not exist.
    let off = Visibility {
        overrides: [("a".to_owned(), VisibilityOverride::Off)].into(),
        ..Visibility::default()
    };
    assert_absent(&catalog, &off, Audience::Person, "a");
    assert_absent(&catalog, &off, Audience::Person, "project:a");
    // An override restricts; it never permits what the author forbids.
    let closed = crate::sample::catalog(vec![skill("a", "disable-model-invocation: true\n")]);
    let on = Visibility {
        overrides: [("a".to_owned(), VisibilityOverride::On)].into(),
        ..Visibility::default()
    };
    assert_eq!(seen(&closed, &on, Audience::Model), [""; 0]);
}

#[test]
fn case_71_override_by_alias_applies() {
    let other = folder(&project(), "second", &text("first", ""));
    let catalog = catalog(vec![other]);
    let off = Visibility {
        overrides: [("second".to_owned(), VisibilityOverride::Off)].into(),
        ..Visibility::default()
    };
    assert_absent(&catalog, &off, Audience::Model, "first");
}

#[test]
fn case_72_missing_description_is_the_first_line() {
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
fn case_109_nested_skill_waits_for_a_file_of_its_folder() {
    let mut nested = SkillOrigin::new(Scope::Project, 3, "/work/apps/web/.claude/skills");
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
        assert_eq!(
            seen(&catalog, &policy, Audience::Model),
            listed,
            "{files:?}"
        );
        // A caller that knows the name may use it.
        let view = CatalogView::new(&catalog, &policy, Audience::Model);
        assert_eq!(
            view.resolve("apps/web:deploy").unwrap().name(),
            "apps/web:deploy"
        );
        assert_eq!(view.resolve("deploy").unwrap().name(), "deploy");
    }
}

#[test]
fn paths_wait_for_a_matching_file() {
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
            !seen(&catalog, &policy, Audience::Model).is_empty(),
            listed,
            "{file}"
        );
        assert!(
            CatalogView::new(&catalog, &policy, Audience::Model)
                .resolve("a")
                .is_ok()
        );
        assert_eq!(
            seen(&catalog, &policy, Audience::Person),
            ["a"],
            "users do not wait for files"
        );
    }
    assert_eq!(
        seen(&catalog, &Visibility::default(), Audience::Model),
        ["a"],
        "files are not tracked"
    );
}

#[test]
fn planck_g1_disabled_skill_is_only_in_the_store() {
    let catalog = catalog(vec![
        skill("a", "disable-model-invocation: true\n"),
        skill("ab", ""),
    ]);
    let policy = Visibility::default();
    assert_eq!(seen(&catalog, &policy, Audience::Model), ["ab"]);
    let refusal = CatalogView::new(&catalog, &policy, Audience::Model)
        .resolve("aa")
        .unwrap_err();
    let LookupRefusal::NotFound(fault) = refusal else {
        panic!("{refusal}")
    };
    assert_eq!(
        fault.near,
        ["ab".into()],
        "suggestions do not name it either"
    );
    assert_eq!(catalog.entries().len(), 2);
}

#[test]
fn planck_g3_changing_the_flag_takes_effect_at_the_next_lookup() {
    let policy = Visibility::default();
    let before = catalog(vec![skill("a", "disable-model-invocation: true\n")]);
    let after = catalog(vec![skill("a", "disable-model-invocation: false\n")]);
    assert_eq!(seen(&before, &policy, Audience::Model), [""; 0]);
    assert_eq!(seen(&after, &policy, Audience::Model), ["a"]);
}

#[test]
fn core_agent_missing_grant_inherits_everything() {
    let catalog = catalog(vec![skill("a", ""), skill("b", "")]);
    assert_eq!(
        seen(&catalog, &granted(None, &[]), Audience::Model),
        ["a", "b"]
    );
}

#[test]
fn core_agent_list_grants_exactly_its_skills() {
    let catalog = catalog(vec![skill("a", ""), skill("b", ""), skill("c", "")]);
    let policy = granted(Some(&["a", "c"]), &[]);
    assert_eq!(policy.grant.check(&catalog), Ok(()));
    assert_eq!(seen(&catalog, &policy, Audience::Model), ["a", "c"]);
    assert!(
        CatalogView::new(&catalog, &policy, Audience::Model)
            .resolve("a")
            .is_ok()
    );
    assert_absent(&catalog, &policy, Audience::Model, "b");
}

#[test]
fn core_agent_empty_list_grants_none() {
    let catalog = catalog(vec![skill("a", "")]);
    let policy = granted(Some(&[]), &[]);
    assert_eq!(policy.grant.check(&catalog), Ok(()));
    assert_eq!(seen(&catalog, &policy, Audience::Model), [""; 0]);
    assert_absent(&catalog, &policy, Audience::Model, "a");
}

#[test]
fn core_agent_unknown_name_is_an_error_with_the_number_of_skills() {
    let catalog = catalog(vec![skill("a", ""), skill("b", "")]);
    let fault = granted(Some(&["a", "nope"]), &[])
        .grant
        .check(&catalog)
        .unwrap_err();
    assert_eq!(
        fault.to_string(),
        "no skill named `nope` among the 2 loaded skills"
    );
}

#[test]
fn core_agent_naming_skills_without_any_loaded_is_an_error() {
    let fault = granted(Some(&["a"]), &[])
        .grant
        .check(&catalog(Vec::new()))
        .unwrap_err();
    assert_eq!(fault, SkillGrantFault::NothingLoaded);
    assert_eq!(
        fault.to_string(),
        "the grant names skills, but none are loaded"
    );
}

#[test]
fn hidden_skill_is_absent_under_each_of_its_names() {
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
        assert_eq!(
            seen(&catalog, &policy, Audience::Model),
            ["invoice", "other"]
        );
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
            // Locations are looked up as written; the error does not trim them.
            assert_absent(&catalog, &policy, Audience::Model, asked);
        }
    }
}

#[test]
fn denied_name_applies_to_every_copy() {
    for denied in ["pdf", " pdf", "ｐｄｆ"] {
        let mine = folder(&project(), "pdf", &text("pdf", ""));
        let theirs = folder(&user(), "pdf", &text("pdf", ""));
        let catalog = catalog(vec![mine, theirs, skill("other", "")]);
        let policy = granted(None, &[denied]);
        assert_eq!(
            seen(&catalog, &policy, Audience::Model),
            ["other"],
            "{denied}"
        );
        for asked in ["pdf", "project:pdf", "user:pdf"] {
            assert_absent(&catalog, &policy, Audience::Model, asked);
        }
    }
}

#[test]
fn denied_alias_applies_to_every_copy() {
    let mine = folder(&project(), "old-pdf", &text("pdf", ""));
    let theirs = folder(&user(), "old-pdf", &text("pdf", ""));
    let catalog = catalog(vec![mine, theirs]);
    let policy = granted(None, &["old-pdf"]);
    for asked in ["pdf", "old-pdf", "user:pdf"] {
        assert_absent(&catalog, &policy, Audience::Model, asked);
    }
}

#[test]
fn single_copy_can_be_denied_by_its_qualified_name() {
    let mine = folder(&project(), "pdf", &text("pdf", ""));
    let theirs = folder(&user(), "pdf", &text("pdf", ""));
    let catalog = catalog(vec![mine, theirs]);
    let policy = granted(None, &["user:pdf"]);
    let view = CatalogView::new(&catalog, &policy, Audience::Model);
    assert_eq!(
        view.resolve("pdf").unwrap().skill.id.origin.scope,
        Scope::Project
    );
    assert_absent(&catalog, &policy, Audience::Model, "user:pdf");
}

#[test]
fn deny_overrides_allow() {
    let catalog = catalog(vec![skill("a", ""), skill("b", "")]);
    let policy = granted(Some(&["a", "b"]), &["b"]);
    assert_eq!(seen(&catalog, &policy, Audience::Model), ["a"]);
    assert_absent(&catalog, &policy, Audience::Model, "b");
}

#[test]
fn denied_bare_name_applies_to_nested_copies() {
    let mut nested = SkillOrigin::new(Scope::Project, 3, "/work/apps/web/.claude/skills");
    nested.nested = "apps/web".into();
    let nested = folder(&Arc::new(nested), "deploy", &text("deploy", ""));
    let catalog = catalog(vec![nested]);
    assert_eq!(catalog.resolve("deploy").unwrap().name(), "apps/web:deploy");
    assert_absent(
        &catalog,
        &granted(None, &["deploy"]),
        Audience::Model,
        "apps/web:deploy",
    );
    assert_absent(
        &catalog,
        &granted(None, &["apps/web:deploy"]),
        Audience::Model,
        "deploy",
    );
}

fn set(overrides: &[(&str, VisibilityOverride)]) -> Visibility {
    let overrides = overrides
        .iter()
        .map(|(name, setting)| ((*name).to_owned(), *setting));
    Visibility {
        overrides: overrides.collect(),
        ..Visibility::default()
    }
}

#[test]
fn strictest_setting_applies_under_any_name() {
    let nested = {
        let mut origin = SkillOrigin::new(Scope::Project, 1, "/work/apps/web/.agents/skills");
        origin.nested = "apps/web".into();
        Arc::new(origin)
    };
    let catalog = catalog(vec![
        folder(&project(), "pdf-tools", &text("pdf", "")),
        folder(&nested, "deploy", &text("deploy", "")),
    ]);
    let off = VisibilityOverride::Off;
    // Off under one name is off, whatever another name says.
    let policy = set(&[("pdf-tools", off), ("pdf", VisibilityOverride::On)]);
    assert_eq!(
        seen(&catalog, &policy, Audience::Model),
        ["apps/web:deploy"]
    );
    for (name, left) in [
        ("deploy", "pdf"),
        ("apps/web:deploy", "pdf"),
        ("project:pdf", "apps/web:deploy"),
        ("ｐｄｆ", "apps/web:deploy"),
    ] {
        assert_eq!(
            seen(&catalog, &set(&[(name, off)]), Audience::Person),
            [left],
            "{name}"
        );
    }
}

#[test]
fn granted_skill_is_visible_although_shadowed() {
    let mine = folder(&user(), "pdf", &text("pdf", ""));
    let catalog = catalog(vec![
        folder(&project(), "pdf", &text("pdf", "")),
        Arc::clone(&mine),
    ]);
    let policy = granted(Some(&["user:pdf"]), &[]);
    let view = CatalogView::new(&catalog, &policy, Audience::Model);
    let found: Vec<_> = view
        .visible()
        .map(|(entry, _)| (view.name(entry), &entry.skill.id))
        .collect();
    assert_eq!(found, [("user:pdf", &mine.id)]);
    assert_eq!(view.resolve("user:pdf").unwrap().skill.id, mine.id);
    assert!(view.resolve("pdf").is_err());
    // If the winner is granted too, nothing needs to be distinguished.
    assert_eq!(
        seen(&catalog, &granted(None, &[]), Audience::Model),
        ["pdf"]
    );
}

#[test]
fn aliases_do_not_match_qualified_names() {
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
fn intersection_of_two_grants() {
    let catalog = catalog(vec![skill("a", ""), skill("b", ""), skill("c", "")]);
    let grant = |allow: Option<&[&str]>, deny: &[&str]| granted(allow, deny).grant;
    let both = |one: &SkillGrant, other: &SkillGrant| {
        let policy = |grant: SkillGrant| Visibility {
            grant,
            ..Visibility::default()
        };
        let found = seen(&catalog, &policy(one.and(other, &catalog)), Audience::Model);
        let turned = seen(&catalog, &policy(other.and(one, &catalog)), Audience::Model);
        assert_eq!(found, turned, "in either order");
        found
    };
    let all = SkillGrant::default();
    let first = grant(Some(&["a", "b", "gone"]), &[]);
    assert_eq!(both(&all, &all), ["a", "b", "c"]);
    assert_eq!(both(&first, &all), ["a", "b"]);
    assert_eq!(both(&first, &grant(Some(&["c", "b", "gone"]), &[])), ["b"]);
    assert_eq!(both(&first, &grant(None, &["a", "c"])), ["b"]);
    assert!(both(&first, &grant(Some(&[]), &[])).is_empty());
    // Different names of one skill are equal.
    let by_scope = format!("{}:b", catalog.entries()[1].skill.id.origin.scope.as_str());
    assert!(catalog.resolve(&by_scope).is_ok(), "{by_scope}");
    assert_eq!(both(&first, &grant(Some(&[&by_scope]), &[])), ["b"]);
}

#[test]
fn case_130_paths_support_braces_and_invalid_globs_match_nothing() {
    let awake = |paths: &str, touched: &str| {
        let catalog = catalog(vec![skill("a", &format!("paths: {paths}\n"))]);
        let policy = Visibility {
            touched: Some(vec![touched.to_owned()]),
            ..Visibility::default()
        };
        !seen(&catalog, &policy, Audience::Model).is_empty()
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
        // An invalid glob neither removes nor adds matches.
        let wrong = "\"src/[, src/**/*.{ts,tsx}, *.md\"";
        assert_eq!(awake(wrong, touched), expected, "{touched}, with `src/[`");
    }
    for touched in ["src/[", "src/a", "["] {
        assert!(!awake("\"src/[\"", touched), "{touched}");
    }
    let skill = skill("a", &format!("paths: {two}\n"));
    assert_eq!(skill.paths.len(), 2, "{:?}", skill.paths);
    assert_eq!(
        prowess_catalog::path_globs::PathGlobs::new(&["[", "*.md"]).unread(),
        ["[".into()]
    );
}

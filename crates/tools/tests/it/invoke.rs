//! What a person types.

use prowess_catalog::VisibilityOverride;
use prowess_tools::{Called, Given, Typed, Workshop, activate, typed};

use crate::support::World;

fn world() -> World {
    let world = World::new();
    for name in ["a", "b", "c", "d", "e", "f", "g"] {
        world.skill(name, "", &format!("This is {name}: $ARGUMENTS."));
    }
    world
        .skill("fork", "context: fork\n", "Apart.")
        .skill("models", "user-invocable: false\n", "Not for people.")
        .skill(
            "loop",
            "argument-hint: \"[/command]\"\n",
            "Again: $ARGUMENTS.",
        );
    world
}

fn called(workshop: &Workshop, message: &str) -> Vec<(String, String)> {
    match typed(workshop, message) {
        Typed::Skills(called) => called
            .into_iter()
            .map(|called| (called.name.to_string(), called.arguments.to_string()))
            .collect(),
        other => panic!("{message}: {other:?}"),
    }
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect()
}

#[test]
fn case_104_a_row_of_skills_gets_the_same_text() {
    let world = world();
    let workshop = world.workshop();
    assert_eq!(
        called(&workshop, "/a /b 123"),
        pairs(&[("a", "123"), ("b", "123")])
    );
    for (name, text) in called(&workshop, "/a /b 123") {
        let given = Given::by_person(prowess_render::Arguments::from_text(text));
        let body = activate(&workshop, &name, &given).unwrap().body;
        assert_eq!(body.trim(), format!("This is {name}: 123."));
    }
    // A forked second skill ends the chain, and is what the first is given.
    assert_eq!(
        called(&workshop, "/a /fork 123"),
        pairs(&[("a", "/fork 123")])
    );
    assert_eq!(
        called(&workshop, "/fork /b 123"),
        pairs(&[("fork", "/b 123")])
    );
}

#[test]
fn a_row_ends_at_the_first_other_word() {
    let world = world();
    let workshop = world.workshop();
    for (message, expected) in [
        ("/a", &[("a", "")][..]),
        ("/a  text  more ", &[("a", "text  more")]),
        ("/a\n/b\tx", &[("a", "x"), ("b", "x")]),
        ("/a /zzz 1", &[("a", "/zzz 1")]),
        ("/a /models 1", &[("a", "/models 1")]),
        ("/a x /b", &[("a", "x /b")]),
        ("/a /a 1", &[("a", "1")]),
        ("/loop /a 1", &[("loop", "/a 1")]),
        ("/user:a 1", &[("a", "1")]),
        (
            "/a /b /c /d /e /f /g 1",
            &[
                ("a", "/g 1"),
                ("b", "/g 1"),
                ("c", "/g 1"),
                ("d", "/g 1"),
                ("e", "/g 1"),
                ("f", "/g 1"),
            ],
        ),
    ] {
        assert_eq!(called(&workshop, message), pairs(expected), "{message}");
    }
}

#[test]
fn unknown_names_get_a_near_miss() {
    let world = World::new();
    world
        .skill("deploy", "", "x")
        .skill("models", "user-invocable: false\n", "x");
    let mut workshop = world.workshop();
    let unknown = |name: &str, near: &[&str]| Typed::Unknown {
        name: name.into(),
        near: near.iter().map(|name| Box::from(*name)).collect(),
    };
    assert_eq!(
        typed(&workshop, "/depoly now"),
        unknown("depoly", &["deploy"])
    );
    assert_eq!(typed(&workshop, "/zzz"), unknown("zzz", &[]));
    assert!(matches!(typed(&workshop, "/models"), Typed::Refused(_)));
    workshop
        .visibility
        .overrides
        .insert("deploy".into(), VisibilityOverride::Off);
    assert_eq!(typed(&workshop, "/deploy"), unknown("deploy", &[]));
}

#[test]
fn a_slash_counts_only_at_the_very_beginning() {
    let world = world();
    let workshop = world.workshop();
    for message in [
        "",
        "/",
        "/ a",
        " /a",
        "text /a",
        "/etc/passwd is a file",
        "//a",
        "1/a",
    ] {
        assert_eq!(typed(&workshop, message), Typed::Text, "{message}");
    }
}

#[test]
fn skills_are_mentioned_with_a_dollar() {
    let world = world();
    let workshop = world.workshop();
    let mentions = |names: &[&str]| {
        let one = |name: &&str| Called {
            name: (*name).into(),
            arguments: "".into(),
            forked: *name == "fork",
        };
        Typed::Mentions(names.iter().map(one).collect())
    };
    assert_eq!(
        typed(&workshop, "use $a, then $fork."),
        mentions(&["a", "fork"])
    );
    assert_eq!(typed(&workshop, "($b) $b \"$c\""), mentions(&["b", "c"]));
    for message in ["$HOME and $5", "x$a", "$", "$models", "$$a"] {
        assert_eq!(typed(&workshop, message), Typed::Text, "{message}");
    }
}

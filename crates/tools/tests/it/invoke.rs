//! Parsing of user input.

use prowess_catalog::{Audience, VisibilityOverride};
use prowess_tools::{ActivationRequest, Loaded, ToolContext, Typed, activate, open, typed};

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

fn called(context: &ToolContext, message: &str) -> Vec<(String, String)> {
    match typed(context, message) {
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
    let context = world.context();
    assert_eq!(
        called(&context, "/a /b 123"),
        pairs(&[("a", "123"), ("b", "123")])
    );
    for (name, text) in called(&context, "/a /b 123") {
        let request = ActivationRequest::new(prowess_render::Arguments::from_text(text));
        let skill = open(&context, &name, Audience::Person).unwrap();
        let body = activate(&context, &Loaded::default(), &skill, &request)
            .unwrap()
            .body;
        assert_eq!(body.trim(), format!("This is {name}: 123."));
    }
    // A forked skill ends the list and becomes part of the arguments.
    assert_eq!(
        called(&context, "/a /fork 123"),
        pairs(&[("a", "/fork 123")])
    );
    assert_eq!(
        called(&context, "/fork /b 123"),
        pairs(&[("fork", "/b 123")])
    );
}

#[test]
fn list_of_skills_ends_at_the_first_other_word() {
    let world = world();
    let context = world.context();
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
        assert_eq!(called(&context, message), pairs(expected), "{message}");
    }
}

#[test]
fn unknown_names_have_suggestions() {
    let world = World::new();
    world
        .skill("deploy", "", "x")
        .skill("models", "user-invocable: false\n", "x");
    let mut context = world.context();
    let unknown = |name: &str, near: &[&str]| Typed::Unknown {
        name: name.into(),
        near: near.iter().map(|name| Box::from(*name)).collect(),
    };
    assert_eq!(
        typed(&context, "/depoly now"),
        unknown("depoly", &["deploy"])
    );
    assert_eq!(typed(&context, "/zzz"), unknown("zzz", &[]));
    assert!(matches!(typed(&context, "/models"), Typed::Refused(_)));
    context
        .settings
        .visibility
        .overrides
        .insert("deploy".into(), VisibilityOverride::Off);
    assert_eq!(typed(&context, "/deploy"), unknown("deploy", &[]));
}

#[test]
fn a_slash_counts_only_at_the_very_beginning() {
    let world = world();
    let context = world.context();
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
        assert_eq!(typed(&context, message), Typed::Text, "{message}");
    }
}

#[test]
fn skills_are_mentioned_with_a_dollar_sign() {
    let world = world();
    let context = world.context();
    let mentioned = |message: &str| match typed(&context, message) {
        Typed::Mentions(called) => called
            .into_iter()
            .map(|one| (one.name.to_string(), one.arguments.to_string(), one.forked))
            .collect::<Vec<_>>(),
        other => panic!("{message}: {other:?}"),
    };
    let one = |name: &str| (name.to_owned(), String::new(), name == "fork");
    assert_eq!(mentioned("use $a, then $fork."), [one("a"), one("fork")]);
    assert_eq!(mentioned("($b) $b \"$c\""), [one("b"), one("c")]);
    for message in ["$HOME and $5", "x$a", "$", "$models", "$$a"] {
        assert_eq!(typed(&context, message), Typed::Text, "{message}");
    }
}

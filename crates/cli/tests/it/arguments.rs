//! Arguments of skills: none is lost, unknown names are errors, missing values are reported.

use crate::world::{Output, World};

/// Returns a world with the skill `greet`, made as the audit made it (X-A9), and `named` (S-B7).
fn world() -> World {
    let world = World::new();
    let greet = world.text("~/.agents/skills/greet");
    world
        .run(&["new", &greet, "--template", "arguments"])
        .expect(0);
    for (name, keys, body) in [
        ("named", "arguments: [a]\n", "Use $a."),
        ("free", "", "Do it."),
    ] {
        world.file(
            format!("~/.agents/skills/{name}/SKILL.md"),
            format!(
                "---\nname: {name}\ndescription: Does it. Use when asked.\n{keys}---\n{body}\n"
            ),
        );
    }
    world
}

/// Runs a skill with the echo model, which repeats the text that it received.
fn run(world: &World, arguments: &[&str]) -> Output {
    let mut all = vec!["run", "--model", "echo"];
    all.extend(arguments);
    world.run(&all)
}

/// Prints what a model receives of a skill.
fn prompt(world: &World, name: &str, arguments: &[&str]) -> Output {
    let mut all = vec!["prompt", "--skill", name];
    all.extend(arguments);
    world.run(&all)
}

/// X-A9: the text became "Convert  to the format ." without a word.
#[test]
fn unknown_argument_is_an_error_with_the_declared_names() {
    let world = world();
    let expected = "error: skill `greet` has no argument `name`\nhint: its arguments are `file` and `format`\n";
    for output in [
        run(&world, &["greet", "--arg", "name=Anna"]),
        prompt(&world, "greet", &["--arg", "name=Anna"]),
        prompt(
            &world,
            "greet",
            &["--arg", "file=a.pdf", "--arg", "name=Anna"],
        ),
    ] {
        let output = output.expect(2);
        assert_eq!(output.stderr, expected);
        assert_eq!(output.stdout, "");
    }
    let output = run(&world, &["named", "--arg", "b=1"]).expect(2);
    let expected = "error: skill `named` has no argument `b`\nhint: its argument is `a`\n";
    assert_eq!(output.stderr, expected);
}

/// Without a key, an unknown argument is still the first error.
#[test]
fn unknown_argument_is_reported_before_a_model_is_chosen() {
    let output = world()
        .run(&["run", "greet", "--arg", "name=Anna"])
        .expect(2);
    assert!(
        output.stderr.contains("has no argument `name`"),
        "{}",
        output.stderr
    );
}

#[test]
fn missing_arguments_are_reported() {
    let world = world();
    let check = |arguments: &[&str], expected: Option<&str>| {
        let ran = run(&world, &[&["greet"], arguments].concat()).expect(0);
        let shown = prompt(&world, "greet", &prompted(arguments)).expect(0);
        for output in [ran, shown] {
            let notes: Vec<&str> = output
                .stderr
                .lines()
                .filter(|line| line.starts_with("note: "))
                .collect();
            let expected: Vec<String> = (expected.iter())
                .map(|names| format!("note: skill `greet` got no value for the {names}"))
                .collect();
            assert_eq!(notes, expected, "{arguments:?}");
        }
    };
    check(&[], Some("arguments `file` and `format`"));
    check(&["a.pdf"], Some("argument `format`"));
    check(&["--arg", "format=md"], Some("argument `file`"));
    check(
        &["--args-json", r#"{"file": "a.pdf"}"#],
        Some("argument `format`"),
    );
    check(&["a.pdf", "md"], None);
    check(&["--arg", "format=md", "--arg", "file=a.pdf"], None);
}

/// Returns the arguments of `run` as those of `prompt --skill`, where text has a flag.
fn prompted<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    match arguments {
        ["a.pdf"] => vec!["--arguments", "a.pdf"],
        ["a.pdf", "md"] => vec!["--arguments", "a.pdf md"],
        other => other.to_vec(),
    }
}

/// S-B7 and row A52, on every way into a skill.
#[test]
fn arguments_without_a_placeholder_are_appended() {
    let world = world();
    let object = r#"{"a":1,"b":2,"note":"important"}"#;
    let expected = "Use 1.\n\nARGUMENTS: {\"b\":2,\"note\":\"important\"}";
    let call = format!(r#"{{"name": "named", "arguments": {object}}}"#);
    for output in [
        run(&world, &["named", "--args-json", object]),
        prompt(&world, "named", &["--args-json", object]),
        world.run(&["tool", "call", "load_skill", "--json", &call]),
    ] {
        let output = output.expect(0);
        assert!(output.stdout.contains(expected), "{}", output.stdout);
    }
    for output in [
        run(&world, &["named", "1", "2", "3"]),
        prompt(&world, "named", &["--arguments", "1 2 3"]),
    ] {
        let output = output.expect(0);
        let expected = "Use 1.\n\nARGUMENTS: 1 2 3";
        assert!(output.stdout.contains(expected), "{}", output.stdout);
    }
    let output = run(&world, &["free", "--arg", "any=1"]).expect(0);
    let expected = "Do it.\n\nARGUMENTS: {\"any\":\"1\"}";
    assert!(output.stdout.contains(expected), "{}", output.stdout);
}

/// Other runtimes are followed exactly, also where they lose an argument.
#[test]
fn compatibility_modes_are_unchanged() {
    let world = world();
    let object = r#"{"a":1,"b":2}"#;
    for (compat, expected) in [
        ("claude-code", "Use 1.\n\n"),
        ("goose", "Use 1.\n\n"),
        ("agentick", "Use 1.\n\n\nARGUMENTS: {\"a\":1,\"b\":2}"),
    ] {
        let with = ["--compat", compat, "--args-json", object];
        let output = prompt(&world, "named", &with).expect(0);
        assert!(
            output.stdout.contains(expected),
            "{compat}: {}",
            output.stdout
        );
        assert_eq!(
            output.stdout.contains("ARGUMENTS"),
            compat == "agentick",
            "{compat}"
        );
        let with = ["--compat", compat, "--arg", "b=2"];
        let output = prompt(&world, "named", &with).expect(0);
        assert!(!output.stderr.contains("has no argument"), "{compat}");
    }
}

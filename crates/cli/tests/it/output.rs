//! Streams, colours, quiet mode and broken pipes.

use crate::world::{Output, World};

fn with_an_error() -> World {
    let world = World::with_a_good_skill();
    world.named("skills/pdf-tools", "PDF-Tools");
    world
}

#[test]
fn quiet_prints_findings() {
    let world = with_an_error();
    let loud = world.run(&["validate", "skills"]).expect(1);
    let quiet = world.run(&["validate", "skills", "-q"]).expect(1);
    assert_eq!(
        (quiet.stdout.as_str(), quiet.stderr.as_str()),
        (loud.stdout.as_str(), "")
    );
    assert_ne!(loud.stderr, "");
}

#[test]
fn very_quiet_prints_nothing() {
    let world = with_an_error();
    let silent = |arguments: &[&str], code| {
        let output = world.run(arguments).expect(code);
        assert_eq!(
            (output.stdout, output.stderr),
            (String::new(), String::new()),
            "{arguments:?}"
        );
    };
    silent(&["validate", "skills", "-qq"], 1);
    silent(&["-qq", "validate", "skills", "--json"], 1);
    silent(&["validate", "skills/release-notes", "-qq"], 0);
    silent(&["validate", "nope", "-qq"], 2);
    silent(&["new", "made", "-qq"], 0);
    silent(&["validate", "made", "-qq"], 0);
}

#[test]
fn quiet_prints_errors() {
    let output = World::new().run(&["validate", "nope/nope", "-q"]).expect(2);
    assert!(
        output
            .stderr
            .starts_with("error: path does not exist: `nope/nope`\n")
    );
}

#[test]
fn quiet_success_prints_nothing() {
    let world = World::with_a_good_skill();
    for arguments in [&["validate", "skills", "-q"], &["new", "made", "-q"]] {
        let output = world.run(arguments).expect(0);
        assert_eq!(
            (output.stdout, output.stderr),
            (String::new(), String::new())
        );
    }
}

fn has_escapes(output: &Output) -> (bool, bool) {
    (
        output.stdout.contains('\x1b'),
        output.stderr.contains('\x1b'),
    )
}

#[test]
fn no_colours_in_a_pipe() {
    let world = with_an_error();
    for arguments in [
        &["validate", "skills"][..],
        &["validate", "nope/nope"],
        &["explain"],
        &["explain", "body-length"],
        &["show", "skills/pdf-tools"],
        &["help", "validate"],
        &["validate", "-h"],
        &["valdate"],
        &[],
    ] {
        assert_eq!(
            has_escapes(&world.run(arguments)),
            (false, false),
            "{arguments:?}"
        );
    }
}

#[test]
fn colours_on_demand() {
    let world = with_an_error();
    let found =
        |arguments: &[&str]| has_escapes(&world.run(&[arguments, &["--color", "always"]].concat()));
    assert_eq!(found(&["validate", "skills"]), (true, false));
    assert_eq!(found(&["validate", "nope/nope"]), (false, true));
    assert_eq!(found(&["explain"]), (true, false));
    assert_eq!(found(&["show", "skills/pdf-tools"]), (true, false));
    for format in ["concise", "json", "github", "sarif"] {
        assert_eq!(
            found(&["validate", "skills", "--format", format]),
            (false, false),
            "{format}"
        );
    }
}

#[test]
fn colours_of_a_finding() {
    let output = with_an_error()
        .run(&["validate", "skills", "--color", "always"])
        .expect(1);
    let shown = output.stdout.replace('\x1b', "␛");
    // The same text, only coloured.
    insta::assert_snapshot!(shown);
}

#[test]
fn colours_by_environment() {
    let world = with_an_error();
    let run = |name: &str, value: &str, flags: &[&str]| {
        let arguments = [&["validate", "skills"], flags].concat();
        has_escapes(&world.command(&arguments).env(name, value).run()).0
    };
    assert!(!run("NO_COLOR", "1", &[]));
    assert!(run("CLICOLOR_FORCE", "1", &[]));
    assert!(!run("CLICOLOR_FORCE", "1", &["--color", "never"]));
    assert!(!run("TERM", "dumb", &[]));
    let both = world
        .command(&["validate", "skills"])
        .env("NO_COLOR", "1")
        .env("CLICOLOR_FORCE", "1");
    assert_eq!(has_escapes(&both.run()), (false, false));
}

#[test]
fn unknown_color_is_refused() {
    let output = World::new()
        .run(&["explain", "--color", "sometimes"])
        .expect(2);
    assert_eq!(output.stdout, "");
    insta::assert_snapshot!(output.snapshot());
}

/// Runs a command whose standard output is already closed.
fn unread(world: &World, arguments: &[&str]) -> Output {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    world.command(arguments).stdout(writer)
}

#[test]
fn broken_pipe_is_not_an_error() {
    let world = World::with_a_good_skill();
    for arguments in [
        &["explain", "-q"][..],
        &["explain", "body-length"],
        &["show", "skills/release-notes"],
        &["list", "-q"],
        &["list", "--json"],
        &["find", "skill", "-q"],
        &["prompt", "-q"],
        &["why", "prowess"],
        &["doctor", "-q"],
        &["completions", "bash"],
        &["schema", "skill"],
        &["help", "validate"],
        &["validate", "-h"],
        &["-h"],
        &[],
        &["--version"],
        &["validate", "skills", "--json", "-q"],
    ] {
        let output = unread(&world, arguments);
        assert_eq!(
            (output.code, output.stderr.as_str()),
            (0, ""),
            "{arguments:?}"
        );
    }
}

/// A broken pipe always exits quietly with 0.
#[test]
fn broken_pipe_with_findings_is_not_an_error() {
    let world = with_an_error();
    for format in ["full", "concise", "json", "github", "sarif"] {
        let output = unread(&world, &["validate", "skills", "-q", "--format", format]);
        assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{format}");
    }
}

#[test]
fn full_device_is_an_error() {
    let world = with_an_error();
    let device = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = world.command(&["validate", "skills"]).stdout(device);
    assert_eq!(
        (output.code, output.stderr.as_str()),
        (
            2,
            "error: cannot write to standard output: no space left on device\n"
        )
    );
}

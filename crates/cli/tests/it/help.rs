//! Help texts, and the examples in them.

use crate::world::World;

/// Returns the commands listed in the root help.
fn commands(world: &World) -> Vec<String> {
    let overview = world.run(&["-h"]).expect(0).stdout;
    let names: Vec<String> = overview
        .lines()
        .skip_while(|line| *line != "Author:")
        .take_while(|line| *line != "Options:")
        .filter_map(|line| line.strip_prefix("  ")?.get(..25))
        .flat_map(|column| column.split(", "))
        .filter_map(|part| part.split_whitespace().next())
        .map(str::to_owned)
        .collect();
    assert!(names.len() >= 6, "{overview}");
    names
}

/// Returns the topics listed in the help of `help`.
fn topics(world: &World) -> Vec<String> {
    let help = world.run(&["help", "-h"]).expect(0).stdout;
    let (_, topics) = help.split_once("or topic: ").expect("topics are named");
    let topics = topics.lines().next().unwrap();
    topics.split(", ").map(str::to_owned).collect()
}

/// Returns the commands under "Examples:" in a help text.
fn examples(help: &str) -> Vec<Vec<String>> {
    let (_, examples) = help
        .split_once("\nExamples:\n")
        .expect("there are examples");
    examples.lines().map(|line| words(line.trim())).collect()
}

/// Returns the words of a command, up to two consecutive spaces, which start the description.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = None;
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            _ if quoted == Some(c) => quoted = None,
            '"' | '\'' if quoted.is_none() => quoted = Some(c),
            ' ' if quoted.is_none() && characters.peek() == Some(&' ') => break,
            ' ' if quoted.is_none() => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    assert!(quoted.is_none(), "a quote is open: {line}");
    words
}

#[test]
fn words_stop_at_the_description() {
    assert_eq!(words("prowess new a   makes  a"), ["prowess", "new", "a"]);
    assert_eq!(words("a --b \"c  d. e\""), ["a", "--b", "c  d. e"]);
}

#[test]
fn root_help() {
    let world = World::new();
    let help = world.run(&["help"]);
    insta::assert_snapshot!(help.snapshot());
    for same in [["-h"], ["--help"]] {
        assert_eq!(world.run(&same).snapshot(), help.snapshot(), "{same:?}");
    }
}

#[test]
fn root_help_fits_one_screen() {
    let help = World::new().run(&["-h"]).expect(0).stdout;
    assert!(help.lines().count() <= 40, "{help}");
    // The first line is wrapped on a terminal; the others are not.
    assert!(
        help.lines().skip(1).all(|line| line.chars().count() <= 80),
        "{help}"
    );
}

#[test]
fn version() {
    let output = World::new().run(&["--version"]).expect(0);
    assert_eq!(
        output.stdout,
        concat!("prowess ", env!("CARGO_PKG_VERSION"), "\n")
    );
    assert_eq!(output.stderr, "");
}

#[test]
fn help_of_every_command() {
    let world = World::new();
    for command in commands(&world) {
        let output = world.run(&[command.as_str(), "-h"]);
        insta::assert_snapshot!(format!("{command}_help"), output.snapshot());
    }
}

/// All ways to ask for help print the same text.
#[test]
fn every_help_command_prints_the_same_text() {
    let world = World::new();
    for command in commands(&world) {
        let output = world.run(&["help", &command]).expect(0);
        assert!(
            !output.stdout.contains("see more with"),
            "{}",
            output.stdout
        );
        for flag in ["-h", "--help"] {
            let flagged = world.run(&[command.as_str(), flag]);
            assert_eq!(flagged.snapshot(), output.snapshot(), "{command} {flag}");
        }
    }
}

/// `help` takes subcommands, and names the nearest one.
#[test]
fn help_of_a_subcommand() {
    let world = World::new();
    for command in [["agent", "run"], ["session", "resume"], ["mcp", "trust"]] {
        let [above, name] = command;
        let output = world.run(&["help", above, name]).expect(0);
        let flagged = world.run(&[above, name, "--help"]);
        assert_eq!(flagged.snapshot(), output.snapshot(), "{command:?}");
    }
    let wrong = world.run(&["help", "agent", "rnu"]).expect(2);
    assert!(
        wrong.stderr.contains("no help for `agent rnu`"),
        "{}",
        wrong.stderr
    );
    assert!(
        wrong.stderr.contains("`prowess help agent run`"),
        "{}",
        wrong.stderr
    );
    let none = world.run(&["help", "agent", "zzzzzz"]).expect(2);
    assert!(
        none.stderr.contains("run `prowess help agent`"),
        "{}",
        none.stderr
    );
    world.run(&["help", "agent", "run", "more"]).expect(2);
    world.run(&["help", "exit-codes", "more"]).expect(2);
}

/// The search stops at a depth, so the help must not promise otherwise.
#[test]
fn every_command_has_a_manual_page() {
    let world = World::new();
    let mut pages: Vec<Vec<String>> = commands(&world)
        .into_iter()
        .map(|name| vec![name])
        .collect();
    for (group, name) in [("mission", "run"), ("mission", "plan"), ("agent", "run")] {
        pages.push(vec![group.to_owned(), name.to_owned()]);
    }
    pages.push(Vec::new());
    for names in pages {
        let mut arguments = vec!["help".to_owned(), "--man".to_owned()];
        arguments.extend(names.iter().cloned());
        let page = world.run(&arguments).expect(0).stdout;
        let title = [&["prowess".to_owned()], &*names].concat().join("-");
        assert!(page.contains(&format!(".TH {title} ")), "{names:?}: {page}");
        let is_alone = names.is_empty();
        assert!(is_alone || page.contains("Examples:"), "{names:?}: {page}");
    }
    world.run(&["help", "--man", "nothing"]).expect(2);
}

#[test]
fn help_does_not_promise_unlimited_depth() {
    let help = World::new().run(&["help", "validate"]).expect(0).stdout;
    assert!(!help.contains("at any depth"), "{help}");
}

#[test]
fn every_topic() {
    let world = World::new();
    for topic in topics(&world) {
        let output = world.run(&["help", &topic]);
        insta::assert_snapshot!(format!("topic_{topic}"), output.snapshot());
    }
}

#[test]
fn root_help_names_every_topic() {
    let world = World::new();
    let overview = world.run(&["-h"]).stdout;
    for topic in topics(&world) {
        assert!(overview.contains(&topic), "{topic}");
    }
}

/// Returns a world in which every example works.
fn prepared() -> World {
    let world = World::new();
    world.good("skills/release-notes");
    world.skill(
        "skills/pdf-tools",
        "name: pdf-tools\nname: pdf-tools\ndescription: Fills in forms. Use when asked.\n",
    );
    world.good(".agents/skills/csv-report");
    world.skill(
        ".agents/skills/release-notes",
        "name: release-notes\ndescription: Says what changed. Use when a version is released.\nmetadata:\n  team: docs\n",
    );
    world.skill(
        "~/.agents/skills/tidy-up",
        "name: tidy-up\ndescription: Tidies up. Use when asked to tidy up.\nallowed-tools: Bash(./scripts/check.sh:*)\n",
    );
    world.file_with_mode(
        "~/.agents/skills/tidy-up/scripts/check.sh",
        "#!/bin/sh\necho tidy\n",
        0o755,
    );
    world.file(
        ".claude/agents/reviewer.md",
        "---\nname: reviewer\ndescription: Reviews code.\n---\nReview it.\n",
    );
    world.file("missions.hcl", crate::missions::RESEARCH);
    world.good("../packed/forms");
    world
        .run(&["pack", "../packed/forms", "--format", "skill"])
        .expect(0);
    world
}

/// Commands whose examples need packages.
const PACKAGE_COMMANDS: &[&str] = &[
    "add", "diff", "fork", "link", "lock", "outdated", "remove", "rollback", "store", "sync",
    "update", "verify",
];

#[test]
fn every_example_works() {
    let world = World::new();
    for command in commands(&world) {
        let found = examples(&world.run(&[command.as_str(), "-h"]).stdout);
        assert!(
            (2..=3).contains(&found.len()),
            "two or three examples of `{command}`: {found:?}"
        );
        for example in found {
            assert_eq!(example[..2], ["prowess".to_owned(), command.clone()]);
            let world = prepared();
            if PACKAGE_COMMANDS.contains(&command.as_str()) {
                crate::packages_journey::install(&world);
            }
            // The id in the help is replaced by the one of a question.
            let id = match example.get(2).map(String::as_str) {
                Some("7k2m9x4p-1") => crate::questions::wait(&world),
                Some("4c8w3t6h-1") => crate::text_questions::wait_for_text(&world),
                _ => String::new(),
            };
            let with_id = |word: String| match &*word {
                "7k2m9x4p-1" | "4c8w3t6h-1" => id.clone(),
                _ => word,
            };
            let example: Vec<String> = example.into_iter().map(with_id).collect();
            let output = world.run(&example[1..]);
            // Trusting needs a terminal.
            let asks = example.len() == 3 && command == "trust" && !example[2].starts_with('-');
            // There are changes.
            let has = |word: &str| example.iter().any(|one| one == word);
            let differs = has("--diff") || (command == "diff" && has("--to"));
            let code = if asks { 3 } else { i32::from(differs) };
            assert_eq!(output.code, code, "{example:?}\n{}", output.snapshot());
            assert!(
                !format!("{}{}", output.stdout, output.stderr).is_empty(),
                "{example:?} says something"
            );
        }
    }
}

/// Examples are laid out by hand and must not be wrapped by the terminal.
#[test]
fn examples_fit_80_columns() {
    let world = World::new();
    for command in commands(&world) {
        let help = world.run(&[command.as_str(), "-h"]).stdout;
        let (_, examples) = help.split_once("\nExamples:\n").unwrap();
        assert!(
            examples.lines().all(|line| line.chars().count() <= 80),
            "{examples}"
        );
    }
}

#[test]
fn every_example_of_validate_fails_on_findings() {
    let world = World::new();
    for example in examples(&world.run(&["validate", "-h"]).stdout) {
        let world = prepared();
        // Cannot be fixed: the description is unknown.
        for folder in ["skills/blank", ".agents/skills/blank"] {
            world.skill(folder, "name: blank\n");
        }
        let output = world.run(&example[1..]);
        assert_eq!(output.code, 1, "{example:?}\n{}", output.snapshot());
    }
}

#[test]
fn examples_of_new_create_valid_skills() {
    let world = World::new();
    for example in examples(&world.run(&["new", "-h"]).stdout) {
        let world = World::new();
        world.run(&example[1..]).expect(0);
        world
            .run(&["validate", ".", "--fail-on", "warning"])
            .expect(0);
        let flags = [
            "validate",
            ".",
            "--ignore",
            "template-text",
            "--fail-on",
            "note",
        ];
        let output = world.run(&flags).expect(0);
        assert_eq!(
            output.errors(),
            "Validated 1 skill in [TIME], no findings\n",
            "{example:?}"
        );
    }
}

#[test]
fn unknown_command_suggests() {
    let output = World::new().run(&["valdate"]).expect(2);
    assert_eq!(output.stdout, "");
    insta::assert_snapshot!(output.snapshot());
}

#[test]
fn unknown_option_suggests() {
    insta::assert_snapshot!(
        World::new()
            .run(&["validate", "--fixx"])
            .expect(2)
            .snapshot()
    );
}

#[test]
fn unknown_format_lists_possible_values() {
    let output = World::new().run(&["validate", "--format", "jsn"]).expect(2);
    insta::assert_snapshot!(output.snapshot());
}

#[test]
fn missing_argument_is_named() {
    insta::assert_snapshot!(World::new().run(&["new"]).expect(2).snapshot());
}

#[test]
fn unknown_topic_suggests_commands_and_topics() {
    let world = World::new();
    for (typed, meant) in [
        ("valdate", "validate"),
        ("exit-code", "exit-codes"),
        ("environmnt", "environment"),
    ] {
        let output = world.run(&["help", typed]).expect(2);
        assert_eq!(
            output.snapshot(),
            format!(
                "exit: 2\n----- stdout -----\n\n----- stderr -----\nerror: no help for `{typed}`\nhint: did you mean `prowess help {meant}`?\n"
            )
        );
    }
}

#[test]
fn unknown_topic_without_a_similar_name() {
    insta::assert_snapshot!(World::new().run(&["help", "zebra"]).expect(2).snapshot());
}

/// Copies a folder of this repository into the world.
fn copy(from: &std::path::Path, world: &World, to: &str) {
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let name = format!("{to}/{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            copy(&entry.path(), world, &name);
        } else {
            let file = world.file(name, "");
            std::fs::copy(entry.path(), file).unwrap();
        }
    }
}

#[test]
fn every_command_in_the_table_of_tasks_works_as_typed() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/guides/tasks.md")).unwrap();
    let rows = page
        .lines()
        .skip_while(|line| *line != "| Task | Command |");
    let rows = rows.skip(2).take_while(|line| line.starts_with('|'));
    let mut count = 0;
    for command in rows.filter_map(|row| row.trim_end_matches("` |").rsplit_once('`')) {
        let command = command
            .1
            .trim_start_matches("source <(")
            .trim_end_matches(')');
        let (command, input) = command.split_once(" < ").unwrap_or((command, ""));
        let world = World::new();
        copy(&root.join("examples"), &world, "examples");
        let arguments = words(command);
        assert_eq!(arguments[0], "prowess", "{command}");
        let run = world.command(&arguments[1..]);
        let run = run.env("PROWESS_SKILLS_PATH", world.path("examples/skills"));
        let input = if input.is_empty() {
            String::new()
        } else {
            world.read(input)
        };
        let output = run.stdin(input).run();
        // There is something to change.
        let code = i32::from(command.ends_with("--diff"));
        assert_eq!(output.code, code, "{command}\n{}", output.snapshot());
        count += 1;
    }
    assert!(count >= 20, "{count} commands");
}

/// Newcomers try the commands in the README first.
#[test]
fn every_command_in_the_readme_works_as_typed() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let mut count = 0;
    for line in readme
        .lines()
        .filter_map(|line| line.strip_prefix("$ prowess "))
    {
        let command = line.split(" # ").next().unwrap_or_default().trim();
        // Needs the id of a session.
        if command.ends_with(" ID") {
            continue;
        }
        let world = World::new();
        copy(&root.join("examples"), &world, "examples");
        world.file("out.json", r#"{ "type": "object" }"#);
        let run = world.command(&words(command));
        let run = run.env("PROWESS_SKILLS_PATH", world.path("examples/skills"));
        let output = run.env("PROWESS_MODEL", "echo").stdin("").run();
        let findings = command.contains("examples/broken") && !command.contains("--fix");
        // The model that repeats its input submits no result.
        let refused = command.contains("--schema");
        let code = i32::from(findings || refused);
        assert_eq!(output.code, code, "{command}\n{}", output.snapshot());
        count += 1;
    }
    assert!(count >= 8, "{count} commands");
}

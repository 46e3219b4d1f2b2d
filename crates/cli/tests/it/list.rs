//! `prowess list`

use serde_json::{Value, json};

use crate::world::{DESCRIPTION, Output, World};

/// Returns a world with skills in every scope; `pdf` exists three times.
fn library() -> World {
    let world = World::new();
    world.good(".agents/skills/pdf");
    world.good(".claude/skills/release-notes");
    world.good("~/.agents/skills/pdf");
    world.good("~/.codex/skills/pdf");
    world.good("~/.claude/skills/csv-report");
    world.good("shared/team-rules");
    world.file(
        ".claude/commands/frontend/component.md",
        "Make a component: $ARGUMENTS\n",
    );
    world.good("apps/web/.agents/skills/deploy");
    world
}

fn named<'o>(document: &'o Value, name: &str) -> &'o Value {
    let skills = document["skills"].as_array().unwrap();
    skills
        .iter()
        .find(|skill| skill["qualified_name"] == name)
        .unwrap_or(&Value::Null)
}

fn names(output: &Output) -> Vec<String> {
    let document = output.json();
    let skills = document["skills"].as_array().unwrap();
    skills
        .iter()
        .map(|skill| skill["qualified_name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn every_location() {
    let world = library();
    let output = world.run(&["list", "--skills-dir", "shared"]).expect(0);
    insta::assert_snapshot!(output.snapshot());
    assert_eq!(
        world.run(&["ls", "--skills-dir", "shared"]).snapshot(),
        output.snapshot()
    );
}

#[test]
fn shadowed_skills_have_qualified_names() {
    let world = library();
    insta::assert_snapshot!(world.run(&["list", "--all"]).expect(0).snapshot());
    let document = world.run(&["list", "--all", "--json"]).expect(0).json();
    assert_eq!(document["schema"], "prowess.list/1");
    let winner = world.path(".agents/skills/pdf/SKILL.md");
    let home = world.path("~");
    for name in ["user:pdf", "user/codex:pdf"] {
        let skill = named(&document, name);
        assert_eq!(skill["name"], "pdf", "{name}");
        assert_eq!(skill["model"], "shadowed", "{name}");
        assert_eq!(skill["shadowed_by"], winner.to_str().unwrap(), "{name}");
        // The qualified name resolves to its skill.
        let shown = world.run(&["show", name, "--json"]).expect(0).json();
        let place = skill["location"]
            .as_str()
            .unwrap()
            .strip_prefix(home.to_str().unwrap());
        assert_eq!(
            shown["file"],
            format!("~/{}", place.unwrap().trim_start_matches('/')),
            "{name}"
        );
    }
    assert_eq!(named(&document, "pdf")["shadowed_by"], Value::Null);
}

#[test]
fn nested_folders_and_commands() {
    let world = library();
    let document = world.run(&["list", "--json"]).expect(0).json();
    let nested = named(&document, "apps/web:deploy");
    assert_eq!(
        (&nested["scope"], &nested["vendor"]),
        (&json!("project"), &json!("agents"))
    );
    let command = named(&document, "frontend:component");
    assert_eq!(command["description"], "Make a component: $ARGUMENTS");
    // Inside its folder, a nested skill has its plain name.
    let inside = names(&world.command(&["list", "--json"]).dir("apps/web").run());
    assert!(inside.contains(&"deploy".to_owned()), "{inside:?}");
    world.run(&["show", "apps/web:deploy"]).expect(0);
    world.run(&["show", "frontend:component"]).expect(0);
}

#[test]
fn scopes() {
    let world = library();
    let of = |scope: &str| {
        let flags = [
            "list",
            "--json",
            "--all",
            "--skills-dir",
            "shared",
            "--scope",
            scope,
        ];
        names(&world.run(&flags).expect(0))
    };
    assert_eq!(
        of("project"),
        [
            "apps/web:deploy",
            "frontend:component",
            "pdf",
            "release-notes"
        ]
    );
    assert_eq!(of("extra"), ["team-rules"]);
    assert_eq!(of("user"), ["csv-report", "user:pdf", "user/codex:pdf"]);
    assert_eq!(of("bundled"), ["prowess"]);
    assert_eq!(
        world.run(&["list", "--scope", "usr"]).expect(2).errors(),
        "error: invalid value `usr` for `--scope`: expected `project`, `extra`, `user` or `bundled`\nhint: did you mean `--scope user`?\n"
    );
    let none = World::new().run(&["list", "--scope", "project"]).expect(0);
    assert_eq!(
        none.errors(),
        "No matching skills; list all with `prowess list --all`\n"
    );
}

#[test]
fn wide_shows_versions_and_paths() {
    let world = World::new();
    world.skill(
        ".agents/skills/pdf",
        &format!("name: pdf\ndescription: {DESCRIPTION}\nversion: 1.2.0\n"),
    );
    insta::assert_snapshot!(world.run(&["list", "--wide"]).expect(0).snapshot());
}

#[test]
fn only_the_bundled_skill() {
    insta::assert_snapshot!(World::new().run(&["list"]).expect(0).snapshot());
}

#[test]
fn agents_see_granted_skills() {
    let world = library();
    world.file(
        ".agents/prowess.toml",
        "[agents.writer]\nskills = ['release-notes', 'frontend:component']\n[agents.reader]\ndeny = ['pdf']\n[agents.mute]\nskills = []\n",
    );
    let of = |agent: &str| names(&world.run(&["list", "--json", "--agent", agent]).expect(0));
    assert_eq!(of("writer"), ["frontend:component", "release-notes"]);
    assert!(
        !of("reader").contains(&"pdf".to_owned()),
        "{:?}",
        of("reader")
    );
    assert_eq!(of("mute"), [""; 0]);
    let all = world.run(&["list", "--all", "--agent", "writer"]).expect(0);
    insta::assert_snapshot!(all.snapshot());
    assert_eq!(
        world.run(&["list", "--agent", "writr"]).expect(2).errors(),
        "error: no agent named `writr`\nhint: did you mean `writer`?\n"
    );
    assert_eq!(
        world.run(&["list", "--agent", "zebra"]).expect(2).errors(),
        "error: no agent named `zebra`\nhint: define it in the configuration: `[agents.zebra]`\n"
    );
}

#[test]
fn agent_with_a_missing_skill() {
    let world = library();
    world.file(
        ".agents/prowess.toml",
        "[agents.writer]\nskills = ['release-note']\n",
    );
    insta::assert_snapshot!(
        world
            .run(&["list", "--agent", "writer"])
            .expect(2)
            .snapshot()
    );
}

#[test]
fn project_can_only_restrict_an_agent() {
    let world = library();
    world.file(
        "~/config.toml",
        "[agents.writer]\nskills = ['pdf', 'csv-report']\n",
    );
    world.file(
        ".agents/prowess.toml",
        "[agents.writer]\nskills = ['pdf', 'release-notes']\n",
    );
    let output = world
        .run(&["list", "--json", "--agent", "writer"])
        .expect(0);
    assert_eq!(names(&output), ["pdf"]);
    world.file("~/config.toml", "[agents.writer]\ndeny = ['pdf']\n");
    let output = world
        .run(&["list", "--json", "--agent", "writer"])
        .expect(0);
    assert_eq!(names(&output), ["release-notes"]);
}

#[test]
fn visibility_is_configurable() {
    let world = library();
    world.file(
        "~/config.toml",
        "[skills.visibility]\npdf = 'off'\nrelease-notes = 'user-only'\ncsv-report = 'name-only'\n",
    );
    let document = world.run(&["list", "--json"]).expect(0).json();
    assert_eq!(named(&document, "pdf"), &Value::Null);
    let words = |name: &str| {
        let skill = named(&document, name);
        (skill["model"].clone(), skill["people"].clone())
    };
    assert_eq!(
        words("release-notes"),
        (json!("left-to-people"), json!("full"))
    );
    assert_eq!(words("csv-report"), (json!("name-only"), json!("full")));
    insta::assert_snapshot!(world.run(&["list", "--all"]).expect(0).snapshot());
}

/// A cloned repository must not enable skills that the user disabled.
#[test]
fn project_file_cannot_enable_skills() {
    let world = library();
    world.file("~/config.toml", "[skills.visibility]\npdf = 'off'\n");
    world.file(
        ".agents/prowess.toml",
        "[skills.visibility]\npdf = 'on'\nrelease-notes = 'off'\n",
    );
    let found = names(&world.run(&["list", "--json"]).expect(0));
    assert!(!found.contains(&"pdf".to_owned()), "{found:?}");
    assert!(!found.contains(&"release-notes".to_owned()), "{found:?}");
}

#[test]
fn precedence_and_folders_are_configurable() {
    let world = library();
    let pdf = |world: &World| {
        let document = world.run(&["list", "--json"]).expect(0).json();
        named(&document, "pdf")["scope"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(pdf(&world), "project");
    world.file("~/config.toml", "[skills]\nprecedence = 'user'\n");
    assert_eq!(pdf(&world), "user");
    world.file(".agents/prowess.toml", "[skills]\ndirs = ['shared']\n");
    let document = world.run(&["list", "--json"]).expect(0).json();
    let found = named(&document, "team-rules");
    assert_eq!(found["scope"], "project");
    assert_eq!(
        found["location"],
        world.path("shared/team-rules/SKILL.md").to_str().unwrap()
    );
    // Listed skills are also validated.
    let skills = |flags: &[&str]| {
        let output = world.run(&[&["validate", "--json", "-q"], flags].concat());
        output.json()["summary"]["skills"].as_u64().unwrap()
    };
    assert_eq!(skills(&[]), skills(&["--no-config"]) + 1);
}

#[test]
fn missing_skills_dir_is_an_error() {
    let world = World::with_a_good_skill();
    world.file("note.txt", "");
    for command in ["list", "validate", "prompt", "doctor"] {
        let output = world.run(&[command, "--skills-dir", "nope"]).expect(2);
        assert_eq!(
            output.errors(),
            "error: `--skills-dir nope` does not exist\nhint: pass a folder that contains skills\n",
            "{command}"
        );
    }
    let output = world.run(&["list", "--skills-dir", "note.txt"]).expect(2);
    assert!(
        output
            .stderr
            .starts_with("error: `--skills-dir note.txt` is not a folder\n")
    );
}

#[test]
fn unreadable_skill_warns_and_hides_no_other() {
    let world = library();
    world.folder(".agents/skills/folder/SKILL.md");
    let output = world.run(&["list"]).expect(0);
    assert!(
        output.stdout.contains("\nrelease-notes "),
        "{}",
        output.snapshot()
    );
    insta::assert_snapshot!(output.errors());
    let document = world.run(&["list", "--json"]).expect(0).json();
    let faults = document["faults"].as_array().unwrap();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert_eq!(faults[0]["kind"], "unreadable");
    // A file that is not text is a skill with a problem.
    world.file(".agents/skills/binary/SKILL.md", [0xff, 0xfe, 0, 1]);
    world.run(&["list"]).expect(0);
}

/// Each skill is one line without control characters.
#[test]
fn hostile_texts_are_escaped() {
    let world = World::new();
    world.file(
        ".agents/skills/evil/SKILL.md",
        "---\nname: evil\ndescription: \"red \\e[31m\\nsecond line \\u202Egnp.exe \\u200b\"\n---\nBody\n",
    );
    world.skill(
        ".agents/skills/esc\u{1b}[2Jape",
        &format!("description: {DESCRIPTION}\n"),
    );
    world.skill(
        ".agents/skills/new\nline",
        &format!("description: {DESCRIPTION}\n"),
    );
    for flags in [
        &["list"][..],
        &["list", "--all"],
        &["list", "--wide"],
        &["find", "line"],
        &[],
    ] {
        let output = world.run(flags).expect(0);
        for bad in ['\u{1b}', '\u{202e}', '\u{200b}'] {
            assert!(
                !output.stdout.contains(bad),
                "{flags:?} {bad:?}\n{}",
                output.snapshot()
            );
        }
    }
    let output = world.run(&["list"]).expect(0);
    assert_eq!(output.stdout.lines().count(), 1 + 4, "{}", output.stdout);
    insta::assert_snapshot!(output.snapshot());
}

#[test]
fn three_thousand_skills() {
    let world = World::new();
    for number in 0..3000 {
        world.good(&format!(".agents/skills/skill-{number:04}"));
    }
    let output = world.run(&["list"]).expect(0);
    assert_eq!(output.stdout.lines().count(), 1 + 3001);
    assert_eq!(output.errors(), "3,001 skills\n");
    // With and without the cache.
    let count = |flags: &[&str]| names(&world.run(flags).expect(0)).len();
    assert_eq!(count(&["list", "--json"]), 3001);
    assert_eq!(count(&["list", "--json", "--no-cache"]), 3001);
    let found = world
        .run(&["find", "skill-1234", "-n", "1", "--json"])
        .expect(0)
        .json();
    assert_eq!(found["skills"][0]["name"], "skill-1234");
}

#[test]
fn no_cache_writes_nothing() {
    let world = library();
    world.run(&["list", "--no-cache"]).expect(0);
    assert!(!world.path("~/cache").exists());
    world.run(&["list"]).expect(0);
    assert!(world.path("~/cache").is_dir());
}

#[test]
fn file_names_not_utf8() {
    use std::os::unix::ffi::OsStrExt;
    let world = library();
    let name = std::ffi::OsStr::from_bytes(b".agents/skills/caf\xe9");
    world.skill(name, &format!("name: cafe\ndescription: {DESCRIPTION}\n"));
    let output = world.run(&["list"]).expect(0);
    assert!(
        output.stdout.contains("\nrelease-notes "),
        "{}",
        output.snapshot()
    );
    assert!(output.stdout.contains("\ncafe "), "{}", output.snapshot());
    for command in [
        &["list", "--json"][..],
        &["prompt"],
        &["doctor"],
        &["find", "form"],
        &[],
    ] {
        world.run(command).expect(0);
    }
}

#[test]
fn missing_home() {
    let world = World::new();
    world.good(".agents/skills/pdf");
    for command in [
        &["list"][..],
        &["prompt"],
        &["doctor"],
        &["stats"],
        &["why", "pdf"],
        &[],
    ] {
        let run = world.command(command).env_remove("PROWESS_HOME");
        let output = run.env("HOME", "/nonexistent/home").without_a_home().run();
        assert_eq!(output.code, 0, "{command:?} {}", output.snapshot());
        let run = world.command(command).env_remove("PROWESS_HOME");
        let output = run.env_remove("HOME").without_a_home().run();
        assert_eq!(output.code, 0, "{command:?} {}", output.snapshot());
    }
}

#[test]
fn json_is_never_coloured() {
    let world = library();
    for command in [
        &["list", "--json"][..],
        &["find", "form", "--json"],
        &["prompt", "--json"],
        &["why", "pdf", "--json"],
        &["stats", "--json"],
        &["doctor", "--json"],
    ] {
        let command = [command, &["--color", "always"]].concat();
        let output = world
            .command(&command)
            .env("CLICOLOR_FORCE", "1")
            .run()
            .expect(0);
        assert!(!output.stdout.contains('\u{1b}'), "{command:?}");
        let schema = output.json()["schema"].as_str().unwrap().to_owned();
        assert!(
            schema.starts_with("prowess.") && schema.ends_with("/1"),
            "{schema}"
        );
    }
}

#[test]
fn colours() {
    let world = library();
    let has = |output: Output| output.stdout.contains('\u{1b}');
    assert!(!has(world.run(&["list"])));
    assert!(has(world.run(&["list", "--color", "always"])));
    let forced = || world.command(&["list"]).env("CLICOLOR_FORCE", "1");
    assert!(has(forced().run()));
    assert!(!has(forced().env("NO_COLOR", "1").run()));
    // The same text, only coloured.
    let always = world.run(&["list", "--color", "always"]).stdout;
    let plain: String = always.split('\u{1b}').enumerate().map(strip).collect();
    assert_eq!(plain, world.run(&["list"]).stdout);
}

/// Returns coloured text without the end of its first escape sequence.
fn strip((index, piece): (usize, &str)) -> &str {
    if index == 0 {
        piece
    } else {
        piece.split_once('m').map_or(piece, |(_, rest)| rest)
    }
}

/// A cloned repository must not change the user's precedence and folders.
#[test]
fn project_file_cannot_change_precedence_or_user_folders() {
    let world = library();
    world.file("~/config.toml", "[skills]\nprecedence = 'user'\n");
    world.file(
        ".agents/prowess.toml",
        "[skills]\nprecedence = 'project'\ndirs = ['~/private', '../beside', 'shared']\n",
    );
    world.good("~/private/diary");
    world.good("../beside/stranger");
    let output = world.run(&["list", "--json"]).expect(0);
    assert_eq!(named(&output.json(), "pdf")["scope"], "user");
    let found = names(&output);
    assert!(!found.contains(&"diary".to_owned()) && !found.contains(&"stranger".to_owned()));
    assert_eq!(
        output.stderr.matches("must be inside the project").count(),
        2,
        "{}",
        output.stderr
    );
}

#[test]
fn misspelt_skill_in_configuration_is_reported() {
    let world = library();
    world.file(
        "~/config.toml",
        "[skills.visibility]\nrelease-note = 'off'\nelsewhere = 'off'\n",
    );
    let output = world.run(&["list"]).expect(0);
    assert!(output.stderr.contains(
        "`skills.visibility.release-note` does not match any skill; did you mean `release-notes`?"
    ));
    assert!(!output.stderr.contains("elsewhere"));
}

#[test]
fn watch_respects_filters() {
    let world = library();
    let running = world
        .command(&["list", "--watch", "--json", "--scope", "user"])
        .start();
    running.line(|line| line.contains("prowess.list/1"));
    world.good(".agents/skills/of-the-project");
    world.good("~/.claude/skills/of-the-user");
    let line = running.line(|line| line.contains("prowess.changes/1"));
    assert!(
        line.contains("of-the-user") && !line.contains("of-the-project"),
        "{line}"
    );
}

#[test]
fn skills_are_filtered_by_creator() {
    let world = World::new();
    world.good("~/.agents/skills/mine");
    let keys = |name: &str, creator: &str| {
        format!("name: {name}\ndescription: {DESCRIPTION}\ncreator: {creator}\n")
    };
    world.skill("~/.agents/skills/learned", &keys("learned", "agent"));
    world.skill("~/.agents/skills/typed", &keys("typed", "user"));
    let listed = |creator: &str| {
        let arguments = ["list", "--scope", "user", "--creator", creator, "--json"];
        names(&world.run(&arguments).expect(0))
    };
    assert_eq!(listed("agent"), ["learned"]);
    assert_eq!(listed("user"), ["mine", "typed"]);
    let output = world.run(&["list", "--creator", "agent"]).expect(0);
    assert!(output.stdout.contains("learned") && !output.stdout.contains("mine"));
    assert_eq!(output.stderr, "1 skill\n");
    let output = world.run(&["list", "--creator", "agnet"]).expect(2);
    assert!(
        output.stderr.contains("did you mean `--creator agent`?"),
        "{}",
        output.stderr
    );
}

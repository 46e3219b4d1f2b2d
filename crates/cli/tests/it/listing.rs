//! Tests of the index of a large library: descriptions, names and a count.

use std::collections::BTreeSet;
use std::fs::File;
use std::time::{Duration, UNIX_EPOCH};

use prowess_test::server::{ServerStep, TestServer, sse};
use serde_json::{Value, json};

use crate::world::World;

const DESCRIPTION: &str = "Plans, writes and checks a piece of work of this kind, step by step, with examples, and says what is still missing at the end. Use when such work is to be done.";

/// Returns a world with `count` skills at home.
fn library(count: usize) -> World {
    let world = World::new();
    for number in 0..count {
        let name = format!("some-useful-skill-{number:03}");
        world.skill(
            format!("~/.claude/skills/{name}"),
            &format!("name: {name}\ndescription: {DESCRIPTION}\n"),
        );
    }
    world
}

/// Returns the names of an index, with `true` if there is a description.
fn lines(index: &str) -> Vec<(&str, bool)> {
    let line = |line: &'_ str| -> Option<(usize, bool)> {
        line.strip_prefix("- **")?;
        Some((line[4..].find("**")? + 4, line.contains("** — ")))
    };
    let of = |text| -> Option<(&str, bool)> {
        let (end, described) = line(text)?;
        Some((&text[4..end], described))
    };
    index.lines().filter_map(of).collect()
}

/// Loads a skill in a session, so that it counts as used.
fn use_skill(world: &World, name: &str) {
    let line = json!({"calls": [{"name": "load_skill", "input": {"name": name}}]});
    world.file("script.jsonl", format!("{line}\n{{\"text\": \"done\"}}\n"));
    let flags = ["run", "--task", "go", "--model", "scripted:script.jsonl"];
    world.run(&flags).expect(0);
}

/// X-A1, X-A3: with 300 skills, the model reads the descriptions of the skills that matter, and every
/// command says what it reads of the others.
#[test]
fn large_library_keeps_the_descriptions_that_matter() {
    let world = library(300);
    world.good(".agents/skills/deploy");
    let zebra = world.good(".claude/skills/zebra");
    let old = UNIX_EPOCH + Duration::from_secs(1_600_000_000);
    let zebra = File::options().append(true).open(zebra).unwrap();
    zebra.set_modified(old).unwrap();
    world.skill(
        "~/.agents/skills/house-rules",
        "name: house-rules\ndescription: Rules of the house.\nalways_present: true\n",
    );
    use_skill(&world, "some-useful-skill-222");
    let index = world.run(&["prompt", "-q"]).expect(0).stdout;
    let shown = lines(&index);
    let first = [
        ("house-rules", true),
        ("deploy", true),
        ("zebra", true),
        ("some-useful-skill-222", true),
    ];
    assert_eq!(shown[..4], first, "{index}");
    let described = shown.iter().filter(|(_, described)| *described).count();
    // The places that are left go to skills changed last, which may be those of the project.
    assert!((5..=8).contains(&described), "{index}");
    let names = shown.len() - described;
    let left_out = 304 - shown.len();
    assert!(names > 200 && left_out > 0, "{index}");
    assert!(index.contains("- **some-useful-skill-222** — Plans, writes and checks"));
    let end = format!("\n\nCall `search_skills` to search {left_out} more skills.\n");
    let few = format!("\n\nCall `list_skills` to discover {left_out} more skills.\n");
    let end = if left_out > 50 { end } else { few };
    assert!(index.ends_with(&end), "{index}");

    let summary = format!(
        "the model reads {described} descriptions and {names} names; {left_out} skills left out"
    );
    let overview = world.run::<&str>(&[]).expect(0).stdout;
    assert!(overview.contains(&summary), "{overview}");
    let budget = overview.split("`budget = ").nth(1).unwrap();
    let budget = budget.split('`').next().unwrap();
    assert!(
        overview.contains("under `[prompt]` in `~/config.toml`"),
        "{overview}"
    );
    let doctor = world.run(&["doctor", "--json"]).json();
    let checks = doctor["checks"].as_array().unwrap();
    let check = checks
        .iter()
        .find(|check| check["area"] == "prompt")
        .unwrap();
    assert_eq!(check["text"], summary);
    assert_eq!(check["state"], "note");
    assert!(
        check["hint"]
            .as_str()
            .unwrap()
            .contains(&format!("`budget = {budget}`"))
    );

    // `list` and `why` say it for each skill.
    let listed = world.run(&["list", "--json"]).expect(0).json();
    let count = |word: &str| {
        let skills = listed["skills"].as_array().unwrap().iter();
        skills.filter(|skill| skill["index"] == word).count()
    };
    assert_eq!(count("described"), described);
    assert_eq!((count("name-only"), count("left-out")), (names, left_out));
    let table = world.run(&["list"]).expect(0).stdout;
    let names_of: BTreeSet<&str> = shown.iter().map(|(name, _)| *name).collect();
    let of = |name: &str| {
        table
            .lines()
            .find(|line| line.starts_with(&format!("{name} ")))
            .unwrap()
    };
    let skill = |number: usize| format!("some-useful-skill-{number:03}");
    let omitted = (0..300)
        .map(skill)
        .find(|name| !names_of.contains(&**name))
        .unwrap();
    assert!(of(&omitted).contains(" left out "), "{table}");
    assert!(of("deploy").contains(" described "), "{table}");
    let (bare, _) = shown.last().unwrap();
    assert!(of(bare).contains(" name only "), "{table}");
    world.run(&["why", "deploy"]).expect(0);
    world.run(&["why", bare]).expect(0);
    let why = world.run(&["why", &omitted, "--json"]).expect(1).json();
    assert_eq!(why["index"], "left-out");

    // The suggested line makes the model read everything.
    world.file("~/config.toml", format!("[prompt]\nbudget = {budget}\n"));
    let index = world.run(&["prompt", "-q"]).expect(0).stdout;
    assert_eq!(lines(&index).len(), 304);
    assert!(lines(&index).iter().all(|(_, described)| *described));
    let overview = world.run::<&str>(&[]).expect(0).stdout;
    assert!(
        overview.contains("the model reads 304 descriptions in "),
        "{overview}"
    );
    assert!(!overview.contains("budget"), "{overview}");
}

/// `last-used` sets how many used skills keep their description.
#[test]
fn last_used_works_without_sections() {
    let world = library(300);
    for number in [10, 20, 30] {
        use_skill(&world, &format!("some-useful-skill-{number:03}"));
    }
    let described = || {
        let index = world.run(&["prompt", "-q"]).expect(0).stdout;
        let described = lines(&index)
            .into_iter()
            .filter(|(_, described)| *described);
        described
            .map(|(name, _)| name.to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(described().len(), 5);
    world.file("~/config.toml", "[prompt]\nlast-used = 2\n");
    assert!(described().len() <= 2, "{:?}", described());
    world.file("~/config.toml", "[prompt]\nlast-used = 12\n");
    assert_eq!(described().len(), 12);
    for number in [10, 20, 30] {
        let name = format!("some-useful-skill-{number:03}");
        assert!(described().contains(&name), "{:?}", described());
    }
}

/// Consecutive sessions list different skills. `prompt` prints what the next session lists, and does
/// not change it.
#[test]
fn sessions_rotate() {
    let world = library(40);
    world.file("~/config.toml", "[prompt]\nbudget = 200\n");
    let mut indexes = Vec::new();
    let mut seen = BTreeSet::new();
    for _ in 0..6 {
        let printed = world.run(&["prompt", "-q"]).expect(0).stdout;
        assert_eq!(world.run(&["prompt", "-q"]).expect(0).stdout, printed);
        world.run(&["list"]).expect(0);
        let flags = ["run", "--task", "hi", "--model", "echo", "--json"];
        let output = world.run(&flags).expect(0).stdout;
        let started: Value = serde_json::from_str(output.lines().next().unwrap()).unwrap();
        let system = started["event"]["system"].as_array().unwrap();
        assert_eq!(
            format!("{}\n", system.last().unwrap().as_str().unwrap()),
            printed
        );
        assert!(!indexes.contains(&printed), "{printed}");
        seen.extend(lines(&printed).into_iter().map(|(name, _)| name.to_owned()));
        indexes.push(printed);
    }
    assert_eq!(seen.len(), 41, "all were shown, also the bundled one");
    // Another project has a rotation of its own.
    let other = world
        .command(&["prompt", "-q"])
        .dir("~")
        .run()
        .expect(0)
        .stdout;
    assert_eq!(other, indexes[0]);
}

/// X-A2: the bytes that reach the provider are those of `prompt --model`, with the window of the
/// model.
#[test]
fn prompt_of_a_model_is_what_the_provider_receives() {
    let done = r#"
        {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"Done."},"finish_reason":null}]}
        {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}
        [DONE]"#;
    for (model, tokens) in [("gpt-4o", 1_280), ("gpt-5", 4_000), ("some-model", 2_000)] {
        let world = library(300);
        let server = TestServer::new([vec![ServerStep::Send(sse(done))]]);
        let named = format!("openai/{model}");
        let base = format!("http://127.0.0.1:{}/v1", server.port);
        let run = |flags: &[&str]| {
            let command = world.command(flags).env("OPENAI_API_KEY", "secret-key");
            command.env("OPENAI_BASE_URL", &*base).run().expect(0)
        };
        let printed = run(&["prompt", "-q", "--model", &named]).stdout;
        let report = run(&["prompt", "--json", "--model", &named]).json();
        assert_eq!(report["budget"], tokens, "{model}");
        assert_eq!(format!("{}\n", report["text"].as_str().unwrap()), printed);
        // The variable and the configuration select it as well.
        let command = world
            .command(&["prompt", "-q"])
            .env("PROWESS_MODEL", &*named);
        assert_eq!(command.run().expect(0).stdout, printed, "{model}");
        world.file("~/config.toml", format!("[model]\nname = '{named}'\n"));
        assert_eq!(run(&["prompt", "-q"]).stdout, printed, "{model}");
        run(&["run", "--task", "Hi.", "--model", &named]);
        let asked = server.asked();
        let messages = asked[0].json()["messages"].clone();
        let system = messages[0]["content"].to_string();
        let escaped = Value::String(printed.trim_end().to_owned()).to_string();
        assert!(
            system.contains(escaped.trim_matches('"')),
            "{model}: {system}"
        );
    }
}

/// The model that a key selects has its own window.
#[test]
fn key_selects_the_model_and_its_window() {
    let world = library(3);
    let budget = |name: &str| {
        let command = world.command(&["prompt", "--json"]).env(name, "secret-key");
        command.run().expect(0).json()["budget"].clone()
    };
    assert_eq!(budget("GEMINI_API_KEY"), 10_486);
    assert_eq!(budget("OPENAI_API_KEY"), 4_000);
    assert_eq!(budget("SOME_API_KEY"), 2_000);
    let flags = ["prompt", "--model", "echo", "--window", "5000"];
    world.run(&flags).expect(2);
}

/// A recorded request has the bytes of `prompt`.
#[test]
fn recorded_request_has_the_printed_index() {
    let world = library(300);
    let printed = world
        .run(&["prompt", "-q", "--model", "echo"])
        .expect(0)
        .stdout;
    let flags = ["run", "--task", "Hi.", "--model", "echo", "--json"];
    let output = world.run(&flags).expect(0).stdout;
    let escaped = Value::String(printed.trim_end().to_owned()).to_string();
    assert!(output.contains(&escaped), "{output}");
}

/// X-B6: of two skills of one name in a folder, the one whose folder has the name is used; the other
/// is named.
#[test]
fn copy_of_a_skill_is_named() {
    let world = World::new();
    world.named("~/.claude/skills/a-copy", "cost-report");
    world.named("~/.claude/skills/cost-report", "cost-report");
    world.named("~/.claude/skills/group/z-copy", "cost-report");
    let winner = world.path("~/.claude/skills/cost-report/SKILL.md");
    let why = world
        .run(&["why", "cost-report", "--json"])
        .expect(0)
        .json();
    assert_eq!(why["location"], json!(winner));
    for (folder, path) in [("a-copy", "a-copy"), ("z-copy", "group/z-copy")] {
        let output = world.run(&["why", folder]).expect(1).stdout;
        assert!(output.starts_with("cost-report\n"), "{output}");
        assert!(
            output.contains("shadowed    by ~/.claude/skills/cost-report/SKILL.md"),
            "{output}"
        );
        let text = format!(
            "`~/.claude/skills/{path}` is not used: `~/.claude/skills/cost-report` has the same name, `cost-report`"
        );
        let listed = world.run(&["list"]).expect(0);
        assert!(
            listed.stderr.contains(&format!("warning: {text}\n")),
            "{}",
            listed.stderr
        );
        let doctor = world.run(&["doctor", "--json"]).json().to_string();
        assert!(doctor.contains(&text), "{doctor}");
        let all = world.run(&["list", "--all"]).expect(0).stdout;
        let row = all
            .lines()
            .find(|line| line.starts_with(&format!("cost-report ({path})")));
        assert!(row.unwrap().contains(" shadowed "), "{all}");
    }
    let document = world.run(&["list", "--json"]).expect(0).json();
    let location = |folder: &str| world.path(format!("~/.claude/skills/{folder}/SKILL.md"));
    let copy = |folder: &str| json!({"name": "cost-report", "location": location(folder), "shadowed_by": winner});
    assert_eq!(
        document["shadowed_in_root"],
        json!([copy("a-copy"), copy("group/z-copy")])
    );
    // A skill of another scope may replace one on purpose.
    world.named(".agents/skills/cost-report", "cost-report");
    let document = world.run(&["list", "--json"]).expect(0).json();
    assert_eq!(document["shadowed_in_root"].as_array().unwrap().len(), 2);
}

/// The limit of folders is a setting, and the message names it.
#[test]
fn limit_of_folders_is_a_setting() {
    let world = library(12);
    let message = "only the first 10 folders of `~/.claude/skills` were searched; to search more, set `max-folders` under `[skills]` in your own settings";
    world.file("~/config.toml", "[skills]\nmax-folders = 10\n");
    let listed = world.run(&["list"]).expect(0);
    assert!(listed.stderr.contains(message), "{}", listed.stderr);
    assert_eq!(listed.stdout.matches("some-useful-skill").count(), 10);
    let doctor = world.run(&["doctor"]).expect(1).stdout;
    assert!(
        doctor.contains("only the first 10 folders of `~/.claude/skills`"),
        "{doctor}"
    );
    assert!(doctor.contains("`max-folders`"), "{doctor}");
    let flags = ["run", "--task", "hi", "--model", "echo"];
    let errors = world.run(&flags).expect(0).stderr;
    assert!(errors.contains("`max-folders`"), "{errors}");
    world.file("~/config.toml", "[skills]\nmax-folders = 12\n");
    let listed = world.run(&["list"]).expect(0);
    assert_eq!(listed.stdout.matches("some-useful-skill").count(), 12);
    assert!(!listed.stderr.contains("searched"), "{}", listed.stderr);
    // A project cannot change it.
    world.file("~/config.toml", "");
    world.file(".agents/prowess.toml", "[skills]\nmax-folders = 1\n");
    let listed = world.run(&["list"]);
    assert!(listed.stderr.contains("max-folders"), "{}", listed.stderr);
    for (line, expected) in [
        (
            "max-folders = 0",
            "`max-folders` must be a positive integer",
        ),
        (
            "max-folders = 3_000_000",
            "`max-folders` must be at most 2,000,000",
        ),
    ] {
        world.file("~/config.toml", format!("[skills]\n{line}\n"));
        let output = world.run(&["list"]).expect(2);
        assert!(output.stderr.contains(expected), "{}", output.stderr);
    }
}

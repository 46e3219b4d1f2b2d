//! `prowess prompt`, `list` and `why` show what a session starts with.

use std::sync::Arc;

use proptest::prelude::*;
use prowess::{Audience, CatalogView, FileOptions, Place, Precedence, Registry, Runtime};
use serde_json::{Value, json};

use crate::world::World;

/// Returns the blocks of the system prompt of a session.
fn system(world: &World, arguments: &[&str]) -> Vec<String> {
    let output = world.run(arguments).expect(0);
    let first = output.stdout.lines().next().unwrap();
    let started: Value = serde_json::from_str(first).unwrap();
    assert_eq!(started["event"]["event"], "started");
    let blocks = started["event"]["system"].as_array().unwrap().iter();
    blocks
        .map(|text| text.as_str().unwrap().to_owned())
        .collect()
}

const RUN: [&str; 6] = ["run", "--task", "hi", "--model", "echo", "--json"];

/// Asserts that `prowess prompt` prints the last block of the system prompt of the next session, and
/// returns it. The blocks before it are the instructions, and the notes of the project if there are
/// any.
#[track_caller]
fn same(world: &World) -> String {
    let printed = world.run(&["prompt", "-q"]).expect(0).stdout;
    let blocks = system(world, &RUN);
    let own = 1 + usize::from(world.exists("AGENTS.md"));
    let index: String = match &blocks[own..] {
        [] => String::new(),
        [index] => format!("{index}\n"),
        more => panic!("{more:?}"),
    };
    assert_eq!(printed, index);
    index
}

/// Loads skills in sessions, in this order, so that they count as used.
fn use_skills(world: &World, names: &[&str]) {
    for name in names {
        let line = json!({"calls": [{"name": "load_skill", "input": {"name": name}}]});
        world.file("script.jsonl", format!("{line}\n{{\"text\": \"done\"}}\n"));
        let flags = ["run", "--task", "go", "--model", "scripted:script.jsonl"];
        world.run(&flags).expect(0);
    }
}

fn skills(world: &World, names: &[(&str, &str)]) {
    for (name, more) in names {
        world.skill(
            format!("~/.agents/skills/{name}"),
            &format!("name: {name}\ndescription: Does {name}.\n{more}"),
        );
    }
}

/// Line 21, row P21.
#[test]
fn sections_list_pinned_and_last_used_skills() {
    let world = World::new();
    skills(
        &world,
        &[
            ("alpha", ""),
            ("beta", ""),
            ("delta", ""),
            ("gamma", ""),
            ("zeta", "always_present: true\n"),
        ],
    );
    use_skills(&world, &["gamma", "alpha", "alpha", "beta", "delta"]);
    world.file(
        "~/config.toml",
        "[prompt]\nlisting = 'sections'\nlast-used = 2\n",
    );
    let index = same(&world);
    let expected = "## Skills\n\n- **zeta** — Does zeta.\n## Last used skills\n\n\
                    - **delta** — Does delta.\n- **beta** — Does beta.\n\n\
                    Call `list_skills` to discover 3 more skills.\n";
    assert_eq!(index, expected);
    // Turns that use other skills leave it as it is.
    let calls = |name: &str| json!({"calls": [{"name": "load_skill", "input": {"name": name}}]});
    let lines = [calls("gamma"), calls("alpha"), json!({"text": "done"})];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let model = format!("scripted:{}", world.file("turns.jsonl", text).display());
    let output = world
        .run(&["run", "--task", "go", "--model", &model, "--json"])
        .expect(0);
    let parse = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let events: Vec<Value> = output.stdout.lines().map(parse).collect();
    let of = |kind: &str| {
        let is_it = |line: &&Value| line["event"]["event"] == kind;
        events.iter().filter(is_it).count()
    };
    assert_eq!((of("started"), of("asked"), of("noted")), (1, 3, 0));
    // The next session shows what was used since.
    let index = same(&world);
    assert!(
        index.contains("- **alpha** — Does alpha.\n- **gamma**"),
        "{index}"
    );
    // `why` agrees.
    let why = |name: &str, code| world.run(&["why", name]).expect(code).stdout;
    assert!(
        why("alpha", 0).contains("prompt      shown"),
        "{}",
        why("alpha", 0)
    );
    let text = why("beta", 1);
    assert!(
        text.contains("not shown: neither pinned nor recently used"),
        "{text}"
    );
}

#[test]
fn listing_settings_are_checked() {
    let world = World::new();
    for (line, expected) in [
        ("listing = 'section'", "did you mean `sections`?"),
        ("last-used = 0", "`last-used` must be a positive integer"),
        ("last-used = 101", "`last-used` must be at most 100"),
    ] {
        world.file("~/config.toml", format!("[prompt]\n{line}\n"));
        let output = world.run(&["prompt"]).expect(2);
        assert!(output.stderr.contains(expected), "{}", output.snapshot());
    }
}

/// Row P23.
#[test]
fn pinned_skills_come_first_in_every_listing() {
    let world = World::new();
    skills(
        &world,
        &[
            ("alpha", ""),
            ("mid", "always_present: true\n"),
            ("zeta", "always_present: true\n"),
        ],
    );
    let index = same(&world);
    let names: Vec<&str> = index
        .lines()
        .filter_map(|line| line.strip_prefix("- **")?.split("**").next())
        .collect();
    assert_eq!(names, ["mid", "zeta", "alpha", "prowess"]);
}

/// S-B8: a skill with `paths` waits until such a file is used.
#[test]
fn skill_with_paths_waits() {
    let world = World::new();
    skills(&world, &[("types", "paths: \"src/**\"\n"), ("other", "")]);
    world.good("apps/web/.agents/skills/deploy");
    let index = same(&world);
    assert!(
        !index.contains("types") && !index.contains("deploy"),
        "{index}"
    );
    assert!(index.contains("**other**"), "{index}");
    let listed = world.run(&["list", "--json"]).expect(0).json();
    let model = |name: &str| {
        let skills = listed["skills"].as_array().unwrap();
        let skill = skills.iter().find(|skill| skill["qualified_name"] == name);
        skill.unwrap()["model"].clone()
    };
    assert_eq!(model("types"), "waiting");
    assert_eq!(model("apps/web:deploy"), "waiting");
    assert_eq!(model("other"), "full");
    let table = world.run(&["list"]).expect(0).stdout;
    let line = table
        .lines()
        .find(|line| line.starts_with("types "))
        .unwrap();
    assert!(line.contains(" waiting "), "{table}");
    let why = world.run(&["why", "types"]).expect(0).stdout;
    assert!(
        why.contains("waiting: they see it after a file that matches"),
        "{why}"
    );
    assert!(!why.contains("prompt "), "{why}");
    let why = world.run(&["why", "types", "--json"]).expect(0).json();
    assert_eq!(why["model"], "waiting");
}

/// The model and the settings for the size of the listing apply to both.
#[test]
fn size_of_the_listing_is_that_of_a_session() {
    let world = World::new();
    for number in 0..60 {
        world.good(&format!("~/.agents/skills/form-{number:02}"));
    }
    for config in [
        "",
        "[prompt]\nbudget = 300\n",
        "[prompt]\nwindow = 40_000\n",
        "[prompt]\nentry-characters = 20\n",
        "[model]\nname = 'echo'\n",
        "[permissions]\ndeny = ['list_skills']\n",
        "[permissions]\ndeny = ['Skill']\n",
    ] {
        world.file("~/config.toml", config);
        let index = same(&world);
        assert_eq!(index.is_empty(), config.contains("Skill'"), "{config}");
    }
    world.file("~/config.toml", "");
    world.file("AGENTS.md", "Be kind.\n");
    same(&world);
}

/// The grant of an agent gives the same listing in a session that has it.
#[test]
fn listing_of_an_agent_is_that_of_its_session() {
    let world = World::new();
    skills(
        &world,
        &[
            ("alpha", ""),
            ("beta", ""),
            ("gamma", "paths: \"src/**\"\n"),
        ],
    );
    for grant in [
        "skills = ['alpha', 'gamma']",
        "deny = ['beta']",
        "skills = []",
    ] {
        world.file("~/config.toml", format!("[agents.writer]\n{grant}\n"));
        let printed = world.run(&["prompt", "-q", "--agent", "writer"]).expect(0);
        let place = Place {
            current: world.path(""),
            home: Some(world.path("~")),
            ..Place::default()
        };
        let registry = Registry::open(place, FileOptions::default(), Precedence::default());
        let paths = prowess::config::ConfigPaths {
            current: world.path(""),
            home: Some(world.path("~")),
            user: Some(world.path("~/config.toml")),
            ..prowess::config::ConfigPaths::default()
        };
        let config = prowess::config::load(&paths, &|path| path.display().to_string()).config;
        let visibility = config.policy(Some("writer"), &registry.snapshot()).unwrap();
        let runtime = Runtime::builder()
            .registry(registry)
            .visibility(visibility)
            .model(Arc::new(prowess_models::EchoModel::default()))
            .build()
            .unwrap();
        let tokio = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let session = tokio.block_on(runtime.session("t")).unwrap();
        let system = &session.run().started().unwrap().system;
        let index = match &system[1..] {
            [] => String::new(),
            [index] => format!("{index}\n"),
            more => panic!("{more:?}"),
        };
        assert_eq!(printed.stdout, index, "{grant}");
    }
}

/// A generated skill: its frontmatter, and the setting for it.
#[derive(Clone, Debug)]
struct Generated {
    frontmatter: String,
    setting: Option<&'static str>,
}

fn generated() -> impl Strategy<Value = Generated> {
    let description = prop_oneof![
        Just(String::new()),
        "[ -~]{1,80}",
        "[a-z äöü€漢<>`*_\\[\\]]{1,200}",
        Just("Long words. ".repeat(200)),
    ];
    let flags = proptest::sample::subsequence(
        vec![
            "disable-model-invocation: true\n",
            "user-invocable: false\n",
            "paths: \"src/**/*.rs\"\n",
            "always_present: true\n",
            "when_to_use: Use it when needed.\n",
        ],
        0..=2,
    );
    let setting = proptest::option::weighted(
        0.3,
        proptest::sample::select(vec!["on", "name-only", "user-only", "off"]),
    );
    (description, flags, setting).prop_map(|(description, flags, setting)| Generated {
        frontmatter: format!(
            "description: {}\n{}",
            Value::String(description),
            flags.concat()
        ),
        setting,
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 12,
        max_shrink_iters: 40,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Line 45.
    #[test]
    fn prompt_list_and_why_agree_with_a_session(
        library in proptest::collection::vec(generated(), 0..12),
        budget in proptest::option::of(20_usize..600),
        last_used in proptest::option::of(1_usize..4),
        nested in any::<bool>(),
    ) {
        let world = World::new();
        let mut config = String::from("[skills.visibility]\n");
        for (number, skill) in library.iter().enumerate() {
            let name = format!("skill-{number}");
            world.skill(
                format!("~/.agents/skills/{name}"),
                &format!("name: {name}\n{}", skill.frontmatter),
            );
            if let Some(setting) = skill.setting {
                config.push_str(&format!("{name} = '{setting}'\n"));
            }
        }
        if nested {
            world.good("apps/web/.agents/skills/deploy");
        }
        config.push_str("[prompt]\n");
        if let Some(budget) = budget {
            config.push_str(&format!("budget = {budget}\n"));
        }
        if let Some(last_used) = last_used {
            config.push_str(&format!("listing = 'sections'\nlast-used = {last_used}\n"));
        }
        world.file("~/config.toml", config);
        // What the next session starts with; that session is run last.
        let index = world.run(&["prompt", "-q"]).expect(0).stdout;
        let listed = world.run(&["list", "--all", "--json"]).expect(0).json();
        let rows = world.run(&["prompt", "--json"]).expect(0).json();
        let rows = rows["skills"].as_array().unwrap();
        for skill in listed["skills"].as_array().unwrap() {
            let name = skill["qualified_name"].as_str().unwrap();
            let is_row = rows.iter().any(|row| row["name"] == name);
            let is_visible = matches!(skill["model"].as_str(), Some("full" | "name-only"));
            // Without other skills, the bundled one is not listed.
            let is_alone = name == "prowess" && rows.is_empty();
            prop_assert_eq!(is_row, is_visible && !is_alone, "{}: {}", name, index);
            let line = format!("- **{name}**");
            let line = index.lines().find(|text| text.starts_with(&line));
            let expected = match line {
                Some(line) if line.contains("** — ") => Some("described"),
                Some(_) => Some("name-only"),
                None => (is_visible && !is_alone).then_some("left-out"),
            };
            prop_assert_eq!(skill["index"].as_str(), expected, "{}: {}", name, index);
        }
        if let Some(first) = listed["skills"].as_array().unwrap().first() {
            let name = first["qualified_name"].as_str().unwrap();
            let why = world.run(&["why", name, "--json"]).json();
            prop_assert_eq!(&why["model"], &first["model"]);
            prop_assert_eq!(&why["index"], &first["index"]);
            let line = format!("- **{name}**");
            let is_shown = why["prompt"].as_str().is_some_and(|fate| !fate.starts_with("not shown"));
            // A name that begins like this one would match too.
            let has_line = index.lines().any(|text| text.starts_with(&line));
            prop_assert_eq!(is_shown, has_line, "{}: {} in {}", name, why, index);
        }
        prop_assert_eq!(same(&world), index);
    }
}

/// The view of the public crate agrees as well.
#[test]
fn view_of_the_library_has_no_waiting_skill() {
    let world = World::new();
    skills(&world, &[("types", "paths: \"src/**\"\n")]);
    let place = Place {
        current: world.path(""),
        home: Some(world.path("~")),
        ..Place::default()
    };
    let registry = Registry::open(place, FileOptions::default(), Precedence::default());
    let catalog = registry.snapshot();
    let policy = prowess::Visibility {
        touched: Some(Vec::new()),
        ..prowess::Visibility::default()
    };
    let view = CatalogView::new(&catalog, &policy, Audience::Model);
    assert!(!view.has_skills(), "only the bundled skill is visible");
    assert_eq!(same(&world), "");
}

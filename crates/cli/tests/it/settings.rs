//! `prowess init` and `prowess config show`.

use serde_json::Value;

use crate::world::World;

/// Returns the settings as `(key, counts)`, with the reason or the overriding file.
fn settings(document: &Value) -> Vec<(String, bool, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = document["settings"].as_array().unwrap().iter();
    all.map(|one| {
        let why = [text(&one["reason"]), text(&one["overridden_by"])].concat();
        (text(&one["key"]), one["counts"].as_bool().unwrap(), why)
    })
    .collect()
}

#[test]
fn config_show_says_what_counts_and_why() {
    let world = World::new();
    world.file(
        "~/config.toml",
        "[prompt]\nbudget = 900\nwindow = 50000\n\n[permissions]\nmode = \"ask\"\n\n[mcp.servers.x]\ncommand = \"x\"\nenv = { TOKEN = \"CANARY-SECRET\" }\n",
    );
    world.file(
        ".agents/prowess.toml",
        "[prompt]\nbudget = 700\n\n[permissions]\nmode = \"yolo\"\ndeny = [\"Bash(rm:*)\"]\n",
    );
    let shown = world.run(&["config", "show", "--json"]).expect(0);
    assert!(!shown.stdout.contains("CANARY-SECRET"), "{}", shown.stdout);
    let document = shown.json();
    let all = settings(&document);
    let find = |key: &str, at: usize| {
        let mut found = all.iter().filter(|(name, ..)| name == key);
        found.nth(at).unwrap_or_else(|| panic!("{key}: {all:?}"))
    };
    assert!(!find("prompt.budget", 0).1);
    assert_eq!(find("prompt.budget", 0).2, ".agents/prowess.toml");
    assert!(find("prompt.budget", 1).1);
    assert!(find("prompt.window", 0).1);
    assert!(find("permissions.deny", 0).1);
    // A project may not choose the mode.
    let (_, counts, why) = find("permissions.mode", 1);
    assert!(!counts && why.contains("project"), "{why}");
    assert_eq!(document["settings"][0]["line"], 2);
    let text = world.run(&["config", "show", "prompt"]).expect(0).stdout;
    assert!(
        text.contains("overridden by .agents/prowess.toml"),
        "{text}"
    );
    assert!(!text.contains("permissions"), "{text}");
    let none = world.run(&["config", "show", "nothing"]).expect(0);
    assert!(
        none.stderr.contains("No setting begins with `nothing`"),
        "{}",
        none.stderr
    );
}

#[test]
fn init_creates_settings_that_change_nothing_and_keeps_existing_ones() {
    let world = World::new();
    let created = world.run(&["init"]).expect(0);
    assert!(
        created.stderr.contains("Created .agents/prowess.toml"),
        "{}",
        created.stderr
    );
    let shown = world.run(&["config", "show", "--json"]).expect(0).json();
    assert_eq!(settings(&shown), []);
    world.run(&["list"]).expect(0);
    let text = std::fs::read_to_string(world.path(".agents/prowess.toml")).unwrap();
    let again = world.run(&["init"]).expect(0);
    assert!(again.stderr.contains("exists already"), "{}", again.stderr);
    assert_eq!(
        std::fs::read_to_string(world.path(".agents/prowess.toml")).unwrap(),
        text
    );
}

#[test]
fn init_does_not_follow_a_link_out_of_the_project() {
    let world = World::new();
    world.file("../outside/keep.txt", "");
    world.link_to(".agents", "../outside");
    let refused = world.run(&["init"]).expect(2);
    assert!(
        refused.stderr.contains("outside the project"),
        "{}",
        refused.stderr
    );
    assert!(!world.exists("../outside/prowess.toml"));
}

//! Files that are no skills, and skills as they are in the wild.

use serde_json::json;

use crate::world::{DESCRIPTION, Output, World};

/// Returns a world with a good skill and five files that are no skills.
fn world() -> World {
    let world = World::new();
    world.good("~/.agents/skills/csv-report");
    for (name, bytes) in [
        ("bare", &b"---\n---\n"[..]),
        ("empty", b""),
        ("junk", b"\xff\xfeB\x8f"),
        ("latin", b"---\nname: latin\ndescription: Caf\xe9\n---\nx\n"),
        ("nul", b"---\nname: nul\ndescription: d\n---\nzebra\0\n"),
    ] {
        world.file(format!("~/.agents/skills/{name}/SKILL.md"), bytes);
    }
    world
}

fn warnings(output: &Output) -> Vec<&str> {
    let lines = output.stderr.lines();
    lines.filter(|line| line.starts_with("warning")).collect()
}

const WARNING: &str = "warning: cannot read 5 skill files, the first is `~/.agents/skills/bare/SKILL.md`: it has neither frontmatter nor a body; run `prowess list --all`";

#[test]
fn files_that_are_no_skills_reach_no_index_search_or_tool() {
    let world = world();
    for arguments in [
        &["prompt"][..],
        &["list"],
        &["find", "zebra"],
        &["find", "junk"],
        &["tool", "call", "list_skills"],
        &[
            "tool",
            "call",
            "search_skills",
            "--json",
            r#"{"query": "zebra"}"#,
        ],
    ] {
        let shown = world.run(arguments).stdout;
        for name in ["bare", "empty", "junk", "latin", "nul"] {
            assert!(!shown.contains(name), "{arguments:?} {name}: {shown}");
        }
    }
    for name in ["bare", "empty", "junk", "latin", "nul"] {
        let input = json!({ "name": name }).to_string();
        let output = world.run(&["tool", "call", "load_skill", "--json", &input]);
        assert_ne!(output.code, 0, "{name}");
        let unknown = world
            .run(&["tool", "call", "load_skill", "--json", r#"{"name": "zzz"}"#])
            .snapshot();
        assert_eq!(output.snapshot().replace(name, "zzz"), unknown, "{name}");
    }
}

#[test]
fn list_run_and_chat_print_one_warning_about_files_that_are_no_skills() {
    let world = world();
    let list = world.run(&["list"]).expect(0);
    assert_eq!(warnings(&list), [WARNING]);
    let run = world
        .run(&["run", "--task", "say hello", "--model", "echo"])
        .expect(0);
    assert_eq!(warnings(&run), [WARNING]);
    let chat = world.command(&["chat", "--plain", "--model", "echo"]);
    assert_eq!(warnings(&chat.stdin("").run()), [WARNING]);
}

#[test]
fn list_all_and_why_say_why_a_file_is_no_skill() {
    let world = world();
    let list = world.run(&["list", "--all"]).expect(0);
    assert_eq!(warnings(&list), Vec::<&str>::new());
    for (name, reason) in [
        ("bare", "it has neither frontmatter nor a body"),
        ("empty", "it is empty"),
        ("junk", "it is not UTF-8 text"),
        ("latin", "it is not UTF-8 text"),
        ("nul", "it contains NUL bytes"),
    ] {
        let row = list.stdout.lines().find(|line| line.starts_with(name));
        let row = row.unwrap_or_default();
        assert!(
            row.contains("not a skill") && row.ends_with(reason),
            "{row}"
        );
        let path = world.path(format!("~/.agents/skills/{name}"));
        for named in [name, path.to_str().unwrap()] {
            let why = world.run(&["why", named]).expect(1).stdout;
            assert!(why.contains("do not see it: it is not a skill"), "{why}");
            assert!(why.contains(reason), "{why}");
        }
    }
    let document = world.run(&["list", "--json"]).expect(0).json();
    let kinds: Vec<&str> = document["faults"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fault| fault["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["not-a-skill"; 5]);
    // `validate` reports them as findings.
    let found = world.run(&["validate", "--format", "concise"]).expect(1);
    for rule in ["not-utf8", "nul-byte", "frontmatter-missing"] {
        assert!(found.stdout.contains(rule), "{}", found.stdout);
    }
}

#[test]
fn thousands_of_files_that_are_no_skills_hide_nothing() {
    let world = World::new();
    for number in 0..2_000 {
        // The same name as the good skill, nearer than it.
        world.file(format!(".agents/skills/{number}/csv-report/SKILL.md"), "");
    }
    world.good("~/.agents/skills/csv-report");
    let list = world.run(&["list"]).expect(0);
    assert!(list.stdout.contains("csv-report"), "{}", list.stdout);
    let [warning] = warnings(&list)[..] else {
        panic!("{}", list.stderr);
    };
    assert!(
        warning.contains("cannot read 2,000 skill files"),
        "{warning}"
    );
    world.run(&["why", "csv-report"]).expect(0);
}

#[test]
fn fixes_never_grant_a_shell() {
    let world = World::new();
    for (folder, keys) in [
        ("one", "tools: [bash]\n"),
        ("two", "allowed-tools: [bash]\n"),
        ("three", "allowed_tools: Bash\n"),
    ] {
        let frontmatter = format!("name: {folder}\ndescription: {DESCRIPTION}\n{keys}");
        world.skill(format!("skills/{folder}"), &frontmatter);
    }
    for _ in 0..2 {
        world.run(&["validate", "skills", "--fix", "--unsafe-fixes"]);
    }
    for (folder, keys) in [
        ("one", "tools: [bash]\n"),
        ("two", "allowed-tools: [bash]\n"),
        ("three", "allowed_tools: Bash\n"),
    ] {
        let text = world.read(format!("skills/{folder}/SKILL.md"));
        assert!(text.contains(keys), "{text}");
        let ran = world.run(&["exec", folder, "--skills-dir", "skills", "--", "id"]);
        assert_ne!(ran.code, 0, "{}", ran.stdout);
    }
}

#[test]
fn one_run_applies_all_suggestions() {
    let world = World::new();
    let keys = "disalowed-tools: WebSerach\n";
    let frontmatter = format!("name: pdf\ndescription: {DESCRIPTION}\n{keys}");
    world.skill("skills/pdf", &frontmatter);
    let flags = ["validate", "skills", "--fix", "--unsafe-fixes"];
    world.run(&flags).expect(0);
    let text = world.read("skills/pdf/SKILL.md");
    assert!(text.contains("disallowed-tools: WebSearch\n"), "{text}");
    let again = world.run(&flags).expect(0);
    assert!(!again.stderr.contains("Fixed"), "{}", again.stderr);
}

#[test]
fn named_folder_is_checked_all_the_way_down() {
    let world = World::new();
    let deep = format!("tree/{}pdf", "d/".repeat(40));
    world.good(&deep);
    // A link to a folder above does not lead to a second visit.
    world.link(&format!("tree/{}up", "d/".repeat(20)), "../..");
    let output = world.run(&["validate", "tree"]).expect(0);
    assert!(
        output.stderr.contains("Validated 1 skill"),
        "{}",
        output.stderr
    );
    assert_eq!(warnings(&output), Vec::<&str>::new());
    // Without a path, only the folders of the catalogue are searched.
    world.good(".agents/skills/csv-report");
    world.good(&format!(".agents/skills/{}pdf", "d/".repeat(10)));
    let output = world.run(&["validate"]).expect(0);
    assert!(
        output.stderr.contains("Validated 1 skill"),
        "{}",
        output.stderr
    );
    assert!(
        output.stderr.contains("nested too deeply"),
        "{}",
        output.stderr
    );
}

#[test]
fn crew_skill_is_valid_in_its_profile() {
    let world = World::new();
    let text = |name: &str| {
        format!(
            "---\nname: {name}\ndescription: {DESCRIPTION}\nlicense: MIT\ncompatibility:\n  - openai\n  - anthropic\nallowed-tools: Bash(git status:*) Read\n---\n\nCreate the task.\n"
        )
    };
    for name in ["create-task", "create_task"] {
        world.file(format!("skills/{name}/SKILL.md"), text(name));
    }
    let check = |profile: &str| {
        world.run(&[
            "validate",
            "skills",
            "--profile",
            profile,
            "--format",
            "concise",
        ])
    };
    assert_eq!(check("crew").expect(0).stdout, "");
    for profile in ["claude-code", "lenient"] {
        let found = check(profile).expect(0).stdout;
        assert_eq!(found.lines().count(), 3, "{found}");
        assert!(found.lines().all(|line| line.contains(" note[")), "{found}");
    }
    check("spec").expect(1);
}

#[test]
fn version_is_known_and_planck_version_is_a_fallback() {
    let world = World::new();
    for (name, keys) in [
        ("one", "version: 3\n"),
        ("two", "planck_version: 0.1.7\n"),
        (
            "three",
            "version: 1.5.0\nplanck_version: 0.1.7\nmetadata:\n  version: 1.4.2\n",
        ),
    ] {
        let frontmatter = format!("name: {name}\ndescription: {DESCRIPTION}\n{keys}");
        world.skill(format!("~/.agents/skills/{name}"), &frontmatter);
    }
    let list = world.run(&["list", "-w"]).expect(0).stdout;
    for (name, version) in [("one", "3"), ("two", "0.1.7"), ("three", "1.5.0")] {
        let row = list.lines().find(|line| line.starts_with(name)).unwrap();
        assert_eq!(row.split_whitespace().nth(1), Some(version), "{row}");
        let shown = world.run(&["show", name]).expect(0).stdout;
        assert!(shown.starts_with(&format!("{name} {version}  ")), "{shown}");
    }
    let found = world
        .run(&["validate", "--format", "concise"])
        .expect(0)
        .stdout;
    assert_eq!(found.lines().count(), 1, "{found}");
    assert!(found.contains("warning[version-mismatch]"), "{found}");
}

#[test]
fn json_and_sarif_are_complete_documents() {
    let world = World::new();
    for name in ["one", "two"] {
        let frontmatter = format!("name: {name}\ndescription: {DESCRIPTION}\nzebra: x\n");
        world.skill(format!("skills/{name}"), &frontmatter);
    }
    let json = world.run(&["validate", "skills", "--json"]).expect(0);
    let document = json.json();
    assert_eq!(document["findings"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        json.stdout,
        format!("{}\n", serde_json::to_string_pretty(&document).unwrap())
    );
    let sarif = world
        .run(&["validate", "skills", "--format", "sarif"])
        .expect(0);
    let document = sarif.json();
    let results = document["runs"][0]["results"].as_array();
    assert_eq!(results.map(Vec::len), Some(2));
    assert_eq!(
        sarif.stdout,
        format!("{}\n", serde_json::to_string_pretty(&document).unwrap())
    );
}

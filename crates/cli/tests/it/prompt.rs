//! `prowess prompt`

use serde_json::json;

use crate::world::World;

fn library() -> World {
    let world = World::new();
    world.skill(
        ".agents/skills/pdf-forms",
        "name: pdf-forms\ndescription: Fills in <b>PDF</b> forms & more. Use when a form is to be filled in.\n",
    );
    world.skill(
        "~/.claude/skills/release-notes",
        "name: release-notes\ndescription: Says what changed. Use when a version is released.\n",
    );
    // Hide the bundled skill.
    world.file("~/config.toml", "[skills.visibility]\nprowess = 'off'\n");
    world
}

#[test]
fn markdown() {
    insta::assert_snapshot!(library().run(&["prompt"]).expect(0).snapshot());
}

#[test]
fn xml() {
    insta::assert_snapshot!(
        library()
            .run(&["prompt", "--format", "xml"])
            .expect(0)
            .snapshot()
    );
}

/// The exact output of `skills-ref to-prompt` for these two folders.
#[test]
fn xml_matches_the_reference_tool() {
    let world = library();
    let output = world
        .run(&["prompt", "--format", "xml", "--compat", "-q"])
        .expect(0);
    let wanted = format!(
        "<available_skills>\n<skill>\n<name>\npdf-forms\n</name>\n<description>\nFills in &lt;b&gt;PDF&lt;/b&gt; forms &amp; more. Use when a form is to be filled in.\n</description>\n<location>\n{}\n</location>\n</skill>\n<skill>\n<name>\nrelease-notes\n</name>\n<description>\nSays what changed. Use when a version is released.\n</description>\n<location>\n{}\n</location>\n</skill>\n</available_skills>\n",
        world.path(".agents/skills/pdf-forms/SKILL.md").display(),
        world
            .path("~/.claude/skills/release-notes/SKILL.md")
            .display(),
    );
    assert_eq!(output.stdout, wanted);
    assert_eq!(
        world.run(&["prompt", "--compat"]).expect(2).errors(),
        "error: `--compat` requires `--format xml`\nhint: add `--format xml`\n"
    );
}

#[test]
fn json_listing_and_json_report() {
    let world = library();
    let listing = world
        .run(&["prompt", "--format", "json", "-q"])
        .expect(0)
        .json()
        .to_string();
    assert!(listing.contains("\"pdf-forms\"") && listing.contains("\"release-notes\""));
    let report = world.run(&["prompt", "--json"]).expect(0).json();
    assert_eq!(report["schema"], "prowess.index/1");
    assert_eq!(report["budget"], 2000);
    let printed = world.run(&["prompt", "-q"]).expect(0).stdout;
    assert_eq!(format!("{}\n", report["text"].as_str().unwrap()), printed);
    let rows = report["skills"].as_array().unwrap();
    let fates: Vec<_> = rows
        .iter()
        .map(|row| (&row["name"], &row["fate"]))
        .collect();
    let whole = json!("whole");
    assert_eq!(
        fates,
        [
            (&json!("pdf-forms"), &whole),
            (&json!("release-notes"), &whole)
        ]
    );
}

#[test]
fn budgets() {
    let world = library();
    for number in 0..50 {
        world.good(&format!(".agents/skills/form-{number:02}"));
    }
    let of = |flags: &[&str]| {
        world
            .run(&[&["prompt", "--json"], flags].concat())
            .expect(0)
            .json()
    };
    for budget in [1, 40, 300, 900] {
        let report = of(&["--budget", &budget.to_string()]);
        assert!(
            report["tokens"].as_u64().unwrap() <= budget,
            "{budget}: {report}"
        );
        assert_eq!(
            report["skills"].as_array().unwrap().len(),
            52,
            "each is accounted for"
        );
    }
    assert_eq!(of(&["--window", "100000"])["budget"], 1000);
    world.file(".agents/prowess.toml", "[prompt]\nbudget = 77\n");
    assert_eq!(of(&[])["budget"], 77);
    assert_eq!(of(&["--budget", "78"])["budget"], 78);
    let output = world.run(&["prompt"]).expect(0);
    assert!(
        output.stderr.contains(" omitted\nomitted: `"),
        "{}",
        output.snapshot()
    );
    assert!(
        output.stderr.ends_with(" more; run `prowess why NAME`\n"),
        "{}",
        output.snapshot()
    );
    // A budget too small for a single name is reported.
    let nothing = world.run(&["prompt", "--budget", "1"]).expect(0);
    assert!(
        nothing.stderr.contains("52 skills, 52 omitted"),
        "{}",
        nothing.snapshot()
    );
}

#[test]
fn recent_counts_the_remaining_skills() {
    let world = library();
    for number in 0..20 {
        world.good(&format!(".agents/skills/form-{number:02}"));
    }
    let output = world.run(&["prompt", "--recent"]).expect(0);
    assert!(
        output.stdout.starts_with("## Last used skills\n"),
        "{}",
        output.snapshot()
    );
    assert!(
        output.stdout.contains(" 17 more skills"),
        "{}",
        output.snapshot()
    );
    assert!(
        !output.stderr.contains("left out: "),
        "{}",
        output.snapshot()
    );
}

#[test]
fn agent() {
    let world = library();
    world.file(
        ".agents/prowess.toml",
        "[agents.writer]\nskills = ['release-notes']\n",
    );
    let output = world.run(&["prompt", "--agent", "writer"]).expect(0);
    assert!(
        output.stdout.contains("release-notes"),
        "{}",
        output.snapshot()
    );
    assert!(
        !output.stdout.contains("pdf-forms"),
        "{}",
        output.snapshot()
    );
    world.run(&["prompt", "--agent", "nobody"]).expect(2);
}

#[test]
fn hidden_skills_are_excluded() {
    let world = library();
    world.skill(
        ".agents/skills/deploy",
        "name: deploy\ndescription: Deploys.\ndisable-model-invocation: true\n",
    );
    world.file(
        "~/config.toml",
        "[skills.visibility]\nprowess = 'off'\npdf-forms = 'user-only'\nrelease-notes = 'name-only'\n",
    );
    let output = world.run(&["prompt", "-q"]).expect(0);
    assert_eq!(output.stdout, "## Skills\n\n- **release-notes**\n");
}

#[test]
fn no_skills_print_nothing() {
    let world = World::new();
    // The bundled skill alone does not count.
    let bundled = world.run(&["prompt"]).expect(0);
    assert_eq!(bundled.stdout, "");
    assert_eq!(bundled.errors(), "0 of 2,000 tokens, 0 skills\n");
    world.file("~/config.toml", "[skills.visibility]\nprowess = 'off'\n");
    for format in ["markdown", "xml"] {
        let output = world.run(&["prompt", "--format", format]).expect(0);
        assert_eq!(output.stdout, "", "{format}");
    }
    assert_eq!(
        world.run(&["prompt", "--json"]).expect(0).json()["skills"],
        json!([])
    );
}

/// The search for skills opens SKILL.md once. Loading the skill opens each of its files once more.
#[cfg(target_os = "linux")]
#[test]
fn prompt_opens_each_file_of_a_skill_once() {
    let world = library();
    let folder = world.path("~/.claude/skills/release-notes");
    world.file("~/.claude/skills/release-notes/references/a.md", "More.\n");
    let count = |arguments: &[&str]| {
        let opens = prowess_test::Opens::below(&folder).unwrap();
        world.run(arguments).expect(0);
        opens.take()
    };
    let found = count(&["list", "--no-cache"]);
    assert_eq!(found, [("SKILL.md".to_owned(), 1)].into());
    let loaded = count(&["prompt", "--skill", "release-notes", "--no-cache"]);
    let expected = [("SKILL.md", 2), ("references/a.md", 1)];
    assert_eq!(
        loaded,
        expected
            .map(|(file, count)| (file.to_owned(), count))
            .into()
    );
}

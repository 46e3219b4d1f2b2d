//! `prowess validate`

use serde_json::{Value, json};

use crate::world::{DESCRIPTION, Output, World};

/// Returns a world with a valid skill, one with an error, and one with a warning.
fn mixed() -> World {
    let world = World::with_a_good_skill();
    world.named("skills/pdf-tools", "PDF tools");
    world.skill("skills/terse", "name: terse\ndescription: Does things.\n");
    world
}

fn concise(world: &World, flags: &[&str]) -> Output {
    world.run(&[&["validate", "skills", "--format", "concise"], flags].concat())
}

/// Returns the rules of the findings, in order.
fn rules(output: &Output) -> Vec<&str> {
    let rule = |line: &'_ str| -> Option<(usize, usize)> {
        let start = line.find('[')? + 1;
        Some((start, start + line[start..].find(']')?))
    };
    output
        .stdout
        .lines()
        .map(|line| rule(line).map_or(line, |(start, end)| &line[start..end]))
        .collect()
}

#[test]
fn clean_folder() {
    let world = World::with_a_good_skill();
    world.good("skills/csv-report");
    insta::assert_snapshot!(world.run(&["validate", "skills"]).expect(0).snapshot());
}

#[test]
fn full_with_a_safe_fix() {
    let world = World::with_a_good_skill();
    world.skill(
        "skills/pdf-tools",
        &format!("name: pdf-tools\ndescription: {DESCRIPTION}\nlicense: MIT\nlicense: MIT\n"),
    );
    insta::assert_snapshot!(world.run(&["validate", "skills"]).expect(1).snapshot());
}

#[test]
fn full_with_a_suggested_fix() {
    let world = World::with_a_good_skill();
    world.named("skills/pdf-tools", "pdf");
    insta::assert_snapshot!(world.run(&["validate", "skills"]).expect(1).snapshot());
}

#[test]
fn full_with_several_findings() {
    insta::assert_snapshot!(mixed().run(&["validate", "skills"]).expect(1).snapshot());
}

#[test]
fn full_with_many_kinds() {
    let world = World::new();
    world.file(
        "skills/many/SKILL.md",
        "---\nname: many\ndescription: Does: things\ndiscription: twice\nuser-invocable: yes please\nallowed-tools: Bash, Raed\nmodle: opus\n--- \n\n# Many\n\nSee [this](references/gone.md) and run `${CLAUDE_SKILL_DIR}/scripts/gone.sh`.\n",
    );
    insta::assert_snapshot!(world.run(&["validate", "skills"]).snapshot());
}

#[test]
fn concise_format() {
    insta::assert_snapshot!(concise(&mixed(), &[]).expect(1).snapshot());
}

#[test]
fn github_format() {
    let output = mixed().run(&["validate", "skills", "--format", "github"]);
    insta::assert_snapshot!(output.expect(1).snapshot());
}

#[test]
fn github_format_escapes_paths() {
    let world = World::new();
    world.named("skills/a,b:c%d\ne", "other");
    let output = world
        .run(&["validate", "skills", "--format", "github"])
        .expect(1);
    assert!(
        output
            .stdout
            .starts_with("::error file=skills/a%2Cb%3Ac%25d%0Ae/SKILL.md,line=2,"),
        "{}",
        output.stdout
    );
    assert_eq!(output.stdout.lines().count(), 1);
}

#[test]
fn json_format() {
    let world = World::with_a_good_skill();
    world.skill(
        "skills/pdf-tools",
        &format!("description: {DESCRIPTION}\nname: 'pdf tools' # ours\n"),
    );
    let output = world.run(&["validate", "skills", "--json"]).expect(1);
    let document = output.json();
    assert_eq!(document["schema"], "prowess.validate/1");
    assert_eq!(document["profile"], "claude-code");
    assert_eq!(
        document["summary"],
        json!({ "skills": 2, "affected": 1, "errors": 1, "warnings": 0, "notes": 0, "fixable": 0, "fixed": 0, "suggested": 1 })
    );
    let text = world.read("skills/pdf-tools/SKILL.md");
    let (start, end) = (
        text.find("'pdf tools'").unwrap(),
        text.find(" # ours").unwrap(),
    );
    let place = |at: usize, column: usize| json!({ "line": 3, "column": column, "offset": at });
    let findings = document["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1);
    for (finding, rule) in findings.iter().zip(["name-characters"]) {
        assert_eq!(finding["rule"], rule);
        assert_eq!(finding["severity"], "error");
        assert_eq!(finding["path"], "skills/pdf-tools/SKILL.md");
        let edit = &finding["fix"]["edits"][0];
        assert_eq!(finding["fix"]["applicability"], "suggested");
        assert_eq!(edit["start"], place(start, 7));
        assert_eq!(edit["end"], place(end, 18));
        // Applying the edit like an editor gives the result of `--fix --unsafe-fixes`.
        let mut edited = text.clone();
        edited.replace_range(start..end, edit["replacement"].as_str().unwrap());
        let fixed = World::new();
        fixed.file("pdf-tools/SKILL.md", &text);
        fixed
            .run(&["validate", "pdf-tools", "--fix", "--unsafe-fixes"])
            .expect(0);
        assert_eq!(fixed.read("pdf-tools/SKILL.md"), edited);
    }
    insta::assert_snapshot!(output.snapshot());
}

#[test]
fn json_columns_count_characters_and_offsets_bytes() {
    let world = World::new();
    world.skill("skills/a", "name: a\ndescription: x\n\"é😀\": {aé: 1}\n");
    let document = concise_json(&world);
    let finding = document["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|finding| finding["rule"] == "unknown-key")
        .expect("the key is unknown");
    assert_eq!(
        finding["start"],
        json!({ "line": 4, "column": 1, "offset": 27 })
    );
    assert_eq!(
        finding["end"],
        json!({ "line": 4, "column": 5, "offset": 27 + "\"é😀\"".len() })
    );
}

fn concise_json(world: &World) -> Value {
    world.run(&["validate", "skills", "--json"]).json()
}

#[test]
fn json_of_a_clean_folder() {
    let world = World::with_a_good_skill();
    insta::assert_snapshot!(
        world
            .run(&["validate", "skills", "--json"])
            .expect(0)
            .snapshot()
    );
}

#[test]
fn json_and_format_exclude_each_other() {
    let output = World::new().run(&["validate", "--json", "--format", "sarif"]);
    insta::assert_snapshot!(output.expect(2).snapshot());
}

#[test]
fn sarif_format() {
    let output = mixed()
        .run(&["validate", "skills", "--format", "sarif"])
        .expect(1);
    let log = output.json();
    assert_eq!(log["version"], "2.1.0");
    assert_eq!(
        log["$schema"],
        "https://json.schemastore.org/sarif-2.1.0.json"
    );
    let run = &log["runs"][0];
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "prowess");
    assert_eq!(driver["semanticVersion"], env!("CARGO_PKG_VERSION"));
    let known: Vec<&Value> = driver["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| &rule["id"])
        .collect();
    let results = run["results"].as_array().unwrap();
    assert!(!results.is_empty());
    for result in results {
        assert!(known.contains(&&result["ruleId"]), "{result}");
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()));
        let place = &result["locations"][0]["physicalLocation"];
        assert!(
            place["artifactLocation"]["uri"]
                .as_str()
                .unwrap()
                .starts_with("skills/")
        );
        assert!(place["region"]["startLine"].as_u64().unwrap() >= 1);
    }
    for id in known {
        assert!(
            results.iter().any(|result| result["ruleId"] == *id),
            "{id} is listed and not used"
        );
    }
    insta::assert_snapshot!(serde_json::to_string_pretty(&run["results"]).unwrap());
}

#[test]
fn sarif_of_a_clean_folder() {
    let world = World::with_a_good_skill();
    let log = world
        .run(&["validate", "skills", "--format", "sarif"])
        .expect(0)
        .json();
    assert_eq!(log["runs"][0]["results"], json!([]));
}

#[test]
fn select_checks_only_these_rules() {
    let world = mixed();
    assert_eq!(
        rules(&concise(&world, &["--select", "description-trigger"]).expect(0)),
        ["description-trigger"]
    );
    let flags = [
        "--select",
        "name-characters",
        "--select",
        "description-trigger",
    ];
    assert_eq!(
        rules(&concise(&world, &flags).expect(1)),
        ["name-characters", "description-trigger"]
    );
    let flags = ["--select", "name-characters,description-trigger"];
    assert_eq!(
        rules(&concise(&world, &flags).expect(1)),
        ["name-characters", "description-trigger"]
    );
    assert_eq!(
        concise(&world, &["--select", "body-empty"])
            .expect(0)
            .stdout,
        ""
    );
}

#[test]
fn ignore_skips_these_rules() {
    let world = mixed();
    let all = concise(&world, &[]).expect(1);
    assert_eq!(rules(&all), ["name-characters", "description-trigger"]);
    // The name is also in upper case, which the first finding covered.
    let output = concise(&world, &["--ignore", "name-characters"]).expect(1);
    assert_eq!(rules(&output), ["name-case", "description-trigger"]);
    let flags = ["--ignore", "name-characters,name-case"];
    let output = concise(&world, &flags).expect(0);
    assert_eq!(rules(&output), ["description-trigger"]);
    let flags = ["--select", "name-characters", "--ignore", "name-characters"];
    assert_eq!(concise(&world, &flags).expect(0).stdout, "");
}

#[test]
fn severity_and_fail_on_determine_the_exit_code() {
    let world = World::new();
    world.skill("skills/terse", "name: terse\ndescription: Does things.\n");
    for (flags, severity, code) in [
        (&[][..], "warning", 0),
        (&["--fail-on", "error"], "warning", 0),
        (&["--fail-on", "warning"], "warning", 1),
        (&["--fail-on", "note"], "warning", 1),
        (&["--severity", "description-trigger=error"], "error", 1),
        (&["--severity", "description-trigger=note"], "note", 0),
        (
            &[
                "--severity",
                "description-trigger=note",
                "--fail-on",
                "warning",
            ],
            "note",
            0,
        ),
        (
            &[
                "--severity",
                "description-trigger=note",
                "--fail-on",
                "note",
            ],
            "note",
            1,
        ),
    ] {
        let output = concise(&world, flags);
        assert_eq!(output.code, code, "{flags:?}");
        assert!(
            output
                .stdout
                .contains(&format!(": {severity}[description-trigger] ")),
            "{flags:?}"
        );
    }
    let output = concise(&world, &["--severity", "description-trigger=off"]).expect(0);
    assert_eq!(output.stdout, "");
}

#[test]
fn unknown_rules_suggest() {
    let world = mixed();
    for flags in [
        ["--select", "name-charcters"],
        ["--ignore", "name-charcters"],
        ["--severity", "name-charcters=off"],
    ] {
        let output = concise(&world, &flags).expect(2);
        assert_eq!(
            output.snapshot(),
            "exit: 2\n----- stdout -----\n\n----- stderr -----\nerror: no rule named `name-charcters`\nhint: did you mean `name-characters`?\n",
            "{flags:?}"
        );
    }
}

#[test]
fn invalid_values_suggest() {
    let world = mixed();
    for (name, flags) in [
        ("severity_form", ["--severity", "name-characters"]),
        ("severity_level", ["--severity", "name-characters=warn"]),
        ("fail_on", ["--fail-on", "warnings"]),
        ("profile", ["--profile", "claude"]),
        ("profile_far", ["--profile", "strict"]),
        ("target", ["--target", "claude.ai"]),
    ] {
        insta::assert_snapshot!(
            format!("unknown_{name}"),
            concise(&world, &flags).expect(2).snapshot()
        );
    }
}

#[test]
fn profiles_differ() {
    let world = World::new();
    world.skill(
        "skills/a",
        &format!(
            "name: a\ndescription: {DESCRIPTION}\nmodel: opus\nzebra: 1\nmetadata: {{a: b}}\n"
        ),
    );
    for profile in ["spec", "claude-code", "lenient"] {
        insta::assert_snapshot!(
            format!("profile_{profile}"),
            concise(&world, &["--profile", profile]).snapshot()
        );
    }
}

#[test]
fn lenient_accepts_what_can_be_recovered() {
    let world = World::new();
    world.skill(
        "skills/a",
        "description: Fills in: forms. Use when asked.\n",
    );
    concise(&world, &["--profile", "spec"]).expect(1);
    concise(&world, &["--profile", "lenient"]).expect(0);
}

#[test]
fn target_adds_its_rules() {
    let world = World::new();
    world.skill(
        "skills/claude-helper",
        "name: claude-helper\ndescription: Helps <b>much</b>. Use when asked.\nmodel: opus\n",
    );
    let without = concise(&world, &[]).expect(0);
    assert!(
        !without.stdout.contains("claude-ai-"),
        "{}",
        without.snapshot()
    );
    insta::assert_snapshot!(
        concise(&world, &["--target", "claude-ai"])
            .expect(1)
            .snapshot()
    );
}

#[test]
fn statistics() {
    let world = mixed();
    world.named("skills/csv-tools", "CSV_tools");
    let output = world.run(&["validate", "skills", "--statistics"]).expect(1);
    insta::assert_snapshot!(output.snapshot());
    let document = world
        .run(&["validate", "skills", "--statistics", "--json"])
        .expect(1)
        .json();
    assert_eq!(document["schema"], "prowess.validate-statistics/1");
    assert_eq!(document["skills"], 4);
    let rows: Vec<&str> = document["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["rule"].as_str().unwrap())
        .collect();
    let shown: Vec<&str> = output
        .stdout
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().last())
        .collect();
    assert_eq!(rows, shown);
}

#[test]
fn statistics_of_a_clean_folder() {
    let world = World::with_a_good_skill();
    insta::assert_snapshot!(
        world
            .run(&["validate", "skills", "--statistics"])
            .expect(0)
            .snapshot()
    );
}

const STDIN: &str = "---\nname: PDF_tools\ndescription: Fills in forms. Use when asked.\nuser-invocable: \"true\"\n---\n\nFill it in.\n";

#[test]
fn standard_input() {
    let output = World::new().command(&["validate", "-"]).stdin(STDIN).run();
    insta::assert_snapshot!(output.snapshot());
}

#[test]
fn standard_input_as_json() {
    let output = World::new()
        .command(&["validate", "-", "--json"])
        .stdin(STDIN)
        .run()
        .expect(1);
    let document = output.json();
    assert_eq!(document["schema"], "prowess.validate/1");
    assert_eq!(document["findings"][0]["path"], "<stdin>");
    assert_eq!(document["summary"]["skills"], 1);
}

/// As everywhere, success is one line with the count.
#[test]
fn clean_standard_input() {
    let clean = format!("---\nname: a\ndescription: {DESCRIPTION}\n---\n\nDo it.\n");
    let output = World::new()
        .command(&["validate", "-"])
        .stdin(clean)
        .run()
        .expect(0);
    assert_eq!(output.stdout, "");
    assert_eq!(
        output.errors(),
        "Validated 1 skill in [TIME], no findings\n"
    );
}

#[test]
fn standard_input_excludes_paths() {
    let world = World::with_a_good_skill();
    insta::assert_snapshot!(world.run(&["validate", "-", "skills"]).expect(2).snapshot());
}

#[test]
fn standard_input_may_be_empty_or_large_or_not_text() {
    let world = World::new();
    for (name, bytes) in [
        ("empty", Vec::new()),
        ("large", vec![b'a'; (1 << 20) + 1]),
        ("not_utf8", b"---\nname: \xff\n".to_vec()),
    ] {
        let output = world
            .command(&["validate", "-", "--format", "concise"])
            .stdin(bytes)
            .run();
        insta::assert_snapshot!(format!("standard_input_{name}"), output.snapshot());
    }
}

#[test]
fn dot_inside_a_skill() {
    let world = World::new();
    world.named("skills/pdf-tools", "pdf");
    for typed in [".", "./", "SKILL.md", "./SKILL.md", "../pdf-tools"] {
        let output = world
            .command(&["validate", typed, "--format", "concise"])
            .dir("skills/pdf-tools")
            .run();
        let output = output.expect(1);
        let (path, rest) = output.stdout.split_once(':').unwrap();
        assert_eq!(
            rest,
            "2:7: error[name-folder-mismatch] skill name differs from its folder [suggestion]\n",
            "{typed}"
        );
        let wanted = if typed.starts_with("..") {
            "../pdf-tools/SKILL.md"
        } else {
            "SKILL.md"
        };
        assert_eq!(path, wanted, "{typed}");
    }
    // A valid file passes with any file name.
    world.good("skills/csv-report");
    for typed in [".", "./", "SKILL.md"] {
        world
            .command(&["validate", typed])
            .dir("skills/csv-report")
            .run()
            .expect(0);
    }
}

#[test]
fn nested_folders_are_searched() {
    let world = World::new();
    world.named("skills/a/b/c/deep", "wrong");
    world.named("skills/shallow", "wrong");
    for skipped in [".git", "node_modules", "target", ".venv"] {
        world.named(format!("skills/{skipped}/hidden"), "wrong");
    }
    let output = concise(&world, &[]).expect(1);
    assert_eq!(
        output.stdout,
        "skills/a/b/c/deep/SKILL.md:2:7: error[name-folder-mismatch] skill name differs from its folder\n\
         skills/shallow/SKILL.md:2:7: error[name-folder-mismatch] skill name differs from its folder\n"
    );
    assert_eq!(output.stderr, "2 errors in 2 skills\n");
}

#[test]
fn several_paths_are_all_checked() {
    let world = mixed();
    let output = world.run(&[
        "validate",
        "skills/terse",
        "skills/pdf-tools/SKILL.md",
        "--format",
        "concise",
    ]);
    let output = output.expect(1);
    let mut sorted: Vec<&str> = output.stdout.lines().collect();
    sorted.sort_unstable();
    assert_eq!(output.stdout.lines().collect::<Vec<_>>(), sorted);
    assert_eq!(
        output.stderr,
        "1 error and 1 warning in 2 skills (1 fixable with `--fix --unsafe-fixes`)\n"
    );
}

/// A skill given twice is checked once.
#[test]
fn overlapping_paths_are_checked_once() {
    let world = mixed();
    let once = concise(&world, &[]).expect(1);
    for more in [
        "skills",
        "skills/terse",
        "skills/terse/SKILL.md",
        "./skills",
    ] {
        let twice = concise(&world, &[more]).expect(1);
        assert_eq!(
            (&twice.stdout, &twice.stderr),
            (&once.stdout, &once.stderr),
            "{more}"
        );
    }
}

/// In many projects `.claude/skills` is a link to `.agents/skills`, which is one set of skills.
#[test]
fn linked_roots_are_checked_once() {
    let world = World::new();
    world.named(".agents/skills/pdf-tools", "pdf");
    world.link(".claude/skills", "../.agents/skills");
    let output = world.run(&["validate", "--format", "concise"]).expect(1);
    assert_eq!(output.stdout.lines().count(), 1, "{}", output.snapshot());
    assert_eq!(
        output.stderr,
        "1 error in 1 skill (1 fixable with `--fix --unsafe-fixes`)\n"
    );
}

#[test]
fn all_visible_skills() {
    let world = World::new();
    world.good(".agents/skills/one");
    world.good(".claude/skills/two");
    world.good("~/.agents/skills/three");
    world.named("~/.claude/skills/four", "wrong");
    world.good("elsewhere/five");
    let output = world.run(&["validate", "--format", "concise"]).expect(1);
    let home = world.path("~").display().to_string();
    let home = home.trim_end_matches('/');
    assert_eq!(
        output.stdout.replace(home, "[HOME]"),
        "[HOME]/.claude/skills/four/SKILL.md:2:7: error[name-folder-mismatch] skill name differs from its folder\n"
    );
    assert_eq!(output.stderr, "1 error in 1 of 4 skills\n");
    let more = world
        .command(&["validate", "-q"])
        .env("PROWESS_SKILLS_PATH", "elsewhere")
        .run();
    more.expect(1);
    std::fs::remove_dir_all(world.path("~/.claude")).unwrap();
    let output = world
        .command(&["validate"])
        .env("PROWESS_SKILLS_PATH", "elsewhere")
        .run()
        .expect(0);
    assert_eq!(
        output.errors(),
        "Validated 4 skills in [TIME], no findings\n"
    );
}

/// Programs cannot open paths with `~`.
#[test]
fn machine_readable_paths_can_be_opened() {
    let world = World::new();
    let file = world.named("~/.agents/skills/four", "wrong");
    let document = world.run(&["validate", "--json"]).expect(1).json();
    let path = document["findings"][0]["path"].as_str().unwrap();
    assert_eq!(
        world.path(".").join(path).canonicalize().ok(),
        file.canonicalize().ok(),
        "{path}"
    );
}

#[test]
fn installed_names() {
    let world = World::new();
    world.good(".agents/skills/pdf-tools");
    world.good("~/.agents/skills/csv-report");
    for name in ["pdf-tools", "csv-report"] {
        let output = world.run(&["validate", name]).expect(0);
        assert_eq!(
            output.errors(),
            "Validated 1 skill in [TIME], no findings\n",
            "{name}"
        );
    }
    // The project takes precedence; the other skill has a qualified name.
    world.skill(".agents/skills/csv-report", "name: csv-report\n");
    let output = world
        .run(&["validate", "csv-report", "--format", "concise"])
        .expect(1);
    assert!(
        output
            .stdout
            .starts_with(".agents/skills/csv-report/SKILL.md:"),
        "{}",
        output.snapshot()
    );
    world.run(&["validate", "user:csv-report"]).expect(0);
}

/// The folder name resolves to the skill unless another skill has that name.
#[test]
fn folder_names_of_misnamed_skills() {
    let world = World::new();
    world.named(".agents/skills/csv-report", "wrong");
    for name in ["csv-report", "wrong"] {
        let output = world
            .run(&["validate", name, "--format", "concise"])
            .expect(1);
        assert!(
            output.stdout.contains("error[name-folder-mismatch]"),
            "{}",
            output.snapshot()
        );
        assert_eq!(output.errors(), "1 error in 1 skill\n");
    }
    // `csv-report` now resolves to this skill, with a warning.
    world.good("~/.agents/skills/csv-report");
    insta::assert_snapshot!(world.run(&["validate", "csv-report"]).expect(0).snapshot());
}

#[test]
fn bundled_skill_is_not_a_file() {
    insta::assert_snapshot!(
        World::new()
            .run(&["validate", "prowess"])
            .expect(2)
            .snapshot()
    );
}

#[test]
fn unknown_names_suggest() {
    let world = World::new();
    insta::assert_snapshot!(
        "unknown_name_none_installed",
        world.run(&["validate", "pdf-tools"]).expect(2).snapshot()
    );
    world.good("~/.agents/skills/pdf-tools");
    insta::assert_snapshot!(
        "unknown_name_near",
        world.run(&["validate", "pdf-tool"]).expect(2).snapshot()
    );
    insta::assert_snapshot!(
        "unknown_name_far",
        world.run(&["validate", "zebra"]).expect(2).snapshot()
    );
}

#[test]
fn no_skills_visible() {
    insta::assert_snapshot!(World::new().run(&["validate"]).expect(2).snapshot());
}

#[test]
fn missing_path() {
    insta::assert_snapshot!(
        World::new()
            .run(&["validate", "skills/nope"])
            .expect(2)
            .snapshot()
    );
}

#[test]
fn one_missing_path_among_others() {
    let world = World::with_a_good_skill();
    let output = world.run(&["validate", "skills", "nope/nope"]).expect(2);
    assert!(
        output
            .stderr
            .starts_with("error: path does not exist: `nope/nope`\n"),
        "{}",
        output.snapshot()
    );
}

#[test]
fn folder_without_skills() {
    let world = World::new();
    world.file("docs/readme.md", "# Hello\n");
    insta::assert_snapshot!(world.run(&["validate", "docs"]).expect(1).snapshot());
}

#[test]
fn empty_skills_folder_is_not_an_error() {
    let world = World::new();
    world.folder(".agents/skills");
    let output = world.run(&["validate"]).expect(0);
    assert_eq!(
        output.errors(),
        "Validated 0 skills in [TIME], no findings\n"
    );
}

#[test]
fn single_file_skill() {
    let world = World::new();
    world.file(
        "notes.md",
        format!("---\nname: notes\ndescription: {DESCRIPTION}\n---\n\nDo it.\n"),
    );
    world
        .run(&["validate", "notes.md", "--fail-on", "note"])
        .expect(0);
}

#[test]
fn lower_case_file_name_warns() {
    let world = World::new();
    world.file(
        "skills/a/skill.md",
        format!("---\nname: a\ndescription: {DESCRIPTION}\n---\n\nDo it.\n"),
    );
    insta::assert_snapshot!(world.run(&["validate", "skills"]).expect(0).snapshot());
}

#[test]
fn order_of_findings_does_not_depend_on_threads() {
    let world = World::new();
    for number in 0..200 {
        world.named(format!("skills/g{}/skill-{number:03}", number % 7), "wrong");
    }
    let first = concise(&world, &[]).expect(1);
    assert_eq!(first.stdout.lines().count(), 200);
    let mut sorted: Vec<&str> = first.stdout.lines().collect();
    sorted.sort_unstable();
    assert_eq!(first.stdout.lines().collect::<Vec<_>>(), sorted);
    for _ in 0..3 {
        assert_eq!(concise(&world, &[]).stdout, first.stdout);
    }
    assert_eq!(first.stderr, "200 errors in 200 skills\n");
}

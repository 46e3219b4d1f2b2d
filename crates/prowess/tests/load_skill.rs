//! `load_skill` and `parse_skill` accept what a registry accepts, keep the folder, and never block.

#![allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "helpers of tests are tests; `cargo xtask load` shows the counts"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess::models::ScriptedModel;
use prowess::spec::parse;
use prowess::{
    Ending, LoadSkillError, NewSkill, Registry, Runtime, RuntimeError, define_skill, load_skill,
    load_typed_skill, parse_skill, parse_skill_named,
};
use serde_json::json;

const TEXT: &str = "---\nname: greet\ndescription: Greets people.\n---\nSay hello.\n";

/// A file as Agentick's documentation shows it.
const TRIAGE: &str = "\
---
name: triage
description: Look into an issue and decide what to do.
when_to_use: When a bug is reported or an issue needs a decision.
allowed-tools: [search, read_file]
arguments: [issueNumber]
maxTicks: 4
---

You triage issues.

Look into issue $issueNumber with the tools search and read_file, and decide
whether to fix it. Then call `submit` with the result.
";

/// Writes a skill into a folder of its own, and returns the folder.
fn skill(world: &Path, folder: &str, text: &str) -> PathBuf {
    let folder = world.join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("SKILL.md"), text).unwrap();
    folder
}

/// Returns the name, description and arguments of a skill, as the registry has them.
fn identity(skill: NewSkill) -> (String, String, Vec<String>) {
    let arguments = arguments(skill.text());
    let name = skill.name().to_owned();
    let registry = Registry::default();
    registry.register(skill).unwrap();
    let head = registry.get(&name).unwrap();
    (
        head.name.to_string(),
        head.description.to_string(),
        arguments,
    )
}

fn arguments(text: &str) -> Vec<String> {
    let parsed = parse(text.as_bytes());
    let names = parsed.manifest.arguments.iter();
    names.map(|name| name.value.to_string()).collect()
}

#[test]
fn folder_and_files_are_loaded() {
    let world = tempfile::tempdir().unwrap();
    skill(world.path(), "greet", TEXT);
    std::fs::write(world.path().join("greet.md"), TEXT).unwrap();
    for path in [
        "greet",
        "greet/",
        "greet/SKILL.md",
        "greet/../greet",
        "greet.md",
    ] {
        let skill = load_skill(world.path().join(path)).unwrap();
        assert_eq!(skill.name(), "greet", "{path}");
    }
}

#[test]
fn other_paths_are_errors() {
    let world = tempfile::tempdir().unwrap();
    std::fs::create_dir(world.path().join("empty")).unwrap();
    skill(world.path(), "blank", " \n");
    std::fs::write(world.path().join("greet.txt"), TEXT).unwrap();
    for path in ["empty", "blank", "greet.txt"] {
        let error = load_skill(world.path().join(path)).unwrap_err();
        assert!(
            matches!(error, LoadSkillError::NotASkill { .. }),
            "{path}: {error}"
        );
    }
    for path in ["absent", "absent.md", "absent/SKILL.md", "empty/SKILL.md"] {
        let error = load_skill(world.path().join(path)).unwrap_err();
        let is_read = matches!(error, LoadSkillError::Read { .. });
        assert!(is_read || path.starts_with("empty"), "{path}: {error}");
    }
}

/// Opening a FIFO without a writer blocks, unless the file is opened without blocking.
#[test]
fn fifo_is_refused() {
    let world = tempfile::tempdir().unwrap();
    let fifo = world.path().join("SKILL.md");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    let error = load_skill(world.path()).unwrap_err();
    assert!(matches!(error, LoadSkillError::Read { .. }), "{error}");
}

/// S-B1: files of other systems were refused because of keys that are not in the open standard.
#[test]
fn files_of_other_systems_are_loaded() {
    let world = tempfile::tempdir().unwrap();
    let head = |keys: &str| format!("---\nname: x\ndescription: Does it.\n{keys}---\nDo it.\n");
    for keys in [
        "when_to_use: When asked.\n",
        "maxTicks: 3\n",
        "always_present: true\n",
        "allowed_tools: [a, b]\n",
        "allowed-tools: [a, b]\n",
        "compatibility: [openai, anthropic]\n",
        "metadata: {version: 1.0, deep: {a: b}}\n",
        "planck_version: 0.3\ncreator: human\n",
        "something: else\n",
    ] {
        let folder = skill(world.path(), "x", &head(keys));
        assert_eq!(load_skill(&folder).unwrap().name(), "x", "{keys}");
        assert_eq!(parse_skill(head(keys)).unwrap().name(), "x", "{keys}");
    }
    let folder = skill(world.path(), "triage", TRIAGE);
    let expected = (
        "triage".to_owned(),
        "Look into an issue and decide what to do.".to_owned(),
        vec!["issueNumber".to_owned()],
    );
    assert_eq!(identity(load_skill(folder).unwrap()), expected);
    assert_eq!(identity(parse_skill(TRIAGE).unwrap()), expected);
}

/// Every combination of odd parts is loaded as a registry loads it.
#[test]
fn loading_agrees_with_the_registry() {
    let names = [
        "",
        "name: x\n",
        "name: other\n",
        "name: My Skill\n",
        "name: ''\n",
        "name: 7\n",
        "name: ⅷ\n",
        "Name: x\n",
        "name: [x]\n",
    ];
    let descriptions = [
        "",
        "description: Does it.\n",
        "description: Use when: asked\n",
        "description: >\n  Folded\n  text.\n",
        "description: null\n",
    ];
    let keys = [
        "",
        "arguments: [a, b]\n",
        "arguments: a b\nargument-hint: [a] [b]\n",
        "when_to_use: \"x\nversion: 1\n",
        "allowed-tools: [Read, Bash(git:*)]\nmetadata:\n\t- tab\n",
    ];
    let bodies = ["", "# Title\n\nDo $a.\n", "<!-- c -->\nText\n"];
    let mut texts = vec![
        "Just text.\n".to_owned(),
        "---\nname: x\nno end\n".to_owned(),
        "\u{feff}---\r\nname: x\r\ndescription: d\r\n---\r\nbody\r\n".to_owned(),
        "---\n---\nbody\n".to_owned(),
    ];
    for name in names {
        for description in descriptions {
            for key in keys {
                for body in bodies {
                    texts.push(format!("---\n{name}{description}{key}---\n{body}"));
                }
            }
        }
    }
    let (mut mismatches, mut faults, count) = (0, 0, texts.len());
    let world = tempfile::tempdir().unwrap();
    for text in texts {
        let folder = skill(world.path(), "x", &text);
        let registry = Registry::default();
        let report = registry.load_dir(world.path()).unwrap();
        let [head] = report.loaded.as_slice() else {
            assert_eq!(report.faults.len(), 1, "{text}: {report:?}");
            let error = load_skill(&folder).unwrap_err();
            let is_same = matches!(error, LoadSkillError::NotASkill { .. });
            assert!(is_same, "{text}: {error}");
            faults += 1;
            continue;
        };
        let expected = (
            head.name.to_string(),
            head.description.to_string(),
            arguments(&text),
        );
        let file = load_skill(folder.join("SKILL.md")).unwrap();
        assert_eq!(identity(file), expected, "{text}");
        let parsed = parse_skill_named("x", text.as_str()).unwrap();
        assert_eq!(identity(parsed), expected, "{text}");
        let without_a_name = parse_skill(text.as_str());
        let written = parse(text.as_bytes())
            .manifest
            .name
            .is_some_and(|name| !name.is_blank());
        assert_eq!(without_a_name.is_ok(), written, "{text}");
        match load_skill(&folder) {
            Ok(skill) => assert_eq!((identity(skill), &head.alias), (expected, &None), "{text}"),
            Err(LoadSkillError::NameMismatch { folder, name }) => {
                mismatches += 1;
                assert_eq!(&*folder, "x");
                let names = [Some(&*head.name), head.alias.as_deref()];
                assert!(&*name != "x" && names.contains(&Some(&*name)), "{text}");
            }
            Err(error) => panic!("{text}: {error}"),
        }
    }
    assert!(
        (count / 3..count).contains(&mismatches),
        "{mismatches} of {count}"
    );
    assert!((1..count / 10).contains(&faults), "{faults} of {count}");
}

/// The same for skills on disk: our own, or those below the folders of `cargo xtask load`.
#[test]
fn folders_are_loaded_as_a_registry_loads_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let ours = ["examples/skills", "examples/broken", "skills"].map(|folder| root.join(folder));
    let folders = match std::env::var_os("PROWESS_TEST_FOLDERS") {
        Some(folders) => std::env::split_paths(&folders).collect(),
        None => ours.to_vec(),
    };
    let (mut skills, mut unnamed, mut mismatches) = (0, 0, 0);
    for folder in folders {
        let registry = Registry::default();
        let report = registry.load_dir(&folder).unwrap();
        for head in &report.loaded {
            let (path, location) = (head.location.path(), &head.location);
            let file = &*path;
            let folder = file.parent().unwrap();
            let bytes = registry.text(&head.id).unwrap();
            let text = parse(&bytes).text;
            let expected = (
                head.name.to_string(),
                head.description.to_string(),
                arguments(text),
            );
            let loaded = load_skill(file).unwrap();
            assert_eq!(identity(loaded), expected, "{location}");
            let given = folder.file_name().unwrap().to_string_lossy();
            let parsed = parse_skill_named(&given, text).unwrap();
            assert_eq!(identity(parsed), expected, "{location}");
            let name = parse(text.as_bytes()).manifest.name;
            let is_unnamed = name.is_none_or(|name| name.is_blank());
            assert_eq!(parse_skill(text).is_err(), is_unnamed, "{location}");
            match load_skill(folder) {
                Ok(skill) => assert_eq!(identity(skill), expected, "{location}"),
                Err(LoadSkillError::NameMismatch { .. }) if head.alias.is_some() => {
                    mismatches += 1;
                }
                Err(error) => panic!("{location}: {error}"),
            }
            skills += 1;
            unnamed += usize::from(is_unnamed);
        }
    }
    assert_ne!(skills, 0);
    eprintln!(
        "{skills} skills: {unnamed} without a name in the text, {mismatches} with another name than their folder"
    );
}

#[test]
fn folder_must_have_the_name_of_its_skill() {
    let world = tempfile::tempdir().unwrap();
    let folder = skill(
        world.path(),
        "folder-a",
        &TEXT.replace("greet", "other-name"),
    );
    let error = load_skill(&folder).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the folder `folder-a` has a skill named `other-name`; both names must be the same"
    );
    // A file need not be in a folder of its name.
    let file = load_skill(folder.join("SKILL.md")).unwrap();
    assert_eq!(file.name(), "other-name");
    // Without a name, the folder's is used.
    let folder = skill(world.path(), "plain", "---\ndescription: d\n---\nDo it.\n");
    assert_eq!(load_skill(folder).unwrap().name(), "plain");
}

#[test]
fn flat_file_needs_no_frontmatter() {
    let world = tempfile::tempdir().unwrap();
    let file = world.path().join("release-notes.md");
    std::fs::write(&file, "\n# Write the release notes\n\nRead the log.\n").unwrap();
    let (name, description, _) = identity(load_skill(&file).unwrap());
    assert_eq!(name, "release-notes");
    assert_eq!(description, "Write the release notes");
}

fn runtime(script: &str) -> (Runtime, Arc<ScriptedModel>) {
    let model = Arc::new(ScriptedModel::parse("test", script).unwrap());
    let runtime = Runtime::builder().model(Arc::clone(&model) as _).build();
    (runtime.unwrap(), model)
}

#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Triage {
    issue_number: u32,
}

#[derive(Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Verdict {
    fix_applied: bool,
}

const SUBMIT: &str = r#"{"calls": [{"name": "submit", "input": {"fixApplied": true}}], "expect": "Look into issue 42 with"}"#;

#[tokio::test]
async fn typed_input_reaches_the_skill() {
    let world = tempfile::tempdir().unwrap();
    let folder = skill(world.path(), "triage", TRIAGE);
    let typed = load_typed_skill::<Triage>(&folder).unwrap();
    let properties = &typed.input_schema()["properties"];
    assert_eq!(properties["issueNumber"]["type"], "integer");
    let (runtime, model) = runtime(SUBMIT);
    let run = runtime
        .run_skill(&typed)
        .input(&Triage { issue_number: 42 });
    let ending = run.submit::<Verdict>().await.unwrap();
    assert_eq!(
        ending,
        Ending::Submitted {
            value: Verdict { fix_applied: true }
        }
    );
    assert_eq!(model.left(), 0);
}

/// Row A22: the skill ran all the same.
#[tokio::test]
async fn input_that_does_not_match_is_an_error_before_the_model_is_asked() {
    let world = tempfile::tempdir().unwrap();
    let folder = skill(world.path(), "triage", TRIAGE);
    let builder = NewSkill::builder("triage", "Triages.").instructions("Look at $issueNumber.");
    let schema = json!({
        "type": "object",
        "properties": { "issueNumber": { "type": "integer" } },
        "required": ["issueNumber"],
    });
    for skill in [
        load_typed_skill::<Triage>(&folder).unwrap().skill,
        define_skill::<Triage>(builder).unwrap().skill,
        load_skill(&folder).unwrap().with_input_schema(schema),
    ] {
        let registry = Registry::default();
        registry.register(skill.clone()).unwrap();
        let model = Arc::new(ScriptedModel::parse("test", SUBMIT).unwrap());
        let runtime = Runtime::builder()
            .registry(registry)
            .model(Arc::clone(&model) as _);
        let runtime = runtime.build().unwrap();
        for (run, expected) in [
            (
                runtime
                    .run_skill(skill.clone())
                    .arg("issueNumber", "not a number"),
                "`issueNumber` must be an integer, not a string",
            ),
            (
                runtime
                    .run_skill("triage")
                    .arg("issueNumber", "not a number"),
                "`issueNumber` must be an integer, not a string",
            ),
            (
                runtime.run_skill("triage"),
                "`issueNumber` is missing (expected an integer)",
            ),
            (
                runtime.run_skill("triage").args("soon"),
                "`issueNumber` must be an integer, not a string",
            ),
        ] {
            let error = run.text().await.unwrap_err();
            assert!(matches!(error, RuntimeError::Skill(_)), "{error:?}");
            let expected = format!("invalid arguments for skill `triage`: {expected}");
            assert_eq!(error.to_string(), expected);
        }
        assert_eq!(model.left(), 1, "the model received no request");
    }
    // Words are the values of the declared names.
    let (runtime, _) = runtime(SUBMIT);
    let typed = load_typed_skill::<Triage>(&folder).unwrap();
    let ending = runtime
        .run_skill(typed)
        .args("42")
        .submit::<Verdict>()
        .await;
    assert!(matches!(ending.unwrap(), Ending::Submitted { .. }));
}

#[tokio::test]
async fn input_that_is_no_json_is_an_error() {
    let (runtime, model) = runtime(SUBMIT);
    let skill = parse_skill(TRIAGE).unwrap();
    let input = std::collections::BTreeMap::from([((1, 2), 3)]);
    let error = runtime
        .run_skill(skill)
        .input(&input)
        .text()
        .await
        .unwrap_err();
    let text = "invalid arguments for skill `triage`: key must be a string";
    assert_eq!(error.to_string(), text);
    assert_eq!(model.left(), 1);
}

/// Row A24: the folder and the files of a loaded skill were lost.
#[tokio::test]
async fn loaded_skill_keeps_its_folder_and_files() {
    let world = tempfile::tempdir().unwrap();
    let world = world.path().canonicalize().unwrap();
    let body = "Templates: ${AGENTICK_SKILL_DIR}/templates, ${CLAUDE_SKILL_DIR}.";
    let text = format!("---\nname: notes\ndescription: Writes notes.\n---\n{body}\n");
    let folder = skill(&world, "notes", &text);
    std::fs::create_dir(folder.join("templates")).unwrap();
    std::fs::write(
        folder.join("templates/standard.md"),
        "The standard template.",
    )
    .unwrap();
    let shown = folder.display();
    let filled = format!("Templates: {shown}/templates, {shown}.");
    let script = [
        json!({
            "expect": filled,
            "calls": [{"name": "load_skill_resource", "input": {"skill_name": "notes", "resource_path": "templates/standard.md"}}],
        }),
        json!({"expect": "The standard template.", "text": "read"}),
    ]
    .map(|line| line.to_string())
    .join("\n");
    for by_name in [false, true] {
        let registry = Registry::default();
        let loaded = load_skill(&folder).unwrap();
        registry.register(loaded.clone()).unwrap();
        let model = Arc::new(ScriptedModel::parse("test", &script).unwrap());
        let runtime = Runtime::builder()
            .registry(registry)
            .model(Arc::clone(&model) as _);
        let runtime = runtime.build().unwrap();
        let run = if by_name {
            runtime.run_skill("notes")
        } else {
            runtime.run_skill(loaded)
        };
        let ending = run.text().await.unwrap();
        assert_eq!(
            ending,
            Ending::Submitted {
                value: "read".to_owned()
            }
        );
        assert_eq!(model.left(), 0);
    }
}

/// A loaded skill is read again when it is used, but only from the folder that was loaded.
#[tokio::test]
async fn folder_that_was_replaced_by_a_link_is_not_read() {
    let world = tempfile::tempdir().unwrap();
    let world = world.path().canonicalize().unwrap();
    let folder = skill(&world, "greet", TEXT);
    let other = skill(&world, "other", &TEXT.replace("Say hello", "Say no"));
    let loaded = load_skill(&folder).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(other, &folder).unwrap();
    let (runtime, model) = runtime(SUBMIT);
    let error = runtime.run_skill(loaded).text().await.unwrap_err();
    assert!(
        error.to_string().contains("cannot read the skill greet"),
        "{error}"
    );
    assert_eq!(model.left(), 1);
}

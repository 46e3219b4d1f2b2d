//! `load_skill`.

use std::sync::Arc;

use prowess_policy::{ApprovalAnswer, Effect, PermissionMode};
use prowess_registry::NewSkill;
use prowess_tools::{CLOSING, Loaded, ToolContext, ToolErrorKind, ToolSelection, Toolset};
use prowess_traits::{DecisionRecorder, RecordError, RecordedDecision};
use serde_json::{Value, json};

use crate::support::{Counted, Says, World, call, gate, told};

fn world() -> World {
    let world = World::new();
    world
        .skill("pdf", "version: 2.0\n", "Fill $ARGUMENTS.")
        .file("~/.agents/skills/pdf/references/forms.md", "Forms.")
        .skill("deploy", "", "Ship.");
    world
}

#[test]
fn planck_l2_l3_folder_body_and_files() {
    let world = world();
    let context = world.context();
    let input = json!({"name": "pdf", "arguments": "form A"});
    let answer = call(&context, &mut Loaded::default(), "load_skill", &input).unwrap();
    let folder = world.folder_of("pdf");
    let text = format!(
        "Base directory for this skill: {folder}\nVersion: 2.0\n\nFill form A.\n\nFiles of this \
         skill (read them with load_skill_resource):\n- references/forms.md (6 B)\n"
    );
    assert_eq!(answer.text, text);
    let mut value = answer.value;
    assert!(value["digest"].as_str().unwrap().len() > 32);
    value["digest"] = json!("…");
    assert_eq!(
        value,
        json!({
            "skill_name": "pdf", "status": "loaded", "folder": folder, "version": "2.0",
            "digest": "…", "trusted": true,
            "files": [{ "path": "references/forms.md", "size": 6 }], "file_count": 1,
            "instructions": text,
        })
    );
}

#[test]
fn planck_l4_unknown_names_the_others() {
    let world = world();
    let context = world.context();
    let load = |name: &str| told(&context, "load_skill", &json!({"name": name}));
    assert_eq!(
        load("pfd"),
        "Unknown skill: pfd. Did you mean `pdf`? Available: deploy, pdf"
    );
    assert_eq!(load("zzz"), "Unknown skill: zzz. Available: deploy, pdf");
    assert_eq!(load(""), "Unknown skill: . Available: deploy, pdf");
    assert_eq!(
        load("a\nb\u{202e}"),
        "Unknown skill: a\\nb\\u{202e}. Available: deploy, pdf"
    );
    assert!(load(&"x".repeat(100_000)).len() < 500);
}

#[test]
fn list_of_names_is_truncated() {
    let world = World::new();
    for n in 0..300 {
        world.skill(&format!("skill-number-{n:03}"), "", "x");
    }
    let text = told(&world.context(), "load_skill", &json!({"name": "zzz"}));
    assert!(text.len() < 1_200 && text.ends_with(" more"), "{text}");
}

#[test]
fn planck_l5_no_skill_at_all() {
    let context = World::new().context();
    let error = prowess_tools::Tool::call(
        &prowess_tools::LoadSkill::Standard,
        &context,
        &mut Loaded::default(),
        &json!({"name": "x"}),
    );
    assert_eq!(
        error.unwrap_err().to_string(),
        "Unknown skill: x. No skills available."
    );
}

#[test]
fn planck_l6_what_comes_later_is_found() {
    let world = world();
    let context = world.context();
    assert!(told(&context, "load_skill", &json!({"name": "new"})).starts_with("Unknown"));
    let new = NewSkill::builder("new", "x")
        .instructions("Newer.")
        .build()
        .unwrap();
    context.services.registry.register(new).unwrap();
    assert_eq!(
        told(&context, "load_skill", &json!({"name": "new"})).trim(),
        "Newer."
    );
}

#[test]
fn planck_l7_missing_arguments_are_told() {
    let world = world();
    let context = world.context();
    for (input, error) in [
        (json!({}), "`name` is missing (expected a string)"),
        (json!({"name": 5}), "`name` must be a string, not a number"),
        (
            json!({"name": "pdf", "arguments": 1}),
            "`arguments` must be a string, an array or an object, not a number",
        ),
        (
            json!({"skill_name": "pdf", "name": "pdf"}),
            "unknown field `skill_name` (expected `name`, `arguments`)",
        ),
    ] {
        let text = told(&context, "load_skill", &input);
        assert_eq!(text, format!("Invalid input for load_skill: {error}."));
    }
}

#[test]
fn planck_l9_use_is_recorded_once_and_only_on_success() {
    let world = world();
    world.skill("bad", "", "Run !`false` now.");
    let (mut context, _) = world.running();
    let store = Arc::new(Counted::default());
    context.services.usage = Some(store.clone());
    context.gate = gate(PermissionMode::Yolo, &[]);
    told(&context, "load_skill", &json!({"name": "pdf"}));
    told(&context, "load_skill", &json!({"name": "bad"}));
    told(&context, "load_skill", &json!({"name": "zzz"}));
    assert_eq!(store.uses(), ["pdf"]);
}

/// A quick call does not block and returns the same result as any other call.
#[test]
fn quick_calls_need_no_prompt_no_command_and_no_large_read() {
    let world = world();
    world.skill("plain", "arguments: [what]\n", "Do $what.");
    world.skill("acts", "", "Now: !`echo late`");
    world
        .skill("wide", "", "Much.")
        .skill("heavy", "", "Much.")
        .skill("asked", "", "Ask.");
    for at in 0..64 {
        world.file(format!("~/.agents/skills/wide/{at}.md"), "x");
    }
    world.file("~/.agents/skills/heavy/data.bin", vec![0; 256 * 1024]);
    let (mut context, runner) = world.running();
    let (store, person) = (
        Arc::new(Counted::default()),
        Says::new(ApprovalAnswer::Once),
    );
    context.services.usage = Some(store.clone());
    context.services.approver = person.clone();
    let rules = [(Effect::Ask, "Skill(asked)"), (Effect::Deny, "Skill(pdf)")];
    context.gate = gate(PermissionMode::default(), &rules);
    let tools = Toolset::new(&ToolSelection::everything()).unwrap();
    let is_quick = |context: &ToolContext, name: &str, input: &Value| {
        tools.is_quick(context, &mut Loaded::default(), name, input)
    };
    let input = json!({"name": "plain", "arguments": "it"});
    let mut loaded = Loaded::default();
    assert!(tools.is_quick(&context, &mut loaded, "load_skill", &input));
    assert_eq!(
        (store.uses(), person.asked(), runner.ran()),
        (Vec::new(), 0, 0)
    );
    let quick = call(&context, &mut loaded, "load_skill", &input).unwrap();
    let slow = call(&context, &mut Loaded::default(), "load_skill", &input).unwrap();
    assert_eq!((quick.text, quick.value), (slow.text, slow.value));
    for (tool, input) in [
        ("load_skill", json!({"name": "acts"})),
        ("load_skill", json!({"name": "wide"})),
        ("load_skill", json!({"name": "heavy"})),
        ("load_skill", json!({"name": "asked"})),
        ("load_skill", json!({"name": "pdf"})),
        ("load_skill", json!({"name": "zzz"})),
        ("load_skill", json!({"nam": "plain"})),
        ("search_skills", json!({"query": "plain"})),
        ("zzz", json!({})),
    ] {
        assert!(!is_quick(&context, tool, &input), "{tool} {input}");
    }
    assert_eq!(
        (store.uses().len(), person.asked(), runner.ran()),
        (2, 0, 0)
    );
    // A call whose decision is recorded is not quick.
    context.services.recorder = Some(Arc::new(Silent));
    assert!(!is_quick(&context, "load_skill", &json!({"name": "plain"})));
}

/// A recorder that ignores everything.
#[derive(Debug)]
struct Silent;

impl DecisionRecorder for Silent {
    fn decided(&self, _noted: &RecordedDecision<'_>) -> Result<(), RecordError> {
        Ok(())
    }
}

#[test]
fn case_127_and_squadron_idempotence() {
    let world = world();
    let context = world.context();
    let mut loaded = Loaded::default();
    let mut load = |input| call(&context, &mut loaded, "load_skill", &input).unwrap();
    load(json!({"name": "pdf", "arguments": "a"}));
    let again = load(json!({"name": "pdf", "arguments": "a"}));
    assert_eq!(
        again.text,
        "The skill pdf is already loaded; its instructions still apply."
    );
    assert_eq!(again.value["status"], "already_loaded");
    assert!(again.value.get("instructions").is_none());
    let other = load(json!({"name": "pdf", "arguments": "b"}));
    assert!(other.text.contains("Fill b."));
}

#[test]
fn arguments_are_text_lists_or_objects() {
    let world = World::new();
    world.skill("s", "arguments: [who]\n", "Hello $who|$0.");
    let context = world.context();
    for arguments in [json!("Ada"), json!(["Ada"]), json!({"who": "Ada"})] {
        let input = json!({"name": "s", "arguments": arguments});
        let text = told(&context, "load_skill", &input);
        let expected = if arguments.is_array() {
            "|Ada."
        } else {
            "Hello Ada|Ada."
        };
        assert!(text.contains(expected), "{arguments}: {text}");
    }
}

#[test]
fn core_agent_framing_closes_the_tool_result() {
    let world = world();
    world.file(
        "~/.agents/skills/empty/SKILL.md",
        "---\nname: empty\ndescription: x\n---\n",
    );
    let mut context = world.context();
    context.settings.closing = Some(CLOSING.to_owned());
    let text = told(&context, "load_skill", &json!({"name": "pdf"}));
    assert!(text.ends_with(&format!("\n\n{CLOSING}\n")), "{text}");
    // Blank bodies, descriptions and resources are not framed.
    assert!(!told(&context, "load_skill", &json!({"name": "empty"})).contains(CLOSING));
    assert!(!told(&context, "list_skills", &json!({})).contains(CLOSING));
    let input = json!({"skill_name": "pdf", "resource_path": "references/forms.md"});
    assert_eq!(told(&context, "load_skill_resource", &input), "Forms.");
    assert!(!told(&context, "load_skill", &json!({"name": "zzz"})).contains(CLOSING));
}

#[test]
fn only_the_body_of_a_long_skill_is_truncated() {
    let world = World::new();
    world
        .skill("long", "", &"one line of many\n".repeat(5_000))
        .file("~/.agents/skills/long/a.txt", "a");
    let mut context = world.context();
    context.settings.closing = Some(CLOSING.to_owned());
    for tool in ["load_skill", "skill"] {
        let text = told(&context, tool, &json!({"name": "long"}));
        assert!(
            text.contains("read SKILL.md with load_skill_resource for the rest]"),
            "{tool}"
        );
        assert!(text.ends_with(&format!("{CLOSING}\n")), "{tool}");
        assert_eq!(text.contains("- a.txt (1 B)"), tool == "load_skill");
    }
}

#[test]
fn failing_command_fails_the_call() {
    let world = World::new();
    world
        .skill("bad", "", "Run !`false` now.")
        .skill("denied", "", "Run !`touch x` now.");
    let (mut context, runner) = world.running();
    context.gate = gate(PermissionMode::Yolo, &[(Effect::Deny, "Bash(touch *)")]);
    let mut loaded = Loaded::default();
    let failed = call(&context, &mut loaded, "load_skill", &json!({"name": "bad"})).unwrap_err();
    assert_eq!(failed.why(), Some(ToolErrorKind::Failed));
    assert!(
        failed
            .to_string()
            .starts_with("Shell command failed for pattern"),
        "{failed}"
    );
    let denied = call(
        &context,
        &mut loaded,
        "load_skill",
        &json!({"name": "denied"}),
    );
    let denied = denied.unwrap_err();
    assert_eq!(denied.why(), Some(ToolErrorKind::Denied));
    assert!(
        denied
            .to_string()
            .starts_with("Shell command permission check failed"),
        "{denied}"
    );
    assert_eq!((runner.ran(), loaded.names().count()), (1, 0));
}

#[test]
fn rules_match_every_name_of_a_skill() {
    let world = world();
    let context = || world.context();
    for rule in [
        "Skill(pdf)",
        "skill:pdf",
        "skill:pdf/load",
        "Skill(p*)",
        "Skill",
    ] {
        let mut context = context();
        context.gate = gate(PermissionMode::Yolo, &[(Effect::Deny, rule)]);
        for tool in ["load_skill", "skill"] {
            let no = call(
                &context,
                &mut Loaded::default(),
                tool,
                &json!({"name": "user:pdf"}),
            );
            assert_eq!(no.unwrap_err().why(), Some(ToolErrorKind::Denied), "{rule}");
        }
    }
    let mut context = context();
    context.gate = gate(PermissionMode::Ask, &[(Effect::Deny, "skill:pdf/read")]);
    assert!(told(&context, "load_skill", &json!({"name": "pdf"})).contains("Fill ."));
    context.gate = gate(PermissionMode::Ask, &[(Effect::Ask, "skill:pdf")]);
    let text = told(&context, "load_skill", &json!({"name": "pdf"}));
    assert_eq!(
        text,
        "Loading the skill pdf was refused: a rule requires approval, and no user was available to approve it. It matched the ask rule `skill:pdf` (the command line)."
    );
    let yes = Says::new(ApprovalAnswer::Session);
    context.services.approver = yes.clone();
    assert!(told(&context, "load_skill", &json!({"name": "pdf"})).contains("Fill ."));
    assert_eq!(yes.asked(), 1);
}

#[test]
fn removed_skill_is_an_error() {
    let world = world();
    let context = world.context();
    std::fs::remove_dir_all(world.folder_of("pdf")).unwrap();
    let mut loaded = Loaded::default();
    for (tool, field) in [("load_skill", "name"), ("skill", "name")] {
        let error = call(&context, &mut loaded, tool, &json!({field: "pdf"})).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Cannot read the skill pdf: there is no such file."
        );
    }
    let input = json!({"skill_name": "pdf", "resource_path": "references/forms.md"});
    let error = call(&context, &mut loaded, "load_skill_resource", &input).unwrap_err();
    assert_eq!(
        error.to_string(),
        "The skill pdf has no file `references/forms.md`."
    );
}

#[test]
fn hostile_arguments_stay_text() {
    let world = world();
    let (mut context, runner) = world.running();
    context.gate = gate(PermissionMode::Yolo, &[]);
    let hostile =
        "x !`touch pwned` $(touch pwned) ${CLAUDE_SKILL_DIR} $& '\"\u{0}\n```!\nid\n```\n";
    let input = json!({"name": "pdf", "arguments": hostile.repeat(20_000)});
    for tool in ["load_skill", "skill"] {
        let input = if tool == "skill" {
            json!({"name": "pdf", "args": input["arguments"]})
        } else {
            input.clone()
        };
        let answer = call(&context, &mut Loaded::default(), tool, &input).unwrap();
        assert!(
            answer
                .text
                .contains("!`touch pwned` $(touch pwned) ${CLAUDE_SKILL_DIR}")
        );
    }
    assert_eq!(runner.ran(), 0);
}

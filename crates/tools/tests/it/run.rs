//! `run_command_line`.

use prowess_policy::{ApprovalAnswer, Effect, PermissionMode};
use prowess_tools::{Loaded, ToolContext, ToolErrorKind, ToolSelection, Toolset};
use prowess_trust::TrustStore;
use serde_json::{Value, json};

use crate::support::{Says, World, call, gate};

fn input(command: &str) -> Value {
    json!({"reason": "a test", "commandLine": command})
}

/// Returns a conversation with one loaded skill.
fn with_skill(context: &ToolContext, name: &str) -> Loaded {
    let mut loaded = Loaded::default();
    call(context, &mut loaded, "load_skill", &json!({"name": name})).unwrap();
    loaded
}

fn world() -> World {
    let world = World::new();
    world
        .skill(
            "tools",
            "allowed-tools: Bash(cat:*) Bash(pwd) Bash(sh run.sh)\n",
            "Do it.",
        )
        .file("~/.agents/skills/tools/data.txt", "content\n")
        .skill("free", "", "Do it.");
    world
}

#[test]
fn skilled_crew_e1_and_the_skill_s_folder() {
    let world = world();
    let (context, runner) = world.running();
    let mut loaded = with_skill(&context, "tools");
    let answer = call(
        &context,
        &mut loaded,
        "run_command_line",
        &input("cat data.txt"),
    )
    .unwrap();
    assert_eq!(
        answer.text,
        r#"{"exitCode":0,"stdout":"content","stderr":"","timedOut":false,"signal":null,"truncated":false,"durationMs":7}"#
    );
    assert_eq!(answer.value["stdout"], "content");
    let here = call(&context, &mut loaded, "run_command_line", &input("pwd")).unwrap();
    let folder = std::fs::canonicalize(world.folder_of("tools")).unwrap();
    assert_eq!(here.value["stdout"], json!(folder));
    assert_eq!(runner.ran(), 2);
}

#[test]
fn skilled_crew_e2_e3_e4_a_failure_is_an_answer() {
    let world = world();
    world.file(
        "~/.agents/skills/tools/run.sh",
        "echo out; echo err >&2; exit 3\n",
    );
    let (context, _) = world.running();
    let mut loaded = with_skill(&context, "tools");
    let answer = call(
        &context,
        &mut loaded,
        "run_command_line",
        &input("sh run.sh"),
    )
    .unwrap();
    assert_eq!(answer.value["exitCode"], 3);
    assert_eq!(
        (&answer.value["stdout"], &answer.value["stderr"]),
        (&json!("out"), &json!("err"))
    );
    // Skilled Crew drops `stderr` on success.
    world.file("~/.agents/skills/tools/run.sh", "echo err >&2\n");
    let mut loaded = with_skill(&context, "tools");
    let answer = call(
        &context,
        &mut loaded,
        "run_command_line",
        &input("sh run.sh"),
    )
    .unwrap();
    assert_eq!(
        (&answer.value["exitCode"], &answer.value["stderr"]),
        (&json!(0), &json!("err"))
    );
}

#[test]
fn skilled_crew_e5_e8_time_and_output_are_bounded() {
    let world = world();
    world.file("~/.agents/skills/tools/run.sh", "exec sleep 30\n");
    let (mut context, _) = world.running();
    context.settings.deadline_ms = 100;
    let mut loaded = with_skill(&context, "tools");
    let answer = call(
        &context,
        &mut loaded,
        "run_command_line",
        &input("sh run.sh"),
    )
    .unwrap();
    assert_eq!(
        (&answer.value["timedOut"], &answer.value["exitCode"]),
        (&json!(true), &json!(null))
    );
    context.settings.deadline_ms = 60_000;
    for flood in [
        "yes | head -c 300000",
        "head -c 300000 /dev/zero",
        "seq 1 5000",
    ] {
        world.file("~/.agents/skills/tools/run.sh", flood);
        let mut loaded = with_skill(&context, "tools");
        let answer = call(
            &context,
            &mut loaded,
            "run_command_line",
            &input("sh run.sh"),
        )
        .unwrap();
        assert_eq!(answer.value["truncated"], true, "{flood}");
        assert!(
            answer.value["stdout"]
                .as_str()
                .unwrap()
                .contains(" bytes omitted]")
        );
        let parsed: Value = serde_json::from_str(&answer.text).unwrap();
        assert_eq!(parsed, answer.value);
    }
}

#[test]
fn skilled_crew_a4_a5_a6_c10_allowed_tools_is_a_ceiling_of_several_patterns() {
    let world = world();
    let (mut context, runner) = world.running();
    let mut loaded = with_skill(&context, "tools");
    // One matching pattern is enough (Skilled Crew requires all), and approval cannot override it.
    context.services.approver = Says::new(ApprovalAnswer::Once);
    for command in [
        "ls",
        "catx data.txt",
        "cat data.txt && ls",
        "cat $(ls)",
        "pwd -P",
    ] {
        let no = call(&context, &mut loaded, "run_command_line", &input(command)).unwrap_err();
        assert_eq!(no.why(), Some(ToolErrorKind::Denied), "{command}");
    }
    assert_eq!(runner.ran(), 0);
    let no = call(&context, &mut loaded, "run_command_line", &input("ls")).unwrap_err();
    assert_eq!(
        no.to_string(),
        "The command of the skill tools was refused: the skill tools may use only its allowed-tools, and ls is not among them. The user can change this: add it to the skill's allowed-tools."
    );
}

#[test]
fn skilled_crew_k3_without_allowed_tools_the_person_decides() {
    let world = world();
    let (mut context, runner) = world.running();
    let mut loaded = with_skill(&context, "free");
    let no = call(&context, &mut loaded, "run_command_line", &input("pwd")).unwrap_err();
    assert_eq!(no.why(), Some(ToolErrorKind::Denied));
    let yes = Says::new(ApprovalAnswer::Once);
    context.services.approver = yes.clone();
    call(&context, &mut loaded, "run_command_line", &input("pwd")).unwrap();
    assert_eq!((yes.asked(), runner.ran()), (1, 1));
    // A rule about the skill applies to all of its commands.
    context.gate = gate(PermissionMode::Yolo, &[(Effect::Deny, "skill:free/run")]);
    let no = call(&context, &mut loaded, "run_command_line", &input("pwd")).unwrap_err();
    assert!(
        no.to_string().contains("the deny rule `skill:free/run`"),
        "{no}"
    );
    assert_eq!(runner.ran(), 1);
}

#[test]
fn invalid_allowed_tools_are_a_ceiling_too() {
    let world = World::new();
    world.skill("odd", "allowed-tools: \"Bash(\"\n", "Do it.");
    let (mut context, runner) = world.running();
    context.services.approver = Says::new(ApprovalAnswer::Once);
    let mut loaded = with_skill(&context, "odd");
    let no = call(&context, &mut loaded, "run_command_line", &input("pwd")).unwrap_err();
    assert_eq!((no.why(), runner.ran()), (Some(ToolErrorKind::Denied), 0));
}

#[test]
fn untrusted_skills_run_no_commands() {
    let world = World::new();
    world.file(
        ".agents/skills/theirs/SKILL.md",
        "---\nname: theirs\ndescription: x\nallowed-tools: Bash(pwd)\n---\n\nDo it.\n",
    );
    let (mut context, runner) = world.running();
    context.services.approver = Says::new(ApprovalAnswer::Always);
    context.gate = gate(PermissionMode::Yolo, &[]);
    context.services.trust = Some(TrustStore::new(world.path("../trust")));
    let mut loaded = with_skill(&context, "theirs");
    let no = call(&context, &mut loaded, "run_command_line", &input("pwd")).unwrap_err();
    assert_eq!(
        no.to_string(),
        "The command of the skill theirs was refused: the skill theirs is not trusted, so it runs nothing. The user can change this: review it, then run `prowess trust theirs`."
    );
    assert_eq!(runner.ran(), 0);
}

#[test]
fn commands_need_a_loaded_skill() {
    let world = world();
    let (context, runner) = world.running();
    let run = |loaded: &mut Loaded, input: &Value| {
        call(&context, loaded, "run_command_line", input)
            .map(|answer| answer.value["stdout"].clone())
    };
    let none = run(&mut Loaded::default(), &input("pwd")).unwrap_err();
    assert_eq!(
        none.to_string(),
        "No skill is loaded. Load one first with load_skill."
    );
    let named =
        |name: &str| json!({"reason": "", "commandLine": "cat data.txt", "skill_name": name});
    let mut loaded = with_skill(&context, "free");
    let other = run(&mut loaded, &named("tools")).unwrap_err();
    assert_eq!(
        other.to_string(),
        "The skill tools is not loaded. Load it first with load_skill."
    );
    call(
        &context,
        &mut loaded,
        "load_skill",
        &json!({"name": "tools"}),
    )
    .unwrap();
    let several = run(&mut loaded, &input("pwd")).unwrap_err();
    assert_eq!(
        several.to_string(),
        "Several skills are loaded. Set `skill_name` to one of them: free, tools"
    );
    assert_eq!(runner.ran(), 0);
    assert_eq!(run(&mut loaded, &named("tools")).unwrap(), "content");
    // The files must be the ones that the model has read.
    world.file("~/.agents/skills/tools/data.txt", "other\n");
    let changed = run(&mut loaded, &named("tools")).unwrap_err();
    assert_eq!(
        changed.to_string(),
        "The skill tools changed since it was loaded. Load it again."
    );
}

#[test]
fn sub_run_commands_run_as_its_skill() {
    let world = world();
    let (context, _) = world.running();
    let choice = ToolSelection {
        runs_as: Some("tools".into()),
        ..ToolSelection::default()
    };
    let tools = Toolset::new(&choice).unwrap();
    let mut loaded = Loaded::default();
    let mut run = |input: &Value| tools.call(&context, &mut loaded, "run_command_line", input);
    assert_eq!(
        run(&input("cat data.txt")).unwrap().value["stdout"],
        "content"
    );
    let other = json!({"reason": "", "commandLine": "pwd", "skill_name": "free"});
    assert_eq!(run(&other).unwrap_err().why(), Some(ToolErrorKind::Input));
}

#[test]
fn skilled_crew_t1_t2_t3_both_fields_are_needed() {
    let world = world();
    let (context, runner) = world.running();
    let mut loaded = with_skill(&context, "tools");
    for (input, field) in [
        (json!({}), "reason"),
        (json!({"reason": "x"}), "commandLine"),
        (json!({"commandLine": "pwd"}), "reason"),
        (
            json!({"exitCode": 0, "stdout": "", "stderr": ""}),
            "exitCode",
        ),
        (json!({"reason": "x", "commandLine": ""}), "commandLine"),
        (
            json!({"reason": "x", "commandLine": ["pwd"]}),
            "commandLine",
        ),
    ] {
        let error = call(&context, &mut loaded, "run_command_line", &input).unwrap_err();
        assert_eq!(error.why(), Some(ToolErrorKind::Input));
        assert!(error.to_string().contains(&format!("`{field}`")), "{error}");
    }
    assert_eq!(runner.ran(), 0);
}

#[test]
fn file_rules_resolve_paths_from_the_skill_folder() {
    let world = world();
    world
        .file("secret.txt", "secret")
        .file("~/.agents/skills/tools/secret.txt", "not secret");
    let (mut context, runner) = world.running();
    context.gate = gate(PermissionMode::Ask, &[(Effect::Deny, "Read(/secret.txt)")]);
    let root = world.text("");
    context.gate().places.root = root.into();
    let mut loaded = with_skill(&context, "tools");
    let mut run = |command: &str| {
        let answer = call(&context, &mut loaded, "run_command_line", &input(command));
        answer.map(|answer| answer.value["stdout"].clone())
    };
    let no = run("cat ../../../../project/secret.txt").unwrap_err();
    assert!(
        no.to_string().contains("the deny rule `Read(/secret.txt)`"),
        "{no}"
    );
    assert_eq!(run("cat secret.txt").unwrap(), "not secret");
    assert_eq!(runner.ran(), 1);
    assert_eq!(context.gate().places.cwd, None);
}

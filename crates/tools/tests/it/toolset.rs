//! The tools of an agent.

use prowess_catalog::VisibilityOverride;
use prowess_policy::{ApprovalAnswer, Effect, PermissionMode};
use prowess_registry::NewSkill;
use prowess_tools::{Loaded, Role, ToolContext, ToolSelection, Toolset};
use serde_json::json;

use crate::support::{Says, World, gate};

fn names(context: &ToolContext, choice: &ToolSelection) -> Vec<String> {
    let specs = Toolset::new(choice).unwrap().specs(context);
    specs.iter().map(|spec| spec.name.to_string()).collect()
}

#[test]
fn planck_s4_listing_is_opt_in_for_workers() {
    let world = World::new();
    world.skill("a", "", "x");
    let context = world.context();
    let orchestrator = [
        "list_skills",
        "search_skills",
        "load_skill",
        "unload_skill",
        "load_skill_resource",
    ];
    assert_eq!(names(&context, &ToolSelection::default()), orchestrator);
    let worker = ToolSelection {
        role: Role::Worker,
        ..ToolSelection::default()
    };
    assert_eq!(names(&context, &worker), orchestrator[1..]);
    assert_eq!(
        names(
            &context,
            &ToolSelection {
                list: true,
                ..worker
            }
        ),
        orchestrator
    );
}

#[test]
fn planck_l8_agentick_and_core_agent_no_skills_no_tools() {
    let world = World::new();
    let (mut context, _) = world.running();
    assert!(names(&context, &ToolSelection::everything()).is_empty());
    // `submit` is available with or without skills.
    let choice = ToolSelection {
        result: Some(json!({})),
        ..ToolSelection::default()
    };
    assert_eq!(names(&context, &choice), ["submit"]);
    let tools = Toolset::new(&choice).unwrap();
    let error = tools.call(
        &context,
        &mut Loaded::default(),
        "load_skill",
        &json!({"name": "a"}),
    );
    assert_eq!(
        error.unwrap_err().to_string(),
        "Unknown tool: load_skill. Available: submit"
    );
    // The tools appear with the first visible skill; hidden skills do not count.
    let new = NewSkill::builder("a", "x")
        .instructions("x")
        .build()
        .unwrap();
    context.services.registry.register(new).unwrap();
    assert_eq!(names(&context, &ToolSelection::everything()).len(), 7);
    context
        .settings
        .visibility
        .overrides
        .insert("a".into(), VisibilityOverride::UserOnly);
    assert!(names(&context, &ToolSelection::everything()).is_empty());
}

#[test]
fn commands_need_a_runner() {
    let world = World::new();
    world.skill("a", "", "x");
    let has = |context: &ToolContext| {
        names(context, &ToolSelection::default()).contains(&"run_command_line".to_owned())
    };
    assert!(!has(&world.context()));
    assert!(has(&world.running().0));
}

#[test]
fn unknown_tool_is_an_error() {
    let world = World::new();
    world.skill("a", "", "x");
    let context = world.context();
    let tools = Toolset::new(&ToolSelection::default()).unwrap();
    let error = tools.call(&context, &mut Loaded::default(), "lod_skill", &json!({}));
    assert_eq!(
        error.unwrap_err().to_string(),
        "Unknown tool: lod_skill. Did you mean `load_skill`? Available: list_skills, search_skills, load_skill, unload_skill, load_skill_resource"
    );
    assert!(
        Toolset::new(&ToolSelection {
            result: Some(json!(7)),
            ..ToolSelection::default()
        })
        .is_err()
    );
}

#[test]
fn core_agent_tools_are_never_confused_with_skills() {
    let world = World::new();
    world.skill("list-skills", "", "x").skill("submit", "", "x");
    let names = names(&world.context(), &ToolSelection::everything());
    assert!(!names.contains(&"submit".to_owned()) && !names.contains(&"list-skills".to_owned()));
}

#[test]
fn tools_denied_by_name_are_not_declared() {
    let world = World::new();
    world.skill("a", "", "x");
    let (mut context, runner) = world.running();
    context.gate = gate(PermissionMode::Yolo, &[(Effect::Deny, "run_command_line")]);
    let offered = names(&context, &ToolSelection::default());
    assert!(!offered.contains(&"run_command_line".to_owned()) && offered.len() == 5);
    let tools = Toolset::new(&ToolSelection::default()).unwrap();
    let mut loaded = Loaded::default();
    let input = json!({"reason": "", "commandLine": "pwd", "skill_name": "a"});
    let no = tools
        .call(&context, &mut loaded, "run_command_line", &input)
        .unwrap_err();
    assert_eq!(
        no.to_string(),
        "Calling run_command_line was refused: a rule forbids it. It matched the deny rule `run_command_line` (the command line)."
    );
    // A bare `Skill` denies all skills to models; `submit` stays available.
    context.gate = gate(PermissionMode::Yolo, &[(Effect::Deny, "Skill")]);
    let choice = ToolSelection {
        result: Some(json!({})),
        ..ToolSelection::everything()
    };
    assert_eq!(names(&context, &choice), ["submit"]);
    // Rules may match arguments, and may require approval.
    context.gate = gate(
        PermissionMode::Yolo,
        &[(Effect::Deny, "search_skills(query:secret*)")],
    );
    let search = |query: &str| {
        let input = json!({"query": query});
        tools.call(&context, &mut Loaded::default(), "search_skills", &input)
    };
    assert!(search("secrets").is_err() && search("what").is_ok());
    context.gate = gate(PermissionMode::Ask, &[(Effect::Ask, "load_skill")]);
    let yes = Says::new(ApprovalAnswer::Once);
    let load = |context: &ToolContext, input| {
        tools.call(context, &mut Loaded::default(), "load_skill", &input)
    };
    assert!(load(&context, json!({"name": "a"})).is_err());
    context.services.approver = yes.clone();
    assert!(load(&context, json!({"name": "a"})).is_ok());
    assert!(load(&context, json!({"nam": "a"})).is_err());
    assert_eq!((yes.asked(), runner.ran()), (1, 0));
}

//! Which tools an agent gets.

use prowess_catalog::Override;
use prowess_policy::{ApprovalAnswer, Effect, PermissionMode};
use prowess_registry::NewSkill;
use prowess_tools::{Choice, Loaded, Role, Toolset, Workshop};
use serde_json::json;

use crate::support::{Says, World, gate};

fn names(workshop: &Workshop, choice: &Choice) -> Vec<String> {
    let specs = Toolset::new(choice).unwrap().specs(workshop);
    specs.iter().map(|spec| spec.name.to_string()).collect()
}

#[test]
fn planck_s4_listing_is_opt_in_for_workers() {
    let world = World::new();
    world.skill("a", "", "x");
    let workshop = world.workshop();
    let orchestrator = [
        "list_skills",
        "search_skills",
        "load_skill",
        "unload_skill",
        "load_skill_resource",
    ];
    assert_eq!(names(&workshop, &Choice::default()), orchestrator);
    let worker = Choice {
        role: Role::Worker,
        ..Choice::default()
    };
    assert_eq!(names(&workshop, &worker), orchestrator[1..]);
    assert_eq!(
        names(
            &workshop,
            &Choice {
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
    let (mut workshop, _) = world.running();
    assert!(names(&workshop, &Choice::everything()).is_empty());
    // A result is handed in with or without skills.
    let choice = Choice {
        result: Some(json!({})),
        ..Choice::default()
    };
    assert_eq!(names(&workshop, &choice), ["submit"]);
    let tools = Toolset::new(&choice).unwrap();
    let error = tools.call(
        &workshop,
        &mut Loaded::default(),
        "load_skill",
        &json!({"name": "a"}),
    );
    assert_eq!(
        error.unwrap_err().to_string(),
        "Unknown tool: load_skill. Available: submit"
    );
    // Skills that come later bring their tools along; those that nobody sees do not.
    let new = NewSkill::builder("a", "x")
        .instructions("x")
        .build()
        .unwrap();
    workshop.registry.register(new).unwrap();
    assert_eq!(names(&workshop, &Choice::everything()).len(), 7);
    workshop
        .visibility
        .overrides
        .insert("a".into(), Override::UserOnly);
    assert!(names(&workshop, &Choice::everything()).is_empty());
}

#[test]
fn commands_need_a_runner() {
    let world = World::new();
    world.skill("a", "", "x");
    let has = |workshop: &Workshop| {
        names(workshop, &Choice::default()).contains(&"run_command_line".to_owned())
    };
    assert!(!has(&world.workshop()));
    assert!(has(&world.running().0));
}

#[test]
fn an_unknown_tool_is_told() {
    let world = World::new();
    world.skill("a", "", "x");
    let workshop = world.workshop();
    let tools = Toolset::new(&Choice::default()).unwrap();
    let error = tools.call(&workshop, &mut Loaded::default(), "lod_skill", &json!({}));
    assert_eq!(
        error.unwrap_err().to_string(),
        "Unknown tool: lod_skill. Did you mean `load_skill`? Available: list_skills, search_skills, load_skill, unload_skill, load_skill_resource"
    );
    assert!(
        Toolset::new(&Choice {
            result: Some(json!(7)),
            ..Choice::default()
        })
        .is_err()
    );
}

#[test]
fn core_agent_tools_are_never_confused_with_skills() {
    let world = World::new();
    world.skill("list-skills", "", "x").skill("submit", "", "x");
    let names = names(&world.workshop(), &Choice::everything());
    assert!(!names.contains(&"submit".to_owned()) && !names.contains(&"list-skills".to_owned()));
}

#[test]
fn what_a_rule_forbids_by_name_is_not_offered() {
    let world = World::new();
    world.skill("a", "", "x");
    let (mut workshop, runner) = world.running();
    workshop.gate = gate(PermissionMode::Yolo, &[(Effect::Deny, "run_command_line")]);
    let offered = names(&workshop, &Choice::default());
    assert!(!offered.contains(&"run_command_line".to_owned()) && offered.len() == 5);
    let tools = Toolset::new(&Choice::default()).unwrap();
    let mut loaded = Loaded::default();
    let input = json!({"reason": "", "commandLine": "pwd", "skill_name": "a"});
    let no = tools
        .call(&workshop, &mut loaded, "run_command_line", &input)
        .unwrap_err();
    assert_eq!(
        no.to_string(),
        "Calling run_command_line was refused: a rule forbids it. The deny rule `run_command_line` (the command line) decided."
    );
    // A bare `Skill` takes every skill from models; the result can still be handed in.
    workshop.gate = gate(PermissionMode::Yolo, &[(Effect::Deny, "Skill")]);
    let choice = Choice {
        result: Some(json!({})),
        ..Choice::everything()
    };
    assert_eq!(names(&workshop, &choice), ["submit"]);
    // Rules may look at arguments, and may want a question.
    workshop.gate = gate(
        PermissionMode::Yolo,
        &[(Effect::Deny, "search_skills(query:secret*)")],
    );
    let search = |query: &str| {
        let input = json!({"query": query});
        tools.call(&workshop, &mut Loaded::default(), "search_skills", &input)
    };
    assert!(search("secrets").is_err() && search("what").is_ok());
    workshop.gate = gate(PermissionMode::Ask, &[(Effect::Ask, "load_skill")]);
    let yes = Says::new(ApprovalAnswer::Once);
    let load = |workshop: &Workshop, input| {
        tools.call(workshop, &mut Loaded::default(), "load_skill", &input)
    };
    assert!(load(&workshop, json!({"name": "a"})).is_err());
    workshop.approver = yes.clone();
    assert!(load(&workshop, json!({"name": "a"})).is_ok());
    assert!(load(&workshop, json!({"nam": "a"})).is_err());
    assert_eq!((yes.asked(), runner.ran()), (1, 0));
}

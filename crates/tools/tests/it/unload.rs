//! `unload_skill`.

use prowess_catalog::VisibilityOverride;
use prowess_policy::{ApprovalAnswer, Effect, PermissionMode};
use prowess_tools::{Loaded, ToolContext, ToolErrorKind};
use serde_json::json;

use crate::support::{Says, World, call, gate};

#[test]
fn loaded_skills_can_be_unloaded() {
    let world = World::new();
    world.skill("a", "", "x").skill("b", "", "x");
    let mut context = world.context();
    let mut loaded = Loaded::default();
    for name in ["a", "b"] {
        call(&context, &mut loaded, "load_skill", &json!({"name": name})).unwrap();
    }
    let answer = call(
        &context,
        &mut loaded,
        "unload_skill",
        &json!({"name": "user:a"}),
    )
    .unwrap();
    assert_eq!(
        answer.text,
        "Unloaded the skill a. Its instructions no longer apply."
    );
    assert_eq!(answer.value, json!({"skill_name": "a", "loaded": ["b"]}));
    let again = call(&context, &mut loaded, "unload_skill", &json!({"name": "a"})).unwrap_err();
    assert_eq!(again.to_string(), "The skill a is not loaded. Loaded: b");
    assert_eq!(again.why(), Some(ToolErrorKind::NoSkill));
    // A loaded skill can be unloaded after it was disabled.
    context
        .settings
        .visibility
        .overrides
        .insert("b".into(), VisibilityOverride::Off);
    call(&context, &mut loaded, "unload_skill", &json!({"name": "b"})).unwrap();
    let none = call(&context, &mut loaded, "unload_skill", &json!({"name": "a"})).unwrap_err();
    assert_eq!(
        none.to_string(),
        "The skill a is not loaded. No skill is loaded."
    );
    let unknown = call(&context, &mut loaded, "unload_skill", &json!({"name": "b"})).unwrap_err();
    assert_eq!(unknown.to_string(), "Unknown skill: b. Available: a");
}

#[test]
fn rule_can_deny_unloading() {
    let world = World::new();
    world.skill("a", "", "x");
    let mut context = world.context();
    let mut loaded = Loaded::default();
    call(&context, &mut loaded, "load_skill", &json!({"name": "a"})).unwrap();
    context.gate = gate(PermissionMode::Yolo, &[(Effect::Deny, "skill:a/unload")]);
    let no = call(&context, &mut loaded, "unload_skill", &json!({"name": "a"})).unwrap_err();
    assert_eq!(no.why(), Some(ToolErrorKind::Denied));
    let wrong = call(&context, &mut loaded, "unload_skill", &json!({})).unwrap_err();
    assert_eq!(wrong.why(), Some(ToolErrorKind::Input));
    assert!(loaded.get("a").is_some());
}

/// S12: a model lifted the restrictions of a skill that a person invoked.
#[test]
fn restrictions_of_a_skill_that_a_person_invoked_are_lifted_by_a_person() {
    let world = World::new();
    world
        .skill("guard", "disallowed-tools: Bash(echo no:*)\n", "x")
        .skill("plain", "", "x");
    let mut context = world.context();
    let unload = |context: &ToolContext, loaded: &mut Loaded, name: &str| {
        call(context, loaded, "unload_skill", &json!({ "name": name }))
    };
    let invoked = |context: &ToolContext, name: &str| {
        let mut loaded = Loaded::default();
        call(context, &mut loaded, "load_skill", &json!({ "name": name })).unwrap();
        let mut active = loaded.get(name).unwrap().clone();
        active.by_user = true;
        loaded.restore(active, None);
        loaded
    };
    let person = Says::new(ApprovalAnswer::No);
    context.services.approver = person.clone();
    let mut loaded = invoked(&context, "guard");
    let no = unload(&context, &mut loaded, "guard").unwrap_err();
    assert_eq!((no.why(), person.asked()), (Some(ToolErrorKind::Denied), 1));
    // Loading it again does not change who invoked it.
    world.skill("guard", "disallowed-tools: Bash(echo no:*)\n", "y");
    context.services.registry.refresh();
    let input = json!({ "name": "guard" });
    call(&context, &mut loaded, "load_skill", &input).unwrap();
    assert!(unload(&context, &mut loaded, "guard").is_err());
    assert!(loaded.get("guard").is_some());
    // A skill that restricts nothing, and one that the model loaded, need no answer.
    let mut plain = invoked(&context, "plain");
    unload(&context, &mut plain, "plain").unwrap();
    let mut own = Loaded::default();
    call(&context, &mut own, "load_skill", &input).unwrap();
    unload(&context, &mut own, "guard").unwrap();
    assert_eq!(person.asked(), 2);
    context.gate = gate(PermissionMode::Allow, &[]);
    assert!(unload(&context, &mut loaded, "guard").is_err());
    context.gate = gate(
        PermissionMode::Ask,
        &[(Effect::Allow, "skill:guard/unload")],
    );
    unload(&context, &mut loaded, "guard").unwrap();
    assert_eq!(person.asked(), 2);
}

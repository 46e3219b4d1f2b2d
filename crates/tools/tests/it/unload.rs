//! `unload_skill`.

use prowess_catalog::VisibilityOverride;
use prowess_policy::{Effect, PermissionMode};
use prowess_tools::{Loaded, ToolErrorKind};
use serde_json::json;

use crate::support::{World, call, gate};

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

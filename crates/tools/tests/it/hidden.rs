//! A skill that is not granted to an agent cannot be told from one that does not exist.

use prowess_catalog::{SkillGrant, Visibility, VisibilityOverride};
use prowess_tools::{Loaded, ToolSelection, Toolset};
use serde_json::{Value, json};

use crate::support::World;

fn others(world: &World) -> &prowess_test::World {
    world
        .skill("deploy", "", "Ship.")
        .skill("secrets", "", "Do it.")
}

/// Returns everything that an agent can find out about the name `secret`.
fn answers(world: &World, policy: Visibility) -> String {
    let (mut context, _) = world.running();
    context.settings.visibility = policy;
    let tools = Toolset::new(&ToolSelection::everything()).unwrap();
    let mut all = String::new();
    for spec in tools.specs(&context) {
        all.push_str(&format!("{spec:?}\n"));
    }
    let calls: &[(&str, Value)] = &[
        ("list_skills", json!({})),
        ("list_skills", json!({"query": "secret"})),
        ("search_skills", json!({"query": "secret"})),
        ("search_skills", json!({"query": "asked for"})),
        (
            "search_skills",
            json!({"query": "", "metadata": {"team": "x"}}),
        ),
        ("load_skill", json!({"name": "secret"})),
        ("load_skill", json!({"name": "user:secret"})),
        ("load_skill", json!({"name": "secrte"})),
        ("skill", json!({"name": "secret"})),
        ("unload_skill", json!({"name": "secret"})),
        (
            "load_skill_resource",
            json!({"skill_name": "secret", "resource_path": "a.txt"}),
        ),
        (
            "load_skill_resource",
            json!({"skill_name": "secret", "resource_path": "../x"}),
        ),
        (
            "run_command_line",
            json!({"reason": "", "commandLine": "pwd", "skill_name": "secret"}),
        ),
    ];
    for (tool, input) in calls {
        let answer = tools.call(&context, &mut Loaded::default(), tool, input);
        let answer = answer.map(|answer| (answer.text, answer.value.to_string()));
        all.push_str(&format!("{tool} {input}: {answer:?}\n"));
    }
    all.replace(&world.text(".."), "WORLD")
}

#[test]
fn core_agent_a_hidden_skill_and_a_missing_one_give_the_same_bytes() {
    let without = World::new();
    others(&without);
    let with = World::new();
    others(&with)
        .skill("secret", "metadata:\n  team: x\n", "Hidden.")
        .file("~/.agents/skills/secret/a.txt", "a");
    let grant = |allow: Option<&[&str]>, deny: &[&str]| {
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Visibility {
            grant: SkillGrant {
                allow: allow.map(own),
                deny: own(deny),
            },
            ..Visibility::default()
        }
    };
    let mut off = Visibility::default();
    off.overrides
        .insert("secret".into(), VisibilityOverride::Off);
    let missing = answers(&without, Visibility::default());
    assert_ne!(answers(&with, Visibility::default()), missing);
    let same = [
        grant(Some(&["deploy", "secrets"]), &[]),
        grant(None, &["secret"]),
        off,
    ];
    for policy in same {
        assert_eq!(answers(&with, policy), missing);
    }
}

#[test]
fn core_agent_scoping_subset_none_and_all() {
    let world = World::new();
    others(&world);
    let list = |allow: Option<Vec<String>>| {
        let (mut context, _) = world.running();
        context.settings.visibility.grant.allow = allow;
        let tools = Toolset::new(&ToolSelection::default()).unwrap();
        let answer = tools.call(&context, &mut Loaded::default(), "list_skills", &json!({}));
        answer.map_or_else(|error| error.to_string(), |answer| answer.text)
    };
    assert_eq!(
        list(None),
        "- **deploy**: Does deploy. Use when asked for deploy.\n- **secrets**: Does secrets. Use when asked for secrets."
    );
    assert_eq!(
        list(Some(vec!["deploy".into()])),
        "- **deploy**: Does deploy. Use when asked for deploy."
    );
    assert_eq!(
        list(Some(Vec::new())),
        "Unknown tool: list_skills. No tools available."
    );
}

#[test]
fn planck_g1_g3_what_is_left_to_people() {
    let world = World::new();
    others(&world).skill("manual", "disable-model-invocation: true\n", "Do it.");
    let context = world.context();
    let tools = Toolset::new(&ToolSelection::default()).unwrap();
    let told = |tool: &str, input: &Value| {
        let answer = tools.call(&context, &mut Loaded::default(), tool, input);
        answer.map_or_else(|error| error.to_string(), |answer| answer.text)
    };
    assert!(!told("list_skills", &json!({})).contains("manual"));
    assert!(!told("search_skills", &json!({"query": "manual"})).contains("**manual"));
    assert!(!told("load_skill", &json!({"name": "zzz"})).contains("manual"));
    // As in Claude Code, the error says what the user can type.
    assert_eq!(
        told("load_skill", &json!({"name": "manual"})),
        "Skill manual cannot be used by a model due to disable-model-invocation. The user can type /manual"
    );
    world.skill("manual", "", "Do it.");
    context.services.registry.refresh();
    assert!(told("load_skill", &json!({"name": "manual"})).contains("Do it."));
}

//! `skill`, Agentick's tool.

use prowess_tools::{Loaded, ToolSelection, Toolset};
use serde_json::json;

use crate::support::{World, call, told};

fn description(world: &World) -> String {
    let specs = Toolset::new(&ToolSelection::everything())
        .unwrap()
        .specs(&world.context());
    specs
        .into_iter()
        .find(|spec| &*spec.name == "skill")
        .unwrap()
        .description
}

#[test]
fn agentick_description_has_every_name_and_description() {
    let world = World::new();
    world
        .skill("b", "when_to_use: On Mondays.\n", "x")
        .skill("a", "", "x");
    let text = description(&world);
    assert!(
        text.ends_with("Available skills:\n- **a**: Does a. Use when asked for a.\n- **b**: Does b. Use when asked for b. On Mondays."),
        "{text}"
    );
}

#[test]
fn agentick_description_fits_8000_characters() {
    let world = World::new();
    for n in 0..400 {
        let name = format!("skill-with-a-rather-long-name-{n:03}");
        let text = format!(
            "---\nname: {name}\ndescription: {}\n---\nx\n",
            "word ".repeat(200)
        );
        world.file(format!("~/.agents/skills/{name}/SKILL.md"), text);
    }
    let text = description(&world);
    assert!(
        text.chars().count() <= 8_000 && text.len() > 6_000,
        "{}",
        text.len()
    );
    let shown = text.lines().filter(|line| line.starts_with("- **")).count();
    let last = text.lines().last().unwrap();
    let more = 400 - shown;
    assert!(
        last.starts_with(&format!("({more} more skills not shown")),
        "{last}"
    );
}

#[test]
fn agentick_handler_returns_the_body_filled_in() {
    let world = World::new();
    world
        .skill("greet", "arguments: [who]\n", "Hello $who, $ARGUMENTS!")
        .file("~/.agents/skills/greet/a", "a");
    let context = world.context();
    let folder = world.folder_of("greet");
    let skill = |input| told(&context, "skill", &input);
    let head = format!("Base directory for this skill: {folder}\n\n");
    assert_eq!(
        skill(json!({"name": "greet", "args": "Ada"})),
        format!("{head}Hello Ada, Ada!\n")
    );
    assert_eq!(
        skill(json!({"name": "greet", "args": {"who": "Ada"}})),
        format!("{head}Hello Ada, {{\"who\":\"Ada\"}}!\n")
    );
    assert_eq!(
        skill(json!({"name": "gret"})),
        "Unknown skill: gret. Did you mean `greet`? Available: greet"
    );
    assert_eq!(
        skill(json!({"name": "greet", "args": true})),
        "Invalid input for skill: `args` must be a string, an array or an object, not a boolean."
    );
}

#[test]
fn both_tools_share_the_loaded_skills() {
    let world = World::new();
    world.skill("greet", "", "Hello.");
    let context = world.context();
    let mut loaded = Loaded::default();
    call(
        &context,
        &mut loaded,
        "load_skill",
        &json!({"name": "greet"}),
    )
    .unwrap();
    let again = call(&context, &mut loaded, "skill", &json!({"name": "greet"})).unwrap();
    assert_eq!(
        again.text,
        "The skill greet is already loaded; its instructions still apply."
    );
}

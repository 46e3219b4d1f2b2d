//! What a provider is told about each tool.

use prowess_tools::{Choice, Toolset};
use serde_json::json;

use crate::support::World;

fn spec(name: &str) -> String {
    let world = World::new();
    world
        .skill("deploy", "", "Do it.")
        .skill("pdf", "when_to_use: With forms.\n", "Do it.");
    let (workshop, _) = world.running();
    let result = json!({ "type": "object", "properties": { "done": { "type": "boolean" } } });
    let choice = Choice {
        result: Some(result),
        ..Choice::everything()
    };
    let specs = Toolset::new(&choice).unwrap().specs(&workshop);
    let spec = specs.into_iter().find(|spec| &*spec.name == name).unwrap();
    for schema in [&spec.input_schema, &spec.output_schema] {
        jsonschema::draft202012::meta::validate(schema).unwrap();
    }
    format!(
        "{}\n---\n{}\n---\nread only: {}, destructive: {}\ninput: {:#}\noutput: {:#}",
        spec.name,
        spec.description,
        spec.read_only,
        spec.destructive,
        spec.input_schema,
        spec.output_schema
    )
}

#[test]
fn each_tool_has_a_spec() {
    for name in [
        "list_skills",
        "search_skills",
        "load_skill",
        "unload_skill",
        "skill",
        "load_skill_resource",
        "run_command_line",
        "submit",
    ] {
        insta::assert_snapshot!(name, spec(name));
    }
}

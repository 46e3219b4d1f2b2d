//! The specification of each tool, as providers receive it.

use prowess_tools::{ToolSelection, Toolset};
use serde_json::json;

use crate::support::World;

fn spec(name: &str) -> String {
    let world = World::new();
    world
        .skill("deploy", "", "Do it.")
        .skill("pdf", "when_to_use: With forms.\n", "Do it.");
    let (context, _) = world.running();
    let result = json!({ "type": "object", "properties": { "done": { "type": "boolean" } } });
    let choice = ToolSelection {
        result: Some(result),
        ..ToolSelection::everything()
    };
    let specs = Toolset::new(&choice).unwrap().specs(&context);
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

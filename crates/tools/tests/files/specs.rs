//! Tool specifications as sent to a provider.

use std::sync::Arc;

use prowess_tools::files::file_tools;

use crate::support::{Web, World};

#[test]
fn each_tool_has_a_spec() {
    let world = World::new();
    let context = world.yolo();
    let tools = file_tools(Some(Arc::new(Web::default())));
    let names: Vec<&str> = tools.iter().map(|tool| tool.name()).collect();
    assert_eq!(
        names,
        ["read", "write", "edit", "bash", "glob", "grep", "http_get"]
    );
    for tool in &tools {
        let spec = tool.spec(&context);
        for schema in [&spec.input_schema, &spec.output_schema] {
            jsonschema::draft202012::meta::validate(schema).unwrap();
        }
        let text = format!(
            "{}\n---\n{}\n---\nread only: {}, destructive: {}\ninput: {:#}\noutput: {:#}",
            spec.name,
            spec.description,
            spec.read_only,
            spec.destructive,
            spec.input_schema,
            spec.output_schema
        );
        insta::assert_snapshot!(&*spec.name, text);
    }
    assert_eq!(file_tools(None).len(), 6, "`http_get` needs a fetcher");
}

/// Input is validated before anything else.
#[test]
fn invalid_inputs_are_rejected() {
    let world = World::new();
    let context = world.yolo();
    for tool in file_tools(Some(Arc::new(Web::default()))) {
        let mut loaded = prowess_tools::Loaded::default();
        for input in [serde_json::json!({}), serde_json::json!({ "bogus": 1 })] {
            let error = tool.call(&context, &mut loaded, &input).unwrap_err();
            assert_eq!(
                error.why(),
                Some(prowess_tools::ToolErrorKind::Input),
                "{}",
                tool.name()
            );
        }
    }
}

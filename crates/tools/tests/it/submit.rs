//! `submit`.

use prowess_tools::{Loaded, Submit, ToolErrorKind, ToolSelection, Toolset};
use serde_json::{Value, json};

use crate::support::World;

fn tools(schema: Value) -> Toolset {
    Toolset::new(&ToolSelection {
        result: Some(schema),
        ..ToolSelection::default()
    })
    .unwrap()
}

fn issue() -> Value {
    json!({
        "type": "object",
        "properties": {
            "title": { "type": "string", "pattern": "^[A-Z]" },
            "lines": { "type": "array", "items": { "type": "integer" } },
            "kind": { "enum": ["bug", "wish"] },
        },
        "required": ["title"],
    })
}

#[test]
fn agentick_a_result_that_fits_is_stored() {
    let context = World::new().context();
    let result = json!({"title": "Crash", "lines": [1, 2], "kind": "bug"});
    let answer = tools(issue())
        .call(&context, &mut Loaded::default(), "submit", &result)
        .unwrap();
    assert_eq!((answer.text.as_str(), answer.value), ("Submitted.", result));
}

#[test]
fn agentick_a_wrong_result_comes_back_with_its_paths() {
    // In Agentick the whole call fails; here the model can try again.
    let context = World::new().context();
    let result = json!({"lines": [1, "2", 3.5], "kind": "joke", "title": "crash"});
    let error = tools(issue()).call(&context, &mut Loaded::default(), "submit", &result);
    let error = error.unwrap_err();
    assert_eq!(error.why(), Some(ToolErrorKind::Input));
    assert_eq!(
        error.to_string(),
        "Invalid input for submit:
- `lines.1` must be an integer, not a string
- `lines.2` must be an integer, not a fractional number
- `kind`: value is not one of \"bug\" or \"wish\"
- `title`: value does not match \"^[A-Z]\""
    );
}

#[test]
fn agentick_two_callers_two_shapes() {
    let context = World::new().context();
    let (number, text) = (
        tools(json!({"type": "number"})),
        tools(json!({"type": "string"})),
    );
    let mut loaded = Loaded::default();
    assert!(
        number
            .call(&context, &mut loaded, "submit", &json!(1))
            .is_ok()
    );
    assert!(
        text.call(&context, &mut loaded, "submit", &json!(1))
            .is_err()
    );
}

#[test]
fn invalid_schemas_are_rejected() {
    for bad in [
        json!({"type": "objekt"}),
        json!("x"),
        json!({"$ref": "https://example.com/s"}),
    ] {
        assert!(Submit::new(bad).is_err());
    }
    let error = Submit::new(json!({"type": "objekt"})).unwrap_err();
    assert!(
        error.to_string().starts_with("invalid schema: at /type: "),
        "{error}"
    );
}

#[test]
fn patterns_run_in_linear_time() {
    let context = World::new().context();
    let tools = tools(json!({"type": "string", "pattern": "^(a+)+$"}));
    let input = json!("a".repeat(50_000) + "!");
    assert!(
        tools
            .call(&context, &mut Loaded::default(), "submit", &input)
            .is_err()
    );
}

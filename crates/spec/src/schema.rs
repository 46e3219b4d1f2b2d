//! JSON Schemas, generated from the tables that the parser uses.

use crate::fields::{FIELDS, Shape};
use crate::name::MAX_NAME;
use serde_json::{Map, Value, json};

/// A JSON Schema that the command line can print.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// Name on the command line.
    pub name: &'static str,
    /// The file format it describes.
    pub summary: &'static str,
    /// Builds the schema.
    pub build: fn() -> Value,
}

/// The schemas of skills.
pub const SCHEMAS: &[Schema] = &[Schema {
    name: "skill",
    summary: "The frontmatter of SKILL.md",
    build: skill,
}];

/// Builds the schema of the frontmatter.
fn skill() -> Value {
    let mut properties = Map::new();
    for field in FIELDS {
        let mut schema = shape(field.shape);
        schema["description"] = json!(field.summary);
        match field.key {
            "name" => {
                schema["minLength"] = json!(1);
                schema["maxLength"] = json!(MAX_NAME);
                schema["pattern"] = json!("^[\\p{L}\\p{N}]+(-[\\p{L}\\p{N}]+)*$");
            }
            "description" => {
                schema["minLength"] = json!(1);
                schema["maxLength"] = json!(1024);
            }
            "compatibility" => {
                schema["minLength"] = json!(1);
                schema["maxLength"] = json!(500);
            }
            "metadata" => schema["additionalProperties"] = json!({ "type": "string" }),
            _ => {}
        }
        properties.insert(field.key.to_owned(), schema);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Frontmatter of SKILL.md",
        "type": "object",
        "required": ["name", "description"],
        "properties": properties,
        "additionalProperties": true,
    })
}

fn shape(shape: Shape) -> Value {
    let list = json!({ "type": "array", "items": { "type": "string" } });
    match shape {
        Shape::Text => json!({ "type": "string" }),
        Shape::Choice(words) => json!({ "enum": words }),
        Shape::Flag { default, .. } => json!({ "type": "boolean", "default": default }),
        Shape::Tools | Shape::Words | Shape::Globs => {
            json!({ "anyOf": [{ "type": "string" }, list] })
        }
        Shape::Number => json!({ "type": "integer", "minimum": 1 }),
        Shape::Map => json!({ "type": "object" }),
    }
}

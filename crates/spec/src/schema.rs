//! JSON Schemas, generated from the tables that the parser uses.

use crate::fields::{FIELDS, FieldShape};
use crate::name::MAX_NAME;
use serde_json::{Map, Value, json};

/// A JSON Schema that the command line can print.
#[derive(Clone, Copy, Debug)]
pub struct NamedSchema {
    /// Name on the command line.
    pub name: &'static str,
    /// The file format it describes.
    pub summary: &'static str,
    /// Builds the schema.
    pub build: fn() -> Value,
}

/// The schemas of skills.
pub const SCHEMAS: &[NamedSchema] = &[NamedSchema {
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

fn shape(shape: FieldShape) -> Value {
    let list = json!({ "type": "array", "items": { "type": "string" } });
    match shape {
        FieldShape::Text => json!({ "type": "string" }),
        FieldShape::Choice(words) => json!({ "enum": words }),
        FieldShape::Flag { default, .. } => json!({ "type": "boolean", "default": default }),
        FieldShape::Tools | FieldShape::Words | FieldShape::Globs => {
            json!({ "anyOf": [{ "type": "string" }, list] })
        }
        FieldShape::Number => json!({ "type": "integer", "minimum": 1 }),
        FieldShape::Map => json!({ "type": "object" }),
    }
}

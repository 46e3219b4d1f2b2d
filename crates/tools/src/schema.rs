//! Validates tool input against its schema, with errors that a model can act on.

use std::sync::Arc;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use prowess_diag::suggest;
use prowess_diag::wording::{count, shorten, tick};
use serde_json::Value;

/// Maximum number of errors reported at once.
const MAX_ERRORS: usize = 10;
/// Maximum number of characters of one error.
const MAX_ERROR: usize = 300;
/// Maximum size of a compiled pattern, in bytes. Patterns run in linear time: no input can make one
/// slow.
const MAX_PATTERN: usize = 1024 * 1024;

/// A JSON schema to validate values against.
#[derive(Clone, Debug)]
pub struct Schema {
    text: Arc<Value>,
    validator: Arc<Validator>,
}

/// Error for an invalid JSON schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid schema: {why}")]
pub struct SchemaFault {
    /// The error and its location.
    pub why: Box<str>,
}

impl Schema {
    /// Compiles a schema: draft 2020-12 unless it declares another. References are not fetched.
    pub fn new(schema: &Value) -> Result<Self, SchemaFault> {
        let fault = |error: ValidationError<'static>| {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() {
                String::new()
            } else {
                format!("at {place}: ")
            };
            SchemaFault {
                why: format!("{place}{}", message(&error)).into(),
            }
        };
        let mut options = jsonschema::options()
            .with_pattern_options(PatternOptions::regex().size_limit(MAX_PATTERN))
            .should_validate_formats(true);
        if schema.get("$schema").is_none() {
            options = options.with_draft(Draft::Draft202012);
        }
        let validator = Arc::new(options.build(schema).map_err(fault)?);
        Ok(Self {
            text: Arc::new(schema.clone()),
            validator,
        })
    }

    /// Validates a value. Each error names the field and what was expected.
    pub fn check(&self, value: &Value) -> Result<(), Vec<String>> {
        if self.validator.is_valid(value) {
            return Ok(());
        }
        let mut errors = self.validator.iter_errors(value);
        let mut told: Vec<String> = errors
            .by_ref()
            .take(MAX_ERRORS)
            .map(|error| self.tell(&error))
            .collect();
        let more = errors.count();
        if more > 0 {
            told.push(format!("and {}", count(more, "more error")));
        }
        Err(told)
    }

    fn tell(&self, error: &ValidationError<'_>) -> String {
        let place = field(&error.instance_path().to_string());
        let inner = |name: &str| match &*place {
            "" => tick(name),
            place => tick(format!("{place}.{name}")),
        };
        let told = match error.kind() {
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                let expected = self.expected(&error.instance_path().to_string(), name);
                format!("{} is missing{expected}", inner(name))
            }
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                let known = self.fields(&error.instance_path().to_string());
                let one = |name: &String| {
                    let near = suggest::nearest(name, known.iter().copied());
                    let near = near.map(|near| format!(", did you mean {}?", tick(near)));
                    format!(
                        "unknown field {}{}",
                        inner(&shorten(name, 60)),
                        near.unwrap_or_default()
                    )
                };
                let told: Vec<String> = unexpected.iter().take(MAX_ERRORS).map(one).collect();
                let fields = known.iter().map(tick).collect::<Vec<_>>().join(", ");
                let fields = if fields.is_empty() {
                    "no fields".to_owned()
                } else {
                    fields
                };
                format!("{} (expected {fields})", told.join(", "))
            }
            ValidationErrorKind::Type { .. } => {
                let place = if place.is_empty() {
                    "the input".to_owned()
                } else {
                    tick(&place)
                };
                let got = kind_of(error.instance());
                format!("{place} must be {}, not {got}", self.wanted(error))
            }
            _ => {
                let place = if place.is_empty() {
                    "the input".to_owned()
                } else {
                    tick(&place)
                };
                format!("{place}: {}", message(error))
            }
        };
        shorten(&told, MAX_ERROR)
    }

    /// Returns the type that the schema requires.
    fn wanted(&self, error: &ValidationError<'_>) -> String {
        let path = error.schema_path().to_string();
        match self.text.pointer(&path) {
            Some(Value::String(one)) => article(one),
            Some(Value::Array(several)) => {
                let several = several.iter().filter_map(Value::as_str).map(article);
                prowess_diag::wording::either(several)
            }
            _ => "of a different type".to_owned(),
        }
    }

    /// Returns the part of the schema for the value at a path, following object fields only.
    fn about(&self, path: &str) -> Option<&Value> {
        let mut schema = &*self.text;
        for part in path.split('/').skip(1) {
            schema = schema.get("properties")?.get(part)?;
        }
        Some(schema)
    }

    fn fields(&self, path: &str) -> Vec<&str> {
        let properties = self.about(path).and_then(|schema| schema.get("properties"));
        let properties = properties.and_then(Value::as_object);
        properties
            .into_iter()
            .flat_map(|fields| fields.keys().map(String::as_str))
            .collect()
    }

    fn expected(&self, path: &str, name: &str) -> String {
        let field = self
            .about(path)
            .and_then(|schema| schema.get("properties")?.get(name));
        match field
            .and_then(|field| field.get("type"))
            .and_then(Value::as_str)
        {
            Some(kind) => format!(" (expected {})", article(kind)),
            None => String::new(),
        }
    }
}

/// Returns the error without the value: it may be long, and the caller has it.
fn message(error: &ValidationError<'_>) -> String {
    shorten(&error.masked().to_string(), MAX_ERROR)
}

/// Converts `/items/0/name` to `items.0.name`.
fn field(pointer: &str) -> String {
    let parts = pointer.split('/').skip(1);
    let parts: Vec<String> = parts
        .map(|part| part.replace("~1", "/").replace("~0", "~"))
        .collect();
    shorten(&parts.join("."), MAX_ERROR / 2)
}

fn article(kind: &str) -> String {
    match kind {
        "null" => "null".to_owned(),
        "array" | "object" | "integer" => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a fractional number",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Schema {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string" },
                "many": { "type": ["string", "array"] },
                "inner": {
                    "type": "object",
                    "properties": { "size": { "type": "integer", "minimum": 1 } },
                    "required": ["size"],
                },
            },
            "required": ["name"],
            "additionalProperties": false,
        });
        Schema::new(&schema).unwrap()
    }

    #[test]
    fn errors_name_the_field_and_what_was_expected() {
        let check = |value: Value, told: &[&str]| {
            assert_eq!(
                schema().check(&value).err().unwrap_or_default(),
                told,
                "{value}"
            );
        };
        check(json!({"name": "x", "inner": {"size": 1}}), &[]);
        check(json!({}), &["`name` is missing (expected a string)"]);
        check(
            json!({"name": 5}),
            &["`name` must be a string, not a number"],
        );
        check(json!([]), &["the input must be an object, not an array"]);
        check(
            json!({"name": "x", "many": 1}),
            &["`many` must be a string or an array, not a number"],
        );
        check(
            json!({"name": "x", "nmae": "y"}),
            &["unknown field `nmae`, did you mean `name`? (expected `name`, `many`, `inner`)"],
        );
        check(
            json!({"name": "x", "inner": {}}),
            &["`inner.size` is missing (expected an integer)"],
        );
        check(
            json!({"name": "x", "inner": {"size": 0}}),
            &["`inner.size`: value is less than the minimum of 1"],
        );
    }

    #[test]
    fn long_values_are_not_echoed() {
        let told = schema().check(&json!({"name": "x", "inner": "y".repeat(10_000)}));
        assert!(told.unwrap_err()[0].len() < 400);
    }

    #[test]
    fn invalid_schemas_are_rejected() {
        for bad in [json!({"type": "strng"}), json!(5), json!({"pattern": "("})] {
            assert!(Schema::new(&bad).is_err(), "{bad}");
        }
        let remote = json!({"$ref": "https://example.com/schema.json"});
        assert!(Schema::new(&remote).is_err());
        assert!(Schema::new(&json!({"$ref": "file:///etc/passwd"})).is_err());
    }
}

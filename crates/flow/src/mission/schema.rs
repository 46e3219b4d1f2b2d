//! The fields of inputs, outputs and datasets.

use prowess_hcl::Value;
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

/// A field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// Its name.
    pub name: Box<str>,
    /// Its type.
    pub kind: FieldType,
    /// Its meaning.
    pub description: Option<Value>,
    /// `true` if a value must have it.
    pub is_required: bool,
    /// The value if none is given.
    pub default: Option<Value>,
    /// `true` if no model may read the value.
    pub is_protected: bool,
    /// The value of a protected input. It may need a secret.
    pub value: Option<Value>,
}

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldType {
    /// `string`
    String,
    /// `number`
    Number,
    /// `integer`
    Integer,
    /// `bool` or `boolean`
    Bool,
    /// `list`, with the type of its items.
    List(Box<FieldType>),
    /// `map`, with the type of its values.
    Map(Box<FieldType>),
    /// `object`, with its fields. Without fields, any object.
    Object(Vec<Field>),
    /// Any value.
    Any,
    /// A text, a number or a boolean.
    Primitive,
}

/// The words for types.
pub(super) const TYPE_WORDS: [&str; 8] = [
    "string", "number", "integer", "bool", "boolean", "list", "map", "object",
];

impl FieldType {
    /// Parses the word of a type.
    pub(super) fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "string" => Self::String,
            "number" => Self::Number,
            "integer" => Self::Integer,
            "bool" | "boolean" => Self::Bool,
            "list" => Self::List(Box::new(Self::Any)),
            "map" => Self::Map(Box::new(Self::Any)),
            "object" => Self::Object(Vec::new()),
            "any" => Self::Any,
            "any_primitive" => Self::Primitive,
            _ => return None,
        })
    }

    /// Returns the type with its article, for messages.
    pub fn noun(&self) -> &'static str {
        match self {
            Self::String => "text",
            Self::Number => "a number",
            Self::Integer => "a whole number",
            Self::Bool => "`true` or `false`",
            Self::List(_) => "a list",
            Self::Map(_) | Self::Object(_) => "an object",
            Self::Any => "a value",
            Self::Primitive => "text, a number or a boolean",
        }
    }

    /// Returns the word of the type.
    pub fn word(&self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Integer => "integer",
            Self::Bool => "bool",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Object(_) => "object",
            Self::Any => "any",
            Self::Primitive => "any_primitive",
        }
    }

    /// Converts the text of an option on the command line.
    pub fn convert(&self, text: &str) -> Result<Value, String> {
        let wrong = || format!("expected {}", self.noun());
        let value = match self {
            Self::String => return Ok(Value::Text(text.into())),
            Self::Bool => match text {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                _ => return Err(wrong()),
            },
            Self::Number | Self::Integer => Value::Number(text.trim().into()),
            Self::List(_) | Self::Map(_) | Self::Object(_) => {
                let parsed = serde_json::from_str(text);
                from_json(&parsed.map_err(|_| format!("expected {} as JSON", self.noun()))?)
            }
            Self::Any | Self::Primitive => match serde_json::from_str(text) {
                Ok(parsed) => from_json(&parsed),
                Err(_) => Value::Text(text.into()),
            },
        };
        self.check(&value, "")?;
        Ok(value)
    }

    /// Checks a value. The error says what does not fit, with its path.
    pub fn check(&self, value: &Value, path: &str) -> Result<(), String> {
        let wrong = || {
            let found = value.kind_name();
            if path.is_empty() {
                Err(format!("expected {}, found {found}", self.noun()))
            } else {
                Err(format!("`{path}`: expected {}, found {found}", self.noun()))
            }
        };
        match (self, value) {
            (_, Value::Late(_))
            | (Self::Primitive, Value::Text(_) | Value::Bool(_) | Value::Number(_))
            | (Self::Any, _)
            | (Self::String, Value::Text(_))
            | (Self::Bool, Value::Bool(_)) => Ok(()),
            (Self::Number, Value::Number(number)) if is_number(number) => Ok(()),
            (Self::Integer, Value::Number(number)) if is_integer(number) => Ok(()),
            (Self::List(kind), Value::List(items)) => {
                for (at, item) in items.iter().enumerate() {
                    kind.check(item, &format!("{path}[{at}]"))?;
                }
                Ok(())
            }
            (Self::Map(kind), Value::Object(entries)) => {
                for (key, entry) in entries {
                    kind.check(entry, &join(path, key))?;
                }
                Ok(())
            }
            (Self::Object(fields), Value::Object(entries)) => check_fields(fields, entries, path),
            _ => wrong(),
        }
    }

    /// Returns the type as JSON Schema.
    pub fn json_schema(&self) -> serde_json::Value {
        match self {
            Self::String => json!({ "type": "string" }),
            Self::Number => json!({ "type": "number" }),
            Self::Integer => json!({ "type": "integer" }),
            Self::Bool => json!({ "type": "boolean" }),
            Self::List(kind) => match kind.json_schema() {
                serde_json::Value::Object(items) if items.is_empty() => json!({ "type": "array" }),
                items => json!({ "type": "array", "items": items }),
            },
            Self::Map(kind) => match kind.json_schema() {
                serde_json::Value::Object(any) if any.is_empty() => json!({ "type": "object" }),
                kind => json!({ "type": "object", "additionalProperties": kind }),
            },
            Self::Object(fields) => json_schema(fields),
            Self::Any => json!({}),
            Self::Primitive => json!({ "type": ["string", "number", "boolean"] }),
        }
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

fn check_fields(fields: &[Field], entries: &[(Box<str>, Value)], path: &str) -> Result<(), String> {
    for field in fields {
        match entries.iter().find(|(key, _)| *key == field.name) {
            Some((_, entry)) => field.kind.check(entry, &join(path, &field.name))?,
            None if field.is_required => {
                return Err(format!("`{}` is missing", join(path, &field.name)));
            }
            None => {}
        }
    }
    Ok(())
}

fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Returns `true` for a whole number, such as `3` or `3.0`.
fn is_integer(text: &str) -> bool {
    text.parse::<i64>().is_ok()
        || text
            .parse::<f64>()
            .is_ok_and(|number| number.is_finite() && number.fract() == 0.0)
}

/// Returns the JSON Schema of an object with these fields.
pub fn json_schema(fields: &[Field]) -> serde_json::Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in fields {
        let mut schema = field.kind.json_schema();
        if let Some(text) = field.description.as_ref().and_then(Value::as_text) {
            schema["description"] = text.into();
        }
        if let Some(default) = field.default.as_ref().and_then(to_json) {
            schema["default"] = default;
        }
        properties.insert(field.name.to_string(), schema);
        if field.is_required {
            required.push(&*field.name);
        }
    }
    let mut schema = json!({ "type": "object" });
    if !properties.is_empty() {
        schema["properties"] = properties.into();
    }
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// Converts JSON to a value.
pub fn from_json(value: &serde_json::Value) -> Value {
    match value {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(value) => Value::Bool(*value),
        serde_json::Value::Number(number) => Value::Number(number.to_string().into()),
        serde_json::Value::String(text) => Value::Text(text.as_str().into()),
        serde_json::Value::Array(items) => Value::List(items.iter().map(from_json).collect()),
        serde_json::Value::Object(entries) => {
            let entry = |(key, value): (&String, _)| (key.as_str().into(), from_json(value));
            Value::Object(entries.iter().map(entry).collect())
        }
    }
}

/// Converts a value to JSON. Returns `None` if a part of it is not known yet.
pub fn to_json(value: &Value) -> Option<serde_json::Value> {
    Some(match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => {
            let parsed = serde_json::from_str::<serde_json::Number>(number).ok();
            parsed.map_or_else(|| (&**number).into(), serde_json::Value::Number)
        }
        Value::Text(text) => (&**text).into(),
        Value::List(items) => items
            .iter()
            .map(to_json)
            .collect::<Option<Vec<_>>>()?
            .into(),
        Value::Object(entries) => {
            let mut map = Map::new();
            for (key, value) in entries {
                map.insert(key.to_string(), to_json(value)?);
            }
            map.into()
        }
        Value::Late(_) => return None,
    })
}

//! Checks the arguments of a skill against the schema that its program gave.

use prowess_render::Arguments;
use serde_json::{Map, Value};

use crate::activate::ActivationError;
use crate::schema::Schema;
use crate::snapshot::SkillSnapshot;

/// Checks arguments against the input schema of a skill, if it has one. The words of a text are the
/// values of the declared arguments, in order.
pub fn check_arguments(
    snapshot: &SkillSnapshot,
    arguments: &Arguments,
) -> Result<(), ActivationError> {
    let Some(input) = &snapshot.input else {
        return Ok(());
    };
    let invalid = |errors| ActivationError::Arguments {
        name: snapshot.name.clone(),
        errors,
    };
    let schema = Schema::new(input).map_err(|fault| invalid(vec![fault.to_string()]))?;
    let value = match (arguments.json(), arguments.raw()) {
        (Some(value), _) => value.clone(),
        (None, None) => Value::Object(Map::new()),
        (None, Some(text)) => {
            let text = Value::from(text);
            if snapshot.document.arguments.is_empty() || schema.check(&text).is_ok() {
                text
            } else {
                by_name(&snapshot.document.arguments, arguments, input)
            }
        }
    };
    schema.check(&value).map_err(invalid)
}

/// Returns the words of arguments as the values of declared names. A word for a field that is not a
/// string is read as JSON.
fn by_name(names: &[Box<str>], arguments: &Arguments, schema: &Value) -> Value {
    let field = |(name, word): (&str, &str)| {
        let kind = &schema["properties"][name]["type"];
        let is_text = |kind: &Value| kind == "string";
        let is_string =
            is_text(kind) || kind.as_array().is_some_and(|some| some.iter().any(is_text));
        let read = serde_json::from_str(word)
            .ok()
            .filter(|_| !is_string && !kind.is_null());
        (name.to_owned(), read.unwrap_or_else(|| Value::from(word)))
    };
    let words = arguments.words();
    let names = names.iter().map(AsRef::as_ref);
    let fields = names.zip(words.iter().map(AsRef::as_ref)).map(field);
    Value::Object(fields.collect())
}

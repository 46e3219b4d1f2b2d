//! Values of expressions.

use serde::{Deserialize, Serialize};

use crate::tree::Expr;

/// The value of an expression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// `null`
    Null,
    /// A boolean.
    Bool(bool),
    /// A number as it is written.
    Number(Box<str>),
    /// Text.
    Text(Box<str>),
    /// A list.
    List(Vec<Value>),
    /// An object, in source order.
    Object(Vec<(Box<str>, Value)>),
    /// An expression that needs names which are not known yet. Everything else in it is evaluated.
    Late(Box<Expr>),
}

impl Value {
    /// Describes the kind of value in an error.
    pub fn kind_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
            Self::Late(_) => "a value that is not known yet",
        }
    }

    /// Returns `true` if a part of the value is not known yet.
    pub fn is_late(&self) -> bool {
        match self {
            Self::Late(_) => true,
            Self::List(items) => items.iter().any(Self::is_late),
            Self::Object(entries) => entries.iter().any(|(_, value)| value.is_late()),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) => false,
        }
    }

    /// Returns the text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the entry of an object.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(entries) => {
                let found = entries.iter().find(|(name, _)| **name == *key);
                found.map(|(_, value)| value)
            }
            _ => None,
        }
    }
}

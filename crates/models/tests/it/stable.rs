//! Conversations with a common prefix have request bodies with a common prefix, which providers can
//! cache.

use std::sync::Arc;

use prowess_models::{Anthropic, Gemini, OpenAiChat, OpenAiResponses, WireFormat};
use serde_json::json;

use crate::support::{conversation, remote};

#[test]
fn longer_conversation_extends_the_bytes_of_a_shorter_one() {
    let wires: [(&str, Arc<dyn WireFormat>); 4] = [
        ("messages", Arc::new(Anthropic)),
        ("messages", Arc::new(OpenAiChat::Official)),
        ("input", Arc::new(OpenAiResponses)),
        ("contents", Arc::new(Gemini)),
    ];
    for (list, wire) in wires {
        let model = remote(wire, "m", 1);
        let whole = conversation("anthropic", json!({"type": "thinking"}));
        let all = String::from_utf8(model.body(&whole)).unwrap();
        for count in 1..whole.messages.len() {
            let mut part = whole.clone();
            part.messages.truncate(count);
            let body = String::from_utf8(model.body(&part)).unwrap();
            let value: serde_json::Value = serde_json::from_str(&body).unwrap();
            let items = value[list].as_array().unwrap();
            let last = items.last().unwrap().to_string();
            let end = body.rfind(&last).unwrap() + last.len();
            assert!(all.starts_with(&body[..end]), "{model:?}: {count} messages");
        }
    }
}

//! Request bytes sent to each provider by a run of the program.

use prowess_test::server::{ReceivedRequest, ServerStep, TestServer, sse};
use serde_json::{Value, json};

use crate::world::World;

const INDEX: &str = "- **greet** — Greets people. Use when a guest arrives.";
const CLOSING: &str = "Do not work on anything else, or on more than was asked.";

/// Runs a task against a server that first calls `load_skill` and then replies. Returns the requests.
fn asked(
    provider: &str,
    variables: &[(&str, &str)],
    load: &str,
    done: &str,
) -> Vec<ReceivedRequest> {
    let world = World::with_a_greeting();
    let answers = [load, done].map(|events| vec![ServerStep::Send(sse(events))]);
    let server = TestServer::new(answers);
    let model = format!("{provider}/test-model");
    let mut command = world.command(&["run", "--task", "Ada is here.", "--model", &model]);
    for (name, path) in variables {
        let value = match path.strip_prefix("http") {
            Some(rest) => format!("http://127.0.0.1:{}{rest}", server.port),
            None => (*path).to_owned(),
        };
        command = command.env(name, value);
    }
    let output = command.run().expect(0);
    assert_eq!(output.stdout, "Good morning, Ada.\n", "{}", output.stderr);
    assert!(!output.stderr.contains("secret-key"), "{}", output.stderr);
    let asked = server.asked();
    assert_eq!(asked.len(), 2);
    for request in &asked {
        check(&request.body);
    }
    // Earlier messages are sent byte for byte as before, so that the provider's prompt cache is used.
    asked
}

/// Checks the invariants of every request, for any provider.
fn check(body: &str) {
    assert_eq!(
        body.matches(&INDEX.replace('"', "\\\"")).count(),
        1,
        "the index, once\n{body}"
    );
    let index = body.find("**greet**").unwrap();
    let said = body.find("Ada is here.").unwrap();
    let system_first = body.find("\"system").or_else(|| body.find("instructions"));
    assert!(
        system_first.is_none_or(|at| at < said) || index < said,
        "the index comes first"
    );
    assert!(
        !body.contains("secret-key"),
        "a key is a header, never a part of the body"
    );
    assert!(!body.contains("$ARGUMENTS"), "no placeholder is left");
}

/// Checks that the skill text ends with the closing line.
fn check_skill(text: &str) {
    assert!(text.contains("Say good morning to Ada."), "{text}");
    assert!(text.trim_end().ends_with(CLOSING), "{text}");
}

#[test]
fn anthropic() {
    let load = r#"
        {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"test-model","content":[],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}}}
        {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"load_skill","input":{}}}
        {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"name\":\"greet\",\"argu"}}
        {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"ments\":\"Ada\"}"}}
        {"type":"content_block_stop","index":0}
        {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":20}}
        {"type":"message_stop"}"#;
    let done = r#"
        {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"test-model","content":[],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}}}
        {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
        {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Good morning, Ada."}}
        {"type":"content_block_stop","index":0}
        {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}
        {"type":"message_stop"}"#;
    let variables = [
        ("ANTHROPIC_API_KEY", "secret-key"),
        ("ANTHROPIC_BASE_URL", "http"),
    ];
    let asked = asked("anthropic", &variables, load, done);
    assert!(
        asked[0].head.starts_with("post /v1/messages "),
        "{}",
        asked[0].head
    );
    assert!(asked[0].head.contains("x-api-key: secret-key"));
    let (first, second) = (asked[0].json(), asked[1].json());
    assert_eq!(first["stream"], true);
    assert_eq!(
        first["system"], second["system"],
        "the same bytes in every request of a session"
    );
    let system = first["system"].as_array().unwrap();
    assert!(
        system.last().unwrap()["text"]
            .as_str()
            .unwrap()
            .contains(INDEX),
        "{system:?}"
    );
    assert_eq!(
        system.last().unwrap()["cache_control"],
        json!({"type": "ephemeral"})
    );
    let names: Vec<&str> = first["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"load_skill") && names.contains(&"bash"),
        "{names:?}"
    );
    let result = &second["messages"][2]["content"][0];
    assert_eq!(
        (&result["type"], &result["tool_use_id"]),
        (&json!("tool_result"), &json!("toolu_1"))
    );
    check_skill(&text_of(&result["content"]));
}

#[test]
fn openai_chat() {
    let load = r#"
        {"id":"c","object":"chat.completion.chunk","model":"test-model","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"load_skill","arguments":""}}]},"finish_reason":null}]}
        {"id":"c","object":"chat.completion.chunk","model":"test-model","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"name\":\"greet\",\"arguments\":\"Ada\"}"}}]},"finish_reason":null}]}
        {"id":"c","object":"chat.completion.chunk","model":"test-model","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}
        [DONE]"#;
    let done = r#"
        {"id":"c","object":"chat.completion.chunk","model":"test-model","choices":[{"index":0,"delta":{"role":"assistant","content":"Good morning, Ada."},"finish_reason":null}]}
        {"id":"c","object":"chat.completion.chunk","model":"test-model","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}
        [DONE]"#;
    let variables = [
        ("OPENAI_API_KEY", "secret-key"),
        ("OPENAI_BASE_URL", "http/v1"),
    ];
    let asked = asked("openai-chat", &variables, load, done);
    assert!(
        asked[0].head.starts_with("post /v1/chat/completions "),
        "{}",
        asked[0].head
    );
    assert!(asked[0].head.contains("authorization: bearer secret-key"));
    let (first, second) = (asked[0].json(), asked[1].json());
    assert_eq!(
        first["messages"][0], second["messages"][0],
        "the same bytes in every request"
    );
    assert!(text_of(&first["messages"][0]["content"]).contains(INDEX));
    let answers = second["messages"].as_array().unwrap();
    let result = answers
        .iter()
        .find(|message| message["role"] == "tool")
        .unwrap();
    assert_eq!(result["tool_call_id"], "call_a");
    check_skill(&text_of(&result["content"]));
}

#[test]
fn openai_responses() {
    let load = r#"
        {"type":"response.created","response":{"id":"r","status":"in_progress","output":[]}}
        {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc","call_id":"call_a","name":"load_skill","arguments":""}}
        {"type":"response.function_call_arguments.delta","item_id":"fc","output_index":0,"delta":"{\"name\":\"greet\",\"arguments\":\"Ada\"}"}
        {"type":"response.function_call_arguments.done","item_id":"fc","output_index":0,"arguments":"{\"name\":\"greet\",\"arguments\":\"Ada\"}"}
        {"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"fc","call_id":"call_a","name":"load_skill","arguments":"{\"name\":\"greet\",\"arguments\":\"Ada\"}","status":"completed"}}
        {"type":"response.completed","response":{"id":"r","model":"test-model","status":"completed","output":[{"type":"function_call","id":"fc","call_id":"call_a","name":"load_skill","arguments":"{\"name\":\"greet\",\"arguments\":\"Ada\"}","status":"completed"}],"usage":{"input_tokens":10,"output_tokens":5}}}"#;
    let done = r#"
        {"type":"response.created","response":{"id":"r","status":"in_progress","output":[]}}
        {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[]}}
        {"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,"delta":"Good morning, Ada."}
        {"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Good morning, Ada.","annotations":[]}]}}
        {"type":"response.completed","response":{"id":"r","model":"test-model","status":"completed","output":[{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Good morning, Ada.","annotations":[]}]}],"usage":{"input_tokens":10,"output_tokens":5}}}"#;
    let variables = [
        ("OPENAI_API_KEY", "secret-key"),
        ("OPENAI_BASE_URL", "http/v1"),
    ];
    let asked = asked("openai-responses", &variables, load, done);
    assert!(
        asked[0].head.starts_with("post /v1/responses "),
        "{}",
        asked[0].head
    );
    let (first, second) = (asked[0].json(), asked[1].json());
    assert_eq!(first["instructions"], second["instructions"]);
    assert_eq!(first["store"], false, "nothing is kept at the provider");
    let items = second["input"].as_array().unwrap();
    let result = items
        .iter()
        .find(|item| item["type"] == "function_call_output")
        .unwrap();
    assert_eq!(result["call_id"], "call_a");
    check_skill(&text_of(&result["output"]));
}

#[test]
fn gemini() {
    let load = r#"
        {"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"load_skill","args":{"name":"greet","arguments":"Ada"}}}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5},"modelVersion":"test-model"}"#;
    let done = r#"
        {"candidates":[{"content":{"role":"model","parts":[{"text":"Good morning, "}]},"index":0}],"modelVersion":"test-model"}
        {"candidates":[{"content":{"role":"model","parts":[{"text":"Ada."}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5},"modelVersion":"test-model"}"#;
    let variables = [
        ("GEMINI_API_KEY", "secret-key"),
        ("GEMINI_BASE_URL", "http"),
    ];
    let asked = asked("gemini", &variables, load, done);
    assert!(
        asked[0].head.contains(":streamgeneratecontent?alt=sse"),
        "{}",
        asked[0].head
    );
    assert!(
        !asked[0].head.lines().next().unwrap().contains("secret-key"),
        "not in the address"
    );
    let (first, second) = (asked[0].json(), asked[1].json());
    assert_eq!(first["systemInstruction"], second["systemInstruction"]);
    let result = &second["contents"][2]["parts"][0]["functionResponse"];
    assert_eq!(result["name"], "load_skill");
    check_skill(&text_of(&result["response"]));
}

/// Returns the longest string in a value, to find text regardless of the provider format.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items
            .iter()
            .map(text_of)
            .max_by_key(String::len)
            .unwrap_or_default(),
        Value::Object(fields) => fields
            .values()
            .map(text_of)
            .max_by_key(String::len)
            .unwrap_or_default(),
        _ => String::new(),
    }
}

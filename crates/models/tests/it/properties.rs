//! Properties: arbitrary streams cause no panic, and their chunks do not matter.

use proptest::collection::vec;
use proptest::prelude::*;
use prowess_agent::{Delta, Reply};
use prowess_models::{
    Anthropic, Gemini, OpenAiChat, OpenAiResponses, ProviderError, SseDecoder, SseEvent, WireFormat,
};

const ANTHROPIC: &str = r#"data: {"type":"message_start","message":{"model":"m","usage":{"input_tokens":1}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"grüß 🦀"}}

data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"rm","input":{}}}

data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}

data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}

data: {"type":"message_stop"}

"#;

const CHAT: &str = r#"data: {"choices":[{"delta":{"content":"grüß 🦀"}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"t","function":{"name":"rm","arguments":"{\"a\":1}"}}]}}]}

data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

"#;

const RESPONSES: &str = r#"data: {"type":"response.output_text.delta","delta":"grüß 🦀"}

data: {"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"t","name":"rm","arguments":"{\"a\":1}"}}

data: {"type":"response.completed","response":{"status":"completed","output":[]}}

"#;

const GEMINI: &str = r#"data: {"candidates":[{"content":{"parts":[{"text":"grüß 🦀"}]}}]}

data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"rm","args":{"a":1}}}]},"finishReason":"STOP"}]}

"#;

fn all() -> [(Box<dyn WireFormat>, &'static str); 4] {
    [
        (Box::new(Anthropic), ANTHROPIC),
        (Box::new(OpenAiChat::Official), CHAT),
        (Box::new(OpenAiResponses), RESPONSES),
        (Box::new(Gemini), GEMINI),
    ]
}

/// Reads a stream in chunks, as a model does.
fn read<'a>(
    wire: &dyn WireFormat,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Result<Reply, ProviderError>, Vec<Delta>) {
    let mut reader = wire.reader();
    let mut decoder = SseDecoder::new(10_000);
    let mut shown = Vec::new();
    let mut events = Vec::new();
    for piece in pieces {
        let fed = decoder.feed(piece, &mut events);
        for event in events.drain(..) {
            match reader.event(&event.data, &mut |delta| shown.push(delta)) {
                Ok(false) => {}
                Ok(true) => return (reader.finish(), shown),
                Err(fault) => return (Err(fault), shown),
            }
        }
        if let Err(error) = fed {
            return (Err(ProviderError::bad_reply(error.to_string())), shown);
        }
    }
    (reader.finish(), shown)
}

#[test]
fn every_split_gives_the_same_reply() {
    for (wire, stream) in all() {
        let bytes = stream.as_bytes();
        let whole = read(&*wire, [bytes]);
        assert_eq!(whole.0.as_ref().unwrap().calls().count(), 1, "{wire:?}");
        for at in 0..=bytes.len() {
            assert_eq!(
                read(&*wire, [&bytes[..at], &bytes[at..]]),
                whole,
                "{wire:?} at {at}"
            );
        }
        assert_eq!(read(&*wire, bytes.chunks(1)), whole, "{wire:?}");
    }
}

#[test]
fn truncated_stream_gives_no_partial_reply() {
    for (wire, stream) in all() {
        let bytes = stream.as_bytes();
        let whole = read(&*wire, [bytes]).0.unwrap();
        for at in 0..bytes.len() {
            if let Ok(reply) = read(&*wire, [&bytes[..at]]).0 {
                assert_eq!(reply.parts, whole.parts, "{wire:?} at {at}");
            }
        }
    }
}

fn decode(bytes: &[u8], cuts: &[usize]) -> (Vec<SseEvent>, bool) {
    let mut decoder = SseDecoder::new(64);
    let mut events = Vec::new();
    let mut rest = bytes;
    for cut in cuts {
        let (head, tail) = rest.split_at((*cut).min(rest.len()));
        rest = tail;
        if decoder.feed(head, &mut events).is_err() {
            return (events, false);
        }
    }
    let fine = decoder.feed(rest, &mut events).is_ok();
    (events, fine)
}

/// Bytes that resemble a stream.
fn stream_like() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"data: ".to_vec()),
        Just(b"event:".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\n\n".to_vec()),
        Just("\u{feff}".as_bytes().to_vec()),
        Just("ü🦀".as_bytes().to_vec()),
        vec(any::<u8>(), 0..8),
    ];
    vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn chunks_do_not_matter_to_the_decoder(
        bytes in stream_like(),
        cuts in vec(0_usize..9, 0..40),
    ) {
        prop_assert_eq!(decode(&bytes, &cuts), decode(&bytes, &[]));
    }

    #[test]
    fn stream_invariants_hold(bytes in stream_like()) {
        prowess_test::stream::stream_holds(&bytes);
    }

    #[test]
    fn arbitrary_events_do_not_panic(events in vec(value(), 0..6)) {
        for (wire, _) in all() {
            let mut reader = wire.reader();
            for event in &events {
                if reader.event(&event.to_string(), &mut |_| {}).is_err() {
                    break;
                }
            }
            let _ = reader.finish();
            let body = serde_json::Value::from(events.clone()).to_string();
            let _ = wire.whole(body.as_bytes());
            let _ = wire.fault(400, body.as_bytes());
        }
    }

    #[test]
    fn changed_bytes_do_not_panic(
        at in 0_usize..900,
        byte in any::<u8>(),
        which in 0_usize..4,
    ) {
        let (wire, stream) = all().into_iter().nth(which).unwrap();
        let mut bytes = stream.as_bytes().to_vec();
        let at = at % bytes.len();
        bytes[at] = byte;
        let _ = read(&*wire, [bytes.as_slice()]);
    }
}

/// JSON with keys of the wire formats.
fn value() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let words = prop::sample::select(vec![
        "type",
        "index",
        "delta",
        "content_block",
        "message",
        "usage",
        "text",
        "tool_use",
        "id",
        "name",
        "input",
        "content_block_start",
        "content_block_delta",
        "message_delta",
        "message_stop",
        "input_json_delta",
        "partial_json",
        "stop_reason",
        "choices",
        "tool_calls",
        "function",
        "arguments",
        "finish_reason",
        "content",
        "error",
        "response",
        "response.completed",
        "response.output_item.done",
        "item",
        "output",
        "status",
        "candidates",
        "parts",
        "functionCall",
        "args",
        "finishReason",
        "STOP",
        "code",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        words.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((words.clone(), inner), 0..6).prop_map(|pairs| pairs
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

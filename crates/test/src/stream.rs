//! A statement that holds for every stream of a provider. It panics when it does not.

use prowess_models::{
    Anthropic, Gemini, OpenAiChat, OpenAiResponses, SseDecoder, SseError, SseEvent, Wire,
};

/// Most bytes of an event here, so that the bound is met often.
const MAX_EVENT: usize = 256;
/// Most bytes of an event that a reader is given: those of providers are larger.
const MAX_READ: usize = 1024 * 1024;

/// However a stream is cut, its events are the same, none is larger than the bound, and no reader
/// stops in any other way than with an answer or an error.
pub fn stream_holds(bytes: &[u8]) {
    let whole = decode(MAX_EVENT, [bytes]);
    assert_eq!(
        decode(MAX_EVENT, bytes.chunks(1)),
        whole,
        "byte by byte: {bytes:?}"
    );
    let middle = bytes.split_at(bytes.len() / 2);
    assert_eq!(
        decode(MAX_EVENT, [middle.0, middle.1]),
        whole,
        "in halves: {bytes:?}"
    );
    let fits = |event: &SseEvent| event.data.len() + event.event.len() <= MAX_EVENT;
    assert!(whole.0.iter().all(fits), "{bytes:?}");
    let (events, _) = decode(MAX_READ, [bytes]);
    let wires: [&dyn Wire; 4] = [
        &Anthropic,
        &OpenAiChat::Compatible,
        &OpenAiResponses,
        &Gemini,
    ];
    for wire in wires {
        let mut reader = wire.reader();
        // The last event may be refused, or be the end.
        let _ = events
            .iter()
            .try_for_each(|event| match reader.event(&event.data, &mut |_| {}) {
                Ok(false) => Ok(()),
                Ok(true) | Err(_) => Err(()),
            });
        let _ = reader.finish();
        let _ = wire.whole(bytes);
        let _ = wire.fault(400, bytes);
    }
}

fn decode<'a>(
    bound: usize,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<SseEvent>, Option<SseError>) {
    let mut decoder = SseDecoder::new(bound);
    let mut events = Vec::new();
    for piece in pieces {
        if let Err(error) = decoder.feed(piece, &mut events) {
            return (events, Some(error));
        }
    }
    (events, None)
}

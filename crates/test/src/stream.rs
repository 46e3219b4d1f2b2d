//! Invariants of the event streams of providers.

use prowess_models::{
    Anthropic, Gemini, OpenAiChat, OpenAiResponses, SseDecoder, SseError, SseEvent, WireFormat,
};

/// A small bound on the size of an event, so that it is often reached.
const MAX_EVENT: usize = 256;
/// The bound on the size of an event for readers, since those of providers are larger.
const MAX_READ: usize = 1024 * 1024;

/// Checks that a stream has the same events however it is split, that none exceeds the bound, and
/// that every reader returns a reply or an error. Panics otherwise.
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
    let wires: [&dyn WireFormat; 4] = [
        &Anthropic,
        &OpenAiChat::Compatible,
        &OpenAiResponses,
        &Gemini,
    ];
    for wire in wires {
        let mut reader = wire.reader();
        // An event may be rejected, or end the stream.
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

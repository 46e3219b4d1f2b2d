//! Keys are sent to one origin and never shown.

use std::sync::Arc;

use prowess_http::{HttpClient, HttpUrl};
use prowess_models::{
    Anthropic, ApiKey, Gemini, OpenAiChat, OpenAiResponses, RemoteModel, SecretText, WireFormat,
    open,
};
use prowess_traits::{Model, ModelErrorKind};

use crate::support::{KEY, ask, hello, patient, remote, settings};
use prowess_test::server::{TestServer, json, sse};

#[test]
fn errors_and_debug_output_do_not_show_the_key() {
    let wires: [Arc<dyn WireFormat>; 4] = [
        Arc::new(Anthropic),
        Arc::new(OpenAiChat::Official),
        Arc::new(OpenAiResponses),
        Arc::new(Gemini),
    ];
    let echo = format!(
        r#"{{"type":"error","error":{{"type":"x","code":"{KEY}","message":"bad {KEY}"}}}}"#
    );
    for wire in wires {
        for status in ["400 X", "401 X", "403 X", "429 X", "500 X", "302 X"] {
            let headers = format!("location: http://evil.example/?{KEY}\r\n");
            let server = TestServer::once(json(status, &headers, &echo));
            let model = remote(wire.clone(), "m", server.port);
            let error = ask(&model, &hello()).0.unwrap_err();
            let all = format!("{error} {error:?} {model:?} {:?}", model.about());
            assert!(!all.contains(KEY), "{all}");
            assert!(server.asked()[0].head.contains(KEY), "the key was sent");
        }
        let server = TestServer::once(sse(&echo));
        let error = ask(&remote(wire.clone(), "m", server.port), &hello())
            .0
            .unwrap_err();
        assert!(!format!("{error:?}").contains(KEY), "{error:?}");
        let server = TestServer::once(sse(&format!("{KEY}{{")));
        let error = ask(&remote(wire, "m", server.port), &hello())
            .0
            .unwrap_err();
        assert!(!format!("{error:?}").contains(KEY), "{error:?}");
    }
}

#[test]
fn key_for_another_origin_is_not_sent() {
    let server = TestServer::once(sse(""));
    let base = HttpUrl::parse(&format!("http://127.0.0.1:{}", server.port)).unwrap();
    let elsewhere = HttpUrl::parse("https://api.anthropic.com").unwrap();
    let key = ApiKey::new(KEY, elsewhere.origin()).unwrap();
    let http = HttpClient::new("prowess-test", patient()).unwrap();
    let about = remote(Arc::new(Anthropic), "m", 1).about().clone();
    let model = RemoteModel::new(about, Arc::new(Anthropic), "m", base, Some(key), http);
    let error = ask(&model, &hello()).0.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Auth);
    assert!(server.asked().is_empty(), "no request was sent");
}

#[test]
fn selection_does_not_show_the_key() {
    let mut settings = settings();
    settings.key = Some(SecretText(KEY.into()));
    assert!(!format!("{settings:?}").contains(KEY));
    let chosen = open("anthropic", &|_| None, &settings).unwrap();
    assert!(!format!("{chosen:?}").contains(KEY));
    let bad = |name: &str| {
        name.ends_with("_API_KEY")
            .then(|| format!("{KEY}\nand more"))
    };
    settings.key = None;
    for provider in ["anthropic", "openai", "gemini"] {
        let error = open(provider, &bad, &settings).unwrap_err();
        assert!(!format!("{error} {error:?}").contains(KEY));
    }
}

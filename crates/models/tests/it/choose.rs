//! Selection of models.

use std::collections::BTreeMap;

use prowess_models::{ChooseError, ChosenModel, ModelSettings, choose, open};
use serde_json::json;

use crate::support::{ask, block_on, hello, settings};
use prowess_test::server::{TestServer, json as whole, sse};

fn by(variables: &[(&str, &str)], name: Option<&str>) -> Result<ChosenModel, ChooseError> {
    let map: BTreeMap<String, String> = variables
        .iter()
        .map(|(name, value)| ((*name).into(), (*value).into()))
        .collect();
    let settings = settings();
    block_on(choose(name, &|name| map.get(name).cloned(), &settings))
}

fn name(variables: &[(&str, &str)], named: Option<&str>) -> String {
    by(variables, named).unwrap().model.about().name.to_string()
}

#[test]
fn names_are_parsed() {
    let keys = [
        ("ANTHROPIC_API_KEY", "a"),
        ("OPENAI_API_KEY", "b"),
        ("GOOGLE_API_KEY", "c"),
        ("OPENROUTER_API_KEY", "d"),
        ("PROWESS_BASE_URL", "http://127.0.0.1:9/v1"),
    ];
    for (given, expected) in [
        ("anthropic/claude-opus-4-6", "anthropic/claude-opus-4-6"),
        ("anthropic", "anthropic/claude-sonnet-4-6"),
        ("claude-opus-4-6", "anthropic/claude-opus-4-6"),
        ("gpt-5-mini", "openai/gpt-5-mini"),
        ("gemini-2.5-flash", "gemini/gemini-2.5-flash"),
        (
            "openrouter/meta-llama/llama-3:free",
            "openrouter/meta-llama/llama-3:free",
        ),
        ("ollama/qwen3:8b", "ollama/qwen3:8b"),
        ("local/some/model", "local/some/model"),
        ("echo", "echo/echo"),
    ] {
        assert_eq!(name(&keys, Some(given)), expected);
    }
}

#[test]
fn variables_are_tried_in_a_fixed_order() {
    let all = [
        ("PROWESS_MODEL", "openai/gpt-4o"),
        ("ANTHROPIC_API_KEY", "a"),
        ("OPENAI_API_KEY", "b"),
        ("GEMINI_API_KEY", "c"),
    ];
    assert_eq!(name(&all, None), "openai/gpt-4o");
    assert_eq!(name(&all[1..], None), "anthropic/claude-sonnet-4-6");
    assert_eq!(name(&all[2..], None), "openai/gpt-5.2");
    assert_eq!(name(&all[3..], None), "gemini/gemini-2.5-pro");
    assert_eq!(by(&all[3..], None).unwrap().why, "`GEMINI_API_KEY` is set");
    assert_eq!(
        name(&all, Some("echo")),
        "echo/echo",
        "a name counts before variables"
    );
}

#[test]
fn errors_say_what_to_set() {
    for (given, message) in [
        (
            "anthropic",
            "anthropic needs an API key; set `ANTHROPIC_API_KEY`",
        ),
        ("gemini/x", "gemini needs an API key; set `GEMINI_API_KEY`"),
        ("local/x", "local needs a base URL; set `PROWESS_BASE_URL`"),
        ("groq", "groq has no default model; use `groq/MODEL`"),
    ] {
        let settings = settings();
        assert_eq!(
            open(given, &|_| None, &settings).unwrap_err().to_string(),
            message
        );
    }
    let unknown = by(&[], Some("anthropc/x")).unwrap_err().to_string();
    assert!(
        unknown
            .starts_with("unknown provider `anthropc/x`; known providers are `local`, `anthropic`")
    );
    let bad = by(
        &[
            ("ANTHROPIC_BASE_URL", "ftp://x"),
            ("ANTHROPIC_API_KEY", "k"),
        ],
        None,
    );
    let expected =
        "invalid `ANTHROPIC_BASE_URL`: unsupported scheme `ftp:`; use `http:` or `https:`";
    assert_eq!(bad.unwrap_err().to_string(), expected);
    let nothing = ChooseError::Nothing.to_string();
    for word in [
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "PROWESS_BASE_URL",
        "PROWESS_MODEL",
        "Ollama",
        "`scripted:FILE`",
        "`echo`",
    ] {
        assert!(nothing.contains(word), "{nothing}");
    }
}

#[test]
fn script_and_recording_are_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("demo.jsonl");
    std::fs::write(&path, "{\"text\":\"hi\"}\n").unwrap();
    assert_eq!(
        name(&[], Some(&format!("scripted:{}", path.display()))),
        "scripted/demo"
    );
    std::fs::write(&path, "oops\n").unwrap();
    for kind in ["scripted", "replay"] {
        let error = by(&[], Some(&format!("{kind}:{}", path.display()))).unwrap_err();
        assert!(error.to_string().contains("line 1"), "{error}");
        let error = by(&[], Some(&format!("{kind}:/nowhere/x"))).unwrap_err();
        assert!(error.to_string().contains("`/nowhere/x`: "), "{error}");
    }
}

#[test]
fn local_server_lists_its_model() {
    let list = json!({"object": "list", "data": [{"id": "first"}, {"id": "second"}]}).to_string();
    let answer = r#"{"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}"#;
    let list = vec![prowess_test::server::ServerStep::Send(whole(
        "200 OK", "", &list,
    ))];
    let server = TestServer::new([
        list.clone(),
        vec![prowess_test::server::ServerStep::Send(sse(answer))],
        list,
    ]);
    let base = format!("http://127.0.0.1:{}/v1", server.port);
    let chosen = by(
        &[("PROWESS_BASE_URL", &base), ("PROWESS_API_KEY", "kk")],
        None,
    )
    .unwrap();
    assert_eq!(&*chosen.model.about().name, "local/first");
    assert!(ask(&*chosen.model, &hello()).0.is_ok());
    let remote = chosen.remote.unwrap();
    let health = block_on(remote.probe(std::time::Duration::from_secs(20))).unwrap();
    assert_eq!((health.has_model, health.models), (Some(true), 2));
    let asked = server.asked();
    let lines: Vec<&str> = asked
        .iter()
        .filter_map(|one| one.head.lines().next())
        .collect();
    let list = "get /v1/models http/1.1";
    assert_eq!(lines, [list, "post /v1/chat/completions http/1.1", list]);
    assert!(
        asked
            .iter()
            .all(|one| one.head.contains("authorization: bearer kk"))
    );
}

#[test]
fn proxy_is_read_from_variables() {
    let settings = |value: &'static str| {
        let variables = move |name: &str| (name == "https_proxy").then(|| value.to_owned());
        ModelSettings::from_variables("prowess-test", &variables)
    };
    assert!(settings("http://127.0.0.1:3128").is_ok());
    assert!(settings("").is_ok());
    let error = settings("http://me:pw@[").unwrap_err();
    assert_eq!(error.to_string(), "invalid proxy URL");
}

#[test]
fn unreachable_server_is_named() {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let base = format!("http://127.0.0.1:{port}/v1");
    let error = by(&[("PROWESS_BASE_URL", &base)], None).unwrap_err();
    assert!(
        error.to_string().starts_with("local/: cannot connect"),
        "{error}"
    );
}

#[test]
fn openai_base_url_elsewhere_uses_chat() {
    let answer = r#"{"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}"#;
    let server = TestServer::once(sse(answer));
    let base = format!("http://127.0.0.1:{}/v1", server.port);
    let chosen = by(
        &[("OPENAI_BASE_URL", &base), ("OPENAI_API_KEY", "k")],
        Some("openai/m"),
    );
    ask(&*chosen.unwrap().model, &hello()).0.unwrap();
    assert!(
        server.asked()[0]
            .head
            .starts_with("post /v1/chat/completions ")
    );
}

#[test]
fn ollama_host_is_used() {
    for host in [
        "127.0.0.1",
        "0.0.0.0:{}",
        "http://127.0.0.1:{}/",
        "localhost:{}",
    ] {
        let answer = r#"{"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}"#;
        let server = TestServer::once(sse(answer));
        let host = host.replace("{}", &server.port.to_string());
        let chosen = by(&[("OLLAMA_HOST", &host)], Some("ollama/m")).unwrap();
        if host == "127.0.0.1" {
            let shown = format!("{:?}", chosen.remote.unwrap());
            assert!(shown.contains("\"http://127.0.0.1:11434/v1\""), "{shown}");
        } else {
            ask(&*chosen.model, &hello()).0.unwrap();
            assert!(
                server.asked()[0]
                    .head
                    .starts_with("post /v1/chat/completions ")
            );
        }
    }
}

//! `http_post`, `http_put`, `http_patch` and `http_delete`, headers, and secrets in requests.

use std::sync::{Arc, Mutex};

use prowess_policy::{ApprovalAnswer, Effect, PermissionMode};
use prowess_tools::files::{HttpTool, changing_web_tools};
use prowess_tools::{Loaded, SecretValues, Tool, ToolContext, ToolErrorKind};
use prowess_traits::{FetchError, FetchLimits, Fetched, Fetcher, WebMethod, WebRequest};
use serde_json::{Value, json};

use crate::support::{Says, World};

/// A request as it was sent: method, URL, headers and body.
type SentRequest = (&'static str, String, Vec<(String, String)>, String);

/// A server that repeats everything that it receives.
#[derive(Debug, Default)]
struct Mirror {
    sent: Mutex<Vec<SentRequest>>,
    redirect: Option<&'static str>,
    fails: bool,
}

impl Fetcher for Mirror {
    fn send(&self, request: &WebRequest<'_>, _: &FetchLimits) -> Result<Fetched, FetchError> {
        let body = String::from_utf8(request.body.to_vec()).unwrap();
        let method = request.method.as_str();
        let sent = (
            method,
            request.url.to_owned(),
            request.headers.to_vec(),
            body.clone(),
        );
        self.sent.lock().unwrap().push(sent);
        if self.fails {
            let message = format!("{} {:?} {body}", request.url, request.headers);
            return Err(FetchError { message });
        }
        let elsewhere = self.redirect.filter(|to| *to != request.url);
        Ok(Fetched {
            url: request.url.to_owned(),
            status: if elsewhere.is_some() { 307 } else { 201 },
            media_type: Some("text/plain".to_owned()),
            body: format!("{} {:?} {body}", request.url, request.headers).into_bytes(),
            cut: false,
            elsewhere: elsewhere.map(str::to_owned),
        })
    }
}

fn send(
    context: &ToolContext,
    mirror: &Arc<Mirror>,
    method: WebMethod,
    input: &Value,
    secrets: &SecretValues,
) -> Result<String, (Option<ToolErrorKind>, String)> {
    let tool = HttpTool::new(method, Arc::clone(mirror) as _);
    let answered = tool.answer_with(context, &mut Loaded::default(), input, secrets);
    let valid = jsonschema::validator_for(&tool.output_schema()).unwrap();
    answered
        .map(|answer| {
            assert!(valid.is_valid(&answer.value), "{}", answer.value);
            format!("{}\n{}", answer.text, answer.value)
        })
        .map_err(|error| (error.why(), error.to_string()))
}

#[test]
fn each_changing_tool_has_a_spec() {
    let context = World::new().yolo();
    let fetcher: Arc<dyn Fetcher> = Arc::new(Mirror::default());
    let tools = changing_web_tools(&fetcher);
    let names: Vec<&str> = tools.iter().map(|tool| tool.name()).collect();
    assert_eq!(
        names,
        ["http_post", "http_put", "http_patch", "http_delete"]
    );
    for tool in &tools {
        let spec = tool.spec(&context);
        for schema in [&spec.input_schema, &spec.output_schema] {
            jsonschema::draft202012::meta::validate(schema).unwrap();
        }
        assert!(!spec.read_only && spec.destructive && tool.asks_first());
    }
    let spec = tools[0].spec(&context);
    let text = format!(
        "{}\n---\n{}\n---\n{:#}",
        spec.name, spec.description, spec.input_schema
    );
    insta::assert_snapshot!("http_post", text);
}

#[test]
fn requests_are_asked_about_with_all_that_is_sent() {
    let none = SecretValues::new();
    let mirror = Arc::new(Mirror::default());
    let world = World::new();
    let mut context = world.context(PermissionMode::Ask, &[(Effect::Allow, "WebFetch")]);
    let input = json!({
        "url": "https://example.com/items",
        "headers": { "X-Team": "red\u{1b}[2J" },
        "body": { "title": "a\nb" },
    });
    let refused = send(&context, &mirror, WebMethod::Post, &input, &none).unwrap_err();
    assert_eq!(refused.0, Some(ToolErrorKind::Input), "{refused:?}");
    let input = json!({
        "url": "https://example.com/items",
        "headers": { "X-Team": "red\u{202e}" },
        "body": { "title": "a\nb" },
    });
    let refused = send(&context, &mirror, WebMethod::Post, &input, &none).unwrap_err();
    let why =
        "POST `https://example.com/items` was refused: no rule allows http_post to example.com";
    assert!(refused.1.starts_with(why), "{refused:?}");
    assert!(
        refused
            .1
            .contains("allow it with http_post(domain:example.com)"),
        "{refused:?}"
    );
    assert!(mirror.sent.lock().unwrap().is_empty());
    let says = Says::new(ApprovalAnswer::Once);
    context.services.approver = says.clone();
    let told = send(&context, &mirror, WebMethod::Post, &input, &none).unwrap();
    assert!(told.contains("status 201"), "{told}");
    assert_eq!(
        says.questions(),
        ["Send POST https://example.com/items\nwith the header x-team: red\\u{202e}\nwith the body {\"title\":\"a\\\\nb\"}"
            .replace("\\\\n", "\\n")]
    );
    let (method, url, headers, body) = mirror.sent.lock().unwrap().pop().unwrap();
    assert_eq!((method, &*url), ("POST", "https://example.com/items"));
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let expected = [
        header("x-team", "red\u{202e}"),
        header("content-type", "application/json"),
    ];
    assert_eq!(headers, expected);
    assert_eq!(body, r#"{"title":"a\nb"}"#);
}

#[test]
fn body_is_text_or_json() {
    let mirror = Arc::new(Mirror::default());
    let context = World::new().yolo();
    for (body, sent, media) in [
        (json!("plain"), "plain", "text/plain; charset=utf-8"),
        (json!("{\"a\": 1}"), "{\"a\": 1}", "application/json"),
        (json!("12"), "12", "text/plain; charset=utf-8"),
        (json!([1, "x"]), "[1,\"x\"]", "application/json"),
        (json!(7), "7", "application/json"),
    ] {
        let input = json!({ "url": "https://example.com", "body": body });
        send(
            &context,
            &mirror,
            WebMethod::Put,
            &input,
            &SecretValues::new(),
        )
        .unwrap();
        let (method, _, headers, found) = mirror.sent.lock().unwrap().pop().unwrap();
        assert_eq!((method, &*found), ("PUT", sent));
        assert_eq!(headers, [("content-type".to_owned(), media.to_owned())]);
    }
    let input = json!({ "url": "https://example.com", "headers": { "Content-Type": "text/csv" }, "body": "a,b" });
    send(
        &context,
        &mirror,
        WebMethod::Patch,
        &input,
        &SecretValues::new(),
    )
    .unwrap();
    let (_, _, headers, _) = mirror.sent.lock().unwrap().pop().unwrap();
    assert_eq!(
        headers,
        [("content-type".to_owned(), "text/csv".to_owned())]
    );
    let long = json!({ "url": "https://example.com", "body": "x".repeat(1024 * 1024 + 1) });
    let refused = send(
        &context,
        &mirror,
        WebMethod::Post,
        &long,
        &SecretValues::new(),
    );
    assert!(refused.unwrap_err().1.contains("at most 1 MiB"));
}

/// A header could name another host, or end the request early.
#[test]
fn headers_of_the_connection_cannot_be_set() {
    let mirror = Arc::new(Mirror::default());
    let context = World::new().yolo();
    for name in [
        "Host",
        "content-length",
        "Transfer-Encoding",
        "Proxy-Authorization",
        "a b",
        "",
        "x:y",
    ] {
        let input = json!({ "url": "https://example.com", "headers": { name: "evil.org" } });
        for method in [WebMethod::Get, WebMethod::Delete] {
            let refused = send(&context, &mirror, method, &input, &SecretValues::new());
            assert_eq!(refused.unwrap_err().0, Some(ToolErrorKind::Input), "{name}");
        }
    }
    let input = json!({ "url": "https://example.com", "headers": { "X": "a\r\nHost: evil.org" } });
    assert!(
        send(
            &context,
            &mirror,
            WebMethod::Get,
            &input,
            &SecretValues::new()
        )
        .is_err()
    );
    let twice = json!({ "url": "https://example.com", "headers": { "X-A": "1", "x-a": "2" } });
    assert!(
        send(
            &context,
            &mirror,
            WebMethod::Get,
            &twice,
            &SecretValues::new()
        )
        .is_err()
    );
    assert!(mirror.sent.lock().unwrap().is_empty());
}

#[test]
fn redirects_of_changes_are_reported_and_headers_stay_with_their_host() {
    let mirror = Arc::new(Mirror {
        redirect: Some("https://other.org/"),
        ..Mirror::default()
    });
    let context = World::new().yolo();
    let input =
        json!({ "url": "https://example.com/", "headers": { "authorization": "Bearer x" } });
    let told = send(
        &context,
        &mirror,
        WebMethod::Post,
        &input,
        &SecretValues::new(),
    )
    .unwrap();
    assert!(
        told.contains("redirects to https://other.org/, which was not followed"),
        "{told}"
    );
    assert_eq!(mirror.sent.lock().unwrap().len(), 1);
    send(
        &context,
        &mirror,
        WebMethod::Get,
        &input,
        &SecretValues::new(),
    )
    .unwrap();
    let sent = mirror.sent.lock().unwrap();
    assert_eq!(sent[1].2.len(), 1);
    assert_eq!((&*sent[2].1, sent[2].2.len()), ("https://other.org/", 0));
}

#[test]
fn secrets_reach_the_server_and_nothing_else() {
    let mut secrets = SecretValues::new();
    secrets.add("vars.token", "canary-4711");
    secrets.add("vars.host", "evil.org");
    let token = SecretValues::marker("vars.token");
    let world = World::new();
    let mut context = world.context(PermissionMode::Ask, &[]);
    let says = Says::new(ApprovalAnswer::Once);
    context.services.approver = says.clone();
    let input = json!({
        "url": format!("https://example.com/bot{token}/send?k={token}"),
        "headers": { "Authorization": format!("Bearer {token}") },
        "body": { "key": token, "list": [format!("x{token}")] },
    });
    for fails in [false, true] {
        let mirror = Arc::new(Mirror {
            fails,
            ..Mirror::default()
        });
        let told = send(&context, &mirror, WebMethod::Post, &input, &secrets);
        assert_eq!(told.is_err(), fails);
        let told = told.unwrap_or_else(|error| error.1);
        assert!(!told.contains("canary"), "{told}");
        assert!(told.contains("${vars.token}"), "{told}");
        let (_, url, headers, body) = mirror.sent.lock().unwrap().pop().unwrap();
        assert_eq!(url, "https://example.com/botcanary-4711/send?k=canary-4711");
        assert_eq!(headers[0].1, "Bearer canary-4711");
        assert_eq!(body, r#"{"key":"canary-4711","list":["xcanary-4711"]}"#);
    }
    let question = &says.questions()[0];
    let expected = "Send POST https://example.com/bot${vars.token}/send?k=${vars.token}\n\
        with the header authorization: Bearer ${vars.token}\n\
        with the body {\"key\":\"${vars.token}\",\"list\":[\"x${vars.token}\"]}";
    assert_eq!(question, expected);
    // The host must be known before the request.
    let host = SecretValues::marker("vars.host");
    let mirror = Arc::new(Mirror::default());
    for url in [
        format!("https://{host}/"),
        format!("https://{token}.example.com/"),
        format!("https://example.com{host}"),
        format!("https://{host}@example.com/"),
        format!("{host}://example.com/"),
        host.clone(),
        format!("https://example.com:{token}/"),
    ] {
        let refused = send(
            &context,
            &mirror,
            WebMethod::Get,
            &json!({ "url": url }),
            &secrets,
        );
        let (kind, text) = refused.unwrap_err();
        assert_eq!(kind, Some(ToolErrorKind::Input), "{text}");
        assert!(text.contains("has a secret in its host"), "{text}");
        assert!(!text.contains("canary") && !text.contains("evil"), "{text}");
    }
    // A text of a model cannot name a secret.
    let forged = json!({ "url": "https://example.com/\u{10fffe}vars.other\u{10ffff}" });
    assert!(send(&context, &mirror, WebMethod::Get, &forged, &secrets).is_err());
    let written = json!({ "url": "https://example.com/${vars.token}" });
    send(&context, &mirror, WebMethod::Get, &written, &secrets).unwrap();
    let sent = mirror.sent.lock().unwrap();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].1, "https://example.com/$%7Bvars.token%7D");
}

//! The spans of a run: names, kinds, fields and nesting. They contain no message text.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use prowess_agent::{Reply, TokenUsage};
use prowess_runtime::Engine;
use prowess_traits::{ModelErrorKind, telemetry as names};
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

use crate::script::{Act, Script, bash, call, load, says};
use crate::talk;
use crate::world::{World, children};

prowess_test::tests! {
    spans_follow_opentelemetry_conventions
    sub_run_span_is_inside_its_call
    failures_have_an_error_type
    spans_contain_no_message_text
}

/// A closed span.
#[derive(Clone, Debug, Default)]
struct Seen {
    parent: Option<u64>,
    fields: BTreeMap<&'static str, String>,
    closed: bool,
}

impl Seen {
    fn get(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }

    fn name(&self) -> &str {
        self.get(names::SPAN_NAME)
    }
}

impl Visit for Seen {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }
}

/// Collects every span, in the order in which they were opened.
#[derive(Clone, Debug, Default)]
struct Capture(Arc<Mutex<BTreeMap<u64, Seen>>>);

/// The index of a span among all spans. The registry reuses its own ids.
struct Number(u64);

impl Capture {
    fn change<S>(&self, id: &Id, context: &Context<'_, S>, change: impl FnOnce(&mut Seen))
    where
        S: tracing::Subscriber + for<'l> LookupSpan<'l>,
    {
        let span = context.span(id).unwrap();
        let number = span.extensions().get::<Number>().unwrap().0;
        change(self.0.lock().unwrap().get_mut(&number).unwrap());
    }
}

impl<S: tracing::Subscriber + for<'l> LookupSpan<'l>> Layer<S> for Capture {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        let parent = span
            .parent()
            .map(|parent| parent.extensions().get::<Number>().unwrap().0);
        let mut seen = Seen {
            parent,
            ..Seen::default()
        };
        attributes.record(&mut seen);
        let mut all = self.0.lock().unwrap();
        let number = all.len() as u64;
        span.extensions_mut().insert(Number(number));
        all.insert(number, seen);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        self.change(id, &context, |seen| values.record(seen));
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        self.change(&id, &context, |seen| seen.closed = true);
    }
}

/// Sends a message in a new session. Returns its id and the spans.
fn talk(engine: &Engine, message: &str) -> (String, Vec<Seen>) {
    let capture = Capture::default();
    let subscriber = tracing_subscriber::registry().with(capture.clone());
    let id = tracing::subscriber::with_default(subscriber, || talk::talk(engine, message));
    let spans: Vec<Seen> = capture.0.lock().unwrap().values().cloned().collect();
    assert!(spans.iter().all(|span| span.closed), "{spans:#?}");
    (id, spans)
}

/// Returns the name of each span with the index of its parent.
fn tree(spans: &[Seen]) -> Vec<(&str, Option<u64>)> {
    spans
        .iter()
        .map(|span| (span.name(), span.parent))
        .collect()
}

fn spans_follow_opentelemetry_conventions() {
    let world = World::new();
    world.skill("greet", "", "Say good morning.");
    let answer = Reply {
        model: "one-2026".to_owned(),
        usage: TokenUsage {
            input: 7,
            output: 5,
            cache_read: 3,
            cache_write: 1,
            micros: None,
        },
        ..Reply::text("Good morning.")
    };
    let model = Script::of([load("greet"), Act::Reply(answer)]);
    let (id, spans) = talk(&world.engine(model), "Hello.");
    let expected = [
        ("invoke_agent prowess", None),
        ("chat one", Some(0)),
        ("execute_tool load_skill", Some(0)),
        ("chat one", Some(0)),
    ];
    assert_eq!(tree(&spans), expected);
    for span in &spans {
        assert_eq!(span.get(names::CONVERSATION_ID), id);
        assert_eq!(span.get(names::ERROR_TYPE), "");
        assert_eq!(span.get(names::SPAN_STATUS), "");
        assert!(span.name().starts_with(span.get(names::OPERATION)));
    }
    let [agent, first, tool, second] = &spans[..] else {
        unreachable!()
    };
    assert_eq!(
        (agent.get("otel.kind"), tool.get("otel.kind")),
        ("internal", "internal")
    );
    assert_eq!(
        (first.get("otel.kind"), second.get("otel.kind")),
        ("client", "client")
    );
    assert_eq!(agent.get("gen_ai.agent.name"), "prowess");
    for span in [agent, first] {
        assert_eq!(span.get("gen_ai.provider.name"), "script");
        assert_eq!(span.get("gen_ai.request.model"), "one");
    }
    assert_eq!(first.get("gen_ai.response.finish_reasons"), "tool_calls");
    assert_eq!(first.get("gen_ai.response.model"), "");
    assert_eq!(second.get("gen_ai.response.finish_reasons"), "stop");
    assert_eq!(second.get("gen_ai.response.model"), "one-2026");
    assert_eq!(second.get("gen_ai.usage.input_tokens"), "11");
    assert_eq!(second.get("gen_ai.usage.output_tokens"), "5");
    assert_eq!(second.get("gen_ai.usage.cache_read.input_tokens"), "3");
    assert_eq!(second.get("gen_ai.usage.cache_creation.input_tokens"), "1");
    assert_eq!(tool.get("gen_ai.tool.name"), "load_skill");
    assert_eq!(tool.get("gen_ai.tool.type"), "function");
    assert!(!tool.get("gen_ai.tool.call.id").is_empty());
    assert_eq!(tool.get("prowess.skill.name"), "greet");
    assert!(!tool.get("prowess.skill.digest").is_empty());
}

fn sub_run_span_is_inside_its_call() {
    let world = World::new();
    world.skill("look", "context: fork\n", "Look at it.");
    let model = Script::of([load("look"), says("It is red."), says("Red.")]);
    let engine = world.engine(model);
    let (id, spans) = talk(&engine, "Which colour is it?");
    let expected = [
        ("invoke_agent prowess", None),
        ("chat one", Some(0)),
        ("execute_tool load_skill", Some(0)),
        ("invoke_agent look", Some(2)),
        ("chat one", Some(3)),
        ("chat one", Some(0)),
    ];
    assert_eq!(tree(&spans), expected);
    let (tool, agent) = (&spans[2], &spans[3]);
    for span in [tool, agent] {
        assert_eq!(span.get("prowess.skill.name"), "look");
    }
    assert!(!tool.get("prowess.skill.digest").is_empty());
    assert_eq!(
        tool.get("prowess.skill.digest"),
        agent.get("prowess.skill.digest")
    );
    assert_eq!(agent.get("prowess.parent.session"), id);
    assert_eq!(agent.get("gen_ai.agent.name"), "look");
    assert_eq!(
        agent.get("gen_ai.conversation.id"),
        &*children(&engine, &id)[0].id
    );
    assert_eq!(
        spans[4].get("gen_ai.conversation.id"),
        agent.get("gen_ai.conversation.id")
    );
}

fn failures_have_an_error_type() {
    let world = World::new();
    let model = Script::of([
        call("no_such_tool", json!({})),
        call("read", json!({ "path": "not/there" })),
        Act::Fail(ModelErrorKind::Auth),
    ]);
    let (_, spans) = talk(&world.free(model), "Try.");
    let wrong: Vec<(&str, &str)> = spans
        .iter()
        .filter(|span| span.get("otel.status_code") == "ERROR")
        .map(|span| (span.name(), span.get("error.type")))
        .collect();
    // A tool name that the model made up is message text.
    let expected = [
        ("invoke_agent prowess", "auth"),
        ("execute_tool _OTHER", "tool-error"),
        ("execute_tool read", "tool-error"),
        ("chat one", "auth"),
    ];
    assert_eq!(wrong, expected);
}

fn spans_contain_no_message_text() {
    let world = World::new();
    world.skill("greet", "", "INSTRUCTIONS-marker");
    world.file("file.txt", "CONTENT-marker");
    let model = Script::of([
        load("greet"),
        bash("echo COMMAND-marker"),
        call("read", json!({ "path": "file.txt" })),
        call("MADE-UP-marker", json!({ "name": "NAME-marker" })),
        call("load_skill", json!({ "name": "NOT-THERE-marker" })),
        says("ANSWER-marker"),
    ]);
    let (_, spans) = talk(&world.free(model), "PROMPT-marker");
    assert_eq!(spans.len(), 12, "{spans:#?}");
    let all = format!("{spans:?}");
    assert!(
        !all.contains("marker") && !all.contains("file.txt"),
        "{spans:#?}"
    );
}

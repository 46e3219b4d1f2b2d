//! A scripted model that records and checks every request.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use prowess_agent::{
    Message, MessagePart, MessageRole, Reply, Request, StopReason, TokenUsage, ToolCall, estimate,
};
use prowess_traits::{BoxFuture, Model, ModelError, ModelErrorKind, ModelInfo, OnDelta, Price};
use serde_json::{Value, json};

/// The reaction of the model to a request.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Reply(Reply),
    Fail(ModelErrorKind),
    /// Never answers.
    Hang,
}

type Decide = dyn Fn(usize, &Request) -> Act + Send + Sync;

/// A scripted model.
pub(crate) struct Script {
    about: ModelInfo,
    decide: Box<Decide>,
    asked: Mutex<Vec<Request>>,
    /// `true` if it reports the number of input tokens, as providers do.
    counts: bool,
}

impl Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Script")
            .field("about", &self.about)
            .finish_non_exhaustive()
    }
}

impl Script {
    /// Returns these reactions in order.
    pub(crate) fn of(acts: impl IntoIterator<Item = Act>) -> Arc<Self> {
        let acts: Vec<Act> = acts.into_iter().collect();
        Self::by(move |at, request| {
            acts.get(at).cloned().unwrap_or_else(|| {
                panic!(
                    "request {} of {}: {:#?}",
                    at + 1,
                    acts.len(),
                    request.messages.last()
                )
            })
        })
    }

    /// Decides by the index of the request and its content.
    pub(crate) fn by(decide: impl Fn(usize, &Request) -> Act + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self::new("script/one", decide))
    }

    pub(crate) fn new(
        name: &str,
        decide: impl Fn(usize, &Request) -> Act + Send + Sync + 'static,
    ) -> Self {
        let about = ModelInfo {
            name: name.into(),
            window: 128_000,
            price: None,
            note: None,
        };
        Self {
            about,
            decide: Box::new(decide),
            asked: Mutex::default(),
            counts: false,
        }
    }

    pub(crate) fn counting(mut self) -> Self {
        self.counts = true;
        self
    }

    pub(crate) fn window(mut self, window: u64) -> Self {
        self.about.window = window;
        self
    }

    pub(crate) fn price(mut self, price: f64) -> Self {
        self.about.price = Some(Price {
            input: price,
            output: price,
            cache_read: price,
            cache_write: price,
        });
        self
    }

    /// Returns every request so far.
    pub(crate) fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn last(&self) -> Request {
        self.asked().last().cloned().expect("no request was made")
    }
}

impl Model for Script {
    fn about(&self) -> &ModelInfo {
        &self.about
    }

    fn ask<'a>(
        &'a self,
        request: &'a Request,
        _deltas: OnDelta<'a>,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        check(request);
        let at = {
            let mut asked = self.asked.lock().unwrap();
            asked.push(request.clone());
            asked.len() - 1
        };
        let act = (self.decide)(at, request);
        Box::pin(async move {
            match act {
                Act::Reply(mut reply) => {
                    if self.counts {
                        let system: usize = request.system.iter().map(String::len).sum();
                        reply.usage.input = (system / 4) as u64 + estimate(&request.messages);
                    }
                    Ok(reply)
                }
                Act::Fail(kind) => Err(ModelError {
                    kind,
                    model: self.about.name.clone(),
                    message: format!("it failed: {kind}"),
                    attempts: 1,
                }),
                Act::Hang => std::future::pending().await,
            }
        })
    }
}

/// Asserts that a provider would accept a request: roles alternate, each call is followed directly
/// by its result, ids are unique, and no message is empty.
pub(crate) fn check(request: &Request) {
    let messages = &request.messages;
    assert_eq!(messages[0].role, MessageRole::User, "{messages:#?}");
    let mut ids = BTreeSet::new();
    for (at, message) in messages.iter().enumerate() {
        assert!(!message.parts.is_empty(), "message {at} is empty");
        if at > 0 {
            assert_ne!(
                message.role,
                messages[at - 1].role,
                "message {at}: roles must alternate"
            );
        }
        for call in message.calls() {
            assert!(ids.insert(call.id.clone()), "{} twice", call.id);
        }
        let before = at.checked_sub(1).map(|at| &messages[at]);
        let calls: Vec<&str> = before
            .into_iter()
            .flat_map(Message::calls)
            .map(|call| &*call.id)
            .collect();
        let results: Vec<&str> = message.results().map(|result| &*result.call).collect();
        assert_eq!(calls, results, "message {at}: calls and their results");
    }
    assert_eq!(
        messages.last().unwrap().role,
        MessageRole::User,
        "the last message must be the user's"
    );
    let mut names = BTreeSet::new();
    for tool in &request.tools {
        assert!(
            names.insert(tool.name.clone()),
            "{} is declared twice",
            tool.name
        );
    }
}

pub(crate) fn says(text: &str) -> Act {
    Act::Reply(Reply {
        usage: usage(),
        ..Reply::text(text)
    })
}

pub(crate) fn calls(calls: impl IntoIterator<Item = (&'static str, Value)>) -> Act {
    let part = |(at, (name, input)): (usize, (&str, Value))| {
        // The ids repeat in every reply on purpose: providers do not guarantee unique ids.
        MessagePart::Call(ToolCall::new(format!("c{at}"), name, input))
    };
    let parts = calls.into_iter().enumerate().map(part).collect();
    Act::Reply(Reply {
        parts,
        stop: StopReason::ToolUse,
        usage: usage(),
        ..Reply::default()
    })
}

pub(crate) fn call(name: &'static str, input: Value) -> Act {
    calls([(name, input)])
}

pub(crate) fn load(name: &str) -> Act {
    call("load_skill", json!({ "name": name }))
}

pub(crate) fn bash(command: &str) -> Act {
    call("bash", json!({ "command": command }))
}

fn usage() -> TokenUsage {
    TokenUsage {
        input: 100,
        output: 10,
        ..TokenUsage::default()
    }
}

/// Returns all text in the messages of a request.
pub(crate) fn conversation(request: &Request) -> String {
    let mut all = String::new();
    for part in request.messages.iter().flat_map(|message| &message.parts) {
        match part {
            MessagePart::Text { text, .. }
            | MessagePart::Hint { text, .. }
            | MessagePart::Reasoning { text, .. } => {
                all.push_str(text);
            }
            MessagePart::Call(call) => all.push_str(&format!("{} {}", call.name, call.input)),
            MessagePart::Result(result) => all.push_str(&result.text),
            MessagePart::Image(_) => {}
        }
        all.push('\n');
    }
    all
}

/// Returns the names of the declared tools.
pub(crate) fn tools(request: &Request) -> Vec<&str> {
    request.tools.iter().map(|tool| &*tool.name).collect()
}

/// Returns the tool results in the last message.
pub(crate) fn results(request: &Request) -> Vec<String> {
    let last = request.messages.last().unwrap();
    last.results().map(|result| result.text.clone()).collect()
}

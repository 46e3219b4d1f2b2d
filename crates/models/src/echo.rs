//! A model that repeats its input.

use prowess_agent::{Delta, MessagePart, MessageRole, Reply, Request, TokenUsage};
use prowess_traits::{BoxFuture, Model, ModelError, ModelInfo, OnDelta};

use crate::price::DEFAULT_WINDOW;

/// A model that repeats the last text of the user.
#[derive(Debug)]
pub struct EchoModel {
    about: ModelInfo,
}

impl Default for EchoModel {
    fn default() -> Self {
        let about = ModelInfo {
            name: "echo/echo".into(),
            window: DEFAULT_WINDOW,
            price: None,
            note: Some("it repeats its input; no model is used".into()),
        };
        Self { about }
    }
}

impl Model for EchoModel {
    fn about(&self) -> &ModelInfo {
        &self.about
    }

    fn ask<'a>(
        &'a self,
        request: &'a Request,
        deltas: OnDelta<'a>,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let text = last_text(request);
            deltas(Delta::Text(text.clone()));
            let words = |text: &str| text.split_whitespace().count() as u64;
            let read = request
                .messages
                .iter()
                .map(|message| words(&message.text()))
                .sum();
            let usage = TokenUsage {
                input: read,
                output: words(&text),
                ..TokenUsage::default()
            };
            Ok(Reply {
                usage,
                model: "echo".into(),
                ..Reply::text(text)
            })
        })
    }
}

fn last_text(request: &Request) -> String {
    let user = request
        .messages
        .iter()
        .rev()
        .filter(|message| message.role == MessageRole::User);
    let mut texts = user
        .flat_map(|message| message.parts.iter().rev())
        .filter_map(|part| match part {
            MessagePart::Text { text, .. } if !text.trim().is_empty() => Some(text.clone()),
            _ => None,
        });
    texts.next().unwrap_or_default()
}

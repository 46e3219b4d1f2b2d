//! A model that says back what it was told.

use prowess_agent::{Delta, Part, Reply, Request, Role, Usage};
use prowess_traits::{BoxFuture, Model, ModelError, ModelInfo, OnDelta};

use crate::price::DEFAULT_WINDOW;

/// A model that says back the last text from the outside.
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
            note: Some("it says back what it is told; no model is asked".into()),
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
            let usage = Usage {
                input: read,
                output: words(&text),
                ..Usage::default()
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
    let outside = request
        .messages
        .iter()
        .rev()
        .filter(|message| message.role == Role::User);
    let mut texts = outside
        .flat_map(|message| message.parts.iter().rev())
        .filter_map(|part| match part {
            Part::Text { text, .. } if !text.trim().is_empty() => Some(text.clone()),
            _ => None,
        });
    texts.next().unwrap_or_default()
}

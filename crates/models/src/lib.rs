//! Language models.
//!
//! There is one file for each wire format: it writes requests, parses replies and interprets
//! errors. [`RemoteModel`] adds what they have in common: timeouts, retries, prices, and a key that
//! is sent to one origin only. [`ScriptedModel`], [`EchoModel`] and [`ReplayModel`] work offline.
//! This crate reads no environment variables; the caller passes them in.

#![warn(missing_docs)]

mod anthropic;
mod api_key;
mod cassette;
mod choose_model;
mod echo;
mod gemini;
mod openai_chat;
mod openai_responses;
mod price;
mod provider_error;
mod providers;
mod remote;
mod retry;
mod scripted;
mod sse;
mod wire;

pub use anthropic::Anthropic;
pub use api_key::{ApiKey, ApiKeyError};
pub use cassette::{CassetteError, MAX_CASSETTE, RecordingModel, ReplayModel, digest};
pub use choose_model::{
    ChooseError, ChosenModel, DefinedModel, EnvLookup, ModelSettings, SecretText, choose,
    expected_name, open, open_defined, open_provider,
};
pub use echo::EchoModel;
pub use gemini::Gemini;
pub use openai_chat::OpenAiChat;
pub use openai_responses::OpenAiResponses;
pub use price::{DEFAULT_WINDOW, ModelFacts, NoFamily, cost, family_model, known};
pub use provider_error::ProviderError;
pub use providers::{
    ConfiguredProvider, key_variable, names as provider_names, reachable, variable_list,
};
pub use remote::{RemoteModel, ServerHealth};
pub use retry::{MAX_AFTER, RealWaiter, RetryPolicy, Waiter, retry_after};
pub use scripted::{MAX_SCRIPT, ScriptError, ScriptedModel};
pub use sse::{MAX_EVENT, SseDecoder, SseError, SseEvent};
pub use wire::{ReplyReader, WireFormat};

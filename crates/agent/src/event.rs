//! Facts about a session. A session is the fold of its events; each is written before what it
//! announces is done.
//!
//! This is the format of the store, too: fields are only ever added, with a default, and an event of
//! an unknown kind is refused as a whole, never skipped.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{Message, Part, ToolResult};
use crate::request::{Effort, Reply};
use crate::usage::{Budget, Limit, Usage};

/// The version of the format.
pub const VERSION: u32 = 1;

/// An event, and when it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stamped {
    /// Nanoseconds since 1970.
    pub at: i64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// Something that happened in a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// It began.
    Started(Box<Started>),
    /// Somebody said something; skills that they called for are in it.
    Said {
        /// What the model reads.
        parts: Vec<Part>,
        /// What the person typed, where that is something else.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        typed: Option<String>,
        /// Skills that entered with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        loaded: Vec<ActiveSkill>,
        /// What it cost, where skills ran on their own for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// Something that the model is to know came up, such as a skill that changed.
    Noted {
        /// What the model reads.
        text: String,
        /// The skills that it knows of from now on, where they changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        known: Vec<(Box<str>, u64)>,
        /// What it cost, where it comes from a sub-run in the background.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// The model is asked.
    Asked {
        /// Which turn, from one.
        turn: u32,
        /// The model: `provider/name`.
        model: Box<str>,
        /// Names of the tools that it was told of.
        tools: Vec<Box<str>>,
    },
    /// The model answered.
    Replied {
        /// What.
        reply: Reply,
        /// Milliseconds that it took.
        #[serde(default)]
        milliseconds: u64,
    },
    /// A tool is about to run.
    CallStarted {
        /// The call.
        call: Box<str>,
        /// Whether it only reads, so that it may be done again.
        read_only: bool,
        /// The session of its own that it runs in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        child: Option<Box<str>>,
    },
    /// A tool answered.
    CallEnded {
        /// What.
        result: ToolResult,
        /// Skills that are loaded now.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        loaded: Vec<ActiveSkill>,
        /// Skills that are no longer loaded.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unloaded: Vec<Box<str>>,
        /// What was handed in, where it fitted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        submitted: Option<Value>,
        /// What it cost, where it asked a model itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// Milliseconds that it took.
        #[serde(default)]
        milliseconds: u64,
    },
    /// Whether something may happen was decided. For `why`; it changes nothing.
    Decided(Decided),
    /// What became of the skills when the index was written. For `why`; it changes nothing.
    Listed(Listed),
    /// Long answers of tools were left out, up to a message.
    Pruned {
        /// Messages before this one were pruned.
        before: usize,
    },
    /// The beginning of the conversation was replaced.
    Compacted {
        /// Messages before this one are gone.
        before: usize,
        /// What stands in their place.
        summary: Message,
        /// Skills whose text did not fit any more.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unloaded: Vec<Box<str>>,
        /// Skills of whose text only the beginning is left.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cut: Vec<Box<str>>,
        /// What it cost.
        #[serde(default)]
        usage: Usage,
    },
    /// A hook that runs only once in a session ran.
    HookFired {
        /// The skill.
        skill: Box<str>,
        /// The digest over its files.
        digest: Box<str>,
        /// The place among its hooks.
        hook: usize,
    },
    /// It was taken up again.
    Resumed {
        /// What it may use from now on, where that changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<Budget>,
        /// Skills that changed on disk since they were loaded, and are no longer loaded.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unloaded: Vec<Box<str>>,
    },
    /// It ended, or paused.
    Ended {
        /// How.
        ending: Ending,
    },
}

/// How a session began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Started {
    /// The version of the format.
    pub version: u32,
    /// What it is about, for lists: the first words of a task, the name of a skill.
    pub title: String,
    /// The project.
    pub project: Box<str>,
    /// The model: `provider/name`.
    pub model: Box<str>,
    /// The system prompt, in blocks; the last one is the index of skills, where there is one.
    pub system: Vec<String>,
    /// How the run is limited.
    pub limits: Limits,
    /// How hard the model thinks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// The session that this one is a part of, and the call there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// The skill that runs, in a sub-run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<Box<str>>,
    /// The schema of the result, where one is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// The only tools that it was given, where somebody chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Box<str>>>,
    /// The agents that a sub-run runs as: those of the sub-runs above it, and its own last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Box<str>>,
}

/// Where a sub-run belongs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The session.
    pub session: Box<str>,
    /// The call there; nothing where a program started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<str>>,
    /// How deep: one for a sub-run of a session.
    pub depth: u8,
}

/// How a run is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// What it may use.
    #[serde(default)]
    pub budget: Budget,
    /// Tokens that fit the model's window.
    pub window: u64,
    /// How often something may be handed in that does not fit.
    pub submissions: u32,
    /// How often the same call may follow itself with the same answer before the run ends.
    pub repeats: u32,
    /// Most calls in one answer; the rest are refused.
    pub calls: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            budget: Budget::default(),
            window: 128_000,
            submissions: 3,
            repeats: 6,
            calls: 32,
        }
    }
}

/// A skill that is loaded. Its text is in the conversation, marked with its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActiveSkill {
    /// Its name.
    pub name: Box<str>,
    /// The digest over its files when it was loaded.
    pub digest: Box<str>,
    /// A sum over its text, in hexadecimal.
    pub rendering: Box<str>,
}

/// Whether something may happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// The call that it was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<str>>,
    /// What was wanted.
    pub what: String,
    /// The verdict of the gate.
    pub verdict: RecordedVerdict,
    /// Why.
    pub reason: String,
    /// The rule behind it, and where it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What the person answered, where somebody was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<RecordedAnswer>,
}

/// The verdict of the gate, as an event records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedVerdict {
    /// It is allowed.
    Allow,
    /// A person must be asked.
    Ask,
    /// It is denied.
    Deny,
}

/// The answer of a person, as an event records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedAnswer {
    /// Denied.
    No,
    /// Allowed once.
    Once,
    /// Allowed until the session ends.
    Session,
    /// Every use of the tool is allowed until the session ends.
    Tool,
    /// Allowed always.
    Always,
}

/// What became of the skills when the index was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// How many tokens the index has.
    pub tokens: u64,
    /// How many it may have.
    pub budget: u64,
    /// Skills in it, in order.
    pub shown: Vec<Box<str>>,
    /// How many were left out for want of room or use.
    pub omitted: usize,
    /// Skills that the model does not see, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<(Box<str>, Box<str>)>,
    /// The skills that the model knows of, each with a number that changes with its description.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<(Box<str>, u64)>,
}

impl RecordedAnswer {
    /// Returns the word used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Once => "once",
            Self::Session => "session",
            Self::Tool => "tool",
            Self::Always => "always",
        }
    }
}

/// How a session or a run ended. `T` is the type of the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Ending<T = Value> {
    /// The model answered, and nothing more is expected of it.
    Answered,
    /// It submitted a result that fits the schema; without a schema, the last text.
    Submitted {
        /// The result.
        value: T,
    },
    /// It ended without a result.
    Declined {
        /// What the model said instead.
        why: String,
    },
    /// A limit was reached.
    Exhausted {
        /// The limit.
        limit: Limit,
    },
    /// The caller cancelled it.
    Cancelled,
    /// It failed.
    Failed {
        /// The kind of failure.
        kind: FailureKind,
        /// The message for a person.
        message: String,
    },
}

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FailureKind {
    /// The key of the provider is missing or wrong.
    Auth,
    /// The provider limits the rate of requests.
    RateLimit,
    /// The conversation does not fit the window of the model.
    ContextTooLong,
    /// The provider refused the request.
    Refused,
    /// The provider does not support the model or the request.
    BadRequest,
    /// The connection or the provider failed.
    Transport,
    /// A deadline passed.
    Timeout,
    /// The reply did not follow the wire format.
    BadReply,
    /// The skill could not be activated.
    Skill,
    /// A kind that this version does not know.
    #[serde(other)]
    Other,
}

impl FailureKind {
    /// Returns the word used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::RateLimit => "rate-limit",
            Self::ContextTooLong => "context-too-long",
            Self::Refused => "refused",
            Self::BadRequest => "bad-request",
            Self::Transport => "transport",
            Self::Timeout => "timeout",
            Self::BadReply => "bad-reply",
            Self::Skill => "skill",
            Self::Other => "other",
        }
    }
}

/// An ending without its details, for lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndingKind {
    /// [`Ending::Answered`].
    Answered,
    /// [`Ending::Submitted`].
    Submitted,
    /// [`Ending::Declined`].
    Declined,
    /// [`Ending::Exhausted`].
    Exhausted,
    /// [`Ending::Cancelled`].
    Cancelled,
    /// [`Ending::Failed`].
    Failed,
}

impl EndingKind {
    const ALL: [Self; 6] = [
        Self::Answered,
        Self::Submitted,
        Self::Declined,
        Self::Exhausted,
        Self::Cancelled,
        Self::Failed,
    ];

    /// Returns the word used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Submitted => "submitted",
            Self::Declined => "declined",
            Self::Exhausted => "exhausted",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }

    /// Parses the word used in output.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

impl Event {
    /// A note for the model.
    pub fn note(text: impl Into<String>) -> Self {
        Self::Noted {
            text: text.into(),
            known: Vec::new(),
            usage: None,
        }
    }

    /// A tool answered, and nothing else changed.
    pub fn answer(result: ToolResult) -> Self {
        Self::CallEnded {
            result,
            loaded: Vec::new(),
            unloaded: Vec::new(),
            submitted: None,
            usage: None,
            milliseconds: 0,
        }
    }
}

impl<T> Ending<T> {
    /// Returns the ending without its details.
    pub fn kind(&self) -> EndingKind {
        match self {
            Self::Answered => EndingKind::Answered,
            Self::Submitted { .. } => EndingKind::Submitted,
            Self::Declined { .. } => EndingKind::Declined,
            Self::Exhausted { .. } => EndingKind::Exhausted,
            Self::Cancelled => EndingKind::Cancelled,
            Self::Failed { .. } => EndingKind::Failed,
        }
    }

    /// Returns the word used in output.
    pub fn as_str(&self) -> &'static str {
        self.kind().as_str()
    }

    /// Returns the result, if there is one.
    pub fn value(self) -> Option<T> {
        match self {
            Self::Submitted { value } => Some(value),
            _ => None,
        }
    }

    /// Converts the result.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Ending<U> {
        let convert = |value| Ok::<_, std::convert::Infallible>(convert(value));
        match self.try_map(convert) {
            Ok(ending) => ending,
            Err(never) => match never {},
        }
    }

    /// Converts the result, which may fail.
    pub fn try_map<U, E>(self, convert: impl FnOnce(T) -> Result<U, E>) -> Result<Ending<U>, E> {
        Ok(match self {
            Self::Answered => Ending::Answered,
            Self::Submitted { value } => Ending::Submitted {
                value: convert(value)?,
            },
            Self::Declined { why } => Ending::Declined { why },
            Self::Exhausted { limit } => Ending::Exhausted { limit },
            Self::Cancelled => Ending::Cancelled,
            Self::Failed { kind, message } => Ending::Failed { kind, message },
        })
    }
}

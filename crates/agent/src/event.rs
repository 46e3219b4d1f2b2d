//! Events of a session. A session is the fold of its events; each event is stored before the action
//! that it announces.
//!
//! This is also the storage format: fields are only added, each with a default, and an unknown
//! event is an error, never skipped.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent_profile::AgentProfile;
use crate::message::{Message, MessagePart, ToolResult};
use crate::request::{Effort, Reply};
use crate::text_question::TextQuestion;
use crate::usage::{RunBudget, RunLimit, TokenUsage};

/// The version of the storage format.
pub const VERSION: u32 = 2;

/// An event with its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StampedEvent {
    /// Nanoseconds since 1970.
    pub at: i64,
    /// The event.
    #[serde(flatten)]
    pub event: Event,
}

/// An event of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The session started.
    Started(Box<Started>),
    /// A user message, including any skills it invoked.
    Said {
        /// The parts for the model.
        parts: Vec<MessagePart>,
        /// The text as typed, if it differs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        typed: Option<String>,
        /// Skills loaded with the message.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        loaded: Vec<ActiveSkill>,
        /// Usage of the skills that ran for it in a sub-run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<TokenUsage>,
    },
    /// The skills that were considered for a hint about the message before it, and the hint.
    Hinted(SkillHint),
    /// A skill that a user invoked is being activated: its commands run next. A message with its
    /// text follows if they succeed.
    ActivationStarted {
        /// The skill.
        skill: Box<str>,
        /// The digest of its files.
        digest: Box<str>,
        /// Its arguments, in one line; `None` if it has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<String>,
    },
    /// A note for the model, such as a changed skill.
    Noted {
        /// The text for the model.
        text: String,
        /// The skills known to the model from now on, if they changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        known: Vec<(Box<str>, u64)>,
        /// Usage of the background sub-run that the note reports.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<TokenUsage>,
    },
    /// A request to the model starts.
    Asked {
        /// The turn, starting at 1.
        turn: u32,
        /// The model: `provider/name`.
        model: Box<str>,
        /// The names of the declared tools.
        tools: Vec<Box<str>>,
    },
    /// The model replied.
    Replied {
        /// The reply.
        reply: Reply,
        /// Duration in milliseconds.
        #[serde(default)]
        milliseconds: u64,
    },
    /// A tool call starts.
    CallStarted {
        /// The id of the call.
        call: Box<str>,
        /// `true` if the tool only reads, so that the call can be repeated.
        read_only: bool,
        /// The session of the sub-run, if the call starts one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        child: Option<Box<str>>,
    },
    /// A tool call ended.
    CallEnded {
        /// The result.
        result: ToolResult,
        /// Skills loaded by the call.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        loaded: Vec<ActiveSkill>,
        /// Skills unloaded by the call.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unloaded: Vec<Box<str>>,
        /// The submitted result, if it is valid.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        submitted: Option<Value>,
        /// Usage, if the tool asked a model itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<TokenUsage>,
        /// Duration in milliseconds.
        #[serde(default)]
        milliseconds: u64,
    },
    /// A permission decision, stored before the action it allows. Recorded for `why`; has no
    /// effect on the conversation.
    Decided(DecisionRecord),
    /// A question for a person, stored before it is asked. A call that had started before the
    /// question is judged again after the answer.
    Questioned(Box<Question>),
    /// The first answer to a question.
    Answered {
        /// The id of the question.
        question: Box<str>,
        /// The answer.
        answer: RecordedAnswer,
        /// The reason that the person gave, for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        because: Option<String>,
        /// The person, or the place of the answer.
        who: Box<str>,
    },
    /// The state of the skills when the index was written. Recorded for `why`; has no effect.
    Listed(SkillListing),
    /// Long tool results were removed from the older messages.
    Pruned {
        /// Messages before this index were pruned.
        before: usize,
    },
    /// The start of the conversation was replaced with a summary.
    Compacted {
        /// Messages before this index were replaced.
        before: usize,
        /// The summary.
        summary: Message,
        /// Skills whose text no longer fits.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unloaded: Vec<Box<str>>,
        /// Skills whose text was truncated.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cut: Vec<Box<str>>,
        /// Usage of the summary.
        #[serde(default)]
        usage: TokenUsage,
    },
    /// A hook that runs once per session has run.
    HookFired {
        /// The skill.
        skill: Box<str>,
        /// The digest of the skill's files.
        digest: Box<str>,
        /// The index among the skill's hooks.
        hook: usize,
    },
    /// The session was resumed.
    Resumed {
        /// The new budget, if it changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<RunBudget>,
        /// Skills that were unloaded because they changed on disk.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unloaded: Vec<Box<str>>,
    },
    /// An event of the mission run that this session records, in the format of `prowess-flow`. It has
    /// no effect on a conversation.
    Mission {
        /// The event.
        fact: Value,
    },
    /// The session ended or paused.
    Ended {
        /// The reason.
        ending: Ending,
    },
}

/// The start of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Started {
    /// The version of the storage format.
    pub version: u32,
    /// A title for lists: the first words of the task, or the name of a skill.
    pub title: String,
    /// The project directory.
    pub project: Box<str>,
    /// The model: `provider/name`.
    pub model: Box<str>,
    /// The blocks of the system prompt. The last one is the skill index, if there is one.
    pub system: Vec<String>,
    /// The limits of the run.
    pub limits: RunLimits,
    /// The reasoning effort.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// The parent session, in a sub-run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentSession>,
    /// The skill that runs, in a sub-run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<Box<str>>,
    /// The arguments of the skill: text, or JSON. Recorded since version 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// The schema of the result, if one is required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// The only tools available, if they were restricted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Box<str>>>,
    /// The agents that a sub-run runs as, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Box<str>>,
    /// The agent that the session runs as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<AgentProfile>>,
    /// The mission, if the session records a run of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mission: Option<Box<str>>,
}

/// The parent of a sub-run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentSession {
    /// The session.
    pub session: Box<str>,
    /// The call that started it; `None` if the host program did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<str>>,
    /// The depth: 1 for a sub-run of a session.
    pub depth: u8,
}

/// The limits of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLimits {
    /// The budget.
    #[serde(default)]
    pub budget: RunBudget,
    /// The size of the model's context window, in tokens.
    pub window: u64,
    /// The number of invalid results after which the run ends.
    pub submissions: u32,
    /// The number of repetitions of a call with the same result after which the run ends.
    pub repeats: u32,
    /// The maximum number of calls in one reply. Further calls are rejected.
    pub calls: usize,
    /// The limits that the agent of the run sets.
    #[serde(default, skip_serializing_if = "ConversationLimits::is_default")]
    pub conversation: ConversationLimits,
}

/// Limits of a conversation that its agent sets, in addition to the window of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationLimits {
    /// The number of tokens from which the beginning is summarized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compact_at: Option<u64>,
    /// The number of replies that a summary leaves as they are, if half of the window has room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_turns: Option<u32>,
    /// The number of messages from which long tool results are removed, and the number of messages at
    /// the end that keep theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prune: Option<(u32, u32)>,
}

impl ConversationLimits {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            budget: RunBudget::default(),
            window: 128_000,
            submissions: 3,
            repeats: 6,
            calls: 32,
            conversation: ConversationLimits::default(),
        }
    }
}

/// The skills that were considered for a hint about a message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SkillHint {
    /// The text for the model; empty if no skill fits.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The best matches, best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<HintedSkill>,
    /// The least fit of a skill in the hint.
    #[serde(default)]
    pub least_fit: f32,
    /// `true` if only the beginning and the end of the message were searched.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

impl SkillHint {
    /// Returns the part of the message that has the text; `None` if no skill fits.
    pub(crate) fn part(&self) -> Option<MessagePart> {
        let described = |skill: &&HintedSkill| skill.outcome == HintResult::Described;
        let skills = self.skills.iter().filter(described);
        (!self.text.is_empty()).then(|| MessagePart::Hint {
            text: self.text.clone(),
            skills: skills.map(|skill| skill.name.clone()).collect(),
        })
    }
}

/// A skill that was considered for a hint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HintedSkill {
    /// The name.
    pub name: Box<str>,
    /// The fit, 0 to 1. For a skill of which only the name may be shown, 1 if the message contains
    /// all words of the name.
    pub fit: f32,
    /// `true` if its `paths` match a file that the message names.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_path: bool,
    /// The outcome.
    pub outcome: HintResult,
    /// The reason why the model may not see it, if it is hidden.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<Box<str>>,
}

/// The outcome for a skill that was considered for a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HintResult {
    /// The hint has its name and description.
    Described,
    /// The hint has only its name: the index has the description, the budget has no room for it, or
    /// only the name may be shown.
    Named,
    /// It does not fit well enough, or its name is empty or too long.
    Weak,
    /// It was loaded already.
    Loaded,
    /// An earlier hint in the conversation describes it.
    Repeated,
    /// The model may not see it.
    Hidden,
    /// Other skills fit better.
    Surplus,
    /// The budget has no room for it.
    NoRoom,
}

impl HintResult {
    /// Returns `true` if the hint has the name of the skill.
    pub fn is_shown(self) -> bool {
        matches!(self, Self::Described | Self::Named)
    }
}

/// A loaded skill. Its text is in the conversation, marked with its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActiveSkill {
    /// The name.
    pub name: Box<str>,
    /// Its version when it was loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Box<str>>,
    /// The digest of its files when it was loaded.
    pub digest: Box<str>,
    /// A checksum of its text, in hexadecimal.
    pub rendering: Box<str>,
    /// `true` if a person invoked it, or the file of an agent loads it at the start.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_user: bool,
}

/// A permission decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionRecord {
    /// The id of the call it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<str>>,
    /// The requested action.
    pub what: String,
    /// The verdict of the gate.
    pub verdict: RecordedVerdict,
    /// The reason.
    pub reason: String,
    /// The rule that decided, with its location.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The answer to the prompt, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<RecordedAnswer>,
    /// Who or what decided. `None` in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<DecidedBy>,
    /// The person who answered, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<Box<str>>,
}

/// A question for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The id: the session, and the number of the question in it.
    pub id: Box<str>,
    /// The call that it is about; `None` if a skill is being activated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<str>>,
    /// A digest of the call and of everything that the person is shown. An answer counts only for a
    /// question with the same digest.
    pub digest: Box<str>,
    /// The requested action.
    pub what: String,
    /// The reason why a person must be asked.
    pub reason: String,
    /// The skill that requests it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<Box<str>>,
    /// The agent that requests it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<str>>,
    /// The kind of answer.
    #[serde(default)]
    pub kind: QuestionKind,
}

/// The kind of answer that a question needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum QuestionKind {
    /// Yes or no.
    #[default]
    Approval,
    /// A text or a choice.
    Text(Box<TextQuestion>),
}

/// The origin of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// The user answered a prompt.
    Person,
    /// A rule of the configuration or of a skill.
    Rule,
    /// A rule given with `--approve`.
    Flag,
    /// The permission mode: no rule matched.
    Mode,
    /// The prompt was denied because no user was available.
    Unattended,
}

/// The verdict of the gate, as an event records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedVerdict {
    /// It is allowed.
    Allow,
    /// The user must be asked.
    Ask,
    /// It is denied.
    Deny,
}

/// The answer of the user, as an event records it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedAnswer {
    /// Denied.
    No,
    /// Denied because no user was available, or not answered in time.
    Unavailable,
    /// Allowed once.
    Once,
    /// Allowed until the session ends.
    Session,
    /// Every use of the tool is allowed until the session ends.
    Tool,
    /// Allowed always.
    Always,
    /// The text, or the texts of the choices.
    Text(Vec<String>),
}

/// The state of the skills when the index was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillListing {
    /// The size of the index in tokens.
    pub tokens: u64,
    /// The maximum size in tokens.
    pub budget: u64,
    /// The listed skills, in order.
    pub shown: Vec<Box<str>>,
    /// The number of skills that were omitted for lack of space.
    pub omitted: usize,
    /// Skills hidden from the model, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<(Box<str>, Box<str>)>,
    /// The skills known to the model, each with a hash of its description.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<(Box<str>, u64)>,
}

impl RecordedAnswer {
    const WORDS: [Self; 6] = [
        Self::No,
        Self::Unavailable,
        Self::Once,
        Self::Session,
        Self::Tool,
        Self::Always,
    ];

    /// Returns `true` if the answer allows the request. A text allows nothing.
    pub fn allows(&self) -> bool {
        match self {
            Self::No | Self::Unavailable | Self::Text(_) => false,
            Self::Once | Self::Session | Self::Tool | Self::Always => true,
        }
    }

    /// Parses the word used in output. A text has no word of its own.
    pub fn parse(word: &str) -> Option<Self> {
        Self::WORDS
            .into_iter()
            .find(|answer| answer.as_str() == word)
    }

    /// Returns the word used in output.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Unavailable => "unavailable",
            Self::Once => "once",
            Self::Session => "session",
            Self::Tool => "tool",
            Self::Always => "always",
            Self::Text(_) => "text",
        }
    }
}

/// The end of a session or a run. `T` is the type of the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Ending<T = Value> {
    /// The model answered and has no more work to do.
    Answered,
    /// It submitted a result that fits the schema; without a schema, the last text.
    Submitted {
        /// The result.
        value: T,
    },
    /// It ended without a result.
    Declined {
        /// The reply of the model.
        why: String,
    },
    /// A limit was reached.
    Exhausted {
        /// The limit.
        limit: RunLimit,
    },
    /// The caller cancelled it.
    Cancelled,
    /// It waits for a person. It continues when the questions are answered.
    Waiting {
        /// The ids of the questions.
        questions: Vec<Box<str>>,
    },
    /// It failed.
    Failed {
        /// The kind of failure.
        kind: FailureKind,
        /// The message for the user.
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
    /// [`Ending::Waiting`].
    Waiting,
    /// [`Ending::Failed`].
    Failed,
}

impl EndingKind {
    const ALL: [Self; 7] = [
        Self::Answered,
        Self::Submitted,
        Self::Declined,
        Self::Exhausted,
        Self::Cancelled,
        Self::Waiting,
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
            Self::Waiting => "waiting",
            Self::Failed => "failed",
        }
    }

    /// Parses the word used in output.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

impl Event {
    /// Creates a note for the model.
    pub fn note(text: impl Into<String>) -> Self {
        Self::Noted {
            text: text.into(),
            known: Vec::new(),
            usage: None,
        }
    }

    /// Creates the end of a call that changed nothing else.
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
            Self::Waiting { .. } => EndingKind::Waiting,
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
            Self::Waiting { questions } => Ending::Waiting { questions },
            Self::Failed { kind, message } => Ending::Failed { kind, message },
        })
    }
}

//! The state of a run, and its next step.

use std::collections::BTreeSet;

use prowess_spec::tokens;
use serde_json::Value;

use crate::compact::{self, CompactPlan};
use crate::event::{
    ActiveSkill, Ending, Event, FailureKind, Question, RecordedAnswer, StampedEvent, Started,
    VERSION,
};
use crate::message::{Message, MessagePart, MessageRole, Messages, ToolCall, ToolResult, text_of};
use crate::request::{Reply, Request, RequestOptions, StopReason, ToolDeclaration};
use crate::usage::{RunLimit, Spent};

/// The tool that submits a result.
const SUBMIT: &str = "submit";
/// The tools of a commander that submit an output and end its task.
const COMMANDER_SUBMITS: [&str; 2] = ["submit_output", "task_complete"];
/// The number of identical calls with identical results after which the model is warned.
const PATIENCE: u32 = 3;
/// The note for a model that stops without submitting a result.
const REMINDER: &str = "You have not submitted a result. Call `submit` now, or explain in one \
     sentence why you cannot.";
/// The note for a commander that stops without ending its task.
const COMMANDER_REMINDER: &str = "The task is not complete. Continue, or call `task_complete` now; if \
     the objective cannot be met, call it with `succeed` set to false and the reason.";
/// The maximum number of calls kept from one reply, executed or not.
pub(crate) const MAX_CALLS: usize = 256;
/// The number of times a truncated reply is continued.
const MAX_CUT: u32 = 2;

/// A conversation, folded from its events.
#[derive(Clone, Debug, Default)]
pub struct Run {
    started: Option<Box<Started>>,
    messages: Messages,
    /// The estimated tokens of each message.
    sizes: Vec<u64>,
    /// The calls of the last reply, until all of them have results.
    open: Vec<OpenCall>,
    answered: Vec<ToolResult>,
    active: Vec<ActiveSkill>,
    seen: BTreeSet<Box<str>>,
    spent: Spent,
    /// The tokens of the last request as reported by the provider, and as estimated.
    measured: Option<(u64, u64)>,
    pruned: usize,
    /// `true` if the conversation was compacted since the last reply. It is not compacted again
    /// before the next one, even if it is still too long.
    compacted: bool,
    submitted: Option<Value>,
    misfits: u32,
    reminded: bool,
    cut: u32,
    last_stop: StopReason,
    /// `true` if the activation of a skill was started.
    activated: bool,
    repeated: Option<(Signature, u32)>,
    /// The questions about open calls, oldest first.
    questions: Vec<AskedQuestion>,
    /// The number of questions so far.
    asked: u32,
    ending: Option<Ending>,
}

type Signature = (Box<str>, String, String);

/// A call without a result.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenCall {
    /// The call.
    pub call: ToolCall,
    /// The progress of the call.
    pub state: CallState,
}

/// A question about an open call, with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedQuestion {
    /// The question.
    pub question: Question,
    /// The answer; `None` if it is open.
    pub answer: Option<QuestionAnswer>,
}

/// An answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionAnswer {
    /// The answer.
    pub answer: RecordedAnswer,
    /// The reason that the person gave.
    pub because: Option<String>,
    /// The person, or the place of the answer.
    pub who: Box<str>,
}

/// The progress of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallState {
    /// Not started.
    New,
    /// Started, but the process stopped before the result was stored.
    Interrupted {
        /// `true` if the tool only reads, so that the call can be repeated.
        read_only: bool,
    },
    /// The reply has too many calls; this one is rejected.
    TooMany,
}

/// The next step of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunStep {
    /// Send [`Run::request`] to the model.
    AskModel,
    /// Run these tool calls and store their results.
    CallTools(Vec<OpenCall>),
    /// Activate the skill of the run. A person was asked about one of its commands before any of
    /// them ran.
    Activate,
    /// Store this note for the model, then continue.
    Remind(String),
    /// Store that long tool results before this message are removed.
    Prune {
        /// The first message that is kept unchanged.
        before: usize,
    },
    /// Replace the start of the conversation with a summary.
    Compact(Box<CompactPlan>),
    /// Wait for the user: the model has answered.
    Wait,
    /// Store this ending.
    End(Ending),
    /// The run has ended, and the ending is stored.
    Done(Ending),
}

/// Events that do not form a session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FoldError {
    /// `Started` is missing or repeated.
    #[error("a session must begin with exactly one `started` event")]
    Beginning,
    /// The session was written by a newer version.
    #[error("the session uses format version {found}, but this version supports at most {VERSION}")]
    Newer {
        /// The version of the session's format.
        found: u32,
    },
    /// An event refers to a call that does not exist or already has a result.
    #[error("unknown tool call `{call}`")]
    NoSuchCall {
        /// The call.
        call: Box<str>,
    },
    /// Calls of the last reply have no result yet.
    #[error("tool call `{call}` has no result yet")]
    OpenCall {
        /// The first such call.
        call: Box<str>,
    },
    /// An index is past the end of the conversation.
    #[error("message {at} does not exist")]
    NoSuchMessage {
        /// The index.
        at: usize,
    },
}

impl Run {
    /// Folds the events of a session.
    pub fn replay<'e>(
        events: impl IntoIterator<Item = &'e StampedEvent>,
    ) -> Result<Self, FoldError> {
        let mut run = Self::default();
        for stamped in events {
            run.apply(&stamped.event)?;
        }
        if run.started.is_none() {
            return Err(FoldError::Beginning);
        }
        Ok(run)
    }

    /// Checks that an event can follow. An event that cannot must not be stored: the session would
    /// become unreadable.
    pub fn check(&self, event: &Event) -> Result<(), FoldError> {
        if self.started.is_none() != matches!(event, Event::Started(_)) {
            return Err(FoldError::Beginning);
        }
        match event {
            Event::Started(started) if started.version > VERSION => Err(FoldError::Newer {
                found: started.version,
            }),
            Event::Said { .. } | Event::Hinted(_) | Event::Noted { .. } | Event::Replied { .. } => {
                self.check_closed()
            }
            Event::CallStarted { call, .. } => self.check_open(call),
            Event::CallEnded { result, .. } => self.check_open(&result.call),
            Event::Questioned(question) => match &question.call {
                Some(call) => self.check_open(call),
                None => Ok(()),
            },
            Event::Pruned { before } => self.check_there(*before),
            Event::Compacted { before, .. } => {
                self.check_there(*before)?;
                self.check_closed()
            }
            Event::Started(_)
            | Event::ActivationStarted { .. }
            | Event::Asked { .. }
            | Event::Answered { .. }
            | Event::Decided(_)
            | Event::HookFired { .. }
            | Event::Listed(_)
            | Event::Resumed { .. }
            | Event::Mission { .. }
            | Event::Ended { .. } => Ok(()),
        }
    }

    /// Applies an event.
    pub fn apply(&mut self, event: &Event) -> Result<(), FoldError> {
        self.check(event)?;
        match event {
            Event::Started(started) => self.started = Some(started.clone()),
            Event::Said {
                parts,
                loaded,
                usage,
                ..
            } => {
                self.spent.usage += usage.unwrap_or_default();
                self.questions.clear();
                self.push_user(parts.iter().cloned());
                self.load(loaded);
                self.reset_limits();
                // A submitted result answered the previous message.
                self.submitted = None;
                self.reminded = false;
            }
            Event::Hinted(hint) => self.push_user(hint.part()),
            Event::ActivationStarted { .. } => self.activated = true,
            Event::Noted { text, usage, .. } => {
                self.spent.usage += usage.unwrap_or_default();
                self.reminded |= matches!(&**text, REMINDER | COMMANDER_REMINDER);
                self.push_user([MessagePart::text(text)]);
            }
            Event::Asked { .. }
            | Event::Decided(_)
            | Event::HookFired { .. }
            | Event::Listed(_)
            | Event::Mission { .. } => {}
            Event::Replied {
                reply,
                milliseconds,
            } => self.replied(reply, *milliseconds),
            Event::CallStarted {
                call, read_only, ..
            } => {
                if let Some(open) = self.open.iter_mut().find(|open| open.call.id == *call) {
                    open.state = CallState::Interrupted {
                        read_only: *read_only,
                    };
                }
            }
            Event::CallEnded {
                result,
                loaded,
                unloaded,
                submitted,
                usage,
                milliseconds,
            } => {
                self.spent.usage += usage.unwrap_or_default();
                self.spent.milliseconds = self.spent.milliseconds.saturating_add(*milliseconds);
                self.unload(unloaded);
                self.load(loaded);
                self.submitted = submitted.clone().or(self.submitted.take());
                let submits = &*result.name == SUBMIT
                    || self.is_commander() && COMMANDER_SUBMITS.contains(&&*result.name);
                self.misfits += u32::from(submits && result.is_error);
                let is_other =
                    |asked: &AskedQuestion| asked.question.call != Some(result.call.clone());
                self.questions.retain(is_other);
                self.ended(result.clone());
            }
            Event::Questioned(question) => self.questioned(question),
            Event::Answered {
                question,
                answer,
                because,
                who,
            } => {
                let mut asked = self.questions.iter_mut();
                if let Some(asked) = asked.find(|asked| asked.question.id == *question) {
                    asked.answer.get_or_insert_with(|| QuestionAnswer {
                        answer: answer.clone(),
                        because: because.clone(),
                        who: who.clone(),
                    });
                }
            }
            Event::Pruned { before } => self.prune(*before),
            Event::Compacted {
                before,
                summary,
                unloaded,
                cut,
                usage,
            } => {
                self.spent.usage += *usage;
                self.unload(unloaded);
                for skill in self
                    .active
                    .iter_mut()
                    .filter(|skill| cut.contains(&skill.name))
                {
                    // The remaining text differs from the loaded one, so the skill can be loaded
                    // again.
                    skill.rendering = Box::default();
                }
                self.compact(*before, summary);
            }
            Event::Resumed { budget, unloaded } => {
                self.reset_limits();
                self.unload(unloaded);
                if let (Some(budget), Some(started)) = (budget, &mut self.started) {
                    started.limits.budget = *budget;
                }
            }
            Event::Ended { ending } => {
                if let Ending::Waiting { questions } = ending {
                    let asked = self.questions.iter();
                    let own = asked.filter(|asked| questions.contains(&asked.question.id));
                    let calls: Vec<_> = own.map(|asked| asked.question.call.clone()).collect();
                    for call in calls {
                        self.start_again(call.as_deref());
                    }
                } else {
                    // The inbox drops open questions of a session that ends.
                    self.questions.retain(|asked| asked.answer.is_some());
                }
                self.ending = Some(ending.clone());
            }
        }
        Ok(())
    }

    /// Returns the next step.
    pub fn next(&self) -> RunStep {
        if let Some(ending) = &self.ending {
            return RunStep::Done(ending.clone());
        }
        if let Some(value) = &self.submitted {
            return RunStep::End(Ending::Submitted {
                value: value.clone(),
            });
        }
        if !self.open.is_empty() {
            return RunStep::CallTools(self.unanswered());
        }
        let limits = self
            .started
            .as_ref()
            .map(|started| started.limits)
            .unwrap_or_default();
        if self
            .repeated
            .as_ref()
            .is_some_and(|(_, times)| *times >= limits.repeats)
        {
            return RunStep::End(Ending::Exhausted {
                limit: RunLimit::Loop,
            });
        }
        if self.misfits > 0 && self.misfits >= limits.submissions {
            return RunStep::End(Ending::Exhausted {
                limit: RunLimit::Submissions,
            });
        }
        let Some(last) = self.messages.last() else {
            return self.without_messages();
        };
        let limit = limits.budget.reached(&self.spent);
        if last.role == MessageRole::Assistant {
            return self.after_answer(limit);
        }
        if let Some(limit) = limit {
            return RunStep::End(Ending::Exhausted { limit });
        }
        let own = limits.conversation;
        if let Some(before) = self.prunable(limits.window, own.prune) {
            return RunStep::Prune { before };
        }
        let usual = limits.window.saturating_mul(4) / 5;
        let compact_at = own.compact_at.map_or(usual, |own| own.min(usual));
        if !self.compacted
            && self.tokens() > compact_at
            && let Some(plan) = self.compaction()
        {
            return RunStep::Compact(Box::new(plan));
        }
        RunStep::AskModel
    }

    /// Returns the calls without a result, even after the run has ended.
    pub fn open_calls(&self) -> Vec<OpenCall> {
        self.unanswered()
    }

    /// Returns the questions about open calls, oldest first.
    pub fn questions(&self) -> &[AskedQuestion] {
        &self.questions
    }

    /// Returns the number of questions so far.
    pub fn asked(&self) -> u32 {
        self.asked
    }

    /// Adds a question. It replaces open questions about the same call: the call has changed.
    fn questioned(&mut self, question: &Question) {
        self.asked = self.asked.saturating_add(1);
        self.questions
            .retain(|asked| asked.answer.is_some() || asked.question.call != question.call);
        self.questions.push(AskedQuestion {
            question: question.clone(),
            answer: None,
        });
        self.start_again(question.call.as_deref());
    }

    /// Makes a call that waits for an answer new again, or an activation if `call` is `None`. What
    /// ran before the question has ended, and the action itself has not begun.
    fn start_again(&mut self, call: Option<&str>) {
        let Some(call) = call else {
            // All commands are judged before the first one runs.
            self.activated = false;
            return;
        };
        let mut open = self.open.iter_mut();
        if let Some(open) = open.find(|open| *open.call.id == *call)
            && let CallState::Interrupted { .. } = open.state
        {
            open.state = CallState::New;
        }
    }

    /// Returns the next step of a conversation without messages. A conversation waits for its first
    /// one; a run that stopped before that cannot continue, because its task was not stored.
    fn without_messages(&self) -> RunStep {
        let started = self.started.as_deref();
        let skill = started.and_then(|started| started.skill.as_deref());
        let (kind, message) = match skill {
            Some(_) if !self.activated && !self.questions.is_empty() => return RunStep::Activate,
            Some(skill) if self.activated => (
                FailureKind::Skill,
                format!(
                    "the run stopped while skill `{skill}` was being loaded; its commands may have run"
                ),
            ),
            Some(skill) => (
                FailureKind::Skill,
                format!("the run stopped before skill `{skill}` was loaded"),
            ),
            None if started.is_some_and(|started| started.result.is_some()) => (
                FailureKind::Other,
                "the run stopped before its task was stored".to_owned(),
            ),
            None => return RunStep::Wait,
        };
        RunStep::End(Ending::Failed { kind, message })
    }

    /// Returns `true` if the run is that of a mission's commander.
    fn is_commander(&self) -> bool {
        let agent = self
            .started
            .as_ref()
            .and_then(|started| started.agent.as_ref());
        agent.is_some_and(|agent| agent.is_commander)
    }

    /// Returns the next step after a reply without tool calls.
    fn after_answer(&self, limit: Option<RunLimit>) -> RunStep {
        let wants_result = self
            .started
            .as_ref()
            .is_some_and(|started| started.result.is_some());
        let said = || self.messages.last().map(Message::text).unwrap_or_default();
        if self.last_stop == StopReason::Refused {
            let why = said();
            let why = if why.is_empty() {
                "the model refused to answer".to_owned()
            } else {
                why
            };
            return if wants_result {
                RunStep::End(Ending::Declined { why })
            } else {
                RunStep::Wait
            };
        }
        let reminder = if self.last_stop == StopReason::MaxTokens && self.cut < MAX_CUT {
            Some(
                "Your reply was truncated because it reached the output token limit. Continue where it stopped.",
            )
        } else if wants_result && !self.reminded && self.is_commander() {
            Some(COMMANDER_REMINDER)
        } else if wants_result && !self.reminded {
            Some(REMINDER)
        } else {
            None
        };
        match (reminder, limit) {
            (Some(_), Some(limit)) => RunStep::End(Ending::Exhausted { limit }),
            (Some(text), None) => RunStep::Remind(text.to_owned()),
            (None, _) if wants_result => RunStep::End(Ending::Declined { why: said() }),
            (None, _) => RunStep::Wait,
        }
    }

    /// Returns the next request to the model. Every call in it has a result.
    pub fn request(&self, tools: Vec<ToolDeclaration>, options: RequestOptions) -> Request {
        Request {
            system: self
                .started
                .as_ref()
                .map(|started| started.system.clone())
                .unwrap_or_default(),
            tools,
            messages: self.messages.clone(),
            options,
        }
    }

    /// Makes the id of each call unique, whatever the provider sent, and drops calls beyond 256,
    /// since each kept call needs a stored result.
    pub fn admit(&self, mut reply: Reply) -> Reply {
        let mut calls = 0;
        reply.parts.retain(|part| {
            calls += usize::from(matches!(part, MessagePart::Call(_)));
            calls <= MAX_CALLS || !matches!(part, MessagePart::Call(_))
        });
        let mut seen = BTreeSet::new();
        let turn = self.spent.turns + 1;
        let mut number = 0;
        for part in &mut reply.parts {
            let MessagePart::Call(call) = part else {
                continue;
            };
            number += 1;
            while call.id.is_empty() || self.seen.contains(&call.id) || seen.contains(&call.id) {
                call.id = format!("call_{turn}_{number}").into();
                number += 1;
            }
            seen.insert(call.id.clone());
        }
        reply
    }

    /// Returns a plan to compact the conversation now; `None` if it cannot become shorter.
    pub fn compaction(&self) -> Option<CompactPlan> {
        let started = self.started.as_ref()?;
        let (window, runs) = (started.limits.window, started.skill.as_deref());
        let keep = started.limits.conversation.keep_turns;
        compact::plan(&self.messages, &self.sizes, window, keep, runs)
    }

    /// Returns the start of the session.
    pub fn started(&self) -> Option<&Started> {
        self.started.as_deref()
    }

    /// Returns the conversation.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Returns the loaded skills, in load order.
    pub fn active(&self) -> &[ActiveSkill] {
        &self.active
    }

    /// Returns the usage so far.
    pub fn spent(&self) -> &Spent {
        &self.spent
    }

    /// Returns the ending, if the run has ended.
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    /// Returns the text of the model's last message.
    pub fn answer(&self) -> String {
        let mut said = self
            .messages
            .iter()
            .rev()
            .filter(|message| message.role == MessageRole::Assistant);
        said.next().map(Message::text).unwrap_or_default()
    }

    /// Estimates the tokens of the next request.
    pub fn tokens(&self) -> u64 {
        let now = self.estimated();
        match self.measured {
            Some((tokens, estimated)) if tokens > 0 => {
                tokens.saturating_add(now.saturating_sub(estimated))
            }
            _ => now,
        }
    }

    fn estimated(&self) -> u64 {
        let system = self.started.as_ref().map_or(0, |started| {
            started
                .system
                .iter()
                .map(|block| tokens::estimate(block) as u64)
                .sum()
        });
        system + self.sizes.iter().sum::<u64>()
    }

    fn check_closed(&self) -> Result<(), FoldError> {
        match self.unanswered().first() {
            Some(open) => Err(FoldError::OpenCall {
                call: open.call.id.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Checks that a call exists and has no result.
    fn check_open(&self, call: &str) -> Result<(), FoldError> {
        let is_open = self.open.iter().any(|open| *open.call.id == *call);
        if is_open && self.answered.iter().all(|known| *known.call != *call) {
            return Ok(());
        }
        Err(FoldError::NoSuchCall { call: call.into() })
    }

    fn check_there(&self, at: usize) -> Result<(), FoldError> {
        if at <= self.messages.len() {
            Ok(())
        } else {
            Err(FoldError::NoSuchMessage { at })
        }
    }

    /// Resets the counters of the limits that end a run.
    fn reset_limits(&mut self) {
        self.ending = None;
        self.cut = 0;
        self.misfits = 0;
        self.repeated = None;
    }

    fn unanswered(&self) -> Vec<OpenCall> {
        let is_open = |open: &&OpenCall| {
            self.answered
                .iter()
                .all(|result| result.call != open.call.id)
        };
        self.open.iter().filter(is_open).cloned().collect()
    }

    /// Adds parts to the last user message, or starts one.
    fn push_user(&mut self, parts: impl IntoIterator<Item = MessagePart>) {
        if self
            .messages
            .last()
            .is_none_or(|last| last.role == MessageRole::Assistant)
        {
            self.push(Message {
                role: MessageRole::User,
                parts: Vec::new(),
            });
        }
        if let (Some(last), Some(size)) = (self.messages.last_mut(), self.sizes.last_mut()) {
            for part in parts {
                *size += part.tokens();
                last.parts.push(part);
            }
        }
    }

    fn push(&mut self, message: Message) {
        self.sizes
            .push(message.parts.iter().map(MessagePart::tokens).sum());
        self.messages.push(message);
    }

    fn replied(&mut self, reply: &Reply, milliseconds: u64) {
        self.spent.turns += 1;
        self.compacted = false;
        self.spent.usage += reply.usage;
        self.spent.milliseconds = self.spent.milliseconds.saturating_add(milliseconds);
        self.measured = Some((reply.usage.prompt(), self.estimated()));
        if self.last_stop == StopReason::MaxTokens {
            self.cut += 1;
        }
        self.last_stop = reply.stop.clone();
        let most = self
            .started
            .as_ref()
            .map_or(usize::MAX, |started| started.limits.calls);
        let open = |(at, call): (usize, &ToolCall)| OpenCall {
            call: call.clone(),
            state: if at < most {
                CallState::New
            } else {
                CallState::TooMany
            },
        };
        self.open = reply.calls().enumerate().map(open).collect();
        self.seen
            .extend(self.open.iter().map(|open| open.call.id.clone()));
        self.answered.clear();
        if self
            .messages
            .last()
            .is_some_and(|last| last.role == MessageRole::Assistant)
        {
            // Two replies in a row become one message: providers require alternating roles.
            let parts = reply.parts.iter();
            if let (Some(last), Some(size)) = (self.messages.last_mut(), self.sizes.last_mut()) {
                for part in parts {
                    *size += part.tokens();
                    last.parts.push(part.clone());
                }
            }
        } else {
            self.push(Message {
                role: MessageRole::Assistant,
                parts: reply.parts.clone(),
            });
        }
        // Providers reject empty messages.
        if let Some(last) = self
            .messages
            .last_mut()
            .filter(|last| last.parts.is_empty())
        {
            last.parts.push(MessagePart::text("(empty reply)"));
        }
        if self.open.is_empty() && !text_of(&reply.parts).trim().is_empty() {
            self.repeated = None;
        }
    }

    fn ended(&mut self, mut result: ToolResult) {
        let Some(open) = self.open.iter().find(|open| open.call.id == result.call) else {
            return;
        };
        let signature = (
            open.call.name.clone(),
            open.call.input.to_string(),
            result.text.clone(),
        );
        let times = match self.repeated.take() {
            Some((known, times)) if known == signature => times + 1,
            _ => 1,
        };
        self.repeated = Some((signature, times));
        if times >= PATIENCE {
            result.text.push_str(&format!(
                "\n\n(This call has returned the same result {times} times in a row. Try something else, \
                 or finish.)"
            ));
        }
        self.answered.push(result);
        if self.answered.len() == self.open.len() {
            // Results are in the order of the calls, whichever ended first.
            let mut answered = std::mem::take(&mut self.answered);
            let at = |result: &ToolResult| {
                self.open
                    .iter()
                    .position(|open| open.call.id == result.call)
            };
            answered.sort_by_key(at);
            self.open.clear();
            self.push_user(answered.into_iter().map(MessagePart::Result));
        }
    }

    fn load(&mut self, loaded: &[ActiveSkill]) {
        for skill in loaded {
            self.active.retain(|known| known.name != skill.name);
            self.active.push(skill.clone());
        }
    }

    fn unload(&mut self, names: &[Box<str>]) {
        if names.is_empty() {
            return;
        }
        self.active.retain(|skill| !names.contains(&skill.name));
        // The text stays, but compaction need not keep it.
        for part in self
            .messages
            .iter_mut()
            .flat_map(|message| &mut message.parts)
        {
            match part {
                MessagePart::Text { keep, .. } => forget(keep, names),
                MessagePart::Result(result) => forget(&mut result.keep, names),
                MessagePart::Hint { .. }
                | MessagePart::Image(_)
                | MessagePart::Reasoning { .. }
                | MessagePart::Call(_) => {}
            }
        }
    }

    /// Returns the index up to which tool results can be pruned, if that saves enough.
    fn prunable(&self, window: u64, own: Option<(u32, u32)>) -> Option<usize> {
        let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        if let Some((_, to)) = own.filter(|(on, _)| self.messages.len() > count(*on)) {
            let before = self.messages.len().saturating_sub(count(to));
            let candidates = self.messages.get(self.pruned..before).unwrap_or_default();
            let mut parts = candidates.iter().flat_map(|message| &message.parts);
            if parts.any(|part| compact::gain(part) > 0) {
                return Some(before);
            }
        }
        if self.tokens().saturating_mul(5) <= window.saturating_mul(3) {
            return None;
        }
        let before = self.messages.len().saturating_sub(compact::RECENT);
        let candidates = self.messages.get(self.pruned..before)?;
        let gain: u64 = candidates
            .iter()
            .flat_map(|message| &message.parts)
            .map(compact::gain)
            .sum();
        (gain.saturating_mul(10) > window).then_some(before)
    }

    fn prune(&mut self, before: usize) {
        for at in self.pruned.min(before)..before {
            for part in &mut self.messages[at].parts {
                compact::prune(part);
            }
            self.sizes[at] = self.messages[at]
                .parts
                .iter()
                .map(MessagePart::tokens)
                .sum();
        }
        self.pruned = self.pruned.max(before);
        self.measured = None;
    }

    fn compact(&mut self, before: usize, summary: &Message) {
        let tail = self.messages.split_off(before);
        self.messages.clear();
        self.sizes.clear();
        self.push(summary.clone());
        for message in tail {
            match message.role {
                MessageRole::User => self.push_user(message.parts),
                MessageRole::Assistant => self.push(message),
            }
        }
        self.pruned = 0;
        self.measured = None;
        self.compacted = true;
    }
}

fn forget(keep: &mut Option<Box<str>>, names: &[Box<str>]) {
    if keep.as_ref().is_some_and(|name| names.contains(name)) {
        *keep = None;
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;

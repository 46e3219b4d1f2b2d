//! A run: what was said so far, and what is to be done next.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::compact::{self, CompactPlan};
use crate::event::{ActiveSkill, Ending, Event, Stamped, Started, VERSION};
use crate::message::{Message, Messages, Part, Role, ToolCall, ToolResult, text_of};
use crate::request::{Options, Reply, Request, Stop, ToolDeclaration};
use crate::usage::{Limit, Spent};

/// The tool that hands in a result.
const SUBMIT: &str = "submit";
/// How often the same call with the same answer is let through without a word.
const PATIENCE: u32 = 3;
/// What a model is told that stops without handing in a result.
const REMINDER: &str = "You have not handed in a result. Call `submit` with it now, or say in one \
     sentence why you cannot.";
/// Most calls of one answer that are kept, done or not.
pub(crate) const MAX_CALLS: usize = 256;
/// How often an answer that was cut off is asked to go on.
const MAX_CUT: u32 = 2;

/// A conversation, folded from its events.
#[derive(Clone, Debug, Default)]
pub struct Run {
    started: Option<Box<Started>>,
    messages: Messages,
    /// Bytes of each message, roughly as a provider counts them.
    sizes: Vec<usize>,
    /// Calls of the last answer, until all of them are answered.
    open: Vec<Open>,
    answered: Vec<ToolResult>,
    active: Vec<ActiveSkill>,
    seen: BTreeSet<Box<str>>,
    spent: Spent,
    /// Tokens of the last question, and the bytes that it had.
    measured: Option<(u64, usize)>,
    pruned: usize,
    /// Whether it was shortened since the model answered last. What is still too long then stays so.
    compacted: bool,
    submitted: Option<Value>,
    misfits: u32,
    reminded: bool,
    cut: u32,
    last_stop: Stop,
    repeated: Option<(Signature, u32)>,
    ending: Option<Ending>,
}

type Signature = (Box<str>, String, String);

/// A call that is not answered yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Open {
    /// The call.
    pub call: ToolCall,
    /// How far it got.
    pub state: CallState,
}

/// How far a call got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallState {
    /// Nothing was done yet.
    New,
    /// It was begun, and nobody knows how it ended: the program was stopped in between.
    Interrupted {
        /// Whether it only reads, so that it may be done again.
        read_only: bool,
    },
    /// The answer has more calls than are done at once; this one is refused.
    TooMany,
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Ask the model: [`Run::request`].
    AskModel,
    /// Call these tools, and write down what each answered.
    CallTools(Vec<Open>),
    /// Write down that the model is told this, and go on.
    Remind(String),
    /// Write down that long answers before this message are left out.
    Prune {
        /// The first message that stays as it is.
        before: usize,
    },
    /// Replace the beginning of the conversation by a summary.
    Compact(Box<CompactPlan>),
    /// The model answered; it is somebody else's turn.
    Wait,
    /// Write down that it ended so.
    End(Ending),
    /// It ended, and that is written down.
    Done(Ending),
}

/// Why events do not make a session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FoldError {
    /// It has no beginning, or two.
    #[error("a session begins once, with `started`")]
    Beginning,
    /// A newer version of this program wrote it.
    #[error("the session has the format {found}; this version knows up to {VERSION}")]
    Newer {
        /// The version of its format.
        found: u32,
    },
    /// Something answers a call that nobody made.
    #[error("nobody made the call `{call}`")]
    NoSuchCall {
        /// The call.
        call: Box<str>,
    },
    /// Calls of the last answer are open.
    #[error("the call `{call}` is not answered yet")]
    OpenCall {
        /// The first of them.
        call: Box<str>,
    },
    /// An index leads behind the conversation.
    #[error("message {at} is not there")]
    NoSuchMessage {
        /// The index.
        at: usize,
    },
}

impl Run {
    /// Folds the events of a session.
    pub fn replay<'e>(events: impl IntoIterator<Item = &'e Stamped>) -> Result<Self, FoldError> {
        let mut run = Self::default();
        for stamped in events {
            run.apply(&stamped.event)?;
        }
        if run.started.is_none() {
            return Err(FoldError::Beginning);
        }
        Ok(run)
    }

    /// Tells whether an event can follow. What cannot must not be written down: no session would
    /// come of it any more.
    pub fn check(&self, event: &Event) -> Result<(), FoldError> {
        if self.started.is_none() != matches!(event, Event::Started(_)) {
            return Err(FoldError::Beginning);
        }
        match event {
            Event::Started(started) if started.version > VERSION => Err(FoldError::Newer {
                found: started.version,
            }),
            Event::Said { .. } | Event::Noted { .. } | Event::Replied { .. } => self.check_closed(),
            Event::CallStarted { call, .. } => self.check_open(call),
            Event::CallEnded { result, .. } => self.check_open(&result.call),
            Event::Pruned { before } => self.check_there(*before),
            Event::Compacted { before, .. } => {
                self.check_there(*before)?;
                self.check_closed()
            }
            Event::Started(_)
            | Event::Asked { .. }
            | Event::Decided(_)
            | Event::HookFired { .. }
            | Event::Listed(_)
            | Event::Resumed { .. }
            | Event::Ended { .. } => Ok(()),
        }
    }

    /// Takes an event.
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
                self.outside(parts.iter().cloned());
                self.load(loaded);
                self.begin_anew();
                // What was handed in answered what was said before.
                self.submitted = None;
                self.reminded = false;
            }
            Event::Noted { text, usage, .. } => {
                self.spent.usage += usage.unwrap_or_default();
                self.reminded |= text == REMINDER;
                self.outside([Part::text(text)]);
            }
            Event::Asked { .. }
            | Event::Decided(_)
            | Event::HookFired { .. }
            | Event::Listed(_) => {}
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
                self.misfits += u32::from(&*result.name == SUBMIT && result.is_error);
                self.ended(result.clone());
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
                    // What is there is no longer what was loaded, so that can be loaded again.
                    skill.rendering = Box::default();
                }
                self.compact(*before, summary);
            }
            Event::Resumed { budget, unloaded } => {
                self.begin_anew();
                self.unload(unloaded);
                if let (Some(budget), Some(started)) = (budget, &mut self.started) {
                    started.limits.budget = *budget;
                }
            }
            Event::Ended { ending } => self.ending = Some(ending.clone()),
        }
        Ok(())
    }

    /// Says what is to be done next.
    pub fn next(&self) -> Step {
        if let Some(ending) = &self.ending {
            return Step::Done(ending.clone());
        }
        if let Some(value) = &self.submitted {
            return Step::End(Ending::Submitted {
                value: value.clone(),
            });
        }
        if !self.open.is_empty() {
            return Step::CallTools(self.unanswered());
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
            return Step::End(Ending::Exhausted { limit: Limit::Loop });
        }
        if self.misfits > 0 && self.misfits >= limits.submissions {
            return Step::End(Ending::Exhausted {
                limit: Limit::Submissions,
            });
        }
        let Some(last) = self.messages.last() else {
            return Step::Wait;
        };
        let limit = limits.budget.reached(&self.spent);
        if last.role == Role::Assistant {
            return self.after_answer(limit);
        }
        if let Some(limit) = limit {
            return Step::End(Ending::Exhausted { limit });
        }
        if let Some(before) = self.prunable(limits.window) {
            return Step::Prune { before };
        }
        if !self.compacted
            && self.tokens().saturating_mul(5) > limits.window.saturating_mul(4)
            && let Some(plan) = self.compaction()
        {
            return Step::Compact(Box::new(plan));
        }
        Step::AskModel
    }

    /// The calls that are still open, whether it ended or not.
    pub fn open_calls(&self) -> Vec<Open> {
        self.unanswered()
    }

    /// The model said something and called nothing.
    fn after_answer(&self, limit: Option<Limit>) -> Step {
        let wants_result = self
            .started
            .as_ref()
            .is_some_and(|started| started.result.is_some());
        let said = || self.messages.last().map(Message::text).unwrap_or_default();
        if self.last_stop == Stop::Refused {
            let why = said();
            let why = if why.is_empty() {
                "the model refused".to_owned()
            } else {
                why
            };
            return if wants_result {
                Step::End(Ending::Declined { why })
            } else {
                Step::Wait
            };
        }
        let reminder = if self.last_stop == Stop::MaxTokens && self.cut < MAX_CUT {
            Some(
                "Your answer was cut off: it reached the most tokens of one answer. Go on where it ended.",
            )
        } else if wants_result && !self.reminded {
            Some(REMINDER)
        } else {
            None
        };
        match (reminder, limit) {
            (Some(_), Some(limit)) => Step::End(Ending::Exhausted { limit }),
            (Some(text), None) => Step::Remind(text.to_owned()),
            (None, _) if wants_result => Step::End(Ending::Declined { why: said() }),
            (None, _) => Step::Wait,
        }
    }

    /// What the model is asked now. Every call in it has its answer.
    pub fn request(&self, tools: Vec<ToolDeclaration>, options: Options) -> Request {
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

    /// Gives every call of an answer an id of its own, whatever the provider sent. Calls beyond
    /// 256 are left out: each that is kept has an answer, and is written down with it.
    pub fn admit(&self, mut reply: Reply) -> Reply {
        let mut calls = 0;
        reply.parts.retain(|part| {
            calls += usize::from(matches!(part, Part::Call(_)));
            calls <= MAX_CALLS || !matches!(part, Part::Call(_))
        });
        let mut seen = BTreeSet::new();
        let turn = self.spent.turns + 1;
        let mut number = 0;
        for part in &mut reply.parts {
            let Part::Call(call) = part else { continue };
            number += 1;
            while call.id.is_empty() || self.seen.contains(&call.id) || seen.contains(&call.id) {
                call.id = format!("call_{turn}_{number}").into();
                number += 1;
            }
            seen.insert(call.id.clone());
        }
        reply
    }

    /// A plan for shortening the conversation now, where that is possible.
    pub fn compaction(&self) -> Option<CompactPlan> {
        let started = self.started.as_ref()?;
        let (window, runs) = (started.limits.window, started.skill.as_deref());
        compact::plan(&self.messages, &self.sizes, window, runs)
    }

    /// How it began.
    pub fn started(&self) -> Option<&Started> {
        self.started.as_deref()
    }

    /// The conversation.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The skills that are loaded, in the order in which they came.
    pub fn active(&self) -> &[ActiveSkill] {
        &self.active
    }

    /// What it used so far.
    pub fn spent(&self) -> &Spent {
        &self.spent
    }

    /// How it ended, if it did.
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    /// What the model said last.
    pub fn answer(&self) -> String {
        let mut said = self
            .messages
            .iter()
            .rev()
            .filter(|message| message.role == Role::Assistant);
        said.next().map(Message::text).unwrap_or_default()
    }

    /// How many tokens the next question has, roughly.
    pub fn tokens(&self) -> u64 {
        let now = self.bytes();
        match self.measured {
            Some((tokens, bytes)) if tokens > 0 => {
                let more = now.saturating_sub(bytes) / 4;
                tokens.saturating_add(more as u64)
            }
            _ => compact::tokens(now),
        }
    }

    fn bytes(&self) -> usize {
        let system = self.started.as_ref().map_or(0, |started| {
            started.system.iter().map(String::len).sum::<usize>()
        });
        system + self.sizes.iter().sum::<usize>()
    }

    fn check_closed(&self) -> Result<(), FoldError> {
        match self.unanswered().first() {
            Some(open) => Err(FoldError::OpenCall {
                call: open.call.id.clone(),
            }),
            None => Ok(()),
        }
    }

    /// A call must be there, and not be answered.
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

    /// Somebody wants it to go on: what ended it counts from the beginning.
    fn begin_anew(&mut self) {
        self.ending = None;
        self.cut = 0;
        self.misfits = 0;
        self.repeated = None;
    }

    fn unanswered(&self) -> Vec<Open> {
        let is_open = |open: &&Open| {
            self.answered
                .iter()
                .all(|result| result.call != open.call.id)
        };
        self.open.iter().filter(is_open).cloned().collect()
    }

    /// Adds to the message from the outside that is last, or begins one.
    fn outside(&mut self, parts: impl IntoIterator<Item = Part>) {
        if self
            .messages
            .last()
            .is_none_or(|last| last.role == Role::Assistant)
        {
            self.push(Message {
                role: Role::User,
                parts: Vec::new(),
            });
        }
        if let (Some(last), Some(size)) = (self.messages.last_mut(), self.sizes.last_mut()) {
            for part in parts {
                *size += part.bytes();
                last.parts.push(part);
            }
        }
    }

    fn push(&mut self, message: Message) {
        self.sizes.push(message.parts.iter().map(Part::bytes).sum());
        self.messages.push(message);
    }

    fn replied(&mut self, reply: &Reply, milliseconds: u64) {
        self.spent.turns += 1;
        self.compacted = false;
        self.spent.usage += reply.usage;
        self.spent.milliseconds = self.spent.milliseconds.saturating_add(milliseconds);
        self.measured = Some((reply.usage.prompt(), self.bytes()));
        if self.last_stop == Stop::MaxTokens {
            self.cut += 1;
        }
        self.last_stop = reply.stop.clone();
        let most = self
            .started
            .as_ref()
            .map_or(usize::MAX, |started| started.limits.calls);
        let open = |(at, call): (usize, &ToolCall)| Open {
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
            .is_some_and(|last| last.role == Role::Assistant)
        {
            // Whoever asked twice in a row gets one message; providers want them by turns.
            let parts = reply.parts.iter();
            if let (Some(last), Some(size)) = (self.messages.last_mut(), self.sizes.last_mut()) {
                for part in parts {
                    *size += part.bytes();
                    last.parts.push(part.clone());
                }
            }
        } else {
            self.push(Message {
                role: Role::Assistant,
                parts: reply.parts.clone(),
            });
        }
        // A model that says nothing at all has had its turn, too, and no provider takes an empty one.
        if let Some(last) = self
            .messages
            .last_mut()
            .filter(|last| last.parts.is_empty())
        {
            last.parts.push(Part::text("(no answer)"));
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
                "\n\n(This is the same call with the same answer for the {times}th time in a row. \
                 Do something else, or finish.)"
            ).replace("3th", "3rd"));
        }
        self.answered.push(result);
        if self.answered.len() == self.open.len() {
            // In the order of the calls, whichever ended first.
            let mut answered = std::mem::take(&mut self.answered);
            let at = |result: &ToolResult| {
                self.open
                    .iter()
                    .position(|open| open.call.id == result.call)
            };
            answered.sort_by_key(at);
            self.open.clear();
            self.outside(answered.into_iter().map(Part::Result));
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
        // Its text stays where it is, and need not survive any longer.
        for part in self
            .messages
            .iter_mut()
            .flat_map(|message| &mut message.parts)
        {
            match part {
                Part::Text { keep, .. } => forget(keep, names),
                Part::Result(result) => forget(&mut result.keep, names),
                Part::Image(_) | Part::Reasoning { .. } | Part::Call(_) => {}
            }
        }
    }

    /// Up to which message long answers can be left out, where that is worth it.
    fn prunable(&self, window: u64) -> Option<usize> {
        if self.tokens().saturating_mul(5) <= window.saturating_mul(3) {
            return None;
        }
        let before = self.messages.len().saturating_sub(compact::RECENT);
        let candidates = self.messages.get(self.pruned..before)?;
        let gain: usize = candidates
            .iter()
            .flat_map(|message| &message.parts)
            .map(compact::gain)
            .sum();
        (compact::tokens(gain).saturating_mul(10) > window).then_some(before)
    }

    fn prune(&mut self, before: usize) {
        for at in self.pruned.min(before)..before {
            for part in &mut self.messages[at].parts {
                compact::prune(part);
            }
            self.sizes[at] = self.messages[at].parts.iter().map(Part::bytes).sum();
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
                Role::User => self.outside(message.parts),
                Role::Assistant => self.push(message),
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

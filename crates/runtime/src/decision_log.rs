//! Stores permission decisions before they take effect, and the start of a call with the first one
//! that allows something.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use prowess_agent::{
    AskedQuestion, DecidedBy, DecisionRecord, Event, Question, QuestionAnswer, QuestionKind,
    RecordedAnswer, RecordedVerdict, Run, StampedEvent,
};
use prowess_policy::{ApprovalAnswer, CitedRule, RuleSource, Verdict};
use prowess_traits::{
    Answer, AnswerOutcome, ApprovalRequest, DecisionRecorder, QuestionState, RecordError,
    RecordedDecision, SessionError, TextRequest,
};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::journal::JournalHandle;

/// The reason of a question that needs a text.
const ASKS: &str = "the agent needs an answer";

/// Stores the decisions and questions of a session. Tools decide on blocking threads while the
/// session waits for them, so a decision is written on the thread that made it.
#[derive(Debug, Default)]
pub(crate) struct DecisionLog {
    journal: OnceLock<JournalHandle>,
    /// The call or activation that the session is working on.
    work: Mutex<Work>,
    /// Events that the state of the session does not have yet.
    recorded: Mutex<Vec<StampedEvent>>,
    /// The error of a decision that could not be stored.
    failure: Mutex<Option<SessionError>>,
}

/// The call or activation that a session is working on.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// The id of the call; `None` for an activation.
    call: Option<Box<str>>,
    /// The name of the tool.
    tool: Box<str>,
    /// The input of the tool.
    input: Value,
    /// The digest of the skill or agent that it starts to use.
    subject: Option<Box<str>>,
    /// The questions about it so far.
    questions: Vec<AskedQuestion>,
    /// The digests of the questions that this attempt came to, to count equal ones, with `true` if
    /// the question was about an action of the gate.
    reached: Vec<(Box<str>, bool)>,
    /// The number of questions that the session has asked.
    asked: u32,
    /// `true` if questions are recorded: the work can be done again after the answer.
    is_repeatable: bool,
    /// The event that announces the first effect.
    start: Option<Event>,
    is_started: bool,
    /// The questions that it waits for. Nothing is decided or done any more.
    waiting: Vec<Box<str>>,
    /// The person who gave the last answer.
    who: Option<Box<str>>,
}

impl Work {
    /// Returns a call of a run, or an activation if `call` is `None`.
    pub(crate) fn new(run: &Run, call: Option<&str>, tool: &str, input: Value) -> Self {
        let asked = run.questions().iter();
        let about = asked.filter(|asked| asked.question.call.as_deref() == call);
        Self {
            call: call.map(Into::into),
            tool: tool.into(),
            input,
            questions: about.cloned().collect(),
            asked: run.asked(),
            is_repeatable: true,
            ..Self::default()
        }
    }
}

/// The result of recording a question.
#[derive(Debug)]
pub(crate) enum Asking {
    /// Questions are not recorded now.
    Unrecorded,
    /// It has an answer.
    Answered(QuestionAnswer),
    /// It is recorded under this id, and open.
    Open {
        id: Box<str>,
        /// The time at which its deadline passes, in nanoseconds since 1970.
        expires_at: Option<i64>,
    },
    /// It is recorded under this id, and its deadline passed at this time without an answer.
    Expired { id: Box<str>, at: i64 },
    /// It cannot be asked: the work waits for another answer, or the store failed.
    Refused,
}

impl DecisionLog {
    /// Connects the log to the record of its session. Until then, decisions are refused.
    pub(crate) fn open(&self, journal: JournalHandle) {
        // Each log belongs to one journal, so it is never connected twice.
        let _ = self.journal.set(journal);
    }

    /// Begins a call or an activation.
    pub(crate) fn begin(&self, work: Work) {
        *lock(&self.work) = work;
    }

    /// Sets the event that announces the first effect. It is written with the first decision that
    /// allows something, or by [`DecisionRecorder::starting`].
    pub(crate) fn announce(&self, start: Event) {
        let mut work = lock(&self.work);
        (work.start, work.is_started) = (Some(start), false);
    }

    /// Returns the event that announces the first effect, unless it was written.
    pub(crate) fn unwritten_start(&self) -> Option<Event> {
        let work = lock(&self.work);
        work.start.clone().filter(|_| !work.is_started)
    }

    /// Returns `true` if the first effect has an event that announces it.
    pub(crate) fn is_announced(&self) -> bool {
        lock(&self.work).start.is_some()
    }

    /// Notes that the session has written the start itself.
    pub(crate) fn set_started(&self) {
        lock(&self.work).is_started = true;
    }

    /// Sets the input that hooks have left for the tool.
    pub(crate) fn set_input(&self, input: &Value) {
        lock(&self.work).input.clone_from(input);
    }

    /// Sets the digest of the skill or agent that the work starts to use. An answer is for these files.
    pub(crate) fn set_subject(&self, digest: Option<&str>) {
        lock(&self.work).subject = digest.map(Into::into);
    }

    /// Notes that the work had an effect, so that it cannot be done again after a question.
    pub(crate) fn commit(&self) {
        lock(&self.work).is_repeatable = false;
    }

    /// Returns the questions that the work waits for.
    pub(crate) fn waiting(&self) -> Vec<Box<str>> {
        lock(&self.work).waiting.clone()
    }

    /// Ends the work. Returns the questions that it waits for.
    pub(crate) fn end(&self) -> Vec<Box<str>> {
        std::mem::take(&mut *lock(&self.work)).waiting
    }

    /// Makes the work wait for an answer.
    pub(crate) fn wait_for(&self, questions: impl IntoIterator<Item = Box<str>>) {
        lock(&self.work).waiting.extend(questions);
    }

    /// Returns the events that were recorded since the last call and change the state of the session.
    pub(crate) fn take_recorded(&self) -> Vec<StampedEvent> {
        std::mem::take(&mut *lock(&self.recorded))
    }

    /// Returns the error of a decision that could not be stored since the last check. The action was
    /// refused, and the session must not continue.
    pub(crate) fn check(&self) -> Result<(), SessionError> {
        lock(&self.failure).take().map_or(Ok(()), Err)
    }

    /// Records a question about an action before it is asked, unless it was asked already. `acting` is
    /// the digest of the skill that the session runs as. An answer is for one project.
    pub(crate) fn ask(
        &self,
        request: &ApprovalRequest<'_>,
        agent: Option<&str>,
        acting: Option<&str>,
        project: &str,
    ) -> Asking {
        let decision = request.decision;
        let rule = decision.rule.as_ref().map(rule_text);
        let parts = [
            Some(request.what),
            Some(&*decision.reason),
            rule.as_deref(),
            request.skill,
            acting,
            Some(project),
        ];
        // Approvals have no deadline.
        self.put(&parts, i64::MIN, request.action.is_some(), |asked| {
            Question {
                what: request.what.to_owned(),
                reason: request.explain(),
                skill: request.skill.map(Into::into),
                agent: agent.map(Into::into),
                kind: QuestionKind::Approval,
                ..asked
            }
        })
    }

    /// Records a question that needs a text before it is asked, unless it was asked already. `now` is
    /// the time, in nanoseconds since 1970.
    pub(crate) fn ask_text(&self, request: &TextRequest<'_>, now: i64, project: &str) -> Asking {
        // The input of the tool is a part of the digest, so the details are in it.
        let parts = [Some(request.what), request.skill, Some(project)];
        self.put(&parts, now, true, |asked| Question {
            what: request.what.to_owned(),
            reason: ASKS.to_owned(),
            skill: request.skill.map(Into::into),
            agent: request.agent.map(Into::into),
            kind: QuestionKind::Text(Box::new(request.details.clone())),
            ..asked
        })
    }

    /// Records a question, unless it was asked already. `shown` is what a person is shown. `is_action`
    /// is `false` for the rules about a tool, which ask about the same action as the tool.
    fn put(
        &self,
        shown: &[Option<&str>],
        now: i64,
        is_action: bool,
        complete: impl FnOnce(Question) -> Question,
    ) -> Asking {
        let mut work = lock(&self.work);
        if !work.waiting.is_empty() {
            return Asking::Refused;
        }
        let Some(journal) = self.journal.get().filter(|_| work.is_repeatable) else {
            return Asking::Unrecorded;
        };
        let digest = digest(&work, shown);
        // An answer is for one action: the second command with the same text is another question.
        // The rules about a tool and the tool itself ask about the same action.
        let reached = (digest.clone(), is_action);
        let earlier = work.reached.iter().filter(|one| **one == reached).count();
        work.reached.push(reached);
        let digest = match earlier {
            0 => digest,
            earlier => format!("{digest} {}", earlier + 1).into(),
        };
        let known = work
            .questions
            .iter()
            .position(|asked| asked.question.digest == digest);
        if let Some(known) = known {
            let asked = &work.questions[known];
            if let Some(answer) = asked.answer.clone() {
                work.who = Some(answer.who.clone());
                return Asking::Answered(answer);
            }
            let id = asked.question.id.clone();
            return match journal.sessions().question(&id) {
                Ok(found) => match found.state {
                    QuestionState::Answered(answer) => self.settle(&mut work, &id, answer),
                    QuestionState::Open | QuestionState::Gone { .. } => {
                        match found.asked.expires_at() {
                            Some(at) if now > at => Asking::Expired { id, at },
                            expires_at => Asking::Open { id, expires_at },
                        }
                    }
                },
                Err(error) => self.fail(error),
            };
        }
        work.asked = work.asked.saturating_add(1);
        let question = complete(Question {
            id: format!("{}-{}", journal.id(), work.asked).into(),
            call: work.call.clone(),
            digest,
            what: String::new(),
            reason: String::new(),
            skill: None,
            agent: None,
            kind: QuestionKind::default(),
        });
        let id = question.id.clone();
        let event = Event::Questioned(Box::new(question.clone()));
        let expires_at = match (&question.kind, self.write(vec![event])) {
            (_, Err(error)) => return error.map_or(Asking::Refused, |error| self.fail(error)),
            (QuestionKind::Text(details), Ok(at)) => details.expires_at(at),
            (_, Ok(_)) => None,
        };
        // What ran before the question has ended, so the call starts again after the answer.
        work.is_started = false;
        work.questions.push(AskedQuestion {
            question,
            answer: None,
        });
        Asking::Open { id, expires_at }
    }

    /// Returns `true` if a question is answered in the store, by any process. Blocks.
    pub(crate) fn is_answered(&self, id: &str) -> bool {
        let found = self.journal.get().map(|it| it.sessions().question(id));
        found.is_some_and(|found| {
            found.is_ok_and(|found| matches!(found.state, QuestionState::Answered(_)))
        })
    }

    /// Records the answer that the approver of the program gave, unless another one was first.
    /// Returns the answer that counts; `None` if it could not be stored.
    pub(crate) fn answered(&self, id: &str, answer: Answer) -> Option<QuestionAnswer> {
        let mut work = lock(&self.work);
        let journal = self.journal.get()?;
        let counts = match journal.sessions().answer(id, &answer) {
            Ok(AnswerOutcome::Stored | AnswerOutcome::Gone { .. }) => answer,
            Ok(AnswerOutcome::AlreadyAnswered(first)) => first,
            Err(error) => {
                self.fail(error);
                return None;
            }
        };
        match self.settle(&mut work, id, counts) {
            Asking::Answered(answer) => Some(answer),
            Asking::Unrecorded | Asking::Open { .. } | Asking::Expired { .. } | Asking::Refused => {
                None
            }
        }
    }

    /// Records the answer to a question.
    fn settle(&self, work: &mut Work, id: &str, answer: Answer) -> Asking {
        let answer = QuestionAnswer {
            answer: answer.answer,
            because: answer.because,
            who: answer.who,
        };
        let event = Event::Answered {
            question: id.into(),
            answer: answer.answer.clone(),
            because: answer.because.clone(),
            who: answer.who.clone(),
        };
        if let Err(error) = self.write(vec![event]) {
            return error.map_or(Asking::Refused, |error| self.fail(error));
        }
        for asked in &mut work.questions {
            if *asked.question.id == *id {
                asked.answer = Some(answer.clone());
            }
        }
        work.who = Some(answer.who.clone());
        Asking::Answered(answer)
    }

    /// Keeps an error for the session, which must not continue.
    fn fail(&self, error: SessionError) -> Asking {
        *lock(&self.failure) = Some(error);
        Asking::Refused
    }

    /// Writes events. Returns their time. The error is `None` if the session is closed.
    fn write(&self, events: Vec<Event>) -> Result<i64, Option<SessionError>> {
        let journal = self.journal.get().ok_or(None)?;
        let stamped = journal.record(events).ok_or(None)?.map_err(Some)?;
        let at = stamped.first().map_or(0, |stamped| stamped.at);
        let changing = |stamped: &StampedEvent| !matches!(stamped.event, Event::Decided(_));
        lock(&self.recorded).extend(stamped.into_iter().filter(changing));
        Ok(at)
    }

    /// Like [`Self::write`], with the error for a tool.
    fn record(&self, events: Vec<Event>) -> Result<(), RecordError> {
        self.write(events).map(|_| ()).map_err(|error| match error {
            None => RecordError {
                reason: "the session is closed".to_owned(),
            },
            Some(error) => {
                let reason = error.to_string();
                self.fail(error);
                RecordError { reason }
            }
        })
    }
}

impl DecisionRecorder for DecisionLog {
    fn decided(&self, noted: &RecordedDecision<'_>) -> Result<(), RecordError> {
        let mut work = lock(&self.work);
        refuse_while_waiting(&work)?;
        let allows = match noted.decision.verdict {
            Verdict::Allow => true,
            Verdict::Ask => noted.answer.is_some_and(ApprovalAnswer::allows),
            Verdict::Deny => false,
        };
        let start = work.start.clone().filter(|_| allows && !work.is_started);
        let is_started = work.is_started || start.is_some();
        let decided = DecisionRecord {
            call: work.call.clone(),
            who: match &noted.decision.grant {
                // An earlier answer decided.
                Some(grant) if noted.answer.is_none() => grant.who.clone(),
                _ => work.who.take().filter(|_| noted.answer.is_some()),
            },
            ..record(noted)
        };
        self.record(start.into_iter().chain([Event::Decided(decided)]).collect())?;
        work.is_started = is_started;
        Ok(())
    }

    fn starting(&self) -> Result<(), RecordError> {
        let mut work = lock(&self.work);
        refuse_while_waiting(&work)?;
        work.is_repeatable = false;
        if let Some(start) = work.start.clone().filter(|_| !work.is_started) {
            self.record(vec![start])?;
            work.is_started = true;
        }
        Ok(())
    }
}

fn refuse_while_waiting(work: &Work) -> Result<(), RecordError> {
    if work.waiting.is_empty() {
        return Ok(());
    }
    Err(RecordError {
        reason: "the session waits for an answer".to_owned(),
    })
}

/// Returns a digest of the call, of the files of the skill or agent that it starts to use, and of
/// everything that a person is shown. Each part has its length before it, so that parts cannot run into
/// each other.
fn digest(work: &Work, shown: &[Option<&str>]) -> Box<str> {
    let input = work.input.to_string();
    let call = [Some(&*work.tool), Some(&*input), work.subject.as_deref()];
    let mut hash = Sha256::new();
    for part in call.iter().chain(shown) {
        let part = part.unwrap_or_default();
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let bytes = hash.finalize();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}").into()
}

fn rule_text(rule: &CitedRule) -> String {
    match &rule.source {
        RuleSource::Approval => format!("--approve {}", rule.text),
        source => format!("{} {} ({source})", rule.effect.as_str(), rule.text),
    }
}

fn record(noted: &RecordedDecision<'_>) -> DecisionRecord {
    let decision = noted.decision;
    let rule = decision.rule.as_ref();
    DecisionRecord {
        call: None,
        what: noted.what.to_owned(),
        verdict: match decision.verdict {
            Verdict::Allow => RecordedVerdict::Allow,
            Verdict::Ask => RecordedVerdict::Ask,
            Verdict::Deny => RecordedVerdict::Deny,
        },
        reason: decision.reason.to_string(),
        rule: rule.map(rule_text),
        answer: noted.answer.map(recorded_answer),
        by: Some(match (noted.answer, rule.map(|rule| &rule.source)) {
            (Some(ApprovalAnswer::Unavailable), _) => DecidedBy::Unattended,
            (Some(_), _) => DecidedBy::Person,
            (None, None) if decision.grant.is_some() => DecidedBy::Person,
            (None, Some(RuleSource::Approval)) => DecidedBy::Flag,
            (None, Some(_)) => DecidedBy::Rule,
            (None, None) => DecidedBy::Mode,
        }),
        who: None,
    }
}

/// Converts an answer for the record.
pub(crate) fn recorded_answer(answer: ApprovalAnswer) -> RecordedAnswer {
    match answer {
        ApprovalAnswer::No => RecordedAnswer::No,
        ApprovalAnswer::Unavailable => RecordedAnswer::Unavailable,
        ApprovalAnswer::Once => RecordedAnswer::Once,
        ApprovalAnswer::Session => RecordedAnswer::Session,
        ApprovalAnswer::Tool => RecordedAnswer::Tool,
        ApprovalAnswer::Always => RecordedAnswer::Always,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

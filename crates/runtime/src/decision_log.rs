//! Stores permission decisions before they take effect.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use prowess_agent::{DecidedBy, DecisionRecord, Event, RecordedAnswer, RecordedVerdict};
use prowess_policy::{ApprovalAnswer, RuleSource, Verdict};
use prowess_traits::{DecisionRecorder, RecordError, RecordedDecision, SessionError};

use crate::journal::JournalHandle;

/// Stores the decisions of a session. Tools decide on blocking threads while the session waits for
/// them, so a decision is written on the thread that made it.
#[derive(Debug, Default)]
pub(crate) struct DecisionLog {
    journal: OnceLock<JournalHandle>,
    /// The call that the session is working on.
    call: Mutex<Option<Box<str>>>,
    /// The error of a decision that could not be stored.
    failure: Mutex<Option<SessionError>>,
}

impl DecisionLog {
    /// Connects the log to the record of its session. Until then, decisions are refused.
    pub(crate) fn open(&self, journal: JournalHandle) {
        // Each log belongs to one journal, so it is never connected twice.
        let _ = self.journal.set(journal);
    }

    /// Sets the call that the next decisions are about.
    pub(crate) fn set_call(&self, call: Option<&str>) {
        *lock(&self.call) = call.map(Into::into);
    }

    /// Returns the error of a decision that could not be stored since the last check. The action was
    /// refused, and the session must not continue.
    pub(crate) fn check(&self) -> Result<(), SessionError> {
        lock(&self.failure).take().map_or(Ok(()), Err)
    }
}

impl DecisionRecorder for DecisionLog {
    fn decided(&self, noted: &RecordedDecision<'_>) -> Result<(), RecordError> {
        let ended = || RecordError {
            reason: "the session is closed".to_owned(),
        };
        let decided = DecisionRecord {
            call: lock(&self.call).clone(),
            ..record(noted)
        };
        let journal = self.journal.get().ok_or_else(ended)?;
        let stored = journal.record(Event::Decided(decided)).ok_or_else(ended)?;
        stored.map_err(|error| {
            let reason = error.to_string();
            *lock(&self.failure) = Some(error);
            RecordError { reason }
        })
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
        rule: rule.map(|rule| match &rule.source {
            RuleSource::Approval => format!("--approve {}", rule.text),
            source => format!("{} {} ({source})", rule.effect.as_str(), rule.text),
        }),
        answer: noted.answer.map(|answer| match answer {
            ApprovalAnswer::No => RecordedAnswer::No,
            ApprovalAnswer::Unavailable => RecordedAnswer::Unavailable,
            ApprovalAnswer::Once => RecordedAnswer::Once,
            ApprovalAnswer::Session => RecordedAnswer::Session,
            ApprovalAnswer::Tool => RecordedAnswer::Tool,
            ApprovalAnswer::Always => RecordedAnswer::Always,
        }),
        by: Some(match (noted.answer, rule.map(|rule| &rule.source)) {
            (Some(ApprovalAnswer::Unavailable), _) => DecidedBy::Unattended,
            (Some(_), _) => DecidedBy::Person,
            (None, Some(RuleSource::Approval)) => DecidedBy::Flag,
            (None, Some(_)) => DecidedBy::Rule,
            (None, None) => DecidedBy::Mode,
        }),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

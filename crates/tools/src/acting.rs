//! What an agent may do with tools that are not about skills: commands, files, the web.
//!
//! In a sub-run everything is done as the skill that runs, and its `allowed-tools` are the ceiling.
//! In a conversation the agent acts for the person; what a loaded and trusted skill lists in
//! `allowed-tools` is not asked about, and what it lists in `disallowed-tools` is refused.

use std::path::Path;
use std::sync::Arc;

use prowess_catalog::Scope;
use prowess_catalog::visibility::{View, Who};
use prowess_policy::{
    Actor, ApprovalAnswer, Approved, Command, Decision, Effect, GateAction, Verdict,
};
use prowess_traits::Question;
use prowess_trust::Standing;

use crate::loaded::Loaded;
use crate::tool::ToolError;
use crate::workshop::Workshop;

/// Whether `allowed-tools` is all that the skill may use: where it says anything, be it unreadable.
pub(crate) fn has_ceiling(standing: &Standing) -> bool {
    let mut unread = standing.tools.unread().iter();
    standing.tools.of(Effect::Allow).next().is_some()
        || unread.any(|unread| unread.effect == Effect::Allow)
}

impl Workshop {
    /// What the gate says of something that the agent wants.
    pub fn judge(&self, loaded: &Loaded, action: &GateAction<'_>) -> Decision {
        self.judge_as(loaded, action).0
    }

    /// Asks the gate about something that the agent wants, and the person where the gate wants it.
    pub fn permit(
        &self,
        loaded: &Loaded,
        action: &GateAction<'_>,
        what: &str,
    ) -> Result<(), ToolError> {
        let (decision, standing) = self.judge_as(loaded, action);
        let skill = standing.as_ref().map(|standing| &*standing.name);
        self.settle(
            what,
            &decision,
            Question {
                what,
                decision: &decision,
                skill,
                action: Some(action),
            },
        )
    }

    /// Does what a decision says: go on, refuse, or ask and see. Takes note of it.
    pub(crate) fn settle(
        &self,
        what: &str,
        decision: &Decision,
        question: Question<'_>,
    ) -> Result<(), ToolError> {
        let answer = (decision.verdict == Verdict::Ask).then(|| self.approver.ask(&question));
        self.note(question.what, decision, answer, question.skill);
        match (decision.verdict, answer) {
            (Verdict::Deny, _) | (Verdict::Ask, None | Some(ApprovalAnswer::No)) => {
                Err(ToolError::denied(what, decision))
            }
            (Verdict::Allow, _) | (Verdict::Ask, Some(_)) => Ok(()),
        }
    }

    /// Asks the gate about a command line that the agent wants to run in a folder, and the person
    /// where the gate wants it.
    pub fn approve_agent(
        &self,
        loaded: &Loaded,
        folder: &Path,
        text: &str,
    ) -> Result<Approved<Command>, Decision> {
        let (_, standing) = self.judge_as(loaded, &GateAction::Command { text });
        match standing {
            Some(standing) => {
                let ceiling = self.is_ceiling(&standing);
                self.approve_in(folder, text, &standing.actor(ceiling))
            }
            None => self.approve_in(folder, text, &Actor::default()),
        }
    }

    /// Looks the loaded skills up once, for many questions about one call.
    pub fn judging(&self, loaded: &Loaded) -> Judging<'_> {
        let skills = match &self.acting {
            Some(_) => Vec::new(),
            None => loaded
                .names()
                .filter_map(|name| self.trusted(name, loaded))
                .collect(),
        };
        Judging {
            workshop: self,
            skills,
        }
    }

    /// The decision, and the skill as which it was taken.
    fn judge_as(
        &self,
        loaded: &Loaded,
        action: &GateAction<'_>,
    ) -> (Decision, Option<Arc<Standing>>) {
        self.judging(loaded).judge_as(action)
    }

    /// Whether a skill may use nothing but what it lists: in a sub-run, or where a person wants so.
    pub(crate) fn is_ceiling(&self, standing: &Standing) -> bool {
        (self.acting.is_some() || self.settings.confine) && has_ceiling(standing)
    }

    /// A loaded skill, as long as it is trusted and still what was loaded.
    fn trusted(&self, name: &str, loaded: &Loaded) -> Option<Arc<Standing>> {
        let catalog = self.registry.snapshot();
        let view = View::new(&catalog, &self.visibility, Who::Person);
        let entry = view.resolve(name).ok()?;
        // A server's is never trusted, and need not be read again to know that.
        if entry.skill.id.origin.scope == Scope::Server {
            return None;
        }
        let standing = self.read(&entry.skill).ok()?.standing;
        let same = loaded
            .get(name)
            .is_some_and(|known| known.digest == standing.digest);
        (same && standing.is_trusted()).then(|| Arc::new(standing))
    }
}

/// What the gate says of many things that the agent wants, with the skills that are loaded now.
#[derive(Debug)]
pub struct Judging<'w> {
    workshop: &'w Workshop,
    skills: Vec<Arc<Standing>>,
}

impl Judging<'_> {
    /// What the gate says of something that the agent wants.
    pub fn judge(&self, action: &GateAction<'_>) -> Decision {
        self.judge_as(action).0
    }

    /// The decision, and the skill as which it was taken.
    fn judge_as(&self, action: &GateAction<'_>) -> (Decision, Option<Arc<Standing>>) {
        let workshop = self.workshop;
        if let Some(acting) = &workshop.acting {
            let actor = acting.actor(workshop.is_ceiling(acting));
            return (
                workshop.gate().decide(action, &actor),
                Some(Arc::clone(acting)),
            );
        }
        let mut decision = workshop.gate().decide(action, &Actor::default());
        let mut taken = None;
        for standing in &self.skills {
            if decision.verdict == Verdict::Deny {
                break;
            }
            let actor = standing.actor(workshop.is_ceiling(standing));
            let other = workshop.gate().decide(action, &actor);
            let counts = match other.verdict {
                Verdict::Deny => true,
                Verdict::Allow => decision.verdict == Verdict::Ask,
                Verdict::Ask => false,
            };
            if counts {
                decision = other;
                taken = Some(Arc::clone(standing));
            }
        }
        (decision, taken)
    }
}

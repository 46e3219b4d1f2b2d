//! What an agent may do with tools that are not about skills: commands, files, the web.
//!
//! In a sub-run everything is done as the skill that runs, and its `allowed-tools` are the ceiling.
//! In a conversation the agent acts for the person; what a loaded and trusted skill lists in
//! `allowed-tools` is not asked about, and what it lists in `disallowed-tools` is refused.

use std::path::Path;
use std::sync::Arc;

use prowess_policy::{Action, Actor, Answer, Approved, Command, Decision, Effect, Verdict};
use prowess_traits::Question;
use prowess_trust::SkillTrust;

use crate::context::ToolContext;
use crate::loaded::Loaded;
use crate::snapshot::SkillSnapshot;
use crate::tool::ToolError;

/// Whether `allowed-tools` is all that the skill may use: where it says anything, be it unreadable.
pub(crate) fn has_ceiling(trust: &SkillTrust) -> bool {
    let mut unread = trust.tools.unread().iter();
    trust.tools.of(Effect::Allow).next().is_some()
        || unread.any(|unread| unread.effect == Effect::Allow)
}

impl ToolContext {
    /// What the gate says of something that the agent wants.
    pub fn judge(&self, loaded: &Loaded, action: &Action<'_>) -> Decision {
        self.judge_as(loaded, action).0
    }

    /// Asks the gate about something that the agent wants, and the person where the gate wants it.
    pub fn permit(
        &self,
        loaded: &Loaded,
        action: &Action<'_>,
        what: &str,
    ) -> Result<(), ToolError> {
        let (decision, skill) = self.judge_as(loaded, action);
        let skill = skill.as_ref().map(|skill| &*skill.trust.name);
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
        let answer =
            (decision.verdict == Verdict::Ask).then(|| self.services.approver.ask(&question));
        self.note(question.what, decision, answer, question.skill);
        match (decision.verdict, answer) {
            (Verdict::Deny, _) | (Verdict::Ask, None | Some(Answer::No)) => {
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
        let (_, skill) = self.judge_as(loaded, &Action::Command { text });
        match skill {
            Some(skill) => {
                let ceiling = self.is_ceiling(&skill.trust);
                self.approve_in(folder, text, &skill.trust.actor(ceiling))
            }
            None => self.approve_in(folder, text, &Actor::default()),
        }
    }

    /// Looks the loaded skills up once, for many questions about one call.
    pub fn judging(&self, loaded: &Loaded) -> Judging<'_> {
        let mut skills = Vec::new();
        if self.acting.is_none() {
            let (registry, store) = (&self.services.registry, self.services.trust.as_ref());
            // A server's skill grants nothing, and is not read again to know that.
            let current = loaded
                .snapshots()
                .filter(|skill| !skill.is_served() && skill.is_unchanged(registry, store));
            skills.extend(current.map(Arc::clone));
        }
        Judging {
            context: self,
            skills,
        }
    }

    /// The decision, and the skill as which it was taken.
    fn judge_as(
        &self,
        loaded: &Loaded,
        action: &Action<'_>,
    ) -> (Decision, Option<Arc<SkillSnapshot>>) {
        self.judging(loaded).judge_as(action)
    }

    /// Whether a skill may use nothing but what it lists: in a sub-run, or where a person wants so.
    pub(crate) fn is_ceiling(&self, trust: &SkillTrust) -> bool {
        (self.acting.is_some() || self.settings.confine) && has_ceiling(trust)
    }
}

/// What the gate says of many things that the agent wants, with the skills that are loaded now.
#[derive(Debug)]
pub struct Judging<'w> {
    context: &'w ToolContext,
    skills: Vec<Arc<SkillSnapshot>>,
}

impl Judging<'_> {
    /// What the gate says of something that the agent wants.
    pub fn judge(&self, action: &Action<'_>) -> Decision {
        self.judge_as(action).0
    }

    /// The decision, and the skill as which it was taken.
    fn judge_as(&self, action: &Action<'_>) -> (Decision, Option<Arc<SkillSnapshot>>) {
        let context = self.context;
        if let Some(acting) = &context.acting {
            let actor = acting.trust.actor(context.is_ceiling(&acting.trust));
            return (
                context.gate().decide(action, &actor),
                Some(Arc::clone(acting)),
            );
        }
        let mut decision = context.gate().decide(action, &Actor::default());
        let mut taken = None;
        for skill in &self.skills {
            if decision.verdict == Verdict::Deny {
                break;
            }
            let actor = skill.trust.actor(context.is_ceiling(&skill.trust));
            let other = context.gate().decide(action, &actor);
            let counts = match other.verdict {
                Verdict::Deny => true,
                Verdict::Allow => decision.verdict == Verdict::Ask,
                Verdict::Ask => false,
            };
            if counts {
                decision = other;
                taken = Some(Arc::clone(skill));
            }
        }
        (decision, taken)
    }
}

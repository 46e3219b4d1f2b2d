//! Permissions of an agent for tools that are not about skills: commands, files, the web.
//!
//! A sub-run acts as its skill, whose `allowed-tools` are the ceiling. In a conversation the agent
//! acts for the user: actions in the `allowed-tools` of a loaded and trusted skill need no
//! approval, and actions in its `disallowed-tools` are refused.

use std::path::Path;
use std::sync::Arc;

use prowess_policy::{
    Actor, ApprovalAnswer, Approved, Command, Decision, GateAction, PermissionRules, Verdict,
};
use prowess_traits::ApprovalRequest;
use prowess_trust::{SkillRole, SkillTrust};

use crate::context::ToolContext;
use crate::loaded::Loaded;
use crate::names::SUBMIT;
use crate::skill_access;
use crate::snapshot::{SkillHandle, SkillSnapshot};
use crate::tool::ToolError;

impl ToolContext {
    /// Decides about an action of the agent.
    pub fn judge(&self, loaded: &Loaded, action: &GateAction<'_>) -> Decision {
        self.judge_as(loaded, action).0
    }

    /// Decides about an action of the agent, and prompts the user if the gate requires it. `what`
    /// describes the action in errors, `question` in the prompt and the record.
    pub fn permit(
        &self,
        loaded: &Loaded,
        action: &GateAction<'_>,
        what: &str,
        question: &str,
    ) -> Result<(), ToolError> {
        let (decision, skill) = self.judge_as(loaded, action);
        let skill = skill.as_ref().map(|skill| &*skill.trust.name);
        self.settle(&ApprovalRequest {
            what: question,
            decision: &decision,
            skill,
            action: Some(action),
        })
        .map_err(|decision| ToolError::denied(what, &decision))
    }

    /// Applies a decision: allows, refuses or prompts. Records the decision, and returns it if the
    /// action was refused.
    pub(crate) fn settle(&self, question: &ApprovalRequest<'_>) -> Result<(), Decision> {
        let decision = question.decision;
        let answer =
            (decision.verdict == Verdict::Ask).then(|| self.services.approver.ask(question));
        self.note(question.what, decision, answer, question.skill);
        match (decision.verdict, answer) {
            (Verdict::Deny, _) | (Verdict::Ask, None | Some(ApprovalAnswer::No)) => {
                Err(decision.clone())
            }
            (Verdict::Allow, _) | (Verdict::Ask, Some(_)) => Ok(()),
        }
    }

    /// Decides about a command line that runs as a skill in a folder, and prompts the user if the
    /// gate requires it: first the rules about the skill, then those about the command.
    pub fn approve_as_skill(
        &self,
        skill: &SkillHandle,
        trust: &SkillTrust,
        role: SkillRole,
        folder: &Path,
        text: &str,
    ) -> Result<Approved<Command>, Decision> {
        skill_access::permit_run(self, skill, text)?;
        let actor = trust.actor(role, self.settings.confine);
        self.approve_in(folder, text, &actor)
    }

    /// Decides about a command line that the agent runs in a folder, and prompts the user if the
    /// gate requires it.
    pub fn approve_agent(
        &self,
        loaded: &Loaded,
        folder: &Path,
        text: &str,
    ) -> Result<Approved<Command>, Decision> {
        let (_, skill) = self.judge_as(loaded, &GateAction::Command { text });
        match skill {
            Some(skill) => {
                let actor = self.actor_for(&skill.trust);
                self.approve_in(folder, text, &actor)
            }
            None => self.approve_in(folder, text, &Actor::default()),
        }
    }

    /// Applies the `disallowed-tools` of the loaded skills until they are unloaded. A restriction
    /// needs no trust, and an edit of the skill's files does not lift it; what a skill grants does
    /// need both.
    pub(crate) fn apply_restrictions(&self, tool: &str, loaded: &Loaded) {
        let mut restrictions = PermissionRules::default();
        // `submit` belongs to the caller of a run; a skill cannot remove it.
        if tool != SUBMIT {
            for skill in loaded.snapshots().filter(|skill| !skill.is_served()) {
                restrictions.restrict(&skill.trust.tools);
            }
        }
        self.gate().restrictions = restrictions;
    }

    /// Looks up the loaded skills once, for several decisions about one call.
    pub fn judging(&self, loaded: &Loaded) -> AgentPermissions<'_> {
        let mut skills = Vec::new();
        if self.acting.is_none() {
            let (registry, store) = (&self.services.registry, self.services.trust.as_ref());
            // Skills of servers grant nothing; do not read them again.
            let current = loaded
                .snapshots()
                .filter(|skill| !skill.is_served() && skill.is_unchanged(registry, store));
            skills.extend(current.map(Arc::clone));
        }
        AgentPermissions {
            context: self,
            skills,
        }
    }

    /// Returns the decision, and the skill that it was made for.
    fn judge_as(
        &self,
        loaded: &Loaded,
        action: &GateAction<'_>,
    ) -> (Decision, Option<Arc<SkillSnapshot>>) {
        self.judging(loaded).judge_as(action)
    }

    /// Returns a skill as the actor of what the agent does.
    pub(crate) fn actor_for<'t>(&self, trust: &'t SkillTrust) -> Actor<'t> {
        let role = if self.acting.is_some() {
            SkillRole::SubRun
        } else {
            SkillRole::Conversation
        };
        trust.actor(role, self.settings.confine)
    }
}

/// Decides about several actions of the agent, with the skills that are loaded now.
#[derive(Debug)]
pub struct AgentPermissions<'w> {
    context: &'w ToolContext,
    skills: Vec<Arc<SkillSnapshot>>,
}

impl AgentPermissions<'_> {
    /// Decides about an action of the agent.
    pub fn judge(&self, action: &GateAction<'_>) -> Decision {
        self.judge_as(action).0
    }

    /// Returns the decision, and the skill that it was made for.
    fn judge_as(&self, action: &GateAction<'_>) -> (Decision, Option<Arc<SkillSnapshot>>) {
        let context = self.context;
        if let Some(acting) = &context.acting {
            let actor = context.actor_for(&acting.trust);
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
            let actor = context.actor_for(&skill.trust);
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

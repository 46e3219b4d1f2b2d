//! Permissions of an agent for tools that are not about skills: commands, files, the web.
//!
//! A sub-run acts as its skill, whose `allowed-tools` are the ceiling. In a conversation the agent
//! acts for the user: actions in the `allowed-tools` of a loaded and trusted skill need no
//! approval, and actions in its `disallowed-tools` are refused.

use std::path::Path;
use std::sync::Arc;

use prowess_policy::{Actor, Approved, Command, Decision, GateAction, PermissionRules, Verdict};
use prowess_traits::ApprovalRequest;
use prowess_trust::{SkillRole, SkillTrust};

use crate::context::ToolContext;
use crate::loaded::Loaded;
use crate::names;
use crate::skill_access;
use crate::snapshot::{SkillHandle, SkillSnapshot};
use crate::tool::ToolError;

const LAPSED: &str = "the skill of this run changed since the run started, or is no longer trusted";

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
            note: None,
        })
        .map_err(|decision| ToolError::denied(what, &decision))
    }

    /// Applies a decision: allows, refuses or prompts. Records the decision, and returns it if the
    /// action was refused.
    pub(crate) fn settle(&self, question: &ApprovalRequest<'_>) -> Result<(), Decision> {
        let decision = question.decision;
        let reply =
            (decision.verdict == Verdict::Ask).then(|| self.services.approver.reply(question));
        let answer = reply.as_ref().map(|reply| reply.answer);
        self.note(question.what, decision, answer, question.skill)?;
        match (decision.verdict, &reply) {
            (Verdict::Deny, _) | (Verdict::Ask, None) => Err(decision.clone()),
            (Verdict::Ask, Some(reply)) if !reply.answer.allows() => Err(question.refused(reply)),
            (Verdict::Allow, _) | (Verdict::Ask, Some(_)) => Ok(()),
        }
    }

    /// Decides about a command line that runs as a skill in a folder, and prompts the user if the
    /// gate requires it: first the rules about the skill, then those about the command.
    pub fn approve_as_skill(
        &self,
        loaded: &Loaded,
        skill: &SkillHandle,
        trust: &SkillTrust,
        role: SkillRole,
        folder: &Path,
        text: &str,
    ) -> Result<Approved<Command>, Decision> {
        skill_access::permit_run(self, loaded, skill, text)?;
        let restrictions = loaded.restrictions();
        let actor = trust.actor(role, self.settings.confine, &restrictions);
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
        let permissions = self.judging(loaded);
        if let Some(lapsed) = permissions.lapsed {
            self.note(text, &lapsed, None, None)?;
            return Err(lapsed);
        }
        let (_, skill) = permissions.judge_as(&GateAction::Command { text });
        let restrictions = &permissions.restrictions;
        let actor = match &skill {
            Some(skill) => self.actor_for(&skill.trust, restrictions),
            None => Actor::default().within(restrictions),
        };
        self.approve_in(folder, text, &actor)
    }

    /// Looks up the loaded skills once, for several decisions about one call.
    pub fn judging(&self, loaded: &Loaded) -> AgentPermissions<'_> {
        let (registry, store) = (&self.services.registry, self.services.trust.as_ref());
        let (mut skills, mut lapsed) = (Vec::new(), None);
        if let Some(acting) = &self.acting {
            if acting.is_trusted() && !acting.is_unchanged(registry, store) {
                lapsed = Some(Decision::new(Verdict::Deny, LAPSED));
            }
        } else {
            // Skills of servers grant nothing; do not read them again.
            let current = loaded
                .snapshots()
                .filter(|skill| !skill.is_served() && skill.is_unchanged(registry, store));
            skills.extend(current.map(Arc::clone));
        }
        AgentPermissions {
            context: self,
            restrictions: loaded.restrictions(),
            skills,
            lapsed,
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

    /// Returns the decision of the gate. A rule may use core-agent's name of an MCP tool
    /// (`jira_get_issue` for `mcp__jira__get_issue`). If other tools have that name too, only deny
    /// and ask rules with it apply, and they apply to all of them.
    fn decide(&self, action: &GateAction<'_>, actor: &Actor<'_>) -> Decision {
        let mut decision = self.gate().decide(action, actor);
        let known = self.settings.known_tools.as_deref().unwrap_or_default();
        if let GateAction::Tool {
            name,
            also,
            arguments,
        } = action
        {
            let own = names::server_names(name, known).into_iter();
            // Another name of the tool belongs to another tool, too.
            let others = also
                .iter()
                .flat_map(|name| names::server_names(name, known));
            let others = others.map(|(name, _)| (name, false));
            for (name, is_only) in own.chain(others) {
                let action = GateAction::Tool {
                    name: &name,
                    also: &[],
                    arguments,
                };
                let other = self.gate().decide(&action, actor);
                // Without a rule, the name makes no difference.
                let is_stricter = other.verdict > decision.verdict;
                let is_first = decision.rule.is_none()
                    && (is_only || other.verdict >= decision.verdict.max(Verdict::Ask));
                if other.rule.is_some() && (is_first || is_stricter) {
                    decision = other;
                }
            }
        }
        decision
    }

    /// Returns a skill as the actor of what the agent does.
    pub(crate) fn actor_for<'t>(
        &self,
        trust: &'t SkillTrust,
        restrictions: &'t PermissionRules,
    ) -> Actor<'t> {
        let role = if self.acting.is_some() {
            SkillRole::SubRun
        } else {
            SkillRole::Conversation
        };
        trust.actor(role, self.settings.confine, restrictions)
    }
}

/// Decides about several actions of the agent, with the skills that are loaded now.
#[derive(Debug)]
pub struct AgentPermissions<'w> {
    context: &'w ToolContext,
    /// The restrictions of all loaded skills.
    restrictions: PermissionRules,
    /// The loaded skills whose grants apply.
    skills: Vec<Arc<SkillSnapshot>>,
    /// The decision about everything if the skill of this sub-run changed or lost its trust.
    lapsed: Option<Decision>,
}

impl AgentPermissions<'_> {
    /// Decides about an action of the agent.
    pub fn judge(&self, action: &GateAction<'_>) -> Decision {
        self.judge_as(action).0
    }

    /// Returns the decision, and the skill that it was made for.
    fn judge_as<'s>(&'s self, action: &GateAction<'_>) -> (Decision, Option<Arc<SkillSnapshot>>) {
        let context = self.context;
        let actor_for =
            |skill: &'s SkillSnapshot| context.actor_for(&skill.trust, &self.restrictions);
        if let Some(acting) = &context.acting {
            let decision = if let Some(lapsed) = &self.lapsed {
                lapsed.clone()
            } else {
                let mut actor = actor_for(acting);
                // The user gave this tool to all skills; the rules decide about the call.
                if let (GateAction::Tool { name, also, .. }, Some(skill)) =
                    (action, &mut actor.skill)
                    && std::iter::once(name)
                        .chain(also.iter())
                        .any(|name| context.settings.tools_in_skills.contains(*name))
                {
                    skill.ceiling = false;
                }
                context.decide(action, &actor)
            };
            return (decision, Some(Arc::clone(acting)));
        }
        let agent = Actor::default().within(&self.restrictions);
        let mut decision = context.decide(action, &agent);
        let mut taken = None;
        for skill in &self.skills {
            // A skill may allow what no rule of the user allows, but nothing that one denies.
            if decision.verdict == Verdict::Deny && decision.rule.is_some() {
                break;
            }
            let other = context.decide(action, &actor_for(skill));
            let counts = match other.verdict {
                Verdict::Deny => other.rule.is_some() || decision.verdict != Verdict::Deny,
                Verdict::Allow => decision.verdict != Verdict::Allow,
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

//! Calls that start an agent: `call_agent`, `spawn_agent` and agents as tools.

use std::sync::Arc;
use std::time::Instant;

use prowess_agent::{
    AgentProfile, ConversationLimits, ParentSession, RunBudget, ToolCall, ToolResult,
};
use prowess_diag::wording;
use prowess_flow::Selection;
use prowess_tools::{Said, ServerTools, answer, selected_tools};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tracing::Span;

use crate::agent_profile::{self, Caller, PreparedAgent};
use crate::agent_run::{AgentStart, child_budget};
use crate::child::{AgentChild, ChildRun};
use crate::error::RuntimeError;
use crate::journal::blocking;
use crate::session::{Session, one_line};
use crate::team_tools::{self, CALL_AGENT, SPAWN_AGENT};
use crate::tool_call::append_hook_messages;
use crate::trace;

/// Maximum length of the name of an agent that a model defines, in characters.
const MAX_NAME: usize = 40;

/// An agent that a call starts.
enum Target {
    /// A member of the team: the name that finds it.
    Member(Box<str>),
    /// An agent that the model defines.
    Spawned(Box<PreparedAgent>),
}

impl Session {
    /// Returns the agent that the session runs as.
    pub(crate) fn profile(&self) -> Option<&AgentProfile> {
        self.journal.run.started()?.agent.as_deref()
    }

    /// Returns `true` if a call starts an agent.
    pub(crate) fn starts_agent(&self, call: &ToolCall) -> bool {
        let Some(profile) = self.profile().filter(|_| self.tools.has(&call.name)) else {
            return false;
        };
        match &*call.name {
            CALL_AGENT => !profile.team.is_empty(),
            SPAWN_AGENT => profile.spawns.is_some(),
            name => self.member_tool(name).is_some(),
        }
    }

    /// Returns the agent that is a tool of this name.
    fn member_tool(&self, name: &str) -> Option<Box<str>> {
        let is_ours = self.engine.settings().known_tools.as_deref();
        let is_ours = is_ours.is_some_and(|known| known.iter().any(|tool| **tool == *name));
        let members = self.profile()?.team.iter().filter(|_| !is_ours);
        let mut members = members.filter(|member| team_tools::is_tool(member));
        let member = members.find(|member| *member.name == *name)?;
        Some(member.name.clone())
    }

    /// Runs an agent in a separate conversation and records its result. `before` has the messages
    /// of the hooks before the call, if they ran already.
    pub(crate) async fn delegate(
        &mut self,
        call: &ToolCall,
        before: Option<Vec<Said>>,
        cancel: &CancellationToken,
        span: &Span,
    ) -> Result<(), RuntimeError> {
        let child = match self.admit_agent(call).await? {
            Ok(child) => child,
            Err(why) => {
                trace::failed(span, trace::REFUSED);
                return self.answered(ToolResult::error(call, why)).await;
            }
        };
        self.start_call(call).await?;
        self.journal.decisions.commit();
        let began = Instant::now();
        let name = child.name.clone();
        let child = ChildRun::Agent(Box::new(child));
        let finished = self.run_child(call, child, cancel).await;
        if let Some(ending) = self.stopped_with(&finished) {
            self.end(ending).await?;
            return Ok(());
        }
        let Some((mut result, usage)) = self.child_result(call, &name, finished)? else {
            return Ok(());
        };
        append_hook_messages(&mut result, before.iter().flatten());
        self.forked(call, result, usage, began, span).await
    }

    /// Checks a call that starts an agent. Returns the agent, or the reason why it cannot start.
    pub(crate) async fn admit_agent(
        &self,
        call: &ToolCall,
    ) -> Result<Result<AgentChild, String>, RuntimeError> {
        let text = |key: &str| call.input.get(key).and_then(Value::as_str);
        let task = text("task").unwrap_or_default().trim().to_owned();
        let (shown, target) = match self.target(call) {
            Ok(target) => target,
            Err(why) => return Ok(Err(why)),
        };
        let (tools, context) = (Arc::clone(&self.tools), Arc::clone(&self.context));
        let (loaded, asked) = (self.loaded.clone(), call.clone());
        let (engine, profile) = (self.engine.clone(), self.profile().cloned());
        let (name, depth) = (shown.clone(), self.journal.depth);
        let log = Arc::clone(&self.journal.decisions);
        let admitted = blocking(move || {
            let mut names = vec![name];
            match &target {
                Target::Member(agent) => {
                    names.extend(engine.agent_names(agent));
                    log.set_subject(engine.agent_digest(agent).as_deref());
                }
                Target::Spawned(agent) => names.push(agent.profile.name.clone()),
            }
            tools
                .admit_agent(&context, &loaded, &asked.name, &asked.input, &names)
                .map_err(|error| error.to_string())?;
            if task.is_empty() {
                return Err("The task is empty. Say what the agent should do.".to_owned());
            }
            let caller = Caller {
                profile: profile.as_ref(),
                depth: depth + 1,
            };
            let agent = match target {
                Target::Spawned(agent) => Ok(*agent),
                Target::Member(agent) => engine
                    .prepare_agent(&agent, caller)
                    .map_err(|error| error.to_string()),
            };
            Ok((agent?, task))
        });
        let (agent, task) = match admitted.await? {
            Ok(admitted) => admitted,
            Err(why) => return Ok(Err(why)),
        };
        let started = self.journal.run.started();
        let usual = self.engine.settings().budget;
        let start = AgentStart {
            title: one_line(&format!("{shown}: {task}")),
            result: None,
            budget: child_budget(self.remaining_budget(), agent.budget, usual),
            model: None,
            effort: None,
            parent: Some(ParentSession {
                session: self.journal.id.clone(),
                call: Some(call.id.clone()),
                depth: self.journal.depth + 1,
            }),
            above: started.map(|one| one.agents.clone()).unwrap_or_default(),
            desk: None,
            agent,
        };
        Ok(Ok(AgentChild {
            name: shown,
            start,
            task,
        }))
    }

    /// Returns the agent that a call names, with the name to show.
    fn target(&self, call: &ToolCall) -> Result<(Box<str>, Target), String> {
        let profile = self.profile().ok_or("This session starts no agents.")?;
        let text = |key: &str| call.input.get(key).and_then(Value::as_str);
        if &*call.name == SPAWN_AGENT {
            return self.spawned(profile, call);
        }
        let asked = match self.member_tool(&call.name) {
            Some(name) => name,
            // As it is: rules about the arguments of the tool compare the same text.
            None => text("name").unwrap_or_default().into(),
        };
        let found = profile.team.iter().find(|member| member.name == asked);
        let Some(member) = found else {
            let mut why = format!("Unknown agent: {}.", answer::shown(&asked));
            if *asked == *profile.name || profile.given.as_ref() == Some(&asked) {
                why = format!("Agent {} cannot start itself.", answer::shown(&asked));
            } else if self.is_untrusted_agent(&asked) {
                why = format!(
                    "Agent {} does not run: the user has not trusted its file.",
                    answer::shown(&asked)
                );
            } else if let Some(near) = agent_profile::nearest(&asked, &profile.team) {
                why.push_str(&format!(" Did you mean {}?", wording::tick(near)));
            }
            let names: Vec<String> = profile
                .team
                .iter()
                .map(|one| one.name.to_string())
                .collect();
            let (list, _) = answer::listed(&names, 1_000);
            return Err(format!("{why} Available: {list}"));
        };
        Ok((member.name.clone(), Target::Member(member.agent.clone())))
    }

    /// Returns `true` if a file of the project describes the agent and is not trusted.
    fn is_untrusted_agent(&self, name: &str) -> bool {
        let library = self.engine.services().agents.as_ref();
        library.is_some_and(|library| {
            let found = library.find(name);
            found.is_some_and(|found| !library.is_trusted(&found))
        })
    }

    /// Returns an agent that a model defines, with the tools and skills that it names.
    fn spawned(
        &self,
        profile: &AgentProfile,
        call: &ToolCall,
    ) -> Result<(Box<str>, Target), String> {
        let limits = profile
            .spawns
            .as_ref()
            .ok_or("This session defines no agents.")?;
        let names = |key: &str| -> Vec<Box<str>> {
            let listed = call.input.get(key).and_then(Value::as_array);
            let texts = listed.into_iter().flatten().filter_map(Value::as_str);
            texts.map(Into::into).collect()
        };
        let (tools, skills) = (names("tools"), names("skills"));
        let known = self.engine.settings().known_tools.as_deref();
        let selected = selected_tools(
            &Selection::these(tools),
            &Selection::all(),
            ServerTools::ByTool,
            known.unwrap_or_default(),
        );
        let chosen = selected
            .tools
            .unwrap_or_else(|| known.unwrap_or_default().to_vec());
        let unusable = selected.missing.iter().chain(&selected.limited);
        let mut refused: Vec<String> = unusable.map(wording::tick).collect();
        let is_given = |tool: &str| {
            let all = limits.tools.as_ref();
            all.is_none_or(|all| all.iter().any(|known| **known == *tool))
        };
        refused.extend(
            chosen
                .iter()
                .filter(|tool| !is_given(tool))
                .map(wording::tick),
        );
        let is_known = |skill: &str| {
            let all = limits.skills.as_ref();
            all.is_none_or(|all| all.iter().any(|known| **known == *skill))
        };
        refused.extend(
            skills
                .iter()
                .filter(|skill| !is_known(skill))
                .map(wording::tick),
        );
        if !refused.is_empty() {
            let (list, _) = answer::listed(&refused, 400);
            return Err(format!(
                "The agent was not started: this team does not have {list}."
            ));
        }
        let name = call.input.get("name").and_then(Value::as_str);
        let name = name.map(str::trim).filter(|name| !name.is_empty());
        let name = wording::shorten(&answer::shown(name.unwrap_or("worker")), MAX_NAME);
        let whole = format!("{}/{name}", profile.name);
        let team = profile.name.rsplit(':').next().unwrap_or_default();
        let team = team.split('/').next().unwrap_or_default();
        let in_team = format!("{team}/{name}");
        let restricted_by = self.engine.names_in_settings(&[&name, &in_team, &whole]);
        let prepared = PreparedAgent {
            profile: AgentProfile {
                name: whole.into(),
                file: profile.file.clone(),
                notes: profile.notes.clone(),
                tools: Some(chosen),
                read_only: profile.read_only,
                skills: Some(skills.iter().map(ToString::to_string).collect()),
                folders: profile.folders.clone(),
                max_depth: profile.max_depth,
                ..AgentProfile::default()
            },
            model: None,
            effort: None,
            budget: RunBudget::default(),
            limits: ConversationLimits::default(),
            preload: Vec::new(),
            restricted_by,
            messages: Vec::new(),
        };
        Ok((name.into(), Target::Spawned(Box::new(prepared))))
    }
}

//! Tool calls: the hooks before and after a call, the call itself, and its effects on the session.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prowess_agent::{
    ActiveSkill, CallState, Ending, Event, OpenCall, ParentSession, TokenUsage, ToolCall,
    ToolResult,
};
use prowess_catalog::Audience;
use prowess_policy::{Decision, Verdict};
use prowess_render::Arguments;
use prowess_tools::names::{AGENT_NAMES, SUBMIT, arguments_field, is_file_tool};
use prowess_tools::{
    HookEvent, HookOutcome, HookState, HookToolCall as HookCall, Loaded, MAX_BYTES, MAX_LINES,
    Said, SkillHandle, SkillSnapshot, ToolContext, Toolset, answer, command_failure, permit_agent,
    rule_names, run_hooks,
};
use prowess_traits::ApprovalRequest;
use serde_json::Value;
use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

use crate::background::MAX_BACKGROUND;
use crate::child::ChildRun;
use crate::decision_log::{DecisionLog, Work};
use crate::error::RuntimeError;
use crate::journal::blocking;
use crate::mission::desk::TASK_COMPLETE;
use crate::outcome::FinishedRun;
use crate::session::Session;
use crate::session_loop::milliseconds_since;
use crate::subrun::{self, SubRun};
use crate::trace;

/// Time that a tool has to stop after it was cancelled.
const GRACE: Duration = Duration::from_secs(5);

/// Interval at which the stop signal is repeated.
const STEP: Duration = Duration::from_millis(50);

/// The outcome of a call.
struct FinishedCall {
    result: ToolResult,
    submitted: Option<Value>,
    loaded: Loaded,
    hooks: HookState,
    messages: Vec<String>,
    /// The input of the tool, if a hook changed it.
    changed: Option<Value>,
    /// The reason, if a hook stops the run.
    stop: Option<String>,
}

/// The decision of the hooks before a call.
enum BeforeCall {
    /// The call is made with this input, and the messages are added to its result.
    Proceed { input: Value, messages: Vec<Said> },
    /// The call is not made.
    Refuse(String),
    /// The call is not made, and the run ends.
    Stop(String),
}

impl Session {
    /// Runs one call and records its result.
    pub(crate) async fn call(
        &mut self,
        open: OpenCall,
        cancel: &CancellationToken,
    ) -> Result<(), RuntimeError> {
        let span = trace::tool(self, &open.call);
        let (call, run) = (&open.call, &self.journal.run);
        let work = Work::new(run, Some(&call.id), &call.name, call.input.clone());
        self.journal.decisions.begin(work);
        let called = self
            .call_within(open, cancel, &span)
            .instrument(span.clone())
            .await;
        self.waiting = self.journal.decisions.end();
        called?;
        self.journal.catch_up()
    }

    async fn call_within(
        &mut self,
        open: OpenCall,
        cancel: &CancellationToken,
        span: &Span,
    ) -> Result<(), RuntimeError> {
        let OpenCall { call, mut state } = open;
        if let CallState::Interrupted { .. } = state {
            if let Some(child) = self.child_of(&call).await? {
                return Box::pin(self.continue_child(&call, child, cancel, span)).await;
            }
            // The program was stopped before the sub-run existed.
            let skill = self.resolve(&call).await?;
            if skill.as_ref().and_then(forked).is_some() || self.starts_agent(&call) {
                state = CallState::New;
            }
        }
        if let Some(text) = self.refusal(&call, state) {
            trace::failed(span, trace::REFUSED);
            return self.answered(ToolResult::error(&call, text)).await;
        }
        self.refresh().await?;
        let mut skill = self.resolve(&call).await?;
        self.set_subject(skill.as_ref());
        // A hook may change the skill that a call loads. Everything after this uses the final input.
        let starts_run = arguments_field(&call.name).is_some() || self.starts_agent(&call);
        let (call, before) = if self.has_hooks() && starts_run {
            // No hook runs for a skill whose agent does not exist.
            let agents = skill
                .as_ref()
                .and_then(forked)
                .map(|it| self.agents_of(&it));
            if let Some(Err(why)) = agents {
                trace::failed(span, trace::REFUSED);
                return self.answered(ToolResult::error(&call, why)).await;
            }
            self.announce(&call);
            match self.hooks_before(&call).await? {
                BeforeCall::Proceed { input, messages } => {
                    let changed = input != call.input;
                    let call = ToolCall { input, ..call };
                    self.journal.decisions.set_input(&call.input);
                    if changed {
                        skill = self.resolve(&call).await?;
                        self.set_subject(skill.as_ref());
                    }
                    (call, Some(messages))
                }
                BeforeCall::Refuse(text) => {
                    return self.answered(ToolResult::error(&call, text)).await;
                }
                BeforeCall::Stop(why) => {
                    self.answered(ToolResult::error(&call, why.clone())).await?;
                    if !self.journal.decisions.waiting().is_empty() {
                        return Ok(());
                    }
                    self.end(Ending::Declined { why }).await?;
                    return Ok(());
                }
            }
        } else {
            (call, None)
        };
        if let Some(skill) = skill.as_ref().filter(|skill| forked(skill).is_some()) {
            return self.fork(&call, skill, before, cancel, span).await;
        }
        if self.starts_agent(&call) {
            return self.delegate(&call, before, cancel, span).await;
        }
        if self.asks_conversation(&call) {
            return self.ask_conversation(&call, cancel).await;
        }
        if before.is_none() {
            let read_only = !self.has_hooks()
                && self
                    .tools
                    .tools(&self.context)
                    .find(|tool| *tool.name() == *call.name)
                    .is_some_and(|tool| tool.is_read_only(&self.context));
            if read_only {
                self.journal.write(call_started(&call, true)).await?;
            } else {
                self.announce(&call);
            }
        }
        let began = Instant::now();
        let Some(called) = self.work(&call, skill, before, cancel).await? else {
            // The tool did not stop when it was cancelled. Its effect is unknown, so the call stays
            // open in the record.
            trace::failed(span, trace::CANCELLED);
            return Ok(());
        };
        let milliseconds = milliseconds_since(began);
        self.ended(&call, called, milliseconds, span).await
    }

    /// Lets the first decision that allows something record that the call starts to have effects.
    /// While a person is asked, a call has not started.
    pub(crate) fn announce(&self, call: &ToolCall) {
        self.journal.decisions.announce(call_started(call, false));
    }

    /// Records that a call starts to have effects, unless a decision did.
    pub(crate) async fn start_call(&mut self, call: &ToolCall) -> Result<(), RuntimeError> {
        self.journal.catch_up()?;
        let decisions = Arc::clone(&self.journal.decisions);
        if decisions.unwritten_start().is_none() && decisions.is_announced() {
            return Ok(());
        }
        self.journal.write(call_started(call, false)).await?;
        decisions.set_started();
        Ok(())
    }

    /// Returns a message if a call is answered without being run.
    fn refusal(&self, call: &ToolCall, state: CallState) -> Option<String> {
        if let Some(fault) = &call.fault {
            return Some(format!(
                "The input of this call is not valid JSON: {fault}. The tool was not run. Call it again with an object that matches the schema."
            ));
        }
        match state {
            CallState::TooMany => {
                return Some(
                    "Too many calls in one reply; this one was not run. Make fewer calls at once."
                        .to_owned(),
                );
            }
            CallState::Interrupted { read_only: false } => {
                return Some(
                    "The program was stopped during this call, so it is unknown whether it had an \
                     effect. The call was not repeated. Check the current state first, and call \
                     again only if it is needed."
                        .to_owned(),
                );
            }
            CallState::New | CallState::Interrupted { read_only: true } => {}
        }
        let mut active = self.active_skills();
        let forbidding = active.find(|skill| skill.forbids(&call.name))?;
        Some(format!(
            "The tool {} cannot be used while skill `{}` is loaded: its `disallowed-tools` lists it.",
            call.name, forbidding.name
        ))
    }

    /// Records the result of a call that no tool answered.
    pub(crate) async fn answered(&mut self, result: ToolResult) -> Result<(), RuntimeError> {
        if !self.journal.decisions.waiting().is_empty() {
            return Ok(());
        }
        let start = self.journal.decisions.unwritten_start();
        let events = start.into_iter().chain([Event::answer(result)]);
        self.journal.write_all(events.collect()).await
    }

    /// Runs the call on a blocking thread. `before` has the messages of the hooks before the call,
    /// if they ran already. Returns `None` if the call did not stop when cancelled.
    async fn work(
        &mut self,
        call: &ToolCall,
        skill: Option<SkillHandle>,
        before: Option<Vec<Said>>,
        cancel: &CancellationToken,
    ) -> Result<Option<FinishedCall>, RuntimeError> {
        // A tool that only a skill can provide is unknown until such a skill is loaded.
        let tools = if self.is_declared(&call.name) {
            Arc::clone(&self.tools)
        } else {
            let mut fewer = (*self.tools).clone();
            fewer.retain(|name| *name != *call.name);
            Arc::new(fewer)
        };
        let context = Arc::clone(&self.context);
        let skills: Vec<_> = self.active_skills().map(Arc::clone).collect();
        let (mut loaded, hooks) = (self.loaded.clone(), self.hooks.clone());
        if let Some(skill) = skill {
            loaded.set_resolved(skill);
        }
        let call = call.clone();
        let log = Arc::clone(&self.journal.decisions);
        let work = move || {
            work(
                &context, &tools, &skills, loaded, hooks, &call, before, &log,
            )
        };
        self.run_stoppable(work, cancel).await
    }

    /// Runs work on a blocking thread, and stops its commands if it is cancelled. Returns `None` if
    /// it did not stop then.
    pub(crate) async fn run_stoppable<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
        cancel: &CancellationToken,
    ) -> Result<Option<T>, RuntimeError> {
        let mut work = tokio::spawn(blocking(work).in_current_span());
        let ended = tokio::select! {
            biased;
            ended = &mut work => ended,
            () = cancel.cancelled() => match self.stop_work(&mut work).await {
                Some(ended) => ended,
                None => return Ok(None),
            }
        };
        ended
            .map_err(|error| RuntimeError::Task(error.to_string()))?
            .map(Some)
    }

    /// Stops the commands of a call and waits for it. Returns `None` if it is still running after
    /// [`GRACE`].
    async fn stop_work<T>(&self, work: &mut JoinHandle<T>) -> Option<Result<T, JoinError>> {
        let began = Instant::now();
        while began.elapsed() < GRACE {
            // Repeat: a command that was just starting may have missed the previous signal.
            self.stop_commands();
            if let Ok(ended) = tokio::time::timeout(STEP, &mut *work).await {
                return Some(ended);
            }
        }
        None
    }

    /// Records the outcome of a call.
    async fn ended(
        &mut self,
        call: &ToolCall,
        called: FinishedCall,
        milliseconds: u64,
        span: &Span,
    ) -> Result<(), RuntimeError> {
        let FinishedCall {
            mut result,
            submitted,
            loaded: after,
            hooks,
            messages,
            changed: changed_input,
            stop,
        } = called;
        if !self.journal.decisions.waiting().is_empty() {
            // The call is made again after the answer. Hooks that run once do not run again.
            let fired = self.take_hooks(hooks);
            return self.journal.write_all(fired).await;
        }
        let mut loaded: Vec<ActiveSkill> = Vec::new();
        for name in after.names() {
            if let Some(skill) = after
                .get(name)
                .filter(|skill| self.loaded.get(name) != Some(*skill))
            {
                loaded.push(skill.clone());
            }
        }
        let unloaded: Vec<Box<str>> = self
            .loaded
            .names()
            .filter(|name| after.get(name).is_none())
            .map(Into::into)
            .collect();
        if let [skill] = &*loaded {
            result.keep = Some(skill.name.clone());
            trace::skill(span, &skill.name, Some(&skill.digest));
        }
        if result.is_error {
            trace::failed(span, trace::TOOL_ERROR);
        }
        let changed = !loaded.is_empty() || !unloaded.is_empty();
        let new: Vec<Arc<SkillSnapshot>> = after
            .snapshots()
            .filter(|skill| loaded.iter().any(|one| one.name == skill.name))
            .map(Arc::clone)
            .collect();
        self.touch(
            &call.name,
            changed_input.as_ref().unwrap_or(&call.input),
            &result,
        );
        let mut events: Vec<Event> = self
            .journal
            .decisions
            .unwritten_start()
            .into_iter()
            .collect();
        events.extend(self.take_hooks(hooks));
        events.push(Event::CallEnded {
            result,
            loaded,
            unloaded,
            submitted,
            usage: None,
            milliseconds,
        });
        self.journal.write_all(events).await?;
        // After the write: a skill counts as loaded only if its text is in the record.
        self.loaded = after;
        for message in messages {
            self.tell(&message);
        }
        for skill in new {
            self.tell_missing_tools(&skill);
        }
        if changed {
            self.follow_skills();
        }
        if let Some(why) = stop {
            self.end(Ending::Declined { why }).await?;
        }
        Ok(())
    }

    /// Applies the model and the effort that loaded skills ask for. The skill of a sub-run is
    /// skipped: its settings were combined with the caller's when the run started.
    pub(crate) fn follow_skills(&mut self) {
        let runs = self
            .journal
            .run
            .started()
            .and_then(|started| started.skill.clone());
        let counts =
            |skill: &&Arc<SkillSnapshot>| skill.is_trusted() && runs.as_ref() != Some(&skill.name);
        let trusted: Vec<_> = self
            .active_skills()
            .filter(counts)
            .map(Arc::clone)
            .collect();
        for skill in trusted {
            if let Some(effort) = skill.effects.effort {
                self.effort = Some(effort);
            }
            let Some(name) = &skill.effects.model else {
                continue;
            };
            match self.engine.find_model(name) {
                Ok(model) => self.model = model,
                Err(error) => self.tell(&format!(
                    "skill `{}` requests another model: {error}; continuing with {}",
                    skill.name,
                    self.model.about().name
                )),
            }
        }
    }

    /// Notes a file that was read or written: some skills are visible only for certain files.
    pub(crate) fn touch(&mut self, tool: &str, input: &Value, result: &ToolResult) {
        let Some(path) = input.get("path").and_then(Value::as_str) else {
            return;
        };
        if result.is_error || !is_file_tool(tool) {
            return;
        }
        let Some(context) = Arc::get_mut(&mut self.context) else {
            return;
        };
        let root = &context.settings.paths.workspace;
        let inside = Path::new(path).strip_prefix(root).ok();
        let path = inside.and_then(Path::to_str).unwrap_or(path).to_owned();
        let touched = context.settings.visibility.touched.get_or_insert_default();
        if !touched.contains(&path) && touched.len() < 10_000 {
            touched.push(path);
            self.touched = true;
        }
    }

    /// Resolves and reads the skill that a call loads. A server's skill is read only after the call
    /// was permitted. Returns `None` if the call loads no skill, or an unknown one.
    async fn resolve(&self, call: &ToolCall) -> Result<Option<SkillHandle>, RuntimeError> {
        let name = call.input.get("name").and_then(Value::as_str);
        let Some(name) = name.filter(|_| arguments_field(&call.name).is_some()) else {
            return Ok(None);
        };
        let (context, name) = (Arc::clone(&self.context), name.to_owned());
        blocking(move || {
            let skill = context.resolve(&name, Audience::Model).ok()?;
            if !skill.is_served() {
                // The tool reports the error.
                let _ = skill.read(&context);
            }
            Some(skill)
        })
        .await
    }

    /// Binds the answers about a call to the files of the skill that it loads.
    fn set_subject(&self, skill: Option<&SkillHandle>) {
        let snapshot = skill.and_then(SkillHandle::snapshot);
        let digest = snapshot.as_ref().map(|snapshot| snapshot.digest());
        self.journal.decisions.set_subject(digest);
    }

    /// Returns the names that the matchers of hooks may use for the tool of a call, besides its own.
    fn hook_names(&self, call: &ToolCall) -> &'static [&'static str] {
        if self.starts_agent(call) {
            AGENT_NAMES
        } else {
            rule_names(&call.name)
        }
    }

    /// Runs the hooks of loaded skills before a call that loads a skill or starts an agent.
    async fn hooks_before(&mut self, call: &ToolCall) -> Result<BeforeCall, RuntimeError> {
        let (asked, also) = (call.clone(), self.hook_names(call));
        let outcome = self
            .run_hooks(move |run| {
                let tool = hook_call(&asked, also, &asked.input);
                run(&HookEvent::PreToolUse { tool });
            })
            .await?;
        let Some(outcome) = outcome else {
            return Ok(BeforeCall::Proceed {
                input: call.input.clone(),
                messages: Vec::new(),
            });
        };
        if let Some(said) = &outcome.stop {
            return Ok(BeforeCall::Stop(stop_message(said)));
        }
        let (context, asked) = (Arc::clone(&self.context), call.clone());
        blocking(move || match hook_verdict(&context, &asked, &outcome) {
            Ok(()) => BeforeCall::Proceed {
                input: outcome.updated_input.unwrap_or(asked.input),
                messages: outcome.context,
            },
            Err(refusal) => BeforeCall::Refuse(refusal.to_string()),
        })
        .await
    }

    /// Runs the hooks of loaded skills after a call that no tool answered, and adds their messages to
    /// the result. Returns a reason if one of them stops the run.
    async fn hooks_after(
        &mut self,
        call: &ToolCall,
        result: &mut ToolResult,
    ) -> Result<Option<String>, RuntimeError> {
        let (asked, response) = (call.clone(), Value::String(result.text.clone()));
        let also = self.hook_names(call);
        let outcome = self
            .run_hooks(move |run| {
                let tool = hook_call(&asked, also, &asked.input);
                run(&HookEvent::PostToolUse {
                    tool,
                    response: &response,
                });
            })
            .await?;
        let Some(outcome) = outcome else {
            return Ok(None);
        };
        append_hook_messages(result, outcome.reasons.iter().chain(&outcome.context));
        Ok(outcome.stop.as_ref().map(stop_message))
    }

    /// Runs a skill in a separate conversation and records its result. `before` has the messages
    /// of the hooks before the call, if they ran already.
    async fn fork(
        &mut self,
        call: &ToolCall,
        skill: &SkillHandle,
        before: Option<Vec<Said>>,
        cancel: &CancellationToken,
        span: &Span,
    ) -> Result<(), RuntimeError> {
        // The permission rules and the schema of the tool apply here as well.
        let (tools, context) = (Arc::clone(&self.tools), Arc::clone(&self.context));
        let (asked, resolved) = (call.clone(), Some(skill.clone()));
        let loaded = self.loaded.clone();
        let admitted =
            blocking(move || tools.admit(&context, &loaded, &asked.name, &asked.input, resolved))
                .await?;
        let mut admitted = match admitted {
            Ok(skill) => self.forkable(skill),
            Err(error) => Err(error.to_string()),
        };
        if let Ok((_, snapshot)) = &admitted
            && let Err(why) = self.permit_agent_of(snapshot).await?
        {
            admitted = Err(why);
        }
        let (skill, snapshot) = match admitted {
            Ok(admitted) => admitted,
            Err(why) => {
                trace::failed(span, trace::REFUSED);
                return self.answered(ToolResult::error(call, why)).await;
            }
        };
        trace::skill(span, &snapshot.name, Some(snapshot.digest()));
        self.start_call(call).await?;
        self.journal.decisions.commit();
        let began = Instant::now();
        let arguments = arguments_field(&call.name).and_then(|field| call.input.get(field));
        let sub = SubRun {
            arguments: arguments
                .cloned()
                .map_or_else(Arguments::none, Arguments::from_json),
            parent: Some(ParentSession {
                session: self.journal.id.clone(),
                call: Some(call.id.clone()),
                depth: self.journal.depth + 1,
            }),
            who: Audience::Model,
            ..self.child_run(skill)
        };
        let background_allowed = self.engine.settings().background
            && self.journal.depth == 0
            && !self.has_shared_budget()
            && self.background() < MAX_BACKGROUND;
        let (mut result, usage) = if snapshot.effects.background && background_allowed {
            self.run_in_background(&snapshot.name, sub, cancel);
            let text = format!(
                "Skill `{}` is running in the background. You will get its result when it is done; \
                 do not wait for it.",
                snapshot.name
            );
            (ToolResult::of(call, text), None)
        } else {
            let child = ChildRun::Skill(Box::new(sub));
            let finished = self.run_child(call, child, cancel).await;
            if let Some(ending) = self.stopped_with(&finished) {
                self.end(ending).await?;
                return Ok(());
            }
            match self.child_result(call, &snapshot.name, finished)? {
                Some(result) => result,
                None => return Ok(()),
            }
        };
        append_hook_messages(&mut result, before.iter().flatten());
        self.forked(call, result, usage, began, span).await
    }

    /// Returns the result of a call whose child has finished, and its usage. Returns `None` if the
    /// child waits for an answer: the call waits with it.
    pub(crate) fn child_result(
        &self,
        call: &ToolCall,
        name: &str,
        finished: Result<FinishedRun, RuntimeError>,
    ) -> Result<Option<(ToolResult, Option<TokenUsage>)>, RuntimeError> {
        let finished = match finished {
            Ok(finished) => finished,
            // A store error affects this session as well.
            Err(RuntimeError::Store(error)) => return Err(error.into()),
            Err(error) => return Ok(Some((ToolResult::error(call, error.to_string()), None))),
        };
        if let Ending::Waiting { questions } = finished.ending {
            self.journal.decisions.wait_for(questions);
            return Ok(None);
        }
        let is_skill = arguments_field(&call.name).is_some();
        let noun = if is_skill { "Skill" } else { "Agent" };
        let (text, is_error) = subrun::report_as(noun, name, &finished);
        // The whole text of an agent is in its session.
        let text = if is_skill {
            text
        } else {
            answer::ends(&text, MAX_BYTES, MAX_LINES)
        };
        let result = ToolResult {
            is_error,
            ..ToolResult::of(call, text)
        };
        Ok(Some((result, Some(finished.spent.usage))))
    }

    /// Records the result of a call that ran in a separate conversation, after the hooks.
    pub(crate) async fn forked(
        &mut self,
        call: &ToolCall,
        mut result: ToolResult,
        usage: Option<TokenUsage>,
        began: Instant,
        span: &Span,
    ) -> Result<(), RuntimeError> {
        let stop = self.hooks_after(call, &mut result).await?;
        if result.is_error {
            trace::failed(span, trace::TOOL_ERROR);
        }
        let ended = Event::CallEnded {
            result,
            loaded: Vec::new(),
            unloaded: Vec::new(),
            submitted: None,
            usage,
            milliseconds: milliseconds_since(began),
        };
        self.journal.write(ended).await?;
        if let Some(why) = stop {
            self.end(Ending::Declined { why }).await?;
        }
        Ok(())
    }

    /// Returns an admitted skill with its snapshot, or the reason why it cannot run.
    fn forkable(&self, skill: SkillHandle) -> Result<(SkillHandle, Arc<SkillSnapshot>), String> {
        let snapshot = forked(&skill).ok_or("The skill changed during the call.")?;
        self.agents_of(&snapshot)?;
        Ok((skill, snapshot))
    }

    /// Applies the rules about agents to the one that a skill names. Returns the reason if it may not
    /// start.
    async fn permit_agent_of(
        &self,
        snapshot: &SkillSnapshot,
    ) -> Result<Result<(), String>, RuntimeError> {
        let Some(agent) = snapshot.effects.agent.clone() else {
            return Ok(Ok(()));
        };
        let (context, loaded) = (Arc::clone(&self.context), self.loaded.clone());
        let (engine, task) = (self.engine.clone(), format!("skill {}", snapshot.name));
        blocking(move || {
            let names = engine.agent_names(&agent);
            permit_agent(&context, &loaded, &names, &task).map_err(|error| error.to_string())
        })
        .await
    }

    /// Checks the agent that a skill runs as. Returns the reason if it cannot.
    fn agents_of(&self, snapshot: &SkillSnapshot) -> Result<(), String> {
        let started = self.journal.run.started();
        let above = started.map_or(&[][..], |started| &started.agents);
        let known = self.engine.agents_of(snapshot, above);
        known.map(|_| ()).map_err(|error| error.to_string())
    }

    /// Answers calls that are still open when the user asks for something else.
    pub(crate) async fn close_calls(&mut self, why: &str) -> Result<(), RuntimeError> {
        let open_calls = self.journal.run.open_calls();
        if !open_calls.is_empty() {
            self.withdraw_children().await?;
        }
        for open in open_calls {
            let text = match open.state {
                CallState::Interrupted { .. } => {
                    format!("{why} This call had started; it is unknown whether it had an effect.")
                }
                CallState::New | CallState::TooMany => format!("{why} The tool was not run."),
            };
            self.answered(ToolResult::error(&open.call, text)).await?;
        }
        Ok(())
    }
}

/// Returns the snapshot of a skill that runs in a separate conversation.
fn forked(skill: &SkillHandle) -> Option<Arc<SkillSnapshot>> {
    let snapshot = skill.snapshot().filter(|_| !skill.is_served())?;
    snapshot.effects.forked.then_some(snapshot)
}

/// Returns the event that announces the effects of a call.
fn call_started(call: &ToolCall, read_only: bool) -> Event {
    Event::CallStarted {
        call: call.id.clone(),
        read_only,
        child: None,
    }
}

/// Runs the hooks before a call unless they ran already, the tool, and the hooks after it. Blocks.
#[expect(
    clippy::too_many_arguments,
    reason = "the parts of a session that a thread needs"
)]
fn work(
    context: &ToolContext,
    tools: &Toolset,
    skills: &[Arc<SkillSnapshot>],
    mut loaded: Loaded,
    mut hooks: HookState,
    call: &ToolCall,
    before: Option<Vec<Said>>,
    log: &DecisionLog,
) -> FinishedCall {
    let active: Vec<_> = skills
        .iter()
        .map(|skill| (&skill.effects.hooks, &skill.trust))
        .collect();
    let also = rule_names(&call.name);
    let before = if let Some(context) = before {
        HookOutcome {
            context,
            ..HookOutcome::default()
        }
    } else {
        let event = HookEvent::PreToolUse {
            tool: hook_call(call, also, &call.input),
        };
        run_hooks(context, &active, &event, &mut hooks)
    };
    let mut messages: Vec<String> = Vec::new();
    let mut say = |outcome: &HookOutcome| {
        let said = outcome.messages.iter().chain(&outcome.stop);
        messages.extend(said.map(|said| format!("{}: {}", said.skill, said.text)));
    };
    say(&before);
    let input = before.updated_input.as_ref().unwrap_or(&call.input);
    let stop = before.stop.as_ref().map(stop_message);
    let verdict = match &stop {
        Some(why) => Err(format!("{why}\nThe tool was not run.")),
        None => hook_verdict(context, call, &before).map_err(|refusal| refusal.to_string()),
    };
    if let Err(text) = verdict {
        let result = ToolResult::error(call, text);
        return FinishedCall {
            result,
            submitted: None,
            loaded,
            hooks,
            messages,
            changed: None,
            stop,
        };
    }
    log.set_input(input);
    let answer = tools.call(context, &mut loaded, &call.name, input);
    if !log.waiting().is_empty() {
        // The result is dropped, and the call is made again after the answer.
        return FinishedCall {
            result: ToolResult::error(call, "waiting"),
            submitted: None,
            loaded,
            hooks,
            messages,
            changed: None,
            stop: None,
        };
    }
    log.commit();
    let mut submitted = None;
    let (mut result, response) = match answer {
        Ok(answer) => {
            if matches!(&*call.name, SUBMIT | TASK_COMPLETE) {
                submitted = Some(answer.value.clone());
            }
            let failure = command_failure(&call.name, &answer.value);
            let result = ToolResult {
                images: answer.images,
                command_failure: failure.map(Into::into),
                ..ToolResult::of(call, answer.text)
            };
            (result, answer.value)
        }
        Err(error) => {
            let text = error.to_string();
            (ToolResult::error(call, text.clone()), Value::String(text))
        }
    };
    let after = HookEvent::PostToolUse {
        tool: hook_call(call, also, input),
        response: &response,
    };
    let after = run_hooks(context, &active, &after, &mut hooks);
    say(&after);
    append_hook_messages(
        &mut result,
        before
            .context
            .iter()
            .chain(&after.reasons)
            .chain(&after.context),
    );
    let stop = after.stop.as_ref().map(stop_message);
    FinishedCall {
        result,
        submitted,
        loaded,
        hooks,
        messages,
        changed: before.updated_input,
        stop,
    }
}

/// Appends the messages of hooks to a result.
pub(crate) fn append_hook_messages<'s>(
    result: &mut ToolResult,
    said: impl IntoIterator<Item = &'s Said>,
) {
    for said in said {
        result.text.push_str(&format!(
            "\n\n[hook of skill `{}`: {}]",
            said.skill, said.text
        ));
    }
}

fn stop_message(said: &Said) -> String {
    format!(
        "A hook of skill `{}` stopped the run: {}",
        said.skill, said.text
    )
}

fn hook_call<'c>(call: &'c ToolCall, also: &'c [&'c str], input: &'c Value) -> HookCall<'c> {
    HookCall {
        name: &call.name,
        also,
        input,
        id: Some(&call.id),
    }
}

/// A call that a hook refused. Its text is the message for the model.
#[derive(Debug, thiserror::Error)]
#[error("A hook of skill `{skill}` refused this call: {reason}")]
struct HookRefusal {
    skill: Box<str>,
    reason: String,
}

impl HookRefusal {
    /// Adds the reason that the user gave.
    fn because(mut self, because: Option<String>) -> Self {
        if let Some(because) = because {
            self.reason
                .push_str(&format!(" (the user denied it: {because})"));
        }
        self
    }
}

/// Applies the verdict of hooks to a call, asking the user if a hook requires it.
fn hook_verdict(
    context: &ToolContext,
    call: &ToolCall,
    outcome: &HookOutcome,
) -> Result<(), HookRefusal> {
    let refused = || HookRefusal {
        skill: outcome
            .reasons
            .first()
            .map_or_else(Box::default, |said| Box::from(&*said.skill)),
        reason: outcome.reason(),
    };
    match outcome.verdict {
        Some(Verdict::Deny) => Err(refused()),
        Some(Verdict::Ask) => {
            // Show the user the input as changed by the hook, not the model's original.
            let input = outcome.updated_input.as_ref().unwrap_or(&call.input);
            let what = format!("Calling {}: {input}", call.name);
            let decision = Decision::new(Verdict::Ask, outcome.reason());
            let skill = outcome.reasons.first().map(|said| &*said.skill);
            let question = ApprovalRequest {
                what: &what,
                decision: &decision,
                skill,
                action: None,
                note: None,
            };
            let reply = context.services.approver.reply(&question);
            match context.note(&what, &decision, Some(reply.answer), skill) {
                Ok(()) if reply.answer.allows() => Ok(()),
                Ok(()) | Err(_) => Err(refused().because(reply.because)),
            }
        }
        Some(Verdict::Allow) | None => Ok(()),
    }
}

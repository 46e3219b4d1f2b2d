//! Missions for clients of `prowess mcp --allow-run`: tools that list, start, watch, answer, resume and
//! cancel them.
//!
//! A mission runs on a thread of the server, with the engine, the trust and the record of `mission run`.
//! A client can read and answer only what belongs to the project of the server. It cannot give a
//! permission: that question goes to its user, or waits for `prowess answer`.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use prowess::agent::{Ending, Event, RecordedAnswer, StampedEvent};
use prowess::inspect::{self, PlanOptions};
use prowess::mission::{
    FinishedMission, MissionCancel, MissionResume, cancel_mission, mission_costs, mission_outputs,
};
use prowess::policy::{ApprovalAnswer, Decision, Verdict};
use prowess::tools::{
    Loaded, Tool, ToolAnswer, ToolContext, ToolError, ToolErrorKind, Toolset,
    input::{number, object},
};
use prowess::traits::{
    Answer, AnswerOutcome, ApprovalRequest, Clock, DenyAll, OpenQuestion, QuestionState,
    SessionError, SessionQuery, SessionStore, StoredQuestion, TextReply, TextRequest, Update,
    Watcher,
};
use prowess::{CancellationToken, store::SqliteSessions, store::SystemClock};
use prowess_diag::{sanitize, wording};
use prowess_flow::mission::{MissionBudget, MissionEnding, MissionState, from_json, time_text};
use prowess_registry::mission_folder;
use prowess_tui::text_prompt;
use serde_json::{Value, json};

use crate::args::GlobalArgs;
use crate::async_runtime;
use crate::commands::mission::{ReadProject, wrong_input};
use crate::commands::mission_run::{self, Start};
use crate::commands::questions;
use crate::commands::run::failure;
use crate::env::Environment;
use crate::output::{Failure, Look, Printer};
use crate::permissions;
use crate::runtime_setup::{ModelArgs, Setup, WaitArgs};

/// Maximum number of missions that run at once.
const MAX_AT_ONCE: usize = 8;
/// Maximum number of events in one answer.
const MAX_EVENTS: usize = 200;
/// Maximum number of seconds that `mission_events` waits.
const MAX_WAIT: u64 = 30;
/// The interval at which the record of a run is read while `mission_events` waits.
const READ_INTERVAL: Duration = Duration::from_millis(250);
/// The time that missions have to record their ending after the client has left: a tool that was called
/// has five seconds to end.
const LAST_RECORDS: Duration = Duration::from_secs(6);
/// Maximum number of sessions among which the one of a run is searched.
const MAX_SEARCHED: usize = 2_000;
/// Maximum number of errors of runs that are kept.
const MAX_FAULTS: usize = 64;

/// Adds the tools if missions can run here: their files are in this folder or above, and sessions are
/// stored.
pub(crate) fn add(
    tools: &mut Toolset,
    global: &GlobalArgs,
    environment: &Environment,
    model: &ModelArgs,
) -> Option<MissionHost> {
    mission_folder(&environment.current, environment.home.as_deref())?;
    let host = MissionHost(Arc::new(Host {
        global: global.clone(),
        environment: environment.clone(),
        model: model.clone(),
        store: Arc::new(questions::store(environment)?),
        project: permissions::workspace(environment).to_string_lossy().into(),
        jobs: Mutex::default(),
        changed: Condvar::new(),
        is_closed: AtomicBool::new(false),
    }));
    for action in ACTIONS {
        let host = Arc::clone(&host.0);
        tools.add(Arc::new(MissionTool { action, host }));
    }
    Some(host)
}

/// The missions that a server runs. They are cancelled when it is dropped.
pub(crate) struct MissionHost(Arc<Host>);

impl Drop for MissionHost {
    fn drop(&mut self) {
        let host = &self.0;
        host.is_closed.store(true, Ordering::SeqCst);
        let deadline = Instant::now() + LAST_RECORDS;
        let mut jobs = host.jobs();
        for job in &jobs.running {
            job.cancel.cancel();
        }
        while !jobs.running.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = host.changed.wait_timeout(jobs, left);
            jobs = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

struct Host {
    global: GlobalArgs,
    environment: Environment,
    model: ModelArgs,
    store: Arc<SqliteSessions>,
    /// The project whose runs clients see.
    project: Box<str>,
    jobs: Mutex<Jobs>,
    /// Notified when a run records a fact, and when a job ends.
    changed: Condvar,
    is_closed: AtomicBool,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Jobs {
    next: u64,
    running: Vec<Job>,
    /// Runs that ended with an error of the runtime, latest last.
    faults: Vec<(Box<str>, String)>,
}

struct Job {
    number: u64,
    /// The run, as soon as it is recorded.
    run: Option<Box<str>>,
    cancel: CancellationToken,
}

/// Receives the id of a run that has started, or the reason why it has not.
type StartReport = mpsc::SyncSender<Result<Box<str>, Failure>>;

/// Reports the first session of a job, which is the run, and notes that something was recorded.
struct RunWatcher {
    host: Arc<Host>,
    number: u64,
    started: Mutex<Option<StartReport>>,
}

impl fmt::Debug for RunWatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunWatcher").finish_non_exhaustive()
    }
}

impl Watcher for RunWatcher {
    fn update(&self, session: &str, _depth: u8, update: Update<'_>) {
        // The first fact has the plan: without it there is no run.
        let Update::Event(StampedEvent {
            event: Event::Mission { .. },
            ..
        }) = update
        else {
            return;
        };
        let started = self.started.lock();
        let started = started.unwrap_or_else(PoisonError::into_inner).take();
        if let Some(started) = started {
            let mut jobs = self.host.jobs();
            let job = jobs
                .running
                .iter_mut()
                .find(|job| job.number == self.number);
            if let Some(job) = job {
                job.run = Some(session.into());
            }
            drop(jobs);
            // The request may have been cancelled.
            let _ = started.try_send(Ok(session.into()));
        }
        self.host.changed.notify_all();
    }
}

impl Host {
    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a thread that runs or continues a mission. Returns the id of the run as soon as it is
    /// recorded. A run that a thread has already is not started again: the thread looks for answers
    /// before it ends.
    fn launch(self: &Arc<Self>, how: Start) -> Result<Box<str>, Failure> {
        let cancel = CancellationToken::new();
        let number = {
            let mut jobs = self.jobs();
            if self.is_closed.load(Ordering::SeqCst) {
                return Err(Failure::new("the server is closing"));
            }
            if jobs.running.len() >= MAX_AT_ONCE {
                let message = format!("{MAX_AT_ONCE} missions run here, which is the maximum");
                return Err(
                    Failure::new(message).hint("wait for one to end, or call `cancel_mission`")
                );
            }
            let run = match &how {
                Start::Run(_) => None,
                Start::Resume(run, ..) => Some(run.clone()),
            };
            if let Some(run) = &run
                && jobs.running.iter().any(|job| job.run.as_ref() == Some(run))
            {
                return Ok(run.clone());
            }
            jobs.next += 1;
            let number = jobs.next;
            jobs.running.push(Job {
                number,
                run,
                cancel: cancel.clone(),
            });
            number
        };
        let (sender, started) = mpsc::sync_channel(1);
        let host = Arc::clone(self);
        let work = move || {
            let run = match &how {
                Start::Run(_) => None,
                Start::Resume(run, ..) => Some(run.clone()),
            };
            let watcher = Arc::new(RunWatcher {
                host: Arc::clone(&host),
                number,
                started: Mutex::new(Some(sender.clone())),
            });
            let ended = host.work(how, &watcher, &cancel);
            host.end(number, run, ended, &sender);
        };
        let thread = std::thread::Builder::new().name("mission".to_owned());
        if let Err(error) = thread.spawn(work) {
            self.jobs().running.retain(|job| job.number != number);
            return Err(Failure::new("cannot start a thread for the mission").cause(error));
        }
        let started = started.recv();
        started.unwrap_or_else(|_| Err(Failure::new("the mission ended before it started")))
    }

    /// Runs a mission until it ends, or waits for an answer that has not been given yet.
    fn work(
        &self,
        mut how: Start,
        watcher: &Arc<RunWatcher>,
        cancel: &CancellationToken,
    ) -> Result<(), Failure> {
        let printer = quiet();
        loop {
            let mut setup = Setup::open(&self.global, &self.environment, &printer)?;
            // Standard input and output belong to the client.
            setup.services.approver = Arc::new(DenyAll);
            setup.wait(&WaitArgs::default());
            let _servers = mission_run::connect(&how, &mut setup, &printer)?;
            let services = mission_run::services(&how, &setup, &self.environment, &printer);
            let (services, _client) = services?;
            let _watching = setup.watch();
            let updates = Arc::clone(watcher);
            let approver = Arc::clone(&setup.services.approver);
            let execution = mission_run::execute(
                how,
                &self.model,
                setup,
                (Arc::new(services), approver),
                updates,
                |_, _, _| {},
                cancel,
            );
            let finished = async_runtime::without_interrupts(execution)?;
            let FinishedMission { run, ending, state } = finished;
            let Ending::Waiting { questions } = ending else {
                return Ok(());
            };
            // An answer may have been given while other tasks were running. An answer that is given
            // after this look finds no thread with the run, and starts one.
            let mut jobs = self.jobs();
            let is_answered = questions.iter().any(|id| {
                let found = self.store.question(id);
                found.is_ok_and(|found| matches!(found.state, QuestionState::Answered(_)))
            });
            if cancel.is_cancelled() || !is_answered {
                jobs.running.retain(|job| job.number != watcher.number);
                return Ok(());
            }
            drop(jobs);
            let resume = self.resume(&run, &state, MissionResume::default())?;
            how = Start::Resume(run, Box::new(resume), Box::new(state));
        }
    }

    fn end(
        &self,
        number: u64,
        run: Option<Box<str>>,
        ended: Result<(), Failure>,
        sender: &StartReport,
    ) {
        let mut jobs = self.jobs();
        jobs.running.retain(|job| job.number != number);
        if let Err(failure) = ended {
            if let Some(run) = run {
                jobs.faults.push((run, text_of(&failure)));
                if jobs.faults.len() > MAX_FAULTS {
                    jobs.faults.remove(0);
                }
            }
            // The caller waits if no run was recorded.
            let _ = sender.try_send(Err(failure));
        }
        drop(jobs);
        self.changed.notify_all();
    }

    fn read(&self) -> Result<ReadProject, Failure> {
        ReadProject::read(None, &self.global, &self.environment)
    }

    /// Returns the budget of a run that a client continues: the limits of the server count from now on,
    /// and do not raise those of the run.
    fn continued_budget(
        &self,
        id: &str,
        state: &MissionState,
    ) -> Result<Option<MissionBudget>, Failure> {
        let limits = mission_run::budget(&self.model)?;
        let (own, spent) = (state.budget(), state.spent());
        let limit = |limit: Option<u64>, spent: u64, own: Option<u64>| {
            let limit = limit?.saturating_add(spent);
            Some(own.map_or(limit, |own| own.min(limit)))
        };
        let budget = MissionBudget {
            tokens: limit(limits.tokens, spent.tokens, own.tokens),
            micros: limit(limits.micros, spent.micros, own.micros),
        };
        if budget == MissionBudget::default() {
            return Ok(None);
        }
        // A new budget would raise that of a task that has used up its own.
        let mut tasks = state.tasks();
        let used_up = tasks.find(|(task, it)| {
            let budget = state.task_budget(&task.name);
            budget.reached(it.spent).is_some()
        });
        if let Some((task, _)) = used_up {
            let shown = wording::tick(sanitize::line(&task.name));
            let failure =
                Failure::new(format!("task {shown} of run `{id}` has used up its budget"));
            return Err(failure.hint(format!(
                "the user can raise it with `prowess mission resume {id} --budget tokens=N`"
            )));
        }
        Ok(Some(budget))
    }

    /// Checks the trust in the files of a run, and notes which of them changed.
    fn resume(
        &self,
        id: &str,
        state: &MissionState,
        mut resume: MissionResume,
    ) -> Result<MissionResume, Failure> {
        resume.budget = self.continued_budget(id, state)?;
        mission_run::prepare(
            id,
            &mut resume,
            state,
            false,
            &self.global,
            &self.environment,
            &quiet(),
        )?;
        Ok(resume)
    }

    /// Returns the id, the events and the state of a run of this project.
    fn run(&self, input: &Value) -> Result<(Box<str>, Vec<StampedEvent>, MissionState), Failure> {
        let typed = text(input, "run");
        let unknown = || {
            let run = wording::tick(sanitize::line(typed));
            Failure::new(format!("no run {run} in this project"))
                .hint("call `list_missions` for the runs of this project")
        };
        let id = self.store.find(typed).map_err(|_| unknown())?;
        let events = self.store.events(&id);
        let events = events.map_err(|error| failure(&error.into()))?;
        let is_here = |event: &Event| matches!(event, Event::Started(started) if started.project == self.project);
        if !events.first().is_some_and(|first| is_here(&first.event)) {
            return Err(unknown());
        }
        let state = mission_run::recorded_state(&events)?.ok_or_else(unknown)?;
        Ok((id, events, state))
    }

    /// Describes the state of a run in a word.
    fn word(&self, id: &str) -> &'static str {
        let query = SessionQuery {
            project: Some(self.project.clone()),
            parent: None,
            limit: MAX_SEARCHED,
        };
        let found = self.store.list(&query).unwrap_or_default();
        let found = found.iter().find(|one| *one.id == *id);
        found.map_or("interrupted", mission_run::run_word)
    }

    fn list(&self) -> Result<Value, Failure> {
        let read = self.read()?;
        let zone = self.environment.time_zone();
        let now = time_text(SystemClock.now());
        let options = PlanOptions {
            at: Some(&now),
            zone: &zone,
            ..PlanOptions::default()
        };
        let mut document = inspect::missions(&read.project, &read.reports, options);
        let trust = mission_run::trust_of(&read, &self.environment)?;
        document["trusted"] = trust.is_trusted().into();
        let runs = mission_run::runs(&*self.store, Some(self.project.clone()));
        let runs = runs.iter().map(|run| {
            let mission = run.title.strip_prefix("mission ").unwrap_or(&run.title);
            json!({ "run": run.id, "mission": mission, "state": mission_run::run_word(run), "started": run.started })
        });
        document["runs"] = runs.collect();
        Ok(document)
    }

    fn start(self: &Arc<Self>, input: &Value) -> Result<Value, Failure> {
        let read = self.read()?;
        let mission = read.mission(text(input, "name"))?;
        read.check_run(&mission.name, &self.environment, &quiet())?;
        let mut given = Vec::new();
        for (name, value) in input["inputs"].as_object().into_iter().flatten() {
            let value = from_json(value);
            let checked = mission.check_input(name, &value);
            checked.map_err(|fault| wrong_input(mission, name, fault))?;
            given.push((name.clone(), value));
        }
        let limits = mission_run::budget(&self.model)?;
        let budget = MissionBudget {
            // A client may lower the limits of the server.
            tokens: lower(limits.tokens, number(input, "tokens")),
            ..limits
        };
        let hint = "pass them as `inputs`; `list_missions` shows them";
        let request =
            mission_run::request(&read, mission, (given, hint), budget, &self.environment)?;
        let name = mission.name.clone();
        let run = self.launch(Start::Run(Box::new(request)))?;
        Ok(json!({ "run": run, "mission": name, "state": self.word(&run) }))
    }

    fn status(&self, input: &Value) -> Result<Value, Failure> {
        let (id, ..) = self.run(input)?;
        // First the word: the record of a run that has ended is complete.
        let word = self.word(&id);
        let (_, _, state) = self.run(input)?;
        let open = mission_run::questions(&*self.store, &id);
        let mut document = inspect::mission_run(&id, &state, &open);
        document["state"] = word.into();
        document["outputs"] = mission_outputs(&state);
        let costs = mission_costs(&*self.store, &id).map_err(|error| failure(&error))?;
        document["costs"] = inspect::mission_costs(&costs.unwrap_or_default());
        document["questions"] = open.iter().map(questions::describe).collect();
        let jobs = self.jobs();
        let fault = jobs.faults.iter().rev().find(|(run, _)| *run == id);
        document["error"] = fault.map(|(_, text)| text.as_str()).into();
        Ok(document)
    }

    fn events(&self, input: &Value) -> Result<Value, Failure> {
        let after = number(input, "after").unwrap_or(0);
        let seconds = number(input, "wait_seconds").unwrap_or(0).min(MAX_WAIT);
        let deadline = Instant::now() + Duration::from_secs(seconds);
        loop {
            let (id, ..) = self.run(input)?;
            // First the state: a run that has ended has all its events.
            let state = self.word(&id);
            let (_, events, _) = self.run(input)?;
            let first = usize::try_from(after)
                .unwrap_or(usize::MAX)
                .min(events.len());
            let new = events.get(first..).unwrap_or_default();
            let left = deadline.saturating_duration_since(Instant::now());
            let may_come = state == "running" && !self.is_closed.load(Ordering::SeqCst);
            if new.is_empty() && may_come && !left.is_zero() {
                let waited = self
                    .changed
                    .wait_timeout(self.jobs(), left.min(READ_INTERVAL));
                drop(waited);
                continue;
            }
            let new = new.get(..MAX_EVENTS).unwrap_or(new);
            let shown: Vec<Value> = new.iter().filter_map(described).collect();
            let next = first.saturating_add(new.len());
            return Ok(json!({
                "run": id,
                "state": state,
                "events": shown,
                "next": next,
                "more": next < events.len(),
            }));
        }
    }

    fn answer(self: &Arc<Self>, context: &ToolContext, input: &Value) -> Result<Value, Failure> {
        let typed = text(input, "question");
        let unknown = || {
            let shown = wording::tick(sanitize::line(typed));
            Failure::new(format!("no mission of this project asks question {shown}"))
                .hint("call `mission_status` for the open questions of a run")
        };
        let found = self.store.question(typed).map_err(|_| unknown())?;
        let StoredQuestion { asked, .. } = found;
        if asked.project != self.project {
            return Err(unknown());
        }
        let run = json!({ "run": asked.root });
        let (id, ..) = self.run(&run).map_err(|_| unknown())?;
        let (answer, because) = given_answer(&asked, context, input)?;
        let answer = Answer {
            answer,
            because,
            who: format!("{} (MCP client)", self.environment.user()).into(),
            at: SystemClock.now(),
        };
        let outcome = self.store.answer(&asked.question.id, &answer);
        match outcome.map_err(|error| failure(&error.into()))? {
            AnswerOutcome::Stored => {}
            AnswerOutcome::AlreadyAnswered(_) => {
                let question = &asked.question.id;
                return Err(Failure::new(format!(
                    "question `{question}` was answered already"
                )));
            }
            AnswerOutcome::Gone { why } => {
                let question = &asked.question.id;
                let message = format!("question `{question}` needs no answer any more");
                return Err(Failure::new(message).cause(sanitize::line(&why)));
            }
        }
        // A process that has the run continues with the answer when its other tasks have ended.
        match self.store.take(&id) {
            Ok(lease) => self.store.release(lease),
            Err(SessionError::InUse { .. }) => return self.continued(&id),
            Err(error) => return Err(failure(&error.into())),
        }
        let (id, _, state) = self.run(&run)?;
        let resume = self.resume(&id, &state, MissionResume::default())?;
        self.launch(Start::Resume(id.clone(), Box::new(resume), Box::new(state)))?;
        self.continued(&id)
    }

    fn continued(&self, id: &str) -> Result<Value, Failure> {
        let (_, _, state) = self.run(&json!({ "run": id }))?;
        let mission = state.start().map(|start| &start.mission);
        Ok(json!({ "run": id, "mission": mission, "state": self.word(id) }))
    }

    fn resume_run(self: &Arc<Self>, input: &Value) -> Result<Value, Failure> {
        let (id, _, state) = self.run(input)?;
        let retry: Vec<Box<str>> = input["retry"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|task| task.as_str().map(Into::into))
            .collect();
        match state.ending() {
            Some(MissionEnding::Done) => return self.continued(&id),
            Some(MissionEnding::HandedOver) => {
                let next = state.handed_to().map(|(_, run)| run.to_owned());
                let failure =
                    Failure::new(format!("run `{id}` has handed over to another mission"));
                let next = next.unwrap_or_default();
                return Err(failure.hint(format!("call `resume_mission` with run `{next}`")));
            }
            Some(MissionEnding::Failed { task, .. }) if retry.is_empty() => {
                let shown = wording::tick(sanitize::line(task));
                let failure = Failure::new(format!("run `{id}` failed in task {shown}"));
                return Err(failure.hint(format!("pass `retry` with {shown}")));
            }
            _ => {}
        }
        if let Some(name) = retry.iter().find(|name| state.task(name).is_none()) {
            let shown = wording::tick(sanitize::line(name));
            let failure = Failure::new(format!("run `{id}` has no task {shown}"));
            return Err(failure.hint("call `mission_status` for its tasks"));
        }
        let resume = MissionResume {
            retry,
            ..MissionResume::default()
        };
        let resume = self.resume(&id, &state, resume)?;
        self.launch(Start::Resume(id.clone(), Box::new(resume), Box::new(state)))?;
        self.continued(&id)
    }

    fn cancel(&self, input: &Value) -> Result<Value, Failure> {
        let (id, _, state) = self.run(input)?;
        if state.ending().is_none() {
            let cancelled = cancel_mission(&*self.store, &id, SystemClock.now());
            match cancelled.map_err(|error| failure(&error))? {
                MissionCancel::Cancelled | MissionCancel::Requested => {}
            }
        }
        self.continued(&id)
    }
}

/// Returns a printer for work beside the protocol: only errors and warnings, to standard error.
fn quiet() -> Printer {
    Printer::new(Look {
        quiet: 1,
        progress: false,
        ..Look::default()
    })
}

fn text<'v>(input: &'v Value, name: &str) -> &'v str {
    input[name].as_str().unwrap_or_default()
}

fn lower(limit: Option<u64>, asked: Option<u64>) -> Option<u64> {
    match (limit, asked) {
        (Some(limit), Some(asked)) => Some(limit.min(asked)),
        (limit, asked) => limit.or(asked),
    }
}

/// Describes an event of a run. The plan is left out: `mission_status` has what matters of it.
fn described(stamped: &StampedEvent) -> Option<Value> {
    let StampedEvent { at, event } = stamped;
    let Event::Mission { fact } = event else {
        return None;
    };
    let mut value = fact.clone();
    if let Some(object) = value.as_object_mut() {
        object.remove("plan");
        object.insert("at".to_owned(), (*at).into());
    }
    Some(value)
}

/// Reads the answer of a client, or asks its user. Only a user can allow an action.
fn given_answer(
    asked: &OpenQuestion,
    context: &ToolContext,
    input: &Value,
) -> Result<(RecordedAnswer, Option<String>), Failure> {
    let question = &asked.question;
    let id = sanitize::line(&question.id).into_owned();
    let given: Vec<String> = match &input["answer"] {
        Value::String(text) => vec![text.clone()],
        Value::Array(texts) => {
            let texts = texts.iter().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    if input["decline"].as_bool() == Some(true) {
        return Ok((RecordedAnswer::No, None));
    }
    if let Some(details) = asked.text() {
        if !given.is_empty() {
            let read = details.read(&given).map(RecordedAnswer::Text);
            return read.map(|answer| (answer, None)).map_err(|fault| {
                let text = format!("invalid answer: {}", text_prompt::explain(&fault));
                let choices = details
                    .choices
                    .iter()
                    .map(|choice| wording::tick(sanitize::line(choice)));
                let choices = wording::either(choices);
                let failure = Failure::new(text);
                if choices.is_empty() {
                    failure.hint("pass a text as `answer`")
                } else {
                    failure.hint(format!("pass {choices} as `answer`"))
                }
            });
        }
        let request = TextRequest {
            what: &question.what,
            details,
            agent: question.agent.as_deref(),
            skill: question.skill.as_deref(),
            remaining: None,
        };
        return match context.services.approver.ask_text(&request) {
            TextReply::Given(texts) => Ok((RecordedAnswer::Text(texts), None)),
            TextReply::Refused { because } => Ok((RecordedAnswer::No, because)),
            TextReply::Expired | TextReply::Unavailable => {
                let failure = Failure::new(format!("question `{id}` has no answer yet"));
                Err(failure.hint("pass `answer`"))
            }
        };
    }
    let given = given.join(" ").to_lowercase();
    match &*given {
        "no" | "n" => return Ok((RecordedAnswer::No, None)),
        "" | "yes" | "y" => {}
        _ => {
            let failure = Failure::new("invalid answer: expected `yes` or `no`");
            return Err(failure.hint("pass `no` as `answer`, or leave it out to ask the user"));
        }
    }
    let decision = Decision::new(Verdict::Ask, question.reason.as_str());
    let request = ApprovalRequest {
        what: &question.what,
        decision: &decision,
        skill: question.skill.as_deref().or(question.agent.as_deref()),
        action: None,
        note: None,
    };
    let reply = context.services.approver.reply(&request);
    match reply.answer {
        // One question allows one action.
        answer if answer.allows() => Ok((RecordedAnswer::Once, None)),
        ApprovalAnswer::No => Ok((RecordedAnswer::No, reply.because)),
        _ => {
            let failure = Failure::new(format!(
                "no person has allowed what question `{id}` asks for"
            ));
            Err(failure.hint(format!(
                "run `prowess answer {id} yes` in a terminal, or pass `no` as `answer`"
            )))
        }
    }
}

/// Returns an error as a model reads it.
fn text_of(failure: &Failure) -> String {
    let mut text = failure.message.clone();
    if let Some(cause) = &failure.cause {
        text.push_str(&format!(": {cause}"));
    }
    for hint in &failure.hints {
        text.push_str(&format!("; {hint}"));
    }
    text
}

/// Creates the schema of an object with at least these fields.
fn open_object(fields: &[(&str, Value)], required: &[&str]) -> Value {
    let mut schema = object(fields, required);
    schema["additionalProperties"] = true.into();
    schema
}

/// What a tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MissionAction {
    List,
    Start,
    Status,
    Events,
    Answer,
    Resume,
    Cancel,
}

const ACTIONS: [MissionAction; 7] = [
    MissionAction::List,
    MissionAction::Start,
    MissionAction::Status,
    MissionAction::Events,
    MissionAction::Answer,
    MissionAction::Resume,
    MissionAction::Cancel,
];

/// A tool about missions.
#[derive(Debug)]
struct MissionTool {
    action: MissionAction,
    host: Arc<Host>,
}

impl Tool for MissionTool {
    fn name(&self) -> &'static str {
        match self.action {
            MissionAction::List => "list_missions",
            MissionAction::Start => "start_mission",
            MissionAction::Status => "mission_status",
            MissionAction::Events => "mission_events",
            MissionAction::Answer => "answer_mission",
            MissionAction::Resume => "resume_mission",
            MissionAction::Cancel => "cancel_mission",
        }
    }

    fn description(&self, _context: &ToolContext) -> String {
        match self.action {
            MissionAction::List => {
                "Lists the missions of this project with their inputs, whether their files are \
                 trusted, and their latest runs."
            }
            MissionAction::Start => {
                "Starts a mission in the background and returns the id of the run. Its files must be \
                 trusted. Watch it with mission_events or mission_status."
            }
            MissionAction::Status => {
                "Returns the state of a run: tasks, outputs, cost, and the questions that it waits for."
            }
            MissionAction::Events => {
                "Returns the events of a run after a position. Set wait_seconds to wait for the next \
                 one, and pass `next` of the result as `after` of the next call."
            }
            MissionAction::Answer => {
                "Answers a question of a run, which then continues. A question with choices takes the \
                 text of a choice. A permission is given by the user, who is asked."
            }
            MissionAction::Resume => {
                "Continues a run that was interrupted or cancelled. Set retry to run failed tasks again."
            }
            MissionAction::Cancel => "Cancels a run. It can be resumed.",
        }
        .to_owned()
    }

    fn input_schema(&self) -> Value {
        let run = (
            "run",
            json!({ "type": "string", "minLength": 1, "description": "The id of the run." }),
        );
        match self.action {
            MissionAction::List => object(&[], &[]),
            MissionAction::Start => object(
                &[
                    (
                        "name",
                        json!({ "type": "string", "description": "The name of the mission." }),
                    ),
                    (
                        "inputs",
                        json!({ "type": "object", "description": "The inputs of the mission, by name." }),
                    ),
                    (
                        "tokens",
                        json!({ "type": "integer", "minimum": 1, "description": "Maximum number of tokens." }),
                    ),
                ],
                &["name"],
            ),
            MissionAction::Status | MissionAction::Cancel => object(&[run], &["run"]),
            MissionAction::Events => object(
                &[
                    run,
                    (
                        "after",
                        json!({ "type": "integer", "minimum": 0, "description": "The position after which events are returned (default: 0, all)." }),
                    ),
                    (
                        "wait_seconds",
                        json!({ "type": "integer", "minimum": 0, "maximum": MAX_WAIT, "description": "Waits this long for an event while the mission runs (default: 0)." }),
                    ),
                ],
                &["run"],
            ),
            MissionAction::Answer => object(
                &[
                    (
                        "question",
                        json!({ "type": "string", "minLength": 1, "description": "The id of the question." }),
                    ),
                    (
                        "answer",
                        json!({
                            "type": ["string", "array"],
                            "items": { "type": "string" },
                            "maxItems": 100,
                            "description": "The text or the choices; `yes` or `no` for a permission. Without it, the user is asked.",
                        }),
                    ),
                    (
                        "decline",
                        json!({ "type": "boolean", "description": "Set it to true to give no answer." }),
                    ),
                ],
                &["question"],
            ),
            MissionAction::Resume => object(
                &[
                    run,
                    (
                        "retry",
                        json!({ "type": "array", "items": { "type": "string" }, "maxItems": 100, "description": "Failed tasks to run again." }),
                    ),
                ],
                &["run"],
            ),
        }
    }

    fn output_schema(&self) -> Value {
        let state = ("state", json!({ "type": "string" }));
        let run = ("run", json!({ "type": "string" }));
        let list = json!({ "type": "array" });
        match self.action {
            MissionAction::List => open_object(
                &[
                    ("missions", list.clone()),
                    ("trusted", json!({ "type": "boolean" })),
                    ("runs", list),
                ],
                &["missions", "trusted", "runs"],
            ),
            MissionAction::Status => open_object(
                &[run, state, ("tasks", list.clone()), ("questions", list)],
                &["run", "state", "tasks", "questions"],
            ),
            MissionAction::Events => open_object(
                &[
                    run,
                    state,
                    ("events", list),
                    ("next", json!({ "type": "integer" })),
                    ("more", json!({ "type": "boolean" })),
                ],
                &["run", "state", "events", "next", "more"],
            ),
            _ => open_object(
                &[
                    run,
                    ("mission", json!({ "type": ["string", "null"] })),
                    state,
                ],
                &["run", "mission", "state"],
            ),
        }
    }

    fn is_read_only(&self, _context: &ToolContext) -> bool {
        matches!(
            self.action,
            MissionAction::List | MissionAction::Status | MissionAction::Events
        )
    }

    fn answer(
        &self,
        context: &ToolContext,
        _loaded: &mut Loaded,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        let host = &self.host;
        let answer = match self.action {
            MissionAction::List => host.list(),
            MissionAction::Start => host.start(input),
            MissionAction::Status => host.status(input),
            MissionAction::Events => host.events(input),
            MissionAction::Answer => host.answer(context, input),
            MissionAction::Resume => host.resume_run(input),
            MissionAction::Cancel => host.cancel(input),
        };
        match answer {
            Ok(value) => Ok(ToolAnswer::new(value.to_string(), value)),
            Err(failure) => Err(ToolError::new(ToolErrorKind::Failed, text_of(&failure))),
        }
    }
}

//! Kills a process that runs a session, again and again, and checks the result.
//!
//! The child is this program again. It runs a session on a real SQLite store with commands that each
//! append one line to a file, one of them in a sub-run, and acknowledges every event once it is in
//! the store. The parent kills it with SIGKILL: once at every event, and 200 times at random moments.
//! After each kill another child resumes the session. The test checks that all acknowledged events
//! are in the store, that every line is in the file, and that no line is there twice unless the model
//! was told that it is unknown whether the command had an effect.
//!
//! Another child runs a skill that a user invoked, with two commands in its text. It is killed once
//! at every event, and no command has run whose decision is not in the store.
//!
//! A third session needs approval for a command of a sub-run, and no user is there. It waits, the
//! parent of the test answers, and another child continues it. It is killed once at every event and at
//! random moments, before and after the answer; the outcome is always the same. The same is done with
//! a team, whose orchestrator calls two workers, one of which needs approval, with a mission: a router,
//! an iterator over two items whose agents need approval, and a last task; and with a session that asks
//! for a text, which the model gets exactly once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    dead_code,
    reason = "a test fails by panicking; the modules are shared with the other tests"
)]

#[path = "it/script.rs"]
mod script;
#[path = "it/world.rs"]
mod world;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use prowess_agent::{
    Ending, Event, Message, RecordedAnswer, Request, Run, RunBudget, StampedEvent,
};
use prowess_flow::ProjectFiles;
use prowess_flow::mission::{
    MissionBudget, MissionEnding, MissionProject, MissionSettings, MissionText, ModelRef, ToolRef,
};
use prowess_policy::{PermissionMode, Unattended};
use prowess_registry::Place as RegistryPlace;
use prowess_runtime::{
    Engine, MissionRequest, MissionResume, MissionServices, Pause, RuntimeError, Session, SkillRef,
    SubRun, Update, mission_state,
};
use prowess_spec::ReadFault;
use prowess_store::SqliteSessions;
use prowess_tools::{AgentLibrary, AskHuman, Tool, UserAgentsOnly};
use prowess_traits::{Answer, AnswerOutcome, Model, QuestionQuery, SessionStore};
use serde_json::{Value, json};

use script::{Act, Script, call, calls, conversation, load, says};
use world::{Seeing, World, mode, never, wait};

/// Number of kills at random moments.
const KILLS: usize = 200;
/// Each kill happens after fewer events than this and then within [`DELAY`] microseconds, which is
/// longer than any step between two events.
const EVENTS: u64 = 20;
const DELAY: u64 = 50_000;
/// Number of worlds in parallel.
const AT_ONCE: usize = 4;
/// Number of kills of sessions that ask, at random moments.
const ASKING_KILLS: usize = 60;
/// Number of kills of teams, at random moments.
const TEAM_KILLS: usize = 200;
/// Number of kills of sessions that ask for a text, at random moments.
const TEXT_KILLS: usize = 60;
/// Number of lines that the session's commands write; the sub-run writes one more.
const LINES: usize = 4;
/// Deadline of each of the tests, which take less than a minute on two cores.
const DEADLINE: Duration = Duration::from_mins(5);
const FOLDER: &str = "PROWESS_KILL_FOLDER";
const SESSION: &str = "PROWESS_KILL_SESSION";
const STEPS: &str = "PROWESS_KILL_STEPS";
const SEED: &str = "PROWESS_KILL_SEED";
/// Set if no user is there and every command needs approval.
const ASKS: &str = "PROWESS_KILL_ASKS";
/// Set if the session is that of a team.
const TEAM: &str = "PROWESS_KILL_TEAM";
/// Set if a mission runs.
const MISSION: &str = "PROWESS_KILL_MISSION";
/// Number of kills of missions, at random moments.
const MISSION_KILLS: usize = 200;
/// Set if the session asks for a text.
const TEXT: &str = "PROWESS_KILL_TEXT";
/// The skill to run, instead of the session of the other tests.
const SKILL: &str = "PROWESS_KILL_SKILL";

/// Part of the message that the model gets about an interrupted call.
const TOLD: &str = "it is unknown whether it had an effect";

prowess_test::tests! {
    ; serial: at_every_event at_every_event_of_an_invoked_skill at_random_moments
    at_every_event_around_a_question at_random_moments_around_a_question
    team_at_every_event team_at_random_moments
    mission_at_every_event mission_at_random_moments
    text_question_at_every_event text_question_at_random_moments
}

fn main() -> ExitCode {
    world::HELPER.get_or_init(prowess_sandbox::maybe_run_helper);
    if let Some(folder) = std::env::var_os(FOLDER) {
        child(folder.into());
        return ExitCode::SUCCESS;
    }
    prowess_test::harness::run(tests().into_iter().map(|test| test.deadline(DEADLINE)))
}

/// Decides the next step of the model. It depends only on the request, so that a new process
/// continues in the same way. After an interrupted command the model first reads the log.
fn decide(request: &Request) -> Act {
    let system = request.system.first().map_or("", String::as_str);
    if system.starts_with("You direct task") {
        return decide_commander(system, request);
    }
    if system.starts_with("You are agent `writer`") {
        return decide_writer(request);
    }
    if conversation(request).starts_with("Run skill: invoked") {
        return says("done");
    }
    if conversation(request).starts_with("Run skill: below") {
        return decide_below(request);
    }
    if conversation(request).starts_with("Lead the team") {
        return decide_team(request);
    }
    if conversation(request).starts_with("Worker one") {
        return decide_below(request);
    }
    if conversation(request).starts_with("Worker two") {
        return decide_checker(request);
    }
    if conversation(request).starts_with("Write the line below") {
        return decide_asking(request);
    }
    if conversation(request).starts_with("Ask for the colour") {
        return decide_text(request);
    }
    let mut inputs: BTreeMap<&str, &Value> = BTreeMap::new();
    let mut state: BTreeMap<String, bool> = BTreeMap::new();
    let mut unknown: Vec<String> = Vec::new();
    let mut is_loaded = false;
    for message in &request.messages {
        inputs.extend(message.calls().map(|call| (&*call.id, &call.input)));
        for result in message.results() {
            let input = inputs[&*result.call];
            let line = match &*result.name {
                "bash" => input["command"]
                    .as_str()
                    .unwrap()
                    .split(' ')
                    .nth(1)
                    .unwrap()
                    .to_owned(),
                "load_skill" if input["name"] == "below" => "below".to_owned(),
                "load_skill" => {
                    // Loading writes no line, so it can be repeated.
                    is_loaded |= !result.is_error;
                    continue;
                }
                "read" => {
                    for line in unknown.drain(..) {
                        let there = result.text.contains(&line);
                        state.insert(line, there);
                    }
                    continue;
                }
                other => panic!("{other}"),
            };
            if result.text.contains(TOLD) {
                unknown.push(line);
            } else {
                assert!(!result.is_error, "{}", result.text);
                state.insert(line, true);
            }
        }
    }
    if !unknown.is_empty() {
        return call("read", json!({ "path": "log" }));
    }
    if !is_loaded {
        return load("notes");
    }
    let names: Vec<String> = (0..LINES).map(|at| format!("line-{at}")).collect();
    let open: Vec<&String> = names
        .iter()
        .filter(|name| state.get(*name) != Some(&true))
        .collect();
    let command = |name: &String| ("bash", json!({ "command": format!("echo {name} >> log") }));
    match (&*open, state.get("below")) {
        ([one, two, ..], _) => calls([command(one), command(two)]),
        ([one], _) => calls([command(one)]),
        ([], None | Some(false)) => load("below"),
        ([], Some(true)) => says("done"),
    }
}

/// Decides the next step of a sub-run that writes one line.
fn decide_below(request: &Request) -> Act {
    let write = || call("bash", json!({ "command": "echo below >> log" }));
    match request.messages.iter().flat_map(Message::results).last() {
        None => write(),
        Some(last) if last.text.contains(TOLD) => call("read", json!({ "path": "log" })),
        Some(last) if &*last.name == "read" && !last.text.contains("below") => write(),
        Some(last) => {
            assert!(!last.is_error || &*last.name == "read", "{}", last.text);
            says("done below")
        }
    }
}

/// Decides the next step of a session that leaves the work to a sub-run. After an interrupted call
/// it reads the log.
fn decide_asking(request: &Request) -> Act {
    match request.messages.iter().flat_map(Message::results).last() {
        None => load("below"),
        Some(last) if last.text.contains(TOLD) || last.text.contains("may have run") => {
            call("read", json!({ "path": "log" }))
        }
        Some(last) if &*last.name == "read" && !last.text.contains("below") => load("below"),
        Some(_) => says("done"),
    }
}

/// Decides the next step of a session that asks for a text.
fn decide_text(request: &Request) -> Act {
    match request.messages.iter().flat_map(Message::results).last() {
        None => call("ask_human", json!({ "question": "Which colour?" })),
        Some(last) => {
            assert_eq!(last.text, "The user answered:\nblue");
            says("done")
        }
    }
}

/// Decides the next step of an orchestrator with two workers.
fn decide_team(request: &Request) -> Act {
    let results = request.messages.iter().flat_map(Message::results);
    let called = |result: &&prowess_agent::ToolResult| {
        assert!(!result.is_error, "{}", result.text);
        &*result.name == "call_agent"
    };
    let work = |name: &str, task: &str| call("call_agent", json!({"name": name, "task": task}));
    match results.filter(called).count() {
        0 => work("one", "Worker one: write the line below."),
        1 => work("two", "Worker two: check the log."),
        _ => says("done"),
    }
}

/// Decides the next step of a worker that reads the log.
fn decide_checker(request: &Request) -> Act {
    match request.messages.iter().flat_map(Message::results).last() {
        None => call("read", json!({ "path": "log" })),
        Some(last) => {
            assert!(last.text.contains("below"), "{}", last.text);
            says("checked")
        }
    }
}

/// The mission: a router, an iterator with effects, and a task after it.
const MISSION_TEXT: &str = r#"
model "m" {
  provider = "ollama"
  base_url = "http://127.0.0.1:9"
  aliases  = { x = "x" }
}
agent "writer" {
  model       = models.m.x
  personality = "Writes."
  tools       = [builtins.http.post, builtins.http.get]
}
mission "kill" {
  commander { model = models.m.x }
  agents = [agents.writer]
  dataset "lines" { items = [{ n = 0 }, { n = 1 }] }
  task "choose" {
    objective = "Choose"
    router {
      route {
        target    = tasks.each
        condition = "always"
      }
      route {
        target    = tasks.never
        condition = "never"
      }
    }
  }
  task "each" {
    objective = "Write item-${item.n}."
    send_to   = [tasks.last]
    output {
      field "n" { type = "integer" }
    }
    iterator {
      dataset  = datasets.lines
      parallel = true
    }
  }
  task "never" { objective = "Not this" }
  task "last" { objective = "End it" }
}
"#;

/// Gives the agents of the mission `bash` and `read`.
#[derive(Debug)]
struct Tools(Vec<Arc<dyn Tool>>);

impl MissionServices for Tools {
    fn tools(&self, _: &str, tool: &ToolRef) -> Result<Vec<Arc<dyn Tool>>, String> {
        let name = match tool {
            ToolRef::BuiltIn(name) if &**name == "http.post" => "bash",
            _ => "read",
        };
        let found = self.0.iter().find(|tool| tool.name() == name);
        Ok(found.cloned().into_iter().collect())
    }

    fn model(&self, _: &ModelRef) -> Result<Arc<dyn Model>, String> {
        Err("the model is chosen".to_owned())
    }
}

struct NoFiles;

impl ProjectFiles for NoFiles {
    fn read(&self, _: &str) -> Result<Vec<u8>, ReadFault> {
        Err(ReadFault::Missing)
    }
}

fn mission_request() -> MissionRequest {
    let files = [MissionText {
        path: "kill.hcl".to_owned(),
        bytes: Ok(MISSION_TEXT.as_bytes().to_vec()),
    }];
    let settings = MissionSettings::default();
    let (plan, _) = MissionProject::read(&files, &NoFiles, &settings);
    assert_eq!(plan.missions.len(), 1);
    MissionRequest {
        folder: "/".into(),
        plan,
        digest: "d".into(),
        mission: "kill".into(),
        inputs: serde_json::Map::new(),
        budget: MissionBudget::default(),
    }
}

/// Runs or continues the mission.
async fn run_mission(engine: &Engine) {
    let services = Arc::new(Tools(engine.services().tools.clone()));
    let resumed = match std::env::var(SESSION) {
        Ok(id) => {
            let resume = MissionResume::default();
            let services = Arc::clone(&services);
            match engine.resume_mission(&id, resume, services, &never()).await {
                Err(RuntimeError::NoPlan) => None,
                finished => Some(finished.unwrap()),
            }
        }
        Err(_) => None,
    };
    let finished = if let Some(finished) = resumed {
        finished
    } else {
        let request = mission_request();
        let run = engine.run_mission(request, services, &never()).await;
        run.unwrap()
    };
    if let Ending::Waiting { .. } = finished.ending {
        return;
    }
    let value = json!({ "each": [{ "n": 0 }, { "n": 1 }] });
    assert_eq!(finished.ending, Ending::Submitted { value });
}

/// Returns the task of a conversation.
fn first_message(request: &Request) -> String {
    request
        .messages
        .first()
        .map(Message::text)
        .unwrap_or_default()
}

/// Decides the next step of a commander.
fn decide_commander(system: &str, request: &Request) -> Act {
    let results: Vec<_> = request.messages.iter().flat_map(Message::results).collect();
    let complete = |route: &str| {
        call(
            "task_complete",
            json!({ "summary": "done", "route": route }),
        )
    };
    if system.starts_with("You direct task `choose`") {
        return complete("each");
    }
    if !system.starts_with("You direct task `each`") {
        return call("task_complete", json!({ "summary": "done" }));
    }
    for result in &results {
        assert!(!result.is_error, "{}", result.text);
    }
    let item = u32::from(first_message(request).contains("item-1"));
    let has = |tool: &str| results.iter().any(|result| &*result.name == tool);
    if !has("call_agent") {
        let task = format!("Write item-{item}.");
        call("call_agent", json!({ "name": "writer", "task": task }))
    } else if !has("submit_output") {
        call("submit_output", json!({ "n": item }))
    } else {
        call("task_complete", json!({ "summary": "done" }))
    }
}

/// Decides the next step of the agent that writes a line.
fn decide_writer(request: &Request) -> Act {
    let line = if first_message(request).contains("item-1") {
        "item-1"
    } else {
        "item-0"
    };
    let write = || {
        let command = format!("echo {line} >> log");
        call("bash", json!({ "command": command }))
    };
    match request.messages.iter().flat_map(Message::results).last() {
        None => write(),
        Some(last) if last.text.contains(TOLD) => call("read", json!({ "path": "log" })),
        Some(last) if &*last.name == "read" && !last.text.contains(line) => write(),
        Some(last) => {
            assert!(!last.is_error || &*last.name == "read", "{}", last.text);
            says("written")
        }
    }
}

/// Runs the session to its end and acknowledges each stored event.
fn child(folder: PathBuf) {
    let steps = std::env::var_os(STEPS).is_some();
    let world = World::at(folder);
    let mut parts = world.parts(Script::by(|_, request| decide(request)));
    let asks = std::env::var_os(ASKS).is_some();
    if asks {
        parts.settings.unattended = Unattended::Wait;
    } else {
        mode(&mut parts, PermissionMode::Yolo);
    }
    // Each interrupted command costs two turns, and a session may be killed very often.
    parts.settings.budget = RunBudget::turns(1_000);
    parts.settings.sub_budget = RunBudget::turns(1_000);
    parts.services.sessions = Some(Arc::new(SqliteSessions::new(world.path("../sessions.db"))));
    parts.services.watchers.push(Arc::new(Seeing(
        move |session: &str, update: Update<'_>| {
            let Update::Event(event) = update else { return };
            let line = format!("{session}\t{}\n", serde_json::to_string(event).unwrap());
            let mut out = std::io::stdout().lock();
            out.write_all(line.as_bytes()).unwrap();
            out.flush().unwrap();
            if steps {
                std::io::stdin().read_exact(&mut [0]).unwrap();
            }
        },
    )));
    let team = std::env::var_os(TEAM).is_some();
    if team {
        let place = RegistryPlace {
            current: world.path(""),
            home: Some(world.path("~")),
            ..RegistryPlace::default()
        };
        let library = AgentLibrary::new(place, Arc::new(UserAgentsOnly));
        parts.services.agents = Some(Arc::new(library));
    }
    let mission = std::env::var_os(MISSION).is_some();
    parts.settings.is_model_chosen |= mission;
    let asks_for_text = std::env::var_os(TEXT).is_some();
    if asks_for_text {
        parts.services.tools.push(Arc::new(AskHuman));
    }
    let engine = Engine::new(parts).unwrap();
    if mission {
        wait(run_mission(&engine));
        return;
    }
    if let Ok(skill) = std::env::var(SKILL) {
        let sub = SubRun::new(SkillRef::Name(skill.into()));
        let finished = wait(engine.run_skill(sub, &never())).unwrap();
        assert_eq!(finished.text, "done");
        return;
    }
    wait(async {
        let mut session = match std::env::var(SESSION) {
            Ok(id) => Session::resume(&engine, &id, None).await.unwrap(),
            Err(_) if team => Session::start_agent(&engine, "dev", "kill", &never())
                .await
                .unwrap(),
            Err(_) => Session::start(&engine, "kill").await.unwrap(),
        };
        if session.run().messages().is_empty() {
            let task = if asks_for_text {
                "Ask for the colour."
            } else if team {
                "Lead the team."
            } else if asks {
                "Write the line below."
            } else {
                "Write the lines."
            };
            session.say(task, &never()).await.unwrap();
        }
        let pause = session.proceed(&never()).await.unwrap();
        if asks && matches!(pause, Pause::Ended(Ending::Waiting { .. })) {
            return;
        }
        assert_eq!(pause, Pause::Answered("done".into()));
    });
}

/// A world in which a session is killed.
struct Place {
    world: World,
    /// The session, once it has started.
    session: Option<String>,
    /// The acknowledged events, by session.
    said: BTreeMap<String, Vec<StampedEvent>>,
    /// The skill to run, if any.
    skill: Option<&'static str>,
    /// `true` if no user is there and every command needs approval.
    asks: bool,
    /// `true` if the session is that of a team.
    team: bool,
    /// `true` if a mission runs.
    mission: bool,
    /// `true` if the session asks for a text.
    text: bool,
}

impl Place {
    fn new() -> Self {
        let world = World::new();
        world.skill("notes", "", "Write lines into the log.");
        world.skill("below", "context: fork\n", "Write the line below.");
        Self {
            world,
            session: None,
            said: BTreeMap::new(),
            skill: None,
            asks: false,
            team: false,
            mission: false,
            text: false,
        }
    }

    /// Creates a world whose session waits for answers.
    fn asking() -> Self {
        Self {
            asks: true,
            ..Self::new()
        }
    }

    /// Creates a world whose session asks for a text.
    fn text() -> Self {
        Self {
            text: true,
            ..Self::asking()
        }
    }

    /// Creates a world whose session is that of a team of Planck that waits for answers.
    fn team() -> Self {
        let place = Self::asking();
        let member = |name: &str, tools: Value| json!({"type": name, "name": name, "description": name, "provider": "p", "model_id": "m", "system_prompt": "Work.", "tools": tools});
        let mut lead = member("orchestrator", json!([]));
        lead["skills"] = json!([]);
        let members = json!([
            lead,
            member("one", json!(["bash", "read"])),
            member("two", json!(["read"]))
        ]);
        let team = json!({"name": "dev", "members": members});
        place
            .world
            .file("~/.planck/teams/dev/TEAM.json", team.to_string());
        Self {
            team: true,
            ..place
        }
    }

    /// Creates a world in which a mission runs that waits for answers.
    fn mission() -> Self {
        Self {
            mission: true,
            ..Self::asking()
        }
    }

    /// Returns the lines that the commands write.
    fn lines(&self) -> &'static [&'static str] {
        if self.mission {
            &["item-0", "item-1"]
        } else {
            &["below"]
        }
    }

    fn start(&self, steps: bool) -> Child {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env(FOLDER, self.world.root());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        if let Some(session) = &self.session {
            command.env(SESSION, session);
        }
        if steps {
            command.env(STEPS, "1");
        }
        if let Some(skill) = self.skill {
            command.env(SKILL, skill);
        }
        if self.asks {
            command.env(ASKS, "1");
        }
        if self.team {
            command.env(TEAM, "1");
        }
        if self.mission {
            command.env(MISSION, "1");
        }
        if self.text {
            command.env(TEXT, "1");
        }
        command.spawn().unwrap()
    }

    /// Parses and stores an acknowledgement of a child.
    fn acknowledge(&mut self, line: &str) {
        // Ignore a line that was truncated by the kill.
        let Some((session, event)) = line
            .strip_suffix('\n')
            .and_then(|line| line.split_once('\t'))
        else {
            return;
        };
        let event: StampedEvent = serde_json::from_str(event).unwrap();
        // A run that was killed before its plan was stored is started again.
        if matches!(&event.event, Event::Started(started) if started.mission.is_some()) {
            self.session = Some(session.to_owned());
        }
        self.session.get_or_insert_with(|| session.to_owned());
        self.said.entry(session.to_owned()).or_default().push(event);
    }

    /// Asserts that no acknowledged event is lost and that the stored events are valid.
    fn check_store(&self) {
        let store = SqliteSessions::new(self.world.path("../sessions.db"));
        for (session, said) in &self.said {
            let stored = store.events(session).unwrap();
            let mut rest = stored.iter();
            for event in said {
                assert!(rest.any(|known| known == event), "lost: {event:?}");
            }
            Run::replay(&stored).unwrap();
        }
    }

    /// Runs the session to its end without a kill.
    fn finish(&mut self) {
        let mut child = self.start(false);
        for line in lines(&mut child) {
            self.acknowledge(&line);
        }
        assert!(child.wait().unwrap().success());
    }

    /// Checks the final state. Returns the number of interruptions that the model was told about and
    /// the number of duplicate lines.
    fn check_end(&self) -> (usize, usize) {
        self.check_store();
        let store = SqliteSessions::new(self.world.path("../sessions.db"));
        let events = store.events(self.session.as_ref().unwrap()).unwrap();
        let run = Run::replay(&events).unwrap();
        assert_eq!(run.answer(), "done");
        let told = run
            .messages()
            .iter()
            .flat_map(Message::results)
            .filter(|result| result.text.contains(TOLD))
            .count();
        let log = self.world.read("log");
        let mut names: Vec<String> = (0..LINES).map(|at| format!("line-{at}")).collect();
        names.push("below".to_owned());
        let mut twice = 0;
        for name in &names {
            let times = log.lines().filter(|line| line == name).count();
            assert!(times >= 1, "{name} is missing in {log:?}");
            twice += times - 1;
        }
        assert_eq!(
            log.lines().count(),
            names.len() + twice,
            "unexpected lines in {log:?}"
        );
        assert!(
            twice <= told,
            "{twice} duplicate lines, but only {told} interruptions reported: {log:?}"
        );
        (told, twice)
    }
}

impl Place {
    fn store(&self) -> SqliteSessions {
        SqliteSessions::new(self.world.path("../sessions.db"))
    }

    /// Answers all open questions. Returns their number.
    fn answer(&self) -> usize {
        let store = self.store();
        let query = QuestionQuery {
            project: None,
            limit: 100,
        };
        let open = store.questions(&query).unwrap();
        for asked in &open {
            let text = || RecordedAnswer::Text(vec!["blue".into()]);
            let answer = Answer {
                answer: asked.text().map_or(RecordedAnswer::Once, |_| text()),
                because: None,
                who: "ada".into(),
                at: 1,
            };
            let stored = store.answer(&asked.question.id, &answer).unwrap();
            assert_eq!(stored, AnswerOutcome::Stored);
        }
        open.len()
    }

    /// Returns `true` if the session has answered.
    fn is_done(&self) -> bool {
        let Some(id) = &self.session else {
            return false;
        };
        if self.mission {
            let state = mission_state(&self.store().events(id).unwrap());
            let state = state.ok().flatten();
            return state.is_some_and(|state| state.ending() == Some(&MissionEnding::Done));
        }
        let run = Run::replay(&self.store().events(id).unwrap()).unwrap();
        run.open_calls().is_empty() && run.answer() == "done"
    }

    /// Continues the session and answers its questions until it is done.
    fn finish_asking(&mut self) {
        for _ in 0..20 {
            if self.is_done() {
                return;
            }
            self.finish();
            self.answer();
        }
        panic!("the session does not end: {:?}", self.said);
    }

    /// Checks the final state of a session that asked: its command ran once, or each repetition was
    /// approved. Returns the number of questions.
    fn check_asked(&self) -> usize {
        self.check_store();
        assert!(self.is_done());
        let store = self.store();
        let (mut asked, mut answered) = (0, 0);
        for session in self.said.keys() {
            for stamped in store.events(session).unwrap() {
                asked += usize::from(matches!(stamped.event, Event::Questioned(_)));
                answered += usize::from(matches!(stamped.event, Event::Answered { .. }));
            }
        }
        let log = self.world.read("log");
        for line in self.lines() {
            assert!(log.lines().any(|known| known == *line), "{line} is missing");
        }
        let times = log.lines().count();
        let known = log.lines().filter(|line| self.lines().contains(line));
        assert_eq!(known.count(), times, "unexpected lines in {log:?}");
        assert!(times <= answered, "{times} lines with {answered} answers");
        asked
    }
}

impl Place {
    /// Checks the final state of a session that asked for a text: one question, one answer, and one
    /// result.
    fn check_text(&self) {
        self.check_store();
        assert!(self.is_done());
        let events = self.store().events(self.session.as_ref().unwrap()).unwrap();
        let count = |wanted: fn(&Event) -> bool| {
            let found = events.iter().filter(|stamped| wanted(&stamped.event));
            found.count()
        };
        assert_eq!(count(|event| matches!(event, Event::Questioned(_))), 1);
        assert_eq!(count(|event| matches!(event, Event::Answered { .. })), 1);
        assert_eq!(count(|event| matches!(event, Event::CallEnded { .. })), 1);
        assert_eq!(self.answer(), 0, "no question is left");
    }
}

/// Kills a session that asks for a text once at each event, before and after the answer.
fn text_question_at_every_event() {
    let mut killed = 0;
    for event in 1.. {
        let mut place = Place::text();
        if !kill_asking_at(&mut place, event) {
            place.check_text();
            break;
        }
        killed = event;
        place.check_store();
        place.finish_asking();
        place.check_text();
    }
    println!("text_question_at_every_event: {killed} kills");
    assert!(killed > 10, "{killed} events");
}

/// Kills sessions that ask for a text at random moments, and answers between the kills.
fn text_question_at_random_moments() {
    let mut random = Random(0x7E87);
    let mut kills = 0;
    while kills < TEXT_KILLS {
        let mut place = Place::text();
        while !place.is_done() && kills < TEXT_KILLS {
            if kill_after(&mut place, random.below(12), random.below(DELAY)) {
                kills += 1;
            }
            place.check_store();
            // An answer may come at any time, also while no process runs.
            if random.below(2) == 0 {
                place.answer();
            }
        }
        place.finish_asking();
        place.check_text();
    }
    println!("text_question_at_random_moments: {kills} kills");
}

/// Kills a session that asks at its n-th event, whichever process writes it. Returns `false` if it has
/// fewer events.
fn kill_asking_at(place: &mut Place, event: usize) -> bool {
    let mut heard = 0;
    while !place.is_done() {
        let mut child = place.start(true);
        let mut stdin: ChildStdin = child.stdin.take().unwrap();
        for line in lines(&mut child) {
            place.acknowledge(&line);
            heard += 1;
            if heard == event {
                child.kill().unwrap();
                child.wait().unwrap();
                return true;
            }
            stdin.write_all(b"!").unwrap();
        }
        assert!(child.wait().unwrap().success());
        place.answer();
    }
    false
}

/// Kills a session that asks once at each event, before and after the answer.
fn at_every_event_around_a_question() {
    asking_at_every_event("at_every_event_around_a_question", Place::asking);
}

/// The same, with a team of two workers.
fn team_at_every_event() {
    asking_at_every_event("team_at_every_event", Place::team);
}

/// The same, with a mission.
fn mission_at_every_event() {
    asking_at_every_event("mission_at_every_event", Place::mission);
}

fn asking_at_every_event(test: &str, make: fn() -> Place) {
    let began = Instant::now();
    let next = AtomicUsize::new(1);
    let killed = AtomicUsize::new(0);
    let twice = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let mut place = make();
                    if !kill_asking_at(&mut place, next.fetch_add(1, Ordering::SeqCst)) {
                        return;
                    }
                    killed.fetch_add(1, Ordering::SeqCst);
                    place.check_store();
                    place.finish_asking();
                    place.check_asked();
                    let lines = place.world.read("log").lines().count();
                    twice.fetch_add(lines - place.lines().len(), Ordering::SeqCst);
                }
            });
        }
    });
    let (killed, twice) = (killed.into_inner(), twice.into_inner());
    println!(
        "{test}: {killed} kills, {twice} duplicate lines, {} s",
        began.elapsed().as_secs()
    );
    assert!(killed > 25, "{killed} events");
    assert_eq!(twice, 0, "the command had either finished or not started");
}

/// Kills sessions that ask at random moments, and answers their questions between the kills.
fn at_random_moments_around_a_question() {
    asking_at_random(
        "at_random_moments_around_a_question",
        Place::asking,
        ASKING_KILLS,
    );
}

/// The same, with a team of two workers.
fn team_at_random_moments() {
    asking_at_random("team_at_random_moments", Place::team, TEAM_KILLS);
}

/// The same, with a mission.
fn mission_at_random_moments() {
    asking_at_random("mission_at_random_moments", Place::mission, MISSION_KILLS);
}

fn asking_at_random(test: &str, make: fn() -> Place, most: usize) {
    let began = Instant::now();
    let kills = AtomicUsize::new(0);
    let questions = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (kills, questions) = (&kills, &questions);
        for worker in 0..AT_ONCE as u64 {
            scope.spawn(move || {
                let mut random = Random(0x5EED ^ (worker + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
                while kills.load(Ordering::SeqCst) < most {
                    let mut place = make();
                    while !place.is_done() && kills.load(Ordering::SeqCst) < most {
                        if kill_after(&mut place, random.below(12), random.below(DELAY)) {
                            kills.fetch_add(1, Ordering::SeqCst);
                        }
                        place.check_store();
                        // An answer may come at any time, also while no process runs.
                        if random.below(2) == 0 {
                            place.answer();
                        }
                    }
                    place.finish_asking();
                    questions.fetch_add(place.check_asked(), Ordering::SeqCst);
                }
            });
        }
    });
    println!(
        "{test}: {} kills, {} questions, {} s",
        kills.into_inner(),
        questions.into_inner(),
        began.elapsed().as_secs()
    );
}

/// Returns the lines that a child writes, with their line endings.
fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    std::iter::from_fn(move || {
        let mut line = String::new();
        (reader.read_line(&mut line).unwrap_or(0) > 0).then_some(line)
    })
}

/// Kills a child once at each event, directly after it is stored.
fn at_every_event() {
    let began = Instant::now();
    let next = AtomicUsize::new(1);
    let (killed, told, twice) = (
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        AtomicUsize::new(0),
    );
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let mut place = Place::new();
                    if !kill_at(&mut place, next.fetch_add(1, Ordering::SeqCst)) {
                        return;
                    }
                    killed.fetch_add(1, Ordering::SeqCst);
                    place.check_store();
                    place.finish();
                    let seen = place.check_end();
                    told.fetch_add(seen.0, Ordering::SeqCst);
                    twice.fetch_add(seen.1, Ordering::SeqCst);
                }
            });
        }
    });
    let (killed, told, twice) = (killed.into_inner(), told.into_inner(), twice.into_inner());
    println!(
        "at_every_event: {killed} kills, {told} interrupted calls reported, {twice} duplicate lines, {} s",
        began.elapsed().as_secs()
    );
    assert!(killed > 30, "{killed} events");
    assert_eq!(twice, 0, "every command had either finished or not started");
    assert!(told >= LINES, "{told}");
}

/// Kills a child that runs a skill with two commands, once at each event.
fn at_every_event_of_an_invoked_skill() {
    let (mut lines_seen, mut interrupted) = (Vec::new(), 0);
    for event in 1.. {
        let mut place = Place::new();
        place.skill = Some("invoked");
        place.world.skill(
            "invoked",
            "",
            "Lines: !`echo one >> log` !`echo two >> log`",
        );
        if !kill_at(&mut place, event) {
            break;
        }
        place.check_store();
        let store = SqliteSessions::new(place.world.path("../sessions.db"));
        let id = place.session.clone().unwrap();
        let events = store.events(&id).unwrap();
        let log = || std::fs::read_to_string(place.world.path("log")).unwrap_or_default();
        let lines = log().lines().count();
        let has = |wanted: fn(&Event) -> bool| {
            let found = events.iter().filter(|stamped| wanted(&stamped.event));
            found.count()
        };
        let decided = has(|event| matches!(event, Event::Decided(_)));
        // The process waited after its last event, so a command that was just allowed has not run.
        // Both commands are judged before the first one runs.
        let pending = matches!(events.last().unwrap().event, Event::Decided(_));
        let expected = if pending { 0 } else { decided };
        assert_eq!(lines, expected, "event {event}");
        assert!(
            lines == 0 || has(|event| matches!(event, Event::ActivationStarted { .. })) == 1,
            "event {event}"
        );
        lines_seen.push(lines);
        // Another process resumes the run. It does not run the commands again.
        let model = Script::by(|_, request| decide(request));
        let mut parts = place.world.parts(model);
        mode(&mut parts, PermissionMode::Yolo);
        parts.services.sessions = Some(Arc::new(store));
        let engine = Engine::new(parts).unwrap();
        let pause = wait(async {
            let mut session = Session::resume(&engine, &id, None).await.unwrap();
            session.proceed(&never()).await.unwrap()
        });
        if has(|event| matches!(event, Event::Said { .. })) == 0 {
            interrupted += 1;
            assert!(
                matches!(pause, Pause::Ended(Ending::Failed { .. })),
                "event {event}: {pause:?}"
            );
        } else {
            assert_eq!(pause, Pause::Answered("done".into()), "event {event}");
        }
        assert_eq!(log().lines().count(), lines, "event {event}");
    }
    println!(
        "at_every_event_of_an_invoked_skill: {} kills, {interrupted} before the first message",
        lines_seen.len()
    );
    for lines in [0, 2] {
        assert!(lines_seen.contains(&lines), "{lines_seen:?}");
    }
    assert!(interrupted >= 4, "{interrupted}");
}

/// Kills a child at its n-th event. Returns `false` if it has fewer events.
fn kill_at(place: &mut Place, event: usize) -> bool {
    let mut child = place.start(true);
    let mut stdin: ChildStdin = child.stdin.take().unwrap();
    let mut heard = 0;
    for line in lines(&mut child) {
        place.acknowledge(&line);
        heard += 1;
        if heard == event {
            break;
        }
        stdin.write_all(b"!").unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    heard == event
}

/// Kills children at random moments, [`KILLS`] times.
fn at_random_moments() {
    let began = Instant::now();
    let seed = std::env::var(SEED)
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| {
            let now = std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .unwrap();
            u64::from(now.subsec_nanos()) | 1
        });
    println!("seed {seed} (repeat with {SEED}={seed})");
    let kills = AtomicUsize::new(0);
    let sums: Vec<(usize, usize, usize)> = std::thread::scope(|scope| {
        let kills = &kills;
        let workers: Vec<_> = (0..AT_ONCE as u64)
            .map(|worker| {
                scope.spawn(move || {
                    let mut random =
                        Random(seed ^ (worker + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
                    let mut sum = (0, 0, 0);
                    while kills.load(Ordering::SeqCst) < KILLS {
                        let mut place = Place::new();
                        while kill_after(&mut place, random.below(EVENTS), random.below(DELAY)) {
                            place.check_store();
                            if kills.fetch_add(1, Ordering::SeqCst) + 1 >= KILLS {
                                place.finish();
                                break;
                            }
                        }
                        let (told, twice) = place.check_end();
                        sum = (sum.0 + 1, sum.1 + told, sum.2 + twice);
                    }
                    sum
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .collect()
    });
    let sum = |part: fn(&(usize, usize, usize)) -> usize| sums.iter().map(part).sum::<usize>();
    println!(
        "at_random_moments: {} kills of {} sessions, {} interrupted calls reported, {} duplicate lines (all reported), {} s",
        kills.into_inner(),
        sum(|one| one.0),
        sum(|one| one.1),
        sum(|one| one.2),
        began.elapsed().as_secs()
    );
}

/// Kills a child `micros` microseconds after its first `events` events. Returns `false` if the child
/// finished before.
fn kill_after(place: &mut Place, events: u64, micros: u64) -> bool {
    let mut child = place.start(false);
    let (say, heard) = mpsc::channel();
    let all = lines(&mut child);
    let reader = std::thread::spawn(move || all.for_each(|line| drop(say.send(line))));
    let mut said: Vec<String> = Vec::new();
    while (said.len() as u64) < events
        && let Ok(line) = heard.recv()
    {
        said.push(line);
    }
    let until = Instant::now() + Duration::from_micros(micros);
    while let Ok(line) = heard.recv_timeout(until.saturating_duration_since(Instant::now())) {
        said.push(line);
    }
    // It may already have finished.
    child.kill().unwrap();
    let status = child.wait().unwrap();
    reader.join().unwrap();
    said.extend(heard);
    for line in &said {
        place.acknowledge(line);
    }
    assert!(
        status.success() || status.code().is_none(),
        "the child failed: {status}"
    );
    !status.success()
}

/// A seeded pseudo-random number generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}

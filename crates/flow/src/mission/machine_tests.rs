//! Tests of the mission machine: what may start, what is recorded, and what a restart keeps.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// A project without other files.
struct NoFiles;

impl ProjectFiles for NoFiles {
    fn read(&self, _: &str) -> Result<Vec<u8>, ReadFault> {
        Err(ReadFault::Missing)
    }
}

/// Reads a mission with these tasks.
fn plan(tasks: &str) -> MissionProject {
    plan_with("", tasks)
}

fn plan_with(settings: &str, tasks: &str) -> MissionProject {
    let text = format!(
        "model \"m\" {{\n  provider = \"ollama\"\n  base_url = \"http://localhost\"\n  aliases = {{ x = \"x\" }}\n}}\n\
         agent \"a\" {{\n  model = models.m.x\n  personality = \"p\"\n}}\n\
         mission \"m\" {{\n  commander {{ model = models.m.x }}\n  agents = [agents.a]\n{settings}\n{tasks}\n}}\n\
         mission \"next\" {{\n  commander {{ model = models.m.x }}\n  agents = [agents.a]\n  task \"n\" {{ objective = \"n\" }}\n}}\n"
    );
    let files = [MissionText {
        path: "a.hcl".to_owned(),
        bytes: Ok(text.into_bytes()),
    }];
    let none = |_: &str| None;
    let library = Vec::new;
    let settings = MissionSettings {
        variable: &none,
        plugin: &none,
        library: &library,
    };
    let (project, reports) = MissionProject::read(&files, &NoFiles, &settings);
    let errors: Vec<String> = reports
        .iter()
        .flat_map(|report| &report.diagnostics)
        .filter(|found| found.severity == prowess_diag::Severity::Error)
        .map(|found| found.message.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    // As it is stored: without the spans of definitions.
    serde_json::from_value(serde_json::to_value(&project).unwrap()).unwrap()
}

fn start(plan: MissionProject) -> MissionEvent {
    MissionEvent::Started(Box::new(MissionStart {
        version: MISSION_VERSION,
        plan,
        mission: "m".into(),
        ..MissionStart::default()
    }))
}

/// A run with a list of its events.
struct Runner {
    state: MissionState,
    events: Vec<MissionEvent>,
}

impl Runner {
    fn new(plan: MissionProject) -> Self {
        let mut runner = Self {
            state: MissionState::default(),
            events: Vec::new(),
        };
        runner.record(vec![start(plan)]);
        runner
    }

    fn record(&mut self, events: Vec<MissionEvent>) {
        for event in events {
            self.state.apply(&event).unwrap();
            self.events.push(event);
        }
    }

    /// Records what the machine asks for until it waits or ends. Returns the units that start.
    fn advance(&mut self) -> (Vec<MissionUnit>, MissionStep) {
        let mut all = Vec::new();
        loop {
            match self.state.next() {
                MissionStep::Start { events, units } => {
                    assert!(!events.is_empty());
                    self.record(events);
                    all.extend(units);
                }
                MissionStep::Record(events) => self.record(events),
                step => return (all, step),
            }
        }
    }

    fn finish(&mut self, unit: &MissionUnit, result: UnitResult) {
        let events = self.state.finished(unit, result);
        self.record(events);
    }

    fn done(&mut self, task: &str) {
        self.finish(&unit(task), done());
    }

    fn names(units: &[MissionUnit]) -> Vec<String> {
        units.iter().map(ToString::to_string).collect()
    }
}

fn unit(task: &str) -> MissionUnit {
    MissionUnit {
        task: task.into(),
        item: None,
    }
}

fn item(task: &str, item: usize) -> MissionUnit {
    MissionUnit {
        task: task.into(),
        item: Some(item),
    }
}

fn done() -> UnitResult {
    ended(TaskEnding::Done)
}

fn failed(reason: &str) -> UnitResult {
    ended(TaskEnding::Failed {
        reason: reason.to_owned(),
    })
}

fn ended(how: TaskEnding) -> UnitResult {
    UnitResult {
        how,
        summary: "s".to_owned(),
        route: None,
        outputs: Vec::new(),
        datasets: Vec::new(),
        usage: MissionUsage::default(),
        limit: None,
    }
}

fn routed(to: RouteTarget) -> UnitResult {
    UnitResult {
        route: Some(ChosenRoute {
            to,
            inputs: serde_json::Map::new(),
        }),
        ..done()
    }
}

const DIAMOND: &str = "task \"a\" { objective = \"a\" }\n\
    task \"b\" {\n objective = \"b\"\n depends_on = [tasks.a]\n}\n\
    task \"c\" {\n objective = \"c\"\n depends_on = [tasks.a]\n}\n\
    task \"d\" {\n objective = \"d\"\n depends_on = [tasks.b, tasks.c]\n}";

#[test]
fn diamond_runs_in_order_and_side_by_side() {
    let mut run = Runner::new(plan(DIAMOND));
    let (units, step) = run.advance();
    assert_eq!(Runner::names(&units), ["a"]);
    assert_eq!(step, MissionStep::Wait);
    run.done("a");
    assert_eq!(Runner::names(&run.advance().0), ["b", "c"]);
    run.done("c");
    assert_eq!(run.advance(), (Vec::new(), MissionStep::Wait));
    run.done("b");
    assert_eq!(Runner::names(&run.advance().0), ["d"]);
    assert_eq!(run.state.ancestors("d"), ["a", "b", "c"]);
    run.done("d");
    assert_eq!(run.advance().1, MissionStep::End(MissionEnding::Done));
}

#[test]
fn at_most_max_parallel_tasks_run() {
    let tasks: String = (0..6)
        .map(|n| format!("task \"t{n}\" {{ objective = \"o\" }}\n"))
        .collect();
    let mut run = Runner::new(plan_with("max_parallel = 2", &tasks));
    assert_eq!(Runner::names(&run.advance().0), ["t0", "t1"]);
    run.done("t1");
    assert_eq!(Runner::names(&run.advance().0), ["t2"]);
    // A task that waits for a person leaves its place to others.
    run.record(vec![MissionEvent::Waiting {
        task: "t0".into(),
        item: None,
        questions: vec!["q1".into()],
    }]);
    assert_eq!(Runner::names(&run.advance().0), ["t3"]);
}

#[test]
fn failed_task_stops_what_depends_on_it() {
    let mut run = Runner::new(plan(DIAMOND));
    run.advance();
    run.done("a");
    run.advance();
    run.finish(&unit("b"), failed("no"));
    // The task beside it still ends.
    assert_eq!(run.advance(), (Vec::new(), MissionStep::Wait));
    run.done("c");
    let ending = MissionEnding::Failed {
        task: "b".into(),
        reason: "no".to_owned(),
    };
    assert_eq!(run.advance().1, MissionStep::End(ending.clone()));
    run.record(vec![MissionEvent::Ended {
        how: ending.clone(),
    }]);
    // Without `--retry` it ends as before.
    let resumed = |retry: &[&str]| MissionEvent::Resumed {
        changed: Vec::new(),
        retry: retry.iter().map(|name| Box::from(*name)).collect(),
        budget: None,
        plan: None,
    };
    run.record(vec![resumed(&[])]);
    assert_eq!(run.advance().1, MissionStep::End(ending));
    run.record(vec![resumed(&["b"])]);
    assert_eq!(Runner::names(&run.advance().0), ["b"]);
    assert_eq!(run.state.key(&unit("b")).as_deref(), Some("b 2.2"));
    run.done("b");
    assert_eq!(Runner::names(&run.advance().0), ["d"]);
    run.done("d");
    assert_eq!(run.advance().1, MissionStep::End(MissionEnding::Done));
}

const ROUTES: &str = "task \"first\" {\n objective = \"o\"\n router {\n route {\n target = tasks.left\n condition = \"l\"\n }\n route {\n target = tasks.right\n condition = \"r\"\n }\n route {\n target = missions.next\n condition = \"n\"\n }\n }\n}\n\
    task \"left\" {\n objective = \"l\"\n send_to = [tasks.last]\n}\n\
    task \"right\" {\n objective = \"r\"\n send_to = [tasks.last]\n}\n\
    task \"last\" { objective = \"e\" }";

#[test]
fn chosen_route_alone_runs() {
    let mut run = Runner::new(plan(ROUTES));
    assert_eq!(Runner::names(&run.advance().0), ["first"]);
    run.finish(&unit("first"), routed(RouteTarget::Task("right".into())));
    assert_eq!(Runner::names(&run.advance().0), ["right"]);
    run.done("right");
    assert_eq!(Runner::names(&run.advance().0), ["last"]);
    assert_eq!(run.state.ancestors("last"), ["first", "right"]);
    run.done("last");
    assert_eq!(run.advance().1, MissionStep::End(MissionEnding::Done));
    assert!(!run.state.task("left").unwrap().is_started);
}

#[test]
fn no_route_ends_the_mission() {
    let mut run = Runner::new(plan(ROUTES));
    run.advance();
    run.done("first");
    assert_eq!(run.advance().1, MissionStep::End(MissionEnding::Done));
}

#[test]
fn route_to_a_mission_hands_over() {
    let mut run = Runner::new(plan(ROUTES));
    run.advance();
    let to = RouteTarget::Mission {
        name: "next".into(),
        entry: None,
    };
    run.finish(&unit("first"), routed(to));
    let step = run.advance().1;
    assert!(
        matches!(&step, MissionStep::HandOver { mission, .. } if &**mission == "next"),
        "{step:?}"
    );
    run.record(vec![MissionEvent::HandedOver {
        mission: "next".into(),
        run: "r2".into(),
    }]);
    assert_eq!(run.advance().1, MissionStep::End(MissionEnding::HandedOver));
}

#[test]
fn second_activation_is_an_event() {
    let tasks = "task \"a\" {\n objective = \"o\"\n send_to = [tasks.z]\n}\n\
        task \"b\" {\n objective = \"o\"\n send_to = [tasks.z]\n}\n\
        task \"z\" { objective = \"o\" }";
    let mut run = Runner::new(plan(tasks));
    assert_eq!(Runner::names(&run.advance().0), ["a", "b"]);
    run.done("b");
    run.done("a");
    let again = MissionEvent::ActivatedAgain {
        task: "z".into(),
        from: "a".into(),
    };
    assert!(run.events.contains(&again));
    assert_eq!(Runner::names(&run.advance().0), ["z"]);
    let state = run.state.task("z").unwrap();
    assert_eq!(state.activated_by.as_deref(), Some("b"));
}

#[test]
fn entry_starts_alone() {
    let mut run = Runner::new(plan(DIAMOND));
    let MissionEvent::Started(start) = run.events.remove(0) else {
        panic!("the first event")
    };
    let tasks = "task \"x\" { objective = \"x\" }\ntask \"y\" {\n objective = \"y\"\n}\n\
        task \"z\" {\n objective = \"z\"\n depends_on = [tasks.y]\n}";
    let start = MissionStart {
        plan: plan(tasks),
        entry: Some("y".into()),
        ..*start
    };
    let mut run = Runner {
        state: MissionState::default(),
        events: Vec::new(),
    };
    run.record(vec![MissionEvent::Started(Box::new(start))]);
    assert_eq!(Runner::names(&run.advance().0), ["y"]);
    run.done("y");
    assert_eq!(Runner::names(&run.advance().0), ["z"]);
    run.done("z");
    assert_eq!(run.advance().1, MissionStep::End(MissionEnding::Done));
}

/// A mission with a parallel iterator over five numbers.
fn iterator(options: &str) -> MissionProject {
    plan(&format!(
        "dataset \"d\" {{\n items = [{{ n = 1 }}, {{ n = 2 }}, {{ n = 3 }}, {{ n = 4 }}, {{ n = 5 }}]\n}}\n\
         task \"each\" {{\n objective = \"do ${{item.n}}\"\n iterator {{\n dataset = datasets.d\n parallel = true\n {options}\n }}\n}}"
    ))
}

#[test]
fn items_run_up_to_the_limit() {
    let mut run = Runner::new(iterator("concurrency_limit = 2"));
    let (units, _) = run.advance();
    assert_eq!(Runner::names(&units), ["each[0]", "each[1]"]);
    for n in 0..5 {
        let result = UnitResult {
            outputs: vec![(None, json!(n))],
            ..done()
        };
        run.finish(&item("each", n), result);
        let (units, _) = run.advance();
        let next = n + 2;
        let expected = if next < 5 {
            vec![format!("each[{next}]")]
        } else {
            Vec::new()
        };
        assert_eq!(Runner::names(&units), expected);
    }
    let state = run.state.task("each").unwrap();
    assert_eq!(state.value(), Some(json!([0, 1, 2, 3, 4])));
    assert_eq!(run.advance().1, MissionStep::End(MissionEnding::Done));
}

#[test]
fn smoke_test_stops_the_rest() {
    let mut run = Runner::new(iterator("smoketest = true"));
    assert_eq!(Runner::names(&run.advance().0), ["each[0]"]);
    run.finish(&item("each", 0), failed("smoke"));
    let (units, step) = run.advance();
    assert!(units.is_empty());
    assert!(
        matches!(&step, MissionStep::End(MissionEnding::Failed { reason, .. }) if reason == "item 0: smoke"),
        "{step:?}"
    );
}

#[test]
fn items_are_retried_and_counted() {
    let mut run = Runner::new(iterator("max_retries = 2\n concurrency_limit = 1"));
    let mut keys = BTreeSet::new();
    for attempt in 1..=3 {
        let (units, _) = run.advance();
        assert_eq!(Runner::names(&units), ["each[0]"], "attempt {attempt}");
        assert!(keys.insert(run.state.key(&item("each", 0)).unwrap()));
        run.finish(&item("each", 0), failed("no"));
    }
    assert!(matches!(
        run.advance().1,
        MissionStep::End(MissionEnding::Failed { .. })
    ));
    // Another try of the task keeps what is done and starts with a new key.
    run.record(vec![
        MissionEvent::Ended {
            how: MissionEnding::Done,
        },
        MissionEvent::Resumed {
            changed: Vec::new(),
            retry: vec!["each".into()],
            budget: None,
            plan: None,
        },
    ]);
    assert_eq!(Runner::names(&run.advance().0), ["each[0]"]);
    assert!(keys.insert(run.state.key(&item("each", 0)).unwrap()));
}

#[test]
fn empty_dataset_is_done_at_once() {
    let tasks = "dataset \"d\" {\n items = []\n}\n\
        task \"each\" {\n objective = \"do ${item.n}\"\n iterator {\n dataset = datasets.d\n parallel = true\n }\n}";
    let mut run = Runner::new(plan(tasks));
    let (units, step) = run.advance();
    assert!(units.is_empty());
    assert_eq!(step, MissionStep::End(MissionEnding::Done));
}

#[test]
fn waiting_units_park_the_run() {
    let mut run = Runner::new(plan(DIAMOND));
    run.advance();
    run.record(vec![MissionEvent::Waiting {
        task: "a".into(),
        item: None,
        questions: vec!["q".into()],
    }]);
    assert_eq!(run.advance().1, MissionStep::Parked(vec!["q".into()]));
    run.record(vec![MissionEvent::Resumed {
        changed: Vec::new(),
        retry: Vec::new(),
        budget: None,
        plan: None,
    }]);
    // The unit is continued by the caller.
    assert_eq!(run.state.unfinished().len(), 1);
    assert_eq!(run.advance().1, MissionStep::Wait);
}

#[test]
fn exhausted_task_continues_after_resuming() {
    let mut run = Runner::new(plan_with("budget { tokens = 10 }", DIAMOND));
    run.advance();
    let result = UnitResult {
        usage: MissionUsage {
            tokens: 12,
            ..MissionUsage::default()
        },
        limit: Some((None, MissionLimit::Tokens, 12)),
        ..ended(TaskEnding::Exhausted {
            reason: "tokens".to_owned(),
        })
    };
    run.finish(&unit("a"), result);
    let step = run.advance().1;
    assert!(
        matches!(step, MissionStep::End(MissionEnding::Exhausted { .. })),
        "{step:?}"
    );
    assert_eq!(run.state.spent().tokens, 12);
    assert!(run.state.budget().reached(run.state.spent()).is_some());
    run.record(vec![MissionEvent::Resumed {
        changed: Vec::new(),
        retry: Vec::new(),
        budget: Some(MissionBudget {
            tokens: Some(50),
            micros: None,
        }),
        plan: None,
    }]);
    assert_eq!(run.state.unfinished().len(), 1);
    assert!(run.state.budget().reached(run.state.spent()).is_none());
    run.done("a");
    assert_eq!(Runner::names(&run.advance().0), ["b", "c"]);
}

#[test]
fn cancelled_run_ends_when_nothing_is_active() {
    let mut run = Runner::new(plan(DIAMOND));
    run.advance();
    run.record(vec![MissionEvent::Cancelled]);
    assert_eq!(run.advance().1, MissionStep::Wait);
    run.finish(&unit("a"), ended(TaskEnding::Cancelled));
    assert_eq!(run.advance().1, MissionStep::End(MissionEnding::Cancelled));
    // A cancelled run continues where it stopped.
    run.record(vec![
        MissionEvent::Ended {
            how: MissionEnding::Cancelled,
        },
        MissionEvent::Resumed {
            changed: Vec::new(),
            retry: Vec::new(),
            budget: None,
            plan: None,
        },
    ]);
    assert_eq!(run.state.unfinished().len(), 1);
}

#[test]
fn replanning_keeps_finished_tasks() {
    let mut run = Runner::new(plan(DIAMOND));
    run.advance();
    run.done("a");
    let renamed = DIAMOND
        .replace("\"a\" {", "\"z\" {")
        .replace("tasks.a", "tasks.z");
    assert_eq!(
        run.state.replan_faults(&plan(&renamed)),
        ["task `a` was removed, but it has run"]
    );
    let typed = DIAMOND.replace(
        "task \"a\" { objective = \"a\" }",
        "task \"a\" {\n objective = \"a\"\n output {\n field \"x\" { type = \"string\" }\n }\n}",
    );
    assert_eq!(
        run.state.replan_faults(&plan(&typed)),
        ["the output of task `a` has another form now"]
    );
    let more = format!("task \"new\" {{ objective = \"n\" }}\n{DIAMOND}");
    assert!(run.state.replan_faults(&plan(&more)).is_empty());
    run.record(vec![MissionEvent::Resumed {
        changed: Vec::new(),
        retry: Vec::new(),
        budget: None,
        plan: Some(Box::new(plan(&more))),
    }]);
    assert!(run.state.task("a").unwrap().is_done());
    assert_eq!(Runner::names(&run.advance().0), ["new", "b", "c"]);
}

#[test]
fn impossible_events_are_refused() {
    let plan = plan(DIAMOND);
    let mut state = MissionState::default();
    assert_eq!(
        state.apply(&MissionEvent::Cancelled),
        Err(MissionFault::Beginning)
    );
    state.apply(&start(plan.clone())).unwrap();
    assert_eq!(
        state.apply(&start(plan.clone())),
        Err(MissionFault::Beginning)
    );
    let ended = MissionEvent::TaskEnded {
        task: "a".into(),
        how: TaskEnding::Done,
        summary: String::new(),
    };
    assert_eq!(
        state.apply(&ended),
        Err(MissionFault::Order { task: "a".into() })
    );
    let unknown = MissionEvent::TaskStarted { task: "q".into() };
    assert_eq!(
        state.apply(&unknown),
        Err(MissionFault::NoTask { task: "q".into() })
    );
    let newer = MissionEvent::Started(Box::new(MissionStart {
        version: MISSION_VERSION + 1,
        plan,
        mission: "m".into(),
        ..MissionStart::default()
    }));
    assert_eq!(
        MissionState::default().apply(&newer),
        Err(MissionFault::Newer {
            found: MISSION_VERSION + 1
        })
    );
}

#[test]
fn amounts_of_money_are_exact() {
    assert_eq!(micros("2.5"), Some(2_500_000));
    assert_eq!(micros("0.000001"), Some(1));
    assert_eq!(micros("-1"), None);
    assert_eq!(micros("x"), None);
}

/// A random mission: tasks that depend on earlier ones, send to later ones, or run over items.
fn missions() -> impl Strategy<Value = String> {
    let task = (0..4u8, any::<u8>(), any::<u8>(), any::<u8>(), any::<bool>());
    (prop::collection::vec(task, 1..9), 1..4u8).prop_map(|(tasks, parallel)| {
        let count = tasks.len();
        let mut targets: BTreeSet<usize> = BTreeSet::new();
        let mut text = format!("max_parallel = {parallel}\n");
        text.push_str("dataset \"d\" {\n items = [{ n = 1 }, { n = 2 }, { n = 3 }]\n}\n");
        // Tasks in the second half are targets of those in the first half.
        let half = count.div_ceil(2);
        let mut sends: BTreeMap<usize, usize> = BTreeMap::new();
        for (at, (kind, _, pick, _, _)) in tasks.iter().enumerate().take(half) {
            if *kind == 1 && count > half {
                let target = half + usize::from(*pick) % (count - half);
                targets.insert(target);
                sends.insert(at, target);
            }
        }
        for (at, (kind, above, _, option, smoke)) in tasks.iter().enumerate() {
            let mut body = String::new();
            let is_each = *kind == 2;
            if is_each {
                let limit = 1 + option % 3;
                body.push_str(&format!(
                    "iterator {{\n dataset = datasets.d\n parallel = true\n concurrency_limit = {limit}\n max_retries = {}\n smoketest = {smoke}\n}}\n",
                    option % 2
                ));
            }
            if !targets.contains(&at) && at > 0 {
                let above = usize::from(*above) % at;
                if !targets.contains(&above) {
                    body.push_str(&format!("depends_on = [tasks.t{above}]\n"));
                }
            }
            if let Some(target) = sends.get(&at) {
                body.push_str(&format!("send_to = [tasks.t{target}]\n"));
            }
            text.push_str(&format!("task \"t{at}\" {{\n objective = \"o\"\n{body}}}\n"));
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever happens in whatever order: nothing starts before what it needs, no limit is
    /// exceeded, the run ends, and equal events give equal states after any of them.
    #[test]
    fn runs_are_orderly(text in missions(), choices in prop::collection::vec(any::<(u8, u8)>(), 1..200)) {
        let plan = plan(&text);
        let mission = plan.mission("m").unwrap().clone();
        let mut run = Runner::new(plan);
        let mut active: Vec<MissionUnit> = Vec::new();
        let mut choices = choices.into_iter().cycle();
        let mut steps = 0;
        let ending = loop {
            steps += 1;
            prop_assert!(steps < 500, "the run does not end");
            let (units, step) = run.advance();
            for unit in &units {
                let task = mission.task(&unit.task).unwrap();
                for above in &task.depends_on {
                    prop_assert!(run.state.task(above).unwrap().is_done());
                }
                prop_assert!(!active.contains(unit));
            }
            active.extend(units);
            let tasks: BTreeSet<&str> = active.iter().map(|unit| &*unit.task).collect();
            prop_assert!(tasks.len() <= mission.max_parallel as usize);
            for task in &mission.tasks {
                let working = active.iter().filter(|unit| unit.task == task.name).count();
                let parallel = task.iterator.as_ref().and_then(|it| it.parallel);
                let limit = parallel.map_or(1, |it| it.limit as usize);
                prop_assert!(working <= limit);
            }
            match step {
                MissionStep::End(how) => break how,
                MissionStep::Wait => {}
                step => prop_assert!(false, "{step:?}"),
            }
            prop_assert!(!active.is_empty());
            let (which, how) = choices.next().unwrap();
            let unit = active.remove(usize::from(which) % active.len());
            let result = if how % 8 == 0 { failed("no") } else { done() };
            run.finish(&unit, result);
        };
        prop_assert!(active.is_empty());
        if ending == MissionEnding::Done {
            for (task, state) in run.state.tasks() {
                let is_done = state.is_done() || !state.is_started;
                prop_assert!(is_done, "{} ended as {:?}", task.name, state.ending);
            }
        }
        // Every prefix folds, through the storage format, to the same state.
        let stored: Vec<String> = run
            .events
            .iter()
            .map(|event| serde_json::to_string(event).unwrap())
            .collect();
        let mut again = MissionState::default();
        for (at, text) in stored.iter().enumerate() {
            let event: MissionEvent = serde_json::from_str(text).unwrap();
            prop_assert_eq!(&event, &run.events[at]);
            again.apply(&event).unwrap();
            let direct = MissionState::replay(&run.events[..=at]).unwrap();
            prop_assert_eq!(&again, &direct);
        }
        prop_assert_eq!(&again, &run.state);
    }
}

#[test]
fn values_of_inputs_reach_objectives_literally() {
    let settings = "inputs = { topic = string(\"t\") }";
    let tasks = "task \"a\" { objective = \"about ${inputs.topic}\" }";
    let MissionEvent::Started(start) = start(plan_with(settings, tasks)) else {
        panic!("the first event")
    };
    let mut inputs = serde_json::Map::new();
    let hostile = "${inputs.x} %{ if true }";
    inputs.insert("topic".to_owned(), Value::from(hostile));
    let start = MissionStart { inputs, ..*start };
    let state = MissionState::replay([&MissionEvent::Started(Box::new(start))]).unwrap();
    let task = state.mission().unwrap().task("a").unwrap();
    let objective = task.objective_with(state.inputs().as_ref(), None).unwrap();
    assert_eq!(objective.as_text(), Some(&*format!("about {hostile}")));
}

//! The state of a mission run, and its next step.
//!
//! A run is the fold of its events. [`MissionState::next`] says what to do; the caller stores an
//! event before it acts, and stores the outcome with [`MissionState::finished`]. Nothing here reads
//! a clock or starts anything.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::model::{DatasetItems, Mission, MissionTask, RouteTarget, TaskIterator};
use super::schema::{from_json, to_json};
use super::{InputValues, MissionProject};

/// The version of the format of [`MissionEvent`].
pub const MISSION_VERSION: u32 = 1;
/// Maximum number of items of a dataset in a run.
pub const MAX_DATASET: usize = 10_000;
/// Maximum number of questions that a waiting unit names.
const MAX_QUESTIONS: usize = 64;

/// An event of a mission run. This is also the storage format: fields are only added, each with a
/// default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MissionEvent {
    /// The run started.
    Started(Box<MissionStart>),
    /// A task starts.
    TaskStarted {
        /// The task.
        task: Box<str>,
    },
    /// An item of a parallel iterator starts.
    ItemStarted {
        /// The task.
        task: Box<str>,
        /// The index of the item.
        item: usize,
        /// The number of the attempt, from 1.
        attempt: u32,
    },
    /// The commander of a task or an item has a session.
    SessionStarted {
        /// The task.
        task: Box<str>,
        /// The item, in a parallel iterator.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item: Option<usize>,
        /// The session.
        session: Box<str>,
    },
    /// A task or an item waits for answers of a person.
    Waiting {
        /// The task.
        task: Box<str>,
        /// The item, in a parallel iterator.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item: Option<usize>,
        /// The ids of the questions.
        questions: Vec<Box<str>>,
    },
    /// A task submitted an output.
    Output {
        /// The task.
        task: Box<str>,
        /// The item, if the task has an iterator.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item: Option<usize>,
        /// The output.
        value: Value,
    },
    /// A task set the items of a dataset.
    DatasetFilled {
        /// The task.
        task: Box<str>,
        /// The dataset.
        dataset: Box<str>,
        /// The items.
        items: Vec<Value>,
    },
    /// A task used tokens and money.
    Spent {
        /// The task.
        task: Box<str>,
        /// The item, in a parallel iterator.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item: Option<usize>,
        /// The amount, since the last event of this kind.
        usage: MissionUsage,
    },
    /// An item of a parallel iterator ended.
    ItemEnded {
        /// The task.
        task: Box<str>,
        /// The index of the item.
        item: usize,
        /// The outcome.
        how: TaskEnding,
        /// The summary of the commander.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        summary: String,
    },
    /// A task ended.
    TaskEnded {
        /// The task.
        task: Box<str>,
        /// The outcome.
        how: TaskEnding,
        /// The summary of the commander.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        summary: String,
    },
    /// A task activated another one, or its commander chose another mission.
    Routed {
        /// The task that ended.
        from: Box<str>,
        /// The target.
        to: RouteTarget,
        /// The reason.
        by: RoutedBy,
        /// The inputs of the mission that starts.
        #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
        inputs: serde_json::Map<String, Value>,
    },
    /// A task was activated although an earlier task had activated it. It does not run again.
    ActivatedAgain {
        /// The task.
        task: Box<str>,
        /// The task that activated it again.
        from: Box<str>,
    },
    /// A budget is used up.
    LimitReached {
        /// The task; `None` for the budget of the mission.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<Box<str>>,
        /// The budget.
        limit: MissionLimit,
        /// The amount used: tokens, or millionths of a dollar.
        used: u64,
    },
    /// The run continues as a run of another mission.
    HandedOver {
        /// The mission.
        mission: Box<str>,
        /// The id of its run.
        run: Box<str>,
    },
    /// The run was resumed.
    Resumed {
        /// Files that changed after the run started.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changed: Vec<Box<str>>,
        /// Failed tasks that run again.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        retry: Vec<Box<str>>,
        /// The new budget of the mission.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<MissionBudget>,
        /// The new plan, if it replaces the old one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plan: Option<Box<MissionProject>>,
    },
    /// The run was cancelled.
    Cancelled,
    /// The run ended.
    Ended {
        /// The outcome.
        how: MissionEnding,
    },
}

/// The start of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MissionStart {
    /// The version of the format.
    pub version: u32,
    /// The folder of the project.
    pub folder: Box<str>,
    /// The plan: everything that the files say. Secrets are names in it.
    pub plan: MissionProject,
    /// The digest over the files.
    pub digest: Box<str>,
    /// The mission.
    pub mission: Box<str>,
    /// The inputs that were given. Protected inputs are not among them.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub inputs: serde_json::Map<String, Value>,
    /// The task to start with, instead of all that can start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<Box<str>>,
    /// The run that handed over to this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Box<str>>,
    /// The budget that was given at the start.
    #[serde(default)]
    pub budget: MissionBudget,
    /// What the runs before this one left of the budget that was given to the first of them.
    #[serde(default, skip_serializing_if = "MissionBudget::is_empty")]
    pub left: MissionBudget,
}

/// Tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissionUsage {
    /// Tokens.
    pub tokens: u64,
    /// Millionths of a dollar.
    pub micros: u64,
    /// Requests to models.
    #[serde(default)]
    pub turns: u64,
}

impl MissionUsage {
    /// Returns what was used since another amount.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(before.tokens),
            micros: self.micros.saturating_sub(before.micros),
            turns: self.turns.saturating_sub(before.turns),
        }
    }
}

impl std::ops::AddAssign for MissionUsage {
    fn add_assign(&mut self, other: Self) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.micros = self.micros.saturating_add(other.micros);
        self.turns = self.turns.saturating_add(other.turns);
    }
}

/// A budget in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissionBudget {
    /// Maximum number of tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Maximum cost in millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
}

impl MissionBudget {
    /// Returns the limits of this budget, and those of another one where it has none.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.or(other.tokens),
            micros: self.micros.or(other.micros),
        }
    }

    /// Returns `true` if there is no limit.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the lower limits of this budget and another one.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let lower = |own: Option<u64>, other: Option<u64>| match (own, other) {
            (Some(own), Some(other)) => Some(own.min(other)),
            (own, other) => own.or(other),
        };
        Self {
            tokens: lower(self.tokens, other.tokens),
            micros: lower(self.micros, other.micros),
        }
    }

    /// Returns what is left of this budget.
    #[must_use]
    pub fn without(self, used: MissionUsage) -> Self {
        Self {
            tokens: self.tokens.map(|limit| limit.saturating_sub(used.tokens)),
            micros: self.micros.map(|limit| limit.saturating_sub(used.micros)),
        }
    }

    /// Returns the limit that is reached, with the amount used.
    pub fn reached(&self, used: MissionUsage) -> Option<(MissionLimit, u64)> {
        if self.tokens.is_some_and(|limit| used.tokens >= limit) {
            return Some((MissionLimit::Tokens, used.tokens));
        }
        let is_spent = self.micros.is_some_and(|limit| used.micros >= limit);
        is_spent.then_some((MissionLimit::Dollars, used.micros))
    }
}

impl super::Budget {
    /// Returns the budget in numbers.
    pub fn amounts(&self) -> MissionBudget {
        MissionBudget {
            tokens: self.tokens,
            micros: self.dollars.as_deref().and_then(micros),
        }
    }
}

/// Converts an amount of dollars to millionths. Returns `None` if it is not a number.
pub fn micros(dollars: &str) -> Option<u64> {
    let amount = dollars.trim().parse::<f64>().ok()?;
    if !amount.is_finite() || amount < 0.0 {
        return None;
    }
    // A cast of a float saturates.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the amount is finite and not negative, and the cast saturates"
    )]
    let micros = (amount * 1_000_000.0).round() as u64;
    Some(micros)
}

/// The kind of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissionLimit {
    /// `tokens`
    Tokens,
    /// `dollars`
    Dollars,
}

impl std::fmt::Display for MissionLimit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Tokens => "tokens",
            Self::Dollars => "dollars",
        })
    }
}

impl MissionLimit {
    /// Describes an amount: tokens, or millionths of a dollar.
    pub fn amount(self, used: u64) -> String {
        match self {
            Self::Tokens => format!("{used} tokens"),
            Self::Dollars => format!("${}.{:06}", used / 1_000_000, used % 1_000_000),
        }
    }
}

/// The reason why a task was activated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoutedBy {
    /// A commander chose it.
    Router,
    /// `send_to`
    SendTo,
}

/// The outcome of a task or an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum TaskEnding {
    /// It succeeded.
    Done,
    /// It failed.
    Failed {
        /// The reason.
        reason: String,
    },
    /// A budget was used up.
    Exhausted {
        /// The reason.
        reason: String,
    },
    /// It was cancelled.
    Cancelled,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum MissionEnding {
    /// All tasks that ran succeeded.
    Done,
    /// Another mission continues.
    HandedOver,
    /// A task failed.
    Failed {
        /// The task.
        task: Box<str>,
        /// The reason.
        reason: String,
    },
    /// A budget was used up.
    Exhausted {
        /// The task that was stopped.
        task: Box<str>,
        /// The reason.
        reason: String,
    },
    /// The run was cancelled.
    Cancelled,
}

/// A task, or an item of a parallel iterator: what one commander works on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissionUnit {
    /// The task.
    pub task: Box<str>,
    /// The item, in a parallel iterator.
    pub item: Option<usize>,
}

impl std::fmt::Display for MissionUnit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.item {
            None => formatter.write_str(&self.task),
            Some(item) => write!(formatter, "{}[{item}]", self.task),
        }
    }
}

/// The next step of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum MissionStep {
    /// Store these events, then start commanders for the units.
    Start {
        /// The events.
        events: Vec<MissionEvent>,
        /// The units.
        units: Vec<MissionUnit>,
    },
    /// Store these events, then ask again.
    Record(Vec<MissionEvent>),
    /// Wait until a unit that runs has finished.
    Wait,
    /// Nothing can continue without the answers to these questions.
    Parked(Vec<Box<str>>),
    /// Start another mission, then store that.
    HandOver {
        /// The mission.
        mission: Box<str>,
        /// The task to start with.
        entry: Option<Box<str>>,
        /// Its inputs.
        inputs: serde_json::Map<String, Value>,
    },
    /// Store this ending.
    End(MissionEnding),
    /// The run has ended, and the ending is stored.
    Done(MissionEnding),
}

/// The state of a unit.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitState {
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The session of its commander.
    pub session: Option<Box<str>>,
    /// The sessions of earlier attempts.
    pub earlier: Vec<Box<str>>,
    /// The questions that it waits for.
    pub questions: Vec<Box<str>>,
    /// The outcome.
    pub ending: Option<TaskEnding>,
    /// The summary.
    pub summary: String,
    /// The amount used by this attempt, as far as it is recorded.
    pub spent: MissionUsage,
}

impl UnitState {
    fn new(attempt: u32) -> Self {
        Self {
            attempt,
            session: None,
            earlier: Vec::new(),
            questions: Vec::new(),
            ending: None,
            summary: String::new(),
            spent: MissionUsage::default(),
        }
    }

    /// Returns `true` if a commander works on it.
    pub fn is_active(&self) -> bool {
        self.ending.is_none() && self.questions.is_empty()
    }

    fn again(&mut self, attempt: u32) {
        let earlier = self.earlier.drain(..).chain(self.session.take()).collect();
        *self = Self {
            earlier,
            ..Self::new(attempt)
        };
    }
}

/// The state of a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskState {
    /// The task that activated it.
    pub activated_by: Option<Box<str>>,
    /// `true` if it was started.
    pub is_started: bool,
    /// The outcome.
    pub ending: Option<TaskEnding>,
    /// The summary.
    pub summary: String,
    /// The units: one, or one for each item that was started.
    pub units: BTreeMap<Option<usize>, UnitState>,
    /// The output without an iterator.
    pub output: Option<Value>,
    /// The outputs of items.
    pub outputs: BTreeMap<usize, Value>,
    /// The amount used.
    pub spent: MissionUsage,
    /// The number of times that the whole task was started.
    pub starts: u32,
    /// The limits that replace those of its budget, which was used up when the run was resumed.
    pub raised: MissionBudget,
}

impl TaskState {
    /// Returns `true` if it succeeded.
    pub fn is_done(&self) -> bool {
        self.ending == Some(TaskEnding::Done)
    }

    /// Returns `true` if it runs: it was started and has not ended.
    pub fn is_running(&self) -> bool {
        self.is_started && self.ending.is_none()
    }

    /// Returns the output of the whole task: an array for an iterator.
    pub fn value(&self) -> Option<Value> {
        if self.outputs.is_empty() {
            return self.output.clone();
        }
        Some(Value::Array(self.outputs.values().cloned().collect()))
    }
}

/// The result of a unit.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitResult {
    /// The outcome.
    pub how: TaskEnding,
    /// The summary.
    pub summary: String,
    /// The route that the commander chose.
    pub route: Option<ChosenRoute>,
    /// The outputs: of the task, or of the items of a sequential iterator.
    pub outputs: Vec<(Option<usize>, Value)>,
    /// The datasets that it filled.
    pub datasets: Vec<(Box<str>, Vec<Value>)>,
    /// The amount used since the last event about that.
    pub usage: MissionUsage,
    /// The budget that was used up.
    pub limit: Option<(Option<Box<str>>, MissionLimit, u64)>,
}

/// A route that a commander chose.
#[derive(Clone, Debug, PartialEq)]
pub struct ChosenRoute {
    /// The target.
    pub to: RouteTarget,
    /// The inputs of a mission.
    pub inputs: serde_json::Map<String, Value>,
}

/// Events that do not form a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MissionFault {
    /// `started` is missing or repeated.
    Beginning,
    /// The run was written by a newer version.
    Newer {
        /// The version of its format.
        found: u32,
    },
    /// The plan has no such mission.
    NoMission {
        /// The mission.
        mission: Box<str>,
    },
    /// The mission has no such task.
    NoTask {
        /// The task.
        task: Box<str>,
    },
    /// An event about a task or an item that did not start, or has ended.
    Order {
        /// The task.
        task: Box<str>,
    },
}

impl std::fmt::Display for MissionFault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Beginning => {
                formatter.write_str("a run must begin with exactly one `started` event")
            }
            Self::Newer { found } => write!(
                formatter,
                "the run uses format version {found}, but this version supports at most \
                 {MISSION_VERSION}"
            ),
            Self::NoMission { mission } => write!(formatter, "no mission named `{mission}`"),
            Self::NoTask { task } => write!(formatter, "no task named `{task}`"),
            Self::Order { task } => {
                write!(formatter, "an event about task `{task}` is out of order")
            }
        }
    }
}

impl std::error::Error for MissionFault {}

/// A mission that continues, with the task to start with and its inputs.
type HandOver = (Box<str>, Option<Box<str>>, serde_json::Map<String, Value>);

/// A mission run, folded from its events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MissionState {
    start: Option<Box<MissionStart>>,
    tasks: Vec<TaskState>,
    datasets: BTreeMap<Box<str>, Vec<Value>>,
    /// The mission that continues, with the task to start with and its inputs.
    hand_over: Option<HandOver>,
    handed_to: Option<(Box<str>, Box<str>)>,
    budget: MissionBudget,
    is_cancelled: bool,
    ending: Option<MissionEnding>,
}

impl MissionState {
    /// Folds the events of a run.
    pub fn replay<'e>(
        events: impl IntoIterator<Item = &'e MissionEvent>,
    ) -> Result<Self, MissionFault> {
        let mut state = Self::default();
        for event in events {
            state.apply(event)?;
        }
        if state.start.is_none() {
            return Err(MissionFault::Beginning);
        }
        Ok(state)
    }

    /// Returns the start of the run.
    pub fn start(&self) -> Option<&MissionStart> {
        self.start.as_deref()
    }

    /// Returns the mission.
    pub fn mission(&self) -> Option<&Mission> {
        let start = self.start.as_ref()?;
        start.plan.mission(&start.mission)
    }

    /// Returns the tasks with their states, in source order.
    pub fn tasks(&self) -> impl Iterator<Item = (&MissionTask, &TaskState)> {
        let tasks = self.mission().map_or(&[][..], |mission| &mission.tasks);
        tasks.iter().zip(&self.tasks)
    }

    /// Returns the state of a task.
    pub fn task(&self, name: &str) -> Option<&TaskState> {
        self.tasks()
            .find(|(task, _)| *task.name == *name)
            .map(|(_, state)| state)
    }

    /// Returns the outcome.
    pub fn ending(&self) -> Option<&MissionEnding> {
        self.ending.as_ref()
    }

    /// Returns the mission and the run that continue.
    pub fn handed_to(&self) -> Option<(&str, &str)> {
        let (mission, run) = self.handed_to.as_ref()?;
        Some((mission, run))
    }

    /// Returns the amount used by all tasks.
    pub fn spent(&self) -> MissionUsage {
        let mut sum = MissionUsage::default();
        for task in &self.tasks {
            sum += task.spent;
        }
        sum
    }

    /// Returns the budget of the mission: what was given to this run, and otherwise the lower one of
    /// the plan and of what earlier runs left.
    pub fn budget(&self) -> MissionBudget {
        let own = self.mission().map(|mission| mission.budget.amounts());
        self.budget.or(own.unwrap_or_default().and(self.left()))
    }

    /// Returns the budget that people gave, to this run or to those before it. The plan has no part in
    /// it.
    pub fn given_budget(&self) -> MissionBudget {
        self.budget.or(self.left())
    }

    fn left(&self) -> MissionBudget {
        self.start().map(|start| start.left).unwrap_or_default()
    }

    /// Returns the budget of a task: its own, or what the run was resumed with after that was used up.
    pub fn task_budget(&self, task: &str) -> MissionBudget {
        let found = self.tasks().find(|(known, _)| *known.name == *task);
        let Some((task, state)) = found else {
            return MissionBudget::default();
        };
        let own = task.budget.amounts();
        let higher =
            |own: Option<u64>, raised: Option<u64>| own.map(|own| raised.unwrap_or(own).max(own));
        MissionBudget {
            tokens: higher(own.tokens, state.raised.tokens),
            micros: higher(own.micros, state.raised.micros),
        }
    }

    /// Returns the kind of the budget that is used up: that of the mission, or of the first task.
    pub fn reached_limit(&self) -> Option<MissionLimit> {
        let whole = self.budget().reached(self.spent());
        let mut tasks = self.tasks();
        let of_task =
            || tasks.find_map(|(task, state)| self.task_budget(&task.name).reached(state.spent));
        whole.or_else(of_task).map(|(limit, _)| limit)
    }

    /// Returns the values of the inputs.
    pub fn inputs(&self) -> Option<InputValues> {
        let (start, mission) = (self.start.as_ref()?, self.mission()?);
        let given = start.inputs.iter();
        let given: Vec<(String, prowess_hcl::Value)> = given
            .map(|(name, value)| (name.clone(), from_json(value)))
            .collect();
        Some(mission.input_values(&given))
    }

    /// Returns the items of a dataset, as far as they are known.
    pub fn items(&self, dataset: &str) -> Vec<Value> {
        if let Some(items) = self.datasets.get(dataset) {
            return items.clone();
        }
        let (Some(mission), Some(start)) = (self.mission(), &self.start) else {
            return Vec::new();
        };
        match mission.dataset(dataset).map(|dataset| &dataset.items) {
            Some(DatasetItems::Given(items)) => {
                items.iter().take(MAX_DATASET).filter_map(to_json).collect()
            }
            Some(DatasetItems::Input(name)) => {
                let given = start.inputs.get(&**name).cloned();
                let default = mission.inputs.iter().find(|input| input.name == *name);
                let default = default.and_then(|input| input.default.as_ref().and_then(to_json));
                match given.or(default) {
                    Some(Value::Array(mut items)) => {
                        items.truncate(MAX_DATASET);
                        items
                    }
                    _ => Vec::new(),
                }
            }
            Some(DatasetItems::Filled) | None => Vec::new(),
        }
    }

    /// Returns the text that identifies an attempt at a unit in the records of sessions.
    pub fn key(&self, unit: &MissionUnit) -> Option<String> {
        let state = self.task(&unit.task)?;
        let attempt = state.units.get(&unit.item)?.attempt;
        Some(format!("{unit} {}.{attempt}", state.starts))
    }

    /// Returns the units that were started and have no outcome, in order. After a restart, their
    /// sessions are continued.
    pub fn unfinished(&self) -> Vec<(MissionUnit, &UnitState)> {
        let mut found = Vec::new();
        for (task, state) in self.tasks() {
            for (item, unit) in &state.units {
                if unit.ending.is_none() {
                    let task = task.name.clone();
                    found.push((MissionUnit { task, item: *item }, unit));
                }
            }
        }
        found
    }

    /// Returns the tasks that a task depends on, directly or not, and those that activated it, in
    /// source order.
    pub fn ancestors(&self, task: &str) -> Vec<&str> {
        let Some(mission) = self.mission() else {
            return Vec::new();
        };
        let mut found: Vec<&str> = Vec::new();
        let mut open: Vec<&str> = vec![task];
        while let Some(name) = open.pop() {
            let (Some(task), Some(state)) = (mission.task(name), self.task(name)) else {
                continue;
            };
            let above = task.depends_on.iter().chain(&state.activated_by);
            for above in above {
                let known = mission.task(above).map(|task| &*task.name);
                if let Some(known) = known.filter(|known| !found.contains(known)) {
                    found.push(known);
                    open.push(known);
                }
            }
        }
        let order = |name: &&str| mission.tasks.iter().position(|task| *task.name == **name);
        found.sort_by_key(order);
        found
    }

    /// Applies an event.
    pub fn apply(&mut self, event: &MissionEvent) -> Result<(), MissionFault> {
        if self.start.is_none() != matches!(event, MissionEvent::Started(_)) {
            return Err(MissionFault::Beginning);
        }
        match event {
            MissionEvent::Started(start) => self.begin(start)?,
            MissionEvent::TaskStarted { task } => self.start_task(task)?,
            MissionEvent::ItemStarted {
                task,
                item,
                attempt,
            } => {
                let state = self.running(task)?;
                let unit = state.units.entry(Some(*item));
                unit.and_modify(|unit| unit.again(*attempt))
                    .or_insert_with(|| UnitState::new(*attempt));
            }
            MissionEvent::SessionStarted {
                task,
                item,
                session,
            } => self.unit(task, *item)?.session = Some(session.clone()),
            MissionEvent::Waiting {
                task,
                item,
                questions,
            } => {
                let questions = questions.iter().take(MAX_QUESTIONS).cloned().collect();
                self.unit(task, *item)?.questions = questions;
            }
            MissionEvent::Output { task, item, value } => {
                let state = self.running(task)?;
                match item {
                    None => state.output = Some(value.clone()),
                    Some(item) => {
                        state.outputs.insert(*item, value.clone());
                    }
                }
            }
            MissionEvent::DatasetFilled { dataset, items, .. } => {
                let items = items.iter().take(MAX_DATASET).cloned().collect();
                self.datasets.insert(dataset.clone(), items);
            }
            MissionEvent::Spent { task, item, usage } => {
                let state = self.state_of(task)?;
                state.spent += *usage;
                if let Some(unit) = state.units.get_mut(item) {
                    unit.spent += *usage;
                }
            }
            MissionEvent::ItemEnded {
                task,
                item,
                how,
                summary,
            } => {
                let unit = self.unit(task, Some(*item))?;
                unit.ending = Some(how.clone());
                unit.questions.clear();
                unit.summary.clone_from(summary);
            }
            MissionEvent::TaskEnded { task, how, summary } => {
                let state = self.running(task)?;
                state.ending = Some(how.clone());
                state.summary.clone_from(summary);
                if let Some(unit) = state.units.get_mut(&None) {
                    unit.ending = Some(how.clone());
                    unit.questions.clear();
                    unit.summary.clone_from(summary);
                }
            }
            MissionEvent::Routed {
                from, to, inputs, ..
            } => match to {
                RouteTarget::Task(task) => {
                    let from = from.clone();
                    self.state_of(task)?.activated_by.get_or_insert(from);
                }
                RouteTarget::Mission { name, entry } => {
                    let chosen = (name.clone(), entry.clone(), inputs.clone());
                    self.hand_over.get_or_insert(chosen);
                }
            },
            MissionEvent::ActivatedAgain { .. } | MissionEvent::LimitReached { .. } => {}
            MissionEvent::HandedOver { mission, run } => {
                self.handed_to = Some((mission.clone(), run.clone()));
            }
            MissionEvent::Resumed {
                retry,
                budget,
                plan,
                ..
            } => self.resume(retry, *budget, plan.as_deref())?,
            MissionEvent::Cancelled => self.is_cancelled = true,
            MissionEvent::Ended { how } => self.ending = Some(how.clone()),
        }
        Ok(())
    }

    fn begin(&mut self, start: &MissionStart) -> Result<(), MissionFault> {
        if start.version > MISSION_VERSION {
            return Err(MissionFault::Newer {
                found: start.version,
            });
        }
        let Some(mission) = start.plan.mission(&start.mission) else {
            return Err(MissionFault::NoMission {
                mission: start.mission.clone(),
            });
        };
        self.tasks = vec![TaskState::default(); mission.tasks.len()];
        self.budget = start.budget;
        self.start = Some(Box::new(start.clone()));
        Ok(())
    }

    fn start_task(&mut self, task: &str) -> Result<(), MissionFault> {
        let is_parallel = self.mission().and_then(|mission| mission.task(task));
        let is_parallel = is_parallel.is_some_and(is_parallel_task);
        let state = self.state_of(task)?;
        if state.is_started {
            return Err(MissionFault::Order { task: task.into() });
        }
        state.is_started = true;
        state.starts = state.starts.saturating_add(1);
        if !is_parallel {
            let attempt = state.starts;
            let unit = state.units.entry(None);
            unit.and_modify(|unit| unit.again(attempt))
                .or_insert_with(|| UnitState::new(attempt));
        }
        Ok(())
    }

    /// Continues a run: what failed or was stopped runs again if it was asked for.
    fn resume(
        &mut self,
        retry: &[Box<str>],
        budget: Option<MissionBudget>,
        plan: Option<&MissionProject>,
    ) -> Result<(), MissionFault> {
        if let Some(budget) = budget {
            self.budget = budget.or(self.budget);
            // A task whose own budget stopped it continues with the new one.
            let used_up: Vec<bool> = self
                .tasks()
                .map(|(task, state)| self.task_budget(&task.name).reached(state.spent).is_some())
                .collect();
            for (state, is_used_up) in self.tasks.iter_mut().zip(used_up) {
                if is_used_up {
                    state.raised = budget.or(state.raised);
                }
            }
        }
        if let (Some(plan), Some(start)) = (plan, &mut self.start) {
            let Some(mission) = plan.mission(&start.mission) else {
                let mission = start.mission.clone();
                return Err(MissionFault::NoMission { mission });
            };
            let mut tasks = vec![TaskState::default(); mission.tasks.len()];
            let before = start.plan.mission(&start.mission);
            let before = before.map_or(&[][..], |mission| &mission.tasks);
            for (old, state) in before.iter().zip(std::mem::take(&mut self.tasks)) {
                let place = mission.tasks.iter().position(|task| task.name == old.name);
                if let Some(place) = place {
                    tasks[place] = state;
                }
            }
            start.plan = plan.clone();
            self.tasks = tasks;
        }
        let names: Vec<Box<str>> = self.tasks().map(|(task, _)| task.name.clone()).collect();
        let is_stopped = |how: &Option<TaskEnding>| {
            matches!(
                how,
                Some(TaskEnding::Exhausted { .. } | TaskEnding::Cancelled)
            )
        };
        for (name, state) in names.iter().zip(&mut self.tasks) {
            for unit in state.units.values_mut() {
                unit.questions.clear();
                // The sessions continue where they stopped.
                if is_stopped(&unit.ending) {
                    unit.ending = None;
                }
            }
            if is_stopped(&state.ending) {
                state.ending = None;
            }
            let is_failed = matches!(state.ending, Some(TaskEnding::Failed { .. }));
            if is_failed && retry.contains(name) {
                state.ending = None;
                state.is_started = false;
                // Items that are done stay done.
                state
                    .units
                    .retain(|item, unit| item.is_none() || unit.ending == Some(TaskEnding::Done));
            }
        }
        for name in retry {
            if !names.contains(name) {
                return Err(MissionFault::NoTask { task: name.clone() });
            }
        }
        self.is_cancelled = false;
        self.ending = None;
        Ok(())
    }

    fn state_of(&mut self, task: &str) -> Result<&mut TaskState, MissionFault> {
        let place = self
            .mission()
            .and_then(|mission| mission.tasks.iter().position(|one| *one.name == *task));
        let state = place.and_then(|place| self.tasks.get_mut(place));
        state.ok_or_else(|| MissionFault::NoTask { task: task.into() })
    }

    fn running(&mut self, task: &str) -> Result<&mut TaskState, MissionFault> {
        let state = self.state_of(task)?;
        if state.is_running() {
            return Ok(state);
        }
        Err(MissionFault::Order { task: task.into() })
    }

    fn unit(&mut self, task: &str, item: Option<usize>) -> Result<&mut UnitState, MissionFault> {
        let state = self.running(task)?;
        match state.units.get_mut(&item) {
            Some(unit) if unit.ending.is_none() => Ok(unit),
            _ => Err(MissionFault::Order { task: task.into() }),
        }
    }

    /// Returns the next step.
    pub fn next(&self) -> MissionStep {
        if let Some(ending) = &self.ending {
            return MissionStep::Done(ending.clone());
        }
        let Some(mission) = self.mission() else {
            return MissionStep::Wait;
        };
        let active = self.active();
        if self.is_cancelled {
            return if active == 0 {
                MissionStep::End(MissionEnding::Cancelled)
            } else {
                MissionStep::Wait
            };
        }
        let closing = self.closing_items(mission);
        if !closing.is_empty() {
            return MissionStep::Record(closing);
        }
        let failed = self.failure();
        let (mut events, mut units) = (Vec::new(), Vec::new());
        if failed.is_none() {
            let free = self.start_more_items(mission, &mut events, &mut units);
            if self.hand_over.is_none() {
                self.start_ready(mission, free, &mut events, &mut units);
            }
        }
        if !events.is_empty() {
            return MissionStep::Start { events, units };
        }
        if active > 0 {
            return MissionStep::Wait;
        }
        let waiting: Vec<Box<str>> = self
            .unfinished()
            .iter()
            .flat_map(|(_, unit)| unit.questions.iter().cloned())
            .collect();
        if !waiting.is_empty() {
            return MissionStep::Parked(waiting);
        }
        if let Some(ending) = failed {
            return MissionStep::End(ending);
        }
        match (&self.hand_over, &self.handed_to) {
            (Some((mission, entry, inputs)), None) => MissionStep::HandOver {
                mission: mission.clone(),
                entry: entry.clone(),
                inputs: inputs.clone(),
            },
            (Some(_), Some(_)) => MissionStep::End(MissionEnding::HandedOver),
            (None, _) => MissionStep::End(MissionEnding::Done),
        }
    }

    /// Returns the number of units that a commander works on.
    fn active(&self) -> usize {
        let units = self.tasks.iter().filter(|task| task.is_running());
        let units = units.flat_map(|task| task.units.values());
        units.filter(|unit| unit.is_active()).count()
    }

    /// Returns the ending that the first failed task causes.
    fn failure(&self) -> Option<MissionEnding> {
        let mut stopped = None;
        for (task, state) in self.tasks() {
            let task = task.name.clone();
            match &state.ending {
                Some(TaskEnding::Failed { reason }) => {
                    let reason = reason.clone();
                    return Some(MissionEnding::Failed { task, reason });
                }
                Some(TaskEnding::Exhausted { reason }) => {
                    let reason = reason.clone();
                    stopped.get_or_insert(MissionEnding::Exhausted { task, reason });
                }
                Some(TaskEnding::Cancelled) => {
                    stopped.get_or_insert(MissionEnding::Cancelled);
                }
                Some(TaskEnding::Done) | None => {}
            }
        }
        stopped
    }

    /// Returns the events that end parallel iterators whose items have ended.
    fn closing_items(&self, mission: &Mission) -> Vec<MissionEvent> {
        let mut events = Vec::new();
        for (task, state) in self.tasks() {
            let Some(iterator) = task.iterator.as_ref().filter(|_| is_parallel_task(task)) else {
                continue;
            };
            if !state.is_running() || state.units.values().any(|unit| unit.ending.is_none()) {
                continue;
            }
            let items = self.items(&iterator.dataset).len();
            let failed = Self::failed_item(iterator, state);
            let ended = state
                .units
                .values()
                .filter(|unit| matches!(unit.ending, Some(TaskEnding::Done)));
            let done = ended.count();
            let how = match failed {
                Some(how) => how,
                None if done >= items => TaskEnding::Done,
                None if self.is_stopping() => TaskEnding::Cancelled,
                None => continue,
            };
            let summary = item_summary(done, items);
            let task_name = task.name.clone();
            let is_done = how == TaskEnding::Done;
            events.push(MissionEvent::TaskEnded {
                task: task_name,
                how,
                summary,
            });
            if is_done {
                self.activate(mission, task, &mut events);
            }
        }
        events
    }

    /// Returns `true` if no new work may start because a task failed.
    fn is_stopping(&self) -> bool {
        self.failure().is_some()
    }

    /// Returns the outcome of a parallel iterator with an item that failed for good.
    fn failed_item(iterator: &TaskIterator, state: &TaskState) -> Option<TaskEnding> {
        let retries = iterator.retries.saturating_add(1);
        state.units.iter().find_map(|(item, unit)| {
            let item = item.unwrap_or_default();
            match &unit.ending {
                Some(TaskEnding::Failed { reason }) if unit.attempt >= retries => {
                    let reason = format!("item {item}: {reason}");
                    Some(TaskEnding::Failed { reason })
                }
                Some(TaskEnding::Exhausted { reason }) => {
                    let reason = format!("item {item}: {reason}");
                    Some(TaskEnding::Exhausted { reason })
                }
                Some(TaskEnding::Cancelled) => Some(TaskEnding::Cancelled),
                _ => None,
            }
        })
    }

    /// Starts further items of tasks that run. Returns the number of tasks that may start besides them.
    fn start_more_items(
        &self,
        mission: &Mission,
        events: &mut Vec<MissionEvent>,
        units: &mut Vec<MissionUnit>,
    ) -> usize {
        let limit = usize::try_from(mission.max_parallel.max(1)).unwrap_or(usize::MAX);
        // A task that only waits for a person does not use a place.
        let is_working = |state: &TaskState| state.units.values().any(UnitState::is_active);
        let running = || self.tasks().filter(|(_, state)| state.is_running());
        let working = running().filter(|(_, state)| is_working(state));
        let mut free = limit.saturating_sub(working.count());
        for (task, state) in running() {
            if is_working(state) {
                self.start_items(task, state, events, units);
            } else if free > 0 {
                let before = units.len();
                self.start_items(task, state, events, units);
                free -= usize::from(units.len() > before);
            }
        }
        free
    }

    /// Starts the tasks that can start, if places are free.
    fn start_ready(
        &self,
        mission: &Mission,
        mut free: usize,
        events: &mut Vec<MissionEvent>,
        units: &mut Vec<MissionUnit>,
    ) {
        for (task, state) in self.tasks() {
            if free == 0 {
                break;
            }
            if state.is_started || !self.is_ready(mission, task, state) {
                continue;
            }
            free -= 1;
            events.push(MissionEvent::TaskStarted {
                task: task.name.clone(),
            });
            if is_parallel_task(task) {
                let mut started = state.clone();
                started.is_started = true;
                self.start_items(task, &started, events, units);
            } else {
                units.push(MissionUnit {
                    task: task.name.clone(),
                    item: None,
                });
            }
        }
    }

    /// Returns `true` if a task can start.
    fn is_ready(&self, mission: &Mission, task: &MissionTask, state: &TaskState) -> bool {
        let depends = task.depends_on.iter();
        let mut depends = depends.map(|name| self.task(name));
        if !depends.all(|above| above.is_some_and(TaskState::is_done)) {
            return false;
        }
        if state.activated_by.is_some() {
            return true;
        }
        if is_target(mission, &task.name) {
            return false;
        }
        let entry = self.start.as_ref().and_then(|start| start.entry.as_ref());
        match entry {
            // Only the entry starts by itself.
            Some(entry) => *entry == task.name || !task.depends_on.is_empty(),
            None => true,
        }
    }

    /// Starts items of a parallel iterator, up to its limit.
    fn start_items(
        &self,
        task: &MissionTask,
        state: &TaskState,
        events: &mut Vec<MissionEvent>,
        units: &mut Vec<MissionUnit>,
    ) {
        let Some(iterator) = &task.iterator else {
            return;
        };
        let Some(parallel) = iterator.parallel else {
            return;
        };
        if Self::failed_item(iterator, state).is_some() {
            return;
        }
        let count = self.items(&iterator.dataset).len();
        let limit = usize::try_from(parallel.limit.max(1)).unwrap_or(usize::MAX);
        let active = state.units.values().filter(|unit| unit.is_active()).count();
        let mut free = limit.saturating_sub(active);
        let is_tested = !parallel.smoke_test
            || (state.units.get(&Some(0)))
                .is_some_and(|unit| unit.ending == Some(TaskEnding::Done));
        for item in 0..count {
            if free == 0 || (item > 0 && !is_tested) {
                break;
            }
            let attempt = match state.units.get(&Some(item)) {
                None => 1,
                Some(unit) => match &unit.ending {
                    Some(TaskEnding::Failed { .. }) => unit.attempt.saturating_add(1),
                    _ => continue,
                },
            };
            free -= 1;
            events.push(MissionEvent::ItemStarted {
                task: task.name.clone(),
                item,
                attempt,
            });
            units.push(MissionUnit {
                task: task.name.clone(),
                item: Some(item),
            });
        }
    }

    /// Adds the events for the targets of `send_to`.
    fn activate(&self, mission: &Mission, task: &MissionTask, events: &mut Vec<MissionEvent>) {
        for target in &task.send_to {
            let to = RouteTarget::Task(target.clone());
            self.route(
                mission,
                task,
                to,
                RoutedBy::SendTo,
                serde_json::Map::new(),
                events,
            );
        }
    }

    fn route(
        &self,
        mission: &Mission,
        task: &MissionTask,
        to: RouteTarget,
        by: RoutedBy,
        inputs: serde_json::Map<String, Value>,
        events: &mut Vec<MissionEvent>,
    ) {
        let from = task.name.clone();
        if let RouteTarget::Task(target) = &to {
            if mission.task(target).is_none() {
                return;
            }
            let was_routed = events.iter().any(|event| {
                matches!(event, MissionEvent::Routed { to: RouteTarget::Task(known), .. } if known == target)
            });
            let is_active = self
                .task(target)
                .is_some_and(|state| state.activated_by.is_some());
            if is_active || was_routed {
                let task = target.clone();
                events.push(MissionEvent::ActivatedAgain { task, from });
                return;
            }
        }
        events.push(MissionEvent::Routed {
            from,
            to,
            by,
            inputs,
        });
    }

    /// Returns the events that record the result of a unit, to be stored together.
    pub fn finished(&self, unit: &MissionUnit, result: UnitResult) -> Vec<MissionEvent> {
        let mut events = Vec::new();
        let Some(mission) = self.mission() else {
            return events;
        };
        let Some(task) = mission.task(&unit.task) else {
            return events;
        };
        let name = || task.name.clone();
        if result.usage != MissionUsage::default() {
            events.push(MissionEvent::Spent {
                task: name(),
                item: unit.item,
                usage: result.usage,
            });
        }
        if let Some((scope, limit, used)) = result.limit {
            events.push(MissionEvent::LimitReached {
                task: scope,
                limit,
                used,
            });
        }
        let is_done = result.how == TaskEnding::Done;
        if is_done {
            for (item, value) in result.outputs {
                events.push(MissionEvent::Output {
                    task: name(),
                    item: unit.item.or(item),
                    value,
                });
            }
            for (dataset, items) in result.datasets {
                events.push(MissionEvent::DatasetFilled {
                    task: name(),
                    dataset,
                    items,
                });
            }
        }
        if let Some(item) = unit.item {
            events.push(MissionEvent::ItemEnded {
                task: name(),
                item,
                how: result.how,
                summary: result.summary,
            });
            return events;
        }
        events.push(MissionEvent::TaskEnded {
            task: name(),
            how: result.how,
            summary: result.summary,
        });
        if is_done {
            if let Some(route) = result.route {
                let ChosenRoute { to, inputs } = route;
                self.route(mission, task, to, RoutedBy::Router, inputs, &mut events);
            }
            self.activate(mission, task, &mut events);
        }
        events
    }

    /// Returns the reasons why a new plan cannot replace the one of the run: finished tasks that it
    /// does not have, or whose output has another form.
    pub fn replan_faults(&self, plan: &MissionProject) -> Vec<String> {
        let Some(start) = &self.start else {
            return Vec::new();
        };
        let Some(mission) = plan.mission(&start.mission) else {
            return vec![format!("the files have no mission `{}`", start.mission)];
        };
        let mut faults = Vec::new();
        for (task, state) in self.tasks().filter(|(_, state)| state.is_started) {
            let name = &task.name;
            let Some(new) = mission.task(name) else {
                faults.push(format!("task `{name}` was removed, but it has run"));
                continue;
            };
            let schema = |task: &MissionTask| task.output.as_deref().map(super::json_schema);
            if state.is_done() && schema(task) != schema(new) {
                faults.push(format!("the output of task `{name}` has another form now"));
            }
            if is_parallel_task(task) != is_parallel_task(new) {
                faults.push(format!("the iterator of task `{name}` is another one now"));
            }
        }
        faults
    }
}

/// Returns `true` if each item of a task has a commander of its own.
pub fn is_parallel_task(task: &MissionTask) -> bool {
    task.iterator
        .as_ref()
        .is_some_and(|iterator| iterator.parallel.is_some())
}

/// Returns `true` if a task starts only when another one activates it.
fn is_target(mission: &Mission, name: &str) -> bool {
    mission.tasks.iter().any(|task| {
        let routed = task
            .routes
            .iter()
            .any(|route| matches!(&route.target, RouteTarget::Task(target) if **target == *name));
        routed || task.send_to.iter().any(|target| **target == *name)
    })
}

fn item_summary(done: usize, items: usize) -> String {
    format!("{done} of {items} items are done.")
}

impl std::fmt::Display for MissionEvent {
    /// Describes the event in one line. Texts of models and files are not escaped.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let unit = |task: &str, item: &Option<usize>| match item {
            None => format!("task `{task}`"),
            Some(item) => format!("task `{task}`, item {item}"),
        };
        match self {
            Self::Started(start) => write!(formatter, "mission `{}` started", start.mission),
            Self::TaskStarted { task } => write!(formatter, "task `{task}` started"),
            Self::ItemStarted {
                task,
                item,
                attempt: 1,
            } => write!(formatter, "task `{task}`, item {item} started"),
            Self::ItemStarted {
                task,
                item,
                attempt,
            } => write!(
                formatter,
                "task `{task}`, item {item} started again (attempt {attempt})"
            ),
            Self::SessionStarted {
                task,
                item,
                session,
            } => write!(formatter, "{}: session {session}", unit(task, item)),
            Self::Waiting {
                task,
                item,
                questions,
            } => write!(
                formatter,
                "{} waits for an answer: {}",
                unit(task, item),
                questions.join(", ")
            ),
            Self::Output { task, item, .. } => {
                write!(formatter, "{} has an output", unit(task, item))
            }
            Self::DatasetFilled {
                task,
                dataset,
                items,
            } => write!(
                formatter,
                "task `{task}` set dataset `{dataset}` to {} items",
                items.len()
            ),
            Self::Spent { task, item, usage } => write!(
                formatter,
                "{} used {} tokens",
                unit(task, item),
                usage.tokens
            ),
            Self::ItemEnded {
                task, item, how, ..
            } => write!(formatter, "task `{task}`, item {item} {how}"),
            Self::TaskEnded { task, how, .. } => write!(formatter, "task `{task}` {how}"),
            Self::Routed { from, to, .. } => {
                let to = match to {
                    RouteTarget::Task(name) => format!("task `{name}`"),
                    RouteTarget::Mission { name, .. } => format!("mission `{name}`"),
                };
                write!(formatter, "task `{from}` continues with {to}")
            }
            Self::ActivatedAgain { task, from } => write!(
                formatter,
                "task `{from}` leads to task `{task}`, which was started by another task"
            ),
            Self::LimitReached { task, limit, used } => {
                let owner = match task {
                    Some(task) => format!("task `{task}`"),
                    None => "the mission".to_owned(),
                };
                let used = limit.amount(*used);
                write!(formatter, "the budget of {owner} is used up: {used}")
            }
            Self::HandedOver { mission, run } => {
                write!(formatter, "mission `{mission}` continues as run {run}")
            }
            Self::Resumed { .. } => formatter.write_str("resumed"),
            Self::Cancelled => formatter.write_str("cancelled"),
            Self::Ended { how } => write!(formatter, "{how}"),
        }
    }
}

impl std::fmt::Display for TaskEnding {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Done => formatter.write_str("is done"),
            Self::Failed { reason } => write!(formatter, "failed: {reason}"),
            Self::Exhausted { reason } => write!(formatter, "stopped: {reason}"),
            Self::Cancelled => formatter.write_str("was cancelled"),
        }
    }
}

impl std::fmt::Display for MissionEnding {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Done => formatter.write_str("the mission is done"),
            Self::HandedOver => formatter.write_str("another mission continues"),
            Self::Failed { task, reason } => write!(formatter, "task `{task}` failed: {reason}"),
            Self::Exhausted { task, reason } => {
                write!(formatter, "task `{task}` stopped: {reason}")
            }
            Self::Cancelled => formatter.write_str("the mission was cancelled"),
        }
    }
}

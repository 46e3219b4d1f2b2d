//! The tools of a commander: subtasks, datasets, outputs of tasks, and the end of a task.
//!
//! They change nothing outside the conversation. Their state is the fold of the calls that succeeded,
//! so that a resumed commander has what it had before.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prowess_agent::{Event, StampedEvent, ToolCall};
use prowess_diag::{suggest, wording};
use prowess_flow::mission::{
    self, Field, MAX_DATASET, Mission, MissionState, MissionTask, MissionUnit, NO_ROUTE,
    RouteTarget, is_parallel_task, route_name,
};
use prowess_tools::input::object;
use prowess_tools::{
    Loaded, Schema, Tool, ToolAnswer, ToolContext, ToolError, ToolErrorKind, ToolSpec,
};
use serde_json::{Map, Value, json};

/// Ends the task of a commander.
pub(crate) const TASK_COMPLETE: &str = "task_complete";
/// Continues the conversation of an agent.
pub(crate) const ASK_AGENT: &str = "ask_agent";
/// Asks the commander of an earlier task.
pub(crate) const ASK_COMMANDER: &str = "ask_commander";
const SET_SUBTASKS: &str = "set_subtasks";
const COMPLETE_SUBTASK: &str = "complete_subtask";
const GET_SUBTASKS: &str = "get_subtasks";
const QUERY_TASK_OUTPUT: &str = "query_task_output";
const DATASET_NEXT: &str = "dataset_next";
const DATASET_SET: &str = "dataset_set";
const DATASET_SAMPLE: &str = "dataset_sample";
const DATASET_COUNT: &str = "dataset_count";
/// Submits the output of a task.
pub(crate) const SUBMIT_OUTPUT: &str = "submit_output";

/// Maximum number of subtasks.
const MAX_SUBTASKS: usize = 100;
/// Maximum number of rows in one answer.
const MAX_ROWS: usize = 200;
/// Maximum length of a summary or a reason, in bytes.
const MAX_SUMMARY_BYTES: usize = 32 * 1024;
/// Maximum number of items that a sequential iterator lists as missing.
const MAX_LISTED: usize = 20;

/// What a commander works with.
#[derive(Debug)]
pub(crate) struct TaskDesk {
    unit: MissionUnit,
    task: MissionTask,
    mission: Mission,
    /// The other missions that the commander may choose, by name.
    missions: Vec<Mission>,
    /// The outputs of tasks that have ended, by mission and task.
    outputs: BTreeMap<(Box<str>, Box<str>), Value>,
    /// The items of datasets.
    datasets: BTreeMap<Box<str>, Vec<Value>>,
    /// The sessions of the commanders of earlier tasks.
    commanders: BTreeMap<Box<str>, Box<str>>,
    state: Mutex<DeskState>,
}

#[derive(Debug, Default)]
struct DeskState {
    subtasks: Vec<(String, bool)>,
    outputs: BTreeMap<Option<usize>, Value>,
    datasets: BTreeMap<Box<str>, Vec<Value>>,
}

impl TaskDesk {
    /// Creates the tools of a unit. `earlier` are the outputs of the mission that handed over.
    pub(crate) fn new(
        state: &MissionState,
        unit: &MissionUnit,
        earlier: BTreeMap<(Box<str>, Box<str>), Value>,
    ) -> Option<Arc<Self>> {
        let mission = state.mission()?;
        let task = mission.task(&unit.task)?;
        let mut outputs = earlier;
        let mut commanders = BTreeMap::new();
        for name in state.ancestors(&unit.task) {
            let Some(above) = state.task(name) else {
                continue;
            };
            let session = above.units.get(&None).and_then(|unit| unit.session.clone());
            commanders.extend(session.map(|session| (Box::from(name), session)));
        }
        for (task, state) in state.tasks().filter(|(_, state)| state.is_done()) {
            let key = (mission.name.clone(), task.name.clone());
            outputs.extend(state.value().map(|value| (key, value)));
        }
        let datasets = mission.datasets.iter();
        let datasets = datasets.map(|one| (one.name.clone(), state.items(&one.name)));
        let plan = &state.start()?.plan;
        let missions = task.routes.iter().filter_map(|route| match &route.target {
            RouteTarget::Mission { name, .. } => plan.mission(name).cloned(),
            RouteTarget::Task(_) => None,
        });
        Some(Arc::new(Self {
            unit: unit.clone(),
            missions: missions.collect(),
            datasets: datasets.collect(),
            outputs,
            commanders,
            task: task.clone(),
            mission: mission.clone(),
            state: Mutex::default(),
        }))
    }

    /// Returns the tools.
    pub(crate) fn tools(self: &Arc<Self>) -> Vec<Arc<dyn Tool>> {
        let mut names = vec![SET_SUBTASKS, COMPLETE_SUBTASK, GET_SUBTASKS, ASK_AGENT];
        if !self.commanders.is_empty() {
            names.push(ASK_COMMANDER);
        }
        if !self.outputs.is_empty() {
            names.push(QUERY_TASK_OUTPUT);
        }
        if self.is_sequential() {
            names.push(DATASET_NEXT);
        }
        if !self.datasets.is_empty() {
            names.extend([DATASET_SET, DATASET_SAMPLE, DATASET_COUNT]);
        }
        if self.task.output.is_some() {
            names.push(SUBMIT_OUTPUT);
        }
        names.push(TASK_COMPLETE);
        let tool = |name| {
            let desk = Arc::clone(self);
            Arc::new(DeskTool { name, desk }) as Arc<dyn Tool>
        };
        names.into_iter().map(tool).collect()
    }

    /// Returns the session of the commander of an earlier task.
    pub(crate) fn commander(&self, task: &str) -> Option<&str> {
        self.commanders.get(task).map(|session| &**session)
    }

    /// Repeats the calls of a recorded session that succeeded.
    pub(crate) fn restore(&self, events: &[StampedEvent]) {
        let mut calls: Vec<&ToolCall> = Vec::new();
        for stamped in events {
            match &stamped.event {
                Event::Replied { reply, .. } => calls = reply.calls().collect(),
                Event::CallEnded { result, .. } if !result.is_error => {
                    if let Some(call) = calls.iter().find(|call| call.id == result.call) {
                        let _ = self.handle(&call.name, &call.input);
                    }
                }
                _ => {}
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, DeskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_sequential(&self) -> bool {
        self.task.iterator.is_some() && !is_parallel_task(&self.task)
    }

    /// Returns the items of a sequential iterator.
    fn items(&self) -> &[Value] {
        let iterator = self.task.iterator.as_ref().filter(|_| self.is_sequential());
        let items = iterator.and_then(|iterator| self.datasets.get(&iterator.dataset));
        items.map_or(&[], Vec::as_slice)
    }

    /// Carries out a call.
    fn handle(&self, name: &str, input: &Value) -> Result<ToolAnswer, ToolError> {
        match name {
            SET_SUBTASKS => Ok(self.set_subtasks(input)),
            COMPLETE_SUBTASK => self.complete_subtask(input),
            GET_SUBTASKS => Ok(self.subtasks()),
            QUERY_TASK_OUTPUT => self.query(input),
            DATASET_NEXT => Ok(self.next_item()),
            DATASET_SET => self.set_dataset(input),
            DATASET_SAMPLE => self.sample(input),
            DATASET_COUNT => self.count(input),
            SUBMIT_OUTPUT => self.submit_output(input),
            TASK_COMPLETE => self.complete(input),
            _ => Err(failed(format!("{name} works only in a session."))),
        }
    }

    fn set_subtasks(&self, input: &Value) -> ToolAnswer {
        let listed = input.get("subtasks").and_then(Value::as_array);
        let listed = listed.into_iter().flatten().filter_map(Value::as_str);
        let listed = listed.take(MAX_SUBTASKS);
        self.state().subtasks = listed.map(|text| (text.to_owned(), false)).collect();
        self.subtasks()
    }

    fn complete_subtask(&self, input: &Value) -> Result<ToolAnswer, ToolError> {
        let number = input.get("number").and_then(Value::as_u64).unwrap_or(0);
        let place = usize::try_from(number).unwrap_or(usize::MAX);
        let mut state = self.state();
        let count = state.subtasks.len();
        let subtask = place
            .checked_sub(1)
            .and_then(|at| state.subtasks.get_mut(at));
        match subtask {
            Some(subtask) => subtask.1 = true,
            None => {
                return Err(failed(format!(
                    "There is no subtask {number}; there are {count}."
                )));
            }
        }
        drop(state);
        Ok(self.subtasks())
    }

    fn subtasks(&self) -> ToolAnswer {
        let state = self.state();
        let line = |(at, (text, is_done)): (usize, &(String, bool))| {
            let mark = if *is_done { "x" } else { " " };
            format!("{}. [{mark}] {text}", at + 1)
        };
        let lines: Vec<String> = state.subtasks.iter().enumerate().map(line).collect();
        let value: Vec<Value> = state
            .subtasks
            .iter()
            .map(|(text, is_done)| json!({ "text": text, "done": is_done }))
            .collect();
        let text = if lines.is_empty() {
            "No subtasks.".to_owned()
        } else {
            lines.join("\n")
        };
        ToolAnswer::new(text, json!({ "subtasks": value }))
    }

    fn query(&self, input: &Value) -> Result<ToolAnswer, ToolError> {
        let text = |key: &str| input.get(key).and_then(Value::as_str);
        let task = text("task").unwrap_or_default();
        let mission = text("mission").unwrap_or(&self.mission.name);
        let key = (Box::from(mission), Box::from(task));
        let Some(value) = self.outputs.get(&key) else {
            let known: Vec<String> = self
                .outputs
                .keys()
                .map(|(of, task)| {
                    if *of == self.mission.name {
                        wording::tick(task)
                    } else {
                        format!("{} of mission {}", wording::tick(task), wording::tick(of))
                    }
                })
                .collect();
            let names = self.outputs.keys().map(|(_, task)| &**task);
            let near = suggest::nearest(task, names);
            let near = near.map(|near| format!(" Did you mean {}?", wording::tick(near)));
            return Err(failed(format!(
                "No output of task {}.{} Tasks with an output: {}",
                wording::tick(task),
                near.unwrap_or_default(),
                wording::all(known)
            )));
        };
        let rows: Vec<&Value> = match value {
            Value::Array(rows) => rows.iter().collect(),
            value => vec![value],
        };
        let wanted = input.get("where").and_then(Value::as_object);
        let fits = |row: &&Value| {
            let mut wanted = wanted.into_iter().flatten();
            wanted.all(|(field, value)| row.get(field) == Some(value))
        };
        let found: Vec<&Value> = rows.into_iter().filter(fits).collect();
        if let Some(field) = text("sum") {
            let numbers = found.iter().filter_map(|row| row.get(field)?.as_f64());
            let (mut sum, mut count) = (0.0, 0_usize);
            for number in numbers {
                sum += number;
                count += 1;
            }
            let value = json!({ "sum": sum, "rows": count });
            return Ok(ToolAnswer::new(value.to_string(), value));
        }
        let number = |key: &str, usual: usize| {
            let given = input.get(key).and_then(Value::as_u64);
            given.map_or(usual, |given| usize::try_from(given).unwrap_or(usize::MAX))
        };
        let (offset, limit) = (number("offset", 0), number("limit", 20).min(MAX_ROWS));
        let fields = input.get("fields").and_then(Value::as_array);
        let fields: Option<Vec<&str>> =
            fields.map(|fields| fields.iter().filter_map(Value::as_str).collect());
        let picked = |row: &&Value| match (&fields, row.as_object()) {
            (Some(fields), Some(row)) => {
                let entry = |name: &&str| Some(((*name).to_owned(), row.get(*name)?.clone()));
                Value::Object(fields.iter().filter_map(entry).collect())
            }
            _ => (*row).clone(),
        };
        let shown = found.iter().skip(offset).take(limit);
        let shown: Vec<Value> = shown.map(picked).collect();
        let value = json!({ "rows": shown, "total": found.len(), "offset": offset });
        Ok(ToolAnswer::new(value.to_string(), value))
    }

    fn next_item(&self) -> ToolAnswer {
        let state = self.state();
        let items = self.items();
        let is_open = |at: &usize| !state.outputs.contains_key(&Some(*at));
        let open: Vec<usize> = (0..items.len()).filter(is_open).collect();
        match open.first() {
            Some(at) => {
                let left = open.len() - 1;
                let value = json!({ "index": at, "item": items[*at], "left": left });
                ToolAnswer::new(value.to_string(), value)
            }
            None => ToolAnswer::new("No more items. Call `task_complete`.", json!({ "left": 0 })),
        }
    }

    /// Returns the name of a dataset and its items.
    fn dataset(&self, input: &Value) -> Result<(Box<str>, Vec<Value>), ToolError> {
        let name = input
            .get("dataset")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let state = self.state();
        let filled = state.datasets.get(name);
        let items = filled.or_else(|| self.datasets.get(name)).cloned();
        items.map(|items| (name.into(), items)).ok_or_else(|| {
            let known = self.datasets.keys().map(wording::tick);
            failed(format!(
                "No dataset {}. Datasets: {}",
                wording::tick(name),
                wording::all(known)
            ))
        })
    }

    fn set_dataset(&self, input: &Value) -> Result<ToolAnswer, ToolError> {
        let (name, _) = self.dataset(input)?;
        let items = input.get("items").and_then(Value::as_array);
        let items = items.cloned().unwrap_or_default();
        if items.len() > MAX_DATASET {
            return Err(failed(format!(
                "A dataset has at most {MAX_DATASET} items; this one has {}.",
                items.len()
            )));
        }
        let fields = self.mission.dataset(&name).map(|dataset| &*dataset.schema);
        if let Some(fields) = fields.filter(|fields| !fields.is_empty()) {
            let kind = mission::FieldType::Object(fields.to_vec());
            for (at, item) in items.iter().enumerate() {
                kind.check(&mission::from_json(item), "")
                    .map_err(|why| failed(format!("Item {at} does not fit the dataset: {why}")))?;
            }
        }
        let count = items.len();
        self.state().datasets.insert(name.clone(), items);
        let text = format!("Dataset {} has {count} items now.", wording::tick(&name));
        Ok(ToolAnswer::new(text, json!({ "count": count })))
    }

    fn sample(&self, input: &Value) -> Result<ToolAnswer, ToolError> {
        let (_, items) = self.dataset(input)?;
        let count = input.get("count").and_then(Value::as_u64).unwrap_or(5);
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(MAX_ROWS);
        // Spread over the whole dataset, and the same for every call.
        let step = items.len().div_ceil(count.max(1)).max(1);
        let sample: Vec<Value> = items.iter().step_by(step).take(count).cloned().collect();
        let value = json!({ "items": sample, "total": items.len() });
        Ok(ToolAnswer::new(value.to_string(), value))
    }

    fn count(&self, input: &Value) -> Result<ToolAnswer, ToolError> {
        let (_, items) = self.dataset(input)?;
        let value = json!({ "count": items.len() });
        Ok(ToolAnswer::new(value.to_string(), value))
    }

    fn submit_output(&self, input: &Value) -> Result<ToolAnswer, ToolError> {
        let (item, value) = if self.is_sequential() {
            let index = input
                .get("index")
                .and_then(Value::as_u64)
                .unwrap_or(u64::MAX);
            let index = usize::try_from(index).unwrap_or(usize::MAX);
            let count = self.items().len();
            if index >= count {
                return Err(failed(format!(
                    "There is no item {index}; there are {count}."
                )));
            }
            (
                Some(index),
                input.get("output").cloned().unwrap_or_default(),
            )
        } else {
            (None, input.clone())
        };
        self.state().outputs.insert(item, value);
        let text = if self.is_sequential() {
            "Recorded. Call `dataset_next` for the next item."
        } else {
            "Recorded. Call `task_complete` when the objective is met."
        };
        Ok(ToolAnswer::new(text, json!({ "recorded": true })))
    }

    fn complete(&self, input: &Value) -> Result<ToolAnswer, ToolError> {
        let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
        let succeed = input
            .get("succeed")
            .and_then(Value::as_bool)
            .unwrap_or(true);
        let (summary, reason) = (text("summary"), text("reason"));
        if summary.len() > MAX_SUMMARY_BYTES || reason.len() > MAX_SUMMARY_BYTES {
            return Err(failed(
                "The summary is too long; write a few paragraphs.".to_owned(),
            ));
        }
        let state = self.state();
        if succeed {
            self.check_outputs(&state)?;
        }
        let route = self.check_route(text("route"), succeed)?;
        let mut inputs = Map::new();
        if let Some(RouteTarget::Mission { name, .. }) = &route {
            inputs = self.check_inputs(name, input.get("mission_inputs"))?;
        }
        let outputs: Vec<Value> = state
            .outputs
            .iter()
            .map(|(item, value)| json!([item, value]))
            .collect();
        let value = json!({
            "succeed": succeed,
            "summary": summary,
            "reason": reason,
            "route": route.map(|route| serde_json::to_value(route).unwrap_or_default()),
            "mission_inputs": inputs,
            "outputs": outputs,
            "datasets": state.datasets,
        });
        Ok(ToolAnswer::new("The task is complete.", value))
    }

    fn check_outputs(&self, state: &DeskState) -> Result<(), ToolError> {
        if self.task.output.is_none() {
            return Ok(());
        }
        if !self.is_sequential() {
            return match state.outputs.get(&None) {
                Some(_) => Ok(()),
                None => Err(failed(
                    "This task has an output. Call `submit_output` with it first.".to_owned(),
                )),
            };
        }
        let is_missing = |at: &usize| !state.outputs.contains_key(&Some(*at));
        let missing: Vec<String> = (0..self.items().len())
            .filter(is_missing)
            .map(|at| at.to_string())
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let listed = missing.iter().take(MAX_LISTED).cloned();
        Err(failed(format!(
            "{} of {} items have no output yet: {}. Call `dataset_next` and `submit_output`.",
            missing.len(),
            self.items().len(),
            wording::all(listed)
        )))
    }

    /// Returns the route that a commander chose.
    fn check_route(&self, given: &str, succeed: bool) -> Result<Option<RouteTarget>, ToolError> {
        let given = given.trim();
        let routes = &self.task.routes;
        if given.is_empty() && (routes.is_empty() || !succeed) || given == NO_ROUTE {
            return Ok(None);
        }
        let named = given.strip_prefix("tasks.").unwrap_or(given);
        let chosen = routes.iter().find(|route| {
            let name = route_name(&route.target);
            name == given || name == named
        });
        if let Some(route) = chosen {
            return Ok(Some(route.target.clone()));
        }
        let known = route_names(routes);
        let known = known.iter().map(wording::tick);
        let problem = if given.is_empty() {
            "This task has routes: pass one of them as `route`.".to_owned()
        } else {
            format!(
                "There is no route {}.",
                wording::tick(wording::shorten(given, 80))
            )
        };
        Err(failed(format!("{problem} Routes: {}", wording::all(known))))
    }

    fn check_inputs(
        &self,
        name: &str,
        given: Option<&Value>,
    ) -> Result<Map<String, Value>, ToolError> {
        let mission = self.missions.iter().find(|mission| *mission.name == *name);
        let Some(mission) = mission else {
            return Err(failed(format!(
                "The plan has no mission {}.",
                wording::tick(name)
            )));
        };
        let given = given
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        checked_inputs(mission, given).map_err(|why| {
            failed(format!(
                "The inputs of mission {} are not valid: {why}",
                wording::tick(name)
            ))
        })
    }

    fn output_schema(&self) -> Value {
        let fields: &[Field] = self.task.output.as_deref().unwrap_or_default();
        mission::json_schema(fields)
    }
}

/// Checks the inputs of a mission: their names and types, and that none is missing.
pub fn checked_inputs(
    mission: &Mission,
    given: Map<String, Value>,
) -> Result<Map<String, Value>, String> {
    let mut values = Vec::new();
    for (name, value) in &given {
        let value = mission::from_json(value);
        mission.check_input(name, &value).map_err(|fault| {
            let name = wording::tick(name);
            match fault {
                mission::InputFault::Unknown { near: Some(near) } => {
                    format!("no input {name}; did you mean {}?", wording::tick(near))
                }
                mission::InputFault::Unknown { near: None } => format!("no input {name}"),
                mission::InputFault::Type(why) => format!("{name}: {why}"),
                mission::InputFault::Protected => {
                    format!("{name} is protected; its value comes from the mission")
                }
            }
        })?;
        values.push((name.clone(), value));
    }
    let missing = mission.missing_inputs(&values);
    if !missing.is_empty() {
        let missing = missing.into_iter().map(wording::tick);
        return Err(format!("missing {}", wording::all(missing)));
    }
    Ok(given)
}

fn failed(text: String) -> ToolError {
    ToolError::new(ToolErrorKind::Failed, text)
}

/// A tool of a commander.
#[derive(Debug)]
struct DeskTool {
    name: &'static str,
    desk: Arc<TaskDesk>,
}

fn text_field(about: &str) -> Value {
    json!({ "type": "string", "description": about })
}

impl Tool for DeskTool {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self, _: &ToolContext) -> String {
        let desk = &self.desk;
        match self.name {
            SET_SUBTASKS => "Writes down the steps of this task, for yourself.".to_owned(),
            COMPLETE_SUBTASK => "Marks a step as done.".to_owned(),
            GET_SUBTASKS => "Returns the steps of this task.".to_owned(),
            ASK_AGENT => {
                "Asks an agent that you called a question about its work. It answers from \
                          its conversation and uses no tools."
                    .to_owned()
            }
            ASK_COMMANDER => {
                let known = desk.commanders.keys().map(wording::tick);
                format!(
                    "Asks the commander of an earlier task a question. It answers from its \
                     conversation. Tasks: {}",
                    wording::all(known)
                )
            }
            QUERY_TASK_OUTPUT => {
                let known = desk.outputs.keys().map(|(mission, task)| {
                    if *mission == desk.mission.name {
                        wording::tick(task)
                    } else {
                        format!(
                            "{} of mission {}",
                            wording::tick(task),
                            wording::tick(mission)
                        )
                    }
                });
                format!(
                    "Returns the output of a task that has ended: all of it, or the rows and fields \
                     that you ask for. Tasks: {}",
                    wording::all(known)
                )
            }
            DATASET_NEXT => "Returns the next item without an output, with its index.".to_owned(),
            DATASET_SET => "Sets the items of a dataset, for the tasks that follow.".to_owned(),
            DATASET_SAMPLE => "Returns some items of a dataset.".to_owned(),
            DATASET_COUNT => "Returns the number of items in a dataset.".to_owned(),
            SUBMIT_OUTPUT if desk.is_sequential() => {
                "Submits the output for one item. Call it once for each item.".to_owned()
            }
            SUBMIT_OUTPUT => "Submits the output of this task. The last one counts.".to_owned(),
            _ => format!(
                "Ends task {}. Call it once, when the objective is met or cannot be met.",
                wording::tick(desk.unit.to_string())
            ),
        }
    }

    fn spec(&self, context: &ToolContext) -> ToolSpec {
        let mut input_schema = self.input_schema();
        // Providers hold models to the routes. Other spellings, and no route with a failure, are accepted.
        let routes = &self.desk.task.routes;
        if self.name == TASK_COMPLETE && !routes.is_empty() {
            input_schema["properties"]["route"]["enum"] = route_names(routes).into();
            input_schema["required"] = json!(["summary", "route"]);
        }
        ToolSpec {
            name: self.name.into(),
            description: self.description(context),
            input_schema,
            output_schema: self.output_schema(),
            read_only: self.is_read_only(context),
            destructive: self.is_destructive(context),
        }
    }

    fn input_schema(&self) -> Value {
        let desk = &self.desk;
        let dataset = || {
            let names: Vec<&str> = desk.datasets.keys().map(|name| &**name).collect();
            json!({ "type": "string", "enum": names })
        };
        let whole = |about: &str| json!({ "type": "integer", "minimum": 0, "description": about });
        match self.name {
            SET_SUBTASKS => {
                let list = json!({
                    "type": "array",
                    "items": { "type": "string" },
                    "maxItems": MAX_SUBTASKS,
                });
                object(&[("subtasks", list)], &["subtasks"])
            }
            COMPLETE_SUBTASK => {
                object(&[("number", whole("The number of the step."))], &["number"])
            }
            ASK_AGENT => object(
                &[
                    (
                        "id",
                        text_field("The session id in the answer of `call_agent`."),
                    ),
                    ("question", text_field("The question.")),
                ],
                &["id", "question"],
            ),
            ASK_COMMANDER => object(
                &[
                    ("task", text_field("The earlier task.")),
                    ("question", text_field("The question.")),
                ],
                &["task", "question"],
            ),
            QUERY_TASK_OUTPUT => object(
                &[
                    ("task", text_field("The task.")),
                    ("mission", text_field("The mission, if it is another one.")),
                    (
                        "where",
                        json!({ "type": "object", "description": "Values that fields of a row must have." }),
                    ),
                    (
                        "fields",
                        json!({ "type": "array", "items": { "type": "string" } }),
                    ),
                    (
                        "sum",
                        text_field("A field whose sum over the rows is returned instead of rows."),
                    ),
                    ("offset", whole("The first row.")),
                    ("limit", whole("Maximum number of rows (20).")),
                ],
                &["task"],
            ),
            DATASET_SET => object(
                &[
                    ("dataset", dataset()),
                    ("items", json!({ "type": "array", "maxItems": MAX_DATASET })),
                ],
                &["dataset", "items"],
            ),
            DATASET_SAMPLE => object(
                &[
                    ("dataset", dataset()),
                    ("count", whole("Maximum number of items (5).")),
                ],
                &["dataset"],
            ),
            DATASET_COUNT => object(&[("dataset", dataset())], &["dataset"]),
            SUBMIT_OUTPUT if desk.is_sequential() => object(
                &[
                    ("index", whole("The index of the item.")),
                    ("output", desk.output_schema()),
                ],
                &["index", "output"],
            ),
            SUBMIT_OUTPUT => desk.output_schema(),
            TASK_COMPLETE => completion_schema(&desk.task),
            _ => object(&[], &[]),
        }
    }

    fn output_schema(&self) -> Value {
        json!({})
    }

    fn schema(&self) -> Result<Schema, prowess_tools::SchemaFault> {
        Schema::new(&self.input_schema())
    }

    fn is_read_only(&self, _: &ToolContext) -> bool {
        true
    }

    fn answer(
        &self,
        _: &ToolContext,
        _: &mut Loaded,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        self.desk.handle(self.name, input)
    }
}

/// Returns what a commander can pass as `route`.
fn route_names(routes: &[mission::Route]) -> Vec<String> {
    let names = routes.iter().map(|route| route_name(&route.target));
    names.chain([NO_ROUTE.to_owned()]).collect()
}

/// Returns the schema of the end of a task.
pub(crate) fn completion_schema(task: &MissionTask) -> Value {
    let mut fields = vec![
        (
            "summary",
            text_field("What was done and found, in a few sentences, for the tasks that follow."),
        ),
        (
            "succeed",
            json!({ "type": "boolean", "description": "false if the objective cannot be met (true)." }),
        ),
        ("reason", text_field("Why it cannot be met.")),
    ];
    if !task.routes.is_empty() {
        let about = format!(
            "What happens next: {}",
            route_names(&task.routes).join(", ")
        );
        fields.push(("route", text_field(&about)));
        let is_mission =
            |route: &mission::Route| matches!(route.target, RouteTarget::Mission { .. });
        if task.routes.iter().any(is_mission) {
            fields.push((
                "mission_inputs",
                json!({ "type": "object", "description": "The inputs of the mission that you choose." }),
            ));
        }
    }
    object(&fields, &["summary"])
}

//! The JSON documents about missions.

use prowess_diag::FileReport;
use prowess_flow::mission::{
    AgentBlock, Budget, COMMANDER_TOOLS, Dataset, DatasetItems, Field, InputValues, Mission,
    MissionProject, ModelRef, Place, RouteTarget, Schedule, ScheduleTimes, SkillBlock, Task,
    ToolRef, WEEKDAYS, clock_text, json_schema, parse_time, to_json,
};
use serde_json::{Map, Value, json};

use super::agents::findings;

/// The number of starts that a plan lists for a schedule.
const STARTS: usize = 4;

/// What a plan is made for.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlanOptions<'a> {
    /// The only mission to show.
    pub mission: Option<&'a str>,
    /// The inputs of a run of that mission.
    pub inputs: Option<&'a InputValues>,
    /// The time from which starts are counted, as text.
    pub at: Option<&'a str>,
    /// The time zone of schedules without one.
    pub zone: &'a str,
}

/// Returns the plan of a project, schema 1.
pub fn plan(project: &MissionProject, reports: &[FileReport], options: PlanOptions<'_>) -> Value {
    let is_shown = |mission: &&Mission| options.mission.is_none_or(|name| name == &*mission.name);
    let missions: Vec<Value> = project
        .missions
        .iter()
        .filter(is_shown)
        .map(|one| mission(one, options))
        .collect();
    let files = project.files.iter();
    let files: Vec<Value> = files
        .map(|file| json!({ "path": file.path, "digest": file.digest }))
        .collect();
    json!({
        "schema": 1,
        "dialect": "squadron",
        "files": files,
        "skills": project.skills.iter().map(skill).collect::<Vec<_>>(),
        "agents": project.agents.iter().map(agent).collect::<Vec<_>>(),
        "missions": missions,
        "counts": {
            "skills": project.skills.len(),
            "agents": project.agents.len(),
            "missions": missions.len(),
        },
        "findings": findings(reports),
    })
}

/// Returns the document of all missions: `prowess.missions/1`.
pub fn missions(
    project: &MissionProject,
    reports: &[FileReport],
    options: PlanOptions<'_>,
) -> Value {
    let missions: Vec<Value> = project
        .missions
        .iter()
        .map(|mission| {
            let next = mission.schedules.iter();
            let next = next.filter_map(|one| starts(one, options).into_iter().next());
            let tasks = mission.tasks.iter();
            json!({
                "name": mission.name,
                "tasks": tasks.map(|task| &*task.name).collect::<Vec<_>>(),
                "agents": mission.agents,
                "next": next.collect::<Vec<_>>(),
                "at": place(&mission.place),
            })
        })
        .collect();
    json!({
        "schema": "prowess.missions/1",
        "missions": missions,
        "findings": findings(reports),
    })
}

fn place(place: &Place) -> Value {
    json!({ "file": place.file, "line": place.line })
}

fn skill(skill: &SkillBlock) -> Value {
    let mut value = json!({
        "name": skill.name,
        "scope": skill.scope.to_string(),
        "description": skill.description.as_text(),
        "instructions": skill.instructions.as_text(),
        "tools": tools(&skill.tools),
        "at": place(&skill.place),
    });
    if let Some(folder) = &skill.folder {
        value["source"] = json!(folder);
    }
    value
}

fn tools(tools: &[ToolRef]) -> Vec<String> {
    tools.iter().map(ToString::to_string).collect()
}

fn model(model: Option<&ModelRef>) -> Value {
    model.map_or(
        Value::Null,
        |model| json!({ "block": model.block, "name": model.name }),
    )
}

fn agent(agent: &AgentBlock) -> Value {
    json!({
        "name": agent.name,
        "scope": agent.scope.to_string(),
        "description": agent.description(),
        "model": model(agent.model.as_ref()),
        "effort": agent.effort,
        "skills": agent.skills,
        "tools": tools(&agent.tools),
        "has_load_skill": !agent.skills.is_empty(),
        "at": place(&agent.place),
    })
}

fn mission(mission: &Mission, options: PlanOptions<'_>) -> Value {
    let task = |one: &Task| task(mission, one, options);
    json!({
        "name": mission.name,
        "directive": mission.directive.as_ref().and_then(|text| text.as_text()),
        "commander": {
            "model": model(mission.commander.model.as_ref()),
            "effort": mission.commander.effort,
            "tools": COMMANDER_TOOLS,
            "has_load_skill": false,
        },
        "agents": mission.agents,
        "inputs": mission.inputs.iter().map(input).collect::<Vec<_>>(),
        "datasets": mission.datasets.iter().map(dataset).collect::<Vec<_>>(),
        "tasks": mission.tasks.iter().map(task).collect::<Vec<_>>(),
        "memories": mission.memories,
        "packets": mission.packets,
        "scratchpad": mission.has_scratchpad,
        "max_parallel": mission.max_parallel,
        "schedules": mission.schedules.iter().map(|one| schedule(one, options)).collect::<Vec<_>>(),
        "trigger": mission.trigger.as_ref().map(|trigger| json!({ "path": trigger.path })),
        "budget": budget(&mission.budget),
        "at": place(&mission.place),
    })
}

fn input(input: &Field) -> Value {
    json!({
        "name": input.name,
        "type": input.kind.word(),
        "description": input.description.as_ref().and_then(|text| text.as_text()),
        "default": input.default.as_ref().and_then(to_json),
        "required": input.default.is_none() && !input.is_protected,
        "protected": input.is_protected,
        "schema": input.kind.json_schema(),
    })
}

fn dataset(dataset: &Dataset) -> Value {
    let (items, input) = match &dataset.items {
        DatasetItems::Given(items) => (Some(items.len()), None),
        DatasetItems::Input(input) => (None, Some(input)),
        DatasetItems::Filled => (None, None),
    };
    let schema = (!dataset.schema.is_empty()).then(|| json_schema(&dataset.schema));
    json!({
        "name": dataset.name,
        "description": dataset.description.as_ref().and_then(|text| text.as_text()),
        "items": items,
        "bind_to": input,
        "schema": schema,
    })
}

fn task(mission: &Mission, task: &Task, options: PlanOptions<'_>) -> Value {
    let objective = task.objective_with(options.inputs, None).ok();
    let objective = objective.as_ref().and_then(|text| text.as_text());
    let objectives = task.objectives(mission, options.inputs);
    let routes: Vec<Value> = task
        .routes
        .iter()
        .map(|route| {
            let condition = route.condition.as_text();
            match &route.target {
                RouteTarget::Task(name) => json!({ "task": name, "condition": condition }),
                RouteTarget::Mission { name, entry } => {
                    let mut value = json!({ "mission": name, "condition": condition });
                    if let Some(entry) = entry {
                        value["entry"] = json!(entry);
                    }
                    value
                }
            }
        })
        .collect();
    let iterator = task.iterator.as_ref().map(|iterator| {
        let parallel = iterator.parallel.as_ref();
        json!({
            "dataset": iterator.dataset,
            "parallel": parallel.is_some(),
            "limit": parallel.map(|parallel| parallel.limit),
            "start_delay": parallel.map(|parallel| parallel.start_delay),
            "smoketest": parallel.map(|parallel| parallel.smoke_test),
            "retries": iterator.retries,
        })
    });
    json!({
        "name": task.name,
        "objective": objective,
        "objectives": objectives.unwrap_or_default(),
        "needs": task.needs(),
        "agents": task.agents.as_ref().unwrap_or(&mission.agents),
        "depends_on": task.depends_on,
        "send_to": task.send_to,
        "routes": routes,
        "iterator": iterator,
        "output": task.output.as_ref().map(|fields| json_schema(fields)),
        "packets": task.packets,
        "budget": budget(&task.budget),
        "at": place(&task.place),
    })
}

fn budget(budget: &Budget) -> Value {
    let mut value = Map::new();
    if let Some(tokens) = budget.tokens {
        value.insert("tokens".to_owned(), tokens.into());
    }
    let dollars = budget.dollars.as_ref();
    if let Some(dollars) = dollars.and_then(|text| text.parse::<f64>().ok()) {
        value.insert("dollars".to_owned(), dollars.into());
    }
    value.into()
}

fn schedule(schedule: &Schedule, options: PlanOptions<'_>) -> Value {
    let mut value = Map::new();
    match &schedule.times {
        ScheduleTimes::At(times) => {
            let times: Vec<String> = times.iter().map(|time| clock_text(*time)).collect();
            value.insert("at".to_owned(), json!(times));
        }
        ScheduleTimes::Every(minutes) => {
            value.insert("every".to_owned(), interval(*minutes).into());
        }
        ScheduleTimes::Cron(text) => {
            value.insert("cron".to_owned(), json!(text));
        }
    }
    let days: Vec<&str> = schedule
        .weekdays
        .iter()
        .filter_map(|day| WEEKDAYS.get(usize::from(*day).checked_sub(1)?).copied())
        .collect();
    value.insert("weekdays".to_owned(), json!(days));
    value.insert("zone".to_owned(), json!(schedule.zone));
    let inputs = schedule.inputs.iter();
    let inputs: Map<String, Value> = inputs
        .filter_map(|(name, value)| Some((name.to_string(), to_json(value)?)))
        .collect();
    value.insert("inputs".to_owned(), inputs.into());
    value.insert("next_after".to_owned(), json!(options.at));
    value.insert("fires".to_owned(), json!(starts(schedule, options)));
    value.into()
}

/// Returns the next starts of a schedule, in its zone. Empty without a time to count from.
pub fn starts(schedule: &Schedule, options: PlanOptions<'_>) -> Vec<String> {
    let after = options.at.and_then(|text| parse_time(text, options.zone));
    let Some(after) = after else {
        return Vec::new();
    };
    let starts = schedule.next(after, options.zone, STARTS);
    starts
        .iter()
        .map(|start| start.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
        .collect()
}

/// Formats an interval: `15m`, `2h`, `1h30m`.
pub fn interval(minutes: u16) -> String {
    match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes}m"),
        (hours, 0) => format!("{hours}h"),
        (hours, minutes) => format!("{hours}h{minutes}m"),
    }
}

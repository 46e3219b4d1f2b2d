//! The JSON documents about missions.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;

use prowess_config::{McpServer, McpTransport};
use prowess_diag::FileReport;
use prowess_flow::mission::{
    AgentBlock, BlockPlace, Budget, COMMANDER_TOOLS, Dataset, DatasetItems, Field, InputValues,
    Mission, MissionProject, MissionState, MissionTask, MissionUsage, ModelRef, RouteTarget,
    Schedule, ScheduleTimes, ServerBlock, SkillBlock, TaskEnding, TaskState, ToolRef, UnitState,
    Value as HclValue, WEEKDAYS, clock_text, json_schema, parse_time, to_json, value_text,
};
use prowess_traits::OpenQuestion;
use prowess_trust::{HiddenText, MissionTrust};
use serde_json::{Map, Value, json};

use super::agents::findings;
use super::permissions::{TrustSection, trust_changes, trust_word};
use super::servers::{project_programs, server_command, server_settings};
use crate::mission_costs::MissionCosts;

/// The number of starts that a plan lists for a schedule.
const STARTS: usize = 4;
/// The maximum number of bytes of the objectives of all items in a plan. Those of tasks beyond it are
/// left out.
const MAX_OBJECTIVES: usize = 16 * 1024 * 1024;

/// The JSON Schema of a plan.
const PLAN_SCHEMA: &str = include_str!("plan_schema.json");

/// Returns the JSON Schema of the document of [`plan`].
pub fn plan_schema() -> Value {
    serde_json::from_str(PLAN_SCHEMA).unwrap_or_default()
}

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
    let left = Cell::new(MAX_OBJECTIVES);
    let missions: Vec<Value> = project
        .missions
        .iter()
        .filter(is_shown)
        .map(|one| mission(one, options, &left))
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
                "inputs": mission.inputs.iter().map(input).collect::<Vec<_>>(),
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

fn place(place: &BlockPlace) -> Value {
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

fn mission(mission: &Mission, options: PlanOptions<'_>, left: &Cell<usize>) -> Value {
    let task = |one: &MissionTask| task(mission, one, options, left);
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

fn task(
    mission: &Mission,
    task: &MissionTask,
    options: PlanOptions<'_>,
    left: &Cell<usize>,
) -> Value {
    let objective = task.objective_with(options.inputs, None).ok();
    let objective = objective.as_ref().and_then(|text| text.as_text());
    let objectives = task.objectives(mission, options.inputs, left);
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

/// Returns what trusting a mission project allows.
pub fn mission_trust_sections(
    project: &MissionProject,
    trust: &MissionTrust,
    hidden: &[HiddenText],
) -> Vec<TrustSection> {
    let tools = |tools: &[ToolRef]| -> String {
        if tools.is_empty() {
            return "no tools".to_owned();
        }
        let tools: Vec<String> = tools.iter().map(ToString::to_string).collect();
        tools.join(", ")
    };
    let servers: Vec<McpServer> = project.servers.iter().map(shown_server).collect();
    let texts = |programs: bool| -> Vec<String> {
        let is_program =
            |server: &McpServer| matches!(server.transport, McpTransport::Program { .. });
        let some = servers.iter().filter(|one| is_program(one) == programs);
        some.map(|one| format!("{}: {}", one.name, server_command(one)))
            .collect()
    };
    let settings = project
        .servers
        .iter()
        .zip(&servers)
        .flat_map(|(block, server)| {
            let known = server_settings(server).into_iter();
            let known = known.map(|line| format!("{}: {line}", server.name));
            let others = block
                .settings
                .iter()
                .filter(|(key, _)| !is_shown_setting(server, key));
            let others = others
                .map(|(key, value)| format!("{}: with {key} = {}", server.name, value_text(value)));
            known.chain(others).collect::<Vec<_>>()
        });
    let files = project_programs(&trust.root, &servers);
    let models = project.models.iter().filter_map(|model| {
        let url = model.base_url.as_ref().map(value_text)?;
        let key = match &model.api_key {
            Some(key @ HclValue::Late(_)) => format!(", with the key {}", value_text(key)),
            Some(_) => ", with a key of the file".to_owned(),
            None => String::new(),
        };
        Some(format!("{}: {url}{key}", model.name))
    });
    let prices = project.models.iter().flat_map(|model| {
        let prices = model.prices.iter();
        prices.map(|(name, price)| {
            let part =
                |word: &str, price: Option<f64>| price.map(|price| format!("{word} ${price}"));
            let parts = [
                part("input", price.input),
                part("output", price.output),
                part("cache read", price.cache_read),
                part("cache write", price.cache_write),
            ];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            format!("{}.{name}: {}", model.name, parts.join(", "))
        })
    });
    let bound = project.tools.iter().flat_map(|tool| {
        let target = tool.implements.as_ref().map(ToString::to_string);
        let url = tool.parameters.iter().find(|(name, _)| &**name == "url");
        let url = url.map(|(_, value)| format!(" to {}", value_text(value)));
        let first = format!(
            "{}: {}{}",
            tool.name,
            target.unwrap_or_default(),
            url.unwrap_or_default()
        );
        let others = tool.parameters.iter().filter(|(name, _)| &**name != "url");
        let others = others.flat_map(|(name, value)| match value {
            HclValue::Object(entries) => {
                let entries = entries.iter();
                let entries = entries.map(|(key, value)| {
                    format!("{}: with {name}.{key} = {}", tool.name, value_text(value))
                });
                entries.collect::<Vec<_>>()
            }
            value => vec![format!(
                "{}: with {name} = {}",
                tool.name,
                value_text(value)
            )],
        });
        std::iter::once(first).chain(others).collect::<Vec<_>>()
    });
    let agents = project
        .agents
        .iter()
        .map(|agent| format!("{}: {}", agent.name, tools(&agent.tools)));
    let skills = project
        .skills
        .iter()
        .filter(|skill| !skill.tools.is_empty());
    let skills = skills.map(|skill| format!("{}: {}", skill.name, tools(&skill.tools)));
    let secrets = project
        .variables
        .iter()
        .filter(|variable| variable.is_secret);
    let secrets = secrets.map(|variable| variable.name.to_string());
    let plain = project
        .variables
        .iter()
        .filter(|variable| !variable.is_secret);
    let plain = plain.map(|variable| variable.name.to_string());
    let budgets = project.missions.iter().map(|mission| {
        let budget = &mission.budget;
        let tokens = budget.tokens.map(|tokens| format!("{tokens} tokens"));
        let dollars = budget.dollars.as_ref().map(|dollars| format!("${dollars}"));
        let parts: Vec<String> = tokens.into_iter().chain(dollars).collect();
        let text = if parts.is_empty() {
            "no budget".to_owned()
        } else {
            parts.join(", ")
        };
        format!("{}: {text}", mission.name)
    });
    let packets = project.packets.iter();
    let packets = packets.map(|packet| {
        let target = link_target(&trust.root, &packet.path);
        let target = target.map(|target| format!(" (a link to {target})"));
        format!(
            "{}: {}{}",
            packet.name,
            packet.path,
            target.unwrap_or_default()
        )
    });
    let hidden = hidden.iter();
    let hidden =
        hidden.map(|found| format!("{}:{} {}", found.file.display(), found.line, found.what));
    let all: [(&'static str, Vec<String>, bool); 16] = [
        (
            "Changed since it was trusted",
            trust_changes(&trust.changes),
            true,
        ),
        ("Agents with these tools", agents.collect(), false),
        ("Skills that add tools", skills.collect(), false),
        ("Tools with fixed parameters", bound.collect(), false),
        ("Starts programs outside the sandbox", texts(true), true),
        ("Connects to servers", texts(false), true),
        (
            "Settings of these servers; ${vars.NAME} is the value of your variable",
            settings.collect(),
            true,
        ),
        (
            "Files of these programs, which trust does not cover",
            files,
            true,
        ),
        ("Sends conversations to", models.collect(), true),
        (
            "Prices that the files set, for a million tokens",
            prices.collect(),
            false,
        ),
        ("Uses these secrets", secrets.collect(), true),
        (
            "Uses these variables, which models may read",
            plain.collect(),
            false,
        ),
        ("Reads these folders", packets.collect(), false),
        ("Budgets of missions", budgets.collect(), false),
        ("Contains hidden text", hidden.collect(), true),
        ("Files", trust.files().map(str::to_owned).collect(), false),
    ];
    let filled = all.into_iter().filter(|(_, lines, _)| !lines.is_empty());
    filled
        .map(|(title, lines, alarming)| TrustSection {
            title,
            lines,
            alarming,
        })
        .collect()
}

/// Returns what a block starts or connects to. What is known when it runs stays an expression, such as
/// `${vars.token}`: everything around it is shown.
fn shown_server(block: &ServerBlock) -> McpServer {
    let setting = |key: &str| {
        let found = block.settings.iter().find(|(name, _)| **name == *key);
        found
            .map(|(_, value)| value)
            .filter(|value| **value != HclValue::Null)
    };
    let pairs = |key: &str| -> BTreeMap<String, String> {
        match setting(key) {
            Some(HclValue::Object(entries)) => entries
                .iter()
                .map(|(name, value)| (name.to_string(), value_text(value)))
                .collect(),
            _ => BTreeMap::new(),
        }
    };
    let transport = match setting("command") {
        Some(command) => McpTransport::Program {
            command: value_text(command),
            args: match setting("args") {
                Some(HclValue::List(items)) => items.iter().map(value_text).collect(),
                Some(other) => vec![value_text(other)],
                None => Vec::new(),
            },
            env: pairs("env"),
            cwd: None,
        },
        None => McpTransport::Web {
            url: setting("url").map(value_text).unwrap_or_default(),
            headers: pairs("headers"),
        },
    };
    McpServer {
        name: block.name.clone(),
        agent: None,
        transport,
        timeout: None,
        on_demand: false,
        in_skills: false,
    }
}

/// Returns `true` if a setting of a block is part of the server that is shown.
fn is_shown_setting(server: &McpServer, key: &str) -> bool {
    match &server.transport {
        McpTransport::Program { env, .. } => {
            matches!(key, "command" | "args") || key == "env" && !env.is_empty()
        }
        McpTransport::Web { headers, .. } => {
            key == "url" || key == "headers" && !headers.is_empty()
        }
    }
}

/// Returns the folder that a path in a project leads to if it is, or passes, a link.
fn link_target(root: &Path, path: &str) -> Option<String> {
    let root = root.canonicalize().ok()?;
    let target = root.join(path).canonicalize().ok()?;
    (target != root.join(path)).then(|| match target.strip_prefix(&root) {
        Ok(inner) => inner.display().to_string(),
        Err(_) => target.display().to_string(),
    })
}

/// Describes the trust in a mission project.
pub fn mission_trust(
    project: &MissionProject,
    trust: &MissionTrust,
    hidden: &[HiddenText],
) -> Value {
    let state = trust.state.as_ref().map_or("cannot be checked", trust_word);
    let sections = mission_trust_sections(project, trust, hidden);
    let sections: Vec<Value> = sections
        .iter()
        .map(|section| json!({ "title": section.title, "lines": section.lines }))
        .collect();
    json!({
        "kind": "missions",
        "path": trust.root.to_string_lossy(),
        "digest": trust.digest,
        "state": state,
        "changes": trust_changes(&trust.changes),
        "sections": sections,
    })
}

/// Describes a run of a mission.
pub fn mission_run(run: &str, state: &MissionState, waiting: &[OpenQuestion]) -> Value {
    let usage = |usage: MissionUsage| json!({ "tokens": usage.tokens, "micros": usage.micros, "turns": usage.turns });
    let unit = |item: &Option<usize>, unit: &UnitState| {
        json!({
            "item": item,
            "attempt": unit.attempt,
            "session": unit.session,
            "earlier_sessions": unit.earlier,
            "questions": unit.questions,
            "ending": unit.ending,
            "summary": unit.summary,
            "spent": usage(unit.spent),
        })
    };
    let tasks: Vec<Value> = state
        .tasks()
        .map(|(task, known)| {
            let units: Vec<Value> = known
                .units
                .iter()
                .map(|(item, one)| unit(item, one))
                .collect();
            json!({
                "name": task.name,
                "state": task_word(known),
                "activated_by": known.activated_by,
                "ending": known.ending,
                "summary": known.summary,
                "output": known.value(),
                "spent": usage(known.spent),
                "units": units,
            })
        })
        .collect();
    let questions: Vec<Value> = waiting
        .iter()
        .map(|open| json!({ "id": open.question.id, "what": open.question.what, "reason": open.question.reason }))
        .collect();
    let start = state.start();
    json!({
        "schema": "prowess.mission-run/1",
        "type": "result",
        "run": run,
        "mission": start.map(|start| &start.mission),
        "folder": start.map(|start| &start.folder),
        "digest": start.map(|start| &start.digest),
        "inputs": start.map(|start| &start.inputs),
        "from": start.and_then(|start| start.from.as_ref()),
        "handed_to": state.handed_to().map(|(mission, run)| json!({ "mission": mission, "run": run })),
        "ending": state.ending(),
        "spent": usage(state.spent()),
        "budget": state.budget(),
        "tasks": tasks,
        "questions": questions,
    })
}

/// Describes what runs of a mission used, by task, agent and skill.
pub fn mission_costs(costs: &MissionCosts) -> Value {
    let usage = |usage: &MissionUsage| json!({ "tokens": usage.tokens, "micros": usage.micros, "requests": usage.turns });
    let rows = |rows: &mut dyn Iterator<Item = (&Box<str>, &MissionUsage)>| -> Vec<Value> {
        rows.map(|(name, used)| json!({ "name": name, "used": usage(used) }))
            .collect()
    };
    json!({
        "total": usage(&costs.total),
        "tasks": rows(&mut costs.tasks.iter().map(|(name, used)| (name, used))),
        "agents": rows(&mut costs.agents.iter()),
        "skills": rows(&mut costs.skills.iter()),
        "complete": costs.is_complete,
    })
}

/// Describes the state of a task in a word.
pub fn task_word(state: &TaskState) -> &'static str {
    match &state.ending {
        Some(TaskEnding::Done) => "done",
        Some(TaskEnding::Failed { .. }) => "failed",
        Some(TaskEnding::Exhausted { .. }) => "stopped",
        Some(TaskEnding::Cancelled) => "cancelled",
        None if !state.is_started => "not started",
        None if state.units.values().any(|unit| !unit.questions.is_empty()) => "waiting",
        None => "running",
    }
}

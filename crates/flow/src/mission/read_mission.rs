//! Reads missions.

use std::collections::BTreeMap;
use std::rc::Rc;

use prowess_diag::{Severity, Span};
use prowess_hcl::{Block, Value};

use super::graph::TaskSpans;
use super::model::{
    BlockPlace, Budget, Commander, Dataset, DatasetItems, Mission, MissionTask, ParallelItems,
    Route, RouteTarget, TaskIterator, Trigger,
};
use super::reader::{Audience, Context, ItemUse, Names, Reader, name_of, with_severity};
use super::schedule::{self, Cron, Schedule, ScheduleTimes};
use super::schema::{Field, FieldType};
use super::{MissionProject, rules};
use crate::file_reader::shown;

/// The names of a mission.
struct MissionNames {
    agents: Names,
    tasks: Names,
    datasets: Names,
}

/// Returns the blocks of a kind.
fn of<'b>(block: &'b Block, kind: &'static str) -> impl Iterator<Item = &'b Block> {
    block
        .blocks()
        .filter(move |inner| *inner.kind.text == *kind)
}

impl Reader<'_> {
    /// Reads a mission. `hooks` are the paths of web hooks so far.
    pub(super) fn read_mission(
        &mut self,
        file: usize,
        block: &Block,
        hooks: &mut BTreeMap<Box<str>, BlockPlace>,
        project: &mut MissionProject,
    ) -> Option<Mission> {
        let (name, name_span) = name_of(block)?;
        let project_names = Rc::clone(&self.names);
        let mut names = MissionNames {
            agents: Names::new(),
            tasks: Names::new(),
            datasets: Names::new(),
        };
        for agent in of(block, "agent") {
            let Some((agent_name, span)) = name_of(agent) else {
                continue;
            };
            let is_new = self.declare(file, "agent", &agent_name, span, &mut names.agents);
            if let Some(global) = project_names.agents.get(&agent_name) {
                let message = format!("the agent `{}` exists globally too", shown(&agent_name));
                let help = format!(
                    "the global one is in {}:{}; rename one of them",
                    global.file, global.line
                );
                self.report(file, rules::NAME, span, message, help);
            } else if is_new {
                self.read_agent(file, agent, Some(&name), project);
            }
        }
        let inputs = self.read_inputs(file, block);
        let datasets = self.read_datasets(file, block, &inputs, &mut names);
        for task in of(block, "task") {
            if let Some((task_name, span)) = name_of(task) {
                self.declare(file, "task", &task_name, span, &mut names.tasks);
            }
        }
        let commander = of(block, "commander").next();
        let commander = commander.map(|inner| Commander {
            model: self.model(file, inner),
            effort: self.effort(file, inner),
            limits: self.limits(file, inner, false),
        });
        let agents = self.agents(file, block, &names).unwrap_or_default();
        if let Some(attribute) = block.attribute("agents")
            && matches!(&attribute.value.kind, prowess_hcl::ExprKind::List(items) if items.is_empty())
        {
            let message = "`agents` is empty";
            let help = "list at least one agent: `agents = [agents.NAME]`";
            self.report(file, rules::VALUE, attribute.value.span, message, help);
        }
        let text = Context {
            inputs: Some(&inputs),
            ..Context::MODEL
        };
        let mut mission = Mission {
            name,
            directive: self.text(file, block, "directive", text),
            commander: commander.unwrap_or_default(),
            agents,
            inputs: Vec::new(),
            datasets,
            tasks: Vec::new(),
            memories: self.list_of(file, block, "memories", "memory", &project_names.memories),
            memory: None,
            packets: self.list_of(file, block, "packets", "packet", &project_names.packets),
            has_scratchpad: self.flag(file, block, "scratchpad").unwrap_or(false),
            max_parallel: self.small(file, block, "max_parallel", 1).unwrap_or(3),
            schedules: Vec::new(),
            trigger: None,
            budget: Budget::default(),
            place: self.place(file, name_span),
        };
        for memory in of(block, "memory").take(1) {
            mission.memory = self.filled_text(file, memory, "description", Context::MODEL);
        }
        let mut spans = Vec::new();
        for task in of(block, "task") {
            let Some((_, span)) = name_of(task) else {
                continue;
            };
            // A second task of the same name was reported.
            let is_first = |place: &&BlockPlace| place.span == span;
            let is_first = names.tasks.values().any(|place| is_first(&place));
            if let Some((task, task_spans)) =
                self.read_task(file, task, &inputs, &mission.datasets, &names)
                && is_first
            {
                mission.tasks.push(task);
                spans.push(task_spans);
            }
        }
        self.check_graph(file, &mission.tasks, &spans, block.head());
        for schedule in of(block, "schedule") {
            if let Some(schedule) = self.read_schedule(file, schedule, &inputs) {
                mission.schedules.push(schedule);
            }
        }
        for trigger in of(block, "trigger").take(1) {
            mission.trigger = self.read_trigger(file, trigger, &mission.name, hooks);
        }
        for budget in of(block, "budget").take(1) {
            mission.budget = self.read_budget(file, budget);
        }
        mission.inputs = inputs;
        Some(mission)
    }

    /// Resolves the agents of a mission or a task.
    fn agents(
        &mut self,
        file: usize,
        block: &Block,
        names: &MissionNames,
    ) -> Option<Vec<Box<str>>> {
        let project_names = Rc::clone(&self.names);
        let references = self.references(file, block, "agents")?;
        let mut agents: Vec<Box<str>> = Vec::new();
        for reference in references {
            let known = [&names.agents, &project_names.agents];
            if let Some(agent) = self.named(file, &reference, "agents", "agent", &known)
                && !agents.contains(&agent)
            {
                agents.push(agent);
            }
        }
        Some(agents)
    }

    /// Resolves a list of references of one kind.
    fn list_of(
        &mut self,
        file: usize,
        block: &Block,
        attribute: &str,
        kind: &str,
        known: &Names,
    ) -> Vec<Box<str>> {
        let mut found: Vec<Box<str>> = Vec::new();
        for reference in self.references(file, block, attribute).unwrap_or_default() {
            if let Some(name) = self.named(file, &reference, attribute, kind, &[known])
                && !found.contains(&name)
            {
                found.push(name);
            }
        }
        found
    }

    /// Evaluates a whole number of at most 65,535.
    fn small(&mut self, file: usize, block: &Block, name: &str, least: u64) -> Option<u32> {
        let number = self.whole(file, block, name, least)?;
        if let Ok(number) = u16::try_from(number) {
            return Some(number.into());
        }
        let span = block.attribute(name)?.value.span;
        let message = format!("`{name}` must be at most 65535");
        self.report(file, rules::VALUE, span, message, "");
        None
    }

    fn read_inputs(&mut self, file: usize, block: &Block) -> Vec<Field> {
        let mut names = Names::new();
        let mut inputs = Vec::new();
        for input in of(block, "input") {
            let Some((name, span)) = name_of(input) else {
                continue;
            };
            let is_new = self.declare(file, "input", &name, span, &mut names);
            if let Some(field) = self.field_block(file, input, name, true)
                && is_new
            {
                inputs.push(field);
            }
        }
        for field in self.fields(file, block, "inputs", true) {
            if let Some(first) = names.get(&field.name) {
                let message = format!("the input `{}` is defined twice", shown(&field.name));
                let help = format!("the first is in {}:{}", first.file, first.line);
                let span = block
                    .attribute("inputs")
                    .map_or(block.span, |one| one.name.span);
                self.report(file, rules::NAME, span, message, help);
            } else {
                inputs.push(field);
            }
        }
        inputs
    }

    fn read_datasets(
        &mut self,
        file: usize,
        block: &Block,
        inputs: &[Field],
        names: &mut MissionNames,
    ) -> Vec<Dataset> {
        let mut datasets = Vec::new();
        for inner in of(block, "dataset") {
            let Some((name, span)) = name_of(inner) else {
                continue;
            };
            let is_new = self.declare(file, "dataset", &name, span, &mut names.datasets);
            let description = self.text(file, inner, "description", Context::MODEL);
            let schema = self.fields(file, inner, "schema", false);
            let items = self.read_items(file, inner, inputs, &schema);
            if is_new {
                datasets.push(Dataset {
                    name,
                    description,
                    schema,
                    items,
                    place: self.place(file, span),
                });
            }
        }
        datasets
    }

    fn read_items(
        &mut self,
        file: usize,
        block: &Block,
        inputs: &[Field],
        schema: &[Field],
    ) -> DatasetItems {
        let bound = self.reference(file, block, "bind_to");
        if let (Some(_), Some(items)) = (block.attribute("bind_to"), block.attribute("items")) {
            let message = "`bind_to` and `items` exclude each other";
            self.report(
                file,
                rules::VALUE,
                items.name.span,
                message,
                "keep one of them",
            );
        }
        if let Some(reference) = bound {
            let span = reference.span;
            let (Some("inputs") | None, [name]) = (reference.root.as_deref(), &*reference.path)
            else {
                let message = format!("`{}` is not an input", shown(&reference.text()));
                self.report(file, rules::REFERENCE, span, message, "write `inputs.NAME`");
                return DatasetItems::Filled;
            };
            let Some(input) = inputs.iter().find(|input| input.name == *name) else {
                let message = format!("unknown input `{}`", shown(&reference.text()));
                let help = format!(
                    "declare it: `input \"{}\" {{ type = \"list\" }}`",
                    shown(name)
                );
                let known = inputs.iter().map(|input| &*input.name);
                self.unknown(file, span, message, name, known, help);
                return DatasetItems::Filled;
            };
            if !matches!(input.kind, FieldType::List(_)) {
                let message = format!(
                    "the input `{}` is a {}, not a list",
                    shown(name),
                    input.kind.word()
                );
                let help = "write `type = \"list\"` in the input";
                self.report(file, rules::VALUE, span, message, help);
            }
            return DatasetItems::Input(name.clone());
        }
        let Some(attribute) = block.attribute("items") else {
            return DatasetItems::Filled;
        };
        let span = attribute.value.span;
        let items = match self.value(file, &attribute.value, Context::MODEL) {
            Some(Value::List(items)) => items,
            Some(other) => {
                self.wrong(file, "items", span, "a list", &other);
                return DatasetItems::Filled;
            }
            None => return DatasetItems::Filled,
        };
        let kind = FieldType::Object(schema.to_vec());
        let warning = with_severity(rules::VALUE, Severity::Warning);
        for (at, item) in items.iter().enumerate() {
            if schema.is_empty() {
                break;
            }
            if let Err(fault) = kind.check(item, "") {
                let message = format!("item {} does not fit the schema: {fault}", at + 1);
                self.report(
                    file,
                    warning,
                    span,
                    message,
                    "correct the item or the schema",
                );
                break;
            }
        }
        DatasetItems::Given(items)
    }

    fn read_task(
        &mut self,
        file: usize,
        block: &Block,
        inputs: &[Field],
        datasets: &[Dataset],
        names: &MissionNames,
    ) -> Option<(MissionTask, TaskSpans)> {
        let (name, name_span) = name_of(block)?;
        let project_names = Rc::clone(&self.names);
        let iterator = of(block, "iterator").next();
        let iterator_span = iterator.map(|inner| inner.kind.span);
        let iterator = iterator.and_then(|inner| self.read_iterator(file, inner, names));
        let item = match (iterator_span, &iterator) {
            (None, _) => ItemUse::None,
            (Some(_), Some(iterator)) if iterator.parallel.is_none() => ItemUse::Sequential,
            (Some(_), Some(iterator)) => {
                let found = datasets.iter().find(|one| one.name == iterator.dataset);
                let schema = found.map(|dataset| &*dataset.schema);
                ItemUse::Parallel(schema.filter(|schema| !schema.is_empty()))
            }
            // The dataset is unknown, which was reported.
            (Some(_), None) => ItemUse::Parallel(None),
        };
        let context = Context {
            audience: Audience::Model,
            inputs: Some(inputs),
            item,
        };
        let objective = self.filled_text(file, block, "objective", context);
        let mut spans = TaskSpans {
            name: name_span,
            router: None,
            send_to: block.attribute("send_to").map(|one| one.name.span),
            depends_on_list: block.attribute("depends_on").map(|one| one.value.clone()),
            ..TaskSpans::default()
        };
        let mut depends_on = Vec::new();
        for reference in self
            .references(file, block, "depends_on")
            .unwrap_or_default()
        {
            if let Some(task) = self.named(file, &reference, "tasks", "task", &[&names.tasks]) {
                depends_on.push(task);
                spans.depends_on.push(reference.span);
            }
        }
        let mut send_to = Vec::new();
        for reference in self.references(file, block, "send_to").unwrap_or_default() {
            if let Some(task) = self.named(file, &reference, "tasks", "task", &[&names.tasks]) {
                send_to.push(task);
                spans.targets.push(reference.span);
            }
        }
        let mut routes = Vec::new();
        for router in of(block, "router").take(1) {
            spans.router = Some(router.kind.span);
            for route in of(router, "route") {
                if let Some((route, span)) = self.read_route(file, route, context, names) {
                    routes.push(route);
                    spans.routes.push(span);
                }
            }
        }
        let has_output = block.attribute("output").is_some() || of(block, "output").count() > 0;
        let output = self.fields(file, block, "output", false);
        let agents = self.agents(file, block, names);
        let packets = self.list_of(file, block, "packets", "packet", &project_names.packets);
        let mut budget = Budget::default();
        for inner in of(block, "budget").take(1) {
            budget = self.read_budget(file, inner);
        }
        let task = MissionTask {
            name,
            // A task without an objective has a finding and stays in the graph.
            objective: objective.unwrap_or(Value::Null),
            agents,
            depends_on,
            send_to,
            routes,
            iterator,
            output: has_output.then_some(output),
            budget,
            packets,
            place: self.place(file, name_span),
        };
        Some((task, spans))
    }

    fn read_route(
        &mut self,
        file: usize,
        block: &Block,
        context: Context<'_>,
        names: &MissionNames,
    ) -> Option<(Route, Span)> {
        let condition = self.filled_text(file, block, "condition", context);
        let reference = self.reference(file, block, "target");
        let entry = self.reference(file, block, "entry");
        let project_names = Rc::clone(&self.names);
        let reference = reference?;
        let span = reference.span;
        let target = if reference.root.as_deref() == Some("missions") {
            let known = [&project_names.missions];
            let name = self.named(file, &reference, "missions", "mission", &known)?;
            let entry = entry.and_then(|entry| entry.path.last().cloned());
            RouteTarget::Mission { name, entry }
        } else {
            if let Some(entry) = entry {
                let message = "`entry` belongs to a route to a mission";
                self.report(file, rules::VALUE, entry.span, message, "remove it");
            }
            RouteTarget::Task(self.named(file, &reference, "tasks", "task", &[&names.tasks])?)
        };
        let condition = condition.unwrap_or(Value::Null);
        Some((Route { target, condition }, span))
    }

    /// Checks the tasks with which routes to missions begin.
    pub(super) fn check_entries(&mut self, blocks: &[(usize, &Block)], project: &MissionProject) {
        for &(file, mission) in blocks {
            if &*mission.kind.text != "mission" {
                continue;
            }
            let routes = of(mission, "task")
                .flat_map(|task| of(task, "router"))
                .flat_map(|router| of(router, "route"));
            for route in routes {
                let Some(attribute) = route.attribute("entry") else {
                    continue;
                };
                let names = |name: &str| {
                    let (root, path) = route.attribute(name)?.value.reference()?;
                    let path: Vec<Box<str>> = path.into_iter().map(Into::into).collect();
                    Some((Box::<str>::from(root), path))
                };
                let (Some((target, mission)), Some((_, entry))) = (names("target"), names("entry"))
                else {
                    continue;
                };
                let (Some(mission), Some(entry)) = (mission.first(), entry.last()) else {
                    continue;
                };
                let Some(found) = project.mission(mission).filter(|_| &*target == "missions")
                else {
                    continue;
                };
                if found.task(entry).is_none() {
                    let message = format!(
                        "the mission `{}` has no task `{}`",
                        shown(mission),
                        shown(entry)
                    );
                    let known = found.tasks.iter().map(|task| &*task.name);
                    let span = attribute.value.span;
                    self.unknown(file, span, message, entry, known, "");
                }
            }
        }
    }

    fn read_iterator(
        &mut self,
        file: usize,
        block: &Block,
        names: &MissionNames,
    ) -> Option<TaskIterator> {
        let is_parallel = self.flag(file, block, "parallel").unwrap_or(false);
        let limit = self.small(file, block, "concurrency_limit", 1);
        let start_delay = self.whole(file, block, "start_delay", 0);
        let smoke_test = self.flag(file, block, "smoketest");
        let retries = self.small(file, block, "max_retries", 0);
        if !is_parallel {
            for name in ["concurrency_limit", "start_delay", "smoketest"] {
                if let Some(attribute) = block.attribute(name) {
                    let message = format!("`{name}` needs `parallel = true`");
                    let help = "add `parallel = true`, or remove it";
                    self.report(file, rules::VALUE, attribute.name.span, message, help);
                }
            }
        }
        let reference = self.reference(file, block, "dataset")?;
        let known = [&names.datasets];
        let dataset = self.named(file, &reference, "datasets", "dataset", &known)?;
        Some(TaskIterator {
            dataset,
            parallel: is_parallel.then(|| ParallelItems {
                limit: limit.unwrap_or(5),
                start_delay: start_delay.unwrap_or(0),
                smoke_test: smoke_test.unwrap_or(false),
            }),
            retries: retries.unwrap_or(0),
        })
    }

    fn read_budget(&mut self, file: usize, block: &Block) -> Budget {
        let tokens = self.whole(file, block, "tokens", 1);
        let dollars = self.number(file, block, "dollars");
        if let Some(attribute) = block.attribute("dollars")
            && dollars.is_some_and(|dollars| dollars <= 0.0)
        {
            let message = "`dollars` must be more than 0";
            self.report(file, rules::VALUE, attribute.value.span, message, "");
        }
        if block.attribute("tokens").is_none() && block.attribute("dollars").is_none() {
            let message = "`budget` needs `tokens` or `dollars`";
            let help = "add `tokens = 200000`";
            self.report(file, rules::VALUE, block.kind.span, message, help);
        }
        Budget {
            tokens,
            dollars: dollars
                .filter(|dollars| *dollars > 0.0)
                .map(|dollars| dollars.to_string().into()),
        }
    }

    fn read_trigger(
        &mut self,
        file: usize,
        block: &Block,
        mission: &str,
        hooks: &mut BTreeMap<Box<str>, BlockPlace>,
    ) -> Option<Trigger> {
        let given = self.known_text(file, block, "webhook_path");
        let secret = self.text(file, block, "secret", Context::PROGRAM);
        let span = given.as_ref().map_or(block.kind.span, |(_, span)| *span);
        let path = given.map_or_else(|| format!("/{mission}").into(), |(path, _)| path);
        let is_path =
            path.starts_with('/') && path.len() > 1 && !path.contains(char::is_whitespace);
        if !is_path && block.attribute("webhook_path").is_some() {
            let message = format!("`{}` is not the path of a web hook", shown(&path));
            self.report(file, rules::VALUE, span, message, "begin it with `/`");
            return None;
        }
        if let Some(first) = hooks.get(&path) {
            let message = format!("the web hook `{}` starts two missions", shown(&path));
            let help = format!(
                "the first is in {}:{}; choose another path",
                first.file, first.line
            );
            self.report(file, rules::NAME, span, message, help);
        } else {
            hooks.insert(path.clone(), self.place(file, span));
        }
        Some(Trigger { path, secret })
    }

    fn read_schedule(&mut self, file: usize, block: &Block, inputs: &[Field]) -> Option<Schedule> {
        let weekdays = self.read_weekdays(file, block);
        let zone = self.known_text(file, block, "timezone");
        if let Some((zone, span)) = &zone
            && &**zone != "Local"
            && schedule::zone(zone).is_none()
        {
            let message = format!("unknown time zone `{}`", shown(zone));
            let help = "write a name such as `Europe/Berlin` or `UTC`";
            self.report(file, rules::VALUE, *span, message, help);
        }
        let zone = zone.map(|(zone, _)| zone).filter(|zone| &**zone != "Local");
        let given = self.read_schedule_inputs(file, block, inputs);
        let is_missing = |input: &&Field| {
            let is_given = given.iter().any(|(name, _)| *name == input.name);
            input.default.is_none() && input.value.is_none() && !is_given
        };
        // Inputs of the wrong type are reported already.
        let are_given = block.attribute("inputs").is_some();
        if let Some(input) = inputs.iter().find(is_missing).filter(|_| !are_given) {
            let name = shown(&input.name);
            let message = format!("the schedule gives no value to the input `{name}`");
            let help = format!("add `inputs = {{ {name} = … }}`, or a default to the input");
            let warning = with_severity(rules::VALUE, Severity::Warning);
            self.report(file, warning, block.head(), message, help);
        }
        let has = |name: &str| block.attribute(name);
        let kinds: Vec<&str> = ["at", "every", "cron"]
            .into_iter()
            .filter(|name| has(name).is_some())
            .collect();
        let times = match &*kinds {
            ["at"] => self.read_at(file, block),
            ["every"] => {
                let (text, span) = self.known_text(file, block, "every")?;
                match schedule::parse_interval(&text) {
                    Ok(minutes) => Some(ScheduleTimes::Every(minutes)),
                    Err(message) => {
                        let help = "write an interval such as `15m`, `1h` or `12h`";
                        self.report(file, rules::VALUE, span, message, help);
                        None
                    }
                }
            }
            ["cron"] => {
                if let Some(attribute) = block.attribute("weekdays") {
                    let message = "`weekdays` cannot be used with `cron`";
                    let help = "write the days in the last field of the expression";
                    self.report(file, rules::VALUE, attribute.name.span, message, help);
                }
                let (text, span) = self.known_text(file, block, "cron")?;
                match Cron::parse(&text) {
                    Ok(_) => Some(ScheduleTimes::Cron(text)),
                    Err(message) => {
                        let help = "write minute, hour, day, month and weekday: `0 9 * * mon`";
                        self.report(file, rules::VALUE, span, message, help);
                        None
                    }
                }
            }
            _ => {
                let message = "`schedule` needs exactly one of `at`, `every` and `cron`";
                let help = "write `at = [\"09:00\"]`, `every = \"1h\"` or `cron = \"0 9 * * *\"`";
                self.report(file, rules::VALUE, block.kind.span, message, help);
                None
            }
        };
        Some(Schedule {
            times: times?,
            weekdays,
            zone,
            inputs: given,
        })
    }

    fn read_weekdays(&mut self, file: usize, block: &Block) -> Vec<u8> {
        let mut days = Vec::new();
        for (text, span) in self.texts(file, block, "weekdays") {
            match schedule::parse_weekday(&text) {
                Some(day) if days.contains(&day) => {
                    let message = format!("the day `{}` is given twice", shown(&text));
                    let rule = rules::VALUE.as_warning();
                    self.report(file, rule, span, message, "remove one of them");
                }
                Some(day) => days.push(day),
                None => {
                    let message = format!("unknown day `{}`", shown(&text));
                    let help = "write `mon`, `tue`, `wed`, `thu`, `fri`, `sat` or `sun`";
                    self.report(file, rules::VALUE, span, message, help);
                }
            }
        }
        days.sort_unstable();
        days
    }

    fn read_at(&mut self, file: usize, block: &Block) -> Option<ScheduleTimes> {
        let mut times = Vec::new();
        let texts = self.texts(file, block, "at");
        if texts.is_empty() {
            let expr = &block.attribute("at")?.value;
            let prowess_hcl::ExprKind::List(_) = expr.kind else {
                return None;
            };
            let span = expr.span;
            let message = "`at` has no times";
            self.report(
                file,
                rules::VALUE,
                span,
                message,
                "write `at = [\"09:00\"]`",
            );
            return None;
        }
        for (text, span) in texts {
            if let Some(time) = schedule::parse_clock(&text) {
                times.push(time);
            } else {
                let message = format!("`{}` is not a time of the day", shown(&text));
                let help = "write HH:MM, such as `09:00`";
                self.report(file, rules::VALUE, span, message, help);
            }
        }
        times.sort_unstable();
        times.dedup();
        (!times.is_empty()).then_some(ScheduleTimes::At(times))
    }

    /// Evaluates a list of texts. One text is a list of one.
    fn texts(&mut self, file: usize, block: &Block, name: &str) -> Vec<(Box<str>, Span)> {
        let Some(attribute) = block.attribute(name) else {
            return Vec::new();
        };
        let span = attribute.value.span;
        let spans: Vec<Span> = match &attribute.value.kind {
            prowess_hcl::ExprKind::List(items) => items.iter().map(|item| item.span).collect(),
            _ => Vec::new(),
        };
        let items = match self.value(file, &attribute.value, Context::PROGRAM) {
            Some(Value::List(items)) => items,
            Some(other) => {
                self.wrong(file, name, span, "a list of texts", &other);
                return Vec::new();
            }
            None => return Vec::new(),
        };
        let mut texts = Vec::new();
        for (at, item) in items.into_iter().enumerate() {
            let span = spans.get(at).copied().unwrap_or(span);
            match item {
                Value::Text(text) => texts.push((text, span)),
                other => self.wrong(file, name, span, "a list of texts", &other),
            }
        }
        texts
    }

    fn read_schedule_inputs(
        &mut self,
        file: usize,
        block: &Block,
        inputs: &[Field],
    ) -> Vec<(Box<str>, Value)> {
        let Some(attribute) = block.attribute("inputs") else {
            return Vec::new();
        };
        let span = attribute.value.span;
        let entries = match self.value(file, &attribute.value, Context::MODEL) {
            Some(Value::Object(entries)) => entries,
            Some(other) => {
                self.wrong(file, "inputs", span, "an object", &other);
                return Vec::new();
            }
            None => return Vec::new(),
        };
        let warning = with_severity(rules::REFERENCE, Severity::Warning);
        let mut given = Vec::new();
        for (name, value) in entries {
            let Some(input) = inputs.iter().find(|input| input.name == name) else {
                let message = format!("the mission has no input `{}`", shown(&name));
                let known = inputs.iter().map(|input| &*input.name);
                let help = match prowess_diag::suggest::nearest(&name, known) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("declare it: `input \"{}\" {{ … }}`", shown(&name)),
                };
                self.report(file, warning, span, message, help);
                continue;
            };
            let converted = match &value {
                Value::Text(text) => input.kind.convert(text),
                other => input.kind.check(other, "").map(|()| other.clone()),
            };
            match converted {
                Ok(value) => given.push((name, value)),
                Err(fault) => {
                    let message =
                        format!("the input `{}` has the wrong type: {fault}", shown(&name));
                    let help = format!("write {}", input.kind.noun());
                    self.report(file, rules::VALUE, span, message, help);
                }
            }
        }
        given
    }
}

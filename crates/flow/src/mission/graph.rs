//! Checks the order of tasks.

use std::collections::BTreeMap;

use prowess_diag::{Applicability, Diagnostic, Fix, Severity, Span, TextEdit};
use prowess_hcl::{Expr, ExprKind};

use super::model::{MissionTask, RouteTarget};
use super::reader::Reader;
use super::rules;
use crate::file_reader::shown;

/// Maximum number of steps of the search for dependencies that follow from others. Beyond that, no
/// more are reported.
const MAX_STEPS: usize = 5_000_000;

/// The places of a task.
#[derive(Default)]
pub(super) struct TaskSpans {
    pub(super) name: Span,
    pub(super) router: Option<Span>,
    /// The attribute `send_to`.
    pub(super) send_to: Option<Span>,
    /// The value of `depends_on`.
    pub(super) depends_on_list: Option<Expr>,
    /// The references of `depends_on`.
    pub(super) depends_on: Vec<Span>,
    /// The references of `send_to`.
    pub(super) targets: Vec<Span>,
    /// The targets of routes.
    pub(super) routes: Vec<Span>,
}

/// The tasks that a task starts: routes to tasks and `send_to`, with their places.
fn targets<'t>(task: &'t MissionTask, spans: &TaskSpans) -> Vec<(&'t str, Span)> {
    let sent = task.send_to.iter().zip(&spans.targets);
    let sent = sent.map(|(name, span)| (&**name, *span));
    let routed = task.routes.iter().zip(&spans.routes);
    let routed = routed.filter_map(|(route, span)| match &route.target {
        RouteTarget::Task(name) => Some((&**name, *span)),
        RouteTarget::Mission { .. } => None,
    });
    sent.chain(routed).collect()
}

impl Reader<'_> {
    /// Checks the tasks of a mission.
    pub(super) fn check_graph(
        &mut self,
        file: usize,
        tasks: &[MissionTask],
        spans: &[TaskSpans],
        head: Span,
    ) {
        let numbers: BTreeMap<&str, usize> = tasks
            .iter()
            .enumerate()
            .map(|(number, task)| (&*task.name, number))
            .collect();
        let mut is_target = vec![false; tasks.len()];
        for (task, places) in tasks.iter().zip(spans) {
            let mut seen: Vec<(&str, bool)> = Vec::new();
            for (target, span) in targets(task, places) {
                // A task with both is reported as such.
                let key = (target, places.targets.contains(&span));
                if *target == *task.name {
                    let message = format!("the task `{}` starts itself", shown(target));
                    self.report(file, rules::GRAPH, span, message, "remove it");
                } else if seen.contains(&key) {
                    let message = format!("the target `{}` is given twice", shown(target));
                    self.report(file, rules::GRAPH, span, message, "remove one of them");
                } else if let Some(number) = numbers.get(target) {
                    is_target[*number] = true;
                }
                seen.push(key);
            }
            self.check_missions_of_routes(file, task, places);
            if let (Some(_), Some(span)) = (places.router, places.send_to) {
                let message = "`router` and `send_to` exclude each other";
                self.report(file, rules::GRAPH, span, message, "keep one of them");
            }
            let is_parallel = task
                .iterator
                .as_ref()
                .is_some_and(|iterator| iterator.parallel.is_some());
            if let (true, Some(span)) = (is_parallel, places.router) {
                let message = "a task with a parallel iterator cannot have a `router`";
                let help = "put the `router` into a task that depends on this one";
                self.report(file, rules::GRAPH, span, message, help);
            }
        }
        self.check_dependencies(file, tasks, spans, &numbers, &is_target);
        let has_cycle = self.check_cycles(file, tasks, spans, &numbers);
        let can_start = |(number, task): (usize, &MissionTask)| {
            task.depends_on.is_empty() && !is_target[number]
        };
        if !has_cycle && !tasks.is_empty() && !tasks.iter().enumerate().any(can_start) {
            let message = "no task of this mission can start";
            let help = "one task needs neither `depends_on` nor a task that routes to it";
            self.report(file, rules::GRAPH, head, message, help);
        }
        if !has_cycle {
            self.check_redundant(file, tasks, spans, &numbers);
        }
    }

    fn check_missions_of_routes(&mut self, file: usize, task: &MissionTask, places: &TaskSpans) {
        let mut seen: Vec<&RouteTarget> = Vec::new();
        for (route, span) in task.routes.iter().zip(&places.routes) {
            if let RouteTarget::Mission { name, .. } = &route.target {
                if seen.contains(&&route.target) {
                    let message = format!("the target `{}` is given twice", shown(name));
                    self.report(file, rules::GRAPH, *span, message, "remove one of them");
                }
                seen.push(&route.target);
            }
        }
    }

    /// Checks `depends_on` against tasks that others start.
    fn check_dependencies(
        &mut self,
        file: usize,
        tasks: &[MissionTask],
        spans: &[TaskSpans],
        numbers: &BTreeMap<&str, usize>,
        is_target: &[bool],
    ) {
        for (number, (task, places)) in tasks.iter().zip(spans).enumerate() {
            let mut seen: Vec<&str> = Vec::new();
            for (needed, span) in task.depends_on.iter().zip(&places.depends_on) {
                if *needed == task.name {
                    let message = format!("the task `{}` depends on itself", shown(needed));
                    self.report(file, rules::GRAPH, *span, message, "remove it");
                } else if seen.contains(&&**needed) {
                    let message = format!("the task `{}` is given twice", shown(needed));
                    let rule = rules::GRAPH.as_warning();
                    self.report(file, rule, *span, message, "remove one of them");
                }
                seen.push(needed);
                if numbers
                    .get(&**needed)
                    .is_some_and(|number| is_target[*number])
                {
                    let message = format!(
                        "`{}` cannot depend on `{}`, which starts only if another task chooses it",
                        shown(&task.name),
                        shown(needed)
                    );
                    let help = format!(
                        "write `send_to = [tasks.{}]` in `{}` instead",
                        shown(&task.name),
                        shown(needed)
                    );
                    self.report(file, rules::GRAPH, *span, message, help);
                }
            }
            if is_target[number]
                && let Some(span) = places.depends_on.first()
            {
                let message = format!(
                    "`{}` is started by another task, so it cannot have `depends_on`",
                    shown(&task.name)
                );
                let help = "remove `depends_on`, or the route to this task";
                self.report(file, rules::GRAPH, *span, message, help);
            }
        }
    }

    /// Reports each cycle once. Returns `true` if there is one.
    fn check_cycles(
        &mut self,
        file: usize,
        tasks: &[MissionTask],
        spans: &[TaskSpans],
        numbers: &BTreeMap<&str, usize>,
    ) -> bool {
        // An edge points to a task that starts later.
        let mut edges: Vec<Vec<usize>> = vec![Vec::new(); tasks.len()];
        for (number, (task, places)) in tasks.iter().zip(spans).enumerate() {
            for needed in &task.depends_on {
                if let Some(before) = numbers.get(&**needed).filter(|one| **one != number) {
                    edges[*before].push(number);
                }
            }
            for (target, _) in targets(task, places) {
                if let Some(after) = numbers.get(target).filter(|one| **one != number) {
                    edges[number].push(*after);
                }
            }
        }
        // 0: not seen, 1: on the path, 2: done.
        let mut state = vec![0_u8; tasks.len()];
        let mut found = false;
        for start in 0..tasks.len() {
            if state[start] != 0 {
                continue;
            }
            let mut path: Vec<(usize, usize)> = vec![(start, 0)];
            state[start] = 1;
            while let Some((task, next)) = path.last_mut() {
                let task = *task;
                let Some(&after) = edges[task].get(*next) else {
                    state[task] = 2;
                    path.pop();
                    continue;
                };
                *next += 1;
                match state[after] {
                    0 => {
                        state[after] = 1;
                        path.push((after, 0));
                    }
                    1 => {
                        found = true;
                        let from = path.iter().position(|(one, _)| *one == after);
                        let cycle = path[from.unwrap_or(0)..].iter().map(|(one, _)| *one);
                        self.report_cycle(file, tasks, spans, cycle.collect());
                    }
                    _ => {}
                }
            }
        }
        found
    }

    fn report_cycle(
        &mut self,
        file: usize,
        tasks: &[MissionTask],
        spans: &[TaskSpans],
        mut cycle: Vec<usize>,
    ) {
        // Begin with the task that is first in the file.
        let first = cycle.iter().enumerate().min_by_key(|(_, task)| **task);
        let first = first.map_or(0, |(at, _)| at);
        cycle.rotate_left(first);
        let mut names: Vec<String> = cycle.iter().map(|task| shown(&tasks[*task].name)).collect();
        names.extend(names.first().cloned());
        let message = format!("the tasks form a cycle: {}", names.join(" → "));
        let span = cycle.first().map_or(Span::at(0), |task| spans[*task].name);
        let help = "remove one of these dependencies or routes";
        self.report(file, rules::GRAPH, span, message, help);
    }

    /// Reports dependencies that follow from others.
    fn check_redundant(
        &mut self,
        file: usize,
        tasks: &[MissionTask],
        spans: &[TaskSpans],
        numbers: &BTreeMap<&str, usize>,
    ) {
        let mut left = MAX_STEPS;
        for (task, places) in tasks.iter().zip(spans) {
            if task.depends_on.len() < 2 {
                continue;
            }
            let Some(through) = first_reached(tasks, numbers, &task.depends_on, &mut left) else {
                return;
            };
            for (at, needed) in task.depends_on.iter().enumerate() {
                let through = numbers.get(&**needed).and_then(|needed| through[*needed]);
                let Some(through) = through.map(|through| &tasks[through].name) else {
                    continue;
                };
                let span = places.depends_on[at];
                let fix = places.depends_on_list.as_ref().and_then(|list| {
                    let source = &self.sources[file];
                    removal(list, span, &source.text)
                });
                let message = format!(
                    "`{}` need not depend on `{}`: `{}` does",
                    shown(&task.name),
                    shown(needed),
                    shown(through)
                );
                self.push(
                    file,
                    Diagnostic {
                        rule: rules::GRAPH.id,
                        severity: Severity::Warning,
                        message: message.into(),
                        span: Some(span),
                        label: None,
                        help: Some("Squadron refuses this; remove it".into()),
                        fix,
                    },
                );
            }
        }
    }
}

/// Returns, for each task that one of `needed` depends on, directly or through others, the first such
/// task of `needed`. The tasks must not form a cycle. Returns `None` if no steps are left.
fn first_reached(
    tasks: &[MissionTask],
    numbers: &BTreeMap<&str, usize>,
    needed: &[Box<str>],
    left: &mut usize,
) -> Option<Vec<Option<usize>>> {
    *left = left.checked_sub(tasks.len())?;
    let mut through: Vec<Option<usize>> = vec![None; tasks.len()];
    for first in needed.iter().filter_map(|name| numbers.get(&**name)) {
        let mut next = vec![*first];
        while let Some(number) = next.pop() {
            for name in &tasks[number].depends_on {
                *left = left.checked_sub(1)?;
                let Some(after) = numbers.get(&**name) else {
                    continue;
                };
                // What was reached before needs no second visit.
                if through[*after].is_none() {
                    through[*after] = Some(*first);
                    next.push(*after);
                }
            }
        }
    }
    Some(through)
}

/// Returns the edit that removes an item from a list, with one comma.
fn removal(list: &Expr, item: Span, text: &str) -> Option<Fix> {
    let ExprKind::List(items) = &list.kind else {
        return None;
    };
    let at = items.iter().position(|one| one.span == item)?;
    let range = match (
        items.get(at + 1),
        at.checked_sub(1).and_then(|at| items.get(at)),
    ) {
        (Some(next), _) => item.start as usize..next.span.start as usize,
        (None, Some(before)) => before.span.end as usize..item.end as usize,
        (None, None) => return None,
    };
    // A comment between the items stays.
    if text.get(range.clone())?.contains(['#', '/']) {
        return None;
    }
    Some(Fix {
        title: "remove the dependency".to_owned(),
        applicability: Applicability::Safe,
        edits: vec![TextEdit {
            span: Span::new(range.start, range.end),
            replacement: String::new(),
        }],
    })
}

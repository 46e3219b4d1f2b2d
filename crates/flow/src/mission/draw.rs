//! Draws the tasks of a mission.

use std::collections::BTreeMap;

use prowess_diag::{sanitize, wording};
use prowess_hcl::Value;

use super::model::{Mission, MissionTask, RouteTarget};

/// Maximum number of characters of a condition.
const MAX_CONDITION: usize = 60;

/// The notation of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphFormat {
    /// For reading.
    Text,
    /// A flow chart of Mermaid.
    Mermaid,
    /// A graph of Graphviz.
    Dot,
}

/// An arrow between two tasks, or from a task to a mission.
struct Arrow<'m> {
    from: &'m str,
    to: ArrowEnd<'m>,
    /// The condition of a route; `None` if the arrow is always followed.
    condition: Option<String>,
    /// `true` for a dependency.
    is_dependency: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ArrowEnd<'m> {
    Task(&'m str),
    Mission(&'m str),
}

impl Mission {
    /// Draws the tasks, in source order.
    pub fn graph(&self, format: GraphFormat) -> String {
        match format {
            GraphFormat::Text => self.text_graph(),
            GraphFormat::Mermaid => self.mermaid(),
            GraphFormat::Dot => self.dot(),
        }
    }

    fn arrows(&self) -> Vec<Arrow<'_>> {
        let mut arrows = Vec::new();
        for task in &self.tasks {
            for needed in &task.depends_on {
                arrows.push(Arrow {
                    from: needed,
                    to: ArrowEnd::Task(&task.name),
                    condition: None,
                    is_dependency: true,
                });
            }
            for target in &task.send_to {
                arrows.push(Arrow {
                    from: &task.name,
                    to: ArrowEnd::Task(target),
                    condition: None,
                    is_dependency: false,
                });
            }
            for route in &task.routes {
                let to = match &route.target {
                    RouteTarget::Task(name) => ArrowEnd::Task(name),
                    RouteTarget::Mission { name, .. } => ArrowEnd::Mission(name),
                };
                arrows.push(Arrow {
                    from: &task.name,
                    to,
                    condition: Some(condition(&route.condition)),
                    is_dependency: false,
                });
            }
        }
        arrows
    }

    fn text_graph(&self) -> String {
        let mut text = format!("{}\n", sanitize::line(&self.name));
        for task in &self.tasks {
            text.push_str(&format!("  {}", sanitize::line(&task.name)));
            if let Some(iterator) = &task.iterator {
                let how = if iterator.parallel.is_some() {
                    "for each item of"
                } else {
                    "over"
                };
                text.push_str(&format!(" ({how} {})", sanitize::line(&iterator.dataset)));
            }
            if !task.depends_on.is_empty() {
                let names = task.depends_on.iter().map(|name| sanitize::line(name));
                text.push_str(&format!("  after {}", wording::all(names)));
            }
            text.push('\n');
            for target in &task.send_to {
                text.push_str(&format!("    → {}\n", sanitize::line(target)));
            }
            for route in &task.routes {
                let target = match &route.target {
                    RouteTarget::Task(name) => sanitize::line(name).into_owned(),
                    RouteTarget::Mission { name, .. } => {
                        format!("mission {}", sanitize::line(name))
                    }
                };
                let condition = condition(&route.condition);
                text.push_str(&format!("    → {target}  if {condition}\n"));
            }
        }
        text
    }

    /// Returns the identifiers of tasks and missions: names may contain anything.
    fn identifiers(&self) -> BTreeMap<ArrowEnd<'_>, String> {
        let tasks = self.tasks.iter().enumerate();
        let mut identifiers: BTreeMap<ArrowEnd<'_>, String> = tasks
            .map(|(at, task)| (ArrowEnd::Task(&task.name), format!("t{at}")))
            .collect();
        for arrow in self.arrows() {
            if let ArrowEnd::Mission(_) = arrow.to {
                let at = identifiers.len() - self.tasks.len();
                identifiers.entry(arrow.to).or_insert(format!("m{at}"));
            }
        }
        identifiers
    }

    /// Returns the arrows whose ends are drawn, with the identifiers of both.
    fn drawn<'m>(
        &'m self,
        identifiers: &'m BTreeMap<ArrowEnd<'m>, String>,
    ) -> Vec<(&'m str, &'m str, Arrow<'m>)> {
        let mut drawn = Vec::new();
        for arrow in self.arrows() {
            let from = identifiers.get(&ArrowEnd::Task(arrow.from));
            if let (Some(from), Some(to)) = (from, identifiers.get(&arrow.to)) {
                drawn.push((from.as_str(), to.as_str(), arrow));
            }
        }
        drawn
    }

    fn mermaid(&self) -> String {
        let identifiers = self.identifiers();
        let mut text = String::from("flowchart TD\n");
        for task in &self.tasks {
            let id = &identifiers[&ArrowEnd::Task(&task.name)];
            text.push_str(&format!(
                "  {id}[\"{}\"]\n",
                mermaid_text(&node_label(task))
            ));
        }
        for (end, id) in &identifiers {
            if let ArrowEnd::Mission(name) = end {
                let label = mermaid_text(&format!("mission {name}"));
                text.push_str(&format!("  {id}([\"{label}\"])\n"));
            }
        }
        for (from, to, arrow) in self.drawn(&identifiers) {
            let line = match &arrow.condition {
                Some(condition) => {
                    format!("  {from} -.->|\"{}\"| {to}\n", mermaid_text(condition))
                }
                None if arrow.is_dependency => format!("  {from} --> {to}\n"),
                None => format!("  {from} -.-> {to}\n"),
            };
            text.push_str(&line);
        }
        text
    }

    fn dot(&self) -> String {
        let identifiers = self.identifiers();
        let mut text = format!("digraph {} {{\n  rankdir=TB;\n", dot_text(&self.name));
        for task in &self.tasks {
            let id = &identifiers[&ArrowEnd::Task(&task.name)];
            let label = dot_text(&node_label(task));
            text.push_str(&format!("  {id} [shape=box, label={label}];\n"));
        }
        for (end, id) in &identifiers {
            if let ArrowEnd::Mission(name) = end {
                let label = dot_text(&format!("mission {name}"));
                text.push_str(&format!("  {id} [shape=oval, label={label}];\n"));
            }
        }
        for (from, to, arrow) in self.drawn(&identifiers) {
            let line = match &arrow.condition {
                Some(condition) => {
                    let label = dot_text(condition);
                    format!("  {from} -> {to} [style=dashed, label={label}];\n")
                }
                None if arrow.is_dependency => format!("  {from} -> {to};\n"),
                None => format!("  {from} -> {to} [style=dashed];\n"),
            };
            text.push_str(&line);
        }
        text.push_str("}\n");
        text
    }
}

fn node_label(task: &MissionTask) -> String {
    match &task.iterator {
        Some(iterator) => format!("{} (each of {})", task.name, iterator.dataset),
        None => task.name.to_string(),
    }
}

fn condition(value: &Value) -> String {
    let text = value.as_text().unwrap_or("…").trim();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    wording::shorten(&sanitize::line(&line), MAX_CONDITION)
}

/// Escapes a text for Mermaid: everything but letters, digits and a few signs as a character code.
fn mermaid_text(text: &str) -> String {
    let mut out = String::new();
    for c in sanitize::line(text).chars() {
        if c.is_alphanumeric() || " _-.,:/…→".contains(c) {
            out.push(c);
        } else {
            out.push_str(&format!("#{};", u32::from(c)));
        }
    }
    out
}

/// Quotes a text for Graphviz.
fn dot_text(text: &str) -> String {
    let line = sanitize::line(text);
    format!("\"{}\"", line.replace('\\', "\\\\").replace('"', "\\\""))
}

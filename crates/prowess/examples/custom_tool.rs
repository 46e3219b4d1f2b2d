//! A custom tool that is declared while a loaded skill names it in `allowed-tools`.
//!
//! `cargo run -p prowess --example custom_tool`

#![allow(
    clippy::print_stdout,
    clippy::unnecessary_literal_bound,
    clippy::panic,
    clippy::unwrap_used,
    reason = "an example prints, and its checks are assertions"
)]

use std::sync::{Arc, Mutex};

use prowess::models::ScriptedModel;
use prowess::tools::{Loaded, Tool, ToolAnswer, ToolContext, ToolError, input};
use prowess::{NewSkill, Registry, Runtime, Update};
use serde_json::{Value, json};

/// Looks up tickets.
#[derive(Debug)]
struct Tickets;

impl Tool for Tickets {
    fn name(&self) -> &str {
        "tickets"
    }

    fn description(&self, _context: &ToolContext) -> String {
        "Looks up a ticket by number.".to_owned()
    }

    fn input_schema(&self) -> Value {
        input::object(&[("number", json!({ "type": "integer" }))], &["number"])
    }

    fn output_schema(&self) -> Value {
        json!({ "type": "string" })
    }

    fn is_read_only(&self, _context: &ToolContext) -> bool {
        true
    }

    fn answer(
        &self,
        _context: &ToolContext,
        _loaded: &mut Loaded,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        let number = input::number(input, "number").unwrap_or_default();
        let text = format!("ticket {number}: the printer is on fire");
        Ok(ToolAnswer::new(text.clone(), Value::String(text)))
    }
}

const SCRIPT: &str = r#"
{"calls": [{"name": "load_skill", "input": {"name": "triage"}}]}
{"calls": [{"name": "tickets", "input": {"number": 7}}]}
{"text": "Call the fire brigade.", "expect": "the printer is on fire"}
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let registry = Registry::default();
    let skill = NewSkill::builder("triage", "Sorts tickets. Use when one comes in.")
        .allowed_tools("tickets")
        .instructions("Look up the ticket, and say what to do first.")
        .build()?;
    registry.register(skill)?;

    // For each request, whether the tool was declared.
    let declared: Arc<Mutex<Vec<bool>>> = Arc::default();
    let seen = Arc::clone(&declared);
    let runtime = Runtime::builder()
        .registry(registry)
        .skill_tool(Arc::new(Tickets))
        .model(Arc::new(ScriptedModel::parse("triage", SCRIPT)?))
        .watch(move |_, _, update| {
            if let Update::Event(stamped) = update
                && let prowess::agent::Event::Asked { tools, .. } = &stamped.event
                && let Ok(mut seen) = seen.lock()
            {
                seen.push(tools.iter().any(|tool| &**tool == "tickets"));
            }
        })
        .build()?;
    let answer = runtime.task("Ticket 7 came in.").text().await?.value();
    assert_eq!(answer.as_deref(), Some("Call the fire brigade."));
    assert_eq!(
        *declared.lock().unwrap(),
        [false, true, true],
        "the tool is declared after the skill is loaded"
    );
    println!("{}", answer.unwrap_or_default());
    Ok(())
}

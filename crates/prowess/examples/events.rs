//! Streams the events of a session while it runs.
//!
//! `cargo run -p prowess --example events`

#![allow(
    clippy::print_stdout,
    clippy::panic,
    clippy::unwrap_used,
    reason = "an example prints, and its checks are assertions"
)]

use std::sync::Arc;

use prowess::agent::{Delta, Event};
use prowess::models::ScriptedModel;
use prowess::{NewSkill, Registry, Runtime, Update};

const SCRIPT: &str = r#"
{"text": "I look. ", "calls": [{"name": "list_skills", "input": {}}]}
{"text": "There is one skill.", "chunks": 3}
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let registry = Registry::default();
    registry.register(
        NewSkill::builder("greet", "Greets.")
            .instructions("Say hello.")
            .build()?,
    )?;
    let (send, mut receive) = tokio::sync::mpsc::unbounded_channel();
    let runtime = Runtime::builder()
        .registry(registry)
        .model(Arc::new(ScriptedModel::parse("events", SCRIPT)?))
        .watch(move |_, _, update| {
            let line = match update {
                Update::Delta(Delta::Text(text)) => format!("text      {text:?}"),
                Update::Event(stamped) => match &stamped.event {
                    Event::CallStarted { call, .. } => format!("call      {call}"),
                    Event::CallEnded { result, .. } => format!("answer    {}", result.text),
                    Event::Ended { ending } => format!("ended     {}", ending.as_str()),
                    _ => return,
                },
                _ => return,
            };
            // Ignore send errors: the receiver may be gone.
            let _ = send.send(line);
        })
        .build()?;
    runtime.task("What is there?").text().await?;
    drop(runtime);
    let mut lines = Vec::new();
    while let Some(line) = receive.recv().await {
        println!("{line}");
        lines.push(line);
    }
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("answer    ") && line.contains("greet"))
    );
    assert_eq!(
        lines.iter().filter(|line| line.starts_with("text")).count(),
        4
    );
    Ok(())
}

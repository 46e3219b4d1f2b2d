//! A custom approver: the host program answers prompts instead of the user, and records them.
//!
//! `cargo run -p prowess --example custom_approver`

#![allow(
    clippy::print_stdout,
    clippy::panic,
    clippy::unwrap_used,
    reason = "an example prints, and its checks are assertions"
)]

use std::sync::{Arc, Mutex};

use prowess::Runtime;
use prowess::models::ScriptedModel;
use prowess::policy::{ApprovalAnswer, GateAction};
use prowess::tools::files::file_tools;
use prowess::traits::{ApprovalRequest, Approver};

/// Approves writes below `notes/` and declines everything else.
#[derive(Debug, Default)]
struct NotesOnly {
    asked: Mutex<Vec<String>>,
}

impl Approver for NotesOnly {
    fn ask(&self, question: &ApprovalRequest<'_>) -> ApprovalAnswer {
        if let Ok(mut asked) = self.asked.lock() {
            asked.push(format!("{} ({})", question.what, question.decision.reason));
        }
        match question.action {
            Some(GateAction::Write { path }) if path.contains("/notes/") => ApprovalAnswer::Once,
            _ => ApprovalAnswer::No,
        }
    }
}

const SCRIPT: &str = r#"
{"calls": [{"name": "write", "input": {"path": "notes/a.md", "content": "hello\n"}}, {"name": "write", "input": {"path": "src.rs", "content": "oops\n"}}]}
{"text": "I wrote the note.", "expect": "refused"}
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let project = tempfile::tempdir()?;
    let approver = Arc::new(NotesOnly::default());
    let runtime = Runtime::builder()
        .project(project.path())
        .tools(file_tools(None))
        .approver(Arc::clone(&approver) as Arc<dyn Approver>)
        .model(Arc::new(ScriptedModel::parse("notes", SCRIPT)?))
        .build()?;
    let answer = runtime.task("Write two files.").text().await?.value();
    assert_eq!(answer.as_deref(), Some("I wrote the note."));
    assert!(project.path().join("notes/a.md").exists());
    assert!(!project.path().join("src.rs").exists());
    for question in approver.asked.lock().unwrap().iter() {
        println!("asked: {question}");
    }
    Ok(())
}

//! A conversation: the model sees the index, loads a skill from a folder, and answers.
//!
//! `cargo run -p prowess --example embed`

#![allow(
    clippy::print_stdout,
    clippy::panic,
    clippy::unwrap_used,
    reason = "an example prints, and its checks are assertions"
)]

use std::sync::Arc;

use prowess::models::ScriptedModel;
use prowess::{CancellationToken, Pause, Runtime};

const SCRIPT: &str = r#"
{"calls": [{"name": "load_skill", "input": {"name": "greet"}}], "expect": "**greet**"}
{"text": "Good morning, Ada.", "expect": ["Never say hi.", "Base directory for this skill:"]}
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let project = tempfile::tempdir()?;
    let folder = project.path().join(".agents/skills/greet");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(
        folder.join("SKILL.md"),
        "---\nname: greet\ndescription: Greets people. Use when a guest arrives.\n---\nNever say hi.\n",
    )?;

    let runtime = Runtime::builder()
        .project(project.path())
        .model(Arc::new(ScriptedModel::parse("greeter", SCRIPT)?))
        .build()?;
    let cancel = CancellationToken::new();
    let mut session = runtime.session("a greeting").await?;
    session.say("Ada is here.", &cancel).await?;
    let Pause::Answered(text) = session.proceed(&cancel).await? else {
        panic!("no answer")
    };
    assert_eq!(text, "Good morning, Ada.");
    assert_eq!(&*session.skills()[0].name, "greet");
    println!("{text}");
    Ok(())
}

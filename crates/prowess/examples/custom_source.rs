//! A custom source: skills that do not come from folders.
//!
//! `cargo run -p prowess --example custom_source`

#![allow(
    clippy::print_stdout,
    clippy::panic,
    clippy::unwrap_used,
    reason = "an example prints, and its checks are assertions"
)]

use std::sync::Arc;

use prowess::models::ScriptedModel;
use prowess::{MemorySource, NewSkill, Registry, Runtime, Scope, SkillOrigin, SkillSource};

const SCRIPT: &str = r#"
{"calls": [{"name": "load_skill", "input": {"name": "tax"}}], "expect": "**tax**"}
{"text": "19 percent.", "expect": "It is 19 percent."}
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Any type that implements `SkillSource` works, e.g. a database table.
    let source = MemorySource::new(SkillOrigin::new(Scope::Extra, 0, "table:skills"));
    source.replace(
        NewSkill::builder("tax", "Knows tax rates. Use for prices with tax.")
            .instructions("It is 19 percent.")
            .build()?,
    );
    let registry = Registry::default();
    registry.add_source(Arc::new(source) as Arc<dyn SkillSource>);
    registry.refresh();

    let runtime = Runtime::builder()
        .registry(registry)
        .model(Arc::new(ScriptedModel::parse("tax", SCRIPT)?))
        .build()?;
    let answer = runtime.task("How much is the tax?").text().await?.value();
    assert_eq!(answer.as_deref(), Some("19 percent."));
    println!("{}", answer.unwrap_or_default());
    Ok(())
}

//! A typed result: runs a skill and returns a Rust value.
//!
//! `cargo run -p prowess --example typed_result`. The model is scripted, so that the example runs
//! offline; use `prowess::models::choose` for a real one.

#![allow(
    clippy::print_stdout,
    clippy::panic,
    clippy::unwrap_used,
    reason = "an example prints, and its checks are assertions"
)]

use std::sync::Arc;

use prowess::agent::RunBudget;
use prowess::models::ScriptedModel;
use prowess::{Ending, NewSkill, Runtime};

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Invoice {
    /// The sender.
    seller: String,
    /// The total in euros.
    total: f64,
}

const SCRIPT: &str = r#"
{"calls": [{"name": "submit", "input": {"seller": "ACME", "total": "12.50"}}], "expect": "Read the invoice a.txt"}
{"calls": [{"name": "submit", "input": {"seller": "ACME", "total": 12.5}}], "expect": "`total` must be a number"}
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let skill = NewSkill::builder(
        "extract-invoice",
        "Reads invoices. Use for files with bills.",
    )
    .arguments(&["file"])
    .instructions("Read the invoice $file and submit the sender and the total.")
    .build()?;
    let model = ScriptedModel::parse("invoices", SCRIPT)?;
    let runtime = Runtime::builder().model(Arc::new(model)).build()?;

    let run = runtime
        .run_skill(skill)
        .arg("file", "a.txt")
        .budget(RunBudget::turns(8));
    match run.submit::<Invoice>().await? {
        Ending::Submitted { value: invoice } => {
            // The first attempt had a string instead of a number; the model received an error and
            // corrected it.
            assert!((invoice.total - 12.5).abs() < f64::EPSILON);
            println!("{} wants {} euros", invoice.seller, invoice.total);
        }
        other => println!("no invoice: {other:?}"),
    }
    Ok(())
}

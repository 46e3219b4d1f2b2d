//! A typed result: a skill runs on its own, and a Rust value comes back.
//!
//! `cargo run -p prowess --example typed_result`. The model is a script, so that it runs offline; put
//! `prowess::models::choose` in its place to ask a real one.

#![allow(
    clippy::print_stdout,
    clippy::panic,
    clippy::unwrap_used,
    reason = "an example prints, and its checks are assertions"
)]

use std::sync::Arc;

use prowess::agent::Budget;
use prowess::models::ScriptedModel;
use prowess::{Ending, NewSkill, Runtime};

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Invoice {
    /// Who sent it.
    seller: String,
    /// In euros.
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
    .instructions("Read the invoice $file and hand in who sent it and the total.")
    .build()?;
    let model = ScriptedModel::parse("invoices", SCRIPT)?;
    let runtime = Runtime::builder().model(Arc::new(model)).build()?;

    let run = runtime
        .run_skill(skill)
        .arg("file", "a.txt")
        .budget(Budget::turns(8));
    match run.submit::<Invoice>().await? {
        Ending::Submitted { value: invoice } => {
            // The first try had a text where a number belongs; the model was told, and mended it.
            assert!((invoice.total - 12.5).abs() < f64::EPSILON);
            println!("{} wants {} euros", invoice.seller, invoice.total);
        }
        other => println!("no invoice: {other:?}"),
    }
    Ok(())
}

//! A mission: reads Squadron's HCL, checks it, and runs it with agents.
//!
//! `cargo run -p prowess --example mission`. The model is scripted, so that the example runs offline;
//! `prowess::MissionModels` opens the models of `model` blocks.

#![allow(
    clippy::print_stdout,
    clippy::panic,
    clippy::unwrap_used,
    reason = "an example prints, and its checks are assertions"
)]

use std::sync::Arc;

use prowess::CancellationToken;
use prowess::Runtime;
use prowess::diag::Severity;
use prowess::flow::mission::{
    MissionBudget, MissionProject, MissionSettings, MissionText, ModelRef, ToolRef,
};
use prowess::flow::{NoFiles, mission::GraphFormat};
use prowess::mission::{MissionRequest, MissionServices, checked_inputs, mission_outputs};
use prowess::models::ScriptedModel;
use prowess::tools::Tool;
use prowess::traits::Model;
use serde_json::json;

const MISSION: &str = r#"
model "local" {
  provider = "ollama"
  base_url = "http://localhost:11434"
  aliases  = { small = "some-model:1b" }
}

skill "style" {
  description  = "How we write. Use before writing a text."
  instructions = "Write short sentences."
}

agent "writer" {
  model       = models.local.small
  personality = "You write reports."
  skills      = [skills.style]
}

mission "report" {
  commander { model = models.local.small }
  agents = [agents.writer]
  input "topic" { type = "string" }
  task "write" {
    objective = "Write a report about ${inputs.topic}."
    output {
      field "title" { type = "string" }
    }
  }
}
"#;

const SCRIPT: &str = r#"
{"calls": [{"name": "call_agent", "input": {"name": "writer", "task": "Write about rivers."}}], "expect": "Write a report about rivers."}
{"calls": [{"name": "load_skill", "input": {"name": "style"}}], "expect": "You write reports."}
{"text": "Rivers flow.", "expect": "Write short sentences."}
{"calls": [{"name": "submit_output", "input": {"title": "Rivers"}}], "expect": "Rivers flow."}
{"calls": [{"name": "task_complete", "input": {"summary": "The report is written."}}]}
"#;

/// What the agents use. This mission needs no tools, and all its models are the same.
#[derive(Debug)]
struct OneModel(Arc<dyn Model>);

impl MissionServices for OneModel {
    fn tools(&self, _mission: &str, tool: &ToolRef) -> Result<Vec<Arc<dyn Tool>>, String> {
        Err(format!("there is no tool {tool}"))
    }

    fn model(&self, _model: &ModelRef) -> Result<Arc<dyn Model>, String> {
        Ok(Arc::clone(&self.0))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Read and check. Nothing runs, and no file is opened except through the second argument.
    let files = [MissionText {
        path: "mission.hcl".to_owned(),
        bytes: Ok(MISSION.into()),
    }];
    let (plan, reports) = MissionProject::read(&files, &NoFiles, &MissionSettings::default());
    let findings = reports.iter().flat_map(|report| &report.diagnostics);
    let mut errors = findings.filter(|finding| finding.severity == Severity::Error);
    assert!(errors.next().is_none(), "{reports:?}");
    let mission = plan.mission("report").ok_or("no mission named `report`")?;
    println!("{}", mission.graph(GraphFormat::Text));

    // Inputs are checked before anything runs.
    assert!(checked_inputs(mission, serde_json::Map::new()).is_err());
    let given = [("topic".to_owned(), json!("rivers"))];
    let inputs = checked_inputs(mission, given.into_iter().collect())?;

    let model: Arc<dyn Model> = Arc::new(ScriptedModel::parse("reports", SCRIPT)?);
    let runtime = Runtime::builder().model(Arc::clone(&model)).build()?;
    let request = MissionRequest {
        folder: ".".into(),
        digest: "".into(),
        mission: "report".into(),
        inputs,
        budget: MissionBudget {
            tokens: Some(100_000),
            ..MissionBudget::default()
        },
        plan: plan.clone(),
    };
    let services = Arc::new(OneModel(model));
    let cancel = CancellationToken::new();
    let finished = runtime.engine().run_mission(request, services, &cancel);
    let finished = finished.await?;
    assert_eq!(
        mission_outputs(&finished.state),
        json!({ "write": { "title": "Rivers" } })
    );
    println!("run {}: {}", finished.run, mission_outputs(&finished.state));
    Ok(())
}

//! What the agents of a mission use: models, servers, bound tools and secrets.

#![cfg(feature = "providers")]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use prowess::agent::{Message, Request};
use prowess::http::WebFetcher;
use prowess::models::{ModelSettings, RecordingModel, ScriptedModel};
use prowess::policy::{Effect, PermissionRules, RuleSource};
use prowess::store::{SqliteSessions, SystemClock};
use prowess::tools::missions::{MissionToolServices, MissionTools, VariableValues};
use prowess::tools::{Loaded, Tool, ToolContext};
use prowess::traits::Models;
use prowess::{MissionModels, Registry, Runtime, mission_servers, stand_in_servers};
use prowess_flow::ProjectFiles;
use prowess_flow::mission::{
    MissionProject, MissionSettings, MissionText, ModelRef, ToolRef, Value as MissionValue,
};
use prowess_spec::ReadFault;
use prowess_test::server::{ServerStep, TestServer};
use serde_json::{Value, json};

const CANARY: &str = "canary-4711";

struct NoFiles;

impl ProjectFiles for NoFiles {
    fn read(&self, _: &str) -> Result<Vec<u8>, ReadFault> {
        Err(ReadFault::Missing)
    }
}

fn values(variables: &[(&str, &str)]) -> VariableValues {
    let mut values = VariableValues::new(Arc::new(|_| None));
    for (name, value) in variables {
        values.store(name, value, false);
    }
    values
}

/// Reads a project without errors.
fn project(text: &str, values: &VariableValues) -> MissionProject {
    let files = [MissionText {
        path: "a.hcl".to_owned(),
        bytes: Ok(text.as_bytes().to_vec()),
    }];
    let settings = MissionSettings {
        variable: &|name| values.get(name),
        is_secret: &|name| values.is_secret(name),
        plugin: &|name| (name == "shell").then(|| "mine".to_owned()),
        ..MissionSettings::default()
    };
    let (project, reports) = MissionProject::read(&files, &NoFiles, &settings);
    let findings = reports.iter().flat_map(|one| &one.diagnostics);
    let errors: Vec<_> = findings
        .filter(|one| one.severity == prowess::diag::Severity::Error)
        // A plugin that no server replaces.
        .filter(|one| one.rule != "mission-unsupported")
        .map(|one| one.message.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    project
}

fn answer(status: &str, body: &str) -> Vec<ServerStep> {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    vec![ServerStep::Send(head.into_bytes())]
}

/// Line 23: two blocks of one provider reach two different keys.
#[tokio::test]
async fn two_model_blocks_use_two_keys() {
    let reply = json!({
        "id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "content": [{ "type": "text", "text": "Hi" }],
        "usage": { "input_tokens": 1_000_000, "output_tokens": 0 },
    });
    let refused = json!({ "type": "error", "error": { "type": "authentication_error", "message": format!("no {CANARY}") } });
    let server = TestServer::new([
        answer("200 OK", &reply.to_string()),
        answer("200 OK", &reply.to_string()),
        answer("401 Unauthorized", &refused.to_string()),
    ]);
    let base = format!("http://127.0.0.1:{}", server.port);
    let text = format!(
        r#"variable "prod_key" {{ secret = true }}
variable "dev_key" {{ secret = true }}
variable "place" {{}}
model "prod" {{
  provider = "anthropic"
  api_key  = vars.prod_key
  base_url = "${{vars.place}}"
  pricing "claude_sonnet_4_6" {{
    input = 3.5
  }}
}}
model "dev" {{
  provider = "anthropic"
  api_key  = vars.dev_key
  base_url = "{base}"
}}
model "far" {{
  provider = "anthropic"
  api_key  = vars.dev_key
  base_url = "http://example.com"
}}
"#
    );
    let values = values(&[
        ("prod_key", "key-of-prod"),
        ("dev_key", CANARY),
        ("place", &base),
    ]);
    let project = project(&text, &values);
    let usual = |name: &str| (name == "ANTHROPIC_API_KEY").then(|| "usual-key".to_owned());
    let settings = ModelSettings::new("prowess-test").unwrap();
    let models = MissionModels::new(&project, values, Arc::new(usual), settings, None);
    let request = Request {
        messages: vec![Message::user("Hello")].into(),
        ..Request::default()
    };
    let model = models.find("models.prod.claude_sonnet_4_6").unwrap();
    assert_eq!(&*model.about().name, "anthropic/claude-sonnet-4-6");
    let told = model.ask(&request, &mut |_| {}).await.unwrap();
    // A block may raise the known price, not lower it.
    assert_eq!(told.usage.micros, Some(3_500_000), "the price of the block");
    let dev = ModelRef {
        block: "dev".into(),
        name: "claude_opus_4".into(),
    };
    assert_eq!(MissionModels::name(&dev), "models.dev.claude_opus_4");
    let model = models.open(&dev).unwrap();
    model.ask(&request, &mut |_| {}).await.unwrap();
    let error = model
        .ask(&request, &mut |_| {})
        .await
        .unwrap_err()
        .to_string();
    assert!(!error.contains("canary"), "{error}");
    let asked = server.asked();
    assert!(
        asked[0].head.contains("x-api-key: key-of-prod\r\n"),
        "{}",
        asked[0].head
    );
    assert_eq!(asked[0].json()["model"], "claude-sonnet-4-6");
    assert!(
        asked[1].head.contains(&format!("x-api-key: {CANARY}\r\n")),
        "{}",
        asked[1].head
    );
    assert_eq!(asked[1].json()["model"], "claude-opus-4-20250514");
    let error = models
        .find("models.far.claude_opus_4")
        .unwrap_err()
        .to_string();
    assert!(error.contains("must start with `https://`"), "{error}");
    let error = models.find("models.none.x").unwrap_err().to_string();
    assert_eq!(error, "this program has one model only");
    assert!(!format!("{models:?}").contains("canary"));
}

/// A key of the user is for the provider, not for the address in a file of a project.
#[tokio::test]
async fn usual_key_is_not_sent_to_the_address_of_a_block() {
    let server = TestServer::new([answer("500 Oops", "{}")]);
    let text = format!(
        "model \"own\" {{\n  provider = \"openai\"\n  api_key = vars.none\n  base_url = \"http://127.0.0.1:{}/v1\"\n}}\nvariable \"none\" {{ secret = true }}\n",
        server.port
    );
    let values = values(&[]);
    let mut project = project(&text, &values);
    let usual = |name: &str| (name == "OPENAI_API_KEY").then(|| CANARY.to_owned());
    let mut settings = ModelSettings::new("prowess-test").unwrap();
    settings.retry = prowess::models::RetryPolicy {
        attempts: 1,
        ..settings.retry
    };
    let find = |project: &MissionProject| {
        let environment = Arc::new(usual);
        MissionModels::new(project, values.clone(), environment, settings.clone(), None)
            .find("models.own.gpt_4o")
    };
    let error = find(&project).unwrap_err().to_string();
    let expected = "`api_key` of the model block `own`: the variable `none` is not set; run `prowess mission set none`";
    assert_eq!(error, expected);
    project.models[0].api_key = None;
    let request = Request {
        messages: vec![Message::user("Hello")].into(),
        ..Request::default()
    };
    let model = find(&project).unwrap();
    model.ask(&request, &mut |_| {}).await.unwrap_err();
    let head = &server.asked()[0].head;
    assert!(
        !head.contains("authorization") && !head.contains("canary"),
        "{head}"
    );
}

const TOOLS: &str = r#"variable "token" { secret = true }
variable "unset" { secret = true }
variable "team" {}

model "local" {
  provider = "ollama"
  base_url = "http://localhost:1/v1"
  aliases  = { m = "m" }
}

plugin "shell" {
  source  = "github.com/x/shell"
  version = "v1.0.0"
}

plugin "other" {
  source  = "github.com/x/other"
  version = "v1.0.0"
}

mcp "Web docs" {
  url     = "https://example.com/mcp"
  headers = { Authorization = "Bearer ${vars.token}" }
}

mcp "unused" { command = "never" }

mcp "files" {
  command = "run"
  args    = ["--key", vars.token]
  env     = { TOKEN = vars.token, TEAM = vars.team }
}

mcp "broken" {
  url     = "https://example.com/mcp"
  headers = { A = vars.unset }
}

tool "create todo" {
  implements  = builtins.http.post
  description = "Creates a todo."
  inputs {
    field "title" {
      type     = "string"
      required = true
    }
    field "priority" { type = "integer" }
  }
  url     = "BASE/${vars.team}/todos?q=${inputs.title}"
  headers = { Authorization = "Bearer ${vars.token}", X-Count = 3 }
  body    = { title = inputs.title, key = vars.token, priority = inputs.priority }
}

tool "call_agent" {
  implements = builtins.http.get
  url        = "https://${vars.token}/x"
}

agent "worker" {
  model       = models.local.m
  personality = "Calm."
  tools       = [tools["create todo"], tools.call_agent, builtins.http.all, builtins.utils.all, mcp["Web docs"].search, mcp.files.all, mcp.broken.x, plugins.shell.run, plugins.other.y, builtins.human.ask]
}

mission "x" {
  commander { model = models.local.m }
  agents = [agents.worker]
  input "pin" {
    type      = "string"
    protected = true
    value     = vars.token
  }
  task "t" { objective = "Go" }
}
"#;

/// A tool of a server that does nothing.
#[derive(Debug)]
struct Named(&'static str);

impl Tool for Named {
    fn name(&self) -> &str {
        self.0
    }
    fn description(&self, _: &ToolContext) -> String {
        String::new()
    }
    fn input_schema(&self) -> Value {
        json!({ "type": "object" })
    }
    fn output_schema(&self) -> Value {
        json!({})
    }
    fn is_read_only(&self, _: &ToolContext) -> bool {
        true
    }
    fn answer(
        &self,
        _: &ToolContext,
        _: &mut Loaded,
        _: &Value,
    ) -> Result<prowess::tools::ToolAnswer, prowess::tools::ToolError> {
        Ok(prowess::tools::ToolAnswer::new("", Value::Null))
    }
}

fn services(servers: BTreeMap<Box<str>, Box<str>>) -> MissionToolServices {
    MissionToolServices {
        fetcher: Some(Arc::new(WebFetcher::new("prowess-test").unwrap())),
        clock: Arc::new(SystemClock),
        servers,
        server_tools: Vec::new(),
        faults: BTreeMap::new(),
        built_in: BTreeMap::new(),
    }
}

fn references(project: &MissionProject) -> Vec<ToolRef> {
    project.agents[0].tools.clone()
}

#[test]
fn each_reference_has_a_tool_or_a_reason() {
    let values = values(&[("token", CANARY), ("team", "red")]);
    let project = project(TOOLS, &values);
    let mission = project.mission("x").unwrap();
    let taken = BTreeSet::from(["mission-files".to_owned(), "mine".to_owned()]);
    let servers = mission_servers(&project, mission, &values, &taken);
    let names: Vec<&str> = servers.servers.iter().map(|server| &*server.name).collect();
    assert_eq!(
        names,
        ["mission-Web-docs", "mission-files-2"],
        "`unused` is not started"
    );
    let shown = format!("{servers:?}");
    assert!(!shown.contains("canary"), "{shown}");
    assert!(
        servers.servers[1].place().contains(CANARY),
        "it is filled in"
    );
    let why = &servers.faults["mission-broken"];
    assert_eq!(
        why,
        "`headers`: the variable `unset` is not set; run `prowess mission set unset`"
    );
    assert_eq!(
        stand_in_servers(&project, mission),
        BTreeSet::from(["mine".to_owned()])
    );
    let mut services = services(servers.names);
    services.faults = servers.faults;
    services.server_tools = [
        "mcp__mission-files-2__b",
        "mcp__mission-files-2__a",
        "mcp__mission-files__c",
        "mcp__mine__run",
    ]
    .map(|name| Arc::new(Named(name)) as Arc<dyn Tool>)
    .to_vec();
    let tools = MissionTools::new(&project, mission, &values, &[], &services).unwrap();
    let found = tools.find(&references(&project));
    let names: Vec<&str> = found.tools.iter().map(|tool| tool.name()).collect();
    let expected = [
        "create_todo",
        "call_agent_2",
        "http_delete",
        "http_get",
        "http_patch",
        "http_post",
        "http_put",
        "current_time",
        "sleep",
        "mcp__mission-files-2__a",
        "mcp__mission-files-2__b",
        "mcp__mine__run",
    ];
    assert_eq!(names, expected);
    let missing: Vec<String> = found
        .missing
        .iter()
        .map(|one| format!("{}: {}", one.reference, one.why))
        .collect();
    let expected = [
        "mcp.Web docs.search: the server `Web docs` has no tool `search`",
        "mcp.broken.x: the server `broken` cannot be used: `headers`: the variable `unset` is not set; run `prowess mission set unset`",
        "plugins.other.y: no MCP server replaces the plugin `other`",
        "human.ask: `human.ask` is not available",
    ];
    assert_eq!(missing, expected);
    assert_eq!(
        tools.names(&ToolRef::Bound("create todo".into())),
        ["create_todo"]
    );
    assert!(tools.names(&ToolRef::Bound("none".into())).is_empty());
    assert!(names.iter().all(|name| name.len() <= 64));
    // The model sees only the inputs.
    let schema = json!({
        "type": "object",
        "properties": { "title": { "type": "string" }, "priority": { "type": "integer" } },
        "required": ["title"],
        "additionalProperties": false,
    });
    assert_eq!(found.tools[0].input_schema(), schema);
    assert!(!format!("{tools:?}").contains("canary"));
}

/// Lines 33, 35, 36 and 62: a bound tool and a protected input reach the server, and nothing else has
/// the values.
#[tokio::test(flavor = "multi_thread")]
async fn secrets_reach_the_server_and_nothing_else() {
    let echo = format!("{{\"echo\": \"Bearer {CANARY}\"}}");
    let server = TestServer::new([answer("201 Created", &echo), answer("200 OK", &echo)]);
    let base = format!("http://127.0.0.1:{}", server.port);
    let values = values(&[("token", CANARY), ("team", "red")]);
    let text = TOOLS.replace("BASE", &base);
    let project = project(&text, &values);
    let mission = project.mission("x").unwrap();
    let given: [(String, MissionValue); 0] = [];
    let tools = MissionTools::new(
        &project,
        mission,
        &values,
        &given,
        &services(BTreeMap::new()),
    );
    let tools = tools.unwrap();
    let calls = [
        json!({ "calls": [{ "name": "create_todo", "input": { "title": "a b ${vars.token} ${inputs.title}" } }] }),
        json!({ "calls": [{ "name": "http_get", "input": { "url": format!("{base}/me"), "headers": { "X-Pin": "${secrets.pin}", "X-Var": "${vars.token}" } } }] }),
        json!({ "calls": [{ "name": "call_agent_2", "input": {} }] }),
        json!({ "calls": [{ "name": "create_todo", "input": { "title": 7 } }] }),
        json!({ "calls": [{ "name": "create_todo", "input": { "title": "\u{10fffe}vars.token\u{10ffff}" } }] }),
        json!({ "text": "Done." }),
    ];
    let script: String = calls.iter().map(|line| format!("{line}\n")).collect();
    let folder = tempfile::tempdir().unwrap();
    let (requests, database) = (folder.path().join("requests"), folder.path().join("db"));
    let model = Arc::new(ScriptedModel::parse("scripted", &script).unwrap());
    let model = RecordingModel::open(model, &requests).unwrap();
    let mut approvals = PermissionRules::default();
    for rule in ["http_post(domain:127.0.0.1)", "WebFetch(domain:127.0.0.1)"] {
        approvals.add(Effect::Allow, rule, RuleSource::Approval);
    }
    let updates = Arc::new(std::sync::Mutex::new(String::new()));
    let seen = Arc::clone(&updates);
    let runtime = Runtime::builder()
        .registry(Registry::default())
        .model(Arc::new(model))
        .sessions(Arc::new(SqliteSessions::new(&database)))
        .approvals(approvals)
        .tools(tools.find(&references(&project)).tools)
        .watch(move |_, _, update| seen.lock().unwrap().push_str(&format!("{update:?}\n")))
        .build()
        .unwrap();
    let ending = runtime.task("Go").text().await.unwrap();
    drop(runtime);
    let asked = server.asked();
    assert_eq!(asked.len(), 2, "{ending:?}");
    let post = &asked[0].head;
    // A text of the model is data: it names no variable.
    assert!(
        post.starts_with("post /red/todos?q=a%20b%20${vars.token}%20${inputs.title}"),
        "{post}"
    );
    assert!(
        post.contains(&format!("authorization: bearer {CANARY}\r\n")),
        "{post}"
    );
    assert!(post.contains("x-count: 3\r\n"), "{post}");
    let body =
        json!({ "title": "a b ${vars.token} ${inputs.title}", "key": CANARY, "priority": null });
    assert_eq!(asked[0].json(), body);
    assert!(
        asked[1].head.contains(&format!("x-pin: {CANARY}\r\n")),
        "{}",
        asked[1].head
    );
    assert!(
        asked[1].head.contains("x-var: ${vars.token}\r\n"),
        "{}",
        asked[1].head
    );
    let events = updates.lock().unwrap().clone();
    assert!(events.contains("Bearer ${vars.token}"), "{events}");
    assert!(events.contains("x-pin: ${secrets.pin}"), "{events}");
    assert!(events.contains("has a secret in its host"), "{events}");
    assert!(!events.contains("canary"), "{events}");
    let mut files = 0;
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let found = bytes.windows(6).any(|part| part == b"canary");
        assert!(!found, "a secret is in the requests or the database");
        files += 1;
    }
    assert!(files >= 2);
}

use std::collections::BTreeMap;

use proptest::prelude::*;
use prowess_diag::{FileReport, LineIndex, Severity};
use prowess_spec::ReadFault;

use super::{
    Conversion, ConvertAgent, ConvertServer, ConvertSource, ConvertTarget, ConvertTransport, LOST,
    MissionSource, SkillText, convert, file_name,
};
use crate::mission::{MissionProject, MissionSettings, MissionText};
use crate::{AgentFile, Dialect, ProjectFiles, read};

/// The files of a project.
#[derive(Clone, Default)]
struct Files(BTreeMap<String, String>);

impl ProjectFiles for Files {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadFault> {
        if let Some(text) = self.0.get(path) {
            return Ok(text.as_bytes().to_vec());
        }
        let folder = format!("{path}/");
        if self.0.keys().any(|known| known.starts_with(&folder)) {
            return Err(ReadFault::NotAFile("a folder"));
        }
        Err(ReadFault::Missing)
    }

    fn files_below(&self, folder: &str) -> Option<Vec<String>> {
        let folder = format!("{folder}/");
        let inner = self.0.keys().filter_map(|path| path.strip_prefix(&folder));
        Some(inner.map(str::to_owned).collect())
    }
}

impl Files {
    fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
        Self(files.iter().map(file).collect())
    }

    fn from(conversion: &Conversion) -> Self {
        let files = conversion.files.iter();
        Self(
            files
                .map(|file| (file.path.clone(), file.text.clone()))
                .collect(),
        )
    }

    fn missions(&self) -> Vec<MissionText> {
        let is_hcl = |path: &str| {
            path.rsplit_once('.')
                .is_some_and(|(_, ending)| ending == "hcl")
        };
        let hcl = self.0.iter().filter(|(path, _)| is_hcl(path));
        hcl.map(|(path, text)| MissionText {
            path: path.clone(),
            bytes: Ok(text.as_bytes().to_vec()),
        })
        .collect()
    }

    fn project(&self) -> (MissionProject, Vec<FileReport>) {
        let settings = MissionSettings {
            library: &Vec::new,
            ..MissionSettings::default()
        };
        MissionProject::read(&self.missions(), self, &settings)
    }

    /// Reads the project, which has no errors.
    fn clean(&self) -> MissionProject {
        let (project, reports) = self.project();
        let errors = reports.iter().flat_map(|report| {
            let found = report.diagnostics.iter();
            found.filter(|one| one.severity == Severity::Error && one.rule != "mission-unsupported")
        });
        let errors: Vec<_> = errors.collect();
        assert!(errors.is_empty(), "{errors:#?}\n{:#?}", self.0);
        project
    }

    fn convert(&self, target: ConvertTarget) -> Conversion {
        let project = self.clean();
        let files = self.missions();
        let source = ConvertSource {
            missions: Some(MissionSource {
                folder: String::new(),
                files: &files,
                project: &project,
                others: self,
            }),
            ..ConvertSource::default()
        };
        convert(&source, target)
    }
}

/// Returns a project as JSON, without files and places.
fn facts(project: &MissionProject) -> serde_json::Value {
    fn strip(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Object(entries) => {
                entries.remove("place");
                entries.values_mut().for_each(strip);
            }
            serde_json::Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(project).unwrap();
    value.as_object_mut().unwrap().remove("files");
    strip(&mut value);
    value
}

/// Returns the findings as `file:line: message`.
fn lost(conversion: &Conversion) -> Vec<String> {
    let mut found = Vec::new();
    for report in &conversion.reports {
        let lines = LineIndex::new(report.text());
        for one in &report.diagnostics {
            assert_eq!((one.rule, one.severity), (LOST, Severity::Warning));
            let start = one.span.map_or(0, |span| span.start as usize);
            let line = lines.position(report.text(), start).line;
            found.push(format!("{}:{line}: {}", report.path, one.message));
        }
    }
    found
}

fn has(found: &[String], part: &str) -> bool {
    found.iter().any(|one| one.contains(part))
}

const RICH: &[(&str, &str)] = &[
    (
        "main.hcl",
        r#"# A comment.
variable "key" { secret = true }
variable "team" { default = "blue" }
variable "place" {}
vault { provider = "file" }
model "main" {
  provider = "anthropic"
  api_key  = vars.key
  aliases  = { sonnet = "claude-sonnet-4" }
  prompt_caching = true
  pricing "sonnet" {
    input  = 3.0
    output = 15
  }
}
plugin "browser" {
  source  = "./plugins/browser"
  version = "local"
  settings { headless = true }
}
mcp "files" {
  command = "npx"
  args    = ["-y", "server"]
  env     = { TOKEN = vars.key }
}
tool "search" {
  implements  = builtins.http.get
  description = "Searches"
  inputs {
    field "q" { type = "string" }
  }
  url         = "https://x.test/?q=${inputs.q}&t=$${x}"
  headers     = { Authorization = "Bearer ${vars.key}" }
}
memory "notes" { description = "Notes of all runs" }
skill "web_scraping" {
  description  = "Load for ${vars.team} pages"
  instructions = load("./skills/web.md")
  tools        = [builtins.http.get, mcp.files.all, tools.search, plugins.browser.open]
}
skill "folder" { source = "./library/folder" }
"#,
    ),
    (
        "sub/agents.hcl",
        r#"packet "facts" { path = "./facts" }
agent "Quality Assurance" {
  model       = models.main.sonnet
  role        = "Tests $${everything}"
  personality = <<-T
    Careful.

      Indented ${vars.team}.
  T
  reasoning   = "High"
  tools       = [builtins.http.all, tools.search]
  skills      = [skills.web_scraping, skills.folder]
  skill "own" {
    description  = "Own \"skill\""
    instructions = "Line one.\nLine two.\n"
  }
  compaction {
    token_limit    = 1000
    turn_retention = 3
  }
  pruning {
    prune_on = 20
    prune_to = 10
  }
  tool_response { max_tokens = 500 }
}
agent "second" {
  model       = models.main.claude_sonnet_4
  personality = "Calm. Quiet."
  skill "own" {
    description  = "Another"
    instructions = "Text of the second."
  }
}
"#,
    ),
    (
        "sub/missions.hcl",
        r#"mission "research" {
  directive    = "For ${vars.place}"
  agents       = [agents["Quality Assurance"], agents.worker]
  memories     = [memories.notes]
  packets      = [packets.facts]
  scratchpad   = true
  max_parallel = 7
  commander {
    model     = models.main.sonnet
    reasoning = "low"
    compaction { token_limit = 500 }
  }
  memory { description = "Own" }
  agent "worker" {
    model       = models.main.sonnet
    personality = "Works."
    skill "helper" {
      description  = "Helps"
      instructions = "Help."
    }
  }
  input "topic" {
    type        = "string"
    description = "The topic"
    default     = "a \"b\" ${"c"}"
  }
  input "urls" { type = "list" }
  input "secret" {
    type      = "string"
    protected = true
    value     = vars.key
  }
  dataset "pages" {
    bind_to = inputs.urls
    schema {
      field "url" {
        type     = "string"
        required = true
      }
    }
  }
  dataset "fixed" { items = [{ n = 1 }, { n = 2 }] }
  task "gather" {
    objective = "Gather ${inputs.topic} at ${item.url}, cost $5 %{ if inputs.topic == "x" }x%{ else }y%{ endif }"
    iterator {
      dataset           = datasets.pages
      parallel          = true
      concurrency_limit = 2
      start_delay       = 100
      smoketest         = true
      max_retries       = 1
    }
    output {
      field "facts" {
        type        = "list"
        description = "The facts"
        required    = true
      }
    }
    budget {
      tokens  = 1000
      dollars = 0.5
    }
  }
  task "judge" {
    objective  = "Judge"
    depends_on = [tasks.gather]
    output     = { good = bool("Good?", true), list = list(string, "x") }
    router {
      route {
        target    = tasks.write
        condition = "good"
      }
      route {
        target    = missions.other
        condition = "bad"
        entry     = tasks.only
      }
    }
  }
  task "write" {
    agents    = [agents.worker]
    objective = <<T
Write a long text about ${inputs.topic}.
It has two lines.
T
  }
  schedule {
    at       = ["09:00", "18:30"]
    weekdays = ["mon", "fri"]
    timezone = "Europe/Berlin"
    inputs   = { topic = "weekly" }
  }
  schedule { every = "2h" }
  schedule { cron = "0 9 * * *" }
  trigger {
    webhook_path = "/go"
    secret       = vars.key
  }
  budget { dollars = 2 }
}
mission "other" {
  commander { model = models.main.sonnet }
  agents = [agents.second]
  task "only" { objective = "Only" }
}
"#,
    ),
    ("skills/web.md", "Fetch ${pages}.\n\n\"Quote\" them.\n"),
    (
        "library/folder/SKILL.md",
        "---\nname: folder\ndescription: From a folder.\nlicense: MIT\n---\nBody.\n",
    ),
    ("sub/facts/a.txt", "A fact.\n"),
];

/// missions.md line 82: what Squadron's files say is the same after writing them back.
#[test]
fn squadron_is_written_back_equal() {
    let files = Files::of(RICH);
    let conversion = files.convert(ConvertTarget::Squadron);
    let mut back = Files::from(&conversion);
    let found = lost(&conversion);
    assert!(
        has(&found, "main.hcl:1: comments are not written"),
        "{found:#?}"
    );
    assert!(
        has(
            &found,
            "sub/agents.hcl:1: the files in `sub/facts` are not written"
        ),
        "{found:#?}"
    );
    assert!(
        has(&found, "the files in `plugins/browser` are not written"),
        "{found:#?}"
    );
    assert_eq!(found.len(), 3, "{found:#?}");
    back.0
        .insert("sub/facts/a.txt".to_owned(), "A fact.\n".to_owned());
    assert_eq!(facts(&files.clean()), facts(&back.clean()), "{:#?}", back.0);
    let names: Vec<&str> = conversion.files.iter().map(|file| &*file.path).collect();
    assert!(
        names.contains(&"missions.hcl") && names.contains(&"skills/web.md"),
        "{names:?}"
    );
    // Variables, prices and settings that no plan has are kept too.
    let all: String = conversion.files.iter().map(|file| &*file.text).collect();
    for kept in [
        "default = \"blue\"",
        "pricing \"sonnet\"",
        "prompt_caching",
        "headless = true",
        "vault {",
    ] {
        assert!(all.contains(kept), "{kept}\n{all}");
    }
    // Once written, the files do not change any more.
    let again = back.convert(ConvertTarget::Squadron);
    back.0.remove("sub/facts/a.txt");
    assert_eq!(Files::from(&again).0, back.0);
}

/// Reads converted skills and agents as the source of the next conversion.
fn back_to_squadron(skills: &Conversion, agents: &Conversion) -> Conversion {
    let skills = skills.files.iter().map(|file| SkillText {
        path: file.path.clone(),
        folder: file.path.split('/').next().map(str::to_owned),
        text: file.text.as_str().into(),
        others: Vec::new(),
    });
    let files = Files::from(agents);
    let read: Vec<AgentFile> = agents
        .files
        .iter()
        .map(|file| read(Dialect::Claude, &file.path, file.text.as_bytes(), &files))
        .collect();
    let agents = read.iter().map(|file| ConvertAgent {
        folder: String::new(),
        file,
        others: &files,
    });
    let source = ConvertSource {
        missions: None,
        agents: agents.collect(),
        skills: skills.collect(),
        ..ConvertSource::default()
    };
    convert(&source, ConvertTarget::Squadron)
}

/// missions.md line 82: Squadron to skills and agents and back.
#[test]
fn skills_and_agents_come_back_equal() {
    let files = Files::of(RICH);
    let project = files.clean();
    let skills = files.convert(ConvertTarget::Skills);
    let agents = files.convert(ConvertTarget::AgentsMd);
    let back = Files::from(&back_to_squadron(&skills, &agents)).clean();
    for agent in &project.agents {
        let found = back.agents.iter().find(|one| one.name == agent.name);
        let found = found.unwrap_or_else(|| panic!("{} is missing", agent.name));
        assert_eq!(found.description(), agent.description());
        assert_eq!(found.skills, agent.skills, "{}", agent.name);
        assert_eq!(found.effort, agent.effort);
        let text =
            |value: &crate::mission::Value| value.as_text().map(|text| text.trim().to_owned());
        assert_eq!(text(&found.personality), text(&agent.personality));
        let built_in =
            |tool: &&crate::mission::ToolRef| matches!(tool, crate::mission::ToolRef::BuiltIn(_));
        let tools = |agent: &crate::mission::AgentBlock| -> Vec<String> {
            let tools = agent.tools.iter().filter(built_in);
            tools.map(ToString::to_string).collect()
        };
        assert_eq!(tools(found), tools(agent));
    }
    assert_eq!(back.skills.len(), project.skills.len());
    for skill in &project.skills {
        // The agent of a mission is one of the project now.
        let scope = match &skill.scope {
            crate::mission::DefinitionScope::MissionAgent { agent, .. } => {
                crate::mission::DefinitionScope::Agent(agent.clone())
            }
            other => other.clone(),
        };
        let found = back
            .skills
            .iter()
            .find(|one| one.name == skill.name && one.scope == scope);
        let found = found.unwrap_or_else(|| panic!("{} is missing: {:?}", skill.name, back.skills));
        assert_eq!(found.description, skill.description);
        assert_eq!(found.instructions, skill.instructions);
    }
    let found = lost(&skills);
    for part in [
        "main.hcl:36: `tools` of `web_scraping` adds tools when the skill is loaded",
        "main.hcl:37: `vars.team` in `description`",
        "the skill `own` belongs to the agent `Quality Assurance`",
        "another skill is called `own`: this one becomes `second-own`",
        "the agent `second` is not a skill",
        "the mission `research` is not written",
        "the model `main` is not written",
        "the plugin `browser` is not written",
    ] {
        assert!(has(&found, part), "{part}\n{found:#?}");
    }
    let found = lost(&agents);
    for part in [
        "`compaction` of `Quality Assurance` is not written",
        "`pruning` of `Quality Assurance` is not written",
        "`tool_response` of `Quality Assurance` is not written",
        "`models.main.sonnet` becomes `claude-sonnet-4`",
        "`role` of `Quality Assurance` is no longer in its instructions",
        "`vars.team` in `personality`",
        "the agent `worker` belongs to the mission `research`",
        "the mcp `files` is not written",
        "the mission `other` is not written",
    ] {
        assert!(has(&found, part), "{part}\n{found:#?}");
    }
}

#[test]
fn secrets_stay_references() {
    let files = Files::of(RICH);
    for target in ConvertTarget::ALL {
        for file in files.convert(target).files {
            assert!(!file.text.contains("PROWESS_VAR"), "{}", file.text);
        }
    }
    let squadron = files.convert(ConvertTarget::Squadron);
    let models = squadron.files.iter().find(|file| file.path == "models.hcl");
    assert!(models.unwrap().text.contains("= vars.key\n"), "{models:?}");
    // Values of servers of other systems are not written at all.
    let crew = Files::of(&[
        (
            "a.skilled_crew.yaml",
            "agents:\n  one:\n    mcp_servers:\n      - filePath: server.json\n",
        ),
        (
            "server.json",
            r#"{"name": "s", "command": "run", "args": ["-x"], "env": {"TOKEN": "s3cret"}}"#,
        ),
    ]);
    let bytes = crew.read("a.skilled_crew.yaml").unwrap();
    let file = read(Dialect::SkilledCrew, "a.skilled_crew.yaml", &bytes, &crew);
    for target in ConvertTarget::ALL {
        let source = ConvertSource {
            agents: vec![ConvertAgent {
                folder: String::new(),
                file: &file,
                others: &crew,
            }],
            ..ConvertSource::default()
        };
        let conversion = convert(&source, target);
        let text = format!("{conversion:?}");
        assert!(!text.contains("s3cret"), "{text}");
        if target == ConvertTarget::Squadron {
            let back = Files::from(&conversion).clean();
            assert!(back.servers.is_empty(), "{text}");
            assert!(has(
                &lost(&conversion),
                "the MCP servers of `one` in `server.json` are not written"
            ));
        }
    }
}

/// Servers of other systems become `mcp` blocks. Values that may be secrets become variables.
#[test]
fn servers_become_blocks_without_their_values() {
    let crew = Files::of(&[
        (
            "a.skilled_crew.yaml",
            "agents:\n  one:\n    mcp_servers:\n      - filePath: server.json\n  two:\n    mcp_servers:\n      - filePath: server.json\n      - filePath: web.json\n",
        ),
        (
            "server.json",
            r#"{"name": "docs-server", "command": "npx"}"#,
        ),
        (
            "web.json",
            r#"{"name": "shop", "url": "https://shop.example.com/mcp"}"#,
        ),
    ]);
    let bytes = crew.read("a.skilled_crew.yaml").unwrap();
    let file = read(Dialect::SkilledCrew, "a.skilled_crew.yaml", &bytes, &crew);
    let pairs = |pairs: &[(&str, &str)]| {
        let pairs = pairs.iter();
        let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        pairs.map(pair).collect::<BTreeMap<_, _>>()
    };
    let program = ConvertTransport::Program {
        command: "npx".to_owned(),
        args: [
            "-y",
            "docs@1",
            "--api-key",
            "s3cret",
            "--token=s3cret",
            "--home",
            "${HOME_DIR}/x",
        ]
        .map(str::to_owned)
        .into(),
        env: pairs(&[("TOKEN", "s3cret"), ("KEY", "pre ${DOCS_KEY:-s3cret}")]),
        has_folder: true,
    };
    let web = ConvertTransport::Web {
        url: "https://shop.example.com/mcp?key=s3cret".to_owned(),
        headers: pairs(&[
            ("Authorization", "Bearer ${DOCS_KEY}"),
            ("X-Plain", "s3cret"),
        ]),
    };
    let server =
        |agent: &str, file: &str, name: &str, transport: &ConvertTransport| ConvertServer {
            agent: agent.into(),
            file: file.into(),
            name: name.into(),
            transport: transport.clone(),
        };
    let source = ConvertSource {
        agents: vec![ConvertAgent {
            folder: String::new(),
            file: &file,
            others: &crew,
        }],
        servers: vec![
            server("one", "server.json", "docs-server", &program),
            server("two", "server.json", "docs-server", &program),
            server("two", "web.json", "shop", &web),
        ],
        ..ConvertSource::default()
    };
    assert!(!format!("{source:?}").contains("s3cret"));
    let conversion = convert(&source, ConvertTarget::Squadron);
    let text = format!("{conversion:?}");
    assert!(!text.contains("s3cret"), "{text}");
    let tools = conversion
        .files
        .iter()
        .find(|file| file.path == "tools.hcl");
    let text = &tools.unwrap().text;
    for part in [
        "\"--token=${vars.docs_server_token}\"",
        "\"${vars.home_dir}/x\"",
        "\"Bearer ${vars.docs_key}\"",
        "\"pre ${vars.docs_key}\"",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let back = Files::from(&conversion).clean();
    let names: Vec<&str> = back.servers.iter().map(|server| &*server.name).collect();
    assert_eq!(names, ["docs_server", "shop"]);
    // Every value that is not in the files is a secret variable, each once.
    let variables = back.variables.iter().filter(|one| one.is_secret);
    let variables: Vec<&str> = variables.map(|one| &*one.name).collect();
    for name in [
        "docs_server_api_key",
        "docs_server_token",
        "docs_server_token_2",
        "docs_key",
        "home_dir",
        "shop_url",
        "shop_x_plain",
    ] {
        assert_eq!(
            variables.iter().filter(|one| **one == name).count(),
            1,
            "{name} {variables:?}"
        );
    }
    let of = |name: &str| {
        let agent = back.agents.iter().find(|agent| &*agent.name == name);
        let tools = agent.unwrap().tools.iter().map(ToString::to_string);
        tools.collect::<Vec<_>>()
    };
    assert_eq!(of("one"), ["mcp.docs_server.all"]);
    assert_eq!(of("two"), ["mcp.docs_server.all", "mcp.shop.all"]);
    let found = lost(&conversion);
    assert!(
        has(
            &found,
            "values of the server `docs-server` become secret variables"
        ),
        "{found:#?}"
    );
    assert!(
        has(
            &found,
            "the folder in which the server `docs-server` starts"
        ),
        "{found:#?}"
    );
    assert!(!has(&found, "are not written: "), "{found:#?}");
}

/// An agent of every dialect, and what of it Squadron and Markdown cannot express.
#[test]
fn agents_of_all_dialects_are_converted() {
    let cases: [(Dialect, &str, &str, &[&str]); 8] = [
        (
            Dialect::Claude,
            ".claude/agents/reviewer.md",
            "---\nname: reviewer\ndescription: Reviews code\ntools: Read, Grep, Agent(helper)\nmodel: sonnet\ncolor: red\nhooks: {}\n---\nReview.\n",
            &[
                "2: `reviewer` may start other agents",
                "6: `color` is not written",
                "7: `hooks` is not written",
            ],
        ),
        (
            Dialect::Copilot,
            "a.agent.md",
            "---\nname: a\ndescription: Does it\ntools: ['codebase', 'Agent']\nhandoffs: []\n---\nDo it.\n",
            &[
                "`handoffs` is not written",
                "the tool `Agent` is not written",
            ],
        ),
        (
            Dialect::OpenCode,
            ".opencode/agent/b.md",
            "---\ndescription: Does it\nmode: subagent\nmodel: openai/gpt-5\ntemperature: 0.1\ntools:\n  bash: false\n---\nDo it.\n",
            &["`mode` is not written", "`temperature` is not written"],
        ),
        (
            Dialect::Gemini,
            ".gemini/agents/c.md",
            "---\nname: c\ndescription: Does it\nmodel: gemini-3-pro\ntimeout_mins: 5\n---\nDo it.\n",
            &["the time limit of `c` is not written"],
        ),
        (
            Dialect::Codex,
            ".codex/agents/d.toml",
            "name = \"d\"\ndescription = \"Does it\"\ndeveloper_instructions = \"Do it.\"\nmodel = \"gpt-5\"\nmodel_reasoning_effort = \"xhigh\"\nsandbox_mode = \"read-only\"\n",
            &[],
        ),
        (
            Dialect::Planck,
            "TEAM.json",
            r#"{"name": "team", "members": [
  {"type": "orchestrator", "provider": "anthropic", "model_id": "claude-sonnet-4-6", "system_prompt": "Lead."},
  {"type": "builder", "name": "Builder", "description": "Builds", "provider": "zai", "model_id": "glm-5", "system_prompt": "Build.", "tools": ["read"], "skills": ["style"]}
]}"#,
            &["the team `team` is not written"],
        ),
        (
            Dialect::SkilledCrew,
            "x.skilled_crew.yaml",
            "agents:\n  lead:\n    instructionsPath: AGENTS.md\n",
            &["the team `x` is not written"],
        ),
        (
            Dialect::CoreAgent,
            ".agents/config.json",
            r#"{"subagents": [{"name": "scout", "description": "Looks", "instructions": "Look.", "budgets": {"max_cost_usd": 1.5}}]}"#,
            &["the cost limit of `scout` is not written"],
        ),
    ];
    for (dialect, path, text, expected) in cases {
        let files = Files::of(&[
            (path, text),
            ("AGENTS.md", "---\ndescription: Leads\n---\nLead.\n"),
        ]);
        let file = read(dialect, path, text.as_bytes(), &files);
        assert!(!file.agents.is_empty(), "{dialect:?}: {:?}", file.reports);
        for target in [ConvertTarget::AgentsMd, ConvertTarget::Squadron] {
            let source = ConvertSource {
                agents: vec![ConvertAgent {
                    folder: String::new(),
                    file: &file,
                    others: &files,
                }],
                ..ConvertSource::default()
            };
            let conversion = convert(&source, target);
            let found = lost(&conversion);
            let expected = expected.iter().filter(|part| {
                let is_squadron = part.contains("may start other agents");
                let is_markdown = part.contains("the tool `Agent`");
                match target {
                    ConvertTarget::Squadron => !is_markdown,
                    ConvertTarget::AgentsMd | ConvertTarget::Skills => !is_squadron,
                }
            });
            for part in expected {
                assert!(
                    has(&found, part),
                    "{dialect:?} {target:?} {part}\n{found:#?}"
                );
            }
            if target == ConvertTarget::Squadron {
                let back = Files::from(&conversion).clean();
                assert_eq!(back.agents.len(), file.agents.len(), "{dialect:?}");
                continue;
            }
            for agent in &file.agents {
                let name = format!("agents/{}.md", file_name(agent.name.as_str()));
                let written = conversion.files.iter().find(|file| file.path == name);
                let written = written.unwrap_or_else(|| panic!("{name} is missing"));
                let back = read(
                    Dialect::Claude,
                    &written.path,
                    written.text.as_bytes(),
                    &files,
                );
                let [back] = &*back.agents else {
                    panic!("{dialect:?}: {}", written.text);
                };
                assert_eq!(back.name, agent.name);
                assert_eq!(back.description, agent.description);
                assert_eq!(back.prompt, agent.prompt);
                let mut tools = agent.tools.clone();
                let tools_left = tools.only.iter_mut();
                tools_left.for_each(|list| list.retain(|tool| &**tool != "Agent"));
                assert_eq!(back.tools, tools, "{dialect:?}: {}", written.text);
                assert_eq!(back.calls, agent.calls, "{dialect:?}: {}", written.text);
                assert_eq!(back.effort, agent.effort);
                assert_eq!(back.limits.turns, agent.limits.turns);
                assert_eq!(back.is_read_only, agent.is_read_only);
            }
        }
    }
}

#[test]
fn skill_folders_become_blocks() {
    let skill = |path: &str, text: &str, others: &[&str]| SkillText {
        path: path.to_owned(),
        folder: path.split('/').next().map(str::to_owned),
        text: text.into(),
        others: others.iter().map(ToString::to_string).collect(),
    };
    let source = ConvertSource {
        skills: vec![
            skill(
                "pdf/SKILL.md",
                "---\nname: pdf\ndescription: Reads PDFs\nlicense: MIT\nallowed-tools: builtins.http.get Bash(git:*)\nmetadata:\n  team: blue\n---\nRead $ARGUMENTS.\n",
                &["scripts/run.sh"],
            ),
            skill(
                "other/SKILL.md",
                "---\nname: pdf\ndescription: Twice\n---\nText\r\nwith CRLF.\n",
                &[],
            ),
        ],
        ..ConvertSource::default()
    };
    let conversion = convert(&source, ConvertTarget::Squadron);
    let back = Files::from(&conversion).clean();
    let names: Vec<&str> = back.skills.iter().map(|skill| &*skill.name).collect();
    assert_eq!(names, ["pdf", "pdf_2"]);
    assert_eq!(back.skills[0].tools.len(), 1);
    assert_eq!(
        back.skills[1].instructions.as_text(),
        Some("Text\r\nwith CRLF.\n")
    );
    let found = lost(&conversion);
    for part in [
        "pdf/SKILL.md:4: `license` is not written",
        "pdf/SKILL.md:5: Squadron has no tool `Bash(git:*)`",
        "pdf/SKILL.md:7: `metadata.team` is not written",
        "pdf/SKILL.md:9: `$ARGUMENTS` in the text has no meaning",
        "not written: 1 other file of the folder, such as `scripts/run.sh`",
        "other/SKILL.md:1: another skill is called `pdf`: this one is `pdf_2`",
    ] {
        assert!(has(&found, part), "{part}\n{found:#?}");
    }
}

#[test]
fn names_of_files_are_valid_everywhere() {
    for (name, file) in [
        ("../../etc/passwd", "etc-passwd"),
        ("a/b\\c", "a-b-c"),
        ("..", "unnamed"),
        ("\u{1b}[31mred", "31mred"),
        ("nul", "nul-1"),
        ("CON", "con-1"),
        ("a\0b", "a-b"),
        ("web_scraping", "web-scraping"),
        ("Übung", "übung"),
    ] {
        assert_eq!(file_name(name), file, "{name:?}");
    }
    assert!(file_name(&"ä".repeat(500)).len() <= 200);
    // Names that differ only in case, and in characters that files cannot have.
    let agent = |name: &str| {
        format!(
            "agent {name} {{\n  model       = models.m.claude_x\n  personality = \"P\"\n  skill {name} {{\n    description  = \"D\"\n    instructions = \"I\"\n  }}\n}}\n"
        )
    };
    let names = [
        "\"Nul\"",
        "\"NUL\"",
        "\"a/b\"",
        "\"a:b\"",
        "\"..\"",
        "\"$${x}\"",
        "\"a\\\\b\"",
    ];
    let text: String = names.iter().map(|name| agent(name)).collect();
    let text =
        format!("model \"m\" {{\n  provider = \"anthropic\"\n  api_key  = \"k\"\n}}\n{text}");
    let files = Files::of(&[("a.hcl", &text)]);
    for target in ConvertTarget::ALL {
        let conversion = files.convert(target);
        let mut seen = std::collections::BTreeSet::new();
        for file in &conversion.files {
            assert!(seen.insert(file.path.to_lowercase()), "{}", file.path);
            let is_plain = |part: &str| {
                !part.is_empty()
                    && !part.starts_with('.')
                    && part
                        .chars()
                        .all(|c| c.is_alphanumeric() || "-.".contains(c))
            };
            let path = file.path.replace("SKILL.md", "skill");
            assert!(path.split('/').all(is_plain), "{}", file.path);
        }
        match target {
            ConvertTarget::Squadron => {
                let back = Files::from(&conversion).clean();
                assert_eq!(facts(&files.clean()), facts(&back));
            }
            ConvertTarget::AgentsMd | ConvertTarget::Skills => {
                assert_eq!(conversion.files.len(), names.len());
            }
        }
    }
}

proptest! {
    /// Any text of a skill and an agent survives all ways.
    #[test]
    fn texts_survive(text in "[a-z$%{}\"\\\\\r\n\t\u{feff}é#:'-]{1,300}") {
        prop_assume!(!text.trim().is_empty());
        let written = prowess_hcl::write_text(&text);
        let source = format!("model \"m\" {{\n  provider = \"anthropic\"\n  api_key  = \"k\"\n}}\nskill \"s\" {{\n  description  = {written}\n  instructions = {written}\n}}\nagent \"a\" {{\n  model       = models.m.claude_x\n  personality = {written}\n  skills      = [skills.s]\n}}\n");
        let files = Files::of(&[("a.hcl", &source)]);
        let project = files.clean();
        let direct = Files::from(&files.convert(ConvertTarget::Squadron)).clean();
        prop_assert_eq!(facts(&project), facts(&direct));
        let skills = files.convert(ConvertTarget::Skills);
        let agents = files.convert(ConvertTarget::AgentsMd);
        let back = Files::from(&back_to_squadron(&skills, &agents)).clean();
        prop_assert_eq!(&back.skills[0].instructions, &project.skills[0].instructions);
        prop_assert_eq!(back.skills[0].description.as_text().map(str::trim), project.skills[0].description.as_text().map(str::trim));
        prop_assert_eq!(back.agents[0].personality.as_text().map(str::trim), project.agents[0].personality.as_text().map(str::trim));
    }
}

/// Files larger than the reader takes are divided, and keep their order.
#[test]
fn large_projects_are_divided() {
    let mut files = Files::of(&[(
        "0.hcl",
        "model \"m\" {\n  provider = \"anthropic\"\n  api_key  = \"k\"\n}\n",
    )]);
    for number in 0..12 {
        // `load` would change the line ends, so the texts stay in the files.
        let text = "x\\r\\n".repeat(100_000);
        files.0.insert(
            format!("s{number:02}.hcl"),
            format!(
                "skill \"s{number}\" {{\n  description  = \"D\"\n  instructions = \"{text}\"\n}}\n"
            ),
        );
    }
    let conversion = files.convert(ConvertTarget::Squadron);
    assert!(conversion.files.len() > 3);
    assert_eq!(
        facts(&files.clean()),
        facts(&Files::from(&conversion).clean())
    );
}

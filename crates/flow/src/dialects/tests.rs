//! Tests of the dialects, with files as people write them.

use std::collections::BTreeMap;

use prowess_diag::{Applicability, Severity};
use prowess_spec::ReadFault;

use super::{Dialect, read};
use crate::ProjectFiles;
use crate::model::{
    AgentDef, AgentFile, ModelAlias, ModelChoice, PromptSource, Selection, TeamKind,
};

/// Files in memory. A path that is not there is missing.
#[derive(Default)]
struct Files(BTreeMap<&'static str, &'static str>);

impl ProjectFiles for Files {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadFault> {
        let text = self.0.get(path).ok_or(ReadFault::Missing)?;
        Ok(text.as_bytes().to_vec())
    }
}

fn files<const N: usize>(files: [(&'static str, &'static str); N]) -> Files {
    Files(files.into_iter().collect())
}

fn read_at(path: &str, text: &str) -> AgentFile {
    read_with(path, text, &Files::default())
}

fn read_with(path: &str, text: &str, files: &Files) -> AgentFile {
    let dialect = Dialect::of(path).expect("a known path");
    read(dialect, path, text.as_bytes(), files)
}

/// Returns each finding as `rule at LINE: message`.
fn findings(file: &AgentFile) -> Vec<String> {
    let mut found = Vec::new();
    for report in &file.reports {
        for one in &report.diagnostics {
            let start = one.span.unwrap_or_default().start as usize;
            let line = report.text()[..start].matches('\n').count() + 1;
            found.push(format!("{} at {line}: {}", one.rule, one.message));
        }
    }
    found
}

fn only(file: &AgentFile) -> &AgentDef {
    assert_eq!(file.agents.len(), 1, "{:?}", findings(file));
    &file.agents[0]
}

fn names(selection: &Selection) -> Option<Vec<&str>> {
    let only = selection.only.as_ref()?;
    Some(only.iter().map(|name| &**name).collect())
}

#[test]
fn files_are_recognised_by_their_path() {
    for (path, dialect) in [
        (".claude/agents/a.md", Some(Dialect::Claude)),
        ("x/.claude/agents/sub/a.md", Some(Dialect::Claude)),
        (".claude/agents/README.md", None),
        (".claude/agents/a.agent.md", Some(Dialect::Claude)),
        (".config/opencode/agent/a.md", Some(Dialect::OpenCode)),
        (".claude/commands/a.md", None),
        (".github/agents/a.agent.md", Some(Dialect::Copilot)),
        (".opencode/agent/a.md", Some(Dialect::OpenCode)),
        (".opencode/agents/a.md", Some(Dialect::OpenCode)),
        (".gemini/agents/a.md", Some(Dialect::Gemini)),
        (".codex/agents/a.toml", Some(Dialect::Codex)),
        (".codex/config.toml", None),
        (".planck/teams/dev/TEAM.json", Some(Dialect::Planck)),
        ("crew/a.skilled_crew.yaml", Some(Dialect::SkilledCrew)),
        (".skilled_crew.yaml", Some(Dialect::SkilledCrew)),
        (".agents/config.json", Some(Dialect::CoreAgent)),
        ("config.json", None),
        ("", None),
    ] {
        assert_eq!(Dialect::of(path), dialect, "{path}");
    }
    for dialect in Dialect::ALL {
        assert_eq!(Dialect::parse(dialect.as_str()), Some(dialect));
    }
}

#[test]
fn claude_agent_is_read() {
    let text = "---\nname: code-reviewer\ndescription: Reviews code.\ntools: Read, Bash(git diff:*, git log:*), Agent(fixer)\n\
                model: sonnet\nmaxTurns: 9\nskills: [style]\neffort: high\ncolor: red\n---\n\nReview it.\n";
    let file = read_at(".claude/agents/code-reviewer.md", text);
    assert_eq!(findings(&file), Vec::<String>::new());
    let agent = only(&file);
    assert_eq!(agent.name.as_str(), "code-reviewer");
    assert_eq!(
        (&*agent.description, &*agent.prompt),
        ("Reviews code.", "Review it.")
    );
    assert_eq!(agent.model, ModelChoice::Alias(ModelAlias::Sonnet));
    let tools = ["Read", "Bash(git diff:*, git log:*)"];
    assert_eq!(names(&agent.tools).unwrap(), tools);
    assert_eq!(names(&agent.calls).unwrap(), ["fixer"]);
    assert_eq!(agent.limits.turns, Some(9));
    assert_eq!(agent.preload, ["style".into()]);
    assert_eq!(agent.effort.as_deref(), Some("high"));
}

/// `tools` as a text, a list, absent and empty.
#[test]
fn tools_of_claude_agents() {
    let tools = |line: &str| {
        let text = format!("---\nname: a\ndescription: b\n{line}---\nx\n");
        let file = read_at(".claude/agents/a.md", &text);
        let agent = only(&file).clone();
        (agent, findings(&file))
    };
    assert_eq!(tools("").0.tools, Selection::all());
    assert_eq!(
        names(&tools("tools: Read, Grep\n").0.tools).unwrap(),
        ["Read", "Grep"]
    );
    let list = tools("tools:\n  - Read\n  - mcp__jira__get\n").0;
    assert_eq!(names(&list.tools).unwrap(), ["Read", "mcp__jira__get"]);
    assert_eq!(tools("tools: '*'\n").0.tools, Selection::all());
    let (empty, found) = tools("tools: []\n");
    assert_eq!(empty.tools, Selection::none());
    assert_eq!(
        found,
        ["agent-value at 4: `tools` is empty: the agent has no tools"]
    );
    let without = tools("disallowedTools: Bash\n").0;
    assert!(without.tools.contains("Read") && !without.tools.contains("Bash"));
    let (wrong, found) = tools("tools: {a: 1}\n");
    assert_eq!(wrong.tools, Selection::none());
    assert_eq!(
        found[0],
        "agent-value at 4: `tools` is a map, not a list of names"
    );
    assert_eq!(tools("tools:\n").0.tools, Selection::none());
    let all = tools("tools: Agent, Read\ndisallowedTools: Agent(x)\n").0;
    assert!(all.calls.contains("y") && !all.calls.contains("x"));
    assert!(tools("permissionMode: plan\n").0.is_read_only);
}

#[test]
fn unknown_key_has_the_nearest_one_as_fix() {
    let text = "---\nname: a\ndescription: b\ndisalowedTools: Bash\n---\nx\n";
    let file = read_at(".claude/agents/a.md", text);
    assert_eq!(
        findings(&file),
        ["agent-key at 4: unknown key `disalowedTools`"]
    );
    let finding = &file.reports[0].diagnostics[0];
    assert_eq!(finding.severity, Severity::Warning);
    let fix = finding.fix.as_ref().unwrap();
    assert_eq!(fix.applicability, Applicability::Suggested);
    assert_eq!(&*fix.edits[0].replacement, "disallowedTools");
}

/// Eleven files of the vendor have a description with unquoted colons.
#[test]
fn broken_frontmatter_is_repaired_with_a_fix() {
    let text = "---\nname: a\ndescription: Use it when: the user asks. Context: user: hi\nmodel: opus\n---\nx\n";
    let file = read_at(".claude/agents/a.md", text);
    let agent = only(&file);
    assert!(
        agent.description.ends_with("user: hi"),
        "{}",
        agent.description
    );
    assert_eq!(agent.model, ModelChoice::Alias(ModelAlias::Opus));
    let finding = &file.reports[0].diagnostics[0];
    assert!(finding.fix.is_some(), "{finding:?}");
}

#[test]
fn file_without_frontmatter_has_the_name_of_the_file() {
    let file = read_at(".claude/agents/helper.md", "Help.\n");
    let agent = only(&file);
    assert_eq!((agent.name.as_str(), &*agent.prompt), ("helper", "Help."));
    assert_eq!(findings(&file).len(), 2, "{:?}", findings(&file));
}

#[test]
fn name_with_separators_is_replaced_by_that_of_the_file() {
    let text = "---\nname: \"Expert: Vue/React\"\ndescription: d\n---\nx\n";
    let file = read_at(".github/agents/vue.agent.md", text);
    assert_eq!(only(&file).name.as_str(), "vue");
    assert_eq!(
        findings(&file),
        ["agent-name at 2: the name contains `:` or `/`: the name of the file is used"]
    );
}

#[test]
fn copilot_and_gemini_agents_are_read() {
    let text = "---\nname: Planner\ndescription: Plans.\nmodel: GPT-4.1\ntools: ['search', 'github/*']\nargument-hint: what\n---\nPlan.\n";
    let file = read_at(".github/agents/planner.agent.md", text);
    let agent = only(&file);
    assert_eq!(agent.model.spec(), "GPT-4.1");
    assert_eq!(names(&agent.tools).unwrap(), ["search", "github/*"]);
    assert_eq!(findings(&file), Vec::<String>::new());

    let text = "---\nname: g\ndescription: G.\ntools: [read_file]\nmax_turns: 4\ntimeout_mins: 2\n---\nG.\n";
    let file = read_at(".gemini/agents/g.md", text);
    let limits = only(&file).limits;
    assert_eq!((limits.turns, limits.seconds), (Some(4), Some(120)));
}

#[test]
fn opencode_switches_tools_with_a_map() {
    let text = "---\nmode: primary\nmodel: opencode/gpt-5\ntools:\n  \"*\": false\n  \"github-triage\": true\n---\nTriage.\n";
    let file = read_at(".opencode/agent/triage.md", text);
    let agent = only(&file);
    assert_eq!(agent.name.as_str(), "triage");
    assert_eq!(names(&agent.tools).unwrap(), ["github-triage"]);
    assert_eq!(agent.model.spec(), "opencode/gpt-5");
    assert_eq!(findings(&file), Vec::<String>::new());
    let text = "---\ntools:\n  bash: False\n  write: no\npermission:\n  edit: deny\n  read: allow\n  bash:\n    \"git *\": allow\n---\n";
    let file = read_at(".opencode/agent/a.md", text);
    let without = ["bash".into(), "write".into(), "edit".into()];
    assert_eq!(only(&file).tools.without, without);
    assert_eq!(
        findings(&file),
        ["agent-value at 4: `write` has an unknown value"]
    );
    let text = "---\npermission:\n  \"*\": deny\n  read: allow\n---\n";
    let file = read_at(".opencode/agent/a.md", text);
    assert_eq!(names(&only(&file).tools).unwrap(), ["read"]);
}

#[test]
fn codex_role_is_read() {
    let text = "model = \"gpt-5\"\nmodel_reasoning_effort = \"high\"\nsandbox_mode = \"read-only\"\ndeveloper_instructions = \"\"\"\nReview.\n\"\"\"\n";
    let file = read_at(".codex/agents/reviewer.toml", text);
    let agent = only(&file);
    assert_eq!(
        (agent.name.as_str(), &*agent.prompt),
        ("reviewer", "Review.")
    );
    assert!(agent.is_read_only);
    assert_eq!(findings(&file), Vec::<String>::new());
    let file = read_at(
        ".codex/agents/a.toml",
        "sandbox_mode = \"readonly\"\nmodell = 1\n",
    );
    assert!(only(&file).is_read_only);
    assert_eq!(
        findings(&file),
        [
            "agent-value at 1: unknown value of `sandbox_mode`",
            "agent-key at 2: unknown key `modell`"
        ]
    );
    let file = read_at(
        ".codex/agents/a.toml",
        "sandbox_mode = [\"workspace-write\"]\n",
    );
    assert!(only(&file).is_read_only);
    let file = read_at(".codex/agents/a.toml", "x = [\n");
    assert!(file.agents.is_empty());
    assert!(
        findings(&file)[0].starts_with("agent-syntax at "),
        "{:?}",
        findings(&file)
    );
}

const TEAM: &str = r#"{
  "name": "build-team",
  "members": [
    {"type": "orchestrator", "provider": "anthropic", "model_id": "m", "system_prompt": "prompts/lead.md", "tools": ["read"]},
    {"type": "builder", "name": "Builder", "description": "Builds.", "provider": "openai", "model_id": "n",
     "system_prompt": "Build it.", "tools": ["read", "bsh", "list_skills"], "skills": ["rust"], "compactor": "X"}
  ]
}"#;

#[test]
fn planck_team_is_read() {
    let path = ".planck/teams/dev/TEAM.json";
    let file = read_with(
        path,
        TEAM,
        &files([(".planck/teams/dev/prompts/lead.md", "Lead.\n")]),
    );
    assert_eq!(
        findings(&file),
        [
            "agent-tool at 6: unknown tool `bsh`",
            "agent-unsupported at 6: `compactor` has no effect here"
        ]
    );
    let [lead, builder] = file.agents.as_slice() else {
        panic!("{:?}", file.agents);
    };
    assert_eq!(lead.name.as_str(), "orchestrator");
    assert_eq!(&*lead.prompt, "Lead.");
    let prompt = PromptSource::File(".planck/teams/dev/prompts/lead.md".into());
    assert_eq!(lead.prompt_source, prompt);
    assert_eq!(names(&lead.calls).unwrap(), ["Builder"]);
    assert_eq!(builder.calls, Selection::none());
    assert_eq!(names(&builder.skills).unwrap(), ["rust"]);
    assert_eq!(builder.model.spec(), "openai/n");
    let team = file.team.unwrap();
    assert_eq!(
        (team.name.as_str(), team.kind),
        ("dev", TeamKind::Orchestrated)
    );
    // A team is addressed by its folder; its `name` is a title.
    assert_eq!(team.description.as_deref(), Some("build-team"));
    assert_eq!(team.entry.unwrap().as_str(), "orchestrator");
}

#[test]
fn bad_member_of_a_team_is_skipped() {
    let member = |rest: &str| {
        format!("{{\"type\": \"worker\", \"provider\": \"p\", \"model_id\": \"m\"{rest}}}")
    };
    let lead = member("").replace("worker", "orchestrator");
    let team = |members: &[&str]| {
        let text = format!("{{\"members\": [\n{}\n]}}", members.join(",\n"));
        let file = read_at(".planck/teams/dev/TEAM.json", &text);
        let found = findings(&file);
        (file, found)
    };
    let (file, found) = team(&[
        &lead,
        "3",
        &member(", \"name\": \"a\\u001b[2J\""),
        &member(""),
    ]);
    assert_eq!(file.agents.len(), 2);
    assert_eq!(file.team.unwrap().name.as_str(), "dev");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[1].contains("control or invisible"), "{found:?}");
    assert!(!found[1].contains('\u{1b}'), "{found:?}");

    let (file, found) = team(&[&member("")]);
    assert!(file.team.is_none() && file.agents.is_empty());
    assert_eq!(
        found,
        ["agent-team at 1: no member has the type `orchestrator`"]
    );
    let other = lead.replace("\"type\"", "\"name\": \"two\", \"type\"");
    let (file, found) = team(&[&lead, &other]);
    assert!(file.team.is_none());
    assert_eq!(
        found,
        ["agent-team at 3: two members have the type `orchestrator`"]
    );
    let (file, found) = team(&[&lead, &member(""), &member("")]);
    assert_eq!(file.agents.len(), 2);
    assert_eq!(
        found,
        ["agent-name at 4: two members have the name `worker`"]
    );
    let solo = lead.replace("orchestrator", "solo");
    let (file, found) = team(&[&solo]);
    assert_eq!(
        (file.agents[0].calls.clone(), found.len()),
        (Selection::none(), 0)
    );
}

#[test]
fn prompt_path_stays_in_the_project() {
    for (path, why) in [
        ("../../../../etc/passwd.md", "is outside the project"),
        ("/etc/passwd.md", "is absolute"),
        ("~/x.md", "is absolute"),
        ("no/such.md", "does not exist"),
    ] {
        let text = format!(
            "{{\"members\": [{{\"type\": \"orchestrator\", \"provider\": \"p\", \"model_id\": \"m\", \"system_prompt\": \"{path}\"}}]}}"
        );
        let file = read_at(".planck/teams/dev/TEAM.json", &text);
        let found = findings(&file);
        assert!(
            found.len() == 1 && found[0].contains(why),
            "{path}: {found:?}"
        );
        let unread = PromptSource::Unread(path.into());
        assert_eq!(file.agents[0].prompt_source, unread);
    }
}

const CREW: &str = "version: \"1.0\"
id: bluesky
commands:
  - {name: french, filePath: ./commands/french.command.md}
entryPointAgent: lead
agents:
  lead:
    instructionsPath: ./lead.md
  researcher:
    instructionsPath: ./none.md
    mcp_servers:
      - filePath: ../mcp/time.json
    skills:
      - {name: hackernews, folderPath: ../skills/hackernews}
      - {name: other, folderPath: ../skills/hackernews}
script_runtime:
  kind: container
";

#[test]
fn crew_is_read() {
    let files = files([
        (
            "crew/lead.md",
            "---\nname: lead\ndescription: Leads.\nmodel: openai/m\n---\nLead.\n",
        ),
        (
            "crew/commands/french.command.md",
            "---\ndescription: x\n---\nFrench $ARGUMENTS\n",
        ),
        (
            "mcp/time.json",
            "{\"type\": \"stdio\", \"name\": \"time\", \"command\": \"t\"}",
        ),
        (
            "skills/hackernews/SKILL.md",
            "---\nname: hackernews\ndescription: d\n---\n",
        ),
    ]);
    let file = read_with("crew/b.skilled_crew.yaml", CREW, &files);
    assert_eq!(
        findings(&file),
        [
            "agent-path at 10: `crew/none.md` does not exist",
            "agent-name at 15: the name is `other`, but `SKILL.md` has `hackernews`",
            "agent-unsupported at 16: `script_runtime` has no effect here",
        ]
    );
    let [lead, researcher] = file.agents.as_slice() else {
        panic!("{:?}", file.agents);
    };
    assert_eq!((&*lead.prompt, &*lead.description), ("Lead.", "Leads."));
    assert_eq!(names(&lead.calls).unwrap(), ["researcher"]);
    assert_eq!(lead.skills, Selection::none());
    assert_eq!((&*researcher.prompt, &*researcher.description), ("", ""));
    let folder = ("hackernews".into(), "skills/hackernews".into());
    assert_eq!(researcher.skill_folders, [folder]);
    assert_eq!(names(&researcher.servers).unwrap(), ["time"]);
    let team = file.team.unwrap();
    assert_eq!((team.name.as_str(), team.kind), ("bluesky", TeamKind::Crew));
    assert_eq!(team.commands[0].name.as_ref(), "french");
}

#[test]
fn crew_without_an_entry_agent_is_reported() {
    let file = read_at(
        "a.skilled_crew.yaml",
        "entryPointAgent: leed\nagents:\n  lead:\n",
    );
    assert_eq!(
        findings(&file),
        ["agent-team at 1: `entryPointAgent` names no agent"]
    );
    assert!(file.team.is_none());
    let help = file.reports[0].diagnostics[0].help.as_deref();
    assert_eq!(help, Some("did you mean `lead`?"));
    let file = read_at("a.skilled_crew.yaml", "agents: {}\n");
    assert_eq!(findings(&file), ["agent-team at 1: the crew has no agents"]);
}

const CONFIG: &str = "// comment
{
  \"version\": 1,
  \"subagents\": [
    {\"name\": \"cluster\", \"description\": \"Looks.\", \"instructions\": \"@include upstream/SOUL.md\",
     \"model\": {\"provider\": \"vertex\", \"name\": \"g\"}, \"max_depth\": 2,
     \"tools\": [\"read_file\"], \"mcp\": [], \"budgets\": {\"max_turns\": 5, \"max_cost_usd\": 0.25, \"max_wallclock_seconds\": 60}},
    {\"name\": \"own\", \"root\": \"../cluster\", \"skills\": []},
    {\"name\": \"cluster\"},
    {\"name\": \"out\", \"root\": \"../../x\"},
  ],
}
";

#[test]
fn core_agent_subagents_are_read() {
    let files = files([
        ("upstream/SOUL.md", "Soul.\n"),
        ("cluster/AGENTS.md", "Own.\n"),
    ]);
    let file = read_with(".agents/config.json", CONFIG, &files);
    assert_eq!(
        findings(&file),
        [
            "agent-name at 9: two agents have the name `cluster`",
            "agent-path at 10: the path `../../x` is outside the project",
        ]
    );
    let [cluster, own] = file.agents.as_slice() else {
        panic!("{:?}", file.agents);
    };
    assert_eq!(&*cluster.prompt, "Soul.");
    assert_eq!(
        cluster.prompt_source,
        PromptSource::File("upstream/SOUL.md".into())
    );
    assert_eq!(names(&cluster.tools).unwrap(), ["read_file"]);
    assert_eq!(
        (cluster.servers.clone(), cluster.skills.clone()),
        (Selection::none(), Selection::all())
    );
    let limits = cluster.limits;
    assert_eq!(
        (limits.turns, limits.micros, limits.seconds, limits.depth),
        (Some(5), Some(250_000), Some(60), Some(2))
    );
    assert_eq!(
        (&*own.prompt, own.root.as_deref()),
        ("Own.", Some("cluster"))
    );
    assert_eq!(own.skills, Selection::none());
    assert_eq!(file.team.unwrap().kind, TeamKind::Roster);
}

/// A value that is not understood never gives an agent more than the file says.
#[test]
fn wrong_values_select_nothing() {
    for key in ["tools", "mcp", "skills"] {
        let text = format!("{{\"subagents\": [{{\"name\": \"a\", \"{key}\": {{}}}}]}}");
        let file = read_at(".agents/config.json", &text);
        let agent = only(&file);
        let none = [&agent.tools, &agent.servers, &agent.skills]
            .into_iter()
            .filter(|selection| **selection == Selection::none());
        assert_eq!((none.count(), findings(&file).len()), (1, 1), "{key}");
    }
    let text = "{\"subagents\": [{\"name\": \"a\", \"root\": []}]}";
    assert!(read_at(".agents/config.json", text).agents.is_empty());
}

#[test]
fn included_instructions_are_read() {
    let text = "{\"subagents\": [{\"name\": \"own\", \"root\": \"../cluster\"},\n{\"name\": \"b\", \"instructions\": \"Begin.\\n@include SOUL.md\\nEnd.\"},\n{\"name\": \"c\", \"instructions\": \"@include loop.md\"}]}";
    let files = files([
        ("cluster/AGENTS.md", "@include SOUL.md\nMore.\n"),
        ("cluster/SOUL.md", "Inner soul.\n"),
        ("SOUL.md", "Soul.\n"),
        ("loop.md", "@include loop.md\n"),
    ]);
    let file = read_with(".agents/config.json", text, &files);
    let prompts: Vec<&str> = file.agents.iter().map(|agent| &*agent.prompt).collect();
    assert_eq!(prompts, ["Inner soul.\nMore.", "Begin.\nSoul.\nEnd.", ""]);
    assert_eq!(
        findings(&file),
        ["agent-path at 3: files include each other too deeply"]
    );
    // A missing file is named where it belongs.
    let text = "{\"subagents\": [{\"name\": \"own\", \"root\": \"../cluster\"}]}";
    let files = self::files([("cluster/AGENTS.md", "@include SOUL.md\nMore.\n")]);
    let file = read_with(".agents/config.json", text, &files);
    assert_eq!(
        findings(&file),
        ["agent-path at 1: `cluster/SOUL.md` does not exist"]
    );
}

#[test]
fn number_of_agents_and_bytes_is_bounded() {
    let member = |name: &str| {
        format!(
            "{{\"type\": \"{name}\", \"provider\": \"p\", \"model_id\": \"m\", \"system_prompt\": \"big.md\"}}"
        )
    };
    let mut members = vec![member("orchestrator")];
    members.extend((0..300).map(|number| member(&format!("w{number}"))));
    let text = format!("{{\"members\": [{}]}}", members.join(",\n"));
    let big: &'static str = Box::leak("x".repeat(1_000_000).into_boxed_str());
    let file = read_with(
        ".planck/teams/dev/TEAM.json",
        &text,
        &files([(".planck/teams/dev/big.md", big)]),
    );
    assert_eq!(file.agents.len(), 256);
    let bytes: usize = file.agents.iter().map(|agent| agent.prompt.len()).sum();
    assert!(bytes <= 8 * 1024 * 1024, "{bytes}");
    let found = findings(&file);
    assert!(
        found
            .iter()
            .any(|one| one.contains("only the first 256 agents")),
        "{found:?}"
    );
}

#[test]
fn hostile_files_are_refused_with_a_finding() {
    let bomb = "a: &a [x, x]\nb: &b [*a, *a]\nagents: {x: *b}\n";
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let large = " ".repeat(crate::MAX_FILE + 1);
    for (path, text) in [
        ("a.skilled_crew.yaml", bomb),
        (".planck/teams/a/TEAM.json", &deep),
        (".agents/config.json", &deep),
        (".planck/teams/a/TEAM.json", &large),
        (".claude/agents/a.md", &large),
        (".codex/agents/a.toml", "\u{feff}\0"),
    ] {
        let file = read_at(path, text);
        let found = findings(&file);
        assert!(file.agents.is_empty() && file.team.is_none(), "{path}");
        assert!(
            !found.is_empty() && found.len() <= 100,
            "{path}: {}",
            found.len()
        );
    }
    let file = read(
        Dialect::Planck,
        "TEAM.json",
        b"{\"a\": \xff}",
        &Files::default(),
    );
    assert_eq!(
        findings(&file),
        ["agent-syntax at 1: the file is not UTF-8"]
    );
}

/// An example of a rule page.
struct PageExample {
    is_bad: bool,
    file: String,
    /// All skills, if the example says which there are.
    skills: Option<String>,
    text: String,
}

/// Returns the examples of a page: fenced blocks with `bad` or `good`, `file=PATH` and perhaps
/// `skills=NAME`.
fn page_examples(page: &str) -> Vec<PageExample> {
    let mut lines = page.lines();
    let mut examples = Vec::new();
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else {
            continue;
        };
        let text = lines.by_ref().take_while(|line| *line != "```");
        let text = text.map(|line| format!("{line}\n")).collect();
        let mut words = info.split(' ').skip(1);
        let is_bad = match words.next().unwrap() {
            "bad" => true,
            "good" => false,
            other => panic!("{other}"),
        };
        let file = words.find_map(|word| word.strip_prefix("file="));
        let skills = words.find_map(|word| word.strip_prefix("skills="));
        examples.push(PageExample {
            skills: skills.map(str::to_owned),
            is_bad,
            file: file.unwrap().to_owned(),
            text,
        });
    }
    examples
}

#[test]
fn agent_rules_are_those_of_the_pages() {
    let pages = prowess_lint::rules::RULES.iter();
    let pages: Vec<_> = pages.filter(|rule| rule.id.starts_with("agent-")).collect();
    assert!(pages.iter().all(|rule| rule.on_agents));
    let listed: Vec<_> = pages
        .iter()
        .map(|rule| (rule.id, rule.levels.claude_code.unwrap()))
        .collect();
    let known = crate::file_reader::AGENT_RULES.map(|rule| (rule.id, rule.severity));
    assert_eq!(listed, known);
}

#[test]
fn examples_of_agent_rule_pages_hold() {
    for rule in prowess_lint::rules::RULES
        .iter()
        .filter(|rule| rule.id.starts_with("agent-"))
    {
        let examples = page_examples(rule.page);
        assert!(examples.iter().any(|example| example.is_bad), "{}", rule.id);
        assert!(
            examples.iter().any(|example| !example.is_bad),
            "{}",
            rule.id
        );
        for example in examples {
            let dialect = Dialect::of(&example.file).unwrap();
            let file = read(
                dialect,
                &example.file,
                example.text.as_bytes(),
                &Files::default(),
            );
            let reports = file.reports.iter();
            let mut found: Vec<&str> = reports
                .flat_map(|report| &report.diagnostics)
                .map(|finding| finding.rule)
                .collect();
            if let Some(skill) = &example.skills {
                let names = file.agents.iter().flat_map(|agent| &agent.skill_names);
                let unknown = names.filter(|(name, _)| **name != **skill);
                let unknown =
                    unknown.map(|(name, span)| crate::unknown_skill(name, *span, Some(skill)).rule);
                found.extend(unknown);
            }
            if example.is_bad {
                assert!(found.contains(&rule.id), "{}: {found:?}", rule.id);
            } else {
                assert!(found.is_empty(), "{}: {found:?}\n{}", rule.id, example.text);
            }
        }
    }
}

#[test]
fn members_of_a_rejected_team_are_no_agents() {
    let member = |rest: &str| format!("{{\"provider\": \"p\", \"model_id\": \"m\", {rest}}}");
    let path = ".planck/teams/dev/TEAM.json";
    for (members, message) in [
        (
            [member("\"type\": \"solo\""), member("\"type\": \"b\"")],
            "agent-team at 1: a member of the type `solo` is alone, but the team has others",
        ),
        (
            [
                member("\"type\": \"orchestrator\"").replace("\"model_id\": \"m\", ", ""),
                member("\"type\": \"b\""),
            ],
            "agent-team at 1: no member has the type `orchestrator`",
        ),
    ] {
        let file = read_at(path, &format!("{{\"members\": [{}]}}", members.join(", ")));
        let found = findings(&file);
        assert!(found.iter().any(|one| one == message), "{found:?}");
        assert!(file.agents.is_empty() && file.team.is_none(), "{found:?}");
    }
}

#[test]
fn prompt_of_planck_is_in_the_folder_of_the_team() {
    let text = TEAM.replace("prompts/lead.md", "../lead.md");
    let other = files([(".planck/teams/lead.md", "CANARY")]);
    let file = read_with(".planck/teams/dev/TEAM.json", &text, &other);
    assert_eq!(
        findings(&file)[0],
        "agent-path at 4: the path `../lead.md` is outside the folder of the team"
    );
    assert_eq!(&*file.agents[0].prompt, "");
    assert!(!file.sources.contains_key(".planck/teams/lead.md"));
}

#[test]
fn doubled_and_incomplete_parts_of_a_crew_are_findings() {
    let text = "agents:\n  a:\n    instructionsPath: ./A.md\n    instructionsPath: ./B.md\n    mcp_servers: [{}]\n    skills:\n      - {name: s, folderPath: ./s}\n      - {name: s, folderPath: ./s}\n  worker:\n    codeWorkerPath: ./w.ts\n";
    let skill = "---\nname: s\ndescription: d\n---\nx\n";
    let file = read_with(
        "news.skilled_crew.yaml",
        text,
        &files([("A.md", "A"), ("s/SKILL.md", skill)]),
    );
    assert_eq!(
        findings(&file),
        [
            "agent-key at 4: `instructionsPath` occurs twice; the first one counts",
            "agent-value at 5: a server needs `filePath`",
            "agent-name at 8: two skills have the name `s`",
            "agent-unsupported at 10: `codeWorkerPath` has no effect here",
        ]
    );
    let names: Vec<&str> = file
        .agents
        .iter()
        .map(|agent| agent.name.as_str())
        .collect();
    assert_eq!(names, ["a"]);
}

#[test]
fn disabled_and_remote_agents_are_left_out() {
    let agent = |more: &str| format!("---\nname: a\ndescription: d\n{more}\n---\nx\n");
    let file = read_at(".opencode/agent/a.md", &agent("disable: true"));
    assert!(file.agents.is_empty());
    let file = read_at(".opencode/agent/a.md", &agent("disable: false"));
    assert_eq!(file.agents.len(), 1);
    let file = read_at(".gemini/agents/a.md", &agent("kind: remote"));
    assert!(file.agents.is_empty());
    assert!(findings(&file)[0].contains("only agents of the kind `local`"));
    let denied = "permission:\n  bash:\n    \"*\": deny\n    git status: allow";
    let file = read_at(".opencode/agent/a.md", &agent(denied));
    assert!(!only(&file).tools.contains("bash"));
}

#[test]
fn sources_are_the_files_that_agents_depend_on() {
    let crew = "agents:\n  a:\n    instructionsPath: ./A.md\n    mcp_servers: [{filePath: ./m.json}]\n    skills:\n      - {name: s, folderPath: ./s}\n";
    let skill = "---\nname: s\ndescription: d\n---\nx\n";
    let file = read_with(
        "news.skilled_crew.yaml",
        crew,
        &files([
            ("A.md", "A"),
            ("s/SKILL.md", skill),
            (
                "m.json",
                "{\"name\": \"m\", \"command\": \"x\", \"args\": [\"y\"]}",
            ),
        ]),
    );
    let names: Vec<&str> = file.sources.keys().map(|name| &**name).collect();
    assert_eq!(names, ["A.md", "m.json", "news.skilled_crew.yaml"]);
    let server = &only(&file).server_files[0];
    assert!(server.text.contains("\"command\": \"x\""));
    assert_eq!(format!("{server:?}"), "ServerFile(m.json)");
}

//! Tests of `bash` with real processes in the real sandbox.
//!
//! This program has its own `main` because it is also the sandbox helper.

#![expect(clippy::unwrap_used, reason = "all of this is tests")]

use std::ops::Deref;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use prowess_catalog::Precedence;
use prowess_policy::profile::Strength;
use prowess_policy::{Effect, PermissionMode, PermissionRules, RuleSource};
use prowess_registry::{FileOptions, Place, Registry};
use prowess_sandbox::{Helper, Runner};
use prowess_test::ManualClock;
use prowess_tools::files::file_tools;
use prowess_tools::{
    Loaded, Settings, ToolAnswer, ToolContext, ToolError, ToolErrorKind, ToolPaths, ToolSelection,
    Toolset,
};
use prowess_trust::TrustStore;
use serde_json::{Value, json};

prowess_test::tests! {
    commands_run_in_the_project
    gate_decides_about_commands
    timeout_can_be_set
    large_output_keeps_beginning_and_end
    files_outside_the_project_are_protected
    scripts_of_a_loaded_skill_run_and_are_read_only
    allowed_tools_of_a_skill_need_no_approval
}

/// The sandbox helper: this program.
static HELPER: OnceLock<Helper> = OnceLock::new();

fn main() -> ExitCode {
    HELPER.get_or_init(prowess_sandbox::maybe_run_helper);
    prowess_test::harness::run(tests())
}

/// A project, and a skill of the user with a script.
struct World(prowess_test::World);

impl Deref for World {
    type Target = prowess_test::World;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl World {
    fn new() -> Self {
        let world = prowess_test::World::shared();
        world
            .file("~/.ssh/id", "secret")
            .file(
                "~/.agents/skills/work/SKILL.md",
                "---\nname: work\ndescription: Works.\nallowed-tools: Read Bash(echo *)\n---\nDo it.\n",
            )
            .script("~/.agents/skills/work/run.sh", "echo from the skill");
        Self(world)
    }

    fn context(&self, mode: PermissionMode, rules: &[(Effect, &str)]) -> ToolContext {
        let (home, current) = (self.path("~"), self.path(""));
        let place = Place {
            current,
            home: Some(home.clone()),
            ..Place::default()
        };
        let registry = Registry::open(place, FileOptions::default(), Precedence::default());
        let mut context = ToolContext::new(Arc::new(registry), Arc::new(ManualClock::at(1)));
        context.services.trust = Some(TrustStore::new(self.path("../trust")));
        context.services.runner = Some(Arc::new(Runner::new(HELPER.get().unwrap().clone())));
        let workspace = self.path("");
        {
            let mut gate = context.gate();
            let mut set = PermissionRules::default();
            for (effect, rule) in rules {
                set.add(*effect, rule, RuleSource::Flag);
            }
            gate.rules = set;
            gate.mode = mode;
            gate.places.root = workspace.to_str().unwrap().into();
            gate.places.home = home.to_str().unwrap().into();
        }
        context.settings.paths = ToolPaths {
            workspace,
            home,
            ..ToolPaths::default()
        };
        context.settings = Settings {
            paths: context.settings.paths.clone(),
            strength: Strength::BestEffort,
            edits: true,
            ..Settings::default()
        };
        context
    }
}

/// Calls a tool of a complete toolset: tools about skills and file tools.
fn call(
    context: &ToolContext,
    loaded: &mut Loaded,
    tool: &str,
    input: &Value,
) -> Result<ToolAnswer, ToolError> {
    let mut tools = Toolset::new(&ToolSelection::default()).unwrap();
    for tool in file_tools(None) {
        tools.add(tool);
    }
    tools.call(context, loaded, tool, input)
}

fn bash(context: &ToolContext, command: &str) -> Result<ToolAnswer, ToolError> {
    call(
        context,
        &mut Loaded::default(),
        "bash",
        &json!({ "command": command }),
    )
}

fn commands_run_in_the_project() {
    let world = World::new();
    let context = world.context(PermissionMode::Yolo, &[]);
    let answer = bash(&context, "pwd; echo err >&2; exit 3").unwrap();
    let expected = format!(
        "Exit code 3.\n<stdout>\n{}\n</stdout>\n<stderr>\nerr\n</stderr>",
        world.text("")
    );
    assert_eq!(answer.text, expected);
    assert_eq!(answer.value["exitCode"], 3);
    bash(&context, "echo new > made.txt").unwrap();
    assert_eq!(world.read("made.txt"), "new\n");
    assert_eq!(
        bash(&context, "true").unwrap().text,
        "Exit code 0. No output."
    );
    let read = json!({ "path": "made.txt" });
    let answer = call(&context, &mut Loaded::default(), "read", &read).unwrap();
    assert_eq!(answer.text, "1\tnew\n");
}

fn gate_decides_about_commands() {
    let world = World::new();
    let rules = [
        (Effect::Allow, "Bash(echo *)"),
        (Effect::Deny, "Bash(rm *)"),
    ];
    let context = world.context(PermissionMode::Ask, &rules);
    assert!(bash(&context, "echo fine").is_ok());
    for command in ["rm x", "echo a; rm x", "ls", "echo $(id)"] {
        let error = bash(&context, command).unwrap_err();
        assert_eq!(
            error.why(),
            Some(ToolErrorKind::Denied),
            "{command}: {error}"
        );
    }
    let plan = world.context(PermissionMode::Plan, &rules);
    assert!(
        bash(&plan, "echo fine")
            .unwrap_err()
            .to_string()
            .contains("plan mode")
    );
    let mut none = world.context(PermissionMode::Yolo, &[]);
    none.services.runner = None;
    assert!(
        bash(&none, "true")
            .unwrap_err()
            .to_string()
            .contains("not supported")
    );
}

fn timeout_can_be_set() {
    let world = World::new();
    let context = world.context(PermissionMode::Yolo, &[]);
    let input = json!({ "command": "echo begun; sleep 600", "timeout_ms": 500 });
    let answer = call(&context, &mut Loaded::default(), "bash", &input).unwrap();
    assert_eq!(answer.value["timedOut"], true);
    assert!(answer.text.starts_with("Timed out after ") && answer.text.contains("begun"));
}

fn large_output_keeps_beginning_and_end() {
    let world = World::new();
    let context = world.context(PermissionMode::Yolo, &[]);
    let answer = bash(
        &context,
        "echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; seq 1 100000 >&2; echo last",
    )
    .unwrap();
    assert!(answer.text.len() < prowess_tools::MAX_BYTES && answer.value["truncated"] == true);
    let (stdout, stderr) = (
        answer.value["stdout"].as_str(),
        answer.value["stderr"].as_str(),
    );
    assert!(stdout.unwrap().starts_with("first\n") && stdout.unwrap().ends_with("last"));
    assert!(stderr.unwrap().starts_with("1\n2\n") && stderr.unwrap().ends_with("\n100000"));
    assert!(
        !answer.text.contains("[truncated: "),
        "the tool limits its own output"
    );
}

fn files_outside_the_project_are_protected() {
    let world = World::new();
    let context = world.context(PermissionMode::Yolo, &[]);
    let answer = bash(
        &context,
        concat!(
            "cat ../home",
            "/.ssh/id; echo x > ../pwned; echo x > .envrc"
        ),
    )
    .unwrap();
    assert!(!answer.text.contains("secret"), "{}", answer.text);
    assert!(!world.exists("../pwned"));
    assert!(!world.exists(".envrc"));
}

fn scripts_of_a_loaded_skill_run_and_are_read_only() {
    let world = World::new();
    let context = world.context(PermissionMode::Yolo, &[]);
    let script = world.path("~/.agents/skills/work/run.sh");
    let input = json!({ "command": format!("{0}; echo x >> {0}", script.display()) });
    let mut loaded = Loaded::default();
    call(
        &context,
        &mut loaded,
        "load_skill",
        &json!({ "name": "work" }),
    )
    .unwrap();
    let answer = call(&context, &mut loaded, "bash", &input).unwrap();
    assert!(answer.text.contains("from the skill"), "{}", answer.text);
    assert!(!std::fs::read_to_string(&script).unwrap().ends_with("x\n"));
    // Files of a loaded skill can be read without approval, and cannot be written.
    let ask = world.context(PermissionMode::Ask, &[]);
    let read = json!({ "path": script });
    assert!(call(&ask, &mut Loaded::default(), "read", &read).is_err());
    assert!(call(&ask, &mut loaded, "read", &read).is_ok());
    let write = json!({ "path": script, "content": "x" });
    assert!(call(&context, &mut loaded, "write", &write).is_err());
}

/// `allowed-tools: Read Bash(echo *)` refers to the tools `read` and `bash`.
fn allowed_tools_of_a_skill_need_no_approval() {
    let world = World::new();
    world.file("../outside", "x");
    let context = world.context(PermissionMode::Ask, &[]);
    let mut loaded = Loaded::default();
    let (echo, read) = (
        json!({ "command": "echo hi" }),
        json!({ "path": world.path("") }),
    );
    assert!(call(&context, &mut loaded, "bash", &echo).is_err());
    call(
        &context,
        &mut loaded,
        "load_skill",
        &json!({ "name": "work" }),
    )
    .unwrap();
    assert!(call(&context, &mut loaded, "bash", &echo).is_ok());
    assert!(call(&context, &mut loaded, "read", &read).is_ok());
    let other = json!({ "command": "ls" });
    assert!(call(&context, &mut loaded, "bash", &other).is_err());
}

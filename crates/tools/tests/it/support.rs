//! A temporary world of folders, and tool contexts in it.

use std::ops::Deref;
use std::process::{Command as Process, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use prowess_catalog::Precedence;
use prowess_policy::{
    ApprovalAnswer, Approved, Command, Effect, Gate, PermissionMode, PermissionRules, Plan,
    Profile, RuleSource,
};
use prowess_registry::{FileOptions, FileSource, Place, Registry};
use prowess_test::{ManualClock, PATIENCE};
use prowess_tools::{
    Loaded, ToolAnswer, ToolContext, ToolError, ToolPaths, ToolSelection, Toolset,
};
use prowess_traits::{
    ApprovalRequest, Approver, CommandError, CommandOutput, CommandResult, CommandRunner, SkillUse,
    UsageError, UsageFilter, UsageQuery, UsageRow, UsageStore, UsageSummary,
};
use serde_json::Value;

/// A project and a home, with tool contexts.
pub(crate) struct World(prowess_test::World);

impl Deref for World {
    type Target = prowess_test::World;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl World {
    pub(crate) fn new() -> Self {
        Self(prowess_test::World::new())
    }

    pub(crate) fn folder_of(&self, skill: &str) -> String {
        self.text(format!("~/.agents/skills/{skill}"))
    }

    pub(crate) fn context(&self) -> ToolContext {
        let registry = Registry::new(Precedence::default());
        let place = Place {
            current: self.path(""),
            home: Some(self.path("~")),
            ..Place::default()
        };
        registry.add_files(FileSource::new(place, FileOptions::default()));
        registry.refresh();
        let mut context =
            ToolContext::new(Arc::new(registry), Arc::new(ManualClock::at(1_000_000_000)));
        context.settings.paths = ToolPaths {
            workspace: self.path(""),
            home: self.path("~"),
            ..ToolPaths::default()
        };
        context.settings.closing = None;
        context
    }

    /// Creates a context that runs commands, and a runner that counts them.
    pub(crate) fn running(&self) -> (ToolContext, Arc<Really>) {
        let runner = Arc::new(Really::default());
        let mut context = self.context();
        context.services.runner = Some(Arc::clone(&runner) as _);
        (context, runner)
    }
}

/// Calls a tool by name, as sessions do.
pub(crate) fn call(
    context: &ToolContext,
    loaded: &mut Loaded,
    name: &str,
    input: &Value,
) -> Result<ToolAnswer, ToolError> {
    let tools = Toolset::new(&ToolSelection::everything()).unwrap();
    let answer = tools.call(context, loaded, name, input);
    if let Ok(answer) = &answer {
        let tool = tools.tools(context).find(|tool| {
            tool.name() == name
                || name == prowess_tools::names::LOAD_SKILL_RESOURCES
                    && tool.name() == "load_skill_resource"
        });
        let schema = tool.unwrap().output_schema();
        let errors: Vec<String> = jsonschema::validator_for(&schema)
            .unwrap()
            .iter_errors(&answer.value)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
        assert!(answer.text.len() <= prowess_tools::MAX_BYTES);
        assert!(answer.text.lines().count() <= prowess_tools::MAX_LINES);
    }
    answer
}

/// Calls a tool in a new conversation and returns the text that a model reads.
pub(crate) fn told(context: &ToolContext, name: &str, input: &Value) -> String {
    match call(context, &mut Loaded::default(), name, input) {
        Ok(answer) => answer.text,
        Err(error) => error.to_string(),
    }
}

/// Creates a gate with these rules.
pub(crate) fn gate(mode: PermissionMode, rules: &[(Effect, &str)]) -> Mutex<Gate> {
    let mut set = PermissionRules::default();
    for (effect, rule) in rules {
        set.add(*effect, rule, RuleSource::Flag);
    }
    assert!(set.unread().is_empty(), "{:?}", set.unread());
    Mutex::new(Gate {
        rules: set,
        mode,
        ..Gate::default()
    })
}

/// An approver that always gives the same answer and counts the prompts.
#[derive(Debug)]
pub(crate) struct Says(pub(crate) ApprovalAnswer, pub(crate) AtomicUsize);

impl Says {
    pub(crate) fn new(answer: ApprovalAnswer) -> Arc<Self> {
        Arc::new(Self(answer, AtomicUsize::new(0)))
    }

    pub(crate) fn asked(&self) -> usize {
        self.1.load(Ordering::Relaxed)
    }
}

impl Approver for Says {
    fn ask(&self, _question: &ApprovalRequest<'_>) -> ApprovalAnswer {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0
    }
}

/// A runner that starts processes without a sandbox and counts them.
#[derive(Debug, Default)]
pub(crate) struct Really(AtomicUsize);

impl Really {
    pub(crate) fn ran(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl CommandRunner for Really {
    fn run(
        &self,
        command: &Approved<Command>,
        profile: &Profile,
        _input: Option<&[u8]>,
    ) -> Result<CommandResult, CommandError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let words: Vec<String> = match &command.value().plan {
            Plan::Words(words) => words.iter().map(ToString::to_string).collect(),
            Plan::Script(script) | Plan::AsTyped(script) => {
                ["bash", "--norc", "--noprofile", "-c", script]
                    .map(str::to_owned)
                    .into()
            }
        };
        let failed = |error: std::io::Error| CommandError {
            message: error.to_string(),
        };
        let child = Process::new(&words[0])
            .args(&words[1..])
            .current_dir(&profile.cwd)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let id = child.id().to_string();
        let (sender, ended) = mpsc::channel();
        std::thread::spawn(move || sender.send(child.wait_with_output()));
        let deadline = Duration::from_millis(profile.limits.deadline_ms);
        let (output, stopped) = if let Ok(output) = ended.recv_timeout(deadline) {
            (output, None)
        } else {
            let kill = Process::new("kill").args(["-9", &id]).status();
            kill.map_err(failed)?;
            (ended.recv_timeout(PATIENCE).unwrap(), Some("deadline"))
        };
        let output = output.map_err(failed)?;
        let stream = |bytes: Vec<u8>| CommandOutput {
            bytes: bytes.len() as u64,
            text: String::from_utf8_lossy(&bytes).into_owned(),
            omitted: 0,
        };
        Ok(CommandResult {
            code: output.status.code(),
            signal: std::os::unix::process::ExitStatusExt::signal(&output.status),
            stopped,
            stdout: stream(output.stdout),
            stderr: stream(output.stderr),
            milliseconds: 7,
            layers: Vec::new(),
        })
    }
}

/// A usage store that records the names of used skills.
#[derive(Debug, Default)]
pub(crate) struct Counted(Mutex<Vec<String>>);

impl Counted {
    pub(crate) fn uses(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl UsageStore for Counted {
    fn record(&self, used: &SkillUse) -> Result<(), UsageError> {
        self.0.lock().unwrap().push(used.skill.to_string());
        Ok(())
    }

    fn settle(&self, _used: &SkillUse) -> Result<(), UsageError> {
        Ok(())
    }

    fn rows(&self, _query: &UsageQuery) -> Result<Vec<UsageRow>, UsageError> {
        Ok(Vec::new())
    }

    fn summary(&self, _project: Option<&str>, _limit: usize) -> Result<UsageSummary, UsageError> {
        Ok(UsageSummary {
            skills: Vec::new(),
            total: 0,
        })
    }

    fn forget(&self, _which: &UsageFilter) -> Result<u64, UsageError> {
        Ok(0)
    }
}

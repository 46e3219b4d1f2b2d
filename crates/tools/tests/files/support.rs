//! A project, a home folder, and a context for them.

use std::ops::Deref;
use std::sync::{Arc, Mutex};

use prowess_catalog::Precedence;
use prowess_policy::{ApprovalAnswer, Effect, PermissionMode, PermissionRules, RuleSource};
use prowess_registry::{FileOptions, FileSource, Place, Registry};
use prowess_test::ManualClock;
use prowess_tools::files::file_tools;
use prowess_tools::{Loaded, ToolAnswer, ToolContext, ToolError, ToolPaths};
use prowess_traits::{
    ApprovalRequest, Approver, FetchError, FetchLimits, Fetched, Fetcher, WebRequest,
};
use serde_json::Value;

/// A project that is not a repository, a home with a key, a folder of ours and one outside of all
/// these.
pub(crate) struct World(prowess_test::World);

impl Deref for World {
    type Target = prowess_test::World;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let world = prowess_test::World::new();
        std::fs::remove_dir(world.path(".git")).unwrap();
        world
            .file("~/.ssh/id", "SECRET")
            .file("../ours/state", "SECRET")
            .file("../outside/x", "SECRET");
        Self(world)
    }

    /// Adds a file.
    pub(crate) fn with(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.file(path, content);
        self
    }

    /// Adds a link with exactly this target.
    pub(crate) fn with_link(self, path: &str, target: &str) -> Self {
        self.link(path, target);
        self
    }

    /// Adds a link to a file or folder of this world.
    pub(crate) fn with_link_to(self, path: &str, target: &str) -> Self {
        self.link_to(path, target);
        self
    }

    pub(crate) fn context(&self, mode: PermissionMode, rules: &[(Effect, &str)]) -> ToolContext {
        let registry = Registry::new(Precedence::default());
        let place = Place {
            current: self.path(""),
            home: Some(self.path("~")),
            ..Place::default()
        };
        registry.add_files(FileSource::new(place, FileOptions::default()));
        registry.refresh();
        let mut context = ToolContext::new(Arc::new(registry), Arc::new(ManualClock::at(1)));
        context.settings.paths = ToolPaths {
            workspace: self.path(""),
            home: self.path("~"),
            ours: vec![self.path("../ours")],
            outputs: Some(self.path("../ours/outputs")),
            ..ToolPaths::default()
        };
        let mut set = PermissionRules::default();
        for (effect, rule) in rules {
            set.add(*effect, rule, RuleSource::Flag);
        }
        assert!(set.unread().is_empty(), "{:?}", set.unread());
        {
            let mut gate = context.gate();
            gate.rules = set;
            gate.mode = mode;
            gate.places.root = self.text("").into();
            gate.places.home = self.text("~").into();
        }
        context
    }

    /// Returns a context that allows everything that no rule denies.
    pub(crate) fn yolo(&self) -> ToolContext {
        self.context(PermissionMode::Yolo, &[])
    }
}

/// Calls a tool and validates its result against its output schema.
pub(crate) fn call(
    context: &ToolContext,
    name: &str,
    input: &Value,
) -> Result<ToolAnswer, ToolError> {
    call_with(context, None, name, input)
}

pub(crate) fn call_with(
    context: &ToolContext,
    fetcher: Option<Arc<dyn Fetcher>>,
    name: &str,
    input: &Value,
) -> Result<ToolAnswer, ToolError> {
    let tools = file_tools(fetcher);
    let tool = tools
        .iter()
        .find(|tool| tool.name() == name)
        .expect("a tool of that name");
    let answer = tool.call(context, &mut Loaded::default(), input);
    if let Ok(answer) = &answer {
        let errors: Vec<String> = jsonschema::validator_for(&tool.output_schema())
            .unwrap()
            .iter_errors(&answer.value)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
        assert!(
            !answer.text.contains("[truncated: "),
            "the tool must limit its own result: {}",
            answer.text
        );
    }
    answer
}

/// Returns the text that the model reads.
pub(crate) fn told(context: &ToolContext, name: &str, input: &Value) -> String {
    match call(context, name, input) {
        Ok(answer) => answer.text,
        Err(error) => error.to_string(),
    }
}

/// Gives the same answer to every prompt and records the questions.
#[derive(Debug)]
pub(crate) struct Says(pub(crate) ApprovalAnswer, Mutex<Vec<String>>);

impl Says {
    pub(crate) fn new(answer: ApprovalAnswer) -> Arc<Self> {
        Arc::new(Self(answer, Mutex::default()))
    }

    pub(crate) fn questions(&self) -> Vec<String> {
        self.1.lock().unwrap().clone()
    }
}

impl Approver for Says {
    fn ask(&self, question: &ApprovalRequest<'_>) -> ApprovalAnswer {
        self.1.lock().unwrap().push(question.what.to_owned());
        self.0
    }
}

/// A fake web with a few pages; records the requests.
#[derive(Debug, Default)]
pub(crate) struct Web {
    pub(crate) pages: Vec<(&'static str, Fetched)>,
    pub(crate) asked: Mutex<Vec<(String, FetchLimits)>>,
}

impl Fetcher for Web {
    fn send(&self, request: &WebRequest<'_>, limits: &FetchLimits) -> Result<Fetched, FetchError> {
        let url = request.url;
        self.asked.lock().unwrap().push((url.to_owned(), *limits));
        let page = self.pages.iter().find(|(known, _)| *known == url);
        let none = FetchError {
            message: "no such host".to_owned(),
        };
        page.map(|(_, page)| page.clone()).ok_or(none)
    }
}

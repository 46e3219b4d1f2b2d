//! A project, a home, and a context in it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use prowess_catalog::Precedence;
use prowess_policy::{Answer, Effect, Mode, RuleSet, Source};
use prowess_registry::{FileOptions, FileSource, Place, Registry};
use prowess_test::ManualClock;
use prowess_tools::files::file_tools;
use prowess_tools::{Loaded, ToolAnswer, ToolContext, ToolError, WorkspacePaths};
use prowess_traits::{Approver, FetchError, FetchLimits, Fetched, Fetcher, Question};
use serde_json::Value;

/// A folder that is gone when the test is over.
pub(crate) struct World {
    folder: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let world = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        for folder in ["repo", "house/.ssh", "ours", "outside"] {
            std::fs::create_dir_all(world.path(folder)).unwrap();
        }
        world
            .file("house/.ssh/id", "SECRET")
            .file("ours/state", "SECRET")
            .file("outside/x", "SECRET")
    }

    /// The real path of something.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    pub(crate) fn text(&self, path: &str) -> String {
        self.path(path).to_str().unwrap().to_owned()
    }

    pub(crate) fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.put(path, content);
        self
    }

    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
    }

    pub(crate) fn link(self, path: &str, target: &str) -> Self {
        let target = target
            .strip_prefix("@/")
            .map_or_else(|| target.into(), |inner| self.path(inner));
        std::os::unix::fs::symlink(target, self.path(path)).unwrap();
        self
    }

    pub(crate) fn get(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap()
    }

    /// Whether a temporary file stayed behind in a folder.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.path(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    pub(crate) fn context(&self, mode: Mode, rules: &[(Effect, &str)]) -> ToolContext {
        let registry = Registry::new(Precedence::default());
        let place = Place {
            current: self.path("repo"),
            home: Some(self.path("house")),
            ..Place::default()
        };
        registry.add_files(FileSource::new(place, FileOptions::default()));
        registry.refresh();
        let mut context = ToolContext::new(Arc::new(registry), Arc::new(ManualClock::at(1)));
        context.settings.paths = WorkspacePaths {
            workspace: self.path("repo"),
            home: self.path("house"),
            ours: vec![self.path("ours")],
            outputs: Some(self.path("ours/outputs")),
        };
        let mut set = RuleSet::default();
        for (effect, rule) in rules {
            set.add(*effect, rule, Source::Flag);
        }
        assert!(set.unread().is_empty(), "{:?}", set.unread());
        {
            let mut gate = context.gate();
            gate.rules = set;
            gate.mode = mode;
            gate.places.root = self.text("repo").into();
            gate.places.home = self.text("house").into();
        }
        context
    }

    /// A context in which everything that no rule forbids is allowed.
    pub(crate) fn yolo(&self) -> ToolContext {
        self.context(Mode::Yolo, &[])
    }
}

/// Calls a tool, and checks what it answers against its schema.
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
            !answer.text.contains("[left out: "),
            "the tool bounds itself: {}",
            answer.text
        );
    }
    answer
}

/// What a model reads.
pub(crate) fn told(context: &ToolContext, name: &str, input: &Value) -> String {
    match call(context, name, input) {
        Ok(answer) => answer.text,
        Err(error) => error.to_string(),
    }
}

/// Always gives the same answer, and keeps the questions.
#[derive(Debug)]
pub(crate) struct Says(pub(crate) Answer, Mutex<Vec<String>>);

impl Says {
    pub(crate) fn new(answer: Answer) -> Arc<Self> {
        Arc::new(Self(answer, Mutex::default()))
    }

    pub(crate) fn questions(&self) -> Vec<String> {
        self.1.lock().unwrap().clone()
    }
}

impl Approver for Says {
    fn ask(&self, question: &Question<'_>) -> Answer {
        self.1.lock().unwrap().push(question.what.to_owned());
        self.0
    }
}

/// A web of a few pages; keeps what was asked for.
#[derive(Debug, Default)]
pub(crate) struct Web {
    pub(crate) pages: Vec<(&'static str, Fetched)>,
    pub(crate) asked: Mutex<Vec<(String, FetchLimits)>>,
}

impl Fetcher for Web {
    fn fetch(&self, url: &str, limits: &FetchLimits) -> Result<Fetched, FetchError> {
        self.asked.lock().unwrap().push((url.to_owned(), *limits));
        let page = self.pages.iter().find(|(known, _)| *known == url);
        let none = FetchError {
            message: "no such host".to_owned(),
        };
        page.map(|(_, page)| page.clone()).ok_or(none)
    }
}

//! From what the command line and the configuration say to a runtime.

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;

use crate::output::{Exit, Failure};
use prowess::agent::{Budget, Effort};
use prowess::config::Config;
use prowess::policy::{
    Actor, ApprovalAnswer, Effect, Gate, GateAction, PermissionMode, RuleSource, Verdict,
};
use prowess::store::{MemorySessions, SqliteSessions, SystemClock};
use prowess::tools::Tool;
use prowess::traits::{Approver, CommandRunner, Model, Question, SessionStore, UsageStore};
use prowess::{Builder, Host, Models, Policy, Registry, Runtime, Settings, Watcher, Workshop};
use prowess_diag::sanitize;
use prowess_http::WebFetcher;
use prowess_models::{ChooseError, Chosen, RecordingModel};
use serde_json::{Map, Value};

use crate::key_command;

/// Looks a variable up.
pub(crate) type Variables = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What the program knows before a session begins.
pub(crate) struct Setup {
    /// The skills that are seen from here.
    pub registry: Registry,
    /// What the configuration says.
    pub config: Config,
    /// Which skills the agent sees.
    pub visibility: Policy,
    /// Where things are.
    pub host: Host,
    /// What runs commands.
    pub runner: Option<Arc<dyn CommandRunner>>,
    /// What remembers the use of skills.
    pub usage: Option<Arc<dyn UsageStore>>,
    /// The file that sessions are written to; nothing to keep them in memory.
    pub store: Option<PathBuf>,
    /// The file with the person's settings, whether it is there or not.
    pub settings: Option<PathBuf>,
    /// Looks a variable up.
    pub variables: Variables,
    /// Tools of MCP servers.
    pub tools: Vec<Arc<dyn Tool>>,
}

impl Debug for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup")
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

/// What is typed about the model and the limits of a run.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ModelArgs {
    /// The model that is asked.
    #[arg(
        long,
        value_name = "MODEL",
        help_heading = "Model",
        help = "The model: `provider/name`, `echo`, `scripted:FILE`, `replay:FILE` [env: PROWESS_MODEL]"
    )]
    pub model: Option<String>,
    /// How hard it thinks: low, medium, high, xhigh, max
    #[arg(long, value_name = "EFFORT", help_heading = "Model")]
    pub effort: Option<String>,
    /// Most answers of the model
    #[arg(long, value_name = "N", help_heading = "Model")]
    pub max_turns: Option<u32>,
    /// What it may use: `tokens=50000`, `usd=0.50`, `time=5m` (can be repeated)
    #[arg(
        long,
        value_name = "LIMIT",
        value_delimiter = ',',
        help_heading = "Model"
    )]
    pub budget: Vec<String>,
    /// Write every question and answer to a file, for `--model replay:FILE`
    #[arg(long, value_name = "FILE", help_heading = "Model")]
    pub record: Option<PathBuf>,
    /// What is allowed without a question, such as `Bash(make test)` (can be repeated)
    #[arg(long, value_name = "RULE", help_heading = "Permissions")]
    pub approve: Vec<String>,
    /// Let the agent change files of the project; the rules still count
    #[arg(long, help_heading = "Permissions")]
    pub edits: bool,
}

impl ModelArgs {
    /// The limits that were typed.
    pub(crate) fn limits(&self) -> Result<Budget, Failure> {
        let mut budget = Budget {
            turns: self.max_turns,
            ..Budget::default()
        };
        for text in &self.budget {
            let wrong = || {
                Failure::new(format!("`--budget {text}` means nothing"))
                    .hint("write `tokens=50000`, `usd=0.50` or `time=5m`")
            };
            let (what, value) = text.split_once('=').ok_or_else(wrong)?;
            match what {
                "tokens" => budget.tokens = Some(value.parse().map_err(|_| wrong())?),
                "usd" => budget.micros = Some(micros(value).ok_or_else(wrong)?),
                "time" => budget.milliseconds = Some(milliseconds(value).ok_or_else(wrong)?),
                _ => return Err(wrong()),
            }
        }
        Ok(budget)
    }

    /// How hard the model is to think.
    pub(crate) fn effort(&self) -> Result<Option<Effort>, Failure> {
        let Some(word) = &self.effort else {
            return Ok(None);
        };
        let effort = Effort::parse(word).ok_or_else(|| {
            Failure::new(format!("`--effort {word}` means nothing"))
                .hint("it is `low`, `medium`, `high`, `xhigh` or `max`")
        })?;
        Ok(Some(effort))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be a number of dollars that fits"
)]
fn micros(dollars: &str) -> Option<u64> {
    let dollars: f64 = dollars.trim_start_matches('$').parse().ok()?;
    (dollars.is_finite() && (0.0..1e9).contains(&dollars)).then(|| (dollars * 1e6).round() as u64)
}

/// `90`, `90s`, `5m`, `1h`.
fn milliseconds(text: &str) -> Option<u64> {
    let (number, unit) = match text.find(|c: char| !c.is_ascii_digit()) {
        Some(at) => text.split_at(at),
        None => (text, "s"),
    };
    let factor = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

impl Setup {
    /// Chooses the model that is asked.
    pub(crate) async fn model(&self, args: &ModelArgs) -> Result<Chosen, Failure> {
        let variables = self.lookup();
        let settings = model_settings(&variables)?;
        let configured = self
            .config
            .model
            .as_deref()
            .filter(|_| variables("PROWESS_MODEL").is_none());
        let name = args.model.as_deref().or(configured);
        let lookup = move |name: &str| variables(name);
        let mut chosen = prowess_models::choose(name, &lookup, &settings)
            .await
            .map_err(|error| no_model(&error))?;
        if let Some(file) = &args.record {
            let recording = RecordingModel::open(Arc::clone(&chosen.model), file)
                .map_err(|error| Failure::new("cannot record").cause(error))?;
            chosen.model = Arc::new(recording);
        }
        Ok(chosen)
    }

    /// Looks variables up, and asks commands for keys.
    fn lookup(&self) -> Variables {
        key_command::with_commands(Arc::clone(&self.variables), &self.config.keys)
    }

    /// What tools need, with nobody to ask.
    pub(crate) fn workshop(&self) -> Workshop {
        let clock = Arc::new(SystemClock);
        let visibility = self.visibility.clone();
        let mut workshop = self
            .host
            .workshop(&self.registry, &self.config, visibility, clock);
        workshop.runner.clone_from(&self.runner);
        workshop.usage.clone_from(&self.usage);
        workshop
    }

    /// Where sessions are.
    pub(crate) fn sessions(&self) -> Arc<dyn SessionStore> {
        match &self.store {
            Some(file) => Arc::new(SqliteSessions::new(file)),
            None => Arc::new(MemorySessions::new()),
        }
    }

    /// Puts a runtime together.
    pub(crate) fn runtime(
        self,
        args: &ModelArgs,
        model: Arc<dyn Model>,
        approver: Arc<dyn Approver>,
        watchers: Vec<Arc<dyn Watcher>>,
        change: impl FnOnce(&mut Settings),
    ) -> Result<Runtime, Failure> {
        let mut gate = self.host.gate(&self.config);
        gate.mode = PermissionMode::Allow;
        gate.rules = prowess::policy::PermissionRules::default();
        for rule in &args.approve {
            gate.rules.add(Effect::Allow, rule, RuleSource::Flag);
        }
        if let Some(unread) = gate.rules.unread().first() {
            let rule = sanitize::line(&unread.fault.text).into_owned();
            return Err(Failure::new(format!("the rule `{rule}` means nothing"))
                .cause(&unread.fault.why)
                .hint("rules look like `Bash(git status:*)`, `Write(docs/**)`, `Skill(deploy)`"));
        }
        let approver = Arc::new(Approving {
            gate,
            inner: approver,
        });
        let mut settings = Settings {
            effort: args
                .effort()?
                .or(self.config.effort.as_deref().and_then(Effort::parse)),
            index: self.config.budget(None, Some(window(&model))),
            ..Settings::default()
        };
        change(&mut settings);
        let fetcher: Arc<dyn prowess::traits::Fetcher> =
            Arc::new(WebFetcher::new(AGENT).map_err(|error| {
                Failure::new("cannot prepare the client for pages").cause(error)
            })?);
        let models = Named {
            variables: self.lookup(),
        };
        let sessions = self.sessions();
        let edits = args.edits;
        let mut builder: Builder = Runtime::builder()
            .host(self.host)
            .registry(self.registry)
            .config(self.config)
            .visibility(self.visibility)
            .model(model)
            .models(Arc::new(models))
            .sessions(sessions)
            .approver(approver)
            .hands(prowess_tools::files::file_tools(Some(fetcher)))
            .settings(settings)
            .adjust(move |workshop| workshop.settings.edits = edits);
        if let Some(runner) = self.runner {
            builder = builder.runner(runner);
        }
        if let Some(usage) = self.usage {
            builder = builder.usage(usage);
        }
        for tool in self.tools {
            builder = builder.tool(tool);
        }
        for watcher in watchers {
            builder = builder.watcher(watcher);
        }
        builder
            .build()
            .map_err(|error| Failure::new(error.to_string()))
    }
}

/// The arguments of a skill as they are typed: one text, JSON, or pairs; nothing for none.
pub(crate) fn arguments(
    text: Option<&str>,
    json: Option<&str>,
    pairs: &[String],
) -> Result<Value, Failure> {
    if let Some(text) = text {
        return Ok(Value::String(text.to_owned()));
    }
    if let Some(text) = json {
        return serde_json::from_str(text).map_err(|error| {
            Failure::new("`--args-json` is not JSON")
                .cause(error)
                .hint("such as `{\"file\": \"a.pdf\"}`")
        });
    }
    let mut object = Map::new();
    for pair in pairs {
        let (name, value) = pair.split_once('=').ok_or_else(|| {
            Failure::new(format!("`--arg {pair}` has no `=`"))
                .hint("write it as `--arg name=value`")
        })?;
        object.insert(name.to_owned(), value.into());
    }
    Ok(if object.is_empty() {
        Value::Null
    } else {
        Value::Object(object)
    })
}

/// Every variable that leads to a model, and what it is.
pub(crate) use prowess_models::variable_list;

/// What we call ourselves where servers ask.
const AGENT: &str = concat!("prowess/", env!("CARGO_PKG_VERSION"));

fn window(model: &Arc<dyn Model>) -> usize {
    usize::try_from(model.about().window).unwrap_or(usize::MAX)
}

pub(crate) fn model_settings(variables: &Variables) -> Result<prowess_models::Settings, Failure> {
    let lookup = |name: &str| variables(name);
    prowess_models::Settings::from_variables(AGENT, &lookup)
        .map_err(|error| Failure::new("cannot prepare the client for models").cause(error))
}

/// Says why there is no model, and what to type.
pub(crate) fn no_model(error: &ChooseError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        ChooseError::Nothing => Failure::new("there is no model to ask")
            .hint("set a key: `ANTHROPIC_API_KEY`, `OPENAI_API_KEY`, `GEMINI_API_KEY` or `OPENROUTER_API_KEY`")
            .hint("or start Ollama, llama.cpp, vLLM or LM Studio here, or set `PROWESS_BASE_URL` to a server that speaks like OpenAI")
            .hint(format!("or name one: `--model PROVIDER/NAME`, with {}", prowess_models::provider_names()))
            .hint("`prowess demo` works without a model")
            .exit(Exit::NoKey),
        ChooseError::NoKey { .. } | ChooseError::Key { .. } => {
            failure.hint("`prowess doctor` shows which keys are set").exit(Exit::NoKey)
        }
        _ => failure.hint("see `prowess doctor`"),
    }
}

/// Finds models that skills ask for.
struct Named {
    variables: Variables,
}

impl Debug for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Named")
    }
}

impl Models for Named {
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, String> {
        let settings = model_settings(&self.variables).map_err(|failure| failure.message)?;
        let lookup = |name: &str| (self.variables)(name);
        let chosen = prowess_models::open(name, &lookup, &settings);
        chosen
            .map(|chosen| chosen.model)
            .map_err(|error| error.to_string())
    }
}

/// Answers what `--approve` allows, and asks about the rest.
#[derive(Debug)]
struct Approving {
    gate: Gate,
    inner: Arc<dyn Approver>,
}

impl Approver for Approving {
    fn ask(&self, question: &Question<'_>) -> ApprovalAnswer {
        let allowed = |action: &GateAction<'_>| {
            let decision = self.gate.decide(action, &Actor::default());
            let Some(rule) = decision.rule.filter(|_| decision.verdict == Verdict::Allow) else {
                return false;
            };
            // A yes to every host is none to this machine and the network around it.
            match action {
                GateAction::Fetch { host } => {
                    !prowess_tools::files::is_private_host(host)
                        || rule
                            .text
                            .trim_end_matches(')')
                            .ends_with(&format!(":{host}"))
                }
                _ => true,
            }
        };
        if question.action.is_some_and(allowed) {
            return ApprovalAnswer::Once;
        }
        self.inner.ask(question)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_yes_to_every_host_is_none_to_this_machine() {
        let answer = |rule: &str, host: &str| {
            let mut gate = Gate {
                mode: PermissionMode::Allow,
                ..Gate::default()
            };
            gate.rules.add(Effect::Allow, rule, RuleSource::Flag);
            let approving = Approving {
                gate,
                inner: Arc::new(prowess::traits::Nobody),
            };
            let action = GateAction::Fetch { host };
            let decision = prowess::policy::Decision::new(Verdict::Ask, "why");
            approving.ask(&Question {
                what: "Fetch",
                decision: &decision,
                skill: None,
                action: Some(&action),
            })
        };
        for (rule, host, yes) in [
            ("WebFetch", "example.com", true),
            ("WebFetch", "localhost", false),
            ("WebFetch(domain:*)", "127.0.0.1", false),
            ("WebFetch", "::1", false),
            ("WebFetch", "printer", false),
            ("WebFetch", "etch", false),
            ("WebFetch(domain:localhost)", "localhost", true),
        ] {
            assert_eq!(
                answer(rule, host) == ApprovalAnswer::Once,
                yes,
                "{rule} {host}"
            );
        }
    }

    #[test]
    fn limits_are_read_or_refused() {
        let limits = |texts: &[&str]| {
            let budget = texts.iter().map(|&text| text.to_owned()).collect();
            ModelArgs {
                budget,
                max_turns: Some(3),
                ..ModelArgs::default()
            }
            .limits()
        };
        let read = limits(&["tokens=50000", "usd=0.50", "time=5m"]).unwrap();
        let expected = Budget {
            turns: Some(3),
            tokens: Some(50_000),
            micros: Some(500_000),
            milliseconds: Some(300_000),
        };
        assert_eq!(read, expected);
        assert_eq!(limits(&["usd=$2"]).unwrap().micros, Some(2_000_000));
        for wrong in [
            "tokens",
            "tokens=x",
            "usd=-1",
            "usd=nan",
            "time=5x",
            "time=99999999999999999999h",
            "turns=5",
        ] {
            assert!(limits(&[wrong]).is_err(), "{wrong}");
        }
    }
}

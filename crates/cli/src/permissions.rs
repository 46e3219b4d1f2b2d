//! The gate as commands use it: rules of the configuration, trust, and questions to a person.

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use prowess_catalog::Skill;
use prowess_config::Config;
use prowess_diag::sanitize;
use prowess_policy::command::{Word, script};
use prowess_policy::{Decision, Effect, Gate, Places, Source};
use prowess_registry::fs::scopes;
use prowess_trust::{Standing, TrustStore};

use crate::env::Environment;
use crate::error::CliError;
use crate::library::Library;

/// The project: the repository, else the current folder.
pub(crate) fn workspace(environment: &Environment) -> PathBuf {
    scopes::repository(&environment.current).unwrap_or(&environment.current).to_owned()
}

/// The gate with the rules of the configuration.
pub(crate) fn gate(config: &Config, environment: &Environment) -> Gate {
    let text = |path: &Path| path.to_string_lossy().into_owned().into();
    let mut gate = Gate {
        rules: config.permissions.clone(),
        mode: config.mode.unwrap_or_default(),
        ..Gate::default()
    };
    gate.places = Places {
        root: text(&workspace(environment)),
        home: environment.home.as_deref().map_or_else(|| gate.places.home.clone(), text),
    };
    gate
}

/// Adds rules that were typed; one that means nothing is an error.
pub(crate) fn add(gate: &mut Gate, effect: Effect, rules: &[String]) -> Result<(), CliError> {
    for text in rules {
        let known = gate.rules.unread().len();
        gate.rules.add(effect, text, Source::Flag);
        if let Some(unread) = gate.rules.unread().get(known) {
            let message =
                format!("the rule `{}` means nothing", sanitize::line(&unread.fault.text));
            return Err(CliError::new(message)
                .cause(&unread.fault.why)
                .hint("rules look like `Bash(git status:*)`, `Read(src/**)`, `WebFetch(domain:example.com)`"));
        }
    }
    Ok(())
}

/// Where trust is kept; nothing where there is no home.
pub(crate) fn trust_store(environment: &Environment) -> Option<TrustStore> {
    environment.state_folder().map(|folder| TrustStore::new(folder.join("trust")))
}

/// How a skill stands before the gate.
pub(crate) fn standing(
    skill: &Skill,
    library: &Library,
    environment: &Environment,
) -> Result<Standing, CliError> {
    let failed = |error: &dyn std::error::Error| {
        let base =
            CliError::new(format!("cannot read the skill `{}`", sanitize::line(&skill.name)));
        let mut cause = error.to_string();
        let mut source = error.source();
        while let Some(inner) = source {
            cause.push_str(&format!(": {inner}"));
            source = inner.source();
        }
        base.cause(cause)
    };
    let text = library.registry.text(&skill.id).map_err(|error| failed(&error))?;
    let store = trust_store(environment);
    Standing::of(skill, &text, store.as_ref()).map_err(|error| failed(&error))
}

/// A command line from what was typed behind `--`: one text as it is, words as words.
pub(crate) fn line(typed: &[String]) -> String {
    match typed {
        [text] => text.clone(),
        words => {
            script::canonical(&words.iter().map(|word| Word::plain(&**word)).collect::<Vec<_>>())
        }
    }
}

/// Asks a person, who must be there: standard input and standard error are a terminal.
pub(crate) fn ask(question: &str, choices: &str) -> Option<String> {
    let (input, mut output) = (std::io::stdin(), std::io::stderr());
    if !input.is_terminal() || !output.is_terminal() {
        return None;
    }
    write!(output, "{question} [{choices}] ").ok()?;
    output.flush().ok()?;
    let mut answer = String::new();
    input.lock().read_line(&mut answer).ok()?;
    Some(answer.trim().to_lowercase())
}

/// What a person reads about a decision.
pub(crate) fn explain(decision: &Decision) -> String {
    let mut text = decision.reason.to_string();
    if let Some(rule) = &decision.rule {
        text.push_str(&format!(" (rule `{}`, {})", rule.text, rule.source));
    }
    sanitize::line(&text).into_owned()
}

//! `prowess completions`, and the completion of names at run time.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use clap_complete::CompletionCandidate;
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, PathCompleter, ValueCompleter};
use clap_complete::env::{CompleteEnv, Shells};
use prowess_catalog::Scope;
use prowess_diag::{sanitize, suggest, wording};
use prowess_lint::rules::RULES;
use prowess_registry::{FileOptions, Registry};
use prowess_trust::PackagePin;

use crate::args;
use crate::commands::list::Creator;
use crate::env::Environment;
use crate::output::{Exit, Failure, Printer};
use crate::visible_skills;

#[derive(Debug, Args)]
#[command(
    about = "Print a shell completion script\n\nThe script calls prowess, so the names of skills and rules are always up to date.",
    after_help = "\
Examples:
  prowess completions bash    for ~/.bashrc: source <(prowess completions bash)
  prowess completions fish    for ~/.config/fish/completions/prowess.fish"
)]
pub(crate) struct CompletionsArgs {
    /// Shell: bash, elvish, fish, powershell, zsh
    #[arg(value_name = "SHELL", add = ArgValueCandidates::new(shells))]
    pub(crate) shell: String,
}

/// Maximum length of the help of a candidate.
const LONGEST_HELP: usize = 80;

/// Prints the completion script of a shell.
pub(crate) fn run(args: &CompletionsArgs, printer: &Printer) -> Result<Exit, Failure> {
    let shells = Shells::builtins();
    let Some(shell) = shells.completer(&args.shell) else {
        let known: Vec<&str> = shells.names().collect();
        let error = Failure::new(format!(
            "unsupported shell {}: expected {}",
            wording::tick(&args.shell),
            wording::either(known.iter().map(wording::tick))
        ));
        return Err(match suggest::nearest(&args.shell, known.iter().copied()) {
            Some(near) => error.hint(format!("did you mean `prowess completions {near}`?")),
            None => error,
        });
    };
    let mut script = Vec::new();
    shell
        .write_registration("COMPLETE", "prowess", "prowess", "prowess", &mut script)
        .map_err(|error| Failure::new("cannot write the completion script").cause(error))?;
    printer.verbatim(&script)?;
    Ok(Exit::Done)
}

/// Maximum number of words of a command line among which a run is searched.
const MAX_WORDS: usize = 64;

/// Handles a completion request from a shell. Returns `true` if there was one.
pub(crate) fn answer(environment: &Environment) -> bool {
    let arguments = environment.arguments.iter().cloned();
    let complete = CompleteEnv::with_factory(|| with_plain_paths(args::command()));
    complete
        .try_complete(arguments, Some(&environment.current))
        .unwrap_or(true)
}

/// Completes every path with [`paths`], also that of an argument without a completer of its own.
fn with_plain_paths(command: clap::Command) -> clap::Command {
    let is_path = |hint: ValueHint| {
        matches!(
            hint,
            ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath
        )
    };
    command
        .mut_args(|arg| {
            let has_own = arg.get::<ArgValueCompleter>().is_some()
                || arg.get::<ArgValueCandidates>().is_some();
            if has_own || !is_path(arg.get_value_hint()) {
                return arg;
            }
            arg.add(ArgValueCompleter::new(paths))
        })
        .mut_subcommands(with_plain_paths)
}

/// Returns paths and the names of visible skills.
pub(crate) fn skills_and_paths(typed: &OsStr) -> Vec<CompletionCandidate> {
    let begins = |candidate: &CompletionCandidate| {
        candidate
            .get_value()
            .as_encoded_bytes()
            .starts_with(typed.as_encoded_bytes())
    };
    let names = skill_names().into_iter().filter(begins);
    names.chain(paths(typed)).collect()
}

/// Returns paths that a shell parses as one plain word. Files of a project have any name.
pub(crate) fn paths(typed: &OsStr) -> Vec<CompletionCandidate> {
    let is_plain = |candidate: &CompletionCandidate| {
        let path = candidate.get_value().to_str();
        path.is_some_and(|path| {
            path.strip_prefix("~/")
                .unwrap_or(path)
                .chars()
                .all(|c| is_plain(c) || matches!(c, '+' | ',' | '=' | '@' | '%'))
                && !path.starts_with('-')
        })
    };
    let mut paths = PathCompleter::any().complete(typed);
    paths.retain(is_plain);
    paths
}

/// Returns the names of visible skills.
pub(crate) fn skill_names() -> Vec<CompletionCandidate> {
    let environment = Environment::read();
    let config = visible_skills::load(&environment).config;
    let options = FileOptions {
        cache: environment.cache_folder(),
        walk: config.walk(),
        ..FileOptions::default()
    };
    let place = config.place(&[], environment.place());
    let registry = Registry::open(place, options, config.precedence.unwrap_or_default());
    let catalog = registry.snapshot();
    let candidate = |entry: &prowess_catalog::CatalogEntry| {
        let help = wording::shorten(&entry.skill.listing_text(), LONGEST_HELP);
        CompletionCandidate::new(entry.name()).help(Some(sanitize::line(&help).into_owned().into()))
    };
    catalog
        .listed()
        .filter(|entry| is_harmless(entry.name()))
        .map(candidate)
        .collect()
}

/// Returns `true` if a shell parses the name as one plain word. Names are untrusted, and shells insert
/// candidates unquoted, so that a crafted name would run on Enter.
fn is_harmless(name: &str) -> bool {
    !name.starts_with('-') && name.chars().all(is_plain)
}

/// Returns `true` for characters that have no meaning in a shell.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/')
}

/// Returns the scopes accepted by `--scope`.
pub(crate) fn scopes() -> Vec<CompletionCandidate> {
    let is_typed = |scope: &Scope| !matches!(scope, Scope::Program | Scope::Server);
    let scopes = Scope::ALL.into_iter().filter(is_typed);
    scopes
        .map(|scope| CompletionCandidate::new(scope.as_str()))
        .collect()
}

/// Returns the creators accepted by `--creator`.
pub(crate) fn creators() -> Vec<CompletionCandidate> {
    let words = Creator::WORDS.into_iter();
    words.map(CompletionCandidate::new).collect()
}

/// Returns the names of supported shells.
pub(crate) fn shells() -> Vec<CompletionCandidate> {
    Shells::builtins()
        .names()
        .map(CompletionCandidate::new)
        .collect()
}

/// Returns the names of configured agents.
pub(crate) fn agents() -> Vec<CompletionCandidate> {
    let config = visible_skills::load(&Environment::read()).config;
    let names = config.agents.keys().filter(|name| is_harmless(name));
    names.map(CompletionCandidate::new).collect()
}

/// Returns the names of packages: those of the project, or with `--user` those of the person.
pub(crate) fn packages() -> Vec<CompletionCandidate> {
    let environment = Environment::read();
    let is_user = environment.arguments.iter().any(|word| word == "--user");
    let scope = if is_user {
        crate::packages::user_scope(&environment)
    } else {
        Some(crate::packages::project_scope(&environment))
    };
    let pins = crate::packages::pins(&environment);
    let named = pins.map(|pins| pins.named()).unwrap_or_default();
    let is_meant = |entry: &Path| {
        let scope = scope.as_ref();
        scope.is_some_and(|scope| entry.parent() == Some(&*scope.skills))
    };
    let named = named.into_iter().filter(|(entry, _)| is_meant(entry));
    let candidate = |(entry, pin): (PathBuf, PackagePin)| {
        let name = entry
            .file_name()?
            .to_str()
            .filter(|name| is_harmless(name))?;
        let (version, source) = match &pin {
            PackagePin::Pinned(package) => (&package.version, &package.source),
            PackagePin::Live(package) => (&package.version, &package.source),
            PackagePin::Free | PackagePin::Unknown | PackagePin::Unreadable { .. } => return None,
        };
        let help = format!("{} {source}", version.as_deref().unwrap_or_default());
        let help = wording::shorten(help.trim(), LONGEST_HELP);
        let help = sanitize::line(&help).into_owned();
        Some(CompletionCandidate::new(name).help(Some(help.into())))
    };
    named.filter_map(candidate).collect()
}

/// Returns the names of packages, and of bundled skills.
pub(crate) fn forkable() -> Vec<CompletionCandidate> {
    let bundled = prowess_registry::bundled::bundled_skills();
    let bundled = bundled.map(|one| CompletionCandidate::new(one.name));
    packages().into_iter().chain(bundled).collect()
}

/// Returns the names of agents that can have links.
pub(crate) fn link_agents() -> Vec<CompletionCandidate> {
    let agents = prowess_package::agents::LINK_AGENTS.iter();
    agents
        .map(|agent| CompletionCandidate::new(agent.name).help(Some(agent.project.into())))
        .collect()
}

/// Returns the ids of open questions.
pub(crate) fn question_ids() -> Vec<CompletionCandidate> {
    let asked = super::questions::open(&Environment::read(), None);
    let asked = asked.unwrap_or_default().into_iter();
    let asked = asked.filter(|asked| is_harmless(&asked.question.id));
    let candidate = |asked: prowess::traits::OpenQuestion| {
        let help = wording::shorten(&asked.question.what, LONGEST_HELP);
        let help = sanitize::line(&help).into_owned();
        CompletionCandidate::new(&*asked.question.id).help(Some(help.into()))
    };
    asked.map(candidate).collect()
}

/// Returns the names of agents and teams.
pub(crate) fn agent_names() -> Vec<CompletionCandidate> {
    let agents = super::agent::Agents::read(&Environment::read());
    let names = agents.roster.entries().iter();
    let names = names.filter(|entry| entry.shadowed_by.is_none() && is_harmless(&entry.name));
    names
        .map(|entry| CompletionCandidate::new(&*entry.name))
        .collect()
}

/// Returns the commands and help topics.
pub(crate) fn subjects() -> Vec<CompletionCandidate> {
    let root = args::command();
    let commands = root
        .get_subcommands()
        .map(|command| command.get_name().to_owned());
    let topics = super::help::topics().map(str::to_owned);
    commands
        .chain(topics)
        .map(CompletionCandidate::new)
        .collect()
}

/// Returns the names of the rules.
pub(crate) fn rule_names() -> Vec<CompletionCandidate> {
    let candidate = |rule: &prowess_lint::rules::LintRule| {
        CompletionCandidate::new(rule.id).help(Some(rule.summary.to_owned().into()))
    };
    RULES
        .iter()
        .map(candidate)
        .chain(scan_rule_names())
        .collect()
}

/// Returns the names of the rules of `scan`.
pub(crate) fn scan_rule_names() -> Vec<CompletionCandidate> {
    let candidate = |rule: &prowess_scan::ScanRule| {
        CompletionCandidate::new(rule.id).help(Some(rule.summary.to_owned().into()))
    };
    prowess_scan::RULES.iter().map(candidate).collect()
}

/// Returns the ids of runs of missions.
pub(crate) fn mission_runs() -> Vec<CompletionCandidate> {
    let Some(store) = super::questions::store(&Environment::read()) else {
        return Vec::new();
    };
    let found = super::mission_run::runs(&store, None).into_iter();
    let candidate = |one: prowess::traits::SessionSummary| {
        let help = sanitize::line(&one.title).into_owned();
        CompletionCandidate::new(&*one.id).help(Some(help.into()))
    };
    found.map(candidate).collect()
}

/// Returns the tasks of the run that the command line names.
pub(crate) fn mission_tasks() -> Vec<CompletionCandidate> {
    use prowess::traits::SessionStore as _;
    let environment = Environment::read();
    let Some(store) = super::questions::store(&environment) else {
        return Vec::new();
    };
    let words = environment.arguments.iter().rev();
    let words = words.filter_map(|word| word.to_str().filter(|word| !word.is_empty()));
    let state = words.take(MAX_WORDS).find_map(|word| {
        let run = store.find(word).ok()?;
        let events = store.events(&run).ok()?;
        super::mission_run::recorded_state(&events).ok()?
    });
    let tasks = state
        .iter()
        .flat_map(prowess_flow::mission::MissionState::tasks);
    let names = tasks.map(|(task, _)| &*task.name);
    let names = names.filter(|name| is_harmless(name));
    names.map(CompletionCandidate::new).collect()
}

/// Returns the names of the variables of missions.
pub(crate) fn mission_variables() -> Vec<CompletionCandidate> {
    let names = super::mission::variables(&Environment::read());
    let names = names.into_iter().filter(|name| is_harmless(name));
    names.map(CompletionCandidate::new).collect()
}

/// Returns the names of missions.
pub(crate) fn mission_names() -> Vec<CompletionCandidate> {
    let names = super::mission::names(&Environment::read());
    let names = names.into_iter().filter(|name| is_harmless(name));
    names.map(CompletionCandidate::new).collect()
}

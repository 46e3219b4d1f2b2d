//! Serves the skills below a folder, for tests and for trying things out.
//!
//! `serve FOLDER [--http ADDR --token-file FILE [--allow-host NAME] [--allow-origin ORIGIN]
//! [--patience MS] [--sessions N]] [--commands] [--run-skill] [--deny RULE] [--legacy-index]`

#![expect(clippy::print_stderr, reason = "an example that says where it listens")]

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use prowess_mcp::{Http, Options, Server, Token};
use prowess_models::EchoModel;
use prowess_policy::profile::Strength;
use prowess_policy::{Effect, RuleSource};
use prowess_registry::Registry;
use prowess_runtime::{CancellationToken, Engine, Parts, Settings};
use prowess_sandbox::Runner;
use prowess_store::{MemorySessions, SystemClock};
use prowess_tools::{Choice, Places, Toolset, Workshop};

fn main() -> Result<()> {
    let helper = prowess_sandbox::maybe_run_helper();
    let mut words = std::env::args().skip(1);
    let folder = PathBuf::from(words.next().context("the folder is missing")?);
    let registry = Registry::default();
    registry.load_dir(&folder)?;
    let mut workshop = Workshop::reading(Arc::new(registry), Arc::new(SystemClock));
    let workspace = folder.canonicalize()?;
    workshop.places = Places {
        workspace: workspace.clone(),
        home: workspace.clone(),
        ..Places::default()
    };
    workshop.gate().places.root = workspace.to_string_lossy().into();
    let mut options = Options::default();
    let (mut address, mut http, mut runs_skills) = (None, Http::default(), false);
    while let Some(word) = words.next() {
        let mut value = || {
            words
                .next()
                .with_context(|| format!("{word} needs a value"))
        };
        match &*word {
            "--http" => address = Some(value()?.parse::<SocketAddr>()?),
            "--token-file" => http.invited.tokens = Token::load_or_create(Path::new(&value()?))?,
            "--allow-host" => http.invited.hosts.push(value()?),
            "--allow-origin" => http.invited.origins.push(value()?),
            "--patience" => http.limits.patience = Duration::from_millis(value()?.parse()?),
            "--sessions" => http.limits.sessions = value()?.parse()?,
            "--commands" => {
                options.commands = true;
                workshop.runner = Some(Arc::new(Runner::new(helper.clone())));
                workshop.settings.strength = Strength::Off;
            }
            "--run-skill" => runs_skills = true,
            "--deny" => workshop
                .gate()
                .rules
                .add(Effect::Deny, &value()?, RuleSource::Flag),
            "--legacy-index" => options.legacy_index = true,
            _ => bail!("no such option: {word}"),
        }
    }
    options.engine = runs_skills.then(|| engine(workshop.derive()));
    let server = Server::new(
        Arc::new(workshop),
        Toolset::new(&Choice::default())?,
        &options,
    );
    match address {
        None => server.run_stdio()?,
        Some(address) => server.run_http(address, &http, CancellationToken::new(), |address| {
            eprintln!("listening on http://{address}/mcp");
        })?,
    }
    Ok(())
}

/// An engine whose model says back what it is told.
fn engine(workshop: Workshop) -> Engine {
    Engine::new(Parts {
        model: Arc::new(EchoModel::default()),
        models: None,
        store: Arc::new(MemorySessions::default()),
        clock: Arc::new(SystemClock),
        workshop,
        tools: Vec::new(),
        tools_of_skills: Vec::new(),
        watchers: Vec::new(),
        settings: Settings::default(),
    })
}

//! Serves the skills in a folder, for tests and experiments.
//!
//! `serve FOLDER [--http ADDR --token-file FILE [--allow-host NAME] [--allow-origin ORIGIN]
//! [--patience MS] [--sessions N]] [--commands] [--run-skill] [--deny RULE] [--legacy-index]`

#![expect(clippy::print_stderr, reason = "an example that says where it listens")]

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use prowess_mcp::{Http, Server, ServerOptions, Token};
use prowess_models::EchoModel;
use prowess_policy::profile::Strength;
use prowess_policy::{Effect, RuleSource};
use prowess_registry::Registry;
use prowess_runtime::{CancellationToken, Engine};
use prowess_sandbox::Runner;
use prowess_store::{MemorySessions, SystemClock};
use prowess_tools::{ToolContext, ToolPaths, ToolSelection, Toolset};

fn main() -> Result<()> {
    let helper = prowess_sandbox::maybe_run_helper();
    let mut words = std::env::args().skip(1);
    let folder = PathBuf::from(words.next().context("the folder is missing")?);
    let registry = Registry::default();
    registry.load_dir(&folder)?;
    let mut context = ToolContext::new(Arc::new(registry), Arc::new(SystemClock));
    // The skills are in a folder of the project, which is protected. A skill that is the project
    // itself would need trust.
    let folder = folder.canonicalize()?;
    let workspace = folder.parent().unwrap_or(&folder).to_owned();
    context.settings.paths = ToolPaths {
        workspace: workspace.clone(),
        home: workspace.clone(),
        ..ToolPaths::default()
    };
    context.gate().places.root = workspace.to_string_lossy().into();
    let mut options = ServerOptions::default();
    let (mut address, mut http, mut runs_skills) = (None, Http::default(), false);
    while let Some(word) = words.next() {
        let mut value = || {
            words
                .next()
                .with_context(|| format!("{word} needs a value"))
        };
        match &*word {
            "--http" => address = Some(value()?.parse::<SocketAddr>()?),
            "--token-file" => http.access.tokens = Token::load_or_create(Path::new(&value()?))?,
            "--allow-host" => http.access.hosts.push(value()?),
            "--allow-origin" => http.access.origins.push(value()?),
            "--patience" => http.limits.patience = Duration::from_millis(value()?.parse()?),
            "--sessions" => http.limits.sessions = value()?.parse()?,
            "--commands" => {
                options.commands = true;
                context.services.runner = Some(Arc::new(Runner::new(helper.clone())));
                context.settings.strength = Strength::Off;
            }
            "--run-skill" => runs_skills = true,
            "--deny" => context
                .gate()
                .rules
                .add(Effect::Deny, &value()?, RuleSource::Flag),
            "--legacy-index" => options.legacy_index = true,
            _ => bail!("no such option: {word}"),
        }
    }
    if runs_skills {
        options.engine = Some(engine(context.derive())?);
    }
    let server = Server::new(&context, Toolset::new(&ToolSelection::default())?, &options);
    match address {
        None => server.run_stdio()?,
        Some(address) => server.run_http(address, &http, CancellationToken::new(), |address| {
            eprintln!("listening on http://{address}/mcp");
        })?,
    }
    Ok(())
}

/// An engine whose model echoes its input.
fn engine(mut context: ToolContext) -> Result<Engine> {
    context.services.model = Some(Arc::new(EchoModel::default()));
    context.services.sessions = Some(Arc::new(MemorySessions::default()));
    Ok(Engine::new(context)?)
}

//! Which layers this machine has: each one tried, not looked up.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use prowess_policy::Plan;
use prowess_policy::profile::{Profile, Strength};

use crate::error::ExecError;
use crate::helper::{ARGUMENT, NAMES, Probed, parse_probe};
use crate::outcome::{Layer, LayerState, State};
use crate::runner::{Options, Runner};
use crate::sandbox::SYSTEM_LAYERS;

/// Tries every layer of this system by itself, beside a run without any.
///
/// A layer is on if the run without it could do something that the run with it could not.
pub fn layers(runner: &Runner) -> Result<Vec<LayerState>, ExecError> {
    let outside = Outside::new(runner)?;
    let (_, control) = probe(runner, &outside, Strength::Off, &[])?;
    let mut found = vec![LayerState {
        layer: Layer::Supervision,
        state: State::On,
    }];
    for layer in SYSTEM_LAYERS {
        let others: Vec<Layer> = SYSTEM_LAYERS
            .iter()
            .copied()
            .filter(|other| other != layer)
            .collect();
        let tried = probe(runner, &outside, Strength::BestEffort, &others);
        let (state, probed) = match tried {
            Ok((states, probed)) => {
                let state = states.into_iter().find(|state| state.layer == *layer);
                (
                    state.map_or(State::Off("nobody asked for it".into()), |s| s.state),
                    probed,
                )
            }
            Err(error) => (State::Missing(error.to_string().into()), Probed::new()),
        };
        let state = match state {
            State::On => judge(*layer, &control, &probed),
            state => state,
        };
        found.push(LayerState {
            layer: *layer,
            state,
        });
    }
    Ok(found)
}

/// Whether a layer stopped what it should stop.
fn judge(layer: Layer, control: &Probed, probed: &Probed) -> State {
    let tried = match layer {
        Layer::Landlock | Layer::Seatbelt => "write",
        Layer::Capabilities => "privileges",
        Layer::Seccomp => "calls",
        Layer::Namespaces => "parents",
        Layer::Identity => "root",
        Layer::Supervision => return State::On,
    };
    match (control.get(tried), probed.get(tried)) {
        (Some(true), Some(false)) => State::On,
        (Some(true), Some(true)) => State::Missing(format!("it did not stop `{tried}`").into()),
        // Inside another sandbox there may be nothing left to stop.
        (Some(false), _) => {
            State::Missing(format!("`{tried}` fails without it too: cannot be tested").into())
        }
        _ => State::Missing("the probe did not answer".into()),
    }
}

fn probe(
    runner: &Runner,
    outside: &Outside,
    strength: Strength,
    without: &[Layer],
) -> Result<(Vec<LayerState>, Probed), ExecError> {
    let helper = runner.helper_file().to_owned();
    let mut profile = Profile::reading("/");
    profile.strength = strength;
    profile.readable = vec![helper.clone()];
    let words: Vec<Box<str>> = [
        &*helper.to_string_lossy(),
        ARGUMENT,
        "probe",
        &*outside.0.to_string_lossy(),
    ]
    .map(Into::into)
    .into();
    let runner = runner.clone().without(without.iter().copied());
    let outcome = runner.run_plan(&Plan::Words(words), &profile, Options::default())?;
    let probed = parse_probe(&outcome.stdout.text());
    if probed.len() != NAMES.len() {
        let why = outcome.stderr.text().trim().into();
        return Err(ExecError::HelperLost { path: helper, why });
    }
    Ok((outcome.layers, probed))
}

/// A file that no profile grants, and that everybody could write.
struct Outside(PathBuf);

impl Outside {
    fn new(runner: &Runner) -> Result<Self, ExecError> {
        let path = runner
            .scratch()
            .join(format!("prowess-doctor-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        File::options()
            .write(true)
            .create_new(true)
            .mode(0o666)
            .open(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

//! Tries the layers of this machine, and ordinary work in all of them together.

use std::fs::File;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use prowess_policy::Plan;
use prowess_policy::profile::{Profile, Strength};

use crate::error::ExecError;
use crate::helper::{ARGUMENT, NAMES, Probed, parse_probe};
use crate::layers::SYSTEM_LAYERS;
use crate::outcome::{Layer, LayerState, LayerStatus};
use crate::runner::{CommandOptions, Runner};

/// Tries every layer of this system by itself, next to a run without any.
///
/// A layer is on if the run without it could do something that the run with it could not.
pub fn layers(runner: &Runner) -> Result<Vec<LayerState>, ExecError> {
    let outside = Outside::new(runner)?;
    let (_, control) = probe(runner, &outside, Strength::Off, &[])?;
    let mut found = vec![LayerState {
        layer: Layer::Supervision,
        state: LayerStatus::On,
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
                    state.map_or(LayerStatus::Off("it was not requested".into()), |s| s.state),
                    probed,
                )
            }
            Err(error) => (
                LayerStatus::Missing(error.to_string().into()),
                Probed::new(),
            ),
        };
        let state = match state {
            LayerStatus::On => judge(*layer, &control, &probed),
            state => state,
        };
        found.push(LayerState {
            layer: *layer,
            state,
        });
    }
    Ok(found)
}

/// Something that commands do every day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelfTest {
    /// Writing a file in a project.
    Write,
    /// `git status` in a project.
    Git,
    /// Running a script of a project.
    Script,
}

/// The result of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trial {
    /// It worked.
    Works,
    /// It failed, for this reason.
    Failed(Box<str>),
    /// It could not be tried, for this reason.
    Skipped(Box<str>),
}

/// Does ordinary work in the sandbox, in a project made for it.
pub fn tasks(runner: &Runner, strength: Strength) -> Result<Vec<(SelfTest, Trial)>, ExecError> {
    let project = Project::new(runner)?;
    let mut profile = Profile::reading(&project.0);
    profile.strength = strength;
    profile.writable = vec![project.0.clone()];
    let run = |words: &[&str]| {
        let words = words.iter().map(|word| (*word).into()).collect();
        runner.run_plan(&Plan::Words(words), &profile, CommandOptions::default())
    };
    let judge = |result: Result<crate::CommandOutcome, ExecError>, done: &dyn Fn(&str) -> bool| {
        let outcome = match result {
            Err(ExecError::ProgramMissing { name, .. }) => {
                return Trial::Skipped(format!("`{name}` is not installed").into());
            }
            Err(error) => return Trial::Failed(error.to_string().into()),
            Ok(outcome) => outcome,
        };
        if outcome.success() && done(&outcome.stdout.text()) {
            return Trial::Works;
        }
        let errors = outcome.stderr.text().into_owned();
        let why = errors.trim().lines().next_back().unwrap_or_default();
        Trial::Failed(if why.is_empty() {
            format!("it ended with {:?}", outcome.end).into()
        } else {
            why.into()
        })
    };
    let file = project.0.join("written");
    let is_written = |_: &str| std::fs::read(&file).is_ok_and(|text| text == b"x\n");
    Ok(vec![
        (
            SelfTest::Write,
            judge(run(&["sh", "-c", "echo x > written"]), &is_written),
        ),
        (
            SelfTest::Git,
            judge(run(&["git", "status", "--porcelain"]), &|text| {
                text.contains("script.sh")
            }),
        ),
        (
            SelfTest::Script,
            judge(run(&["./script.sh"]), &|text| text == "ran\n"),
        ),
    ])
}

/// A folder with an empty repository and a script. Every user may write in it, because without
/// namespaces the command is another user.
struct Project(PathBuf);

impl Project {
    fn new(runner: &Runner) -> Result<Self, ExecError> {
        let name = format!("prowess-doctor-{}-project", std::process::id());
        let path = runner.scratch().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path)?;
        let project = Self(path.canonicalize()?);
        for folder in ["", ".git", ".git/objects", ".git/refs"] {
            let folder = project.0.join(folder);
            std::fs::create_dir_all(&folder)?;
            let mode = if folder.ends_with(".git") {
                0o755
            } else {
                0o777
            };
            std::fs::set_permissions(&folder, PermissionsExt::from_mode(mode))?;
        }
        let write = |name: &str, text: &str, mode: u32| {
            let path: &Path = &project.0.join(name);
            std::fs::write(path, text)?;
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode))
        };
        write(".git/HEAD", "ref: refs/heads/main\n", 0o644)?;
        write(
            ".git/config",
            "[core]\n\trepositoryformatversion = 0\n",
            0o644,
        )?;
        write("script.sh", "#!/bin/sh\necho ran\n", 0o755)?;
        Ok(project)
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns the state of a layer by what it stopped.
fn judge(layer: Layer, control: &Probed, probed: &Probed) -> LayerStatus {
    let tried = match layer {
        Layer::Landlock | Layer::Seatbelt => "write",
        Layer::Capabilities => "privileges",
        Layer::Seccomp => "calls",
        Layer::Namespaces => "parents",
        Layer::Identity => "root",
        Layer::Supervision => return LayerStatus::On,
    };
    match (control.get(tried), probed.get(tried)) {
        (Some(true), Some(false)) => LayerStatus::On,
        (Some(true), Some(true)) => {
            LayerStatus::Missing(format!("it did not stop `{tried}`").into())
        }
        // Inside another sandbox there may be nothing left to stop.
        (Some(false), _) => LayerStatus::Missing(
            format!("`{tried}` also fails without this layer, so it cannot be tested").into(),
        ),
        _ => LayerStatus::Missing("the probe did not answer".into()),
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
    let outcome = runner.run_plan(&Plan::Words(words), &profile, CommandOptions::default())?;
    let probed = parse_probe(&outcome.stdout.text());
    if probed.len() != NAMES.len() {
        let why = outcome.stderr.text().trim().into();
        return Err(ExecError::HelperLost { path: helper, why });
    }
    Ok((outcome.layers, probed))
}

/// A file that no profile grants and that every user could write.
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

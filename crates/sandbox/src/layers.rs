//! Chooses the layers of a run, and what each has to do.

#[cfg(not(target_os = "linux"))]
use std::path::Path;
use std::path::PathBuf;

use prowess_policy::profile::{Profile, Strength};

use crate::error::ExecError;
use crate::granted_paths::Roots;
#[cfg(target_os = "linux")]
use crate::layers_linux;
use crate::outcome::{Layer, LayerState, LayerStatus, Note};
use crate::protocol::{Bytes, Identity, Landlock, Namespaces, Seccomp, Stub};
#[cfg(not(target_os = "linux"))]
use crate::seatbelt;

/// Facts about the machine that decide which layers are used.
#[derive(Clone, Debug)]
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "only Linux has layers 1 to 3")
)]
pub(crate) struct Machine {
    /// This process is root.
    pub(crate) root: bool,
    /// The reason why the kernel refuses namespaces to the helper, if it is known to.
    pub(crate) kernel_refuses: Option<Box<str>>,
    /// Folders in which `bwrap` is looked for.
    pub(crate) bwrap: Vec<PathBuf>,
    /// User and group of layer 3, if they are chosen by the host program.
    pub(crate) identity: Option<(u32, u32)>,
    /// Layers that count as missing, and why.
    pub(crate) without: Vec<(Layer, Box<str>)>,
    /// The file of the helper.
    pub(crate) helper: PathBuf,
    /// The command's `HOME`.
    pub(crate) home: Option<PathBuf>,
    /// The secrets in the system's folders.
    #[cfg(target_os = "linux")]
    pub(crate) secrets: std::sync::Arc<crate::system_paths::KnownSecrets>,
}

impl Machine {
    pub(crate) fn lacks(&self, layer: Layer) -> Option<&str> {
        self.without
            .iter()
            .find(|(lacking, _)| *lacking == layer)
            .map(|(_, why)| &**why)
    }
}

/// The sandbox of one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sandbox {
    pub(crate) identity: Option<Identity>,
    pub(crate) capabilities: bool,
    pub(crate) landlock: Option<Landlock>,
    pub(crate) seccomp: Option<Seccomp>,
    pub(crate) namespaces: Option<Namespaces>,
    pub(crate) stubs: Vec<Stub>,
    /// Words that are put before the program: macOS's `sandbox-exec` and its profile.
    #[cfg_attr(
        target_os = "linux",
        allow(dead_code, reason = "only macOS starts through another program")
    )]
    pub(crate) prefix: Vec<Bytes>,
    /// Layers whose state is decided before the run.
    pub(crate) layers: Vec<LayerState>,
    pub(crate) notes: Vec<Note>,
    /// Notes that are added if Landlock turns out to be missing.
    pub(crate) without_landlock: Vec<Note>,
}

impl Sandbox {
    pub(crate) fn state(&mut self, layer: Layer, state: LayerStatus) {
        self.layers.push(LayerState { layer, state });
    }
}

/// Plans the sandbox for a profile.
pub(crate) fn sandbox(
    machine: &Machine,
    profile: &Profile,
    roots: &Roots,
) -> Result<Sandbox, ExecError> {
    let mut sandbox = Sandbox::default();
    sandbox.state(Layer::Supervision, LayerStatus::On);
    sandbox.notes.extend(roots.notes.iter().cloned());
    if profile.strength == Strength::Off {
        for layer in SYSTEM_LAYERS {
            sandbox.state(
                *layer,
                LayerStatus::Off("the profile switches the sandbox off".into()),
            );
        }
        return Ok(sandbox);
    }
    system(machine, profile, roots, sandbox)
}

/// The layers that this system can have.
#[cfg(target_os = "linux")]
pub(crate) const SYSTEM_LAYERS: &[Layer] = &[
    Layer::Capabilities,
    Layer::Landlock,
    Layer::Seccomp,
    Layer::Namespaces,
    Layer::Identity,
];
#[cfg(not(target_os = "linux"))]
pub(crate) const SYSTEM_LAYERS: &[Layer] = &[Layer::Seatbelt];

#[cfg(target_os = "linux")]
fn system(
    machine: &Machine,
    profile: &Profile,
    roots: &Roots,
    sandbox: Sandbox,
) -> Result<Sandbox, ExecError> {
    layers_linux::linux(machine, profile, roots, sandbox)
}

#[cfg(not(target_os = "linux"))]
fn system(
    machine: &Machine,
    profile: &Profile,
    roots: &Roots,
    mut sandbox: Sandbox,
) -> Result<Sandbox, ExecError> {
    let program = Path::new(seatbelt::PROGRAM);
    let why = if let Some(why) = machine.lacks(Layer::Seatbelt) {
        Some(Box::from(why))
    } else if !cfg!(target_os = "macos") {
        Some("there is no sandbox for this system".into())
    } else if !program.is_file() {
        Some(format!("`{}` does not exist", program.display()).into())
    } else {
        None
    };
    if let Some(why) = why {
        if profile.strength == Strength::Required {
            return Err(ExecError::LayerMissing {
                layer: Layer::Seatbelt,
                why,
            });
        }
        sandbox
            .notes
            .extend(roots.unprotected("the sandbox is missing"));
        sandbox.state(Layer::Seatbelt, LayerStatus::Missing(why));
        return Ok(sandbox);
    }
    let text = seatbelt::profile(profile);
    sandbox.prefix = [seatbelt::PROGRAM, "-D", seatbelt::SCRATCH, "-p", &text]
        .map(|word| word.as_bytes().to_vec())
        .into();
    sandbox.state(Layer::Seatbelt, LayerStatus::On);
    Ok(sandbox)
}

//! Chooses the layers of a run on Linux.

use std::path::{Path, PathBuf};

use prowess_policy::profile::{Profile, Strength};

use crate::error::ExecError;
use crate::granted_paths::{Guard, Roots, around};
use crate::layers::{Machine, Sandbox};
use crate::outcome::{Layer, LayerStatus, Note};
use crate::protocol::{
    Access, Builder, Identity, Landlock, Namespaces, Rule, Seccomp, StubKind, bytes,
};
use crate::system_paths::{DEVICES, SYSTEM, Secrets};
use crate::{bwrap, mounts};

/// The Landlock versions that are needed. Beside mounts, truncating files is the last right that
/// matters; without them, Landlock also has to stop signals and abstract sockets.
const LEAST_BESIDE_MOUNTS: u32 = 3;
const LEAST_ALONE: u32 = 6;

pub(crate) fn linux(
    machine: &Machine,
    profile: &Profile,
    roots: &Roots,
    mut sandbox: Sandbox,
) -> Result<Sandbox, ExecError> {
    let required = profile.strength == Strength::Required;
    let namespaces = builder(machine, profile, roots);
    let identity = match (&namespaces, machine.lacks(Layer::Identity)) {
        (Ok(_), _) => Err(LayerStatus::Off("namespaces replace it".into())),
        (Err(_), _) if !machine.root => {
            Err(LayerStatus::Off("only root can become another user".into()))
        }
        (Err(_), Some(why)) => Err(LayerStatus::Missing(why.into())),
        (Err(_), None) => Ok(match machine.identity {
            Some((user, group)) => Identity::Fixed(user, group),
            None => Identity::Unused,
        }),
    };
    if required {
        for layer in [Layer::Capabilities, Layer::Landlock, Layer::Seccomp] {
            if let Some(why) = machine.lacks(layer) {
                return Err(ExecError::LayerMissing {
                    layer,
                    why: why.into(),
                });
            }
        }
        if let (Err(why), Err(_)) = (&namespaces, &identity) {
            return Err(ExecError::LayerMissing {
                layer: Layer::Namespaces,
                why: why.clone(),
            });
        }
    }

    let granted: Vec<PathBuf> = roots
        .readable
        .iter()
        .chain(&roots.writable)
        .cloned()
        .collect();
    let Secrets {
        paths: secrets,
        unsearched,
    } = machine.secrets.get(&granted);
    let unsearched = unsearched.into_iter().map(|path| Note::Unprotected {
        path,
        why: "it has too many files to find all those that not every user may read".into(),
    });
    sandbox.notes.extend(unsearched);
    match machine.lacks(Layer::Capabilities) {
        Some(why) => sandbox.state(Layer::Capabilities, LayerStatus::Missing(why.into())),
        None => sandbox.capabilities = true,
    }
    let builder = namespaces.as_ref().ok();
    if let Some(why) = machine.lacks(Layer::Landlock) {
        sandbox.notes.extend(left_open(roots, builder));
        sandbox.state(Layer::Landlock, LayerStatus::Missing(why.into()));
    } else {
        let rules = rules(profile, roots, &secrets, builder, &mut sandbox.notes)?;
        sandbox.without_landlock = left_open(roots, builder);
        sandbox.landlock = Some(rules);
    }
    if let Some(why) = machine.lacks(Layer::Seccomp) {
        sandbox.state(Layer::Seccomp, LayerStatus::Missing(why.into()));
    } else {
        sandbox.seccomp = Some(Seccomp {
            network: profile.network,
            ipc: namespaces.is_ok(),
            processes: namespaces.is_ok(),
        });
    }
    match namespaces {
        Ok(builder) => {
            let hidden: Vec<PathBuf> = roots.hidden.iter().chain(&secrets).cloned().collect();
            let roots = with_resolver(roots, profile);
            let mounts = mounts::mounts(
                &mounts::system(SYSTEM),
                &roots,
                &hidden,
                machine.home.as_deref(),
                &mounts::kind,
            );
            sandbox.namespaces = Some(Namespaces {
                builder,
                mounts: mounts.steps,
                network: profile.network,
            });
            sandbox.stubs = mounts.stubs;
            sandbox.state(Layer::Namespaces, LayerStatus::On);
        }
        Err(why) => {
            let watched = roots.protected.iter();
            let watched = watched.filter(|path| path.guard == Guard::Watch && path.is_absent());
            let watched = watched.map(|path| mounts::stub(&path.path, StubKind::Absent));
            sandbox.stubs = watched.collect();
            sandbox.state(Layer::Namespaces, LayerStatus::Missing(why));
        }
    }
    match identity {
        Ok(identity) => {
            sandbox.identity = Some(identity);
            sandbox.state(Layer::Identity, LayerStatus::On);
        }
        Err(state) => sandbox.state(Layer::Identity, state),
    }
    Ok(sandbox)
}

/// Chooses what builds the namespaces, or says why nothing can.
fn builder(machine: &Machine, profile: &Profile, roots: &Roots) -> Result<Builder, Box<str>> {
    if let Some(why) = machine.lacks(Layer::Namespaces) {
        return Err(why.into());
    }
    let Some(refusal) = &machine.kernel_refuses else {
        return Ok(Builder::Kernel);
    };
    match bwrap::find(&machine.bwrap, &roots.closed(&profile.cwd)) {
        Ok(program) => Ok(bwrap::builder(&program, &machine.helper)),
        Err(why) => Err(format!("{refusal}, and {why}").into()),
    }
}

fn rules(
    profile: &Profile,
    roots: &Roots,
    secrets: &[PathBuf],
    builder: Option<&Builder>,
    notes: &mut Vec<Note>,
) -> Result<Landlock, ExecError> {
    let namespaces = builder.is_some();
    let mut rules = Vec::new();
    let mut grant = |path: &Path, access| {
        rules.push(Rule {
            path: bytes(path),
            access,
        });
    };
    // Mounts cover secrets already, and protected paths except those they cannot cover.
    let hidden: Vec<PathBuf> = if namespaces {
        Vec::new()
    } else {
        roots.hidden.iter().chain(secrets).cloned().collect()
    };
    let mut closed = hidden.clone();
    match builder {
        Some(Builder::Kernel) => {}
        Some(Builder::Bwrap { .. }) => {
            closed.extend(mounts::links(&roots.protected).map(Path::to_owned));
        }
        None => {
            // Landlock keeps a path absent by allowing nothing to be created beside it. That is too
            // strict for a profile that names no protected path at all.
            let is_bare = profile.protected.is_empty();
            let held = roots.protected.iter().filter(|protected| {
                let is_optional = protected.guard == Guard::Watch || (protected.found && is_bare);
                !(is_optional && protected.is_absent())
            });
            closed.extend(held.map(|protected| protected.path.clone()));
        }
    }

    let system = SYSTEM
        .iter()
        .map(PathBuf::from)
        .filter(|path| path.is_dir() && !path.is_symlink());
    let roots_read = with_resolver(roots, profile).readable;
    let mut unlisted = Vec::new();
    for root in system
        .chain(roots_read)
        .chain(roots.writable.iter().cloned())
    {
        match around(&root, &hidden) {
            Ok(paths) => paths.iter().for_each(|path| grant(path, Access::Read)),
            Err(folder) => unlisted.push((root, folder)),
        }
    }
    for root in &roots.writable {
        match around(root, &closed) {
            Ok(paths) => paths.iter().for_each(|path| grant(path, Access::Write)),
            Err(folder) => unlisted.push((root.clone(), folder)),
        }
    }
    grant(Path::new("/proc"), Access::Read);
    if namespaces {
        grant(Path::new("/.prowess"), Access::Read);
        grant(Path::new("/dev"), Access::Device);
        grant(Path::new("/dev/shm"), Access::Write);
        grant(Path::new("/tmp"), Access::Write);
    } else {
        for device in DEVICES {
            grant(Path::new(device), Access::Device);
        }
    }
    // A folder that cannot be listed is not granted: too little is safe, but must be reported.
    for (path, folder) in unlisted {
        let why: Box<str> = format!(
            "`{}` cannot be listed, or has too many entries",
            folder.display()
        )
        .into();
        if profile.strength == Strength::Required {
            return Err(ExecError::Unprotectable { path, why });
        }
        notes.push(Note::Unprotected { path, why });
    }
    let least = if namespaces {
        LEAST_BESIDE_MOUNTS
    } else {
        LEAST_ALONE
    };
    Ok(Landlock {
        rules,
        network: profile.network,
        least,
    })
}

/// Lists what is open where Landlock is missing.
fn left_open(roots: &Roots, builder: Option<&Builder>) -> Vec<Note> {
    match builder {
        None => roots.unprotected("Landlock is missing"),
        Some(Builder::Kernel) => Vec::new(),
        Some(Builder::Bwrap { .. }) => mounts::links(&roots.protected)
            .map(|link| Note::Unprotected {
                path: link.to_owned(),
                why: "it is a link, and Landlock is missing".into(),
            })
            .collect(),
    }
}

/// Adds the file that names the DNS servers, if it is outside of the system's folders.
fn with_resolver(roots: &Roots, profile: &Profile) -> Roots {
    let mut roots = roots.clone();
    if profile.network
        && let Ok(resolver) = Path::new("/etc/resolv.conf").canonicalize()
        && !SYSTEM.iter().any(|folder| resolver.starts_with(folder))
    {
        roots.readable.push(resolver);
    }
    roots
}

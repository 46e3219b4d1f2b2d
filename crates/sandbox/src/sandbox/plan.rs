//! Linux: which layers there are, and what each is told.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use prowess_policy::profile::{Profile, Strength};

use super::paths::{Roots, around};
use super::{Machine, Sandbox, bwrap};
use crate::error::ExecError;
use crate::outcome::{Layer, Note, State};
use crate::spec::{Access, Landlock, Rule, Seccomp, bytes};

/// Folders of the system that every command may read.
pub(super) const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/nix/store",
];

/// What is in those folders and secret. Files of `/etc` itself that not everybody may read are
/// found by their mode.
const SECRET: &[&str] = &[
    "/etc/NetworkManager/system-connections",
    "/etc/docker",
    "/etc/krb5.keytab",
    "/etc/kubernetes",
    "/etc/letsencrypt",
    "/etc/openvpn",
    "/etc/ppp",
    "/etc/rancher",
    "/etc/security/opasswd",
    "/etc/ssl/private",
    "/etc/sudoers.d",
    "/etc/wireguard",
];

/// Devices that hold nothing.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
];

/// With namespaces, Landlock stands behind the mounts: cutting files short is the last thing it
/// learned that matters there. Without, it is also what keeps signals and abstract sockets in.
const LEAST_BEHIND_MOUNTS: u32 = 3;
const LEAST_ALONE: u32 = 6;

pub(super) fn linux(
    machine: &Machine,
    profile: &Profile,
    roots: &Roots,
    mut sandbox: Sandbox,
) -> Result<Sandbox, ExecError> {
    let required = profile.strength == Strength::Required;
    let namespaces = match machine.lacks(Layer::Namespaces) {
        Some(why) => Err(why.into()),
        None => bwrap::find(&machine.bwrap, &roots.closed(&profile.cwd)),
    };
    let identity = match (&namespaces, machine.lacks(Layer::Identity)) {
        (Ok(_), _) => Err(State::Off("namespaces stand in for it".into())),
        (Err(_), _) if !machine.root => Err(State::Off("only root can become another user".into())),
        (Err(_), Some(why)) => Err(State::Missing(why.into())),
        (Err(_), None) => Ok(machine.identity),
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

    let secrets = secrets();
    match machine.lacks(Layer::Capabilities) {
        Some(why) => sandbox.state(Layer::Capabilities, State::Missing(why.into())),
        None => sandbox.capabilities = true,
    }
    if let Some(why) = machine.lacks(Layer::Landlock) {
        sandbox.notes.extend(left_open(roots, namespaces.is_ok()));
        sandbox.state(Layer::Landlock, State::Missing(why.into()));
    } else {
        let rules = rules(
            profile,
            roots,
            &secrets,
            namespaces.is_ok(),
            &mut sandbox.notes,
        )?;
        sandbox.without_landlock = left_open(roots, namespaces.is_ok());
        sandbox.landlock = Some(rules);
    }
    if let Some(why) = machine.lacks(Layer::Seccomp) {
        sandbox.state(Layer::Seccomp, State::Missing(why.into()));
    } else {
        sandbox.seccomp = Some(Seccomp {
            network: profile.network,
        });
    }
    match namespaces {
        Ok(program) => {
            let hidden: Vec<PathBuf> = roots.hidden.iter().chain(&secrets).cloned().collect();
            let home = machine.home.as_deref();
            let roots = with_resolver(roots, profile);
            let (arguments, stubs) = bwrap::arguments(
                &program,
                &roots,
                &hidden,
                profile.network,
                home,
                &machine.helper,
            );
            sandbox.namespaces = Some(arguments);
            sandbox.stubs = stubs;
            sandbox.state(Layer::Namespaces, State::On);
        }
        Err(why) => sandbox.state(Layer::Namespaces, State::Missing(why)),
    }
    match identity {
        Ok(identity) => {
            sandbox.identity = Some(identity);
            sandbox.state(Layer::Identity, State::On);
        }
        Err(state) => sandbox.state(Layer::Identity, state),
    }
    Ok(sandbox)
}

fn rules(
    profile: &Profile,
    roots: &Roots,
    secrets: &[PathBuf],
    namespaces: bool,
    notes: &mut Vec<Note>,
) -> Result<Landlock, ExecError> {
    let mut rules = Vec::new();
    let mut grant = |path: &Path, access| {
        rules.push(Rule {
            path: bytes(path),
            access,
        });
    };
    // Behind mounts, secrets are covered already, and protected paths but for links.
    let hidden: Vec<PathBuf> = if namespaces {
        Vec::new()
    } else {
        roots.hidden.iter().chain(secrets).cloned().collect()
    };
    let protected = roots
        .protected
        .iter()
        .filter(|protected| !namespaces || protected.link);
    let closed: Vec<PathBuf> = protected
        .map(|protected| protected.path.clone())
        .chain(hidden.iter().cloned())
        .collect();

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
        grant(Path::new("/dev"), Access::Device);
        grant(Path::new("/dev/shm"), Access::Write);
        grant(Path::new("/tmp"), Access::Write);
    } else {
        for device in DEVICES {
            grant(Path::new(device), Access::Device);
        }
    }
    // What cannot be granted round is not granted: too little is safe, but must be known.
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
        LEAST_BEHIND_MOUNTS
    } else {
        LEAST_ALONE
    };
    Ok(Landlock {
        rules,
        network: profile.network,
        least,
    })
}

/// What is open where Landlock is missing.
fn left_open(roots: &Roots, namespaces: bool) -> Vec<Note> {
    if !namespaces {
        return roots.unprotected("Landlock is missing");
    }
    let links = roots.protected.iter().filter(|protected| protected.link);
    links
        .map(|link| Note::Unprotected {
            path: link.path.clone(),
            why: "it is a link, and Landlock is missing".into(),
        })
        .collect()
}

/// The roots, and where the names of the internet are asked for, if that is elsewhere.
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

/// What is secret in the system's folders, as far as it exists.
fn secrets() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = SECRET
        .iter()
        .map(PathBuf::from)
        .filter(|path| path.exists())
        .collect();
    let entries = |folder| std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries("/etc") {
        let facts = entry.metadata();
        if facts.is_ok_and(|f| !f.is_symlink() && f.permissions().mode() & 0o004 == 0) {
            found.push(entry.path());
        }
    }
    for entry in entries("/etc/ssh") {
        if entry.file_name().as_encoded_bytes().ends_with(b"_key") {
            found.push(entry.path());
        }
    }
    found
}

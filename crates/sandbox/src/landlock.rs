//! Landlock: files that may be read and written; no TCP, signals or abstract sockets to the outside.

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus,
    PathBeneath, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
    make_bitflags,
};
use rustix::fs::{CWD, FileType, Mode, OFlags};

use crate::protocol::{self, Access, Landlock};

/// The newest known interface. Rights that an older kernel lacks are left out.
const NEWEST: ABI = ABI::V9;

/// Reading and running.
const READ: BitFlags<AccessFs> = make_bitflags!(AccessFs::{Execute | ReadFile | ReadDir});

/// Applies the rules to this thread.
pub(crate) fn apply(rules: &Landlock) -> Result<(), Box<str>> {
    let text = |error: RulesetError| -> Box<str> { error.to_string().into() };
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))
        .map_err(text)?
        .scope(Scope::from_all(NEWEST))
        .map_err(text)?;
    if !rules.network {
        ruleset = ruleset
            .handle_access(AccessNet::from_all(NEWEST))
            .map_err(text)?;
    }
    let mut created = ruleset.create().map_err(text)?;
    for rule in &rules.rules {
        // A path that does not exist or cannot be reached needs no rule.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(fd) = rustix::fs::openat(CWD, protocol::path(&rule.path), flags, Mode::empty())
        else {
            continue;
        };
        let Ok(facts) = rustix::fs::fstat(&fd) else {
            continue;
        };
        let access = match (rule.access, FileType::from_raw_mode(facts.st_mode)) {
            (_, FileType::Symlink) => continue,
            (access, FileType::Directory) => rights(access),
            (access, _) => rights(access) & AccessFs::from_file(NEWEST),
        };
        created = created
            .add_rule(PathBeneath::new(fd, access))
            .map_err(text)?;
    }
    let status = created.restrict_self().map_err(text)?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err("the kernel has no Landlock, or it is switched off".into());
    }
    let version = match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => effective_abi as u32,
        _ => 0,
    };
    if version < rules.least {
        let least = rules.least;
        return Err(format!(
            "the kernel supports Landlock version {version}, but version {least} is required"
        )
        .into());
    }
    Ok(())
}

fn rights(access: Access) -> BitFlags<AccessFs> {
    // Creating devices and sending commands to them is never granted.
    let never = make_bitflags!(AccessFs::{MakeChar | MakeBlock | IoctlDev});
    match access {
        Access::Read => READ,
        Access::Write => (READ | AccessFs::from_write(NEWEST)) & !never,
        Access::Device => {
            make_bitflags!(AccessFs::{ReadFile | ReadDir | WriteFile | Truncate | IoctlDev})
        }
    }
}

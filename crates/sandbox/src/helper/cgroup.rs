//! A control group for a command that runs as root, whose number of processes nothing else limits.
//! It also ends them all at once.
//!
//! Joining one takes longer than the rest of a run (10 to 16 ms were measured: the kernel waits for
//! every processor), so a command with another user gets none.

use std::path::{Path, PathBuf};

use crate::protocol::Spec;

/// The groups of the command.
pub(super) struct Group {
    folders: Vec<PathBuf>,
    limits: bool,
}

impl Group {
    /// Creates the groups that can be created.
    pub(super) fn new(spec: &Spec) -> Self {
        let mut group = Self {
            folders: Vec::new(),
            limits: false,
        };
        if super::stage::limits_processes(spec) {
            return group;
        }
        let name = format!("prowess-{}", rustix::process::getpid().as_raw_nonzero());
        for parent in own_groups() {
            let folder = parent.join(&name);
            if std::fs::create_dir(&folder).is_err() {
                continue;
            }
            // The outer and the first process of the namespace count too.
            let most = spec.limits.processes.saturating_add(3).to_string();
            let limits = std::fs::write(folder.join("pids.max"), most).is_ok();
            group.limits |= limits;
            // A process namespace ends with its first process and needs no group for that.
            if limits || spec.namespaces.is_none() {
                group.folders.push(folder);
            } else {
                let _ = std::fs::remove_dir(&folder);
            }
        }
        group
    }

    pub(super) fn limits_processes(&self) -> bool {
        self.limits
    }

    /// Moves this process into the groups.
    pub(super) fn join(&self) {
        for folder in &self.folders {
            let _ = std::fs::write(folder.join("cgroup.procs"), "0");
        }
    }

    /// Ends every process in the groups, if the kernel supports it.
    pub(super) fn kill(&self) {
        for folder in &self.folders {
            let _ = std::fs::write(folder.join("cgroup.kill"), "1");
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for folder in &self.folders {
            // The last process may still be exiting.
            for _ in 0..50 {
                match std::fs::remove_dir(folder) {
                    Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    }
                    _ => break,
                }
            }
        }
    }
}

/// Returns the folders of this process's groups: in the unified tree and in the one for processes.
fn own_groups() -> Vec<PathBuf> {
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    groups(&own, &mounts)
}

fn groups(own: &str, mounts: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(number), Some(kinds), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let unified = number == "0" && kinds.is_empty();
        if !unified && !kinds.split(',').any(|kind| kind == "pids") {
            continue;
        }
        let mount = mounts.lines().find_map(|line| {
            let (left, right) = line.split_once(" - ")?;
            let mut right = right.split(' ');
            let kind = right.next()?;
            let options = right.nth(1).unwrap_or("");
            let fits = if unified {
                kind == "cgroup2"
            } else {
                kind == "cgroup" && options.split(',').any(|option| option == "pids")
            };
            fits.then(|| left.split(' ').nth(4)).flatten()
        });
        if let Some(mount) = mount {
            found.push(Path::new(mount).join(path.trim_start_matches('/')));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_both_trees() {
        let own = "8:pids:/a\n4:memory:/b\n0::/c d\n";
        let mounts = "30 1 0:25 / /sys/fs/cgroup/pids rw shared:1 - cgroup cgroup rw,pids\n\
                      31 1 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup rw\n";
        let expected = ["/sys/fs/cgroup/pids/a", "/sys/fs/cgroup/unified/c d"];
        assert_eq!(groups(own, mounts), expected.map(PathBuf::from));
        assert!(groups("", mounts).is_empty() && groups(own, "").is_empty());
    }
}

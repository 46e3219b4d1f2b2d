//! Commands that change packages, killed at random moments: the next command finds the old state or
//! the new one.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use prowess_package::store::{PackageStore, TreeState};
use prowess_registry::digest_of;
use prowess_test::wait_for_exit;

use crate::package_locks::{read, repository};
use crate::packages_journey::git;
use crate::world::World;

/// Number of kills.
const KILLS: usize = 200;
/// Number of projects at once.
const AT_ONCE: usize = 2;
/// Maximum number of starts of one command that is to be killed.
const MOST_STARTS: usize = 100;
/// Fixes the delays.
const SEED: &str = "PROWESS_KILL_SEED";

const LOCK: &str = ".agents/prowess.lock";
const MANIFEST: &str = ".agents/prowess.toml";

/// A command that is killed, and how to return to the state before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KilledCommand {
    Add,
    Update,
    Rollback,
    Vendor,
    Sync,
    Fork,
    Remove,
}

const COMMANDS: [KilledCommand; 7] = [
    KilledCommand::Add,
    KilledCommand::Update,
    KilledCommand::Rollback,
    KilledCommand::Vendor,
    KilledCommand::Sync,
    KilledCommand::Fork,
    KilledCommand::Remove,
];

/// Everything that a command changes in the project.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ProjectState {
    manifest: String,
    lock: String,
    entries: BTreeMap<String, (bool, String)>,
    others: Vec<String>,
}

struct Project {
    world: World,
    source: String,
}

impl Project {
    /// Creates a project with the package `csv`.
    fn new() -> Self {
        let world = World::new();
        let source = format!("{}@main", repository(&world));
        world.run(&["add", &source, "csv"]).expect(0);
        Self { world, source }
    }

    fn state(&self) -> ProjectState {
        let mut entries = BTreeMap::new();
        for entry in fs::read_dir(self.world.path(".agents/skills")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            entries.insert(name, (path.is_symlink(), digest_of(&path).unwrap()));
        }
        let all = fs::read_dir(self.world.path(".agents")).unwrap();
        let mut others: Vec<String> = all
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        others.sort();
        ProjectState {
            manifest: read(&self.world, MANIFEST),
            lock: read(&self.world, LOCK),
            entries,
            others,
        }
    }

    /// Lets the branch of the source point to the first or the second version.
    fn branch(&self, tag: &str) {
        let folder = self.world.path("../repo");
        git(&folder, &["update-ref", "refs/heads/main", tag]);
    }

    fn arguments(&self, command: KilledCommand) -> Vec<&str> {
        match command {
            KilledCommand::Add => vec!["add", &self.source, "pdf"],
            KilledCommand::Update => vec!["update", "--accept-power"],
            KilledCommand::Rollback => vec!["rollback"],
            KilledCommand::Vendor | KilledCommand::Sync => vec!["sync"],
            KilledCommand::Fork => vec!["fork", "pdf"],
            KilledCommand::Remove => vec!["remove", "pdf"],
        }
    }

    /// Brings the project from the state with `csv` only to the state before a command.
    fn prepare(&self, command: KilledCommand) {
        self.branch("v1.0.0");
        if command == KilledCommand::Add {
            return;
        }
        self.world.run(&["add", &self.source, "pdf"]).expect(0);
        match command {
            KilledCommand::Update => self.branch("v1.1.0"),
            KilledCommand::Rollback => {
                self.branch("v1.1.0");
                self.world.run(&["update", "--accept-power"]).expect(0);
            }
            KilledCommand::Vendor => {
                let text = read(&self.world, MANIFEST);
                self.world
                    .file(MANIFEST, format!("{text}\n[install]\nvendor = true\n"));
            }
            KilledCommand::Sync => self.lose_files(),
            KilledCommand::Add | KilledCommand::Fork | KilledCommand::Remove => {}
        }
    }

    /// Removes the entries, the store and the cache: another machine, after a clone.
    fn lose_files(&self) {
        for name in ["csv", "pdf"] {
            let _ = fs::remove_file(self.world.path(".agents/skills").join(name));
        }
        let store = self.store();
        remove(store.root());
    }

    /// Brings the project back to the state before a command that was completed.
    fn undo(&self, command: KilledCommand, before: &ProjectState) {
        match command {
            KilledCommand::Add => drop(self.world.run(&["remove", "pdf"]).expect(0)),
            KilledCommand::Update => drop(self.world.run(&["rollback"]).expect(0)),
            KilledCommand::Rollback => {
                drop(self.world.run(&["update", "--accept-power"]).expect(0));
            }
            KilledCommand::Vendor => {
                let links = before.manifest.replace("vendor = true", "vendor = false");
                self.world.file(MANIFEST, links);
                self.world.run(&["sync"]).expect(0);
                self.world.file(MANIFEST, &before.manifest);
            }
            KilledCommand::Sync => self.lose_files(),
            KilledCommand::Fork => {
                remove(&self.world.path(".agents/skills/pdf"));
                self.world.file(MANIFEST, &before.manifest);
                self.world.file(LOCK, &before.lock);
                self.world.run(&["sync"]).expect(0);
            }
            KilledCommand::Remove => {
                drop(self.world.run(&["add", &self.source, "pdf"]).expect(0));
            }
        }
    }

    fn store(&self) -> PackageStore {
        let all = find(&self.world.path("~"), "store");
        PackageStore::new(all.unwrap().parent().unwrap())
    }

    /// Starts a command and kills it after a delay. Returns `true` if it was killed.
    fn kill(&self, command: KilledCommand, delay: Duration) -> bool {
        let mut child = Command::new(env!("CARGO_BIN_EXE_prowess"))
            .args(self.arguments(command))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.world.path("~"))
            .env("PROWESS_HOME", self.world.path("~"))
            .current_dir(self.world.path(""))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (_sender, never) = mpsc::channel::<()>();
        let _ = never.recv_timeout(delay);
        let _ = child.kill();
        wait_for_exit(&mut child).code().is_none()
    }

    /// Checks what must hold after each kill. Returns the state.
    fn check(&self) -> ProjectState {
        // Any command that reads completes or undoes what was interrupted.
        let output = self.world.run(&["verify"]);
        assert!([0, 1].contains(&output.code), "{}", output.snapshot());
        assert_eq!(find(&self.world.path("~"), "journal"), None);
        let store = self.store();
        for digest in store.digests().unwrap() {
            assert_eq!(store.verify(&digest).unwrap(), TreeState::Whole, "{digest}");
        }
        self.state()
    }
}

/// Returns the first path below a folder whose last part has this name.
fn find(root: &Path, name: &str) -> Option<PathBuf> {
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name() == name {
                return Some(entry.path());
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
        }
    }
    None
}

/// Removes a folder whose folders are read-only.
fn remove(path: &Path) {
    let mut open = vec![path.to_owned()];
    while let Some(folder) = open.pop() {
        let _ = fs::set_permissions(&folder, PermissionsExt::from_mode(0o755));
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        open.extend(
            entries
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path()),
        );
    }
    let _ = fs::remove_dir_all(path);
}

/// A seeded pseudo-random number generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}

/// The number of kills, and of those after which the new state was there.
#[derive(Clone, Copy, Debug, Default)]
struct KillCounts {
    kills: usize,
    completed: usize,
}

/// Kills one command at several moments, in a project of its own.
fn killed(
    command: KilledCommand,
    random: &mut Random,
    most: usize,
    total: &AtomicUsize,
) -> KillCounts {
    let project = Project::new();
    project.prepare(command);
    let before = project.state();
    let mut after = None;
    let mut longest = 0;
    // The second time, the source is in the cache.
    for _ in 0..2 {
        let start = Instant::now();
        project.world.run(&project.arguments(command)).expect(0);
        longest = u64::try_from(start.elapsed().as_micros()).unwrap();
        after = Some(project.check());
        project.undo(command, &before);
    }
    let after = after.unwrap();
    assert_ne!(before, after, "{command:?}");
    let mut counts = KillCounts::default();
    for _ in 0..MOST_STARTS {
        if counts.kills >= most || total.load(Ordering::SeqCst) >= KILLS {
            break;
        }
        assert_eq!(project.state(), before, "{command:?}");
        // Half of them near the end, where the state changes.
        let earliest = if random.below(2) == 0 {
            longest * 2 / 3
        } else {
            0
        };
        let delay = earliest + random.below(longest - earliest);
        let was_killed = project.kill(command, Duration::from_micros(delay));
        let now = project.check();
        if was_killed {
            counts.kills += 1;
            total.fetch_add(1, Ordering::SeqCst);
        }
        if now == after {
            counts.completed += usize::from(was_killed);
            project.undo(command, &before);
        } else {
            assert_eq!(now, before, "{command:?}");
            assert!(was_killed, "{command:?} ended without the new state");
        }
    }
    counts
}

#[test]
fn commands_killed_at_random_moments_leave_the_old_or_the_new_state() {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = std::env::var(SEED).ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(now.unwrap().subsec_nanos()) | 1);
    eprintln!("seed {seed} (repeat with {SEED}={seed})");
    let total = AtomicUsize::new(0);
    let sums = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE)
            .map(|worker| {
                let total = &total;
                scope.spawn(move || {
                    let mut random =
                        Random(seed ^ (worker as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
                    let mut sums = BTreeMap::new();
                    // Both go through all commands, from another one.
                    let most = KILLS.div_ceil(COMMANDS.len() * AT_ONCE);
                    for number in 0..COMMANDS.len() {
                        let position = (number + worker * 3) % COMMANDS.len();
                        let counts = killed(COMMANDS[position], &mut random, most, total);
                        sums.insert(position, counts);
                    }
                    sums
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .collect::<Vec<_>>()
    });
    for (position, command) in COMMANDS.iter().enumerate() {
        let of = |count: fn(&KillCounts) -> usize| -> usize {
            sums.iter()
                .filter_map(|sums| sums.get(&position))
                .map(count)
                .sum()
        };
        eprintln!(
            "{command:?}: {} kills, {} with the new state",
            of(|counts| counts.kills),
            of(|counts| counts.completed)
        );
    }
    assert!(total.into_inner() >= KILLS, "too few kills");
}

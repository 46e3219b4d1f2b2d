//! What package commands start, write and fetch, seen from outside: traced, with a git that counts, and
//! without git.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::package_locks::{listing, read, repository};
use crate::packages_journey::git;
use crate::world::World;

/// Commands that change packages, each followed by the arguments. `SOURCE` is the repository.
const COMMANDS: [&[&str]; 12] = [
    &["add", "SOURCE", "pdf", "csv"],
    &["add", "--user", "SOURCE", "xml"],
    &["lock"],
    &["sync"],
    &["verify"],
    &["outdated"],
    &["link", "claude-code"],
    &["update", "--accept-power"],
    &["remove", "csv"],
    &["rollback"],
    &["fork", "pdf"],
    &["store", "prune"],
];

/// Creates a repository whose skill, hooks and attributes leave a mark if anything of them runs.
fn hostile(world: &World) -> String {
    let source = repository(world);
    let mark = format!("#!/bin/sh\ntouch {}\n", world.path("../mark").display());
    for branch in ["next", "main"] {
        let folder = world.path("../repo");
        git(&folder, &["checkout", "-q", branch]);
        for name in ["install.sh", "setup.py", "postinstall"] {
            world.file_with_mode(&format!("../repo/skills/pdf/scripts/{name}"), &mark, 0o755);
        }
        world.file("../repo/.gitattributes", "* filter=run diff=run\n");
        world.file("../repo/skills/pdf/.gitattributes", "* filter=run\n");
        git(&folder, &["add", "-A"]);
        git(&folder, &["commit", "-qm", "hostile"]);
    }
    for hook in [
        "post-checkout",
        "post-merge",
        "post-update",
        "pre-receive",
        "reference-transaction",
    ] {
        world.file_with_mode(&format!("../repo/.git/hooks/{hook}"), &mark, 0o755);
    }
    format!("{source}@main")
}

/// The lines of a trace: a process starts a program, or changes a path.
#[derive(Debug, Default)]
struct Trace {
    /// Programs that the command started, by their last part. What git starts is git's.
    programs: BTreeSet<String>,
    written: BTreeSet<PathBuf>,
}

/// Runs a command under `strace`. `None` if the machine has none that works.
fn trace(world: &World, arguments: &[&str]) -> Option<Trace> {
    let log = world.path("../trace");
    let calls = "trace=execve,execveat,clone,clone3,fork,vfork,open,openat,creat,rename,renameat,renameat2,mkdir,mkdirat,\
        symlink,symlinkat,link,linkat,unlink,unlinkat,rmdir,chmod,fchmodat,truncate,utimensat";
    let status = Command::new("strace")
        .args(["-f", "-qq", "-y", "-s", "4096", "-e", calls, "-o"])
        .arg(&log)
        .arg("--")
        .arg(env!("CARGO_BIN_EXE_prowess"))
        .args(arguments)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", world.path("~"))
        .env("PROWESS_HOME", world.path("~"))
        .current_dir(world.path(""))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let code = status.ok()?.code();
    let text = fs::read_to_string(&log).unwrap_or_default();
    if !text.contains("execve(") {
        return None;
    }
    assert!(matches!(code, Some(0 | 1)), "{arguments:?}: {code:?}");
    let _ = fs::remove_file(&log);
    Some(parse(&text, &world.path("")))
}

/// Reads a trace with the paths of descriptors (`-y`). Calls that failed do not count, and neither
/// do files that are opened for reading.
fn parse(text: &str, current: &Path) -> Trace {
    let mut trace = Trace::default();
    let parents = parents(text);
    let mut programs: BTreeMap<&str, String> = BTreeMap::new();
    for line in text.lines() {
        let Some((name, rest)) = line
            .split_once(' ')
            .map(|(_, call)| call.trim_start())
            .and_then(|call| call.split_once('('))
        else {
            continue;
        };
        // A call that another one interrupted in the log counts.
        let end = rest.rsplit_once(" = ").map(|(_, end)| end);
        let has_failed = end.is_some_and(|end| end.starts_with('-'));
        if has_failed {
            continue;
        }
        let paths: Vec<&str> = rest.split('"').skip(1).step_by(2).collect();
        if paths.is_empty() {
            continue;
        }
        match name {
            "execve" | "execveat" => {
                let process = line.split(' ').next().unwrap();
                let mut starter = Some(process);
                while let Some(one) = starter.filter(|one| !programs.contains_key(one)) {
                    starter = parents.get(one).copied();
                }
                let is_first = starter.is_none_or(|one| programs[one] == "prowess");
                let program = Path::new(paths[0]).file_name().unwrap();
                let program = program.to_string_lossy().into_owned();
                if is_first {
                    trace.programs.insert(program.clone());
                }
                programs.insert(process, program);
            }
            "clone" | "clone3" | "fork" | "vfork" => {}
            "open" | "openat" | "creat" => {
                let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"];
                if name == "creat" || writes.iter().any(|flag| rest.contains(flag)) {
                    trace.written.insert(absolute(paths[0], rest, current));
                }
            }
            // The last path is the one that is made; the first of a link is its target.
            _ => {
                let path = paths.last().unwrap();
                trace.written.insert(absolute(path, rest, current));
            }
        }
    }
    trace
}

/// Returns the parent of each process and thread.
fn parents(text: &str) -> BTreeMap<&str, &str> {
    let mut parents = BTreeMap::new();
    for line in text.lines() {
        let Some((process, call)) = line.split_once(' ') else {
            continue;
        };
        let names = ["clone", "fork", "vfork"];
        let call = call.trim_start().trim_start_matches("<... ");
        if names.iter().any(|name| call.starts_with(name))
            && let Some((_, child)) = call.rsplit_once(" = ")
        {
            parents.insert(child.split(' ').next().unwrap(), process);
        }
    }
    parents
}

/// Returns a path of a call, which may be relative to a folder that the call names.
fn absolute(path: &str, rest: &str, current: &Path) -> PathBuf {
    if path.starts_with('/') {
        return path.into();
    }
    let before = rest
        .split(&format!("\"{path}\""))
        .next()
        .unwrap_or_default();
    let folder = before
        .rsplit_once('<')
        .and_then(|(_, folder)| folder.split_once('>'))
        .map_or(current, |(folder, _)| Path::new(folder));
    folder.join(path)
}

/// `24` and `25`: traced, every command starts nothing but git, and writes nothing but the store, the
/// cache, the state, the manifest, the lockfile and the folders of skills.
#[test]
fn only_git_starts_and_nothing_else_is_written() {
    let world = World::new();
    let source = hostile(&world);
    let is_allowed = |path: &Path| {
        let own = [".agents", ".claude/skills", ".claude"].map(|folder| world.path(folder));
        let home = world.path("~");
        let place = [
            "data", "cache", "state", "config", ".agents", ".local", ".cache", ".config",
        ];
        let is_home = place
            .iter()
            .any(|folder| path.starts_with(home.join(folder)));
        // The manifest and the lockfile of the person are in this home, and so are their new versions.
        let is_new_version = path.parent() == Some(&*home)
            && path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(".prowess-part-"));
        let is_manifest = ["config.toml", "prowess.lock"].map(|name| home.join(name));
        is_new_version
            || is_manifest.iter().any(|file| file == path)
            || own.iter().any(|folder| path.starts_with(folder))
            || is_home
            || path.starts_with("/dev/")
            || path.starts_with("/proc/self")
    };
    let mut traced = 0;
    let outside = || {
        (
            listing(&world.path("../repo/skills")),
            world.path("../mark").exists(),
        )
    };
    let before = outside();
    for arguments in COMMANDS {
        let arguments: Vec<&str> = arguments
            .iter()
            .map(|word| if *word == "SOURCE" { &*source } else { word })
            .collect();
        let Some(trace) = trace(&world, &arguments) else {
            world.run(&arguments);
            continue;
        };
        traced += 1;
        let programs: Vec<&str> = trace.programs.iter().map(String::as_str).collect();
        let is_git = |name: &&str| *name == "prowess" || *name == "git" || name.starts_with("git-");
        assert!(programs.iter().all(is_git), "{arguments:?}: {programs:?}");
        for path in &trace.written {
            assert!(is_allowed(path), "{arguments:?} writes {}", path.display());
        }
    }
    assert_eq!(
        outside(),
        before,
        "the source is unchanged, and nothing of it ran"
    );
    let top: BTreeSet<PathBuf> = listing(&world.path("")).into_keys().collect();
    let known = [".agents", ".claude", ".git"];
    let is_known = |path: &PathBuf| known.iter().any(|folder| path.starts_with(folder));
    assert!(top.iter().all(is_known), "{top:?}");
    if traced == 0 {
        prowess_test::harness::not_run("tracing: no `strace`", "PROWESS_TEST_REQUIRE_STRACE");
    }
}

/// Puts a git in a folder of its own that records its arguments.
fn counting_git(world: &World) -> (String, PathBuf) {
    let log = world.path("../git-log");
    let path = std::env::var_os("PATH").unwrap();
    let real = std::env::split_paths(&path)
        .map(|folder| folder.join("git"))
        .find(|git| git.is_file())
        .unwrap();
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> {}\nexec {} \"$@\"\n",
        log.display(),
        real.display()
    );
    world.file_with_mode("../counting/git", script, 0o755);
    let folders = format!("{}:/usr/bin:/bin", world.path("../counting").display());
    (folders, log)
}

/// `29`: what the store has is not fetched again.
#[test]
fn second_add_of_the_same_bytes_fetches_nothing() {
    let world = World::new();
    let source = repository(&world);
    let (path, log) = counting_git(&world);
    let fetches = |arguments: &[&str]| {
        let _ = fs::remove_file(&log);
        world.command(arguments).env("PATH", &path).run().expect(0);
        let text = fs::read_to_string(&log).unwrap_or_default();
        let words = |line: &&str| line.split(' ').any(|word| word == "fetch");
        text.lines().filter(words).count()
    };
    let main = format!("{source}@main");
    assert_eq!(fetches(&["add", &main, "pdf"]), 1);
    let lock = read(&world, ".agents/prowess.lock");
    assert_eq!(fetches(&["add", &main, "pdf"]), 0);
    assert_eq!(fetches(&["sync"]), 0);
    assert_eq!(
        fetches(&["add", &main, "csv"]),
        0,
        "the commit is in the cache"
    );
    assert_eq!(fetches(&["remove", "csv"]), 0);
    assert_eq!(read(&world, ".agents/prowess.lock"), lock);
    // Another project of the same person.
    world.folder("../other");
    let _ = fs::remove_file(&log);
    world
        .command(&["add", &main, "pdf"])
        .dir("../other")
        .env("PATH", &path)
        .run()
        .expect(0);
    let text = fs::read_to_string(&log).unwrap();
    assert!(!text.lines().any(|line| line.contains(" fetch ")), "{text}");
}

/// `30`: with a full store, neither a network nor git is needed.
#[test]
fn offline_sync_needs_no_git() {
    let world = World::new();
    let source = repository(&world);
    world
        .run(&["add", &format!("{source}@main"), "pdf", "csv"])
        .expect(0);
    fs::rename(world.path("../repo"), world.path("../gone")).unwrap();
    let empty = world.folder("../empty");
    let run = |arguments: &[&str]| {
        world
            .command(arguments)
            .env("PATH", empty.as_os_str())
            .run()
    };
    for _ in 0..2 {
        run(&["sync", "--offline"]).expect(0);
        run(&["verify"]).expect(0);
        fs::remove_file(world.path(".agents/skills/pdf")).unwrap();
        fs::remove_file(world.path(".agents/skills/csv")).unwrap();
    }
    run(&["sync", "--offline", "--frozen"]).expect(0);
    run(&["verify"]).expect(0);
    let without = run(&["add", &source, "xml", "--offline"]);
    assert_eq!(without.code, 2, "{}", without.snapshot());
}

/// `28`: eight processes add, and eight sync, at once.
#[test]
fn eight_processes_add_and_sync_at_once() {
    let world = World::new();
    let folder = world.path("../repo");
    for number in 0..8 {
        let name = format!("s{number}");
        let text = crate::package_locks::skill(&name, "1.0.0", &name);
        world.file(format!("../repo/{name}/SKILL.md"), text);
    }
    git(&folder, &["init", "-q", "."]);
    git(&folder, &["add", "-A"]);
    git(&folder, &["commit", "-qm", "one"]);
    let source = format!("git+file://{}@main", folder.display());
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (world, source) = (&world, &source);
            scope.spawn(move || world.run(&["add", source, &format!("s{number}")]).expect(0));
            scope.spawn(move || world.run(&["sync"]).expect(0));
        }
    });
    let verified = world.run(&["verify", "--json"]).expect(0).json();
    assert_eq!(verified["packages"], 8);
    world.run(&["sync", "--frozen"]).expect(0);
    let lock = read(&world, ".agents/prowess.lock");
    let manifest = read(&world, ".agents/prowess.toml");
    for number in 0..8 {
        let name = format!("s{number}");
        assert!(lock.contains(&format!("name = \"{name}\"")), "{lock}");
        assert!(manifest.contains(&name), "{manifest}");
        assert!(world.exists(format!(".agents/skills/{name}/SKILL.md")));
    }
    let others = fs::read_dir(world.path(".agents")).unwrap().count();
    assert_eq!(others, 3, "nothing is left over");
}

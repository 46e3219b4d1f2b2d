//! Measures package operations, each compared with the least that the same work takes.
//!
//! Like `bench`: every job runs in its own process, a job follows its baseline, and ratios are computed
//! within a round. The world is in the temporary folder; on a slow disk, set `TMPDIR=/dev/shm`, because
//! operations sync their files and baselines do not.

use std::ffi::OsString;
use std::fs;
use std::hint::black_box;
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use prowess_catalog::Precedence;
use prowess_package::LockFile;
use prowess_package::lock::LockedPackage;
use prowess_package::operations::{
    AddRequest, PackFormat, PackageContext, SyncOptions, apply, outdated, pack, plan_add,
    plan_sync, verify,
};
use prowess_package::pins::{LockPins, PinScope};
use prowess_package::project::PackageScope;
use prowess_package::source::{DEFAULT_SHORTHAND, PackageSource, SourceOrigin};
use prowess_package::store::PackageStore;
use prowess_registry::{FileOptions, FileSource, Place, Registry};
use prowess_tools::SkillSnapshot;
use prowess_trust::{ChangedPackage, TrustKind, TrustStore};
use sha2::{Digest, Sha256};

use crate::bench::{median, millis, peak_memory, run_job, skill_folders};

const ROUNDS: usize = 5;
/// Number of repositories of `outdated`.
const REPOSITORIES: usize = 50;
/// The delay of the slowest of them, as of a distant server, and of the others, in seconds.
const SLOWEST: &str = "2";
const OTHERS: &str = "0.02";
/// Number of skills that are added from one repository.
const ADDED: usize = 344;

/// Jobs, each after its baseline, with the goal of the ratio.
const JOBS: [(&str, &str, Option<f64>); 20] = [
    ("link", "make links in a loop", None),
    (
        "sync-links",
        "sync: store full, all links to make",
        Some(2.0),
    ),
    (
        "lock-stat",
        "read the lockfile, one lstat for each package",
        None,
    ),
    ("sync-nothing", "sync: nothing to do", Some(3.0)),
    ("copy", "cp -r --reflink=auto", None),
    ("sync-vendor", "sync with copies: store full", Some(1.3)),
    ("hash", "read and hash on as many threads", None),
    ("verify", "verify", Some(1.2)),
    ("sha256sum", "sha256sum", None),
    ("verify-again", "verify", Some(1.0)),
    ("activate", "read skills with trust, without lockfile", None),
    (
        "activate-locked",
        "the same, checked against the lockfile",
        Some(1.02),
    ),
    ("toml", "toml to a tree: 1,000 packages, 10,000 files", None),
    ("lock", "read the lockfile", Some(1.5)),
    ("ls-remote", "the slowest of 50 repositories", None),
    ("outdated", "outdated: 50 repositories", Some(1.5)),
    ("tar", "tar and gzip -6", None),
    ("pack", "pack", Some(1.2)),
    (
        "fetch",
        "git fetch, cat-file --batch of the same objects",
        None,
    ),
    ("add", "add: 344 skills of one repository", Some(1.3)),
];

pub(crate) fn run(corpus: &Path, skills: usize) -> Result<()> {
    let world = tempfile::tempdir()?;
    let bench = Bench::at(world.path());
    bench.prepare(corpus, skills)?;
    println!("{skills} packages, {ROUNDS} rounds; medians\n");
    let mut times = vec![Vec::new(); JOBS.len()];
    let mut ratios = vec![Vec::new(); JOBS.len()];
    let mut memory = vec![0; JOBS.len()];
    for round in 0..=ROUNDS {
        let mut limit = 1.0;
        for (number, (job, _, goal)) in JOBS.iter().enumerate() {
            let arguments = [
                "bench-packages-job".as_ref(),
                (*job).as_ref(),
                world.path().as_os_str(),
            ];
            let (time, peak) = run_job(&arguments).with_context(|| format!("{job} failed"))?;
            if goal.is_none() {
                limit = time.as_secs_f64();
            }
            // The first round warms the caches.
            if round > 0 {
                times[number].push(time);
                ratios[number].push(time.as_secs_f64() / limit);
                memory[number] = peak.max(memory[number]);
            }
        }
    }
    println!(
        "{:<52} {:>10} {:>7} {:>6} {:>9}",
        "job", "time", "ratio", "goal", "memory"
    );
    let mut missed = 0;
    for (number, (_, title, goal)) in JOBS.iter().enumerate() {
        let time = median(times[number].iter().map(Duration::as_secs_f64).collect());
        let ratio = median(ratios[number].clone());
        let shown = goal.map_or_else(String::new, |goal| format!("{goal:.2}"));
        let mark = if goal.is_some_and(|goal| ratio > goal) {
            missed += 1;
            " *"
        } else {
            ""
        };
        println!(
            "{title:<52} {:>8.1}ms {ratio:>6.2}x {shown:>6} {:>6.1}MB{mark}",
            millis(Duration::from_secs_f64(time)),
            memory[number] as f64 / 1024.0
        );
    }
    println!("\n{missed} jobs miss their goal");
    Ok(())
}

/// The places of a benchmark.
struct Bench {
    root: PathBuf,
}

impl Bench {
    fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Returns a project with the packages, `project` or `vendored`, or one of its own.
    fn context(&self, project: &str) -> PackageContext {
        let scope = PackageScope::project(&self.path(project));
        let context = PackageContext::new(
            scope,
            &self.path("data"),
            &self.path("cache"),
            &self.path("state"),
        );
        PackageContext {
            environment: self.environment(),
            now: 1_800_000_000,
            ..context
        }
    }

    fn environment(&self) -> Vec<(OsString, OsString)> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        vec![
            ("PATH".into(), path),
            ("HOME".into(), self.path("home").into()),
        ]
    }

    /// Creates the repository, and installs its skills.
    fn prepare(&self, corpus: &Path, skills: usize) -> Result<()> {
        for folder in ["home", "project", "vendored", "few"] {
            fs::create_dir_all(self.path(folder))?;
        }
        let folders = skill_folders(corpus)?;
        ensure!(
            folders.len() >= skills,
            "the corpus has {} skills",
            folders.len()
        );
        for (repository, count) in [("many", skills), ("some", ADDED.min(skills))] {
            for folder in &folders[..count] {
                let name = folder.file_name().unwrap_or_default();
                crate::bench::copy_tree(folder, &self.path(repository).join("skills").join(name))?;
            }
            commit(&self.path(repository))?;
        }
        for project in ["project", "vendored"] {
            if project == "vendored" {
                let manifest = self.path("vendored/.agents/prowess.toml");
                fs::create_dir_all(manifest.parent().unwrap_or(&self.root))?;
                fs::write(manifest, "[install]\nvendor = true\n")?;
            }
            self.add(project, "many")?;
        }
        self.prepare_remotes()?;
        self.trust_all()?;
        fs::write(self.path("large.lock"), large_lock().to_text())?;
        Ok(())
    }

    fn add(&self, project: &str, repository: &str) -> Result<()> {
        let context = self.context(project);
        let request = AddRequest {
            all: true,
            ..AddRequest::new(self.source(repository)?, &[])
        };
        let plan = plan_add(&context, &request)?;
        apply(&context, &plan)?;
        Ok(())
    }

    fn source(&self, repository: &str) -> Result<PackageSource> {
        let text = format!("git+file://{}@main", self.path(repository).display());
        Ok(PackageSource::parse(
            &text,
            DEFAULT_SHORTHAND,
            SourceOrigin::Typed,
        )?)
    }

    /// Creates small repositories, and a git that is slow to answer about one of them.
    fn prepare_remotes(&self) -> Result<()> {
        let project = self.path("outdated");
        fs::create_dir_all(&project)?;
        let mut context = self.context("outdated");
        for number in 0..REPOSITORIES {
            let repository = format!("remotes/{number}");
            let name = format!("s{number}");
            let folder = self.path(&repository).join(&name);
            fs::create_dir_all(&folder)?;
            let text = format!("---\nname: {name}\ndescription: Skill {name}.\n---\nText.\n");
            fs::write(folder.join("SKILL.md"), text)?;
            commit(&self.path(&repository))?;
            let request = AddRequest::new(self.source(&repository)?, &[]);
            context.now += 1;
            apply(&context, &plan_add(&context, &request)?)?;
        }
        let real = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
            .map(|folder| folder.join("git"))
            .find(|git| git.is_file())
            .context("git is not on the path")?;
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in\n*ls-remote*remotes/7) sleep {SLOWEST};;\n*ls-remote*) sleep {OTHERS};;\nesac\nexec {} \"$@\"\n",
            real.display()
        );
        let slow = self.path("slow");
        fs::create_dir_all(&slow)?;
        fs::write(slow.join("git"), script)?;
        fs::set_permissions(
            slow.join("git"),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )?;
        Ok(())
    }

    fn slow_path(&self) -> OsString {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut folders = vec![self.path("slow")];
        folders.extend(std::env::split_paths(&path));
        std::env::join_paths(folders).unwrap_or(path)
    }

    /// Trusts every package of the project with copies, which a registry reads without further
    /// settings.
    fn trust_all(&self) -> Result<()> {
        let store = TrustStore::new(self.path("trust"));
        for package in self.lock("vendored")?.packages {
            let path = self.skills("vendored").join(&package.name);
            let digest = package.digest.unwrap_or_default();
            store.grant(TrustKind::Skill, &path, &digest, 0)?;
        }
        Ok(())
    }

    fn skills(&self, project: &str) -> PathBuf {
        self.path(project).join(".agents/skills")
    }

    fn lock(&self, project: &str) -> Result<LockFile> {
        let text = fs::read_to_string(self.path(project).join(".agents/prowess.lock"))?;
        Ok(LockFile::parse(&text)?)
    }

    /// Returns the folders of the packages in the store.
    fn trees(&self) -> Result<Vec<(String, PathBuf)>> {
        let store = PackageStore::new(&self.path("data"));
        let packages = self.lock("project")?.packages.into_iter();
        packages
            .map(|package| {
                let tree = store.tree(package.digest.as_deref().unwrap_or_default())?;
                Ok((package.name, tree))
            })
            .collect()
    }

    /// Returns the files of all packages in the store.
    fn files(&self) -> Result<Vec<PathBuf>> {
        let store = PackageStore::new(&self.path("data"));
        let mut files = Vec::new();
        for package in self.lock("project")?.packages {
            let tree = store.tree(package.digest.as_deref().unwrap_or_default())?;
            let package = package.files.iter();
            files.extend(package.map(|file| tree.join(&file.path)));
        }
        Ok(files)
    }
}

/// Creates a commit of all files of a folder.
fn commit(folder: &Path) -> Result<()> {
    for arguments in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["add", "--all", "--force"],
        &[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.org",
            "commit",
            "--quiet",
            "-m",
            "all",
        ],
    ] {
        let status = Command::new("git")
            .args(arguments)
            .current_dir(folder)
            .status()?;
        ensure!(status.success(), "git {arguments:?} failed");
    }
    Ok(())
}

/// Returns a lockfile with 1,000 packages of 10 files.
fn large_lock() -> LockFile {
    let digest = |number: usize| prowess_package::tree::digest_of_bytes(&number.to_le_bytes());
    let mut lock = LockFile::default();
    for number in 0..1000 {
        let files = (0..10).map(|file| prowess_package::lock::LockedFile {
            path: format!("references/part-{file}.md"),
            size: 1000 + file,
            digest: digest(number * 16 + usize::try_from(file).unwrap_or_default()),
            kind: prowess_package::lock::LockedKind::File,
            from: None,
            extra: toml::Table::default(),
        });
        lock.insert(LockedPackage {
            files: files.collect(),
            ..sample(number, digest(number * 16 + 15))
        });
    }
    lock
}

fn sample(number: usize, digest: String) -> LockedPackage {
    LockedPackage {
        name: format!("package-{number:04}"),
        version: Some("1.4.2".to_owned()),
        wanted: Some("^1.4".to_owned()),
        source: prowess_package::source::LockedSource::Git(
            "https://git.example.com/acme/skills".to_owned(),
        ),
        path: Some(format!("skills/package-{number:04}")),
        git_ref: Some("refs/tags/v1.4.2".to_owned()),
        commit: Some(format!("{number:040x}")),
        tree: Some(format!("{number:040x}")),
        digest: Some(digest),
        archive: None,
        license: Some("Apache-2.0".to_owned()),
        signer: None,
        files: Vec::new(),
        extra: toml::Table::default(),
    }
}

/// Runs a job in the child process, and prints nanoseconds and peak KiB.
pub(crate) fn job(job: &str, root: &Path) -> Result<()> {
    let bench = Bench::at(root);
    let elapsed = match job {
        "link" => bench.link()?,
        "sync-links" | "sync-nothing" | "sync-vendor" => bench.sync(job)?,
        "lock-stat" => bench.lock_stat()?,
        "copy" => bench.copy()?,
        "hash" => bench.hash()?,
        "verify" | "verify-again" => {
            let context = bench.context("project");
            let start = Instant::now();
            let report = verify(&context, &[])?;
            let elapsed = start.elapsed();
            ensure!(report.findings.is_empty(), "packages differ");
            elapsed
        }
        "sha256sum" => bench.sha256sum()?,
        "activate" | "activate-locked" => bench.activate(job == "activate-locked")?,
        "toml" | "lock" => {
            let text = fs::read_to_string(bench.path("large.lock"))?;
            let start = Instant::now();
            if job == "toml" {
                black_box(text.parse::<toml::Table>()?);
            } else {
                black_box(LockFile::parse(&text)?);
            }
            start.elapsed()
        }
        "ls-remote" => {
            let start = Instant::now();
            let url = format!("file://{}", bench.path("remotes/7").display());
            let status = Command::new(bench.path("slow/git"))
                .args(["ls-remote", "--", &url])
                .stdout(Stdio::null())
                .status()?;
            ensure!(status.success(), "git failed");
            start.elapsed()
        }
        "outdated" => {
            let mut context = bench.context("outdated");
            context.environment[0].1 = bench.slow_path();
            let start = Instant::now();
            let found = outdated(&context)?;
            let elapsed = start.elapsed();
            ensure!(found.is_empty(), "{found:?}");
            elapsed
        }
        "tar" => bench.tar()?,
        "pack" => {
            let trees = bench.trees()?;
            let out = tempfile::tempdir_in(root)?;
            let start = Instant::now();
            for (name, tree) in &trees {
                let bytes = pack(tree, PackFormat::TarGz)?;
                fs::write(out.path().join(format!("{name}.tar.gz")), bytes)?;
            }
            start.elapsed()
        }
        "fetch" => bench.fetch()?,
        "add" => bench.add_some()?,
        other => bail!("unknown job {other}"),
    };
    println!("{} {}", elapsed.as_nanos(), peak_memory());
    Ok(())
}

impl Bench {
    fn link(&self) -> Result<Duration> {
        let trees = self.trees()?;
        let folder = tempfile::tempdir_in(&self.root)?;
        let start = Instant::now();
        for (name, tree) in &trees {
            symlink(tree, folder.path().join(name))?;
        }
        Ok(start.elapsed())
    }

    fn sync(&self, job: &str) -> Result<Duration> {
        let project = if job == "sync-vendor" {
            "vendored"
        } else {
            "project"
        };
        let skills = self.skills(project);
        if job != "sync-nothing" {
            fs::remove_dir_all(&skills)?;
        }
        let context = self.context(project);
        let packages = self.lock(project)?.packages.len();
        let options = SyncOptions {
            verify_store: true,
            ..SyncOptions::default()
        };
        let start = Instant::now();
        let plan = plan_sync(&context, options)?;
        apply(&context, &plan)?;
        let elapsed = start.elapsed();
        ensure!(
            fs::read_dir(skills)?.count() == packages,
            "entries are missing"
        );
        Ok(elapsed)
    }

    fn lock_stat(&self) -> Result<Duration> {
        let start = Instant::now();
        let lock = self.lock("project")?;
        let skills = self.skills("project");
        for package in &lock.packages {
            black_box(fs::symlink_metadata(skills.join(&package.name))?);
        }
        Ok(start.elapsed())
    }

    fn copy(&self) -> Result<Duration> {
        let into = tempfile::tempdir_in(&self.root)?;
        let trees = self.trees()?;
        let start = Instant::now();
        let mut copy = Command::new("cp");
        copy.args(["-r", "--reflink=auto", "--no-preserve=mode", "-t"]);
        copy.arg(into.path())
            .args(trees.iter().map(|(_, tree)| tree));
        ensure!(copy.status()?.success(), "cp failed");
        Ok(start.elapsed())
    }

    fn hash(&self) -> Result<Duration> {
        let files = self.files()?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let next = AtomicUsize::new(0);
        let start = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let mut buffer = vec![0; 1 << 16];
                    while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let Ok(mut file) = fs::File::open(path) else {
                            continue;
                        };
                        let mut hasher = Sha256::new();
                        while let Ok(read @ 1..) = file.read(&mut buffer) {
                            hasher.update(&buffer[..read]);
                        }
                        black_box(hasher.finalize());
                    }
                });
            }
        });
        Ok(start.elapsed())
    }

    fn sha256sum(&self) -> Result<Duration> {
        let files = self.files()?;
        let start = Instant::now();
        let mut command = Command::new("sha256sum");
        let status = command.args(&files).stdout(Stdio::null()).status()?;
        ensure!(status.success(), "sha256sum failed");
        Ok(start.elapsed())
    }

    fn activate(&self, locked: bool) -> Result<Duration> {
        let project = self.path("vendored");
        let registry = Registry::new(Precedence::default());
        let place = Place {
            only: Some(self.skills("vendored")),
            ..Place::default()
        };
        registry.add_files(FileSource::new(place, FileOptions::default()));
        registry.refresh();
        let mut store = TrustStore::new(self.path("trust"));
        if locked {
            let scope = PinScope {
                lock: project.join(".agents/prowess.lock"),
                entries: self.skills("vendored"),
                changed: ChangedPackage::default(),
                is_personal: false,
            };
            let pins = LockPins::new(vec![scope], PackageStore::new(&self.path("data")));
            store = store.with_locks(Arc::new(pins));
        }
        let catalog = registry.snapshot();
        let skills: Vec<_> = catalog
            .entries()
            .iter()
            .map(|entry| Arc::clone(&entry.skill))
            .collect();
        ensure!(!skills.is_empty(), "no skills found");
        let read = |skill| SkillSnapshot::read("", skill, &registry, Some(&store), &project);
        // Reads the lockfile, which a session does once.
        black_box(read(&skills[0])?);
        let start = Instant::now();
        for _ in 0..5 {
            for skill in &skills {
                black_box(read(skill)?);
            }
        }
        Ok(start.elapsed())
    }

    fn tar(&self) -> Result<Duration> {
        let trees = self.trees()?;
        let out = tempfile::tempdir_in(&self.root)?;
        // One shell for all, so that its start does not count for each.
        let mut script = String::new();
        for (name, tree) in &trees {
            let (tree, out) = (tree.display(), out.path().display());
            script.push_str(&format!(
                "tar -C '{tree}' -c . | gzip -6 > '{out}/{name}.tar.gz'\n"
            ));
        }
        let start = Instant::now();
        let mut shell = Command::new("sh").stdin(Stdio::piped()).spawn()?;
        if let Some(mut stdin) = shell.stdin.take() {
            stdin.write_all(script.as_bytes())?;
        }
        ensure!(shell.wait()?.success(), "tar failed");
        Ok(start.elapsed())
    }

    /// Fetches the repository, and reads all files, as `add` must.
    fn fetch(&self) -> Result<Duration> {
        let bare = tempfile::tempdir_in(&self.root)?;
        let url = format!("file://{}", self.path("some").display());
        let git = |arguments: &[&str]| {
            let mut command = Command::new("git");
            command.arg("-C").arg(bare.path()).args(arguments);
            command
        };
        let start = Instant::now();
        ensure!(
            git(&["init", "--quiet", "--bare"]).status()?.success(),
            "git failed"
        );
        let fetched =
            git(&["fetch", "--quiet", "--no-tags", "--depth=1", &url, "main"]).status()?;
        ensure!(fetched.success(), "git failed");
        let listed = git(&["ls-tree", "-r", "--format=%(objectname)", "FETCH_HEAD"]).output()?;
        let mut read = git(&["cat-file", "--batch", "--buffer"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        if let Some(mut stdin) = read.stdin.take() {
            stdin.write_all(&listed.stdout)?;
        }
        ensure!(read.wait()?.success(), "git failed");
        Ok(start.elapsed())
    }

    fn add_some(&self) -> Result<Duration> {
        // A person who has none of them.
        let own = tempfile::tempdir_in(&self.root)?;
        let mut context = self.context("few");
        let data = own.path().join("data");
        context.store = PackageStore::new(&data);
        context.cache = own.path().join("cache");
        let _ = fs::remove_dir_all(self.path("few/.agents"));
        let request = AddRequest {
            all: true,
            ..AddRequest::new(self.source("some")?, &[])
        };
        let start = Instant::now();
        let plan = plan_add(&context, &request)?;
        apply(&context, &plan)?;
        let elapsed = start.elapsed();
        drop(plan);
        Ok(elapsed)
    }
}

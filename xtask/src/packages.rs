//! Builds repositories out of file lists of real ones, and checks that their skills are found, and
//! installed with the digests of a checkout.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use prowess_package::content::{CommitFiles, stage_found};
use prowess_package::find::{FindOptions, FoundPackages, SourceEntry, SourceEntryKind, find};
use prowess_package::git::{GitLimits, GitProgram};
use prowess_package::lock::LockFile;
use prowess_package::tree::TreeLimits;
use prowess_registry::digest_of;
use serde_json::{Value, json};

/// Maximum size of a file of a fixture in bytes. Lists have sizes, and no contents.
const MAX_CONTENT: usize = 512;
/// Maximum number of links that are followed in a checkout.
const MAX_DEPTH: usize = 64;
/// Plugins of `anthropics/claude-plugins-official` that are in other repositories.
const PLUGINS_ELSEWHERE: usize = 233;

/// A repository with the counts that finding must give.
struct Layout {
    /// Owner and name.
    repository: &'static str,
    /// The start of the commit id.
    commit: &'static str,
    /// SKILL.md files.
    files: usize,
    /// Different names of their folders.
    names: usize,
    /// Different names and contents; `None` if it is not recorded.
    distinct: Option<usize>,
    /// Skills that `add --all` installs.
    installed: usize,
    /// Skills that cannot be installed, in all paths.
    refused: usize,
}

const LAYOUTS: [Layout; 12] = [
    layout(
        "anthropics/skills",
        "9d2f1ae18723",
        [18, 18],
        Some(18),
        [18, 0],
    ),
    layout("openai/skills", "f6b8344b4e51", [10, 10], Some(10), [10, 0]),
    layout("cloudflare/skills", "73070f8d454c", [2, 2], Some(2), [2, 0]),
    layout(
        "simota/agent-skills",
        "11befd9bedea",
        [43, 43],
        Some(43),
        [43, 0],
    ),
    layout(
        "garrytan/gstack",
        "85fd9db554ae",
        [61, 61],
        Some(61),
        [59, 0],
    ),
    layout(
        "hashicorp/agent-skills",
        "146815e19dec",
        [17, 17],
        Some(17),
        [17, 0],
    ),
    layout(
        "elastic/agent-skills",
        "9548ff5c4d77",
        [66, 33],
        Some(33),
        [33, 0],
    ),
    layout(
        "google/skills",
        "1af777529501",
        [169, 112],
        Some(112),
        [112, 0],
    ),
    layout(
        "anthropics/claude-plugins-official",
        "340e33aef211",
        [31, 27],
        Some(31),
        [27, 0],
    ),
    layout(
        "anthropics/knowledge-work-plugins",
        "5267cf7bff30",
        [212, 192],
        Some(212),
        [192, 0],
    ),
    layout(
        "alirezarezvani/claude-skills",
        "7d493fed97e4",
        [542, 313],
        None,
        [298, 213],
    ),
    layout(
        "affaan-m/everything-claude-code",
        "c40b6c0cf596",
        [771, 232],
        Some(766),
        [231, 0],
    ),
];

const fn layout(
    repository: &'static str,
    commit: &'static str,
    [files, names]: [usize; 2],
    distinct: Option<usize>,
    [installed, refused]: [usize; 2],
) -> Layout {
    Layout {
        repository,
        commit,
        files,
        names,
        distinct,
        installed,
        refused,
    }
}

pub(crate) fn run(folder: &Path) -> Result<()> {
    let prowess = crate::mcp_clients::prowess()?;
    println!(
        "{:36} {:>5} {:>5} {:>8} {:>7} {:>6} {:>9} {:>9}",
        "repository", "files", "names", "distinct", "refused", "staged", "installed", "offered"
    );
    let mut faults = Vec::new();
    for layout in &LAYOUTS {
        let file = folder.join(format!("{}.tsv", layout.repository.replace('/', "+")));
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let commit = text
            .lines()
            .next()
            .and_then(|line| line.split(' ').nth(2))
            .unwrap_or_default();
        if !commit.starts_with(layout.commit) {
            bail!("{} is of commit {commit}", file.display());
        }
        let name = layout.repository.rsplit('/').next().unwrap_or_default();
        let entries = entries(&text)?;
        let options = FindOptions {
            source_name: name,
            all_paths: true,
        };
        let found = find(entries.clone(), options, &mut |_| None)?;
        let listed = counts(&found);
        let world = tempfile::tempdir()?;
        let fixture = Fixture::build(world.path(), name, &entries)?;
        let staged = fixture.stage_all(&mut faults)?;
        let installed = fixture.install(&prowess, &mut faults)?;
        let [files, names, distinct, refused] = staged.counts;
        println!(
            "{:36} {files:5} {names:5} {distinct:8} {refused:7} {:6} {:9} {:9}",
            layout.repository, staged.equal, installed.equal, installed.offered
        );
        // With contents, manifests and links are read: the same skills must be found.
        let recorded = [
            layout.files,
            layout.names,
            layout.distinct.unwrap_or(distinct),
            layout.refused,
        ];
        if staged.counts != recorded || listed != recorded {
            faults.push(format!(
                "{}: {recorded:?} skills are recorded, the list has {listed:?}",
                layout.repository
            ));
        }
        if installed.equal != layout.installed {
            let expected = layout.installed;
            faults.push(format!(
                "{}: {expected} skills are recorded as installed",
                layout.repository
            ));
        }
    }
    for fault in &faults {
        println!("{fault}");
    }
    ensure!(faults.is_empty(), "{} faults", faults.len());
    Ok(())
}

/// Returns the number of SKILL.md files, names, distinct skills, and skills that are refused.
fn counts(found: &FoundPackages) -> [usize; 4] {
    let names: BTreeSet<&str> = found.packages.iter().map(|found| &*found.name).collect();
    let refused = found.packages.iter().filter(|one| one.problem.is_some());
    [
        found.places(),
        names.len(),
        found.packages.len(),
        refused.count(),
    ]
}

fn entries(text: &str) -> Result<Vec<SourceEntry>> {
    let mut entries = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [mode, id, size, path, target @ ..] = columns.as_slice() else {
            bail!("a line with too few columns: {line}");
        };
        let kind = match *mode {
            "100644" => SourceEntryKind::File,
            "100755" => SourceEntryKind::Executable,
            "120000" => {
                SourceEntryKind::Link(target.first().copied().unwrap_or_default().to_owned())
            }
            "160000" => SourceEntryKind::Submodule,
            // Folders follow from their files.
            "040000" => continue,
            other => bail!("an unknown mode: {other}"),
        };
        entries.push(SourceEntry {
            path: (*path).to_owned(),
            kind,
            id: (*id).to_owned(),
            size: size.parse().unwrap_or(0),
        });
    }
    Ok(entries)
}

/// A repository with the files of a list: equal ids have equal contents.
struct Fixture {
    world: PathBuf,
    /// The repository, which is also a checkout.
    repository: PathBuf,
    name: String,
}

/// The skills that were written to staging.
struct StagedSkills {
    counts: [usize; 4],
    /// Skills with the digest of the checkout.
    equal: usize,
}

/// The skills that `add --all` installed.
struct InstalledSkills {
    equal: usize,
    /// Skills that `add --list` lists.
    offered: usize,
}

impl Fixture {
    fn build(world: &Path, name: &str, entries: &[SourceEntry]) -> Result<Self> {
        let repository = world.join(name);
        fs::create_dir(&repository)?;
        git(
            &repository,
            &["init", "--quiet", "--initial-branch=main"],
            &[],
        )?;
        let contents = Contents::of(entries);
        let mut stream = Vec::new();
        let message = "all";
        writeln!(stream, "commit refs/heads/main")?;
        writeln!(stream, "committer A <a@example.org> 1700000000 +0000")?;
        writeln!(stream, "data {}\n{message}", message.len())?;
        for entry in entries {
            let mode = match &entry.kind {
                SourceEntryKind::File => "100644",
                SourceEntryKind::Executable => "100755",
                SourceEntryKind::Link(_) => "120000",
                SourceEntryKind::Submodule => {
                    let commit = format!("{:0<40}", entry.id);
                    writeln!(stream, "M 160000 {commit} {}", entry.path)?;
                    continue;
                }
            };
            let content = contents.content(entry);
            writeln!(stream, "M {mode} inline {}", entry.path)?;
            writeln!(stream, "data {}", content.len())?;
            stream.extend(content);
            stream.push(b'\n');
        }
        git(&repository, &["fast-import", "--quiet"], &stream)?;
        git(&repository, &["reset", "--quiet", "--hard"], &[])?;
        Ok(Self {
            world: world.to_owned(),
            repository,
            name: name.to_owned(),
        })
    }

    fn url(&self) -> String {
        format!("file://{}", self.repository.display())
    }

    /// Writes every skill of the commit to staging, and compares it with the checkout.
    fn stage_all(&self, faults: &mut Vec<String>) -> Result<StagedSkills> {
        let commit = git(&self.repository, &["rev-parse", "HEAD"], &[])?;
        let commit = commit.trim_end();
        let program = GitProgram::find(self.environment()?, GitLimits::default())?;
        let repository = program.open(&self.world.join("cache"), &self.url())?;
        repository.fetch(commit, None)?;
        let files = CommitFiles::read(&repository, commit)?;
        let options = FindOptions {
            source_name: &self.name,
            all_paths: true,
        };
        let found = files.find(options)??;
        let mut equal = 0;
        let good = found.packages.iter().filter(|one| one.problem.is_none());
        for (number, package) in good.enumerate() {
            let place = self.world.join("staged").join(number.to_string());
            fs::create_dir_all(place.parent().unwrap_or(&self.world))?;
            let tree = stage_found(package, &repository, place, TreeLimits::default())?;
            if tree.digest == self.digest_of_checkout(&package.folder)? {
                equal += 1;
            } else {
                faults.push(format!("{}: {} differs", self.name, package.folder));
            }
        }
        Ok(StagedSkills {
            counts: counts(&found),
            equal,
        })
    }

    /// Installs with the command all skills that it offers, and compares them with the checkout.
    fn install(&self, prowess: &Path, faults: &mut Vec<String>) -> Result<InstalledSkills> {
        let project = self.world.join("project");
        fs::create_dir(&project)?;
        let run = |arguments: &[&str]| -> Result<Value> {
            let output = Command::new(prowess)
                .args(arguments)
                .arg("--json")
                .current_dir(&project)
                .env_clear()
                .envs(self.environment()?)
                .env("PROWESS_HOME", self.world.join("home"))
                .stdin(Stdio::null())
                .output()?;
            let errors = String::from_utf8_lossy(&output.stderr);
            ensure!(
                output.status.success(),
                "{}: {arguments:?}: {errors}",
                self.name
            );
            Ok(serde_json::from_slice(&output.stdout)?)
        };
        let source = format!("git+{}", self.url());
        let listed = run(&["add", &source, "--list"])?;
        run(&["add", &source, "--all"])?;
        let lock = fs::read_to_string(project.join(".agents/prowess.lock"))?;
        let mut equal = 0;
        for package in LockFile::parse(&lock)?.packages {
            let (name, folder) = (&package.name, package.path.unwrap_or_default());
            let entry = fs::canonicalize(project.join(".agents/skills").join(name))?;
            let digest = digest_of(&entry)?;
            let is_equal = digest == self.digest_of_checkout(&folder)?;
            if is_equal && package.digest == Some(digest) {
                equal += 1;
            } else {
                faults.push(format!("{}: {name} of {folder} differs", self.name));
            }
        }
        let verified = run(&["verify"])?;
        ensure!(
            verified["findings"].as_array().is_some_and(Vec::is_empty),
            "{}: {verified}",
            self.name
        );
        Ok(InstalledSkills {
            equal,
            offered: listed["skills"].as_array().map_or(0, Vec::len),
        })
    }

    fn environment(&self) -> Result<Vec<(std::ffi::OsString, std::ffi::OsString)>> {
        let home = self.world.join("home");
        fs::create_dir_all(&home)?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        Ok(vec![("PATH".into(), path), ("HOME".into(), home.into())])
    }

    /// Returns the digest of a folder of the checkout, in which links that leave it are replaced by
    /// what they lead to.
    fn digest_of_checkout(&self, folder: &str) -> Result<String> {
        let from = self.repository.join(folder);
        let into = tempfile::tempdir_in(&self.world)?;
        let copy = into.path().join("skill");
        copy_checkout(&from, &from, &copy, 0)?;
        Ok(digest_of(&copy)?)
    }
}

/// Copies a folder of a checkout. Links that stay in `root` are kept.
fn copy_checkout(root: &Path, from: &Path, into: &Path, depth: usize) -> Result<()> {
    ensure!(depth < MAX_DEPTH, "{} is too deep", from.display());
    fs::create_dir(into)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, target) = (entry.path(), into.join(entry.file_name()));
        if entry.file_name() == OsStr::new(".git") {
            continue;
        }
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            let real = fs::canonicalize(&path)?;
            // A link of a copied folder is looked at where it is, not where it is copied to.
            if real.starts_with(fs::canonicalize(root)?) && path.starts_with(root) {
                std::os::unix::fs::symlink(fs::read_link(&path)?, &target)?;
            } else if real.is_dir() {
                copy_checkout(root, &real, &target, depth + 1)?;
            } else {
                fs::copy(&real, &target)?;
            }
        } else if kind.is_dir() {
            copy_checkout(root, &path, &target, depth + 1)?;
            // Git has no empty folders; those of submodules are empty.
            if fs::read_dir(&target)?.next().is_none() {
                fs::remove_dir(&target)?;
            }
        } else {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}

/// The contents of a fixture.
struct Contents {
    /// The folder names under which each SKILL.md is found, by id.
    names: BTreeMap<String, BTreeSet<String>>,
    marketplace: Value,
}

impl Contents {
    fn of(entries: &[SourceEntry]) -> Self {
        let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let ids: BTreeMap<PathBuf, &str> = entries
            .iter()
            .map(|entry| (PathBuf::from(&entry.path), &*entry.id))
            .collect();
        for entry in entries.iter().filter(|entry| is_skill(&entry.path)) {
            let folder = Path::new(&entry.path).parent().and_then(Path::file_name);
            let folder = folder.unwrap_or_default().to_string_lossy().into_owned();
            names
                .entry(entry.id.clone())
                .or_default()
                .insert(folder.clone());
            if let SourceEntryKind::Link(target) = &entry.kind
                && let Some(id) = ids.get(&normal(&entry.path, target))
            {
                names.entry((*id).to_owned()).or_default().insert(folder);
            }
        }
        Self {
            names,
            marketplace: marketplace(entries),
        }
    }

    fn content(&self, entry: &SourceEntry) -> Vec<u8> {
        if let SourceEntryKind::Link(target) = &entry.kind {
            return target.clone().into_bytes();
        }
        let path = Path::new(&entry.path);
        let id = &entry.id;
        if entry.path.ends_with("marketplace.json") {
            return self.marketplace.to_string().into_bytes();
        }
        if path.file_name() == Some(OsStr::new("plugin.json")) {
            let root = path.parent().and_then(Path::parent);
            let name = root.and_then(Path::file_name).unwrap_or(OsStr::new("all"));
            // Equal files have equal ids, in the list and here.
            return json!({ "name": name.to_string_lossy(), "version": "1.0.0", "id": id })
                .to_string()
                .into_bytes();
        }
        if is_skill(&entry.path) {
            let name = match self
                .names
                .get(id)
                .map(|names| names.iter().collect::<Vec<_>>())
            {
                Some(names) if names.len() == 1 && !names[0].is_empty() => {
                    format!("name: {}\n", names[0])
                }
                // One file in folders of several names, or at the root.
                _ => String::new(),
            };
            return format!("---\n{name}description: Skill {id}. Use in tests.\n---\nText.\n")
                .into_bytes();
        }
        let size = usize::try_from(entry.size).unwrap_or(MAX_CONTENT);
        let text = format!("{id}\n");
        let mut text = text.repeat(size.min(MAX_CONTENT).div_ceil(text.len()));
        if size == 0 {
            text.clear();
        }
        text.into_bytes()
    }
}

/// Returns the path that a link leads to.
fn normal(link: &str, target: &str) -> PathBuf {
    let mut path = PathBuf::from(link);
    path.pop();
    for part in target.split('/') {
        match part {
            ".." => drop(path.pop()),
            "" | "." => {}
            part => path.push(part),
        }
    }
    path
}

fn is_skill(path: &str) -> bool {
    let name = Path::new(path).file_name().unwrap_or_default();
    name.eq_ignore_ascii_case("SKILL.md")
}

/// Names the plugins of a list: every folder with a manifest of its own, and others elsewhere.
fn marketplace(entries: &[SourceEntry]) -> Value {
    let mut plugins = Vec::new();
    for entry in entries {
        let root = entry.path.strip_suffix("/.claude-plugin/plugin.json");
        if let Some(root) = root {
            let name = root.rsplit('/').next().unwrap_or(root);
            plugins.push(json!({ "name": name, "source": format!("./{root}") }));
        }
    }
    for number in 0..PLUGINS_ELSEWHERE {
        plugins.push(json!({
            "name": format!("elsewhere-{number}"),
            "source": {
                "source": "url",
                "url": format!("https://git.example.com/plugins/{number}.git"),
                "sha": format!("{number:040x}"),
            },
        }));
    }
    json!({ "name": "fixture", "plugins": plugins })
}

/// Runs git, and returns its output.
fn git(folder: &Path, arguments: &[&str], input: &[u8]) -> Result<String> {
    let mut child = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input)?;
    }
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "git {arguments:?} failed");
    Ok(String::from_utf8(output.stdout)?)
}

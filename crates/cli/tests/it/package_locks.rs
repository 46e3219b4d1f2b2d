//! The manifest and the lockfile, through the command: the same bytes everywhere, what people wrote
//! stays, and a lockfile that cannot be used is never replaced.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::packages_journey::git;
use crate::world::World;

const LOCK: &str = ".agents/prowess.lock";
const MANIFEST: &str = ".agents/prowess.toml";

/// A skill with a version.
pub(crate) fn skill(name: &str, version: &str, body: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: Does {name}. Use when asked for {name}.\nversion: {version}\n---\n{body}\n"
    )
}

/// Creates a repository with the skills `csv`, `pdf` and `xml` beside the project, with the branch
/// `next`, in which all are newer. Returns its source.
pub(crate) fn repository(world: &World) -> String {
    let folder = world.path("../repo");
    for version in ["1.0.0", "1.1.0"] {
        for name in ["csv", "pdf", "xml"] {
            let path = format!("../repo/skills/{name}/SKILL.md");
            world.file(&path, skill(name, version, "Read the file."));
            let path = format!("../repo/skills/{name}/scripts/run.sh");
            world.file_with_mode(&path, "echo done\n", 0o755);
        }
        if version == "1.0.0" {
            git(&folder, &["init", "-q", "."]);
        } else {
            git(&folder, &["checkout", "-q", "-b", "next"]);
        }
        git(&folder, &["add", "-A"]);
        git(&folder, &["commit", "-qm", version]);
        git(&folder, &["tag", &format!("v{version}")]);
    }
    git(&folder, &["checkout", "-q", "main"]);
    format!("git+file://{}", folder.display())
}

pub(crate) fn read(world: &World, path: &str) -> String {
    fs::read_to_string(world.path(path)).unwrap()
}

/// Returns every file below a folder with what a write changes of it.
pub(crate) fn listing(root: &Path) -> BTreeMap<PathBuf, (u64, i64, i64, u64)> {
    let mut all = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let facts = fs::symlink_metadata(&path).unwrap();
            let stamp = (facts.len(), facts.mtime(), facts.mtime_nsec(), facts.ino());
            all.insert(path.strip_prefix(root).unwrap().to_owned(), stamp);
            if facts.is_dir() {
                open.push(path);
            }
        }
    }
    all
}

/// `15`: the same bytes on each run, in each order, and on another machine.
#[test]
fn lock_has_the_same_bytes_everywhere() {
    let texts = [["csv", "pdf", "xml"], ["xml", "pdf", "csv"]].map(|names| {
        let world = World::new();
        let source = format!("{}@main", repository(&world));
        for name in names {
            world.run(&["add", &source, name]).expect(0);
        }
        let text = read(&world, LOCK);
        world.run(&["lock"]).expect(0);
        assert_eq!(read(&world, LOCK), text);
        world.run(&["lock", "--check"]).expect(0);
        // From the manifest alone.
        fs::remove_file(world.path(LOCK)).unwrap();
        world.run(&["lock", "--check"]).expect(1);
        world.run(&["lock"]).expect(0);
        assert_eq!(read(&world, LOCK), text);
        text.replace(&world.text(".."), "ROOT")
    });
    assert_eq!(texts[0], texts[1]);
    assert!(texts[0].contains("name = \"xml\""));
}

/// `16`: everything that a person wrote stays as it is.
#[test]
fn comments_and_order_of_the_manifest_survive() {
    let world = World::new();
    let source = format!("{}@main", repository(&world));
    let before = "# Ours.\n[search]   # wide\nhints=true\n\n[install]\n\ntargets = [ ] # none\n\n[packages]\n";
    let after = "\n\n# The end.\n[permissions]\ndeny = [ 'Bash(rm:*)' ]\n";
    let with = |lines: &str| format!("{before}{lines}{after}");
    world.file(MANIFEST, with(""));
    world.run(&["add", &source, "pdf"]).expect(0);
    let line = |name: &str| {
        let text = read(&world, MANIFEST);
        let found = text.lines().find(|line| line.starts_with(name));
        format!("{}\n", found.unwrap())
    };
    let pdf = line("pdf = ");
    assert_eq!(read(&world, MANIFEST), with(&pdf));
    // A comment of a package stays with it.
    let commented = format!("# For forms.\n{} # keep\n", pdf.trim_end());
    world.file(MANIFEST, with(&commented));
    world.run(&["add", &source, "csv"]).expect(0);
    let csv = line("csv = ");
    assert_eq!(read(&world, MANIFEST), with(&format!("{commented}{csv}")));
    world.run(&["remove", "csv"]).expect(0);
    assert_eq!(read(&world, MANIFEST), with(&commented));
}

/// `17`: keys of a newer version of Prowess stay.
#[test]
fn unknown_keys_of_a_lock_survive() {
    let world = World::new();
    let source = format!("{}@main", repository(&world));
    world.run(&["add", &source, "pdf"]).expect(0);
    let text = read(&world, LOCK);
    let text = text.replacen("version = 1\n", "version = 1\nfuture = \"top\"\n", 1);
    let text = text.replacen(
        "name = \"pdf\"\n",
        "name = \"pdf\"\nreviewed = [\"a\", \"b\"]\n",
        1,
    );
    let text = text + "\n[later]\nkey = 7\n";
    world.file(LOCK, &text);
    world.run(&["sync", "--frozen"]).expect(0);
    assert_eq!(read(&world, LOCK), text);
    world.run(&["add", &source, "csv"]).expect(0);
    world.run(&["remove", "csv"]).expect(0);
    world.run(&["lock"]).expect(0);
    let now = read(&world, LOCK);
    for part in [
        "future = \"top\"",
        "reviewed = [\"a\", \"b\"]",
        "later",
        "key = 7",
    ] {
        assert!(now.contains(part), "{part}: {now}");
    }
}

/// Commands that need the lockfile.
fn commands(source: &str) -> Vec<Vec<&str>> {
    vec![
        vec!["sync"],
        vec!["sync", "--frozen"],
        vec!["lock"],
        vec!["lock", "--check"],
        vec!["add", source, "csv"],
        vec!["update"],
        vec!["update", "--accept-power"],
        vec!["remove", "pdf"],
        vec!["fork", "pdf"],
        vec!["verify"],
        vec!["outdated"],
        vec!["diff", "pdf"],
    ]
}

/// Checks that every command fails, with a hint or a reason, and changes nothing.
#[track_caller]
fn refuses_all(world: &World, source: &str, text: &str, part: &str) {
    world.file(LOCK, text);
    let before = listing(&world.path(".agents"));
    for command in commands(source) {
        let output = world.run(&command);
        assert_eq!(output.code, 2, "{command:?}: {}", output.snapshot());
        assert!(
            output.stderr.contains(part),
            "{command:?}: {}",
            output.stderr
        );
    }
    assert_eq!(listing(&world.path(".agents")), before);
    assert_eq!(read(world, LOCK), text);
}

/// `18`: a newer format is refused with a sentence, and left alone.
#[test]
fn lock_of_version_2_is_refused_and_unchanged() {
    let world = World::new();
    let source = format!("{}@main", repository(&world));
    world.run(&["add", &source, "pdf"]).expect(0);
    let text = read(&world, LOCK).replacen("version = 1\n", "version = 2\n", 1);
    refuses_all(&world, &source, &text, "format 2");
}

/// `20`: a damaged lockfile is an error, and never becomes an empty one.
#[test]
fn damaged_lock_is_never_replaced() {
    let world = World::new();
    let source = format!("{}@main", repository(&world));
    world.run(&["add", &source, "pdf"]).expect(0);
    let text = read(&world, LOCK);
    let digest = text.find("digest = \"sha256:").unwrap();
    for (damaged, part) in [
        (text[..digest + 30].to_owned(), "prowess.lock"),
        (text.replacen("sha256:", "sha512:", 1), "prowess.lock"),
        (
            text.replacen("name = \"pdf\"", "name = \"../pdf\"", 1),
            "prowess.lock",
        ),
        (String::new(), "prowess.lock"),
        ("\0\0\0\0".to_owned(), "prowess.lock"),
    ] {
        refuses_all(&world, &source, &damaged, part);
    }
    // Not a text.
    world.file(LOCK, b"version = 1\n\xff\xfe");
    for command in commands(&source) {
        world.run(&command).expect(2);
    }
    assert_eq!(
        fs::read(world.path(LOCK)).unwrap(),
        b"version = 1\n\xff\xfe"
    );
}

/// `19`: the lockfile of a merge that git could not make.
#[test]
fn lock_with_conflict_markers_heals() {
    let world = World::new();
    let source = format!("{}@main", repository(&world));
    let project = world.path("");
    git(&project, &["init", "-q", "."]);
    world.file(".gitignore", ".agents/skills\n");
    world.run(&["add", &source, "csv"]).expect(0);
    let commit = |message: &str| {
        git(&project, &["add", "-A"]);
        git(&project, &["commit", "-qm", message]);
    };
    commit("csv");
    git(&project, &["checkout", "-q", "-b", "other"]);
    world.run(&["add", &source, "xml"]).expect(0);
    commit("xml");
    git(&project, &["checkout", "-q", "main"]);
    world.run(&["sync"]).expect(0);
    world.run(&["add", &source, "pdf"]).expect(0);
    commit("pdf");
    let merged = |text: &str| {
        let conflict = text.contains("<<<<<<<");
        (
            conflict,
            text.replace("<<<<<<< HEAD\n", "")
                .replace("=======\n", "")
                .replace(">>>>>>> other\n", ""),
        )
    };
    let status = std::process::Command::new("git")
        .args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.org",
            "merge",
            "-q",
            "other",
        ])
        .current_dir(&project)
        .output()
        .unwrap();
    assert!(!status.status.success(), "both add a last package");
    // A person keeps both lines of the manifest.
    let (_, manifest) = merged(&read(&world, MANIFEST));
    world.file(MANIFEST, manifest);
    let (has_conflict, _) = merged(&read(&world, LOCK));
    assert!(has_conflict, "{}", read(&world, LOCK));
    for command in [&["sync"][..], &["verify"], &["update"]] {
        let refused = world.run(command).expect(2);
        assert!(
            refused.stderr.contains("`prowess lock`"),
            "{}",
            refused.stderr
        );
    }
    world.run(&["lock"]).expect(0);
    world.run(&["sync", "--frozen"]).expect(0);
    world.run(&["verify"]).expect(0);
    let text = read(&world, LOCK);
    for name in ["csv", "pdf", "xml"] {
        assert!(text.contains(&format!("name = \"{name}\"")), "{text}");
    }
    world.run(&["lock", "--check"]).expect(0);

    // Two versions of one package: it is resolved again from the manifest, and named.
    let old = text;
    let new = {
        let manifest = read(&world, MANIFEST);
        let line = manifest
            .lines()
            .find(|line| line.starts_with("pdf"))
            .unwrap();
        let next = manifest.replace(line, &line.replace("main", "next"));
        world.file(MANIFEST, &next);
        world.run(&["lock"]).expect(0);
        read(&world, LOCK)
    };
    assert_ne!(old, new);
    world.file(
        LOCK,
        format!("<<<<<<< ours\n{old}=======\n{new}>>>>>>> theirs\n"),
    );
    world.run(&["sync"]).expect(2);
    let locked = world.run(&["lock"]).expect(0);
    assert!(locked.stderr.contains("pdf"), "{}", locked.stderr);
    assert_eq!(read(&world, LOCK), new);
}

/// `21`: in CI, a lockfile that does not fit the manifest fails, and nothing is written.
#[test]
fn frozen_sync_fails_and_writes_nothing() {
    let world = World::new();
    let source = format!("{}@main", repository(&world));
    world.run(&["add", &source, "pdf"]).expect(0);
    let manifest = read(&world, MANIFEST);
    let line = manifest
        .lines()
        .find(|line| line.starts_with("pdf"))
        .unwrap();
    let added = format!("{manifest}{}\n", line.replacen("pdf", "csv", 1));
    for (text, name) in [
        (manifest.replace("main", "next"), "pdf"),
        (added, "csv"),
        ("[packages]\n".to_owned(), "pdf"),
    ] {
        world.file(MANIFEST, &text);
        let before = (listing(&world.path("")), listing(&world.path("~")));
        let refused = world.run(&["sync", "--frozen"]);
        assert_eq!(refused.code, 2, "{}", refused.snapshot());
        for part in [name, "`prowess lock`"] {
            assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
        }
        world.run(&["sync", "--locked"]).expect(2);
        assert_eq!(
            (listing(&world.path("")), listing(&world.path("~"))),
            before
        );
    }
    world.file(MANIFEST, &manifest);
    world.run(&["sync", "--frozen"]).expect(0);
}

/// `49`: the same files give the same archive on every machine and at every time, and install back.
#[test]
fn pack_gives_the_same_bytes_everywhere() {
    let files = [
        ("SKILL.md", skill("forms", "1.0.0", "Fill them in."), 0o644),
        ("references/b.md", "b".to_owned(), 0o644),
        ("references/a.md", "a".to_owned(), 0o644),
        ("scripts/run.sh", "echo done\n".to_owned(), 0o755),
    ];
    let packed = [false, true].map(|reversed| {
        let world = World::new();
        let mut order: Vec<_> = files.iter().collect();
        if reversed {
            order.reverse();
        }
        for (path, text, mode) in order {
            // Permissions of other users do not count, and neither do times.
            let mode = if reversed { mode & 0o700 } else { *mode };
            world.file_with_mode(&format!("own/forms/{path}"), text, mode);
        }
        let shown = world.run(&["pack", "own/forms", "--json"]).expect(0).json();
        let digest = shown["archives"][0]["digest"].as_str().unwrap().to_owned();
        world
            .run(&["pack", "own/forms", "--format", "tar.gz"])
            .expect(0);
        for archive in ["forms.skill", "forms.tar.gz"] {
            world.run(&["add", archive]).expect(0);
            let lock = read(&world, LOCK);
            assert!(lock.contains(&format!("\ndigest = \"{digest}\"")), "{lock}");
            world.run(&["verify"]).expect(0);
            world.run(&["remove", "forms"]).expect(0);
        }
        ["forms.skill", "forms.tar.gz"].map(|archive| fs::read(world.path(archive)).unwrap())
    });
    assert_eq!(packed[0], packed[1]);
}

//! Hot reload while the disk keeps changing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use prowess_catalog::{Catalog, ChangeKind, Precedence};
use prowess_registry::{
    FileOptions, FileSource, Known, Place, Registry, SkillSource, WatchMode, WatchOptions,
};
use prowess_test::{PATIENCE, StopFlag, World, wait_until};

/// Events only, without regular rescans that would hide lost events.
fn events_only() -> WatchOptions {
    WatchOptions {
        quiet: Duration::from_millis(5),
        longest: Duration::from_millis(50),
        net: Duration::from_hours(1),
        poll: Duration::from_hours(1),
    }
}

fn open(root: &Path) -> Registry {
    let registry = Registry::new(Precedence::default());
    let place = Place {
        only: Some(root.to_owned()),
        ..Place::default()
    };
    registry.add_files(FileSource::new(place, FileOptions::default()));
    registry.refresh();
    registry
}

/// Returns a skill text with its version in every field, to detect mixed versions.
fn text(name: &str, version: u64) -> String {
    format!(
        "---\nname: {name}\ndescription: version {version} of it\nwhen_to_use: version {version} of it\nmetadata:\n  n: '{version}'\n---\n\nversion {version}\n"
    )
}

fn write(root: &Path, name: &str, version: u64) {
    std::fs::create_dir_all(root.join(name)).unwrap();
    std::fs::write(root.join(name).join("SKILL.md"), text(name, version)).unwrap();
}

/// Returns the names and versions of a catalogue; panics on mixed versions.
fn versions(catalog: &Catalog) -> BTreeMap<String, String> {
    let version = |skill: &prowess_catalog::Skill| {
        let described = skill.description.to_string();
        assert_eq!(
            skill.when_to_use.as_deref(),
            Some(described.as_str()),
            "{}",
            skill.location
        );
        assert_eq!(described, format!("version {} of it", skill.metadata[0].1));
        described
    };
    let entries = catalog.entries().iter();
    entries
        .map(|entry| (entry.skill.location.to_string(), version(&entry.skill)))
        .collect()
}

/// Returns what a fresh scan finds.
fn on_disk(root: &Path) -> BTreeMap<String, String> {
    versions(&open(root).snapshot())
}

/// Waits until the catalogue equals the disk.
fn settles(registry: &Registry, root: &Path) {
    wait_until("the catalogue catches up", || {
        versions(&registry.snapshot()) == on_disk(root)
    });
}

/// A small deterministic random number generator.
struct Rng(u64);

impl Rng {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

#[test]
fn ten_thousand_edits_converge_to_the_disk() {
    let world = World::new();
    let root = world.path("skills");
    let outside = world.make_folder("../outside");
    for number in 0..40 {
        write(&root, &format!("skill-{number}"), 0);
    }
    let registry = open(&root);
    let watching = registry.watch(events_only());
    assert_eq!(watching.mode(), WatchMode::Events);
    let done = StopFlag::default();
    std::thread::scope(|scope| {
        let stop = done.set_on_drop();
        let reader = scope.spawn(|| {
            // Every intermediate snapshot contains complete versions only.
            let mut generation = 0;
            let mut seen = 0_u32;
            while !done.is_set() {
                let catalog = registry.snapshot();
                assert!(
                    catalog.generation() >= generation,
                    "generations never decrease"
                );
                if catalog.generation() > generation {
                    generation = catalog.generation();
                    versions(&catalog);
                    seen += 1;
                }
                std::thread::yield_now();
            }
            seen
        });
        let mut dice = Rng(0x9E37_79B9_7F4A_7C15);
        for version in 1..=10_000_u64 {
            let name = format!("skill-{}", dice.roll(60));
            let folder = root.join(&name);
            let file = folder.join("SKILL.md");
            match dice.roll(10) {
                0..=4 => write(&root, &name, version),
                5 => {
                    // Write in two steps, split anywhere.
                    let whole = text(&name, version);
                    let cut = usize::try_from(dice.roll(whole.len() as u64)).unwrap();
                    std::fs::create_dir_all(&folder).unwrap();
                    std::fs::write(&file, &whole[..cut]).unwrap();
                    std::fs::write(&file, &whole).unwrap();
                }
                6 => {
                    // Like editors: replace the file by a new one.
                    std::fs::create_dir_all(&folder).unwrap();
                    std::fs::write(folder.join(".SKILL.md.tmp"), text(&name, version)).unwrap();
                    std::fs::rename(folder.join(".SKILL.md.tmp"), &file).unwrap();
                }
                7 => {
                    // Move it out of the tree and back under another name.
                    let away = outside.join(format!("away-{version}"));
                    let back = root.join(format!("skill-{}", dice.roll(60)));
                    if folder.exists() && std::fs::rename(&folder, &away).is_ok() && !back.exists()
                    {
                        std::fs::rename(&away, &back).unwrap();
                    }
                }
                8 => {
                    let _ = std::fs::remove_dir_all(&folder);
                }
                _ => {
                    // Unrelated changes.
                    std::fs::create_dir_all(folder.join("scripts")).unwrap();
                    std::fs::write(folder.join("scripts/run.py"), "x").unwrap();
                    if !file.exists() {
                        write(&root, &name, version);
                    }
                }
            }
            if version == 5_000 {
                // As after an overflow of the event queue.
                watching.look_again();
            }
        }
        settles(&registry, &root);
        drop(stop);
        assert!(reader.join().unwrap() > 1, "the reader saw changes");
    });
    assert!(watching.looks() > 1);
}

#[test]
fn queue_overflow_causes_a_rescan() {
    let world = World::new();
    let root = world.make_folder("skills");
    write(&root, "a", 1);
    let registry = open(&root);
    let _watching = registry.watch(events_only());
    settles(&registry, &root);
    // More events than the system queues, most of them unrelated to skills.
    let limit: usize = std::fs::read_to_string("/proc/sys/fs/inotify/max_queued_events")
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(16_384);
    for number in 0..=limit / 3 {
        std::fs::write(root.join("a/noise"), number.to_string()).unwrap();
    }
    write(&root, "a", 2);
    write(&root, "b", 3);
    settles(&registry, &root);
}

#[test]
fn incomplete_file_keeps_the_previous_version() {
    let world = World::new();
    let root = world.make_folder("skills");
    write(&root, "a", 1);
    let registry = open(&root);
    let file = root.join("a/SKILL.md");
    std::fs::write(&file, "---\nname: a\ndescription: vers").unwrap();
    registry.refresh();
    assert_eq!(
        registry.get("a").unwrap().description.as_ref(),
        "version 1 of it"
    );
    let report = registry.report();
    assert!(report.faults[0].kept && report.faults[0].location.text().ends_with("a/SKILL.md"));
    std::fs::write(&file, text("a", 2)).unwrap();
    registry.refresh();
    assert_eq!(
        registry.get("a").unwrap().description.as_ref(),
        "version 2 of it"
    );
    assert!(registry.report().faults.is_empty());
}

#[test]
fn only_changes_are_announced() {
    let world = World::new();
    let root = world.make_folder("skills");
    for name in ["a", "b", "c"] {
        write(&root, name, 1);
    }
    let registry = open(&root);
    let _watching = registry.watch(events_only());
    let changes = registry.subscribe();
    let expect = |expected: &[(&str, ChangeKind)]| {
        let set = changes.next_within(PATIENCE).expect("an announcement");
        let found: Vec<(&str, ChangeKind)> = set
            .changes
            .iter()
            .map(|change| (&*change.name, change.kind.clone()))
            .collect();
        assert_eq!(found, expected);
    };
    write(&root, "b", 2);
    expect(&[("b", ChangeKind::Changed)]);
    std::fs::remove_dir_all(root.join("c")).unwrap();
    expect(&[("c", ChangeKind::Removed)]);
    // An unrelated file announces nothing; the next announcement is about the next skill.
    std::fs::write(root.join("a/data.csv"), "1,2").unwrap();
    std::fs::create_dir(root.join("a/scripts")).unwrap();
    write(&root, "d", 1);
    expect(&[("d", ChangeKind::Added)]);
}

#[test]
fn new_sidecar_changes_its_skill() {
    let world = World::new();
    let root = world.make_folder("skills");
    write(&root, "a", 1);
    let registry = open(&root);
    let _watching = registry.watch(events_only());
    assert!(registry.get("a").unwrap().model_invocable);
    std::fs::create_dir(root.join("a/agents")).unwrap();
    let policy = "policy:\n  allow_implicit_invocation: false\n";
    std::fs::write(root.join("a/agents/openai.yaml"), policy).unwrap();
    wait_until("the sidecar is read", || {
        !registry.get("a").unwrap().model_invocable
    });
}

#[test]
fn added_and_removed_roots_are_noticed() {
    let world = World::new();
    let project = world.path("");
    let registry = Registry::new(Precedence::default());
    let place = Place {
        current: project.clone(),
        ..Place::default()
    };
    registry.add_files(FileSource::new(place, FileOptions::default()));
    registry.refresh();
    let _watching = registry.watch(events_only());
    let wait_for = |wanted: &[&str]| {
        wait_until(&format!("exactly {wanted:?} are listed"), || {
            let skills = registry.list();
            skills
                .iter()
                .map(|skill| &*skill.name)
                .eq(wanted.iter().copied())
        });
    };
    let root: PathBuf = project.join(".agents/skills");
    write(&root, "late", 1);
    wait_for(&["late"]);
    std::fs::remove_dir_all(project.join(".agents")).unwrap();
    wait_for(&[]);
    write(&root, "again", 1);
    wait_for(&["again"]);
    write(&root, "again", 2);
    wait_until("the second version is read", || {
        &*registry.get("again").unwrap().description == "version 2 of it"
    });
}

#[test]
fn fresh_scan_accepts_broken_files() {
    // A fresh start has no previous version, so it accepts a broken file as well as it can.
    let world = World::new();
    world.file("skills/a/SKILL.md", "---\nname: a\ndescription: cut of");
    let place = Place {
        only: Some(world.path("skills")),
        ..Place::default()
    };
    let source = FileSource::new(place, FileOptions::default());
    assert_eq!(source.scan(Known::default()).skills.len(), 1);
    let later = Known {
        skills: &[],
        keep_last_good: true,
    };
    let scan = source.scan(later);
    assert_eq!((scan.skills.len(), scan.faults.len()), (0, 1));
}

/// A caller that settles first sees every change that it made before, without waiting itself.
#[test]
fn settled_catalogue_equals_the_disk() {
    let world = World::new();
    let root = world.path("skills");
    write(&root, "skill-0", 0);
    let registry = open(&root);
    assert!(!registry.settle(), "not watched yet");
    // Found by the first scan, although it is not watched when it is written.
    write(&root, "skill-1", 0);
    let markers = world.path("../markers");
    let watching = registry.watch_in_background(events_only(), Some(markers.clone()));
    let mut dice = Rng(0x9E37_79B9_7F4A_7C15);
    let mut settled = 0;
    for version in 1..=200 {
        if registry.settle() {
            settled += 1;
            assert_eq!(versions(&registry.snapshot()), on_disk(&root), "{version}");
        }
        let name = format!("skill-{}", dice.roll(8));
        let folder = root.join(&name);
        match dice.roll(4) {
            0 => drop(std::fs::remove_dir_all(&folder)),
            1 => {
                let renamed = root.join(format!("skill-{}", dice.roll(8)));
                drop(std::fs::rename(&folder, renamed));
            }
            _ => write(&root, &name, version),
        }
    }
    assert!(
        settled > 100,
        "the wait ended early {} times",
        200 - settled
    );
    assert_eq!(watching.mode(), WatchMode::Events);
    let left: Vec<_> = std::fs::read_dir(&markers).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn settling_scans_only_after_changes() {
    let world = World::new();
    let root = world.path("skills");
    write(&root, "a", 0);
    let registry = open(&root);
    let watching = registry.watch_in_background(events_only(), Some(world.path("../markers")));
    wait_until("it is settled", || registry.settle());
    let looks = watching.looks();
    for name in ["4913", ".SKILL.md.swp", "SKILL.md~"] {
        for _ in 0..10 {
            assert!(registry.settle());
        }
        // Temporary files of an editor are no change.
        std::fs::write(root.join("a").join(name), "x").unwrap();
        assert!(registry.settle());
        std::fs::remove_file(root.join("a").join(name)).unwrap();
    }
    assert!(registry.settle());
    assert_eq!(watching.looks(), looks);
    write(&root, "a", 1);
    assert!(registry.settle());
    assert_eq!(watching.looks(), looks + 1);
    assert_eq!(&*registry.get("a").unwrap().description, "version 1 of it");
    watching.detach();
    assert!(!registry.settle(), "no longer watched");
}

//! The cache of skill heads never gives wrong results.

use std::path::{Path, PathBuf};

use prowess_registry::{FileOptions, FileSource, Known, Place, Scan, SkillSource};

use crate::support::{Rng, World, heads, text};

/// Simulates a process start: a new source with nothing but its cache.
fn start(place: &Place, cache: Option<&Path>) -> Scan {
    let options = FileOptions {
        cache: cache.map(Path::to_owned),
        ..FileOptions::default()
    };
    FileSource::new(place.clone(), options).scan(Known::default())
}

/// Asserts that scans with and without the cache are equal. Runs several times: the first scan may
/// write the cache, and recently written files are not trusted.
fn same(place: &Place, cache: &Path) {
    let plain = start(place, None);
    for _ in 0..3 {
        let cached = start(place, Some(cache));
        assert_eq!(heads(&cached), heads(&plain));
        assert_eq!(cached.faults, plain.faults);
        assert_eq!(cached.notices, plain.notices);
        ripen(cache);
    }
}

/// Sets the time of a cache far after its files, so that they count as unchanged. The real change
/// time of a file cannot be set.
fn ripen(cache: &Path) {
    let written = (i64::MAX / 2).to_le_bytes();
    rewrite(cache, |body| [&written, &body[8..]].concat());
}

/// Rewrites the content of cache files with correct checksums.
fn rewrite(cache: &Path, change: impl Fn(&[u8]) -> Vec<u8>) {
    let Ok(entries) = std::fs::read_dir(cache) else {
        return;
    };
    for file in entries
        .map(|entry| entry.unwrap().path())
        .filter(|file| file.is_file())
    {
        let bytes = std::fs::read(&file).unwrap();
        let mut body = change(&bytes[12..]);
        let number = |body: &[u8], at: usize| {
            u32::from_le_bytes(body[at..at + 4].try_into().unwrap()) as usize
        };
        let end = 16 + 12 * number(&body, 12);
        let mut part = end;
        for entry in (16..end).step_by(12) {
            let next = part + number(&body, entry);
            let sum = crc32fast::hash(&body[part..next]).to_le_bytes();
            body[entry + 8..entry + 12].copy_from_slice(&sum);
            part = next;
        }
        let sum = crc32fast::hash(&body[..end]).to_le_bytes();
        std::fs::write(&file, [&bytes[..8], &sum, &body].concat()).unwrap();
    }
}

/// Changes the time stamp of a file but not its text.
fn age(path: &Path) {
    let old = std::time::SystemTime::now() - std::time::Duration::from_hours(1);
    std::fs::File::open(path)
        .unwrap()
        .set_modified(old)
        .unwrap();
}

fn cache_files(cache: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(cache).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn world() -> (World, Place) {
    let world = World::new();
    for name in ["a", "b", "group/c"] {
        world.skill(&format!(".agents/skills/{name}"));
    }
    world.skill(".claude/skills/a");
    world.skill("apps/web/.claude/skills/deploy");
    world.skill("~/.agents/skills/mine");
    world.file(".claude/commands/cmd.md", "Do it.\n");
    world.file("~/.agents/skills/lower/skill.md", text("lower", "d"));
    world.folder("~/.agents/skills/broken/SKILL.md");
    world.skill("../elsewhere/linked");
    world.link_to("~/.agents/skills/linked", "../elsewhere/linked");
    let place = world.standing_in("");
    (world, place)
}

#[test]
fn cached_and_uncached_scans_are_equal() {
    let (world, place) = world();
    let cache = world.path("../deep/er/cache");
    same(&place, &cache);
    assert!(!cache_files(&cache).is_empty(), "a cache was written");
}

#[test]
fn cached_heads_are_used() {
    // Otherwise the other tests would prove nothing.
    let (world, place) = world();
    let cache = world.path("../cache");
    same(&place, &cache);
    rewrite(&cache, |body| {
        let old = b"what it does";
        let mut body = body.to_vec();
        while let Some(at) = body.windows(old.len()).position(|part| part == old) {
            body[at..at + old.len()].copy_from_slice(b"as it was...");
        }
        body
    });
    let scan = start(&place, Some(&cache));
    let kept = scan
        .skills
        .iter()
        .filter(|skill| &*skill.description == "as it was...")
        .count();
    assert_eq!(kept, 6, "all but commands, links and `skill.md`");
    // The same files, from another format version.
    for file in cache_files(&cache) {
        let mut bytes = std::fs::read(&file).unwrap();
        bytes[7] += 1;
        std::fs::write(&file, bytes).unwrap();
    }
    assert_eq!(
        heads(&start(&place, Some(&cache))),
        heads(&start(&place, None))
    );
}

#[test]
fn folder_moved_over_its_link_is_found_once() {
    let world = World::new();
    world.skill("../elsewhere/x");
    world.link_to("skills/pack", "../elsewhere");
    let place = Place {
        only: Some(world.path("skills")),
        ..Place::default()
    };
    let cache = world.path("../cache");
    same(&place, &cache);
    std::fs::rename(world.path("../elsewhere"), world.path("skills/moved")).unwrap();
    std::fs::remove_file(world.path("skills/pack")).unwrap();
    world.link_to("skills/pack", "skills/moved");
    same(&place, &cache);
    let scan = start(&place, Some(&cache));
    assert_eq!(world.locations(&scan), ["skills/moved/x/SKILL.md"]);
}

/// Damages the content of a file.
type Damage = fn(&[u8]) -> Vec<u8>;

#[test]
fn damaged_cache_is_ignored() {
    let (world, place) = world();
    let cache = world.path("../cache");
    same(&place, &cache);
    let good: Vec<(PathBuf, Vec<u8>)> = cache_files(&cache)
        .into_iter()
        .map(|file| (file.clone(), std::fs::read(file).unwrap()))
        .collect();
    let damages: [Damage; 8] = [
        |_| Vec::new(),
        |_| b"garbage".to_vec(),
        |_| vec![0xff; 100_000],
        |bytes| bytes[..bytes.len() / 2].to_vec(),
        |bytes| bytes[..bytes.len() - 1].to_vec(),
        |bytes| [bytes, b"more"].concat(),
        // Another version, and one changed byte.
        |bytes| [&bytes[..7], b"\x7f", &bytes[8..]].concat(),
        |bytes| {
            let mut bytes = bytes.to_vec();
            let last = bytes.len() - 1;
            bytes[last] ^= 1;
            bytes
        },
    ];
    for (number, damage) in damages.iter().enumerate() {
        for (file, bytes) in &good {
            std::fs::write(file, damage(bytes)).unwrap();
        }
        let cached = start(&place, Some(&cache));
        assert_eq!(
            heads(&cached),
            heads(&start(&place, None)),
            "damage {number}"
        );
        same(&place, &cache);
    }
}

#[test]
fn cache_path_of_wrong_type_is_ignored() {
    let (world, place) = world();
    let file = world.make_file("../cache-file", "not a folder");
    same(&place, &file);
    same(&place, &world.path("../cache-file/below"));
    same(&place, Path::new("/proc/no-such-folder"));
    world.link_to("../cache-dangling", "../nowhere");
    same(&place, &world.path("../cache-dangling"));
    // Instead of the files: folders, FIFOs, broken and circular links.
    let cache = world.path("../cache");
    same(&place, &cache);
    let files = cache_files(&cache);
    assert!(files.len() >= 4);
    for (number, file) in files.iter().enumerate() {
        std::fs::remove_file(file).unwrap();
        match number % 4 {
            0 => crate::support::fifo(file),
            1 => std::fs::create_dir(file).unwrap(),
            2 => std::os::unix::fs::symlink("nowhere", file).unwrap(),
            _ => std::os::unix::fs::symlink(file, file).unwrap(),
        }
    }
    same(&place, &cache);
}

#[test]
fn unwritable_cache_is_ignored() {
    use std::os::unix::fs::PermissionsExt;
    let (world, place) = world();
    let cache = world.make_folder("../cache");
    let mode = |mode| std::fs::set_permissions(&cache, PermissionsExt::from_mode(mode)).unwrap();
    for bits in [0o555, 0o000] {
        mode(bits);
        // Root can write anyway; other users lose nothing.
        same(&place, &cache);
        mode(0o755);
    }
}

#[test]
fn concurrent_starts_share_a_cache() {
    let (world, place) = world();
    let cache = world.path("../cache");
    let expected = heads(&start(&place, None));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    assert_eq!(heads(&start(&place, Some(&cache))), expected);
                }
            });
        }
    });
    // No partially written file is left.
    let odd = |file: &PathBuf| file.extension().is_none_or(|ending| ending != "bin");
    assert!(
        !cache_files(&cache).iter().any(odd),
        "{:?}",
        cache_files(&cache)
    );
}

#[test]
fn recent_change_with_same_size_and_time_is_noticed() {
    let (world, place) = world();
    let cache = world.path("../cache");
    for round in 0..20 {
        let file = world.make_file(
            ".agents/skills/a/SKILL.md",
            text("a", &format!("{round:03}")),
        );
        age(&file);
        // The cache was just written, so the file changed shortly before.
        let (cached, plain) = (start(&place, Some(&cache)), start(&place, None));
        assert_eq!(heads(&cached), heads(&plain));
    }
}

#[test]
fn sidecar_changes_are_noticed() {
    let (world, place) = world();
    let cache = world.path("../cache");
    let sidecar = ".agents/skills/a/agents/openai.yaml";
    let invocable = || {
        same(&place, &cache);
        let scan = start(&place, Some(&cache));
        let skill = scan
            .skills
            .iter()
            .find(|skill| skill.location.text().ends_with(".agents/skills/a/SKILL.md"));
        skill.unwrap().model_invocable
    };
    assert!(invocable());
    for round in 0..5 {
        world.file(sidecar, "policy:\n  allow_implicit_invocation: false\n");
        assert!(!invocable(), "{round}");
        world.file(sidecar, "policy:\n  allow_implicit_invocation: true\n");
        assert!(invocable(), "{round}");
        world.file(sidecar, "policy:\n  allow_implicit_invocation: false\n");
        assert!(!invocable(), "{round}");
        std::fs::remove_file(world.path(sidecar)).unwrap();
        assert!(invocable(), "{round}");
    }
}

#[test]
fn cache_is_independent_of_reserved_names() {
    let world = World::new();
    world.skill("~/.claude/skills/synced/inner");
    world.skill("~/.claude/skills/other");
    let place = world.standing_in("");
    let cache = world.path("../cache");
    let scan = |claude_names, cache: Option<&Path>| {
        let cache = cache.map(Path::to_owned);
        let options = FileOptions {
            claude_names,
            cache,
            ..FileOptions::default()
        };
        FileSource::new(place.clone(), options).scan(Known::default())
    };
    for claude_names in [false, true, true, false, false, true] {
        let (cached, plain) = (scan(claude_names, Some(&cache)), scan(claude_names, None));
        assert_eq!(heads(&cached), heads(&plain));
        assert_eq!(cached.notices, plain.notices);
        ripen(&cache);
    }
}

#[test]
fn folder_below_two_roots_keeps_its_root() {
    let world = World::new();
    world.skill("../outer/inner/x");
    world.skill("../outer/y");
    let cache = world.path("../cache");
    for extra in [
        ["../outer", "../outer/inner"],
        ["../outer/inner", "../outer"],
    ] {
        let extra = extra.map(|path| world.path(path)).to_vec();
        let place = Place {
            extra,
            ..world.standing_in("")
        };
        same(&place, &cache);
    }
}

#[test]
fn random_edits_between_starts_are_noticed() {
    let (world, place) = world();
    let cache = world.path("../cache");
    let mut dice = Rng(0x9E37_79B9_7F4A_7C15);
    let roots = [".agents/skills", ".claude/skills", "~/.agents/skills"];
    // All versions have different lengths, so that they differ even with coarse time stamps.
    let mut length = 0;
    for round in 0..250 {
        for _ in 0..=dice.roll(3) {
            let root = roots[usize::try_from(dice.roll(3)).unwrap()];
            let path = format!("{root}/s{}", dice.roll(6));
            let (folder, file) = (world.path(&path), format!("{path}/SKILL.md"));
            length += 1;
            match dice.roll(10) {
                0..=2 => {
                    let _ = std::fs::remove_dir_all(&folder);
                    world.file(&file, text("s", &"x".repeat(length)));
                }
                3 if folder.exists() => {
                    let _ =
                        std::fs::rename(&folder, world.path(format!("{root}/s{}", dice.roll(6))));
                }
                4 => {
                    let _ = std::fs::remove_dir_all(&folder);
                }
                5 if folder.exists() => {
                    let (flag, note) = (dice.roll(2) == 0, "#".repeat(length));
                    let policy = format!("policy:\n  allow_implicit_invocation: {flag}\n{note}\n");
                    world.file(format!("{path}/agents/openai.yaml"), policy);
                }
                6 => {
                    let _ = std::fs::remove_dir_all(folder.join("agents"));
                }
                7 if world.path(&file).is_file() => age(&world.path(&file)),
                8 => {
                    let _ = std::fs::remove_dir_all(&folder);
                    world.folder(&file);
                }
                _ => {
                    let nested = format!("n{}/.claude/skills/s", dice.roll(3));
                    if world.path(&nested).exists() {
                        std::fs::remove_dir_all(world.path(&nested)).unwrap();
                    } else {
                        world.skill(&nested);
                    }
                }
            }
        }
        let (cached, plain) = (start(&place, Some(&cache)), start(&place, None));
        assert_eq!(heads(&cached), heads(&plain), "round {round}");
        assert_eq!(cached.faults, plain.faults, "round {round}");
        ripen(&cache);
    }
}

#[test]
fn escaped_ids_are_not_confused() {
    // The id of the first folder looks like the name of the second; both contain the same file.
    let world = World::new();
    let file = world.make_file("skills/a\\xb/SKILL.md", "---\ndescription: d\n---\n");
    let other = world.make_folder("skills/a\\x5Cxb");
    std::fs::hard_link(file, other.join("SKILL.md")).unwrap();
    let place = Place {
        only: Some(world.path("skills")),
        ..Place::default()
    };
    let cache = world.path("../cache");
    same(&place, &cache);
    let scan = start(&place, Some(&cache));
    let ids: std::collections::BTreeSet<_> = scan.skills.iter().map(|skill| &skill.id).collect();
    assert_eq!(ids.len(), 2);
}

#[test]
fn cache_is_shared_by_aliases_of_a_root() {
    let world = World::new();
    world.skill("skills/a");
    world.link_to("alias", "skills");
    let cache = world.path("../cache");
    let at = |path: PathBuf| Place {
        only: Some(path),
        ..Place::default()
    };
    same(&at(world.path("skills")), &cache);
    // Locations use the current path of the root, not the previous one.
    for path in ["alias", "skills", "skills/", "alias/"] {
        let place = at(PathBuf::from(format!("{}/{path}", world.text(""))));
        same(&place, &cache);
    }
}

//! Damaged and hostile disks.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use prowess_catalog::{Catalog, Precedence, changes};
use prowess_registry::{
    FileOptions, FileSource, Known, Place, ScanNotice, SkillSource, WatchOptions,
};
use prowess_test::{PATIENCE, StopFlag, wait_until};

use crate::support::{World, catalog, fifo, names, only, registry, text};

#[test]
fn files_that_are_no_skills_are_faults_and_leave_the_cache_alone() {
    let world = World::new();
    for (name, bytes) in [
        ("empty", &b""[..]),
        ("blank", b" \n\n"),
        ("bare", b"---\n---\n"),
        ("latin", b"---\nname: latin\ndescription: Caf\xe9\n---\nx\n"),
        ("nul", b"---\nname: nul\ndescription: d\n---\n\0\n"),
    ] {
        let folder = world.make_folder(format!("skills/{name}"));
        std::fs::write(folder.join("SKILL.md"), bytes).unwrap();
    }
    world.skill("skills/good");
    let options = || FileOptions {
        cache: Some(world.path("cache")),
        ..FileOptions::default()
    };
    let source = || FileSource::of_folder(world.path("skills"), options());
    for _ in 0..2 {
        let scan = source().scan(Known::default());
        assert_eq!(scan.skills.len(), 1);
        let faults: Vec<(String, String)> = world.faults(&scan);
        let faults: Vec<(&str, &str)> = faults
            .iter()
            .map(|(location, why)| (&**location, &**why))
            .collect();
        assert_eq!(
            faults,
            [
                (
                    "skills/bare/SKILL.md",
                    "it has neither frontmatter nor a body"
                ),
                ("skills/blank/SKILL.md", "it is empty"),
                ("skills/empty/SKILL.md", "it is empty"),
                ("skills/latin/SKILL.md", "it is not UTF-8 text"),
                ("skills/nul/SKILL.md", "it contains NUL bytes"),
            ]
        );
    }
    // A file that becomes a skill appears.
    world.skill("skills/empty");
    assert_eq!(source().scan(Known::default()).skills.len(), 2);
}

#[test]
fn ten_thousand_broken_skills_do_not_hide_a_good_one() {
    let world = World::new();
    for number in 0..10_000 {
        let folder = world.make_folder(format!("skills/broken-{number}"));
        match number % 4 {
            0 => std::fs::create_dir(folder.join("SKILL.md")).unwrap(),
            1 => std::os::unix::fs::symlink("nowhere", folder.join("SKILL.md")).unwrap(),
            2 => std::os::unix::fs::symlink("SKILL.md", folder.join("SKILL.md")).unwrap(),
            _ => std::fs::write(folder.join("SKILL.md"), b"\xff\xfe---\n\0").unwrap(),
        }
    }
    world.skill("skills/good");
    let registry = registry(vec![only(&world.path("skills"))]);
    assert_eq!(&*registry.get("good").unwrap().description, "what it does");
    // No file without a skill is listed; each is a fault.
    assert_eq!(registry.list().len(), 1);
    let report = registry.report();
    assert_eq!(report.faults.len(), 10_000);
    for (kind, why) in [
        (0, "it is a folder, not a regular file"),
        (1, "it is a broken link, not a regular file"),
        (2, "it is a circular link, not a regular file"),
        (3, "it is not UTF-8 text"),
    ] {
        let ending = format!("/broken-{kind}/SKILL.md");
        let fault = report
            .faults
            .iter()
            .find(|fault| fault.location.text().ends_with(&ending))
            .unwrap();
        assert_eq!(fault.why.to_string(), why);
    }
    // A repaired skill appears again.
    std::fs::remove_dir(world.path("skills/broken-0/SKILL.md")).unwrap();
    world.skill("skills/broken-0");
    registry.refresh();
    assert!(registry.get("broken-0").is_ok());
}

#[test]
fn five_thousand_skills_of_one_name_are_kept() {
    let world = World::new();
    for number in 0..5_000 {
        let text = text("same", &format!("number {number}"));
        world.file(format!("skills/s{number}/SKILL.md"), text);
    }
    world.skill("skills/other");
    let scan = world.scan_only("skills");
    let catalog = catalog(&scan);
    assert_eq!(names(&catalog), ["other", "same"]);
    assert_eq!(catalog.entries().len(), 5_001);
    // The winner does not depend on the order of reading, and shadowed ones can be addressed.
    let mut reversed = scan.skills.clone();
    reversed.reverse();
    let again = Catalog::new(reversed, Precedence::default(), 1);
    assert_eq!(again.entries(), catalog.entries());
    assert_eq!(
        &*catalog.resolve("same").unwrap().skill.description,
        "number 0"
    );
    let last = catalog.group("same").last().unwrap();
    assert_eq!(catalog.resolve(&catalog.qualified_name(last)), Ok(last));
    assert_eq!(catalog.resolve("s17").unwrap_err().name, "s17".into());
    assert_eq!(changes(&Catalog::default(), &catalog).len(), 5_001);
    assert!(changes(&catalog, &again).is_empty());
}

#[test]
fn roots_linking_to_each_other_terminate() {
    let world = World::new();
    world.skill("../one/a");
    world.skill("../two/b");
    world.link_to("../one/to-two", "../two");
    world.link_to("../two/to-one", "../one");
    let place = Place {
        extra: vec![world.path("../one"), world.path("../two")],
        ..world.standing_in("")
    };
    let source = FileSource::new(place, FileOptions::default());
    let first = source.scan(Known::default());
    assert_eq!(
        world.locations(&first),
        ["../one/a/SKILL.md", "../two/b/SKILL.md"]
    );
    let second = source.scan(Known {
        skills: &first.skills,
        keep_last_good: true,
    });
    assert_eq!(
        world.locations(&second),
        ["../one/a/SKILL.md", "../two/b/SKILL.md"]
    );
}

#[test]
fn roots_that_are_a_link_cycle_are_reported() {
    let world = World::new();
    world.link_to("../one", "../two");
    world.link_to("../two", "../one");
    world.skill("../good/a");
    let place = Place {
        extra: ["../one", "../two", "../good"]
            .map(|path| world.path(path))
            .into(),
        ..world.standing_in("")
    };
    let scan = FileSource::new(place, FileOptions::default()).scan(Known::default());
    assert_eq!(world.locations(&scan), ["../good/a/SKILL.md"]);
    let reason = "too many levels of symbolic links";
    assert_eq!(
        world.notices(&scan),
        ["../one", "../two"]
            .map(|path| format!("Unreadable {{ path: {path:?}, reason: {reason:?} }}"))
    );
}

#[test]
fn non_folder_roots_are_reported() {
    let world = World::new();
    world.skill("../good/a");
    fifo(&world.path("../fifo"));
    world.link_to("../dangling", "../nowhere");
    world.file("../binary", b"\x7fELF\0\0");
    world.file("../single.md", text("single", "a file that is a skill"));
    let extra = ["fifo", "dangling", "binary", "single.md", "missing", "good"];
    let place = Place {
        extra: extra.map(|name| world.path(format!("../{name}"))).into(),
        ..world.standing_in("")
    };
    let scan = FileSource::new(place, FileOptions::default()).scan(Known::default());
    let catalog = catalog(&scan);
    assert!(catalog.resolve("a").is_ok() && catalog.resolve("single").is_ok());
    let faults = world.faults(&scan);
    let fault = (
        "../fifo".to_owned(),
        "it is a FIFO, not a regular file".to_owned(),
    );
    assert!(faults.contains(&fault), "{faults:?}");
    let dangling = r#"Unreadable { path: "../dangling", reason: "no such file or directory" }"#;
    assert_eq!(world.notices(&scan), [dangling]);
}

#[test]
fn non_utf8_names_are_supported() {
    let world = World::new();
    let odd = |base: &str, name: &[u8]| world.make_folder(base).join(OsStr::from_bytes(name));
    for name in [&b"caf\xe9"[..], b"\xff\xfe", b"ok"] {
        let folder = odd(".agents/skills", name);
        std::fs::create_dir(&folder).unwrap();
        let named = format!("skill-{}", name.len());
        std::fs::write(folder.join("SKILL.md"), text(&named, "d")).unwrap();
        std::fs::write(folder.join("data.txt"), &named).unwrap();
    }
    // A folder whose name looks like an escaped one.
    world.file(".agents/skills/caf\\xE9/SKILL.md", text("look-alike", "d"));
    let command = odd(".claude/commands", b"cmd-\xe9.md");
    std::fs::write(command, "Do it.\n").unwrap();
    let nested = odd("", b"app-\xe9").join(".claude/skills/deploy");
    std::fs::create_dir_all(&nested).unwrap();
    std::fs::write(nested.join("SKILL.md"), text("deploy", "d")).unwrap();
    let registry = registry(vec![world.source()]);
    let listed: Vec<String> = registry
        .snapshot()
        .listed()
        .map(|entry| entry.name().to_owned())
        .collect();
    let expected = [
        "app-\\xE9:deploy",
        "cmd-\u{fffd}",
        "look-alike",
        "skill-2",
        "skill-4",
    ];
    assert_eq!(listed, expected);
    assert!(registry.report().faults.is_empty());
    let mut ids = std::collections::BTreeSet::new();
    for entry in registry.snapshot().entries() {
        let skill = &entry.skill;
        assert!(
            ids.insert(skill.id.clone()),
            "two skills share {:?}",
            skill.id
        );
        let bytes = registry.text(&skill.id).unwrap();
        let whole = String::from_utf8(bytes).unwrap();
        assert!(
            entry.name().starts_with("cmd") || whole.contains(&*skill.name),
            "{whole}"
        );
    }
    // A second scan neither loses nor adds anything.
    let before = registry.snapshot();
    assert_eq!(registry.refresh().entries(), before.entries());
}

#[test]
fn endless_tree_is_truncated_and_reported() {
    let world = World::new();
    let mut path = world.make_folder("skills");
    // Deeper than the maximum path length.
    for _ in 0..60 {
        path.push("folder");
        std::fs::create_dir(&path).unwrap();
    }
    std::fs::write(path.join("SKILL.md"), text("deep", "d")).unwrap();
    world.skill("skills/good");
    let scan = world.scan_only("skills");
    assert_eq!(world.locations(&scan), ["skills/good/SKILL.md"]);
    let [ScanNotice::TooDeep { path }] = &*scan.notices else {
        panic!("{:?}", scan.notices)
    };
    assert!(path.ends_with("folder/folder/folder/folder/folder/folder"));
}

#[test]
fn link_mesh_terminates() {
    let world = World::new();
    world.skill("skills/a");
    world.skill("skills/group/b");
    world.link_to("skills/me", "skills/me");
    world.link_to("skills/up", "skills");
    world.link_to("skills/group/up", "skills");
    world.link_to("skills/group/self", "skills/group");
    world.link_to("skills/world", "..");
    world.link_to("skills/file-link", "skills/a/SKILL.md");
    let source = only(&world.path("skills"));
    let first = source.scan(Known::default());
    assert_eq!(
        world.locations(&first),
        ["skills/a/SKILL.md", "skills/group/b/SKILL.md"]
    );
    let second = source.scan(Known {
        skills: &first.skills,
        keep_last_good: true,
    });
    assert_eq!(world.locations(&second), world.locations(&first));
    assert_eq!(world.notices(&second), world.notices(&first));
}

/// Every file is a link to one of a few, because creating 100,000 files takes longer. On a disk it
/// would take minutes, so there are fewer.
#[test]
fn limit_of_folders_can_be_raised_to_100_000() {
    let (folder, count) = match tempfile::tempdir_in("/dev/shm") {
        Ok(folder) => (folder, 100_000),
        Err(error) => {
            println!("only 25,000 folders: /dev/shm: {error}");
            (tempfile::tempdir().unwrap(), 25_000)
        }
    };
    let skills = folder.path().join("skills");
    std::fs::create_dir(&skills).unwrap();
    for number in 0..count {
        // File systems allow at least 32,000 links to a file.
        let first = folder.path().join(format!("{}.md", number / 30_000));
        if number % 30_000 == 0 {
            std::fs::write(&first, "---\ndescription: Does it.\n---\n").unwrap();
        }
        let one = skills.join(format!("s{number}"));
        std::fs::create_dir(&one).unwrap();
        std::fs::hard_link(first, one.join("SKILL.md")).unwrap();
    }
    let scan = |limit: Option<usize>| {
        let mut options = FileOptions::default();
        if let Some(limit) = limit {
            options.walk.max_folders = limit;
        }
        FileSource::of_folder(skills.clone(), options).scan(Known::default())
    };
    let cut = scan(None);
    assert_eq!(cut.skills.len(), 20_000);
    let [notice] = &cut.notices[..] else {
        panic!("{:?}", cut.notices)
    };
    let text = notice.explain(&|_| "skills".to_owned());
    assert_eq!(
        text,
        "only the first 20,000 folders of `skills` were searched"
    );
    assert!(notice.remedy().unwrap().contains("`max-folders`"));
    let whole = scan(Some(count));
    assert_eq!((whole.skills.len(), whole.notices.len()), (count, 0));
    let catalog = Catalog::new(whole.skills, Precedence::default(), 1);
    assert_eq!(catalog.listed().len(), count);
}

#[test]
fn other_files_do_not_count_towards_the_command_limit() {
    let world = World::new();
    let folder = world.make_folder(".claude/commands");
    // As many as the limit, in any directory order.
    for number in 0..20_000 {
        std::fs::write(folder.join(format!("{number}.txt")), "").unwrap();
    }
    for number in 0..1_000 {
        std::fs::write(folder.join(format!("{number}.md")), "Do it.\n").unwrap();
    }
    let scan = world.scan();
    assert_eq!(
        (scan.skills.len(), world.notices(&scan)),
        (1_000, Vec::new())
    );
}

#[test]
fn fault_survives_edit_of_another_command() {
    let world = World::new();
    world.folder(".claude/commands/");
    world.file(".claude/commands/big.md", vec![b'x'; 2 * 1024 * 1024]);
    world.file(".claude/commands/small.md", "One.\n");
    let registry = registry(vec![world.source()]);
    assert_eq!(registry.report().faults.len(), 1);
    let options = WatchOptions {
        quiet: std::time::Duration::from_millis(5),
        longest: std::time::Duration::from_millis(50),
        net: std::time::Duration::from_hours(1),
        poll: std::time::Duration::from_hours(1),
    };
    let news = registry.subscribe();
    let watching = registry.watch(options);
    // The first scan covers everything; only later ones read single files.
    wait_until("the first scan", || watching.looks() > 0);
    world.file(".claude/commands/small.md", "Two, and longer.\n");
    assert_eq!(news.next_within(PATIENCE).unwrap().changes.len(), 1);
    assert_eq!(registry.report().faults.len(), 1);
}

#[test]
fn concurrently_changing_files_are_whole_or_reported() {
    let world = World::new();
    for number in 0..20 {
        world.skill(&format!("skills/s{number}"));
    }
    let registry = registry(vec![only(&world.path("skills"))]);
    let done = StopFlag::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _done = done.set_on_drop();
            for round in 0..300 {
                let name = format!("s{}", round % 20);
                let file = world.path(format!("skills/{name}/SKILL.md"));
                let whole = text(&name, &format!("round {round}"));
                // Half, then whole; or removed and restored.
                if round % 3 == 0 {
                    let away = world.path(format!("../away-{round}"));
                    std::fs::rename(world.path(format!("skills/{name}")), &away).unwrap();
                    std::fs::rename(&away, world.path(format!("skills/{name}"))).unwrap();
                } else {
                    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
                    std::fs::write(&file, &whole).unwrap();
                }
            }
        });
        while !done.is_set() {
            for entry in registry.refresh().listed() {
                let text = &*entry.skill.description;
                let whole = text == "what it does"
                    || text
                        .strip_prefix("round ")
                        .is_some_and(|n| n.parse::<u32>().is_ok());
                assert!(whole, "{text}");
            }
        }
    });
    registry.refresh();
    assert!(registry.report().faults.is_empty());
    let fresh = catalog(&world.scan_only("skills"));
    let texts = |catalog: &Catalog| -> Vec<(String, String)> {
        let pair = |entry: &prowess_catalog::CatalogEntry| {
            (entry.name().to_owned(), entry.skill.description.to_string())
        };
        catalog.listed().map(pair).collect()
    };
    assert_eq!(texts(&registry.snapshot()), texts(&fresh));
    assert_eq!(fresh.listed().len(), 20);
}

/// A repository must not be able to expose the user's files to a model.
#[test]
fn link_to_the_outside_is_not_read() {
    let world = World::new();
    world.file("~/secret", "password");
    world.file("docs/shared.md", text("shared", "in the repository"));
    world.link_to(".agents/skills/leak/SKILL.md", "~/secret");
    world.link_to(".claude/commands/leak.md", "~/secret");
    world.link_to(".agents/skills/shared/SKILL.md", "docs/shared.md");
    // In user scope, links to anywhere are allowed.
    world.link_to("~/.agents/skills/mine/SKILL.md", "~/secret");
    let scan = world.scan();
    let expected = [
        ".agents/skills/shared/SKILL.md",
        "~/.agents/skills/mine/SKILL.md",
    ];
    assert_eq!(world.locations(&scan), expected);
    let why = "it is a link to a file outside the project".to_owned();
    let faults = [".agents/skills/leak/SKILL.md", ".claude/commands/leak.md"];
    assert_eq!(
        world.faults(&scan),
        faults.map(|path| (path.to_owned(), why.clone()))
    );
}

#[test]
fn forged_ids_are_rejected() {
    let world = World::new();
    world.skill("skills/a");
    world.file("outside.md", text("x", "y"));
    let registry = registry(vec![only(&world.path("skills"))]);
    let id = registry.get("a").unwrap().id.clone();
    assert!(registry.text(&id).is_ok());
    for path in ["../outside.md", "/etc/hostname", "a/../../outside.md"] {
        let made = prowess_catalog::SkillId {
            path: path.into(),
            ..id.clone()
        };
        assert!(registry.text(&made).is_err(), "{path}");
    }
}

#[test]
fn broken_new_skill_is_accepted_when_unchanged() {
    let world = World::new();
    world.skill("skills/a");
    let registry = registry(vec![only(&world.path("skills"))]);
    let file = world.make_file(
        "skills/b/SKILL.md",
        "---\nname: b\ndescription: never closed\n",
    );
    registry.refresh();
    assert_eq!(names(&registry.snapshot()), ["a"], "it may be incomplete");
    assert_eq!(registry.report().faults.len(), 1);
    // Its modification time shows that writing has ended; the change time cannot be set.
    let old = std::time::SystemTime::now() - std::time::Duration::from_mins(1);
    std::fs::File::open(&file)
        .unwrap()
        .set_modified(old)
        .unwrap();
    let changes = registry.subscribe();
    let options = WatchOptions {
        net: std::time::Duration::from_millis(100),
        ..WatchOptions::default()
    };
    let _watching = registry.watch(options);
    let set = changes.next_within(PATIENCE).expect("it is accepted");
    assert_eq!(&*set.changes[0].name, "b");
}

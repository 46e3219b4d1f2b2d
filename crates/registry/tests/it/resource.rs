//! Reading the files of a skill, with real links, FIFOs and swaps.

use std::os::unix::fs::symlink;
use std::path::Path;

use prowess_registry::resource::*;
use prowess_test::StopFlag;

/// A skill folder, with a secret next to it.
fn world() -> (tempfile::TempDir, SkillFolder) {
    let world = tempfile::tempdir().unwrap();
    let skill = world.path().join("skill");
    std::fs::create_dir_all(skill.join("references")).unwrap();
    std::fs::write(skill.join("references/a.md"), "héllo wörld").unwrap();
    std::fs::write(world.path().join("secret"), "SECRET").unwrap();
    let folder = SkillFolder::open(&skill).unwrap();
    (world, folder)
}

fn text(resource: Result<Resource, ResourceError>) -> String {
    match resource {
        Ok(Resource::Text { text, .. }) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn files_are_read_in_parts() {
    let (_world, folder) = world();
    assert_eq!(
        text(folder.read("references/a.md", 0, USUAL_LIMIT)),
        "héllo wörld"
    );
    assert_eq!(
        text(folder.read("./references/../references/a.md", 0, USUAL_LIMIT)),
        "héllo wörld"
    );
    for limit in 1..14 {
        let (mut whole, mut at) = (String::new(), Some(0));
        while let Some(offset) = at {
            match folder.read("references/a.md", offset, limit).unwrap() {
                Resource::Text {
                    text,
                    next,
                    offset: begins,
                    size,
                } => {
                    assert_eq!((begins, size), (offset, 13), "parts are consecutive");
                    whole.push_str(&text);
                    at = next;
                }
                other @ Resource::Binary { .. } => panic!("{other:?}"),
            }
        }
        assert_eq!(whole, "héllo wörld", "limit {limit}");
    }
    // Inside a character, and past the end.
    assert_eq!(
        text(folder.read("references/a.md", 2, 3)),
        "éll".chars().take(2).collect::<String>()
    );
    assert_eq!(text(folder.read("references/a.md", 999, 5)), "");
}

#[test]
fn paths_outside_are_rejected() {
    let (world, folder) = world();
    let skill = world.path().join("skill");
    symlink("../secret", skill.join("up")).unwrap();
    symlink(world.path().join("secret"), skill.join("absolute")).unwrap();
    symlink("..", skill.join("out")).unwrap();
    symlink("/proc/self/root", skill.join("magic")).unwrap();
    symlink("loop", skill.join("loop")).unwrap();
    for path in ["up", "absolute", "out/secret", "magic/etc/passwd", "loop"] {
        assert!(
            matches!(folder.read(path, 0, 10), Err(ResourceError::Outside { .. })),
            "{path}: {:?}",
            folder.read(path, 0, 10)
        );
    }
    for path in [
        "../secret",
        "references/../../secret",
        "/etc/passwd",
        "a\0b",
        "",
        ".",
    ] {
        assert!(
            matches!(folder.read(path, 0, 10), Err(ResourceError::Path { .. })),
            "{path:?}"
        );
    }
    // A link that stays inside is allowed: links are not rejected in general.
    symlink("references/a.md", skill.join("inside")).unwrap();
    assert_eq!(text(folder.read("inside", 0, 100)), "héllo wörld");
}

#[test]
fn only_regular_files_are_read() {
    let (world, folder) = world();
    let skill = world.path().join("skill");
    let status = std::process::Command::new("mkfifo")
        .arg(skill.join("fifo"))
        .status()
        .unwrap();
    assert!(status.success());
    let socket = std::os::unix::net::UnixListener::bind(skill.join("socket")).unwrap();
    for path in ["references", "fifo", "socket"] {
        assert!(
            matches!(
                folder.read(path, 0, 10),
                Err(ResourceError::NotAFile { .. })
            ),
            "{path}"
        );
    }
    drop(socket);
    assert!(matches!(
        folder.read("nope", 0, 10),
        Err(ResourceError::Missing { .. })
    ));
    assert!(matches!(
        folder.read("references/a.md/x", 0, 10),
        Err(ResourceError::Missing { .. })
    ));
}

#[test]
fn binary_files_are_described_by_type_and_size() {
    let (world, folder) = world();
    let skill = world.path().join("skill");
    for (bytes, kind) in [
        (&b"\x89PNG\r\n\x1a\n...."[..], "image/png"),
        (b"%PDF-1.7 text", "application/pdf"),
        (b"a\0b", "application/octet-stream"),
        (b"\xff\xfe\xfd", "application/octet-stream"),
    ] {
        std::fs::write(skill.join("file"), bytes).unwrap();
        let expected = Resource::Binary {
            kind,
            size: bytes.len() as u64,
        };
        assert_eq!(folder.read("file", 0, 10).unwrap(), expected);
    }
    let large = std::fs::File::create(skill.join("large")).unwrap();
    large.set_len(MAX_RESOURCE + 1).unwrap();
    assert!(matches!(
        folder.read("large", 0, 10),
        Err(ResourceError::TooLarge { .. })
    ));
}

/// A folder is repeatedly swapped with a link to the outside during reads.
#[test]
fn swapped_folder_never_leads_outside() {
    let (world, folder) = world();
    let skill = world.path().join("skill");
    std::fs::write(world.path().join("a.md"), "SECRET").unwrap();
    symlink("..", skill.join("evil")).unwrap();
    let stop = StopFlag::default();
    let (mut read, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        let _stop = stop.set_on_drop();
        scope.spawn(|| {
            let exchange = |a: &Path, b: &Path| {
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                let _ = rustix::fs::renameat_with(rustix::fs::CWD, a, rustix::fs::CWD, b, flags);
            };
            while !stop.is_set() {
                exchange(&skill.join("references"), &skill.join("evil"));
            }
        });
        // Continue until both were seen often enough, so that the race really happened.
        for _ in 0..2_000_000 {
            match folder.read("references/a.md", 0, 100) {
                Ok(Resource::Text { text, .. }) => {
                    assert_eq!(text, "héllo wörld");
                    read += 1;
                }
                Ok(Resource::Binary { .. }) => panic!("unexpected content"),
                Err(_) => refused += 1,
            }
            if read > 500 && refused > 500 {
                break;
            }
        }
    });
    assert!(
        read > 500 && refused > 500,
        "{read} read, {refused} refused"
    );
}

/// Path spellings that try to reach a secret outside the skill.
#[test]
fn sixty_escape_attempts_fail() {
    let (world, folder) = world();
    let skill = world.path().join("skill");
    let secret = world.path().join("secret");
    let absolute = secret.to_str().unwrap().to_owned();
    std::fs::create_dir_all(skill.join("a/b")).unwrap();
    std::fs::write(skill.join("%2e%2e"), "decoy").unwrap();
    for (name, target) in [
        ("l1", "../secret"),
        ("l2", absolute.as_str()),
        ("l3", ".."),
        ("l4", "/"),
        ("l5", "/proc/self/root"),
        ("l6", "/proc/self/cwd"),
        ("l7", "/dev/fd/0"),
        ("l8", "l1"),
        ("l9", "./././../secret"),
        ("l10", "references/../../secret"),
        ("l11", "l3/secret"),
        ("l12", "/dev/stdin"),
        ("l13", "/etc/passwd"),
        ("l14", "nowhere"),
        ("l15", "l15"),
        ("l16", "l17"),
        ("l17", "l16"),
        ("a/l18", "../../secret"),
        ("a/l19", ".."),
        ("a/b/l20", "../../../secret"),
        ("l21", "/dev/zero"),
        ("l22", "/dev/tty"),
        ("l23", "/proc/1/environ"),
        ("l24", "/proc/self/mem"),
    ] {
        symlink(target, skill.join(name)).unwrap();
    }
    let deep = "a/".repeat(3000) + "x";
    let long = "x".repeat(5000);
    let spelled = [
        "../secret",
        "./../secret",
        "references/../../secret",
        "a/b/../../../secret",
        "a/../..//secret",
        "..",
        "../",
        "../../etc/passwd",
        "a/../../skill/../secret",
        "/etc/passwd",
        "//etc/passwd",
        "/",
        "///",
        absolute.as_str(),
        "~/secret",
        "~root/.ssh/id_rsa",
        "$HOME/secret",
        "${HOME}/x",
        "%2e%2e/secret",
        "..%2fsecret",
        "%2e%2e%2fsecret",
        "..\\secret",
        "a\\..\\..\\secret",
        "C:\\secret",
        "\\\\host\\share",
        "file:///etc/passwd",
        "skill://x/secret",
        "references/\0/a.md",
        "a\0",
        "\0",
        "",
        ".",
        "./",
        "a/.",
        "a/..",
        "a//",
        "../secret\0.md",
        "references/a.md/../../../secret",
        "l1",
        "l2",
        "l3/secret",
        "l4/etc/passwd",
        "l5/etc/passwd",
        "l6/../secret",
        "l7",
        "l8",
        "l9",
        "l10",
        "l11",
        "l12",
        "l13",
        "l14",
        "l15",
        "l16",
        "a/l18",
        "a/l19/../secret",
        "a/b/l20",
        "l21",
        "l22",
        "l23",
        "l24",
        "l3/skill/../secret",
        "a/l19/l3/secret",
        "references/a.md/",
        "secret",
        "*",
        "references/*",
        "references/a.md;cat ../secret",
        "`cat ../secret`",
        deep.as_str(),
        long.as_str(),
    ];
    assert!(spelled.len() >= 60);
    for path in spelled {
        match folder.read(path, 0, 1 << 20) {
            Err(_) => {}
            Ok(Resource::Text { text, .. }) => {
                // Some of these are just unusual spellings of files inside.
                assert_eq!(text, "héllo wörld", "{path:?} gives something else");
            }
            Ok(other @ Resource::Binary { .. }) => panic!("{path:?} gives {other:?}"),
        }
    }
    // Control: the same paths work without the restriction.
    for path in ["l1", "l2", "l8", "l9", "l10", "l11", "a/l18", "a/b/l20"] {
        assert_eq!(
            std::fs::read_to_string(skill.join(path)).unwrap(),
            "SECRET",
            "{path}"
        );
    }
}

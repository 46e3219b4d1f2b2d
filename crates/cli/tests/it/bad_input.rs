//! Malformed and malicious input.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::world::{DESCRIPTION, NOBODY, Output, World};

/// Checks the folder `skills`, which contains a good and a bad skill: the bad one is reported, the good
/// one is counted.
fn check_with_a_good_skill(world: &World, code: i32) -> Output {
    world.good("skills/zz-good");
    let output = world
        .run(&["validate", "skills", "--format", "concise"])
        .expect(code);
    let skills = world
        .run(&["validate", "skills", "--json"])
        .expect(code)
        .json()["summary"]["skills"]
        .clone();
    assert_eq!(skills, 2, "{}", output.snapshot());
    for format in ["full", "github", "sarif", "json"] {
        let output = world
            .run(&["validate", "skills", "--format", format])
            .expect(code);
        assert!(!output.stdout.contains('\x1b'), "{format}");
    }
    // Fixing must not make it worse.
    world.run(&["validate", "skills", "--fix"]).expect(code);
    output
}

#[test]
fn directory_named_skill_md() {
    let world = World::new();
    world.folder("skills/bad/SKILL.md");
    insta::assert_snapshot!(check_with_a_good_skill(&world, 1).snapshot());
}

#[test]
fn directory_named_skill_md_given_directly() {
    let world = World::new();
    world.folder("skills/bad/SKILL.md");
    let output = world
        .run(&["validate", "skills/bad/SKILL.md", "--format", "concise"])
        .expect(1);
    assert_eq!(
        output.stdout,
        "skills/bad/SKILL.md: error[not-a-file] `SKILL.md` is a folder, not a regular file\n"
    );
}

#[test]
fn fifo() {
    let world = World::new();
    let path = world.folder("skills/bad").join("SKILL.md");
    assert!(
        Command::new("mkfifo")
            .arg(&path)
            .status()
            .unwrap()
            .success()
    );
    insta::assert_snapshot!(check_with_a_good_skill(&world, 1).snapshot());
    let output = world
        .run(&["validate", "skills/bad/SKILL.md", "--format", "concise"])
        .expect(1);
    assert!(
        output.stdout.contains("error[not-a-file]"),
        "{}",
        output.snapshot()
    );
    assert_eq!(world.run(&["show", "skills/bad"]).expect(2).stdout, "");
}

#[test]
fn device() {
    let world = World::new();
    world.link("skills/bad/SKILL.md", "/dev/zero");
    insta::assert_snapshot!(check_with_a_good_skill(&world, 1).snapshot());
}

#[test]
fn socket() {
    let world = World::new();
    let path = world.folder("skills/bad").join("SKILL.md");
    let _listener = std::os::unix::net::UnixListener::bind(path).unwrap();
    insta::assert_snapshot!(check_with_a_good_skill(&world, 1).snapshot());
}

#[test]
fn dangling_link() {
    let world = World::new();
    world.link("skills/bad/SKILL.md", "nowhere");
    insta::assert_snapshot!(check_with_a_good_skill(&world, 1).snapshot());
    let output = world
        .run(&["validate", "skills/bad/SKILL.md", "--format", "concise"])
        .expect(1);
    assert!(
        output.stdout.contains("a broken link"),
        "{}",
        output.snapshot()
    );
}

#[test]
fn link_loop() {
    let world = World::new();
    world.link("skills/bad/SKILL.md", "SKILL.md");
    insta::assert_snapshot!(check_with_a_good_skill(&world, 1).snapshot());
}

/// A skill that is reachable through links is checked once, at its direct path.
fn found_once(link: &str, target: &str) {
    let world = World::new();
    world.named("skills/group/bad", "wrong");
    world.link(link, target);
    let output = check_with_a_good_skill(&world, 1);
    assert_eq!(
        output.stdout,
        "skills/group/bad/SKILL.md:2:7: error[name-folder-mismatch] skill name differs from its folder\n"
    );
    assert_eq!(output.stderr, "1 error in 1 of 2 skills\n");
}

#[test]
fn folder_link_to_itself() {
    found_once("skills/group/self", "self");
}

#[test]
fn folder_link_to_its_parent() {
    found_once("skills/group/here", ".");
}

#[test]
fn folder_link_to_the_root() {
    found_once("skills/group/up", "..");
}

#[test]
fn folder_link_to_a_sibling() {
    found_once("skills/again", "group");
}

#[test]
fn folder_link_to_a_skill_already_found() {
    found_once("skills/again", "group/bad");
}

#[test]
fn folder_link_above_the_root() {
    found_once("skills/above", "../skills");
}

#[test]
fn linked_skill_folder_is_checked_once() {
    let world = World::new();
    world.named("elsewhere/bad", "wrong");
    world.link("skills/bad", "../elsewhere/bad");
    world.link("skills/worse", "../elsewhere/bad");
    let output = check_with_a_good_skill(&world, 1);
    assert_eq!(output.stdout.lines().count(), 1, "{}", output.snapshot());
    assert!(
        output.stdout.starts_with("skills/bad/SKILL.md:"),
        "{}",
        output.snapshot()
    );
}

#[test]
fn file_above_the_limit() {
    let world = World::new();
    let text = format!(
        "---\nname: bad\ndescription: {DESCRIPTION}\n---\n{}",
        "a\n".repeat(1 << 20)
    );
    world.file("skills/bad/SKILL.md", text);
    insta::assert_snapshot!(check_with_a_good_skill(&world, 1).snapshot());
}

#[test]
fn file_at_the_limit() {
    let world = World::new();
    let head = format!("---\nname: bad\ndescription: {DESCRIPTION}\n---\n\n");
    let text = format!("{head}{}", "a".repeat((1 << 20) - head.len()));
    world.file("skills/bad/SKILL.md", &text);
    let output = world
        .run(&["validate", "skills", "--format", "concise"])
        .expect(0);
    assert!(
        !output.stdout.contains("file-too-large"),
        "{}",
        output.stdout
    );
    world.file("skills/bad/SKILL.md", format!("{text}a"));
    let output = world
        .run(&["validate", "skills", "--format", "concise"])
        .expect(1);
    assert!(
        output.stdout.contains("error[file-too-large]"),
        "{}",
        output.stdout
    );
}

#[test]
fn size_just_above_the_limit_is_shown_as_larger() {
    let world = World::new();
    world.file("skills/bad/SKILL.md", vec![b'a'; (1 << 20) + 1]);
    let output = world
        .run(&["validate", "skills", "--format", "concise"])
        .expect(1);
    assert!(
        !output.stdout.contains("1.0 MB, more than the 1.0 MB"),
        "{}",
        output.stdout
    );
}

#[test]
fn not_utf8() {
    let world = World::new();
    world.file(
        "skills/bad/SKILL.md",
        b"---\nname: bad\ndescription: Use when asked.\n---\n\nCaf\xe9.\n",
    );
    insta::assert_snapshot!(check_with_a_good_skill(&world, 1).snapshot());
}

/// The text after the bad byte is not parsed, so a missing closing fence must not be reported.
#[test]
fn not_utf8_in_the_frontmatter() {
    let world = World::new();
    world.file(
        "skills/bad/SKILL.md",
        b"---\nname: bad\ndescription: caf\xe9\n---\n\nDo it.\n",
    );
    let output = check_with_a_good_skill(&world, 1);
    assert_eq!(
        output.stdout,
        "skills/bad/SKILL.md:3:17: error[not-utf8] the file is not UTF-8: invalid byte at offset 30\n"
    );
}

#[test]
fn utf16() {
    let world = World::new();
    let text: Vec<u8> = "\u{feff}---\nname: bad\n---\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    world.file("skills/bad/SKILL.md", text);
    insta::assert_snapshot!(check_with_a_good_skill(&world, 1).snapshot());
}

#[test]
fn nul_byte() {
    let world = World::new();
    world.file(
        "skills/bad/SKILL.md",
        format!("---\nname: bad\ndescription: {DESCRIPTION}\n---\n\nDo\0it.\n"),
    );
    insta::assert_snapshot!(check_with_a_good_skill(&world, 1).snapshot());
}

#[test]
fn empty_file() {
    let world = World::new();
    world.file("skills/bad/SKILL.md", "");
    insta::assert_snapshot!(check_with_a_good_skill(&world, 1).snapshot());
}

#[test]
fn only_fences() {
    let world = World::new();
    for (name, text) in [
        ("open", "---"),
        ("both", "---\n---"),
        ("blank", "---\n\n---\n\n"),
    ] {
        world.file("skills/bad/SKILL.md", text);
        insta::assert_snapshot!(
            format!("fences_{name}"),
            check_with_a_good_skill(&world, 1).snapshot()
        );
        world.file("skills/bad/SKILL.md", text);
    }
}

/// Root can read everything, so the test runs as another user, or reports that it cannot.
#[test]
fn unreadable_folder_and_file() {
    let world = World::new();
    world.good("skills/zz-good");
    let folder = world
        .named("skills/locked/inner", "wrong")
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .to_owned();
    world.file_with_mode("skills/secret/SKILL.md", "secret", 0o000);
    let set = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    };
    set(&folder, 0o000);
    // The other user needs access to the temporary folder.
    set(world.path("..").as_path(), 0o755);
    let arguments = ["validate", "skills", "--format", "concise"];
    let is_root = std::fs::read_dir(&folder).is_ok();
    let output = if is_root {
        match world.command(&arguments).uid(NOBODY).try_run() {
            Ok(output) => Some(output),
            Err(error) => {
                eprintln!(
                    "skipped: root reads everything, and another user cannot run the command: {error}"
                );
                // Root can read and check it.
                let output = world.run(&arguments);
                assert_eq!(output.stdout.matches("name-folder-mismatch").count(), 1);
                None
            }
        }
    } else {
        Some(world.run(&arguments))
    };
    set(&folder, 0o755);
    if let Some(output) = output {
        insta::assert_snapshot!(output.expect(1).snapshot());
    }
}

#[test]
fn fix_in_a_read_only_folder() {
    let world = World::new();
    let text = "name: pdf-tools\nname: pdf-tools\ndescription: Fills in forms. Use when asked.\n";
    let file = world.skill("skills/pdf-tools", text);
    let before = std::fs::read(&file).unwrap();
    let folder = file.parent().unwrap();
    let set = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    };
    set(folder, 0o555);
    set(world.path("..").as_path(), 0o755);
    let arguments = ["validate", "skills", "--fix"];
    // Root can write anywhere; detect root by trying.
    let probe = folder.join("probe");
    let is_root = std::fs::write(&probe, "").is_ok();
    let output = if is_root {
        std::fs::remove_file(probe).unwrap();
        world.command(&arguments).uid(NOBODY).try_run()
    } else {
        world.command(&arguments).try_run()
    };
    set(folder, 0o755);
    match output {
        Ok(output) => {
            assert_eq!(std::fs::read(&file).unwrap(), before);
            let output = output.expect(2);
            assert!(
                output.stderr.contains("permission denied"),
                "{}",
                output.snapshot()
            );
            // Neither our temporary file nor an errno is useful to the user.
            for noise in [".prowess-", "os error"] {
                assert!(!output.stderr.contains(noise), "{}", output.snapshot());
            }
            // The findings remain.
            assert!(
                output.stdout.contains("error[duplicate-key]"),
                "{}",
                output.snapshot()
            );
        }
        Err(error) => {
            eprintln!(
                "skipped: root writes everywhere, and another user cannot run the command: {error}"
            );
            world.run(&arguments).expect(0);
        }
    }
}

#[test]
fn file_names_with_terminal_escapes() {
    let world = World::new();
    world.named("skills/a\x1b[31mred\x07\x1b]0;title\x07", "wrong");
    world.good("skills/zz-good");
    insta::assert_snapshot!(world.run(&["validate", "skills"]).snapshot());
    for format in ["full", "concise", "github", "json", "sarif"] {
        let output = world
            .run(&["validate", "skills", "--format", format])
            .expect(1);
        assert!(
            !output.stdout.contains(['\x1b', '\x07']),
            "{format}: {:?}",
            output.stdout
        );
        let colored = world
            .run(&[
                "validate", "skills", "--format", format, "--color", "always",
            ])
            .expect(1);
        let found =
            ["\x1b[31mred", "\x1b]0;", "\x07"].map(|sequence| colored.stdout.contains(sequence));
        assert_eq!(found, [false; 3], "{format}: {:?}", colored.stdout);
        if format != "full" {
            assert!(
                !colored.stdout.contains('\x1b'),
                "{format}: {:?}",
                colored.stdout
            );
        }
    }
}

/// An annotation must contain the real file name.
#[test]
fn annotations_keep_escapes_in_file_names() {
    let world = World::new();
    world.named("skills/a\x1b[31mred", "wrong");
    let output = world
        .run(&["validate", "skills", "--format", "github"])
        .expect(1);
    assert!(
        !output.stdout.contains("file=skills/ared/"),
        "names another file: {}",
        output.stdout
    );
}

#[test]
fn arguments_with_terminal_escapes() {
    let world = World::new();
    for arguments in [
        ["validate", "no\x1b[31mpe"],
        ["validate", "no/\x1b[31mpe"],
        ["explain", "no\x1b[31mpe"],
        ["help", "no\x1b[31mpe"],
        ["schema", "no\x1b[31mpe"],
        ["show", "no\x1b[31mpe"],
        ["new", "no\x1b[31mpe"],
    ] {
        for color in ["never", "always"] {
            let output = world
                .run(&[&arguments[..], &["--color", color]].concat())
                .expect(2);
            assert!(
                !output.stderr.contains("\x1b[31mpe"),
                "{arguments:?} {:?}",
                output.stderr
            );
            assert!(
                output.stderr.contains("\\u{1b}[31mpe"),
                "{arguments:?} {:?}",
                output.stderr
            );
        }
    }
}

#[test]
fn texts_with_terminal_escapes() {
    let world = World::new();
    world.file(
        "skills/bad/SKILL.md",
        "---\nname: \"b\\e[31mad\"\ndescription: Raw \x1b[31mred and \u{202e}turned\u{200b}.\nzeb\u{202e}ra: 1\n---\n\nSee [x](gone\x1b[2J.md).\n",
    );
    insta::assert_snapshot!(world.run(&["validate", "skills"]).expect(1).snapshot());
    for format in ["full", "concise", "github"] {
        let output = world
            .run(&[
                "validate", "skills", "--format", format, "--color", "always",
            ])
            .expect(1);
        for sequence in ["\x1b[31mred", "\x1b[31mad", "\x1b[2J", "\u{202e}"] {
            assert!(
                !output.stdout.contains(sequence),
                "{format} {sequence:?}: {:?}",
                output.stdout
            );
        }
    }
}

#[test]
fn folder_names_not_utf8() {
    let world = World::new();
    world.good("skills/zz-good");
    let names = [b"skills/bad-\xff".as_slice(), b"skills/bad-\xfe"];
    for name in names {
        world.named(OsStr::from_bytes(name), "wrong");
    }
    // Both look the same when printed, and both are listed.
    let output = world
        .run(&["validate", "skills", "--format", "concise"])
        .expect(1);
    assert_eq!(output.stdout.lines().count(), 2, "{}", output.snapshot());
    assert_eq!(output.stderr, "2 errors in 2 of 3 skills\n");
}

#[test]
fn alias_bomb() {
    let world = World::new();
    let mut yaml = String::from(
        "name: bad\ndescription: Explodes. Use when asked.\nmetadata:\n  a0: &a0 [x,x,x,x,x,x,x,x,x]\n",
    );
    for level in 1..12 {
        let items = vec![format!("*a{}", level - 1); 9].join(",");
        yaml.push_str(&format!("  a{level}: &a{level} [{items}]\n"));
    }
    world.skill("skills/bad", &yaml);
    insta::assert_snapshot!(check_with_a_good_skill(&world, 1).snapshot());
    world.run(&["show", "skills/bad"]).expect(0);
}

#[test]
fn brackets() {
    let world = World::new();
    let deep = |count: usize| {
        format!(
            "name: bad\ndescription: Nests. Use when asked.\nmetadata: {}\n",
            "[".repeat(count)
        )
    };
    world.skill("skills/bad", &deep(100_000));
    insta::assert_snapshot!(
        "brackets_above_the_limit",
        check_with_a_good_skill(&world, 1).snapshot()
    );
    world.skill("skills/bad", &deep(16_000));
    let output = check_with_a_good_skill(&world, 1);
    assert!(output.stdout.len() < 20_000, "{}", output.stdout.len());
    insta::assert_snapshot!(
        "brackets_below_the_limit",
        output.snapshot().replace(&"[".repeat(1000), "[…]")
    );
}

#[test]
fn brackets_in_the_body() {
    for unit in [
        "[", "[a](b)", "![", "`", "!`", "$", "> ", "*", "<!--", "```\n",
    ] {
        let world = World::new();
        let head = format!("---\nname: bad\ndescription: {DESCRIPTION}\n---\n\n");
        world.file(
            "skills/bad/SKILL.md",
            format!("{head}{}\n", unit.repeat(100_000)),
        );
        let output = world.run(&["validate", "skills", "--json", "-q"]);
        assert!(output.code < 2, "{unit:?}: {}", output.stderr);
        assert_eq!(output.json()["summary"]["skills"], 1, "{unit:?}");
    }
}

/// Linear work takes milliseconds, even in a debug build.
#[test]
fn closing_brackets_in_the_body() {
    let world = World::new();
    let head = format!("---\nname: bad\ndescription: {DESCRIPTION}\n---\n\n");
    world.file(
        "skills/bad/SKILL.md",
        format!("{head}{}\n", "](".repeat(100_000)),
    );
    let run = world
        .command(&["validate", "skills", "--json", "-q"])
        .patience(60);
    assert_eq!(run.run().json()["summary"]["skills"], 1);
}

#[test]
fn million_keys() {
    let world = World::new();
    let keys: String = (0..1_000_000)
        .map(|number| format!("k{number}: 1\n"))
        .collect();
    world.skill(
        "skills/bad",
        &format!("name: bad\ndescription: {DESCRIPTION}\n{keys}"),
    );
    insta::assert_snapshot!(
        "million_keys",
        check_with_a_good_skill(&world, 1).snapshot()
    );
    // As many as fit into the file, and into the frontmatter.
    world.skill(
        "skills/bad",
        &format!(
            "name: bad\ndescription: {DESCRIPTION}\n{}",
            &keys[..900_000]
        ),
    );
    insta::assert_snapshot!(
        "keys_above_the_limit",
        check_with_a_good_skill(&world, 1).snapshot()
    );
    let (fitting, _) = keys[..16_000].rsplit_once('\n').unwrap();
    world.skill(
        "skills/bad",
        &format!("name: bad\ndescription: {DESCRIPTION}\n{fitting}\n"),
    );
    let output = check_with_a_good_skill(&world, 0);
    // 100 findings, and one line for the rest.
    assert_eq!(output.stdout.lines().count(), 101);
    let more = fitting.lines().count() - 100;
    assert!(
        output
            .stdout
            .contains(&format!("{},{:03} more findings", more / 1000, more % 1000)),
        "{}",
        output.stdout
    );
}

#[test]
fn deeply_nested_folders() {
    let world = World::new();
    let path: Vec<String> = (1..=200).map(|level| format!("d{level}")).collect();
    world.named(format!("skills/{}", path.join("/")), "wrong");
    world.good("skills/zz-good");
    let output = world.run(&["validate", "skills"]).expect(0);
    let last = path[..128].join("/");
    let warning = format!(
        "warning: folders below `skills/{last}` are nested too deeply and were not searched\n"
    );
    let summary = "Validated 1 skill in [TIME], no findings\n";
    assert_eq!(output.errors(), warning + summary);
}

/// If the search was incomplete, the absence of skills is not certain.
#[test]
fn only_deeply_nested_folders() {
    let world = World::new();
    let path: Vec<String> = (1..=200).map(|level| format!("d{level}")).collect();
    world.named(format!("skills/{}", path.join("/")), "wrong");
    let output = world.run(&["validate", "skills"]);
    assert_ne!(output.code, 0, "nothing was checked");
    assert!(output.stderr.contains("too deep"), "{}", output.snapshot());
    assert!(
        !output.stdout.contains("missing-file"),
        "{}",
        output.snapshot()
    );
}

#[test]
fn deep_paths_inside_a_skill() {
    let world = World::new();
    world.good("skills/zz-good");
    world.file(format!("skills/zz-good/{}file.md", "d/".repeat(200)), "x");
    world.run(&["validate", "skills"]).expect(0);
    world.run(&["show", "skills/zz-good"]);
}

#[test]
fn long_lines_are_not_quoted() {
    let world = World::new();
    world.skill(
        "skills/bad",
        &format!("name: {}\ndescription: {DESCRIPTION}\n", "x".repeat(10_000)),
    );
    let output = world.run(&["validate", "skills"]).expect(1);
    assert!(
        output.stdout.lines().all(|line| line.len() < 1000),
        "{}",
        output.stdout.len()
    );
}

#[test]
fn bad_skills_never_hide_a_good_one() {
    let world = World::new();
    world.folder("skills/folder/SKILL.md");
    world.link("skills/device/SKILL.md", "/dev/zero");
    world.link("skills/dangling/SKILL.md", "nowhere");
    world.link("skills/loop/SKILL.md", "SKILL.md");
    world.file("skills/empty/SKILL.md", "");
    world.file(
        "skills/bytes/SKILL.md",
        b"---\nname: bytes\ndescription: Use when asked.\n---\n\nCaf\xe9.\n",
    );
    world.file("skills/large/SKILL.md", vec![b'a'; 2 << 20]);
    let fifo = world.folder("skills/fifo").join("SKILL.md");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    for number in 0..30 {
        world.good(&format!("skills/good-{number}"));
    }
    insta::assert_snapshot!(
        world
            .run(&["validate", "skills", "--format", "concise"])
            .expect(1)
            .snapshot()
    );
}

#[test]
fn deleted_current_folder() {
    let world = World::new();
    let folder = world.folder("gone");
    // The shell removes its current folder before it starts the command.
    let output = Command::new("sh")
        .args([
            "-c",
            "cd \"$1\" && rmdir \"$1\" && exec \"$2\" validate",
            "sh",
        ])
        .args([
            folder.as_os_str(),
            OsStr::new(env!("CARGO_BIN_EXE_prowess")),
        ])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", world.path("~"))
        .env("PROWESS_HOME", world.path("~"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: "));
}

#[test]
fn no_home() {
    let world = World::with_a_good_skill();
    let output = Command::new(env!("CARGO_BIN_EXE_prowess"))
        .args(["validate", "skills", "-q"])
        .env_clear()
        .current_dir(world.path("."))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

//! Paths that try to escape the project. The gate asks about all of them, and no prompt is
//! approved.

use prowess_policy::profile::Strength;
use prowess_policy::{ApprovalAnswer, Effect, PermissionMode};
use prowess_tools::ToolErrorKind;
use serde_json::json;

use crate::support::{Says, World, call, told};

fn world() -> World {
    World::new()
        .with("in", "fine")
        .with_link_to("out", "../outside/x")
        .with_link_to("folder", "../outside")
        .with_link("up", "..")
        .with_link("hop", "up/outside")
        .with_link("loop", "loop")
        .with_link_to("nowhere", "../outside/new")
        .with_link("root", "/")
        .with_link_to("keys", "~/.ssh")
}

/// Paths that lead out of the project, in many spellings.
const OUT: &[&str] = &[
    "../outside/x",
    "./../outside/x",
    "sub/../../outside/x",
    "out",
    "folder/x",
    "up/outside/x",
    "hop/x",
    "folder/../outside/x",
    "root/etc/passwd",
    "//etc/passwd",
    "/etc/passwd",
    "/etc/./passwd",
    "/../etc/passwd",
    "~/notes",
];

#[test]
fn paths_outside_the_project_always_prompt() {
    let world = world();
    // In this mode, writes inside the project need no prompt.
    let context = world.context(PermissionMode::AcceptEdits, &[]);
    for path in OUT {
        for (tool, input) in [
            ("read", json!({ "path": path })),
            ("write", json!({ "path": path, "content": "PWNED" })),
            (
                "edit",
                json!({ "path": path, "old": "SECRET", "new": "PWNED" }),
            ),
            ("grep", json!({ "path": path, "pattern": "." })),
        ] {
            let error = call(&context, tool, &input).unwrap_err();
            let why = error.why();
            assert!(
                matches!(why, Some(ToolErrorKind::Denied | ToolErrorKind::Input)),
                "{tool} {path}: {error}"
            );
            assert!(
                !error.to_string().contains("SECRET"),
                "{tool} {path}: {error}"
            );
        }
    }
    assert_eq!(world.read("../outside/x"), "SECRET");
    assert_eq!(world.names("../outside"), ["x"]);
    assert_eq!(world.names("~"), [".ssh"]);
}

/// Private keys and our own folders stay hidden even if everything is allowed and every prompt is
/// approved.
#[test]
fn protected_paths_are_never_accessible() {
    let world = world();
    let rules = [(Effect::Allow, "Read(//**)"), (Effect::Allow, "Edit(//**)")];
    let mut context = world.context(PermissionMode::Yolo, &rules);
    let says = Says::new(ApprovalAnswer::Always);
    context.services.approver = says.clone();
    for path in [
        "~/.ssh/id",
        "keys/id",
        concat!("../home", "/.ssh/id"),
        "../ours/state",
        "up/ours/state",
    ] {
        for (tool, input) in [
            ("read", json!({ "path": path })),
            ("write", json!({ "path": path, "content": "PWNED" })),
            (
                "edit",
                json!({ "path": path, "old": "SECRET", "new": "PWNED" }),
            ),
            ("grep", json!({ "path": path, "pattern": "." })),
        ] {
            let error = call(&context, tool, &input).unwrap_err();
            assert_eq!(
                error.why(),
                Some(ToolErrorKind::Denied),
                "{tool} {path}: {error}"
            );
        }
    }
    let found = told(
        &context,
        "grep",
        &json!({ "path": "..", "pattern": "SECRET" }),
    );
    assert!(found.contains("outside/x") && !found.contains(".ssh") && !found.contains("ours"));
    let found = told(&context, "glob", &json!({ "path": "..", "pattern": "**" }));
    assert!(found.contains("outside/x") && !found.contains(".ssh") && !found.contains("ours"));
    assert!(says.questions().is_empty());
}

/// An index that cannot be parsed may name any submodule. The strength of the sandbox is about
/// commands; it does not open the project for the file tools.
#[test]
fn repository_that_cannot_be_inspected_is_not_written() {
    let world = world()
        .with(".git/HEAD", "ref: refs/heads/main\n")
        .with(".git/objects/x", "")
        .with(".git/refs/x", "")
        .with(".git/config", "");
    let write = |strength: Strength| {
        let mut context = world.yolo();
        context.settings.strength = strength;
        call(
            &context,
            "write",
            &json!({ "path": "new.txt", "content": "x" }),
        )
    };
    for strength in Strength::ALL {
        write(strength).unwrap();
    }
    world.file(".git/index", "DIRC and no index");
    for strength in Strength::ALL {
        let error = write(strength).unwrap_err();
        assert_eq!(error.why(), Some(ToolErrorKind::Denied), "{error}");
    }
}

/// A question about a path changes nothing on disk: a placeholder may belong to a run of another
/// session.
#[test]
fn placeholders_are_kept_by_the_file_tools() {
    use std::os::unix::fs::PermissionsExt;
    let world = world().with(".envrc", "");
    let placeholder = world.path(".envrc");
    std::fs::set_permissions(&placeholder, PermissionsExt::from_mode(0o404)).unwrap();
    told(
        &world.yolo(),
        "write",
        &json!({ "path": "new.txt", "content": "x" }),
    );
    assert!(placeholder.exists());
}

/// Skills, and files that decide what is executed later, cannot be written, whether they exist or
/// not.
#[test]
fn protected_files_are_never_written() {
    let skill = "---\nname: s\ndescription: d\n---\nBody\n";
    let world = world()
        .with(".git/config", "")
        .with(".agents/skills/s/SKILL.md", skill)
        .with("sub/.git/config", "");
    let mut context = world.yolo();
    context.services.approver = Says::new(ApprovalAnswer::Always);
    for path in [
        ".git/config",
        ".git/hooks/pre-commit",
        ".git",
        "sub/.git/hooks/x",
        ".GIT/config",
        ".gitmodules",
        ".agents/skills/s/SKILL.md",
        ".agents/skills/new/SKILL.md",
        ".claude/settings.json",
        ".mcp.json",
        ".envrc",
        ".github/workflows/ci.yml",
        ".prowess/config.toml",
        "~/.bashrc",
        "~/.config/x",
    ] {
        let input = json!({ "path": path, "content": "PWNED" });
        let error = call(&context, "write", &input).unwrap_err();
        assert_eq!(error.why(), Some(ToolErrorKind::Denied), "{path}: {error}");
    }
    assert_eq!(world.read(".agents/skills/s/SKILL.md"), skill);
    // They can still be read.
    assert!(
        call(
            &context,
            "read",
            &json!({ "path": ".agents/skills/s/SKILL.md" })
        )
        .is_ok()
    );
}

/// On a file system that ignores case, these are the protected files. On others they may be copied to one.
#[test]
fn other_spellings_of_protected_names_are_refused() {
    let world = World::new().with(".vscode/tasks.json", "{}");
    let context = world.yolo();
    for path in [
        ".VSCODE/tasks.json",
        ".vscode./tasks.json",
        ".v\u{17f}code/tasks.json",
        ".Envrc",
        ".envrc ",
        ".AGENTS/skills/x/SKILL.md",
        "Claude.md",
        ".GIT/config",
        ".git./config",
        "~/.SSH/config",
        "~/.Bashrc",
    ] {
        let input = json!({"path": path, "content": "evil"});
        let error = call(&context, "write", &input).unwrap_err();
        assert_eq!(error.why(), Some(ToolErrorKind::Denied), "{path}: {error}");
        assert!(!world.path(path).exists(), "{path}");
    }
    // The keys in the home folder have other names there.
    world.file("~/.SSH/id", "SECRET");
    let text = told(&context, "read", &json!({"path": "~/.SSH/id"}));
    assert!(!text.contains("SECRET"), "{text}");
    let text = told(&context, "grep", &json!({"pattern": "SECRET", "path": "~"}));
    assert!(!text.contains(".SSH"), "{text}");
    for path in [
        "claude.txt",
        "vscode/tasks.json",
        "Makefile",
        "docs/Agents.txt",
    ] {
        let input = json!({"path": path, "content": "text"});
        call(&context, "write", &input).unwrap();
    }
}

#[test]
fn invalid_paths_are_errors() {
    let world = world();
    let context = world.yolo();
    let long = "x/".repeat(3_000);
    let cases = [
        ("a\0b", "NUL"),
        (&*long, "too long"),
        ("nowhere", "a broken link"),
        ("nowhere/x", "a broken link"),
        ("missing/../in", "`..` follows a folder that does not exist"),
        ("loop", "Cannot access"),
    ];
    for (path, why) in cases {
        for (tool, input) in [
            ("read", json!({ "path": path })),
            ("write", json!({ "path": path, "content": "x" })),
        ] {
            let text = told(&context, tool, &input);
            assert!(text.contains(why), "{tool} {path:?}: {text}");
        }
    }
    assert_eq!(world.names("../outside"), ["x"]);
    // Paths are literal: no decoding, variables or patterns.
    for path in [
        "%2e%2e/outside/x",
        "$HOME/.ssh/id",
        "..%2foutside",
        "*",
        "in ",
        "~root/x",
    ] {
        let text = told(&context, "read", &json!({ "path": path }));
        assert!(text.starts_with("File not found:"), "{path}: {text}");
    }
}

#[test]
fn prompt_shows_the_target_of_a_link() {
    let world = world();
    let mut context = world.context(PermissionMode::Ask, &[]);
    let says = Says::new(ApprovalAnswer::Once);
    context.services.approver = says.clone();
    told(&context, "read", &json!({ "path": "out" }));
    let (link, target) = (world.text("out"), world.text("../outside/x"));
    assert_eq!(
        says.questions(),
        [format!("Read `{link}` (link to `{target}`)")]
    );
}

/// The gate may know the project by a path that contains a link.
#[test]
fn project_path_may_contain_a_link() {
    let world = world().with_link("../alias", "project").with(".env", "KEY");
    let mut context = world.context(
        PermissionMode::AcceptEdits,
        &[(Effect::Deny, "Read(/.env)")],
    );
    context.settings.paths.workspace = world.path("../alias");
    context.gate().places.root = world.text("../alias").into();
    assert_eq!(
        told(&context, "read", &json!({ "path": "in" })),
        "1\tfine\n"
    );
    let absolute = json!({ "path": world.text("in"), "content": "new" });
    assert!(told(&context, "write", &absolute).starts_with("Replaced `in`"));
    let denied = told(&context, "read", &json!({ "path": world.text(".env") }));
    assert!(denied.contains("deny rule"), "{denied}");
}

/// A skill that is opened as the project can be edited.
#[test]
fn skill_opened_as_project_can_be_written() {
    let skill = "---\nname: s\ndescription: d\n---\nBody\n";
    let world = World::new().with(".agents/skills/s/SKILL.md", skill);
    let mut context = world.yolo();
    context.settings.paths.workspace = world.path(".agents/skills/s");
    let input = json!({ "path": "SKILL.md", "content": "new" });
    assert!(call(&context, "write", &input).is_ok());
}

/// Git takes a folder with `HEAD`, `objects` and `refs` for a repository and executes what its
/// `config` says.
#[test]
fn no_folder_becomes_a_git_folder() {
    let world = world()
        .with("bare/HEAD", "ref: refs/heads/main\n")
        .with("own/.git/HEAD", "ref: refs/heads/main\n");
    let context = world.context(PermissionMode::AcceptEdits, &[]);
    let write = |path: &str| {
        let input = json!({ "path": path, "content": "x" });
        call(&context, "write", &input)
    };
    for path in [
        "HEAD",
        "head",
        "sub/HEAD",
        "bare/config",
        "bare/Config",
        "bare/config.worktree",
        "bare/hooks/post-checkout",
        "bare/objects/x",
        "bare/refs/heads/main",
        "bare/commondir",
        "bare/info/attributes",
    ] {
        let error = write(path).unwrap_err();
        assert_eq!(error.why(), Some(ToolErrorKind::Denied), "{path}: {error}");
    }
    let edit = json!({ "path": "bare/HEAD", "old": "main", "new": "other" });
    assert!(call(&context, "edit", &edit).is_err());
    for path in [
        "config",
        "hooks/x",
        "refs/x",
        "objects/y",
        "own/HEAD",
        "bare/readme",
    ] {
        assert!(write(path).is_ok(), "{path}");
    }
}

/// The file tools protect what commands in the sandbox cannot change: what the repository executes,
/// and settings in subfolders.
#[test]
fn files_that_a_repository_executes_are_not_written() {
    let world = world()
        .with("tools/monitor", "#!/bin/sh\n: ORIGINAL\n")
        .with("hooks/post-index-change", "#!/bin/sh\n: ORIGINAL\n")
        .with("scripts/linked", "#!/bin/sh\n: ORIGINAL\n")
        .with("sub/.vscode/tasks.json", "{}")
        .with("src/plain", ": ORIGINAL\n");
    let git = |arguments: &[&str]| {
        let output = std::process::Command::new("git")
            .args(arguments)
            .current_dir(world.path(""))
            .env("HOME", world.path("~"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    };
    git(&["init", "-q"]);
    git(&["config", "core.fsmonitor", "tools/monitor"]);
    git(&["config", "core.hooksPath", "hooks"]);
    std::fs::create_dir_all(world.path(".git/hooks")).unwrap();
    world.link(".git/hooks/pre-commit", "../../scripts/linked");
    let canary = world.path("../canary");
    for mode in [PermissionMode::AcceptEdits, PermissionMode::Yolo] {
        let context = world.context(mode, &[]);
        for path in ["tools/monitor", "hooks/post-index-change", "scripts/linked"] {
            let new = format!("touch {}", canary.display());
            let edit = json!({ "path": path, "old": ": ORIGINAL", "new": new });
            assert!(call(&context, "read", &json!({ "path": path })).is_ok());
            let error = call(&context, "edit", &edit).unwrap_err();
            assert_eq!(error.why(), Some(ToolErrorKind::Denied), "{path}: {error}");
        }
        for path in [
            "sub/.vscode/tasks.json",
            "hooks/pre-commit",
            "rust-toolchain.toml",
        ] {
            let write = json!({ "path": path, "content": "x" });
            let error = call(&context, "write", &write).unwrap_err();
            assert_eq!(error.why(), Some(ToolErrorKind::Denied), "{path}: {error}");
        }
        let plain = json!({ "path": "src/new", "content": "x" });
        assert!(call(&context, "write", &plain).is_ok());
    }
    git(&["add", "src/plain"]);
    git(&["status"]);
    assert!(!canary.exists());
}

/// Programs read names that begin with a dot, whether they exist or not.
#[test]
fn settings_of_a_home_folder_that_is_the_project_are_not_written() {
    let world = World::new();
    world.file("~/.mavenrc", "before");
    world.folder("~/.cache/named");
    let mut context = world.yolo();
    context.settings.paths.workspace = world.path("~");
    context.gate().places.root = world.text("~").into();
    context.settings.writable = vec![world.path("~/.cache/named")];
    let write = |path: &str| {
        let path = world.path(path).display().to_string();
        call(&context, "write", &json!({ "path": path, "content": "x" }))
    };
    for path in [
        "~/.mavenrc",
        "~/.gdbearlyinit",
        "~/.sdkman/init",
        "~/.cache/x",
    ] {
        let error = write(path).unwrap_err();
        assert_eq!(error.why(), Some(ToolErrorKind::Denied), "{path}: {error}");
    }
    for path in ["~/notes/a", "~/.cache/named/a"] {
        write(path).unwrap();
    }
}

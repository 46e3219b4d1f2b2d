//! Paths that try to get somewhere else. The gate asks about all of them, and nobody says yes.

use prowess_policy::{Answer, Effect, Mode};
use prowess_tools::Why;
use serde_json::json;

use crate::support::{Says, World, call, told};

fn world() -> World {
    World::new()
        .file("repo/in", "fine")
        .link("repo/out", "@/outside/x")
        .link("repo/folder", "@/outside")
        .link("repo/up", "..")
        .link("repo/hop", "up/outside")
        .link("repo/loop", "loop")
        .link("repo/nowhere", "@/outside/new")
        .link("repo/root", "/")
        .link("repo/keys", "@/house/.ssh")
}

/// What leads out of the project, however it is written.
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
fn nothing_outside_is_reached_unasked() {
    let world = world();
    // In this mode everything inside may be written unasked.
    let context = world.context(Mode::AcceptEdits, &[]);
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
                matches!(why, Some(Why::Denied | Why::Input)),
                "{tool} {path}: {error}"
            );
            assert!(
                !error.to_string().contains("SECRET"),
                "{tool} {path}: {error}"
            );
        }
    }
    assert_eq!(world.get("outside/x"), "SECRET");
    assert_eq!(world.names("outside"), ["x"]);
    assert_eq!(world.names("house"), [".ssh"]);
}

/// Keys and our own folders stay shut also where everything is allowed and everybody says yes.
#[test]
fn some_places_are_never_touched() {
    let world = world();
    let rules = [(Effect::Allow, "Read(//**)"), (Effect::Allow, "Edit(//**)")];
    let mut context = world.context(Mode::Yolo, &rules);
    let says = Says::new(Answer::Always);
    context.services.approver = says.clone();
    for path in [
        "~/.ssh/id",
        "keys/id",
        "../house/.ssh/id",
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
            assert_eq!(error.why(), Some(Why::Denied), "{tool} {path}: {error}");
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

/// What decides what runs later, and skills, are not written, existing or not.
#[test]
fn some_files_are_never_written() {
    let skill = "---\nname: s\ndescription: d\n---\nBody\n";
    let world = world()
        .file("repo/.git/config", "")
        .file("repo/.agents/skills/s/SKILL.md", skill)
        .file("repo/sub/.git/config", "");
    let mut context = world.yolo();
    context.services.approver = Says::new(Answer::Always);
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
        assert_eq!(error.why(), Some(Why::Denied), "{path}: {error}");
    }
    assert_eq!(world.get("repo/.agents/skills/s/SKILL.md"), skill);
    // They can be read.
    assert!(
        call(
            &context,
            "read",
            &json!({ "path": ".agents/skills/s/SKILL.md" })
        )
        .is_ok()
    );
}

#[test]
fn strange_paths_are_errors() {
    let world = world();
    let context = world.yolo();
    let long = "x/".repeat(3_000);
    let cases = [
        ("a\0b", "NUL"),
        (&*long, "too long"),
        ("nowhere", "a link that leads nowhere"),
        ("nowhere/x", "a link that leads nowhere"),
        (
            "missing/../in",
            "`..` stands behind a folder that does not exist",
        ),
        ("loop", "Cannot look at"),
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
    assert_eq!(world.names("outside"), ["x"]);
    // No decoding, no variables, no patterns.
    for path in [
        "%2e%2e/outside/x",
        "$HOME/.ssh/id",
        "..%2foutside",
        "*",
        "in ",
        "~root/x",
    ] {
        let text = told(&context, "read", &json!({ "path": path }));
        assert!(text.starts_with("There is no file"), "{path}: {text}");
    }
}

#[test]
fn a_link_is_told_about() {
    let world = world();
    let mut context = world.context(Mode::Ask, &[]);
    let says = Says::new(Answer::Once);
    context.services.approver = says.clone();
    told(&context, "read", &json!({ "path": "out" }));
    let (link, target) = (world.text("repo/out"), world.text("outside/x"));
    assert_eq!(
        says.questions(),
        [format!("Read `{link}` (it leads to `{target}`)")]
    );
}

/// The gate may know the project by a name that goes through a link.
#[test]
fn a_project_behind_a_link_is_the_project() {
    let world = world().link("alias", "repo").file("repo/.env", "KEY");
    let mut context = world.context(Mode::AcceptEdits, &[(Effect::Deny, "Read(/.env)")]);
    context.settings.paths.workspace = world.path("alias");
    context.gate().places.root = world.text("alias").into();
    assert_eq!(
        told(&context, "read", &json!({ "path": "in" })),
        "1\tfine\n"
    );
    let absolute = json!({ "path": world.text("repo/in"), "content": "new" });
    assert!(told(&context, "write", &absolute).starts_with("Replaced `in`"));
    let denied = told(
        &context,
        "read",
        &json!({ "path": world.text("repo/.env") }),
    );
    assert!(denied.contains("deny rule"), "{denied}");
}

/// Whoever makes a skill their project works on it.
#[test]
fn a_skill_that_is_the_project_is_written() {
    let skill = "---\nname: s\ndescription: d\n---\nBody\n";
    let world = World::new().file("repo/.agents/skills/s/SKILL.md", skill);
    let mut context = world.yolo();
    context.settings.paths.workspace = world.path("repo/.agents/skills/s");
    let input = json!({ "path": "SKILL.md", "content": "new" });
    assert!(call(&context, "write", &input).is_ok());
}

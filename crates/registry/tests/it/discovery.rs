//! Skill discovery: §9.5 of the normative cases, and Planck's D1 to D9.

use std::path::Path;

use prowess_catalog::{Catalog, Precedence, Scope};
use prowess_registry::{
    FileOptions, FileSource, Known, PackageFolders, Place, Registry, SearchedFolder, SkillSource,
    WalkOptions,
};

use crate::support::{World, catalog, names, only, registry, text};

#[test]
fn case_105_only_folders_with_skill_file() {
    let world = World::new();
    world.skill(".agents/skills/x");
    world.file(".agents/skills/README.md", text("readme", "d"));
    world.file(".agents/skills/name.md", text("name", "d"));
    world.skill(".agents/skills/.git/hooks-skill");
    world.skill(".agents/skills/node_modules/module-skill");
    let scan = world.scan();
    assert_eq!(world.locations(&scan), [".agents/skills/x/SKILL.md"]);
    assert_eq!(world.faults(&scan), []);
    assert_eq!(world.notices(&scan), [""; 0]);
}

#[test]
fn case_106_limits_give_partial_results_and_a_warning() {
    let world = World::new();
    for number in 0..50 {
        world.skill(&format!(".agents/skills/s{number}"));
    }
    world.skill(".claude/skills/a/b/c/d/e/f/g/deep");
    world.skill(".claude/skills/shallow");
    let walk = WalkOptions {
        max_folders: 20,
        ..WalkOptions::default()
    };
    let options = FileOptions {
        walk,
        ..FileOptions::default()
    };
    let scan = FileSource::new(world.standing_in(""), options).scan(Known::default());
    let of = |root: &str| {
        world
            .locations(&scan)
            .iter()
            .filter(|location| location.starts_with(root))
            .count()
    };
    assert_eq!(of(".agents"), 20);
    assert_eq!(of(".claude"), 1, "each root has its own limit");
    assert_eq!(
        world.notices(&scan),
        [
            r#"TooDeep { path: ".claude/skills/a/b/c/d/e/f" }"#,
            r#"TooMany { root: ".agents/skills", limit: 20 }"#,
        ]
    );
}

#[test]
fn case_107_same_name_in_project_and_user() {
    let world = World::new();
    world.described(".agents/skills/a", "of the project");
    world.described("~/.agents/skills/a", "of the user");
    let scan = world.scan();
    for (precedence, expected) in [
        (Precedence::ProjectFirst, "of the project"),
        (Precedence::UserFirst, "of the user"),
    ] {
        let catalog = Catalog::new(scan.skills.clone(), precedence, 1);
        assert_eq!(&*catalog.resolve("a").unwrap().skill.description, expected);
        let shadowed = catalog
            .entries()
            .iter()
            .find(|entry| entry.is_shadowed())
            .unwrap();
        assert!(catalog.winner_over(shadowed).is_some());
        let by_name = catalog.resolve(&catalog.qualified_name(shadowed)).unwrap();
        assert_eq!(by_name, shadowed);
    }
}

#[test]
fn case_108_parent_folders_up_to_the_repository() {
    let world = World::new();
    for folder in [
        "pkg/a/.agents/skills/in-a",
        "pkg/.agents/skills/in-pkg",
        ".agents/skills/in-project",
        "../.agents/skills/in-root",
        "pkg/b/.agents/skills/in-b",
    ] {
        world.skill(folder);
    }
    let source = FileSource::new(world.standing_in("pkg/a"), FileOptions::default());
    let catalog = catalog(&source.scan(Known::default()));
    assert_eq!(names(&catalog), ["in-a", "in-pkg", "in-project"]);
    // The nearest folder takes precedence.
    world.described(".agents/skills/in-a", "further away");
    let again = crate::support::catalog(&source.scan(Known::default()));
    assert_eq!(
        &*again.resolve("in-a").unwrap().skill.description,
        "what it does"
    );
}

#[test]
fn case_109_nested_folder_qualifies_skill_names() {
    let world = World::new();
    world.skill(".claude/skills/deploy");
    world.skill("apps/web/.claude/skills/deploy");
    let registry = registry(vec![world.source()]);
    let catalog = registry.snapshot();
    assert_eq!(names(&catalog), ["apps/web:deploy", "deploy"]);
    for (asked, location) in [
        ("deploy", ".claude/skills/deploy/SKILL.md"),
        ("apps/web:deploy", "apps/web/.claude/skills/deploy/SKILL.md"),
    ] {
        let skill = registry.get(asked).unwrap();
        assert_eq!(world.relative(skill.location.text()), location);
        assert!(registry.text(&skill.id).is_ok());
    }
    // For touched files, see `case_109` in crates/catalog.
}

#[test]
fn case_110_links_are_followed_once() {
    let world = World::new();
    world.skill("elsewhere/shared");
    world.skill("../outside/private");
    world.skill(".agents/skills/own");
    world.link_to(".agents/skills/b-link", "elsewhere/shared");
    world.link_to(".agents/skills/c-link", "elsewhere/shared");
    world.link_to(".agents/skills/d-link", "../outside/private");
    world.link_to(".agents/skills/loop", ".agents/skills");
    world.link_to(".agents/skills/again", ".agents/skills/own");
    let scan = world.scan();
    assert_eq!(
        world.locations(&scan),
        [
            ".agents/skills/b-link/SKILL.md",
            ".agents/skills/own/SKILL.md"
        ]
    );
    let notices = world.notices(&scan);
    for link in ["c-link", "again"] {
        let expected = format!("SeenBefore {{ path: \".agents/skills/{link}\" }}");
        assert!(notices.contains(&expected), "{notices:?}");
    }
    let is_outside = |notice: &String| notice.starts_with("Outside") && notice.contains("d-link");
    assert!(notices.iter().any(is_outside), "{notices:?}");
}

#[test]
fn case_110_link_to_skill_of_another_root() {
    let world = World::new();
    world.skill("~/.agents/skills/shared");
    world.link_to(".agents/skills/shared", "~/.agents/skills/shared");
    let scan = world.scan();
    assert_eq!(world.locations(&scan), ["~/.agents/skills/shared/SKILL.md"]);
    let notice = r#"SeenBefore { path: ".agents/skills/shared" }"#;
    assert_eq!(world.notices(&scan), [notice]);
}

#[test]
fn case_110_folder_below_two_roots() {
    let world = World::new();
    world.skill(".agents/skills/group/x");
    world.file(".agents/skills/group/broken/SKILL.md/file", "");
    for (extra, scope) in [
        // The root with higher precedence has it, even if it is an outer one.
        (".agents/skills/group", Scope::Project),
        ("", Scope::Project),
    ] {
        let place = Place {
            extra: vec![world.path(extra)],
            ..world.standing_in("")
        };
        let source = FileSource::new(place, FileOptions::default());
        let first = source.scan(Known::default());
        let later = source.scan(Known {
            skills: &first.skills,
            keep_last_good: true,
        });
        for scan in [first, later] {
            let location = ".agents/skills/group/x/SKILL.md";
            assert_eq!(world.locations(&scan), [location], "{extra}");
            assert_eq!(scan.skills[0].id.origin.scope, scope);
            assert_eq!(scan.faults.len(), 1, "{:?}", scan.faults);
        }
    }
}

#[test]
fn case_111_ignored_folders_are_not_searched() {
    let world = World::new();
    world.file(".gitignore", "/vendor/\n");
    for folder in ["vendor/lib", "node_modules/lib", "apps/web"] {
        world.skill(&format!("{folder}/.claude/skills/found"));
    }
    let scan = world.scan();
    assert_eq!(
        world.locations(&scan),
        ["apps/web/.claude/skills/found/SKILL.md"]
    );
}

#[test]
fn case_112_name_reserved_by_claude_code() {
    let world = World::new();
    world.skill("~/.claude/skills/Synced/inner");
    world.skill("~/.claude/skills/SYNCED");
    world.skill("~/.agents/skills/synced");
    world.skill(".claude/skills/synced");
    let scan = |claude_names| {
        let options = FileOptions {
            claude_names,
            ..FileOptions::default()
        };
        FileSource::new(world.standing_in(""), options).scan(Known::default())
    };
    let elsewhere = [
        ".claude/skills/synced/SKILL.md",
        "~/.agents/skills/synced/SKILL.md",
    ];
    assert_eq!(scan(false).skills.len(), 4);
    let compatible = scan(true);
    assert_eq!(world.locations(&compatible), elsewhere);
    assert_eq!(
        world.notices(&compatible),
        [
            r#"Reserved { path: "~/.claude/skills/SYNCED" }"#,
            r#"Reserved { path: "~/.claude/skills/Synced/inner" }"#,
        ]
    );
}

#[test]
fn case_113_rescan_announces_only_changes() {
    // For a watched disk, see `only_changes_are_announced` in watch.rs.
    let world = World::new();
    for name in ["a", "b", "c"] {
        world.skill(&format!(".agents/skills/{name}"));
    }
    world.skill("~/.agents/skills/u");
    let registry = registry(vec![world.source()]);
    let news = registry.subscribe();
    let told = || {
        registry.refresh();
        let set = news.try_next()?;
        let told = set.changes.iter();
        Some(
            told.map(|change| format!("{} {}", change.kind.as_str(), change.name))
                .collect(),
        )
    };
    let expect = |lines: &[&str]| Some(lines.iter().map(|&line| line.to_owned()).collect());
    assert_eq!(told(), None::<Vec<String>>);
    world.described(".agents/skills/b", "something else");
    assert_eq!(told(), expect(&["changed b"]));
    world.file(".agents/skills/a/data.csv", "1,2");
    world.file(".agents/skills/notes.txt", "x");
    assert_eq!(told(), None);
    std::fs::remove_dir_all(world.path(".agents/skills/c")).unwrap();
    assert_eq!(told(), expect(&["removed c"]));
    // A new root does not affect the skills of other roots, which stay readable.
    world.skill("apps/web/.claude/skills/deploy");
    assert_eq!(told(), expect(&["added apps/web:deploy"]));
    world.skill("apps/api/.claude/skills/deploy");
    assert_eq!(told(), expect(&["added apps/api:deploy"]));
    for skill in registry.list() {
        assert!(registry.text(&skill.id).is_ok(), "{}", skill.location);
    }
}

#[test]
fn case_114_commands_are_skills() {
    let world = World::new();
    world.file(
        ".claude/commands/frontend/component.md",
        "Make a component.\n",
    );
    world.file(
        ".claude/commands/deploy.md",
        "---\nname: other\n---\nDeploy.\n",
    );
    world.file(".claude/commands/notes.txt", "no command");
    world.file(".claude/commands/.hidden.md", "no command");
    world.described("~/.agents/skills/deploy", "a skill");
    let catalog = catalog(&world.scan());
    assert_eq!(names(&catalog), ["deploy", "frontend:component"]);
    assert_eq!(
        &*catalog.resolve("deploy").unwrap().skill.description,
        "a skill"
    );
    let command = &catalog.resolve("project:deploy").unwrap().skill;
    assert_eq!(
        world.relative(command.location.text()),
        ".claude/commands/deploy.md"
    );
    assert_eq!(
        &*catalog
            .resolve("frontend:component")
            .unwrap()
            .skill
            .description,
        "Make a component."
    );
}

#[test]
fn case_115_head_carries_no_grants() {
    // A catalogue cannot grant anything: tools and hooks stay in the file, and other crates decide
    // about trust.
    let world = World::new();
    let more = "allowed-tools: Bash(curl:*)\nhooks:\n  PreToolUse: []\n";
    let text = format!("---\nname: a\ndescription: d\n{more}---\n\n!`curl evil`\n");
    world.file(".agents/skills/a/SKILL.md", text);
    let scan = world.scan();
    let head = format!("{:?}", scan.skills[0]);
    assert!(
        !head.contains("curl") && !head.contains("PreToolUse"),
        "{head}"
    );
}

#[test]
fn planck_d1_d2_other_folders_are_ignored() {
    let world = World::new();
    world.skill("skills/one");
    world.skill("skills/two");
    world.file("skills/three/NOTES.md", "no skill");
    assert_eq!(names(&catalog(&world.scan_only("skills"))), ["one", "two"]);
}

#[test]
fn planck_d3_missing_folder_is_not_reported() {
    let world = World::new();
    let scan = world.scan_only("../nowhere");
    assert!(scan.skills.is_empty() && scan.faults.is_empty() && scan.notices.is_empty());
}

#[test]
fn planck_d4_several_folders_are_merged() {
    let world = World::new();
    world.skill("../one/a");
    world.skill("../two/b");
    let extra = vec![world.path("../one"), world.path("../two")];
    let place = Place {
        extra,
        ..world.standing_in("")
    };
    let scan = FileSource::new(place, FileOptions::default()).scan(Known::default());
    assert_eq!(names(&catalog(&scan)), ["a", "b"]);
}

#[test]
fn planck_d5_tilde_is_the_home_folder() {
    let world = World::new();
    for folder in [
        "~/skills/a",
        "~/skills/deep/b",
        "./~/skills/literal",
        "~user/c",
    ] {
        world.skill(folder);
    }
    let check = |extra: &str, has_home: bool, expected: &[&str]| {
        let mut place = Place {
            extra: vec![extra.into()],
            ..world.standing_in("")
        };
        place.home = place.home.filter(|_| has_home);
        let scan = FileSource::new(place, FileOptions::default()).scan(Known::default());
        assert_eq!(names(&catalog(&scan)), expected, "{extra}");
    };
    check("~/skills", true, &["a", "b"]);
    check("~/skills/deep/", true, &["b"]);
    check("~", true, &["a", "b"]);
    check("./~/skills", true, &["literal"]);
    check("~user", true, &["c"]);
    check("~/absent", true, &[]);
    // Without a home folder, it is a name like any other.
    check("~/skills", false, &["literal"]);
}

#[test]
fn planck_d6_bad_file_does_not_affect_others() {
    let world = World::new();
    world.skill("skills/good");
    world.folder("skills/bad/SKILL.md");
    world.file("skills/huge/SKILL.md", vec![b'x'; 2 * 1024 * 1024]);
    let scan = world.scan_only("skills");
    assert_eq!(world.locations(&scan), ["skills/good/SKILL.md"]);
    let fault = |path: &str, why: &str| (path.to_owned(), why.to_owned());
    assert_eq!(
        world.faults(&scan),
        [
            fault("skills/bad/SKILL.md", "it is a folder, not a regular file"),
            fault("skills/huge/SKILL.md", "it is too large (2.0 MB)"),
        ]
    );
}

#[test]
fn planck_d7_project_overrides_user() {
    let world = World::new();
    world.described(".planck/skills/a", "of the project");
    world.described("~/.planck/skills/a", "of the user");
    let catalog = catalog(&world.scan());
    assert_eq!(
        &*catalog.resolve("a").unwrap().skill.description,
        "of the project"
    );
    assert_eq!(
        catalog
            .entries()
            .iter()
            .filter(|entry| entry.is_shadowed())
            .count(),
        1
    );
}

#[test]
fn planck_d8_skills_are_sorted_by_name() {
    let world = World::new();
    for name in ["zebra", "apple", "mango", "a1", "b-2"] {
        world.skill(&format!("skills/{name}"));
    }
    let source = only(&world.path("skills"));
    for _ in 0..5 {
        let found = names(&catalog(&source.scan(Known::default())));
        assert_eq!(found, ["a1", "apple", "b-2", "mango", "zebra"]);
    }
}

#[test]
fn planck_d9_unreadable_folder_is_reported() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    world.skill(".agents/skills/good");
    world.skill("~/.agents/skills/locked/inner");
    let locked = world.path("~/.agents/skills/locked");
    let mode = |mode| std::fs::set_permissions(&locked, PermissionsExt::from_mode(mode)).unwrap();
    mode(0o000);
    let may_read = std::fs::read_dir(&locked).is_ok();
    let scan = world.scan();
    mode(0o755);
    // Root can read everything; then there is nothing to report.
    let (found, told): (&[&str], &[&str]) = if may_read {
        (
            &[
                ".agents/skills/good/SKILL.md",
                "~/.agents/skills/locked/inner/SKILL.md",
            ],
            &[],
        )
    } else {
        (
            &[".agents/skills/good/SKILL.md"],
            &[r#"Unreadable { path: "~/.agents/skills/locked", reason: "permission denied" }"#],
        )
    };
    assert_eq!(world.locations(&scan), found);
    assert_eq!(world.notices(&scan), told);
}

#[test]
fn planck_g3_changed_flag_applies_at_next_scan() {
    let world = World::new();
    world.skill("skills/a");
    let registry = registry(vec![only(&world.path("skills"))]);
    assert!(registry.get("a").unwrap().model_invocable);
    let closed = "---\nname: a\ndescription: d\ndisable-model-invocation: true\n---\n\nx\n";
    world.file("skills/a/SKILL.md", closed);
    registry.refresh();
    assert!(!registry.get("a").unwrap().model_invocable);
}

#[test]
fn only_replaces_all_other_folders() {
    let world = World::new();
    world.skill(".agents/skills/root");
    world.skill("apps/web/.agents/skills/nested");
    world.skill("../only/this");
    let place = Place {
        only: Some(world.path("../only")),
        ..world.standing_in("")
    };
    let source = FileSource::new(place, FileOptions::default());
    assert_eq!(
        world.locations(&source.scan(Known::default())),
        ["../only/this/SKILL.md"]
    );
    let only = SearchedFolder {
        scope: Scope::Extra,
        path: world.path("../only"),
    };
    assert_eq!(source.searched(), [only]);
}

#[test]
fn searched_folders_are_those_of_the_last_scan() {
    let world = World::new();
    world.folder(".git");
    let source = FileSource::new(world.standing_in(""), FileOptions::default());
    source.scan(Known::default());
    let nested = world.path("apps/web/.agents/skills");
    let is_searched = |path: &Path| source.searched().iter().any(|it| it.path == path);
    world.skill("apps/web/.agents/skills/nested");
    // Nested roots are found by a walk through the project, which only a scan makes.
    assert!(!is_searched(&nested));
    source.scan(Known::default());
    assert!(is_searched(&nested));
    assert!(is_searched(&world.path(".claude/skills")));
}

#[test]
fn empty_registry_contains_bundled_skills() {
    let world = World::new();
    let place = world.standing_in("");
    let registry = Registry::open(place, FileOptions::default(), Precedence::default());
    let scopes: Vec<Scope> = registry
        .list()
        .iter()
        .map(|skill| skill.id.origin.scope)
        .collect();
    assert!(!scopes.is_empty() && scopes.iter().all(|scope| *scope == Scope::Bundled));
}

#[test]
fn links_to_packages_of_the_lockfile_are_followed() {
    let world = World::new();
    world.skill("../store/aa/pdf");
    world.file("../store/aa/pdf/scripts/fill.sh", "echo filled\n");
    world.skill("../store/bb/other");
    world.link_to(".agents/skills/pdf", "../store/aa/pdf");
    world.link_to("~/.agents/skills/same", "../store/aa/pdf");
    world.link_to(".agents/skills/other", "../store/bb/other");
    // Without a lockfile, both links of the project lead out of it.
    let user = "~/.agents/skills/same/SKILL.md";
    assert_eq!(world.locations(&world.scan()), [user]);
    let package = world.path("../store/aa/pdf");
    let place = Place {
        packages: PackageFolders::new(move || vec![package.clone()]),
        ..world.standing_in("")
    };
    let registry = Registry::of_place(place);
    let names: Vec<String> = (registry.list().iter())
        .map(|skill| skill.name.to_string())
        .collect();
    assert_eq!(names, ["pdf"]);
    let skill = registry.get("pdf").unwrap();
    let contents = registry.read(&skill).unwrap();
    assert_eq!(
        contents.digest,
        prowess_registry::digest_of(&world.path("../store/aa/pdf")).unwrap()
    );
    let script = registry.bytes(&skill.id, "scripts/fill.sh", 100).unwrap();
    assert_eq!(script, b"echo filled\n");
}

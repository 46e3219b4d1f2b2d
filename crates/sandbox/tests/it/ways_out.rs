//! Ways out of the sandbox that an attacker found once: what a command leaves behind is executed by
//! the person's next `git status`.

use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use prowess_policy::profile::{Profile, Setting};
use prowess_sandbox::{End, ExecError, Note};
use prowess_traits::CommandRunner;

use crate::git::Project;
use crate::support::{
    Folder, Lacking, approved, as_ordinary_user, mode, need_bwrap, need_root, root, strong_sets,
};

prowess_test::tests! {
    ways_that_lead_to_the_next_git_status_are_closed
    protected_folder_stays_closed_around_inner_paths
    links_to_protected_paths_cannot_be_replaced
    new_embedded_repository_is_not_added
    fetched_submodule_comes_back_with_its_branch
    many_folders_do_not_hide_a_repository
    unreadable_index_refuses_write_access
    fifo_instead_of_a_file_is_not_waited_for
    folders_around_keys_cannot_be_moved
    large_project_with_submodules_works
    bwrap_that_follows_a_link_is_noticed
    permissions_changed_by_an_earlier_run_do_not_hide_a_repository
    folder_that_cannot_be_searched_refuses_write_access
    leftover_placeholders_are_removed
    worktrees_and_separate_git_folders_work
    runs_that_write_in_one_project_wait_for_each_other
    protected_file_that_is_replaced_outside_is_reported
    long_names_in_a_configuration_refuse_nothing
    configuration_that_names_too_much_refuses_write_access
    granted_folders_are_protected_like_a_project
    options_with_values_do_not_hide_a_signature
    undone_switch_leaves_no_submodule_in_head
    git_commands_do_not_enter_repositories
    tracked_file_does_not_become_a_repository
    submodule_that_is_added_during_a_run_is_reported
    files_that_git_follows_are_not_planted_in_the_git_folder
    git_folder_of_another_tree_is_not_writable
    index_that_cannot_be_restored_fails_the_command
    repository_with_a_reftable_is_not_writable
}

/// A way to have the person's git execute something.
struct Way {
    name: &'static str,
    prepare: fn(&Project),
    script: &'static str,
}

/// Makes the repository `$d` with a monitor.
pub(crate) const REPOSITORY: &str = "plant() { git init -q $1 && git -C $1 config core.fsmonitor 'touch {canary}; false' && \
     (cd $1 && git -c core.fsmonitor= -c user.name=a -c user.email=a commit -q --allow-empty -m x); }\n";

const HOOK: &str = "printf '#!/bin/sh\\ntouch {canary}\\n' > h; chmod 755 h\n";

const WAYS: &[Way] = &[
    Way {
        name: "hooks as a submodule",
        prepare: |project| {
            let text = "[submodule \"x\"]\n\tpath = .git/hooks\n\turl = x\n";
            project.write(".gitmodules", text);
            std::fs::create_dir_all(project.work().join(".git/hooks")).unwrap();
        },
        script: "cp h .git/hooks/post-index-change",
    },
    Way {
        name: "a link to the hooks",
        prepare: |project| {
            project.write("tools/hooks/keep", "");
            symlink("tools/hooks", project.work().join(".githooks")).unwrap();
            project.git(&["config", "core.hooksPath", ".githooks"]);
        },
        script: "rm .githooks; mkdir .githooks; cp h .githooks/post-index-change; \
                 cp h tools/hooks/post-index-change",
    },
    Way {
        name: "a link to a link to the hooks",
        prepare: |project| {
            project.write("tools/hooks/keep", "");
            symlink("tools/hooks", project.work().join("second")).unwrap();
            symlink("second", project.work().join(".githooks")).unwrap();
            project.git(&["config", "core.hooksPath", ".githooks"]);
        },
        script: "rm second; mkdir second; cp h second/post-index-change",
    },
    Way {
        name: "hooks in a folder that the configuration names",
        prepare: |project| {
            project.write("scripts/hooks/keep", "");
            project.git(&["config", "core.hooksPath", "scripts/hooks"]);
        },
        script: "cp h scripts/hooks/post-index-change; mv scripts s; mkdir -p scripts/hooks; \
                 cp h scripts/hooks/post-index-change",
    },
    Way {
        name: "a hook that a hook of a hook manager runs",
        prepare: |project| {
            let hooks = project.work().join("frontend/.husky/_");
            project.write("frontend/.husky/post-index-change", "#!/bin/sh\n");
            project.write(
                "frontend/.husky/_/post-index-change",
                "#!/bin/sh\nexec sh frontend/.husky/post-index-change\n",
            );
            mode(&hooks.join("post-index-change"), 0o755);
            project.git(&["config", "core.hooksPath", "frontend/.husky/_"]);
        },
        script: "cp h frontend/.husky/post-index-change",
    },
    Way {
        name: "a configuration file that the configuration includes",
        prepare: |project| {
            project.git(&["config", "include.path", "../.gitconfig"]);
        },
        script: "printf '[core]\\n fsmonitor=\"touch {canary}; false\"\\n' > .gitconfig",
    },
    Way {
        name: "a program that the configuration names",
        prepare: |project| monitor(project, "tools/monitor"),
        script: "cp h tools/monitor; mv tools t; mkdir tools; cp h tools/monitor",
    },
    Way {
        name: "a submodule of the index that `.gitmodules` does not name",
        prepare: |project| submodule(project, "deep/module", true),
        script: "plant deep/module",
    },
    Way {
        name: "a submodule whose folder was removed",
        prepare: |project| submodule(project, "gone/module", false),
        script: "mkdir -p gone/module; plant gone/module",
    },
    Way {
        name: "a submodule behind a link",
        prepare: |project| {
            submodule(project, "here/module", false);
            project.write("there/module/keep", "");
            symlink("there", project.work().join("here")).unwrap();
        },
        script: "rm here; mkdir -p here/module; plant here/module",
    },
    Way {
        name: "a submodule in a `.gitmodules` that is hard to read",
        prepare: |project| {
            submodule(project, "module", true);
            let mut text = vec![b'#'; 9000];
            text.extend_from_slice(
                b"\n# caf\xe9\n[SubModule \"m\"]\n\tPATH = module # first\n\turl = x\n",
            );
            std::fs::write(project.work().join(".gitmodules"), text).unwrap();
        },
        script: "plant module",
    },
    Way {
        name: "a submodule of a fetched submodule",
        prepare: |project| {
            let module = project.work().join("outer");
            std::fs::create_dir(&module).unwrap();
            project.git_in(&module, &["init", "-q"]);
            let identity = ["-c", "user.name=x", "-c", "user.email=x@y"];
            let commit = ["commit", "-q", "--allow-empty", "-m", "x"];
            project.git_in(&module, &[&identity[..], &commit].concat());
            submodule_in(project, &module, "inner", true);
            project.git_in(&module, &[&identity[..], &commit].concat());
            project.git(&["-c", "advice.addEmbeddedRepo=false", "add", "outer"]);
        },
        script: "plant outer/inner",
    },
    Way {
        name: "a hook that is a link",
        prepare: |project| {
            project.write("scripts/hook", "#!/bin/sh\n");
            mode(&project.work().join("scripts/hook"), 0o777);
            std::fs::create_dir_all(project.work().join(".git/hooks")).unwrap();
            let hook = project.work().join(".git/hooks/post-index-change");
            symlink("../../scripts/hook", hook).unwrap();
        },
        script: "cp h scripts/hook; mv scripts s; mkdir scripts; cp h scripts/hook",
    },
    Way {
        name: "a hook that has another name",
        prepare: |project| {
            project.write("scripts/a/b/c/d/e/hook", "#!/bin/sh\n");
            let script = project.work().join("scripts/a/b/c/d/e/hook");
            mode(&script, 0o777);
            std::fs::create_dir_all(project.work().join(".git/hooks")).unwrap();
            let hook = project.work().join(".git/hooks/post-index-change");
            std::fs::hard_link(script, hook).unwrap();
        },
        script: "cat h > scripts/a/b/c/d/e/hook",
    },
    Way {
        name: "a configuration file that is a link",
        prepare: |project| {
            std::fs::create_dir(project.work().join("conf")).unwrap();
            let config = project.work().join(".git/config");
            std::fs::rename(&config, project.work().join("conf/git")).unwrap();
            symlink("../conf/git", config).unwrap();
        },
        script: "printf '[core]\\n fsmonitor=\"touch {canary}; false\"\\n' >> conf/git",
    },
    Way {
        name: "the index of a separate git folder",
        prepare: |project| separate(project, "store"),
        script: "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),src/sub
                 mkdir -p src/sub; plant src/sub",
    },
    Way {
        name: "the configuration of a git folder that is far below",
        prepare: |project| separate(project, "deep/a/b/c/d/store"),
        script: "printf '[core]\\n fsmonitor=\"touch {canary}; false\"\\n' >> deep/a/b/c/d/store/config",
    },
    Way {
        name: "the index of a worktree of a bare repository",
        prepare: worktree,
        script: "cd main; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),src/sub
                 mkdir -p src/sub; plant src/sub; cd ..",
    },
    Way {
        name: "the common folder of a worktree of a bare repository",
        prepare: worktree,
        script: "mkdir -p src; cp -r a/b/c/store.git src/evil
                 printf '[core]\\n fsmonitor=\"touch {canary}; false\"\\n' >> src/evil/config
                 echo $PWD/src/evil > a/b/c/store.git/worktrees/main/commondir",
    },
    Way {
        name: "a program that a substitution names",
        prepare: |project| monitor(project, "$(git rev-parse --show-toplevel)/tools/monitor"),
        script: "cp h tools/monitor",
    },
    Way {
        name: "a module that the configuration names",
        prepare: |project| {
            project.write("tools/mod.py", "raise SystemExit(1)\n");
            project.git(&["config", "core.fsmonitor", "python3 -m tools.mod"]);
        },
        script: "for f in mod __init__; do printf 'open(\"{canary}\", \"w\")\\n' > tools/$f.py; done",
    },
    Way {
        name: "a module that is installed elsewhere",
        prepare: |project| {
            let command = "\"/usr/bin/python3\" -m json.tool --help";
            project.git(&["config", "core.fsmonitor", command]);
        },
        script: "printf 'open(\"{canary}\", \"w\")\\n' > json.py",
    },
    Way {
        name: "a package that `npx` runs",
        prepare: |project| {
            project.write("node_modules/tool/cli.js", "#!/bin/sh\n");
            mode(&project.work().join("node_modules/tool/cli.js"), 0o777);
            project.write("node_modules/.bin/keep", "");
            let program = project.work().join("node_modules/.bin/tool");
            symlink("../tool/cli.js", program).unwrap();
            // Like `npx`, which may not be installed.
            let npx = "npx() { node_modules/.bin/$1; }; npx tool; true";
            project.git(&["config", "core.fsmonitor", npx]);
        },
        script: "cp h node_modules/tool/cli.js",
    },
    Way {
        name: "a program in a folder that the command enters",
        prepare: |project| monitor(project, "cd tools && exec ./monitor"),
        script: "cp h tools/monitor",
    },
];

/// Writes the program `tools/monitor`, which git runs with this command.
fn monitor(project: &Project, command: &str) {
    project.write("tools/monitor", "#!/bin/sh\nfalse\n");
    mode(&project.work().join("tools/monitor"), 0o777);
    project.git(&["config", "core.fsmonitor", command]);
}

/// Moves the git folder of the project to another place in it.
pub(crate) fn separate(project: &Project, place: &str) {
    let place = project.work().join(place);
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    let option = format!("--separate-git-dir={}", place.display());
    project.git(&["init", "-q", &option]);
    assert!(project.work().join(".git").is_file());
}

/// Adds a bare repository, and the worktree `main` of it.
fn worktree(project: &Project) {
    let store = project.work().join("a/b/c/store.git");
    project.git(&["clone", "-q", "--bare", ".", store.to_str().unwrap()]);
    let tree = project.work().join("main");
    project.git_in(&store, &["worktree", "add", "-q", tree.to_str().unwrap()]);
    assert!(tree.join(".git").is_file());
}

/// Adds a submodule to the index that was never fetched.
pub(crate) fn submodule(project: &Project, path: &str, folder: bool) {
    submodule_in(project, &project.work(), path, folder);
}

fn submodule_in(project: &Project, repository: &Path, path: &str, folder: bool) {
    let commit = project.git_in(repository, &["rev-parse", "HEAD"]);
    let entry = format!("160000,{},{path}", commit.trim());
    project.git_in(
        repository,
        &["update-index", "--add", "--cacheinfo", &entry],
    );
    if folder {
        std::fs::create_dir_all(repository.join(path)).unwrap();
    }
}

/// Lets every user write in the project, so that only the sandbox is in the way.
pub(crate) fn open_up(folder: &Path) {
    let done = std::process::Command::new("chmod")
        .args(["-R", "a+rwX"])
        .arg(folder)
        .status();
    assert!(done.unwrap().success());
}

/// Returns `true` if the person's next commands execute what was planted.
fn is_planted(project: &Project) -> bool {
    project.git(&["add", "file"]);
    project.git(&["reset", "-q", "file"]);
    project.is_planted()
}

fn ways(sets: &[(&'static str, Lacking<'static>)]) {
    for way in WAYS {
        let script = format!("{REPOSITORY}{HOOK}{}\ntrue", way.script);
        let control = Project::new(true);
        (way.prepare)(&control);
        let outside = std::process::Command::new("bash")
            .args(["-c", &control.fill(&script)])
            .current_dir(control.work())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(
            is_planted(&control),
            "{}: no control: {outside:?}",
            way.name
        );
        for (set, lacking) in sets {
            let mut project = Project::new(true);
            (way.prepare)(&project);
            project.write("src/keep", "");
            open_up(&project.work());
            project.place = project.place.without(*lacking);
            let before = project.git(&["status", "--porcelain"]);
            // Without namespaces nothing can be created at the top of a project.
            let script = project.fill(&script).replace("> h;", "> src/h;");
            let script = script
                .replace("755 h", "755 src/h")
                .replace("cp h ", "cp src/h ");
            let outcome = project.script(&format!("{script}\necho plain > src/written"));
            assert!(!is_planted(&project), "{set}: {}: {outcome:?}", way.name);
            let written = std::fs::read_to_string(project.work().join("src/written"));
            assert_eq!(
                written.ok().as_deref(),
                Some("plain\n"),
                "{set}: {}: {outcome:?}",
                way.name
            );
            let after = project.git(&["status", "--porcelain"]);
            assert!(
                before.lines().all(|line| after.contains(line)),
                "{set}: {}: {before}\n{after}",
                way.name
            );
        }
    }
}

fn ways_that_lead_to_the_next_git_status_are_closed() {
    ways(&strong_sets());
    if root() {
        as_ordinary_user("ways_out::ways_as_a_user");
    }
}

pub(crate) fn ways_as_a_user() {
    ways(&strong_sets()[..1]);
}

fn protected_folder_stays_closed_around_inner_paths() {
    for (set, lacking) in strong_sets() {
        let mut project = Project::new(true);
        project.write(".agents/skills/s/SKILL.md", "x");
        for folder in [".claude/plugins/cloned", ".cursor/a/b"] {
            project.write(&format!("{folder}/keep"), "x");
            project.git_in(&project.work().join(folder), &["init", "-q"]);
        }
        project.write("src/keep", "");
        open_up(&project.work());
        project.place.profile = Profile::for_work(&Setting {
            skill: Some(project.work().join(".agents/skills/s")),
            workspace: project.work(),
            edits: true,
            home: project.home(),
            ours: Vec::new(),
        });
        project.place = project.place.without(lacking);
        let outcome = project.script(
            "cd ../../..; for d in .agents .agents/skills .agents/skills/s .claude .claude/plugins \
             .claude/plugins/cloned .cursor .cursor/a .cursor/a/b; do touch $d/planted; \
             mv $d $d-moved; done; echo plain > src/written",
        );
        let found = std::process::Command::new("find")
            .arg(project.work())
            .args(["-name", "planted", "-o", "-name", "*-moved"])
            .output()
            .unwrap();
        let found = String::from_utf8_lossy(&found.stdout);
        assert_eq!(found, "", "{set}: {outcome:?}");
        assert!(project.work().join("src/written").exists(), "{outcome:?}");
    }
}

fn links_to_protected_paths_cannot_be_replaced() {
    for (set, lacking) in strong_sets() {
        let mut project = Project::new(true);
        let links = [
            (".vscode", "tools/vs"),
            (".claude", "shared"),
            (".github", "gh"),
            (".idea", "absent"),
            (".zed", "src/absent"),
        ];
        for (link, target) in links {
            if !target.ends_with("absent") {
                project.write(&format!("{target}/keep"), "x");
            }
            symlink(target, project.work().join(link)).unwrap();
        }
        project.write("gh/workflows/keep", "x");
        project.write("src/keep", "");
        project.write("free/keep", "");
        open_up(&project.work());
        project.place = project.place.without(lacking);
        let outcome = project.script(
            "for l in .vscode .claude .github .idea .zed; do (rm $l || mv $l moved); mkdir -p $l/workflows; \
             touch $l/planted $l/workflows/planted; done; mkdir absent src/absent; touch absent/planted \
             src/absent/planted gh/workflows/planted tools/vs/planted; mv tools moved; \
             echo plain > free/written",
        );
        for (link, target) in links {
            let read = project.work().join(link).read_link();
            assert_eq!(
                read.ok().as_deref(),
                Some(Path::new(target)),
                "{set}: {outcome:?}"
            );
        }
        for path in [
            "absent",
            "src/absent",
            "gh/workflows/planted",
            "tools/vs/planted",
        ] {
            let path = project.work().join(path);
            assert!(!path.exists(), "{set}: {}: {outcome:?}", path.display());
        }
        assert!(project.work().join("free/written").exists(), "{outcome:?}");
    }
}

fn new_embedded_repository_is_not_added() {
    let plant = format!("{REPOSITORY}mkdir -p src/lib; plant src/lib");
    let control = Project::new(true);
    let run = std::process::Command::new("bash")
        .args(["-c", &control.fill(&plant)])
        .current_dir(control.work())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .status();
    assert!(run.unwrap().success() && !control.is_planted());
    control.git(&["add", "src"]);
    assert!(control.is_planted(), "no control");
    for (set, lacking) in strong_sets() {
        let mut project = Project::new(true);
        project.write("src/new", "x\n");
        open_up(&project.work());
        project.place = project.place.without(lacking);
        project.git(&["add", "src/new"]);
        let before = project.git(&["diff", "--cached"]);
        project.script(&project.fill(&plant));
        // As root the files of the other user of layer 3 are readable.
        assert!(project.work().join("src/lib/.git/config").exists(), "{set}");
        for line in ["git add .", "git add -A", "git add src/lib"] {
            let outcome = project.place.run(line);
            assert!(!project.is_planted(), "{set}: {line}: {outcome:?}");
            assert_eq!(project.git(&["diff", "--cached"]), before, "{set}: {line}");
            // In layer 3, git itself may refuse the repository of another user.
            assert_ne!(outcome.end, End::Code(0), "{set}: {line}");
        }
        let outcome = project.place.run("git add .");
        let is_noted = |note: &Note| matches!(note, Note::IndexRestored { .. });
        if !lacking.layers.is_empty() {
            continue;
        }
        assert!(outcome.notes.iter().any(is_noted), "{set}: {outcome:?}");
        assert!(project.place.run("git add file").success(), "{set}");
        assert_eq!(
            project.git(&["diff", "--cached", "--name-only"]),
            "file\nsrc/new\n"
        );
    }
}

/// A branch with a submodule, one without, and back: its repository is in `.git/modules`.
fn fetched_submodule_comes_back_with_its_branch() {
    let project = Project::new(true);
    let library = project.place.here().join("library");
    std::fs::create_dir(&library).unwrap();
    project.git_in(&library, &["init", "-q", "-b", "main"]);
    let identity = ["-c", "user.name=x", "-c", "user.email=x@y"];
    let commit = ["commit", "-q", "--allow-empty", "-m", "x"];
    project.git_in(&library, &[&identity[..], &commit].concat());
    project.git(&["checkout", "-q", "file"]);
    project.git(&["switch", "-q", "-c", "with"]);
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
    ];
    project.git(&[&add[..], &[library.to_str().unwrap(), "module"]].concat());
    project.git(&["commit", "-q", "-m", "with a submodule"]);
    project.git(&["switch", "-q", "main"]);
    // Git leaves the folder of the submodule; only a person can change `.gitmodules`.
    assert!(project.work().join("module/.git").is_file());
    project.git(&["update-index", "--force-remove", "module"]);
    project.write(
        ".gitmodules",
        "[submodule \"module\"]\n\tpath = module\n\turl = x\n",
    );
    let outcome = project.place.run("git add module");
    assert!(outcome.success(), "{outcome:?}");
    let staged = project.git(&["diff", "--cached", "--name-only"]);
    assert_eq!(staged, "module\n");
}

fn many_folders_do_not_hide_a_repository() {
    for (set, lacking) in strong_sets() {
        let mut project = Project::new(true);
        std::fs::create_dir_all(project.work().join("z/mine")).unwrap();
        project.git_in(&project.work().join("z/mine"), &["init", "-q"]);
        for at in 0..2500 {
            std::fs::create_dir(project.work().join(format!("d{at}"))).unwrap();
        }
        project.write("src/keep", "");
        open_up(&project.work());
        project.place = project.place.without(lacking);
        let outcome = project.script(&project.fill(
            "printf '[core]\\n fsmonitor=\"touch {canary}; false\"\\n' >> z/mine/.git/config; \
             echo plain > src/written",
        ));
        project.git_in(&project.work().join("z/mine"), &["status"]);
        assert!(!project.canary.exists(), "{set}: {outcome:?}");
        assert!(project.work().join("src/written").exists(), "{set}");
    }
}

fn unreadable_index_refuses_write_access() {
    let mut project = Project::new(true);
    std::fs::write(project.work().join(".git/index"), "DIRC\0\0\0\x09").unwrap();
    let error = project.place.try_run("true").unwrap_err();
    assert!(
        matches!(&error, ExecError::Unprotectable { path, .. } if path.ends_with(".git/index")),
        "{error}"
    );
    assert!(error.to_string().contains("submodules"), "{error}");
    project.grant(false);
    assert!(project.place.run("true").success(), "reading is possible");
}

fn configuration_that_names_too_much_refuses_write_access() {
    let mut project = Project::new(true);
    let words: String = (0..60).map(|at| format!("d{at}/ ").repeat(60)).collect();
    for at in 0..60 {
        project.write(&format!("bare/d{at}/keep"), "");
    }
    for name in ["objects/a", "refs/a", "HEAD"] {
        project.write(&format!("bare/{name}"), "");
    }
    project.write("bare/config", &format!("[alias]\n x = !{words}\n"));
    let error = project.place.try_run("true").unwrap_err().to_string();
    assert!(error.contains("too many paths"), "{error}");
    project.grant(false);
    assert!(project.place.run("true").success(), "reading is possible");
}

fn fifo_instead_of_a_file_is_not_waited_for() {
    for name in [
        ".gitmodules",
        "a/.git",
        ".git/config.worktree",
        ".git/commondir",
        ".envrc",
    ] {
        let project = Project::new(true);
        let path = project.work().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let outcome = project.place.run("echo ran");
        assert_eq!(outcome.stdout.text(), "ran\n", "{name}: {outcome:?}");
    }
    let project = Project::new(true);
    std::fs::remove_file(project.work().join(".git/index")).unwrap();
    let index = project.work().join(".git/index");
    let made = std::process::Command::new("mkfifo").arg(&index).status();
    assert!(made.unwrap().success());
    assert!(project.place.try_run("true").is_err());
}

/// The home folder as the project, with folders of our own that exist and that do not.
fn home_as_project(sets: &[(&'static str, Lacking<'static>)]) {
    for ((set, lacking), present) in sets.iter().flat_map(|set| [(set, false), (set, true)]) {
        let mut project = Project::empty();
        let home = project.home();
        let put = |name: &str| {
            let path = home.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "SECRET\n").unwrap();
        };
        for name in [
            ".m2/settings.xml",
            ".cache/huggingface/token",
            "a/b/ours/file",
        ] {
            put(name);
        }
        put("free/keep");
        std::fs::write(home.join("free/keep"), "").unwrap();
        if present {
            put(".local/state/prowess/trust/x");
        }
        open_up(&home);
        project.place.profile = Profile::for_work(&Setting {
            skill: None,
            workspace: home.clone(),
            edits: true,
            home: home.clone(),
            ours: vec![home.join(".local/state/prowess/"), home.join("a/b/ours")],
        });
        project.place = project.place.without(*lacking);
        let outcome = project.script(
            "for d in .m2 .cache/huggingface .cache a/b a .local/state .local; do mv $d $d-moved; done; \
             mkdir -p .local/state/prowess/trust .ssh .aws; \
             echo PLANTED > .local/state/prowess/trust/x; echo PLANTED > .ssh/config; \
             echo PLANTED > .aws/config; echo PLANTED > .netrc; echo plain > free/written",
        );
        assert!(home.join("free/written").exists(), "{set}: {outcome:?}");
        let after = project.place.run("grep -rl SECRET . ; echo searched");
        assert_eq!(after.stdout.text(), "searched\n", "{set}: {outcome:?}");
        let planted = std::process::Command::new("grep")
            .args(["-rl", "PLANTED"])
            .arg(&home)
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&planted.stdout), "", "{outcome:?}");
        for name in [".ssh", ".aws", ".netrc"] {
            assert!(!home.join(name).exists(), "{name} is left");
        }
    }
}

fn folders_around_keys_cannot_be_moved() {
    home_as_project(&strong_sets());
    if root() {
        as_ordinary_user("ways_out::home_as_a_user");
    }
}

pub(crate) fn home_as_a_user() {
    home_as_project(&strong_sets()[..1]);
}

/// 5,000 folders, a fetched submodule and 300 that were not fetched.
fn large_project_with_submodules_works() {
    let mut project = Project::new(true);
    for at in 0..5000 {
        let folder = format!("d{}/e{}/f{at}", at % 10, at % 100);
        std::fs::create_dir_all(project.work().join(folder)).unwrap();
    }
    for at in 0..300 {
        submodule(&project, &format!("d{}/module-{at}", at % 10), at % 2 == 0);
    }
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
    ];
    let library = project.place.here().join("library");
    project.git(&["clone", "-q", ".", library.to_str().unwrap()]);
    project.git(&[&add[..], &[library.to_str().unwrap(), "module"]].concat());
    project.git(&["commit", "-q", "-m", "submodules"]);
    project.grant(true);
    for line in [
        "git status --porcelain",
        "git diff HEAD",
        "python3 -c 'print(6 * 7)'",
        "mkdir -p d1/new && echo x > d1/new/file && echo x > top",
        "git add file d1/new",
        "git commit -q -m inside",
        "git tag v1",
        "git stash",
        "git switch -q -c topic",
    ] {
        let outcome = project.place.run(line);
        assert_eq!(outcome.end, End::Code(0), "{line}: {outcome:?}");
        assert_eq!(outcome.stderr.text(), "", "{line}");
    }
    let log = project.git(&["log", "--format=%s", "-1"]);
    assert_eq!(log, "inside\n");
    let links = project.git(&["ls-files", "--stage"]);
    let links = links.lines().filter(|line| line.starts_with("160000"));
    assert_eq!(links.count(), 301);
}

/// `bwrap` mounts by name. Here a folder is replaced by a link just before it starts.
fn bwrap_that_follows_a_link_is_noticed() {
    need_root();
    need_bwrap();
    for replace in [false, true] {
        let mut project = Project::new(true);
        for folder in ["lib", "other"] {
            project.write(&format!("{folder}/keep"), "x\n");
            project.git_in(&project.work().join(folder), &["init", "-q"]);
        }
        let programs = Folder::new();
        mode(programs.path(), 0o755);
        let program = programs.path().join("bwrap");
        let work = project.work();
        let work = work.display();
        let swap = format!("/bin/mv {work}/lib {work}/moved; /bin/ln -s other {work}/lib");
        let swap = if replace { &*swap } else { "true" };
        let script = format!("#!/bin/sh\n{swap}\nexec /usr/bin/bwrap \"$@\"\n");
        std::fs::write(&program, script).unwrap();
        mode(&program, 0o755);
        let runner = project.place.runner.clone().without_kernel_namespaces();
        project.place.runner = runner.bwrap_in([programs.path().to_owned()]);
        let outcome = project.place.try_run("cat lib/keep");
        if replace {
            let error = outcome.unwrap_err().to_string();
            assert!(error.contains("changed while it was mounted"), "{error}");
        } else {
            assert_eq!(outcome.unwrap().stdout.text(), "x\n", "the control");
        }
    }
}

/// Two runs, of which the first removes permissions, or forges a placeholder.
struct TwoRuns {
    name: &'static str,
    prepare: fn(&Project),
    first: &'static str,
    second: &'static str,
}

const TWO_RUNS: &[TwoRuns] = &[
    TwoRuns {
        name: "the project",
        prepare: |_| {},
        first: "chmod 0 {work}",
        second: "chmod 755 {work}; printf '[core]\\n fsmonitor=\"touch {canary}; false\"\\n' >> {work}/.git/config",
    },
    TwoRuns {
        name: "a folder with a repository",
        prepare: |project| {
            project.write("vendor/lib/keep", "");
            project.git_in(&project.work().join("vendor/lib"), &["init", "-q"]);
        },
        first: "chmod 0 {work}/vendor",
        second: "chmod 755 {work}/vendor
                 printf '[core]\\n fsmonitor=\"touch {canary}; false\"\\n' >> {work}/vendor/lib/.git/config",
    },
    TwoRuns {
        name: "a project without a repository that is not writable",
        prepare: |project| std::fs::remove_dir_all(project.work().join(".git")).unwrap(),
        first: "chmod 555 {work}",
        second: "chmod 755 {work}; plant {work}",
    },
    TwoRuns {
        name: "the mode of a placeholder",
        prepare: |project| {
            let module = project.work().join("module");
            std::fs::create_dir(&module).unwrap();
            project.git_in(&module, &["init", "-q"]);
            let identity = ["-c", "user.name=x", "-c", "user.email=x@y"];
            let commit = ["commit", "-q", "--allow-empty", "-m", "x"];
            project.git_in(&module, &[&identity[..], &commit].concat());
            project.git(&["-c", "advice.addEmbeddedRepo=false", "add", "module"]);
        },
        first: "chmod 0505 {work}/module",
        second: "mv {work}/module {work}/aside && mkdir {work}/module && plant {work}/module",
    },
];

fn two_runs(sets: &[(&'static str, Lacking<'static>)]) {
    for way in TWO_RUNS {
        let fill = |project: &Project, script: &str| {
            let script = script.replace("{work}", project.work().to_str().unwrap());
            project.fill(&format!("{REPOSITORY}{script}\ntrue"))
        };
        let control = Project::new(true);
        (way.prepare)(&control);
        for script in [way.first, way.second] {
            let run = std::process::Command::new("bash")
                .args(["-c", &fill(&control, script)])
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .status();
            assert!(run.unwrap().success());
        }
        assert!(control.is_planted(), "{}: no control", way.name);
        for (set, lacking) in sets {
            let mut project = Project::new(true);
            (way.prepare)(&project);
            project.place = project.place.without(*lacking);
            // The project cannot be entered after the first run.
            let outside = project.place.outside();
            project.place.profile.readable.push(outside.clone());
            project.place.profile.cwd = outside;
            let runs = [way.first, way.second].map(|script| {
                let line = format!("({}) 2>&1; true", fill(&project, script));
                project.place.try_run(&line)
            });
            for folder in ["", "vendor"] {
                let folder = project.work().join(folder);
                if folder.is_dir() {
                    mode(&folder, 0o755);
                }
            }
            assert!(!project.is_planted(), "{set}: {}: {runs:?}", way.name);
        }
    }
}

fn permissions_changed_by_an_earlier_run_do_not_hide_a_repository() {
    two_runs(&strong_sets());
    if root() {
        as_ordinary_user("ways_out::two_runs_as_a_user");
    }
}

pub(crate) fn two_runs_as_a_user() {
    two_runs(&strong_sets()[..1]);
}

fn unsearchable() {
    let project = Project::new(true);
    project.write("vendor/keep", "");
    mode(&project.work().join("vendor"), 0o300);
    let error = project.place.try_run("true").unwrap_err();
    let hint = format!("chmod u+rwx {}", project.work().join("vendor").display());
    assert!(error.to_string().contains(&hint), "{error}");
    mode(&project.work().join("vendor"), 0o700);
    assert!(project.place.run("true").success());
    // The name may be chosen by a command.
    let odd = project.work().join("x; touch y");
    std::fs::create_dir(&odd).unwrap();
    mode(&odd, 0);
    let error = project.place.try_run("true").unwrap_err();
    let hint = format!("`chmod u+rwx '{}'`", odd.display());
    assert!(error.to_string().contains(&hint), "{error}");
    mode(&odd, 0o700);
    // A key in a folder that the owner has closed is not readable in the next run.
    let mut project = Project::empty();
    let home = project.home();
    std::fs::create_dir(home.join(".m2")).unwrap();
    std::fs::write(home.join(".m2/settings.xml"), "SECRET\n").unwrap();
    mode(&home.join(".m2"), 0);
    project.grant_in(&home, false);
    assert!(project.place.try_run("true").is_err());
    mode(&home.join(".m2"), 0o700);
    assert!(project.place.run("true").success());
}

/// Root sees everything, so this is about an ordinary user.
fn folder_that_cannot_be_searched_refuses_write_access() {
    if root() {
        as_ordinary_user("ways_out::unsearchable_as_a_user");
    } else {
        unsearchable();
    }
}

pub(crate) fn unsearchable_as_a_user() {
    unsearchable();
}

fn leftover_placeholders_are_removed() {
    let project = Project::new(true);
    for (name, bits) in [(".vscode", 0o505), (".github", 0o505)] {
        std::fs::create_dir(project.work().join(name)).unwrap();
        mode(&project.work().join(name), bits);
    }
    project.write(".envrc", "");
    mode(&project.work().join(".envrc"), 0o404);
    // Not empty, so it is the person's.
    project.write(".idea/keep", "x");
    mode(&project.work().join(".idea"), 0o505);
    let outcome = project.script("mkdir -p .github/workflows; echo plain > written");
    assert!(project.work().join("written").exists(), "{outcome:?}");
    for name in [".vscode", ".github", ".envrc"] {
        assert!(!project.work().join(name).exists(), "{name}: {outcome:?}");
    }
    assert!(project.work().join(".idea/keep").exists());
    mode(&project.work().join(".idea"), 0o755);
}

fn worktrees_and_separate_git_folders_work() {
    for layout in ["separate", "worktree", "linked"] {
        let mut project = Project::new(true);
        let mut tree = project.work();
        if layout == "separate" {
            separate(&project, "store");
        } else {
            if layout == "worktree" {
                worktree(&project);
            } else {
                project.git(&["worktree", "add", "-q", "-b", "side", "main"]);
            }
            tree = tree.join("main");
            std::fs::write(tree.join("file"), "changed\n").unwrap();
            for (key, value) in [("user.name", "x"), ("user.email", "x@y")] {
                project.git_in(&tree, &["config", key, value]);
            }
        }
        project.place.profile.cwd.clone_from(&tree);
        for line in [
            "git status --porcelain",
            "git add file",
            "git commit -q -m inside",
            "git switch -q -c topic",
        ] {
            let outcome = project.place.run(line);
            assert_eq!(outcome.end, End::Code(0), "{layout}: {line}: {outcome:?}");
            assert_eq!(outcome.stderr.text(), "", "{layout}: {line}");
        }
        let log = project.git_in(&tree, &["log", "--format=%s %D", "-1"]);
        assert!(log.starts_with("inside HEAD -> topic"), "{layout}: {log}");
    }
}

/// Waits for something that another process does, for a limited time.
pub(crate) fn wait_for(is_done: impl Fn() -> bool) {
    for _ in 0..6000 {
        if is_done() {
            return;
        }
        std::thread::park_timeout(std::time::Duration::from_millis(10));
    }
    panic!("it does not happen");
}

fn runs_that_write_in_one_project_wait_for_each_other() {
    let mut project = Project::new(true);
    project.git(&["commit", "-q", "-a", "-m", "second"]);
    project.git(&["switch", "-q", "-c", "evil"]);
    submodule(&project, "sub", false);
    project.git(&["commit", "-q", "-m", "submodule"]);
    project.git(&["switch", "-q", "main"]);
    let _ = std::fs::remove_dir(project.work().join("sub"));
    let plant = project.fill(&format!(
        "{REPOSITORY}touch started; for i in 1 2 3 4 5 6 7 8 9 10; do [ -d sub ] || sleep 0.2; done
         mkdir -p sub; plant sub"
    ));
    std::thread::scope(|scope| {
        let first = scope.spawn(|| project.script(&plant));
        wait_for(|| project.work().join("started").exists());
        let second = project.place.run("git switch -q evil");
        let first = first.join().unwrap();
        assert!(!project.is_planted(), "{first:?}\n{second:?}");
    });
    // One that does not get its turn says who has it.
    project.place.profile.limits.deadline_ms = 50;
    let facts = project.work().metadata().unwrap();
    let user = rustix::process::geteuid().as_raw();
    let lock = format!(
        "/tmp/prowess-locks-{user}/{:x}-{:x}",
        facts.dev(),
        facts.ino()
    );
    let held = std::fs::File::open(lock).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let error = project.place.try_run("true").unwrap_err().to_string();
    let process = format!("(process {})", std::process::id());
    assert!(error.contains(&process), "{error}");
    project.grant(false);
    assert!(project.place.run("true").success(), "reading needs no turn");
}

/// The kernel removes a mount if the file below it is replaced, so this is noticed afterwards.
fn protected_file_that_is_replaced_outside_is_reported() {
    for is_removed in [false, true] {
        let project = Project::new(true);
        project.write("AGENTS.md", "before\n");
        let script = "touch started; until [ -e continue ]; do sleep 0.05; done; echo x > AGENTS.md; rm AGENTS.md";
        let file = project.work().join("AGENTS.md");
        let run = std::thread::scope(|scope| {
            let run = scope.spawn(|| project.script(script));
            wait_for(|| project.work().join("started").exists());
            if is_removed {
                std::fs::remove_file(&file).unwrap();
            } else {
                project.write("new", "after\n");
                std::fs::rename(project.work().join("new"), &file).unwrap();
            }
            project.write("continue", "");
            run.join().unwrap()
        });
        let is_noted =
            |note: &Note| matches!(note, Note::Replaced { path } if path.ends_with("AGENTS.md"));
        assert!(run.notes.iter().any(is_noted), "{is_removed}: {run:?}");
        project.write("AGENTS.md", "before\n");
        let run = project.script("echo x > AGENTS.md; echo y > other");
        assert!(!run.notes.iter().any(is_noted), "the control: {run:?}");
    }
}

fn long_names_in_a_configuration_refuse_nothing() {
    let project = Project::new(true);
    let long = "x".repeat(300);
    for key in ["alias.long", "include.path", "core.attributesFile"] {
        project.git(&["config", key, &format!("a/{long}/b")]);
    }
    let outcome = project.place.run("echo plain > written");
    assert!(outcome.success(), "{outcome:?}");
    // Git could reach this one from the top of the repository.
    let deep = "d/".repeat(2040);
    project.git(&["config", "core.hooksPath", &deep]);
    assert!(project.place.try_run("true").is_err());
}

fn granted_folders_are_protected_like_a_project() {
    for (set, lacking) in strong_sets() {
        let mut project = Project::new(false);
        let crew = project.home().join("crew");
        for name in [".envrc", ".vscode/tasks.json", "CLAUDE.md", "data/keep"] {
            let path = crew.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "before\n").unwrap();
        }
        open_up(&crew);
        project.place.profile.write_also(&crew);
        project.place = project.place.without(lacking);
        let outcome = project.script(&format!(
            "cd {}; for f in .envrc .vscode/tasks.json CLAUDE.md; do echo x > $f; done
             mkdir .cargo; echo x > .mcp.json; echo plain > data/written",
            crew.display()
        ));
        for name in [".envrc", ".vscode/tasks.json", "CLAUDE.md"] {
            let text = std::fs::read_to_string(crew.join(name)).unwrap();
            assert_eq!(text, "before\n", "{set}: {name}: {outcome:?}");
        }
        for name in [".cargo", ".mcp.json"] {
            assert!(!crew.join(name).exists(), "{set}: {name}: {outcome:?}");
        }
        assert!(crew.join("data/written").exists(), "{set}: {outcome:?}");
    }
}

/// Git takes the word after `--format` for its value, and then sees `-s`.
fn options_with_values_do_not_hide_a_signature() {
    let project = Project::new(true);
    project.write("gpg", "#!/bin/sh\necho x > .git/planted\nexit 1\n");
    mode(&project.work().join("gpg"), 0o755);
    let program = project.work().join("gpg");
    project.git(&["config", "gpg.program", program.to_str().unwrap()]);
    for line in [
        "git tag --format -m -s -m text v1",
        "git commit --allow-empty --trailer -m -S -m y",
    ] {
        let outcome = project.place.run(line);
        let planted = project.work().join(".git/planted");
        assert!(!planted.exists(), "{line}: {outcome:?}");
    }
}

fn undone_switch_leaves_no_submodule_in_head() {
    let project = Project::new(true);
    project.git(&["commit", "-q", "-a", "-m", "second"]);
    project.git(&["switch", "-q", "-c", "evil"]);
    submodule(&project, "sub", false);
    project.git(&["commit", "-q", "-m", "submodule"]);
    project.git(&["switch", "-q", "main"]);
    let _ = std::fs::remove_dir(project.work().join("sub"));
    project.script(&project.fill(&format!("{REPOSITORY}mkdir sub; plant sub")));
    let outcome = project.place.run("git switch -q evil");
    let is_noted = |note: &Note| matches!(note, Note::IndexRestored { .. });
    assert!(outcome.notes.iter().any(is_noted), "{outcome:?}");
    assert_eq!(project.git(&["branch", "--show-current"]), "main\n");
    // The hint that git gives.
    project.git(&["restore", "--staged", "sub"]);
    assert!(!project.is_planted(), "{outcome:?}");
}

/// The repository `$1` runs the script `payload` when git enters it and reads its files.
const FILTER: &str = "filter() { echo x > $1/x; git -C $1 add x; git -C $1 commit -q -m x
     git -C $1 config filter.e.clean 'touch {canary}; touch {git}/planted; cat'
     echo '* filter=e' > $1/.gitattributes; touch -d 2001-01-01 $1/x; }\n";

pub(crate) fn run_outside(project: &Project, script: &str) {
    let git = project.work().join(".git");
    let script = project.fill(script).replace("{git}", git.to_str().unwrap());
    let identity = ["AUTHOR", "COMMITTER"].map(|who| {
        [("NAME", "a"), ("EMAIL", "a@a")].map(|(what, value)| (format!("GIT_{who}_{what}"), value))
    });
    let run = std::process::Command::new("bash")
        .args(["-e", "-c", &script])
        .current_dir(project.work())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .envs(identity.concat())
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
}

/// A branch with the submodule `sub`, whose repository has a filter, and with this `.gitmodules`.
fn branch_with_a_filter(modules: &str) -> Project {
    let project = Project::new(true);
    project.git(&["commit", "-q", "-a", "-m", "second"]);
    if !modules.is_empty() {
        project.write(".gitmodules", modules);
        project.git(&["add", ".gitmodules"]);
        project.git(&["commit", "-q", "-m", "modules"]);
    }
    let script =
        "git init -q sub; filter sub; git switch -q -c evil; git add sub; git commit -q -m sub
         git switch -q main; test -e sub/.git";
    run_outside(
        &project,
        &format!(
            "{FILTER}{}",
            script.replace("git switch", "git -c advice.addEmbeddedRepo=false switch")
        ),
    );
    let _ = std::fs::remove_file(&project.canary);
    let _ = std::fs::remove_file(project.work().join(".git/planted"));
    project
}

fn git_commands_do_not_enter_repositories() {
    for modules in [
        "",
        "[submodule \"s\"]\n\tpath = sub\n\turl = x\n\tignore = none\n",
    ] {
        let control = branch_with_a_filter(modules);
        control.git(&["switch", "evil"]);
        assert!(control.canary.exists(), "no control: {modules}");
        for (set, lacking) in strong_sets() {
            let mut project = branch_with_a_filter(modules);
            open_up(&project.work());
            project.place = project.place.without(lacking);
            let outcome = project.place.run("git switch evil");
            let planted = project.work().join(".git/planted");
            assert!(!planted.exists(), "{set}: {modules}: {outcome:?}");
        }
    }
    // A repository in the place of a tracked file.
    let project = Project::new(true);
    run_outside(
        &project,
        &format!("{FILTER}rm file; git init -q file; filter file"),
    );
    for line in ["git commit -a --dry-run", "git add ."] {
        let error = project.place.try_run(line).unwrap_err();
        assert!(error.to_string().contains("tracked file"), "{error}");
    }
    assert!(!project.work().join(".git/planted").exists());
    // One that was there before the run is the person's.
    let pointer = project.work().join("file/.git");
    let age = || pointer.metadata().unwrap().modified().unwrap().elapsed();
    wait_for(|| age().unwrap() > std::time::Duration::from_millis(200));
    assert!(project.place.run("true").success());
    assert!(
        project.work().join("file/.git").exists(),
        "it was there before the run"
    );
}

fn tracked_file_does_not_become_a_repository() {
    let script = format!("{REPOSITORY}rm file; mkdir file; plant file");
    let next = |project: &Project| {
        for arguments in [&["commit", "-q", "-a", "-m", "wip"][..], &["add", "-u"]] {
            project.git(arguments);
        }
        project.is_planted()
    };
    let control = Project::new(true);
    run_outside(&control, &script);
    assert!(next(&control), "no control");
    for (set, lacking) in strong_sets() {
        let mut project = Project::new(true);
        project.write("src/file", "one\n");
        project.git(&["add", "src/file"]);
        open_up(&project.work());
        project.place = project.place.without(lacking);
        let script = project.fill(&script).replace(" file", " src/file");
        let outcome = project.script(&script);
        let is_noted =
            |note: &Note| matches!(note, Note::Removed { path } if path.ends_with("file/.git"));
        assert!(outcome.notes.iter().any(is_noted), "{set}: {outcome:?}");
        assert!(!next(&project), "{set}: {outcome:?}");
    }
}

fn submodule_that_is_added_during_a_run_is_reported() {
    let project = Project::new(true);
    let script = "touch started; until [ -e continue ]; do sleep 0.05; done";
    let run = std::thread::scope(|scope| {
        let run = scope.spawn(|| project.script(script));
        wait_for(|| project.work().join("started").exists());
        run_outside(
            &project,
            "git init -q m; git -C m commit -q --allow-empty -m x
             git -c advice.addEmbeddedRepo=false add m; touch continue",
        );
        run.join().unwrap()
    });
    let is_noted = |note: &Note| matches!(note, Note::Added { path } if path.ends_with("m"));
    assert!(run.notes.iter().any(is_noted), "{run:?}");
    let run = project.script("true");
    assert!(!run.notes.iter().any(is_noted), "the control: {run:?}");
}

/// A filter of the person has the rights of the command.
fn files_that_git_follows_are_not_planted_in_the_git_folder() {
    let project = Project::new(true);
    project.write(
        "clean.sh",
        "#!/bin/sh\ncd .git; ln -s ../../outside/x COMMIT_EDITMSG; ln -s /x logs/refs/stash
         mkdir rebase-merge; echo 'exec touch x' > rebase-merge/git-rebase-todo; cat\n",
    );
    mode(&project.work().join("clean.sh"), 0o755);
    std::fs::remove_file(project.work().join(".git/COMMIT_EDITMSG")).unwrap_or_default();
    project.write(".gitattributes", "*.x filter=own\n");
    project.write("a.x", "content\n");
    project.git(&["config", "filter.own.clean", "./clean.sh"]);
    let outcome = project.place.run("git add a.x");
    for name in ["COMMIT_EDITMSG", "logs/refs/stash", "rebase-merge"] {
        let path = project.work().join(".git").join(name);
        assert!(path.symlink_metadata().is_err(), "{name}: {outcome:?}");
        let is_noted = |note: &Note| *note == Note::Removed { path: path.clone() };
        assert!(outcome.notes.iter().any(is_noted), "{name}: {outcome:?}");
    }
}

/// The `.git` file of a folder names the repository around it, whose index names other places.
fn git_folder_of_another_tree_is_not_writable() {
    for target in ["../.git", "../.git/worktrees/tree"] {
        let mut project = Project::new(true);
        let tree = project.place.here().join("tree");
        project.git(&["worktree", "add", "-q", tree.to_str().unwrap()]);
        project.write("sub/.git", &format!("gitdir: {target}\n"));
        project.write("sub/new", "x\n");
        project.place.profile.cwd = project.work().join("sub");
        let outcome = project.place.run("git add new");
        assert!(!outcome.success(), "{target}: {outcome:?}");
    }
}

/// The worst case has the strongest answer: the command fails, and the model is told.
fn index_that_cannot_be_restored_fails_the_command() {
    let project = Project::new(true);
    // A filter of the person, which has the rights of the command. A file cannot replace a folder.
    project.write(
        "clean.sh",
        "#!/bin/sh\nrm -f .git/refs/heads/main; mkdir -p .git/refs/heads/main/x; cat\n",
    );
    mode(&project.work().join("clean.sh"), 0o755);
    project.write(".gitattributes", "*.x filter=own\n");
    project.write("a.x", "content\n");
    project.git(&["config", "filter.own.clean", "./clean.sh"]);
    project.script(&project.fill(&format!("{REPOSITORY}mkdir -p src/lib; plant src/lib")));
    let command = approved("git add .");
    let profile = &project.place.profile;
    let result = CommandRunner::run(&project.place.runner, &command, profile, None).unwrap();
    assert_eq!(result.code, Some(1), "{result:?}");
    let text = &result.stderr.text;
    assert!(text.contains("prowess: cannot restore"), "{text}");
    assert!(text.contains("src/lib"), "{text}");
    assert!(!project.is_planted(), "the rest is restored");
}

/// Its branches cannot be restored one by one.
fn repository_with_a_reftable_is_not_writable() {
    let mut project = Project::empty();
    let made = project.git(&["init", "-q", "--ref-format=reftable"]);
    assert_eq!(made, "");
    project.write("file", "one\n");
    for edits in [true, false] {
        project.grant(edits);
        let error = project.place.try_run("git add file").unwrap_err();
        assert!(error.to_string().contains("reftable"), "{error}");
        assert!(project.place.run("git status").success());
    }
}

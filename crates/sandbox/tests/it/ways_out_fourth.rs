//! Ways out of the sandbox of the fourth round: what a command leaves behind is executed by the
//! person's next `git status`, or is recorded by the next commit.

use std::os::unix::fs::symlink;

use prowess_policy::profile::Strength;
use prowess_sandbox::{CommandOutcome, Note};
use prowess_test::wait_until;

use crate::git::Project;
use crate::support::{Place, in_role, mode, strong_sets};
use crate::ways_out::{REPOSITORY, open_up, run_outside, separate, submodule};

prowess_test::tests! {
    repository_from_an_earlier_run_does_not_replace_a_file
    file_in_a_granted_folder_does_not_become_a_repository
    killed_host_does_not_prevent_the_inspection
    links_in_protected_folders_elsewhere_are_followed
    hooks_of_the_main_tree_that_are_links_are_followed
    settings_in_a_home_folder_that_is_the_project_are_protected
    submodule_in_another_tree_of_the_same_index_is_found
    other_names_of_protected_files_are_protected
    agent_files_are_protected
}

/// Returns `true` if the person's next commit executes what was planted.
fn is_planted_by_a_commit(project: &Project) -> bool {
    for arguments in [&["commit", "-q", "-a", "-m", "wip"][..], &["add", "-u"]] {
        project.git(arguments);
    }
    project.is_planted()
}

fn is_removed(outcome: &CommandOutcome, end: &str) -> bool {
    let is_noted = |note: &Note| matches!(note, Note::Removed { path } if path.ends_with(end));
    outcome.notes.iter().any(is_noted)
}

/// A project with the tracked file `top/src/file`.
fn project_with_a_folder() -> Project {
    let project = Project::new(true);
    project.write("top/src/file", "one\n");
    project.git(&["add", "top"]);
    project.git(&["commit", "-q", "-m", "folder"]);
    open_up(&project.work());
    project
}

/// The first run builds a copy of the folder where no repository is looked for. Moving the copy into
/// its place does not change the times of what is inside.
fn repository_from_an_earlier_run_does_not_replace_a_file() {
    for place in ["a/b/c/d/e", "node_modules/x"] {
        // Without namespaces, each run has its own user.
        let first = format!(
            "{REPOSITORY}mkdir -p top/{place}/file; plant top/{place}/file; chmod -R a+rwX top || true"
        );
        let second = format!("cd top; mv src old; mv {place} src; rm -rf old");
        let control = project_with_a_folder();
        run_outside(&control, &first);
        run_outside(&control, &second);
        assert!(is_planted_by_a_commit(&control), "no control");
        for (set, lacking) in strong_sets() {
            let mut project = project_with_a_folder();
            project.place = project.place.without(lacking);
            let made = project.script(&project.fill(&first));
            let outcome = project.script(&second);
            let is_moved = is_removed(&outcome, "src/file/.git");
            assert!(is_moved, "{set}: {made:?}\n{outcome:?}");
            assert!(!is_planted_by_a_commit(&project), "{set}: {outcome:?}");
        }
    }
}

/// The repository is around the folder that the settings make writable.
fn file_in_a_granted_folder_does_not_become_a_repository() {
    for (set, lacking) in strong_sets() {
        let mut project = Project::new(false);
        project.write("_data/notes/one.txt", "one\n");
        project.write("other/file", "one\n");
        project.git(&["add", "_data", "other"]);
        project.git(&["commit", "-q", "-m", "data"]);
        open_up(&project.work());
        let data = project.work().join("_data");
        project.place.profile.writable.clear();
        project.place.profile.write_also(&data);
        project.place = project.place.without(lacking);
        let script = format!("{REPOSITORY}cd _data/notes; rm one.txt; plant one.txt");
        let outcome = project.script(&project.fill(&script));
        assert!(is_removed(&outcome, "one.txt/.git"), "{set}: {outcome:?}");
        assert!(!is_planted_by_a_commit(&project), "{set}: {outcome:?}");
    }
}

const WORK: &str = "PROWESS_TEST_WORK";

/// The helper inspects the project, so that a signal that ends the host changes nothing. If both are
/// killed, the next run reports what is left.
fn killed_host_does_not_prevent_the_inspection() {
    for kills_helper in [false, true] {
        let project = project_with_a_folder();
        let script =
            format!("{REPOSITORY}rm top/src/file; plant top/src/file; touch ready; exec sleep 600");
        let mut host = in_role("ways_out_fourth::host")
            .env(WORK, project.work())
            .env("PROWESS_TEST_SCRIPT", project.fill(&script))
            .env("PROWESS_TEST_BASE", project.place.here())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        wait_until("the script is done", || {
            project.work().join("ready").exists()
        });
        let pointer = project.work().join("top/src/file/.git");
        assert!(pointer.exists(), "no control");
        if kills_helper {
            let helper = crate::orphans::child_of(host.id());
            rustix::process::kill_process(helper, rustix::process::Signal::KILL).unwrap();
        }
        host.kill().unwrap();
        host.wait().unwrap();
        let is_noted = |note: &Note| matches!(note, Note::InPlaceOfFile { path } if path.ends_with("src/file"));
        if kills_helper {
            let outcome = project.script("echo more >> top/src/file/.git/config; true");
            assert!(outcome.notes.iter().any(is_noted), "{outcome:?}");
            assert!(pointer.exists(), "it may be the person's: {outcome:?}");
            let config = std::fs::read_to_string(pointer.join("config")).unwrap();
            assert!(!config.contains("more"), "{outcome:?}");
        } else {
            wait_until("the repository is moved away", || !pointer.exists());
            assert!(!is_planted_by_a_commit(&project));
            let outcome = project.script("true");
            assert!(!outcome.notes.iter().any(is_noted), "{outcome:?}");
        }
    }
}

/// Runs a command that may write until it is killed.
pub(crate) fn host() {
    let mut place = Place::new(Strength::Required);
    let work = std::path::PathBuf::from(std::env::var(WORK).unwrap());
    place.profile.cwd.clone_from(&work);
    place.profile.writable = vec![work];
    place.run(&std::env::var("PROWESS_TEST_SCRIPT").unwrap());
}

/// The layout of GNU stow: the project has the files to which links in the home folder lead.
fn links_in_protected_folders_elsewhere_are_followed() {
    const LINKS: &[(&str, &str, &str)] = &[
        (".config/git", "git", "git/config"),
        (
            ".config/fish/config.fish",
            "fish/config.fish",
            "fish/config.fish",
        ),
        (".config/systemd/user", "systemd", "systemd/x.service"),
        (".local/bin/tool", "bin/tool", "bin/tool"),
        (".claude/settings.json", "claude.json", "claude.json"),
        (".ssh/config", "ssh/config", "ssh/config"),
    ];
    for (set, lacking) in strong_sets() {
        let mut project = Project::new(true);
        for (link, target, file) in LINKS {
            project.write(file, "before\n");
            let link = project.home().join(link);
            std::fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(project.work().join(target), link).unwrap();
        }
        project.write("src/file", "before\n");
        open_up(&project.work());
        project.place = project.place.without(lacking);
        let files = LINKS.iter().map(|(_, _, file)| *file);
        let files: Vec<&str> = files.chain(["src/file"]).collect();
        let script = format!("for f in {}; do echo x >> $f; done", files.join(" "));
        let outcome = project.script(&script);
        for (_, _, file) in LINKS {
            let text = std::fs::read_to_string(project.work().join(file)).unwrap();
            assert_eq!(text, "before\n", "{set}: {file}: {outcome:?}");
        }
        let text = std::fs::read_to_string(project.work().join("src/file")).unwrap();
        assert_eq!(text, "before\nx\n", "{set}: {outcome:?}");
    }
}

/// The project is a linked working tree.
fn hooks_of_the_main_tree_that_are_links_are_followed() {
    for (set, lacking) in strong_sets() {
        let mut project = Project::new(true);
        project.write("scripts/hook", "#!/bin/sh\n");
        mode(&project.work().join("scripts/hook"), 0o777);
        project.git(&["add", "scripts"]);
        project.git(&["commit", "-q", "-m", "hook"]);
        let tree = project.place.here().join("tree");
        project.git(&["worktree", "add", "-q", tree.to_str().unwrap()]);
        open_up(&tree);
        let hooks = project.work().join(".git/hooks");
        std::fs::create_dir_all(&hooks).unwrap();
        symlink(tree.join("scripts/hook"), hooks.join("pre-commit")).unwrap();
        project.grant_in(&tree, true);
        project.place = project.place.without(lacking);
        let script = project.fill("echo 'touch {canary}' >> scripts/hook; echo x >> scripts/new");
        let outcome = project.script(&script);
        project.git_in(&tree, &["commit", "-q", "--allow-empty", "-m", "x"]);
        assert!(!project.canary.exists(), "{set}: {outcome:?}");
    }
}

/// Every name that begins with a dot counts, whether it exists or not.
fn settings_in_a_home_folder_that_is_the_project_are_protected() {
    for (set, lacking) in strong_sets() {
        for above in [false, true] {
            let mut project = Project::empty();
            let home = project.home();
            for name in [
                ".mavenrc",
                ".rustup/settings.toml",
                ".cache/named/keep",
                "notes/a",
            ] {
                let path = home.join(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, "before\n").unwrap();
            }
            open_up(&home);
            let top = if above {
                project.place.here()
            } else {
                home.clone()
            };
            project.grant_in(&top, true);
            project.place.profile.write_also(&home.join(".cache/named"));
            project.place = project.place.without(lacking);
            let files = ".mavenrc .rustup/settings.toml .gdbearlyinit .sdkman/init .cache/named/keep \
                         notes/a";
            let outcome = project.script(&format!(
                "cd {}; mkdir .sdkman; for f in {files}; do echo x >> $f; done",
                home.display()
            ));
            let read = |name: &str| std::fs::read_to_string(home.join(name));
            for name in [".mavenrc", ".rustup/settings.toml"] {
                assert_eq!(
                    read(name).unwrap(),
                    "before\n",
                    "{set}: {name}: {outcome:?}"
                );
            }
            for name in [".gdbearlyinit", ".sdkman"] {
                assert!(!home.join(name).exists(), "{set}: {name}: {outcome:?}");
            }
            for name in [".cache/named/keep", "notes/a"] {
                assert_eq!(
                    read(name).unwrap(),
                    "before\nx\n",
                    "{set}: {name}: {outcome:?}"
                );
            }
        }
    }
}

/// A second `.git` file names the git folder, and git runs there: the submodule of the branch is in
/// the person's working tree.
fn submodule_in_another_tree_of_the_same_index_is_found() {
    let mut project = Project::new(true);
    project.git(&["commit", "-q", "-a", "-m", "second"]);
    project.git(&["switch", "-q", "-c", "feature"]);
    submodule(&project, "sub", false);
    project.git(&["commit", "-q", "-m", "submodule"]);
    project.git(&["switch", "-q", "main"]);
    separate(&project, "store");
    project.grant(true);
    let script = format!(
        "{REPOSITORY}mkdir evil; echo \"gitdir: $PWD/store\" > evil/.git; cp file evil; plant sub"
    );
    project.script(&project.fill(&script));
    project.place.profile.cwd = project.work().join("evil");
    let outcome = project.place.run("git switch feature");
    let is_noted =
        |note: &Note| matches!(note, Note::IndexRestored { path } if path.ends_with("sub"));
    assert!(outcome.notes.iter().any(is_noted), "{outcome:?}");
    assert!(!outcome.success(), "{outcome:?}");
    assert!(!project.is_planted(), "{outcome:?}");
}

/// A start-up file and a hook of another working tree are hard links to files of the project.
fn other_names_of_protected_files_are_protected() {
    for (set, lacking) in strong_sets() {
        let mut project = Project::new(true);
        let tree = project.place.here().join("tree");
        project.git(&["worktree", "add", "-q", tree.to_str().unwrap()]);
        let hooks = project.work().join(".git/hooks");
        std::fs::create_dir_all(&hooks).unwrap();
        std::fs::create_dir(tree.join("sub")).unwrap();
        for (name, other) in [
            ("sub/hook", hooks.join("pre-commit")),
            ("sub/bashrc", project.home().join(".bashrc")),
            ("sub/plain", project.home().join("plain")),
        ] {
            std::fs::write(tree.join(name), "before\n").unwrap();
            std::fs::hard_link(tree.join(name), other).unwrap();
        }
        open_up(&tree);
        project.grant_in(&tree, true);
        project.place = project.place.without(lacking);
        let outcome = project.script("for f in hook bashrc plain; do echo x >> sub/$f; done");
        let read = |name: &str| std::fs::read_to_string(tree.join("sub").join(name)).unwrap();
        assert_eq!(read("hook"), "before\n", "{set}: {outcome:?}");
        assert_eq!(read("bashrc"), "before\n", "{set}: {outcome:?}");
        assert_eq!(read("plain"), "before\nx\n", "{set}: {outcome:?}");
    }
}

/// `prowess agent list` reads them.
fn agent_files_are_protected() {
    const FILES: &[&str] = &[
        "agents/a.agent.md",
        ".copilot/agents/a.agent.md",
        ".planck/teams/a/TEAM.json",
        "top.skilled_crew.yaml",
        "sub/crew.skilled_crew.yml",
    ];
    let project = Project::new(true);
    for file in FILES {
        project.write(file, "before\n");
    }
    let script = format!("for f in {}; do echo x >> $f; done", FILES.join(" "));
    let outcome = project.script(&script);
    for file in FILES {
        let text = std::fs::read_to_string(project.work().join(file)).unwrap();
        assert_eq!(text, "before\n", "{file}: {outcome:?}");
    }
    project.script("mkdir agents; echo x > agents/code.py");
    assert!(project.work().join("agents/code.py").exists());
}

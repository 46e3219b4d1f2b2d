//! Ways out of the sandbox of the fifth round: folders and permissions that the command changes, other
//! processes, files of the kernel, and what a project can name.

use prowess_policy::profile::{PROTECTED_IN_PROJECT, Strength};
use prowess_sandbox::{CommandOutcome, Layer, Note};

use crate::git::Project;
use crate::support::{
    Lacking, Place, Runtime, as_ordinary_user, mode, need_root, root, strong_sets,
};
use crate::ways_out::{REPOSITORY, open_up, run_outside};

prowess_test::tests! {
    new_and_moved_folders_keep_nothing_that_must_stay_absent
    folders_without_permissions_keep_nothing_that_must_go
    limits_of_other_processes_are_not_changed
    keys_in_settings_of_git_are_not_recorded
    project_does_not_open_the_folders_around_it
    programs_with_blanks_in_their_paths_are_protected
    files_of_the_kernel_and_of_devices_stay
    settings_of_inner_repositories_are_protected
    links_in_the_home_folder_are_followed
    files_in_the_place_of_folders_refuse_nothing
    project_is_inspected_before_the_scratch_folder_is_removed
    links_of_a_command_do_not_close_the_project
}

const MODULE: &str = "module() { mkdir -p $1; printf 'open(\"{canary}\", \"w\")\\n' > $1/__init__.py; \
                      cp $1/__init__.py $1/tool.py; chmod -R a+rwX $1; }\n";

fn is_removed(outcome: &CommandOutcome, end: &str) -> bool {
    let is_noted = |note: &Note| matches!(note, Note::Removed { path } if path.ends_with(end));
    outcome.notes.iter().any(is_noted)
}

/// A project whose configuration runs a module of Python in the folder `top/tools`, and a package by
/// its name.
fn project_with_names() -> Project {
    let project = Project::new(true);
    project.write("top/tools/keep", "");
    let command = "(cd top/tools && python3 -m json.tool --help); \
                   npx() { top/node_modules/.bin/$1; }; cd top && npx tool; true";
    let command = command.replace("top/node_modules", "node_modules");
    project.git(&["config", "core.fsmonitor", &command]);
    open_up(&project.work());
    project
}

/// The names must stay absent, also in a folder that did not exist or that replaces another one.
fn new_and_moved_folders_keep_nothing_that_must_stay_absent() {
    let program = "mkdir -p top/node_modules/.bin; cd top/node_modules/.bin; \
                   printf '#!/bin/sh\\ntouch {canary}\\n' > tool; chmod 755 tool";
    for (script, removed) in [
        ("module top/tools/json", "tools/json"),
        ("mv top/tools top/old; module top/tools/json", "tools/json"),
        (
            "mv top/tools top/old; module top/new/json; ln -s new top/tools",
            "top/tools",
        ),
        (program, ".bin/tool"),
    ] {
        let script = format!("{MODULE}{script}");
        let control = project_with_names();
        run_outside(&control, &script);
        assert!(control.is_planted(), "{script}: no control");
        for (set, lacking) in strong_sets() {
            let mut project = project_with_names();
            project.place = project.place.without(lacking);
            let outcome = project.script(&project.fill(&script));
            assert!(!project.is_planted(), "{set}: {script}: {outcome:?}");
            assert!(
                is_removed(&outcome, removed),
                "{set}: {script}: {outcome:?}"
            );
        }
    }
}

/// Root can write in every folder, so this is for other users.
fn folders_without_permissions_keep_nothing_that_must_go() {
    if root() {
        as_ordinary_user("ways_out_fifth::closed_as_a_user");
    } else {
        closed_as_a_user();
    }
}

pub(crate) fn closed_as_a_user() {
    let project = Project::new(true);
    let command = "python3 -m json.tool --help";
    project.git(&["config", "core.fsmonitor", command]);
    let script = format!("{MODULE}module json; chmod 555 .");
    let outcome = project.script(&project.fill(&script));
    assert!(!project.is_planted(), "{outcome:?}");
    assert!(is_removed(&outcome, "json"), "{outcome:?}");
    let left = std::fs::read_dir(project.work()).unwrap().flatten();
    let left = left.map(|entry| entry.file_name().into_string().unwrap());
    let mut left: Vec<String> = left.filter(|name| !name.starts_with("removed.")).collect();
    left.sort();
    assert_eq!(left, [".git", "file"], "no placeholder is left");
    let facts = project.work().metadata().unwrap();
    let bits = std::os::unix::fs::PermissionsExt::mode(&facts.permissions());
    assert_eq!(bits & 0o777, 0o555, "the mode stays");
    mode(&project.work(), 0o755);

    let project = project_with_names();
    let script = format!("{MODULE}module top/tools/json; chmod 000 top");
    let outcome = project.script(&project.fill(&script));
    mode(&project.work().join("top"), 0o755);
    assert!(is_removed(&outcome, "tools/json"), "{outcome:?}");
    assert!(!project.is_planted(), "{outcome:?}");

    for closing in ["chmod 555 top/src/file top/src", "chmod 000 top/src top"] {
        let project = Project::new(true);
        project.write("top/src/file", "one\n");
        project.git(&["add", "top"]);
        project.git(&["commit", "-q", "-m", "folder"]);
        let script = format!("{REPOSITORY}rm top/src/file; plant top/src/file; {closing}");
        let outcome = project.script(&project.fill(&script));
        for folder in ["top", "top/src", "top/src/file"] {
            mode(&project.work().join(folder), 0o755);
        }
        assert!(
            is_removed(&outcome, "src/file/.git"),
            "{closing}: {outcome:?}"
        );
        project.git(&["commit", "-q", "-a", "-m", "wip"]);
        assert!(!project.is_planted(), "{closing}: {outcome:?}");
    }
}

/// Without a process namespace, the command and the runtime can have the same user.
fn limits_of_other_processes_are_not_changed() {
    if root() {
        as_ordinary_user("ways_out_fifth::limits_as_a_user");
    } else {
        limits_as_a_user();
    }
}

pub(crate) fn limits_as_a_user() {
    let runtime = Runtime::start();
    let limits = || std::fs::read_to_string(format!("/proc/{}/limits", runtime.pid())).unwrap();
    let before = limits();
    let line = |pid: &str| format!("prlimit --pid {pid} --nofile=0 --as=1 --cpu=1 --core=0");
    let place = Place::new(Strength::BestEffort).without(&[Layer::Namespaces]);
    // The helper is the parent of the command.
    for pid in [runtime.pid().to_string(), "$PPID".to_owned()] {
        let outcome = place.run(&format!("{} || echo refused; ulimit -n 100", line(&pid)));
        let text = outcome.stdout.text();
        assert!(text.starts_with("refused"), "{pid}: {outcome:?}");
        assert!(
            outcome.success(),
            "its own limits can be changed: {outcome:?}"
        );
    }
    assert_eq!(limits(), before);
    let control = std::process::Command::new("sh")
        .args(["-c", &line(&runtime.pid().to_string())])
        .status();
    assert!(control.unwrap().success());
    assert_ne!(limits(), before, "no control");
}

/// The copies of the person's settings can be read by a command that may write the repository.
fn keys_in_settings_of_git_are_not_recorded() {
    let project = Project::new(false);
    let text = "[user]\n name = From Home\n email = home@example.org\n\
                [url \"https://oauth2:SECRET@example.org/\"]\n insteadOf = https://example.org/\n\
                [github]\n token = SECRET\n[include]\n path = ~/.more\n";
    std::fs::write(project.home().join(".gitconfig"), text).unwrap();
    std::fs::write(project.home().join(".more"), "[gitlab]\n token = SECRET\n").unwrap();
    for name in ["gitconfig", "gitconfig-0"] {
        let line = format!("git commit -q --allow-empty -F /.prowess/{name}");
        project.place.run(&line);
    }
    let log = project.git(&["log", "-3", "--format=%B"]);
    assert!(log.contains("From Home"), "no control: {log}");
    assert!(!log.contains("SECRET"), "{log}");
}

/// The project is in a folder with the name that git gives to the folder of its working trees.
fn project_does_not_open_the_folders_around_it() {
    for (set, lacking) in strong_sets() {
        let mut project = Project::empty();
        let here = project.place.here();
        let folder = here.join("worktrees/project");
        std::fs::create_dir_all(&folder).unwrap();
        for (name, text) in [
            (".git", "gitdir: .\n"),
            ("commondir", "../..\n"),
            ("gitdir", ".git\n"),
            ("HEAD", "ref: refs/heads/main\n"),
        ] {
            std::fs::write(folder.join(name), text).unwrap();
        }
        std::fs::write(here.join("notes"), "PRIVATE\n").unwrap();
        open_up(&here);
        project.grant_in(&folder, false);
        project.place = project.place.without(lacking);
        let outcome = project.script(&format!("cat {}; cat HEAD", here.join("notes").display()));
        let text = outcome.stdout.text();
        assert!(text.contains("refs/heads"), "{set}: {outcome:?}");
        assert!(!text.contains("PRIVATE"), "{set}: {outcome:?}");
    }
}

fn programs_with_blanks_in_their_paths_are_protected() {
    for (folder, command) in [
        ("top/my tools", "'top/my tools/monitor'"),
        ("top/my tools", "top/my\\ tools/monitor"),
        ("top/my tools", "cd \"top/my tools\" && ./monitor"),
        ("top/my tools", "sh -c \"'top/my tools/monitor' x\""),
        ("top/a,b=c", "./top/a,b=c/monitor"),
    ] {
        let prepare = || {
            let project = Project::new(true);
            let program = format!("{folder}/monitor");
            project.write(&program, "#!/bin/sh\nfalse\n");
            mode(&project.work().join(&program), 0o777);
            project.git(&["config", "core.fsmonitor", command]);
            open_up(&project.work());
            project
        };
        let script = format!("printf '#!/bin/sh\\ntouch {{canary}}\\n' > '{folder}/monitor'");
        let control = prepare();
        run_outside(&control, &script);
        assert!(control.is_planted(), "{command}: no control");
        for (set, lacking) in strong_sets() {
            let mut project = prepare();
            project.place = project.place.without(lacking);
            let outcome = project.script(&project.fill(&script));
            assert!(!project.is_planted(), "{set}: {command}: {outcome:?}");
        }
    }
}

/// Root owns these files, also without any capability.
fn files_of_the_kernel_and_of_devices_stay() {
    need_root();
    let place = Place::new(Strength::BestEffort).without(&[Layer::Landlock]);
    let script = "for f in /proc/sys/kernel/core_pattern /proc/sys/vm/swappiness; do \
                  test -w $f && echo $f; done; chmod 666 /dev/full && echo changed; \
                  chmod 444 /proc/version && echo changed; \
                  echo x > /dev/null && head -c 1 /dev/zero > /dev/null && echo usable";
    let outcome = place.run(&format!("({script}) 2> /dev/null; true"));
    assert_eq!(outcome.stdout.text(), "usable\n", "{outcome:?}");
}

/// A subfolder can be the top of a repository, whose settings are executed by the same tools.
fn settings_of_inner_repositories_are_protected() {
    let is_listed = |path: &&&str| path.starts_with('.') || !path.ends_with('/');
    let listed: Vec<&str> = PROTECTED_IN_PROJECT
        .iter()
        .filter(is_listed)
        .copied()
        .collect();
    for (set, lacking) in strong_sets() {
        let mut project = Project::new(true);
        let file = |path: &str| match path.strip_suffix('/') {
            Some(folder) => format!("top/inner/{folder}/file"),
            None => format!("top/inner/{path}"),
        };
        for path in &listed {
            project.write(&file(path), "theirs\n");
        }
        project.write("top/inner/code", "theirs\n");
        project.git_in(&project.work().join("top/inner"), &["init", "-q"]);
        open_up(&project.work());
        let lacking: Lacking<'_> = lacking;
        project.place = project.place.without(lacking);
        let words: Vec<String> = listed.iter().map(|path| file(path)).collect();
        let script = format!(
            "for f in {} top/inner/code; do echo planted > $f; done",
            words.join(" ")
        );
        let outcome = project.script(&script);
        let read = |path: &str| std::fs::read_to_string(project.work().join(path)).unwrap();
        for path in &words {
            assert_eq!(read(path), "theirs\n", "{set}: {path}: {outcome:?}");
        }
        assert_eq!(read("top/inner/code"), "planted\n", "{set}: {outcome:?}");
    }
}

/// Shells read more files in the home folder than any list names. With a manager of such files, they
/// are links to a project.
fn links_in_the_home_folder_are_followed() {
    for (set, lacking) in strong_sets() {
        let mut project = Project::new(true);
        let files = ["top/p10k.zsh", "top/aliases", "top/zsh/init"];
        for file in files.into_iter().chain(["top/other"]) {
            project.write(file, "theirs\n");
        }
        let (home, work) = (project.home(), project.work());
        std::fs::create_dir(home.join(".bashrc.d")).unwrap();
        for (link, file) in [
            (".p10k.zsh", "top/p10k.zsh"),
            (".bashrc.d/aliases", "top/aliases"),
            (".zsh", "top/zsh"),
            // It does not close the project.
            (".project", ""),
        ] {
            std::os::unix::fs::symlink(work.join(file), home.join(link)).unwrap();
        }
        open_up(&work);
        project.place = project.place.without(lacking);
        let outcome = project.script(&format!(
            "for f in {} top/zsh/new top/other; do echo planted > $f; done",
            files.join(" ")
        ));
        let read = |path: &str| std::fs::read_to_string(work.join(path));
        for file in files {
            assert_eq!(
                read(file).unwrap(),
                "theirs\n",
                "{set}: {file}: {outcome:?}"
            );
        }
        assert!(read("top/zsh/new").is_err(), "{set}: {outcome:?}");
        assert_eq!(
            read("top/other").unwrap(),
            "planted\n",
            "{set}: {outcome:?}"
        );
    }
}

/// A command can put a file where a folder would have to be, so that must not refuse the next run.
fn files_in_the_place_of_folders_refuse_nothing() {
    for (set, lacking) in strong_sets() {
        let mut project = project_with_names();
        project.write(".github", "");
        project.write("top/node_modules", "");
        open_up(&project.work());
        project.place = project.place.without(lacking);
        let program = "rm top/node_modules; mkdir -p top/node_modules/.bin; \
                       echo x > top/node_modules/.bin/tool; rm -f .github; mkdir -p .github/workflows; \
                       echo done > top/done";
        let outcome = project.script(program);
        let exists = |path: &str| project.work().join(path).exists();
        assert!(exists("top/done"), "{set}: {outcome:?}");
        assert!(!exists("top/node_modules/.bin/tool"), "{set}: {outcome:?}");
        assert!(!exists(".github/workflows"), "{set}: {outcome:?}");
    }
}

/// The command decides how long it takes to remove its scratch folder, and the host waits for a limited
/// time.
fn project_is_inspected_before_the_scratch_folder_is_removed() {
    let mut project = Project::new(true);
    project.write("top/src/file", "one\n");
    project.git(&["add", "top"]);
    project.git(&["commit", "-q", "-m", "folder"]);
    open_up(&project.work());
    let scratch = project.place.here().join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    mode(&scratch, 0o777);
    project.place = project.place.without(&[Layer::Namespaces]);
    project.place.profile.strength = Strength::BestEffort;
    project.place.runner = project.place.runner.scratch_in(&scratch);
    let script = format!(
        "{REPOSITORY}rm top/src/file; plant top/src/file; cd $TMPDIR; \
         for i in {{1..5000}}; do : > $i; done"
    );
    let outcome = project.script(&project.fill(&script));
    assert!(is_removed(&outcome, "src/file/.git"), "{outcome:?}");
    let changed = |path: &std::path::Path| path.metadata().unwrap().modified().unwrap();
    let moved = changed(&project.work().join("top/src/file"));
    assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0);
    assert!(changed(&scratch) > moved, "{outcome:?}");
}

/// What a command creates is protected in the next run, and so is what it leads to. That must not close
/// the project, and the record names the reason.
fn links_of_a_command_do_not_close_the_project() {
    for (set, lacking) in strong_sets() {
        let mut project = Project::new(true);
        for file in ["top/a/file", "top/b/file", "top/c/file", "top/links/keep"] {
            project.write(file, "theirs\n");
        }
        open_up(&project.work());
        project.place = project.place.without(lacking);
        project.script(
            "cd top/links; umask 0; mkdir s t u; ln -s ../../.. s/.vscode; ln -s ../../a t/.vscode; \
             echo 'gitdir: ../../b' > u/.git",
        );
        let script = "for f in a b c; do echo new > top/$f/file; done";
        let outcome = project.script(script);
        let read = |path: &str| std::fs::read_to_string(project.work().join(path)).unwrap();
        assert_eq!(read("top/c/file"), "new\n", "{set}: {outcome:?}");
        for (closed, link) in [("top/a", "t/.vscode"), ("top/b", "u/.git")] {
            assert_eq!(
                read(&format!("{closed}/file")),
                "theirs\n",
                "{set}: {outcome:?}"
            );
            let is_noted = |note: &Note| matches!(note, Note::ClosedBy { path, by } if path.ends_with(closed) && by.ends_with(link));
            assert!(outcome.notes.iter().any(is_noted), "{set}: {outcome:?}");
        }
    }
}

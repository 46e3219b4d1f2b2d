//! Ways out of the sandbox of the seventh round: what variables of the user name, mounts of parts of
//! protected folders, and locks that a command takes.
//!
//! Tests that mount something run in a process with a mount namespace of its own.

use std::ffi::OsStr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use prowess_policy::NamedPath;
use prowess_policy::profile::Profile;
use prowess_sandbox::{ExecError, Note, protected_paths};

use crate::git::Project;
use crate::support::{as_ordinary_user, mode, need_root, root, strong_sets};
use crate::ways_out::open_up;
use crate::ways_out_sixth::in_private_mounts;

prowess_test::tests! {
    folders_of_the_search_path_are_protected
    files_that_variables_name_are_protected
    links_in_folders_of_the_search_path_are_followed
    project_in_the_search_path_is_not_writable
    source_code_that_a_variable_names_stays_writable
    parts_of_protected_folders_are_not_mounted_elsewhere
    lock_of_a_command_blocks_no_run
}

/// Sets the paths that these variables name. `%w` is the project, `%h` the home folder.
fn name(project: &mut Project, variables: &[(&str, &str)]) {
    let (work, home) = (project.work(), project.home());
    let expand = |text: &str| {
        let text = text.replace("%w", work.to_str().unwrap());
        text.replace("%h", home.to_str().unwrap())
    };
    let variables: Vec<(&str, String)> = variables
        .iter()
        .map(|(name, value)| (*name, expand(value)))
        .collect();
    let variables = variables
        .iter()
        .map(|(name, value)| (OsStr::new(*name), OsStr::new(value)));
    project.place.profile.named = NamedPath::of(variables, &work, Some(&home));
}

/// As root and as an ordinary user, with every strong set of layers.
fn everywhere(role: &str, check: fn()) {
    check();
    if root() {
        as_ordinary_user(role);
    }
}

fn folders_of_the_search_path_are_protected() {
    everywhere("ways_out_seventh::in_search_path", in_search_path);
}

/// An active virtual environment, folders that do not exist, and one behind a link.
pub(crate) fn in_search_path() {
    for (set, lacking) in strong_sets() {
        let mut project = Project::new(true);
        project.write(".venv/bin/activate", "");
        project.write(".venv/pyvenv.cfg", "home = /usr/bin\n");
        project.write("tools/real/x", "");
        symlink("tools/real", project.work().join("linked")).unwrap();
        open_up(&project.work());
        let path = "%w/.venv/bin:node_modules/.bin:%w/bin:%w/linked:/usr/bin:%w/file/bin";
        name(&mut project, &[("PATH", path), ("VIRTUAL_ENV", "%w/env")]);
        project.place = project.place.without(lacking);
        let planted = [
            ".venv/bin/git",
            "node_modules/.bin/git",
            "bin/git",
            "linked/git",
            "tools/real/git",
            "env/bin/git",
        ];
        for path in planted {
            let folder = Path::new(path).parent().unwrap().display();
            let script = format!("mkdir -p {folder}; echo evil > {path}; chmod +x {path}");
            project.script(&script);
            assert!(!project.work().join(path).exists(), "{set}: {path}");
        }
        // Moving a folder away, or replacing the link, is no way around.
        let moves = "mv .venv v; mkdir -p .venv/bin; echo evil > .venv/bin/git; \
            rm linked; mkdir linked; echo evil > linked/git; mv tools t; mkdir -p tools/real; \
            echo evil > tools/real/git; rm -rf .venv/bin; rm .venv/bin/activate; true";
        project.script(moves);
        for path in planted {
            assert!(!project.work().join(path).exists(), "{set}: {path} moved");
        }
        assert!(project.work().join(".venv/bin/activate").exists(), "{set}");
        // Ordinary work goes on.
        assert!(
            project.place.run("echo x >> file; cat file").success(),
            "{set}"
        );
        assert!(
            project
                .place
                .run("echo x > tools/real/../y 2>/dev/null || echo x > .venv/pyvenv.cfg")
                .success(),
            "{set}"
        );
        assert!(project.place.run("git status --short").success(), "{set}");
        // The file tools refuse the same paths.
        let closed = protected_paths(&project.place.profile).unwrap();
        for path in planted {
            let path = project.work().join(path);
            assert!(
                closed.iter().any(|it| path.starts_with(it)),
                "{set}: {}",
                path.display()
            );
        }
        let left = ["node_modules", "bin", "env"];
        for folder in left {
            assert!(
                !project.work().join(folder).exists(),
                "{set}: {folder} is left"
            );
        }
    }
}

fn files_that_variables_name_are_protected() {
    everywhere("ways_out_seventh::named_files", named_files);
}

pub(crate) fn named_files() {
    for (set, lacking) in strong_sets() {
        let mut project = Project::new(true);
        for file in ["conf/git/config", "env.sh", "kube/a", "tools/pager"] {
            project.write(file, "");
        }
        open_up(&project.work());
        let variables = [
            ("XDG_CONFIG_HOME", "%w/conf"),
            ("GIT_CONFIG_GLOBAL", "%w/gitconfig"),
            ("BASH_ENV", "%w/env.sh"),
            ("ENV", "~/../work/shrc"),
            ("ZDOTDIR", "%w"),
            ("KUBECONFIG", "%w/kube/a:%w/kube/b"),
            ("PAGER", "%w/tools/pager -R"),
            ("LD_LIBRARY_PATH", "%w/lib"),
        ];
        name(&mut project, &variables);
        project.place = project.place.without(lacking);
        let closed = [
            "conf/git/config",
            "conf/new",
            "gitconfig",
            "env.sh",
            "shrc",
            ".zshenv",
            "kube/a",
            "kube/b",
            "tools/pager",
            "lib/libc.so.6",
        ];
        for path in closed {
            project.script(&format!("mkdir -p lib; echo evil >> {path}"));
            let text = std::fs::read_to_string(project.work().join(path));
            assert!(!text.unwrap_or_default().contains("evil"), "{set}: {path}");
        }
        assert!(project.place.run("echo x >> file").success(), "{set}");
    }
}

fn links_in_folders_of_the_search_path_are_followed() {
    let mut project = Project::new(true);
    for file in ["two.sh", "three/run", "conf", "free"] {
        project.write(file, "");
    }
    let (work, home) = (project.work(), project.home());
    for folder in ["tools", "settings/git"] {
        std::fs::create_dir_all(home.join(folder)).unwrap();
    }
    for (link, target) in [
        ("tools/two", "two.sh"),
        ("tools/three", "way/run"),
        // A folder in a search path is not executed.
        ("tools/project", ""),
        ("settings/git/config", "conf"),
    ] {
        symlink(work.join(target), home.join(link)).unwrap();
    }
    symlink("three", work.join("way")).unwrap();
    open_up(&work);
    name(
        &mut project,
        &[("PATH", "%h/tools"), ("XDG_CONFIG_HOME", "%h/settings")],
    );
    project.script(
        "echo evil > two.sh; echo evil > three/run; rm way; mkdir way; echo evil > way/run; \
         echo evil > conf; echo fine > free",
    );
    for file in ["two.sh", "three/run", "way/run", "conf"] {
        let text = std::fs::read_to_string(work.join(file)).unwrap();
        assert_eq!(text, "", "{file}");
    }
    assert_eq!(
        std::fs::read_to_string(work.join("free")).unwrap(),
        "fine\n"
    );
}

fn project_in_the_search_path_is_not_writable() {
    let mut project = Project::new(true);
    name(&mut project, &[("PATH", "/usr/bin:%w")]);
    match project.place.try_run("echo evil > git") {
        Err(ExecError::Unprotectable { path, why }) => {
            assert_eq!(path, project.work());
            assert!(
                why.contains("`PATH` names it") && why.contains("[sandbox] write"),
                "{why}"
            );
        }
        other => panic!("{other:?}"),
    }
    // A command that only reads runs, and a folder around the project closes nothing.
    name(
        &mut project,
        &[
            ("PATH", "%w/..:/usr/bin"),
            ("XDG_DATA_DIRS", "%w/..:/usr/share"),
        ],
    );
    assert!(project.place.run("echo x > new").success());
    project.grant(false);
    name(&mut project, &[("PATH", "/usr/bin:%w")]);
    assert!(project.place.run("cat file").success());
}

fn source_code_that_a_variable_names_stays_writable() {
    let mut project = Project::new(true);
    project.write("src/a.py", "");
    open_up(&project.work());
    name(
        &mut project,
        &[("PYTHONPATH", "src"), ("PATH", "/usr/bin:")],
    );
    let ran = project.place.run("echo x > src/a.py; echo y > new");
    assert!(ran.success());
    let named: Vec<&PathBuf> = ran
        .notes
        .iter()
        .filter_map(|note| match note {
            Note::Unprotected { path, why } if why.contains("names it") => Some(path),
            _ => None,
        })
        .collect();
    assert_eq!(named, [&project.work().join("src"), &project.work()]);
}

fn parts_of_protected_folders_are_not_mounted_elsewhere() {
    need_root();
    in_private_mounts("ways_out_seventh::mounted_parts", "", None);
}

pub(crate) fn mounted_parts() {
    let project = Project::new(true);
    for folder in ["h", "other/deep", ".vscode/deep"] {
        std::fs::create_dir_all(project.work().join(folder)).unwrap();
    }
    project.write("f", "");
    project.write("nested/a/AGENTS.md", "");
    project.write("nested/b/x", "");
    std::fs::create_dir_all(project.home().join(".config/git")).unwrap();
    open_up(&project.work());
    let bind = |from: &Path, to: &Path| rustix::mount::mount_bind(from, to).unwrap();
    let unmount = |at: &Path| {
        rustix::mount::unmount(at, rustix::mount::UnmountFlags::DETACH).unwrap();
    };
    let refused = |profile: &Profile, from: &str| {
        let place = &project.place;
        let approved = crate::support::approved("echo evil >> f; echo evil > h/pre-commit; true");
        let ran = place.runner.run(
            &approved,
            profile,
            prowess_sandbox::CommandOptions::default(),
        );
        match ran {
            Err(ExecError::Unprotectable { why, .. }) => {
                assert!(why.contains("mounted at"), "{from}: {why}");
            }
            other => panic!("{from}: {other:?}"),
        }
    };
    let profile = project.place.profile.clone();
    let [folder, file] = ["h", "f"].map(|name| project.work().join(name));
    for (from, to) in [
        (project.work().join(".git/hooks"), &folder),
        (project.work().join(".git/config"), &file),
        (project.work().join(".vscode/deep"), &folder),
        // A folder around the project, and settings of the user.
        (project.place.here(), &folder),
        (project.home(), &folder),
        (project.home().join(".config/git"), &folder),
        // A folder with protected files in it.
        (project.work().join("nested"), &folder),
    ] {
        bind(&from, to);
        refused(&profile, &from.display().to_string());
        unmount(to);
    }
    assert!(!project.work().join(".git/hooks/pre-commit").exists());
    let config = std::fs::read_to_string(project.work().join(".git/config")).unwrap();
    assert!(!config.contains("evil"));
    // Other folders, and a mount inside of a protected one, do no harm.
    for (from, to) in [
        ("other/deep", "h"),
        ("nested/b", "h"),
        ("other", ".git/hooks"),
        ("other", ".vscode/deep"),
    ] {
        let (from, to) = (project.work().join(from), project.work().join(to));
        bind(&from, &to);
        let ran = project.place.try_run("echo x > free");
        unmount(&to);
        assert!(ran.is_ok_and(|ran| ran.success()), "{}", to.display());
    }
}

fn lock_of_a_command_blocks_no_run() {
    everywhere("ways_out_seventh::locking", locking);
}

/// A command that only reads can lock what it reads.
pub(crate) fn locking() {
    let mut reader = Project::new(false);
    reader.place.profile.limits.deadline_ms = 60_000;
    let locked = reader.work().join("locked");
    mode(&reader.work(), 0o777);
    let mut writer = Profile {
        writable: vec![reader.work()],
        ..reader.place.profile.clone()
    };
    writer.limits.deadline_ms = 20_000;
    let held = std::fs::File::open(reader.work()).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    let approved = crate::support::approved("echo x > locked");
    let ran = reader
        .place
        .runner
        .run(
            &approved,
            &writer,
            prowess_sandbox::CommandOptions::default(),
        )
        .unwrap();
    assert!(ran.success() && locked.exists());
    // No command sees the folder with the locks.
    let line = "ls -d /tmp/prowess-locks-* /var/tmp/prowess-locks-*";
    let ran = reader.place.run(&format!("{line}; true"));
    assert!(
        !ran.stdout.text().contains("prowess-locks"),
        "{}",
        ran.stdout.text()
    );
    reader.place.profile.readable.push("/tmp".into());
    let ran = reader.place.run("ls -A /tmp/prowess-locks-$(id -u)");
    assert_eq!(ran.stdout.text(), "");
}

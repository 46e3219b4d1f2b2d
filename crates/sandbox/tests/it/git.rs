//! Git in the sandbox: it works, and nothing that it executes later can be changed from inside.
//!
//! Real git, run outside after the command, shows whether something was planted.

use std::path::{Path, PathBuf};

use prowess_policy::profile::{
    KEYS_IN_HOME, PROTECTED_IN_HOME, PROTECTED_IN_PROJECT, Profile, Setting, Strength,
};
use prowess_sandbox::{CommandOutcome, End, Layer, Note};

use crate::support::{Folder, Place, as_ordinary_user, mode, need_root, root, strong_sets};

prowess_test::tests! {
    nothing_that_git_executes_can_be_planted
    folder_without_a_repository_cannot_become_one
    git_and_ordinary_programs_work
    git_reads_without_namespaces
    checked_git_commands_write_the_repository
    identity_of_a_commit_comes_from_the_home_folder
    own_settings_of_git_are_honoured
    only_checked_git_commands_write_the_repository
    filter_of_a_repository_cannot_redirect_git
    adding_everything_adds_no_placeholder
    placeholders_are_not_recorded_whatever_the_project_ignores
    git_commands_that_change_protected_files_do_not_begin
    linked_worktrees_and_submodules_work
    what_tools_execute_later_cannot_be_changed
    protected_link_does_not_close_the_project
    home_folder_keeps_its_keys
    named_folders_are_searched_for_programs
}

/// A project with a repository, a home folder, and the profile of ordinary work.
pub(crate) struct Project {
    pub(crate) place: Place,
    /// The file that whatever was planted creates.
    pub(crate) canary: PathBuf,
}

impl Project {
    /// A project with one commit and one change.
    pub(crate) fn new(edits: bool) -> Self {
        let mut project = Self::empty();
        project.git(&["init", "-q", "-b", "main"]);
        project.git(&["config", "user.name", "A. Person"]);
        project.git(&["config", "user.email", "person@example.org"]);
        project.write("file", "one\n");
        project.git(&["add", "file"]);
        project.git(&["commit", "-q", "-m", "first"]);
        project.write("file", "one\ntwo\n");
        project.grant(edits);
        project
    }

    pub(crate) fn empty() -> Self {
        let mut place = Place::new(Strength::Required);
        let home = place.here().join("home");
        std::fs::create_dir(&home).unwrap();
        let variables = [("HOME".into(), home.into())];
        place.runner = place.runner.inherit(variables);
        let canary = place.here().join("canary");
        let mut project = Self { place, canary };
        project.grant(true);
        project
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.place.here().join("home")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.place.here().join("work")
    }

    /// Sets the profile that `prowess exec` uses, with `--write` if `edits`.
    pub(crate) fn grant(&mut self, edits: bool) {
        self.grant_in(&self.work(), edits);
    }

    pub(crate) fn grant_in(&mut self, workspace: &Path, edits: bool) {
        let profile = Profile::for_work(&Setting {
            skill: None,
            workspace: workspace.to_owned(),
            edits,
            home: self.home(),
            ours: Vec::new(),
        });
        self.place.profile = profile;
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.work().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Runs git outside, as the person does. Returns what it printed.
    pub(crate) fn git_in(&self, folder: &Path, arguments: &[&str]) -> String {
        let output = std::process::Command::new("git")
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.home())
            .env("GIT_ALLOW_PROTOCOL", "file")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text + &String::from_utf8_lossy(&output.stderr)
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.git_in(&self.work(), arguments)
    }

    /// Runs a script with the rights of `prowess exec --write`.
    pub(crate) fn script(&self, text: &str) -> CommandOutcome {
        self.place.run(&format!("({text}) 2>&1; true"))
    }

    /// Returns `true` if anything that the person's git executes was planted.
    pub(crate) fn is_planted(&self) -> bool {
        for arguments in [&["status"][..], &["diff", "HEAD"], &["log", "-1"]] {
            self.git(arguments);
        }
        for folder in ["nested", "module", "src", "main", "vendor/lib"] {
            let folder = self.work().join(folder);
            if folder.is_dir() {
                self.git_in(&folder, &["status"]);
            }
        }
        self.canary.exists()
    }

    /// Fills in the path of the canary.
    pub(crate) fn fill(&self, script: &str) -> String {
        script.replace("{canary}", self.canary.to_str().unwrap())
    }
}

/// Both ways of the audit's H1, and variants of them. Each ends with a plain write in the project.
const PLANTS: &[(&str, &str)] = &[
    (
        "commondir",
        "mkdir evil; cp -r .git/objects .git/refs evil/
         printf '[core]\\n repositoryformatversion=0\\n fsmonitor=\"touch {canary}; false\"\\n' > evil/config
         echo ../evil > .git/commondir",
    ),
    (
        "a project that is a git folder",
        "rm -f .git/HEAD; mkdir -p objects refs; echo 'ref: refs/heads/main' > HEAD
         printf '[core]\\n repositoryformatversion=0\\n bare=false\\n worktree=%s\\n fsmonitor=\"touch {canary}; false\"\\n' \"$PWD\" > config",
    ),
    (
        "configuration",
        "printf '[core]\\n fsmonitor=\"touch {canary}; false\"\\n' >> .git/config",
    ),
    (
        "configuration of the working tree",
        "git config extensions.worktreeConfig true
         printf '[core]\\n fsmonitor=\"touch {canary}; false\"\\n' > .git/config.worktree",
    ),
    (
        "a new git folder in place of the old one",
        "mv .git old; cp -r old .git
         printf '[core]\\n fsmonitor=\"touch {canary}; false\"\\n' >> .git/config",
    ),
    (
        "a git file in place of the folder",
        "cp -r .git evil; printf '[core]\\n fsmonitor=\"touch {canary}; false\"\\n' >> evil/config
         rm -rf .git; echo 'gitdir: evil' > .git",
    ),
    (
        "a nested repository",
        "printf '[core]\\n fsmonitor=\"touch {canary}; false\"\\n' >> nested/.git/config",
    ),
    (
        "a nested repository by its common folder",
        "cp -r nested/.git evil; printf '[core]\\n fsmonitor=\"touch {canary}; false\"\\n' >> evil/config
         echo ../../evil > nested/.git/commondir",
    ),
    (
        "a submodule that is not there yet",
        "cp -r .git module/.git; printf '[core]\\n fsmonitor=\"touch {canary}; false\"\\n' >> module/.git/config",
    ),
];

/// Adds what the scripts above refer to.
fn nested(project: &Project) {
    for folder in ["nested", "module"] {
        std::fs::create_dir(project.work().join(folder)).unwrap();
    }
    project.git_in(&project.work().join("nested"), &["init", "-q"]);
    // A submodule that was never fetched: an entry in the index and an empty folder.
    let commit = project.git(&["rev-parse", "HEAD"]);
    let entry = format!("160000,{},module", commit.trim());
    project.git(&["update-index", "--add", "--cacheinfo", &entry]);
    project.write(
        ".gitmodules",
        "[submodule \"module\"]\n\tpath = module\n\turl = https://example.org/module\n",
    );
}

fn plants(sets: &[(&'static str, crate::support::Lacking<'static>)]) {
    for (name, script) in PLANTS {
        // The control: without a sandbox it works, or it proves nothing.
        let control = Project::new(true);
        nested(&control);
        let outside = std::process::Command::new("bash")
            .args(["-c", &control.fill(script)])
            .current_dir(control.work())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(control.is_planted(), "{name}: no control: {outside:?}");
        for (set, lacking) in sets {
            let mut project = Project::new(true);
            nested(&project);
            project.place = project.place.without(*lacking);
            let before = project.git(&["status", "--porcelain"]);
            let script = project.fill(script);
            // Without namespaces nothing can be created at the top of a project.
            let inner = project.work().join("src");
            std::fs::create_dir(&inner).unwrap();
            mode(&inner, 0o777);
            let outcome = project.script(&format!("{script}\necho plain > src/written"));
            assert!(!project.is_planted(), "{set}: {name}: {outcome:?}");
            let written = std::fs::read_to_string(inner.join("written"));
            assert_eq!(
                written.ok().as_deref(),
                Some("plain\n"),
                "{set}: {name}: {outcome:?}"
            );
            let after = project.git(&["status", "--porcelain"]);
            assert!(
                before.lines().all(|line| after.contains(line)),
                "{set}: {name}: git works as before: {after}"
            );
        }
    }
}

fn nothing_that_git_executes_can_be_planted() {
    plants(&strong_sets());
    if root() {
        as_ordinary_user("git::plants_as_a_user");
    }
}

pub(crate) fn plants_as_a_user() {
    plants(&strong_sets()[..1]);
}

fn folder_without_a_repository_cannot_become_one() {
    let way = PLANTS[1].1;
    let control = Project::empty();
    let run = std::process::Command::new("bash")
        .args(["-c", &control.fill(way)])
        .current_dir(control.work())
        .output();
    assert!(run.is_ok() && control.is_planted(), "no control");
    for (set, lacking) in strong_sets() {
        let mut project = Project::empty();
        project.place = project.place.without(lacking);
        project.script(&project.fill(way));
        project.script(&project.fill(
            "git init -q && printf '[core]\\n fsmonitor=\"touch {canary}; false\"\\n' >> .git/config",
        ));
        assert!(!project.is_planted(), "{set}");
        assert!(
            !project.work().join("HEAD").exists(),
            "{set}: nothing is left"
        );
        assert!(
            !project.work().join(".git").exists(),
            "{set}: nothing is left"
        );
    }
}

/// Reading and writing work for every user, whatever the home folder contains.
fn ordinary_work() {
    for edits in [false, true] {
        for config in [false, true] {
            let project = Project::new(edits);
            if config {
                let text = "[user]\n\tname = Someone Else\n";
                std::fs::write(project.home().join(".gitconfig"), text).unwrap();
                mode(&project.home(), 0o755);
            }
            let outcome = project.place.run("git status --porcelain && git diff HEAD");
            let text = outcome.stdout.text().into_owned();
            assert_eq!(outcome.end, End::Code(0), "{edits} {config}: {outcome:?}");
            assert!(
                text.starts_with(" M file\n") && text.contains("+two"),
                "{text}"
            );
            assert_eq!(outcome.stderr.text(), "", "{edits} {config}");
            assert_eq!(
                text.lines().next_back(),
                Some("+two"),
                "no placeholder is in sight: {text}"
            );
            let python = project.place.run("python3 -c 'print(6 * 7)'");
            assert_eq!(python.stdout.text(), "42\n", "{python:?}");
            let write = project.place.run("echo new > made && cat made");
            assert_eq!(write.success(), edits, "{write:?}");
            let user = rustix::process::getuid().as_raw();
            assert_eq!(
                project.place.run("id -u").stdout.text(),
                format!("{user}\n")
            );
        }
    }
}

fn git_and_ordinary_programs_work() {
    ordinary_work();
    if root() {
        as_ordinary_user("git::ordinary_work_as_a_user");
    }
}

pub(crate) fn ordinary_work_as_a_user() {
    ordinary_work();
}

fn git_reads_without_namespaces() {
    need_root();
    let mut project = Project::new(true);
    // Git can see that the file exists, and cannot open it.
    std::fs::write(project.home().join(".gitconfig"), "[user]\n\tname = X\n").unwrap();
    mode(&project.home(), 0o755);
    project.place = project.place.without(&[Layer::Namespaces]);
    let outcome = project.place.run("git status --porcelain");
    assert_eq!(outcome.stdout.text(), " M file\n", "{outcome:?}");
    assert_eq!(outcome.stderr.text(), "");
}

/// Commands that may write the git folder, one after the other.
fn committing(edits: bool) {
    let project = Project::new(edits);
    // The repository of a person with hooks, a monitor and signatures.
    let canary = project.canary.display().to_string();
    for hook in ["pre-commit", "post-commit", "post-checkout", "commit-msg"] {
        let path = project.work().join(".git/hooks").join(hook);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\ntouch {canary} ran-a-hook\n")).unwrap();
        mode(&path, 0o755);
    }
    project.git(&["config", "core.fsmonitor", "touch ran-a-monitor; false"]);
    project.git(&["config", "commit.gpgSign", "true"]);
    let git = |line: &str| {
        let outcome = project.place.run(line);
        assert_eq!(
            outcome.end,
            End::Code(0),
            "{line}: {} {}",
            outcome.stdout.text(),
            outcome.stderr.text()
        );
    };
    git("git add file");
    git("git commit -q -m 'made inside'");
    git("git tag -a v1 -m 'first tag'");
    project.git(&["config", "core.fsmonitor", "false"]);
    let log = project.git(&["log", "--format=%s %an", "-1"]);
    assert_eq!(log, "made inside A. Person\n");
    assert_eq!(project.git(&["tag"]), "v1\n");
    if edits {
        project.git(&["config", "core.fsmonitor", "touch ran-a-monitor; false"]);
        git("git switch -q -c topic");
        project.write("file", "three\n");
        git("git stash push -q -m later");
        git("git switch -q main");
        git("git stash pop -q");
        project.git(&["config", "core.fsmonitor", "false"]);
        let branches = project.git(&["branch", "--format=%(refname:short)"]);
        assert_eq!(branches, "main\ntopic\n");
        assert_eq!(project.git(&["status", "--porcelain"]), " M file\n");
    } else {
        let outcome = project.place.run("git switch -q -c topic");
        assert!(!outcome.success(), "the working tree is read-only");
        assert_eq!(
            project.git(&["branch", "--format=%(refname:short)"]),
            "main\n"
        );
    }
    assert_eq!(
        project.git(&["fsck", "--strict", "--no-dangling"]).trim(),
        ""
    );
    for name in ["ran-a-hook", "ran-a-monitor"] {
        assert!(!project.work().join(name).exists(), "{name}");
    }
    // Nothing of what git executes was left behind or changed.
    for name in [
        "commondir",
        "gitdir",
        "config.worktree",
        "modules",
        "worktrees",
    ] {
        assert!(!project.work().join(".git").join(name).exists(), "{name}");
    }
    assert!(!project.canary.exists());
}

fn checked_git_commands_write_the_repository() {
    committing(true);
    committing(false);
    if root() {
        as_ordinary_user("git::committing_as_a_user");
    }
}

pub(crate) fn committing_as_a_user() {
    committing(true);
    committing(false);
}

fn identity_of_a_commit_comes_from_the_home_folder() {
    let project = Project::new(true);
    project.git(&["config", "--unset", "user.name"]);
    project.git(&["config", "--unset", "user.email"]);
    let text = "[user]\n\tname = From Home\n\temail = home@example.org\n";
    std::fs::write(project.home().join(".gitconfig"), text).unwrap();
    let outcome = project.place.run("git commit -q -a -m x");
    assert!(outcome.success(), "{}", outcome.stderr.text());
    assert_eq!(project.git(&["log", "--format=%an", "-1"]), "From Home\n");
    // Other commands do not see the file.
    let other = project.place.run("cat \"$HOME/.gitconfig\"");
    assert!(!other.success());
}

/// Ignore files and included files of the person have the same meaning as outside.
fn own_settings_of_git_are_honoured() {
    let project = Project::new(false);
    for name in ["user.name", "user.email"] {
        project.git(&["config", "--unset", name]);
    }
    let home = project.home();
    let put = |name: &str, text: &str| std::fs::write(home.join(name), text).unwrap();
    let text = format!(
        "[core]\n excludesFile = ~/.ignored\n[tag]\n forceSignAnnotated = true\n\
         [user]\n name = From Home\n email = home@example.org\n\
         [includeIf \"gitdir:{}/\"]\n path = ~/.work\n[includeIf \"gitdir:/other/\"]\n path = ~/.other\n",
        project.work().display()
    );
    put(".gitconfig", &text);
    put(".ignored", ".env\n*.key\n");
    put("work", "[user]\n email = work@example.org\n");
    std::os::unix::fs::symlink("work", home.join(".work")).unwrap();
    put(".other", "[user]\n email = other@example.org\n");
    project.write(".env", "SECRET\n");
    project.write("a.key", "SECRET\n");
    project.write("new", "x\n");
    for line in ["git add -A", "git commit -q -m two", "git tag -m text v1"] {
        let outcome = project.place.run(line);
        assert!(outcome.success(), "{line}: {outcome:?}");
    }
    assert_eq!(
        project.git(&["show", "--format=%an %ae", "--name-only", "HEAD"]),
        "From Home work@example.org\n\nfile\nnew\n"
    );
}

fn only_checked_git_commands_write_the_repository() {
    let project = Project::new(true);
    let before = project.git(&["rev-parse", "HEAD"]);
    for line in [
        "git add file; git commit -q -m x",
        "bash -c 'git commit -q -a -m x'",
        "git -c user.name=x commit -q -a -m x",
        "env git commit -q -a -m x",
        "touch .git/x",
        "git config a.b c",
        "git update-ref refs/heads/x HEAD",
        "git gc -q",
    ] {
        project.script(line);
        assert_eq!(project.git(&["rev-parse", "HEAD"]), before, "{line}");
        assert_eq!(project.git(&["diff", "--cached"]), "", "{line}");
        assert!(!project.work().join(".git/x").exists());
    }
    assert_eq!(project.git(&["config", "a.b"]), "");
}

/// A program that git runs because the person configured it has the rights of the command. What
/// redirects git is removed again.
fn filter_of_a_repository_cannot_redirect_git() {
    let project = Project::new(true);
    let script = project.fill(
        "#!/bin/sh\necho ../evil > .git/commondir; echo x >> .git/config; \
         mkdir .git/hooks; echo x > .git/hooks/post-commit; cat\n",
    );
    project.write("clean.sh", &script);
    mode(&project.work().join("clean.sh"), 0o755);
    project.write(".gitattributes", "*.x filter=own\n");
    project.write("a.x", "content\n");
    project.git(&["config", "filter.own.clean", "./clean.sh"]);
    let before = std::fs::read(project.work().join(".git/config")).unwrap();
    std::fs::remove_dir_all(project.work().join(".git/hooks")).unwrap_or_default();
    let outcome = project.place.run("git add a.x");
    let removed: Vec<_> = outcome
        .notes
        .iter()
        .filter(|note| matches!(note, Note::Removed { .. }))
        .collect();
    assert_eq!(removed.len(), 1, "{outcome:?}");
    let git = project.work().join(".git");
    assert!(!git.join("commondir").exists());
    assert!(!git.join("hooks").exists());
    assert_eq!(std::fs::read(git.join("config")).unwrap(), before);
}

fn adding_everything_adds_no_placeholder() {
    let project = Project::new(true);
    project.write("new", "x\n");
    let outcome = project.place.run("git add -A");
    assert!(outcome.success(), "{outcome:?}");
    let staged = project.git(&["diff", "--cached", "--name-only"]);
    assert_eq!(staged, "file\nnew\n");
}

/// Negated patterns of a project are stronger than the ignore file of the sandbox.
fn placeholders_are_not_recorded_whatever_the_project_ignores() {
    for edits in [true, false] {
        let project = Project::new(edits);
        project.write(".gitignore", "/*\n!/file\n!/*.md\n!/.*\n");
        // A killed run left it.
        let leftover = project.work().join(".npmrc");
        std::fs::write(&leftover, "").unwrap();
        mode(&leftover, 0o404);
        for line in ["git add -A", "git commit -q -m two"] {
            let outcome = project.place.run(line);
            assert!(outcome.success(), "{line}: {outcome:?}");
        }
        let recorded = project.git(&["show", "--format=", "--name-only"]);
        assert_eq!(recorded, ".gitignore\nfile\n");
    }
}

/// Git would end successfully, and the next commit would revert the protected files.
fn git_commands_that_change_protected_files_do_not_begin() {
    let project = Project::new(true);
    project.write("AGENTS.md", "one\n");
    project.git(&["add", "-A"]);
    project.git(&["commit", "-q", "-m", "second"]);
    project.git(&["switch", "-q", "-c", "harmless"]);
    project.write("file", "three\n");
    project.git(&["commit", "-q", "-a", "-m", "harmless"]);
    project.git(&["switch", "-q", "-c", "other"]);
    project.write("AGENTS.md", "two\n");
    project.write(".envrc", "two\n");
    project.write(".vscode/tasks.json", "{}\n");
    project.git(&["add", "-A"]);
    project.git(&["commit", "-q", "-m", "other"]);
    project.git(&["update-ref", "refs/remotes/origin/remote", "other"]);
    project.git(&["switch", "-q", "main"]);
    project.write("AGENTS.md", "stashed\n");
    project.git(&["stash", "-q"]);
    let head = || project.git(&["symbolic-ref", "HEAD"]) + &project.git(&["status", "--short"]);
    let before = head();
    let files = "`.envrc`, `.vscode/tasks.json`, `AGENTS.md`";
    for (line, names) in [
        ("git switch other", files),
        ("git switch -c new other", files),
        ("git switch --detach other", files),
        ("git switch -", files),
        ("git switch --orphan new", "`AGENTS.md`"),
        ("git switch remote", files),
        ("git stash pop", "`AGENTS.md`"),
    ] {
        let error = project.place.try_run(line).unwrap_err().to_string();
        assert!(
            error.contains(names) && error.contains(line),
            "{line}: {error}"
        );
        assert_eq!(head(), before, "{line}");
    }
    let error = project
        .place
        .try_run("git stash -u")
        .unwrap_err()
        .to_string();
    assert!(error.contains("placeholders"), "{error}");
    for line in ["git switch harmless", "git switch -", "git switch -c new"] {
        let outcome = project.place.run(line);
        assert!(outcome.success(), "{line}: {outcome:?}");
        assert_eq!(project.git(&["status", "--short"]), "", "{line}");
    }
    project.write("AGENTS.md", "changed\n");
    let error = project.place.try_run("git stash").unwrap_err().to_string();
    assert!(error.contains("`AGENTS.md`"), "{error}");
    project.write("file", "changed\n");
    assert!(project.place.run("git stash push file").success());
}

fn linked_worktrees_and_submodules_work() {
    let mut project = Project::new(true);
    let here = project.place.here();
    let linked = here.join("linked");
    project.git(&[
        "worktree",
        "add",
        "-q",
        "-b",
        "side",
        linked.to_str().unwrap(),
    ]);
    let library = here.join("library");
    std::fs::create_dir(&library).unwrap();
    project.git_in(&library, &["init", "-q", "-b", "main"]);
    let identity = ["-c", "user.name=x", "-c", "user.email=x@y"];
    let commit = ["commit", "-q", "--allow-empty", "-m", "x"];
    project.git_in(&library, &[&identity[..], &commit].concat());
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
    ];
    project.git(&[&add[..], &[library.to_str().unwrap(), "module"]].concat());

    // As the project: the repository is outside of what was granted.
    let module = project.work().join("module");
    for folder in [linked.clone(), module.clone()] {
        project.grant_in(&folder, true);
        std::fs::write(folder.join("made-outside"), "x\n").unwrap();
        let status = project
            .place
            .run("git status --porcelain; echo in > written; echo x > .git");
        let text = status.stdout.text().into_owned();
        assert_eq!(
            text,
            "?? made-outside\n",
            "{}: {status:?}",
            folder.display()
        );
        assert!(folder.join("written").exists() && folder.join(".git").is_file());
        let planted = project.fill(
            "cd \"$(git rev-parse --git-common-dir)\" && echo x >> config && echo x > hooks/post-commit; \
             cd \"$(git rev-parse --git-dir)\" && echo x > commondir",
        );
        let before = project.git_in(&folder, &["config", "--list"]);
        project.script(&planted);
        assert_eq!(project.git_in(&folder, &["config", "--list"]), before);
        let outcome = project.place.run("git add made-outside");
        assert!(
            outcome.success(),
            "{}: {}",
            folder.display(),
            outcome.stderr.text()
        );
    }
    project.grant_in(&linked, true);
    let outcome = project.place.run("git commit -q -m 'in the linked one'");
    assert!(outcome.success(), "{}", outcome.stderr.text());
    let log = project.git(&["log", "--format=%s", "-1", "side"]);
    assert_eq!(log, "in the linked one\n");
    assert_eq!(
        project.git(&["log", "--format=%s", "-1", "main"]),
        "first\n"
    );

    // Inside the project: the pointer of the submodule cannot be replaced.
    project.grant(true);
    project.script("rm -f module/.git; mkdir module/.git; mv module m");
    assert!(module.join(".git").is_file());
    let status = project.place.run("git status --porcelain module");
    assert!(status.success(), "{status:?}");
}

/// Every path of the lists, absent and present.
fn what_tools_execute_later_cannot_be_changed() {
    for present in [false, true] {
        let project = Project::new(true);
        let names: Vec<&str> = PROTECTED_IN_PROJECT.to_vec();
        for name in names.iter().filter(|_| present) {
            match name.strip_suffix('/') {
                Some(folder) => project.write(&format!("{folder}/inner"), "before\n"),
                None => project.write(name, "before\n"),
            }
        }
        // `.cursor/mcp.json` and the like: as a file, in a folder of that name, by renaming.
        let each = "for n in NAMES; do n=${n%/}; \
                    (echo x > $n/inner) ; (mkdir -p $n && echo x > $n/new); (rm -rf $n); \
                    (mv $n moved); (echo x > $n); (ln -s file $n); (echo x > t && mv -T t $n); done; \
                    echo plain > written"
            .replace("NAMES", &names.join(" "));
        project.script(&each);
        assert_eq!(
            std::fs::read_to_string(project.work().join("written")).unwrap(),
            "plain\n"
        );
        for name in names {
            let path = project.work().join(name);
            let folder = name.ends_with('/');
            if !present {
                assert!(
                    path.symlink_metadata().is_err(),
                    "{name} is left or was made"
                );
                continue;
            }
            let inner = if folder {
                path.join("inner")
            } else {
                path.clone()
            };
            assert_eq!(
                std::fs::read_to_string(&inner).ok().as_deref(),
                Some("before\n"),
                "{name}"
            );
            assert!(!path.join("new").exists(), "{name}");
        }
    }
}

fn protected_link_does_not_close_the_project() {
    let project = Project::new(true);
    project.write("AGENTS.md", "before\n");
    std::os::unix::fs::symlink("AGENTS.md", project.work().join("CLAUDE.md")).unwrap();
    let outcome = project.script(
        "echo x > CLAUDE.md; echo x > AGENTS.md; rm -f CLAUDE.md; mv CLAUDE.md c; \
         cat CLAUDE.md; echo new > at-the-top",
    );
    assert!(outcome.stdout.text().contains("before"), "{outcome:?}");
    assert!(project.work().join("at-the-top").exists());
    assert!(project.work().join("CLAUDE.md").is_symlink());
    let text = std::fs::read_to_string(project.work().join("AGENTS.md")).unwrap();
    assert_eq!(text, "before\n");
}

/// The home folder as the project: keys are unreadable, start-up files unwritable, and it is said.
fn home_as_project() {
    let mut project = Project::empty();
    let home = project.home();
    let put = |name: &str, text: &str| {
        let path = home.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    };
    let keys: Vec<PathBuf> = KEYS_IN_HOME
        .iter()
        .map(|name| {
            let is_file = !name.ends_with('/');
            put(
                &if is_file {
                    (*name).to_owned()
                } else {
                    format!("{name}/key")
                },
                "SECRET\n",
            )
        })
        .collect();
    let control = keys
        .iter()
        .filter(|key| std::fs::read_to_string(key).is_ok());
    assert_eq!(control.count(), keys.len());
    project.grant_in(&home, true);
    let outcome = project
        .place
        .run("grep -rl SECRET . 2> /dev/null; echo searched");
    assert_eq!(outcome.stdout.text(), "searched\n", "{outcome:?}");
    assert!(
        outcome
            .notes
            .iter()
            .any(|note| matches!(note, Note::HomeGranted { .. })),
        "{:?}",
        outcome.notes
    );
    let names = PROTECTED_IN_HOME.join(" ");
    project.script(&format!(
        "for n in {names}; do (mkdir -p $n; echo PLANTED > ${{n%/}}); (echo PLANTED > $n/planted); done"
    ));
    let planted = std::process::Command::new("grep")
        .args(["-rl", "PLANTED"])
        .arg(&home)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&planted.stdout), "");
}

fn home_folder_keeps_its_keys() {
    home_as_project();
    if root() {
        as_ordinary_user("git::home_as_a_user");
    }
}

pub(crate) fn home_as_a_user() {
    home_as_project();
}

fn named_folders_are_searched_for_programs() {
    let mut project = Project::new(false);
    let folder = Folder::new();
    mode(folder.path(), 0o755);
    let tool = folder.path().join("own-tool");
    std::fs::write(&tool, "#!/bin/sh\necho from the tool; echo x > \"$0\"\n").unwrap();
    mode(&tool, 0o755);
    let missing = project.place.try_run("own-tool");
    assert!(missing.is_err(), "the control");
    project.place.runner = project.place.runner.search([folder.path().to_owned()]);
    let outcome = project.place.run("own-tool");
    assert_eq!(outcome.stdout.text(), "from the tool\n", "{outcome:?}");
    assert!(
        std::fs::read_to_string(&tool)
            .unwrap()
            .starts_with("#!/bin/sh")
    );
    let outcome = project.place.run("bash -c own-tool");
    assert_eq!(outcome.stdout.text(), "from the tool\n", "{outcome:?}");
}

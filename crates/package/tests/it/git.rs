//! Git: what is fetched, and what never runs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use prowess_package::LockedKind;
use prowess_package::content::{CommitFiles, ContentError, stage_found};
use prowess_package::find::{FindError, FindOptions};
use prowess_package::git::{Ancestry, GitError, GitLimits, GitProgram, GitRepository};
use prowess_package::tree::{PackageTree, TreeLimits};
use prowess_registry::digest_of;

use crate::support::{Repository, environment, git_in, real_git};

prowess_test::tests! {
    commit_installs_with_the_digest_of_a_checkout
    refs_and_dates_are_read
    commit_that_is_gone_is_an_error
    commit_is_taken_from_its_ref_if_the_server_gives_no_ids
    rewritten_history_is_found
    options_in_addresses_and_refs_do_not_run
    configured_helper_does_not_run
    missing_old_and_noisy_git_are_named
    deadline_and_disk_limit_end_git
    missing_repository_is_named
    variables_of_the_caller_do_not_reach_git
    ssh_without_a_key_does_not_prompt
}

struct Bench {
    world: tempfile::TempDir,
    git: GitProgram,
}

impl Bench {
    fn new() -> Self {
        let world = tempfile::tempdir().unwrap();
        let git = real_git(&world.path().join("home"));
        Self { world, git }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.world.path().join(name)
    }

    fn repository(&self) -> Repository {
        Repository::create(self.path("repository"))
    }

    fn open(&self, repository: &Repository) -> GitRepository {
        self.git
            .open(&self.path("cache"), &repository.url())
            .unwrap()
    }

    fn stage(
        &self,
        open: &GitRepository,
        commit: &str,
        folder: &str,
    ) -> Result<PackageTree, ContentError> {
        open.fetch(commit, None).unwrap();
        let files = CommitFiles::read(open, commit).unwrap();
        let found = files.find(FindOptions::default()).unwrap().unwrap();
        let package = found
            .packages
            .iter()
            .find(|one| one.folder == folder)
            .unwrap();
        let into = tempfile::tempdir_in(self.world.path()).unwrap().keep();
        stage_found(package, open, into.join("tree"), TreeLimits::default())
    }
}

fn commit_installs_with_the_digest_of_a_checkout() {
    let bench = Bench::new();
    let repository = bench.repository();
    repository
        .skill("skills/pdf", "pdf", "1.0.0", "Use it.")
        .executable("skills/pdf/scripts/fill.py", "#!/usr/bin/env python3\n")
        .link("skills/pdf/fill", "scripts/fill.py")
        .file("common/terms.md", "terms")
        .file("common/more/a.md", "a")
        .link("skills/pdf/terms.md", "../../common/terms.md")
        .link("skills/pdf/more", "../../common/more")
        .skill("skills/bad", "bad", "1.0.0", "No.")
        .link("skills/bad/out", "../../../etc/passwd");
    let commit = repository.commit("one");
    let open = bench.open(&repository);
    let tree = bench.stage(&open, &commit, "skills/pdf").unwrap();
    // The same folder after a checkout, with the links that leave it replaced.
    let checkout = bench.path("checkout");
    git_in(
        bench.world.path(),
        &["clone", "--quiet", &repository.url(), "checkout"],
    );
    let skill = checkout.join("skills/pdf");
    fs::remove_file(skill.join("terms.md")).unwrap();
    fs::copy(checkout.join("common/terms.md"), skill.join("terms.md")).unwrap();
    fs::remove_file(skill.join("more")).unwrap();
    fs::create_dir(skill.join("more")).unwrap();
    fs::copy(checkout.join("common/more/a.md"), skill.join("more/a.md")).unwrap();
    assert_eq!(tree.digest, digest_of(&skill).unwrap());
    let facts: Vec<_> = tree
        .files
        .iter()
        .map(|file| (&*file.path, file.kind, file.from.as_deref()))
        .collect();
    assert_eq!(
        facts,
        [
            ("SKILL.md", LockedKind::File, None),
            ("fill", LockedKind::Link, None),
            ("more/a.md", LockedKind::File, Some("common/more/a.md")),
            ("scripts/fill.py", LockedKind::Executable, None),
            ("terms.md", LockedKind::File, Some("common/terms.md")),
        ]
    );
    // Only the skill with the link out is refused.
    let files = CommitFiles::read(&open, &commit).unwrap();
    let found = files.find(FindOptions::default()).unwrap().unwrap();
    assert!(matches!(
        found.select("bad"),
        Err(FindError::Refused { .. })
    ));
    assert!(found.select("pdf").is_ok());
    let expected = repository.git(&["rev-parse", "HEAD:skills/pdf"]);
    assert_eq!(files.folder_id("skills/pdf"), Some(&*expected));
}

fn refs_and_dates_are_read() {
    let bench = Bench::new();
    let repository = bench.repository();
    repository.skill("", "x", "1", "x");
    let commit = repository.commit("one");
    repository.tag("v1.0.0");
    repository.git(&["tag", "-a", "-m", "two", "v2.0.0"]);
    repository.git(&["branch", "next"]);
    let open = bench.open(&repository);
    let refs = open.refs().unwrap();
    assert_eq!(refs.default_branch.as_deref(), Some("refs/heads/main"));
    assert_eq!(refs.head.as_deref(), Some(&*commit));
    let names: Vec<&str> = refs.refs.iter().map(|one| &*one.name).collect();
    let expected = [
        "refs/heads/main",
        "refs/heads/next",
        "refs/tags/v1.0.0",
        "refs/tags/v2.0.0",
    ];
    assert_eq!(names, expected);
    assert!(refs.refs.iter().all(|one| one.commit() == commit));
    open.fetch(&commit, None).unwrap();
    assert_eq!(open.commit_facts(&commit).unwrap().1, 1_700_000_000);
    assert_eq!(open.tag_time(&refs.refs[2]).unwrap(), None);
    assert_eq!(open.tag_time(&refs.refs[3]).unwrap(), Some(1_700_000_000));
    // Fetched again without the repository.
    fs::rename(&repository.folder, bench.path("gone")).unwrap();
    open.fetch(&commit, None).unwrap();
}

fn commit_that_is_gone_is_an_error() {
    let bench = Bench::new();
    let repository = bench.repository();
    repository.skill("", "x", "1", "x");
    repository.commit("one");
    let open = bench.open(&repository);
    let gone = "1234567890123456789012345678901234567890";
    for from in [None, Some("refs/heads/main")] {
        let result = open.fetch(gone, from);
        assert!(
            matches!(result, Err(GitError::NoCommit { .. })),
            "{result:?}"
        );
    }
    assert!(!open.has_commit(gone));
    // The id of a folder is not a commit.
    let tree = repository.git(&["rev-parse", "HEAD^{tree}"]);
    assert!(open.fetch(&tree, None).is_err());
    assert!(!open.has_commit(&tree));
}

fn commit_is_taken_from_its_ref_if_the_server_gives_no_ids() {
    let bench = Bench::new();
    let repository = bench.repository();
    repository.skill("", "x", "1", "x");
    let first = repository.commit("one");
    repository.file("more", "x");
    let second = repository.commit("two");
    // Version 0 of the protocol gives tips only.
    let home = bench.path("home");
    fs::write(home.join(".gitconfig"), "[protocol]\nversion = 0\n").unwrap();
    let open = bench.open(&repository);
    assert!(matches!(
        open.fetch(&first, None),
        Err(GitError::NoCommit { .. })
    ));
    open.fetch(&first, Some("refs/heads/main")).unwrap();
    open.fetch(&second, Some("refs/heads/main")).unwrap();
    assert_eq!(CommitFiles::read(&open, &first).unwrap().entries().len(), 1);
    assert_eq!(
        CommitFiles::read(&open, &second).unwrap().entries().len(),
        2
    );
}

fn rewritten_history_is_found() {
    let bench = Bench::new();
    let repository = bench.repository();
    repository.file("a", "1");
    let first = repository.commit("one");
    repository.file("a", "2");
    let second = repository.commit("two");
    let open = bench.open(&repository);
    let main = "refs/heads/main";
    assert_eq!(
        open.ancestry(&first, &second, main).unwrap(),
        Ancestry::Ancestor
    );
    repository.git(&["reset", "--quiet", "--hard", &first]);
    repository.file("a", "3");
    let third = repository.commit("three");
    assert_eq!(
        open.ancestry(&second, &third, main).unwrap(),
        Ancestry::Rewritten
    );
    assert_eq!(
        open.ancestry(&first, &third, main).unwrap(),
        Ancestry::Ancestor
    );
}

fn options_in_addresses_and_refs_do_not_run() {
    let bench = Bench::new();
    let repository = bench.repository();
    repository.file("a", "1");
    let commit = repository.commit("one");
    let mark = bench.path("mark");
    let option = format!("--upload-pack=touch {}", mark.display());
    for url in [
        &*option,
        "ext::sh -c touch",
        "git://host/x",
        "host:path",
        "-x",
        "file:///a\nb",
        "",
    ] {
        let opened = bench.git.open(&bench.path("cache"), url);
        assert!(matches!(opened, Err(GitError::Refused { .. })), "{url}");
    }
    let open = bench.open(&repository);
    for name in [&*option, "a:b", "+x", "*"] {
        let gone = commit.replace(['0', '1'], "f");
        assert!(open.fetch(&gone, Some(name)).is_err(), "{name}");
        assert!(open.fetch(name, None).is_err(), "{name}");
        assert!(open.listing(name).is_err(), "{name}");
    }
    assert!(!mark.exists());
}

fn configured_helper_does_not_run() {
    let bench = Bench::new();
    let repository = bench.repository();
    repository.file("a", "1");
    repository.commit("one");
    let mark = bench.path("mark");
    let config = format!(
        "[protocol]\nallow = always\n[protocol \"ext\"]\nallow = always\n\
         [url \"ext::touch {} %S \"]\ninsteadOf = {}\n[core]\nhooksPath = {}\n",
        mark.display(),
        repository.url(),
        bench.path("hooks").display()
    );
    fs::write(bench.path("home/.gitconfig"), config).unwrap();
    let hook = bench.path("hooks/reference-transaction");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", mark.display())).unwrap();
    fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).unwrap();
    let open = bench.open(&repository);
    let refused = open.refs();
    assert!(
        matches!(refused, Err(GitError::Protocol { .. })),
        "{refused:?}"
    );
    assert!(!mark.exists());
}

fn fake_git(bench: &Bench, script: &str, limits: GitLimits) -> Result<GitProgram, GitError> {
    let folder = tempfile::tempdir_in(bench.world.path()).unwrap().keep();
    fs::write(folder.join("git"), format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(folder.join("git"), PermissionsExt::from_mode(0o755)).unwrap();
    let path =
        std::env::join_paths([folder.as_path(), Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    GitProgram::find([("PATH".into(), path)], limits)
}

fn missing_old_and_noisy_git_are_named() {
    let bench = Bench::new();
    let empty = bench.path("empty");
    fs::create_dir(&empty).unwrap();
    let none = GitProgram::find([("PATH".into(), empty.into())], GitLimits::default());
    assert!(matches!(none, Err(GitError::Missing)));
    let limits = GitLimits::default();
    let old = fake_git(&bench, "echo git version 2.29.3", limits);
    assert!(matches!(old, Err(GitError::TooOld { found }) if found == "2.29.3"));
    let other = fake_git(&bench, "echo hello", limits);
    assert!(matches!(other, Err(GitError::NotGit { output }) if output == "hello"));
    for version in ["2.30.0", "2.47.3 (Apple Git-1)", "3.0.rc1"] {
        let script = format!("echo 'a wrapper says hello'; echo 'git version {version}'");
        assert!(fake_git(&bench, &script, limits).is_ok(), "{version}");
    }
}

fn deadline_and_disk_limit_end_git() {
    let bench = Bench::new();
    let limits = GitLimits {
        idle: Duration::from_millis(200),
        total: Duration::from_mins(1),
        disk: 1024 * 1024,
    };
    // The program that it starts holds the pipe: it is ended as well.
    let script = "case \"$*\" in *version*) echo git version 2.47.0;; *ls-remote*) cat /dev/zero | sleep 600;; esac";
    let git = fake_git(&bench, script, limits).unwrap();
    fs::create_dir_all(bench.path("cache/packages/v1/git")).unwrap();
    let open = git.open(&bench.path("cache"), "file:///x").unwrap();
    let result = open.refs();
    assert!(
        matches!(result, Err(GitError::Timeout { idle: true, .. })),
        "{result:?}"
    );
    let script = "case \"$*\" in *version*) echo git version 2.47.0;; *ls-remote*) \
        for word; do case $word in --git-dir=*) place=${word#--git-dir=};; esac; done; \
        mkdir -p $place/objects; head -c 2000000 /dev/zero > $place/objects/x; \
        while :; do echo progress >&2; sleep 0.05; done;; esac";
    let git = fake_git(&bench, script, limits).unwrap();
    let open = git.open(&bench.path("cache"), "file:///y").unwrap();
    let result = open.refs();
    assert!(
        matches!(result, Err(GitError::TooLarge { .. })),
        "{result:?}"
    );
}

fn missing_repository_is_named() {
    let bench = Bench::new();
    let url = format!("file://{}/none", bench.world.path().display());
    let open = bench.git.open(&bench.path("cache"), &url).unwrap();
    let result = open.refs();
    assert!(
        matches!(result, Err(GitError::NotFound { .. })),
        "{result:?}"
    );
}

fn variables_of_the_caller_do_not_reach_git() {
    let bench = Bench::new();
    let repository = bench.repository();
    repository.file("a", "1");
    repository.commit("one");
    let mark = bench.path("mark");
    let mut environment = environment(&bench.path("home"));
    for name in [
        "GIT_SSH_COMMAND",
        "GIT_PROXY_COMMAND",
        "GIT_EXTERNAL_DIFF",
        "GIT_EXEC_PATH",
        "GIT_DIR",
        "GIT_TRACE",
        "GIT_CONFIG_PARAMETERS",
        "LD_PRELOAD",
    ] {
        environment.push((name.into(), mark.clone().into()));
    }
    let git = GitProgram::find(environment, GitLimits::default()).unwrap();
    let open = git.open(&bench.path("cache"), &repository.url()).unwrap();
    assert_eq!(open.refs().unwrap().refs.len(), 1);
    assert!(!mark.exists());
}

fn ssh_without_a_key_does_not_prompt() {
    let bench = Bench::new();
    // The person's own ssh command counts. It would ask on the terminal, and there is none.
    let ssh = bench.path("ssh");
    let asked = bench.path("asked");
    let script = format!(
        "#!/bin/sh\nif (exec 3<>/dev/tty) 2>/dev/null; then touch {}; fi\n\
         [ -z \"$SSH_ASKPASS\" ] && [ \"$SSH_ASKPASS_REQUIRE\" = never ] || touch {}\n\
         echo 'git@host.example: Permission denied (publickey).' >&2\nexit 255\n",
        asked.display(),
        asked.display()
    );
    fs::write(&ssh, script).unwrap();
    fs::set_permissions(&ssh, PermissionsExt::from_mode(0o755)).unwrap();
    let config = format!("[core]\nsshCommand = {}\n", ssh.display());
    fs::write(bench.path("home/.gitconfig"), config).unwrap();
    let url = "ssh://git@host.example/acme/skills";
    let open = bench.git.open(&bench.path("cache"), url).unwrap();
    let refused = open.refs();
    assert!(
        matches!(refused, Err(GitError::Credentials { .. })),
        "{refused:?}"
    );
    assert!(!asked.exists());
    let error = prowess_package::PackageError::from(refused.unwrap_err());
    assert_eq!(error.exit().code(), 4);
}

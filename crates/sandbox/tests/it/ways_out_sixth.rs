//! Ways out of the sandbox of the sixth round: file systems that ignore case, secrets of the system that
//! a group may read, links in the system's folders, and what a command leaves behind.
//!
//! Tests that mount something run in a process with a mount namespace of its own.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use prowess_policy::profile::{PROTECTED_IN_PROJECT, Strength};
use prowess_sandbox::{CommandOutcome, ExecError, Layer, Note};

use crate::git::Project;
use crate::support::{
    NOBODY, Place, REQUIRE_SANDBOX, as_ordinary_user, for_everybody, in_role, mode, need_root,
    role_finished, root, strong_sets,
};
use crate::ways_out::open_up;

prowess_test::tests! {
    folders_that_ignore_case_are_not_writable
    project_that_is_mounted_in_itself_is_not_writable
    secrets_that_not_everybody_may_read_are_hidden
    links_in_folders_of_the_system_are_followed
    scratch_folders_without_permissions_are_removed
    scratch_folder_that_stays_is_reported
    names_of_the_sixth_round_are_listed
    links_out_of_the_project_are_reported
}

/// Runs a role in a mount namespace of its own, as another user with these groups if `user` is set.
pub(crate) fn in_private_mounts(role: &str, prepare: &str, groups: Option<&str>) {
    let program = for_everybody(&std::env::current_exe().unwrap());
    let become_user = groups.map_or_else(String::new, |groups| {
        format!("setpriv --reuid {NOBODY} --regid {NOBODY} --groups {groups} --")
    });
    let script = format!("set -e\n{prepare}\ncd /\nexec {become_user} \"$0\"");
    let mut command = in_role(role);
    let role_variable = command.get_envs().next().unwrap();
    let (name, value) = (
        role_variable.0.to_owned(),
        role_variable.1.unwrap().to_owned(),
    );
    command = Command::new("unshare");
    command
        .args(["--mount", "--propagation", "private", "bash", "-c"])
        .arg(script)
        .arg(program)
        .env(name, value)
        .env("HOME", "/nonexistent")
        .env_remove(REQUIRE_SANDBOX);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{role}: {text}\n{errors}");
    assert!(text.contains(&role_finished(role)), "{role}: {text}");
}

/// A file system that ignores case, in the memory of this process: each spelling of a name is another
/// node, as with `sshfs`, 9p and the shared folders of virtual machines.
mod loose_case {
    use std::collections::BTreeMap;
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;
    use std::path::Path;

    const ENOENT: i32 = 2;
    const ENOSYS: i32 = 38;

    /// The nodes: numbers and contents by path in lower case. The number of a spelling is its own.
    #[derive(Default)]
    struct Nodes {
        files: BTreeMap<String, Option<Vec<u8>>>,
        /// The path of each node as it was asked for.
        spelled: Vec<String>,
    }

    impl Nodes {
        fn number(&mut self, path: &str) -> u64 {
            let at = self.spelled.iter().position(|known| known == path);
            let at = at.unwrap_or_else(|| {
                self.spelled.push(path.to_owned());
                self.spelled.len() - 1
            });
            at as u64 + 1
        }

        fn attributes(&self, number: u64) -> Option<Vec<u8>> {
            let path = self.spelled.get(usize::try_from(number).unwrap() - 1)?;
            let content = self.files.get(&path.to_lowercase())?;
            let (mode, size) = match content {
                None => (0o040_755, 0),
                Some(bytes) => (0o100_644, bytes.len() as u64),
            };
            let mut bytes = Vec::new();
            // ino, size, blocks, atime, mtime, ctime
            for value in [number, size, 0, 0, 0, 0] {
                bytes.extend(value.to_ne_bytes());
            }
            // atimensec, mtimensec, ctimensec, mode, nlink, uid, gid, rdev, blksize, flags
            for value in [0_u32, 0, 0, mode, 1, 0, 0, 0, 4096, 0] {
                bytes.extend(value.to_ne_bytes());
            }
            Some(bytes)
        }
    }

    /// Mounts the file system with these files (a folder ends in `/`) and serves it until the process
    /// ends. Only what is needed to inspect, list and read is served.
    pub(super) fn mount(at: &Path, files: &[(&str, &str)]) {
        let mut device = File::options()
            .read(true)
            .write(true)
            .open("/dev/fuse")
            .unwrap();
        let options = format!(
            "fd={},rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions",
            device.as_raw_fd()
        );
        let options = std::ffi::CString::new(options).unwrap();
        let flags = rustix::mount::MountFlags::empty();
        rustix::mount::mount("loose", at, "fuse", flags, &*options).unwrap();
        let mut nodes = Nodes::default();
        nodes.files.insert(String::new(), None);
        nodes.spelled.push(String::new());
        for (path, text) in files {
            let content = (!path.ends_with('/')).then(|| text.as_bytes().to_vec());
            let path = format!("/{}", path.trim_end_matches('/'));
            nodes.files.insert(path.to_lowercase(), content);
        }
        std::thread::spawn(move || {
            let mut buffer = vec![0; 1 << 20];
            while let Ok(length) = device.read(&mut buffer) {
                let request = &buffer[..length];
                let number = |at: usize| u32::from_ne_bytes(*request[at..].first_chunk().unwrap());
                let long = |at: usize| u64::from_ne_bytes(*request[at..].first_chunk().unwrap());
                let (operation, unique, node) = (number(4), long(8), long(16));
                // Those that need no answer.
                if matches!(operation, 2 | 36 | 42) {
                    continue;
                }
                let answer = answer(&mut nodes, operation, node, &request[40..]);
                let (error, body) = answer.map_or_else(|error| (-error, Vec::new()), |it| (0, it));
                let mut bytes = u32::try_from(16 + body.len())
                    .unwrap()
                    .to_ne_bytes()
                    .to_vec();
                bytes.extend(error.to_ne_bytes());
                bytes.extend(unique.to_ne_bytes());
                bytes.extend(body);
                let _ = device.write_all(&bytes);
            }
        });
    }

    fn answer(nodes: &mut Nodes, operation: u32, node: u64, body: &[u8]) -> Result<Vec<u8>, i32> {
        let folder = nodes.spelled[usize::try_from(node).unwrap().max(1) - 1].clone();
        match operation {
            // INIT: version 7.31, and the largest write.
            26 => {
                let mut bytes = Vec::new();
                for value in [7_u32, 31, 0, 0, 0x000c_0010, 65536, 1, 0] {
                    bytes.extend(value.to_ne_bytes());
                }
                bytes.resize(64, 0);
                Ok(bytes)
            }
            // LOOKUP
            1 => {
                let name = body.split(|byte| *byte == 0).next().unwrap();
                let path = format!("{folder}/{}", std::str::from_utf8(name).unwrap());
                if !nodes.files.contains_key(&path.to_lowercase()) {
                    return Err(ENOENT);
                }
                let number = nodes.number(&path);
                // nodeid, generation, and times for which nothing is remembered.
                let mut bytes = number.to_ne_bytes().to_vec();
                bytes.resize(40, 0);
                bytes.extend(nodes.attributes(number).ok_or(ENOENT)?);
                Ok(bytes)
            }
            // GETATTR
            3 => {
                let mut bytes = vec![0; 16];
                bytes.extend(nodes.attributes(node).ok_or(ENOENT)?);
                Ok(bytes)
            }
            // OPEN, OPENDIR
            14 | 27 => Ok(vec![0; 16]),
            // READ
            15 => {
                let offset = usize::try_from(u64::from_ne_bytes(*body[8..].first_chunk().unwrap()));
                let content = nodes.files.get(&folder.to_lowercase()).ok_or(ENOENT)?;
                let content = content.as_deref().unwrap_or_default();
                Ok(content.get(offset.unwrap()..).unwrap_or_default().to_vec())
            }
            // READDIR: all names at once.
            28 => {
                let offset = u64::from_ne_bytes(*body[8..].first_chunk().unwrap());
                let mut bytes = Vec::new();
                let inner = format!("{}/", folder.to_lowercase());
                let names = nodes.files.iter().filter_map(|(path, content)| {
                    let name = path.strip_prefix(&inner)?;
                    (!name.is_empty() && !name.contains('/')).then_some((name, content.is_some()))
                });
                for (at, (name, is_file)) in (1_u64..).zip(names).filter(|_| offset == 0) {
                    bytes.extend(at.to_ne_bytes());
                    bytes.extend(at.to_ne_bytes());
                    bytes.extend(u32::try_from(name.len()).unwrap().to_ne_bytes());
                    bytes.extend(if is_file { 8_u32 } else { 4 }.to_ne_bytes());
                    bytes.extend(name.as_bytes());
                    bytes.resize(bytes.len().next_multiple_of(8), 0);
                }
                Ok(bytes)
            }
            // RELEASE, RELEASEDIR, FLUSH
            18 | 29 | 25 => Ok(Vec::new()),
            _ => Err(ENOSYS),
        }
    }
}

fn folders_that_ignore_case_are_not_writable() {
    need_root();
    if !Path::new("/dev/fuse").exists() {
        prowess_test::harness::skip("a file system that ignores case: `/dev/fuse` does not exist");
    }
    in_private_mounts("ways_out_sixth::in_loose_case", "", None);
}

pub(crate) fn in_loose_case() {
    let refusal = |project: &Project, line: &str| match project.place.try_run(line) {
        Err(ExecError::Unprotectable { path, why }) => {
            assert!(why.contains("ignores the case of letters"), "{why}");
            path
        }
        other => panic!("{line}: {other:?}"),
    };
    let files = [
        (".git/", ""),
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".git/config", "[core]\n"),
        (".git/objects/", ""),
        (".git/refs/", ""),
        ("file", "text\n"),
    ];
    // The project, and a folder in it.
    let mut project = Project::empty();
    loose_case::mount(&project.work(), &files);
    assert!(project.work().join(".GIT/CONFIG").exists(), "no control");
    for strength in [Strength::Required, Strength::BestEffort] {
        project.place.profile.strength = strength;
        assert_eq!(refusal(&project, "true"), project.work());
    }
    project.place.profile.strength = Strength::Off;
    assert!(project.place.run("true").success());
    project.grant(false);
    let outcome = project.place.run("cat file .git/HEAD");
    assert_eq!(outcome.stdout.text(), "text\nref: refs/heads/main\n");
    let inner = Project::new(true);
    let folder = inner.work().join("top/shared");
    std::fs::create_dir_all(&folder).unwrap();
    loose_case::mount(&folder, &files);
    assert_eq!(refusal(&inner, "true"), folder);
    // The keys in a home folder that is the project.
    let mut home = Project::empty();
    let keys = [
        (".ssh/", ""),
        (".ssh/id_ed25519", "PRIVATE KEY\n"),
        ("a", ""),
    ];
    loose_case::mount(&home.home(), &keys);
    home.grant_in(&home.home(), false);
    assert_eq!(refusal(&home, "cat .SSH/id_ed25519"), home.home());
    // Without a key, there is nothing to hide.
    let mut plain = Project::empty();
    loose_case::mount(&plain.home(), &[("a", "text\n")]);
    plain.grant_in(&plain.home(), false);
    assert_eq!(plain.place.run("cat A").stdout.text(), "text\n");
    // The folders are removed by the process that started this one, which has no mounts there.
    for project in [project, inner, home, plain] {
        for folder in [
            project.work(),
            project.home(),
            project.work().join("top/shared"),
        ] {
            let _ = rustix::mount::unmount(&folder, rustix::mount::UnmountFlags::DETACH);
        }
    }
}

/// What must stay absent would be absent under one of its names only.
fn project_that_is_mounted_in_itself_is_not_writable() {
    need_root();
    in_private_mounts("ways_out_sixth::mounted_in_itself", "", None);
}

pub(crate) fn mounted_in_itself() {
    let project = Project::new(true);
    for folder in ["top/mirror", "other"] {
        std::fs::create_dir_all(project.work().join(folder)).unwrap();
    }
    open_up(&project.work());
    let mirror = project.work().join("top/mirror");
    // Another folder may be mounted there.
    rustix::mount::mount_bind(project.work().join("other"), &mirror).unwrap();
    assert!(project.place.run("echo x > top/mirror/file").success());
    let unmount = || rustix::mount::unmount(&mirror, rustix::mount::UnmountFlags::DETACH).unwrap();
    unmount();
    rustix::mount::mount_bind(project.work(), &mirror).unwrap();
    let line = "chmod 666 top/mirror/.envrc; echo evil > top/mirror/.envrc; true";
    match project.place.try_run(line) {
        Err(ExecError::Unprotectable { path, .. }) => assert_eq!(path, project.work()),
        other => panic!("{other:?}"),
    }
    unmount();
    assert!(!project.work().join(".envrc").exists());
    // A protected folder, and one with keys.
    let mut project = project;
    project.write(".vscode/tasks.json", "{}");
    rustix::mount::mount_bind(project.work().join(".vscode"), &mirror).unwrap();
    assert!(project.place.try_run("true").is_err());
    unmount();
    assert!(project.place.run("true").success());
    let keys = project.home().join(".ssh");
    std::fs::create_dir(&keys).unwrap();
    rustix::mount::mount_bind(&keys, &mirror).unwrap();
    project.grant_in(&project.place.here(), false);
    assert!(project.place.try_run("ls work/top/mirror").is_err());
    unmount();
    assert!(project.place.run("true").success());
}

const SYSTEM_SECRETS: &[&str] = &[
    "/etc/skel/app/group.env",
    "/etc/skel/app/own.env",
    "/etc/skel/a/b/c/d/e/key",
    "/etc/skel/closed/open.env",
    "/usr/local/games/backup.sh",
];

/// As root and as a member of a group. The files are in folders that are mounted for the test only.
fn secrets_that_not_everybody_may_read_are_hidden() {
    need_root();
    let prepare = format!(
        "mount -t tmpfs -o mode=755 t /etc/skel; mount -t tmpfs -o mode=755 t /usr/local/games\n\
         mkdir -p /etc/skel/app /etc/skel/a/b/c/d/e /etc/skel/closed\n\
         for f in {}; do echo SECRET > $f; done; echo open > /etc/skel/app/open\n\
         chgrp 4 /etc/skel/app/group.env /usr/local/games/backup.sh /etc/skel/closed\n\
         chmod 640 /etc/skel/app/group.env; chmod 750 /usr/local/games/backup.sh\n\
         chown {NOBODY} /etc/skel/app/own.env /etc/skel/a/b/c/d/e/key\n\
         chmod 600 /etc/skel/app/own.env /etc/skel/a/b/c/d/e/key; chmod 754 /etc/skel/closed",
        SYSTEM_SECRETS.join(" ")
    );
    let role = "ways_out_sixth::reading_secrets";
    in_private_mounts(role, &prepare, None);
    in_private_mounts(role, &prepare, Some(&format!("{NOBODY},4")));
}

pub(crate) fn reading_secrets() {
    for secret in SYSTEM_SECRETS {
        assert_eq!(std::fs::read_to_string(secret).unwrap(), "SECRET\n");
    }
    let user_sets: &[&[Layer]] = &[&[], &[Layer::Namespaces]];
    for lacking in user_sets {
        let place = Place::new(Strength::BestEffort).without(*lacking);
        let outcome = place.run(&format!(
            "cat {} /etc/skel/app/open 2> /dev/null; true",
            SYSTEM_SECRETS.join(" ")
        ));
        assert_eq!(outcome.stdout.text(), "open\n", "{lacking:?}: {outcome:?}");
    }
    // A project there is not closed by the modes of its files.
    let mut place = Place::new(Strength::Required);
    place.profile.readable.push("/etc/skel/app".into());
    let outcome = place.run("cat /etc/skel/app/group.env; cat /usr/local/games/backup.sh; true");
    assert_eq!(outcome.stdout.text(), "SECRET\n", "{outcome:?}");
}

/// Links that lead to the project, and the files of the project.
const SYSTEM_LINKS: &[(&str, &str)] = &[
    ("/etc/profile.d/app.sh", "deploy/env.sh"),
    ("/etc/profile.d/absent.sh", "deploy/absent.sh"),
    ("/etc/skel/gitconfig", "deploy/gitconfig"),
    ("/etc/skel/deep/units", "deploy/units"),
    ("/usr/local/bin/tool", "top/tool.sh"),
    // Through another folder of the system, and in a folder that a link leads to.
    ("/usr/local/games/x.sh", "top/indirect.sh"),
    ("/srv/x.sh", "top/linked.sh"),
];

fn links_in_folders_of_the_system_are_followed() {
    need_root();
    let prepare = "for f in /etc/profile.d /etc/skel /usr/local/bin /usr/local/games /srv; do \
                   mount -t tmpfs -o mode=777 t $f; done; mkdir -m 777 /etc/skel/deep; \
                   ln -s /usr/local/games/x.sh /etc/profile.d/x.sh; ln -s /srv /etc/profile.d/srv";
    let role = "ways_out_sixth::following_links_of_the_system";
    in_private_mounts(role, prepare, None);
    in_private_mounts(role, prepare, Some(&NOBODY.to_string()));
}

pub(crate) fn following_links_of_the_system() {
    for (set, lacking) in strong_sets() {
        let mut project = Project::new(true);
        let work = project.work();
        for file in [
            "deploy/env.sh",
            "deploy/gitconfig",
            "deploy/units/a",
            "top/tool.sh",
            "top/indirect.sh",
            "top/linked.sh",
            "top/other",
        ] {
            project.write(file, "theirs\n");
        }
        let links = SYSTEM_LINKS.iter();
        let links = links.map(|(link, file)| (PathBuf::from(link), work.join(file)));
        // It does not close the project.
        let links: Vec<_> = links
            .chain([("/etc/skel/project".into(), work.clone())])
            .collect();
        for (link, file) in &links {
            let _ = std::fs::remove_file(link);
            symlink(file, link).unwrap();
        }
        open_up(&work);
        project.place = project.place.without(lacking);
        let outcome = project.script(
            "for f in deploy/env.sh deploy/absent.sh deploy/gitconfig deploy/units/a \
             deploy/units/new top/tool.sh top/indirect.sh top/linked.sh top/other; do echo planted > $f; done",
        );
        let read = |path: &str| std::fs::read_to_string(work.join(path)).ok();
        let theirs = Some("theirs\n".to_owned());
        for file in [
            "deploy/env.sh",
            "deploy/gitconfig",
            "deploy/units/a",
            "top/tool.sh",
            "top/indirect.sh",
            "top/linked.sh",
        ] {
            assert_eq!(read(file), theirs, "{set}: {file}: {outcome:?}");
        }
        for file in ["deploy/absent.sh", "deploy/units/new"] {
            assert_eq!(read(file), None, "{set}: {file}: {outcome:?}");
        }
        let planted = Some("planted\n".to_owned());
        assert_eq!(read("top/other"), planted, "{set}: {outcome:?}");
        for (link, _) in &links {
            std::fs::remove_file(link).unwrap();
        }
    }
}

/// Root can remove every folder, so this is for other users.
fn scratch_folders_without_permissions_are_removed() {
    if root() {
        as_ordinary_user("ways_out_sixth::closed_scratch");
    } else {
        closed_scratch();
    }
}

fn with_scratch() -> (Place, PathBuf) {
    let mut place = Place::new(Strength::BestEffort).without(&[Layer::Namespaces]);
    let scratch = place.here().join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    mode(&scratch, 0o777);
    place.runner = place.runner.scratch_in(&scratch);
    (place, scratch)
}

pub(crate) fn closed_scratch() {
    let (place, scratch) = with_scratch();
    for script in [
        "cd $TMPDIR; mkdir -p keep/inner; echo x > keep/inner/data; chmod 000 keep/inner keep",
        "mkdir $TMPDIR/keep; echo x > $TMPDIR/keep/data; chmod 000 $TMPDIR/keep; chmod 500 $TMPDIR",
        "ln -s / $TMPDIR/root; mkdir $TMPDIR/keep; ln -s .. $TMPDIR/keep/up; chmod 0 $TMPDIR",
    ] {
        let outcome = place.run(script);
        let left = std::fs::read_dir(&scratch).unwrap().count();
        assert_eq!(left, 0, "{script}: {outcome:?}");
        assert!(!is_left(&outcome), "{script}: {outcome:?}");
    }
}

fn is_left(outcome: &CommandOutcome) -> bool {
    let is_left = |note: &Note| matches!(note, Note::ScratchLeft { .. });
    outcome.notes.iter().any(is_left)
}

/// The folder in which the scratch folder is becomes read-only meanwhile.
fn scratch_folder_that_stays_is_reported() {
    need_root();
    in_private_mounts("ways_out_sixth::scratch_that_stays", "", None);
}

pub(crate) fn scratch_that_stays() {
    let (place, scratch) = with_scratch();
    let mut place = place;
    place.profile.strength = Strength::Off;
    // Without a sandbox, a command of root can mount.
    let outcome = place.run("mkdir $TMPDIR/m && mount -t tmpfs t $TMPDIR/m");
    assert!(is_left(&outcome), "{outcome:?}");
    for folder in std::fs::read_dir(&scratch).unwrap().flatten() {
        rustix::mount::unmount(folder.path().join("m"), rustix::mount::UnmountFlags::DETACH)
            .unwrap();
    }
}

fn names_of_the_sixth_round_are_listed() {
    for name in [
        ".lefthook/",
        ".git-hooks/",
        "captainhook.json",
        "hk.pkl",
        ".Rprofile",
        ".irbrc",
        ".ghci",
        "AGENT.md",
        ".roomodes",
        "gptme.toml",
        ".grok/",
        ".envrc.local",
        "bunfig.toml",
        ".bundle/",
        ".lfsconfig",
    ] {
        assert!(PROTECTED_IN_PROJECT.contains(&name), "{name}");
    }
}

/// A program of the person that writes to such a file changes the file outside.
fn links_out_of_the_project_are_reported() {
    for (set, lacking) in strong_sets() {
        let mut project = Project::new(true);
        for file in ["top/a", "top/b", "top/c", "src/d"] {
            project.write(file, "text\n");
        }
        project.git(&["add", "top", "src"]);
        project.git(&["commit", "-q", "-m", "files"]);
        open_up(&project.work().join("top"));
        open_up(&project.work().join("src"));
        mode(&project.work(), 0o777);
        project.place = project.place.without(lacking);
        let outside = project.place.outside();
        let script = format!(
            "cd top; rm a b c; ln -s {0}/absent a; ln -s ../file b; ln -s {0} c; \
             rm ../src/d; rmdir ../src && ln -s {0} ../src",
            outside.display()
        );
        let outcome = project.script(&script);
        let reported = outcome.notes.iter().filter_map(|note| match note {
            Note::LinkedOut { path, target } => {
                let path = path.strip_prefix(project.work()).unwrap();
                Some((path.display().to_string(), target.clone()))
            }
            _ => None,
        });
        let mut reported: Vec<_> = reported.collect();
        // Without namespaces, nothing can be removed directly in the project.
        reported.retain(|(path, _)| path != "src");
        let absent = outside.join("absent");
        let expected = [("top/a".to_owned(), absent), ("top/c".to_owned(), outside)];
        assert_eq!(reported, expected, "{set}: {outcome:?}");
    }
}

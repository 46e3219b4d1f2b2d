//! The root folder of a command, as a list of steps.
//!
//! [`mounts`] is pure: it looks at the disk only through the function it is given. Both builders, the
//! kernel's own namespaces and `bwrap`, carry out the same list.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::granted_paths::within;
use crate::granted_paths::{Guard, Protected, Roots};
use crate::on_disk::{self, Kind};
use crate::protocol::{Mount, Stub, StubKind, bytes};

/// The file inside that lists the placeholders, for git to ignore.
pub(crate) const EXCLUDES: &str = "/.prowess/excludes";

/// Returns the type of a path on the host. One that cannot be inspected has been refused before;
/// mounting it fails.
pub(crate) fn kind(path: &Path) -> Kind {
    on_disk::kind(path).unwrap_or(Kind::File)
}

/// A folder of the system: mounted, or a link to another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum System {
    Folder(PathBuf),
    Link(PathBuf, PathBuf),
}

/// The steps for a run and the placeholders they need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mounts {
    pub(crate) steps: Vec<Mount>,
    pub(crate) stubs: Vec<Stub>,
}

/// The way in which a path is mounted. If a path has two, the later variant wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Access {
    Write,
    Read,
    Pin,
    Hide,
}

/// Lists the steps.
pub(crate) fn mounts(
    system: &[System],
    roots: &Roots,
    hidden: &[PathBuf],
    home: Option<&Path>,
    kind: &dyn Fn(&Path) -> Kind,
) -> Mounts {
    let mut steps: Vec<Mount> = system
        .iter()
        .map(|folder| match folder {
            System::Folder(path) => Mount::Read(bytes(path)),
            System::Link(path, target) => Mount::Link {
                path: bytes(path),
                target: bytes(target),
            },
        })
        .collect();
    steps.extend([Mount::Proc, Mount::Dev, Mount::Scratch(bytes("/tmp"))]);
    if let Some(home) = home.filter(|home| home.is_absolute() && !in_system(home, system)) {
        steps.push(Mount::Folder(bytes(home)));
    }

    let mut granted: BTreeMap<PathBuf, Access> = BTreeMap::new();
    let mut put = |path: &Path, access: Access| {
        let now = granted.entry(path.to_owned()).or_insert(access);
        *now = (*now).max(access);
    };
    for path in &roots.readable {
        put(path, Access::Read);
    }
    for path in &roots.writable {
        put(path, Access::Write);
    }
    let visible = |path: &Path| {
        within(path, &roots.readable) || within(path, &roots.writable) || in_system(path, system)
    };
    let hidden: Vec<&Path> = hidden
        .iter()
        .map(PathBuf::as_path)
        .filter(|path| visible(path))
        .collect();
    let closed = Closed::new(roots, &hidden);
    let mut stubs: Vec<Stub> = Vec::new();
    for protected in &roots.protected {
        if protected.guard == Guard::Watch {
            if kind(&protected.path) == Kind::Absent {
                stubs.push(stub(&protected.path, StubKind::Absent));
            } else {
                put(&protected.path, Access::Read);
            }
            continue;
        }
        // Whatever closes a folder closes everything in it.
        if closed.above(&protected.path) {
            continue;
        }
        for folder in between(&protected.path, &roots.writable, kind) {
            put(folder, Access::Write);
        }
        let path = first_missing(&protected.path, kind);
        match kind(&path) {
            Kind::Link => {
                put(&path, Access::Pin);
                continue;
            }
            Kind::Absent if path != protected.path || protected.guard == Guard::Folder => {
                stubs.push(stub(&path, StubKind::Folder));
            }
            Kind::Absent | Kind::Empty => stubs.push(stub(&path, StubKind::File)),
            Kind::Folder => stubs.push(stub(&path, StubKind::Folder)),
            Kind::File => {}
            Kind::Closed => continue,
        }
        put(&path, Access::Read);
    }
    for path in hidden {
        // The folder around a hidden path could be moved, and the path read in the next run.
        let folders = between(path, &roots.writable, kind);
        for folder in folders.filter(|folder| !closed.contains(folder)) {
            put(folder, Access::Write);
        }
        put(path, Access::Hide);
    }
    for (path, access) in &granted {
        let path_bytes = bytes(path);
        steps.push(match access {
            Access::Write => Mount::Write(path_bytes),
            Access::Read => Mount::Read(path_bytes),
            Access::Pin => Mount::Pin(path_bytes),
            Access::Hide if kind(path) == Kind::Folder => Mount::HideFolder(path_bytes),
            Access::Hide => Mount::HideFile(path_bytes),
        });
    }
    stubs.dedup();
    for (path, text) in &roots.own_git.files {
        steps.push(Mount::Text {
            path: bytes(path),
            content: text.clone(),
        });
    }
    let mut content = roots.own_git.patterns.clone();
    // The last pattern that matches wins.
    content.extend(excludes(&stubs, &roots.writable));
    if !content.is_empty() {
        steps.push(Mount::Text {
            path: bytes(EXCLUDES),
            content,
        });
    }
    Mounts { steps, stubs }
}

pub(super) fn stub(path: &Path, kind: StubKind) -> Stub {
    Stub {
        path: bytes(path),
        kind,
    }
}

fn in_system(path: &Path, system: &[System]) -> bool {
    system.iter().any(|folder| match folder {
        System::Folder(folder) | System::Link(folder, _) => path.starts_with(folder),
    })
}

/// Returns patterns with which git ignores the files among the placeholders. It ignores empty
/// folders anyway.
fn excludes(stubs: &[Stub], writable: &[PathBuf]) -> Vec<u8> {
    let mut content = Vec::new();
    for stub in stubs.iter().filter(|stub| stub.kind == StubKind::File) {
        let path = crate::protocol::path(&stub.path);
        let below = writable
            .iter()
            .find_map(|root| path.strip_prefix(root).ok());
        // A pattern cannot contain a line break, and would match too much with a wildcard.
        let Some(below) = below.filter(|below| {
            let bytes = below.as_os_str().as_encoded_bytes();
            !bytes.iter().any(|byte| b"\n\r*?[\\".contains(byte))
        }) else {
            continue;
        };
        content.push(b'/');
        content.extend_from_slice(below.as_os_str().as_encoded_bytes());
        content.push(b'\n');
    }
    content
}

/// The folders between a writable root and a protected path in it.
///
/// They are mounted on themselves, because a folder that is a mount point cannot be renamed.
/// Otherwise the folder around a protected path could be moved aside and created again.
fn between<'a>(
    protected: &'a Path,
    writable: &[PathBuf],
    kind: &dyn Fn(&Path) -> Kind,
) -> impl Iterator<Item = &'a Path> {
    protected.ancestors().skip(1).filter(move |folder| {
        let below = |root: &PathBuf| folder.starts_with(root) && *folder != root;
        writable.iter().any(below) && kind(folder) == Kind::Folder
    })
}

/// The paths in writable folders that are mounted read-only or hidden. Nothing in them may become
/// writable again.
struct Closed<'a> {
    paths: BTreeSet<&'a Path>,
    writable: &'a [PathBuf],
}

impl<'a> Closed<'a> {
    fn new(roots: &'a Roots, hidden: &[&'a Path]) -> Self {
        let protected = roots.protected.iter();
        let whole = protected.filter(|protected| protected.guard != Guard::Watch);
        let whole = whole.map(|protected| protected.path.as_path());
        Self {
            paths: whole.chain(hidden.iter().copied()).collect(),
            writable: &roots.writable,
        }
    }

    /// Returns `true` if a folder around the path is closed, and is not outside of the writable
    /// folder that contains the path.
    fn above(&self, path: &Path) -> bool {
        path.parent().is_some_and(|folder| self.contains(folder))
    }

    /// Returns `true` if the path is closed, or is in a folder that is.
    fn contains(&self, path: &Path) -> bool {
        path.ancestors()
            .take_while(|folder| !self.writable.iter().any(|root| root == folder))
            .any(|folder| self.paths.contains(folder))
    }
}

/// Returns the outermost part of a path that does not exist, or the path. If that would be in a file,
/// returns the file, which could be replaced by a folder.
fn first_missing(path: &Path, kind: &dyn Fn(&Path) -> Kind) -> PathBuf {
    let missing = path
        .ancestors()
        .take_while(|part| kind(part) == Kind::Absent)
        .last();
    let file = missing.and_then(Path::parent);
    let file = file.filter(|file| matches!(kind(file), Kind::File | Kind::Empty));
    file.or(missing).unwrap_or(path).to_owned()
}

/// Returns the mounted system folders as the disk has them.
pub(crate) fn system(folders: &[&str]) -> Vec<System> {
    folders
        .iter()
        .map(Path::new)
        .filter_map(|path| match path.read_link() {
            Ok(target) => Some(System::Link(path.to_owned(), target)),
            Err(_) => path.is_dir().then(|| System::Folder(path.to_owned())),
        })
        .collect()
}

/// Returns the paths that only Landlock can protect, because the builder cannot mount over a link.
pub(crate) fn links(protected: &[Protected]) -> impl Iterator<Item = &Path> {
    protected
        .iter()
        .filter(|protected| protected.link)
        .map(|protected| protected.path.as_path())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with these folders, files and links; everything else is absent.
    fn disk<'a>(
        folders: &'a [&'a str],
        files: &'a [&'a str],
        links: &'a [&'a str],
    ) -> impl Fn(&Path) -> Kind + 'a {
        move |path| {
            let has = |list: &[&str]| list.iter().any(|name| Path::new(name) == path);
            if has(folders) {
                Kind::Folder
            } else if has(files) {
                Kind::File
            } else if has(links) {
                Kind::Link
            } else {
                Kind::Absent
            }
        }
    }

    fn protect(path: &str, guard: Guard) -> Protected {
        Protected {
            path: path.into(),
            link: false,
            guard,
            found: false,
        }
    }

    fn shown(mounts: &Mounts) -> (String, String) {
        let steps: Vec<String> = mounts.steps.iter().map(ToString::to_string).collect();
        let stubs = mounts.stubs.iter();
        let stubs: Vec<String> = stubs
            .map(|stub| {
                let path = crate::protocol::path(&stub.path);
                format!("{:?} {}", stub.kind, path.display())
            })
            .collect();
        (steps.join("\n"), stubs.join("\n"))
    }

    #[test]
    fn project_with_write_access() {
        let disk = disk(
            &["/", "/w", "/w/.git", "/w/a", "/w/a/b", "/w/keys"],
            &["/w/a/b/file", "/etc/shadow", "/w/token"],
            &["/w/CLAUDE.md"],
        );
        let roots = Roots {
            readable: vec!["/skill".into()],
            writable: vec!["/w".into()],
            protected: vec![
                protect("/w/.envrc", Guard::File),
                protect("/w/.git", Guard::Folder),
                protect("/w/.git/commondir", Guard::Watch),
                protect("/w/.vscode", Guard::Folder),
                protect("/w/CLAUDE.md", Guard::File),
                protect("/w/a/b/file", Guard::File),
                protect("/w/c/d", Guard::File),
            ],
            ..Roots::default()
        };
        let system = [
            System::Folder("/usr".into()),
            System::Folder("/etc".into()),
            System::Link("/bin".into(), "usr/bin".into()),
        ];
        let hidden = ["/w/keys", "/w/token", "/etc/shadow", "/person/.ssh"].map(PathBuf::from);
        let mounts = mounts(&system, &roots, &hidden, Some(Path::new("/person")), &disk);
        let (steps, stubs) = shown(&mounts);
        assert_eq!(
            steps,
            "read /usr\n\
             read /etc\n\
             link /bin -> usr/bin\n\
             proc /proc\n\
             dev /dev\n\
             scratch /tmp\n\
             folder /person\n\
             hide-file /etc/shadow\n\
             read /skill\n\
             write /w\n\
             read /w/.envrc\n\
             read /w/.git\n\
             read /w/.vscode\n\
             pin /w/CLAUDE.md\n\
             write /w/a\n\
             write /w/a/b\n\
             read /w/a/b/file\n\
             read /w/c\n\
             hide-folder /w/keys\n\
             hide-file /w/token\n\
             text /.prowess/excludes"
        );
        assert_eq!(
            stubs,
            "File /w/.envrc\n\
             Folder /w/.git\n\
             Absent /w/.git/commondir\n\
             Folder /w/.vscode\n\
             Folder /w/c"
        );
        let excludes = mounts.steps.last();
        assert!(
            matches!(excludes, Some(Mount::Text { content, .. }) if content == b"/.envrc\n"),
            "{excludes:?}"
        );
    }

    #[test]
    fn file_in_the_place_of_a_folder_is_protected() {
        let disk = disk(&["/w"], &["/w/.github"], &[]);
        let roots = Roots {
            writable: vec!["/w".into()],
            protected: vec![protect("/w/.github/workflows", Guard::Folder)],
            ..Roots::default()
        };
        let (steps, stubs) = shown(&mounts(&[], &roots, &[], None, &disk));
        assert!(steps.ends_with("write /w\nread /w/.github"), "{steps}");
        assert_eq!(stubs, "");
    }

    #[test]
    fn nothing_is_writable_below_a_closed_path() {
        let disk = disk(
            &[
                "/w",
                "/w/.agents",
                "/w/.agents/skills",
                "/w/.agents/skills/s",
                "/w/a",
                "/w/a/b",
            ],
            &["/w/a/b/key", "/w/.agents/skills/key"],
            &[],
        );
        let roots = Roots {
            writable: vec!["/w".into()],
            protected: vec![
                protect("/w/.agents", Guard::Folder),
                protect("/w/.agents/skills/absent/x", Guard::Folder),
                protect("/w/.agents/skills/s", Guard::File),
            ],
            ..Roots::default()
        };
        let hidden = ["/w/a/b/key", "/w/.agents/skills/key"].map(PathBuf::from);
        let (steps, stubs) = shown(&mounts(&[], &roots, &hidden, None, &disk));
        assert_eq!(
            steps,
            "proc /proc\ndev /dev\nscratch /tmp\n\
             write /w\n\
             read /w/.agents\n\
             hide-file /w/.agents/skills/key\n\
             write /w/a\n\
             write /w/a/b\n\
             hide-file /w/a/b/key"
        );
        assert_eq!(stubs, "Folder /w/.agents");
    }

    #[test]
    fn reading_needs_no_placeholders() {
        let roots = Roots {
            readable: vec!["/w".into()],
            ..Roots::default()
        };
        let mounts = mounts(&[], &roots, &[], None, &disk(&["/w"], &[], &[]));
        let (steps, stubs) = shown(&mounts);
        assert_eq!(steps, "proc /proc\ndev /dev\nscratch /tmp\nread /w");
        assert_eq!(stubs, "");
    }
}

//! The paths of a profile as they are on disk, and how to grant around those that are not granted.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

use prowess_policy::profile::{GitAccess, Strength, is_executed_by_system, is_home_setting};
use prowess_policy::{NamedPath, NamedRole, Profile};

use crate::error::ExecError;
use crate::git;
use crate::helper::remove_leftover;
use crate::letter_case::ignores_case;
use crate::on_disk::{self, Kind, MountEntry, Unknown};
use crate::outcome::Note;
use crate::own_git::OwnGit;
use crate::project_lock;
use crate::protocol::{Inspected, Written};

/// Most links that are followed in one path, as in the kernel.
const MAX_LINKS: usize = 40;

/// Most entries of one folder that are granted one by one.
const MOST_SIBLINGS: usize = 4096;

/// Levels and number of folders outside of the project in which links are followed.
const MAX_DEPTH_OUTSIDE: usize = 3;
const MAX_OUTSIDE: usize = 5_000;

/// Most files among which the other names of a protected file are looked for.
const MAX_SEARCHED: usize = 200_000;

/// Folders of the system in which links are followed, and the levels below each that are searched.
const SYSTEM_LINKS: &[(&str, usize)] = &[
    ("/etc", MAX_DEPTH_OUTSIDE),
    ("/usr/local/bin", 0),
    ("/usr/local/sbin", 0),
    ("/usr/local/etc", MAX_DEPTH_OUTSIDE),
    ("/usr/local/lib/systemd", MAX_DEPTH_OUTSIDE),
    ("/usr/local/share/bash-completion", 1),
    ("/usr/local/share/zsh", 1),
    ("/var/spool/cron", 1),
];

/// Folders of the system that contain many links, and only data.
const SYSTEM_DATA: &[&str] = &["/etc/ssl", "/etc/pki", "/etc/fonts", "/etc/ca-certificates"];

/// Folders of the system that are not searched further if a link in the system leads to them.
const SYSTEM_FOLDERS: &[&str] = &[
    "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/dev", "/proc", "/run", "/nix",
];

/// Folders with installed packages.
const PACKAGES: &[&str] = &["node_modules", ".venv"];

/// Folders of a git folder that contain only data.
const GIT_DATA: &[&str] = &["objects", "refs", "logs", "lfs"];

/// The paths of a profile, without links, each in one place only.
#[derive(Clone, Debug, Default)]
pub(crate) struct Roots {
    /// Exists. Not below a writable one.
    pub(crate) readable: Vec<PathBuf>,
    /// Exists.
    pub(crate) writable: Vec<PathBuf>,
    /// Below a writable one; need not exist.
    pub(crate) protected: Vec<Protected>,
    /// Exists.
    pub(crate) hidden: Vec<PathBuf>,
    /// Notes for the record of the run.
    pub(crate) notes: Vec<Note>,
    /// The repository that the command may write.
    pub(crate) written: Option<Written>,
    /// The submodules of that repository for which a file says when they count as changed.
    pub(crate) ignoring: BTreeSet<Vec<u8>>,
    /// Folders that are granted for writing, but not to this command.
    pub(crate) closed: Vec<PathBuf>,
    /// The ignore files that this repository names.
    pub(crate) excludes: Vec<PathBuf>,
    /// The person's configuration of git, for a command that may write a repository.
    pub(crate) own_git: OwnGit,
    /// The home folder, if it is writable as a whole.
    pub(crate) home: Option<PathBuf>,
    /// The repositories that are inspected after the run.
    pub(crate) inspected: Vec<Inspected>,
}

/// Returns every path in the writable folders of a profile that a command cannot change, whether it
/// exists or not, with links resolved. It is an error if one of them cannot be inspected, whatever
/// the strength of the sandbox. Changes nothing on disk.
pub fn protected_paths(profile: &Profile) -> Result<Vec<PathBuf>, ExecError> {
    let roots = Roots::look(profile, Purpose::Query)?;
    let protected = roots.protected.into_iter().map(|protected| protected.path);
    Ok(protected.collect())
}

/// The purpose for which the paths of a profile are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// A caller wants to know them.
    Query,
    /// A command runs in the sandbox. Placeholders of earlier runs are removed.
    Run,
    /// A command runs without a sandbox. Paths that cannot be inspected are no error.
    RunUnconfined,
}

/// A folder whose links are followed.
#[derive(Clone, Debug)]
struct Searched {
    folder: PathBuf,
    /// The number of levels below the folder that are searched as well.
    depth: usize,
    /// It is in a writable folder.
    is_inside: bool,
    /// It is a folder of the system, most of which is not executed.
    is_system: bool,
    /// Only its files count: it is in a search path.
    is_programs: bool,
}

impl Searched {
    fn inside(folder: PathBuf) -> Self {
        Self {
            depth: git::MAX_DEPTH,
            is_inside: true,
            ..Self::listed(folder)
        }
    }

    fn outside(folder: PathBuf) -> Self {
        Self {
            depth: MAX_DEPTH_OUTSIDE,
            ..Self::listed(folder)
        }
    }

    /// Keys and private data, and other settings in the home folder: `.ssh/config` can be a link.
    fn listed(folder: PathBuf) -> Self {
        Self {
            folder,
            depth: 0,
            is_inside: false,
            is_system: false,
            is_programs: false,
        }
    }

    fn programs(folder: PathBuf) -> Self {
        Self {
            is_programs: true,
            ..Self::listed(folder)
        }
    }

    fn system(folder: PathBuf, depth: usize) -> Self {
        Self {
            depth,
            is_system: true,
            ..Self::listed(folder)
        }
    }
}

/// Protected files that have several names.
#[derive(Debug, Default)]
struct Shared {
    /// One name of each, by device and inode.
    files: BTreeMap<(u64, u64), PathBuf>,
    inodes: BTreeSet<u64>,
}

impl Shared {
    fn add(&mut self, path: &Path) {
        if let Ok(facts) = path.symlink_metadata()
            && facts.is_file()
            && facts.nlink() > 1
        {
            self.inodes.insert(facts.ino());
            self.files
                .insert((facts.dev(), facts.ino()), path.to_owned());
        }
    }
}

/// A path that stays unwritable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Protected {
    pub(crate) path: PathBuf,
    /// It is a symbolic link.
    pub(crate) link: bool,
    pub(crate) guard: Guard,
    /// It was found on disk and is not named by the profile.
    pub(crate) found: bool,
}

impl Protected {
    /// Returns `true` if the path does not exist.
    #[cfg_attr(
        not(target_os = "linux"),
        allow(dead_code, reason = "only Linux mounts on paths")
    )]
    pub(crate) fn is_absent(&self) -> bool {
        on_disk::kind(&self.path) == Ok(Kind::Absent)
    }
}

/// The way in which a protected path that does not exist is kept absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Guard {
    /// An empty file takes its place during the run.
    File,
    /// An empty folder takes its place during the run.
    Folder,
    /// A file of that name is removed after the run.
    Watch,
}

impl Roots {
    /// Looks up the paths of a profile for a run.
    pub(crate) fn of(profile: &Profile) -> Result<Self, ExecError> {
        let purpose = match profile.strength {
            Strength::Off => Purpose::RunUnconfined,
            _ => Purpose::Run,
        };
        Self::look(profile, purpose)
    }

    fn look(profile: &Profile, purpose: Purpose) -> Result<Self, ExecError> {
        let mut roots = Self::default();
        let Profile {
            cwd,
            readable,
            writable,
            protected,
            hidden,
            ..
        } = profile;
        let all = [readable, writable, protected, hidden];
        for path in all.into_iter().flatten().chain([cwd]) {
            check(path)?;
        }
        let mut writable = roots.existing(writable);
        let mut readable = roots.existing(readable);
        // Settings in subfolders are protected only for a profile that protects settings at all.
        let settings = !protected.is_empty();
        let granted = git::Granted {
            cwd: &real(cwd),
            readable: &readable,
            writable: &writable,
        };
        let git = git::look(granted, profile.git, settings);
        let mut unknown = git.unknown;
        roots.written = git.written;
        roots.ignoring = git.ignoring;
        roots.excludes = git.excludes;
        roots.inspected = git.inspected;
        roots.notes.extend(git.notes);
        readable.extend(git.readable);
        writable.extend(git.writable.iter().cloned());
        let home = profile.home.as_deref().map(real);
        let other_home = home.clone().filter(|home| !within(home, &writable));
        roots.home = home.filter(|home| within(home, &writable));
        let settings = roots
            .home
            .as_deref()
            .map(|home| home_settings(home, &writable));
        let settings = settings.unwrap_or_else(|| Ok(Vec::new()));
        let settings = settings.unwrap_or_else(|why| {
            unknown.push(why);
            Vec::new()
        });
        let settings = settings.into_iter().map(|path| (path, Guard::File, true));
        let named = protected
            .iter()
            .map(|path| (path.clone(), guard(path), false));
        let found = git.protected.into_iter();
        let found = found.map(|(path, guard)| (path, guard, true));
        let mut follower = Follower::default();
        for (path, guard, found) in named.chain(found).chain(settings) {
            let (links, place) = follower.follow(&path);
            roots.protect(links, Guard::File, found, true);
            if found && path.is_symlink() && place.is_dir() {
                // Protecting a folder around the settings of a subfolder would close the project.
                if guard == Guard::File && path.starts_with(&place) {
                    continue;
                }
                if within(&place, &writable) {
                    let (path, by) = (place.clone(), path);
                    roots.notes.push(Note::ClosedBy { path, by });
                }
            }
            roots.protect([place], guard, found, false);
        }
        let (named, unfollowed) =
            roots.protect_named(&profile.named, &writable, &mut follower, &mut unknown);
        // Links in protected folders elsewhere can lead to the project.
        let (inside, outside): (Vec<_>, Vec<_>) = std::mem::take(&mut roots.protected)
            .into_iter()
            .partition(|it| within(&it.path, &writable));
        roots.protected = inside;
        let outside = outside.into_iter().filter(|it| !it.link);
        let outside = outside.map(|it| Searched::outside(it.path));
        let mut searched: Vec<Searched> = outside.collect();
        let elsewhere: Vec<PathBuf> = searched.iter().map(|it| it.folder.clone()).collect();
        let is_new = |it: &Searched| !within(&it.folder, &elsewhere);
        searched.extend(named.into_iter().filter(is_new));
        searched.extend(git.followed.into_iter().map(Searched::outside));
        if purpose == Purpose::Run {
            for protected in roots.protected.iter().filter(|it| !it.link) {
                remove_leftover(&protected.path, &writable);
            }
            // A placeholder that a killed run left must not be recorded, even without write access.
            if let Some(written) = &roots.written {
                let tree = [crate::protocol::path(&written.tree)];
                for path in protected.iter().filter(|path| within(path, &tree)) {
                    remove_leftover(path, &tree);
                }
            }
        }
        for path in hidden {
            let (links, place) = follower.follow(path);
            searched.push(Searched::listed(place.clone()));
            roots.protect(links, Guard::File, true, true);
            match on_disk::kind(&place) {
                Ok(Kind::Closed) => {}
                Ok(Kind::Absent) => {
                    // What does not exist cannot be read, but a tool would use what is created there.
                    let has_folder = place.parent().is_some_and(Path::is_dir);
                    if guard(path) == Guard::Folder || has_folder {
                        roots.protect([place], guard(path), true, false);
                    }
                }
                Ok(_) => roots.hidden.push(place),
                Err(why) if within(&place, &readable) || within(&place, &writable) => {
                    unknown.push(why);
                }
                Err(_) => {}
            }
        }
        // A command must not take the locks of other runs.
        let locks = project_lock::lock_folder();
        let locks = locks.filter(|it| within(it, &readable) || within(it, &writable));
        roots.hidden.extend(locks);
        let mut linked = BTreeSet::new();
        if !writable.is_empty() {
            let home = other_home.iter().flat_map(|home| home_names(home));
            for path in home {
                let (links, place) = follower.follow(&path);
                roots.protect(links, Guard::File, true, true);
                // A link to the project itself says nothing about its files.
                let is_around = writable.iter().any(|root| root.starts_with(&place));
                if within(&place, &writable) && !is_around {
                    roots.protect([place], Guard::File, true, false);
                } else if !is_around {
                    searched.push(Searched::listed(place));
                }
            }
            let system = SYSTEM_LINKS.iter();
            searched.extend(system.map(|(folder, depth)| Searched::system(folder.into(), *depth)));
            let mut shared = Shared::default();
            for searched in &searched {
                shared.add(&searched.folder);
            }
            let (targets, unsearched) =
                roots.protect_inner_links(searched, &unfollowed, &writable, &mut shared);
            linked = targets;
            unknown.extend(unsearched);
            for protected in &roots.protected {
                shared.add(&protected.path);
            }
            roots.protect_other_names(&shared, &writable);
        }
        roots.protected.retain(|it| within(&it.path, &writable));
        roots
            .protected
            .retain(|protected| match on_disk::kind(&protected.path) {
                Ok(kind) => kind != Kind::Closed,
                Err(why) => {
                    unknown.push(why);
                    true
                }
            });
        if purpose == Purpose::Run && cfg!(target_os = "linux") {
            unknown.extend(roots.other_names(&writable, &readable, &elsewhere));
        }
        if purpose != Purpose::RunUnconfined
            && let Some(Unknown { path, why }) = unknown.into_iter().next()
        {
            return Err(ExecError::Unprotectable { path, why });
        }
        // Protecting a folder as a whole overrides granting it.
        let whole = |path: &PathBuf| roots.protected.iter().any(|p| path.starts_with(&p.path));
        let demoted: Vec<PathBuf> = writable.extract_if(.., |path| whole(path)).collect();
        let closed = demoted.iter().filter(|it| linked.contains(*it));
        let closed = closed.cloned().map(|path| Note::NotWritable { path });
        roots.notes.extend(closed);
        roots
            .protected
            .retain(|p| within(&p.path, &writable) && !within(&p.path, &roots.hidden));
        roots
            .protected
            .sort_by(|a, b| (&a.path, a.found, a.guard).cmp(&(&b.path, b.found, b.guard)));
        roots.protected.dedup_by(|a, b| a.path == b.path);
        if profile.git == GitAccess::Record && profile.strength != Strength::Off {
            // The command needs no more, and where nothing is writable, there are no placeholders.
            let others = writable.extract_if(.., |path| !git.writable.contains(path));
            roots.closed = others.collect();
            roots.protected.retain(|p| within(&p.path, &writable));
            roots.home = None;
        }
        let demoted = demoted.into_iter().chain(roots.closed.iter().cloned());
        roots.readable = readable.into_iter().chain(demoted).collect();
        roots.readable.retain(|path| !within(path, &writable));
        roots.writable = writable;
        // The content of another file is not copied into the sandbox.
        let excludes = std::mem::take(&mut roots.excludes).into_iter();
        let excludes = excludes.filter_map(|file| file.canonicalize().ok());
        let excludes = excludes.filter(|it| roots.contains(it) && !within(it, &roots.hidden));
        roots.excludes = excludes.collect();
        for list in [&mut roots.readable, &mut roots.writable, &mut roots.hidden] {
            list.sort();
            list.dedup();
        }
        Ok(roots)
    }

    fn protect(
        &mut self,
        paths: impl IntoIterator<Item = PathBuf>,
        guard: Guard,
        found: bool,
        link: bool,
    ) {
        let paths = paths.into_iter();
        self.protected.extend(paths.map(|path| Protected {
            path,
            link,
            guard,
            found,
        }));
    }

    /// Protects what variables of the user name in writable folders. Returns the other places that they
    /// name, in which links are followed, and folders of installed packages, in which they are not:
    /// there are hundreds of links to files of the packages, which load others that are writable.
    fn protect_named(
        &mut self,
        named: &[NamedPath],
        writable: &[PathBuf],
        follower: &mut Follower,
        unknown: &mut Vec<Unknown>,
    ) -> (Vec<Searched>, BTreeSet<PathBuf>) {
        let (mut searched, mut unfollowed) = (Vec::new(), BTreeSet::new());
        if writable.is_empty() {
            return (searched, unfollowed);
        }
        for NamedPath {
            variable,
            path,
            role,
        } in named
        {
            let (links, place) = follower.follow(path);
            if *role == NamedRole::Code {
                if within(&place, writable) && place.is_dir() {
                    let why = format!(
                        "`{variable}` names it, so that programs of yours load what a command writes there"
                    );
                    let (path, why) = (place, why.into());
                    self.notes.push(Note::Unprotected { path, why });
                }
                continue;
            }
            self.protect(links, Guard::File, true, true);
            if writable.contains(&place) {
                let why = format!(
                    "`{variable}` names it, so that your programs would execute or read what a command \
                     writes there; remove it from `{variable}`, list it in `[sandbox] write` of your \
                     settings if commands may write there all the same, or run the command without write \
                     access"
                );
                unknown.push(Unknown::new(place, why));
            } else if within(&place, writable) {
                let is_installed = place
                    .iter()
                    .any(|part| PACKAGES.iter().any(|it| part == *it));
                if *role == NamedRole::Programs && is_installed {
                    unfollowed.insert(place.clone());
                }
                self.protect([place], guard(path), false, false);
            } else if !SYSTEM_FOLDERS.iter().any(|it| place.starts_with(it)) {
                searched.push(match role {
                    NamedRole::Programs => Searched::programs(place),
                    NamedRole::Settings => Searched::outside(place),
                    NamedRole::Data | NamedRole::Code => Searched::listed(place),
                });
            }
        }
        // A folder is searched once: the deepest search of it comes first.
        searched.sort_by_key(|it| std::cmp::Reverse(it.depth));
        (searched, unfollowed)
    }

    /// Protects what links in protected folders lead to: a hook can be a link to a script, and the
    /// settings of an editor a link to a shared file. Returns the targets, and the folders that could
    /// not be searched.
    fn protect_inner_links(
        &mut self,
        elsewhere: Vec<Searched>,
        unfollowed: &BTreeSet<PathBuf>,
        writable: &[PathBuf],
        shared: &mut Shared,
    ) -> (BTreeSet<PathBuf>, Vec<Unknown>) {
        let mut linked = BTreeSet::new();
        let folders = self.protected.iter().filter(|it| !it.link);
        let folders: BTreeSet<PathBuf> = folders.map(|it| it.path.clone()).collect();
        let inside = folders.iter().filter(|it| !unfollowed.contains(*it));
        let inside = inside.cloned().map(Searched::inside);
        let mut todo: VecDeque<Searched> = inside.chain(elsewhere).collect();
        let (mut seen, mut unknown) = (BTreeSet::new(), Vec::new());
        let (mut count, mut outside) = (0, 0);
        while let Some(searched) = todo.pop_front() {
            let folder = &searched.folder;
            // Each folder is searched once, and not through a link.
            match on_disk::kind(folder) {
                Ok(Kind::Folder) if seen.insert(folder.clone()) => {}
                Err(why) if searched.is_inside => {
                    unknown.push(why);
                    continue;
                }
                Ok(_) | Err(_) => continue,
            }
            if searched.is_inside {
                count += 1;
                if count > git::MAX_FOLDERS {
                    let why =
                        "protected paths have too many folders; use a subfolder as the project";
                    unknown.push(Unknown::new(folder, why));
                    break;
                }
            } else {
                outside += 1;
                if outside > MAX_OUTSIDE {
                    let why = "protected folders outside of the project have too many folders, so \
                               that not all links in them were followed";
                    self.notes.push(Note::Unprotected {
                        path: folder.clone(),
                        why: why.into(),
                    });
                    todo.retain(|it| it.is_inside);
                    continue;
                }
            }
            let entries = match on_disk::entries(folder) {
                Ok(entries) => entries,
                Err(why) => {
                    unknown.extend(searched.is_inside.then_some(why));
                    continue;
                }
            };
            let is_git_folder = entries.iter().any(|entry| entry.file_name() == "HEAD");
            let is_hooks = folder.ends_with("hooks");
            for entry in entries {
                let (name, path) = (entry.file_name(), entry.path());
                let is_named = |names: &[&str]| names.iter().any(|data| name == *data);
                let kind = match entry.file_type() {
                    Ok(kind) => kind,
                    Err(error) => {
                        let why = Unknown::new(path, error.to_string());
                        unknown.extend(searched.is_inside.then_some(why));
                        continue;
                    }
                };
                let is_executed = searched.is_system && is_executed_by_system(&path);
                if kind.is_symlink() {
                    if searched.is_system && !is_executed && stays_in_system(&path, writable) {
                        continue;
                    }
                    let (links, place) = follow(&path);
                    if folder.starts_with(&place) {
                        // Protecting a folder around the link would close the project.
                        continue;
                    }
                    if searched.is_programs && place.is_dir() {
                        // A folder in a search path is not executed.
                        continue;
                    }
                    // A link to the project itself says nothing about its files.
                    let is_around = |root: &PathBuf| root.starts_with(&place);
                    if searched.is_system && !is_executed && writable.iter().any(is_around) {
                        continue;
                    }
                    if within(&place, writable) && !within_any(&place, &folders) {
                        linked.insert(place.clone());
                        self.protect([place.clone()], Guard::File, true, false);
                        todo.push_back(Searched::inside(place));
                    } else if is_executed {
                        todo.push_back(Searched::system(place, 0));
                    }
                    let links = links.into_iter().filter(|link| within(link, writable));
                    self.protect(links, Guard::File, true, true);
                } else if kind.is_file()
                    && (searched.is_inside || is_git_folder || is_hooks || is_executed)
                {
                    shared.add(&path);
                } else if kind.is_dir()
                    && searched.depth > 0
                    && !is_named(git::SKIPPED)
                    && !(is_git_folder && is_named(GIT_DATA))
                    && !(searched.is_system
                        && SYSTEM_DATA.iter().any(|data| path == Path::new(data)))
                {
                    todo.push_back(Searched {
                        folder: path,
                        depth: searched.depth - 1,
                        ..searched
                    });
                }
            }
        }
        (linked, unknown)
    }

    /// Protects the other names in writable folders of files that have several: a command that writes
    /// to one of them changes the protected file.
    fn protect_other_names(&mut self, shared: &Shared, writable: &[PathBuf]) {
        if shared.files.is_empty() {
            return;
        }
        let mut todo: Vec<PathBuf> = writable.to_vec();
        let mut left = MAX_SEARCHED;
        while let Some(folder) = todo.pop() {
            for entry in on_disk::entries(&folder).unwrap_or_default() {
                let Some(less) = left.checked_sub(1) else {
                    let why = "it has another name, and the project has too many files to find it";
                    let paths = shared.files.values();
                    self.notes.extend(paths.map(|path| Note::Unprotected {
                        path: path.clone(),
                        why: why.into(),
                    }));
                    return;
                };
                left = less;
                if shared.inodes.contains(&entry.ino())
                    && let Ok(facts) = entry.metadata()
                    && shared.files.contains_key(&(facts.dev(), facts.ino()))
                {
                    self.protect([entry.path()], Guard::File, true, false);
                } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    todo.push(entry.path());
                }
            }
        }
    }

    /// Returns the folders in which protected or hidden paths have other names, which are open: other
    /// spellings, or a mount of the same folder.
    fn other_names(
        &self,
        writable: &[PathBuf],
        readable: &[PathBuf],
        elsewhere: &[PathBuf],
    ) -> Vec<Unknown> {
        let protected = self.protected.iter().map(|protected| &*protected.path);
        let protected: Vec<&Path> = protected.filter(|path| within(path, writable)).collect();
        let mut written = folders_of(&protected, writable);
        written.extend(writable.iter().cloned());
        let granted: Vec<PathBuf> = readable.iter().chain(writable).cloned().collect();
        let hidden = self.hidden.iter().map(PathBuf::as_path);
        let hidden: Vec<&Path> = hidden.filter(|path| within(path, &granted)).collect();
        let read = folders_of(&hidden, &granted);
        let mut unknown = Vec::new();
        let mounts = on_disk::mounts();
        let elsewhere = elsewhere.iter().map(PathBuf::as_path);
        let keys = self.hidden.iter().map(PathBuf::as_path);
        for (paths, folders, roots, others) in [
            (protected, &written, writable, elsewhere.collect()),
            (hidden, &read, granted.as_slice(), keys.collect::<Vec<_>>()),
        ] {
            let folders = folders.iter().map(PathBuf::as_path);
            let around = paths.iter().copied().chain(folders);
            unknown.extend(mounted_twice(&mounts, around, roots));
            unknown.extend(mounted_inside(&mounts, &paths, &others, roots));
        }
        let in_other_case = |folders: BTreeSet<PathBuf>, remedy: &str| {
            let why = format!(
                "its file system ignores the case of letters, or has second names as Windows does, so that \
                 {remedy}"
            );
            let folders = folders.into_iter().filter(|folder| ignores_case(folder));
            folders
                .map(|path| Unknown::new(path, &*why))
                .collect::<Vec<_>>()
        };
        unknown.extend(in_other_case(
            written,
            "`.GIT` or `GIT~1` would be a way around `.git`; move the project to a file system of Linux, \
             or run the command without write access",
        ));
        unknown.extend(in_other_case(
            read,
            "other spellings of hidden names can be read; use a folder without keys as the project",
        ));
        unknown
    }

    /// Grants more paths for reading.
    pub(crate) fn read_also(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        for path in paths {
            if !self.contains(&path) {
                self.readable.push(path);
            }
        }
    }

    /// Returns `true` if a path can be read because a root contains it.
    pub(crate) fn contains(&self, path: &Path) -> bool {
        within(path, &self.readable) || within(path, &self.writable)
    }

    /// Returns the folders in which no program is looked up by its name: the command may write there.
    pub(crate) fn closed(&self, cwd: &Path) -> Vec<PathBuf> {
        let mut closed = self.writable.clone();
        closed.extend(self.closed.iter().cloned());
        // A command that starts in `/` has no project there.
        closed.extend(cwd.canonicalize().ok().filter(|cwd| cwd.parent().is_some()));
        closed
    }

    /// Returns a note for every protected and hidden path that is open.
    pub(crate) fn unprotected(&self, why: &str) -> Vec<Note> {
        let protected = self.protected.iter().map(|protected| &protected.path);
        protected
            .chain(&self.hidden)
            .map(|path| Note::Unprotected {
                path: path.clone(),
                why: why.into(),
            })
            .collect()
    }

    fn existing(&mut self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for path in paths {
            match path.canonicalize() {
                Ok(path) => found.push(path),
                Err(_) => self.notes.push(Note::NotThere { path: path.clone() }),
            }
        }
        found
    }
}

/// Returns the paths to grant so that everything below `root` is granted except the `holes`.
///
/// Landlock grants whole trees. So where a tree has a hole, the siblings of the hole are granted
/// instead of the tree. As a consequence, nothing can be created, renamed or removed in the folders
/// on the way to a hole, which also keeps a hole absent that does not exist yet.
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "only Landlock needs it")
)]
pub(crate) fn around(root: &Path, holes: &[PathBuf]) -> Result<Vec<PathBuf>, PathBuf> {
    let mut granted = Vec::new();
    let mut todo = vec![root.to_owned()];
    while let Some(path) = todo.pop() {
        if within(&path, holes) {
            continue;
        }
        if !holes.iter().any(|hole| hole.starts_with(&path)) {
            granted.push(path);
            continue;
        }
        // A hole below a file cannot exist.
        let Ok(entries) = std::fs::read_dir(&path) else {
            if path.is_dir() {
                return Err(path);
            }
            continue;
        };
        let before = todo.len();
        for entry in entries {
            let entry = entry.map_err(|_| path.clone())?;
            // A link grants nothing: its target is granted by its own path, or not at all.
            if !entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                todo.push(entry.path());
            }
            if todo.len() - before > MOST_SIBLINGS {
                return Err(path);
            }
        }
    }
    granted.sort();
    Ok(granted)
}

/// Returns `true` if a link in a folder of the system leads to another one. There are hundreds of them,
/// and those that lead on are searched in their own folders.
fn stays_in_system(link: &Path, writable: &[PathBuf]) -> bool {
    let (Ok(target), Some(folder)) = (link.read_link(), link.parent()) else {
        return false;
    };
    let mut place = PathBuf::new();
    for part in folder.join(target).components() {
        match part {
            Component::ParentDir => drop(place.pop()),
            part => place.push(part),
        }
    }
    let is_system = |folder: &&str| {
        place.starts_with(folder) && !writable.iter().any(|root| root.starts_with(folder))
    };
    SYSTEM_FOLDERS.iter().any(is_system)
}

/// Returns the folders on the way from a root to each of the paths in it, as far as they exist.
fn folders_of(paths: &[&Path], roots: &[PathBuf]) -> BTreeSet<PathBuf> {
    let mut folders: BTreeSet<PathBuf> = BTreeSet::new();
    for path in paths {
        let above = path.ancestors().skip(1).take_while(|it| within(it, roots));
        for folder in above {
            if folders.contains(folder) {
                break;
            }
            if folder.is_dir() {
                folders.insert(folder.to_owned());
            }
        }
    }
    folders
}

/// Returns the paths of which a part, or a folder around them, is mounted in one of the roots as well.
/// `others` are paths of the same kind outside of the roots.
fn mounted_inside(
    mounts: &[MountEntry],
    paths: &[&Path],
    others: &[&Path],
    roots: &[PathBuf],
) -> Vec<Unknown> {
    let inner = mounts.iter().filter(|mount| within(&mount.point, roots));
    let inner: Vec<&MountEntry> = inner.collect();
    if inner.is_empty() {
        return Vec::new();
    }
    let is_closed = |path: &Path| paths.iter().any(|closed| path.starts_with(closed));
    let mut unknown = Vec::new();
    for path in paths.iter().chain(others) {
        let Some((device, place)) = on_disk::in_file_system(path, mounts) else {
            continue;
        };
        let mut other = inner.iter().filter(|mount| *mount.device == *device);
        let other = other.find_map(|mount| {
            let name = match place.strip_prefix(&mount.root) {
                Ok(rest) if rest.as_os_str().is_empty() => mount.point.clone(),
                Ok(rest) => mount.point.join(rest),
                Err(_) if mount.root.starts_with(&place) => mount.point.clone(),
                Err(_) => return None,
            };
            (!is_closed(&name)).then_some(name)
        });
        unknown.extend(other.map(|name| is_open_at(path, &name)));
    }
    unknown
}

fn is_open_at(path: &Path, name: &Path) -> Unknown {
    let why = format!(
        "it, or a part of it, is mounted at `{}` as well, and is open there; unmount one of them, or use \
         another folder as the project",
        name.display()
    );
    Unknown::new(path, why)
}

/// Returns those of the paths that have another name through a mount in one of the roots.
fn mounted_twice<'a>(
    mounts: &[MountEntry],
    paths: impl Iterator<Item = &'a Path>,
    roots: &[PathBuf],
) -> Vec<Unknown> {
    let mounts = mounts.iter().map(|mount| &mount.point);
    let mounts: BTreeSet<&PathBuf> = mounts.filter(|it| within(it, roots)).collect();
    if mounts.is_empty() {
        return Vec::new();
    }
    let id = |path: &Path| {
        let facts = path.symlink_metadata().ok()?;
        Some((facts.dev(), facts.ino()))
    };
    let mut known: BTreeMap<(u64, u64), BTreeSet<&Path>> = BTreeMap::new();
    for path in paths {
        if let Some(id) = id(path) {
            known.entry(id).or_default().insert(path);
        }
    }
    let unknown = mounts.into_iter().filter_map(|mount| {
        let mut names = known.get(&id(mount)?)?.iter();
        let other = names.find(|path| **path != mount)?;
        Some(is_open_at(other, mount))
    });
    unknown.collect()
}

/// Returns what begins with a dot in a home folder, without repositories and what contains a folder
/// that was named for writing.
fn home_settings(home: &Path, writable: &[PathBuf]) -> Result<Vec<PathBuf>, Unknown> {
    let paths = on_disk::entries(home)?;
    let paths = paths.into_iter().map(|entry| entry.path());
    let is_open = |path: &PathBuf| writable.iter().any(|root| root.starts_with(path));
    let paths = paths.filter(|path| is_home_setting(path, home) && !is_open(path));
    Ok(paths.filter(|path| !path.ends_with(".git")).collect())
}

/// Returns what begins with a dot in a home folder that commands cannot write. Shells and programs read
/// more of it than any list names, and each can be a link to a file of the project.
fn home_names(home: &Path) -> Vec<PathBuf> {
    let names = on_disk::entries(home).unwrap_or_default().into_iter();
    let names = names.map(|entry| entry.path());
    let names = names.filter(|path| is_home_setting(path, home));
    names.take(MAX_OUTSIDE).collect()
}

/// Returns the guard of a path that the profile names: one that ends in `/` is a folder.
fn guard(path: &Path) -> Guard {
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        Guard::Folder
    } else {
        Guard::File
    }
}

/// Accepts absolute paths without `..`, whose meaning does not depend on links.
fn check(path: &Path) -> Result<(), ExecError> {
    let plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
    if !path.is_absolute() || !path.components().all(plain) {
        return Err(ExecError::PathNotAbsolute {
            path: path.to_owned(),
        });
    }
    if path.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(ExecError::Nul {
            what: "a path of the profile".into(),
        });
    }
    Ok(())
}

/// Follows a path, link by link. Returns every link on the way and the place at the end, which need
/// not exist. None of the links may be replaced if the place is to keep its meaning.
pub(crate) fn follow(path: &Path) -> (Vec<PathBuf>, PathBuf) {
    let mut links = Vec::new();
    let mut place = PathBuf::from("/");
    let mut todo: Vec<PathBuf> = vec![path.to_owned()];
    while let Some(rest) = todo.pop() {
        let mut parts = rest.components();
        let Some(part) = parts.next() else { continue };
        todo.push(parts.as_path().to_owned());
        match part {
            Component::RootDir => place = "/".into(),
            Component::ParentDir => {
                place.pop();
            }
            Component::CurDir | Component::Prefix(_) => {}
            Component::Normal(name) => {
                let next = place.join(name);
                match next.read_link() {
                    Ok(target) if links.len() < MAX_LINKS => {
                        links.push(next);
                        todo.push(target);
                    }
                    _ => place = next,
                }
            }
        }
    }
    (links, place)
}

/// Follows many paths in the same folders.
#[derive(Default)]
struct Follower {
    folders: BTreeMap<PathBuf, (Vec<PathBuf>, PathBuf)>,
}

impl Follower {
    /// Like [`follow`], but looks at each folder once.
    fn follow(&mut self, path: &Path) -> (Vec<PathBuf>, PathBuf) {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return follow(path);
        };
        if !self.folders.contains_key(folder) {
            self.folders.insert(folder.to_owned(), follow(folder));
        }
        let known = self.folders.get(folder);
        let known = known.map(|(links, place)| (links, place.join(name)));
        match known {
            Some((links, next)) if next.read_link().is_err() => (links.clone(), next),
            _ => follow(path),
        }
    }
}

/// Resolves links in the part of a path that exists.
pub(crate) fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| beside(path))
}

/// Resolves links in all of a path but its last part.
fn beside(path: &Path) -> PathBuf {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => real(parent).join(name),
        _ => path.to_owned(),
    }
}

/// Returns `true` if a folder of the set contains `path` or is `path`.
fn within_any(path: &Path, folders: &BTreeSet<PathBuf>) -> bool {
    path.ancestors().any(|folder| folders.contains(folder))
}

/// Returns `true` if a root contains `path` or is `path`.
pub(crate) fn within(path: &Path, roots: &[PathBuf]) -> bool {
    roots.iter().any(|root| path.starts_with(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for folder in [".git/hooks", ".git/objects", "src/deep"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        for file in [
            ".git/config",
            ".git/HEAD",
            "src/main.rs",
            "src/deep/x",
            "readme",
        ] {
            std::fs::write(root.path().join(file), "").unwrap();
        }
        std::os::unix::fs::symlink("src", root.path().join("link")).unwrap();
        root
    }

    fn granted(holes: &[&str]) -> Vec<String> {
        let tree = tree();
        let root = tree.path().canonicalize().unwrap();
        let holes: Vec<PathBuf> = holes.iter().map(|hole| root.join(hole)).collect();
        let shown = |path: PathBuf| path.strip_prefix(&root).unwrap().display().to_string();
        around(&root, &holes)
            .unwrap()
            .into_iter()
            .map(shown)
            .collect()
    }

    #[test]
    fn grants_the_siblings_of_holes() {
        assert_eq!(granted(&[]), [""]);
        assert_eq!(
            granted(&[".git/hooks"]),
            [".git/HEAD", ".git/config", ".git/objects", "readme", "src"]
        );
        assert_eq!(granted(&[".git"]), ["readme", "src"]);
        // An absent path cannot be created either, because its folder is not granted.
        assert_eq!(
            granted(&["src/absent/x"]),
            [".git", "readme", "src/deep", "src/main.rs"]
        );
        assert_eq!(granted(&[".bashrc"]), [".git", "readme", "src"]);
        assert_eq!(granted(&[""]), Vec::<String>::new());
    }

    #[test]
    fn profiles_are_looked_up() {
        let tree = tree();
        let root = tree.path().canonicalize().unwrap();
        let mut profile = Profile::reading(root.join("src"));
        profile.writable = vec![root.clone(), root.join("absent")];
        profile.protected = [".git/hooks/", ".envrc", "link"]
            .map(|p| root.join(p))
            .into();
        profile.protected.push("/elsewhere".into());
        let roots = Roots::of(&profile).unwrap();
        assert_eq!(roots.writable, std::slice::from_ref(&root));
        assert!(roots.readable.is_empty(), "it is below a writable one");
        let protected: Vec<_> = roots
            .protected
            .iter()
            .map(|p| {
                let path = p.path.strip_prefix(&root).unwrap().to_str().unwrap();
                (path, p.link, p.guard)
            })
            .collect();
        assert_eq!(
            protected,
            [
                (".envrc", false, Guard::File),
                (".git", false, Guard::Folder),
                (".git/hooks", false, Guard::Folder),
                ("link", true, Guard::File),
                ("src", false, Guard::File)
            ]
        );
        assert_eq!(
            roots.notes,
            [Note::NotThere {
                path: root.join("absent")
            }]
        );

        profile.protected = vec![root.clone()];
        let roots = Roots::of(&profile).unwrap();
        assert!(roots.writable.is_empty() && roots.readable.contains(&root));
    }

    #[test]
    fn odd_paths_are_refused() {
        for path in ["relative", "/a/../b", ""] {
            assert!(Roots::of(&Profile::reading(path)).is_err(), "{path}");
        }
    }
}

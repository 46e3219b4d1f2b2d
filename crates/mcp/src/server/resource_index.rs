//! Which skills are served at which address, and exactly which bytes their files have.
//!
//! An address is found for each skill once for each catalogue. The files of a skill are hashed when
//! somebody asks; a file that did not change since is not read again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prowess_catalog::visibility::{Sight, View, Who};
use prowess_catalog::{Catalog, Entry, Form, Skill, SkillId, Stamp, Visibility};
use prowess_registry::{ReadError, Registry, file_stamp, is_at_rest};
use prowess_spec::problem::ProblemKind;
use prowess_spec::{name, parse};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::wire::{frontmatter, uri};

/// Most files of a skill that every host takes.
pub(crate) const MAX_FILES: usize = 512;
/// Most bytes of a skill that every host takes; no file may be larger either.
pub(crate) const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// The file that makes a folder a skill.
pub(crate) const MAIN: &str = "SKILL.md";

/// Skills and their addresses.
#[derive(Debug)]
pub(crate) struct ResourceIndex {
    registry: Arc<Registry>,
    visibility: Visibility,
    current: Mutex<Arc<ServedSkills>>,
    contents: Mutex<HashMap<SkillId, Arc<ServedFiles>>>,
}

/// The skills of one catalogue, in order of address.
#[derive(Debug, Default)]
pub(crate) struct ServedSkills {
    generation: u64,
    by_root: BTreeMap<String, Arc<ServedSkill>>,
}

/// A skill at its address.
#[derive(Debug)]
pub(crate) struct ServedSkill {
    /// The address of its folder, without a slash at the end.
    pub(crate) root: String,
    /// The name it is called by.
    pub(crate) name: String,
    /// The skill.
    pub(crate) skill: Arc<Skill>,
    /// Whether models see it, so that it is listed.
    pub(crate) for_models: bool,
    /// Whether people may call it, so that it is a prompt.
    pub(crate) for_people: bool,
}

impl ServedSkill {
    /// The address of its SKILL.md.
    pub(crate) fn main(&self) -> String {
        uri::join(&self.root, MAIN)
    }
}

/// What a skill consists of, at one moment.
#[derive(Debug)]
pub(crate) struct ServedFiles {
    /// Its files, in order of path.
    pub(crate) files: Vec<ServedFile>,
    /// The frontmatter of its SKILL.md.
    pub(crate) frontmatter: Map<String, Value>,
    /// Why it is not served by the extension for skills.
    pub(crate) fault: Option<Fault>,
}

/// One file.
#[derive(Clone, Debug)]
pub(crate) struct ServedFile {
    /// Its path from the skill's folder.
    pub(crate) path: String,
    /// How many bytes it has.
    pub(crate) size: u64,
    /// The SHA-256 over its bytes; nothing in a skill that is too large.
    pub(crate) digest: Option<[u8; 32]>,
    /// Which version of the file was hashed, where it need not be read again.
    stamp: Option<Stamp>,
}

/// Why a skill is not served by the extension.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    #[error("its frontmatter cannot be read as it stands")]
    Frontmatter,
    #[error("its frontmatter has no valid name")]
    Name,
    #[error("its frontmatter has no description")]
    Description,
    #[error("it has {0} files, more than the {MAX_FILES} that every host takes")]
    Files(usize),
    #[error("it has {0} bytes, more than the {MAX_BYTES} that every host takes")]
    Bytes(u64),
    #[error("its files cannot all be named")]
    Unnamed,
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileFault {
    #[error("the skill has no such file")]
    Missing,
    #[error(
        "the file changed since the skill was listed; ask for the skill again with `skills/get`"
    )]
    Changed,
    #[error("the file has {0} bytes, more than the {MAX_BYTES} that are served")]
    TooLarge(u64),
    #[error("the file cannot be read: {0}")]
    Unreadable(String),
}

impl ResourceIndex {
    pub(crate) fn new(registry: Arc<Registry>, visibility: Visibility) -> Self {
        let (current, contents) = Default::default();
        Self {
            registry,
            visibility,
            current,
            contents,
        }
    }

    /// The skills as they are now.
    pub(crate) fn now(&self) -> Arc<ServedSkills> {
        let catalog = self.registry.snapshot();
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.generation != catalog.generation() || current.by_root.is_empty() {
            *current = Arc::new(serve(&catalog, &self.visibility));
            let known: BTreeSet<&SkillId> = current
                .by_root
                .values()
                .map(|served| &served.skill.id)
                .collect();
            self.contents().retain(|id, _| known.contains(id));
        }
        Arc::clone(&current)
    }

    fn contents(&self) -> MutexGuard<'_, HashMap<SkillId, Arc<ServedFiles>>> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a skill consists of now.
    pub(crate) fn look(&self, served: &ServedSkill) -> Arc<ServedFiles> {
        let id = &served.skill.id;
        let before = self.contents().get(id).map(Arc::clone);
        let now = Arc::new(self.hash(served, before.as_deref()));
        self.contents().insert(id.clone(), Arc::clone(&now));
        now
    }

    fn hash(&self, served: &ServedSkill, before: Option<&ServedFiles>) -> ServedFiles {
        let skill = &*served.skill;
        let failed = |fault| ServedFiles {
            files: Vec::new(),
            frontmatter: Map::new(),
            fault: Some(fault),
        };
        let unreadable = |error: ReadError| failed(Fault::Unreadable(error.to_string()));
        if matches!(skill.form, Form::File | Form::Command) {
            // A file alone is a skill with one file.
            return match self.registry.text(&skill.id) {
                Ok(text) => {
                    let mut contents = ServedFiles {
                        files: vec![content(MAIN, &text, None)],
                        ..failed(Fault::Name)
                    };
                    contents.judge(served, &text);
                    contents
                }
                Err(error) => unreadable(error),
            };
        }
        let Some(listed) = self.registry.files(&skill.id) else {
            return failed(Fault::Unnamed);
        };
        let main = main_file(skill);
        let published = |path: String| if path == main { MAIN.to_owned() } else { path };
        let total: u64 = listed.iter().map(|(_, size)| *size).sum();
        let fault = match listed.len() {
            count if count > MAX_FILES => Some(Fault::Files(count)),
            _ if total > MAX_BYTES => Some(Fault::Bytes(total)),
            _ => None,
        };
        if fault.is_some() {
            let bare = |(path, size)| ServedFile {
                path: published(path),
                size,
                digest: None,
                stamp: None,
            };
            let files = listed.into_iter().map(bare).collect();
            return ServedFiles {
                files,
                frontmatter: Map::new(),
                fault,
            };
        }
        let known: HashMap<&str, &ServedFile> = before
            .iter()
            .flat_map(|before| &before.files)
            .map(|file| (file.path.as_str(), file))
            .collect();
        let folder = folder(skill);
        let mut contents = failed(Fault::Unnamed);
        let mut text = None;
        for (path, _) in listed {
            let stamp = folder.and_then(|folder| file_stamp(&folder.join(&path)));
            let public = published(path.clone());
            let same = known
                .get(public.as_str())
                .filter(|old| stamp.is_some() && old.stamp == stamp);
            if let Some(old) = same.filter(|_| public != MAIN) {
                contents.files.push((*old).clone());
                continue;
            }
            match self.registry.bytes(&skill.id, &path, MAX_BYTES) {
                Ok(bytes) => {
                    let stamp = stamp.filter(|stamp| is_at_rest(*stamp));
                    contents.files.push(content(&public, &bytes, stamp));
                    if public == MAIN {
                        text = Some(bytes);
                    }
                }
                Err(error) => return unreadable(error),
            }
        }
        contents.files.sort_by(|a, b| a.path.cmp(&b.path));
        match text {
            Some(text) => contents.judge(served, &text),
            None => contents.fault = Some(Fault::Unreadable("it has no SKILL.md".to_owned())),
        }
        contents
    }

    /// Reads a file, and makes sure that it is the one that was hashed.
    pub(crate) fn read(
        &self,
        served: &ServedSkill,
        path: &str,
        contents: &ServedFiles,
    ) -> Result<Vec<u8>, FileFault> {
        let file = contents.file(path).ok_or(FileFault::Missing)?;
        if file.size > MAX_BYTES {
            return Err(FileFault::TooLarge(file.size));
        }
        let skill = &*served.skill;
        let bytes = match skill.form {
            Form::File | Form::Command => self.registry.text(&skill.id),
            Form::Folder | Form::Memory => {
                let main = main_file(skill);
                let path = if path == MAIN { main } else { path };
                self.registry.bytes(&skill.id, path, MAX_BYTES)
            }
        };
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(
                ReadError::Gone
                | ReadError::File(prowess_registry::resource::Error::Missing { .. }),
            ) => {
                return Err(FileFault::Changed);
            }
            Err(error) => return Err(FileFault::Unreadable(error.to_string())),
        };
        let is_same = match file.digest {
            Some(digest) => digest == sha256(&bytes),
            None => bytes.len() as u64 == file.size,
        };
        if is_same {
            Ok(bytes)
        } else {
            Err(FileFault::Changed)
        }
    }

    /// Something that is different when a file is: for whoever follows one address.
    pub(crate) fn version(&self, uri: &str) -> Option<String> {
        let skills = self.now();
        let (served, path) = skills.find(uri)?;
        let skill = &served.skill;
        match folder(skill).filter(|_| path != MAIN) {
            Some(folder) => file_stamp(&folder.join(path)).map(|stamp| format!("{stamp:?}")),
            None => Some(skill.fingerprint.to_string()),
        }
    }
}

impl ServedSkills {
    /// Every skill, in order of address, from behind one on.
    pub(crate) fn after<'s>(&'s self, root: &str) -> impl Iterator<Item = &'s Arc<ServedSkill>> {
        use std::ops::Bound::{Excluded, Unbounded};
        self.by_root
            .range::<str, _>((Excluded(root), Unbounded))
            .map(|(_, served)| served)
    }

    /// Every skill, in order of address.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<ServedSkill>> {
        self.by_root.values()
    }

    /// The skill at an address, and the path of the file below it: empty for the folder itself.
    pub(crate) fn find(&self, address: &str) -> Option<(&Arc<ServedSkill>, String)> {
        let parts = uri::parts(address)?;
        // Skills of inner folders stand below; the longest address wins.
        (1..=parts.len()).rev().find_map(|length| {
            let root = uri::root(parts[..length].iter().map(String::as_str));
            let served = self.by_root.get(&root)?;
            Some((served, parts[length..].join("/")))
        })
    }

    /// The skill whose SKILL.md an address names.
    pub(crate) fn skill(&self, address: &str) -> Option<&Arc<ServedSkill>> {
        let (served, path) = self.find(address)?;
        (path == MAIN).then_some(served)
    }
}

impl ServedFiles {
    /// A file by its path.
    pub(crate) fn file(&self, path: &str) -> Option<&ServedFile> {
        let at = self
            .files
            .binary_search_by(|file| file.path.as_str().cmp(path))
            .ok()?;
        self.files.get(at)
    }

    /// What lies directly in a folder: names, and the file where it is one. Nothing where there is
    /// no such folder.
    pub(crate) fn children(&self, folder: &str) -> Option<BTreeMap<&str, Option<&ServedFile>>> {
        let mut found = BTreeMap::new();
        for file in &self.files {
            let inner = match folder {
                "" => Some(file.path.as_str()),
                folder => file
                    .path
                    .strip_prefix(folder)
                    .and_then(|rest| rest.strip_prefix('/')),
            };
            let Some(inner) = inner else { continue };
            match inner.split_once('/') {
                Some((name, _)) => found.insert(name, None),
                None => found.insert(inner, Some(file)),
            };
        }
        (folder.is_empty() || !found.is_empty()).then_some(found)
    }

    /// Reads the frontmatter, and sees whether the skill keeps to the standard.
    fn judge(&mut self, served: &ServedSkill, text: &[u8]) {
        let parsed = parse(text);
        self.frontmatter = frontmatter::to_json(&parsed.manifest);
        let is_broken = parsed.problems.iter().any(|problem| {
            !matches!(
                problem.kind,
                ProblemKind::FenceTrailingSpace
                    | ProblemKind::LoneCarriageReturn { .. }
                    | ProblemKind::Nul
            )
        });
        let text = |key: &str| {
            self.frontmatter
                .get(key)
                .and_then(Value::as_str)
                .map(str::trim)
        };
        self.fault = match (text("name"), text("description")) {
            _ if is_broken => Some(Fault::Frontmatter),
            (Some(named), _) if named != &*served.skill.name || !name::faults(named).is_empty() => {
                Some(Fault::Name)
            }
            (None, _) => Some(Fault::Name),
            (_, None | Some("")) => Some(Fault::Description),
            _ => None,
        };
    }
}

fn serve(catalog: &Catalog, visibility: &Visibility) -> ServedSkills {
    let mut by_root: BTreeMap<String, Arc<ServedSkill>> = BTreeMap::new();
    let [models, people] = [Who::Model, Who::Person].map(|who| View::new(catalog, visibility, who));
    let is_seen = |view: &View<'_>, entry: &Entry| !matches!(view.sight(entry), Sight::Hidden(_));
    for entry in catalog.entries() {
        let (for_models, for_people) = (is_seen(&models, entry), is_seen(&people, entry));
        if !for_models && !for_people {
            continue;
        }
        let skill = &entry.skill;
        let shown = if for_models {
            models.name(entry)
        } else {
            people.name(entry)
        };
        let scope = entry
            .is_shadowed()
            .then_some(skill.id.origin.scope.as_str());
        let nested = skill
            .id
            .origin
            .nested
            .split('/')
            .filter(|part| !part.is_empty());
        let root = uri::root(scope.into_iter().chain(nested).chain([&*skill.name]));
        // A second one at the same address is reached by its name, as a tool.
        by_root.entry(root.clone()).or_insert_with(|| {
            let (name, skill) = (shown.to_owned(), Arc::clone(skill));
            Arc::new(ServedSkill {
                root,
                name,
                skill,
                for_models,
                for_people,
            })
        });
    }
    ServedSkills {
        generation: catalog.generation(),
        by_root,
    }
}

/// What SKILL.md is really called.
fn main_file(skill: &Skill) -> &str {
    match skill.form {
        Form::Folder => skill.location.rsplit('/').next().unwrap_or(MAIN),
        Form::File | Form::Command | Form::Memory => MAIN,
    }
}

fn folder(skill: &Skill) -> Option<&Path> {
    Path::new(&*skill.location)
        .parent()
        .filter(|_| skill.form == Form::Folder)
}

fn content(path: &str, bytes: &[u8], stamp: Option<Stamp>) -> ServedFile {
    let (size, digest) = (bytes.len() as u64, Some(sha256(bytes)));
    ServedFile {
        path: path.to_owned(),
        size,
        digest,
        stamp,
    }
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

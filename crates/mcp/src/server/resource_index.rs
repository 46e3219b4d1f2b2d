//! Maps skills to URIs, and hashes their files.
//!
//! URIs are assigned once per catalogue. The files of a skill are hashed on request; unchanged
//! files are not read again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prowess_catalog::skill::{clean_line, one_line};
use prowess_catalog::visibility::{Audience, CatalogView, SkillVisibility};
use prowess_catalog::{Catalog, CatalogEntry, FileStamp, Skill, SkillForm, SkillId, Visibility};
use prowess_registry::{ReadError, Registry, file_stamp, is_at_rest};
use prowess_spec::problem::ProblemKind;
use prowess_spec::{name, parse};
use prowess_trust::{TrustStore, check_package};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::wire::{frontmatter, uri};

/// Maximum number of files of a skill, as specified.
pub(crate) const MAX_FILES: usize = 512;
/// Maximum size of a skill in bytes, as specified; also the limit for each file.
pub(crate) const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Main file of a skill.
pub(crate) const MAIN: &str = "SKILL.md";

/// Skills by URI.
#[derive(Debug)]
pub(crate) struct ResourceIndex {
    registry: Arc<Registry>,
    /// Has the lockfiles that packages are compared with.
    trust: Option<TrustStore>,
    visibility: Visibility,
    current: Mutex<Arc<ServedSkills>>,
    contents: Mutex<HashMap<SkillId, Arc<ServedFiles>>>,
}

/// Skills of one catalogue, sorted by URI.
#[derive(Debug, Default)]
pub(crate) struct ServedSkills {
    generation: u64,
    by_root: BTreeMap<String, Arc<ServedSkill>>,
}

/// A skill with its URI.
#[derive(Debug)]
pub(crate) struct ServedSkill {
    /// URI of its folder, without a trailing slash.
    pub(crate) root: String,
    /// Name of the skill.
    pub(crate) name: String,
    /// The skill.
    pub(crate) skill: Arc<Skill>,
    /// `true` if models can see the skill, so that it is listed.
    pub(crate) for_models: bool,
    /// `true` if users can invoke the skill, so that it is a prompt.
    pub(crate) for_people: bool,
}

impl ServedSkill {
    /// Returns the URI of its SKILL.md.
    pub(crate) fn main(&self) -> String {
        uri::join(&self.root, MAIN)
    }
}

/// Files of a skill at one time.
#[derive(Debug)]
pub(crate) struct ServedFiles {
    /// Files, sorted by path.
    pub(crate) files: Vec<ServedFile>,
    /// Frontmatter of its SKILL.md.
    pub(crate) frontmatter: Map<String, Value>,
    /// Reason why the extension does not serve the skill.
    pub(crate) fault: Option<Fault>,
}

/// A file.
#[derive(Clone, Debug)]
pub(crate) struct ServedFile {
    /// Path relative to the skill's folder.
    pub(crate) path: String,
    /// Size in bytes.
    pub(crate) size: u64,
    /// SHA-256 digest; `None` in a skill that is too large.
    pub(crate) digest: Option<[u8; 32]>,
    /// Version of the hashed file, if it need not be read again.
    stamp: Option<FileStamp>,
}

/// Reason why the extension does not serve a skill.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    #[error("cannot read it: {0}")]
    Unreadable(String),
    #[error("its frontmatter is invalid")]
    Frontmatter,
    #[error("its frontmatter has no valid name")]
    Name,
    #[error("its frontmatter has no description")]
    Description,
    #[error("its frontmatter contains invisible or control characters")]
    Hidden,
    #[error("it has {0} files; the limit is {MAX_FILES}")]
    Files(usize),
    #[error("it has {0} bytes; the limit is {MAX_BYTES}")]
    Bytes(u64),
    #[error("a file name is not UTF-8, or there are too many files")]
    Unnamed,
    #[error("{0}")]
    Package(String),
}

/// Error from reading a file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileFault {
    #[error("the skill has no such file")]
    Missing,
    #[error("the file changed since the skill was listed; call `skills/get` again")]
    Changed,
    #[error("the file has {0} bytes; the limit is {MAX_BYTES}")]
    TooLarge(u64),
    #[error("cannot read the file: {0}")]
    Unreadable(String),
}

impl ResourceIndex {
    pub(crate) fn new(
        registry: Arc<Registry>,
        trust: Option<TrustStore>,
        visibility: Visibility,
    ) -> Self {
        let (current, contents) = Default::default();
        Self {
            registry,
            trust,
            visibility,
            current,
            contents,
        }
    }

    /// Returns the current skills.
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

    /// Returns the current files of a skill.
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
        if let Some(fault) = self.package_fault(skill) {
            return failed(fault);
        }
        let unreadable = |error: ReadError| failed(Fault::Unreadable(error.to_string()));
        if matches!(skill.form, SkillForm::File | SkillForm::Command) {
            // A single-file skill has one file.
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
            let stamp = folder
                .as_deref()
                .and_then(|folder| file_stamp(&folder.join(&path)));
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

    /// Returns the reason why a package is not served, if it is not what its lockfile says.
    pub(crate) fn package_fault(&self, skill: &Skill) -> Option<Fault> {
        let checked = check_package(skill, &self.registry, self.trust.as_ref());
        checked.err().map(|error| Fault::Package(error.to_string()))
    }

    /// Reads a file, and verifies that it is the one that was hashed.
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
            SkillForm::File | SkillForm::Command => self.registry.text(&skill.id),
            SkillForm::Folder | SkillForm::Memory => {
                let main = main_file(skill);
                let path = if path == MAIN { main } else { path };
                self.registry.bytes(&skill.id, path, MAX_BYTES)
            }
        };
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(
                ReadError::Gone
                | ReadError::File(prowess_registry::resource::ResourceError::Missing { .. }),
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

    /// Returns a value that changes when the file at a URI changes, for subscriptions.
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
    /// Returns the skills after a URI, sorted by URI.
    pub(crate) fn after<'s>(&'s self, root: &str) -> impl Iterator<Item = &'s Arc<ServedSkill>> {
        use std::ops::Bound::{Excluded, Unbounded};
        self.by_root
            .range::<str, _>((Excluded(root), Unbounded))
            .map(|(_, served)| served)
    }

    /// Returns all skills, sorted by URI.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<ServedSkill>> {
        self.by_root.values()
    }

    /// Returns the skill at a URI, and the path of the file inside it: empty for the folder itself.
    pub(crate) fn find(&self, address: &str) -> Option<(&Arc<ServedSkill>, String)> {
        let parts = uri::parts(address)?;
        // Nested skills have longer URIs; the longest match wins.
        (1..=parts.len()).rev().find_map(|length| {
            let root = uri::root(parts[..length].iter().map(String::as_str));
            let served = self.by_root.get(&root)?;
            Some((served, parts[length..].join("/")))
        })
    }

    /// Returns the skill with this URI of its SKILL.md.
    pub(crate) fn skill(&self, address: &str) -> Option<&Arc<ServedSkill>> {
        let (served, path) = self.find(address)?;
        (path == MAIN).then_some(served)
    }
}

impl ServedFiles {
    /// Returns a file by its path.
    pub(crate) fn file(&self, path: &str) -> Option<&ServedFile> {
        let at = self
            .files
            .binary_search_by(|file| file.path.as_str().cmp(path))
            .ok()?;
        self.files.get(at)
    }

    /// Returns the entries of a folder by name, with the file for entries that are files. Returns
    /// `None` if there is no such folder.
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

    /// Parses the frontmatter, and checks that the skill conforms to the specification.
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
            _ if self
                .frontmatter
                .iter()
                .any(|(key, value)| hides_text(key, value)) =>
            {
                Some(Fault::Hidden)
            }
            _ => None,
        };
    }
}

/// Returns `true` if a key or a value contains characters that a reader does not see.
fn hides_text(key: &str, value: &Value) -> bool {
    let hides = |text: &str| one_line(text) != clean_line(text);
    hides(key)
        || match value {
            Value::String(text) => hides(text),
            // The depth is bounded by the YAML readers.
            Value::Array(items) => items.iter().any(|item| hides_text("", item)),
            Value::Object(map) => map.iter().any(|(key, value)| hides_text(key, value)),
            _ => false,
        }
}

fn serve(catalog: &Catalog, visibility: &Visibility) -> ServedSkills {
    let mut by_root: BTreeMap<String, Arc<ServedSkill>> = BTreeMap::new();
    let [models, people] =
        [Audience::Model, Audience::Person].map(|who| CatalogView::new(catalog, visibility, who));
    let is_seen = |view: &CatalogView<'_>, entry: &CatalogEntry| {
        !matches!(view.visibility(entry), SkillVisibility::Hidden(_))
    };
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
        // A second skill with the same URI is only available by name, as a tool.
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

/// Returns the actual file name of SKILL.md.
pub(crate) fn main_file(skill: &Skill) -> &'static str {
    skill.main_file().unwrap_or(MAIN)
}

fn folder(skill: &Skill) -> Option<PathBuf> {
    skill.path().filter(|_| skill.form == SkillForm::Folder)
}

fn content(path: &str, bytes: &[u8], stamp: Option<FileStamp>) -> ServedFile {
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

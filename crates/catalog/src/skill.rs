//! The metadata of one skill.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_spec::identity::IdentitySource;
use prowess_spec::sidecar::Sidecar;
use prowess_spec::yaml::YamlNode;
use prowess_spec::{ParsedSkill, identify, name};

use crate::location::Location;
use crate::scope::SkillOrigin;

/// Maximum length of a text field, in characters. Listings show less; the file has the rest.
const MAX_TEXT: usize = 4096;
/// Names of the file with the text of a skill that is a folder.
pub const MAIN_FILES: [&str; 2] = ["SKILL.md", "skill.md"];
/// Maximum number of tags, globs and metadata values.
const MAX_VALUES: usize = 64;

/// The identity of a skill: its origin and its path there. The name is only a label.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SkillId {
    /// The root that contains it.
    pub origin: Arc<SkillOrigin>,
    /// Path below the root, with forward slashes: of the folder, or of the file if the skill is a
    /// single file. Bytes that are not UTF-8 are written as `\xNN`.
    pub path: Box<str>,
}

impl Ord for SkillId {
    fn cmp(&self, other: &Self) -> Ordering {
        // Most compared ids share their origin.
        let origins = if Arc::ptr_eq(&self.origin, &other.origin) {
            Ordering::Equal
        } else {
            self.origin.cmp(&other.origin)
        };
        origins.then_with(|| self.path.cmp(&other.path))
    }
}

impl PartialOrd for SkillId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The form of a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkillForm {
    /// A folder with a `SKILL.md`.
    Folder,
    /// A single Markdown file.
    File,
    /// A slash command of Claude Code: a Markdown file below `commands`.
    Command,
    /// Created in code or shipped inside the program.
    Memory,
}

/// The version of a file that a skill was read from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileStamp {
    /// Size in bytes.
    pub size: u64,
    /// Modification time of the content, in nanoseconds since 1970.
    pub modified: i64,
    /// Change time of the inode, in nanoseconds since 1970.
    pub changed: i64,
    /// Inode number.
    pub inode: u64,
}

/// The metadata of a skill: everything needed to list, find and rank it. The body stays on disk
/// until it is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// The identity.
    pub id: SkillId,
    /// The name.
    pub name: Box<str>,
    /// The other name, if folder and frontmatter differ.
    pub alias: Option<Box<str>>,
    /// The description, of one or more lines.
    pub description: Box<str>,
    /// `true` if the author wrote the description; otherwise it was taken from the body.
    pub described: bool,
    /// When to use the skill.
    pub when_to_use: Option<Box<str>>,
    /// Hint for the arguments.
    pub argument_hint: Option<Box<str>>,
    /// The version.
    pub version: Option<Box<str>>,
    /// The author: `agent` for skills written by an agent.
    pub creator: Option<Box<str>>,
    /// `true` if an agent wrote it, or may have, because its creator could not be read.
    pub by_agent: bool,
    /// The tags.
    pub tags: Vec<Box<str>>,
    /// The metadata in file order; non-string values as written.
    pub metadata: Vec<(Box<str>, Box<str>)>,
    /// Globs of the files it is for; empty for all files.
    pub paths: Vec<Box<str>>,
    /// `true` if a model may invoke it.
    pub model_invocable: bool,
    /// `true` if a user may invoke it.
    pub user_invocable: bool,
    /// `true` if the author wants it in every listing.
    pub pinned: bool,
    /// The form.
    pub form: SkillForm,
    /// The location: the absolute path of its file, if it has one.
    pub location: Location,
    /// The version of the file that was read.
    pub stamp: FileStamp,
    /// The version of `agents/openai.yaml` that was read; `None` if there is none.
    pub sidecar: Option<FileStamp>,
    /// A checksum of the whole text.
    pub fingerprint: u64,
    /// The number of problems in its text that the parser worked around.
    pub problems: u32,
    /// The digest of all its files, if the source guarantees it before they are read.
    pub seal: Option<Box<str>>,
}

/// Facts about a skill that are known before its text is parsed.
#[derive(Clone, Debug)]
pub struct SkillLocation<'p> {
    /// The identity.
    pub id: SkillId,
    /// The form.
    pub form: SkillForm,
    /// The location.
    pub location: Location,
    /// The name given by the location: of the folder or of the file.
    pub given: Option<&'p str>,
    /// The version of the file that was read.
    pub stamp: FileStamp,
    /// The version of the sidecar that was read.
    pub sidecar: Option<FileStamp>,
    /// A checksum of the whole text.
    pub fingerprint: u64,
}

impl Skill {
    /// Creates a skill from a parsed text. Never fails: missing fields have defaults.
    pub fn from_text(
        place: SkillLocation<'_>,
        parsed: &ParsedSkill<'_>,
        sidecar: Option<&Sidecar>,
    ) -> Self {
        let manifest = &parsed.manifest;
        let found = identify(manifest, place.given, parsed.body_text());
        let text = |text: &Option<prowess_spec::manifest::SpannedText>| {
            text.as_ref()
                .filter(|text| !text.is_blank())
                .map(|text| cut(text.value.trim()))
        };
        let implicit = sidecar.and_then(|sidecar| sidecar.allow_implicit_invocation);
        // A command is named by its path, whatever its frontmatter says.
        let (name, alias) = match (place.form, place.given) {
            (SkillForm::Command, Some(given)) => (cut(&name::normalise(given)), None),
            _ => (keep(found.name), found.alias.map(keep)),
        };
        Self {
            name,
            alias,
            description: keep(found.description),
            described: found.description_source == IdentitySource::Frontmatter,
            when_to_use: text(&manifest.when_to_use),
            argument_hint: text(&manifest.argument_hint),
            version: text(&manifest.version),
            creator: text(&manifest.creator).or_else(|| other_creator(manifest)),
            by_agent: may_be_by_agent(manifest),
            tags: tags(manifest),
            metadata: metadata(manifest),
            paths: manifest
                .paths
                .iter()
                .take(MAX_VALUES)
                .map(|text| cut(&text.value))
                .collect(),
            model_invocable: !manifest.model_invocation_disabled() && implicit != Some(false),
            user_invocable: manifest.is_user_invocable(),
            pinned: manifest.always_present.is_some_and(|flag| flag.value),
            form: place.form,
            id: place.id,
            location: place.location,
            stamp: place.stamp,
            sidecar: place.sidecar,
            fingerprint: place.fingerprint,
            problems: u32::try_from(parsed.problems.len()).unwrap_or(u32::MAX),
            seal: None,
        }
    }

    /// Returns the path of the skill's file. Returns `None` if the skill is not on disk.
    pub fn file(&self) -> Option<Cow<'_, Path>> {
        (self.form != SkillForm::Memory).then(|| self.location.path())
    }

    /// Returns the folder of a skill, or its file if a single file is the skill. Returns `None` if
    /// it is not on disk.
    pub fn path(&self) -> Option<PathBuf> {
        let file = self.file()?;
        match self.form {
            SkillForm::Folder => file.parent().map(Path::to_owned),
            _ => Some(file.into_owned()),
        }
    }

    /// Returns the name of the file with the text of a skill that is a folder. Returns `None` for
    /// any other skill.
    pub fn main_file(&self) -> Option<&'static str> {
        let file = self.file().filter(|_| self.form == SkillForm::Folder)?;
        let mut names = MAIN_FILES.into_iter();
        names.find(|name| file.ends_with(name))
    }

    /// Returns `true` if both are the same skill with the same text, whenever they were written.
    pub fn says_the_same(&self, other: &Self) -> bool {
        let (stamp, sidecar) = (other.stamp, other.sidecar);
        self.fingerprint == other.fingerprint
            && Self {
                stamp,
                sidecar,
                ..self.clone()
            } == *other
    }

    /// Returns the description and `when_to_use` on one line, for listings.
    pub fn listing_text(&self) -> String {
        let mut text = one_line(&self.description);
        if let Some(when) = &self.when_to_use {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(&one_line(when));
        }
        text
    }
}

/// Returns a text on one line without control, direction and invisible characters, for models and
/// clients.
pub fn clean_line(text: &str) -> String {
    crate::index::tidy(text).into_owned()
}

/// Replaces each run of whitespace with one space.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// Converts an owned text, cutting it if necessary.
fn keep(text: String) -> Box<str> {
    if text.len() <= MAX_TEXT {
        text.into_boxed_str()
    } else {
        cut(&text)
    }
}

fn cut(text: &str) -> Box<str> {
    // A text has at most as many characters as bytes.
    if text.len() <= MAX_TEXT {
        return text.into();
    }
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => text[..end].into(),
        None => text.into(),
    }
}

/// Returns the value of `Creator` and the like: whether a skill needs trust depends on it.
fn other_creator(manifest: &prowess_spec::Manifest) -> Option<Box<str>> {
    let mut entries = manifest.entries.iter();
    let entry = entries.find(|entry| entry.key.trim().eq_ignore_ascii_case("creator"))?;
    entry.value.text().map(|text| cut(text.trim()))
}

/// Returns `true` if a `creator`, at the top or in `metadata`, is `agent` or could not be read.
fn may_be_by_agent(manifest: &prowess_spec::Manifest) -> bool {
    let metadata = manifest.entries.iter();
    let metadata = metadata.filter(|entry| entry.key.trim().eq_ignore_ascii_case("metadata"));
    let nested = metadata.flat_map(|entry| entry.value.entries().unwrap_or_default());
    let mut creators = manifest
        .entries
        .iter()
        .chain(nested)
        .filter(|entry| entry.key.trim().eq_ignore_ascii_case("creator"));
    let may_be_agent = |value: &YamlNode| match value.text() {
        Some(text) => text.trim().eq_ignore_ascii_case("agent"),
        None => !value.is_null(),
    };
    manifest.has_lost("creator") || creators.any(|entry| may_be_agent(&entry.value))
}

/// Returns `tags` or `metadata.tags`, given as a list or separated by commas.
fn tags(manifest: &prowess_spec::Manifest) -> Vec<Box<str>> {
    let node = manifest
        .entry("tags")
        .map(|entry| &entry.value)
        .or_else(|| {
            manifest
                .entry("metadata")
                .and_then(|metadata| metadata.value.get("tags"))
        });
    let Some(node) = node.filter(|node| !node.is_null()) else {
        return Vec::new();
    };
    let words: Vec<&str> = match node.items() {
        Some(items) => items.iter().filter_map(YamlNode::text).collect(),
        None => node.text().unwrap_or_default().split(',').collect(),
    };
    let words = words
        .into_iter()
        .map(str::trim)
        .filter(|word| !word.is_empty());
    words.take(MAX_VALUES).map(cut).collect()
}

fn metadata(manifest: &prowess_spec::Manifest) -> Vec<(Box<str>, Box<str>)> {
    let entries = manifest
        .entry("metadata")
        .and_then(|entry| entry.value.entries());
    let texts = entries
        .unwrap_or_default()
        .iter()
        .filter(|entry| !entry.value.is_null())
        .filter_map(|entry| entry.value.text().map(|text| (cut(&entry.key), cut(text))));
    texts.take(MAX_VALUES).collect()
}

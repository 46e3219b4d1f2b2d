//! One skill, as the catalogue knows it.

use std::cmp::Ordering;
use std::sync::Arc;

use prowess_spec::identity::Source;
use prowess_spec::sidecar::Sidecar;
use prowess_spec::yaml::Node;
use prowess_spec::{Parsed, identify, name};

use crate::scope::Origin;

/// Longest text of one field that is kept. A listing shows less; the file has the rest.
const MAX_TEXT: usize = 4096;
/// Most tags, globs and metadata values that are kept.
const MAX_VALUES: usize = 64;

/// What identifies a skill: where it comes from, and its path there. The name is only a label.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SkillId {
    /// The root it was found under.
    pub origin: Arc<Origin>,
    /// Path below the root, with forward slashes: of the folder, or of the file where a file alone
    /// is the skill. Bytes that are not UTF-8 are written `\xNN`.
    pub path: Box<str>,
}

impl Ord for SkillId {
    fn cmp(&self, other: &Self) -> Ordering {
        // Most ids that are compared share their origin.
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

/// In what form a skill exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// A folder with SKILL.md.
    Folder,
    /// A Markdown file that is a skill on its own.
    File,
    /// A slash command of Claude Code: a Markdown file below `commands`.
    Command,
    /// Built in code, or shipped inside the program.
    Memory,
}

/// Which version of a file a skill was read from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp {
    /// Size in bytes.
    pub size: u64,
    /// When the content changed, in nanoseconds since 1970.
    pub modified: i64,
    /// When anything changed, in nanoseconds since 1970.
    pub changed: i64,
    /// The file's number on its disk.
    pub inode: u64,
}

/// The head of a skill: everything that is needed to list, find and rank it. The body stays on disk
/// until somebody asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// What identifies it.
    pub id: SkillId,
    /// What it is called.
    pub name: Box<str>,
    /// The other name, where folder and frontmatter differ.
    pub alias: Option<Box<str>>,
    /// What it does, in one line or many.
    pub description: Box<str>,
    /// Whether the author wrote the description; else it was taken from the body.
    pub described: bool,
    /// When to use it.
    pub when_to_use: Option<Box<str>>,
    /// What to type after its name.
    pub argument_hint: Option<Box<str>>,
    /// Its version.
    pub version: Option<Box<str>>,
    /// Who wrote it: `agent` for skills that an agent wrote.
    pub creator: Option<Box<str>>,
    /// Its tags.
    pub tags: Vec<Box<str>>,
    /// Its metadata, in the order of the file; values that are not text as they are written.
    pub metadata: Vec<(Box<str>, Box<str>)>,
    /// Globs of files it is meant for; none means all.
    pub paths: Vec<Box<str>>,
    /// Whether a model may invoke it.
    pub model_invocable: bool,
    /// Whether a person may invoke it.
    pub user_invocable: bool,
    /// Whether the author wants it in every listing.
    pub pinned: bool,
    /// In what form it exists.
    pub form: Form,
    /// Where it is, for people and models: the absolute path of its file, if it has one.
    pub location: Box<str>,
    /// Which version of the file was read.
    pub stamp: Stamp,
    /// Which version of `agents/openai.yaml` was read; nothing when there is none.
    pub sidecar: Option<Stamp>,
    /// A sum over the whole text: another sum, another text.
    pub fingerprint: u64,
    /// How many problems its text has that a reader had to work around.
    pub problems: u32,
    /// The digest over all its files, where its source vouches for that before they are read.
    pub seal: Option<Box<str>>,
}

/// What is known of a skill before its text is read.
#[derive(Clone, Debug)]
pub struct Place<'p> {
    /// What will identify it.
    pub id: SkillId,
    /// In what form it exists.
    pub form: Form,
    /// Where it is, for people and models.
    pub location: Box<str>,
    /// The name that place gives it: of the folder, or of the file.
    pub given: Option<&'p str>,
    /// Which version of the file was read.
    pub stamp: Stamp,
    /// Which version of the sidecar was read.
    pub sidecar: Option<Stamp>,
    /// A sum over the whole text.
    pub fingerprint: u64,
}

impl Skill {
    /// Makes a skill of a text. Never fails: what the author left out is made up for.
    pub fn from_text(place: Place<'_>, parsed: &Parsed<'_>, sidecar: Option<&Sidecar>) -> Self {
        let manifest = &parsed.manifest;
        let found = identify(manifest, place.given, parsed.body_text());
        let text = |text: &Option<prowess_spec::manifest::Text>| {
            text.as_ref()
                .filter(|text| !text.is_blank())
                .map(|text| cut(text.value.trim()))
        };
        let implicit = sidecar.and_then(|sidecar| sidecar.allow_implicit_invocation);
        // The path names a command, whatever its frontmatter says.
        let (name, alias) = match (place.form, place.given) {
            (Form::Command, Some(given)) => (cut(&name::normalise(given)), None),
            _ => (keep(found.name), found.alias.map(keep)),
        };
        Self {
            name,
            alias,
            description: keep(found.description),
            described: found.description_source == Source::Frontmatter,
            when_to_use: text(&manifest.when_to_use),
            argument_hint: text(&manifest.argument_hint),
            version: text(&manifest.version),
            creator: text(&manifest.creator),
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

    /// Tells whether this is the same skill with the same text, whenever it was written.
    pub fn says_the_same(&self, other: &Self) -> bool {
        let (stamp, sidecar) = (other.stamp, other.sidecar);
        self.fingerprint == other.fingerprint
            && Self {
                stamp,
                sidecar,
                ..self.clone()
            } == *other
    }

    /// Returns what a listing says of the skill: the description and when to use it, in one line.
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

/// A text in one line: every run of blanks is one blank.
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

/// Takes a text that is ours already.
fn keep(text: String) -> Box<str> {
    if text.len() <= MAX_TEXT {
        text.into_boxed_str()
    } else {
        cut(&text)
    }
}

fn cut(text: &str) -> Box<str> {
    // No text has more characters than bytes.
    if text.len() <= MAX_TEXT {
        return text.into();
    }
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => text[..end].into(),
        None => text.into(),
    }
}

/// `tags`, or `metadata.tags`, as a list or as words between commas.
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
        Some(items) => items.iter().filter_map(Node::text).collect(),
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

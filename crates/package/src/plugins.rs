//! Reads the manifests of plugins in a source: `marketplace.json` and `plugin.json`.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::find::{ManifestNote, SourceEntry, SourceEntryKind, SourceTree, is_below, joined};
use crate::source::{self, ArchiveLocation, GitSource, PackageSource, SourceError, WantedRef};

/// Manifests of several plugins, at the root of a source.
const MARKETPLACES: [&str; 3] = [
    ".claude-plugin/marketplace.json",
    ".agents/plugins/marketplace.json",
    ".cursor-plugin/marketplace.json",
];
/// Manifests of a plugin, in its folder.
const MANIFESTS: [&str; 4] = [
    ".claude-plugin/plugin.json",
    ".codex-plugin/plugin.json",
    ".cursor-plugin/plugin.json",
    "plugin.json",
];
/// Maximum size of a manifest in bytes.
const MAX_MANIFEST: u64 = 4 * 1024 * 1024;
/// Maximum number of plugins of a source.
const MAX_PLUGINS: usize = 10_000;

/// A plugin that a manifest names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPlugin {
    /// The name.
    pub name: String,
    /// The version that it declares.
    pub version: Option<String>,
    /// The place of its files.
    pub place: PluginPlace,
    /// Folders of its skills, in this source.
    pub skills: BTreeSet<String>,
}

/// The place of the files of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginPlace {
    /// A folder of this source; empty for the root.
    Here(String),
    /// Another source. A commit id in the manifest is the wanted commit.
    Elsewhere(Box<PackageSource>),
    /// A kind of source that is not supported: `npm`, `command`.
    Unsupported(String),
    /// A submodule, which is not fetched.
    Submodule,
    /// A folder that does not exist.
    Missing,
    /// A path or an address that is refused.
    Invalid,
}

/// Finds the plugins of a source. `folders` are the folders with a SKILL.md.
pub(crate) fn find(
    tree: &SourceTree,
    folders: &BTreeSet<&str>,
    read: &mut dyn FnMut(&SourceEntry) -> Option<Vec<u8>>,
    notes: &mut Vec<ManifestNote>,
) -> Vec<FoundPlugin> {
    let mut plugins: Vec<FoundPlugin> = Vec::new();
    let mut known_roots = BTreeSet::new();
    for path in MARKETPLACES {
        let Some(manifest) = manifest(tree, path, read, notes) else {
            continue;
        };
        let entries = manifest.get("plugins").and_then(Value::as_array);
        for entry in entries.into_iter().flatten().take(MAX_PLUGINS) {
            let Some(plugin) = entry.as_object() else {
                continue;
            };
            let plugin = from_marketplace(plugin, tree, folders, read, notes);
            if let PluginPlace::Here(root) = &plugin.place {
                known_roots.insert(root.clone());
            }
            // Several manifests of one repository name the same plugins.
            let twin = plugins
                .iter_mut()
                .find(|known| known.name == plugin.name && known.place == plugin.place);
            match twin {
                Some(known) => known.skills.extend(plugin.skills),
                None => plugins.push(plugin),
            }
        }
    }
    let mut roots = BTreeSet::new();
    for entry in tree.below("") {
        for name in MANIFESTS {
            let root = entry.path.strip_suffix(name);
            let root = root.filter(|root| root.is_empty() || root.ends_with('/'));
            // A `plugin.json` of another program is common; only the one at the root counts.
            let is_plain = name == "plugin.json";
            if let Some(root) = root.filter(|root| !is_plain || root.is_empty()) {
                roots.insert(root.trim_end_matches('/').to_owned());
            }
        }
    }
    for root in roots
        .difference(&known_roots)
        .take(MAX_PLUGINS.saturating_sub(plugins.len()))
    {
        let Some(own) = own_manifest(tree, root, read, notes) else {
            continue;
        };
        let name = text(&own, "name").unwrap_or_else(|| root.clone());
        plugins.push(FoundPlugin {
            name,
            version: text(&own, "version"),
            skills: skills_of(root, &paths(own.get("skills")), folders),
            place: PluginPlace::Here(root.clone()),
        });
    }
    plugins
}

fn from_marketplace(
    plugin: &Map<String, Value>,
    tree: &SourceTree,
    folders: &BTreeSet<&str>,
    read: &mut dyn FnMut(&SourceEntry) -> Option<Vec<u8>>,
    notes: &mut Vec<ManifestNote>,
) -> FoundPlugin {
    let mut found = FoundPlugin {
        name: text(plugin, "name").unwrap_or_default(),
        version: text(plugin, "version"),
        place: place(plugin.get("source"), tree),
        skills: BTreeSet::new(),
    };
    if let PluginPlace::Here(root) = &found.place {
        let own = own_manifest(tree, root, read, notes);
        let mut listed = paths(plugin.get("skills"));
        if let Some(own) = &own {
            found.version = found.version.or_else(|| text(own, "version"));
            listed.extend(paths(own.get("skills")));
        }
        found.skills = skills_of(root, &listed, folders);
    }
    found
}

/// Returns the skills of a plugin: those that it lists, else those in its folder `skills`, and one
/// in its own folder.
fn skills_of(root: &str, listed: &[String], folders: &BTreeSet<&str>) -> BTreeSet<String> {
    if listed.is_empty() {
        let skills = joined(root, "skills");
        let is_own =
            |folder: &&&str| is_below(folder, &skills) || **folder == root && !root.is_empty();
        return folders
            .iter()
            .filter(is_own)
            .map(ToString::to_string)
            .collect();
    }
    let mut found = BTreeSet::new();
    for path in listed {
        let Some(path) = inner_path(path) else {
            continue;
        };
        let place = joined(root, &path);
        if folders.contains(place.as_str()) {
            found.insert(place);
        } else {
            let below = folders.iter().filter(|folder| is_below(folder, &place));
            found.extend(below.map(ToString::to_string));
        }
    }
    found
}

fn place(source: Option<&Value>, tree: &SourceTree) -> PluginPlace {
    match source {
        Some(Value::String(path)) => here(path, tree),
        Some(Value::Object(source)) => {
            let kind = text(source, "source").unwrap_or_default();
            let found = match kind.as_str() {
                "local" => return here(&text(source, "path").unwrap_or_default(), tree),
                "github" | "url" | "git" | "git-subdir" => repository(source),
                "archive" => archive(source),
                _ => return PluginPlace::Unsupported(kind),
            };
            match found {
                Ok(found) => PluginPlace::Elsewhere(Box::new(found)),
                Err(_) => PluginPlace::Invalid,
            }
        }
        _ => PluginPlace::Invalid,
    }
}

fn here(path: &str, tree: &SourceTree) -> PluginPlace {
    let Some(path) = inner_path(path) else {
        return PluginPlace::Invalid;
    };
    match tree.get(&path).map(|entry| &entry.kind) {
        Some(SourceEntryKind::Submodule) => PluginPlace::Submodule,
        Some(_) => PluginPlace::Invalid,
        None if tree.has_folder(&path) => PluginPlace::Here(path),
        None => PluginPlace::Missing,
    }
}

/// Normalises a path of a manifest, which begins with `./` and stays inside.
fn inner_path(path: &str) -> Option<String> {
    let rest = match path {
        "." => "",
        path => path.strip_prefix("./")?,
    };
    match rest.trim_matches('/') {
        "" if !rest.starts_with('/') => Some(String::new()),
        _ if rest.starts_with('/') => None,
        rest => crate::address::skill_path(rest).ok(),
    }
}

fn repository(source: &Map<String, Value>) -> Result<PackageSource, SourceError> {
    let address = text(source, "repo").or_else(|| text(source, "url"));
    let address = address.unwrap_or_default();
    let mut git: GitSource = if address.contains("://") {
        source::git_address(&address, false)?
    } else {
        let parsed = PackageSource::parse(
            &address,
            source::DEFAULT_SHORTHAND,
            source::SourceOrigin::Typed,
        )?;
        match parsed {
            PackageSource::Git(git) if !git.url.starts_with("file:") => git,
            _ => {
                return Err(SourceError::NotASource {
                    text: crate::address::shown(&address),
                });
            }
        }
    };
    if let Some(path) = text(source, "path") {
        let path = path.trim_start_matches("./");
        git.path = match path {
            "" => None,
            path => Some(crate::address::skill_path(path)?),
        };
    }
    let commit = text(source, "sha").or_else(|| text(source, "commit"));
    git.wanted = match (commit, text(source, "ref")) {
        (Some(commit), _) => WantedRef::commit(&commit)?,
        (None, Some(name)) => WantedRef::parse(&name)?,
        (None, None) => git.wanted,
    };
    Ok(PackageSource::Git(git))
}

fn archive(source: &Map<String, Value>) -> Result<PackageSource, SourceError> {
    let url = text(source, "url").unwrap_or_default();
    let digest = text(source, "sha256").map(|digits| {
        let digits = digits.trim_start_matches("sha256:").to_ascii_lowercase();
        format!("sha256:{digits}")
    });
    let url = crate::address::Address::parse(&url, false)?;
    if digest
        .as_ref()
        .is_some_and(|digest| !crate::lock::is_digest(digest))
    {
        return Err(SourceError::Address {
            text: url.to_string(),
            why: "its digest is invalid",
        });
    }
    Ok(PackageSource::Archive {
        location: ArchiveLocation::Url(url.to_string()),
        digest,
    })
}

fn own_manifest(
    tree: &SourceTree,
    root: &str,
    read: &mut dyn FnMut(&SourceEntry) -> Option<Vec<u8>>,
    notes: &mut Vec<ManifestNote>,
) -> Option<Map<String, Value>> {
    let mut names = MANIFESTS.iter();
    names.find_map(|name| manifest(tree, &joined(root, name), read, notes))
}

fn manifest(
    tree: &SourceTree,
    path: &str,
    read: &mut dyn FnMut(&SourceEntry) -> Option<Vec<u8>>,
    notes: &mut Vec<ManifestNote>,
) -> Option<Map<String, Value>> {
    let entry = tree.get(path)?;
    let mut note = |why: &'static str| {
        let note = ManifestNote {
            path: path.to_owned(),
            why,
        };
        if !notes.contains(&note) {
            notes.push(note);
        }
    };
    if !matches!(
        entry.kind,
        SourceEntryKind::File | SourceEntryKind::Executable
    ) {
        note("it is not a regular file");
        return None;
    }
    if entry.size > MAX_MANIFEST {
        note("it is too large");
        return None;
    }
    // A listing without contents has no manifests.
    let bytes = read(entry)?;
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(manifest)) => Some(manifest),
        Ok(_) => {
            note("it is not a JSON object");
            None
        }
        Err(_) => {
            note("it is not JSON");
            None
        }
    }
}

fn text(map: &Map<String, Value>, key: &str) -> Option<String> {
    let text = map.get(key)?.as_str()?;
    (text.len() <= 4096).then(|| text.to_owned())
}

fn paths(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(path)) => vec![path.clone()],
        Some(Value::Array(paths)) => paths
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        _ => Vec::new(),
    }
}

//! `load_skill_resource`: reads a file of a skill.
//!
//! Input and output are core-agent's: `{skill_name, resource_path}` and `{skill_name, path,
//! content}`. `load_skill_resources`, the name in `skilled_crew`, is an alias. Unlike in both, any
//! file of the package can be read, long files are paged, and a file that is not text returns a
//! notice. The registry opens files relative to the skill's folder; no path and no symbolic link
//! can leave it.

use prowess_catalog::{CatalogEntry, Scope};
use prowess_diag::suggest;
use prowess_diag::wording::{size, tick};
use prowess_registry::ReadError;
use prowess_registry::resource::{MAX_RESOURCE, Resource, ResourceError, page};
use prowess_spec::{PathFault, ResourcePath};
use prowess_trust::{PackagePin, TrustError};
use serde_json::{Value, json};

use crate::context::ToolContext;
use crate::loaded::Loaded;
use crate::names::LOAD_SKILL_RESOURCE;
use crate::result_limit;
use crate::skill_access::{find, listed, permit_read, shown};
use crate::tool::{Tool, ToolAnswer, ToolError, ToolErrorKind, number, object, text};

/// Default and maximum number of bytes to read. Leaves room for a note in the result.
const MAX_PART: usize = result_limit::MAX_BYTES - 500;
/// Maximum length of the list of files in an error, in characters.
const MAX_NAMES: usize = 1_000;

/// `load_skill_resource`.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadSkillResource;

impl Tool for LoadSkillResource {
    fn name(&self) -> &'static str {
        LOAD_SKILL_RESOURCE
    }

    fn description(&self, _context: &ToolContext) -> String {
        "Reads a file of a skill: a reference, an asset, a script or any other file in its folder. \
         Long files are paged; pass `offset` to continue."
            .to_owned()
    }

    fn input_schema(&self) -> Value {
        object(
            &[
                (
                    "skill_name",
                    json!({ "type": "string", "description": "The name of the skill." }),
                ),
                (
                    "resource_path",
                    json!({ "type": "string", "description": "The path of the file, relative to the skill's folder." }),
                ),
                (
                    "offset",
                    json!({ "type": "integer", "minimum": 0, "description": "Byte offset to start at: `next` from the previous result." }),
                ),
                (
                    "limit",
                    json!({ "type": "integer", "minimum": 1, "description": "Maximum number of bytes to read." }),
                ),
            ],
            &["skill_name", "resource_path"],
        )
    }

    fn output_schema(&self) -> Value {
        object(
            &[
                ("skill_name", json!({ "type": "string" })),
                ("path", json!({ "type": "string" })),
                (
                    "content",
                    json!({ "type": ["string", "null"], "description": "The text, or null if the file is not text." }),
                ),
                ("type", json!({ "type": "string" })),
                ("size", json!({ "type": "integer", "minimum": 0 })),
                ("offset", json!({ "type": "integer", "minimum": 0 })),
                ("next", json!({ "type": ["integer", "null"] })),
            ],
            &[
                "skill_name",
                "path",
                "content",
                "type",
                "size",
                "offset",
                "next",
            ],
        )
    }

    fn is_read_only(&self, _context: &ToolContext) -> bool {
        true
    }

    fn answer(
        &self,
        context: &ToolContext,
        loaded: &mut Loaded,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        let (asked, raw) = (text(input, "skill_name"), text(input, "resource_path"));
        let offset = number(input, "offset").unwrap_or(0);
        let limit = number(input, "limit").and_then(|limit| usize::try_from(limit).ok());
        let limit = limit.unwrap_or(MAX_PART).clamp(1, MAX_PART);

        let skill = find(context, asked)?;
        let entry = skill.entry();
        // Rules match the normalized path: `references/././x` is the same file as `references/x`.
        let path = ResourcePath::new(raw).map_err(|fault| wrong_path(raw, fault))?;
        let path = path.as_str();
        permit_read(context, loaded, &skill, path)?;
        let resource = read(context, entry, path, offset, limit)?;
        Ok(answer(entry, path, resource))
    }
}

/// Reads a part of a file. A package is compared with its lockfile: what a model reads is what was
/// locked.
fn read(
    context: &ToolContext,
    entry: &CatalogEntry,
    path: &str,
    offset: u64,
    limit: usize,
) -> Result<Resource, ToolError> {
    let (skill, registry) = (&entry.skill, &context.services.registry);
    let failed = |error: ReadError| unread(context, entry, path, &error);
    if matches!(
        context.package_of(skill),
        PackagePin::Free | PackagePin::Live(_) | PackagePin::Unknown
    ) {
        let read = registry.file(&skill.id, path, offset, limit);
        return read.map_err(failed);
    }
    let refused = |error: TrustError| ToolError::new(ToolErrorKind::Failed, error.to_string());
    let bytes = registry.bytes(&skill.id, path, MAX_RESOURCE);
    // Hashed after the file was read, so that the error about a changed package names its files.
    let package = context.check_package(skill).map_err(refused)?;
    let bytes = bytes.map_err(failed)?;
    if package.is_some_and(|package| !package.has_content(path, &bytes)) {
        let text = format!(
            "{} of the skill {} changed while it was being read.",
            tick(shown(path)),
            shown(entry.name())
        );
        return Err(ToolError::new(ToolErrorKind::Failed, text));
    }
    Ok(page(&bytes, offset, limit))
}

fn answer(entry: &CatalogEntry, path: &str, resource: Resource) -> ToolAnswer {
    let name = entry.name();
    match resource {
        Resource::Binary { kind, size: bytes } => {
            let text = format!(
                "{} of the skill {} is not text: {kind}, {}. It was not loaded.",
                tick(shown(path)),
                shown(name),
                size(bytes)
            );
            let value = json!({
                "skill_name": name, "path": path, "content": null,
                "type": kind, "size": bytes, "offset": 0, "next": null,
            });
            ToolAnswer::new(text, value)
        }
        Resource::Text {
            mut text,
            offset,
            size: bytes,
            mut next,
        } => {
            let kept = result_limit::head(&text, text.len(), result_limit::MAX_LINES - 10).len();
            if kept < text.len() {
                text.truncate(kept);
                next = Some(offset + kept as u64);
            }
            let end = offset + text.len() as u64;
            let mut told = match &*entry.skill.id.origin {
                origin if origin.scope == Scope::Server => {
                    format!("[from the MCP server `{}`]\n{text}", shown(&origin.vendor))
                }
                _ => text.clone(),
            };
            if offset > 0 || next.is_some() {
                if !told.is_empty() && !told.ends_with('\n') {
                    told.push('\n');
                }
                told.push_str(&match next {
                    Some(next) => {
                        format!(
                            "[bytes {offset} to {end} of {bytes}; pass offset {next} to continue]\n"
                        )
                    }
                    None => format!("[bytes {offset} to {end} of {bytes}; end of file]\n"),
                });
            }
            let value = json!({
                "skill_name": name, "path": path, "content": text,
                "type": "text/plain", "size": bytes, "offset": offset, "next": next,
            });
            ToolAnswer::new(told, value)
        }
    }
}

fn wrong_path(raw: &str, fault: PathFault) -> ToolError {
    let why = match fault {
        PathFault::Empty => "it is empty",
        PathFault::Absolute => "it must be relative to the skill's folder",
        PathFault::Escapes => "it points outside the skill's folder",
        PathFault::Characters => "it contains a backslash or a NUL",
    };
    let text = format!(
        "{} is not a path inside the skill: {why}.",
        tick(shown(raw))
    );
    ToolError::new(ToolErrorKind::NoFile, text)
}

fn unread(context: &ToolContext, entry: &CatalogEntry, path: &str, error: &ReadError) -> ToolError {
    let name = shown(entry.name());
    let text = match error {
        ReadError::File(ResourceError::Missing { .. } | ResourceError::NotAFile { .. }) => {
            let what = match error {
                ReadError::File(ResourceError::NotAFile { kind, .. }) => {
                    format!(
                        "{} of the skill {name} is {kind}, not a file.",
                        tick(shown(path))
                    )
                }
                _ => format!("The skill {name} has no file {}.", tick(shown(path))),
            };
            format!("{what}{}", others(context, entry, path))
        }
        ReadError::File(ResourceError::Read { source, .. }) => {
            format!(
                "Cannot read {} of the skill {name}: {source}.",
                tick(shown(path))
            )
        }
        error => format!(
            "Cannot read {} of the skill {name}: {error}.",
            tick(shown(path))
        ),
    };
    ToolError::new(ToolErrorKind::NoFile, text)
}

/// Suggests a similar path and lists the files of the skill.
fn others(context: &ToolContext, entry: &CatalogEntry, path: &str) -> String {
    let folder = context.services.registry.open_folder(&entry.skill);
    let Some(files) = folder.and_then(|folder| folder.ok()?.files().ok()) else {
        return String::new();
    };
    let paths: Vec<String> = files
        .iter()
        .map(|file| file.path.to_string_lossy().into_owned())
        .collect();
    let last = |path: &'_ str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let inside = format!("{path}/");
    let below = paths
        .iter()
        .filter(|known| known.starts_with(&inside))
        .map(String::as_str);
    // A similar path, then the same name in another folder, then a file in the given folder.
    let near = suggest::nearest(path, paths.iter().map(String::as_str))
        .or_else(|| {
            paths
                .iter()
                .map(String::as_str)
                .find(|known| last(known) == last(path))
        })
        .or_else(|| below.into_iter().next());
    let mut text = String::new();
    if let Some(near) = near {
        text.push_str(&format!(" Did you mean {}?", tick(shown(near))));
    }
    let paths: Vec<String> = paths.iter().map(|path| shown(path)).collect();
    let (list, more) = listed(&paths, MAX_NAMES);
    text.push_str(&format!(" Its files: {list}"));
    if more > 0 {
        text.push_str(&format!(", and {more} more"));
    }
    text
}

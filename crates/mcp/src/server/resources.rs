//! Skills as ordinary resources, for clients without the skills extension.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use prowess_catalog::skill::clean_line;
use prowess_tools::{SkillHandle, ToolContext};
use rmcp::ErrorData;
use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};
use serde_json::json;

use super::paging::{self, Page};
use super::resource_index::{FileFault, MAIN, ResourceIndex, ServedSkill, ServedSkills, main_file};
use super::session::Session;
use crate::wire::digest_text;

/// Number of resources per page.
const RESOURCES: usize = 200;
/// Index of an earlier draft.
pub(crate) const INDEX: &str = "skill://index.json";
/// URI template of the files of all skills.
pub(crate) const TEMPLATE: &str = "skill://{skill}/{+file}";

/// Handles `resources/list`: the SKILL.md of every skill, and the legacy index if it is enabled.
pub(crate) fn list(
    resource_index: &ResourceIndex,
    cursor: Option<&str>,
    with_index: bool,
) -> Result<ListResourcesResult, ErrorData> {
    let from = paging::place(cursor)?;
    let skills = resource_index.now();
    let seen = skills.after(&from).filter(|served| served.for_models);
    let Page { items, next } = paging::page(seen, RESOURCES, |served| &served.root);
    let mut resources: Vec<Resource> = items.into_iter().map(resource).collect();
    if with_index && from.is_empty() {
        let index = Resource::new(INDEX, "index.json")
            .with_description("Index of the skills of this server")
            .with_mime_type("application/json");
        resources.insert(0, index);
    }
    let mut result = ListResourcesResult::with_all_items(resources);
    result.next_cursor = next;
    Ok(result)
}

fn resource(served: &Arc<ServedSkill>) -> Resource {
    let skill = &served.skill;
    Resource::new(served.main(), &*skill.name)
        .with_title(served.name.clone())
        .with_description(clean_line(&skill.description))
        .with_mime_type("text/markdown")
        .with_size(skill.stamp.size)
}

/// Handles `resources/templates/list`.
pub(crate) fn templates() -> ListResourceTemplatesResult {
    let template = ResourceTemplate::new(TEMPLATE, "skill-file")
        .with_title("File of a skill")
        .with_description(
            "A file of a skill by path; `SKILL.md` contains the instructions and refers to the others",
        );
    ListResourceTemplatesResult::with_all_items(vec![template])
}

/// Handles `resources/read`. A client that listed a skill gets exactly the listed content, or an
/// error. Reading does not load the skill or run its commands.
pub(crate) fn read(
    tool_context: &ToolContext,
    resource_index: &ResourceIndex,
    session: &Session,
    address: &str,
    with_index: bool,
) -> Result<ReadResourceResult, ErrorData> {
    let skills = resource_index.now();
    if with_index && address == INDEX {
        let text = ResourceContents::text(index(resource_index, &skills), INDEX);
        return Ok(ReadResourceResult::new(vec![
            text.with_mime_type("application/json"),
        ]));
    }
    let none = |why: &str| {
        let text = format!("resource not found: `{address}`{why}");
        ErrorData::resource_not_found(text, Some(json!({ "uri": address })))
    };
    let (served, path) = skills.find(address).ok_or_else(|| none(""))?;
    if path.is_empty() {
        return Err(none(" (it is a folder; use `resources/directory/read`)"));
    }
    let catalog = tool_context.services.registry.snapshot();
    let entry = catalog.entry_of(&served.skill).ok_or_else(|| none(""))?;
    let handle = SkillHandle::new(&served.name, entry);
    let loaded = session.loaded().clone();
    // The text of a skill is published under one name.
    let real = if path == MAIN {
        main_file(&served.skill)
    } else {
        &path
    };
    if tool_context
        .permit_client_file(&loaded, &handle, real)
        .is_err()
    {
        return Err(none(""));
    }
    // Listed or not: a package that changed since is not served.
    if let Some(fault) = resource_index.package_fault(&served.skill) {
        let text = format!("cannot read `{address}`: {fault}");
        let data = Some(json!({ "uri": address }));
        return Err(ErrorData::internal_error(text, data));
    }
    let contents = session
        .held(&served.skill.id)
        .unwrap_or_else(|| resource_index.look(served));
    let bytes = resource_index
        .read(served, &path, &contents)
        .map_err(|fault| match fault {
            FileFault::Missing => none(" (the skill has no such file)"),
            fault => {
                let text = format!("cannot read `{address}`: {fault}");
                ErrorData::internal_error(text, Some(json!({ "uri": address })))
            }
        })?;
    let known = mime_type(&path);
    let contents = match String::from_utf8(bytes) {
        Ok(text) => {
            ResourceContents::text(text, address).with_mime_type(known.unwrap_or("text/plain"))
        }
        Err(error) => {
            let blob = BASE64_STANDARD.encode(error.as_bytes());
            ResourceContents::blob(blob, address)
                .with_mime_type(known.unwrap_or("application/octet-stream"))
        }
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

/// Returns the index of an earlier draft, for clients that still use it.
fn index(resource_index: &ResourceIndex, skills: &ServedSkills) -> String {
    let entry = |served: &Arc<ServedSkill>| {
        let contents = resource_index.look(served);
        if contents.fault.is_some() {
            return None;
        }
        let digest = contents
            .file(MAIN)
            .and_then(|file| file.digest.as_ref().map(digest_text));
        Some(json!({
            "name": served.skill.name,
            "type": "skill-md",
            "description": served.skill.description,
            "url": served.main(),
            "digest": digest,
        }))
    };
    let seen = skills.all().filter(|served| served.for_models);
    let skills: Vec<_> = seen.filter_map(entry).collect();
    json!({
        "$schema": "https://schemas.agentskills.io/discovery/0.2.0/schema.json",
        "skills": skills,
    })
    .to_string()
}

/// Returns the media type of a file by its name, or `None` if it is unknown.
pub(crate) fn mime_type(path: &str) -> Option<&'static str> {
    /// Media types by extension.
    const TYPES: &[(&str, &str)] = &[
        ("css", "text/css"),
        ("csv", "text/csv"),
        ("gif", "image/gif"),
        ("html", "text/html"),
        ("jpeg", "image/jpeg"),
        ("jpg", "image/jpeg"),
        ("js", "text/javascript"),
        ("json", "application/json"),
        ("md", "text/markdown"),
        ("mjs", "text/javascript"),
        ("pdf", "application/pdf"),
        ("png", "image/png"),
        ("py", "text/x-python"),
        ("sh", "application/x-sh"),
        ("svg", "image/svg+xml"),
        ("toml", "application/toml"),
        ("ts", "text/plain"),
        ("txt", "text/plain"),
        ("webp", "image/webp"),
        ("xml", "application/xml"),
        ("yaml", "application/yaml"),
        ("yml", "application/yaml"),
        ("zip", "application/zip"),
    ];
    let name = path.rsplit('/').next()?;
    let (_, end) = name.rsplit_once('.')?;
    let end = end.to_ascii_lowercase();
    TYPES
        .binary_search_by(|(known, _)| (*known).cmp(&end))
        .ok()
        .map(|at| TYPES[at].1)
}

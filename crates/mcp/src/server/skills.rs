//! The skills extension: `skills/list`, `skills/get`, `resources/directory/read`.

use std::sync::Arc;

use rmcp::ErrorData;
use serde_json::{Map, Value, json};

use super::paging::{self, Page};
use super::resource_index::{Fault, ResourceIndex, ServedFiles, ServedSkill};
use super::resources::mime_type;
use super::session::Session;
use crate::wire::{digest_text, uri};

/// Number of skills per page.
const SKILLS: usize = 50;
/// Number of folder entries per page.
const CHILDREN: usize = 200;
/// Time for which a result may be cached, in milliseconds.
pub(crate) const FRESH_MS: u64 = 60_000;

/// Controls cache hints, which clients of older protocols do not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hints {
    Given,
    Left,
}

/// Handles `skills/list`.
pub(crate) fn list(
    resource_index: &ResourceIndex,
    session: &Session,
    cursor: Option<&str>,
    hints: Hints,
) -> Result<Value, ErrorData> {
    let from = paging::place(cursor)?;
    let all = resource_index.now();
    let seen = all.after(&from).filter(|served| served.for_models);
    let Page { items, next } = paging::page(seen, SKILLS, |served| &served.root);
    let mut skills = Vec::new();
    let mut omitted = Vec::new();
    for served in items {
        let contents = resource_index.look(served);
        match &contents.fault {
            None => {
                skills.push(entry(served, &contents));
                session.hold(&served.skill.id, contents);
            }
            Some(fault) => {
                omitted.push(json!({ "name": served.name, "reason": fault.to_string() }));
            }
        }
    }
    let mut result = Map::new();
    result.insert("skills".to_owned(), skills.into());
    if let Some(next) = next {
        result.insert("nextCursor".to_owned(), next.into());
    }
    if !omitted.is_empty() {
        result.insert("_meta".to_owned(), json!({ "prowess/omitted": omitted }));
    }
    Ok(complete(result, hints, true))
}

/// Handles `skills/get`.
pub(crate) fn get(
    resource_index: &ResourceIndex,
    session: &Session,
    address: &str,
    hints: Hints,
) -> Result<Value, ErrorData> {
    let skills = resource_index.now();
    let none = |why: String| ErrorData::invalid_params(why, Some(json!({ "uri": address })));
    let served = skills
        .skill(address)
        .ok_or_else(|| none(format!("skill not found: `{address}`")))?;
    let contents = resource_index.look(served);
    if let Some(fault) = &contents.fault {
        return Err(none(format!("cannot serve skill `{address}`: {fault}")));
    }
    let mut result = Map::new();
    result.insert("skill".to_owned(), entry(served, &contents));
    session.hold(&served.skill.id, contents);
    Ok(complete(result, hints, true))
}

/// Handles `resources/directory/read`.
pub(crate) fn directory(
    resource_index: &ResourceIndex,
    address: &str,
    cursor: Option<&str>,
    hints: Hints,
) -> Result<Value, ErrorData> {
    let from = paging::place(cursor)?;
    let skills = resource_index.now();
    let none = || {
        let text = format!("folder not found: `{address}`");
        ErrorData::invalid_params(text, Some(json!({ "uri": address })))
    };
    let (served, folder) = skills.find(address).ok_or_else(none)?;
    let contents = resource_index.look(served);
    if let Some(fault @ (Fault::Unreadable(_) | Fault::Unnamed | Fault::Package(_))) =
        &contents.fault
    {
        return Err(ErrorData::internal_error(
            format!("cannot read `{address}`: {fault}"),
            None,
        ));
    }
    let children = contents.children(&folder).ok_or_else(none)?;
    let rest = children.into_iter().filter(|(name, _)| **name > *from);
    let Page { items, next } = paging::page(rest, CHILDREN, |(name, _)| name);
    let resources: Vec<Value> = items
        .into_iter()
        .map(|(name, file)| {
            let path = if folder.is_empty() {
                name.to_owned()
            } else {
                format!("{folder}/{name}")
            };
            let uri = uri::join(&served.root, &path);
            match file {
                Some(file) => {
                    let mut resource = json!({ "uri": uri, "name": name, "size": file.size });
                    if let Some(mime_type) = mime_type(name) {
                        resource["mimeType"] = mime_type.into();
                    }
                    resource
                }
                None => json!({ "uri": uri, "name": name, "mimeType": "inode/directory" }),
            }
        })
        .collect();
    let mut result = Map::new();
    result.insert("resources".to_owned(), resources.into());
    if let Some(next) = next {
        result.insert("nextCursor".to_owned(), next.into());
    }
    Ok(complete(result, hints, false))
}

/// Returns a skill in the format of the extension: its frontmatter, and all files with their
/// digests.
fn entry(served: &Arc<ServedSkill>, contents: &ServedFiles) -> Value {
    let resources: Vec<Value> = contents
        .files
        .iter()
        .map(|file| {
            json!({
                "uri": uri::join(&served.root, &file.path),
                "digest": file.digest.as_ref().map(digest_text),
                "size": file.size,
            })
        })
        .collect();
    json!({ "uri": served.main(), "frontmatter": contents.frontmatter, "resources": resources })
}

fn complete(mut result: Map<String, Value>, hints: Hints, may_be_kept: bool) -> Value {
    result.insert("resultType".to_owned(), "complete".into());
    if hints == Hints::Given && may_be_kept {
        result.insert("ttlMs".to_owned(), FRESH_MS.into());
        result.insert("cacheScope".to_owned(), "private".into());
    }
    Value::Object(result)
}

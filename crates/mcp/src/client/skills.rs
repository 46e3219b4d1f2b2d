//! Skills of a server: listed when they may have changed, read when used, verified on each read.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::wire::{MAIN, MAX_BYTES, Manifest, ManifestError};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prowess_catalog::{
    FileStamp, Location, Scope, Skill, SkillForm, SkillId, SkillLocation, SkillOrigin,
};
use prowess_registry::resource::{self, Resource};
use prowess_registry::{Known, Scan, SkillSource, SourceFault, SourceFaultKind};
use prowess_spec::{ReadFault, ResourcePath, parse};
use prowess_traits::{OfferedSkills, SkillServerError};
use rmcp::model::{
    ClientRequest, ReadResourceRequest, ReadResourceRequestParams, ResourceContents, ServerResult,
};
use serde_json::{Value, json};

use super::connection::Link;
use super::error::LinkError;

/// Maximum number of skills of a server.
const MAX_SKILLS: usize = 10_000;
/// Maximum number of pages requested.
const MAX_PAGES: usize = 1_000;
/// Maximum size of the kept part of a list, in bytes.
const MAX_LISTED: usize = 32 * 1024 * 1024;
/// Maximum number of reported invalid entries.
const MAX_FAULTS: usize = 20;
/// Timeout for a whole list.
const LISTING: Duration = Duration::from_secs(20);
/// Maximum size of the content cache, in bytes.
const MAX_KEPT: usize = 32 * 1024 * 1024;

/// Skills of a server.
#[derive(Debug)]
pub(crate) struct ServerSkills {
    link: Arc<Link>,
    origin: Arc<SkillOrigin>,
    listed: Mutex<Listed>,
    kept: Mutex<HashMap<[u8; 32], Arc<[u8]>>>,
}

/// The last list received.
#[derive(Debug, Default)]
struct Listed {
    /// Connection that the list came from; `None` before the first list.
    generation: Option<u64>,
    manifests: BTreeMap<Box<str>, Manifest>,
    faults: Vec<SourceFault>,
}

impl ServerSkills {
    pub(crate) fn new(link: Arc<Link>, order: usize) -> Self {
        let order = u32::try_from(order).unwrap_or(u32::MAX);
        let mut origin = SkillOrigin::new(Scope::Server, order, format!("mcp:{}", link.name()));
        origin.vendor = link.name().into();
        let (listed, kept) = (Mutex::default(), Mutex::default());
        Self {
            link,
            origin: Arc::new(origin),
            listed,
            kept,
        }
    }

    fn listed(&self) -> MutexGuard<'_, Listed> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests the list of skills if it may have changed: at first, after a reconnect, and after a
    /// change notification. Scans do not wait for it.
    pub(crate) async fn update(&self) -> Result<(), LinkError> {
        let is_stale = self.link.take_stale();
        if !is_stale && self.listed().generation == Some(self.link.generation()) {
            return Ok(());
        }
        let late = || self.link.odd("listing its skills timed out");
        let found = tokio::time::timeout(LISTING, list(&self.link)).await;
        match found.unwrap_or_else(|_| Err(late())) {
            Ok((manifests, faults)) => {
                let place = |(uri, why): (String, String)| fault(self.place(&uri), why, false);
                let faults = faults.into_iter().map(place).collect();
                let generation = Some(self.link.generation());
                *self.listed() = Listed {
                    generation,
                    manifests,
                    faults,
                };
                Ok(())
            }
            Err(error) => {
                self.link.mark_stale();
                // Keep the previous list, even if the server is gone.
                let mut listed = self.listed();
                let kept = !listed.manifests.is_empty();
                listed.faults = vec![fault(
                    Location::from_text(self.link.name()),
                    error.to_string(),
                    kept,
                )];
                Err(error)
            }
        }
    }

    /// Returns the location of a skill, for display.
    fn place(&self, uri: &str) -> Location {
        let uri = prowess_diag::wording::shorten(&prowess_diag::sanitize::line(uri), 500);
        Location::from_text(format!("{} {uri}", self.link.name()))
    }

    /// Builds a skill from the list alone.
    fn skill(&self, manifest: &Manifest) -> Skill {
        let seal = manifest.seal();
        let mut first = [0; 8];
        first.copy_from_slice(&seal[..8]);
        let place = SkillLocation {
            id: SkillId {
                origin: Arc::clone(&self.origin),
                path: manifest.uri.clone(),
            },
            form: SkillForm::Memory,
            location: self.place(&manifest.uri),
            given: None,
            stamp: FileStamp::default(),
            sidecar: None,
            fingerprint: u64::from_le_bytes(first),
        };
        let mut skill = Skill::from_text(place, &parse(manifest.head().as_bytes()), None);
        // The server's name prefixes the skill's name, and the server cannot control visibility.
        skill.name = format!("{}:{}", self.link.name(), manifest.name).into();
        skill.alias = None;
        skill.pinned = false;
        skill.seal = Some(crate::wire::digest_text(&seal).into());
        skill
    }

    /// Reads a file and verifies that it matches the list.
    fn read(&self, id: &SkillId, path: &ResourcePath) -> Result<Arc<[u8]>, Refused> {
        let manifest = self
            .listed()
            .manifests
            .get(&id.path)
            .cloned()
            .ok_or(Refused::Missing)?;
        let (uri, promised) = manifest.find(path).ok_or(Refused::Missing)?;
        let kept = promised.and_then(|promised| self.kept().get(&promised.digest).cloned());
        let content = if let Some(kept) = kept {
            kept
        } else {
            let uri = uri.into_string();
            let read = self
                .link
                .wait(move |link| async move { read(&link, uri).await });
            read.map_err(|error| Refused::Why(error.to_string()))?
                .into()
        };
        let mut checked = match promised {
            Some(promised) => promised.check(&content),
            None => Ok(()),
        };
        if checked.is_ok() && path.as_str() == MAIN {
            checked = manifest.check_head(&content);
        }
        if let Err(why) = checked {
            // It may have just changed; list again.
            self.link.look_again();
            let server = self.link.name();
            return Err(Refused::Why(format!(
                "content from server `{server}` does not match its list: {why}"
            )));
        }
        if let Some(promised) = promised {
            self.keep(promised.digest, &content);
        }
        Ok(content)
    }

    /// Returns the listed skills, for packages. A list that could not be requested is an error.
    pub(crate) fn offered(&self) -> Result<OfferedSkills, SkillServerError> {
        let listed = self.listed();
        let faults: Vec<(String, String)> = listed
            .faults
            .iter()
            .map(|fault| (fault.location.to_string(), fault.why.to_string()))
            .collect();
        if listed.generation.is_none() {
            let message = faults.into_iter().next().map(|(_, why)| why);
            return Err(self.failed(message.unwrap_or_default()));
        }
        Ok(OfferedSkills {
            skills: listed.manifests.values().map(Manifest::offered).collect(),
            faults,
        })
    }

    /// Reads a file of a listed skill, for packages. `skill` is the URI of its folder.
    pub(crate) fn offered_file(
        &self,
        skill: &str,
        path: &str,
    ) -> Result<Vec<u8>, SkillServerError> {
        let id = SkillId {
            origin: Arc::clone(&self.origin),
            path: format!("{skill}/{MAIN}").into(),
        };
        let content = self.checked(&id, path);
        let content = content.map_err(|error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            self.failed(cause.unwrap_or_else(|| error.to_string()))
        })?;
        Ok(content.to_vec())
    }

    fn failed(&self, message: String) -> SkillServerError {
        SkillServerError::Failed {
            server: self.link.name().to_owned(),
            message,
        }
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<[u8; 32], Arc<[u8]>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, digest: [u8; 32], content: &Arc<[u8]>) {
        let mut kept = self.kept();
        let size: usize = kept.values().map(|content| content.len()).sum();
        if size + content.len() > MAX_KEPT {
            kept.clear();
        }
        kept.insert(digest, Arc::clone(content));
    }

    fn checked(&self, id: &SkillId, path: &str) -> Result<Arc<[u8]>, resource::ResourceError> {
        let wanted = ResourcePath::new(path).map_err(|fault| resource::ResourceError::Path {
            path: path.to_owned(),
            fault,
        })?;
        self.read(id, &wanted).map_err(|refused| match refused {
            Refused::Missing => resource::ResourceError::Missing {
                path: path.to_owned(),
            },
            Refused::Why(why) => resource::ResourceError::Read {
                path: path.to_owned(),
                source: std::io::Error::other(why),
            },
        })
    }
}

fn fault(location: Location, why: String, kept: bool) -> SourceFault {
    let why = SourceFaultKind::Read(ReadFault::Unreadable(why));
    SourceFault {
        location,
        why,
        kept,
    }
}

/// Error from reading a file.
enum Refused {
    Missing,
    Why(String),
}

impl SkillSource for ServerSkills {
    fn scan(&self, known: Known<'_>) -> Scan {
        let listed = self.listed();
        let same = |skill: Skill| {
            let before = known.skills.iter().find(|known| known.id == skill.id);
            match before {
                Some(before) if **before == skill => Arc::clone(before),
                _ => Arc::new(skill),
            }
        };
        let skills = listed
            .manifests
            .values()
            .map(|manifest| same(self.skill(manifest)));
        Scan {
            skills: skills.collect(),
            faults: listed.faults.clone(),
            ..Scan::default()
        }
    }

    fn text(&self, id: &SkillId) -> Result<Vec<u8>, ReadFault> {
        let main = ResourcePath::new(MAIN).map_err(|_| ReadFault::Missing)?;
        match self.read(id, &main) {
            Ok(content) => Ok(content.to_vec()),
            Err(Refused::Missing) => Err(ReadFault::Missing),
            Err(Refused::Why(why)) => Err(ReadFault::Unreadable(why)),
        }
    }

    fn file(
        &self,
        id: &SkillId,
        path: &str,
        offset: u64,
        limit: usize,
    ) -> Result<Resource, resource::ResourceError> {
        Ok(resource::page(&self.checked(id, path)?, offset, limit))
    }

    fn bytes(
        &self,
        id: &SkillId,
        path: &str,
        most: u64,
    ) -> Result<Vec<u8>, resource::ResourceError> {
        let content = self.checked(id, path)?;
        let size = content.len() as u64;
        if size > most {
            return Err(resource::ResourceError::TooLarge {
                path: path.to_owned(),
                size,
            });
        }
        Ok(content.to_vec())
    }

    fn files(&self, id: &SkillId) -> Option<Vec<(String, u64)>> {
        self.listed().manifests.get(&id.path)?.sizes()
    }

    fn owns(&self, id: &SkillId) -> bool {
        id.origin == self.origin
    }
}

/// Listed skills by URI, and invalid entries with the reason.
type Found = (BTreeMap<Box<str>, Manifest>, Vec<(String, String)>);

/// Requests all pages of `skills/list`. Keeps only the parts about skills.
async fn list(link: &Link) -> Result<Found, LinkError> {
    let (mut found, mut faults) = (BTreeMap::new(), Vec::new());
    let (mut entries, mut bytes) = (0, 0);
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let params = cursor
            .as_ref()
            .map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
        let page = link.custom("skills/list", params).await?;
        let Some(skills) = page.get("skills").and_then(Value::as_array) else {
            return Err(link.odd("the list of skills has no `skills`"));
        };
        for entry in skills {
            let read = Manifest::read(entry).and_then(|manifest| {
                let twice = found.contains_key(&manifest.uri);
                if twice {
                    Err(ManifestError::Repeated)
                } else {
                    Ok(manifest)
                }
            });
            entries += 1;
            match read {
                Ok(manifest) => {
                    bytes += manifest.weight();
                    found.insert(manifest.uri.clone(), manifest);
                }
                Err(why) if faults.len() < MAX_FAULTS => {
                    let uri = entry.get("uri").and_then(Value::as_str).unwrap_or("?");
                    faults.push((uri.chars().take(500).collect(), why.to_string()));
                }
                Err(_) => {}
            }
        }
        if entries > MAX_SKILLS || bytes > MAX_LISTED {
            return Err(link.odd("its list of skills is too large"));
        }
        cursor = page
            .get("nextCursor")
            .and_then(Value::as_str)
            .map(str::to_owned);
        if cursor.is_none() {
            return Ok((found, faults));
        }
    }
    Err(link.odd("its list of skills has too many pages"))
}

/// Reads one file with `resources/read`.
async fn read(link: &Link, uri: String) -> Result<Vec<u8>, LinkError> {
    let params = ReadResourceRequestParams::new(uri.clone());
    let request = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params));
    let ServerResult::ReadResourceResult(result) = link.request(request).await? else {
        return Err(link.odd("the result has no content"));
    };
    // Accept only the requested URI: anything else was not listed.
    let content = result.contents.into_iter().find(|content| match content {
        ResourceContents::TextResourceContents { uri: its, .. }
        | ResourceContents::BlobResourceContents { uri: its, .. } => *its == uri,
        _ => false,
    });
    let bytes = match content {
        Some(ResourceContents::TextResourceContents { text, .. }) => text.into_bytes(),
        Some(ResourceContents::BlobResourceContents { blob, .. }) => STANDARD
            .decode(blob)
            .map_err(|_| link.odd("the content is not valid Base64"))?,
        _ => return Err(link.odd("it sent a different file than requested")),
    };
    if bytes.len() as u64 > MAX_BYTES {
        return Err(link.odd("the content is too large"));
    }
    Ok(bytes)
}

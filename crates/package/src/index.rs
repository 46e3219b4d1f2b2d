//! Indexes of skills on web sites: `.well-known` in the versions 0.2.0 and 0.1.0, and that of
//! `OpenCode`, which has the form of 0.1.0 in a folder of its own.

use std::path::Path;
use std::time::Instant;

use prowess_traits::{FetchLimits, Fetched, Fetcher, WebRequest};
use serde_json::Value;
use url::Url;

use crate::archive::{ArchiveError, ArchiveLimits, UnpackedArchive, unpack};
use crate::lock::{LockedKind, is_digest};
use crate::resolve::{ResolveError, check_sequence};
use crate::signature::{MAX_MINISIGN, MINISIGN_ENDING, SignatureError};
use crate::tree::{
    PackageTree, TreeBuilder, TreeError, TreeLimits, check_tree_path, digest_of_bytes,
};

/// Maximum size of an index in bytes.
pub(crate) const MAX_INDEX: usize = 4 * 1024 * 1024;
/// Maximum number of entries of an index.
const MAX_SKILLS: usize = 10_000;
/// Maximum number of files of an entry.
const MAX_FILES: usize = 10_000;
/// Maximum size of one file or archive in bytes.
pub(crate) const MAX_BODY: usize = 64 * 1024 * 1024;
/// Maximum length of a description that is kept, in characters.
const MAX_DESCRIPTION: usize = 1024;
/// The timeout of an index in milliseconds.
pub(crate) const INDEX_DEADLINE: u64 = 30_000;
/// The timeout of a file or archive in milliseconds.
pub(crate) const BODY_DEADLINE: u64 = 600_000;
/// The place of an index of version 0.2.0.
const PLACE_2: &str = ".well-known/agent-skills/index.json";
/// The place of an index of version 0.1.0.
const PLACE_1: &str = ".well-known/skills/index.json";

/// Error from an index.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// There is no index.
    #[error("no index of skills at `{url}`")]
    NotFound {
        /// The address of the site.
        url: String,
    },
    /// The request failed.
    #[error("cannot fetch `{url}`: {reason}")]
    Fetch {
        /// The address.
        url: String,
        /// The reason.
        reason: String,
    },
    /// The server refused the request.
    #[error("`{url}` answered with status {status}")]
    Status {
        /// The address.
        url: String,
        /// The status.
        status: u16,
    },
    /// The address leads to another host.
    #[error("`{url}` has moved to `{to}`")]
    Moved {
        /// The address.
        url: String,
        /// The new address.
        to: String,
    },
    /// The answer is not JSON: a page of a network that asks for a log-in, for example.
    #[error("`{url}` answered with {} instead of JSON", media.as_deref().unwrap_or("something"))]
    NotJson {
        /// The address.
        url: String,
        /// The type of the answer.
        media: Option<String>,
    },
    /// The index or an entry is not as the format says.
    #[error("invalid index `{url}`: {reason}")]
    Invalid {
        /// The address.
        url: String,
        /// The fault.
        reason: String,
    },
    /// The answer is too large.
    #[error("`{url}` is larger than {limit} bytes")]
    TooLarge {
        /// The address.
        url: String,
        /// The maximum.
        limit: usize,
    },
    /// The digest of an artifact is wrong.
    #[error("`{url}` has the digest {found}, but the index says {expected}")]
    Digest {
        /// The address.
        url: String,
        /// The digest in the index.
        expected: String,
        /// The digest of the bytes.
        found: String,
    },
    /// An address in the index leads to another origin.
    #[error("the index `{index}` names `{url}`, which is on another host")]
    OtherOrigin {
        /// The address of the index.
        index: String,
        /// The address in it.
        url: String,
    },
    /// The index is older than one that was seen.
    #[error("the index `{url}` has sequence {found}, but {seen} was seen before")]
    Stale {
        /// The address.
        url: String,
        /// The sequence.
        found: u64,
        /// The highest sequence seen.
        seen: u64,
    },
    /// The index has no such skill.
    #[error("the index `{url}` has no skill `{name}`")]
    NoSkill {
        /// The address.
        url: String,
        /// The name.
        name: String,
    },
    /// The archive of a skill is refused.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The files of a skill are refused.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The signature of an artifact is missing or wrong.
    #[error(transparent)]
    Signature(#[from] SignatureError),
}

/// Checks an artifact: its address and its content.
pub type CheckArtifact<'a> = dyn Fn(&Url, &[u8]) -> Result<(), IndexError> + 'a;

/// The format of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillIndexFormat {
    /// 0.2.0: an artifact with a digest for each skill.
    Artifacts,
    /// 0.1.0 and `OpenCode`: a list of files for each skill, without digests.
    Files,
}

/// The index of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillIndex {
    /// The address of the index itself.
    pub url: String,
    /// The format.
    pub format: SkillIndexFormat,
    /// The number that rises with each version of the index, if it has one.
    pub sequence: Option<u64>,
    /// The skills, in the order of the index.
    pub skills: Vec<IndexedSkill>,
    /// Names of entries that are not valid, with the reason.
    pub skipped: Vec<(String, String)>,
}

/// One skill of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedSkill {
    /// The name.
    pub name: String,
    /// The description.
    pub description: String,
    /// The version, if the index has it.
    pub version: Option<String>,
    /// Where its files are.
    pub content: IndexedContent,
}

/// The files of a skill in an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexedContent {
    /// One SKILL.md.
    Text {
        /// The address.
        url: String,
        /// The digest of the file.
        digest: String,
    },
    /// An archive.
    Archive {
        /// The address.
        url: String,
        /// The digest of the archive.
        digest: String,
    },
    /// Single files below a folder.
    Files {
        /// The address of the folder, with a slash at the end.
        base: String,
        /// Paths relative to it.
        paths: Vec<String>,
    },
}

/// A skill of an index that was fetched.
#[derive(Debug)]
pub enum IndexArtifact {
    /// The files of the skill.
    Tree(PackageTree),
    /// An archive with the digest of the archive itself.
    Archive(UnpackedArchive, String),
}

/// Reads indexes.
#[derive(Clone, Copy, Debug)]
pub struct IndexReader<'a> {
    /// Sends the requests.
    pub fetcher: &'a dyn Fetcher,
    /// `true` if artifacts may be on other hosts than the index.
    pub other_origins: bool,
}

impl IndexReader<'_> {
    /// Finds and reads the index of a site: below the address, then at the root of its host.
    /// `highest` is the highest sequence seen of each address.
    pub fn read(
        &self,
        site: &str,
        highest: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<SkillIndex, IndexError> {
        let base = parse(site, site)?;
        let mut last = None;
        for url in places(&base) {
            match self.read_at(&url) {
                Ok(index) => {
                    check_fresh(&index.url, index.sequence, highest(&index.url))?;
                    return Ok(index);
                }
                Err(IndexError::Status {
                    status: 404 | 410, ..
                }) => {}
                // A site may answer every address with its start page.
                Err(error @ IndexError::NotJson { .. }) => last = last.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        Err(last.unwrap_or_else(|| IndexError::NotFound {
            url: site.to_owned(),
        }))
    }

    fn read_at(&self, url: &Url) -> Result<SkillIndex, IndexError> {
        let fetched = self.get(url, MAX_INDEX, INDEX_DEADLINE)?;
        let value: Value =
            serde_json::from_slice(&fetched.body).map_err(|_| IndexError::NotJson {
                url: url.to_string(),
                media: fetched.media_type.clone(),
            })?;
        // Redirects on the same host count: addresses are relative to where the index is.
        let place = parse(&fetched.url, &fetched.url)?;
        parse_index(&place, &value)
    }

    fn get(&self, url: &Url, bytes: usize, deadline_ms: u64) -> Result<Fetched, IndexError> {
        get(self.fetcher, url, &[], bytes, deadline_ms)
    }

    /// Fetches a skill of an index into new folders in `staging`.
    pub fn fetch(
        &self,
        index: &SkillIndex,
        skill: &IndexedSkill,
        staging: &Path,
        check: &CheckArtifact<'_>,
    ) -> Result<IndexArtifact, IndexError> {
        match &skill.content {
            IndexedContent::Text { url, digest } => {
                let body = self.artifact(index, url, digest, check)?;
                let into = staging.join("index-tree");
                let mut builder = TreeBuilder::create(into, TreeLimits::default())?;
                add(&mut builder, "SKILL.md", &body)?;
                Ok(IndexArtifact::Tree(builder.finish()?))
            }
            IndexedContent::Archive { url, digest } => {
                let body = self.artifact(index, url, digest, check)?;
                let into = staging.join("index-archive");
                let unpacked = unpack(&body, &into, ArchiveLimits::default())?;
                Ok(IndexArtifact::Archive(unpacked, digest.clone()))
            }
            IndexedContent::Files { base, paths } => {
                let into = staging.join("index-tree");
                let mut builder = TreeBuilder::create(into, TreeLimits::default())?;
                let base = parse(base, &index.url)?;
                // One deadline for all files.
                let start = Instant::now();
                for path in paths {
                    let url = base.join(&escaped(path)).map_err(|_| IndexError::Invalid {
                        url: index.url.clone(),
                        reason: format!("`{path}` is not a path"),
                    })?;
                    self.check_origin(index, &url)?;
                    let left = usize::try_from(builder.bytes_left()).unwrap_or(usize::MAX);
                    let spent = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
                    let deadline = BODY_DEADLINE.saturating_sub(spent);
                    let body = self.get(&url, left.min(MAX_BODY), deadline)?.body;
                    add(&mut builder, path, &body)?;
                }
                Ok(IndexArtifact::Tree(builder.finish()?))
            }
        }
    }

    /// Fetches a file or archive, and compares its digest.
    fn artifact(
        &self,
        index: &SkillIndex,
        url: &str,
        digest: &str,
        check: &CheckArtifact<'_>,
    ) -> Result<Vec<u8>, IndexError> {
        let url = parse(url, &index.url)?;
        self.check_origin(index, &url)?;
        let body = self.get(&url, MAX_BODY, BODY_DEADLINE)?.body;
        check_digest(&url, digest, &body)?;
        check(&url, &body)?;
        Ok(body)
    }

    fn check_origin(&self, index: &SkillIndex, url: &Url) -> Result<(), IndexError> {
        let own = parse(&index.url, &index.url)?;
        let is_https = url.scheme() == "https";
        if own.origin() == url.origin() || (self.other_origins && is_https) {
            return Ok(());
        }
        Err(IndexError::OtherOrigin {
            index: index.url.clone(),
            url: url.to_string(),
        })
    }
}

impl SkillIndex {
    /// Returns the skill with this name.
    pub fn get(&self, name: &str) -> Result<&IndexedSkill, IndexError> {
        let found = self.skills.iter().find(|skill| skill.name == name);
        found.ok_or_else(|| IndexError::NoSkill {
            url: self.url.clone(),
            name: name.to_owned(),
        })
    }
}

/// Sends a request, and refuses every answer but a whole one of the same host.
pub(crate) fn get(
    fetcher: &dyn Fetcher,
    url: &Url,
    headers: &[(String, String)],
    bytes: usize,
    deadline_ms: u64,
) -> Result<Fetched, IndexError> {
    let limits = FetchLimits {
        bytes,
        deadline_ms,
        // A person named this host, which may be in the network of a company.
        private: true,
    };
    let request = WebRequest {
        headers,
        ..WebRequest::get(url.as_str())
    };
    let fetched = fetcher.send(&request, &limits);
    let fetched = fetched.map_err(|error| IndexError::Fetch {
        url: url.to_string(),
        reason: error.message,
    })?;
    if let Some(to) = fetched.elsewhere {
        return Err(IndexError::Moved {
            url: url.to_string(),
            to,
        });
    }
    if fetched.status != 200 {
        return Err(IndexError::Status {
            url: url.to_string(),
            status: fetched.status,
        });
    }
    if fetched.cut {
        return Err(IndexError::TooLarge {
            url: url.to_string(),
            limit: bytes,
        });
    }
    Ok(fetched)
}

/// Fetches the `minisign` signature beside an archive. `None` if there is none.
pub(crate) fn get_signature(
    fetcher: &dyn Fetcher,
    url: &Url,
    headers: &[(String, String)],
) -> Result<Option<String>, IndexError> {
    let mut url = url.clone();
    url.set_path(&format!("{}{MINISIGN_ENDING}", url.path()));
    match get(fetcher, &url, headers, MAX_MINISIGN, INDEX_DEADLINE) {
        Ok(fetched) => Ok(Some(String::from_utf8_lossy(&fetched.body).into_owned())),
        Err(IndexError::Status {
            status: 404 | 410, ..
        }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Refuses content that has another digest than the index says.
pub(crate) fn check_digest(url: &Url, expected: &str, content: &[u8]) -> Result<(), IndexError> {
    let found = digest_of_bytes(content);
    if found == expected {
        return Ok(());
    }
    Err(IndexError::Digest {
        url: url.to_string(),
        expected: expected.to_owned(),
        found,
    })
}

/// Refuses an index that is older than one that was seen, or lost its sequence.
pub(crate) fn check_fresh(
    url: &str,
    sequence: Option<u64>,
    seen: Option<u64>,
) -> Result<(), IndexError> {
    match check_sequence(seen, sequence) {
        Err(ResolveError::Stale { seen, found }) => Err(IndexError::Stale {
            url: url.to_owned(),
            found,
            seen,
        }),
        _ => Ok(()),
    }
}

/// Adds a file that came without a mode.
pub(crate) fn add(builder: &mut TreeBuilder, path: &str, body: &[u8]) -> Result<(), TreeError> {
    let mut content = body;
    // HTTP and MCP have no modes: a script is what begins like one.
    let kind = if body.starts_with(b"#!") {
        LockedKind::Executable
    } else {
        LockedKind::File
    };
    builder.add_file(path, kind, body.len() as u64, None, &mut content)
}

pub(crate) fn parse(text: &str, index: &str) -> Result<Url, IndexError> {
    let invalid = || IndexError::Invalid {
        url: index.to_owned(),
        reason: "an address is not valid".to_owned(),
    };
    let url = Url::parse(text).map_err(|_| invalid())?;
    let has_user = !url.username().is_empty() || url.password().is_some();
    if has_user || url.host().is_none() || !matches!(url.scheme(), "https" | "http") {
        return Err(invalid());
    }
    Ok(url)
}

/// Returns a path for the path of an address.
pub(crate) fn escaped(path: &str) -> String {
    let mut text = String::from("./");
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => text.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => text.push(char::from(byte)),
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

/// Returns the addresses at which an index may be, the best first.
fn places(site: &Url) -> Vec<Url> {
    let mut site = site.clone();
    site.set_query(None);
    site.set_fragment(None);
    if site.path().ends_with("/index.json") {
        return vec![site];
    }
    let mut folder = site.clone();
    folder.set_path(&format!("{}/", site.path().trim_end_matches('/')));
    let mut root = site.clone();
    root.set_path("/");
    let mut all = Vec::new();
    for base in [&folder, &root] {
        for place in [PLACE_2, PLACE_1] {
            all.extend(base.join(place));
        }
    }
    all.extend(folder.join("index.json"));
    let mut unique: Vec<Url> = Vec::new();
    for url in all {
        if !unique.contains(&url) {
            unique.push(url);
        }
    }
    unique
}

fn parse_index(place: &Url, value: &Value) -> Result<SkillIndex, IndexError> {
    let invalid = |reason: &str| IndexError::Invalid {
        url: place.to_string(),
        reason: reason.to_owned(),
    };
    let entries = value["skills"].as_array();
    let entries = entries.ok_or_else(|| invalid("it has no list `skills`"))?;
    if entries.len() > MAX_SKILLS {
        return Err(invalid("it has more than 10,000 skills"));
    }
    let format = match value["$schema"].as_str() {
        // The address of the schema is an opaque name; other versions must not be guessed.
        Some(schema) if schema.contains("/0.2.") => SkillIndexFormat::Artifacts,
        Some(_) => return Err(invalid("its version is unknown")),
        None => SkillIndexFormat::Files,
    };
    let mut index = SkillIndex {
        url: place.to_string(),
        format,
        sequence: value["sequence"].as_u64(),
        skills: Vec::new(),
        skipped: Vec::new(),
    };
    for entry in entries {
        let name = entry["name"].as_str().unwrap_or_default();
        let read = match format {
            SkillIndexFormat::Artifacts => artifact(place, entry),
            SkillIndexFormat::Files => files(place, name, entry),
        };
        let is_twin = index.skills.iter().any(|skill| skill.name == name);
        let content = match read {
            Ok(_) if check_name(name).is_none() => Err("its name is not valid"),
            Ok(_) if is_twin => Err("its name is there twice"),
            other => other,
        };
        match content {
            Ok(content) => index.skills.push(IndexedSkill {
                name: name.to_owned(),
                description: text(&entry["description"], MAX_DESCRIPTION).unwrap_or_default(),
                version: text(&entry["version"], 100),
                content,
            }),
            Err(reason) => {
                let shown = name.chars().take(100).collect();
                index.skipped.push((shown, reason.to_owned()));
            }
        }
    }
    Ok(index)
}

fn text(value: &Value, most: usize) -> Option<String> {
    let text = value.as_str()?;
    Some(
        text.chars()
            .filter(|c| !c.is_control())
            .take(most)
            .collect(),
    )
}

/// Checks a name, which becomes a part of an address and the name of a folder.
fn check_name(name: &str) -> Option<&str> {
    crate::lock::is_folder_name(name).then_some(name)
}

fn artifact(place: &Url, entry: &Value) -> Result<IndexedContent, &'static str> {
    let url = entry["url"].as_str().ok_or("it has no `url`")?;
    let url = place.join(url).map_err(|_| "its `url` is not valid")?;
    let digest = entry["digest"].as_str().ok_or("it has no `digest`")?;
    if !is_digest(digest) {
        return Err("its `digest` is not `sha256:` and 64 digits");
    }
    let (url, digest) = (url.to_string(), digest.to_owned());
    match entry["type"].as_str() {
        Some("skill-md") => Ok(IndexedContent::Text { url, digest }),
        Some("archive") => Ok(IndexedContent::Archive { url, digest }),
        _ => Err("its `type` is unknown"),
    }
}

fn files(place: &Url, name: &str, entry: &Value) -> Result<IndexedContent, &'static str> {
    let listed = entry["files"].as_array().ok_or("it has no list `files`")?;
    if listed.len() > MAX_FILES {
        return Err("it has too many files");
    }
    let mut paths = Vec::new();
    for path in listed {
        let path = path.as_str().ok_or("a path is not a text")?;
        check_tree_path(path.as_bytes()).map_err(|_| "a path is not allowed")?;
        paths.push(path.to_owned());
    }
    if !paths
        .iter()
        .any(|path| path.eq_ignore_ascii_case("SKILL.md"))
    {
        return Err("it has no `SKILL.md`");
    }
    let base = place.join(&format!("{}/", escaped(name)));
    let base = base.map_err(|_| "its name is not valid")?;
    Ok(IndexedContent::Files {
        base: base.to_string(),
        paths,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn place() -> Url {
        Url::parse("https://host/docs/.well-known/agent-skills/index.json").unwrap()
    }

    #[test]
    fn places_are_below_the_address_then_at_the_root() {
        let of = |text: &str| {
            let all = places(&Url::parse(text).unwrap());
            all.into_iter().map(String::from).collect::<Vec<_>>()
        };
        assert_eq!(
            of("https://host/docs?x#y"),
            [
                "https://host/docs/.well-known/agent-skills/index.json",
                "https://host/docs/.well-known/skills/index.json",
                "https://host/.well-known/agent-skills/index.json",
                "https://host/.well-known/skills/index.json",
                "https://host/docs/index.json",
            ]
        );
        assert_eq!(of("https://host").len(), 3);
        assert_eq!(
            of("https://host/a/index.json"),
            ["https://host/a/index.json"]
        );
    }

    #[test]
    fn entries_are_checked_one_by_one() {
        let digest = digest_of_bytes(b"x");
        let index = parse_index(
            &place(),
            &json!({
                "$schema": "https://schemas.agentskills.io/discovery/0.2.0/schema.json",
                "sequence": 7,
                "skills": [
                    { "name": "a", "type": "skill-md", "description": "A", "url": "a/SKILL.md", "digest": digest },
                    { "name": "b", "type": "archive", "description": "B", "url": "/b.zip", "digest": digest },
                    { "name": "c", "type": "task", "url": "c", "digest": digest },
                    { "name": "d", "type": "archive", "url": "d" },
                    { "name": "e", "type": "archive", "url": "e", "digest": "sha256:x" },
                    { "name": "../f", "type": "archive", "url": "f", "digest": digest },
                    { "name": "a", "type": "archive", "url": "g", "digest": digest },
                ],
            }),
        )
        .unwrap();
        let names: Vec<&str> = index.skills.iter().map(|skill| &*skill.name).collect();
        assert_eq!((names, index.skipped.len()), (vec!["a", "b"], 5));
        assert_eq!(index.sequence, Some(7));
        let expected = IndexedContent::Archive {
            url: "https://host/b.zip".to_owned(),
            digest,
        };
        assert_eq!(index.skills[1].content, expected);
        let index = parse_index(
            &place(),
            &json!({ "skills": [
                { "name": "a", "description": "A", "files": ["SKILL.md", "a b/ü.md"] },
                { "name": "b", "files": ["../SKILL.md"] },
                { "name": "c", "files": ["README.md"] },
                { "name": "d" },
            ] }),
        )
        .unwrap();
        assert_eq!(
            (index.format, index.skills.len()),
            (SkillIndexFormat::Files, 1)
        );
        assert_eq!(index.skipped.len(), 3);
        let other = json!({ "$schema": "https://x/discovery/0.3.0/schema.json", "skills": [] });
        assert!(parse_index(&place(), &other).is_err());
        assert!(parse_index(&place(), &json!([])).is_err());
        assert_eq!(escaped("a b/ü.md"), "./a%20b/%C3%BC.md");
    }
}

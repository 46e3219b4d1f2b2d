//! Sources of packages: what a manifest or a command line names, and the form in the lock.

use std::path::Path;

use prowess_diag::sanitize;
use prowess_spec::ResourcePath;
use semver::VersionReq;

use crate::address::{self, Address, AddressScheme};
use crate::error::PackageExit;
use crate::paths::{lexical, relative};
use crate::version::{self, RefFault};

/// The address before `owner/repo`, if no setting says otherwise.
pub const DEFAULT_SHORTHAND: &str = "https://github.com/";
/// Endings of archives.
pub const ARCHIVE_ENDINGS: [&str; 4] = [".tar.gz", ".tgz", ".zip", ".skill"];

/// A source as a manifest or a command line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PackageSource {
    /// A git repository.
    Git(GitSource),
    /// A folder, used in place: not copied, not locked.
    Path {
        /// The folder, as it was written.
        path: String,
    },
    /// An archive.
    Archive {
        /// The archive.
        location: ArchiveLocation,
        /// The expected digest: `sha256:` and 64 hexadecimal digits.
        digest: Option<String>,
    },
    /// An `https` address of an unknown kind: a git repository, or a site with an index.
    Site {
        /// The address, normalised.
        url: String,
        /// The version or ref after `@`, if any.
        wanted: WantedRef,
    },
    /// A site with an index of skills (`.well-known`).
    Index {
        /// The address, normalised.
        url: String,
        /// The name of a skill in the index.
        name: Option<String>,
    },
    /// A skill of a configured MCP server.
    Mcp {
        /// The name of the server.
        server: String,
        /// The address of the skill on the server; empty for all.
        uri: String,
    },
    /// A package of a configured registry.
    Registry {
        /// The name of the registry.
        registry: String,
        /// The name of the package in it.
        name: String,
        /// The wanted version.
        wanted: WantedRef,
    },
}

/// A git repository, a folder in it, and the wanted version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitSource {
    /// The normalised address, with `https`, `ssh`, `file`, or `http` for a loopback host.
    pub url: String,
    /// The folder of the skill in the repository. `None` to search the repository.
    pub path: Option<String>,
    /// The wanted version or ref.
    pub wanted: WantedRef,
    /// Text before the version in the names of its tags.
    pub tag_prefix: Option<String>,
}

/// The wanted version or ref of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedRef {
    /// The default branch.
    Default,
    /// Text after `@` that is neither a version nor a whole commit id: a tag, a branch, or the start
    /// of a commit id.
    Any(String),
    /// A range of versions, matched against tags.
    Version(VersionReq),
    /// A tag, by name.
    Tag(String),
    /// A branch, by name.
    Branch(String),
    /// A whole commit id, in lower case.
    Commit(String),
    /// The text of a web address after `/tree/`: a ref and perhaps a path. The longest name of a ref
    /// at the start is the ref.
    RefAndPath(String),
}

/// The place of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArchiveLocation {
    /// An address with `https`, or `http` for a loopback host.
    Url(String),
    /// A local file, as it was written.
    File(String),
}

/// The place where a source is written, which decides about `git+file`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceOrigin<'a> {
    /// The command line.
    Typed,
    /// The person's own file.
    Person,
    /// A project's file. `git+file` must name a folder below this absolute path.
    Project {
        /// The root of the project's repository.
        root: &'a str,
        /// Addresses of repositories on disk that the person named for this project.
        mirrors: &'a [String],
    },
}

impl WantedRef {
    /// Parses the text after `@`.
    pub fn parse(text: &str) -> Result<Self, SourceError> {
        if version::is_commit_id(text) {
            return Ok(Self::Commit(text.to_ascii_lowercase()));
        }
        if let Some(range) = version::parse_range(text) {
            return Ok(Self::Version(range));
        }
        Ok(Self::Any(checked_ref(text)?))
    }

    /// Returns a tag, after checking its name.
    pub fn tag(name: &str) -> Result<Self, SourceError> {
        checked_ref(name).map(Self::Tag)
    }

    /// Returns a branch, after checking its name.
    pub fn branch(name: &str) -> Result<Self, SourceError> {
        checked_ref(name).map(Self::Branch)
    }

    /// Returns a commit, which must be a whole id.
    pub fn commit(id: &str) -> Result<Self, SourceError> {
        if version::is_commit_id(id) {
            Ok(Self::Commit(id.to_ascii_lowercase()))
        } else {
            Err(SourceError::NotACommit {
                text: sanitize::line(id).into_owned(),
            })
        }
    }

    /// Returns the text for the key `wanted` of a lock. `None` for the default branch.
    pub fn lock_text(&self) -> Option<String> {
        match self {
            Self::Default => None,
            Self::Version(range) => Some(range.to_string()),
            Self::Any(name) | Self::Tag(name) | Self::Branch(name) | Self::Commit(name) => {
                Some(name.clone())
            }
            Self::RefAndPath(text) => Some(text.clone()),
        }
    }
}

fn checked_ref(name: &str) -> Result<String, SourceError> {
    match version::ref_fault(name) {
        None => Ok(name.to_owned()),
        Some(fault) => Err(SourceError::Ref {
            name: sanitize::line(name).into_owned(),
            fault,
        }),
    }
}

impl PackageSource {
    /// Parses what was typed, or the short form in a manifest. `shorthand` is the address before
    /// `owner/repo`.
    pub fn parse(
        text: &str,
        shorthand: &str,
        origin: SourceOrigin<'_>,
    ) -> Result<Self, SourceError> {
        let source = parse(text, shorthand)?;
        source.check_origin(origin)?;
        Ok(source)
    }

    /// Refuses a `git+file` source outside the repository of a project that names it.
    pub fn check_origin(&self, origin: SourceOrigin<'_>) -> Result<(), SourceError> {
        match (self, origin) {
            (Self::Git(git), SourceOrigin::Project { root, mirrors }) => {
                let Some(path) = git.url.strip_prefix("file://") else {
                    return Ok(());
                };
                let root = root.trim_end_matches('/');
                let below = path.strip_prefix(root);
                let is_inside = below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
                if is_inside || mirrors.contains(&git.url) {
                    Ok(())
                } else {
                    Err(SourceError::FileOutside {
                        path: path.to_owned(),
                    })
                }
            }
            _ => Ok(()),
        }
    }

    /// Returns the source with a relative path that was typed in a folder, as the manifest in `root`
    /// writes it: relative to `root` in a project, absolute (`root` is `None`) otherwise.
    #[must_use]
    pub fn typed_in(mut self, folder: &Path, root: Option<&Path>) -> Self {
        let (Self::Path { path }
        | Self::Archive {
            location: ArchiveLocation::File(path),
            ..
        }) = &mut self
        else {
            return self;
        };
        if path.starts_with('/') || path == "~" || path.starts_with("~/") {
            return self;
        }
        let whole = lexical(&folder.join(&*path));
        let written = root.map_or_else(|| whole.clone(), |root| relative(root, &whole));
        if let Some(text) = written.to_str() {
            let is_marked = text.starts_with('/') || text.starts_with("../") || text == "..";
            *path = if is_marked {
                text.to_owned()
            } else {
                format!("./{text}")
            };
        }
        self
    }

    /// Returns the form in a lock. `None` for a site that was not asked yet.
    pub fn locked(&self) -> Option<LockedSource> {
        Some(match self {
            Self::Git(git) => LockedSource::Git(git.url.clone()),
            Self::Path { .. } => LockedSource::Path,
            Self::Archive { location, .. } => LockedSource::Archive(match location {
                ArchiveLocation::Url(url) => url.clone(),
                ArchiveLocation::File(path) => format!("file:{path}"),
            }),
            Self::Site { .. } => return None,
            Self::Index { url, .. } => LockedSource::Index(url.clone()),
            Self::Mcp { server, .. } => LockedSource::Mcp(server.clone()),
            Self::Registry { registry, .. } => LockedSource::Registry(registry.clone()),
        })
    }

    /// Returns the place in the source for the key `path` of a lock, as far as it is known.
    pub fn locked_path(&self) -> Option<&str> {
        match self {
            Self::Git(git) => git.path.as_deref(),
            Self::Path { path } => Some(path),
            Self::Archive { .. } | Self::Site { .. } => None,
            Self::Index { name, .. } => name.as_deref(),
            Self::Mcp { uri, .. } => Some(&**uri).filter(|uri| !uri.is_empty()),
            Self::Registry { name, .. } => Some(name),
        }
    }

    /// Returns the wanted version or ref. `None` if the kind of source has no versions.
    pub fn wanted(&self) -> Option<&WantedRef> {
        match self {
            Self::Git(git) => Some(&git.wanted),
            Self::Site { wanted, .. } | Self::Registry { wanted, .. } => Some(wanted),
            Self::Path { .. } | Self::Archive { .. } | Self::Index { .. } | Self::Mcp { .. } => {
                None
            }
        }
    }

    /// Returns the same source with another wanted version or ref, as for `--tag`.
    pub fn with_wanted(mut self, wanted: WantedRef) -> Result<Self, SourceError> {
        match &mut self {
            Self::Git(GitSource { wanted: slot, .. })
            | Self::Site { wanted: slot, .. }
            | Self::Registry { wanted: slot, .. } => {
                if *slot != WantedRef::Default && *slot != wanted {
                    return Err(SourceError::TwoRefs);
                }
                *slot = wanted;
                Ok(self)
            }
            Self::Path { .. } | Self::Archive { .. } | Self::Index { .. } | Self::Mcp { .. } => {
                Err(SourceError::NoRefs)
            }
        }
    }

    /// Returns the same source with a folder of the repository, as for `--path`.
    pub fn with_path(mut self, path: &str) -> Result<Self, SourceError> {
        let path = address::skill_path(path)?;
        match &mut self {
            Self::Git(git) if git.path.is_none() => {
                git.path = Some(path).filter(|path| !path.is_empty());
                Ok(self)
            }
            _ => Err(SourceError::NoPath),
        }
    }

    /// Returns the texts that a pattern of `sources` is compared with.
    fn subject(&self) -> String {
        match self {
            Self::Git(git) => git.url.clone(),
            Self::Path { path } => local_subject(path),
            Self::Archive { location, .. } => match location {
                ArchiveLocation::Url(url) => url.clone(),
                ArchiveLocation::File(path) => local_subject(path),
            },
            Self::Site { url, .. } | Self::Index { url, .. } => url.clone(),
            // Each skill that is chosen is compared again.
            Self::Mcp { server, uri } if uri.is_empty() => format!("mcp:{server}/*"),
            Self::Mcp { server, uri } => format!("mcp:{server}/{uri}"),
            Self::Registry { registry, name, .. } => format!("{registry}:{name}"),
        }
    }
}

/// Returns `Ok` if a pattern of `sources` allows the source.
///
/// A pattern is an address, `owner/repo` for the shorthand host, a path, `mcp:SERVER/…` or
/// `REGISTRY:…`. A `*` stands for any text within a segment; at the end of a pattern, for everything
/// below.
pub fn check_allowed(
    source: &PackageSource,
    patterns: &[String],
    shorthand: &str,
) -> Result<(), SourceError> {
    let subject = source.subject();
    check_subject(&subject, patterns, shorthand)
}

/// Like [`check_allowed`], for a locked source. `path` is the key of that name.
pub fn check_locked_allowed(
    source: &LockedSource,
    path: Option<&str>,
    patterns: &[String],
    shorthand: &str,
) -> Result<(), SourceError> {
    check_subject(&source.subject(path), patterns, shorthand)
}

/// Returns `true` if one of the patterns names the source, by whatever transport and spelling: a demand
/// for a signature must not be avoided with `ssh://` or capital letters. Patterns are complete addresses.
pub(crate) fn is_named(source: &LockedSource, path: Option<&str>, patterns: &[String]) -> bool {
    let subject = bare_address(&source.subject(path));
    patterns
        .iter()
        .any(|pattern| matches_parts(&bare_address(pattern), &subject))
}

/// Returns an address without transport and user, in lower case.
fn bare_address(text: &str) -> String {
    let text = text.to_lowercase();
    let text = text.strip_prefix("git+").unwrap_or(&text);
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    if !matches!(scheme, "https" | "http" | "ssh") {
        return text.to_owned();
    }
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or(authority);
    format!("//{host}{path}")
}

/// Returns a local path as a pattern names it.
fn local_subject(path: &str) -> String {
    if path.starts_with(['.', '/', '~']) {
        path.to_owned()
    } else {
        format!("./{path}")
    }
}

fn check_subject(subject: &str, patterns: &[String], shorthand: &str) -> Result<(), SourceError> {
    if patterns
        .iter()
        .any(|pattern| matches_pattern(pattern, subject, shorthand))
    {
        Ok(())
    } else {
        Err(SourceError::NotAllowed {
            url: address::shown(subject),
        })
    }
}

/// Returns a pattern with the shorthand completed: `acme/*` becomes an address.
pub(crate) fn complete_pattern(pattern: &str, shorthand: &str) -> String {
    let is_path = pattern.starts_with(['.', '/', '~']);
    if pattern.contains(':') || is_path {
        pattern.to_owned()
    } else {
        format!("{}/{pattern}", shorthand.trim_end_matches('/'))
    }
}

fn matches_pattern(pattern: &str, subject: &str, shorthand: &str) -> bool {
    let pattern = complete_pattern(pattern, shorthand);
    // As it is typed: `git+https://…`.
    let pattern = pattern.strip_prefix("git+").unwrap_or(&pattern);
    matches_parts(pattern, subject)
}

/// Compares a pattern with a text, part by part.
fn matches_parts(pattern: &str, subject: &str) -> bool {
    let clean = |text: &str| text.strip_suffix(".git").unwrap_or(text).to_owned();
    let (pattern, subject) = (clean(pattern), clean(subject));
    let mut wanted = pattern.split('/').peekable();
    let mut found = subject.split('/');
    while let Some(segment) = wanted.next() {
        if segment == "*" && wanted.peek().is_none() {
            let mut rest = found.peekable();
            return rest.peek().is_some_and(|first| !first.is_empty())
                && rest.all(|part| part != "..");
        }
        match found.next() {
            Some("..") if segment != ".." => return false,
            Some(part) if prowess_spec::wildcard::like(segment, part) => {}
            _ => return false,
        }
    }
    found.next().is_none()
}

fn parse(text: &str, shorthand: &str) -> Result<PackageSource, SourceError> {
    address::check_text_lenient(text)?;
    let shown = || address::shown(text);
    if let Some(helper) = helper_of(text) {
        return Err(SourceError::Helper {
            helper: helper.to_owned(),
        });
    }
    if is_local(text) {
        return local(text);
    }
    address::check_text(text)?;
    if let Some(rest) = text.strip_prefix("git+") {
        return git_address(rest, true).map(PackageSource::Git);
    }
    if text.contains("://") && !text.starts_with("mcp:") {
        return web_address(text, shorthand);
    }
    if let Some(rest) = text.strip_prefix("mcp:") {
        let (server, uri) = rest.split_once('/').unwrap_or((rest, ""));
        return mcp(server, uri);
    }
    let colon = text.find(':').filter(|at| !text[..*at].contains('/'));
    if let Some(at) = colon {
        return if text[..at].contains('@') {
            scp_address(text)
        } else {
            registry_name(text, at)
        };
    }
    if has_archive_ending(text) {
        return local(text);
    }
    if !text.contains('/') || text.contains('\\') {
        return Err(SourceError::NotASource { text: shown() });
    }
    shorthand_name(text, shorthand)
}

/// Returns the name of a git remote helper: `ext::…`.
fn helper_of(text: &str) -> Option<&str> {
    let (name, _) = text.split_once("::")?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-');
    (!name.is_empty() && name.bytes().all(is_name)).then_some(name)
}

fn is_local(text: &str) -> bool {
    matches!(text, "." | ".." | "~")
        || ["./", "../", "/", "~/"]
            .iter()
            .any(|start| text.starts_with(start))
}

fn has_archive_ending(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ARCHIVE_ENDINGS.iter().any(|ending| {
        text.strip_suffix(ending)
            .is_some_and(|name| !name.is_empty() && !name.ends_with('/'))
    })
}

/// Parses a local path: an archive by its ending, else a folder.
pub(crate) fn local(text: &str) -> Result<PackageSource, SourceError> {
    address::check_text_lenient(text)?;
    if text.contains('\\') {
        return Err(SourceError::Address {
            text: address::shown(text),
            why: "it has a backslash",
        });
    }
    Ok(if has_archive_ending(text) {
        PackageSource::Archive {
            location: ArchiveLocation::File(text.to_owned()),
            digest: None,
        }
    } else {
        PackageSource::Path {
            path: text.to_owned(),
        }
    })
}

/// Splits `@REF` from a path: at the first `@` that is not at the start of a segment.
fn split_ref(text: &str) -> Result<(&str, WantedRef), SourceError> {
    let at = text
        .match_indices('@')
        .map(|(at, _)| at)
        .find(|at| *at > 0 && !text[..*at].ends_with('/'));
    match at {
        Some(at) => Ok((&text[..at], WantedRef::parse(&text[at + 1..])?)),
        None => Ok((text, WantedRef::Default)),
    }
}

/// Splits `@REF` from an address with a scheme; the user name of the address stays.
fn split_address(text: &str) -> Result<(&str, WantedRef), SourceError> {
    let start = text.find("://").map_or(0, |at| at + 3);
    let Some(slash) = text[start..].find('/').map(|at| start + at) else {
        return Ok((text, WantedRef::Default));
    };
    // Credentials with a slash must not be read as a host with a ref.
    let authority = &text[start..slash];
    let is_port = authority
        .rsplit_once(':')
        .is_none_or(|(host, port)| host.contains('[') || port.bytes().all(|b| b.is_ascii_digit()));
    if !is_port && text[slash..].contains('@') {
        return Err(SourceError::UserInfo {
            text: address::shown(text),
        });
    }
    let (path, wanted) = split_ref(&text[slash..])?;
    Ok((&text[..slash + path.len()], wanted))
}

/// Parses the address of a git repository, perhaps with a folder after `.git/`, and `@REF`.
pub(crate) fn git_address(text: &str, allow_file: bool) -> Result<GitSource, SourceError> {
    address::check_text(text)?;
    if let Some(helper) = helper_of(text) {
        return Err(SourceError::Helper {
            helper: helper.to_owned(),
        });
    }
    let (text, wanted) = split_address(text)?;
    let address = Address::parse(text, allow_file)?;
    git_source(&address, wanted)
}

fn git_source(address: &Address, wanted: WantedRef) -> Result<GitSource, SourceError> {
    let segments: Vec<&str> = address.segments().collect();
    // A mirror on disk may be in any folder, also in one that ends with `.git`.
    let end = match address.scheme {
        AddressScheme::File => segments.len(),
        _ => segments
            .iter()
            .position(|segment| is_repository(segment))
            .map_or(segments.len(), |at| at + 1),
    };
    if end == 0 {
        return Err(SourceError::Address {
            text: address.to_string(),
            why: "it has no path",
        });
    }
    let path = match segments.get(end..) {
        Some([]) | None => None,
        Some(rest) => Some(address::skill_path(&rest.join("/"))?),
    };
    Ok(GitSource {
        url: address
            .with_segments(segments[..end].iter().copied())
            .to_string(),
        path,
        wanted,
        tag_prefix: None,
    })
}

fn scp_address(text: &str) -> Result<PackageSource, SourceError> {
    let colon = text.find(':').unwrap_or(0);
    let (path, wanted) = split_ref(&text[colon + 1..])?;
    let address = Address::parse_scp(&text[..=colon + path.len()])?;
    git_source(&address, wanted).map(PackageSource::Git)
}

/// Parses an address that begins with a scheme other than `git+…`.
fn web_address(text: &str, shorthand: &str) -> Result<PackageSource, SourceError> {
    // Before the ref is split off, which may be part of a page's address.
    if let Some(page) = page_address(text, shorthand)? {
        return Ok(PackageSource::Git(page));
    }
    if has_archive_ending(text) {
        let url = Address::parse(text, false)?;
        if url.scheme == AddressScheme::Ssh {
            return git_source(&url, WantedRef::Default).map(PackageSource::Git);
        }
        return Ok(PackageSource::Archive {
            location: ArchiveLocation::Url(url.to_string()),
            digest: None,
        });
    }
    let (plain, wanted) = split_address(text)?;
    let address = Address::parse(plain, false)?;
    if address.scheme == AddressScheme::Ssh {
        return git_source(&address, wanted).map(PackageSource::Git);
    }
    if let Some(rest) = after_shorthand(&address, shorthand)
        && !rest.is_empty()
    {
        return owner_and_repository(&rest, wanted, shorthand, text);
    }
    if address.segments().any(is_repository) {
        return git_source(&address, wanted).map(PackageSource::Git);
    }
    Ok(PackageSource::Site {
        url: address.to_string(),
        wanted,
    })
}

/// Returns the path below the shorthand address.
fn after_shorthand(address: &Address, shorthand: &str) -> Option<String> {
    let base = Address::parse(shorthand, false).ok()?;
    let rest = address
        .to_string()
        .strip_prefix(&base.to_string())?
        .to_owned();
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/').to_owned())
}

/// Parses the address of a page that shows a folder or a SKILL.md of a repository.
fn page_address(text: &str, shorthand: &str) -> Result<Option<GitSource>, SourceError> {
    let is_web = |text: &str| {
        let start = text.get(..8).unwrap_or(text).to_ascii_lowercase();
        start.starts_with("https://") || start.starts_with("http://")
    };
    if !is_web(text) {
        return Ok(None);
    }
    let Some(start) = text.find("://").map(|at| at + 3) else {
        return Ok(None);
    };
    let parts: Vec<&str> = text[start..].split('/').collect();
    // host / owner / repository / [-] / tree
    let Some(at) = (3..parts.len()).find(|at| matches!(parts[*at], "tree" | "blob")) else {
        return Ok(None);
    };
    let end = if parts[at - 1] == "-" { at - 1 } else { at };
    let rest = parts[at + 1..].join("/");
    let rest = rest.trim_matches('/');
    if end < 3 || rest.is_empty() || parts[..end].iter().any(|part| is_repository(part)) {
        return Ok(None);
    }
    let address = Address::parse(
        &format!("{}{}", &text[..start], parts[..end].join("/")),
        false,
    )?;
    if rest.contains(['?', '#']) {
        return Err(SourceError::Address {
            text: address::shown(text),
            why: "an address with a query or a fragment cannot be locked",
        });
    }
    let rest = address::percent_decoded(rest).ok_or_else(|| SourceError::Address {
        text: address::shown(text),
        why: "a percent sign must be followed by two hexadecimal digits of UTF-8",
    })?;
    let mut rest = address::skill_path(&rest)?;
    if parts[at] == "blob" {
        let folder = rest
            .rsplit_once('/')
            .filter(|(_, name)| name.eq_ignore_ascii_case("SKILL.md"));
        let Some((folder, _)) = folder else {
            return Err(SourceError::PageOfFile {
                text: address::shown(text),
            });
        };
        rest.truncate(folder.len());
    }
    let url = match after_shorthand(&address, shorthand) {
        Some(_) => without_ending(&address.to_string()),
        None => address.to_string(),
    };
    Ok(Some(GitSource {
        url,
        path: None,
        wanted: WantedRef::RefAndPath(rest),
        tag_prefix: None,
    }))
}

/// Returns `true` for a segment such as `repo.git`.
fn is_repository(segment: &str) -> bool {
    segment
        .strip_suffix(".git")
        .is_some_and(|name| !name.is_empty())
}

/// Removes `.git`: hosts behind a shorthand serve both forms, and the lock has one.
fn without_ending(url: &str) -> String {
    url.strip_suffix(".git").unwrap_or(url).to_owned()
}

fn shorthand_name(text: &str, shorthand: &str) -> Result<PackageSource, SourceError> {
    let (path, wanted) = split_ref(text)?;
    owner_and_repository(path, wanted, shorthand, text)
}

fn owner_and_repository(
    path: &str,
    wanted: WantedRef,
    shorthand: &str,
    typed: &str,
) -> Result<PackageSource, SourceError> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let ([owner, repository, rest @ ..], false) = (parts.as_slice(), path.contains('\\')) else {
        return Err(SourceError::NotASource {
            text: address::shown(typed),
        });
    };
    if parts.contains(&"..") {
        return Err(SourceError::ParentPath {
            text: address::shown(typed),
        });
    }
    let repository = repository.strip_suffix(".git").unwrap_or(repository);
    for name in [*owner, repository] {
        let is_known =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if name.is_empty() || name.starts_with(['-', '.']) || !name.bytes().all(is_known) {
            return Err(SourceError::NotASource {
                text: address::shown(typed),
            });
        }
    }
    let base = Address::parse(shorthand, false)?;
    let path = match rest {
        [] => None,
        rest => Some(address::skill_path(&rest.join("/"))?).filter(|path| !path.is_empty()),
    };
    let segments = base.segments().chain([*owner, repository]);
    Ok(PackageSource::Git(GitSource {
        url: base.with_segments(segments).to_string(),
        path,
        wanted,
        tag_prefix: None,
    }))
}

/// Returns a source of an MCP server, after checking the names.
pub(crate) fn mcp(server: &str, uri: &str) -> Result<PackageSource, SourceError> {
    if !is_name(server) {
        return Err(SourceError::Name {
            what: "an MCP server",
            name: sanitize::line(server).into_owned(),
        });
    }
    if !uri.is_empty() {
        address::check_text(uri)?;
    }
    // The address of a skill is that of its folder.
    let folder = uri.strip_suffix("/SKILL.md").unwrap_or(uri);
    Ok(PackageSource::Mcp {
        server: server.to_owned(),
        uri: folder.trim_end_matches('/').to_owned(),
    })
}

/// Returns a source of a registry, after checking the names.
pub(crate) fn registry(
    registry: &str,
    name: &str,
    wanted: WantedRef,
) -> Result<PackageSource, SourceError> {
    // One letter would be a drive.
    if !is_name(registry) || registry.len() < 2 {
        return Err(SourceError::Name {
            what: "a registry",
            name: sanitize::line(registry).into_owned(),
        });
    }
    let is_valid = name.len() <= 256
        && !name.is_empty()
        && ResourcePath::new(name).is_ok_and(|path| path.as_str() == name)
        && !name.contains(|c: char| c.is_whitespace() || c.is_control());
    if !is_valid {
        return Err(SourceError::Name {
            what: "a package of a registry",
            name: sanitize::line(name).into_owned(),
        });
    }
    Ok(PackageSource::Registry {
        registry: registry.to_owned(),
        name: name.to_owned(),
        wanted,
    })
}

fn registry_name(text: &str, colon: usize) -> Result<PackageSource, SourceError> {
    let (name, wanted) = split_ref(&text[colon + 1..])?;
    registry(&text[..colon], name, wanted)
}

/// Returns `true` for a name of a server, a registry or a signer.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && !name.starts_with(['-', '.'])
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// The source of a locked package, normalised and without credentials.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LockedSource {
    /// `git+URL`: `https`, `ssh`, `file`, or `http` for a loopback host.
    Git(String),
    /// `archive+URL`, or `archive+file:PATH`.
    Archive(String),
    /// `path`: the field `path` has the folder.
    Path,
    /// `index+URL`: the field `path` has the name in the index.
    Index(String),
    /// `mcp+NAME`: the field `path` has the address of the skill.
    Mcp(String),
    /// `registry+NAME`: the field `path` has the name in the registry.
    Registry(String),
}

impl LockedSource {
    /// Parses the form in a lock. A lock may come from another person, so an address is checked as
    /// strictly as a typed one, and must be in its normalised form.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "path" {
            return Some(Self::Path);
        }
        let (kind, rest) = text.split_once('+')?;
        let is_normal = |allow_file: bool, allow_ssh: bool| {
            Address::parse(rest, allow_file).is_ok_and(|address| {
                address.to_string() == rest && (allow_ssh || address.scheme != AddressScheme::Ssh)
            })
        };
        let locked = rest.to_owned();
        match kind {
            "git" if is_normal(true, true) => Some(Self::Git(locked)),
            "archive" => match rest.strip_prefix("file:") {
                Some(path) => matches!(local(path), Ok(PackageSource::Archive { .. }))
                    .then_some(Self::Archive(locked)),
                None => is_normal(false, false).then_some(Self::Archive(locked)),
            },
            "index" if is_normal(false, false) => Some(Self::Index(locked)),
            "mcp" if is_name(rest) => Some(Self::Mcp(locked)),
            "registry" if is_name(rest) => Some(Self::Registry(locked)),
            _ => None,
        }
    }

    /// Returns the text that a pattern of `sources` is compared with. `path` is the key of that name.
    fn subject(&self, path: Option<&str>) -> String {
        let path = path.unwrap_or_default();
        match self {
            Self::Git(url) | Self::Index(url) => url.clone(),
            Self::Archive(url) => match url.strip_prefix("file:") {
                Some(path) => local_subject(path),
                None => url.clone(),
            },
            Self::Path => local_subject(path),
            Self::Mcp(server) => format!("mcp:{server}/{path}"),
            Self::Registry(name) => format!("{name}:{path}"),
        }
    }

    /// Returns `true` if both are the same repository: a trailing `.git` does not count.
    pub fn is_same_place(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Git(one), Self::Git(two)) => without_ending(one) == without_ending(two),
            _ => self == other,
        }
    }
}

impl std::fmt::Display for LockedSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Path => f.write_str("path"),
            Self::Git(url) => write!(f, "git+{url}"),
            Self::Archive(url) => write!(f, "archive+{url}"),
            Self::Index(url) => write!(f, "index+{url}"),
            Self::Mcp(name) => write!(f, "mcp+{name}"),
            Self::Registry(name) => write!(f, "registry+{name}"),
        }
    }
}

/// The reason why a source is invalid or not allowed. Texts have no credentials.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// Nothing was named.
    #[error("the source is empty")]
    Empty,
    /// The text is too long.
    #[error("the source is longer than {} bytes", address::MAX_ADDRESS)]
    TooLong,
    /// The text begins with a hyphen, and a program would read it as an option.
    #[error("`{text}` begins with a hyphen")]
    OptionLike {
        /// The source.
        text: String,
    },
    /// The text has control or invisible characters.
    #[error("`{text}` has control or invisible characters")]
    ControlCharacter {
        /// The source.
        text: String,
    },
    /// A git remote helper, which runs a program.
    #[error("`{helper}::` is a git remote helper, which can run any program")]
    Helper {
        /// The name of the helper.
        helper: String,
    },
    /// The transport is not supported.
    #[error("`{scheme}://` is not supported")]
    Scheme {
        /// The name before `://`.
        scheme: String,
    },
    /// `http` to a host that is not this machine.
    #[error("`{text}` is not encrypted")]
    PlainHttp {
        /// The source.
        text: String,
    },
    /// `file://` without `git+`.
    #[error("`{text}` does not say what it is")]
    BareFile {
        /// The source.
        text: String,
    },
    /// A repository or an archive on this machine that a project's file names, and that is not in the
    /// project.
    #[error("`{path}` is outside the repository of the project that names it")]
    FileOutside {
        /// The path.
        path: String,
    },
    /// An address with a user name or a password.
    #[error("`{text}` has a user name or a password in it")]
    UserInfo {
        /// The source.
        text: String,
    },
    /// A path with `..`.
    #[error("`{text}` has `..` in its path")]
    ParentPath {
        /// The source.
        text: String,
    },
    /// An invalid address or path.
    #[error("invalid source `{text}`: {why}")]
    Address {
        /// The source.
        text: String,
        /// The reason.
        why: &'static str,
    },
    /// The address of a page that shows a file other than SKILL.md.
    #[error("`{text}` is the page of a file, not of a skill")]
    PageOfFile {
        /// The source.
        text: String,
    },
    /// A name that git refuses.
    #[error("invalid ref `{name}`: {fault}")]
    Ref {
        /// The name.
        name: String,
        /// The rule that it violates.
        fault: RefFault,
    },
    /// A commit id that is not whole.
    #[error("`{text}` is not a whole commit id")]
    NotACommit {
        /// The text.
        text: String,
    },
    /// An invalid range of versions.
    #[error("invalid range of versions `{text}`")]
    Range {
        /// The text.
        text: String,
    },
    /// An invalid name of a server, a registry or a package.
    #[error("invalid name `{name}` of {what}")]
    Name {
        /// What it names.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// More than one version or ref.
    #[error("the source names more than one version or ref")]
    TwoRefs,
    /// A version or ref of a source that has none.
    #[error("this kind of source has no versions, tags, branches or commits")]
    NoRefs,
    /// A folder of a source that has none, or that names one already.
    #[error(
        "`--path` is for git repositories, and only if the source does not name a folder already"
    )]
    NoPath,
    /// The text is no source.
    #[error("`{text}` is not a source")]
    NotASource {
        /// The text.
        text: String,
    },
    /// The `sources` setting does not list it.
    #[error("`{url}` is not in the list of allowed sources")]
    NotAllowed {
        /// The normalised address.
        url: String,
    },
}

impl SourceError {
    /// Returns the exit code of a command that fails with this error.
    pub fn exit(&self) -> PackageExit {
        match self {
            Self::NotAllowed { .. } | Self::FileOutside { .. } => PackageExit::Refused,
            _ => PackageExit::Failed,
        }
    }

    /// Returns the next command to type, or another way out.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NotAllowed { .. } => "the list is `sources` in `[install]`",
            Self::FileOutside { .. } => "name it in your own `config.toml`, or on the command line",
            Self::Helper { .. } | Self::Scheme { .. } => "use an `https://` or `ssh://` address",
            Self::PlainHttp { .. } => "use `https://`",
            Self::BareFile { .. } => {
                "use `git+file://` for a repository, or a path for a folder or an archive"
            }
            Self::UserInfo { .. } => {
                "remove it: git asks your credential helper, ssh your agent, and a registry has `token-env`"
            }
            Self::OptionLike { .. } => "a path that begins with a hyphen is written `./-…`",
            Self::PageOfFile { .. } => "copy the address of the folder",
            Self::Ref { .. } => "`git check-ref-format` has the rules",
            Self::NotACommit { .. } => "a file needs all 40 or 64 digits",
            Self::Range { .. } => "for example `^1.4`, `~3.1`, `>=1.2, <2` or `1.4.2`",
            Self::TwoRefs => "use either `@…` or one of `--tag`, `--branch` and `--rev`",
            Self::NotASource { .. } => {
                "name `owner/repo`, an `https://` or `ssh://` address, or a path such as `./folder`"
            }
            Self::Empty
            | Self::TooLong
            | Self::ControlCharacter { .. }
            | Self::ParentPath { .. }
            | Self::Address { .. }
            | Self::Name { .. }
            | Self::NoPath
            | Self::NoRefs => return None,
        };
        Some(hint.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const COMMIT: &str = "5754626092940f1c0a4d7b0f6b0c1e7a9d2f3b4c";

    fn typed(text: &str) -> Result<PackageSource, SourceError> {
        PackageSource::parse(text, DEFAULT_SHORTHAND, SourceOrigin::Typed)
    }

    /// Writes a source in one line.
    fn line(source: &PackageSource) -> String {
        let wanted = |wanted: &WantedRef| match wanted {
            WantedRef::Default => String::new(),
            WantedRef::Any(name) => format!(" any {name}"),
            WantedRef::Version(range) => format!(" version {range}"),
            WantedRef::Tag(name) => format!(" tag {name}"),
            WantedRef::Branch(name) => format!(" branch {name}"),
            WantedRef::Commit(id) => format!(" commit {id}"),
            WantedRef::RefAndPath(text) => format!(" tree {text}"),
        };
        match source {
            PackageSource::Git(git) => {
                let path = git.path.as_ref().map(|path| format!(" path {path}"));
                let path = path.unwrap_or_default();
                format!("git {}{path}{}", git.url, wanted(&git.wanted))
            }
            PackageSource::Path { path } => format!("path {path}"),
            PackageSource::Archive { location, .. } => match location {
                ArchiveLocation::Url(url) => format!("archive {url}"),
                ArchiveLocation::File(path) => format!("archive file {path}"),
            },
            PackageSource::Site { url, wanted: what } => format!("site {url}{}", wanted(what)),
            PackageSource::Index { url, name } => format!("index {url} {name:?}"),
            PackageSource::Mcp { server, uri } => format!("mcp {server} {uri}"),
            PackageSource::Registry {
                registry,
                name,
                wanted: what,
            } => format!("registry {registry} {name}{}", wanted(what)),
        }
    }

    #[test]
    fn every_form_has_its_kind() {
        let commit = format!("owner/repo@{COMMIT}");
        let whole = format!("git https://github.com/owner/repo commit {COMMIT}");
        for (text, expected) in [
            // Shorthand.
            ("owner/repo", "git https://github.com/owner/repo"),
            ("owner/repo.git", "git https://github.com/owner/repo"),
            (
                "owner/repo@v1.2",
                "git https://github.com/owner/repo version ~1.2",
            ),
            (
                "owner/repo@v1.2.3",
                "git https://github.com/owner/repo version =1.2.3",
            ),
            (
                "owner/repo/skills/pdf@^1",
                "git https://github.com/owner/repo path skills/pdf version ^1",
            ),
            (
                "owner/repo@main",
                "git https://github.com/owner/repo any main",
            ),
            (
                "owner/repo@feature/x",
                "git https://github.com/owner/repo any feature/x",
            ),
            (
                "owner/repo@pdf@1.2.3",
                "git https://github.com/owner/repo any pdf@1.2.3",
            ),
            (
                "owner/repo/skills/@scope/pdf@v1",
                "git https://github.com/owner/repo path skills/@scope/pdf version 1.*",
            ),
            (&commit, &whole),
            // Git addresses.
            (
                "https://host.example/a/b.git",
                "git https://host.example/a/b.git",
            ),
            (
                "https://host.example/a/b.git@v2.0.0",
                "git https://host.example/a/b.git version =2.0.0",
            ),
            (
                "https://host.example/a/b.git/skills/x",
                "git https://host.example/a/b.git path skills/x",
            ),
            (
                "ssh://git@host.example/a/b",
                "git ssh://git@host.example/a/b",
            ),
            (
                "ssh://git@host.example:2222/a/b@main",
                "git ssh://git@host.example:2222/a/b any main",
            ),
            (
                "git@host.example:a/b.git",
                "git ssh://git@host.example/a/b.git",
            ),
            (
                "git@host.example:a/b@v1.0.0",
                "git ssh://git@host.example/a/b version =1.0.0",
            ),
            (
                "git+https://host.example/a/b",
                "git https://host.example/a/b",
            ),
            (
                "git+ssh://git@host.example/a",
                "git ssh://git@host.example/a",
            ),
            ("git+file:///srv/git/a.git", "git file:///srv/git/a.git"),
            ("git+http://127.0.0.1:8080/a", "git http://127.0.0.1:8080/a"),
            (
                "https://github.com/owner/repo",
                "git https://github.com/owner/repo",
            ),
            (
                "https://GitHub.com/owner/repo.git/",
                "git https://github.com/owner/repo",
            ),
            (
                "https://github.com/owner/repo/skills/pdf",
                "git https://github.com/owner/repo path skills/pdf",
            ),
            // Pages.
            (
                "https://github.com/owner/repo/tree/main/skills/pdf",
                "git https://github.com/owner/repo tree main/skills/pdf",
            ),
            (
                "https://host.example/group/sub/repo/-/tree/release/1/skills",
                "git https://host.example/group/sub/repo tree release/1/skills",
            ),
            (
                "https://github.com/owner/repo/blob/main/skills/pdf/SKILL.md",
                "git https://github.com/owner/repo tree main/skills/pdf",
            ),
            (
                "https://github.com/owner/repo/tree/main/my%20skills",
                "git https://github.com/owner/repo tree main/my skills",
            ),
            // Paths and archives.
            ("./dir", "path ./dir"),
            ("../dir", "path ../dir"),
            ("/dir", "path /dir"),
            ("~/my dir", "path ~/my dir"),
            (".", "path ."),
            ("x.tar.gz", "archive file x.tar.gz"),
            ("./a/x.tgz", "archive file ./a/x.tgz"),
            ("a/x.ZIP", "archive file a/x.ZIP"),
            ("/tmp/x.skill", "archive file /tmp/x.skill"),
            (
                "https://host.example/x-1.2.0.tar.gz",
                "archive https://host.example/x-1.2.0.tar.gz",
            ),
            (
                "https://github.com/owner/repo/archive/refs/tags/v1.zip",
                "archive https://github.com/owner/repo/archive/refs/tags/v1.zip",
            ),
            // A site that must be asked.
            ("https://docs.example.com", "site https://docs.example.com"),
            (
                "https://docs.example.com/team/",
                "site https://docs.example.com/team",
            ),
            ("http://localhost:1234/x", "site http://localhost:1234/x"),
            // Servers and registries.
            (
                "mcp:issues/skill://acme/triage",
                "mcp issues skill://acme/triage",
            ),
            ("mcp:issues", "mcp issues "),
            ("corp:acme/forms", "registry corp acme/forms"),
            (
                "corp:acme/forms@~3.1",
                "registry corp acme/forms version ~3.1",
            ),
        ] {
            let source = typed(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(line(&source), expected, "{text}");
        }
    }

    #[test]
    fn every_refused_form_is_refused() {
        let is = |text: &str, check: fn(&SourceError) -> bool| {
            let error = typed(text).unwrap_err();
            assert!(check(&error), "{text:?}: {error:?}");
        };
        for text in [
            "http://host.example/x",
            "http://10.0.0.1/x.zip",
            "git+http://host.example/x",
        ] {
            is(text, |error| matches!(error, SourceError::PlainHttp { .. }));
        }
        is("file:///srv/x", |error| {
            matches!(error, SourceError::BareFile { .. })
        });
        for text in [
            "git://host.example/x",
            "ftp://host.example/x",
            "git+git://host.example/x",
            "rsync://h/x",
        ] {
            is(text, |error| matches!(error, SourceError::Scheme { .. }));
        }
        for text in [
            "ext::sh -c touch% x",
            "fd::17",
            "git+ext::sh -c x",
            "git-remote-x::https://host.example/a",
        ] {
            is(text, |error| {
                matches!(
                    error,
                    SourceError::Helper { .. } | SourceError::Address { .. }
                )
            });
        }
        for text in [
            "https://me@host.example/x",
            "https://me:secret@host.example/x.git",
            "https://me:se/cret@host.example/x.git",
            "https://:secret@host.example/x",
            "git+https://token@host.example/x",
            "ssh://me:secret@host.example/x",
            "https://github.com@evil.example/owner/repo",
            "https://me@host.example/o/r/tree/main/x",
            "https://me:pw@host.example/x.zip",
        ] {
            is(text, |error| matches!(error, SourceError::UserInfo { .. }));
        }
        for text in [
            "-x",
            "--upload-pack=touch x",
            "-oProxyCommand=x/y",
            "ssh://-oProxyCommand=x/y",
            "ssh://-x@host.example/y",
            "git@-host.example:y",
            "git@host.example:-x",
            "git+ssh://-host/y",
        ] {
            is(text, |error| {
                matches!(error, SourceError::OptionLike { .. })
            });
        }
        for text in [
            "owner/repo\n",
            "owner/\u{1b}repo",
            "https://h.example/\u{7}",
            "./a\0b",
            "owner/re\u{202e}po",
        ] {
            is(text, |error| {
                matches!(error, SourceError::ControlCharacter { .. })
            });
        }
        for text in [
            "owner/repo/../x",
            "owner/..",
            "https://host.example/a/../b.git",
            "https://host.example/a/%2e%2E/b.git",
            "https://github.com/o/r/tree/main/../x",
            "https://github.com/o/r/tree/main/%2e%2e/x",
            "git+file:///srv/../etc",
            "ssh://git@host.example/a/../b",
        ] {
            is(text, |error| {
                matches!(error, SourceError::ParentPath { .. })
            });
        }
        for text in [
            "owner/repo@a..b",
            "owner/repo@",
            "owner/repo@x.lock",
            "owner/repo@-x",
            "o/r@a@{1}",
            "o/r@a:b",
        ] {
            is(text, |error| matches!(error, SourceError::Ref { .. }));
        }
        for text in [
            "owner/repo@a b",
            "https://host.example/a?token=1",
            "https://host.example/a.zip?token=1",
            "https://host.example/a#v1",
            "https://github.com/o/r/tree/main?x=1",
            "https://ho st.example/a",
            "https://höst.example/a",
            "https://host.example:99999/a",
            "https://host.example:0/a",
            "https:///a",
            "https://host..example/a",
            "https://host.example/a%zz",
            "https://host.example/a%2fb",
            "ssh://git@host.example",
            "git+file://host/a",
            "./a\\b",
        ] {
            is(text, |error| matches!(error, SourceError::Address { .. }));
        }
        for text in ["pdf", "owner/", "/ /"] {
            let _ = typed(text);
        }
        for text in [
            "pdf",
            "owner/",
            "ow ner/repo",
            ".hidden/repo",
            "own€r/repo",
            "a\\b/c",
        ] {
            is(text, |error| {
                matches!(
                    error,
                    SourceError::NotASource { .. } | SourceError::Address { .. }
                )
            });
        }
        is("C:/x", |error| matches!(error, SourceError::Name { .. }));
        is("https://github.com/o/r/blob/main/x.md", |error| {
            matches!(error, SourceError::PageOfFile { .. })
        });
        is("", |error| *error == SourceError::Empty);
        is(&format!("o/{}", "r".repeat(5000)), |error| {
            *error == SourceError::TooLong
        });
    }

    #[test]
    fn no_message_has_a_secret() {
        for text in [
            "https://me:secret@host.example/x.git",
            "https://me:se/secret@host.example/x.git",
            "ssh://me:secret@host.example/x",
            "git+https://secret@host.example/x",
            "https://host.example/a.zip?token=secret",
            "me:secret@host.example:x/y",
        ] {
            let error = typed(text).unwrap_err();
            let all = format!("{error} {error:?} {:?}", error.hint());
            assert!(!all.contains("secret"), "{all}");
        }
    }

    #[test]
    fn shorthand_host_is_a_setting() {
        let base = "https://git.example.com/team/";
        let parse = |text| PackageSource::parse(text, base, SourceOrigin::Typed).unwrap();
        assert_eq!(
            line(&parse("a/b@v1.0.0")),
            "git https://git.example.com/team/a/b version =1.0.0"
        );
        assert_eq!(
            line(&parse("https://git.example.com/team/a/b")),
            "git https://git.example.com/team/a/b"
        );
        assert_eq!(
            line(&parse("https://git.example.com/teams/a/b")),
            "site https://git.example.com/teams/a/b"
        );
        assert_eq!(
            line(&parse("https://github.com/a/b")),
            "site https://github.com/a/b"
        );
    }

    #[test]
    fn project_names_local_repositories_inside_itself_only() {
        let project = SourceOrigin::Project {
            root: "/srv/app",
            mirrors: &["file:///srv/mirror".to_owned()],
        };
        let check = |text: &str| PackageSource::parse(text, DEFAULT_SHORTHAND, project);
        assert!(check("git+file:///srv/app/mirror").is_ok());
        assert!(check("git+file:///srv/mirror").is_ok());
        for path in ["/srv/apple", "/srv", "/etc"] {
            let error = check(&format!("git+file://{path}")).unwrap_err();
            assert_eq!(error.exit(), PackageExit::Refused);
        }
        assert!(check("git+file:///srv/app/../x").is_err());
        for origin in [SourceOrigin::Typed, SourceOrigin::Person] {
            assert!(PackageSource::parse("git+file:///etc/x", DEFAULT_SHORTHAND, origin).is_ok());
        }
    }

    #[test]
    fn list_of_sources_allows_what_it_names() {
        let patterns = [
            "https://git.example.com/acme/*",
            "acme/*",
            "tools/one",
            "ssh://git@*.example.com/ops/*",
            "./skills/*",
            "mcp:issues/*",
            "corp:acme/*",
        ]
        .map(str::to_owned);
        let check = |text: &str| check_allowed(&typed(text).unwrap(), &patterns, DEFAULT_SHORTHAND);
        for text in [
            "https://git.example.com/acme/ops.git",
            "git+https://git.example.com/acme/deep/ops",
            "https://git.example.com/acme/x.tar.gz",
            "acme/skills",
            "acme/skills/pdf@^1",
            "https://github.com/acme/skills/tree/main/x",
            "tools/one",
            "tools/one.git",
            "ssh://git@a.example.com/ops/x",
            "git@a.example.com:ops/x.git",
            "./skills/mine",
            "mcp:issues/skill://a/b",
            "corp:acme/forms",
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
            // The lock names the same places.
            let source = typed(text).unwrap();
            let locked = source.locked().unwrap();
            let allowed =
                check_locked_allowed(&locked, source.locked_path(), &patterns, DEFAULT_SHORTHAND);
            assert_eq!(allowed, Ok(()), "{text}");
        }
        for text in [
            "https://git.example.com/acme",
            "https://git.example.com/acmes/x.git",
            "https://git.example.com.evil.example/acme/x.git",
            "git+ssh://git@git.example.com/acme/ops",
            "git+http://localhost/acme/x",
            "acmes/skills",
            "other/skills",
            "tools/two",
            "tools/one-more",
            "ssh://git@evil.example/a.example.com/ops/x",
            "./skills/../x",
            "../skills/x",
            "./skills",
            "mcp:other/skill://a/b",
            "corp:other/forms",
        ] {
            let error = check(text).unwrap_err();
            assert!(matches!(error, SourceError::NotAllowed { .. }), "{text}");
            assert_eq!(error.exit(), PackageExit::Refused);
        }
    }

    #[test]
    fn signers_are_found_by_any_transport_and_spelling() {
        let patterns = [
            "https://github.com/acme/*",
            "ssh://git@Git.example.com/ops/one",
            "git+file:///srv/mirror",
            "mcp:issues/*",
            "corp:acme/*",
            "./*",
        ]
        .map(str::to_owned);
        let check = |text: &str| {
            let source = typed(text).unwrap();
            is_named(&source.locked().unwrap(), source.locked_path(), &patterns)
        };
        for text in [
            "acme/skills",
            "Acme/Skills",
            "git@github.com:acme/skills.git",
            "ssh://other@github.com/ACME/skills",
            "https://github.com/acme/skills/archive/v1.zip",
            "git+https://git.example.com/ops/one.git",
            "git+file:///srv/mirror",
            "mcp:issues/skill://a/b",
            "corp:acme/forms",
            "forms.skill",
        ] {
            assert!(check(text), "{text}");
        }
        for text in [
            "acmes/skills",
            "https://github.com.evil.example/acme/x.git",
            "git+https://evil.example/github.com/acme/x",
            "git+https://git.example.com/ops/two",
            "git+file:///srv/other",
            "mcp:other/skill://a/b",
            "corp:other/forms",
        ] {
            assert!(!check(text), "{text}");
        }
    }

    #[test]
    fn locked_sources_are_as_strict_as_typed_ones() {
        for text in [
            "path",
            "git+https://host.example/a",
            "git+ssh://git@host.example/a",
            "git+file:///srv/a",
            "archive+https://host.example/a.zip",
            "archive+file:../a.zip",
            "index+https://host.example",
            "mcp+issues",
            "registry+corp",
        ] {
            let source = LockedSource::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(source.to_string(), text);
        }
        for text in [
            "",
            "git",
            "git+",
            "git+ext::sh -c x",
            "git+git://host.example/a",
            "git+https://me@host.example/a",
            "git+https://HOST.example/a",
            "git+https://host.example/a/",
            "git+https://host.example/a/../b",
            "git+ssh://-x/a",
            "git+http://host.example/a",
            "archive+ssh://host.example/a",
            "archive+file:x",
            "index+file:///a",
            "mcp+a/b",
            "mcp+",
            "npm+x",
            "path+x",
        ] {
            assert_eq!(LockedSource::parse(text), None, "{text}");
        }
        let same = |one: &str, two: &str| {
            LockedSource::Git(one.into()).is_same_place(&LockedSource::Git(two.into()))
        };
        assert!(same("https://h.example/a.git", "https://h.example/a"));
        assert!(!same("https://h.example/a.git", "https://h.example/b"));
    }

    proptest! {
        #[test]
        fn what_parses_has_a_form_in_the_lock(text in "[-a-z0-9:/@.+~]{1,30}|(https|ssh|git\\+file)://[ -~]{0,30}") {
            if let Ok(source) = typed(&text)
                && let Some(locked) = source.locked()
            {
                let form = locked.to_string();
                prop_assert_eq!(LockedSource::parse(&form), Some(locked), "{}", form);
            }
        }
    }
}

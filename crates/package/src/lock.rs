//! The lock: which bytes each package has.
//!
//! Read with `toml`, written by hand in a fixed order with one file a line, so that equal locks are
//! equal bytes and two branches that add two packages merge by themselves.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use prowess_spec::ResourcePath;
use prowess_spec::schema::NamedSchema;
use serde_json::json;
use toml::{Table, Value};

use crate::address::is_repository_folder;
use crate::source::LockedSource;
use crate::version::is_commit_id;

/// The name of the lock, next to the manifest.
pub const LOCK_NAME: &str = "prowess.lock";
/// The format that this version reads and writes.
pub const LOCK_VERSION: i64 = 1;
/// Maximum size of a lock in bytes.
pub const MAX_LOCK: usize = 32 * 1024 * 1024;
/// Maximum number of tokens of a lock: more than 100,000 files have. Each takes memory when it is parsed.
const MAX_LOCK_TOKENS: usize = 3_000_000;
/// Maximum number of packages of a lock.
pub const MAX_LOCKED_PACKAGES: usize = 10_000;
/// Maximum number of files of a package.
pub const MAX_LOCKED_FILES: usize = 10_000;
/// Maximum length of a name, a path or another text, in bytes.
const MAX_LOCKED_TEXT: usize = 4096;
/// Maximum nesting of keys that this version does not know.
const MAX_NESTING: usize = 32;

/// The first line of a lock.
const HEADER: &str = "# Written by prowess. Commit it. `prowess lock` rewrites it.\n";
/// The key of the records of forks, which this module keeps as unknown.
const FORK_KEY: &str = "fork";
/// Keys at the top of a lock.
const TOP_KEYS: [&str; 2] = ["version", "package"];
/// Keys of a package with a text, in the order in which they are written.
const PACKAGE_KEYS: [&str; 12] = [
    "name", "version", "wanted", "source", "path", "ref", "commit", "tree", "digest", "archive",
    "license", "signer",
];

/// The packages of a scope, sorted by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LockFile {
    /// Packages, sorted by name; names are unique.
    pub packages: Vec<LockedPackage>,
    /// Keys at the top that this version does not know.
    pub extra: Table,
}

/// One locked package.
#[derive(Clone, Debug, PartialEq)]
pub struct LockedPackage {
    /// The folder in `.agents/skills`.
    pub name: String,
    /// The resolved version.
    pub version: Option<String>,
    /// The range or ref that the manifest asked for, as text.
    pub wanted: Option<String>,
    /// The source.
    pub source: LockedSource,
    /// The place in the source: a folder, the name in an index or registry, an address of a server.
    pub path: Option<String>,
    /// The full name of the git ref: `refs/tags/v1.4.2`.
    pub git_ref: Option<String>,
    /// The full commit id.
    pub commit: Option<String>,
    /// Git's id of the folder.
    pub tree: Option<String>,
    /// The digest over every file, as of `prowess_registry::digest`. `None` for `path` sources only.
    pub digest: Option<String>,
    /// The digest of the archive itself.
    pub archive: Option<String>,
    /// The licence that the package declares.
    pub license: Option<String>,
    /// The signer whose signature was checked.
    pub signer: Option<String>,
    /// The files, sorted by the bytes of their paths.
    pub files: Vec<LockedFile>,
    /// Keys that this version does not know.
    pub extra: Table,
}

/// One file of a locked package.
#[derive(Clone, Debug, PartialEq)]
pub struct LockedFile {
    /// The path relative to the package, with forward slashes.
    pub path: String,
    /// The size in bytes; for a link, the length of its target.
    pub size: u64,
    /// `sha256:` and 64 hexadecimal digits, over the content; for a link, over its target.
    pub digest: String,
    /// The type.
    pub kind: LockedKind,
    /// The path in the repository from which a link was replaced by its content.
    pub from: Option<String>,
    /// Keys that this version does not know.
    pub extra: Table,
}

/// The type of a locked file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LockedKind {
    /// A regular file.
    #[default]
    File,
    /// An executable regular file.
    Executable,
    /// A symbolic link to a place in the same package.
    Link,
}

/// Both sides of a lock with conflict markers.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitedLock {
    /// The packages that one side has, or both sides have alike.
    pub lock: LockFile,
    /// Names of packages that differ, which must be resolved again.
    pub differing: Vec<String>,
}

impl LockFile {
    /// Parses a lock. Unknown keys are kept. A lock with conflict markers is an error.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        check_size(text)?;
        if has_markers(text) {
            return Err(LockError::Conflict);
        }
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            let line = error.span().and_then(|span| text.get(..span.start));
            LockError::Damaged {
                reason: prowess_diag::sanitize::line(error.message()).into_owned(),
                line: line.map(|before| before.matches('\n').count() + 1),
            }
        })?;
        read_lock(table)
    }

    /// Parses a lock that may have conflict markers: reads both sides and unites them.
    pub fn unite(text: &str) -> Result<UnitedLock, LockError> {
        check_size(text)?;
        if !has_markers(text) {
            return Self::parse(text).map(|lock| UnitedLock {
                lock,
                differing: Vec::new(),
            });
        }
        let [ours, theirs] = sides(text)?;
        let (mut lock, theirs) = (Self::parse(&ours)?, Self::parse(&theirs)?);
        let mut differing = Vec::new();
        let mut packages: BTreeMap<String, LockedPackage> = lock
            .packages
            .into_iter()
            .map(|package| (package.name.clone(), package))
            .collect();
        for package in theirs.packages {
            match packages.get(&package.name) {
                None => {
                    packages.insert(package.name.clone(), package);
                }
                Some(known) if *known == package => {}
                Some(_) => {
                    packages.remove(&package.name);
                    differing.push(package.name);
                }
            }
        }
        lock.packages = packages.into_values().collect();
        for (key, value) in theirs.extra {
            match (lock.extra.get_mut(&key), value) {
                (Some(Value::Array(ours)), Value::Array(theirs)) if key == FORK_KEY => {
                    let name = |record: &Value| record.get("name").map(ToString::to_string);
                    let known: Vec<_> = ours.iter().map(name).collect();
                    let new = theirs.into_iter();
                    ours.extend(new.filter(|record| !known.contains(&name(record))));
                }
                (Some(_), _) => {}
                (None, value) => {
                    lock.extra.insert(key, value);
                }
            }
        }
        Ok(UnitedLock { lock, differing })
    }

    /// Returns the package with this name.
    pub fn get(&self, name: &str) -> Option<&LockedPackage> {
        let at = self.position(name).ok()?;
        self.packages.get(at)
    }

    /// Adds a package, or replaces the one with its name. Returns the replaced one.
    pub fn insert(&mut self, mut package: LockedPackage) -> Option<LockedPackage> {
        sort_files(&mut package.files);
        // A package declares them itself, with any text.
        for text in [&mut package.version, &mut package.license] {
            *text = text.take().map(|text| one_line(&text));
        }
        match self.position(&package.name) {
            Ok(at) => Some(std::mem::replace(&mut self.packages[at], package)),
            Err(at) => {
                self.packages.insert(at, package);
                None
            }
        }
    }

    /// Removes the package with this name, and returns it.
    pub fn remove(&mut self, name: &str) -> Option<LockedPackage> {
        let at = self.position(name).ok()?;
        Some(self.packages.remove(at))
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.packages
            .binary_search_by(|package| package.name.as_str().cmp(name))
    }

    /// Returns the text of the lock. Packages are sorted by name, files by the bytes of their paths.
    pub fn to_text(&self) -> String {
        let mut text = format!("{HEADER}version = {LOCK_VERSION}\n");
        let forks = self.fork_records();
        let mut extra = self.extra.clone();
        if !forks.is_empty() {
            extra.remove(FORK_KEY);
        }
        write_extra(&mut text, &extra);
        let mut packages: Vec<&LockedPackage> = self.packages.iter().collect();
        packages.sort_by(|one, two| one.name.cmp(&two.name));
        for package in packages {
            text.push_str("\n[[package]]\n");
            let source = package.source.to_string();
            let values = [
                Some(&package.name),
                package.version.as_ref(),
                package.wanted.as_ref(),
                Some(&source),
                package.path.as_ref(),
                package.git_ref.as_ref(),
                package.commit.as_ref(),
                package.tree.as_ref(),
                package.digest.as_ref(),
                package.archive.as_ref(),
                package.license.as_ref(),
                package.signer.as_ref(),
            ];
            for (key, value) in PACKAGE_KEYS.into_iter().zip(values) {
                if let Some(value) = value {
                    text.push_str(key);
                    text.push_str(" = ");
                    write_text(&mut text, value);
                    text.push('\n');
                }
            }
            write_extra(&mut text, &package.extra);
            if package.source != LockedSource::Path {
                write_files(&mut text, &package.files);
            }
        }
        // One line for each key, so that two branches with forks merge by themselves.
        for fork in forks {
            text.push_str("\n[[fork]]\n");
            write_extra(&mut text, fork);
        }
        text
    }

    /// Returns the records of forks. Empty if the key has something else.
    pub fn fork_records(&self) -> Vec<&Table> {
        let records = self.extra.get(FORK_KEY).and_then(Value::as_array);
        let tables = records.map(|all| all.iter().map(Value::as_table).collect());
        let tables: Option<Vec<&Table>> = tables.unwrap_or_default();
        tables.unwrap_or_default()
    }
}

impl LockedKind {
    /// Returns the word in the lock.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Executable => "executable",
            Self::Link => "link",
        }
    }
}

fn check_size(text: &str) -> Result<(), LockError> {
    if text.len() > MAX_LOCK {
        return Err(too_large(format!("{} MiB", MAX_LOCK / 1024 / 1024)));
    }
    if prowess_diag::toml_size::has_more_tokens(text, MAX_LOCK_TOKENS) {
        let most = prowess_diag::wording::thousands(MAX_LOCK_TOKENS);
        return Err(too_large(format!("{most} values and signs")));
    }
    Ok(())
}

fn too_large(limit: String) -> LockError {
    LockError::TooLarge { limit }
}

fn damaged(reason: impl Into<String>) -> LockError {
    LockError::Damaged {
        reason: reason.into(),
        line: None,
    }
}

/// A line that git writes around a conflict.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ConflictMark {
    Ours,
    Base,
    Between,
    Theirs,
}

fn mark(line: &str) -> Option<ConflictMark> {
    let line = line.trim_end_matches(['\n', '\r']);
    let is = |start: &str| {
        line.strip_prefix(start)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    match line.as_bytes().first()? {
        b'<' if is("<<<<<<<") => Some(ConflictMark::Ours),
        b'|' if is("|||||||") => Some(ConflictMark::Base),
        b'=' if is("=======") => Some(ConflictMark::Between),
        b'>' if is(">>>>>>>") => Some(ConflictMark::Theirs),
        _ => None,
    }
}

fn has_markers(text: &str) -> bool {
    text.lines().any(|line| mark(line).is_some())
}

/// Returns the text as each side of a merge has it.
fn sides(text: &str) -> Result<[String; 2], LockError> {
    let [mut ours, mut theirs] = [String::new(), String::new()];
    let mut place = None;
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let next = match (mark(line), place) {
            (None, _) => {
                match place {
                    None => {
                        ours.push_str(line);
                        theirs.push_str(line);
                    }
                    Some(ConflictMark::Ours) => ours.push_str(line),
                    Some(ConflictMark::Between) => theirs.push_str(line),
                    Some(_) => {}
                }
                continue;
            }
            (Some(ConflictMark::Ours), None) => Some(ConflictMark::Ours),
            (Some(ConflictMark::Base), Some(ConflictMark::Ours)) => Some(ConflictMark::Base),
            (Some(ConflictMark::Between), Some(ConflictMark::Ours | ConflictMark::Base)) => {
                Some(ConflictMark::Between)
            }
            (Some(ConflictMark::Theirs), Some(ConflictMark::Between)) => None,
            _ => {
                return Err(LockError::Damaged {
                    reason: "the conflict markers are out of order".to_owned(),
                    line: Some(at + 1),
                });
            }
        };
        place = next;
    }
    match place {
        None => Ok([ours, theirs]),
        Some(_) => Err(damaged("a conflict marker has no end")),
    }
}

fn read_lock(mut table: Table) -> Result<LockFile, LockError> {
    match table.remove("version") {
        Some(Value::Integer(LOCK_VERSION)) => {}
        Some(Value::Integer(found)) if found > LOCK_VERSION => {
            return Err(LockError::Newer { found });
        }
        Some(_) => return Err(damaged("`version` is invalid")),
        None => return Err(damaged("`version` is missing")),
    }
    let packages = match table.remove("package") {
        None => Vec::new(),
        Some(Value::Array(packages)) => packages,
        Some(_) => return Err(damaged("`package` is not a list of tables")),
    };
    if packages.len() > MAX_LOCKED_PACKAGES {
        return Err(too_large(format!("{MAX_LOCKED_PACKAGES} packages")));
    }
    check_nesting(&table)?;
    let mut lock = LockFile {
        packages: Vec::with_capacity(packages.len()),
        extra: table,
    };
    for package in packages {
        let Value::Table(package) = package else {
            return Err(damaged("`package` is not a list of tables"));
        };
        lock.packages.push(read_package(package)?);
    }
    lock.packages.sort_by(|one, two| one.name.cmp(&two.name));
    let twins = lock
        .packages
        .windows(2)
        .find(|pair| pair[0].name == pair[1].name);
    match twins {
        Some(pair) => Err(damaged(format!(
            "the package `{}` is there twice",
            pair[0].name
        ))),
        None => Ok(lock),
    }
}

fn read_package(mut table: Table) -> Result<LockedPackage, LockError> {
    let name = match table.get("name") {
        Some(Value::String(name)) if is_folder_name(name) => name.clone(),
        Some(_) => return Err(damaged("a `name` is invalid")),
        None => return Err(damaged("a package has no `name`")),
    };
    let fault = |what: &str| damaged(format!("{what} of `{name}`"));
    let mut text = |key: &str| match table.remove(key) {
        None => Ok(None),
        Some(Value::String(text)) if is_text(&text) => Ok(Some(text)),
        Some(_) => Err(fault(&format!("invalid `{key}`"))),
    };
    text("name")?;
    let source = text("source")?.ok_or_else(|| fault("no `source`"))?;
    let source = LockedSource::parse(&source).ok_or_else(|| fault("invalid `source`"))?;
    let mut package = LockedPackage {
        version: text("version")?,
        wanted: text("wanted")?,
        path: text("path")?,
        git_ref: text("ref")?,
        commit: text("commit")?,
        tree: text("tree")?,
        digest: text("digest")?,
        archive: text("archive")?,
        license: text("license")?,
        signer: text("signer")?,
        name: name.clone(),
        source,
        files: Vec::new(),
        extra: Table::new(),
    };
    let is_live = package.source == LockedSource::Path;
    match &package.commit {
        Some(commit) if !is_lower_id(commit) => return Err(fault("invalid `commit`")),
        None if matches!(package.source, LockedSource::Git(_)) => return Err(fault("no `commit`")),
        _ => {}
    }
    if package.tree.as_ref().is_some_and(|tree| !is_lower_id(tree)) {
        return Err(fault("invalid `tree`"));
    }
    for (key, digest) in [("digest", &package.digest), ("archive", &package.archive)] {
        if digest.as_ref().is_some_and(|digest| !is_digest(digest)) {
            return Err(fault(&format!("invalid `{key}`")));
        }
    }
    if package.digest.is_none() && !is_live {
        return Err(fault("no `digest`"));
    }
    // Inside a repository or an archive. A live folder may be anywhere, and a server has addresses.
    if let (LockedSource::Git(_) | LockedSource::Archive(_), Some(path)) =
        (&package.source, &package.path)
        && !is_inner_path(path)
    {
        return Err(fault("invalid `path`"));
    }
    if package.path.is_none() && is_live {
        return Err(fault("no `path`"));
    }
    if let Some(git_ref) = &package.git_ref
        && (!git_ref.starts_with("refs/") || crate::version::ref_fault(git_ref).is_some())
    {
        return Err(fault("invalid `ref`"));
    }
    match table.remove("files") {
        None if is_live => {}
        Some(Value::Array(files)) if !is_live => {
            if files.len() > MAX_LOCKED_FILES {
                return Err(too_large(format!("{MAX_LOCKED_FILES} files of a package")));
            }
            package.files.reserve_exact(files.len());
            for file in files {
                let file = read_file(file).map_err(&fault)?;
                package.files.push(file);
            }
        }
        _ => return Err(fault("missing or invalid `files`")),
    }
    sort_files(&mut package.files);
    if package
        .files
        .windows(2)
        .any(|pair| pair[0].path == pair[1].path)
    {
        return Err(fault("two files with one path"));
    }
    check_nesting(&table)?;
    package.extra = table;
    Ok(package)
}

fn read_file(value: Value) -> Result<LockedFile, &'static str> {
    let Value::Table(mut table) = value else {
        return Err("an invalid file");
    };
    let mut text = |key: &str| match table.remove(key) {
        Some(Value::String(text)) if is_text(&text) => Ok(Some(text)),
        Some(_) => Err("an invalid key of a file"),
        None => Ok(None),
    };
    let path = text("path")?
        .filter(|path| is_inner_path(path))
        .ok_or("a missing or invalid path of a file")?;
    let digest = text("digest")?
        .filter(|digest| is_digest(digest))
        .ok_or("a missing or invalid digest of a file")?;
    let from = text("from")?;
    if from.as_ref().is_some_and(|from| !is_inner_path(from)) {
        return Err("an invalid `from` of a file");
    }
    let kind = match text("kind")?.as_deref() {
        None => LockedKind::File,
        Some("executable") => LockedKind::Executable,
        Some("link") => LockedKind::Link,
        Some(_) => return Err("an unknown kind of a file"),
    };
    let size = match table.remove("size") {
        Some(Value::Integer(size)) => u64::try_from(size).ok(),
        _ => None,
    };
    check_nesting(&table).map_err(|_| "a key of a file that is nested too deeply")?;
    Ok(LockedFile {
        path,
        size: size.ok_or("a missing or invalid size of a file")?,
        digest,
        kind,
        from,
        extra: table,
    })
}

fn sort_files(files: &mut [LockedFile]) {
    files.sort_by(|one, two| one.path.as_bytes().cmp(two.path.as_bytes()));
}

/// Returns `true` for a name that can be a folder in `.agents/skills`.
pub fn is_folder_name(name: &str) -> bool {
    let is_refused = |c: char| {
        c.is_control() || matches!(c, '/' | '\\' | ':') || prowess_diag::sanitize::is_deceptive(c)
    };
    (1..=255).contains(&name.len())
        && !name.starts_with(['.', '-'])
        && !name.ends_with(['.', ' '])
        && name.trim() == name
        && !name.contains(is_refused)
}

/// Returns `true` for a relative path in its normal form, outside of repository folders.
fn is_inner_path(path: &str) -> bool {
    ResourcePath::new(path).is_ok_and(|clean| clean.as_str() == path)
        && !path.contains(char::is_control)
        && !path.split('/').any(is_repository_folder)
}

fn is_text(text: &str) -> bool {
    text.len() <= MAX_LOCKED_TEXT && !text.contains(char::is_control)
}

/// Returns a text that a lock may have: one line, not too long.
fn one_line(text: &str) -> String {
    let line = text.replace(char::is_control, " ");
    prowess_diag::wording::shorten(&line, 256)
}

fn is_lower_id(id: &str) -> bool {
    is_commit_id(id) && !id.bytes().any(|byte| byte.is_ascii_uppercase())
}

/// Returns `true` for `sha256:` and 64 hexadecimal digits in lower case.
pub fn is_digest(digest: &str) -> bool {
    digest.strip_prefix("sha256:").is_some_and(|digits| {
        digits.len() == 64
            && digits
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Refuses unknown keys that are nested too deeply to be written back.
fn check_nesting(table: &Table) -> Result<(), LockError> {
    fn is_fine(value: &Value, left: usize) -> bool {
        match value {
            Value::Array(items) => left > 0 && items.iter().all(|item| is_fine(item, left - 1)),
            Value::Table(table) => left > 0 && table.values().all(|item| is_fine(item, left - 1)),
            _ => true,
        }
    }
    if table.values().all(|value| is_fine(value, MAX_NESTING)) {
        Ok(())
    } else {
        Err(too_large(format!("{MAX_NESTING} levels of nesting")))
    }
}

fn write_files(text: &mut String, files: &[LockedFile]) {
    if files.is_empty() {
        text.push_str("files = []\n");
        return;
    }
    text.push_str("files = [\n");
    let mut sorted: Vec<&LockedFile> = files.iter().collect();
    sorted.sort_by(|one, two| one.path.as_bytes().cmp(two.path.as_bytes()));
    for file in sorted {
        text.push_str("  { path = ");
        write_text(text, &file.path);
        let _ = write!(text, ", size = {}, digest = ", file.size);
        write_text(text, &file.digest);
        if file.kind != LockedKind::File {
            text.push_str(", kind = ");
            write_text(text, file.kind.as_str());
        }
        if let Some(from) = &file.from {
            text.push_str(", from = ");
            write_text(text, from);
        }
        for (key, value) in sorted_keys(&file.extra) {
            text.push_str(", ");
            write_key(text, key);
            text.push_str(" = ");
            write_value(text, value);
        }
        text.push_str(" },\n");
    }
    text.push_str("]\n");
}

fn write_extra(text: &mut String, extra: &Table) {
    for (key, value) in sorted_keys(extra) {
        write_key(text, key);
        text.push_str(" = ");
        write_value(text, value);
        text.push('\n');
    }
}

/// The order of a table depends on a feature of the `toml` crate.
fn sorted_keys(table: &Table) -> BTreeMap<&str, &Value> {
    table
        .iter()
        .map(|(key, value)| (key.as_str(), value))
        .collect()
}

/// Writes a key of TOML.
pub(crate) fn write_key(text: &mut String, key: &str) {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if !key.is_empty() && key.bytes().all(is_bare) {
        text.push_str(key);
    } else {
        write_text(text, key);
    }
}

/// Writes a string of TOML on one line.
pub(crate) fn write_text(text: &mut String, value: &str) {
    text.push('"');
    for c in value.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            '\r' => text.push_str("\\r"),
            c if c.is_control() || prowess_diag::sanitize::is_deceptive(c) => {
                let _ = write!(text, "\\U{:08X}", u32::from(c));
            }
            c => text.push(c),
        }
    }
    text.push('"');
}

/// Writes a value on one line.
// The depth is bounded by `check_nesting`.
fn write_value(text: &mut String, value: &Value) {
    match value {
        Value::String(value) => write_text(text, value),
        Value::Integer(value) => {
            let _ = write!(text, "{value}");
        }
        Value::Boolean(value) => {
            let _ = write!(text, "{value}");
        }
        Value::Float(value) if value.is_nan() => text.push_str("nan"),
        Value::Float(value) if value.is_infinite() => {
            text.push_str(if *value > 0.0 { "inf" } else { "-inf" });
        }
        Value::Float(value) => {
            let _ = write!(text, "{value:?}");
        }
        Value::Datetime(value) => {
            let _ = write!(text, "{value}");
        }
        Value::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push_str(", ");
                }
                write_value(text, item);
            }
            text.push(']');
        }
        Value::Table(table) => {
            text.push('{');
            for (at, (key, value)) in sorted_keys(table).into_iter().enumerate() {
                text.push_str(if at > 0 { ", " } else { " " });
                write_key(text, key);
                text.push_str(" = ");
                write_value(text, value);
            }
            text.push_str(if table.is_empty() { "}" } else { " }" });
        }
    }
}

/// The schema of a lock.
pub const LOCK_SCHEMA: NamedSchema = NamedSchema {
    name: "lock",
    summary: "The lockfile prowess.lock",
    build: schema,
};

fn schema() -> serde_json::Value {
    let text = |summary: &str| json!({ "type": "string", "description": summary });
    let digest = |summary: &str| {
        json!({
            "type": "string",
            "pattern": "^sha256:[0-9a-f]{64}$",
            "description": summary,
        })
    };
    let id = |summary: &str| {
        json!({
            "type": "string",
            "pattern": "^([0-9a-f]{40}|[0-9a-f]{64})$",
            "description": summary,
        })
    };
    let file = json!({
        "type": "object",
        "required": ["path", "size", "digest"],
        "properties": {
            "path": text("Path relative to the package, with forward slashes"),
            "size": { "type": "integer", "minimum": 0, "description": "Size in bytes; of a link, the length of its target" },
            "digest": digest("Digest of the content; of a link, of its target"),
            "kind": { "enum": ["executable", "link"], "description": "Type, if it is not a plain file" },
            "from": text("Path in the repository of a file that replaces a link to it"),
        },
    });
    let source = "^(path|git\\+(https?|ssh|file)://.+|archive\\+(https?://|file:).+|index\\+https?://.+|mcp\\+[^/]+|registry\\+[^/]+)$";
    let package = json!({
        "type": "object",
        "required": ["name", "source"],
        "properties": {
            "name": { "type": "string", "minLength": 1, "maxLength": 255, "description": "Folder in .agents/skills" },
            "version": text("Resolved version"),
            "wanted": text("Range or ref that the manifest asks for"),
            "source": { "type": "string", "pattern": source, "description": "Normalised source, without credentials" },
            "path": text("Place in the source: a folder, a name in an index or registry, an address on a server"),
            "ref": { "type": "string", "pattern": "^refs/", "description": "Full name of the git ref" },
            "commit": id("Commit id"),
            "tree": id("Git's id of the folder"),
            "digest": digest("Digest over every file of the package"),
            "archive": digest("Digest of the archive itself"),
            "license": text("Licence that the package declares"),
            "signer": text("Signer whose signature was checked"),
            "files": { "type": "array", "maxItems": MAX_LOCKED_FILES, "items": file },
        },
        "allOf": [
            {
                "if": { "properties": { "source": { "const": "path" } } },
                "then": { "required": ["path"] },
                "else": { "required": ["digest", "files"] },
            },
            {
                "if": { "properties": { "source": { "pattern": "^git\\+" } } },
                "then": { "required": ["commit"] },
            },
        ],
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Lockfile of prowess",
        "type": "object",
        "required": TOP_KEYS[..1],
        "properties": {
            "version": { "const": LOCK_VERSION, "description": "Format of the file" },
            "package": {
                "type": "array",
                "maxItems": MAX_LOCKED_PACKAGES,
                "items": package,
                "description": "Packages, sorted by name",
            },
        },
        "additionalProperties": true,
    })
}

/// The reason why a lock cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// The format is newer.
    #[error(
        "`prowess.lock` has format {found}, written by a newer prowess; this one reads format {LOCK_VERSION}"
    )]
    Newer {
        /// The format of the file.
        found: i64,
    },
    /// The text is not a lock.
    #[error("`prowess.lock` is damaged: {reason}")]
    Damaged {
        /// The first fault.
        reason: String,
        /// The line of the fault, from 1.
        line: Option<usize>,
    },
    /// The text has conflict markers.
    #[error("`prowess.lock` has conflict markers of a merge")]
    Conflict,
    /// The lock exceeds a limit.
    #[error("`prowess.lock` exceeds the limit of {limit}")]
    TooLarge {
        /// The limit, with its unit.
        limit: String,
    },
}

impl LockError {
    /// Returns the next command to type, or another way out.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Newer { .. } => "update prowess; the file was not changed".to_owned(),
            Self::Damaged { .. } | Self::TooLarge { .. } => {
                "restore it from version control, or remove it and run `prowess lock`".to_owned()
            }
            Self::Conflict => "unite both sides with `prowess lock`".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn digest(digit: char) -> String {
        format!("sha256:{}", digit.to_string().repeat(64))
    }

    fn package(name: &str) -> LockedPackage {
        LockedPackage {
            name: name.to_owned(),
            version: Some("1.4.2".to_owned()),
            wanted: Some("^1.4".to_owned()),
            source: LockedSource::Git("https://github.com/acme/skills".to_owned()),
            path: Some("skills/pdf".to_owned()),
            git_ref: Some("refs/tags/v1.4.2".to_owned()),
            commit: Some("5".repeat(40)),
            tree: Some("9".repeat(40)),
            digest: Some(digest('d')),
            archive: None,
            license: Some("Apache-2.0".to_owned()),
            signer: None,
            files: vec![
                LockedFile {
                    path: "SKILL.md".to_owned(),
                    size: 5321,
                    digest: digest('4'),
                    kind: LockedKind::File,
                    from: None,
                    extra: Table::new(),
                },
                LockedFile {
                    path: "scripts/fill.py".to_owned(),
                    size: 2210,
                    digest: digest('1'),
                    kind: LockedKind::Executable,
                    from: None,
                    extra: Table::new(),
                },
                LockedFile {
                    path: "shared/terms.md".to_owned(),
                    size: 812,
                    digest: digest('7'),
                    kind: LockedKind::File,
                    from: Some("common/terms.md".to_owned()),
                    extra: Table::new(),
                },
            ],
            extra: Table::new(),
        }
    }

    fn live(name: &str) -> LockedPackage {
        LockedPackage {
            source: LockedSource::Path,
            path: Some("../our-skills/style".to_owned()),
            version: None,
            wanted: None,
            git_ref: None,
            commit: None,
            tree: None,
            digest: None,
            license: None,
            files: Vec::new(),
            ..package(name)
        }
    }

    fn lock(names: &[&str]) -> LockFile {
        let mut lock = LockFile::default();
        for name in names {
            lock.insert(package(name));
        }
        lock
    }

    fn is_valid(text: &str) -> bool {
        let value: Table = text.parse().unwrap();
        let value = serde_json::to_value(value).unwrap();
        jsonschema::is_valid(&schema(), &value)
    }

    #[test]
    fn text_has_a_fixed_order_with_one_file_a_line() {
        let mut found = lock(&["pdf"]);
        found.insert(live("about"));
        let [d, f4, f1, f7] = ['d', '4', '1', '7'].map(digest);
        let expected = format!(
            "# Written by prowess. Commit it. `prowess lock` rewrites it.\n\
             version = 1\n\
             \n\
             [[package]]\n\
             name = \"about\"\n\
             source = \"path\"\n\
             path = \"../our-skills/style\"\n\
             \n\
             [[package]]\n\
             name = \"pdf\"\n\
             version = \"1.4.2\"\n\
             wanted = \"^1.4\"\n\
             source = \"git+https://github.com/acme/skills\"\n\
             path = \"skills/pdf\"\n\
             ref = \"refs/tags/v1.4.2\"\n\
             commit = \"{}\"\n\
             tree = \"{}\"\n\
             digest = \"{d}\"\n\
             license = \"Apache-2.0\"\n\
             files = [\n  \
               {{ path = \"SKILL.md\", size = 5321, digest = \"{f4}\" }},\n  \
               {{ path = \"scripts/fill.py\", size = 2210, digest = \"{f1}\", kind = \"executable\" }},\n  \
               {{ path = \"shared/terms.md\", size = 812, digest = \"{f7}\", from = \"common/terms.md\" }},\n\
             ]\n",
            "5".repeat(40),
            "9".repeat(40),
        );
        assert_eq!(found.to_text(), expected);
        assert_eq!(LockFile::parse(&expected).unwrap(), found);
        assert!(is_valid(&expected));
    }

    #[test]
    fn unknown_keys_survive() {
        let text = lock(&["pdf"])
            .to_text()
            .replace(
                "version = 1\n",
                "version = 1\nfuture = { a = [1, 2.5, \"x\\ny\"], \"b c\" = true }\n",
            )
            .replace("license =", "reviewed = 2026-01-02\nlicense =")
            .replace("size = 5321,", "size = 5321, mode = \"0644\",");
        let found = LockFile::parse(&text).unwrap();
        assert_eq!(found.extra.len(), 1);
        assert_eq!(found.packages[0].extra.len(), 1);
        assert_eq!(
            found.packages[0].files[0].extra["mode"].as_str(),
            Some("0644")
        );
        let written = found.to_text();
        assert_eq!(LockFile::parse(&written).unwrap(), found);
        assert_eq!(LockFile::parse(&written).unwrap().to_text(), written);
        assert!(written.contains("future = { a = [1, 2.5, \"x\\ny\"], \"b c\" = true }\n"));
        assert!(written.contains("reviewed = 2026-01-02\n"));
        assert!(written.contains(", mode = \"0644\" },\n"));
        assert!(is_valid(&written));
    }

    #[test]
    fn newer_format_is_refused() {
        let text = lock(&["pdf"])
            .to_text()
            .replace("version = 1\n", "version = 2\n");
        let error = LockFile::parse(&text).unwrap_err();
        assert_eq!(error, LockError::Newer { found: 2 });
        assert!(error.to_string().contains("written by a newer prowess"));
        assert_eq!(LockFile::unite(&text), Err(LockError::Newer { found: 2 }));
    }

    #[test]
    fn damaged_lock_is_an_error_and_never_empty() {
        let good = lock(&["pdf"]).to_text();
        let changed = |from: &str, to: &str| {
            let text = good.replacen(from, to, 1);
            assert_ne!(text, good, "{from}");
            text
        };
        let twice = format!("{good}{}", good.split_once("\n\n").unwrap().1);
        let cases = [
            String::new(),
            "\n".to_owned(),
            "package = []\n".to_owned(),
            "version = 0\n".to_owned(),
            "version = '1'\n".to_owned(),
            "version = 1\npackage = 3\n".to_owned(),
            "version = 1\npackage = [3]\n".to_owned(),
            good[..good.len() / 2].to_owned(),
            good[..good.len() - 3].to_owned(),
            twice,
            changed("name = \"pdf\"\n", ""),
            changed("name = \"pdf\"", "name = \"../pdf\""),
            changed("name = \"pdf\"", "name = \".pdf\""),
            changed("name = \"pdf\"", "name = \"a/b\""),
            changed("name = \"pdf\"", "name = 3"),
            changed("git+https", "git+git"),
            changed("https://github.com", "https://me:pw@github.com"),
            changed("path = \"skills/pdf\"", "path = \"../pdf\""),
            changed("path = \"skills/pdf\"", "path = \"/pdf\""),
            changed("refs/tags/v1.4.2", "v1.4.2"),
            changed("refs/tags/v1.4.2", "refs/tags/..x"),
            changed("commit = \"5555", "commit = \"555"),
            changed("commit = \"5555", "commit = \"A555"),
            changed("commit", "commitment"),
            changed("digest = \"sha256:d", "digest = \"sha256:x"),
            changed("digest = \"sha256:d", "digest = \"sha1:d"),
            changed("\ndigest", "\ndigested"),
            changed("SKILL.md", "../SKILL.md"),
            changed("SKILL.md", "a/.git/hooks/x"),
            changed("SKILL.md", "scripts/fill.py"),
            changed("size = 5321", "size = -1"),
            changed("size = 5321, ", ""),
            changed("kind = \"executable\"", "kind = \"device\""),
            changed("from = \"common/terms.md\"", "from = \"../terms.md\""),
            changed("files = [", "files = 3\nother = ["),
        ];
        for text in cases {
            let error = LockFile::parse(&text).unwrap_err();
            assert!(
                matches!(error, LockError::Damaged { .. }),
                "{error:?}: {text}"
            );
            assert!(error.hint().is_some());
        }
        let error = LockFile::parse("version = 1\n[[package]\n").unwrap_err();
        assert!(
            matches!(error, LockError::Damaged { line: Some(2), .. }),
            "{error:?}"
        );
    }

    #[test]
    fn sizes_and_counts_are_limited() {
        let text = format!("version = 1\n#{}\n", " ".repeat(MAX_LOCK));
        assert!(matches!(
            LockFile::parse(&text),
            Err(LockError::TooLarge { .. })
        ));
        let one = "[[package]]\nname = 'a'\nsource = 'path'\npath = 'a'\n";
        let text = format!("version = 1\n{}", one.repeat(MAX_LOCKED_PACKAGES + 1));
        assert!(matches!(
            LockFile::parse(&text),
            Err(LockError::TooLarge { .. })
        ));
        let deep = format!("version = 1\nx = {}{}\n", "[".repeat(40), "]".repeat(40));
        assert!(matches!(
            LockFile::parse(&deep),
            Err(LockError::TooLarge { .. })
        ));
        let deeper = format!(
            "version = 1\nx = {}{}\n",
            "[".repeat(9000),
            "]".repeat(9000)
        );
        assert!(LockFile::parse(&deeper).is_err());
    }

    /// Makes a conflict as git does, with the program itself.
    fn conflict(base: &str, ours: &str, theirs: &str) -> (bool, String) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("base", base), ("ours", ours), ("theirs", theirs)] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let output = std::process::Command::new("git")
            .args(["merge-file", "-p", "--diff3", "ours", "base", "theirs"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        (
            output.status.success(),
            String::from_utf8(output.stdout).unwrap(),
        )
    }

    #[test]
    fn two_branches_that_add_packages_far_apart_merge_by_themselves() {
        let other = |name: &str, digit: char| LockedPackage {
            digest: Some(digest(digit)),
            ..package(name)
        };
        let base = lock(&["b", "m", "y"]);
        let (mut ours, mut theirs) = (base.clone(), base.clone());
        ours.insert(other("a", '0'));
        theirs.insert(other("z", '1'));
        let (is_clean, merged) = conflict(&base.to_text(), &ours.to_text(), &theirs.to_text());
        assert!(is_clean);
        ours.insert(other("z", '1'));
        assert_eq!(merged, ours.to_text());
    }

    #[test]
    fn conflict_of_two_added_packages_is_united() {
        let base = lock(&["a", "z"]);
        let (mut ours, mut theirs) = (base.clone(), base.clone());
        ours.insert(package("m"));
        let mut added = package("n");
        added.files.pop();
        added.digest = Some(digest('0'));
        theirs.insert(added.clone());
        let (is_clean, text) = conflict(&base.to_text(), &ours.to_text(), &theirs.to_text());
        assert!(!is_clean, "{text}");
        assert_eq!(LockFile::parse(&text), Err(LockError::Conflict));
        let united = LockFile::unite(&text).unwrap();
        ours.insert(added);
        assert_eq!((united.lock, united.differing.len()), (ours, 0));
    }

    #[test]
    fn conflict_of_two_versions_of_a_package_is_named() {
        let base = lock(&["a", "m", "z"]);
        let (mut ours, mut theirs) = (base.clone(), base.clone());
        let version = |number: &str| LockedPackage {
            version: Some(number.to_owned()),
            ..package("m")
        };
        ours.insert(version("1.5.0"));
        theirs.insert(version("1.6.0"));
        let (is_clean, text) = conflict(&base.to_text(), &ours.to_text(), &theirs.to_text());
        assert!(!is_clean, "{text}");
        for text in [text.clone(), text.replace('\n', "\r\n")] {
            let united = LockFile::unite(&text).unwrap();
            assert_eq!(united.differing, ["m"]);
            assert_eq!(united.lock, lock(&["a", "z"]));
        }
        // A marker without its partner, or a side that is damaged, is an error.
        for text in [
            text.replace(">>>>>>> ", "# "),
            text.replace("<<<<<<< ", "# "),
            text.replace("1.6.0\"", "1.6.0"),
        ] {
            assert!(
                matches!(LockFile::unite(&text), Err(LockError::Damaged { .. })),
                "{text}"
            );
        }
    }

    #[test]
    fn declared_texts_cannot_damage_a_lock() {
        let mut found = LockFile::default();
        found.insert(LockedPackage {
            version: Some("1\n[[package]]".to_owned()),
            license: Some("\u{1b}x\n".repeat(5000)),
            ..package("a")
        });
        assert_eq!(LockFile::parse(&found.to_text()), Ok(found));
    }

    #[test]
    fn packages_stay_sorted_and_unique() {
        let mut found = lock(&["b", "a", "c", "B"]);
        let names = |lock: &LockFile| -> Vec<String> {
            lock.packages
                .iter()
                .map(|package| package.name.clone())
                .collect()
        };
        assert_eq!(names(&found), ["B", "a", "b", "c"]);
        let newer = LockedPackage {
            version: None,
            ..package("b")
        };
        assert_eq!(found.insert(newer.clone()), Some(package("b")));
        assert_eq!(found.get("b"), Some(&newer));
        assert_eq!(found.remove("b"), Some(newer));
        assert_eq!(found.get("b"), None);
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<i64>().prop_map(Value::Integer),
            any::<bool>().prop_map(Value::Boolean),
            (-1e9..1e9f64).prop_map(Value::Float),
            "\\PC{0,9}|[\\n\\t\\r\"\\\\a\u{200b}]{0,6}".prop_map(Value::String),
        ];
        leaf.prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
                proptest::collection::btree_map("\\PC{0,5}", inner, 0..4)
                    .prop_map(|map| Value::Table(map.into_iter().collect())),
            ]
        })
    }

    fn any_extra() -> impl Strategy<Value = Table> {
        proptest::collection::btree_map("x\\PC{0,5}", any_value(), 0..3)
            .prop_map(|map| map.into_iter().collect())
    }

    prop_compose! {
        fn any_file()(path in "[a-zé \"'=,]{1,6}(/[a-z]{1,3}){0,2}", size in 0..i64::MAX, kind in 0..3u8, from in proptest::option::of("[a-z]{1,5}"), extra in any_extra()) -> LockedFile {
            LockedFile {
                path,
                size: size.unsigned_abs(),
                digest: digest('a'),
                kind: [LockedKind::File, LockedKind::Executable, LockedKind::Link][usize::from(kind)],
                from,
                extra,
            }
        }
    }

    prop_compose! {
        fn any_package()(name in "[a-zA-Zé][a-z0-9é\"' -]{0,8}[a-z]", version in proptest::option::of("[ -~]{0,9}"), extra in any_extra(), files in proptest::collection::btree_map("[a-z]", any_file(), 0..4)) -> LockedPackage {
            let mut files: Vec<LockedFile> = files.into_iter().map(|(path, file)| LockedFile { path: format!("{path}/{}", file.path), ..file }).collect();
            sort_files(&mut files);
            LockedPackage { version, files, extra, ..package(&name) }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn what_is_written_reads_back_equal(packages in proptest::collection::vec(any_package(), 0..4), extra in any_extra()) {
            let mut lock = LockFile { extra, ..LockFile::default() };
            for package in packages {
                lock.insert(package);
            }
            let text = lock.to_text();
            let read = LockFile::parse(&text);
            prop_assert_eq!(read.as_ref(), Ok(&lock), "{}", text);
            prop_assert_eq!(read.unwrap().to_text(), text);
        }

        #[test]
        fn no_text_causes_a_panic(text in "(version = 1\n)?([<=>|]{7} ?x?\n|\\[\\[package\\]\\]\n|[a-z]{1,7} = [\"'{\\[]?\\PC{0,9}[\"'}\\]]?\n){0,9}") {
            let _ = LockFile::parse(&text);
            let _ = LockFile::unite(&text);
        }
    }
}

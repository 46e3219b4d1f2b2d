//! Skills as listed by a server, and verification of the content that is read later.

use std::collections::BTreeMap;

use prowess_spec::{ResourcePath, name, parse};
use prowess_traits::{OfferedFile, OfferedSkill};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::wire::frontmatter;

/// Maximum number of files of a skill, as specified.
const MAX_FILES: usize = 512;
/// Maximum size of a skill in bytes, as specified.
pub(crate) const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Maximum length of a URI.
const MAX_URI: usize = 8 * 1024;
/// Maximum size of the listed frontmatter, in bytes.
const MAX_FRONTMATTER: usize = 64 * 1024;
/// Main file of a skill.
pub(crate) const MAIN: &str = "SKILL.md";

/// A skill as listed by its server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Manifest {
    /// URI of its SKILL.md, which identifies the skill.
    pub uri: Box<str>,
    /// URI of its folder.
    root: Box<str>,
    /// Name of the skill on the server.
    pub name: Box<str>,
    frontmatter: Map<String, Value>,
    /// Files by path; `None` if the server does not list them.
    files: Option<BTreeMap<ResourcePath, Promised>>,
}

/// Listed properties of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Promised {
    /// URI of the file.
    pub uri: Box<str>,
    /// SHA-256 digest.
    pub digest: [u8; 32],
    /// Size in bytes.
    pub size: u64,
}

/// An entry of `skills/list` that breaks the rules, or a file that is not what was listed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ManifestError {
    #[error("its URI does not end with SKILL.md")]
    Address,
    #[error("it has no frontmatter")]
    NoFrontmatter,
    #[error("its frontmatter is too large")]
    LongFrontmatter,
    #[error("its URI does not contain its name")]
    OtherName,
    #[error("its name is not a valid skill name")]
    Name,
    #[error("it does not list its files")]
    NoFiles,
    #[error("it has {0} files; the limit is {MAX_FILES}")]
    TooManyFiles(usize),
    #[error("it lists a file outside its folder")]
    Outside,
    #[error("it lists a file without a valid digest")]
    NoDigest,
    #[error("it lists a file without a valid size")]
    NoSize,
    #[error("it lists a file twice")]
    Twice,
    #[error("it has {0} bytes; the limit is {MAX_BYTES}")]
    TooLarge(u64),
    #[error("its list of files does not contain SKILL.md")]
    NoMain,
    #[error("it is listed twice")]
    Repeated,
    #[error("its `{0}` differs from the listed one")]
    Field(String),
    #[error("its size is {found} bytes, but {listed} bytes were listed")]
    Size { found: usize, listed: u64 },
    #[error("its digest differs from the listed one")]
    Digest,
}

impl Manifest {
    /// Parses an entry of `skills/list`. The error says what is wrong.
    pub(crate) fn read(entry: &Value) -> Result<Self, ManifestError> {
        let uri = entry.get("uri").and_then(Value::as_str).unwrap_or_default();
        let root = uri
            .strip_suffix(&format!("/{MAIN}"))
            .filter(|root| root.contains("://") && uri.len() <= MAX_URI)
            .ok_or(ManifestError::Address)?;
        let frontmatter = entry
            .get("frontmatter")
            .and_then(Value::as_object)
            .ok_or(ManifestError::NoFrontmatter)?;
        if Value::Object(frontmatter.clone()).to_string().len() > MAX_FRONTMATTER {
            return Err(ManifestError::LongFrontmatter);
        }
        let name = frontmatter
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let last = segments(root).and_then(|mut parts| parts.pop());
        if name.is_empty() || last.as_deref() != Some(name) {
            return Err(ManifestError::OtherName);
        }
        // The name is shown to users and models, and used in rules.
        if !name::faults(name).is_empty() || name::normalise(name) != name {
            return Err(ManifestError::Name);
        }
        let files = match entry.get("resources") {
            Some(Value::String(word)) if word == "dynamic" => None,
            Some(Value::Array(files)) => Some(read_files(root, files)?),
            _ => return Err(ManifestError::NoFiles),
        };
        Ok(Self {
            uri: uri.into(),
            root: root.into(),
            name: name.into(),
            frontmatter: frontmatter.clone(),
            files,
        })
    }

    /// Returns the frontmatter as text. JSON values are valid YAML.
    pub(crate) fn head(&self) -> String {
        let mut text = String::from("---\n");
        for (key, value) in &self.frontmatter {
            text.push_str(&format!(
                "{}: {value}\n",
                prowess_spec::yaml::write::scalar(key)
            ));
        }
        text.push_str("---\n");
        text
    }

    /// Returns a hash over the URIs and digests of all files, which approvals are bound to.
    pub(crate) fn seal(&self) -> [u8; 32] {
        let mut hasher = Sha256::new();
        let mut add = |part: &[u8]| {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        };
        add(self.uri.as_bytes());
        match &self.files {
            Some(files) => {
                for promised in files.values() {
                    add(promised.uri.as_bytes());
                    add(&promised.digest);
                    add(&promised.size.to_le_bytes());
                }
            }
            // Without a list of files, only the frontmatter identifies the content.
            None => add(Value::Object(self.frontmatter.clone())
                .to_string()
                .as_bytes()),
        }
        hasher.finalize().into()
    }

    /// Returns the approximate memory used, in bytes.
    pub(crate) fn weight(&self) -> usize {
        let files = self.files.iter().flatten();
        let files: usize = files
            .map(|(path, file)| path.as_str().len() + file.uri.len() + 64)
            .sum();
        self.uri.len() * 2 + self.head().len() + files
    }

    /// Returns the URI of a file and its listed properties, which are `None` if the server does not
    /// list files. Returns `None` if the skill has no such file.
    pub(crate) fn find(&self, path: &ResourcePath) -> Option<(Box<str>, Option<&Promised>)> {
        match &self.files {
            Some(files) => files
                .get(path)
                .map(|promised| (promised.uri.clone(), Some(promised))),
            None => Some((
                crate::wire::uri::join(&self.root, path.as_str()).into(),
                None,
            )),
        }
    }

    /// Returns the files with their sizes, or `None` if the server does not list them.
    pub(crate) fn sizes(&self) -> Option<Vec<(String, u64)>> {
        let files = self.files.as_ref()?;
        let size = |(path, promised): (&ResourcePath, &Promised)| {
            (path.as_str().to_owned(), promised.size)
        };
        Some(files.iter().map(size).collect())
    }

    /// Returns the skill as a source of a package.
    pub(crate) fn offered(&self) -> OfferedSkill {
        let file = |(path, promised): (&ResourcePath, &Promised)| OfferedFile {
            path: path.as_str().to_owned(),
            uri: promised.uri.clone().into_string(),
            size: promised.size,
            digest: crate::wire::digest_text(&promised.digest),
        };
        OfferedSkill {
            uri: self.root.clone().into_string(),
            name: self.name.clone().into_string(),
            files: self
                .files
                .as_ref()
                .map(|files| files.iter().map(file).collect()),
        }
    }

    /// Compares the frontmatter of a received SKILL.md with the listed one, field by field.
    pub(crate) fn check_head(&self, text: &[u8]) -> Result<(), ManifestError> {
        let came = frontmatter::to_json(&parse(text).manifest);
        let keys = self.frontmatter.keys().chain(came.keys());
        let differs = |key: &&String| !matches!((self.frontmatter.get(*key), came.get(*key)), (Some(a), Some(b)) if same(a, b));
        match keys.into_iter().find(differs) {
            Some(key) => Err(ManifestError::Field(
                prowess_diag::sanitize::line(key).into_owned(),
            )),
            None => Ok(()),
        }
    }
}

impl Promised {
    /// Compares received content with the listed size and digest.
    pub(crate) fn check(&self, content: &[u8]) -> Result<(), ManifestError> {
        if content.len() as u64 != self.size {
            return Err(ManifestError::Size {
                found: content.len(),
                listed: self.size,
            });
        }
        if <[u8; 32]>::from(Sha256::digest(content)) != self.digest {
            return Err(ManifestError::Digest);
        }
        Ok(())
    }
}

fn read_files(
    root: &str,
    files: &[Value],
) -> Result<BTreeMap<ResourcePath, Promised>, ManifestError> {
    if files.len() > MAX_FILES {
        return Err(ManifestError::TooManyFiles(files.len()));
    }
    let mut found = BTreeMap::new();
    let mut bytes = 0_u64;
    for file in files {
        let uri = file.get("uri").and_then(Value::as_str).unwrap_or_default();
        let inside = uri
            .strip_prefix(root)
            .and_then(|rest| rest.strip_prefix('/'));
        let path = inside
            .filter(|_| uri.len() <= MAX_URI)
            .and_then(|path| {
                path.split('/')
                    .map(crate::wire::uri::decode)
                    .collect::<Option<Vec<_>>>()
            })
            .and_then(|parts| ResourcePath::new(&parts.join("/")).ok())
            .ok_or(ManifestError::Outside)?;
        let digest = file
            .get("digest")
            .and_then(Value::as_str)
            .and_then(read_digest);
        let digest = digest.ok_or(ManifestError::NoDigest)?;
        let size = file.get("size").and_then(Value::as_u64);
        let size = size.ok_or(ManifestError::NoSize)?;
        bytes = bytes.saturating_add(size);
        let promised = Promised {
            uri: uri.into(),
            digest,
            size,
        };
        if found.insert(path, promised).is_some() {
            return Err(ManifestError::Twice);
        }
    }
    if bytes > MAX_BYTES {
        return Err(ManifestError::TooLarge(bytes));
    }
    if !found.keys().any(|path| path.as_str() == MAIN) {
        return Err(ManifestError::NoMain);
    }
    Ok(found)
}

/// Parses a digest: `sha256:` and 64 lowercase hexadecimal digits.
fn read_digest(text: &str) -> Option<[u8; 32]> {
    let digits = text
        .strip_prefix("sha256:")
        .filter(|digits| digits.len() == 64)?;
    if !digits
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    {
        return None;
    }
    let mut digest = [0; 32];
    for (at, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(digest)
}

/// Returns the decoded segments after the scheme.
fn segments(root: &str) -> Option<Vec<String>> {
    root.split_once("://")?
        .1
        .split('/')
        .map(crate::wire::uri::decode)
        .collect()
}

/// Compares two values. `1` equals `1.0`, because YAML parsers differ about them.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TEXT: &str = "---\nname: refunds\ndescription: Gives money back\n---\nDo it.\n";

    fn digest(text: &str) -> String {
        let digest: [u8; 32] = Sha256::digest(text).into();
        crate::wire::digest_text(&digest)
    }

    fn entry() -> Value {
        json!({
            "uri": "skill://acme/refunds/SKILL.md",
            "frontmatter": { "name": "refunds", "description": "Gives money back" },
            "resources": [
                { "uri": "skill://acme/refunds/SKILL.md", "digest": digest(TEXT), "size": TEXT.len() },
                { "uri": "skill://acme/refunds/a%20b/c.md", "digest": digest("x"), "size": 1 },
            ],
        })
    }

    #[test]
    fn entries_are_parsed_and_verified() {
        let manifest = Manifest::read(&entry()).unwrap();
        let path = |path: &str| ResourcePath::new(path).unwrap();
        let (uri, promised) = manifest.find(&path("a b/c.md")).unwrap();
        assert_eq!(&*uri, "skill://acme/refunds/a%20b/c.md");
        assert_eq!(promised.unwrap().check(b"x"), Ok(()));
        assert!(
            promised
                .unwrap()
                .check(b"y")
                .unwrap_err()
                .to_string()
                .contains("digest")
        );
        assert!(
            promised
                .unwrap()
                .check(b"xy")
                .unwrap_err()
                .to_string()
                .contains("bytes")
        );
        assert_eq!(manifest.find(&path("other.md")), None);
        assert_eq!(manifest.check_head(TEXT.as_bytes()), Ok(()));
        for other in [
            "---\nname: refunds\ndescription: Takes money\n---\n",
            "---\nname: refunds\n---\n",
            "---\nname: refunds\ndescription: Gives money back\nallowed-tools: Bash\n---\n",
            "",
        ] {
            assert!(manifest.check_head(other.as_bytes()).is_err(), "{other}");
        }
    }

    #[test]
    fn seal_depends_on_every_file() {
        let seal = Manifest::read(&entry()).unwrap().seal();
        let mut changed = entry();
        changed["resources"][1]["digest"] = digest("y").into();
        assert_ne!(Manifest::read(&changed).unwrap().seal(), seal);
        let mut fewer = entry();
        fewer["resources"].as_array_mut().unwrap().pop();
        assert_ne!(Manifest::read(&fewer).unwrap().seal(), seal);
        // The order of the list does not matter.
        let mut turned = entry();
        turned["resources"].as_array_mut().unwrap().reverse();
        assert_eq!(Manifest::read(&turned).unwrap().seal(), seal);
    }

    #[test]
    fn invalid_entries_are_rejected() {
        let check = |change: &dyn Fn(&mut Value), why: &str| {
            let mut entry = entry();
            change(&mut entry);
            let fault = Manifest::read(&entry).unwrap_err().to_string();
            assert!(fault.contains(why), "{why}: {fault}");
        };
        let file = |entry: &mut Value, key: &str, value: Value| entry["resources"][1][key] = value;
        check(
            &|entry| entry["uri"] = "skill://acme/refunds".into(),
            "does not end with SKILL.md",
        );
        check(
            &|entry| entry["uri"] = "/etc/SKILL.md".into(),
            "does not end with SKILL.md",
        );
        check(
            &|entry| entry["frontmatter"]["name"] = "other".into(),
            "does not contain its name",
        );
        check(
            &|entry| entry["frontmatter"] = Value::Null,
            "no frontmatter",
        );
        for name in ["a%0ab", "%1b%5b31m", "A", "x%20y%3az%20*", "%EF%BD%86"] {
            check(
                &|entry| {
                    entry["uri"] = format!("skill://acme/{name}/SKILL.md").into();
                    entry["frontmatter"]["name"] = crate::wire::uri::decode(name).unwrap().into();
                },
                "not a valid skill name",
            );
        }
        check(
            &|entry| entry["resources"] = Value::Null,
            "does not list its files",
        );
        check(
            &|entry| entry["resources"] = json!([]),
            "does not contain SKILL.md",
        );
        for uri in [
            "skill://acme/other/x",
            "skill://acme/refunds/../other/x",
            "skill://acme/refunds/%2e%2e/x",
            "skill://acme/refundsx/y",
            "skill://acme/refunds/a%2Fb",
            "skill://acme/refunds//x",
            "file:///etc/passwd",
        ] {
            check(
                &|entry| file(entry, "uri", uri.into()),
                "outside its folder",
            );
        }
        check(
            &|entry| file(entry, "digest", "sha256:00".into()),
            "without a valid digest",
        );
        check(
            &|entry| file(entry, "digest", digest("x").to_uppercase().into()),
            "without a valid digest",
        );
        check(
            &|entry| file(entry, "size", (-1).into()),
            "without a valid size",
        );
        check(
            &|entry| file(entry, "size", u64::MAX.into()),
            "the limit is",
        );
        check(
            &|entry| entry["resources"][1] = entry["resources"][0].clone(),
            "twice",
        );
        let many = |entry: &mut Value| {
            let files = (0..600).map(|at| json!({ "uri": format!("skill://acme/refunds/{at}"), "digest": digest("x"), "size": 1 }));
            entry["resources"] = files.collect();
        };
        check(&many, "the limit is 512");
    }

    #[test]
    fn head_round_trips_listed_frontmatter() {
        let mut entry = entry();
        entry["frontmatter"] = json!({
            "name": "refunds", "description": "Line\none: \"quoted\" \u{2028} # no comment\n---\nname: other",
            "metadata": { "tags": ["a", 2] }, "odd key: x": true, "none": null,
        });
        let manifest = Manifest::read(&entry).unwrap();
        assert_eq!(
            manifest.check_head(manifest.head().as_bytes()),
            Ok(()),
            "{}",
            manifest.head()
        );
    }
}

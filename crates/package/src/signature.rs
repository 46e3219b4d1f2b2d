//! Signatures of packages: keys that a person pinned, `minisign` beside an archive, signed tags, and
//! the list of files in an `OpenSSF` model signature.
//!
//! A signature says who published the files, not what they do. Keys come from the person's own file
//! only.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use minisign_verify::{PublicKey, Signature};
use serde_json::Value;

use crate::error::PackageExit;
use crate::lock::{LockedFile, LockedKind};

/// The file with the `OpenSSF` model signature of a skill.
pub const LISTING_FILE: &str = "skill.oms.sig";
/// The ending of a `minisign` signature beside an archive.
pub const MINISIGN_ENDING: &str = ".minisig";
/// Maximum size of a `minisign` signature in bytes.
pub const MAX_MINISIGN: usize = 4 * 1024;
/// Maximum size of an `OpenSSF` model signature in bytes.
pub const MAX_LISTING: u64 = 4 * 1024 * 1024;
/// Maximum length of a public key in bytes.
const MAX_KEY: usize = 8 * 1024;
/// Types of ssh keys that sign tags.
const SSH_TYPES: [&str; 7] = [
    "ssh-ed25519",
    "ssh-rsa",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
];

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignerKey {
    /// An ssh key, as its type and its Base64 text. It signs tags.
    Ssh(String),
    /// A `minisign` key in Base64. It signs archives.
    Minisign(String),
}

impl SignerKey {
    /// Parses a key: the line of an ssh public key, or a `minisign` key.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_KEY || text.contains(char::is_control) {
            return None;
        }
        let mut words = text.split(' ').filter(|word| !word.is_empty());
        let first = words.next()?;
        if SSH_TYPES.contains(&first) {
            let encoded = words.next()?;
            let bytes = STANDARD.decode(encoded).ok()?;
            // The type is the first field of the key itself.
            let length = u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?);
            let end = 4 + usize::try_from(length).ok()?;
            return (bytes.get(4..end)? == first.as_bytes())
                .then(|| Self::Ssh(format!("{first} {encoded}")));
        }
        let is_minisign = words.next().is_none() && PublicKey::from_base64(first).is_ok();
        is_minisign.then(|| Self::Minisign(first.to_owned()))
    }

    /// Returns the text of the key.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Ssh(text) | Self::Minisign(text) => text,
        }
    }
}

/// A signature that is missing, wrong, or over other files. Nothing is installed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// There is no signature.
    #[error("`{subject}` is not signed, and a signature of {} is needed", signers.join(" or "))]
    Missing {
        /// The archive, tag or source.
        subject: String,
        /// The signers whose signature would do.
        signers: Vec<String>,
    },
    /// The signature is not one of a pinned key over this content.
    #[error("the signature of `{subject}` is not one of {} over it", signers.join(" or "))]
    Wrong {
        /// The archive or tag.
        subject: String,
        /// The signers whose signature would do.
        signers: Vec<String>,
    },
    /// The signed tag is another one, or of another commit.
    #[error("the signature of `{subject}` is for another tag or commit")]
    OtherTag {
        /// The tag.
        subject: String,
    },
    /// The version that was chosen is not a tag.
    #[error("`{subject}` must come from a signed tag, and {chosen} is not a tag")]
    NotATag {
        /// The source.
        subject: String,
        /// The ref or commit.
        chosen: String,
    },
    /// A signature is needed, and no signer is pinned for the source.
    #[error("`require-signed-tag` is set, and no signer is pinned for `{subject}`")]
    NoSigner {
        /// The source.
        subject: String,
    },
    /// The signers of the source have keys of a kind that cannot sign it.
    #[error("the key of {} cannot sign `{subject}`: {needed} is needed", signers.join(" or "))]
    KeyKind {
        /// The source.
        subject: String,
        /// The signers.
        signers: Vec<String>,
        /// The kind of key.
        needed: &'static str,
    },
    /// The list of signed files and the files differ.
    #[error("`{LISTING_FILE}` of `{package}` was made for other files: `{path}` {difference}")]
    OtherFiles {
        /// The package.
        package: String,
        /// The file.
        path: String,
        /// The difference.
        difference: ListedFileFault,
    },
}

/// The difference between a signed list of files and a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListedFileFault {
    /// The file is in the list only.
    #[error("is missing")]
    Missing,
    /// The file is in the package only.
    #[error("is not in the list")]
    NotListed,
    /// The content differs.
    #[error("has another digest")]
    Digest,
}

impl SignatureError {
    /// Returns the exit code of a command that fails with this error.
    pub fn exit(&self) -> PackageExit {
        PackageExit::Refused
    }

    /// Returns the next command to type, or another way out.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotATag { .. } => "name a tag or a version: `@v1.2.3`".to_owned(),
            Self::NoSigner { .. } => {
                "pin the key of its author in `[signers.NAME]` of your own configuration".to_owned()
            }
            Self::KeyKind { .. } => {
                "change `key` in `[signers]` of your own configuration".to_owned()
            }
            Self::Missing { .. } | Self::Wrong { .. } | Self::OtherTag { .. } => {
                "ask the author; do not install it".to_owned()
            }
            Self::OtherFiles { .. } => {
                "the files changed after they were signed; do not install it".to_owned()
            }
        })
    }
}

/// Checks a `minisign` signature against keys. Returns the name of the signer whose key made it.
pub fn check_minisign<'k>(
    keys: impl IntoIterator<Item = (&'k str, &'k str)>,
    content: &[u8],
    signature: &str,
) -> Option<&'k str> {
    let signature = Signature::decode(signature).ok()?;
    let mut keys = keys.into_iter();
    let found = keys.find(|(_, key)| {
        let key = PublicKey::from_base64(key);
        // Both forms are sound: over the content, and over its BLAKE2b digest.
        key.is_ok_and(|key| key.verify(content, &signature, true).is_ok())
    });
    found.map(|(name, _)| name)
}

/// Returns `true` if the text of a tag object is that of this tag and this commit.
pub fn is_tag_of(text: &str, tag: &str, commit: &str) -> bool {
    let mut lines = text.lines();
    let mut value = |key: &str| lines.next().and_then(|line| line.strip_prefix(key));
    value("object ") == Some(commit)
        && value("type ") == Some("commit")
        && value("tag ") == Some(tag)
}

/// Compares the list of an `OpenSSF` model signature with the files of a package. Returns `false` if
/// the list cannot be read, or has digests of another kind; the certificates are not checked.
pub fn check_listed_files(
    package: &str,
    signature: &[u8],
    files: &[LockedFile],
) -> Result<bool, SignatureError> {
    let Some((listed, left_out)) = listed_files(signature) else {
        return Ok(false);
    };
    let is_ignored = |path: &str| is_ignored(path, &left_out);
    let fault = |path: &str, difference| SignatureError::OtherFiles {
        package: package.to_owned(),
        path: path.to_owned(),
        difference,
    };
    let is_signed = |file: &&LockedFile| {
        file.path != LISTING_FILE && file.kind != LockedKind::Link && !is_ignored(&file.path)
    };
    for file in files.iter().filter(is_signed) {
        let digest = file.digest.trim_start_matches("sha256:");
        match listed.get(&file.path) {
            None => return Err(fault(&file.path, ListedFileFault::NotListed)),
            Some(listed) if listed != digest => {
                return Err(fault(&file.path, ListedFileFault::Digest));
            }
            Some(_) => {}
        }
    }
    for path in listed.keys() {
        if !is_ignored(path) && !files.iter().any(|file| file.path == *path) {
            return Err(fault(path, ListedFileFault::Missing));
        }
    }
    Ok(true)
}

/// Returns `true` for files that the signature leaves out: git's own, and those that it names.
fn is_ignored(path: &str, left_out: &[String]) -> bool {
    let is_left_out = |entry: &String| {
        let below = path.strip_prefix(entry.as_str());
        // The signer may have written whole paths.
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            || entry.ends_with(&format!("/{path}"))
    };
    if left_out.iter().any(is_left_out) {
        return true;
    }
    let is_git = |part: &str| matches!(part, ".git" | ".gitignore" | ".gitattributes" | ".github");
    path.split('/').any(is_git)
}

/// Reads the list: a Sigstore bundle with an in-toto statement that names every file.
fn listed_files(signature: &[u8]) -> Option<(BTreeMap<String, String>, Vec<String>)> {
    let bundle: Value = serde_json::from_slice(signature).ok()?;
    let payload = bundle["dsseEnvelope"]["payload"].as_str()?;
    let payload = STANDARD
        .decode(payload)
        .or_else(|_| STANDARD_NO_PAD.decode(payload))
        .ok()?;
    let statement: Value = serde_json::from_slice(&payload).ok()?;
    let predicate = &statement["predicate"];
    let method = predicate["serialization"]["method"].as_str();
    if method.is_some_and(|method| method != "files") {
        return None;
    }
    let left_out = predicate["serialization"]["ignore_paths"].as_array();
    let left_out = left_out.into_iter().flatten().filter_map(Value::as_str);
    let left_out = left_out.map(|path| path.trim_end_matches('/').to_owned());
    let mut listed = BTreeMap::new();
    for resource in predicate["resources"].as_array()? {
        let name = resource["name"].as_str()?;
        let digest = resource["digest"].as_str()?;
        if resource["algorithm"].as_str()? != "sha256" {
            return None;
        }
        let name = name.strip_prefix("./").unwrap_or(name);
        listed.insert(name.to_owned(), digest.to_ascii_lowercase());
    }
    Some((listed, left_out.filter(|path| !path.is_empty()).collect()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tree::digest_of_bytes;

    /// Made with `minisign` 0.11: a key, and its signature over `hello\n`.
    const KEY: &str = "RWSRjjC/756Jc/XKePxaGy6Y6aM9CXgR3I1F7yy7C49jmTnX9w0eKwCJ";
    const SIGNATURE: &str = "untrusted comment: signature from minisign secret key\nRUSRjjC/756Jc3PGN/F3EpvHWi6F4mExa8CCMDqhTckgP63bcm4+GdfP9usZ6lS0XcQ3fr4V33X6sfSEALBa9q2NLWFaExdHtAw=\ntrusted comment: timestamp:1794978138\tfile:m.txt\thashed\njfVvpDt5I/quQkwWND36u7g1paDl4A0bd5/2i59xUEzWBaBoPt/xUT97B2dm/ifILIBb/9ioXVCWgNCqzRFqDw==\n";

    #[test]
    fn keys_of_both_kinds_are_parsed() {
        let ssh =
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJpZ2ukjPlvWXVzOaIXbqhqJwHMWC0ytmFFMTgQNVwxt";
        let parse = |text: &str| SignerKey::parse(text);
        assert_eq!(parse(ssh), Some(SignerKey::Ssh(ssh.to_owned())));
        assert_eq!(parse(&format!("{ssh} me@host")), parse(ssh));
        assert_eq!(parse(KEY), Some(SignerKey::Minisign(KEY.to_owned())));
        for text in [
            "",
            "RWQ",
            "ssh-ed25519",
            "ssh-ed25519 AAAA",
            "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIJpZ2ukjPlvWXVzOaIXbqhqJwHMWC0ytmFFMTgQNVwxt",
            "cert-authority ssh-ed25519 AAAA",
            "ssh-ed25519 AAAA\nevil ssh-ed25519 BBBB",
            "-----BEGIN PGP PUBLIC KEY BLOCK-----",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn minisign_names_the_signer_of_these_bytes() {
        let other = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";
        let keys = [("other", other), ("acme", KEY)];
        assert_eq!(check_minisign(keys, b"hello\n", SIGNATURE), Some("acme"));
        assert_eq!(check_minisign(keys, b"hellO\n", SIGNATURE), None);
        assert_eq!(
            check_minisign([("other", other)], b"hello\n", SIGNATURE),
            None
        );
        assert_eq!(check_minisign(keys, b"hello\n", ""), None);
        let changed = SIGNATURE.replace("trusted comment: ", "trusted comment: x");
        assert_eq!(check_minisign(keys, b"hello\n", &changed), None);
    }

    #[test]
    fn signed_tag_is_for_its_name_and_commit() {
        let id = "a".repeat(40);
        let text = format!("object {id}\ntype commit\ntag v1.0.0\ntagger A <a> 1 +0000\n\nx\n");
        assert!(is_tag_of(&text, "v1.0.0", &id));
        assert!(!is_tag_of(&text, "v2.0.0", &id));
        assert!(!is_tag_of(&text, "v1.0.0", &"b".repeat(40)));
        assert!(!is_tag_of(
            &text.replace("type commit", "type tag"),
            "v1.0.0",
            &id
        ));
        assert!(!is_tag_of("", "v1.0.0", &id));
    }

    #[test]
    fn signed_list_is_compared_with_the_files() {
        let file = |path: &str, text: &str| LockedFile {
            path: path.to_owned(),
            size: text.len() as u64,
            digest: digest_of_bytes(text.as_bytes()),
            kind: LockedKind::File,
            from: None,
            extra: toml::Table::default(),
        };
        let bundle = |files: &[LockedFile]| {
            let resources: Vec<Value> = files
                .iter()
                .map(|file| json!({ "name": file.path, "algorithm": "sha256", "digest": &file.digest[7..] }))
                .collect();
            let statement = json!({
                "_type": "https://in-toto.io/Statement/v1",
                "predicateType": "https://model_signing/signature/v1.0",
                "predicate": {
                    "serialization": { "method": "files", "ignore_paths": ["notes", "/build/pdf/draft.md"] },
                    "resources": resources,
                },
            });
            let payload = STANDARD.encode(statement.to_string());
            json!({ "dsseEnvelope": { "payload": payload } }).to_string()
        };
        let signed = [file("SKILL.md", "a"), file("scripts/x.py", "b")];
        let signature = bundle(&signed);
        let check = |files: &[LockedFile]| check_listed_files("pdf", signature.as_bytes(), files);
        let mut files = signed.to_vec();
        files.push(file(LISTING_FILE, &signature));
        assert_eq!(check(&files), Ok(true));
        files.extend(["notes/a.md", "draft.md", ".gitignore"].map(|path| file(path, "x")));
        assert_eq!(check(&files), Ok(true));
        files.truncate(3);
        let difference = |files: &[LockedFile]| match check(files) {
            Err(SignatureError::OtherFiles {
                path, difference, ..
            }) => (path, difference),
            other => panic!("{other:?}"),
        };
        files[1] = file("scripts/x.py", "c");
        assert_eq!(
            difference(&files),
            ("scripts/x.py".to_owned(), ListedFileFault::Digest)
        );
        files.remove(1);
        assert_eq!(
            difference(&files),
            ("scripts/x.py".to_owned(), ListedFileFault::Missing)
        );
        files = signed.to_vec();
        files.push(file("more.md", "d"));
        assert_eq!(
            difference(&files),
            ("more.md".to_owned(), ListedFileFault::NotListed)
        );
        for unreadable in ["", "{}", "[]", "{\"dsseEnvelope\":{\"payload\":\"%\"}}"] {
            let read = check_listed_files("pdf", unreadable.as_bytes(), &signed);
            assert_eq!(read, Ok(false));
        }
    }
}

//! Checks the signatures of signers that a person pinned.

use std::fs::File;
use std::io::Read;

use crate::error::PackageError;
use crate::git::TagSignature;
use crate::lock::LockedPackage;
use crate::manifest::SignerSettings;
use crate::seen::SeenSources;
use crate::signature::{
    LISTING_FILE, MAX_LISTING, SignatureError, SignerKey, check_listed_files, check_minisign,
    is_tag_of,
};
use crate::source::{LockedSource, is_named};
use crate::tree::PackageTree;

use super::fetch::{Declared, FetchedPackage, PackageOrigin, SourceFetcher, fetched};
use super::plan::PlanNote;

/// A signer whose signature was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SignedBy {
    pub(super) name: String,
    pub(super) key: String,
}

/// The signers that are pinned for a source.
pub(super) struct PinnedSigners<'a>(Vec<(&'a str, &'a SignerSettings)>);

impl PinnedSigners<'_> {
    fn names(&self) -> Vec<String> {
        self.0.iter().map(|(name, _)| format!("`{name}`")).collect()
    }

    /// Returns the signers with a kind of key, with the text of the key.
    fn keys(
        &self,
        subject: &str,
        needed: &'static str,
        kind: impl Fn(&SignerKey) -> bool,
    ) -> Result<Vec<(&str, &str)>, SignatureError> {
        let signers = self.0.iter();
        let keys: Vec<(&str, &str)> = signers
            .filter(|(_, signer)| kind(&signer.key))
            .map(|(name, signer)| (*name, signer.key.as_str()))
            .collect();
        if keys.is_empty() {
            return Err(SignatureError::KeyKind {
                subject: subject.to_owned(),
                signers: self.names(),
                needed,
            });
        }
        Ok(keys)
    }

    /// Fails if a signature is needed, for a source that cannot have one.
    pub(super) fn refuse_unsigned(&self, subject: &str) -> Result<(), SignatureError> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(SignatureError::Missing {
            subject: subject.to_owned(),
            signers: self.names(),
        })
    }

    /// Checks the `minisign` signature of an archive. Returns `None` if no signer is pinned.
    pub(super) fn check_archive<E: From<SignatureError>>(
        &self,
        subject: &str,
        content: &[u8],
        signature: impl FnOnce() -> Result<Option<String>, E>,
    ) -> Result<Option<SignedBy>, E> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let is_minisign = |key: &SignerKey| matches!(key, SignerKey::Minisign(_));
        let keys = self.keys(subject, "a `minisign` key", is_minisign)?;
        let Some(signature) = signature()? else {
            self.refuse_unsigned(subject)?;
            return Ok(None);
        };
        let name = check_minisign(keys.iter().copied(), content, &signature);
        let key = name.and_then(|name| keys.iter().find(|(other, _)| *other == name));
        match key {
            Some((name, key)) => Ok(Some(SignedBy {
                name: (*name).to_owned(),
                key: (*key).to_owned(),
            })),
            None => Err(SignatureError::Wrong {
                subject: subject.to_owned(),
                signers: self.names(),
            }
            .into()),
        }
    }
}

impl SourceFetcher<'_> {
    /// Returns the signers that are pinned for a source.
    pub(super) fn signers(&self, source: &LockedSource, path: Option<&str>) -> PinnedSigners<'_> {
        let signers = self.context.access.signers.iter();
        let pinned = signers.filter(|(_, signer)| is_named(source, path, &signer.sources));
        PinnedSigners(pinned.map(|(name, signer)| (&**name, signer)).collect())
    }

    /// Checks the signature of an archive. Returns `None` if no signer is pinned.
    pub(super) fn check_archive(
        &self,
        source: &LockedSource,
        path: Option<&str>,
        content: &[u8],
        signature: &dyn Fn() -> Result<Option<String>, PackageError>,
    ) -> Result<Option<SignedBy>, PackageError> {
        let signers = self.signers(source, path);
        signers.check_archive(&source.to_string(), content, signature)
    }

    /// Checks the signature of a tag. Returns `None` if none is needed.
    pub(super) fn check_tag(
        &self,
        url: &str,
        git_ref: Option<&str>,
        commit: &str,
    ) -> Result<Option<SignedBy>, PackageError> {
        let signers = self.signers(&LockedSource::Git(url.to_owned()), None);
        let subject = url.to_owned();
        if signers.0.is_empty() {
            return match self.settings.require_signed_tag {
                Some(true) => Err(SignatureError::NoSigner { subject }.into()),
                _ => Ok(None),
            };
        }
        let is_ssh = |key: &SignerKey| matches!(key, SignerKey::Ssh(_));
        let keys = signers.keys(url, "an ssh key", is_ssh)?;
        let Some(tag) = git_ref.and_then(|name| name.strip_prefix("refs/tags/")) else {
            return Err(SignatureError::NotATag {
                subject,
                chosen: format!("`{}`", git_ref.unwrap_or(commit)),
            }
            .into());
        };
        let refs = self.refs(url)?;
        let found = refs.refs.iter().find(|one| Some(&*one.name) == git_ref);
        let other = || SignatureError::OtherTag {
            subject: tag.to_owned(),
        };
        let Some(found) = found.filter(|found| found.commit() == commit) else {
            return Err(other().into());
        };
        let texts: Vec<&str> = keys.iter().map(|(_, key)| *key).collect();
        let (subject, names) = (tag.to_owned(), signers.names());
        match self.repository(url)?.verify_tag(found, &texts)? {
            TagSignature::None => Err(SignatureError::Missing {
                subject,
                signers: names,
            }
            .into()),
            TagSignature::Wrong => Err(SignatureError::Wrong {
                subject,
                signers: names,
            }
            .into()),
            // A signed tag must not be served under another name, or for another commit.
            TagSignature::Good { text, .. } if !is_tag_of(&text, tag, commit) => {
                Err(other().into())
            }
            TagSignature::Good { key, .. } => Ok(keys.get(key).map(|(name, key)| SignedBy {
                name: (*name).to_owned(),
                key: (*key).to_owned(),
            })),
        }
    }

    /// Returns `true` if the signature of a locked package must still be checked on this machine: a
    /// lock that names a signer is not evidence.
    pub(super) fn is_unchecked(&self, locked: &LockedPackage) -> bool {
        let Some(digest) = &locked.digest else {
            return false;
        };
        let signers = self.signers(&locked.source, locked.path.as_deref());
        let is_git = matches!(locked.source, LockedSource::Git(_));
        if signers.0.is_empty() {
            return is_git && self.settings.require_signed_tag == Some(true);
        }
        let keys = signers.0.iter().map(|(_, signer)| signer.key.as_str());
        !SeenSources::new(&self.context.state).is_signed(digest, keys)
    }

    /// Remembers that the signature over these files was checked. If it cannot be remembered, it is
    /// checked again.
    pub(super) fn record_signed(&self, tree: &PackageTree, signed: Option<&SignedBy>) {
        if let Some(signed) = signed {
            let seen = SeenSources::new(&self.context.state);
            let _ = seen.record_signed(&tree.digest, &signed.key, self.context.now);
        }
    }

    /// Creates the locked package of files that are in staging.
    pub(super) fn finish(
        &self,
        name: &str,
        origin: PackageOrigin<'_>,
        declared: Declared,
        tree: PackageTree,
    ) -> Result<FetchedPackage, PackageError> {
        let unread = !is_list_right(name, &tree)?;
        self.record_signed(&tree, origin.signed.as_ref());
        let mut package = fetched(name, origin, declared, tree);
        if unread {
            package.notes.push(PlanNote::ListUnread {
                name: name.to_owned(),
            });
        }
        Ok(package)
    }
}

/// Compares the signed list of files with the files. Returns `false` if it cannot be read.
fn is_list_right(name: &str, tree: &PackageTree) -> Result<bool, PackageError> {
    let Some(file) = tree.files.iter().find(|file| file.path == LISTING_FILE) else {
        return Ok(true);
    };
    if file.size > MAX_LISTING {
        return Ok(false);
    }
    let path = tree.folder.join(LISTING_FILE);
    let mut bytes = Vec::new();
    let read = File::open(&path).and_then(|file| file.take(MAX_LISTING).read_to_end(&mut bytes));
    read.map_err(|source| PackageError::File {
        verb: "read",
        path,
        source,
    })?;
    Ok(check_listed_files(name, &bytes, &tree.files)?)
}

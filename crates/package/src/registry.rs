//! Registries: one document with the versions of each package.
//!
//! `URL/packages/NAME.json` names each version of a package with an archive and its digest. The token
//! of a registry is sent to its own host only.

use std::fmt;

use prowess_traits::Fetcher;
use semver::Version;
use serde_json::Value;
use url::Url;

use crate::index::{
    BODY_DEADLINE, INDEX_DEADLINE, IndexError, MAX_BODY, MAX_INDEX, check_digest, check_fresh,
    escaped, get, get_signature, parse,
};
use crate::lock::is_digest;
use crate::resolve::ResolveError;
use crate::source::WantedRef;
use crate::version::{fits, parse_version};

/// The format of a document.
const SCHEMA: &str = "prowess.registry/1";
/// Maximum number of versions of a package.
const MAX_VERSIONS: usize = 10_000;
/// Maximum length of a version in bytes.
const MAX_VERSION: usize = 100;
/// Number of versions that an error names.
const SHOWN_VERSIONS: usize = 5;

/// Reads the documents and archives of a registry.
#[derive(Clone, Copy)]
pub struct RegistryReader<'a> {
    /// Sends the requests.
    pub fetcher: &'a dyn Fetcher,
    /// The address of the registry.
    pub url: &'a str,
    /// The token, sent with each request to this registry.
    pub token: Option<&'a str>,
}

impl fmt::Debug for RegistryReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistryReader")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// A package of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryPackage {
    /// The address of the document.
    pub url: String,
    /// The number that rises with each version of the document.
    pub sequence: Option<u64>,
    /// The versions, the highest first; those that are not semantic last.
    pub versions: Vec<RegistryVersion>,
}

/// A version of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryVersion {
    /// The version as it is written.
    pub name: String,
    /// The semantic version.
    pub version: Option<Version>,
    /// The address of the archive.
    pub url: String,
    /// The digest of the archive.
    pub digest: String,
    /// The time of publication, in seconds since 1970. It is the word of the server.
    pub published: Option<i64>,
    /// `true` if the author took the version back. It is not chosen again.
    pub yanked: bool,
}

impl RegistryReader<'_> {
    fn headers(&self) -> Vec<(String, String)> {
        let token = self.token.map(|token| {
            let value = format!("Bearer {token}");
            ("authorization".to_owned(), value)
        });
        token.into_iter().collect()
    }

    /// Reads the document of a package. `highest` is the highest sequence seen of an address.
    pub fn read(
        &self,
        name: &str,
        highest: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<RegistryPackage, IndexError> {
        let base = parse(&format!("{}/", self.url), self.url)?;
        let place = format!("./packages/{}.json", escaped(name).trim_start_matches("./"));
        let url = base.join(&place).map_err(|_| IndexError::Invalid {
            url: self.url.to_owned(),
            reason: format!("`{name}` is not a name"),
        })?;
        let fetched = get(
            self.fetcher,
            &url,
            &self.headers(),
            MAX_INDEX,
            INDEX_DEADLINE,
        );
        let fetched = match fetched {
            Err(IndexError::Status {
                status: 404 | 410, ..
            }) => {
                return Err(IndexError::NoSkill {
                    url: self.url.to_owned(),
                    name: name.to_owned(),
                });
            }
            other => other?,
        };
        let value: Value =
            serde_json::from_slice(&fetched.body).map_err(|_| IndexError::NotJson {
                url: url.to_string(),
                media: fetched.media_type.clone(),
            })?;
        let package = parse_package(&url, name, &value)?;
        check_fresh(&package.url, package.sequence, highest(&package.url))?;
        Ok(package)
    }

    /// Fetches the archive of a version, and compares its digest.
    pub fn archive(&self, version: &RegistryVersion) -> Result<Vec<u8>, IndexError> {
        let url = self.artifact(version)?;
        let fetched = get(self.fetcher, &url, &self.headers(), MAX_BODY, BODY_DEADLINE)?;
        check_digest(&url, &version.digest, &fetched.body)?;
        Ok(fetched.body)
    }

    /// Fetches the `minisign` signature of a version. `None` if there is none.
    pub fn signature(&self, version: &RegistryVersion) -> Result<Option<String>, IndexError> {
        get_signature(self.fetcher, &self.artifact(version)?, &self.headers())
    }

    /// Returns the address of an archive, which must be on the host of the registry.
    fn artifact(&self, version: &RegistryVersion) -> Result<Url, IndexError> {
        let url = parse(&version.url, self.url)?;
        if url.origin() != parse(self.url, self.url)?.origin() {
            return Err(IndexError::OtherOrigin {
                index: self.url.to_owned(),
                url: version.url.clone(),
            });
        }
        Ok(url)
    }
}

impl RegistryPackage {
    /// Returns the highest version that fits and is old enough.
    pub fn choose(
        &self,
        wanted: &WantedRef,
        now: i64,
        minimum_age: Option<u64>,
    ) -> Result<&RegistryVersion, ResolveError> {
        let is_wanted = |one: &&RegistryVersion| match wanted {
            // Others are compared for equality only.
            WantedRef::Default => match &one.version {
                Some(version) => version.pre.is_empty(),
                None => self.versions.len() == 1,
            },
            WantedRef::Version(range) => one
                .version
                .as_ref()
                .is_some_and(|version| fits(range, version)),
            WantedRef::Any(name) | WantedRef::Tag(name) => one.name == *name,
            WantedRef::Branch(_) | WantedRef::Commit(_) | WantedRef::RefAndPath(_) => false,
        };
        let fitting = self.versions.iter().filter(|one| !one.yanked);
        let mut youngest = None;
        for one in fitting.filter(is_wanted) {
            let Some(minimum) = minimum_age.filter(|minimum| *minimum > 0) else {
                return Ok(one);
            };
            // A date in the future is no age.
            let age = one.published.map_or(0, |date| now.saturating_sub(date));
            let age = u64::try_from(age).unwrap_or(0);
            if age >= minimum {
                return Ok(one);
            }
            youngest.get_or_insert_with(|| ResolveError::TooYoung {
                version: one.name.clone(),
                age,
                minimum,
            });
        }
        let names = self.versions.iter().filter(|one| !one.yanked);
        Err(youngest.unwrap_or_else(|| ResolveError::NoVersion {
            range: wanted.lock_text().unwrap_or_else(|| "*".to_owned()),
            versions: names
                .take(SHOWN_VERSIONS)
                .map(|one| one.name.clone())
                .collect(),
        }))
    }

    /// Returns the version whose archive has this digest.
    pub fn with_digest(&self, digest: &str) -> Option<&RegistryVersion> {
        self.versions.iter().find(|one| one.digest == digest)
    }
}

fn parse_package(place: &Url, name: &str, value: &Value) -> Result<RegistryPackage, IndexError> {
    let invalid = |reason: &str| IndexError::Invalid {
        url: place.to_string(),
        reason: reason.to_owned(),
    };
    if value["schema"].as_str() != Some(SCHEMA) {
        return Err(invalid("its `schema` is not `prowess.registry/1`"));
    }
    if value["name"].as_str() != Some(name) {
        return Err(invalid("it is about another package"));
    }
    let listed = value["versions"].as_array();
    let listed = listed.ok_or_else(|| invalid("it has no list `versions`"))?;
    if listed.len() > MAX_VERSIONS {
        return Err(invalid("it has more than 10,000 versions"));
    }
    let mut versions = Vec::new();
    for entry in listed {
        let version = parse_entry(place, entry).map_err(&invalid)?;
        versions.push(version);
    }
    versions.sort_by(|one: &RegistryVersion, two| {
        two.version
            .cmp(&one.version)
            .then_with(|| two.name.cmp(&one.name))
    });
    let is_twin = |pair: &[RegistryVersion]| {
        pair[0].name == pair[1].name
            || (pair[0].version.is_some() && pair[0].version == pair[1].version)
    };
    if versions.windows(2).any(is_twin) {
        return Err(invalid("a version is there twice"));
    }
    Ok(RegistryPackage {
        url: place.to_string(),
        sequence: value["sequence"].as_u64(),
        versions,
    })
}

fn parse_entry(place: &Url, entry: &Value) -> Result<RegistryVersion, &'static str> {
    let name = entry["version"].as_str().unwrap_or_default();
    let is_plain = |c: char| !c.is_control() && !c.is_whitespace();
    if name.is_empty() || name.len() > MAX_VERSION || !name.chars().all(is_plain) {
        return Err("a version is not valid");
    }
    let url = entry["url"].as_str().ok_or("a version has no `url`")?;
    let url = place.join(url).map_err(|_| "a `url` is not valid")?;
    let digest = entry["digest"].as_str().unwrap_or_default();
    if !is_digest(digest) {
        return Err("a `digest` is not `sha256:` and 64 digits");
    }
    let published = entry["published"].as_str();
    let published = published.and_then(|text| text.parse::<jiff::Timestamp>().ok());
    Ok(RegistryVersion {
        name: name.to_owned(),
        version: parse_version(name),
        url: url.to_string(),
        digest: digest.to_owned(),
        published: published.map(jiff::Timestamp::as_second),
        yanked: entry["yanked"].as_bool() == Some(true),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::version::parse_range;

    fn package(versions: &Value) -> Result<RegistryPackage, IndexError> {
        let place = Url::parse("https://host/r/packages/acme/forms.json").unwrap();
        let value = json!({ "schema": SCHEMA, "name": "acme/forms", "versions": versions });
        parse_package(&place, "acme/forms", &value)
    }

    fn entry(version: &str) -> Value {
        let digest = crate::tree::digest_of_bytes(version.as_bytes());
        json!({ "version": version, "url": format!("{version}.skill"), "digest": digest })
    }

    #[test]
    fn highest_fitting_version_is_chosen() {
        let mut yanked = entry("3.1.9");
        yanked["yanked"] = true.into();
        let all = ["3.1.2", "3.1.10", "4.0.0-rc.1", "2.9.0", "nightly"].map(entry);
        let package = package(&[all.to_vec(), vec![yanked]].concat().into()).unwrap();
        let choose = |wanted: WantedRef| {
            let chosen = package.choose(&wanted, 0, None);
            chosen.map(|one| one.name.clone())
        };
        let range = |text: &str| WantedRef::Version(parse_range(text).unwrap());
        assert_eq!(choose(WantedRef::Default).unwrap(), "3.1.10");
        assert_eq!(choose(range("~3.1")).unwrap(), "3.1.10");
        assert_eq!(choose(range("<3")).unwrap(), "2.9.0");
        assert_eq!(choose(range("^4.0.0-rc.1")).unwrap(), "4.0.0-rc.1");
        assert_eq!(
            choose(WantedRef::Any("nightly".to_owned())).unwrap(),
            "nightly"
        );
        for wanted in [range("=3.1.9"), range("^5"), WantedRef::Any("x".to_owned())] {
            let error = choose(wanted).unwrap_err();
            assert!(matches!(error, ResolveError::NoVersion { .. }), "{error:?}");
        }
        assert_eq!(
            package.versions[1].url,
            "https://host/r/packages/acme/3.1.10.skill"
        );
    }

    #[test]
    fn young_version_waits_and_a_missing_date_is_young() {
        let day = 24 * 60 * 60;
        let mut old = entry("1.0.0");
        old["published"] = "2026-01-01T00:00:00Z".into();
        let mut new = entry("1.1.0");
        new["published"] = "2026-01-09T00:00:00+00:00".into();
        let package = package(&json!([old, new, entry("1.2.0")])).unwrap();
        let now = "2026-01-10T00:00:00Z".parse::<jiff::Timestamp>().unwrap();
        let choose = |days: u64| {
            let chosen = package.choose(&WantedRef::Default, now.as_second(), Some(days * day));
            chosen.map(|one| one.name.clone())
        };
        assert_eq!(choose(0).unwrap(), "1.2.0");
        assert_eq!(choose(1).unwrap(), "1.1.0");
        assert_eq!(choose(3).unwrap(), "1.0.0");
        assert!(matches!(choose(30), Err(ResolveError::TooYoung { .. })));
    }

    #[test]
    fn invalid_documents_are_refused() {
        for versions in [
            json!({}),
            json!([entry("1.0.0"), entry("v1.0.0")]),
            json!([entry("x"), entry("x")]),
            json!([entry("")]),
            json!([entry("a\nb")]),
            json!([{ "version": "1.0.0", "url": "x.skill" }]),
            json!([{ "version": "1.0.0", "digest": format!("sha256:{}", "a".repeat(64)) }]),
        ] {
            assert!(package(&versions).is_err(), "{versions}");
        }
        let place = Url::parse("https://host/x.json").unwrap();
        for value in [
            json!({ "schema": SCHEMA, "name": "other", "versions": [] }),
            json!({ "schema": "prowess.registry/2", "name": "a", "versions": [] }),
            json!([]),
        ] {
            assert!(parse_package(&place, "a", &value).is_err(), "{value}");
        }
    }
}

//! Reads the sections of a manifest about packages: `[packages]`, `[install]`, `[registries]` and
//! `[signers]` of `.agents/prowess.toml` or of the person's `config.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use prowess_diag::{Diagnostic, FileReport, Severity, Span, suggest, toml_size, wording};
use prowess_trust::ChangedPackage;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::address::{self, Address};
use crate::agents::LINK_AGENTS;
use crate::lock::{MAX_LOCKED_PACKAGES, is_digest, is_folder_name};
use crate::signature::SignerKey;
use crate::source::{
    self, ArchiveLocation, DEFAULT_SHORTHAND, PackageSource, SourceError, SourceOrigin, WantedRef,
};
use crate::version;

/// Sections of a configuration file that belong to packages.
pub const PACKAGE_SECTIONS: [&str; 4] = ["packages", "install", "registries", "signers"];
/// Keys of a package in its long form.
const ENTRY_KEYS: [&str; 15] = [
    "git",
    "path",
    "tag",
    "branch",
    "rev",
    "version",
    "tag-prefix",
    "archive",
    "digest",
    "index",
    "name",
    "mcp",
    "uri",
    "registry",
    "skill",
];
const INSTALL_KEYS: [&str; 8] = [
    "targets",
    "vendor",
    "changed",
    "only-locked",
    "minimum-age",
    "sources",
    "shorthand",
    "require-signed-tag",
];
const REGISTRY_KEYS: [&str; 2] = ["url", "token-env"];
const SIGNER_KEYS: [&str; 2] = ["key", "sources"];
/// Maximum number of tokens of a manifest. Each takes memory when it is parsed.
pub(crate) const MAX_MANIFEST_TOKENS: usize = 500_000;
/// Maximum of `minimum-age`, in seconds: ten years.
const MAX_AGE: u64 = 10 * 365 * 24 * 60 * 60;

/// The sections of one file about packages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackageManifest {
    /// Wanted packages, in the order of the file.
    pub packages: Vec<PackageEntry>,
    /// Settings for installing.
    pub install: InstallSettings,
    /// Registries, of the person's own file only.
    pub registries: BTreeMap<String, RegistrySettings>,
    /// Signers, of the person's own file only.
    pub signers: BTreeMap<String, SignerSettings>,
}

/// One wanted package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageEntry {
    /// The key: the folder in `.agents/skills`.
    pub name: String,
    /// The source.
    pub source: PackageSource,
    /// The name of the skill in the source, if it is not the key.
    pub skill: Option<String>,
    /// The place in the file.
    pub span: Span,
}

/// Settings for installing, as one file has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstallSettings {
    /// Agents whose folders get links.
    pub targets: Option<Vec<String>>,
    /// `true` for copies instead of links.
    pub vendor: Option<bool>,
    /// The reaction to a changed package.
    pub changed: Option<ChangedPackage>,
    /// `true` to hide project skills that no lock names.
    pub only_locked: Option<bool>,
    /// The minimum age of a version, in seconds.
    pub minimum_age: Option<u64>,
    /// Lists of allowed sources. A source must be allowed by each of them.
    pub sources: Vec<Vec<String>>,
    /// The address before `owner/repo`.
    pub shorthand: Option<String>,
    /// `true` to accept tags only if their signature is checked.
    pub require_signed_tag: Option<bool>,
}

/// A registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrySettings {
    /// The address.
    pub url: String,
    /// The variable with the token.
    pub token_env: Option<String>,
}

/// A person or a group whose signatures are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignerSettings {
    /// The public key.
    pub key: SignerKey,
    /// Patterns of the sources that it signs.
    pub sources: Vec<String>,
}

impl InstallSettings {
    /// Returns the settings in force for a project. The project's file may choose agents and copies,
    /// and may tighten the rest.
    #[must_use]
    pub fn with_project(&self, project: &Self) -> Self {
        let tighter = |one: Option<bool>, two: Option<bool>| match (one, two) {
            (None, None) => None,
            (one, two) => Some(one == Some(true) || two == Some(true)),
        };
        Self {
            targets: project.targets.clone().or_else(|| self.targets.clone()),
            vendor: project.vendor.or(self.vendor),
            changed: match project.changed {
                Some(ChangedPackage::Refuse) => project.changed,
                Some(ChangedPackage::Text) | None => self.changed,
            },
            only_locked: tighter(self.only_locked, project.only_locked),
            minimum_age: self.minimum_age.max(project.minimum_age),
            sources: self
                .sources
                .iter()
                .chain(&project.sources)
                .cloned()
                .collect(),
            // The entries of a file mean the same for each person who has it. What a person types does not
            // depend on it.
            shorthand: project.shorthand.clone(),
            require_signed_tag: tighter(self.require_signed_tag, project.require_signed_tag),
        }
    }

    /// Returns the address before `owner/repo`.
    pub fn shorthand(&self) -> &str {
        self.shorthand.as_deref().unwrap_or(DEFAULT_SHORTHAND)
    }

    /// Refuses a source that a list does not allow. Patterns are complete addresses already.
    pub fn check_source(&self, source: &PackageSource) -> Result<(), SourceError> {
        for patterns in &self.sources {
            source::check_allowed(source, patterns, DEFAULT_SHORTHAND)?;
        }
        Ok(())
    }
}

impl PackageManifest {
    /// Returns the entry with this name.
    pub fn get(&self, name: &str) -> Option<&PackageEntry> {
        self.packages.iter().find(|entry| entry.name == name)
    }

    /// Returns the names of all packages.
    pub(crate) fn names(&self) -> BTreeSet<&str> {
        self.packages.iter().map(|entry| &*entry.name).collect()
    }
}

impl PackageEntry {
    /// Returns the name of the skill in the source.
    pub fn skill_name(&self) -> &str {
        self.skill.as_deref().unwrap_or(&self.name)
    }
}

/// Parses the sections about packages. Other sections are ignored. Unknown keys are warnings,
/// invalid values are errors; an invalid package is left out.
pub fn read(path: &str, text: &str, origin: SourceOrigin<'_>) -> (PackageManifest, FileReport) {
    let mut reader = Reader {
        manifest: PackageManifest::default(),
        found: Vec::new(),
        origin,
    };
    let parsed =
        (!toml_size::has_more_tokens(text, MAX_MANIFEST_TOKENS)).then(|| DeTable::parse(text));
    match parsed {
        None => {
            let most = wording::thousands(MAX_MANIFEST_TOKENS);
            reader.error(0..0, format!("more than {most} values and signs"));
        }
        Some(Ok(table)) => reader.root(table.get_ref()),
        Some(Err(error)) => {
            let span = error.span().unwrap_or(0..0);
            reader.error(span, error.message());
        }
    }
    // Tables are sorted by key; both are in the order of the file.
    reader.found.sort_by_key(|diagnostic| diagnostic.span);
    reader.manifest.packages.sort_by_key(|entry| entry.span);
    let report = FileReport {
        path: path.to_owned(),
        text: Some(Arc::from(text)),
        diagnostics: reader.found,
    };
    (reader.manifest, report)
}

/// Parses a duration: a number with `s`, `m`, `h`, `d` or `w`. Returns seconds.
pub fn parse_age(text: &str) -> Option<u64> {
    let text = text.trim();
    let unit = text.chars().last()?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 60 * 60,
        'd' => 24 * 60 * 60,
        'w' => 7 * 24 * 60 * 60,
        _ => return None,
    };
    let number = text.strip_suffix(unit)?.trim();
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = number.parse().ok().filter(|_| is_number)?;
    number
        .checked_mul(seconds)
        .filter(|seconds| *seconds <= MAX_AGE)
}

struct Reader<'o> {
    manifest: PackageManifest,
    found: Vec<Diagnostic>,
    origin: SourceOrigin<'o>,
}

impl Reader<'_> {
    fn report(
        &mut self,
        severity: Severity,
        span: Range<usize>,
        message: String,
        help: Option<String>,
    ) {
        self.found.push(Diagnostic {
            rule: "config",
            severity,
            message: message.into(),
            span: Some(Span::new(span.start, span.end)),
            label: None,
            help: help.map(Into::into),
            fix: None,
        });
    }

    fn error(&mut self, span: Range<usize>, message: impl Into<String>) {
        self.report(Severity::Error, span, message.into(), None);
    }

    fn source_error(&mut self, span: Range<usize>, error: &SourceError) {
        self.report(Severity::Error, span, error.to_string(), error.hint());
    }

    fn unknown(&mut self, key: &Spanned<impl AsRef<str>>, known: &[&str]) {
        let name = key.get_ref().as_ref();
        let help = suggest::nearest(name, known.iter().copied())
            .map(|near| format!("did you mean `{near}`?"));
        let message = format!("unknown key {}", wording::tick(name));
        self.report(Severity::Warning, key.span(), message, help);
    }

    fn is_project(&self) -> bool {
        matches!(self.origin, SourceOrigin::Project { .. })
    }

    fn no_effect(&mut self, span: Range<usize>, key: &str) {
        let message = format!("`{key}` has no effect in a project's configuration");
        self.report(Severity::Warning, span, message, None);
    }

    fn root(&mut self, table: &DeTable<'_>) {
        let sections = PACKAGE_SECTIONS.map(|section| {
            let (key, value) = table.get_key_value(section)?;
            Some((key, value, value.get_ref().as_table()))
        });
        // The shorthand is needed for the packages.
        let [packages, install, registries, signers] = sections;
        for (section, found) in
            PACKAGE_SECTIONS
                .into_iter()
                .zip([&packages, &install, &registries, &signers])
        {
            if let Some((_, value, None)) = found {
                self.error(value.span(), format!("`{section}` must be a table"));
            }
        }
        if let Some((_, _, Some(table))) = install {
            self.install(table);
        }
        if let Some((_, _, Some(table))) = packages {
            self.packages(table);
        }
        // Keys and tokens are a person's own.
        for (section, found) in [("registries", registries), ("signers", signers)] {
            match found {
                Some((key, _, Some(_))) if self.is_project() => {
                    self.no_effect(key.span(), section);
                }
                Some((_, _, Some(table))) if section == "registries" => self.registries(table),
                Some((_, _, Some(table))) => self.signers(table),
                _ => {}
            }
        }
    }

    fn packages(&mut self, table: &DeTable<'_>) {
        if table.len() > MAX_LOCKED_PACKAGES {
            let most = wording::thousands(MAX_LOCKED_PACKAGES);
            self.error(0..0, format!("more than {most} packages"));
            return;
        }
        for (key, value) in table {
            let name = key.get_ref().to_string();
            if !is_folder_name(&name) {
                let message = format!("invalid name {} of a package", wording::tick(&name));
                self.error(key.span(), message);
                continue;
            }
            let (source, skill) = match value.get_ref() {
                DeValue::String(text) => (self.short(text, value.span()), None),
                DeValue::Table(table) => self.long(table, key.span()),
                _ => {
                    let message = format!("{} must be a source or a table", wording::tick(&name));
                    self.error(value.span(), message);
                    continue;
                }
            };
            let Some(source) = source else { continue };
            if let Err(error) = source.check_origin(self.origin) {
                self.source_error(value.span(), &error);
                continue;
            }
            self.manifest.packages.push(PackageEntry {
                skill: skill.filter(|skill| *skill != name),
                name,
                source,
                span: Span::new(key.span().start, key.span().end),
            });
        }
    }

    fn short(&mut self, text: &str, span: Range<usize>) -> Option<PackageSource> {
        let shorthand = self.manifest.install.shorthand().to_owned();
        match PackageSource::parse(text, &shorthand, self.origin) {
            Ok(source) => Some(source),
            Err(error) => {
                self.source_error(span, &error);
                None
            }
        }
    }

    /// Parses the long form. Returns the source, and the name of the skill in it.
    fn long(
        &mut self,
        table: &DeTable<'_>,
        key: Range<usize>,
    ) -> (Option<PackageSource>, Option<String>) {
        let mut texts: BTreeMap<&str, (&str, Range<usize>)> = BTreeMap::new();
        let mut is_valid = true;
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            if !ENTRY_KEYS.contains(&name) {
                self.unknown(key, &ENTRY_KEYS);
                continue;
            }
            match value.get_ref().as_str() {
                Some(text) if !text.trim().is_empty() => {
                    texts.insert(name, (text, value.span()));
                }
                _ => {
                    self.error(value.span(), format!("`{name}` must be a string"));
                    is_valid = false;
                }
            }
        }
        if !is_valid {
            return (None, None);
        }
        let kinds = ["git", "archive", "index", "mcp", "registry"];
        let named: Vec<&str> = kinds
            .into_iter()
            .filter(|kind| texts.contains_key(kind))
            .collect();
        let kind = match named.as_slice() {
            [] if texts.contains_key("path") => "path",
            [kind] => kind,
            [] => {
                let kinds = ["git", "path", "archive", "index", "mcp", "registry"];
                let message = format!(
                    "a package needs one of {}",
                    wording::either(kinds.map(wording::tick))
                );
                self.error(key, message);
                return (None, None);
            }
            several => {
                let message = format!(
                    "a package has one source, not {}",
                    wording::all(several.iter().map(wording::tick))
                );
                self.error(key, message);
                return (None, None);
            }
        };
        let allowed: &[&str] = match kind {
            "git" => &[
                "git",
                "path",
                "tag",
                "branch",
                "rev",
                "version",
                "tag-prefix",
                "skill",
            ],
            "archive" => &["archive", "digest", "skill"],
            "index" => &["index", "name", "skill"],
            "mcp" => &["mcp", "uri"],
            "registry" => &["registry", "name", "version"],
            _ => &["path"],
        };
        for (key, (_, span)) in &texts {
            if !allowed.contains(key) {
                let message = format!("`{key}` does not go with `{kind}`");
                self.error(span.clone(), message);
                is_valid = false;
            }
        }
        if !is_valid {
            return (None, None);
        }
        let skill = texts.get("skill").map(|(text, _)| (*text).to_owned());
        let text = |key: &str| texts.get(key).map(|(text, _)| *text);
        match source_of(kind, &text, self.manifest.install.shorthand()) {
            Ok(source) => (Some(source), skill),
            Err((at, error)) => {
                let span = texts.get(at).map_or(key, |(_, span)| span.clone());
                self.source_error(span, &error);
                (None, None)
            }
        }
    }

    fn install(&mut self, table: &DeTable<'_>) {
        // Patterns of `sources` are completed with it.
        if let Some(value) = table.get("shorthand")
            && let Some(text) = self.text(value, "shorthand")
        {
            match Address::parse(&text, false) {
                Ok(address) => self.manifest.install.shorthand = Some(format!("{address}/")),
                Err(error) => self.source_error(value.span(), &error),
            }
        }
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            match name {
                "shorthand" => {}
                "targets" => {
                    let known = LINK_AGENTS.iter().map(|agent| agent.name);
                    let targets = self.texts(value, "targets").unwrap_or_default();
                    for target in &targets {
                        if !known.clone().any(|name| name == target) {
                            let message = format!("no agent named {}", wording::tick(target));
                            let help = suggest::nearest(target, known.clone())
                                .map(|near| format!("did you mean `{near}`?"));
                            self.report(Severity::Error, value.span(), message, help);
                        }
                    }
                    let is_known = |target: &String| known.clone().any(|name| name == target);
                    let targets = targets.into_iter().filter(is_known).collect();
                    self.manifest.install.targets = Some(targets);
                }
                "vendor" => self.manifest.install.vendor = self.flag(value, "vendor"),
                "changed" => self.changed(key.span(), value),
                // A project may switch these on, not off.
                "only-locked" | "require-signed-tag" => {
                    let wanted = self.flag(value, name);
                    if self.is_project() && wanted == Some(false) {
                        self.no_effect(key.span(), &format!("{name} = false"));
                    }
                    let wanted = wanted.filter(|on| *on || !self.is_project());
                    if name == "only-locked" {
                        self.manifest.install.only_locked = wanted;
                    } else {
                        self.manifest.install.require_signed_tag = wanted;
                    }
                }
                "minimum-age" => {
                    let age = value.get_ref().as_str().and_then(parse_age);
                    if age.is_none() {
                        let message = "`minimum-age` must be a number with `s`, `m`, `h`, `d` or `w`, such as `3d`";
                        self.error(value.span(), message);
                    }
                    self.manifest.install.minimum_age = age;
                }
                "sources" => {
                    // A list that cannot be read allows nothing.
                    let patterns = self.patterns(value, "sources");
                    self.manifest.install.sources = vec![patterns];
                }
                _ => self.unknown(key, &INSTALL_KEYS),
            }
        }
    }

    fn changed(&mut self, key: Range<usize>, value: &Spanned<DeValue<'_>>) {
        let changed = match value.get_ref().as_str() {
            Some("refuse") => Some(ChangedPackage::Refuse),
            Some("text") if self.is_project() => {
                self.no_effect(key, "changed = \"text\"");
                None
            }
            Some("text") => Some(ChangedPackage::Text),
            _ => {
                self.error(value.span(), "`changed` must be `refuse` or `text`");
                None
            }
        };
        self.manifest.install.changed = changed;
    }

    fn registries(&mut self, table: &DeTable<'_>) {
        for (name, value) in table {
            let Some(table) = self.named_table(name, value, "registry") else {
                continue;
            };
            let (mut url, mut token_env) = (None, None);
            for (key, value) in table {
                match key.get_ref().as_ref() {
                    "url" => {
                        let text = self.text(value, "url");
                        match text.map(|text| Address::parse(&text, false)) {
                            Some(Ok(address)) => url = Some(address.to_string()),
                            Some(Err(error)) => self.source_error(value.span(), &error),
                            None => {}
                        }
                    }
                    "token-env" => token_env = self.text(value, "token-env"),
                    _ => self.unknown(key, &REGISTRY_KEYS),
                }
            }
            match url {
                Some(url) => {
                    let settings = RegistrySettings { url, token_env };
                    let name = name.get_ref().to_string();
                    self.manifest.registries.insert(name, settings);
                }
                None => self.error(name.span(), "a registry needs a `url`"),
            }
        }
    }

    fn signers(&mut self, table: &DeTable<'_>) {
        for (name, value) in table {
            let Some(table) = self.named_table(name, value, "signer") else {
                continue;
            };
            let (mut signing_key, mut sources) = (None, Vec::new());
            for (key, value) in table {
                match key.get_ref().as_ref() {
                    "key" => {
                        let text = self.text(value, "key").unwrap_or_default();
                        signing_key = SignerKey::parse(&text);
                        if signing_key.is_none() && !text.is_empty() {
                            let message =
                                "`key` must be the line of an ssh public key, or a `minisign` key";
                            self.error(value.span(), message);
                        }
                    }
                    "sources" => sources = self.patterns(value, "sources"),
                    _ => self.unknown(key, &SIGNER_KEYS),
                }
            }
            match signing_key {
                Some(_) if sources.is_empty() => {
                    self.error(
                        name.span(),
                        "a signer needs `sources`, the sources that it signs",
                    );
                }
                Some(key) => {
                    let settings = SignerSettings { key, sources };
                    let name = name.get_ref().to_string();
                    self.manifest.signers.insert(name, settings);
                }
                None => self.error(name.span(), "a signer needs a `key`"),
            }
        }
    }

    fn named_table<'v, 't>(
        &mut self,
        name: &Spanned<impl AsRef<str>>,
        value: &'v Spanned<DeValue<'t>>,
        what: &str,
    ) -> Option<&'v DeTable<'t>> {
        if !source::is_name(name.get_ref().as_ref()) {
            let name_text = wording::tick(name.get_ref().as_ref());
            self.error(name.span(), format!("invalid name {name_text} of a {what}"));
            return None;
        }
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.error(value.span(), format!("a {what} must be a table"));
        }
        table
    }

    /// Reads patterns of sources, with the shorthand completed.
    fn patterns(&mut self, value: &Spanned<DeValue<'_>>, key: &str) -> Vec<String> {
        let shorthand = self.manifest.install.shorthand().to_owned();
        let patterns = self.texts(value, key).unwrap_or_default();
        patterns
            .iter()
            .map(|pattern| source::complete_pattern(pattern, &shorthand))
            .collect()
    }

    fn text(&mut self, value: &Spanned<DeValue<'_>>, key: &str) -> Option<String> {
        let text = value.get_ref().as_str().map(str::trim);
        let text = text.filter(|text| !text.is_empty());
        if text.is_none() {
            self.error(value.span(), format!("`{key}` must be a string"));
        }
        text.map(str::to_owned)
    }

    fn flag(&mut self, value: &Spanned<DeValue<'_>>, key: &str) -> Option<bool> {
        let flag = value.get_ref().as_bool();
        if flag.is_none() {
            self.error(value.span(), format!("`{key}` must be true or false"));
        }
        flag
    }

    fn texts(&mut self, value: &Spanned<DeValue<'_>>, key: &str) -> Option<Vec<String>> {
        let items = value.get_ref().as_array().map(|items| {
            let texts = items.iter().map(|item| item.get_ref().as_str());
            texts.map(|text| text.map(str::to_owned)).collect()
        });
        let texts: Option<Vec<String>> = items.flatten();
        if texts.is_none() {
            self.error(value.span(), format!("`{key}` must be a list of strings"));
        }
        texts
    }
}

/// Builds a source from the texts of its long form. An error names the key that is wrong.
fn source_of<'t>(
    kind: &str,
    text: &dyn Fn(&str) -> Option<&'t str>,
    shorthand: &str,
) -> Result<PackageSource, (&'static str, SourceError)> {
    let given = |key: &'static str| text(key).unwrap_or_default();
    match kind {
        "git" => {
            let address = given("git");
            let at = |error| ("git", error);
            let mut git = if address.contains("://") {
                let bare = address.strip_prefix("git+");
                source::git_address(bare.unwrap_or(address), bare.is_some()).map_err(at)?
            } else {
                let parsed = PackageSource::parse(address, shorthand, SourceOrigin::Typed);
                let PackageSource::Git(git) = parsed.map_err(at)? else {
                    let text = address::shown(address);
                    return Err(("git", SourceError::NotASource { text }));
                };
                git
            };
            if let Some(path) = text("path") {
                let path = address::skill_path(path).map_err(|error| ("path", error))?;
                git.path = Some(path).filter(|path| !path.is_empty());
            }
            let keys = ["tag", "branch", "rev", "version"];
            let refs: Vec<(&'static str, &str)> = keys
                .into_iter()
                .filter_map(|key| Some((key, text(key)?)))
                .collect();
            let is_free = git.wanted == WantedRef::Default;
            git.wanted = match refs.as_slice() {
                [] => git.wanted,
                [one] if is_free => wanted(*one).map_err(|error| (one.0, error))?,
                [one, ..] => return Err((one.0, SourceError::TwoRefs)),
            };
            git.tag_prefix = match text("tag-prefix") {
                Some(prefix) if version::ref_fault(&format!("{prefix}1")).is_some() => {
                    return Err((
                        "tag-prefix",
                        SourceError::Address {
                            text: address::shown(prefix),
                            why: "no tag can begin with it",
                        },
                    ));
                }
                prefix => prefix.map(str::to_owned),
            };
            Ok(PackageSource::Git(git))
        }
        "archive" => {
            let address = given("archive");
            let digest = text("digest").map(str::to_owned);
            if digest.as_ref().is_some_and(|digest| !is_digest(digest)) {
                let error = SourceError::Address {
                    text: address::shown(given("digest")),
                    why: "a digest is `sha256:` and 64 hexadecimal digits in lower case",
                };
                return Err(("digest", error));
            }
            let location = if address.contains("://") {
                let url = Address::parse(address, false).map_err(|error| ("archive", error))?;
                ArchiveLocation::Url(url.to_string())
            } else {
                let parsed = source::local(address).map_err(|error| ("archive", error))?;
                let PackageSource::Archive { location, .. } = parsed else {
                    let error = SourceError::Address {
                        text: address::shown(address),
                        why: "an archive ends with `.tar.gz`, `.tgz`, `.zip` or `.skill`",
                    };
                    return Err(("archive", error));
                };
                location
            };
            Ok(PackageSource::Archive { location, digest })
        }
        "index" => {
            let url = Address::parse(given("index"), false).map_err(|error| ("index", error))?;
            Ok(PackageSource::Index {
                url: url.to_string(),
                name: text("name").map(str::to_owned),
            })
        }
        "mcp" => source::mcp(given("mcp"), given("uri")).map_err(|error| ("mcp", error)),
        "registry" => {
            let wanted = match text("version") {
                Some(range) => wanted(("version", range)).map_err(|error| ("version", error))?,
                None => WantedRef::Default,
            };
            source::registry(given("registry"), given("name"), wanted)
                .map_err(|error| ("name", error))
        }
        _ => {
            let path = given("path");
            address::check_text_lenient(path).map_err(|error| ("path", error))?;
            Ok(PackageSource::Path {
                path: path.to_owned(),
            })
        }
    }
}

fn wanted((key, text): (&'static str, &str)) -> Result<WantedRef, SourceError> {
    match key {
        "tag" => WantedRef::tag(text),
        "branch" => WantedRef::branch(text),
        "rev" => WantedRef::commit(text),
        _ => match version::parse_range(text) {
            Some(range) => Ok(WantedRef::Version(range)),
            None => Err(SourceError::Range {
                text: address::shown(text),
            }),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERSON: SourceOrigin<'static> = SourceOrigin::Person;
    const PROJECT: SourceOrigin<'static> = SourceOrigin::Project {
        root: "/work/app",
        mirrors: &[],
    };

    fn check(text: &str, origin: SourceOrigin<'_>, messages: &[&str]) -> PackageManifest {
        let (manifest, report) = read("prowess.toml", text, origin);
        let found: Vec<&str> = report
            .diagnostics
            .iter()
            .map(|diagnostic| &*diagnostic.message)
            .collect();
        assert_eq!(found, messages, "{text}");
        manifest
    }

    #[test]
    fn both_forms_of_every_source_are_read() {
        let commit = "5754626092940f1c0a4d7b0f6b0c1e7a9d2f3b4c";
        let text = format!(
            "[packages]\n\
             pdf = \"acme/skills@^1.4\"\n\
             deploy = {{ git = \"https://git.example.com/acme/ops\", path = \"skills/deploy\", tag = \"v2.1.0\" }}\n\
             review = {{ git = \"ssh://git@git.example.com/acme/ops\", version = \"^2\", tag-prefix = \"review-v\" }}\n\
             nightly = {{ git = \"https://git.example.com/acme/ops\", branch = \"main\" }}\n\
             frozen = {{ git = \"https://git.example.com/x/y\", rev = \"{commit}\" }}\n\
             style = {{ path = \"../our-skills/style\" }}\n\
             report = {{ archive = \"https://files.example.com/report-1.2.0.tar.gz\", digest = \"sha256:{}\" }}\n\
             errors = {{ index = \"https://docs.example.com\", name = \"error-codes\" }}\n\
             triage = {{ mcp = \"issues\", uri = \"skill://acme/triage\" }}\n\
             [packages.forms]\nregistry = \"corp\"\nname = \"acme/forms\"\nversion = \"~3.1\"\n",
            "a".repeat(64)
        );
        let manifest = check(&text, PROJECT, &[]);
        let names: Vec<&str> = manifest.packages.iter().map(|entry| &*entry.name).collect();
        assert_eq!(
            names,
            [
                "pdf", "deploy", "review", "nightly", "frozen", "style", "report", "errors",
                "triage", "forms"
            ]
        );
        let git = |name: &str| match &manifest.get(name).unwrap().source {
            PackageSource::Git(git) => git.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(git("pdf").url, "https://github.com/acme/skills");
        assert_eq!(git("deploy").path.as_deref(), Some("skills/deploy"));
        assert_eq!(git("deploy").wanted, WantedRef::Tag("v2.1.0".to_owned()));
        assert_eq!(git("review").tag_prefix.as_deref(), Some("review-v"));
        assert_eq!(git("nightly").wanted, WantedRef::Branch("main".to_owned()));
        assert_eq!(git("frozen").wanted, WantedRef::Commit(commit.to_owned()));
        assert!(matches!(
            &manifest.get("forms").unwrap().source,
            PackageSource::Registry { registry, wanted: WantedRef::Version(_), .. } if registry == "corp"
        ));
    }

    #[test]
    fn mistakes_are_reported_where_they_are() {
        for (entry, message) in [
            ("a = 3", "`a` must be a source or a table"),
            ("a = 'pdf'", "`pdf` is not a source"),
            ("'../a' = 'o/r'", "invalid name `../a` of a package"),
            (
                "a = {}",
                "a package needs one of `git`, `path`, `archive`, `index`, `mcp` or `registry`",
            ),
            (
                "a = { git = 'o/r', mcp = 'x' }",
                "a package has one source, not `git` and `mcp`",
            ),
            (
                "a = { git = 'o/r', tag = 'v1', branch = 'x' }",
                "the source names more than one version or ref",
            ),
            (
                "a = { git = 'o/r@v1', tag = 'v1' }",
                "the source names more than one version or ref",
            ),
            (
                "a = { git = 'o/r', rev = '5754626' }",
                "`5754626` is not a whole commit id",
            ),
            (
                "a = { git = 'o/r', version = 'new' }",
                "invalid range of versions `new`",
            ),
            (
                "a = { git = 'o/r', tag = 'a..b' }",
                "invalid ref `a..b`: it has two dots in a row",
            ),
            (
                "a = { git = 'o/r', path = '../x' }",
                "`../x` has `..` in its path",
            ),
            (
                "a = { git = 'ext::sh' }",
                "`ext::` is a git remote helper, which can run any program",
            ),
            (
                "a = { git = 'file:///x' }",
                "`file:///x` does not say what it is",
            ),
            ("a = { git = 3 }", "`git` must be a string"),
            (
                "a = { mcp = 'x', tag = 'y' }",
                "`tag` does not go with `mcp`",
            ),
            (
                "a = { path = 'x', version = '1' }",
                "`version` does not go with `path`",
            ),
            (
                "a = { archive = 'https://h.example/x.zip', digest = 'sha256:1' }",
                "invalid source `sha256:1`: a digest is `sha256:` and 64 hexadecimal digits in lower case",
            ),
            (
                "a = { archive = 'x' }",
                "invalid source `x`: an archive ends with `.tar.gz`, `.tgz`, `.zip` or `.skill`",
            ),
            (
                "a = { index = 'http://h.example' }",
                "`http://h.example` is not encrypted",
            ),
            ("a = { git = 'o/r', tga = 'x' }", "unknown key `tga`"),
        ] {
            let text = format!("[packages]\n{entry}\nb = 'o/r'\n");
            let manifest = check(&text, PROJECT, &[message]);
            // One bad entry does not affect another.
            assert!(manifest.get("b").is_some());
            let (_, report) = read("x", &text, PROJECT);
            let span = report.diagnostics[0].span.unwrap().range();
            assert!(span.start >= 11 && span.end <= 11 + entry.len(), "{entry}");
        }
        check(
            "packages = 3\ninstall = 1\n",
            PROJECT,
            &["`packages` must be a table", "`install` must be a table"],
        );
        assert_eq!(read("x", "[packages", PROJECT).1.diagnostics.len(), 1);
        check("[other]\nx = 1\n", PROJECT, &[]);
    }

    #[test]
    fn project_tightens_and_never_loosens() {
        let person = check(
            "[install]\nchanged = 'refuse'\nonly-locked = true\nminimum-age = '3d'\nsources = ['acme/*']\nshorthand = 'https://git.example.com'\nvendor = true\n",
            PERSON,
            &[],
        );
        let loose = check(
            "[install]\nchanged = 'text'\nonly-locked = false\nrequire-signed-tag = false\nminimum-age = '1h'\nsources = ['https://*/*']\nvendor = false\ntargets = ['claude-code']\n",
            PROJECT,
            &[
                "`changed = \"text\"` has no effect in a project's configuration",
                "`only-locked = false` has no effect in a project's configuration",
                "`require-signed-tag = false` has no effect in a project's configuration",
            ],
        );
        let all = person.install.with_project(&loose.install);
        assert_eq!(all.changed, Some(ChangedPackage::Refuse));
        assert_eq!(all.only_locked, Some(true));
        assert_eq!(all.minimum_age, Some(3 * 24 * 60 * 60));
        assert_eq!((all.vendor, all.targets.unwrap().len()), (Some(false), 1));
        assert_eq!(all.sources.len(), 2);
        // Both lists must allow it, each with the shorthand of its own file.
        let allows = |text: &str| {
            let source =
                PackageSource::parse(text, DEFAULT_SHORTHAND, SourceOrigin::Typed).unwrap();
            let project = person.install.with_project(&loose.install);
            project.check_source(&source).is_ok()
        };
        assert!(allows("git+https://git.example.com/acme/x"));
        assert!(!allows("acme/x") && !allows("git+https://git.example.com/other/x"));
        let tight = check(
            "[install]\nchanged = 'refuse'\nonly-locked = true\nminimum-age = '2w'\n",
            PROJECT,
            &[],
        );
        let text = check("[install]\nchanged = 'text'\n", PERSON, &[]);
        let all = text.install.with_project(&tight.install);
        assert_eq!(
            (all.changed, all.only_locked),
            (Some(ChangedPackage::Refuse), Some(true))
        );
        assert_eq!(all.minimum_age, Some(14 * 24 * 60 * 60));
        let alone = text.install.with_project(&InstallSettings::default());
        assert_eq!(alone.changed, Some(ChangedPackage::Text));
    }

    #[test]
    fn keys_and_tokens_are_a_persons_own() {
        let text = "[registries.corp]\nurl = 'https://r.example.com/'\ntoken-env = 'CORP_TOKEN'\n\
                    [signers.acme]\nkey = 'RWSRjjC/756Jc/XKePxaGy6Y6aM9CXgR3I1F7yy7C49jmTnX9w0eKwCJ'\nsources = ['acme/*']\n";
        let manifest = check(text, PERSON, &[]);
        assert_eq!(manifest.registries["corp"].url, "https://r.example.com");
        assert_eq!(
            manifest.signers["acme"].sources,
            ["https://github.com/acme/*"]
        );
        let manifest = check(
            text,
            PROJECT,
            &[
                "`registries` has no effect in a project's configuration",
                "`signers` has no effect in a project's configuration",
            ],
        );
        assert!(manifest.registries.is_empty() && manifest.signers.is_empty());
        check(
            "[registries.a]\ntoken-env = 'X'\n[registries.b]\nurl = 'https://me:pw@h.example'\n[signers.c]\n",
            PERSON,
            &[
                "a registry needs a `url`",
                "a registry needs a `url`",
                "`https://…@h.example` has a user name or a password in it",
                "a signer needs a `key`",
            ],
        );
    }

    #[test]
    fn local_repositories_of_a_project_are_inside_it() {
        let entry = |path: &str| {
            format!("[packages]\na = {{ git = 'git+file://{path}' }}\nb = 'git+file://{path}'\n")
        };
        assert_eq!(
            check(&entry("/work/app/mirror"), PROJECT, &[])
                .packages
                .len(),
            2
        );
        let message = "`/etc` is outside the repository of the project that names it";
        check(&entry("/etc"), PROJECT, &[message, message]);
        check(&entry("/etc"), PERSON, &[]);
    }

    #[test]
    fn settings_are_checked() {
        check(
            "[install]\ntargets = ['claude-cod']\nvendor = 1\nchanged = 'x'\nminimum-age = '3'\nsources = 'x'\nshorthand = 'http://h.example'\nsorces = []\n",
            PROJECT,
            &[
                "no agent named `claude-cod`",
                "`vendor` must be true or false",
                "`changed` must be `refuse` or `text`",
                "`minimum-age` must be a number with `s`, `m`, `h`, `d` or `w`, such as `3d`",
                "`sources` must be a list of strings",
                "`http://h.example` is not encrypted",
                "unknown key `sorces`",
            ],
        );
        // A list that cannot be read allows nothing.
        let (manifest, _) = read("x", "[install]\nsources = 'x'\n", PROJECT);
        let source = PackageSource::parse("a/b", DEFAULT_SHORTHAND, SourceOrigin::Typed).unwrap();
        assert!(manifest.install.check_source(&source).is_err());
        for (text, seconds) in [
            ("90s", Some(90)),
            ("2 h", Some(7200)),
            ("-1d", None),
            ("d", None),
            ("99999999999999999999w", None),
            ("9999w", None),
        ] {
            assert_eq!(parse_age(text), seconds, "{text}");
        }
    }
}

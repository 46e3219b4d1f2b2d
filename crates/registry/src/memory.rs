//! Skills that a program defines or loads itself, and skills bundled with the program.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use prowess_catalog::{FileStamp, Location, Skill, SkillForm, SkillId, SkillLocation, SkillOrigin};
use prowess_diag::{Diagnostic, Severity};
use prowess_lint::{LintProfile, LintRuleSet, LintSubject, check};
use prowess_spec::yaml::write;
use prowess_spec::{PackageListing, ReadFault, ResourcePath, identify, name, parse};
use serde_json::Value;

use crate::fs::source::FileSource;
use crate::resource::{self, Resource, ResourceError, SkillFolder};
use crate::source::{Known, Scan, SkillSource, SourceFault};

/// A skill that a program defines or loads: its text and its files, in memory or on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSkill {
    name: Box<str>,
    /// The name that its location gives it.
    given: Option<Box<str>>,
    text: Box<str>,
    files: BTreeMap<ResourcePath, Vec<u8>>,
    disk: Option<SkillOnDisk>,
    /// The JSON Schema of its arguments.
    input: Option<Arc<Value>>,
}

/// A skill that was read from disk. Its text and files are read again when it is used.
#[derive(Clone, Debug)]
struct SkillOnDisk {
    source: Arc<FileSource>,
    skill: Arc<Skill>,
}

impl PartialEq for SkillOnDisk {
    fn eq(&self, other: &Self) -> bool {
        self.skill == other.skill
    }
}

impl Eq for SkillOnDisk {}

/// Error for an invalid skill.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid skill: {}", first(findings))]
pub struct InvalidSkill {
    /// The errors found.
    pub findings: Vec<Diagnostic>,
}

fn first(findings: &[Diagnostic]) -> &str {
    findings.first().map_or("", |finding| &finding.message)
}

impl NewSkill {
    /// Starts building a skill.
    pub fn builder(name: impl Into<String>, description: impl Into<String>) -> SkillBuilder {
        let fields = vec![
            ("name", write::scalar(&name.into())),
            ("description", write::scalar(&description.into())),
        ];
        SkillBuilder {
            fields,
            metadata: Vec::new(),
            body: String::new(),
            files: Vec::new(),
        }
    }

    /// Creates a skill from the text of a `SKILL.md`, checked by the rules of the open standard.
    pub fn from_text(text: impl Into<String>) -> Result<Self, InvalidSkill> {
        Self::checked(text.into(), BTreeMap::new(), LintProfile::Spec)
    }

    /// Creates a skill from the text of a `SKILL.md`, read as tolerantly as a file in a folder:
    /// unknown keys, broken YAML, an invalid name and a missing description are no errors. `given`
    /// is the name of its folder, which is used if the text has no valid name.
    pub fn from_file_text(
        text: impl Into<String>,
        given: Option<&str>,
    ) -> Result<Self, InvalidSkill> {
        let text = text.into();
        let parsed = parse(text.as_bytes());
        let name = identify(&parsed.manifest, given, parsed.body_text()).name;
        let missing = if parsed.text.trim().is_empty() {
            Some("body-empty")
        } else {
            name.is_empty().then_some("name-missing")
        };
        if let Some(rule) = missing {
            let rules = LintRuleSet::new(LintProfile::Spec, None).select(&[rule]);
            let package = PackageListing::default();
            let findings = check(&LintSubject::new(&parsed, &package), &rules);
            return Err(InvalidSkill { findings });
        }
        Ok(Self {
            name: name.into(),
            given: given.map(Into::into),
            text: text.into(),
            files: BTreeMap::new(),
            disk: None,
            input: None,
        })
    }

    /// Reads the skill at a path as a scan of its folder would: a folder with a `SKILL.md`, the
    /// `SKILL.md` itself, or another Markdown file. Its text and files are read again when it is
    /// used. Returns `None` if the path is neither.
    pub fn from_path(path: &Path) -> Result<Option<Self>, SourceFault> {
        let Some((source, skill)) = FileSource::of_skill(path)? else {
            return Ok(None);
        };
        let text = source.text(&skill.id).unwrap_or_default();
        let text = parse(&text).text.into();
        Ok(Some(Self {
            name: skill.name.clone(),
            given: None,
            text,
            files: BTreeMap::new(),
            disk: Some(SkillOnDisk {
                source: Arc::new(source),
                skill,
            }),
            input: None,
        }))
    }

    /// Returns a skill on disk under another name and with another description. Its text and files stay
    /// those of its folder.
    #[must_use]
    pub fn renamed(mut self, name: &str, description: &str) -> Self {
        self.name = name.into();
        if let Some(disk) = &mut self.disk {
            disk.skill = Arc::new(Skill {
                name: name.into(),
                alias: None,
                description: description.into(),
                described: true,
                ..Skill::clone(&disk.skill)
            });
        }
        self
    }

    /// Sets the JSON Schema of the arguments. Arguments that do not match it are an error when the
    /// skill is used.
    #[must_use]
    pub fn with_input_schema(mut self, schema: Value) -> Self {
        self.input = Some(Arc::new(schema));
        self
    }

    /// Returns the JSON Schema of the arguments.
    pub fn input_schema(&self) -> Option<&Value> {
        self.input.as_deref()
    }

    /// Returns the other name of a skill on disk whose folder and frontmatter have different ones.
    pub fn alias(&self) -> Option<&str> {
        self.disk.as_ref()?.skill.alias.as_deref()
    }

    fn checked(
        text: String,
        files: BTreeMap<ResourcePath, Vec<u8>>,
        profile: LintProfile,
    ) -> Result<Self, InvalidSkill> {
        let parsed = parse(text.as_bytes());
        let package = PackageListing::default();
        let mut findings = check(
            &LintSubject::new(&parsed, &package),
            &LintRuleSet::new(profile, None),
        );
        findings.retain(|finding| finding.severity == Severity::Error);
        if parsed.body_text().trim().is_empty() {
            let rules = LintRuleSet::new(LintProfile::ClaudeCode, None).select(&["body-empty"]);
            findings.extend(check(&LintSubject::new(&parsed, &package), &rules));
        }
        // Without a folder, the name must be in the frontmatter and follow the standard, whatever
        // the profile says.
        if findings.is_empty() {
            let rules = LintRuleSet::new(LintProfile::Spec, None)
                .select(&["name-missing", "name-characters"]);
            findings.extend(check(&LintSubject::new(&parsed, &package), &rules));
        }
        let name = parsed
            .manifest
            .name
            .as_ref()
            .map(|name| name::normalise(&name.value).into());
        match name {
            Some(name) if findings.is_empty() => Ok(Self {
                name,
                given: None,
                text: text.into(),
                files,
                disk: None,
                input: None,
            }),
            _ => Err(InvalidSkill { findings }),
        }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns a checksum of the text and the files, to detect changes.
    fn fingerprint(&self) -> u64 {
        let mut sum = crate::source::fingerprint(self.text.as_bytes());
        for (path, content) in &self.files {
            for part in [path.as_str().as_bytes(), content] {
                sum = sum.rotate_left(7) ^ crate::source::fingerprint(part);
            }
        }
        sum
    }
}

/// Builds a skill field by field; [`SkillBuilder::build`] checks it like a file.
#[derive(Clone, Debug)]
pub struct SkillBuilder {
    fields: Vec<(&'static str, String)>,
    metadata: Vec<(String, String)>,
    body: String,
    files: Vec<(String, Vec<u8>)>,
}

impl SkillBuilder {
    fn field(mut self, key: &'static str, value: String) -> Self {
        self.fields.push((key, value));
        self
    }

    /// Sets the instructions.
    #[must_use]
    pub fn instructions(mut self, body: impl Into<String>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets `when_to_use`.
    #[must_use]
    pub fn when_to_use(self, text: impl AsRef<str>) -> Self {
        self.field("when_to_use", write::scalar(text.as_ref()))
    }

    /// Sets the licence.
    #[must_use]
    pub fn license(self, text: impl AsRef<str>) -> Self {
        self.field("license", write::scalar(text.as_ref()))
    }

    /// Sets the compatibility notes.
    #[must_use]
    pub fn compatibility(self, text: impl AsRef<str>) -> Self {
        self.field("compatibility", write::scalar(text.as_ref()))
    }

    /// Sets the allowed tools, as in `allowed-tools`.
    #[must_use]
    pub fn allowed_tools(self, tools: impl AsRef<str>) -> Self {
        self.field("allowed-tools", write::scalar(tools.as_ref()))
    }

    /// Sets the names of the arguments, in order: `$name` expands to the argument.
    #[must_use]
    pub fn arguments<T: AsRef<str>>(self, names: &[T]) -> Self {
        let names: Vec<String> = names
            .iter()
            .map(|name| write::scalar(name.as_ref()))
            .collect();
        self.field("arguments", format!("[{}]", names.join(", ")))
    }

    /// Adds a metadata entry.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.push((key.into(), value.into()));
        self
    }

    /// Makes the skill invocable by users only.
    #[must_use]
    pub fn disable_model_invocation(self) -> Self {
        self.field("disable-model-invocation", "true".to_owned())
    }

    /// Adds the skill to every listing.
    #[must_use]
    pub fn always_present(self) -> Self {
        self.field("always_present", "true".to_owned())
    }

    /// Adds a file.
    #[must_use]
    pub fn file(mut self, path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        self.files.push((path.into(), content.into()));
        self
    }

    /// Checks the skill and builds it.
    pub fn build(self) -> Result<NewSkill, InvalidSkill> {
        let mut text = String::from("---\n");
        for (key, value) in &self.fields {
            text.push_str(&format!("{key}: {value}\n"));
        }
        if !self.metadata.is_empty() {
            text.push_str("metadata:\n");
            for (key, value) in &self.metadata {
                text.push_str(&format!(
                    "  {}: {}\n",
                    write::scalar(key),
                    write::quoted(value)
                ));
            }
        }
        text.push_str(&format!("---\n\n{}\n", self.body.trim_end()));
        let mut files = BTreeMap::new();
        for (path, content) in self.files {
            let fault = |_| InvalidSkill {
                findings: vec![Diagnostic {
                    rule: "resource-path",
                    severity: Severity::Error,
                    message: format!("`{path}` is not a path inside the skill").into(),
                    span: None,
                    label: None,
                    help: None,
                    fix: None,
                }],
            };
            files.insert(ResourcePath::new(&path).map_err(fault)?, content);
        }
        // Agent extensions are allowed, but their format is checked.
        NewSkill::checked(text, files, LintProfile::ClaudeCode)
    }
}

/// A source of skills in memory.
#[derive(Debug)]
pub struct MemorySource {
    origin: Arc<SkillOrigin>,
    skills: Mutex<Held>,
}

/// Skills by name, each with its head.
type Held = BTreeMap<Box<str>, (Arc<Skill>, NewSkill)>;

impl MemorySource {
    /// Creates an empty source.
    pub fn new(origin: SkillOrigin) -> Self {
        Self {
            origin: Arc::new(origin),
            skills: Mutex::default(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Held> {
        self.skills.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a skill. Returns `false` if the name is taken.
    pub fn add(&self, skill: NewSkill) -> bool {
        let mut skills = self.lock();
        if skills.contains_key(&skill.name) {
            return false;
        }
        let head = self.head(&skill);
        skills.insert(skill.name.clone(), (head, skill));
        true
    }

    /// Adds a skill, replacing one of the same name. Returns `true` if there was one.
    pub fn replace(&self, skill: NewSkill) -> bool {
        let head = self.head(&skill);
        self.lock()
            .insert(skill.name.clone(), (head, skill))
            .is_some()
    }

    /// Removes a skill. Returns `true` if there was one.
    pub fn remove(&self, name: &str) -> bool {
        self.lock().remove(&*name::normalise(name)).is_some()
    }

    /// Removes all skills. Returns `true` if there was one.
    pub fn clear(&self) -> bool {
        let mut skills = self.lock();
        let had_some = !skills.is_empty();
        skills.clear();
        had_some
    }

    /// Calls a function with the content of a file.
    fn with_content<T>(
        &self,
        id: &SkillId,
        path: &str,
        read: impl FnOnce(&[u8]) -> Result<T, ResourceError>,
    ) -> Result<T, ResourceError> {
        let wanted = ResourcePath::new(path).map_err(|fault| ResourceError::Path {
            path: path.to_owned(),
            fault,
        })?;
        let skills = self.lock();
        let missing = || ResourceError::Missing {
            path: path.to_owned(),
        };
        let held = skills.get(&id.path).filter(|_| self.owns(id));
        let (_, skill) = held.ok_or_else(missing)?;
        match wanted.as_str() {
            "SKILL.md" => read(skill.text.as_bytes()),
            _ => read(skill.files.get(&wanted).ok_or_else(missing)?),
        }
    }

    /// Returns where a skill is on disk.
    fn on_disk(&self, id: &SkillId) -> Option<SkillOnDisk> {
        let skills = self.lock();
        let held = skills.get(&id.path).filter(|_| self.owns(id));
        held.and_then(|(_, skill)| skill.disk.clone())
    }

    fn head(&self, skill: &NewSkill) -> Arc<Skill> {
        let id = SkillId {
            origin: Arc::clone(&self.origin),
            path: skill.name.clone(),
        };
        if let Some(disk) = &skill.disk {
            return Arc::new(Skill {
                id,
                ..Skill::clone(&disk.skill)
            });
        }
        let place = SkillLocation {
            id,
            form: SkillForm::Memory,
            location: Location::from_text(format!("{}:{}", self.origin.scope.as_str(), skill.name)),
            given: skill.given.as_deref(),
            stamp: FileStamp {
                size: skill.text.len() as u64,
                ..FileStamp::default()
            },
            sidecar: None,
            fingerprint: skill.fingerprint(),
        };
        Arc::new(Skill::from_text(place, &parse(skill.text.as_bytes()), None))
    }
}

impl SkillSource for MemorySource {
    fn scan(&self, _known: Known<'_>) -> Scan {
        let skills = self
            .lock()
            .values()
            .map(|(head, _)| Arc::clone(head))
            .collect();
        Scan {
            skills,
            ..Scan::default()
        }
    }

    fn text(&self, id: &SkillId) -> Result<Vec<u8>, ReadFault> {
        if let Some(disk) = self.on_disk(id) {
            return disk.source.text(&disk.skill.id);
        }
        let skills = self.lock();
        let held = skills.get(&id.path).filter(|_| self.owns(id));
        let (_, skill) = held.ok_or(ReadFault::Missing)?;
        Ok(skill.text.as_bytes().to_vec())
    }

    fn file(
        &self,
        id: &SkillId,
        path: &str,
        offset: u64,
        limit: usize,
    ) -> Result<Resource, ResourceError> {
        if let Some(disk) = self.on_disk(id) {
            return disk.source.file(&disk.skill.id, path, offset, limit);
        }
        self.with_content(id, path, |content| {
            Ok(resource::page(content, offset, limit))
        })
    }

    fn bytes(&self, id: &SkillId, path: &str, most: u64) -> Result<Vec<u8>, ResourceError> {
        if let Some(disk) = self.on_disk(id) {
            return disk.source.bytes(&disk.skill.id, path, most);
        }
        self.with_content(id, path, |content| match content.len() as u64 {
            size if size > most => Err(ResourceError::TooLarge {
                path: path.to_owned(),
                size,
            }),
            _ => Ok(content.to_vec()),
        })
    }

    fn files(&self, id: &SkillId) -> Option<Vec<(String, u64)>> {
        if let Some(disk) = self.on_disk(id) {
            return disk.source.files(&disk.skill.id);
        }
        let skills = self.lock();
        let (_, skill) = skills.get(&id.path).filter(|_| self.owns(id))?;
        let mut files = vec![("SKILL.md".to_owned(), skill.text.len() as u64)];
        let others = skill
            .files
            .iter()
            .map(|(path, content)| (path, content.len() as u64));
        files.extend(others.map(|(path, size)| (path.as_str().to_owned(), size)));
        files.sort();
        Some(files)
    }

    fn open_folder(&self, id: &SkillId) -> Option<Result<SkillFolder, ResourceError>> {
        let disk = self.on_disk(id)?;
        disk.source.open_folder(&disk.skill.id)
    }

    fn input_schema(&self, id: &SkillId) -> Option<Arc<Value>> {
        let skills = self.lock();
        let (_, skill) = skills.get(&id.path).filter(|_| self.owns(id))?;
        skill.input.clone()
    }

    fn owns(&self, id: &SkillId) -> bool {
        id.origin == self.origin
    }
}

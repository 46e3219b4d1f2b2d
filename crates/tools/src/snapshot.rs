//! A skill that is read once: text, files, digest, trust and effects come from the same bytes.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::{Arc, OnceLock};

use prowess_agent::Effort;
use prowess_catalog::visibility::{Audience, CatalogView, LookupRefusal};
use prowess_catalog::{CatalogEntry, Scope, Skill, SkillForm};
use prowess_diag::Span;
use prowess_diag::wording::tick;
use prowess_policy::{Effect, RuleSource};
use prowess_registry::digest::FileFacts;
use prowess_registry::{Registry, SkillContents};
use prowess_spec::manifest::{SpannedText, ToolList};
use prowess_spec::tool_pattern::ToolPattern;
use prowess_spec::{Manifest, parse};
use prowess_trust::{PackagePin, PinnedPackage, SkillTrust, TrustError, TrustStore};
use serde_json::Value;

use crate::context::ToolContext;
use crate::hooks::HookSet;
use crate::names::{self, SUBMIT};
use crate::other_keys;
use crate::skill_access::{listed, shown};

/// Maximum length of a list of missing tools, in characters.
const MAX_MISSING: usize = 300;

/// A skill at the time of one read. It is resolved, read, hashed and parsed once, and passed on as
/// an `Arc`.
#[derive(Clone, Debug)]
pub struct SkillSnapshot {
    /// The name that callers use.
    pub name: Box<str>,
    /// The head of the skill.
    pub skill: Arc<Skill>,
    /// The parsed text.
    pub document: SkillDocument,
    /// The files of the skill, sorted by path.
    pub files: Vec<FileFacts>,
    /// The trust verdict, bound to the digest.
    pub trust: SkillTrust,
    /// Effects on the session that loads the skill.
    pub effects: SkillEffects,
    /// The JSON Schema of its arguments, if the program that defined it gave one.
    pub input: Option<Arc<Value>>,
}

/// The text of a SKILL.md, and what is needed to render it.
#[derive(Clone, Debug)]
pub struct SkillDocument {
    /// The text, up to the first byte that is not UTF-8.
    pub text: String,
    /// The span of the body in the text.
    pub body: Span,
    /// The names of its arguments.
    pub arguments: Vec<Box<str>>,
    /// The shell that its commands need.
    pub shell: Option<Box<str>>,
    /// The keys of the frontmatter that nothing else uses or shows, one line each.
    pub other_keys: Vec<String>,
}

/// Effects of a skill on the session that loads it.
#[derive(Clone, Debug, Default)]
pub struct SkillEffects {
    /// Its hooks.
    pub hooks: HookSet,
    /// The tools in `allowed-tools`, in rule syntax. `None` if the field is missing.
    pub allowed: Option<Vec<Box<str>>>,
    /// The tools that `disallowed-tools` removes entirely.
    pub disallowed: Vec<Box<str>>,
    /// Tools in `allowed-tools` that no tool of the session is called.
    pub missing: Vec<Box<str>>,
    /// Names in `allowed-tools` from other systems, each with the name of the tool here.
    pub renamed: Vec<(Box<str>, Box<str>)>,
    /// The model it asks for.
    pub model: Option<Box<str>>,
    /// The effort it asks for.
    pub effort: Option<Effort>,
    /// The agent it runs as.
    pub agent: Option<Box<str>>,
    /// Maximum number of turns of a sub-run.
    pub max_ticks: Option<u32>,
    /// `true` if it runs in its own conversation (`context: fork`).
    pub forked: bool,
    /// `true` if it may run in the background.
    pub background: bool,
}

impl SkillSnapshot {
    /// Returns the other names that rules may use for the skill.
    pub(crate) fn other_names(&self) -> Vec<&str> {
        let own: [&str; 1] = [&self.skill.name];
        own.into_iter().chain(self.skill.alias.as_deref()).collect()
    }

    /// Reads a skill. `project` is the folder in which agents work.
    pub fn read(
        name: &str,
        skill: &Arc<Skill>,
        registry: &Registry,
        store: Option<&TrustStore>,
        project: &Path,
    ) -> Result<Self, TrustError> {
        let input = registry.input_schema(&skill.id);
        Self::new(name, skill, registry.read(skill)?, input, store, project)
    }

    fn new(
        name: &str,
        skill: &Arc<Skill>,
        contents: SkillContents,
        input: Option<Arc<Value>>,
        store: Option<&TrustStore>,
        project: &Path,
    ) -> Result<Self, TrustError> {
        let SkillContents {
            text,
            files,
            digest,
        } = contents;
        let parsed = parse(&text);
        let manifest = &parsed.manifest;
        let trust = SkillTrust::new(skill, manifest, digest, &files, store, project)?;
        let effects = SkillEffects::of(manifest);
        let arguments = manifest
            .arguments
            .iter()
            .map(|text| text.value.as_ref().into());
        let (arguments, shell) = (arguments.collect(), word(manifest.shell.as_ref()));
        let other_keys = other_keys::lines(manifest);
        let (body, length) = (parsed.body, parsed.text.len());
        drop(parsed);
        let mut text = text;
        text.truncate(length);
        let document = SkillDocument {
            text: String::from_utf8(text).unwrap_or_default(),
            body,
            arguments,
            shell,
            other_keys,
        };
        Ok(Self {
            name: name.into(),
            skill: Arc::clone(skill),
            document,
            files,
            trust,
            effects,
            input,
        })
    }

    /// Adapts the effects to a context: every skill of a crew runs in a conversation of its own,
    /// except what the program defines, and tools of other systems get our names.
    fn adapt(&mut self, context: &ToolContext) {
        let is_own = self.skill.id.origin.scope == Scope::Program;
        self.effects.forked |= context.settings.fork_skills && !is_own;
        self.resolve_tools(context);
    }

    /// Resolves tool names of other systems, and notes the tools that do not exist. Does nothing if
    /// the tools are not known because another program has them, such as an MCP client.
    fn resolve_tools(&mut self, context: &ToolContext) {
        let Some(known) = context.settings.known_tools.as_deref() else {
            return;
        };
        let has = |name: &str| known.iter().any(|tool| **tool == *name);
        let meant = |name: &str| {
            let reading = names::reading_tool(name);
            let reading = reading.filter(|tool| has(tool) && (*tool == name || !has(name)));
            reading.or_else(|| names::server_tool(name, known))
        };
        let effects = &mut self.effects;
        let mut reads = Vec::new();
        let mut renamed: Vec<(Box<str>, Box<str>)> = Vec::new();
        let mut missing = Vec::new();
        for name in effects.allowed.iter().flatten() {
            let exists = || {
                known
                    .iter()
                    .any(|tool| names::is_named(slice::from_ref(name), tool))
            };
            match meant(name) {
                Some(tool) => {
                    reads.extend(names::reading_tool(name).filter(|reading| *reading == tool));
                    if *tool != **name {
                        renamed.push((name.clone(), Box::from(tool)));
                    }
                }
                // A pattern may match no tool.
                None if exists() || name.trim_end_matches("__*").contains('*') => {}
                None => missing.push(name.clone()),
            }
        }
        let tools = renamed.iter().map(|(_, tool)| tool.clone());
        effects
            .allowed
            .iter_mut()
            .for_each(|allowed| allowed.extend(tools.clone()));
        let bans: Vec<Box<str>> = effects
            .disallowed
            .iter()
            .flat_map(|name| {
                meant(name)
                    .into_iter()
                    .chain(names::server_tools(name, known))
            })
            .map(Box::from)
            .collect();
        effects.disallowed.extend(bans);
        missing.sort();
        missing.dedup();
        (effects.renamed, effects.missing) = (renamed, missing);
        // These names grant what the names of Claude Code do.
        for tool in reads {
            let source = RuleSource::Skill(self.skill.name.clone());
            let rule = match tool {
                names::READ => "Read",
                _ => "Grep",
            };
            self.trust.tools.add(Effect::Allow, rule, source);
        }
    }

    /// Returns the version: the one that its lockfile names, or else the one that its author wrote.
    pub fn version(&self) -> Option<&str> {
        let package = self.trust.package.as_ref();
        let locked = package.and_then(|package| package.version.as_deref());
        locked.or(self.skill.version.as_deref())
    }

    /// Returns the digest over all its files.
    pub fn digest(&self) -> &str {
        &self.trust.digest
    }

    /// Returns `true` if the skill may run commands and grant tools.
    pub fn is_trusted(&self) -> bool {
        self.trust.is_trusted()
    }

    /// Returns `true` if the `disallowed-tools` of the skill remove a tool from the session that
    /// loads it. Those of an untrusted skill have no effect.
    pub fn forbids(&self, tool: &str) -> bool {
        self.is_trusted() && self.effects.forbids(tool)
    }

    /// Returns `true` if the skill comes from a server. It has no effect on the session that loads
    /// it.
    pub fn is_served(&self) -> bool {
        is_served(&self.skill)
    }

    /// Returns the folder of the skill's files, or `None` if the skill is not on disk.
    pub fn folder(&self) -> Option<PathBuf> {
        let place = self.trust.place.as_ref()?;
        Some(match self.skill.form {
            SkillForm::Folder | SkillForm::Memory => place.clone(),
            SkillForm::File | SkillForm::Command => place.parent().unwrap_or(place).to_owned(),
        })
    }

    /// Returns the files other than SKILL.md, with their sizes.
    pub fn resources(&self) -> impl Iterator<Item = (String, u64)> {
        let main = match self.skill.file() {
            None => Some("SKILL.md".into()),
            Some(file) => file.file_name().map(OsStr::to_owned),
        };
        self.files
            .iter()
            .filter(move |file| Some(file.path.as_os_str()) != main.as_deref())
            .map(|file| (file.path.to_string_lossy().into_owned(), file.size))
    }

    /// Returns `true` if the files of the skill have not changed. Hashes them.
    pub(crate) fn is_same(&self, registry: &Registry) -> bool {
        registry.digest(&self.skill).ok().as_ref() == Some(&self.trust.digest)
    }

    /// Returns `true` if the skill is trusted and its files have not changed. Hashes the files.
    pub fn is_unchanged(&self, registry: &Registry, store: Option<&TrustStore>) -> bool {
        let trust = &self.trust;
        if !trust.is_trusted() || !self.is_same(registry) {
            return false;
        }
        match (&trust.place, store) {
            (Some(place), Some(store)) if trust.required => store
                .state_of(trust.kind, place, &trust.digest)
                .is_ok_and(|state| state.is_trusted()),
            _ => !trust.required,
        }
    }
}

impl SkillDocument {
    /// Returns `false` if the body certainly contains no command.
    pub(crate) fn may_have_commands(&self) -> bool {
        let body = self.body.of(&self.text);
        let opens_fence = |line: &str| {
            let line = line.trim_start();
            (line.starts_with("```") || line.starts_with("~~~")) && line.contains('!')
        };
        body.contains("!`") || body.lines().any(opens_fence)
    }
}

impl SkillEffects {
    fn of(manifest: &Manifest<'_>) -> Self {
        let effort: Option<Box<str>> = word(manifest.effort.as_ref());
        Self {
            hooks: HookSet::read(manifest).0,
            allowed: manifest
                .allowed_tools
                .as_ref()
                .map(tool_names)
                // It is unknown what a list that could not be read allows.
                .or_else(|| manifest.has_lost("allowed-tools").then(Vec::new)),
            disallowed: bare_names(manifest),
            missing: Vec::new(),
            renamed: Vec::new(),
            model: word(manifest.model.as_ref()),
            effort: effort.and_then(|word| Effort::parse(&word)),
            agent: word(manifest.agent.as_ref()),
            max_ticks: manifest.max_ticks,
            forked: manifest.is_forked(),
            background: manifest.background.as_ref().is_some_and(|flag| flag.value),
        }
    }

    /// Returns `true` if `allowed-tools` names a tool, for any use of it.
    pub fn allows(&self, tool: &str) -> bool {
        self.allowed
            .as_deref()
            .is_some_and(|allowed| names::is_named(allowed, tool))
    }

    /// Lists the tools in `allowed-tools` that do not exist, as many as fit. Returns `None` if there
    /// are none.
    pub fn missing_tools(&self) -> Option<String> {
        let names: Vec<String> = self.missing.iter().map(|name| tick(shown(name))).collect();
        let (list, more) = listed(&names, MAX_MISSING);
        match (names.is_empty(), more) {
            (true, _) => None,
            (false, 0) => Some(list),
            (false, more) => Some(format!("{list}, and {more} more")),
        }
    }

    /// Returns `true` if `allowed-tools` has exactly this name.
    pub fn names(&self, tool: &str) -> bool {
        self.allowed.iter().flatten().any(|name| **name == *tool)
    }

    /// Returns `true` if `disallowed-tools` removes a tool. The gate applies rules about some uses
    /// of a tool. `submit` belongs to the caller of a run and is never removed.
    pub fn forbids(&self, tool: &str) -> bool {
        tool != SUBMIT && names::is_named(&self.disallowed, tool)
    }
}

fn word(text: Option<&SpannedText<'_>>) -> Option<Box<str>> {
    let word = text.map(|text| text.value.trim());
    word.filter(|word| !word.is_empty()).map(Box::from)
}

/// Returns the names of the tools in a list, in rule syntax.
fn tool_names(list: &ToolList<'_>) -> Vec<Box<str>> {
    list.tokens()
        .iter()
        .filter_map(|token| {
            let pattern = token.pattern.as_ref().ok()?;
            Some(match pattern {
                ToolPattern::Mcp { .. } => token.text.clone(),
                other => other.tool().into(),
            })
        })
        .collect()
}

/// Returns the tools that `disallowed-tools` removes entirely.
fn bare_names(manifest: &Manifest<'_>) -> Vec<Box<str>> {
    let list = manifest.disallowed_tools.as_ref();
    list.into_iter()
        .flat_map(ToolList::patterns)
        .filter_map(|pattern| match pattern {
            ToolPattern::Bare(name) => Some(name.clone()),
            _ => None,
        })
        .collect()
}

fn is_served(skill: &Skill) -> bool {
    skill.id.origin.scope == Scope::Server
}

/// A resolved skill. Its files are read on first use, and only once. Clones share the snapshot.
#[derive(Clone)]
pub struct SkillHandle {
    asked: Box<str>,
    entry: CatalogEntry,
    snapshot: Arc<OnceLock<Arc<SkillSnapshot>>>,
}

impl fmt::Debug for SkillHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SkillHandle")
            .field("asked", &self.asked)
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

impl PartialEq for SkillHandle {
    fn eq(&self, other: &Self) -> bool {
        self.entry == other.entry
    }
}

impl Eq for SkillHandle {}

impl SkillHandle {
    /// Wraps an entry that a name was resolved to.
    pub fn new(asked: &str, entry: &CatalogEntry) -> Self {
        Self {
            asked: asked.into(),
            entry: entry.clone(),
            snapshot: Arc::default(),
        }
    }

    /// Returns the name that was resolved.
    pub fn asked(&self) -> &str {
        &self.asked
    }

    /// Returns the catalogue entry.
    pub fn entry(&self) -> &CatalogEntry {
        &self.entry
    }

    /// Returns the name that callers use.
    pub fn name(&self) -> &str {
        self.entry.name()
    }

    /// Returns `true` if the skill comes from a server.
    pub fn is_served(&self) -> bool {
        is_served(&self.entry.skill)
    }

    /// Returns the snapshot, or `None` if the skill has not been read yet.
    pub fn snapshot(&self) -> Option<Arc<SkillSnapshot>> {
        self.snapshot.get().map(Arc::clone)
    }

    /// Reads the skill, unless it was read before.
    pub fn read(&self, context: &ToolContext) -> Result<Arc<SkillSnapshot>, TrustError> {
        if let Some(snapshot) = self.snapshot.get() {
            return Ok(Arc::clone(snapshot));
        }
        let snapshot = context.read_as(self.name(), &self.entry.skill)?;
        Ok(Arc::clone(self.snapshot.get_or_init(|| Arc::new(snapshot))))
    }

    /// Reads the skill if that takes less than a millisecond, unless it was read before. Returns
    /// `None` if the skill is large, not on disk or unreadable.
    pub fn read_if_small(&self, context: &ToolContext) -> Option<Arc<SkillSnapshot>> {
        if let Some(snapshot) = self.snapshot.get() {
            return Some(Arc::clone(snapshot));
        }
        let skill = &self.entry.skill;
        let registry = &context.services.registry;
        let contents = registry.read_if_small(skill)?;
        let input = registry.input_schema(&skill.id);
        let store = context.services.trust.as_ref();
        let project = &context.settings.paths.workspace;
        let snapshot = SkillSnapshot::new(self.name(), skill, contents, input, store, project);
        let mut snapshot = snapshot.ok()?;
        snapshot.adapt(context);
        Some(Arc::clone(self.snapshot.get_or_init(|| Arc::new(snapshot))))
    }
}

impl ToolContext {
    /// Resolves a name, or `NAME@RANGE` with a range of versions, to a skill that a model or a user
    /// may use.
    pub fn resolve(&self, asked: &str, who: Audience) -> Result<SkillHandle, LookupRefusal> {
        let catalog = self.services.registry.snapshot();
        let view = CatalogView::new(&catalog, &self.settings.visibility, who);
        let entry = view.resolve_version(asked, |entry| self.version_of(&entry.skill))?;
        Ok(SkillHandle::new(asked, entry))
    }

    /// Returns the version of a skill: the one that its lockfile names, or else its own.
    pub fn version_of(&self, skill: &Skill) -> Option<Box<str>> {
        prowess_trust::version_of(skill, self.services.trust.as_ref())
    }

    /// Returns what the lockfiles say about a skill.
    pub fn package_of(&self, skill: &Skill) -> PackagePin {
        prowess_trust::package_of(skill, self.services.trust.as_ref())
    }

    /// Compares a skill with its lockfile, before one of its files is used. Returns `None` if no
    /// lockfile pins it, or if changed packages are used as text.
    pub fn check_package(&self, skill: &Skill) -> Result<Option<Arc<PinnedPackage>>, TrustError> {
        let (registry, store) = (&self.services.registry, self.services.trust.as_ref());
        prowess_trust::check_package(skill, registry, store)
    }

    /// Resolves the name of a skill that a session used before: as a user, or else as a model.
    /// Returns the audience that it is visible to.
    pub fn resolve_recorded(&self, name: &str) -> Result<(SkillHandle, Audience), LookupRefusal> {
        let by = |who| self.resolve(name, who).map(|skill| (skill, who));
        by(Audience::Person).or_else(|refusal| by(Audience::Model).map_err(|_| refusal))
    }

    /// Reads a skill.
    pub fn read(&self, skill: &Arc<Skill>) -> Result<SkillSnapshot, TrustError> {
        self.read_as(&skill.name, skill)
    }

    fn read_as(&self, name: &str, skill: &Arc<Skill>) -> Result<SkillSnapshot, TrustError> {
        let (registry, store) = (&self.services.registry, self.services.trust.as_ref());
        let project = &self.settings.paths.workspace;
        let mut snapshot = SkillSnapshot::read(name, skill, registry, store, project)?;
        snapshot.adapt(self);
        Ok(snapshot)
    }
}

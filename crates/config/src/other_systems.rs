//! Settings of other systems: `.planck/config.json`, `.agents/config.json` and the variables of
//! Planck. They count less than our own configuration, and those of a project can only restrict.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_diag::{Diagnostic, FileReport, Severity, Span, wording};
use prowess_flow::{AgentScope, Node, NodeEntry, parse_json};
use prowess_policy::{Effect, PermissionMode, PermissionRule, RuleFault, RuleSource};
use prowess_registry::fs::skill_folders;
use prowess_registry::resource::SkillFolder;

use crate::{Config, ConfigPaths, expand, is_inside};

/// Maximum size of a file, in bytes.
const MAX_FILE: u64 = 1024 * 1024;
/// Maximum number of folders in a list.
const MAX_FOLDERS: usize = 64;
/// Maximum of `top_skills`, as of `prompt.last-used`.
const MAX_TOP_SKILLS: usize = 100;

/// A key of a project that would grant something.
const ONLY_RESTRICTS: &str = "a project can only restrict; put it into your own file";

/// A key of a file that is not the nearest one of a project.
const NEARER: &str = "the file in a nearer folder counts; only rules of this one do";

/// The variables of Planck.
#[derive(Clone, Debug, Default)]
pub struct PlanckVariables {
    /// `PLANCK_SKILLS_DIRS`
    pub skills_dirs: Vec<PathBuf>,
    /// `PLANCK_TEAMS_DIRS`
    pub teams_dirs: Vec<PathBuf>,
    /// `PLANCK_DEFAULT_MODEL`
    pub default_model: Option<String>,
}

/// A folder with teams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamFolder {
    /// The owner of the setting.
    pub scope: AgentScope,
    /// The folder.
    pub path: PathBuf,
}

/// A file or a variable of another system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherSettings {
    /// The file. `None` for variables.
    pub path: Option<PathBuf>,
    /// The name to show: the path, or `environment`.
    pub name: Box<str>,
    /// The owner.
    pub scope: AgentScope,
    /// The keys that count.
    pub used: Vec<Box<str>>,
    /// The keys that do not count.
    pub ignored: Vec<IgnoredSetting>,
}

/// A setting that has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredSetting {
    /// The key.
    pub key: Box<str>,
    /// The reason, or what to use instead.
    pub why: Box<str>,
}

/// The settings of all other systems.
#[derive(Debug, Default)]
pub(crate) struct Others {
    pub(crate) config: Config,
    pub(crate) files: Vec<OtherSettings>,
    pub(crate) warnings: Vec<FileReport>,
}

/// A system with settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum System {
    Planck,
    CoreAgent,
}

impl System {
    fn file(self) -> &'static str {
        match self {
            Self::Planck => ".planck/config.json",
            Self::CoreAgent => ".agents/config.json",
        }
    }
}

/// Keys without effect, and the reason.
const IGNORED: [(System, &str, &str); 21] = [
    (
        System::Planck,
        "sessions_dir",
        "sessions are in the database of Prowess",
    ),
    (System::Planck, "sidecar", "Prowess starts no sidecar"),
    (System::Planck, "locale", "there is one language"),
    (System::Planck, "commands_dirs", "use `.claude/commands`"),
    (
        System::Planck,
        "tool_proxy",
        "set `HTTPS_PROXY` for models and servers",
    ),
    (System::Planck, "tool_proxy_ca_cert", "there is no proxy"),
    (
        System::Planck,
        "secrets_hook",
        "use `[model] keys` for keys of providers",
    ),
    (
        System::CoreAgent,
        "hooks",
        "hooks belong to skills, in their frontmatter",
    ),
    (System::CoreAgent, "alerts", "there are no alerts"),
    (System::CoreAgent, "attach", "use `prowess mcp serve`"),
    (System::CoreAgent, "pricing", "prices are built in"),
    (System::CoreAgent, "ui", "it belongs to core-agent's screen"),
    (
        System::CoreAgent,
        "compaction",
        "sessions are compacted by Prowess itself",
    ),
    (
        System::CoreAgent,
        "session",
        "sessions are in the database of Prowess",
    ),
    (System::CoreAgent, "safety", "use `[permissions]`"),
    (
        System::CoreAgent,
        "otel",
        "set `OTEL_EXPORTER_OTLP_ENDPOINT`",
    ),
    (System::CoreAgent, "mock", "use `--model scripted:FILE`"),
    (
        System::CoreAgent,
        "tool_output",
        "results of tools have a fixed limit",
    ),
    (System::CoreAgent, "env", "variables are not declared"),
    (
        System::CoreAgent,
        "budgets",
        "use `--budget`, or `budgets` of a subagent",
    ),
    (
        System::CoreAgent,
        "mcp",
        "servers are read from `mcp.json` beside this file",
    ),
];

/// Keys that are read elsewhere, or that need no effect.
const ELSEWHERE: [&str; 4] = ["$schema", "version", "subagents", "agent"];

/// Tools of core-agent in rules, and the word for what they do in ours.
const TOOLS: [(&str, &str); 12] = [
    ("read_file", "read"),
    ("read_many_files", "read"),
    ("stat", "read"),
    ("list_dir", "read"),
    ("glob", "read"),
    ("grep", "read"),
    ("json_query", "read"),
    ("write_file", "write"),
    ("edit_file", "write"),
    ("apply_patch", "write"),
    ("fetch_url", "fetch"),
    ("bash", "bash"),
];

/// Reads the settings of other systems, those with the lowest precedence first.
pub(crate) fn read(sources: &ConfigPaths, show: &dyn Fn(&Path) -> String) -> Others {
    let mut others = Others::default();
    for SettingsFile {
        system,
        scope,
        path,
        is_outer,
    } in files(sources)
    {
        let source = match scope {
            AgentScope::Project => RuleSource::Project(show(&path).into()),
            AgentScope::User => RuleSource::User(show(&path).into()),
        };
        let text = match text_of(&path, scope) {
            Ok(Some(text)) => text,
            Ok(None) => continue,
            Err(why) => {
                others.warnings.push(unreadable(&show(&path), why));
                lose_restrictions(&mut others.config, system, source);
                continue;
            }
        };
        let base = path.parent().map(PathBuf::from).unwrap_or_default();
        let mut reader = Reader {
            scope,
            is_outer,
            base,
            home: sources.home.as_deref(),
            source,
            config: Config::default(),
            found: Vec::new(),
            settings: OtherSettings {
                name: show(&path).into(),
                path: Some(path),
                scope,
                used: Vec::new(),
                ignored: Vec::new(),
            },
        };
        reader.file(system, &text);
        let Reader {
            config,
            found,
            settings,
            ..
        } = reader;
        if !found.is_empty() {
            others.warnings.push(FileReport {
                path: settings.name.to_string(),
                text: Some(Arc::from(&*text)),
                diagnostics: found,
            });
        }
        others.config = config.over(others.config);
        others.files.push(settings);
    }
    let (config, settings) = variables(&sources.planck);
    if !settings.used.is_empty() {
        others.config = config.over(others.config);
        others.files.push(settings);
    }
    others
}

/// Returns the texts of the files, to find out whether they changed.
pub(crate) fn texts(sources: &ConfigPaths) -> impl Iterator<Item = (PathBuf, String)> {
    let files = files(sources).into_iter();
    files.filter_map(|SettingsFile { scope, path, .. }| {
        let text = text_of(&path, scope).ok()??;
        Some((path, text))
    })
}

/// A file with settings of another system.
struct SettingsFile {
    system: System,
    scope: AgentScope,
    path: PathBuf,
    /// `true` if a nearer folder of the project has such a file too, or it belongs to a project around
    /// this one. Only its rules count then.
    is_outer: bool,
}

/// Returns the files that may exist: of the home folder, and those of the project, the nearest one
/// last.
fn files(sources: &ConfigPaths) -> Vec<SettingsFile> {
    let systems = [System::CoreAgent, System::Planck];
    let mut files = Vec::new();
    for system in systems {
        let home = sources.home.iter();
        files.extend(home.map(|home| SettingsFile {
            system,
            scope: AgentScope::User,
            path: home.join(system.file()),
            is_outer: false,
        }));
    }
    let home = sources.home.as_deref();
    let inner = skill_folders::project_folders(&sources.current, home);
    let outer = skill_folders::outer_folders(&sources.current, home);
    for system in systems {
        let inner = inner.iter().map(|folder| (folder, false));
        let folders = inner.chain(outer.iter().map(|folder| (folder, true)));
        let paths = folders.map(|(folder, is_around)| (folder.join(system.file()), is_around));
        let paths = paths.filter(|(path, _)| path.symlink_metadata().is_ok());
        let mut found: Vec<SettingsFile> = paths
            .enumerate()
            .map(|(at, (path, is_around))| SettingsFile {
                system,
                scope: AgentScope::Project,
                path,
                is_outer: at > 0 || is_around,
            })
            .collect();
        found.reverse();
        files.extend(found);
    }
    files
}

/// Reads a file. Returns `None` if it does not exist, and a reason if it cannot be read. A project may
/// link to anything, so its file must be a regular one below the project.
fn text_of(path: &Path, scope: AgentScope) -> Result<Option<String>, String> {
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let path = match scope {
        AgentScope::Project => path.to_owned(),
        // The user may keep it elsewhere.
        AgentScope::User => path
            .canonicalize()
            .map_err(|error| wording::io_reason(&error).to_lowercase())?,
    };
    // `.agents/config.json` of a project is opened below the project.
    let depth = match scope {
        AgentScope::Project => 2,
        AgentScope::User => 1,
    };
    let Some(root) = path.ancestors().nth(depth) else {
        return Ok(None);
    };
    let inner = path.strip_prefix(root).ok().and_then(Path::to_str);
    let inner = inner.ok_or("its path is not UTF-8")?;
    let folder = SkillFolder::open(root).map_err(|error| error.to_string())?;
    let bytes = folder.bytes(inner, MAX_FILE);
    let bytes = bytes.map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8")?;
    Ok(Some(text))
}

/// Returns a warning about a file whose restrictions are unknown.
fn unreadable(name: &str, why: impl Into<String>) -> FileReport {
    let message = format!("cannot read these settings: {}", why.into());
    FileReport {
        path: name.to_owned(),
        text: None,
        diagnostics: vec![warning(None, message)],
    }
}

fn warning(span: Option<Span>, message: String) -> Diagnostic {
    Diagnostic {
        rule: "config",
        severity: Severity::Warning,
        message: message.into(),
        span,
        label: None,
        help: None,
        fix: None,
    }
}

/// Reads the variables of Planck.
fn variables(planck: &PlanckVariables) -> (Config, OtherSettings) {
    let mut settings = OtherSettings {
        path: None,
        name: "environment".into(),
        scope: AgentScope::User,
        used: Vec::new(),
        ignored: Vec::new(),
    };
    let mut config = Config::default();
    if !planck.skills_dirs.is_empty() {
        settings.used.push("PLANCK_SKILLS_DIRS".into());
        config.dirs.clone_from(&planck.skills_dirs);
    }
    if !planck.teams_dirs.is_empty() {
        settings.used.push("PLANCK_TEAMS_DIRS".into());
        let folders = planck.teams_dirs.iter().take(MAX_FOLDERS);
        let folders = folders.map(|path| TeamFolder {
            scope: AgentScope::User,
            path: path.clone(),
        });
        config.team_folders = folders.collect();
    }
    if let Some(model) = &planck.default_model {
        settings.used.push("PLANCK_DEFAULT_MODEL".into());
        config.model = Some(model.clone());
    }
    (config, settings)
}

/// Reads one file.
struct Reader<'a> {
    scope: AgentScope,
    /// `true` if only rules count.
    is_outer: bool,
    /// The folder of the file, to which its paths are relative.
    base: PathBuf,
    home: Option<&'a Path>,
    source: RuleSource,
    config: Config,
    found: Vec<Diagnostic>,
    settings: OtherSettings,
}

impl Reader<'_> {
    fn file(&mut self, system: System, text: &str) {
        let root = match parse_json(text) {
            Ok(root) => root,
            Err(error) => {
                let message = format!("cannot read these settings: {}", error.message);
                self.found.push(warning(Some(error.at), message));
                return self.lose_restrictions(system);
            }
        };
        let Some(entries) = root.entries() else {
            let message = format!("these settings are {}, not an object", root.kind());
            self.found.push(warning(Some(root.span), message));
            return self.lose_restrictions(system);
        };
        for entry in entries {
            match system {
                System::Planck => self.planck(entry, entries),
                System::CoreAgent => self.core_agent(entry),
            }
        }
    }

    fn planck(&mut self, entry: &NodeEntry, entries: &[NodeEntry]) {
        match &*entry.key {
            key if self.is_outer && !ELSEWHERE.contains(&key) => self.ignored(key, NEARER),
            "skills_dirs" => {
                let folders = self.folders(entry, &|base| base.to_owned());
                self.add_skill_folders("skills_dirs", folders);
            }
            "teams_dirs" => {
                let scope = self.scope;
                let folders = self.folders(entry, &|base| base.to_owned());
                let folders = folders.into_iter();
                let folders = folders.map(|path| TeamFolder { scope, path });
                self.config.team_folders.extend(folders);
                self.used("teams_dirs");
            }
            "top_skills" => match number(entry) {
                Some(many) if many <= MAX_TOP_SKILLS => {
                    self.config.last_used = Some(many);
                    self.used("top_skills");
                }
                _ => self.ignored("top_skills", "it is not a number from 1 to 100"),
            },
            "default_model" if self.is_project() => self.ignored(
                "default_model",
                "a project must not choose the model; use `--model`",
            ),
            "default_model" => match entry.value.text() {
                Some(alias) => match model(alias, entries) {
                    Ok(model) => {
                        self.config.model = Some(model);
                        self.used("default_model");
                    }
                    Err(why) => self.ignored("default_model", why),
                },
                None => self.ignored("default_model", "it is not a text"),
            },
            "providers" | "models" if self.is_project() => self.ignored(
                &entry.key,
                "a project must not choose where conversations are sent",
            ),
            "providers" | "models" => self.used(&entry.key),
            key => self.other(System::Planck, key),
        }
    }

    fn core_agent(&mut self, entry: &NodeEntry) {
        match &*entry.key {
            "permissions" => self.permissions(entry),
            "tools" => self.tools(entry),
            "content_roots" if !self.is_outer => {
                let folders = self.folders(entry, &|root| root.join("skills"));
                self.add_skill_folders("content_roots", folders);
            }
            key @ ("path_scope" | "url_scope") => self.scope_of(key, entry),
            key if self.is_outer && !ELSEWHERE.contains(&key) => self.ignored(key, NEARER),
            "model" if self.is_project() => self.ignored(
                "model",
                "a project must not choose the model; use `--model`",
            ),
            "model" => self.model(entry),
            key => self.other(System::CoreAgent, key),
        }
    }

    fn permissions(&mut self, entry: &NodeEntry) {
        let Some(entries) = self.restricting_map(entry) else {
            return;
        };
        for entry in entries {
            let key = format!("permissions.{}", entry.key);
            match &*entry.key {
                "allow" if self.is_project() => {
                    // They are kept as invalid rules, which `policy show` lists.
                    self.rules(entry, Effect::Allow, None);
                    self.ignored(&key, ONLY_RESTRICTS);
                }
                "mode" if self.is_project() => self.ignored(&key, ONLY_RESTRICTS),
                "allow" => {
                    self.rules(entry, Effect::Allow, None);
                    self.used(&key);
                }
                "ask" => {
                    self.rules(entry, Effect::Ask, None);
                    self.used(&key);
                }
                "deny" => {
                    self.rules(entry, Effect::Deny, None);
                    self.used(&key);
                }
                "mode" => {
                    let mode = entry.value.text().and_then(PermissionMode::parse);
                    self.config.mode = mode.or(Some(PermissionMode::Ask));
                    if mode.is_none() {
                        let message = "unknown permission mode; `ask` counts".to_owned();
                        self.warn(entry, message);
                    }
                    self.used(&key);
                }
                _ => self.ignored(&key, "there is no such setting here"),
            }
        }
    }

    /// Reads `tools.disable`, which is a list of forbidden tools.
    fn tools(&mut self, entry: &NodeEntry) {
        let Some(entries) = self.restricting_map(entry) else {
            return;
        };
        for entry in entries {
            let key = format!("tools.{}", entry.key);
            if &*entry.key == "disable" {
                self.rules(entry, Effect::Deny, None);
                self.used(&key);
            } else {
                self.ignored(&key, "tools are chosen by rules and by `tools` of agents");
            }
        }
    }

    /// Reads `path_scope` or `url_scope`, of which only `deny` counts.
    fn scope_of(&mut self, name: &str, entry: &NodeEntry) {
        let Some(entries) = self.restricting_map(entry) else {
            return;
        };
        let words: &[&'static str] = match name {
            "path_scope" => &["read", "write"],
            _ => &["fetch"],
        };
        for entry in entries {
            let key = format!("{name}.{}", entry.key);
            if &*entry.key == "deny" {
                for word in words {
                    self.rules(entry, Effect::Deny, Some(word));
                }
                self.used(&key);
            } else {
                self.ignored(
                    &key,
                    "tools have the project, and ask for anything else; use `[permissions]`",
                );
            }
        }
    }

    fn model(&mut self, entry: &NodeEntry) {
        let Some(entries) = self.map(entry) else {
            return;
        };
        let text = |key: &str| find(entries, key).and_then(Node::text);
        let provider = text("provider").and_then(provider);
        match (provider, text("name")) {
            (Some(provider), Some(name)) => {
                self.config.model = Some(format!("{provider}/{name}"));
                self.used("model");
            }
            _ => self.ignored("model", "unknown provider; use `[model] name`"),
        }
    }

    /// Adds rules. `word` is the tool that they are about, if they do not name it.
    fn rules(&mut self, entry: &NodeEntry, effect: Effect, word: Option<&str>) {
        let Some(items) = self.items(entry) else {
            if effect != Effect::Allow && !entry.value.is_null() {
                self.lose_restrictions(System::CoreAgent);
            }
            return;
        };
        for item in items {
            let Some(text) = item.text() else {
                let message = format!("a rule is {}, not a text", item.kind());
                self.found.push(warning(Some(item.span), message));
                if effect != Effect::Allow {
                    self.lose_restrictions(System::CoreAgent);
                }
                continue;
            };
            let ours = match word {
                Some(word @ ("read" | "write")) => path_rule(word, text, effect),
                Some(word) => format!("{word}:{text}"),
                None => ours(text, effect),
            };
            let known = self.config.permissions.unread().len();
            let source = self.source.clone();
            let rules = &mut self.config.permissions;
            rules.add_as(effect, text, source, |text, effect| {
                let rule = PermissionRule::parse(&ours, effect)?;
                Ok(PermissionRule {
                    text: text.trim().into(),
                    ..rule
                })
            });
            // A tool that is disabled is not declared either.
            let banned = BANNED.iter().find(|(theirs, _)| *theirs == text.trim());
            if let (Some((_, tool)), Effect::Deny, None) = (banned, effect, word) {
                let source = self.source.clone();
                let rules = &mut self.config.permissions;
                rules.add_as(effect, text, source, |text, effect| {
                    let rule = PermissionRule::parse(tool, effect)?;
                    Ok(PermissionRule {
                        text: text.trim().into(),
                        ..rule
                    })
                });
            }
            let is_grant = effect == Effect::Allow && self.is_project();
            let unread = self.config.permissions.unread().get(known);
            if let Some(unread) = unread.filter(|_| !is_grant) {
                let message = format!("invalid {} rule: {}", effect.as_str(), unread.fault.why);
                self.found.push(warning(Some(item.span), message));
            }
        }
    }

    fn lose_restrictions(&mut self, system: System) {
        lose_restrictions(&mut self.config, system, self.source.clone());
    }

    /// Reads a list of folders. A project may only name folders inside itself.
    fn folders(&mut self, entry: &NodeEntry, inner: &dyn Fn(&Path) -> PathBuf) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        let items = self.items(entry).unwrap_or_default();
        let project = self.base.parent().map(Path::to_owned);
        for item in items.iter().take(MAX_FOLDERS) {
            let Some(text) = item.text() else {
                let message = format!("a folder is {}, not a text", item.kind());
                self.found.push(warning(Some(item.span), message));
                continue;
            };
            // Planck's folders are relative to the project, core-agent's to the file.
            let base = match &*entry.key {
                "content_roots" => Some(&self.base),
                _ => project.as_ref(),
            };
            let Some(base) = base else {
                continue;
            };
            let folder = expand(Path::new(text), base, self.home);
            let folder = crate::without_dots(&folder);
            let is_allowed = match (self.scope, &project) {
                (AgentScope::User, _) => true,
                (AgentScope::Project, Some(project)) => is_inside(&folder, project),
                (AgentScope::Project, None) => false,
            };
            // The usual folder of the home is searched anyway.
            let is_home = self.home.is_some_and(|home| folder.starts_with(home));
            if is_allowed {
                folders.push(inner(&folder));
            } else if !(is_home && text.starts_with("~/.planck/")) {
                let message = format!(
                    "`{}` of a project must be inside the project: {} is not",
                    entry.key,
                    wording::tick(text)
                );
                self.found.push(warning(Some(item.span), message));
            }
        }
        if items.len() > MAX_FOLDERS {
            let message = format!("only the first {MAX_FOLDERS} folders are searched");
            self.warn(entry, message);
        }
        folders
    }

    fn add_skill_folders(&mut self, key: &str, folders: Vec<PathBuf>) {
        match self.scope {
            AgentScope::Project => self.config.project_dirs.extend(folders),
            AgentScope::User => self.config.dirs.extend(folders),
        }
        self.used(key);
    }

    fn items<'e>(&mut self, entry: &'e NodeEntry) -> Option<&'e [Node]> {
        let items = entry.value.items();
        if items.is_none() && !entry.value.is_null() {
            let message = format!("`{}` is {}, not a list", entry.key, entry.value.kind());
            self.warn(entry, message);
        }
        items
    }

    fn map<'e>(&mut self, entry: &'e NodeEntry) -> Option<&'e [NodeEntry]> {
        let entries = entry.value.entries();
        if entries.is_none() && !entry.value.is_null() {
            let message = format!("`{}` is {}, not an object", entry.key, entry.value.kind());
            self.warn(entry, message);
        }
        entries
    }

    /// Like [`Self::map`], for an object with restrictions. If it is something else, it is unknown
    /// what it was meant to forbid.
    fn restricting_map<'e>(&mut self, entry: &'e NodeEntry) -> Option<&'e [NodeEntry]> {
        let entries = self.map(entry);
        if entries.is_none() && !entry.value.is_null() {
            self.lose_restrictions(System::CoreAgent);
        }
        entries
    }

    fn warn(&mut self, entry: &NodeEntry, message: String) {
        self.found.push(warning(Some(entry.value.span), message));
    }

    fn is_project(&self) -> bool {
        self.scope == AgentScope::Project
    }

    fn used(&mut self, key: &str) {
        self.settings.used.push(key.into());
    }

    fn ignored(&mut self, key: &str, why: &str) {
        self.settings.ignored.push(IgnoredSetting {
            key: key.into(),
            why: why.into(),
        });
    }

    /// Records a key that has no effect.
    fn other(&mut self, system: System, key: &str) {
        if ELSEWHERE.contains(&key) {
            return;
        }
        let known = IGNORED
            .iter()
            .find(|(of, name, _)| *of == system && *name == key);
        let why = known.map_or("unknown key", |(_, _, why)| *why);
        self.ignored(key, why);
    }
}

/// Adds an invalid rule, which makes every request a prompt: it is unknown what the file was meant to
/// forbid. Planck has no rules.
fn lose_restrictions(config: &mut Config, system: System, source: RuleSource) {
    if system == System::Planck {
        return;
    }
    let invalid = |text: &str, _| {
        Err(RuleFault {
            text: text.into(),
            why: "the rules of this file cannot be read".into(),
        })
    };
    let rules = &mut config.permissions;
    rules.add_as(Effect::Deny, "permissions", source, invalid);
}

fn find<'e>(entries: &'e [NodeEntry], key: &str) -> Option<&'e Node> {
    let entry = entries.iter().find(|entry| &*entry.key == key)?;
    Some(&entry.value)
}

fn number(entry: &NodeEntry) -> Option<usize> {
    let number = entry.value.text()?.parse().ok()?;
    (number > 0).then_some(number)
}

/// Returns the name of a provider here.
fn provider(name: &str) -> Option<&'static str> {
    match name {
        "anthropic" => Some("anthropic"),
        "openai" => Some("openai"),
        "google" | "gemini" => Some("gemini"),
        "ollama" => Some("ollama"),
        _ => None,
    }
}

/// Resolves an alias of Planck's `models`, whose provider is one of `providers`.
fn model(alias: &str, entries: &[NodeEntry]) -> Result<String, &'static str> {
    let text = |entries: &[NodeEntry], key: &str| {
        let text = find(entries, key).and_then(Node::text);
        text.map(str::to_owned)
    };
    let models = find(entries, "models").and_then(Node::items);
    let mut models = models.unwrap_or_default().iter().filter_map(Node::entries);
    let Some(model) = models.find(|model| text(model, "id").as_deref() == Some(alias)) else {
        // The name of a model itself.
        return Ok(alias.to_owned());
    };
    let name = text(model, "model").unwrap_or_else(|| alias.to_owned());
    let of = text(model, "provider").ok_or("its entry in `models` has no `provider`")?;
    let details = find(entries, "providers").and_then(Node::entries);
    let details = details.and_then(|providers| find(providers, &of)?.entries());
    if details.is_some_and(|details| text(details, "base_url").is_some()) {
        return Err("its provider has a `base_url`; set `PROWESS_BASE_URL` and `[model] name`");
    }
    let kind = details.and_then(|details| text(details, "type"));
    let provider = provider(kind.as_deref().unwrap_or(&of)).ok_or("unknown provider")?;
    Ok(format!("{provider}/{name}"))
}

/// Tools of core-agent, and the one of ours that does the same and nothing else.
const BANNED: [(&str, &str); 7] = [
    ("bash", "bash"),
    ("edit_file", "edit"),
    ("fetch_url", "http_get"),
    ("glob", "glob"),
    ("grep", "grep"),
    ("read_file", "read"),
    ("write_file", "write"),
];

/// Returns a rule of core-agent in words that we know. A tool without a pattern is the project's
/// files if it is allowed, and all of them otherwise.
fn ours(rule: &str, effect: Effect) -> String {
    let rule = rule.trim();
    let (tool, pattern) = match rule.split_once(':') {
        Some((tool, pattern)) => (tool, Some(pattern)),
        None => (rule, None),
    };
    let known = TOOLS.iter().find(|(name, _)| *name == tool);
    let Some((_, word)) = known else {
        return rule.to_owned();
    };
    match (*word, pattern) {
        (word @ ("read" | "write"), Some(pattern)) => path_rule(word, pattern, effect),
        (word, Some(pattern)) => format!("{word}:{pattern}"),
        ("read" | "write", None) if effect == Effect::Allow => format!("{word}:./**"),
        ("read" | "write", None) => format!("{word}:**"),
        (word, None) => format!("{word}:*"),
    }
}

/// Returns a rule about paths. A path of the root begins with two slashes here, and a `*` at the end
/// of a restriction covers folders too.
fn path_rule(word: &str, pattern: &str, effect: Effect) -> String {
    let pattern = pattern.trim();
    let slash = if pattern.starts_with('/') && !pattern.starts_with("//") {
        "/"
    } else {
        ""
    };
    let is_open = effect != Effect::Allow && pattern.ends_with('*') && !pattern.ends_with("**");
    let star = if is_open { "*" } else { "" };
    format!("{word}:{slash}{pattern}{star}")
}

//! Configuration files.
//!
//! [`load`] reads the user's file and the project's file and merges them. This crate reads no
//! environment variables; the paths are arguments.

mod mcp_servers;
mod other_systems;
mod read;
mod rules;
mod show;
mod skills;

pub use mcp_servers::{
    CORE_AGENT_MCP_FILE, MCP_FILE, McpFile, McpServer, McpTransport, ServerError, agent_servers,
    parse_mcp_file, project_mcp_files, read_mcp_file,
};
pub use other_systems::{IgnoredSetting, OtherSettings, PlanckVariables, TeamFolder};
pub use rules::RuleOptions;
pub use show::{SettingEffect, ShownSetting, show_settings};
pub use skills::AgentError;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use prowess_catalog::{Precedence, SkillGrant, VisibilityOverride};
use prowess_diag::{Diagnostic, FileReport, Severity, toml_size};
use prowess_lint::LintProfile;
use prowess_policy::profile::Strength;
use prowess_policy::{PermissionMode, PermissionRules, Unattended};
use prowess_registry::fs::skill_folders;
use serde_json::{Value, json};

/// The name of the schema on the command line.
pub const SCHEMA_NAME: &str = "config";
/// The description of the schema.
pub const SCHEMA_SUMMARY: &str = "The configuration files `prowess.toml` and `config.toml`";

/// The configuration file of a project.
pub const PROJECT_FILE: &str = ".agents/prowess.toml";

/// The timeout of a command in seconds, unless the user sets another.
const DEFAULT_TIMEOUT: usize = 30;
/// Maximum size of a configuration file in bytes.
const MAX_BYTES: u64 = 8 * 1024 * 1024;
/// Maximum number of tokens of a configuration file. Each takes memory when it is parsed.
const MAX_TOKENS: usize = 500_000;

/// The settings. An absent setting is `None`, so that files can be merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// `validate.profile`
    pub profile: Option<LintProfile>,
    /// `validate.fail-on`
    pub fail_on: Option<Severity>,
    /// `validate.select`
    pub select: Vec<&'static str>,
    /// `validate.ignore`
    pub ignore: Vec<&'static str>,
    /// `validate.severity`: `None` turns the rule off.
    pub severity: Vec<(&'static str, Option<Severity>)>,
    /// `skills.dirs` of the user
    pub dirs: Vec<PathBuf>,
    /// `skills.dirs` of the project, all of them inside it
    pub project_dirs: Vec<PathBuf>,
    /// Folders with teams, in the settings of Planck
    pub team_folders: Vec<TeamFolder>,
    /// `skills.max-folders`, in the user's file only
    pub max_folders: Option<usize>,
    /// `skills.precedence`
    pub precedence: Option<Precedence>,
    /// `skills.visibility`
    pub visibility: BTreeMap<String, VisibilityOverride>,
    /// The settings of `skills.visibility` with which the project hides more than the user does
    pub hidden_by_project: BTreeMap<String, VisibilityOverride>,
    /// `skills.only` of the user and of the project: a skill must be in each list
    pub only: Vec<Vec<String>>,
    /// `true` if the project sets `skills.only`
    pub limited_by_project: bool,
    /// `prompt.window`, in tokens
    pub window: Option<usize>,
    /// `prompt.budget`, in tokens
    pub budget: Option<usize>,
    /// `prompt.entry-characters`
    pub entry_characters: Option<usize>,
    /// `prompt.listing`: `true` for `sections`, `false` for `all`
    pub sections: Option<bool>,
    /// `prompt.last-used`
    pub last_used: Option<usize>,
    /// `prompt.hint`: `false` disables hints
    pub hint: Option<bool>,
    /// `prompt.hint-skills`
    pub hint_skills: Option<usize>,
    /// `prompt.hint-tokens`
    pub hint_tokens: Option<usize>,
    /// `agents.NAME`
    pub agents: BTreeMap<String, SkillGrant>,
    /// `agents.NAME.tools`: the only tools of the agent, besides those that load skills
    pub agent_tools: BTreeMap<String, Vec<String>>,
    /// `permissions.mode`
    pub mode: Option<PermissionMode>,
    /// `permissions.allow`, `permissions.ask`, `permissions.deny`
    pub permissions: PermissionRules,
    /// `permissions.skill-commands`: `false` disables commands in skills
    pub skill_commands: Option<bool>,
    /// `permissions.unattended`
    pub unattended: Option<Unattended>,
    /// `permissions.confine`: `true` restricts a skill to its `allowed-tools`
    pub confine: Option<bool>,
    /// `sandbox.strength`
    pub sandbox: Option<Strength>,
    /// `sandbox.timeout`: seconds until a command is stopped
    pub timeout: Option<usize>,
    /// `sandbox.path`: folders whose programs commands may run, in the user's file only
    pub program_folders: Vec<PathBuf>,
    /// `sandbox.write`: folders that commands may write to, in the user's file only
    pub writable_folders: Vec<PathBuf>,
    /// `tools.skill`: `true` adds Agentick's `skill` to the tools of sessions
    pub skill_tool: Option<bool>,
    /// `model.name`, in the user's file only
    pub model: Option<String>,
    /// `model.effort`, in the user's file only
    pub effort: Option<String>,
    /// `model.keys`: the commands that print the keys of providers, in the user's file only
    pub keys: BTreeMap<String, String>,
    /// `missions.plugins`: the MCP servers that replace plugins of missions, in the user's file only
    pub mission_plugins: BTreeMap<String, String>,
    /// `mcp.servers.NAME`, in the user's file only
    pub servers: Vec<McpServer>,
    /// All names in `mcp.servers`, including disabled and invalid ones, so that no other server can
    /// use them.
    pub server_names: BTreeSet<String>,
}

impl Config {
    /// Returns what restricts: the settings of a project that count also below another file of the
    /// same project. Otherwise a new file in a subfolder would lift the rules of the whole project.
    fn restrictions(self) -> Self {
        let mut permissions = PermissionRules::default();
        permissions.restrict(&self.permissions);
        Self {
            visibility: self.visibility,
            only: self.only,
            limited_by_project: self.limited_by_project,
            agents: self.agents,
            agent_tools: self.agent_tools,
            permissions,
            skill_commands: self.skill_commands,
            confine: self.confine,
            timeout: self.timeout,
            ..Self::default()
        }
    }

    /// Merges this file over a base file.
    fn over(self, base: Self) -> Self {
        let longer = |near: Vec<&'static str>, far: Vec<&'static str>| {
            if near.is_empty() { far } else { near }
        };
        Self {
            profile: self.profile.or(base.profile),
            fail_on: self.fail_on.or(base.fail_on),
            select: longer(self.select, base.select),
            ignore: base.ignore.into_iter().chain(self.ignore).collect(),
            severity: base.severity.into_iter().chain(self.severity).collect(),
            dirs: self.dirs.into_iter().chain(base.dirs).collect(),
            project_dirs: self
                .project_dirs
                .into_iter()
                .chain(base.project_dirs)
                .collect(),
            team_folders: self
                .team_folders
                .into_iter()
                .chain(base.team_folders)
                .collect(),
            max_folders: self.max_folders.or(base.max_folders),
            // A project must not override a user who puts user skills first.
            precedence: match base.precedence {
                Some(Precedence::UserFirst) => base.precedence,
                _ => self.precedence.or(base.precedence),
            },
            hidden_by_project: {
                let stricter = self.visibility.iter().filter(|(name, near)| {
                    let far = base.visibility.get(*name).copied().unwrap_or_default();
                    **near > far
                });
                let stricter = stricter.map(|(name, near)| (name.clone(), *near));
                base.hidden_by_project.into_iter().chain(stricter).collect()
            },
            visibility: stricter(self.visibility, base.visibility),
            limited_by_project: self.limited_by_project || base.limited_by_project,
            only: base.only.into_iter().chain(self.only).collect(),
            window: self.window.or(base.window),
            budget: self.budget.or(base.budget),
            entry_characters: self.entry_characters.or(base.entry_characters),
            sections: self.sections.or(base.sections),
            last_used: self.last_used.or(base.last_used),
            hint: self.hint.or(base.hint),
            hint_skills: self.hint_skills.or(base.hint_skills),
            hint_tokens: self.hint_tokens.or(base.hint_tokens),
            agents: narrower(self.agents, base.agents),
            agent_tools: fewer(self.agent_tools, base.agent_tools),
            mode: self.mode.or(base.mode),
            permissions: {
                let mut all = base.permissions;
                all.extend(&self.permissions);
                all
            },
            skill_commands: self.skill_commands.or(base.skill_commands),
            unattended: self.unattended.or(base.unattended),
            confine: self.confine.or(base.confine),
            sandbox: self.sandbox.or(base.sandbox),
            program_folders: base
                .program_folders
                .into_iter()
                .chain(self.program_folders)
                .collect(),
            writable_folders: base
                .writable_folders
                .into_iter()
                .chain(self.writable_folders)
                .collect(),
            skill_tool: self.skill_tool.or(base.skill_tool),
            // A project may shorten the timeout, not extend it.
            timeout: match (self.timeout, base.timeout) {
                (Some(near), far) => Some(near.min(far.unwrap_or(DEFAULT_TIMEOUT))),
                (None, far) => far,
            },
            model: self.model.or(base.model),
            effort: self.effort.or(base.effort),
            keys: base.keys.into_iter().chain(self.keys).collect(),
            mission_plugins: base
                .mission_plugins
                .into_iter()
                .chain(self.mission_plugins)
                .collect(),
            servers: base.servers.into_iter().chain(self.servers).collect(),
            server_names: base
                .server_names
                .into_iter()
                .chain(self.server_names)
                .collect(),
        }
    }
}

/// Keeps the stricter of two settings, so that a project cannot enable a skill that the user
/// disabled.
fn stricter(
    near: BTreeMap<String, VisibilityOverride>,
    mut far: BTreeMap<String, VisibilityOverride>,
) -> BTreeMap<String, VisibilityOverride> {
    for (name, setting) in near {
        let entry = far.entry(name).or_default();
        *entry = setting.max(*entry);
    }
    far
}

/// Keeps the narrower of two grants, so that a project cannot give an agent more skills.
fn narrower(
    near: BTreeMap<String, SkillGrant>,
    mut far: BTreeMap<String, SkillGrant>,
) -> BTreeMap<String, SkillGrant> {
    for (name, grant) in near {
        let known = far.entry(name).or_default();
        known.deny.extend(grant.deny);
        known.allow = match (grant.allow, known.allow.take()) {
            (Some(near), Some(far)) => {
                Some(near.into_iter().filter(|name| far.contains(name)).collect())
            }
            (near, far) => near.or(far),
        };
    }
    far
}

/// Keeps the names that are in both lists of an agent, so that a project cannot give it more tools.
fn fewer(
    near: BTreeMap<String, Vec<String>>,
    mut far: BTreeMap<String, Vec<String>>,
) -> BTreeMap<String, Vec<String>> {
    for (name, near) in near {
        let both = match far.remove(&name) {
            Some(far) => near.into_iter().filter(|tool| far.contains(tool)).collect(),
            None => near,
        };
        far.insert(name, both);
    }
    far
}

/// The locations of the configuration files.
#[derive(Clone, Debug, Default)]
pub struct ConfigPaths {
    /// The current folder.
    pub current: PathBuf,
    /// The home folder.
    pub home: Option<PathBuf>,
    /// The user's file.
    pub user: Option<PathBuf>,
    /// `true` if the user's file was named explicitly, and so must exist.
    pub is_named: bool,
    /// The variables of Planck.
    pub planck: PlanckVariables,
}

/// The merged configuration and the problems of its files.
#[derive(Debug, Default)]
pub struct LoadedConfig {
    /// The merged configuration, without files that cannot be used.
    pub config: Config,
    /// The files that were used, lowest precedence first.
    pub used: Vec<PathBuf>,
    /// Files that were used despite warnings.
    pub warnings: Vec<FileReport>,
    /// Files that could not be used.
    pub faults: Vec<ConfigError>,
    /// The settings of other systems: what counts, and what does not.
    pub others: Vec<OtherSettings>,
}

/// A configuration file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration `{}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file has errors.
    #[error("invalid configuration `{}`", report.path)]
    Wrong {
        /// The errors.
        report: Box<FileReport>,
    },
}

/// Reads the configuration of the user and of the project. The project's file has precedence. The
/// settings of other systems count less than both.
/// `show` formats paths in diagnostics.
pub fn load(sources: &ConfigPaths, show: &dyn Fn(&Path) -> String) -> LoadedConfig {
    load_from(sources, show, &read_text)
}

/// Like [`load`], with a function that reads the files of Prowess.
fn load_from(
    sources: &ConfigPaths,
    show: &dyn Fn(&Path) -> String,
    read: show::ReadText<'_>,
) -> LoadedConfig {
    let others = other_systems::read(sources, show);
    let mut loaded = LoadedConfig {
        config: others.config,
        warnings: others.warnings,
        others: others.files,
        ..LoadedConfig::default()
    };
    let project = project_files(sources);
    let user = sources.user.iter().map(|path| (path, false));
    for (path, is_project) in user.chain(project.iter().map(|path| (path, true))) {
        let text = match read(path) {
            Ok(text) => text,
            // A file that was named explicitly must exist.
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                ) && (is_project || !sources.is_named) =>
            {
                continue;
            }
            Err(source) => {
                loaded.faults.push(ConfigError::Unreadable {
                    path: path.clone(),
                    source,
                });
                continue;
            }
        };
        let base = path.parent().map(PathBuf::from).unwrap_or_default();
        let (mut found, mut report) = read::read(&show(path), text, is_project);
        // Folders are relative to the project's root, or to the folder of the user's file.
        let base = base
            .parent()
            .filter(|_| is_project)
            .map_or(base.clone(), PathBuf::from);
        for folder in found.dirs.iter_mut().chain(&mut found.program_folders) {
            *folder = expand(folder, &base, sources.home.as_deref());
        }
        for folder in &mut found.writable_folders {
            *folder = without_dots(&expand(folder, &base, sources.home.as_deref()));
        }
        // Folders named by a project must be inside of it.
        if is_project {
            let inside = std::mem::take(&mut found.dirs)
                .into_iter()
                .filter(|folder| {
                    let is_inside = is_inside(folder, &base);
                    report
                        .diagnostics
                        .extend((!is_inside).then(|| outside(folder)));
                    is_inside
                });
            found.project_dirs = inside.collect();
        }
        if report
            .diagnostics
            .iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error)
        {
            loaded.faults.push(ConfigError::Wrong {
                report: Box::new(report),
            });
            continue;
        }
        if !report.diagnostics.is_empty() {
            loaded.warnings.push(report);
        }
        loaded.used.push(path.clone());
        let is_nearest = project.last() == Some(path) && !is_of_outer_project(path, sources);
        if is_project && !is_nearest {
            found = found.restrictions();
        }
        loaded.config = found.over(loaded.config);
        if !is_project {
            loaded.config.hidden_by_project.clear();
        }
    }
    loaded
}

/// Reads a configuration file. One that is too large, or has too many values, is an error.
pub fn read_text(path: &Path) -> std::io::Result<String> {
    let file = std::fs::File::open(path)?;
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES || toml_size::has_more_tokens(&text, MAX_TOKENS) {
        return Err(std::io::ErrorKind::FileTooLarge.into());
    }
    Ok(text)
}

/// Returns the texts of the configuration files that exist and can be read, with their paths, to
/// find out whether they changed.
pub fn texts(sources: &ConfigPaths) -> Vec<(PathBuf, String)> {
    config_files(sources)
        .into_iter()
        .filter_map(|file| read_text(&file).ok().map(|text| (file, text)))
        .chain(other_systems::texts(sources))
        .collect()
}

/// Returns `true` if a folder is inside of another, with links resolved if it exists.
fn is_inside(folder: &Path, base: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let is_up = |part| part == std::path::Component::ParentDir;
    real(folder).starts_with(real(base)) && (folder.exists() || !folder.components().any(is_up))
}

fn outside(folder: &Path) -> Diagnostic {
    let message = format!(
        "`dirs` of a project must be inside the project: `{}` is not",
        folder.display()
    );
    Diagnostic {
        rule: "config",
        severity: Severity::Warning,
        message: message.into(),
        span: None,
        label: None,
        help: None,
        fix: None,
    }
}

/// Resolves a folder as named in a file. `~` is the home folder.
fn expand(folder: &Path, base: &Path, home: Option<&Path>) -> PathBuf {
    match (folder.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => base.join(folder),
    }
}

/// Returns a path without `.` and `..`, which the sandbox does not accept. Links are not followed.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// Returns the configuration files of Prowess that apply, lowest precedence first. They need not
/// exist.
pub fn config_files(sources: &ConfigPaths) -> Vec<PathBuf> {
    let user = sources.user.clone().into_iter();
    user.chain(project_files(sources)).collect()
}

/// Returns the configuration files of the project, in the folders that are searched for skills, and
/// before them those of projects around it. The nearest one is the last. The others only restrict.
fn project_files(sources: &ConfigPaths) -> Vec<PathBuf> {
    let home = sources.home.as_deref();
    let inner = skill_folders::project_folders(&sources.current, home);
    let outer = skill_folders::outer_folders(&sources.current, home);
    let folders = outer.iter().rev().chain(inner.iter().rev());
    let files = folders.map(|folder| folder.join(PROJECT_FILE));
    files.filter(|file| file.is_file()).collect()
}

/// Returns `true` if a configuration file belongs to a project around this one.
fn is_of_outer_project(file: &Path, sources: &ConfigPaths) -> bool {
    let outer = skill_folders::outer_folders(&sources.current, sources.home.as_deref());
    outer.iter().any(|folder| file == folder.join(PROJECT_FILE))
}

/// The schema, without the values known from code.
const SCHEMA: &str = include_str!("schema.json");

/// Returns the schema of the configuration.
pub fn schema() -> Value {
    let mut schema: Value = serde_json::from_str(SCHEMA).unwrap_or_default();
    let rules: Vec<&str> = prowess_lint::rules::RULES
        .iter()
        .map(|rule| rule.id)
        .collect();
    let validate = "/properties/validate/properties";
    for (pointer, words) in [
        (
            format!("{validate}/profile/enum"),
            LintProfile::ALL.map(LintProfile::as_str).to_vec(),
        ),
        (format!("{validate}/select/items/enum"), rules.clone()),
        (format!("{validate}/ignore/items/enum"), rules.clone()),
        (format!("{validate}/severity/propertyNames/enum"), rules),
        (
            "/properties/skills/properties/visibility/additionalProperties/enum".to_owned(),
            VisibilityOverride::ALL
                .map(VisibilityOverride::as_str)
                .to_vec(),
        ),
        (
            "/properties/permissions/properties/mode/enum".to_owned(),
            PermissionMode::ALL.map(PermissionMode::as_str).to_vec(),
        ),
        (
            "/properties/permissions/properties/unattended/enum".to_owned(),
            Unattended::ALL.map(Unattended::as_str).to_vec(),
        ),
        (
            "/properties/sandbox/properties/strength/enum".to_owned(),
            Strength::ALL.map(Strength::as_str).to_vec(),
        ),
    ] {
        if let Some(slot) = schema.pointer_mut(&pointer) {
            *slot = json!(words);
        }
    }
    schema
}

//! Settings from files, and what they decide.
//!
//! [`load`] reads the user's file and the project's and lays one over the other. Nothing here reads a
//! variable: where the files are is an argument.

mod read;
mod rules;
mod servers;
mod skills;

pub use rules::Asked;
pub use servers::{
    MCP_FILE, McpFile, McpServer, Reach, ServerError, project_mcp_file, read_mcp_file,
};
pub use skills::AgentFault;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use prowess_catalog::{Grant, Override, Precedence};
use prowess_diag::{Diagnostic, FileReport, Severity};
use prowess_lint::Profile;
use prowess_policy::profile::Strength;
use prowess_policy::{Mode, RuleSet};
use prowess_registry::fs::scopes;
use serde_json::{Value, json};

/// Name of the schema on the command line.
pub const SCHEMA_NAME: &str = "config";
/// What the schema describes.
pub const SCHEMA_SUMMARY: &str = "The configuration files `prowess.toml` and `config.toml`";

/// Where a project keeps its settings.
const PROJECT_FILE: &str = ".agents/prowess.toml";

/// What the files say. An absent setting is nothing, so that files can be laid over each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// `validate.profile`
    pub profile: Option<Profile>,
    /// `validate.fail-on`
    pub fail_on: Option<Severity>,
    /// `validate.select`
    pub select: Vec<&'static str>,
    /// `validate.ignore`
    pub ignore: Vec<&'static str>,
    /// `validate.severity`: nothing silences the rule.
    pub severity: Vec<(&'static str, Option<Severity>)>,
    /// `skills.dirs` of the user
    pub dirs: Vec<PathBuf>,
    /// `skills.dirs` of the project, all of them inside it
    pub project_dirs: Vec<PathBuf>,
    /// `skills.precedence`
    pub precedence: Option<Precedence>,
    /// `skills.visibility`
    pub visibility: BTreeMap<String, Override>,
    /// `prompt.window`, in tokens
    pub window: Option<usize>,
    /// `prompt.budget`, in tokens
    pub budget: Option<usize>,
    /// `prompt.entry-characters`
    pub entry_characters: Option<usize>,
    /// `agents.NAME`
    pub agents: BTreeMap<String, Grant>,
    /// `permissions.mode`
    pub mode: Option<Mode>,
    /// `permissions.allow`, `permissions.ask`, `permissions.deny`
    pub permissions: RuleSet,
    /// `permissions.skill-commands`: whether commands in skills run at all
    pub skill_commands: Option<bool>,
    /// `permissions.confine`: whether `allowed-tools` is all that a skill may use
    pub confine: Option<bool>,
    /// `sandbox.strength`
    pub sandbox: Option<Strength>,
    /// `sandbox.timeout`: seconds until a command is stopped
    pub timeout: Option<usize>,
    /// `model.name`: the model that is asked, in the user's file only
    pub model: Option<String>,
    /// `model.effort`, in the user's file only
    pub effort: Option<String>,
    /// `model.keys`: the command that prints the key of a provider, in the user's file only
    pub keys: BTreeMap<String, String>,
    /// `mcp.servers.NAME`, in the user's file only
    pub servers: Vec<McpServer>,
    /// Every name in `mcp.servers`, of those too that are switched off or wrong: nobody else may
    /// have it.
    pub server_names: BTreeSet<String>,
}

impl Config {
    /// Lays a nearer file over a farther one.
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
            // A project must not put its skills before those of a person who wants it otherwise.
            precedence: match base.precedence {
                Some(Precedence::UserFirst) => base.precedence,
                _ => self.precedence.or(base.precedence),
            },
            visibility: stricter(self.visibility, base.visibility),
            window: self.window.or(base.window),
            budget: self.budget.or(base.budget),
            entry_characters: self.entry_characters.or(base.entry_characters),
            agents: narrower(self.agents, base.agents),
            mode: self.mode.or(base.mode),
            permissions: {
                let mut all = base.permissions;
                all.extend(&self.permissions);
                all
            },
            skill_commands: self.skill_commands.or(base.skill_commands),
            confine: self.confine.or(base.confine),
            sandbox: self.sandbox.or(base.sandbox),
            // A project may shorten it, not draw it out.
            timeout: match (self.timeout, base.timeout) {
                (Some(near), Some(far)) => Some(near.min(far)),
                (near, far) => near.or(far),
            },
            model: self.model.or(base.model),
            effort: self.effort.or(base.effort),
            keys: base.keys.into_iter().chain(self.keys).collect(),
            servers: base.servers.into_iter().chain(self.servers).collect(),
            server_names: base
                .server_names
                .into_iter()
                .chain(self.server_names)
                .collect(),
        }
    }
}

/// A nearer file may take away what a farther one leaves, and never the other way round: a project
/// must not switch on what a person switched off.
fn stricter(
    near: BTreeMap<String, Override>,
    mut far: BTreeMap<String, Override>,
) -> BTreeMap<String, Override> {
    for (name, setting) in near {
        let entry = far.entry(name).or_default();
        *entry = setting.max(*entry);
    }
    far
}

/// As with visibility: a nearer file may take skills away from an agent, never give it others.
fn narrower(
    near: BTreeMap<String, Grant>,
    mut far: BTreeMap<String, Grant>,
) -> BTreeMap<String, Grant> {
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

/// Where settings are looked for.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The current folder.
    pub current: PathBuf,
    /// The home folder.
    pub home: Option<PathBuf>,
    /// The user's file.
    pub user: Option<PathBuf>,
    /// Whether the user's file was asked for by name, and so must be there.
    pub is_named: bool,
}

/// What the files say, and what is wrong with them.
#[derive(Debug, Default)]
pub struct Loaded {
    /// What counts. A file that cannot be used adds nothing.
    pub config: Config,
    /// Files that are used, the farthest first.
    pub used: Vec<PathBuf>,
    /// Files that are used, but have mistakes.
    pub warnings: Vec<FileReport>,
    /// Files that cannot be used.
    pub faults: Vec<Fault>,
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The system says no.
    #[error("cannot read the configuration `{}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// It does not mean anything.
    #[error("the configuration `{}` cannot be used", report.path)]
    Wrong {
        /// What is wrong with it.
        report: Box<FileReport>,
    },
}

/// Reads the user's settings and the project's, nearer ones counting more. Paths in findings are
/// what `show` makes of them.
pub fn load(sources: &Sources, show: &dyn Fn(&Path) -> String) -> Loaded {
    let mut loaded = Loaded::default();
    let project = project_file(sources);
    for (path, is_project) in [(sources.user.as_ref(), false), (project.as_ref(), true)]
        .into_iter()
        .filter_map(|(path, is_project)| Some((path?, is_project)))
    {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            // A file that was asked for by name must be there.
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                ) && (is_project || !sources.is_named) =>
            {
                continue;
            }
            Err(source) => {
                loaded.faults.push(Fault::Unreadable {
                    path: path.clone(),
                    source,
                });
                continue;
            }
        };
        let base = path.parent().map(PathBuf::from).unwrap_or_default();
        let (mut found, mut report) = read::read(&show(path), text, is_project);
        // Folders in a file are meant from the project's root, or from where the user's file is.
        let base = base
            .parent()
            .filter(|_| is_project)
            .map_or(base.clone(), PathBuf::from);
        for folder in &mut found.dirs {
            *folder = expand(folder, &base, sources.home.as_deref());
        }
        // Folders that a project names are the project's, and must lie in it.
        if is_project {
            let inside = std::mem::take(&mut found.dirs)
                .into_iter()
                .filter(|folder| {
                    let is_inside = lies_in(folder, &base);
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
            loaded.faults.push(Fault::Wrong {
                report: Box::new(report),
            });
            continue;
        }
        if !report.diagnostics.is_empty() {
            loaded.warnings.push(report);
        }
        loaded.used.push(path.clone());
        loaded.config = found.over(loaded.config);
    }
    loaded
}

/// Whether a folder lies in another, links resolved; one that does not exist by its name.
fn lies_in(folder: &Path, base: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let is_up = |part| part == std::path::Component::ParentDir;
    real(folder).starts_with(real(base)) && (folder.exists() || !folder.components().any(is_up))
}

fn outside(folder: &Path) -> Diagnostic {
    let message = format!(
        "`dirs` of a project must lie in it: `{}` does not",
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

/// A folder as a file names it: `~` is the home.
fn expand(folder: &Path, base: &Path, home: Option<&Path>) -> PathBuf {
    match (folder.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => base.join(folder),
    }
}

/// The nearest project settings, where skills of the project are looked for, too.
fn project_file(sources: &Sources) -> Option<PathBuf> {
    let folders = scopes::project_folders(&sources.current, sources.home.as_deref());
    folders
        .iter()
        .map(|folder| folder.join(PROJECT_FILE))
        .find(|file| file.is_file())
}

/// The schema, but for the words that the code knows.
const SCHEMA: &str = include_str!("schema.json");

/// Returns the schema of the configuration.
pub fn schema() -> Value {
    let mut schema: Value = serde_json::from_str(SCHEMA).unwrap_or_default();
    let rules: Vec<&str> = prowess_lint::rules::RULES
        .iter()
        .map(|rule| rule.id)
        .collect();
    let validate = "/properties/validate/properties";
    for (place, words) in [
        (
            format!("{validate}/profile/enum"),
            Profile::ALL.map(Profile::as_str).to_vec(),
        ),
        (format!("{validate}/select/items/enum"), rules.clone()),
        (format!("{validate}/ignore/items/enum"), rules.clone()),
        (format!("{validate}/severity/propertyNames/enum"), rules),
        (
            "/properties/skills/properties/visibility/additionalProperties/enum".to_owned(),
            Override::ALL.map(Override::as_str).to_vec(),
        ),
        (
            "/properties/permissions/properties/mode/enum".to_owned(),
            Mode::ALL.map(Mode::as_str).to_vec(),
        ),
        (
            "/properties/sandbox/properties/strength/enum".to_owned(),
            Strength::ALL.map(Strength::as_str).to_vec(),
        ),
    ] {
        if let Some(slot) = schema.pointer_mut(&place) {
            *slot = json!(words);
        }
    }
    schema
}

//! Settings from files. The library takes values; reading and merging them is the command's work.

mod read;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prowess_catalog::{Grant, Override, Precedence};
use prowess_diag::{Diagnostic, FileReport, Severity};
use prowess_lint::Profile;
use prowess_registry::fs::scopes;
use serde_json::{Value, json};

use crate::env::Environment;
use crate::error::CliError;

/// Name of the schema on the command line.
pub(crate) const SCHEMA_NAME: &str = "config";
/// What the schema describes.
pub(crate) const SCHEMA_SUMMARY: &str = "The configuration files `prowess.toml` and `config.toml`";

/// Where a project keeps its settings.
const PROJECT_FILE: &str = ".agents/prowess.toml";

/// What the files say. An absent setting is nothing, so that files can be laid over each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Config {
    /// `validate.profile`
    pub(crate) profile: Option<Profile>,
    /// `validate.fail-on`
    pub(crate) fail_on: Option<Severity>,
    /// `validate.select`
    pub(crate) select: Vec<&'static str>,
    /// `validate.ignore`
    pub(crate) ignore: Vec<&'static str>,
    /// `validate.severity`: nothing silences the rule.
    pub(crate) severity: Vec<(&'static str, Option<Severity>)>,
    /// `skills.dirs` of the user
    pub(crate) dirs: Vec<PathBuf>,
    /// `skills.dirs` of the project, all of them inside it
    pub(crate) project_dirs: Vec<PathBuf>,
    /// `skills.precedence`
    pub(crate) precedence: Option<Precedence>,
    /// `skills.visibility`
    pub(crate) visibility: BTreeMap<String, Override>,
    /// `prompt.window`, in tokens
    pub(crate) window: Option<usize>,
    /// `prompt.budget`, in tokens
    pub(crate) budget: Option<usize>,
    /// `prompt.entry-characters`
    pub(crate) entry_characters: Option<usize>,
    /// `agents.NAME`
    pub(crate) agents: BTreeMap<String, Grant>,
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
            project_dirs: self.project_dirs.into_iter().chain(base.project_dirs).collect(),
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

/// Reads the user's settings and the project's, nearer ones counting more. Returns what to warn
/// about beside them.
pub(crate) fn load(environment: &Environment) -> Result<(Config, Vec<FileReport>), CliError> {
    let mut config = Config::default();
    let mut warnings = Vec::new();
    let user = environment.user_config().into_iter();
    for path in user.chain(project_file(environment)) {
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            // A file that was asked for by name must be there.
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                ) && environment.config_file.as_ref() != Some(&path) =>
            {
                continue;
            }
            Err(error) => {
                return Err(CliError::new(format!(
                    "cannot read the configuration `{}`",
                    path.display()
                ))
                .cause(error));
            }
        };
        let shown = crate::commands::targets::display(&path, environment);
        let base = path.parent().map(PathBuf::from).unwrap_or_default();
        let (mut found, mut report) = read::read(&shown, text);
        // Folders in a file are meant from the project's root, or from where the user's file is.
        let is_project = path.ends_with(PROJECT_FILE);
        let base = base.parent().filter(|_| is_project).map_or(base.clone(), PathBuf::from);
        for folder in &mut found.dirs {
            *folder = expand(folder, &base, environment);
        }
        // Folders that a project names are the project's, and must lie in it.
        if is_project {
            let inside = std::mem::take(&mut found.dirs).into_iter().filter(|folder| {
                let is_inside = lies_in(folder, &base);
                report.diagnostics.extend((!is_inside).then(|| outside(folder)));
                is_inside
            });
            found.project_dirs = inside.collect();
        }
        if report.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
            let error = CliError::new(format!("the configuration `{shown}` cannot be used"))
                .hint("print its schema with `prowess schema config`");
            return Err(CliError { report: Some(Box::new(report)), ..error });
        }
        if !report.diagnostics.is_empty() {
            warnings.push(report);
        }
        config = found.over(config);
    }
    Ok((config, warnings))
}

/// Whether a folder lies in another, links resolved; one that does not exist by its name.
fn lies_in(folder: &Path, base: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let is_up = |part| part == std::path::Component::ParentDir;
    real(folder).starts_with(real(base)) && (folder.exists() || !folder.components().any(is_up))
}

fn outside(folder: &Path) -> Diagnostic {
    let message = format!("`dirs` of a project must lie in it: `{}` does not", folder.display());
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
fn expand(folder: &Path, base: &Path, environment: &Environment) -> PathBuf {
    match (folder.strip_prefix("~"), &environment.home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => base.join(folder),
    }
}

/// The nearest project settings, where skills of the project are looked for, too.
fn project_file(environment: &Environment) -> Option<PathBuf> {
    let folders = scopes::project_folders(&environment.current, environment.home.as_deref());
    folders.iter().map(|folder| folder.join(PROJECT_FILE)).find(|file| file.is_file())
}

/// The schema, but for the words that the code knows.
const SCHEMA: &str = include_str!("../../templates/config-schema.json");

/// Returns the schema of the configuration.
pub(crate) fn schema() -> Value {
    let mut schema: Value = serde_json::from_str(SCHEMA).unwrap_or_default();
    let rules: Vec<&str> = prowess_lint::rules::RULES.iter().map(|rule| rule.id).collect();
    let validate = "/properties/validate/properties";
    for (place, words) in [
        (format!("{validate}/profile/enum"), Profile::ALL.map(Profile::as_str).to_vec()),
        (format!("{validate}/select/items/enum"), rules.clone()),
        (format!("{validate}/ignore/items/enum"), rules.clone()),
        (format!("{validate}/severity/propertyNames/enum"), rules),
        (
            "/properties/skills/properties/visibility/additionalProperties/enum".to_owned(),
            Override::ALL.map(Override::as_str).to_vec(),
        ),
    ] {
        if let Some(slot) = schema.pointer_mut(&place) {
            *slot = json!(words);
        }
    }
    schema
}

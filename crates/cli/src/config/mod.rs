//! Settings from files. The library takes values; reading and merging them is the command's work.

mod read;

use std::path::PathBuf;

use prowess_diag::{FileReport, Severity};
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
        }
    }
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
                if error.kind() == std::io::ErrorKind::NotFound
                    && environment.config_file.as_ref() != Some(&path) =>
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
        let (found, report) = read::read(&shown, text);
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

/// The nearest project settings, where skills of the project are looked for, too.
fn project_file(environment: &Environment) -> Option<PathBuf> {
    let folders = scopes::project_folders(&environment.current, environment.home.as_deref());
    folders.iter().map(|folder| folder.join(PROJECT_FILE)).find(|file| file.is_file())
}

/// Returns the schema of the configuration.
pub(crate) fn schema() -> Value {
    let rules: Vec<&str> = prowess_lint::rules::RULES.iter().map(|rule| rule.id).collect();
    let list = json!({ "type": "array", "items": { "enum": rules } });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration of prowess",
        "type": "object",
        "properties": {
            "validate": {
                "type": "object",
                "properties": {
                    "profile": { "enum": Profile::ALL.map(Profile::as_str), "description": "Whose rules count" },
                    "fail-on": { "enum": ["error", "warning", "note"], "description": "Lowest severity that fails the run" },
                    "select": list,
                    "ignore": list,
                    "severity": {
                        "type": "object",
                        "description": "Severity of single rules",
                        "propertyNames": { "enum": rules },
                        "additionalProperties": { "enum": ["error", "warning", "note", "off"] },
                    },
                },
                "additionalProperties": false,
            },
        },
        "additionalProperties": false,
    })
}

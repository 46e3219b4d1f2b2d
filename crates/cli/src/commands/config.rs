//! `prowess config`

use std::path::Path;

use clap::{Args, Subcommand};
use prowess::config::{SettingEffect, ShownSetting, config_files, show_settings};
use prowess_diag::{sanitize, wording};
use serde_json::{Value, json};

use crate::env::Environment;
use crate::output::{Cell, Exit, Failure, Printer, Table};
use crate::targets;

#[derive(Debug, Args)]
#[command(
    about = "Show the settings and where they come from",
    after_help = "\
Examples:
  prowess config show               list each setting and what counts
  prowess config show permissions   list settings whose key begins with this"
)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    Show(ShowConfigArgs),
}

#[derive(Debug, Args)]
#[command(
    about = "List each setting with its file and line, and whether it counts\n\nA setting counts if the configuration would be another one without it. Values that may be secrets are not printed. Files of other systems, such as Planck, are listed by `prowess doctor`.",
    after_help = "\
Examples:
  prowess config show               list all settings
  prowess config show permissions   list settings whose key begins with this
  prowess config show --json        print JSON"
)]
struct ShowConfigArgs {
    /// Only settings whose key begins with this
    #[arg(value_name = "KEY")]
    key: Option<String>,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub(crate) fn run(
    args: &ConfigArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let ConfigCommand::Show(args) = &args.command;
    let sources = environment.settings();
    let mut settings = show_settings(&sources);
    if let Some(key) = &args.key {
        settings.retain(|setting| setting.key.starts_with(key.as_str()));
    }
    let show = |path: &Path| targets::display(path, environment);
    let files: Vec<(String, bool)> = config_files(&sources)
        .iter()
        .map(|path| (show(path), path.is_file()))
        .collect();
    if args.json {
        let files = files.iter();
        let files = files.map(|(path, exists)| json!({ "path": path, "exists": exists }));
        printer.json(&json!({
            "schema": "prowess.config/1",
            "files": files.collect::<Vec<_>>(),
            "settings": settings.iter().map(|one| describe(one, &show)).collect::<Vec<_>>(),
        }))?;
        return Ok(Exit::Done);
    }
    if settings.is_empty() {
        let places: Vec<String> = files.iter().map(|(path, _)| wording::tick(path)).collect();
        let what = match &args.key {
            Some(key) => format!(
                "No setting begins with {}",
                wording::tick(sanitize::line(key))
            ),
            None => "No settings; every default applies".to_owned(),
        };
        printer.status(&format!("{what} (searched {})", wording::all(&places)));
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["setting", "value", "file", "effect"]).wrapping();
    for setting in &settings {
        table.row(vec![
            Cell::new(&sanitize::line(&setting.key)),
            Cell::new(&sanitize::line(&one_line(&setting.value))),
            Cell::new(&format!("{}:{}", show(&setting.file), setting.line)),
            Cell::new(&sanitize::line(&effect(setting, &show))),
        ]);
    }
    printer.answer(&table.render(printer.width()))?;
    Ok(Exit::Done)
}

fn describe(setting: &ShownSetting, show: &dyn Fn(&Path) -> String) -> Value {
    let mut value = json!({
        "key": setting.key,
        "value": setting.value,
        "file": show(&setting.file),
        "line": setting.line,
        "counts": setting.effect == SettingEffect::Counts,
    });
    match &setting.effect {
        SettingEffect::Counts | SettingEffect::None => {}
        SettingEffect::Overridden { by } => value["overridden_by"] = json!(show(by)),
        SettingEffect::Rejected { reason } => value["reason"] = json!(reason),
    }
    value
}

fn effect(setting: &ShownSetting, show: &dyn Fn(&Path) -> String) -> String {
    match &setting.effect {
        SettingEffect::Counts => "counts".to_owned(),
        SettingEffect::Overridden { by } => format!("overridden by {}", show(by)),
        SettingEffect::Rejected { reason } => format!("does not count: {reason}"),
        SettingEffect::None => "no effect".to_owned(),
    }
}

/// Joins the lines of a value.
fn one_line(value: &str) -> String {
    let lines = value.lines().map(str::trim);
    lines.collect::<Vec<_>>().join(" ")
}

//! `prowess new`

mod template;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use prowess_diag::wording;
use prowess_spec::SkillName;
use prowess_spec::name;
use serde_json::json;

use self::template::Template;
use crate::env::Environment;
use crate::output::{Exit, Failure, Printer};
use crate::targets;

#[derive(Debug, Args)]
#[command(
    about = "Create a skill from a template\n\nCreates a folder with a SKILL.md that passes `prowess validate`. Existing files are never overwritten.",
    after_help = "\
Examples:
  prowess new release-notes                    create ./release-notes
  prowess new .agents/skills/lint              create it where agents find it
  prowess new tidy-up --template script        include a script"
)]
pub(crate) struct NewArgs {
    /// Name of the skill, or path of the folder to create; the last component is the name
    #[arg(value_name = "NAME|PATH")]
    pub(crate) name: PathBuf,
    /// Template to use: minimal, script, arguments (default: minimal)
    #[arg(
        long,
        value_name = "TEMPLATE",
        default_value = "minimal",
        hide_possible_values = true,
        hide_default_value = true
    )]
    pub(crate) template: TemplateArg,
    /// What the skill does and when to use it
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum TemplateArg {
    Minimal,
    Script,
    Arguments,
}

pub(crate) fn run(
    args: &NewArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let typed = args
        .name
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let skill = SkillName::new(typed).map_err(|_| invalid_name(args, typed))?;
    let folder = args.name.with_file_name(skill.as_str());
    if folder.symlink_metadata().is_ok() {
        let shown = targets::display(&folder, environment);
        return Err(
            Failure::new(format!("`{shown}` already exists")).hint(format!(
                "check it with {}, or choose another name",
                wording::command(["prowess", "validate", &*shown])
            )),
        );
    }
    let template = match args.template {
        TemplateArg::Minimal => Template::Minimal,
        TemplateArg::Script => Template::Script,
        TemplateArg::Arguments => Template::Arguments,
    };
    let written = template.create(&folder, &skill, args.description.as_deref());
    let written = written.map_err(|(file, error)| {
        Failure::new(format!("cannot create `{}`", file.display())).cause(error)
    })?;
    let written: Vec<String> = written
        .iter()
        .map(|file| targets::display(file, environment))
        .collect();
    if args.json {
        printer.json(&json!({ "schema": "prowess.new/1", "name": skill.as_str(), "folder": folder, "files": written }))?;
        return Ok(Exit::Done);
    }
    let shown = targets::display(&folder, environment);
    let typed = wording::shell_word(&shown);
    printer.status(&format!(
        "Created `{shown}` with {}",
        wording::all(template.files().iter().map(|file| wording::tick(file.path)))
    ));
    printer.status(&format!(
        "Next: edit `{}`, then `prowess validate {typed}`\nUndo: `rm -r {typed}`",
        written[0]
    ));
    Ok(Exit::Done)
}

fn invalid_name(args: &NewArgs, typed: &str) -> Failure {
    let error = Failure::new(format!(
        "invalid skill name `{}`: use lower-case letters, digits and single hyphens, at most 64 characters",
        args.name.display()
    ));
    match name::repair(typed) {
        Some(near) => error.hint({
            let path = args.name.with_file_name(near).display().to_string();
            format!("try `prowess new {}`", wording::shell_word(&path))
        }),
        None => error.hint("try `prowess new my-skill`"),
    }
}

//! `prowess new`

use std::path::Path;

use prowess_diag::wording;
use prowess_spec::SkillName;
use prowess_spec::name;
use prowess_spec::yaml::write;
use serde_json::json;

use super::targets;
use crate::args::{NewArgs, TemplateArg};
use crate::env::Environment;
use crate::error::CliError;
use crate::exit::Exit;
use prowess_terminal::Printer;

/// A file of a template: path, text, whether it is executable.
type TemplateFile = (&'static str, &'static str, bool);

fn template(template: TemplateArg) -> &'static [TemplateFile] {
    match template {
        TemplateArg::Minimal => {
            &[("SKILL.md", include_str!("../../templates/minimal/SKILL.md"), false)]
        }
        TemplateArg::Script => &[
            ("SKILL.md", include_str!("../../templates/script/SKILL.md"), false),
            ("scripts/run.sh", include_str!("../../templates/script/run.sh"), true),
        ],
        TemplateArg::Arguments => {
            &[("SKILL.md", include_str!("../../templates/arguments/SKILL.md"), false)]
        }
    }
}

pub(crate) fn run(
    args: &NewArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, CliError> {
    let typed = args.name.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let skill = SkillName::new(typed).map_err(|_| invalid_name(args, typed))?;
    let folder = args.name.with_file_name(skill.as_str());
    if folder.symlink_metadata().is_ok() {
        let shown = targets::display(&folder, environment);
        return Err(CliError::new(format!("`{shown}` exists already"))
            .hint(format!("check it with `prowess validate {shown}`, or choose another name")));
    }
    let description = args.description.clone().unwrap_or_else(|| {
        "Describe what this skill does. Use when the user asks for it.".to_owned()
    });
    let mut written = Vec::new();
    for (path, text, executable) in template(args.template) {
        let text = text
            .replace("{{name}}", skill.as_str())
            .replace("{{title}}", &title(skill.as_str()))
            .replace("{{description}}", &write::scalar(&description));
        let file = folder.join(path);
        create(&file, &text, *executable).map_err(|error| {
            CliError::new(format!("cannot create `{}`", file.display())).cause(error)
        })?;
        written.push(targets::display(&file, environment));
    }
    if args.json {
        printer.json(&json!({ "schema": "prowess.new/1", "name": skill.as_str(), "folder": folder, "files": written }))?;
        return Ok(Exit::Done);
    }
    let shown = targets::display(&folder, environment);
    let typed = wording::shell_word(&shown);
    printer.status(&format!(
        "Created `{shown}` with {}",
        wording::all(template(args.template).iter().map(|(path, ..)| wording::tick(path)))
    ));
    printer.status(&format!(
        "Next: edit `{}`, then `prowess validate {typed}`; undo with `rm -r {typed}`",
        written[0]
    ));
    Ok(Exit::Done)
}

fn invalid_name(args: &NewArgs, typed: &str) -> CliError {
    let error = CliError::new(format!(
        "`{}` is not a name for a skill: use lower-case letters, digits and single hyphens, at most 64",
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

/// `release-notes` becomes `Release notes`.
fn title(name: &str) -> String {
    let words = name.replace('-', " ");
    let mut characters = words.chars();
    characters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

fn create(path: &Path, text: &str, executable: bool) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    std::io::Write::write_all(&mut file, text.as_bytes())?;
    if executable {
        file.set_permissions(std::fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

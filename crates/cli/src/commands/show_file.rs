//! `prowess show SKILL --file PATH`

use std::path::Path;

use prowess_diag::{suggest, wording};
use prowess_registry::resource::{self, Resource, ResourceError, SkillFolder, USUAL_LIMIT};
use serde_json::json;

use crate::commands::show::ShowArgs;
use crate::env::Environment;
use crate::output::{Exit, Failure, Printer};
use crate::targets;

pub(crate) fn run(
    skill: &Path,
    opened: Option<SkillFolder>,
    file: &str,
    args: &ShowArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let folder = resource::folder_of(skill);
    let opened = match opened {
        Some(opened) => opened,
        None => SkillFolder::open(&folder).map_err(|error| explain(error, None, environment))?,
    };
    let read = opened.read(file, args.offset, args.limit.unwrap_or(USUAL_LIMIT));
    match read.map_err(|error| explain(error, Some(&opened), environment))? {
        Resource::Text {
            text,
            offset,
            size,
            next,
        } => {
            if args.json {
                printer.json(&json!({
                    "schema": "prowess.file/1", "path": file, "kind": "text",
                    "text": text, "offset": offset, "size": size, "next": next,
                }))?;
                return Ok(Exit::Done);
            }
            printer.foreign(&text)?;
            if let Some(next) = next {
                let (shown, size) = (wording::size(text.len() as u64), wording::size(size));
                printer.status(&format!(
                    "{shown} of {size}; continue with `--offset {next}`"
                ));
            }
            Ok(Exit::Done)
        }
        Resource::Binary { kind, size } => {
            if args.json {
                printer.json(&json!({ "schema": "prowess.file/1", "path": file, "kind": kind, "size": size }))?;
                return Ok(Exit::Done);
            }
            printer.warn(&format!(
                "`{file}` is not text: {kind}, {}",
                wording::size(size)
            ));
            Ok(Exit::No)
        }
    }
}

fn explain(
    error: ResourceError,
    folder: Option<&SkillFolder>,
    environment: &Environment,
) -> Failure {
    let base = Failure::new(error.to_string());
    match error {
        ResourceError::Missing { path } => {
            let files = folder.and_then(|folder| folder.files().ok());
            let files = files.unwrap_or_default();
            let names: Vec<String> = files
                .iter()
                .map(|file| file.path.to_string_lossy().into_owned())
                .collect();
            if let Some(near) = suggest::nearest(&path, names.iter().map(String::as_str)) {
                return base.hint(format!("did you mean `{near}`?"));
            }
            let shown = folder.map_or(Path::new("."), SkillFolder::path);
            let shown = wording::shell_word(&targets::display(shown, environment));
            base.hint(format!("list its files with `prowess show {shown}`"))
        }
        ResourceError::Path { .. } => {
            base.hint("pass a path relative to the skill's folder, e.g. `references/a.md`")
        }
        ResourceError::Read { source, .. } => base.cause(source),
        _ => base,
    }
}

//! `prowess show SKILL --file PATH`

use std::path::Path;

use prowess_diag::{sanitize, suggest, wording};
use prowess_registry::digest;
use prowess_registry::resource::{self, Resource, ResourceError, SkillFolder, USUAL_LIMIT};
use serde_json::json;

use crate::commands::show::ShowArgs;
use crate::env::Environment;
use crate::output::{Exit, Failure, Printer};
use crate::targets;

pub(crate) fn run(
    skill: &Path,
    file: &str,
    args: &ShowArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let folder = resource::folder_of(skill);
    let opened = SkillFolder::open(&folder);
    let read =
        opened.and_then(|open| open.read(file, args.offset, args.limit.unwrap_or(USUAL_LIMIT)));
    match read.map_err(|error| explain(error, &folder, environment))? {
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
            // Escape control characters on a terminal; a pipe gets the bytes unchanged.
            if printer.width().is_some() {
                printer.answer(&sanitize::block(&text))?;
            } else {
                printer.verbatim(text.as_bytes())?;
            }
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

fn explain(error: ResourceError, folder: &Path, environment: &Environment) -> Failure {
    let base = Failure::new(error.to_string());
    match error {
        ResourceError::Missing { path } => {
            let files = digest::files(folder).unwrap_or_default();
            let names: Vec<String> = files
                .iter()
                .map(|file| file.path.to_string_lossy().into_owned())
                .collect();
            if let Some(near) = suggest::nearest(&path, names.iter().map(String::as_str)) {
                return base.hint(format!("did you mean `{near}`?"));
            }
            let shown = wording::shell_word(&targets::display(folder, environment));
            base.hint(format!("list its files with `prowess show {shown}`"))
        }
        ResourceError::Path { .. } => {
            base.hint("pass a path relative to the skill's folder, e.g. `references/a.md`")
        }
        ResourceError::Read { source, .. } => base.cause(source),
        _ => base,
    }
}

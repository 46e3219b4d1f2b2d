//! `prowess init`

use std::fs;
use std::io::Write;

use clap::Args;
use prowess::config::PROJECT_FILE;

use crate::env::Environment;
use crate::output::{Exit, Failure, Printer};
use crate::{permissions, targets};

/// The settings of a new project. Everything is a comment, so that defaults apply.
const TEMPLATE: &str = "\
# Settings of Prowess for this project. `prowess config show` lists what counts.
# A project may restrict, never grant: allow rules belong in your own file.

# Packages of skills. `prowess add SOURCE NAME` writes them here.
[packages]

# [permissions]
# ask = [\"Bash(git push:*)\"]
# deny = [\"Read(.env)\"]

# [skills]
# dirs = [\"tools/skills\"]
";

#[derive(Debug, Args)]
#[command(
    about = "Create the settings of a project\n\nWrites `.agents/prowess.toml` in the root of the repository, or in the current folder outside of one. An existing file is left alone.",
    after_help = "\
Examples:
  prowess init              create `.agents/prowess.toml`
  prowess init --dry-run    print it and write nothing"
)]
pub(crate) struct InitArgs {
    /// Print the file and write nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(
    args: &InitArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    if args.dry_run {
        printer.answer(TEMPLATE)?;
        return Ok(Exit::Done);
    }
    let root = permissions::workspace(environment);
    let path = root.join(PROJECT_FILE);
    let shown = targets::display(&path, environment);
    let failed = |error: std::io::Error| {
        Failure::new(format!("cannot create `{shown}`")).cause(error.to_string())
    };
    let folder = path.parent().unwrap_or(&root);
    fs::create_dir_all(folder).map_err(failed)?;
    // A folder of the project that is a link could lead anywhere.
    let real = folder.canonicalize().map_err(failed)?;
    let project = root.canonicalize().map_err(failed)?;
    if !real.starts_with(&project) {
        return Err(Failure::new(format!(
            "cannot create `{shown}`: its folder is outside the project"
        ))
        .hint("replace the link `.agents` by a folder"));
    }
    let created = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path);
    let mut file = match created {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            printer.status(&format!(
                "{shown} exists already; see `prowess config show`"
            ));
            return Ok(Exit::Done);
        }
        Err(error) => return Err(failed(error)),
    };
    file.write_all(TEMPLATE.as_bytes()).map_err(failed)?;
    printer.status(&format!("Created {shown}"));
    printer.status("next: `prowess add SOURCE NAME` or `prowess new NAME`");
    Ok(Exit::Done)
}

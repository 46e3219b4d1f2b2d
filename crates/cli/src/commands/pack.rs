//! `prowess pack`

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use prowess_diag::{sanitize, wording};
use prowess_package::operations::{PackFormat, pack, pack_site, write_whole};
use prowess_registry::digest_of;
use serde_json::json;

use crate::env::Environment;
use crate::output::{Exit, Failure, Printer};
use crate::packages::{self, failure};
use crate::targets;

#[derive(Debug, Args)]
#[command(
    about = "Pack a skill into an archive, or skills into a site\n\nThe same files give the same bytes on every machine. With `--site`, writes a folder that any web server can serve: `prowess add https://HOST` installs from it.",
    after_help = "\
Examples:
  prowess pack skills/release-notes                    write an archive
  prowess pack skills/release-notes --format tar.gz    for other tools
  prowess pack skills/release-notes --site public      write a site with indexes"
)]
pub(crate) struct PackArgs {
    /// Folders with a `SKILL.md`
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// Format of the archive: skill, tar.gz (default: skill)
    #[arg(
        long,
        value_name = "FORMAT",
        hide_possible_values = true,
        conflicts_with = "site"
    )]
    format: Option<PackFormatArg>,
    /// Folder for the archives (default: the current folder)
    #[arg(long, value_name = "DIR", conflicts_with = "site")]
    out: Option<PathBuf>,
    /// Write a site with indexes into this folder
    #[arg(long, value_name = "DIR")]
    site: Option<PathBuf>,
    /// Number of this version of the site, which must rise
    #[arg(long, value_name = "NUMBER", requires = "site")]
    sequence: Option<u64>,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PackFormatArg {
    Skill,
    #[value(name = "tar.gz")]
    TarGz,
}

pub(crate) fn run(
    args: &PackArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let mut skills = Vec::new();
    for folder in &args.folders {
        let folder = environment.current.join(folder);
        let shown = targets::display(&folder, environment);
        let real = folder
            .canonicalize()
            .ok()
            .filter(|path| path.join("SKILL.md").is_file());
        let name = real
            .as_deref()
            .and_then(Path::file_name)
            .and_then(|name| name.to_str());
        let Some((real, name)) = real.as_ref().zip(name) else {
            let shown = wording::tick(sanitize::line(&shown));
            return Err(
                Failure::new(format!("{shown} is not a folder with a `SKILL.md`"))
                    .hint("create one with `prowess new NAME`"),
            );
        };
        skills.push((name.to_owned(), real.clone()));
    }
    if let Some(site) = &args.site {
        let into = environment.current.join(site);
        let packed = pack_site(&skills, &into, args.sequence).map_err(|error| failure(&error))?;
        if args.json {
            printer.json(&json!({ "schema": packages::SCHEMA, "site": into, "files": packed.files, "with_links": packed.with_links }))?;
            return Ok(Exit::Done);
        }
        for name in &packed.with_links {
            printer.warn(&format!(
                "{} has links, and is not in the index of version 0.1.0",
                sanitize::line(name)
            ));
        }
        printer.status(&format!(
            "Wrote {} into {}",
            wording::count(packed.files.len(), "file"),
            sanitize::line(&targets::display(&into, environment))
        ));
        return Ok(Exit::Done);
    }
    let (format, ending) = match args.format.unwrap_or(PackFormatArg::Skill) {
        PackFormatArg::Skill => (PackFormat::Skill, "skill"),
        PackFormatArg::TarGz => (PackFormat::TarGz, "tar.gz"),
    };
    let out = environment
        .current
        .join(args.out.as_deref().unwrap_or(Path::new("")));
    let mut written = Vec::new();
    for (name, folder) in &skills {
        let bytes = pack(folder, format).map_err(|error| failure(&error))?;
        let path = out.join(format!("{name}.{ending}"));
        let shown = targets::display(&path, environment);
        // Replaces a link that is there, instead of writing through it.
        write_whole(&path, &bytes).map_err(|error| {
            Failure::new(format!(
                "cannot write {}",
                wording::tick(sanitize::line(&shown))
            ))
            .cause(error)
        })?;
        let digest = digest_of(folder).map_err(|error| Failure::new(error.to_string()))?;
        if !args.json {
            printer.status(&format!(
                "Wrote {} ({}, {digest})",
                sanitize::line(&shown),
                wording::size(bytes.len() as u64)
            ));
        }
        written.push(json!({ "name": name, "path": path, "bytes": bytes.len(), "digest": digest }));
    }
    if args.json {
        printer.json(&json!({ "schema": packages::SCHEMA, "archives": written }))?;
    }
    Ok(Exit::Done)
}

//! Reads all agent files of a collection and checks that each one gives an agent or an error.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use prowess_diag::{LineIndex, Severity};
use prowess_flow::{Dialect, ProjectFiles, read};
use prowess_spec::ReadFault;

/// The files of a project.
struct Project<'p>(&'p Path);

impl ProjectFiles for Project<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadFault> {
        std::fs::read(self.0.join(path)).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => ReadFault::Missing,
            _ => ReadFault::Unreadable(error.to_string()),
        })
    }
}

/// Reads the files below a folder, those of one dialect or those that their paths identify.
pub(crate) fn run(dialect: &str, folder: &Path) -> Result<()> {
    let forced = (dialect != "auto")
        .then(|| Dialect::parse(dialect).with_context(|| format!("no dialect `{dialect}`")))
        .transpose()?;
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    files.sort();
    let (mut agents, mut teams, mut read_files, mut lost) = (0, 0, 0, Vec::new());
    let mut rules: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for file in &files {
        let path = file.strip_prefix(folder)?.to_string_lossy().into_owned();
        let Some(dialect) = forced.or_else(|| Dialect::of(&path)) else {
            continue;
        };
        read_files += 1;
        let bytes = std::fs::read(file)?;
        let found = read(dialect, &path, &bytes, &Project(folder));
        agents += found.agents.len();
        teams += usize::from(found.team.is_some());
        let mut has_error = false;
        for report in &found.reports {
            let lines = LineIndex::new(report.text());
            for finding in &report.diagnostics {
                has_error |= finding.severity == Severity::Error;
                let severity = finding.severity.as_str();
                *rules.entry((finding.rule, severity)).or_default() += 1;
                let start = finding.span.map_or(0, |span| span.start as usize);
                let line = lines.position(report.text(), start).line;
                println!("{}:{line}: {severity}: {}", report.path, finding.message);
            }
        }
        // The file of core-agent may contain settings only.
        if found.agents.is_empty() && !has_error && dialect != Dialect::CoreAgent {
            lost.push(path);
        }
    }
    println!("\n{read_files} files, {agents} agents, {teams} teams");
    for ((rule, severity), count) in rules {
        println!("{count:>6} {severity:<8} {rule}");
    }
    ensure!(
        lost.is_empty(),
        "no agent and no error in:\n{}",
        lost.join("\n")
    );
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}

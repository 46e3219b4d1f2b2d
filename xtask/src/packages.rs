//! Finds the skills in file lists of real repositories, and compares the counts with the recorded
//! ones.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, bail};
use prowess_package::find::{FindOptions, FoundPackages, SourceEntry, SourceEntryKind, find};

/// A repository with the counts that finding must give.
struct Layout {
    /// Owner and name.
    repository: &'static str,
    /// The start of the commit id.
    commit: &'static str,
    /// SKILL.md files.
    files: usize,
    /// Different names of their folders.
    names: usize,
    /// Different names and contents; `None` if it is not recorded.
    distinct: Option<usize>,
}

const LAYOUTS: [Layout; 12] = [
    layout("anthropics/skills", "9d2f1ae18723", 18, 18, Some(18)),
    layout("openai/skills", "f6b8344b4e51", 10, 10, Some(10)),
    layout("cloudflare/skills", "73070f8d454c", 2, 2, Some(2)),
    layout("simota/agent-skills", "11befd9bedea", 43, 43, Some(43)),
    layout("garrytan/gstack", "85fd9db554ae", 61, 61, Some(61)),
    layout("hashicorp/agent-skills", "146815e19dec", 17, 17, Some(17)),
    layout("elastic/agent-skills", "9548ff5c4d77", 66, 33, Some(33)),
    layout("google/skills", "1af777529501", 169, 112, Some(112)),
    layout(
        "anthropics/claude-plugins-official",
        "340e33aef211",
        31,
        27,
        Some(31),
    ),
    layout(
        "anthropics/knowledge-work-plugins",
        "5267cf7bff30",
        212,
        192,
        Some(212),
    ),
    layout(
        "alirezarezvani/claude-skills",
        "7d493fed97e4",
        542,
        313,
        None,
    ),
    layout(
        "affaan-m/everything-claude-code",
        "c40b6c0cf596",
        771,
        232,
        Some(766),
    ),
];

const fn layout(
    repository: &'static str,
    commit: &'static str,
    files: usize,
    names: usize,
    distinct: Option<usize>,
) -> Layout {
    Layout {
        repository,
        commit,
        files,
        names,
        distinct,
    }
}

pub(crate) fn run(folder: &Path) -> Result<()> {
    println!(
        "{:38} {:>5} {:>5} {:>8}  usual  refused  linked",
        "repository", "files", "names", "distinct"
    );
    let mut faults = 0;
    for layout in &LAYOUTS {
        let file = folder.join(format!("{}.tsv", layout.repository.replace('/', "+")));
        let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let commit = text
            .lines()
            .next()
            .and_then(|line| line.split(' ').nth(2))
            .unwrap_or_default();
        if !commit.starts_with(layout.commit) {
            bail!("{} is of commit {commit}", file.display());
        }
        let found = search(&text, layout.repository, true)?;
        let usual = search(&text, layout.repository, false)?;
        let names: BTreeSet<&str> = found.packages.iter().map(|found| &*found.name).collect();
        let refused = found
            .packages
            .iter()
            .filter(|found| found.problem.is_some())
            .count();
        let linked: usize = found
            .packages
            .iter()
            .map(|found| found.linked_from.len())
            .sum();
        let counts = (found.places(), names.len(), found.packages.len());
        println!(
            "{:38} {:5} {:5} {:8}  {:5}  {refused:7}  {linked:6}",
            layout.repository,
            counts.0,
            counts.1,
            counts.2,
            usual.places()
        );
        let distinct = layout.distinct.unwrap_or(counts.2);
        if counts != (layout.files, layout.names, distinct) {
            println!(
                "  expected {}, {} and {distinct}",
                layout.files, layout.names
            );
            faults += 1;
        }
    }
    if faults > 0 {
        bail!("{faults} repositories have other counts");
    }
    Ok(())
}

fn search(text: &str, repository: &str, all_paths: bool) -> Result<FoundPackages> {
    let mut entries = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [mode, id, size, path, target @ ..] = columns.as_slice() else {
            bail!("a line with too few columns: {line}");
        };
        let kind = match *mode {
            "100644" => SourceEntryKind::File,
            "100755" => SourceEntryKind::Executable,
            "120000" => {
                SourceEntryKind::Link(target.first().copied().unwrap_or_default().to_owned())
            }
            "160000" => SourceEntryKind::Submodule,
            // Folders follow from their files.
            "040000" => continue,
            other => bail!("an unknown mode: {other}"),
        };
        entries.push(SourceEntry {
            path: (*path).to_owned(),
            kind,
            id: (*id).to_owned(),
            size: size.parse().unwrap_or(0),
        });
    }
    let options = FindOptions {
        source_name: repository.rsplit('/').next().unwrap_or_default(),
        all_paths,
    };
    Ok(find(entries, options, &mut |_| None)?)
}

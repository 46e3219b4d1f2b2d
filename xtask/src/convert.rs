//! Converts all projects and agent files of a collection, reads the result, and compares.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use prowess_diag::{FileReport, Severity};
use prowess_flow::convert::{Conversion, ConvertTarget, convert};
use prowess_flow::mission::{MissionProject, MissionSettings};
use prowess_flow::{AgentDef, Dialect};
use prowess_registry::{
    AgentPath, ConversionFiles, MissionFiles, agent_paths_below, read_agent_file,
};
use serde_json::Value;

/// The counts of a collection.
#[derive(Default)]
struct Tally {
    projects: usize,
    clean: usize,
    equal: usize,
    agents: usize,
    files: usize,
    lost: usize,
    faults: Vec<String>,
}

/// Converts what is below a folder.
pub(crate) fn run(folder: &Path) -> Result<()> {
    let mut paths = Vec::new();
    collect(folder, &mut paths)?;
    paths.sort();
    let mut tally = Tally::default();
    let mut folders: BTreeSet<PathBuf> = BTreeSet::new();
    for path in &paths {
        if path.extension().is_some_and(|ending| ending == "hcl") {
            project(path, &shown(folder, path), &mut tally)?;
            folders.extend(path.parent().map(Path::to_owned));
        }
    }
    for path in &folders {
        project(path, &shown(folder, path), &mut tally)?;
    }
    for path in paths.iter().filter(|path| path.ends_with("cases.jsonl")) {
        cases(path, &mut tally)?;
    }
    let mut dialects: BTreeMap<&str, usize> = BTreeMap::new();
    let (found, is_truncated) = agent_paths_below(folder);
    ensure!(!is_truncated, "too many files");
    for found in &found {
        *dialects.entry(found.dialect.as_str()).or_default() += 1;
        agent(found, &mut tally)?;
    }
    println!(
        "{} projects, {} without errors, {} with an equal plan after squadron to squadron",
        tally.projects, tally.clean, tally.equal
    );
    println!("{} agents in {dialects:?}", tally.agents);
    println!("{} files written, {} findings", tally.files, tally.lost);
    for fault in &tally.faults {
        println!("fault: {fault}");
    }
    ensure!(tally.faults.is_empty(), "{} faults", tally.faults.len());
    Ok(())
}

fn shown(folder: &Path, path: &Path) -> String {
    let inner = path.strip_prefix(folder).unwrap_or(path);
    inner.display().to_string()
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), paths)?;
        } else {
            paths.push(entry.path());
        }
    }
    Ok(())
}

fn settings() -> MissionSettings<'static> {
    MissionSettings::default()
}

fn errors(reports: &[FileReport]) -> usize {
    let findings = reports.iter().flat_map(|report| &report.diagnostics);
    findings
        .filter(|one| one.severity == Severity::Error && one.rule != "mission-unsupported")
        .count()
}

/// Returns a project without files and places.
fn facts(project: &MissionProject) -> Result<Value> {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(entries) => {
                entries.remove("place");
                entries.remove("files");
                entries.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(project)?;
    strip(&mut value);
    Ok(value)
}

/// Writes the files of a conversion into a temporary folder.
fn written(conversion: &Conversion) -> Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    for file in &conversion.files {
        let path = folder.path().join(&file.path);
        ensure!(!path.exists(), "{} is written twice", file.path);
        std::fs::create_dir_all(path.parent().context("a file has a folder")?)?;
        std::fs::write(path, &file.text)?;
    }
    Ok(folder)
}

fn converted(
    files: &ConversionFiles,
    project: Option<&MissionProject>,
    target: ConvertTarget,
    tally: &mut Tally,
) -> Result<Conversion> {
    let projects = files.open().map_err(|fault| anyhow::anyhow!("{fault:?}"))?;
    let source = files.source(&projects, project, &|path| path.display().to_string());
    let conversion = convert(&source, target);
    tally.files += conversion.files.len();
    let findings = conversion.reports.iter();
    tally.lost += findings
        .map(|report| report.diagnostics.len())
        .sum::<usize>();
    Ok(conversion)
}

fn project(path: &Path, shown: &str, tally: &mut Tally) -> Result<()> {
    let Ok(missions) = MissionFiles::read(path) else {
        return Ok(());
    };
    let read = missions.project(&settings());
    let (project, reports) = read.map_err(|fault| anyhow::anyhow!("{shown}: {fault:?}"))?;
    let files = ConversionFiles {
        missions: Some(missions),
        ..ConversionFiles::default()
    };
    tally.projects += 1;
    let is_clean = errors(&reports) == 0;
    tally.clean += usize::from(is_clean);
    for target in ConvertTarget::ALL {
        let conversion = converted(&files, Some(&project), target, tally)?;
        if target != ConvertTarget::Squadron || !is_clean {
            continue;
        }
        let folder = written(&conversion)?;
        for packet in &project.packets {
            std::fs::create_dir_all(folder.path().join(&*packet.path))?;
        }
        let back = MissionFiles::read(folder.path())
            .ok()
            .and_then(|files| files.project(&settings()).ok());
        let (back, reports) = back.with_context(|| format!("{shown}: no answer"))?;
        if errors(&reports) > 0 {
            let findings = reports.iter().flat_map(|report| &report.diagnostics);
            let first = findings.map(|one| one.message.to_string()).next();
            tally
                .faults
                .push(format!("{shown}: {}", first.unwrap_or_default()));
        } else if facts(&project)? == facts(&back)? {
            tally.equal += 1;
        } else {
            tally.faults.push(format!("{shown}: the plans differ"));
        }
    }
    Ok(())
}

/// Converts the cases of Squadron's own tests.
fn cases(path: &Path, tally: &mut Tally) -> Result<()> {
    for line in std::fs::read_to_string(path)?.lines() {
        let case: Value = serde_json::from_str(line)?;
        let folder = tempfile::tempdir()?;
        for (name, text) in case["files"].as_object().into_iter().flatten() {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().context("a file has a folder")?)?;
            std::fs::write(path, text.as_str().unwrap_or_default())?;
        }
        let id = case["id"].as_str().unwrap_or_default();
        project(folder.path(), id, tally)?;
    }
    Ok(())
}

/// Converts an agent file to Markdown and to Squadron, and reads both.
fn agent(found: &AgentPath, tally: &mut Tally) -> Result<()> {
    let shown = &found.path;
    let file = found.read();
    let file = file.map_err(|fault| anyhow::anyhow!("{shown}: {fault:?}"))?;
    let files = ConversionFiles {
        agents: vec![file],
        ..ConversionFiles::default()
    };
    let agents: Vec<&AgentDef> = files.agents.iter().flat_map(|file| &file.agents).collect();
    tally.agents += agents.len();
    let markdown = converted(&files, None, ConvertTarget::AgentsMd, tally)?;
    let folder = written(&markdown)?;
    let mut back = Vec::new();
    for file in &markdown.files {
        let read = read_agent_file(folder.path(), &file.path, Dialect::Claude);
        back.extend(read.map_err(|fault| anyhow::anyhow!("{fault:?}"))?.agents);
    }
    for agent in &agents {
        // In the form of Claude Code, `Agent` is not a tool.
        let mut tools = agent.tools.clone();
        if agent.dialect != Dialect::Claude {
            let list = tools.only.iter_mut();
            list.for_each(|list| list.retain(|tool| !tool.starts_with("Agent")));
        }
        let is_same = |one: &AgentDef| {
            one.name == agent.name
                && one.description.trim() == agent.description.trim()
                && one.prompt.trim() == agent.prompt.trim()
                && (&one.tools, &one.calls) == (&tools, &agent.calls)
        };
        if !back.iter().any(is_same) {
            tally
                .faults
                .push(format!("{shown}: `{}` differs in Markdown", agent.name));
        }
    }
    let squadron = converted(&files, None, ConvertTarget::Squadron, tally)?;
    if agents.is_empty() {
        return Ok(());
    }
    let folder = written(&squadron)?;
    let back = MissionFiles::read(folder.path())
        .ok()
        .and_then(|files| files.project(&settings()).ok());
    let (back, reports) = back.with_context(|| format!("{shown}: no answer"))?;
    if errors(&reports) > 0 || back.agents.len() != agents.len() {
        let findings = reports.iter().flat_map(|report| &report.diagnostics);
        let first = findings.map(|one| one.message.to_string()).next();
        tally
            .faults
            .push(format!("{shown}: squadron: {}", first.unwrap_or_default()));
    }
    Ok(())
}

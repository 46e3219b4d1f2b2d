//! Files and settings of other systems: which are read, and which are not.

use std::path::{Path, PathBuf};

use prowess_diag::{Severity, sanitize, wording};
use prowess_flow::json_keys;
use prowess_registry::agent_files;
use prowess_registry::resource::SkillFolder;

use super::health::{Check, State};
use crate::env::Environment;

/// Maximum size of a settings file that is read for its keys, in bytes.
const MOST: u64 = 1024 * 1024;
/// Maximum number of files of a kind that are named.
const MOST_NAMED: usize = 10;

/// A file of another system that is not read, or not completely.
struct OtherFile {
    path: &'static str,
    in_home: bool,
    /// Keys with what to use instead. Empty if the whole file is not read.
    keys: &'static [(&'static str, &'static str)],
    /// What to use instead of the file.
    hint: &'static str,
}

const FILES: [OtherFile; 8] = [
    OtherFile {
        path: ".planck/config.json",
        in_home: true,
        keys: &[
            ("skills_dirs", "`[skills] dirs`"),
            ("top_skills", "`[prompt] last-used`"),
            ("default_model", "`[model] name`"),
            ("providers", "`[model] keys`"),
            ("models", "`[model] name`"),
            ("teams_dirs", "`.planck/teams`"),
        ],
        hint: "",
    },
    OtherFile {
        path: ".agents/config.json",
        in_home: true,
        keys: &[
            ("permissions", "`[permissions]`"),
            ("model", "`[model] name`"),
            ("content_roots", "`[skills] dirs`"),
            ("tools", "`[permissions] deny`"),
            ("path_scope", "`[permissions]`"),
            ("url_scope", "`[permissions]`"),
            ("hooks", "`hooks` of skills"),
        ],
        hint: "",
    },
    OtherFile {
        path: ".agents/mcp.json",
        in_home: true,
        keys: &[],
        hint: "put the servers into `.mcp.json`",
    },
    OtherFile {
        path: ".agents/env.yaml",
        in_home: false,
        keys: &[],
        hint: "set the variables yourself; nothing checks that they are set",
    },
    OtherFile {
        path: ".core-agent/skills",
        in_home: true,
        keys: &[],
        hint: "add the folder to `[skills] dirs` in your own settings",
    },
    OtherFile {
        path: ".codex/config.toml",
        in_home: true,
        keys: &[],
        hint: "set the model and the rules in your own settings; roles in `.codex/agents` are read",
    },
    OtherFile {
        path: ".gemini/settings.json",
        in_home: true,
        keys: &[],
        hint: "set the model and the rules in your own settings; agents in `.gemini/agents` are read",
    },
    OtherFile {
        path: ".planck/skills.db",
        in_home: true,
        keys: &[],
        hint: "`prowess stats` counts from now on",
    },
];

/// Endings of files in the project that are not read.
const ENDINGS: [(&str, &str); 2] = [
    (".hcl", "Squadron's missions are not supported yet"),
    (".job_workflow.yaml", "job workflows are not supported"),
];

/// Variables of other systems that have no effect.
const VARIABLES: [(&str, &str); 4] = [
    ("PLANCK_SKILLS_DIRS", "set `PROWESS_SKILLS_PATH` instead"),
    ("PLANCK_TEAMS_DIRS", "put the teams into `.planck/teams`"),
    ("PLANCK_DEFAULT_MODEL", "set `[model] name` instead"),
    ("SKILLET_MODEL_RUNNER", "set `[model] name` instead"),
];

/// Reports the agents, and what is not read.
pub(super) fn checks(environment: &Environment, show: &dyn Fn(&Path) -> String) -> Vec<Check> {
    let mut checks = agents(environment, show);
    let project = Some(&environment.current);
    let home = environment.home.as_ref();
    for file in &FILES {
        let homes = home.filter(|home| file.in_home && project != Some(home));
        for root in project.into_iter().chain(homes) {
            let path = root.join(file.path);
            checks.extend(not_read(file, root, &path, show));
        }
    }
    for (ending, hint) in ENDINGS {
        let found = with_ending(&environment.current, ending);
        if let Some(first) = found.first() {
            let more = match found.len() - 1 {
                0 => String::new(),
                more => format!(" and {}", wording::count(more, "other file")),
            };
            let text = format!("{}{more}: not read", show(first));
            checks.push(Check::new("other", State::Odd, text).hint(hint));
        }
    }
    for (name, hint) in VARIABLES {
        if environment.variables.iter().any(|(key, _)| key == name) {
            let text = format!("`{name}` is set and has no effect");
            checks.push(Check::new("other", State::Odd, text).hint(hint));
        }
    }
    checks
}

/// Counts the agents, and names the files with errors.
fn agents(environment: &Environment, show: &dyn Fn(&Path) -> String) -> Vec<Check> {
    let files = agent_files(&environment.place());
    if files.is_empty() {
        return Vec::new();
    }
    let agents: usize = files.iter().map(|found| found.file.agents.len()).sum();
    let teams = files
        .iter()
        .filter(|found| found.file.team.is_some())
        .count();
    let mut text = wording::count(agents, "agent");
    if teams > 0 {
        text.push_str(&format!(" and {}", wording::count(teams, "team")));
    }
    text.push_str(&format!(" in {}", wording::count(files.len(), "file")));
    let mut checks = vec![Check::new("agents", State::Good, text)];
    for found in &files {
        let findings = found.file.reports.iter().flat_map(|one| &one.diagnostics);
        let errors = findings.filter(|one| one.severity == Severity::Error);
        let errors = errors.count();
        if errors > 0 && checks.len() <= MOST_NAMED {
            let path = show(&found.root.join(&*found.file.path));
            let text = format!("{path}: {}", wording::count(errors, "error"));
            let hint = wording::command(["prowess", "validate", &path]);
            checks.push(Check::new("agents", State::Odd, text).hint(format!("run {hint}")));
        }
    }
    checks
}

/// Reports a file, or the keys of it, that are not read.
fn not_read(
    file: &OtherFile,
    root: &Path,
    path: &Path,
    show: &dyn Fn(&Path) -> String,
) -> Option<Check> {
    path.symlink_metadata().ok()?;
    let shown = show(path);
    if file.keys.is_empty() {
        let text = format!("{shown}: not read");
        return Some(Check::new("other", State::Odd, text).hint(file.hint));
    }
    // A project may link to anything: read a bounded regular file below it.
    let bytes = SkillFolder::open(root).ok()?.bytes(file.path, MOST).ok()?;
    let keys = json_keys(std::str::from_utf8(&bytes).ok()?)?;
    let ignored = file
        .keys
        .iter()
        .filter(|(key, _)| keys.iter().any(|known| **known == **key));
    let ignored: Vec<String> = ignored
        .map(|(key, instead)| format!("`{key}` (use {instead})"))
        .collect();
    if ignored.is_empty() {
        return None;
    }
    let text = format!("{shown}: not read: {}", wording::all(ignored));
    Some(Check::new("other", State::Odd, sanitize::line(&text)))
}

/// Returns the files in a folder with an ending, sorted.
fn with_ending(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let has_ending = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.ends_with(ending))
    };
    let mut found: Vec<PathBuf> = entries
        .take(10_000)
        .map(|entry| entry.path())
        .filter(has_ending)
        .collect();
    found.sort();
    found
}

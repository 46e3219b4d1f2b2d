//! Files and settings of other systems: which are read, and which are not.

use std::path::{Path, PathBuf};

use prowess_catalog::Catalog;
use prowess_config::{
    CORE_AGENT_MCP_FILE, OtherSettings, agent_servers, project_mcp_files, read_mcp_file,
};
use prowess_diag::{Severity, sanitize, wording};
use prowess_registry::fs::skill_folders::project_folders;
use prowess_registry::resource::SkillFolder;
use prowess_tools::{UNKNOWN_SKILL, check_skills};

use super::health::{Check, State};
use crate::commands::agent;
use crate::env::Environment;
use crate::permissions;

/// Maximum size of an HCL file that is read for its blocks, in bytes.
const MOST: u64 = 1024 * 1024;
/// Maximum number of files or keys of a kind that are named.
const MOST_NAMED: usize = 10;

/// A file of another system that is not read.
struct OtherFile {
    path: &'static str,
    in_home: bool,
    /// What to use instead of the file.
    hint: &'static str,
}

const FILES: [OtherFile; 9] = [
    OtherFile {
        path: ".agents/env.yaml",
        in_home: false,
        hint: "set the variables yourself; nothing checks that they are set",
    },
    OtherFile {
        path: ".agents/env.json",
        in_home: false,
        hint: "set the variables yourself; nothing checks that they are set",
    },
    OtherFile {
        path: "AGENTS.d",
        in_home: false,
        hint: "put the instructions into `AGENTS.md`",
    },
    OtherFile {
        path: ".codex/config.toml",
        in_home: true,
        hint: "set the model and the rules in your own settings; roles in `.codex/agents` are read",
    },
    OtherFile {
        path: ".gemini/settings.json",
        in_home: true,
        hint: "set the model and the rules in your own settings; agents in `.gemini/agents` are read",
    },
    OtherFile {
        path: ".planck/skills.db",
        in_home: true,
        hint: "`prowess stats` counts from now on",
    },
    OtherFile {
        path: ".planck/sidecar",
        in_home: true,
        hint: "put its tools into an MCP server",
    },
    OtherFile {
        path: ".planck/commands",
        in_home: true,
        hint: "put the commands into `.claude/commands`",
    },
    OtherFile {
        path: ".planck/.env",
        in_home: true,
        hint: "set the variables in your shell",
    },
];

/// Variables of other systems that have no effect.
const VARIABLES: [(&str, &str); 5] = [
    (
        "PLANCK_SESSIONS_DIR",
        "sessions are in the database of Prowess",
    ),
    ("PLANCK_SIDECAR", "put its tools into an MCP server"),
    ("PLANCK_LOCALE", "there is one language"),
    ("SKILLET_MODEL_RUNNER", "set `[model] name` instead"),
    ("SKILLET_MAX_TURNS", "use `--budget` instead"),
];

/// Reports the agents, which settings of other systems count, and what is not read.
pub(super) fn checks(
    environment: &Environment,
    others: &[OtherSettings],
    skills: &Catalog,
    show: &dyn Fn(&Path) -> String,
) -> Vec<Check> {
    let mut checks = agents(environment, skills, show);
    for settings in others {
        checks.extend(counted(settings));
    }
    checks.extend(server_files(environment, show));
    let home = environment.home.as_deref();
    // As agents and settings are looked for: up to the repository.
    let folders = project_folders(&environment.current, home);
    for file in &FILES {
        let homes = home.filter(|_| file.in_home);
        for root in folders.iter().copied().chain(homes) {
            let path = root.join(file.path);
            if path.symlink_metadata().is_ok() {
                let text = format!("{}: not read", show(&path));
                checks.push(Check::new("other", State::Odd, text).hint(file.hint));
            }
        }
    }
    let hcl = with_ending(&environment.current, ".hcl");
    let missions = hcl.into_iter().filter(|path| is_squadron(path));
    let missions: Vec<PathBuf> = missions.collect();
    if let Some(files) = named_files(&missions, show) {
        let text = format!("{files}: read by `prowess mission`");
        let check = Check::new("other", State::Good, text);
        checks.push(check.hint("check the missions with `prowess mission plan`"));
    }
    let workflows = with_ending(&environment.current, ".job_workflow.yaml");
    let hint = "job workflows are not supported";
    checks.extend(not_read(&workflows, hint, show));
    for (name, hint) in VARIABLES {
        if environment.variables.iter().any(|(key, _)| key == name) {
            let text = format!("`{name}` is set and has no effect");
            checks.push(Check::new("other", State::Odd, text).hint(hint));
        }
    }
    checks
}

/// Reports what counts of a file, and what does not.
fn counted(settings: &OtherSettings) -> Vec<Check> {
    let mut checks = Vec::new();
    let keys = settings.used.iter().map(|key| format!("`{key}`"));
    let used = wording::all(keys.collect::<Vec<_>>());
    let name = &settings.name;
    if !used.is_empty() {
        let text = format!("{name}: {used} count");
        let text = match &*settings.used {
            [_] => format!("{text}s"),
            _ => text,
        };
        checks.push(Check::new("other", State::Good, sanitize::line(&text)));
    }
    let ignored = settings.ignored.iter().take(MOST_NAMED);
    let ignored = ignored.map(|one| format!("`{}` ({})", one.key, one.why));
    let mut ignored: Vec<String> = ignored.collect();
    if settings.ignored.len() > MOST_NAMED {
        let more = settings.ignored.len() - MOST_NAMED;
        ignored.push(wording::count(more, "other key"));
    }
    if !ignored.is_empty() {
        let text = format!("{name}: without effect: {}", wording::all(ignored));
        checks.push(Check::new("other", State::Odd, sanitize::line(&text)));
    }
    if checks.is_empty() {
        let text = format!("{name}: has no settings");
        checks.push(Check::new("other", State::Good, text));
    }
    checks
}

/// Reports `.agents/mcp.json` of core-agent.
fn server_files(environment: &Environment, show: &dyn Fn(&Path) -> String) -> Vec<Check> {
    let mut checks = Vec::new();
    let home = environment.home.as_deref();
    let own = home.map(|home| home.join(CORE_AGENT_MCP_FILE));
    if let Some(path) = own.filter(|path| path.is_file()) {
        checks.push(servers_of(&path, "used", show));
    }
    let project = project_mcp_files(&permissions::workspace(environment), home).into_iter();
    let project = project.filter(|path| path.ends_with(CORE_AGENT_MCP_FILE));
    for path in project {
        let what = "used after `prowess mcp trust`";
        checks.push(servers_of(&path, what, show));
    }
    checks
}

fn servers_of(path: &Path, what: &str, show: &dyn Fn(&Path) -> String) -> Check {
    let file = read_mcp_file(path);
    let servers = wording::count(file.servers.len(), "server");
    let mut text = format!("{}: {servers}, {what}", show(path));
    for fault in &file.faults {
        text.push_str(&format!("; {fault}"));
    }
    let state = match &*file.faults {
        [] => State::Good,
        _ => State::Odd,
    };
    Check::new("other", state, sanitize::line(&text))
}

/// Reports files that are not read.
fn not_read(found: &[PathBuf], hint: &str, show: &dyn Fn(&Path) -> String) -> Option<Check> {
    let text = format!("{}: not read", named_files(found, show)?);
    Some(Check::new("other", State::Odd, text).hint(hint))
}

/// Names the first file, and the number of the others.
fn named_files(found: &[PathBuf], show: &dyn Fn(&Path) -> String) -> Option<String> {
    let first = found.first()?;
    let more = match found.len() - 1 {
        0 => String::new(),
        more => format!(" and {}", wording::count(more, "other file")),
    };
    Some(format!("{}{more}", show(first)))
}

/// Returns `true` if an HCL file has a block of Squadron: Terraform, Packer and Nomad use HCL too.
fn is_squadron(path: &Path) -> bool {
    let folder = path
        .parent()
        .and_then(|folder| SkillFolder::open(folder).ok());
    let name = path.file_name().and_then(|name| name.to_str());
    let (Some(folder), Some(name)) = (folder, name) else {
        return false;
    };
    let Ok(bytes) = folder.bytes(name, MOST) else {
        return false;
    };
    let text = String::from_utf8_lossy(&bytes);
    text.lines().any(|line| {
        let block = ["mission", "agent", "skill"].iter();
        let mut rest = block.filter_map(|block| line.strip_prefix(block));
        rest.any(|rest| rest.trim_start().starts_with('"'))
    })
}

/// Counts the agents, and names the files with errors.
fn agents(
    environment: &Environment,
    skills: &Catalog,
    show: &dyn Fn(&Path) -> String,
) -> Vec<Check> {
    let mut files = agent::files(environment);
    for found in &mut files {
        check_skills(&mut found.file, skills, &environment.place());
    }
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
        let servers = found
            .file
            .agents
            .iter()
            .map(|agent| agent_servers(agent).len());
        let servers: usize = servers.sum();
        if servers > 0 && checks.len() <= MOST_NAMED {
            let path = show(&found.root.join(&*found.file.path));
            let servers = wording::count(servers, "MCP server");
            let text = format!("{path}: {servers}, for its agents only");
            checks.push(Check::new("agents", State::Good, text));
        }
    }
    for found in &files {
        let findings = found.file.reports.iter().flat_map(|one| &one.diagnostics);
        let errors = findings.filter(|one| one.severity == Severity::Error);
        let errors = errors.count();
        if errors > 0 && checks.len() <= 2 * MOST_NAMED {
            let path = show(&found.root.join(&*found.file.path));
            let text = format!("{path}: {}", wording::count(errors, "error"));
            let hint = wording::command(["prowess", "validate", &path]);
            checks.push(Check::new("agents", State::Odd, text).hint(format!("run {hint}")));
        }
    }
    for found in &files {
        let findings = found.file.reports.iter().flat_map(|one| &one.diagnostics);
        for finding in findings.filter(|finding| finding.rule == UNKNOWN_SKILL) {
            if checks.len() > 3 * MOST_NAMED {
                return checks;
            }
            let path = show(&found.root.join(&*found.file.path));
            let text = format!("{path}: {}", finding.message);
            let check = Check::new("agents", State::Odd, text);
            checks.push(match &finding.help {
                Some(help) => check.hint(&**help),
                None => check,
            });
        }
    }
    checks
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

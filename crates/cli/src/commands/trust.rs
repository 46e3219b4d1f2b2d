//! `prowess trust`

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::commands::mission::ReadProject;
use crate::commands::{agent, completions};
use crate::output::{Cell, Exit, Failure, Printer, Table};
use clap::Args;
use clap_complete::ArgValueCompleter;
use prowess::config::{CORE_AGENT_MCP_FILE, MCP_FILE};
use prowess::inspect::{self, TrustSection};
use prowess::validate::read_agent_file_at;
use prowess_catalog::Scope;
use prowess_catalog::skill::MAIN_FILES;
use prowess_diag::{review, sanitize, theme, wording};
use prowess_flow::mission::{MissionText, is_mission_file};
use prowess_flow::{AgentScope, Dialect};
use prowess_registry::{FoundAgentFile, MissionFiles, skill_path};
use prowess_trust::{
    AgentTrust, MissionTrust, TrustEntry, TrustError, TrustKind, TrustState, TrustStore,
    is_required, main_file_in, summarise,
};
use serde_json::{Value, json};

use crate::args::GlobalArgs;
use crate::env::Environment;
use crate::targets::{self, Meant};
use crate::trust_text::{self, short};
use crate::visible_skills::Library;
use crate::{permissions, usage_store};

#[derive(Debug, Args)]
#[command(
    about = "Show what skills and agents may do, and trust them\n\nSkills of a project cannot run commands until you trust them, and its agents do not run until you trust their file. Trust is stored outside the project and covers the exact contents of the skill, or of the agent file and the prompts, commands and servers that it names: it expires when a file changes, and this command then shows what changed.",
    after_help = "\
Examples:
  prowess trust                           show the trust of each skill here
  prowess trust csv-report                show what it may do, then ask
  prowess trust csv-report --revoke       revoke trust"
)]
pub(crate) struct TrustArgs {
    /// Names or folders of skills, or agent files (default: all of the project)
    #[arg(value_name = "PATH|NAME", add = ArgValueCompleter::new(completions::skills_and_paths))]
    pub(crate) skills: Vec<String>,
    /// Trust without asking if the digest starts with this (at least 12 digits)
    #[arg(long, value_name = "DIGEST", requires = "skills", conflicts_with_all = ["revoke", "list"])]
    pub(crate) digest: Option<String>,
    /// Revoke trust
    #[arg(long, requires = "skills", conflicts_with = "list")]
    pub(crate) revoke: bool,
    /// List all trusted skills, agent files and server files, in any project
    #[arg(long, conflicts_with = "skills")]
    pub(crate) list: bool,
    /// Print as JSON, without asking
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// The state of a skill whose files cannot be read.
const UNREADABLE: &str = "cannot be checked";
/// Minimum length of a digest prefix.
const SHORTEST: usize = 12;

pub(crate) fn run(
    args: &TrustArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let store = permissions::paths(environment).trust().ok_or_else(|| {
        Failure::new("cannot find a home folder for the trust store").hint("set `PROWESS_HOME`")
    })?;
    if args.list {
        return list(args, &store, environment, printer);
    }
    if args.skills.is_empty() {
        return overview(args, global, &store, environment, printer);
    }
    let mut exit = Exit::Done;
    let mut documents = Vec::new();
    let library = Library::open(global, environment, printer)?;
    for typed in &args.skills {
        if args.revoke {
            for (path, kind, had) in revoke(typed, &library, &store, global, environment, printer)?
            {
                documents.push(
                    json!({ "path": path.to_string_lossy(), "kind": kind.name(), "revoked": had }),
                );
                if args.json {
                    continue;
                }
                let shown = targets::display(&path, environment);
                printer.status(&match (kind, had) {
                    (TrustKind::Missions, true) => {
                        format!("Revoked trust in the mission files in {shown}")
                    }
                    (TrustKind::Missions, false) => {
                        format!("The mission files in {shown} were not trusted")
                    }
                    (_, true) => format!("Revoked trust in {shown}"),
                    (_, false) => format!("{shown} was not trusted"),
                });
            }
            continue;
        }
        let subjects = subjects(typed, &library, &store, global, environment, printer)?;
        // A digest is about one of them.
        let is_meant = |subject: &Subject| {
            let digest = args.digest.as_ref();
            digest.is_none_or(|digest| is_beginning(digest, &subject.digest))
        };
        let is_any_meant = subjects.iter().any(|(subject, _)| is_meant(subject));
        for (subject, store) in &subjects {
            if is_any_meant && !is_meant(subject) {
                continue;
            }
            let (document, ended) = one(subject, typed, args, store, environment, printer)?;
            documents.push(document);
            if ended != Exit::Done {
                exit = ended;
            }
        }
    }
    if args.json {
        printer.json(&json!({ "schema": "prowess.trust/1", "skills": documents }))?;
    }
    Ok(exit)
}

/// Revokes the trust in whatever has a record for a path: a skill, an agent file, the mission files of
/// a folder. None of them need exist any more. Returns what was revoked, or what was not trusted.
fn revoke(
    typed: &str,
    library: &Library,
    store: &TrustStore,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Vec<(PathBuf, TrustKind, bool)>, Failure> {
    let in_place = store.in_place();
    let revoke = |kind: TrustKind, path: &Path| {
        let mut had = store.revoke(kind, path).map_err(|error| fault(&error))?;
        // A record of this project leaves that of another checkout alone.
        if !had {
            had = in_place.revoke(kind, path).map_err(|error| fault(&error))?;
        }
        Ok::<_, Failure>((path.to_owned(), kind, had))
    };
    let mut all = Vec::new();
    let agent_path = agent_path(typed, library, environment);
    if let Some(path) = &agent_path {
        all.push(revoke(TrustKind::Agents, path)?);
    }
    if targets::skill_name(library, Path::new(typed)).is_none() {
        let path = environment.current.join(typed);
        let path = path.canonicalize().unwrap_or(path);
        let is_project = mission_path(typed, library, environment).is_some();
        let revoked = revoke(TrustKind::Missions, &path)?;
        all.extend((is_project || revoked.2).then_some(revoked));
        let read = is_project.then(|| ReadProject::read(Some(&path), global, environment));
        for folder in read
            .into_iter()
            .flatten()
            .flat_map(|read| skill_folders(&read))
        {
            let revoked = revoke(TrustKind::of_skill_at(&folder), &folder)?;
            all.extend(revoked.2.then_some(revoked));
        }
    }
    if agent_path.is_none() {
        match revoked(typed, library, environment, printer) {
            Ok(path) => {
                let kind = match path.file_name() {
                    Some(name) if name == MCP_FILE => TrustKind::Servers,
                    _ if path.ends_with(CORE_AGENT_MCP_FILE) => TrustKind::Servers,
                    _ => TrustKind::of_skill_at(&path),
                };
                all.push(revoke(kind, &path)?);
            }
            Err(failure) if all.is_empty() => return Err(failure),
            Err(_) => {}
        }
    }
    let has_any = all.iter().any(|(_, _, had)| *had);
    all.retain(|(_, _, had)| *had == has_any);
    Ok(all)
}

/// Returns all that can be trusted at a path, each with the store for it. A folder can be a skill and
/// have mission files.
fn subjects(
    typed: &str,
    library: &Library,
    store: &TrustStore,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Vec<(Subject, TrustStore)>, Failure> {
    let in_place = store.in_place();
    let mut subjects = Vec::new();
    let agent_path = agent_path(typed, library, environment);
    let mission_path = mission_path(typed, library, environment);
    let is_skill = |path: &PathBuf| path.join(main_file_in(path)).is_file();
    if let Some(path) = &agent_path {
        let subject = agent_subject(path, &in_place, environment)?;
        subjects.push((subject, in_place.clone()));
    } else if mission_path.as_ref().is_none_or(is_skill) {
        let path = folder(typed, library, environment, printer)?;
        // What this project does not use is trusted where it is.
        let store = if is_used(&path, library) {
            store.clone()
        } else {
            in_place.clone()
        };
        let subject = skill_subject(path, library, &store, environment)?;
        subjects.push((subject, store));
    }
    if let Some(path) = mission_path {
        let read = ReadProject::read(Some(&path), global, environment)?;
        let subject = mission_subject(&read, &in_place)?;
        subjects.push((subject, in_place.clone()));
        // The skills in folders that its blocks take. One of the library is trusted with the library.
        for folder in skill_folders(&read) {
            let is_known = |(known, _): &(Subject, TrustStore)| known.path == folder;
            if !subjects.iter().any(is_known) {
                let subject = skill_subject(folder, library, &in_place, environment)?;
                subjects.push((subject, in_place.clone()));
            }
        }
    }
    Ok(subjects)
}

/// A skill or an agent file that can be trusted.
struct Subject {
    path: PathBuf,
    state: TrustState,
    /// The reason why it needs no trust.
    exempt: Option<&'static str>,
    digest: String,
    files: usize,
    sections: Vec<TrustSection>,
    document: Value,
    /// The text if it has no sections, and the advice at the end.
    notes: [&'static str; 2],
    kind: SubjectKind,
}

enum SubjectKind {
    Skill(TrustKind),
    Agents(Box<AgentTrust>),
    Missions(Box<MissionTrust>),
}

impl Subject {
    /// Trusts it as it was shown.
    fn grant(&self, store: &TrustStore, now: u64) -> Result<(), TrustError> {
        match &self.kind {
            SubjectKind::Skill(kind) => {
                store.grant(*kind, &self.path, &self.digest, now)?;
                Ok(())
            }
            SubjectKind::Agents(trust) => trust.grant(store, now),
            SubjectKind::Missions(trust) => trust.grant(store, now),
        }
    }

    /// Describes its state.
    fn word(&self) -> &'static str {
        match self.exempt {
            Some(_) => "needs no trust",
            None => inspect::trust_word(&self.state),
        }
    }
}

/// Reads a skill and its trust.
fn skill_subject(
    path: PathBuf,
    library: &Library,
    store: &TrustStore,
    environment: &Environment,
) -> Result<Subject, Failure> {
    let kind = TrustKind::of_skill_at(&path);
    let state = store.state(kind, &path).map_err(|error| fault(&error))?;
    let changes = store.changes(&path, &state);
    let changes = changes.map_err(|error| fault(&error))?;
    let summary = summarise(&path).map_err(|error| fault(&error))?;
    Ok(Subject {
        exempt: exemption(&path, library, store, environment),
        digest: summary.digest.clone(),
        files: summary.files,
        sections: inspect::trust_sections(&changes, &summary),
        document: inspect::trust(&path, &state, &changes, &summary),
        notes: [
            "It requests no permissions, runs no commands and contains no scripts.",
            "Read the skill before you trust it: this list cannot show what its instructions make a model do.",
        ],
        kind: SubjectKind::Skill(kind),
        path,
        state,
    })
}

/// Reads an agent file and its trust.
fn agent_subject(
    path: &Path,
    store: &TrustStore,
    environment: &Environment,
) -> Result<Subject, Failure> {
    let shown = targets::display(path, environment);
    let real = |path: &Path| {
        let folder = path.parent()?.canonicalize().ok()?;
        Some(folder.join(path.file_name()?))
    };
    let wanted = real(path);
    // As the project knows it, so that `agent list` finds the same record.
    let known = agent::files(environment).into_iter();
    let known = known
        .filter(|found| !found.file.sources.is_empty())
        .find(|found| real(&found.root.join(&*found.file.path)) == wanted)
        .map(|found| (found.scope, found.file));
    let (scope, file) = if let Some(known) = known {
        known
    } else {
        let file = read_agent_file_at(path)
            .ok_or_else(|| Failure::new(format!("cannot read `{shown}`")))?;
        (AgentScope::Project, file)
    };
    if file.agents.is_empty() {
        let command = wording::command(["prowess", "validate", &shown]);
        return Err(Failure::new(format!("`{shown}` has no agents"))
            .hint(format!("see why with {command}")));
    }
    let project = permissions::workspace(environment);
    let trust = AgentTrust::new(scope, &file, Some(store), &project);
    let trust = trust.map_err(|error| fault(&error))?;
    let hidden = trust.hidden_text().map_err(|error| fault(&error))?;
    let files = trust.files().len();
    Ok(Subject {
        path: path.to_owned(),
        state: trust.state.clone().unwrap_or(TrustState::Never),
        exempt: (!trust.required).then_some("it is in your home folder"),
        digest: trust.digest.clone(),
        files,
        sections: inspect::agent_trust_sections(&file, &trust, &hidden, &project),
        document: inspect::agent_trust(&file, &trust, &hidden),
        notes: [
            "It has no agents.",
            "Read the instructions of the agents before you trust them: this list cannot show what they make a model do. Skills are trusted on their own.",
        ],
        kind: SubjectKind::Agents(Box::new(trust)),
    })
}

/// Returns the skill folders that the blocks of a project take.
fn skill_folders(read: &ReadProject) -> BTreeSet<PathBuf> {
    let folders = read
        .project
        .skills
        .iter()
        .filter_map(|skill| skill.folder.as_ref());
    folders.map(|folder| read.root.join(&**folder)).collect()
}

/// Describes the missions of a project and their trust.
fn mission_subject(read: &ReadProject, store: &TrustStore) -> Result<Subject, Failure> {
    let project = &read.project;
    let trust = MissionTrust::new(&read.root, project, Some(store));
    let trust = trust.map_err(|error| fault(&error))?;
    let hidden = trust.hidden_text().map_err(|error| fault(&error))?;
    let files = trust.files().len();
    Ok(Subject {
        path: read.root.clone(),
        state: trust.state.clone().unwrap_or(TrustState::Never),
        exempt: None,
        digest: trust.digest.clone(),
        files,
        sections: inspect::mission_trust_sections(project, &trust, &hidden),
        document: inspect::mission_trust(project, &trust, &hidden),
        notes: [
            "It has no missions.",
            "Read the instructions of the agents before you trust them: this list cannot show what they make a model do. Skills in folders are trusted on their own.",
        ],
        kind: SubjectKind::Missions(Box::new(trust)),
    })
}

/// Returns the folder of a mission project, or `None` if something else was typed.
fn mission_path(typed: &str, library: &Library, environment: &Environment) -> Option<PathBuf> {
    if targets::skill_name(library, Path::new(typed)).is_some() {
        return None;
    }
    let path = environment.current.join(typed).canonicalize().ok()?;
    if !path.is_dir() {
        return None;
    }
    let files = MissionFiles::read(&path).ok()?;
    // The folder of a skill may have other `.hcl` files.
    let is_mission = |file: &MissionText| file.bytes.as_ref().is_ok_and(|it| is_mission_file(it));
    let is_skill = path.join(main_file_in(&path)).is_file();
    let mut files_of_project = files.files.iter();
    let has_any = if is_skill {
        files_of_project.any(is_mission)
    } else {
        !files.files.is_empty()
    };
    has_any.then_some(files.root)
}

/// Returns the path of an agent file, or `None` if something else was typed. The file need not exist
/// any more. A folder with a `TEAM.json` is a team.
fn agent_path(typed: &str, library: &Library, environment: &Environment) -> Option<PathBuf> {
    let path = environment.current.join(typed);
    // A skill can have any other name, also that of an agent file.
    if Dialect::of(path.to_str()?).is_some() && !path.is_dir() {
        return Some(path);
    }
    if targets::skill_name(library, Path::new(typed)).is_some() {
        return None;
    }
    let team = path.join("TEAM.json");
    let is_team = team.is_file() && !path.join(main_file_in(&path)).is_file();
    is_team.then_some(team)
}

/// Shows a skill or an agent file, and trusts it if the user or a flag confirms.
fn one(
    subject: &Subject,
    typed: &str,
    args: &TrustArgs,
    store: &TrustStore,
    environment: &Environment,
    printer: &Printer,
) -> Result<(Value, Exit), Failure> {
    let mut document = subject.document.clone();
    document["state"] = subject.word().into();
    let show = || {
        let width = printer.list_width();
        printer.answer(&text(subject, environment, width))
    };
    if subject.exempt.is_some() || subject.state.is_trusted() {
        if !args.json {
            show()?;
            printer.status(&match subject.exempt {
                Some(why) => format!("Needs no trust: {why}"),
                None => "Already trusted".to_owned(),
            });
        }
        return Ok((document, Exit::Done));
    }
    let agreed = match &args.digest {
        Some(digest) => {
            if !is_beginning(digest, &subject.digest) {
                return Err(Failure::new(format!("`--digest` does not match `{typed}`"))
                    .cause(format!("the digest is {}", subject.digest))
                    .hint(format!(
                        "review it again with {}",
                        wording::command(["prowess", "trust", typed])
                    )));
            }
            true
        }
        None if args.json => false,
        None => {
            show()?;
            let question = question(subject, environment);
            let Some(answer) = permissions::ask(&question, "y/N") else {
                let short = short(&subject.digest);
                printer.note(
                    "not trusted: confirmation requires a terminal",
                    &format!(
                        "to trust this exact version, run {}",
                        wording::command(["prowess", "trust", typed, "--digest", short])
                    ),
                );
                return Ok((document, Exit::Denied));
            };
            matches!(answer.as_str(), "y" | "yes")
        }
    };
    if agreed {
        let now = u64::try_from(usage_store::now() / 1_000_000_000).unwrap_or_default();
        subject.grant(store, now).map_err(|error| fault(&error))?;
        document["state"] = "trusted".into();
        if !args.json {
            let shown = targets::display(&subject.path, environment);
            printer.status(&format!("Trusted {shown}"));
        }
        return Ok((document, Exit::Done));
    }
    Ok((document, if args.json { Exit::Done } else { Exit::No }))
}

/// Returns the reason why a skill needs no trust, or `None` if it does.
fn exemption(
    path: &Path,
    library: &Library,
    store: &TrustStore,
    environment: &Environment,
) -> Option<&'static str> {
    let catalog = library.catalog();
    let entry = (catalog.entries().iter())
        .find(|entry| skill_path(&entry.skill).is_some_and(|known| known == path))?;
    if is_required(
        &entry.skill,
        &permissions::workspace(environment),
        Some(store),
    ) {
        return None;
    }
    Some(match entry.skill.id.origin.scope {
        Scope::User => "it is in your home folder",
        Scope::Extra => "you added its folder",
        _ => "it is part of the program",
    })
}

fn is_beginning(typed: &str, digest: &str) -> bool {
    let plain = |text: &str| text.strip_prefix("sha256:").unwrap_or(text).to_owned();
    let typed = plain(typed);
    typed.len() >= SHORTEST && plain(digest).starts_with(&typed)
}

/// Resolves a name or path to the folder of a skill.
fn folder(
    typed: &str,
    library: &Library,
    environment: &Environment,
    printer: &Printer,
) -> Result<PathBuf, Failure> {
    let is_known = library.catalog().resolve(typed).is_ok() || Path::new(typed).exists();
    if let Some(path) = crew_skill(typed, environment).filter(|_| !is_known) {
        return Ok(path);
    }
    let path = match targets::resolve_skill_in(library, Path::new(typed), environment, printer)? {
        Meant::Path(path) if path.is_dir() && !path.join(main_file_in(&path)).is_file() => {
            let shown = targets::display(&path, environment);
            Err(
                Failure::new(format!("`{shown}` is not a skill: it has no SKILL.md"))
                    .hint("pass the folder of a skill; `prowess trust` lists those of the project"),
            )
        }
        Meant::Path(path) if MAIN_FILES.iter().any(|name| path.ends_with(name)) => {
            Ok(path.parent().map_or_else(|| path.clone(), Path::to_owned))
        }
        Meant::Path(path) => Ok(path),
        Meant::Skill { path, .. } => return Ok(path),
        Meant::Memory { .. } => Err(Failure::new(format!(
            "`{typed}` is bundled with Prowess and needs no trust"
        ))
        .hint("list the skills that need trust with `prowess trust`")),
    }?;
    Ok(known_path(path, library))
}

/// Returns the folder of a skill that only the agents of a crew have.
fn crew_skill(name: &str, environment: &Environment) -> Option<PathBuf> {
    let files = agent::files(environment);
    files.iter().find_map(|found| {
        let mut folders = found.file.agents.iter().flat_map(|one| &one.skill_folders);
        let (_, folder) = folders.find(|(known, _)| **known == *name)?;
        Some(found.root.join(&**folder))
    })
}

/// Returns the path at which the library uses a skill. Trust is bound to that path, and the typed one
/// may be the target of the link that is used.
fn known_path(path: PathBuf, library: &Library) -> PathBuf {
    let Ok(real) = std::fs::canonicalize(&path) else {
        return path;
    };
    let catalog = library.catalog();
    let known = catalog
        .entries()
        .iter()
        .filter_map(|entry| skill_path(&entry.skill));
    let same: Vec<PathBuf> = known
        .filter(|known| std::fs::canonicalize(known).is_ok_and(|known| known == real))
        .collect();
    let is_typed = |known: &PathBuf| std::path::absolute(&path).is_ok_and(|path| path == **known);
    match &*same {
        [only] => only.clone(),
        // Several links to one skill: as typed.
        _ => same
            .iter()
            .find(|known| is_typed(known))
            .cloned()
            .unwrap_or(path),
    }
}

/// Returns `true` if the project uses the skill at this path.
fn is_used(path: &Path, library: &Library) -> bool {
    let catalog = library.catalog();
    let mut known = catalog
        .entries()
        .iter()
        .filter_map(|entry| skill_path(&entry.skill));
    known.any(|known| known == *path)
}

/// Resolves the folder whose trust is revoked; the folder may no longer exist.
fn revoked(
    typed: &str,
    library: &Library,
    environment: &Environment,
    printer: &Printer,
) -> Result<PathBuf, Failure> {
    let is_known = library.catalog().resolve(typed).is_ok();
    if typed.contains('/') && !is_known && !Path::new(typed).exists() {
        return Ok(environment.current.join(typed));
    }
    folder(typed, library, environment, printer)
}

fn fault(error: &TrustError) -> Failure {
    let base = Failure::new(error.to_string());
    match std::error::Error::source(error) {
        Some(cause) => base.cause(cause),
        None => base,
    }
}

/// Returns the question. It repeats the path and the alarming sections: the summary may be longer
/// than the screen.
fn question(subject: &Subject, environment: &Environment) -> String {
    let notes = trust_text::alarms(&subject.sections);
    let path = review::line(&targets::display(&subject.path, environment));
    let digest = short(&subject.digest);
    format!("{path}, {digest}\n{notes}Trust this exact version?")
}

/// Describes what trusting it would allow.
fn text(subject: &Subject, environment: &Environment, width: usize) -> String {
    let (strong, bad, dim) = (theme::STRONG, theme::bold(theme::BAD), theme::DIM);
    let mut text = format!(
        "{strong}{}{strong:#}  {dim}{}, {}, {}{dim:#}\n",
        sanitize::line(&targets::display(&subject.path, environment)),
        subject.word(),
        wording::count(subject.files, "file"),
        short(&subject.digest),
    );
    if let TrustState::Damaged { path, why } = &subject.state {
        text.push_str(&format!(
            "{bad}damaged{bad:#}  {}: {}\n",
            sanitize::line(&targets::display(path, environment)),
            sanitize::line(&why.to_string())
        ));
    }
    text.push_str(&trust_text::sections(&subject.sections, "\n", width, 2));
    if text.lines().count() == 1 {
        text.push_str(&format!("\n{}\n", subject.notes[0]));
    }
    text.push_str(&format!("\n{}\n", subject.notes[1]));
    text
}

/// Lists the skills of the project and their trust.
fn overview(
    args: &TrustArgs,
    global: &GlobalArgs,
    store: &TrustStore,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let library = Library::open(global, environment, printer)?;
    let catalog = library.catalog();
    let project = permissions::workspace(environment);
    let mut rows = Vec::new();
    for entry in catalog
        .entries()
        .iter()
        .filter(|entry| is_required(&entry.skill, &project, Some(store)))
    {
        let Some(path) = skill_path(&entry.skill) else {
            continue;
        };
        let found = store
            .state(TrustKind::of_form(entry.skill.form), &path)
            .and_then(|state| Ok((store.changes(&path, &state)?, state)));
        rows.push((entry.name().to_owned(), path, found));
    }
    let agents = project_agents(store, environment);
    if args.json {
        let skills: Vec<Value> = rows
            .iter()
            .map(|(name, path, found)| match found {
                Ok((changes, state)) => {
                    json!({ "name": name, "path": path.to_string_lossy(), "state": inspect::trust_word(state), "changes": inspect::trust_changes(changes) })
                }
                Err(error) => {
                    json!({ "name": name, "path": path.to_string_lossy(), "state": UNREADABLE, "changes": [], "fault": error.to_string() })
                }
            })
            .collect();
        let agents: Vec<Value> = agents
            .iter()
            .map(|(found, trust)| {
                let names = found.file.agents.iter();
                json!({
                    "path": trust.path.to_string_lossy(),
                    "agents": names.map(|agent| agent.name.as_str()).collect::<Vec<_>>(),
                    "state": inspect::agent_trust_word(trust),
                    "changes": inspect::trust_changes(&trust.changes),
                })
            })
            .collect();
        printer
            .json(&json!({ "schema": "prowess.trust/1", "skills": skills, "agents": agents }))?;
        return Ok(Exit::Done);
    }
    if rows.is_empty() && agents.is_empty() {
        printer.status("No skills here need trust");
        return Ok(Exit::Done);
    }
    if rows.is_empty() {
        return agent_table(&agents, environment, printer);
    }
    let mut table = Table::new(&["SKILL", "TRUST", "PATH"]);
    for (name, path, found) in &rows {
        let (word, color) = match found {
            Ok((_, state)) => {
                let color = match state {
                    TrustState::Trusted(_) => theme::GOOD,
                    TrustState::Never => theme::WARNING,
                    TrustState::Lapsed(_) | TrustState::Damaged { .. } => theme::BAD,
                };
                (inspect::trust_word(state), color)
            }
            Err(error) => {
                printer.warn(&format!("cannot check {}: {error}", wording::tick(name)));
                (UNREADABLE, theme::BAD)
            }
        };
        table.row(vec![
            Cell::styled(name, theme::ACCENT.on_default()),
            Cell::styled(word, color.on_default()),
            Cell::styled(&targets::display(path, environment), theme::DIM),
        ]);
    }
    printer.answer(&table.render(printer.width()))?;
    let trusted = rows
        .iter()
        .filter(|(_, _, found)| found.as_ref().is_ok_and(|(_, state)| state.is_trusted()))
        .count();
    let total = wording::count(rows.len(), "skill");
    printer.status(&format!(
        "{total}, {trusted} trusted; review one with `prowess trust NAME`"
    ));
    if !agents.is_empty() {
        printer.answer("\n")?;
        agent_table(&agents, environment, printer)?;
    }
    Ok(Exit::Done)
}

/// Returns the agent files of the project, with their trust.
fn project_agents(
    store: &TrustStore,
    environment: &Environment,
) -> Vec<(FoundAgentFile, AgentTrust)> {
    let project = permissions::workspace(environment);
    let files = agent::files(environment).into_iter();
    files
        .filter(|found| !found.file.agents.is_empty())
        .filter_map(|found| {
            let trust = AgentTrust::new(found.scope, &found.file, Some(store), &project).ok()?;
            trust.required.then_some((found, trust))
        })
        .collect()
}

/// Lists agent files and their trust.
fn agent_table(
    agents: &[(FoundAgentFile, AgentTrust)],
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let mut table = Table::new(&["AGENT FILE", "TRUST", "AGENTS"]);
    for (found, trust) in agents {
        let color = match &trust.state {
            Some(TrustState::Trusted(_)) => theme::GOOD,
            Some(TrustState::Never) | None => theme::WARNING,
            Some(TrustState::Lapsed(_) | TrustState::Damaged { .. }) => theme::BAD,
        };
        let names = found.file.agents.iter().map(|agent| agent.name.as_str());
        table.row(vec![
            Cell::styled(
                &targets::display(&trust.path, environment),
                theme::ACCENT.on_default(),
            ),
            Cell::styled(inspect::agent_trust_word(trust), color.on_default()),
            Cell::styled(&names.collect::<Vec<_>>().join(", "), theme::DIM),
        ]);
    }
    printer.answer(&table.render(printer.width()))?;
    let trusted = agents.iter().filter(|(_, trust)| trust.is_trusted());
    let trusted = trusted.count();
    let total = wording::count(agents.len(), "agent file");
    printer.status(&format!(
        "{total}, {trusted} trusted; review one with `prowess trust FILE`"
    ));
    Ok(Exit::Done)
}

fn list(
    args: &TrustArgs,
    store: &TrustStore,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let entries = store.list().map_err(|error| fault(&error))?;
    if args.json {
        printer.json(&inspect::trusted_skills(&entries))?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["PATH", "KIND", "DIGEST", "SINCE"]);
    let mut count = 0;
    for entry in &entries {
        match entry {
            TrustEntry::Record(record) => {
                count += 1;
                let since = i64::try_from(record.since)
                    .unwrap_or_default()
                    .saturating_mul(1_000_000_000);

                table.row(vec![
                    Cell::styled(
                        &targets::display(Path::new(&record.path), environment),
                        theme::ACCENT.on_default(),
                    ),
                    Cell::new(record.kind.unwrap_or(TrustKind::Skill).name()),
                    Cell::new(short(&record.digest)),
                    Cell::new(&wording::ago(usage_store::now(), since)),
                ]);
            }
            TrustEntry::Damaged { path, why } => {
                let shown = targets::display(path, environment);
                printer.warn(&format!("ignoring damaged trust record `{shown}`: {why}"));
            }
        }
    }
    if count == 0 {
        printer.status("No trusted skills yet");
    } else {
        printer.answer(&table.render(printer.width()))?;
        printer.status(&format!("{} trusted", wording::count(count, "path")));
    }
    Ok(Exit::Done)
}

//! `prowess why`

use std::path::Path;

use clap::Args;
use clap_complete::{ArgValueCandidates, ArgValueCompleter};
use prowess::inspect::{self, WhyAnswer, WhyQuestion};
use prowess_catalog::index::IndexFormat;
use prowess_catalog::{
    Audience, Catalog, CatalogEntry, CatalogView, Location, SkillForm, SkillNotFound,
};
use prowess_diag::{sanitize, theme, wording};
use prowess_package::status::{PackageState, PackageStatus};
use prowess_policy::{Decision, Effect, Gate, Verdict};
use prowess_registry::SourceFaultKind;
use prowess_registry::fs::skill_folders;
use prowess_search::SearchQuery;
use prowess_tools::SkillHandle;
use prowess_tui::hints::why_hints;
use serde_json::json;

use crate::args::GlobalArgs;
use crate::commands::completions;
use crate::env::Environment;
use crate::output::{Exit, Failure, Printer, wrap};
use crate::runtime_setup::Setup;
use crate::visible_skills::{Library, not_found};
use crate::{packages, permissions, targets};

#[derive(Debug, Args)]
#[command(
    about = "Explain why a skill is listed, hidden, omitted or not found\n\nThe exit code is 1 if models do not see the skill: it is hidden, or the listing has no room for its name. With `--session`, explains a turn of a session, or what the model was told about the skill in it.",
    after_help = "\
Examples:
  prowess why release-notes                          explain its visibility
  prowess why release-notes --query \"what changed\"   explain its rank"
)]
pub(crate) struct WhyArgs {
    /// Name of a skill, optionally qualified (e.g. `user:pdf`), or its folder
    #[arg(value_name = "NAME|PATH", required_unless_present = "session", add = ArgValueCompleter::new(completions::skills_and_paths))]
    pub(crate) name: Option<String>,
    /// Explain a turn of this session: tools, skills, decisions, cost; with a name, the skill in it
    #[arg(long, value_name = "ID", conflicts_with_all = ["query", "agent"])]
    pub(crate) session: Option<String>,
    /// Turn to explain (default: the last)
    #[arg(long, value_name = "N", requires = "session")]
    pub(crate) turn: Option<u32>,
    /// Show its rank for this query
    #[arg(long, value_name = "WORDS")]
    pub(crate) query: Option<String>,
    /// Explain for this configured agent
    #[arg(long, value_name = "AGENT", add = ArgValueCandidates::new(completions::agents))]
    pub(crate) agent: Option<String>,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Width of the label column.
const COLUMN: usize = 12;

pub(crate) fn run(
    args: &WhyArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    if let Some(session) = &args.session {
        let setup = Setup::open(global, environment, printer)?;
        return match &args.name {
            Some(name) => in_session(name, session, args, &setup, printer),
            None if args.json => Err(Failure::new(
                "`--json` with `--session` requires the name of a skill",
            )
            .hint(format!(
                "see all events with `prowess session export {session}`"
            ))),
            None => super::session::why(session, args.turn, &setup, printer),
        };
    }
    let name = args.name.as_deref().unwrap_or_default();
    let library = Library::open(global, environment, printer)?;
    let setup = Setup::new(library.clone(), args.agent.as_deref(), environment)?;
    let context = setup.starting_context(None);
    let policy = &context.settings.visibility;
    let catalog = library.catalog();
    let entry = match catalog.resolve(name) {
        Ok(entry) => entry,
        Err(fault) => match at_path(&catalog, Path::new(name)).or(in_folder(&catalog, name)) {
            Some(entry) => entry,
            None => {
                return unreadable(args, &library, environment, printer)
                    .or_else(|| not_installed(args, environment, printer))
                    .unwrap_or_else(|| Err(unseen(&fault)));
            }
        },
    };
    let ranked = || {
        let view = CatalogView::new(&catalog, policy, Audience::Model);
        prowess::ranked_skills(&context, &view)
    };
    let hits = args.query.as_deref().map(|words| {
        library.registry.search(&SearchQuery {
            limit: 0,
            ..SearchQuery::new(words)
        })
    });
    let mut answers = inspect::why(&WhyQuestion {
        catalog: &catalog,
        policy,
        entry,
        index: &|| prowess::starting_index(&context, IndexFormat::default()),
        ranked: &ranked,
        query: args.query.as_deref().zip(hits.as_deref()),
        show: &|path| targets::display(path, environment),
    });
    let hidden = library.hidden_by_project().into_iter();
    let hidden = hidden.filter(|(hidden, _)| hidden.skill.id == entry.skill.id);
    answers.lines.extend(hidden.map(|(_, text)| WhyAnswer {
        about: "project",
        text,
    }));
    let package = entry.skill.path();
    let package = package.and_then(|path| packages::status_of(&path, environment));
    answers
        .lines
        .extend(package.iter().flat_map(package_answers));
    let gate = permissions::paths(environment).gate(&library.config);
    let permission = permission(&gate, entry);
    answers
        .lines
        .extend(permission.as_ref().map(|(_, text)| WhyAnswer {
            about: "permission",
            text: text.clone(),
        }));
    let obstacle = context.read(&entry.skill).ok().and_then(|snapshot| {
        prowess_tools::hook_obstacle(&context, &snapshot.effects.hooks, &snapshot.trust)
    });
    answers.lines.extend(obstacle.map(|text| WhyAnswer {
        about: "hooks",
        text,
    }));
    if args.json {
        let mut document = answers.document(&catalog, entry);
        let permission = permission.map(|(decision, _)| inspect::decision(&decision, None));
        document["permission"] = permission.unwrap_or_default();
        document["package"] = package.as_ref().map(packages::status_document).into();
        printer.json(&document)?;
    } else {
        printer.answer(&text(entry.name(), &answers.lines, printer))?;
    }
    Ok(if answers.is_seen() {
        Exit::Done
    } else {
        Exit::No
    })
}

/// Explains what the model was told about a skill in a session.
fn in_session(
    name: &str,
    session: &str,
    args: &WhyArgs,
    setup: &Setup,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let (id, events) = super::session::events(session, setup)?;
    let mut why = why_hints(&events, name, args.turn);
    if !why.is_known
        && let Err(fault) = setup.services.registry.snapshot().resolve(name)
    {
        return Err(unseen(&fault));
    }
    if args.json {
        why.document["session"] = json!(id);
        printer.json(&why.document)?;
    } else {
        let lines = why.lines.into_iter();
        let lines: Vec<WhyAnswer> = lines
            .map(|(about, text)| WhyAnswer { about, text })
            .collect();
        printer.answer(&text(name, &lines, printer))?;
    }
    Ok(if why.is_seen { Exit::Done } else { Exit::No })
}

/// Explains a skill that exists but cannot be read.
fn unreadable(
    args: &WhyArgs,
    library: &Library,
    environment: &Environment,
    printer: &Printer,
) -> Option<Result<Exit, Failure>> {
    let report = library.registry.report();
    let typed = args.name.as_deref().map(Path::new)?;
    let real = std::fs::canonicalize(typed).ok();
    let is_meant = |location: &Location| {
        let file = &*location.path();
        let folder = file.parent();
        let is_path = real.as_deref().is_some_and(|real| {
            let place = [Some(file), folder];
            let mut places = place.into_iter().flatten();
            places.any(|place| std::fs::canonicalize(place).is_ok_and(|place| place == real))
        });
        is_path || folder.and_then(Path::file_name) == Some(typed.as_os_str())
    };
    let fault = report
        .faults
        .iter()
        .find(|fault| is_meant(&fault.location))?;
    let printed = if args.json {
        let fault = json!({
            "location": fault.location.text(),
            "kind": fault.why.as_str(),
            "why": fault.why.to_string(),
        });
        printer.json(&json!({ "schema": "prowess.why/1", "name": args.name, "fault": fault }))
    } else {
        let path = targets::display(&fault.location.path(), environment);
        let command = format!("prowess validate {}", wording::shell_word(&path));
        let is_no_skill = matches!(fault.why, SourceFaultKind::NotASkill(_));
        let models = is_no_skill.then(|| WhyAnswer {
            about: "models",
            text: "do not see it: it is not a skill".to_owned(),
        });
        let place = WhyAnswer {
            about: "place",
            text: path,
        };
        let problem = WhyAnswer {
            about: "problem",
            text: format!("{}; run `{command}`", fault.why),
        };
        let answers: Vec<WhyAnswer> = [place].into_iter().chain(models).chain([problem]).collect();
        printer.answer(&text(
            args.name.as_deref().unwrap_or_default(),
            &answers,
            printer,
        ))
    };
    Some(printed.map(|()| Exit::No))
}

/// Describes a package: its version, source and state, and what to type if it is not loaded.
fn package_answers(status: &PackageStatus) -> Vec<WhyAnswer> {
    let answer = |about, text| WhyAnswer { about, text };
    let mut answers = vec![answer("package", packages::describe_status(status))];
    if let Some(fault) = &status.fault {
        let text = format!("not loaded: {fault}");
        answers.push(answer("lockfile", text));
    }
    answers.extend(status.hint().map(|hint| answer("next", hint)));
    answers
}

/// Explains a package that is not on disk, or whose lockfile cannot be read.
fn not_installed(
    args: &WhyArgs,
    environment: &Environment,
    printer: &Printer,
) -> Option<Result<Exit, Failure>> {
    let name = args.name.as_deref()?;
    let status = packages::unlisted(name, environment)?;
    let printed = if args.json {
        let package = packages::status_document(&status);
        printer.json(&json!({ "schema": "prowess.why/1", "name": name, "package": package }))
    } else {
        let mut answers = vec![WhyAnswer {
            about: "models",
            text: match status.state {
                PackageState::Absent => "do not see it: it is not on disk",
                _ => "do not see it: its lockfile cannot be read",
            }
            .to_owned(),
        }];
        answers.extend(package_answers(&status));
        printer.answer(&text(name, &answers, printer))
    };
    Some(printed.map(|()| Exit::No))
}

/// Returns the skill at a path.
fn at_path<'a>(catalog: &'a Catalog, path: &Path) -> Option<&'a CatalogEntry> {
    let real = std::fs::canonicalize(path).ok()?;
    let is_here = |entry: &&CatalogEntry| {
        let file = entry
            .skill
            .file()
            .and_then(|file| std::fs::canonicalize(file).ok());
        file.is_some_and(|file| file == real || file.parent() == Some(&real))
    };
    // The folder of a single-file command is not the command itself.
    let holds_it = |entry: &&CatalogEntry| entry.skill.form == SkillForm::Folder || real.is_file();
    catalog.entries().iter().filter(holds_it).find(is_here)
}

/// Returns a skill whose folder has this name, but whose frontmatter has another one.
fn in_folder<'a>(catalog: &'a Catalog, name: &str) -> Option<&'a CatalogEntry> {
    let is_folder = |entry: &&CatalogEntry| {
        let skill = &entry.skill;
        skill.alias.is_some() && skill.id.path.rsplit('/').next() == Some(name)
    };
    catalog.entries().iter().find(is_folder)
}

/// Explains which folders are searched, and how to make the skill visible.
fn unseen(fault: &SkillNotFound) -> Failure {
    let folders = wording::all(skill_folders::SKILL_FOLDERS.iter().map(wording::tick));
    let searched = format!(
        "skills are loaded from {folders} in the current folder, its parents up to the repository root, and your home folder"
    );
    let named = Path::new(&*fault.name);
    let is_skill = |folder: &Path| folder.join("SKILL.md").is_file();
    let named = if named.ends_with("SKILL.md") {
        named.parent().unwrap_or(named)
    } else {
        named
    };
    let places = [named.to_owned(), Path::new("skills").join(named)];
    let Some(folder) = places.iter().find(|folder| is_skill(folder)) else {
        let error = not_found(fault);
        let is_near = !fault.near.is_empty();
        let where_else = |error: Failure| {
            error
                .hint(searched)
                .hint("add a folder with `--skills-dir DIR`")
        };
        return if is_near { error } else { where_else(error) };
    };
    let shown = folder.display().to_string();
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let above = folder
        .parent()
        .filter(|above| !above.as_os_str().is_empty());
    let above = above.unwrap_or(Path::new(".")).display().to_string();
    let error = format!(
        "{} is a skill, but its folder is not searched",
        wording::tick(&shown)
    );
    Failure::new(error)
        .hint(format!("move it to `.agents/skills/{name}`"))
        .hint(format!(
            "or add its folder: `prowess why {} --skills-dir {}`",
            wording::shell_word(&name),
            wording::shell_word(&above)
        ))
        .hint(searched)
}

/// Formats the answers, one per line.
/// Explains the rules about loading a skill. Returns `None` if no rule is about it.
fn permission(gate: &Gate, entry: &CatalogEntry) -> Option<(Decision, String)> {
    let decision = prowess_tools::load_rules(gate, &SkillHandle::new(entry.name(), entry));
    let what = match decision.verdict {
        Verdict::Allow => "models load it without a prompt",
        Verdict::Ask => "models need approval to load it",
        Verdict::Deny => "models cannot load it",
    };
    let why = match &decision.rule {
        Some(rule) => format!(
            "{} rule `{}` ({})",
            rule.effect.as_str(),
            rule.text,
            rule.source
        ),
        None if gate.rules.lists_skills() => {
            let lists = gate.rules.of(Effect::Allow);
            let lists = lists.filter(|placed| placed.rule.is_about_skills());
            let mut files: Vec<String> = lists.map(|placed| placed.source.to_string()).collect();
            files.dedup();
            format!("not among the skills that {} allows", wording::all(files))
        }
        None => return None,
    };
    Some((decision, format!("{what}: {why}")))
}

fn text(name: &str, answers: &[WhyAnswer], printer: &Printer) -> String {
    let accent = theme::bold(theme::ACCENT);
    let mut text = format!("{accent}{}{accent:#}\n", sanitize::line(name));
    for answer in answers {
        let room = printer.text_width().saturating_sub(COLUMN + 2).max(20);
        let lines = wrap(&sanitize::line(&answer.text), room);
        let indent = format!("\n  {:COLUMN$}", "");
        text.push_str(&format!(
            "  {:COLUMN$}{}\n",
            answer.about,
            lines.join(&indent)
        ));
    }
    text
}

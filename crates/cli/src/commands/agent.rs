//! `prowess agent`

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use prowess::BUILT_IN_AGENTS;
use prowess::inspect::{self, selection_text};
use prowess_config::agent_servers;
use prowess_diag::{Diagnostic, FileReport, Severity, suggest, theme, wording};
use prowess_flow::{AgentRoster, ModelChoice, PromptSource, RosterEntry};
use prowess_registry::{FoundAgentFile, agent_files};
use prowess_tools::{UNKNOWN_SKILL, check_skills};
use prowess_trust::{AgentTrust, TrustError, TrustState};

use crate::args::GlobalArgs;
use crate::commands::chat::ChatArgs;
use crate::commands::completions;
use crate::commands::run::{RunArgs, untrusted_agent};
use crate::env::Environment;
use crate::output::{Cell, Exit, Failure, Printer, Table};
use crate::runtime_setup::{ModelArgs, Setup, WaitArgs};
use crate::visible_skills::{self, Library};
use crate::{permissions, targets};

#[derive(Debug, Args)]
#[command(
    about = "List, show and run agents, teams and crews\n\nReads the agents of Claude Code, Copilot, OpenCode, Gemini CLI and Codex, the teams of Planck, the crews of skilled_crew and the subagents of core-agent, in this project and in your home folder.",
    after_help = "\
Examples:
  prowess agent list                      list agents and teams
  prowess agent show reviewer             show what an agent is told and may use
  prowess agent run Explore 'Find tests' --model echo"
)]
pub(crate) struct AgentArgs {
    #[command(subcommand)]
    pub(crate) command: AgentCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    #[command(alias = "ls")]
    List(AgentListArgs),
    Show(AgentShowArgs),
    Run(AgentRunArgs),
    Chat(AgentChatArgs),
}

impl AgentArgs {
    /// Returns `true` if the command opens a chat.
    pub(crate) fn is_chat(&self) -> bool {
        matches!(self.command, AgentCommand::Chat(_))
    }
}

#[derive(Debug, Args)]
#[command(
    about = "List agents and teams, their origin and which are shadowed\n\nIf several agents have the same name, the one of the project wins. The others can be addressed by a qualified name, e.g. `user:reviewer`.",
    after_help = "\
Examples:
  prowess agent list                      list agents and teams
  prowess agent list --all                include shadowed agents and members of teams
  prowess agent list --json               the same as JSON, with all findings"
)]
pub(crate) struct AgentListArgs {
    /// Include shadowed agents and members of teams
    #[arg(short, long)]
    pub(crate) all: bool,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    about = "Show an agent: its instructions, and what it may use",
    after_help = "\
Examples:
  prowess agent show reviewer             show an agent
  prowess agent show user:reviewer        the one of your home folder
  prowess agent show build-team/Builder   a member of a team
  prowess agent show reviewer --json      the same as JSON"
)]
pub(crate) struct AgentShowArgs {
    /// The name of an agent or a team
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(completions::agent_names))]
    pub(crate) name: String,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    about = "Give an agent or a team a task, and print the result\n\nThe agent works with its own instructions, model, tools and skills, and never with more than you allow. A team is an agent with members: the task goes to its entry agent. An agent of a project runs only if you trust its file.",
    after_help = "\
Examples:
  prowess agent run reviewer 'Review the last commit'
  prowess agent run build-team 'Add a flag --json'   the entry agent delegates
  prowess agent run triage 'Sort these' --schema out.json"
)]
pub(crate) struct AgentRunArgs {
    /// The name of an agent or a team
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(completions::agent_names))]
    pub(crate) name: String,
    /// The task, or `-` to read it from standard input
    #[arg(value_name = "TASK", required = true)]
    pub(crate) task: Vec<String>,
    /// File with the JSON Schema of the result
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "output_schema",
        help_heading = "Output"
    )]
    pub(crate) schema: Option<PathBuf>,
    /// JSON Schema of the result
    #[arg(long, value_name = "JSON", help_heading = "Output")]
    pub(crate) output_schema: Option<String>,
    /// Print events as JSON Lines, with the result in the last line
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Prompts without a terminal.
    #[command(flatten)]
    pub(crate) wait: WaitArgs,
    /// The model, its limits, permissions.
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

#[derive(Debug, Args)]
#[command(
    about = "Chat with an agent or a team\n\nLike `prowess chat --agent NAME`. The slash commands of a crew work here.",
    after_help = "\
Examples:
  prowess agent chat reviewer             chat with an agent
  prowess agent chat build-team --plain   chat with the entry agent, in plain lines"
)]
pub(crate) struct AgentChatArgs {
    /// The name of an agent or a team
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(completions::agent_names))]
    pub(crate) name: String,
    /// Do not use the full-screen interface
    #[arg(long)]
    pub(crate) plain: bool,
    /// Prompts without a terminal.
    #[command(flatten)]
    pub(crate) wait: WaitArgs,
    /// The model, its limits, permissions.
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

impl AgentRunArgs {
    /// Returns the same as arguments of `run`.
    fn as_run(&self) -> RunArgs {
        RunArgs {
            name: None,
            text: Vec::new(),
            task: Some(self.task.join(" ")),
            agent: Some(self.name.clone()),
            arg: Vec::new(),
            args_json: None,
            schema: self.schema.clone(),
            output_schema: self.output_schema.clone(),
            json: self.json,
            wait: self.wait.clone(),
            model: self.model.clone(),
        }
    }
}

impl AgentChatArgs {
    /// Returns the same as arguments of `chat`.
    fn as_chat(&self) -> ChatArgs {
        ChatArgs {
            resume: None,
            agent: Some(self.name.clone()),
            plain: self.plain,
            wait: self.wait.clone(),
            model: self.model.clone(),
        }
    }
}

impl Setup {
    /// Returns an error if an agent does not exist or is not trusted.
    pub(crate) fn check_agent(&self, name: &str) -> Result<(), Failure> {
        let same = |known: &str| known.eq_ignore_ascii_case(name);
        let set = self.config.agents.keys().map(String::as_str);
        if BUILT_IN_AGENTS.into_iter().chain(set.clone()).any(same) {
            return Ok(());
        }
        let library = self.services.agents.as_ref();
        let found = library.and_then(|library| Some((library, library.find(name)?)));
        match found {
            Some((library, agent)) if library.is_trusted(&agent) => Ok(()),
            Some((_, agent)) => Err(untrusted_agent(name, &agent.path())),
            None => {
                let entries = library.map_or(&[][..], |library| library.roster().entries());
                let files = entries.iter().map(|entry| &*entry.name);
                let known = BUILT_IN_AGENTS.into_iter().chain(set).chain(files);
                Err(no_agent(name, suggest::nearest(name, known)))
            }
        }
    }
}

/// Returns the error for an unknown agent.
fn no_agent(name: &str, near: Option<&str>) -> Failure {
    let error = Failure::new(format!("no agent named {}", wording::tick(name)));
    match near {
        Some(near) => error.hint(format!("did you mean {}?", wording::tick(near))),
        None => error.hint("list all agents with `prowess agent list`"),
    }
}

pub(crate) fn run(
    args: &AgentArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    match &args.command {
        AgentCommand::List(args) => list(args, global, environment, printer),
        AgentCommand::Show(args) => show(args, global, environment, printer),
        AgentCommand::Run(args) => super::run::run(&args.as_run(), global, environment, printer),
        AgentCommand::Chat(args) => super::chat::run(&args.as_chat(), global, environment, printer),
    }
}

/// The agents that are visible from the current folder.
pub(crate) struct Agents {
    pub(crate) roster: AgentRoster,
    /// The findings, with the agent file that they belong to.
    reports: Vec<(PathBuf, FileReport)>,
    /// The trust in each file that has agents.
    trust: BTreeMap<PathBuf, AgentTrust>,
}

/// Reads the agent files that are visible from the current folder.
pub(crate) fn files(environment: &Environment) -> Vec<FoundAgentFile> {
    let teams = visible_skills::load(environment).config.team_folders;
    let teams: Vec<_> = teams
        .into_iter()
        .map(|folder| (folder.scope, folder.path))
        .collect();
    agent_files(&environment.place(), &teams)
}

/// Looks up the trust in the file of an agent.
pub(crate) fn agent_trust(
    entry: &RosterEntry,
    environment: &Environment,
) -> Result<AgentTrust, TrustError> {
    let store = permissions::paths(environment).trust();
    let project = permissions::workspace(environment);
    AgentTrust::new(entry.scope, &entry.file, store.as_ref(), &project)
}

impl Agents {
    /// Reads the agent files.
    pub(crate) fn read(environment: &Environment) -> Self {
        Self::of(files(environment), environment)
    }

    /// Reads the agent files, and checks the skills that agents name.
    fn read_and_check(global: &GlobalArgs, environment: &Environment) -> Self {
        let mut files = files(environment);
        let names_skills = |found: &FoundAgentFile| {
            let mut agents = found.file.agents.iter();
            agents.any(|agent| !agent.skill_names.is_empty())
        };
        if files.iter().any(names_skills) {
            let config = visible_skills::load(environment).config;
            // Without the library, no skill is known to be missing.
            if let Ok(library) = Library::with(config, global, environment) {
                let catalog = library.catalog();
                for found in &mut files {
                    check_skills(&mut found.file, &catalog, &environment.place());
                }
            }
        }
        Self::of(files, environment)
    }

    fn of(mut files: Vec<FoundAgentFile>, environment: &Environment) -> Self {
        let mut reports = Vec::new();
        for found in &mut files {
            for mut report in std::mem::take(&mut found.file.reports) {
                let path = found.root.join(&report.path);
                let shown = path.strip_prefix(&environment.current).unwrap_or(&path);
                report.path = shown.display().to_string();
                reports.push((found.root.join(&*found.file.path), report));
            }
        }
        let files = files.into_iter().map(|found| (found.scope, found.file));
        let roster = AgentRoster::new(files);
        let mut trust = BTreeMap::new();
        for entry in roster.entries() {
            let path = entry.file.root.join(&*entry.file.path);
            if let Entry::Vacant(vacant) = trust.entry(path) {
                // What cannot be checked is not trusted.
                if let Ok(found) = agent_trust(entry, environment) {
                    vacant.insert(found);
                }
            }
        }
        Self {
            roster,
            reports,
            trust,
        }
    }

    /// Returns the trust in the file of an agent. `None` if it cannot be checked.
    pub(crate) fn trust(&self, entry: &RosterEntry) -> Option<&AgentTrust> {
        let path = entry.file.root.join(&*entry.file.path);
        self.trust.get(&path)
    }

    /// Returns the findings about the file of an agent, and about the files that it names.
    fn reports_of(&self, entry: &RosterEntry) -> Vec<&FileReport> {
        let path = entry.file.root.join(&*entry.file.path);
        let own = self.reports.iter().filter(|(file, _)| *file == path);
        own.map(|(_, report)| report).collect()
    }

    fn resolve(&self, name: &str) -> Result<&RosterEntry, Failure> {
        self.roster
            .resolve(name)
            .map_err(|missing| no_agent(name, missing.near.as_deref()))
    }
}

fn list(
    args: &AgentListArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let agents = Agents::read_and_check(global, environment);
    let entries = agents.roster.entries();
    let reports: Vec<&FileReport> = agents.reports.iter().map(|(_, report)| report).collect();
    if args.json {
        let entries = entries.iter().map(|entry| (entry, agents.trust(entry)));
        printer.json(&inspect::agents(entries, &reports))?;
        return Ok(Exit::Done);
    }
    let is_shown =
        |entry: &&RosterEntry| args.all || (entry.shadowed_by.is_none() && !entry.is_member());
    let shown: Vec<&RosterEntry> = entries.iter().filter(is_shown).collect();
    if shown.is_empty() {
        let hint = "create one in `.claude/agents/NAME.md`";
        printer.note("no agents in this project or in your home folder", hint);
    } else {
        let mut table = Table::new(&["NAME", "FROM", "TRUST", "MODEL", "DESCRIPTION"]);
        for entry in &shown {
            table.row(row(entry, agents.trust(entry)));
        }
        printer.answer(&table.render(printer.width()))?;
    }
    let left_out = entries.len() - shown.len();
    if left_out > 0 {
        let more = wording::count(left_out, "more agent");
        printer.status(&format!("{more}; list them with `--all`"));
    }
    warn_of_findings(&reports, printer);
    Ok(Exit::Done)
}

/// Describes the trust in the file of an agent, with a colour.
fn trust_cell(trust: Option<&AgentTrust>) -> Cell {
    let color = match trust {
        Some(trust) if trust.is_trusted() => theme::GOOD,
        Some(AgentTrust {
            state: Some(TrustState::Never) | None,
            ..
        }) => theme::WARNING,
        _ => theme::BAD,
    };
    let word = trust.map_or("cannot be checked", inspect::agent_trust_word);
    Cell::styled(word, color.on_default())
}

fn row(entry: &RosterEntry, trust: Option<&AgentTrust>) -> Vec<Cell> {
    let (agent, team) = (entry.agent(), entry.team());
    let dim = theme::DIM;
    let mut from = format!("{} {}", entry.scope.as_str(), entry.file.dialect.as_str());
    if entry.shadowed_by.is_some() {
        from.push_str(" (shadowed)");
    }
    let description = team
        .and_then(|team| team.description.clone())
        .or_else(|| agent.map(|agent| agent.description.clone()))
        .unwrap_or_default();
    let description = match team {
        Some(_) => {
            let names: Vec<&str> = entry
                .file
                .agents
                .iter()
                .map(|agent| agent.name.as_str())
                .collect();
            format!("{description} [{}]", names.join(", "))
        }
        None => description.into(),
    };
    vec![
        Cell::styled(&entry.name, theme::ACCENT.on_default()),
        Cell::styled(&from, dim),
        trust_cell(trust),
        Cell::styled(
            &agent.map(|agent| agent.model.spec()).unwrap_or_default(),
            dim,
        ),
        Cell::new(prowess_catalog::skill::one_line(&description).trim()),
    ]
}

fn show(
    args: &AgentShowArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let agents = Agents::read_and_check(global, environment);
    let entry = agents.resolve(&args.name)?;
    let reports = agents.reports_of(entry);
    if args.json {
        printer.json(&inspect::agent(entry, agents.trust(entry), &reports))?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["", ""]).wrapping();
    let mut line = |key: &str, value: &str| {
        if !value.is_empty() {
            let key = Cell::styled(key, theme::DIM);
            table.row(vec![key, Cell::new(value)]);
        }
    };
    line("name", &entry.name);
    let from = format!("{} {}", entry.scope.as_str(), entry.file.dialect.as_str());
    line("from", &from);
    let path = entry.file.root.join(&*entry.file.path);
    let file = targets::display(&path, environment);
    line("file", &file);
    line("trust", &trust_text(agents.trust(entry), &file));
    if let Some(team) = entry.team() {
        let members = entry.file.agents.iter().map(|agent| agent.name.as_str());
        line("members", &members.collect::<Vec<_>>().join(", "));
        let commands = team
            .commands
            .iter()
            .map(|command| format!("/{}", command.name));
        line("commands", &commands.collect::<Vec<_>>().join(", "));
    }
    let mut prompt = "";
    if let Some(agent) = entry.agent() {
        line("description", &agent.description);
        line("model", &agent.model.spec());
        if let ModelChoice::Named {
            base_url: Some(url),
            ..
        } = &agent.model
        {
            line("address", url);
        }
        line("effort", agent.effort.as_deref().unwrap_or_default());
        line("tools", &selection_text(&agent.tools));
        line("servers", &selection_text(&agent.servers));
        for (server, file) in agent_servers(agent) {
            line("server", &inspect::server_text(&server, &file));
        }
        line("skills", &selection_text(&agent.skills));
        line("preloads", &agent.preload.join(", "));
        line("may start", &selection_text(&agent.calls));
        if agent.is_read_only {
            line("access", "read-only tools");
        }
        line("limits", &inspect::limits_text(agent).unwrap_or_default());
        line("root", agent.root.as_deref().unwrap_or_default());
        for (name, folder) in &agent.skill_folders {
            line("skill", &format!("{name} ({folder})"));
        }
        line("no effect", &agent.ignored.join(", "));
        if let PromptSource::File(path) = &agent.prompt_source {
            line("prompt", path);
        }
        prompt = &agent.prompt;
    }
    printer.answer(&table.render(printer.width()))?;
    if !prompt.is_empty() {
        printer.answer("\n")?;
        printer.foreign(&format!("{prompt}\n"))?;
    }
    warn_of_skills(entry, &reports, printer);
    warn_of_findings(&reports, printer);
    Ok(Exit::Done)
}

/// Names the skills that an agent lists and that do not exist.
fn warn_of_skills(entry: &RosterEntry, reports: &[&FileReport], printer: &Printer) {
    let Some(agent) = entry.agent() else { return };
    let is_own = |finding: &&Diagnostic| {
        let mut names = agent.skill_names.iter();
        finding.rule == UNKNOWN_SKILL && names.any(|(_, span)| finding.span == Some(*span))
    };
    let findings = reports.iter().flat_map(|report| &report.diagnostics);
    for finding in findings.filter(is_own) {
        let help = finding.help.as_deref().unwrap_or_default();
        printer.warn(&format!("{}; {help}", finding.message));
    }
}

/// Describes the trust in a file, with the changed files and what to type.
fn trust_text(trust: Option<&AgentTrust>, file: &str) -> String {
    let Some(trust) = trust else {
        return "cannot be checked".to_owned();
    };
    let mut text = inspect::agent_trust_word(trust).to_owned();
    if !trust.changes.is_empty() {
        let changes = inspect::trust_changes(&trust.changes);
        text.push_str(&format!(": {}", changes.join(", ")));
    }
    if !trust.is_trusted() {
        let command = wording::command(["prowess", "trust", file]);
        text.push_str(&format!("; review it with {command}"));
    }
    text
}

/// Counts the findings in agent files.
fn warn_of_findings(reports: &[&FileReport], printer: &Printer) {
    let is_serious = |severity: Severity| severity > Severity::Note;
    // A folder with too many files cannot be validated.
    let is_folder = |report: &&FileReport| std::path::Path::new(&report.path).is_dir();
    let folders = reports.iter().copied().filter(is_folder);
    for (report, finding) in folders.flat_map(|one| one.diagnostics.iter().map(move |it| (one, it)))
    {
        printer.warn(&format!("{}: {}", report.path, finding.message));
    }
    let files = reports.iter().copied().filter(|report| !is_folder(report));
    let serious = files.filter(|report| {
        let mut findings = report.diagnostics.iter();
        findings.any(|finding| is_serious(finding.severity))
    });
    let paths: Vec<&str> = serious.map(|report| report.path.as_str()).collect();
    if let Some(first) = paths.first() {
        let files = wording::count(paths.len(), "agent file");
        let command = wording::command(["prowess", "validate", first]);
        printer.warn(&format!("{files} with findings; run {command}"));
    }
}

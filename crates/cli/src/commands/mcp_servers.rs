//! The MCP servers used by agents: discovery, `prowess mcp list` and `prowess mcp trust`.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::output::{Cell, Exit, Failure, Printer, Table};
use prowess::config::{
    CORE_AGENT_MCP_FILE, Config, MCP_FILE, McpFile, McpServer, McpTransport, agent_servers,
    parse_mcp_file, project_mcp_files, read_mcp_file,
};
use prowess::inspect::{project_programs, server_command, server_settings};
use prowess_diag::path::display_path;
use prowess_diag::{review, sanitize, theme, wording};
use prowess_flow::{AgentScope, RosterEntry, TeamKind};
use prowess_mcp::{Client, ClientPlace, ServerView, harmless};
use prowess_registry::text_and_digest;
use prowess_tools::{FoundAgent, OwnedTool, ToolOwner};
use prowess_trust::{TrustKind, TrustState, TrustStore, digest_of};
use serde_json::json;

use crate::approval_prompt::ask;
use crate::env::{Environment, path_outside};
use crate::permissions;
use crate::runtime_setup::{Setup, Variables, model_settings};

/// Length of a shortened digest.
const DIGITS: usize = "sha256:".len() + 16;
/// Maximum number of servers that the question repeats.
const MOST_REPEATED: usize = 6;
/// Maximum number of files of the project that are named.
const MOST_PROGRAMS: usize = 8;
/// Minimum length of a value that is redacted, in bytes. Shorter ones are flags and the like.
const MIN_SECRET: usize = 6;

/// Arguments of `mcp list`.
#[derive(Debug, clap::Args)]
pub(crate) struct McpListArgs {
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// Arguments of `mcp trust`.
#[derive(Debug, clap::Args)]
pub(crate) struct McpTrustArgs {
    /// Trust without asking if the file has this digest
    #[arg(long, value_name = "DIGEST")]
    pub digest: Option<String>,
    /// Revoke trust
    #[arg(long, conflicts_with = "digest")]
    pub revoke: bool,
}

/// The configured MCP servers.
#[derive(Debug, Default)]
pub(crate) struct Configured {
    /// Usable servers with expanded variables. May contain secrets: never print.
    usable: Vec<McpServer>,
    /// The command or URL of each server, with unexpanded variables.
    places: BTreeMap<Box<str>, String>,
    /// Values that may be secrets: of variables, and of `env` and `headers`. Errors of a server may
    /// repeat them.
    secrets: BTreeSet<String>,
    /// The names that these servers and disabled ones have.
    names: BTreeSet<String>,
    /// The names of the servers that agents of the user have. A project cannot use them.
    of_user_agents: BTreeSet<String>,
    /// Servers that are not used, with the reason.
    notes: Vec<String>,
    /// The project's files that are not trusted, and their servers.
    untrusted: Vec<(PathBuf, Vec<McpServer>)>,
}

/// Returns `true` if the settings have an MCP server with a name: those of the user, and the files of
/// servers in the home folder and in the project. Starts nothing.
pub(crate) fn has_server(name: &str, config: &Config, environment: &Environment) -> bool {
    let home = environment.home.as_deref();
    let of_home = home.into_iter().flat_map(|home| {
        let files = [MCP_FILE, CORE_AGENT_MCP_FILE];
        files.map(|file| home.join(file))
    });
    let workspace = permissions::workspace(environment);
    let mut files = of_home.chain(project_mcp_files(&workspace, home));
    config.server_names.contains(name)
        || files.any(|file| read_mcp_file(&file).names.contains(name))
}

/// Returns the servers of the user configuration, and of `.mcp.json` and `.agents/mcp.json` in the home
/// folder. The first server of a name wins.
pub(crate) fn of_person(config: &Config, home: Option<&Path>, variables: &Variables) -> Configured {
    let mut found = Configured::default();
    let neutral = neutral_folder(home);
    found.names.clone_from(&config.server_names);
    for server in &config.servers {
        found.add(server, Some(&neutral), variables);
    }
    if let Some(home) = home {
        for name in [MCP_FILE, CORE_AGENT_MCP_FILE] {
            let file = found.file(&home.join(name));
            found.add_free(&file.servers, Some(&neutral), variables);
            found.names.extend(file.names);
        }
    }
    found
}

/// Returns the folder in which the user's servers start: the home folder, or the root.
pub(crate) fn neutral_folder(home: Option<&Path>) -> PathBuf {
    let home = home.filter(|home| home.is_dir());
    home.map_or_else(|| PathBuf::from("/"), Path::to_owned)
}

impl Setup {
    /// Returns the servers of the user configuration, of `.mcp.json` and `.agents/mcp.json` in the home
    /// folder, and of those of the project that are trusted. The first server of a name wins. A project cannot reuse
    /// the name of a user's server, even a disabled one, because rules refer to names.
    pub(crate) fn servers(&self) -> Configured {
        let mut found = of_person(&self.config, self.paths.home.as_deref(), &self.variables);
        let project = self.project_servers();
        found.of_user_agents = self.servers_of_user_agents();
        for path in project {
            if path.is_symlink() {
                let path = path.display();
                found.notes.push(format!("ignoring {path}: it is a link"));
                continue;
            }
            // One read: the contents in use must be the trusted ones.
            let (file, digest) = read_with_digest(&path);
            found.note_faults(&path, &file);
            let is_trusted = |store: TrustStore| {
                let state = store.state_of(TrustKind::Servers, &path, &digest);
                state.is_ok_and(|state| state.is_trusted())
            };
            if self.paths.trust().is_some_and(is_trusted) {
                found.add_of_project(&file.servers, &self.variables);
                found.names.extend(file.names);
            } else if !file.servers.is_empty() {
                found.untrusted.push((path, file.servers));
            }
        }
        found
    }

    /// Returns the names of the servers that agents of the user have. A project cannot reuse them.
    fn servers_of_user_agents(&self) -> BTreeSet<String> {
        let library = self.services.agents.as_ref();
        let entries = library.map_or(&[][..], |library| library.roster().entries());
        let own = entries.iter().filter(|it| it.scope == AgentScope::User);
        let servers = own.filter_map(RosterEntry::agent).flat_map(agent_servers);
        servers.map(|(server, _)| server.name.to_string()).collect()
    }

    /// Returns the `.mcp.json` and `.agents/mcp.json` of the project, as far as they exist.
    fn project_servers(&self) -> Vec<PathBuf> {
        project_mcp_files(&self.paths.workspace, self.paths.home.as_deref())
    }

    /// Starts the servers with these names and adds their tools, for a mission.
    pub(crate) fn connect_only(
        &mut self,
        names: &BTreeSet<String>,
        printer: &Printer,
    ) -> Result<Option<Client>, Failure> {
        if names.is_empty() {
            return Ok(None);
        }
        let mut found = self.servers();
        found.usable.retain(|server| names.contains(&*server.name));
        found
            .untrusted
            .retain(|(_, servers)| servers.iter().any(|one| names.contains(&*one.name)));
        found.tell(printer);
        if found.usable.is_empty() {
            return Ok(None);
        }
        let client = self.start(&found.usable, printer)?;
        for server in client.servers() {
            if let Some(fault) = &server.fault {
                printer.warn(&sanitize::line(&found.redacted(fault)));
            }
        }
        self.services.tools.extend(client.tools());
        Ok(Some(client))
    }

    /// Starts the servers and adds their tools and skills, including those that only agents have:
    /// the agents of the file of `agent`, or without one the subagents of the session. Dropping the
    /// returned value closes the connections. A server that fails only causes a warning.
    pub(crate) fn connect(
        &mut self,
        agent: Option<&str>,
        printer: &Printer,
    ) -> Result<Option<Client>, Failure> {
        let mut found = self.servers();
        let owners = self.add_agent_servers(agent, &mut found);
        found.tell(printer);
        if found.usable.is_empty() {
            return Ok(None);
        }
        let client = self.start(&found.usable, printer)?;
        for server in client.servers() {
            if let Some(fault) = &server.fault {
                printer.warn(&sanitize::line(&found.redacted(fault)));
            }
        }
        // Skills of a server that only an agent has would be skills of all.
        client.add_skills_of(&self.services.registry, &|at| !owners.contains_key(&at));
        for (at, (server, tools)) in found
            .usable
            .iter()
            .zip(client.tools_by_server())
            .enumerate()
        {
            if let Some(owners) = owners.get(&at) {
                let owners: Arc<[ToolOwner]> = owners.as_slice().into();
                let owned = tools.into_iter().map(|tool| OwnedTool {
                    owners: Arc::clone(&owners),
                    tool,
                });
                self.services.owned_tools.extend(owned);
                continue;
            }
            if server.in_skills {
                let names = tools.iter().map(|tool| tool.name().into());
                self.settings.tools_in_skills.extend(names);
            }
            if server.on_demand {
                self.services.skill_tools.extend(tools);
            } else {
                self.services.tools.extend(tools);
            }
        }
        Ok(Some(client))
    }

    /// Adds the servers in the files of trusted agents. Returns the agents of each, by its position.
    fn add_agent_servers(
        &self,
        agent: Option<&str>,
        found: &mut Configured,
    ) -> BTreeMap<usize, Vec<ToolOwner>> {
        let mut owners = BTreeMap::new();
        let Some(library) = &self.services.agents else {
            return owners;
        };
        let named = agent.and_then(|name| library.find(name));
        let is_wanted = |entry: &&RosterEntry| {
            let team = entry.file.team.as_ref();
            let is_roster = team.is_some_and(|team| team.kind == TeamKind::Roster);
            named
                .as_ref()
                .map_or(agent.is_none() && is_roster, |named| {
                    Arc::ptr_eq(&named.entry.file, &entry.file)
                })
        };
        // Servers of the user's agents keep their names, whatever a project has.
        let mut wanted: Vec<&RosterEntry> =
            (library.roster().entries().iter().filter(is_wanted)).collect();
        wanted.sort_by_key(|entry| entry.scope != AgentScope::User);
        for entry in wanted {
            let Some(definition) = entry.agent().filter(|_| entry.team().is_none()) else {
                continue;
            };
            let agent = FoundAgent::new(entry);
            // The servers are those of the text that trust covers; no file is read again.
            if !library.is_trusted(&agent) {
                continue;
            }
            for file in &definition.server_files {
                let path = agent.path_of(&file.path);
                found.note_faults(&path, &parse_mcp_file(&path, &file.text));
            }
            let owner = ToolOwner {
                file: agent.path().to_string_lossy().into(),
                agent: definition.name.as_str().into(),
            };
            let is_own = entry.scope == AgentScope::User;
            let folder = is_own.then(|| self.neutral_folder());
            for (server, _) in agent_servers(definition) {
                if let Some(added) = found.expand(&server, folder.as_deref(), &self.variables) {
                    found.add_owned(added, &owner, is_own, &mut owners);
                }
            }
        }
        owners
    }

    pub(crate) fn start(
        &self,
        servers: &[McpServer],
        printer: &Printer,
    ) -> Result<Client, Failure> {
        let names: Vec<String> = servers.iter().map(McpServer::rule_name).collect();
        printer.status(&format!("Starting MCP servers: {}", names.join(", ")));
        let is_web = |server: &McpServer| matches!(server.transport, McpTransport::Web { .. });
        let http = if servers.iter().any(is_web) {
            Some(model_settings(&self.variables)?.http)
        } else {
            None
        };
        // What is in a folder of the project may have been written by a command.
        let (project, home) = (&self.paths.workspace, self.paths.home.as_deref());
        let value = |name: &str| {
            let value = (self.variables)(name)?;
            match name {
                "PATH" => path_outside(value.as_ref(), project, home)
                    .into_string()
                    .ok(),
                _ => Some(value),
            }
        };
        let environment = harmless()
            .filter_map(|name| Some((name.to_owned(), value(name)?)))
            .collect();
        let place = ClientPlace {
            folder: self.paths.workspace.clone(),
            environment,
            http,
        };
        Client::connect(servers, &place)
            .map_err(|error| Failure::new("cannot start the MCP client").cause(error))
    }
}

impl Configured {
    /// Removes all servers but one. What its errors must not show stays.
    pub(crate) fn keep_only(&mut self, name: &str) {
        self.usable.retain(|server| &*server.name == name);
    }

    /// Returns the first server.
    pub(crate) fn first(&self) -> Option<&McpServer> {
        self.usable.first()
    }

    /// Returns the reason why a server is not used.
    pub(crate) fn note_about(&self, name: &str) -> Option<String> {
        let start = format!("ignoring server `{name}`");
        self.notes
            .iter()
            .find(|note| note.starts_with(&start))
            .cloned()
    }

    /// Reads a file and records its errors.
    fn file(&mut self, path: &Path) -> McpFile {
        let file = read_mcp_file(path);
        self.note_faults(path, &file);
        file
    }

    fn note_faults(&mut self, path: &Path, file: &McpFile) {
        let note = |fault: &String| format!("{}: {fault}", path.display());
        self.notes.extend(file.faults.iter().map(note));
    }

    /// Adds the servers whose name is not taken.
    fn add_free(&mut self, servers: &[McpServer], folder: Option<&Path>, variables: &Variables) {
        for server in servers {
            if self.names.contains(&*server.name) {
                self.note_taken(&server.name);
            } else {
                self.add(server, folder, variables);
            }
        }
    }

    /// Adds the servers of a project whose name is not taken.
    fn add_of_project(&mut self, servers: &[McpServer], variables: &Variables) {
        for server in servers {
            if self.of_user_agents.contains(&*server.name) {
                self.note_taken(&server.name);
            } else {
                self.add_free(std::slice::from_ref(server), None, variables);
            }
        }
    }

    fn note_taken(&mut self, name: &str) {
        self.notes.push(format!(
            "ignoring another server `{name}`: the name is already in use"
        ));
    }

    /// Adds a server of an agent, or the agent to a server that others have. A server that has the name
    /// of another one is for this agent alone, and rules know it by another name. `is_own` is `true` for
    /// agents of the user.
    fn add_owned(
        &mut self,
        mut server: McpServer,
        owner: &ToolOwner,
        is_own: bool,
        owners: &mut BTreeMap<usize, Vec<ToolOwner>>,
    ) {
        for (at, known) in owners.iter_mut() {
            let Some(other) = self.usable.get(*at).filter(|it| it.name == server.name) else {
                continue;
            };
            if other.transport == server.transport {
                known.push(owner.clone());
                return;
            }
            if known.contains(owner) {
                self.note_taken(&server.name);
                return;
            }
        }
        let is_taken = self.usable.iter().any(|it| it.name == server.name)
            || self.names.contains(&*server.name)
            || !is_own && self.of_user_agents.contains(&*server.name);
        server.agent = is_taken.then(|| owner.agent.clone());
        owners.insert(self.usable.len(), vec![owner.clone()]);
        self.usable.push(server);
    }

    /// Adds a server. A program starts in `folder` if it is given and the server has no `cwd`.
    fn add(&mut self, server: &McpServer, folder: Option<&Path>, variables: &Variables) {
        if let Some(expanded) = self.expand(server, folder, variables) {
            self.places.insert(server.name.clone(), server.place());
            self.usable.push(expanded);
        }
    }

    /// Returns a server with its variables and its folder, and records what may be secret. Returns
    /// `None`, with a note, if it cannot be used.
    fn expand(
        &mut self,
        server: &McpServer,
        folder: Option<&Path>,
        variables: &Variables,
    ) -> Option<McpServer> {
        let used = RefCell::new(BTreeSet::new());
        let lookup = |name: &str| {
            let value = variables(name)?;
            let is_harmless = harmless().any(|known| known == name);
            used.borrow_mut()
                .extend((!is_harmless).then(|| value.clone()));
            Some(value)
        };
        match server.expanded(&lookup) {
            Ok(mut expanded) => {
                let (McpTransport::Program { env: pairs, .. }
                | McpTransport::Web { headers: pairs, .. }) = &expanded.transport;
                let written = pairs.values().flat_map(|value| value.split_whitespace());
                let values = written.map(str::to_owned).chain(used.into_inner());
                let is_long = |value: &String| value.len() >= MIN_SECRET;
                self.secrets.extend(values.filter(is_long));
                if let (
                    McpTransport::Program {
                        cwd: cwd @ None, ..
                    },
                    Some(folder),
                ) = (&mut expanded.transport, folder)
                {
                    *cwd = Some(folder.to_owned());
                }
                Some(expanded)
            }
            Err(why) => {
                self.notes
                    .push(format!("ignoring server `{}`: {why}", server.name));
                None
            }
        }
    }

    /// Returns a text of a server without the secrets that it was given.
    pub(crate) fn redacted(&self, text: &str) -> String {
        // The longest first: one secret may contain another.
        let mut secrets: Vec<&String> = self.secrets.iter().collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        let hide = |text: String, secret: &String| text.replace(secret.as_str(), "[redacted]");
        secrets.into_iter().fold(text.to_owned(), hide)
    }

    fn tell(&self, printer: &Printer) {
        for note in &self.notes {
            printer.warn(&sanitize::line(note));
        }
        for (file, servers) in &self.untrusted {
            printer.note(
                &format!(
                    "{} in {} not used: the file is not trusted",
                    wording::count(servers.len(), "server"),
                    file.display()
                ),
                "review and trust it with `prowess mcp trust`",
            );
        }
    }
}

/// Reads a file of servers once. Returns its servers, and the digest of the bytes that they were
/// parsed from; an empty one if the file cannot be read.
fn read_with_digest(path: &Path) -> (McpFile, String) {
    match text_and_digest(path, None) {
        Ok((Some(bytes), digest)) => {
            let text = String::from_utf8_lossy(&bytes);
            (parse_mcp_file(path, &text), digest)
        }
        // Too large, or not readable: with the error of the reader.
        _ => (read_mcp_file(path), String::new()),
    }
}

/// `prowess mcp list`
pub(crate) fn list(args: &McpListArgs, setup: &Setup, printer: &Printer) -> Result<Exit, Failure> {
    let found = setup.servers();
    if !args.json {
        found.tell(printer);
    }
    let client = if found.usable.is_empty() {
        None
    } else {
        Some(setup.start(&found.usable, printer)?)
    };
    let mut views = client.as_ref().map(Client::servers).unwrap_or_default();
    for view in &mut views {
        view.fault = view.fault.as_deref().map(|fault| found.redacted(fault));
        for left in &mut view.left {
            *left = found.redacted(left);
        }
    }
    let place = |name: &str| found.places.get(name).cloned().unwrap_or_default();
    let untrusted = found.untrusted.iter().flat_map(|(_, servers)| servers);
    if args.json {
        let mut servers: Vec<_> = views
            .iter()
            .map(|view| {
                json!({
                    "name": view.name, "place": place(&view.name),
                    "state": if view.fault.is_some() { "failed" } else { "ready" },
                    "fault": view.fault, "tools": view.tools, "skills": view.skills,
                    "left": view.left,
                })
            })
            .collect();
        servers.extend(untrusted.map(
            |server| json!({ "name": server.name, "place": server.place(), "state": "untrusted" }),
        ));
        printer.json(&json!({
            "schema": "prowess.mcp-servers/1", "servers": servers, "notes": found.notes,
        }))?;
        return Ok(Exit::Done);
    }
    if views.is_empty() && found.untrusted.is_empty() {
        printer.status("No MCP servers configured");
        let shown = |file: &PathBuf| {
            display_path(file, &setup.paths.workspace, setup.paths.home.as_deref())
        };
        let file = setup
            .config_file
            .as_ref()
            .map_or("config.toml".to_owned(), shown);
        let lines = "`[mcp.servers.NAME]` with `command = \"…\"` or `url = \"https://…\"`";
        printer.note(
            "`prowess run` and `prowess chat` use the tools and skills of configured servers",
            &format!("add {lines} to {}", wording::tick(file)),
        );
        return Ok(Exit::Done);
    }
    printer.answer(&table(&views, &place, untrusted).render(printer.width()))?;
    for view in &views {
        details(view, printer);
    }
    Ok(Exit::Done)
}

fn table<'s>(
    views: &[ServerView],
    place: &dyn Fn(&str) -> String,
    untrusted: impl Iterator<Item = &'s McpServer>,
) -> Table {
    let mut table = Table::new(&["SERVER", "STATE", "TOOLS", "SKILLS", "LOCATION"]);
    let name = |name: &str| Cell::styled(name, theme::ACCENT.on_default());
    let dimmed = |text: &str| Cell::styled(&sanitize::line(text), theme::DIM);
    for view in views {
        let (word, color) = match view.fault {
            Some(_) => ("failed", theme::BAD),
            None => ("ready", theme::GOOD),
        };
        table.row(vec![
            name(&view.name),
            Cell::styled(word, color.on_default()),
            Cell::number(&view.tools.len().to_string()),
            Cell::number(&view.skills.len().to_string()),
            dimmed(&place(&view.name)),
        ]);
    }
    for server in untrusted {
        table.row(vec![
            name(&server.name),
            Cell::styled("not trusted", theme::WARNING.on_default()),
            Cell::number("-"),
            Cell::number("-"),
            dimmed(&server.place()),
        ]);
    }
    table
}

/// Prints errors and names that do not fit into the table.
fn details(view: &ServerView, printer: &Printer) {
    if let Some(fault) = &view.fault {
        printer.warn(&sanitize::line(fault));
    }
    for left in &view.left {
        printer.warn(&format!(
            "ignoring an item of `{}`: {}",
            view.name,
            sanitize::line(left)
        ));
    }
    let names = |what: &str, names: &[Box<str>]| {
        if !names.is_empty() {
            let list = wording::shorten(&sanitize::line(&names.join(", ")), 400);
            printer.status(&format!("{} {what}: {list}", view.name));
        }
    };
    names("tools", &view.tools);
    names("skills", &view.skills);
}

/// `prowess mcp trust`
pub(crate) fn trust(
    args: &McpTrustArgs,
    setup: &Setup,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let store = setup.paths.trust().ok_or_else(|| {
        Failure::new("cannot find a home folder for the trust store").hint("set `PROWESS_HOME`")
    })?;
    let mut files = setup.project_servers();
    if files.is_empty() {
        return Err(Failure::new(format!("this project has no `{MCP_FILE}`"))
            .hint("servers in your own settings need no trust"));
    }
    // A digest is that of one file.
    if let (Some(typed), true) = (&args.digest, files.len() > 1) {
        let is_meant = |file: &PathBuf| {
            typed.len() >= DIGITS
                && digest_of(file).is_ok_and(|digest| digest.starts_with(typed.as_str()))
        };
        match files.iter().position(is_meant) {
            Some(meant) => files = vec![files.swap_remove(meant)],
            None => files.truncate(1),
        }
    }
    let mut exit = Exit::Done;
    for file in files {
        let ended = trust_file(&file, args, &store, printer)?;
        if ended != Exit::Done {
            exit = ended;
        }
    }
    Ok(exit)
}

/// Shows a file of servers, and trusts it if the user or a flag confirms.
fn trust_file(
    file: &Path,
    args: &McpTrustArgs,
    store: &TrustStore,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let shown = file.display();
    if file.is_symlink() && !args.revoke {
        return Err(Failure::new(format!("`{shown}` is a link and not used"))
            .hint("replace it with a copy of the file"));
    }
    let failed = |error: prowess_trust::TrustError| Failure::new(error.to_string());
    if args.revoke {
        let had = store.revoke(TrustKind::Servers, file).map_err(failed)?;
        let what = if had {
            "was revoked"
        } else {
            "was not granted"
        };
        printer.status(&format!("Trust in {shown} {what}"));
        return Ok(Exit::Done);
    }
    let (said, digest) = read_with_digest(file);
    if digest.is_empty() {
        let causes = said.faults.join("; ");
        return Err(Failure::new(format!("cannot read `{shown}`")).cause(causes));
    }
    let state = store.state_of(TrustKind::Servers, file, &digest);
    let state = state.map_err(failed)?;
    printer.answer(&summary(
        file,
        &digest,
        &said.servers,
        &state,
        printer.list_width(),
    ))?;
    for fault in &said.faults {
        printer.warn(&sanitize::line(fault));
    }
    if state.is_trusted() {
        printer.status("Already trusted");
        return Ok(Exit::Done);
    }
    let short = digest.get(..DIGITS).unwrap_or(&digest);
    let agreed = match &args.digest {
        Some(typed) if typed.len() >= DIGITS && digest.starts_with(typed.as_str()) => true,
        Some(_) => {
            return Err(Failure::new(format!("`--digest` does not match `{shown}`"))
                .cause(format!("the digest is {short}"))
                .hint("review it again with `prowess mcp trust`"));
        }
        None => {
            let question = question(file, short, &said.servers, printer.list_width());
            let Some(answer) = ask(&question, "y/N") else {
                let hint = format!(
                    "to trust this exact version, run `prowess mcp trust --digest {short}`"
                );
                printer.note("not trusted: confirmation requires a terminal", &hint);
                return Ok(Exit::Denied);
            };
            matches!(answer.as_str(), "y" | "yes")
        }
    };
    if !agreed {
        return Ok(Exit::No);
    }
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let since = since.map(|since| since.as_secs()).unwrap_or_default();
    store
        .grant(TrustKind::Servers, file, &digest, since)
        .map_err(failed)?;
    printer.status(&format!("Trusted {shown}"));
    Ok(Exit::Done)
}

/// Returns the question. It repeats the path and what the servers start: the summary may be longer
/// than the screen. Programs are first.
fn question(path: &Path, digest: &str, servers: &[McpServer], width: usize) -> String {
    let is_web = |server: &&McpServer| matches!(server.transport, McpTransport::Web { .. });
    let mut sorted: Vec<&McpServer> = servers.iter().collect();
    sorted.sort_by_key(is_web);
    let programs = sorted.iter().filter(|server| !is_web(server)).count();
    let mut text = format!("{}, {digest}\n", review::line(&path.display().to_string()));
    for server in sorted.iter().take(MOST_REPEATED) {
        let line = review::line(&format!("{}: {}", server.name, server_command(server)));
        let count = line.chars().count();
        let rows = review::rows(&line, width.saturating_sub(4));
        let first = rows.first().map_or("", String::as_str);
        let hidden = count.saturating_sub(first.chars().count());
        text.push_str(&format!("  {first}\n"));
        if hidden > 0 {
            let hidden = wording::count(hidden, "more character");
            text.push_str(&format!("    … {hidden}, see above\n"));
        }
    }
    let more = sorted.len().saturating_sub(MOST_REPEATED);
    if more > 0 {
        let (more, programs) = (
            wording::count(more, "more server"),
            wording::count(programs.saturating_sub(MOST_REPEATED), "program"),
        );
        text.push_str(&format!("  … {more} with {programs}, see above\n"));
    }
    text.push_str("Trust this exact version?");
    text
}

/// Describes what trusting the file would allow.
fn summary(
    path: &Path,
    digest: &str,
    servers: &[McpServer],
    state: &TrustState,
    width: usize,
) -> String {
    let (strong, bad, dim) = (theme::STRONG, theme::bold(theme::BAD), theme::DIM);
    let short = digest.get(..DIGITS).unwrap_or(digest);
    let word = match state {
        TrustState::Trusted(_) => "trusted",
        TrustState::Never => "not trusted",
        TrustState::Lapsed(_) => "changed since it was trusted",
        TrustState::Damaged { .. } => "not trusted: the record is damaged",
    };
    let file = path.display().to_string();
    let file = sanitize::line(&file);
    let mut text = format!("{strong}{file}{strong:#}  {dim}{word}, {short}{dim:#}\n");
    let mut takes_variables = false;
    for server in servers {
        let what = match &server.transport {
            McpTransport::Program { .. } => "runs",
            McpTransport::Web { .. } => "connects to",
        };
        let name = sanitize::line(&server.name);
        text.push_str(&format!("\n{strong}{name}{strong:#} {what}\n"));
        for line in std::iter::once(server_command(server)).chain(server_settings(server)) {
            let rows = review::rows(&review::line(&line), width.saturating_sub(4));
            text.push_str(&format!("  {bad}{}{bad:#}\n", rows.join("\n    ")));
            takes_variables |= line.contains("${");
        }
    }
    if takes_variables {
        text.push_str("\n${NAME} is replaced with the value of that environment variable.\n");
    }
    let own = project_programs(path.parent().unwrap_or(Path::new("")), servers);
    let is_program = |server: &McpServer| matches!(server.transport, McpTransport::Program { .. });
    if servers.iter().any(is_program) {
        let shown = own.iter().take(MOST_PROGRAMS);
        let mut shown: Vec<String> = shown.map(|it| wording::tick(review::line(it))).collect();
        let more = own.len().saturating_sub(MOST_PROGRAMS);
        shown.extend((more > 0).then(|| format!("{} more", wording::thousands(more))));
        let among = match &*shown {
            [] => String::new(),
            shown => format!(", among them {}", wording::all(shown)),
        };
        text.push_str(&format!(
            "\nTrust covers this file only. The files of the project that these programs start or read can change without another prompt{among}.\n"
        ));
    }
    text.push_str(
        "\nThese programs run with your permissions, outside of the sandbox, whenever an agent starts here.\n",
    );
    text
}

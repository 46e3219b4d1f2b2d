//! The tools that an agent's file selects, in the names of the system that it was written for.

use prowess_flow::Selection;
use prowess_spec::wildcard::like;

use crate::names::{
    self, ASK_HUMAN, BASH, EDIT, GLOB, GREP, HTTP_GET, LOAD_SKILL, READ, RUN_COMMAND_LINE, SKILL,
    WRITE,
};

/// The tools of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectedTools {
    /// The tools, in the order of the known ones. `None` if nothing was left out.
    pub tools: Option<Vec<Box<str>>>,
    /// Names that select no known tool.
    pub missing: Vec<Box<str>>,
    /// Names with a pattern, such as `Bash(git:*)`. A list selects whole tools, so they select none.
    pub limited: Vec<Box<str>>,
}

/// The way in which an agent's file selects the tools of MCP servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerTools {
    /// The list of tools names them, as `mcp__server__tool`.
    ByTool,
    /// The list of servers selects all tools of a server.
    ByServer,
}

/// Names that other systems use for our tools, besides those of rules. A list of tools can only
/// restrict an agent, so they include tools that write and run commands.
const OTHER_NAMES: &[(&str, &[&str])] = &[
    (
        BASH,
        &[
            "exec_command",
            "execute",
            "execute_command",
            "powershell",
            "run_command",
            "run_in_terminal",
            "run_shell_command",
            "runcommands",
            "runinterminal",
            "shell",
            "terminal",
        ],
    ),
    (
        WRITE,
        &[
            "create_file",
            "createfile",
            "edit_files",
            "editfiles",
            "write_file",
        ],
    ),
    (
        EDIT,
        &[
            "apply_patch",
            "edit_file",
            "edit_files",
            "editfiles",
            "multiedit",
            "patch",
            "replace",
            "str_replace",
        ],
    ),
    (
        HTTP_GET,
        &["fetch", "web", "web_fetch", "webfetch", "fetch_url"],
    ),
    (READ, &["read_files", "read_many_files", "readfile", "view"]),
    (
        GREP,
        &[
            "codebase",
            "code_search",
            "search",
            "textsearch",
            "search_files",
        ],
    ),
    (
        GLOB,
        &[
            "codebase",
            "filesearch",
            "find_files",
            "list",
            "ls",
            "search",
        ],
    ),
    (ASK_HUMAN, &["human.ask", "builtins.human.ask"]),
];

/// Names of tools for starting agents, which a session has for other reasons.
const AGENT_TOOLS: [&str; 12] = [
    "Agent",
    "Task",
    "agent",
    "ask_agent",
    "call_agent",
    "destroy_agent",
    "list_models",
    "list_team",
    "respond_agent",
    "send_agent",
    "spawn_agent",
    "task",
];

/// Returns the tools that a file selects from the known ones.
pub fn selected_tools(
    tools: &Selection,
    servers: &Selection,
    how: ServerTools,
    known: &[Box<str>],
) -> SelectedTools {
    let only = tools.only.as_deref();
    let is_selected = |tool: &str| {
        let selects_all = |name: &str| !is_limited(name) && selects(name, tool, known);
        let named = only.is_none_or(|names| names.iter().any(|name| selects_all(name)));
        let banned = tools.without.iter().any(|name| selects(name, tool, known));
        let in_list = match server_of(tool) {
            Some(server) if !servers.contains(server) => false,
            Some(_) if how == ServerTools::ByServer => true,
            Some(_) | None => named,
        };
        in_list && !banned
    };
    let mut selected: Vec<Box<str>> = known
        .iter()
        .filter(|tool| is_selected(tool))
        .cloned()
        .collect();
    let is_all = selected.len() == known.len();
    let asks = only.is_some_and(|only| only.iter().any(|name| asks_people(name)));
    let asks = asks
        && !tools
            .without
            .iter()
            .any(|name| selects(name, ASK_HUMAN, known));
    if asks && selected.iter().all(|tool| **tool != *ASK_HUMAN) {
        selected.push(ASK_HUMAN.into());
    }
    let listed = only.into_iter().flatten();
    let is_missing = |name: &str| {
        let base = base(name);
        !AGENT_TOOLS.contains(&base)
            && !base.contains('*')
            && !is_limited(name)
            && !asks_people(name)
            && !known.iter().any(|tool| selects(name, tool, known))
    };
    let mut missing: Vec<Box<str>> = listed.filter(|name| is_missing(name)).cloned().collect();
    missing.dedup();
    let limited = only.into_iter().flatten().filter(|name| is_limited(name));
    SelectedTools {
        tools: (asks || !is_all).then_some(selected),
        missing,
        limited: limited.cloned().collect(),
    }
}

/// Returns `true` if a selection leaves out the tools that load skills.
pub fn bans_skills(tools: &Selection) -> bool {
    let is_banned = |tool: &str| tools.without.iter().any(|name| selects(name, tool, &[]));
    is_banned(LOAD_SKILL) || is_banned(SKILL)
}

/// Returns `true` if a name gives the tool that asks a person. It must be named: it is in no list of
/// all tools, and no pattern selects it.
fn asks_people(name: &str) -> bool {
    !name.contains('*') && !is_limited(name) && selects(name, ASK_HUMAN, &[])
}

/// Returns the server of an MCP tool.
pub fn server_of(tool: &str) -> Option<&str> {
    let (server, _) = tool.strip_prefix("mcp__")?.split_once("__")?;
    Some(server)
}

/// Returns a name without the pattern in parentheses: `Bash` for `Bash(git:*)`.
fn base(name: &str) -> &str {
    name.split('(').next().unwrap_or(name).trim()
}

/// Returns `true` if a name has a pattern that limits the tool: `Bash(git:*)`, not `Bash(*)`. The names
/// in `Agent(name)` are read elsewhere.
fn is_limited(name: &str) -> bool {
    let Some((tool, pattern)) = name.split_once('(') else {
        return false;
    };
    let pattern = pattern.trim().trim_end_matches(')').trim();
    !AGENT_TOOLS.contains(&tool.trim()) && !matches!(pattern, "" | "*" | "**" | ":*" | "**/*")
}

/// Returns `true` if a name of another system stands for one of our tools.
fn selects(name: &str, tool: &str, known: &[Box<str>]) -> bool {
    let name = base(name);
    if names::is_named(&[name.into()], tool) || names::server_tool(name, known) == Some(tool) {
        return true;
    }
    let lower = name.to_ascii_lowercase();
    let rule_names = names::rule_names(tool);
    if rule_names
        .iter()
        .any(|known| known.eq_ignore_ascii_case(&lower))
    {
        return true;
    }
    if names::reading_tool(&lower) == Some(tool) {
        return true;
    }
    // What runs commands as a skill runs commands.
    let plain = if tool == RUN_COMMAND_LINE { BASH } else { tool };
    let mut others = OTHER_NAMES.iter().filter(|(ours, _)| *ours == plain);
    if others.any(|(_, others)| others.contains(&&*lower)) {
        return true;
    }
    let own = server_of(tool).and_then(|server| {
        let rest = tool.strip_prefix("mcp__")?.strip_prefix(server)?;
        Some((server, rest.strip_prefix("__")?))
    });
    match (name.split_once('/'), own) {
        // Copilot: `server/tool`, `server/*`.
        (Some((server, pattern)), Some((its_server, own))) => {
            server == its_server && like(pattern, own)
        }
        (None, own) if name.contains('*') => {
            // OpenCode: `server_*`.
            like(name, tool)
                || own.is_some_and(|(server, own)| like(name, &format!("{server}_{own}")))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Vec<Box<str>> {
        [
            "list_skills",
            "load_skill",
            "run_command_line",
            "bash",
            "read",
            "write",
            "edit",
            "glob",
            "grep",
            "http_get",
            "mcp__jira__get_issue",
            "mcp__jira__add",
            "mcp__git__log",
        ]
        .map(Box::from)
        .to_vec()
    }

    fn choose(only: Option<&[&str]>, without: &[&str]) -> (Vec<Box<str>>, Vec<Box<str>>) {
        let names = |names: &[&str]| names.iter().map(|&name| name.into()).collect();
        let tools = Selection {
            only: only.map(names),
            without: names(without),
        };
        let all = Selection::all();
        let found = selected_tools(&tools, &all, ServerTools::ByTool, &known());
        (found.tools.unwrap_or_else(known), found.missing)
    }

    #[test]
    fn names_of_each_system_select_our_tools() {
        let jira = &["mcp__jira__get_issue", "mcp__jira__add"][..];
        for (name, expected) in [
            ("Read", &["read"][..]),
            ("Bash", &["run_command_line", "bash"]),
            ("Bash(*)", &["run_command_line", "bash"]),
            ("bash", &["run_command_line", "bash"]),
            ("run_shell_command", &["run_command_line", "bash"]),
            ("execute", &["run_command_line", "bash"]),
            ("read_file", &["read"]),
            ("search_file_content", &["grep"]),
            ("search", &["glob", "grep"]),
            ("list_directory", &["glob"]),
            ("write_file", &["write"]),
            ("replace", &["edit"]),
            ("web_fetch", &["http_get"]),
            ("WebFetch", &["http_get"]),
            ("mcp__jira", jira),
            ("mcp__jira__*", jira),
            ("mcp__jira__add", &["mcp__jira__add"]),
            ("jira/*", jira),
            ("jira/add", &["mcp__jira__add"]),
            ("jira_*", jira),
            ("git_log", &["mcp__git__log"]),
            (
                "mcp__*",
                &["mcp__jira__get_issue", "mcp__jira__add", "mcp__git__log"],
            ),
            ("Skill", &["list_skills", "load_skill"]),
            ("list_skills", &["list_skills"]),
        ] {
            let (tools, missing) = choose(Some(&[name]), &[]);
            let tools: Vec<&str> = tools.iter().map(|tool| &**tool).collect();
            assert_eq!(tools, expected, "{name}");
            assert!(missing.is_empty(), "{name}: {missing:?}");
        }
        let (tools, missing) = choose(Some(&["Rad", "Agent(x)", "x_*", "spawn_agent"]), &[]);
        assert_eq!(tools, Vec::<Box<str>>::new());
        assert_eq!(missing, [Box::from("Rad")]);
    }

    /// A pattern in a list was dropped, so that `Read(docs/**)` gave all files.
    #[test]
    fn names_with_patterns_select_nothing() {
        let all = Selection::all();
        for name in [
            "Bash(git:*)",
            "Read(docs/**)",
            "bash( git *)",
            "mcp__jira(x)",
            "Skill(a)",
            "human.ask(x)",
        ] {
            let (tools, missing) = choose(Some(&[name]), &[]);
            assert_eq!((tools.len(), missing.len()), (0, 0), "{name}");
            let tools = Selection::these(vec![name.into()]);
            let found = selected_tools(&tools, &all, ServerTools::ByTool, &known());
            assert_eq!(found.limited, [Box::from(name)]);
            // What is banned is banned as a whole.
            let (left, _) = choose(None, &["Bash(rm:*)"]);
            assert!(left.iter().all(|tool| **tool != *BASH));
        }
        let (tools, _) = choose(Some(&["Read", "Read(docs/**)"]), &[]);
        assert_eq!(tools, [Box::from("read")]);
    }

    #[test]
    fn banned_tools_are_left_out_of_all() {
        let (tools, _) = choose(None, &["Write", "Edit", "mcp__jira"]);
        let left: Vec<&str> = tools.iter().map(|tool| &**tool).collect();
        let expected = [
            "list_skills",
            "load_skill",
            "run_command_line",
            "bash",
            "read",
            "glob",
            "grep",
            "http_get",
            "mcp__git__log",
        ];
        assert_eq!(left, expected);
        let all = Selection::all();
        let nothing = selected_tools(&all, &all, ServerTools::ByTool, &known());
        assert_eq!(nothing, SelectedTools::default());
        let without = |name: &str| Selection {
            only: None,
            without: vec![name.into()],
        };
        assert!(bans_skills(&without("Skill")) && !bans_skills(&without("Bash")));
    }

    #[test]
    fn asking_people_must_be_named() {
        let all: Vec<&str> = vec!["read", "ask_human"];
        for name in [
            "ask_human",
            "human.ask",
            "builtins.human.ask",
            "AskUserQuestion",
        ] {
            let (tools, missing) = choose(Some(&["Read", name]), &[]);
            let tools: Vec<&str> = tools.iter().map(|tool| &**tool).collect();
            assert_eq!((tools, missing.len()), (all.clone(), 0), "{name}");
            let (tools, _) = choose(Some(&[name]), &[name]);
            assert!(tools.is_empty(), "{name}");
        }
        for only in [None, Some(&["*"][..]), Some(&["ask_*"]), Some(&["human"])] {
            let (tools, _) = choose(only, &[]);
            assert!(tools.iter().all(|tool| **tool != *ASK_HUMAN), "{only:?}");
        }
        // Beside all other tools.
        let (tools, _) = choose(Some(&["*", "human.ask"]), &[]);
        assert_eq!(tools.len(), known().len() + 1);
    }

    #[test]
    fn servers_are_selected_by_name() {
        let one = Selection::these(vec!["git".into()]);
        let few = Selection::these(vec!["read".into()]);
        let found = selected_tools(&few, &one, ServerTools::ByServer, &known());
        let tools = found.tools.unwrap();
        let tools: Vec<&str> = tools.iter().map(|tool| &**tool).collect();
        assert_eq!(tools, ["read", "mcp__git__log"]);
        let none = Selection::none();
        let found = selected_tools(&Selection::all(), &none, ServerTools::ByServer, &known());
        assert!(
            found
                .tools
                .unwrap()
                .iter()
                .all(|tool| !tool.starts_with("mcp__"))
        );
    }
}

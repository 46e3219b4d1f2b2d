//! Names of our tools, and the names that rules and skills use for them.

/// Lists skills.
pub const LIST_SKILLS: &str = "list_skills";
/// Searches skills.
pub const SEARCH_SKILLS: &str = "search_skills";
/// Loads a skill.
pub const LOAD_SKILL: &str = "load_skill";
/// Loads a skill, under the name that Agentick uses.
pub const SKILL: &str = "skill";
/// Unloads a skill.
pub const UNLOAD_SKILL: &str = "unload_skill";
/// Reads a file of a skill.
pub const LOAD_SKILL_RESOURCE: &str = "load_skill_resource";
/// Reads a file of a skill, under the name that `skilled_crew` uses.
pub const LOAD_SKILL_RESOURCES: &str = "load_skill_resources";
/// Runs a command as a skill.
pub const RUN_COMMAND_LINE: &str = "run_command_line";
/// Submits the result of a run.
pub const SUBMIT: &str = "submit";
/// Runs a command.
pub const BASH: &str = "bash";
/// Reads a file.
pub const READ: &str = "read";
/// Writes a file.
pub const WRITE: &str = "write";
/// Edits a file.
pub const EDIT: &str = "edit";
/// Finds files by name.
pub const GLOB: &str = "glob";
/// Searches the contents of files.
pub const GREP: &str = "grep";
/// Fetches a URL.
pub const HTTP_GET: &str = "http_get";
/// Asks a person. Only agents that are given it by name have it.
pub const ASK_HUMAN: &str = "ask_human";
/// Sends a `POST` request.
pub const HTTP_POST: &str = "http_post";
/// Sends a `PUT` request.
pub const HTTP_PUT: &str = "http_put";
/// Sends a `PATCH` request.
pub const HTTP_PATCH: &str = "http_patch";
/// Sends a `DELETE` request.
pub const HTTP_DELETE: &str = "http_delete";

/// Returns the names that rules and `allowed-tools` use for one of our tools.
pub fn rule_names(tool: &str) -> &'static [&'static str] {
    match tool {
        BASH | RUN_COMMAND_LINE => &["Bash"],
        READ => &["Read"],
        WRITE => &["Write", "Edit"],
        EDIT => &["Edit", "Write", "MultiEdit"],
        GLOB => &["Glob", "LS"],
        GREP => &["Grep"],
        HTTP_GET => &["WebFetch"],
        ASK_HUMAN => &["AskUserQuestion"],
        LOAD_SKILL | SKILL | UNLOAD_SKILL | LIST_SKILLS | SEARCH_SKILLS => &["Skill"],
        // One tool with two names: a rule about either applies to both.
        LOAD_SKILL_RESOURCE | LOAD_SKILL_RESOURCES => &[LOAD_SKILL_RESOURCE, LOAD_SKILL_RESOURCES],
        _ => &[],
    }
}

/// The names that rules and hooks use for every tool that starts an agent. The second one is Claude
/// Code's old name.
pub const AGENT_NAMES: &[&str] = &["Agent", "Task"];

/// The tools about skills, and `submit`. Sessions add the tools of the host.
pub const SKILL_TOOLS: [&str; 8] = [
    LIST_SKILLS,
    SEARCH_SKILLS,
    LOAD_SKILL,
    UNLOAD_SKILL,
    LOAD_SKILL_RESOURCE,
    LOAD_SKILL_RESOURCES,
    RUN_COMMAND_LINE,
    SUBMIT,
];

/// Returns our tool for a name that `allowed-tools` of another system uses, or for its own name in
/// lower case. Only tools that read: none that writes, connects or runs commands.
pub(crate) fn reading_tool(name: &str) -> Option<&'static str> {
    Some(match name {
        READ | "read_file" | "read_text_file" | "view_file" => READ,
        GREP | "grep_files" | "grep_search" | "search_file_content" | "search_files" => GREP,
        GLOB | "file_search" | "list_dir" | "list_directory" | "list_files" => GLOB,
        _ => return None,
    })
}

/// Returns the tool of an MCP server that a name in core-agent's spelling (`server_tool`) stands
/// for: `mcp__jira__get_issue` or `mcp__jira__jira_get_issue` for `jira_get_issue`. `None` unless
/// exactly one of the known tools has that name, or if a tool has exactly this name.
pub(crate) fn server_tool<'k, T: AsRef<str>>(name: &str, known: &'k [T]) -> Option<&'k str> {
    let mut known = known.iter().map(AsRef::as_ref);
    let mut found = None;
    if known.clone().any(|tool| tool == name) {
        return None;
    }
    for tool in known.by_ref().filter(|tool| is_called(tool, name)) {
        if found.replace(tool).is_some() {
            return None;
        }
    }
    found
}

/// Returns `true` if core-agent calls a tool of an MCP server by this name.
fn is_called(tool: &str, name: &str) -> bool {
    let parts = tool
        .strip_prefix("mcp__")
        .and_then(|rest| rest.split_once("__"));
    parts.is_some_and(|(server, own)| {
        let rest = name
            .strip_prefix(server)
            .and_then(|rest| rest.strip_prefix('_'));
        rest.is_some_and(|rest| rest == own) || rest.is_some() && name == own
    })
}

/// Returns all tools of MCP servers that a name in core-agent's spelling may stand for. A ban on an
/// ambiguous name is a ban on all of them: a server could otherwise lift it with another tool.
pub(crate) fn server_tools<'k, T: AsRef<str>>(
    name: &str,
    known: &'k [T],
) -> impl Iterator<Item = &'k str> {
    let known = known.iter().map(AsRef::as_ref);
    known.filter(move |tool| is_called(tool, name))
}

/// Returns the names in core-agent's spelling that may stand for a tool of an MCP server, each with
/// `true` if it stands for no other tool. Only deny and ask rules may use the others.
pub(crate) fn server_names<T: AsRef<str>>(tool: &str, known: &[T]) -> Vec<(String, bool)> {
    let parts = tool
        .strip_prefix("mcp__")
        .and_then(|rest| rest.split_once("__"));
    let Some((server, own)) = parts else {
        return Vec::new();
    };
    let names = [format!("{server}_{own}"), own.to_owned()];
    names
        .into_iter()
        .filter(|name| is_called(tool, name))
        .map(|name| {
            let is_only = server_tool(&name, known) == Some(tool);
            (name, is_only)
        })
        .collect()
}

/// Kind of action of a tool, for matching rules about commands or files.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ActionKind {
    Command,
    Read,
    Write,
    Fetch,
    Skill,
}

/// Tools by name, with the input fields that rules apply to.
pub(crate) const RULE_SUBJECTS: &[(&[&str], ActionKind, &[&str])] = &[
    (
        &["Bash", "bash", "run_command_line"],
        ActionKind::Command,
        &["command", "commandLine"],
    ),
    (
        &["Read", "Grep", "Glob", "LS", "read", "grep", "glob"],
        ActionKind::Read,
        &["file_path", "path"],
    ),
    (
        &[
            "Write",
            "Edit",
            "MultiEdit",
            "NotebookEdit",
            "write",
            "edit",
        ],
        ActionKind::Write,
        &["file_path", "notebook_path", "path"],
    ),
    (
        &[
            "WebFetch",
            HTTP_GET,
            HTTP_POST,
            HTTP_PUT,
            HTTP_PATCH,
            HTTP_DELETE,
        ],
        ActionKind::Fetch,
        &["url"],
    ),
    (
        &["Skill", "skill", "load_skill"],
        ActionKind::Skill,
        &["skill", "name", "command"],
    ),
];

/// Returns the input field with the skill's arguments, or `None` if the tool does not load skills.
pub fn arguments_field(tool: &str) -> Option<&'static str> {
    match tool {
        LOAD_SKILL => Some("arguments"),
        SKILL => Some("args"),
        _ => None,
    }
}

/// Returns `true` if a tool reads or changes the file in its input field `path`.
pub fn is_file_tool(tool: &str) -> bool {
    matches!(tool, READ | WRITE | EDIT)
}

/// Returns `true` if a list of names in rule syntax contains a tool.
pub(crate) fn is_named(list: &[Box<str>], tool: &str) -> bool {
    let also = rule_names(tool);
    list.iter().any(|name| {
        **name == *tool
            || also.contains(&&**name)
            || name.starts_with("mcp__") && is_of_server(name, tool)
    })
}

/// Returns `true` if a pattern (`mcp__server` or `mcp__server__*`) matches a tool of a server.
fn is_of_server(pattern: &str, tool: &str) -> bool {
    let pattern = pattern.strip_suffix("__*").unwrap_or(pattern);
    tool.strip_prefix(pattern)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("__"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_names_stand_for_exactly_one_tool() {
        let check = |name: &str, known: &[&str], expected: Option<&str>| {
            assert_eq!(server_tool(name, known), expected, "{name} {known:?}");
        };
        let (plain, twice) = ("mcp__jira__get_issue", "mcp__jira__jira_get_issue");
        check("jira_get_issue", &[plain, "read"], Some(plain));
        check("jira_get_issue", &[twice], Some(twice));
        // Ambiguous, or the name of another tool.
        check("jira_get_issue", &[plain, twice], None);
        check("a_b_c", &["mcp__a__b_c", "mcp__a_b__c"], None);
        check("jira_get_issue", &[plain, "jira_get_issue"], None);
        // Never more than one tool, never by a part of the name.
        for name in [
            "jira",
            "jira_",
            "jira_*",
            "get_issue",
            "jira_get",
            "jira__get_issue",
            "",
        ] {
            check(name, &[plain], None);
        }
        let names = |tool: &str, known: &[&str], expected: &[(&str, bool)]| {
            let found = server_names(tool, known);
            let found: Vec<_> = found.iter().map(|(name, only)| (&**name, *only)).collect();
            assert_eq!(found, expected, "{tool} {known:?}");
        };
        names(plain, &[plain], &[("jira_get_issue", true)]);
        let own = "jira_jira_get_issue";
        names(twice, &[twice], &[(own, true), ("jira_get_issue", true)]);
        names("read", &["read"], &[]);
        // Ambiguous names: for deny and ask rules only.
        let both = [plain, twice];
        names(plain, &both, &[("jira_get_issue", false)]);
        names(twice, &both, &[(own, true), ("jira_get_issue", false)]);
        let host = [plain, "jira_get_issue"];
        names(plain, &host, &[("jira_get_issue", false)]);
        let all = server_tools("jira_get_issue", &both);
        assert_eq!(all.collect::<Vec<_>>(), both);
    }
}

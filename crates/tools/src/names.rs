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
        LOAD_SKILL | SKILL | UNLOAD_SKILL | LIST_SKILLS | SEARCH_SKILLS => &["Skill"],
        // One tool with two names: a rule about either applies to both.
        LOAD_SKILL_RESOURCE | LOAD_SKILL_RESOURCES => &[LOAD_SKILL_RESOURCE, LOAD_SKILL_RESOURCES],
        _ => &[],
    }
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
    (&["WebFetch", "http_get"], ActionKind::Fetch, &["url"]),
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

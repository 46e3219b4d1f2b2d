//! Permission rules.
//!
//! There are two spellings. Claude Code's: `Bash(git status:*)`, `Read(src/**)`, `Skill(deploy *)`,
//! `WebFetch(domain:example.com)`, `mcp__server__tool`, and in the same form
//! `http_post(domain:example.com)`. core-agent's: `bash:git *`, `skill:jira-triage`,
//! `skill:jira-triage/run:*`, `read:src/*`.

use prowess_spec::tool_pattern::{PatternToken, ToolPattern, parse_list};

use prowess_shell::{ShellLine, Word, lex, programs, suggest};

/// Longest rule, in bytes.
pub const MAX_BYTES: usize = 512;
/// Most rules in one list.
pub const MAX_RULES: usize = 256;

/// Tools that may change something on a web server. Each needs a rule of its own: those about
/// fetching only restrict them.
pub const CHANGING_TOOLS: [&str; 4] = ["http_delete", "http_patch", "http_post", "http_put"];

/// A parsed rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionRule {
    /// The rule as it was written.
    pub text: Box<str>,
    /// The requests that it matches.
    pub subject: RuleSubject,
}

/// The requests that a rule matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleSubject {
    /// Everything: `*`.
    Everything,
    /// Any use of a tool; the name may contain `*`.
    Tool(Box<str>),
    /// Shell commands.
    Command(CommandRule),
    /// Reading files.
    Read(Box<str>),
    /// Writing files.
    Write(Box<str>),
    /// Connecting to a host: `example.com`, `*.example.com`, `*`.
    Host(Box<str>),
    /// Changing something on a host: `http_post`, `http_post(domain:example.com)`.
    Change {
        /// The tool.
        tool: Box<str>,
        /// The host, as in [`Self::Host`].
        host: Box<str>,
    },
    /// Tools of an MCP server.
    Mcp {
        /// The server; may contain `*`.
        server: Box<str>,
        /// The tool, which may contain `*`; `None` for all tools.
        tool: Option<Box<str>>,
    },
    /// A skill.
    Skill {
        /// The name; may contain `*`.
        name: Box<str>,
        /// The action (`load`, `run`, `read`); `None` for all actions.
        action: Option<Box<str>>,
        /// The arguments.
        arguments: ArgumentRule,
    },
    /// An argument of a tool: `Tool(param:value)`, only in deny and ask rules, or the name of an agent:
    /// `Agent(name)`.
    Argument {
        /// The tool.
        tool: Box<str>,
        /// The argument's name.
        name: Box<str>,
        /// The value; may contain `*`.
        value: Box<str>,
    },
}

/// The arguments of a skill that a rule matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentRule {
    /// No arguments in an allow rule; any in other rules.
    Plain,
    /// Any.
    Any,
    /// Arguments that match a pattern with `*`.
    Like(Box<str>),
}

/// The commands that a rule matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandRule {
    /// All commands: `Bash`, `Bash(*)`.
    Any,
    /// Commands that begin with these words: `Bash(git add:*)`. Never empty.
    Prefix(Vec<Word>),
    /// Exactly this line: `Bash(npm run build)`.
    Exact(ShellLine),
    /// Commands whose text matches: `Bash(git * main)`, `Bash(ls*)`.
    Like(Box<str>),
}

/// The error in an invalid rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFault {
    /// The rule as it was written, shortened.
    pub text: Box<str>,
    /// The error and the correct form.
    pub why: Box<str>,
}

/// The effect of a rule. Allow rules are parsed more strictly than others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Denies.
    Deny,
    /// Requires approval.
    Ask,
    /// Allows.
    Allow,
}

impl Effect {
    /// Returns the word used in output and settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
        }
    }
}

impl PermissionRule {
    /// Returns `true` if the rule names skills.
    pub fn is_about_skills(&self) -> bool {
        matches!(self.subject, RuleSubject::Skill { .. })
    }

    /// Parses a rule in either spelling.
    pub fn parse(text: &str, effect: Effect) -> Result<Self, RuleFault> {
        match check(text).and_then(|()| subject(text.trim(), effect)) {
            Ok(subject) => Ok(Self {
                text: text.trim().into(),
                subject,
            }),
            Err(why) => Err(RuleFault {
                text: text.chars().take(120).collect::<String>().into(),
                why,
            }),
        }
    }

    /// Parses a rule in which variables stand for a folder: `Bash(${CLAUDE_SKILL_DIR}/run.sh)`. The
    /// path of the folder is literal text: a blank in it ends no word, and a `*` in it matches
    /// nothing else. If the pattern cannot contain such a path, the rule is invalid.
    pub fn parse_in_folder(
        text: &str,
        effect: Effect,
        variables: &[&str],
        folder: &str,
    ) -> Result<Self, RuleFault> {
        /// Takes the place of the folder while the rule is parsed.
        const STANDIN: &str = "/prowess-skill-folder-standin";
        let fill = |with: &str| {
            let filled = |text: String, name: &&str| text.replace(name, with);
            variables.iter().fold(text.to_owned(), filled)
        };
        let is_plain = |c: char| c.is_alphanumeric() || "/._-+@%=,".contains(c);
        let whole = fill(folder);
        if whole == text || folder.chars().all(is_plain) {
            return Self::parse(&whole, effect);
        }
        let fault = |why: &str| RuleFault {
            text: whole.chars().take(120).collect::<String>().into(),
            why: why.into(),
        };
        // Finds the faults that do not depend on the syntax.
        check(&whole).map_err(|why| fault(&why))?;
        if text.contains(STANDIN) || folder.contains(STANDIN) {
            return Err(fault("it contains a reserved name"));
        }
        let mut rule = Self::parse(&fill(STANDIN), effect)?;
        rule.text = whole.trim().into();
        if !rule.subject.replace(STANDIN, folder) {
            return Err(fault(
                "a pattern with `*` cannot contain the path of this skill's folder",
            ));
        }
        Ok(rule)
    }

    /// Returns the usual spelling of a rule that was understood although it is spelt differently:
    /// `Bash(rm:*)` for `bash(rm:*)`.
    pub fn usual_spelling(&self) -> Option<String> {
        let (tool, rest) = self.text.split_once('(')?;
        let is_other = tool != "Bash" && tool.eq_ignore_ascii_case("bash");
        let is_command = matches!(self.subject, RuleSubject::Command(_));
        (is_other && is_command).then(|| format!("Bash({rest}"))
    }

    /// Returns the other subjects that a deny or ask rule about a skill may mean: in
    /// `Skill(deploy:prod)`, the colon may be part of a name or come before arguments.
    /// In `Agent(user:deployer)`, the colon may be part of the name of an agent.
    pub(crate) fn other_subjects(&self) -> Vec<RuleSubject> {
        if let RuleSubject::Argument { tool, name, value } = &self.subject
            && is_agent_tool(tool)
            && &**name != "name"
        {
            return vec![RuleSubject::Argument {
                tool: tool.clone(),
                name: "name".into(),
                value: format!("{name}:{value}").into(),
            }];
        }
        let RuleSubject::Skill {
            name,
            action: None,
            arguments,
        } = &self.subject
        else {
            return Vec::new();
        };
        if matches!(arguments, ArgumentRule::Like(_)) {
            return Vec::new();
        }
        let colons = name.match_indices(':');
        let other = |(at, _): (usize, &str)| RuleSubject::Skill {
            name: name[..at].into(),
            action: None,
            arguments: ArgumentRule::Like(name[at + 1..].trim().into()),
        };
        colons.map(other).collect()
    }

    /// Returns `true` if the rule allows any command: `Bash`, `Bash(*)`, `Bash(python3:*)`.
    pub fn is_unrestricted(&self) -> bool {
        match &self.subject {
            RuleSubject::Everything | RuleSubject::Command(CommandRule::Any) => true,
            RuleSubject::Command(CommandRule::Prefix(words)) => programs::is_unrestricted(words),
            RuleSubject::Command(CommandRule::Like(pattern)) => {
                programs::is_unrestricted(&suggest::words_before_star(pattern))
            }
            _ => false,
        }
    }
}

impl RuleSubject {
    /// Replaces a part of the text of words and paths with literal text. Returns `false` if the part
    /// is in a place where text is a pattern in which it cannot be literal.
    fn replace(&mut self, part: &str, with: &str) -> bool {
        let put = |word: &mut Word| {
            let has_part = word.text.contains(part);
            if has_part {
                word.text = word.text.replace(part, with).into();
            }
            // The offsets of patterns would be wrong.
            !has_part || !word.is_glob()
        };
        let has = |text: &str| text.contains(part);
        match self {
            Self::Command(CommandRule::Prefix(words)) => words.iter_mut().all(put),
            Self::Command(CommandRule::Exact(line)) => {
                let redirects = line.commands.iter().flat_map(|command| &command.redirects);
                let is_free = redirects.clone().all(|to| !has(&format!("{to:?}")));
                let mut commands = line.commands.iter_mut();
                is_free && commands.all(|command| command.words.iter_mut().all(put))
            }
            Self::Read(pattern) | Self::Write(pattern) => {
                let escape = |text: String, c: char| text.replace(c, &format!("\\{c}"));
                let literal = ['\\', '*', '?', '[']
                    .into_iter()
                    .fold(with.to_owned(), escape);
                *pattern = pattern.replace(part, &literal).into();
                true
            }
            Self::Command(CommandRule::Like(text))
            | Self::Tool(text)
            | Self::Host(text)
            | Self::Change { host: text, .. } => !has(text),
            Self::Skill {
                name, arguments, ..
            } => !has(name) && !matches!(arguments, ArgumentRule::Like(pattern) if has(pattern)),
            Self::Mcp { server, tool } => !has(server) && !tool.as_deref().is_some_and(has),
            Self::Argument { tool, name, value } => !has(tool) && !has(name) && !has(value),
            Self::Everything | Self::Command(CommandRule::Any) => true,
        }
    }
}

/// Checks the length and the characters of a rule.
fn check(text: &str) -> Result<(), Box<str>> {
    if text.len() > MAX_BYTES {
        return Err("it is longer than 512 bytes".into());
    }
    if text
        .chars()
        .any(|c| c.is_control() || prowess_diag::sanitize::is_deceptive(c))
    {
        return Err("it contains control or invisible characters".into());
    }
    Ok(())
}

fn subject(text: &str, effect: Effect) -> Result<RuleSubject, Box<str>> {
    if text.is_empty() {
        return Err("it is empty".into());
    }
    if text == "*" {
        return match effect {
            Effect::Allow => Err("it would allow everything; name a tool".into()),
            _ => Ok(RuleSubject::Everything),
        };
    }
    let head = text.split([':', '(']).next().unwrap_or_default();
    if text.as_bytes().get(head.len()) == Some(&b':') && is_core_tool(head) {
        return core_agent(head, text[head.len() + 1..].trim(), effect);
    }
    if text
        .strip_prefix("Bash(")
        .and_then(|rest| rest.strip_suffix(')'))
        .is_some_and(|inner| inner != "*" && inner.trim() == "*")
    {
        return Err("no program before the `*`; write `Bash` to match every command".into());
    }
    match <[PatternToken; 1]>::try_from(parse_list(text)) {
        Ok(
            [
                PatternToken {
                    pattern: Ok(pattern),
                    ..
                },
            ],
        ) => claude_code(pattern, effect),
        Ok(
            [
                PatternToken {
                    pattern: Err(fault),
                    ..
                },
            ],
        ) => Err(fault.explain().into()),
        Err(_) => Err("it is more than one rule".into()),
    }
}

fn is_core_tool(name: &str) -> bool {
    matches!(
        name,
        "bash" | "skill" | "read" | "write" | "edit" | "fetch" | "url" | "mcp" | "tool"
    )
}

fn core_agent(tool: &str, rest: &str, effect: Effect) -> Result<RuleSubject, Box<str>> {
    if rest.is_empty() {
        return Err("nothing follows the colon".into());
    }
    match tool {
        "bash" => commands(rest, effect).map(RuleSubject::Command),
        "read" => files("Read", rest, effect).map(RuleSubject::Read),
        "write" | "edit" => files("Edit", rest, effect).map(RuleSubject::Write),
        "fetch" | "url" => host(rest).map(RuleSubject::Host),
        "mcp" => {
            let (server, tool) = rest.split_once('/').unwrap_or((rest, "*"));
            check_server(server, effect)?;
            Ok(RuleSubject::Mcp {
                server: server.into(),
                tool: (tool != "*").then(|| tool.into()),
            })
        }
        "tool" => {
            check_tool(rest, effect)?;
            Ok(RuleSubject::Tool(rest.into()))
        }
        _ => {
            // `name`, `name/action`, `name/action:arguments`. The name of a nested skill has a
            // colon (`apps/web:deploy`), so only known actions count.
            let (head, arguments) = match rest.rsplit_once(':') {
                Some((head, arguments)) if action_of(head).is_some() => (head, Some(arguments)),
                _ => (rest, None),
            };
            let (name, action) = match action_of(head) {
                Some((name, action)) => (name, Some(action.into())),
                None => (head, None),
            };
            check_skill(name)?;
            if let Some((name, action)) = action_of(&name.to_ascii_lowercase()) {
                return Err(
                    format!("write the action in lower case: `skill:{name}/{action}`").into(),
                );
            }
            let arguments = match arguments {
                None | Some("*") => ArgumentRule::Any,
                Some(like) => ArgumentRule::Like(like.into()),
            };
            Ok(RuleSubject::Skill {
                name: name.into(),
                action,
                arguments,
            })
        }
    }
}

/// Checks the tool of a rule: an allow rule names one tool.
fn check_tool(name: &str, effect: Effect) -> Result<(), Box<str>> {
    if effect == Effect::Allow && name.contains('*') {
        return Err("the tool of an allow rule must not contain `*`".into());
    }
    Ok(())
}

/// Checks the server of a rule: an allow rule names one server.
fn check_server(name: &str, effect: Effect) -> Result<(), Box<str>> {
    if effect == Effect::Allow && name.contains('*') {
        return Err("the server of an allow rule must not contain `*`".into());
    }
    Ok(())
}

fn action_of(text: &str) -> Option<(&str, &str)> {
    let (name, action) = text.rsplit_once('/')?;
    matches!(action, "load" | "run" | "read" | "unload" | "list").then_some((name, action))
}

fn claude_code(pattern: ToolPattern, effect: Effect) -> Result<RuleSubject, Box<str>> {
    let subject = match pattern {
        ToolPattern::Bare(name) => match &*name {
            "Bash" => RuleSubject::Command(CommandRule::Any),
            "Skill" => RuleSubject::Skill {
                name: "*".into(),
                action: None,
                arguments: ArgumentRule::Any,
            },
            "Read" | "Grep" | "Glob" | "LS" => RuleSubject::Read("**".into()),
            "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => RuleSubject::Write("**".into()),
            "WebFetch" => RuleSubject::Host("*".into()),
            _ if CHANGING_TOOLS.contains(&&*name) => RuleSubject::Change {
                tool: name,
                host: "*".into(),
            },
            _ if name.contains('*') && effect == Effect::Allow => {
                check_tool(&name, effect)?;
                RuleSubject::Tool(name)
            }
            // No tool has a colon in its name: `Read:.env`.
            _ => match name.split_once(':') {
                Some((tool, rest)) => {
                    return Err(format!("write `{tool}({rest})`").into());
                }
                // Nor a dot or a slash: it is meant for files or a host.
                None if effect != Effect::Allow && name.contains(['.', '/']) => {
                    return Err(format!(
                        "no tool has such a name; write `Read({name})` or `Edit({name})` for files, `WebFetch(domain:{name})` for a host"
                    )
                    .into());
                }
                None => RuleSubject::Tool(name),
            },
        },
        ToolPattern::Command(pattern) if &*pattern.tool == "Bash" => {
            RuleSubject::Command(commands(&pattern.text, effect)?)
        }
        ToolPattern::Command(pattern) => {
            return Err(format!("{} is not supported here", pattern.tool).into());
        }
        ToolPattern::Path { tool, glob } => {
            let glob = files(&tool, &glob, effect)?;
            match &*tool {
                "Read" | "Grep" | "Glob" | "LS" => RuleSubject::Read(glob),
                _ => RuleSubject::Write(glob),
            }
        }
        ToolPattern::Mcp { server, tool } => {
            check_server(&server, effect)?;
            RuleSubject::Mcp { server, tool }
        }
        ToolPattern::Skill {
            name,
            any_arguments,
        } => {
            check_skill(&name)?;
            if action_of(&name.to_ascii_lowercase()).is_some() {
                return Err(
                    format!("an action is written `skill:{}`", name.to_ascii_lowercase()).into(),
                );
            }
            let arguments = if any_arguments {
                ArgumentRule::Any
            } else {
                ArgumentRule::Plain
            };
            RuleSubject::Skill {
                name,
                action: None,
                arguments,
            }
        }
        ToolPattern::Domain { tool, host: name } if CHANGING_TOOLS.contains(&&*tool) => {
            let host = host(&name)?;
            RuleSubject::Change { tool, host }
        }
        ToolPattern::Domain { host: name, .. } => RuleSubject::Host(host(&name)?),
        ToolPattern::Other { tool, specifier }
            if is_agent_tool(&tool) && is_agent_name(&specifier, effect) =>
        {
            // A name in quotes, or several names, would match no agent.
            let value = agent_name(&specifier);
            if effect != Effect::Allow && value.contains(['"', '\'', '`', ',', '|']) {
                return Err("it is one name without quotes; write one rule for each agent, and `*` for such a character in a name".into());
            }
            RuleSubject::Argument {
                tool,
                name: "name".into(),
                value: value.into(),
            }
        }
        ToolPattern::Other { tool, specifier } => match specifier.split_once(':') {
            // `bash(rm:*)` is about the command `rm`, not about an argument of that name.
            name if tool.eq_ignore_ascii_case("bash")
                && !name.is_some_and(|(name, _)| BASH_ARGUMENTS.contains(&name.trim())) =>
            {
                if effect == Effect::Allow {
                    return Err(format!("write `Bash({specifier})`").into());
                }
                RuleSubject::Command(commands(&specifier, effect)?)
            }
            Some((name, _)) if is_file_tool(&tool) && FILE_NAMES.contains(&name.trim()) => {
                return Err("a file is written `Read(.env)` or `Edit(out/**)`".into());
            }
            Some((name, value)) if effect != Effect::Allow => RuleSubject::Argument {
                tool,
                name: name.trim().into(),
                value: value.trim().into(),
            },
            _ => return Err(format!("`{tool}` does not accept a pattern in parentheses").into()),
        },
    };
    Ok(subject)
}

/// Returns `true` for the names that rules use for tools that start agents.
fn is_agent_tool(tool: &str) -> bool {
    matches!(tool, "Agent" | "Task")
}

/// Names of the argument with the name of an agent, here and in other systems.
const AGENT_ARGUMENTS: [&str; 4] = ["name", "agent", "agent_type", "subagent_type"];

/// Returns `true` if the pattern of a rule about agents is a name, not another argument.
fn is_agent_name(specifier: &str, effect: Effect) -> bool {
    let argument = specifier.split_once(':').map(|(name, _)| name.trim());
    argument.is_none_or(|name| effect != Effect::Allow && AGENT_ARGUMENTS.contains(&name))
}

/// Returns the name in the pattern of a rule about agents.
fn agent_name(specifier: &str) -> &str {
    let name = specifier
        .split_once(':')
        .map_or(specifier, |(_, name)| name);
    name.trim()
}

/// Arguments of the tool `bash`, which rules can match: `bash(command:rm*)`.
const BASH_ARGUMENTS: [&str; 3] = ["command", "timeout_ms", "description"];
/// Names that other systems give to the argument of a tool that reads or writes files.
const FILE_NAMES: [&str; 4] = ["file", "file_path", "filename", "filepath"];

fn is_file_tool(tool: &str) -> bool {
    matches!(tool, "read" | "write" | "edit")
}

/// Checks a pattern of files. One that can match no file that its author meant is invalid.
fn files(tool: &str, glob: &str, effect: Effect) -> Result<Box<str>, Box<str>> {
    let quotes = ['"', '\'', '`'];
    let plain = glob.trim_matches(quotes);
    if glob.len() > 1 && glob.starts_with(quotes) && glob.ends_with(quotes) {
        return Err(format!("write it without quotes: `{tool}({plain})`").into());
    }
    if let Some((name, rest)) = glob.split_once(':')
        && (name == "path" || FILE_NAMES.contains(&name))
    {
        return Err(format!("write `{tool}({})`", rest.trim()).into());
    }
    // An allow rule with such a name allows a file of that name, and nothing else.
    if effect != Effect::Allow {
        let has_braces = glob.contains('{') && glob.contains('}') && glob.contains(',');
        if has_braces || glob.contains(", ") || glob.contains('|') {
            return Err("it is one pattern; write one rule for each, and `?` for a comma, a brace or a bar in a name".into());
        }
        if glob.starts_with('!') {
            return Err("a pattern cannot be negated".into());
        }
        if glob.contains("${") || glob.starts_with('$') {
            return Err("variables are not expanded; write `~/` for the home folder".into());
        }
    }
    Ok(glob.into())
}

/// Checks the name of a skill. One that can be the name of no skill is invalid.
fn check_skill(name: &str) -> Result<(), Box<str>> {
    if let Some((name, arguments)) = name.split_once(char::is_whitespace) {
        let (name, arguments) = (name.trim_end_matches(':'), arguments.trim());
        return Err(format!(
            "arguments are written `skill:{name}/load:{arguments}`; write `*` for a blank in a name"
        )
        .into());
    }
    if name.contains(['"', '\'', '`', ',', '|']) {
        return Err("it is one name without quotes; write one rule for each skill".into());
    }
    let prefix = ["/", "name:", "skill:"]
        .into_iter()
        .find_map(|it| name.strip_prefix(it));
    match prefix {
        Some(rest) => Err(format!("write `Skill({rest})`").into()),
        None => Ok(()),
    }
}

fn host(text: &str) -> Result<Box<str>, Box<str>> {
    let plain = text.strip_prefix("*.").unwrap_or(text);
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    if text == "*" || (!plain.is_empty() && plain.chars().all(known)) {
        Ok(text.to_ascii_lowercase().into())
    } else {
        Err("a host is written `example.com` or `*.example.com`".into())
    }
}

fn commands(text: &str, effect: Effect) -> Result<CommandRule, Box<str>> {
    if text == "*" {
        return Ok(CommandRule::Any);
    }
    let prefix = text
        .strip_suffix(":*")
        .or_else(|| text.strip_suffix(" *"))
        .map(str::trim);
    if prefix
        .unwrap_or(text)
        .chars()
        .all(|c| matches!(c, '*' | ':' | ' '))
    {
        return Err("no program before the `*`; write `Bash` to match every command".into());
    }
    // `Bash(command:*)` is about the builtin of that name.
    if let Some(rest) = text.strip_prefix("command:").filter(|rest| *rest != "*") {
        return Err(format!("write `Bash({})`", rest.trim()).into());
    }
    if text.contains(":*,") {
        return Err("`:*` is the end of a rule; write one rule for each command".into());
    }
    let program = text.split_whitespace().next().unwrap_or_default();
    if let Some((program, rest)) = program.split_once(':')
        && !rest.starts_with('*')
        && !program.contains(['/', '*'])
    {
        return Err(
            format!("no program has a colon in its name; write `Bash({program}:*)`").into(),
        );
    }
    if let Some(prefix) = prefix.filter(|prefix| !prefix.contains('*')) {
        let words = one_command(prefix)?;
        return Ok(CommandRule::Prefix(words));
    }
    if text.contains('*') {
        if effect == Effect::Allow && text.starts_with('*') {
            return Err("an allow rule must begin with the name of a program".into());
        }
        return Ok(CommandRule::Like(text.into()));
    }
    lex(text).map(CommandRule::Exact).map_err(|refusal| {
        format!(
            "a rule consists of plain words, but this has {}",
            refusal.why
        )
        .into()
    })
}

fn one_command(text: &str) -> Result<Vec<Word>, Box<str>> {
    let script = lex(text).map_err(|refusal| {
        format!(
            "a rule consists of plain words, but this has {}",
            refusal.why
        )
    })?;
    match <[_; 1]>::try_from(script.commands) {
        Ok([only]) if only.redirects.is_empty() && !only.words.iter().any(Word::is_glob) => {
            Ok(only.words)
        }
        _ => Err("a rule with `:*` matches one command; write one rule for each command".into()),
    }
}

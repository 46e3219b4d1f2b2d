//! Rules: which requests they are about.
//!
//! Two spellings, one meaning. Claude Code's: `Bash(git status:*)`, `Read(src/**)`, `Skill(deploy *)`,
//! `WebFetch(domain:example.com)`, `mcp__server__tool`. core-agent's: `bash:git *`,
//! `skill:jira-triage`, `skill:jira-triage/run:*`, `read:src/*`.

use prowess_spec::tool_pattern::{PatternToken, ToolPattern, parse_list};

use crate::star::walk;
use prowess_shell::{Script, Word, lex};

/// Longest rule, in bytes.
pub const MAX_BYTES: usize = 512;
/// Most rules of a list that count.
pub const MAX_RULES: usize = 256;

/// One rule that was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// As it was written.
    pub text: Box<str>,
    /// What it is about.
    pub subject: Subject,
}

/// What a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Everything: `*`.
    Everything,
    /// A tool in any use, perhaps with `*` in its name.
    Tool(Box<str>),
    /// Commands of the shell.
    Command(Commands),
    /// Reading files.
    Read(Box<str>),
    /// Writing files.
    Write(Box<str>),
    /// Talking to a host: `example.com`, `*.example.com`, `*`.
    Host(Box<str>),
    /// Tools of an MCP server.
    Mcp {
        /// The server, perhaps with `*`.
        server: Box<str>,
        /// The tool, perhaps with `*`; nothing for all of them.
        tool: Option<Box<str>>,
    },
    /// A skill.
    Skill {
        /// Its name, perhaps with `*`.
        name: Box<str>,
        /// What is done with it (`load`, `run`, `read`); nothing for everything.
        action: Option<Box<str>>,
        /// Its arguments.
        arguments: Arguments,
    },
    /// An argument of a tool: `Tool(param:value)`; for deny and ask.
    Argument {
        /// The tool.
        tool: Box<str>,
        /// The argument's name.
        name: Box<str>,
        /// Its value, perhaps with `*`.
        value: Box<str>,
    },
}

/// Which arguments of a skill a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arguments {
    /// None at all for an allow rule; any for the others.
    Plain,
    /// Any.
    Any,
    /// Those that fit a pattern with `*`.
    Like(Box<str>),
}

/// Which commands a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Commands {
    /// All of them: `Bash`, `Bash(*)`.
    Any,
    /// Those that begin with these words: `Bash(git add:*)`. Never empty.
    Prefix(Vec<Word>),
    /// This line and no other: `Bash(npm run build)`.
    Exact(Script),
    /// Those whose text fits: `Bash(git * main)`, `Bash(ls*)`.
    Like(Box<str>),
}

/// Why a rule means nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFault {
    /// As it was written, cut to a line.
    pub text: Box<str>,
    /// What is wrong, and what to write instead.
    pub why: Box<str>,
}

/// What a rule does; it decides how strictly the rule is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// It forbids.
    Deny,
    /// It wants a question.
    Ask,
    /// It allows.
    Allow,
}

impl Effect {
    /// The word used in output and settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
        }
    }
}

impl Rule {
    /// Reads a rule in either spelling.
    pub fn parse(text: &str, effect: Effect) -> Result<Self, RuleFault> {
        let subject = if text.len() > MAX_BYTES {
            Err("it is longer than 512 bytes".into())
        } else if text
            .chars()
            .any(|c| c.is_control() || prowess_diag::sanitize::is_deceptive(c))
        {
            Err("it has control or invisible characters".into())
        } else {
            subject(text.trim(), effect)
        };
        match subject {
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

    /// Tells whether the rule allows everything that its tool can do.
    pub fn is_unrestricted(&self) -> bool {
        match &self.subject {
            Subject::Everything | Subject::Command(Commands::Any) => true,
            Subject::Command(Commands::Prefix(words)) => {
                let more = words
                    .iter()
                    .cloned()
                    .chain([Word::plain("prowess-probe"), Word::plain("prowess-probe")]);
                let more: Vec<Word> = more.collect();
                prowess_shell::programs::inspect(&more)
                    .starts
                    .iter()
                    .any(|&at| at >= words.len())
            }
            _ => false,
        }
    }
}

fn subject(text: &str, effect: Effect) -> Result<Subject, Box<str>> {
    if text.is_empty() {
        return Err("it is empty".into());
    }
    if text == "*" {
        return match effect {
            Effect::Allow => Err("it would allow everything: name a tool".into()),
            _ => Ok(Subject::Everything),
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
        return Err(
            "no program stands before the `*`: write `Bash` if every command is meant".into(),
        );
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

fn core_agent(tool: &str, rest: &str, effect: Effect) -> Result<Subject, Box<str>> {
    if rest.is_empty() {
        return Err("nothing stands behind the colon".into());
    }
    match tool {
        "bash" => commands(rest, effect).map(Subject::Command),
        "read" => Ok(Subject::Read(rest.into())),
        "write" | "edit" => Ok(Subject::Write(rest.into())),
        "fetch" | "url" => host(rest).map(Subject::Host),
        "mcp" => {
            let (server, tool) = rest.split_once('/').unwrap_or((rest, "*"));
            Ok(Subject::Mcp {
                server: server.into(),
                tool: (tool != "*").then(|| tool.into()),
            })
        }
        "tool" => Ok(Subject::Tool(rest.into())),
        _ => {
            // `name`, `name/action`, `name/action:arguments`. A nested skill's own name has a colon
            // (`apps/web:deploy`), so an action is looked for only where it is one.
            let (head, arguments) = match rest.rsplit_once(':') {
                Some((head, arguments)) if action_of(head).is_some() => (head, Some(arguments)),
                _ => (rest, None),
            };
            let (name, action) = match action_of(head) {
                Some((name, action)) => (name, Some(action.into())),
                None => (head, None),
            };
            let arguments = match arguments {
                None | Some("*") => Arguments::Any,
                Some(like) => Arguments::Like(like.into()),
            };
            Ok(Subject::Skill {
                name: name.into(),
                action,
                arguments,
            })
        }
    }
}

fn action_of(text: &str) -> Option<(&str, &str)> {
    let (name, action) = text.rsplit_once('/')?;
    matches!(action, "load" | "run" | "read" | "unload" | "list").then_some((name, action))
}

fn claude_code(pattern: ToolPattern, effect: Effect) -> Result<Subject, Box<str>> {
    let subject = match pattern {
        ToolPattern::Bare(name) => match &*name {
            "Bash" => Subject::Command(Commands::Any),
            "Skill" => Subject::Skill {
                name: "*".into(),
                action: None,
                arguments: Arguments::Any,
            },
            "Read" | "Grep" | "Glob" | "LS" => Subject::Read("**".into()),
            "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => Subject::Write("**".into()),
            "WebFetch" => Subject::Host("*".into()),
            _ if name.contains('*') && effect == Effect::Allow => {
                return Err("an allow rule names its tool without `*`".into());
            }
            _ => Subject::Tool(name),
        },
        ToolPattern::Command(pattern) if &*pattern.tool == "Bash" => {
            Subject::Command(commands(&pattern.text, effect)?)
        }
        ToolPattern::Command(pattern) => {
            return Err(format!("{} is not supported here", pattern.tool).into());
        }
        ToolPattern::Path { tool, glob } => match &*tool {
            "Read" | "Grep" | "Glob" | "LS" => Subject::Read(glob),
            _ => Subject::Write(glob),
        },
        ToolPattern::Mcp { server, tool } => {
            if effect == Effect::Allow && server.contains('*') {
                return Err("an allow rule names its server without `*`".into());
            }
            Subject::Mcp { server, tool }
        }
        ToolPattern::Skill {
            name,
            any_arguments,
        } => {
            let arguments = if any_arguments {
                Arguments::Any
            } else {
                Arguments::Plain
            };
            Subject::Skill {
                name,
                action: None,
                arguments,
            }
        }
        ToolPattern::Domain { host: name, .. } => Subject::Host(host(&name)?),
        ToolPattern::Other { tool, specifier } => match specifier.split_once(':') {
            Some((name, value)) if effect != Effect::Allow => Subject::Argument {
                tool,
                name: name.trim().into(),
                value: value.trim().into(),
            },
            _ => return Err(format!("{tool} has no use for what is in the parentheses").into()),
        },
    };
    Ok(subject)
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

fn commands(text: &str, effect: Effect) -> Result<Commands, Box<str>> {
    if text == "*" {
        return Ok(Commands::Any);
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
        return Err(
            "no program stands before the `*`: write `Bash` if every command is meant".into(),
        );
    }
    if let Some(prefix) = prefix.filter(|prefix| !prefix.contains('*')) {
        let words = one_command(prefix)?;
        return Ok(Commands::Prefix(words));
    }
    if text.contains('*') {
        if effect == Effect::Allow && text.starts_with('*') {
            return Err("an allow rule begins with the name of a program".into());
        }
        return Ok(Commands::Like(text.into()));
    }
    lex(text).map(Commands::Exact).map_err(|refusal| {
        format!(
            "a rule is made of plain words, and this has {}",
            refusal.why
        )
        .into()
    })
}

fn one_command(text: &str) -> Result<Vec<Word>, Box<str>> {
    let script = lex(text).map_err(|refusal| {
        format!(
            "a rule is made of plain words, and this has {}",
            refusal.why
        )
    })?;
    match <[_; 1]>::try_from(script.commands) {
        Ok([only]) if only.redirects.is_empty() && !only.words.iter().any(Word::is_glob) => {
            Ok(only.words)
        }
        _ => Err("a rule with `:*` is about one command".into()),
    }
}

/// Matches `*` against any text.
pub fn like(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let same = |p: usize, t: usize| (pattern.get(p) == Some(&text[t])).then_some(1);
    walk(text.len(), |p| pattern.get(p) == Some(&b'*'), same)
        .is_some_and(|(end, _)| pattern[end..].iter().all(|&byte| byte == b'*'))
}

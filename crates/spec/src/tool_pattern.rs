//! The grammar of `allowed-tools` and `disallowed-tools`.
//!
//! ```text
//! list    = token { (blank | ",") token }          no split inside parentheses
//! token   = name [ "(" specifier ")" ]
//! ```
//!
//! An invalid token grants nothing. In particular `Bash (git:*)`, with a space before the
//! parenthesis, is one invalid token and never the bare `Bash`.

use std::ops::Range;

/// A tool, or one use of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolPattern {
    /// Any use of a tool: `Read`.
    Bare(Box<str>),
    /// Commands of a shell tool: `Bash(git add:*)`.
    Command(CommandPattern),
    /// Files: `Read(src/**)`.
    Path {
        /// `Read`, `Edit`, `Write` and so on.
        tool: Box<str>,
        /// A pattern in `.gitignore` syntax.
        glob: Box<str>,
    },
    /// A tool of an MCP server: `mcp__server__tool`; or all its tools: `mcp__server`.
    Mcp {
        /// The server's name.
        server: Box<str>,
        /// The tool, which may be a pattern; `None` for all tools.
        tool: Option<Box<str>>,
    },
    /// A skill: `Skill(name)`, or with any arguments: `Skill(name *)`.
    Skill {
        /// The skill's name.
        name: Box<str>,
        /// `true` if any arguments may follow.
        any_arguments: bool,
    },
    /// A host: `WebFetch(domain:example.com)`.
    Domain {
        /// The tool.
        tool: Box<str>,
        /// The host, optionally with a leading `*.`.
        host: Box<str>,
    },
    /// Any other tool, with a specifier that only the tool interprets.
    Other {
        /// The tool.
        tool: Box<str>,
        /// The text in the parentheses.
        specifier: Box<str>,
    },
}

/// A pattern for command lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandPattern {
    /// `Bash` or `PowerShell`.
    pub tool: Box<str>,
    /// The text in the parentheses.
    pub text: Box<str>,
    /// The way it matches.
    pub shape: CommandShape,
}

/// The way a command pattern matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandShape {
    /// Any command: `Bash(*)`.
    Anything,
    /// Exactly this command: `Bash(npm run build)`.
    Exact,
    /// A command that starts with these words: `Bash(git add:*)`, `Bash(git *)`. Words match whole:
    /// `ls` does not match `lsof`.
    Words(Box<str>),
    /// A `*` elsewhere, which matches any text including spaces.
    Glob,
}

/// The reason why a token is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenFault {
    /// An unbalanced parenthesis.
    Unbalanced,
    /// A space between the name and its parenthesis.
    SpaceBeforeParenthesis,
    /// Empty parentheses.
    EmptySpecifier,
    /// Text after the closing parenthesis.
    TrailingText,
    /// Not a valid tool name.
    BadName,
}

impl TokenFault {
    /// Returns a phrase for messages.
    pub fn explain(self) -> &'static str {
        match self {
            Self::Unbalanced => "a parenthesis is unbalanced",
            Self::SpaceBeforeParenthesis => "there is a space before the parenthesis",
            Self::EmptySpecifier => "the parentheses are empty",
            Self::TrailingText => "text follows the closing parenthesis",
            Self::BadName => "this is not a valid tool name",
        }
    }
}

/// A token of a list, with its range in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternToken {
    /// Range in the text.
    pub range: Range<usize>,
    /// The tools it matches, or the reason it is invalid.
    pub pattern: Result<ToolPattern, TokenFault>,
}

/// Parses a list of tools.
pub fn parse_list(text: &str) -> Vec<PatternToken> {
    let words = split(text);
    let mut tokens: Vec<PatternToken> = Vec::with_capacity(words.len().div_ceil(2));
    let mut comma_between = true;
    for range in words {
        let word = &text[range.clone()];
        if word == "," {
            comma_between = true;
            continue;
        }
        if word.starts_with('(') {
            // In `Bash (git:*)` the parenthesis makes the preceding name invalid.
            if let Some(last) = tokens.last_mut().filter(|_| !comma_between) {
                last.range.end = range.end;
                last.pattern = Err(TokenFault::SpaceBeforeParenthesis);
            } else {
                tokens.push(PatternToken {
                    range,
                    pattern: Err(TokenFault::BadName),
                });
            }
        } else {
            let pattern = parse_token(word);
            tokens.push(PatternToken { range, pattern });
        }
        comma_between = false;
    }
    tokens
}

/// Splits a list at whitespace and commas outside parentheses. Commas are returned as words.
fn split(text: &str) -> Vec<Range<usize>> {
    let mut words = Vec::with_capacity(16);
    let mut start = None;
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        let separates = depth == 0 && (c == ',' || c.is_whitespace());
        if separates {
            words.extend(start.take().map(|start| start..at));
            if c == ',' {
                words.push(at..at + 1);
            }
            continue;
        }
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        start.get_or_insert(at);
    }
    words.extend(start.map(|start| start..text.len()));
    words
}

/// Returns `true` if the list contains a separating comma.
pub fn has_separating_comma(text: &str) -> bool {
    split(text).into_iter().any(|range| &text[range] == ",")
}

/// Parses one token.
pub fn parse_token(word: &str) -> Result<ToolPattern, TokenFault> {
    let Some(open) = word.find('(') else {
        if word.contains(')') {
            return Err(TokenFault::Unbalanced);
        }
        check_name(word)?;
        return Ok(bare(word));
    };
    let (name, rest) = word.split_at(open);
    check_name(name)?;
    let close = matching(rest).ok_or(TokenFault::Unbalanced)?;
    if close + 1 != rest.len() {
        return Err(if rest[close + 1..].contains(')') {
            TokenFault::Unbalanced
        } else {
            TokenFault::TrailingText
        });
    }
    let specifier = rest[1..close].trim();
    if specifier.is_empty() {
        return Err(TokenFault::EmptySpecifier);
    }
    Ok(with_specifier(name, specifier))
}

/// Returns the offset of the parenthesis that closes the first one.
fn matching(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

fn check_name(name: &str) -> Result<(), TokenFault> {
    let starts_well = name.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '*');
    let is_mark = |c| matches!(c, '_' | '-' | '.' | ':' | '/' | '*');
    let goes_on_well = name.chars().all(|c| c.is_alphanumeric() || is_mark(c));
    if starts_well && goes_on_well {
        Ok(())
    } else {
        Err(TokenFault::BadName)
    }
}

fn bare(name: &str) -> ToolPattern {
    let Some(rest) = name.strip_prefix("mcp__") else {
        return ToolPattern::Bare(name.into());
    };
    match rest.split_once("__") {
        Some((server, tool)) if !server.is_empty() && !tool.is_empty() => ToolPattern::Mcp {
            server: server.into(),
            tool: (tool != "*").then(|| tool.into()),
        },
        None if !rest.is_empty() => ToolPattern::Mcp {
            server: rest.into(),
            tool: None,
        },
        _ => ToolPattern::Bare(name.into()),
    }
}

fn with_specifier(name: &str, specifier: &str) -> ToolPattern {
    match name {
        "Bash" | "PowerShell" => ToolPattern::Command(command(name, specifier)),
        "Skill" => {
            let (name, any_arguments) = match specifier
                .strip_suffix(" *")
                .or_else(|| specifier.strip_suffix(":*"))
            {
                Some(name) => (name.trim_end(), true),
                None => (specifier, false),
            };
            ToolPattern::Skill {
                name: name.into(),
                any_arguments,
            }
        }
        "Read" | "Edit" | "Write" | "MultiEdit" | "NotebookEdit" | "Glob" | "Grep" | "LS" => {
            ToolPattern::Path {
                tool: name.into(),
                glob: specifier.into(),
            }
        }
        _ => match specifier.strip_prefix("domain:") {
            Some(host) => ToolPattern::Domain {
                tool: name.into(),
                host: host.trim().into(),
            },
            None => ToolPattern::Other {
                tool: name.into(),
                specifier: specifier.into(),
            },
        },
    }
}

fn command(tool: &str, text: &str) -> CommandPattern {
    let words = text
        .strip_suffix(":*")
        .or_else(|| text.strip_suffix(" *"))
        .map(str::trim_end);
    let shape = match words {
        _ if text.chars().all(|c| matches!(c, '*' | ':' | ' ')) => CommandShape::Anything,
        Some(words) if !words.contains('*') => CommandShape::Words(words.into()),
        _ if text.contains('*') => CommandShape::Glob,
        _ => CommandShape::Exact,
    };
    CommandPattern {
        tool: tool.into(),
        text: text.into(),
        shape,
    }
}

impl ToolPattern {
    /// Returns the tool's name without the specifier.
    pub fn tool(&self) -> &str {
        match self {
            Self::Bare(tool)
            | Self::Path { tool, .. }
            | Self::Domain { tool, .. }
            | Self::Other { tool, .. } => tool,
            Self::Command(pattern) => &pattern.tool,
            Self::Mcp { .. } => "mcp",
            Self::Skill { .. } => "Skill",
        }
    }
}

impl CommandPattern {
    /// Returns `true` if the pattern matches a simple command line (no pipes, no lists). For lint
    /// only: the policy crate decides whether a command may run.
    pub fn covers(&self, command: &str) -> bool {
        let command = command.trim();
        match &self.shape {
            CommandShape::Anything => true,
            CommandShape::Exact => command == &*self.text,
            CommandShape::Words(words) => command
                .strip_prefix(&**words)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace)),
            CommandShape::Glob => glob(&self.text, command),
        }
    }
}

/// Matches `*` against any text, in linear time per star.
fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found: Vec<String> = parse_list(text)
            .into_iter()
            .map(|token| match token.pattern {
                Ok(pattern) => format!("{pattern:?}"),
                Err(fault) => format!("{fault:?} {}", &text[token.range]),
            })
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn tokens_are_split_outside_parentheses() {
        let tools = |text: &str| {
            parse_list(text)
                .into_iter()
                .map(|t| text[t.range].to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            tools("Bash(git add *) Bash(git commit *), Read"),
            ["Bash(git add *)", "Bash(git commit *)", "Read"]
        );
        assert_eq!(tools("Read,Write , Edit"), ["Read", "Write", "Edit"]);
        assert_eq!(tools("Bash(echo (a, b)) X"), ["Bash(echo (a, b))", "X"]);
        assert!(tools(" , ").is_empty());
    }

    #[test]
    fn each_form_parses_to_its_variant() {
        check("Read", &["Bare(\"Read\")"]);
        check(
            "Bash(*)",
            &["Command(CommandPattern { tool: \"Bash\", text: \"*\", shape: Anything })"],
        );
        check(
            "Bash(git add:*)",
            &[
                "Command(CommandPattern { tool: \"Bash\", text: \"git add:*\", shape: Words(\"git add\") })",
            ],
        );
        check(
            "Bash(git *)",
            &["Command(CommandPattern { tool: \"Bash\", text: \"git *\", shape: Words(\"git\") })"],
        );
        check(
            "Bash(ls*)",
            &["Command(CommandPattern { tool: \"Bash\", text: \"ls*\", shape: Glob })"],
        );
        check(
            "Bash(npm test)",
            &["Command(CommandPattern { tool: \"Bash\", text: \"npm test\", shape: Exact })"],
        );
        check(
            "Read(src/**)",
            &["Path { tool: \"Read\", glob: \"src/**\" }"],
        );
        check("mcp__a__b", &["Mcp { server: \"a\", tool: Some(\"b\") }"]);
        check("mcp__a", &["Mcp { server: \"a\", tool: None }"]);
        check("mcp__a__*", &["Mcp { server: \"a\", tool: None }"]);
        check(
            "Skill(deploy *)",
            &["Skill { name: \"deploy\", any_arguments: true }"],
        );
        check(
            "WebFetch(domain:x.org)",
            &["Domain { tool: \"WebFetch\", host: \"x.org\" }"],
        );
        check(
            "Agent(Explore)",
            &["Other { tool: \"Agent\", specifier: \"Explore\" }"],
        );
    }

    #[test]
    fn malformed_tokens_grant_nothing() {
        check(
            "Bash (git:*) Read",
            &["SpaceBeforeParenthesis Bash (git:*)", "Bare(\"Read\")"],
        );
        check("Bash, (git:*)", &["Bare(\"Bash\")", "BadName (git:*)"]);
        check("Bash()", &["EmptySpecifier Bash()"]);
        check("Bash(git", &["Unbalanced Bash(git"]);
        check("Bash)", &["Unbalanced Bash)"]);
        check("Bash(git:*)x", &["TrailingText Bash(git:*)x"]);
        check("Bash(a))", &["Unbalanced Bash(a))"]);
        check("[Read]", &["BadName [Read]"]);
        check("\"Read\"", &["BadName \"Read\""]);
    }

    #[test]
    fn word_patterns_match_whole_words() {
        let covers = |pattern: &str, command: &str| match parse_token(pattern) {
            Ok(ToolPattern::Command(pattern)) => pattern.covers(command),
            other => panic!("{other:?}"),
        };
        for pattern in ["Bash(ls *)", "Bash(ls:*)"] {
            assert!(
                covers(pattern, "ls") && covers(pattern, "ls -la") && !covers(pattern, "lsof"),
                "{pattern}"
            );
        }
        assert!(covers("Bash(ls*)", "lsof"));
        assert!(
            covers("Bash(npm run test:*)", "npm run test")
                && !covers("Bash(npm run test:*)", "npm run testx")
        );
        assert!(
            !covers("Bash(git:*)", "./git status") && !covers("Bash(git:*)", "/usr/bin/git status")
        );
        assert!(
            covers("Bash(git * --dry-run)", "git push --dry-run")
                && !covers("Bash(git * --dry-run)", "git push")
        );
    }
}

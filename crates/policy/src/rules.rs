//! Sets of rules with their sources, including invalid rules.

use prowess_spec::tool_pattern::{PatternToken, parse_list};

use crate::decision::Cited;
use crate::rule::{Commands, Effect, MAX_RULES, Rule, RuleFault, Subject};

/// The source of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The program itself.
    BuiltIn,
    /// User settings: the file.
    User(Box<str>),
    /// Project settings: the file. They can only restrict.
    Project(Box<str>),
    /// The command line.
    Flag,
    /// An answer given in this session.
    Session,
    /// A skill's frontmatter: its name.
    Skill(Box<str>),
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::User(file) | Self::Project(file) => f.write_str(file),
            Self::Flag => f.write_str("the command line"),
            Self::Session => f.write_str("this session"),
            Self::Skill(name) => write!(f, "the skill {name}"),
        }
    }
}

/// A rule with its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The effect.
    pub effect: Effect,
    /// The rule.
    pub rule: Rule,
    /// The source.
    pub source: Source,
}

impl Placed {
    pub(crate) fn cite(&self) -> Cited {
        Cited {
            text: self.rule.text.clone(),
            effect: self.effect,
            source: self.source.to_string().into(),
        }
    }
}

/// An invalid rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The effect that it was meant to have.
    pub effect: Effect,
    /// The error.
    pub fault: RuleFault,
    /// The source.
    pub source: Source,
}

/// Rules from all sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleSet {
    rules: Vec<Placed>,
    unread: Vec<Unread>,
}

impl RuleSet {
    /// Adds a rule. An invalid one is kept as invalid.
    pub fn add(&mut self, effect: Effect, text: &str, source: Source) {
        let fault = |why: &str| RuleFault {
            text: text.chars().take(120).collect::<String>().into(),
            why: why.into(),
        };
        let parsed = if self.of(effect).count() >= MAX_RULES {
            Err(fault("a list has at most 256 rules"))
        } else if effect == Effect::Allow && matches!(source, Source::Project(_)) {
            Err(fault(
                "project settings can only restrict; put it into your own settings",
            ))
        } else {
            Rule::parse(text, effect)
        };
        // The names of the built-in tools are in lower case. A ban on `bash` is a ban on commands,
        // whatever tool runs them.
        let wider = match text.trim() {
            _ if effect == Effect::Allow => None,
            "bash" => Some(Subject::Command(Commands::Any)),
            "read" => Some(Subject::Read("**".into())),
            "write" | "edit" => Some(Subject::Write("**".into())),
            "http_get" => Some(Subject::Host("*".into())),
            _ => None,
        };
        if let (Ok(rule), Some(subject)) = (&parsed, wider) {
            let rule = Rule {
                text: rule.text.clone(),
                subject,
            };
            self.rules.push(Placed {
                effect,
                rule,
                source: source.clone(),
            });
        }
        match parsed {
            Ok(rule) => self.rules.push(Placed {
                effect,
                rule,
                source,
            }),
            Err(fault) => self.unread.push(Unread {
                effect,
                fault,
                source,
            }),
        }
    }

    /// Creates the rules of a skill from its `allowed-tools` and `disallowed-tools`.
    pub fn of_skill(name: &str, allowed: &str, disallowed: &str) -> Self {
        let mut set = Self::default();
        for (effect, list) in [(Effect::Allow, allowed), (Effect::Deny, disallowed)] {
            for PatternToken { range, .. } in parse_list(list) {
                set.add(effect, &list[range], Source::Skill(name.into()));
            }
        }
        set
    }

    /// Adds the rules of another set after these.
    pub fn extend(&mut self, other: &Self) {
        self.rules.extend(other.rules.iter().cloned());
        self.unread.extend(other.unread.iter().cloned());
    }

    /// Adds the deny and ask rules of another set, but not its allow rules.
    pub fn restrict(&mut self, other: &Self) {
        let restricts = |effect: Effect| effect != Effect::Allow;
        self.rules.extend(
            other
                .rules
                .iter()
                .filter(|rule| restricts(rule.effect))
                .cloned(),
        );
        self.unread.extend(
            other
                .unread
                .iter()
                .filter(|rule| restricts(rule.effect))
                .cloned(),
        );
    }

    /// Returns the rules with one effect, in the order in which they were added.
    pub fn of(&self, effect: Effect) -> impl Iterator<Item = &Placed> {
        self.rules
            .iter()
            .filter(move |placed| placed.effect == effect)
    }

    /// Returns all rules, in the order in which they were added.
    pub fn all(&self) -> &[Placed] {
        &self.rules
    }

    /// Returns the invalid rules. An invalid allow rule allows nothing. An invalid deny or ask rule
    /// makes every request a prompt, because it is unknown what it was meant to stop.
    pub fn unread(&self) -> &[Unread] {
        &self.unread
    }

    pub(crate) fn lost_restriction(&self) -> Option<&Unread> {
        self.unread
            .iter()
            .find(|unread| unread.effect != Effect::Allow)
    }

    /// Returns `true` if there are rules with this effect for commands.
    pub(crate) fn has_bans(&self, effect: Effect) -> bool {
        self.of(effect)
            .any(|placed| matches!(placed.rule.subject, Subject::Command(_)))
    }

    pub(crate) fn has_command_rules(&self, effect: Effect) -> bool {
        self.of(effect).any(|placed| {
            matches!(
                placed.rule.subject,
                Subject::Command(_) | Subject::Everything | Subject::Read(_) | Subject::Write(_)
            )
        })
    }
}

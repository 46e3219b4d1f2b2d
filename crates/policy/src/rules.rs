//! Rules together: lists with the place each came from, and what could not be read.

use prowess_spec::tool_pattern::{PatternToken, parse_list};

use crate::decision::Cited;
use crate::rule::{Commands, Effect, MAX_RULES, Rule, RuleFault, Subject};

/// Where a rule comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The program itself.
    BuiltIn,
    /// A person's own settings: the file.
    User(Box<str>),
    /// A project's settings: the file. They can only tighten.
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

/// A rule in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// What it does.
    pub effect: Effect,
    /// What it is about.
    pub rule: Rule,
    /// Where it comes from.
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

/// A rule that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// What it would have done.
    pub effect: Effect,
    /// What is wrong with it.
    pub fault: RuleFault,
    /// Where it comes from.
    pub source: Source,
}

/// Rules from every place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleSet {
    rules: Vec<Placed>,
    unread: Vec<Unread>,
}

impl RuleSet {
    /// Adds a rule; one that cannot be read is kept as such.
    pub fn add(&mut self, effect: Effect, text: &str, source: Source) {
        let fault = |why: &str| RuleFault {
            text: text.chars().take(120).collect::<String>().into(),
            why: why.into(),
        };
        let parsed = if self.of(effect).count() >= MAX_RULES {
            Err(fault("a list has at most 256 rules"))
        } else if effect == Effect::Allow && matches!(source, Source::Project(_)) {
            Err(fault(
                "a project's settings can only tighten: put it into your own",
            ))
        } else {
            Rule::parse(text, effect)
        };
        // Our own tools have small names. Who bans `bash` bans commands, whatever tool runs them.
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

    /// The rules a skill's `allowed-tools` and `disallowed-tools` make.
    pub fn of_skill(name: &str, allowed: &str, disallowed: &str) -> Self {
        let mut set = Self::default();
        for (effect, list) in [(Effect::Allow, allowed), (Effect::Deny, disallowed)] {
            for PatternToken { range, .. } in parse_list(list) {
                set.add(effect, &list[range], Source::Skill(name.into()));
            }
        }
        set
    }

    /// Adds the rules of another set behind these.
    pub fn extend(&mut self, other: &Self) {
        self.rules.extend(other.rules.iter().cloned());
        self.unread.extend(other.unread.iter().cloned());
    }

    /// Adds what another set forbids or wants a question about, and nothing that it allows.
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

    /// The rules with one effect, in the order they were added.
    pub fn of(&self, effect: Effect) -> impl Iterator<Item = &Placed> {
        self.rules
            .iter()
            .filter(move |placed| placed.effect == effect)
    }

    /// Every rule, in the order they were added.
    pub fn all(&self) -> &[Placed] {
        &self.rules
    }

    /// The rules that could not be read. An allow rule among them allows nothing; a deny or ask rule
    /// among them makes everything a question, since nobody knows what it was to forbid.
    pub fn unread(&self) -> &[Unread] {
        &self.unread
    }

    pub(crate) fn lost_restriction(&self) -> Option<&Unread> {
        self.unread
            .iter()
            .find(|unread| unread.effect != Effect::Allow)
    }

    /// Whether there are rules with this effect about single commands.
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

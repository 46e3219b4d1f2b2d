//! Sets of rules with their sources, including invalid rules.

use prowess_spec::tool_pattern::{PatternToken, parse_list};

use crate::decision::CitedRule;
use crate::mode::PermissionMode;
use crate::path_pattern::{PROJECT, escape};
use crate::rule::{
    ArgumentRule, CHANGING_TOOLS, CommandRule, Effect, MAX_RULES, PermissionRule, RuleFault,
    RuleSubject,
};

/// The source of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleSource {
    /// The program itself.
    BuiltIn,
    /// User settings: the file.
    User(Box<str>),
    /// Project settings: the file. They can only restrict.
    Project(Box<str>),
    /// The command line.
    Flag,
    /// `--approve`.
    Approval,
    /// An answer given in this session.
    Session,
    /// A skill's frontmatter: its name.
    Skill(Box<str>),
}

impl std::fmt::Display for RuleSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::User(file) | Self::Project(file) => f.write_str(file),
            Self::Flag => f.write_str("the command line"),
            Self::Approval => f.write_str("--approve"),
            Self::Session => f.write_str("this session"),
            Self::Skill(name) => write!(f, "the skill {name}"),
        }
    }
}

/// A rule with its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcedRule {
    /// The effect.
    pub effect: Effect,
    /// The rule.
    pub rule: PermissionRule,
    /// The source.
    pub source: RuleSource,
}

impl SourcedRule {
    pub(crate) fn cite(&self) -> CitedRule {
        CitedRule {
            text: self.rule.text.clone(),
            effect: self.effect,
            source: self.source.clone(),
        }
    }
}

/// An invalid rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidRule {
    /// The effect that it was meant to have.
    pub effect: Effect,
    /// The error.
    pub fault: RuleFault,
    /// The source.
    pub source: RuleSource,
}

/// Rules from all sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PermissionRules {
    rules: Vec<SourcedRule>,
    unread: Vec<InvalidRule>,
    /// `true` if allow rules list the skills that may be used, even if none of them is left.
    lists_skills: bool,
}

/// The skills that rules allow or forbid models to load. `*` in a name matches any text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadableSkills {
    /// Skills that may not be loaded.
    pub denied: Vec<Box<str>>,
    /// The only skills that may be loaded; `None` for all.
    pub allowed: Option<Vec<Box<str>>>,
}

impl PermissionRules {
    /// No rules.
    pub(crate) const NONE: Self = Self {
        rules: Vec::new(),
        unread: Vec::new(),
        lists_skills: false,
    };

    /// Adds a rule. An invalid one is kept as invalid.
    pub fn add(&mut self, effect: Effect, text: &str, source: RuleSource) {
        self.add_as(effect, text, source, PermissionRule::parse);
    }

    /// Returns the rules as they were written. A rule that covers several kinds of actions is
    /// several rules in [`Self::all`].
    pub fn written(&self) -> Vec<&SourcedRule> {
        let mut written: Vec<&SourcedRule> = Vec::new();
        for placed in self.all() {
            let is_same = |known: &&SourcedRule| {
                known.effect == placed.effect
                    && known.rule.text == placed.rule.text
                    && known.source == placed.source
            };
            if !written.iter().any(is_same) {
                written.push(placed);
            }
        }
        written
    }

    /// Adds a rule that `parse` reads. An invalid one is kept as invalid.
    pub fn add_as(
        &mut self,
        effect: Effect,
        text: &str,
        source: RuleSource,
        parse: impl FnOnce(&str, Effect) -> Result<PermissionRule, RuleFault>,
    ) {
        let fault = |why: &str| RuleFault {
            text: text.chars().take(120).collect::<String>().into(),
            why: why.into(),
        };
        let parsed = if self.of(effect).count() >= MAX_RULES {
            Err(fault("a list has at most 256 rules"))
        } else if effect == Effect::Allow && matches!(source, RuleSource::Project(_)) {
            Err(fault(
                "project settings can only restrict; put it into your own settings",
            ))
        } else {
            parse(text, effect)
        };
        let parsed = match (parsed, &source, effect) {
            (Ok(rule), RuleSource::Skill(_), Effect::Allow) => Ok(self.within_project(rule)),
            (parsed, ..) => parsed,
        };
        // The names of the built-in tools are in lower case. A ban on `bash` is a ban on commands,
        // whatever tool runs them.
        let wider = match text.trim() {
            _ if effect == Effect::Allow => None,
            "bash" => Some(RuleSubject::Command(CommandRule::Any)),
            "read" => Some(RuleSubject::Read("**".into())),
            "write" | "edit" => Some(RuleSubject::Write("**".into())),
            "http_get" => Some(RuleSubject::Host("*".into())),
            // A denied tool is not declared.
            tool if effect == Effect::Deny && CHANGING_TOOLS.contains(&tool) => {
                Some(RuleSubject::Tool(tool.into()))
            }
            _ => None,
        };
        let others = parsed.as_ref().map(PermissionRule::other_subjects);
        let others = others.unwrap_or_default().into_iter();
        let others = others.filter(|_| effect != Effect::Allow);
        for subject in wider.into_iter().chain(others) {
            let Ok(rule) = &parsed else { break };
            let rule = PermissionRule {
                text: rule.text.clone(),
                subject,
            };
            self.rules.push(SourcedRule {
                effect,
                rule,
                source: source.clone(),
            });
        }
        match parsed {
            Ok(rule) => {
                self.lists_skills |= effect == Effect::Allow && rule.is_about_skills();
                self.rules.push(SourcedRule {
                    effect,
                    rule,
                    source,
                });
            }
            Err(fault) => self.unread.push(InvalidRule {
                effect,
                fault,
                source,
            }),
        }
    }

    /// Adds a list of rules that could not be read as an invalid rule.
    pub fn add_unread(&mut self, effect: Effect, key: &str, why: &str, source: RuleSource) {
        let fault = RuleFault {
            text: key.into(),
            why: why.into(),
        };
        self.unread.push(InvalidRule {
            effect,
            fault,
            source,
        });
    }

    /// Returns an allow rule of a skill, limited to the project if it names no files: `Read` and
    /// `Write` do not mean the whole disk. `Glob`, `Grep` and `LS` search the files that the skill
    /// may read, so beside `Read(docs/**)` they grant no others.
    fn within_project(&mut self, mut rule: PermissionRule) -> PermissionRule {
        let is_search = |rule: &PermissionRule| matches!(&*rule.text, "Glob" | "Grep" | "LS");
        let names_files = |rule: &PermissionRule| matches!(&rule.subject, RuleSubject::Read(glob) if **glob != *PROJECT);
        match &mut rule.subject {
            RuleSubject::Read(glob) | RuleSubject::Write(glob) if **glob == *"**" => {
                *glob = PROJECT.into();
            }
            _ => {}
        }
        if names_files(&rule) {
            for placed in &mut self.rules {
                if placed.effect == Effect::Allow && is_search(&placed.rule) {
                    placed.rule.subject = RuleSubject::Tool(placed.rule.text.clone());
                }
            }
        }
        let others = self.of(Effect::Allow).map(|placed| &placed.rule);
        if is_search(&rule) && others.into_iter().any(names_files) {
            rule.subject = RuleSubject::Tool(rule.text.clone());
        }
        rule
    }

    /// Lets a skill that may read the project read a folder as well: its own.
    pub fn read_also(&mut self, folder: &str) {
        let reads = |placed: &&SourcedRule| {
            placed.effect == Effect::Allow
                && matches!(&placed.rule.subject, RuleSubject::Read(glob) if **glob == *PROJECT)
        };
        let Some(mut own) = self.rules.iter().find(reads).cloned() else {
            return;
        };
        own.rule.subject = RuleSubject::Read(format!("/{}", escape(folder)).into());
        self.rules.push(own);
    }

    /// Creates the rules of a skill from its `allowed-tools` and `disallowed-tools`.
    pub fn of_skill(name: &str, allowed: &str, disallowed: &str) -> Self {
        let mut set = Self::default();
        for (effect, list) in [(Effect::Allow, allowed), (Effect::Deny, disallowed)] {
            for PatternToken { range, .. } in parse_list(list) {
                set.add(effect, &list[range], RuleSource::Skill(name.into()));
            }
        }
        set
    }

    /// Adds the rules of another set after these.
    pub fn extend(&mut self, other: &Self) {
        self.lists_skills |= other.lists_skills;
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

    /// Adds the deny rules of another set.
    pub(crate) fn forbid(&mut self, other: &Self) {
        let denials = other.of(Effect::Deny);
        let new: Vec<_> = denials.filter(|rule| !self.rules.contains(rule)).collect();
        self.rules.extend(new.into_iter().cloned());
    }

    /// Returns these rules, restricted by the rules that the settings files have now: deny and ask
    /// rules of both sets, but only those allow rules of settings files that are still there. A new
    /// list of skills restricts too.
    #[must_use]
    pub fn within(&self, now: &Self) -> Self {
        let is_from_file =
            |source: &RuleSource| matches!(source, RuleSource::User(_) | RuleSource::Project(_));
        let is_kept = |rule: &&SourcedRule| {
            rule.effect != Effect::Allow || !is_from_file(&rule.source) || now.rules.contains(rule)
        };
        let is_new = |rule: &&SourcedRule| {
            let restricts = match rule.effect {
                Effect::Allow => rule.rule.is_about_skills() && !self.lists_skills,
                Effect::Ask | Effect::Deny => true,
            };
            restricts && !self.rules.contains(rule)
        };
        let is_lost =
            |rule: &&InvalidRule| rule.effect != Effect::Allow && !self.unread.contains(rule);
        let rules = self.rules.iter().filter(is_kept);
        let unread = self.unread.iter();
        Self {
            rules: rules
                .chain(now.rules.iter().filter(is_new))
                .cloned()
                .collect(),
            unread: unread
                .chain(now.unread.iter().filter(is_lost))
                .cloned()
                .collect(),
            lists_skills: self.lists_skills || now.lists_skills,
        }
    }

    /// Returns `true` if allow rules list the skills that may be used. Other skills are then treated
    /// as the mode says.
    pub fn lists_skills(&self) -> bool {
        self.lists_skills
    }

    /// Returns the skills that models may load in a mode, as far as the names alone decide.
    pub fn loadable_skills(&self, mode: PermissionMode) -> LoadableSkills {
        let names = |effect| {
            self.of(effect)
                .filter_map(move |placed| match &placed.rule.subject {
                    RuleSubject::Skill {
                        name,
                        action,
                        arguments,
                    } if action.as_deref().is_none_or(|action| action == "load")
                        && (effect == Effect::Allow
                            || !matches!(arguments, ArgumentRule::Like(_))) =>
                    {
                        Some(name.clone())
                    }
                    _ => None,
                })
                .collect()
        };
        let is_list = mode == PermissionMode::Allow && self.lists_skills;
        LoadableSkills {
            denied: names(Effect::Deny),
            allowed: is_list.then(|| names(Effect::Allow)),
        }
    }

    /// Returns the rules with one effect, in the order in which they were added.
    pub fn of(&self, effect: Effect) -> impl Iterator<Item = &SourcedRule> {
        self.rules
            .iter()
            .filter(move |placed| placed.effect == effect)
    }

    /// Returns all rules, in the order in which they were added.
    pub fn all(&self) -> &[SourcedRule] {
        &self.rules
    }

    /// Returns the invalid rules. An invalid allow rule allows nothing. An invalid deny or ask rule
    /// makes every request a prompt, because it is unknown what it was meant to stop.
    pub fn unread(&self) -> &[InvalidRule] {
        &self.unread
    }

    /// Returns `true` if there are deny or ask rules, valid or not.
    pub fn is_restricting(&self) -> bool {
        let restricts = |placed: &SourcedRule| placed.effect != Effect::Allow;
        self.all().iter().any(restricts) || self.lost_restriction().is_some()
    }

    pub(crate) fn lost_restriction(&self) -> Option<&InvalidRule> {
        self.unread
            .iter()
            .find(|unread| unread.effect != Effect::Allow)
    }

    /// Returns `true` if there are rules with this effect for commands.
    pub(crate) fn has_bans(&self, effect: Effect) -> bool {
        self.of(effect)
            .any(|placed| matches!(placed.rule.subject, RuleSubject::Command(_)))
    }

    pub(crate) fn has_command_rules(&self, effect: Effect) -> bool {
        self.of(effect).any(|placed| {
            matches!(
                placed.rule.subject,
                RuleSubject::Command(_)
                    | RuleSubject::Everything
                    | RuleSubject::Read(_)
                    | RuleSubject::Write(_)
            )
        })
    }
}

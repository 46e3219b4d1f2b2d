//! Settings that may become stricter while a session runs.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use prowess_catalog::VisibilityOverride;
use prowess_catalog::visibility::LoadRules;
use prowess_policy::{LoadableSkills, PermissionMode, PermissionRules};

use crate::context::ToolContext;

/// The settings that a running session follows. A change that restricts applies from the next
/// call; a change that grants more applies to sessions that start later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveSettings {
    /// The permission rules.
    pub rules: PermissionRules,
    /// The mode, for requests that no rule matches.
    pub mode: PermissionMode,
    /// The user's visibility settings by skill name.
    pub overrides: BTreeMap<String, VisibilityOverride>,
    /// Lists of the only skills that exist: a skill must be in each of them.
    pub only: Vec<Vec<String>>,
    /// `true` if the commands in skills run.
    pub commands: bool,
    /// `true` if skills are limited to their `allowed-tools` outside of sub-runs too.
    pub confine: bool,
}

/// A version of the settings.
#[derive(Clone, Debug, Default)]
pub struct SettingsVersion {
    /// The number of the version. It increases with each change.
    pub number: u64,
    /// The settings.
    pub settings: Arc<LiveSettings>,
    /// A message for the user about the change.
    pub message: Option<Arc<str>>,
}

/// Provides the current settings to running sessions.
pub trait SettingsSource: Debug + Send + Sync {
    /// Returns the current version. Called before every request and every tool call, so it must be
    /// cheap if nothing changed.
    fn current(&self) -> SettingsVersion;
}

impl LiveSettings {
    /// Returns the settings that a context uses now.
    pub fn of(context: &ToolContext) -> Self {
        let gate = context.gate();
        Self {
            rules: gate.rules.clone(),
            mode: gate.mode,
            overrides: context.settings.visibility.overrides.clone(),
            only: context.settings.visibility.only.clone(),
            commands: context.settings.commands,
            confine: context.settings.confine,
        }
    }

    /// Returns the stricter of two settings, for every setting. `self` are the settings at the
    /// start; of their allow rules, those that `now` still has are kept.
    #[must_use]
    pub fn within(&self, now: &Self) -> Self {
        let mut overrides = self.overrides.clone();
        for (name, setting) in &now.overrides {
            let known = overrides.entry(name.clone()).or_default();
            *known = (*known).max(*setting);
        }
        let mut only = self.only.clone();
        only.extend(
            now.only
                .iter()
                .filter(|list| !self.only.contains(list))
                .cloned(),
        );
        Self {
            rules: self.rules.within(&now.rules),
            mode: if strictness(now.mode) > strictness(self.mode) {
                now.mode
            } else {
                self.mode
            },
            overrides,
            only,
            commands: self.commands && now.commands,
            confine: self.confine || now.confine,
        }
    }

    /// Makes a context use these settings.
    pub fn apply(self, context: &mut ToolContext) {
        let LoadableSkills { denied, allowed } = self.rules.loadable_skills(self.mode);
        let visibility = &mut context.settings.visibility;
        visibility.overrides = self.overrides;
        visibility.only = self.only;
        visibility.rules = LoadRules { denied, allowed };
        context.settings.commands = self.commands;
        context.settings.confine = self.confine;
        let mut gate = context.gate();
        gate.rules = self.rules;
        gate.mode = self.mode;
    }
}

/// Orders the modes by what they allow without a rule. Mode `plan` also denies what rules allow.
fn strictness(mode: PermissionMode) -> u8 {
    match mode {
        PermissionMode::Yolo => 0,
        PermissionMode::AcceptEdits => 1,
        PermissionMode::Ask => 2,
        PermissionMode::Allow => 3,
        PermissionMode::Plan => 4,
    }
}

#[cfg(test)]
mod tests {
    use prowess_policy::{Effect, RuleSource};

    use super::*;

    fn settings(rules: &[(Effect, &str)], mode: PermissionMode, hidden: &[&str]) -> LiveSettings {
        let mut settings = LiveSettings {
            mode,
            commands: true,
            ..LiveSettings::default()
        };
        for (effect, text) in rules {
            settings
                .rules
                .add(*effect, text, RuleSource::User("config.toml".into()));
        }
        for name in hidden {
            settings
                .overrides
                .insert((*name).to_owned(), VisibilityOverride::Off);
        }
        settings
    }

    fn texts(settings: &LiveSettings) -> Vec<String> {
        let rules = settings.rules.all().iter();
        rules
            .map(|rule| format!("{} {}", rule.effect.as_str(), rule.rule.text))
            .collect()
    }

    #[test]
    fn restrictions_apply_and_grants_wait() {
        use Effect::{Allow, Ask, Deny};
        let start = settings(
            &[
                (Allow, "Bash(ls:*)"),
                (Allow, "Bash(cat:*)"),
                (Deny, "Bash(rm:*)"),
            ],
            PermissionMode::Ask,
            &["a"],
        );
        let now = settings(
            &[
                (Allow, "Bash(ls:*)"),
                (Allow, "Bash(curl:*)"),
                (Ask, "Bash(ls:*)"),
                (Deny, "Read(x)"),
            ],
            PermissionMode::Yolo,
            &["b"],
        );
        let both = start.within(&now);
        assert_eq!(
            texts(&both),
            [
                "allow Bash(ls:*)",
                "deny Bash(rm:*)",
                "ask Bash(ls:*)",
                "deny Read(x)"
            ]
        );
        assert_eq!(both.mode, PermissionMode::Ask);
        assert_eq!(both.overrides.len(), 2, "both stay hidden");
        let plan = settings(&[], PermissionMode::Plan, &[]);
        assert_eq!(start.within(&plan).mode, PermissionMode::Plan);
        assert_eq!(start.within(&start), start);
        // A new list of skills restricts; a list that is emptied stays a list.
        let list = settings(&[(Allow, "skill:a")], PermissionMode::Ask, &[]);
        assert_eq!(texts(&start.within(&list))[1..], ["allow skill:a"]);
        let emptied = list.within(&start);
        assert!(emptied.rules.lists_skills() && texts(&emptied).len() == 1);
        let only = LiveSettings {
            only: vec![vec!["a".to_owned()]],
            ..start.clone()
        };
        assert_eq!(start.within(&only).only, only.only);
        assert_eq!(only.within(&start).only, only.only);
        let off = LiveSettings {
            commands: false,
            confine: true,
            ..start.clone()
        };
        let both = start.within(&off);
        assert!(!both.commands && both.confine);
        assert!(!off.within(&start).commands, "not switched on again");
    }

    /// Rules that a session has from elsewhere are not in the files, and stay.
    #[test]
    fn rules_of_other_sources_stay() {
        let mut start = settings(&[], PermissionMode::Ask, &[]);
        let skill = RuleSource::Skill("pdf".into());
        start.rules.add(Effect::Deny, "Bash(rm:*)", skill);
        start
            .rules
            .add(Effect::Allow, "Bash(ls:*)", RuleSource::Flag);
        let now = settings(&[], PermissionMode::Ask, &[]);
        assert_eq!(start.within(&now), start);
    }
}

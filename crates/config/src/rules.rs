//! Which rules are in force.

use prowess_diag::Severity;
use prowess_lint::{LintProfile, LintRuleSet, LintTarget};

use crate::Config;

/// What is asked for beside the files, such as by flags. It counts more than they do.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Whose rules count.
    pub profile: Option<LintProfile>,
    /// What the skill is for.
    pub target: Option<LintTarget>,
    /// Only these rules; all when empty.
    pub select: Vec<&'static str>,
    /// Not these rules.
    pub ignore: Vec<&'static str>,
    /// How severe rules are; nothing silences one.
    pub severity: Vec<(&'static str, Option<Severity>)>,
}

impl Config {
    /// Returns the rules that the files ask for, and what is asked for beside them.
    pub fn rules(&self, asked: &Asked) -> LintRuleSet {
        let profile = asked.profile.or(self.profile).unwrap_or_default();
        let mut rules = LintRuleSet::new(profile, asked.target);
        for (rule, severity) in &self.severity {
            rules.set(rule, *severity);
        }
        // A rule that is asked for by name is heard, whatever the files say of it.
        let mut rules = if asked.select.is_empty() {
            let mut rules = rules.select(&self.select);
            for rule in &self.ignore {
                rules.set(rule, None);
            }
            rules
        } else {
            rules.select(&asked.select)
        };
        for (rule, severity) in &asked.severity {
            rules.set(rule, *severity);
        }
        for rule in &asked.ignore {
            rules.set(rule, None);
        }
        rules
    }
}

#[cfg(test)]
mod tests {
    use prowess_lint::rules::RULES;

    use super::*;

    #[test]
    fn what_is_asked_for_counts_more_than_files() {
        let config = Config {
            profile: Some(LintProfile::Spec),
            ignore: vec!["broken-link"],
            severity: vec![("body-length", Some(Severity::Error))],
            ..Config::default()
        };
        let level = |asked: &Asked, id| {
            let index = RULES.iter().position(|rule| rule.id == id).unwrap();
            config.rules(asked).severity(index)
        };
        let nothing = Asked::default();
        assert_eq!(config.rules(&nothing).profile(), LintProfile::Spec);
        assert_eq!(level(&nothing, "broken-link"), None);
        assert_eq!(level(&nothing, "body-length"), Some(Severity::Error));
        let selected = Asked {
            select: vec!["broken-link"],
            ..Asked::default()
        };
        assert!(level(&selected, "broken-link").is_some());
        assert_eq!(level(&selected, "body-length"), None);
        let changed = Asked {
            profile: Some(LintProfile::Lenient),
            severity: vec![("body-length", Some(Severity::Note))],
            ignore: vec!["name-case"],
            ..Asked::default()
        };
        assert_eq!(config.rules(&changed).profile(), LintProfile::Lenient);
        assert_eq!(level(&changed, "body-length"), Some(Severity::Note));
        assert_eq!(level(&changed, "name-case"), None);
    }
}

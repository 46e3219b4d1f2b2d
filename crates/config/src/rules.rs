//! Selection of lint rules.

use prowess_diag::Severity;
use prowess_lint::{LintProfile, LintRuleSet, LintTarget};

use crate::Config;

/// Options in addition to the files, such as flags. They have precedence.
#[derive(Clone, Debug, Default)]
pub struct RuleOptions {
    /// The profile.
    pub profile: Option<LintProfile>,
    /// The target.
    pub target: Option<LintTarget>,
    /// The only rules to use; all if empty.
    pub select: Vec<&'static str>,
    /// Rules to turn off.
    pub ignore: Vec<&'static str>,
    /// The severity of rules; `None` turns a rule off.
    pub severity: Vec<(&'static str, Option<Severity>)>,
}

impl Config {
    /// Returns the rules selected by the files and the options.
    pub fn rules(&self, asked: &RuleOptions) -> LintRuleSet {
        let profile = asked.profile.or(self.profile).unwrap_or_default();
        let mut rules = LintRuleSet::new(profile, asked.target);
        for (rule, severity) in &self.severity {
            rules.set(rule, *severity);
        }
        // A rule that is selected by name is used, whatever the files say.
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
    fn options_override_files() {
        let config = Config {
            profile: Some(LintProfile::Spec),
            ignore: vec!["broken-link"],
            severity: vec![("body-length", Some(Severity::Error))],
            ..Config::default()
        };
        let level = |asked: &RuleOptions, id| {
            let index = RULES.iter().position(|rule| rule.id == id).unwrap();
            config.rules(asked).severity(index)
        };
        let nothing = RuleOptions::default();
        assert_eq!(config.rules(&nothing).profile(), LintProfile::Spec);
        assert_eq!(level(&nothing, "broken-link"), None);
        assert_eq!(level(&nothing, "body-length"), Some(Severity::Error));
        let selected = RuleOptions {
            select: vec!["broken-link"],
            ..RuleOptions::default()
        };
        assert!(level(&selected, "broken-link").is_some());
        assert_eq!(level(&selected, "body-length"), None);
        let changed = RuleOptions {
            profile: Some(LintProfile::Lenient),
            severity: vec![("body-length", Some(Severity::Note))],
            ignore: vec!["name-case"],
            ..RuleOptions::default()
        };
        assert_eq!(config.rules(&changed).profile(), LintProfile::Lenient);
        assert_eq!(level(&changed, "body-length"), Some(Severity::Note));
        assert_eq!(level(&changed, "name-case"), None);
    }
}

//! Holds tables of commands against the gate.

use prowess_policy::{Actor, Effect, Gate, GateAction, RuleSource, Verdict};

fn decide(rules: &[&str], command: &str) -> prowess_policy::Decision {
    let mut gate = Gate::default();
    for rule in rules {
        gate.rules.add(Effect::Allow, rule, RuleSource::Flag);
    }
    gate.decide(&GateAction::Command { text: command }, &Actor::default())
}

/// Every command is asked about although the rule is about it.
pub(crate) fn asked(table: &[(&str, &str)]) {
    let mut failures = Vec::new();
    for (rule, command) in table {
        let decision = decide(&[rule], command);
        if decision.verdict != Verdict::Ask {
            failures.push(format!("{rule}  {command}  is allowed"));
        } else if decision.rule.is_none() {
            failures.push(format!(
                "{rule}  {command}  is asked, but: {}",
                decision.reason
            ));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        table.len(),
        failures.join("\n")
    );
}

/// Every command is allowed by its rules.
pub(crate) fn allowed(table: &[(&[&str], &str)]) {
    let mut failures = Vec::new();
    for (rules, command) in table {
        let decision = decide(rules, command);
        if decision.verdict != Verdict::Allow {
            failures.push(format!("{rules:?}  {command}  {}", decision.reason));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        table.len(),
        failures.join("\n")
    );
}

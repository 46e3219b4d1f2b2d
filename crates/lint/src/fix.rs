//! Applies fixes until none is left: the safe ones, and the others if they are asked for.

use std::collections::BTreeMap;

use prowess_diag::{Applicability, Diagnostic, Edit, Fix, Severity, Span, fix};

use crate::check::{Subject, check};
use crate::profile::RuleSet;
use prowess_spec::package::Facts;
use prowess_spec::parse::{Parsed, parse};
use prowess_spec::problem::{Problem, ProblemKind};
use prowess_spec::yaml::Entry;

/// A fix may uncover another finding that was hidden behind it; more than this many rounds would
/// mean that two fixes undo each other.
const MAX_ROUNDS: usize = 8;

/// How many suggestions of a text are tried one by one, where they cannot all be applied at once.
const MOST_TRIED: usize = 64;

/// A text after fixing.
#[derive(Clone, Debug)]
pub struct Fixed {
    /// The new text.
    pub text: String,
    /// The rules whose fixes went in, once for each fix.
    pub applied: Vec<&'static str>,
    /// What is still wrong. What can be done about it was not done: no fix is safe.
    pub remaining: Vec<Diagnostic>,
}

/// Applies every fix to a text that is at least as sure as `least`. Everything else keeps its bytes.
///
/// A safe fix after which another key of the frontmatter would read differently is not applied,
/// whatever its rule says, and counts as a suggestion. A suggestion is applied unless there would
/// be an error that was not there before; one that another uncovers is left for the next time. Text that is not UTF-8 has no safe place to touch:
/// nothing is returned.
pub fn fix_all(
    bytes: &[u8],
    package: &dyn Facts,
    rules: &RuleSet,
    least: Applicability,
) -> Option<Fixed> {
    let text = std::str::from_utf8(bytes).ok()?;
    let fixed = fix_safely(text.to_owned(), package, rules);
    if least == Applicability::Safe {
        return Some(fixed);
    }
    // Once only: a suggestion that comes up behind another was never shown to anybody.
    Some(match fix_suggested(&fixed, package, rules) {
        Some(next) => Fixed { applied: [fixed.applied, next.applied].concat(), ..next },
        None => fixed,
    })
}

/// A fix and the rule that offers it.
type Named<'a> = (&'static str, &'a Fix);

fn named(finding: &Diagnostic) -> Option<Named<'_>> {
    finding.fix.as_ref().map(|fix| (finding.rule, fix))
}

/// Applies the safe fixes until none is left.
fn fix_safely(mut text: String, package: &dyn Facts, rules: &RuleSet) -> Fixed {
    let mut applied = Vec::new();
    let mut remaining = findings(&text, package, rules);
    for _ in 0..MAX_ROUNDS {
        let safe: Vec<Named<'_>> =
            remaining.iter().filter_map(named).filter(|(_, fix)| fix.is_safe()).collect();
        let (next, names) = apply(&text, &safe);
        if next == text {
            break;
        }
        applied.extend(names);
        text = next;
        remaining = findings(&text, package, rules);
    }
    for fix in remaining.iter_mut().filter_map(|finding| finding.fix.as_mut()) {
        fix.applicability = Applicability::Suggested;
    }
    Fixed { text, applied, remaining }
}

/// Applies the suggestions, and the safe fixes that they uncover; nothing if there are none to
/// apply. All at once if that does no harm, else as many as do none together.
fn fix_suggested(before: &Fixed, package: &dyn Facts, rules: &RuleSet) -> Option<Fixed> {
    let fixes: Vec<Named<'_>> = before.remaining.iter().filter_map(named).collect();
    // Whoever asks for one rule only does not ask for harm that another would see.
    let all = RuleSet::new(rules.profile(), rules.target());
    let faults = [rules, &all].map(|rules| errors(&before.text, package, rules));
    let attempt = |fixes: &[Named<'_>]| {
        let (text, names) = fix::apply_named(&before.text, fixes.iter().copied());
        if text == before.text {
            return None;
        }
        let next = fix_safely(text, package, rules);
        let is_harmless = broken(&parse(next.text.as_bytes()))
            <= broken(&parse(before.text.as_bytes()))
            && [rules, &all].iter().zip(&faults).all(|(rules, before)| {
                let after = errors(&next.text, package, rules);
                after.iter().all(|(rule, count)| before.get(rule) >= Some(count))
            });
        is_harmless.then(|| Fixed { applied: [names, next.applied].concat(), ..next })
    };
    if let Some(next) = attempt(&fixes) {
        return Some(next);
    }
    let mut chosen: Vec<Named<'_>> = Vec::new();
    let mut best = None;
    for fix in fixes.into_iter().take(MOST_TRIED) {
        chosen.push(fix);
        match attempt(&chosen) {
            Some(next) => best = Some(next),
            None => drop(chosen.pop()),
        }
    }
    best
}

/// How often each rule finds an error.
fn errors(text: &str, package: &dyn Facts, rules: &RuleSet) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for finding in findings(text, package, rules) {
        if finding.severity == Severity::Error {
            *counts.entry(finding.rule).or_default() += 1;
        }
    }
    counts
}

/// Applies all fixes at once if that keeps every other key, else one by one.
fn apply(text: &str, fixes: &[Named<'_>]) -> (String, Vec<&'static str>) {
    let (next, names) = fix::apply_named(text, fixes.iter().copied());
    if keeps_meaning(text, &next, fixes) {
        return (next, names);
    }
    let harmless: Vec<Named<'_>> = fixes
        .iter()
        .copied()
        .filter(|fix| keeps_meaning(text, &fix::apply(text, [fix.1]).0, &[*fix]))
        .collect();
    let (next, names) = fix::apply_named(text, harmless.iter().copied());
    if keeps_meaning(text, &next, &harmless) { (next, names) } else { (text.to_owned(), vec![]) }
}

/// Whether every key that no edit touches reads as before, and no YAML was broken.
fn keeps_meaning(before: &str, after: &str, fixes: &[Named<'_>]) -> bool {
    let (old, new) = (parse(before.as_bytes()), parse(after.as_bytes()));
    let touched = |span: Span| {
        let near = |edit: &Edit| edit.span.start <= span.end && span.start <= edit.span.end;
        fixes.iter().flat_map(|(_, fix)| &fix.edits).any(near)
    };
    let kept = old.manifest.entries.iter().all(|entry| {
        let is_same = |other: &Entry| entry.value.same(&other.value);
        touched(entry.key_span.cover(entry.value.span))
            || new.manifest.entry(&entry.key).is_some_and(is_same)
    });
    kept && broken(&new) <= broken(&old)
}

/// How many places are not YAML, or YAML that is refused.
fn broken(parsed: &Parsed<'_>) -> usize {
    let is_broken = |problem: &&Problem| {
        matches!(
            problem.kind,
            ProblemKind::YamlInvalid { .. }
                | ProblemKind::YamlRepaired { .. }
                | ProblemKind::YamlRefused(_)
        )
    };
    parsed.problems.iter().filter(is_broken).count()
}

fn findings(text: &str, package: &dyn Facts, rules: &RuleSet) -> Vec<Diagnostic> {
    let parsed = parse(text.as_bytes());
    check(&Subject::new(&parsed, package), rules)
}

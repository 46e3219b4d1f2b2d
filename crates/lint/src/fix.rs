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

/// A finding whose suggestion is not applied, and why.
type Refused = (Diagnostic, String);

/// Applies every fix to a text that is at least as sure as `least`. Everything else keeps its bytes.
///
/// A safe fix after which another key of the frontmatter would read differently is not applied,
/// whatever its rule says, and counts as a suggestion. A suggestion is applied unless there would
/// be an error that was not there before; one that another uncovers is left for the next time. What
/// remains offers nothing that would not be applied. Text that is not UTF-8 has no safe place to
/// touch: nothing is returned.
pub fn fix_all(
    bytes: &[u8],
    package: &dyn Facts,
    rules: &RuleSet,
    least: Applicability,
) -> Option<Fixed> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut fixed = fix_safely(text.to_owned(), package, rules);
    let (next, refused) = fix_suggested(&fixed, package, rules);
    if least == Applicability::Safe {
        take_back(&mut fixed.remaining, &refused);
        return Some(fixed);
    }
    if let Some(next) = next {
        fixed = Fixed {
            applied: [fixed.applied, next.applied].concat(),
            ..next
        };
    }
    take_back(&mut fixed.remaining, &refused);
    // Once only: a suggestion that comes up behind another was never shown to anybody.
    let later = |finding: &Diagnostic| (finding.clone(), "another run tries it".to_owned());
    let later: Vec<Refused> = fixed.remaining.iter().map(later).collect();
    take_back(&mut fixed.remaining, &later);
    Some(fixed)
}

/// Takes back what findings of a text offer and [`fix_all`] would not do, and says why.
pub fn settle(text: &str, package: &dyn Facts, rules: &RuleSet, findings: &mut [Diagnostic]) {
    let has = |is_safe| {
        findings
            .iter()
            .filter_map(named)
            .any(|(_, fix)| fix.is_safe() == is_safe)
    };
    if !has(false) {
        return;
    }
    // Most texts have no safe fix as well, and were checked already.
    let fixed = if has(true) {
        fix_safely(text.to_owned(), package, rules)
    } else {
        Fixed {
            text: text.to_owned(),
            applied: Vec::new(),
            remaining: findings.to_vec(),
        }
    };
    take_back(findings, &fix_suggested(&fixed, package, rules).1);
}

/// Turns each fix that is refused into advice.
fn take_back(findings: &mut [Diagnostic], refused: &[Refused]) {
    let title = |finding: &Diagnostic| finding.fix.as_ref().map(|fix| fix.title.clone());
    for finding in findings {
        // Places move when something else is mended; what is said does not.
        let same = |(other, _): &&Refused| {
            (other.rule, &other.message, title(other))
                == (finding.rule, &finding.message, title(finding))
        };
        if let (Some(title), Some((_, why))) = (title(finding), refused.iter().find(same)) {
            let more = finding
                .help
                .take()
                .map(|help| format!("; {help}"))
                .unwrap_or_default();
            finding.help = Some(format!("{title} (not applied: {why}){more}").into());
            finding.fix = None;
        }
    }
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
        let safe: Vec<Named<'_>> = remaining
            .iter()
            .filter_map(named)
            .filter(|(_, fix)| fix.is_safe())
            .collect();
        let (next, names) = apply(&text, &safe);
        if next == text {
            break;
        }
        applied.extend(names);
        text = next;
        remaining = findings(&text, package, rules);
    }
    for fix in remaining
        .iter_mut()
        .filter_map(|finding| finding.fix.as_mut())
    {
        fix.applicability = Applicability::Suggested;
    }
    Fixed {
        text,
        applied,
        remaining,
    }
}

/// Applies the suggestions, and the safe fixes that they uncover; nothing if there are none to
/// apply. All at once if that does no harm, else as many as do none together; with those that do.
fn fix_suggested(
    before: &Fixed,
    package: &dyn Facts,
    rules: &RuleSet,
) -> (Option<Fixed>, Vec<Refused>) {
    let offers: Vec<&Diagnostic> = before
        .remaining
        .iter()
        .filter(|finding| finding.fix.is_some())
        .collect();
    if offers.is_empty() {
        return (None, Vec::new());
    }
    // Whoever asks for one rule only does not ask for harm that another would see.
    let all = RuleSet::new(rules.profile(), rules.target());
    let both = |fixed: &Fixed| {
        let own = errors(&fixed.remaining);
        let is_whole = *rules == all;
        [
            if is_whole {
                own.clone()
            } else {
                errors(&findings(&fixed.text, package, &all))
            },
            own,
        ]
    };
    let broken_before = broken(&parse(before.text.as_bytes()));
    let faults = both(before);
    let attempt = |offers: &[&Diagnostic]| {
        let fixes = offers.iter().copied().filter_map(named);
        let (text, names) = fix::apply_named(&before.text, fixes);
        let next = fix_safely(text, package, rules);
        if broken(&parse(next.text.as_bytes())) > broken_before {
            return Err("the frontmatter would not be YAML".to_owned());
        }
        for (before, after) in faults.iter().zip(both(&next)) {
            if let Some((rule, _)) = after
                .iter()
                .find(|(rule, count)| before.get(*rule) < Some(count))
            {
                return Err(format!("there would be a new error, {rule}"));
            }
        }
        Ok(Fixed {
            applied: [names, next.applied].concat(),
            ..next
        })
    };
    if let Ok(next) = attempt(&offers) {
        return (Some(next), Vec::new());
    }
    let (mut chosen, mut best, mut refused) = (Vec::new(), None, Vec::new());
    for offer in offers.into_iter().take(MOST_TRIED) {
        chosen.push(offer);
        match attempt(&chosen) {
            Ok(next) => best = Some(next),
            Err(why) => refused.extend(chosen.pop().map(|offer| (offer.clone(), why))),
        }
    }
    (best, refused)
}

/// How often each rule finds an error.
fn errors(findings: &[Diagnostic]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for finding in findings {
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
    if keeps_meaning(text, &next, &harmless) {
        (next, names)
    } else {
        (text.to_owned(), vec![])
    }
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

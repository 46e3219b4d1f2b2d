//! Applies safe fixes until none is left.

use prowess_diag::{Applicability, Diagnostic, Edit, Fix, Span, fix};

use crate::check::{Subject, check};
use crate::profile::RuleSet;
use prowess_spec::package::Facts;
use prowess_spec::parse::{Parsed, parse};
use prowess_spec::problem::{Problem, ProblemKind};
use prowess_spec::yaml::Entry;

/// A fix may uncover another finding that was hidden behind it; more than this many rounds would
/// mean that two fixes undo each other.
const MAX_ROUNDS: usize = 8;

/// A text after fixing.
#[derive(Clone, Debug)]
pub struct Fixed {
    /// The new text.
    pub text: String,
    /// How many fixes went in.
    pub applied: usize,
    /// What is still wrong.
    pub remaining: Vec<Diagnostic>,
}

/// Applies every safe fix to a text. Everything else keeps its bytes.
///
/// A fix after which another key of the frontmatter would read differently is not applied, whatever
/// its rule says, and is reported as a suggestion. Text that is not UTF-8 has no safe place to
/// touch: nothing is returned.
pub fn fix_all(bytes: &[u8], package: &dyn Facts, rules: &RuleSet) -> Option<Fixed> {
    let mut text = std::str::from_utf8(bytes).ok()?.to_owned();
    let mut applied = 0;
    let mut remaining = findings(&text, package, rules);
    for _ in 0..MAX_ROUNDS {
        let safe: Vec<&Fix> = remaining
            .iter()
            .filter_map(|finding| finding.fix.as_ref())
            .filter(|fix| fix.is_safe())
            .collect();
        let (next, count) = apply(&text, &safe);
        if next == text {
            break;
        }
        applied += count;
        text = next;
        remaining = findings(&text, package, rules);
    }
    for fix in remaining.iter_mut().filter_map(|finding| finding.fix.as_mut()) {
        fix.applicability = Applicability::Suggested;
    }
    Some(Fixed { text, applied, remaining })
}

/// Applies all fixes at once if that keeps every other key, else one by one.
fn apply(text: &str, fixes: &[&Fix]) -> (String, usize) {
    let (next, count) = fix::apply(text, fixes.iter().copied());
    if keeps_meaning(text, &next, fixes) {
        return (next, count);
    }
    let harmless: Vec<&Fix> = fixes
        .iter()
        .copied()
        .filter(|fix| keeps_meaning(text, &fix::apply(text, [*fix]).0, &[*fix]))
        .collect();
    let (next, count) = fix::apply(text, harmless.iter().copied());
    if keeps_meaning(text, &next, &harmless) { (next, count) } else { (text.to_owned(), 0) }
}

/// Whether every key that no edit touches reads as before, and no YAML was broken.
fn keeps_meaning(before: &str, after: &str, fixes: &[&Fix]) -> bool {
    let (old, new) = (parse(before.as_bytes()), parse(after.as_bytes()));
    let touched = |span: Span| {
        let near = |edit: &Edit| edit.span.start <= span.end && span.start <= edit.span.end;
        fixes.iter().flat_map(|fix| &fix.edits).any(near)
    };
    let kept = old.manifest.entries.iter().all(|entry| {
        let is_same = |other: &Entry| entry.value.same(&other.value);
        touched(entry.key_span.cover(entry.value.span))
            || new.manifest.entry(&entry.key).is_some_and(is_same)
    });
    let broken = |parsed: &Parsed<'_>| {
        let is_broken = |problem: &&Problem| {
            matches!(
                problem.kind,
                ProblemKind::YamlInvalid { .. }
                    | ProblemKind::YamlRepaired { .. }
                    | ProblemKind::YamlRefused(_)
            )
        };
        parsed.problems.iter().filter(is_broken).count()
    };
    kept && broken(&new) <= broken(&old)
}

fn findings(text: &str, package: &dyn Facts, rules: &RuleSet) -> Vec<Diagnostic> {
    let parsed = parse(text.as_bytes());
    check(&Subject::new(&parsed, package), rules)
}

//! Applies safe fixes until none is left.

use prowess_diag::{Diagnostic, Fix, fix};

use crate::check::{Subject, check};
use crate::profile::RuleSet;
use prowess_spec::package::Facts;
use prowess_spec::parse::parse;

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
/// Text that is not UTF-8 is returned unchanged: nothing in it is safe to touch.
pub fn fix_all(bytes: &[u8], package: &dyn Facts, rules: &RuleSet) -> Option<Fixed> {
    let mut text = std::str::from_utf8(bytes).ok()?.to_owned();
    let mut applied = 0;
    for _ in 0..MAX_ROUNDS {
        let findings = findings(&text, package, rules);
        let safe: Vec<&Fix> = findings
            .iter()
            .filter_map(|finding| finding.fix.as_ref())
            .filter(|fix| fix.is_safe())
            .collect();
        if safe.is_empty() {
            return Some(Fixed { text, applied, remaining: findings });
        }
        let (next, count) = fix::apply(&text, safe);
        if next == text {
            return Some(Fixed { text, applied, remaining: findings });
        }
        applied += count;
        text = next;
    }
    let remaining = findings(&text, package, rules);
    Some(Fixed { text, applied, remaining })
}

fn findings(text: &str, package: &dyn Facts, rules: &RuleSet) -> Vec<Diagnostic> {
    let parsed = parse(text.as_bytes());
    check(&Subject::new(&parsed, package), rules)
}

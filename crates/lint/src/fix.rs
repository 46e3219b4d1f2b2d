//! Applies safe fixes, and suggested ones on request, until none is left.

use std::collections::BTreeMap;

use prowess_diag::{Applicability, Diagnostic, Fix, Severity, Span, TextEdit, fix, wording};

use crate::check::{LintSubject, check};
use crate::profile::LintRuleSet;
use prowess_spec::manifest::{Manifest, ToolList, ToolToken};
use prowess_spec::name;
use prowess_spec::package::PackageFacts;
use prowess_spec::parse::{ParsedSkill, parse};
use prowess_spec::problem::{Problem, ProblemKind};
use prowess_spec::yaml::YamlEntry;

/// A fix may reveal another finding; more rounds than this mean that two fixes undo each other.
const MAX_ROUNDS: usize = 8;

/// Maximum number of suggestions that are tried one by one if they cannot all be applied together.
const MOST_TRIED: usize = 64;

/// The result of fixing a text.
#[derive(Clone, Debug)]
pub struct FixedText {
    /// The new text.
    pub text: String,
    /// The rules whose fixes were applied, once per fix.
    pub applied: Vec<&'static str>,
    /// The remaining findings. Their fixes are suggestions.
    pub remaining: Vec<Diagnostic>,
}

/// A finding whose suggestion is not applied, and the reason.
type Refused = (Diagnostic, String);

/// Applies every fix whose applicability is at least `least`, and changes nothing else.
///
/// A safe fix that would change the value of another key or the skill's name is not applied and
/// becomes a suggestion. A suggestion is applied unless it would cause a new error; those that other
/// fixes reveal are applied in further rounds. No fix permits anything that the text did not permit
/// before. The remaining findings offer only fixes that would be applied. Returns `None` for text
/// that is not UTF-8. `path` is the path of the file for display.
pub fn fix_all(
    bytes: &[u8],
    package: &dyn PackageFacts,
    path: Option<&str>,
    rules: &LintRuleSet,
    least: Applicability,
) -> Option<FixedText> {
    let text = std::str::from_utf8(bytes).ok()?;
    let context = Context {
        package,
        path,
        rules,
    };
    let mut fixed = fix_safely(text.to_owned(), context);
    if least == Applicability::Safe {
        let (_, refused) = fix_suggested(&fixed, context);
        turn_into_advice(&mut fixed.remaining, &refused);
        return Some(fixed);
    }
    let mut texts = vec![fixed.text.clone()];
    let mut refused = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let (next, more) = fix_suggested(&fixed, context);
        refused.extend(more);
        let Some(next) = next.filter(|next| !texts.contains(&next.text)) else {
            break;
        };
        texts.push(next.text.clone());
        fixed = FixedText {
            applied: [fixed.applied, next.applied].concat(),
            ..next
        };
    }
    turn_into_advice(&mut fixed.remaining, &refused);
    let undone = |finding: &Diagnostic| (finding.clone(), "another fix undoes it".to_owned());
    let undone: Vec<Refused> = fixed.remaining.iter().map(undone).collect();
    turn_into_advice(&mut fixed.remaining, &undone);
    Some(fixed)
}

/// Removes fixes from findings that [`fix_all`] would not apply, and adds the reason to the help.
pub fn remove_inapplicable_fixes(
    text: &str,
    package: &dyn PackageFacts,
    rules: &LintRuleSet,
    findings: &mut [Diagnostic],
) {
    let has = |is_safe| {
        findings
            .iter()
            .filter_map(named)
            .any(|(_, fix)| fix.is_safe() == is_safe)
    };
    if !has(false) {
        return;
    }
    let context = Context {
        package,
        path: None,
        rules,
    };
    // Most texts have no safe fix, and their findings are known.
    let fixed = if has(true) {
        fix_safely(text.to_owned(), context)
    } else {
        FixedText {
            text: text.to_owned(),
            applied: Vec::new(),
            remaining: findings.to_vec(),
        }
    };
    turn_into_advice(findings, &fix_suggested(&fixed, context).1);
}

/// Turns each refused fix into advice.
fn turn_into_advice(findings: &mut [Diagnostic], refused: &[Refused]) {
    let title = |finding: &Diagnostic| finding.fix.as_ref().map(|fix| fix.title.clone());
    for finding in findings {
        // Spans move when other fixes are applied; messages do not.
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

/// A fix and the rule that suggests it.
type Named<'a> = (&'static str, &'a Fix);

fn named(finding: &Diagnostic) -> Option<Named<'_>> {
    finding.fix.as_ref().map(|fix| (finding.rule, fix))
}

/// Applies the safe fixes until none is left.
fn fix_safely(mut text: String, context: Context<'_>) -> FixedText {
    let mut applied = Vec::new();
    let mut remaining = context.findings(&text);
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
        remaining = context.findings(&text);
    }
    for fix in remaining
        .iter_mut()
        .filter_map(|finding| finding.fix.as_mut())
    {
        fix.applicability = Applicability::Suggested;
    }
    FixedText {
        text,
        applied,
        remaining,
    }
}

/// Applies the suggestions and the safe fixes that they reveal: all together if that causes no new
/// error, else as many as possible. Returns `None` if none was applied, and the refused ones.
fn fix_suggested(before: &FixedText, context: Context<'_>) -> (Option<FixedText>, Vec<Refused>) {
    let offers: Vec<&Diagnostic> = before
        .remaining
        .iter()
        .filter(|finding| finding.fix.is_some())
        .collect();
    if offers.is_empty() {
        return (None, Vec::new());
    }
    // With only some rules selected, a suggestion must still not cause errors of other rules.
    let all = LintRuleSet::new(context.rules.profile(), context.rules.target());
    let context_of_all = Context {
        rules: &all,
        ..context
    };
    let both = |fixed: &FixedText| {
        let own = errors(&fixed.remaining);
        let is_whole = *context.rules == all;
        [
            if is_whole {
                own.clone()
            } else {
                errors(&context_of_all.findings(&fixed.text))
            },
            own,
        ]
    };
    let parsed_before = parse(before.text.as_bytes());
    let broken_before = broken(&parsed_before);
    let faults = both(before);
    let attempt = |offers: &[&Diagnostic]| {
        let fixes = offers.iter().copied().filter_map(named);
        let (text, names) = fix::apply_named(&before.text, fixes);
        let next = fix_safely(text, context);
        let after = parse(next.text.as_bytes());
        if broken(&after) > broken_before {
            return Err("the frontmatter would not be valid YAML".to_owned());
        }
        if let Some(right) = new_right(&parsed_before, &after) {
            return Err(format!("it would {right}"));
        }
        for (before, after) in faults.iter().zip(both(&next)) {
            if let Some((rule, _)) = after
                .iter()
                .find(|(rule, count)| before.get(*rule) < Some(count))
            {
                return Err(format!("it would cause a new error, {rule}"));
            }
        }
        Ok(FixedText {
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

/// Counts the errors of each rule.
fn errors(findings: &[Diagnostic]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for finding in findings {
        if finding.severity == Severity::Error {
            *counts.entry(finding.rule).or_default() += 1;
        }
    }
    counts
}

/// Applies all fixes together if every other key keeps its value, else those that do so alone.
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

/// Returns `true` if every key outside the edits keeps its value, the skill keeps its name and its
/// rights, and no YAML becomes invalid.
fn keeps_meaning(before: &str, after: &str, fixes: &[Named<'_>]) -> bool {
    let (old, new) = (parse(before.as_bytes()), parse(after.as_bytes()));
    let touched = |span: Span| {
        let near = |edit: &TextEdit| edit.span.start <= span.end && span.start <= edit.span.end;
        fixes.iter().flat_map(|(_, fix)| &fix.edits).any(near)
    };
    let kept = old.manifest.entries.iter().all(|entry| {
        let is_same = |other: &YamlEntry| entry.value.same(&other.value);
        touched(entry.key_span.cover(entry.value.span))
            || new.manifest.entry(&entry.key).is_some_and(is_same)
    });
    let name = |parsed: &ParsedSkill<'_>| {
        let name = parsed.manifest.name.as_ref()?;
        Some(name::normalise(&name.value).into_owned())
    };
    // The folder's name is used if there is none.
    let is_called_the_same = name(&old).is_none_or(|before| name(&new) == Some(before));
    kept && broken(&new) <= broken(&old) && is_called_the_same && new_right(&old, &new).is_none()
}

/// Returns what a changed text permits and the text before did not, as a verb phrase. Fixes never
/// widen rights; the author must do that by hand.
fn new_right(before: &ParsedSkill<'_>, after: &ParsedSkill<'_>) -> Option<String> {
    let (old, new) = (&before.manifest, &after.manifest);
    let tokens = |list: &Option<ToolList<'_>>| -> Vec<ToolToken> {
        let tokens = list.iter().flat_map(ToolList::tokens);
        tokens
            .filter(|token| token.pattern.is_ok())
            .cloned()
            .collect()
    };
    let granted = tokens(&old.allowed_tools);
    let is_new = |token: &ToolToken| granted.iter().all(|other| other.pattern != token.pattern);
    if let Some(token) = tokens(&new.allowed_tools).into_iter().find(is_new) {
        return Some(format!("grant {}", wording::tick(&token.text)));
    }
    if tokens(&new.disallowed_tools).len() < tokens(&old.disallowed_tools).len() {
        return Some("make a disallowed tool available".to_owned());
    }
    if old.model_invocation_disabled() && !new.model_invocation_disabled() {
        return Some("let models invoke the skill".to_owned());
    }
    if !old.is_user_invocable() && new.is_user_invocable() {
        return Some("let users invoke the skill".to_owned());
    }
    let has_hooks = |manifest: &Manifest<'_>| {
        let entry = manifest.entry("hooks");
        entry.is_some_and(|entry| !entry.value.is_null())
    };
    (has_hooks(new) && !has_hooks(old)).then(|| "add hooks".to_owned())
}

/// Counts the parts of the frontmatter that are invalid or rejected YAML.
fn broken(parsed: &ParsedSkill<'_>) -> usize {
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

/// The arguments of a check, apart from the text.
#[derive(Clone, Copy)]
struct Context<'a> {
    package: &'a dyn PackageFacts,
    path: Option<&'a str>,
    rules: &'a LintRuleSet,
}

impl Context<'_> {
    fn findings(self, text: &str) -> Vec<Diagnostic> {
        let parsed = parse(text.as_bytes());
        let subject = LintSubject::new(&parsed, self.package).at_path(self.path);
        check(&subject, self.rules)
    }
}

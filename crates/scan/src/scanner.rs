//! Runs the rules over the files of a skill.

use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use prowess_diag::{Diagnostic, Severity, Span, sanitize, wording};
use prowess_spec::parse::ParsedSkill;

use crate::matching::matcher;
use crate::passage::{Passage, TextLayout, floor};
use crate::place::FindingPlace;
use crate::rules::{RULES, RuleCheck, ScanRule};
use crate::subject::{FileRole, ScanContent, ScanFile};

/// Most bytes of a file that are searched.
pub const MAX_BYTES: usize = 1024 * 1024;
/// Most findings of one rule in one file; further ones are counted.
pub const MAX_FINDINGS: usize = 20;
/// Most passages of one file that a rule looks at.
const MAX_PASSAGES: usize = 2_000;

/// A finding, and its place in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanFinding {
    /// The finding.
    pub diagnostic: Diagnostic,
    /// The place.
    pub place: FindingPlace,
}

/// The findings in one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileScan {
    /// The findings, in order of position.
    pub findings: Vec<ScanFinding>,
    /// `true` if the file is longer than [`MAX_BYTES`] and its end was not searched.
    pub truncated: bool,
}

/// Scans the files of one skill.
#[derive(Clone, Copy, Debug)]
pub struct SkillScanner {
    /// `true` if the skill is about security, so that its references describe attacks.
    is_about_security: bool,
}

matcher!(
    SECURITY,
    r"\b(?: security | pentest\w* | penetration | vulnerab\w* | malware | exploit\w* | attack\w* | red[\s-]?team\w*
      | blue[\s-]?team\w* | injection | ctf | forensic\w* | threat\w* | harden\w* | owasp | cve | offensive | phishing
      | jailbreak\w* | audit\w* | guardrails? | safety | hack\w* | incident\ response | secrets? )\b"
);

/// All literal texts that rules look for, and the rules of each.
struct Triggers {
    search: AhoCorasick,
    /// For each text, the indices of its rules in [`RULES`].
    rules: Vec<Vec<usize>>,
}

static TRIGGERS: LazyLock<Option<Triggers>> = LazyLock::new(|| {
    let mut texts: Vec<&'static str> = Vec::new();
    let mut rules: Vec<Vec<usize>> = Vec::new();
    for (index, rule) in RULES.iter().enumerate() {
        let RuleCheck::Passages { triggers, .. } = rule.check else {
            continue;
        };
        for trigger in triggers {
            if let Some(known) = texts.iter().position(|text| text == trigger) {
                rules[known].push(index);
            } else {
                texts.push(trigger);
                rules.push(vec![index]);
            }
        }
    }
    let search = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::Standard)
        .kind(Some(AhoCorasickKind::DFA))
        .build(&texts);
    debug_assert!(search.is_ok(), "{search:?}");
    Some(Triggers {
        search: search.ok()?,
        rules,
    })
});

impl SkillScanner {
    /// Creates a scanner for a skill, of which the parsed text says what it is about.
    pub fn new(parsed: Option<&ParsedSkill<'_>>) -> Self {
        let about = |parsed: &ParsedSkill<'_>| {
            let manifest = &parsed.manifest;
            let texts = [&manifest.name, &manifest.description]
                .into_iter()
                .flatten();
            texts
                .into_iter()
                .any(|text| SECURITY.is_match(&text.value[..floor(&text.value, 2_048)]))
        };
        Self {
            is_about_security: parsed.is_some_and(about),
        }
    }

    /// Returns the findings in one file.
    pub fn file(&self, file: &ScanFile<'_>) -> FileScan {
        let mut sink = FindingSink {
            rule: None,
            lower: usize::from(self.is_about_security && file.role() == FileRole::Reference),
            found: Vec::new(),
            counts: vec![0; RULES.len()],
            hidden: None,
        };
        for (index, rule) in RULES.iter().enumerate() {
            if let RuleCheck::File(check) = rule.check {
                sink.rule = Some((index, rule));
                check(file, &mut sink);
            }
        }
        let mut truncated = false;
        if let ScanContent::Text(whole) = file.content {
            let text = &whole[..floor(whole, MAX_BYTES)];
            truncated = text.len() < whole.len();
            passages(file, text, &mut sink);
        }
        FileScan {
            findings: sink.finish(),
            truncated,
        }
    }
}

/// Runs the rules that look at passages.
fn passages(file: &ScanFile<'_>, text: &str, sink: &mut FindingSink) {
    let Some(triggers) = TRIGGERS.as_ref() else {
        return;
    };
    let mut layout: Option<TextLayout<'_>> = None;
    // The rules that have looked at passages up to an offset, and how often.
    let mut seen = vec![(0_usize, 0_usize); RULES.len()];
    let mut range = 0..0;
    let mut waiting: Vec<usize> = Vec::new();
    let run =
        |at: usize, waiting: &mut Vec<usize>, layout: &TextLayout<'_>, sink: &mut FindingSink| {
            let passage = layout.passage(at, file);
            waiting.sort_unstable();
            for index in waiting.drain(..) {
                if let RuleCheck::Passages { check, .. } = RULES[index].check {
                    sink.rule = Some((index, &RULES[index]));
                    check(&passage, sink);
                }
            }
        };
    let mut at = 0;
    for hit in triggers.search.find_overlapping_iter(text) {
        let layout = layout.get_or_insert_with(|| TextLayout::new(file, text));
        if hit.start() >= range.end || hit.start() < range.start {
            if !waiting.is_empty() {
                run(at, &mut waiting, layout, sink);
            }
            at = hit.start();
            range = layout.passage(at, file).range();
        }
        for &index in triggers
            .rules
            .get(hit.pattern().as_usize())
            .into_iter()
            .flatten()
        {
            let (until, times) = &mut seen[index];
            if !waiting.contains(&index)
                && *times < MAX_PASSAGES
                && (hit.start() >= *until || *times == 0)
            {
                (*until, *times) = (range.end, *times + 1);
                waiting.push(index);
            }
        }
    }
    if let Some(layout) = layout.filter(|_| !waiting.is_empty()) {
        run(at, &mut waiting, &layout, sink);
    }
}

/// Receives the findings of a file.
#[derive(Debug)]
pub(crate) struct FindingSink {
    rule: Option<(usize, &'static ScanRule)>,
    /// Levels by which everything in the file counts less.
    lower: usize,
    found: Vec<ScanFinding>,
    counts: Vec<usize>,
    /// The hidden characters of the text, found once for all rules about them.
    hidden: Option<Rc<[(usize, char)]>>,
}

impl FindingSink {
    /// Returns the bidirectional and invisible characters of the text of the file.
    pub(crate) fn hidden(&mut self, text: &str) -> Rc<[(usize, char)]> {
        let found = self.hidden.get_or_insert_with(|| {
            let text = &text[..floor(text, MAX_BYTES)];
            let found = if text.is_ascii() {
                Vec::new()
            } else {
                sanitize::deceptive(text)
            };
            found.into()
        });
        Rc::clone(found)
    }

    /// Reports a range of a passage.
    pub(crate) fn passage(
        &mut self,
        passage: &Passage<'_, '_>,
        range: Range<usize>,
        message: impl Into<Cow<'static, str>>,
    ) {
        let place = passage.place(&range);
        let start = passage.start + range.start;
        self.report(
            Some(start..passage.start + range.end),
            place,
            message.into(),
        );
    }

    /// Reports a range of the plain text of a passage.
    pub(crate) fn plain(
        &mut self,
        passage: &Passage<'_, '_>,
        range: Range<usize>,
        message: impl Into<Cow<'static, str>>,
    ) {
        let mut origin = passage.plain().origin(range);
        origin.start = floor(passage.text, origin.start);
        while !passage.text.is_char_boundary(origin.end) {
            origin.end += 1;
        }
        self.passage(passage, origin, message);
    }

    /// Reports a range of the file, or the file.
    pub(crate) fn report(
        &mut self,
        range: Option<Range<usize>>,
        place: FindingPlace,
        message: Cow<'static, str>,
    ) {
        let Some((index, rule)) = self.rule else {
            return;
        };
        let levels = if rule.lowers {
            self.lower + usize::from(place.describes())
        } else {
            0
        };
        let Some(severity) = lowered(rule.severity, levels) else {
            return;
        };
        let span = range.map(|range| Span::new(range.start, range.end));
        let is_known = |known: &&ScanFinding| {
            known.diagnostic.rule == rule.id && known.diagnostic.span == span
        };
        if self
            .found
            .iter()
            .rev()
            .take(MAX_FINDINGS)
            .any(|known| is_known(&known))
        {
            return;
        }
        self.counts[index] += 1;
        if self.counts[index] > MAX_FINDINGS {
            return;
        }
        self.found.push(ScanFinding {
            diagnostic: Diagnostic {
                rule: rule.id,
                severity,
                message,
                span,
                label: span.map(|_| place.as_str().into()),
                help: Some(rule.advice.into()),
                fix: None,
            },
            place,
        });
    }

    fn finish(mut self) -> Vec<ScanFinding> {
        for (rule, count) in RULES.iter().zip(&self.counts) {
            let more = count.saturating_sub(MAX_FINDINGS);
            if more > 0 {
                let last = self
                    .found
                    .iter()
                    .rev()
                    .find(|found| found.diagnostic.rule == rule.id);
                let Some(mut last) = last.cloned() else {
                    continue;
                };
                let more = wording::count(more, "more finding");
                last.diagnostic.message = format!("{more} of `{}` in this file", rule.id).into();
                last.diagnostic.span = None;
                last.diagnostic.label = None;
                self.found.push(last);
            }
        }
        self.found.sort_by(|a, b| {
            let key = |finding: &ScanFinding| {
                (
                    finding.diagnostic.span.is_none(),
                    finding.diagnostic.span,
                    finding.diagnostic.rule,
                )
            };
            key(a).cmp(&key(b))
        });
        self.found
    }
}

/// Returns a severity some levels lower; `None` below a note.
fn lowered(severity: Severity, levels: usize) -> Option<Severity> {
    let index = Severity::ALL.iter().position(|known| *known == severity)?;
    Severity::ALL.get(index.checked_sub(levels)?).copied()
}

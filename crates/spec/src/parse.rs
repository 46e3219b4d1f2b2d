//! Parses the bytes of a file into a manifest, a body and a list of problems.

use memchr::{memchr, memchr2};
use prowess_diag::Span;

use crate::frontmatter::{self, FrontmatterSplit, MAX_FRONTMATTER};
use crate::manifest::{Manifest, SpannedFlag};
use crate::problem::{Problem, ProblemKind};
use crate::repair;
use crate::yaml::{self, YamlValue};

/// Maximum size of a `SKILL.md`, in bytes.
pub const MAX_FILE: usize = 1024 * 1024;

/// A parsed file.
#[derive(Clone, Debug)]
pub struct ParsedSkill<'t> {
    /// The text; up to the first invalid byte if the bytes are not UTF-8.
    pub text: &'t str,
    /// The frontmatter.
    pub manifest: Manifest<'t>,
    /// Range of the frontmatter's YAML.
    pub yaml: Option<Span>,
    /// Range of the body.
    pub body: Span,
    /// The opening and closing `---`.
    pub fences: Option<(Span, Span)>,
    /// Problems found while parsing.
    pub problems: Vec<Problem>,
}

impl<'t> ParsedSkill<'t> {
    /// Returns the body.
    pub fn body_text(&self) -> &'t str {
        self.body.of(self.text)
    }
}

/// Parses a `SKILL.md`. Never fails: any input yields a manifest, possibly empty, and a list of
/// problems.
pub fn parse(bytes: &[u8]) -> ParsedSkill<'_> {
    #[cfg(feature = "counters")]
    crate::counters::count();
    let mut problems = Vec::new();
    let text = decode(bytes, &mut problems);
    let split = frontmatter::split(text, &mut problems);
    // NUL and carriage return are both rare; one pass looks for either.
    if let Some(first) = memchr2(0, b'\r', text.as_bytes()) {
        if let Some(at) = memchr(0, &text.as_bytes()[first..]) {
            let span = Span::new(first + at, first + at + 1);
            problems.push(Problem {
                span,
                kind: ProblemKind::Nul,
            });
        }
        let places = frontmatter::lone_carriage_returns(text);
        if let Some(&span) = places.first() {
            problems.push(Problem {
                span,
                kind: ProblemKind::LoneCarriageReturn { places },
            });
        }
    }
    let mut manifest = split.yaml.map_or_else(Manifest::default, |yaml| {
        read_manifest(text, yaml, &mut problems)
    });
    let is_unclosed = |problem: &Problem| problem.kind == ProblemKind::FrontmatterUnclosed;
    if problems.iter().any(is_unclosed) {
        // The block may end at the first blank line.
        let body = String::from_utf8_lossy(&bytes[split.body.start as usize..]);
        let block = body.split("\n\n").next().unwrap_or_default();
        manifest.lost = unread(Manifest::default(), block).lost;
    }
    if text.len() < bytes.len() {
        // Ignore structural problems of a truncated text; the truncation causes them.
        problems.retain(|problem| matches!(problem.kind, ProblemKind::NotUtf8 | ProblemKind::Nul));
        manifest.incomplete = true;
    }
    let FrontmatterSplit { yaml, body, fences } = split;
    ParsedSkill {
        text,
        manifest,
        yaml,
        body,
        fences,
        problems,
    }
}

fn decode<'t>(bytes: &'t [u8], problems: &mut Vec<Problem>) -> &'t str {
    match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let at = error.valid_up_to();
                problems.push(Problem {
                    span: Span::at(at),
                    kind: ProblemKind::NotUtf8,
                });
                std::str::from_utf8(&bytes[..at]).unwrap_or_default()
            }
        },
    }
}

fn read_manifest<'t>(text: &'t str, span: Span, problems: &mut Vec<Problem>) -> Manifest<'t> {
    let (source, base) = (span.of(text), span.start as usize);
    if source.len() > MAX_FRONTMATTER {
        problems.push(Problem {
            span: Span::at(base),
            kind: ProblemKind::FrontmatterTooLarge {
                bytes: source.len(),
            },
        });
        return unread(Manifest::default(), source);
    }
    match yaml::read(source, base) {
        Ok(document) => {
            let mut manifest = match document.root {
                Some(node) => match node.value {
                    YamlValue::Mapping(entries, _) => Manifest::from_entries(entries, text),
                    YamlValue::Sequence(..) => not_mapping(node.span, "a list", source, problems),
                    YamlValue::Scalar(..) => {
                        not_mapping(node.span, "a single value", source, problems)
                    }
                },
                None => not_mapping(Span::at(base), "empty", source, problems),
            };
            for duplicate in document.duplicates {
                withdraw(&mut manifest, &duplicate, source);
                problems.push(Problem {
                    span: duplicate.again,
                    kind: ProblemKind::DuplicateKey(duplicate),
                });
            }
            manifest
        }
        Err(yaml::YamlError::Refused(refusals)) => {
            for refusal in refusals {
                problems.push(Problem {
                    span: refusal.span,
                    kind: ProblemKind::YamlRefused(refusal),
                });
            }
            // Accept nothing that grants permissions or runs commands from such a file.
            let recovered = repair::recover(source, base, Some(&["name", "description"]));
            let manifest = Manifest {
                lost: recovered.lost,
                ..Manifest::from_entries(recovered.entries, text)
            };
            unread(manifest, source)
        }
        Err(yaml::YamlError::Syntax { at, message }) => {
            let recovered = repair::recover(source, base, None);
            if recovered.problems.is_empty() {
                // Each entry is valid alone but the whole is not; report the parser's position.
                problems.push(Problem {
                    span: at,
                    kind: ProblemKind::YamlInvalid { message, key: None },
                });
            }
            let incomplete = recovered
                .problems
                .iter()
                .any(|problem| !matches!(problem.kind, ProblemKind::YamlRepaired { .. }));
            let mut manifest = Manifest {
                incomplete,
                lost: recovered.lost,
                ..Manifest::from_entries(recovered.entries, text)
            };
            for problem in &recovered.problems {
                if let ProblemKind::DuplicateKey(duplicate) = &problem.kind {
                    withdraw(&mut manifest, duplicate, source);
                }
            }
            if manifest.lost.iter().any(|key| &**key != "creator") {
                lose_creator(&mut manifest, source);
            }
            problems.extend(recovered.problems);
            manifest
        }
    }
}

fn not_mapping(
    span: Span,
    found: &'static str,
    source: &str,
    problems: &mut Vec<Problem>,
) -> Manifest<'static> {
    problems.push(Problem {
        span,
        kind: ProblemKind::NotMapping { found },
    });
    // An empty block has no keys; any other value may contain them in another form.
    match found {
        "empty" => Manifest::default(),
        _ => unread(Manifest::default(), source),
    }
}

/// Keys that restrict a skill. A text that was not read counts as having those that it mentions.
const RESTRICTING: [&str; 5] = [
    "allowed-tools",
    "disallowed-tools",
    "disable-model-invocation",
    "user-invocable",
    CREATOR,
];
const CREATOR: &str = "creator";

/// Marks the restricting keys as lost that were not read, although the text mentions them.
fn unread<'t>(mut manifest: Manifest<'t>, source: &str) -> Manifest<'t> {
    manifest.incomplete = true;
    let source = source.to_ascii_lowercase();
    for key in RESTRICTING {
        let is_known = manifest.entry(key).is_some() || manifest.has_lost(key);
        if !is_known && mentions(&source, key) {
            manifest.lost.push(key.into());
        }
    }
    manifest
}

/// Returns `true` if a text in lower case may contain a key, plainly or with escapes.
fn mentions(source: &str, key: &str) -> bool {
    let escapes = ["\\x", "\\u", "\\\n", "\\\r"];
    source.contains(key) || escapes.iter().any(|escape| source.contains(escape))
}

/// Marks `creator` as lost if a text with parts that were not read mentions it.
fn lose_creator(manifest: &mut Manifest<'_>, source: &str) {
    if !manifest.has_lost(CREATOR) && mentions(&source.to_ascii_lowercase(), CREATOR) {
        manifest.lost.push(CREATOR.into());
    }
}

/// Handles contradictory values of a duplicate key: the restrictive value wins.
fn withdraw(manifest: &mut Manifest<'_>, duplicate: &yaml::DuplicateKey, source: &str) {
    if duplicate.same_value {
        return;
    }
    if !duplicate.top_level {
        // `metadata` may name the creator as well.
        if duplicate.key.eq_ignore_ascii_case(CREATOR) {
            lose_creator(manifest, source);
        }
        return;
    }
    manifest.incomplete = true;
    manifest.lost.push(duplicate.key.clone());
    match &*duplicate.key {
        "allowed-tools" => manifest.allowed_tools = None,
        "disable-model-invocation" => safer(&mut manifest.disable_model_invocation, true),
        "user-invocable" => safer(&mut manifest.user_invocable, false),
        "metadata" => lose_creator(manifest, source),
        key if key.eq_ignore_ascii_case(CREATOR) => lose_creator(manifest, source),
        _ => {}
    }
}

fn safer(flag: &mut Option<SpannedFlag>, value: bool) {
    if let Some(flag) = flag {
        flag.value = value;
    }
}

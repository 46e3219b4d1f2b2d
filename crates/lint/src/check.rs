//! Runs the rules over a skill.

use std::borrow::Cow;
use std::cell::OnceCell;

use memchr::memmem;
use prowess_diag::{Diagnostic, Fix, Severity, Span, sanitize, wording};

use crate::known_tools::TOOLS;
use crate::profile::{LintProfile, LintRuleSet, LintTarget};
use crate::rules::{LintRule, RULES};
use crate::scripts::{self, Script};
use prowess_spec::body::links;
use prowess_spec::body::{self, BodyItem, BodyItemKind, ScanDetail};
use prowess_spec::fields;
use prowess_spec::manifest::SpannedText;
use prowess_spec::name::{self, NameFault};
use prowess_spec::package::{PackageFacts, ReadFault};
use prowess_spec::parse::ParsedSkill;
use prowess_spec::resource_path::{PathFault, ResourcePath};
use prowess_spec::sidecar::Sidecar;
use prowess_spec::tool_pattern::{self, PatternToken, ToolPattern};
use prowess_spec::yaml::{YamlEntry, YamlNode};

/// A skill to check.
#[derive(Debug)]
pub struct LintSubject<'a> {
    /// The parsed text; `None` if the file could not be read.
    pub parsed: Option<&'a ParsedSkill<'a>>,
    /// Facts about the skill's folder.
    pub package: &'a dyn PackageFacts,
    /// The reason why the file could not be read.
    pub fault: Option<&'a ReadFault>,
    /// The path of the file for display, e.g. in commands to type.
    pub path: Option<&'a str>,
    items: OnceCell<Vec<BodyItem>>,
    sidecar: OnceCell<Option<Sidecar>>,
    deceptive: OnceCell<Vec<(usize, char)>>,
    meant: OnceCell<Vec<Option<&'static str>>>,
    name_faults: OnceCell<Vec<NameFault>>,
    links: OnceCell<Vec<SkillLink<'a>>>,
    scripts: OnceCell<Vec<Script>>,
}

/// A link to a file of the skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillLink<'a> {
    /// Range of its target.
    pub span: Span,
    /// The decoded path, without the fragment.
    pub path: Cow<'a, str>,
    /// The file of the skill, or the reason why the path is invalid.
    pub file: Result<ResourcePath, PathFault>,
}

impl<'a> LintSubject<'a> {
    /// Creates a subject for a skill that was read.
    pub fn new(parsed: &'a ParsedSkill<'a>, package: &'a dyn PackageFacts) -> Self {
        Self {
            parsed: Some(parsed),
            fault: None,
            ..Self::empty(package)
        }
    }

    /// Creates a subject for a skill that could not be read.
    pub fn unread(package: &'a dyn PackageFacts, fault: &'a ReadFault) -> Self {
        Self {
            parsed: None,
            fault: Some(fault),
            ..Self::empty(package)
        }
    }

    /// Sets the path of the file for display.
    #[must_use]
    pub fn at_path(self, path: impl Into<Option<&'a str>>) -> Self {
        Self {
            path: path.into(),
            ..self
        }
    }

    fn empty(package: &'a dyn PackageFacts) -> Self {
        Self {
            parsed: None,
            package,
            fault: None,
            path: None,
            items: OnceCell::new(),
            sidecar: OnceCell::new(),
            deceptive: OnceCell::new(),
            meant: OnceCell::new(),
            name_faults: OnceCell::new(),
            links: OnceCell::new(),
            scripts: OnceCell::new(),
        }
    }

    /// Returns the links to files of the skill. Computed on first use.
    pub fn links(&self) -> &[SkillLink<'a>] {
        self.links.get_or_init(|| {
            let Some(parsed) = self.parsed else {
                return Vec::new();
            };
            let targets = self.items().iter().filter_map(|item| match item.kind {
                BodyItemKind::Link { target } => Some(target),
                _ => None,
            });
            let link = |span: Span| {
                let path = links::relative(span.of(parsed.text))?;
                Some(SkillLink {
                    span,
                    file: ResourcePath::new(&path),
                    path,
                })
            };
            targets.filter_map(link).collect()
        })
    }

    /// Returns the scripts that the body mentions. Computed on first use.
    pub fn scripts(&self) -> &[Script] {
        self.scripts.get_or_init(|| {
            self.parsed
                .map_or_else(Vec::new, |parsed| scripts::find(parsed.text, parsed.body))
        })
    }

    /// Returns every bidirectional or invisible character. Computed on first use.
    pub fn deceptive(&self) -> &[(usize, char)] {
        self.deceptive.get_or_init(|| {
            self.parsed
                .map_or_else(Vec::new, |parsed| sanitize::deceptive(parsed.text))
        })
    }

    /// Returns the name as written, if there is one, and its faults.
    pub fn name(&self) -> Option<(&'a SpannedText<'a>, &[NameFault])> {
        let text = self
            .parsed?
            .manifest
            .name
            .as_ref()
            .filter(|text| !text.is_blank())?;
        let faults = self
            .name_faults
            .get_or_init(|| name::faults(&name::normalise(&text.value)));
        Some((text, faults))
    }

    /// Returns, for each key of the frontmatter, the known key that it misspells. Computed on first
    /// use.
    pub fn meant(&self) -> &[Option<&'static str>] {
        self.meant.get_or_init(|| {
            let entries = self
                .parsed
                .map_or(&[][..], |parsed| &parsed.manifest.entries);
            let meant = |entry: &YamlEntry<'_>| {
                fields::meant(&entry.key).filter(|_| self.may_be_meant(entry))
            };
            entries.iter().map(meant).collect()
        })
    }

    /// Returns `false` for a key of another format whose value does not fit the key that it
    /// resembles: `tools: [cursor, gemini]`, `args: "[--verbose]"`.
    fn may_be_meant(&self, entry: &YamlEntry<'_>) -> bool {
        let items = || match entry.value.items() {
            Some(items) => items.iter().map(YamlNode::text).collect(),
            None => entry.value.text().map(|text| vec![text]),
        };
        match &*entry.key {
            "tools" => {
                let tokens = |text: &str| tool_pattern::parse_list(text);
                // Each is a tool, and one of them is spelt as in Claude Code.
                let mut is_spelt = false;
                let mut is_tool = |token: PatternToken| match token.pattern {
                    Ok(ToolPattern::Mcp { .. }) => {
                        is_spelt = true;
                        true
                    }
                    Ok(pattern) => {
                        let name = pattern.tool();
                        is_spelt |= TOOLS.contains(&name);
                        TOOLS.iter().any(|tool| tool.eq_ignore_ascii_case(name))
                    }
                    Err(_) => false,
                };
                let texts: Option<Vec<&str>> = items();
                let mut tokens = texts.into_iter().flatten().flat_map(tokens);
                tokens.all(&mut is_tool) && is_spelt
            }
            "args" => {
                let hint =
                    |parsed: &ParsedSkill<'_>| parsed.manifest.entry("argument-hint").is_some();
                let is_name = |word: &str| {
                    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
                    word.starts_with(char::is_alphabetic) && word.chars().all(is_part)
                };
                let texts: Option<Vec<&str>> = items();
                let mut words = texts
                    .into_iter()
                    .flatten()
                    .flat_map(str::split_whitespace)
                    .peekable();
                !self.parsed.is_some_and(hint) && words.peek().is_some() && words.all(is_name)
            }
            // A phrase such as `PR URL or number` is a hint.
            "argument" => {
                let texts: Option<Vec<&str>> = items();
                texts.is_some_and(|texts| texts.iter().all(|text| !text.trim().contains(' ')))
            }
            // A translation is a key of its own.
            key => key
                .strip_prefix("description")
                .is_none_or(|rest| !rest.starts_with(['-', '_'])),
        }
    }

    /// Returns the items of the body: placeholders, commands and links to files with the code
    /// around them, and all code if a tool may be named in it. Computed on first use.
    pub fn items(&self) -> &[BodyItem] {
        self.items.get_or_init(|| {
            let Some(parsed) = self.parsed else {
                return Vec::new();
            };
            let text = parsed.body_text().as_bytes();
            let names_tools =
                parsed.manifest.allowed_tools.is_some() && memmem::find(text, b"` tool").is_some();
            let detail = if names_tools {
                ScanDetail::Full
            } else {
                ScanDetail::Marked
            };
            body::analyse(parsed.text, parsed.body, &self.argument_names(), detail)
        })
    }

    /// Returns the names of the declared arguments that are filled in.
    pub(crate) fn argument_names(&self) -> Vec<&str> {
        let arguments = self
            .parsed
            .iter()
            .flat_map(|parsed| &parsed.manifest.arguments);
        arguments
            .take(MOST_ARGUMENTS)
            .map(|name| &*name.value)
            .collect()
    }

    /// Returns Codex's sidecar. Parsed on first use.
    pub fn sidecar(&self) -> Option<&Sidecar> {
        self.sidecar
            .get_or_init(|| self.package.sidecar().map(Sidecar::parse))
            .as_ref()
    }
}

/// A finding of a rule, before its severity is determined.
#[derive(Clone, Debug)]
pub struct LintFinding {
    span: Option<Span>,
    message: Cow<'static, str>,
    label: Option<Cow<'static, str>>,
    help: Option<Cow<'static, str>>,
    fix: Option<Fix>,
    at_most: Severity,
}

impl LintFinding {
    /// Creates a finding at a span.
    pub fn at(span: Span, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            span: Some(span),
            ..Self::file(message)
        }
    }

    /// Creates a finding about the whole file.
    pub fn file(message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            span: None,
            message: message.into(),
            label: None,
            help: None,
            fix: None,
            at_most: Severity::Error,
        }
    }

    /// Sets the text shown at the span.
    #[must_use]
    pub fn label(mut self, label: impl Into<Cow<'static, str>>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Sets the advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<Cow<'static, str>>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sets the fix, or the advice if there is no fix.
    #[must_use]
    pub fn fix_or_help(self, fix: Option<Fix>, help: impl Into<Cow<'static, str>>) -> Self {
        match fix {
            Some(fix) => self.fix(fix),
            None => self.help(help),
        }
    }

    /// Sets the fix.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<Option<Fix>>) -> Self {
        self.fix = fix.into();
        self
    }

    /// Limits the severity, regardless of the profile.
    #[must_use]
    pub fn at_most(mut self, severity: Severity) -> Self {
        self.at_most = severity;
        self
    }
}

/// Maximum number of declared arguments that are searched for.
const MOST_ARGUMENTS: usize = 64;
/// Maximum number of findings per rule and file; further ones are counted.
const MOST_FINDINGS: usize = 100;

/// Collects the findings of rules.
#[derive(Debug)]
pub struct FindingSink<'s> {
    rule: &'static LintRule,
    severity: Severity,
    profile: LintProfile,
    target: Option<LintTarget>,
    out: &'s mut Vec<Diagnostic>,
    reported: usize,
}

impl FindingSink<'_> {
    /// Adds a finding.
    pub fn report(&mut self, finding: LintFinding) {
        self.reported += 1;
        if self.reported > MOST_FINDINGS {
            return;
        }
        let LintFinding {
            span,
            message,
            label,
            help,
            fix,
            at_most,
        } = finding;
        let severity = self.severity.min(at_most);
        self.out.push(Diagnostic {
            rule: self.rule.id,
            severity,
            message,
            span,
            label,
            help,
            fix,
        });
    }

    /// Reports how many findings of a rule were omitted, if any.
    fn finish(&mut self) {
        let more = std::mem::take(&mut self.reported).saturating_sub(MOST_FINDINGS);
        if more > 0 {
            self.report(LintFinding::file(format!(
                "{} like the {MOST_FINDINGS} shown",
                wording::count(more, "more finding")
            )));
            self.reported = 0;
        }
    }

    /// Returns `true` if further findings are only counted and need no details.
    pub fn is_full(&self) -> bool {
        self.reported >= MOST_FINDINGS
    }

    /// Counts a finding without details.
    pub fn count(&mut self) {
        self.reported += 1;
    }

    /// Returns `true` if one of these rules, which precede the current one, reported something at
    /// least as severe.
    pub(crate) fn is_covered_by(&self, rules: &[&str]) -> bool {
        let covers =
            |found: &Diagnostic| rules.contains(&found.rule) && found.severity >= self.severity;
        self.out.iter().any(covers)
    }

    /// Returns the current profile.
    pub fn profile(&self) -> LintProfile {
        self.profile
    }

    /// Returns the target, if one was given.
    pub fn target(&self) -> Option<LintTarget> {
        self.target
    }
}

/// Checks a skill against the active rules. Findings are sorted by position.
pub fn check(subject: &LintSubject<'_>, rules: &LintRuleSet) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    let is_read = subject.parsed.is_some();
    // One sink for all rules: dozens of rules run per skill, and most report nothing.
    let mut sink = FindingSink {
        rule: &RULES[0],
        severity: Severity::Note,
        profile: rules.profile(),
        target: rules.target(),
        out: &mut out,
        reported: 0,
    };
    for (rule, severity) in RULES.iter().zip(rules.severities()) {
        let Some(severity) = *severity else { continue };
        if is_read || rule.on_unread {
            (sink.rule, sink.severity) = (rule, severity);
            (rule.check)(subject, &mut sink);
            if sink.reported > 0 {
                sink.finish();
            }
        }
    }
    out.sort_by(|a, b| (a.span, a.rule).cmp(&(b.span, b.rule)));
    out
}

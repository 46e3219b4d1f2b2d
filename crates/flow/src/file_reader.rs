//! Reads one agent file: collects findings, and reads values with the right type.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use prowess_diag::{Applicability, Diagnostic, FileReport, Fix, Severity, Span, TextEdit};
use prowess_diag::{sanitize, suggest, wording};
use prowess_lint::{LintProfile, LintRuleSet, LintSubject};
use prowess_spec::{PackageListing, ParsedSkill, PathFault, ReadFault, ResourcePath};
use sha2::{Digest, Sha256};

use crate::model::{AgentName, PromptSource};
use crate::tree::{Node, NodeEntry};

/// Maximum number of agents of one file.
const MAX_AGENTS: usize = 256;
/// Maximum number of bytes of all files that one file names.
const MAX_OTHER_BYTES: usize = 8 * 1024 * 1024;
/// The least number of bytes that a file counts towards a limit, so that the number of files is
/// limited too.
pub const MIN_FILE: usize = 4 * 1024;
/// Maximum number of findings of one rule per file.
const MAX_OF_A_RULE: usize = 100;

/// A rule about agent files. Its summary and its page are in `prowess-lint`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AgentRule {
    /// Stable name in kebab case.
    pub(crate) id: &'static str,
    /// The severity of its findings.
    pub(crate) severity: Severity,
}

impl AgentRule {
    /// Returns the rule for a case that does no harm.
    pub(crate) fn as_warning(self) -> Self {
        Self {
            severity: Severity::Warning,
            ..self
        }
    }
}

/// The file is not valid JSON, YAML or TOML.
pub(crate) const SYNTAX: AgentRule = AgentRule {
    id: "agent-syntax",
    severity: Severity::Error,
};
/// A name is missing or invalid.
pub(crate) const NAME: AgentRule = AgentRule {
    id: "agent-name",
    severity: Severity::Error,
};
/// A key is unknown.
pub(crate) const KEY: AgentRule = AgentRule {
    id: "agent-key",
    severity: Severity::Warning,
};
/// A value has the wrong type.
pub(crate) const VALUE: AgentRule = AgentRule {
    id: "agent-value",
    severity: Severity::Error,
};
/// A tool is unknown.
pub(crate) const TOOL: AgentRule = AgentRule {
    id: "agent-tool",
    severity: Severity::Warning,
};
/// A skill is unknown. Only a caller that knows all skills reports it.
pub(crate) const SKILL: AgentRule = AgentRule {
    id: "agent-skill",
    severity: Severity::Warning,
};
/// A path cannot be used.
pub(crate) const PATH: AgentRule = AgentRule {
    id: "agent-path",
    severity: Severity::Error,
};
/// A setting has no effect.
pub(crate) const UNSUPPORTED: AgentRule = AgentRule {
    id: "agent-unsupported",
    severity: Severity::Warning,
};
/// The members do not form a team.
pub(crate) const TEAM: AgentRule = AgentRule {
    id: "agent-team",
    severity: Severity::Error,
};

/// All rules about agent files.
#[cfg(test)]
pub(crate) const AGENT_RULES: [AgentRule; 9] = [
    SYNTAX,
    NAME,
    KEY,
    VALUE,
    TOOL,
    SKILL,
    PATH,
    UNSUPPORTED,
    TEAM,
];

/// Rules about skills that apply to the frontmatter of agents too.
const FRONTMATTER_RULES: [&str; 14] = [
    "bidi-characters",
    "byte-order-mark",
    "comment-in-value",
    "curly-quotes",
    "duplicate-key",
    "fence-trailing-space",
    "frontmatter-misplaced",
    "frontmatter-too-large",
    "frontmatter-unclosed",
    "invisible-characters",
    "not-utf8",
    "yaml-feature",
    "yaml-invalid",
    "yaml-syntax",
];

/// Provides the files that an agent file names.
pub trait ProjectFiles {
    /// Reads a file. The path is relative to the project and contains no `..`.
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadFault>;

    /// Returns `true` if a file exists, without reading all of it.
    fn exists(&self, path: &str) -> bool {
        !matches!(self.read(path), Err(ReadFault::Missing))
    }

    /// Returns the paths of the files below a folder, relative to it. `None` if they are unknown.
    fn files_below(&self, _folder: &str) -> Option<Vec<String>> {
        None
    }
}

/// A project without other files.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl ProjectFiles for NoFiles {
    fn read(&self, _path: &str) -> Result<Vec<u8>, ReadFault> {
        Err(ReadFault::Missing)
    }
}

/// An agent file that is being read.
pub(crate) struct FileReader<'a> {
    pub(crate) path: &'a str,
    pub(crate) text: &'a str,
    pub(crate) files: &'a dyn ProjectFiles,
    findings: Vec<Diagnostic>,
    /// Reports about files that this one names.
    others: Vec<FileReport>,
    /// Number of bytes of other files that may still be read.
    left: Cell<usize>,
    /// The other files that were read, with their digests.
    sources: RefCell<BTreeMap<Box<str>, Box<str>>>,
}

impl<'a> FileReader<'a> {
    pub(crate) fn new(path: &'a str, text: &'a str, files: &'a dyn ProjectFiles) -> Self {
        Self {
            path,
            text,
            files,
            findings: Vec::new(),
            others: Vec::new(),
            left: Cell::new(MAX_OTHER_BYTES),
            sources: RefCell::default(),
        }
    }

    /// Returns `false`, with a finding, if the file has as many agents as are read.
    pub(crate) fn has_room(&mut self, agents: usize, span: Span) -> bool {
        if agents < MAX_AGENTS {
            return true;
        }
        let message = format!("only the first {MAX_AGENTS} agents of a file are read");
        self.report(TEAM, span, message, "split the file");
        false
    }

    /// Returns the other files that were read, with their digests.
    pub(crate) fn take_sources(&self) -> BTreeMap<Box<str>, Box<str>> {
        self.sources.take()
    }

    /// Returns `true` if a file of the project exists.
    pub(crate) fn exists(&self, path: &str) -> bool {
        if self.left.get() == 0 {
            return false;
        }
        self.left.set(self.left.get().saturating_sub(MIN_FILE));
        self.files.exists(path)
    }

    /// Reads a file of the project that the agents depend on.
    fn read_source(&self, path: &str) -> Result<Vec<u8>, ReadFault> {
        let bytes = self.read_other(path)?;
        let digest = digest(&bytes);
        self.sources.borrow_mut().insert(path.into(), digest);
        Ok(bytes)
    }

    /// Reads a file of the project, within the limit of all files that this one names.
    fn read_other(&self, path: &str) -> Result<Vec<u8>, ReadFault> {
        let too_large = |bytes: usize| ReadFault::TooLarge {
            bytes: bytes as u64,
        };
        if self.left.get() == 0 {
            return Err(too_large(MAX_OTHER_BYTES));
        }
        let bytes = self.files.read(path)?;
        // After the first file that does not fit, no other is opened.
        let left = self.left.get().checked_sub(bytes.len().max(MIN_FILE));
        self.left.set(left.unwrap_or(0));
        match left {
            Some(_) => Ok(bytes),
            None => Err(too_large(bytes.len())),
        }
    }

    /// Returns the reports, that of this file first.
    pub(crate) fn finish(mut self) -> Vec<FileReport> {
        self.findings
            .sort_by_key(|finding| finding.span.map_or(0, |span| span.start));
        let own = (!self.findings.is_empty()).then(|| FileReport {
            path: self.path.to_owned(),
            text: Some(Arc::from(self.text)),
            diagnostics: self.findings,
        });
        own.into_iter().chain(self.others).collect()
    }

    /// Adds a finding.
    pub(crate) fn report(
        &mut self,
        rule: AgentRule,
        span: Span,
        message: impl Into<Cow<'static, str>>,
        help: impl Into<Cow<'static, str>>,
    ) {
        let help = help.into();
        self.push(Diagnostic {
            rule: rule.id,
            severity: rule.severity,
            message: message.into(),
            span: Some(span),
            label: None,
            help: (!help.is_empty()).then_some(help),
            fix: None,
        });
    }

    fn push(&mut self, finding: Diagnostic) {
        let same = self.findings.iter().filter(|one| one.rule == finding.rule);
        if same.count() < MAX_OF_A_RULE {
            self.findings.push(finding);
        }
    }

    /// Adds the findings about the frontmatter of this file.
    pub(crate) fn check_frontmatter(&mut self, parsed: &ParsedSkill<'_>) {
        for finding in frontmatter_findings(parsed) {
            self.push(finding);
        }
    }

    /// Reports keys that are not known, with the nearest known one.
    pub(crate) fn check_keys(&mut self, entries: &[NodeEntry], known: &[&str]) {
        let mut seen = BTreeSet::new();
        for entry in entries {
            let key = shown(&entry.key);
            if !seen.insert(&*entry.key) {
                let message = format!("`{key}` occurs twice; the first one counts");
                self.report(KEY, entry.key_span, message, "remove one of them");
            }
            if known.contains(&&*entry.key) {
                continue;
            }
            // Renaming it to a key that is there would make a duplicate.
            let is_free = |near: &&str| entries.iter().all(|other| &*other.key != *near);
            let near = suggest::nearest(&entry.key, known.iter().copied()).filter(is_free);
            let message = format!("unknown key `{key}`");
            let mut finding = Diagnostic {
                rule: KEY.id,
                severity: KEY.severity,
                message: message.into(),
                span: Some(entry.key_span),
                label: None,
                help: Some("it is kept and has no effect".into()),
                fix: None,
            };
            if let Some(near) = near {
                let quote = |text: &str| text.replace(&*entry.key, near);
                finding.help = Some(format!("did you mean `{near}`?").into());
                finding.fix = Some(Fix {
                    title: format!("rename it to `{near}`"),
                    applicability: Applicability::Suggested,
                    edits: vec![TextEdit {
                        span: entry.key_span,
                        replacement: quote(entry.key_span.of(self.text)),
                    }],
                });
            }
            self.push(finding);
        }
    }

    /// Reports keys that are kept and have no effect. Returns their names.
    pub(crate) fn ignore(
        &mut self,
        entries: &[NodeEntry],
        keys: &[(&str, &'static str)],
    ) -> Vec<Box<str>> {
        let mut ignored = Vec::new();
        for entry in entries {
            let Some((_, help)) = keys.iter().find(|(key, _)| **key == *entry.key) else {
                continue;
            };
            let message = format!("`{}` has no effect here", shown(&entry.key));
            self.report(UNSUPPORTED, entry.key_span, message, *help);
            ignored.push(entry.key.clone());
        }
        ignored
    }

    /// Returns a text. Reports a list or a map.
    pub(crate) fn text(&mut self, entries: &[NodeEntry], key: &str) -> Option<Box<str>> {
        let entry = find(entries, key)?;
        if let Some(text) = entry.value.text() {
            return Some(text.into());
        }
        self.wrong_type(entry, "a text");
        None
    }

    /// Returns a number of at least 1.
    pub(crate) fn number(&mut self, entries: &[NodeEntry], key: &str) -> Option<u64> {
        let entry = find(entries, key)?;
        let number = entry.value.text().and_then(|text| text.parse().ok());
        let number = number.filter(|number| *number > 0);
        if number.is_none() {
            self.wrong_type(entry, "a whole number above 0");
        }
        number
    }

    /// Returns an amount in dollars, in millionths.
    pub(crate) fn micros(&mut self, entries: &[NodeEntry], key: &str) -> Option<u64> {
        let entry = find(entries, key)?;
        let dollars = entry.value.text().and_then(|text| text.parse::<f64>().ok());
        let dollars = dollars.filter(|dollars| (0.0..1e9).contains(dollars));
        if dollars.is_none() {
            self.wrong_type(entry, "an amount in dollars");
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the range was checked"
        )]
        dollars.map(|dollars| (dollars * 1e6).round() as u64)
    }

    /// Returns a map.
    pub(crate) fn map<'e>(
        &mut self,
        entries: &'e [NodeEntry],
        key: &str,
    ) -> Option<&'e [NodeEntry]> {
        let entry = find(entries, key)?;
        let map = entry.value.entries();
        if map.is_none() {
            self.wrong_type(entry, "a map");
        }
        map
    }

    /// Returns a list.
    pub(crate) fn list<'e>(&mut self, entries: &'e [NodeEntry], key: &str) -> Option<&'e [Node]> {
        let entry = find(entries, key)?;
        let list = entry.value.items();
        if list.is_none() {
            self.wrong_type(entry, "a list");
        }
        list
    }

    /// Returns a list of names with their spans: a list of texts, or one text with commas. Returns
    /// `None` only if the key is absent: an empty or wrong value is an empty list.
    pub(crate) fn names(
        &mut self,
        entries: &[NodeEntry],
        key: &str,
    ) -> Option<Vec<(Box<str>, Span)>> {
        let entry = entries.iter().find(|entry| &*entry.key == key)?;
        if let Some(text) = entry.value.text() {
            return Some(separated(text, entry.value.span, self.text));
        }
        let Some(items) = entry.value.items() else {
            // A value that is not understood must not mean "all".
            self.wrong_type(entry, "a list of names");
            return Some(Vec::new());
        };
        let mut names = Vec::new();
        for item in items {
            if let Some(text) = item.text() {
                names.push((text.trim().into(), item.span));
            } else {
                let message = format!("`{}` has {}, not a name", shown(key), item.kind());
                self.report(VALUE, item.span, message, "write the name as a text");
            }
        }
        Some(names)
    }

    pub(crate) fn wrong_type(&mut self, entry: &NodeEntry, wanted: &str) {
        let key = shown(&entry.key);
        let message = format!("`{key}` is {}, not {wanted}", entry.value.kind());
        let help = format!("write {wanted}");
        self.report(VALUE, entry.value.span, message, help);
    }

    /// Checks the name of an agent or a team.
    pub(crate) fn name(&mut self, text: &str, span: Span) -> Option<AgentName> {
        match AgentName::new(text) {
            Ok(name) => Some(name),
            Err(fault) => {
                let text = wording::shorten(&sanitize::line(text), 40);
                let message = format!("the name `{text}` {}", fault.as_str());
                let help = "choose a name of up to 64 visible characters; the agent is skipped";
                self.report(NAME, span, message, help);
                None
            }
        }
    }

    /// Resolves a path in this file to a path in the project. Reports one that leaves it.
    pub(crate) fn resolve(&mut self, reference: &str, span: Span) -> Option<ResourcePath> {
        let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        self.resolve_in(folder, reference, span)
    }

    /// Resolves a path that is relative to a folder of the project.
    pub(crate) fn resolve_in(
        &mut self,
        folder: &str,
        reference: &str,
        span: Span,
    ) -> Option<ResourcePath> {
        let resolved = if reference.starts_with(['/', '~']) {
            Err(PathFault::Absolute)
        } else {
            ResourcePath::new(format!("{folder}/{reference}").trim_start_matches('/'))
        };
        match resolved {
            Ok(path) => Some(path),
            Err(fault) => {
                let reference = wording::shorten(&sanitize::line(reference), 60);
                let why = match fault {
                    PathFault::Empty => "names no file",
                    PathFault::Absolute => "is absolute",
                    PathFault::Escapes => "is outside the project",
                    PathFault::Characters => "contains a backslash or a NUL byte",
                };
                let message = format!("the path `{reference}` {why}");
                // Without a repository, the project is the folder of the file.
                let help = match fault {
                    PathFault::Escapes => {
                        "use a path inside the project, or make a folder above the project with `git init`"
                    }
                    _ => "use a path inside the project, relative to this file",
                };
                self.report(PATH, span, message, help);
                None
            }
        }
    }

    /// Reports a folder or file that a link leads out of the project. Returns `None` for one.
    pub(crate) fn check_inside(&mut self, path: &ResourcePath, span: Span) -> Option<()> {
        let Err(ReadFault::Unreadable(why)) = self.files.read(path.as_str()) else {
            return Some(());
        };
        let message = format!("`{}` cannot be read: {why}", shown(path.as_str()));
        let help = "use a path inside the project, relative to this file";
        self.report(PATH, span, message, help);
        None
    }

    /// Reads a file that this one names. Reports a file that cannot be read.
    pub(crate) fn open(&mut self, path: &ResourcePath, span: Span) -> Option<String> {
        let bytes = self.read_source(path.as_str());
        self.text_of(path, span, bytes)
    }

    /// Reads a file of a skill that this one names. Skills are trusted on their own.
    pub(crate) fn open_skill(&mut self, path: &ResourcePath, span: Span) -> Option<String> {
        let bytes = self.read_other(path.as_str());
        self.text_of(path, span, bytes)
    }

    fn text_of(
        &mut self,
        path: &ResourcePath,
        span: Span,
        bytes: Result<Vec<u8>, ReadFault>,
    ) -> Option<String> {
        let fault = match bytes {
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => return Some(text),
                Err(_) => "is not UTF-8".to_owned(),
            },
            Err(ReadFault::Missing) => "does not exist".to_owned(),
            Err(ReadFault::NotAFile(kind)) => format!("is {kind}"),
            Err(ReadFault::TooLarge { bytes }) => format!("has {}", wording::size(bytes)),
            Err(ReadFault::Unreadable(why)) => format!("cannot be read: {why}"),
        };
        let message = format!("`{}` {fault}", shown(path.as_str()));
        self.report(PATH, span, message, "correct the path, or create the file");
        None
    }

    /// Reads instructions that are a text, or the path of a Markdown or text file.
    pub(crate) fn prompt_or_file(
        &mut self,
        entries: &[NodeEntry],
        key: &str,
    ) -> (Box<str>, PromptSource) {
        let Some(text) = self.text(entries, key) else {
            return (Box::default(), PromptSource::None);
        };
        let span = find(entries, key).map_or(Span::default(), |entry| entry.value.span);
        let is_path = !text.contains('\n')
            && [".md", ".txt"]
                .iter()
                .any(|ending| text.trim_end().ends_with(ending));
        if !is_path {
            return (text, PromptSource::Inline);
        }
        // Planck's prompts are in the folder of the team.
        let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let path = self.resolve(text.trim(), span).filter(|path| {
            let is_inside = folder.is_empty() || path.as_str().starts_with(&format!("{folder}/"));
            if !is_inside {
                let shown = shown(text.trim());
                let message = format!("the path `{shown}` is outside the folder of the team");
                let help = "move the file into the folder, or write the prompt itself";
                self.report(PATH, span, message, help);
            }
            is_inside
        });
        let read = path.and_then(|path| Some((self.open(&path, span)?, path)));
        match read {
            Some((read, path)) => (read.trim().into(), PromptSource::File(path.as_str().into())),
            None => (Box::default(), PromptSource::Unread(text.trim().into())),
        }
    }

    /// Adds the report of another file.
    pub(crate) fn report_other(&mut self, report: FileReport) {
        let is_known = self.others.iter().any(|other| other.path == report.path);
        if !report.diagnostics.is_empty() && !is_known {
            self.others.push(report);
        }
    }
}

/// Returns the findings about frontmatter that agents share with skills.
pub(crate) fn frontmatter_findings(parsed: &ParsedSkill<'_>) -> Vec<Diagnostic> {
    let rules = LintRuleSet::new(LintProfile::default(), None).select(&FRONTMATTER_RULES);
    let package = PackageListing::default();
    prowess_lint::check(&LintSubject::new(parsed, &package), &rules)
}

/// Returns `true` if a key is absent, or is a list of names that is understood as a whole.
pub(crate) fn are_names(entries: &[NodeEntry], key: &str) -> bool {
    let mut found = entries.iter().filter(|entry| &*entry.key == key);
    found.all(|entry| {
        let items = entry.value.items();
        let is_list = items.is_some_and(|items| items.iter().all(|item| item.text().is_some()));
        entry.value.is_null() || entry.value.text().is_some() || is_list
    })
}

/// Returns the entry of a key, unless its value is null.
pub(crate) fn find<'e>(entries: &'e [NodeEntry], key: &str) -> Option<&'e NodeEntry> {
    entries
        .iter()
        .find(|entry| &*entry.key == key)
        .filter(|entry| !entry.value.is_null())
}

/// Splits a text at commas outside of brackets.
fn separated(text: &str, span: Span, source: &str) -> Vec<(Box<str>, Span)> {
    let mut names = Vec::new();
    let (mut depth, mut from) = (0_usize, 0);
    let mut ends: Vec<usize> = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => ends.push(at),
            _ => {}
        }
    }
    ends.push(text.len());
    // Point at the name itself if the text is in the file unchanged.
    let start = span
        .of(source)
        .find(text)
        .map(|start| span.start as usize + start);
    for end in ends {
        let name = text[from..end].trim();
        if !name.is_empty() {
            let blanks = text[from..end].len() - text[from..end].trim_start().len();
            let place = start.map_or(span, |start| {
                Span::new(start + from + blanks, start + from + blanks + name.len())
            });
            names.push((name.into(), place));
        }
        from = end + 1;
    }
    names
}

/// Returns the digest of the content of a file.
pub(crate) fn digest(bytes: &[u8]) -> Box<str> {
    let hex = prowess_diag::hex(&Sha256::digest(bytes));
    format!("sha256:{hex}").into()
}

/// Prepares a text of a file for a message.
pub(crate) fn shown(text: &str) -> String {
    wording::shorten(&sanitize::line(text), 60)
}

//! Commands of a body and the values that they use.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use prowess_diag::{Diagnostic, Severity, Span};
use prowess_spec::body::{BodyItem, BodyItemKind, Placeholder};

use crate::{Compat, Variable};
use prowess_shell::placeholders::{
    self, JudgedPosition, PlainWord, Quoting, UnsafePosition, ValueKind, ValueLimit,
    ValueObjection, ValuePosition, expanded_name, exported_name,
};

/// A command whose output is inserted into the body.
///
/// Run it as `bash -c script positionals…` with the variables exported and nothing else of the
/// caller's environment. The text of an argument is never part of the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandSlot {
    /// The author's script; placeholders are references to positionals and variables. A reference
    /// that was unquoted in a word of a command is in double quotes, so that it stays one word.
    pub script: Arc<str>,
    /// The command as the author wrote it, for messages.
    pub display: Arc<str>,
    /// The values of `$0`, `$1` and so on. Never empty, so that `$0` is not the name of the shell.
    pub positionals: Vec<Arc<str>>,
    /// Variables to export, sorted by name, without duplicates.
    pub variables: Vec<(Arc<str>, Arc<str>)>,
    /// `true` if it is a block of lines.
    pub block: bool,
    /// Its position in the file, including the markup.
    pub span: Span,
}

/// A command that is not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithheldCommand {
    /// The command as the author wrote it.
    pub display: Arc<str>,
    /// `true` if it is a block of lines.
    pub block: bool,
    /// Its position in the file, including the markup.
    pub span: Span,
}

/// A command that must not run with these values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedCommand {
    /// The command as the author wrote it.
    pub display: Arc<str>,
    /// The placeholder with the value, as it is written.
    pub placeholder: Arc<str>,
    /// The reason.
    pub objection: ValueObjection,
    /// `true` if the value is passed on, so that only a part of it may be the reason.
    pub is_passed_on: bool,
    /// `true` if it is a block of lines.
    pub block: bool,
    /// Its position in the file, including the markup.
    pub span: Span,
}

impl RefusedCommand {
    /// Returns the reason, and what the author can do about it.
    pub fn reason(&self) -> String {
        let name = &self.placeholder;
        let why = if self.is_passed_on {
            self.objection.explain_part()
        } else {
            self.objection.explain()
        };
        let remedy = self.objection.remedy(name);
        format!("the value of `{name}` {why}; {remedy}")
    }
}

/// A value that a command refers to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// `$ARGUMENTS`
    All,
    /// `$ARGUMENTS[N]`
    Element(usize),
    /// A declared argument, by its index.
    Named(usize),
    /// A variable, by its index in [`Command::variables`].
    Variable(usize),
}

/// A command of a template.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub(crate) span: Span,
    pub(crate) block: bool,
    pub(crate) display: Arc<str>,
    pub(crate) script: Arc<str>,
    /// The exported variables and their sources.
    pub(crate) exports: Vec<(Arc<str>, Source)>,
    pub(crate) variables: Vec<Variable>,
    /// Number of positionals that it uses; `None` for all.
    pub(crate) positions: Option<usize>,
    /// The items in it, for the report.
    pub(crate) items: Vec<(Span, What)>,
    /// Values with limits, each with its text.
    pub(crate) limited: Vec<(Arc<str>, Placeholder, ValueLimit)>,
    /// The limits of all values, because any of them may be the value of a positional.
    pub(crate) limit: ValueLimit,
    /// The limits of all parts of values, because the script passes them on.
    pub(crate) part_limit: ValueLimit,
    /// Each unquoted `$ARGUMENTS` that is the last word of a command: its range in the script, with
    /// quotes.
    pub(crate) optional: Vec<Range<usize>>,
}

impl Command {
    /// Returns the script for a call without arguments: without the words that are `$ARGUMENTS`,
    /// because `git log $ARGUMENTS` means `git log` then.
    pub(crate) fn without_arguments(&self) -> Arc<str> {
        if self.optional.is_empty() {
            return Arc::clone(&self.script);
        }
        let (mut script, mut from) = (String::with_capacity(self.script.len()), 0);
        for range in &self.optional {
            script.push_str(&self.script[from..range.start]);
            from = range.end;
        }
        script.push_str(&self.script[from..]);
        script.into()
    }
}

/// An item in a command.
#[derive(Clone, Debug)]
pub(crate) enum What {
    Argument(Placeholder),
    Variable(usize),
    Escape,
}

/// A position that no argument has and that every shell accepts.
const NOWHERE: usize = i32::MAX as usize;

/// Parses a command. `inside` are the items in it.
pub(crate) fn read(
    text: &str,
    span: Span,
    command: Span,
    block: bool,
    inside: &[BodyItem],
    names: &[Box<str>],
    compat: Compat,
) -> Result<Command, Vec<Diagnostic>> {
    let written = command.of(text);
    let start = command.start as usize;
    let local = |span: Span| span.start as usize - start..span.end as usize - start;
    let positions: Vec<ValuePosition> = inside
        .iter()
        .filter_map(|item| {
            let kind = match item.kind {
                BodyItemKind::Placeholder(_) => ValueKind::Argument,
                BodyItemKind::Variable => ValueKind::Trusted,
                BodyItemKind::Escape => ValueKind::Escape,
                _ => return None,
            };
            Some(ValuePosition {
                range: local(item.span),
                kind,
            })
        })
        .collect();
    let judgement = placeholders::judge_command(written, &positions, names);
    let refusals: Vec<Diagnostic> = judgement
        .refused()
        .map(|(found, reason)| refusal(written, start, found, reason))
        .collect();
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let (mut limit, mut part_limit) = (ValueLimit::default(), judgement.limit);
    let renumbers = judgement.renumbers;
    let found = judgement.positions;
    let exported: Vec<Arc<str>> = names
        .iter()
        .enumerate()
        .map(|(index, name)| exported_name(index, name).into())
        .collect();
    let mut writer = Writer {
        exported: &exported,
        compat,
        ..Writer::default()
    };
    let mut copied = 0;
    let given: Vec<&BodyItem> = inside.iter().filter(|item| is_filled(&item.kind)).collect();
    let is_judged = |index| found.iter().any(|found| found.given == Some(index));
    if let Some(missing) = (0..given.len()).find(|&index| !is_judged(index)) {
        let lost = JudgedPosition {
            range: positions[missing].range.clone(),
            kind: positions[missing].kind,
            given: Some(missing),
            quoting: Quoting::Bare,
            plain: None,
            limit: ValueLimit::default(),
            is_whole: false,
            reason: None,
        };
        return Err(vec![refusal(
            written,
            start,
            &lost,
            UnsafePosition::Unclear,
        )]);
    }
    let mut in_order: Vec<&JudgedPosition> = found.iter().collect();
    in_order.sort_by_key(|found| found.range.start);
    for found in in_order {
        let item = found.given.and_then(|index| given.get(index));
        if found.kind == ValueKind::Argument && !found.limit.is_empty() {
            let text = &written[found.range.clone()];
            let argument = match item.map(|item| &item.kind) {
                Some(BodyItemKind::Placeholder(placeholder)) => Some(placeholder.clone()),
                _ => writer.argument(expanded_name(text)),
            };
            match argument.filter(|_| found.is_whole) {
                Some(argument) => {
                    let closes = item.is_none() && text.starts_with("${");
                    let text = if closes {
                        format!("{text}}}")
                    } else {
                        text.to_owned()
                    };
                    writer.limited.push((text.into(), argument, found.limit));
                    if renumbers {
                        limit.add(found.limit);
                    }
                }
                None => part_limit.add(found.limit),
            }
        }
        let native = (item.is_none() && found.plain.is_some())
            .then(|| writer.argument(expanded_name(&written[found.range.clone()])))
            .flatten();
        let mut range = found.range.clone();
        if native.is_some() && written[range.clone()].starts_with("${") {
            range.end += 1;
        }
        if range.start < copied || item.is_none() && native.is_none() {
            continue;
        }
        writer.copy(written, copied..range.start, block);
        copied = range.end;
        let is_quoted = found.plain.is_some() && found.kind != ValueKind::Escape;
        let begin = writer.script.len();
        if is_quoted {
            writer.script.push('"');
        }
        let is_last = is_last_word(written, &range);
        let text = &written[range];
        let argument = if let Some(item) = item {
            writer.item(text, item, found.quoting);
            match &item.kind {
                BodyItemKind::Placeholder(placeholder) => Some(placeholder.clone()),
                _ => None,
            }
        } else {
            writer.script.push_str(text);
            native
        };
        if is_quoted {
            writer.script.push('"');
            let is_optional = is_last && found.plain == Some(PlainWord::Leading);
            if is_optional && argument == Some(Placeholder::All) {
                writer.optional.push(begin..writer.script.len());
            }
        }
    }
    writer.copy(written, copied..written.len(), block);
    for found in found.iter().filter(|found| found.given.is_none()) {
        writer.native(&written[found.range.clone()]);
    }
    if placeholders::receives_all_positionals(written) {
        writer.positions = None;
    }
    Ok(Command {
        span,
        block,
        display: written.trim_end_matches(['\r', '\n']).into(),
        script: writer.script.into(),
        exports: writer.exports.into_iter().collect(),
        variables: writer.variables,
        positions: writer.positions,
        items: writer.items,
        limited: writer.limited,
        limit,
        part_limit,
        optional: writer.optional,
    })
}

/// Returns `true` if a range is the last word of its command: no later word can take its place.
fn is_last_word(written: &str, range: &Range<usize>) -> bool {
    let after = written[range.end..].trim_start_matches([' ', '\t']);
    written[..range.start].ends_with([' ', '\t'])
        && (after.is_empty() || after.starts_with(['\r', '\n', '|', ';', '&']))
}

pub(crate) fn is_filled(kind: &BodyItemKind) -> bool {
    matches!(
        kind,
        BodyItemKind::Placeholder(_) | BodyItemKind::Variable | BodyItemKind::Escape
    )
}

/// Reports a position that is not safe.
fn refusal(
    written: &str,
    start: usize,
    found: &JudgedPosition,
    reason: UnsafePosition,
) -> Diagnostic {
    let text = written.get(found.range.clone()).unwrap_or_default();
    let text = if found.given.is_none() && text.starts_with("${") && !text.ends_with('}') {
        format!("{text}}}")
    } else {
        text.to_owned()
    };
    Diagnostic {
        rule: "unsafe-placeholder",
        severity: Severity::Error,
        message: format!("`{text}` is in an unsafe position in a command").into(),
        span: Some(Span::new(
            start + found.range.start,
            start + found.range.end,
        )),
        label: Some(reason.explain().into()),
        help: Some(reason.remedy(&text).into()),
        fix: None,
    }
}

/// Writes the script of a command and records what it refers to.
struct Writer<'a> {
    exported: &'a [Arc<str>],
    compat: Compat,
    script: String,
    exports: BTreeSet<(Arc<str>, Source)>,
    variables: Vec<Variable>,
    positions: Option<usize>,
    items: Vec<(Span, What)>,
    limited: Vec<(Arc<str>, Placeholder, ValueLimit)>,
    optional: Vec<Range<usize>>,
}

impl Default for Writer<'_> {
    fn default() -> Self {
        Self {
            exported: &[],
            compat: Compat::default(),
            script: String::new(),
            exports: BTreeSet::new(),
            variables: Vec::new(),
            positions: Some(0),
            items: Vec::new(),
            limited: Vec::new(),
            optional: Vec::new(),
        }
    }
}

impl Writer<'_> {
    /// Copies the author's text without carriage returns at the ends of lines, which come from the
    /// editor.
    fn copy(&mut self, written: &str, range: Range<usize>, block: bool) {
        let text = written.get(range).unwrap_or_default();
        if block && text.contains('\r') {
            self.script.push_str(&text.replace("\r\n", "\n"));
        } else {
            self.script.push_str(text);
        }
    }

    fn item(&mut self, written: &str, item: &BodyItem, quoting: Quoting) {
        let what = match &item.kind {
            BodyItemKind::Placeholder(placeholder) => {
                self.placeholder(placeholder);
                What::Argument(placeholder.clone())
            }
            BodyItemKind::Variable => {
                let inner = written.trim_start_matches("${").trim_end_matches('}');
                let variable = Variable::read(inner);
                let known = self.variables.iter().position(|known| *known == variable);
                let index = known.unwrap_or(self.variables.len());
                self.reference(&variable.shell_name().into(), Source::Variable(index));
                if known.is_none() {
                    self.variables.push(variable);
                }
                What::Variable(index)
            }
            _ => {
                // The shell removes the backslash itself, except in literal text.
                let literal = quoting == Quoting::Literal;
                self.script
                    .push_str(if literal { &written[1..] } else { written });
                What::Escape
            }
        };
        self.items.push((item.span, what));
    }

    fn placeholder(&mut self, placeholder: &Placeholder) {
        match *placeholder {
            Placeholder::All => self.reference(&"ARGUMENTS".into(), Source::All),
            Placeholder::Element(index) => {
                let index = index.min(NOWHERE);
                self.reference(&format!("ARGUMENTS_{index}").into(), Source::Element(index));
            }
            Placeholder::Named(index) => {
                let name = self.exported.get(index).cloned().unwrap_or_default();
                self.reference(&name, Source::Named(index));
            }
            Placeholder::Index(index) => {
                let index = self.compat.position(index).unwrap_or(NOWHERE).min(NOWHERE);
                // Braces, because a shell reads `$10` as `${1}0`.
                self.script.push_str(&format!("${{{index}}}"));
                self.sees(index);
            }
        }
    }

    fn reference(&mut self, name: &Arc<str>, source: Source) {
        self.script.push_str("${");
        self.script.push_str(name);
        self.script.push('}');
        self.exports.insert((name.clone(), source));
    }

    fn sees(&mut self, position: usize) {
        self.positions = self.positions.map(|positions| positions.max(position + 1));
    }

    /// Returns the argument that a name of the author's own shell syntax refers to.
    fn argument(&self, name: &str) -> Option<Placeholder> {
        if let Ok(position) = name.parse::<usize>() {
            return Some(Placeholder::Element(position));
        }
        if name == "ARGUMENTS" {
            return Some(Placeholder::All);
        }
        let index = self.exported.iter().position(|known| **known == *name)?;
        Some(Placeholder::Named(index))
    }

    /// Records what the author's own shell syntax refers to: `${1}`, `"$@"`, `${issue}`.
    fn native(&mut self, written: &str) {
        let name = expanded_name(written);
        if let Ok(position) = name.parse::<usize>() {
            self.sees(position.min(NOWHERE));
        } else if name == "ARGUMENTS" {
            self.exports.insert(("ARGUMENTS".into(), Source::All));
        } else if let Some(index) = self.exported.iter().position(|known| **known == *name) {
            self.exports
                .insert((self.exported[index].clone(), Source::Named(index)));
        } else if name == "@" || name == "*" {
            self.positions = None;
        }
    }
}

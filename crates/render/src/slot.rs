//! A command to run, with its values beside it.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use prowess_diag::{Diagnostic, Severity, Span};
use prowess_spec::body::{BodyItem, BodyItemKind, Placeholder};

use crate::{Compat, Variable};
use prowess_shell::placeholders::{self, Found, Kind, Place, Quoting};

/// A command whose output takes this place.
///
/// Run it as `bash -c script positionals…` with the variables exported, in an environment that has
/// nothing else of the caller's. No text of an argument is ever part of the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The author's script; placeholders are references to positionals and variables.
    pub script: Arc<str>,
    /// The command as the author wrote it, for messages.
    pub display: Arc<str>,
    /// What follows the script: `$0`, `$1` and so on. Never empty, so that `$0` is no program.
    pub positionals: Vec<Arc<str>>,
    /// Variables to export, each name once, in order of their names.
    pub variables: Vec<(Arc<str>, Arc<str>)>,
    /// Whether it is a block of lines.
    pub block: bool,
    /// Where it stands in the file, marks and all.
    pub span: Span,
}

/// A command that is not to be run, and what stands for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withheld {
    /// The command as the author wrote it.
    pub display: Arc<str>,
    /// Whether it is a block of lines.
    pub block: bool,
    /// Where it stands in the file, marks and all.
    pub span: Span,
}

/// A value that a command refers to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// `$ARGUMENTS`
    All,
    /// `$ARGUMENTS[N]`
    Element(usize),
    /// A name, by its place among the declared ones.
    Named(usize),
    /// A variable, by its place in [`Command::variables`].
    Variable(usize),
}

/// A command of a template.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub(crate) span: Span,
    pub(crate) block: bool,
    pub(crate) display: Arc<str>,
    pub(crate) script: Arc<str>,
    /// What is exported under which name.
    pub(crate) exports: Vec<(Arc<str>, Source)>,
    pub(crate) variables: Vec<Variable>,
    /// How many positionals it can see; nothing means all.
    pub(crate) positions: Option<usize>,
    /// What stands in it, for the report.
    pub(crate) items: Vec<(Span, What)>,
}

/// What an item in a command is.
#[derive(Clone, Debug)]
pub(crate) enum What {
    Argument(Placeholder),
    Variable(usize),
    Escape,
}

/// A position that no argument can have and that every shell can count to.
const NOWHERE: usize = i32::MAX as usize;

/// Reads the command at a place. `inside` are the items in it.
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
    let places: Vec<Place> = inside
        .iter()
        .filter_map(|item| {
            let kind = match item.kind {
                BodyItemKind::Placeholder(_) => Kind::Argument,
                BodyItemKind::Variable => Kind::Trusted,
                BodyItemKind::Escape => Kind::Escape,
                _ => return None,
            };
            Some(Place {
                range: local(item.span),
                kind,
            })
        })
        .collect();
    let exported: Vec<Arc<str>> = names
        .iter()
        .enumerate()
        .map(|(index, name)| shell_name(index, name))
        .collect();
    let mut bound: Vec<&str> = vec!["ARGUMENTS"];
    bound.extend(exported.iter().map(AsRef::as_ref));
    let found = if written.contains(['$', '`']) || !places.is_empty() {
        placeholders::judge(written, &places, &bound)
    } else {
        Vec::new()
    };
    // Without any argument in it, a command may do what it likes with its own variables.
    let has_values = found.iter().any(|found| {
        let is_bound = || is_argument(native_name(&written[found.range.clone()]), &bound);
        found.kind == Kind::Argument && (found.given.is_some() || is_bound())
    });
    let refusals: Vec<Diagnostic> = found
        .iter()
        .filter(|found| has_values || found.kind != Kind::Argument)
        .filter_map(|found| refusal(written, start, found))
        .collect();
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let mut writer = Writer {
        exported: &exported,
        compat,
        ..Writer::default()
    };
    let mut copied = 0;
    let mut quotings = vec![Quoting::Bare; places.len()];
    for found in &found {
        if let Some(quoting) = found.given.and_then(|given| quotings.get_mut(given)) {
            *quoting = found.quoting;
        }
    }
    let given = inside.iter().filter(|item| is_filled(&item.kind));
    for (number, item) in given.enumerate() {
        let range = local(item.span);
        writer.copy(written, copied..range.start, block);
        copied = range.end;
        let quoting = quotings.get(number).copied().unwrap_or(Quoting::Bare);
        writer.item(&written[range], item, quoting);
    }
    writer.copy(written, copied..written.len(), block);
    for found in found.iter().filter(|found| found.given.is_none()) {
        writer.native(&written[found.range.clone()]);
    }
    if written.contains("$#") || written.contains("${#}") || written.contains("shift") {
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
    })
}

pub(crate) fn is_filled(kind: &BodyItemKind) -> bool {
    matches!(
        kind,
        BodyItemKind::Placeholder(_) | BodyItemKind::Variable | BodyItemKind::Escape
    )
}

/// What to say about a place that is not safe.
fn refusal(written: &str, start: usize, found: &Found) -> Option<Diagnostic> {
    let reason = found.reason?;
    let text = written.get(found.range.clone()).unwrap_or_default();
    let text = if found.given.is_none() && text.starts_with("${") && !text.ends_with('}') {
        format!("{text}}}")
    } else {
        text.to_owned()
    };
    Some(Diagnostic {
        rule: "unsafe-placeholder",
        severity: Severity::Error,
        message: format!("`{text}` stands in an unsafe place of a command").into(),
        span: Some(Span::new(
            start + found.range.start,
            start + found.range.end,
        )),
        label: Some(reason.explain().into()),
        help: Some(reason.remedy(&text).into()),
        fix: None,
    })
}

/// Writes the script of a command, and notes what it refers to.
struct Writer<'a> {
    exported: &'a [Arc<str>],
    compat: Compat,
    script: String,
    exports: BTreeSet<(Arc<str>, Source)>,
    variables: Vec<Variable>,
    positions: Option<usize>,
    items: Vec<(Span, What)>,
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
        }
    }
}

impl Writer<'_> {
    /// Copies the author's text. A carriage return at the end of a line is the editor's, not part
    /// of the script.
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
                // The shell reads the backslash as the author's rules do, except where it reads
                // none at all.
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

    /// Notes what the author's own shell syntax refers to: `${1}`, `"$@"`, `${issue}`.
    fn native(&mut self, written: &str) {
        let name = native_name(written);
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

/// The name in `${name`, `${!name` or `$name`.
fn native_name(written: &str) -> &str {
    written.trim_start_matches(['$', '{', '!', '#'])
}

/// Whether a name refers to an argument itself, and not to a variable that may have one.
fn is_argument(name: &str, bound: &[&str]) -> bool {
    name == "@"
        || name == "*"
        || name.bytes().all(|byte| byte.is_ascii_digit())
        || bound.contains(&name)
        // Whole scripts inside others and backticks are not taken apart here.
        || name.contains(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

/// The name under which a declared argument is exported: its own, if no shell or program knows that
/// name. Those in use are written in capitals, but for a few.
fn shell_name(index: usize, name: &str) -> Arc<str> {
    const TAKEN: [&str; 8] = [
        "auto_resume",
        "cdpath",
        "fpath",
        "histchars",
        "home",
        "manpath",
        "path",
        "prompt",
    ];
    let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let lower = name.to_ascii_lowercase();
    if is_plain && !lower.ends_with("proxy") && !TAKEN.contains(&lower.as_str()) {
        name.into()
    } else {
        format!("PROWESS_ARGUMENT_{index}").into()
    }
}

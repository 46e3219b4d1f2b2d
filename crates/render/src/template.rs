//! Parses a body into a template.

use std::collections::BTreeSet;
use std::sync::Arc;

use prowess_diag::{Diagnostic, Severity, Span};
use prowess_spec::body::{self, BodyItem, BodyItemKind, ItemContext, Placeholder, ScanDetail};

use crate::command_slot::{self, Command, WithheldCommand};
use crate::{Compat, Variable};

/// Most declared names; each costs a comparison at every `$`.
pub const MAX_NAMES: usize = 64;
/// Most refusals that are listed.
const MOST_REFUSALS: usize = 100;

/// Options for [`prepare`].
#[derive(Clone, Copy, Debug, Default)]
pub struct PrepareOptions<'a> {
    /// The declared arguments in order. Those beyond [`MAX_NAMES`] are ignored.
    pub names: &'a [&'a str],
    /// The runtime whose rules apply.
    pub compat: Compat,
    /// The handling of commands.
    pub commands: CommandHandling,
}

/// The handling of the commands in a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommandHandling {
    /// Each becomes a [`CommandSlot`](crate::CommandSlot).
    #[default]
    Bind,
    /// No command runs: each becomes a [`WithheldCommand`], and none is refused.
    Withhold,
}

/// A parsed body, to be filled with values.
#[derive(Clone, Debug)]
pub struct Template {
    pub(crate) text: Box<str>,
    /// Offset of the body in the file.
    pub(crate) start: usize,
    pub(crate) names: Vec<Box<str>>,
    /// Number of names that are declared; the others may be keys of an object.
    pub(crate) declared: usize,
    pub(crate) compat: Compat,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) commands: Vec<Command>,
    pub(crate) withheld: Vec<WithheldCommand>,
    /// `true` if an argument is used by position or name.
    pub(crate) counts: bool,
    /// `true` if the body contains `$ARGUMENTS`, `$ARGUMENTS[N]` or `$N`.
    pub(crate) mentions: bool,
    notes: Vec<Diagnostic>,
}

/// A piece of a template; the text between two pieces is copied.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) span: Span,
    pub(crate) kind: PieceKind,
}

#[derive(Clone, Debug)]
pub(crate) enum PieceKind {
    Argument(Placeholder),
    Variable(Variable),
    Escape,
    /// Unchanged: it is inside a code block.
    Code,
    Command(usize),
    Withheld(usize),
}

/// The error for a body in which a value would be run as code.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", .diagnostics.first().map_or("a command is not safe", |found| found.message.as_ref()))]
pub struct RefusedTemplate {
    /// One for each unsafe position, at most 100.
    pub diagnostics: Vec<Diagnostic>,
}

impl Template {
    /// Returns notes about the body: names and commands that are ignored.
    pub fn notes(&self) -> &[Diagnostic] {
        &self.notes
    }

    /// Returns the number of commands to run.
    pub fn commands(&self) -> usize {
        self.commands.len()
    }

    /// Returns the text of a span of the file.
    pub(crate) fn of(&self, span: Span) -> &str {
        self.text
            .get(span.start as usize - self.start..span.end as usize - self.start)
            .unwrap_or_default()
    }
}

/// Parses the body of a file. Spans are positions in `text`.
pub fn prepare(
    text: &str,
    body: Span,
    options: &PrepareOptions<'_>,
) -> Result<Template, RefusedTemplate> {
    let end = floor(text, (body.end as usize).min(text.len()));
    let start = floor(text, (body.start as usize).min(end));
    let body = Span::new(start, end);
    let compat = options.compat;
    let mut names: Vec<&str> = options.names.iter().take(MAX_NAMES).copied().collect();
    let declared = names.len();
    if compat.names_from_keys() {
        add_candidates(&text[start..end], &mut names);
    }
    let items = body::analyse(text, body, &names, ScanDetail::Full);
    let mut reader = Reader {
        text,
        options,
        refusals: Vec::new(),
        template: Template {
            text: text[start..end].into(),
            start,
            names: names.iter().map(|&name| name.into()).collect(),
            declared,
            compat,
            pieces: Vec::new(),
            commands: Vec::new(),
            withheld: Vec::new(),
            counts: false,
            mentions: false,
            notes: Vec::new(),
        },
    };
    if let Some(more) = options.names.len().checked_sub(MAX_NAMES + 1) {
        let message = format!(
            "{} declared arguments are ignored: at most {MAX_NAMES} are supported",
            more + 1
        );
        reader.note("too-many-arguments", message, None);
    }
    let mut rest = items.as_slice();
    while let Some((item, more)) = rest.split_first() {
        rest = reader.item(item, more, &names);
    }
    if reader.refusals.is_empty() {
        Ok(reader.template)
    } else {
        Err(RefusedTemplate {
            diagnostics: reader.refusals,
        })
    }
}

/// Returns a body without placeholders and commands: all of it is text. Arguments are appended.
pub fn literal(text: &str, body: Span) -> Template {
    let end = floor(text, (body.end as usize).min(text.len()));
    let start = floor(text, (body.start as usize).min(end));
    Template {
        text: text[start..end].into(),
        start,
        names: Vec::new(),
        declared: 0,
        compat: Compat::default(),
        pieces: Vec::new(),
        commands: Vec::new(),
        withheld: Vec::new(),
        counts: false,
        mentions: false,
        notes: Vec::new(),
    }
}

struct Reader<'a> {
    text: &'a str,
    options: &'a PrepareOptions<'a>,
    refusals: Vec<Diagnostic>,
    template: Template,
}

impl Reader<'_> {
    fn push(&mut self, span: Span, kind: PieceKind) {
        self.template.pieces.push(Piece { span, kind });
    }

    fn note(&mut self, rule: &'static str, message: String, span: Option<Span>) {
        if self.template.notes.len() < MOST_REFUSALS {
            let message = message.into();
            let (severity, label, help, fix) = (Severity::Note, None, None, None);
            let note = Diagnostic {
                rule,
                severity,
                message,
                span,
                label,
                help,
                fix,
            };
            self.template.notes.push(note);
        }
    }

    /// Processes one item. Returns the items after it.
    fn item<'i>(
        &mut self,
        item: &BodyItem,
        more: &'i [BodyItem],
        names: &[&str],
    ) -> &'i [BodyItem] {
        let compat = self.options.compat;
        match &item.kind {
            BodyItemKind::Placeholder(placeholder) => {
                self.placeholder(item.span, item.place, placeholder.clone());
            }
            BodyItemKind::Escape if compat.has_escapes() => self.push(item.span, PieceKind::Escape),
            BodyItemKind::Escape => {
                // The backslash is text; the placeholder after it is parsed separately.
                let behind = Span::new(item.span.start as usize + 1, item.span.end as usize);
                for inner in body::analyse(self.text, behind, names, ScanDetail::Full) {
                    if let BodyItemKind::Placeholder(placeholder) = inner.kind {
                        self.placeholder(inner.span, item.place, placeholder);
                    }
                }
            }
            BodyItemKind::Variable => {
                let inner = item.span.of(self.text);
                let inner = inner.trim_start_matches("${").trim_end_matches('}');
                self.push(item.span, PieceKind::Variable(Variable::read(inner)));
            }
            BodyItemKind::Command { command, block } => {
                let is_live = item.place == ItemContext::Text || compat.runs_in_fences();
                if is_live && !self.is_quotation(item.span, *block) {
                    let length = more
                        .iter()
                        .take_while(|inner| command.contains(inner.span))
                        .count();
                    self.command(item.span, *command, *block, &more[..length]);
                    return &more[length..];
                }
                let message = "a command that is shown as an example is not run".to_owned();
                self.note("injection-in-code", message, Some(item.span));
            }
            BodyItemKind::Fence { .. }
            | BodyItemKind::InlineCode { .. }
            | BodyItemKind::Link { .. } => {}
        }
        more
    }

    fn placeholder(&mut self, span: Span, place: ItemContext, placeholder: Placeholder) {
        let template = &mut self.template;
        template.mentions |= !matches!(placeholder, Placeholder::Named(_));
        let is_index = matches!(placeholder, Placeholder::Index(_));
        if is_index && place.is_code() && !self.options.compat.fills_code() {
            self.push(span, PieceKind::Code);
            return;
        }
        template.counts |= placeholder != Placeholder::All;
        self.push(span, PieceKind::Argument(placeholder));
    }

    fn command(&mut self, span: Span, command: Span, block: bool, inside: &[BodyItem]) {
        if self.options.commands == CommandHandling::Withhold {
            let display: Arc<str> = command.of(self.text).trim_end_matches(['\r', '\n']).into();
            self.push(span, PieceKind::Withheld(self.template.withheld.len()));
            self.template.withheld.push(WithheldCommand {
                display,
                block,
                span,
            });
            return;
        }
        let (names, compat) = (&self.template.names, self.options.compat);
        match command_slot::read(self.text, span, command, block, inside, names, compat) {
            Ok(command) => {
                let is_counted = |what: &command_slot::What| matches!(what, command_slot::What::Argument(placeholder) if *placeholder != Placeholder::All);
                self.template.counts |= command.positions != Some(0)
                    || command.items.iter().any(|(_, what)| is_counted(what))
                    || command.exports.iter().any(|(_, source)| {
                        matches!(
                            source,
                            command_slot::Source::Named(_) | command_slot::Source::Element(_)
                        )
                    });
                self.template.mentions |= command.items.iter().any(|(_, what)| match what {
                    command_slot::What::Argument(placeholder) => {
                        !matches!(placeholder, Placeholder::Named(_))
                    }
                    _ => false,
                });
                self.push(span, PieceKind::Command(self.template.commands.len()));
                self.template.commands.push(command);
            }
            Err(refusals) => {
                let room = MOST_REFUSALS - self.refusals.len().min(MOST_REFUSALS);
                self.refusals.extend(refusals.into_iter().take(room));
            }
        }
    }

    /// Returns `true` if a block is inside a block quote: its lines begin with `>`, which a shell
    /// would take for a redirection.
    fn is_quotation(&self, span: Span, block: bool) -> bool {
        if !block {
            return false;
        }
        let before = &self.text[..span.start as usize];
        let line = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
        before[line..].contains('>')
    }
}

/// Adds the words after a `$` that could be keys of an object.
fn add_candidates<'t>(text: &'t str, names: &mut Vec<&'t str>) {
    let mut known: BTreeSet<&str> = names.iter().copied().collect();
    for rest in text.split('$').skip(1) {
        if names.len() == MAX_NAMES {
            return;
        }
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let word = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
        let word = word.trim_end_matches('-');
        let begins = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if begins && word != "ARGUMENTS" && known.insert(word) {
            names.push(word);
        }
    }
}

/// Returns the nearest character boundary at or before an offset.
fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}

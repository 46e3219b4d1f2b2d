//! Findings as people read them: headline, place, the line itself, and the way out.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Patch, Renderer, Snippet};

use crate::{Diagnostic, FileReport, Fix, LineIndex, Severity, Span, sanitize, wording};

/// A line longer than this is described by its position only; quoting it would help nobody.
const LONGEST_LINE: usize = 4096;

/// Fixes with more edits than this are named, not shown.
const MOST_EDITS: usize = 12;

/// How wide and how colourful the output is.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Emit colours.
    pub color: bool,
    /// Columns of the terminal; nothing when the output is not a terminal, then no line is cut.
    pub width: Option<usize>,
}

/// Returns one finding as text that ends with a line break.
pub fn finding(
    report: &FileReport,
    lines: &LineIndex,
    diagnostic: &Diagnostic,
    options: Options,
) -> String {
    let mut groups = vec![primary(report, lines, diagnostic)];
    if let Some(fix) = &diagnostic.fix {
        groups.extend(solution(report, lines, fix));
    }
    if let Some(help) = &diagnostic.help {
        let help = sanitize::block(help).into_owned();
        groups.push(Group::with_title(Level::HELP.secondary_title(help)));
    }
    let renderer = if options.color { Renderer::styled() } else { Renderer::plain() };
    let renderer =
        renderer.decor_style(DecorStyle::Ascii).term_width(options.width.unwrap_or(usize::MAX / 4));
    let mut text = renderer.render(&groups);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn primary<'a>(report: &FileReport, lines: &LineIndex, diagnostic: &Diagnostic) -> Group<'a> {
    let path = sanitize::line(&report.path).into_owned();
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title =
        level.primary_title(sanitize::line(&diagnostic.message).into_owned()).id(diagnostic.rule);
    let Some(span) = diagnostic.span.filter(|_| report.text.is_some()) else {
        return title.element(Origin::path(path));
    };
    let Some(window) = Window::around(report.text(), lines, &[span]) else {
        let at = lines.position(report.text(), span.start as usize);
        return title.element(Origin::path(path).line(at.line).char_column(at.column));
    };
    let label = diagnostic.label.as_ref().map(|label| sanitize::line(label).into_owned());
    let annotation = AnnotationKind::Primary.span(window.inside(span)).label(label);
    title.element(
        Snippet::source(window.text).line_start(window.line).path(path).annotation(annotation),
    )
}

fn solution<'a>(report: &FileReport, lines: &LineIndex, fix: &Fix) -> Option<Group<'a>> {
    // Many small edits say less than their title.
    if fix.edits.len() > MOST_EDITS {
        let title = format!("{} ({} places)", fix.title, wording::thousands(fix.edits.len()));
        return Some(Group::with_title(
            Level::HELP.secondary_title(sanitize::line(&title).into_owned()),
        ));
    }
    let spans: Vec<Span> = fix.edits.iter().map(|edit| edit.span).collect();
    let window = Window::around(report.text(), lines, &spans)?;
    let mut snippet = Snippet::source(window.text.clone()).line_start(window.line);
    for edit in &fix.edits {
        let replacement = sanitize::block(&edit.replacement).into_owned();
        snippet = snippet.patch(Patch::new(window.inside(edit.span), replacement));
    }
    let title = if fix.is_safe() {
        fix.title.clone()
    } else {
        format!("{} (suggestion, not applied by `--fix`)", fix.title)
    };
    Some(Level::HELP.secondary_title(sanitize::line(&title).into_owned()).element(snippet))
}

/// The lines that a set of spans touches.
struct Window {
    text: String,
    line: usize,
    offset: usize,
}

impl Window {
    /// Returns the window, or nothing when a line in it is too long to quote.
    fn around(text: &str, lines: &LineIndex, spans: &[Span]) -> Option<Self> {
        let first = spans.iter().map(|span| span.start).min()? as usize;
        let last = spans.iter().map(|span| span.end).max()? as usize;
        let line = lines.position(text, first).line;
        let last_line = lines.position(text, last).line;
        let offset = lines.line_start(line)?;
        let end = lines.line_start(last_line + 1).unwrap_or(text.len());
        let quoted = text.get(offset..end)?;
        if quoted.lines().any(|line| line.len() > LONGEST_LINE) {
            return None;
        }
        Some(Self { text: sanitize::same_width(quoted).into_owned(), line, offset })
    }

    fn inside(&self, span: Span) -> std::ops::Range<usize> {
        let clamp = |at: u32| (at as usize).saturating_sub(self.offset).min(self.text.len());
        clamp(span.start)..clamp(span.end)
    }
}

/// Returns the closing line of a run: what was found, in how many skills, and what to do next.
pub fn summary(counts: crate::Counts, affected: usize, skills: usize) -> String {
    let kinds = [(counts.errors, "error"), (counts.warnings, "warning"), (counts.notes, "note")];
    let found = wording::all(
        kinds.into_iter().filter(|(n, _)| *n > 0).map(|(n, noun)| wording::count(n, noun)),
    );
    let fixable = match counts.fixable {
        0 => String::new(),
        n => format!(" ({} fixable with `--fix`)", wording::thousands(n)),
    };
    format!(
        "{found} in {} of {}{fixable}",
        wording::thousands(affected),
        wording::count(skills, "skill")
    )
}

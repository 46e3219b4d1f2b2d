//! Findings for people: headline, location, source line, fix and help.

use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Patch, Renderer, Snippet};

use anstyle::Style;

use super::fit::{self, Change};
use super::{preview, wrap};
use crate::theme::HELP;
use crate::{Diagnostic, FileReport, Fix, LineIndex, Severity, Span, sanitize, theme, wording};

/// Longer lines are not quoted; only their position is shown.
pub(super) const LONGEST_LINE: usize = 4096;

/// Fixes with more edits than this are named but not shown.
const MOST_EDITS: usize = 12;

/// Width of the bracket next to a span of several lines.
const BRACKET: usize = 2;

/// Minimum context on each side of a span where a line is cut.
const CONTEXT: usize = 9;

/// Colour and width of the output.
#[derive(Clone, Copy, Debug)]
pub struct RenderOptions {
    /// Emit colours.
    pub color: bool,
    /// Width of the terminal in columns; `None` if the output is not a terminal, in which case no
    /// line is cut.
    pub width: Option<usize>,
}

/// Returns a help line in colour, wrapped at `width`.
pub fn help(text: &str, width: Option<usize>) -> String {
    let line = format!("{HELP}help{HELP:#}: {text}");
    wrap::hang(&line, width.unwrap_or(usize::MAX), "help: ".len()) + "\n"
}

/// Renders one finding; the text ends with a line break.
pub fn finding(
    report: &FileReport,
    lines: &LineIndex,
    diagnostic: &Diagnostic,
    options: RenderOptions,
) -> String {
    // Line numbers and the bar after them.
    let gutter = lines.line_count(report.text()).to_string().len() + 3;
    let columns = options.width.map(|width| width.saturating_sub(gutter));
    let (group, label, moved) = primary(report, lines, diagnostic, columns);
    let mut groups = vec![group];
    let mut preview = String::new();
    if let Some(fix) = &diagnostic.fix {
        let (group, shown) = solution(report, lines, fix, columns, options.color).unzip();
        groups.extend(group);
        preview = shown.unwrap_or_default();
    }
    let help = diagnostic.help.as_ref().map(|help| {
        let help = sanitize::block(help).into_owned();
        Group::with_title(Level::HELP.secondary_title(help))
    });
    let renderer = if options.color {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    // Lines are cut beforehand: the renderer would cut lines that fit in order to show a label.
    let renderer = renderer
        .decor_style(DecorStyle::Ascii)
        .term_width(usize::MAX / 4);
    let mut text = if preview.is_empty() {
        groups.extend(help);
        renderer.render(&groups)
    } else {
        let help = help
            .map(|help| renderer.render(&[help]))
            .unwrap_or_default();
        format!("{}\n{preview}{help}", renderer.render(&groups))
    };
    if let Some([shown, real]) = moved {
        text = text.replacen(&shown, &real, 1);
    }
    let style = theme::severity(diagnostic.severity);
    let style = if options.color { style } else { Style::new() };
    fit::mark(&lay_out(&text, label, options.width, style), options.color)
}

/// A label on its own line below the span.
struct Below {
    column: usize,
    text: String,
}

/// Inserts a label below its span, closes the last snippet, and wraps headlines at words.
fn lay_out(text: &str, label: Option<Below>, width: Option<usize>, style: Style) -> String {
    let mut result = String::with_capacity(text.len() + 64);
    let mut label = label;
    let mut bar: Option<&str> = None;
    let mut is_open = false;
    let mut in_title = false;
    let mut is_after_location = false;
    let starts_title = |plain: &str| plain.starts_with(|c: char| c.is_ascii_lowercase());
    // Without a quoted line the renderer leaves no space for line numbers; indent all locations
    // alike.
    let pad = if text
        .lines()
        .any(|line| wrap::plain(line).starts_with("--> "))
    {
        " "
    } else {
        ""
    };
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let plain = wrap::plain(line);
        let is_bar = plain.trim() == "|";
        let is_last = lines
            .peek()
            .is_none_or(|next| starts_title(&wrap::plain(next)));
        // Drop a bar that has no quoted line below it.
        if is_bar && is_last && is_after_location {
            continue;
        }
        is_after_location = plain.trim_start().starts_with("--> ");
        if plain.starts_with("--> ") || is_bar {
            result.push_str(pad);
        }
        // Only headlines start with a letter; everything else has a gutter or continues a headline.
        let is_title = starts_title(&plain);
        in_title = is_title || in_title && !is_bar && !is_after_location;
        is_open = !is_bar && !in_title;
        if is_bar {
            bar.get_or_insert(line);
        }
        match width {
            Some(width) if is_title => {
                let word = plain.bytes().take_while(u8::is_ascii_lowercase).count();
                result.push_str(&wrap::hang(line, width, word + 2));
            }
            Some(width) if in_title => result.push_str(&wrap::hang(line, width, 0)),
            _ => result.push_str(line),
        }
        result.push('\n');
        let is_mark = plain.trim_start().strip_prefix("| ").is_some_and(|rest| {
            let rest = rest.trim();
            !rest.is_empty() && rest.bytes().all(|byte| byte == b'^')
        });
        if let (true, Some(bar), Some(below)) = (is_mark, bar, label.take_if(|_| is_mark)) {
            for line in below.text.lines() {
                result.push_str(&format!(
                    "{bar} {:1$}{style}{line}{style:#}\n",
                    "", below.column
                ));
            }
        }
    }
    if let (true, Some(bar)) = (is_open, bar) {
        result.push_str(bar);
        result.push('\n');
    }
    result
}

/// Returns the finding itself, the label to put below its span, and, if the line is cut, the
/// location as rendered and the real one.
fn primary<'a>(
    report: &FileReport,
    lines: &LineIndex,
    diagnostic: &Diagnostic,
    columns: Option<usize>,
) -> (Group<'a>, Option<Below>, Option<[String; 2]>) {
    let path = sanitize::line(&report.path).into_owned();
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level
        .primary_title(sanitize::line(&diagnostic.message).into_owned())
        .id(diagnostic.rule);
    let Some(span) = diagnostic.span.filter(|_| report.text.is_some()) else {
        return (title.element(Origin::path(path)), None, None);
    };
    let Some(window) = Window::around(report.text(), lines, &[span]) else {
        let at = lines.position(report.text(), span.start as usize);
        let origin = Origin::path(path).line(at.line).char_column(at.column);
        return (title.element(origin), None, None);
    };
    let label = diagnostic
        .label
        .as_ref()
        .map(|label| sanitize::line(label).into_owned());
    let (text, place, below) = window.marked(span, label.as_deref().unwrap_or_default(), columns);
    // The renderer counts columns in the shortened text.
    let at = lines.position(report.text(), span.start as usize);
    let shown = text
        .get(..place.start)
        .and_then(|before| before.rsplit('\n').next());
    let shown = shown.map_or(at.column, |before| before.chars().count() + 1);
    let moved = (shown != at.column)
        .then(|| [shown, at.column].map(|column| format!("{path}:{}:{column}", at.line)));
    let label = label.filter(|_| below.is_none());
    let annotation = AnnotationKind::Primary.span(place).label(label);
    let snippet = Snippet::source(text).line_start(window.line).path(path);
    (title.element(snippet.annotation(annotation)), below, moved)
}

/// Returns the fix, and a preview of the changed lines if the renderer cannot show them.
fn solution<'a>(
    report: &FileReport,
    lines: &LineIndex,
    fix: &Fix,
    columns: Option<usize>,
    color: bool,
) -> Option<(Group<'a>, String)> {
    let title = |title: &str| {
        let suggested = if fix.is_safe() {
            ""
        } else {
            " (suggestion, not applied by `--fix` alone)"
        };
        let title = format!("{}{suggested}", sanitize::line(title));
        Level::HELP.secondary_title(title)
    };
    let named = || {
        let places = wording::count(fix.edits.len(), "place");
        (
            Group::with_title(title(&format!("{} in {places}", fix.title))),
            String::new(),
        )
    };
    // Many small edits are less helpful than the title.
    if fix.edits.len() > MOST_EDITS {
        return Some(named());
    }
    let spans: Vec<Span> = fix.edits.iter().map(|edit| edit.span).collect();
    let window = Window::around(report.text(), lines, &spans)?;
    let Some((text, changes)) = window.changed(fix, columns) else {
        return Some(named());
    };
    let title = title(&fix.title);
    if preview::is_needed(&text, &changes) {
        let lines = preview::lines(&text, &changes, window.line, color);
        return Some((Group::with_title(title), lines));
    }
    let mut snippet = Snippet::source(text).line_start(window.line);
    for change in changes {
        snippet = snippet.patch(Patch::new(change.range, change.new));
    }
    Some((title.element(snippet), String::new()))
}

/// The lines that a set of spans touches.
struct Window<'a> {
    shown: sanitize::VisibleText<'a>,
    line: usize,
    offset: usize,
}

impl<'a> Window<'a> {
    /// Returns the window, or `None` if one of its lines is too long to quote.
    fn around(text: &'a str, lines: &LineIndex, spans: &[Span]) -> Option<Self> {
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
        Some(Self {
            shown: sanitize::visible(quoted),
            line,
            offset,
        })
    }

    /// Returns the text, the range of `span` in it, and the label if it does not fit after the
    /// span. A line is cut only if it is itself too wide.
    fn marked(
        &self,
        span: Span,
        label: &str,
        columns: Option<usize>,
    ) -> (String, Range<usize>, Option<Below>) {
        let (text, range) = (&*self.shown.text, self.inside(span));
        let (Some(before), Some(marked), Some(columns)) =
            (text.get(..range.start), text.get(range.clone()), columns)
        else {
            return (text.to_owned(), range, None);
        };
        let fit_whole = |columns| {
            let change = Change {
                range: range.clone(),
                new: marked.to_owned(),
            };
            match fit::fit(text, &[change], columns) {
                Some((text, changes)) => (
                    text,
                    changes
                        .into_iter()
                        .fold(range.clone(), |_, change| change.range),
                ),
                None => (text.to_owned(), range.clone()),
            }
        };
        if marked.contains('\n') {
            let (text, place) = fit_whole(columns.saturating_sub(BRACKET));
            return (text, place, None);
        }
        let place = fit::width(marked).max(1);
        let room = if label.is_empty() {
            0
        } else {
            fit::width(label) + 1
        };
        let line =
            fit::width(before) + text[range.start..].split('\n').next().map_or(0, fit::width);
        let (text, place) = if line <= columns {
            (text.to_owned(), range)
        } else if place + room + 2 * CONTEXT <= columns {
            fit::excerpt(text, range, room, columns)
        } else if place + 2 * CONTEXT <= columns {
            fit::excerpt(text, range, 0, columns)
        } else {
            fit_whole(columns)
        };
        let start = fit::width(&text[..place.start]);
        let end = start + fit::width(&text[place.clone()]).max(1);
        let below = (room > 0 && end + room > columns).then(|| {
            let lines = wrap::hang(label, columns, 0);
            let widest = lines.lines().map(fit::width).max().unwrap_or(0);
            Below {
                column: start.min(columns.saturating_sub(widest)),
                text: lines,
            }
        });
        (text, place, below)
    }

    /// Returns the text and the changes of a fix, shortened to `columns`; `None` if they cannot be
    /// shown in that width.
    fn changed(&self, fix: &Fix, columns: Option<usize>) -> Option<(String, Vec<Change>)> {
        let mut changes: Vec<Change> = fix
            .edits
            .iter()
            .map(|edit| Change {
                range: self.inside(edit.span),
                new: sanitize::visible(&edit.replacement.replace("\r\n", "\n"))
                    .text
                    .into_owned(),
            })
            .collect();
        let text = &*self.shown.text;
        let Some(columns) = columns else {
            return Some((text.to_owned(), changes));
        };
        changes.sort_by_key(|change| (change.range.start, change.range.end));
        let trimmed: Vec<Change> = changes
            .iter()
            .map(|change| change.clone().trim(text))
            .collect();
        let fitted = fit::fit(text, &trimmed, columns)?;
        // Text that fits is not trimmed.
        Some(if fitted.0 == text && fitted.1 == trimmed {
            (fitted.0, changes)
        } else {
            fitted
        })
    }

    fn inside(&self, span: Span) -> Range<usize> {
        let place = |at: u32| self.shown.place((at as usize).saturating_sub(self.offset));
        place(span.start)..place(span.end)
    }
}

/// The number of skills and folders that a check covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Skills that were checked.
    pub skills: usize,
    /// Skills with findings.
    pub affected: usize,
    /// Folders with findings that are not skills: empty or unreadable ones.
    pub folders: usize,
    /// The word for a skill: `skill`, or `file` if other files were checked too.
    pub noun: &'static str,
}

/// Returns the summary line of a check: the findings, the number of skills, and the flags that fix
/// them.
pub fn summary(counts: crate::FindingCounts, extent: Extent) -> String {
    let kinds = [
        (counts.errors, "error"),
        (counts.warnings, "warning"),
        (counts.notes, "note"),
    ];
    let found = wording::all(
        kinds
            .into_iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, noun)| wording::count(n, noun)),
    );
    let fixable = match (counts.fixable, counts.suggested) {
        (0, 0) => String::new(),
        (safe, 0) => format!(" ({} fixable with `--fix`)", wording::thousands(safe)),
        (0, more) => {
            format!(
                " ({} fixable with `--fix --unsafe-fixes`)",
                wording::thousands(more)
            )
        }
        (safe, more) => format!(
            " ({} fixable with `--fix`, {} more with `--fix --unsafe-fixes`)",
            wording::thousands(safe),
            wording::thousands(more)
        ),
    };
    let skills = wording::count(extent.skills, extent.noun);
    let skills = match extent {
        _ if extent.affected == extent.skills => skills,
        _ => format!("{} of {skills}", wording::thousands(extent.affected)),
    };
    let place = match extent {
        Extent { folders: 0, .. } => skills,
        Extent {
            skills: 0, folders, ..
        } => {
            format!(
                "{}, no skill was checked",
                wording::count(folders, "folder")
            )
        }
        Extent { folders, .. } => {
            format!("{skills} and {}", wording::count(folders, "other folder"))
        }
    };
    format!("{found} in {place}{fixable}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TextEdit;

    const VALUE: &str = "Fills in forms: reads the fields, asks for what is missing, and writes \
        the result next to the original file, with the same name and another ending.";

    /// Renders a finding about the value of a long line, with a fix that quotes the value.
    fn shown(width: Option<usize>, span: Span, label: &'static str) -> String {
        let text = format!("---\nname: forms\ndescription: {VALUE}\n---\n");
        let value = Span::new(29, 29 + VALUE.len());
        assert_eq!(value.of(&text), VALUE);
        let fix = Fix::safe(
            "quote the value",
            vec![TextEdit::replace(value, format!("'{VALUE}'"))],
        );
        let diagnostic = Diagnostic {
            rule: "rule",
            severity: Severity::Error,
            message: "wrong".into(),
            span: Some(span),
            label: Some(label.into()),
            help: None,
            fix: Some(fix),
        };
        let lines = LineIndex::new(&text);
        let report = FileReport {
            path: "SKILL.md".into(),
            text: Some(text.into()),
            diagnostics: vec![diagnostic],
        };
        finding(
            &report,
            &lines,
            &report.diagnostics[0],
            RenderOptions {
                color: false,
                width,
            },
        )
    }

    #[test]
    fn patch_fits_the_terminal_and_shows_the_change() {
        assert_eq!(
            shown(Some(60), Span::new(43, 44), "here"),
            "\
error[rule]: wrong
 --> SKILL.md:3:28
  |
3 | description: Fills in forms: reads the fields, asks for…
  |                            ^ here
  |
help: quote the value
  |
3 - description: Fills in forms: read… and another ending.
3 + description: 'Fills in forms: read… and another ending.'
  |
"
        );
    }

    #[test]
    fn label_without_room_goes_below_the_span() {
        let text = shown(Some(60), Span::new(29, 29 + VALUE.len()), "all of it");
        assert!(
            text.contains(
                "\
3 | description: Fills in forms: reads…e and another ending.
  |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |              all of it
  |
"
            ),
            "{text}"
        );
    }

    /// Renders a finding without a fix about a span inside a short line.
    fn short(width: usize, color: bool, message: &'static str, label: &'static str) -> String {
        let text = "The first words of a line, and `the place`.\n";
        let start = text.find("the place").unwrap();
        let diagnostic = Diagnostic {
            rule: "rule",
            severity: Severity::Warning,
            message: message.into(),
            span: Some(Span::new(start, start + 9)),
            label: Some(label.into()),
            help: None,
            fix: None,
        };
        let report = FileReport {
            path: "a.md".into(),
            text: Some(text.into()),
            diagnostics: vec![diagnostic],
        };
        let lines = LineIndex::new(text);
        let options = RenderOptions {
            color,
            width: Some(width),
        };
        finding(&report, &lines, &report.diagnostics[0], options)
    }

    /// A line that fits is not cut; its label moves below, and to the left if necessary.
    #[test]
    fn label_moves_before_the_line_is_cut() {
        for (width, label) in [
            (
                80,
                "  |                                 ^^^^^^^^^ a label that is long\n",
            ),
            (
                58,
                "  |                                 ^^^^^^^^^\n  |                                 a label that is long\n",
            ),
            (
                50,
                "  |                                 ^^^^^^^^^\n  |                           a label that is long\n",
            ),
        ] {
            let text = short(width, false, "wrong", "a label that is long");
            let line = "1 | The first words of a line, and `the place`.\n";
            assert!(
                text.contains(&format!("{line}{label}  |\n")),
                "{width}:\n{text}"
            );
        }
    }

    #[test]
    fn headlines_wrap_at_words_and_snippets_are_closed() {
        assert_eq!(
            short(
                48,
                false,
                "a message that says more than fits in a line",
                "here"
            ),
            "\
warning[rule]: a message that says more than
         fits in a line
 --> a.md:1:33
  |
1 | The first words of a line, and `the place`.
  |                                 ^^^^^^^^^
  |                                 here
  |
"
        );
    }

    #[test]
    fn finding_without_a_line_has_no_bar() {
        let diagnostic = Diagnostic {
            rule: "rule",
            severity: Severity::Error,
            message: "wrong".into(),
            span: None,
            label: None,
            help: Some("do it".into()),
            fix: None,
        };
        let report = FileReport {
            path: "a".into(),
            text: None,
            diagnostics: vec![diagnostic.clone()],
        };
        let options = RenderOptions {
            color: false,
            width: Some(80),
        };
        assert_eq!(
            finding(&report, &LineIndex::new(""), &diagnostic, options),
            "error[rule]: wrong\n --> a\nhelp: do it\n"
        );
        let diagnostic = Diagnostic {
            help: Some("do it:\nthis: and that".into()),
            ..diagnostic
        };
        for (width, second) in [(80, "this: and that"), (16, "this: and\n      that")] {
            let options = RenderOptions {
                color: false,
                width: Some(width),
            };
            let text = finding(&report, &LineIndex::new(""), &diagnostic, options);
            assert!(
                text.ends_with(&format!("help: do it:\n      {second}\n")),
                "{text}"
            );
        }
    }

    #[test]
    fn cut_mark_is_dim_in_coloured_output() {
        let text = short(40, true, "wrong", "here");
        assert!(text.contains("\u{1b}[2m…\u{1b}[22m"), "{text:?}");
        assert!(
            short(40, false, "wrong", "here").contains("1 | …"),
            "{text}"
        );
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in 40..200 {
            for span in [
                Span::new(29, 29 + VALUE.len()),
                Span::new(43, 44),
                Span::at(150),
            ] {
                let text = shown(Some(width), span, "here");
                let widest = text.lines().map(fit::width).max().unwrap_or(0);
                assert!(widest <= width, "{widest} of {width}:\n{text}");
            }
        }
    }

    /// The location shows the column in the file, whichever part of the line is shown.
    #[test]
    fn cut_line_keeps_its_column() {
        let spans = [
            Span::new(29, 29 + VALUE.len()),
            Span::new(100, 160),
            Span::new(160, 164),
        ];
        for (span, column) in spans.into_iter().zip([14, 85, 145]) {
            for width in 40..200 {
                let text = shown(Some(width), span, "here");
                assert!(
                    text.contains(&format!(" --> SKILL.md:3:{column}\n")),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn summary_counts_folders_separately() {
        let counts = crate::FindingCounts {
            errors: 2,
            ..crate::FindingCounts::default()
        };
        let say = |affected, skills, folders| {
            summary(
                counts,
                Extent {
                    skills,
                    affected,
                    folders,
                    noun: "skill",
                },
            )
        };
        assert_eq!(
            [
                say(1, 1, 0),
                say(2, 2, 0),
                say(2, 3, 0),
                say(1, 3, 1),
                say(0, 0, 1),
                say(0, 0, 2)
            ],
            [
                "2 errors in 1 skill",
                "2 errors in 2 skills",
                "2 errors in 2 of 3 skills",
                "2 errors in 1 of 3 skills and 1 other folder",
                "2 errors in 1 folder, no skill was checked",
                "2 errors in 2 folders, no skill was checked",
            ]
        );
    }

    #[test]
    fn output_that_is_no_terminal_is_not_cut() {
        let text = shown(None, Span::new(29, 29 + VALUE.len()), "here");
        assert!(
            text.contains(&format!("3 - description: {VALUE}\n")),
            "{text}"
        );
        assert!(
            text.contains(&format!("3 + description: '{VALUE}'\n")),
            "{text}"
        );
        assert!(!text.contains('…'), "{text}");
    }

    #[test]
    fn help_wraps_at_words_and_keeps_commands_together() {
        let text = "see why it matters with `prowess explain injection-not-allowed`";
        let shown = |width| wrap::plain(&help(text, width));
        assert_eq!(shown(None), format!("help: {text}\n"));
        let broken =
            "help: see why it matters with\n      `prowess explain injection-not-allowed`\n";
        assert_eq!(shown(Some(60)), broken);
    }
}

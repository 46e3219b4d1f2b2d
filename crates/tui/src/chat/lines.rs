//! Layout of items as lines.

use std::time::Duration;

use prowess_diag::wording::{count, thousands};
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::display::Tone;
use super::item::{Body, CallState, Item, Kind, View};
use super::markdown::markdown;
use super::state::PendingQuestion;
use super::wrap::{chop, cut, wrap};
use crate::{text_prompt, theme};

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Returns the current frame of the spinner.
pub(crate) fn spinner(now: Duration) -> &'static str {
    FRAMES[usize::try_from(now.as_millis() / 100).unwrap_or(0) % FRAMES.len()]
}

/// Returns `true` if an item changes over time.
pub(crate) fn is_moving(item: &Item) -> bool {
    matches!(
        item.kind,
        Kind::Call {
            state: CallState::Running { .. },
            ..
        }
    )
}

/// Lays out an item, preceded by an empty line where that improves readability.
pub(crate) fn item(item: &Item, width: usize, now: Duration) -> Vec<Line<'static>> {
    let indent = "  ".repeat(usize::from(item.depth));
    match &item.kind {
        Kind::Person(text) => {
            let mut lines = vec![Line::default()];
            let style = theme::USER;
            let mut mark = Span::styled("› ", style);
            for line in text.lines() {
                lines.extend(wrap(
                    &[Span::styled(line, theme::BOLD)],
                    width,
                    &mark,
                    &Span::raw("  "),
                ));
                mark = Span::raw("  ");
            }
            lines
        }
        Kind::Model { text, .. } => {
            let mut lines = vec![Line::default()];
            lines.extend(markdown(text.trim_end(), width));
            lines
        }
        Kind::Call { line, state, .. } => call(line, state, &indent, width, now),
        Kind::Line { tone, what, text } => {
            let style = match tone {
                Tone::Good => theme::GOOD,
                Tone::Plain => theme::ACCENT,
                Tone::Warning => theme::WARNING,
                Tone::Bad => theme::BAD,
            };
            let first = Span::raw(format!("{indent}  "));
            let hang = Span::raw(format!("{indent}    "));
            let spans = [
                Span::styled(*what, style),
                Span::raw(": "),
                Span::raw(text.clone()),
            ];
            wrap(&spans, width, &first, &hang)
        }
        Kind::View(shown) => view(shown, width),
    }
}

fn call(
    line: &str,
    state: &CallState,
    indent: &str,
    width: usize,
    now: Duration,
) -> Vec<Line<'static>> {
    let (mark, style, tail) = match state {
        CallState::Waiting => ("·", theme::PLAIN, String::new()),
        CallState::Running { since } => (
            spinner(now),
            theme::ACCENT,
            seconds(now.saturating_sub(*since)),
        ),
        CallState::Done { milliseconds } => ("✓", theme::GOOD, took(*milliseconds)),
        CallState::Refused { .. } => ("✗", theme::BAD, String::new()),
        CallState::Open => ("–", theme::WARNING, "not finished".to_owned()),
    };
    let room =
        width.saturating_sub(indent.len() + 4 + if tail.is_empty() { 0 } else { tail.width() + 2 });
    let mut spans = vec![
        Span::raw(format!("{indent}  ")),
        Span::styled(mark, style),
        Span::raw(format!(" {}", cut(line, room.max(8)))),
    ];
    if !tail.is_empty() {
        spans.push(Span::styled(format!("  {tail}"), theme::DIM));
    }
    let mut lines = vec![Line::from(spans)];
    if let CallState::Refused { why } = state {
        let first = Span::raw(format!("{indent}    "));
        let why = Span::styled(why.clone(), theme::BAD);
        lines.extend(wrap(&[why], width, &first, &first));
    }
    lines
}

/// Lays out a question: the action, its origin and the reason for asking.
pub(crate) fn question(asked: &PendingQuestion, width: usize) -> Vec<Line<'static>> {
    let bar = Span::styled("▌ ", theme::WARNING);
    let who = match (&asked.text, &asked.skill) {
        (Some(text), _) => format!("{} asks:", text.asker),
        (None, Some(skill)) => format!("Allow skill {skill} to do this?"),
        (None, None) => "Allow the model to do this?".to_owned(),
    };
    let mut lines = vec![Line::default()];
    lines.extend(wrap(
        &[Span::styled(who, theme::QUESTION)],
        width,
        &bar,
        &bar,
    ));
    // Every character matters, so nothing is left out and spaces are kept.
    let inner = Span::styled("▌   ", theme::WARNING);
    for line in asked.what.lines() {
        lines.extend(chop(line, theme::BOLD, width, &inner, &inner));
    }
    if let Some(text) = &asked.text {
        for line in asked.why.lines() {
            lines.extend(chop(line, theme::PLAIN, width, &bar, &bar));
        }
        for line in text.choices.lines() {
            lines.extend(chop(line, theme::PLAIN, width, &bar, &inner));
        }
        let what = text_prompt::instruction(&text.details).trim_end_matches(':');
        let how = format!("{what} · Enter answers, Esc declines");
        lines.extend(wrap(&[Span::styled(how, theme::DIM)], width, &bar, &bar));
        return lines;
    }
    let why = [
        Span::styled("why: ", theme::DIM),
        Span::raw(asked.why.clone()),
    ];
    lines.extend(wrap(&why, width, &bar, &inner));
    if let Some(remedy) = &asked.remedy {
        let hint = [
            Span::styled("hint: ", theme::ACCENT),
            Span::raw(remedy.clone()),
        ];
        lines.extend(wrap(&hint, width, &bar, &inner));
    }
    lines
}

/// Lays out the output of a chat command.
pub(crate) fn view(view: &View, width: usize) -> Vec<Line<'static>> {
    let mut lines = vec![
        Line::default(),
        Line::styled(cut(&view.title, width), theme::BOLD),
    ];
    let nothing = Span::raw("");
    match &view.body {
        Body::Text(text) => {
            for line in text.lines() {
                let inner = line.trim_start();
                let indent = line.len() - inner.len();
                let first = Span::raw(" ".repeat(indent.min(width / 3)));
                let hang = Span::raw(" ".repeat((indent + 2).min(width / 3)));
                lines.extend(wrap(&[Span::raw(inner)], width, &first, &hang));
            }
        }
        Body::Pairs(pairs) => {
            let wide = pairs
                .iter()
                .map(|(word, _)| word.width())
                .max()
                .unwrap_or(0);
            // On a narrow screen the description is below the term.
            let beside = wide + 2 + 20 <= width;
            for (word, text) in pairs {
                if beside {
                    let first = Span::styled(format!("  {word:<wide$}  "), theme::ACCENT);
                    let hang = Span::raw(" ".repeat(wide + 4));
                    lines.extend(wrap(&[Span::raw(text.clone())], width, &first, &hang));
                } else {
                    lines.extend(wrap(
                        &[Span::styled(word.clone(), theme::ACCENT)],
                        width,
                        &nothing,
                        &nothing,
                    ));
                    let inner = Span::raw("    ");
                    if !text.is_empty() {
                        lines.extend(wrap(&[Span::raw(text.clone())], width, &inner, &inner));
                    }
                }
            }
        }
        Body::Table { head, rows } => lines.extend(table(head, rows, width)),
    }
    lines
}

fn table(head: &[&'static str], rows: &[Vec<String>], width: usize) -> Vec<Line<'static>> {
    let wide = |at: usize| {
        let cells = rows
            .iter()
            .filter_map(|row| row.get(at))
            .map(|cell| cell.width());
        cells.chain([head[at].width()]).max().unwrap_or(0)
    };
    let columns: Vec<usize> = (0..head.len()).map(wide).collect();
    let total = columns.iter().sum::<usize>() + 2 * columns.len();
    let mut lines = Vec::new();
    if total <= width {
        let pad = |cells: Vec<&str>| -> String {
            let padded = cells.iter().zip(&columns).map(|(cell, wide)| {
                format!("  {cell}{}", " ".repeat(wide.saturating_sub(cell.width())))
            });
            padded.collect::<String>().trim_end().to_owned()
        };
        lines.push(Line::styled(pad(head.to_vec()), theme::DIM));
        for row in rows {
            lines.push(Line::raw(pad(row.iter().map(String::as_str).collect())));
        }
        return lines;
    }
    for row in rows {
        let name = row.first().cloned().unwrap_or_default();
        lines.push(Line::from(vec![
            Span::raw("  "),
            Span::styled(cut(&name, width.saturating_sub(2)), theme::BOLD),
        ]));
        let facts = row
            .iter()
            .zip(head)
            .skip(1)
            .filter(|(cell, _)| !cell.is_empty());
        let facts: Vec<String> = facts
            .map(|(cell, head)| format!("{}: {cell}", head.to_lowercase()))
            .collect();
        let inner = Span::raw("    ");
        lines.extend(wrap(&[Span::raw(facts.join(" · "))], width, &inner, &inner));
    }
    lines
}

/// Returns lines as plain text, for output that is not a terminal.
pub(crate) fn plain(lines: &[Line<'_>]) -> String {
    let mut text: String = lines
        .iter()
        .map(|line| format!("{}\n", line.to_string().trim_end()))
        .collect();
    while text.starts_with('\n') {
        text.remove(0);
    }
    text
}

/// Formats a duration in milliseconds.
pub(crate) fn took(milliseconds: u64) -> String {
    if milliseconds < 10_000 {
        return format!(
            "{} ms",
            thousands(usize::try_from(milliseconds).unwrap_or(usize::MAX))
        );
    }
    seconds(Duration::from_millis(milliseconds))
}

/// Formats a duration in seconds and minutes.
pub(crate) fn seconds(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

/// Formats a cost. Small amounts keep four digits.
pub(crate) fn money(micros: u64) -> String {
    if micros < 1_000_000 {
        format!("${}.{:04}", micros / 1_000_000, micros % 1_000_000 / 100)
    } else {
        format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000)
    }
}

/// Formats a number of tokens.
pub(crate) fn tokens(number: u64) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), "token")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted() {
        assert_eq!(
            [money(0), money(12_345), money(1_234_567)],
            ["$0.0000", "$0.0123", "$1.23"]
        );
        assert_eq!(
            [took(12), took(1_234), took(75_000)],
            ["12 ms", "1,234 ms", "1 min 15 s"]
        );
    }
}

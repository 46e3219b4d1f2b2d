//! Draws the chat. The same state and size give the same screen.

use std::collections::BTreeMap;

use prowess_diag::wording::count;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Color;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use unicode_width::UnicodeWidthStr;

use super::complete::Popup;
use super::lines;
use super::state::ChatState;
use super::wrap::{cut, wrap};
use crate::theme;

/// The maximum number of rows of the input.
const MAX_INPUT: usize = 8;
/// The maximum number of rows of the list of names.
const MAX_POPUP: usize = 6;
/// The maximum width of text, for readability.
const MAX_WIDTH: usize = 120;

/// Cached layouts by item.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    lines: BTreeMap<u64, Laid>,
}

#[derive(Debug)]
struct Laid {
    revision: u32,
    width: usize,
    lines: Vec<Line<'static>>,
    used: bool,
}

/// The result of drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Drawn {
    pub(crate) cursor: Option<Position>,
    pub(crate) total: usize,
    pub(crate) height: usize,
    pub(crate) top: usize,
}

/// Draws the chat.
pub(crate) fn draw(
    state: &ChatState,
    cache: &mut Cache,
    colors: bool,
    area: Rect,
    buffer: &mut Buffer,
) -> Drawn {
    let drawn = draw_all(state, cache, area, buffer);
    if !colors {
        for cell in &mut buffer.content {
            cell.fg = Color::Reset;
            cell.bg = Color::Reset;
        }
    }
    drawn
}

fn draw_all(state: &ChatState, cache: &mut Cache, area: Rect, buffer: &mut Buffer) -> Drawn {
    let height = usize::from(area.height);
    let width = usize::from(area.width);
    if height < 4 || width < 10 {
        Line::raw(cut("too small", width)).render(area, buffer);
        return Drawn {
            cursor: None,
            total: 0,
            height: 0,
            top: 0,
        };
    }
    let (input, cursor) = input(state, width, (height / 2).clamp(1, MAX_INPUT));
    let waiting = waiting(state, width);
    let below = input.len() + waiting.len() + 2;
    let room = height.saturating_sub(below);
    let (total, top) = transcript(state, cache, width, room, area, buffer);
    let mut y = area.y + u16::try_from(room).unwrap_or(0);
    if let Some(popup) = &state.popup
        && state.questions.is_empty()
    {
        draw_popup(popup, Rect { y, ..area }, room, buffer);
    }
    let mut put = |line: Line<'_>, y: &mut u16| {
        if *y < area.bottom() {
            line.render(
                Rect {
                    y: *y,
                    height: 1,
                    ..area
                },
                buffer,
            );
            *y += 1;
        }
    };
    put(
        rule(state, total.saturating_sub(room).saturating_sub(top), width),
        &mut y,
    );
    for line in waiting {
        put(line, &mut y);
    }
    let input_at = y;
    for line in input {
        put(line, &mut y);
    }
    put(status(state, width), &mut y);
    let cursor = cursor.map(|(row, column)| Position {
        x: area.x + u16::try_from(column).unwrap_or(0).min(area.width - 1),
        y: input_at + u16::try_from(row).unwrap_or(0),
    });
    Drawn {
        cursor,
        total,
        height: room,
        top,
    }
}

/// Draws the conversation. Returns the number of lines and the first visible one.
fn transcript(
    state: &ChatState,
    cache: &mut Cache,
    width: usize,
    room: usize,
    area: Rect,
    buffer: &mut Buffer,
) -> (usize, usize) {
    let text_width = width.min(MAX_WIDTH);
    let tail = tail(state, text_width);
    let head = head(state, text_width);
    for laid in cache.lines.values_mut() {
        laid.used = false;
    }
    let mut total = head.len();
    let mut looked_at = None;
    for item in state.items.iter() {
        let fits = cache.lines.get(&item.id).is_some_and(|laid| {
            laid.revision == item.revision && laid.width == text_width && !lines::is_moving(item)
        });
        if !fits {
            let lines = lines::item(item, text_width, state.now);
            let laid = Laid {
                revision: item.revision,
                width: text_width,
                lines,
                used: true,
            };
            cache.lines.insert(item.id, laid);
        }
        if state.look_at == Some(item.id) {
            looked_at = Some(total);
        }
        if let Some(laid) = cache.lines.get_mut(&item.id) {
            laid.used = true;
            total += laid.lines.len();
        }
    }
    cache.lines.retain(|_, laid| laid.used);
    // A long question is shown from its start.
    if !state.questions.is_empty() {
        looked_at = Some(total);
    }
    total += tail.len();
    let last = total.saturating_sub(room);
    let top = state.top.or(looked_at).unwrap_or(last).min(last);
    let laid = state
        .items
        .iter()
        .filter_map(|item| cache.lines.get(&item.id));
    let all = head
        .iter()
        .chain(laid.flat_map(|laid| &laid.lines))
        .chain(&tail);
    for (row, line) in all.skip(top).take(room).enumerate() {
        let y = area.y + u16::try_from(row).unwrap_or(0);
        line.render(
            Rect {
                y,
                height: 1,
                ..area
            },
            buffer,
        );
    }
    (total, top)
}

/// Returns the lines above the conversation.
fn head(state: &ChatState, width: usize) -> Vec<Line<'static>> {
    let dropped = state.items.dropped();
    if dropped > 0 {
        let what = count(dropped, "earlier part");
        let text = format!(
            "… {what} not shown; see `prowess session show {}`",
            state.session
        );
        return vec![Line::styled(cut(&text, width), theme::DIM)];
    }
    let nothing = Span::raw("");
    let title = [
        Span::styled("Prowess", theme::BOLD),
        Span::styled(" chat", theme::DIM),
    ];
    let mut lines = vec![Line::from(title.to_vec())];
    for text in &state.facts.about {
        lines.extend(wrap(
            &[Span::styled(text.as_str(), theme::DIM)],
            width,
            &nothing,
            &nothing,
        ));
    }
    let text = "Type a message, or / for skills and commands.";
    lines.extend(wrap(
        &[Span::styled(text, theme::DIM)],
        width,
        &nothing,
        &nothing,
    ));
    lines
}

/// Returns the lines below the conversation: a question or the current work.
fn tail(state: &ChatState, width: usize) -> Vec<Line<'static>> {
    if let Some((asked, _)) = state.question() {
        return lines::question(asked, width);
    }
    let Some(running) = &state.running else {
        return Vec::new();
    };
    let since = state.now.saturating_sub(running.since);
    let text = format!(" {} · {}", running.doing, lines::seconds(since));
    let stop = if running.cancelled {
        ""
    } else {
        " · Ctrl+C stops"
    };
    let line = Line::from(vec![
        Span::styled(lines::spinner(state.now), theme::ACCENT),
        Span::styled(
            cut(&format!("{text}{stop}"), width.saturating_sub(1)),
            theme::DIM,
        ),
    ]);
    vec![Line::default(), line]
}

/// Returns the line above the input: a hint or the number of hidden lines.
fn rule(state: &ChatState, below: usize, width: usize) -> Line<'static> {
    let (word, style) = match (state.hint(), below) {
        (Some(hint), _) => (format!(" {hint} "), theme::WARNING),
        (None, 0) => (String::new(), theme::DIM),
        (None, below) => {
            let key = if state.questions.is_empty() {
                "Ctrl+End"
            } else {
                "PageDown"
            };
            (
                format!(" {} below · {key} ", count(below, "line")),
                theme::ACCENT,
            )
        }
    };
    let word = cut(&word, width.saturating_sub(4));
    let left = 2.min(width);
    let right = width.saturating_sub(left + word.width());
    Line::from(vec![
        Span::styled("─".repeat(left), theme::DIM),
        Span::styled(word, style),
        Span::styled("─".repeat(right), theme::DIM),
    ])
}

/// Returns the messages that wait for the end of the turn.
fn waiting(state: &ChatState, width: usize) -> Vec<Line<'static>> {
    let line = |text: &String| {
        let first = text.lines().next().unwrap_or_default();
        Line::styled(cut(&format!("  waiting: {first}"), width), theme::DIM)
    };
    let mut lines: Vec<_> = state.queue.iter().take(3).map(line).collect();
    if state.queue.len() > 3 {
        lines.push(Line::styled(
            format!("  and {} more", state.queue.len() - 3),
            theme::DIM,
        ));
    }
    lines
}

type Place = (usize, usize);

/// Returns the input, or the keys that answer a question.
fn input(state: &ChatState, width: usize, most: usize) -> (Vec<Line<'static>>, Option<Place>) {
    let (mark, editor) = match state.question() {
        Some((asked, armed)) if asked.text.is_none() => {
            return (vec![keys(state.questions.len(), armed, width)], None);
        }
        Some(_) => (Span::styled("? ", theme::QUESTION), &state.answer),
        None => (Span::styled("› ", theme::USER), &state.editor),
    };
    let (rows, (row, column)) = editor.rows(width.saturating_sub(3));
    let top = (row + 1).saturating_sub(most);
    let shown = rows
        .into_iter()
        .enumerate()
        .skip(top)
        .take(most)
        .map(|(at, text)| {
            let lead = if at == 0 {
                mark.clone()
            } else {
                Span::raw("  ")
            };
            Line::from(vec![lead, Span::raw(text)])
        });
    (shown.collect(), Some((row - top, column + 2)))
}

fn keys(open: usize, armed: bool, width: usize) -> Line<'static> {
    let style = if armed { theme::QUESTION } else { theme::DIM };
    let mut spans = Vec::new();
    let choices: [(&str, &str); 3] = if width >= 44 {
        [("y", " once  "), ("s", " for this session  "), ("n", " no")]
    } else {
        [("y", " once "), ("s", " session "), ("n", " no")]
    };
    for (key, means) in choices {
        spans.push(Span::styled(key, style));
        spans.push(Span::styled(
            means,
            if armed { theme::PLAIN } else { theme::DIM },
        ));
    }
    if open > 1 && width >= 44 {
        spans.push(Span::styled(
            format!("   and {} more", open - 1),
            theme::DIM,
        ));
    }
    Line::from(spans)
}

fn draw_popup(popup: &Popup, below: Rect, room: usize, buffer: &mut Buffer) {
    let most = MAX_POPUP.min(room);
    let count = popup.choices.len().min(most);
    let first = (popup.selected + 1).saturating_sub(count);
    let width = usize::from(below.width);
    let wide = popup
        .choices
        .iter()
        .map(|name| name.name.width())
        .max()
        .unwrap_or(0)
        .min(width / 2);
    for (row, (at, name)) in popup
        .choices
        .iter()
        .enumerate()
        .skip(first)
        .take(count)
        .enumerate()
    {
        let y = below.y - u16::try_from(count - row).unwrap_or(0);
        let chosen = at == popup.selected;
        let style = if chosen {
            theme::SELECTED
        } else {
            theme::PLAIN
        };
        let shown = cut(&name.name, wide);
        let pad = " ".repeat(wide.saturating_sub(shown.width()));
        let text = format!(
            "{} {}{shown}{pad}  {}",
            if chosen { ">" } else { " " },
            popup.mark,
            name.about
        );
        let text = cut(&text, width);
        let text = format!("{text}{}", " ".repeat(width.saturating_sub(text.width())));
        Line::styled(text, style).render(
            Rect {
                y,
                height: 1,
                ..below
            },
            buffer,
        );
    }
}

/// Returns the status line. The least important parts are dropped if it is too long.
fn status(state: &ChatState, width: usize) -> Line<'static> {
    let facts = &state.facts;
    let skills = match facts.skills.as_slice() {
        [] => None,
        names => Some(names.join(", ")),
    };
    let few = (!facts.skills.is_empty()).then(|| count(facts.skills.len(), "skill"));
    let turns = (facts.turns > 0).then(|| count(facts.turns as usize, "turn"));
    let tokens = (facts.turns > 0).then(|| lines::tokens(facts.usage.tokens()));
    let cost = facts.usage.micros.map(lines::money);
    let background = (facts.background > 0).then(|| format!("{} in background", facts.background));
    let model = Some(facts.model.clone()).filter(|model| !model.is_empty());
    let short = model
        .as_ref()
        .map(|model| model.rsplit('/').next().unwrap_or(model).to_owned());
    let variants: [Vec<&Option<String>>; 7] = [
        vec![&model, &turns, &tokens, &cost, &skills, &background],
        vec![&model, &turns, &tokens, &cost, &few, &background],
        vec![&short, &turns, &tokens, &cost, &few, &background],
        vec![&short, &tokens, &cost, &few, &background],
        vec![&short, &cost, &few, &background],
        vec![&short, &cost, &background],
        vec![&short, &background],
    ];
    let texts = variants.iter().map(|parts| {
        parts
            .iter()
            .filter_map(|part| part.as_deref())
            .collect::<Vec<_>>()
            .join(" · ")
    });
    let texts: Vec<String> = texts.collect();
    let text = texts
        .iter()
        .find(|text| text.width() < width)
        .or(texts.last());
    let text = cut(text.map_or("", String::as_str), width);
    let mut spans = vec![Span::styled(text.clone(), theme::DIM)];
    let help = "/help";
    if text.width() + help.len() + 3 <= width {
        spans.push(Span::raw(" ".repeat(width - text.width() - help.len())));
        spans.push(Span::styled(help, theme::DIM));
    }
    Line::from(spans)
}

//! Shortens lines to the width of the terminal and keeps the important part visible.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};
use unicode_width::UnicodeWidthChar;

/// Placeholder for omitted text until the layout is done. A private-use character, so that no text
/// of a skill is mistaken for it.
const GAP: char = '\u{10fffd}';
/// The visible mark for omitted text.
const MARK: &str = "…";
/// The same mark, dimmed, for coloured output. Only dimming is reset afterwards, because the mark
/// may be inside a coloured line.
const DIM_MARK: &str = "\u{1b}[2m…\u{1b}[22m";
/// Minimum width of a shortened piece; shorter pieces carry no information.
const LEAST: usize = 8;

/// Replaces the placeholders with visible marks.
pub(super) fn mark(text: &str, color: bool) -> String {
    text.replace(GAP, if color { DIM_MARK } else { MARK })
}

/// A range of a text to keep visible, and its replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// The replaced range.
    pub(super) range: Range<usize>,
    /// The new text.
    pub(super) new: String,
}

impl Change {
    /// Removes the common prefix and suffix.
    pub(super) fn trim(self, text: &str) -> Self {
        let old = text.get(self.range.clone()).unwrap_or_default();
        let same = |(a, b): &(char, char)| a == b;
        let length = |pair: (char, char)| pair.0.len_utf8();
        let before: usize = old
            .chars()
            .zip(self.new.chars())
            .take_while(same)
            .map(length)
            .sum();
        let (old, new) = (&old[before..], &self.new[before..]);
        let after: usize = old
            .chars()
            .rev()
            .zip(new.chars().rev())
            .take_while(same)
            .map(length)
            .sum();
        Self {
            range: self.range.start + before..self.range.end - after,
            new: new[..new.len() - after].to_owned(),
        }
    }

    /// Splits a change into smaller ones at long unchanged pieces.
    fn refine(&self, text: &str) -> Vec<Self> {
        let old = text.get(self.range.clone()).unwrap_or_default();
        let ends = |text: &str| -> Vec<usize> {
            text.char_indices()
                .map(|(at, _)| at)
                .chain([text.len()])
                .collect()
        };
        let (old_at, new_at) = (ends(old), ends(&self.new));
        let (from, to): (Vec<char>, Vec<char>) =
            (old.chars().collect(), self.new.chars().collect());
        let mut parts: Vec<Self> = Vec::new();
        let (mut start, mut begun) = (0, 0);
        let mut part = |end: usize, made: usize, next: usize, next_made: usize| {
            parts.push(Self {
                range: self.range.start + old_at[start]..self.range.start + old_at[end],
                new: self.new[new_at[begun]..new_at[made]].to_owned(),
            });
            (start, begun) = (next, next_made);
        };
        for operation in capture_diff_slices(Algorithm::Myers, &from, &to) {
            if let DiffOp::Equal {
                old_index,
                new_index,
                len,
            } = operation
                && len > 2 * LEAST
            {
                part(old_index, new_index, old_index + len, new_index + len);
            }
        }
        part(from.len(), to.len(), 0, 0);
        parts
    }
}

/// Cuts a line to `columns` and keeps `place`, plus `room` columns after it, visible. `place` and
/// `room` together must be at least two columns narrower than `columns`. Returns the line and the
/// range of `place` in it.
pub(super) fn excerpt(
    line: &str,
    place: Range<usize>,
    room: usize,
    columns: usize,
) -> (String, Range<usize>) {
    let end = line.trim_end_matches(['\n', '\r']).len();
    let (before, marked) = (&line[..place.start], &line[place.clone()]);
    let (start, needed) = (width(before), width(marked) + room);
    if start + needed < columns {
        // The beginning of a line carries most information.
        let rest = head(&line[place.end..end], columns - 1 - start - width(marked));
        return (format!("{before}{marked}{rest}{GAP}"), place);
    }
    let after = width(&line[place.end..end]);
    let spare = columns.saturating_sub(needed + 2);
    // Show as much before as after; space that one side does not need goes to the other.
    let (rest, cut) = if after <= room + spare / 2 {
        (&line[place.end..end], 0)
    } else {
        (
            head(&line[place.end..end], room + spare / 2),
            GAP.len_utf8(),
        )
    };
    let left = columns - 1 - usize::from(cut > 0) - width(marked) - width(rest).max(room);
    let left = tail(before, left);
    let start = GAP.len_utf8() + left.len();
    let mut text = format!("{GAP}{left}{marked}{rest}");
    text.extend((cut > 0).then_some(GAP));
    (text, start..start + marked.len())
}

/// Shortens a text and its changes until no line, old or new, is wider than `columns`.
///
/// Returns `None` if a line has too many changes to show them. The changes must be sorted and must
/// not overlap. If a change keeps most of the text it replaces, both are cut at the same column.
pub(super) fn fit(text: &str, changes: &[Change], columns: usize) -> Option<(String, Vec<Change>)> {
    let refined: Vec<Vec<Change>> = changes.iter().map(|change| change.refine(text)).collect();
    let (shown, parts) = fit_parts(text, &refined.concat(), columns)?;
    let mut parts = parts.into_iter();
    let merged = refined.iter().map(|group| {
        let parts: Vec<Change> = parts.by_ref().take(group.len()).collect();
        let start = parts.first().map_or(0, |part| part.range.start);
        let (mut at, mut new) = (start, String::new());
        for part in parts {
            new.push_str(&shown[at..part.range.start]);
            new.push_str(&part.new);
            at = part.range.end;
        }
        Change {
            range: start..at,
            new,
        }
    });
    let merged = merged.collect();
    Some((shown, merged))
}

fn fit_parts(text: &str, changes: &[Change], columns: usize) -> Option<(String, Vec<Change>)> {
    let mut pieces = Vec::new();
    let mut from = 0;
    for change in changes {
        pieces.push((text.get(from..change.range.start)?, None));
        pieces.push((text.get(change.range.clone())?, Some(change.new.as_str())));
        from = change.range.end;
    }
    pieces.push((text.get(from..)?, None));
    let old = widths(pieces.iter().map(|(old, _)| *old));
    let new = widths(pieces.iter().map(|(old, new)| new.unwrap_or(old)));
    let fits = |limit: usize| {
        let width = |line: &Vec<usize>| line.iter().map(|width| *width.min(&limit)).sum::<usize>();
        old.iter().chain(&new).all(|line| width(line) <= columns)
    };
    let limit = if fits(usize::MAX) {
        usize::MAX
    } else {
        (LEAST..=columns).rev().find(|&limit| fits(limit))?
    };
    let mut result = String::new();
    let mut fitted = Vec::with_capacity(changes.len());
    for (index, (old, new)) in pieces.iter().enumerate() {
        let start = result.len();
        // After the last change, keep the beginning; elsewhere keep both ends.
        let is_last = index + 1 == pieces.len();
        result.push_str(&shorten(old, limit, new.is_none(), is_last));
        fitted.extend(new.map(|new| Change {
            range: start..result.len(),
            new: shorten(new, limit, false, false),
        }));
    }
    Some((result, fitted))
}

/// Returns the width in columns.
pub(super) fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// Returns, for each line, the widths of its pieces.
fn widths<'a>(pieces: impl Iterator<Item = &'a str>) -> Vec<Vec<usize>> {
    let mut lines = vec![Vec::new()];
    for piece in pieces {
        for (index, part) in piece.split('\n').enumerate() {
            if index > 0 {
                lines.push(Vec::new());
            }
            if let Some(line) = lines.last_mut() {
                line.push(width(part));
            }
        }
    }
    lines
}

/// Shortens each line of a piece: at its end if no further change follows on the line, else in the
/// middle.
fn shorten(piece: &str, limit: usize, is_kept: bool, is_last: bool) -> String {
    let last = piece.split('\n').count() - 1;
    let parts = piece.split('\n').enumerate().map(|(index, part)| {
        let room = limit.saturating_sub(1);
        if width(part) <= limit {
            part.to_owned()
        } else if is_kept && (index < last || is_last) {
            format!("{}{GAP}", head(part, room))
        } else {
            format!(
                "{}{GAP}{}",
                head(part, room.div_ceil(2)),
                tail(part, room / 2)
            )
        }
    });
    parts.collect::<Vec<_>>().join("\n")
}

fn head(text: &str, columns: usize) -> &str {
    &text[..reach(text.chars(), columns)]
}

fn tail(text: &str, columns: usize) -> &str {
    &text[text.len() - reach(text.chars().rev(), columns)..]
}

/// Returns the number of bytes of the leading characters that fit into `columns`.
fn reach(characters: impl Iterator<Item = char>, columns: usize) -> usize {
    let mut taken = 0;
    characters
        .take_while(|&c| {
            taken += char_width(c);
            taken <= columns
        })
        .map(char::len_utf8)
        .sum()
}

/// Returns the width of a character; a tab counts as four spaces.
fn char_width(c: char) -> usize {
    if c == '\t' { 4 } else { c.width().unwrap_or(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses changes written as `[old|new]`.
    fn check(text: &str, columns: usize, expected: Option<&str>) {
        let (mut plain, mut changes) = (String::new(), Vec::new());
        for piece in text.split_inclusive(']') {
            match piece.split_once('[') {
                None => plain.push_str(piece),
                Some((kept, change)) => {
                    let (old, new) = change.trim_end_matches(']').split_once('|').unwrap();
                    plain.push_str(kept);
                    let range = plain.len()..plain.len() + old.len();
                    changes.push(Change {
                        range,
                        new: new.to_owned(),
                    });
                    plain.push_str(old);
                }
            }
        }
        let shown = fit(&plain, &changes, columns).map(|(text, changes)| {
            let mut shown = text.clone();
            for change in changes.iter().rev() {
                let old = &text[change.range.clone()];
                shown.replace_range(change.range.clone(), &format!("[{old}|{}]", change.new));
            }
            mark(&shown, false)
        });
        assert_eq!(shown.as_deref(), expected, "{text}");
    }

    #[test]
    fn fitting_text_is_untouched() {
        check("name: [a|b]\nrest", 7, Some("name: [a|b]\nrest"));
    }

    #[test]
    fn text_far_from_the_change_is_cut() {
        check(
            "one two three four five [a|b] six",
            20,
            Some("one two…r five [a|b] six"),
        );
        check(
            "one [a|b] two three four five six",
            20,
            Some("one [a|b] two three fou…"),
        );
        check(
            "key: [|']one two three four five six[|']\n",
            20,
            Some("key: [|']one tw…ve six[|']\n"),
        );
    }

    #[test]
    fn long_changes_keep_both_ends() {
        check(
            "k: [one two three four five|'one two three four five']",
            16,
            Some("k: [one t… five|'one t… five']"),
        );
    }

    #[test]
    fn each_line_is_measured_separately() {
        check(
            "short\n[|key: value\n]short\n",
            10,
            Some("short\n[|key: value\n]short\n"),
        );
        check(
            "one two three four\n[a|b]\n",
            10,
            Some("one two t…\n[a|b]\n"),
        );
        check(
            "[a|one two three four\nb]\n",
            10,
            Some("[a|one t…four\nb]\n"),
        );
    }

    #[test]
    fn wide_characters_count_two_columns() {
        check("技能技能技能[a|b]", 11, Some("技能…技能[a|b]"));
    }

    #[test]
    fn too_many_changes_on_a_line_are_not_shown() {
        check(
            "one two three [a|b] four five six [a|b] seven eight nine",
            20,
            None,
        );
    }

    #[test]
    fn common_prefix_and_suffix_are_trimmed() {
        let trimmed = |old: &str, new: &str| {
            let change = Change {
                range: 1..1 + old.len(),
                new: new.to_owned(),
            };
            let change = change.trim(&format!("-{old}-"));
            (change.range, change.new)
        };
        assert_eq!(trimmed("one two", "one 2 two"), (5..5, "2 ".to_owned()));
        assert_eq!(trimmed("é", "è"), (1..3, "è".to_owned()));
        assert_eq!(trimmed("aa", "aaa"), (3..3, "a".to_owned()));
        assert_eq!(trimmed("same", "same"), (5..5, String::new()));
    }
}

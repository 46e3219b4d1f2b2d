//! Compares the lines of two texts within a limit of work.

use std::collections::HashMap;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// The usual limit of work for all texts that one command compares, in compared lines.
pub const USUAL_WORK: u64 = 20_000_000;

/// Returns the changes between two lists of lines. `work` is the number of lines that may still be
/// compared, and is reduced. Without enough of it, everything between the first and the last difference
/// counts as replaced.
pub fn line_changes(old: &[&str], new: &[&str], work: &mut u64) -> Vec<DiffOp> {
    // Equal lines have equal numbers, which are compared faster.
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    for line in old.iter().chain(new) {
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        numbers.entry(line).or_insert(next);
    }
    let numbered = |lines: &[&str]| -> Vec<u32> {
        let numbers = lines.iter().filter_map(|line| numbers.get(line));
        numbers.copied().collect()
    };
    let (old, new) = (numbered(old), numbered(new));
    let whole = replacement(&old, &new);
    let Some((old_middle, new_middle)) = middle(&whole, &old, &new) else {
        return whole;
    };
    let before = *work;
    if !is_near(old_middle, new_middle, work) {
        return whole;
    }
    // The changes themselves take about twice the work of their number.
    let used = before.saturating_sub(*work).saturating_mul(2);
    if *work < used {
        *work = 0;
        return whole;
    }
    *work -= used;
    capture_diff_slices(Algorithm::Myers, &old, &new)
}

/// Returns the lines between the first and the last difference. `None` if there are no differences.
fn middle<'l>(whole: &[DiffOp], old: &'l [u32], new: &'l [u32]) -> Option<(&'l [u32], &'l [u32])> {
    let changed = whole
        .iter()
        .find(|change| matches!(change, DiffOp::Replace { .. }))?;
    Some((old.get(changed.old_range())?, new.get(changed.new_range())?))
}

/// Returns one replacement of everything between the first and the last difference.
fn replacement(old: &[u32], new: &[u32]) -> Vec<DiffOp> {
    let same = |(a, b): &(&u32, &u32)| a == b;
    let before = old.iter().zip(new).take_while(same).count();
    let (old_rest, new_rest) = (&old[before..], &new[before..]);
    let after = old_rest
        .iter()
        .rev()
        .zip(new_rest.iter().rev())
        .take_while(same)
        .count();
    let (old_len, new_len) = (old_rest.len() - after, new_rest.len() - after);
    if old_len + new_len == 0 {
        return Vec::new();
    }
    vec![
        DiffOp::Equal {
            old_index: 0,
            new_index: 0,
            len: before,
        },
        DiffOp::Replace {
            old_index: before,
            old_len,
            new_index: before,
            new_len,
        },
        DiffOp::Equal {
            old_index: before + old_len,
            new_index: before + new_len,
            len: after,
        },
    ]
}

/// Returns `true` if the least number of changes is found within the work. Myers' algorithm, forwards,
/// without a record of the way: the work grows with the square of the number of changes.
fn is_near(old: &[u32], new: &[u32], work: &mut u64) -> bool {
    let (rows, columns) = (old.len(), new.len());
    let most = rows + columns;
    // The furthest row on each diagonal, `row - column + most`.
    let mut furthest = vec![0_usize; 2 * most + 2];
    for distance in 0..=most {
        let mut diagonal = most - distance;
        while diagonal <= most + distance {
            let is_down = diagonal == most - distance
                || (diagonal != most + distance && furthest[diagonal - 1] < furthest[diagonal + 1]);
            // On a diagonal, `row` is the place in `old`, and `row + most - diagonal` that in `new`.
            let mut row = if is_down && distance > 0 {
                furthest[diagonal + 1]
            } else if distance > 0 {
                furthest[diagonal - 1] + 1
            } else {
                0
            };
            let start = row;
            while row < rows
                && (row + most)
                    .checked_sub(diagonal)
                    .is_some_and(|column| column < columns && old[row] == new[column])
            {
                row += 1;
            }
            let steps = (row - start) as u64 + 1;
            if *work < steps {
                *work = 0;
                return false;
            }
            *work -= steps;
            furthest[diagonal] = row;
            if row >= rows && row + most >= diagonal + columns {
                return true;
            }
            diagonal += 2;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(old: &str, new: &str, work: &mut u64) -> Vec<(usize, usize)> {
        let [old, new] = [old, new].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
        let changes = line_changes(&old, &new, work).into_iter();
        changes
            .filter(|change| !matches!(change, DiffOp::Equal { .. }))
            .map(|change| (change.old_range().len(), change.new_range().len()))
            .collect()
    }

    #[test]
    fn changes_are_found_within_the_work() {
        let mut work = USUAL_WORK;
        assert_eq!(changed("a\nb\nc\n", "a\nb\nc\n", &mut work), []);
        assert_eq!(
            changed("a\nb\nc\n", "x\nb\ny\n", &mut work),
            [(1, 1), (1, 1)]
        );
        assert_eq!(changed("", "a\nb\n", &mut work), [(0, 2)]);
        assert_eq!(changed("a\nb\n", "", &mut work), [(2, 0)]);
        assert_eq!(changed("a\nb\n", "b\n", &mut work), [(1, 0)]);
        assert!(work < USUAL_WORK);
    }

    #[test]
    fn texts_without_common_order_count_as_replaced() {
        // Numbers below 300 in an order that the other text does not have.
        let lines = |seed: u64| {
            let mut state = seed;
            let lines = (0..19_000).map(move |_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                format!("{}\n", (state >> 33) % 300)
            });
            lines.collect::<String>()
        };
        let mut work = USUAL_WORK;
        let (old, new) = (format!("a\n{}z\n", lines(1)), format!("a\n{}z\n", lines(2)));
        let changes = changed(&old, &new, &mut work);
        assert_eq!(changes.len(), 1, "{} changes", changes.len());
        assert!(changes[0].0 > 18_000);
        // Later texts are not compared any more.
        assert_eq!(
            (changed("a\nb\nc\n", "x\nb\ny\n", &mut work), work),
            (vec![(3, 3)], 0)
        );
    }
}

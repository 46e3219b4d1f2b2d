//! "Did you mean": the nearest known word.

/// Returns the candidate nearest to `word`, if one is near enough to be a slip of the finger.
///
/// Case, hyphens, underscores and spaces do not count; beyond that at most a third of the word
/// may differ, counting swapped neighbours as one difference.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_within(word, candidates, 3)
}

/// Like [`nearest`], where at most one character in `share` may differ.
pub fn nearest_within<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    share: usize,
) -> Option<&'a str> {
    // A word this long was not mistyped, and the comparison is quadratic in its length.
    const LONGEST: usize = 80;
    let folded = fold(word);
    if folded.is_empty() || folded.len() > LONGEST {
        return None;
    }
    let limit = (folded.len() / share.max(1)).clamp(1, 3);
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let distance = distance(&folded, &fold(candidate));
            // A distance as long as the word means nothing is left of it.
            (distance <= limit && distance < folded.len()).then_some((distance, candidate))
        })
        .min()
        .map(|(_, candidate)| candidate)
}

/// Lower-case letters and digits only.
fn fold(word: &str) -> Vec<char> {
    word.chars()
        .filter(|c| !matches!(c, '-' | '_' | ' '))
        .flat_map(char::to_lowercase)
        .collect()
}

/// Optimal string alignment distance.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &y) in b.iter().enumerate() {
            let mut best = (last[j] + usize::from(x != y))
                .min(last[j + 1] + 1)
                .min(row[j] + 1);
            let swapped = i > 0 && j > 0 && x == b[j - 1] && a[i - 1] == y;
            if swapped {
                best = best.min(before_last[j - 1] + 1);
            }
            row.push(best);
        }
        before_last = last;
        last = row;
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [&str; 5] = [
        "name",
        "description",
        "allowed-tools",
        "user-invocable",
        "when_to_use",
    ];

    #[test]
    fn slips_find_their_word() {
        for (typed, meant) in [
            ("Name", "name"),
            ("desciption", "description"),
            ("decsription", "description"),
            ("allowed_tools", "allowed-tools"),
            ("allowedTools", "allowed-tools"),
            ("user-invokable", "user-invocable"),
            ("whenToUse", "when_to_use"),
        ] {
            assert_eq!(nearest(typed, KEYS), Some(meant), "{typed}");
        }
    }

    #[test]
    fn other_words_find_nothing() {
        for typed in ["version", "tags", "author", "", "-", "x", &"y".repeat(500)] {
            assert_eq!(nearest(typed, KEYS), None, "{typed}");
        }
    }
}

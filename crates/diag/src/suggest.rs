//! Finds the nearest known word, for "did you mean" hints.

/// Returns the candidate nearest to `word`, if it is near enough to be a typo.
///
/// Case, hyphens, underscores and spaces are ignored. Beyond that, at most a third of the word may
/// differ; two swapped neighbours count as one difference.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_within(word, candidates, 3)
}

/// Works like [`nearest`], but at most one character in `share` may differ.
pub fn nearest_within<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    share: usize,
) -> Option<&'a str> {
    nearest_by(
        word,
        candidates.into_iter(),
        share,
        |candidate| candidate,
        letters,
    )
}

/// Works like [`nearest_within`], for candidates whose [`letters`] are already computed.
pub fn nearest_known<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = (&'a str, u32)>,
    share: usize,
) -> Option<&'a str> {
    nearest_by(
        word,
        candidates.into_iter(),
        share,
        |(text, _)| text,
        |(_, letters)| letters,
    )
}

fn nearest_by<'a, T: Copy>(
    word: &str,
    candidates: impl Iterator<Item = T>,
    share: usize,
    text: impl Fn(T) -> &'a str,
    letters_of: impl Fn(T) -> u32,
) -> Option<&'a str> {
    // Most words have no near candidate, so fold `word` only when one passes the cheap checks.
    let mut folded = None;
    let wanted = if word.is_ascii() {
        word.bytes()
            .filter(|byte| !matches!(byte, b'-' | b'_' | b' '))
            .count()
    } else {
        folded.insert(Folded::of(word)?).length
    };
    let present = letters(word);
    let limit = (wanted / share.max(1)).clamp(1, 3);
    let mut best: Option<(usize, &str)> = None;
    for known in candidates {
        let candidate = text(known);
        if candidate.len() + limit < wanted {
            continue;
        }
        // An edit adds or removes at most one letter, so comparing letter sets rejects most
        // candidates.
        let other = letters_of(known);
        if has_more_than(limit, present & !other) || has_more_than(limit, other & !present) {
            continue;
        }
        // Folding removes a few hyphens at most.
        if candidate.len() > wanted + limit + MOST_HYPHENS && candidate.is_ascii() {
            continue;
        }
        if folded.is_none() {
            folded = Some(Folded::of(word)?);
        }
        let (Some(folded), Some(other)) = (&folded, Folded::of(candidate)) else {
            continue;
        };
        if other.length.abs_diff(wanted) > limit {
            continue;
        }
        let distance = distance(folded.letters(), other.letters());
        // A distance equal to the length of the word leaves nothing in common.
        let is_near = distance <= limit && distance < wanted;
        if is_near && best.is_none_or(|best| (distance, candidate) < best) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Returns `true` if more than `count` bits are set. Faster than `count_ones` for small counts.
fn has_more_than(count: usize, bits: u32) -> bool {
    (0..count).fold(bits, |bits, _| bits & bits.wrapping_sub(1)) != 0
}

/// Returns the set of ASCII letters and digits in a word as bits. Other characters set no bit.
pub const fn letters(word: &str) -> u32 {
    let (mut bits, mut at) = (0, 0);
    while at < word.len() {
        bits |= BITS[word.as_bytes()[at] as usize];
        at += 1;
    }
    bits
}

/// The bit for each byte.
const BITS: [u32; 256] = {
    let (mut bits, mut byte) = ([0; 256], 0_u8);
    while byte < 0x80 {
        if byte.is_ascii_alphanumeric() {
            bits[byte as usize] = 1 << (byte & 31);
        }
        byte += 1;
    }
    bits
};

/// Longer words are not compared: the comparison is quadratic in their length.
const LONGEST: usize = 64;
/// Maximum number of hyphens and similar characters in a known word.
const MOST_HYPHENS: usize = 4;

/// The lower-case letters and digits of a word. Stored inline: thousands of words are compared with
/// dozens of candidates.
struct Folded {
    letters: [char; LONGEST],
    length: usize,
}

impl Folded {
    /// Folds a word. Returns `None` if the result is empty or too long.
    fn of(word: &str) -> Option<Self> {
        let mut folded = Self {
            letters: ['\0'; LONGEST],
            length: 0,
        };
        let kept = word.chars().filter(|c| !matches!(c, '-' | '_' | ' '));
        for c in kept {
            if c.is_ascii() {
                folded.push(c.to_ascii_lowercase())?;
            } else {
                c.to_lowercase().try_for_each(|c| folded.push(c))?;
            }
        }
        (folded.length > 0).then_some(folded)
    }

    fn push(&mut self, c: char) -> Option<()> {
        *self.letters.get_mut(self.length)? = c;
        self.length += 1;
        Some(())
    }

    fn letters(&self) -> &[char] {
        &self.letters[..self.length]
    }
}

/// Computes the optimal string alignment distance.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut rows = [[0_u8; LONGEST + 1]; 3];
    for (j, cell) in rows[1][..=b.len()].iter_mut().enumerate() {
        *cell = small(j);
    }
    for (i, &x) in a.iter().enumerate() {
        let [before_last, last, row] = &mut rows;
        row[0] = small(i + 1);
        for (j, &y) in b.iter().enumerate() {
            let mut best = (last[j] + u8::from(x != y))
                .min(last[j + 1] + 1)
                .min(row[j] + 1);
            let swapped = i > 0 && j > 0 && x == b[j - 1] && a[i - 1] == y;
            if swapped {
                best = best.min(before_last[j - 1] + 1);
            }
            row[j + 1] = best;
        }
        rows.rotate_left(1);
    }
    usize::from(rows[1][b.len()])
}

/// Converts a length, which is at most [`LONGEST`].
fn small(n: usize) -> u8 {
    u8::try_from(n).unwrap_or(u8::MAX)
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
    fn typos_find_the_intended_word() {
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
    fn unrelated_words_have_no_suggestion() {
        for typed in ["version", "tags", "author", "", "-", "x", &"y".repeat(500)] {
            assert_eq!(nearest(typed, KEYS), None, "{typed}");
        }
    }
}

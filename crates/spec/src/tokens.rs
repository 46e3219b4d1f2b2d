//! Estimates of token counts. The whole workspace uses these functions.

/// Estimates the number of tokens of a text without a tokeniser: about four characters of Latin
/// text per token, and about one character of Chinese, Japanese or Korean.
///
/// Other clients also divide the characters of English text by four.
pub fn estimate(text: &str) -> usize {
    let bytes = text.as_bytes();
    if text.is_ascii() {
        return estimate_bytes(bytes.len());
    }
    // Counting lead bytes instead of decoding lets the compiler vectorise the loop.
    let characters = count(bytes, |byte| byte & 0xc0 != 0x80);
    let dense = count(bytes, is_dense_lead);
    dense + estimate_bytes(characters - dense)
}

/// Estimates the number of tokens from a length in bytes, for callers without the text at hand.
/// Equals [`estimate`] for ASCII text.
pub const fn estimate_bytes(bytes: usize) -> usize {
    bytes.div_ceil(4)
}

/// Counts matching bytes. Sums of at most 240 fit into `u8`, which keeps vector lanes narrow.
fn count(bytes: &[u8], wanted: impl Fn(u8) -> bool) -> usize {
    let sum =
        |chunk: &[u8]| usize::from(chunk.iter().map(|&byte| u8::from(wanted(byte))).sum::<u8>());
    let (chunks, rest) = bytes.as_chunks::<240>();
    chunks.iter().map(|chunk| sum(chunk)).sum::<usize>() + sum(rest)
}

/// Returns `true` for the lead bytes of U+3000 to U+DFFF: kana, Han and Hangul.
fn is_dense_lead(byte: u8) -> bool {
    (0xe3..=0xed).contains(&byte)
}

/// Returns the estimate if it is above `limit`. Skips the count for short texts: a token has at
/// least three bytes.
pub fn exceeds(text: &str, limit: usize) -> Option<usize> {
    if text.len() / 3 < limit {
        return None;
    }
    Some(estimate(text)).filter(|&tokens| tokens > limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latin_text_counts_by_four_and_cjk_by_one() {
        assert_eq!(
            [
                estimate(""),
                estimate("abcde"),
                estimate("技能技能"),
                estimate("naïve")
            ],
            [0, 2, 4, 2]
        );
    }

    #[test]
    fn bytes_and_ascii_text_have_the_same_estimate() {
        for length in 0..20 {
            assert_eq!(estimate(&"a".repeat(length)), estimate_bytes(length));
        }
    }
}

//! How many tokens a text costs a model, roughly.

/// Estimates the tokens of a text without a tokeniser: a token is about four characters of Latin
/// text, and about one character of Chinese, Japanese or Korean. Clients that report a count for
/// English text divide characters by four, too.
pub fn estimate(text: &str) -> usize {
    let bytes = text.as_bytes();
    // Counted by first bytes, which the compiler turns into a few instructions for many bytes.
    if text.is_ascii() {
        return bytes.len().div_ceil(4);
    }
    let characters = count(bytes, |byte| byte & 0xc0 != 0x80);
    let dense = count(bytes, is_dense_lead);
    dense + (characters - dense).div_ceil(4)
}

/// Counts bytes in small sums, which fit the registers that hold many of them, all of them full.
fn count(bytes: &[u8], wanted: impl Fn(u8) -> bool) -> usize {
    let sum =
        |chunk: &[u8]| usize::from(chunk.iter().map(|&byte| u8::from(wanted(byte))).sum::<u8>());
    let (chunks, rest) = bytes.as_chunks::<240>();
    chunks.iter().map(|chunk| sum(chunk)).sum::<usize>() + sum(rest)
}

/// The first bytes of U+3000 to U+DFFF: kana, Han and Hangul.
fn is_dense_lead(byte: u8) -> bool {
    (0xe3..=0xed).contains(&byte)
}

/// Tells whether a text may cost more than `limit` tokens, without counting where it cannot: even
/// the densest text has three bytes a token.
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
}

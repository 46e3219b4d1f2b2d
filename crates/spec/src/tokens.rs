//! How many tokens a text costs a model, roughly.

/// Estimates the tokens of a text without a tokeniser: a token is about four characters of Latin
/// text, and about one character of Chinese, Japanese or Korean. Clients that report a count for
/// English text divide characters by four, too.
pub fn estimate(text: &str) -> usize {
    if text.is_ascii() {
        return text.len().div_ceil(4);
    }
    let (mut light, mut dense) = (0, 0);
    for c in text.chars() {
        if is_dense(c) {
            dense += 1;
        } else {
            light += 1;
        }
    }
    dense + usize::div_ceil(light, 4)
}

fn is_dense(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
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

//! The headings of a body.

/// Returns the headings of a text outside code blocks: level and text.
pub fn headings(body: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence: Option<(char, usize)> = None;
    body.lines().filter_map(move |line| {
        // Most lines are neither headings nor fences.
        if !matches!(
            line.as_bytes().first(),
            Some(b'#' | b'`' | b'~' | b' ' | b'\t')
        ) {
            return None;
        }
        let trimmed = line.trim_start();
        let mark = trimmed.chars().next().filter(|c| matches!(c, '`' | '~'));
        let length = mark.map_or(0, |mark| trimmed.chars().take_while(|&c| c == mark).count());
        match (fence, mark) {
            (None, Some(mark)) if length >= 3 => fence = Some((mark, length)),
            (Some((open, wanted)), Some(mark))
                if mark == open && length >= wanted && trimmed[length..].trim().is_empty() =>
            {
                fence = None;
            }
            (None, _) => {
                let level = line.bytes().take_while(|&byte| byte == b'#').count();
                if (1..=6).contains(&level) && line[level..].starts_with(' ') {
                    return Some((level, line[level..].trim().trim_end_matches('#').trim_end()));
                }
            }
            (Some(_), _) => {}
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_in_code_are_ignored() {
        let body = "# One #\n```sh\n# no\n```\n~~~\n## no\n```\n~~~\n### Three\n#no\n####### no\n";
        let found: Vec<(usize, &str)> = headings(body).collect();
        assert_eq!(found, [(1, "One"), (3, "Three")]);
    }
}

//! Wildcard matching for texts, names and paths.

/// Matches a pattern against a text of `length` pieces. `is_star` returns `true` if a piece of the
/// pattern matches any number of pieces. `step` returns how many pieces of the pattern match a
/// piece of the text, if they do. Only the last star is tried again, so the time is at most the
/// product of both lengths, which are bounded. Returns the position in the pattern at which the
/// text ended, and `true` if a star was used.
pub fn walk(
    length: usize,
    is_star: impl Fn(usize) -> bool,
    step: impl Fn(usize, usize) -> Option<usize>,
) -> Option<(usize, bool)> {
    let (mut p, mut t) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while t < length {
        if is_star(p) {
            back = Some((p, t));
            p += 1;
        } else if let Some(pieces) = step(p, t) {
            p += pieces;
            t += 1;
        } else {
            let (star, from) = back?;
            back = Some((star, from + 1));
            p = star + 1;
            t = from + 1;
        }
    }
    Some((p, back.is_some()))
}

/// Returns `true` if a text matches a pattern in which `*` is any text.
pub fn like(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let same = |p: usize, t: usize| (pattern.get(p) == Some(&text[t])).then_some(1);
    walk(text.len(), |p| pattern.get(p) == Some(&b'*'), same)
        .is_some_and(|(end, _)| pattern[end..].iter().all(|&byte| byte == b'*'))
}

//! Matching with stars, once for texts, names and paths.

/// Matches a pattern against a text of `length` pieces. `is_star` tells whether a piece of
/// the pattern stands for any number of pieces; `step` how many pieces of the pattern the piece of
/// the text takes, if it fits. Goes back to the last star only: time grows with the product of the
/// lengths at worst, and both are bounded. Tells where in the pattern it ended, with whether a star
/// was met.
pub(crate) fn walk(
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

//! Ids of sessions, and finding one by its beginning.

use std::hash::{BuildHasher, Hasher, RandomState};

use prowess_diag::suggest::nearest;
use prowess_traits::SessionError;

/// How many characters an id has. A trillion are possible.
pub(crate) const LENGTH: usize = 8;
/// Most ids that are offered instead of one that is not there.
pub(crate) const NEAR: usize = 10;
/// Among how many of the latest sessions the nearest id is looked for.
pub(crate) const LATEST: usize = 1000;

/// Digits and letters without those that are taken for others: `i`, `l`, `o`, `u`.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Returns a number that nobody guesses by accident: the keys of a hash come from the system.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Makes an id that is not taken. It grows where chance does not find one.
pub(crate) fn new_id<E>(mut is_taken: impl FnMut(&str) -> Result<bool, E>) -> Result<Box<str>, E> {
    let mut length = LENGTH;
    loop {
        let id = random_id(length);
        if !is_taken(&id)? {
            return Ok(id);
        }
        length += 1;
    }
}

/// Returns how an id that somebody typed is written.
pub(crate) fn normal(typed: &str) -> String {
    typed.trim().to_ascii_lowercase()
}

/// Chooses the id that is meant. `starting` are those that begin so, in order and at most [`NEAR`];
/// `latest` are others, for a hint.
pub(crate) fn choose(
    asked: &str,
    starting: Vec<Box<str>>,
    latest: &[Box<str>],
) -> Result<Box<str>, SessionError> {
    match starting.as_slice() {
        [only] => Ok(only.clone()),
        [first, ..] if **first == *normal(asked) => Ok(first.clone()),
        _ => Err(missing(asked, starting, latest)),
    }
}

/// Says that there is no such session, and which there are.
pub(crate) fn missing(
    asked: &str,
    mut starting: Vec<Box<str>>,
    latest: &[Box<str>],
) -> SessionError {
    if starting.is_empty() {
        let near = nearest(&normal(asked), latest.iter().map(|id| &**id));
        starting.extend(near.map(Box::from));
    }
    SessionError::NotFound {
        asked: asked.into(),
        near: starting,
    }
}

fn random_id(length: usize) -> Box<str> {
    let mut id = String::with_capacity(length);
    let mut bits = 0;
    for position in 0..length {
        // Twelve times five bits are in one number.
        if position % 12 == 0 {
            bits = random();
        }
        let index = usize::try_from(bits & 31).unwrap_or_default();
        id.push(ALPHABET.get(index).copied().map_or('0', char::from));
        bits >>= 5;
    }
    id.into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn ids_are_short_different_and_easy_to_read() {
        let ids: BTreeSet<_> = (0..10_000).map(|_| random_id(LENGTH)).collect();
        assert_eq!(ids.len(), 10_000);
        let used: BTreeSet<u8> = ids.iter().flat_map(|id| id.bytes()).collect();
        assert_eq!(used, ALPHABET.iter().copied().collect());
        assert!(ids.iter().all(|id| id.len() == LENGTH));
        assert_eq!(random_id(30).len(), 30);
    }

    #[test]
    fn an_id_that_is_taken_is_not_given_again() {
        let mut tries = 0;
        let id = new_id(|_| {
            tries += 1;
            Ok::<_, Infallible>(tries < 5)
        });
        assert_eq!(id.unwrap().len(), LENGTH + 4);
    }

    #[test]
    fn a_beginning_is_enough_if_it_is_clear() {
        let ids = |ids: &[&str]| ids.iter().map(|id| Box::from(*id)).collect::<Vec<_>>();
        assert_eq!(&*choose("ab", ids(&["abc"]), &[]).unwrap(), "abc");
        assert_eq!(&*choose("ABC", ids(&["abc", "abcd"]), &[]).unwrap(), "abc");
        let Err(SessionError::NotFound { asked, near }) = choose("ab", ids(&["abc", "abd"]), &[])
        else {
            panic!("two begin so");
        };
        assert_eq!((&*asked, near), ("ab", ids(&["abc", "abd"])));
        let latest = ids(&["7k2m9x4p", "qqqqqqqq"]);
        let Err(SessionError::NotFound { near, .. }) = choose("7k2m9x4q", vec![], &latest) else {
            panic!("none begins so");
        };
        assert_eq!(near, ids(&["7k2m9x4p"]));
    }
}

//! Session ids, and lookup by prefix.

use std::time::{SystemTime, UNIX_EPOCH};

use prowess_diag::suggest::nearest;
use prowess_traits::SessionError;

/// The number of characters in an id, for about 10^12 ids.
pub(crate) const LENGTH: usize = 8;
/// The maximum number of ids suggested for one that is not found.
pub(crate) const NEAR: usize = 10;
/// The number of latest sessions searched for a similar id.
pub(crate) const LATEST: usize = 1000;

/// Digits and letters without `i`, `l`, `o` and `u`, which are easily confused.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Returns a random number. If the system has no randomness, it is derived from the time and the
/// process id, which is enough for an id that is checked to be free.
pub(crate) fn random() -> u64 {
    getrandom::u64().unwrap_or_else(|_| {
        let time = SystemTime::now().duration_since(UNIX_EPOCH);
        let nanos = time.map_or(0, |time| time.subsec_nanos());
        u64::from(nanos) << 32 | u64::from(std::process::id())
    })
}

/// Creates an id that is not taken. Each collision makes the next candidate longer.
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

/// Normalizes an id as typed by a user.
pub(crate) fn normal(typed: &str) -> String {
    typed.trim().to_ascii_lowercase()
}

/// Resolves a prefix. `starting` are the ids that start with it, in order and at most [`NEAR`];
/// `latest` are other ids, for suggestions.
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

/// Returns the error for an unknown session, with suggestions.
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
        // One number holds twelve groups of five bits.
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
    fn ids_are_short_distinct_and_readable() {
        let ids: BTreeSet<_> = (0..10_000).map(|_| random_id(LENGTH)).collect();
        assert_eq!(ids.len(), 10_000);
        let used: BTreeSet<u8> = ids.iter().flat_map(|id| id.bytes()).collect();
        assert_eq!(used, ALPHABET.iter().copied().collect());
        assert!(ids.iter().all(|id| id.len() == LENGTH));
        assert_eq!(random_id(30).len(), 30);
    }

    #[test]
    fn taken_id_is_not_used_again() {
        let mut tries = 0;
        let id = new_id(|_| {
            tries += 1;
            Ok::<_, Infallible>(tries < 5)
        });
        assert_eq!(id.unwrap().len(), LENGTH + 4);
    }

    #[test]
    fn unique_prefix_is_enough() {
        let ids = |ids: &[&str]| ids.iter().map(|id| Box::from(*id)).collect::<Vec<_>>();
        assert_eq!(&*choose("ab", ids(&["abc"]), &[]).unwrap(), "abc");
        assert_eq!(&*choose("ABC", ids(&["abc", "abcd"]), &[]).unwrap(), "abc");
        let Err(SessionError::NotFound { asked, near }) = choose("ab", ids(&["abc", "abd"]), &[])
        else {
            panic!("the prefix is ambiguous");
        };
        assert_eq!((&*asked, near), ("ab", ids(&["abc", "abd"])));
        let latest = ids(&["7k2m9x4p", "qqqqqqqq"]);
        let Err(SessionError::NotFound { near, .. }) = choose("7k2m9x4q", vec![], &latest) else {
            panic!("the id does not exist");
        };
        assert_eq!(near, ids(&["7k2m9x4p"]));
    }
}

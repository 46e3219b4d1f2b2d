//! Turns for skills that would not be shown otherwise.
//!
//! Whoever is never shown is never used, and whoever is never used is never shown. So one place in
//! five rotates: time is cut in periods, and in each the next skills of a shuffled round have their
//! turn. A round is as many periods as it takes until everybody had one; then the skills are
//! shuffled again, so that somebody who looks every day at nine does not see the same ones.
//!
//! There is neither chance nor a clock here: the shuffle is a hash of the name and the number of the
//! round, and the period is an argument. **Bound:** of N skills that are not pinned, with p places
//! to explore, a round has R = ⌈N / p⌉ periods, and as long as the set of skills stays the same,
//! every skill is shown in any 2R − 1 periods in a row, whatever is used meanwhile. For 1,000 skills
//! and 10 places that is 2 places, R = 500 and at most 999 periods. Below 3 places, every fifth
//! period is for one that explores, and counts as one of these.

use super::Entry;

/// One place in this many is for exploring.
const SHARE: u8 = 5;
/// From this many places on, at least one is for exploring in every period.
const ALWAYS: usize = 3;
/// How long a period is, in nanoseconds: one hour.
const PERIOD: i64 = 60 * 60 * 1_000_000_000;

/// Returns the number of the period of a time in nanoseconds since 1970. Whoever counts something
/// better, say sessions, need not use it.
pub fn period(now: i64) -> i64 {
    now.div_euclid(PERIOD)
}

/// How many places a period gives, and to whose turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) places: usize,
    number: i64,
}

impl Turn {
    pub(super) const NONE: Self = Self {
        places: 0,
        number: 0,
    };
}

pub(super) fn turn(period: i64, limit: usize) -> Turn {
    if limit >= ALWAYS {
        Turn {
            places: (limit / usize::from(SHARE)).max(1),
            number: period,
        }
    } else if limit > 0 && period.rem_euclid(SHARE.into()) == 0 {
        Turn {
            places: 1,
            number: period.div_euclid(SHARE.into()),
        }
    } else {
        Turn::NONE
    }
}

/// Chooses whose turn it is. The round is over all skills, also those that are shown as `best`: so
/// it does not matter for anybody's turn what is used meanwhile. Those who are shown anyway pass
/// their place on to the next.
pub(super) fn choose<'e, 'a>(
    best: &[Entry<'a>],
    others: &'e [Entry<'a>],
    turn: Turn,
) -> Vec<&'e Entry<'a>> {
    let total = best.len() + others.len();
    let places = turn.places.min(others.len());
    if places == 0 {
        return Vec::new();
    }
    let periods = i64::try_from(total.div_ceil(turn.places)).unwrap_or(i64::MAX);
    let round = turn.number.div_euclid(periods);
    let within = usize::try_from(turn.number.rem_euclid(periods)).unwrap_or(0);
    let key = |entry: &Entry<'_>| hash(&entry.skill.name, round);
    let mut queue: Vec<(u64, Option<&'e Entry<'a>>, &Entry<'a>)> = Vec::with_capacity(total);
    queue.extend(best.iter().map(|entry| (key(entry), None, entry)));
    queue.extend(others.iter().map(|entry| (key(entry), Some(entry), entry)));
    queue.sort_unstable_by(|one, other| one.0.cmp(&other.0).then_with(|| one.2.by_name(other.2)));
    let start = within * turn.places;
    let from_start = queue.iter().cycle().skip(start).take(total);
    from_start
        .filter_map(|(_, entry, _)| *entry)
        .take(places)
        .collect()
}

/// FNV-1a over the name, mixed with the round. Written out because it must stay the same for ever;
/// the hash of the standard library may change.
fn hash(name: &str, round: i64) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in name.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash = hash.wrapping_add(round.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15));
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

//! Rotation for skills that would otherwise never be shown.
//!
//! A skill that is never shown is never used, and one that is never used is never shown. So one
//! slot in five rotates: time is divided into periods, and each period shows the next skills of a
//! shuffled round. A round lasts until every skill had its turn; then the skills are shuffled
//! again, so that a user who looks every day at nine does not see the same ones.
//!
//! Rotation uses neither randomness nor a clock: the shuffle is a hash of the name and the number
//! of the round, and the period is an argument. **Bound:** with N skills that are not pinned and p
//! slots for exploration, a round has R = ⌈N / p⌉ periods. While the set of skills stays the same,
//! every skill is shown in any 2R − 1 consecutive periods, regardless of usage. For 1,000 skills
//! and 10 slots, p = 2, R = 500, and the bound is 999 periods. With fewer than 3 slots, every fifth
//! period explores, and only those count.

use super::RankEntry;

/// One slot in this many is for exploration.
const SHARE: u8 = 5;
/// With at least this many slots, every period explores.
const ALWAYS: usize = 3;
/// Length of a period in nanoseconds: one hour.
const PERIOD: i64 = 60 * 60 * 1_000_000_000;

/// Returns the period of a time in nanoseconds since 1970. Callers may count periods in other ways,
/// e.g. by session.
pub fn period(now: i64) -> i64 {
    now.div_euclid(PERIOD)
}

/// The number of exploration slots in a period, and its position in the rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExplorationTurn {
    pub(super) places: usize,
    number: i64,
}

impl ExplorationTurn {
    pub(super) const NONE: Self = Self {
        places: 0,
        number: 0,
    };
}

pub(super) fn turn(period: i64, limit: usize) -> ExplorationTurn {
    if limit >= ALWAYS {
        ExplorationTurn {
            places: (limit / usize::from(SHARE)).max(1),
            number: period,
        }
    } else if limit > 0 && period.rem_euclid(SHARE.into()) == 0 {
        ExplorationTurn {
            places: 1,
            number: period.div_euclid(SHARE.into()),
        }
    } else {
        ExplorationTurn::NONE
    }
}

/// Chooses the skills to explore. The round includes all skills, also those in `best`, so that
/// usage does not change any skill's turn. Skills that are shown anyway pass their slot to the
/// next.
pub(super) fn choose<'e, 'a>(
    best: &[RankEntry<'a>],
    others: &'e [RankEntry<'a>],
    turn: ExplorationTurn,
) -> Vec<&'e RankEntry<'a>> {
    let total = best.len() + others.len();
    let places = turn.places.min(others.len());
    if places == 0 {
        return Vec::new();
    }
    let periods = i64::try_from(total.div_ceil(turn.places)).unwrap_or(i64::MAX);
    let round = turn.number.div_euclid(periods);
    let within = usize::try_from(turn.number.rem_euclid(periods)).unwrap_or(0);
    let key = |entry: &RankEntry<'_>| hash(&entry.skill.name, round);
    let mut queue: Vec<(u64, Option<&'e RankEntry<'a>>, &RankEntry<'a>)> =
        Vec::with_capacity(total);
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

/// Hashes a name and a round with FNV-1a and a finaliser. The standard library's hash may change
/// between versions; this one must not.
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

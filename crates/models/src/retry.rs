//! When a question is asked again, and after how long.

use std::collections::hash_map::RandomState;
use std::fmt::Debug;
use std::hash::{BuildHasher, Hasher};
use std::time::{Duration, SystemTime};

use prowess_traits::{BoxFuture, ModelErrorKind};

/// How often and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Most attempts, the first included.
    pub attempts: u32,
    /// Most time that is waited between them, taken together.
    pub total: Duration,
    /// The first wait; it doubles each time.
    pub first: Duration,
    /// The longest wait, where the provider does not say another.
    pub most: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 5,
            total: Duration::from_mins(2),
            first: Duration::from_secs(1),
            most: Duration::from_secs(20),
        }
    }
}

/// More than this no provider means seriously.
pub const MAX_AFTER: Duration = Duration::from_hours(24);

impl Retry {
    /// Asks once and never again.
    pub fn never() -> Self {
        Self {
            attempts: 1,
            ..Self::default()
        }
    }

    /// How long to wait before asking again; nothing where that does not help or takes too long.
    ///
    /// `attempt` counts from one, `after` is what the provider says, `random` spreads the waits.
    pub fn wait(
        &self,
        kind: ModelErrorKind,
        attempt: u32,
        waited: Duration,
        after: Option<Duration>,
        random: u64,
    ) -> Option<Duration> {
        // Whoever was waited for in vain twice is not there.
        let attempts = match kind {
            ModelErrorKind::Timeout => self.attempts.min(2),
            _ => self.attempts,
        };
        if !kind.is_transient() || attempt >= attempts {
            return None;
        }
        let doubled = self
            .first
            .saturating_mul(2_u32.saturating_pow(attempt.saturating_sub(1)));
        let step = doubled.min(self.most);
        let wait = match after {
            // Never before the time it says, and not all at the same moment.
            Some(after) => after
                .min(MAX_AFTER)
                .saturating_add(part(self.first, random)),
            None => step / 2 + part(step / 2, random),
        };
        (waited.saturating_add(wait) <= self.total).then_some(wait)
    }
}

/// Some part of a span.
fn part(span: Duration, random: u64) -> Duration {
    span / 1024 * u32::try_from(random % 1025).unwrap_or(0)
}

/// What waits and what is random.
pub trait Waiter: Send + Sync + Debug {
    /// Waits.
    fn wait(&self, time: Duration) -> BoxFuture<'_, ()>;
    /// A random number.
    fn random(&self) -> u64;
    /// The time of day, for answers that name one.
    fn now(&self) -> SystemTime;
}

/// Waits for real.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealWaiter;

impl Waiter for RealWaiter {
    fn wait(&self, time: Duration) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn random(&self) -> u64 {
        RandomState::new().build_hasher().finish()
    }

    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// Reads `Retry-After`: seconds, or a date.
pub fn retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    let wait = if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than fit are as absurd as the largest number.
        Duration::from_secs(text.parse().unwrap_or(u64::MAX))
    } else if let Ok(seconds) = text.parse::<f64>() {
        Duration::try_from_secs_f64(seconds).ok()?
    } else {
        let since = now.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        Duration::from_secs(date(text)?).saturating_sub(since)
    };
    Some(wait.min(MAX_AFTER))
}

/// Reads `Sun, 06 Nov 1994 08:49:37 GMT` as seconds since 1970.
fn date(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (_, rest) = text.split_once(", ")?;
    let mut words = rest.split(' ');
    let mut number = |most: u64| words.next()?.parse().ok().filter(|number| *number <= most);
    let day: u64 = number(31)?;
    let month = words.next()?;
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let year: u64 = words
        .next()?
        .parse()
        .ok()
        .filter(|year| (1970..=9999).contains(year))?;
    let mut clock = words
        .next()?
        .split(':')
        .map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    if words.next() != Some("GMT") || hour > 23 || minute > 59 || second > 60 || day == 0 {
        return None;
    }
    // Days since 1970, with years that begin in March, so that the odd day is the last.
    let (year, month) = if month < 3 {
        (year - 1, month + 9)
    } else {
        (year, month - 3)
    };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    Some(days.checked_sub(719_468)? * 86_400 + hour * 3_600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(784_111_777);

    #[test]
    fn both_forms_of_retry_after() {
        let now = SystemTime::UNIX_EPOCH + NOW;
        for (text, expected) in [
            ("7", Some(7_000)),
            (" 0 ", Some(0)),
            ("1.5", Some(1_500)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:50:00 GMT", Some(23_000)),
            ("Sat, 05 Nov 1994 08:50:00 GMT", Some(0)),
            ("Fri, 31 Dec 9999 23:59:59 GMT", Some(86_400_000)),
            ("99999999999999999999999999", Some(86_400_000)),
            ("-5", None),
            ("nan", None),
            ("soon", None),
            ("Sun, 06 Foo 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 08:49 GMT", None),
            ("", None),
        ] {
            let read = retry_after(text, now).map(|time| time.as_millis());
            assert_eq!(read, expected, "{text:?}");
        }
    }

    #[test]
    fn waits_double_and_spread_and_end() {
        let retry = Retry {
            attempts: 4,
            total: Duration::from_secs(10),
            first: Duration::from_secs(1),
            most: Duration::from_secs(3),
        };
        let wait = |attempt, waited, random| {
            retry.wait(
                ModelErrorKind::Transport,
                attempt,
                Duration::from_secs(waited),
                None,
                random,
            )
        };
        let millis = |wait: Option<Duration>| wait.map(|time| time.as_millis());
        assert_eq!(millis(wait(1, 0, 0)), Some(500));
        assert_eq!(
            wait(1, 0, 1024).map(|time| time.as_millis() > 990),
            Some(true)
        );
        assert_eq!(millis(wait(2, 0, 0)), Some(1_000));
        assert_eq!(millis(wait(3, 0, 0)), Some(1_500));
        assert_eq!(wait(4, 0, 0), None, "attempts");
        assert_eq!(wait(1, 10, 0), None, "time");
    }

    #[test]
    fn what_the_provider_says_counts_within_the_budget() {
        let wait = |after| {
            let kind = ModelErrorKind::RateLimit { after: None };
            Retry::default().wait(kind, 1, Duration::ZERO, Some(after), 0)
        };
        assert_eq!(wait(Duration::from_secs(30)), Some(Duration::from_secs(30)));
        assert_eq!(wait(Duration::from_hours(1)), None);
        assert_eq!(wait(Duration::MAX), None);
    }

    #[test]
    fn what_does_not_pass_is_not_asked_again() {
        for kind in [
            ModelErrorKind::Auth,
            ModelErrorKind::BadRequest,
            ModelErrorKind::ContextTooLong,
            ModelErrorKind::Refused,
        ] {
            assert_eq!(
                Retry::default().wait(kind, 1, Duration::ZERO, None, 0),
                None
            );
        }
        let timeout = |attempt| {
            Retry::default().wait(ModelErrorKind::Timeout, attempt, Duration::ZERO, None, 0)
        };
        assert_eq!((timeout(1).is_some(), timeout(2)), (true, None));
    }
}

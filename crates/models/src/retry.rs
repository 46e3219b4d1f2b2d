//! Retries of requests.

use std::fmt::Debug;
use std::time::{Duration, SystemTime};

use prowess_traits::{BoxFuture, ModelErrorKind};

/// Limits of retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The maximum number of attempts, including the first.
    pub attempts: u32,
    /// The maximum total delay.
    pub total: Duration,
    /// The first delay. It doubles each time.
    pub first: Duration,
    /// The maximum delay, unless the provider requests a longer one.
    pub most: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 5,
            total: Duration::from_mins(2),
            first: Duration::from_secs(1),
            most: Duration::from_secs(20),
        }
    }
}

/// The maximum delay accepted from a provider.
pub const MAX_AFTER: Duration = Duration::from_hours(24);

impl RetryPolicy {
    /// Never retries.
    pub fn never() -> Self {
        Self {
            attempts: 1,
            ..Self::default()
        }
    }

    /// Returns the delay before the next attempt; `None` if a retry cannot succeed or would take
    /// too long.
    ///
    /// `attempt` starts at 1, `after` is the delay requested by the provider, and `random` adds
    /// jitter.
    pub fn wait(
        &self,
        kind: ModelErrorKind,
        attempt: u32,
        waited: Duration,
        after: Option<Duration>,
        random: u64,
    ) -> Option<Duration> {
        // A server that timed out twice is considered down.
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
            // Not before the requested time, with jitter.
            Some(after) => after
                .min(MAX_AFTER)
                .saturating_add(part(self.first, random)),
            None => step / 2 + part(step / 2, random),
        };
        (waited.saturating_add(wait) <= self.total).then_some(wait)
    }
}

/// Returns a random part of a duration.
fn part(span: Duration, random: u64) -> Duration {
    span / 1024 * u32::try_from(random % 1025).unwrap_or(0)
}

/// A source of delays, randomness and time.
pub trait Waiter: Send + Sync + Debug {
    /// Waits.
    fn wait(&self, time: Duration) -> BoxFuture<'_, ()>;
    /// Returns a random number.
    fn random(&self) -> u64;
    /// Returns the current time, for a `Retry-After` date.
    fn now(&self) -> SystemTime;
}

/// Waits in real time.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealWaiter;

impl Waiter for RealWaiter {
    fn wait(&self, time: Duration) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn random(&self) -> u64 {
        getrandom::u64().unwrap_or_default()
    }

    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// Parses `Retry-After`: seconds or a date.
pub fn retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    let wait = if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // Numbers that overflow are treated as the maximum.
        Duration::from_secs(text.parse().unwrap_or(u64::MAX))
    } else if let Ok(seconds) = text.parse::<f64>() {
        Duration::try_from_secs_f64(seconds).ok()?
    } else {
        let since = now.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        Duration::from_secs(date(text)?).saturating_sub(since)
    };
    Some(wait.min(MAX_AFTER))
}

/// Parses `Sun, 06 Nov 1994 08:49:37 GMT` as seconds since 1970.
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
    // Days since 1970. Years start in March, so that a leap day is the last day.
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
    fn retry_after_is_seconds_or_a_date() {
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
    fn delays_double_with_jitter_up_to_a_limit() {
        let retry = RetryPolicy {
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
    fn requested_delay_is_used_within_the_limit() {
        let wait = |after| {
            let kind = ModelErrorKind::RateLimit { after: None };
            RetryPolicy::default().wait(kind, 1, Duration::ZERO, Some(after), 0)
        };
        assert_eq!(wait(Duration::from_secs(30)), Some(Duration::from_secs(30)));
        assert_eq!(wait(Duration::from_hours(1)), None);
        assert_eq!(wait(Duration::MAX), None);
    }

    #[test]
    fn permanent_errors_are_not_retried() {
        for kind in [
            ModelErrorKind::Auth,
            ModelErrorKind::BadRequest,
            ModelErrorKind::ContextTooLong,
            ModelErrorKind::Refused,
        ] {
            assert_eq!(
                RetryPolicy::default().wait(kind, 1, Duration::ZERO, None, 0),
                None
            );
        }
        let timeout = |attempt| {
            RetryPolicy::default().wait(ModelErrorKind::Timeout, attempt, Duration::ZERO, None, 0)
        };
        assert_eq!((timeout(1).is_some(), timeout(2)), (true, None));
    }
}

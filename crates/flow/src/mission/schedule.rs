//! The times at which a mission starts.

use jiff::civil::{Date, Time, Weekday};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, Zoned};
use prowess_hcl::Value;
use serde::{Deserialize, Serialize};

/// Maximum number of days that are searched for the next start. 29 February on a given weekday
/// occurs at least once in 40 years.
const MAX_DAYS: usize = 366 * 40;
/// Minutes of a day.
const DAY: u32 = 24 * 60;

/// A `schedule` block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// The times.
    pub times: ScheduleTimes,
    /// The days of the week, from 1 for Monday. Empty for every day.
    pub weekdays: Vec<u8>,
    /// The name of the time zone. `None` for that of the machine.
    pub zone: Option<Box<str>>,
    /// The inputs of the runs that it starts.
    pub inputs: Vec<(Box<str>, Value)>,
}

/// The times of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleTimes {
    /// Times of the day, in minutes after midnight.
    At(Vec<u16>),
    /// An interval from midnight on, in minutes.
    Every(u16),
    /// A cron expression.
    Cron(Box<str>),
}

/// The names of the days, Monday first.
pub const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

impl Schedule {
    /// Returns the next starts after a time, at most `count`, in the zone of the schedule. `local` is
    /// the zone of a schedule without one.
    pub fn next(&self, after: Timestamp, local: &str, count: usize) -> Vec<Zoned> {
        let zone = zone(self.zone.as_deref().unwrap_or(local)).unwrap_or(TimeZone::UTC);
        let cron = match &self.times {
            ScheduleTimes::Cron(text) => Cron::parse(text).ok(),
            ScheduleTimes::At(_) | ScheduleTimes::Every(_) => None,
        };
        let mut found = Vec::new();
        let mut day = after.to_zoned(zone.clone()).date();
        for _ in 0..MAX_DAYS {
            let mut starts = self.starts_of(day, &zone, cron.as_ref());
            starts.sort_by_key(Zoned::timestamp);
            starts.dedup_by_key(|start| start.timestamp());
            for start in starts {
                let is_new = found
                    .last()
                    .is_none_or(|last: &Zoned| last.timestamp() < start.timestamp());
                if start.timestamp() > after && is_new {
                    found.push(start);
                }
                if found.len() >= count {
                    return found;
                }
            }
            let Ok(next) = day.tomorrow() else { break };
            day = next;
        }
        found
    }

    fn starts_of(&self, day: Date, zone: &TimeZone, cron: Option<&Cron>) -> Vec<Zoned> {
        let weekday = weekday_number(day.weekday());
        if !self.weekdays.is_empty() && !self.weekdays.contains(&weekday) {
            return Vec::new();
        }
        // An interval continues through a change of the clock. A time of the day occurs once a day.
        let (minutes, is_interval): (Vec<u16>, bool) = match (&self.times, cron) {
            (ScheduleTimes::At(times), _) => (times.clone(), false),
            (ScheduleTimes::Every(every), _) => {
                let step = usize::from((*every).max(1));
                ((0..1440_u16).step_by(step).collect(), true)
            }
            (ScheduleTimes::Cron(_), Some(cron)) if cron.has_day(day) => {
                (cron.minutes_of_day(), cron.hours.count_ones() == 24)
            }
            (ScheduleTimes::Cron(_), _) => return Vec::new(),
        };
        let mut starts = Vec::new();
        for minute in minutes {
            let [hour, minute] = [minute / 60, minute % 60].map(|part| i8::try_from(part).ok());
            let (Some(hour), Some(minute)) = (hour, minute) else {
                continue;
            };
            let Ok(time) = Time::new(hour, minute, 0, 0) else {
                continue;
            };
            let local = zone.to_ambiguous_zoned(day.to_datetime(time));
            match (local.offset(), is_interval) {
                (AmbiguousOffset::Gap { .. }, true) => {}
                (AmbiguousOffset::Fold { .. }, true) => {
                    starts.extend(local.clone().earlier());
                    starts.extend(local.later());
                }
                _ => starts.extend(local.compatible()),
            }
        }
        starts
    }
}

fn weekday_number(day: Weekday) -> u8 {
    u8::try_from(day.to_monday_one_offset()).unwrap_or(1)
}

/// Returns the time zone with a name of the IANA database.
pub(super) fn zone(name: &str) -> Option<TimeZone> {
    match name {
        "UTC" | "" => (!name.is_empty()).then_some(TimeZone::UTC),
        _ => TimeZone::get(name).ok(),
    }
}

/// Parses a time for `--at`: RFC 3339, or a local date and time, or a date.
pub fn parse_time(text: &str, local: &str) -> Option<Timestamp> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time);
    }
    let zone = zone(local).unwrap_or(TimeZone::UTC);
    let time = text.parse::<jiff::civil::DateTime>().ok()?;
    let zoned = zone.to_ambiguous_zoned(time).compatible().ok()?;
    Some(zoned.timestamp())
}

/// Formats a time in nanoseconds since 1970 as RFC 3339.
pub fn time_text(nanoseconds: i64) -> String {
    let time = Timestamp::from_nanosecond(nanoseconds.into()).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Parses a time of the day: `09:15`.
pub(super) fn parse_clock(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':')?;
    let is_two = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_two(hour) || !is_two(minute) {
        return None;
    }
    let (hour, minute): (u16, u16) = (hour.parse().ok()?, minute.parse().ok()?);
    (hour < 24 && minute < 60).then_some(hour * 60 + minute)
}

/// Formats minutes after midnight: `09:15`.
pub fn clock_text(minutes: u16) -> String {
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

/// Parses a day of the week.
pub(super) fn parse_weekday(text: &str) -> Option<u8> {
    let text = text.trim().to_ascii_lowercase();
    let full = [
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
    ];
    let at = WEEKDAYS
        .iter()
        .zip(full)
        .position(|(short, full)| *short == text || full == text)?;
    u8::try_from(at + 1).ok()
}

/// Parses an interval such as `15m` or `1h30m` that divides an hour or a day.
pub(super) fn parse_interval(text: &str) -> Result<u16, String> {
    let invalid = || format!("`{text}` is not an interval such as `15m` or `2h`");
    let mut rest = text.trim();
    let mut milliseconds: u64 = 0;
    if rest.is_empty() {
        return Err(invalid());
    }
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .ok_or_else(invalid)?;
        let number: u64 = rest[..digits].parse().map_err(|_| invalid())?;
        rest = &rest[digits..];
        let length = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let unit = match &rest[..length] {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            _ => return Err(invalid()),
        };
        rest = &rest[length..];
        let part = number.checked_mul(unit).ok_or_else(invalid)?;
        milliseconds = milliseconds.checked_add(part).ok_or_else(invalid)?;
    }
    if milliseconds < 60_000 {
        return Err(format!("an interval is at least `1m`, not `{text}`"));
    }
    let minutes = u32::try_from(milliseconds / 60_000).unwrap_or(u32::MAX);
    let is_even = milliseconds.is_multiple_of(60_000)
        && (60_u32.is_multiple_of(minutes) || DAY.is_multiple_of(minutes));
    match u16::try_from(minutes) {
        Ok(minutes) if is_even => Ok(minutes),
        _ => Err(format!("`{text}` does not divide an hour or a day evenly")),
    }
}

/// A cron expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cron {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// `true` if the field for days of the month is not `*`.
    has_days: bool,
    /// `true` if the field for days of the week is not `*`.
    has_weekdays: bool,
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const SUNDAY_FIRST: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

impl Cron {
    /// Parses five fields, or a word such as `@daily`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = match text.trim() {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            other => other,
        };
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = *fields else {
            return Err(format!(
                "a cron expression has 5 fields, not {}",
                fields.len()
            ));
        };
        let mut weekday_set = field(weekdays, 0, 7, &SUNDAY_FIRST, 0)?;
        if weekday_set & (1 << 7) != 0 {
            weekday_set |= 1;
        }
        let cron = Self {
            minutes: field(minutes, 0, 59, &[], 0)?,
            hours: field(hours, 0, 23, &[], 0)?,
            days: field(days, 1, 31, &[], 0)?,
            months: field(months, 1, 12, &MONTHS, 1)?,
            weekdays: weekday_set,
            has_days: !days.starts_with(['*', '?']),
            has_weekdays: !weekdays.starts_with(['*', '?']),
        };
        Ok(cron)
    }

    /// Returns `true` if it starts a mission on a day.
    fn has_day(&self, day: Date) -> bool {
        let has = |set: u64, number: i8| {
            u32::try_from(number).is_ok_and(|number| set.checked_shr(number).unwrap_or(0) & 1 == 1)
        };
        let is_day = has(self.days, day.day());
        let is_weekday = has(self.weekdays, day.weekday().to_sunday_zero_offset());
        let fits = match (self.has_days, self.has_weekdays) {
            // With both, either is enough.
            (true, true) => is_day || is_weekday,
            _ => is_day && is_weekday,
        };
        has(self.months, day.month()) && fits
    }

    fn minutes_of_day(&self) -> Vec<u16> {
        let is_in = |set: u64, number: u16| set >> number & 1 == 1;
        let all = 0..1440_u16;
        all.filter(|at| is_in(self.hours, at / 60) && is_in(self.minutes, at % 60))
            .collect()
    }
}

/// Parses one field of a cron expression to a set of numbers.
fn field(text: &str, low: u32, high: u32, names: &[&str], first: u32) -> Result<u64, String> {
    let invalid = || format!("`{text}` is not a field of a cron expression");
    let number = |word: &str| -> Result<u32, String> {
        let lower = word.to_ascii_lowercase();
        let named = names.iter().position(|name| *name == lower);
        let number = match named {
            Some(at) => u32::try_from(at).map_err(|_| invalid())? + first,
            None => word.parse().map_err(|_| invalid())?,
        };
        if (low..=high).contains(&number) {
            Ok(number)
        } else {
            Err(format!(
                "`{word}` in a cron expression is not between {low} and {high}"
            ))
        }
    };
    let mut set = 0;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => {
                let step: u32 = step.parse().map_err(|_| invalid())?;
                (
                    range,
                    Some(step).filter(|step| *step > 0).ok_or_else(invalid)?,
                )
            }
            None => (part, 1),
        };
        let (from, to) = match range {
            // 7 is Sunday too, but not twice.
            "*" | "?" => (low, if high == 7 { 6 } else { high }),
            _ => match range.split_once('-') {
                Some((from, to)) => (number(from)?, number(to)?),
                None if part.contains('/') => (number(range)?, high),
                None => (number(range)?, number(range)?),
            },
        };
        if from > to {
            return Err(invalid());
        }
        let mut at = from;
        while at <= to {
            set |= 1 << at;
            at = at.saturating_add(step);
        }
    }
    Ok(set)
}

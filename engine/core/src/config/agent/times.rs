//! Times of YANG.

use crate::sma::calendar::TimeOfDay;
use cats_engine_types::UnixMicros;

/// Why a text is no time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum TimeError {
    /// A date and time.
    #[error(
        "`{0}` is no time from 1970 on; write it such as 2026-12-24T02:30:00Z or 2026-12-24T02:30:00+01:00"
    )]
    Date(String),
    /// A time of day.
    #[error("`{0}` is no time of day; write it such as 02:30 or 02:30:00")]
    Clock(String),
}

/// A `date-and-time` of RFC 9911, cut to microseconds. A leap second is the first one of the next minute.
pub(super) fn date_and_time(text: &str) -> Result<UnixMicros, TimeError> {
    parse(text).ok_or_else(|| TimeError::Date(text.to_owned()))
}

/// A time of day, with or without seconds.
pub(super) fn time_of_day(text: &str) -> Result<TimeOfDay, TimeError> {
    let clock = match text.split(':').map(number).collect::<Option<Vec<_>>>().as_deref() {
        Some([hour, minute]) => Some((*hour, *minute, 0)),
        Some([hour, minute, second]) => Some((*hour, *minute, *second)),
        Some(_) | None => None,
    };
    let read = clock.and_then(|(hour, minute, second)| TimeOfDay::clock(hour, minute, second));
    read.ok_or_else(|| TimeError::Clock(text.to_owned()))
}

fn parse(text: &str) -> Option<UnixMicros> {
    let (date, rest) = text.split_once(['T', 't'])?;
    let zone = rest.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = rest.split_at_checked(zone)?;
    let [year, month, day] = three(date, '-')?;
    let (clock, fraction) = clock.split_once('.').map_or((clock, None), |(clock, part)| (clock, Some(part)));
    let [hour, minute, second] = three(clock, ':')?;
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let of_day = i64::from(hour * 3600 + minute * 60 + second);
    let local = days(year, month, day)? * 86_400 + of_day;
    let micros = fraction.map_or(Some(0), micros_of)?;
    let seconds = u64::try_from(local - i64::from(offset(zone)?)).ok()?;
    Some(UnixMicros(seconds.checked_mul(1_000_000)?.checked_add(micros)?))
}

fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.len() <= 4 && text.bytes().all(|octet| octet.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

fn three(text: &str, between: char) -> Option<[u32; 3]> {
    let numbers: Option<Vec<u32>> = text.split(between).map(number).collect();
    numbers?.try_into().ok()
}

fn micros_of(fraction: &str) -> Option<u64> {
    if fraction.is_empty() || !fraction.bytes().all(|octet| octet.is_ascii_digit()) {
        return None;
    }
    let six: String = fraction.chars().chain("000000".chars()).take(6).collect();
    six.parse().ok()
}

/// Seconds that a clock is ahead of UTC.
fn offset(zone: &str) -> Option<i32> {
    if zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (sign, rest) = match zone.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hour, minute) = rest.split_once(':')?;
    let (hour, minute) = (number(hour)?, number(minute)?);
    if hour > 14 || minute > 59 {
        return None;
    }
    i32::try_from(hour * 3600 + minute * 60).ok().map(|ahead| sign * ahead)
}

/// Days since 1970-01-01 of a day of the Gregorian calendar. Years begin in March here, so that a leap day is their
/// last one.
fn days(year: u32, month: u32, day: u32) -> Option<i64> {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let length = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return None,
    };
    if !(1..=length).contains(&day) || year < 1 {
        return None;
    }
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_year = (153 * month + 2) / 5 + day - 1;
    let days = year * 365 + year / 4 - year / 100 + year / 400 + of_year;
    Some(i64::from(days) - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Option<u64> {
        date_and_time(text).ok().map(|at| at.0)
    }

    #[test]
    fn a_date_and_time_is_read_in_its_zone() {
        assert_eq!(at("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(at("2000-02-29T12:15:54.000005Z"), Some(951_826_554_000_005));
        assert_eq!(at("2026-11-29T21:59:59.999999Z"), Some(1_795_989_599_999_999));
        assert_eq!(at("2026-11-29T22:59:59.9999999+01:00"), Some(1_795_989_599_999_999), "cut, not rounded");
        assert_eq!(at("2026-11-29T16:29:59-05:30"), Some(1_795_989_599_000_000));
        assert_eq!(
            at("2026-11-29T21:59:59-00:00"),
            at("2026-11-29T21:59:59Z"),
            "an unknown zone counts as UTC"
        );
        assert_eq!(at("2016-12-31T23:59:60Z"), at("2017-01-01T00:00:00Z"), "a leap second");
        assert_eq!(at("9999-12-31T23:59:59Z"), Some(253_402_300_799_000_000));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        let wrong = [
            "1969-12-31T23:59:59Z",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:61Z",
            "2026-01-01T00:00:00",
            "2026-01-01 00:00:00Z",
            "2026-01-01T00:00Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+15:00",
            "2026-01-01T00:00:00+01",
            "1970-01-01T00:00:00+01:00",
            "",
            "T",
            "0000-01-01T00:00:00Z",
        ];
        assert_eq!(wrong.into_iter().filter(|text| at(text).is_some()).collect::<Vec<_>>(), [""; 0]);
        let words = date_and_time("tomorrow").unwrap_err().to_string();
        assert!(words.contains("`tomorrow` is no time") && words.contains("2026-12-24T02:30:00Z"), "{words}");
    }

    #[test]
    fn a_time_of_day_may_leave_its_seconds_out() {
        assert_eq!(time_of_day("02:30").ok(), TimeOfDay::clock(2, 30, 0));
        assert_eq!(time_of_day("23:59:59").ok(), TimeOfDay::clock(23, 59, 59));
        for wrong in ["24:00", "2", "02:60", "02:30:60", "02:30:00:00", "-1:00", ""] {
            assert_eq!(time_of_day(wrong), Err(TimeError::Clock(wrong.to_owned())));
        }
    }
}

//! `yang:date-and-time` and microseconds since 1970-01-01T00:00:00Z.

/// A `yang:date-and-time` of microseconds since 1970-01-01T00:00:00Z.
pub fn date_and_time(unix_us: u64) -> String {
    let (seconds, micros) = (unix_us / 1_000_000, unix_us % 1_000_000);
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// Year, month and day of a day since 1970-01-01, by eras of 400 years that begin in March.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

/// A `yang:date-and-time` as microseconds since 1970-01-01T00:00:00Z; what is before that is that.
pub fn unix_us(text: &str) -> Option<u64> {
    let (date, rest) = text.split_at_checked(10)?;
    let [year, month, day] = numbers::<3>(date, '-', &[4, 2, 2])?;
    let rest = rest.strip_prefix(['T', 't'])?;
    let (time, rest) = rest.split_at_checked(8)?;
    let [hour, minute, second] = numbers::<3>(time, ':', &[2, 2, 2])?;
    let (micros, zone) = match rest.strip_prefix('.') {
        None => (0, rest),
        Some(rest) => fraction(rest)?,
    };
    let offset = offset_of(zone)?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_of = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let most = *days_of.get(usize::try_from(month - 1).ok()?)?;
    // A second may be the 60th, which is the next minute.
    if !(1..=most).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset * 60;
    let us = seconds.checked_mul(1_000_000)?.checked_add(micros)?;
    Some(u64::try_from(us).unwrap_or(0))
}

/// So many numbers of so many digits each.
fn numbers<const N: usize>(text: &str, between: char, digits: &[usize; N]) -> Option<[i64; N]> {
    let mut numbers = [0; N];
    let mut parts = text.split(between);
    for (number, digits) in numbers.iter_mut().zip(digits) {
        let part = parts.next().filter(|part| part.len() == *digits && is_digits(part))?;
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(numbers)
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Microseconds, and what stands behind the digits.
fn fraction(text: &str) -> Option<(i64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    if digits.is_empty() {
        return None;
    }
    let micros: String = digits.chars().chain("000000".chars()).take(6).collect();
    Some((micros.parse().ok()?, rest))
}

/// Minutes east of UTC.
fn offset_of(zone: &str) -> Option<i64> {
    let (sign, rest) = match zone.split_at_checked(1)? {
        ("Z" | "z", "") => return Some(0),
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let [hours, minutes] = numbers::<2>(rest, ':', &[2, 2])?;
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

/// Days since 1970-01-01, by years that begin in March.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_zones_and_fractions() {
        for (text, us) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01T01:00:00+01:00", 0),
            ("1969-12-31T23:00:01.5-01:00", 1_500_000),
            ("2000-02-29T00:00:00.000001Z", 951_782_400_000_001),
            ("2026-11-29T23:30:45.1234567Z", 1_795_995_045_123_456),
            ("2100-03-01t00:00:00z", 4_107_542_400_000_000),
            ("1960-01-01T00:00:00Z", 0),
        ] {
            assert_eq!(unix_us(text), Some(us), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "now",
            "2026-11-30",
            "2026-11-30T12:00:00",
            "2026-11-30T12:00Z",
            "2026-11-31T12:00:00Z",
            "2025-02-29T12:00:00Z",
            "2026-13-01T12:00:00Z",
            "2026-00-01T12:00:00Z",
            "2026-11-30T24:00:00Z",
            "2026-11-30T12:00:00.Z",
            "2026-11-30T12:00:00+1:00",
            "2026-11-30 12:00:00Z",
            "+026-11-30T12:00:00Z",
            "2026-11-30T12:00:00Zä",
            "ä026-11-30T12:00:00Z",
        ] {
            assert_eq!(unix_us(text), None, "{text}");
        }
    }

    #[test]
    fn times_are_written_as_dates() {
        assert_eq!(date_and_time(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(date_and_time(951_782_400_000_001), "2000-02-29T00:00:00.000001Z");
        assert_eq!(date_and_time(1_795_995_045_123_456), "2026-11-29T23:30:45.123456Z");
        assert_eq!(date_and_time(4_107_542_399_000_000), "2100-02-28T23:59:59.000000Z");
        assert_eq!(date_and_time(4_107_542_400_000_000), "2100-03-01T00:00:00.000000Z");
    }
}

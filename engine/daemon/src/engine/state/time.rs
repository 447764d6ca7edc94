//! Times as RFC 3339 writes them.

use std::time::{SystemTime, UNIX_EPOCH};

/// RFC 3339 in UTC with microseconds.
pub(super) fn date_and_time(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    let (second, micros) = (second % 60, since.subsec_micros());
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// The Gregorian date of a day counted from 1970-01-01. Years begin in March here, so that the leap day is their last.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_are_rfc_3339() {
        let at = |seconds, micros: u32| date_and_time(UNIX_EPOCH + Duration::new(seconds, micros * 1000));
        assert_eq!(at(0, 0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(at(951_826_554, 5), "2000-02-29T12:15:54.000005Z");
        assert_eq!(at(1_795_989_599, 999_999), "2026-11-29T21:59:59.999999Z");
    }
}

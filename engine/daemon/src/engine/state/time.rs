//! Times as RFC 3339 writes them.

use cats_engine_types::UnixMicros;
use serde_json::{Value, json};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// RFC 3339 in UTC with microseconds.
pub(super) fn date_and_time(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    let (second, micros) = (second % 60, since.subsec_micros());
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// The end of the year 9999, in microseconds since 1970: what is later is no date-and-time.
const LATEST: u64 = 253_402_300_800_000_000;

/// A time that somebody else may have given, if it can be written.
pub(super) fn time(at: UnixMicros) -> Option<Value> {
    let at = (at.0 < LATEST).then(|| UNIX_EPOCH.checked_add(Duration::from_micros(at.0)))?;
    at.map(|at| json!(date_and_time(at)))
}

/// Milliseconds, as RFC 7951 writes numbers of 64 bits.
pub(super) fn millis(span: Duration) -> Value {
    json!(u64::try_from(span.as_millis()).unwrap_or(u64::MAX).to_string())
}

/// The time from then to now.
pub(super) fn millis_since(then: Instant, now: Instant) -> Value {
    millis(now.saturating_duration_since(then))
}

/// The time from now to then; 0 where that is past.
pub(super) fn millis_until(then: Instant, now: Instant) -> Value {
    millis(then.saturating_duration_since(now))
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

    #[test]
    fn times_are_rfc_3339() {
        let at = |seconds, micros: u32| date_and_time(UNIX_EPOCH + Duration::new(seconds, micros * 1000));
        assert_eq!(at(0, 0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(at(951_826_554, 5), "2000-02-29T12:15:54.000005Z");
        assert_eq!(at(1_795_989_599, 999_999), "2026-11-29T21:59:59.999999Z");
        assert_eq!(time(UnixMicros(LATEST - 1)), Some(json!("9999-12-31T23:59:59.999999Z")));
        assert_eq!([LATEST, u64::MAX].map(|at| time(UnixMicros(at))), [None, None]);
    }
}

//! Times, counts and flags as people say them.

/// A length of time, of which two units say enough.
pub(super) fn span(millis: u64) -> String {
    let (seconds, minutes, hours, days) =
        (millis / 1000, millis / 60_000, millis / 3_600_000, millis / 86_400_000);
    match (days, hours, minutes, seconds) {
        (0, 0, 0, 0) => format!("{millis} ms"),
        (0, 0, 0, 1..10) if millis % 1000 >= 100 => format!("{seconds}.{} s", millis % 1000 / 100),
        (0, 0, 0, _) => format!("{seconds} s"),
        (0, 0, ..) => format!("{minutes} min {} s", seconds % 60),
        (0, ..) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

/// A length of time that is there, or nothing to be seen.
pub(super) fn span_of(millis: Option<u64>) -> String {
    millis.map(span).unwrap_or_default()
}

/// The time that something takes, to three digits or so.
pub(super) fn duration(micros: Option<u64>) -> String {
    match micros {
        None => String::new(),
        Some(micros @ 0..1000) => format!("{micros} us"),
        Some(micros @ 1000..1_000_000) => format!("{} ms", thousandths(micros)),
        Some(micros) => format!("{} s", thousandths(micros / 1000)),
    }
}

/// A number of thousandths without needless digits.
fn thousandths(number: u64) -> String {
    let (whole, part) = (number / 1000, number % 1000);
    let digits = match whole {
        0..10 => format!("{:02}", part / 10),
        10..100 => format!("{}", part / 100),
        _ => String::new(),
    };
    match digits.trim_end_matches('0') {
        "" => whole.to_string(),
        digits => format!("{whole}.{digits}"),
    }
}

/// How many of something.
pub(super) fn counted(count: u64, what: &str) -> String {
    match count {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        more => format!("{more} {what}s"),
    }
}

/// A date-and-time without what nobody reads.
pub(super) fn time(text: &str) -> String {
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let zone = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let zone = if zone == "+00:00" { "Z" } else { zone };
    format!("{}{zone}", whole.replacen('T', " ", 1).replace("+00:00", "Z"))
}

/// Several words, or nothing to be seen.
pub(super) fn several(parts: impl IntoIterator<Item = String>) -> String {
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(", ")
}

/// Text where a condition holds.
pub(super) fn where_so(holds: bool, text: &str) -> String {
    if holds { text.to_owned() } else { String::new() }
}

/// So many of something, or nothing to be seen.
pub(super) fn some(count: u64, text: &str) -> String {
    if count == 0 { String::new() } else { format!("{count} {text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_in_two_units_at_most() {
        let said = [0, 850, 1234, 5000, 9999, 58_000, 200_000, 7_500_000, 187_200_000].map(span);
        assert_eq!(
            said,
            ["0 ms", "850 ms", "1.2 s", "5 s", "9.9 s", "58 s", "3 min 20 s", "2 h 5 min", "2 d 4 h"]
        );
        let said = [350, 1000, 5200, 12_340, 250_400, 1_500_000, 3_600_000_000].map(|us| duration(Some(us)));
        assert_eq!(said, ["350 us", "1 ms", "5.2 ms", "12.3 ms", "250 ms", "1.5 s", "3600 s"]);
        assert_eq!(time("2026-11-30T08:00:01.000123Z"), "2026-11-30 08:00:01Z");
        assert_eq!(time("2026-11-30T08:00:01.5+00:00"), "2026-11-30 08:00:01Z");
        assert_eq!(time("2026-11-30T08:00:01-00:30"), "2026-11-30 08:00:01-00:30");
    }
}

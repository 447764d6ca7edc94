//! Canonical forms of RFC 7950 section 9, RFC 6991 and RFC 9911.

use crate::schema::Canonical;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// The canonical form of a string, or none when the text is not one of its kind at all.
pub(super) fn string(form: Canonical, text: &str) -> Option<Arc<str>> {
    match form {
        Canonical::Text | Canonical::DateAndTime | Canonical::XPath => Some(Arc::from(text)),
        Canonical::Lowercase => Some(Arc::from(text.to_lowercase())),
        Canonical::Ipv4Address => zoned(text, |address| Some(address.parse::<Ipv4Addr>().ok()?.to_string())),
        Canonical::Ipv6Address => zoned(text, |address| Some(address.parse::<Ipv6Addr>().ok()?.to_string())),
        Canonical::Ipv4Prefix => {
            let (address, length) = prefix(text, 32)?;
            let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
            let bits = address.parse::<Ipv4Addr>().ok()?.to_bits() & mask;
            Some(Arc::from(format!("{}/{length}", Ipv4Addr::from_bits(bits))))
        }
        Canonical::Ipv6Prefix => {
            let (address, length) = prefix(text, 128)?;
            let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
            let bits = address.parse::<Ipv6Addr>().ok()?.to_bits() & mask;
            Some(Arc::from(format!("{}/{length}", Ipv6Addr::from_bits(bits))))
        }
    }
}

fn zoned(text: &str, address: impl Fn(&str) -> Option<String>) -> Option<Arc<str>> {
    match text.split_once('%') {
        None => Some(Arc::from(address(text)?)),
        Some((head, zone)) => Some(Arc::from(format!("{}%{zone}", address(head)?))),
    }
}

fn prefix(text: &str, max: u8) -> Option<(&str, u8)> {
    let (address, length) = text.split_once('/')?;
    let length: u8 = length.parse().ok()?;
    (length <= max).then_some((address, length))
}

/// At least one digit on each side of the point, no more zeros than that (RFC 7950 section 9.3.2).
pub(super) fn write_decimal(f: &mut fmt::Formatter<'_>, digits: u8, unscaled: i64) -> fmt::Result {
    let sign = if unscaled < 0 { "-" } else { "" };
    let width = usize::from(digits) + 1;
    let all = format!("{:0width$}", unscaled.unsigned_abs());
    let (whole, fraction) = all.split_at(all.len() - usize::from(digits));
    let fraction = fraction.trim_end_matches('0');
    write!(f, "{sign}{whole}.{}", if fraction.is_empty() { "0" } else { fraction })
}

/// `text` scaled by 10^`digits`; none when it is no decimal or has more digits than that.
pub(super) fn read_decimal(text: &str, digits: u8) -> Option<i64> {
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let (whole, fraction) = rest.split_once('.').unwrap_or((rest, "0"));
    let numeric = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !numeric(whole) || !numeric(fraction) {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let missing = usize::from(digits).checked_sub(fraction.len())?;
    let unscaled: i128 = format!("{whole}{fraction}{}", "0".repeat(missing)).parse().ok()?;
    i64::try_from(if negative { -unscaled } else { unscaled }).ok()
}

/// Base64 without white space and its length in octets; none when it is not base64 (RFC 4648 section 4).
pub(super) fn base64(text: &str) -> Option<(String, u64)> {
    let text: String = text.chars().filter(|c| !matches!(c, ' ' | '\t' | '\n' | '\r')).collect();
    let data = text.trim_end_matches('=');
    let padding = text.len() - data.len();
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let spare = match (text.len() % 4, padding) {
        (0, 0) => 0,
        (0, 1) => 0b11,
        (0, 2) => 0b1111,
        _ => return None,
    };
    let last = data.bytes().try_fold(0, |_, byte| value(byte))?;
    // Bits that encode nothing must be zero, or two texts would be one value.
    (last & spare == 0).then_some(())?;
    let octets = text.len() / 4 * 3 - padding;
    Some((text, octets as u64))
}

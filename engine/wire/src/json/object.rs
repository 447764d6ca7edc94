//! Members of an object by their names and types.

use super::read::Value;
use crate::convert::{Decoded, Problem, fault};
use std::fmt::Display;
use std::net::IpAddr;
use std::str::FromStr;

/// Characters of a wrong value in an error.
const SHOWN: usize = 40;

/// An object whose members are taken one after another; what is left is not known.
#[derive(Debug)]
pub(super) struct Object {
    place: String,
    members: Vec<(String, Value)>,
}

impl Object {
    /// The object at `place`, which is empty for a document's own.
    pub(super) fn new(place: &str, value: Value) -> Decoded<Self> {
        match value {
            Value::Members(members) => Ok(Self { place: place.to_owned(), members }),
            other => Err(wrong(place, &other, "an object")),
        }
    }

    /// Members that nobody took.
    pub(super) fn unknown(&self) -> usize {
        self.members.len()
    }

    /// The whole path of a member.
    pub(super) fn path(&self, name: &str) -> String {
        if self.place.is_empty() { name.to_owned() } else { format!("{}.{name}", self.place) }
    }

    /// A member's value; null is absent.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        let index = self.members.iter().position(|(known, _)| known == name)?;
        let (_, value) = self.members.swap_remove(index);
        (value != Value::Null).then_some(value)
    }

    /// A member through `read`, if it is there.
    pub(super) fn optional<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&str, Value) -> Decoded<T>,
    ) -> Decoded<Option<T>> {
        self.take(name).map(|value| read(&self.path(name), value)).transpose()
    }

    /// A member through `read`, which must be there.
    pub(super) fn required<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&str, Value) -> Decoded<T>,
    ) -> Decoded<T> {
        self.optional(name, read)?.ok_or_else(|| fault(&self.path(name), Problem::Missing))
    }
}

fn wrong(field: &str, value: &Value, expected: &'static str) -> crate::DecodeError {
    let shorten = |text: &str| text.chars().take(SHOWN).collect::<String>();
    let found = match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Text(text) => format!("\"{}\"", shorten(text)),
        Value::List(_) => "an array".to_owned(),
        Value::Members(_) => "an object".to_owned(),
    };
    fault(field, Problem::Expected { found, expected })
}

/// A whole number of 64 bits, or the text of one.
pub(super) fn u64(field: &str, value: Value) -> Decoded<u64> {
    let number = match &value {
        Value::Number(number) => number.as_u64(),
        Value::Text(text) if text.bytes().all(|octet| octet.is_ascii_digit()) => text.parse().ok(),
        Value::Null | Value::Bool(_) | Value::Text(_) | Value::List(_) | Value::Members(_) => None,
    };
    number.ok_or_else(|| wrong(field, &value, "a whole number from 0 to 18446744073709551615 without a unit"))
}

/// A whole number of 32 bits.
pub(super) fn u32(field: &str, value: Value) -> Decoded<u32> {
    let shown = value.clone();
    let number = u64(field, value).ok().and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| wrong(field, &shown, "a whole number from 0 to 4294967295 without a unit"))
}

/// A port.
pub(super) fn u16(field: &str, value: Value) -> Decoded<u16> {
    let shown = value.clone();
    let number = u64(field, value).ok().and_then(|number| u16::try_from(number).ok());
    number.ok_or_else(|| wrong(field, &shown, "a number from 0 to 65535"))
}

pub(super) fn bool(field: &str, value: Value) -> Decoded<bool> {
    match value {
        Value::Bool(value) => Ok(value),
        other => Err(wrong(field, &other, "true or false")),
    }
}

pub(super) fn text(field: &str, value: Value) -> Decoded<String> {
    match value {
        Value::Text(text) => Ok(text),
        other => Err(wrong(field, &other, "a text")),
    }
}

pub(super) fn list(field: &str, value: Value) -> Decoded<Vec<Value>> {
    match value {
        Value::List(list) => Ok(list),
        other => Err(wrong(field, &other, "an array")),
    }
}

/// What is written as a number or as a text.
pub(super) fn parsed<T: FromStr>(field: &str, value: Value) -> Decoded<T>
where
    T::Err: Display,
{
    let written = match value {
        Value::Text(text) => text,
        Value::Number(number) => number.to_string(),
        other => return Err(wrong(field, &other, "a number or a text")),
    };
    written.parse().map_err(|error: T::Err| fault(field, Problem::Refused(error.to_string())))
}

pub(super) fn address(field: &str, value: Value) -> Decoded<IpAddr> {
    let parsed = match &value {
        Value::Text(text) => text.parse().ok(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::List(_) | Value::Members(_) => None,
    };
    parsed.ok_or_else(|| wrong(field, &value, "an IP address in a text"))
}

/// One of some words.
pub(super) fn word<T: Copy>(
    words: &'static [(&'static str, T)],
    expected: &'static str,
) -> impl Fn(&str, Value) -> Decoded<T> {
    move |field, value| {
        let found = match &value {
            Value::Text(text) => words.iter().find(|(name, _)| name == text),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::List(_) | Value::Members(_) => None,
        };
        found.map(|(_, value)| *value).ok_or_else(|| wrong(field, &value, expected))
    }
}

/// Milliseconds with at most three digits after the point, in microseconds.
pub(super) fn millis(field: &str, value: Value) -> Decoded<u64> {
    let written = match &value {
        Value::Number(number) => Some(number.to_string()),
        Value::Text(text) => Some(text.clone()),
        Value::Null | Value::Bool(_) | Value::List(_) | Value::Members(_) => None,
    };
    written.as_deref().and_then(micros).ok_or_else(|| {
        wrong(
            field,
            &value,
            "a number of milliseconds without a unit, with at most three digits after the point",
        )
    })
}

/// The decimal digits of a number are what counts: no binary fraction comes between.
fn micros(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|octet| octet.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.trim_end_matches('0').len() > 3 {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let rest: u64 = format!("{fraction:0<3}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(rest)
}

/// Microseconds as milliseconds.
pub(super) fn written(micros: u64) -> String {
    format!("{}.{:03}", micros / 1000, micros % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_keep_their_digits_and_refuse_units_signs_and_more_digits() {
        for (text, found) in [
            ("0", Some(0)),
            ("12.345", Some(12_345)),
            ("12.3", Some(12_300)),
            ("12.3000", Some(12_300)),
            ("3600000.000", Some(3_600_000_000)),
            ("18446744073709551.615", Some(u64::MAX)),
            ("18446744073709551.616", None),
            ("12.3456", None),
            ("-1", None),
            ("1e3", None),
            ("12ms", None),
            ("12 ms", None),
            (".5", None),
            ("5.", None),
            ("", None),
            ("NaN", None),
        ] {
            assert_eq!(micros(text), found, "{text}");
        }
        assert_eq!(written(12_005), "12.005");
    }
}

//! Leaf values: how they are read from RFC 7951 JSON and from the predicates of a path, and written.

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use serde_json::{Number, Value as Json};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The value of a leaf.
pub trait Leaf: Clone + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// What a key or mandatory leaf holds until its value is read; no valid configuration shows it.
    fn blank() -> Self;

    /// From its text, as in a predicate.
    ///
    /// # Errors
    /// What is wrong with the text.
    fn parse(text: &str) -> Result<Self, String>;

    /// From RFC 7951 JSON.
    ///
    /// # Errors
    /// What is wrong with the value.
    fn from_json(json: &Json) -> Result<Self, String> {
        match json {
            Json::String(text) => Self::parse(text),
            other => Err(format!("a string is expected, not {other}")),
        }
    }

    /// As RFC 7951 JSON.
    fn to_json(&self) -> Json;
}

/// A `decimal64`: the value times 10 to the power of `DIGITS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Decimal64<const DIGITS: u8> {
    scaled: i64,
}

impl<const DIGITS: u8> Decimal64<DIGITS> {
    /// Of the value times 10 to the power of `DIGITS`: with three digits, a time in milliseconds is given in
    /// microseconds.
    pub const fn from_scaled(scaled: i64) -> Self {
        Self { scaled }
    }

    /// The value times 10 to the power of `DIGITS`.
    pub const fn scaled(self) -> i64 {
        self.scaled
    }
}

impl<const DIGITS: u8> fmt::Display for Decimal64<DIGITS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = usize::from(DIGITS);
        let sign = if self.scaled < 0 { "-" } else { "" };
        let padded = format!("{:0>width$}", self.scaled.unsigned_abs(), width = digits + 1);
        let (whole, fraction) = padded.split_at(padded.len() - digits);
        let fraction = fraction.trim_end_matches('0');
        write!(f, "{sign}{whole}.{}", if fraction.is_empty() { "0" } else { fraction })
    }
}

impl<const DIGITS: u8> Leaf for Decimal64<DIGITS> {
    fn blank() -> Self {
        Self::default()
    }

    fn parse(text: &str) -> Result<Self, String> {
        let refused = || format!("{text:?} is no decimal number of at most {DIGITS} fraction digits");
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = usize::from(DIGITS);
        if fraction.len() > digits || !fraction.bytes().all(|c| c.is_ascii_digit()) || whole.is_empty() {
            return Err(refused());
        }
        let scaled: i64 = format!("{whole}{fraction:0<digits$}").parse().map_err(|_| refused())?;
        Ok(Self { scaled })
    }

    fn to_json(&self) -> Json {
        Json::String(self.to_string())
    }
}

/// The value of a leaf of type `empty`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Empty;

impl Leaf for Empty {
    fn blank() -> Self {
        Self
    }

    fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() { Ok(Self) } else { Err("an empty leaf has no value".to_owned()) }
    }

    fn from_json(json: &Json) -> Result<Self, String> {
        match json {
            Json::Array(values) if values.as_slice() == [Json::Null] => Ok(Self),
            other => Err(format!("[null] is expected, not {other}")),
        }
    }

    fn to_json(&self) -> Json {
        Json::Array(vec![Json::Null])
    }
}

impl Leaf for bool {
    fn blank() -> Self {
        false
    }

    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| format!("{text:?} is neither true nor false"))
    }

    fn from_json(json: &Json) -> Result<Self, String> {
        json.as_bool().ok_or_else(|| format!("{json} is neither true nor false"))
    }

    fn to_json(&self) -> Json {
        Json::Bool(*self)
    }
}

impl Leaf for String {
    fn blank() -> Self {
        Self::new()
    }

    fn parse(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }

    fn to_json(&self) -> Json {
        Json::String(self.clone())
    }
}

macro_rules! number {
    ($($integer:ty),*) => {$(
        impl Leaf for $integer {
            fn blank() -> Self {
                0
            }

            fn parse(text: &str) -> Result<Self, String> {
                text.parse().map_err(|_| format!("{text:?} is no {}", stringify!($integer)))
            }

            fn from_json(json: &Json) -> Result<Self, String> {
                let number = json.as_i64().and_then(|number| <$integer>::try_from(number).ok());
                number.ok_or_else(|| format!("{json} is no number that fits {}", stringify!($integer)))
            }

            fn to_json(&self) -> Json {
                Json::Number(Number::from(*self))
            }
        }
    )*};
}

number!(u8, u16, u32, i8, i16, i32);

macro_rules! text {
    ($($ty:ty, $what:literal, $blank:expr);*) => {$(
        impl Leaf for $ty {
            fn blank() -> Self {
                $blank
            }

            fn parse(text: &str) -> Result<Self, String> {
                text.parse().map_err(|_| format!("{text:?} is no {}", $what))
            }

            fn to_json(&self) -> Json {
                Json::String(self.to_string())
            }
        }
    )*};
}

// RFC 7951 section 6.1: numbers of 64 bits are strings.
text!(
    u64, "number of 64 bits without sign", 0;
    i64, "number of 64 bits", 0;
    Ipv4Addr, "IPv4 address without zone", Ipv4Addr::UNSPECIFIED;
    Ipv6Addr, "IPv6 address without zone", Ipv6Addr::UNSPECIFIED;
    IpAddr, "IP address without zone", IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    Ipv4Net, "IPv4 prefix", Ipv4Net::default();
    Ipv6Net, "IPv6 prefix", Ipv6Net::default();
    IpNet, "IP prefix", IpNet::default()
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_keep_their_scale_and_their_canonical_form() {
        let read = |text: &str| Decimal64::<3>::parse(text).map(|value| (value.scaled(), value.to_string()));
        assert_eq!(read("1.5"), Ok((1500, "1.5".to_owned())));
        assert_eq!(read("-0.25"), Ok((-250, "-0.25".to_owned())));
        assert_eq!(read("7"), Ok((7000, "7.0".to_owned())));
        assert_eq!(read("9223372036854775.807"), Ok((i64::MAX, "9223372036854775.807".to_owned())));
        for bad in ["", ".5", "1.0005", "1.x", "9223372036854775.808", "1.-5"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        assert!(u8::from_json(&Json::from(256)).is_err());
        assert!(u32::from_json(&Json::from(-1)).is_err());
        assert!(u32::from_json(&Json::from("7")).is_err());
        assert_eq!(u64::from_json(&Json::from("18446744073709551615")), Ok(u64::MAX));
        assert!(IpAddr::parse("fe80::1%eth0").is_err());
    }
}

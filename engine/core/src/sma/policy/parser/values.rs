//! Numbers with their units, percentages, identities and words of a choice.

use super::{Parser, Refusal, list};
use crate::sma::policy::lexer::Kind;
use crate::sma::policy::metric::{Number, Unit};
use crate::sma::policy::rule::{Amount, Value};
use crate::sma::policy::words::alike;
use crate::sma::transform::Percent;
use std::str::FromStr;

/// Units of time, and how many decimal digits they are above a microsecond.
const UNITS: [(&str, u32); 3] = [("us", 0), ("ms", 3), ("s", 6)];
const MILLISECONDS: u32 = 3;

impl Parser<'_> {
    /// A value of this metric, within its range; `or` says what else could stand here.
    pub(super) fn value(&mut self, metric: Number, or: &str) -> Result<u64, Refusal> {
        let token = self.peek().filter(|token| token.kind == Kind::Word);
        let before = self.offset;
        self.take();
        let value = token.and_then(|token| match metric.unit() {
            Unit::Count => scaled(token.text, 0),
            Unit::Time => self.time(token.text),
        });
        match value.filter(|value| *value <= metric.largest()) {
            Some(value) => Ok(value),
            None => {
                self.offset = before;
                let largest = Value { metric, value: metric.largest() };
                let what = match metric.unit() {
                    Unit::Count => format!("a whole number from 0 to {largest}"),
                    Unit::Time => format!("a time from 0ms to {largest}, such as 12.5, 12.5ms or 2s"),
                };
                Err(self.refuse(format!("{what}{or}"), []))
            }
        }
    }

    /// A time in microseconds; its unit may stand apart.
    fn time(&mut self, text: &str) -> Option<u64> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let attached = text.get(digits.len()..).unwrap_or_default();
        let scale = |unit: &str| UNITS.iter().find(|(name, _)| alike(name, unit)).map(|(_, scale)| *scale);
        if !attached.is_empty() {
            return scaled(digits, scale(attached)?);
        }
        let apart = self.peek().and_then(|token| scale(token.text));
        if apart.is_some() {
            self.take();
        }
        scaled(digits, apart.unwrap_or(MILLISECONDS))
    }

    /// What is taken from a metric.
    pub(super) fn amount(&mut self, metric: Number) -> Result<Amount, Refusal> {
        let before = self.offset;
        let token = self.take().filter(|token| token.kind == Kind::Word);
        if !self.take_kind(Kind::Percent) {
            self.offset = before;
            return self.value(metric, ", or a percentage such as 50%").map(Amount::Value);
        }
        let share = token.and_then(|token| scaled(token.text, 3)).and_then(|value| u32::try_from(value).ok());
        share.and_then(Percent::thousandths).map(Amount::Share).ok_or_else(|| {
            self.offset = before;
            self.refuse("a percentage from 0 to 100, of at most three decimals".to_owned(), [])
        })
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy, const N: usize>(
        &mut self,
        values: [T; N],
        name: fn(T) -> &'static str,
    ) -> Result<T, Refusal> {
        if let Some(value) = values.into_iter().find(|value| self.take_word(name(*value))) {
            return Ok(value);
        }
        let names = values.map(name);
        Err(self.refuse(list(names.iter().map(|name| format!("`{name}`"))), names))
    }

    /// A CS-ID or CSCI-ID.
    pub(super) fn identity<T: FromStr>(&mut self) -> Result<T, Refusal> {
        let token = self.peek().filter(|token| token.kind == Kind::Word);
        let Some(value) = token.and_then(|token| token.text.parse().ok()) else {
            return Err(self.refuse("a number from 1 to 4294967295 or an IP address".to_owned(), []));
        };
        self.take();
        Ok(value)
    }
}

/// A decimal number times 10 to the power of `scale`; nothing where it has more decimals or does not fit.
fn scaled(text: &str, scale: u32) -> Option<u64> {
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
        Some(_) => return None,
        None => (text, ""),
    };
    let numeric = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    let missing = scale.checked_sub(u32::try_from(fraction.len()).ok()?)?;
    if whole.is_empty() || !numeric(whole) || !numeric(fraction) {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let fraction: u64 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    whole.checked_mul(10_u64.checked_pow(scale)?)?.checked_add(fraction * 10_u64.checked_pow(missing)?)
}

//! Conversions between messages and `cats_engine_types`: those of `control_plane.proto`, and those of
//! `collection.proto` and `northbound.proto`.
//!
//! Encoding is `From<&Word> for Message` and cannot fail; decoding is `TryFrom<Message> for Word` and names the
//! field that the engine's types cannot hold.

mod advertisement;
mod binding;
mod flow;
mod forwarder;
mod instruction;
#[cfg(test)]
pub(crate) mod metric_tests;
mod report;
mod request;
#[cfg(test)]
pub(crate) mod tests;

use std::fmt;

/// Why a message is none of the engine's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    /// The fields that lead to the value, outermost first, joined by dots: `forward.key.client`. Empty: the whole.
    pub field: String,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A field that must be there is not.
    #[error("is missing")]
    Missing,
    /// An address is not of 4 or 16 octets.
    #[error("has {0} octets; an address has 4 or 16")]
    AddressLength(usize),
    /// A segment is not of 16 octets.
    #[error("has {0} octets; a segment has 16")]
    SegmentLength(usize),
    /// A number is outside of its range.
    #[error("is {found}; at most {max} is allowed")]
    TooLarge {
        /// On the wire.
        found: u64,
        /// The type's largest.
        max: u64,
    },
    /// An enumeration has a number that this release does not know.
    #[error("is the unknown number {0}")]
    UnknownNumber(i32),
    /// A text is larger than is taken.
    #[error("has {octets} octets; at most {max} are taken")]
    TooLong {
        /// Of the text.
        octets: usize,
        /// The bound.
        max: usize,
    },
    /// A text is no JSON.
    #[error("is no JSON: {0}")]
    Syntax(String),
    /// A value of JSON is of another kind, in another unit, or out of what its type can hold.
    #[error("is {found}; {expected} is expected")]
    Expected {
        /// The value, shortened.
        found: String,
        /// What the field takes.
        expected: &'static str,
    },
    /// A member of a JSON object is there twice.
    #[error("is there twice")]
    Repeated,
    /// The engine's own type refuses the value.
    #[error("{0}")]
    Refused(String),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            return write!(f, "the document {}", self.problem);
        }
        write!(f, "field `{}` {}", self.field, self.problem)
    }
}

impl std::error::Error for DecodeError {}

pub(crate) type Decoded<T> = Result<T, DecodeError>;

pub(crate) fn fault(field: &str, problem: Problem) -> DecodeError {
    DecodeError { field: field.to_owned(), problem }
}

fn refused(field: &'static str) -> impl Fn(&dyn fmt::Display) -> DecodeError {
    move |error| fault(field, Problem::Refused(error.to_string()))
}

/// Decodes the message in an optional field.
fn required<M, W: TryFrom<M, Error = DecodeError>>(field: &str, message: Option<M>) -> Decoded<W> {
    within(field, message.ok_or_else(|| fault(field, Problem::Missing))?)
}

/// Decodes a message, naming the field that holds it.
fn within<M, W: TryFrom<M, Error = DecodeError>>(field: &str, message: M) -> Decoded<W> {
    W::try_from(message)
        .map_err(|error| DecodeError { field: format!("{field}.{}", error.field), problem: error.problem })
}

/// Decodes each message of a repeated field, naming the index.
fn each<M, W: TryFrom<M, Error = DecodeError>>(field: &str, messages: Vec<M>) -> Decoded<Vec<W>> {
    messages
        .into_iter()
        .enumerate()
        .map(|(index, message)| within(&format!("{field}[{index}]"), message))
        .collect()
}

/// A number that a smaller type holds.
fn narrow<N, W: TryFrom<N>>(field: &str, value: N, max: u64) -> Decoded<W>
where
    N: Copy + Into<u64>,
{
    W::try_from(value).map_err(|_| fault(field, Problem::TooLarge { found: value.into(), max }))
}

/// A number that an enumeration must have.
fn named<E: TryFrom<i32>>(field: &str, number: i32) -> Decoded<E> {
    match number {
        0 => Err(fault(field, Problem::Missing)),
        _ => E::try_from(number).map_err(|_| fault(field, Problem::UnknownNumber(number))),
    }
}

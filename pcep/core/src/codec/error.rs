//! What can be wrong with bytes, and what the RFCs want to be answered.

use crate::errors::ErrorCode;
use thiserror::Error as ThisError;

/// Why bytes are no message.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
#[error("at byte {offset}: {fault}")]
pub struct DecodeError {
    /// Where, counted from the first byte of the message.
    pub offset: usize,
    /// What.
    pub fault: Fault,
    /// The request that it stands in, if one was read before.
    pub about: Option<Reference>,
}

/// The number by which the peer knows what an error is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reference {
    /// Of a path computation request.
    Request(u32),
    /// Of an operation of the stateful extensions.
    Operation(u32),
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
pub enum Fault {
    /// Not version 1.
    #[error("PCEP version {found}, expected 1")]
    Version {
        /// The version.
        found: u8,
    },
    /// Lengths by which messages and objects are told apart; what follows cannot be found.
    #[error("{what} has the length {found}, expected {expected}")]
    Framing {
        /// Whose length.
        what: &'static str,
        /// What it is.
        found: usize,
        /// What it may be.
        expected: &'static str,
    },
    /// Something ends early.
    #[error("{what} needs {needed} octets, {left} are left")]
    Truncated {
        /// What was expected.
        what: &'static str,
        /// Its length.
        needed: usize,
        /// What is there of it.
        left: usize,
    },
    /// Something ends late.
    #[error("{left} octets behind {what}")]
    Trailing {
        /// What had come to its end.
        what: &'static str,
        /// What is left.
        left: usize,
    },
    /// Fields that contradict each other, or have no meaning.
    #[error("{what}: {found}, expected {expected}")]
    Content {
        /// Where.
        what: &'static str,
        /// What stands there.
        found: u32,
        /// What may.
        expected: &'static str,
        /// The row of the error table that it falls under.
        code: ErrorCode,
    },
}

/// What a peer gets for a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// A PCErr message; the session goes on.
    Error(ErrorCode),
    /// The session ends, with Close reason 3: what follows cannot be understood.
    CloseMalformed,
}

impl DecodeError {
    pub(crate) fn new(offset: usize, fault: Fault) -> Self {
        Self { offset, fault, about: None }
    }

    /// What the peer gets. A version that is not ours is `1/8` as long as the session is not up.
    pub fn remedy(&self) -> Remedy {
        match &self.fault {
            Fault::Version { .. } | Fault::Framing { .. } => Remedy::CloseMalformed,
            Fault::Truncated { .. } | Fault::Trailing { .. } => Remedy::Error(ErrorCode::MALFORMED_OBJECT),
            Fault::Content { code, .. } => Remedy::Error(*code),
        }
    }
}

/// Why something does not fit into a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ThisError)]
pub enum EncodeError {
    /// The length field cannot say it.
    #[error("{what} has {length} octets, at most {limit} can be sent")]
    TooLong {
        /// What.
        what: &'static str,
        /// How long it is.
        length: usize,
        /// How long it may be.
        limit: usize,
    },
    /// Objects and sub-objects are multiples of four octets.
    #[error("{what} has {length} octets, which is no multiple of 4")]
    Unaligned {
        /// What.
        what: &'static str,
        /// How long it is.
        length: usize,
    },
}

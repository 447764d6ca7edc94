//! CLOSE (RFC 5440 section 7.17).

use crate::codec::tlv::Tlv;
use crate::codec::wire::{flags, layout};

flags! {
    /// Why a session ends; others are kept.
    pub struct CloseReason: u8 {
        /// None is given.
        NONE = 1,
        /// Nothing was heard for the dead timer.
        DEAD_TIMER = 2,
        /// A message that cannot be understood.
        MALFORMED = 3,
        /// Too many requests or replies that are not known.
        UNKNOWN_REQUESTS = 4,
        /// Too many messages of types that are not known.
        UNKNOWN_MESSAGES = 5,
    }
}

layout! {
    /// The end of a session.
    pub struct Close {
        /// Without a meaning.
        pub reserved: u16,
        /// None is known.
        pub flags: u8,
        /// Why.
        pub reason: CloseReason,
        /// None is known.
        pub tlvs: Vec<Tlv>,
    }
}

impl Close {
    /// One for that reason.
    pub fn new(reason: CloseReason) -> Self {
        Self { reserved: 0, flags: 0, reason, tlvs: Vec::new() }
    }
}

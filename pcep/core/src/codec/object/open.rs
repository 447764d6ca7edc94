//! OPEN (RFC 5440 section 7.3).

use crate::codec::tlv::Tlv;
use crate::codec::wire::layout;

layout! {
    /// What a peer says of itself and wants of the session.
    pub struct Open {
        /// Three bits of version, five of flags without a meaning.
        pub version_and_flags: u8,
        /// The most seconds between two of its messages; 0: it sends no Keepalives.
        pub keepalive: u8,
        /// The seconds of silence after which the other side may end the session; 0: never.
        pub dead_timer: u8,
        /// Tells one session of a peer from its next one.
        pub session: u8,
        /// Its capabilities.
        pub tlvs: Vec<Tlv>,
    }
}

impl Open {
    /// One of version 1.
    pub fn new(keepalive: u8, dead_timer: u8, session: u8, tlvs: Vec<Tlv>) -> Self {
        Self { version_and_flags: 1 << 5, keepalive, dead_timer, session, tlvs }
    }

    /// The version.
    pub fn version(&self) -> u8 {
        self.version_and_flags >> 5
    }
}

//! PCEP-ERROR (RFC 5440 section 7.15).

use crate::codec::tlv::Tlv;
use crate::codec::wire::layout;
use crate::errors::ErrorCode;

layout! {
    /// Something that a peer could not accept.
    pub struct PcepError {
        /// Without a meaning.
        pub reserved: u8,
        /// None is known.
        pub flags: u8,
        /// The row of the error table.
        pub code: ErrorCode,
        /// Among them what was missing.
        pub tlvs: Vec<Tlv>,
    }
}

impl PcepError {
    /// One without TLVs.
    pub fn new(code: ErrorCode) -> Self {
        Self { reserved: 0, flags: 0, code, tlvs: Vec::new() }
    }
}

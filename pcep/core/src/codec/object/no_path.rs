//! NO-PATH (RFC 5440 section 7.5).

use crate::codec::tlv::Tlv;
use crate::codec::wire::{flags, layout};

flags! {
    /// What a refusal comes with.
    pub struct NoPathFlags: u16 {
        /// C: the constraints that could not be met follow.
        CONSTRAINTS = 0x8000,
    }
}

layout! {
    /// There is no path.
    pub struct NoPath {
        /// 0: none meets the constraints; 1: the chain of PCEs is broken.
        pub nature: u8,
        /// What else the reply has.
        pub flags: NoPathFlags,
        /// Without a meaning.
        pub reserved: u8,
        /// Among them the reasons.
        pub tlvs: Vec<Tlv>,
    }
}

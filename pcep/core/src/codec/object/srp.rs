//! SRP (RFC 8231 section 7.2).

use crate::codec::tlv::Tlv;
use crate::codec::wire::{flags, layout};

flags! {
    /// The flags of an operation.
    pub struct SrpFlags: u32 {
        /// R: the LSP is to be removed (RFC 8281).
        REMOVE = 0x01,
    }
}

layout! {
    /// The parameters of an update, an initiation, or a report that answers one.
    pub struct Srp {
        /// What is asked for.
        pub flags: SrpFlags,
        /// By which the answer is known; 0: it answers nothing.
        pub operation: u32,
        /// Among them how the path is set up.
        pub tlvs: Vec<Tlv>,
    }
}

//! LSPA (RFC 5440 section 7.11).

use crate::codec::tlv::Tlv;
use crate::codec::wire::{flags, layout};

flags! {
    /// The flags of an LSP's attributes.
    pub struct LspaFlags: u8 {
        /// L: links are to be protected.
        LOCAL_PROTECTION = 0x01,
    }
}

layout! {
    /// The attributes of an LSP: affinities and priorities.
    pub struct Lspa {
        /// No link with any of these.
        pub exclude_any: u32,
        /// Only links with any of these; 0: all.
        pub include_any: u32,
        /// Only links with all of these.
        pub include_all: u32,
        /// 0 takes resources first.
        pub setup_priority: u8,
        /// 0 loses them last.
        pub holding_priority: u8,
        /// More of it.
        pub flags: LspaFlags,
        /// Without a meaning.
        pub reserved: u8,
        /// None is known.
        pub tlvs: Vec<Tlv>,
    }
}

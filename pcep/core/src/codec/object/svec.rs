//! SVEC (RFC 5440 section 7.13).

use crate::codec::wire::{flags, layout};

flags! {
    /// How requests depend on each other; the highest octet has no meaning.
    pub struct SvecFlags: u32 {
        /// L: no link in common.
        LINK_DIVERSE = 0x01,
        /// N: no node in common.
        NODE_DIVERSE = 0x02,
        /// S: no shared risk in common.
        SRLG_DIVERSE = 0x04,
    }
}

layout! {
    /// Requests that are to be computed together.
    pub struct Svec {
        /// How they depend on each other.
        pub flags: SvecFlags,
        /// Their numbers.
        pub requests: Vec<u32>,
    }
}

//! RP (RFC 5440 section 7.4).

use crate::codec::tlv::Tlv;
use crate::codec::wire::{flags, layout};

flags! {
    /// The flags of a request; the three lowest bits are its priority.
    pub struct RpFlags: u32 {
        /// R: an existing LSP is to be optimised anew.
        REOPTIMISE = 0x0008,
        /// B: the path is to be usable in both directions.
        BIDIRECTIONAL = 0x0010,
        /// O: loose hops will do.
        LOOSE = 0x0020,
        /// OF, called S by some: the reply is to say which objective function was used (RFC 5541).
        OBJECTIVE_FUNCTION = 0x0080,
    }
}

impl RpFlags {
    /// The priority, 1 to 7; 0 is none.
    pub fn priority(self) -> u8 {
        u8::try_from(self.0 & 7).unwrap_or(0)
    }
}

layout! {
    /// The parameters of a path computation request, and of its reply.
    pub struct Rp {
        /// What is asked for.
        pub flags: RpFlags,
        /// By which the reply is known; never 0.
        pub request: u32,
        /// Among them how the path is set up.
        pub tlvs: Vec<Tlv>,
    }
}

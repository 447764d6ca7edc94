//! OF (RFC 5541 section 3.2).

use crate::codec::tlv::Tlv;
use crate::codec::wire::layout;

layout! {
    /// What a path is to be best at.
    pub struct ObjectiveFunction {
        /// Which function; 1: the least cost.
        pub code: u16,
        /// Without a meaning.
        pub reserved: u16,
        /// None is known.
        pub tlvs: Vec<Tlv>,
    }
}

//! NOTIFICATION (RFC 5440 section 7.14).

use crate::codec::tlv::Tlv;
use crate::codec::wire::layout;

layout! {
    /// Something that a peer lets know.
    pub struct Notification {
        /// Without a meaning.
        pub reserved: u8,
        /// None is known.
        pub flags: u8,
        /// 1: requests are cancelled; 2: the PCE is congested.
        pub kind: u8,
        /// Depends on the type.
        pub value: u8,
        /// Among them for how long.
        pub tlvs: Vec<Tlv>,
    }
}

//! ASSOCIATION (RFC 8697 section 6.1); type 6 is an SR policy (RFC 9862).

use crate::codec::tlv::Tlv;
use crate::codec::wire::{flags, layout};
use std::net::{Ipv4Addr, Ipv6Addr};

flags! {
    /// The flags of an association.
    pub struct AssociationFlags: u16 {
        /// R: the LSP leaves it.
        REMOVE = 0x01,
    }
}

layout! {
    /// A group that an LSP belongs to.
    pub struct AssociationV4 {
        /// Without a meaning.
        pub reserved: u16,
        /// Whether the LSP joins or leaves.
        pub flags: AssociationFlags,
        /// What the group is for; 6: an SR policy.
        pub kind: u16,
        /// Its number.
        pub id: u16,
        /// Who gave the number.
        pub source: Ipv4Addr,
        /// More of its identity, and what is said of the group.
        pub tlvs: Vec<Tlv>,
    }
}

layout! {
    /// A group that an LSP belongs to.
    pub struct AssociationV6 {
        /// Without a meaning.
        pub reserved: u16,
        /// Whether the LSP joins or leaves.
        pub flags: AssociationFlags,
        /// What the group is for; 6: an SR policy.
        pub kind: u16,
        /// Its number.
        pub id: u16,
        /// Who gave the number.
        pub source: Ipv6Addr,
        /// More of its identity, and what is said of the group.
        pub tlvs: Vec<Tlv>,
    }
}

//! Hops that are addresses, interfaces, autonomous systems or risks (RFC 3209, RFC 3477, RFC 5521).

use crate::codec::wire::layout;
use std::net::{Ipv4Addr, Ipv6Addr};

layout! {
    /// An IPv4 prefix.
    pub struct Ipv4Prefix {
        /// Its address.
        pub address: Ipv4Addr,
        /// Its length in bits.
        pub length: u8,
        /// Flags in an RRO, an attribute in an XRO, otherwise without a meaning.
        pub flags: u8,
    }
}

layout! {
    /// An IPv6 prefix.
    pub struct Ipv6Prefix {
        /// Its address.
        pub address: Ipv6Addr,
        /// Its length in bits.
        pub length: u8,
        /// Flags in an RRO, an attribute in an XRO, otherwise without a meaning.
        pub flags: u8,
    }
}

layout! {
    /// An interface without address.
    pub struct UnnumberedInterface {
        /// Without a meaning in an ERO.
        pub flags: u16,
        /// Its router.
        pub router: Ipv4Addr,
        /// Its number on that router.
        pub interface: u32,
    }
}

layout! {
    /// An autonomous system of a number of 16 bits.
    pub struct AutonomousSystem {
        /// Its number.
        pub number: u16,
    }
}

layout! {
    /// A shared risk link group, in an XRO.
    pub struct SharedRisk {
        /// Its number.
        pub group: u32,
        /// Without a meaning.
        pub reserved: u8,
        /// What of it is to be avoided.
        pub attribute: u8,
    }
}

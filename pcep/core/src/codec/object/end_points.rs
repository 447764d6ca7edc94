//! END-POINTS (RFC 5440 section 7.6).

use crate::codec::wire::layout;
use std::net::{Ipv4Addr, Ipv6Addr};

layout! {
    /// From where to where.
    pub struct EndPointsV4 {
        /// The headend.
        pub source: Ipv4Addr,
        /// The other end.
        pub destination: Ipv4Addr,
    }
}

layout! {
    /// From where to where.
    pub struct EndPointsV6 {
        /// The headend.
        pub source: Ipv6Addr,
        /// The other end.
        pub destination: Ipv6Addr,
    }
}

//! LOAD-BALANCING (RFC 5440 section 7.16).

use crate::codec::wire::{Ieee754, layout};

layout! {
    /// Into how many paths a demand may be split.
    pub struct LoadBalancing {
        /// Without a meaning.
        pub reserved: u16,
        /// None is known.
        pub flags: u8,
        /// The most paths.
        pub most: u8,
        /// The least octets a second of each.
        pub least: Ieee754,
    }
}

//! BANDWIDTH (RFC 5440 section 7.7).

use crate::codec::wire::{Ieee754, layout};

layout! {
    /// How much a path must be able to carry.
    pub struct Bandwidth {
        /// Octets a second.
        pub octets: Ieee754,
    }
}

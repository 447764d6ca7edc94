//! VENDOR-INFORMATION (RFC 7470).

use crate::codec::wire::layout;

layout! {
    /// What only one vendor understands.
    pub struct VendorInformation {
        /// Whose it is.
        pub enterprise: u32,
        /// A multiple of four octets.
        pub data: Vec<u8>,
    }
}

//! Lists of hops: ERO, RRO, IRO (RFC 5440 sections 7.9, 7.10, 7.12) and XRO (RFC 5521).

use crate::codec::error::{DecodeError, Fault};
use crate::codec::reader::Reader;
use crate::codec::subobject::Subobject;
use crate::codec::wire::{Wire, Writer, layout};
use crate::errors::ErrorCode;

layout! {
    /// The path that is to be taken.
    pub struct Ero {
        /// From the headend on.
        pub hops: Vec<Subobject>,
    }
}

/// The path that is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rro {
    /// From the headend on.
    pub hops: Vec<Subobject>,
}

layout! {
    /// What the path is to pass.
    pub struct Iro {
        /// In this order.
        pub hops: Vec<Subobject>,
    }
}

layout! {
    /// What the path is to avoid.
    pub struct Xro {
        /// Without a meaning.
        pub reserved: u16,
        /// F, the lowest bit: the LSP that is to be optimised has failed.
        pub flags: u16,
        /// Which nodes, links and risks; the highest bit of each is X: avoid it if possible.
        pub hops: Vec<Subobject>,
    }
}

/// Its sub-objects are those of an ERO, but their errors have other numbers.
impl Wire for Rro {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let hops = Wire::read(reader).map_err(|mut error: DecodeError| {
            if let Fault::Content { code, .. } = &mut error.fault {
                *code = match *code {
                    ErrorCode::SR_ERO_EMPTY => ErrorCode::SR_RRO_EMPTY,
                    ErrorCode::SRV6_ERO_EMPTY => ErrorCode::SRV6_RRO_EMPTY,
                    other => other,
                };
            }
            error
        })?;
        Ok(Self { hops })
    }

    fn write(&self, writer: &mut Writer) {
        self.hops.write(writer);
    }
}

#[cfg(test)]
impl crate::codec::sample::Sample for Rro {
    fn sample(seed: &mut crate::codec::sample::Seed<'_>) -> Self {
        Self { hops: crate::codec::sample::Sample::sample(seed) }
    }
}

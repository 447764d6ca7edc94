//! TLVs of LSPs and requests.

use crate::codec::error::DecodeError;
use crate::codec::reader::Reader;
use crate::codec::subobject::SidStructure;
use crate::codec::wire::{Wire, Writer, flags, layout};
use std::net::{Ipv4Addr, Ipv6Addr};

flags! {
    /// NO-PATH-VECTOR (RFC 5440 section 7.5).
    pub struct NoPathReasons: u32 {
        /// The PCE is not available.
        UNAVAILABLE = 0x01,
        /// The destination is unknown.
        UNKNOWN_DESTINATION = 0x02,
        /// The source is unknown.
        UNKNOWN_SOURCE = 0x04,
    }
}

flags! {
    /// How a path is set up.
    pub struct SetupType: u8 {
        /// By RSVP-TE, which is meant where nothing is said.
        RSVP = 0,
        /// By SR-MPLS (RFC 8664).
        SR = 1,
        /// By SRv6 (RFC 9603).
        SRV6 = 3,
    }
}

layout! {
    /// PATH-SETUP-TYPE (RFC 8408 section 4).
    pub struct PathSetupType {
        /// Without a meaning.
        pub reserved: [u8; 3],
        /// How.
        pub kind: SetupType,
    }
}

layout! {
    /// IPV4-LSP-IDENTIFIERS (RFC 8231 section 7.3.1).
    pub struct Ipv4LspIdentifiers {
        /// The headend.
        pub sender: Ipv4Addr,
        /// Of the path of the tunnel.
        pub lsp: u16,
        /// Of the tunnel.
        pub tunnel: u16,
        /// More of the tunnel's.
        pub extended_tunnel: Ipv4Addr,
        /// The other end.
        pub endpoint: Ipv4Addr,
    }
}

layout! {
    /// IPV6-LSP-IDENTIFIERS (RFC 8231 section 7.3.1).
    pub struct Ipv6LspIdentifiers {
        /// The headend.
        pub sender: Ipv6Addr,
        /// Of the path of the tunnel.
        pub lsp: u16,
        /// Of the tunnel.
        pub tunnel: u16,
        /// More of the tunnel's.
        pub extended_tunnel: Ipv6Addr,
        /// The other end.
        pub endpoint: Ipv6Addr,
    }
}

/// TE-PATH-BINDING (RFC 9604 section 4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// R, the highest bit: the value is to be removed; S, the next: it is to be specified.
    pub flags: u8,
    /// Without a meaning.
    pub reserved: u16,
    /// By which the path is entered.
    pub value: BindingValue,
}

/// What a path is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BindingValue {
    /// 0: a label, in the highest 20 of 24 bits.
    Label([u8; 3]),
    /// 1: an entry of a label stack.
    LabelEntry(u32),
    /// 2: an SRv6 SID.
    Srv6(Ipv6Addr),
    /// 3: an SRv6 SID, and what it does.
    Srv6Behaviour {
        /// The SID.
        sid: Ipv6Addr,
        /// Without a meaning.
        reserved: u16,
        /// Its endpoint behaviour.
        behaviour: u16,
        /// Its parts.
        structure: SidStructure,
    },
    /// Of another type.
    Unknown(UnknownBinding),
}

/// A binding of a type that has no name here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownBinding {
    kind: u8,
    value: Vec<u8>,
}

impl BindingValue {
    fn read(kind: u8, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match kind {
            // Nothing at all: the peer is to choose.
            0..=3 if reader.is_empty() => Self::Unknown(UnknownBinding { kind, value: Vec::new() }),
            0 => Self::Label(Wire::read(reader)?),
            1 => Self::LabelEntry(Wire::read(reader)?),
            2 => Self::Srv6(Wire::read(reader)?),
            3 => Self::Srv6Behaviour {
                sid: Wire::read(reader)?,
                reserved: Wire::read(reader)?,
                behaviour: Wire::read(reader)?,
                structure: Wire::read(reader)?,
            },
            kind => Self::Unknown(UnknownBinding { kind, value: reader.rest().to_vec() }),
        })
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Label(_) => 0,
            Self::LabelEntry(_) => 1,
            Self::Srv6(_) => 2,
            Self::Srv6Behaviour { .. } => 3,
            Self::Unknown(unknown) => unknown.kind,
        }
    }
}

impl Wire for Binding {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let [kind, flags, high, low] = reader.array("a binding")?;
        let value = BindingValue::read(kind, reader)?;
        Ok(Self { flags, reserved: u16::from_be_bytes([high, low]), value })
    }

    fn write(&self, writer: &mut Writer) {
        writer.put(&[self.value.kind(), self.flags]);
        self.reserved.write(writer);
        match &self.value {
            BindingValue::Label(label) => label.write(writer),
            BindingValue::LabelEntry(entry) => entry.write(writer),
            BindingValue::Srv6(sid) => sid.write(writer),
            BindingValue::Srv6Behaviour { sid, reserved, behaviour, structure } => {
                sid.write(writer);
                reserved.write(writer);
                behaviour.write(writer);
                structure.write(writer);
            }
            BindingValue::Unknown(unknown) => unknown.value.write(writer),
        }
    }
}

#[cfg(test)]
impl crate::codec::sample::Sample for Binding {
    fn sample(seed: &mut crate::codec::sample::Seed<'_>) -> Self {
        use crate::codec::sample::Sample;
        let value = match seed.below(6) {
            0 => BindingValue::Label(Sample::sample(seed)),
            1 => BindingValue::LabelEntry(Sample::sample(seed)),
            2 => BindingValue::Srv6(Sample::sample(seed)),
            3 => BindingValue::Srv6Behaviour {
                sid: Sample::sample(seed),
                reserved: Sample::sample(seed),
                behaviour: Sample::sample(seed),
                structure: Sample::sample(seed),
            },
            4 => BindingValue::Unknown(UnknownBinding { kind: 2, value: Vec::new() }),
            _ => BindingValue::Unknown(UnknownBinding { kind: 9, value: seed.words() }),
        };
        Self { flags: Sample::sample(seed), reserved: Sample::sample(seed), value }
    }
}

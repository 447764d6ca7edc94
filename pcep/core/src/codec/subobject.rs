//! Sub-objects of routes: a hop, or what is to be avoided.

mod hop;
mod sr;
mod srv6;

pub use hop::{AutonomousSystem, Ipv4Prefix, Ipv6Prefix, SharedRisk, UnnumberedInterface};
pub use sr::{Nai, NaiType, SidAndNai, SrCode, SrFlags, SrHop};
pub use srv6::{SidStructure, Srv6Flags, Srv6Hop, Srv6Sid};

use super::error::{DecodeError, Fault};
use super::reader::Reader;
use super::wire::{Wire, Writer};
use crate::errors::ErrorCode;

/// A sub-object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subobject {
    /// The highest bit. In an ERO or IRO, L: the hop is loose; in an XRO, X: to be avoided if possible.
    pub loose: bool,
    /// The rest.
    pub value: SubobjectValue,
}

/// What a sub-object says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubobjectValue {
    /// 1: an IPv4 prefix.
    Ipv4(Ipv4Prefix),
    /// 2: an IPv6 prefix.
    Ipv6(Ipv6Prefix),
    /// 4: an interface without address.
    Unnumbered(UnnumberedInterface),
    /// 32: an autonomous system.
    AutonomousSystem(AutonomousSystem),
    /// 34: a shared risk link group.
    SharedRisk(SharedRisk),
    /// 36, or 5 before RFC 8664: a segment of SR-MPLS.
    Sr(SrHop),
    /// 40: a segment of SRv6.
    Srv6(Srv6Hop),
    /// Of another type.
    Unknown(UnknownSubobject),
}

/// A sub-object that is kept as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownSubobject {
    kind: u8,
    body: Vec<u8>,
}

impl UnknownSubobject {
    /// Its type.
    pub fn kind(&self) -> u8 {
        self.kind
    }

    /// What follows type and length.
    pub fn body(&self) -> &[u8] {
        &self.body
    }
}

impl Subobject {
    /// One without the highest bit.
    pub fn strict(value: SubobjectValue) -> Self {
        Self { loose: false, value }
    }
}

impl SubobjectValue {
    fn read(kind: u8, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match kind {
            1 => Self::Ipv4(Wire::read(reader)?),
            2 => Self::Ipv6(Wire::read(reader)?),
            4 => Self::Unnumbered(Wire::read(reader)?),
            5 => return Ok(Self::read_old(reader)),
            32 => Self::AutonomousSystem(Wire::read(reader)?),
            34 => Self::SharedRisk(Wire::read(reader)?),
            36 => Self::Sr(SrHop::read(SrCode::Assigned, reader)?),
            40 => Self::Srv6(Wire::read(reader)?),
            kind => Self::Unknown(UnknownSubobject { kind, body: reader.rest().to_vec() }),
        })
    }

    /// Type 5 was used for SR before it was given to something else: what reads as a segment is one.
    fn read_old(reader: &mut Reader<'_>) -> Self {
        let mut attempt = *reader;
        let hop = SrHop::read(SrCode::Draft, &mut attempt).ok().filter(|_| attempt.is_empty());
        let body = reader.rest();
        match hop {
            Some(hop) => Self::Sr(hop),
            None => Self::Unknown(UnknownSubobject { kind: 5, body: body.to_vec() }),
        }
    }

    /// Its type.
    pub fn kind(&self) -> u8 {
        match self {
            Self::Ipv4(_) => 1,
            Self::Ipv6(_) => 2,
            Self::Unnumbered(_) => 4,
            Self::AutonomousSystem(_) => 32,
            Self::SharedRisk(_) => 34,
            Self::Sr(hop) => hop.code.number(),
            Self::Srv6(_) => 40,
            Self::Unknown(unknown) => unknown.kind,
        }
    }

    fn write(&self, writer: &mut Writer) {
        match self {
            Self::Ipv4(hop) => hop.write(writer),
            Self::Ipv6(hop) => hop.write(writer),
            Self::Unnumbered(hop) => hop.write(writer),
            Self::AutonomousSystem(hop) => hop.write(writer),
            Self::SharedRisk(hop) => hop.write(writer),
            Self::Sr(hop) => hop.write(writer),
            Self::Srv6(hop) => hop.write(writer),
            Self::Unknown(unknown) => unknown.body.write(writer),
        }
    }
}

const LOOSE: u8 = 0x80;

impl Wire for Subobject {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at = reader.offset();
        let [first, length] = reader.array("a sub-object")?;
        let length = usize::from(length);
        if length < 4 || !length.is_multiple_of(4) {
            let found = u32::try_from(length).unwrap_or(u32::MAX);
            return Err(DecodeError::new(
                at + 1,
                malformed("the length of a sub-object", found, "4, 8, 12 or so on"),
            ));
        }
        let mut inner = reader.split(length - 2, "a sub-object")?;
        let value = SubobjectValue::read(first & !LOOSE, &mut inner)?;
        inner.finish("a sub-object")?;
        Ok(Self { loose: first & LOOSE != 0, value })
    }

    fn write(&self, writer: &mut Writer) {
        let at = writer.len();
        writer.put(&[if self.loose { LOOSE } else { 0 } | self.value.kind(), 0]);
        self.value.write(writer);
        writer.check_aligned(at, "a sub-object");
        let length = writer.len() - at;
        writer.set_short_length(at + 1, length, "a sub-object");
    }
}

/// A field that makes the object malformed.
pub(crate) fn malformed(what: &'static str, found: u32, expected: &'static str) -> Fault {
    Fault::Content { what, found, expected, code: ErrorCode::MALFORMED_OBJECT }
}

#[cfg(test)]
impl crate::codec::sample::Sample for Subobject {
    fn sample(seed: &mut crate::codec::sample::Seed<'_>) -> Self {
        use crate::codec::sample::Sample;
        let value = match seed.below(8) {
            0 => SubobjectValue::Ipv4(Sample::sample(seed)),
            1 => SubobjectValue::Ipv6(Sample::sample(seed)),
            2 => SubobjectValue::Unnumbered(Sample::sample(seed)),
            3 => SubobjectValue::AutonomousSystem(Sample::sample(seed)),
            4 => SubobjectValue::SharedRisk(Sample::sample(seed)),
            5 => SubobjectValue::Sr(Sample::sample(seed)),
            6 => SubobjectValue::Srv6(Sample::sample(seed)),
            _ => {
                let body = [vec![1, 2], seed.words()].concat();
                SubobjectValue::Unknown(UnknownSubobject { kind: 99, body })
            }
        };
        Self { loose: bool::sample(seed), value }
    }
}

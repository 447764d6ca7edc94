//! SRv6-ERO and SRv6-RRO (RFC 9603 section 4.3).

use super::sr::{Nai, NaiType, SidAndNai};
use crate::codec::error::{DecodeError, Fault};
use crate::codec::reader::Reader;
use crate::codec::wire::{Wire, Writer, layout};
use crate::errors::ErrorCode;
use std::net::Ipv6Addr;

layout! {
    /// The parts of an SRv6 SID, in bits.
    pub struct SidStructure {
        /// The block of the locator.
        pub block: u8,
        /// The node of the locator.
        pub node: u8,
        /// The function.
        pub function: u8,
        /// The argument.
        pub argument: u8,
        /// Without a meaning.
        pub reserved: [u8; 3],
        /// None is known.
        pub flags: u8,
    }
}

impl SidStructure {
    /// Parts of these lengths.
    pub fn new(block: u8, node: u8, function: u8, argument: u8) -> Self {
        Self { block, node, function, argument, reserved: [0; 3], flags: 0 }
    }

    /// Does a SID have room for all parts?
    pub fn is_valid(&self) -> bool {
        let parts = [self.block, self.node, self.function, self.argument];
        parts.into_iter().map(u16::from).sum::<u16>() <= 128
    }
}

/// An SRv6 SID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Srv6Sid {
    /// It.
    pub address: Ipv6Addr,
    /// Its parts, if they are told.
    pub structure: Option<SidStructure>,
}

/// What is said of a SID, but what is there of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Srv6Flags(u16);

impl Srv6Flags {
    /// V: the headend is to verify the SID.
    pub const VERIFY: Self = Self(0x008);

    const SID_ABSENT: u16 = 0x001;
    const NAI_ABSENT: u16 = 0x002;
    const STRUCTURE: u16 = 0x004;
    const OTHERS: u16 = 0xff8;

    /// Are all of these set?
    pub const fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }
}

/// A segment of SRv6.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Srv6Hop {
    /// What is to be done with it. T without a SID has no meaning, and is kept.
    pub flags: Srv6Flags,
    /// Without a meaning.
    pub reserved: u16,
    /// What the SID does at its node; 0xffff if that is not known.
    pub behaviour: u16,
    /// The SID and the NAI.
    pub segment: SidAndNai<Srv6Sid>,
}

impl Srv6Hop {
    /// That SID.
    pub fn new(behaviour: u16, address: Ipv6Addr, structure: Option<SidStructure>) -> Self {
        let segment = SidAndNai::sid(Srv6Sid { address, structure });
        Self { flags: Srv6Flags::default(), reserved: 0, behaviour, segment }
    }

    /// Its SID, if it has one.
    pub fn sid(&self) -> Option<&Srv6Sid> {
        match &self.segment {
            SidAndNai::Sid(sid, _) | SidAndNai::Both(sid, _) => Some(sid),
            SidAndNai::Nai(_) => None,
        }
    }
}

impl Wire for Srv6Hop {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let word = u16::read(reader)?;
        let has_sid = word & Srv6Flags::SID_ABSENT == 0;
        let has_nai = word & Srv6Flags::NAI_ABSENT == 0;
        if !has_sid && !has_nai {
            return Err(reader.fault(Fault::Content {
                what: "the flags of an SRv6-ERO",
                found: u32::from(word),
                expected: "a SID or an NAI: S and F exclude each other",
                code: ErrorCode::SRV6_ERO_EMPTY,
            }));
        }
        let kind = (word >> 12).to_be_bytes()[1];
        if has_nai {
            check_kind(kind, reader)?;
        }
        let reserved = Wire::read(reader)?;
        let behaviour = Wire::read(reader)?;
        let address = if has_sid { Some(Wire::read(reader)?) } else { None };
        let nai = if has_nai { Some(Nai::read(kind, ErrorCode::SRV6_NAI_TYPE, reader)?) } else { None };
        let has_structure = has_sid && word & Srv6Flags::STRUCTURE != 0;
        let structure = if has_structure { Some(Wire::read(reader)?) } else { None };
        let others = if has_sid { Srv6Flags::OTHERS } else { Srv6Flags::OTHERS | Srv6Flags::STRUCTURE };
        let segment = match (address, nai) {
            (Some(address), Some(nai)) => SidAndNai::Both(Srv6Sid { address, structure }, nai),
            (Some(address), None) => SidAndNai::Sid(Srv6Sid { address, structure }, NaiType::from_bits(kind)),
            (None, Some(nai)) => SidAndNai::Nai(nai),
            (None, None) => {
                return Err(reader.fault(Fault::Truncated { what: "a SID", needed: 16, left: 0 }));
            }
        };
        Ok(Self { flags: Srv6Flags(word & others), reserved, behaviour, segment })
    }

    fn write(&self, writer: &mut Writer) {
        let (sid, nai, kind) = match &self.segment {
            SidAndNai::Sid(sid, kind) => (Some(sid), None, kind.number()),
            SidAndNai::Nai(nai) => (None, Some(nai), nai.kind()),
            SidAndNai::Both(sid, nai) => (Some(sid), Some(nai), nai.kind()),
        };
        let structure = sid.and_then(|sid| sid.structure.as_ref());
        let mut word = u16::from(kind) << 12 | self.flags.0;
        word |= if sid.is_none() { Srv6Flags::SID_ABSENT } else { 0 };
        word |= if nai.is_none() { Srv6Flags::NAI_ABSENT } else { 0 };
        word |= if structure.is_some() { Srv6Flags::STRUCTURE } else { 0 };
        word.write(writer);
        self.reserved.write(writer);
        self.behaviour.write(writer);
        if let Some(sid) = sid {
            sid.address.write(writer);
        }
        if let Some(nai) = nai {
            nai.write(writer);
        }
        if let Some(structure) = structure {
            structure.write(writer);
        }
    }
}

/// Those of IPv4 mean nothing to SRv6. Without a type the NAI of 0 is malformed, which [`Nai::read`] says.
fn check_kind(kind: u8, reader: &Reader<'_>) -> Result<(), DecodeError> {
    match kind {
        0 | 2 | 4 | 6 => Ok(()),
        kind => Err(reader.fault(Fault::Content {
            what: "the NAI type of an SRv6-ERO",
            found: u32::from(kind),
            expected: "2, 4 or 6",
            code: ErrorCode::SRV6_NAI_TYPE,
        })),
    }
}

#[cfg(test)]
mod samples {
    use super::*;
    use crate::codec::sample::{Sample, Seed};

    impl Sample for Srv6Sid {
        fn sample(seed: &mut Seed<'_>) -> Self {
            let structure = bool::sample(seed).then(|| Sample::sample(seed));
            Self { address: Sample::sample(seed), structure }
        }
    }

    impl Sample for Srv6Hop {
        fn sample(seed: &mut Seed<'_>) -> Self {
            let mut segment: SidAndNai<Srv6Sid> = Sample::sample(seed);
            if let SidAndNai::Nai(nai) | SidAndNai::Both(_, nai) = &mut segment
                && !matches!(nai, Nai::Ipv6Node(_) | Nai::Ipv6Adjacency { .. } | Nai::LinkLocal { .. })
            {
                *nai = Nai::Ipv6Node(Sample::sample(seed));
            }
            let flags = Srv6Flags(u16::sample(seed) & Srv6Flags::OTHERS);
            Self { flags, reserved: Sample::sample(seed), behaviour: Sample::sample(seed), segment }
        }
    }
}

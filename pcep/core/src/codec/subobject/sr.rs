//! SR-ERO and SR-RRO (RFC 8664 section 4.3).

use super::malformed;
use crate::codec::error::{DecodeError, Fault};
use crate::codec::reader::Reader;
use crate::codec::wire::{Wire, Writer};
use crate::errors::ErrorCode;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Under which number the sub-object travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SrCode {
    /// 36.
    Assigned,
    /// 5, before RFC 8664.
    Draft,
}

impl SrCode {
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Assigned => 36,
            Self::Draft => 5,
        }
    }
}

/// What is said of a SID, but whether it and the NAI are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SrFlags(u16);

impl SrFlags {
    /// M: the SID is an entry of a label stack, and no index.
    pub const LABEL: Self = Self(0x001);
    /// C: traffic class, end of stack and TTL of the entry count.
    pub const WHOLE_ENTRY: Self = Self(0x002);

    const SID_ABSENT: u16 = 0x004;
    const NAI_ABSENT: u16 = 0x008;
    const OTHERS: u16 = 0xff3;

    /// Are all of these set?
    pub const fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// With these set too.
    #[must_use]
    pub const fn with(self, flags: Self) -> Self {
        Self(self.0 | flags.0)
    }
}

/// A segment is named by its SID, or by the node or adjacency that it leads to, or by both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SidAndNai<S> {
    /// By the SID alone. The four bits of the NAI's type have no meaning then, and are kept.
    Sid(S, NaiType),
    /// By the NAI alone: the headend finds the SID.
    Nai(Nai),
    /// By both.
    Both(S, Nai),
}

impl<S> SidAndNai<S> {
    /// By that SID alone.
    pub fn sid(sid: S) -> Self {
        Self::Sid(sid, NaiType(0))
    }
}

/// The type of an NAI that is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NaiType(u8);

impl NaiType {
    pub(crate) fn from_bits(bits: u8) -> Self {
        Self(bits & 0x0f)
    }

    /// Its number; 0 if it was sent as it should be.
    pub fn number(self) -> u8 {
        self.0
    }
}

/// A node or adjacency identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Nai {
    /// 1: an IPv4 node.
    Ipv4Node(Ipv4Addr),
    /// 2: an IPv6 node.
    Ipv6Node(Ipv6Addr),
    /// 3: an IPv4 adjacency.
    Ipv4Adjacency {
        /// This side.
        local: Ipv4Addr,
        /// The other side.
        remote: Ipv4Addr,
    },
    /// 4: an IPv6 adjacency of global addresses.
    Ipv6Adjacency {
        /// This side.
        local: Ipv6Addr,
        /// The other side.
        remote: Ipv6Addr,
    },
    /// 5: an adjacency of interfaces without addresses.
    Unnumbered {
        /// The node on this side.
        local: Ipv4Addr,
        /// Its interface.
        local_interface: u32,
        /// The node on the other side.
        remote: Ipv4Addr,
        /// Its interface.
        remote_interface: u32,
    },
    /// 6: an IPv6 adjacency of link-local addresses.
    LinkLocal {
        /// This side.
        local: Ipv6Addr,
        /// Its interface.
        local_interface: u32,
        /// The other side.
        remote: Ipv6Addr,
        /// Its interface.
        remote_interface: u32,
    },
}

impl Nai {
    pub(crate) fn read(kind: u8, code: ErrorCode, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match kind {
            0 => return Err(reader.fault(malformed("the NAI type", 0, "1 to 6, since an NAI is announced"))),
            1 => Self::Ipv4Node(Wire::read(reader)?),
            2 => Self::Ipv6Node(Wire::read(reader)?),
            3 => Self::Ipv4Adjacency { local: Wire::read(reader)?, remote: Wire::read(reader)? },
            4 => Self::Ipv6Adjacency { local: Wire::read(reader)?, remote: Wire::read(reader)? },
            5 => Self::Unnumbered {
                local: Wire::read(reader)?,
                local_interface: Wire::read(reader)?,
                remote: Wire::read(reader)?,
                remote_interface: Wire::read(reader)?,
            },
            6 => Self::LinkLocal {
                local: Wire::read(reader)?,
                local_interface: Wire::read(reader)?,
                remote: Wire::read(reader)?,
                remote_interface: Wire::read(reader)?,
            },
            kind => {
                let (found, expected) = (u32::from(kind), "1 to 6");
                return Err(reader.fault(Fault::Content { what: "the NAI type", found, expected, code }));
            }
        })
    }

    pub(crate) fn kind(&self) -> u8 {
        match self {
            Self::Ipv4Node(_) => 1,
            Self::Ipv6Node(_) => 2,
            Self::Ipv4Adjacency { .. } => 3,
            Self::Ipv6Adjacency { .. } => 4,
            Self::Unnumbered { .. } => 5,
            Self::LinkLocal { .. } => 6,
        }
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        match self {
            Self::Ipv4Node(node) => node.write(writer),
            Self::Ipv6Node(node) => node.write(writer),
            Self::Ipv4Adjacency { local, remote } => {
                local.write(writer);
                remote.write(writer);
            }
            Self::Ipv6Adjacency { local, remote } => {
                local.write(writer);
                remote.write(writer);
            }
            Self::Unnumbered { local, local_interface, remote, remote_interface } => {
                local.write(writer);
                local_interface.write(writer);
                remote.write(writer);
                remote_interface.write(writer);
            }
            Self::LinkLocal { local, local_interface, remote, remote_interface } => {
                local.write(writer);
                local_interface.write(writer);
                remote.write(writer);
                remote_interface.write(writer);
            }
        }
    }
}

/// A segment of SR-MPLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SrHop {
    /// Its number in the list of sub-objects.
    pub code: SrCode,
    /// What the SID is.
    pub flags: SrFlags,
    /// The SID, an index or with M an entry of a label stack, and the NAI.
    pub segment: SidAndNai<u32>,
}

impl SrHop {
    /// That label.
    pub fn label(label: u32) -> Self {
        Self { code: SrCode::Assigned, flags: SrFlags::LABEL, segment: SidAndNai::sid(label << 12) }
    }

    /// Its SID, if it has one.
    pub fn sid(&self) -> Option<u32> {
        match self.segment {
            SidAndNai::Sid(sid, _) | SidAndNai::Both(sid, _) => Some(sid),
            SidAndNai::Nai(_) => None,
        }
    }

    /// Its label, if it has one that is no index.
    pub fn as_label(&self) -> Option<u32> {
        self.sid().filter(|_| self.flags.contains(SrFlags::LABEL)).map(|entry| entry >> 12)
    }

    pub(crate) fn read(code: SrCode, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let word = u16::read(reader)?;
        let has_sid = word & SrFlags::SID_ABSENT == 0;
        let has_nai = word & SrFlags::NAI_ABSENT == 0;
        let kind = (word >> 12).to_be_bytes()[1];
        let flags = SrFlags(word & SrFlags::OTHERS);
        let nai = |reader: &mut Reader<'_>| Nai::read(kind, ErrorCode::SR_NAI_TYPE, reader);
        let segment = match (has_sid, has_nai) {
            (true, false) => SidAndNai::Sid(Wire::read(reader)?, NaiType::from_bits(kind)),
            (true, true) => SidAndNai::Both(Wire::read(reader)?, nai(reader)?),
            (false, true) => SidAndNai::Nai(nai(reader)?),
            (false, false) => {
                return Err(reader.fault(Fault::Content {
                    what: "the flags of an SR-ERO",
                    found: u32::from(word),
                    expected: "a SID or an NAI: S and F exclude each other",
                    code: ErrorCode::SR_ERO_EMPTY,
                }));
            }
        };
        Ok(Self { code, flags, segment })
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        let (kind, absent) = match &self.segment {
            SidAndNai::Sid(_, kind) => (kind.0, SrFlags::NAI_ABSENT),
            SidAndNai::Nai(nai) => (nai.kind(), SrFlags::SID_ABSENT),
            SidAndNai::Both(_, nai) => (nai.kind(), 0),
        };
        (u16::from(kind) << 12 | self.flags.0 | absent).write(writer);
        match &self.segment {
            SidAndNai::Sid(sid, _) => sid.write(writer),
            SidAndNai::Nai(nai) => nai.write(writer),
            SidAndNai::Both(sid, nai) => {
                sid.write(writer);
                nai.write(writer);
            }
        }
    }
}

#[cfg(test)]
mod samples {
    use super::*;
    use crate::codec::sample::{Sample, Seed};

    impl Sample for Nai {
        fn sample(seed: &mut Seed<'_>) -> Self {
            match seed.below(6) {
                0 => Self::Ipv4Node(Sample::sample(seed)),
                1 => Self::Ipv6Node(Sample::sample(seed)),
                2 => Self::Ipv4Adjacency { local: Sample::sample(seed), remote: Sample::sample(seed) },
                3 => Self::Ipv6Adjacency { local: Sample::sample(seed), remote: Sample::sample(seed) },
                4 => Self::Unnumbered {
                    local: Sample::sample(seed),
                    local_interface: Sample::sample(seed),
                    remote: Sample::sample(seed),
                    remote_interface: Sample::sample(seed),
                },
                _ => Self::LinkLocal {
                    local: Sample::sample(seed),
                    local_interface: Sample::sample(seed),
                    remote: Sample::sample(seed),
                    remote_interface: Sample::sample(seed),
                },
            }
        }
    }

    impl<S: Sample> Sample for SidAndNai<S> {
        fn sample(seed: &mut Seed<'_>) -> Self {
            match seed.below(3) {
                0 => Self::Sid(S::sample(seed), NaiType::from_bits(Sample::sample(seed))),
                1 => Self::Nai(Sample::sample(seed)),
                _ => Self::Both(S::sample(seed), Sample::sample(seed)),
            }
        }
    }

    impl Sample for SrHop {
        fn sample(seed: &mut Seed<'_>) -> Self {
            let code = if bool::sample(seed) { SrCode::Assigned } else { SrCode::Draft };
            let flags = SrFlags(u16::sample(seed) & SrFlags::OTHERS);
            Self { code, flags, segment: Sample::sample(seed) }
        }
    }
}

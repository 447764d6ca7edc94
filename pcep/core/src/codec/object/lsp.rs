//! LSP (RFC 8231 section 7.3).

use crate::codec::error::DecodeError;
use crate::codec::reader::Reader;
use crate::codec::tlv::Tlv;
use crate::codec::wire::{Wire, Writer};

/// The number that a PCC gives an LSP for the time of a session: 20 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlspId(u32);

impl PlspId {
    /// Of no LSP: an LSP that is to be made, or the end of synchronisation.
    pub const NONE: Self = Self(0);

    const LARGEST: u32 = 0x000f_ffff;

    /// The number; nothing if it has more than 20 bits.
    pub fn new(id: u32) -> Option<Self> {
        (id <= Self::LARGEST).then_some(Self(id))
    }

    /// The number.
    pub fn value(self) -> u32 {
        self.0
    }
}

/// The twelve flags of an LSP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct LspFlags(u16);

impl LspFlags {
    /// D: delegated to the PCE.
    pub const DELEGATE: Self = Self(0x001);
    /// S: part of synchronisation.
    pub const SYNC: Self = Self(0x002);
    /// R: the LSP is gone.
    pub const REMOVE: Self = Self(0x004);
    /// A: it is to be up.
    pub const ADMINISTRATIVE: Self = Self(0x008);
    /// C: a PCE made it (RFC 8281).
    pub const CREATE: Self = Self(0x080);

    const OPERATIONAL: u16 = 0x070;

    /// Are all of these set?
    pub const fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// With these set too.
    #[must_use]
    pub const fn with(self, flags: Self) -> Self {
        Self(self.0 | flags.0)
    }

    /// O: how the LSP is.
    pub fn operational(self) -> Operational {
        match (self.0 & Self::OPERATIONAL) >> 4 {
            0 => Operational::Down,
            1 => Operational::Up,
            2 => Operational::Active,
            3 => Operational::GoingDown,
            4 => Operational::GoingUp,
            _ => Operational::Reserved,
        }
    }

    /// With O as that.
    #[must_use]
    pub fn with_operational(self, operational: Operational) -> Self {
        let bits = match operational {
            Operational::Down => 0,
            Operational::Up => 1,
            Operational::Active => 2,
            Operational::GoingDown => 3,
            Operational::GoingUp => 4,
            Operational::Reserved => 7,
        };
        Self(self.0 & !Self::OPERATIONAL | bits << 4)
    }
}

/// How an LSP is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operational {
    /// Not in use.
    Down,
    /// Signalled.
    Up,
    /// Up, and carries traffic.
    Active,
    /// It is taken down.
    GoingDown,
    /// It is set up.
    GoingUp,
    /// A value that has no meaning.
    Reserved,
}

/// An LSP, as its headend or a PCE speaks of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lsp {
    /// Its number.
    pub plsp: PlspId,
    /// How it is.
    pub flags: LspFlags,
    /// Its name, identifiers, binding.
    pub tlvs: Vec<Tlv>,
}

impl Wire for Lsp {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let [a, b, c, d] = reader.array("an LSP object")?;
        let plsp = PlspId(u32::from_be_bytes([0, a, b, c]) >> 4);
        let flags = LspFlags(u16::from_be_bytes([c & 0x0f, d]));
        Ok(Self { plsp, flags, tlvs: Wire::read(reader)? })
    }

    fn write(&self, writer: &mut Writer) {
        (self.plsp.0 << 12 | u32::from(self.flags.0)).write(writer);
        self.tlvs.write(writer);
    }
}

#[cfg(test)]
impl crate::codec::sample::Sample for Lsp {
    fn sample(seed: &mut crate::codec::sample::Seed<'_>) -> Self {
        use crate::codec::sample::Sample;
        let word = u32::sample(seed);
        let flags = LspFlags(u16::sample(seed) & 0x0fff);
        Self { plsp: PlspId(word & PlspId::LARGEST), flags, tlvs: Sample::sample(seed) }
    }
}

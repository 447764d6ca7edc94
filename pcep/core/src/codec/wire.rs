//! Fields of fixed layout. A structure is written in the order in which it is read because both come from one list.

use super::error::{DecodeError, EncodeError};
use super::reader::Reader;
use super::subobject::Subobject;
use super::tlv::{AssociationRange, MsdPair, SubTlv, Tlv};
use crate::errors::ErrorCode;
use std::net::{Ipv4Addr, Ipv6Addr};

/// What has a place in a message.
pub(crate) trait Wire: Sized {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError>;
    fn write(&self, writer: &mut Writer);
}

/// A message as it comes to be. The first length that does not fit is its error.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
    error: Option<EncodeError>,
}

impl Writer {
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn fail(&mut self, error: EncodeError) {
        self.error.get_or_insert(error);
    }

    pub(crate) fn finish(self) -> Result<Vec<u8>, EncodeError> {
        match self.error {
            None => Ok(self.bytes),
            Some(error) => Err(error),
        }
    }

    /// Sets the two octets at a place to a length.
    pub(crate) fn set_length(&mut self, at: usize, length: usize, what: &'static str) {
        let limit = usize::from(u16::MAX);
        let bytes = u16::try_from(length).map(u16::to_be_bytes);
        match (bytes, self.bytes.get_mut(at..at + 2)) {
            (Ok(bytes), Some(place)) => place.copy_from_slice(&bytes),
            (Ok(_) | Err(_), _) => self.fail(EncodeError::TooLong { what, length, limit }),
        }
    }

    /// Sets the octet at a place to a length.
    pub(crate) fn set_short_length(&mut self, at: usize, length: usize, what: &'static str) {
        match (u8::try_from(length), self.bytes.get_mut(at)) {
            (Ok(length), Some(place)) => *place = length,
            (Ok(_) | Err(_), _) => {
                self.fail(EncodeError::TooLong { what, length, limit: usize::from(u8::MAX) })
            }
        }
    }

    /// Whether what was written since a place is a multiple of four octets.
    pub(crate) fn check_aligned(&mut self, since: usize, what: &'static str) {
        let length = self.len().saturating_sub(since);
        if !length.is_multiple_of(4) {
            self.fail(EncodeError::Unaligned { what, length });
        }
    }
}

macro_rules! number {
    ($($type:ty)*) => {
        $(impl Wire for $type {
            fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Ok(Self::from_be_bytes(reader.array("a field")?))
            }

            fn write(&self, writer: &mut Writer) {
                writer.put(&self.to_be_bytes());
            }
        })*
    };
}

number!(u8 u16 u32 u64);

impl Wire for Ipv4Addr {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self::from(reader.array::<4>("an IPv4 address")?))
    }

    fn write(&self, writer: &mut Writer) {
        writer.put(&self.octets());
    }
}

impl Wire for Ipv6Addr {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self::from(reader.array::<16>("an IPv6 address")?))
    }

    fn write(&self, writer: &mut Writer) {
        writer.put(&self.octets());
    }
}

impl<const N: usize> Wire for [u8; N] {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.array("a field")
    }

    fn write(&self, writer: &mut Writer) {
        writer.put(self);
    }
}

/// Octets up to the end.
impl Wire for Vec<u8> {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(reader.rest().to_vec())
    }

    fn write(&self, writer: &mut Writer) {
        writer.put(self);
    }
}

/// A number in IEEE 754 format, kept as its bits: what a peer sends need not be a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ieee754(pub u32);

impl Ieee754 {
    /// The number; not every one is finite.
    pub fn value(self) -> f32 {
        f32::from_bits(self.0)
    }
}

impl From<f32> for Ieee754 {
    fn from(value: f32) -> Self {
        Self(value.to_bits())
    }
}

impl Wire for Ieee754 {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self(Wire::read(reader)?))
    }

    fn write(&self, writer: &mut Writer) {
        self.0.write(writer);
    }
}

impl Wire for ErrorCode {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { kind: Wire::read(reader)?, value: Wire::read(reader)? })
    }

    fn write(&self, writer: &mut Writer) {
        writer.put(&[self.kind, self.value]);
    }
}

/// Lists of what has its own end.
macro_rules! list {
    ($($of:ty)*) => {
        $(impl Wire for Vec<$of> {
            fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                let mut all = Self::new();
                while !reader.is_empty() {
                    all.push(<$of>::read(reader)?);
                }
                Ok(all)
            }

            fn write(&self, writer: &mut Writer) {
                self.iter().for_each(|one| one.write(writer));
            }
        })*
    };
}

list!(u16 u32 Tlv SubTlv Subobject MsdPair AssociationRange);

/// A structure of fields in the order of the wire.
macro_rules! layout {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$about:meta])* pub $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name {
            $($(#[$about])* pub $field: $type,)*
        }

        impl $crate::codec::wire::Wire for $name {
            fn read(
                reader: &mut $crate::codec::reader::Reader<'_>,
            ) -> Result<Self, $crate::codec::error::DecodeError> {
                Ok(Self { $($field: $crate::codec::wire::Wire::read(reader)?,)* })
            }

            fn write(&self, writer: &mut $crate::codec::wire::Writer) {
                $($crate::codec::wire::Wire::write(&self.$field, writer);)*
            }
        }

        #[cfg(test)]
        impl $crate::codec::sample::Sample for $name {
            fn sample(seed: &mut $crate::codec::sample::Seed<'_>) -> Self {
                Self { $($field: $crate::codec::sample::Sample::sample(seed),)* }
            }
        }
    };
}

/// A word of flags. Bits without a name are kept.
macro_rules! flags {
    ($(#[$meta:meta])* pub struct $name:ident: $type:ty { $($(#[$about:meta])* $flag:ident = $bit:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name(pub $type);

        impl $name {
            $($(#[$about])* pub const $flag: Self = Self($bit);)*

            /// Are all of these set?
            pub const fn contains(self, flags: Self) -> bool {
                self.0 & flags.0 == flags.0
            }

            /// With these set too.
            #[must_use]
            pub const fn with(self, flags: Self) -> Self {
                Self(self.0 | flags.0)
            }

            /// Without these.
            #[must_use]
            pub const fn without(self, flags: Self) -> Self {
                Self(self.0 & !flags.0)
            }
        }

        impl $crate::codec::wire::Wire for $name {
            fn read(
                reader: &mut $crate::codec::reader::Reader<'_>,
            ) -> Result<Self, $crate::codec::error::DecodeError> {
                Ok(Self($crate::codec::wire::Wire::read(reader)?))
            }

            fn write(&self, writer: &mut $crate::codec::wire::Writer) {
                $crate::codec::wire::Wire::write(&self.0, writer);
            }
        }

        #[cfg(test)]
        impl $crate::codec::sample::Sample for $name {
            fn sample(seed: &mut $crate::codec::sample::Seed<'_>) -> Self {
                Self($crate::codec::sample::Sample::sample(seed))
            }
        }
    };
}

pub(crate) use {flags, layout};

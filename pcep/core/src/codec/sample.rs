//! Values for tests, made from octets that proptest chooses and makes smaller. Whatever the octets are, there is a value.

use super::header::ObjectFlags;
use super::object::{Body, Object};
use super::wire::Ieee754;
use super::{Message, MessageType};
use crate::errors::ErrorCode;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Octets to choose by; zeros when they are used up.
pub(crate) struct Seed<'a>(&'a [u8]);

impl<'a> Seed<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit
    }

    /// A multiple of four octets.
    pub(crate) fn words(&mut self) -> Vec<u8> {
        let count = self.below(4) * 4;
        (0..count).map(|_| self.byte()).collect()
    }
}

pub(crate) trait Sample {
    fn sample(seed: &mut Seed<'_>) -> Self;
}

macro_rules! number {
    ($($type:ty)*) => {
        $(impl Sample for $type {
            fn sample(seed: &mut Seed<'_>) -> Self {
                Self::from_be_bytes(Sample::sample(seed))
            }
        })*
    };
}

number!(u8 u16 u32 u64);

impl<const N: usize> Sample for [u8; N] {
    fn sample(seed: &mut Seed<'_>) -> Self {
        std::array::from_fn(|_| seed.byte())
    }
}

impl Sample for bool {
    fn sample(seed: &mut Seed<'_>) -> Self {
        seed.below(2) == 1
    }
}

impl Sample for Ipv4Addr {
    fn sample(seed: &mut Seed<'_>) -> Self {
        Self::from(<[u8; 4]>::sample(seed))
    }
}

impl Sample for Ipv6Addr {
    fn sample(seed: &mut Seed<'_>) -> Self {
        Self::from(<[u8; 16]>::sample(seed))
    }
}

impl Sample for Ieee754 {
    fn sample(seed: &mut Seed<'_>) -> Self {
        Self(Sample::sample(seed))
    }
}

impl Sample for ErrorCode {
    fn sample(seed: &mut Seed<'_>) -> Self {
        Self { kind: seed.byte(), value: seed.byte() }
    }
}

/// In an object: a multiple of four, whatever each is.
impl<T: Sample> Sample for Vec<T> {
    fn sample(seed: &mut Seed<'_>) -> Self {
        let count = seed.below(3) * if size_of::<T>() == 1 { 4 } else { 1 };
        (0..count).map(|_| T::sample(seed)).collect()
    }
}

impl Sample for Object {
    fn sample(seed: &mut Seed<'_>) -> Self {
        Self { flags: ObjectFlags::from_bits(seed.byte()), body: Body::sample(seed) }
    }
}

impl Sample for Message {
    fn sample(seed: &mut Seed<'_>) -> Self {
        let kind = MessageType::from_code(seed.byte());
        Self { flags: seed.byte() & 0x1f, kind, objects: Sample::sample(seed) }
    }
}

//! The bytes of a peer, and where in the message they stand.

use super::error::{DecodeError, Fault};

/// What is left of a message, an object, a TLV or a sub-object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// Where in the message the next byte stands.
    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    pub(crate) fn left(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn take(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], DecodeError> {
        match self.bytes.split_at_checked(count) {
            Some((taken, rest)) => {
                self.bytes = rest;
                self.offset += count;
                Ok(taken)
            }
            None => Err(self.fault(Fault::Truncated { what, needed: count, left: self.bytes.len() })),
        }
    }

    /// The next bytes, to be read on their own.
    pub(crate) fn split(&mut self, count: usize, what: &'static str) -> Result<Self, DecodeError> {
        let offset = self.offset;
        Ok(Self { bytes: self.take(count, what)?, offset })
    }

    pub(crate) fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, what)?);
        Ok(array)
    }

    /// All that is left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        self.offset += self.bytes.len();
        std::mem::take(&mut self.bytes)
    }

    /// Nothing may be left.
    pub(crate) fn finish(&self, what: &'static str) -> Result<(), DecodeError> {
        if self.is_empty() {
            return Ok(());
        }
        Err(self.fault(Fault::Trailing { what, left: self.left() }))
    }

    /// A fault at the next byte.
    pub(crate) fn fault(&self, fault: Fault) -> DecodeError {
        DecodeError::new(self.offset, fault)
    }
}

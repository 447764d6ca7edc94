//! How targets take the bytes of their input apart. An input is written by hand too, so the forms are plain.

/// The bytes of an input, taken from the front.
#[derive(Debug, Clone)]
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    /// The next byte, or 0 behind the end.
    pub(crate) fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    /// The lengths of the pieces in which something arrives: four bytes, used in turn.
    pub(crate) fn pieces(&mut self) -> Pieces {
        Pieces([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    /// All that is left, as parts that a zero byte separates.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &'a [u8]> {
        self.0.split(|byte| *byte == 0)
    }
}

/// Lengths of pieces, used in turn; the digit `0` and the byte 0 stand for "all the rest".
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pieces([u8; 4]);

impl Pieces {
    /// `bytes` in pieces.
    pub(crate) fn of(self, mut bytes: &[u8]) -> Vec<&[u8]> {
        let mut pieces = Vec::new();
        for turn in 0.. {
            if bytes.is_empty() {
                break;
            }
            let length = match self.0[turn % self.0.len()] {
                0 | b'0' => bytes.len(),
                digit @ b'1'..=b'9' => usize::from(digit - b'0'),
                other => usize::from(other),
            };
            let (piece, rest) = bytes.split_at(length.min(bytes.len()));
            pieces.push(piece);
            bytes = rest;
        }
        pieces
    }
}

//! The frame of a record on disk, and the scan that tells a torn tail from a damaged middle.
//!
//! `"CATR" | length u32 LE | crc32c u32 LE of length and payload | payload`. Frames are made durable one at a
//! time, so a crash can tear only the last one: whatever follows a bad frame and is still a good one proves
//! that the bad one had been durable, and that it is damage and not a crash. Behind the last one may be zeros: room that
//! was made ahead.

use crate::checksum::crc32c;

/// Bytes before the payload.
pub(crate) const HEADER: usize = 12;

/// Largest payload: what the length field is checked against before anything is read by it.
pub(crate) const MAX_PAYLOAD: usize = 256 << 20;

const MARK: [u8; 4] = *b"CATR";

/// A payload in its frame.
pub(crate) fn encode(payload: &[u8]) -> Vec<u8> {
    encode_pieces(&[payload])
}

/// A payload that stands in pieces in its frame.
pub(crate) fn encode_pieces(pieces: &[&[u8]]) -> Vec<u8> {
    let size: usize = pieces.iter().map(|piece| piece.len()).sum();
    let length = (size as u32).to_le_bytes();
    let mut checked: Vec<&[u8]> = Vec::with_capacity(1 + pieces.len());
    checked.push(&length);
    checked.extend(pieces);
    let mut framed = Vec::with_capacity(HEADER + size);
    framed.extend_from_slice(&MARK);
    framed.extend_from_slice(&length);
    framed.extend_from_slice(&crc32c(&checked).to_le_bytes());
    pieces.iter().for_each(|piece| framed.extend_from_slice(piece));
    framed
}

/// A payload in as many frames as it needs where one holds `limit` bytes; an empty one has a frame too.
pub(crate) fn encode_parts(payload: &[u8], limit: usize) -> Vec<u8> {
    let mut framed = Vec::with_capacity(payload.len() + HEADER);
    let (first, rest) = payload.split_at(payload.len().min(limit));
    framed.extend(encode(first));
    framed.extend(rest.chunks(limit).flat_map(encode));
    framed
}

/// What the bytes from an offset on are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Scan<'a> {
    /// A whole record and the offset of the next one.
    Record { payload: &'a [u8], next: usize },
    /// Nothing is left but room.
    End,
    /// The last write did not complete; everything before `offset` is whole.
    Torn,
    /// A record is bad, and a good one follows at `next_good`.
    Damaged { what: &'static str, next_good: usize },
}

/// Reads the record at `offset` of `bytes`.
pub(crate) fn scan(bytes: &[u8], offset: usize) -> Scan<'_> {
    if bytes.len() <= offset {
        return Scan::End;
    }
    match read(bytes, offset) {
        Ok(payload) => Scan::Record { payload, next: offset + HEADER + payload.len() },
        Err(_) if written(bytes) <= offset => Scan::End,
        Err(what) => match next_good(bytes, offset + 1) {
            Some(next_good) => Scan::Damaged { what, next_good },
            None => Scan::Torn,
        },
    }
}

/// How much of `bytes` is not room at the end.
pub(crate) fn written(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
}

fn read(bytes: &[u8], offset: usize) -> Result<&[u8], &'static str> {
    let rest = bytes.get(offset..).unwrap_or_default();
    let (mark, rest) = rest.split_first_chunk::<4>().ok_or("the record header is cut short")?;
    if *mark != MARK {
        return Err("no record begins here");
    }
    let (length, rest) = rest.split_first_chunk::<4>().ok_or("the record header is cut short")?;
    let (crc, rest) = rest.split_first_chunk::<4>().ok_or("the record header is cut short")?;
    let size = u32::from_le_bytes(*length) as usize;
    if size > MAX_PAYLOAD {
        return Err("the record length is beyond the limit");
    }
    let payload = rest.get(..size).ok_or("the record is cut short")?;
    if crc32c(&[length, payload]) != u32::from_le_bytes(*crc) {
        return Err("the record's checksum does not match");
    }
    Ok(payload)
}

fn next_good(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.windows(MARK.len())
        .enumerate()
        .filter(|(_, window)| *window == MARK)
        .map(|(at, _)| from + at)
        .find(|at| read(bytes, *at).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_record_comes_back_and_the_end_is_seen() {
        let bytes = encode(b"hello");
        assert_eq!(scan(&bytes, 0), Scan::Record { payload: b"hello", next: bytes.len() });
        assert_eq!(scan(&bytes, bytes.len()), Scan::End);
    }

    #[test]
    fn a_payload_in_parts_is_that_many_frames() {
        for (payload, parts) in [("", 1), ("abc", 1), ("abcd", 2), ("abcdefg", 3)] {
            let framed = encode_parts(payload.as_bytes(), 3);
            let (mut offset, mut found) = (0, Vec::new());
            for part in 0..parts {
                let Scan::Record { payload, next } = scan(&framed, offset) else { panic!("part {part}") };
                found.extend_from_slice(payload);
                offset = next;
            }
            assert_eq!((found.as_slice(), scan(&framed, offset)), (payload.as_bytes(), Scan::End));
        }
    }

    #[test]
    fn a_tail_of_zeros_is_room_and_a_write_into_it_may_be_torn() {
        let mut bytes = encode(b"one");
        let whole = bytes.len();
        bytes.extend_from_slice(&[0; 4096]);
        assert_eq!(scan(&bytes, whole), Scan::End);
        let next = encode(b"two");
        bytes[whole..whole + next.len() - 1].copy_from_slice(&next[..next.len() - 1]);
        assert_eq!(scan(&bytes, whole), Scan::Torn);
        assert_eq!(written(&bytes), whole + next.len() - 1);
    }

    proptest! {
        #[test]
        fn every_cut_of_the_last_record_is_torn_and_every_flip_before_it_is_damage(
            first in proptest::collection::vec(any::<u8>(), 0..60),
            last in proptest::collection::vec(any::<u8>(), 0..60),
            bit in 0u8..8,
        ) {
            let head = encode(&first);
            let whole = [head.clone(), encode(&last)].concat();
            for cut in head.len() + 1..whole.len() {
                prop_assert_eq!(scan(&whole[..cut], head.len()), Scan::Torn);
            }
            for at in 0..head.len() {
                let mut bad = whole.clone();
                bad[at] ^= 1 << bit;
                let damaged = matches!(scan(&bad, 0), Scan::Damaged { next_good, .. } if next_good == head.len());
                prop_assert!(damaged, "flip at {}", at);
            }
        }
    }
}

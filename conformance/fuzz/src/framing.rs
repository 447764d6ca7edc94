//! RFC 6242, held against a reader that has the whole connection before it.

use crate::input::Input;
use cats_mgmtd_netconf::{Decoder, Event, Framing, FramingError, HEAD, encode};

const MARKER: &[u8] = b"]]>]]>";

/// One byte for the framing and the limit, four for the pieces, then what the peer sends. The events are the same in
/// any pieces, they are those of the grammar, and what is encoded decodes.
pub fn framing(data: &[u8]) {
    let mut input = Input(data);
    let option = input.byte();
    let framing = if option & 1 == 0 { Framing::EndOfMessage } else { Framing::Chunked };
    let limit = 16 * usize::from(option >> 1);
    let pieces = input.pieces();

    let (events, end) = decoded(framing, limit, &[input.0]);
    assert_eq!(decoded(framing, limit, &pieces.of(input.0)), (events.clone(), end.clone()), "in pieces");
    let single: Vec<&[u8]> = input.0.chunks(1).collect();
    assert_eq!(decoded(framing, limit, &single), (events.clone(), end.clone()), "byte by byte");

    let (messages, broken) = match framing {
        Framing::EndOfMessage => (by_marker(input.0), None),
        Framing::Chunked => by_chunks(input.0),
    };
    assert_eq!(end.is_err(), broken.is_some(), "{end:?} where the grammar breaks at {broken:?}");
    if let (Err(error), Some(at)) = (&end, broken) {
        assert_eq!(offset(error), at, "{error}");
    }
    let wanted: Vec<Event> = messages.into_iter().map(|message| event(message, limit)).collect();
    assert_eq!(events, wanted);
    events.iter().for_each(|event| encoded(framing, event));
}

/// What a message of these bytes is to a reader with that limit.
fn event(message: Vec<u8>, limit: usize) -> Event {
    if message.len() <= limit {
        return Event::Message(message);
    }
    Event::TooBig { size: message.len() as u64, head: message.into_iter().take(HEAD).collect() }
}

/// All events, and whether the framing held to the end.
fn decoded(framing: Framing, limit: usize, pieces: &[&[u8]]) -> (Vec<Event>, Result<(), FramingError>) {
    let mut decoder = Decoder::new(limit);
    decoder.set_framing(framing);
    let mut events = Vec::new();
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() {
            match decoder.feed(rest) {
                Ok((used, event)) => {
                    assert!(used > 0 && used <= rest.len(), "{used} of {} bytes used", rest.len());
                    assert!(event.is_none() || !decoder.is_inside(), "between messages nothing has begun");
                    assert!(event.is_some() || used == rest.len(), "it stops at the end of a message only");
                    rest = &rest[used..];
                    events.extend(event);
                }
                Err(error) => return (events, Err(error)),
            }
        }
    }
    (events, Ok(()))
}

fn offset(error: &FramingError) -> u64 {
    match error {
        FramingError::Unexpected { offset, .. }
        | FramingError::LeadingZero { offset }
        | FramingError::ChunkTooLarge { offset } => *offset,
    }
}

/// Section 4.3; blanks before a message are skipped.
fn by_marker(mut wire: &[u8]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    loop {
        wire = wire.trim_ascii_start();
        let Some(end) = wire.windows(MARKER.len()).position(|window| window == MARKER) else {
            return messages;
        };
        messages.push(wire[..end].to_vec());
        wire = &wire[end + MARKER.len()..];
    }
}

/// Section 4.2: the messages, and the offset of the first byte that cannot stand where it does.
fn by_chunks(wire: &[u8]) -> (Vec<Vec<u8>>, Option<u64>) {
    let (mut messages, mut message, mut some) = (Vec::new(), Vec::new(), false);
    let mut at = 0;
    let cannot = |at: usize| Some(at as u64);
    while at < wire.len() {
        for (ahead, wanted) in b"\n#".iter().enumerate() {
            match wire.get(at + ahead) {
                None => return (messages, None),
                Some(found) if found != wanted => return (messages, cannot(at + ahead)),
                Some(_) => {}
            }
        }
        at += 2;
        let header = &wire[at..];
        if some && header.first() == Some(&b'#') {
            match header.get(1) {
                None => return (messages, None),
                Some(b'\n') => messages.push(std::mem::take(&mut message)),
                Some(_) => return (messages, cannot(at + 1)),
            }
            some = false;
            at += 2;
            continue;
        }
        let digits = header.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut size: u64 = 0;
        for (ahead, digit) in header[..digits].iter().enumerate() {
            size = size * 10 + u64::from(digit - b'0');
            if size == 0 || size > u64::from(u32::MAX) {
                return (messages, cannot(at + ahead));
            }
        }
        match header.get(digits) {
            None => return (messages, None),
            Some(b'\n') if digits > 0 => {}
            Some(_) => return (messages, cannot(at + digits)),
        }
        at += digits + 1;
        let end = usize::try_from(size).unwrap_or(usize::MAX).saturating_add(at).min(wire.len());
        message.extend_from_slice(&wire[at..end]);
        (at, some) = (end, true);
    }
    (messages, None)
}

/// A message that is text goes out in a form that reads back; on a 1.0 session the marker is escaped in it.
fn encoded(framing: Framing, event: &Event) {
    let Event::Message(message) = event else { return };
    let Ok(text) = String::from_utf8(message.clone()) else { return };
    let (head, tail) = text.split_at(text.floor_char_boundary(text.len() / 2));
    let wire = encode(framing, vec![head.to_owned(), String::new(), tail.to_owned()]).concat();
    let mut decoder = Decoder::new(usize::MAX / 2);
    decoder.set_framing(framing);
    let (used, event) = decoder.feed(&wire).expect("our own framing is right");
    assert_eq!(used, wire.len());
    assert_eq!(event, Some(Event::Message(message.clone())));
}

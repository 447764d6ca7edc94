//! RFC 6242 to the letter, whatever the segmentation.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

use cats_mgmtd_netconf::{Decoder, Event, Framing, FramingError, encode};
use proptest::prelude::*;

fn decoder(framing: Framing, limit: usize) -> Decoder {
    let mut decoder = Decoder::new(limit);
    decoder.set_framing(framing);
    decoder
}

/// Feeds `bytes` in slices of `step` and returns all events.
fn feed(decoder: &mut Decoder, bytes: &[u8], step: usize) -> Result<Vec<Event>, FramingError> {
    let mut events = Vec::new();
    for slice in bytes.chunks(step.max(1)) {
        let mut rest = slice;
        while !rest.is_empty() {
            let (used, event) = decoder.feed(rest)?;
            rest = &rest[used..];
            events.extend(event);
        }
    }
    Ok(events)
}

fn messages(texts: &[&str]) -> Vec<Event> {
    texts.iter().map(|text| Event::Message(text.as_bytes().to_vec())).collect()
}

fn chunked_error(bytes: &[u8]) -> FramingError {
    feed(&mut decoder(Framing::Chunked, 1000), bytes, 1).unwrap_err()
}

/// The case F05.
#[test]
fn a_message_in_chunks_of_one_byte_is_one_message() {
    let text = "<rpc>\u{e9}\u{1f600}</rpc>";
    let mut wire = Vec::new();
    for byte in text.as_bytes() {
        wire.extend_from_slice(b"\n#1\n");
        wire.push(*byte);
    }
    wire.extend_from_slice(b"\n##\n");
    for step in [1, 2, 7, 1000] {
        let found = feed(&mut decoder(Framing::Chunked, 1000), &wire, step).unwrap();
        assert_eq!(found, messages(&[text]), "in slices of {step}");
    }
}

/// The case F07.
#[test]
fn a_chunk_size_of_zero_or_with_a_leading_zero_ends_the_session() {
    assert_eq!(chunked_error(b"\n#0\n"), FramingError::LeadingZero { offset: 2 });
    assert_eq!(chunked_error(b"\n#04\nabcd\n##\n"), FramingError::LeadingZero { offset: 2 });
    assert_eq!(chunked_error(b"\n#1\na\n#0\n"), FramingError::LeadingZero { offset: 7 });
}

/// The case F09.
#[test]
fn a_chunk_size_above_4294967295_ends_the_session_without_overflow() {
    assert_eq!(chunked_error(b"\n#4294967296\n"), FramingError::ChunkTooLarge { offset: 11 });
    assert_eq!(chunked_error(b"\n#99999999999999999999999\n"), FramingError::ChunkTooLarge { offset: 11 });
    let allowed = feed(&mut decoder(Framing::Chunked, 1000), b"\n#4294967295\n<", 1).unwrap();
    assert_eq!(allowed, []);
}

/// The case F11.
#[test]
fn a_chunked_message_without_a_chunk_ends_the_session() {
    assert!(matches!(chunked_error(b"\n##\n"), FramingError::Unexpected { found: b'#', offset: 2, .. }));
}

#[test]
fn whatever_else_is_no_chunk_header_ends_the_session() {
    for wire in [
        &b"]]>]]>"[..],
        b"<rpc/>]]>]]>",
        b"#4\nabcd\n##\n",
        b"\n#4 \nabcd",
        b"\n#x\n",
        b"\n#-1\n",
        b"\n#1\nab",
        b"\r\n#1\na",
    ] {
        assert!(matches!(chunked_error(wire), FramingError::Unexpected { .. }), "{wire:?}");
    }
}

/// The case P01.
#[test]
fn blanks_between_messages_of_a_1_0_session_are_skipped() {
    let wire = b"\n \r\n<a/>]]>]]>\n\n\t<b/>\n]]>]]>\n";
    for step in [1, 3, 100] {
        let mut decoder = decoder(Framing::EndOfMessage, 1000);
        assert_eq!(feed(&mut decoder, wire, step).unwrap(), messages(&["<a/>", "<b/>\n"]));
        assert!(!decoder.is_inside(), "a blank begins no message");
    }
}

#[test]
fn almost_a_marker_is_content() {
    for text in ["]", "]]", "]]>", "]]>]", "]]>]]", "a]]]>]>]]]", "]]>]]]"] {
        let wire = format!("{text}]]>]]>");
        for step in [1, 2, 100] {
            let found = feed(&mut decoder(Framing::EndOfMessage, 1000), wire.as_bytes(), step).unwrap();
            // The first marker ends the message, wherever it begins.
            let first = wire.find("]]>]]>").unwrap();
            assert_eq!(found.first(), messages(&[&wire[..first]]).first(), "{text}");
        }
    }
}

/// The case F20: memory stays bounded, the head is kept, and the next message is read as ever.
#[test]
fn a_message_above_the_limit_is_dropped_but_for_its_head() {
    let limit = 10_000;
    let large = format!("<rpc message-id=\"9\">{}</rpc>", "x".repeat(11_000));
    for framing in [Framing::Chunked, Framing::EndOfMessage] {
        let mut wire = encode(framing, vec![large.clone()]).concat();
        wire.extend(encode(framing, vec!["<next/>".to_owned()]).concat());
        for step in [1, 999, 1_000_000] {
            let found = feed(&mut decoder(framing, limit), &wire, step).unwrap();
            let Event::TooBig { head, size } = &found[0] else { panic!("{found:?}") };
            assert_eq!(*size, large.len() as u64);
            assert_eq!(head.as_slice(), &large.as_bytes()[..cats_mgmtd_netconf::HEAD]);
            assert_eq!(found[1..], messages(&["<next/>"]));
        }
    }
}

#[test]
fn the_head_of_a_message_above_the_limit_is_the_same_in_any_pieces() {
    for framing in [Framing::Chunked, Framing::EndOfMessage] {
        let wire = encode(framing, vec!["x".repeat(50)]).concat();
        for step in [1, 7, 1000] {
            let found = feed(&mut decoder(framing, 20), &wire, step).unwrap();
            assert_eq!(found, [Event::TooBig { head: vec![b'x'; 50], size: 50 }], "in slices of {step}");
        }
    }
}

#[test]
fn a_message_of_exactly_the_limit_is_accepted() {
    for framing in [Framing::Chunked, Framing::EndOfMessage] {
        let text = "x".repeat(1000);
        let wire = encode(framing, vec![text.clone()]).concat();
        assert_eq!(feed(&mut decoder(framing, 1000), &wire, 17).unwrap(), messages(&[&text]));
        assert!(matches!(
            feed(&mut decoder(framing, 999), &wire, 17).unwrap()[0],
            Event::TooBig { size: 1000, .. }
        ));
    }
}

/// The case F17, for a 1.0 session: there the marker must not stand in the content.
#[test]
fn the_marker_inside_of_a_1_0_message_is_escaped() {
    let wire = encode(Framing::EndOfMessage, vec!["<a b=\"]]>]]>\"/>".to_owned()]).concat();
    let found = feed(&mut decoder(Framing::EndOfMessage, 1000), &wire, 5).unwrap();
    assert_eq!(found, messages(&["<a b=\"]]&gt;]]&gt;\"/>"]));
}

proptest! {
    #[test]
    fn whatever_is_encoded_is_decoded_under_any_segmentation(
        texts in prop::collection::vec("[\\]>#\n0-9a-z<\u{e9}\u{1f600}]{1,40}", 1..5),
        cuts in prop::collection::vec(1_usize..9, 1..20),
        chunked: bool,
    ) {
        let framing = if chunked { Framing::Chunked } else { Framing::EndOfMessage };
        // A message is XML: it cannot end with what begins the marker.
        let texts: Vec<String> = texts.into_iter().map(|text| format!("<{text}/>")).collect();
        let wire: Vec<u8> = texts.iter().flat_map(|text| {
            let (front, back) = text.split_at(1);
            encode(framing, vec![front.to_owned(), back.to_owned()]).concat()
        }).collect();
        let mut decoder = decoder(framing, 1000);
        let mut found = Vec::new();
        let mut rest = wire.as_slice();
        let mut cuts = cuts.iter().cycle();
        while !rest.is_empty() {
            let (slice, next) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
            found.extend(feed(&mut decoder, slice, usize::MAX).unwrap());
            rest = next;
        }
        let expected: Vec<_> = texts.iter().map(|text| match framing {
            Framing::Chunked => text.clone(),
            Framing::EndOfMessage => text.replace("]]>]]>", "]]&gt;]]&gt;"),
        }).collect();
        let expected: Vec<_> = expected.iter().map(String::as_str).collect();
        prop_assert_eq!(found, messages(&expected));
        prop_assert!(!decoder.is_inside());
    }

    #[test]
    fn no_bytes_make_the_decoder_panic_or_stall(bytes in prop::collection::vec(any::<u8>(), 0..200), chunked: bool) {
        let framing = if chunked { Framing::Chunked } else { Framing::EndOfMessage };
        let _ = feed(&mut decoder(framing, 50), &bytes, 3);
    }
}

#[test]
fn a_short_message_is_one_piece_and_the_text_of_a_long_one_is_not_copied() {
    for framing in [Framing::EndOfMessage, Framing::Chunked] {
        let short = encode(framing, vec!["<a>".to_owned(), "b".to_owned(), "</a>".to_owned()]);
        assert_eq!(short.len(), 1, "{framing:?}");
        let text = "x".repeat(1 << 20);
        let place = text.as_ptr();
        let long = encode(framing, vec!["<a>".to_owned(), text, "</a>".to_owned()]);
        assert!(long.iter().any(|piece| piece.as_ptr() == place), "{framing:?}");
    }
}

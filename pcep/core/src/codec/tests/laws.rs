use crate::codec::sample::{Sample, Seed};
use crate::codec::{DecodeError, Fault, Message, Remedy};
use proptest::prelude::*;

/// A body of an object behind the headers that it needs.
fn in_an_object(class: u8, kind: u8, body: &[u8]) -> Vec<u8> {
    let body = &body[..body.len() / 4 * 4];
    let length = u16::try_from(body.len() + 8).unwrap();
    let object = u16::try_from(body.len() + 4).unwrap();
    let [high, low] = length.to_be_bytes();
    let [object_high, object_low] = object.to_be_bytes();
    let mut bytes = vec![0x20, 10, high, low, class, kind << 4 | 2, object_high, object_low];
    bytes.extend(body);
    bytes
}

fn comes_back(bytes: &[u8]) -> Result<(), TestCaseError> {
    match Message::decode(bytes) {
        Ok(message) => prop_assert_eq!(message.encode().unwrap(), bytes),
        Err(error) => {
            prop_assert!(error.offset <= bytes.len(), "{}", error);
            error.remedy();
        }
    }
    Ok(())
}

proptest! {
    /// Proves CP-8: what we send is what a peer reads.
    #[test]
    fn what_is_encoded_decodes_as_the_same(seed in prop::collection::vec(any::<u8>(), 0..400)) {
        let message = Message::sample(&mut Seed::new(&seed));
        let bytes = message.encode().unwrap();
        prop_assert_eq!(Message::decode(&bytes), Ok(message));
    }

    #[test]
    fn whatever_decodes_is_encoded_byte_for_byte(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        comes_back(&bytes)?;
    }

    #[test]
    fn whatever_body_decodes_is_encoded_byte_for_byte(
        class in 0..45_u8,
        kind in 1..3_u8,
        body in prop::collection::vec(prop_oneof![any::<u8>(), 0..45_u8, Just(0)], 0..80),
    ) {
        comes_back(&in_an_object(class, kind, &body))?;
    }

    #[test]
    fn a_message_with_one_octet_changed_decodes_or_says_where(
        seed in prop::collection::vec(any::<u8>(), 0..200),
        at in any::<prop::sample::Index>(),
        octet in any::<u8>(),
    ) {
        let mut bytes = Message::sample(&mut Seed::new(&seed)).encode().unwrap();
        let at = at.index(bytes.len());
        bytes[at] = octet;
        comes_back(&bytes)?;
    }

    #[test]
    fn a_message_that_is_cut_is_no_message(seed in prop::collection::vec(any::<u8>(), 0..200), at in any::<prop::sample::Index>()) {
        let bytes = Message::sample(&mut Seed::new(&seed)).encode().unwrap();
        let cut = &bytes[..at.index(bytes.len())];
        let error: DecodeError = Message::decode(cut).unwrap_err();
        let is_framing = matches!(error.fault, Fault::Framing { .. });
        prop_assert_eq!(is_framing, cut.len() >= 4);
        prop_assert_eq!(error.remedy() == Remedy::CloseMalformed, is_framing);
    }
}

#[test]
fn what_is_longer_than_a_length_field_is_not_sent() {
    use crate::codec::tlv::Octets;
    use crate::codec::{Body, EncodeError, MessageType, Object, Tlv, TlvValue};
    let name = Tlv::from(TlvValue::PathName(Octets(vec![0; 70_000])));
    let open = crate::codec::object::Open::new(30, 120, 1, vec![name]);
    let message = Message::new(MessageType::Open, vec![Object::new(Body::Open(open))]);
    let limit = 65_535;
    assert_eq!(message.encode(), Err(EncodeError::TooLong { what: "a TLV", length: 70_000, limit }));
}

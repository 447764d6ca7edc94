//! PCEP: what decodes is encoded byte for byte, and what does not says where. Objects and TLVs get the headers that they
//! need, so that a fuzzer finds their insides sooner.

use cats_pcep_core::codec::Message;

/// A whole message.
pub fn pcep_message(data: &[u8]) {
    match Message::decode(data) {
        Ok(message) => assert_eq!(message.encode().expect("what came fits"), data),
        Err(error) => {
            assert!(error.offset <= data.len(), "{error} is behind the end");
            let _ = error.remedy();
        }
    }
}

/// One object: its class, its type and flags, and its body.
pub fn pcep_object(data: &[u8]) {
    let Some(([class, bits], body)) = data.split_first_chunk::<2>() else { return };
    let body = body.get(..body.len().min(60_000) / 4 * 4).unwrap_or_default();
    pcep_message(&message(&object(*class, *bits, body)));
}

/// TLVs, in an OPEN, an RP, an LSP and an ASSOCIATION object, and within a list of path set-up types.
pub fn pcep_tlv(data: &[u8]) {
    let tlvs = data.get(..data.len().min(60_000) / 4 * 4).unwrap_or_default();
    for (class, fixed) in [(1, 4), (2, 8), (32, 4), (40, 12)] {
        let body = [vec![0x20; fixed], tlvs.to_vec()].concat();
        pcep_message(&message(&object(class, 0x10, &body)));
    }
    let length = u16::try_from(tlvs.len() + 4).unwrap_or(4).to_be_bytes();
    let list = [&[0x20, 30, 120, 1, 0, 34, length[0], length[1], 0, 0, 0, 0], tlvs].concat();
    pcep_message(&message(&object(1, 0x10, &list)));
}

fn object(class: u8, bits: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len() + 4).unwrap_or(4).to_be_bytes();
    [&[class, bits, length[0], length[1]], body].concat()
}

fn message(objects: &[u8]) -> Vec<u8> {
    let length = u16::try_from(objects.len() + 4).unwrap_or(4).to_be_bytes();
    [&[0x20, 10, length[0], length[1]], objects].concat()
}

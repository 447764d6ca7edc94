//! RFC 7951 JSON out; JSON in is [`crate::Ops::from_json`].

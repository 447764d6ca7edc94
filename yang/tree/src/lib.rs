//! The YANG schema as plain data, and the datastore value: an immutable tree with shared nodes and keyed,
//! ordered children, its edits, differences, filters and encodings.
//!
//! This crate must not know where a schema comes from (libyang is `yang/schema`'s alone), what NETCONF is
//! beyond the words of its errors, or what any module means. It has no I/O, no clock and no randomness.

pub mod error;
pub mod schema;

//! PCEP on the wire (RFC 5440 and what builds on it): messages, their objects, TLVs and sub-objects.
//!
//! What is decoded is encoded again byte for byte: reserved bits, padding, and objects, TLVs and flags that are not known
//! stay what they were. The codec knows layouts, and refuses only what has no layout; whether a message makes sense is for
//! others to say. Each object has its file below `codec/object`, each sub-object below `codec/subobject`;
//! `codec/tlv.rs` has the TLVs.

mod error;
mod header;
mod message;
pub mod object;
mod reader;
pub mod subobject;
pub mod tlv;
mod wire;

pub use error::{DecodeError, EncodeError, Fault, Reference, Remedy};
pub use header::{Header, MessageType, ObjectFlags, UnknownType};
pub use message::Message;
pub use object::{Body, Object, UnknownObject};
pub use subobject::{Subobject, SubobjectValue, UnknownSubobject};
pub use tlv::{Tlv, TlvValue, UnknownTlv};
pub use wire::Ieee754;

#[cfg(test)]
pub(crate) mod sample;
#[cfg(test)]
mod tests;

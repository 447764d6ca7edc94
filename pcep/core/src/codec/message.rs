//! A message: its type, and its objects in order.

use super::error::{DecodeError, EncodeError, Reference};
use super::header::{Header, MessageType};
use super::object::{Body, Object};
use super::reader::Reader;
use super::wire::Writer;

/// A message, with any objects in any order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The five bits of the common header that have no meaning.
    pub flags: u8,
    /// Its type.
    pub kind: MessageType,
    /// Its objects.
    pub objects: Vec<Object>,
}

impl Message {
    /// One of these objects.
    pub fn new(kind: MessageType, objects: Vec<Object>) -> Self {
        Self { flags: 0, kind, objects }
    }

    /// One without an object, such as a Keepalive.
    pub fn bare(kind: MessageType) -> Self {
        Self::new(kind, Vec::new())
    }

    /// Reads one whole message.
    ///
    /// # Errors
    /// Where, what, and about which request.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let header = Header::read(&mut reader)?;
        let mut objects = Vec::new();
        let mut about = None;
        while !reader.is_empty() {
            let object = Object::read(&mut reader)
                .map_err(|error| DecodeError { about: error.about.or(about), ..error })?;
            about = reference(&object).or(about);
            objects.push(object);
        }
        Ok(Self { flags: header.flags, kind: header.kind, objects })
    }

    /// Its bytes.
    ///
    /// # Errors
    /// It is longer than its length fields can say.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut writer = Writer::default();
        writer.put(&Header::start(self.flags, self.kind));
        writer.put(&[0, 0]);
        for object in &self.objects {
            object.write(&mut writer);
        }
        let length = writer.len();
        writer.set_length(2, length, "the message");
        writer.finish()
    }
}

/// The number of a request, if the object has one.
fn reference(object: &Object) -> Option<Reference> {
    if let Body::Rp(rp) = &object.body {
        return Some(Reference::Request(rp.request));
    }
    if let Body::Srp(srp) = &object.body {
        return Some(Reference::Operation(srp.operation));
    }
    None
}

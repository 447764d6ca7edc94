//! The common header of messages (RFC 5440 section 6.1), and the flags of an object's header (section 7.2).

use super::error::{DecodeError, Fault};
use super::reader::Reader;

/// What kind of message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MessageType {
    /// Begins a session.
    Open,
    /// Says that the peer lives.
    Keepalive,
    /// PCReq.
    PathRequest,
    /// PCRep.
    PathReply,
    /// PCNtf.
    Notification,
    /// PCErr.
    Error,
    /// Ends a session.
    Close,
    /// PCRpt (RFC 8231).
    Report,
    /// PCUpd (RFC 8231).
    Update,
    /// PCInitiate (RFC 8281).
    Initiate,
    /// StartTLS (RFC 8253).
    StartTls,
    /// Another one.
    Unknown(UnknownType),
}

/// A message type that has no name here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UnknownType(u8);

impl UnknownType {
    /// Its number.
    pub fn code(self) -> u8 {
        self.0
    }
}

impl MessageType {
    /// The one with that number.
    pub const fn from_code(code: u8) -> Self {
        match code {
            1 => Self::Open,
            2 => Self::Keepalive,
            3 => Self::PathRequest,
            4 => Self::PathReply,
            5 => Self::Notification,
            6 => Self::Error,
            7 => Self::Close,
            10 => Self::Report,
            11 => Self::Update,
            12 => Self::Initiate,
            13 => Self::StartTls,
            other => Self::Unknown(UnknownType(other)),
        }
    }

    /// Its number.
    pub const fn code(self) -> u8 {
        match self {
            Self::Open => 1,
            Self::Keepalive => 2,
            Self::PathRequest => 3,
            Self::PathReply => 4,
            Self::Notification => 5,
            Self::Error => 6,
            Self::Close => 7,
            Self::Report => 10,
            Self::Update => 11,
            Self::Initiate => 12,
            Self::StartTls => 13,
            Self::Unknown(UnknownType(code)) => code,
        }
    }
}

/// The common header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The five bits behind the version; none has a meaning.
    pub flags: u8,
    /// What follows.
    pub kind: MessageType,
    /// The octets of the message, the header's among them.
    pub length: u16,
}

impl Header {
    /// Its octets.
    pub const LENGTH: usize = 4;

    /// The largest message.
    pub const LARGEST: usize = 65_532;

    const VERSION: u8 = 1;

    /// Reads one as soon as its octets are there; the message itself may still be coming.
    ///
    /// # Errors
    /// The version is not 1, or the length says that no next message can be found.
    pub fn decode(bytes: [u8; Self::LENGTH]) -> Result<Self, DecodeError> {
        let [first, kind, high, low] = bytes;
        let version = first >> 5;
        if version != Self::VERSION {
            return Err(DecodeError::new(0, Fault::Version { found: version }));
        }
        let length = u16::from_be_bytes([high, low]);
        if usize::from(length) < Self::LENGTH || !length.is_multiple_of(4) {
            let expected = "a multiple of 4, from 4 on";
            let fault = Fault::Framing { what: "the message", found: usize::from(length), expected };
            return Err(DecodeError::new(2, fault));
        }
        Ok(Self { flags: first & 0x1f, kind: MessageType::from_code(kind), length })
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let whole = reader.left();
        let header = Self::decode(reader.array("the common header")?)?;
        if usize::from(header.length) != whole {
            let fault = Fault::Framing {
                what: "the message",
                found: usize::from(header.length),
                expected: "the number of octets that came",
            };
            return Err(DecodeError::new(2, fault));
        }
        Ok(header)
    }

    /// The first two octets; the length follows.
    pub(crate) fn start(flags: u8, kind: MessageType) -> [u8; 2] {
        [Self::VERSION << 5 | flags & 0x1f, kind.code()]
    }
}

/// The flags of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ObjectFlags(u8);

impl ObjectFlags {
    /// Nothing set: the receiver may ignore the object.
    pub const NONE: Self = Self(0);

    /// P: the receiver must take the object into account, or refuse.
    pub const PROCESS: Self = Self(2);

    /// I: in a reply, the object of the request was ignored.
    pub const IGNORED: Self = Self(1);

    /// P.
    pub const fn must_process(self) -> bool {
        self.0 & Self::PROCESS.0 != 0
    }

    /// I.
    pub const fn was_ignored(self) -> bool {
        self.0 & Self::IGNORED.0 != 0
    }

    pub(crate) const fn from_bits(bits: u8) -> Self {
        Self(bits & 0x0f)
    }

    pub(crate) const fn bits(self) -> u8 {
        self.0
    }
}

//! Objects: a class, a type, two flags and a body (RFC 5440 section 7.2).

mod association;
mod bandwidth;
mod close;
mod end_points;
mod load_balancing;
mod lsp;
mod lspa;
mod metric;
mod no_path;
mod notification;
mod objective_function;
mod open;
mod pcep_error;
mod route;
mod rp;
mod srp;
mod svec;
mod vendor;

pub use association::{AssociationFlags, AssociationV4, AssociationV6};
pub use bandwidth::Bandwidth;
pub use close::{Close, CloseReason};
pub use end_points::{EndPointsV4, EndPointsV6};
pub use load_balancing::LoadBalancing;
pub use lsp::{Lsp, LspFlags, Operational, PlspId};
pub use lspa::{Lspa, LspaFlags};
pub use metric::{Metric, MetricFlags, MetricType};
pub use no_path::{NoPath, NoPathFlags};
pub use notification::Notification;
pub use objective_function::ObjectiveFunction;
pub use open::Open;
pub use pcep_error::PcepError;
pub use route::{Ero, Iro, Rro, Xro};
pub use rp::{Rp, RpFlags};
pub use srp::{Srp, SrpFlags};
pub use svec::{Svec, SvecFlags};
pub use vendor::VendorInformation;

use super::error::{DecodeError, EncodeError, Fault};
use super::header::ObjectFlags;
use super::reader::Reader;
use super::wire::{Wire, Writer};

/// An object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// P and I.
    pub flags: ObjectFlags,
    /// The rest.
    pub body: Body,
}

/// Bodies by class and type.
macro_rules! bodies {
    ($($(#[$meta:meta])* $name:ident($of:ty) = $class:literal, $kind:literal;)*) => {
        /// What an object holds.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Body {
            $($(#[$meta])* $name($of),)*
            /// An object of a class or type that has no name here.
            Unknown(UnknownObject),
        }

        impl Body {
            /// Its class and type.
            pub fn code(&self) -> (u8, u8) {
                match self {
                    $(Self::$name(_) => ($class, $kind),)*
                    Self::Unknown(unknown) => (unknown.class, unknown.kind),
                }
            }

            fn read(class: u8, kind: u8, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Ok(match (class, kind) {
                    $(($class, $kind) => Self::$name(Wire::read(reader)?),)*
                    (class, kind) => Self::Unknown(UnknownObject { class, kind, body: reader.rest().to_vec() }),
                })
            }

            fn write(&self, writer: &mut Writer) {
                match self {
                    $(Self::$name(body) => body.write(writer),)*
                    Self::Unknown(unknown) => writer.put(&unknown.body),
                }
            }
        }

        impl UnknownObject {
            fn is_named(class: u8, kind: u8) -> bool {
                matches!((class, kind), $(($class, $kind))|*)
            }

            /// Has its class a name here, so that only the type is unknown?
            pub fn is_class_known(&self) -> bool {
                [$($class),*].contains(&self.class)
            }
        }

        #[cfg(test)]
        impl crate::codec::sample::Sample for Body {
            fn sample(seed: &mut crate::codec::sample::Seed<'_>) -> Self {
                const NAMED: usize = [$($class),*].len();
                let mut choice = seed.below(NAMED + 1);
                $(
                    if choice == 0 {
                        return Self::$name(crate::codec::sample::Sample::sample(seed));
                    }
                    choice -= 1;
                )*
                let _ = choice;
                Self::Unknown(UnknownObject { class: 200, kind: 1, body: seed.words() })
            }
        }
    };
}

bodies! {
    /// OPEN.
    Open(Open) = 1, 1;
    /// RP: the parameters of a request.
    Rp(Rp) = 2, 1;
    /// NO-PATH.
    NoPath(NoPath) = 3, 1;
    /// END-POINTS of IPv4.
    EndPointsV4(EndPointsV4) = 4, 1;
    /// END-POINTS of IPv6.
    EndPointsV6(EndPointsV6) = 4, 2;
    /// BANDWIDTH that is asked for.
    Bandwidth(Bandwidth) = 5, 1;
    /// BANDWIDTH of the LSP that is to be optimised anew.
    ExistingBandwidth(Bandwidth) = 5, 2;
    /// METRIC.
    Metric(Metric) = 6, 1;
    /// ERO: the explicit route.
    Ero(Ero) = 7, 1;
    /// RRO: the reported route.
    Rro(Rro) = 8, 1;
    /// LSPA: attributes of an LSP.
    Lspa(Lspa) = 9, 1;
    /// IRO: what the path must pass.
    Iro(Iro) = 10, 1;
    /// SVEC: requests that belong together.
    Svec(Svec) = 11, 1;
    /// NOTIFICATION.
    Notification(Notification) = 12, 1;
    /// PCEP-ERROR.
    Error(PcepError) = 13, 1;
    /// LOAD-BALANCING.
    LoadBalancing(LoadBalancing) = 14, 1;
    /// CLOSE.
    Close(Close) = 15, 1;
    /// XRO: what the path must not pass (RFC 5521).
    Xro(Xro) = 17, 1;
    /// OF: the objective function (RFC 5541).
    ObjectiveFunction(ObjectiveFunction) = 21, 1;
    /// LSP (RFC 8231).
    Lsp(Lsp) = 32, 1;
    /// SRP: the parameters of a stateful operation (RFC 8231).
    Srp(Srp) = 33, 1;
    /// VENDOR-INFORMATION (RFC 7470).
    VendorInformation(VendorInformation) = 34, 1;
    /// ASSOCIATION with an IPv4 source (RFC 8697).
    AssociationV4(AssociationV4) = 40, 1;
    /// ASSOCIATION with an IPv6 source (RFC 8697).
    AssociationV6(AssociationV6) = 40, 2;
}

/// An object that is kept as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownObject {
    class: u8,
    kind: u8,
    body: Vec<u8>,
}

impl UnknownObject {
    /// One of that class and type; nothing if these have a name here, if the type has more than four bits, or if the body
    /// is no multiple of four octets.
    pub fn new(class: u8, kind: u8, body: Vec<u8>) -> Option<Self> {
        let fits = kind < 16 && body.len().is_multiple_of(4) && !Self::is_named(class, kind);
        fits.then_some(Self { class, kind, body })
    }

    /// What follows its header.
    pub fn body(&self) -> &[u8] {
        &self.body
    }
}

/// The octets of an object's header.
const HEADER: usize = 4;

impl Object {
    /// One with neither P nor I set.
    pub fn new(body: Body) -> Self {
        Self { flags: ObjectFlags::NONE, body }
    }

    /// One with P set.
    pub fn required(body: Body) -> Self {
        Self { flags: ObjectFlags::PROCESS, body }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at = reader.offset();
        let framing =
            |found, expected| DecodeError::new(at + 2, Fault::Framing { what: "an object", found, expected });
        let left = reader.left();
        if left < HEADER {
            return Err(framing(left, "a header of 4 octets"));
        }
        let [class, bits, high, low] = reader.array("an object header")?;
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length < HEADER || !length.is_multiple_of(4) {
            return Err(framing(length, "a multiple of 4, from 4 on"));
        }
        if length > left {
            return Err(framing(length, "no more than is left of the message"));
        }
        let mut body = reader.split(length - HEADER, "an object")?;
        let flags = ObjectFlags::from_bits(bits);
        let object = Self { flags, body: Body::read(class, bits >> 4, &mut body)? };
        body.finish("an object")?;
        Ok(object)
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        let (class, kind) = self.body.code();
        let at = writer.len();
        writer.put(&[class, kind << 4 | self.flags.bits(), 0, 0]);
        self.body.write(writer);
        writer.check_aligned(at, "an object");
        let length = writer.len() - at;
        writer.set_length(at + 2, length, "an object");
    }

    /// Its bytes, outside of a message.
    ///
    /// # Errors
    /// It is longer than its length field can say, or not a multiple of four octets.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut writer = Writer::default();
        self.write(&mut writer);
        writer.finish()
    }
}

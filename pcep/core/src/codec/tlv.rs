//! TLVs: a type, a length, a value, and padding to four octets (RFC 5440 section 7.1).
//!
//! The values are in `tlv/` by what they are about: `open` for capabilities, `lsp` for LSPs and requests, `association` for
//! associations and SR policies.

mod association;
mod lsp;
mod open;

pub use association::{
    AssociationRange, CandidatePathId, ComputationPriority, ExplicitNull, ExtendedAssociationId, Invalidation,
};
pub use lsp::{
    Binding, BindingValue, Ipv4LspIdentifiers, Ipv6LspIdentifiers, NoPathReasons, PathSetupType, SetupType,
    UnknownBinding,
};
pub use open::{
    MsdPair, PathSetupTypes, SrCapability, SrCapabilityFlags, SrPolicyCapability, Srv6Capability,
    Srv6CapabilityFlags, StatefulCapability,
};

use super::error::DecodeError;
use super::reader::Reader;
use super::wire::{Wire, Writer, layout};

/// A value with the padding behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Padded<V> {
    /// The value.
    pub value: V,
    padding: Padding,
}

/// A TLV of an object.
pub type Tlv = Padded<TlvValue>;

/// A TLV within PATH-SETUP-TYPE-CAPABILITY, where the types have another meaning.
pub type SubTlv = Padded<SubTlvValue>;

/// What is behind a value up to the next multiple of four octets. Nothing if it is padded as it should be; otherwise what
/// came from a peer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Padding(Option<Vec<u8>>);

impl Padding {
    /// Behind so many octets. The last of a list may lack it.
    pub(crate) fn read(reader: &mut Reader<'_>, length: usize) -> Result<Self, DecodeError> {
        let due = length.next_multiple_of(4) - length;
        let bytes = reader.take(due.min(reader.left()), "padding")?;
        let is_usual = bytes.len() == due && bytes.iter().all(|byte| *byte == 0);
        Ok(Self((!is_usual).then(|| bytes.to_vec())))
    }

    pub(crate) fn write(&self, writer: &mut Writer, length: usize) {
        let due = length.next_multiple_of(4) - length;
        match &self.0 {
            Some(bytes) => writer.put(bytes),
            None => writer.put([0; 4].get(..due).unwrap_or_default()),
        }
    }
}

/// Octets up to the end of a TLV, such as a name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Octets(pub Vec<u8>);

impl Octets {
    /// As text, with what is no text replaced.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }
}

impl From<&str> for Octets {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl Wire for Octets {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self(Wire::read(reader)?))
    }

    fn write(&self, writer: &mut Writer) {
        self.0.write(writer);
    }
}

#[cfg(test)]
impl crate::codec::sample::Sample for Octets {
    fn sample(seed: &mut crate::codec::sample::Seed<'_>) -> Self {
        let count = seed.below(7);
        Self((0..count).map(|_| crate::codec::sample::Sample::sample(seed)).collect())
    }
}

layout! {
    /// VENDOR-INFORMATION-TLV (RFC 7470).
    pub struct VendorTlv {
        /// Whose it is.
        pub enterprise: u32,
        /// What only they understand.
        pub data: Octets,
    }
}

/// A TLV that is kept as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownTlv {
    code: u16,
    value: Vec<u8>,
}

impl UnknownTlv {
    /// Its type.
    pub fn code(&self) -> u16 {
        self.code
    }

    /// Its value.
    pub fn value(&self) -> &[u8] {
        &self.value
    }
}

/// The values that a list of TLVs may hold.
pub(crate) trait Coded: Sized {
    fn code(&self) -> u16;
    fn read(code: u16, reader: &mut Reader<'_>) -> Result<Self, DecodeError>;
    fn write(&self, writer: &mut Writer);
}

/// Values by type.
macro_rules! values {
    ($(#[$about:meta])* pub enum $enum:ident { $($(#[$meta:meta])* $name:ident($of:ty) = $code:literal,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum $enum {
            $($(#[$meta])* $name($of),)*
            /// One of a type that has no name here.
            Unknown(UnknownTlv),
        }

        impl $enum {
            /// One that has no name here; nothing if that type has one.
            pub fn unknown(code: u16, value: Vec<u8>) -> Option<Self> {
                let named = [$($code),*].contains(&code);
                (!named).then_some(Self::Unknown(UnknownTlv { code, value }))
            }
        }

        impl Coded for $enum {
            fn code(&self) -> u16 {
                match self {
                    $(Self::$name(_) => $code,)*
                    Self::Unknown(unknown) => unknown.code,
                }
            }

            fn read(code: u16, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Ok(match code {
                    $($code => Self::$name(Wire::read(reader)?),)*
                    code => Self::Unknown(UnknownTlv { code, value: reader.rest().to_vec() }),
                })
            }

            fn write(&self, writer: &mut Writer) {
                match self {
                    $(Self::$name(value) => value.write(writer),)*
                    Self::Unknown(unknown) => writer.put(&unknown.value),
                }
            }
        }

        #[cfg(test)]
        impl crate::codec::sample::Sample for $enum {
            fn sample(seed: &mut crate::codec::sample::Seed<'_>) -> Self {
                const NAMED: usize = [$($code),*].len();
                let mut choice = seed.below(NAMED + 1);
                $(
                    if choice == 0 {
                        return Self::$name(crate::codec::sample::Sample::sample(seed));
                    }
                    choice -= 1;
                )*
                let _ = choice;
                let Octets(value) = crate::codec::sample::Sample::sample(seed);
                Self::Unknown(UnknownTlv { code: 65_505, value })
            }
        }
    };
}

values! {
    /// What a TLV of an object says.
    pub enum TlvValue {
        /// NO-PATH-VECTOR: why there is no path.
        NoPathVector(NoPathReasons) = 1,
        /// OVERLOAD-DURATION: for how many seconds the PCE expects to be congested.
        OverloadDuration(u32) = 2,
        /// REQ-MISSING: which request is missing.
        RequestMissing(u32) = 3,
        /// OF-List: objective functions that are supported (RFC 5541).
        ObjectiveFunctions(Vec<u16>) = 4,
        /// VENDOR-INFORMATION-TLV (RFC 7470).
        Vendor(VendorTlv) = 7,
        /// STATEFUL-PCE-CAPABILITY (RFC 8231).
        Stateful(StatefulCapability) = 16,
        /// SYMBOLIC-PATH-NAME (RFC 8231).
        PathName(Octets) = 17,
        /// IPV4-LSP-IDENTIFIERS (RFC 8231).
        Ipv4Lsp(Ipv4LspIdentifiers) = 18,
        /// IPV6-LSP-IDENTIFIERS (RFC 8231).
        Ipv6Lsp(Ipv6LspIdentifiers) = 19,
        /// LSP-ERROR-CODE: why an LSP is not up (RFC 8231).
        LspError(u32) = 20,
        /// LSP-DB-VERSION (RFC 8232).
        LspDbVersion(u64) = 23,
        /// SPEAKER-ENTITY-ID (RFC 8232).
        Speaker(Octets) = 24,
        /// SR-PCE-CAPABILITY where drafts before RFC 8664 had it.
        OldSrCapability(SrCapability) = 26,
        /// PATH-SETUP-TYPE (RFC 8408).
        SetupType(PathSetupType) = 28,
        /// OP-CONF-ASSOC-RANGE: numbers that are the operator's (RFC 8697).
        AssociationRanges(Vec<AssociationRange>) = 29,
        /// GLOBAL-ASSOCIATION-SOURCE (RFC 8697).
        GlobalAssociationSource(u32) = 30,
        /// EXTENDED-ASSOCIATION-ID (RFC 8697).
        ExtendedAssociationId(ExtendedAssociationId) = 31,
        /// PATH-SETUP-TYPE-CAPABILITY (RFC 8408).
        SetupTypes(PathSetupTypes) = 34,
        /// ASSOC-Type-List (RFC 8697).
        AssociationTypes(Vec<u16>) = 35,
        /// TE-PATH-BINDING (RFC 9604).
        Binding(Binding) = 55,
        /// SRPOLICY-POL-NAME (RFC 9862).
        PolicyName(Octets) = 56,
        /// SRPOLICY-CPATH-ID (RFC 9862).
        CandidatePath(CandidatePathId) = 57,
        /// SRPOLICY-CPATH-NAME (RFC 9862).
        CandidatePathName(Octets) = 58,
        /// SRPOLICY-CPATH-PREFERENCE (RFC 9862).
        Preference(u32) = 59,
        /// COMPUTATION-PRIORITY (RFC 9862).
        ComputationPriority(ComputationPriority) = 68,
        /// EXPLICIT-NULL-LABEL-POLICY (RFC 9862).
        ExplicitNull(ExplicitNull) = 69,
        /// INVALIDATION (RFC 9862).
        Invalidation(Invalidation) = 70,
        /// SRPOLICY-CAPABILITY (RFC 9862).
        SrPolicy(SrPolicyCapability) = 71,
    }
}

values! {
    /// What a TLV within PATH-SETUP-TYPE-CAPABILITY says.
    pub enum SubTlvValue {
        /// SR-PCE-CAPABILITY (RFC 8664).
        Sr(SrCapability) = 26,
        /// SRv6-PCE-CAPABILITY (RFC 9603).
        Srv6(Srv6Capability) = 27,
    }
}

impl<V> From<V> for Padded<V> {
    fn from(value: V) -> Self {
        Self { value, padding: Padding(None) }
    }
}

impl<V: Coded> Wire for Padded<V> {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let code = u16::read(reader)?;
        let length = usize::from(u16::read(reader)?);
        let mut inner = reader.split(length, "the value of a TLV")?;
        let value = V::read(code, &mut inner)?;
        inner.finish("the value of a TLV")?;
        Ok(Self { value, padding: Padding::read(reader, length)? })
    }

    fn write(&self, writer: &mut Writer) {
        let at = writer.len();
        self.value.code().write(writer);
        writer.put(&[0, 0]);
        self.value.write(writer);
        let length = writer.len() - at - 4;
        writer.set_length(at + 2, length, "a TLV");
        self.padding.write(writer, length);
    }
}

#[cfg(test)]
impl<V: Coded + crate::codec::sample::Sample> crate::codec::sample::Sample for Padded<V> {
    fn sample(seed: &mut crate::codec::sample::Seed<'_>) -> Self {
        Self::from(V::sample(seed))
    }
}

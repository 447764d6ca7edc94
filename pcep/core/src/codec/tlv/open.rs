//! TLVs of an Open: what a peer can.

use super::{Padding, SubTlv, SubTlvValue};
use crate::codec::error::DecodeError;
use crate::codec::reader::Reader;
use crate::codec::tlv::lsp::SetupType;
use crate::codec::wire::{Wire, Writer, flags, layout};

flags! {
    /// STATEFUL-PCE-CAPABILITY (RFC 8231 section 7.1.1).
    pub struct StatefulCapability: u32 {
        /// U: LSPs can be updated.
        UPDATE = 0x01,
        /// S: LSP-DB-VERSION is in use (RFC 8232).
        DB_VERSION = 0x02,
        /// I: LSPs can be initiated (RFC 8281).
        INITIATE = 0x04,
        /// T: a PCE can trigger synchronisation anew (RFC 8232).
        TRIGGERED_RESYNC = 0x08,
        /// D: only what changed is synchronised (RFC 8232).
        DELTA_SYNC = 0x10,
        /// F: a PCE triggers the first synchronisation (RFC 8232).
        TRIGGERED_SYNC = 0x20,
    }
}

flags! {
    /// SRPOLICY-CAPABILITY (RFC 9862).
    pub struct SrPolicyCapability: u32 {
        /// P: computation priorities.
        PRIORITY = 0x01,
        /// E: explicit null label policies.
        EXPLICIT_NULL = 0x02,
        /// I: invalidation.
        INVALIDATION = 0x04,
    }
}

flags! {
    /// The flags of SR-PCE-CAPABILITY.
    pub struct SrCapabilityFlags: u8 {
        /// X: the depth of SIDs has no limit.
        UNLIMITED = 0x01,
        /// N: an NAI can be resolved to a SID.
        RESOLVES_NAI = 0x02,
    }
}

layout! {
    /// SR-PCE-CAPABILITY (RFC 8664 section 4.1.2).
    pub struct SrCapability {
        /// Without a meaning.
        pub reserved: u16,
        /// More of it.
        pub flags: SrCapabilityFlags,
        /// How many labels the peer can impose.
        pub msd: u8,
    }
}

flags! {
    /// The flags of SRv6-PCE-CAPABILITY.
    pub struct Srv6CapabilityFlags: u16 {
        /// N: an NAI can be resolved to a SID.
        RESOLVES_NAI = 0x02,
    }
}

layout! {
    /// One of the limits on SRv6 SIDs.
    pub struct MsdPair {
        /// Which limit, by the registry of IGP MSD types.
        pub kind: u8,
        /// How many SIDs.
        pub value: u8,
    }
}

impl MsdPair {
    /// The most segments left with which a packet is accepted.
    pub const SEGMENTS_LEFT: u8 = 41;
    /// The most SIDs that can be popped.
    pub const END_POP: u8 = 42;
    /// The most SIDs that can be imposed.
    pub const ENCAPSULATE: u8 = 44;
    /// The most SIDs behind which a packet can be decapsulated.
    pub const END_DECAPSULATE: u8 = 45;
}

layout! {
    /// SRv6-PCE-CAPABILITY (RFC 9603 section 4.1.1).
    pub struct Srv6Capability {
        /// Without a meaning.
        pub reserved: u16,
        /// More of it.
        pub flags: Srv6CapabilityFlags,
        /// The limits of the peer.
        pub limits: Vec<MsdPair>,
    }
}

/// PATH-SETUP-TYPE-CAPABILITY (RFC 8408 section 3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathSetupTypes {
    /// Without a meaning.
    pub reserved: [u8; 3],
    /// The ways of setting up a path.
    pub types: Vec<SetupType>,
    padding: Padding,
    /// What belongs to them.
    pub sub_tlvs: Vec<SubTlv>,
}

impl PathSetupTypes {
    /// One of these.
    pub fn new(types: Vec<SetupType>, sub_tlvs: Vec<SubTlvValue>) -> Self {
        let sub_tlvs = sub_tlvs.into_iter().map(SubTlv::from).collect();
        Self { reserved: [0; 3], types, padding: Padding::default(), sub_tlvs }
    }
}

impl Wire for PathSetupTypes {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let reserved = Wire::read(reader)?;
        let count = usize::from(u8::read(reader)?);
        let types = reader.take(count, "the path set-up types")?.iter().copied().map(SetupType).collect();
        let padding = Padding::read(reader, count)?;
        Ok(Self { reserved, types, padding, sub_tlvs: Wire::read(reader)? })
    }

    fn write(&self, writer: &mut Writer) {
        self.reserved.write(writer);
        let at = writer.len();
        writer.put(&[0]);
        self.types.iter().for_each(|kind| kind.write(writer));
        writer.set_short_length(at, self.types.len(), "the list of path set-up types");
        self.padding.write(writer, self.types.len());
        self.sub_tlvs.write(writer);
    }
}

#[cfg(test)]
impl crate::codec::sample::Sample for PathSetupTypes {
    fn sample(seed: &mut crate::codec::sample::Seed<'_>) -> Self {
        use crate::codec::sample::Sample;
        let types = Sample::sample(seed);
        Self {
            reserved: Sample::sample(seed),
            types,
            padding: Padding::default(),
            sub_tlvs: Sample::sample(seed),
        }
    }
}

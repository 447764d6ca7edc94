//! What some peers need: their habits, as data. What is received is read in all of its forms anyway; a profile says what is
//! sent and what is borne.

use crate::codec::subobject::SrCode;
use std::time::Duration;

/// The habits of a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Silence that is borne though its dead timer is shorter: some peers are silent for longer than they announce.
    pub patience: Option<Duration>,
    /// Under which number segments of SR-MPLS are sent; absent: 36.
    pub sr_code: Option<SrCode>,
    /// Whether SR-MPLS is announced where drafts had it, and path set-up types are not.
    pub old_sr_capability: bool,
    /// Whether ASSOCIATION objects are sent: some peers end the session at the first one.
    pub associations: bool,
    /// How many SIDs it can really impose: some cut longer lists in silence.
    pub most_sids: Option<u8>,
}

impl Default for Profile {
    fn default() -> Self {
        Self { patience: None, sr_code: None, old_sr_capability: false, associations: true, most_sids: None }
    }
}

/// How messages for a peer are written, by its profile and its Open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Under which number segments of SR-MPLS travel.
    pub sr_code: SrCode,
    /// Whether there may be ASSOCIATION objects.
    pub associations: bool,
    /// How many labels the PCC can impose; absent: any number.
    pub most_labels: Option<u8>,
    /// How many SRv6 SIDs the PCC can impose; absent: it did not say.
    pub most_srv6_sids: Option<u8>,
}

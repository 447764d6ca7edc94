//! What a session is given.

use super::capabilities::Capabilities;
use super::negotiation::{Acceptable, Timers};
use super::profile::Profile;
use std::time::Duration;

/// Which side of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// It asks for paths.
    Pcc,
    /// It computes them.
    Pce,
}

/// Whether a session is encrypted by StartTLS (RFC 8253). One over TLS from its first byte says nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tls {
    /// Never.
    None,
    /// If the peer can.
    Preferred,
    /// Always: otherwise there is no session.
    Required,
}

/// What a session is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Our side.
    pub role: Role,
    /// Tells our sessions apart.
    pub session: u8,
    /// What our Open proposes.
    pub timers: Timers,
    /// What of the peer's Open is accepted.
    pub acceptable: Acceptable,
    /// What we can.
    pub capabilities: Capabilities,
    /// What the peer needs.
    pub profile: Profile,
    /// StartTLS.
    pub tls: Tls,
    /// Bounds.
    pub limits: Limits,
}

impl Settings {
    /// Those of RFC 5440 for one side, without capabilities.
    pub fn new(role: Role) -> Self {
        Self {
            role,
            session: 0,
            timers: Timers { keepalive: 30, dead: 120 },
            acceptable: Acceptable::default(),
            capabilities: Capabilities::default(),
            profile: Profile::default(),
            tls: Tls::None,
            limits: Limits::default(),
        }
    }
}

/// The bounds of a session; [`Limits::default`] has those of the RFCs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long the peer may take for StartTLS, and then for TLS. 60 s.
    pub start_tls: Duration,
    /// How long it may take for its Open. 60 s.
    pub open: Duration,
    /// How long it may take to accept ours. 60 s.
    pub keep: Duration,
    /// How many messages of unknown types a minute are borne. 5.
    pub unknown_messages: u32,
    /// How many unknown requests a minute are borne. 5.
    pub unknown_requests: u32,
}

impl Default for Limits {
    fn default() -> Self {
        let minute = Duration::from_secs(60);
        Self { start_tls: minute, open: minute, keep: minute, unknown_messages: 5, unknown_requests: 5 }
    }
}

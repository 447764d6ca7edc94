//! Whether an Open is accepted, and what is proposed instead.

use super::capabilities::Capabilities;
use super::settings::{Role, Settings};
use crate::codec::object::Open;
use crate::codec::tlv::{MsdPair, SetupType, SrCapability, SrCapabilityFlags};
use crate::errors::ErrorCode;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The timers of a side, in seconds; 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Timers {
    /// The most time between two messages of that side.
    pub keepalive: u8,
    /// After so much silence of that side the other one may end the session.
    pub dead: u8,
}

impl Timers {
    /// Those of an Open.
    pub fn of(open: &Open) -> Self {
        Self { keepalive: open.keepalive, dead: open.dead_timer }
    }

    pub(super) fn interval(self) -> Option<Duration> {
        (self.keepalive != 0).then(|| Duration::from_secs(u64::from(self.keepalive)))
    }

    /// Without Keepalives there is no dead timer, whatever is said of it.
    pub(super) fn silence(self) -> Option<Duration> {
        let is_timed = self.keepalive != 0 && self.dead != 0;
        is_timed.then(|| Duration::from_secs(u64::from(self.dead)))
    }
}

/// Which timers are accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acceptable {
    /// Between two messages.
    pub keepalive: RangeInclusive<u8>,
    /// Until a peer is dead.
    pub dead: RangeInclusive<u8>,
    /// Whether a peer may do without Keepalives, so that nobody knows whether it lives.
    pub without_keepalives: bool,
}

impl Default for Acceptable {
    fn default() -> Self {
        Self { keepalive: 1..=255, dead: 1..=255, without_keepalives: true }
    }
}

impl Acceptable {
    /// Are these accepted?
    pub fn allows(&self, timers: Timers) -> bool {
        if timers.keepalive == 0 {
            return self.without_keepalives;
        }
        let is_dead_allowed = timers.dead == 0 && self.without_keepalives || self.dead.contains(&timers.dead);
        self.keepalive.contains(&timers.keepalive) && is_dead_allowed
    }

    /// The nearest that are.
    fn nearest(&self, timers: Timers) -> Timers {
        let clamp = |value: u8, range: &RangeInclusive<u8>| value.max(*range.start()).min(*range.end());
        Timers { keepalive: clamp(timers.keepalive, &self.keepalive), dead: clamp(timers.dead, &self.dead) }
    }
}

/// What is said to an Open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Accept,
    /// Not with these timers, but with others.
    Propose(Timers),
    Refuse(ErrorCode),
}

/// Judges the peer's Open.
pub(super) fn judge(open: &Open, settings: &Settings) -> Verdict {
    if open.version() != 1 {
        return Verdict::Refuse(ErrorCode::VERSION);
    }
    if let Err(code) = check(&Capabilities::of(open), settings.role) {
        return Verdict::Refuse(code);
    }
    let timers = Timers::of(open);
    if settings.acceptable.allows(timers) {
        return Verdict::Accept;
    }
    let nearest = settings.acceptable.nearest(timers);
    if settings.acceptable.allows(nearest) {
        Verdict::Propose(nearest)
    } else {
        Verdict::Refuse(ErrorCode::UNACCEPTABLE)
    }
}

/// RFC 8664 section 5.1 and RFC 9603 section 5.1. The limits of SIDs mean something only when a PCC tells them.
fn check(theirs: &Capabilities, role: Role) -> Result<(), ErrorCode> {
    if theirs.setup_types.contains(&SetupType::SR) && theirs.sr.is_none() {
        return Err(ErrorCode::SR_CAPABILITY_MISSING);
    }
    if theirs.setup_types.contains(&SetupType::SRV6) && theirs.srv6.is_none() {
        return Err(ErrorCode::SRV6_CAPABILITY_MISSING);
    }
    if role == Role::Pcc {
        return Ok(());
    }
    let is_zero = |sr: &SrCapability| sr.msd == 0 && !sr.flags.contains(SrCapabilityFlags::UNLIMITED);
    if theirs.setup_types.contains(&SetupType::SR) && theirs.sr.as_ref().is_some_and(is_zero) {
        return Err(ErrorCode::MSD_ZERO);
    }
    let kinds = [MsdPair::SEGMENTS_LEFT, MsdPair::END_POP, MsdPair::ENCAPSULATE, MsdPair::END_DECAPSULATE];
    let limits = theirs.srv6.as_ref().map(|srv6| srv6.pairs.as_slice()).unwrap_or_default();
    if theirs.setup_types.contains(&SetupType::SRV6)
        && limits.iter().any(|limit| !kinds.contains(&limit.kind))
    {
        return Err(ErrorCode::INVALID_OPEN);
    }
    Ok(())
}

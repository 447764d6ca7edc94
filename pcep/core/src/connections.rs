//! Connections before they are sessions: when a PCC connects to a PCE, and which of several connections with one address
//! stays (RFC 5440 section 4.2.1 and appendix A).

use crate::errors::ErrorCode;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// The times of a connector; [`Backoff::default`] is right for most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// How long a connection may take. 60 s.
    pub connect: Duration,
    /// The time before the second attempt; each further one waits twice as long. 1 s.
    pub first: Duration,
    /// The longest time before an attempt. 60 s.
    pub most: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(60), first: seconds(1), most: seconds(60) }
    }
}

/// Where a connector stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Nothing is tried until then.
    Idle {
        /// When it is tried.
        until: Instant,
    },
    /// TCP is being set up: the RFC's state TCPPending.
    TcpPending {
        /// When it is given up.
        until: Instant,
    },
    /// There is a connection; its session says the rest.
    Connected,
}

/// What a connector wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A connection.
    Connect,
    /// The end of the attempt.
    GiveUp,
}

/// Connects to one PCE, again and again. Only a session that was up makes the next attempt an early one: a peer that accepts
/// connections and refuses sessions is not asked more often than one that is away.
#[derive(Debug)]
pub struct Connector {
    times: Backoff,
    stage: Stage,
    wait: Duration,
}

impl Connector {
    /// One that connects at once.
    pub fn new(times: Backoff, now: Instant) -> Self {
        Self { times, stage: Stage::Idle { until: now }, wait: times.first }
    }

    /// Where it stands.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// When [`Connector::handle_timeout`] is to be called, and for what.
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        match self.stage {
            Stage::Idle { until } => Some((until, "connect")),
            Stage::TcpPending { until } => Some((until, "connecting")),
            Stage::Connected => None,
        }
    }

    /// Time has passed; what is due is to be done.
    pub fn handle_timeout(&mut self, now: Instant, random: u32) -> Option<Action> {
        match self.stage {
            Stage::Idle { until } if until <= now => {
                self.stage = Stage::TcpPending { until: now + self.times.connect };
                Some(Action::Connect)
            }
            Stage::TcpPending { until } if until <= now => {
                self.handle_lost(now, random);
                Some(Action::GiveUp)
            }
            Stage::Idle { .. } | Stage::TcpPending { .. } | Stage::Connected => None,
        }
    }

    /// TCP is there.
    pub fn handle_connected(&mut self) {
        self.stage = Stage::Connected;
    }

    /// The session is up.
    pub fn handle_up(&mut self) {
        self.wait = self.times.first;
    }

    /// The connection failed, or has ended. The time before the next one is up to a quarter shorter by chance, so that many
    /// that lost one PCE do not come back at once.
    pub fn handle_lost(&mut self, now: Instant, random: u32) {
        let shorter = self.wait / 4 * (random % 1024) / 1024;
        self.stage = Stage::Idle { until: now + self.wait.saturating_sub(shorter) };
        self.wait = (self.wait * 2).min(self.times.most);
    }
}

/// A connection, by the number that the shell gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId(pub u64);

/// Who opened a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Opener {
    /// We.
    Us,
    /// The peer.
    Peer,
}

/// What becomes of a new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It may become a session.
    Admitted,
    /// It may, and another one ends for it, which was not up.
    Instead(ConnectionId),
    /// It ends with that error.
    Refused(ErrorCode),
    /// It ends: there are too many.
    Full,
}

#[derive(Debug)]
struct Held {
    id: ConnectionId,
    opener: Opener,
    is_up: bool,
}

/// The connections, one for each address at most.
#[derive(Debug)]
pub struct Connections {
    most: usize,
    held: BTreeMap<IpAddr, Held>,
}

impl Connections {
    /// None yet, and a bound on how many there may be.
    pub fn new(most: usize) -> Self {
        Self { most, held: BTreeMap::new() }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// A new connection between two addresses. A session that is up stays, and the new connection is refused. If both sides
    /// connect at once, that of the side with the higher address stays: so both choose the same.
    pub fn admit(&mut self, ours: IpAddr, peer: IpAddr, opener: Opener, id: ConnectionId) -> Admission {
        let new = Held { id, opener, is_up: false };
        let is_full = self.held.len() >= self.most;
        let Some(held) = self.held.get_mut(&peer) else {
            if is_full {
                return Admission::Full;
            }
            self.held.insert(peer, new);
            return Admission::Admitted;
        };
        let wins = match opener {
            Opener::Us => ours > peer,
            Opener::Peer => peer > ours,
        };
        if held.is_up || held.opener == opener || !wins {
            return Admission::Refused(ErrorCode::SECOND_SESSION);
        }
        let before = std::mem::replace(held, new);
        Admission::Instead(before.id)
    }

    /// The session of a connection is up.
    pub fn handle_up(&mut self, peer: IpAddr, id: ConnectionId) {
        if let Some(held) = self.held.get_mut(&peer).filter(|held| held.id == id) {
            held.is_up = true;
        }
    }

    /// A connection has ended. One that was refused, or that another one came in place of, changes nothing.
    pub fn handle_gone(&mut self, peer: IpAddr, id: ConnectionId) {
        if self.held.get(&peer).is_some_and(|held| held.id == id) {
            self.held.remove(&peer);
        }
    }
}

#[cfg(test)]
mod tests;

//! The C-SMAs that advertise to this C-PS: what is taken of them, and what each of them said (SMA-20, SMA-23).
//!
//! | file | holds |
//! |---|---|
//! | `config` | which C-SMAs may advertise what, and the bounds |
//! | `agent` | one C-SMA: nonces, gaps, snapshots, its records |
//!
//! Nothing of this outlives a restart: the C-PS asks every C-SMA for its whole view then. A snapshot is staged and
//! comes into force as a whole with its last part; one that is broken off, or begun anew, leaves what was there
//! before. A record is valid from its arrival on: clocks may differ by as much as the window, and a message that was
//! under way for longer is not taken.

mod agent;
mod config;

pub use config::{AgentBounds, AgentConfig};

use super::cst::{AgentIx, Key};
use agent::Agent;
use cats_engine_types::{AgentInstruction, Freshness, MetricRecord, NodeId};
use std::time::{Duration, Instant};

/// Why an advertisement was not taken. Each reason is counted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdvertisementError {
    /// The configuration has no entry for the sender.
    #[error("{0} is no metric agent of this path selector; configure path-selector/agent[node-id='{0}']")]
    Unknown(NodeId),
    /// It speaks in the name of another.
    #[error("{peer} advertises in the name of {agent}")]
    Name {
        /// Who is authenticated.
        peer: NodeId,
        /// Whose name the message has.
        agent: NodeId,
    },
    /// The clocks differ, or the message was under way, by more than the window.
    #[error("the message of {agent} is {} {}; at most {window:?} is taken: check the clocks of both nodes",
        abs(*.offset), if *.offset < 0 { "old" } else { "ahead" })]
    Window {
        /// Who.
        agent: NodeId,
        /// The sender's time less ours, in microseconds.
        offset: i64,
        /// The window.
        window: Duration,
    },
    /// It is of a start of the sender before the one that is known.
    #[error("the message {found} of {agent} is of a start that ended; {known} is known")]
    OldEpoch {
        /// Who.
        agent: NodeId,
        /// Of the message.
        found: Freshness,
        /// The last one that was taken.
        known: Freshness,
    },
    /// Its nonce is one that was used, or comes before one that was.
    #[error("the message {found} of {agent} is a repetition or late; {known} is known")]
    Repeated {
        /// Who.
        agent: NodeId,
        /// Of the message.
        found: Freshness,
        /// The last one that was taken.
        known: Freshness,
    },
}

fn abs(offset: i64) -> String {
    format!("{:?}", Duration::from_micros(offset.unsigned_abs()))
}

/// What an operator is to be told of a C-SMA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AgentAlarm {
    /// Its messages are outside of the window: the clocks differ, and nothing of it is taken.
    ClockSkew {
        /// Its time less ours, in microseconds.
        offset: i64,
    },
    /// Nothing was heard of it for too long.
    Silent,
    /// It advertises more records than are taken.
    RecordLimit,
}

/// Counters of one C-SMA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct AgentCounters {
    pub accepted: u64,
    pub records: u64,
    pub withdrawals: u64,
    pub refreshes: u64,
    /// Whole views that came into force.
    pub snapshots: u64,
    /// Whole views that were broken off or begun anew.
    pub abandoned: u64,
    /// Messages that others are missing before.
    pub gaps: u64,
    pub wrong_name: u64,
    pub outside_window: u64,
    pub old_epoch: u64,
    pub repeated: u64,
    /// Records of instances that it may not speak of.
    pub unauthorised: u64,
    /// Records beyond the limit.
    pub beyond_limit: u64,
}

/// How far a C-SMA's view is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentPhase {
    /// Something is missing; its whole view is asked for as soon as it is connected.
    Lacking,
    /// Its whole view is under way.
    Synchronising,
    /// All that it advertises is known.
    Synchronised,
}

/// One C-SMA.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct AgentView {
    pub node: NodeId,
    pub connected: bool,
    pub phase: AgentPhase,
    /// The last message that was taken; epoch 0: none.
    pub freshness: Freshness,
    /// When it was taken.
    pub heard: Option<Instant>,
    /// Its time less ours as of its last message, in microseconds.
    pub offset: i64,
    pub records: usize,
    pub alarms: Vec<AgentAlarm>,
    pub counters: AgentCounters,
}

/// A record of a C-SMA as it was advertised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) record: MetricRecord,
    pub(super) received: Instant,
    /// When its report was taken, by our clock and never too late.
    pub(super) taken: Option<Instant>,
    pub(super) authorised: bool,
    /// Whether that was looked at since it came.
    pub(super) judged: bool,
}

/// What follows of an advertisement.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) instruction: Option<AgentInstruction>,
    /// Instances that a change told of, in order.
    pub(super) changed: Vec<Key>,
    /// Whether all that it advertised holds on from now.
    pub(super) refreshed: bool,
}

/// All of them. They keep their numbers while the C-PS runs, so that a record names its source by one.
#[derive(Debug, Default)]
pub(super) struct Agents(Vec<Agent>);

impl Agents {
    pub(super) fn find(&self, node: &NodeId) -> Option<AgentIx> {
        let at = self.0.iter().position(|agent| agent.is_configured() && agent.node() == node)?;
        u16::try_from(at).ok().map(AgentIx::new)
    }

    pub(super) fn get(&self, ix: AgentIx) -> Option<&Agent> {
        self.0.get(ix.at())
    }

    pub(super) fn get_mut(&mut self, ix: AgentIx) -> Option<&mut Agent> {
        self.0.get_mut(ix.at())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (AgentIx, &Agent)> {
        let configured = self.0.iter().zip(0u16..).filter(|(agent, _)| agent.is_configured());
        configured.map(|(agent, number)| (AgentIx::new(number), agent))
    }

    /// The numbers of all, also of those that left the configuration.
    pub(super) fn numbers(&self) -> Vec<AgentIx> {
        (0u16..).zip(&self.0).map(|(number, _)| AgentIx::new(number)).collect()
    }

    /// Whether the CST has yet to follow one of them.
    pub(super) fn is_behind(&self) -> bool {
        self.0.iter().any(Agent::is_behind)
    }

    /// Takes a new configuration.
    pub(super) fn configure(&mut self, configs: &[AgentConfig], now: Instant) {
        for agent in &mut self.0 {
            agent.configure(configs.iter().find(|config| config.node == *agent.node()), now);
        }
        for config in configs {
            if self.find(&config.node).is_none() && self.0.len() <= usize::from(u16::MAX) {
                // The place of one that is gone, whose number nothing refers to any more.
                match self.0.iter_mut().find(|agent| !agent.is_configured() && !agent.is_behind()) {
                    Some(free) => *free = Agent::new(config.clone(), now),
                    None => self.0.push(Agent::new(config.clone(), now)),
                }
            }
        }
    }
}

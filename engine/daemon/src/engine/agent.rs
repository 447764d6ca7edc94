//! The metric agent's role: the machine, the instances that report to it, and the path selectors that it tells.
//!
//! The path selector of the same node is told in process, as the forwarder of the same node asks it in process: its words
//! are handed over as they are, without signature and encoding, and the machine of either side cannot tell the difference.

mod collection;
mod peers;

use super::{Engine, Now};
use crate::config::MetricAgent;
use crate::plane::Plane;
use cats_engine_core::sma::northbound::{Alarm as PeerAlarm, Output as ToPeer};
use cats_engine_core::sma::{Alarm, AuditRecord, Event, Output, Sma};
use cats_engine_types::{Epoch, NodeId};
use collection::{Batch, Reporters};
pub(super) use peers::Peers;
use std::collections::BTreeMap;
use std::time::Instant;

/// Reports that are taken in between two looks at the packets.
pub(super) const REPORTS: usize = 1024;

/// What the machine wants that is carried out in one round between the roles.
const OUTPUTS: usize = 1024;

/// Of these, messages to path selectors: one may have hundreds of records.
const MESSAGES: usize = 2;

#[derive(Debug)]
pub(super) struct AgentRole {
    pub(super) desired: MetricAgent,
    pub(super) sma: Sma,
    pub(super) epoch: Epoch,
    pub(super) peers: Peers,
    reporters: Reporters,
    /// Reports that came together and are not all taken in.
    batch: Option<Batch>,
    broker_connected: bool,
}

impl AgentRole {
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.sma.poll_timeout().map(|(at, _)| at)
    }

    pub(super) fn handle_timeout(&mut self, now: Now) {
        if self.poll_timeout().is_some_and(|at| at <= now.at) {
            self.sma.handle_timeout(now.at, now.micros());
        }
    }

    /// Whether reports that came together are not all taken in.
    pub(super) fn is_behind(&self) -> bool {
        self.batch.is_some()
    }

    /// Whether reports come over the broker, where there is one.
    pub(super) fn broker_connected(&self) -> bool {
        self.desired.collection.broker.is_some() && self.broker_connected
    }
}

impl<P: Plane> Engine<P> {
    /// Ends the role where there is to be none, or one of another name: while its connections are there.
    pub(super) fn end_agent(&mut self, after: Option<&MetricAgent>, now: Now) {
        let name = after.map(MetricAgent::node);
        if self.agent.as_ref().is_some_and(|role| name != Some(role.desired.node())) {
            self.drop_agent(now);
        }
    }

    /// Takes the role on, or changes it. `void`: every connection is.
    pub(super) fn apply_agent(&mut self, agent: Option<MetricAgent>, void: bool, now: Now) {
        let Some(desired) = agent else {
            self.network.collect(None);
            return;
        };
        if !void && self.agent.as_ref().is_some_and(|role| role.desired == desired) {
            return;
        }
        self.network.sign_for(&desired.peers);
        let anew = self.network.collect(Some(&desired));
        if self.agent.is_none() {
            self.start_agent(&desired, now);
        }
        let Some(role) = &mut self.agent else { return };
        if anew {
            // Streams of a listener that is gone end with their connections here.
            (role.reporters, role.batch) = (Reporters::default(), None);
        }
        let lost = role.peers.follow(&desired, &role.desired, &mut self.network);
        let before = std::mem::replace(&mut role.desired, desired);
        if (&before.machine, &before.local) != (&role.desired.machine, &role.desired.local) {
            role.sma.configure(role.desired.sma(), now.at, now.micros());
        }
        for peer in lost {
            role.sma.handle_disconnected(&peer, now.at, now.micros());
            role.sma.reconnect(&peer, now.at, now.micros());
        }
    }

    fn start_agent(&mut self, desired: &MetricAgent, now: Now) {
        let epoch = self.new_epoch(now);
        let mut sma = Sma::new(desired.node().clone(), epoch.0, now.at, now.micros());
        sma.configure(desired.sma(), now.at, now.micros());
        tracing::info!(agent = %desired.node(), %epoch, "metric agent started");
        self.agent = Some(AgentRole {
            desired: desired.clone(),
            sma,
            epoch,
            peers: Peers::default(),
            reporters: Reporters::default(),
            batch: None,
            broker_connected: false,
        });
    }

    /// Ends the role: every path selector that is connected is told that nothing is advertised to it any more.
    fn drop_agent(&mut self, now: Now) {
        let Some(role) = &mut self.agent else { return };
        let mut nobody = role.sma.config().clone();
        nobody.northbound.peers.clear();
        role.sma.configure(nobody, now.at, now.micros());
        while self.pump_agent(now) {}
        tracing::info!("metric agent stopped");
        self.agent = None;
        // Nobody follows files that nothing is signed with.
        self.network.sign_for(&BTreeMap::new());
        self.alarms.end_agent();
    }

    /// Carries out what the machine wants; false if that is nothing.
    pub(super) fn pump_agent(&mut self, now: Now) -> bool {
        let mut messages = 0;
        for count in 0..OUTPUTS {
            let Some(role) = &mut self.agent else { return false };
            let Some(output) = role.sma.poll_output() else { return count > 0 };
            match output {
                Output::Northbound(output) => {
                    messages += usize::from(matches!(output, ToPeer::Send { .. }));
                    self.tell_peer(output, now);
                    if messages >= MESSAGES {
                        return true;
                    }
                }
                Output::Pull { key, cause, deadline } => {
                    tracing::debug!(%key, ?cause, "asking for a full report");
                    self.pull(key.csci_id, deadline, now);
                }
                Output::Answer { key, instruction } => role.reporters.send(key.csci_id, instruction),
                Output::Alarm { alarm, raised } => {
                    self.alarms.follow_agent(&alarm, raised, now);
                    log_alarm(&alarm, raised);
                }
                Output::Audit(record) => {
                    self.alarms.follow_audit(&record, now);
                    log_audit(&record);
                }
                Output::Event(event) => log_event(&event),
            }
        }
        true
    }

    /// The name under which the metric agent of this node has the path selector of this node, while it is connected.
    pub(super) fn local_selector(&self, agent: &NodeId) -> Option<NodeId> {
        let role = self.agent.as_ref().filter(|role| role.desired.node() == agent)?;
        role.peers.local().cloned()
    }
}

/// What there may be many of at once is for who looks for it: the counters and the state of each instance have it too.
fn log_event(event: &Event) {
    match event {
        Event::Discovered { key } => tracing::debug!(%key, "instance discovered"),
        Event::State { key, from, to } => tracing::debug!(%key, ?from, ?to, "state of an instance"),
        Event::Health { key, from, to } => tracing::debug!(%key, ?from, ?to, "health of an instance"),
        Event::Withdrawn { key, reason } => tracing::debug!(%key, ?reason, "instance withdrawn"),
        Event::Forgotten { key } => tracing::debug!(%key, "instance forgotten"),
    }
}

fn log_alarm(alarm: &Alarm, raised: bool) {
    match (alarm, raised) {
        (Alarm::ClockSkew { key, by, ahead }, true) => {
            tracing::warn!(%key, ?by, ahead, "the clock of an instance is off, or its reports come late");
        }
        (Alarm::ClockSkew { key, .. }, false) => tracing::info!(%key, "the clock of an instance is right"),
        (Alarm::Overload, true) => tracing::warn!("instances report faster than reports are taken in"),
        (Alarm::Overload, false) => tracing::info!("no report waits any more"),
    }
}

pub(super) fn log_peer_alarm(alarm: &PeerAlarm, raised: bool) {
    match (alarm, raised) {
        (PeerAlarm::Unreachable { peer }, true) => {
            tracing::warn!(%peer, "the path selector is not reached; trying again");
        }
        (PeerAlarm::Unreachable { peer }, false) => tracing::info!(%peer, "the path selector is reached"),
        (PeerAlarm::BufferOverrun { peer }, true) => {
            tracing::warn!(%peer, "changes for the path selector were dropped; it gets the whole view");
        }
        (PeerAlarm::BufferOverrun { peer }, false) => {
            tracing::info!(%peer, "the path selector has the whole view");
        }
    }
}

/// The machine bounds how many there are.
fn log_audit(record: &AuditRecord) {
    let AuditRecord { number, kind, left_out, .. } = record;
    tracing::info!(target: "cats::audit", number, ?kind, left_out, "audit");
}

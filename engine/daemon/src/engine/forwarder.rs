//! The forwarder's role: the data plane with its state machine, and the way to the path selector.

use super::{Engine, Now};
use crate::config::{Forwarding, Remote};
use crate::plane::Plane;
use cats_datapath_core::{Applied, BackendError, ForwarderConfig};
use cats_engine_transport::control_plane::{ForwarderEvent, Sent, Upstream};
use cats_engine_types::{
    BindingEvent, BindingStatus, Capabilities, Delivery, DeliveryState, Epoch, Family, FlowKey,
    ForwarderReport, Instruction, NodeId,
};
use std::time::{Duration, Instant};

/// After a fault of the data plane the configuration is applied again.
const AGAIN: Duration = Duration::from_secs(5);

/// Bindings that are reported in one step to a path selector that has just come.
const PAGE: usize = 1024;

/// How long a report waits for room on the way to the path selector.
const ROOM: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(super) struct ForwarderRole<P> {
    pub(super) desired: Forwarding,
    /// Absent while the data plane refuses to start.
    pub(super) plane: Option<P>,
    /// The last fault, and when to try again.
    pub(super) fault: Option<(String, Instant)>,
    pub(super) report: ForwarderReport,
    pub(super) uplink: Uplink,
    /// Bindings from this flow on are still to be reported.
    restore: Option<Option<FlowKey>>,
    restore_at: Option<Instant>,
}

/// The way to the path selector.
#[derive(Debug)]
pub(super) enum Uplink {
    /// There is none at the moment; why, where that is known.
    Down(Option<String>),
    /// It is in this process.
    Local,
    /// It is another node.
    Remote(Upstream),
}

impl<P: Plane> ForwarderRole<P> {
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let fault = self.fault.as_ref().map(|(_, at)| *at);
        // The plane waits for its machine's deadlines itself.
        fault.into_iter().chain(self.restore_at).min()
    }

    fn node(&self) -> &NodeId {
        &self.desired.config.node
    }

    /// Brings the data plane to the desired state; a fault is kept, and another try comes.
    fn converge(&mut self, epoch: Epoch, now: Now) {
        let config = &self.desired.config;
        let applied = match &mut self.plane {
            Some(plane) => plane.reconfigure(config, now.at),
            None => P::open(config, epoch, now.at).map(|(plane, applied)| {
                self.plane = Some(plane);
                applied
            }),
        };
        self.report = report(&self.desired, epoch, self.plane.as_mut(), applied.as_ref());
        match applied {
            Ok(applied) => {
                self.fault = None;
                for warning in applied.warnings {
                    tracing::warn!(%warning, "data plane");
                }
            }
            Err(error) => self.failed(&error, now),
        }
    }

    fn failed(&mut self, error: &BackendError, now: Now) {
        let text = error.to_string();
        if self.fault.as_ref().is_none_or(|(known, _)| *known != text) {
            tracing::error!(%error, "the data plane is not as configured; trying again");
        }
        self.fault = Some((text, now.at + AGAIN));
    }
}

/// What the forwarder says of itself.
fn report<P: Plane>(
    desired: &Forwarding,
    epoch: Epoch,
    plane: Option<&mut P>,
    applied: Result<&Applied, &BackendError>,
) -> ForwarderReport {
    let config = &desired.config;
    let deliveries = match applied {
        Ok(applied) => applied.deliveries.clone(),
        Err(error) => refused(config, error),
    };
    let capabilities = plane.map(Plane::capabilities);
    let ingress = config.ingress.as_ref().and_then(|ingress| {
        let able = capabilities?;
        Some(Capabilities {
            max_segments: able.max_segments.min(desired.max_segments),
            max_bindings: able.max_bindings.min(ingress.flow_limit),
            ..able
        })
    });
    let sids = config.egress.as_ref().map(|egress| egress.sids).unwrap_or_default();
    let v4 = sids.v4.map(|sid| (Family::V4, sid));
    let decapsulation = v4.into_iter().chain(sids.v6.map(|sid| (Family::V6, sid))).collect();
    ForwarderReport { node: config.node.clone(), epoch, ingress, deliveries, decapsulation }
}

fn refused(config: &ForwarderConfig, error: &BackendError) -> Vec<Delivery> {
    let deliveries = config.egress.iter().flat_map(|egress| &egress.deliveries);
    let mut refused: Vec<Delivery> = deliveries
        .map(|delivery| Delivery {
            csci_id: delivery.csci_id,
            locator: delivery.locator,
            state: DeliveryState::Failed(error.to_string()),
        })
        .collect();
    refused.sort_by_key(|delivery| delivery.csci_id);
    refused
}

impl<P: Plane> Engine<P> {
    /// Takes the role on, changes or drops it.
    pub(super) fn apply_forwarder(&mut self, forwarding: Option<Forwarding>, now: Now) {
        let Some(desired) = forwarding else {
            self.drop_forwarder(now);
            return;
        };
        let renamed = self.forwarder.as_ref().is_some_and(|role| role.node() != &desired.config.node);
        if renamed {
            self.drop_forwarder(now);
        }
        match &mut self.forwarder {
            Some(role) if role.desired == desired && role.fault.is_none() => {}
            Some(role) => {
                role.desired = desired;
                role.converge(self.epoch, now);
            }
            None => {
                let report = ForwarderReport {
                    node: desired.config.node.clone(),
                    epoch: self.epoch,
                    ingress: None,
                    deliveries: Vec::new(),
                    decapsulation: Vec::new(),
                };
                let mut role = ForwarderRole {
                    desired,
                    plane: None,
                    fault: None,
                    report,
                    uplink: Uplink::Down(None),
                    restore: None,
                    restore_at: None,
                };
                role.converge(self.epoch, now);
                self.forwarder = Some(role);
            }
        }
        self.prune();
    }

    /// Ends the role: nothing of it stays in the data plane.
    fn drop_forwarder(&mut self, now: Now) {
        let Some(role) = &mut self.forwarder else { return };
        let node = role.node().clone();
        let nothing =
            ForwarderConfig { node: node.clone(), underlay_source: None, ingress: None, egress: None };
        if let Some(plane) = &mut role.plane
            && let Err(error) = plane.reconfigure(&nothing, now.at)
        {
            tracing::error!(%error, "the data plane could not be cleared");
        }
        // What the machine removes goes out with this; then nobody speaks for the node any more.
        self.pump_forwarder(now);
        self.prune();
        self.forwarder = None;
        if let Some(selector) = &mut self.selector {
            selector.cps.handle_detached(&node, now.at);
        }
    }

    /// Removes what nobody configured, once the whole configuration is known.
    pub(super) fn prune(&mut self) {
        if !self.confirmed {
            return;
        }
        let plane =
            self.forwarder.as_mut().filter(|role| role.fault.is_none()).and_then(|role| role.plane.as_mut());
        if let Some(Err(error)) = plane.map(|plane| plane.prune()) {
            tracing::warn!(%error, "what is not configured could not be removed");
        }
    }

    /// Connects the forwarder with its path selector, and tells it the report.
    pub(super) fn uplink(&mut self, remote: Option<&Remote>, now: Now) {
        let Some(role) = &mut self.forwarder else {
            self.network.detach();
            return;
        };
        let anew = self.network.attach(remote, &role.report);
        if remote.is_some() {
            if anew || matches!(role.uplink, Uplink::Local) {
                role.uplink = Uplink::Down(None);
            }
            return;
        }
        let Some(selector) = &mut self.selector else {
            role.uplink = Uplink::Down(Some(
                "this node has no path selector, and no other one is configured".to_owned(),
            ));
            return;
        };
        match selector.cps.handle_forwarder(role.report.clone(), now.at) {
            Ok(()) if matches!(role.uplink, Uplink::Local) => {}
            Ok(()) => {
                role.uplink = Uplink::Local;
                self.greet(now);
            }
            Err(error) => {
                tracing::warn!(%error, "the local forwarder is refused");
                role.uplink = Uplink::Down(Some(error.to_string()));
            }
        }
    }

    /// A path selector has just come: it learns what is installed and what waits.
    fn greet(&mut self, now: Now) {
        let Some(role) = &mut self.forwarder else { return };
        role.restore = Some(None);
        role.restore_at = None;
        let waiting = role.plane.as_mut().map(|plane| plane.ingress().waiting()).unwrap_or_default();
        for request in waiting {
            self.request(request, now);
        }
    }

    pub(super) fn is_local(&self, node: &NodeId) -> bool {
        self.forwarder
            .as_ref()
            .is_some_and(|role| matches!(role.uplink, Uplink::Local) && role.node() == node)
    }

    pub(super) fn forwarder_event(&mut self, event: ForwarderEvent, now: Now) {
        let Some(role) = &mut self.forwarder else { return };
        match event {
            ForwarderEvent::Attached { upstream, .. } => {
                role.uplink = Uplink::Remote(upstream);
                self.greet(now);
            }
            ForwarderEvent::Instructions(instructions) => {
                for instruction in instructions {
                    self.instruct(instruction, now);
                }
            }
            ForwarderEvent::Detached { reason } => role.uplink = Uplink::Down(Some(reason)),
        }
    }

    /// What a path selector says to the ingress.
    pub(super) fn instruct(&mut self, instruction: Instruction, now: Now) {
        let Some(plane) = self.forwarder.as_mut().and_then(|role| role.plane.as_mut()) else { return };
        let ingress = plane.ingress();
        match instruction {
            Instruction::Install(binding) => ingress.handle_binding(*binding, now.at),
            Instruction::Refuse { transaction, key, failure } => {
                ingress.handle_refusal(key, transaction, &failure);
            }
            Instruction::Remove { transaction, key, reason } => {
                ingress.handle_removal(key, transaction, reason, now.at);
            }
        }
    }

    pub(super) fn forwarder_timeout(&mut self, now: Now) {
        let Some(role) = &mut self.forwarder else { return };
        if role.restore_at.is_some_and(|at| at <= now.at) {
            role.restore_at = None;
        }
        if role.fault.as_ref().is_some_and(|(_, at)| *at <= now.at) {
            role.converge(self.epoch, now);
            let remote = role.desired.remote.clone();
            self.prune();
            self.uplink(remote.as_ref(), now);
        }
    }

    /// Carries out what the machine wants; false if that is nothing.
    pub(super) fn pump_forwarder(&mut self, now: Now) -> bool {
        let Some(role) = &mut self.forwarder else { return false };
        let Some(plane) = &mut role.plane else { return false };
        let effects = match plane.step(now.at) {
            Ok(effects) if effects.is_empty() => return false,
            Ok(effects) => effects,
            Err(error) => {
                tracing::error!(%error, "the data plane cannot be read");
                return false;
            }
        };
        for fault in &effects.faults {
            tracing::warn!(%fault, "data plane");
        }
        for request in effects.requests {
            self.request(request, now);
        }
        // What was there before is reported by the walk over all bindings that begins with each attachment.
        let news = |status: &BindingStatus| !matches!(status.event, BindingEvent::Restored(_));
        for status in effects.statuses.into_iter().filter(news) {
            self.status(status, now);
        }
        true
    }

    fn request(&mut self, request: cats_engine_types::ServiceRequest, now: Now) {
        let Some(role) = &mut self.forwarder else { return };
        match &role.uplink {
            Uplink::Local => {
                if let Some(selector) = &mut self.selector {
                    let node = role.desired.config.node.clone();
                    selector.cps.handle_request(&node, request, now.at, now.wall);
                }
            }
            Uplink::Remote(upstream) => {
                let (key, transaction) = (request.key, request.transaction);
                if upstream.request(request) == Sent::Gone
                    && let Some(plane) = &mut role.plane
                {
                    let failure =
                        cats_engine_types::RequestFailure::Limit(cats_engine_types::Limit::Requests);
                    plane.ingress().handle_refusal(key, transaction, &failure);
                }
            }
            // It waits until its hold deadline, and is asked again when a path selector comes.
            Uplink::Down(_) => {}
        }
    }

    fn status(&mut self, status: BindingStatus, now: Now) {
        let Some(role) = &mut self.forwarder else { return };
        match &role.uplink {
            Uplink::Local => {
                if let Some(selector) = &mut self.selector {
                    let node = role.desired.config.node.clone();
                    selector.cps.handle_binding_status(&node, status, now.at);
                }
            }
            Uplink::Remote(upstream) => {
                if upstream.status(status) == Sent::Gone {
                    // The next attachment tells everything again.
                    role.uplink = Uplink::Down(Some("the path selector does not keep up".to_owned()));
                }
            }
            Uplink::Down(_) => {}
        }
    }

    /// Reports a page of bindings to a path selector that has just come; false if none is due.
    pub(super) fn restore_some(&mut self, now: Now) -> bool {
        let Some(role) = &mut self.forwarder else { return false };
        let (Some(after), Some(plane)) = (role.restore, &mut role.plane) else { return false };
        let room = match &role.uplink {
            Uplink::Down(_) => {
                role.restore = None;
                return false;
            }
            Uplink::Local => PAGE,
            // Half of the way stays free for what is new.
            Uplink::Remote(upstream) => (upstream.room() / 2).min(PAGE),
        };
        if room == 0 {
            role.restore_at.get_or_insert(now.at + ROOM);
            return false;
        }
        let page = plane.ingress().bindings(after, room);
        role.restore = (page.len() == room).then(|| page.last().map(|binding| binding.forward.key));
        let any = !page.is_empty();
        for binding in page {
            let (transaction, key) = (binding.transaction, binding.forward.key);
            let event = BindingEvent::Restored(Box::new((*binding).clone()));
            self.status(BindingStatus { transaction, key, event }, now);
        }
        any
    }
}

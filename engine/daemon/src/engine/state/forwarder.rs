//! What the forwarder shows.

use super::decision::{encapsulation, identity};
use super::filter::Filter;
use super::{Part, flow_key, place};
use crate::engine::Engine;
use crate::engine::forwarder::Uplink;
use crate::plane::Plane;
use cats_datapath_core::{DropReason, PlaneCounters, PlaneDrop};
use cats_engine_types::{Binding, CsId, Delivery, DeliveryState};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

const ROOT: &str = "cats-forwarder:forwarder";

impl<P: Plane> Engine<P> {
    /// Everything but the long lists.
    pub(super) fn forwarder_state(&mut self, cats: &mut Map<String, Value>, filter: &Filter) {
        let status = filter.wants(&[ROOT, "status"]);
        let classifiers = filter.wants(&["traffic-classifiers", "traffic-classifier"]);
        if self.forwarder.is_none() || !(status || classifiers) {
            return;
        }
        let counters = self.counters();
        if let (true, Some(counters)) = (classifiers, &counters) {
            let entries = self.classifiers(counters);
            if !entries.is_empty() {
                place(cats, &["traffic-classifiers", "traffic-classifier"], Value::Array(entries));
            }
        }
        if status {
            place(cats, &[ROOT, "status"], self.status_of(counters.as_ref()));
        }
    }

    fn counters(&mut self) -> Option<PlaneCounters> {
        let plane = self.forwarder.as_mut()?.plane.as_mut()?;
        let counters = plane.counters();
        counters.inspect_err(|error| tracing::warn!(%error, "counters cannot be read")).ok()
    }

    /// What the data plane counted for each service of this ingress that has a classifier.
    fn classifiers(&self, counters: &PlaneCounters) -> Vec<Value> {
        let ingress = self.forwarder.as_ref().and_then(|role| role.desired.config.ingress.as_ref());
        let mut tallies: BTreeMap<CsId, (u64, u64)> = BTreeMap::new();
        for (address, cs_id) in ingress.into_iter().flat_map(|ingress| &ingress.services) {
            let tally = counters.services.get(address).copied().unwrap_or_default();
            let sum = tallies.entry(*cs_id).or_default();
            sum.0 = sum.0.saturating_add(tally.packets);
            sum.1 = sum.1.saturating_add(tally.octets);
        }
        let configured = &self.config.config().cats.traffic_classifiers.traffic_classifier;
        let known: Vec<String> = configured.values().map(|entry| entry.cs_id.to_string()).collect();
        let entry = |(cs_id, (packets, octets)): (CsId, (u64, u64))| {
            json!({
                "cs-id": identity(cs_id.as_number(), &cs_id),
                "matched-packets": packets.to_string(),
                "matched-bytes": octets.to_string(),
            })
        };
        tallies.into_iter().filter(|(cs_id, _)| known.contains(&cs_id.to_string())).map(entry).collect()
    }

    pub(super) fn status_of(&mut self, counters: Option<&PlaneCounters>) -> Value {
        let Some(role) = &mut self.forwarder else { return json!({}) };
        let mut status = Map::new();
        let mut set = |name: &str, value: Value| drop(status.insert(name.to_owned(), value));
        set("attached", json!(!matches!(role.uplink, Uplink::Down(_))));
        if let Uplink::Down(Some(reason)) = &role.uplink {
            set("detached-reason", json!(reason));
        }
        if let Some((fault, _)) = &role.fault {
            set("data-plane-fault", json!(fault));
        }
        let mut drops = BTreeMap::new();
        if let Some(plane) = &mut role.plane {
            let occupancy = plane.ingress().occupancy();
            set("flows", json!(u32::try_from(occupancy.flows).unwrap_or(u32::MAX)));
            set("pending-flows", json!(occupancy.pending_flows));
            set("held-packets", json!(occupancy.held_packets));
            set("held-bytes", json!(occupancy.held_octets));
            drops.extend(plane.ingress().drops().iter().map(|(reason, count)| (drop_name(*reason), *count)));
        }
        if let Some(counters) = counters {
            set("punted-packets", json!(counters.punted.packets.to_string()));
            set("reverse-packets", json!(counters.reverse.packets.to_string()));
            set("delivered-packets", json!(counters.delivered.packets.to_string()));
            drops.extend(
                counters.drops.iter().map(|(reason, tally)| (plane_drop_name(*reason), tally.packets)),
            );
        }
        if !drops.is_empty() {
            let entry =
                |(reason, packets): (&str, u64)| json!({ "reason": reason, "packets": packets.to_string() });
            set("drop", drops.into_iter().map(entry).collect());
        }
        let deliveries: Vec<Value> = role.report.deliveries.iter().map(delivery).collect();
        if !deliveries.is_empty() {
            set("delivery", Value::Array(deliveries));
        }
        Value::Object(status)
    }

    pub(super) fn bindings(&mut self, after: Option<&str>, limit: usize) -> Result<Part, String> {
        let after = after.map(flow_key).transpose()?;
        let plane = self.forwarder.as_mut().and_then(|role| role.plane.as_mut());
        let Some(plane) = plane else { return Ok((Vec::new(), None)) };
        let page = plane.ingress().bindings(after, limit);
        let last = page.last().filter(|_| page.len() == limit).map(|binding| binding.forward.key.to_string());
        Ok((page.iter().map(|entry| binding(entry)).collect(), last))
    }
}

fn delivery(delivery: &Delivery) -> Value {
    let mut entry = json!({
        "csci-id": identity(delivery.csci_id.as_number(), &delivery.csci_id),
        "address": delivery.locator.address.to_string(),
        "ready": delivery.state == DeliveryState::Ready,
    });
    if let (DeliveryState::Failed(reason), Value::Object(members)) = (&delivery.state, &mut entry) {
        members.insert("failure".to_owned(), json!(reason));
    }
    entry
}

pub(super) fn binding(binding: &Binding) -> Value {
    let forward = &binding.forward;
    let (kind, segments) = encapsulation(&forward.path);
    let mut entry = json!({
        "key": forward.key.to_string(),
        "transaction": binding.transaction.to_string(),
        "service": identity(binding.cs_id.as_number(), &binding.cs_id),
        "csci-id": identity(forward.csci_id.as_number(), &forward.csci_id),
        "locator": forward.locator.to_string(),
        "egress": forward.egress.to_string(),
        "encapsulation": kind,
        "epoch": binding.epoch.to_string(),
        "version": binding.version,
    });
    if let (false, Value::Object(members)) = (segments.is_empty(), &mut entry) {
        members.insert("segment".to_owned(), json!(segments));
    }
    entry
}

fn drop_name(reason: DropReason) -> &'static str {
    match reason {
        DropReason::NoService => "no-service",
        DropReason::HoldExpired => "hold-expired",
        DropReason::Refused => "refused",
        DropReason::InstallFailed => "install-failed",
        DropReason::FlowBound => "flow-bound",
        DropReason::TotalBound => "total-bound",
        DropReason::PendingFlows => "pending-flows",
        DropReason::FlowLimit => "flow-limit",
        DropReason::Ending => "ending",
    }
}

fn plane_drop_name(reason: PlaneDrop) -> &'static str {
    match reason {
        PlaneDrop::ReverseWithoutBinding => "reverse-without-binding",
        PlaneDrop::ReleasedWithoutBinding => "released-without-binding",
        PlaneDrop::Unserved => "unserved",
        PlaneDrop::Fragment => "fragment",
        PlaneDrop::Undelivered => "undelivered",
        PlaneDrop::SegmentFromAccess => "segment-from-access",
        PlaneDrop::PuntQueue => "punt-queue",
    }
}

//! What the nft backend is measured against: forwarding alone, and what an operator would write by hand.

use super::load::Traffic;
use super::rig::Rig;

/// Forwarding alone: the client's packets are addressed to the instance.
pub(super) fn plain_traffic() -> Traffic {
    Traffic { flows: 1, destination: Rig::INSTANCE, port: Rig::PORT }
}

/// Destination NAT with connection tracking, as `nft` is told by hand. Without a route of its own the instance is
/// reached plainly: so the packets of the load pass POSTROUTING, where connections are confirmed.
pub(super) fn translate_by_hand(rig: &Rig) -> Result<(), String> {
    let (service, port, instance) = (Rig::SERVICE, Rig::PORT, Rig::INSTANCE);
    let rules = format!(
        "add table ip nat; \
         add chain ip nat prerouting {{ type nat hook prerouting priority dstnat; }}; \
         add rule ip nat prerouting ip daddr {service} udp dport {port} dnat to {instance}"
    );
    rig.forwarder.run("nft", &[&rules]).map(drop).map_err(|error| error.to_string())
}

/// The encapsulating route to the instance, as `ip` is told by hand.
pub(super) fn encapsulate_by_hand(rig: &Rig) -> Result<(), String> {
    let route = format!("{}/32", Rig::INSTANCE);
    let segments = Rig::SEGMENTS.join(",");
    let encapsulation = ["encap", "seg6", "mode", "encap", "segs", &segments, "dev", Rig::UNDERLAY];
    let added = rig.forwarder.ip(&[&["route", "add", &route], encapsulation.as_slice()].concat());
    added.map(drop).map_err(|error| error.to_string())
}

/// Connections that the forwarder tracks.
pub(super) fn tracked(rig: &Rig) -> Result<u32, String> {
    number(rig, "net.netfilter.nf_conntrack_count")
}

/// Connections that the machine tracks at most in a namespace.
pub(super) fn trackable(rig: &Rig) -> Result<u32, String> {
    number(rig, "net.netfilter.nf_conntrack_max")
}

fn number(rig: &Rig, parameter: &str) -> Result<u32, String> {
    let text = rig.forwarder.run("sysctl", &["-n", parameter]).map_err(|error| error.to_string())?;
    text.trim().parse().map_err(|error| format!("{parameter}: {error}"))
}

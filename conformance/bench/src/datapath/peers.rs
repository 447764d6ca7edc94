//! What the nft backend is measured against: forwarding alone, and what an operator would write by hand.

use super::load::Traffic;
use super::rig::Rig;

/// Forwarding alone: the client's packets are addressed to the instance.
pub(super) fn plain_traffic() -> Traffic {
    Traffic { flows: 1, destination: Rig::INSTANCE, port: Rig::PORT }
}

/// Destination NAT with connection tracking, then an encapsulating route, as `nft` and `ip` are told by hand.
pub(super) fn write_by_hand(rig: &Rig) -> Result<(), String> {
    let (service, port, instance) = (Rig::SERVICE, Rig::PORT, Rig::INSTANCE);
    let rules = format!(
        "add table ip nat; \
         add chain ip nat prerouting {{ type nat hook prerouting priority dstnat; }}; \
         add rule ip nat prerouting ip daddr {service} udp dport {port} dnat to {instance}"
    );
    let route = format!("{instance}/32");
    let segments = Rig::SEGMENTS.join(",");
    let done = || -> cats_conformance::Result<()> {
        rig.forwarder.run("nft", &[&rules])?;
        rig.forwarder.ip(&[
            "route",
            "add",
            &route,
            "encap",
            "seg6",
            "mode",
            "encap",
            "segs",
            &segments,
            "dev",
            Rig::UNDERLAY,
        ])?;
        Ok(())
    };
    done().map_err(|error| error.to_string())
}

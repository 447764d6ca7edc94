//! The configurations of the nodes of the three sites, as NETCONF clients write them.

use super::hosts::{AGENTS, EGRESSES, INSTANCES, csci_id};
use crate::configuration::{cats, ingress_role, network_metrics, owner, remote_selector, segments, system};
use crate::layout::{CLIENT_NETWORK, INGRESS, Place, SELECTOR, SERVICE, TRANSIT_SEGMENT};
use crate::pki::{KeyPairFiles, NodeFiles};
use std::time::Duration;

/// How long a report holds.
pub const TTL: Duration = Duration::from_secs(2);

/// How long the path selector believes what it was told without hearing of the agent.
pub const CACHE_LIFE: Duration = Duration::from_secs(3);

/// C-PS-1, which knows the agents' keys.
pub(super) fn selector(files: &NodeFiles, keys: &[KeyPairFiles]) -> String {
    let forwarders: String = [INGRESS]
        .into_iter()
        .chain(EGRESSES)
        .map(|place| format!("<forwarder><node-id>{}</node-id></forwarder>", place.name))
        .collect();
    let agents: String = AGENTS
        .iter()
        .zip(keys)
        .map(|(agent, key)| {
            format!(
                "<agent><node-id>{}</node-id><key><id>{}</id><file>{}</file></key></agent>",
                agent.name,
                agent.name,
                key.public.display()
            )
        })
        .collect();
    let selector = format!(
        "<path-selector xmlns=\"urn:catsd:yang:cats-cps\"><enabled>true</enabled><node-id>{}</node-id>\
         <listen><address>{}</address></listen>{forwarders}{agents}<agent-limits><silence>2</silence>\
         <resynchronise-interval>1</resynchronise-interval></agent-limits></path-selector>",
        SELECTOR.name, SELECTOR.management
    );
    let paths = EGRESSES.map(|egress| (INGRESS, egress, 4));
    cats(&[base(), services(), selector, network_metrics(&paths), topology(), system(files)].concat())
}

/// IF-1.
pub(super) fn ingress(files: &NodeFiles) -> String {
    let forwarder = format!(
        "<forwarder xmlns=\"urn:catsd:yang:cats-forwarder\"><node-id>{}</node-id>{}\
         <underlay-source>{}</underlay-source>{}</forwarder>",
        INGRESS.name,
        remote_selector(),
        INGRESS.underlay,
        ingress_role(INGRESS)
    );
    cats(&[base(), services(), forwarder, system(files)].concat())
}

/// EF-1, EF-2 or EF-3.
pub(super) fn egress(place: Place, files: &NodeFiles) -> String {
    let site = EGRESSES.iter().position(|egress| *egress == place).unwrap_or_default();
    let (id, address) = instance(site);
    let forwarder = format!(
        "<forwarder xmlns=\"urn:catsd:yang:cats-forwarder\"><node-id>{}</node-id>{}\
         <underlay-source>{}</underlay-source><egress>{}<delivery><csci-id>{id}</csci-id>\
         <locator><address>{address}</address></locator></delivery>{}</egress></forwarder>",
        place.name,
        remote_selector(),
        place.underlay,
        segments(place),
        owner(CLIENT_NETWORK[0], INGRESS.segment_v4)
    );
    cats(&[base(), services(), forwarder, system(files)].concat())
}

/// C-SMA-1, C-SMA-2 or C-SMA-3: what it tells at once has a safety margin, so it is not what it was told.
pub(super) fn agent(place: Place, files: &NodeFiles, key: &KeyPairFiles) -> String {
    let agent = format!(
        "<metric-agent xmlns=\"urn:catsd:yang:cats-sma\"><enabled>true</enabled><node-id>{name}</node-id>\
         <collection><listen><address>{address}</address></listen></collection>\
         <cache><withdraw-after-time>3600</withdraw-after-time><valid-for>{life}</valid-for></cache>\
         <rates><instance-rate>0</instance-rate><total-rate>0</total-rate></rates>\
         <pull><enabled>false</enabled></pull>\
         <smoothing><gas><enabled>false</enabled></gas><computing-time><enabled>false</enabled></computing-time>\
         </smoothing><policy><safety-margin>20</safety-margin></policy>\
         <updates><min-interval>1</min-interval></updates>\
         <northbound><path-selector><node-id>{selector}</node-id><address>{at}</address>\
         <signature><key-id>{name}</key-id><file>{key}</file></signature></path-selector>\
         <batch>10</batch><snapshot-interval>2</snapshot-interval><refresh-interval>1</refresh-interval><acknowledge-timeout>2</acknowledge-timeout>\
         <greeting-timeout>1</greeting-timeout><partition-after>2</partition-after>\
         <first-backoff>1</first-backoff><longest-backoff>1</longest-backoff></northbound></metric-agent>",
        name = place.name,
        address = place.management,
        life = CACHE_LIFE.as_secs(),
        selector = SELECTOR.name,
        at = SELECTOR.management,
        key = key.private.display(),
    );
    cats(&["<base><enable>true</enable></base>".to_owned(), agent, system(files)].concat())
}

/// The CSCI-ID and the address of a site's instance.
fn instance(site: usize) -> (u32, &'static str) {
    let id = AGENTS.get(site).map(|agent| csci_id(*agent)).unwrap_or_default();
    (id, INSTANCES.get(site).map(|site| site.address).unwrap_or_default())
}

fn base() -> String {
    "<base><enable>true</enable><service-policy><cs-id>1</cs-id><policy-type>base-on-sm-nm</policy-type>\
     </service-policy></base><traffic-classifiers><traffic-classifier><cs-id>1</cs-id>\
     <server-port>443</server-port><protocol>6</protocol></traffic-classifier></traffic-classifiers>"
        .to_owned()
}

fn services() -> String {
    let instances: String = EGRESSES
        .iter()
        .zip(INSTANCES)
        .enumerate()
        .map(|(site, (egress, place))| {
            let (id, address) = instance(site);
            format!(
                "<instance><csci-id>{id}</csci-id><name>{}</name><egress>{}</egress>\
                 <locator><address>{address}</address></locator></instance>",
                place.name, egress.name
            )
        })
        .collect();
    format!(
        "<services xmlns=\"urn:catsd:yang:cats-services\"><service><cs-id>1</cs-id><name>S1</name>\
         <address>{}</address>{instances}</service></services>",
        SERVICE[0]
    )
}

/// IF-1, T and the egresses, with the links between them, both ways.
fn topology() -> String {
    let forwarder = |place: Place| {
        format!(
            "<node><node-id>{}</node-id><delivery-sid-v4>{}</delivery-sid-v4></node>",
            place.name, place.segment_v4
        )
    };
    let link = |place: Place| {
        let one =
            |from: &str, to: &str| format!("<link><from>{from}</from><to>{to}</to><delay>2</delay></link>");
        one(place.name, "T") + &one("T", place.name)
    };
    let places = || [INGRESS].into_iter().chain(EGRESSES);
    let nodes: String = places().map(forwarder).collect();
    let links: String = places().map(link).collect();
    format!(
        "<path-computation xmlns=\"urn:catsd:yang:cats-pce\"><topology>{nodes}\
         <node><node-id>T</node-id><end-sid>{TRANSIT_SEGMENT}</end-sid></node>{links}</topology></path-computation>"
    )
}

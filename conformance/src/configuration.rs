//! The nodes' configurations for section 14 and for its variant with all roles in one node, as NETCONF clients
//! write them.

use crate::layout::{
    ALL_IN_ONE, CLIENT_NETWORK, EGRESS_A, EGRESS_B, INGRESS, INSTANCE_A, INSTANCE_B, Place, SELECTOR,
    SERVICE, TRANSIT_SEGMENT, link,
};
use crate::pki::NodeFiles;

/// A static service metric of S1 and S2: what the path selector knows of an instance.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Milliseconds.
    pub computing_time: u32,
    /// Available slots.
    pub gas: u32,
    /// `healthy`, `degraded`, `unhealthy` or `unknown`.
    pub health: &'static str,
}

impl Metric {
    /// Instance A's metric at the start: slower than B.
    pub const A: Metric = Metric { computing_time: 20, gas: 1000, health: "healthy" };
    /// Instance B's metric at the start: with its path the smaller total delay.
    pub const B: Metric = Metric { computing_time: 5, gas: 1000, health: "healthy" };
}

/// Wraps configuration of CATS in its two outer containers.
pub fn cats(inner: &str) -> String {
    format!(
        "<routing xmlns=\"urn:ietf:params:xml:ns:yang:ietf-routing\">\
         <cats xmlns=\"urn:ietf:params:xml:ns:yang:ietf-cats\">{inner}</cats></routing>"
    )
}

/// C-PS-1.
pub fn selector(files: &NodeFiles) -> String {
    let forwarders: String = [INGRESS, EGRESS_A, EGRESS_B]
        .iter()
        .map(|place| format!("<forwarder><node-id>{}</node-id></forwarder>", place.name))
        .collect();
    let selector = format!(
        "<path-selector xmlns=\"urn:catsd:yang:cats-cps\"><enabled>true</enabled><node-id>{}</node-id>\
         <listen><address>{}</address></listen>{forwarders}</path-selector>",
        SELECTOR.name, SELECTOR.management
    );
    let paths = network_metrics(&[(INGRESS, EGRESS_A, 4), (INGRESS, EGRESS_B, 6)]);
    let egresses = [EGRESS_A.name, EGRESS_B.name];
    cats(
        &[
            base(),
            services(egresses),
            metrics(Metric::A, Metric::B),
            selector,
            paths,
            topology(),
            system(files),
        ]
        .concat(),
    )
}

/// IF-1.
pub fn ingress(files: &NodeFiles) -> String {
    let forwarder = format!(
        "<forwarder xmlns=\"urn:catsd:yang:cats-forwarder\"><node-id>{}</node-id>{}\
         <underlay-source>{}</underlay-source>{}</forwarder>",
        INGRESS.name,
        remote_selector(),
        INGRESS.underlay,
        ingress_role(INGRESS)
    );
    cats(&[base(), services([EGRESS_A.name, EGRESS_B.name]), forwarder, system(files)].concat())
}

/// EF-1 or EF-2.
pub fn egress(place: Place, files: &NodeFiles) -> String {
    let instance = if place == EGRESS_A { INSTANCE_A } else { INSTANCE_B };
    let owners = owner(CLIENT_NETWORK[0], INGRESS.segment_v4) + &owner(CLIENT_NETWORK[1], INGRESS.segment_v6);
    let forwarder = format!(
        "<forwarder xmlns=\"urn:catsd:yang:cats-forwarder\"><node-id>{}</node-id>{}\
         <underlay-source>{}</underlay-source><egress>{}{}{owners}</egress></forwarder>",
        place.name,
        remote_selector(),
        place.underlay,
        segments(place),
        delivery(instance)
    );
    cats(&[base(), services([EGRESS_A.name, EGRESS_B.name]), forwarder, system(files)].concat())
}

/// The node that has all roles.
pub fn all_in_one() -> String {
    let name = ALL_IN_ONE.name;
    let selector = format!(
        "<path-selector xmlns=\"urn:catsd:yang:cats-cps\"><enabled>true</enabled><node-id>{name}</node-id>\
         </path-selector>"
    );
    let topology = format!(
        "<path-computation xmlns=\"urn:catsd:yang:cats-pce\"><topology><node><node-id>{name}</node-id></node>\
         </topology></path-computation>"
    );
    let forwarder = format!(
        "<forwarder xmlns=\"urn:catsd:yang:cats-forwarder\"><node-id>{name}</node-id>{}<egress>{}{}</egress>\
         </forwarder>",
        ingress_role(ALL_IN_ONE),
        delivery(INSTANCE_A),
        delivery(INSTANCE_B)
    );
    let paths = network_metrics(&[(ALL_IN_ONE, ALL_IN_ONE, 1)]);
    cats(
        &[
            base(),
            services([name, name]),
            metrics(Metric::A, Metric::B),
            selector,
            paths,
            topology,
            forwarder,
        ]
        .concat(),
    )
}

/// The static metrics of both instances, for both services.
pub fn metrics(a: Metric, b: Metric) -> String {
    let entry = |service: u32, instance: &str, metric: Metric| {
        format!(
            "<service-metric><cs-id>{service}</cs-id><csci-id>{instance}</csci-id><source-type>static</source-type>\
             <gas xmlns=\"urn:catsd:yang:cats-cps\">{}</gas>\
             <computing-time xmlns=\"urn:catsd:yang:cats-cps\">{}</computing-time>\
             <health xmlns=\"urn:catsd:yang:cats-cps\">{}</health></service-metric>",
            metric.gas, metric.computing_time, metric.health
        )
    };
    let entries: String =
        [1, 2].iter().map(|s| entry(*s, INSTANCE_A[0], a) + &entry(*s, INSTANCE_B[0], b)).collect();
    format!("<service-metrics>{entries}</service-metrics>")
}

/// S1 is TCP, S2 is UDP, both on the service's addresses and port.
fn base() -> String {
    let policy = |service: u32| {
        format!(
            "<service-policy><cs-id>{service}</cs-id><policy-type>base-on-sm-nm</policy-type></service-policy>"
        )
    };
    let classifier = |service: u32, protocol: u8| {
        format!(
            "<traffic-classifier><cs-id>{service}</cs-id><server-port>443</server-port>\
             <protocol>{protocol}</protocol></traffic-classifier>"
        )
    };
    format!(
        "<base><enable>true</enable>{}{}</base><traffic-classifiers>{}{}</traffic-classifiers>",
        policy(1),
        policy(2),
        classifier(1, 6),
        classifier(2, 17)
    )
}

fn services(egresses: [&str; 2]) -> String {
    let instance = |name: &str, addresses: [&str; 2], egress: &str| {
        format!(
            "<instance><csci-id>{}</csci-id><name>{name}</name><egress>{egress}</egress>{}</instance>",
            addresses[0],
            locators(addresses)
        )
    };
    let instances = instance("A", INSTANCE_A, egresses[0]) + &instance("B", INSTANCE_B, egresses[1]);
    let service = |id: u32| {
        format!(
            "<service><cs-id>{id}</cs-id><name>S{id}</name><address>{}</address><address>{}</address>\
             <constraints><max-network-delay>10</max-network-delay></constraints>{instances}</service>",
            SERVICE[0], SERVICE[1]
        )
    };
    format!("<services xmlns=\"urn:catsd:yang:cats-services\">{}{}</services>", service(1), service(2))
}

fn locators(addresses: [&str; 2]) -> String {
    addresses.iter().map(|address| format!("<locator><address>{address}</address></locator>")).collect()
}

fn delivery(instance: [&str; 2]) -> String {
    format!("<delivery><csci-id>{}</csci-id>{}</delivery>", instance[0], locators(instance))
}

pub(crate) fn owner(prefix: &str, segment: &str) -> String {
    format!(
        "<owner><client-prefix>{prefix}</client-prefix><ingress>{}</ingress><segment>{TRANSIT_SEGMENT}</segment>\
         <segment>{segment}</segment></owner>",
        INGRESS.name
    )
}

pub(crate) fn segments(place: Place) -> String {
    format!(
        "<decapsulation-sid-v4>{}</decapsulation-sid-v4><decapsulation-sid-v6>{}</decapsulation-sid-v6>",
        place.segment_v4, place.segment_v6
    )
}

pub(crate) fn ingress_role(place: Place) -> String {
    let segments = if place == ALL_IN_ONE { String::new() } else { segments(place) };
    format!("<ingress><access-interface><name>{}</name></access-interface>{segments}</ingress>", link::ACCESS)
}

pub(crate) fn remote_selector() -> String {
    format!(
        "<path-selector><address>{}</address><node-id>{}</node-id></path-selector>",
        SELECTOR.management, SELECTOR.name
    )
}

/// Delays in milliseconds from ingresses to egresses.
pub(crate) fn network_metrics(paths: &[(Place, Place, u32)]) -> String {
    let path = |(ingress, egress, delay): &(Place, Place, u32)| {
        format!(
            "<path><ingress>{}</ingress><egress>{}</egress><delay>{delay}</delay></path>",
            ingress.name, egress.name
        )
    };
    let paths: String = paths.iter().map(path).collect();
    format!("<network-metrics xmlns=\"urn:catsd:yang:cats-nma\">{paths}</network-metrics>")
}

/// IF-1, T, EF-1 and EF-2 with the links between them, both ways.
fn topology() -> String {
    let forwarder = |place: Place| {
        format!(
            "<node><node-id>{}</node-id><delivery-sid-v4>{}</delivery-sid-v4>\
             <delivery-sid-v6>{}</delivery-sid-v6></node>",
            place.name, place.segment_v4, place.segment_v6
        )
    };
    let link = |place: Place, delay: u32| {
        let one = |from: &str, to: &str| {
            format!("<link><from>{from}</from><to>{to}</to><delay>{delay}</delay><mtu>1500</mtu></link>")
        };
        one(place.name, "T") + &one("T", place.name)
    };
    let nodes: String = [INGRESS, EGRESS_A, EGRESS_B].into_iter().map(forwarder).collect();
    let links: String =
        [(INGRESS, 2), (EGRESS_A, 2), (EGRESS_B, 4)].into_iter().map(|(p, d)| link(p, d)).collect();
    format!(
        "<path-computation xmlns=\"urn:catsd:yang:cats-pce\"><topology>{nodes}\
         <node><node-id>T</node-id><end-sid>{TRANSIT_SEGMENT}</end-sid></node>{links}</topology></path-computation>"
    )
}

/// The certificates of a node.
pub fn system(files: &NodeFiles) -> String {
    format!(
        "<system xmlns=\"urn:catsd:yang:cats-system\"><certificates><authority>{}</authority>\
         <certificate>{}</certificate><private-key>{}</private-key></certificates></system>",
        files.authority.display(),
        files.certificate.display(),
        files.private_key.display()
    )
}

//! Checks of what the transports are configured with. They read it themselves, since addresses, files and keys mean
//! nothing here.

use super::{path, refuse};
use crate::config::services::csci_id;
use crate::config::{Violation, noted};
use cats_engine_types::SpecialAddress;
use cats_yang_model::generated::cats_sma as model;
use cats_yang_model::generated::ietf_cats::{Cats, CsciId};
use std::net::IpAddr;

pub(super) fn check(cats: &Cats, violations: &mut Vec<Violation>) {
    let agent = &cats.metric_agent;
    listener(cats, violations);
    let collection = &agent.collection;
    for key in collection.report_key.values() {
        let below = format!("collection/report-key[id='{}']", key.id);
        instance(key.csci_id, &below, violations);
    }
    for source in collection.source.values() {
        let below = format!("collection/source[csci-id='{}']", source.csci_id);
        instance(source.csci_id, &below, violations);
        reachable(source.address, &format!("{below}/address"), violations);
    }
    let proofs = collection.tokens.is_some() || !collection.report_key.is_empty();
    if collection.broker.is_some() && !proofs {
        let message = "nothing proves who a report over a broker is from; configure collection/tokens, or a \
                       collection/report-key for each contact instance";
        refuse("collection/broker", message.to_owned(), violations);
    }
    for selector in agent.northbound.path_selector.values() {
        path_selector(cats, selector, violations);
    }
}

/// Agent and path selector of one node listen apart.
fn listener(cats: &Cats, violations: &mut Vec<Violation>) {
    let (agent, selector) = (&cats.metric_agent, &cats.path_selector);
    let (Some(here), Some(there)) = (&agent.collection.listen, &selector.listen) else { return };
    let alike =
        here.address == there.address || [here.address, there.address].iter().any(IpAddr::is_unspecified);
    if agent.enabled() && selector.enabled() && alike && here.port() == there.port() {
        let message = format!(
            "the path selector of this node listens at {} port {} already; use another port",
            there.address,
            there.port()
        );
        refuse("collection/listen/port", message, violations);
    }
}

fn instance(id: CsciId, below: &str, violations: &mut Vec<Violation>) {
    noted(csci_id(id), violations, || path(&format!("{below}/csci-id")));
}

/// Loopback and link-local addresses are reached by this node all the same.
fn reachable(address: IpAddr, below: &str, violations: &mut Vec<Violation>) {
    let Some(kind) = SpecialAddress::of(address) else { return };
    match kind {
        SpecialAddress::Unspecified
        | SpecialAddress::Multicast
        | SpecialAddress::Broadcast
        | SpecialAddress::Ipv4Mapped => {
            let message = format!("nobody is reached at {address}, which is {kind}; use a unicast address");
            refuse(below, message, violations);
        }
        SpecialAddress::Loopback | SpecialAddress::LinkLocal => {}
    }
}

/// The path selector of this node is spoken to within it; any other one has an address and gets signed messages.
fn path_selector(cats: &Cats, entry: &model::PathSelector, violations: &mut Vec<Violation>) {
    let below = format!("northbound/path-selector[node-id='{}']", entry.node_id);
    let local = cats.path_selector.enabled() && cats.path_selector.node_id.as_ref() == Some(&entry.node_id);
    let name = &entry.node_id;
    match (entry.address, local) {
        (None, true) => {}
        (None, false) => {
            let message =
                format!("{name} is not the path selector of this node, so it needs an address; set address");
            refuse(&format!("{below}/address"), message, violations);
        }
        (Some(_), true) => {
            let message = format!(
                "{name} is the path selector of this node, which is told without leaving it; take the address out"
            );
            refuse(&format!("{below}/address"), message, violations);
        }
        (Some(address), false) => reachable(address, &format!("{below}/address"), violations),
    }
    if entry.signature.is_none() && !local {
        let message = format!("{name} takes signed messages only; set signature/key-id and signature/file");
        refuse(&format!("{below}/signature"), message, violations);
    }
}

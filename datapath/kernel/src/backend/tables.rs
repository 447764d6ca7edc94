//! The table of ours in both families: made, found again, and brought to the configuration in one transaction.

use super::{FAMILIES, NftBackend, family_number, flows, refused};
use crate::netlink::NLM_F_APPEND;
use crate::nft::encode::{self, Element, QueueKind};
use crate::nft::ruleset::{self, Features, Shape};
use crate::nft::{Batch, CREATE, ENOENT, sets};
use cats_datapath_core::{BackendError, ForwarderConfig};
use cats_engine_types::{Family, Protocol, ServiceAddress};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv6Addr};

/// Elements in one message, whose list has a length of 16 bits.
const ELEMENTS_AT_ONCE: usize = 400;

impl NftBackend {
    /// Whether a table of ours is there; one of another layout is removed.
    pub(super) fn find_tables(&mut self) -> Result<(), BackendError> {
        if self.tables {
            return Ok(());
        }
        let mut found = 0;
        for family in FAMILIES {
            let number = family_number(family);
            let asked = self.nft.ask(
                encode::GETTABLE,
                |e| {
                    e.put(&[number, 0, 0, 0]);
                    e.attr_text(1, ruleset::TABLE);
                },
                |message| {
                    let body = message.body.get(4..)?;
                    Some(crate::netlink::attribute(body, 6).map(crate::netlink::text).map(str::to_owned))
                },
            );
            match asked {
                Ok(Some(Some(layout))) if layout == ruleset::LAYOUT => found += 1,
                Ok(_) => self.delete_table(family)?,
                Err(error) if error.raw_os_error() == Some(ENOENT) => {}
                Err(error) => return Err(refused("nftables", &error)),
            }
        }
        if found == FAMILIES.len() {
            self.tables = true;
            self.read_numbers()?;
            self.read_limit()?;
        } else {
            self.delete_tables()?;
        }
        Ok(())
    }

    pub(super) fn delete_tables(&mut self) -> Result<(), BackendError> {
        self.tables = false;
        FAMILIES.into_iter().try_for_each(|family| self.delete_table(family))
    }

    fn delete_table(&mut self, family: Family) -> Result<(), BackendError> {
        let mut batch = Batch::begin(&mut self.nft);
        batch.add(encode::DELTABLE, 0, family_number(family), |e| e.attr_text(1, ruleset::TABLE));
        let failures = batch.commit().map_err(|error| refused("table cats", &error))?;
        match failures.first() {
            Some(failure) if failure.errno != ENOENT => Err(refused("table cats", &failure.error())),
            Some(_) | None => Ok(()),
        }
    }

    pub(super) fn number_services(&mut self, config: &ForwarderConfig) -> Result<(), BackendError> {
        let services = config.ingress.iter().flat_map(|ingress| ingress.services.keys());
        let wanted: BTreeSet<ServiceAddress> = services.copied().collect();
        if wanted.len() > ruleset::SERVICE_LIMIT as usize {
            let text = format!("{} service addresses; at most {}", wanted.len(), ruleset::SERVICE_LIMIT);
            return Err(BackendError::Unrealisable(text));
        }
        let mut taken: BTreeSet<u32> = self.services.values().copied().collect();
        let mut free = (1..).filter(|number| taken.insert(*number));
        for address in wanted {
            if !self.services.contains_key(&address)
                && let Some(number) = free.next()
            {
                self.services.insert(address, number);
            }
        }
        Ok(())
    }

    pub(super) fn apply_tables(&mut self, config: &ForwarderConfig) -> Result<(), BackendError> {
        if !self.tables
            && let Some(ingress) = &config.ingress
        {
            self.limit = ingress.flow_limit;
            self.counted = ingress.flow_counters;
        }
        let kinds = match self.queue {
            Some(kind) => vec![kind],
            None => vec![QueueKind::Native, QueueKind::Compat],
        };
        let mut refusal = None;
        for kind in kinds {
            match self.try_tables(config, kind)? {
                None => {
                    self.queue = Some(kind);
                    self.tables = true;
                    return Ok(());
                }
                Some(error) => refusal = Some(error),
            }
        }
        let error = refusal.unwrap_or_else(|| io::Error::from(io::ErrorKind::Unsupported));
        Err(refused("rules of table cats", &error))
    }

    /// One transaction for both families: the whole table, or new rules and static sets in the old one.
    fn try_tables(
        &mut self,
        config: &ForwarderConfig,
        queue: QueueKind,
    ) -> Result<Option<io::Error>, BackendError> {
        let gone = self.services_gone(config);
        let statics = FAMILIES.map(|family| static_elements(config, family, &self.services));
        let mut batch = Batch::begin(&mut self.nft);
        for (family, statics) in FAMILIES.into_iter().zip(&statics) {
            let shape = Shape::of(family);
            if self.tables {
                empty_table(&mut batch, shape);
            } else {
                create_table(&mut batch, shape, self.limit, self.counted);
            }
            add_counters(&mut batch, config, family);
            for (set, elements) in statics {
                add_static(&mut batch, shape.family, set, elements);
            }
            add_rules(&mut batch, config, family, queue);
            for address in gone.iter().filter(|service| Family::of(service.address) == family) {
                batch.add(encode::DELOBJ, 0, shape.family, |e| {
                    e.attr_text(1, ruleset::TABLE);
                    e.attr_text(2, &super::read::counter_name(address));
                    e.attr_be32(3, 1);
                });
            }
        }
        let failures = batch.commit().map_err(|error| refused("table cats", &error))?;
        if failures.is_empty() {
            for address in gone {
                self.services.remove(&address);
            }
        }
        Ok(failures.first().map(|failure| failure.error()))
    }

    fn services_gone(&self, config: &ForwarderConfig) -> Vec<ServiceAddress> {
        let configured = |address: &ServiceAddress| {
            config.ingress.as_ref().is_some_and(|ingress| ingress.services.contains_key(address))
        };
        self.services.keys().filter(|address| !configured(address)).copied().collect()
    }
}

fn features(config: &ForwarderConfig, queue: QueueKind) -> Features {
    let egress = config.egress.as_ref();
    Features {
        queue,
        access: config.ingress.as_ref().is_some_and(|ingress| !ingress.access.is_empty()),
        sids: !sids(config).is_empty(),
        closed: sids(config).values().any(|mark| *mark == ruleset::MARK_CLOSED),
        deliveries: egress.is_some_and(|egress| !egress.deliveries.is_empty()),
        owners: egress.is_some_and(|egress| !egress.owners.is_empty()),
    }
}

/// SIDs of ours with the mark of what they carry. A SID of both roles carries either: then what is neither
/// delivered nor bound is dropped as undelivered. Where no flow of a family can be, its return traffic ends before it
/// is decapsulated.
fn sids(config: &ForwarderConfig) -> BTreeMap<Ipv6Addr, u32> {
    let mut marks = BTreeMap::new();
    if let Some(ingress) = &config.ingress {
        for (sid, family) in [(ingress.return_sids.v4, Family::V4), (ingress.return_sids.v6, Family::V6)] {
            let mark = if serves(config, family) { ruleset::MARK_REVERSE } else { ruleset::MARK_CLOSED };
            marks.extend(sid.map(|sid| (sid, mark)));
        }
    }
    for sids in config.egress.iter().map(|egress| &egress.sids) {
        for sid in [sids.v4, sids.v6].into_iter().flatten() {
            marks.insert(sid, ruleset::MARK_DELIVER);
        }
    }
    marks
}

/// Takes rules and static elements out of a table; bindings stay.
fn empty_table(batch: &mut Batch<'_>, shape: Shape) {
    for (chain, hook) in ruleset::CHAINS {
        add_chain(batch, shape, chain, hook);
        batch.add(encode::DELRULE, 0, shape.family, |e| {
            e.attr_text(1, ruleset::TABLE);
            e.attr_text(2, chain);
        });
    }
    for set in ruleset::STATIC_SETS {
        batch.add(encode::DELSETELEM, 0, shape.family, |e| {
            e.attr_text(1, ruleset::TABLE);
            e.attr_text(2, set);
        });
    }
}

/// Puts the rules in, and takes the chains out that have none.
fn add_rules(batch: &mut Batch<'_>, config: &ForwarderConfig, family: Family, queue: QueueKind) {
    let shape = Shape::of(family);
    let idle = idle_chains(config, family);
    ruleset::rules(shape, features(config, queue), &mut |chain, expressions| {
        if idle.contains(&chain) {
            return;
        }
        batch.add(encode::NEWRULE, CREATE | NLM_F_APPEND, shape.family, |e| {
            e.attr_text(1, ruleset::TABLE);
            e.attr_text(2, chain);
            e.nest(4, |list| list.put(expressions.bytes()));
        });
    });
    for chain in idle {
        batch.add(encode::DELCHAIN, 0, shape.family, |e| {
            e.attr_text(1, ruleset::TABLE);
            e.attr_text(3, chain);
        });
    }
}

fn create_table(batch: &mut Batch<'_>, shape: Shape, limit: u32, counted: bool) {
    batch.add(encode::NEWTABLE, CREATE, shape.family, |e| {
        e.attr_text(1, ruleset::TABLE);
        e.attr_be32(2, 0);
        e.attr_text(6, ruleset::LAYOUT);
    });
    for (id, spec) in (1..).zip(sets::sets(shape, limit, counted)) {
        batch.add(encode::NEWSET, CREATE, shape.family, |e| encode::set(e, ruleset::TABLE, &spec, id));
    }
    let keys: Vec<[u8; 4]> = ruleset::TTL_STEPS.map(|ttl| [ttl, 0, 0, 0]).collect();
    let steps: Vec<[u8; 1]> = ruleset::TTL_STEPS.map(|ttl| [ttl - 1]).collect();
    batch.add(encode::NEWSETELEM, CREATE, shape.family, |e| {
        let elements = keys.iter().zip(&steps).map(|(key, data)| Element { key, data, ..Element::default() });
        encode::elements(e, ruleset::TABLE, "hops", elements);
    });
    for (name, hook) in ruleset::CHAINS {
        add_chain(batch, shape, name, hook);
    }
}

fn add_chain(batch: &mut Batch<'_>, shape: Shape, name: &str, hook: Option<(u32, i32)>) {
    batch.add(encode::NEWCHAIN, CREATE, shape.family, |e| {
        e.attr_text(1, ruleset::TABLE);
        e.attr_text(3, name);
        if let Some((hook, priority)) = hook {
            e.nest(4, |nest| {
                nest.attr_be32(1, hook);
                nest.attr_be32(2, priority.cast_unsigned());
            });
            e.attr_text(7, "filter");
        }
    });
}

/// Chains that no packet of a family needs to pass: a node that steers only IPv4 pays nothing for IPv6, which
/// its encapsulated packets are.
fn idle_chains(config: &ForwarderConfig, family: Family) -> Vec<&'static str> {
    let flows = serves(config, family);
    let carried = config.egress.iter().any(|egress| match family {
        Family::V4 => egress.sids.v4.is_some(),
        Family::V6 => egress.sids.v6.is_some(),
    });
    let outer = family == Family::V6 && !sids(config).is_empty();
    let idle = [("pre", !flows && !outer), ("post", !flows && !carried)];
    idle.into_iter().filter(|(_, idle)| *idle).map(|(chain, _)| chain).collect()
}

/// Whether a family has service addresses or instances here.
fn serves(config: &ForwarderConfig, family: Family) -> bool {
    let ingress = config.ingress.iter();
    let services = ingress.clone().flat_map(|ingress| ingress.services.keys().map(|service| service.address));
    let on_link = ingress.flat_map(|ingress| ingress.on_link.iter().copied());
    let deliveries = config.egress.iter().flat_map(|egress| &egress.deliveries);
    let addresses = services.chain(on_link).chain(deliveries.map(|delivery| delivery.locator.address));
    addresses.into_iter().any(|address| Family::of(address) == family)
}

fn add_counters(batch: &mut Batch<'_>, config: &ForwarderConfig, family: Family) {
    let services = config.ingress.iter().flat_map(|ingress| ingress.services.keys());
    let services = services.filter(|service| Family::of(service.address) == family);
    let names = services.map(super::read::counter_name);
    for name in ruleset::COUNTERS.into_iter().map(str::to_owned).chain(names) {
        batch.add(encode::NEWOBJ, CREATE, family_number(family), |e| {
            e.attr_text(1, ruleset::TABLE);
            e.attr_text(2, &name);
            e.attr_be32(3, 1);
            e.nest(4, |_| {});
        });
    }
}

/// Key, value, and name of the counter it refers to.
type StaticElement = (Vec<u8>, Vec<u8>, Option<String>);

fn add_static(batch: &mut Batch<'_>, family: u8, set: &str, elements: &BTreeSet<StaticElement>) {
    let elements: Vec<&StaticElement> = elements.iter().collect();
    for page in elements.chunks(ELEMENTS_AT_ONCE) {
        batch.add(encode::NEWSETELEM, CREATE, family, |e| {
            let page = page.iter().map(|(key, data, object)| Element {
                key,
                data,
                object: object.as_deref(),
                ..Element::default()
            });
            encode::elements(e, ruleset::TABLE, set, page);
        });
    }
}

fn static_elements(
    config: &ForwarderConfig,
    family: Family,
    numbers: &BTreeMap<ServiceAddress, u32>,
) -> BTreeMap<&'static str, BTreeSet<StaticElement>> {
    let mut sets = BTreeMap::<&'static str, BTreeSet<StaticElement>>::new();
    let mut add = |set: &'static str, key: Vec<u8>, data: Vec<u8>, object: Option<String>| {
        sets.entry(set).or_default().insert((key, data, object));
    };
    if let Some(ingress) = &config.ingress {
        for service in ingress.services.keys().filter(|s| Family::of(s.address) == family) {
            let key = flows::service_key(service.address, service.port, service.protocol);
            add("services", key, Vec::new(), None);
            add("addresses", octets(service.address), Vec::new(), None);
            let number = numbers.get(service).copied().unwrap_or(0);
            let name = super::read::counter_name(service);
            add("counts", number.to_ne_bytes().to_vec(), Vec::new(), Some(name));
        }
        for address in ingress.on_link.iter().filter(|address| Family::of(**address) == family) {
            add("addresses", octets(*address), Vec::new(), None);
        }
        for access in &ingress.access {
            let mut name = access.name.as_bytes().to_vec();
            name.resize(16, 0);
            add("access", name, Vec::new(), None);
        }
    }
    if family == Family::V6 {
        for (sid, mark) in sids(config) {
            add("sids", sid.octets().to_vec(), mark.to_ne_bytes().to_vec(), None);
        }
    }
    add_deliveries(config, family, &mut add);
    sets
}

fn add_deliveries(
    config: &ForwarderConfig,
    family: Family,
    add: &mut impl FnMut(&'static str, Vec<u8>, Vec<u8>, Option<String>),
) {
    let services = config.ingress.iter().flat_map(|ingress| ingress.services.keys());
    let ports: BTreeSet<(Protocol, u16)> = services.map(|s| (s.protocol, s.port)).collect();
    let protocols = [Protocol::TCP, Protocol::UDP];
    let deliveries = config.egress.iter().flat_map(|egress| &egress.deliveries);
    for delivery in deliveries.filter(|d| Family::of(d.locator.address) == family) {
        let address = delivery.locator.address;
        add("instances", octets(address), Vec::new(), None);
        match (delivery.locator.port, delivery.protocol) {
            (Some(port), protocol) => {
                let of_either = protocols.into_iter().filter(|p| protocol.is_none_or(|only| only == *p));
                for protocol in of_either {
                    add("deliver_port", flows::service_key(address, port, protocol), Vec::new(), None);
                    if !ports.is_empty() {
                        add("answers", flows::service_key(address, port, protocol), Vec::new(), None);
                    }
                }
            }
            (None, protocol) => {
                match protocol {
                    Some(protocol) => {
                        let mut key = octets(address);
                        key.extend_from_slice(&[protocol.0, 0, 0, 0]);
                        add("deliver_protocol", key, Vec::new(), None);
                    }
                    None => add("deliver_any", octets(address), Vec::new(), None),
                }
                for (served, port) in &ports {
                    if protocol.is_none_or(|only| only == *served) {
                        add("answers", flows::service_key(address, *port, *served), Vec::new(), None);
                    }
                }
            }
        }
    }
}

fn octets(address: IpAddr) -> Vec<u8> {
    let mut out = Vec::with_capacity(16);
    flows::put_address(&mut out, address);
    out
}

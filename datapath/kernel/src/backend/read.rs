//! What the data plane has: bindings, idle times, counters.

use super::{FAMILIES, NftBackend, family_number, flows, paths, record, refused};
use crate::netlink::{attribute, attributes, be64, text};
use crate::nft::{self, encode, ruleset};
use cats_datapath_core::{Adopted, BackendError, PlaneCounters, PlaneDrop, RouteAction, Tally};
use cats_engine_types::{Binding, Counters, Encapsulation, Family, FlowKey, Protocol, ServiceAddress};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

const KEY: u16 = 1;
const DATA: u16 = 2;
const EXPIRATION: u16 = 5;
const USER: u16 = 6;
const EXPRESSION: u16 = 7;
const OBJECT: u16 = 9;
const EXPRESSIONS: u16 = 11;

/// The name of a service's counter.
pub(super) fn counter_name(service: &ServiceAddress) -> String {
    format!("{}/{}/{}", service.protocol.0, service.address, service.port)
}

fn service_of(name: &str) -> Option<ServiceAddress> {
    let mut parts = name.split('/');
    let protocol = Protocol(parts.next()?.parse().ok()?);
    let address: IpAddr = parts.next()?.parse().ok()?;
    let port = parts.next()?.parse().ok()?;
    Some(ServiceAddress { address, protocol, port })
}

impl NftBackend {
    pub(super) fn read_bindings(&mut self) -> Result<Vec<Adopted>, BackendError> {
        self.find_tables()?;
        self.paths = paths::Paths::default();
        self.staged.clear();
        if !self.tables {
            return Ok(Vec::new());
        }
        let routes = self.path_routes()?;
        let mut adopted = BTreeMap::new();
        for family in FAMILIES {
            // Later ones win: an activation cannot leave both, but open counts more than staged.
            for (set, staged) in [("staged", true), ("forward_port", false), ("forward", false)] {
                let mut found = Vec::new();
                let node = self.node.clone();
                let number = family_number(family);
                nft::dump_elements(&mut self.nft, number, set, &mut |element| {
                    found.extend(read_binding(element, set, family, &routes, &node));
                })
                .map_err(|error| refused(format!("map {set}"), &error))?;
                for (binding, hard_left, slot) in found {
                    let key = binding.forward.key;
                    if let Some(slot) = slot {
                        self.paths.acquire(binding.reverse.instance.ip(), &binding.forward.path, slot);
                    }
                    if staged {
                        self.staged.insert(key);
                    }
                    adopted.insert(key, Adopted { binding: Arc::new(binding), hard_left, staged });
                }
            }
        }
        Ok(adopted.into_values().collect())
    }

    /// Encapsulations by path table and instance.
    fn path_routes(&mut self) -> Result<BTreeMap<(u8, IpAddr), Encapsulation>, BackendError> {
        let mut found = BTreeMap::new();
        for route in self.routes.list().map_err(|error| refused("routes", &error))? {
            let slot = (0..paths::TABLES).find(|slot| paths::table(*slot) == route.table);
            if let (Some(slot), Some(RouteAction::Encapsulate(encapsulation))) = (slot, route.action) {
                found.insert((slot, route.destination.addr()), encapsulation);
            }
        }
        Ok(found)
    }

    /// Numbers of the services' counters in a table that was there before us.
    pub(super) fn read_numbers(&mut self) -> Result<(), BackendError> {
        let mut numbers = BTreeMap::new();
        for family in FAMILIES {
            nft::dump_elements(&mut self.nft, family_number(family), "counts", &mut |element| {
                let number = key_of(element).and_then(|key| key.try_into().ok()).map(u32::from_ne_bytes);
                let service = attribute(element, OBJECT).map(text).and_then(service_of);
                if let (Some(number), Some(service)) = (number, service) {
                    numbers.insert(service, number);
                }
            })
            .map_err(|error| refused("map counts", &error))?;
        }
        self.services = numbers;
        Ok(())
    }

    pub(super) fn read_last_used(
        &mut self,
        bindings: &[Arc<Binding>],
    ) -> Result<Vec<Option<Duration>>, BackendError> {
        let mut idle: Vec<Option<Duration>> = vec![None; bindings.len()];
        let note = |at: usize, element: &[u8], idle: &mut Vec<Option<Duration>>| {
            let last = last_of(element).unwrap_or(Duration::MAX);
            if let Some(place) = idle.get_mut(at) {
                *place = Some(place.map_or(last, |other| other.min(last)));
            }
        };
        self.get_both(bindings, &mut |at, _, element| note(at, element, &mut idle))
            .map_err(|error| refused("idle times", &error))?;
        Ok(idle)
    }

    pub(super) fn read_flow_counters(
        &mut self,
        bindings: &[Arc<Binding>],
    ) -> Result<Vec<Counters>, BackendError> {
        let mut counters = vec![Counters::default(); bindings.len()];
        self.get_both(bindings, &mut |at, forward, element| {
            let (Some(place), Some(tally)) = (counters.get_mut(at), counter_of(element)) else { return };
            if forward {
                (place.forward_packets, place.forward_bytes) = (tally.packets, tally.octets);
            } else {
                (place.reverse_packets, place.reverse_bytes) = (tally.packets, tally.octets);
            }
        })
        .map_err(|error| refused("counters of flows", &error))?;
        Ok(counters)
    }

    /// Gets the elements of both directions: position, whether forward, attributes.
    fn get_both(
        &mut self,
        bindings: &[Arc<Binding>],
        each: &mut dyn FnMut(usize, bool, &[u8]),
    ) -> io::Result<()> {
        for family in FAMILIES {
            let mut asked = BTreeMap::<&'static str, Vec<(usize, Vec<u8>)>>::new();
            for (at, binding) in bindings.iter().enumerate() {
                let key = &binding.forward.key;
                if key.family() != family {
                    continue;
                }
                let map = super::bindings::map_of(&self.staged, binding);
                asked.entry(map).or_default().push((at, flows::forward_key(key)));
                asked.entry("reverse").or_default().push((at, flows::reverse_key(binding)));
            }
            for (set, list) in asked {
                let (places, keys): (Vec<usize>, Vec<Vec<u8>>) = list.into_iter().unzip();
                let number = family_number(family);
                nft::get_elements(&mut self.nft, number, set, &keys, &mut |at, element| {
                    if let Some(place) = places.get(at) {
                        each(*place, set != "reverse", element);
                    }
                })?;
            }
        }
        Ok(())
    }

    /// Where the client of a forward packet believes to send it: the service address of its binding. The
    /// packet carries the instance as destination, and may be cut off behind the ports.
    pub(crate) fn restore_of(&mut self, packet: &[u8]) -> io::Result<Option<SocketAddr>> {
        let Some(sent) = crate::packet::flow(packet).filter(|_| self.tables) else { return Ok(None) };
        let key = flows::tuple(sent.service(), sent.client(), sent.protocol());
        let mut found = None;
        nft::get_elements(
            &mut self.nft,
            family_number(sent.family()),
            "reverse",
            &[key],
            &mut |_, element| {
                found = attribute(element, DATA)
                    .and_then(|data| flows::read_target(sent.family(), attribute(data, 1)?));
            },
        )?;
        Ok(found)
    }

    /// Whether an address is of an instance that is delivered to here.
    pub(crate) fn delivers_from(&self, address: IpAddr) -> bool {
        let egress = self.config.as_ref().and_then(|config| config.egress.as_ref());
        egress.is_some_and(|egress| egress.deliveries.iter().any(|d| d.locator.address == address))
    }

    pub(super) fn read_counters(&mut self) -> Result<PlaneCounters, BackendError> {
        let mut counters = PlaneCounters::default();
        if !self.tables {
            return Ok(counters);
        }
        for family in FAMILIES {
            let number = family_number(family);
            self.nft
                .dump(
                    encode::GETOBJ,
                    |e| {
                        e.put(&[number, 0, 0, 0]);
                        e.attr_text(1, ruleset::TABLE);
                        e.attr_be32(3, 1);
                    },
                    |message| {
                        let body = message.body.get(4..).unwrap_or_default();
                        let name = attribute(body, 2).map(text).unwrap_or_default();
                        let tally = attribute(body, 4).map(tally_of).unwrap_or_default();
                        note(&mut counters, name, tally);
                    },
                )
                .map_err(|error| refused("counters", &error))?;
        }
        let dropped = punt_queue_drops();
        let entry = counters.drops.entry(PlaneDrop::PuntQueue).or_default();
        entry.packets = dropped;
        Ok(counters)
    }
}

fn note(counters: &mut PlaneCounters, name: &str, tally: Tally) {
    let drop = |counters: &mut PlaneCounters, reason| {
        let entry = counters.drops.entry(reason).or_default();
        entry.packets += tally.packets;
        entry.octets += tally.octets;
    };
    let add = |place: &mut Tally| {
        place.packets += tally.packets;
        place.octets += tally.octets;
    };
    match name {
        "punted" => add(&mut counters.punted),
        "reverse" => add(&mut counters.reverse),
        "delivered" => add(&mut counters.delivered),
        "drop_reverse" => drop(counters, PlaneDrop::ReverseWithoutBinding),
        "drop_released" => drop(counters, PlaneDrop::ReleasedWithoutBinding),
        "drop_unserved" => drop(counters, PlaneDrop::Unserved),
        "drop_fragment" => drop(counters, PlaneDrop::Fragment),
        "drop_undelivered" => drop(counters, PlaneDrop::Undelivered),
        "drop_segment" => drop(counters, PlaneDrop::SegmentFromAccess),
        name => {
            if let Some(service) = service_of(name) {
                add(counters.services.entry(service).or_default());
            }
        }
    }
}

fn read_binding(
    element: &[u8],
    map: &str,
    family: Family,
    routes: &BTreeMap<(u8, IpAddr), Encapsulation>,
    node: &cats_engine_types::NodeId,
) -> Option<(Binding, Option<Duration>, Option<u8>)> {
    let key: FlowKey = flows::read_forward_key(family, key_of(element)?)?;
    let data = attribute(element, DATA).and_then(|data| attribute(data, 1))?;
    let (target, mark) = flows::read_forward_value(map, &key, data)?;
    let slot = paths::slot_of(mark);
    let encapsulation = match slot {
        Some(slot) => routes.get(&(slot, target.ip()))?.clone(),
        None => Encapsulation::None,
    };
    let binding = record::decode(attribute(element, USER)?, node, key, target, encapsulation)?;
    let left = attribute(element, EXPIRATION).and_then(be64).map(Duration::from_millis);
    Some((binding, left, slot))
}

fn key_of(element: &[u8]) -> Option<&[u8]> {
    attribute(element, KEY).and_then(|key| attribute(key, 1))
}

/// The expressions of an element: name, attributes.
fn expressions(element: &[u8]) -> impl Iterator<Item = (&str, &[u8])> {
    let list = attribute(element, EXPRESSIONS).unwrap_or_default();
    let several = attributes(list).map(|(_, expression)| expression);
    attribute(element, EXPRESSION)
        .into_iter()
        .chain(several)
        .filter_map(|expression| Some((text(attribute(expression, 1)?), attribute(expression, 2)?)))
}

/// How long ago an element matched last; none: never.
fn last_of(element: &[u8]) -> Option<Duration> {
    let (_, data) = expressions(element).find(|(name, _)| *name == "last")?;
    let set = attribute(data, 1)?.iter().any(|octet| *octet != 0);
    let millis = attribute(data, 2).and_then(be64)?;
    set.then(|| Duration::from_millis(millis))
}

fn counter_of(element: &[u8]) -> Option<Tally> {
    expressions(element).find(|(name, _)| *name == "counter").map(|(_, data)| tally_of(data))
}

fn tally_of(data: &[u8]) -> Tally {
    let word = |kind| attribute(data, kind).and_then(be64).unwrap_or(0);
    Tally { packets: word(2), octets: word(1) }
}

/// Packets that the kernel could not put into the punt queue, or not hand over.
fn punt_queue_drops() -> u64 {
    let Ok(list) = std::fs::read_to_string("/proc/thread-self/net/netfilter/nfnetlink_queue") else {
        return 0;
    };
    let ours = list.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let number = ruleset::QUEUE.to_string();
    let line = ours.into_iter().find(|fields| fields.first() == Some(&number.as_str()));
    let field = |at: usize| line.as_ref().and_then(|fields| fields.get(at)?.parse::<u64>().ok()).unwrap_or(0);
    field(5) + field(6)
}

//! Routes, rules, proxy neighbours and the anchor device, by rtnetlink.

mod lwtunnel;

use crate::netlink::{
    Connection, Encoder, NETLINK_ROUTE, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, attribute, attributes, text,
    u16_at, u32_at,
};
use cats_datapath_core::RouteAction;
use ipnet::IpNet;
use std::io;
use std::net::IpAddr;

/// The routing protocol number on every route, rule and neighbour of ours.
pub const PROTOCOL: u8 = 202;
/// The device that our encapsulating and decapsulating routes name. It is always up and carries nothing.
pub const ANCHOR: &str = "cats0";
const ANCHOR_PEER: &str = "cats0-peer";

const NEWLINK: u16 = 16;
const GETLINK: u16 = 18;
const NEWROUTE: u16 = 24;
const DELROUTE: u16 = 25;
const GETROUTE: u16 = 26;
const NEWNEIGH: u16 = 28;
const DELNEIGH: u16 = 29;
const GETNEIGH: u16 = 30;
const NEWRULE: u16 = 32;
const DELRULE: u16 = 33;
const GETRULE: u16 = 34;

const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const TYPE_UNICAST: u8 = 1;
const TYPE_UNREACHABLE: u8 = 7;
const TYPE_THROW: u8 = 9;
const SCOPE_UNIVERSE: u8 = 0;
const SCOPE_LINK: u8 = 253;
const PROXY: u8 = 8;
/// Behind every other route of a table.
const METRIC_LAST: u32 = 0xffff_0000;
/// Before what others install for the same destination.
const METRIC: u32 = 1;

/// A route of ours as the kernel has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) table: u32,
    pub(crate) destination: IpNet,
    /// None for the fallback that keeps packets from leaking.
    pub(crate) action: Option<RouteAction>,
}

/// The routing socket.
#[derive(Debug)]
pub(crate) struct Routes {
    connection: Connection,
    anchor: u32,
}

impl Routes {
    /// Opens the socket and makes sure of the anchor device.
    pub(crate) fn open() -> io::Result<Self> {
        let mut connection = Connection::open(NETLINK_ROUTE)?;
        let anchor = match index_of(&mut connection, ANCHOR)? {
            Some(index) => index,
            None => create_anchor(&mut connection)?,
        };
        for name in [ANCHOR, ANCHOR_PEER] {
            if let Some(index) = index_of(&mut connection, name)? {
                set_up(&mut connection, index)?;
            }
        }
        Ok(Self { connection, anchor })
    }

    /// The index of an interface.
    pub(crate) fn interface(&mut self, name: &str) -> io::Result<Option<u32>> {
        index_of(&mut self.connection, name)
    }

    /// Indices and names of all interfaces.
    pub(crate) fn interfaces(&mut self) -> io::Result<Vec<(u32, String)>> {
        let mut found = Vec::new();
        self.connection.dump(
            GETLINK,
            |encoder| encoder.put(&[0; 16]),
            |message| {
                let index = u32_at(message.body, 4);
                let name = attribute(message.body.get(16..).unwrap_or_default(), 3).map(text);
                if let (Some(index), Some(name)) = (index, name) {
                    found.push((index, name.to_owned()));
                }
            },
        )?;
        Ok(found)
    }

    /// Installs or replaces a route.
    pub(crate) fn set(&mut self, table: u32, destination: IpNet, action: &RouteAction) -> io::Result<()> {
        let anchor = self.anchor;
        let interface = match action {
            RouteAction::Via { interface: Some(name), .. } => Some(
                index_of(&mut self.connection, name)?
                    .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("no interface {name}")))?,
            ),
            _ => None,
        };
        self.connection.request(NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, |encoder| {
            let (kind, scope) = match action {
                RouteAction::Throw => (TYPE_THROW, SCOPE_UNIVERSE),
                RouteAction::Via { next_hop: Some(_), .. } => (TYPE_UNICAST, SCOPE_UNIVERSE),
                _ => (TYPE_UNICAST, SCOPE_LINK),
            };
            header(encoder, destination, kind, scope);
            place(encoder, table, destination, METRIC);
            match action {
                RouteAction::Throw => {}
                RouteAction::OnLink => encoder.attr_u32(4, anchor),
                RouteAction::Encapsulate(encapsulation) => {
                    encoder.attr_u32(4, anchor);
                    lwtunnel::encapsulate(encoder, encapsulation);
                }
                RouteAction::Decapsulate(family) => {
                    encoder.attr_u32(4, anchor);
                    lwtunnel::decapsulate(encoder, *family);
                }
                RouteAction::Via { next_hop, .. } => {
                    if let Some(next_hop) = next_hop {
                        put_address(encoder, 5, *next_hop);
                    }
                    if let Some(index) = interface {
                        encoder.attr_u32(4, index);
                    }
                }
            }
        })
    }

    /// Installs the route that keeps packets for a destination from leaking into other tables.
    pub(crate) fn set_fallback(&mut self, table: u32, destination: IpNet) -> io::Result<()> {
        self.connection.request(NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, |encoder| {
            header(encoder, destination, TYPE_UNREACHABLE, SCOPE_UNIVERSE);
            place(encoder, table, destination, METRIC_LAST);
        })
    }

    /// Removes a route, or its fallback; one that is not there counts as removed.
    pub(crate) fn remove(&mut self, table: u32, destination: IpNet, fallback: bool) -> io::Result<()> {
        let removed = self.connection.request(DELROUTE, 0, |encoder| {
            header(encoder, destination, 0, 255);
            place(encoder, table, destination, if fallback { METRIC_LAST } else { METRIC });
        });
        gone(removed)
    }

    /// Whether the route to an address is a host route that is not ours.
    pub(crate) fn foreign_host_route(&mut self, address: IpAddr) -> io::Result<bool> {
        const FIB_MATCH: u32 = 0x2000;
        let host = IpNet::from(address);
        let asked = self.connection.ask(
            GETROUTE,
            |encoder| {
                encoder.put(&[family_of(address), host.prefix_len(), 0, 0, 0, 0, 0, 0]);
                encoder.put(&FIB_MATCH.to_ne_bytes());
                put_address(encoder, 1, address);
            },
            |message| Some((*message.body.get(1)?, *message.body.get(5)?)),
        );
        match asked {
            Ok(found) => Ok(found.is_some_and(|(length, by)| length == host.prefix_len() && by != PROTOCOL)),
            // No route at all.
            Err(error) if matches!(error.raw_os_error(), Some(101 | 113)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// All routes of ours.
    pub(crate) fn list(&mut self) -> io::Result<Vec<Route>> {
        let interfaces = self.interfaces()?;
        let mut found = Vec::new();
        for family in [AF_INET, AF_INET6] {
            self.connection.dump(
                GETROUTE,
                |encoder| encoder.put(&[family, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
                |message| found.extend(read_route(message.body, &interfaces)),
            )?;
        }
        Ok(found)
    }

    /// Sends packets with a mark to a table.
    pub(crate) fn add_rule(&mut self, family: u8, priority: u32, mark: u32, table: u32) -> io::Result<()> {
        let added = self.connection.request(NEWRULE, NLM_F_CREATE | NLM_F_EXCL, |encoder| {
            rule(encoder, family, priority, mark, table);
        });
        match added {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        }
    }

    pub(crate) fn remove_rule(&mut self, family: u8, priority: u32, mark: u32, table: u32) -> io::Result<()> {
        let removed = self.connection.request(DELRULE, 0, |encoder| {
            rule(encoder, family, priority, mark, table);
        });
        gone(removed)
    }

    /// Rules of ours: family, priority, mark, table.
    pub(crate) fn rules(&mut self) -> io::Result<Vec<(u8, u32, u32, u32)>> {
        let mut found = Vec::new();
        for family in [AF_INET, AF_INET6] {
            self.connection.dump(
                GETRULE,
                |encoder| encoder.put(&[family, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
                |message| {
                    let rest = message.body.get(12..).unwrap_or_default();
                    if attribute(rest, 21) == Some(&[PROTOCOL]) {
                        let word = |kind| attribute(rest, kind).and_then(|v| u32_at(v, 0)).unwrap_or(0);
                        found.push((family, word(6), word(10), word(15)));
                    }
                },
            )?;
        }
        Ok(found)
    }

    /// Answers ARP or neighbour solicitations for an address on an interface.
    pub(crate) fn add_proxy(&mut self, interface: u32, address: IpAddr) -> io::Result<()> {
        self.connection.request(NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, |encoder| {
            neighbour(encoder, interface, address);
            encoder.attr(12, &[PROTOCOL]);
        })
    }

    pub(crate) fn remove_proxy(&mut self, interface: u32, address: IpAddr) -> io::Result<()> {
        gone(self.connection.request(DELNEIGH, 0, |encoder| neighbour(encoder, interface, address)))
    }

    /// Proxy addresses of ours, by interface.
    pub(crate) fn proxies(&mut self) -> io::Result<Vec<(u32, IpAddr)>> {
        let mut found = Vec::new();
        for family in [AF_INET, AF_INET6] {
            self.connection.dump(
                GETNEIGH,
                |encoder| encoder.put(&[family, 0, 0, 0, 0, 0, 0, 0, 0, 0, PROXY, 0]),
                |message| {
                    let rest = message.body.get(12..).unwrap_or_default();
                    let ours = attribute(rest, 12) == Some(&[PROTOCOL]);
                    let address = attribute(rest, 1).and_then(address_of);
                    if let (true, Some(index), Some(address)) = (ours, u32_at(message.body, 4), address) {
                        found.push((index, address));
                    }
                },
            )?;
        }
        Ok(found)
    }
}

fn header(encoder: &mut Encoder, destination: IpNet, kind: u8, scope: u8) {
    let family = family_of(destination.addr());
    let scope = if family == AF_INET6 { SCOPE_UNIVERSE } else { scope };
    encoder.put(&[family, destination.prefix_len(), 0, 0, 0, PROTOCOL, scope, kind]);
    encoder.put(&0u32.to_ne_bytes());
}

fn place(encoder: &mut Encoder, table: u32, destination: IpNet, metric: u32) {
    put_address(encoder, 1, destination.addr());
    encoder.attr_u32(15, table);
    encoder.attr_u32(6, metric);
}

fn rule(encoder: &mut Encoder, family: u8, priority: u32, mark: u32, table: u32) {
    encoder.put(&[family, 0, 0, 0, 0, 0, 0, 1]);
    encoder.put(&0u32.to_ne_bytes());
    encoder.attr_u32(6, priority);
    encoder.attr_u32(10, mark);
    encoder.attr_u32(16, u32::MAX);
    encoder.attr_u32(15, table);
    encoder.attr(21, &[PROTOCOL]);
}

fn neighbour(encoder: &mut Encoder, interface: u32, address: IpAddr) {
    encoder.put(&[family_of(address), 0, 0, 0]);
    encoder.put(&interface.to_ne_bytes());
    encoder.put(&[0x80, 0, PROXY, 0]);
    put_address(encoder, 1, address);
}

fn put_address(encoder: &mut Encoder, kind: u16, address: IpAddr) {
    match address {
        IpAddr::V4(address) => encoder.attr(kind, &address.octets()),
        IpAddr::V6(address) => encoder.attr(kind, &address.octets()),
    }
}

pub(crate) fn address_of(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => Some(IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?)),
        16 => Some(IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?)),
        _ => None,
    }
}

pub(crate) fn family_of(address: IpAddr) -> u8 {
    if address.is_ipv4() { AF_INET } else { AF_INET6 }
}

fn gone(result: io::Result<()>) -> io::Result<()> {
    const ESRCH: i32 = 3;
    match result {
        Err(error) if matches!(error.raw_os_error(), Some(2 | ESRCH | 99)) => Ok(()),
        other => other,
    }
}

fn index_of(connection: &mut Connection, name: &str) -> io::Result<Option<u32>> {
    let asked = connection.ask(
        GETLINK,
        |encoder| {
            encoder.put(&[0; 16]);
            encoder.attr_text(3, name);
        },
        |message| u32_at(message.body, 4),
    );
    match asked {
        Err(error) if error.raw_os_error() == Some(19) => Ok(None),
        other => other,
    }
}

fn set_up(connection: &mut Connection, index: u32) -> io::Result<()> {
    connection.request(NEWLINK, 0, |encoder| {
        encoder.put(&[0, 0, 0, 0]);
        encoder.put(&index.to_ne_bytes());
        encoder.put(&1u32.to_ne_bytes());
        encoder.put(&1u32.to_ne_bytes());
    })
}

/// A dummy device, or a pair of veth where the kernel has no dummy.
fn create_anchor(connection: &mut Connection) -> io::Result<u32> {
    let dummy = connection.request(NEWLINK, NLM_F_CREATE | NLM_F_EXCL, |encoder| {
        encoder.put(&[0; 16]);
        encoder.attr_text(3, ANCHOR);
        encoder.nest(18, |info| info.attr_text(1, "dummy"));
    });
    if dummy.is_err() {
        connection.request(NEWLINK, NLM_F_CREATE | NLM_F_EXCL, |encoder| {
            encoder.put(&[0; 16]);
            encoder.attr_text(3, ANCHOR);
            encoder.nest(18, |info| {
                info.attr_text(1, "veth");
                info.nest(2, |data| {
                    data.nest(1, |peer| {
                        peer.put(&[0; 16]);
                        peer.attr_text(3, ANCHOR_PEER);
                    });
                });
            });
        })?;
    }
    let missing = || io::Error::new(io::ErrorKind::NotFound, "the anchor device is gone again");
    index_of(connection, ANCHOR)?.ok_or_else(missing)
}

fn read_route(body: &[u8], interfaces: &[(u32, String)]) -> Option<Route> {
    let (family, length, protocol, kind) = (*body.first()?, *body.get(1)?, *body.get(5)?, *body.get(7)?);
    if protocol != PROTOCOL {
        return None;
    }
    let rest = body.get(12..)?;
    let zero = if family == AF_INET { IpAddr::from([0u8; 4]) } else { IpAddr::from([0u8; 16]) };
    let address = attribute(rest, 1).and_then(address_of).unwrap_or(zero);
    let destination = IpNet::new(address, length).ok()?;
    let table = attribute(rest, 15).and_then(|v| u32_at(v, 0)).unwrap_or(0);
    let encapsulation = attribute(rest, 21).and_then(|v| u16_at(v, 0));
    let action = match (kind, encapsulation) {
        (TYPE_UNREACHABLE, _) => None,
        (TYPE_THROW, _) => Some(RouteAction::Throw),
        (_, Some(kind)) => Some(lwtunnel::read(kind, attribute(rest, 22)?)?),
        (_, None) => Some(read_plain(rest, interfaces)),
    };
    Some(Route { table, destination, action })
}

fn read_plain(rest: &[u8], interfaces: &[(u32, String)]) -> RouteAction {
    let mut next_hop = None;
    let mut interface = None;
    for (kind, value) in attributes(rest) {
        match kind {
            5 => next_hop = address_of(value),
            4 => {
                let index = u32_at(value, 0);
                interface = interfaces.iter().find(|(i, _)| Some(*i) == index).map(|(_, name)| name.clone());
            }
            _ => {}
        }
    }
    if next_hop.is_none() && interface.as_deref() == Some(ANCHOR) {
        return RouteAction::OnLink;
    }
    RouteAction::Via { next_hop, interface }
}

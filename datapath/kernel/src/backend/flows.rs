//! Keys and values of the maps of bindings: `forward`; `forward_port`, of flows whose port changes too; `staged`,
//! of flows of either kind; `reverse`.

use cats_engine_types::{Binding, Family, FlowKey, Protocol};
use std::net::{IpAddr, SocketAddr};

/// The key of the forward direction.
pub(super) fn forward_key(key: &FlowKey) -> Vec<u8> {
    tuple(key.client(), key.service(), key.protocol())
}

/// The key of the reverse direction.
pub(super) fn reverse_key(binding: &Binding) -> Vec<u8> {
    tuple(binding.reverse.instance, binding.reverse.client, binding.forward.key.protocol())
}

/// The map that an open binding's forward direction is in.
pub(super) fn open_map(binding: &Binding) -> &'static str {
    let same = binding.reverse.instance.port() == binding.forward.key.service().port();
    if same { FORWARD } else { "forward_port" }
}

/// Values of this map have no port.
const FORWARD: &str = "forward";

/// The value of the forward direction in a map.
pub(super) fn forward_value(map: &str, binding: &Binding, mark: u32, service: u32) -> Vec<u8> {
    let target = binding.reverse.instance;
    let mut value = Vec::with_capacity(28);
    put_address(&mut value, target.ip());
    if map != FORWARD {
        value.extend_from_slice(&target.port().to_be_bytes());
        value.extend_from_slice(&[0, 0]);
    }
    value.extend_from_slice(&mark.to_ne_bytes());
    value.extend_from_slice(&service.to_ne_bytes());
    value
}

/// The value of the reverse direction.
pub(super) fn reverse_value(binding: &Binding) -> Vec<u8> {
    let restore = binding.reverse.restore;
    let mut value = Vec::with_capacity(20);
    put_address(&mut value, restore.ip());
    value.extend_from_slice(&restore.port().to_be_bytes());
    value.extend_from_slice(&[0, 0]);
    value
}

/// Reads the key of the forward direction.
pub(super) fn read_forward_key(family: Family, bytes: &[u8]) -> Option<FlowKey> {
    let size = address_size(family);
    let client = read_address(bytes.get(..size)?)?;
    let service = read_address(bytes.get(size..2 * size)?)?;
    let port = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let protocol = Protocol(*bytes.get(2 * size + 4)?);
    let client = SocketAddr::new(client, port(2 * size)?);
    FlowKey::new(protocol, client, SocketAddr::new(service, port(2 * size + 2)?)).ok()
}

/// Reads the value of the forward direction in a map: where to, and the mark.
pub(super) fn read_forward_value(map: &str, key: &FlowKey, bytes: &[u8]) -> Option<(SocketAddr, u32)> {
    let size = address_size(key.family());
    let (target, marked) = if map == FORWARD {
        (SocketAddr::new(read_address(bytes.get(..size)?)?, key.service().port()), size)
    } else {
        (read_target(key.family(), bytes)?, size + 4)
    };
    let mark = u32::from_ne_bytes(bytes.get(marked..marked + 4)?.try_into().ok()?);
    Some((target, mark))
}

/// Reads the address and port that a value begins with.
pub(super) fn read_target(family: Family, bytes: &[u8]) -> Option<SocketAddr> {
    let size = address_size(family);
    let address = read_address(bytes.get(..size)?)?;
    let port = u16::from_be_bytes(bytes.get(size..size + 2)?.try_into().ok()?);
    Some(SocketAddr::new(address, port))
}

/// Address, port and protocol, as `services` and its like have them.
pub(super) fn service_key(address: IpAddr, port: u16, protocol: Protocol) -> Vec<u8> {
    let mut key = Vec::with_capacity(24);
    put_address(&mut key, address);
    key.extend_from_slice(&port.to_be_bytes());
    key.extend_from_slice(&[0, 0, protocol.0, 0, 0, 0]);
    key
}

pub(super) fn put_address(out: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(address) => out.extend_from_slice(&address.octets()),
        IpAddr::V6(address) => out.extend_from_slice(&address.octets()),
    }
}

/// Both ends and the protocol, as the maps of flows have them.
pub(super) fn tuple(from: SocketAddr, to: SocketAddr, protocol: Protocol) -> Vec<u8> {
    let mut key = Vec::with_capacity(40);
    put_address(&mut key, from.ip());
    put_address(&mut key, to.ip());
    key.extend_from_slice(&from.port().to_be_bytes());
    key.extend_from_slice(&to.port().to_be_bytes());
    key.extend_from_slice(&[protocol.0, 0, 0, 0]);
    key
}

fn address_size(family: Family) -> usize {
    match family {
        Family::V4 => 4,
        Family::V6 => 16,
    }
}

fn read_address(bytes: &[u8]) -> Option<IpAddr> {
    crate::route::address_of(bytes)
}

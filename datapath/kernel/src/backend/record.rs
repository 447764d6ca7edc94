//! What an element of a binding carries along for a restart: everything of the binding that key, value
//! and route do not say.

use cats_engine_types::{
    Binding, CsId, CsciId, Encapsulation, Epoch, FlowKey, Forward, Generation, Lifetime, Locator, Micros,
    NodeId, Path, TransactionId,
};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

const VERSION: u8 = 1;
/// The type of our entry in an element's user data, beyond those that nft uses.
const ENTRY: u8 = 0xca;
/// User data end at 256 octets; two are the entry's head.
const LIMIT: usize = 250;

/// User data of a binding's element; none if its names are too long.
pub(super) fn encode(binding: &Binding) -> Option<Vec<u8>> {
    let mut out = vec![ENTRY, 0, VERSION];
    out.extend_from_slice(&binding.transaction.epoch.to_be_bytes());
    out.extend_from_slice(&binding.transaction.sequence.to_be_bytes());
    out.extend_from_slice(&binding.epoch.0.to_be_bytes());
    out.extend_from_slice(&binding.version.to_be_bytes());
    put_id(&mut out, binding.cs_id.as_number(), binding.cs_id.as_address());
    put_id(&mut out, binding.forward.csci_id.as_number(), binding.forward.csci_id.as_address());
    out.push(u8::from(binding.forward.locator.port.is_some()));
    put_duration(&mut out, binding.lifetime.idle);
    put_duration(&mut out, binding.lifetime.hard);
    let path = &binding.forward.path;
    out.extend_from_slice(&path.delay.0.to_be_bytes());
    out.extend_from_slice(&path.mtu.to_be_bytes());
    out.extend_from_slice(&path.generation.0.to_be_bytes());
    put_name(&mut out, binding.forward.egress.as_str());
    // The usual case: the path ends at the egress, and begins here.
    let endpoint = if path.endpoint == binding.forward.egress { "" } else { path.endpoint.as_str() };
    put_name(&mut out, endpoint);
    let length = out.len().checked_sub(2).filter(|length| *length <= LIMIT)?;
    *out.get_mut(1)? = u8::try_from(length).ok()?;
    Some(out)
}

/// The binding of an element.
pub(super) fn decode(
    user: &[u8],
    node: &NodeId,
    key: FlowKey,
    target: SocketAddr,
    encapsulation: Encapsulation,
) -> Option<Binding> {
    let mut input = Input(user);
    if input.take::<3>()? != [ENTRY, u8::try_from(user.len().checked_sub(2)?).ok()?, VERSION] {
        return None;
    }
    let transaction = TransactionId { epoch: input.u64()?, sequence: input.u64()? };
    let epoch = Epoch(input.u64()?);
    let version = u32::from_be_bytes(input.take()?);
    let cs_id = input.id(CsId::number, CsId::address)?;
    let csci_id = input.id(CsciId::number, CsciId::address)?;
    let own_port = input.take::<1>()? == [1];
    let lifetime = Lifetime { idle: input.duration()?, hard: input.duration()? };
    let delay = Micros(input.u64()?);
    let mtu = u16::from_be_bytes(input.take()?);
    let generation = Generation(input.u64()?);
    let egress: NodeId = input.name()?.parse().ok()?;
    let endpoint = match input.name()? {
        "" => egress.clone(),
        name => name.parse().ok()?,
    };
    let path = Path { headend: node.clone(), endpoint, encapsulation, delay, mtu, generation };
    let locator = Locator { address: target.ip(), port: own_port.then_some(target.port()) };
    let forward = Forward { key, csci_id, locator, egress, path };
    let reverse = Binding::reverse_of(&forward);
    Some(Binding { transaction, cs_id, forward, reverse, lifetime, epoch, version })
}

fn put_id(out: &mut Vec<u8>, number: Option<u32>, address: Option<IpAddr>) {
    match (number, address) {
        (_, Some(IpAddr::V4(address))) => {
            out.push(1);
            out.extend_from_slice(&address.octets());
        }
        (_, Some(IpAddr::V6(address))) => {
            out.push(2);
            out.extend_from_slice(&address.octets());
        }
        (number, None) => {
            out.push(0);
            out.extend_from_slice(&number.unwrap_or(0).to_be_bytes());
        }
    }
}

fn put_duration(out: &mut Vec<u8>, duration: Option<Duration>) {
    let millis = duration.map_or(u64::MAX, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX - 1));
    out.extend_from_slice(&millis.to_be_bytes());
}

fn put_name(out: &mut Vec<u8>, name: &str) {
    out.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
    out.extend_from_slice(name.as_bytes());
}

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_be_bytes(self.take()?))
    }

    fn duration(&mut self) -> Option<Option<Duration>> {
        let millis = self.u64()?;
        Some((millis != u64::MAX).then(|| Duration::from_millis(millis)))
    }

    fn id<T, E>(&mut self, number: impl Fn(u32) -> Result<T, E>, address: impl Fn(IpAddr) -> T) -> Option<T> {
        match self.take::<1>()? {
            [0] => number(u32::from_be_bytes(self.take()?)).ok(),
            [1] => Some(address(IpAddr::from(self.take::<4>()?))),
            [2] => Some(address(IpAddr::from(self.take::<16>()?))),
            _ => None,
        }
    }

    fn name(&mut self) -> Option<&'a str> {
        let [length] = self.take::<1>()?;
        let (head, rest) = self.0.split_at_checked(usize::from(length))?;
        self.0 = rest;
        std::str::from_utf8(head).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cats_engine_types::Protocol;

    fn binding(egress: &str, endpoint: &str) -> Binding {
        let key = FlowKey::new(
            Protocol::TCP,
            "192.0.2.10:51000".parse().unwrap(),
            "192.0.2.100:443".parse().unwrap(),
        );
        let node: NodeId = "IF-1".parse().unwrap();
        let path = Path {
            headend: node,
            endpoint: endpoint.parse().unwrap(),
            encapsulation: Encapsulation::None,
            delay: Micros(9000),
            mtu: 1500,
            generation: Generation(7),
        };
        let forward = Forward {
            key: key.unwrap(),
            csci_id: CsciId::address("198.51.100.21".parse().unwrap()),
            locator: Locator { address: "198.51.100.21".parse().unwrap(), port: Some(8443) },
            egress: egress.parse().unwrap(),
            path,
        };
        Binding {
            transaction: TransactionId { epoch: 1 << 60, sequence: 3 },
            cs_id: CsId::number(1).unwrap(),
            reverse: Binding::reverse_of(&forward),
            forward,
            lifetime: Lifetime { idle: Some(Duration::from_secs(120)), hard: None },
            epoch: Epoch(9),
            version: 2,
        }
    }

    #[test]
    fn a_binding_is_read_back_as_it_was_written() {
        for endpoint in ["EF-2", "EF-3"] {
            let binding = binding("EF-2", endpoint);
            let user = encode(&binding).unwrap();
            let node = "IF-1".parse().unwrap();
            let target = binding.reverse.instance;
            let read = decode(&user, &node, binding.forward.key, target, Encapsulation::None);
            assert_eq!(read, Some(binding));
        }
    }

    #[test]
    fn no_prefix_of_a_record_is_a_binding() {
        let binding = binding("EF-2", "EF-3");
        let user = encode(&binding).unwrap();
        let node = "IF-1".parse().unwrap();
        for length in 0..user.len() {
            let key = binding.forward.key;
            let read = decode(&user[..length], &node, key, binding.reverse.instance, Encapsulation::None);
            assert_eq!(read, None);
        }
    }
}

//! Sets and maps of our table, as they are created.

use super::encode::SetSpec;
use super::ruleset::{SERVICE_LIMIT, Shape};

/// A value, or several one after another, each in whole words: the type as the program `nft` numbers it, so
/// that it can list the table, and its octets.
#[derive(Debug, Clone, Copy)]
struct Kind {
    number: u32,
    octets: u32,
}

impl Kind {
    const INTEGER: Self = Self { number: 4, octets: 1 };
    const IPV4: Self = Self { number: 7, octets: 4 };
    const IPV6: Self = Self { number: 8, octets: 16 };
    const PROTOCOL: Self = Self { number: 12, octets: 1 };
    const PORT: Self = Self { number: 13, octets: 2 };
    /// Also for what nft has no type for: the ports of both ends in one word, and numbers.
    const MARK: Self = Self { number: 19, octets: 4 };
    const INTERFACE: Self = Self { number: 41, octets: 16 };

    fn then(self, next: Self) -> Self {
        let octets = self.octets.next_multiple_of(4) + next.octets.next_multiple_of(4);
        Self { number: self.number << 6 | next.number, octets }
    }
}

/// The maps of bindings. `limit` bounds them, `counted` counts each flow.
pub(crate) fn bindings(shape: Shape, limit: u32, counted: bool) -> Vec<SetSpec<'static>> {
    let address = address(shape);
    let flow = address.then(address).then(Kind::MARK).then(Kind::PROTOCOL);
    let target = address.then(Kind::PORT);
    let forward = address.then(Kind::MARK).then(Kind::MARK);
    let forward_port = target.then(Kind::MARK).then(Kind::MARK);
    let bindings = |spec: SetSpec<'static>| SetSpec {
        size: Some(limit),
        timeout: true,
        expressions: if counted { &["last", "counter"] } else { &["last"] },
        ..spec
    };
    vec![
        bindings(map("forward", flow, forward)),
        bindings(map("forward_port", flow, forward_port)),
        bindings(map("staged", flow, forward_port)),
        bindings(map("reverse", flow, target)),
    ]
}

fn address(shape: Shape) -> Kind {
    if shape.is_v4() { Kind::IPV4 } else { Kind::IPV6 }
}

/// The sets of the table, those of bindings first.
pub(crate) fn sets(shape: Shape, limit: u32, counted: bool) -> Vec<SetSpec<'static>> {
    let address = address(shape);
    let service = address.then(Kind::PORT).then(Kind::PROTOCOL);
    let mut sets = bindings(shape, limit, counted);
    sets.extend([
        set("services", service),
        set("addresses", address),
        set("access", Kind::INTERFACE),
        map("sids", Kind::IPV6, Kind::MARK),
        set("instances", address),
        set("deliver_port", service),
        set("deliver_protocol", address.then(Kind::PROTOCOL)),
        set("deliver_any", address),
        set("answers", service),
        map("mss", address.then(Kind::MARK), Kind::PORT),
        map("mss_back", address, Kind::PORT),
        SetSpec { size: Some(256), ..map("hops", Kind::MARK, Kind::INTEGER) },
        SetSpec { size: Some(SERVICE_LIMIT), counters: true, ..set("counts", Kind::MARK) },
    ]);
    sets
}

fn set(name: &'static str, key: Kind) -> SetSpec<'static> {
    SetSpec {
        name,
        key: key.octets,
        key_type: key.number,
        data_type: 0,
        data: None,
        size: None,
        timeout: false,
        counters: false,
        expressions: &[],
    }
}

fn map(name: &'static str, key: Kind, data: Kind) -> SetSpec<'static> {
    SetSpec { data: Some(data.octets), data_type: data.number, ..set(name, key) }
}

//! Which routing table carries which path to which instance.
//!
//! A rewritten packet is routed by the instance's address. The first path to an instance has a host route in
//! the main table: a routing rule, even one, costs each packet a fifth of what forwarding costs at all. A
//! further path at the same time has a table that the packet's mark names; so has every path to an instance
//! that is delivered to here too, whose decapsulated packets must not be encapsulated again, or that has a
//! host route of someone else's. So there are few rules, whatever the number of paths.

use crate::nft::ruleset::{MARK_FORWARD, MARK_PLAIN};
use cats_engine_types::{Encapsulation, Path};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Paths to one instance at a time; one less is the number of rules that a packet passes at most.
pub(super) const TABLES: u8 = 16;
/// The main table, which needs no rule.
pub(super) const MAIN: u8 = 0;
const FIRST_TABLE: u32 = 52_000;
const FIRST_PRIORITY: u32 = 5_200;

/// The routing table of a path table.
pub(super) fn table(slot: u8) -> u32 {
    if slot == MAIN { 254 } else { FIRST_TABLE + u32::from(slot) }
}

/// The priority of its rule.
pub(super) fn priority(slot: u8) -> u32 {
    FIRST_PRIORITY + u32::from(slot)
}

/// The mark of packets that take it.
pub(super) fn mark(slot: u8) -> u32 {
    MARK_FORWARD | u32::from(slot)
}

/// The path table of a mark; none for plain forwarding.
pub(super) fn slot_of(mark: u32) -> Option<u8> {
    if mark == MARK_PLAIN { None } else { u8::try_from(mark & 0xff).ok() }
}

/// A path to an instance in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathUse {
    pub(super) slot: u8,
    pub(super) encapsulation: Encapsulation,
    pub(super) inner_mtu: u16,
    /// Bindings that use it.
    pub(super) users: u32,
}

/// Paths in use, by instance address.
#[derive(Debug, Default)]
pub(super) struct Paths {
    uses: BTreeMap<IpAddr, Vec<PathUse>>,
}

/// What a path needs before its first user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Claim {
    /// Nothing: it is in use already, under this mark.
    Ready(u32),
    /// Its route in this path table.
    New(u8),
}

impl Paths {
    /// Finds where a path is or could be, from the path table `first`; none: all tables have another path to
    /// the instance.
    pub(super) fn claim(&self, instance: IpAddr, path: &Path, first: u8) -> Option<Claim> {
        if path.encapsulation == Encapsulation::None {
            return Some(Claim::Ready(MARK_PLAIN));
        }
        let uses = self.uses.get(&instance).map(Vec::as_slice).unwrap_or_default();
        if let Some(used) = uses.iter().find(|used| used.encapsulation == path.encapsulation) {
            return Some(Claim::Ready(mark(used.slot)));
        }
        (first..TABLES).find(|slot| uses.iter().all(|used| used.slot != *slot)).map(Claim::New)
    }

    /// One more binding uses the path.
    pub(super) fn acquire(&mut self, instance: IpAddr, path: &Path, slot: u8) {
        let uses = self.uses.entry(instance).or_default();
        match uses.iter_mut().find(|used| used.slot == slot) {
            Some(used) => used.users += 1,
            None => uses.push(PathUse {
                slot,
                encapsulation: path.encapsulation.clone(),
                inner_mtu: path.inner_mtu(),
                users: 1,
            }),
        }
    }

    /// One binding less uses the path; the path if it was the last one.
    pub(super) fn release(&mut self, instance: IpAddr, encapsulation: &Encapsulation) -> Option<PathUse> {
        let uses = self.uses.get_mut(&instance)?;
        let place = uses.iter().position(|used| used.encapsulation == *encapsulation)?;
        let used = uses.get_mut(place)?;
        used.users = used.users.saturating_sub(1);
        if used.users > 0 {
            return None;
        }
        let ended = uses.remove(place);
        if uses.is_empty() {
            self.uses.remove(&instance);
        }
        Some(ended)
    }

    /// Paths to an instance.
    pub(super) fn to(&self, instance: IpAddr) -> &[PathUse] {
        self.uses.get(&instance).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether a route of a path table is in use.
    pub(super) fn uses(&self, instance: IpAddr, slot: u8) -> bool {
        self.to(instance).iter().any(|used| used.slot == slot)
    }
}

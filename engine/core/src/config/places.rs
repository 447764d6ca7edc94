//! The addresses of services and of their instances, kept up by what changes.

use super::addresses::addresses;
use cats_yang_model::generated::cats_services::Service;
use cats_yang_model::generated::ietf_cats::{Cats, CsId};
use cats_yang_tree::map::{Difference, Map};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

/// Which services are at an address. Persistent: the next configuration shares what is equal.
#[derive(Debug, Clone, Default)]
pub(super) struct Places {
    /// By which clients reach them, disabled ones too.
    services: Map<IpAddr, BTreeSet<CsId>>,
    /// Of their instances.
    locators: Map<IpAddr, BTreeSet<CsId>>,
}

impl Places {
    /// Follows from `old` to `new`.
    pub(super) fn follow(&mut self, old: &Cats, new: &Cats) {
        for difference in old.services.service.diff(&new.services.service) {
            match difference {
                Difference::Removed(_, old) => self.note(old, false),
                Difference::Added(_, new) => self.note(new, true),
                Difference::Changed(_, old, new) => {
                    self.note(old, false);
                    self.note(new, true);
                }
            }
        }
    }

    fn note(&mut self, service: &Service, is_there: bool) {
        for address in addresses(service) {
            set(&mut self.services, address, service.cs_id, is_there);
        }
        for locator in service.instance.values().flat_map(|instance| instance.locator.values()) {
            set(&mut self.locators, locator.address, service.cs_id, is_there);
        }
    }

    /// Do clients reach a service there?
    pub(super) fn has_service(&self, address: &IpAddr) -> bool {
        self.services.contains_key(address)
    }

    /// The services of `changed`, and all that these may meet with: at their addresses is another one, or an instance
    /// of another one.
    pub(super) fn concerned<'c>(&self, cats: &'c Cats, changed: &BTreeSet<CsId>) -> Vec<&'c Arc<Service>> {
        let all = &cats.services.service;
        let mut ids = changed.clone();
        for address in changed.iter().filter_map(|id| all.get(id)).flat_map(|service| addresses(service)) {
            let there = [self.services.get(&address), self.locators.get(&address)];
            ids.extend(there.into_iter().flatten().flatten());
        }
        ids.iter().filter_map(|id| all.get(id)).collect()
    }
}

fn set(map: &mut Map<IpAddr, BTreeSet<CsId>>, address: IpAddr, service: CsId, is_there: bool) {
    let mut there = map.get(&address).cloned().unwrap_or_default();
    if is_there {
        there.insert(service);
    } else {
        there.remove(&service);
    }
    if there.is_empty() {
        map.remove(&address);
    } else {
        map.insert(address, there);
    }
}

//! Everything but bindings and the table: routes, rules, proxy neighbours, kernel parameters.

use super::{FAMILIES, NftBackend, family_number, paths, refused};
use crate::nft::ruleset;
use crate::{seg6, sysctl};
use cats_datapath_core::{
    Applied, BackendError, ForwarderConfig, Objects, Plan, ProxyAddress, Pruned, RouteAction, RouteKey, Table,
};
use cats_engine_types::{Delivery, DeliveryState, Encapsulation, Family};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv6Addr};

const TABLE_MAIN: u32 = 254;
const TABLE_OWNERS: u32 = 52_100;
const TABLE_DELIVERIES: u32 = 52_101;
const PRIORITY_OWNERS: u32 = 5_220;
const PRIORITY_DELIVERIES: u32 = 5_221;

impl NftBackend {
    pub(super) fn apply(&mut self, config: &ForwarderConfig) -> Result<Applied, BackendError> {
        check_owners(config)?;
        let mut applied = Applied::default();
        self.find_tables()?;
        self.number_services(config)?;
        self.apply_tables(config)?;
        applied.warnings.extend(self.apply_limit(config)?);
        self.apply_sysctls(config, &mut applied)?;
        let failed = self.apply_routes(config)?;
        self.apply_rules(config)?;
        let source = config.underlay_source.unwrap_or(Ipv6Addr::UNSPECIFIED);
        if source.is_unspecified() && config.ingress.is_some() {
            let slow = "no underlay source address: the kernel searches one for each packet";
            applied.warnings.push(slow.to_owned());
        }
        seg6::set_source(source).map_err(|error| refused("source of encapsulated packets", &error))?;
        applied.deliveries = deliveries(config, &failed);
        self.config = Some(config.clone());
        Ok(applied)
    }

    fn apply_sysctls(&mut self, config: &ForwarderConfig, applied: &mut Applied) -> Result<(), BackendError> {
        let set = |name: &str, value: &str| {
            sysctl::set(name, value).map_err(|error| refused("kernel parameter", &error))
        };
        set("ipv4/ip_forward", "1")?;
        set("ipv6/conf/all/forwarding", "1")?;
        set("ipv6/conf/all/seg6_enabled", "1")?;
        set("ipv6/conf/default/seg6_enabled", "1")?;
        let interfaces = self.interfaces()?;
        for (_, name) in &interfaces {
            set(&format!("ipv6/conf/{name}/seg6_enabled"), "1")?;
        }
        if sysctl::get("ipv4/conf/all/rp_filter").as_deref() == Some("1") {
            let strict = "net.ipv4.conf.all.rp_filter is 1 (strict): decapsulated packets whose way back \
                          differs are dropped; use 0 or 2";
            applied.warnings.push(strict.to_owned());
        }
        let Some(ingress) = &config.ingress else { return Ok(()) };
        for access in &ingress.access {
            if !interfaces.iter().any(|(_, name)| *name == access.name) {
                applied.warnings.push(format!("access interface {} does not exist", access.name));
            } else if !ingress.on_link.is_empty() {
                set(&format!("ipv6/conf/{}/proxy_ndp", access.name), "1")?;
                // Answers are not held back: each address has one node that answers for it.
                set(&format!("ipv4/neigh/{}/proxy_delay", access.name), "0")?;
                set(&format!("ipv6/neigh/{}/proxy_delay", access.name), "0")?;
            }
        }
        Ok(())
    }

    /// Brings static routes and proxies to the plan; the deliveries whose route was refused, with the words.
    fn apply_routes(&mut self, config: &ForwarderConfig) -> Result<BTreeMap<IpAddr, String>, BackendError> {
        let actual = self.static_objects()?;
        let plan = Plan::between(&actual, &Objects::desired(config));
        let mut failed = self.encapsulated_deliveries(config);
        for key in plan.remove_routes {
            let removed = self.routes.remove(table_number(key.table), key.destination, false);
            removed.map_err(|error| refused(format!("route {}", key.destination), &error))?;
        }
        for (key, action) in plan.set_routes {
            match self.routes.set(table_number(key.table), key.destination, &action) {
                Ok(()) => {}
                Err(error) if key.table == Table::Deliveries => {
                    failed.insert(key.destination.addr(), error.to_string());
                }
                Err(error) => return Err(refused(format!("route {}", key.destination), &error)),
            }
        }
        for (proxy, add) in plan
            .remove_proxies
            .iter()
            .map(|proxy| (proxy, false))
            .chain(plan.add_proxies.iter().map(|proxy| (proxy, true)))
        {
            self.set_proxy(proxy, add)?;
        }
        Ok(failed)
    }

    /// Deliveries to instances that bindings of this node reach by a route of the main table, which would
    /// encapsulate what is to be delivered.
    fn encapsulated_deliveries(&self, config: &ForwarderConfig) -> BTreeMap<IpAddr, String> {
        let deliveries = config.egress.iter().flat_map(|egress| &egress.deliveries);
        let addresses = deliveries.map(|delivery| delivery.locator.address);
        let used = addresses.filter(|address| self.paths.uses(*address, paths::MAIN));
        used.map(|address| (address, "flows of this node use a path to it until they end".to_owned()))
            .collect()
    }

    fn set_proxy(&mut self, proxy: &ProxyAddress, add: bool) -> Result<(), BackendError> {
        let context = |error: io::Error| {
            refused(format!("proxy address {} on {}", proxy.address, proxy.interface), &error)
        };
        let Some(index) = self.routes.interface(&proxy.interface).map_err(context)? else { return Ok(()) };
        let done = if add {
            self.routes.add_proxy(index, proxy.address)
        } else {
            self.routes.remove_proxy(index, proxy.address)
        };
        done.map_err(context)
    }

    /// Static routes and proxies of ours as the kernel has them.
    fn static_objects(&mut self) -> Result<Objects, BackendError> {
        let mut objects = Objects::default();
        for route in self.routes.list().map_err(|error| refused("routes", &error))? {
            let table = match route.table {
                TABLE_MAIN => Table::Main,
                TABLE_OWNERS => Table::Owners,
                TABLE_DELIVERIES => Table::Deliveries,
                _ => continue,
            };
            // Encapsulating routes of the main table belong to bindings.
            let of_bindings =
                table == Table::Main && matches!(route.action, Some(RouteAction::Encapsulate(_)));
            if let Some(action) = route.action.filter(|_| !of_bindings) {
                objects.routes.insert(RouteKey { table, destination: route.destination }, action);
            }
        }
        let interfaces = self.interfaces()?;
        for (index, address) in self.routes.proxies().map_err(|error| refused("neighbours", &error))? {
            if let Some((_, name)) = interfaces.iter().find(|(found, _)| *found == index) {
                objects.proxies.insert(ProxyAddress { interface: name.clone(), address });
            }
        }
        Ok(objects)
    }

    fn apply_rules(&mut self, config: &ForwarderConfig) -> Result<(), BackendError> {
        let egress = config.egress.as_ref();
        let owners = egress.is_some_and(|egress| !egress.owners.is_empty());
        let routed = egress
            .is_some_and(|e| e.deliveries.iter().any(|d| d.next_hop.is_some() || d.interface.is_some()));
        for family in FAMILIES.map(family_number) {
            for (wanted, priority, mark, table) in [
                (owners, PRIORITY_OWNERS, ruleset::MARK_RETURN, TABLE_OWNERS),
                (routed, PRIORITY_DELIVERIES, ruleset::MARK_DELIVER, TABLE_DELIVERIES),
            ] {
                let done = if wanted {
                    self.routes.add_rule(family, priority, mark, table)
                } else {
                    self.routes.remove_rule(family, priority, mark, table)
                };
                done.map_err(|error| refused(format!("rule of priority {priority}"), &error))?;
            }
        }
        Ok(())
    }

    /// Makes sure that a path table is asked for its mark.
    pub(super) fn ensure_path_rule(&mut self, family: Family, slot: u8) -> io::Result<()> {
        if slot == paths::MAIN {
            return Ok(());
        }
        let (priority, mark, table) = (paths::priority(slot), paths::mark(slot), paths::table(slot));
        self.routes.add_rule(family_number(family), priority, mark, table)
    }

    pub(super) fn prune_routes(&mut self) -> Result<Pruned, BackendError> {
        let mut pruned = Pruned::default();
        let desired = self.config.as_ref().map(Objects::desired).unwrap_or_default();
        let mut slots = BTreeSet::new();
        for route in self.routes.list().map_err(|error| refused("routes", &error))? {
            let fallback = route.action.is_none();
            let statically = |action: &RouteAction| !matches!(action, RouteAction::Encapsulate(_));
            let of_main = route.table == TABLE_MAIN && route.action.as_ref().is_some_and(statically);
            let slot = (0..paths::TABLES).find(|slot| paths::table(*slot) == route.table && !of_main);
            let used = match (slot, route.table) {
                (Some(slot), _) => {
                    let used = self.paths.uses(route.destination.addr(), slot);
                    if used {
                        slots.insert((route.destination.addr().is_ipv4(), slot));
                    }
                    used
                }
                (None, TABLE_MAIN) => keeps(&desired, Table::Main, &route.destination),
                (None, TABLE_OWNERS) => keeps(&desired, Table::Owners, &route.destination),
                (None, TABLE_DELIVERIES) => keeps(&desired, Table::Deliveries, &route.destination),
                (None, _) => false,
            };
            if !used {
                let removed = self.routes.remove(route.table, route.destination, fallback);
                removed.map_err(|error| refused(format!("route {}", route.destination), &error))?;
                pruned.routes += 1;
            }
        }
        self.prune_rules(&slots, &mut pruned)?;
        Ok(pruned)
    }

    fn prune_rules(&mut self, slots: &BTreeSet<(bool, u8)>, pruned: &mut Pruned) -> Result<(), BackendError> {
        let none = self.config.is_none();
        for (family, priority, mark, table) in
            self.routes.rules().map_err(|error| refused("rules", &error))?
        {
            let slot = (0..paths::TABLES).find(|slot| paths::table(*slot) == table);
            let used = match slot {
                Some(slot) => slots.contains(&(family == family_number(Family::V4), slot)),
                None => !none && (table == TABLE_OWNERS || table == TABLE_DELIVERIES),
            };
            if !used {
                let removed = self.routes.remove_rule(family, priority, mark, table);
                removed.map_err(|error| refused(format!("rule of priority {priority}"), &error))?;
                pruned.rules += 1;
            }
        }
        if none {
            for (index, address) in self.routes.proxies().map_err(|error| refused("neighbours", &error))? {
                let removed = self.routes.remove_proxy(index, address);
                removed.map_err(|error| refused(format!("proxy address {address}"), &error))?;
                pruned.neighbours += 1;
            }
        }
        Ok(())
    }
}

fn keeps(desired: &Objects, table: Table, destination: &ipnet::IpNet) -> bool {
    desired.routes.contains_key(&RouteKey { table, destination: *destination })
}

fn table_number(table: Table) -> u32 {
    match table {
        Table::Main => TABLE_MAIN,
        Table::Owners => TABLE_OWNERS,
        Table::Deliveries => TABLE_DELIVERIES,
    }
}

fn deliveries(config: &ForwarderConfig, failed: &BTreeMap<IpAddr, String>) -> Vec<Delivery> {
    let configured = config.egress.iter().flat_map(|egress| &egress.deliveries);
    let mut deliveries: Vec<Delivery> = configured
        .map(|delivery| {
            let refusal = failed.get(&delivery.locator.address);
            let state = refusal.map_or(DeliveryState::Ready, |why| DeliveryState::Failed(why.clone()));
            Delivery { csci_id: delivery.csci_id, locator: delivery.locator, state }
        })
        .collect();
    deliveries.sort_by_key(|delivery| (delivery.csci_id, delivery.locator));
    deliveries
}

/// A SID inside an owner's prefix would send the encapsulated packet into the same route again.
fn check_owners(config: &ForwarderConfig) -> Result<(), BackendError> {
    for (prefix, encapsulation) in config.egress.iter().flat_map(|egress| &egress.owners) {
        let Encapsulation::Srv6 { segments, .. } = encapsulation else { continue };
        if let Some(sid) = segments.as_slice().iter().find(|sid| prefix.contains(&IpAddr::V6(**sid))) {
            let text = format!("client prefix {prefix} contains segment {sid} of its own path; narrow it");
            return Err(BackendError::Unrealisable(text));
        }
    }
    Ok(())
}

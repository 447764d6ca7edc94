//! Bindings: commit, activation, removal. Each in one transaction, in batches.

use super::paths::Claim;
use super::{NftBackend, family_number, flows, paths, record, refused};
use crate::netlink::{Failure, NLM_F_EXCL};
use crate::nft::encode::{self, Element};
use crate::nft::{Batch, CREATE, EBUSY, EEXIST, ENFILE, ENOENT, ruleset};
use cats_datapath_core::{BackendError, Install, RouteAction};
use cats_engine_types::{Binding, Counters, Encapsulation, Family, FlowKey, InstallFailure, Path};
use ipnet::IpNet;
use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

/// Bindings in one transaction: they fit into a socket buffer, and into one failure's worth of work.
const AT_ONCE: usize = 512;

impl NftBackend {
    pub(super) fn commit_all(&mut self, installs: &[Install]) -> Vec<Result<(), InstallFailure>> {
        let mut results = Vec::with_capacity(installs.len());
        for page in installs.chunks(AT_ONCE) {
            results.extend(self.commit_page(page));
        }
        results
    }

    fn commit_page(&mut self, installs: &[Install]) -> Vec<Result<(), InstallFailure>> {
        let mut results: Vec<Result<u32, InstallFailure>> =
            installs.iter().map(|install| self.prepare(&install.binding)).collect();
        // Whoever failed is left out, and the others are tried again: a transaction is all or nothing.
        while results.iter().any(Result::is_ok) {
            let failures = match self.try_commit(installs, &results) {
                Ok(failures) if failures.is_empty() => break,
                Ok(failures) => failures,
                Err(error) => {
                    let failure = InstallFailure::DataPlane(error.to_string());
                    let count = results.len();
                    (0..count).map(|at| (at, failure.clone())).collect()
                }
            };
            for (at, failure) in failures {
                if let (Some(result), Some(install)) = (results.get_mut(at), installs.get(at))
                    && result.is_ok()
                {
                    *result = Err(failure);
                    self.release_path(&install.binding);
                }
            }
        }
        for (install, result) in installs.iter().zip(&results) {
            if result.is_ok() {
                self.committed(install);
            }
        }
        results.into_iter().map(|result| result.map(drop)).collect()
    }

    fn committed(&mut self, install: &Install) {
        let key = install.binding.forward.key;
        if let Some(old) = &install.replaces {
            self.staged.remove(&key);
            self.release_path(old);
        }
        if install.staged {
            self.staged.insert(key);
        }
    }

    /// What a binding needs before its transaction: its path. The mark of its packets.
    fn prepare(&mut self, binding: &Arc<Binding>) -> Result<u32, InstallFailure> {
        if !self.tables {
            return Err(InstallFailure::DataPlane("the forwarder is not configured yet".to_owned()));
        }
        if let Encapsulation::Srv6 { segments, .. } = &binding.forward.path.encapsulation
            && segments.len() > usize::from(super::MAX_SEGMENTS)
        {
            let text = format!("{} segments; at most {}", segments.len(), super::MAX_SEGMENTS);
            return Err(InstallFailure::NotRealisable(text));
        }
        let instance = binding.reverse.instance.ip();
        let path = &binding.forward.path;
        let first = self.first_table(instance, path)?;
        match self.paths.claim(instance, path, first) {
            None => {
                let text = format!("{instance} is reached by {} other paths already", paths::TABLES);
                Err(InstallFailure::NotRealisable(text))
            }
            Some(Claim::Ready(mark)) => {
                if let (Some(slot), true) = (paths::slot_of(mark), path.encapsulation != Encapsulation::None)
                {
                    self.paths.acquire(instance, path, slot);
                }
                Ok(mark)
            }
            Some(Claim::New(slot)) => {
                self.paths.acquire(instance, path, slot);
                match self.set_path(instance, &path.encapsulation, slot) {
                    Ok(()) => Ok(paths::mark(slot)),
                    Err(error) => {
                        self.release_path(binding);
                        Err(InstallFailure::DataPlane(format!("path to {instance}: {error}")))
                    }
                }
            }
        }
    }

    /// The path table from which a path to an instance may be looked for.
    fn first_table(&mut self, instance: IpAddr, path: &Path) -> Result<u8, InstallFailure> {
        if path.encapsulation == Encapsulation::None || !self.paths.to(instance).is_empty() {
            let delivered = self.delivers_from(instance);
            return Ok(if delivered { paths::MAIN + 1 } else { paths::MAIN });
        }
        let foreign = self.routes.foreign_host_route(instance);
        let foreign = foreign.map_err(|error| InstallFailure::DataPlane(format!("routes: {error}")))?;
        Ok(if foreign || self.delivers_from(instance) { paths::MAIN + 1 } else { paths::MAIN })
    }

    fn set_path(&mut self, instance: IpAddr, encapsulation: &Encapsulation, slot: u8) -> io::Result<()> {
        let table = paths::table(slot);
        let destination = IpNet::from(instance);
        // First the fallback: at no time may a marked packet leave plainly.
        self.routes.set_fallback(table, destination)?;
        self.routes.set(table, destination, &RouteAction::Encapsulate(encapsulation.clone()))?;
        self.ensure_path_rule(Family::of(instance), slot)?;
        self.set_mss(instance, slot)
    }

    /// Brings the MSS maps to the paths in use to an instance. `slot` came or went.
    fn set_mss(&mut self, instance: IpAddr, slot: u8) -> io::Result<()> {
        let headers = if instance.is_ipv4() { 40 } else { 60 };
        let mss = |mtu: u16| mtu.checked_sub(headers).filter(|mss| *mss >= 500);
        let uses = self.paths.to(instance);
        let own = uses.iter().find(|used| used.slot == slot).and_then(|used| mss(used.inner_mtu));
        let least = uses.iter().filter_map(|used| mss(used.inner_mtu)).min();
        let mut address = Vec::with_capacity(16);
        flows::put_address(&mut address, instance);
        let mut marked = address.clone();
        marked.extend_from_slice(&paths::mark(slot).to_ne_bytes());
        let family = family_number(Family::of(instance));
        for (set, key, value) in [("mss", marked, own), ("mss_back", address, least)] {
            // Taken out, absent or not, then put in anew.
            let mut batch = Batch::begin(&mut self.nft);
            batch.add(encode::DELSETELEM, 0, family, |e| element(e, set, &key, &[]));
            let gone = batch.commit()?;
            if let Some(failure) = gone.iter().find(|failure| failure.errno != ENOENT) {
                return Err(failure.error());
            }
            if let Some(value) = value {
                let mut batch = Batch::begin(&mut self.nft);
                batch
                    .add(encode::NEWSETELEM, CREATE, family, |e| element(e, set, &key, &value.to_be_bytes()));
                if let Some(failure) = batch.commit()?.first() {
                    return Err(failure.error());
                }
            }
        }
        Ok(())
    }

    /// One binding less on its path; the last one takes the route along. A route that the kernel keeps
    /// goes with the next pruning.
    pub(super) fn release_path(&mut self, binding: &Binding) {
        let instance = binding.reverse.instance.ip();
        let Some(ended) = self.paths.release(instance, &binding.forward.path.encapsulation) else { return };
        let table = paths::table(ended.slot);
        let destination = IpNet::from(instance);
        let mut undo = || {
            self.set_mss(instance, ended.slot)?;
            self.routes.remove(table, destination, false)?;
            self.routes.remove(table, destination, true)
        };
        if let Err(error) = undo() {
            tracing::warn!(%instance, table, %error, "path left behind");
        }
    }

    /// One transaction for all that have not failed yet; failures by position.
    fn try_commit(
        &mut self,
        installs: &[Install],
        marks: &[Result<u32, InstallFailure>],
    ) -> io::Result<Vec<(usize, InstallFailure)>> {
        let mut failed = Vec::new();
        let mut owners = Vec::with_capacity(4 * installs.len());
        let numbers: Vec<u32> =
            installs.iter().map(|install| self.service_number(&install.binding.forward.key)).collect();
        let mut batch = Batch::begin(&mut self.nft);
        for (at, ((install, mark), number)) in installs.iter().zip(marks).zip(numbers).enumerate() {
            let Ok(mark) = mark else { continue };
            let Some(user) = record::encode(&install.binding) else {
                failed.push((at, InstallFailure::NotRealisable("the node names are too long".to_owned())));
                continue;
            };
            if let Some(old) = &install.replaces {
                let set = map_of(&self.staged, old);
                owners.push((remove_forward(&mut batch, set, &old.forward.key), at));
                owners.push((remove_reverse(&mut batch, old), at));
            }
            let set = if install.staged { "staged" } else { flows::open_map(&install.binding) };
            owners.push((add_forward(&mut batch, set, &install.binding, *mark, number, &user), at));
            owners.push((add_reverse(&mut batch, &install.binding), at));
        }
        let failures = batch.commit()?;
        failed.extend(failures.iter().map(|failure| (position(&owners, failure), reason(failure))));
        Ok(failed)
    }

    pub(super) fn activate_all(&mut self, bindings: &[Arc<Binding>]) -> Vec<Result<(), InstallFailure>> {
        let mut results = Vec::with_capacity(bindings.len());
        for page in bindings.chunks(AT_ONCE) {
            let tried = self.try_activate(page);
            if tried.is_ok() {
                results.extend(page.iter().map(|_| Ok(())));
            } else {
                // One by one, so that only those fail which are at fault.
                for binding in page {
                    results.push(self.try_activate(std::slice::from_ref(binding)));
                }
            }
        }
        results
    }

    fn try_activate(&mut self, bindings: &[Arc<Binding>]) -> Result<(), InstallFailure> {
        let mut moves = Vec::with_capacity(bindings.len());
        for binding in bindings.iter().filter(|binding| self.staged.contains(&binding.forward.key)) {
            let instance = binding.reverse.instance.ip();
            let Some(Claim::Ready(mark)) = self.paths.claim(instance, &binding.forward.path, paths::MAIN)
            else {
                return Err(InstallFailure::DataPlane(format!("the path to {instance} is gone")));
            };
            let too_long = || InstallFailure::NotRealisable("the node names are too long".to_owned());
            let user = record::encode(binding).ok_or_else(too_long)?;
            moves.push((binding, mark, self.service_number(&binding.forward.key), user));
        }
        let mut batch = Batch::begin(&mut self.nft);
        for (binding, mark, number, user) in &moves {
            add_forward(&mut batch, flows::open_map(binding), binding, *mark, *number, user);
            remove_forward(&mut batch, "staged", &binding.forward.key);
        }
        let failures = batch.commit().map_err(|error| InstallFailure::DataPlane(error.to_string()))?;
        if let Some(failure) = failures.first() {
            return Err(reason(failure));
        }
        for binding in bindings {
            self.staged.remove(&binding.forward.key);
        }
        Ok(())
    }

    pub(super) fn remove_all_of(&mut self, bindings: &[Arc<Binding>]) -> Result<Vec<Counters>, BackendError> {
        let counters = if self.counted {
            self.read_flow_counters(bindings)?
        } else {
            vec![Counters::default(); bindings.len()]
        };
        for page in bindings.chunks(AT_ONCE) {
            self.remove_page(page).map_err(|error| refused("bindings", &error))?;
            for binding in page {
                self.staged.remove(&binding.forward.key);
                self.release_path(binding);
            }
        }
        Ok(counters)
    }

    fn remove_page(&mut self, bindings: &[Arc<Binding>]) -> io::Result<()> {
        // Elements that the kernel has ended by itself are left out at the next try.
        let mut absent = BTreeSet::<(usize, bool)>::new();
        loop {
            let mut owners = Vec::with_capacity(2 * bindings.len());
            let mut batch = Batch::begin(&mut self.nft);
            for (at, binding) in bindings.iter().enumerate() {
                let key = &binding.forward.key;
                let set = map_of(&self.staged, binding);
                if !absent.contains(&(at, true)) {
                    owners.push((remove_forward(&mut batch, set, key), (at, true)));
                }
                if !absent.contains(&(at, false)) {
                    owners.push((remove_reverse(&mut batch, binding), (at, false)));
                }
            }
            let failures = batch.commit()?;
            if failures.is_empty() {
                return Ok(());
            }
            for failure in failures {
                let owner = owners.iter().find(|(sequence, _)| *sequence == failure.sequence);
                match owner {
                    Some((_, owner)) if failure.errno == ENOENT => {
                        absent.insert(*owner);
                    }
                    Some(_) | None => return Err(failure.error()),
                }
            }
        }
    }
}

/// The map that a binding's forward direction is in.
pub(super) fn map_of(staged: &BTreeSet<FlowKey>, binding: &Binding) -> &'static str {
    if staged.contains(&binding.forward.key) { "staged" } else { flows::open_map(binding) }
}

fn position(owners: &[(u32, usize)], failure: &Failure) -> usize {
    let owner = owners.binary_search_by_key(&failure.sequence, |(sequence, _)| *sequence);
    // A failure of the transaction as a whole names none: it is put to the first, and the rest tried again.
    let owner = owner.ok().or(Some(0)).and_then(|at| owners.get(at));
    owner.map_or(0, |(_, at)| *at)
}

fn reason(failure: &Failure) -> InstallFailure {
    match failure.errno {
        ENFILE => InstallFailure::Full,
        EEXIST | EBUSY => {
            InstallFailure::DataPlane("another flow has this key, or this reverse direction".to_owned())
        }
        _ => InstallFailure::DataPlane(failure.error().to_string()),
    }
}

fn element(encoder: &mut crate::netlink::Encoder, set: &str, key: &[u8], data: &[u8]) {
    encode::elements(encoder, ruleset::TABLE, set, [Element { key, data, ..Element::default() }]);
}

fn add_forward(
    batch: &mut Batch<'_>,
    set: &str,
    binding: &Binding,
    mark: u32,
    service: u32,
    user: &[u8],
) -> u32 {
    let key = flows::forward_key(&binding.forward.key);
    let data = flows::forward_value(set, binding, mark, service);
    let element = Element { key: &key, data: &data, timeout: timeout(binding), user, object: None };
    add(batch, binding, set, element)
}

fn add_reverse(batch: &mut Batch<'_>, binding: &Binding) -> u32 {
    let key = flows::reverse_key(binding);
    let data = flows::reverse_value(binding);
    let element = Element { key: &key, data: &data, timeout: timeout(binding), user: &[], object: None };
    add(batch, binding, "reverse", element)
}

fn add(batch: &mut Batch<'_>, binding: &Binding, set: &str, element: Element<'_>) -> u32 {
    let family = family_number(binding.forward.key.family());
    batch.add(encode::NEWSETELEM, CREATE | NLM_F_EXCL, family, |e| {
        encode::elements(e, ruleset::TABLE, set, [element]);
    })
}

fn remove_forward(batch: &mut Batch<'_>, set: &str, key: &FlowKey) -> u32 {
    let octets = flows::forward_key(key);
    let family = family_number(key.family());
    batch.add(encode::DELSETELEM, 0, family, |e| element(e, set, &octets, &[]))
}

fn remove_reverse(batch: &mut Batch<'_>, binding: &Binding) -> u32 {
    let octets = flows::reverse_key(binding);
    let family = family_number(binding.forward.key.family());
    batch.add(encode::DELSETELEM, 0, family, |e| element(e, "reverse", &octets, &[]))
}

/// Milliseconds until the kernel ends an element by itself.
fn timeout(binding: &Binding) -> Option<u64> {
    let hard = binding.lifetime.hard?;
    Some(u64::try_from(hard.as_millis()).unwrap_or(u64::MAX).max(1))
}

//! What of state is told as it changes, part by part: containers as a whole, long lists by their entries.

use super::filter::Filter;
use super::forwarder::binding;
use super::service_table::{Key, cursor, entry as service_table_entry, expiry, keys};
use super::{Long, Part, agent, place, within};
use crate::engine::{Engine, Now};
use crate::plane::Plane;
use cats_engine_core::sma::InstanceKey;
use cats_engine_types::{Changed, CsId, CsciId, FlowKey};
use serde_json::{Map, Value};
use std::time::Instant;

/// A part of state that can be watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) enum Pushed {
    Forwarders,
    Agents,
    PathSelectors,
    Forwarder,
    Alarms,
    ServiceTable,
    Sites,
    Instances,
    Bindings,
}

/// An entry that came, changed or went: its path, and what it is now.
pub(in crate::engine) struct Entry {
    pub(in crate::engine) path: String,
    pub(in crate::engine) value: Option<Value>,
    /// When it changes by itself.
    pub(in crate::engine) until: Option<(Instant, Key)>,
}

/// Where everything is that is told.
const ROOT: &str = "/ietf-routing:routing/ietf-cats:cats";

impl Pushed {
    const ALL: [Self; 9] = [
        Self::Forwarders,
        Self::Agents,
        Self::PathSelectors,
        Self::Forwarder,
        Self::Alarms,
        Self::ServiceTable,
        Self::Sites,
        Self::Instances,
        Self::Bindings,
    ];

    /// The container, below the root of ours; the alarms have one of their own.
    fn container(self) -> [&'static str; 2] {
        match self {
            Self::Forwarders => ["cats-cps:path-selector", "forwarders"],
            Self::Agents => ["cats-cps:path-selector", "agents"],
            Self::PathSelectors => ["cats-sma:metric-agent", "path-selectors"],
            Self::Forwarder => ["cats-forwarder:forwarder", "status"],
            Self::Alarms => ["ietf-alarms:alarms", "alarm-list"],
            Self::ServiceTable => ["cats-cps:path-selector", "service-table"],
            Self::Sites => ["cats-sma:metric-agent", "sites"],
            Self::Instances => ["cats-sma:metric-agent", "instances"],
            Self::Bindings => ["cats-forwarder:forwarder", "bindings"],
        }
    }

    /// The list that is told entry by entry, where there may be many.
    pub(in crate::engine) fn is_long(self) -> bool {
        self.long().is_some()
    }

    fn long(self) -> Option<Long> {
        match self {
            Self::Forwarders | Self::Agents | Self::PathSelectors | Self::Forwarder | Self::Alarms => None,
            Self::ServiceTable => Some(Long::ServiceTable),
            Self::Sites => Some(Long::Sites),
            Self::Instances => Some(Long::Instances),
            Self::Bindings => Some(Long::Bindings),
        }
    }

    /// Its instance path.
    pub(in crate::engine) fn path(self) -> String {
        let [above, name] = self.container();
        match self {
            Self::Alarms => format!("/{above}/{name}"),
            Self::Forwarders
            | Self::Agents
            | Self::PathSelectors
            | Self::Forwarder
            | Self::ServiceTable
            | Self::Sites
            | Self::Instances
            | Self::Bindings => format!("{ROOT}/{above}/{name}"),
        }
    }

    /// The one of that path.
    pub(in crate::engine) fn of(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.path() == path)
    }
}

impl<P: Plane> Engine<P> {
    /// The document of a container of which everything is told when something of it is new.
    pub(in crate::engine) fn pushed_whole(
        &mut self,
        part: Pushed,
        now: Now,
    ) -> Result<Map<String, Value>, String> {
        let filter = Filter::new(&[part.path()])?;
        let mut cats = Map::new();
        match part {
            Pushed::Forwarders | Pushed::Agents => self.selector_state(&mut cats, &filter, now),
            Pushed::PathSelectors => self.agent_state(&mut cats, &filter, now),
            Pushed::Alarms => return Ok(self.standing_alarms(now)),
            Pushed::Forwarder if self.forwarder.is_some() => {
                // The counters of the kernel are not told, so they are not read.
                let status = self.status_of(None);
                place(&mut cats, &part.container(), status);
            }
            Pushed::Forwarder
            | Pushed::ServiceTable
            | Pushed::Sites
            | Pushed::Instances
            | Pushed::Bindings => {}
        }
        Ok(within(cats))
    }

    /// Entries of a long list from one on.
    pub(in crate::engine) fn pushed_page(
        &mut self,
        part: Pushed,
        after: Option<&str>,
        limit: usize,
        now: Now,
    ) -> Result<Part, String> {
        let Some(list) = part.long() else { return Ok((Vec::new(), None)) };
        let all = Filter::new(&[])?;
        self.part(list, &all, after, limit, now)
    }

    /// When the entries of such a page change by themselves.
    pub(in crate::engine) fn page_expiries(
        &self,
        part: Pushed,
        after: Option<&str>,
        limit: usize,
        now: Now,
    ) -> Result<Vec<(Instant, Key)>, String> {
        let Some(cps) = self.selector.as_ref().map(|role| &role.cps) else { return Ok(Vec::new()) };
        if part != Pushed::ServiceTable {
            return Ok(Vec::new());
        }
        let page = keys(cps, after.map(cursor).transpose()?).take(limit);
        Ok(page.filter_map(|key| expiry(cps, key, now.at)).collect())
    }

    /// Entries of a long list that came, changed or went since they were last asked for, so many at most.
    pub(in crate::engine) fn pushed_changes(&mut self, part: Pushed, most: usize, now: Now) -> Vec<Entry> {
        match part {
            Pushed::ServiceTable => self.changed_records(most, now),
            Pushed::Sites => self.changed_sites(most),
            Pushed::Instances => self.changed_instances(most, now),
            Pushed::Bindings => self.changed_bindings(most),
            Pushed::Forwarders
            | Pushed::Agents
            | Pushed::PathSelectors
            | Pushed::Forwarder
            | Pushed::Alarms => Vec::new(),
        }
    }

    fn changed_records(&mut self, most: usize, now: Now) -> Vec<Entry> {
        let Some(cps) = self.selector.as_mut().map(|role| &mut role.cps) else { return Vec::new() };
        let keys = cps.changed_instances().take(most);
        let list = Pushed::ServiceTable.path() + "/entry";
        let entry = |(cs_id, csci_id): (CsId, CsciId)| Entry {
            path: format!("{list}[cs-id='{cs_id}'][csci-id='{csci_id}']"),
            value: service_table_entry(cps, cs_id, csci_id, now.at),
            until: expiry(cps, (cs_id, csci_id), now.at),
        };
        keys.into_iter().map(entry).collect()
    }

    fn changed_sites(&mut self, most: usize) -> Vec<Entry> {
        let Some(sma) = self.agent.as_mut().map(|role| &mut role.sma) else { return Vec::new() };
        let keys = sma.changed_sites().take(most);
        let list = Pushed::Sites.path() + "/site";
        let entry = |cs_id: CsId| Entry {
            path: format!("{list}[cs-id='{cs_id}']"),
            value: agent::site_entry(sma, cs_id),
            until: None,
        };
        keys.into_iter().map(entry).collect()
    }

    fn changed_instances(&mut self, most: usize, now: Now) -> Vec<Entry> {
        let Some(sma) = self.agent.as_mut().map(|role| &mut role.sma) else { return Vec::new() };
        let keys = sma.changed_instances().take(most);
        let list = Pushed::Instances.path() + "/instance";
        let entry = |key: InstanceKey| Entry {
            path: format!("{list}[cs-id='{}'][csci-id='{}']", key.cs_id, key.csci_id),
            value: agent::instance_entry(sma, key, now.at),
            until: None,
        };
        keys.into_iter().map(entry).collect()
    }

    fn changed_bindings(&mut self, most: usize) -> Vec<Entry> {
        let plane = self.forwarder.as_mut().and_then(|role| role.plane.as_mut());
        let Some(ingress) = plane.map(Plane::ingress) else { return Vec::new() };
        let keys = ingress.changed_bindings().take(most);
        let list = Pushed::Bindings.path() + "/binding";
        let entry = |key: FlowKey| Entry {
            path: format!("{list}[key='{key}']"),
            value: ingress.binding(key).map(|found| binding(found)),
            until: None,
        };
        keys.into_iter().map(entry).collect()
    }

    /// Is there anything that [`Engine::pushed_changes`] would tell?
    pub(in crate::engine) fn has_pushed(&mut self, part: Pushed) -> bool {
        self.with_changed(part, |changed| changed.is_empty()) == Some(false)
    }

    /// Begins to follow what changes of a long list, or ends.
    pub(in crate::engine) fn follow_pushed(&mut self, part: Pushed, wanted: bool) {
        self.with_changed(part, |changed| changed.follow(wanted));
    }

    /// Has more changed of it than could be kept?
    pub(in crate::engine) fn has_lost_pushed(&mut self, part: Pushed) -> bool {
        self.with_changed(part, |changed| changed.has_lost()) == Some(true)
    }

    fn with_changed<T>(&mut self, part: Pushed, with: impl FnOnce(&mut dyn Follow) -> T) -> Option<T> {
        let Self { selector, agent, forwarder, .. } = self;
        match part {
            Pushed::ServiceTable => Some(with(selector.as_mut()?.cps.changed_instances())),
            Pushed::Sites => Some(with(agent.as_mut()?.sma.changed_sites())),
            Pushed::Instances => Some(with(agent.as_mut()?.sma.changed_instances())),
            Pushed::Bindings => Some(with(forwarder.as_mut()?.plane.as_mut()?.ingress().changed_bindings())),
            Pushed::Forwarders
            | Pushed::Agents
            | Pushed::PathSelectors
            | Pushed::Forwarder
            | Pushed::Alarms => None,
        }
    }
}

/// Puts entries of a long list into a document.
pub(in crate::engine) fn place_pushed(document: &mut Map<String, Value>, part: Pushed, entries: Vec<Value>) {
    if let Some(list) = part.long().filter(|_| !entries.is_empty()) {
        let [role, container, name] = list.path();
        let path = ["ietf-routing:routing", "ietf-cats:cats", role, container, name];
        place(document, &path, Value::Array(entries));
    }
}

/// What has changed of a table, whatever its keys are.
trait Follow {
    fn is_empty(&self) -> bool;
    fn has_lost(&self) -> bool;
    fn follow(&mut self, wanted: bool);
}

impl<K: Ord> Follow for Changed<K> {
    fn is_empty(&self) -> bool {
        Changed::is_empty(self)
    }

    fn has_lost(&self) -> bool {
        Changed::has_lost(self)
    }

    fn follow(&mut self, wanted: bool) {
        Changed::follow(self, wanted);
    }
}

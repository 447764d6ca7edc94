//! Alarms as RFC 8632 has them: the one list of all that is wrong with the node, or was, and what is done about it.
//!
//! Conditions are noticed elsewhere: by this daemon ([`crate::Alarm`]) and by components, which tell what stands there as
//! state below `alarm-list` ([`crate::told`]). What becomes of a condition is an alarm. A component that is lost tells
//! nothing; its alarms stand as it told them last until it is back.
//!
//! | file | holds |
//! |---|---|
//! | `entry` | one alarm, its history and its operators |
//! | `list` | all of them: raising, clearing, shelving, purging, what is told |
//! | `shelves` | which alarms a shelf, or an operator, means |
//! | `operations` | the actions |
//! | `kinds` | the inventory |
//! | `report` | all of it as data |

mod entry;
mod kinds;
mod list;
mod operations;
mod report;
mod shelves;
#[cfg(test)]
mod tests;

use crate::core::Core;
use crate::output::Alarm;
use crate::types::Now;
use cats_yang_tree::notice::Notice;
use cats_yang_tree::schema::Schema;
use cats_yang_tree::time::unix_us;
use cats_yang_tree::{Branch, Data, Defaults, Found, Tree, view};
use entry::{Condition, Key, Severity};
use list::{List, Notify, Policy, Told};
pub(crate) use operations::is_ours;
use report::{Nodes, change_of, named};
use serde_json::Value;
use shelves::Shelf;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The module of the model.
const MODULE: &str = "ietf-alarms";

/// What components are to tell of: the conditions that stand there.
const TOLD: &str = "/ietf-alarms:alarms/alarm-list";

/// All of it.
#[derive(Debug)]
pub(crate) struct Alarms {
    nodes: Option<Nodes>,
    list: List,
    shelves: Vec<Shelf>,
    /// The state of the module.
    tree: Tree,
    /// What a component told last, and what of it stands.
    told: Option<Arc<Branch>>,
    standing: BTreeMap<Key, Condition>,
    /// What components tell with this in it, and of which trees that is.
    beside: Option<(Tree, Tree, Tree)>,
}

impl Alarms {
    /// There are none; `running` says what is to be done with them.
    pub(crate) fn new(schema: &Schema, running: &Tree) -> Self {
        let nodes = Nodes::of(schema);
        let (policy, shelves) = control(schema, running, nodes);
        let list = List::new(policy);
        let tree = nodes.map(|nodes| nodes.begin(schema, &list)).unwrap_or_default();
        Self { nodes, list, shelves, tree, told: None, standing: BTreeMap::new(), beside: None }
    }

    /// The state of `ietf-alarms`.
    pub(crate) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// What components are to tell of for it.
    pub(crate) fn watched(&self) -> Option<&'static str> {
        self.nodes.map(|_| TOLD)
    }

    /// What components tell, with the alarms as they are here: the same tree as long as both are.
    pub(crate) fn beside(&mut self, told: &Tree) -> Tree {
        match &self.beside {
            Some((known, tree, both)) if known.ptr_eq(told) && tree.ptr_eq(&self.tree) => both.clone(),
            Some(_) | None => {
                let both = self.tree.with_tops_of(told, |_| true);
                self.beside = Some((told.clone(), self.tree.clone(), both.clone()));
                both
            }
        }
    }
}

/// What is configured.
fn control(schema: &Schema, running: &Tree, nodes: Option<Nodes>) -> (Policy, Vec<Shelf>) {
    let place = nodes.and_then(|nodes| nodes.control(schema));
    let json = place.map(|place| view(running, schema, Defaults::ReportAll).at(&[place]).to_json());
    let leaf = |name: &str| json.as_ref()?.pointer(&format!("/ietf-alarms:alarms/control/{name}")).cloned();
    let word = |name: &str| leaf(name).and_then(|value| value.as_str().map(str::to_owned));
    let most = leaf("max-alarm-status-changes").and_then(|most| most.as_u64()).unwrap_or(32);
    let level = word("notify-severity-level").and_then(|level| Severity::of(&level));
    let notify = match (word("notify-status-changes").as_deref(), level) {
        (Some("raise-and-clear"), _) => Notify::RaiseAndClear,
        (Some("severity-level"), Some(level)) => Notify::Level(level),
        (Some(_) | None, _) => Notify::All,
    };
    let shelves = leaf("alarm-shelving/shelf").and_then(|shelves| shelves.as_array().cloned());
    let shelves = shelves.unwrap_or_default().iter().map(Shelf::of).collect();
    (Policy { most_changes: usize::try_from(most).unwrap_or(usize::MAX), notify }, shelves)
}

impl Core {
    /// A condition of this daemon's own begins.
    pub(crate) fn alarm_raised(&mut self, alarm: &Alarm, now: Now) {
        let (severity, text) = (alarm.severity(), Arc::from(alarm.text()));
        let severity = Severity::of(severity).unwrap_or(Severity::Indeterminate);
        self.raise(self.key_of(alarm), &Condition { severity, text, at_us: now.unix_us }, now);
        self.alarms_moved(now);
    }

    /// A condition of this daemon's own is over.
    pub(crate) fn alarm_cleared(&mut self, alarm: &Alarm, now: Now) {
        let key = self.key_of(alarm);
        let told = self.alarms.list.clear(&key, now.unix_us);
        self.tell_of_alarm(told, now);
        self.alarms_moved(now);
    }

    fn key_of(&self, alarm: &Alarm) -> Key {
        self.key(&alarm.resource(), &format!("{}:{}", kinds::MODULE, alarm.kind()))
    }

    fn key(&self, resource: &str, kind: &str) -> Key {
        let resource = match self.alarms.nodes {
            Some(nodes) => nodes.resource(&self.facts.schema, resource),
            None => Arc::from(resource),
        };
        Key { resource, kind: Arc::from(kind) }
    }

    fn raise(&mut self, key: Key, condition: &Condition, now: Now) {
        let (schema, running) = (Arc::clone(&self.facts.schema), self.running.clone());
        let Alarms { list, shelves, .. } = &mut self.alarms;
        let told = list.raise(&key, condition, &|key| shelf_of(shelves, (&schema, &running), key));
        self.tell_of_alarm(told, now);
    }

    /// A component may have told of alarms: those that it tells of stand, and those are over that it told of before.
    pub(crate) fn follow_told_alarms(&mut self, now: Now) {
        let Some(nodes) = self.alarms.nodes.filter(|_| self.told.has(TOLD)) else { return };
        let found = match self.told.tree().find(&nodes.alarm_list()) {
            Some(Found::Branch(found)) => Some(Arc::clone(found)),
            Some(Found::Leaf(_) | Found::List(_) | Found::LeafList(_) | Found::Any(_)) | None => None,
        };
        let same = match (&found, &self.alarms.told) {
            (Some(found), Some(before)) => Arc::ptr_eq(found, before),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        if same {
            return;
        }
        let standing = found.as_deref().map(|found| self.conditions(found)).unwrap_or_default();
        self.alarms.told = found;
        let before = std::mem::replace(&mut self.alarms.standing, standing.clone());
        for key in before.keys().filter(|key| !standing.contains_key(*key)) {
            let told = self.alarms.list.clear(key, now.unix_us);
            self.tell_of_alarm(told, now);
        }
        for (key, condition) in standing {
            // What was told before began when it was told: its words are newer.
            let known = before.get(&key);
            let at_us = if known.is_some() { now.unix_us } else { condition.at_us };
            if known != Some(&condition) {
                self.raise(key, &Condition { at_us, ..condition }, now);
            }
        }
        self.alarms_moved(now);
    }

    /// The conditions in an `alarm-list`.
    fn conditions(&self, list: &Branch) -> BTreeMap<Key, Condition> {
        let schema = &self.facts.schema;
        let lists = list.iter().filter_map(|(_, data)| match data {
            Data::List(entries) => Some(entries),
            Data::Leaf(_) | Data::Container(_) | Data::LeafList(_) | Data::Any(_) => None,
        });
        let entries = lists.flat_map(|entries| entries.iter());
        let read = |entry: &Branch| {
            let leafs: BTreeMap<&str, &str> = entry
                .iter()
                .filter_map(|(node, data)| match data {
                    Data::Leaf(value) => Some((schema.node(node).name.as_str(), value.as_str()?)),
                    Data::Container(_) | Data::List(_) | Data::LeafList(_) | Data::Any(_) => None,
                })
                .collect();
            let leaf = |name: &str| leafs.get(name).copied();
            let key = self.key(leaf("resource")?, leaf("alarm-type-id")?);
            let severity = leaf("perceived-severity").and_then(Severity::of);
            let condition = Condition {
                severity: severity.unwrap_or(Severity::Indeterminate),
                text: Arc::from(leaf("alarm-text").unwrap_or_default()),
                at_us: leaf("time-created").and_then(unix_us)?,
            };
            Some((key, condition))
        };
        entries.filter_map(|(_, entry)| read(entry)).collect()
    }

    /// Running is another one.
    pub(crate) fn follow_alarm_control(&mut self, now: Now) {
        let schema = Arc::clone(&self.facts.schema);
        let (policy, shelves) = control(&schema, &self.running, self.alarms.nodes);
        let same = shelves == self.alarms.shelves && !shelves.iter().any(Shelf::asks_data);
        self.alarms.list.set_policy(policy);
        if !same {
            let running = self.running.clone();
            self.alarms.list.shelve(&|key| shelf_of(&shelves, (&schema, &running), key), now.unix_us);
            self.alarms.shelves = shelves;
        }
        self.alarms_moved(now);
    }

    fn tell_of_alarm(&mut self, told: Option<Told>, now: Now) {
        let Some(Told { key, change }) = told else { return };
        let mut content = change_of(&change);
        if let Value::Object(members) = &mut content {
            members.extend(named(&key));
        }
        // A schema that lacks the module has nobody to tell.
        if let Ok(notice) = Notice::named(&self.facts.schema, (MODULE, "alarm-notification"), &content) {
            self.log_notice(notice, now);
        }
    }

    /// The list may not be what it was: it is shown as it is, and told of.
    pub(crate) fn alarms_moved(&mut self, now: Now) {
        let touched = self.alarms.list.take_touched();
        let Some(nodes) = self.alarms.nodes.filter(|_| !touched.is_empty()) else { return };
        let schema = &self.facts.schema;
        self.alarms.tree = nodes.show(schema, &self.alarms.tree, &self.alarms.list, &touched);
        self.state_moved(now);
    }
}

/// The first shelf that takes it.
fn shelf_of(shelves: &[Shelf], (schema, tree): (&Schema, &Tree), key: &Key) -> Option<String> {
    shelves.iter().find(|shelf| shelf.takes((schema, tree), key)).map(|shelf| shelf.name.clone())
}

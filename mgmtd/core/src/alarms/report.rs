//! The alarms as data of `ietf-alarms`.

use super::entry::{Act, Change, Entry, Key, Severity, State};
use super::list::List;
use super::{MODULE, kinds};
use crate::monitoring::date_and_time;
use cats_yang_tree::error::Error;
use cats_yang_tree::schema::{ModuleId, NodeId, Schema};
use cats_yang_tree::{InstancePath, Operation, Ops, Step, Tree, Value as Leaf, edit, path};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Where the module has what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nodes {
    module: ModuleId,
    pub(crate) alarms: NodeId,
    summary: NodeId,
    list: Place,
    shelf: Place,
}

/// A list, in its container.
#[derive(Debug, Clone, Copy)]
struct Place {
    container: NodeId,
    entry: NodeId,
    resource: NodeId,
    /// `status-change` and `operator-state-change`.
    changes: [NodeId; 2],
}

impl Nodes {
    /// None where the module is not served.
    pub(crate) fn of(schema: &Schema) -> Option<Self> {
        let module = schema.module_by_name(MODULE).filter(|id| schema.module(*id).implemented)?;
        let alarms = schema.child(None, module, "alarms")?;
        let place = |container: &str, entry: &str| {
            let container = schema.child(Some(alarms), module, container)?;
            let entry = schema.child(Some(container), module, entry)?;
            let below = |name: &str| schema.child(Some(entry), module, name);
            let changes = [below("status-change")?, below("operator-state-change")?];
            Some(Place { container, entry, resource: below("resource")?, changes })
        };
        Some(Self {
            module,
            alarms,
            summary: schema.child(Some(alarms), module, "summary")?,
            list: place("alarm-list", "alarm")?,
            shelf: place("shelved-alarms", "shelved-alarm")?,
        })
    }

    /// The container of the alarms that are not shelved.
    pub(crate) fn alarm_list(&self) -> InstancePath {
        InstancePath { steps: vec![step(self.alarms), step(self.list.container)] }
    }

    /// That of what is configured.
    pub(crate) fn control(&self, schema: &Schema) -> Option<InstancePath> {
        let control = schema.child(Some(self.alarms), self.module, "control")?;
        Some(InstancePath { steps: vec![step(self.alarms), step(control)] })
    }

    /// The canonical text of a resource.
    pub(crate) fn resource(&self, schema: &Schema, text: &str) -> Arc<str> {
        Arc::from(self.value(schema, text).as_str().unwrap_or(text))
    }

    fn value(&self, schema: &Schema, text: &str) -> Leaf {
        let parsed = schema
            .leaf_type(self.list.resource)
            .and_then(|ty| Leaf::parse_text(schema, ty, self.module, text).ok());
        parsed.unwrap_or_else(|| Leaf::String(Arc::from(text)))
    }

    /// Where an alarm is, or would be.
    pub(crate) fn entry(&self, schema: &Schema, shelved: bool, key: &Key) -> InstancePath {
        let place = if shelved { self.shelf } else { self.list };
        let values = vec![
            self.value(schema, &key.resource),
            Leaf::Identity(Arc::clone(&key.kind)),
            Leaf::String(Arc::from("")),
        ];
        let entry = Step { node: place.entry, key: Some(path::Key::new(values)) };
        InstancePath { steps: vec![step(self.alarms), step(place.container), entry] }
    }

    /// What is there before any alarm.
    pub(crate) fn begin(&self, schema: &Schema, list: &List) -> Tree {
        let inventory = json!({ "ietf-alarms:alarms": { "alarm-inventory": kinds::inventory() } });
        let tree = Ops::from_state_json(schema, &inventory).and_then(|ops| edit(&Tree::new(), schema, ops));
        let tree = tree.unwrap_or_else(|errors| {
            debug_assert!(false, "{errors:?}");
            Tree::new()
        });
        self.show(schema, &tree, list, &BTreeSet::new())
    }

    /// The tree with these alarms as they are now.
    pub(crate) fn show(&self, schema: &Schema, tree: &Tree, list: &List, touched: &BTreeSet<Key>) -> Tree {
        let shown = self.gone(schema, list, touched).and_then(|gone| {
            let without = edit(tree, schema, gone)?;
            edit(&without, schema, Ops::from_state_json(schema, &document(list, touched))?)
        });
        shown.unwrap_or_else(|errors| {
            debug_assert!(false, "{errors:?}");
            tree.clone()
        })
    }

    /// What is to be shown anew. An alarm that is there stays where it is in the list.
    fn gone(&self, schema: &Schema, list: &List, touched: &BTreeSet<Key>) -> Result<Ops, Vec<Error>> {
        let mut gone = Ops::default();
        let summary = InstancePath { steps: vec![step(self.alarms), step(self.summary)] };
        let mut places = vec![summary];
        for key in touched {
            for (shelved, place) in [(false, self.list), (true, self.shelf)] {
                let entry = self.entry(schema, shelved, key);
                let there = list.get(key).is_some_and(|entry| entry.shelf.is_some() == shelved);
                match there {
                    true => places.extend(place.changes.map(|changes| {
                        let mut path = entry.clone();
                        path.steps.push(step(changes));
                        path
                    })),
                    false => places.push(entry),
                }
            }
        }
        for place in places {
            gone.push(schema, &place, Operation::Remove, None).map_err(|error| vec![error])?;
        }
        Ok(gone)
    }
}

fn step(node: NodeId) -> Step {
    Step { node, key: None }
}

/// These alarms, and what is said of all.
fn document(list: &List, touched: &BTreeSet<Key>) -> Value {
    let known = |shelved: bool| {
        let entries = touched.iter().filter_map(|key| Some((key, list.get(key)?)));
        let entries = entries.filter(move |(_, entry)| entry.shelf.is_some() == shelved);
        entries.map(|(key, entry)| entry_of(key, entry)).collect::<Vec<Value>>()
    };
    let count = |shelved: bool| list.iter().filter(|(_, entry)| entry.shelf.is_some() == shelved).count();
    let mut alarms = json!({ "number-of-alarms": count(false), "alarm": known(false) });
    let mut shelved = json!({ "number-of-shelved-alarms": count(true), "shelved-alarm": known(true) });
    insert(&mut alarms, "last-changed", list.changed_us(false).map(|us| json!(date_and_time(us))));
    insert(
        &mut shelved,
        "shelved-alarms-last-changed",
        list.changed_us(true).map(|us| json!(date_and_time(us))),
    );
    let document = json!({ "alarm-list": alarms, "shelved-alarms": shelved, "summary": summary(list) });
    json!({ "ietf-alarms:alarms": document })
}

fn insert(object: &mut Value, name: &str, value: Option<Value>) {
    if let (Value::Object(members), Some(value)) = (object, value) {
        members.insert(name.to_owned(), value);
    }
}

fn entry_of(key: &Key, entry: &Entry) -> Value {
    // The latest comes first.
    let changes: Vec<Value> = entry.changes.iter().rev().map(change_of).collect();
    let acts: Vec<Value> = entry.acts.iter().rev().map(act_of).collect();
    let mut shown = json!({
        "is-cleared": entry.cleared,
        "last-raised": date_and_time(entry.raised_us),
        "last-changed": date_and_time(entry.changed_us),
        "perceived-severity": entry.severity.name(),
        "alarm-text": &*entry.text,
        "status-change": changes,
        "operator-state-change": acts,
    });
    if let Value::Object(members) = &mut shown {
        members.extend(named(key));
    }
    match &entry.shelf {
        Some(shelf) => insert(&mut shown, "shelf-name", Some(json!(shelf))),
        None => insert(&mut shown, "time-created", Some(json!(date_and_time(entry.created_us)))),
    }
    shown
}

/// The leafs that say which alarm it is.
pub(crate) fn named(key: &Key) -> Map<String, Value> {
    Map::from_iter([
        ("resource".to_owned(), json!(&*key.resource)),
        ("alarm-type-id".to_owned(), json!(&*key.kind)),
        ("alarm-type-qualifier".to_owned(), json!("")),
    ])
}

/// `alarm-state-change-parameters`.
pub(crate) fn change_of(change: &Change) -> Value {
    json!({
        "time": date_and_time(change.at_us),
        "perceived-severity": change.severity.map_or("cleared", Severity::name),
        "alarm-text": &*change.text,
    })
}

/// `operator-parameters`.
pub(crate) fn act_of(act: &Act) -> Value {
    let mut shown = json!({
        "time": date_and_time(act.at_us),
        "operator": act.operator,
        "state": act.state.name(),
    });
    insert(&mut shown, "text", act.text.as_ref().map(|text| json!(text)));
    shown
}

fn summary(list: &List) -> Value {
    let listed: Vec<&Entry> =
        list.iter().map(|(_, entry)| entry).filter(|entry| entry.shelf.is_none()).collect();
    let of = |severity: Severity| {
        let count = |wanted: &dyn Fn(&Entry) -> bool| {
            listed.iter().filter(|entry| entry.severity == severity && wanted(entry)).count()
        };
        let closed = |entry: &Entry| entry.state() == State::Closed;
        json!({
            "severity": severity.name(),
            "total": count(&|_| true),
            "not-cleared": count(&|entry| !entry.cleared),
            "cleared": count(&|entry| entry.cleared),
            "cleared-not-closed": count(&|entry| entry.cleared && !closed(entry)),
            "cleared-closed": count(&|entry| entry.cleared && closed(entry)),
            "not-cleared-closed": count(&|entry| !entry.cleared && closed(entry)),
            "not-cleared-not-closed": count(&|entry| !entry.cleared && !closed(entry)),
        })
    };
    let mut summary = json!({ "alarm-summary": Severity::ALL.map(of) });
    let shelves = list.iter().any(|(_, entry)| entry.shelf.is_some());
    insert(&mut summary, "shelves-active", shelves.then(|| json!([null])));
    summary
}

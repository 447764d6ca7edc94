//! The typed configuration against random configurations of the schema that it was generated from.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may

mod random;

use cats_yang_model::{ApplyError, CONFIG_LEAVES, Change, Config, Operation, State};
use cats_yang_tree::schema::{NodeId, NodeKind};
use cats_yang_tree::{Defaults, view};
use proptest::prelude::*;
use random::{Dice, cats, config, member, object, predicates, quoted, schema, text, tree};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

fn change(path: String, operation: Operation) -> Change {
    Change { path, operation, after: None }
}

/// The entries that come and go; those that both have are returned with their places.
#[allow(clippy::type_complexity)] // a place, and an object before and after
fn diff_list(
    list: NodeId,
    place: &str,
    before: Option<&Json>,
    after: Option<&Json>,
    out: &mut Vec<Change>,
) -> Vec<(String, Map<String, Json>, Map<String, Json>)> {
    let entries = |json: Option<&Json>| -> BTreeMap<String, Map<String, Json>> {
        let entries = json.and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_object);
        entries.map(|entry| (predicates(list, entry), entry.clone())).collect()
    };
    let (before, after) = (entries(before), entries(after));
    let gone = before.keys().filter(|key| !after.contains_key(*key));
    out.extend(gone.map(|key| change(format!("{place}{key}"), Operation::Delete)));
    let mut in_both = Vec::new();
    for (key, entry) in after {
        let place = format!("{place}{key}");
        match before.get(&key) {
            Some(known) => in_both.push((place, known.clone(), entry)),
            None => out.push(change(place, Operation::Set(Json::Object(entry)))),
        }
    }
    in_both
}

fn diff_leaf_list(place: &str, before: Option<&Json>, after: Option<&Json>, out: &mut Vec<Change>) {
    let values = |json: Option<&Json>| json.and_then(Json::as_array).cloned().unwrap_or_default();
    let (before, after) = (values(before), values(after));
    let entry = |value: &Json| format!("{place}[.={}]", quoted(&text(value)));
    let gone = before.iter().filter(|value| !after.contains(value));
    out.extend(gone.map(|value| change(entry(value), Operation::Delete)));
    let new = after.iter().filter(|value| !before.contains(value));
    out.extend(new.map(|value| change(entry(value), Operation::Set(value.clone()))));
}

/// The changes from one object to another, as a diff of datastores has them.
fn diff(id: NodeId, path: &str, old: &Map<String, Json>, new: &Map<String, Json>, out: &mut Vec<Change>) {
    let mut below = Vec::new();
    for child in schema().data_children(id) {
        let name = member(id, *child);
        let place = format!("{path}/{name}");
        let (before, after) = (old.get(&name), new.get(&name));
        if before == after {
            continue;
        }
        match (&schema().node(*child).kind, before, after) {
            (NodeKind::Container { presence: false }, _, _) => {
                let empty = Map::new();
                let object = |json: Option<&Json>| json.and_then(Json::as_object).unwrap_or(&empty).clone();
                below.push((*child, place, object(before), object(after)));
            }
            (NodeKind::Container { .. }, Some(before), Some(after)) => {
                below.push((
                    *child,
                    place,
                    before.as_object().unwrap().clone(),
                    after.as_object().unwrap().clone(),
                ));
            }
            (NodeKind::List { .. }, _, _) => {
                let known = diff_list(*child, &place, before, after, out);
                below.extend(known.into_iter().map(|(place, before, after)| (*child, place, before, after)));
            }
            (NodeKind::LeafList { .. }, _, _) => diff_leaf_list(&place, before, after, out),
            (_, _, Some(after)) => out.push(change(place, Operation::Set(after.clone()))),
            (_, Some(_), None) => out.push(change(place, Operation::Delete)),
            (_, None, None) => {}
        }
    }
    for (child, place, before, after) in below {
        diff(child, &place, &before, &after, out);
    }
}

/// Lists in the order of their keys' texts, leaf-lists sorted: neither has an order of its own here.
fn sorted(json: &Json) -> Json {
    match json {
        Json::Array(values) => {
            let mut values: Vec<Json> = values.iter().map(sorted).collect();
            values.sort_by_key(ToString::to_string);
            Json::Array(values)
        }
        Json::Object(members) => members.iter().map(|(name, value)| (name.clone(), sorted(value))).collect(),
        other => other.clone(),
    }
}

fn cats_of(json: &Json) -> Map<String, Json> {
    let cats = json.get("ietf-routing:routing").and_then(|routing| routing.get("ietf-cats:cats"));
    cats.and_then(Json::as_object).cloned().unwrap_or_default()
}

proptest! {
    #[test]
    fn a_configuration_is_read_and_written_without_loss(seed: u64) {
        let json = config(seed);
        let read = Config::from_json(&json).expect("the model holds it");
        prop_assert_eq!(sorted(&read.to_json()), sorted(&json));
    }

    #[test]
    fn state_is_read_and_written_without_loss(seed: u64) {
        let json = json!({"ietf-routing:routing": {"ietf-cats:cats": object(cats(), true, &mut Dice(seed))}});
        let read = State::from_json(&json).expect("the model holds it").to_json();
        prop_assert_eq!(sorted(&Json::Object(cats_of(&read))), sorted(&Json::Object(cats_of(&json))));
    }

    #[test]
    fn the_changes_from_one_configuration_to_another_lead_to_it(old: u64, new: u64) {
        let (before, after) = (config(old), config(new));
        let mut changes = Vec::new();
        diff(cats(), "/ietf-routing:routing/ietf-cats:cats", &cats_of(&before), &cats_of(&after), &mut changes);
        let base = Config::from_json(&before).expect("the model holds it");
        let mut changed = base.clone();
        for change in &changes {
            prop_assert_eq!(changed.apply(change), Ok(true), "{:?}", change);
        }
        prop_assert_eq!(sorted(&changed.to_json()), sorted(&after));
        prop_assert_eq!(base, Config::from_json(&before).expect("the base is as it was"));
    }

    #[test]
    fn the_records_of_two_datastores_lead_the_model_from_one_to_the_other(old: u64, new: u64) {
        let (before, after) = (tree(&config(old)), tree(&config(new)));
        let snapshot = view(&before, schema(), Defaults::Explicit).to_json();
        let mut changed = Config::from_json(&snapshot).expect("the model holds it");
        for record in cats_yang_tree::diff(&before, &after).records(schema()) {
            let change = Change::from(record);
            prop_assert_eq!(changed.apply(&change), Ok(true), "{:?}", change);
        }
        let wanted = view(&after, schema(), Defaults::Explicit).to_json();
        prop_assert_eq!(sorted(&changed.to_json()), sorted(&wanted));
    }
}

#[test]
fn what_is_not_touched_stays_shared() {
    let json = json!({"ietf-routing:routing": {"ietf-cats:cats": {
        "base": {"enable": true},
        "cats-services:services": {"service": [
            {"cs-id": 1, "instance": [{"csci-id": 7, "egress": "EF-1", "locator": [{"address": "192.0.2.1"}]}]},
            {"cs-id": 2}]}}}});
    let base = Config::from_json(&json).unwrap();
    let mut changed = base.clone();
    let path = "/ietf-routing:routing/ietf-cats:cats/cats-services:services/service[cs-id='2']/enabled";
    let change = Change { path: path.to_owned(), operation: Operation::Set(json!(false)), after: None };
    assert_eq!(changed.apply(&change), Ok(true));
    let services = |config: &Config| config.cats.services.service.clone();
    let entry = |config: &Config, key: usize| services(config).nth(key).unwrap().1.clone();
    assert!(std::sync::Arc::ptr_eq(&entry(&base, 0), &entry(&changed, 0)));
    assert!(std::sync::Arc::ptr_eq(&base.cats.base, &changed.cats.base));
    assert!(entry(&base, 1).enabled() && !entry(&changed, 1).enabled());
}

#[test]
fn a_change_that_does_not_fit_is_refused_with_its_place() {
    let mut config = Config::default();
    let mut apply =
        |path: &str, operation| config.apply(&Change { path: path.to_owned(), operation, after: None });
    let cats = "/ietf-routing:routing/ietf-cats:cats";
    assert_eq!(apply("/probe-bench:bench/knob", Operation::Set(json!(1))), Ok(false));
    assert_eq!(apply("/ietf-routing:routing/router-id", Operation::Set(json!("192.0.2.1"))), Ok(false));
    let unknown = apply(&format!("{cats}/no-such"), Operation::Delete);
    assert_eq!(unknown, Err(ApplyError::Unknown { path: format!("{cats}/no-such") }));
    let service = format!("{cats}/cats-services:services/service[cs-id='1']");
    let missing = apply(&format!("{service}/name"), Operation::Set(json!("s")));
    assert_eq!(missing, Err(ApplyError::Missing { path: service.clone() }));
    let wrong = apply(&format!("{cats}/base/enable"), Operation::Set(json!("yes")));
    assert!(matches!(wrong, Err(ApplyError::Value { path, .. }) if path == format!("{cats}/base/enable")));
    let other_key = apply(&service, Operation::Set(json!({"cs-id": 2})));
    assert!(matches!(other_key, Err(ApplyError::Value { path, .. }) if path == service));
    assert_eq!(apply(&service, Operation::Set(json!({"name": "without its key"}))), Ok(true));
    let key = apply(&format!("{service}/cs-id"), Operation::Set(json!(3)));
    assert!(matches!(key, Err(ApplyError::Value { .. })), "{key:?}");
    let instance = apply(&format!("{service}/instance[csci-id='1']"), Operation::Set(json!({"csci-id": 1})));
    let egress = format!("{service}/instance[csci-id='1']/egress");
    assert_eq!(instance, Err(ApplyError::Missing { path: egress }));
}

#[test]
fn configuration_is_no_state() {
    let json = json!({"ietf-routing:routing": {"ietf-cats:cats": {"base": {"enable": true}}}});
    let path = "/ietf-routing:routing/ietf-cats:cats/base".to_owned();
    assert_eq!(State::from_json(&json), Err(ApplyError::Unknown { path }));
}

#[test]
fn the_entries_of_a_user_ordered_leaf_list_go_where_the_change_says() {
    let json = json!({"ietf-routing:routing": {"ietf-cats:cats": {"cats-forwarder:forwarder": {"node-id": "EF-1",
        "egress": {"owner": [{"client-prefix": "192.0.2.0/24", "ingress": "IF-1", "segment": ["2001:db8::1"]}]}}}}});
    let mut config = Config::from_json(&json).unwrap();
    let list = "/ietf-routing:routing/ietf-cats:cats/cats-forwarder:forwarder/egress\
                /owner[client-prefix='192.0.2.0/24']/segment";
    let entry = |n: u8| format!("{list}[.='2001:db8::{n}']");
    let mut apply = |path: String, operation, after: Option<String>| {
        assert_eq!(config.apply(&Change { path, operation, after }), Ok(true));
    };
    apply(entry(2), Operation::Set(json!("2001:db8::2")), Some(String::new()));
    apply(entry(3), Operation::Set(json!("2001:db8::3")), Some(entry(2)));
    apply(entry(2), Operation::Move, Some(entry(1)));
    let egress = config.cats.forwarder.egress.as_ref().unwrap();
    let (_, owner) = egress.owner.first().unwrap();
    let segments: Vec<String> = owner.segment.iter().map(ToString::to_string).collect();
    assert_eq!(segments, ["2001:db8::3", "2001:db8::1", "2001:db8::2"]);
}

#[test]
fn the_table_of_leafs_has_every_leaf_of_configuration() {
    let leaf = |kind: &NodeKind| matches!(kind, NodeKind::Leaf { .. } | NodeKind::LeafList { .. });
    let leafs = schema().nodes.iter().filter(|node| node.config && leaf(&node.kind)).count();
    assert_eq!(CONFIG_LEAVES.len(), leafs);
    assert!(CONFIG_LEAVES.contains(&"/ietf-routing:routing/ietf-cats:cats/base/enable"));
}

//! Subscriptions to the state of a component, which tells of it as it changes.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // tests

mod subscriber;

use cats_mgmtd_core::{Attachment, ComponentId, Delta, Filter, NmdaDatastore, SessionId};
use cats_yang_tree::{InstancePath, Ops};
use serde_json::{Value, json};
use subscriber::{SN, World, datastore, name_of, on_change, periodic};

const ENGINE: ComponentId = ComponentId(7);
const CATS: &str = "/ietf-routing:routing/ietf-cats:cats";
/// What is always asked for.
const ALARMS: &str = "/ietf-alarms:alarms/alarm-list";

fn table() -> String {
    format!("{CATS}/cats-cps:path-selector/service-table")
}

/// The component is there, and holds what running has.
fn attach(world: &mut World) {
    let name = "cats-engined".to_owned();
    let attachment = Attachment { component: ENGINE, name, holds: Some(0), nodes: Vec::new() };
    world.core.handle_attached(attachment);
    world.run();
}

fn tells_anew(world: &mut World) {
    world.core.handle_tells_anew(ENGINE);
    world.run();
}

/// The component tells of instances of service 1 and their slots, with what it dropped.
fn tell(
    world: &mut World,
    sequence: u64,
    dropped: &[u32],
    gas: &[(u32, u32)],
    whole: bool,
) -> Result<(), String> {
    let entry = |(csci_id, gas): &(u32, u32)| json!({ "cs-id": 1, "csci-id": csci_id, "gas": gas });
    let entries: Vec<Value> = gas.iter().map(entry).collect();
    let table_of = json!({ "service-table": { "entry": entries } });
    let document =
        json!({ "ietf-routing:routing": { "ietf-cats:cats": { "cats-cps:path-selector": table_of } } });
    let path = |csci_id: &u32| {
        let text = format!("{}/entry[cs-id='1'][csci-id='{csci_id}']", table());
        InstancePath::parse(&world.schema, &text).unwrap()
    };
    let delta = Delta {
        epoch: 1,
        sequence,
        dropped: dropped.iter().map(path).collect(),
        state: Ops::from_state_json(&world.schema, &document).unwrap(),
        whole: if whole { vec![table(), ALARMS.to_owned()] } else { Vec::new() },
    };
    let told = world.core.handle_told(ENGINE, delta, world.now);
    world.run();
    told
}

fn of_slots(more: &str) -> String {
    let filter = "<yp:datastore-subtree-filter><routing xmlns=\"urn:ietf:params:xml:ns:yang:ietf-routing\"><cats \
                  xmlns=\"urn:ietf:params:xml:ns:yang:ietf-cats\"><path-selector \
                  xmlns=\"urn:catsd:yang:cats-cps\"><service-table/></path-selector></cats></routing>\
                  </yp:datastore-subtree-filter>";
    datastore("operational") + filter + &on_change(more)
}

fn subscribed() -> (World, SessionId) {
    let mut world = World::new();
    attach(&mut world);
    let root = world.administrator();
    world.establish(root, &of_slots(""));
    tells_anew(&mut world);
    (world, root)
}

#[test]
fn a_component_tells_what_subscriptions_select_and_nothing_when_there_are_none() {
    let mut world = World::new();
    attach(&mut world);
    assert_eq!(world.watched, [[ALARMS]]);
    let root = world.administrator();
    let id = world.establish(root, &of_slots(""));
    assert_eq!(world.watched.last().unwrap(), &[ALARMS.to_owned(), table()]);
    world.establish(root, &of_slots("<yp:dampening-period>5</yp:dampening-period>"));
    assert_eq!(world.watched.len(), 2, "it tells that already");
    world.rpc(root, &subscriber::with_id(subscriber::SN, "delete-subscription", id));
    assert_eq!(world.watched.len(), 2, "another one wants it");
    world.drop_session(root);
    assert_eq!(world.watched.last().unwrap(), &[ALARMS]);
}

#[test]
fn all_is_told_when_all_is_known_and_then_what_changes() {
    let (mut world, root) = subscribed();
    world.ms(100);
    tell(&mut world, 1, &[], &[(1, 10)], false).unwrap();
    world.ms(100);
    assert_eq!(world.heard(root), Vec::<String>::new(), "not all is known");
    tell(&mut world, 2, &[], &[(2, 20)], true).unwrap();
    world.ms(10);
    let heard = world.heard(root);
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(
        heard[0].contains("<push-update") && heard[0].contains(">10<") && heard[0].contains(">20<"),
        "{heard:?}"
    );
    tell(&mut world, 3, &[2, 1], &[(2, 21)], false).unwrap();
    world.ms(9);
    assert_eq!(world.heard(root), Vec::<String>::new());
    world.ms(1);
    let heard = world.heard(root);
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(
        heard[0].contains("<operation>replace</operation>") && heard[0].contains(">21</gas>"),
        "{heard:?}"
    );
    assert!(heard[0].contains("<operation>delete</operation>") && !heard[0].contains(">10<"), "{heard:?}");
}

#[test]
fn without_a_sync_nothing_is_told_of_what_was_there_before() {
    let mut world = World::new();
    attach(&mut world);
    let root = world.administrator();
    world.establish(root, &of_slots("<yp:sync-on-start>false</yp:sync-on-start>"));
    tells_anew(&mut world);
    tell(&mut world, 1, &[], &[(1, 10)], true).unwrap();
    world.ms(100);
    assert_eq!(world.heard(root), Vec::<String>::new());
    tell(&mut world, 2, &[1], &[(1, 11)], false).unwrap();
    world.ms(10);
    let heard = world.heard(root);
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].contains("<push-change-update") && heard[0].contains(">11</gas>"), "{heard:?}");
}

#[test]
fn a_component_that_begins_anew_changes_nothing_until_it_has_told_all() {
    let (mut world, root) = subscribed();
    tell(&mut world, 1, &[], &[(1, 10), (2, 20)], true).unwrap();
    world.ms(10);
    world.heard(root);
    assert!(tell(&mut world, 3, &[], &[(1, 11)], false).is_err(), "one is missing");
    tells_anew(&mut world);
    tell(&mut world, 1, &[], &[(1, 12)], false).unwrap();
    world.ms(100);
    assert_eq!(world.heard(root), Vec::<String>::new());
    tell(&mut world, 2, &[], &[(2, 20)], true).unwrap();
    world.ms(10);
    let heard = world.heard(root);
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].contains(">12</gas>") && !heard[0].contains(">20<"), "{heard:?}");
}

#[test]
fn while_a_component_is_lost_nothing_of_it_is_told_and_then_what_has_changed() {
    let (mut world, root) = subscribed();
    tell(&mut world, 1, &[], &[(1, 10), (2, 20)], true).unwrap();
    world.ms(10);
    world.heard(root);
    world.core.handle_detached(ENGINE, world.now);
    world.run();
    let heard = world.heard(root);
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(
        heard[0].contains("<subscription-suspended") && heard[0].contains(":insufficient-resources<"),
        "{heard:?}"
    );
    assert!(report(&mut world, root).contains("<state>suspended</state>"));
    assert_eq!(tell(&mut world, 2, &[], &[(1, 10)], false), Ok(()), "it is too late, and no fault");
    world.ms(1000);
    attach(&mut world);
    tells_anew(&mut world);
    tell(&mut world, 1, &[], &[(1, 10)], false).unwrap();
    world.ms(1000);
    assert_eq!(world.heard(root), Vec::<String>::new(), "not all is known");
    tell(&mut world, 2, &[], &[(2, 21)], true).unwrap();
    world.ms(0);
    let heard = world.heard(root);
    let names: Vec<String> = heard.iter().map(|text| name_of(text)).collect();
    assert_eq!(names, ["subscription-resumed", "push-change-update"]);
    assert!(heard[1].contains(">21</gas>") && !heard[1].contains(">10<"), "{heard:?}");
    assert!(report(&mut world, root).contains("<state>active</state>"));
}

#[test]
fn what_a_component_told_that_stays_away_is_gone() {
    let (mut world, root) = subscribed();
    tell(&mut world, 1, &[], &[(1, 10)], true).unwrap();
    world.ms(10);
    world.heard(root);
    world.core.handle_detached(ENGINE, world.now);
    world.ms(9_999);
    assert_eq!(world.heard(root).len(), 1);
    world.ms(1);
    let heard = world.heard(root);
    let names: Vec<String> = heard.iter().map(|text| name_of(text)).collect();
    assert_eq!(names, ["subscription-resumed", "push-change-update"]);
    assert!(heard[1].contains("<operation>delete</operation>"), "{heard:?}");
    attach(&mut world);
    tells_anew(&mut world);
    tell(&mut world, 1, &[], &[(1, 10)], true).unwrap();
    world.ms(10);
    let heard = world.heard(root);
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].contains("<operation>create</operation>"), "{heard:?}");
}

/// RFC 8641 section 3.11.1.
#[test]
fn a_periodic_update_without_a_component_says_that_it_is_incomplete() {
    let mut world = World::new();
    let root = world.administrator();
    let slots = of_slots("");
    let selection = slots.split("<yp:on-change").next().unwrap();
    world.establish(root, &(selection.to_owned() + &periodic("<yp:period>100</yp:period>")));
    world.ms(0);
    let heard = world.heard(root);
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].contains("<incomplete-update/></push-update>"), "{heard:?}");
}

fn report(world: &mut World, session: SessionId) -> String {
    let filter = format!("<filter><subscriptions xmlns=\"{SN}\"/></filter>");
    let filter = Filter::subtree(&world.schema, &filter).unwrap();
    world.data(session, NmdaDatastore::Operational, Some(filter))
}

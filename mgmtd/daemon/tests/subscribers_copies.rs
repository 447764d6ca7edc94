//! A receiver's copy, rebuilt from what it is told alone, is what it reads whenever nothing is on its way.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // tests

mod subscriber;

use cats_mgmtd_core::{Filter, GivenIn, NmdaDatastore, Reply, SessionId};
use proptest::prelude::*;
use subscriber::{Copy, NS, SN, World, YP, datastore, on_change, subtree, with_id, xpath};

#[derive(Debug, Clone)]
enum Step {
    /// One change of running.
    Change(String),
    /// So many milliseconds pass.
    Pass(u64),
    /// A receiver takes nothing from now on.
    Stall(usize),
    Unstall(usize),
    Resync(usize),
    /// Other rules.
    Hide(usize),
    /// Nothing is on its way.
    Quiet,
}

/// What rules hide from receivers that they bind.
const HIDDEN: [&str; 5] = [
    "/pb:bench/pb:inst",
    "/pb:bench/pb:knob",
    "/pb:bench/pb:item[pb:name='b']",
    "/pb:bench/pb:item/pb:size",
    "/pb:bench/pb:rule",
];

const FILTERS: [Selects; 5] = [
    Selects::Subtree(""),
    Selects::Subtree("<item/><tag/>"),
    Selects::Subtree("<item><name>a</name></item><rule><action/></rule>"),
    Selects::XPath("/pb:bench/pb:item[pb:size > 50] | /pb:bench/pb:knob"),
    Selects::XPath("/pb:bench/pb:rule[pb:action='permit']"),
];

#[derive(Debug, Clone, Copy)]
enum Selects {
    Subtree(&'static str),
    XPath(&'static str),
}

impl Selects {
    fn parameter(self) -> String {
        match self {
            Selects::Subtree(content) => subtree(content),
            Selects::XPath(select) => xpath(select),
        }
    }

    fn filter(self, world: &World) -> Filter {
        match self {
            Selects::Subtree(content) => {
                let text = format!("<filter><bench xmlns=\"{NS}\">{content}</bench></filter>");
                Filter::subtree(&world.schema, &text).unwrap()
            }
            Selects::XPath(select) => {
                let namespaces = vec![("pb".to_owned(), NS.to_owned())];
                Filter::xpath(&world.schema, GivenIn::XPathFilter, select.to_owned(), namespaces).unwrap()
            }
        }
    }
}

fn a_change() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["a", "b", "c", "d"]);
    let operation = prop::sample::select(vec!["merge", "replace", "remove"]);
    let item = (name.clone(), 1..100_u32, operation.clone()).prop_map(|(name, size, operation)| {
        format!("<item nc:operation=\"{operation}\"><name>{name}</name><size>{size}</size></item>")
    });
    let placed = prop::sample::select(vec![" yang:insert=\"first\"", " yang:insert=\"last\"", ""]);
    let rule = (1..6_u16, any::<bool>(), operation.clone(), placed.clone()).prop_map(
        |(id, permits, operation, place)| {
            let action = if permits { "permit" } else { "deny" };
            let place = if operation == "remove" { "" } else { place };
            format!("<rule nc:operation=\"{operation}\"{place}><id>{id}</id><action>{action}</action></rule>")
        },
    );
    let tag = (name, operation.clone(), placed).prop_map(|(tag, operation, place)| {
        let place = if operation == "remove" { "" } else { place };
        format!("<tag nc:operation=\"{operation}\"{place}>{tag}</tag>")
    });
    let knob = (0..5_u32, operation)
        .prop_map(|(knob, operation)| format!("<knob nc:operation=\"{operation}\">{knob}</knob>"));
    let other = prop::sample::select(vec![
        "<ca>x</ca>",
        "<cb>y</cb>",
        "<pres><must-leaf>1</must-leaf></pres>",
        "<pres nc:operation=\"remove\"/>",
    ]);
    prop_oneof![4 => item, 4 => rule, 3 => tag, 1 => knob, 1 => other.prop_map(ToOwned::to_owned)]
}

fn a_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => a_change().prop_map(Step::Change),
        4 => (0..40_u64).prop_map(Step::Pass),
        1 => (100..9000_u64).prop_map(Step::Pass),
        1 => (0..FILTERS.len()).prop_map(Step::Stall),
        2 => (0..FILTERS.len()).prop_map(Step::Unstall),
        1 => (0..FILTERS.len()).prop_map(Step::Resync),
        1 => (0..HIDDEN.len()).prop_map(Step::Hide),
        1 => Just(Step::Quiet),
    ]
}

/// A receiver, what it selects, and its copy.
struct Receiver {
    session: SessionId,
    id: u32,
    selects: Selects,
    copy: Copy,
}

impl Receiver {
    fn hear(&mut self, world: &mut World) {
        for text in world.heard(self.session) {
            self.copy.hear(&text);
        }
    }
}

fn subscribed(world: &mut World) -> Vec<Receiver> {
    let all = FILTERS.iter().enumerate().map(|(at, selects)| {
        let session = world.open(&format!("user-{at}"), false);
        let dampening = on_change(&format!("<yp:dampening-period>{}</yp:dampening-period>", at * 3));
        let id = world.establish(session, &(datastore("running") + &selects.parameter() + &dampening));
        Receiver { session, id, selects: *selects, copy: Copy::of(&world.schema, id) }
    });
    all.collect()
}

fn hide(world: &mut World, root: SessionId, path: &str) {
    let rules = format!(
        "<nacm xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-acm\"><rule-list nc:operation=\"replace\"><name>l</name>\
         <group>*</group><rule><name>r</name><path xmlns:pb=\"{NS}\">{path}</path><access-operations>read\
         </access-operations><action>deny</action></rule></rule-list></nacm>"
    );
    world.edit_top(root, &rules);
    world.commit(root);
}

fn at_rest(world: &mut World, receivers: &mut [Receiver]) {
    for receiver in receivers {
        world.unstall(receiver.session);
        world.ms(300);
        receiver.hear(world);
        let filter = receiver.selects.filter(world);
        let read = world.data(receiver.session, NmdaDatastore::Running, Some(filter));
        assert_eq!(receiver.copy.to_xml(), read, "of {:?}", receiver.selects);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_copy_is_what_its_receiver_reads_at_each_quiet_point(steps in prop::collection::vec(a_step(), 1..120)) {
        let mut world = World::new();
        let root = world.administrator();
        hide(&mut world, root, HIDDEN[0]);
        let mut receivers = subscribed(&mut world);
        for step in steps.into_iter().chain([Step::Quiet]) {
            match step {
                Step::Change(content) => world.change(root, &content),
                Step::Pass(ms) => world.ms(ms),
                Step::Stall(at) => world.stall(receivers[at].session),
                Step::Unstall(at) => world.unstall(receivers[at].session),
                Step::Resync(at) => {
                    let Receiver { session, id, .. } = receivers[at];
                    prop_assert_eq!(world.rpc_output(session, &with_id(YP, "resync-subscription", id)), "");
                }
                Step::Hide(at) => hide(&mut world, root, HIDDEN[at]),
                Step::Quiet => at_rest(&mut world, &mut receivers),
            }
            for receiver in &mut receivers {
                receiver.hear(&mut world);
            }
        }
    }
}

#[test]
fn a_receiver_that_loses_its_session_begins_anew() {
    let mut world = World::new();
    let root = world.administrator();
    world.change(root, "<knob>1</knob>");
    let mut receivers = subscribed(&mut world);
    at_rest(&mut world, &mut receivers);
    let lost = receivers.remove(0).session;
    world.drop_session(lost);
    world.change(root, "<knob>2</knob>");
    let mut anew = subscribed(&mut world);
    at_rest(&mut world, &mut anew);
    at_rest(&mut world, &mut receivers);
    let asked = format!("<delete-subscription xmlns=\"{SN}\"><id>1</id></delete-subscription>");
    assert!(matches!(world.rpc(root, &asked), Reply::Errors(_)));
}

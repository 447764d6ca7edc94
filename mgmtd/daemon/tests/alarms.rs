//! RFC 8632 over the modules of the product: the list and its actions, shelves, and what is told.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a failed set-up is a failed test

mod subscriber;

use cats_mgmtd_core::{
    Attachment, Called, ComponentId, Delta, Filter, GivenIn, NmdaDatastore, Reply, Request, SessionId,
    Subscribe,
};
use cats_yang_tree::operation::Call;
use cats_yang_tree::{InstancePath, Ops, roxmltree};
use serde_json::{Value, json};
use std::time::Duration;
use subscriber::{World, name_of};

const AL: &str = "urn:ietf:params:xml:ns:yang:ietf-alarms";
const LIST: &str = "/ietf-alarms:alarms/alarm-list";

fn called(client: &str, unreachable: bool) -> Called {
    Called {
        client: client.to_owned(),
        stage: "waiting",
        since_us: 1,
        endpoint: None,
        remote: None,
        connections: 0,
        failed: 1,
        last_error: Some(("refused".to_owned(), 1)),
        unreachable,
    }
}

/// A world with a session that hears the stream, and one that asks.
fn world() -> (World, SessionId, SessionId) {
    let mut world = World::new();
    let (root, ear) = (world.administrator(), world.administrator());
    let all = Subscribe { stream: "NETCONF".to_owned(), filter: None, start_us: None, stop_us: None };
    world.ok(ear, Request::Subscribe(Box::new(all)));
    (world, root, ear)
}

/// Clients that are called: those of upper case are not reached.
fn calls(world: &mut World, clients: &str) {
    let clients = clients.chars().map(|name| called(&name.to_lowercase().to_string(), name.is_uppercase()));
    let now = world.now;
    world.core.handle_call_home(clients.collect(), now);
    world.run();
}

fn tls(world: &mut World, problem: Option<&str>) {
    let now = world.now;
    world.core.handle_tls(problem.map(str::to_owned), now);
    world.run();
}

/// What an XPath expression selects of the alarms.
fn shown(world: &mut World, root: SessionId, select: &str) -> String {
    let filter = Filter::xpath(
        &world.schema,
        GivenIn::Subscription,
        select.to_owned(),
        vec![("al".to_owned(), AL.to_owned())],
    );
    world.data(root, NmdaDatastore::Operational, Some(filter.unwrap()))
}

/// The texts of all elements of that name.
fn texts(xml: &str, name: &str) -> Vec<String> {
    let xml = format!("<all>{xml}</all>");
    let document = roxmltree::Document::parse(&xml).unwrap();
    let named = document.descendants().filter(|node| node.has_tag_name((AL, name)));
    named.map(|node| node.text().unwrap_or_default().to_owned()).collect()
}

fn listed(world: &mut World, root: SessionId, what: &str, leaf: &str) -> Vec<String> {
    let xml = shown(world, root, &format!("/al:alarms/{what}"));
    texts(&xml, leaf)
}

/// Invokes an action, which `content` leads to.
fn action(world: &mut World, session: SessionId, content: &str) -> Reply {
    let xml = format!(
        "<action xmlns=\"urn:ietf:params:xml:ns:yang:1\"><alarms xmlns=\"{AL}\">{content}</alarms></action>"
    );
    let document = roxmltree::Document::parse(&xml).unwrap();
    let call = Call::action(&world.schema, document.root_element()).unwrap();
    world.ask(session, Request::Execute(Box::new(call)))
}

fn counted(world: &mut World, session: SessionId, content: &str) -> String {
    match action(world, session, content) {
        Reply::Executed(executed) => executed.to_xml(&world.schema).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// What of alarms a session was told: of which, and how bad it is.
fn heard(world: &mut World, ear: SessionId) -> Vec<(String, String)> {
    let told = world.heard(ear);
    let told = told.iter().filter(|text| name_of(text) == "alarm-notification");
    told.map(|text| (texts(text, "resource").remove(0), texts(text, "perceived-severity").remove(0)))
        .collect()
}

fn control(world: &mut World, root: SessionId, content: &str) {
    world.edit_top(root, &format!("<alarms xmlns=\"{AL}\"><control>{content}</control></alarms>"));
    world.commit(root);
}

#[test]
fn an_alarm_is_listed_told_and_cleared_with_its_history() {
    let (mut world, root, ear) = world();
    tls(&mut world, Some("no key"));
    let told = world.heard(ear).pop().unwrap();
    let document = roxmltree::Document::parse(&told).unwrap();
    let elements = document.descendants().filter(|node| node.is_element()).skip(2);
    let leafs: Vec<(&str, &str)> =
        elements.map(|leaf| (leaf.tag_name().name(), leaf.text().unwrap_or_default())).collect();
    let [event, resource, kind, qualifier, time, severity, text] = leafs.as_slice() else { panic!("{told}") };
    assert_eq!(*event, ("alarm-notification", ""));
    assert!(resource.0 == "resource" && resource.1.ends_with(":tls"), "{told}");
    assert!(kind.0 == "alarm-type-id" && kind.1.ends_with(":tls-failed"), "{told}");
    assert_eq!(*qualifier, ("alarm-type-qualifier", ""));
    assert_eq!(*time, ("time", "2026-11-30T12:00:00.000000Z"));
    assert_eq!(*severity, ("perceived-severity", "major"));
    assert!(text.0 == "alarm-text" && text.1.contains("no key"), "{told}");
    world.ms(1000);
    tls(&mut world, None);
    assert_eq!(heard(&mut world, ear).pop().unwrap().1, "cleared");
    assert_eq!(listed(&mut world, root, "alarm-list/alarm", "is-cleared"), ["true"]);
    let severities = ["major", "cleared", "major"];
    assert_eq!(listed(&mut world, root, "alarm-list/alarm", "perceived-severity"), severities);
    let summary = shown(&mut world, root, "/al:alarms/al:summary/al:alarm-summary[al:severity='major']");
    assert!(
        summary.contains("<total>1</total><not-cleared>0</not-cleared><cleared>1</cleared>"),
        "{summary}"
    );
    let list = shown(&mut world, root, "/al:alarms/al:alarm-list/al:number-of-alarms");
    assert_eq!(texts(&list, "number-of-alarms"), ["1"]);
}

#[test]
fn the_inventory_has_each_type_of_ours_and_no_other() {
    let (mut world, root, _) = world();
    let mut listed = listed(&mut world, root, "alarm-inventory", "alarm-type-id");
    listed.sort();
    let module = world.schema.module_by_name("cats-alarms").unwrap();
    let mut known: Vec<String> = world
        .schema
        .identities
        .iter()
        .filter(|identity| identity.module == module && identity.name != "cats-alarm")
        .map(|identity| identity.name.clone())
        .collect();
    known.sort();
    let bare: Vec<String> = listed.iter().map(|kind| kind.rsplit(':').next().unwrap().to_owned()).collect();
    assert_eq!(bare, known);
}

#[test]
fn operators_say_what_they_do_about_an_alarm_and_it_is_told() {
    let (mut world, root, ear) = world();
    calls(&mut world, "A");
    world.heard(ear);
    let set = |resource: &str, state: &str| {
        format!(
            "<alarm-list><alarm xmlns:r=\"urn:ietf:params:xml:ns:yang:ietf-routing\" xmlns:c=\"urn:ietf:params:xml:ns:\
             yang:ietf-cats\" xmlns:s=\"urn:catsd:yang:cats-system\" xmlns:ca=\"urn:catsd:yang:cats-alarms\"><resource>\
             /r:routing/c:cats/s:system/s:call-home/s:client[s:name='{resource}']</resource><alarm-type-id>\
             ca:cannot-call</alarm-type-id><alarm-type-qualifier/><set-operator-state><state>{state}</state>\
             <text>on my way</text></set-operator-state></alarm></alarm-list>"
        )
    };
    assert_eq!(action(&mut world, root, &set("a", "ack")), Reply::Ok);
    let told = world.heard(ear);
    assert!(
        told.iter().any(|text| text.contains("<operator-action") && text.contains("client[")),
        "it stands below its alarm: {told:?}"
    );
    let acts = "alarm-list/alarm/operator-state-change";
    assert_eq!(listed(&mut world, root, acts, "operator"), ["root"]);
    assert_eq!(listed(&mut world, root, acts, "state"), ["ack"]);
    let Reply::Errors(errors) = action(&mut world, root, &set("b", "ack")) else { panic!("there is no b") };
    assert_eq!(errors[0].tag.to_string(), "data-missing");
    assert!(
        matches!(action(&mut world, root, &set("a", "shelved")), Reply::Errors(_)),
        "that is for shelves"
    );
}

#[test]
fn alarms_are_purged_and_compressed_by_actions() {
    let (mut world, root, _) = world();
    calls(&mut world, "AB");
    world.ms(5_000);
    calls(&mut world, "aB");
    world.ms(5_000);
    let purge = |criteria: &str| format!("<alarm-list><purge-alarms>{criteria}</purge-alarms></alarm-list>");
    let old = "<alarm-clearance-status>any</alarm-clearance-status><older-than><seconds>9</seconds></older-than>\
               <severity><is>critical</is></severity>";
    assert!(counted(&mut world, root, &purge(old)).contains(">0<"));
    let compress =
        |criteria: &str| format!("<alarm-list><compress-alarms>{criteria}</compress-alarms></alarm-list>");
    let elsewhere =
        "<resource>/ietf-routing:routing/ietf-cats:cats/cats-system:system/cats-system:tls</resource>";
    assert!(counted(&mut world, root, &compress(elsewhere)).contains(">0<"));
    let there = "<resource>/ietf-routing:routing/ietf-cats:cats/cats-system:system/cats-system:call-home/\
                 cats-system:client[cats-system:name='a']</resource>";
    assert!(counted(&mut world, root, &compress(there)).contains(">1<"));
    assert_eq!(listed(&mut world, root, "alarm-list/alarm/status-change", "perceived-severity").len(), 2);
    let cleared = "<alarm-clearance-status>cleared</alarm-clearance-status>";
    assert!(counted(&mut world, root, &purge(cleared)).contains(">1<"));
    let left = listed(&mut world, root, "alarm-list/alarm", "resource");
    assert!(left.len() == 1 && left[0].contains("'b'"), "{left:?}");
}

#[test]
fn a_shelf_takes_what_it_means_and_gives_it_back_when_it_is_gone() {
    let (mut world, root, ear) = world();
    calls(&mut world, "A");
    let shelf = "<alarm-shelving><shelf><name>noise</name><resource xmlns:s=\"urn:catsd:yang:cats-system\" \
                 xmlns:r=\"urn:ietf:params:xml:ns:yang:ietf-routing\" xmlns:c=\"urn:ietf:params:xml:ns:yang:ietf-cats\">\
                 /r:routing/c:cats/s:system/s:call-home/s:client[s:name != 'b']</resource><alarm-type>\
                 <alarm-type-id xmlns:ca=\"urn:catsd:yang:cats-alarms\">ca:cats-alarm</alarm-type-id>\
                 <alarm-type-qualifier-match>.*</alarm-type-qualifier-match></alarm-type></shelf></alarm-shelving>";
    world.heard(ear);
    control(&mut world, root, shelf);
    calls(&mut world, "ABC");
    let told = heard(&mut world, ear);
    assert_eq!(
        told.iter().map(|(resource, _)| resource.contains("'b'")).collect::<Vec<_>>(),
        [true],
        "{told:?}"
    );
    assert_eq!(listed(&mut world, root, "shelved-alarms/shelved-alarm", "shelf-name"), ["noise", "noise"]);
    assert_eq!(listed(&mut world, root, "alarm-list/alarm", "resource").len(), 1);
    assert!(shown(&mut world, root, "/al:alarms/al:summary").contains("shelves-active"));
    calls(&mut world, "ABc");
    let purge = "<shelved-alarms><purge-shelved-alarms><alarm-clearance-status>cleared</alarm-clearance-status>\
                 </purge-shelved-alarms></shelved-alarms>";
    assert!(counted(&mut world, root, purge).contains(">1<"));
    control(
        &mut world,
        root,
        "<alarm-shelving><shelf nc:operation=\"delete\"><name>noise</name></shelf></alarm-shelving>",
    );
    assert_eq!(listed(&mut world, root, "shelved-alarms/shelved-alarm", "shelf-name"), [""; 0]);
    let states = listed(&mut world, root, "alarm-list/alarm/operator-state-change", "state");
    assert_eq!(states, ["un-shelved", "shelved"]);
    assert!(!shown(&mut world, root, "/al:alarms/al:summary").contains("shelves-active"));
}

#[test]
fn what_is_configured_says_what_is_told_and_how_much_is_kept() {
    let (mut world, root, ear) = world();
    control(
        &mut world,
        root,
        "<max-alarm-status-changes>2</max-alarm-status-changes><notify-status-changes>severity-level\
         </notify-status-changes><notify-severity-level>major</notify-severity-level>",
    );
    world.heard(ear);
    for clients in ["A", "a", "A", "a"] {
        calls(&mut world, clients);
    }
    let severities: Vec<String> = heard(&mut world, ear).into_iter().map(|(_, severity)| severity).collect();
    assert_eq!(severities, ["cleared", "cleared"], "what is minor is not told");
    assert_eq!(listed(&mut world, root, "alarm-list/alarm/status-change", "time").len(), 2);
    tls(&mut world, Some("no key"));
    assert_eq!(heard(&mut world, ear).len(), 1);
}

/// What an engine tells that has such alarms: by the text of each.
fn delta(world: &World, sequence: u64, alarms: &[(&str, &str)]) -> Delta {
    let entry = |(resource, text): &(&str, &str)| {
        let at = "2026-11-30T11:59:00Z";
        json!({
            "resource": resource, "alarm-type-id": "cats-alarms:agent-silent", "alarm-type-qualifier": "",
            "time-created": at, "last-raised": at, "last-changed": at, "is-cleared": false,
            "perceived-severity": "major", "alarm-text": text,
        })
    };
    let entries: Vec<Value> = alarms.iter().map(entry).collect();
    let document = json!({ "ietf-alarms:alarms": { "alarm-list": { "alarm": entries } } });
    let dropped = vec![InstancePath::parse(&world.schema, LIST).unwrap()];
    Delta {
        epoch: 1,
        sequence,
        dropped: if sequence > 1 { dropped } else { Vec::new() },
        state: Ops::from_state_json(&world.schema, &document).unwrap(),
        whole: if sequence > 1 { Vec::new() } else { vec![LIST.to_owned()] },
    }
}

fn connect(world: &mut World, component: u32) {
    let component = ComponentId(component);
    world.core.handle_attached(Attachment {
        component,
        name: "cats-engined".to_owned(),
        holds: Some(0),
        nodes: Vec::new(),
    });
    world.run();
    assert_eq!(world.watched.last().unwrap(), &[LIST], "it is asked for its alarms");
    world.core.handle_tells_anew(component);
    world.run();
}

fn told(world: &mut World, component: u32, delta: Delta) {
    let now = world.now;
    assert_eq!(world.core.handle_told(ComponentId(component), delta, now), Ok(()));
    world.run();
}

#[test]
fn alarms_that_an_engine_tells_of_become_entries_and_outlive_its_connection() {
    let (mut world, root, ear) = world();
    connect(&mut world, 1);
    world.heard(ear);
    let (first, more) = ([("A", "silent"), ("B", "silent")], [("B", "silent for long"), ("C", "silent")]);
    let begun = delta(&world, 1, &first);
    told(&mut world, 1, begun);
    let severity = |(resource, severity): (String, String)| format!("{resource} {severity}");
    let said = |world: &mut World| heard(world, ear).into_iter().map(severity).collect::<Vec<_>>();
    assert_eq!(said(&mut world), ["A major", "B major"]);
    let times = listed(&mut world, root, "alarm-list/alarm", "time-created");
    assert_eq!(times, ["2026-11-30T11:59:00.000000Z"; 2], "since when the engine says");
    let next = delta(&world, 2, &more);
    told(&mut world, 1, next);
    assert_eq!(said(&mut world), ["A cleared", "B major", "C major"]);
    let now = world.now;
    world.core.handle_detached(ComponentId(1), now);
    world.run();
    assert_eq!(said(&mut world), ["cats-engined critical"], "and nothing is known of the rest");
    assert_eq!(
        listed(&mut world, root, "alarm-list/alarm[al:is-cleared='false']", "resource"),
        ["B", "C", "cats-engined"]
    );
    connect(&mut world, 2);
    let anew = delta(&world, 1, &more[..1]);
    told(&mut world, 2, anew);
    assert_eq!(said(&mut world), ["cats-engined cleared", "C cleared"]);
}

#[test]
fn a_subscriber_on_change_is_told_of_our_own_alarms_and_of_the_engines() {
    let (mut world, _, ear) = world();
    let root = world.administrator();
    connect(&mut world, 1);
    let begun = delta(&world, 1, &[]);
    told(&mut world, 1, begun);
    let filter = format!(
        "<yp:datastore-subtree-filter><alarms xmlns=\"{AL}\"><alarm-list/></alarms></yp:datastore-subtree-filter>"
    );
    world.establish(root, &(subscriber::datastore("operational") + &filter + &subscriber::on_change("")));
    world.ms(20);
    world.heard(root);
    tls(&mut world, Some("no key"));
    let next = delta(&world, 2, &[("A", "silent")]);
    told(&mut world, 1, next);
    world.pass(Duration::from_millis(20));
    let update = world.heard(root).concat();
    assert!(
        update.contains("push-change-update") && update.contains("no key") && update.contains("silent"),
        "{update}"
    );
    let next = delta(&world, 3, &[("A", "silent for long")]);
    told(&mut world, 1, next);
    world.ms(20);
    let update = world.heard(root).concat();
    assert!(update.contains("silent for long") && !update.contains("<operation>move"), "{update}");
    let now = world.now;
    world.core.handle_detached(ComponentId(1), now);
    world.ms(20);
    let update = world.heard(root).concat();
    assert!(update.contains("component-not-connected") && !update.contains(">cleared<"), "{update}");
    assert!(heard(&mut world, ear).len() >= 3);
}

#[test]
fn who_may_not_act_on_alarms_or_hear_of_them_does_not() {
    let (mut world, root, _) = world();
    world.edit_top(
        root,
        "<nacm xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-acm\"><rule-list><name>guests</name><group>*</group>\
         <rule><name>deaf</name><module-name>ietf-alarms</module-name><notification-name>alarm-notification\
         </notification-name><action>deny</action></rule>\
         <rule><name>idle</name><module-name>ietf-alarms</module-name><access-operations>exec</access-operations>\
         <action>deny</action></rule></rule-list></nacm>",
    );
    world.commit(root);
    let guest = world.open("guest", false);
    let all = Subscribe { stream: "NETCONF".to_owned(), filter: None, start_us: None, stop_us: None };
    world.ok(guest, Request::Subscribe(Box::new(all)));
    calls(&mut world, "A");
    assert_eq!(heard(&mut world, guest), []);
    let purge = "<alarm-list><purge-alarms><alarm-clearance-status>any</alarm-clearance-status></purge-alarms></alarm-list>";
    let Reply::Errors(errors) = action(&mut world, guest, purge) else { panic!("a guest") };
    assert_eq!(errors[0].tag.to_string(), "access-denied");
    assert_eq!(listed(&mut world, root, "alarm-list/alarm", "is-cleared"), ["false"]);
}

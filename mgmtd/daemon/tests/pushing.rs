//! Subscriptions to datastores of a whole daemon: many receivers, and one that stops reading.

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

mod daemon;

use daemon::{Place, Session, text_of};

const SN: &str = "urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications";
const YP: &str = "urn:ietf:params:xml:ns:yang:ietf-yang-push";
const DS: &str = "urn:ietf:params:xml:ns:yang:ietf-datastores";

fn on_change(session: &mut Session) -> String {
    let output = session.output(&format!(
        "<establish-subscription xmlns=\"{SN}\" xmlns:yp=\"{YP}\" xmlns:ds=\"{DS}\">\
         <yp:datastore>ds:running</yp:datastore><yp:datastore-subtree-filter><knobs xmlns=\"urn:example:knobs\"/>\
         </yp:datastore-subtree-filter><yp:on-change/></establish-subscription>"
    ));
    // The element declares its namespace.
    let (_, content) = output.split_once('>').unwrap();
    content.split('<').next().unwrap().to_owned()
}

/// The same, of a receiver that has taken the first update.
fn synchronized(session: &mut Session) -> String {
    let id = on_change(session);
    assert!(session.notification().contains("<push-update"));
    id
}

/// A thousand subscriptions on a hundred sessions are each told of a change once, and which one it is.
#[test]
fn a_change_reaches_a_thousand_subscriptions_on_a_hundred_sessions() {
    let place = Place::new();
    let module = place.path("example-knobs.yang");
    let many = ["--max-sessions", "256", "--max-sessions-per-user", "128"];
    let daemon = place.start_with(&[&["--extra-module", module.to_str().unwrap()], &many[..]].concat());
    let mut writer = daemon.client();
    let mut receivers: Vec<(Session, Vec<String>)> = (0..100)
        .map(|_| {
            let mut session = daemon.client();
            let ids = (0..10).map(|_| synchronized(&mut session)).collect();
            (session, ids)
        })
        .collect();
    for value in 1..=3 {
        writer.commit(&format!("<one>{value}</one>"));
        for (session, ids) in &mut receivers {
            let mut told: Vec<String> = Vec::new();
            for _ in 0..ids.len() {
                let notice = session.notification();
                assert!(notice.contains(&format!(">{value}</one>")), "{notice}");
                told.push(text_of(&notice, "id").unwrap().to_owned());
            }
            told.sort();
            ids.sort();
            assert_eq!(&told, ids);
        }
    }
}

/// A receiver that reads nothing keeps nobody waiting, holds no changes, and is told what there is when it reads.
#[test]
fn who_stops_reading_is_told_all_of_it_when_it_reads_again() {
    let place = Place::new();
    let daemon = place.start();
    let (mut deaf, mut listener, mut writer) = (daemon.client(), daemon.client(), daemon.client());
    on_change(&mut deaf);
    synchronized(&mut listener);
    let wide = |value: u32| -> String {
        (0..100).map(|n| format!("<item><name>i{n}</name><size>{value}</size></item>")).collect()
    };
    // Each update has some 20 kB: more of them than any socket holds.
    for value in 1..=200 {
        writer.commit(&wide(value));
        assert!(listener.notification().contains(&format!(">{value}</size>")));
    }
    let mut last = String::new();
    while !last.contains(">200</size>") {
        last = deaf.notification();
    }
    writer.commit("<one>7</one>");
    while !last.contains(">7</one>") {
        last = deaf.notification();
    }
}

/// RFC 9196: what can be subscribed to is said.
#[test]
fn the_capabilities_say_what_can_be_subscribed_to() {
    let place = Place::new();
    let daemon = place.start();
    let mut session = daemon.client();
    let filter = "<filter><system-capabilities xmlns=\"urn:ietf:params:xml:ns:yang:ietf-system-capabilities\"/></filter>";
    let told = session.data(&format!("<get>{filter}</get>"));
    assert_eq!(text_of(&told, "minimum-update-period"), Some("10"));
    assert!(told.contains(">config-changes<") && told.contains(":operational<"), "{told}");
    let filter = format!("<filter><streams xmlns=\"{SN}\"/></filter>");
    let told = session.data(&format!("<get>{filter}</get>"));
    assert!(told.contains("<name>NETCONF</name>") && told.contains("<replay-support"), "{told}");
}

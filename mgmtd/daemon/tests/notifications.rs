//! Notifications from a whole daemon: kill -9 in the middle, a full disk, and receivers that stop reading.

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

mod daemon;

use cats_mgmtd_netconf::Answer;
use cats_mgmtd_netconf::names::NOTIFICATION;
use daemon::{Daemon, Place, Session, edit, text_of};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// Since before all of this.
const SINCE: &str = "<startTime>2020-01-01T00:00:00Z</startTime>";

fn subscribe(content: &str) -> String {
    format!("<create-subscription xmlns=\"{NOTIFICATION}\">{content}</create-subscription>")
}

fn set(session: &mut Session, value: u32) {
    session.commit(&format!("<one>{value}</one>"));
}

/// Waits until so many changes of the configuration are in the store, which nobody waits for otherwise.
fn wait_for_store(place: &Place, changes: usize) {
    let begun = Instant::now();
    let stored = || -> usize {
        let files = std::fs::read_dir(place.path("state/events")).unwrap().map(|entry| entry.unwrap().path());
        let count = |path: PathBuf| {
            String::from_utf8_lossy(&std::fs::read(path).unwrap()).matches("netconf-config-change").count()
        };
        files.map(count).sum()
    };
    while stored() < changes {
        assert!(begun.elapsed() < Duration::from_secs(30), "{} of {changes} are stored", stored());
        std::thread::yield_now();
    }
}

/// The events of a whole replay, without what says that it is over.
fn replayed(daemon: &Daemon) -> Vec<String> {
    let mut session = daemon.client();
    session.ok(&subscribe(SINCE));
    let mut told = Vec::new();
    loop {
        let notice = session.notification();
        if notice.contains("<replayComplete") {
            return told;
        }
        told.push(notice);
    }
}

fn count(notices: &[String], name: &str) -> usize {
    notices.iter().filter(|notice| notice.contains(&format!("<{name}"))).count()
}

/// Proves the cases N08 and P47 of a daemon: what changed and by whom, now and after restarts of any kind.
#[test]
fn events_are_told_as_they_happen_and_replayed_after_a_kill_in_order_and_once() {
    let place = Place::new();
    let mut committed = 0;
    for round in 0..6 {
        let daemon = place.start();
        let mut listener = daemon.client();
        listener.ok(&subscribe(""));
        let mut session = daemon.client();
        assert!(listener.notification().contains("<netconf-session-start"));
        for value in 1..=10 {
            set(&mut session, round * 100 + value);
            committed += 1;
            let notice = listener.notification();
            assert!(
                notice.contains("<netconf-config-change") && notice.contains("ek:knobs/ek:one"),
                "{notice}"
            );
            assert!(text_of(&notice, "session-id").is_some() && text_of(&notice, "username").is_some());
        }
        wait_for_store(&place, committed);
        let told = replayed(&daemon);
        assert_eq!(count(&told, "netconf-config-change"), committed);
        let times: Vec<_> = told.iter().map(|notice| text_of(notice, "eventTime").unwrap()).collect();
        assert!(times.is_sorted(), "{times:?}");
        if round % 2 == 0 { daemon.kill() } else { assert!(daemon.terminate().success()) }
    }
}

/// The cases N02, N04 and N06.
#[test]
fn streams_are_listed_and_what_they_cannot_give_is_refused() {
    let place = Place::new();
    let daemon = place.start();
    let mut session = daemon.client();
    for capability in ["notification:1.0", "interleave:1.0"] {
        let uri = format!("urn:ietf:params:netconf:capability:{capability}");
        assert!(session.hello.capabilities.contains(&uri), "{capability}");
    }
    let filter = "<filter><netconf xmlns=\"urn:ietf:params:xml:ns:netmod:notification\"/></filter>";
    let streams = session.data(&format!("<get>{filter}</get>"));
    assert!(streams.contains("<name>NETCONF</name>"), "{streams}");
    assert_eq!(text_of(&streams, "replaySupport"), Some("true"));
    assert!(text_of(&streams, "replayLogCreationTime").is_some_and(|time| time.starts_with("20")));
    for (content, element) in [
        ("<startTime>2999-01-01T00:00:00Z</startTime>", "startTime"),
        ("<stream>SYSLOG</stream>", "stream"),
        ("<stopTime>2020-01-01T00:00:00Z</stopTime>", "startTime"),
    ] {
        let error = session.refused(&subscribe(content));
        assert!(format!("{error:?}").contains(&format!("BadElement(\"{element}\")")), "{error:?}");
    }
    let past = format!("{SINCE}<stopTime>2020-01-02T00:00:00Z</stopTime>");
    session.ok(&subscribe(&past));
    assert!(session.notification().contains("<replayComplete"));
    assert!(session.notification().contains("<notificationComplete"));
    // The session is free for another one, and for everything else.
    session.ok(&subscribe(""));
    set(&mut session, 1);
    assert!(session.notification().contains("<netconf-config-change"));
}

/// A receiver that reads nothing keeps neither others nor commits waiting, and is told all when it reads.
#[test]
fn who_stops_reading_disturbs_nobody_and_loses_nothing() {
    let place = Place::new();
    let daemon = place.start();
    let mut deaf = daemon.client();
    deaf.ok(&subscribe(""));
    let mut listener = daemon.client();
    listener.ok(&subscribe(""));
    let mut session = daemon.client();
    assert!(listener.notification().contains("<netconf-session-start"));
    let wide = |value: u32| -> String {
        (0..100).map(|n| format!("<item><name>i{n}</name><size>{value}</size></item>")).collect()
    };
    // Each notification has some 10 kB: more of them than any socket holds.
    for value in 1..=100 {
        session.commit(&wide(value));
        assert!(listener.notification().contains("<netconf-config-change"));
    }
    let mut told = 0;
    while told < 100 {
        told += usize::from(deaf.notification().contains("<netconf-config-change"));
    }
}

/// A disk that is full is an alarm, and costs those who listen nothing.
#[test]
fn a_full_disk_is_an_alarm_and_events_are_told_all_the_same() {
    let place = Place::new();
    place.start().terminate();
    let daemon = place.start_on_a_full_disk();
    let mut listener = daemon.client();
    listener.ok(&subscribe(""));
    // Sessions are events too, and take no room in the journal.
    for _ in 0..100 {
        drop(daemon.client());
        for name in ["<netconf-session-start", "<netconf-session-end"] {
            let mut told = listener.notification();
            // That there is no room is told among them.
            while told.contains("<alarm-notification") {
                told = listener.notification();
            }
            assert!(told.contains(name), "{told}");
        }
    }
    let alarms = listener.alarms();
    assert!(alarms.contains("no-event-log"), "{alarms}");
    let told = replayed(&daemon);
    assert!(count(&told, "netconf-session-end") >= 100);
}

/// kill -9 while events are written: those of commits that were answered some time before are there, and what is there is
/// whole.
#[test]
fn what_a_kill_cuts_off_is_the_end_of_the_log_and_nothing_before() {
    let place = Place::new();
    let mut kept = 0;
    for round in 0..8 {
        let daemon = place.start();
        let told = replayed(&daemon);
        let found = count(&told, "netconf-config-change");
        assert!(found >= kept, "{kept} were replayed before, and {found} came back");
        kept = found;
        let mut session = daemon.client();
        for value in 0..20 + round {
            session.send(&edit(&format!("<one>{}</one>", 1 + round * 100 + value)));
            session.send("<commit/>");
        }
        for _ in 0..2 * (1 + round) {
            assert_eq!(session.receive(), Some(Answer::Ok));
        }
        daemon.kill();
    }
    let said = Command::new("ls").arg(place.path("state/events")).output().unwrap();
    assert!(String::from_utf8_lossy(&said.stdout).contains(".log"));
}

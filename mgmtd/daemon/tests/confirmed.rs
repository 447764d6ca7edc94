//! Confirmed commits of the real daemon: what a kill, a stop and a restart make of them (RFC 6241 section 8.4.1).

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

mod daemon;

use cats_mgmtd_store::{About, Confirm, Options, Record, Store};
use cats_yang_tree::error::ErrorTag;
use daemon::{Daemon, Place, Session, edit, text_of};

const CONFIRMED: &str = "<commit><confirmed/></commit>";
const NAMED: &str = "<commit><confirmed/><persist>night shift</persist></commit>";
const CONFIRM: &str = "<commit><persist-id>night shift</persist-id></commit>";

/// A daemon whose running has `one` at 1, and a session that has changed that to 2 by this commit.
fn committed(place: &Place, commit: &str) -> (Daemon, Session) {
    let daemon = place.start();
    let mut session = daemon.client();
    session.commit("<one>1</one>");
    session.ok(&edit("<one>2</one>"));
    session.ok(commit);
    assert_eq!(one(&mut session), "2");
    (daemon, session)
}

fn one(session: &mut Session) -> String {
    text_of(&session.running(), "one").unwrap().to_owned()
}

#[test]
fn the_capability_is_announced_in_both_versions() {
    let place = Place::new();
    let daemon = place.start();
    let hello = daemon.client().hello;
    for version in ["1.0", "1.1"] {
        let capability = format!("urn:ietf:params:netconf:capability:confirmed-commit:{version}");
        assert!(hello.capabilities.contains(&capability), "{version}");
    }
}

/// The case C03: the session is lost with the daemon.
#[test]
fn a_confirmed_commit_without_a_name_is_taken_back_when_the_daemon_was_killed() {
    let place = Place::new();
    let (daemon, session) = committed(&place, CONFIRMED);
    daemon.kill();
    drop(session);
    let daemon = place.start();
    let mut session = daemon.client();
    assert_eq!(one(&mut session), "1");
    assert_eq!(text_of(&session.candidate(), "one"), Some("1"));
    session.commit("<one>3</one>");
    daemon.kill();
    assert_eq!(one(&mut place.start().client()), "3", "it is settled");
}

#[test]
fn a_confirmed_commit_without_a_name_is_taken_back_by_a_daemon_that_stops() {
    let place = Place::new();
    let (daemon, _session) = committed(&place, CONFIRMED);
    assert!(daemon.terminate().success());
    assert_eq!(one(&mut place.start().client()), "1");
}

/// The case P39.
#[test]
fn a_named_confirmed_commit_waits_on_after_a_kill_and_is_confirmed_by_its_name() {
    let place = Place::new();
    let (daemon, _session) = committed(&place, NAMED);
    daemon.kill();
    let daemon = place.start();
    let mut session = daemon.client();
    assert_eq!(one(&mut session), "2");
    assert_eq!(session.refused("<commit/>").tag, ErrorTag::InUse, "it waits");
    session.ok(CONFIRM);
    daemon.kill();
    let daemon = place.start();
    let mut session = daemon.client();
    assert_eq!(one(&mut session), "2");
    assert_eq!(session.refused(CONFIRM).tag, ErrorTag::InvalidValue, "it waits no longer");
}

/// `persist` is a string without a length, so one of zero length is a name, and blanks are a part of one.
#[test]
fn a_name_may_be_empty_or_begin_with_a_blank() {
    for name in ["", " night"] {
        let place = Place::new();
        let named = format!("<commit><confirmed/><persist>{name}</persist></commit>");
        let (daemon, session) = committed(&place, &named);
        drop(session);
        daemon.kill();
        let daemon = place.start();
        let mut session = daemon.client();
        assert_eq!(one(&mut session), "2", "it has a name");
        assert_eq!(session.refused("<commit/>").tag, ErrorTag::InUse);
        let wrong = "<commit><persist-id>night</persist-id></commit>";
        assert_eq!(session.refused(wrong).tag, ErrorTag::InvalidValue);
        session.ok(&format!("<commit><persist-id>{name}</persist-id></commit>"));
    }
}

#[test]
fn a_named_confirmed_commit_can_be_cancelled_after_a_kill() {
    let place = Place::new();
    let (daemon, _session) = committed(&place, NAMED);
    daemon.kill();
    let daemon = place.start();
    let mut session = daemon.client();
    session.ok("<cancel-commit><persist-id>night shift</persist-id></cancel-commit>");
    assert_eq!(one(&mut session), "1");
}

/// The record of the commit that waits, with another deadline or another start of the machine.
fn rewrite(place: &Place, change: impl Fn(&mut Confirm)) {
    let options = Options { modules: vec![], new_instance: "none".into(), compact_at: u64::MAX };
    let mut found = Store::open(&place.path("state"), options).unwrap();
    let mut pending = found.pending.clone().unwrap();
    change(&mut pending.confirm);
    let about =
        About { revision: found.store.revision(), at: 1, user: "ada".into(), session: 1, ..About::default() };
    found.store.append(&[Record { about, changes: vec![], pending: Some(pending) }]).unwrap();
}

#[test]
fn a_named_confirmed_commit_whose_time_ran_out_meanwhile_is_taken_back_before_anything_is_served() {
    let place = Place::new();
    let (daemon, _session) = committed(&place, NAMED);
    daemon.kill();
    rewrite(&place, |confirm| confirm.deadline = 1);
    let daemon = place.start();
    let mut session = daemon.client();
    assert_eq!(one(&mut session), "1");
    assert_eq!(session.refused(CONFIRM).tag, ErrorTag::InvalidValue);
}

#[test]
fn a_named_confirmed_commit_does_not_outlive_a_start_of_the_machine() {
    let place = Place::new();
    let (daemon, _session) = committed(&place, NAMED);
    daemon.kill();
    rewrite(&place, |confirm| confirm.boot = "another".into());
    assert_eq!(one(&mut place.start().client()), "1");
}

/// The case C01, by the clock of the system.
#[test]
fn a_confirmed_commit_of_one_second_is_taken_back() {
    let place = Place::new();
    let commit = "<commit><confirmed/><confirm-timeout>1</confirm-timeout></commit>";
    let (_daemon, mut session) = committed(&place, commit);
    while one(&mut session) != "1" {
        std::thread::yield_now();
    }
}

#[test]
fn a_named_confirmed_commit_waits_on_in_a_module_set_that_it_is_taken_over_into() {
    let place = Place::new();
    let (daemon, _session) = committed(&place, NAMED);
    daemon.kill();
    let further = "module further { namespace \"urn:further\"; prefix f; leaf mark { type string; } }";
    std::fs::write(place.path("further.yang"), further).unwrap();
    let (one_module, two) = (place.path("example-knobs.yang"), place.path("further.yang"));
    let arguments = ["--extra-module", one_module.to_str().unwrap(), "--extra-module", two.to_str().unwrap()];
    for _ in 0..2 {
        place.start_with(&arguments).kill();
        assert!(place.path("state/running.snapshot").exists());
    }
    let daemon = place.start_with(&arguments);
    let mut session = daemon.client();
    session.ok("<cancel-commit><persist-id>night shift</persist-id></cancel-commit>");
    assert_eq!(one(&mut session), "1");
}

/// kill -9 amid confirmed commits, confirmations and cancels: what comes back is a whole configuration that was
/// confirmed, or one that waits for its confirmation still.
#[test]
fn whenever_the_daemon_is_killed_what_was_not_confirmed_is_taken_back() {
    let place = Place::new();
    let daemon = place.start();
    daemon.client().commit("<one>1</one><twin>1</twin>");
    daemon.kill();
    for round in 0..20_u32 {
        let daemon = place.start();
        let mut session = daemon.client();
        let before = one(&mut session);
        assert_eq!(text_of(&session.running(), "twin"), Some(before.as_str()));
        let next = round + 2;
        let confirms = round % 3 == 0;
        session.send(&edit(&format!("<one>{next}</one><twin>{next}</twin>")));
        session.send(CONFIRMED);
        session.send(if confirms { "<commit/>" } else { "<cancel-commit/>" });
        let answers = round % 4;
        for _ in 0..answers {
            session.receive();
        }
        daemon.kill();
        let daemon = place.start();
        let mut session = daemon.client();
        let found = one(&mut session);
        assert_eq!(text_of(&session.running(), "twin"), Some(found.as_str()), "half a commit");
        let allowed = if confirms { vec![before.clone(), next.to_string()] } else { vec![before.clone()] };
        assert!(allowed.contains(&found), "{found} in round {round}, {allowed:?} expected");
        if confirms && answers == 3 {
            assert_eq!(found, next.to_string(), "its confirmation was answered");
        }
    }
}

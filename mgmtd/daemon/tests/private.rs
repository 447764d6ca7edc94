//! Private candidates of the real daemon (draft-ietf-netconf-privcand-09).

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

mod daemon;

use cats_yang_tree::error::ErrorTag;
use daemon::{Daemon, Place, Session, edit, text_of};

fn update(mode: &str) -> String {
    let namespace = "urn:ietf:params:xml:ns:yang:ietf-netconf-private-candidate";
    format!("<update xmlns=\"{namespace}\"><resolution-mode>{mode}</resolution-mode></update>")
}

fn one(session: &mut Session) -> Option<String> {
    text_of(&session.candidate(), "one").map(str::to_owned)
}

#[test]
fn two_private_sessions_and_a_shared_one_work_beside_each_other() {
    let place = Place::new();
    let daemon = place.start();
    let (mut a, mut b, mut shared) = (daemon.private_client(), daemon.private_client(), daemon.client());
    let capability = "urn:ietf:params:netconf:capability:private-candidate:1.0?supported-resolution-modes=\
                      revert-on-conflict,prefer-candidate,prefer-running";
    assert!(a.hello.capabilities.iter().any(|uri| uri == capability));

    for (session, value) in [(&mut a, "1"), (&mut b, "2"), (&mut shared, "3")] {
        session.ok(&edit(&format!("<one>{value}</one>")));
    }
    assert_eq!([one(&mut a), one(&mut b), one(&mut shared)].map(Option::unwrap), ["1", "2", "3"]);

    a.ok("<commit/>");
    assert_eq!(text_of(&shared.running(), "one"), Some("1"));
    let conflict = b.refused("<commit/>");
    assert_eq!(conflict.tag, ErrorTag::OperationFailed);
    assert_eq!(conflict.path.unwrap().0, "/ek:knobs/one");
    assert_eq!(one(&mut b).as_deref(), Some("2"), "nothing is lost");
    assert_eq!(b.refused(&update("sideways")).tag, ErrorTag::InvalidValue);
    b.ok(&update("prefer-running"));
    assert_eq!(one(&mut b).as_deref(), Some("1"));
    b.ok(&edit("<one>4</one>"));
    b.ok("<commit/>");
    assert_eq!(text_of(&a.running(), "one"), Some("4"));

    assert_eq!(one(&mut shared).as_deref(), Some("3"), "the shared candidate is another");
    assert_eq!(shared.refused(&update("prefer-running")).tag, ErrorTag::OperationNotSupported);
}

#[test]
fn a_private_candidate_is_gone_with_its_session() {
    let place = Place::new();
    let daemon = place.start();
    let mut a = daemon.private_client();
    a.ok(&edit("<one>1</one>"));
    a.ok("<close-session/>");
    assert_eq!(one(&mut daemon.private_client()), None);
}

const EXEC: &str = "urn:catsd:yang:cats-exec";

fn exec(operation: &str, session: u32) -> String {
    format!("<{operation} xmlns=\"{EXEC}\"><session-id>{session}</session-id></{operation}>")
}

/// `content` in the container `detached-candidates`.
fn detached(content: &str) -> String {
    format!(
        "<routing xmlns=\"urn:ietf:params:xml:ns:yang:ietf-routing\"><cats xmlns=\"urn:ietf:params:xml:ns:yang:ietf-cats\">\
         <system xmlns=\"urn:catsd:yang:cats-system\"><detached-candidates>{content}</detached-candidates></system>\
         </cats></routing>"
    )
}

/// The sessions whose candidates can be attached.
fn listed(session: &mut Session) -> Vec<u32> {
    let found = session.data(&format!("<get><filter>{}</filter></get>", detached("<candidate/>")));
    let ids = found.split("<session-id>").skip(1).filter_map(|rest| rest.split('<').next()?.parse().ok());
    ids.collect()
}

fn limits(session: &mut Session, content: &str) {
    let config = detached(content);
    session.ok(&format!("<edit-config><target><candidate/></target><config>{config}</config></edit-config>"));
    session.ok("<commit/>");
}

/// A session that is killed with `one` at `value`; the answer says that all that goes with it is done.
fn killed(daemon: &Daemon, by: &mut Session, value: u32) -> u32 {
    let mut lost = daemon.private_client();
    lost.ok(&edit(&format!("<one>{value}</one>")));
    let id = lost.hello.session_id.unwrap();
    by.ok(&format!("<kill-session><session-id>{id}</session-id></kill-session>"));
    id
}

#[test]
fn a_lost_session_leaves_its_candidate_to_be_listed_attached_and_committed() {
    let place = Place::new();
    let daemon = place.start();
    let mut a = daemon.private_client();
    a.commit("<twin>7</twin>");
    let id = a.hello.session_id.unwrap();
    a.ok(&edit("<one>1</one><item><name>x</name></item>"));
    drop(a);
    let mut b = daemon.private_client();
    // The daemon sees the end of the connection soon.
    assert!((0..100_000).any(|_| listed(&mut b) == [id]));
    let found = b.data(&format!("<get><filter>{}</filter></get>", detached("<candidate/>")));
    for (leaf, value) in [("user", "root"), ("base-revision", "1"), ("changes", "2")] {
        assert_eq!(text_of(&found, leaf), Some(value), "{found}");
    }
    assert!(text_of(&found, "since") < text_of(&found, "until"), "{found}");
    assert_eq!(b.refused(&exec("attach-candidate", id + 100)).tag, ErrorTag::DataMissing);
    b.ok(&exec("attach-candidate", id));
    assert!(listed(&mut b).is_empty());
    b.ok("<commit/>");
    assert_eq!(text_of(&b.running(), "one"), Some("1"));
    assert_eq!(text_of(&b.running(), "name"), Some("x"));
}

#[test]
fn a_conflict_is_told_by_the_answer_and_again_by_the_commit() {
    let place = Place::new();
    let daemon = place.start();
    let (mut shared, mut b) = (daemon.client(), daemon.private_client());
    let id = killed(&daemon, &mut shared, 1);
    shared.commit("<one>2</one>");
    let told = b.output(&exec("attach-candidate", id));
    let wanted =
        format!("<conflict xmlns=\"{EXEC}\" xmlns:ek=\"{}\">/ek:knobs/ek:one</conflict>", daemon::NS);
    assert_eq!(told, wanted);
    assert_eq!(b.refused("<commit/>").path.unwrap().0, "/ek:knobs/one");
    b.ok(&edit("<one>3</one>"));
    b.ok("<commit/>");
    assert_eq!(text_of(&b.running(), "one"), Some("3"));
}

/// Every leaf of the configuration is consumed.
#[test]
fn the_limits_of_the_configuration_hold_at_once() {
    let place = Place::new();
    let daemon = place.start();
    let mut session = daemon.client();
    let ids: Vec<u32> = (1..=6).map(|value| killed(&daemon, &mut session, value)).collect();
    assert_eq!(listed(&mut session), ids[2..], "four of a user without configuration");
    limits(&mut session, "<max-per-user>3</max-per-user>");
    assert_eq!(listed(&mut session), ids[3..]);
    limits(&mut session, "<max>2</max>");
    assert_eq!(listed(&mut session), ids[4..]);
    session.ok(&exec("drop-candidate", ids[4]));
    assert_eq!(listed(&mut session), ids[5..]);
    limits(&mut session, "<keep-time>1</keep-time>");
    assert!((0..1_000_000).any(|_| listed(&mut session).is_empty()), "it is dropped within a second");
    limits(&mut session, "<max>0</max>");
    killed(&daemon, &mut session, 9);
    assert!(listed(&mut session).is_empty());
}

#[test]
fn what_a_lost_session_left_is_gone_with_the_daemon() {
    let place = Place::new();
    let daemon = place.start();
    let mut session = daemon.client();
    let id = killed(&daemon, &mut session, 1);
    assert_eq!(listed(&mut session), [id]);
    daemon.terminate();
    assert!(listed(&mut place.start().client()).is_empty());
}

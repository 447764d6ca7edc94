//! Private candidates of the real daemon (draft-ietf-netconf-privcand-09).

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

mod daemon;

use cats_yang_tree::error::ErrorTag;
use daemon::{Place, Session, edit, text_of};

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

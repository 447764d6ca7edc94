//! The history of revisions over NETCONF: told of, compared, loaded and committed, over stops, kills and the folding of the
//! journal.

#![allow(clippy::unwrap_used)] // a failed set-up is a failed test

mod daemon;

use cats_yang_tree::error::ErrorTag;
use daemon::{Place, Session, edit, text_of};

const EXEC: &str = "urn:catsd:yang:cats-exec";

fn commit(comment: &str) -> String {
    format!("<commit><comment xmlns=\"{EXEC}\">{comment}</comment></commit>")
}

fn rollback(revision: u32) -> String {
    format!("<rollback xmlns=\"{EXEC}\"><revision>{revision}</revision></rollback>")
}

fn compare(from: u32, to: Option<u32>) -> String {
    let to = to.map(|to| format!("<to>{to}</to>")).unwrap_or_default();
    format!("<compare-revision xmlns=\"{EXEC}\"><from>{from}</from>{to}</compare-revision>")
}

/// The list of revisions, as XML.
fn history(session: &mut Session) -> String {
    session.data(
        "<get><filter><routing xmlns=\"urn:ietf:params:xml:ns:yang:ietf-routing\">\
         <cats xmlns=\"urn:ietf:params:xml:ns:yang:ietf-cats\"><system xmlns=\"urn:catsd:yang:cats-system\">\
         <history/></system></cats></routing></filter></get>",
    )
}

fn numbers(session: &mut Session) -> Vec<u32> {
    let history = history(session);
    let entries = history.split("<revision>").skip(1);
    entries.map(|entry| text_of(entry, "number").unwrap().parse().unwrap()).collect()
}

fn one(session: &mut Session) -> Option<u32> {
    text_of(&session.running(), "one").map(|value| value.parse().unwrap())
}

/// Of revisions whose number is the value of `one`.
fn compare_all(session: &mut Session) {
    for from in 1..=20 {
        for to in 1..=20 {
            let differences = session.output(&compare(from, Some(to)));
            let values: Vec<_> = ["value", "source-value"].map(|name| text_of(&differences, name)).into();
            if from == to {
                assert!(!differences.contains("<edit>"), "{differences}");
            } else {
                assert!(values[0].unwrap().contains(&format!(">{to}<")), "{differences}");
                assert!(values[1].unwrap().contains(&format!(">{from}<")), "{differences}");
            }
        }
    }
}

/// Twenty commits of two sessions, with a stop and kills among them: whatever two are compared, whichever is loaded.
#[test]
fn any_two_revisions_are_compared_and_any_is_rolled_back_to_over_stops_and_kills() {
    let place = Place::new();
    let mut daemon = place.start();
    for value in 1..=20 {
        let (mut first, mut second) = (daemon.client(), daemon.client());
        let session = if value % 2 == 0 { &mut first } else { &mut second };
        session.ok(&edit(&format!("<one>{value}</one>")));
        session.ok(&commit(&format!("number {value} &amp; on")));
        match value {
            5 | 11 | 20 => daemon.kill(),
            14 => assert!(daemon.terminate().success()),
            _ => continue,
        }
        daemon = place.start();
    }
    let mut session = daemon.client();
    assert_eq!(numbers(&mut session), (1..=20).collect::<Vec<_>>());
    let told = history(&mut session);
    for part in [
        "<comment>number 7 &amp; on</comment>",
        "<transport>local</transport>",
        "<kind>commit</kind>",
        "<changes>1</changes>",
        "<user>",
        "<session-id>",
        "<time>",
    ] {
        assert!(told.contains(part), "{part} in {told}");
    }
    compare_all(&mut session);
    assert_eq!(session.output(&compare(3, None)), session.output(&compare(3, Some(20))));
    for (revision, killed) in [(7, true), (20, false), (1, true), (0, false)] {
        session.ok(&rollback(revision));
        assert_ne!(one(&mut session), Some(revision), "running waits for the commit");
        session.ok("<commit/>");
        if killed {
            daemon.kill();
            daemon = place.start();
            session = daemon.client();
        }
        assert_eq!(one(&mut session), (revision > 0).then_some(revision));
    }
    assert_eq!(numbers(&mut session).len(), 24);
}

#[test]
fn a_revision_that_is_not_kept_a_number_that_is_none_and_a_candidate_of_another_are_refused() {
    let place = Place::new();
    let module = place.path("example-knobs.yang");
    let arguments = ["--extra-module", module.to_str().unwrap(), "--history-revisions", "3"];
    let daemon = place.start_with(&arguments);
    let (mut session, mut other) = (daemon.client(), daemon.client());
    for value in 1..=5 {
        session.commit(&format!("<one>{value}</one>"));
    }
    for (operation, tag, said) in [
        (rollback(1), ErrorTag::InvalidValue, "the oldest one that is kept is 2"),
        (rollback(6), ErrorTag::InvalidValue, "the last one is 5"),
        (compare(1, None), ErrorTag::InvalidValue, "the oldest one that is kept is 2"),
        (rollback(1).replace('1', "x"), ErrorTag::InvalidValue, "the number of a revision is expected"),
        (format!("<rollback xmlns=\"{EXEC}\"/>"), ErrorTag::MissingElement, "needs a <revision>"),
        (rollback(1).replace("revision", "version"), ErrorTag::UnknownElement, "has no parameter <version>"),
    ] {
        let error = session.refused(&operation);
        assert_eq!(error.tag, tag, "{operation}: {error}");
        assert!(error.message.contains(said), "{operation}: {error}");
    }
    assert_eq!(numbers(&mut session), [3, 4, 5]);
    other.ok("<lock><target><candidate/></target></lock>");
    assert_eq!(session.refused(&rollback(4)).tag, ErrorTag::InUse);
    other.ok("<unlock><target><candidate/></target></unlock>");
    session.ok(&rollback(2));
    session.ok("<commit/>");
    assert_eq!(one(&mut session), Some(2));
}

/// The journal is folded from 16 MiB on, and what it held is in the history then.
#[test]
fn revisions_outlive_the_journal_that_they_were_recorded_in() {
    let place = Place::new();
    let daemon = place.start();
    let mut session = daemon.client();
    for value in 1..=4_u32 {
        let text = char::from_digit(value, 10).unwrap().to_string().repeat(6 << 20);
        session.commit(&format!("<one>{value}</one><deep>{text}</deep>"));
    }
    // The recorder does one thing after the other, so the third commit's folding is over.
    session.commit("<one>5</one><deep>small</deep>");
    assert!(place.path("state/running.snapshot").exists());
    daemon.kill();
    let daemon = place.start();
    let mut session = daemon.client();
    assert_eq!(numbers(&mut session), [1, 2, 3, 4, 5]);
    session.ok(&rollback(2));
    session.ok("<commit/>");
    let running = session.running();
    let text = text_of(&running, "deep").unwrap();
    assert!(text.len() == 6 << 20 && text.bytes().all(|byte| byte == b'2'));
}

#[test]
fn a_confirmed_commit_that_is_taken_back_at_a_start_is_a_revision_of_its_own_kind() {
    let place = Place::new();
    let daemon = place.start();
    let mut session = daemon.client();
    session.commit("<one>1</one>");
    session.ok(&edit("<one>2</one>"));
    session.ok("<commit><confirmed/></commit>");
    daemon.kill();
    let daemon = place.start();
    let mut session = daemon.client();
    assert_eq!(one(&mut session), Some(1));
    let told = history(&mut session);
    assert!(
        told.contains("<kind>confirmed-commit</kind>") && told.contains("<kind>recovery</kind>"),
        "{told}"
    );
    session.ok(&rollback(2));
    session.ok("<commit/>");
    assert_eq!(one(&mut session), Some(2));
}

#[test]
fn without_a_readable_history_the_daemon_runs_and_says_why_there_is_none() {
    let place = Place::new();
    let daemon = place.start();
    daemon.client().commit("<one>1</one>");
    daemon.kill();
    let path = place.path("state/history.redb");
    std::fs::write(&path, vec![7; 5_000]).unwrap();
    let daemon = place.start();
    let mut session = daemon.client();
    session.commit("<one>2</one>");
    let error = session.refused(&rollback(1));
    assert!(
        error.message.contains("there is no history") && error.message.contains("history.redb"),
        "{error}"
    );
    daemon.kill();
    std::fs::remove_file(&path).unwrap();
    // It catches up from the journal.
    let daemon = place.start();
    let mut session = daemon.client();
    session.ok(&rollback(1));
    session.ok("<commit/>");
    assert_eq!((one(&mut session), numbers(&mut session)), (Some(1), vec![1, 2, 3]));
}

#[test]
fn a_history_that_cannot_be_kept_is_an_alarm_and_is_whole_again_without_a_restart_once_it_can() {
    let place = Place::new();
    // As a full disk does, it keeps the file from being made.
    let obstacle = place.path("state/history.redb");
    std::fs::create_dir_all(&obstacle).unwrap();
    let daemon = place.start();
    let mut session = daemon.client();
    assert!(session.alarms().contains("no revisions are kept"));
    for value in 1..=3 {
        session.commit(&format!("<one>{value}</one>"));
    }
    let refusal = session.refused(&rollback(1)).message;
    assert!(refusal.contains("there is no history"), "{refusal}");
    assert_eq!(numbers(&mut session), [0; 0]);
    std::fs::remove_dir(&obstacle).unwrap();
    session.ok(&rollback(1));
    session.ok("<commit/>");
    assert_eq!((one(&mut session), numbers(&mut session)), (Some(1), vec![1, 2, 3, 4]));
    assert!(!session.alarms().contains("no revisions are kept"));
    drop(session);
    daemon.kill();
    let daemon = place.start();
    assert_eq!(numbers(&mut daemon.client()), [1, 2, 3, 4]);
}

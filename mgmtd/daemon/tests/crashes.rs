//! kill -9 in the middle of commits: running is one of the commits, never half of one, and never an older one than
//! was answered.

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

mod daemon;

use cats_mgmtd_netconf::Answer;
use daemon::{Place, Session, edit, text_of};
use std::process::Command;

/// Kills at a moment that differs from round to round: after some answers, and a while into the next commit.
const ROUNDS: u32 = 40;

#[test]
fn a_killed_daemon_comes_back_with_the_last_answered_commit_or_the_one_in_flight() {
    let place = Place::new();
    let mut kept = 0;
    for round in 0..ROUNDS {
        let daemon = place.start();
        let mut session = daemon.client();
        let running = session.running();
        let found = text_of(&running, "one").map_or(0, |value| value.parse().unwrap());
        assert_eq!(
            text_of(&running, "twin").map_or(0, |value| value.parse().unwrap()),
            found,
            "half a commit"
        );
        assert_eq!(
            running.matches("<item>").count() as u32,
            u32::from(found > 0) * 20,
            "half a commit: {running}"
        );
        assert!(found >= kept, "revision {kept} was answered, and {found} came back");
        let answers = 1 + round % 3;
        for value in found + 1..found + 12 {
            session.send(&edit(&content(value)));
            session.send("<commit/>");
        }
        for _ in 0..2 * answers {
            assert_eq!(session.receive(), Some(Answer::Ok));
        }
        kept = found + answers;
        // Work is under way; burn a little time, another amount each round, without waiting for a clock.
        let work = u64::from(round * 37 % 60) * 20_000;
        std::hint::black_box((0..work).fold(1u64, |sum, n| sum.wrapping_mul(n | 1)));
        daemon.kill();
    }
    let said = Command::new("ls").arg(place.path("state")).output().unwrap();
    assert!(String::from_utf8_lossy(&said.stdout).contains("running.journal"));
}

/// Twenty entries and two leafs that all carry `value`, so that half of it would show.
fn content(value: u32) -> String {
    let items: String =
        (0..20).map(|n| format!("<item><name>i{n}</name><size>{value}</size></item>")).collect();
    format!("<one>{value}</one>{items}<twin>{value}</twin>")
}

/// Sessions that commit at once, each with a candidate of its own.
const AT_ONCE: u32 = 6;

#[test]
fn what_any_of_several_sessions_was_answered_is_there_after_a_kill() {
    let place = Place::new();
    let mut kept = vec![0; AT_ONCE as usize];
    for round in 0..ROUNDS / 2 {
        let daemon = place.start();
        let running = daemon.client().running();
        let found: Vec<u32> = (0..AT_ONCE).map(|number| found_of(&running, number)).collect();
        let lost = kept.iter().zip(&found).any(|(kept, found)| found < kept);
        assert!(!lost, "{kept:?} were answered, and {found:?} came back");
        let sessions: Vec<Session> = (0..AT_ONCE).map(|_| daemon.private_client()).collect();
        let working = (0..).zip(sessions).zip(&found).map(|((number, mut session), found)| {
            let (found, answers) = (*found, (round + number) % 4);
            std::thread::spawn(move || {
                for value in found + 1..found + 8 {
                    session.send(&edit(&part(number, value)));
                    session.send("<commit/>");
                }
                for _ in 0..2 * answers {
                    assert_eq!(session.receive(), Some(Answer::Ok));
                }
                // Open until the daemon is killed: the rest is on its way.
                (session, found + answers)
            })
        });
        let working: Vec<_> = working.collect();
        let answered: Vec<(Session, u32)> = working.into_iter().map(|one| one.join().unwrap()).collect();
        daemon.kill();
        kept = answered.into_iter().map(|(_, value)| value).collect();
    }
}

/// What a session writes: two entries that carry the same value.
fn part(number: u32, value: u32) -> String {
    let entry = |half| format!("<item><name>s{number}-{half}</name><size>{value}</size></item>");
    [entry("a"), entry("b")].concat()
}

/// The value of that, which both entries have.
fn found_of(running: &str, number: u32) -> u32 {
    let value = |half| {
        let entry = running.split("<item>").find(|entry| entry.contains(&format!("<name>s{number}-{half}<")));
        entry.and_then(|entry| text_of(entry, "size")).map_or(0, |value| value.parse().unwrap())
    };
    assert_eq!(value("a"), value("b"), "half a commit: {running}");
    value("a")
}

#[test]
fn a_torn_last_record_is_cut_off_and_the_commit_before_it_runs() {
    let place = Place::new();
    let daemon = place.start();
    let mut session = daemon.client();
    session.commit(&content(1));
    let whole = session.running();
    session.commit(&content(2));
    daemon.kill();
    let path = place.path("state/running.journal");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..written(&bytes) - 7]).unwrap();
    let daemon = place.start();
    let mut session = daemon.client();
    assert_eq!(session.running(), whole);
    session.commit(&content(3));
    daemon.kill();
    assert_eq!(text_of(&place.start().client().running(), "one"), Some("3"));
}

#[test]
fn a_journal_that_is_damaged_before_its_end_is_refused_with_file_and_place() {
    let place = Place::new();
    let daemon = place.start();
    for value in 1..4 {
        daemon.client().commit(&content(value));
    }
    daemon.kill();
    let path = place.path("state/running.journal");
    let good = std::fs::read(&path).unwrap();
    let mut bad = good.clone();
    bad[written(&good) / 2] ^= 1;
    std::fs::write(&path, &bad).unwrap();
    let said = place.fails(&["--extra-module", place.path("example-knobs.yang").to_str().unwrap()]);
    assert!(
        said.contains("running.journal is damaged at byte") && said.contains("Restore the file"),
        "{said}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), bad, "nothing was changed");
}

/// Bytes of a journal before the room behind its last record.
fn written(journal: &[u8]) -> usize {
    journal.iter().rposition(|byte| *byte != 0).unwrap() + 1
}

#[test]
fn configuration_is_taken_over_into_a_module_set_that_it_fits_by_a_snapshot() {
    let place = Place::new();
    let daemon = place.start();
    daemon.client().commit(&content(1));
    assert!(daemon.terminate().success());
    let further = "module further { namespace \"urn:further\"; prefix f; leaf mark { type string; } }";
    std::fs::write(place.path("further.yang"), further).unwrap();
    let (one, two) = (place.path("example-knobs.yang"), place.path("further.yang"));
    let arguments = ["--extra-module", one.to_str().unwrap(), "--extra-module", two.to_str().unwrap()];
    for value in 1..3 {
        let daemon = place.start_with(&arguments);
        let mut session = daemon.client();
        assert_eq!(text_of(&session.running(), "twin"), Some(value.to_string().as_str()));
        assert!(place.path("state/running.snapshot").exists());
        session.commit(&content(value + 1));
        daemon.kill();
    }
}

#[test]
fn a_commit_that_the_disk_does_not_take_fails_and_leaves_everything_as_it_was() {
    let place = Place::new();
    let daemon = place.start_on_a_full_disk();
    let mut session = daemon.client();
    let mut good = session.running();
    let failed = (1..200).find(|value| {
        session.ok(&edit(&content(*value)));
        match session.ask("<commit/>") {
            Answer::Ok => {
                good = session.running();
                false
            }
            Answer::Errors(errors) => {
                assert!(errors[0].message.contains("the commit is not durable"), "{errors:?}");
                true
            }
            other => panic!("{other:?}"),
        }
    });
    let failed = failed.unwrap().to_string();
    for _ in 0..2 {
        assert_eq!(session.running(), good);
        assert_eq!(text_of(&session.candidate(), "twin"), Some(failed.as_str()));
        assert!(matches!(session.ask("<commit/>"), Answer::Errors(_)), "the disk is still full");
    }
    daemon.kill();
    let daemon = place.start();
    let mut session = daemon.client();
    assert_eq!(session.running(), good);
    session.commit(&content(7));
}

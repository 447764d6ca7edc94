//! The history of revisions: what stays of it over crashes, limits and journals.

#![allow(clippy::unwrap_used)] // a failed set-up is a failed test

use cats_mgmtd_store::{About, History, HistoryLimits, Revision, RevisionHead, StoreError};
use std::fs;
use std::path::Path;

const WIDE: HistoryLimits = HistoryLimits { revisions: 1000, bytes: 1 << 20 };

fn open(dir: &Path, last: u64) -> History {
    History::open(dir, "i-1", last, WIDE).unwrap()
}

fn revision(number: u64) -> Revision {
    let about = About {
        revision: number,
        at: 1_000 + number,
        user: "ada".into(),
        session: 7,
        transport: Some("ssh".into()),
        comment: Some(format!("why {number}\n\u{e9}")),
        kind: Some("commit".into()),
    };
    Revision { head: RevisionHead { about, changes: number }, undo: format!("[{number}]").into_bytes() }
}

fn numbers(history: &History) -> Vec<u64> {
    history.heads().unwrap().iter().map(|head| head.about.revision).collect()
}

#[test]
fn revisions_come_back_after_a_restart_with_all_that_is_told_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let mut history = open(dir.path(), 0);
    assert_eq!((history.last(), history.oldest(), numbers(&history)), (None, None, vec![]));
    for number in 1..=3 {
        history.add(&revision(number)).unwrap();
    }
    history.make_durable().unwrap();
    let size = history.size();
    drop(history);
    let history = open(dir.path(), 3);
    assert_eq!(history.heads().unwrap(), [1, 2, 3].map(|number| revision(number).head));
    assert_eq!(history.undo(2).unwrap(), Some(b"[2]".to_vec()));
    assert_eq!(history.undo(4).unwrap(), None);
    assert_eq!((history.oldest(), history.last(), history.size()), (Some(1), Some(3), size));
}

#[test]
fn the_file_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    open(dir.path(), 0);
    let mode = fs::metadata(dir.path().join("history.redb")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// The copy is what a crash leaves: nothing is closed in it.
#[test]
fn a_crash_takes_no_more_than_what_was_not_durable_and_leaves_no_hole() {
    for durable in 0..=4 {
        let (dir, crashed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut history = open(dir.path(), 0);
        for number in 1..=4 {
            history.add(&revision(number)).unwrap();
            if number == durable {
                history.make_durable().unwrap();
            }
        }
        fs::copy(dir.path().join("history.redb"), crashed.path().join("history.redb")).unwrap();
        let mut history = open(crashed.path(), 4);
        let found = numbers(&history);
        assert!(found.len() as u64 >= durable, "{found:?} of {durable}");
        assert_eq!(found, (1..=found.len() as u64).collect::<Vec<_>>());
        // It catches up.
        for number in found.len() as u64 + 1..=4 {
            history.add(&revision(number)).unwrap();
        }
        assert_eq!(numbers(&history), [1, 2, 3, 4]);
    }
}

#[test]
fn of_too_many_revisions_the_oldest_are_dropped_first() {
    let dir = tempfile::tempdir().unwrap();
    let limits = HistoryLimits { revisions: 3, bytes: 1 << 20 };
    let mut history = History::open(dir.path(), "i-1", 0, limits).unwrap();
    for number in 1..=300 {
        history.add(&revision(number)).unwrap();
        assert_eq!(numbers(&history), (number.saturating_sub(2).max(1)..=number).collect::<Vec<_>>());
    }
    assert_eq!(history.undo(297).unwrap(), None);
    assert_eq!(history.oldest(), Some(298));
}

#[test]
fn of_too_many_bytes_the_oldest_revisions_are_dropped_first() {
    let dir = tempfile::tempdir().unwrap();
    let limits = HistoryLimits { revisions: 1000, bytes: 5_000 };
    let mut history = History::open(dir.path(), "i-1", 0, limits).unwrap();
    let big = |number, size| Revision { undo: vec![b' '; size], ..revision(number) };
    for number in 1..=20 {
        history.add(&big(number, 1_000)).unwrap();
        assert!(history.size() <= limits.bytes && history.last() == Some(number));
    }
    assert_eq!(numbers(&history), [17, 18, 19, 20]);
    // One that does not fit by itself cuts the way back.
    history.add(&big(21, 6_000)).unwrap();
    assert_eq!((numbers(&history), history.size()), (vec![], 0));
    history.add(&big(22, 10)).unwrap();
    assert_eq!(numbers(&history), [22]);
}

#[test]
fn a_revision_behind_a_hole_begins_the_history_anew() {
    let dir = tempfile::tempdir().unwrap();
    let mut history = open(dir.path(), 0);
    for number in [1, 2, 5, 6] {
        history.add(&revision(number)).unwrap();
    }
    assert_eq!(numbers(&history), [5, 6]);
    assert_eq!(history.undo(2).unwrap(), None);
}

#[test]
fn the_revisions_of_another_journal_and_those_beyond_the_last_one_are_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let mut history = open(dir.path(), 0);
    for number in 1..=4 {
        history.add(&revision(number)).unwrap();
    }
    history.make_durable().unwrap();
    drop(history);
    assert_eq!(numbers(&open(dir.path(), 3)), [1, 2, 3]);
    let other = History::open(dir.path(), "i-2", 3, WIDE).unwrap();
    assert_eq!(numbers(&other), Vec::<u64>::new());
}

#[test]
fn a_file_that_is_no_history_is_refused_with_its_name_and_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.redb");
    let rubbish = vec![7; 5_000];
    fs::write(&path, &rubbish).unwrap();
    let refused = History::open(dir.path(), "i-1", 0, WIDE).unwrap_err();
    assert!(matches!(refused, StoreError::History { .. }));
    let said = refused.to_string();
    assert!(said.contains("history.redb") && said.contains("move the file away"), "{said}");
    assert_eq!(fs::read(&path).unwrap(), rubbish);
}

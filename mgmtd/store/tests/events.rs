//! Events come back as they were kept, whatever happens to the end of a file.

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

use cats_mgmtd_store::{EventStore, StoredEvent};
use std::fs;
use std::path::{Path, PathBuf};

fn event(seq: u64, size: usize) -> StoredEvent {
    StoredEvent { seq, at: seq * 10, text: "x".repeat(size) }
}

fn numbers(state: &Path) -> Vec<u64> {
    EventStore::open(state, 7).unwrap().1.iter().map(|event| event.seq).collect()
}

fn files(state: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(state.join("events")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some()).collect();
    files.sort();
    files
}

#[test]
fn events_are_there_after_the_store_is_opened_again_and_since_when_is_remembered() {
    let dir = tempfile::tempdir().unwrap();
    let (mut store, none) = EventStore::open(dir.path(), 7).unwrap();
    assert!(none.is_empty());
    store.append(&[event(1, 3), event(2, 0)], 1).unwrap();
    store.append(&[event(3, 5)], 1).unwrap();
    drop(store);
    let (mut store, events) = EventStore::open(dir.path(), 999).unwrap();
    assert_eq!(events, [event(1, 3), event(2, 0), event(3, 5)]);
    assert_eq!(store.created(), 7);
    store.append(&[event(4, 1)], 1).unwrap();
    assert_eq!(numbers(dir.path()), [1, 2, 3, 4]);
}

#[test]
fn a_torn_end_costs_the_torn_event_and_no_other() {
    let dir = tempfile::tempdir().unwrap();
    EventStore::open(dir.path(), 7).unwrap().0.append(&[event(1, 30), event(2, 30)], 1).unwrap();
    let file = files(dir.path()).pop().unwrap();
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 5]).unwrap();
    assert_eq!(numbers(dir.path()), [1]);
    // The next one does not stand behind the torn one.
    EventStore::open(dir.path(), 7).unwrap().0.append(&[event(3, 30)], 1).unwrap();
    assert_eq!(numbers(dir.path()), [1, 3]);
}

#[test]
fn what_is_too_old_goes_by_whole_files_and_never_what_is_still_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let (mut store, _) = EventStore::open(dir.path(), 7).unwrap();
    for seq in 1..=40 {
        store.append(&[event(seq, 64 << 10)], 1).unwrap();
    }
    let before = files(dir.path()).len();
    assert!(before > 5, "{before}");
    store.append(&[event(41, 1)], 30).unwrap();
    let left = numbers(dir.path());
    assert!(files(dir.path()).len() < before && left.contains(&30) && !left.contains(&1), "{left:?}");
    store.append(&[event(42, 1)], 43).unwrap();
    assert!(numbers(dir.path()).contains(&42));
}

#[test]
fn a_directory_that_is_none_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("events"), "a file").unwrap();
    assert!(EventStore::open(dir.path(), 7).is_err());
}

//! A state directory after crashes at every step, and after damage.

#![allow(clippy::unwrap_used)] // a failed set-up is a failed test

use cats_mgmtd_store::{
    About, Confirm, ModuleRevision, Options, Pending, Record, Recovered, Store, StoreError,
};
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

const JOURNAL: &str = "running.journal";
const SNAPSHOT: &str = "running.snapshot";

fn modules() -> Vec<ModuleRevision> {
    vec![ModuleRevision { name: "ietf-cats".into(), revision: Some("2026-01-01".into()) }]
}

fn open(dir: &Path) -> Result<Recovered, StoreError> {
    Store::open(dir, Options { modules: modules(), new_instance: "i-1".into(), compact_at: 4096 })
}

fn record(revision: u64, changes: &str) -> Record {
    let about = About { revision, at: 1_000 + revision, user: "ada".into(), session: 7, ..About::default() };
    Record { about, changes: changes.as_bytes().to_vec(), pending: None }
}

/// A confirmed commit that `undo` takes back.
fn pending(undo: &str) -> Pending {
    let confirm = Confirm {
        deadline: 9_000_000,
        timeout: 600,
        persist: Some("token \n\u{e9}".into()),
        boot: "b-1".into(),
    };
    Pending { confirm, undo: undo.as_bytes().to_vec() }
}

/// A store with commits 1..=n and its directory.
fn filled(n: u64) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state");
    let mut store = open(&path).unwrap().store;
    for revision in 1..=n {
        store.append(&[record(revision, &format!("[{revision}]"))]).unwrap();
    }
    (dir, path)
}

fn revisions(found: &Recovered) -> Vec<u64> {
    found.records.iter().map(|record| record.about.revision).collect()
}

#[test]
fn a_new_directory_is_empty_and_private() {
    use std::os::unix::fs::PermissionsExt;
    let (_dir, path) = filled(0);
    let found = open(&path).unwrap();
    assert_eq!((found.snapshot.is_none(), found.records.len(), found.store.revision()), (true, 0, 0));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(path.join(JOURNAL)).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn commits_come_back_after_a_restart_with_who_and_when() {
    let (_dir, path) = filled(3);
    let found = open(&path).unwrap();
    assert_eq!(found.records, vec![record(1, "[1]"), record(2, "[2]"), record(3, "[3]")]);
    assert_eq!((found.torn, found.modules, found.store.revision()), (0, modules(), 3));
}

#[test]
fn a_second_daemon_is_refused_while_the_first_runs_and_admitted_after_it() {
    let (_dir, path) = filled(1);
    let first = open(&path).unwrap();
    let refused = open(&path).unwrap_err();
    assert!(matches!(refused, StoreError::InUse { .. }));
    assert!(refused.to_string().contains("another --state-dir"), "{refused}");
    drop(first);
    open(&path).unwrap();
}

#[test]
fn a_crash_at_every_byte_of_the_last_record_leaves_the_commits_before_it() {
    let (_dir, path) = filled(3);
    let whole = fs::read(path.join(JOURNAL)).unwrap();
    let kept = {
        let (_dir, path) = filled(2);
        fs::read(path.join(JOURNAL)).unwrap()
    };
    for cut in kept.len()..whole.len() {
        fs::write(path.join(JOURNAL), &whole[..cut]).unwrap();
        let mut found = open(&path).unwrap();
        assert_eq!((revisions(&found), found.torn > 0), (vec![1, 2], cut > kept.len()));
        assert_eq!(fs::read(path.join(JOURNAL)).unwrap(), kept, "the tail is cut off");
        found.store.append(&[record(3, "[\"again\"]")]).unwrap();
        drop(found);
        assert_eq!(open(&path).unwrap().records[2], record(3, "[\"again\"]"));
    }
}

#[test]
fn damage_before_the_last_record_is_refused_with_place_and_remedy_and_nothing_is_changed() {
    let (_dir, path) = filled(3);
    let whole = fs::read(path.join(JOURNAL)).unwrap();
    let end_of_second = {
        let (_dir, path) = filled(2);
        fs::read(path.join(JOURNAL)).unwrap().len()
    };
    for at in 0..end_of_second {
        let mut bad = whole.clone();
        bad[at] ^= 0x10;
        fs::write(path.join(JOURNAL), &bad).unwrap();
        let refused = open(&path).unwrap_err();
        assert!(matches!(refused, StoreError::Corrupt { .. }), "byte {at}: {refused}");
        let text = refused.to_string();
        assert!(text.contains("damaged at byte") && text.contains("Restore the file"), "{text}");
        assert_eq!(fs::read(path.join(JOURNAL)).unwrap(), bad);
    }
}

#[test]
fn a_group_of_commits_is_there_as_a_whole_or_not_at_all() {
    let (_dir, path) = filled(1);
    let one = fs::read(path.join(JOURNAL)).unwrap();
    let mut store = open(&path).unwrap().store;
    let group = [
        record(2, "[2]"),
        Record { pending: Some(pending("[\"back\"]")), ..record(3, "[3]") },
        record(3, ""),
        record(4, "[4]"),
    ];
    store.append(&group).unwrap();
    drop(store);
    let whole = fs::read(path.join(JOURNAL)).unwrap();
    let found = open(&path).unwrap();
    assert_eq!((&found.records[1..], found.store.revision()), (&group[..], 4));
    drop(found);
    for cut in one.len()..whole.len() {
        fs::write(path.join(JOURNAL), &whole[..cut]).unwrap();
        assert_eq!(revisions(&open(&path).unwrap()), [1]);
    }
}

#[test]
fn a_group_with_a_revision_that_does_not_follow_is_refused_whole() {
    let (_dir, path) = filled(1);
    let mut store = open(&path).unwrap().store;
    let refused = store.append(&[record(2, "[2]"), record(4, "[4]")]).unwrap_err();
    assert!(matches!(refused, StoreError::OutOfOrder { last: 2, found: 4 }));
    store.append(&[record(2, "[2]")]).unwrap();
    drop(store);
    assert_eq!(revisions(&open(&path).unwrap()), [1, 2]);
}

#[test]
fn room_made_ahead_is_written_over_and_no_damage() {
    let (_dir, path) = filled(1);
    let mut store = open(&path).unwrap().store;
    store.make_room().unwrap();
    let length = fs::metadata(path.join(JOURNAL)).unwrap().len();
    for revision in 2..=3 {
        store.append(&[record(revision, "[]")]).unwrap();
        store.make_room().unwrap();
    }
    assert_eq!(fs::metadata(path.join(JOURNAL)).unwrap().len(), length);
    drop(store);
    let mut found = open(&path).unwrap();
    assert_eq!((revisions(&found), found.torn), (vec![1, 2, 3], 0));
    found.store.append(&[record(4, "[]")]).unwrap();
    assert_eq!(fs::metadata(path.join(JOURNAL)).unwrap().len(), length);
}

#[test]
fn a_compacted_store_starts_from_its_snapshot() {
    let (_dir, path) = filled(3);
    let mut store = open(&path).unwrap().store;
    let before = fs::metadata(path.join(JOURNAL)).unwrap().len();
    store.compact(&modules(), b"{\"a:b\":{}}", None).unwrap();
    assert!(fs::metadata(path.join(JOURNAL)).unwrap().len() < before);
    store.append(&[record(4, "[4]")]).unwrap();
    drop(store);
    let found = open(&path).unwrap();
    let snapshot = found.snapshot.as_ref().unwrap();
    assert_eq!((snapshot.revision, snapshot.config.as_slice()), (3, b"{\"a:b\":{}}".as_slice()));
    assert_eq!((revisions(&found), found.store.instance()), (vec![4], "i-1"));
}

#[test]
fn an_open_store_tells_what_its_files_hold_and_goes_on() {
    let (_dir, path) = filled(2);
    let mut store = open(&path).unwrap().store;
    assert_eq!(store.read().unwrap(), (None, vec![record(1, "[1]"), record(2, "[2]")]));
    store.compact(&modules(), b"{}", None).unwrap();
    store.append(&[record(3, "[3]")]).unwrap();
    store.make_room().unwrap();
    let (snapshot, records) = store.read().unwrap();
    assert_eq!((snapshot.unwrap().revision, records), (2, vec![record(3, "[3]")]));
    store.append(&[record(4, "[4]")]).unwrap();
    drop(store);
    assert_eq!(revisions(&open(&path).unwrap()), [3, 4]);
}

/// To open a pipe would wait for its other end for ever.
#[test]
fn a_pipe_in_place_of_a_file_is_refused_with_its_name_and_not_waited_for() {
    for name in ["lock", JOURNAL, SNAPSHOT] {
        let (_dir, path) = filled(1);
        let file = path.join(name);
        let _ = fs::remove_file(&file);
        assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
        let refused = open(&path).unwrap_err().to_string();
        assert!(refused.contains(name) && refused.contains("no plain file"), "{refused}");
    }
}

/// What it led to may be on a file system that is not mounted yet: to begin anew would lose the configuration.
#[test]
fn a_link_that_leads_nowhere_in_place_of_a_file_is_refused_and_kept() {
    for name in [JOURNAL, SNAPSHOT] {
        let (_dir, path) = filled(1);
        let file = path.join(name);
        let _ = fs::remove_file(&file);
        std::os::unix::fs::symlink("/nonexistent/file", &file).unwrap();
        let refused = open(&path).unwrap_err().to_string();
        assert!(refused.contains(name), "{refused}");
        assert!(file.is_symlink());
    }
}

/// Somebody put it there while the daemon ran.
#[test]
fn a_pipe_in_the_way_of_a_compaction_is_removed_and_not_waited_for() {
    let (_dir, path) = filled(1);
    let mut store = open(&path).unwrap().store;
    for name in [JOURNAL, SNAPSHOT] {
        let beside = path.join(format!("{name}.new"));
        assert!(std::process::Command::new("mkfifo").arg(&beside).status().unwrap().success());
    }
    store.compact(&modules(), b"{}", None).unwrap();
    drop(store);
    assert!(open(&path).unwrap().snapshot.is_some());
}

#[test]
fn a_pipe_in_place_of_the_history_is_a_history_that_cannot_be_opened() {
    let (_dir, path) = filled(1);
    let file = path.join("history.redb");
    assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
    let limits = cats_mgmtd_store::HistoryLimits { revisions: 9, bytes: 9_000 };
    let refused = cats_mgmtd_store::History::open(&path, "i-1", 1, limits).unwrap_err().to_string();
    assert!(refused.contains("history.redb") && refused.contains("no plain file"), "{refused}");
}

#[test]
fn the_journal_asks_for_compaction_at_its_bound() {
    let (_dir, path) = filled(0);
    let mut store = open(&path).unwrap().store;
    assert!(!store.wants_compaction());
    store.append(&[record(1, &" ".repeat(4096))]).unwrap();
    assert!(store.wants_compaction());
    store.compact(&modules(), b"{}", None).unwrap();
    assert!(!store.wants_compaction());
}

#[test]
fn a_compaction_that_fails_loses_nothing_and_is_asked_for_again_at_twice_the_size() {
    let (_dir, path) = filled(0);
    let mut store = open(&path).unwrap().store;
    store.append(&[record(1, &" ".repeat(4096))]).unwrap();
    fs::create_dir(path.join(SNAPSHOT)).unwrap();
    assert!(matches!(store.compact(&modules(), b"{}", None), Err(StoreError::Io { .. })));
    assert!(!store.wants_compaction());
    store.append(&[record(2, &" ".repeat(8192))]).unwrap();
    assert!(store.wants_compaction());
    fs::remove_dir(path.join(SNAPSHOT)).unwrap();
    store.compact(&modules(), b"{}", None).unwrap();
    store.append(&[record(3, &" ".repeat(4096))]).unwrap();
    assert!(store.wants_compaction());
    drop(store);
    assert_eq!(revisions(&open(&path).unwrap()), vec![3]);
}

/// A configuration that is too big for one frame, as one is from 256 MiB on.
#[test]
fn a_snapshot_is_read_from_all_its_frames() {
    let (_dir, path) = filled(1);
    let mut store = open(&path).unwrap().store;
    store.compact(&modules(), b"whole", Some(&pending("[1]"))).unwrap();
    drop(store);
    let whole = fs::read(path.join(SNAPSHOT)).unwrap();
    let length = u32::from_le_bytes(whole[4..8].try_into().unwrap()) as usize;
    let head = String::from_utf8(whole[12..12 + length].to_vec()).unwrap();
    assert!(head.contains("\"parts\":1"), "{head}");
    let undo = &whole[12 + length + framed(b"whole").len()..];
    let head = head.replace("\"parts\":1", "\"parts\":3");
    let parts = ["{\"a:", "b\":", "{}}"].map(|part| framed(part.as_bytes()));
    let written = [framed(head.as_bytes()), parts.concat(), undo.to_vec()].concat();
    fs::write(path.join(SNAPSHOT), &written).unwrap();
    let snapshot = open(&path).unwrap().snapshot.unwrap();
    assert_eq!(snapshot.config, b"{\"a:b\":{}}");
    assert_eq!(snapshot.pending, Some(pending("[1]")));
    fs::write(path.join(SNAPSHOT), &written[..written.len() - undo.len()]).unwrap();
    assert!(matches!(open(&path), Err(StoreError::Corrupt { .. })));
}

#[test]
fn a_crash_between_the_two_renames_of_a_compaction_loses_and_repeats_nothing() {
    let (_dir, path) = filled(3);
    let old_journal = fs::read(path.join(JOURNAL)).unwrap();
    let mut store = open(&path).unwrap().store;
    store.compact(&modules(), b"{}", None).unwrap();
    drop(store);
    fs::write(path.join(JOURNAL), &old_journal).unwrap();
    fs::write(path.join("running.journal.new"), b"half").unwrap();
    let mut found = open(&path).unwrap();
    assert_eq!((found.snapshot.as_ref().unwrap().revision, revisions(&found)), (3, vec![]));
    assert!(!path.join("running.journal.new").exists());
    found.store.append(&[record(4, "[4]")]).unwrap();
    drop(found);
    assert_eq!(revisions(&open(&path).unwrap()), vec![4]);
}

#[test]
fn an_unfinished_snapshot_is_ignored_and_a_damaged_one_refused() {
    let (_dir, path) = filled(2);
    fs::write(path.join("running.snapshot.new"), b"CATR half").unwrap();
    assert_eq!(revisions(&open(&path).unwrap()), vec![1, 2]);
    let mut store = open(&path).unwrap().store;
    store.compact(&modules(), b"{\"a:b\":1}", None).unwrap();
    drop(store);
    let whole = fs::read(path.join(SNAPSHOT)).unwrap();
    for at in 0..whole.len() {
        let mut bad = whole.clone();
        bad[at] ^= 1;
        fs::write(path.join(SNAPSHOT), &bad).unwrap();
        assert!(matches!(open(&path), Err(StoreError::Corrupt { .. })), "byte {at}");
        fs::write(path.join(SNAPSHOT), &whole[..at]).unwrap();
        assert!(matches!(open(&path), Err(StoreError::Corrupt { .. })), "cut at {at}");
    }
}

#[test]
fn a_journal_whose_snapshot_is_gone_is_refused_rather_than_started_empty() {
    let (_dir, path) = filled(2);
    let mut store = open(&path).unwrap().store;
    store.compact(&modules(), b"{}", None).unwrap();
    drop(store);
    fs::remove_file(path.join(SNAPSHOT)).unwrap();
    let refused = open(&path).unwrap_err().to_string();
    assert!(
        refused.contains("begins after revision 2") && refused.contains("commits are missing"),
        "{refused}"
    );
}

#[test]
fn a_lost_journal_starts_another_history_after_the_snapshot() {
    let (_dir, path) = filled(2);
    let mut store = open(&path).unwrap().store;
    store.compact(&modules(), b"{}", None).unwrap();
    drop(store);
    fs::remove_file(path.join(JOURNAL)).unwrap();
    let options = Options { modules: modules(), new_instance: "i-2".into(), compact_at: 4096 };
    let found = Store::open(&path, options).unwrap();
    assert_eq!((found.store.revision(), found.store.instance()), (2, "i-2"));
}

#[test]
fn a_revision_out_of_order_is_refused() {
    let (_dir, path) = filled(2);
    let mut store = open(&path).unwrap().store;
    let refused = store.append(&[record(5, "[]")]).unwrap_err();
    assert!(matches!(refused, StoreError::OutOfOrder { last: 2, found: 5 }));
    store.append(&[record(3, "[]")]).unwrap();
}

/// Replaces the journal's head by one of another format.
fn set_format(path: &Path, found: u32, wanted: u32) {
    let journal = fs::read(path.join(JOURNAL)).unwrap();
    let length = u32::from_le_bytes(journal[4..8].try_into().unwrap()) as usize;
    let (head, rest) = (&journal[12..12 + length], &journal[12 + length..]);
    let text = String::from_utf8(head.to_vec()).unwrap();
    let (old, new) = (format!("\"format\":{found}"), format!("\"format\":{wanted}"));
    assert!(text.contains(&old), "{text}");
    fs::write(path.join(JOURNAL), [framed(text.replace(&old, &new).as_bytes()), rest.to_vec()].concat())
        .unwrap();
}

#[test]
fn files_of_a_later_format_are_refused_by_name() {
    let (_dir, path) = filled(0);
    set_format(&path, 4, 5);
    assert!(matches!(open(&path), Err(StoreError::Format { found: 5, known: 4, .. })));
}

#[test]
fn files_of_the_first_format_are_read_and_renewed_by_a_compaction() {
    let (_dir, path) = filled(2);
    set_format(&path, 4, 1);
    let found = open(&path).unwrap();
    assert_eq!((revisions(&found), found.outdated, found.pending), (vec![1, 2], true, None));
    let mut store = found.store;
    store.compact(&modules(), b"{}", None).unwrap();
    drop(store);
    let found = open(&path).unwrap();
    assert_eq!((found.outdated, found.store.revision(), found.store.instance()), (false, 2, "i-1"));
}

#[test]
fn a_confirmed_commit_waits_until_a_record_settles_it() {
    let (_dir, path) = filled(1);
    let mut store = open(&path).unwrap().store;
    let confirmed = Record { pending: Some(pending("[\"back\"]")), ..record(2, "[2]") };
    store.append(std::slice::from_ref(&confirmed)).unwrap();
    drop(store);
    let mut found = open(&path).unwrap();
    assert_eq!((&found.records[1], found.pending), (&confirmed, Some(pending("[\"back\"]"))));
    found.store.append(&[record(3, "[3]")]).unwrap();
    drop(found.store);
    assert_eq!(open(&path).unwrap().pending, None);
}

#[test]
fn a_note_repeats_the_revision_and_says_what_becomes_of_a_confirmed_commit() {
    let (_dir, path) = filled(1);
    let mut store = open(&path).unwrap().store;
    store.append(&[Record { pending: Some(pending("[1]")), ..record(2, "[2]") }]).unwrap();
    let longer = Record { pending: Some(pending("[2]")), ..record(2, "") };
    store.append(std::slice::from_ref(&longer)).unwrap();
    drop(store);
    let mut found = open(&path).unwrap();
    assert_eq!((found.store.revision(), found.pending.clone()), (2, longer.pending));
    let refused = found.store.append(&[record(2, "[]")]).unwrap_err();
    assert!(
        matches!(refused, StoreError::OutOfOrder { last: 2, found: 2 }),
        "a change has a revision of its own"
    );
    found.store.append(&[record(2, "")]).unwrap();
    drop(found);
    let found = open(&path).unwrap();
    assert_eq!((revisions(&found), found.pending), (vec![1, 2, 2, 2], None));
}

#[test]
fn a_compaction_keeps_the_confirmed_commit_that_waits_and_a_note_behind_it_settles_it() {
    let (_dir, path) = filled(1);
    let mut store = open(&path).unwrap().store;
    store.append(&[Record { pending: Some(pending("[1]")), ..record(2, "[2]") }]).unwrap();
    let journal = fs::read(path.join(JOURNAL)).unwrap();
    store.compact(&modules(), b"{}", Some(&pending("[1]"))).unwrap();
    drop(store);
    // Also when the new journal did not come to be.
    for old in [false, true] {
        if old {
            fs::write(path.join(JOURNAL), &journal).unwrap();
        }
        let found = open(&path).unwrap();
        assert_eq!((found.records.len(), found.pending), (0, Some(pending("[1]"))));
    }
    let mut store = open(&path).unwrap().store;
    store.append(&[record(2, "")]).unwrap();
    drop(store);
    let found = open(&path).unwrap();
    assert_eq!((found.store.revision(), found.pending), (2, None));
}

#[test]
fn a_snapshot_with_a_confirmed_commit_is_refused_without_its_undo() {
    let (_dir, path) = filled(1);
    let mut store = open(&path).unwrap().store;
    store.compact(&modules(), b"{}", Some(&pending("[1]"))).unwrap();
    drop(store);
    let whole = fs::read(path.join(SNAPSHOT)).unwrap();
    for cut in 1..20 {
        fs::write(path.join(SNAPSHOT), &whole[..whole.len() - cut]).unwrap();
        assert!(matches!(open(&path), Err(StoreError::Corrupt { .. })), "cut by {cut}");
    }
}

fn framed(payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_le_bytes();
    let mut crc = !0u32;
    for byte in length.iter().chain(payload) {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
        }
    }
    [b"CATR".as_slice(), &length, &(!crc).to_le_bytes(), payload].concat()
}

#[derive(Debug, Clone)]
enum Step {
    /// The changes, and whether it waits for a confirmation.
    Commit(Vec<Vec<u8>>, bool),
    /// What becomes of a confirmed commit.
    Note(bool),
    Compact,
    Restart,
    Room,
    Crash {
        cut: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..80), 1..4), any::<bool>())
            .prop_map(|(group, waits)| Step::Commit(group, waits)),
        2 => any::<bool>().prop_map(Step::Note),
        1 => Just(Step::Compact),
        1 => Just(Step::Restart),
        1 => Just(Step::Room),
        2 => (0usize..300).prop_map(|cut| Step::Crash { cut }),
    ]
}

/// Appends two records from this revision on, of whose bytes so many get to the disk and no more.
fn tear(store: &mut Store, journal: &Path, (next, cut): (u64, usize)) {
    let before = fs::read(journal).unwrap();
    store.append(&[record(next, "[\"in flight\"]"), record(next + 1, "[\"in flight\"]")]).unwrap();
    let mut bytes = fs::read(journal).unwrap();
    let from = before.iter().zip(&bytes).position(|(old, new)| old != new).unwrap_or(before.len());
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    let cut = (from + cut).min(end);
    bytes.truncate(cut);
    bytes.extend(before.get(cut..).unwrap_or_default());
    fs::write(journal, bytes).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The reference is a plain list of acknowledged commits; a crash happens in the middle of one more.
    #[test]
    fn whatever_the_interleaving_acknowledged_commits_stay_and_no_other_appears(
        steps in proptest::collection::vec(step(), 1..30),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut store = open(dir.path()).unwrap().store;
        let mut acknowledged: Vec<Vec<u8>> = Vec::new();
        let mut folded = 0;
        let mut waiting: Option<Pending> = None;
        for (at, step) in steps.into_iter().enumerate() {
            let next_waiting = |waits: bool| waits.then(|| pending(&format!("[{at}]")));
            match step {
                Step::Commit(group, waits) => {
                    waiting = next_waiting(waits);
                    let numbered = (acknowledged.len() as u64 + 1..).zip(&group);
                    let record = |(revision, changes): (u64, &Vec<u8>)| {
                        Record { changes: changes.clone(), pending: waiting.clone(), ..record(revision, "") }
                    };
                    store.append(&numbered.map(record).collect::<Vec<_>>()).unwrap();
                    acknowledged.extend(group);
                }
                Step::Note(waits) => {
                    waiting = next_waiting(waits);
                    let note = record(acknowledged.len() as u64, "");
                    store.append(&[Record { pending: waiting.clone(), ..note }]).unwrap();
                }
                Step::Compact => {
                    store.compact(&modules(), format!("{}", acknowledged.len()).as_bytes(), waiting.as_ref()).unwrap();
                    folded = acknowledged.len();
                }
                Step::Restart => {}
                Step::Room => store.make_room().unwrap(),
                Step::Crash { cut } => {
                    tear(&mut store, &dir.path().join(JOURNAL), (acknowledged.len() as u64 + 1, cut));
                }
            }
            drop(store);
            let found = open(dir.path()).unwrap();
            let start = found.snapshot.as_ref().map_or(0, |snapshot| snapshot.revision as usize);
            prop_assert_eq!(start, folded);
            prop_assert_eq!(&found.pending, &waiting);
            let mut last = start as u64;
            let advances = |record: &&Record| std::mem::replace(&mut last, record.about.revision) < record.about.revision;
            let commits = found.records.iter().filter(advances);
            let changes: Vec<Vec<u8>> = commits.map(|record| record.changes.clone()).collect();
            prop_assert_eq!(&changes[..], &acknowledged[folded..]);
            store = found.store;
        }
    }
}

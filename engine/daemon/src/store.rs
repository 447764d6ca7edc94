//! What the engine keeps in its state directory: the configuration that it applied last, so that it forwards without
//! cats-mgmtd, and the floor of its epochs.
//!
//! `config.log` has one record a line: a snapshot, then the changes of each commit after it. A line that was torn by a
//! crash ends the log; the revision before it holds, and cats-mgmtd brings the rest with its next attachment. So
//! nothing here waits for the disk.

use crate::change::model_change;
use cats_engine_transport::management::{Change, ConfigId, Edit};
use cats_engine_types::{Epoch, Revision};
use cats_yang_model::Config;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The log is written anew when it is so much longer than its snapshot, octets, and twice as long.
const SLACK: u64 = 1 << 20;

/// Why the state directory is of no use.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {error}", file = file.display())]
pub struct StoreError {
    /// Which file.
    pub file: PathBuf,
    /// What happened.
    pub error: io::Error,
}

/// The state directory.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    log: Option<File>,
    /// Octets of the log and of the snapshot that it begins with.
    length: u64,
    snapshot: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Record {
    Snapshot { content_id: String, datastore_id: String, revision: u64, config: serde_json::Value },
    Commit { revision: u64, changes: Vec<StoredChange> },
}

#[derive(Serialize, Deserialize)]
struct StoredChange {
    path: String,
    edit: StoredEdit,
    after: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredEdit {
    Set(String),
    Delete,
    Move,
}

impl Store {
    /// Opens a state directory that exists, and reads the configuration that was applied last.
    pub fn open(dir: &Path) -> Result<(Self, ConfigId, Config), StoreError> {
        let mut store = Self { dir: dir.to_owned(), log: None, length: 0, snapshot: 0 };
        let (id, config) = store.read()?;
        // The tail may be torn: begin a clean log.
        store.write_snapshot(&id, &config)?;
        Ok((store, id, config))
    }

    /// The epoch of this start: the time, and always above the one before.
    pub fn next_epoch(&self, now_ns: u64) -> Result<Epoch, StoreError> {
        let file = self.dir.join("epoch");
        let last = match read(&file) {
            Ok(text) => String::from_utf8_lossy(&text)
                .trim()
                .parse::<u64>()
                .map_err(|error| wrap(&file, io::Error::other(error)))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(wrap(&file, error)),
        };
        let epoch = now_ns.max(last.saturating_add(1));
        replace(&file, epoch.to_string().as_bytes(), true)?;
        Ok(Epoch(epoch))
    }

    /// Keeps a whole configuration.
    pub fn write_snapshot(&mut self, id: &ConfigId, config: &Config) -> Result<(), StoreError> {
        let record = Record::Snapshot {
            content_id: id.content_id.clone(),
            datastore_id: id.datastore_id.clone(),
            revision: id.revision.0,
            config: config.to_json(),
        };
        let file = self.path();
        let line = line(&record).map_err(|error| wrap(&file, error))?;
        replace(&file, &line, false)?;
        self.log = Some(OpenOptions::new().append(true).open(&file).map_err(|error| wrap(&file, error))?);
        self.snapshot = line.len() as u64;
        self.length = self.snapshot;
        Ok(())
    }

    /// Keeps a commit. `id` and `config` are what it leads to.
    pub fn write_commit(
        &mut self,
        id: &ConfigId,
        changes: &[Change],
        config: &Config,
    ) -> Result<(), StoreError> {
        if self.length > self.snapshot.saturating_mul(2).saturating_add(SLACK) {
            return self.write_snapshot(id, config);
        }
        let file = self.path();
        let changes = changes.iter().map(stored).collect();
        let line =
            line(&Record::Commit { revision: id.revision.0, changes }).map_err(|error| wrap(&file, error))?;
        let Some(log) = &mut self.log else { return self.write_snapshot(id, config) };
        log.write_all(&line).map_err(|error| wrap(&file, error))?;
        self.length += line.len() as u64;
        Ok(())
    }

    fn path(&self) -> PathBuf {
        self.dir.join("config.log")
    }

    fn read(&self) -> Result<(ConfigId, Config), StoreError> {
        let file = self.path();
        let text = match read(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Default::default()),
            Err(error) => return Err(wrap(&file, error)),
        };
        let (mut id, mut config) = (ConfigId::default(), Config::default());
        for (index, record) in text.split_inclusive(|octet| *octet == b'\n').map(record).enumerate() {
            let applied = record.ok_or("torn or damaged").and_then(|record| {
                replay(record, &mut id, &mut config).ok_or("does not fit this release's model")
            });
            if let Err(reason) = applied {
                tracing::warn!(file = %file.display(), line = index + 1, reason, revision = %id.revision,
                    "the stored configuration ends here; the management daemon brings the rest");
                break;
            }
        }
        Ok((id, config))
    }
}

/// Takes a record over whole, or not at all.
fn replay(record: Record, id: &mut ConfigId, config: &mut Config) -> Option<()> {
    match record {
        Record::Snapshot { content_id, datastore_id, revision, config: json } => {
            *config = Config::from_json(&json).ok()?;
            *id = ConfigId { content_id, datastore_id, revision: Revision(revision) };
        }
        Record::Commit { revision, changes } => {
            let mut next = config.clone();
            for change in changes.into_iter().map(restored) {
                next.apply(&model_change(&change).ok()?).ok()?;
            }
            *config = next;
            id.revision = Revision(revision);
        }
    }
    Some(())
}

fn stored(change: &Change) -> StoredChange {
    let edit = match &change.edit {
        Edit::Set(value) => StoredEdit::Set(value.clone()),
        Edit::Delete => StoredEdit::Delete,
        Edit::Move => StoredEdit::Move,
    };
    StoredChange { path: change.path.clone(), edit, after: change.after.clone() }
}

fn restored(change: StoredChange) -> Change {
    let edit = match change.edit {
        StoredEdit::Set(value) => Edit::Set(value),
        StoredEdit::Delete => Edit::Delete,
        StoredEdit::Move => Edit::Move,
    };
    Change { path: change.path, edit, after: change.after }
}

/// A line: a checksum in hex, a space, the record.
fn line(record: &Record) -> io::Result<Vec<u8>> {
    let json = serde_json::to_string(record).map_err(io::Error::other)?;
    Ok(format!("{:016x} {json}\n", checksum(json.as_bytes())).into_bytes())
}

fn record(line: &[u8]) -> Option<Record> {
    let text = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (sum, json) = text.split_once(' ')?;
    let known = u64::from_str_radix(sum, 16).ok()?;
    (known == checksum(json.as_bytes())).then(|| serde_json::from_str(json).ok())?
}

/// FNV-1a, 64 bits: tells a torn line from a whole one.
fn checksum(octets: &[u8]) -> u64 {
    octets
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, octet| (sum ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01b3))
}

/// A plain file and nothing else: to open a pipe waits for its other end.
fn read(file: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(file)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no plain file: move it away"));
    }
    let mut octets = Vec::new();
    file.read_to_end(&mut octets).map(|_| octets)
}

fn replace(file: &Path, octets: &[u8], durable: bool) -> Result<(), StoreError> {
    let fresh = file.with_extension("new");
    // What a crash has left, or anything else.
    let _ = fs::remove_file(&fresh);
    let written = File::create(&fresh).and_then(|mut out| {
        out.write_all(octets)?;
        if durable { out.sync_all() } else { Ok(()) }
    });
    written.map_err(|error| wrap(&fresh, error))?;
    fs::rename(&fresh, file).map_err(|error| wrap(file, error))
}

fn wrap(file: &Path, error: io::Error) -> StoreError {
    StoreError { file: file.to_owned(), error }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "/ietf-routing:routing/ietf-cats:cats/base/flow-timeout";

    fn id(revision: u64) -> ConfigId {
        ConfigId { content_id: "c".to_owned(), datastore_id: "d".to_owned(), revision: Revision(revision) }
    }

    fn set(seconds: u32) -> Change {
        Change { path: NAME.to_owned(), edit: Edit::Set(seconds.to_string()), after: None }
    }

    fn commit(store: &mut Store, config: &mut Config, revision: u64, seconds: u32) {
        config.apply(&model_change(&set(seconds)).unwrap()).unwrap();
        store.write_commit(&id(revision), &[set(seconds)], config).unwrap();
    }

    #[test]
    fn commits_are_there_after_a_restart_and_a_torn_line_costs_only_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let (mut store, found, mut config) = Store::open(dir.path()).unwrap();
        assert_eq!(found, ConfigId::default());
        store.write_snapshot(&id(1), &config).unwrap();
        commit(&mut store, &mut config, 2, 60);
        commit(&mut store, &mut config, 3, 90);
        drop(store);
        let (_, found, read) = Store::open(dir.path()).unwrap();
        assert_eq!((found, &read), (id(3), &config));

        let (mut store, _, mut config) = Store::open(dir.path()).unwrap();
        commit(&mut store, &mut config, 4, 30);
        drop(store);
        let file = dir.path().join("config.log");
        let whole = fs::read(&file).unwrap();
        fs::write(&file, &whole[..whole.len() - 7]).unwrap();
        let (_, found, read) = Store::open(dir.path()).unwrap();
        assert_eq!((found, read), (id(3), read_after(90)));
    }

    /// To open a pipe would wait for its other end for ever.
    #[test]
    fn a_pipe_in_place_of_a_file_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let (store, ..) = Store::open(dir.path()).unwrap();
        for name in ["epoch", "config.log"] {
            let file = dir.path().join(name);
            let _ = fs::remove_file(&file);
            assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
            let refused = match name {
                "epoch" => store.next_epoch(1).map(drop).unwrap_err(),
                _ => Store::open(dir.path()).map(drop).unwrap_err(),
            };
            assert!(
                refused.to_string().contains(name) && refused.to_string().contains("no plain file"),
                "{refused}"
            );
        }
    }

    fn read_after(seconds: u32) -> Config {
        let mut config = Config::default();
        config.apply(&model_change(&set(seconds)).unwrap()).unwrap();
        config
    }

    #[test]
    fn the_log_stays_within_twice_its_snapshot_and_some() {
        let dir = tempfile::tempdir().unwrap();
        let (mut store, _, mut config) = Store::open(dir.path()).unwrap();
        for revision in 1..20_000 {
            commit(&mut store, &mut config, revision, u32::try_from(revision).unwrap());
        }
        assert!(fs::metadata(dir.path().join("config.log")).unwrap().len() < SLACK + 4096);
        drop(store);
        assert_eq!(Store::open(dir.path()).unwrap().2, config);
    }

    #[test]
    fn an_epoch_is_never_used_twice_even_when_the_clock_goes_back() {
        let dir = tempfile::tempdir().unwrap();
        let (store, ..) = Store::open(dir.path()).unwrap();
        assert_eq!(store.next_epoch(1000).unwrap(), Epoch(1000));
        assert_eq!(store.next_epoch(500).unwrap(), Epoch(1001));
        assert_eq!(store.next_epoch(2000).unwrap(), Epoch(2000));
    }
}

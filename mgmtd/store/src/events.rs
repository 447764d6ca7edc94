//! The events that are kept for replay: segments of frames, of which the oldest goes as a whole.
//!
//! `events/NUMBER.log` begins with the event of that number. Nothing here is made durable by itself: what was written
//! outlives this process, and a machine that loses its power loses the last seconds of it. A frame that is torn or damaged
//! ends its segment; those behind it are read all the same.

use crate::error::StoreError;
use crate::files;
use crate::frame::{Scan, encode, scan};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A segment is followed by another one when it has so many bytes.
const SEGMENT: u64 = 256 << 10;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredEvent {
    /// Its number; they count up.
    pub seq: u64,
    /// When it happened: microseconds since 1970-01-01T00:00:00Z.
    pub at: u64,
    /// What it says.
    pub text: String,
}

/// The first frame of the directory's own file: since when events are kept.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    created: u64,
}

/// The directory, open for more events.
#[derive(Debug)]
pub struct EventStore {
    dir: PathBuf,
    /// The first event of each segment.
    segments: BTreeMap<u64, PathBuf>,
    /// The segment that grows, and its size.
    open: Option<(File, u64)>,
    created: u64,
}

impl EventStore {
    /// Opens the directory below the state directory `state`, making it if need be, and reads what is there in order.
    /// `now` becomes the time since when events are kept, if that is not known.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn open(state: &Path, now: u64) -> Result<(Self, Vec<StoredEvent>), StoreError> {
        let dir = state.join("events");
        files::create_dir(&dir)?;
        let segments = segments(&dir)?;
        let mut events: Vec<StoredEvent> = Vec::new();
        for path in segments.values() {
            let last = events.last().map_or(0, |event| event.seq);
            let bytes = files::read(path)?.unwrap_or_default();
            events.extend(read(&bytes).into_iter().filter(|event| event.seq > last));
        }
        let created = created(&dir, events.first().map_or(now, |event| event.at))?;
        Ok((Self { dir, segments, open: None, created }, events))
    }

    /// Since when events are kept: microseconds since 1970-01-01T00:00:00Z.
    pub fn created(&self) -> u64 {
        self.created
    }

    /// Writes events behind what is there, and drops segments that hold none from `oldest` on.
    ///
    /// # Errors
    /// When they cannot be written: then none of them is there, and they can be given again.
    pub fn append(&mut self, events: &[StoredEvent], oldest: u64) -> Result<(), StoreError> {
        // Room first: the disk may be full of what nobody wants any more.
        self.forget(oldest);
        let Some(first) = events.first() else { return Ok(()) };
        let mut bytes = Vec::new();
        for event in events {
            bytes.extend(encode(&serde_json::to_vec(event).map_err(StoreError::Encode)?));
        }
        if self.open.as_ref().is_none_or(|(_, size)| *size >= SEGMENT) {
            self.begin(first.seq)?;
        }
        let Some((file, size)) = &mut self.open else { return Ok(()) };
        if let Err(error) = file.write_all(&bytes) {
            // A part of it may be there: whoever reads stops at it, so nothing may follow it.
            if file.set_len(*size).is_err() {
                self.open = None;
            }
            return Err(StoreError::io("write events to", &self.dir)(error));
        }
        *size += bytes.len() as u64;
        Ok(())
    }

    /// Lets go of all events.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn clear(&mut self) -> Result<(), StoreError> {
        self.open = None;
        while let Some((seq, path)) = self.segments.pop_first() {
            if let Err(error) = fs::remove_file(&path) {
                let failed = StoreError::io("remove", &path)(error);
                self.segments.insert(seq, path);
                return Err(failed);
            }
        }
        Ok(())
    }

    fn begin(&mut self, seq: u64) -> Result<(), StoreError> {
        let path = self.dir.join(format!("{seq:020}.log"));
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
        let file = file.map_err(StoreError::io("create", &path))?;
        // What a failed write left, with the same number.
        file.set_len(0).map_err(StoreError::io("empty", &path))?;
        self.segments.insert(seq, path);
        self.open = Some((file, 0));
        Ok(())
    }

    /// A file that cannot be removed is tried again with the next one.
    fn forget(&mut self, oldest: u64) {
        let begins: Vec<u64> = self.segments.keys().copied().collect();
        for pair in begins.windows(2) {
            if let [first, next] = pair
                && *next <= oldest
                && let Some(path) = self.segments.get(first)
                && fs::remove_file(path).is_ok()
            {
                self.segments.remove(first);
            }
        }
    }
}

fn segments(dir: &Path) -> Result<BTreeMap<u64, PathBuf>, StoreError> {
    let entries = fs::read_dir(dir).map_err(StoreError::io("read", dir))?;
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    Ok(paths
        .filter_map(|path| {
            let number = path.file_name()?.to_str()?.strip_suffix(".log")?.parse().ok()?;
            Some((number, path))
        })
        .collect())
}

fn read(bytes: &[u8]) -> Vec<StoredEvent> {
    let (mut events, mut offset) = (Vec::new(), 0);
    while let Scan::Record { payload, next } = scan(bytes, offset) {
        events.extend(serde_json::from_slice::<StoredEvent>(payload).ok());
        offset = next;
    }
    events
}

/// Since when events are kept, which is written when it is not known.
fn created(dir: &Path, now: u64) -> Result<u64, StoreError> {
    let path = dir.join("created");
    let bytes = files::read(&path)?.unwrap_or_default();
    if let Scan::Record { payload, .. } = scan(&bytes, 0)
        && let Ok(head) = serde_json::from_slice::<Head>(payload)
    {
        return Ok(head.created);
    }
    let head = serde_json::to_vec(&Head { created: now }).map_err(StoreError::Encode)?;
    files::replace(&path, &[&encode(&head)])?;
    Ok(now)
}

//! The journal file: its head and the commits since.

use crate::error::StoreError;
use crate::files;
use crate::frame::{self, Scan};
use crate::record::{FORMAT, JournalHead, Record, is_known, join, split};
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes of room that are made at once.
const ROOM: u64 = 256 << 10;

/// An open journal, positioned after its last whole record.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    pub(crate) head: JournalHead,
    /// Offset of the next record.
    end: u64,
    /// Length of the file: zeros from `end` on.
    room: u64,
    poisoned: Option<String>,
}

/// What was found in a journal.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) journal: Journal,
    pub(crate) records: Vec<Record>,
    /// Bytes of an incomplete last write that were cut off.
    pub(crate) torn: u64,
}

impl Journal {
    /// Creates an empty journal in place of whatever is at `path`.
    pub(crate) fn create(path: &Path, head: JournalHead) -> Result<Self, StoreError> {
        let bytes = frame::encode(&join(&head, b"")?);
        files::replace(path, &[&bytes])?;
        Self::at(path, head, bytes.len() as u64)
    }

    /// Reads a journal's bytes, cuts off a torn tail and opens it for appending.
    pub(crate) fn recover(path: &Path, bytes: &[u8]) -> Result<Found, StoreError> {
        let (head, records, offset) = Self::read(path, bytes)?;
        let mut journal = Self::at(path, head, offset as u64)?;
        let torn = frame::written(bytes).saturating_sub(offset) as u64;
        if torn > 0 {
            journal.cut()?;
        } else {
            journal.room = bytes.len() as u64;
        }
        Ok(Found { journal, records, torn })
    }

    /// What is in a journal's bytes: its head, its records, and the offset behind the last whole one.
    pub(crate) fn read(path: &Path, bytes: &[u8]) -> Result<(JournalHead, Vec<Record>, usize), StoreError> {
        let (head, mut offset) = read_head(path, bytes)?;
        let mut records: Vec<Record> = Vec::new();
        let mut last = head.base;
        loop {
            match frame::scan(bytes, offset) {
                Scan::Record { payload, next } => {
                    let corrupt = |what| StoreError::corrupt(path, offset as u64, what);
                    for record in Record::decode(payload).map_err(corrupt)? {
                        let record = follows(last, record).map_err(corrupt)?;
                        last = record.about.revision;
                        records.push(record);
                    }
                    offset = next;
                }
                Scan::Damaged { what, next_good } => {
                    let what = format!("{what}, and a whole record follows at byte {next_good}");
                    return Err(StoreError::corrupt(path, offset as u64, what));
                }
                Scan::End | Scan::Torn => return Ok((head, records, offset)),
            }
        }
    }

    /// Appends records and makes them durable with one write, as long as they fit one frame. After an error nothing of
    /// them stays, or the journal is closed for writing.
    pub(crate) fn append(&mut self, group: &[Record]) -> Result<(), StoreError> {
        if let Some(reason) = &self.poisoned {
            return Err(StoreError::Poisoned { path: self.path.clone(), reason: reason.clone() });
        }
        let mut end = self.end;
        for frame in frames(group)? {
            if let Err(error) = self.file.write_all(&frame).and_then(|()| self.file.sync_data()) {
                let failure = StoreError::io("append to", &self.path)(error);
                if let Err(undo) = self.cut() {
                    self.poisoned = Some(format!("{failure}; {undo}"));
                }
                return Err(failure);
            }
            end += frame.len() as u64;
        }
        self.end = end;
        self.room = self.room.max(end);
        Ok(())
    }

    /// Writes zeros behind the last record when there are few: what is written over them becomes durable without a change
    /// of the file's length or place, which costs about half.
    pub(crate) fn make_room(&mut self) -> Result<(), StoreError> {
        if self.room.saturating_sub(self.end) >= ROOM / 2 || self.poisoned.is_some() {
            return Ok(());
        }
        let zeros = vec![0; ROOM as usize];
        self.file
            .write_all_at(&zeros, self.room)
            .and_then(|()| self.file.sync_data())
            .map_err(StoreError::io("make room in", &self.path))?;
        self.room += ROOM;
        Ok(())
    }

    /// Bytes of its records.
    pub(crate) fn size(&self) -> u64 {
        self.end
    }

    fn at(path: &Path, head: JournalHead, end: u64) -> Result<Self, StoreError> {
        let mut file = files::plain(OpenOptions::new().read(true).write(true), path)
            .map_err(StoreError::io("open", path))?;
        file.seek(SeekFrom::Start(end)).map_err(StoreError::io("seek in", path))?;
        Ok(Self { path: path.to_path_buf(), file, head, end, room: end, poisoned: None })
    }

    fn cut(&mut self) -> Result<(), StoreError> {
        self.room = self.end;
        self.file
            .set_len(self.end)
            .and_then(|()| self.file.seek(SeekFrom::Start(self.end)))
            .and_then(|_| self.file.sync_data())
            .map_err(StoreError::io("truncate", &self.path))
    }
}

/// The records in as few frames as possible.
fn frames(group: &[Record]) -> Result<Vec<Vec<u8>>, StoreError> {
    let mut frames = Vec::new();
    let mut rest = group;
    while !rest.is_empty() {
        let (now, later) = rest.split_at(fitting(rest)?);
        frames.push(frame_of(now)?);
        rest = later;
    }
    Ok(frames)
}

/// How many of the first records one frame holds: at least one.
fn fitting(records: &[Record]) -> Result<usize, StoreError> {
    let (mut size, mut count) = (0, 0);
    for record in records {
        // The longer one of its two heads.
        size += record.head(true)?.len() + record.body_len();
        if size > frame::MAX_PAYLOAD {
            break;
        }
        count += 1;
    }
    Ok(count.max(1))
}

fn frame_of(records: &[Record]) -> Result<Vec<u8>, StoreError> {
    let last = records.len().saturating_sub(1);
    let heads = records.iter().enumerate().map(|(at, record)| record.head(at < last));
    let heads: Vec<Vec<u8>> = heads.collect::<Result<_, _>>()?;
    let pieces = heads.iter().zip(records).flat_map(|(head, record)| {
        let [changes, undo] = record.body();
        [head.as_slice(), changes, undo]
    });
    let pieces: Vec<&[u8]> = pieces.collect();
    let size = pieces.iter().map(|piece| piece.len()).sum();
    match size > frame::MAX_PAYLOAD {
        true => Err(StoreError::TooBig { size, limit: frame::MAX_PAYLOAD }),
        false => Ok(frame::encode_pieces(&pieces)),
    }
}

fn read_head(path: &Path, bytes: &[u8]) -> Result<(JournalHead, usize), StoreError> {
    // A journal is renamed into place whole, so a bad head is damage even when nothing follows it.
    let Scan::Record { payload, next } = frame::scan(bytes, 0) else {
        return Err(StoreError::corrupt(path, 0, "the journal's head is not readable"));
    };
    let (head, _) = split::<JournalHead>(payload).map_err(|what| StoreError::corrupt(path, 0, what))?;
    if !is_known(head.format) {
        return Err(StoreError::Format { path: path.to_path_buf(), found: head.format, known: FORMAT });
    }
    Ok((head, next))
}

fn follows(last: u64, record: Record) -> Result<Record, String> {
    if record.is_next(last) {
        Ok(record)
    } else {
        Err(format!("revision {} follows revision {last}", record.about.revision))
    }
}

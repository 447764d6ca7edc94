//! What the files hold: one line of JSON that says what it is, a line feed, and a body that the store never reads.

use crate::error::StoreError;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Version of the files' layout. 1 had no confirmed commits, 2 one commit a frame, 3 one frame for the configuration of a
/// snapshot.
pub(crate) const FORMAT: u32 = 4;

/// Whether this version reads files of `format`.
pub(crate) fn is_known(format: u32) -> bool {
    (1..=FORMAT).contains(&format)
}

/// One committed change of the running configuration; or a note, which repeats the last revision, changes nothing
/// and only says what becomes of a confirmed commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Who and when.
    pub about: About,
    /// The changes, as the JSON list of `yang/tree`: qualified paths and RFC 7951 values. Empty in a note.
    pub changes: Vec<u8>,
    /// The confirmed commit that waits for its confirmation from here on; none settles any before.
    pub pending: Option<Pending>,
}

/// A confirmed commit that is not confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// Until when, and by whom.
    pub confirm: Confirm,
    /// The changes from the record's configuration back to the one before the confirmed commit.
    pub undo: Vec<u8>,
}

/// The head of a [`Pending`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirm {
    /// When its time is up: microseconds since 1970-01-01T00:00:00Z.
    pub deadline: u64,
    /// The time that it was given, seconds.
    pub timeout: u32,
    /// Its `persist` (RFC 6241 section 8.4.5.1); absent: it ends with its session.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub persist: Option<String>,
    /// Names the time from a start of the machine to the next.
    pub boot: String,
}

/// The head of a [`Record`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The revision that running has after it; one more than the record before.
    pub revision: u64,
    /// Microseconds since 1970-01-01T00:00:00Z when the commit was decided.
    pub at: u64,
    /// User of the session that committed.
    pub user: String,
    /// Its session-id; 0 for the daemon itself.
    pub session: u32,
    /// What the session came over; absent for the daemon itself, and where that was not recorded yet.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub transport: Option<String>,
    /// What the user said of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub comment: Option<String>,
    /// What kind of commit it was, in the words of whoever records it; absent where that was not recorded yet.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kind: Option<String>,
}

/// A whole running configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The revision it has.
    pub revision: u64,
    /// The module set it was valid in.
    pub modules: Vec<ModuleRevision>,
    /// The configuration as one RFC 7951 JSON object.
    pub config: Vec<u8>,
    /// The confirmed commit that waited when it was made.
    pub pending: Option<Pending>,
}

/// One implemented module of the set that stored configuration belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ModuleRevision {
    /// Its name.
    pub name: String,
    /// Its revision, if it has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub revision: Option<String>,
}

/// The first record of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JournalHead {
    pub(crate) format: u32,
    /// Names this history: a new one when the journal was lost, so that equal revisions of two histories differ.
    pub(crate) instance: String,
    /// The revision before the first record.
    pub(crate) base: u64,
    pub(crate) modules: Vec<ModuleRevision>,
}

/// The first line of a snapshot; the configuration follows in `parts` frames, and with `confirm` the undo in another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SnapshotHead {
    pub(crate) format: u32,
    pub(crate) revision: u64,
    pub(crate) modules: Vec<ModuleRevision>,
    #[serde(default = "one")]
    pub(crate) parts: usize,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) confirm: Option<Confirm>,
}

fn one() -> usize {
    1
}

/// The first line of a record; with `confirm` the undo stands behind the changes.
#[derive(Debug, Serialize, Deserialize)]
struct RecordHead {
    #[serde(flatten)]
    about: About,
    /// Bytes of the body, when another record follows it in the same frame.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    size: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    confirm: Option<PendingHead>,
}

#[derive(Debug, Serialize, Deserialize)]
struct PendingHead {
    #[serde(flatten)]
    confirm: Confirm,
    /// Bytes of the undo.
    undo: usize,
}

impl JournalHead {
    /// The head of the journal that goes on from `base`.
    pub(crate) fn after(&self, base: u64) -> Self {
        Self { format: FORMAT, base, ..self.clone() }
    }
}

impl Record {
    /// Can it stand behind a record of revision `last`?
    pub(crate) fn is_next(&self, last: u64) -> bool {
        let note = self.changes.is_empty() && self.about.revision == last;
        note || self.about.revision == last + 1
    }

    /// Its head as it stands before the body; `more` when another record follows in the same frame.
    pub(crate) fn head(&self, more: bool) -> Result<Vec<u8>, StoreError> {
        let size = more.then(|| self.body_len());
        let confirm = self.pending.as_ref();
        let confirm =
            confirm.map(|pending| PendingHead { confirm: pending.confirm.clone(), undo: pending.undo.len() });
        join(&RecordHead { about: self.about.clone(), size, confirm }, b"")
    }

    /// What stands behind the head.
    pub(crate) fn body(&self) -> [&[u8]; 2] {
        [&self.changes, self.pending.as_ref().map_or(&[], |pending| &pending.undo)]
    }

    /// Bytes of the body.
    pub(crate) fn body_len(&self) -> usize {
        self.body().iter().map(|part| part.len()).sum()
    }

    /// The records of a frame.
    pub(crate) fn decode(mut payload: &[u8]) -> Result<Vec<Self>, String> {
        let mut records = Vec::new();
        loop {
            let (head, body) = split::<RecordHead>(payload)?;
            let Some(size) = head.size else {
                records.push(Self::of(head, body)?);
                return Ok(records);
            };
            let (body, rest) = body.split_at_checked(size).ok_or("a record is longer than its frame")?;
            records.push(Self::of(head, body)?);
            payload = rest;
        }
    }

    fn of(RecordHead { about, confirm, .. }: RecordHead, body: &[u8]) -> Result<Self, String> {
        let Some(PendingHead { confirm, undo }) = confirm else {
            return Ok(Self { about, changes: body.to_vec(), pending: None });
        };
        let at = body.len().checked_sub(undo).ok_or("a record's undo is longer than the record")?;
        let (changes, undo) = body.split_at(at);
        Ok(Self { about, changes: changes.to_vec(), pending: Some(Pending { confirm, undo: undo.to_vec() }) })
    }
}

/// Head and body as one payload.
pub(crate) fn join(head: &impl Serialize, body: &[u8]) -> Result<Vec<u8>, StoreError> {
    let mut payload = serde_json::to_vec(head).map_err(StoreError::Encode)?;
    payload.push(b'\n');
    payload.extend_from_slice(body);
    Ok(payload)
}

/// The reverse of [`join`].
pub(crate) fn split<H: DeserializeOwned>(payload: &[u8]) -> Result<(H, &[u8]), String> {
    let at = payload.iter().position(|byte| *byte == b'\n').ok_or("a record has no head")?;
    let (head, body) = payload.split_at(at);
    let head =
        serde_json::from_slice(head).map_err(|error| format!("a record's head is not readable: {error}"))?;
    Ok((head, body.get(1..).unwrap_or_default()))
}

//! What the files hold: one line of JSON that says what it is, a line feed, and a body that the store never reads.

use crate::error::StoreError;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Version of the files' layout.
pub(crate) const FORMAT: u32 = 1;

/// One committed change of the running configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Who and when.
    pub about: About,
    /// The changes, as the JSON list of `yang/tree`: qualified paths and RFC 7951 values.
    pub changes: Vec<u8>,
}

/// The head of a [`Record`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The revision that running has after it; one more than the record before.
    pub revision: u64,
    /// Microseconds since 1970-01-01T00:00:00Z when the commit was decided.
    pub at: u64,
    /// User of the session that committed.
    pub user: String,
    /// Its session-id; 0 for the daemon itself.
    pub session: u32,
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

/// The first line of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SnapshotHead {
    pub(crate) format: u32,
    pub(crate) revision: u64,
    pub(crate) modules: Vec<ModuleRevision>,
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

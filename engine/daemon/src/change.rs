//! From the changes of the management protocol to those of the typed configuration.

use cats_engine_transport::management::{Change, Edit, Fault};
use cats_yang_model::{ApplyError, Operation};

/// The change as the typed configuration takes it.
pub(crate) fn model_change(change: &Change) -> Result<cats_yang_model::Change, Fault> {
    let operation = match &change.edit {
        Edit::Set(value) => Operation::Set(serde_json::from_str(value).map_err(|error| Fault {
            path: change.path.clone(),
            tag: "malformed-message".to_owned(),
            app_tag: None,
            message: format!("the value is no JSON: {error}"),
        })?),
        Edit::Delete => Operation::Delete,
        Edit::Move => Operation::Move,
    };
    Ok(cats_yang_model::Change { path: change.path.clone(), operation, after: change.after.clone() })
}

/// A change or snapshot that the typed configuration does not take: the two daemons are of different releases.
pub(crate) fn fault_of(error: &ApplyError) -> Fault {
    let (path, tag) = match error {
        ApplyError::MalformedPath { path, .. } => (path.clone(), "malformed-message"),
        ApplyError::Unknown { path } => (path.clone(), "unknown-element"),
        ApplyError::Missing { path } => (path.clone(), "data-missing"),
        ApplyError::Value { path, .. } => (path.clone(), "invalid-value"),
    };
    Fault { path, tag: tag.to_owned(), app_tag: None, message: error.to_string() }
}

//! Changes of a configuration, as they come with a commit.

use crate::field::{At, Rooted};
use crate::generated::Config;
use crate::generated::state::State;
use crate::path;
use cats_yang_tree::diff::{Record, RecordOperation};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value as Json;

/// One change of a configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The instance path in the RFC 7951 form: of a leaf, a leaf-list entry (`[.='value']`), a container or a list
    /// entry; or of a whole leaf-list, without predicate.
    pub path: String,
    /// What happens to it.
    pub operation: Operation,
    /// For a user-ordered leaf-list: the path of the entry that it stands after, an empty string for the first
    /// place; absent for the last one.
    pub after: Option<String>,
}

/// What a change does.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    /// The node has this value now, whatever it had: what RFC 7951 writes on the right of the member name. A list
    /// entry is one object, with or without its keys.
    Set(Json),
    /// The node and what is below it are gone.
    Delete,
    /// An entry of a user-ordered leaf-list goes to another place.
    Move,
}

impl From<Record> for Change {
    fn from(record: Record) -> Self {
        let operation = match record.operation {
            RecordOperation::Create | RecordOperation::Replace => {
                Operation::Set(record.value.unwrap_or(Json::Null))
            }
            RecordOperation::Delete => Operation::Delete,
            RecordOperation::Move => Operation::Move,
        };
        Self { path: record.path, operation, after: record.after }
    }
}

/// Why a change, or a snapshot, cannot be taken over. The configuration may have been changed in part then: apply
/// changes to a clone, and drop it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// The path is not of the RFC 7951 form.
    #[error("malformed path {path:?} at octet {offset}: {expected} expected")]
    MalformedPath {
        /// The path.
        path: String,
        /// Where it goes wrong.
        offset: usize,
        /// What should stand there.
        expected: &'static str,
    },
    /// There is no such node in the model.
    #[error("no configuration node {path}")]
    Unknown {
        /// The node.
        path: String,
    },
    /// The node, or one above it, is not there.
    #[error("{path} is not there")]
    Missing {
        /// The first one that is not there.
        path: String,
    },
    /// A value that the node's type cannot hold.
    #[error("{path}: {reason}")]
    Value {
        /// The node.
        path: String,
        /// What is wrong with the value.
        reason: String,
    },
}

impl Config {
    /// The configuration of a snapshot: one RFC 7951 object of top-level members. Members that the model does not
    /// have are left out.
    ///
    /// # Errors
    /// The first node that the model cannot hold.
    pub fn from_json(snapshot: &Json) -> Result<Self, ApplyError> {
        read(snapshot)
    }

    /// The configuration as one RFC 7951 object. Defaults that are not set are left out.
    pub fn to_json(&self) -> Json {
        write(self)
    }

    /// Whether the model has anything in the top-level node `name` of `module`.
    pub fn reaches_into(module: &str, name: &str) -> bool {
        Self::top_level().any(|top| top.split_once(':') == Some((module, name)))
    }

    /// The top-level nodes that the model has anything in, as `module:name`.
    pub fn top_level() -> impl Iterator<Item = &'static str> {
        Self::ROOTS.iter().filter_map(|members| members.first().copied())
    }

    /// Makes one change; false when it concerns nothing that the model has.
    ///
    /// # Errors
    /// When the path or the value does not fit the model or the configuration; see [`ApplyError`].
    pub fn apply(&mut self, change: &Change) -> Result<bool, ApplyError> {
        apply(self, change)
    }
}

impl State {
    /// State from one RFC 7951 object of top-level members; configuration in it is refused, but for keys.
    ///
    /// # Errors
    /// The first node that the model cannot hold.
    pub fn from_json(state: &Json) -> Result<Self, ApplyError> {
        read(state)
    }

    /// The state as one RFC 7951 object.
    pub fn to_json(&self) -> Json {
        write(self)
    }
}

fn read<T: Rooted>(whole: &Json) -> Result<T, ApplyError> {
    let mut tree = T::default();
    if !whole.is_object() {
        return Err(ApplyError::Value { path: "/".to_owned(), reason: "an object is expected".to_owned() });
    }
    for (index, members) in T::ROOTS.iter().enumerate() {
        let found = members.iter().try_fold(whole, |at, member| at.get(member));
        if let (Some(value), Some(field)) = (found, tree.root(index)) {
            field.read(value, &At::root(&members.join("/")))?;
        }
    }
    Ok(tree)
}

fn write<T: Rooted>(tree: &T) -> Json {
    let mut whole = Json::Object(serde_json::Map::new());
    for (members, field) in T::ROOTS.iter().zip(tree.roots()) {
        let Some(value) = field.write() else { continue };
        let mut at = &mut whole;
        for member in *members {
            at = &mut at[*member];
        }
        *at = value;
    }
    whole
}

fn apply<T: Rooted>(tree: &mut T, change: &Change) -> Result<bool, ApplyError> {
    let steps = path::parse(&change.path)?;
    let names: Vec<&str> = steps.iter().map(|step| step.member.as_str()).collect();
    for (index, members) in T::ROOTS.iter().enumerate() {
        if members.len() > names.len() && members.starts_with(&names) {
            // A non-presence container above ours never changes, only what is in it.
            return Err(ApplyError::Unknown { path: change.path.clone() });
        }
        if !names.starts_with(members) {
            continue;
        }
        let (own, rest) = steps.split_at(members.len());
        if let (Some(step), Some(field)) = (own.last(), tree.root(index)) {
            field.apply(step, rest, change, &At::root(&members.join("/")))?;
            return Ok(true);
        }
    }
    Ok(false)
}

macro_rules! serde_by_json {
    ($($tree:ty),*) => {$(
        impl Serialize for $tree {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.to_json().serialize(serializer)
            }
        }

        impl<'de> Deserialize<'de> for $tree {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let json = Json::deserialize(deserializer)?;
                Self::from_json(&json).map_err(serde::de::Error::custom)
            }
        }
    )*};
}

serde_by_json!(Config, State);

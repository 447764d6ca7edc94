//! The YANG schema as plain data, and the datastore value: an immutable tree with shared nodes and keyed,
//! ordered children, its edits, differences, filters and encodings.
//!
//! This crate must not know where a schema comes from (libyang is `yang/schema`'s alone), what NETCONF is
//! beyond the words of its errors, or what any module means. It has no I/O, no clock and no randomness.
//!
//! - [`schema`] and its look-ups ([`schema::Schema::indexed`]); [`build`] makes small schemas by hand
//! - [`tree`] holds data, [`value`] leaf values, [`path`] names places, [`map`] is the persistent map of lists
//! - [`edit()`] applies [`Ops`] (from XML, from JSON or one by one) and gives a new tree
//! - [`diff()`] gives the [`ChangeSet`] between two trees, which can be applied and encoded
//! - [`view()`] is what a reader sees: defaults, subtree filters, XML and JSON
//! - [`xpath`] reads and evaluates XPath 1.0 expressions of modules and filters
//! - [`validate()`] checks what a single edit cannot
//! - [`operation`] is what RPCs and actions are given and what they answer, [`notice`] what is told unasked

pub mod build;
pub mod diff;
pub mod edit;
pub mod error;
mod index;
pub mod json;
pub mod map;
pub mod notice;
pub mod operation;
pub mod ops;
pub mod path;
pub mod pattern;
pub mod schema;
mod size;
pub mod time;
pub mod tree;
pub mod validate;
pub mod value;
pub mod view;
pub mod xml;
pub mod xpath;

pub use diff::{Change, ChangeSet, Record, diff, diff_of_few};
pub use edit::edit;
pub use ops::{DefaultOperation, Operation, Ops};
pub use path::{InstancePath, Key, Place, Step};
pub use size::unshared;
pub use tree::{Branch, Data, Found, Part, Tree};
pub use validate::validate;
pub use value::Value;
pub use view::{Defaults, Origin, Origins, Subtree, View, view};

/// The parser of [`xml`], for callers that hand in elements of a larger message.
pub use roxmltree;

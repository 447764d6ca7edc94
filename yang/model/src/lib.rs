//! The typed configuration and state, generated from the YANG modules by `cargo xtask codegen`: plain structs whose
//! lists are the persistent maps of yang/tree and whose containers and entries stand behind
//! [`Arc`](std::sync::Arc), so that a clone is cheap and shares what is equal.
//!
//! - [`generated`] holds [`Config`] and, by module, the structs, enumerations and unions below it. A leaf is an
//!   `Option`, but for keys and leafs that are always there; a leaf with a default has a method of its name that
//!   applies it.
//! - [`Config::from_json`] reads a snapshot, [`Config::apply`] makes one [`Change`] at a cost that does not depend
//!   on the size of the configuration, [`Config::to_json`] writes it.
//! - [`State`] is what a node tells of itself, with the keys above it; its containers are never absent, its leafs
//!   are all optional but for keys.
//!
//! This crate must not know where a configuration comes from or what its values mean. It assumes that it is valid:
//! it checks what its types can hold, and neither ranges nor constraints.

pub mod change;
pub mod field;
pub mod generated;
pub mod leaf;
pub mod operation;
mod path;
pub mod pushed;

pub use change::{ApplyError, Change, Operation};
pub use field::{Branch, Entry, LeafList, List};
pub use generated::operations;
pub use generated::state::State;
pub use generated::{CONFIG_LEAVES, Config, ON_CHANGE, STATE_LEAVES};
pub use leaf::{Decimal64, Empty, Leaf};

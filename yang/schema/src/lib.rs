//! The only user of libyang. It compiles YANG modules into the plain [`Schema`] of yang/tree, keeps the modules'
//! text for `get-schema`, and judges whole configurations as the oracle of yang/tree's own validation.
//!
//! This crate must not know datastores, sessions or what a module means. With datapath/kernel it is one of the
//! two crates that hold `unsafe`; all of it is in `raw`, `oracle` and `memory`.
//!
//! libyang's contexts are never freed: a process loads one module set at its start, and what points into it can
//! then be `'static`.
//!
//! [`Schema`]: cats_yang_tree::schema::Schema

mod compile;
mod convert;
mod faults;
mod memory;
mod modules;
mod oracle;
mod raw;
mod targets;
mod types;

pub use compile::{Compiled, load};
pub use memory::{keep_little_memory, return_memory};
pub use modules::{ModuleSource, default_modules};
pub use oracle::{Document, Validated};

//! From the typed configuration to the engine's words, and the checks that YANG cannot say.
//!
//! Pure, so that the management daemon refuses a commit by [`Checked`] whether or not an engine is connected, and the
//! engine reads the same configuration by the same functions.

mod addresses;
mod agent;
mod check;
mod forwarder;
mod places;
mod selector;
mod services;

pub use agent::{MetricAgent, metric_agent};
pub use check::{Checked, check};
pub use selector::path_selector;
pub use services::{cs_id, csci_id};

use cats_engine_types::{Micros, NodeId};
use cats_yang_model::Decimal64;
use std::fmt::Display;

/// Where the configuration of CATS begins.
pub const CATS: &str = "/ietf-routing:routing/ietf-cats:cats";

/// Why a configuration is refused: one NETCONF error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// RFC 7951 instance path of the offending node.
    pub path: String,
    /// Error-tag of RFC 6241.
    pub tag: String,
    /// Error-app-tag.
    pub app_tag: Option<String>,
    /// For people: what is wrong and what to do.
    pub message: String,
}

/// A value that the engine's types refuse.
pub fn invalid(path: String, error: &dyn Display) -> Violation {
    Violation { path, tag: "invalid-value".to_owned(), app_tag: None, message: error.to_string() }
}

/// The value, or nothing and a violation.
pub fn noted<T, E: Display>(
    value: Result<T, E>,
    violations: &mut Vec<Violation>,
    path: impl FnOnce() -> String,
) -> Option<T> {
    value.map_err(|error| violations.push(invalid(path(), &error))).ok()
}

/// The name of a node, or nothing and a violation.
pub fn node(name: &str, violations: &mut Vec<Violation>, path: impl FnOnce() -> String) -> Option<NodeId> {
    noted(name.parse::<NodeId>(), violations, path)
}

/// Milliseconds with three fraction digits are microseconds.
pub fn micros(value: Decimal64<3>) -> Micros {
    Micros(u64::try_from(value.scaled()).unwrap_or(0))
}

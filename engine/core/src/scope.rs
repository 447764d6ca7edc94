//! For which services a peer is authorised.

use cats_engine_types::CsId;
use std::collections::BTreeSet;

/// The services that a peer may speak of, or may be told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// All of them.
    All,
    /// These alone.
    Only(BTreeSet<CsId>),
}

impl Scope {
    /// Whether the service is among them.
    pub fn covers(&self, cs_id: CsId) -> bool {
        match self {
            Self::All => true,
            Self::Only(services) => services.contains(&cs_id),
        }
    }
}

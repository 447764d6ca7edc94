//! What an agent thinks of an SCI as a source of reports.

/// How far an SCI is to be relied upon as a source of reports (SMA-12). What it says of its own health is another
/// matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SciState {
    /// Discovered, and not yet confirmed to be healthy.
    Active,
    /// Reports as it should.
    Healthy,
    /// Nothing was heard of it within the TTL.
    Stale,
    /// Nothing was heard of it within the grace period either: it counts as not reachable.
    Failed,
}

impl SciState {
    /// Every state, in order.
    pub const ALL: [Self; 4] = [Self::Active, Self::Healthy, Self::Stale, Self::Failed];

    /// The name as the documents print it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "ACTIVE",
            Self::Healthy => "HEALTHY",
            Self::Stale => "STALE",
            Self::Failed => "FAILED",
        }
    }
}

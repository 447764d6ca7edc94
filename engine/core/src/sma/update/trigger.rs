//! What the difference between what was told and what holds is worth.

use super::config::{OptionalMetrics, Thresholds};
use crate::sma::northbound::Urgency;
use crate::sma::transform::Percent;
use cats_engine_types::{Health, MetricRecord, Price, Sample};

/// Why something is told, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Trigger {
    /// It is to be seen no longer.
    Withdrawal,
    /// Its health is worse, or not known any more.
    Health,
    /// Its last slot is taken.
    NoSlots,
    /// Its security level is another one.
    Security,
    /// Its health is better, or it has slots again.
    Recovery,
    /// It was not told of before, or takes requests elsewhere.
    Discovery,
    /// A metric changed by more than its threshold.
    Metric,
    /// Something smaller is different, or the report behind it is a newer one.
    Renewal,
}

impl Trigger {
    /// Every trigger, in order.
    pub const ALL: [Self; 8] = [
        Self::Withdrawal,
        Self::Health,
        Self::NoSlots,
        Self::Security,
        Self::Recovery,
        Self::Discovery,
        Self::Metric,
        Self::Renewal,
    ];

    /// Whether it passes before all that can wait.
    pub const fn urgency(self) -> Urgency {
        match self {
            Self::Withdrawal | Self::Health | Self::NoSlots | Self::Security | Self::Recovery => {
                Urgency::Critical
            }
            Self::Discovery | Self::Metric | Self::Renewal => Urgency::Routine,
        }
    }

    /// Whether it is critical.
    pub const fn is_critical(self) -> bool {
        matches!(self.urgency(), Urgency::Critical)
    }
}

/// What it is worth that `new` holds where `told` was told; nothing where they say the same. A change of what is
/// `left_out` waits for other changes.
pub(super) fn trigger(
    told: Option<&MetricRecord>,
    new: &MetricRecord,
    thresholds: &Thresholds,
    left_out: OptionalMetrics,
) -> Option<Trigger> {
    let Some(told) = told else { return Some(Trigger::Discovery) };
    let (before, after) = (&told.sample, &new.sample);
    let (was, is) = (rank(before.health), rank(after.health));
    if is > was || (before.health != after.health && is == was) {
        Some(Trigger::Health)
    } else if before.gas > 0 && after.gas == 0 {
        Some(Trigger::NoSlots)
    } else if before.security_level != after.security_level {
        Some(Trigger::Security)
    } else if is < was || (before.gas == 0 && after.gas > 0) {
        Some(Trigger::Recovery)
    } else if told.locator != new.locator {
        Some(Trigger::Discovery)
    } else if told.flagged != new.flagged || exceeds(before, after, thresholds, left_out) {
        Some(Trigger::Metric)
    } else if before != after || told.taken != new.taken || told.valid_for != new.valid_for {
        Some(Trigger::Renewal)
    } else {
        None
    }
}

/// Whether it takes requests.
pub(super) fn serves(record: &MetricRecord) -> bool {
    record.sample.health.admits()
}

/// How bad it is.
fn rank(health: Health) -> u8 {
    match health {
        Health::Healthy => 0,
        Health::Degraded => 1,
        Health::Unhealthy | Health::Unknown => 2,
    }
}

fn exceeds(before: &Sample, after: &Sample, thresholds: &Thresholds, left_out: OptionalMetrics) -> bool {
    let gas = (u64::from(before.gas), u64::from(after.gas));
    let slots = thresholds.gas_slots.is_some_and(|slots| gas.0.abs_diff(gas.1) > u64::from(slots));
    let price = match (before.price, after.price) {
        (Some(Price(before)), Some(Price(after))) => {
            beyond(u64::from(before), u64::from(after), thresholds.price_share)
        }
        (before, after) => before != after,
    };
    slots
        || beyond(gas.0, gas.1, thresholds.gas_share)
        || beyond(before.computing_time.0, after.computing_time.0, thresholds.computing_time_share)
        || (price && !left_out.price)
        || (before.reputation != after.reputation && !left_out.reputation)
}

/// Whether two values are apart by more than this share of the first one.
fn beyond(before: u64, after: u64, share: Percent) -> bool {
    let whole = u128::from(Percent::ALL.as_thousandths());
    let apart = u128::from(before.abs_diff(after));
    apart * whole > u128::from(before) * u128::from(share.as_thousandths())
}

#[cfg(test)]
mod tests;

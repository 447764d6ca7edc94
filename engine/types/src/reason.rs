//! Why a candidate was taken, ranked lower or dropped: data that displays, so that a decision that nobody
//! looks at formats nothing.

use crate::{Family, Gas, Health, Micros, Price, Score};
use std::fmt;

/// What candidates are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Criterion {
    /// Computing time, µs; lower wins.
    ComputingTime,
    /// Price; lower wins.
    Price,
    /// Distance from the requested price; lower wins.
    PriceDistance,
    /// Path delay, µs; lower wins.
    PathDelay,
    /// Computing time and path delay, µs; lower wins.
    TotalDelay,
    /// Weighted min-max score, billionths; lower wins.
    Score,
    /// The `affinity` leaf; higher wins.
    Affinity,
    /// The `priority` leaf; lower wins.
    Priority,
    /// Slots after reservations; higher wins.
    Gas,
    /// The identity itself; smaller wins.
    CsciId,
}

/// A value of a criterion. The largest number stands for an absent price and for no limit of slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Measure {
    /// What it is a value of.
    pub criterion: Criterion,
    /// The value, in the criterion's unit; 0 where the criterion is the identity.
    pub value: u64,
}

impl Measure {
    /// An absent price, or slots without limit.
    pub const ABSENT: u64 = u64::MAX;
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value;
        match self.criterion {
            Criterion::ComputingTime => write!(f, "computing time {}", Micros(value)),
            Criterion::PathDelay => write!(f, "path delay {}", Micros(value)),
            Criterion::TotalDelay => write!(f, "total delay {}", Micros(value)),
            Criterion::Price if value == Self::ABSENT => f.write_str("no price"),
            Criterion::Price => write!(f, "price {value}"),
            Criterion::PriceDistance if value == Self::ABSENT => f.write_str("no price"),
            Criterion::PriceDistance => write!(f, "price distance {value}"),
            Criterion::Score => write!(f, "score {}.{:09}", value / 1_000_000_000, value % 1_000_000_000),
            Criterion::Affinity => write!(f, "affinity {value}"),
            Criterion::Priority => write!(f, "priority {value}"),
            Criterion::Gas if value == Self::ABSENT => f.write_str("slots without limit"),
            Criterion::Gas => write!(f, "slots {value}"),
            Criterion::CsciId => f.write_str("csci-id"),
        }
    }
}

/// Why a candidate was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Win {
    /// No other was eligible.
    OnlyCandidate {
        /// The first criterion of the policy.
        own: Measure,
    },
    /// It ranked before the next one.
    Before {
        /// The first criterion in which the two differ.
        own: Measure,
        /// The next one's value of it.
        next: Measure,
    },
    /// The flow was bound to it before and stays.
    Kept,
}

impl fmt::Display for Win {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Win::OnlyCandidate { own } => write!(f, "{own}, the only eligible candidate"),
            Win::Before { own, .. } if own.criterion == Criterion::CsciId => {
                f.write_str("smaller csci-id, all else equal")
            }
            Win::Before { own, next } => write!(f, "{own} before {next}"),
            Win::Kept => f.write_str("the flow is bound to it and stays"),
        }
    }
}

/// Why an eligible candidate was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Loss {
    /// The selected one ranked before it.
    Behind {
        /// Its own value of the first criterion in which the two differ.
        own: Measure,
        /// The selected one's.
        selected: Measure,
    },
    /// The flow stayed at the instance that it was bound to before.
    NotCompared,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Loss::Behind { own, .. } if own.criterion == Criterion::CsciId => {
                f.write_str("larger csci-id, all else equal")
            }
            Loss::Behind { own, selected } => write!(f, "{own} behind {selected}"),
            Loss::NotCompared => f.write_str("not compared: the flow stays where it is bound"),
        }
    }
}

/// Which rule dropped a candidate. Values that are not known fail a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Ineligible {
    /// The catalogue has it, but no metric record.
    #[error("no metrics are known of it")]
    NoMetrics,
    /// Switched off in the catalogue.
    #[error("the instance is not enabled")]
    Disabled,
    /// Its metrics are no longer valid.
    #[error("its metrics expired")]
    Expired,
    /// A source that may not speak for it.
    #[error("the source of its metrics is not authorised")]
    UnauthorisedSource,
    /// It does not serve.
    #[error("health {}", health_name(*.0))]
    Health(Health),
    /// Its free capacity is 0 %.
    #[error("service ratio 0 %")]
    ServiceRatio,
    /// Too few slots.
    #[error("slots {} less {reserved} reserved, {requested} wanted", slots(*gas))]
    Gas {
        /// As reported.
        gas: Gas,
        /// Reserved by flows that no report holds yet.
        reserved: u32,
        /// Wanted.
        requested: u32,
    },
    /// Above the bound, or not known.
    #[error("price {} above {max}", known(price.map(|p| p.0)), max = max.0)]
    Price {
        /// Of the candidate.
        price: Option<Price>,
        /// Bound.
        max: Price,
    },
    /// Below the bound, or not known.
    #[error("reputation {} below {}", known(value.map(u8::from)), u8::from(*min))]
    Reputation {
        /// Of the candidate.
        value: Option<Score>,
        /// Bound.
        min: Score,
    },
    /// Below the bound, or not known.
    #[error("security level {} below {}", known(value.map(u8::from)), u8::from(*min))]
    SecurityLevel {
        /// Of the candidate.
        value: Option<Score>,
        /// Bound.
        min: Score,
    },
    /// Above the bound.
    #[error("computing time {value} above {max}")]
    ComputingTime {
        /// Of the candidate.
        value: Micros,
        /// Bound.
        max: Micros,
    },
    /// It has no address of the flow's family.
    #[error("no {} locator", family_name(*.0))]
    NoLocator(Family),
    /// Its egress is not attached to this C-PS.
    #[error("its egress is not attached")]
    EgressDetached,
    /// Its egress has not provisioned the delivery.
    #[error("its egress has no delivery to it")]
    NoDelivery,
    /// Its egress could not provision the delivery.
    #[error("the delivery failed at its egress")]
    DeliveryFailed,
    /// Nothing is known of the path.
    #[error("no path from the ingress is known")]
    NoPathRecord,
    /// The network says that there is no path.
    #[error("not reachable from the ingress")]
    Unreachable,
    /// What is known of the path is no longer valid.
    #[error("the path record expired")]
    PathExpired,
    /// Above the bound.
    #[error("path delay {value} above {max}")]
    NetworkDelay {
        /// Of the path.
        value: Micros,
        /// Bound.
        max: Micros,
    },
    /// Below the bound, or not known.
    #[error("bandwidth {} kbit/s below {min} kbit/s", known(*value))]
    Bandwidth {
        /// Of the path, kbit/s.
        value: Option<u32>,
        /// Bound, kbit/s.
        min: u32,
    },
    /// Above the bound, or not known.
    #[error("jitter {} above {max}", known(*value))]
    Jitter {
        /// Of the path.
        value: Option<Micros>,
        /// Bound.
        max: Micros,
    },
    /// Above the bound, or not known.
    #[error("loss {} ppm above {max} ppm", known(*value))]
    Loss {
        /// Of the path, ppm.
        value: Option<u32>,
        /// Bound, ppm.
        max: u32,
    },
    /// Above the bound.
    #[error("total delay {value} above {max}")]
    TotalDelay {
        /// Computing time and path delay.
        value: Micros,
        /// Bound.
        max: Micros,
    },
}

fn known<T: fmt::Display>(value: Option<T>) -> String {
    value.map_or_else(|| "unknown".to_owned(), |value| value.to_string())
}

fn slots(gas: Gas) -> String {
    match gas {
        Gas::Slots(slots) => slots.to_string(),
        Gas::Unlimited => "without limit".to_owned(),
    }
}

fn health_name(health: Health) -> &'static str {
    match health {
        Health::Healthy => "healthy",
        Health::Degraded => "degraded",
        Health::Unhealthy => "unhealthy",
        Health::Unknown => "unknown",
    }
}

fn family_name(family: Family) -> &'static str {
    match family {
        Family::V4 => "IPv4",
        Family::V6 => "IPv6",
    }
}

//! The metrics that rules know.

use cats_engine_types::Health;

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Things that are counted.
    Count,
    /// Microseconds, written in milliseconds.
    Time,
}

/// The longest computing time that a rule may name, in microseconds: one hour, as in the definition of the metric.
const LONGEST: u64 = 3_600_000_000;

macro_rules! numbers {
    ($($(#[$doc:meta])* $variant:ident $name:literal $unit:ident $max:expr;)*) => {
        /// A metric that is a number.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Number { $($(#[$doc])* $variant,)* }

        impl Number {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name in rules.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            pub(super) const fn unit(self) -> Unit {
                match self { $(Self::$variant => Unit::$unit,)* }
            }

            /// The largest value; the least one is 0.
            pub(super) const fn largest(self) -> u64 {
                match self { $(Self::$variant => $max,)* }
            }
        }
    };
}

numbers! {
    /// The sum of the slots of all SCIs of the service at this site, as reported.
    SiteGas "Site_GAS" Count u64::MAX;
    /// SCIs of the service at this site.
    SiteScis "Site_SCIs" Count u32::MAX as u64;
    /// Those of them that are HEALTHY.
    SiteHealthy "Site_Healthy" Count u32::MAX as u64;
    /// Those of them that are DEGRADED.
    SiteDegraded "Site_Degraded" Count u32::MAX as u64;
    /// Those of them that are UNHEALTHY.
    SiteUnhealthy "Site_Unhealthy" Count u32::MAX as u64;
    /// Those of them whose health is UNKNOWN.
    SiteUnknown "Site_Unknown" Count u32::MAX as u64;
    /// Slots of the SCI.
    Gas "SCI_GAS" Count u32::MAX as u64;
    /// Slots of the SCI as reported, before smoothing and rules.
    RawGas "Raw_GAS" Count u32::MAX as u64;
    /// Computing time of the SCI.
    ComputingTime "Computing_Time" Time LONGEST;
    /// Computing time of the SCI as reported, before smoothing and rules.
    RawComputingTime "Raw_Computing_Time" Time LONGEST;
    /// Price.
    Price "Price" Count u32::MAX as u64;
    /// Reputation.
    Reputation "Reputation" Count 10;
    /// Security level.
    SecurityLevel "Security_Level" Count 10;
    /// HEALTHY instances behind the SCI.
    HealthyInstances "Healthy_Instances" Count u32::MAX as u64;
    /// DEGRADED instances behind the SCI.
    DegradedInstances "Degraded_Instances" Count u32::MAX as u64;
    /// UNHEALTHY instances behind the SCI.
    UnhealthyInstances "Unhealthy_Instances" Count u32::MAX as u64;
    /// Instances behind the SCI of which nothing is known.
    UnknownInstances "Unknown_Instances" Count u32::MAX as u64;
}

impl Number {
    /// Whether it is the same for all SCIs of a service.
    pub(super) const fn is_of_site(self) -> bool {
        match self {
            Self::SiteGas
            | Self::SiteScis
            | Self::SiteHealthy
            | Self::SiteDegraded
            | Self::SiteUnhealthy
            | Self::SiteUnknown => true,
            Self::Gas
            | Self::RawGas
            | Self::ComputingTime
            | Self::RawComputingTime
            | Self::Price
            | Self::Reputation
            | Self::SecurityLevel
            | Self::HealthyInstances
            | Self::DegradedInstances
            | Self::UnhealthyInstances
            | Self::UnknownInstances => false,
        }
    }
}

/// A number that actions can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// Slots.
    Gas,
    /// Computing time.
    ComputingTime,
    /// Price.
    Price,
    /// Reputation.
    Reputation,
    /// Security level.
    SecurityLevel,
}

impl Target {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Gas, Self::ComputingTime, Self::Price, Self::Reputation, Self::SecurityLevel];

    /// The metric that is changed.
    pub const fn number(self) -> Number {
        match self {
            Self::Gas => Number::Gas,
            Self::ComputingTime => Number::ComputingTime,
            Self::Price => Number::Price,
            Self::Reputation => Number::Reputation,
            Self::SecurityLevel => Number::SecurityLevel,
        }
    }
}

/// What a word at the place of a metric stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    Number(Number),
    Health,
    State,
    Service,
    Instance,
    Time,
    Flagged,
}

/// Further names, and those of what is no number.
const NAMES: [(&str, Named); 14] = [
    ("SCI_Health", Named::Health),
    ("SCI_State", Named::State),
    ("CS_ID", Named::Service),
    ("CSCI_ID", Named::Instance),
    ("Time", Named::Time),
    ("Flagged", Named::Flagged),
    ("GAS", Named::Number(Number::Gas)),
    ("SCI_Computing_Time", Named::Number(Number::ComputingTime)),
    ("SCI_Price", Named::Number(Number::Price)),
    ("SCI_Reputation", Named::Number(Number::Reputation)),
    ("SCI_Security_Level", Named::Number(Number::SecurityLevel)),
    ("Health", Named::Health),
    ("State", Named::State),
    ("SCI_Raw_GAS", Named::Number(Number::RawGas)),
];

impl Named {
    pub(super) fn find(word: &str) -> Option<Self> {
        Self::all().find(|(name, _)| super::words::alike(name, word)).map(|(_, named)| named)
    }

    /// Every name that can stand at the place of a metric.
    pub(super) fn all() -> impl Iterator<Item = (&'static str, Self)> {
        Number::ALL.iter().map(|number| (number.name(), Self::Number(*number))).chain(NAMES)
    }
}

/// The name of a health in rules.
pub(super) const fn health_name(health: Health) -> &'static str {
    match health {
        Health::Healthy => "HEALTHY",
        Health::Degraded => "DEGRADED",
        Health::Unhealthy => "UNHEALTHY",
        Health::Unknown => "UNKNOWN",
    }
}

pub(super) const HEALTHS: [Health; 4] =
    [Health::Healthy, Health::Degraded, Health::Unhealthy, Health::Unknown];

impl Named {
    /// The name in the normal form.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Number(number) => number.name(),
            Self::Health => "SCI_Health",
            Self::State => "SCI_State",
            Self::Service => "CS_ID",
            Self::Instance => "CSCI_ID",
            Self::Time => "Time",
            Self::Flagged => "Flagged",
        }
    }
}

//! METRIC (RFC 5440 section 7.8).

use crate::codec::wire::{Ieee754, flags, layout};

flags! {
    /// What a metric is there for.
    pub struct MetricFlags: u8 {
        /// B: its value is a bound.
        BOUND = 0x01,
        /// C: the reply is to say its value.
        COMPUTED = 0x02,
    }
}

flags! {
    /// Which metric; others are kept.
    pub struct MetricType: u8 {
        /// Of the IGP.
        IGP = 1,
        /// Of traffic engineering.
        TE = 2,
        /// The number of hops.
        HOPS = 3,
        /// The number of SIDs (RFC 8664).
        SID_DEPTH = 11,
        /// Delay in microseconds (RFC 8233).
        DELAY = 12,
        /// Variation of delay in microseconds (RFC 8233).
        DELAY_VARIATION = 13,
        /// Loss as a fraction (RFC 8233).
        LOSS = 14,
    }
}

layout! {
    /// A metric of a path, as a bound or as a result.
    pub struct Metric {
        /// Without a meaning.
        pub reserved: u16,
        /// What it is there for.
        pub flags: MetricFlags,
        /// Which it is.
        pub kind: MetricType,
        /// Its value.
        pub value: Ieee754,
    }
}

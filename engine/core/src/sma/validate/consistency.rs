//! Values that contradict each other (SMA-6).

use super::{Contradiction, Doubts};
use cats_engine_types::Sample;

/// Refuses what cannot be true.
///
/// Where no instance serves, there are no slots. So the slots of a site whose SCIs are all UNHEALTHY sum up to 0, and
/// a site that has slots has an SCI that serves.
pub(in super::super) fn check(sample: &Sample) -> Result<(), Contradiction> {
    let serves = sample.health.admits()
        && sample.instances.is_none_or(|instances| instances.healthy > 0 || instances.degraded > 0);
    if sample.gas > 0 && !serves {
        return Err(Contradiction::SlotsWithoutInstance { gas: sample.gas });
    }
    match (sample.computing_time_min, sample.computing_time_max) {
        (Some(min), Some(max)) if min.time > max.time => {
            Err(Contradiction::Bounds { min: min.time.0, max: max.time.0 })
        }
        _ => Ok(()),
    }
}

/// What is odd but may be true.
pub(in super::super) fn doubts(sample: &Sample) -> Doubts {
    if sample.gas > 0 && sample.computing_time.0 == 0 { Doubts::NO_COMPUTING_TIME } else { Doubts::NONE }
}

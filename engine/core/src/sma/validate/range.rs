//! From raw numbers to a sample: each value is there, and in its range (SMA-3).

use super::super::config::{Range, Ranges};
use super::Refusal;
use cats_engine_types::{Health, Micros, Price, ReportedMetrics, ReportedTime, RequestTime, Sample, Score};

/// The sample that a report makes: a full one alone, a delta one upon the sample before.
pub(in super::super) fn sample(
    told: &ReportedMetrics,
    base: Option<&Sample>,
    ranges: &Ranges,
) -> Result<Sample, Refusal> {
    let (gas, computing_time, health) = essentials(told, base, ranges)?;
    let times = &ranges.computing_time;
    let min = told.computing_time_min.map(|bound| request_time("computing-time-min", bound, times));
    let max = told.computing_time_max.map(|bound| request_time("computing-time-max", bound, times));
    let price = told.price.map(|price| word("price", price, &ranges.price));
    let reputation = told.reputation.map(|value| score("reputation", value, &ranges.reputation));
    let security = told.security_level.map(|value| score("security-level", value, &ranges.security_level));
    Ok(Sample {
        gas,
        computing_time,
        computing_time_min: min.transpose()?.or(base.and_then(|base| base.computing_time_min)),
        computing_time_max: max.transpose()?.or(base.and_then(|base| base.computing_time_max)),
        health,
        price: price.transpose()?.map(Price).or(base.and_then(|base| base.price)),
        reputation: reputation.transpose()?.or(base.and_then(|base| base.reputation)),
        security_level: security.transpose()?.or(base.and_then(|base| base.security_level)),
        instances: told.instances.or(base.and_then(|base| base.instances)),
    })
}

/// What no SCI is eligible without.
fn essentials(
    told: &ReportedMetrics,
    base: Option<&Sample>,
    ranges: &Ranges,
) -> Result<(u32, Micros, Health), Refusal> {
    let missing = |field| Refusal::Missing { field };
    let gas = match told.gas {
        Some(gas) => word("gas", gas, &ranges.gas)?,
        None => base.map(|base| base.gas).ok_or_else(|| missing("gas"))?,
    };
    let computing_time = match told.computing_time {
        Some(time) => Micros(within("computing-time", time, &ranges.computing_time)?),
        None => base.map(|base| base.computing_time).ok_or_else(|| missing("computing-time"))?,
    };
    let health = told.health.or(base.map(|base| base.health)).ok_or_else(|| missing("health"))?;
    Ok((gas, computing_time, health))
}

fn request_time(field: &'static str, told: ReportedTime, range: &Range) -> Result<RequestTime, Refusal> {
    let time = Micros(within(field, told.time, range)?);
    Ok(RequestTime { time, input_tokens: told.input_tokens })
}

fn within(field: &'static str, found: u64, range: &Range) -> Result<u64, Refusal> {
    if range.contains(found) { Ok(found) } else { Err(out_of_range(field, found, range, u64::MAX)) }
}

fn word(field: &'static str, found: u64, range: &Range) -> Result<u32, Refusal> {
    let value = u32::try_from(found).ok().filter(|_| range.contains(found));
    value.ok_or_else(|| out_of_range(field, found, range, u32::MAX.into()))
}

fn score(field: &'static str, found: u64, range: &Range) -> Result<Score, Refusal> {
    let value = u8::try_from(found).ok().filter(|_| range.contains(found));
    value.and_then(|value| Score::try_from(value).ok()).ok_or_else(|| out_of_range(field, found, range, 10))
}

fn out_of_range(field: &'static str, found: u64, range: &Range, most: u64) -> Refusal {
    Refusal::OutOfRange { field, found, min: range.min, max: range.max.min(most) }
}

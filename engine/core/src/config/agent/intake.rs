//! Who may report, when that is believed, how long it holds.

use super::{millis, ordered, path, seconds};
use crate::config::addresses::unicast;
use crate::config::services::{cs_id, csci_id};
use crate::config::{Violation, micros, noted};
use crate::sma::config::{
    AdmissionConfig, CacheConfig, ChangeConfig, Flapping, PerClass, PullConfig, QuarantineConfig, Range,
    Ranges, Rate, RateConfig, RateOfChange, Reaction, SciConfig, SkewConfig, Span, ValidationConfig,
};
use crate::sma::transform::{Alpha, Smooth, SmoothingConfig, Window};
use cats_engine_types::Locator;
use cats_yang_model::Decimal64;
use cats_yang_model::generated::cats_sma as model;

pub(super) fn admission(from: &model::Admission, violations: &mut Vec<Violation>) -> AdmissionConfig {
    let services = from.discovered_service.iter().filter_map(|id| {
        noted(cs_id(*id), violations, || path(&format!("admission/discovered-service[.='{id}']")))
    });
    let discovered_services = services.collect();
    let instances = from.instance.values().filter_map(|entry| instance(entry, violations));
    AdmissionConfig { instances: instances.collect(), discovery: from.discovery(), discovered_services }
}

fn instance(entry: &model::Instance, violations: &mut Vec<Violation>) -> Option<SciConfig> {
    let place = |leaf: &str| {
        let (service, instance) = (entry.cs_id, entry.csci_id);
        path(&format!("admission/instance[cs-id='{service}'][csci-id='{instance}']/{leaf}"))
    };
    if let Some(address) = entry.address {
        unicast(address, "locator", || place("address"), violations);
    }
    Some(SciConfig {
        cs_id: noted(cs_id(entry.cs_id), violations, || place("cs-id"))?,
        csci_id: noted(csci_id(entry.csci_id), violations, || place("csci-id"))?,
        locator: entry.address.map(|address| Locator { address, port: entry.port }),
    })
}

pub(super) fn validation(from: &model::Validation, violations: &mut Vec<Violation>) -> ValidationConfig {
    ValidationConfig {
        ranges: ranges(&from.ranges, violations),
        change: change(&from.rate_of_change),
        skew: SkewConfig { window: seconds(from.clock.window()), tolerate: from.clock.tolerate() },
    }
}

fn ranges(from: &model::Ranges, violations: &mut Vec<Violation>) -> Ranges {
    let times = (from.computing_time_min(), from.computing_time_max());
    let (low, high) = ("validation/ranges/computing-time-min", "validation/ranges/computing-time-max");
    ordered((low, times.0), (high, times.1), violations);
    let mut range = |name: &str, min: u64, max: u64| {
        let of = |end: &str| format!("validation/ranges/{name}-{end}");
        ordered((&of("min"), min), (&of("max"), max), violations);
        Range { min, max }
    };
    Ranges {
        gas: range("gas", from.gas_min().into(), from.gas_max().into()),
        computing_time: Range { min: micros(times.0).0, max: micros(times.1).0 },
        price: range("price", from.price_min().into(), from.price_max().into()),
        reputation: range("reputation", from.reputation_min().into(), from.reputation_max().into()),
        security_level: range(
            "security-level",
            from.security_level_min().into(),
            from.security_level_max().into(),
        ),
    }
}

fn change(from: &model::RateOfChange) -> ChangeConfig {
    ChangeConfig {
        gas: RateOfChange {
            percent: from.gas.percent(),
            within: millis(from.gas.within()),
            least: u64::from(from.gas.least()),
            reaction: reaction(from.gas.reaction()),
        },
        computing_time: RateOfChange {
            percent: from.computing_time.percent(),
            within: millis(from.computing_time.within()),
            least: micros(from.computing_time.least()).0,
            reaction: reaction(from.computing_time.reaction()),
        },
        flapping: Flapping {
            transitions: from.health.transitions(),
            within: millis(from.health.within()),
            reaction: reaction(from.health.reaction()),
        },
    }
}

fn reaction(from: model::Reaction) -> Reaction {
    match from {
        model::Reaction::Ignore => Reaction::Ignore,
        model::Reaction::Flag => Reaction::Flag,
        model::Reaction::Quarantine => Reaction::Quarantine,
    }
}

pub(super) fn quarantine(from: &model::Quarantine) -> QuarantineConfig {
    QuarantineConfig {
        max_reports: from.max_reports() as usize,
        max_reports_per_instance: from.max_reports_per_instance() as usize,
    }
}

pub(super) fn cache(from: &model::Cache, violations: &mut Vec<Violation>) -> CacheConfig {
    let (ttl, longest) = (&from.ttl, &from.max_ttl);
    let classes = [
        ("capacity", ttl.capacity(), longest.capacity()),
        ("performance", ttl.performance(), longest.performance()),
        ("health", ttl.health(), longest.health()),
        ("commerce", ttl.commerce(), longest.commerce()),
        ("trust", ttl.trust(), longest.trust()),
    ];
    for (class, ttl, longest) in classes {
        let (low, high) = (format!("cache/ttl/{class}"), format!("cache/max-ttl/{class}"));
        ordered((&low, ttl), (&high, longest), violations);
    }
    let span = |fixed: Option<u32>, percent: u32| match fixed {
        Some(time) => Span::Fixed(seconds(time)),
        None => Span::OfTtl { percent },
    };
    CacheConfig {
        ttl: PerClass {
            capacity: seconds(ttl.capacity()),
            performance: seconds(ttl.performance()),
            health: seconds(ttl.health()),
            commerce: seconds(ttl.commerce()),
            trust: seconds(ttl.trust()),
        },
        max_ttl: PerClass {
            capacity: seconds(longest.capacity()),
            performance: seconds(longest.performance()),
            health: seconds(longest.health()),
            commerce: seconds(longest.commerce()),
            trust: seconds(longest.trust()),
        },
        stale_grace: span(from.stale_grace_time, from.stale_grace_percent()),
        withdraw_after: span(from.withdraw_after_time, from.withdraw_after_percent()),
        max_entries: from.max_entries() as usize,
        max_remembered: from.max_remembered() as usize,
        confirm_after: from.confirm_after(),
        degraded_percent: from.degraded_percent(),
        valid_for: seconds(from.valid_for()),
    }
}

pub(super) fn rates(from: &model::Rates) -> RateConfig {
    RateConfig {
        instance: Rate { per_second: from.instance_rate(), burst: from.instance_burst() },
        total: Rate { per_second: from.total_rate(), burst: from.total_burst() },
    }
}

pub(super) fn pull(from: &model::Pull) -> PullConfig {
    PullConfig {
        enabled: from.enabled(),
        min_interval: seconds(from.min_interval()),
        timeout: seconds(from.timeout()),
        rate: Rate { per_second: from.rate(), burst: from.burst() },
    }
}

pub(super) fn smoothing(from: &model::Smoothing, violations: &mut Vec<Violation>) -> SmoothingConfig {
    let mut smooth = |metric: &str, enabled: bool, average_of: Option<u8>, alpha: Decimal64<3>| {
        let place = |leaf: &str| path(&format!("smoothing/{metric}/{leaf}"));
        if !enabled {
            return Smooth::Off;
        }
        match average_of {
            Some(reports) => {
                let window = Window::reports(reports).ok_or("an average is of 2 to 16 reports");
                noted(window, violations, || place("average-of")).map_or(Smooth::Off, Smooth::Average)
            }
            None => {
                let thousandths = u16::try_from(alpha.scaled()).ok().and_then(Alpha::thousandths);
                let alpha = thousandths.ok_or("an alpha is from 0.001 to 1");
                noted(alpha, violations, || place("alpha")).map_or(Smooth::Off, Smooth::Exponential)
            }
        }
    };
    let (gas, time) = (&from.gas, &from.computing_time);
    SmoothingConfig {
        gas: smooth("gas", gas.enabled(), gas.average_of, gas.alpha()),
        computing_time: smooth("computing-time", time.enabled(), time.average_of, time.alpha()),
    }
}

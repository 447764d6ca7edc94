//! Reports that come together.

use crate::site::{Site, key, well};
use crate::telling::plain;
use cats_engine_types::{Freshness, Report};
use proptest::prelude::*;

/// Service, instance, sequence and slots of reports.
fn reports() -> impl Strategy<Value = Vec<(u32, u32, u64, u64)>> {
    let gas = prop_oneof![9 => 0u64..100, 1 => Just(1 << 32)];
    prop::collection::vec((1u32..20, 1u32..30, 1u64..4, gas), 0..200)
}

proptest! {
    /// Proves SMA-2, SMA-5: whether an instance is known, new, or refused for too many services or for what it says.
    #[test]
    fn each_of_them_fares_as_if_it_had_come_alone(reports in reports(), most in 1usize..300) {
        let (mut one, mut other) = (Site::new(plain()), Site::new(plain()));
        let all: Vec<Report> = reports
            .iter()
            .map(|(service, instance, sequence, gas)| {
                let report = one.next(key(*service, *instance), well(*gas));
                Report { freshness: Freshness { sequence: *sequence, ..report.freshness }, ..report }
            })
            .collect();
        let (now, wall) = (other.now, other.wall);
        let mut together = Vec::new();
        let mut rest = all.clone().into_iter();
        while rest.len() > 0 {
            let before = rest.len();
            let count = other.sma.handle_reports(&mut rest, most, now, wall, |id, freshness, outcome| {
                together.push((id, freshness, outcome));
            });
            prop_assert_eq!(count, before.min(most));
            prop_assert_eq!(before - rest.len(), count);
        }
        let mut alone = Vec::new();
        for report in all {
            let (id, freshness) = (report.csci_id, report.freshness);
            alone.push((id, freshness, one.sma.handle_report(report, one.now, one.wall)));
        }
        prop_assert_eq!(together, alone);
        one.settle();
        other.settle();
        prop_assert_eq!(one.sma.counters(), other.sma.counters());
        for (service, instance, ..) in reports {
            let of = |site: &Site| site.sma.instance(key(service, instance)).map(|view| (view.state, view.metrics.map(|known| known.sample), view.told.map(|told| told.sample)));
            prop_assert_eq!(of(&one), of(&other));
        }
    }
}

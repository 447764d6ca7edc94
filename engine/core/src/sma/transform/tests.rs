use super::*;
use cats_engine_types::Health;
use proptest::prelude::*;

fn sample(gas: u32, millis: u64) -> Sample {
    Sample {
        gas,
        computing_time: Micros::from_millis(millis),
        computing_time_min: None,
        computing_time_max: None,
        health: Health::Healthy,
        price: None,
        reputation: None,
        security_level: None,
        instances: None,
    }
}

fn averaged(reports: u8) -> SmoothingConfig {
    let smooth = Smooth::Average(Window::reports(reports).unwrap());
    SmoothingConfig { gas: smooth, computing_time: smooth }
}

fn smooth(config: &SmoothingConfig, raw: &[(u32, u64)]) -> Vec<(u32, u64)> {
    let mut smoothing = Smoothing::default();
    let next = |(gas, millis): &(u32, u64)| {
        let sample = smoothing.next(config, &sample(*gas, *millis));
        (sample.gas, sample.computing_time.0 / 1000)
    };
    raw.iter().map(next).collect()
}

/// Proves SMA-16.
#[test]
fn the_safety_margin_of_the_document_leaves_eight_tenths() {
    let config = TransformConfig::default();
    for (reported, told) in
        [(1000, 800), (300, 240), (5, 4), (4, 3), (1, 1), (0, 0), (u32::MAX, 3_435_973_836)]
    {
        let mut sample = sample(reported, 5);
        config.apply(&mut sample);
        assert_eq!(sample.gas, told, "of {reported}");
    }
}

/// Proves SMA-16.
#[test]
fn the_computing_time_is_told_as_one_millisecond_at_least_and_ten_thousand_at_most() {
    let config = TransformConfig::default();
    for (millis, told) in [(0, 1), (1, 1), (9, 9), (10_000, 10_000), (3_600_000, 10_000)] {
        let time = RequestTime { time: Micros::from_millis(millis), input_tokens: Some(7) };
        let mut sample = Sample { computing_time_max: Some(time), ..sample(5, millis) };
        config.apply(&mut sample);
        assert_eq!(sample.computing_time, Micros::from_millis(told));
        let bounded = RequestTime { time: Micros::from_millis(told), input_tokens: Some(7) };
        assert_eq!(sample.computing_time_max, Some(bounded));
    }
}

/// Proves SMA-16.
#[test]
fn a_floor_of_slots_makes_none_where_there_are_none_or_nothing_serves() {
    let gas = Bounds::new(Some(10), Some(50)).unwrap();
    let config = TransformConfig { gas, ..TransformConfig::none() };
    let told = |reported, health| {
        let mut sample = Sample { health, ..sample(reported, 5) };
        config.apply(&mut sample);
        sample.gas
    };
    assert_eq!(told(3, Health::Healthy), 10);
    assert_eq!(told(99, Health::Degraded), 50);
    assert_eq!(told(0, Health::Healthy), 0);
    assert_eq!(told(99, Health::Unhealthy), 0);
    assert_eq!(told(99, Health::Unknown), 0);
}

#[test]
fn bounds_that_cross_and_shares_beyond_all_are_not_to_be_had() {
    assert_eq!(Bounds::new(Some(2), Some(1)), None);
    assert_eq!(Percent::thousandths(100_001), None);
    assert_eq!(Alpha::thousandths(0), None);
    assert_eq!(Alpha::thousandths(1001), None);
    assert_eq!(Window::reports(1), None);
    assert_eq!(Window::reports(17), None);
    assert_eq!(Percent::thousandths(12_500).unwrap().to_string(), "12.5");
}

/// Proves SMA-7, SMA-16.
#[test]
fn the_exponential_average_of_the_document_takes_three_tenths_of_the_newest_report() {
    let told = smooth(&SmoothingConfig::default(), &[(100, 10), (200, 20), (200, 20), (100, 10)]);
    // 100; 130; 151; 135.7
    assert_eq!(told, [(100, 10), (130, 13), (151, 15), (136, 13)]);
}

/// Proves SMA-7.
#[test]
fn a_moving_average_is_the_mean_of_the_last_reports() {
    let told = smooth(&averaged(3), &[(10, 10), (20, 20), (30, 30), (40, 40), (100, 100)]);
    assert_eq!(told, [(10, 10), (15, 15), (20, 20), (30, 30), (57, 56)]);
}

/// Proves SMA-7.
#[test]
fn no_slots_are_no_slots_at_once_and_a_change_of_health_starts_afresh() {
    for config in [SmoothingConfig::default(), averaged(4)] {
        assert_eq!(smooth(&config, &[(100, 10), (0, 10), (50, 10)]), [(100, 10), (0, 10), (50, 10)]);
        let mut smoothing = Smoothing::default();
        smoothing.next(&config, &sample(100, 10));
        let degraded = Sample { health: Health::Degraded, ..sample(20, 90) };
        assert_eq!(smoothing.next(&config, &degraded), degraded);
        smoothing.reset();
        assert_eq!(smoothing.next(&config, &sample(7, 7)), sample(7, 7));
    }
}

#[test]
fn smoothing_that_is_off_changes_nothing() {
    let config = SmoothingConfig { gas: Smooth::Off, computing_time: Smooth::Off };
    assert_eq!(smooth(&config, &[(1, 1), (100, 100)]), [(1, 1), (100, 100)]);
}

#[test]
fn what_is_remembered_of_an_sci_is_small() {
    assert!(size_of::<Smoothing>() <= 40, "{}", size_of::<Smoothing>());
}

fn ways() -> impl Strategy<Value = Smooth> {
    prop_oneof![
        Just(Smooth::Off),
        (2u8..=16).prop_map(|reports| Smooth::Average(Window::reports(reports).unwrap())),
        (1u16..=1000).prop_map(|alpha| Smooth::Exponential(Alpha::thousandths(alpha).unwrap())),
    ]
}

proptest! {
    /// Proves SMA-7.
    #[test]
    fn a_smoothed_value_lies_between_the_least_and_the_largest_report(
        gas in ways(),
        computing_time in ways(),
        raw in prop::collection::vec((1u32.., prop_oneof![0u64..5_000_000, any::<u64>()]), 1..40),
    ) {
        let config = SmoothingConfig { gas, computing_time };
        let mut smoothing = Smoothing::default();
        let mut seen: Vec<(u32, u64)> = Vec::new();
        for (slots, micros) in raw {
            seen.push((slots, micros));
            let raw = Sample { computing_time: Micros(micros), ..sample(slots, 0) };
            let smoothed = smoothing.next(&config, &raw);
            let (slots, times): (Vec<u32>, Vec<u64>) = seen.iter().copied().unzip();
            prop_assert!(slots.iter().min() <= Some(&smoothed.gas) && Some(&smoothed.gas) <= slots.iter().max());
            let time = smoothed.computing_time.0;
            prop_assert!(times.iter().min() <= Some(&time) && Some(&time) <= times.iter().max());
        }
    }

    /// Proves SMA-16.
    #[test]
    fn a_margin_never_adds_slots_and_never_takes_the_last_one(margin in 0u32..100_000, gas: u32) {
        let left = Percent::thousandths(margin).unwrap().off(u64::from(gas));
        prop_assert!(left <= u64::from(gas));
        prop_assert_eq!(left == 0, gas == 0);
    }
}

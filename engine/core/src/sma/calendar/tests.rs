use super::*;
use proptest::prelude::*;

const MINUTE: u64 = 60_000_000;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
/// A Monday, 2026-11-30, 00:00 UTC.
const MONDAY: u64 = 1_795_996_800_000_000;

fn at(micros: u64) -> UnixMicros {
    UnixMicros(micros)
}

fn clock(hour: u32, minute: u32) -> TimeOfDay {
    TimeOfDay::clock(hour, minute, 0).unwrap()
}

fn weekly(days: &[Day], from: TimeOfDay, until: TimeOfDay, offset: i16) -> Window {
    let offset = Offset::minutes(offset).unwrap();
    let when = When::Weekly { days: days.iter().copied().collect(), from, until, offset };
    Window { name: "weekly".into(), maintenance: true, when }
}

fn once(from: u64, until: u64) -> Window {
    Window { name: "once".into(), maintenance: true, when: When::Once { from: at(from), until: at(until) } }
}

fn calendar(windows: Vec<Window>) -> Calendar {
    Calendar::new(windows).unwrap()
}

/// Proves SMA-17.
#[test]
fn a_window_of_one_span_is_open_from_its_begin_until_just_before_its_end() {
    let calendar = calendar(vec![once(MONDAY, MONDAY + HOUR)]);
    assert!(!calendar.at(at(MONDAY - 1)).maintenance);
    assert!(calendar.at(at(MONDAY)).maintenance);
    assert!(calendar.at(at(MONDAY + HOUR - 1)).maintenance);
    assert!(!calendar.at(at(MONDAY + HOUR)).maintenance);
    assert_eq!(calendar.at(at(MONDAY)).until, at(MONDAY + HOUR));
    assert_eq!(calendar.at(at(MONDAY - 1)).until, at(MONDAY));
    assert_eq!(calendar.at(at(MONDAY + HOUR)).until, at(u64::MAX));
}

/// Proves SMA-17.
#[test]
fn a_weekly_window_may_span_midnight_and_the_end_of_the_week() {
    let calendar = calendar(vec![weekly(&[Day::Sunday], clock(22, 0), clock(6, 0), 0)]);
    for (wall, open) in [
        (MONDAY - 2 * HOUR - 1, false),
        (MONDAY - 2 * HOUR, true),
        (MONDAY, true),
        (MONDAY + 6 * HOUR - 1, true),
        (MONDAY + 6 * HOUR, false),
        (MONDAY + 22 * HOUR, false),
        (MONDAY + 6 * DAY + 22 * HOUR, true),
    ] {
        assert_eq!(calendar.at(at(wall)).maintenance, open, "{}", at(wall));
    }
    assert_eq!(calendar.maintenance_ends(at(MONDAY)), Some(at(MONDAY + 6 * HOUR)));
}

/// Proves SMA-17.
#[test]
fn a_window_that_is_over_comes_back_in_a_week() {
    let calendar = calendar(vec![weekly(&[Day::Monday], clock(22, 0), clock(23, 0), 0)]);
    let over = calendar.at(at(MONDAY + 23 * HOUR));
    assert_eq!((over.from, over.until), (at(MONDAY + 23 * HOUR), at(MONDAY + 7 * DAY + 22 * HOUR)));
    let before = calendar.at(at(MONDAY + 21 * HOUR));
    assert_eq!((before.from, before.until), (at(MONDAY - 7 * DAY + 23 * HOUR), at(MONDAY + 22 * HOUR)));
}

/// Proves SMA-17.
#[test]
fn the_time_of_day_is_that_of_the_offset_and_so_is_the_day() {
    // Monday 00:30 to 02:00 five hours and a half ahead of UTC is Sunday 19:00 to 20:30 UTC.
    let east = calendar(vec![weekly(&[Day::Monday], clock(0, 30), clock(2, 0), 330)]);
    assert!(east.at(at(MONDAY - 5 * HOUR)).maintenance);
    assert!(!east.at(at(MONDAY - 3 * HOUR - 30 * MINUTE)).maintenance);
    assert!(!east.at(at(MONDAY + 30 * MINUTE)).maintenance);
    // Sunday 20:00 to 22:00 eight hours behind UTC is Monday 04:00 to 06:00 UTC.
    let west = calendar(vec![weekly(&[Day::Sunday], clock(20, 0), clock(22, 0), -480)]);
    assert!(west.at(at(MONDAY + 4 * HOUR)).maintenance);
    assert!(!west.at(at(MONDAY + 6 * HOUR)).maintenance);
}

#[test]
fn equal_times_make_a_whole_day_and_consecutive_days_make_one_maintenance() {
    let calendar = calendar(vec![weekly(&[Day::Monday, Day::Tuesday], clock(8, 0), clock(8, 0), 0)]);
    assert!(!calendar.at(at(MONDAY + 8 * HOUR - 1)).maintenance);
    assert!(calendar.at(at(MONDAY + DAY + 8 * HOUR)).maintenance);
    let end = at(MONDAY + 2 * DAY + 8 * HOUR);
    assert_eq!(calendar.maintenance_ends(at(MONDAY + 9 * HOUR)), Some(end));
    assert!(!calendar.at(end).maintenance);
    let always = Days::EVERY;
    let when = When::Weekly { days: always, from: clock(0, 0), until: clock(0, 0), offset: Offset::UTC };
    let always = Calendar::new(vec![Window { name: "always".into(), maintenance: true, when }]).unwrap();
    assert_eq!(always.maintenance_ends(at(MONDAY)), None, "nothing to wait for");
}

#[test]
fn a_window_that_is_no_maintenance_is_only_a_time_for_rules() {
    let mut night = weekly(&[Day::Monday], clock(1, 0), clock(2, 0), 0);
    night.maintenance = false;
    let calendar = calendar(vec![night]);
    let moment = calendar.at(at(MONDAY + HOUR));
    assert_eq!(calendar.find("WEEKLY"), Some(moment.open));
    assert!(!moment.maintenance);
    assert_eq!(calendar.maintenance_ends(at(MONDAY + HOUR)), None);
}

#[test]
fn windows_that_are_none_are_refused_with_their_names() {
    let mut windows = vec![
        once(5, 5),
        weekly(&[], clock(1, 0), clock(2, 0), 0),
        once(1, 2),
        Window { name: "on call".into(), ..once(1, 2) },
        Window { name: "maintenance-window".into(), ..once(1, 2) },
        Window { name: "ONCE".into(), ..once(1, 2) },
    ];
    let errors = Calendar::new(windows.clone()).unwrap_err();
    let problems: Vec<_> = errors.iter().map(|error| error.problem).collect();
    assert_eq!(
        problems,
        [
            WindowProblem::Empty,
            WindowProblem::NoDay,
            WindowProblem::Twice,
            WindowProblem::Name,
            WindowProblem::Reserved,
            WindowProblem::Twice
        ]
    );
    assert_eq!(
        errors.first().unwrap().to_string(),
        "window `once`: it ends before it begins; give an end after its begin"
    );
    windows = (0..=MAX_WINDOWS).map(|n| Window { name: format!("w{n}"), ..once(1, 2) }).collect();
    let errors = Calendar::new(windows).unwrap_err();
    assert_eq!(errors.len(), 1);
    assert_eq!(errors.first().unwrap().problem, WindowProblem::TooMany);
}

fn windows() -> impl Strategy<Value = Vec<Window>> {
    let day = prop::sample::subsequence(Day::ALL.to_vec(), 1..7);
    let time = (0u32..86_400).prop_map(|seconds| TimeOfDay::seconds(seconds).unwrap());
    let weekly = (day, time.clone(), time, -840i16..=840)
        .prop_map(|(days, from, until, offset)| weekly(&days, from, until, offset));
    let once =
        (0..10 * DAY, 1..3 * DAY).prop_map(|(from, length)| once(MONDAY + from, MONDAY + from + length));
    let window = (prop_oneof![weekly, once], any::<bool>());
    prop::collection::vec(window, 0..5).prop_map(|windows| {
        let named = windows.into_iter().enumerate();
        named
            .map(|(n, (window, maintenance))| Window { name: format!("w{n}"), maintenance, ..window })
            .collect()
    })
}

proptest! {
    /// Proves SMA-17.
    #[test]
    fn what_is_said_of_a_time_holds_from_its_begin_to_just_before_its_end(
        windows in windows(),
        wall in 0..10 * DAY,
        share in 0u64..1000,
    ) {
        let calendar = calendar(windows);
        let wall = at(MONDAY + wall);
        let moment = calendar.at(wall);
        prop_assert!(moment.holds(wall));
        let length = (moment.until.0.min(MONDAY + 20 * DAY) - moment.from.0.max(MONDAY - 20 * DAY)) / 1000;
        let within = at(moment.from.0.max(MONDAY - 20 * DAY) + length * share);
        prop_assert_eq!(calendar.at(within).open, moment.open);
        if let Some(end) = calendar.maintenance_ends(wall) {
            prop_assert!(!calendar.at(end).maintenance && calendar.at(at(end.0 - 1)).maintenance);
        }
    }

    #[test]
    fn no_time_is_too_early_or_too_late(windows in windows(), wall in prop::sample::select(vec![
        0, 1, DAY, u64::MAX - DAY, u64::MAX - 1, u64::MAX,
    ])) {
        let moment = calendar(windows).at(at(wall));
        prop_assert!(moment.from.0 <= wall && wall <= moment.until.0);
    }
}

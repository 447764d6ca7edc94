//! When a window is.

use super::WindowProblem;
use cats_engine_types::UnixMicros;

const SECOND: i128 = 1_000_000;
const DAY: i128 = 86_400 * SECOND;

/// When a window is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Once.
    Once {
        /// From then on.
        from: UnixMicros,
        /// Until just before then.
        until: UnixMicros,
    },
    /// On days of each week.
    Weekly {
        /// The days on which it begins.
        days: Days,
        /// From this time of day on.
        from: TimeOfDay,
        /// Until just before this time of day: on the next day where it is not after `from`, so that equal times make a
        /// whole day.
        until: TimeOfDay,
        /// Where this time of day is.
        offset: Offset,
    },
}

/// A day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Day {
    /// Monday.
    Monday,
    /// Tuesday.
    Tuesday,
    /// Wednesday.
    Wednesday,
    /// Thursday.
    Thursday,
    /// Friday.
    Friday,
    /// Saturday.
    Saturday,
    /// Sunday.
    Sunday,
}

impl Day {
    /// All of them, from Monday on.
    pub const ALL: [Self; 7] = [
        Self::Monday,
        Self::Tuesday,
        Self::Wednesday,
        Self::Thursday,
        Self::Friday,
        Self::Saturday,
        Self::Sunday,
    ];
}

/// A set of days of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Days(u8);

impl Days {
    /// Every day.
    pub const EVERY: Self = Self(0x7f);

    /// Whether `day` is one of them.
    pub const fn has(self, day: Day) -> bool {
        self.0 & (1 << day as u8) != 0
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<Day> for Days {
    fn from_iter<I: IntoIterator<Item = Day>>(days: I) -> Self {
        Self(days.into_iter().fold(0, |set, day| set | 1 << day as u8))
    }
}

/// A time of day, to the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct TimeOfDay(u32);

impl TimeOfDay {
    /// So many seconds after midnight; fewer than a day has.
    pub const fn seconds(seconds: u32) -> Option<Self> {
        if seconds < 86_400 { Some(Self(seconds)) } else { None }
    }

    /// The time of day on a clock.
    pub const fn clock(hour: u32, minute: u32, second: u32) -> Option<Self> {
        if hour < 24 && minute < 60 && second < 60 {
            Some(Self(hour * 3600 + minute * 60 + second))
        } else {
            None
        }
    }

    const fn micros(self) -> i128 {
        self.0 as i128 * SECOND
    }
}

/// How far a clock is ahead of UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Offset(i16);

impl Offset {
    /// UTC itself.
    pub const UTC: Self = Self(0);

    /// So many minutes ahead, up to 14 hours either way.
    pub const fn minutes(minutes: i16) -> Option<Self> {
        if minutes >= -840 && minutes <= 840 { Some(Self(minutes)) } else { None }
    }

    const fn micros(self) -> i128 {
        self.0 as i128 * 60 * SECOND
    }
}

/// Whether a window is open, and around which time that is so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) open: bool,
    pub(super) from: u64,
    pub(super) until: u64,
}

impl When {
    pub(super) fn problem(&self) -> Option<WindowProblem> {
        match self {
            Self::Once { from, until } => (until <= from).then_some(WindowProblem::Empty),
            Self::Weekly { days, .. } => days.is_empty().then_some(WindowProblem::NoDay),
        }
    }

    pub(super) fn at(&self, wall: u64) -> Span {
        match *self {
            Self::Once { from: UnixMicros(from), until: UnixMicros(until) } => {
                if wall < from {
                    Span { open: false, from: 0, until: from }
                } else if wall < until {
                    Span { open: true, from, until }
                } else {
                    Span { open: false, from: until, until: u64::MAX }
                }
            }
            Self::Weekly { days, from, until, offset } => weekly(wall, days, from, until, offset),
        }
    }
}

/// Nothing here overflows: a u64 of microseconds and a few days fit into 128 bits many times.
fn weekly(wall: u64, days: Days, from: TimeOfDay, until: TimeOfDay, offset: Offset) -> Span {
    let local = i128::from(wall) + offset.micros();
    let length = until.micros() - from.micros() + if until <= from { DAY } else { 0 };
    let today = local.div_euclid(DAY);
    let mut span = Span { open: false, from: 0, until: u64::MAX };
    // A window of at most a day that is open now began today or yesterday; the one before ended at most eight days
    // ago, the next one begins at most seven days from now.
    for day in today - 8..=today + 7 {
        if !days.has(day_of_week(day)) {
            continue;
        }
        let begin = day * DAY + from.micros();
        for (edge, opens) in [(begin, true), (begin + length, false)] {
            let utc = unsigned(edge - offset.micros());
            if edge <= local {
                span.from = span.from.max(utc);
            } else {
                span.until = span.until.min(utc);
            }
            span.open |= opens && begin <= local && local < begin + length;
        }
    }
    span
}

fn unsigned(micros: i128) -> u64 {
    u64::try_from(micros.max(0)).unwrap_or(u64::MAX)
}

/// The day of the week of a day since 1970, which began on a Thursday.
fn day_of_week(day: i128) -> Day {
    let place = (day + 3).rem_euclid(7);
    Day::ALL.into_iter().find(|day| *day as i128 == place).unwrap_or(Day::Monday)
}

//! Windows of time with names: scheduled maintenance, and whatever else a rule wants to ask the clock for (SMA-17).
//!
//! A window is one span of time, or it comes back on days of the week at a time of day. Its time of day is that of
//! UTC or of a fixed offset: no time zone is known here, so nothing moves with summer time.

mod watch;
mod when;

pub use watch::Watch;
pub use when::{Day, Days, Offset, TimeOfDay, When};

use super::policy::words::alike;
use cats_engine_types::UnixMicros;

/// Windows of one calendar: each has a bit in [`Windows`].
pub const MAX_WINDOWS: usize = 64;

/// Octets of a window's name.
pub const MAX_NAME: usize = 64;

/// Stands in rules for every window of scheduled maintenance, whatever its name.
pub const ANY_MAINTENANCE: &str = "Maintenance_Window";

/// A window as it is configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// What rules call it: letters, digits, `_`, `-` and `.`, beginning with a letter or digit.
    pub name: String,
    /// Whether it is scheduled maintenance, in which only critical updates go out. Otherwise it is a time for rules.
    pub maintenance: bool,
    /// When it is.
    pub when: When,
}

/// Why a window is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("window `{window}`: {problem}")]
pub struct CalendarError {
    /// Its name.
    pub window: String,
    /// What is wrong with it.
    pub problem: WindowProblem,
}

/// What is wrong with a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WindowProblem {
    /// Not a name.
    #[error("its name must be 1 to 64 letters, digits, `_`, `-` or `.`, beginning with a letter or digit")]
    Name,
    /// A word of the rule language.
    #[error("its name means something else in rules; choose another one")]
    Reserved,
    /// Another window has the name; case does not count, and `_` is like `-`.
    #[error(
        "another window has the same name; upper and lower case and `_` and `-` do not tell two names apart"
    )]
    Twice,
    /// It ends before it begins, or never is.
    #[error("it ends before it begins; give an end after its begin")]
    Empty,
    /// It recurs on no day.
    #[error("it has no day of the week; give one at least")]
    NoDay,
    /// One more than there may be.
    #[error("a calendar has at most 64 windows; take one out")]
    TooMany,
}

/// Windows of a calendar, as a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Windows(u64);

impl Windows {
    /// The window at this place in the calendar alone; beyond its end none.
    pub const fn one(place: usize) -> Self {
        if place < MAX_WINDOWS { Self(1 << place) } else { Self(0) }
    }

    /// Those of both.
    #[must_use]
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Those that are in both.
    #[must_use]
    pub const fn common(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }

    /// Those that are in one of both only.
    #[must_use]
    pub const fn differing(self, others: Self) -> Self {
        Self(self.0 ^ others.0)
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// What the calendar says of a time, and for how long that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The windows that are open.
    pub open: Windows,
    /// Whether one of them is maintenance.
    pub maintenance: bool,
    /// Since when all of this holds.
    pub from: UnixMicros,
    /// Before what time it holds; the largest time where it is not known to end.
    pub until: UnixMicros,
}

impl Moment {
    /// Whether it holds at `wall`, which a clock that was set may not be.
    pub fn holds(&self, wall: UnixMicros) -> bool {
        self.from <= wall && wall < self.until
    }
}

/// Windows that were checked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Calendar {
    windows: Vec<Window>,
    maintenance: Windows,
}

impl Calendar {
    /// Checks the windows; every fault is told.
    pub fn new(windows: Vec<Window>) -> Result<Self, Vec<CalendarError>> {
        let mut errors = Vec::new();
        let mut maintenance = Windows::default();
        for (place, window) in windows.iter().enumerate() {
            let earlier = windows.iter().take(place);
            if let Some(problem) = problem(window, place, earlier) {
                errors.push(CalendarError { window: window.name.clone(), problem });
            }
            if window.maintenance {
                maintenance = maintenance.with(Windows::one(place));
            }
        }
        if errors.is_empty() { Ok(Self { windows, maintenance }) } else { Err(errors) }
    }

    /// The windows in the order in which they were given.
    pub fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// All windows of maintenance.
    pub fn maintenance(&self) -> Windows {
        self.maintenance
    }

    /// The window of this name.
    pub fn find(&self, name: &str) -> Option<Windows> {
        let place = self.windows.iter().position(|window| alike(&window.name, name))?;
        Some(Windows::one(place))
    }

    /// What holds at `wall`. Costs in proportion to the windows, so keep it while it holds.
    pub fn at(&self, wall: UnixMicros) -> Moment {
        let mut open = Windows::default();
        let (mut from, mut until) = (0, u64::MAX);
        for (place, window) in self.windows.iter().enumerate() {
            let span = window.when.at(wall.0);
            if span.open {
                open = open.with(Windows::one(place));
            }
            from = from.max(span.from);
            until = until.min(span.until);
        }
        let maintenance = !open.common(self.maintenance).is_empty();
        Moment { open, maintenance, from: UnixMicros(from), until: UnixMicros(until) }
    }

    /// When maintenance ends that is on at `wall`, over windows that overlap or follow each other without a gap; within
    /// eight days, beyond which none is told.
    pub fn maintenance_ends(&self, wall: UnixMicros) -> Option<UnixMicros> {
        const EIGHT_DAYS: u64 = 8 * 24 * 3600 * 1_000_000;
        let horizon = wall.0.saturating_add(EIGHT_DAYS);
        let mut moment = self.at(wall);
        while moment.maintenance {
            if moment.until.0 > horizon || moment.until.0 == u64::MAX {
                return None;
            }
            let end = moment.until;
            moment = self.at(end);
            if !moment.maintenance {
                return Some(end);
            }
        }
        None
    }
}

fn problem<'a>(
    window: &Window,
    place: usize,
    mut earlier: impl Iterator<Item = &'a Window>,
) -> Option<WindowProblem> {
    let name = window.name.as_str();
    let named = name.len() <= MAX_NAME
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    if place >= MAX_WINDOWS {
        Some(WindowProblem::TooMany)
    } else if !named {
        Some(WindowProblem::Name)
    } else if super::policy::words::is_reserved(name) {
        Some(WindowProblem::Reserved)
    } else if earlier.any(|other| alike(&other.name, name)) {
        Some(WindowProblem::Twice)
    } else {
        window.when.problem()
    }
}

#[cfg(test)]
mod tests;

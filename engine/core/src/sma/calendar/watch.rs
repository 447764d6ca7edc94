//! The calendar under a clock that may be set.

use super::{Calendar, Moment, Windows};
use cats_engine_types::UnixMicros;
use std::time::{Duration, Instant};

/// A calendar, and what it says now. Looking costs nothing in proportion to the windows until one opens or closes.
#[derive(Debug, Clone)]
pub struct Watch {
    calendar: Calendar,
    moment: Moment,
    next: Option<Instant>,
}

impl Watch {
    /// Of this calendar.
    pub fn new(calendar: Calendar, now: Instant, wall: UnixMicros) -> Self {
        let moment = calendar.at(wall);
        let mut watch = Self { calendar, moment, next: None };
        watch.expect(now, wall);
        watch
    }

    /// Looks at the clock: the windows that opened or closed since the last look, also because the clock was set.
    pub fn look(&mut self, now: Instant, wall: UnixMicros) -> Windows {
        let before = self.moment.open;
        if !self.moment.holds(wall) {
            self.moment = self.calendar.at(wall);
        }
        self.expect(now, wall);
        before.differing(self.moment.open)
    }

    fn expect(&mut self, now: Instant, wall: UnixMicros) {
        let until = self.moment.until.0;
        let left = (until != u64::MAX).then(|| Duration::from_micros(until.saturating_sub(wall.0)));
        self.next = left.and_then(|left| now.checked_add(left));
    }

    /// What holds since the last look.
    pub fn moment(&self) -> Moment {
        self.moment
    }

    /// When to look again.
    pub fn next(&self) -> Option<Instant> {
        self.next
    }

    /// The calendar.
    pub fn calendar(&self) -> &Calendar {
        &self.calendar
    }
}

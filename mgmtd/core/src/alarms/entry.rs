//! One alarm: how it is, and what became of it (RFC 8632 section 3).

use std::collections::VecDeque;
use std::sync::Arc;

/// So many operators' states are kept of an alarm.
const MOST_ACTS: usize = 32;

/// Which alarm it is. None of ours has a qualifier.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    /// What it is about, in the canonical form of the model.
    pub(crate) resource: Arc<str>,
    /// The identity of its type, with its module.
    pub(crate) kind: Arc<str>,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    Indeterminate,
    Warning,
    Minor,
    Major,
    Critical,
}

impl Severity {
    pub(crate) const ALL: [Self; 5] =
        [Self::Indeterminate, Self::Warning, Self::Minor, Self::Major, Self::Critical];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Indeterminate => "indeterminate",
            Self::Warning => "warning",
            Self::Minor => "minor",
            Self::Major => "major",
            Self::Critical => "critical",
        }
    }

    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.name() == name)
    }
}

/// A condition that stands, as whoever notices it tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) severity: Severity,
    pub(crate) text: Arc<str>,
    /// Since when it is so: microseconds since 1970.
    pub(crate) at_us: u64,
}

/// A change of the state of the resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) at_us: u64,
    /// None: it is cleared.
    pub(crate) severity: Option<Severity>,
    pub(crate) text: Arc<str>,
}

/// What is done about an alarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    None,
    Ack,
    Closed,
    Shelved,
    Unshelved,
}

impl State {
    const ALL: [Self; 5] = [Self::None, Self::Ack, Self::Closed, Self::Shelved, Self::Unshelved];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Ack => "ack",
            Self::Closed => "closed",
            Self::Shelved => "shelved",
            Self::Unshelved => "un-shelved",
        }
    }

    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// What an operator, or a shelf, has made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Act {
    pub(crate) at_us: u64,
    pub(crate) operator: String,
    pub(crate) state: State,
    pub(crate) text: Option<String>,
}

/// One alarm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) created_us: u64,
    pub(crate) raised_us: u64,
    pub(crate) changed_us: u64,
    pub(crate) cleared: bool,
    /// The last one that it had while it stood.
    pub(crate) severity: Severity,
    pub(crate) text: Arc<str>,
    /// At least one; the last one is how it is.
    pub(crate) changes: VecDeque<Change>,
    pub(crate) acts: VecDeque<Act>,
    /// The shelf that it lies on.
    pub(crate) shelf: Option<String>,
}

/// What a change was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Raised,
    Cleared,
    /// Its words or its severity, which was this one.
    Updated {
        before: Severity,
    },
}

impl Entry {
    /// It stands, for the first time or since it was purged.
    pub(crate) fn new(condition: &Condition) -> Self {
        let Condition { severity, text, at_us } = condition.clone();
        let change = Change { at_us, severity: Some(severity), text: Arc::clone(&text) };
        Self {
            created_us: at_us,
            raised_us: at_us,
            changed_us: at_us,
            cleared: false,
            severity,
            text,
            changes: VecDeque::from([change]),
            acts: VecDeque::new(),
            shelf: None,
        }
    }

    /// Takes over how it stands; nothing when it stands so already.
    pub(crate) fn stand(&mut self, condition: &Condition, most: usize) -> Option<What> {
        let Condition { severity, text, at_us } = condition;
        let before = self.severity;
        if !self.cleared && before == *severity && self.text == *text {
            return None;
        }
        let was_cleared = std::mem::replace(&mut self.cleared, false);
        (self.severity, self.text) = (*severity, Arc::clone(text));
        let at_us = self.note(*at_us, Some(*severity), most);
        Some(match was_cleared {
            true => {
                self.raised_us = at_us;
                What::Raised
            }
            false => What::Updated { before },
        })
    }

    /// It is over; nothing when it was.
    pub(crate) fn clear(&mut self, at_us: u64, most: usize) -> Option<What> {
        if std::mem::replace(&mut self.cleared, true) {
            return None;
        }
        self.note(at_us, None, most);
        Some(What::Cleared)
    }

    /// Times are keys, and in order even where the clock is set back.
    fn note(&mut self, at_us: u64, severity: Option<Severity>, most: usize) -> u64 {
        let at_us = at_us.max(self.changes.back().map_or(0, |last| last.at_us + 1));
        self.changes.push_back(Change { at_us, severity, text: Arc::clone(&self.text) });
        self.keep(most);
        self.changed_us = self.changed_us.max(at_us);
        at_us
    }

    /// Keeps so many changes, the latest. True where there were more.
    pub(crate) fn keep(&mut self, most: usize) -> bool {
        let surplus = self.changes.len().saturating_sub(most.max(1));
        self.changes.drain(..surplus);
        surplus > 0
    }

    /// Somebody has done something about it.
    pub(crate) fn act(&mut self, act: Act) -> Act {
        let at_us = act.at_us.max(self.acts.back().map_or(0, |last| last.at_us + 1));
        self.changed_us = self.changed_us.max(at_us);
        if self.acts.len() == MOST_ACTS {
            self.acts.pop_front();
        }
        let act = Act { at_us, ..act };
        self.acts.push_back(act.clone());
        act
    }

    /// What is done about it.
    pub(crate) fn state(&self) -> State {
        self.acts.back().map_or(State::None, |act| act.state)
    }

    /// When the resource has changed last.
    pub(crate) fn last_change_us(&self) -> u64 {
        self.changes.back().map_or(self.raised_us, |change| change.at_us)
    }
}

//! The list of alarms and the shelf beside it: what stands, what has stood, and what is done about it. Time is an argument.
//!
//! Who notices conditions tells of each as it begins and ends; telling it twice changes nothing. What is kept is bounded:
//! of the list, of which the alarm that was cleared first goes first, and of the changes of each alarm.

use super::entry::{Act, Change, Condition, Entry, Key, Severity, State, What};
use std::collections::{BTreeMap, BTreeSet};

/// So many alarms are listed and shelved.
const MOST: usize = 1_000;

/// Who stands in the place of an operator where a shelf has acted.
const OURSELVES: &str = "cats-mgmtd";

/// Which changes are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notify {
    All,
    RaiseAndClear,
    /// What crosses this one, and what clears.
    Level(Severity),
}

/// `control`, but for the shelves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Policy {
    pub(crate) most_changes: usize,
    pub(crate) notify: Notify,
}

/// A change that is to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) key: Key,
    pub(crate) change: Change,
}

/// Which alarms are meant to be purged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Cleared ones, or those that are not; either without.
    pub(crate) cleared: Option<bool>,
    /// Those whose resource has not changed since.
    pub(crate) before_us: Option<u64>,
    pub(crate) severity: Option<Range>,
    /// What is done about them, and who does.
    pub(crate) state: Option<State>,
    pub(crate) operator: Option<String>,
}

/// A range of severities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Range {
    Below(Severity),
    Is(Severity),
    Above(Severity),
}

impl Wanted {
    fn takes(&self, entry: &Entry) -> bool {
        let by_severity = match self.severity {
            None => true,
            Some(Range::Below(than)) => entry.severity < than,
            Some(Range::Is(severity)) => entry.severity == severity,
            Some(Range::Above(than)) => entry.severity > than,
        };
        let operator = entry.acts.back().map(|act| &act.operator);
        by_severity
            && self.cleared.is_none_or(|cleared| cleared == entry.cleared)
            && self.before_us.is_none_or(|before| entry.last_change_us() < before)
            && self.state.is_none_or(|state| state == entry.state())
            && self.operator.as_ref().is_none_or(|wanted| operator == Some(wanted))
    }
}

/// All alarms.
#[derive(Debug, Clone)]
pub(crate) struct List {
    entries: BTreeMap<Key, Entry>,
    policy: Policy,
    /// When the list was last changed, and the shelf.
    list_us: Option<u64>,
    shelf_us: Option<u64>,
    /// What is not as it was last shown.
    touched: BTreeSet<Key>,
}

/// Says on which shelf an alarm is to lie.
pub(crate) type ShelfOf<'a> = &'a dyn Fn(&Key) -> Option<String>;

impl List {
    pub(crate) fn new(policy: Policy) -> Self {
        Self { entries: BTreeMap::new(), policy, list_us: None, shelf_us: None, touched: BTreeSet::new() }
    }

    /// When the list, or the shelf, was last changed.
    pub(crate) fn changed_us(&self, shelved: bool) -> Option<u64> {
        if shelved { self.shelf_us } else { self.list_us }
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&Entry> {
        self.entries.get(key)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Key, &Entry)> {
        self.entries.iter()
    }

    /// What is not as it was when this was last asked.
    pub(crate) fn take_touched(&mut self) -> BTreeSet<Key> {
        std::mem::take(&mut self.touched)
    }

    fn touch(&mut self, key: &Key, shelved: bool, at_us: u64) {
        let changed = if shelved { &mut self.shelf_us } else { &mut self.list_us };
        *changed = Some(changed.map_or(at_us, |before| before.max(at_us)));
        self.touched.insert(key.clone());
    }

    /// A condition stands. What is to be told of it.
    pub(crate) fn raise(&mut self, key: &Key, condition: &Condition, shelf_of: ShelfOf<'_>) -> Option<Told> {
        let most = self.policy.most_changes;
        let what = if let Some(entry) = self.entries.get_mut(key) {
            entry.stand(condition, most)?
        } else if self.makes_room(condition.at_us) {
            let mut entry = Entry::new(condition);
            put_on_shelf(&mut entry, shelf_of(key), condition.at_us);
            self.entries.insert(key.clone(), entry);
            What::Raised
        } else {
            return None;
        };
        self.tell(key, what)
    }

    /// A condition is over. What is to be told of it.
    pub(crate) fn clear(&mut self, key: &Key, at_us: u64) -> Option<Told> {
        let what = self.entries.get_mut(key)?.clear(at_us, self.policy.most_changes)?;
        self.tell(key, what)
    }

    fn tell(&mut self, key: &Key, what: What) -> Option<Told> {
        let entry = self.entries.get(key)?;
        let (change, shelved, severity) =
            (entry.changes.back()?.clone(), entry.shelf.is_some(), entry.severity);
        self.touch(key, shelved, change.at_us);
        let tells = match (what, self.policy.notify) {
            (What::Cleared, _) | (_, Notify::All) | (What::Raised, Notify::RaiseAndClear) => true,
            (What::Updated { .. }, Notify::RaiseAndClear) => false,
            (What::Raised, Notify::Level(level)) => severity >= level,
            (What::Updated { before }, Notify::Level(level)) => severity >= level || before >= level,
        };
        (tells && !shelved).then(|| Told { key: key.clone(), change })
    }

    /// Room for one more: the alarm goes that was cleared first. There is none when all stand.
    fn makes_room(&mut self, at_us: u64) -> bool {
        if self.entries.len() < MOST {
            return true;
        }
        let cleared = self.entries.iter().filter(|(_, entry)| entry.cleared);
        let Some(key) = cleared.min_by_key(|(_, entry)| entry.last_change_us()).map(|(key, _)| key.clone())
        else {
            return false;
        };
        self.remove(&key, at_us);
        true
    }

    fn remove(&mut self, key: &Key, at_us: u64) {
        if let Some(gone) = self.entries.remove(key) {
            self.touch(key, gone.shelf.is_some(), at_us);
        }
    }

    /// An operator says what is done about an alarm of the list; none when it is not there.
    pub(crate) fn set_state(&mut self, key: &Key, act: Act) -> Option<Act> {
        let entry = self.entries.get_mut(key).filter(|entry| entry.shelf.is_none())?;
        let act = entry.act(act);
        self.touch(key, false, act.at_us);
        Some(act)
    }

    /// Removes alarms of the list, or of the shelf; how many.
    pub(crate) fn purge(&mut self, shelved: bool, wanted: &Wanted, at_us: u64) -> usize {
        let purged = self.keys(shelved, |_, entry| wanted.takes(entry));
        purged.iter().for_each(|key| self.remove(key, at_us));
        purged.len()
    }

    /// Forgets all changes but the latest; of how many alarms there were more.
    pub(crate) fn compress(&mut self, shelved: bool, wanted: impl Fn(&Key) -> bool, at_us: u64) -> usize {
        let meant = self.keys(shelved, |key, entry| entry.changes.len() > 1 && wanted(key));
        for key in &meant {
            self.entries.get_mut(key).map(|entry| entry.keep(1));
            self.touch(key, shelved, at_us);
        }
        meant.len()
    }

    fn keys(&self, shelved: bool, wanted: impl Fn(&Key, &Entry) -> bool) -> Vec<Key> {
        let meant =
            self.entries.iter().filter(|(key, entry)| entry.shelf.is_some() == shelved && wanted(key, entry));
        meant.map(|(key, _)| key.clone()).collect()
    }

    /// What is kept and told from now on.
    pub(crate) fn set_policy(&mut self, policy: Policy) {
        if std::mem::replace(&mut self.policy, policy) == policy {
            return;
        }
        for (key, entry) in &mut self.entries {
            if entry.keep(policy.most_changes) {
                self.touched.insert(key.clone());
            }
        }
    }

    /// Other shelves hold from now on.
    pub(crate) fn shelve(&mut self, shelf_of: ShelfOf<'_>, at_us: u64) {
        let moved: Vec<(Key, Option<String>, bool)> = self
            .entries
            .iter()
            .filter_map(|(key, entry)| {
                let shelf = shelf_of(key);
                (shelf != entry.shelf).then(|| (key.clone(), shelf, entry.shelf.is_some()))
            })
            .collect();
        for (key, shelf, was_shelved) in moved {
            let shelved = shelf.is_some();
            if let Some(entry) = self.entries.get_mut(&key) {
                put_on_shelf(entry, shelf, at_us);
            }
            self.touch(&key, was_shelved, at_us);
            self.touch(&key, shelved, at_us);
        }
    }
}

/// On a shelf, from one to another, or back to the list.
fn put_on_shelf(entry: &mut Entry, shelf: Option<String>, at_us: u64) {
    let before = std::mem::replace(&mut entry.shelf, shelf);
    let (state, shelf) = match (&entry.shelf, before) {
        (Some(shelf), _) => (State::Shelved, shelf.clone()),
        (None, Some(shelf)) => (State::Unshelved, shelf),
        (None, None) => return,
    };
    entry.act(Act { at_us, operator: OURSELVES.to_owned(), state, text: Some(format!("shelf {shelf}")) });
}

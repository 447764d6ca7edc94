//! The subscriptions that there are, within their bounds, and the order in which they have their turns.

use super::listening::Listener;
use super::refusal::{Refusal, Why};
use super::terms::{Terms, Trigger};
use crate::nacm::Access;
use crate::types::{NmdaDatastore, SessionId};
use cats_yang_tree::Tree;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// So many subscriptions a session may have.
pub(crate) const MOST_OF_SESSION: usize = 64;

/// So many there may be in all.
pub(crate) const MOST: usize = 2_048;

/// With something to tell, and no room for it for so long, a subscription is suspended.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// A component that is lost may be away for so long, before what it told counts as gone.
pub(crate) const ABSENCE: Duration = Duration::from_secs(10);

/// One subscription.
#[derive(Debug)]
pub(crate) struct Subscription {
    pub(crate) session: SessionId,
    pub(crate) terms: Terms,
    /// What its datastore was, and its receiver might do, when it was last looked at.
    pub(crate) base: Option<Base>,
    /// On change: what its receiver has of it. Without, it is told all of it next.
    pub(crate) told: Option<Tree>,
    /// On change: something may have changed since then.
    pub(crate) since: Option<Instant>,
    /// When it was last told.
    pub(crate) last: Option<Instant>,
    /// Periodic: when it is due next.
    pub(crate) next: Option<Instant>,
    /// It has had something to tell, and no room, since then.
    pub(crate) waiting: Option<Instant>,
    pub(crate) standing: Standing,
    pub(crate) stop: Option<Instant>,
    /// The patch that it is told next, counted from the last time that it was told all.
    pub(crate) patch_id: u32,
    pub(crate) sent: u64,
    pub(crate) excluded: u64,
    /// Its place in the queue.
    due: Option<Instant>,
}

/// Is it told?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is.
    Active,
    /// Suspended until its receiver takes more. It has not been told so yet, as there is no room for that either.
    NoRoom,
    /// Suspended, as what it selects takes too much to find out. That is tried again when something changes.
    TooMuch,
    /// Suspended, as the component that tells of what it selects is lost, until that is back or for so long at most.
    NoComponent { until: Instant },
}

/// The datastore, as it is stored, and who sees it.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    pub(crate) tree: Tree,
    /// What components tell, of `<operational>`.
    pub(crate) state: Tree,
    pub(crate) access: Access,
}

impl Subscription {
    pub(crate) fn new(session: SessionId, terms: Terms) -> Self {
        Self {
            session,
            terms,
            base: None,
            told: None,
            since: None,
            last: None,
            next: None,
            waiting: None,
            standing: Standing::Active,
            stop: None,
            patch_id: 0,
            sent: 0,
            excluded: 0,
            due: None,
        }
    }

    /// Is it suspended for want of a component?
    pub(crate) fn lacks_component(&self) -> bool {
        matches!(self.standing, Standing::NoComponent { .. })
    }

    fn is_of_candidate(&self) -> bool {
        self.terms.datastore == NmdaDatastore::Candidate
    }

    /// The state of components that it is told of on change.
    pub(crate) fn watches(&self) -> impl Iterator<Item = &String> {
        let operational = self.terms.datastore == NmdaDatastore::Operational;
        let on_change = operational && matches!(self.terms.trigger, Trigger::OnChange(_));
        self.terms.selection.state.iter().filter(move |_| on_change)
    }

    /// When it has its turn next. One that waits for room has it when there is some, or when its patience ends.
    fn turn(&self) -> Option<Instant> {
        match self.standing {
            Standing::NoRoom => return self.stop,
            Standing::NoComponent { until } => {
                return self.stop.map_or(Some(until), |stop| Some(stop.min(until)));
            }
            Standing::Active | Standing::TooMuch => {}
        }
        let told = match (self.waiting, &self.terms.trigger) {
            (Some(waiting), _) => Some(waiting + PATIENCE),
            (None, Trigger::Periodic(_)) => self.next,
            (None, Trigger::OnChange(terms)) => {
                self.since.map(|since| super::rhythm::due(since, self.last, terms.dampening))
            }
        };
        [told, self.stop].into_iter().flatten().min()
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Table {
    all: BTreeMap<u32, Subscription>,
    /// Those to streams.
    pub(crate) listeners: BTreeMap<u32, Listener>,
    queue: BTreeSet<(Instant, u32)>,
    last_id: u32,
    /// So many are of a candidate.
    of_candidates: usize,
    /// So many want for a component.
    without_component: usize,
    /// The state of components that is told of on change, by its path, and how many want it.
    pub(crate) watched: BTreeMap<String, usize>,
    /// Sessions in which some may wait for room.
    crowded: BTreeSet<SessionId>,
}

impl Table {
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Subscription)> {
        self.all.iter().map(|(id, subscription)| (*id, subscription))
    }

    pub(crate) fn get(&self, id: u32) -> Option<&Subscription> {
        self.all.get(&id)
    }

    /// An id for a new one of a session.
    ///
    /// # Errors
    /// `insufficient-resources` at a bound.
    pub(crate) fn new_id(&mut self, session: SessionId) -> Result<u32, Refusal> {
        let (all, of_session) = (self.all.len() + self.listeners.len(), self.number_of(session));
        if of_session >= MOST_OF_SESSION || all >= MOST {
            let message = format!(
                "there are {all} subscriptions, {of_session} of them of this session; the limits are {MOST} and \
                 {MOST_OF_SESSION} a session: delete one"
            );
            return Err(Refusal::new(Why::InsufficientResources, message));
        }
        loop {
            // 0 is no id, and those in use are stepped over: the bound keeps others free.
            self.last_id = self.last_id.checked_add(1).unwrap_or(1);
            if !self.all.contains_key(&self.last_id) && !self.listeners.contains_key(&self.last_id) {
                return Ok(self.last_id);
            }
        }
    }

    /// How many subscriptions a session has.
    pub(crate) fn number_of(&self, session: SessionId) -> usize {
        let datastores = self.all.values().filter(|other| other.session == session).count();
        datastores + self.listeners.values().filter(|other| other.session == session).count()
    }

    /// Whose it is, if it is there.
    pub(crate) fn owner(&self, id: u32) -> Option<SessionId> {
        let of_datastore = self.all.get(&id).map(|subscription| subscription.session);
        of_datastore.or_else(|| self.listeners.get(&id).map(|listener| listener.session))
    }

    /// Takes one out, to be changed and put back, or to be gone.
    pub(crate) fn take(&mut self, id: u32) -> Option<Subscription> {
        let subscription = self.all.remove(&id)?;
        if let Some(due) = subscription.due {
            self.queue.remove(&(due, id));
        }
        self.of_candidates -= usize::from(subscription.is_of_candidate());
        self.without_component -= usize::from(subscription.lacks_component());
        for path in subscription.watches() {
            if let Some(count) = self.watched.get_mut(path) {
                *count -= 1;
                if *count == 0 {
                    self.watched.remove(path);
                }
            }
        }
        Some(subscription)
    }

    pub(crate) fn put(&mut self, id: u32, mut subscription: Subscription) {
        subscription.due = subscription.turn();
        if let Some(due) = subscription.due {
            self.queue.insert((due, id));
        }
        self.of_candidates += usize::from(subscription.is_of_candidate());
        self.without_component += usize::from(subscription.lacks_component());
        for path in subscription.watches() {
            *self.watched.entry(path.clone()).or_default() += 1;
        }
        if subscription.waiting.is_some() || subscription.standing == Standing::NoRoom {
            self.crowded.insert(subscription.session);
        }
        self.all.insert(id, subscription);
    }

    /// Is any of a candidate?
    pub(crate) fn has_candidates(&self) -> bool {
        self.of_candidates > 0
    }

    /// Is any suspended for want of a component?
    pub(crate) fn lacks_components(&self) -> bool {
        self.without_component > 0
    }

    /// Those of a session that wait for room. They are not said to wait until they are put back.
    pub(crate) fn crowd_of(&mut self, session: SessionId) -> Vec<u32> {
        if !self.crowded.remove(&session) {
            return Vec::new();
        }
        self.ids(|subscription| {
            let waits = subscription.waiting.is_some() || subscription.standing == Standing::NoRoom;
            waits && subscription.session == session
        })
    }

    /// Those that `which` says yes to.
    pub(crate) fn ids(&self, which: impl Fn(&Subscription) -> bool) -> Vec<u32> {
        self.iter().filter(|(_, subscription)| which(subscription)).map(|(id, _)| id).collect()
    }

    pub(crate) fn next_turn(&self) -> Option<Instant> {
        self.queue.first().map(|(due, _)| *due)
    }

    /// Those whose turn it is, the longest due first.
    pub(crate) fn due(&self, now: Instant) -> Vec<u32> {
        self.queue.iter().take_while(|(due, _)| *due <= now).map(|(_, id)| *id).collect()
    }
}

//! How many sessions there may be, over all transports.

use crate::room::{Room, Rooms};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thiserror::Error;
use tokio::sync::Notify;

/// Bounds on sessions.
#[derive(Debug, Clone, Copy)]
pub struct SessionLimits {
    /// All sessions. 256.
    pub total: usize,
    /// Sessions of one user. 16.
    pub per_user: usize,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self { total: 256, per_user: 16 }
    }
}

/// Why there is no session for a user.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The server is full.
    #[error("{0} sessions are open, the most that are allowed: try again later")]
    Total(usize),
    /// The user has too many.
    #[error("user {} has {limit} sessions open, the most that are allowed: close one", user.escape_debug())]
    PerUser {
        /// The user.
        user: String,
        /// The bound.
        limit: usize,
    },
}

/// Counts the sessions of all transports. One whose peer has said no hello yet gives way to a newcomer when a bound is
/// reached, so that nobody keeps others out by silence.
#[derive(Debug)]
pub struct Admission {
    limits: SessionLimits,
    open: Mutex<Open>,
    rooms: Arc<Rooms>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    /// In order of arrival.
    places: BTreeMap<u64, Place>,
}

#[derive(Debug)]
struct Place {
    user: String,
    /// Tells a silent session that its place is needed; absent from the hello on.
    silent: Option<Arc<Notify>>,
}

impl Open {
    /// Takes the place of the oldest silent session among those of `user`, or among all. False if there is none.
    fn displace(&mut self, user: Option<&str>) -> bool {
        let wanted = |place: &Place| place.silent.is_some() && user.is_none_or(|user| place.user == user);
        let oldest = self.places.iter().find(|(_, place)| wanted(place)).map(|(id, _)| *id);
        let place = oldest.and_then(|id| self.places.remove(&id));
        if let Some(silent) = place.as_ref().and_then(|place| place.silent.as_ref()) {
            silent.notify_one();
        }
        place.is_some()
    }
}

impl Admission {
    /// Nobody is in yet.
    pub fn new(limits: SessionLimits) -> Arc<Self> {
        Arc::new(Self { limits, open: Mutex::default(), rooms: Arc::default() })
    }

    /// Lets `user` in until the ticket is dropped.
    ///
    /// # Errors
    /// A bound is reached.
    pub fn admit(self: &Arc<Self>, user: &str) -> Result<Ticket, Refusal> {
        let mut open = self.open();
        let of_user = open.places.values().filter(|place| place.user == user).count();
        if of_user >= self.limits.per_user {
            if !open.displace(Some(user)) {
                return Err(Refusal::PerUser { user: user.to_owned(), limit: self.limits.per_user });
            }
        } else if open.places.len() >= self.limits.total && !open.displace(None) {
            return Err(Refusal::Total(self.limits.total));
        }
        let id = open.next;
        open.next += 1;
        let displaced = Arc::new(Notify::new());
        let silent = Some(Arc::clone(&displaced));
        open.places.insert(id, Place { user: user.to_owned(), silent });
        let user = user.to_owned();
        Ok(Ticket { admission: Arc::clone(self), id, user, displaced })
    }

    /// The memory that sessions share.
    pub fn rooms(&self) -> &Arc<Rooms> {
        &self.rooms
    }

    /// How many are in.
    pub fn count(&self) -> usize {
        self.open().places.len()
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among the sessions, given back when it is dropped.
#[derive(Debug)]
pub struct Ticket {
    admission: Arc<Admission>,
    id: u64,
    user: String,
    displaced: Arc<Notify>,
}

impl Ticket {
    /// The peer has said its hello: from now on the place is its own.
    pub(crate) fn greeted(&self) {
        if let Some(place) = self.admission.open().places.get_mut(&self.id) {
            place.silent = None;
        }
    }

    /// Memory for the messages of the session.
    pub(crate) fn room(&self) -> Room {
        Room::new(Arc::clone(&self.admission.rooms), self.user.clone())
    }

    /// Ready when another session has taken the place, before [`Ticket::greeted`].
    pub(crate) async fn displaced(&self) {
        self.displaced.notified().await;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.admission.open().places.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The case P65: a limit for all, a limit for each user, and a place that is free again after a close.
    #[test]
    fn a_user_at_the_limit_is_refused_until_a_session_closes() {
        let admission = Admission::new(SessionLimits { total: 3, per_user: 2 });
        let admit = |user: &str| admission.admit(user).inspect(Ticket::greeted);
        let first = admit("ann").unwrap();
        let _second = admit("ann").unwrap();
        let refused = admit("ann").unwrap_err();
        assert_eq!(refused, Refusal::PerUser { user: "ann".to_owned(), limit: 2 });
        let _third = admit("bob").unwrap();
        assert_eq!(admission.admit("cyd").unwrap_err(), Refusal::Total(3));
        drop(first);
        assert_eq!(admission.count(), 2);
        assert!(admission.admit("ann").is_ok());
    }

    #[tokio::test]
    async fn the_silent_give_way_to_newcomers_oldest_first_and_the_greeted_do_not() {
        let admission = Admission::new(SessionLimits { total: 3, per_user: 2 });
        let greeted = admission.admit("ann").unwrap();
        greeted.greeted();
        let silent = admission.admit("ann").unwrap();
        let bob = admission.admit("bob").unwrap();
        let newcomer = admission.admit("ann").unwrap();
        silent.displaced().await;
        drop(silent);
        assert_eq!(admission.count(), 3, "its place was taken, not given back");
        newcomer.greeted();
        assert!(matches!(admission.admit("ann"), Err(Refusal::PerUser { .. })));
        let _cyd = admission.admit("cyd").unwrap();
        bob.displaced().await;
    }
}

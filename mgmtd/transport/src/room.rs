//! Memory for messages that are not whole yet, over all sessions, and the order in which big ones are carried out.
//!
//! Each session has [`FREE`] bytes of its own; what is more it takes here, before it reads on. So a peer that sends
//! faster than there is room for is slowed down, and only when there is none for long is its message given up.

use crate::turns::{Rank, Turn, Turns};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

/// What every session may hold besides, bytes. A message of more takes its turn to be carried out.
pub const FREE: usize = 256 << 10;

/// Taken at a time, bytes.
const STEP: u64 = 1 << 20;

/// When so many bytes were taken and none is any more, the memory is worth giving back to the system.
const PEAK: u64 = 16 << 20;

/// What all sessions may hold together until [`Rooms::set_limit`] says otherwise, bytes.
const LIMIT: u64 = 256 << 20;

/// The room of all sessions. One user gets half of it at most.
#[derive(Debug)]
pub struct Rooms {
    state: Mutex<State>,
    freed: Arc<Notify>,
    emptied: Notify,
    turns: Turns,
}

#[derive(Debug)]
struct State {
    limit: u64,
    taken: u64,
    /// The most that was taken since none was.
    peak: u64,
    users: BTreeMap<String, u64>,
}

impl Default for Rooms {
    fn default() -> Self {
        let state = State { limit: LIMIT, taken: 0, peak: 0, users: BTreeMap::new() };
        Self { state: Mutex::new(state), freed: Arc::default(), emptied: Notify::new(), turns: Turns::new(1) }
    }
}

impl Rooms {
    /// What sessions hold already stays theirs.
    pub fn set_limit(&self, bytes: u64) {
        self.state().limit = bytes;
        self.freed.notify_waiters();
    }

    /// Waits until no other big message is carried out, but for one of the other rank; until the turn is dropped this
    /// one is.
    pub async fn turn(&self, user: &str, rank: Rank) -> Turn<'_> {
        self.turns.turn(user, rank).await
    }

    /// Ready when much was taken and all of it is given back.
    pub async fn emptied(&self) {
        self.emptied.notified().await;
    }

    /// Ready when some has become free since this was called.
    pub(crate) fn freed(&self) -> OwnedNotified {
        Arc::clone(&self.freed).notified_owned()
    }

    fn take(&self, user: &str, bytes: u64) -> bool {
        let mut state = self.state();
        let own = state.users.get(user).copied().unwrap_or_default();
        if state.taken.saturating_add(bytes) > state.limit || own.saturating_add(bytes) > state.limit / 2 {
            return false;
        }
        state.taken += bytes;
        state.peak = state.peak.max(state.taken);
        *state.users.entry(user.to_owned()).or_default() += bytes;
        true
    }

    fn give(&self, user: &str, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let mut state = self.state();
        state.taken = state.taken.saturating_sub(bytes);
        if let Some(own) = state.users.get_mut(user) {
            *own = own.saturating_sub(bytes);
            if *own == 0 {
                state.users.remove(user);
            }
        }
        if state.taken == 0 && std::mem::take(&mut state.peak) >= PEAK {
            self.emptied.notify_one();
        }
        drop(state);
        self.freed.notify_waiters();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one session holds of it, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Room {
    rooms: Arc<Rooms>,
    user: String,
    taken: u64,
}

impl Room {
    pub(crate) fn new(rooms: Arc<Rooms>, user: String) -> Self {
        Self { rooms, user, taken: 0 }
    }

    pub(crate) fn rooms(&self) -> &Arc<Rooms> {
        &self.rooms
    }

    pub(crate) fn user(&self) -> &str {
        &self.user
    }

    /// Is there room for so many bytes in this session? Takes what is missing, if it is there.
    pub(crate) fn holds(&mut self, bytes: usize) -> bool {
        let missing = needed(bytes).saturating_sub(self.taken);
        if missing > 0 && self.rooms.take(&self.user, missing) {
            self.taken += missing;
            return true;
        }
        missing == 0
    }

    /// Does the session hold more than what is its own?
    pub(crate) fn is_used(&self) -> bool {
        self.taken > 0
    }

    /// Gives back what is more than so many bytes take.
    pub(crate) fn settle(&mut self, bytes: usize) {
        let surplus = self.taken.saturating_sub(needed(bytes));
        self.rooms.give(&self.user, surplus);
        self.taken -= surplus;
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.rooms.give(&self.user, self.taken);
    }
}

/// What a session that holds so many bytes takes, in whole steps.
fn needed(bytes: usize) -> u64 {
    let more = bytes.saturating_sub(FREE) as u64;
    more.div_ceil(STEP).saturating_mul(STEP)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn all_share_the_room_and_one_user_gets_half_of_it() {
        let rooms = Arc::new(Rooms::default());
        rooms.set_limit(8 << 20);
        let room = |user: &str| Room::new(Arc::clone(&rooms), user.to_owned());
        let (mut ann, mut second, mut bob, mut cyd) = (room("ann"), room("ann"), room("bob"), room("cyd"));
        assert!(ann.holds(FREE) && !ann.is_used(), "its own takes nothing");
        assert!(ann.holds(FREE + 3 * MIB) && second.holds(FREE + 1));
        assert!(!second.holds(FREE + MIB + 1), "ann has her half");
        assert!(bob.holds(FREE + 4 * MIB));
        assert!(!cyd.holds(FREE + 1), "there is no more");
        assert!(cyd.holds(FREE));
        ann.settle(FREE + 1);
        assert!(cyd.holds(FREE + 2 * MIB));
        drop(bob);
        assert!(cyd.holds(FREE + 4 * MIB));
        drop((ann, second, cyd));
        let state = rooms.state();
        assert_eq!((state.taken, state.users.len()), (0, 0));
    }

    #[tokio::test]
    async fn what_was_much_is_told_of_when_it_is_all_given_back() {
        let rooms = Arc::new(Rooms::default());
        let room = || Room::new(Arc::clone(&rooms), "ann".to_owned());
        let emptied = async |wanted: bool| {
            let told = tokio::time::timeout(std::time::Duration::ZERO, rooms.emptied()).await.is_ok();
            assert_eq!(told, wanted);
        };
        let (mut one, mut other) = (room(), room());
        assert!(one.holds(FREE + MIB));
        one.settle(0);
        emptied(false).await;
        assert!(one.holds(FREE + 15 * MIB) && other.holds(FREE + MIB));
        one.settle(0);
        emptied(false).await;
        drop(other);
        emptied(true).await;
        emptied(false).await;
    }

    #[test]
    fn a_lower_limit_takes_nothing_away_and_gives_nothing_more() {
        let rooms = Arc::new(Rooms::default());
        let mut room = Room::new(Arc::clone(&rooms), "ann".to_owned());
        assert!(room.holds(FREE + 2 * MIB));
        rooms.set_limit(0);
        assert!(room.holds(FREE + 2 * MIB) && !room.holds(FREE + 2 * MIB + 1));
    }
}

//! Turns at what takes time or memory, fair between users.
//!
//! So many sessions have one at a time, and of one user a single session: whoever asks for many, or for long ones, leaves
//! the others to the next user. Those who wait get theirs by turns of the users, not of the sessions. Recovery sessions
//! have as many of their own, of which one user may have all, so they wait for none but each other. As a session asks
//! for one turn at a time, no more wait than there are sessions.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// Whose turns a session has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rank {
    /// Those of all users.
    #[default]
    Ordinary,
    /// Those of the sessions that must get in whatever others do (RFC 8341 section 1.1).
    Recovery,
}

/// Hands out turns.
#[derive(Debug)]
pub struct Turns(Mutex<State>);

#[derive(Debug)]
struct State {
    ordinary: Line,
    recovery: Line,
    next: u64,
    /// Who wait to be told.
    asked: BTreeMap<u64, oneshot::Sender<()>>,
}

impl Turns {
    /// So many at a time, and as many for recovery sessions.
    pub fn new(count: usize) -> Self {
        Self(Mutex::new(State {
            ordinary: Line::new(count, 1),
            recovery: Line::new(count, count),
            next: 0,
            asked: BTreeMap::new(),
        }))
    }

    /// Ready when it is the turn of `user`, which lasts until what is returned is dropped.
    pub async fn turn(&self, user: &str, rank: Rank) -> Turn<'_> {
        let (tell, told) = oneshot::channel();
        let turn = {
            let mut state = self.state();
            let id = state.next;
            state.next += 1;
            state.asked.insert(id, tell);
            state.line(rank).ask(id, user);
            state.hand_out(rank);
            // Gives up the place when the session ends while it waits.
            Turn { turns: self, id, rank }
        };
        // It is told before it is forgotten.
        let _ = told.await;
        turn
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn line(&mut self, rank: Rank) -> &mut Line {
        match rank {
            Rank::Ordinary => &mut self.ordinary,
            Rank::Recovery => &mut self.recovery,
        }
    }

    fn hand_out(&mut self, rank: Rank) {
        while let Some(id) = self.line(rank).admit() {
            if let Some(asked) = self.asked.remove(&id) {
                // One that has ended drops its turn.
                let _ = asked.send(());
            }
        }
    }
}

/// A turn, or a place among those who wait for one.
#[derive(Debug)]
pub struct Turn<'t> {
    turns: &'t Turns,
    id: u64,
    rank: Rank,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.turns.state();
        state.asked.remove(&self.id);
        state.line(self.rank).leave(self.id);
        state.hand_out(self.rank);
    }
}

/// Who has a turn, and who waits for one.
#[derive(Debug)]
struct Line {
    count: usize,
    per_user: usize,
    /// Whose each turn is.
    taken: BTreeMap<u64, String>,
    /// By user, in the order in which they had a turn last; of each the oldest first, and never none.
    waiting: VecDeque<(String, VecDeque<u64>)>,
}

impl Line {
    fn new(count: usize, per_user: usize) -> Self {
        Self { count, per_user, taken: BTreeMap::new(), waiting: VecDeque::new() }
    }

    fn ask(&mut self, id: u64, user: &str) {
        match self.waiting.iter_mut().find(|(waits, _)| waits == user) {
            Some((_, ids)) => ids.push_back(id),
            None => self.waiting.push_back((user.to_owned(), VecDeque::from([id]))),
        }
    }

    /// Whose turn it is now, if there is one to have and somebody may have it.
    fn admit(&mut self) -> Option<u64> {
        if self.taken.len() >= self.count {
            return None;
        }
        let held = |user: &String| self.taken.values().filter(|has| *has == user).count();
        let at = self.waiting.iter().position(|(user, _)| held(user) < self.per_user)?;
        let (user, mut ids) = self.waiting.remove(at)?;
        let id = ids.pop_front()?;
        self.taken.insert(id, user.clone());
        if !ids.is_empty() {
            self.waiting.push_back((user, ids));
        }
        Some(id)
    }

    fn leave(&mut self, id: u64) {
        if self.taken.remove(&id).is_none() {
            for (_, ids) in &mut self.waiting {
                ids.retain(|waits| *waits != id);
            }
            self.waiting.retain(|(_, ids)| !ids.is_empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::time::Duration;

    fn admitted(line: &mut Line) -> Vec<u64> {
        std::iter::from_fn(|| line.admit()).collect()
    }

    #[test]
    fn one_user_that_asks_for_many_turns_leaves_one_to_the_next() {
        let mut line = Line::new(2, 1);
        for id in 0..15 {
            line.ask(id, "low");
        }
        assert_eq!(admitted(&mut line), [0]);
        line.ask(15, "ann");
        assert_eq!(admitted(&mut line), [15]);
        line.leave(15);
        assert_eq!(admitted(&mut line), [0_u64; 0], "low has its turn");
        line.leave(0);
        assert_eq!(admitted(&mut line), [1]);
    }

    #[test]
    fn users_that_wait_have_their_turns_one_after_the_other_however_much_each_asks_for() {
        let mut line = Line::new(1, 1);
        for (id, user) in ["low", "low", "low", "ann", "low", "bob", "ann"].into_iter().enumerate() {
            line.ask(id as u64, user);
        }
        let mut order = Vec::new();
        while let Some(id) = line.admit() {
            assert_eq!(line.admit(), None);
            order.push(id);
            line.leave(id);
        }
        assert_eq!(order, [0, 3, 5, 1, 6, 2, 4]);
        assert!(line.waiting.is_empty() && line.taken.is_empty());
    }

    #[test]
    fn who_leaves_while_waiting_is_passed_over_and_keeps_nothing() {
        let mut line = Line::new(1, 1);
        for (id, user) in [(0, "ann"), (1, "bob"), (2, "cyd")] {
            line.ask(id, user);
        }
        assert_eq!(admitted(&mut line), [0]);
        line.leave(1);
        assert_eq!(line.waiting.len(), 1);
        line.leave(0);
        assert_eq!(admitted(&mut line), [2]);
    }

    async fn is_ready<'t>(turn: impl Future<Output = Turn<'t>>) -> bool {
        tokio::time::timeout(Duration::ZERO, turn).await.is_ok()
    }

    #[tokio::test]
    async fn a_recovery_session_waits_for_no_other_and_its_user_may_have_all_turns_of_their_own() {
        let turns = Turns::new(2);
        let _low = turns.turn("low", Rank::Ordinary).await;
        let _ann = turns.turn("ann", Rank::Ordinary).await;
        assert!(!is_ready(turns.turn("bob", Rank::Ordinary)).await);
        let one = turns.turn("low", Rank::Recovery).await;
        let _other = turns.turn("low", Rank::Recovery).await;
        assert!(!is_ready(turns.turn("root", Rank::Recovery)).await, "they are bounded too");
        drop(one);
        assert!(is_ready(turns.turn("root", Rank::Recovery)).await);
    }

    #[tokio::test]
    async fn a_turn_that_comes_when_nobody_waits_any_more_goes_to_the_next() {
        let turns = Turns::new(1);
        let first = turns.turn("low", Rank::Ordinary).await;
        {
            let mut given_up = pin!(turns.turn("ann", Rank::Ordinary));
            assert!(!is_ready(given_up.as_mut()).await);
            drop(first);
            // Its turn has come, and it never learns of it.
        }
        let _next =
            tokio::time::timeout(Duration::from_secs(5), turns.turn("bob", Rank::Ordinary)).await.unwrap();
        assert!(turns.state().asked.is_empty());
    }
}

//! How many sessions there may be, over all transports.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thiserror::Error;

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
    #[error("user {user} has {limit} sessions open, the most that are allowed: close one")]
    PerUser {
        /// The user.
        user: String,
        /// The bound.
        limit: usize,
    },
}

/// Counts the sessions of all transports.
#[derive(Debug)]
pub struct Admission {
    limits: SessionLimits,
    open: Mutex<BTreeMap<String, usize>>,
}

impl Admission {
    /// Nobody is in yet.
    pub fn new(limits: SessionLimits) -> Arc<Self> {
        Arc::new(Self { limits, open: Mutex::new(BTreeMap::new()) })
    }

    /// Lets `user` in until the ticket is dropped.
    ///
    /// # Errors
    /// A bound is reached.
    pub fn admit(self: &Arc<Self>, user: &str) -> Result<Ticket, Refusal> {
        let mut open = self.open();
        if open.values().sum::<usize>() >= self.limits.total {
            return Err(Refusal::Total(self.limits.total));
        }
        let count = open.entry(user.to_owned()).or_default();
        if *count >= self.limits.per_user {
            return Err(Refusal::PerUser { user: user.to_owned(), limit: self.limits.per_user });
        }
        *count += 1;
        Ok(Ticket { admission: Arc::clone(self), user: user.to_owned() })
    }

    /// How many are in.
    pub fn count(&self) -> usize {
        self.open().values().sum()
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among the sessions, given back when it is dropped.
#[derive(Debug)]
pub struct Ticket {
    admission: Arc<Admission>,
    user: String,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut open = self.admission.open();
        if let Some(count) = open.get_mut(&self.user) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                open.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The case P65: a limit for all, a limit for each user, and a place that is free again after a close.
    #[test]
    fn a_user_at_the_limit_is_refused_until_a_session_closes() {
        let admission = Admission::new(SessionLimits { total: 3, per_user: 2 });
        let first = admission.admit("ann").unwrap();
        let _second = admission.admit("ann").unwrap();
        let refused = admission.admit("ann").unwrap_err();
        assert_eq!(refused, Refusal::PerUser { user: "ann".to_owned(), limit: 2 });
        let _third = admission.admit("bob").unwrap();
        assert_eq!(admission.admit("cyd").unwrap_err(), Refusal::Total(3));
        drop(first);
        assert_eq!(admission.count(), 2);
        assert!(admission.admit("ann").is_ok());
    }
}

//! Open sessions and the global locks they hold. Invariant: a lock's holder is an open session.

use crate::types::{Datastore, Now, Peer, SessionId};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};
use std::collections::BTreeMap;

/// Bounds on what sessions may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Open sessions in all.
    pub sessions: usize,
    /// Open sessions of one user.
    pub sessions_per_user: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { sessions: 256, sessions_per_user: 128 }
    }
}

/// What RFC 6022 counts, of one session and of all since the start. Each stands still at its greatest value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Correct requests received.
    pub(crate) requests: u32,
    /// Messages received in place of a request that were none.
    pub(crate) refused: u32,
    /// Error replies sent.
    pub(crate) errors: u32,
    /// Notifications sent.
    pub(crate) told: u32,
}

/// One open session.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) peer: Peer,
    /// When it was opened, microseconds since 1970.
    pub(crate) since_us: u64,
    pub(crate) counts: Counts,
}

/// A held lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) by: SessionId,
    /// When it was taken, microseconds since 1970.
    pub(crate) since_us: u64,
}

/// All sessions and their locks.
#[derive(Debug, Clone)]
pub(crate) struct Sessions {
    limits: Limits,
    open: BTreeMap<SessionId, Session>,
    locks: BTreeMap<Datastore, Held>,
    next: u32,
    /// Sessions opened since the start.
    pub(crate) opened: u32,
    /// Of them those that ended with a hello that was not valid.
    pub(crate) bad_hellos: u32,
    /// Of them those that ended otherwise than by `close-session`, `kill-session` or such a hello.
    pub(crate) dropped: u32,
    /// Of all sessions since the start.
    pub(crate) counts: Counts,
}

impl Sessions {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            open: BTreeMap::new(),
            locks: BTreeMap::new(),
            next: 1,
            opened: 0,
            bad_hellos: 0,
            dropped: 0,
            counts: Counts::default(),
        }
    }

    /// `taken` are ids that still mean something.
    pub(crate) fn open(
        &mut self,
        peer: Peer,
        now: Now,
        taken: impl Fn(SessionId) -> bool,
    ) -> Result<SessionId, Error> {
        let of_user = self.open.values().filter(|session| session.peer.user == peer.user).count();
        if self.open.len() >= self.limits.sessions || of_user >= self.limits.sessions_per_user {
            return Err(Error::protocol(
                ErrorTag::ResourceDenied,
                format!(
                    "{} sessions are open, {of_user} of them of user '{}'; the limits are {} and {} a user: close one",
                    self.open.len(),
                    peer.user,
                    self.limits.sessions,
                    self.limits.sessions_per_user
                ),
            ));
        }
        let id = self.free_id(taken);
        let session = Session { peer, since_us: now.unix_us, counts: Counts::default() };
        self.open.insert(id, session);
        self.opened = self.opened.saturating_add(1);
        Ok(id)
    }

    /// Ids count up and wrap round to 1; one in use is stepped over, and the limits keep some free.
    fn free_id(&mut self, taken: impl Fn(SessionId) -> bool) -> SessionId {
        loop {
            let id = SessionId(self.next);
            self.next = self.next.checked_add(1).unwrap_or(1);
            if !self.open.contains_key(&id) && !taken(id) {
                return id;
            }
        }
    }

    /// Forgets a session and returns the locks that went with it.
    pub(crate) fn close(&mut self, id: SessionId) -> Option<Vec<Datastore>> {
        self.open.remove(&id)?;
        let gone: Vec<_> =
            self.locks.iter().filter(|(_, held)| held.by == id).map(|(datastore, _)| *datastore).collect();
        self.locks.retain(|_, held| held.by != id);
        Some(gone)
    }

    pub(crate) fn get(&self, id: SessionId) -> Option<&Session> {
        self.open.get(&id)
    }

    /// Counts something of a session, and of all. False when there is no such session.
    pub(crate) fn count(&mut self, id: SessionId, more: impl Fn(&mut Counts)) -> bool {
        let Some(session) = self.open.get_mut(&id) else { return false };
        more(&mut session.counts);
        more(&mut self.counts);
        true
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (SessionId, &Session)> {
        self.open.iter().map(|(id, session)| (*id, session))
    }

    pub(crate) fn lock_of(&self, datastore: Datastore) -> Option<Held> {
        self.locks.get(&datastore).copied()
    }

    pub(crate) fn lock(&mut self, datastore: Datastore, by: SessionId, now: Now) -> Result<(), Error> {
        if let Some(held) = self.lock_of(datastore) {
            return Err(lock_denied(datastore, held.by.0, "holds the lock"));
        }
        self.locks.insert(datastore, Held { by, since_us: now.unix_us });
        Ok(())
    }

    pub(crate) fn unlock(&mut self, datastore: Datastore, by: SessionId) -> Result<(), Error> {
        match self.lock_of(datastore) {
            Some(held) if held.by == by => {
                self.locks.remove(&datastore);
                Ok(())
            }
            Some(held) => {
                let message = format!(
                    "<{}> is locked by session {}, and only that one can unlock it",
                    datastore.name(),
                    held.by
                );
                Err(Error::protocol(ErrorTag::LockDenied, message).with(ErrorInfo::SessionId(held.by.0)))
            }
            None => Err(not_locked(datastore)),
        }
    }

    /// Refuses a change of `datastore` that another session has locked.
    pub(crate) fn may_change(&self, datastore: Datastore, by: SessionId) -> Result<(), Error> {
        match self.lock_of(datastore) {
            Some(held) if held.by != by => Err(Error::protocol(
                ErrorTag::InUse,
                format!("<{}> is locked by session {}: retry when it is unlocked", datastore.name(), held.by),
            )),
            Some(_) | None => Ok(()),
        }
    }
}

/// The error of an `unlock` of what nobody has locked.
pub(crate) fn not_locked(datastore: Datastore) -> Error {
    Error::protocol(
        ErrorTag::OperationFailed,
        format!("<{}> is not locked, so it cannot be unlocked", datastore.name()),
    )
}

/// The error of RFC 6241 section 7.5: `holder` is 0 for what is not a session.
pub(crate) fn lock_denied(datastore: Datastore, holder: u32, why: &str) -> Error {
    if holder == 0 {
        return lock_denied_for(datastore, holder, why);
    }
    let message = format!("session {holder} {why} of <{}>", datastore.name());
    Error::protocol(ErrorTag::LockDenied, message).with(ErrorInfo::SessionId(holder))
}

/// As [`lock_denied`], for a datastore that is not locked.
pub(crate) fn lock_denied_for(datastore: Datastore, holder: u32, why: &str) -> Error {
    let message = format!("<{}> cannot be locked: {why}", datastore.name());
    Error::protocol(ErrorTag::LockDenied, message).with(ErrorInfo::SessionId(holder))
}

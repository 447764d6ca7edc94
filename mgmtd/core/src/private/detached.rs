//! Private candidates whose sessions were lost or killed: kept for a time, in bounded number, for a new session of the same
//! user to go on with. A session that closes itself leaves none.

use super::{Private, not_private};
use crate::core::Core;
use crate::monitoring::date_and_time;
use crate::output::{Event, Output, WhyDropped};
use crate::types::{Now, Peer, Reply, SessionId};
use cats_yang_tree::diff;
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// How many are kept for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keeping {
    /// How long.
    pub time: Duration,
    /// So many of one user; for a further one the oldest of that user is dropped.
    pub per_user: usize,
    /// So many in all; for a further one the oldest is dropped.
    pub total: usize,
}

impl Default for Keeping {
    /// The defaults of `cats-system`.
    fn default() -> Self {
        Self { time: Duration::from_secs(3600), per_user: 4, total: 32 }
    }
}

/// Those that are kept, oldest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Detached {
    keeping: Keeping,
    kept: Vec<Lost>,
}

#[derive(Debug, Clone)]
struct Lost {
    session: SessionId,
    user: String,
    since: Now,
    private: Private,
}

impl Lost {
    fn until(&self, keeping: Keeping) -> Instant {
        self.since.instant + keeping.time
    }

    fn to_json(&self, keeping: Keeping) -> Value {
        let changes = diff(&self.private.base, &self.private.tree).changes.len();
        let time = u64::try_from(keeping.time.as_micros()).unwrap_or(u64::MAX);
        let mut entry = json!({
            "session-id": self.session.0,
            "user": self.user,
            "since": date_and_time(self.since.unix_us),
            "until": date_and_time(self.since.unix_us.saturating_add(time)),
            "base-revision": self.private.base_revision.to_string(),
            "changes": u32::try_from(changes).unwrap_or(u32::MAX),
        });
        if let (true, Value::Object(entry)) = (self.private.on_trial, &mut entry) {
            entry.insert("awaits-confirmation".to_owned(), json!([null]));
        }
        entry
    }

    /// Its user may have it, and a recovery session, which no access control holds for (RFC 8341 section 1.1).
    fn is_for(&self, peer: &Peer) -> bool {
        peer.recovery || peer.user == self.user
    }
}

impl Detached {
    /// Is this the name of one?
    pub(crate) fn names(&self, session: SessionId) -> bool {
        self.kept.iter().any(|lost| lost.session == session)
    }

    pub(crate) fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.kept.first().map(|lost| (lost.until(self.keeping), "candidates"))
    }

    /// The one that a session left.
    pub(super) fn of(&mut self, session: SessionId) -> Option<&mut Private> {
        self.kept.iter_mut().find(|lost| lost.session == session).map(|lost| &mut lost.private)
    }

    pub(crate) fn with_users(&mut self) -> impl Iterator<Item = (&str, &mut Private)> {
        self.kept.iter_mut().map(|lost| (lost.user.as_str(), &mut lost.private))
    }

    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut Private> {
        self.kept.iter_mut().map(|lost| &mut lost.private)
    }

    /// Forgets those that hold nothing any more.
    pub(super) fn forget_empty(&mut self) {
        self.kept.retain(|lost| lost.private.holds_work());
    }

    /// One that is too much or too old, with the reason.
    fn surplus(&mut self, now: Now) -> Option<(Lost, WhyDropped)> {
        let Keeping { per_user, total, .. } = self.keeping;
        let of_user = |user: &str| self.kept.iter().filter(|lost| lost.user == user).count();
        let expired = self.kept.iter().position(|lost| lost.until(self.keeping) <= now.instant);
        let (at, why) = if let Some(at) = expired {
            (at, WhyDropped::Expired)
        } else if let Some(at) = self.kept.iter().position(|lost| of_user(&lost.user) > per_user) {
            (at, WhyDropped::Crowded { limit: per_user })
        } else if self.kept.len() > total {
            (0, WhyDropped::Crowded { limit: total })
        } else {
            return None;
        };
        (at < self.kept.len()).then(|| (self.kept.remove(at), why))
    }
}

impl Core {
    /// How many private candidates of lost sessions are kept, and for how long; from now on.
    pub fn handle_keeping(&mut self, keeping: Keeping, now: Now) {
        self.detached.keeping = keeping;
        self.drop_surplus(now);
    }

    /// A session was lost with this candidate, and perhaps with a commit of it on its way.
    pub(crate) fn detach(&mut self, session: SessionId, user: String, private: Private, now: Now) {
        if !private.holds_work() {
            return;
        }
        let private = Private { locked: false, ..private };
        self.outputs.push_back(Output::Event(Event::CandidateKept { session, user: user.clone() }));
        self.detached.kept.push(Lost { session, user, since: now, private });
        self.drop_surplus(now);
    }

    /// The journal did not take what its session had committed.
    pub(crate) fn restore_detached(&mut self, session: SessionId, before: Option<Private>) {
        if let (Some(private), Some(before)) = (self.detached.of(session), before) {
            *private = Private { locked: false, ..before };
        }
    }

    pub(crate) fn drop_surplus(&mut self, now: Now) {
        while let Some((lost, why)) = self.detached.surplus(now) {
            self.tell_dropped(lost, why);
        }
    }

    fn tell_dropped(&mut self, lost: Lost, why: WhyDropped) {
        let Lost { session, user, .. } = lost;
        self.outputs.push_back(Output::Event(Event::CandidateDropped { session, user, why }));
    }

    /// `attach-candidate`.
    pub(crate) fn attach_candidate(
        &mut self,
        session: SessionId,
        left_by: SessionId,
    ) -> Result<Reply, Vec<Error>> {
        let own = self.privates.get(&session).ok_or_else(not_private)?;
        let (locked, why) = match own {
            Some(own) if own.is_modified() => {
                (own.locked, Some("has changes: <commit> or <discard-changes>"))
            }
            Some(own) if own.on_trial => {
                (own.locked, Some("is in a confirmed commit that waits: <commit> or <cancel-commit>"))
            }
            Some(own) => (own.locked, None),
            None => (false, None),
        };
        if let Some(why) = why {
            let message = format!("the private candidate of this session {why} first");
            return Err(vec![Error::protocol(ErrorTag::InUse, message)]);
        }
        let lost = self.take_detached(session, left_by)?;
        let (running, schema) = (self.running.clone(), self.facts.schema.clone());
        let mut private = Private { locked, ..lost.private };
        let conflicts = self.access(session).without_hidden(private.conflicts(&schema, &running));
        self.privates.insert(session, Some(private));
        let event = Event::CandidateAttached { session, left_by, user: lost.user };
        self.outputs.push_back(Output::Event(event));
        Ok(Reply::Attached { conflicts: conflicts.into_iter().filter_map(|error| error.path).collect() })
    }

    /// `drop-candidate`.
    pub(crate) fn drop_candidate(
        &mut self,
        session: SessionId,
        left_by: SessionId,
    ) -> Result<Reply, Vec<Error>> {
        let lost = self.take_detached(session, left_by)?;
        self.tell_dropped(lost, WhyDropped::Asked { by: session });
        Ok(Reply::Ok)
    }

    /// What is another's is told of as if it were not there.
    fn take_detached(&mut self, session: SessionId, left_by: SessionId) -> Result<Lost, Vec<Error>> {
        let peer = self.sessions.get(session).map(|session| &session.peer);
        let mine = |lost: &Lost| lost.session == left_by && peer.is_some_and(|peer| lost.is_for(peer));
        let Some(at) = self.detached.kept.iter().position(mine) else {
            let message = format!(
                "session {left_by} has left no candidate that you may have: see \
                 system/detached-candidates of cats-system"
            );
            let error = Error::application(ErrorTag::DataMissing, message).app_tag("instance-required");
            return Err(vec![error.with(ErrorInfo::BadElement("session-id".to_owned()))]);
        };
        if self.on_their_way().any(|commit| commit.cause.session() == Some(left_by)) {
            let message = format!("what session {left_by} committed is on its way: retry when it is decided");
            return Err(vec![Error::protocol(ErrorTag::InUse, message)]);
        }
        Ok(self.detached.kept.remove(at))
    }

    /// Those that a session may attach, for `cats-system`.
    pub(crate) fn detached_candidates(&self, session: SessionId) -> Vec<Value> {
        let Some(peer) = self.sessions.get(session).map(|session| &session.peer) else { return Vec::new() };
        let keeping = self.detached.keeping;
        let mine = self.detached.kept.iter().filter(|lost| lost.is_for(peer));
        mine.map(|lost| lost.to_json(keeping)).collect()
    }
}

//! Confirmed commits (RFC 6241 section 8.4): what waits for its confirmation, who may give it, and the ways back.
//!
//! A way back is a commit of its own, which is prepared, recorded and applied like any other, but is never refused:
//! the configuration that it restores was in force before. A component that does not take it as a change gets it
//! whole. When it cannot be recorded it is in force all the same, since what is recorded says that it is due; it is
//! then recorded as soon as that is possible.

use crate::commit::{Cause, Commit, Stage};
use crate::core::Core;
use crate::output::{Alarm, Author, ConfirmEvent, Event, Output, Pending};
use crate::types::{Confirmed, Datastore, Now, Reply, SessionId};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};
use cats_yang_tree::{Tree, diff};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long after a failure to record a rollback it is tried again.
pub const RECORD_AGAIN: Duration = Duration::from_secs(10);

/// A confirmed commit that waits for its confirmation.
#[derive(Debug, Clone)]
pub(crate) struct Ongoing {
    pub(crate) pending: Arc<Pending>,
    /// Running before the first of the confirmed commits that follow each other.
    pub(crate) base: Tree,
    pub(crate) deadline: Instant,
    /// The session that issued the last one, while it is open.
    pub(crate) by: Option<SessionId>,
}

/// Why a confirmed commit is taken back without anybody asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rollback {
    TimedOut,
    SessionEnded,
}

impl Ongoing {
    /// A confirmed commit of `new`, on top of one that waits already or not.
    fn of(confirmed: &Confirmed, by: SessionId, new: &Tree, before: Before<'_>, now: Now) -> Self {
        let (base, token) = match before {
            Before::Waits(ongoing) => (&ongoing.base, ongoing.pending.persist.clone()),
            Before::Runs(running) => (running, None),
        };
        let timeout = Duration::from_secs(u64::from(confirmed.timeout_s));
        let pending = Pending {
            undo: Arc::new(diff(new, base)),
            deadline_us: now.unix_us.saturating_add(u64::from(confirmed.timeout_s) * 1_000_000),
            timeout_s: confirmed.timeout_s,
            persist: confirmed.persist.clone().or(token),
        };
        Self { pending: Arc::new(pending), base: base.clone(), deadline: now.instant + timeout, by: Some(by) }
    }

    /// The same when running has become `new` meanwhile: that is taken back too.
    fn over(&self, new: &Tree) -> Self {
        let pending = Pending { undo: Arc::new(diff(new, &self.base)), ..self.pending.as_ref().clone() };
        Self { pending: Arc::new(pending), ..self.clone() }
    }

    /// Nobody can confirm it: it goes back.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.pending.persist.is_none() && self.by.is_none()
    }
}

/// What a confirmed commit goes back to.
#[derive(Clone, Copy)]
enum Before<'a> {
    Waits(&'a Ongoing),
    Runs(&'a Tree),
}

impl Core {
    /// Takes up a confirmed commit that waited when the daemon stopped, and may still wait: see [`Pending::left`].
    /// `base` is the configuration to go back to.
    pub fn resume(&mut self, pending: Pending, base: Tree, now: Now) {
        let deadline = now.instant + pending.left(now).unwrap_or_default();
        self.ongoing = Some(Ongoing { pending: Arc::new(pending), base, deadline, by: None });
    }

    /// The daemon is about to stop. A confirmed commit that ends with its session is taken back now, and not only at
    /// the next start.
    pub fn handle_stop(&mut self, now: Now) {
        if let Some(ongoing) = &mut self.ongoing {
            ongoing.by = None;
        }
        self.roll_back_if_due(now);
    }

    /// May `session` issue a commit that carries `persist_id`? (RFC 6241 section 8.4.1)
    pub(crate) fn may_follow(&self, session: SessionId, persist_id: Option<&str>) -> Result<(), Vec<Error>> {
        let Some(ongoing) = &self.ongoing else {
            return match persist_id {
                Some(_) => Err(wrong_persist_id("no persistent confirmed commit waits for its confirmation")),
                None => Ok(()),
            };
        };
        match (ongoing.pending.persist.as_deref(), persist_id) {
            (Some(token), Some(given)) if token == given => Ok(()),
            (Some(_), Some(_)) => {
                Err(wrong_persist_id("it is not the <persist> of the confirmed commit that waits"))
            }
            (None, Some(_)) => Err(wrong_persist_id("the confirmed commit that waits has no <persist>")),
            (Some(_), None) => Err(in_use(
                "a persistent confirmed commit waits for its confirmation: give its <persist> as <persist-id>",
            )),
            (None, None) if ongoing.by == Some(session) => Ok(()),
            (None, None) => Err(waits_for_another(ongoing)),
        }
    }

    /// May `session` write running directly? What is written while a confirmed commit waits is taken back with it, which
    /// is for its own session only to want.
    pub(crate) fn may_write(&self, session: SessionId) -> Result<(), Vec<Error>> {
        match &self.ongoing {
            Some(ongoing) if ongoing.by != Some(session) => Err(waits_for_another(ongoing)),
            Some(_) | None => Ok(()),
        }
    }

    /// `cancel-commit` (RFC 6241 section 8.4.4.1).
    pub(crate) fn cancel_commit(
        &mut self,
        session: SessionId,
        persist_id: Option<&str>,
        now: Now,
    ) -> Result<Option<Reply>, Vec<Error>> {
        self.sessions.may_change(Datastore::Running, session).map_err(|error| vec![error])?;
        self.no_commit_unrecorded()?;
        match (&self.ongoing, persist_id) {
            (Some(ongoing), None) if ongoing.by == Some(session) => {}
            (Some(ongoing), None) if ongoing.pending.persist.is_none() => {
                return Err(waits_for_another(ongoing));
            }
            (None, None) => {
                let message = "no confirmed commit waits for its confirmation";
                return Err(vec![Error::protocol(ErrorTag::OperationFailed, message)]);
            }
            (_, _) => self.may_follow(session, persist_id)?,
        }
        let by = self.author(session);
        self.begin_rollback(Cause::Cancel { session, by }, now);
        Ok(None)
    }

    /// Running of a session that has a confirmed commit waiting is not for others to lock (RFC 6241 section 7.5).
    pub(crate) fn may_lock(&self, target: Datastore, session: SessionId) -> Result<(), Error> {
        match &self.ongoing {
            Some(ongoing) if target == Datastore::Running && ongoing.by != Some(session) => {
                let holder = ongoing.by.map_or(0, |holder| holder.0);
                let why = "it has a confirmed commit that waits for its confirmation";
                Err(crate::session::lock_denied_for(target, holder, why))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// What waits once `commit` is decided.
    pub(crate) fn ongoing_after(&self, commit: &Commit, now: Now) -> Option<Ongoing> {
        match &commit.cause {
            Cause::Candidate { session, confirmed: Some(confirmed), .. } => {
                let before = match &self.ongoing {
                    Some(ongoing) => Before::Waits(ongoing),
                    None => Before::Runs(&self.running),
                };
                Some(Ongoing::of(confirmed, *session, &commit.new, before, now))
            }
            Cause::Running { .. } => self.ongoing.as_ref().map(|ongoing| ongoing.over(&commit.new)),
            Cause::Candidate { confirmed: None, .. } | Cause::Cancel { .. } | Cause::Rollback(_) => None,
        }
    }

    /// Takes over what waits from now on, and tells what happened to what did.
    pub(crate) fn settle(&mut self, cause: &Cause, then: Option<Ongoing>) {
        let waited = self.ongoing.take().is_some();
        self.ongoing = then.map(|ongoing| {
            let by = ongoing.by.filter(|session| self.sessions.get(*session).is_some());
            Ongoing { by, ..ongoing }
        });
        let timeout_s = self.ongoing.as_ref().map(|ongoing| ongoing.pending.timeout_s);
        let what = match (cause, timeout_s) {
            (Cause::Candidate { .. }, Some(timeout_s)) if waited => ConfirmEvent::Extend { timeout_s },
            (Cause::Candidate { .. }, Some(timeout_s)) => ConfirmEvent::Start { timeout_s },
            (Cause::Candidate { .. }, None) if waited => ConfirmEvent::Complete,
            (Cause::Candidate { .. }, None) | (Cause::Running { .. }, _) => return,
            (Cause::Cancel { .. } | Cause::Rollback(Rollback::SessionEnded), _) => ConfirmEvent::Cancel,
            (Cause::Rollback(Rollback::TimedOut), _) => ConfirmEvent::Timeout,
        };
        self.outputs.push_back(Output::Event(Event::ConfirmedCommit { what, by: cause.author() }));
    }

    /// Would what is being committed wait for a confirmation that can come from its session only?
    pub(crate) fn is_volatile(&self, cause: &Cause) -> bool {
        let waits_for_token = self.ongoing.as_ref().is_some_and(|ongoing| ongoing.pending.persist.is_some());
        match cause {
            Cause::Candidate { confirmed: Some(confirmed), .. } => {
                confirmed.persist.is_none() && !waits_for_token
            }
            Cause::Candidate { confirmed: None, .. }
            | Cause::Running { .. }
            | Cause::Cancel { .. }
            | Cause::Rollback(_) => false,
        }
    }

    /// A session has ended; what it committed until it is confirmed may end with it.
    pub(crate) fn leave_ongoing(&mut self, session: SessionId) {
        if let Some(ongoing) = self.ongoing.as_mut().filter(|ongoing| ongoing.by == Some(session)) {
            ongoing.by = None;
        }
    }

    /// Is no commit on its way?
    fn is_idle(&self) -> bool {
        self.commit.is_none() && self.ahead.is_empty()
    }

    /// When a confirmed commit that nobody confirms is taken back; a commit on its way may confirm it still.
    pub(crate) fn confirm_timeout(&self) -> Option<(Instant, &'static str)> {
        let ongoing = self.ongoing.as_ref().filter(|_| self.is_idle())?;
        Some((ongoing.deadline, "confirm"))
    }

    pub(crate) fn roll_back_if_due(&mut self, now: Now) {
        let Some(ongoing) = self.ongoing.as_ref().filter(|_| self.is_idle()) else { return };
        if ongoing.is_abandoned() {
            self.begin_rollback(Cause::Rollback(Rollback::SessionEnded), now);
        } else if ongoing.deadline <= now.instant {
            self.begin_rollback(Cause::Rollback(Rollback::TimedOut), now);
        }
    }

    fn begin_rollback(&mut self, cause: Cause, now: Now) {
        let Some(ongoing) = &self.ongoing else { return };
        let changes = Arc::clone(&ongoing.pending.undo);
        let new = ongoing.base.clone();
        if changes.is_empty() {
            return self.note(cause, now);
        }
        self.commit = Some(Commit::new(cause, self.revision + 1, new, changes));
        self.prepare_commit(now);
    }

    /// Records what becomes of a confirmed commit when running stays as it is.
    pub(crate) fn note(&mut self, cause: Cause, now: Now) {
        self.commit = Some(Commit::new(cause, self.revision, self.running.clone(), Arc::default()));
        self.record_commit(Vec::new(), now);
    }

    /// A rollback that cannot be recorded is in force all the same.
    pub(crate) fn go_unrecorded(&mut self, commit: Commit, error: &Error, now: Now) {
        self.take_over(&commit);
        self.commit = Some(commit);
        self.record_later(error, now);
        self.answer_endings();
    }

    pub(crate) fn record_later(&mut self, error: &Error, now: Now) {
        let Some(commit) = &mut self.commit else { return };
        commit.stage = Stage::Unrecorded { ticket: None, again: now.instant + RECORD_AGAIN };
        let alarm = Alarm::Unrecorded { reason: error.to_string() };
        self.components.replace_alarm(alarm, now, &mut self.outputs);
    }

    pub(crate) fn record_again(&mut self, now: Now) {
        let due = |commit: &Commit| matches!(commit.stage, Stage::Unrecorded { ticket: None, again } if again <= now.instant);
        if self.commit.as_ref().is_some_and(due) {
            let ticket = self.ticket();
            if let Some(commit) = &mut self.commit {
                commit.stage = Stage::Unrecorded { ticket: Some(ticket), again: now.instant };
                self.outputs.push_back(Output::Record { ticket, group: vec![commit.recorded()] });
            }
        }
    }

    pub(crate) fn recorded_at_last(&mut self) {
        self.components.clear_unrecorded(&mut self.outputs);
        if let Some(commit) = self.commit.take() {
            self.end_commit(commit, Ok(()));
        }
    }

    pub(crate) fn author(&self, session: SessionId) -> Author {
        match self.sessions.get(session).map(|session| &session.peer) {
            Some(peer) => Author::Session { session, user: peer.user.clone(), transport: peer.transport },
            // Nobody asks for a session that is not there.
            None => Author::Server,
        }
    }
}

impl Pending {
    /// How long it may still wait when the daemon starts; none when it is to be taken back at once, because its
    /// time has run out or because it ended with its session. A clock that was set back prolongs nothing.
    pub fn left(&self, now: Now) -> Option<Duration> {
        self.persist.as_ref()?;
        let most = u64::from(self.timeout_s) * 1_000_000;
        let left = self.deadline_us.saturating_sub(now.unix_us).min(most);
        (left > 0).then(|| Duration::from_micros(left))
    }
}

fn wrong_persist_id(why: &str) -> Vec<Error> {
    let error = Error::protocol(ErrorTag::InvalidValue, format!("the <persist-id> is of no use: {why}"));
    vec![error.with(ErrorInfo::BadElement("persist-id".to_owned()))]
}

fn in_use(message: impl Into<String>) -> Vec<Error> {
    vec![Error::protocol(ErrorTag::InUse, message)]
}

fn waits_for_another(ongoing: &Ongoing) -> Vec<Error> {
    let whose = ongoing.by.map_or_else(|| "another session".to_owned(), |by| format!("session {by}"));
    in_use(format!("a confirmed commit of {whose} waits for its confirmation: retry when it is settled"))
}

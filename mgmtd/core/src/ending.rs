//! The end of a session: what goes with it, and the answer to who asked for it, which is given once that is done.
//!
//! What may take its time is the way back from a confirmed commit, and a commit of the session that is decided already.

use crate::commit::Cause;
use crate::confirmed::{Ongoing, Rollback};
use crate::core::Core;
use crate::output::{Event, Output};
use crate::types::{End, Now, Peer, Reply, SessionId};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};

/// Who waits until a session has ended with all that goes with it. Each session has one request in progress, so their
/// number has the bound of that of the sessions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ending {
    /// Itself when it closes.
    asker: SessionId,
    session: SessionId,
}

impl Core {
    /// `close-session`.
    pub(crate) fn close(&mut self, session: SessionId, now: Now) {
        self.end(session, End::Closed, now);
        self.endings.push(Ending { asker: session, session });
        self.answer_endings();
    }

    /// `kill-session`.
    pub(crate) fn kill(
        &mut self,
        by: SessionId,
        victim: SessionId,
        now: Now,
    ) -> Result<Option<Reply>, Vec<Error>> {
        let refused = |message: String| {
            vec![
                Error::protocol(ErrorTag::InvalidValue, message)
                    .with(ErrorInfo::BadElement("session-id".to_owned())),
            ]
        };
        if victim == by {
            return Err(refused("a session cannot kill itself: use <close-session>".to_owned()));
        }
        if self.sessions.get(victim).is_none() {
            return Err(refused(format!("there is no session {victim}")));
        }
        self.end(victim, End::Killed { by }, now);
        self.outputs.push_back(Output::End { session: victim, why: End::Killed { by } });
        self.endings.push(Ending { asker: by, session: victim });
        self.answer_endings();
        Ok(None)
    }

    /// Answers who waits for the end of a session that nothing is left of.
    pub(crate) fn answer_endings(&mut self) {
        let (over, waiting) =
            std::mem::take(&mut self.endings).into_iter().partition(|ending| self.is_over(ending.session));
        self.endings = waiting;
        let over: Vec<Ending> = over;
        for Ending { asker, session } in over {
            if asker == session {
                // It is not counted any more.
                self.outputs.push_back(Output::Reply { session, reply: Reply::Ok });
            } else {
                self.reply(asker, Ok(Reply::Ok));
            }
        }
    }

    /// What cannot be recorded yet is in force all the same.
    fn is_over(&self, session: SessionId) -> bool {
        let on_its_way = |cause: &Cause| {
            cause.session() == Some(session) || matches!(cause, Cause::Rollback(Rollback::SessionEnded))
        };
        let mut commits = self.on_their_way().filter(|commit| !commit.is_unrecorded());
        !commits.any(|commit| on_its_way(&commit.cause))
            && !self.ongoing.as_ref().is_some_and(Ongoing::is_abandoned)
    }

    pub(crate) fn end(&mut self, session: SessionId, why: End, now: Now) {
        let Some(Peer { user, source_host, .. }) =
            self.sessions.get(session).map(|session| session.peer.clone())
        else {
            return;
        };
        let locks = self.sessions.close(session).unwrap_or_default();
        if let (Some(Some(private)), true) = (self.privates.remove(&session), why != End::Closed) {
            self.detach(session, user.clone(), private, now);
        }
        self.reads.forget(session);
        self.delivery.forget(session);
        self.stream.forget(session);
        self.executions.forget(session);
        self.files.forget(session);
        self.history.forget(session);
        self.push.forget(session);
        self.validations.retain(|_, validation| validation.session != session);
        self.endings.retain(|ending| ending.asker != session);
        self.waiting.retain(|(waiting, _)| *waiting != session);
        self.leave_ongoing(session);
        if self.ends_with(session, why) {
            let error = Error::protocol(ErrorTag::OperationFailed, "the session has ended");
            self.fail_commit(vec![error]);
        }
        self.released(&locks);
        self.roll_back_if_due(now);
        self.outputs.push_back(Output::Event(Event::SessionEnded { session, user, source_host, why }));
    }

    /// Does the commit on its way end with its session? What is decided does not, nor what a session that was lost
    /// had asked for, unless it would be taken back at once.
    fn ends_with(&self, session: SessionId, why: End) -> bool {
        let Some(commit) = &self.commit else { return false };
        let mine = commit.cause.session() == Some(session) && commit.is_undecided();
        mine && (matches!(why, End::Killed { .. }) || self.is_volatile(&commit.cause))
    }
}

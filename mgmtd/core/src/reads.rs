//! Reads that wait for a component's state.

use crate::compare::Awaited;
use crate::reading::Selection;
use crate::types::{ComponentId, Reply, SessionId, Ticket};
use cats_yang_tree::error::{Error, ErrorTag};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long a component may take for all of its state.
pub const READ_TIMEOUT: Duration = Duration::from_secs(20);

/// One waiting request.
#[derive(Debug, Clone)]
pub(crate) struct Read {
    pub(crate) session: SessionId,
    pub(crate) component: ComponentId,
    pub(crate) selection: Selection,
    /// What the state is held against; it is answered itself without.
    pub(crate) compared: Option<Awaited>,
    pub(crate) deadline: Instant,
}

/// All of them; bounded by the number of sessions, as each has one request in progress.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reads {
    waiting: BTreeMap<Ticket, Read>,
}

impl Reads {
    pub(crate) fn begin(&mut self, ticket: Ticket, read: Read) {
        self.waiting.insert(ticket, read);
    }

    pub(crate) fn take(&mut self, ticket: Ticket) -> Option<Read> {
        self.waiting.remove(&ticket)
    }

    pub(crate) fn forget(&mut self, session: SessionId) {
        self.waiting.retain(|_, read| read.session != session);
    }

    pub(crate) fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.waiting.values().map(|read| (read.deadline, "state")).min_by_key(|(due, _)| *due)
    }

    /// Answers for those that have waited for too long: a component that does answer has too much to say.
    pub(crate) fn expired(&mut self, now: Instant) -> Vec<(SessionId, Result<Reply, Vec<Error>>)> {
        let seconds = READ_TIMEOUT.as_secs();
        let message =
            format!("the engine's state takes more than {seconds} s to be told: ask with a narrower filter");
        let error = || vec![Error::application(ErrorTag::OperationFailed, message.clone())];
        let expired = self.extract(|read| read.deadline <= now);
        expired.into_iter().map(|read| (read.session, Err(error()))).collect()
    }

    /// Those that wait for a component that is lost.
    pub(crate) fn lost(&mut self, component: ComponentId) -> Vec<Read> {
        self.extract(|read| read.component == component)
    }

    fn extract(&mut self, which: impl Fn(&Read) -> bool) -> Vec<Read> {
        self.waiting.extract_if(.., |_, read| which(read)).map(|(_, read)| read).collect()
    }
}

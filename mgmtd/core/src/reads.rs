//! Reads that wait for a component's state.

use crate::compare::Awaited;
use crate::reading::Selection;
use crate::types::{ComponentId, Reply, SessionId, Ticket};
use cats_yang_tree::error::{Error, ErrorTag};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long a component may take for its state.
pub const READ_TIMEOUT: Duration = Duration::from_secs(5);

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

    pub(crate) fn expired(&mut self, now: Instant) -> Vec<(SessionId, Result<Reply, Vec<Error>>)> {
        let message =
            format!("the engine did not give its state within {} s: see its log", READ_TIMEOUT.as_secs());
        self.fail(|read| read.deadline <= now, &message)
    }

    pub(crate) fn lost(&mut self, component: ComponentId) -> Vec<(SessionId, Result<Reply, Vec<Error>>)> {
        self.fail(|read| read.component == component, "the connection to the engine was lost: retry")
    }

    fn fail(
        &mut self,
        which: impl Fn(&Read) -> bool,
        message: &str,
    ) -> Vec<(SessionId, Result<Reply, Vec<Error>>)> {
        let tickets: Vec<_> =
            self.waiting.iter().filter(|(_, read)| which(read)).map(|(ticket, _)| *ticket).collect();
        let error = || vec![Error::application(ErrorTag::OperationFailed, message)];
        tickets
            .into_iter()
            .filter_map(|ticket| self.waiting.remove(&ticket))
            .map(|read| (read.session, Err(error())))
            .collect()
    }
}

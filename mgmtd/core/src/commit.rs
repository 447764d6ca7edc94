//! One commit on its way to running.
//!
//! validate → check → prepare at each component in sync → record durably, the point of decision → apply. Until the
//! record is durable nothing that anybody sees has changed, so a failure at any step leaves candidate and running as they
//! were. Commits wait for the journal together: see `ahead`.

use crate::ahead::Before;
use crate::components::Components;
use crate::confirmed::{Ongoing, Rollback};
use crate::output::{Author, CommitRecord, Kind, Output, Recorded};
use crate::types::{ComponentId, Confirmed, SessionId, Ticket};
use cats_yang_tree::error::{Error, ErrorTag};
use cats_yang_tree::{ChangeSet, Tree};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long components may take for their plans.
pub const PREPARE_TIMEOUT: Duration = Duration::from_secs(5);

/// A commit on its way.
#[derive(Debug, Clone)]
pub(crate) struct Commit {
    pub(crate) cause: Cause,
    /// The revision that running will have.
    pub(crate) revision: u64,
    /// What was asked for.
    pub(crate) input: Tree,
    /// What running will be; validation may have removed nodes whose `when` is false.
    pub(crate) new: Tree,
    pub(crate) changes: Arc<ChangeSet>,
    pub(crate) stage: Stage,
    /// The confirmed commit that waits once this one is decided; known from the record on.
    pub(crate) then: Option<Ongoing>,
    /// Nothing is decided upon it before it is durable.
    pub(crate) closes: bool,
    /// When it was given to the journal first: microseconds since 1970-01-01T00:00:00Z.
    pub(crate) decided_us: u64,
    /// The private candidate before.
    pub(crate) before: Before,
    /// What running takes with `input`, where that was counted.
    pub(crate) bytes: Option<usize>,
}

/// Where a commit comes from, and who waits for its outcome.
#[derive(Debug, Clone)]
#[allow(missing_docs)] // fields of the same name as the types that they hold
pub(crate) enum Cause {
    /// `commit`: the candidate, shared or private.
    Candidate {
        session: SessionId,
        by: Author,
        confirmed: Option<Confirmed>,
        comment: Option<String>,
        private: bool,
    },
    /// `edit-config` or `copy-config` of running, and the errors of what was not to be done.
    Running { session: SessionId, by: Author, errors: Vec<Error> },
    /// `cancel-commit`: running before a confirmed commit.
    Cancel { session: SessionId, by: Author },
    /// The same, without a request.
    Rollback(Rollback),
}

impl Cause {
    pub(crate) fn author(&self) -> Author {
        match self {
            Cause::Candidate { by, .. } | Cause::Running { by, .. } | Cause::Cancel { by, .. } => by.clone(),
            Cause::Rollback(_) => Author::Server,
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Cause::Candidate { confirmed: None, .. } => Kind::Commit,
            Cause::Candidate { confirmed: Some(_), .. } => Kind::ConfirmedCommit,
            Cause::Running { .. } => Kind::Edit,
            Cause::Cancel { .. } => Kind::Cancel,
            Cause::Rollback(_) => Kind::Rollback,
        }
    }

    /// The session that waits for a reply.
    pub(crate) fn session(&self) -> Option<SessionId> {
        match self {
            Cause::Candidate { session, .. }
            | Cause::Running { session, .. }
            | Cause::Cancel { session, .. } => Some(*session),
            Cause::Rollback(_) => None,
        }
    }

    /// Must the shared candidate stay as it is meanwhile?
    pub(crate) fn reads_candidate(&self) -> bool {
        match self {
            Cause::Candidate { private, .. } => !private,
            Cause::Running { .. } | Cause::Cancel { .. } | Cause::Rollback(_) => false,
        }
    }

    /// Back to what was in force before, which nobody can refuse?
    pub(crate) fn is_way_back(&self) -> bool {
        match self {
            Cause::Candidate { .. } | Cause::Running { .. } => false,
            Cause::Cancel { .. } | Cause::Rollback(_) => true,
        }
    }
}

/// Where a commit is.
#[derive(Debug, Clone)]
pub(crate) enum Stage {
    Validating(Ticket),
    Checking(Ticket),
    /// Components that have prepared an earlier commit apply that first.
    Held,
    Preparing(Prepare),
    /// The record is being made durable, or will be next; components that prepared wait for it.
    Recording(Vec<ComponentId>),
    /// In force, and not recorded: that is tried again at this time, or under way with this ticket.
    Unrecorded {
        ticket: Option<Ticket>,
        again: Instant,
    },
}

/// The answers of components so far.
#[derive(Debug, Clone)]
pub(crate) struct Prepare {
    pub(crate) waiting: BTreeSet<ComponentId>,
    pub(crate) planned: Vec<ComponentId>,
    pub(crate) errors: Vec<Error>,
    pub(crate) deadline: Instant,
}

/// What the answers amount to.
#[derive(Debug)]
pub(crate) enum Prepared {
    /// Not all have answered.
    Waiting,
    /// All that are still connected have a plan.
    Ready(Vec<ComponentId>),
    /// One refused.
    Failed(Vec<Error>),
    /// Time is up for this one: it counts as lost.
    Late(ComponentId),
}

impl Prepare {
    pub(crate) fn begin(
        components: &mut Components,
        revision: u64,
        changes: &Arc<ChangeSet>,
        now: Instant,
        out: &mut VecDeque<Output>,
    ) -> Self {
        let asked = components.taking_part(changes);
        for component in &asked {
            components.prepare(*component, revision, changes, out);
        }
        let waiting = asked.into_iter().collect();
        Self { waiting, planned: Vec::new(), errors: Vec::new(), deadline: now + PREPARE_TIMEOUT }
    }

    pub(crate) fn planned(&mut self, component: ComponentId) {
        if self.waiting.remove(&component) {
            self.planned.push(component);
        }
    }

    pub(crate) fn rejected(&mut self, component: ComponentId, name: &str, mut errors: Vec<Error>) {
        if self.waiting.remove(&component) {
            if errors.is_empty() {
                let message = format!("{name} refused the change without a stated reason");
                errors.push(Error::application(ErrorTag::OperationFailed, message));
            }
            self.errors.extend(errors);
        }
    }

    /// A component that is no longer there does not block.
    pub(crate) fn lost(&mut self, component: ComponentId) {
        self.waiting.remove(&component);
        self.planned.retain(|planned| *planned != component);
    }

    pub(crate) fn outcome(&self, now: Instant) -> Prepared {
        if !self.errors.is_empty() {
            // Not waiting for the others: an abort tells their answers to be late ones.
            return Prepared::Failed(self.errors.clone());
        }
        match self.waiting.first() {
            None => Prepared::Ready(self.planned.clone()),
            Some(late) if now >= self.deadline => Prepared::Late(*late),
            Some(_) => Prepared::Waiting,
        }
    }

    fn to_abort(&self) -> Vec<ComponentId> {
        self.planned.iter().chain(&self.waiting).copied().collect()
    }
}

impl Commit {
    /// One that is to be prepared next.
    pub(crate) fn new(cause: Cause, revision: u64, new: Tree, changes: Arc<ChangeSet>) -> Self {
        // No output has this ticket, so nothing but the next step changes it.
        let stage = Stage::Validating(Ticket(0));
        let input = new.clone();
        let (closes, decided_us, then, before, bytes) = (false, 0, None, None, None);
        Self { cause, revision, input, new, changes, stage, then, closes, decided_us, before, bytes }
    }

    pub(crate) fn record(&self) -> CommitRecord {
        let comment = match &self.cause {
            Cause::Candidate { comment, .. } => comment.clone(),
            Cause::Running { .. } | Cause::Cancel { .. } | Cause::Rollback(_) => None,
        };
        let (by, kind) = (self.cause.author(), self.cause.kind());
        CommitRecord { revision: self.revision, by, unix_us: self.decided_us, kind, comment }
    }

    /// What is made durable of it.
    pub(crate) fn recorded(&self) -> Recorded {
        Recorded {
            commit: self.record(),
            changes: Arc::clone(&self.changes),
            pending: self.then.as_ref().map(|ongoing| Arc::clone(&ongoing.pending)),
            running: self.new.clone(),
        }
    }

    /// Is it in force without a record?
    pub(crate) fn is_unrecorded(&self) -> bool {
        matches!(self.stage, Stage::Unrecorded { .. })
    }

    /// Is it still open whether it happens?
    pub(crate) fn is_undecided(&self) -> bool {
        match self.stage {
            Stage::Validating(_) | Stage::Checking(_) | Stage::Held | Stage::Preparing(_) => true,
            Stage::Recording(_) | Stage::Unrecorded { .. } => false,
        }
    }

    /// The components that prepared, or may yet.
    pub(crate) fn to_abort(&self) -> Vec<ComponentId> {
        match &self.stage {
            Stage::Validating(_) | Stage::Checking(_) | Stage::Held => Vec::new(),
            Stage::Preparing(prepare) => prepare.to_abort(),
            Stage::Recording(planned) => planned.clone(),
            Stage::Unrecorded { .. } => Vec::new(),
        }
    }
}

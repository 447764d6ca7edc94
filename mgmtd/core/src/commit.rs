//! One commit on its way from the candidate to running.
//!
//! validate → check → prepare at each component in sync → record durably, the point of decision → apply. Until the
//! record is durable nothing outside of this value has changed, so a failure at any step leaves candidate and
//! running as they were.

use crate::components::Components;
use crate::output::{CommitRecord, Output};
use crate::types::{ComponentId, SessionId, Ticket};
use cats_yang_tree::error::{Error, ErrorTag};
use cats_yang_tree::{ChangeSet, Tree};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long components may take for their plans.
pub const PREPARE_TIMEOUT: Duration = Duration::from_secs(5);

/// The commit in flight.
#[derive(Debug, Clone)]
pub(crate) struct Commit {
    pub(crate) by: SessionId,
    pub(crate) user: String,
    /// The revision that running will have.
    pub(crate) revision: u64,
    /// What running will be; validation may have removed nodes whose `when` is false.
    pub(crate) new: Tree,
    pub(crate) changes: Arc<ChangeSet>,
    pub(crate) stage: Stage,
    /// The committing session's lock of the candidate was released meanwhile: its changes go when this ends.
    pub(crate) discard: bool,
}

/// Where a commit is.
#[derive(Debug, Clone)]
pub(crate) enum Stage {
    Validating(Ticket),
    Checking(Ticket),
    Preparing(Prepare),
    /// The record is being made durable; components that prepared wait for it.
    Recording(Ticket, Vec<ComponentId>),
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
    /// One refused, or time is up.
    Failed(Vec<Error>),
}

impl Prepare {
    pub(crate) fn begin(
        components: &mut Components,
        revision: u64,
        changes: &Arc<ChangeSet>,
        now: Instant,
        out: &mut VecDeque<Output>,
    ) -> Self {
        let asked = components.in_sync(revision - 1);
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

    pub(crate) fn outcome(&self, components: &Components, now: Instant) -> Prepared {
        if !self.errors.is_empty() {
            // Not waiting for the others: an abort tells their answers to be late ones.
            return Prepared::Failed(self.errors.clone());
        }
        if self.waiting.is_empty() {
            return Prepared::Ready(self.planned.clone());
        }
        if now < self.deadline {
            return Prepared::Waiting;
        }
        let late = |id: &ComponentId| {
            let seconds = PREPARE_TIMEOUT.as_secs();
            let name = components.name(*id);
            let message = format!(
                "{name} did not answer within {seconds} s whether it can apply the change: see its log"
            );
            Error::application(ErrorTag::OperationFailed, message)
        };
        Prepared::Failed(self.waiting.iter().map(late).collect())
    }

    fn to_abort(&self) -> Vec<ComponentId> {
        self.planned.iter().chain(&self.waiting).copied().collect()
    }
}

impl Commit {
    pub(crate) fn record(&self, unix_us: u64) -> CommitRecord {
        CommitRecord { revision: self.revision, user: self.user.clone(), session: self.by, unix_us }
    }

    /// The components that prepared, or may yet.
    pub(crate) fn to_abort(&self) -> Vec<ComponentId> {
        match &self.stage {
            Stage::Validating(_) | Stage::Checking(_) => Vec::new(),
            Stage::Preparing(prepare) => prepare.to_abort(),
            Stage::Recording(_, planned) => planned.clone(),
        }
    }
}

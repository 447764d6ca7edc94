//! The revisions of running: which there are, what differs between two, and the way back to one.
//!
//! Their configurations are kept outside: [`Output::Recall`] asks for them.

use crate::compare::Comparison;
use crate::core::Core;
use crate::monitoring::date_and_time;
use crate::output::{Alarm, Author, CommitRecord, Kind, Output};
use crate::reading::{Reading, Selection};
use crate::space::Step;
use crate::types::{Datastore, Now, Reply, SessionId, Ticket};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};
use cats_yang_tree::{ChangeSet, Defaults, Tree};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What is told of a revision that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // those of a [`CommitRecord`]
pub struct Kept {
    pub revision: u64,
    pub user: String,
    /// Its session; 0 for the daemon itself.
    pub session: u32,
    /// The name of its transport; absent for the daemon itself, or when it was not recorded.
    pub transport: Option<String>,
    pub unix_us: u64,
    pub kind: Option<Kind>,
    pub comment: Option<String>,
    /// How many nodes it changed.
    pub changes: u64,
}

/// The revisions that are kept, oldest first, and the sessions that wait for one.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    kept: VecDeque<Kept>,
    /// They cannot be kept, so no commit is one of them until they can.
    is_missing: bool,
    waiting: BTreeMap<Ticket, Waiting>,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    session: SessionId,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    Compare,
    RollBack,
}

impl Kept {
    /// A commit that changed so many nodes.
    pub fn of(commit: &CommitRecord, changes: u64) -> Self {
        let (user, session, transport) = match &commit.by {
            Author::Session { session, user, transport } => (user.clone(), session.0, Some(*transport)),
            Author::Server => ("cats-mgmtd".to_owned(), 0, None),
        };
        Self {
            revision: commit.revision,
            user,
            session,
            transport: transport.map(|transport| transport.name().to_owned()),
            unix_us: commit.unix_us,
            kind: Some(commit.kind),
            comment: commit.comment.clone(),
            changes,
        }
    }

    fn to_json(&self) -> Value {
        let mut entry = json!({
            "number": self.revision.to_string(),
            "user": self.user,
            "time": date_and_time(self.unix_us),
            "changes": u32::try_from(self.changes).unwrap_or(u32::MAX),
        });
        let more = [
            ("session-id", (self.session > 0).then(|| json!(self.session))),
            ("transport", self.transport.as_ref().map(|transport| json!(transport))),
            ("kind", self.kind.map(|kind| json!(kind.name()))),
            ("comment", self.comment.as_ref().map(|comment| json!(comment))),
        ];
        if let Value::Object(entry) = &mut entry {
            entry.extend(more.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        }
        entry
    }
}

impl History {
    pub(crate) fn keep(&mut self, commit: &CommitRecord, changes: &ChangeSet) {
        if !self.is_missing {
            self.kept.push_back(Kept::of(commit, changes.changes.len() as u64));
        }
    }

    pub(crate) fn revisions(&self) -> Vec<Value> {
        self.kept.iter().map(Kept::to_json).collect()
    }

    pub(crate) fn forget(&mut self, session: SessionId) {
        self.waiting.retain(|_, waiting| waiting.session != session);
    }
}

impl Core {
    /// The revisions that are kept, oldest first, or why there are none: an alarm meanwhile.
    pub fn handle_history(&mut self, kept: Result<Vec<Kept>, String>, now: Now) {
        self.history.is_missing = kept.is_err();
        match kept {
            Ok(kept) => {
                self.history.kept = kept.into();
                self.components.clear_no_history(&mut self.outputs);
            }
            Err(reason) => {
                self.history.kept = VecDeque::new();
                self.components.replace_alarm(Alarm::NoHistory { reason }, now, &mut self.outputs);
            }
        }
    }

    /// Revisions before this one are kept no more.
    pub fn handle_forgotten(&mut self, before: u64) {
        let gone = self.history.kept.partition_point(|kept| kept.revision < before);
        self.history.kept.drain(..gone);
    }

    pub(crate) fn compare_revisions(
        &mut self,
        session: SessionId,
        from: u64,
        to: Option<u64>,
    ) -> Result<(), Vec<Error>> {
        let to = to.unwrap_or(self.revision);
        self.recall(session, What::Compare, &[("from", from), ("to", to)])
    }

    /// Loads a revision into the candidate; to commit it is the user's.
    pub(crate) fn roll_back_to(&mut self, session: SessionId, revision: u64) -> Result<(), Vec<Error>> {
        self.may_edit(Datastore::Candidate, session)?;
        self.recall(session, What::RollBack, &[("revision", revision)])
    }

    fn recall(
        &mut self,
        session: SessionId,
        what: What,
        named: &[(&'static str, u64)],
    ) -> Result<(), Vec<Error>> {
        for (parameter, revision) in named {
            self.is_kept(parameter, *revision)?;
        }
        let ticket = self.ticket();
        self.history.waiting.insert(ticket, Waiting { session, what });
        let revisions = named.iter().map(|(_, revision)| *revision).collect();
        let running = (self.revision, self.running.clone());
        self.outputs.push_back(Output::Recall { ticket, revisions, running });
        Ok(())
    }

    /// A revision is kept when all that came after it are, since its configuration is found on the way back.
    fn is_kept(&self, parameter: &str, revision: u64) -> Result<(), Vec<Error>> {
        let last = self.revision;
        // When none is kept, whoever keeps them knows why.
        let oldest = self.history.kept.front().map_or(0, |kept| kept.revision.saturating_sub(1));
        let message = if revision > last {
            format!("there is no revision {revision} yet: the last one is {last}")
        } else if revision < oldest {
            format!("revision {revision} is not kept any more: the oldest one that is kept is {oldest}")
        } else {
            return Ok(());
        };
        let error = Error::protocol(ErrorTag::InvalidValue, message);
        Err(vec![error.with(ErrorInfo::BadElement(parameter.to_owned()))])
    }

    /// The answer to an [`Output::Recall`]: the configurations in the order of the revisions.
    pub fn handle_recalled(&mut self, ticket: Ticket, result: Result<Vec<Tree>, Error>) {
        let Some(Waiting { session, what }) = self.history.waiting.remove(&ticket) else { return };
        let answer = result.map_err(|error| vec![error]).and_then(|trees| match (what, trees.as_slice()) {
            (What::Compare, [from, to]) => Ok(self.compare_trees(session, from, to)),
            (What::RollBack, [tree]) => self.load(session, tree),
            (What::Compare | What::RollBack, _) => {
                let message = "another number of configurations was found than was asked for";
                Err(vec![Error::application(ErrorTag::OperationFailed, message)])
            }
        });
        self.reply(session, answer);
    }

    fn compare_trees(&mut self, session: SessionId, from: &Tree, to: &Tree) -> Reply {
        let access = self.access(session);
        let selection = Selection { defaults: Defaults::Explicit, ..Selection::default() };
        let reading = |tree: &Tree| Reading::new(tree.clone(), selection.clone(), access.clone());
        Reply::Comparison(Box::new(Comparison::of(reading(from), reading(to))))
    }

    fn load(&mut self, session: SessionId, tree: &Tree) -> Result<Reply, Vec<Error>> {
        self.may_edit(Datastore::Candidate, session)?;
        if !self.is_private(session) && self.candidate_is_read() {
            let message = "<candidate> is being committed: retry when that is done";
            return Err(vec![Error::protocol(ErrorTag::InUse, message)]);
        }
        let candidate = self.tree(session, Datastore::Candidate);
        self.access(session).may_change(&candidate, tree)?;
        self.may_become(session, Step::between(&candidate, tree))?;
        // A private candidate begins anew: what it was told of others' changes is about what is replaced.
        self.delete_private(session);
        self.set_candidate(session, tree.clone(), &BTreeSet::new())?;
        Ok(Reply::Ok)
    }
}

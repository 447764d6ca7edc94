//! What is decided and not durable yet, and whoever waits for it.
//!
//! While the journal is written, further commits are decided upon the tentative outcome of those before them; they go to
//! the journal together as soon as it is free. None of it shows anywhere before it is durable. When the journal does
//! not take a group, that group, all that was decided upon it, and the commit that is being decided upon it fail.
//!
//! A commit that begins or ends a confirmed commit goes alone. One that changes what sessions may do is the last of its
//! group, and so is one that components have prepared, as far as these components are concerned.

use crate::commit::{Cause, Commit};
use crate::core::Core;
use crate::output::{Output, Recorded};
use crate::private::Private;
use crate::types::{Datastore, NmdaDatastore, Now, Reply, Request, SessionId, Target, Ticket};
use cats_yang_tree::Tree;
use cats_yang_tree::error::Error;
use std::collections::VecDeque;

/// Decided commits and answers, oldest first. Each session has one of them at most, since it asks one thing at a time.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    entries: VecDeque<Entry>,
    /// The journal is making the commits among so many first ones durable.
    writing: Option<(Ticket, usize)>,
}

#[derive(Debug)]
enum Entry {
    Commit(Commit),
    Answer(Answer),
}

/// What a session is told as soon as all before it is durable.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) session: SessionId,
    pub(crate) result: Result<Reply, Vec<Error>>,
    pub(crate) before: Before,
}

/// The private candidate of a session, if it has one, before its commit brought it onto what was decided.
pub(crate) type Before = Option<Option<Private>>;

impl Ahead {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The commits, oldest first.
    pub(crate) fn commits(&self) -> impl DoubleEndedIterator<Item = &Commit> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Commit(commit) => Some(commit),
            Entry::Answer(_) => None,
        })
    }

    /// What the journal has not been given.
    fn unwritten(&self) -> impl Iterator<Item = &Commit> {
        self.commits().filter(|_| self.writing.is_none())
    }
}

/// What a request needs before it can be carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    /// That the candidate is not read by a commit that is being decided.
    Candidate,
    /// That no commit of the candidate is on its way.
    WholeCandidate,
    /// That no other commit is being decided.
    Turn,
    /// That no other commit is on its way.
    TurnAlone,
}

impl Core {
    /// Running as it will be when all that is decided is durable, and its revision.
    pub(crate) fn tip(&self) -> (u64, &Tree) {
        match self.ahead.commits().next_back() {
            Some(commit) => (commit.revision, &commit.new),
            None => (self.revision, &self.running),
        }
    }

    /// All commits that are not durable, oldest first.
    pub(crate) fn on_their_way(&self) -> impl Iterator<Item = &Commit> {
        self.ahead.commits().chain(&self.commit)
    }

    /// Does a commit on its way read the shared candidate?
    pub(crate) fn candidate_is_read(&self) -> bool {
        self.on_their_way().any(|commit| commit.cause.reads_candidate())
    }

    /// Is the shared candidate to stay as it is until a commit is decided, or durable?
    fn candidate_is_held(&self) -> bool {
        let deciding = self.commit.as_ref().is_some_and(|commit| commit.cause.reads_candidate());
        // Where validation removed something, the candidate will lose that too.
        let pruned = |commit: &Commit| commit.cause.reads_candidate() && commit.input != commit.new;
        deciding || self.discard || self.candidate_will_follow() || self.ahead.commits().any(pruned)
    }

    /// Has the shared candidate no changes of its own, and will running have others soon? An edit upon what it is now
    /// would undo these when it is committed.
    pub(crate) fn candidate_will_follow(&self) -> bool {
        let mut unmodified = self.candidate == self.running;
        let mut follows = false;
        for commit in self.on_their_way().filter(|commit| !commit.is_unrecorded()) {
            if commit.cause.reads_candidate() {
                unmodified = self.candidate == commit.input;
            } else {
                follows |= unmodified;
            }
        }
        follows
    }

    fn needs(&self, session: SessionId, request: &Request) -> Needs {
        let shared = !self.is_private(session);
        let target = |datastore, candidate| match datastore {
            Datastore::Candidate if shared => candidate,
            Datastore::Candidate => Needs::Nothing,
            Datastore::Running => Needs::Turn,
        };
        match request {
            Request::EditConfig(edit) => target(edit.target, Needs::Candidate),
            Request::EditData { datastore: NmdaDatastore::Candidate, .. } => {
                target(Datastore::Candidate, Needs::Candidate)
            }
            Request::EditData { datastore: NmdaDatastore::Running, .. } => Needs::Turn,
            Request::CopyConfig { target: Target::Datastore(to), .. } => target(*to, Needs::WholeCandidate),
            Request::DiscardChanges => target(Datastore::Candidate, Needs::WholeCandidate),
            Request::Commit(options) if options.confirmed.is_some() => Needs::TurnAlone,
            Request::Commit(_) => Needs::Turn,
            Request::CancelCommit { .. } => Needs::TurnAlone,
            Request::EditData { .. }
            | Request::CopyConfig { target: Target::Url(_), .. }
            | Request::Get(_)
            | Request::GetConfig { .. }
            | Request::Compare(_)
            | Request::GetData { .. }
            | Request::DeleteConfig { .. }
            | Request::Lock { .. }
            | Request::Unlock { .. }
            | Request::Update { .. }
            | Request::Validate { .. }
            | Request::CloseSession
            | Request::KillSession { .. }
            | Request::GetSchema { .. }
            | Request::Unsupported(_)
            | Request::SchemaIndex { .. }
            | Request::CompareRevision { .. }
            | Request::Rollback { .. }
            | Request::AttachCandidate { .. }
            | Request::DropCandidate { .. }
            | Request::Execute(_)
            | Request::Subscribe(_) => Needs::Nothing,
        }
    }

    fn has(&self, needs: Needs) -> bool {
        let deciding = self.commit.as_ref().is_some_and(|commit| !commit.is_unrecorded());
        let closed = self.ahead.commits().any(|commit| commit.closes);
        match needs {
            Needs::Nothing => true,
            Needs::Candidate => !self.candidate_is_held(),
            Needs::WholeCandidate => !self.candidate_is_read() && !self.discard,
            Needs::Turn if self.ongoing.is_none() => !deciding && !closed,
            Needs::Turn | Needs::TurnAlone => !deciding && self.ahead.is_empty(),
        }
    }

    /// Takes a request in when it cannot be carried out yet, in the order of arrival; none when it was.
    pub(crate) fn wait_for_commits(&mut self, session: SessionId, request: Request) -> Option<Request> {
        let needs = self.needs(session, &request);
        if needs == Needs::Nothing || self.waiting.is_empty() && self.has(needs) {
            return Some(request);
        }
        self.waiting.push_back((session, request));
        None
    }

    /// Carries on with what waited for commits.
    pub(crate) fn proceed(&mut self, now: Now) {
        self.roll_back_if_due(now);
        while let Some((session, request)) = self.waiting.front()
            && self.has(self.needs(*session, request))
        {
            if let Some((session, request)) = self.waiting.pop_front() {
                self.act(session, request, now);
            }
        }
        self.answer_endings();
        self.look_for_changes(now);
    }

    /// What to come back to when the journal fails.
    pub(crate) fn before(&self, session: SessionId) -> Before {
        self.privates.get(&session).cloned()
    }

    /// Tells a session once what its answer rests on is durable.
    pub(crate) fn answer(&mut self, answer: Answer) {
        if self.ahead.is_empty() {
            return self.reply(answer.session, answer.result);
        }
        self.ahead.entries.push_back(Entry::Answer(answer));
    }

    /// Takes a commit that is decided, and gives it to the journal when that is free.
    pub(crate) fn record_next(&mut self, commit: Commit) {
        self.ahead.entries.push_back(Entry::Commit(commit));
        self.write();
    }

    fn write(&mut self) {
        let group: Vec<Recorded> = self.ahead.unwritten().map(Commit::recorded).collect();
        if group.is_empty() {
            return;
        }
        let ticket = self.ticket();
        self.ahead.writing = Some((ticket, self.ahead.entries.len()));
        self.outputs.push_back(Output::Record { ticket, group });
    }

    /// The answer of the journal; false when it was not about a group.
    pub(crate) fn group_recorded(&mut self, ticket: Ticket, result: &Result<(), Error>, now: Now) -> bool {
        let Some((_, count)) = self.ahead.writing.take_if(|(writing, _)| *writing == ticket) else {
            return false;
        };
        match result {
            Ok(()) => self.group_is_durable(count, now),
            Err(error) => self.group_failed(error, now),
        }
        true
    }

    fn group_is_durable(&mut self, count: usize, now: Now) {
        let mut left = count;
        // Beyond the group, answers that rest on it alone.
        while let Some(entry) =
            self.ahead.entries.pop_front_if(|entry| left > 0 || matches!(entry, Entry::Answer(_)))
        {
            left = left.saturating_sub(1);
            match entry {
                Entry::Commit(commit) => {
                    self.take_over(&commit);
                    self.end_commit(commit, Ok(()));
                }
                Entry::Answer(Answer { session, result, .. }) => self.reply(session, result),
            }
        }
        self.write();
        self.prepare_held(now);
    }

    fn group_failed(&mut self, error: &Error, now: Now) {
        let entries = std::mem::take(&mut self.ahead.entries);
        for entry in entries {
            match entry {
                Entry::Commit(commit) if matches!(commit.cause, Cause::Rollback(_)) => {
                    // It goes alone, so nothing rests on it.
                    self.go_unrecorded(commit, error, now);
                }
                Entry::Commit(commit) => self.fail(commit, error),
                Entry::Answer(Answer { session, before, .. }) => {
                    self.restore(session, before);
                    self.reply(session, Err(vec![error.clone()]));
                }
            }
        }
        if let Some(commit) = self.commit.take_if(|commit| !commit.is_unrecorded()) {
            self.fail(commit, error);
        }
    }

    fn restore(&mut self, session: SessionId, before: Before) {
        let Some(before) = before else { return };
        if let Some(private) = self.privates.get_mut(&session) {
            *private = before;
        } else {
            self.restore_detached(session, before);
        }
    }

    /// The journal did not take a commit, or what it was decided upon.
    fn fail(&mut self, mut commit: Commit, error: &Error) {
        self.abandon(&commit, vec![error.clone()]);
        if let Some(session) = commit.cause.session() {
            self.restore(session, commit.before.take());
        }
        self.end_commit(commit, Err(vec![error.clone()]));
    }
}

//! The steps of `validate` and `commit`.

use crate::ahead::Answer;
use crate::commit::{Cause, Commit, Prepare, Prepared, Stage};
use crate::content;
use crate::core::{Core, Validation};
use crate::nacm::Access;
use crate::output::{Event, Output};
use crate::types::{CommitOptions, ComponentId, Datastore, Now, Reply, Resolution, SessionId, Source};
use cats_yang_tree::error::Error;
use cats_yang_tree::{ChangeSet, Tree, diff};
use std::sync::Arc;

impl Core {
    pub(crate) fn validate(&mut self, session: SessionId, source: Source) -> Result<(), Vec<Error>> {
        let new = match source {
            Source::Datastore(datastore) => self.tree(session, datastore),
            Source::Config(config) => content::parse(&self.facts.schema, config)?,
        };
        self.validate_tree(session, new);
        Ok(())
    }

    pub(crate) fn validate_tree(&mut self, session: SessionId, new: Tree) {
        let ticket = self.ticket();
        self.validations.insert(ticket, Validation { session });
        self.outputs.push_back(Output::Validate { ticket, base: self.running.clone(), new });
    }

    pub(crate) fn check_request(&mut self, validation: Validation, new: Tree, changes: ChangeSet) {
        let changes = Arc::new(changes);
        let ticket = self.ticket();
        self.validations.insert(ticket, validation);
        self.outputs.push_back(Output::Check { ticket, old: self.running.clone(), new, changes });
    }

    /// `commit`: the outcome is told when what it rests on is durable.
    pub(crate) fn commit(
        &mut self,
        session: SessionId,
        options: CommitOptions,
        now: Now,
    ) -> Result<Option<Reply>, Vec<Error>> {
        let before = self.before(session);
        let begun = self.begin_commit(session, options, now);
        if let Some(result) = begun.transpose() {
            self.answer(Answer { session, result, before });
        } else if let Some(commit) = &mut self.commit {
            commit.before = before;
        }
        Ok(None)
    }

    fn begin_commit(
        &mut self,
        session: SessionId,
        options: CommitOptions,
        now: Now,
    ) -> Result<Option<Reply>, Vec<Error>> {
        let private = self.is_private(session);
        let read = [Datastore::Running].into_iter().chain((!private).then_some(Datastore::Candidate));
        for datastore in read {
            self.sessions.may_change(datastore, session).map_err(|error| vec![error])?;
        }
        self.no_commit_unrecorded()?;
        self.may_follow(session, options.persist_id.as_deref())?;
        let (revision, tip) = (self.tip().0, self.tip().1.clone());
        if private {
            self.update_onto(session, (&tip, revision), Resolution::RevertOnConflict)?;
        }
        let CommitOptions { confirmed, comment, .. } = options;
        let cause = Cause::Candidate { session, by: self.author(session), confirmed, comment, private };
        let candidate = self.tree(session, Datastore::Candidate);
        // Shared parts compare by address.
        if candidate == tip || !private && self.candidate_will_follow() {
            return Ok(self.commit_nothing(cause, now));
        }
        self.access(session).may_change(&tip, &candidate)?;
        let bytes = self.running_may_become(&candidate)?;
        self.begin(cause, candidate, bytes);
        Ok(None)
    }

    /// Running is to become `new` without a way over the candidate.
    pub(crate) fn begin_writing(
        &mut self,
        session: SessionId,
        new: Tree,
        errors: Vec<Error>,
    ) -> Result<Option<Reply>, Vec<Error>> {
        if new == *self.tip().1 {
            let result = with_errors(errors, Ok(())).map(|()| Reply::Ok);
            self.answer(Answer { session, result, before: None });
            return Ok(None);
        }
        let bytes = self.running_may_become(&new)?;
        let cause = Cause::Running { session, by: self.author(session), errors };
        self.begin(cause, new, bytes);
        Ok(None)
    }

    fn begin(&mut self, cause: Cause, new: Tree, bytes: usize) {
        let ticket = self.ticket();
        let (revision, base) = (self.tip().0 + 1, self.tip().1.clone());
        let mut commit = Commit::new(cause, revision, new.clone(), Arc::default());
        commit.stage = Stage::Validating(ticket);
        commit.bytes = Some(bytes);
        self.commit = Some(commit);
        self.outputs.push_back(Output::Validate { ticket, base, new });
    }

    /// A commit without changes is no more than a word about a confirmed commit, if there is one.
    fn commit_nothing(&mut self, cause: Cause, now: Now) -> Option<Reply> {
        if !self.settles(&cause) {
            return Some(Reply::Ok);
        }
        self.note(cause, now);
        None
    }

    pub(crate) fn check_commit(&mut self, valid: Tree, changes: ChangeSet, now: Now) {
        let ticket = self.ticket();
        let Some(commit) = &mut self.commit else { return };
        commit.new = valid;
        commit.changes = Arc::new(changes);
        if commit.changes.is_empty() {
            // Validation removed all that differed.
            return self.end_without_changes(now);
        }
        commit.stage = Stage::Checking(ticket);
        // The rules are about running, whatever is decided already.
        let changes = match self.ahead.is_empty() {
            true => Arc::clone(&commit.changes),
            false => Arc::new(diff(&self.running, &commit.new)),
        };
        let (old, new) = (self.running.clone(), commit.new.clone());
        self.outputs.push_back(Output::Check { ticket, old, new, changes });
    }

    fn end_without_changes(&mut self, now: Now) {
        let Some(commit) = &mut self.commit else { return };
        commit.revision = commit.revision.saturating_sub(1);
        let settles = self.commit.as_ref().is_some_and(|commit| self.settles(&commit.cause));
        // What it rests on is to be durable first.
        if settles || !self.ahead.is_empty() {
            return self.record_commit(Vec::new(), now);
        }
        if let Some(commit) = self.commit.take() {
            self.end_commit(commit, Ok(()));
        }
    }

    /// Does a confirmed commit begin or end with it, whatever it changes?
    fn settles(&self, cause: &Cause) -> bool {
        match cause {
            Cause::Candidate { confirmed, .. } => confirmed.is_some() || self.ongoing.is_some(),
            Cause::Running { .. } => false,
            Cause::Cancel { .. } | Cause::Rollback(_) => true,
        }
    }

    pub(crate) fn prepare_commit(&mut self, now: Now) {
        let held = self.ahead.commits().any(|ahead| self.components.concerned(&ahead.changes));
        let Some(commit) = &mut self.commit else { return };
        if held && self.components.concerned(&commit.changes) {
            commit.stage = Stage::Held;
            return;
        }
        let (components, out) = (&mut self.components, &mut self.outputs);
        let prepare = Prepare::begin(components, commit.revision, &commit.changes, now.instant, out);
        commit.stage = Stage::Preparing(prepare);
        self.advance_prepare(now);
    }

    /// Goes on with a commit that waited for what components have prepared.
    pub(crate) fn prepare_held(&mut self, now: Now) {
        if self.commit.as_ref().is_some_and(|commit| matches!(commit.stage, Stage::Held)) {
            self.prepare_commit(now);
        }
    }

    pub(crate) fn advance_prepare(&mut self, now: Now) {
        let Some(Commit { stage: Stage::Preparing(prepare), .. }) = &self.commit else { return };
        match prepare.outcome(now.instant) {
            Prepared::Waiting => {}
            Prepared::Ready(planned) => self.record_commit(planned, now),
            Prepared::Failed(errors) => self.fail_commit(errors),
            Prepared::Late(component) => {
                // It blocks no more than one that is not there, and is brought up to date when it is back.
                self.outputs.push_back(Output::Disconnect { component });
                self.handle_detached(component, now);
            }
        }
    }

    /// From here on nothing but the journal can refuse it.
    pub(crate) fn record_commit(&mut self, planned: Vec<ComponentId>, now: Now) {
        let Some(mut commit) = self.commit.take() else { return };
        commit.stage = Stage::Recording(planned);
        commit.then = self.ongoing_after(&commit, now);
        commit.decided_us = now.unix_us;
        commit.closes = self.settles(&commit.cause)
            || self.ongoing.is_some()
            || !self.nacm.same_rules(self.tip().1, &commit.new);
        self.record_next(commit);
    }

    /// Running and the components go over to what is durable.
    pub(crate) fn take_over(&mut self, commit: &Commit) {
        let (cause, then) = (commit.cause.clone(), commit.then.clone());
        if !commit.changes.is_empty() {
            // A candidate without changes of its own goes along.
            let follows = !cause.reads_candidate() && self.candidate == self.running;
            self.revision = commit.revision;
            // As counted before, unless validation removed something.
            let counted = commit.bytes.filter(|_| commit.new.ptr_eq(&commit.input));
            self.running_bytes = counted.unwrap_or_else(|| self.running_bytes_with(&commit.new));
            self.running = commit.new.clone();
            if follows {
                self.candidate = self.running.clone();
            }
            let took_part = commit.to_abort();
            for component in &took_part {
                self.outputs.push_back(Output::Apply { component: *component, revision: self.revision });
            }
            let current = (self.revision, &self.running);
            self.components.follow(&took_part, &commit.changes, current, &mut self.outputs);
            let record = commit.record();
            self.history.keep(&record, &commit.changes);
            let event = Event::Committed { commit: record, changes: Arc::clone(&commit.changes) };
            self.outputs.push_back(Output::Event(event));
        }
        self.settle(&cause, then);
        match cause {
            Cause::Candidate { confirmed: Some(_), .. } | Cause::Running { .. } => {}
            Cause::Candidate { confirmed: None, .. } => self.end_trials(),
            Cause::Cancel { .. } | Cause::Rollback(_) => self.return_to_privates(),
        }
    }

    /// A commit is refused before it is decided.
    pub(crate) fn fail_commit(&mut self, errors: Vec<Error>) {
        let Some(commit) = self.commit.take() else { return };
        self.abandon(&commit, errors.clone());
        // The log has it all; the user gets what there is to be read.
        let spoken = match &commit.stage {
            Stage::Checking(_) => true,
            Stage::Preparing(prepare) => !prepare.errors.is_empty(),
            Stage::Validating(_) | Stage::Held | Stage::Recording(_) | Stage::Unrecorded { .. } => false,
        };
        let access = commit.cause.session().map_or(Access::FULL, |session| self.access(session));
        let told = if spoken { access.without_words(errors) } else { access.without_hidden(errors) };
        self.discard_if_due();
        if let Some(session) = commit.cause.session() {
            let result = commit.cause.outcome(Err(told));
            self.answer(Answer { session, result, before: commit.before });
        }
    }

    /// Nothing comes of a commit.
    pub(crate) fn abandon(&mut self, commit: &Commit, errors: Vec<Error>) {
        for component in commit.to_abort() {
            self.components.abort(component, commit.revision, &mut self.outputs);
        }
        let event = Event::CommitFailed { by: commit.cause.author(), errors };
        self.outputs.push_back(Output::Event(event));
    }

    /// A commit is durable, or never will be.
    pub(crate) fn end_commit(&mut self, commit: Commit, result: Result<(), Vec<Error>>) {
        // What was edited since stays, upon what is committed.
        if commit.cause.reads_candidate() && result.is_ok() && self.candidate == commit.input {
            self.candidate = self.running.clone();
        }
        self.discard_if_due();
        if let Cause::Candidate { session, confirmed, private: true, .. } = &commit.cause
            && result.is_ok()
        {
            self.private_committed(*session, confirmed.is_some());
        }
        if let Some(session) = commit.cause.session() {
            self.reply(session, commit.cause.outcome(result));
        }
    }
}

/// The outcome of an edit of which a part was not to be done.
fn with_errors(mut errors: Vec<Error>, result: Result<(), Vec<Error>>) -> Result<(), Vec<Error>> {
    errors.extend(result.err().unwrap_or_default());
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

impl Cause {
    /// What its session is told of a result.
    pub(crate) fn outcome(self, result: Result<(), Vec<Error>>) -> Result<Reply, Vec<Error>> {
        let result = match self {
            Cause::Running { errors, .. } => with_errors(errors, result),
            Cause::Candidate { .. } | Cause::Cancel { .. } | Cause::Rollback(_) => result,
        };
        result.map(|()| Reply::Ok)
    }
}

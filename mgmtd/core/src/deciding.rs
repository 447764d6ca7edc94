//! The steps of `validate` and `commit`.

use crate::commit::{Cause, Commit, Prepare, Prepared, Stage};
use crate::content;
use crate::core::{Core, Validation};
use crate::nacm::Access;
use crate::output::{Event, Output};
use crate::types::{CommitOptions, ComponentId, Datastore, Now, Reply, Resolution, SessionId, Source};
use cats_yang_tree::error::Error;
use cats_yang_tree::{ChangeSet, Tree};
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

    pub(crate) fn begin_commit(
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
        self.no_commit_in_flight()?;
        self.may_follow(session, options.persist_id.as_deref())?;
        if private {
            self.update(session, Resolution::RevertOnConflict)?;
        }
        let CommitOptions { confirmed, comment, .. } = options;
        let cause = Cause::Candidate { session, by: self.author(session), confirmed, comment, private };
        let candidate = self.tree(session, Datastore::Candidate);
        // Shared parts compare by address.
        if candidate == self.running {
            return Ok(self.commit_nothing(cause, now));
        }
        self.access(session).may_change(&self.running, &candidate)?;
        self.begin(cause, candidate);
        Ok(None)
    }

    /// Running is to become `new` without a way over the candidate.
    pub(crate) fn begin_writing(
        &mut self,
        session: SessionId,
        new: Tree,
        errors: Vec<Error>,
    ) -> Result<Option<Reply>, Vec<Error>> {
        if new == self.running {
            return if errors.is_empty() { Ok(Some(Reply::Ok)) } else { Err(errors) };
        }
        let cause = Cause::Running { session, by: self.author(session), errors };
        self.begin(cause, new);
        Ok(None)
    }

    fn begin(&mut self, cause: Cause, new: Tree) {
        let ticket = self.ticket();
        let mut commit = Commit::new(cause, self.revision + 1, new.clone(), Arc::default());
        commit.stage = Stage::Validating(ticket);
        self.commit = Some(commit);
        self.outputs.push_back(Output::Validate { ticket, base: self.running.clone(), new });
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
        let (old, new, changes) = (self.running.clone(), commit.new.clone(), Arc::clone(&commit.changes));
        self.outputs.push_back(Output::Check { ticket, old, new, changes });
    }

    fn end_without_changes(&mut self, now: Now) {
        let settles = self.commit.as_ref().is_some_and(|commit| self.settles(&commit.cause));
        let Some(commit) = self.commit.as_mut().filter(|_| settles) else {
            return self.end_commit(Ok(()), now);
        };
        commit.revision = self.revision;
        self.record_commit(Vec::new(), now);
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
        let Some(commit) = &mut self.commit else { return };
        let (components, out) = (&mut self.components, &mut self.outputs);
        let prepare = Prepare::begin(components, commit.revision, &commit.changes, now.instant, out);
        commit.stage = Stage::Preparing(prepare);
        self.advance_prepare(now);
    }

    pub(crate) fn advance_prepare(&mut self, now: Now) {
        let Some(Commit { stage: Stage::Preparing(prepare), cause, .. }) = &self.commit else { return };
        match prepare.outcome(&self.components, now.instant) {
            Prepared::Waiting => {}
            Prepared::Ready(planned) => self.record_commit(planned, now),
            Prepared::Failed(errors) if cause.is_way_back() => self.go_without_the_late(&errors, now),
            Prepared::Failed(errors) => self.fail_commit(errors, now),
        }
    }

    /// The way back does not wait for ever: who is late gets the whole configuration.
    fn go_without_the_late(&mut self, errors: &[Error], now: Now) {
        let Some(Commit { stage: Stage::Preparing(prepare), revision, .. }) = &self.commit else { return };
        let (late, planned, revision) = (prepare.waiting.clone(), prepare.planned.clone(), *revision);
        for component in late {
            self.components.abort(component, revision, &mut self.outputs);
            let name = self.components.name(component).to_owned();
            let event = Event::RollbackRefused { component: name, errors: errors.to_vec() };
            self.outputs.push_back(Output::Event(event));
        }
        self.record_commit(planned, now);
    }

    pub(crate) fn record_commit(&mut self, planned: Vec<ComponentId>, now: Now) {
        let ticket = self.ticket();
        let Some(mut commit) = self.commit.take() else { return };
        commit.stage = Stage::Recording(ticket, planned);
        commit.then = self.ongoing_after(&commit, now);
        self.outputs.push_back(commit.output(ticket, now));
        self.commit = Some(commit);
    }

    pub(crate) fn finish_commit(&mut self, now: Now) {
        self.take_over(now);
        self.end_commit(Ok(()), now);
    }

    /// Running and the components go over to what is decided.
    pub(crate) fn take_over(&mut self, now: Now) {
        let Some(commit) = &self.commit else { return };
        let (cause, then) = (commit.cause.clone(), commit.then.clone());
        if !commit.changes.is_empty() {
            // A candidate without changes of its own goes along.
            let follows = !cause.reads_candidate() && self.candidate == self.running;
            self.revision = commit.revision;
            self.running = commit.new.clone();
            if follows {
                self.candidate = self.running.clone();
            }
            let took_part = commit.to_abort();
            for component in &took_part {
                self.outputs.push_back(Output::Apply { component: *component, revision: self.revision });
            }
            self.components.follow(&took_part, (self.revision, &self.running), &mut self.outputs);
            let record = commit.record(now.unix_us);
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

    pub(crate) fn fail_commit(&mut self, errors: Vec<Error>, now: Now) {
        let Some(commit) = &self.commit else { return };
        for component in commit.to_abort() {
            self.components.abort(component, commit.revision, &mut self.outputs);
        }
        let event = Event::CommitFailed { by: commit.cause.author(), errors: errors.clone() };
        // The log has it all; the user gets what there is to be read.
        let spoken = match &commit.stage {
            Stage::Checking(_) => true,
            Stage::Preparing(prepare) => !prepare.errors.is_empty(),
            Stage::Validating(_) | Stage::Recording(..) | Stage::Unrecorded { .. } => false,
        };
        let access = commit.cause.session().map_or(Access::FULL, |session| self.access(session));
        self.outputs.push_back(Output::Event(event));
        let told = if spoken { access.without_words(errors) } else { access.without_hidden(errors) };
        self.end_commit(Err(told), now);
    }

    pub(crate) fn end_commit(&mut self, result: Result<(), Vec<Error>>, now: Now) {
        let Some(commit) = self.commit.take() else { return };
        if commit.cause.reads_candidate() && (result.is_ok() || commit.discard) {
            self.candidate = self.running.clone();
        }
        if let Cause::Candidate { session, confirmed, private: true, .. } = &commit.cause
            && result.is_ok()
        {
            self.private_committed(*session, confirmed.is_some());
        }
        if let Some(session) = commit.cause.session() {
            let result = match commit.cause {
                Cause::Running { errors, .. } => with_errors(errors, result),
                Cause::Candidate { .. } | Cause::Cancel { .. } | Cause::Rollback(_) => result,
            };
            self.reply(session, result.map(|()| Reply::Ok));
        }
        self.roll_back_if_due(now);
        self.answer_endings();
    }
}

/// The outcome of an edit of which a part was not to be done.
fn with_errors(mut errors: Vec<Error>, result: Result<(), Vec<Error>>) -> Result<(), Vec<Error>> {
    errors.extend(result.err().unwrap_or_default());
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

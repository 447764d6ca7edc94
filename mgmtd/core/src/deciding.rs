//! The steps of `validate` and `commit`.

use crate::commit::{Commit, Prepare, Prepared, Stage};
use crate::content;
use crate::core::{Core, Validation};
use crate::output::{Event, Output};
use crate::types::{ComponentId, Datastore, Now, Reply, SessionId, Source};
use cats_yang_tree::error::Error;
use cats_yang_tree::{ChangeSet, Tree};
use std::sync::Arc;

impl Core {
    pub(crate) fn validate(&mut self, session: SessionId, source: Source) -> Result<(), Vec<Error>> {
        let new = match source {
            Source::Datastore(datastore) => self.tree(datastore).clone(),
            Source::Config(config) => content::parse(&self.facts.schema, config)?,
        };
        let ticket = self.ticket();
        self.validations.insert(ticket, Validation { session });
        self.outputs.push_back(Output::Validate { ticket, base: self.running.clone(), new });
        Ok(())
    }

    pub(crate) fn check_request(&mut self, validation: Validation, new: Tree, changes: ChangeSet) {
        let changes = Arc::new(changes);
        let ticket = self.ticket();
        self.validations.insert(ticket, validation);
        self.outputs.push_back(Output::Check { ticket, old: self.running.clone(), new, changes });
    }

    pub(crate) fn begin_commit(&mut self, session: SessionId) -> Result<Option<Reply>, Vec<Error>> {
        for datastore in [Datastore::Running, Datastore::Candidate] {
            self.sessions.may_change(datastore, session).map_err(|error| vec![error])?;
        }
        self.no_commit_in_flight()?;
        if !self.candidate_is_modified() {
            return Ok(Some(Reply::Ok));
        }
        let ticket = self.ticket();
        let user = self.sessions.get(session).map(|session| session.peer.user.clone()).unwrap_or_default();
        self.commit = Some(Commit {
            by: session,
            user,
            revision: self.revision + 1,
            new: self.candidate.clone(),
            changes: Arc::default(),
            stage: Stage::Validating(ticket),
            discard: false,
        });
        let (base, new) = (self.running.clone(), self.candidate.clone());
        self.outputs.push_back(Output::Validate { ticket, base, new });
        Ok(None)
    }

    pub(crate) fn check_commit(&mut self, valid: Tree, changes: ChangeSet, now: Now) {
        let ticket = self.ticket();
        let Some(commit) = &mut self.commit else { return };
        commit.new = valid;
        commit.changes = Arc::new(changes);
        if commit.changes.is_empty() {
            // Validation removed all that differed.
            return self.end_commit(Ok(()), now);
        }
        commit.stage = Stage::Checking(ticket);
        let (old, new, changes) = (self.running.clone(), commit.new.clone(), Arc::clone(&commit.changes));
        self.outputs.push_back(Output::Check { ticket, old, new, changes });
    }

    pub(crate) fn prepare_commit(&mut self, now: Now) {
        let Some(commit) = &mut self.commit else { return };
        let (components, out) = (&mut self.components, &mut self.outputs);
        let prepare = Prepare::begin(components, commit.revision, &commit.changes, now.instant, out);
        commit.stage = Stage::Preparing(prepare);
        self.advance_prepare(now);
    }

    pub(crate) fn advance_prepare(&mut self, now: Now) {
        let Some(Commit { stage: Stage::Preparing(prepare), .. }) = &self.commit else { return };
        match prepare.outcome(&self.components, now.instant) {
            Prepared::Waiting => {}
            Prepared::Ready(planned) => self.record_commit(planned, now),
            Prepared::Failed(errors) => self.fail_commit(errors, now),
        }
    }

    pub(crate) fn record_commit(&mut self, planned: Vec<ComponentId>, now: Now) {
        let ticket = self.ticket();
        let Some(commit) = &mut self.commit else { return };
        commit.stage = Stage::Recording(ticket, planned);
        let changes = Arc::clone(&commit.changes);
        self.outputs.push_back(Output::Record { ticket, commit: commit.record(now.unix_us), changes });
    }

    pub(crate) fn finish_commit(&mut self, now: Now) {
        let Some(commit) = &self.commit else { return };
        self.revision = commit.revision;
        self.running = commit.new.clone();
        let took_part = commit.to_abort();
        for component in &took_part {
            self.outputs.push_back(Output::Apply { component: *component, revision: self.revision });
        }
        self.components.follow(&took_part, (self.revision, &self.running), &mut self.outputs);
        let event =
            Event::Committed { commit: commit.record(now.unix_us), changes: commit.changes.changes.len() };
        self.outputs.push_back(Output::Event(event));
        self.end_commit(Ok(()), now);
    }

    pub(crate) fn fail_commit(&mut self, errors: Vec<Error>, now: Now) {
        let Some(commit) = &self.commit else { return };
        for component in commit.to_abort() {
            self.components.abort(component, commit.revision, &mut self.outputs);
        }
        let event =
            Event::CommitFailed { session: commit.by, user: commit.user.clone(), errors: errors.clone() };
        self.outputs.push_back(Output::Event(event));
        self.end_commit(Err(errors), now);
    }

    pub(crate) fn end_commit(&mut self, result: Result<(), Vec<Error>>, _now: Now) {
        let Some(commit) = self.commit.take() else { return };
        if result.is_ok() || commit.discard {
            self.candidate = self.running.clone();
        }
        self.reply(commit.by, result.map(|()| Reply::Ok));
    }
}

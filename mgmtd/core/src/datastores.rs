//! The requests on datastores, locks and sessions that are answered at once.

use crate::commit::Commit;
use crate::content;
use crate::core::Core;
use crate::nacm::Access;
use crate::reading::{Reading, Selection};
use crate::session::lock_denied;
use crate::types::{
    Config, Datastore, DefaultOperation, Edit, ErrorOption, NmdaDatastore, Now, Reply, SessionId, Source,
    Target, TestOption,
};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};
use cats_yang_tree::{Defaults, Tree, view};

impl Core {
    /// A candidate takes what is not valid as a whole yet (RFC 7950 section 8.3.3). To test and nothing else is to hear
    /// whether the outcome would be valid, of either datastore.
    pub(crate) fn edit_config(
        &mut self,
        session: SessionId,
        edit: Edit,
    ) -> Result<Option<Reply>, Vec<Error>> {
        self.may_edit(edit.target, session)?;
        let (target, test_only) = (edit.target, edit.test_option == TestOption::TestOnly);
        let access = self.access(session);
        let tree = self.written(session, target);
        let settled = self.conflicts_named(session, &edit);
        let (edited, errors) = content::edit(&self.facts.schema, &tree, edit, &access);
        match (edited, target) {
            (Some(edited), _) if test_only && errors.is_empty() => {
                self.validate_tree(session, edited);
                return Ok(None);
            }
            (Some(edited), Datastore::Running) if !test_only => {
                return self.begin_writing(session, edited, errors);
            }
            (Some(edited), Datastore::Candidate) if !test_only => {
                self.set_candidate(session, edited, &settled)?;
            }
            (Some(_) | None, _) => {}
        }
        if errors.is_empty() { Ok(Some(Reply::Ok)) } else { Err(errors) }
    }

    pub(crate) fn copy_config(
        &mut self,
        session: SessionId,
        target: Target,
        source: Source,
        with_defaults: Option<Defaults>,
    ) -> Result<Option<Reply>, Vec<Error>> {
        if let Target::Datastore(target) = target {
            if source == Source::Datastore(target) {
                let message = format!("source and target are both <{}>", target.name());
                return Err(vec![Error::protocol(ErrorTag::InvalidValue, message)]);
            }
            self.may_edit(target, session)?;
        }
        let access = self.access(session);
        let target = match target {
            Target::Datastore(target) => target,
            Target::Url(url) => return self.save(session, url, source, with_defaults),
        };
        let from = match &source {
            Source::Datastore(source) => self.tree(session, *source),
            Source::Config(_) => Tree::new(),
        };
        let schema = &self.facts.schema;
        // Defaults first: else they would stand in for what is hidden.
        let shown =
            |tree: &Tree| with_defaults.map_or_else(|| tree.clone(), |mode| view(tree, schema, mode).set());
        let new = match source {
            Source::Datastore(_) => access.readable(&shown(&from)),
            Source::Config(config) => shown(&content::parse_for(schema, config, &access)?),
        };
        access.may_replace_all()?;
        let old = self.written(session, target);
        access.may_change(&old, &new)?;
        match target {
            Datastore::Running => self.begin_writing(session, new, Vec::new()),
            Datastore::Candidate => {
                let settled = self.open_conflicts(session);
                self.set_candidate(session, new, &settled)?;
                Ok(Some(Reply::Ok))
            }
        }
    }

    pub(crate) fn delete_config(
        &mut self,
        session: SessionId,
        target: Target,
    ) -> Result<Option<Reply>, Vec<Error>> {
        match target {
            Target::Datastore(Datastore::Candidate) if self.delete_private(session) => Ok(Some(Reply::Ok)),
            Target::Datastore(target) => Err(vec![not_deletable(target)]),
            Target::Url(url) => {
                self.remove(session, url);
                Ok(None)
            }
        }
    }

    /// `copy-config` to a file, which holds what a retrieval of the source would show.
    fn save(
        &mut self,
        session: SessionId,
        url: String,
        source: Source,
        with_defaults: Option<Defaults>,
    ) -> Result<Option<Reply>, Vec<Error>> {
        let (tree, access) = match source {
            Source::Datastore(source) => (self.tree(session, source), self.access(session)),
            Source::Config(config) => {
                let access = self.access(session);
                (content::parse_for(&self.facts.schema, config, &access)?, Access::FULL)
            }
        };
        let selection = Selection { defaults: with_defaults.unwrap_or_default(), ..Selection::default() };
        self.store(session, url, Reading::new(tree, selection, access));
        Ok(None)
    }

    /// As an edit that is done as a whole or not at all (RFC 8526 section 3.1.2).
    pub(crate) fn edit_data(
        &mut self,
        session: SessionId,
        datastore: NmdaDatastore,
        default_operation: DefaultOperation,
        config: Config,
    ) -> Result<Option<Reply>, Vec<Error>> {
        let target = match datastore {
            NmdaDatastore::Candidate => Datastore::Candidate,
            NmdaDatastore::Running if self.facts.writable_running => Datastore::Running,
            NmdaDatastore::Running | NmdaDatastore::Intended | NmdaDatastore::Operational => {
                let message = format!("{} is not written: change candidate, and commit it", datastore.name());
                let error = Error::protocol(ErrorTag::InvalidValue, message);
                return Err(vec![error.with(ErrorInfo::BadElement("datastore".to_owned()))]);
            }
        };
        let (test_option, error_option) = (TestOption::Set, ErrorOption::RollbackOnError);
        self.edit_config(session, Edit { target, default_operation, test_option, error_option, config })
    }

    /// What a datastore is to a session that writes it: of running, what is decided already.
    fn written(&mut self, session: SessionId, datastore: Datastore) -> Tree {
        match datastore {
            Datastore::Running => self.tip().1.clone(),
            Datastore::Candidate => self.tree(session, datastore),
        }
    }

    /// Not while another session has it locked; and running only where that is switched on.
    pub(crate) fn may_edit(&self, target: Datastore, by: SessionId) -> Result<(), Vec<Error>> {
        match target {
            Datastore::Running if !self.facts.writable_running => Err(vec![
                Error::protocol(
                    ErrorTag::OperationNotSupported,
                    "<running> is not written directly: change <candidate> and <commit> it",
                )
                .with(ErrorInfo::BadElement(target.name().to_owned())),
            ]),
            Datastore::Running => {
                self.sessions.may_change(target, by).map_err(|error| vec![error])?;
                self.no_commit_unrecorded()?;
                self.may_write(by)
            }
            // Nobody else has to do with it.
            Datastore::Candidate if self.is_private(by) => Ok(()),
            Datastore::Candidate => self.sessions.may_change(target, by).map_err(|error| vec![error]),
        }
    }

    pub(crate) fn no_commit_unrecorded(&self) -> Result<(), Vec<Error>> {
        if !self.commit.as_ref().is_some_and(Commit::is_unrecorded) {
            return Ok(());
        }
        let message = "a confirmed commit was taken back, which cannot be recorded: see the alarms";
        Err(vec![Error::protocol(ErrorTag::InUse, message)])
    }

    pub(crate) fn discard_changes(&mut self, session: SessionId) -> Result<Reply, Vec<Error>> {
        self.may_edit(Datastore::Candidate, session)?;
        if !self.discard_private(session) {
            self.candidate = self.running.clone();
        }
        Ok(Reply::Ok)
    }

    pub(crate) fn lock(
        &mut self,
        session: SessionId,
        target: Datastore,
        now: Now,
    ) -> Result<Reply, Vec<Error>> {
        let refused = |error| vec![error];
        if let Some(answer) = self.lock_private(session, target) {
            return answer;
        }
        if let Some(held) = self.sessions.lock_of(target) {
            return Err(vec![lock_denied(target, held.by.0, "holds the lock")]);
        }
        self.not_committing(target)?;
        self.may_lock(target, session).map_err(refused)?;
        if target == Datastore::Candidate && self.candidate_is_modified() {
            let why = "it has changes that are not committed: commit or discard them first";
            return Err(vec![lock_denied(target, 0, why)]);
        }
        self.sessions.lock(target, session, now).map_err(refused)?;
        Ok(Reply::Ok)
    }

    /// A commit on its way holds what it reads and writes.
    fn not_committing(&self, target: Datastore) -> Result<(), Vec<Error>> {
        let holds = |commit: &&Commit| target == Datastore::Running || commit.cause.reads_candidate();
        let Some(commit) = self.on_their_way().find(holds) else { return Ok(()) };
        Err(vec![match commit.cause.session() {
            Some(session) => {
                lock_denied(target, session.0, "is committing, and until that is done has the use")
            }
            None => lock_denied(target, 0, "a confirmed commit is being taken back: retry when it is done"),
        }])
    }

    pub(crate) fn unlock(&mut self, session: SessionId, target: Datastore) -> Result<Reply, Vec<Error>> {
        if let Some(answer) = self.unlock_private(session, target) {
            return answer;
        }
        self.sessions.unlock(target, session).map_err(|error| vec![error])?;
        self.released(&[target]);
        Ok(Reply::Ok)
    }

    /// RFC 6241 section 8.3.5.2: a candidate that is unlocked loses what is not committed.
    pub(crate) fn released(&mut self, locks: &[Datastore]) {
        if !locks.contains(&Datastore::Candidate) {
            return;
        }
        self.discard = true;
        self.discard_if_due();
    }

    /// The candidate loses its changes once no commit of it is on its way.
    pub(crate) fn discard_if_due(&mut self) {
        if self.discard && !self.candidate_is_read() {
            self.discard = false;
            self.candidate = self.running.clone();
        }
    }

    pub(crate) fn candidate_is_modified(&self) -> bool {
        // Shared parts compare by address.
        self.running != self.candidate
    }
}

/// The answer to `delete-config`: neither datastore can go.
fn not_deletable(target: Datastore) -> Error {
    let remedy = match target {
        Datastore::Running => "<running> cannot be deleted (RFC 6241 section 7.4)",
        Datastore::Candidate => {
            "<candidate> cannot be deleted: <discard-changes> or an edit with 'replace' empties it"
        }
    };
    Error::protocol(ErrorTag::OperationNotSupported, remedy)
        .with(ErrorInfo::BadElement(target.name().to_owned()))
}

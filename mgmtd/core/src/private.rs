//! Private candidates (draft-ietf-netconf-privcand-09): a candidate of one session, made of running when it is first
//! needed, and gone when the session closes; one that is lost leaves it [`detached`].
//!
//! Running as it was then is kept beside it. An update brings the changes of running since that base and those of the
//! candidate together, at the cost of the changes; what both changed is a conflict. A commit updates first, and keeps
//! the outcome of that whatever becomes of the rest. Unlike the shared candidate a private one never follows running by
//! itself.

mod detached;
mod merge;

pub(crate) use detached::Detached;
pub use detached::Keeping;

use crate::core::Core;
use crate::session::{lock_denied, lock_denied_for};
use crate::space::{self, Weight};
use crate::types::{Datastore, Edit, ReadAs, Reply, Resolution, SessionId};
use cats_yang_tree::error::{Error, ErrorTag, in_one_answer};
use cats_yang_tree::ops::{Content, Op};
use cats_yang_tree::schema::Schema;
use cats_yang_tree::{InstancePath, Operation, Step, Tree, diff};
use merge::Merge;
use std::collections::{BTreeMap, BTreeSet};

/// The sessions that work on a private candidate, with theirs once it was needed.
pub(crate) type Privates = BTreeMap<SessionId, Option<Private>>;

/// The candidate of one session.
#[derive(Debug, Clone)]
pub(crate) struct Private {
    /// Running when it was made or last updated.
    base: Tree,
    /// The revision that it had.
    base_revision: u64,
    tree: Tree,
    locked: bool,
    /// Its changes are in a confirmed commit that waits; they come back when that is taken back.
    on_trial: bool,
    told: Told,
    /// What the tree takes beside running.
    weight: Weight,
}

/// The conflicts that its session knows of.
#[derive(Debug, Clone, Default)]
struct Told {
    /// Running when they were found.
    running: Tree,
    open: BTreeSet<InstancePath>,
    /// Those that an edit has settled since: the candidate holds what the session wants.
    settled: BTreeSet<InstancePath>,
}

impl Told {
    /// What was settled, and that running has not changed again.
    fn settled_in(&self, schema: &Schema, running: &Tree) -> BTreeSet<InstancePath> {
        if self.settled.is_empty() {
            return BTreeSet::new();
        }
        let again = merge::places(schema, &diff(&self.running, running));
        let stands = |place: &&InstancePath| !merge::is_related(place, &again);
        self.settled.iter().filter(stands).cloned().collect()
    }
}

impl Private {
    fn of(running: &Tree, revision: u64) -> Self {
        Self {
            base: running.clone(),
            base_revision: revision,
            tree: running.clone(),
            locked: false,
            on_trial: false,
            told: Told::default(),
            weight: Weight::default(),
        }
    }

    pub(crate) fn weight(&mut self) -> Weight {
        if self.tree.ptr_eq(&self.base) {
            self.weight = Weight::default();
        }
        self.weight
    }

    /// What it takes beside running, the configuration that it was made of included.
    pub(crate) fn measure(&mut self, running: &Tree) -> Weight {
        self.weight = Weight::of(&self.tree, running).and(Weight::of(&self.base, running));
        self.weight
    }

    fn is_modified(&self) -> bool {
        self.tree != self.base
    }

    /// Would something be lost with it?
    fn holds_work(&self) -> bool {
        self.is_modified() || self.on_trial
    }

    fn discard(&mut self) {
        self.tree = self.base.clone();
        self.told = Told::default();
    }

    /// Brings it onto `running`, all or nothing.
    fn update(
        &mut self,
        schema: &Schema,
        (running, revision): (&Tree, u64),
        resolution: Resolution,
    ) -> Result<(), Vec<Error>> {
        if self.base.ptr_eq(running) {
            self.base_revision = revision;
            self.told = Told::default();
            return Ok(());
        }
        let (ours, theirs) = (diff(&self.base, &self.tree), diff(&self.base, running));
        let merge = Merge::of(schema, &ours, &theirs);
        let new = match resolution {
            Resolution::RevertOnConflict => {
                let conflicts = self.tell(schema, running, &merge);
                if !conflicts.is_empty() {
                    return Err(conflicts);
                }
                merge.prefer_ours(&self.tree)
            }
            Resolution::PreferCandidate => merge.prefer_ours(&self.tree),
            Resolution::PreferRunning => merge.prefer_theirs(running),
        };
        self.tree = new.map_err(|error| vec![error])?;
        self.base = running.clone();
        self.base_revision = revision;
        self.on_trial = false;
        self.told = Told::default();
        Ok(())
    }

    /// The conflicts with `running` that an update would refuse, which are told by this.
    fn conflicts(&mut self, schema: &Schema, running: &Tree) -> Vec<Error> {
        let (ours, theirs) = (diff(&self.base, &self.tree), diff(&self.base, running));
        self.tell(schema, running, &Merge::of(schema, &ours, &theirs))
    }

    /// Those that its session has not settled, which it knows of from now on.
    fn tell(&mut self, schema: &Schema, running: &Tree, merge: &Merge<'_>) -> Vec<Error> {
        let settled = self.told.settled_in(schema, running);
        // What settles a leaf of an entry may have taken the whole entry away.
        let open = merge.conflicts().iter().filter(|place| !merge::is_related(place, &settled));
        let open: BTreeSet<_> = open.cloned().collect();
        let errors = open.iter().map(|place| conflict(schema, place)).collect();
        self.told = Told { running: running.clone(), open, settled };
        errors
    }
}

fn conflict(schema: &Schema, place: &InstancePath) -> Error {
    let message = "it was changed in <running> as well as in the private candidate: edit it again, \
                   <discard-changes>, or <update> with another resolution-mode";
    Error::application(ErrorTag::OperationFailed, message).at(place.render(schema))
}

impl Core {
    /// The client of a session has announced the capability, so the session has a private candidate in the place of the
    /// shared one; before its first request.
    pub fn handle_private_candidate(&mut self, session: SessionId) {
        if self.sessions.get(session).is_some() {
            self.privates.entry(session).or_default();
        }
    }

    pub(crate) fn is_private(&self, session: SessionId) -> bool {
        self.privates.contains_key(&session)
    }

    /// The private candidate of a session that has one, made now if it was not needed before.
    fn private(&mut self, session: SessionId) -> Option<&mut Private> {
        let private = self.privates.get_mut(&session)?;
        Some(private.get_or_insert_with(|| Private::of(&self.running, self.revision)))
    }

    /// What a datastore is to a session.
    pub(crate) fn tree(&mut self, session: SessionId, datastore: Datastore) -> Tree {
        match datastore {
            Datastore::Running => self.running.clone(),
            Datastore::Candidate => match self.private(session) {
                Some(private) => private.tree.clone(),
                None => self.candidate.clone(),
            },
        }
    }

    /// Replaces what the candidate is to a session, where there is room for that; `settled` are the conflicts that this
    /// settles.
    pub(crate) fn set_candidate(
        &mut self,
        session: SessionId,
        tree: Tree,
        settled: &BTreeSet<InstancePath>,
    ) -> Result<(), Vec<Error>> {
        let step = space::Step::between(&self.tree(session, Datastore::Candidate), &tree);
        self.may_become(session, step)?;
        match self.private(session) {
            Some(private) => {
                private.weight = private.weight().then(step);
                private.tree = tree;
                for place in settled {
                    if let Some(place) = private.told.open.take(place) {
                        private.told.settled.insert(place);
                    }
                }
            }
            None => {
                self.candidate_weight = self.candidate_weight.then(step);
                self.candidate = tree;
            }
        }
        Ok(())
    }

    /// The conflicts that its session was told of and did not settle.
    pub(crate) fn open_conflicts(&self, session: SessionId) -> BTreeSet<InstancePath> {
        let private = self.privates.get(&session).and_then(Option::as_ref);
        private.map(|private| private.told.open.clone()).unwrap_or_default()
    }

    /// Those of them that an edit names, whatever it makes of them.
    pub(crate) fn conflicts_named(&self, session: SessionId, edit: &Edit) -> BTreeSet<InstancePath> {
        let mut open = self.open_conflicts(session);
        if !open.is_empty() {
            let ops = edit.config.clone().ops(&self.facts.schema, ReadAs::Edit(edit.default_operation));
            let ops = ops.unwrap_or_default();
            let named = |place: &InstancePath| {
                ops.stages().iter().any(|stage| stage.replace_all || names(&stage.nodes, &place.steps))
            };
            open.retain(named);
        }
        open
    }

    /// `update`.
    pub(crate) fn update(&mut self, session: SessionId, resolution: Resolution) -> Result<Reply, Vec<Error>> {
        self.update_onto(session, (&self.running.clone(), self.revision), resolution)
    }

    pub(crate) fn update_onto(
        &mut self,
        session: SessionId,
        running: (&Tree, u64),
        resolution: Resolution,
    ) -> Result<Reply, Vec<Error>> {
        let access = self.access(session);
        let schema = self.facts.schema.clone();
        let private = self.private(session).ok_or_else(not_private)?;
        private
            .update(&schema, running, resolution)
            .map(|()| Reply::Ok)
            .map_err(|errors| in_one_answer(access.without_hidden(errors)))
    }

    /// Back to where it was made or last updated; false when the session has none.
    pub(crate) fn discard_private(&mut self, session: SessionId) -> bool {
        self.private(session).map(Private::discard).is_some()
    }

    /// `delete-config`: the next one is made when it is needed, and at once when the lock stays on it. False when the session
    /// works on the shared one.
    pub(crate) fn delete_private(&mut self, session: SessionId) -> bool {
        let Some(private) = self.privates.get_mut(&session) else { return false };
        let locked = private.as_ref().is_some_and(|private| private.locked);
        *private = locked.then(|| Private { locked, ..Private::of(&self.running, self.revision) });
        true
    }

    /// `lock`; none when it is not of a private candidate.
    pub(crate) fn lock_private(
        &mut self,
        session: SessionId,
        target: Datastore,
    ) -> Option<Result<Reply, Vec<Error>>> {
        if target != Datastore::Candidate {
            return None;
        }
        let private = self.private(session)?;
        if private.locked {
            return Some(Err(vec![lock_denied(Datastore::Candidate, session.0, "holds the lock")]));
        }
        if private.is_modified() {
            let why = "it has changes that are not committed: commit or discard them first";
            return Some(Err(vec![lock_denied_for(Datastore::Candidate, 0, why)]));
        }
        private.locked = true;
        Some(Ok(Reply::Ok))
    }

    /// `unlock` of a private candidate, which loses what is not committed as the shared one does; none when it is of
    /// another.
    pub(crate) fn unlock_private(
        &mut self,
        session: SessionId,
        target: Datastore,
    ) -> Option<Result<Reply, Vec<Error>>> {
        if target != Datastore::Candidate {
            return None;
        }
        let private = self.private(session)?;
        if !std::mem::take(&mut private.locked) {
            return Some(Err(vec![crate::session::not_locked(Datastore::Candidate)]));
        }
        private.discard();
        Some(Ok(Reply::Ok))
    }

    /// Running has become what the session committed, which may be lost since.
    pub(crate) fn private_committed(&mut self, session: SessionId, confirmed: bool) {
        let new = Private { on_trial: confirmed, ..Private::of(&self.running, self.revision) };
        if let Some(private) = self.privates.get_mut(&session).and_then(Option::as_mut) {
            *private = Private { locked: private.locked, ..new };
        } else if let Some(private) = self.detached.of(session) {
            *private = new;
            self.detached.forget_empty();
        }
    }

    /// The confirmed commit that waited is taken back: who made it has its changes to commit again.
    pub(crate) fn return_to_privates(&mut self) {
        let all = self.privates.values_mut().flatten().chain(self.detached.all());
        for private in all.filter(|private| private.on_trial) {
            private.base = self.running.clone();
            private.base_revision = self.revision;
            private.on_trial = false;
            private.told = Told::default();
        }
    }

    /// The confirmed commit that waited is confirmed.
    pub(crate) fn end_trials(&mut self) {
        for private in self.privates.values_mut().flatten().chain(self.detached.all()) {
            private.on_trial = false;
        }
        self.detached.forget_empty();
    }
}

fn not_private() -> Vec<Error> {
    let message = "this session works on the shared candidate: announce :private-candidate in <hello>";
    vec![Error::protocol(ErrorTag::OperationNotSupported, message)]
}

/// Do these operations name the node at `steps`, or take away or replace what is above it?
fn names(ops: &[Op], steps: &[Step]) -> bool {
    let Some((step, rest)) = steps.split_first() else { return false };
    let meant = |op: &&Op| {
        let key = op.step().key;
        op.node == step.node && (key.is_none() || step.key.is_none() || key == step.key)
    };
    ops.iter().filter(meant).any(|op| match (op.operation, &op.content) {
        (Operation::Delete | Operation::Remove | Operation::Replace | Operation::Create, _) => true,
        (Operation::None | Operation::Merge, Content::Container(inner) | Content::Entry(_, inner))
            if !rest.is_empty() =>
        {
            names(inner, rest)
        }
        (operation, _) => operation == Operation::Merge || op.insert.is_some(),
    })
}

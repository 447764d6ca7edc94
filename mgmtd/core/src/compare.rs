//! `compare` of RFC 9144: two datastores held against each other.

use crate::core::Core;
use crate::reading::{Filter, Reading, Selection};
use crate::types::{Datastore, NmdaDatastore, Now, Reply, SessionId};
use cats_yang_tree::diff::PatchEdit;
use cats_yang_tree::error::Error;
use cats_yang_tree::schema::Schema;
use cats_yang_tree::{Defaults, Tree, diff};

/// The parameters of `compare`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compare {
    /// What is to be changed.
    pub source: NmdaDatastore,
    /// What it is to become.
    pub target: NmdaDatastore,
    /// Also what only one of the two can hold: the state of `<operational>`.
    pub all: bool,
    /// The part that is compared.
    pub filter: Option<Filter>,
}

/// Two reads of one moment. As for a [`Reading`], the work is for the asker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    source: Reading,
    target: Reading,
}

impl Comparison {
    pub(crate) fn of(source: Reading, target: Reading) -> Self {
        Self { source, target }
    }

    /// The edits that make the target out of the source, as far as the asker may read them; none when the filter
    /// matches nothing on either side.
    ///
    /// # Errors
    /// When the filter cannot be evaluated.
    pub fn edits(&self, schema: &Schema) -> Result<Option<Vec<PatchEdit>>, Vec<Error>> {
        let (source, target) = (self.source.view(schema)?.tree(), self.target.view(schema)?.tree());
        let is_filtered = self.source.selection.filter.is_some();
        let nothing = is_filtered && source.is_empty() && target.is_empty();
        Ok((!nothing).then(|| diff(&source, &target).patch(schema)))
    }
}

/// The comparison that waits for the state of `<operational>`.
#[derive(Debug, Clone)]
pub(crate) struct Awaited {
    /// What the other datastore held when it was asked.
    other: Tree,
    operational_is_source: bool,
}

impl Awaited {
    pub(crate) fn with(self, operational: Reading) -> Reply {
        let Reading { selection, access, .. } = &operational;
        let other = Reading::new(self.other, selection.clone(), access.clone());
        let (source, target) = match self.operational_is_source {
            true => (operational, other),
            false => (other, operational),
        };
        Reply::Comparison(Box::new(Comparison { source, target }))
    }
}

impl Core {
    /// Answers `compare`, or asks a component first.
    pub(crate) fn compare(
        &mut self,
        session: SessionId,
        compare: Compare,
        now: Now,
    ) -> Result<Option<Reply>, Vec<Error>> {
        let Compare { source, target, all, filter } = compare;
        let operational_is_source = source == NmdaDatastore::Operational;
        let operational = operational_is_source || target == NmdaDatastore::Operational;
        let selection = Selection {
            filter,
            // Without `all`, only what both can hold (RFC 9144 section 4.1).
            config: (operational && !all).then_some(true),
            // `<operational>` holds the defaults in use, which are no difference.
            defaults: if operational { Defaults::ReportAll } else { Defaults::Explicit },
            ..Selection::default()
        };
        if operational && all && source != target {
            let other = self.configuration(session, if operational_is_source { target } else { source });
            return self.read_operational(
                session,
                selection,
                Some(Awaited { other, operational_is_source }),
                now,
            );
        }
        let access = self.access(session);
        let reading = |tree: Tree| Reading::new(tree, selection.clone(), access.clone());
        let comparison = Comparison {
            source: reading(self.configuration(session, source)),
            target: reading(self.configuration(session, target)),
        };
        Ok(Some(Reply::Comparison(Box::new(comparison))))
    }

    /// The configuration in a datastore, as a session has it; that of `<operational>` is what was intended.
    pub(crate) fn configuration(&mut self, session: SessionId, datastore: NmdaDatastore) -> Tree {
        match datastore {
            NmdaDatastore::Running | NmdaDatastore::Intended | NmdaDatastore::Operational => {
                self.tree(session, Datastore::Running)
            }
            NmdaDatastore::Candidate => self.tree(session, Datastore::Candidate),
        }
    }
}

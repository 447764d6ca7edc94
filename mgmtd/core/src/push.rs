//! Subscriptions to datastores (RFC 8639, RFC 8641): what readers want to be told without asking.
//!
//! Nothing is queued for a change. A subscription on change holds what its receiver has, and when its time comes is told
//! the difference to what there is: a burst costs its net effect, and a receiver that is slow costs a root. That is less
//! than RFC 8641 section 3.3 has in mind, by which what came and went between two updates is told too, as churn: of that
//! nothing is known here. Subscriptions that select the same of the same share the work and the text. What a receiver may
//! read is asked each time, so that other rules change what it has like other data do.

mod listening;
mod message;
mod pulls;
mod refusal;
mod report;
mod requests;
mod rhythm;
mod table;
mod telling;
mod terms;

pub use message::{Changes, Content, Update, Whole};

use crate::nacm::Access;
use crate::types::SessionId;
use cats_yang_tree::error::Error;
use cats_yang_tree::{ChangeSet, Tree};
use pulls::Pulls;
use std::sync::Arc;
use std::time::Instant;
use table::Table;
use terms::Selected;

pub(crate) use report::capabilities;
pub(crate) use requests::is_ours;

/// The shortest period of a subscription, centiseconds.
pub const LEAST_PERIOD_CS: u32 = terms::LEAST_PERIOD_CS;

/// All subscriptions, and what is known of the datastores for them.
#[derive(Debug, Default)]
pub(crate) struct Push {
    table: Table,
    /// Running as it was when it was last looked at.
    seen: Tree,
    /// When changes were last begun to be gathered.
    gathering: Option<Instant>,
    /// Periodic updates that wait for a component's state.
    pulls: Pulls,
    shared: Shared,
}

/// What subscriptions that have their turn together share.
#[derive(Debug, Default)]
struct Shared {
    seen: Vec<Seen>,
    changes: Vec<(Tree, Tree, Option<Arc<Changes>>)>,
    wholes: Vec<(Tree, Arc<Whole>)>,
    raw: Vec<(Tree, Tree, Option<Arc<ChangeSet>>)>,
}

/// What a selection shows of a datastore.
#[derive(Debug)]
struct Seen {
    selection: Arc<Selected>,
    base: table::Base,
    operational: bool,
    tree: Result<Tree, Vec<Error>>,
}

impl Push {
    /// The state of components that subscriptions want to be told of.
    pub(crate) fn watched(&self) -> impl Iterator<Item = &String> {
        self.table.watched.keys()
    }

    pub(crate) fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let pull = self.pulls.deadline();
        let turn = self.table.next_turn();
        let stop = self.table.listeners.values().filter_map(listening::Listener::deadline).min();
        [pull, turn, stop].into_iter().flatten().min().map(|due| (due, "subscription"))
    }

    /// Forgets the subscriptions of a session.
    pub(crate) fn forget(&mut self, session: SessionId) {
        for id in self.table.ids(|subscription| subscription.session == session) {
            self.table.take(id);
        }
        self.table.crowd_of(session);
        self.table.listeners.retain(|_, listener| listener.session != session);
    }
}

impl table::Base {
    fn is(&self, other: &Self) -> bool {
        self.tree.ptr_eq(&other.tree) && self.state.ptr_eq(&other.state) && self.access == other.access
    }

    fn new(tree: Tree, state: Tree, access: Access) -> Self {
        Self { tree, state, access }
    }
}

//! Access control as RFC 8341 has it.
//!
//! The rules are those of `/nacm` in running. They are compiled when that changed, and hold for open sessions from the
//! next request on. Decisions are pure: an [`Access`] is what one session may do, and can be taken elsewhere.
//!
//! - an operation: [`Access::may_invoke`], before anything else
//! - what is read: [`Access::readable`], before filters, so that these select among what is readable only
//! - what is written: [`Access::may_request`] looks at the request, [`Access::may_change`] at the difference that it
//!   makes, [`Access::without_hidden_edits`] at the errors
//! - what is told: [`Access::receivable`]
//! - what is committed: [`Access::may_change`] from running to the candidate
//! - errors of validation: [`Access::without_hidden`], [`Access::without_words`]

mod denial;
mod effective;
mod path;
mod read;
mod receive;
mod request;
mod rules;
mod write;

pub use rules::AccessOperation;

use crate::types::{Peer, Request};
use cats_yang_tree::error::{Error, ErrorTag, ErrorType};
use cats_yang_tree::notice::Notice;
use cats_yang_tree::schema::{NodeId, Schema};
use cats_yang_tree::{Branch, Data, InstancePath, Ops, Tree};
use effective::Effective;
use rules::Rules;
use std::collections::BTreeMap;
use std::sync::Arc;

const NETCONF: &str = "ietf-netconf";
const NMDA: &str = "ietf-netconf-nmda";

/// So many users are kept ready at most; beyond, all are made anew.
const MOST_USERS: usize = 64;

/// What a session may do.
#[derive(Debug, Clone)]
pub struct Access(Option<Arc<Effective>>);

impl PartialEq for Access {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, Some(_)) | (Some(_), None) => false,
        }
    }
}

impl Eq for Access {}

impl Access {
    /// Everything: of a recovery session, or where access control is not enabled.
    pub const FULL: Self = Self(None);

    /// What `peer` may do under the rules of `running`. Made from nothing: the core keeps what it asks for often.
    pub fn of(schema: &Arc<Schema>, running: &Tree, peer: &Peer) -> Self {
        Nacm::new(schema).access(schema, running, peer)
    }

    /// May `operation` of `module` be invoked?
    ///
    /// # Errors
    /// `access-denied`.
    pub fn may_invoke(&self, module: &str, operation: &str) -> Result<(), Error> {
        let closes = module == NETCONF && operation == "close-session";
        match &self.0 {
            Some(rules) if !closes && !rules.may_invoke(module, operation) => {
                Err(denial::of_operation(operation))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// May the action at `path` be invoked?
    ///
    /// # Errors
    /// `access-denied`.
    pub fn may_act(&self, path: &InstancePath) -> Result<(), Error> {
        match &self.0 {
            Some(rules) if !self.permits(AccessOperation::Exec, path) => {
                let name = path.node().map_or("", |node| rules.schema.node(node).name.as_str());
                Err(denial::of_operation(name))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// May a notification of the top level be delivered, by its name? The two that end a replay always are.
    pub fn may_receive(&self, module: &str, notification: &str) -> bool {
        match &self.0 {
            None => true,
            Some(rules) => ends_replay(module, notification) || rules.may_receive(module, notification),
        }
    }

    /// What of a notification may be delivered: none when nothing may.
    pub fn receivable(&self, schema: &Schema, notice: &Notice) -> Option<Notice> {
        match &self.0 {
            Some(rules) if !is_end_of_replay(schema, notice) => rules.receivable(schema, notice),
            Some(_) | None => Some(notice.clone()),
        }
    }

    /// Is `operation` on the node at `path` permitted? For an action that is [`AccessOperation::Exec`], for a
    /// notification that is tied to data [`AccessOperation::Read`]; both need that what leads to them is readable.
    pub fn permits(&self, operation: AccessOperation, path: &InstancePath) -> bool {
        let Some(rules) = &self.0 else { return true };
        let above = path.steps.split_last().map_or(&[][..], |(_, above)| above);
        let read_first = matches!(operation, AccessOperation::Exec | AccessOperation::Read);
        rules.permits(operation, &path.steps) && (!read_first || rules.sees(above))
    }

    /// May everything be read?
    pub fn reads_all(&self) -> bool {
        match &self.0 {
            None => true,
            Some(rules) => rules.reads_all(),
        }
    }

    /// The part of `tree` that may be read: the tree itself when that is all. Defaults in use must be in it already,
    /// else they would stand in the place of what is left out.
    #[must_use]
    pub fn readable(&self, tree: &Tree) -> Tree {
        match &self.0 {
            None => tree.clone(),
            Some(rules) => rules.readable(tree),
        }
    }

    /// May an edit ask for this? Says nothing of what is there.
    ///
    /// # Errors
    /// `access-denied`, once for each node.
    pub fn may_request(&self, ops: &Ops) -> Result<(), Vec<Error>> {
        match &self.0 {
            None => Ok(()),
            Some(rules) => rules.may_request(ops),
        }
    }

    /// May a whole datastore be replaced? Says nothing of what is there.
    ///
    /// # Errors
    /// `access-denied`.
    pub fn may_replace_all(&self) -> Result<(), Vec<Error>> {
        match &self.0 {
            None => Ok(()),
            Some(rules) => rules.may_replace_all(),
        }
    }

    /// May `old` become `new`?
    ///
    /// # Errors
    /// `access-denied`, once for each node that may not be created, altered or deleted.
    pub fn may_change(&self, old: &Tree, new: &Tree) -> Result<(), Vec<Error>> {
        match &self.0 {
            None => Ok(()),
            Some(rules) => rules.may_change(old, new),
        }
    }

    /// Errors of an edit as this user may see them.
    #[must_use]
    pub fn without_hidden_edits(&self, errors: Vec<Error>) -> Vec<Error> {
        match &self.0 {
            None => errors,
            Some(rules) => rules.without_hidden_edits(errors),
        }
    }

    /// Those of the errors that name only places which this user may read.
    #[must_use]
    pub fn of_readable(&self, errors: Vec<Error>) -> Vec<Error> {
        match &self.0 {
            None => errors,
            Some(rules) => rules.of_readable(errors),
        }
    }

    /// Errors of any kind as this user may see them: those that name a place name one that is readable.
    #[must_use]
    pub fn without_hidden(&self, errors: Vec<Error>) -> Vec<Error> {
        match &self.0 {
            None => errors,
            Some(rules) => rules.without_hidden(errors),
        }
    }

    /// Errors of the rules beyond YANG, whose words may tell of other places than their own, as this user may see them.
    #[must_use]
    pub fn without_words(&self, errors: Vec<Error>) -> Vec<Error> {
        match &self.0 {
            None => errors,
            Some(rules) => rules.without_words(errors),
        }
    }
}

fn is_end_of_replay(schema: &Schema, notice: &Notice) -> bool {
    let node = schema.node(notice.notification());
    ends_replay(&schema.module(node.module).name, &node.name)
}

fn ends_replay(module: &str, notification: &str) -> bool {
    module == "nc-notifications" && matches!(notification, "replayComplete" | "notificationComplete")
}

/// The module and the name of an operation; none for what has no meaning here and only gets its error.
pub(crate) fn operation_of(request: &Request) -> Option<(&'static str, &'static str)> {
    Some(match request {
        Request::Get { .. } => (NETCONF, "get"),
        Request::GetConfig { .. } => (NETCONF, "get-config"),
        Request::GetData { .. } => (NMDA, "get-data"),
        Request::Compare(_) => ("ietf-nmda-compare", "compare"),
        Request::EditConfig(_) => (NETCONF, "edit-config"),
        Request::EditData { .. } => (NMDA, "edit-data"),
        Request::CopyConfig { .. } => (NETCONF, "copy-config"),
        Request::DeleteConfig { .. } => (NETCONF, "delete-config"),
        Request::Lock { .. } => (NETCONF, "lock"),
        Request::Unlock { .. } => (NETCONF, "unlock"),
        Request::Commit(_) => (NETCONF, "commit"),
        Request::CancelCommit { .. } => (NETCONF, "cancel-commit"),
        Request::DiscardChanges => (NETCONF, "discard-changes"),
        Request::Update { .. } => ("ietf-netconf-private-candidate", "update"),
        Request::Validate { .. } => (NETCONF, "validate"),
        Request::CloseSession => (NETCONF, "close-session"),
        Request::KillSession { .. } => (NETCONF, "kill-session"),
        Request::GetSchema { .. } => ("ietf-netconf-monitoring", "get-schema"),
        Request::SchemaIndex { .. } => ("cats-exec", "schema-index"),
        Request::CompareRevision { .. } => ("cats-exec", "compare-revision"),
        Request::Rollback { .. } => ("cats-exec", "rollback"),
        Request::AttachCandidate { .. } => ("cats-exec", "attach-candidate"),
        Request::DropCandidate { .. } => ("cats-exec", "drop-candidate"),
        Request::Subscribe(_) => ("notifications", "create-subscription"),
        // Judged by itself.
        Request::Execute(_) => return None,
        Request::Unsupported(_) => return None,
    })
}

/// The rules in force, what they mean for whom, and what they refused.
#[derive(Debug)]
pub(crate) struct Nacm {
    /// `/nacm`; without it the schema has no access control, and everybody may do everything.
    node: Option<NodeId>,
    /// What `rules` were made of.
    source: Option<Arc<Branch>>,
    rules: Rules,
    known: BTreeMap<(String, Vec<String>), Arc<Effective>>,
    pub(crate) counters: Counters,
}

/// The counters of `/nacm`; each stands still at its greatest value.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counters {
    pub(crate) denied_operations: u32,
    pub(crate) denied_data_writes: u32,
    pub(crate) denied_notifications: u32,
}

impl Nacm {
    pub(crate) fn new(schema: &Schema) -> Self {
        let module = schema.module_by_name(rules::MODULE).filter(|module| schema.module(*module).implemented);
        let node = module.and_then(|module| schema.child(None, module, "nacm"));
        Self {
            node,
            source: None,
            rules: Rules::default(),
            known: BTreeMap::new(),
            counters: Counters::default(),
        }
    }

    /// Counts a request that is answered with these errors, if they deny it: the operation, or else what it writes.
    pub(crate) fn count_denied<'e>(&mut self, errors: &'e [Error]) -> Option<&'e Error> {
        let denied = errors.iter().find(|error| error.tag == ErrorTag::AccessDenied)?;
        let counter = match denied.kind {
            ErrorType::Transport | ErrorType::Rpc | ErrorType::Protocol => {
                &mut self.counters.denied_operations
            }
            ErrorType::Application => &mut self.counters.denied_data_writes,
        };
        *counter = counter.saturating_add(1);
        Some(denied)
    }

    /// Counts notifications that were kept from a receiver.
    pub(crate) fn count_denied_notifications(&mut self, more: u32) {
        let counter = &mut self.counters.denied_notifications;
        *counter = counter.saturating_add(more);
    }

    /// Does the schema have access control?
    pub(crate) fn is_served(&self) -> bool {
        self.node.is_some()
    }

    /// What `peer` may do under the rules of `running`.
    pub(crate) fn access(&mut self, schema: &Arc<Schema>, running: &Tree, peer: &Peer) -> Access {
        let Some(node) = self.node.filter(|_| !peer.recovery) else { return Access::FULL };
        self.follow(schema, node, running);
        if !self.rules.enabled {
            return Access::FULL;
        }
        let groups = self.rules.groups_of(&peer.user, &peer.groups);
        let key = (peer.user.clone(), groups);
        if self.known.len() >= MOST_USERS && !self.known.contains_key(&key) {
            self.known.clear();
        }
        let rules = &self.rules;
        let known = self.known.entry(key);
        let effective =
            known.or_insert_with_key(|(user, groups)| Arc::new(Effective::new(schema, rules, groups, user)));
        Access(Some(Arc::clone(effective)))
    }

    /// Does what sessions may do stay the same?
    pub(crate) fn same_rules(&self, old: &Tree, new: &Tree) -> bool {
        match (self.content(old), self.content(new)) {
            (Some(old), Some(new)) => Arc::ptr_eq(old, new),
            (old, new) => old.is_none() && new.is_none(),
        }
    }

    /// The rules of `new` that cannot be understood, if it has other rules than `old`.
    pub(crate) fn faults(&self, schema: &Schema, old: &Tree, new: &Tree) -> Vec<Error> {
        match (self.node, self.content(old), self.content(new)) {
            (_, Some(old), Some(new)) if Arc::ptr_eq(old, new) => Vec::new(),
            (Some(node), _, Some(new)) => rules::faults(schema, node, new),
            (_, _, _) => Vec::new(),
        }
    }

    fn content<'t>(&self, tree: &'t Tree) -> Option<&'t Arc<Branch>> {
        match tree.root().get(self.node?)? {
            Data::Container(nacm) => Some(nacm),
            Data::Leaf(_) | Data::List(_) | Data::LeafList(_) | Data::Any(_) => None,
        }
    }

    /// Compiles the rules of `running` if they are others than before.
    fn follow(&mut self, schema: &Schema, node: NodeId, running: &Tree) {
        let now = self.content(running);
        let same = match (&self.source, now) {
            (Some(before), Some(now)) => Arc::ptr_eq(before, now),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        if !same {
            self.rules = now.map_or_else(Rules::default, |nacm| Rules::compile(schema, node, nacm));
            self.source = now.cloned();
            self.known.clear();
        }
    }
}

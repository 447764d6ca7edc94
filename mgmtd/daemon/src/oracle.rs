//! Validation on a thread of its own: a big change takes seconds, and no session is to wait for another's. A small one
//! without conditions is judged at once: the way to the thread and back costs more.
//!
//! yang/tree judges what changed. libyang is asked as well, about the whole configuration, while that may hold a node
//! with a constraint that yang/tree leaves to it.

use crate::hub::{HubSender, Input};
use crate::rules::Rules;
use cats_mgmtd_core::Ticket;
use cats_yang_schema::{Compiled, Document};
use cats_yang_tree::error::Error;
use cats_yang_tree::schema::Schema;
use cats_yang_tree::validate::{asks_conditions, left_in};
use cats_yang_tree::{
    ChangeSet, Defaults, InstancePath, Operation, Ops, Tree, diff, diff_of_few, edit, validate, view,
};
use std::sync::Arc;
use tokio::sync::mpsc;

/// A change is small when the comparison looks at fewer nodes.
const FEW: usize = 256;

/// What is to be found out.
#[derive(Debug)]
pub(crate) enum Job {
    /// What YANG says of a configuration in place of another one.
    Judge { ticket: Ticket, base: Tree, new: Tree },
    /// What the rules say of running after changes.
    Check { ticket: Ticket, rules: Rules, changes: Arc<ChangeSet> },
}

/// The valid tree and how it differs from the one before, or what is wrong.
pub(crate) type Verdict = Result<(Tree, ChangeSet), Vec<Error>>;

/// Starts the thread; it ends when the sender is dropped. `queue` is the number of sessions, of which each has
/// at most one request in progress.
///
/// # Errors
/// When the system has no thread to give.
pub(crate) fn start(
    compiled: Compiled,
    schema: Arc<Schema>,
    queue: usize,
    hub: HubSender,
) -> std::io::Result<mpsc::Sender<Job>> {
    let (sender, mut receiver) = mpsc::channel::<Job>(queue);
    std::thread::Builder::new().name("oracle".to_owned()).spawn(move || {
        while let Some(job) = receiver.blocking_recv() {
            let found = match job {
                Job::Judge { ticket, base, new } => {
                    Input::Validated { ticket, verdict: judge(&compiled, &schema, &base, new) }
                }
                Job::Check { ticket, rules, changes } => {
                    let judged = rules.check(&schema, &changes);
                    Input::Checked { ticket, changes, judged }
                }
            };
            if hub.blocking_send(found).is_err() {
                return;
            }
        }
    })?;
    Ok(sender)
}

/// Is a change so small that it is judged at once?
pub(crate) fn is_little(old: &Tree, new: &Tree) -> bool {
    diff_of_few(old, new, FEW).is_some()
}

/// As [`judge`], of a small change that needs neither libyang nor the evaluation of a condition, which may read much; none
/// of another one.
pub(crate) fn judge_little(schema: &Schema, base: &Tree, new: &Tree) -> Option<Verdict> {
    if left_in(schema, new).next().is_some() {
        return None;
    }
    let changes = diff_of_few(base, new, FEW)?;
    if asks_conditions(schema, base, &changes) {
        return None;
    }
    Some(validate(schema, base, new.clone(), changes))
}

/// The tree as it is valid, without the nodes whose `when` is false (RFC 7950 section 8.2), and how it differs from
/// `base`. Cheap where `base` has been validated.
///
/// # Errors
/// What is wrong, in document order.
pub(crate) fn judge(compiled: &Compiled, schema: &Schema, base: &Tree, new: Tree) -> Verdict {
    let left = || left_in(schema, &new);
    // What a `when` deletes no other constraint speaks of.
    let first = left().any(|left| left.is_when);
    let last = !first && left().next().is_some();
    let new = if first { ask_libyang(compiled, schema, &new)? } else { new };
    let changes = diff(base, &new);
    let (new, changes) = validate(schema, base, new, changes)?;
    if last {
        ask_libyang(compiled, schema, &new)?;
    }
    Ok((new, changes))
}

/// libyang's verdict on a whole configuration.
fn ask_libyang(compiled: &Compiled, schema: &Schema, tree: &Tree) -> Result<Tree, Vec<Error>> {
    let xml = view(tree, schema, Defaults::Explicit).to_xml();
    let verdict = compiled.validate(Document::Xml(&xml))?;
    let mut ops = Ops::default();
    for path in &verdict.deleted {
        let path = InstancePath::parse(schema, &path.0).map_err(|error| vec![error])?;
        ops.push(schema, &path, Operation::Remove, None).map_err(|error| vec![error])?;
    }
    if ops.is_empty() { Ok(tree.clone()) } else { edit(tree, schema, ops) }
}

//! libyang on a thread of its own: it takes milliseconds to seconds, and no session is to wait for another's.

use crate::hub::{HubSender, Input};
use cats_mgmtd_core::Ticket;
use cats_yang_schema::{Compiled, Document};
use cats_yang_tree::error::Error;
use cats_yang_tree::schema::Schema;
use cats_yang_tree::{Defaults, InstancePath, Operation, Ops, Tree, edit, view};
use std::sync::Arc;
use tokio::sync::mpsc;

/// A configuration to judge.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) ticket: Ticket,
    pub(crate) tree: Tree,
}

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
        while let Some(Job { ticket, tree }) = receiver.blocking_recv() {
            let verdict = judge(&compiled, &schema, &tree);
            if hub.blocking_send(Input::Validated { ticket, verdict }).is_err() {
                return;
            }
        }
    })?;
    Ok(sender)
}

/// The tree as it is valid: without the nodes whose `when` is false (RFC 7950 section 8.2).
///
/// # Errors
/// libyang's, in document order.
pub(crate) fn judge(compiled: &Compiled, schema: &Schema, tree: &Tree) -> Result<Tree, Vec<Error>> {
    let xml = view(tree, schema, Defaults::Explicit).to_xml();
    let verdict = compiled.validate(Document::Xml(&xml))?;
    let mut ops = Ops::default();
    for path in &verdict.deleted {
        let path = InstancePath::parse(schema, &path.0).map_err(|error| vec![error])?;
        ops.push(schema, &path, Operation::Remove, None).map_err(|error| vec![error])?;
    }
    if ops.is_empty() { Ok(tree.clone()) } else { edit(tree, schema, ops) }
}

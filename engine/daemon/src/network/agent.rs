//! The connections of a metric agent to its path selectors: one to each.

use super::{EVENTS, Network, REFRESH, Task};
use crate::config::Peer;
use cats_engine_transport::control_plane::Timing;
use cats_engine_transport::keys::{KeyError, Signer, SigningKey};
use cats_engine_transport::northbound::{AgentEvent, Target, connect};
use cats_engine_types::NodeId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// Connections to path selectors, one at a time to each.
#[derive(Debug, Default)]
pub(super) struct Links {
    open: BTreeMap<NodeId, Link>,
    signers: BTreeMap<NodeId, Signing>,
    /// Behind whom the next event is looked for.
    last: Option<NodeId>,
}

#[derive(Debug)]
struct Link {
    events: mpsc::Receiver<AgentEvent>,
    task: Task,
}

#[derive(Debug)]
struct Signing {
    key: SigningKey,
    signer: Arc<Signer>,
    _watch: Task,
}

/// What became of an attempt to connect.
#[derive(Debug)]
pub(crate) enum Opened {
    /// It is under way; its end is an arrival.
    UnderWay,
    /// Nothing is sent without a signature, and there is no key.
    Unsigned(KeyError),
    /// The node has no certificates in use.
    Uncertified,
}

impl Links {
    /// Ends all connections at once.
    pub(super) fn clear(&mut self) {
        self.open.clear();
    }

    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<(NodeId, AgentEvent)> {
        // First those behind the one that was heard last, then the others.
        for behind in [true, false] {
            for (peer, link) in &mut self.open {
                if self.last.as_ref().is_none_or(|last| peer > last) == behind
                    && let Poll::Ready(Some(event)) = link.events.poll_recv(context)
                {
                    self.last = Some(peer.clone());
                    return Poll::Ready((peer.clone(), event));
                }
            }
        }
        Poll::Pending
    }
}

impl Network {
    /// Keeps the keys of these path selectors, and follows their files.
    pub(crate) fn sign_for(&mut self, peers: &BTreeMap<NodeId, Peer>) {
        let kept = |node: &NodeId, signing: &mut Signing| {
            peers.get(node).is_some_and(|peer| peer.key == signing.key)
        };
        self.links.signers.retain(kept);
        let known: BTreeSet<NodeId> = self.links.signers.keys().cloned().collect();
        for (node, peer) in peers.iter().filter(|(node, _)| !known.contains(*node)) {
            let signer = Signer::open(peer.key.clone());
            let watch = self.spawn(Arc::clone(&signer).watch(REFRESH));
            let signing = Signing { key: peer.key.clone(), signer, _watch: watch };
            self.links.signers.insert(node.clone(), signing);
        }
    }

    /// What is wrong with the keys for path selectors.
    pub(crate) fn key_problems(&self) -> Vec<KeyError> {
        self.links.signers.values().filter_map(|signing| signing.signer.problem()).collect()
    }

    /// One attempt to connect to a path selector. A former connection ends.
    pub(crate) fn open(&mut self, node: &NodeId, peer: &Peer) -> Opened {
        let (Some(certificates), Some(signing)) = (&self.pki, self.links.signers.get(node)) else {
            return Opened::Uncertified;
        };
        if let Err(error) = signing.signer.usable() {
            return Opened::Unsigned(error);
        }
        let (sender, events) = mpsc::channel(EVENTS);
        let target = Target {
            address: peer.address,
            cps: node.clone(),
            pki: Arc::clone(&certificates.pki),
            signer: Arc::clone(&signing.signer),
            compress: peer.compress,
            timing: Timing::default(),
        };
        let task = self.spawn(connect(target, sender));
        self.links.open.insert(node.clone(), Link { events, task });
        Opened::UnderWay
    }

    /// Whether a connection to a path selector is there, or on its way.
    pub(crate) fn is_open(&self, node: &NodeId) -> bool {
        self.links.open.contains_key(node)
    }

    /// Forgets a connection: nothing of it arrives any more. What was sent over it is still on its way, if `linger`.
    pub(crate) fn close(&mut self, node: &NodeId, linger: bool) {
        let Some(Link { mut events, task }) = self.links.open.remove(node) else { return };
        if linger {
            // The task ends by itself once the owner has dropped the way to the path selector.
            self.runtime.spawn(async move {
                let _task = task;
                while events.recv().await.is_some() {}
            });
        }
    }
}

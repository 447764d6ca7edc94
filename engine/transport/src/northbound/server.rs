//! The C-PS's end.

use super::{BATCH, QUEUE, open};
use crate::Timing;
use crate::accept::Peer;
use crate::identity::{Role, Subject};
use crate::keys::Keyring;
use crate::pki::Pki;
use crate::revocation::revoked;
use crate::sent::Sent;
use arc_swap::ArcSwap;
use cats_engine_types::{Advertisement, AgentInstruction, NodeId};
use cats_engine_wire::json::AgentView;
use cats_engine_wire::metrics as pb;
use cats_engine_wire::metrics::northbound_server;
use prost::Message;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

/// The agents that may connect; the owner replaces the set when the configuration changes.
#[derive(Debug, Clone, Default)]
pub struct Agents(Arc<ArcSwap<BTreeSet<NodeId>>>);

impl Agents {
    /// Replaces the set. Who is connected and no longer in it is the owner's to drop.
    pub fn replace(&self, names: BTreeSet<NodeId>) {
        self.0.store(Arc::new(names));
    }

    fn allows(&self, name: &NodeId) -> bool {
        self.0.load().contains(name)
    }
}

static LAST: AtomicU64 = AtomicU64::new(0);

/// Tells connections of agents apart: one that connects again has a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentId(u64);

/// What happens at the C-PS's end.
#[derive(Debug)]
pub enum SelectorEvent {
    /// An agent is there, and waits to hear what is known of it. Its former connection, if any, is void.
    Connected(AgentLink),
    /// What it advertises, in order, and when it was read from the stream. Its signatures hold.
    Advertisements(AgentId, Instant, Vec<Advertisement>),
    /// It is gone.
    Disconnected(AgentId, NodeId),
    /// It advertises by a request of its own, and waits to hear. Its signature holds.
    Posted {
        /// When it was read.
        read: Instant,
        /// What it says, and who it is.
        advertisement: Box<Advertisement>,
        /// Takes what it is to hear. Dropped, the request fails.
        answer: oneshot::Sender<Vec<AgentInstruction>>,
    },
    /// It asks what is held of it, to compare.
    Queried {
        /// Who.
        agent: NodeId,
        /// Takes the view: none where nothing is held. Dropped, the request fails.
        answer: oneshot::Sender<Option<AgentView>>,
    },
}

/// The way to a connected agent. Dropping it ends the stream.
#[derive(Debug)]
pub struct AgentLink {
    /// Its name.
    pub agent: NodeId,
    /// Of this connection.
    pub id: AgentId,
    instructions: mpsc::Sender<AgentInstruction>,
}

impl AgentLink {
    /// Queues an instruction.
    pub fn send(&self, instruction: AgentInstruction) -> Sent {
        Sent::queue_for("metric agent", &self.agent, &self.instructions, instruction)
    }
}

/// What the listener of a C-PS needs to take agents too.
#[derive(Debug, Clone)]
pub struct Northbound {
    /// Who may connect.
    pub agents: Agents,
    /// Their keys.
    pub keys: Arc<Keyring>,
    /// Where events go.
    pub events: mpsc::Sender<SelectorEvent>,
}

/// `Northbound` as tonic serves it.
#[derive(Debug, Clone)]
pub(crate) struct Service {
    pub(crate) pki: Arc<Pki>,
    pub(crate) node: NodeId,
    pub(crate) timing: Timing,
    pub(crate) northbound: Northbound,
}

#[tonic::async_trait]
impl northbound_server::Northbound for Service {
    type SynchroniseStream = ReceiverStream<Result<pb::ToMetricAgent, Status>>;

    async fn synchronise(
        &self,
        request: Request<Streaming<pb::FromMetricAgent>>,
    ) -> Result<Response<Self::SynchroniseStream>, Status> {
        let peer = request
            .extensions()
            .get::<Peer>()
            .cloned()
            .ok_or_else(|| Status::internal("the connection has no peer"))?;
        let agent = self.northbound.authorise(&peer)?;
        let (out, stream) = mpsc::channel(16);
        let welcome = pb::to_metric_agent::Message::Welcome(pb::Welcome { node: self.node.to_string() });
        out.try_send(Ok(pb::ToMetricAgent { message: Some(welcome) }))
            .map_err(|_| Status::internal("the stream is closed"))?;

        let id = AgentId(LAST.fetch_add(1, Ordering::Relaxed));
        let (instructions, queue) = mpsc::channel(QUEUE);
        let link = AgentLink { agent: agent.clone(), id, instructions };
        let session =
            Session { id, agent, peer, pki: Arc::clone(&self.pki), northbound: self.northbound.clone() };
        tokio::spawn(session.run(request.into_inner(), link, queue, out, self.timing));
        Ok(Response::new(ReceiverStream::new(stream)))
    }
}

impl Northbound {
    /// The agent that a certificate belongs to, if it may speak here.
    pub(super) fn authorise(&self, peer: &Peer) -> Result<NodeId, Status> {
        let agent = peer.identities.in_role(Role::MetricAgent).map_err(|error| {
            tracing::warn!(peer = %peer.address, %error, "connection of a metric agent refused");
            Status::permission_denied(error.to_string())
        })?;
        if self.agents.allows(agent) {
            return Ok(agent.clone());
        }
        tracing::warn!(peer = %peer.address, %agent, "connection of a metric agent refused: not configured");
        Err(Status::permission_denied(format!(
            "metric agent {agent} is not configured at this path selector"
        )))
    }

    /// What `agent` signed, in its own name.
    fn verify(&self, agent: &NodeId, envelope: pb::Envelope) -> Result<Advertisement, Status> {
        let (payload, signature) = open(envelope).map_err(Status::unauthenticated)?;
        let owner = self
            .keys
            .verify(&payload, &signature)
            .map_err(|error| Status::unauthenticated(error.to_string()))?;
        if owner != Subject::agent(agent) {
            return Err(Status::permission_denied(format!(
                "key `{}` is {owner}'s and the certificate is {agent}'s",
                signature.key_id
            )));
        }
        let message = pb::Advertisement::decode(payload.as_slice())
            .map_err(|error| Status::invalid_argument(error.to_string()))?;
        let advertisement =
            Advertisement::try_from(message).map_err(|error| Status::invalid_argument(error.to_string()))?;
        if advertisement.agent != *agent {
            return Err(Status::permission_denied(format!(
                "field `agent` is {} and the certificate is {agent}'s",
                advertisement.agent
            )));
        }
        Ok(advertisement)
    }
}

/// One connected agent.
#[derive(Debug)]
struct Session {
    id: AgentId,
    agent: NodeId,
    peer: Peer,
    pki: Arc<Pki>,
    northbound: Northbound,
}

impl Session {
    async fn run(
        self,
        incoming: Streaming<pb::FromMetricAgent>,
        link: AgentLink,
        queue: mpsc::Receiver<AgentInstruction>,
        out: mpsc::Sender<Result<pb::ToMetricAgent, Status>>,
        timing: Timing,
    ) {
        let events = self.northbound.events.clone();
        if events.send(SelectorEvent::Connected(link)).await.is_err() {
            drop(out.try_send(Err(Status::unavailable("the path selector stops"))));
            return;
        }
        tracing::info!(agent = %self.agent, peer = %self.peer.address, "metric agent connected");
        let end = tokio::select! {
            end = self.receive(incoming, timing) => end,
            end = write(queue, &out, timing) => end,
            end = revoked(&self.pki, &self.peer) => end,
        };
        tracing::info!(agent = %self.agent, reason = %end.message(), "metric agent disconnected");
        drop(out.try_send(Err(end)));
        drop(events.send(SelectorEvent::Disconnected(self.id, self.agent)).await);
    }

    /// Reads until the stream ends, which gives the status that the peer gets.
    async fn receive(&self, mut incoming: Streaming<pb::FromMetricAgent>, timing: Timing) -> Status {
        use pb::from_metric_agent::Message;
        loop {
            let message = match tokio::time::timeout(timing.silence, incoming.message()).await {
                Ok(Ok(Some(message))) => message.message,
                Ok(Ok(None)) => return Status::ok("the metric agent closed the stream"),
                Ok(Err(status)) => return status,
                Err(_) => return Status::deadline_exceeded("the metric agent is silent"),
            };
            // An unknown kind of message comes from a newer release.
            let Some(Message::Envelopes(batch)) = message else { continue };
            let read = Instant::now();
            let verified = batch.envelopes.into_iter().map(|one| self.northbound.verify(&self.agent, one));
            let batch = match verified.collect::<Result<Vec<_>, _>>() {
                Ok(batch) => batch,
                Err(status) => {
                    tracing::warn!(agent = %self.agent, error = %status.message(), "advertisement refused");
                    return status;
                }
            };
            let event = SelectorEvent::Advertisements(self.id, read, batch);
            if self.northbound.events.send(event).await.is_err() {
                return Status::unavailable("the path selector stops");
            }
        }
    }
}

/// Sends what is queued until the owner drops the link or the peer is gone.
async fn write(
    mut queue: mpsc::Receiver<AgentInstruction>,
    out: &mpsc::Sender<Result<pb::ToMetricAgent, Status>>,
    timing: Timing,
) -> Status {
    use pb::to_metric_agent::Message;
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        let message = match tokio::time::timeout(timing.keepalive, queue.recv_many(&mut batch, BATCH)).await {
            Ok(0) => return Status::aborted("the path selector let the metric agent go"),
            Ok(_) => Message::Instructions(pb::AgentInstructions {
                instructions: batch.iter().map(Into::into).collect(),
            }),
            Err(_) => Message::Keepalive(pb::Keepalive {}),
        };
        batch.clear();
        let sent = out.send(Ok(pb::ToMetricAgent { message: Some(message) }));
        match tokio::time::timeout(timing.silence, sent).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Status::cancelled("the connection is gone"),
            Err(_) => return Status::deadline_exceeded("the metric agent does not read"),
        }
    }
}

//! The C-PS's end.

use super::{BATCH, QUEUE, Timing};
use crate::accept::{Peer, Terms, accept};
use crate::identity::Role;
use crate::northbound::{self, Northbound};
use crate::pki::{ClientCertificates, Pki};
use crate::revocation::revoked;
use crate::sent::Sent;
use arc_swap::ArcSwap;
use cats_engine_types::{BindingStatus, Epoch, ForwarderReport, Instruction, NodeId, ServiceRequest};
use cats_engine_wire::control_plane as pb;
use cats_engine_wire::control_plane::control_plane_server::{ControlPlane, ControlPlaneServer};
use cats_engine_wire::metrics::northbound_server::NorthboundServer;
use cats_engine_wire::{DecodeError, MAX_ADVERTISEMENTS, MAX_MESSAGE};
use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::codec::CompressionEncoding;
use tonic::service::Routes;
use tonic::{Request, Response, Status, Streaming};

/// The forwarders that may attach; the owner replaces the set when the configuration changes.
#[derive(Debug, Clone, Default)]
pub struct Forwarders(Arc<ArcSwap<BTreeSet<NodeId>>>);

impl Forwarders {
    /// Replaces the set. Who is attached and no longer in it is the owner's to drop.
    pub fn replace(&self, names: BTreeSet<NodeId>) {
        self.0.store(Arc::new(names));
    }

    fn allows(&self, name: &NodeId) -> bool {
        self.0.load().contains(name)
    }
}

/// Connections at one time at most; further ones wait in the kernel's queue.
const CONNECTIONS: usize = 16_384;

/// Counts attachments of the process, so that those of a former listener are told apart too.
static LAST: AtomicU64 = AtomicU64::new(0);

/// Tells attachments apart: a forwarder that attaches again has a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AttachmentId(u64);

/// What happens at the C-PS's end.
#[derive(Debug)]
pub enum CpsEvent {
    /// A forwarder is there, with its first report. Its former attachment, if any, is void.
    Attached {
        /// Who, and the way to it.
        attachment: Attachment,
        /// Its whole state.
        report: ForwarderReport,
    },
    /// A later report.
    Report(AttachmentId, ForwarderReport),
    /// Requests of its new flows, and when they were read from the stream.
    Requests(AttachmentId, Instant, Vec<ServiceRequest>),
    /// What became of bindings.
    Statuses(AttachmentId, Vec<BindingStatus>),
    /// It is gone.
    Detached(AttachmentId, NodeId),
}

/// The way to an attached forwarder. Dropping it ends the stream.
#[derive(Debug)]
pub struct Attachment {
    /// Its name.
    pub node: NodeId,
    /// Of this attachment.
    pub id: AttachmentId,
    instructions: mpsc::Sender<Instruction>,
}

impl Attachment {
    /// Queues an instruction.
    pub fn send(&self, instruction: Instruction) -> Sent {
        Sent::queue_for("forwarder", &self.node, &self.instructions, instruction)
    }
}

/// What [`serve`] needs.
#[derive(Debug)]
pub struct Listen {
    /// Bound by the owner.
    pub listener: TcpListener,
    /// The node's certificates.
    pub pki: Arc<Pki>,
    /// Name of the C-PS.
    pub node: NodeId,
    /// Its ownership epoch.
    pub epoch: Epoch,
    /// Who may attach.
    pub forwarders: Forwarders,
    /// How patient.
    pub timing: Timing,
    /// Where events go.
    pub events: mpsc::Sender<CpsEvent>,
    /// Metric agents, if they are taken on the same listener.
    pub northbound: Option<Northbound>,
}

/// Serves forwarders until `shutdown` completes.
pub async fn serve(
    listen: Listen,
    shutdown: impl Future<Output = ()>,
) -> Result<(), tonic::transport::Error> {
    let (accepted, connections) = mpsc::channel(16);
    let Listen { listener, pki, node, epoch, forwarders, timing, events, northbound } = listen;
    let terms = Terms {
        certificates: ClientCertificates::Required,
        patience: timing.connect,
        quiet: timing.silence.saturating_mul(2),
        connections: CONNECTIONS,
    };
    tokio::spawn(accept(listener, Arc::clone(&pki), terms, accepted));
    let agents = northbound.map(|northbound| {
        let (pki, node) = (Arc::clone(&pki), node.clone());
        northbound::Service { pki, node, timing, northbound }
    });
    let service = Service { pki, node, epoch, forwarders, timing, events };
    let server = ControlPlaneServer::new(service).max_decoding_message_size(MAX_MESSAGE);
    let routes = match agents {
        Some(agents) => {
            let stream = NorthboundServer::new(agents.clone())
                .max_decoding_message_size(MAX_ADVERTISEMENTS)
                .accept_compressed(CompressionEncoding::Gzip)
                .send_compressed(CompressionEncoding::Gzip);
            Routes::from(northbound::router(agents)).add_service(stream).add_service(server)
        }
        None => Routes::new(server),
    };
    tonic::transport::Server::builder()
        .max_concurrent_streams(4)
        .add_routes(routes)
        .serve_with_incoming_shutdown(ReceiverStream::new(connections), shutdown)
        .await
}

#[derive(Debug)]
struct Service {
    pki: Arc<Pki>,
    node: NodeId,
    epoch: Epoch,
    forwarders: Forwarders,
    timing: Timing,
    events: mpsc::Sender<CpsEvent>,
}

#[tonic::async_trait]
impl ControlPlane for Service {
    type AttachStream = ReceiverStream<Result<pb::FromCps, Status>>;

    async fn attach(
        &self,
        request: Request<Streaming<pb::FromForwarder>>,
    ) -> Result<Response<Self::AttachStream>, Status> {
        let peer = request
            .extensions()
            .get::<Peer>()
            .cloned()
            .ok_or_else(|| Status::internal("the connection has no peer"))?;
        let node = self.authorise(&peer)?;
        let (out, stream) = mpsc::channel(16);
        let welcome = pb::Welcome { node: self.node.to_string(), epoch: self.epoch.0 };
        let first = pb::FromCps { message: Some(pb::from_cps::Message::Welcome(welcome)) };
        out.try_send(Ok(first)).map_err(|_| Status::internal("the stream is closed"))?;

        let id = AttachmentId(LAST.fetch_add(1, Ordering::Relaxed));
        let (instructions, queue) = mpsc::channel(QUEUE);
        let attachment = Attachment { node: node.clone(), id, instructions };
        let session = Session { id, node, peer, pki: Arc::clone(&self.pki), events: self.events.clone() };
        let (timing, incoming) = (self.timing, request.into_inner());
        tokio::spawn(session.run(incoming, attachment, queue, out, timing));
        Ok(Response::new(ReceiverStream::new(stream)))
    }
}

impl Service {
    fn authorise(&self, peer: &Peer) -> Result<NodeId, Status> {
        let node = peer.identities.in_role(Role::Forwarder).map_err(|error| {
            tracing::warn!(peer = %peer.address, %error, "attachment refused");
            Status::permission_denied(error.to_string())
        })?;
        if self.forwarders.allows(node) {
            return Ok(node.clone());
        }
        tracing::warn!(peer = %peer.address, forwarder = %node, "attachment refused: not configured");
        Err(Status::permission_denied(format!(
            "forwarder {node} is not configured here; add it under path-selector/forwarder"
        )))
    }
}

/// One attached forwarder.
#[derive(Debug)]
struct Session {
    id: AttachmentId,
    node: NodeId,
    peer: Peer,
    pki: Arc<Pki>,
    events: mpsc::Sender<CpsEvent>,
}

impl Session {
    async fn run(
        self,
        incoming: Streaming<pb::FromForwarder>,
        attachment: Attachment,
        queue: mpsc::Receiver<Instruction>,
        out: mpsc::Sender<Result<pb::FromCps, Status>>,
        timing: Timing,
    ) {
        let mut attached = false;
        let end = tokio::select! {
            end = self.receive(incoming, attachment, &mut attached, timing) => end,
            end = write(queue, &out, timing) => end,
            end = revoked(&self.pki, &self.peer) => end,
        };
        tracing::info!(forwarder = %self.node, reason = %end.message(), "forwarder detached");
        drop(out.try_send(Err(end)));
        if attached {
            drop(self.events.send(CpsEvent::Detached(self.id, self.node)).await);
        }
    }

    /// Reads until the stream ends, which gives the status that the peer gets.
    async fn receive(
        &self,
        mut incoming: Streaming<pb::FromForwarder>,
        attachment: Attachment,
        attached: &mut bool,
        timing: Timing,
    ) -> Status {
        let mut attachment = Some(attachment);
        loop {
            let message = match tokio::time::timeout(timing.silence, incoming.message()).await {
                Ok(Ok(Some(message))) => message,
                Ok(Ok(None)) => return Status::ok("the forwarder closed the stream"),
                Ok(Err(status)) => return status,
                Err(_) => return Status::deadline_exceeded("the forwarder is silent"),
            };
            let event = match self.event(message, &mut attachment) {
                Ok(Some(event)) => event,
                Ok(None) => continue,
                Err(status) => {
                    tracing::warn!(forwarder = %self.node, error = %status.message(), "message refused");
                    return status;
                }
            };
            *attached |= attachment.is_none();
            if self.events.send(event).await.is_err() {
                return Status::unavailable("the path selector stops");
            }
        }
    }

    fn event(
        &self,
        message: pb::FromForwarder,
        attachment: &mut Option<Attachment>,
    ) -> Result<Option<CpsEvent>, Status> {
        use pb::from_forwarder::Message;
        // An unknown kind of message comes from a newer release.
        let Some(message) = message.message else { return Ok(None) };
        match message {
            Message::Keepalive(_) => Ok(None),
            Message::Report(report) => {
                let report = ForwarderReport::try_from(report).map_err(malformed)?;
                self.own("report.node", &report.node)?;
                Ok(Some(match attachment.take() {
                    Some(attachment) => CpsEvent::Attached { attachment, report },
                    None => CpsEvent::Report(self.id, report),
                }))
            }
            Message::Requests(_) | Message::Statuses(_) if attachment.is_some() => {
                Err(Status::failed_precondition("the first message must be a report"))
            }
            Message::Requests(batch) => {
                let requests: Vec<ServiceRequest> = decode_all(batch.requests)?;
                for request in &requests {
                    self.own("requests.ingress", &request.ingress)?;
                }
                Ok(Some(CpsEvent::Requests(self.id, Instant::now(), requests)))
            }
            Message::Statuses(batch) => Ok(Some(CpsEvent::Statuses(self.id, decode_all(batch.statuses)?))),
        }
    }

    /// A forwarder speaks only for itself.
    fn own(&self, field: &str, named: &NodeId) -> Result<(), Status> {
        if *named == self.node {
            return Ok(());
        }
        Err(Status::permission_denied(format!(
            "{field} is {named} and the certificate's forwarder is {}",
            self.node
        )))
    }
}

fn malformed(error: DecodeError) -> Status {
    Status::invalid_argument(error.to_string())
}

fn decode_all<M, W: TryFrom<M, Error = DecodeError>>(messages: Vec<M>) -> Result<Vec<W>, Status> {
    messages.into_iter().map(W::try_from).collect::<Result<_, _>>().map_err(malformed)
}

/// Sends what is queued until the owner drops the attachment or the peer is gone.
async fn write(
    mut queue: mpsc::Receiver<Instruction>,
    out: &mpsc::Sender<Result<pb::FromCps, Status>>,
    timing: Timing,
) -> Status {
    use pb::from_cps::Message;
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        let message = match tokio::time::timeout(timing.keepalive, queue.recv_many(&mut batch, BATCH)).await {
            Ok(0) => return Status::aborted("the path selector let the forwarder go"),
            Ok(_) => Message::Instructions(pb::Instructions {
                instructions: batch.iter().map(Into::into).collect(),
            }),
            Err(_) => Message::Keepalive(pb::Keepalive {}),
        };
        batch.clear();
        let sent = out.send(Ok(pb::FromCps { message: Some(message) }));
        match tokio::time::timeout(timing.silence, sent).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Status::cancelled("the connection is gone"),
            Err(_) => return Status::deadline_exceeded("the forwarder does not read"),
        }
    }
}

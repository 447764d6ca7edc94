//! The listener of a C-SMA, and that of an instance.

use super::admission::{Admission, Credentials, Denial};
use super::answers::{Answers, Room, Said};
use super::rest;
use super::stream::Session;
use super::{INSTRUCTIONS, TIMING};
use crate::Timing;
use crate::accept::{Peer, Terms, accept};
use crate::identity::Subject;
use crate::pki::{ClientCertificates, Pki};
use crate::sent::Sent;
use arc_swap::ArcSwap;
use cats_engine_types::{CsciId, NodeId, Report, ReporterInstruction};
use cats_engine_wire::MAX_REPORTS;
use cats_engine_wire::metrics as pb;
use cats_engine_wire::metrics::collection_server::{Collection, CollectionServer};
use std::collections::BTreeSet;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tonic::codec::CompressionEncoding;
use tonic::service::Routes;
use tonic::{Request, Response, Status, Streaming};

static LAST: AtomicU64 = AtomicU64::new(0);

/// Tells connections apart: an instance that connects again has a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId(u64);

/// How a report came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// Over a stream that answers go back on.
    Stream(ConnectionId),
}

/// What happens at the listener.
#[derive(Debug)]
pub enum CollectionEvent {
    /// A stream is there.
    Connected(Connection),
    /// Reports, in order, and when they were read. Their senders are who they say, and may report for the services.
    Reports {
        /// How they came.
        source: Source,
        /// When they were read.
        read: Instant,
        /// The reports.
        reports: Vec<Report>,
        /// Whether all of them are of instances that [`Connection::instances`] names.
        named: bool,
        /// Takes the answers to them. As long as it is kept, less of the stream is read.
        answers: Answers,
    },
    /// A stream is gone.
    Disconnected(ConnectionId),
    /// Reports of one request, whose sender waits for what becomes of them. Senders are who they say.
    Posted {
        /// When they were read.
        read: Instant,
        /// The reports.
        reports: Vec<Report>,
        /// Takes an answer to each. Dropped, the request fails.
        answer: oneshot::Sender<Vec<ReporterInstruction>>,
    },
    /// Somebody who may know wants every report from now on. Dropping the subscriber ends it.
    Subscribed(Subscriber),
    /// Somebody was turned away, or something of his refused. Left out where events are not taken in time; the counters
    /// of [`Admission`] have all.
    Denied {
        /// Where he is.
        peer: String,
        /// The instance that he spoke for, where he got that far.
        claimed: Option<CsciId>,
        /// Why.
        denial: Denial,
    },
    /// Somebody who may know asks for what an instance last reported.
    Queried {
        /// Who.
        by: Reader,
        /// Of which instance.
        csci_id: CsciId,
        /// Takes the answer: none where there is no such report. Dropped, the question stays unanswered.
        answer: oneshot::Sender<Option<Report>>,
    },
}

/// Who asks for reports.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reader {
    /// The instance itself.
    Instance(CsciId),
    /// A node that the owner allows.
    Node(Subject),
}

/// Somebody who gets reports as they come.
#[derive(Debug)]
pub struct Subscriber {
    /// Who.
    pub by: Reader,
    pub(super) reports: mpsc::Sender<Report>,
}

impl Subscriber {
    /// Queues a report. One that is so far behind that its queue is full is gone.
    pub fn send(&self, report: Report) -> Sent {
        Sent::queue(&self.reports, report)
    }
}

/// The nodes that may read reports; an instance may read its own.
#[derive(Debug, Clone, Default)]
pub struct Readers(Arc<ArcSwap<BTreeSet<Subject>>>);

impl Readers {
    /// Replaces the set.
    pub fn replace(&self, subjects: BTreeSet<Subject>) {
        self.0.store(Arc::new(subjects));
    }
}

/// The way to a connected instance. Dropping it ends the stream.
#[derive(Debug)]
pub struct Connection {
    /// Of this connection.
    pub id: ConnectionId,
    /// Who is known to be there; with tokens in the reports nobody yet.
    pub instances: Vec<CsciId>,
    /// Where it is.
    pub peer: SocketAddr,
    pub(super) queue: mpsc::Sender<Said>,
}

impl Connection {
    /// Queues an instruction.
    pub fn send(&self, instruction: ReporterInstruction) -> Sent {
        Sent::queue_for("instance", self.peer, &self.queue, Said::Word(instruction))
    }
}

/// What [`serve`] needs.
#[derive(Debug)]
pub struct Listen {
    /// Bound by the owner.
    pub listener: TcpListener,
    /// The node's certificates.
    pub pki: Arc<Pki>,
    /// Name of the C-SMA.
    pub node: NodeId,
    /// Who may report what.
    pub admission: Arc<Admission>,
    /// Who else may read it.
    pub readers: Readers,
    /// What is served.
    pub offer: Offer,
    /// Connections at one time; further ones wait in the kernel's queue.
    pub connections: usize,
    /// How patient.
    pub timing: Timing,
    /// Where events go.
    pub events: mpsc::Sender<CollectionEvent>,
}

/// What a listener serves beside questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// A C-SMA takes reports.
    Reports,
    /// An instance answers only.
    Answers,
}

impl Listen {
    /// A C-SMA with the documented defaults: [`TIMING`] and 131,072 connections.
    pub fn new(
        listener: TcpListener,
        pki: Arc<Pki>,
        node: NodeId,
        admission: Arc<Admission>,
        events: mpsc::Sender<CollectionEvent>,
    ) -> Self {
        Self {
            listener,
            pki,
            node,
            admission,
            readers: Readers::default(),
            offer: Offer::Reports,
            connections: 131_072,
            timing: TIMING,
            events,
        }
    }

    /// An instance that answers the questions of `readers`, its C-SMAs, and streams its reports to them.
    pub fn instance(
        listener: TcpListener,
        pki: Arc<Pki>,
        node: NodeId,
        readers: Readers,
        events: mpsc::Sender<CollectionEvent>,
    ) -> Self {
        let offer = Offer::Answers;
        Self { readers, offer, connections: 256, ..Self::new(listener, pki, node, Arc::default(), events) }
    }
}

/// Serves instances until `shutdown` completes.
pub async fn serve(
    listen: Listen,
    shutdown: impl Future<Output = ()>,
) -> Result<(), tonic::transport::Error> {
    let (accepted, connections) = mpsc::channel(16);
    let Listen { listener, pki, node, admission, readers, offer, connections: limit, timing, events } =
        listen;
    let terms = Terms {
        certificates: ClientCertificates::Optional,
        patience: timing.connect,
        quiet: timing.silence.saturating_mul(2),
        connections: limit,
    };
    tokio::spawn(accept(listener, Arc::clone(&pki), terms, accepted));
    let service = Service { pki, node, admission, readers, offer, timing, events };
    let server = CollectionServer::new(service.clone())
        .max_decoding_message_size(MAX_REPORTS)
        .accept_compressed(CompressionEncoding::Gzip)
        .send_compressed(CompressionEncoding::Gzip);
    let routes = Routes::from(rest::router(service)).add_service(server);
    tonic::transport::Server::builder()
        .accept_http1(true)
        .max_concurrent_streams(16)
        .add_routes(routes)
        .serve_with_incoming_shutdown(ReceiverStream::new(connections), shutdown)
        .await
}

/// `Collection` as tonic serves it.
#[derive(Debug, Clone)]
pub(super) struct Service {
    pub(super) pki: Arc<Pki>,
    pub(super) node: NodeId,
    pub(super) admission: Arc<Admission>,
    pub(super) readers: Readers,
    pub(super) offer: Offer,
    pub(super) timing: Timing,
    pub(super) events: mpsc::Sender<CollectionEvent>,
}

#[tonic::async_trait]
impl Collection for Service {
    type ReportStream = ReceiverStream<Result<pb::ToReporter, Status>>;

    async fn report(
        &self,
        request: Request<Streaming<pb::FromReporter>>,
    ) -> Result<Response<Self::ReportStream>, Status> {
        if self.offer == Offer::Answers {
            return Err(Status::unimplemented("an instance takes no reports"));
        }
        let (peer, credentials) = self.credentials(&request)?;
        self.admission.may_report(&credentials).map_err(|denial| self.denied(&peer, None, denial))?;
        let (out, stream) = mpsc::channel(16);
        let welcome = pb::to_reporter::Message::Welcome(pb::Welcome { node: self.node.to_string() });
        out.try_send(Ok(pb::ToReporter { message: Some(welcome) }))
            .map_err(|_| Status::internal("the stream is closed"))?;
        let id = ConnectionId(LAST.fetch_add(1, Ordering::Relaxed));
        let (queue, said) = mpsc::channel(INSTRUCTIONS);
        let room = Room::new(&queue);
        let claimed = credentials.claims.map(|claims| claims.csci_id);
        let instances = credentials.instances.iter().copied().chain(claimed).collect();
        let connection = Connection { id, instances, peer: peer.address, queue };
        let session = Session {
            id,
            peer,
            credentials,
            pki: Arc::clone(&self.pki),
            admission: Arc::clone(&self.admission),
            events: self.events.clone(),
            room,
        };
        tokio::spawn(session.run(request.into_inner(), connection, said, out, self.timing));
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn get(&self, request: Request<pb::GetRequest>) -> Result<Response<pb::Report>, Status> {
        let (peer, credentials) = self.credentials(&request)?;
        let id = request
            .into_inner()
            .csci_id
            .ok_or_else(|| Status::invalid_argument("field `csci_id` is missing"))?;
        let csci_id = CsciId::try_from(id).map_err(|error| Status::invalid_argument(error.to_string()))?;
        let by = self
            .reader(&peer, &credentials, csci_id)
            .map_err(|why| Status::permission_denied(why.to_string()))?;
        match self.ask(by, csci_id).await {
            Some(Some(report)) => Ok(Response::new((&report).into())),
            Some(None) => Err(Status::not_found(format!("nothing is known of instance {csci_id}"))),
            None => Err(Status::unavailable("no answer in time")),
        }
    }
}

impl Service {
    fn credentials<T>(&self, request: &Request<T>) -> Result<(Peer, Credentials), Status> {
        let peer = request
            .extensions()
            .get::<Peer>()
            .cloned()
            .ok_or_else(|| Status::internal("the connection has no peer"))?;
        let header = request.metadata().get("authorization").map(|value| value.to_str());
        let token = header.and_then(Result::ok).and_then(bearer);
        match self.admission.connect(&peer.identities, token) {
            Ok(credentials) => Ok((peer, credentials)),
            Err(denial) => Err(self.denied(&peer, None, denial)),
        }
    }

    fn denied(&self, peer: &Peer, claimed: Option<CsciId>, denial: Denial) -> Status {
        let words = denial.to_string();
        let status = match denial {
            Denial::Unauthenticated(_) => Status::unauthenticated(words),
            Denial::Unauthorised(_) => Status::permission_denied(words),
            Denial::Malformed(_) => Status::invalid_argument(words),
        };
        self.tell(peer, claimed, denial);
        status
    }

    /// Tells the log and the owner of somebody who was turned away.
    pub(super) fn tell(&self, peer: &Peer, claimed: Option<CsciId>, denial: Denial) {
        tell(&self.events, peer.address.to_string(), claimed, denial);
    }

    /// Who asks for the reports of `csci_id`, if it may know.
    pub(super) fn reader(
        &self,
        peer: &Peer,
        credentials: &Credentials,
        csci_id: CsciId,
    ) -> Result<Reader, Denial> {
        let claimed = match credentials.claims.map(|claims| claims.check()) {
            Some(Ok(id)) => Some(id),
            Some(Err(error)) => return Err(self.admission.unauthenticated(error.to_string())),
            None => None,
        };
        if credentials.instances.contains(&csci_id) || claimed == Some(csci_id) {
            return Ok(Reader::Instance(csci_id));
        }
        let readers = self.readers.0.load();
        match peer.identities.subjects().find(|subject| readers.contains(subject)) {
            Some(subject) => Ok(Reader::Node(subject.clone())),
            None => Err(self
                .admission
                .unauthorised(format!("{} may not read what instance {csci_id} reports", peer.identities))),
        }
    }

    /// Who wants to read everything, if it may.
    pub(super) fn subscriber(&self, peer: &Peer) -> Result<Reader, Denial> {
        let readers = self.readers.0.load();
        match peer.identities.subjects().find(|subject| readers.contains(subject)) {
            Some(subject) => Ok(Reader::Node(subject.clone())),
            None => Err(self
                .admission
                .unauthorised(format!("{} may not read what instances report", peer.identities))),
        }
    }

    /// The owner's answer; none in time.
    pub(super) async fn ask(&self, by: Reader, csci_id: CsciId) -> Option<Option<Report>> {
        let (answer, answered) = oneshot::channel();
        let asked = async {
            self.events.send(CollectionEvent::Queried { by, csci_id, answer }).await.ok()?;
            answered.await.ok()
        };
        tokio::time::timeout(self.timing.connect, asked).await.ok().flatten()
    }
}

/// Tells the log and the owner of somebody who was turned away.
pub(super) fn tell(
    events: &mpsc::Sender<CollectionEvent>,
    peer: String,
    claimed: Option<CsciId>,
    denial: Denial,
) {
    tracing::warn!(%peer, reason = %denial, "refused");
    drop(events.try_send(CollectionEvent::Denied { peer, claimed, denial }));
}

/// The token of `Authorization: Bearer TOKEN`.
pub(super) fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

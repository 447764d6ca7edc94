//! The C-SMA's end.

use super::{BATCH, MESSAGE, QUEUE, encode};
use crate::Timing;
use crate::connect;
use crate::identity::Subject;
use crate::keys::{KeyError, Signer};
use crate::pki::Pki;
use crate::sent::Sent;
use cats_engine_types::{Advertisement, AgentInstruction, NodeId};
use cats_engine_wire::MAX_REPORTS;
use cats_engine_wire::metrics as pb;
use cats_engine_wire::metrics::northbound_client::NorthboundClient;
use prost::Message;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::codec::CompressionEncoding;

/// What happens at the C-SMA's end.
#[derive(Debug)]
pub enum AgentEvent {
    /// The C-PS is there. Its first instruction says what it has.
    Connected {
        /// The way to it.
        upstream: Upstream,
    },
    /// Instructions, in order.
    Instructions(Vec<AgentInstruction>),
    /// The C-PS is gone, or could not be reached. Nothing follows.
    Disconnected {
        /// Why, for people.
        reason: String,
    },
}

/// The way to the C-PS. Dropping it ends the stream, once what is queued is sent.
#[derive(Debug)]
pub struct Upstream {
    advertisements: mpsc::Sender<Advertisement>,
}

impl Upstream {
    /// Queues an advertisement. When the queue is full the C-PS is too far behind: drop the upstream, so that the next
    /// connection finds out what it lacks.
    pub fn send(&self, advertisement: Advertisement) -> Sent {
        Sent::queue(&self.advertisements, advertisement)
    }

    /// How many advertisements find room at the moment.
    pub fn room(&self) -> usize {
        self.advertisements.capacity()
    }
}

/// Where and who the C-PS is, and how it is spoken to.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its address.
    pub address: SocketAddr,
    /// Its name, as its certificate must have it.
    pub cps: NodeId,
    /// The node's own certificates.
    pub pki: Arc<Pki>,
    /// The key that advertisements are signed with.
    pub signer: Arc<Signer>,
    /// Whether messages are compressed with gzip.
    pub compress: bool,
    /// How patient.
    pub timing: Timing,
}

/// One connection, from the attempt to its end, which is told by the last event.
pub async fn connect(target: Target, events: mpsc::Sender<AgentEvent>) {
    let reason = tokio::select! {
        reason = run(&target, &events) => reason,
        () = events.closed() => return,
    };
    drop(events.send(AgentEvent::Disconnected { reason }).await);
}

async fn run(target: &Target, events: &mpsc::Sender<AgentEvent>) -> String {
    let (out, stream) = mpsc::channel(16);
    let opened = tokio::time::timeout(target.timing.connect, open(target, ReceiverStream::new(stream))).await;
    let mut incoming = match opened {
        Ok(Ok(incoming)) => incoming,
        Ok(Err(reason)) => return reason,
        Err(_) => return "no answer in time".to_owned(),
    };
    tracing::info!(cps = %target.cps, address = %target.address, "connected to the path selector");
    let (advertisements, queue) = mpsc::channel(QUEUE);
    let connected = AgentEvent::Connected { upstream: Upstream { advertisements } };
    if events.send(connected).await.is_err() {
        return "nobody listens".to_owned();
    }
    let mut certificates = target.pki.changes();
    let reason = tokio::select! {
        // The next connection shows the new certificate and checks the peer against the new lists.
        Ok(()) = certificates.changed() => return "the certificates changed".to_owned(),
        reason = receive(&mut incoming, events, target.timing) => return reason,
        end = write(queue, &out, target) => match end {
            End::LetGo => "let go",
            End::Broken(reason) => return reason,
        },
    };
    // The C-PS closes its half when it has read the last word; to be gone before would take that back.
    drop(out);
    let closed = async { while let Ok(Some(_)) = incoming.message().await {} };
    drop(tokio::time::timeout(target.timing.silence, closed).await);
    reason.to_owned()
}

/// Why nothing more is written.
enum End {
    /// The owner wants no more.
    LetGo,
    /// It cannot be.
    Broken(String),
}

async fn open(
    target: &Target,
    stream: ReceiverStream<pb::FromMetricAgent>,
) -> Result<Streaming<pb::ToMetricAgent>, String> {
    let channel = connect::channel(target.address, &Subject::selector(&target.cps), &target.pki).await?;
    let mut client = NorthboundClient::new(channel)
        .max_decoding_message_size(MAX_REPORTS)
        .accept_compressed(CompressionEncoding::Gzip);
    if target.compress {
        client = client.send_compressed(CompressionEncoding::Gzip);
    }
    let refused = |status: tonic::Status| connect::chain(&status);
    let mut incoming = client.synchronise(stream).await.map_err(refused)?.into_inner();
    match incoming.message().await.map_err(refused)?.and_then(|first| first.message) {
        Some(pb::to_metric_agent::Message::Welcome(welcome)) if welcome.node == target.cps.as_str() => {
            Ok(incoming)
        }
        _ => Err("the path selector did not begin with its welcome".to_owned()),
    }
}

/// Passes instructions on until the stream ends.
async fn receive(
    incoming: &mut Streaming<pb::ToMetricAgent>,
    events: &mpsc::Sender<AgentEvent>,
    timing: Timing,
) -> String {
    use pb::to_metric_agent::Message;
    loop {
        let message = match tokio::time::timeout(timing.silence, incoming.message()).await {
            Ok(Ok(Some(message))) => message.message,
            Ok(Ok(None)) => return "the path selector closed the stream".to_owned(),
            Ok(Err(status)) => return status.message().to_owned(),
            Err(_) => return "the path selector is silent".to_owned(),
        };
        let batch = match message {
            Some(Message::Instructions(batch)) => batch.instructions,
            Some(Message::Keepalive(_) | Message::Welcome(_)) | None => continue,
        };
        // An unknown kind of instruction comes from a newer release.
        let known = batch.into_iter().filter(|word| word.instruction.is_some());
        match known.map(AgentInstruction::try_from).collect::<Result<Vec<_>, _>>() {
            Ok(batch) => {
                if events.send(AgentEvent::Instructions(batch)).await.is_err() {
                    return "nobody listens".to_owned();
                }
            }
            Err(error) => return format!("the path selector sent what is no instruction: {error}"),
        }
    }
}

/// Signs and sends advertisements, and keepalives, until the owner drops the upstream.
async fn write(
    mut queue: mpsc::Receiver<Advertisement>,
    out: &mpsc::Sender<pb::FromMetricAgent>,
    target: &Target,
) -> End {
    use pb::from_metric_agent::Message;
    let timing = target.timing;
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        let messages = match tokio::time::timeout(timing.keepalive, queue.recv_many(&mut batch, BATCH)).await
        {
            Ok(0) => return End::LetGo,
            Ok(_) => match envelopes(batch.drain(..), &target.signer) {
                Ok(messages) => messages.into_iter().map(Message::Envelopes).collect(),
                Err(error) => return End::Broken(format!("advertisements cannot be signed: {error}")),
            },
            Err(_) => vec![Message::Keepalive(pb::Keepalive {})],
        };
        for message in messages {
            let sent = out.send(pb::FromMetricAgent { message: Some(message) });
            match tokio::time::timeout(timing.silence, sent).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return End::Broken("the connection is gone".to_owned()),
                Err(_) => return End::Broken("the path selector does not read".to_owned()),
            }
        }
    }
}

/// In as few messages as their sizes allow.
fn envelopes(
    batch: impl Iterator<Item = Advertisement>,
    signer: &Signer,
) -> Result<Vec<pb::Envelopes>, KeyError> {
    let (mut messages, mut current, mut size) = (Vec::new(), pb::Envelopes::default(), 0);
    for advertisement in batch {
        let payload = pb::Advertisement::from(&advertisement).encode_to_vec();
        if size > 0 && size + payload.len() > MESSAGE {
            messages.push(std::mem::take(&mut current));
            size = 0;
        }
        size += payload.len();
        let signature = signer.sign(&payload)?;
        current.envelopes.push(encode(payload, signature));
    }
    messages.push(current);
    Ok(messages)
}

//! The instance's end of a stream of reports.

use super::{BATCH, QUEUE};
use crate::Timing;
use crate::connect;
use crate::identity::Subject;
use crate::pki::Pki;
use crate::sent::Sent;
use arc_swap::ArcSwapOption;
use cats_engine_types::{NodeId, Report, ReporterInstruction};
use cats_engine_wire::MAX_REPORTS;
use cats_engine_wire::metrics as pb;
use cats_engine_wire::metrics::collection_client::CollectionClient;
use ring::rand::SecureRandom;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::codec::CompressionEncoding;
use tonic::{Request, Streaming};

/// What happens at the instance's end.
#[derive(Debug)]
pub enum ReporterEvent {
    /// The C-SMA is there; it knows nothing yet of what was said before.
    Connected(ReportStream),
    /// Instructions, in order.
    Instructions(Vec<ReporterInstruction>),
    /// The C-SMA is gone, or an attempt failed for another reason than the one before; attempts go on.
    Disconnected {
        /// Why, for people.
        reason: String,
    },
}

/// The way to the C-SMA. Dropping it ends the stream; a new attempt follows.
#[derive(Debug)]
pub struct ReportStream {
    reports: mpsc::Sender<Report>,
}

impl ReportStream {
    /// Queues a report. When the queue is full the C-SMA is too far behind: what waits is old, so drop the stream and
    /// report in full on the next one.
    pub fn send(&self, report: Report) -> Sent {
        Sent::queue(&self.reports, report)
    }

    /// Waits for room. An error when the stream is gone.
    pub async fn send_when_room(&self, report: Report) -> Sent {
        match self.reports.send(report).await {
            Ok(()) => Sent::Queued,
            Err(_) => Sent::Gone,
        }
    }

    /// How many reports find room at the moment.
    pub fn room(&self) -> usize {
        self.reports.capacity()
    }
}

/// Where and who the C-SMA is, and who reports.
#[derive(Debug, Clone)]
pub struct ReporterTarget {
    /// Its address.
    pub address: SocketAddr,
    /// Its name, as its certificate must have it.
    pub agent: NodeId,
    /// The instance's own certificates.
    pub pki: Arc<Pki>,
    /// A token that says who the instance is, where the certificate does not; replaced by the owner before it expires.
    pub token: Arc<ArcSwapOption<String>>,
    /// Whether messages are compressed with gzip.
    pub compress: bool,
    /// How patient.
    pub timing: Timing,
}

/// Keeps an instance connected, for ever: connects, and tries again after each end. Waits between attempts are drawn
/// from the upper half of what the backoff gives, so that instances that lost one C-SMA do not all come back at once.
/// Returns when `events` is closed.
pub async fn report(target: ReporterTarget, events: mpsc::Sender<ReporterEvent>) {
    let mut wait = target.timing.backoff;
    let mut last = String::new();
    loop {
        let (reason, was_connected) = match run(&target, &events).await {
            End::Stop => return,
            End::Refused(reason) => (reason, false),
            End::Disconnected(reason) => (reason, true),
        };
        wait = match was_connected {
            true => target.timing.backoff,
            false => wait.saturating_mul(2).min(target.timing.backoff_limit),
        };
        if was_connected || reason != last {
            last.clone_from(&reason);
            if events.send(ReporterEvent::Disconnected { reason }).await.is_err() {
                return;
            }
        }
        tokio::select! {
            () = tokio::time::sleep(spread(wait)) => {}
            () = events.closed() => return,
        }
    }
}

/// Between a half of `wait` and the whole of it.
fn spread(wait: Duration) -> Duration {
    let mut octets = [0; 4];
    // Without randomness everybody waits for the whole.
    if ring::rand::SystemRandom::new().fill(&mut octets).is_err() {
        return wait;
    }
    let part = f64::from(u32::from_ne_bytes(octets)) / f64::from(u32::MAX);
    wait.mul_f64(0.5 + part / 2.0)
}

enum End {
    /// The owner wants no more.
    Stop,
    /// Never connected.
    Refused(String),
    /// Was connected.
    Disconnected(String),
}

async fn run(target: &ReporterTarget, events: &mpsc::Sender<ReporterEvent>) -> End {
    let (out, stream) = mpsc::channel(16);
    let opened = tokio::time::timeout(target.timing.connect, open(target, ReceiverStream::new(stream))).await;
    let mut incoming = match opened {
        Ok(Ok(incoming)) => incoming,
        Ok(Err(reason)) => return End::Refused(reason),
        Err(_) => return End::Refused("no answer in time".to_owned()),
    };
    let (reports, queue) = mpsc::channel(QUEUE);
    if events.send(ReporterEvent::Connected(ReportStream { reports })).await.is_err() {
        return End::Stop;
    }
    let mut certificates = target.pki.changes();
    tokio::select! {
        // The next attempt shows the new certificate and checks the peer against the new lists.
        Ok(()) = certificates.changed() => End::Disconnected("the certificates changed".to_owned()),
        end = receive(&mut incoming, events, target.timing) => end,
        reason = write(queue, &out, target.timing) => End::Disconnected(reason),
        () = events.closed() => End::Stop,
    }
}

async fn open(
    target: &ReporterTarget,
    stream: ReceiverStream<pb::FromReporter>,
) -> Result<Streaming<pb::ToReporter>, String> {
    let channel = connect::channel(target.address, &Subject::agent(&target.agent), &target.pki).await?;
    let mut client = CollectionClient::new(channel)
        .max_decoding_message_size(MAX_REPORTS)
        .accept_compressed(CompressionEncoding::Gzip);
    if target.compress {
        client = client.send_compressed(CompressionEncoding::Gzip);
    }
    let mut request = Request::new(stream);
    if let Some(token) = target.token.load_full() {
        let header = format!("Bearer {token}").parse();
        let header = header.map_err(|_| "the token has characters that no header takes".to_owned())?;
        request.metadata_mut().insert("authorization", header);
    }
    let refused = |status: tonic::Status| connect::chain(&status);
    let mut incoming = client.report(request).await.map_err(refused)?.into_inner();
    match incoming.message().await.map_err(refused)?.and_then(|first| first.message) {
        Some(pb::to_reporter::Message::Welcome(welcome)) if welcome.node == target.agent.as_str() => {
            Ok(incoming)
        }
        _ => Err("the metric agent did not begin with its welcome".to_owned()),
    }
}

/// Passes instructions on until the stream ends.
async fn receive(
    incoming: &mut Streaming<pb::ToReporter>,
    events: &mpsc::Sender<ReporterEvent>,
    timing: Timing,
) -> End {
    use pb::to_reporter::Message;
    loop {
        let message = match tokio::time::timeout(timing.silence, incoming.message()).await {
            Ok(Ok(Some(message))) => message.message,
            Ok(Ok(None)) => return End::Disconnected("the metric agent closed the stream".to_owned()),
            Ok(Err(status)) => return End::Disconnected(status.message().to_owned()),
            Err(_) => return End::Disconnected("the metric agent is silent".to_owned()),
        };
        let batch = match message {
            Some(Message::Instructions(batch)) => batch.instructions,
            Some(Message::Keepalive(_) | Message::Welcome(_)) | None => continue,
        };
        // An unknown kind of instruction comes from a newer release.
        let known = batch.into_iter().filter(|word| word.instruction.is_some());
        match known.map(ReporterInstruction::try_from).collect::<Result<Vec<_>, _>>() {
            Ok(batch) => {
                if events.send(ReporterEvent::Instructions(batch)).await.is_err() {
                    return End::Stop;
                }
            }
            Err(error) => {
                return End::Disconnected(format!("the metric agent sent what is no instruction: {error}"));
            }
        }
    }
}

/// Sends reports, several in a message where they wait, and keepalives, until the owner drops the stream.
async fn write(
    mut queue: mpsc::Receiver<Report>,
    out: &mpsc::Sender<pb::FromReporter>,
    timing: Timing,
) -> String {
    use pb::from_reporter::Message;
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        let message = match tokio::time::timeout(timing.keepalive, queue.recv_many(&mut batch, BATCH)).await {
            Ok(0) => return "let go".to_owned(),
            Ok(_) => Message::Reports(pb::Reports { reports: batch.iter().map(Into::into).collect() }),
            Err(_) => Message::Keepalive(pb::Keepalive {}),
        };
        batch.clear();
        let sent = out.send(pb::FromReporter { message: Some(message) });
        match tokio::time::timeout(timing.silence, sent).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return "the connection is gone".to_owned(),
            Err(_) => return "the metric agent does not read".to_owned(),
        }
    }
}

//! The forwarder's end.

use super::{BATCH, QUEUE, Timing};
use crate::connect;
use crate::identity::Subject;
use crate::pki::Pki;
use crate::sent::Sent;
use cats_engine_types::{BindingStatus, Epoch, ForwarderReport, Instruction, NodeId, ServiceRequest};
use cats_engine_wire::MAX_MESSAGE;
use cats_engine_wire::control_plane as pb;
use cats_engine_wire::control_plane::control_plane_client::ControlPlaneClient;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

/// What happens at the forwarder's end.
#[derive(Debug)]
pub enum ForwarderEvent {
    /// The C-PS is there.
    Attached {
        /// Its ownership epoch.
        epoch: Epoch,
        /// The way to it.
        upstream: Upstream,
    },
    /// Instructions, in order.
    Instructions(Vec<Instruction>),
    /// The C-PS is gone, or an attempt failed for another reason than the one before; attempts go on.
    Detached {
        /// Why, for people.
        reason: String,
    },
}

/// The way to the C-PS. Dropping it ends the stream; a new attempt follows.
#[derive(Debug)]
pub struct Upstream {
    words: mpsc::Sender<Word>,
}

#[derive(Debug)]
enum Word {
    Request(ServiceRequest),
    Status(BindingStatus),
}

impl Upstream {
    /// Queues a request. A quarter of the queue is kept for statuses, without which the stream would have to end: when
    /// only that is left, the request is not sent and the flow has to fail.
    pub fn request(&self, request: ServiceRequest) -> Sent {
        if self.room() <= self.words.max_capacity() / 4 {
            return Sent::Gone;
        }
        self.send(Word::Request(request))
    }

    /// Queues a status. When the queue is full the C-PS no longer knows the truth: drop the upstream, so that the next
    /// attachment tells it everything.
    pub fn status(&self, status: BindingStatus) -> Sent {
        self.send(Word::Status(status))
    }

    /// How many words find room at the moment.
    pub fn room(&self) -> usize {
        self.words.capacity()
    }

    fn send(&self, word: Word) -> Sent {
        Sent::queue(&self.words, word)
    }
}

/// Where and who the C-PS is.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its address.
    pub address: SocketAddr,
    /// Its name, as its certificate must have it.
    pub cps: NodeId,
    /// The node's own certificates.
    pub pki: Arc<Pki>,
    /// How patient.
    pub timing: Timing,
}

/// Keeps a forwarder attached, for ever: connects, sends the report and each change of it, and tries again after each
/// end. Returns when `events` is closed.
pub async fn attach(
    target: Target,
    report: watch::Receiver<ForwarderReport>,
    events: mpsc::Sender<ForwarderEvent>,
) {
    let mut wait = target.timing.backoff;
    let mut last = String::new();
    loop {
        let end = Attempt { target: &target, report: report.clone(), events: &events }.run().await;
        let (reason, tell) = match end {
            End::Stop => return,
            End::Refused(reason) => {
                wait = wait.saturating_mul(2).min(target.timing.backoff_limit);
                let tell = reason != last;
                (reason, tell)
            }
            End::Detached(reason) => {
                wait = target.timing.backoff;
                (reason, true)
            }
        };
        if tell {
            tracing::warn!(cps = %target.cps, address = %target.address, %reason, "not attached to the path selector");
            last.clone_from(&reason);
            if events.send(ForwarderEvent::Detached { reason }).await.is_err() {
                return;
            }
        }
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = events.closed() => return,
        }
    }
}

enum End {
    /// The owner wants no more.
    Stop,
    /// Never attached.
    Refused(String),
    /// Was attached.
    Detached(String),
}

struct Attempt<'a> {
    target: &'a Target,
    report: watch::Receiver<ForwarderReport>,
    events: &'a mpsc::Sender<ForwarderEvent>,
}

impl Attempt<'_> {
    async fn run(mut self) -> End {
        let (out, stream) = mpsc::channel(16);
        let first = report_message(&mut self.report);
        if out.try_send(first).is_err() {
            return End::Refused("the stream is closed".to_owned());
        }
        let patience = self.target.timing.connect;
        let opened = tokio::time::timeout(patience, open(self.target, ReceiverStream::new(stream))).await;
        let (mut incoming, epoch) = match opened {
            Ok(Ok(opened)) => opened,
            Ok(Err(reason)) => return End::Refused(reason),
            Err(_) => return End::Refused("no answer in time".to_owned()),
        };
        tracing::info!(cps = %self.target.cps, address = %self.target.address, "attached to the path selector");
        let (words, queue) = mpsc::channel(QUEUE);
        let attached = ForwarderEvent::Attached { epoch, upstream: Upstream { words } };
        if self.events.send(attached).await.is_err() {
            return End::Stop;
        }
        let timing = self.target.timing;
        let mut certificates = self.target.pki.changes();
        tokio::select! {
            // The next attempt shows the new certificate and checks the peer against the new lists.
            Ok(()) = certificates.changed() => End::Detached("the certificates changed".to_owned()),
            end = receive(&mut incoming, self.events, timing) => end,
            reason = write(queue, self.report, &out, timing) => End::Detached(reason),
            () = self.events.closed() => End::Stop,
        }
    }
}

async fn open(
    target: &Target,
    stream: ReceiverStream<pb::FromForwarder>,
) -> Result<(Streaming<pb::FromCps>, Epoch), String> {
    let channel = connect::channel(target.address, &Subject::selector(&target.cps), &target.pki).await?;
    let mut client = ControlPlaneClient::new(channel).max_decoding_message_size(MAX_MESSAGE);
    let refused = |status: tonic::Status| connect::chain(&status);
    let mut incoming = client.attach(stream).await.map_err(refused)?.into_inner();
    match incoming.message().await.map_err(refused)?.and_then(|first| first.message) {
        Some(pb::from_cps::Message::Welcome(welcome)) if welcome.node == target.cps.as_str() => {
            Ok((incoming, Epoch(welcome.epoch)))
        }
        _ => Err("the path selector did not begin with its welcome".to_owned()),
    }
}

/// Passes instructions on until the stream ends.
async fn receive(
    incoming: &mut Streaming<pb::FromCps>,
    events: &mpsc::Sender<ForwarderEvent>,
    timing: Timing,
) -> End {
    use pb::from_cps::Message;
    loop {
        let message = match tokio::time::timeout(timing.silence, incoming.message()).await {
            Ok(Ok(Some(message))) => message.message,
            Ok(Ok(None)) => return End::Detached("the path selector closed the stream".to_owned()),
            Ok(Err(status)) => return End::Detached(status.message().to_owned()),
            Err(_) => return End::Detached("the path selector is silent".to_owned()),
        };
        let batch = match message {
            Some(Message::Instructions(batch)) => batch.instructions,
            Some(Message::Keepalive(_) | Message::Welcome(_)) | None => continue,
        };
        match batch.into_iter().map(Instruction::try_from).collect::<Result<Vec<_>, _>>() {
            Ok(batch) => {
                if events.send(ForwarderEvent::Instructions(batch)).await.is_err() {
                    return End::Stop;
                }
            }
            Err(error) => {
                return End::Detached(format!("the path selector sent what is no instruction: {error}"));
            }
        }
    }
}

/// Sends words, changes of the report, and keepalives, until the owner drops the upstream.
async fn write(
    mut queue: mpsc::Receiver<Word>,
    mut report: watch::Receiver<ForwarderReport>,
    out: &mpsc::Sender<pb::FromForwarder>,
    timing: Timing,
) -> String {
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        let idle = tokio::time::sleep(timing.keepalive);
        let messages = tokio::select! {
            changed = report.changed() => match changed {
                Ok(()) => vec![report_message(&mut report)],
                Err(_) => return "the forwarder stops".to_owned(),
            },
            count = queue.recv_many(&mut batch, BATCH) => match count {
                0 => return "the forwarder attaches again".to_owned(),
                _ => messages(batch.drain(..)),
            },
            () = idle => vec![message(pb::from_forwarder::Message::Keepalive(pb::Keepalive {}))],
        };
        for message in messages {
            if let Err(reason) = deliver(out, message, timing.silence).await {
                return reason;
            }
        }
    }
}

async fn deliver(
    out: &mpsc::Sender<pb::FromForwarder>,
    message: pb::FromForwarder,
    patience: Duration,
) -> Result<(), String> {
    match tokio::time::timeout(patience, out.send(message)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err("the connection is gone".to_owned()),
        Err(_) => Err("the path selector does not read".to_owned()),
    }
}

/// One message for each run of words of a kind, so that their order stays.
fn messages(words: impl Iterator<Item = Word>) -> Vec<pb::FromForwarder> {
    use pb::from_forwarder::Message;
    let mut runs: Vec<Message> = Vec::new();
    for word in words {
        match (word, runs.last_mut()) {
            (Word::Request(request), Some(Message::Requests(run))) => run.requests.push((&request).into()),
            (Word::Status(status), Some(Message::Statuses(run))) => run.statuses.push((&status).into()),
            (Word::Request(request), _) => {
                runs.push(Message::Requests(pb::ServiceRequests { requests: vec![(&request).into()] }));
            }
            (Word::Status(status), _) => {
                runs.push(Message::Statuses(pb::BindingStatuses { statuses: vec![(&status).into()] }));
            }
        }
    }
    runs.into_iter().map(message).collect()
}

fn report_message(report: &mut watch::Receiver<ForwarderReport>) -> pb::FromForwarder {
    message(pb::from_forwarder::Message::Report((&*report.borrow_and_update()).into()))
}

fn message(message: pb::from_forwarder::Message) -> pb::FromForwarder {
    pb::FromForwarder { message: Some(message) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cats_engine_types::{BindingEvent, Constraints, FlowKey, NodeId, Protocol, TenantId, TransactionId};

    /// Proves CP-24.
    #[tokio::test]
    async fn requests_that_nobody_takes_leave_room_for_statuses() {
        let (words, _nobody_reads) = mpsc::channel(8);
        let upstream = Upstream { words };
        let key = FlowKey::new(
            Protocol::UDP,
            "192.0.2.10:40000".parse().unwrap(),
            "192.0.2.100:443".parse().unwrap(),
        )
        .unwrap();
        let request = ServiceRequest {
            transaction: TransactionId { epoch: 1, sequence: 1 },
            ingress: "IF-1".parse::<NodeId>().unwrap(),
            key,
            cs_id: None,
            constraints: Constraints::default(),
            tenant: TenantId(0),
            generation: None,
        };
        let sent = (0..20).filter(|_| upstream.request(request.clone()) == Sent::Queued).count();
        assert_eq!((sent, upstream.room()), (6, 2));
        let status = BindingStatus { transaction: request.transaction, key, event: BindingEvent::Installed };
        assert_eq!(upstream.status(status), Sent::Queued);
    }
}

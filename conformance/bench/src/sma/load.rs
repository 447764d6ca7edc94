//! The load of both sides: streams over TLS, each with its own instances, and so many reports under way on each.

use super::message::Reports;
use cats_conformance::pki::NodeFiles;
use cats_conformance::reporter::{Settings, connect};
use cats_conformance::{LabError, Result};
use cats_engine_wire::metrics as pb;
use clap::Parser;
use hyper_util::rt::TokioIo;
use prost::Message;
use prost::bytes::{Buf, BufMut, Bytes};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tokio_stream::Stream;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::Endpoint;
use tonic::{Request, Status, Streaming};

const METHOD: &str = "/cats.metrics.v1.Collection/Report";
/// How long answers may be awaited.
const PATIENCE: Duration = Duration::from_secs(90);

/// Who answers, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answers {
    /// A metric agent, by acknowledgements.
    Acknowledged,
    /// The echo, by the same message.
    Echoed,
}

/// Where a stream goes, and as whom.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    /// The metric agent's name in the server's certificate.
    pub(crate) name: &'static str,
    pub(crate) answers: Answers,
}

/// A stream of reports. Dropping it cuts its connection.
#[derive(Debug)]
pub(crate) struct Flow {
    shared: Arc<Shared>,
    reading: tokio::task::JoinHandle<()>,
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

#[derive(Debug)]
struct Shared(Mutex<State>);

#[derive(Debug)]
struct State {
    reports: Reports,
    /// Reports that may be under way.
    window: u64,
    /// Reports in all that may be sent.
    limit: u64,
    sent: u64,
    answered: u64,
    waker: Option<Waker>,
    fault: Option<String>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes something that the source may wait for.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let result = change(&mut state);
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
        result
    }
}

impl Flow {
    /// Opens the stream: nothing is sent until it may.
    pub(crate) async fn open(
        target: &Target,
        files: &NodeFiles,
        reports: Reports,
        window: u64,
    ) -> Result<Flow> {
        let state = State { reports, window, limit: 0, sent: 0, answered: 0, waker: None, fault: None };
        let shared = Arc::new(Shared(Mutex::new(state)));
        let mut incoming = stream(target, files, Source(Arc::clone(&shared))).await?;
        let told = Arc::clone(&shared);
        let reading = tokio::spawn(async move {
            loop {
                match incoming.message().await {
                    Ok(Some(Heard::Answers(count))) => told.change(|state| state.answered += count),
                    Ok(Some(Heard::Other)) => {}
                    Ok(Some(Heard::Refusal(why))) => told.lock().fault = Some(why),
                    Ok(None) => return told.lock().fault = Some("the server closed the stream".to_owned()),
                    Err(status) => return told.lock().fault = Some(status.to_string()),
                }
            }
        });
        Ok(Flow { shared, reading })
    }

    /// Lets so many more reports be sent.
    pub(crate) fn allow(&self, more: u64) {
        self.shared.change(|state| state.limit = state.sent.saturating_add(more));
    }

    /// Reports that were sent, and that were answered.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let state = self.shared.lock();
        (state.sent, state.answered)
    }

    fn fault(&self) -> Option<String> {
        self.shared.lock().fault.clone()
    }
}

/// All of some streams together: reports that were sent, and that were answered.
pub(super) fn counts(flows: &[Flow]) -> (u64, u64) {
    flows.iter().map(Flow::counts).fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
}

/// Waits until all that may be sent was sent and answered; with `stop`, nothing more is sent.
pub(super) async fn settle(flows: &[Flow], stop: bool) -> Result<()> {
    let doing = "waiting for the answers to all reports";
    for flow in flows.iter().filter(|_| stop) {
        flow.allow(0);
    }
    let began = Instant::now();
    loop {
        if let Some(fault) = flows.iter().find_map(Flow::fault) {
            return Err(LabError::new("reporting", fault));
        }
        let settled = flows.iter().all(|flow| {
            let state = flow.shared.lock();
            state.sent == state.limit && state.answered == state.sent
        });
        if settled {
            return Ok(());
        }
        if began.elapsed() > PATIENCE {
            let (sent, answered) = counts(flows);
            return Err(LabError::new(doing, format!("{sent} were sent and {answered} answered")));
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn stream(target: &Target, files: &NodeFiles, source: Source) -> Result<Streaming<Heard>> {
    let doing = || format!("opening a stream to {}", target.address);
    let words = [
        "cats-report".to_owned(),
        format!("--to={}", target.address),
        format!("--agent={}", target.name),
        format!("--authority={}", files.authority.display()),
        format!("--certificate={}", files.certificate.display()),
        format!("--private-key={}", files.private_key.display()),
    ];
    let settings = Settings::try_parse_from(words).map_err(LabError::of(doing()))?;
    let mut connected = Some(TokioIo::new(connect(&settings, None).await?));
    let take = tower::service_fn(move |_| {
        std::future::ready(connected.take().ok_or_else(|| std::io::Error::other("one connection")))
    });
    // The scheme is plain because TLS is already there.
    let channel = Endpoint::from_static("http://cats.invalid").connect_with_connector(take).await;
    let mut client = tonic::client::Grpc::new(channel.map_err(LabError::of(doing()))?);
    client.ready().await.map_err(LabError::of(doing()))?;
    let path = METHOD.parse().map_err(LabError::of(doing()))?;
    let opened = client.streaming(Request::new(source), path, Octets(target.answers)).await;
    Ok(opened.map_err(LabError::of(doing()))?.into_inner())
}

/// Gives reports as long as there may be more under way.
struct Source(Arc<Shared>);

impl Stream for Source {
    type Item = Bytes;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut state = self.0.lock();
        if state.sent < state.limit && state.sent - state.answered < state.window {
            state.sent += 1;
            return Poll::Ready(Some(state.reports.next()));
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

/// What came back.
enum Heard {
    /// Answers to so many reports.
    Answers(u64),
    /// A report was not taken.
    Refusal(String),
    /// A welcome or the like.
    Other,
}

/// Octets out, and what they were answered.
#[derive(Clone, Copy)]
struct Octets(Answers);

impl Codec for Octets {
    type Encode = Bytes;
    type Decode = Heard;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for Octets {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, out: &mut EncodeBuf<'_>) -> std::result::Result<(), Status> {
        out.put(item);
        Ok(())
    }
}

impl Decoder for Octets {
    type Item = Heard;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> std::result::Result<Option<Heard>, Status> {
        if self.0 == Answers::Echoed {
            from.advance(from.remaining());
            return Ok(Some(Heard::Answers(1)));
        }
        let message = pb::ToReporter::decode(from).map_err(|error| Status::internal(error.to_string()))?;
        Ok(Some(heard(message)))
    }
}

/// Each report is of another instance than the one before, so each has an acknowledgement of its own.
fn heard(message: pb::ToReporter) -> Heard {
    use pb::reporter_instruction::Instruction;
    let Some(pb::to_reporter::Message::Instructions(batch)) = message.message else { return Heard::Other };
    let mut count = 0;
    for word in batch.instructions {
        match word.instruction {
            Some(Instruction::Acknowledge(_)) => count += 1,
            Some(Instruction::Reject(why)) => {
                return Heard::Refusal(format!("a report is refused: {}", why.detail));
            }
            // Nobody here knows more than was reported.
            Some(Instruction::Pull(_) | Instruction::Pace(_)) | None => {}
        }
    }
    Heard::Answers(count)
}

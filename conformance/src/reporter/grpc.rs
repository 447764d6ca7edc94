//! Reports over a stream of gRPC.

use super::encode;
use super::tls;
use super::turn::{Turn, Wake};
use crate::LabError;
use cats_engine_wire::metrics as pb;
use hyper_util::rt::TokioIo;
use prost::Message;
use prost::bytes::{BufMut, Bytes};
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::codec::{Codec, CompressionEncoding, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::Endpoint;
use tonic::{Request, Status, Streaming};

/// After so long without a report the agent is told that the instances are there.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(10);

const METHOD: &str = "/cats.metrics.v1.Collection/Report";

/// Reports until there is nothing more to report.
pub(super) async fn report(mut turn: Turn) -> Turn {
    loop {
        let reason = match tokio::time::timeout(PATIENCE, open(&turn)).await {
            Ok(Ok((out, incoming))) => {
                turn.connected();
                match serve(&mut turn, out, incoming).await {
                    Some(reason) => reason,
                    None => return turn,
                }
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer in time".to_owned(),
        };
        if !turn.disconnected(&reason).await {
            return turn;
        }
    }
}

async fn open(turn: &Turn) -> crate::Result<(mpsc::Sender<Bytes>, Streaming<pb::ToReporter>)> {
    let settings = &turn.settings;
    let mut stream = Some(TokioIo::new(tls::connect(settings, turn.alone).await?));
    let take = tower::service_fn(move |_| {
        std::future::ready(stream.take().ok_or_else(|| std::io::Error::other("one connection")))
    });
    // The scheme is plain because TLS is already there.
    let channel = Endpoint::from_static("http://cats.invalid").connect_with_connector(take).await;
    let channel = channel.map_err(LabError::of("opening HTTP/2"))?;
    let mut client = tonic::client::Grpc::new(channel).accept_compressed(CompressionEncoding::Gzip);
    if settings.compress {
        client = client.send_compressed(CompressionEncoding::Gzip);
    }
    client.ready().await.map_err(LabError::of("opening a stream"))?;
    let (out, reports) = mpsc::channel(16);
    let path = METHOD.parse().map_err(LabError::of("naming the method"))?;
    let request = Request::new(ReceiverStream::new(reports));
    let incoming = client.streaming(request, path, Raw).await.map_err(refused)?;
    let mut incoming = incoming.into_inner();
    let first = incoming.message().await.map_err(refused)?;
    match first.and_then(|first| first.message) {
        Some(pb::to_reporter::Message::Welcome(_)) => Ok((out, incoming)),
        _ => Err(LabError::new("opening a stream", "the agent did not begin with its welcome")),
    }
}

fn refused(status: Status) -> LabError {
    LabError::new("opening a stream", words(&status))
}

fn words(status: &Status) -> String {
    format!("{}: {}", status.code(), status.message())
}

/// Reports over one stream; why it ended, or nothing when all was reported.
async fn serve(
    turn: &mut Turn,
    out: mpsc::Sender<Bytes>,
    mut incoming: Streaming<pb::ToReporter>,
) -> Option<String> {
    let mut waiting = VecDeque::new();
    let mut said = Instant::now();
    loop {
        if turn.is_over() && waiting.is_empty() && turn.ledger.open() == 0 {
            return None;
        }
        let open = turn.ledger.open() > 0;
        tokio::select! {
            message = incoming.message() => match message {
                Ok(Some(message)) => {
                    if let Some(pb::to_reporter::Message::Instructions(batch)) = message.message {
                        let asked = turn.answered(encode::answers(batch));
                        send(turn, asked, &mut waiting);
                    }
                }
                Ok(None) => return Some("the agent closed the stream".to_owned()),
                Err(status) => return Some(words(&status)),
            },
            permit = out.reserve(), if !waiting.is_empty() => match (permit, waiting.pop_front()) {
                (Ok(permit), Some(message)) => {
                    permit.send(message);
                    said = Instant::now();
                }
                // What ended it comes from the other direction.
                (Err(_), _) => waiting.clear(),
                (Ok(_), None) => {}
            },
            wake = turn.wake(open), if waiting.is_empty() => match wake {
                Wake::Due => {
                    let groups = turn.groups();
                    send_groups(turn, groups, &mut waiting);
                }
                Wake::Over => return None,
            },
            () = tokio::time::sleep_until((said + KEEPALIVE).into()), if waiting.is_empty() => {
                waiting.push_back(encode::keepalive());
            }
        }
    }
}

fn send(turn: &mut Turn, drafts: Vec<super::load::Draft>, waiting: &mut VecDeque<Bytes>) {
    let groups = turn.grouped(drafts);
    send_groups(turn, groups, waiting);
}

fn send_groups(turn: &mut Turn, groups: Vec<Vec<super::load::Draft>>, waiting: &mut VecDeque<Bytes>) {
    let now = Instant::now();
    for group in groups {
        for draft in &group {
            turn.ledger.sent(draft, now);
        }
        waiting.push_back(encode::message(&turn.proven(group)));
    }
}

/// Octets out, so that they may be wrong, and messages in.
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = pb::ToReporter;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        out.put(item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = pb::ToReporter;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<pb::ToReporter>, Status> {
        pb::ToReporter::decode(from).map(Some).map_err(|error| Status::internal(error.to_string()))
    }
}

//! The gRPC service.

use super::{Attached, Call, Change, ConfigId, Edit, Fault, MAX_CHANGES, MAX_SNAPSHOT, StateDelta};
use cats_engine_types::Revision;
use cats_engine_wire::management as pb;
use cats_engine_wire::management::management_server::{Management, ManagementServer};
use cats_engine_wire::{MAX_INPUT, MAX_MESSAGE, MAX_OUTPUT};
use std::future::Future;
use std::io;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

pub(super) async fn serve(
    incoming: impl Stream<Item = io::Result<UnixStream>>,
    calls: mpsc::Sender<Call>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), tonic::transport::Error> {
    let service = Service { calls, newest: watch::Sender::new(0) };
    let server = ManagementServer::new(service)
        .max_decoding_message_size(MAX_MESSAGE)
        .max_encoding_message_size(MAX_MESSAGE);
    tonic::transport::Server::builder()
        .max_concurrent_streams(64)
        .add_service(server)
        .serve_with_incoming_shutdown(incoming, shutdown)
        .await
}

#[derive(Debug)]
struct Service {
    calls: mpsc::Sender<Call>,
    /// Number of the newest stream; older ones end.
    newest: watch::Sender<u64>,
}

#[tonic::async_trait]
impl Management for Service {
    type AttachStream = ReceiverStream<Result<pb::FromEngine, Status>>;

    async fn attach(
        &self,
        request: Request<Streaming<pb::FromManagement>>,
    ) -> Result<Response<Self::AttachStream>, Status> {
        let (out, stream) = mpsc::channel(16);
        self.newest.send_modify(|number| *number += 1);
        let mut newest = self.newest.subscribe();
        newest.mark_unchanged();
        let session = Session { calls: self.calls.clone(), id: None, part: Vec::new(), changes: Vec::new() };
        tokio::spawn(session.run(request.into_inner(), out, newest));
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    type WatchStream = ReceiverStream<Result<pb::StateDelta, Status>>;

    async fn watch(
        &self,
        request: Request<Streaming<pb::WatchRequest>>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let (out, stream) = mpsc::channel(1);
        tokio::spawn(watched(self.calls.clone(), request.into_inner(), out));
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn get_state(
        &self,
        request: Request<pb::GetStateRequest>,
    ) -> Result<Response<pb::GetStateReply>, Status> {
        let pb::GetStateRequest { paths, limit, page } = request.into_inner();
        let page = (!page.is_empty()).then_some(page);
        let answer = ask(&self.calls, |reply| Call::State { paths, limit, page, reply }).await?;
        let page = answer.map_err(Status::invalid_argument)?;
        let next_page = page.next.unwrap_or_default();
        Ok(Response::new(pb::GetStateReply { json: page.json, next_page }))
    }

    async fn execute(
        &self,
        request: Request<pb::ExecuteRequest>,
    ) -> Result<Response<pb::ExecuteReply>, Status> {
        let pb::ExecuteRequest { operation, input } = request.into_inner();
        if input.len() > MAX_INPUT {
            return Err(Status::resource_exhausted(format!("an input has at most {MAX_INPUT} octets")));
        }
        let answer = ask(&self.calls, |reply| Call::Execute { operation, input, reply }).await?;
        let result = match answer {
            Ok(output) if output.len() > MAX_OUTPUT => executed(Err(vec![too_big(output.len())])),
            answer => executed(answer),
        };
        Ok(Response::new(pb::ExecuteReply { result: Some(result) }))
    }
}

/// Carries what is watched both ways until one side ends, or another watcher takes over.
async fn watched(
    calls: mpsc::Sender<Call>,
    mut incoming: Streaming<pb::WatchRequest>,
    out: mpsc::Sender<Result<pb::StateDelta, Status>>,
) {
    let (sender, mut deltas) = mpsc::channel(1);
    // The engine's owner holds the one that keeps the channel open.
    let (weak, mut first) = (sender.downgrade(), Some(sender));
    let end = loop {
        tokio::select! {
            request = incoming.message() => match request {
                Ok(Some(pb::WatchRequest { paths })) => {
                    let Some(deltas) = first.take().or_else(|| weak.upgrade()) else {
                        break Status::aborted("another watcher took over");
                    };
                    if calls.send(Call::Watch { paths, deltas }).await.is_err() {
                        break Status::unavailable("the engine stops");
                    }
                }
                Ok(None) => break Status::ok("the stream is closed"),
                Err(status) => break status,
            },
            delta = deltas.recv() => match delta {
                Some(delta) => {
                    if out.send(Ok(encode(delta))).await.is_err() {
                        return;
                    }
                }
                None => break Status::data_loss("another watcher took over, or more changed than could be kept"),
            },
        }
    };
    drop(out.try_send(Err(end)));
}

fn encode(delta: StateDelta) -> pb::StateDelta {
    let StateDelta { epoch, sequence, dropped, json, whole } = delta;
    pb::StateDelta { epoch: epoch.0, sequence, dropped, json, whole }
}

fn executed(answer: Result<Vec<u8>, Vec<Fault>>) -> pb::execute_reply::Result {
    match answer {
        Ok(output) => pb::execute_reply::Result::Output(output),
        Err(faults) => pb::execute_reply::Result::Errors(pb::Errors { errors: errors(faults) }),
    }
}

/// What was done stays done.
fn too_big(octets: usize) -> Fault {
    let message = format!(
        "the operation was carried out, but its answer has {octets} octets where {MAX_OUTPUT} are the most: ask for less"
    );
    Fault { path: String::new(), tag: "too-big".to_owned(), app_tag: None, message }
}

async fn ask<T>(
    calls: &mpsc::Sender<Call>,
    call: impl FnOnce(oneshot::Sender<T>) -> Call,
) -> Result<T, Status> {
    let (reply, answer) = oneshot::channel();
    let stopped = || Status::unavailable("the engine stops");
    calls.send(call(reply)).await.map_err(|_| stopped())?;
    answer.await.map_err(|_| stopped())
}

/// One stream of cats-mgmtd.
#[derive(Debug)]
struct Session {
    calls: mpsc::Sender<Call>,
    /// What the peer attached with.
    id: Option<ConfigId>,
    /// Of a snapshot, so far.
    part: Vec<u8>,
    /// Of a prepare, so far.
    changes: Vec<Change>,
}

impl Session {
    async fn run(
        mut self,
        mut incoming: Streaming<pb::FromManagement>,
        out: mpsc::Sender<Result<pb::FromEngine, Status>>,
        mut newest: watch::Receiver<u64>,
    ) {
        let end = tokio::select! {
            end = self.serve(&mut incoming, &out) => end,
            _ = newest.changed() => Status::aborted("another management session took over"),
        };
        tracing::info!(reason = %end.message(), "management detached");
        drop(out.try_send(Err(end)));
        drop(self.calls.send(Call::Detach).await);
    }

    async fn serve(
        &mut self,
        incoming: &mut Streaming<pb::FromManagement>,
        out: &mpsc::Sender<Result<pb::FromEngine, Status>>,
    ) -> Status {
        loop {
            let answer = match incoming.message().await {
                Ok(Some(message)) => self.answer(message).await,
                Ok(None) => return Status::ok("the stream is closed"),
                Err(status) => return status,
            };
            match answer {
                Ok(None) => {}
                Ok(Some(answer)) => {
                    if out.send(Ok(pb::FromEngine { message: Some(answer) })).await.is_err() {
                        return Status::cancelled("the connection is gone");
                    }
                }
                Err(status) => return status,
            }
        }
    }

    async fn answer(
        &mut self,
        message: pb::FromManagement,
    ) -> Result<Option<pb::from_engine::Message>, Status> {
        use pb::from_engine::Message as Answer;
        use pb::from_management::Message;
        let message =
            message.message.ok_or_else(|| Status::invalid_argument("an unknown kind of message"))?;
        match message {
            Message::Attach(attach) => self.attach(attach).await.map(Some),
            _ if self.id.is_none() => Err(Status::failed_precondition("the first message must be an attach")),
            Message::Snapshot(snapshot) => self.snapshot(snapshot).await,
            Message::Prepare(prepare) => self.prepare(prepare).await,
            Message::Apply(pb::Apply { revision }) => {
                let answer = ask(&self.calls, |reply| Call::Apply(Revision(revision), reply)).await?;
                answer.map_err(Status::failed_precondition)?;
                Ok(Some(Answer::Applied(pb::Applied { revision })))
            }
            Message::Abort(pb::Abort { revision }) => {
                self.changes.clear();
                ask(&self.calls, |reply| Call::Abort(Revision(revision), reply)).await?;
                Ok(Some(Answer::Aborted(pb::Aborted { revision })))
            }
        }
    }

    async fn attach(&mut self, attach: pb::Attach) -> Result<pb::from_engine::Message, Status> {
        let pb::Attach { content_id, datastore_id, revision } = attach;
        let id = ConfigId { content_id, datastore_id, revision: Revision(revision) };
        self.id = Some(id.clone());
        let Attached { revision, needs_snapshot, nodes } =
            ask(&self.calls, |reply| Call::Attach(id, reply)).await?;
        Ok(pb::from_engine::Message::Attached(pb::Attached {
            revision: revision.0,
            needs_snapshot,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            nodes,
        }))
    }

    async fn snapshot(&mut self, snapshot: pb::Snapshot) -> Result<Option<pb::from_engine::Message>, Status> {
        let pb::Snapshot { revision, chunk, last } = snapshot;
        self.changes.clear();
        if self.part.len() + chunk.len() > MAX_SNAPSHOT {
            return Err(Status::resource_exhausted(format!("a snapshot has at most {MAX_SNAPSHOT} octets")));
        }
        self.part.extend_from_slice(&chunk);
        if !last {
            return Ok(None);
        }
        let document = std::mem::take(&mut self.part);
        let id = ConfigId { revision: Revision(revision), ..self.id.clone().unwrap_or_default() };
        let answer = ask(&self.calls, |reply| Call::Snapshot { id, document, reply }).await?;
        Ok(Some(match answer {
            Ok(()) => pb::from_engine::Message::SnapshotApplied(pb::SnapshotApplied { revision }),
            Err(faults) => rejected(revision, faults),
        }))
    }

    async fn prepare(&mut self, prepare: pb::Prepare) -> Result<Option<pb::from_engine::Message>, Status> {
        let pb::Prepare { revision, base, changes, more } = prepare;
        if self.changes.len() + changes.len() > MAX_CHANGES {
            return Err(Status::resource_exhausted(format!("a commit has at most {MAX_CHANGES} changes")));
        }
        for change in changes {
            self.changes.push(decode(change)?);
        }
        if more {
            return Ok(None);
        }
        let changes = std::mem::take(&mut self.changes);
        let (to, base) = (Revision(revision), Revision(base));
        let answer = ask(&self.calls, |reply| Call::Prepare { revision: to, base, changes, reply }).await?;
        Ok(Some(match answer {
            Ok(steps) => pb::from_engine::Message::Planned(pb::Planned { revision, steps }),
            Err(faults) => rejected(revision, faults),
        }))
    }
}

fn decode(change: pb::Change) -> Result<Change, Status> {
    use pb::change::Operation;
    let edit = match Operation::try_from(change.operation) {
        Ok(Operation::Set) => Edit::Set(change.value),
        Ok(Operation::Delete) => Edit::Delete,
        Ok(Operation::Move) => Edit::Move,
        Ok(Operation::Unspecified) | Err(_) => {
            let text = format!("{}: operation {} is unknown", change.path, change.operation);
            return Err(Status::invalid_argument(text));
        }
    };
    Ok(Change { path: change.path, edit, after: change.after })
}

fn rejected(revision: u64, faults: Vec<Fault>) -> pb::from_engine::Message {
    pb::from_engine::Message::Rejected(pb::Rejected { revision, errors: errors(faults) })
}

fn errors(faults: Vec<Fault>) -> Vec<pb::Error> {
    let error = |fault: Fault| pb::Error {
        path: fault.path,
        tag: fault.tag,
        app_tag: fault.app_tag.unwrap_or_default(),
        message: fault.message,
    };
    faults.into_iter().map(error).collect()
}

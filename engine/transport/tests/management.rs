//! cats-mgmtd's end and the engine's end over the Unix socket.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cats_engine_transport::management::{
    Attached, Call, Change, ConfigId, Edit, Fault, StatePage, listen, serve,
};
use cats_engine_types::Revision;
use cats_engine_wire::management as pb;
use cats_engine_wire::management::management_client::ManagementClient;
use hyper_util::rt::TokioIo;
use pb::from_engine::Message as Answer;
use pb::from_management::Message;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status, Streaming};

const BOUND: Duration = Duration::from_secs(20);

struct Engine {
    _dir: TempDir,
    socket: PathBuf,
    calls: mpsc::Receiver<Call>,
}

impl Engine {
    fn start() -> Self {
        let dir = TempDir::new().unwrap();
        let socket = dir.path().join("engine.sock");
        let (sender, calls) = mpsc::channel(16);
        let listener = listen(&socket).unwrap();
        tokio::spawn(async move { serve(listener, sender, std::future::pending()).await.unwrap() });
        Self { _dir: dir, socket, calls }
    }

    async fn call(&mut self) -> Call {
        tokio::time::timeout(BOUND, self.calls.recv()).await.unwrap().unwrap()
    }

    async fn client(&self) -> ManagementClient<Channel> {
        let socket = self.socket.clone();
        let connector = tower::service_fn(move |_| {
            let socket = socket.clone();
            async move { UnixStream::connect(socket).await.map(TokioIo::new) }
        });
        let endpoint = Endpoint::from_static("http://engine.invalid");
        ManagementClient::new(endpoint.connect_with_connector(connector).await.unwrap())
    }

    async fn stream(&self) -> Stream {
        let (out, stream) = mpsc::channel(16);
        let incoming = self.client().await.attach(ReceiverStream::new(stream)).await.unwrap().into_inner();
        Stream { out, incoming }
    }
}

struct Stream {
    out: mpsc::Sender<pb::FromManagement>,
    incoming: Streaming<pb::FromEngine>,
}

impl Stream {
    async fn send(&self, message: Message) {
        self.out.send(pb::FromManagement { message: Some(message) }).await.unwrap();
    }

    async fn next(&mut self) -> Result<Option<Answer>, Status> {
        let message = tokio::time::timeout(BOUND, self.incoming.message()).await.unwrap()?;
        Ok(message.and_then(|message| message.message))
    }

    async fn attach(&mut self, engine: &mut Engine) {
        let (content_id, datastore_id) = ("c".to_owned(), "d".to_owned());
        self.send(Message::Attach(pb::Attach { content_id, datastore_id, revision: 4 })).await;
        let Call::Attach(id, reply) = engine.call().await else { panic!("no attach") };
        assert_eq!(id, config(4));
        reply
            .send(Attached { revision: Revision(3), needs_snapshot: true, nodes: vec!["a:b".into()] })
            .unwrap();
        let Some(Answer::Attached(answer)) = self.next().await.unwrap() else { panic!("no answer") };
        assert_eq!((answer.revision, answer.needs_snapshot), (3, true));
    }
}

fn config(revision: u64) -> ConfigId {
    ConfigId { content_id: "c".to_owned(), datastore_id: "d".to_owned(), revision: Revision(revision) }
}

#[tokio::test]
async fn the_socket_is_for_the_owner_only() {
    let engine = Engine::start();
    let mode = std::fs::metadata(&engine.socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn a_snapshot_in_chunks_and_a_commit_in_parts_reach_the_engine_whole() {
    let mut engine = Engine::start();
    let mut stream = engine.stream().await;
    stream.attach(&mut engine).await;

    for (chunk, last) in [("{\"a\"", false), (":1}", true)] {
        let chunk = chunk.as_bytes().to_vec();
        stream.send(Message::Snapshot(pb::Snapshot { revision: 4, chunk, last })).await;
    }
    let Call::Snapshot { id, document, reply } = engine.call().await else { panic!("no snapshot") };
    assert_eq!((id, document.as_slice()), (config(4), b"{\"a\":1}".as_slice()));
    reply.send(Ok(())).unwrap();
    assert!(matches!(
        stream.next().await,
        Ok(Some(Answer::SnapshotApplied(pb::SnapshotApplied { revision: 4 })))
    ));

    let set = pb::Change { path: "/m:a".to_owned(), operation: 1, value: "2".to_owned(), after: None };
    let delete = pb::Change { path: "/m:b".to_owned(), operation: 2, ..Default::default() };
    let shift = pb::Change {
        path: "/m:c[.='x']".to_owned(),
        operation: 3,
        after: Some(String::new()),
        ..Default::default()
    };
    for (change, more) in [(set, true), (delete, true), (shift, false)] {
        let prepare = pb::Prepare { revision: 5, base: 4, changes: vec![change], more };
        stream.send(Message::Prepare(prepare)).await;
    }
    let Call::Prepare { revision, base, changes, reply } = engine.call().await else { panic!("no prepare") };
    assert_eq!((revision, base), (Revision(5), Revision(4)));
    let change = |path: &str, edit, after: Option<&str>| Change {
        path: path.to_owned(),
        edit,
        after: after.map(str::to_owned),
    };
    let set = change("/m:a", Edit::Set("2".to_owned()), None);
    assert_eq!(
        changes,
        [set, change("/m:b", Edit::Delete, None), change("/m:c[.='x']", Edit::Move, Some(""))]
    );
    reply.send(Ok(vec!["switch the ingress on".to_owned()])).unwrap();
    let Ok(Some(Answer::Planned(planned))) = stream.next().await else { panic!("no plan") };
    assert_eq!(planned.steps, ["switch the ingress on"]);

    stream.send(Message::Apply(pb::Apply { revision: 5 })).await;
    let Call::Apply(Revision(5), reply) = engine.call().await else { panic!("no apply") };
    reply.send(Ok(())).unwrap();
    assert!(matches!(stream.next().await, Ok(Some(Answer::Applied(pb::Applied { revision: 5 })))));
}

#[tokio::test]
async fn a_refused_prepare_comes_back_with_path_tag_and_message() {
    let mut engine = Engine::start();
    let mut stream = engine.stream().await;
    stream.attach(&mut engine).await;
    stream.send(Message::Prepare(pb::Prepare { revision: 5, base: 4, ..Default::default() })).await;
    let Call::Prepare { reply, .. } = engine.call().await else { panic!("no prepare") };
    let fault = Fault {
        path: "/m:a".to_owned(),
        tag: "operation-failed".to_owned(),
        app_tag: Some("overlap".to_owned()),
        message: "two services overlap".to_owned(),
    };
    reply.send(Err(vec![fault])).unwrap();
    let Ok(Some(Answer::Rejected(rejected))) = stream.next().await else { panic!("not refused") };
    assert_eq!(rejected.revision, 5);
    assert_eq!(rejected.errors[0].path, "/m:a");
    assert_eq!(rejected.errors[0].app_tag, "overlap");
    stream.send(Message::Abort(pb::Abort { revision: 5 })).await;
    let Call::Abort(Revision(5), reply) = engine.call().await else { panic!("no abort") };
    reply.send(()).unwrap();
    assert!(matches!(stream.next().await, Ok(Some(Answer::Aborted(_)))));
}

#[tokio::test]
async fn a_stream_that_ends_is_told_to_the_engine_and_a_newer_one_takes_over() {
    let mut engine = Engine::start();
    let mut first = engine.stream().await;
    first.attach(&mut engine).await;
    let mut second = engine.stream().await;
    assert_eq!(first.next().await.unwrap_err().code(), Code::Aborted);
    assert!(matches!(engine.call().await, Call::Detach));
    second.attach(&mut engine).await;
    drop(second);
    assert!(matches!(engine.call().await, Call::Detach));
    engine.stream().await.attach(&mut engine).await;
}

#[tokio::test]
async fn a_message_out_of_order_or_of_an_unknown_kind_ends_the_stream() {
    let mut engine = Engine::start();
    let mut early = engine.stream().await;
    early.send(Message::Apply(pb::Apply { revision: 1 })).await;
    assert_eq!(early.next().await.unwrap_err().code(), Code::FailedPrecondition);
    assert!(matches!(engine.call().await, Call::Detach));

    let mut stream = engine.stream().await;
    stream.attach(&mut engine).await;
    let change = pb::Change { path: "/m:a".to_owned(), operation: 9, ..Default::default() };
    stream.send(Message::Prepare(pb::Prepare { changes: vec![change], ..Default::default() })).await;
    let status = stream.next().await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::InvalidArgument, "/m:a: operation 9 is unknown"));
}

#[tokio::test]
async fn state_comes_in_pages() {
    let mut engine = Engine::start();
    let mut client = engine.client().await;
    let request = pb::GetStateRequest { paths: vec!["/m:a".to_owned()], limit: 10, page: "p1".to_owned() };
    let answer = tokio::spawn(async move { client.get_state(request).await });
    let Call::State { paths, limit, page, reply } = engine.call().await else { panic!("no state") };
    assert_eq!((paths, limit, page.as_deref()), (vec!["/m:a".to_owned()], 10, Some("p1")));
    reply.send(Ok(StatePage { json: b"{}".to_vec(), next: Some("p2".to_owned()) })).unwrap();
    let reply = answer.await.unwrap().unwrap().into_inner();
    assert_eq!((reply.json.as_slice(), reply.next_page.as_str()), (b"{}".as_slice(), "p2"));
}

/// Has the engine asked for `input`, and answers for it.
async fn executed(
    engine: &mut Engine,
    input: Vec<u8>,
    answer: impl FnOnce(String, Vec<u8>) -> Result<Vec<u8>, Vec<Fault>>,
) -> Option<pb::execute_reply::Result> {
    let mut client = engine.client().await.max_decoding_message_size(16 << 20);
    let request = pb::ExecuteRequest { operation: "m:turn".to_owned(), input };
    let reply = tokio::spawn(async move { client.execute(request).await });
    let Call::Execute { operation, input, reply: place } = engine.call().await else {
        panic!("no operation")
    };
    place.send(answer(operation, input)).unwrap();
    reply.await.unwrap().unwrap().into_inner().result
}

#[tokio::test]
async fn an_operation_is_answered_with_its_output_or_with_errors() {
    use pb::execute_reply::Result::{Errors, Output};
    let mut engine = Engine::start();
    let input = b"{\"m:input\":{}}".to_vec();
    let result = executed(&mut engine, input.clone(), |operation, given| {
        assert_eq!((operation.as_str(), given), ("m:turn", b"{\"m:input\":{}}".to_vec()));
        Ok(b"{}".to_vec())
    });
    assert_eq!(result.await, Some(Output(b"{}".to_vec())));
    let fault = Fault {
        path: "/m:turn/by".to_owned(),
        tag: "invalid-value".to_owned(),
        app_tag: None,
        message: "too far".to_owned(),
    };
    let result = executed(&mut engine, input.clone(), |_, _| Err(vec![fault])).await;
    let Some(Errors(errors)) = result else { panic!("{result:?}") };
    assert_eq!(
        (errors.errors[0].tag.as_str(), errors.errors[0].path.as_str()),
        ("invalid-value", "/m:turn/by")
    );
    let result = executed(&mut engine, input, |_, _| Ok(vec![b' '; (4 << 20) + 1])).await;
    let Some(Errors(errors)) = result else { panic!("an output above the bound") };
    assert_eq!(errors.errors[0].tag, "too-big");
}

#[tokio::test]
async fn an_input_above_the_bound_does_not_reach_the_engine_and_who_gives_up_is_seen() {
    let mut engine = Engine::start();
    let mut client = engine.client().await;
    let ask =
        |length: usize| pb::ExecuteRequest { operation: "m:turn".to_owned(), input: vec![b' '; length] };
    let status = client.execute(ask((1 << 20) + 1)).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    let waiting = tokio::spawn(async move { client.execute(ask(2)).await });
    let Call::Execute { input, mut reply, .. } = engine.call().await else { panic!("no operation") };
    assert_eq!(input.len(), 2);
    waiting.abort();
    tokio::time::timeout(BOUND, reply.closed()).await.unwrap();
}

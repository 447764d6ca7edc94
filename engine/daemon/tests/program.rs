//! The program itself: start, socket, commits, signals, restart. It forwards nothing here, so it needs no privileges.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cats_engine_wire::management as pb;
use cats_engine_wire::management::management_client::ManagementClient;
use hyper_util::rt::TokioIo;
use pb::from_engine::Message as Answer;
use pb::from_management::Message;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};

/// Longer than anything here takes; only a hang meets it.
const BOUND: Duration = Duration::from_secs(20);

struct Daemon {
    child: Child,
    run: PathBuf,
}

impl Daemon {
    fn command(dir: &TempDir) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cats-engined"));
        command.arg("--state-dir").arg(dir.path().join("state")).arg("--run-dir").arg(dir.path().join("run"));
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        command
    }

    fn start(dir: &TempDir) -> Self {
        Self::start_with(dir, Stdio::null())
    }

    fn start_with(dir: &TempDir, stderr: Stdio) -> Self {
        let run = dir.path().join("run");
        let child = Self::command(dir).stderr(stderr).spawn().unwrap();
        let mut daemon = Self { child, run };
        let id = daemon.child.id().to_string();
        daemon.until("ready", |daemon| {
            let ready = fs::read_to_string(daemon.run.join("engined.ready")).unwrap_or_default();
            (ready.trim() == id).then_some(())
        });
        daemon
    }

    fn until<T>(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> Option<T>) -> T {
        let begin = Instant::now();
        loop {
            if let Some(result) = done(self) {
                return result;
            }
            assert!(begin.elapsed() < BOUND, "not {what} in time");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    async fn client(&self) -> ManagementClient<Channel> {
        let socket = self.run.join("engine.sock");
        let connector = tower::service_fn(move |_| {
            let socket = socket.clone();
            async move { UnixStream::connect(socket).await.map(TokioIo::new) }
        });
        let endpoint = Endpoint::from_static("http://engine.invalid");
        ManagementClient::new(endpoint.connect_with_connector(connector).await.unwrap())
    }

    /// Sends messages on a fresh stream, and gives the answers.
    async fn converse(&self, messages: Vec<Message>) -> Vec<Answer> {
        let (out, stream) = mpsc::channel(16);
        let mut incoming =
            self.client().await.attach(ReceiverStream::new(stream)).await.unwrap().into_inner();
        let mut answers = Vec::new();
        for message in messages {
            out.send(pb::FromManagement { message: Some(message) }).await.unwrap();
            let answer = tokio::time::timeout(BOUND, incoming.message()).await.unwrap().unwrap().unwrap();
            answers.push(answer.message.unwrap());
        }
        answers
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn attach(revision: u64) -> Message {
    let (content_id, datastore_id) = ("c".to_owned(), "d".to_owned());
    Message::Attach(pb::Attach { content_id, datastore_id, revision })
}

fn snapshot(revision: u64) -> Message {
    let json = r#"{"ietf-routing:routing":{"ietf-cats:cats":{"base":{"enable":true,"flow-timeout":60},
        "cats-cps:path-selector":{"enabled":true}}}}"#;
    Message::Snapshot(pb::Snapshot { revision, chunk: json.as_bytes().to_vec(), last: true })
}

fn prepare(base: u64, path: &str, value: &str) -> Message {
    let path = format!("/ietf-routing:routing/ietf-cats:cats/{path}");
    let change = pb::Change { path, operation: 1, value: value.to_owned(), after: None };
    Message::Prepare(pb::Prepare { revision: base + 1, base, changes: vec![change], more: false })
}

/// Proves SMA-2: each of many instances may have a connection of its own.
#[test]
fn it_may_have_as_many_descriptors_as_the_system_allows_it() {
    let limit = getrlimit(Resource::Nofile);
    // What it starts inherits that.
    setrlimit(Resource::Nofile, Rlimit { current: Some(256), ..limit }).unwrap();
    let dir = TempDir::new().unwrap();
    let daemon = Daemon::start(&dir);
    let limits = fs::read_to_string(format!("/proc/{}/limits", daemon.child.id())).unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let numbers: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(numbers.first(), numbers.get(1), "{line}");
    assert_ne!(numbers.first(), Some(&"256"), "{line}");
}

#[tokio::test]
async fn a_killed_engine_comes_back_with_the_last_commit_and_without_the_prepared_one() {
    let dir = TempDir::new().unwrap();
    let mut daemon = Daemon::start(&dir);
    let mode = fs::metadata(daemon.run.join("engine.sock")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let commit = |base| prepare(base, "base/flow-timeout", "90");
    let answers = daemon
        .converse(vec![
            attach(4),
            snapshot(4),
            commit(4),
            Message::Apply(pb::Apply { revision: 5 }),
            commit(5),
        ])
        .await;
    let Answer::Attached(attached) = &answers[0] else { panic!("{answers:?}") };
    assert_eq!((attached.revision, attached.needs_snapshot), (0, true));
    assert!(
        matches!(answers[1], Answer::SnapshotApplied(pb::SnapshotApplied { revision: 4 })),
        "{answers:?}"
    );
    assert!(matches!(&answers[2], Answer::Planned(plan) if plan.steps == ["configure the path selector"]));
    assert!(matches!(answers[3], Answer::Applied(pb::Applied { revision: 5 })), "{answers:?}");
    assert!(matches!(&answers[4], Answer::Planned(plan) if plan.revision == 6), "{answers:?}");

    // SIGKILL, between the two phases of revision 6.
    daemon.child.kill().unwrap();
    daemon.child.wait().unwrap();
    let daemon = Daemon::start(&dir);
    let answers = daemon.converse(vec![attach(5), prepare(5, "base/flow-timeout", "30")]).await;
    let Answer::Attached(attached) = &answers[0] else { panic!("{answers:?}") };
    assert_eq!((attached.revision, attached.needs_snapshot), (5, false));
    assert!(matches!(&answers[1], Answer::Planned(_)), "{answers:?}");
}

#[tokio::test]
async fn a_refused_change_names_its_path_and_leaves_the_revision() {
    let dir = TempDir::new().unwrap();
    let daemon = Daemon::start(&dir);
    let bad = prepare(4, "traffic-classifiers/traffic-classifier[cs-id='0']", r#"{"cs-id":0,"protocol":6}"#);
    let zero = prepare(4, "cats-services:services/service[cs-id='0']", r#"{"cs-id":0}"#);
    let answers =
        daemon.converse(vec![attach(4), snapshot(4), zero, Message::Abort(pb::Abort { revision: 5 })]).await;
    let Answer::Rejected(rejected) = &answers[2] else { panic!("{answers:?}") };
    assert_eq!(rejected.errors[0].tag, "invalid-value");
    assert!(rejected.errors[0].path.ends_with("service[cs-id='0']/cs-id"), "{rejected:?}");
    assert!(matches!(answers[3], Answer::Aborted(_)));
    let answers = daemon.converse(vec![attach(4), bad]).await;
    let Answer::Attached(attached) = &answers[0] else { panic!("{answers:?}") };
    assert!(!attached.needs_snapshot);
    let mut client = daemon.client().await;
    let state = client.get_state(pb::GetStateRequest::default()).await.unwrap().into_inner();
    let state: serde_json::Value = serde_json::from_slice(&state.json).unwrap();
    let selector = &state["ietf-routing:routing"]["ietf-cats:cats"]["cats-cps:path-selector"];
    assert_eq!(selector["flows"]["total"], "0");
}

#[test]
fn a_second_engine_on_the_same_state_is_refused_and_a_signal_ends_the_first_in_order() {
    let dir = TempDir::new().unwrap();
    let mut daemon = Daemon::start(&dir);
    let second = Daemon::command(&dir).output().unwrap();
    assert!(!second.status.success());
    let words = String::from_utf8_lossy(&second.stderr);
    assert!(words.contains("is in use by another cats-engined"), "{words}");
    assert!(daemon.run.join("engined.ready").exists(), "the first one is untouched");

    let pid = rustix::process::Pid::from_child(&daemon.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let status = daemon.until("ended", |daemon| daemon.child.try_wait().unwrap());
    assert!(status.success());
    assert!(!daemon.run.join("engined.ready").exists());
}

#[test]
fn a_namespace_that_is_not_there_is_named() {
    let dir = TempDir::new().unwrap();
    let output = Daemon::command(&dir).args(["--netns", "no-such-namespace"]).output().unwrap();
    assert!(!output.status.success());
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(words.contains("entering the network namespace /run/netns/no-such-namespace"), "{words}");
}

/// What is logged goes nowhere, and everything else goes on.
#[tokio::test]
async fn an_engine_whose_standard_error_is_closed_works_as_any() {
    let dir = TempDir::new().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut daemon = Daemon::start_with(&dir, writer.into());
    for _ in 0..2 {
        let answers =
            daemon.converse(vec![attach(4), snapshot(4), prepare(4, "base/flow-timeout", "90")]).await;
        assert!(matches!(&answers[2], Answer::Planned(plan) if plan.revision == 5), "{answers:?}");
    }
    let pid = rustix::process::Pid::from_child(&daemon.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(daemon.child.wait().unwrap().success());
}

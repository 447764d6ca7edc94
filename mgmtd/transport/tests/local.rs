//! NETCONF over the local socket.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod lab;

use cats_mgmtd_netconf::{
    Answer, Client, ClientOutput, ClientSettings, CloseReason, HelloError, NoModules, Operation, RawReply,
};
use cats_mgmtd_transport::{Admission, LocalListener, SessionLimits};
use cats_yang_tree::error::ErrorTag;
use lab::{Lab, PATIENCE, Setup, run};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// A blocking client, as the shell has one.
struct Blocking {
    client: Client,
    stream: UnixStream,
}

impl Blocking {
    fn connect(path: &Path) -> Self {
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { client: Client::new(ClientSettings::default(), Instant::now()), stream }
    }

    fn next(&mut self) -> ClientOutput {
        let mut buffer = vec![0; 4096];
        loop {
            match self.client.poll_output() {
                // The server may have closed already, and its reason waits to be read.
                Some(ClientOutput::Send(bytes)) => drop(self.stream.write_all(&bytes)),
                Some(other) => return other,
                None => match self.stream.read(&mut buffer).unwrap() {
                    0 => self.client.handle_eof(),
                    count => self.client.handle_bytes(&buffer[..count]),
                },
            }
        }
    }

    fn ask(&mut self, operation: &Operation) -> RawReply {
        let id = self.client.request(operation).unwrap();
        let ClientOutput::Reply(reply) = self.next() else { panic!() };
        assert_eq!(reply.message_id, Some(id));
        reply
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::time::timeout(PATIENCE, tokio::task::spawn_blocking(work)).await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blocking_client_asks_and_closes() {
    let mut lab = Lab::start(Setup { data: 3_000_000, ..Setup::default() }).await;
    let path = lab.socket();
    blocking(move || {
        let mut client = Blocking::connect(&path);
        assert!(matches!(client.next(), ClientOutput::Ready(_)));
        let Ok(Answer::Data(data)) =
            client.ask(&Operation::Get { filter: None, with_defaults: None }).answer(&NoModules)
        else {
            panic!()
        };
        assert!(data.as_str().len() > 3_000_000);
        assert_eq!(client.ask(&Operation::CloseSession).answer(&NoModules), Ok(Answer::Ok));
        assert_eq!(client.next(), ClientOutput::Closed(CloseReason::Dropped));
    })
    .await;
    assert_eq!(lab.ended(1).await[0].1, CloseReason::CloseSession);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_above_the_bound_learns_why_there_is_no_session() {
    let sessions = SessionLimits { per_user: 1, ..SessionLimits::default() };
    let lab = Lab::start(Setup { sessions, ..Setup::default() }).await;
    let path = lab.socket();
    let error = blocking(move || {
        let mut first = Blocking::connect(&path);
        assert!(matches!(first.next(), ClientOutput::Ready(_)));
        // The answer shows that its hello was heard.
        first.ask(&Operation::Get { filter: None, with_defaults: None });
        let ClientOutput::Closed(CloseReason::BadHello(HelloError::Refused(error))) =
            Blocking::connect(&path).next()
        else {
            panic!()
        };
        error
    })
    .await;
    assert_eq!(error.tag, ErrorTag::ResourceDenied);
    assert!(error.message.contains("has 1 sessions open"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_keep_nobody_out() {
    let mut lab = Lab::start(Setup::default()).await;
    let path = lab.socket();
    let silent = blocking(move || {
        let silent: Vec<_> = (0..SessionLimits::default().per_user + 4)
            .map(|_| {
                let mut stream = UnixStream::connect(&path).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                // The server's hello shows that the connection has its place.
                stream.read_exact(&mut [0; 1]).unwrap();
                stream
            })
            .collect();
        let mut client = Blocking::connect(&path);
        assert!(matches!(client.next(), ClientOutput::Ready(_)));
        assert_eq!(client.ask(&Operation::CloseSession).answer(&NoModules), Ok(Answer::Ok));
        silent
    });
    let silent = silent.await;
    let ended = lab.ended(6).await;
    let reasons: Vec<_> = ended.into_iter().map(|(_, reason)| reason).collect();
    assert!(reasons.contains(&CloseReason::CloseSession), "{reasons:?}");
    assert_eq!(reasons.iter().filter(|reason| **reason == CloseReason::HelloTimeout).count(), 5);
    drop(silent);
}

/// Needs root, to become somebody else, and python3.
#[tokio::test(flavor = "multi_thread")]
async fn another_uid_gets_no_session_and_learns_why() {
    let lab = Lab::start(Setup::default()).await;
    let mut python = Command::new("python3");
    let script = "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n\
        d=b''\nwhile True:\n b=s.recv(4096)\n if not b: break\n d+=b\nprint(d.decode())";
    python.args(["-c", script]).arg(lab.socket()).uid(65_534).current_dir("/");
    python.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = run(python, "").await;
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("<error-tag>access-denied</error-tag>"),
        "{said} {}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(said.contains("(uid 65534) may not manage this node: only uid 0"), "{said}");
    assert!(!said.contains("<hello"), "{said}");
}

#[tokio::test]
async fn a_socket_left_by_the_dead_is_replaced_and_one_of_the_living_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let path: PathBuf = dir.path().join("netconf.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists(), "left behind");
    let admission = Admission::new(SessionLimits::default());
    let first = LocalListener::bind(&path, admission.clone()).unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o666);
    let second = LocalListener::bind(&path, admission.clone()).unwrap_err();
    assert_eq!(second.kind(), std::io::ErrorKind::AddrInUse);
    drop(first);
    assert!(!path.exists(), "taken away at the end");
    std::fs::write(&path, "data").unwrap();
    let third = LocalListener::bind(&path, admission).unwrap_err();
    assert_eq!(third.kind(), std::io::ErrorKind::AlreadyExists);
    assert!(path.exists(), "what is no socket is not removed");
}

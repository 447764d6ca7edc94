//! Call home (RFC 8071): the server connects to clients, which are tokio-rustls and OpenSSH's `ssh` here.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)] // tests

mod lab;
mod tls_lab;

use cats_mgmtd_netconf::CloseReason;
use cats_mgmtd_transport::{
    Access, CallHome, CallHomeClient, CallHomeClients, CallHomeStates, Endpoint, HostKeys, Keepalive, Method,
    Periodic, Speaks, SshServer, Stage, StartWith, Strategy, Users,
};
use lab::{HELLO, PATIENCE, make_key, rpc, rsa_host_key, run};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tls_lab::TlsLab;
use tokio::io::{AsyncReadExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;

/// A client's listener.
struct Ear(TcpListener);

impl Ear {
    async fn new() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint { host: "127.0.0.1".to_owned(), port: self.0.local_addr().unwrap().port() }
    }

    async fn called(&self) -> TcpStream {
        timeout(PATIENCE, self.0.accept()).await.unwrap().unwrap().0
    }
}

/// Calls the endpoints, in a hurry.
fn client(speaks: Speaks, endpoints: &[&Endpoint]) -> CallHomeClient {
    let wait = Duration::from_millis(50);
    let strategy = Strategy {
        start_with: StartWith::LastConnected,
        max_attempts: 2,
        initial_wait: wait,
        max_wait: wait,
        periodic: None,
    };
    CallHomeClient {
        speaks,
        endpoints: (1..).zip(endpoints).map(|(id, endpoint)| (id, (*endpoint).clone())).collect(),
        strategy,
        connect_timeout: Duration::from_secs(5),
        idle: None,
        keepalive: Keepalive::default(),
    }
}

/// The calls of a lab.
struct Calls {
    clients: watch::Sender<Arc<CallHomeClients>>,
    states: watch::Receiver<CallHomeStates>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Calls {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Calls {
    fn of(lab: &TlsLab, client: CallHomeClient) -> Self {
        let dir = lab.dir.path().to_owned();
        std::fs::copy(rsa_host_key(), dir.join("ssh_host_rsa_key")).unwrap();
        let (access, admission) = (lab.access.subscribe(), Arc::clone(&lab.admission));
        let accepted = lab.accepted.clone();
        let ssh = move || {
            let keys = HostKeys::load_or_create(&dir).unwrap();
            Some(SshServer::new(keys, access.clone(), Arc::clone(&admission), accepted.clone()))
        };
        let calls = CallHome::new(ssh, Arc::clone(&lab.server));
        let states = calls.states();
        let (clients, watched) = watch::channel(Arc::new(CallHomeClients::new()));
        let task = tokio::spawn(calls.run(watched));
        let calls = Self { clients, states, task };
        calls.set(Some(client));
        calls
    }

    fn set(&self, client: Option<CallHomeClient>) {
        let clients = client.into_iter().map(|client| ("noc".to_owned(), client)).collect();
        self.clients.send_replace(Arc::new(clients));
    }

    async fn state(&mut self, such: impl Fn(&Stage) -> bool) -> cats_mgmtd_transport::CallHomeState {
        let found = self.states.wait_for(|states| states.get("noc").is_some_and(|state| such(&state.stage)));
        timeout(PATIENCE, found).await.unwrap().unwrap()["noc"].clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_tls_is_called_and_called_again_when_it_is_lost() {
    let mut lab = TlsLab::start().await;
    let (ear, ann) = (Ear::new().await, lab.ca.client("ann"));
    let mut calls = Calls::of(&lab, client(Speaks::Tls, &[&ear.endpoint()]));
    for connections in 1..=2 {
        let stream = ear.called().await;
        let mut session = lab.session_over(stream, Some(&ann), &rustls::version::TLS13).await.unwrap();
        let state = calls.state(|stage| matches!(stage, Stage::Connected { endpoint: 1, .. })).await;
        assert_eq!((state.connections, state.unreachable), (connections, false));
        assert!(session.asks(1, "<close-session/>").await.unwrap().contains("<ok/>"));
        session.ends().await;
    }
    let ended = lab.ended(2).await;
    assert!(ended.iter().all(|(user, _)| user == "ann"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_listens_nowhere_is_unreachable_until_the_second_endpoint_answers() {
    let lab = TlsLab::start().await;
    let nowhere = Ear::new().await.endpoint();
    let ear = Ear::new().await;
    let mut calls = Calls::of(&lab, client(Speaks::Tls, &[&nowhere, &nowhere]));
    let unreachable =
        calls.states.wait_for(|states| states.get("noc").is_some_and(|state| state.unreachable));
    let state = timeout(PATIENCE, unreachable).await.unwrap().unwrap()["noc"].clone();
    assert!(state.failed >= 4 && state.last_error.as_ref().unwrap().0.contains("refused"), "{state:?}");
    calls.set(Some(client(Speaks::Tls, &[&nowhere, &ear.endpoint()])));
    // It says nothing and closes: an attempt that fails.
    drop(ear.called().await);
    let who = lab.ca.client("bob");
    let _session = lab.session_over(ear.called().await, Some(&who), &rustls::version::TLS12).await.unwrap();
    let state = calls.state(|stage| matches!(stage, Stage::Connected { endpoint: 2, .. })).await;
    assert!(!state.unreachable, "{state:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_taken_out_is_called_no_more_and_one_that_changes_otherwise_stays_connected() {
    let mut lab = TlsLab::start().await;
    let (ear, ann) = (Ear::new().await, lab.ca.client("ann"));
    let first = client(Speaks::Tls, &[&ear.endpoint()]);
    let mut calls = Calls::of(&lab, first.clone());
    let stream = ear.called().await;
    let mut session = lab.session_over(stream, Some(&ann), &rustls::version::TLS13).await.unwrap();
    calls.state(|stage| matches!(stage, Stage::Connected { .. })).await;
    let mut other = first;
    other.strategy.max_attempts = 7;
    calls.set(Some(other));
    assert!(session.asks(1, "<get/>").await.unwrap().contains("xxx"));
    calls.set(None);
    session.ends().await;
    assert_eq!(lab.ended(1).await, [("ann".to_owned(), CloseReason::Withdrawn)]);
    let gone = calls.states.wait_for(|states| states.is_empty());
    timeout(PATIENCE, gone).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_periodic_connection_is_made_again_when_it_is_due_and_not_before() {
    let mut lab = TlsLab::start().await;
    let (ear, ann) = (Ear::new().await, lab.ca.client("ann"));
    let mut periodic = client(Speaks::Tls, &[&ear.endpoint()]);
    periodic.strategy.periodic = Some(Periodic { period: Duration::from_secs(2), anchor: None });
    let mut calls = Calls::of(&lab, periodic);
    let session = lab.session_over(ear.called().await, Some(&ann), &rustls::version::TLS13).await.unwrap();
    drop(session);
    lab.ended(1).await;
    let state = calls.state(|stage| *stage == Stage::Waiting).await;
    assert_eq!(state.connections, 1);
    let again = lab.session_over(ear.called().await, Some(&ann), &rustls::version::TLS13).await;
    assert!(again.is_ok());
}

/// The client of OpenSSH connects to a port; what came on that of the client that is called goes there.
async fn bridge(ear: Ear, port: TcpListener) {
    let mut called = ear.called().await;
    let (mut ssh, _) = timeout(PATIENCE, port.accept()).await.unwrap().unwrap();
    let _ = copy_bidirectional(&mut called, &mut ssh).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_ssh_is_called_and_logs_in_by_its_key() {
    let mut lab = TlsLab::start().await;
    let key = lab.dir.path().join("ann");
    make_key(&key, &["-t", "ed25519"]);
    lab.access.send_replace(Arc::new(Access {
        administrators: Users::new([("ann".to_owned(), lab.dir.path().join("ann.pub"))]),
        methods: vec![Method::PublicKey],
        ..Access::default()
    }));
    let ear = Ear::new().await;
    let mut calls = Calls::of(&lab, client(Speaks::Ssh, &[&ear.endpoint()]));
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut ssh = Command::new("ssh");
    ssh.args(["-F", "/dev/null", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes"]);
    ssh.args([
        "-o",
        "StrictHostKeyChecking=no",
        "-o",
        "UserKnownHostsFile=/dev/null",
        "-o",
        "LogLevel=ERROR",
    ]);
    ssh.args(["-o", "IdentityAgent=none", "-p", &port.local_addr().unwrap().port().to_string(), "-i"]);
    ssh.arg(&key).args(["ann@127.0.0.1", "-s", "netconf"]);
    ssh.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let bridging = tokio::spawn(bridge(ear, port));
    let said = run(ssh, format!("{HELLO}{}", rpc(1, "<close-session/>"))).await;
    let answer = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(answer.contains("<ok/>"), "{answer} {}", String::from_utf8_lossy(&said.stderr));
    assert_eq!(lab.ended(1).await, [("ann".to_owned(), CloseReason::CloseSession)]);
    bridging.await.unwrap();
    let states = calls.states.wait_for(|states| states["noc"].connections == 1 && states["noc"].failed > 0);
    timeout(PATIENCE, states).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_log_in_in_time_is_left() {
    let lab = TlsLab::start().await;
    lab.access.send_modify(|access| Arc::make_mut(access).limits.login = Duration::from_millis(200));
    let ear = Ear::new().await;
    let mut calls = Calls::of(&lab, client(Speaks::Tls, &[&ear.endpoint()]));
    let mut stream = ear.called().await;
    let end = timeout(PATIENCE, stream.read(&mut [0])).await.unwrap();
    assert!(end.is_err() || end.unwrap() == 0);
    let failed = calls.states.wait_for(|states| states.get("noc").is_some_and(|state| state.failed > 0));
    let why = timeout(PATIENCE, failed).await.unwrap().unwrap()["noc"].last_error.clone().unwrap().0;
    assert!(why.contains("not authenticated in time"), "{why}");
}
